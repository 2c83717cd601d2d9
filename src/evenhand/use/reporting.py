"""The report of a mapping: the one place that joins audit, theory, prices, models and frontier into sections.

Most of them are those that other findings have; here is which, and in which order.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import os
import platform
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import date
from functools import cached_property
from pathlib import Path
from types import NoneType
from typing import Any, cast, get_args

from evenhand import check, tables
from evenhand._version import __version__
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, columns_in, distinct_rows, is_path, read_file, refuse_mistaken, weighting_in
from evenhand.errors import DataError, EvenhandError, SpecError, StorageError
from evenhand.files import content_of, replace_file, together
from evenhand.findings import brief
from evenhand.findings.audit import Audit
from evenhand.findings.bounds import said_bound
from evenhand.findings.burden import worst_off
from evenhand.findings.changes import changes
from evenhand.findings.columns import columns_table, learned_cells
from evenhand.findings.cost import Looser, cost_notes, drivers_table
from evenhand.findings.decisions import Decisions, Fitted
from evenhand.findings.discretion import Discretion, discreet, not_shown
from evenhand.findings.disparity import (
    Disparity,
    bounded_on,
    budgets_table,
    disparities,
    first_chart,
    in_combination,
    needed,
    rates_section,
)
from evenhand.findings.document import installed
from evenhand.findings.gains import gains
from evenhand.findings.ledger import ledger
from evenhand.findings.manifest import Manifest
from evenhand.findings.models import EXPANDED, check_model, model_rates, people_by_group
from evenhand.findings.moves import flow_chart
from evenhand.findings.new_people import meeting
from evenhand.findings.other_people import Strayed, draws_note, in_papers_terms, other_people, theory_of_shown
from evenhand.findings.released_file import no_file, released_file
from evenhand.findings.subject import Subject
from evenhand.findings.theory.rates import share
from evenhand.mapping import Mapping
from evenhand.optimize.solve.structured.threads import one_thread
from evenhand.render.document import document, text
from evenhand.render.finding import Finding
from evenhand.render.page import page
from evenhand.render.section import ANYBODY, Column, Fact, Note, Section, Table
from evenhand.render.sentences import sentence
from evenhand.resources import Progress, silent
from evenhand.spec.distortion import Ordinal
from evenhand.spec.sign_off import SignOff
from evenhand.tables.transforming import Missing
from evenhand.tolerances import EDGE_TOLERANCE, ROUNDING
from evenhand.use.manifests import check_sign_off, recheck_file
from evenhand.use.tradeoff import Frontier, frontier_around, share_changed

FORMAT, VERSION = "evenhand-report", 1

PACKAGES = ("numpy", "scipy", "highspy", "clarabel", "narwhals", "pandas")
"""What the numbers depend on, beside evenhand itself."""

POINTS = 12
"""How many bounds the frontier is solved at, beside the mapping's own, which is known."""

POINTS_OF_LARGE, LARGE = 6, 2000
"""The same for tables of more cells than this, each of whose points takes as long as a small table's frontier."""

EDGES = {
    "smallest_feasible": "frontier.smallest_feasible", "lossless_from": "frontier.lossless_from",
    "identity_from": "frontier.identity_from",
}  # fmt: skip

FEWEST_POINTS = 2
"""One on either side of the mapping's own."""


@dataclass(frozen=True, eq=False, repr=False)
class Report(Finding):
    """A report: its sections, of which the first is the first screen of its page.

    Attributes
    ----------
    sections : tuple of Section
        Everything that it says, as data, without what is hidden; ``docs/reference/report.md`` lists the fields.
    """

    sections: tuple[Section, ...]

    @cached_property
    def html(self) -> str:
        """The page, which needs no network."""
        first, *rest = self.sections
        end = Note("page.end", {"evenhand": __version__, "format": FORMAT, "version": VERSION})
        name = Note("brief.title", {"outcome": first.value("outcome")})
        return page(sentence(name), rest, first=first, end=end)

    def to_json(self) -> str:
        """Return every table, fact and note as one JSON document."""
        return text(self.document)

    @property
    def document(self) -> dict[str, Any]:
        """The same as a dictionary."""
        return {"format": FORMAT, "version": VERSION, "evenhand": __version__, **document(self.sections)}

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the page, and its numbers beside it with the ending ``.json``; return both paths."""
        html, beside = Path(check.path("path", path)), json_path(path)
        # The name of a mapping file need not be text; what is none of it is spelled out, in JSON and in words.
        with together():
            replace_file(beside, self.to_json().encode(errors="backslashreplace"))
            replace_file(html, self.html.encode(errors="backslashreplace"))
        return html, beside

    def __repr__(self) -> str:
        apart = sentence(self.sections[0].part("apart").value("answer"))
        return f"<Report of {len(self.sections)} sections: {apart}>"


def json_path(path: str | os.PathLike[str]) -> Path:
    """Return where the numbers of a page are written."""
    try:
        return Path(path).with_suffix(".json")
    except ValueError:
        raise check.refused("path", "the name of a file", path) from None


def report_on(
    mapping: Mapping,
    *,
    frame: AnyTable | None = None,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    model: Any = None,
    sees_protected: bool = False,
    hide_below: float = FEW_PEOPLE,
    trace: bool = True,
    points: int | None = None,
    confidence: float = 0.95,
    seed: int = 0,
    missing: Missing | None = None,
    manifest: str | os.PathLike[str] | None = None,
    sign_off: SignOff | None = None,
    source: str | os.PathLike[str] | None = None,
    command: str | None = None,
    progress: Progress | None = None,
) -> Report:
    """Report on a mapping, for the person who signs off on it.

    Parameters
    ----------
    mapping : Mapping
        What is reported on.
    frame : dataframe or path, optional
        A table to fit a model on, as it is and as released: its mean scores and thresholded decisions are then shown.
        With a ``manifest`` of a release it learns from that very file, and ``frame`` is the path of its input: another
        file is refused. Otherwise it learns from the expanded table, every possible result with its weight.
    weights, frequencies : str or sequence of numbers, optional
        With ``frame``: a column of it, or for a dataframe one number per row. By default the column that the problem
        names, where the table has it.
    model : object with fit and predict_proba, optional
        The model; None fits a table of shares. Needs ``frame``; where it learns from the expanded table, its fit takes
        ``sample_weight``.
    sees_protected : bool
        Whether the model sees the protected columns.
    hide_below : float
        Cells and groups of fewer people are not shown by themselves; 0 shows all.
    trace : bool
        Whether to trace the frontier, which takes most of the time.
    points : int, optional
        How many bounds it is solved at, from the mapping's own outwards: 12, or 6 where the table has more than 2,000
        cells. No clock stops it.
    confidence : float
        Of every interval and statement.
    seed : int
        Of every draw.
    missing : {"level", "error"}, optional
        With ``frame``: as in :meth:`evenhand.Mapping.release`.
    manifest : path, optional
        The manifest of a file that this mapping released, expanded or applied: whether that very file keeps every
        bound, and who signed off on it, is then shown. The rates are counted again, in the file and in its input. A
        manifest of another mapping, of files that have other bytes or rates by now, or whose sign-off has expired, is
        refused.
    sign_off : SignOff, optional
        Who signed off on the mapping; one that has expired is refused, and so is one beside another in the manifest.
    source : path, optional
        The mapping's file, to be named with its checksum.
    command : str, optional
        What the page names as the way to write it again; None names this call.
    progress : callable, optional
        Called with the name of the stage and the share that is done.

    Returns
    -------
    Report
        Its ``save`` writes the page and its numbers.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> report = eh.report_on(mapping, trace=False)
    >>> [section.key for section in report.sections][:4]
    ['report', 'rates', 'changes', 'gains']
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    check_model(model)
    sees_protected, trace = check.flag("sees_protected", sees_protected), check.flag("trace", trace)
    confidence, seed = share("confidence", confidence), check.seed("seed", seed)
    if model is not None and frame is None:
        raise DataError("a model needs a table to be fitted on: give frame= as well")
    tell = check.progress(progress) or silent
    threshold = check.finite("hide_below", hide_below, low=0)
    m = Subject(
        mapping.problem, mapping.counts, mapping.kernel, mapping.achieved,
        Discretion(mapping.counts, int(threshold) if threshold == int(threshold) else threshold),
    )  # fmt: skip
    usual = POINTS_OF_LARGE if len(mapping.counts) > LARGE else POINTS
    solved = usual if points is None else check.whole("points", points, low=FEWEST_POINTS)
    check.one_of("missing", missing, (None, *get_args(Missing)))
    # Not all of a command is whole characters: it may name files.
    check.kind("command", command, (str, NoneType), "a text")
    known_source = _source(source)
    check_sign_off(sign_off)
    asked = Weighting.of(weights, frequencies)
    if asked is not None and frame is None:
        raise SpecError(f"{asked.option} go with a table; the fitted one has its own")
    checked = _checked(mapping, manifest, frame)
    signed = None if checked is None else checked.sign_off
    if sign_off is not None and signed not in (None, sign_off):
        raise SpecError("the manifest has another sign-off than sign_off, which is given here; leave one of them out")
    # What is simulated and solved here are many small products, for which threads of BLAS only wait for each other.
    with one_thread():
        tell("measuring", 0.05)
        fitted = other_columns = None
        if frame is not None:
            people, weighting = weighting_in([mapping.problem], _read(mapping, frame), weights, frequencies)
            refuse_mistaken(people, mapping.problem.csv, weighting)
            fitted = _fitted(mapping, people, weighting, checked, model, sees_protected, missing)
            used = {*mapping.problem.columns, None if weighting is None else weighting.column}
            columns = columns_in(people, mapping.problem.csv)[1]
            other_columns = tuple(str(column) for column in columns if column not in used)
        traced = _traced(mapping, solved if trace else None, lambda stage, share: tell(stage, 0.1 + 0.5 * share))
        tell("summarising", 0.65)
        sections = _sections(
            _Material(
                mapping, mapping.audit(), m, traced, confidence, seed, known_source, fitted, other_columns, checked,
                _released(mapping, checked), sign_off or signed,
                command or _called(
                    source, frame=frame, weights=weights, frequencies=frequencies, model=model,
                    sees_protected=sees_protected, hide_below=hide_below, trace=trace, points=points,
                    confidence=confidence, seed=seed, missing=missing, manifest=manifest, sign_off=sign_off,
                ),
            )
        )  # fmt: skip
        tell("drawing", 0.9)
        report = Report(sections)
        # Drawn here, so that what cannot be is told before anything is written.
        assert report.html
    tell("done", 1.0)
    return report


@dataclass(frozen=True, eq=False)
class _Material:
    """What a report is made of."""

    mapping: Mapping
    audit: Audit
    m: Subject
    traced: Traced
    confidence: float
    seed: int
    source: Source
    fitted: Fitted | None
    other_columns: tuple[str, ...] | None
    manifest: Manifest | None
    released: tuple[str, Counts] | None
    sign_off: SignOff | None
    command: str


def _sections(given: _Material) -> tuple[Section, ...]:
    """Return all sections without what is hidden: the first screen, then the others as they are read."""
    m, mapping, audited = given.m, given.mapping, {section.key: section for section in given.audit.sections}
    found, who = disparities(m), changes(m.counts, m.kernel, m.achieved)
    good = ledger(m.problem, m.counts, m.kernel, m.achieved)
    of_shown = theory_of_shown(mapping.theory, m)
    strayed = Strayed.of(mapping.theory, of_shown, given.confidence, given.seed)
    decided = Decisions.of(m, given.released, given.fitted)
    moved = replace(audited["changes"], tables=tuple(map(m.shown.passed_on, audited["changes"].tables)))
    moves = moved.table("moves")
    cost, costs = _cost(given, found)
    sections = discreet(
        (
            rates_section(m, found, given.confidence),
            _changed(m, audited["changes"], moves, who),
            gains(m, given.audit.sections, good, who),
            worst_off(m),
            decided.section(_scores(m, audited["scores"])),
            no_file(draws_note(m, strayed)) if given.manifest is None else released_file(m, given.manifest),
            other_people(
                m, mapping.theory, strayed, mapping.assurance, given.confidence, draws=given.manifest is not None
            ),
            _caveats(given, audited["caveats"]),
            cost,
            _asked(given),
            _certified(mapping),
            in_papers_terms(m, mapping.theory, of_shown, strayed, given.confidence),
            _problem(mapping),
            _repeat(given),
        ),
        m.shown,
    )
    caveats = next(section for section in sections if section.key == "caveats")
    promised = None if mapping.assurance is None else mapping.assurance.confidence
    cards = (
        brief.apart_card(m, found),
        brief.changed_card(m, who, moves),
        brief.gains_card(m, good),
        brief.file_card(m, given.manifest, strayed),
        brief.new_people_card(m, strayed, promised),
        brief.covered_card(m, len(caveats.notes)),
    )
    drives = (
        Fact("drives_the_cost", costs[0]),
        Fact("model_decisions", decided.note),
    )
    beside = (Section("in_short", facts=drives), *_signed(given.sign_off))
    first = brief.first_screen(tuple(_reported(given)), m, first_chart(m, given.confidence), cards, beside)
    return first, *sections


def _reported(given: _Material) -> Iterator[Fact]:
    """Yield what is reported on: the table, the mapping, the version, and who is hidden."""
    m, counts, source = given.m, given.m.counts, given.source
    fields = {"people": counts.people, "groups": len(m.groups), "columns": list(m.problem.protected)}
    yield Fact("table", Note("brief.table", fields))
    named = (
        Note("brief.unnamed") if source.name is None else Note("brief.mapping", vars(source) | {"name": source.name})
    )
    yield Fact("mapping", named)
    yield Fact("written_by", Note("brief.version", {"evenhand": __version__}))
    numbers: dict[str, Any] = {
        "mapping_sha256": source.sha256,
        "outcome": m.problem.outcome,
        "bounded_on": bounded_on(m),
        "people": counts.people,
        "weight": float(counts.weight.sum()),
        "weighed": counts.weighed,
        "groups": len(m.groups),
        "cells": len(counts),
        "hide_below": m.shown.hide_below,
        "groups_hidden": int((~m.shown.groups).sum()),
        "cells_hidden": int((~m.shown.cells).sum()),
    }
    yield from (Fact(name, value, detail=True) for name, value in numbers.items())


def _signed(sign_off: SignOff | None) -> list[Section]:
    if sign_off is None:
        return []
    return [Section("sign_off", facts=sign_off.facts)]


def _scores(m: Subject, section: Section) -> Section:
    """Return the mean scores alone, of the outcomes whose rates are shown."""
    table, levels = section.table("scores"), m.counts.domain.outcome.levels
    spared = m.spared(levels[at % len(levels)] for at in range(len(table.rows)))
    return replace(section, tables=(replace(table, implied=spared),))


def _changed(m: Subject, section: Section, moves: Table, who: Any) -> Section:
    numbers = {name: getattr(who, name) for name in ("people", "share", "share_features", "expected_distortion")}
    outcome = sum(move.people for move in who.together if move.column.name == m.problem.outcome)
    facts = (*numbers.items(), ("outcome_people", outcome), ("suppressed", m.problem.suppression.redraws))
    return replace(
        section, facts=tuple(Fact(name, value, detail=True) for name, value in facts),
        charts=tuple(flow_chart(moves, m.counts, suppressed=m.problem.suppression.redraws)),
        tables=(*section.tables, budgets_table(m)),
    )  # fmt: skip


def _caveats(given: _Material, section: Section) -> Section:
    """Return what the bounds do not say; of a given table also which of its columns are outside the problem."""
    m, outside, notes = given.m, given.other_columns, [*section.notes]
    if outside is not None:
        notes.append(Note("caveat.columns_outside" if outside else "caveat.no_columns_outside", {"columns": outside}))
    notes += in_combination(m)
    if hidden := int((~m.shown.groups).sum()):
        notes += [not_shown(hidden, len(m.groups), "groups", m.shown.hide_below)]
    if not m.shown.cells.all():
        notes.append(Note("hidden.everywhere"))
    return Section(section.key, notes=tuple(notes), fields=section.fields)


def _asked(given: _Material) -> Section:
    m, (asked,) = given.m, given.m.problem.sections
    cells = learned_cells(m)
    parts = () if cells is None else (cells,)
    return replace(asked, tables=(*asked.tables, columns_table(m, given.audit.coverage)), parts=parts)


def _certified(mapping: Mapping) -> Section:
    (section,) = mapping.certificate.sections
    facts = (*section.facts, Fact("history", mapping.certificate.history, detail=True))
    return replace(section, facts=facts, notes=(Note("certificate.recomputed"), *section.notes))


def _problem(mapping: Mapping) -> Section:
    try:
        toml = mapping.problem.to_toml()
    except SpecError as error:
        toml = f"# {error}"
    return Section("problem", facts=(Fact("toml", toml, "code"),))


def _repeat(given: _Material) -> Section:
    """Return how to get the same numbers again; there is no date here: the same mapping gives the same report."""
    mapping, source, problem = given.mapping, given.source, given.m.problem
    name = shlex.quote(source.path or "fitted.mapping")
    # A column that was named is stated by the problem.
    unnamed = given.m.counts.weighed and problem.weights is None
    # What was fitted from Python had a call that nobody wrote down; its words are to be filled in.
    fitted = mapping.fitted_by or f"evenhand fit problem.toml table.csv{' --weights COLUMN' * unnamed}"
    by_hand = mapping.fitted_by is None
    packages = [Note("repeat.package", {"name": n, "number": v}) for n, v in installed(PACKAGES).items()]
    versions = {"evenhand": __version__, "python": platform.python_version(), "packages": packages}
    facts = [
        Fact("verify", f"evenhand verify {name}", "code"),
        Fact("fit", f"{fitted} --out {name}", "code"),
        Fact("write", given.command, "code"),
        *(
            []
            if source.name is None
            else [Fact("mapping_file", Note("brief.mapping", vars(source) | {"name": source.name}))]
        ),
        Fact("seed", given.seed),
        Fact("versions", Note("repeat.versions", versions)),
        Fact("template", by_hand, "flag", detail=True),
    ]
    notes = []
    if by_hand and (ordered := _ordered(given.m)):
        notes.append(Note("repeat.orders", {"columns": ordered}))
    if by_hand:
        notes.append(Note("repeat.template", {"weights": Note("repeat.weights") if unnamed else None}))
    notes.append(Note("repeat.where" if given.command.startswith("evenhand ") else "repeat.call"))
    notes.append(Note("repeat.same"))
    return Section("repeat", facts=tuple(facts), notes=tuple(notes))


def _ordered(m: Subject) -> list[str]:
    """Return which columns of words had their order from the table, which a file does not keep."""
    rules = m.problem.distortion.rules
    return [
        name
        for name, rule in rules.items()
        if isinstance(rule, Ordinal)
        and rule.levels is None
        and isinstance(m.counts.domain.variable(name).levels[0], str)
    ]


def _called(source: str | os.PathLike[str] | None, **given: Any) -> str:
    """Return a call of :func:`report_on`, with what it was given beside the defaults; tables and models by name."""
    usual = inspect.signature(report_on).parameters
    words = ["mapping" if source is None else f"eh.Mapping.load({os.fspath(source)!r})"]
    for name, value in given.items():
        plain = value is None or isinstance(value, bool | int | float | str | os.PathLike)
        if not plain or value != usual[name].default:
            shown = os.fspath(value) if isinstance(value, os.PathLike) else value
            words.append(f"{name}={shown!r}" if plain else f"{name}={name}")
    words += [] if source is None else [f"source={os.fspath(source)!r}"]
    return f'eh.report_on({", ".join(words)}).save("report.html")'


@dataclass(frozen=True)
class Source:
    """The mapping file that is reported on, where there is one: its path as it was given."""

    path: str | None = None
    sha256: str | None = None

    @property
    def name(self) -> str | None:
        """The name of the file, without its folder."""
        return None if self.path is None else Path(self.path).name


def _source(path: str | os.PathLike[str] | None) -> Source:
    if path is None:
        return Source()
    content = content_of(check.path("source", path), "the mapping file")
    return Source(os.fspath(path), hashlib.sha256(content).hexdigest())


def _checked(mapping: Mapping, path: str | os.PathLike[str] | None, frame: AnyTable | None) -> Manifest | None:
    """Return a manifest that is of this mapping, whose files are what it states; refuse any other."""
    if path is None:
        return None
    manifest = Manifest.load(check.path("manifest", path))
    if manifest.fingerprint != mapping.fingerprint:
        raise StorageError(
            f"{os.fspath(path)!r} is the manifest of a file that another mapping made: {manifest.mapping.name!r}, "
            f"SHA-256 {manifest.mapping.sha256[:12]}…"
        )
    signed = manifest.sign_off
    if signed is not None and (lapsed := signed.lapsed(date.today())) is not None:
        raise SpecError(
            f"the sign-off by {signed.name!r} in {os.fspath(path)!r} {lapsed}: nothing is reported with it; have it "
            f"renewed, and release the table again with the same seed"
        )
    if frame is not None and not is_path(frame):
        raise SpecError(
            f"with a manifest the table is given as a path, {manifest.inputs[0].name!r}: it is compared with the "
            f"manifest's input by its checksum, which a dataframe does not have"
        )
    recheck_file(mapping, manifest, cast("str | None", frame))
    return manifest


def _teaches(mapping: Mapping, manifest: Manifest) -> bool:
    """Whether models learn from the file of a manifest: one that was released, with values for the features."""
    # Names of bins are no values that a model could be applied to; a file of features has no outcomes to learn from.
    return manifest.mode == "release" and not (manifest.options["restore"] == "label" and mapping.problem.bins)


def _released(mapping: Mapping, manifest: Manifest | None) -> tuple[str, Counts] | None:
    """Return the name of the file that models learn from, and how many people it has in every cell."""
    if manifest is None or manifest.realised is None or not _teaches(mapping, manifest):
        return None
    problem, options = mapping.problem, manifest.options
    path = manifest.output.path(manifest.folder)
    _, weighting = weighting_in([problem], path, options["weights"], options["frequencies"])
    rows = distinct_rows(mapping.counts.domain, path, problem.csv, weighting)
    return manifest.output.name, meeting(mapping.release_mode.with_missing(options["missing"]), rows).counts


def _read(mapping: Mapping, table: AnyTable) -> Any:
    """Return a table in memory."""
    problem = mapping.problem
    return read_file(cast(str, table), problem.csv, blanks=problem.missing_values) if is_path(table) else table


def _fitted(
    mapping: Mapping,
    people: Any,
    weighting: Weighting | None,
    manifest: Manifest | None,
    model: Any,
    sees_protected: bool,
    missing: Missing | None,
) -> Fitted:
    """Fit a model on the table as it is and as released, and return what either scores and decides."""
    released, learned_from = None, EXPANDED
    if manifest is not None and _teaches(mapping, manifest):
        released, learned_from = _read(mapping, manifest.output.path(manifest.folder)), manifest.output.name
    # First of the release, which refuses a table that no model can be fitted on.
    counting = {} if weighting is None else {weighting.option: weighting.given}
    rates = mapping.model_rates(people, model, released=released, **counting, protected=sees_protected, missing=missing)
    table = tables.read(people)
    by = tables.weights_of(mapping.problem.columns, table, weighting)
    as_it_is = people, by
    parts = (mapping.problem, mapping.counts, mapping.kernel)
    before = model_rates(*parts, as_it_is, as_it_is, model, protected=sees_protected)
    rates = rates.assign(score_before=before["score"], decision_before=before["decision"])
    each = None if weighting is None or by is None else weighting.people(by)
    name = None if model is None else type(model).__name__
    return Fitted(rates, people_by_group(mapping.counts, table, each), name, sees_protected, learned_from)


@dataclass(frozen=True, eq=False)
class Traced:
    """What other bounds would cost: the frontier around a mapping, or why there is none.

    ``column`` is the bound or the factor on all of them that changes, ``own`` the mapping's place on it; ``found`` is
    None where nothing but the mapping itself is known.
    """

    notes: tuple[Note, ...]
    column: str = "bound"
    own: float | None = None
    changed: float = 0.0
    found: Frontier | None = None


def _traced(mapping: Mapping, points: int | None, progress: Progress) -> Traced:
    """Trace the frontier around a mapping, and say what was found, or why there is none."""
    problem, certificate, why = mapping.problem, mapping.certificate, None
    if points is None:
        why = Note("frontier.not_asked")
    elif not problem.parity:
        why = Note("frontier.no_parity")
    elif not mapping.has_prices:
        why = Note("frontier.not_convex")
    if points is None or why is not None:
        return Traced(() if why is None else (why,))
    own, column, moved = problem.one_bound, "bound", "frontier.bounds"
    if own is None:
        own, column, moved = 1.0, "bound_factor", "frontier.factors"
    changed = share_changed(mapping)
    try:
        found = frontier_around(
            mapping.certified, mapping.counts, certificate, changed, points=points, progress=progress
        )
    except EvenhandError as error:
        return Traced((Note("frontier.not_traced", {"error": str(error)}, (ANYBODY,)),), column, own, changed)
    held = Note("frontier.budgets" if mapping.assurance is None else "frontier.budgets_and_margins")
    notes = [Note(moved, {"held": held})]
    edge = float(found.edges["smallest_feasible"].iloc[0])
    if edge > EDGE_TOLERANCE:
        notes.append(Note("frontier.tightest", {"bound": _said(mapping, column, edge)}))
    elif edge >= 0:
        notes.append(Note("frontier.down_to_zero"))
    if unsolved := int((found.frame["status"] == "unsolved").sum()):
        notes.append(Note("frontier.unsolved", {"unsolved": unsolved, "points": len(found.frame)}))
    return Traced(tuple(notes), column, own, changed, found)


def _said(mapping: Mapping, column: str, value: float) -> str | Note:
    """Say a bound as people do, as each kind of constraint says it; or a factor on bounds that differ."""
    if column == "bound_factor":
        return Note("frontier.factor", {"factor": value})
    return ", ".join(dict.fromkeys(said_bound(part, max(0.0, value)) for part in mapping.problem.parity))


def _discreet(traced: Traced, m: Subject, found: Sequence[Disparity]) -> Traced:
    """Return a frontier up to where those who may be shown set its upper end, where others set it beyond.

    From the bound at which nobody need change, a rate of theirs could be worked out.
    """
    if traced.own is None:
        return traced
    of_shown, of_hidden = needed(m, found, factor=traced.column == "bound_factor")
    if of_hidden <= of_shown:
        return traced
    notes = (*traced.notes, Note("frontier.hidden"))
    if traced.found is None:
        return replace(traced, notes=notes)
    frame, edges = traced.found.frame, traced.found.edges
    kept = frame[(frame[traced.column] <= of_shown) | (frame[traced.column] == traced.own)]
    return replace(traced, notes=notes, found=replace(traced.found, frame=kept, edges=edges.where(edges <= of_shown)))


def _frontier(given: _Material, found: Sequence[Disparity]) -> tuple[Section, list[Looser]]:
    """Return what other bounds would cost, and the looser ones, the nearest first."""
    mapping, traced = given.mapping, _discreet(given.traced, given.m, found)
    column, own, certificate = traced.column, traced.own, given.mapping.certificate
    points: list[dict[str, Any]] = []
    charts: tuple[Any, ...] = ()
    edges: list[tuple[Any, float]] = []
    if own is not None:
        points = [{column: own, **vars(certificate), "changed": traced.changed}]
    if traced.found is not None and own is not None:
        points = traced.found.frame.to_dict("records")  # type: ignore[assignment]
        if len([row for row in points if not math.isnan(row["objective"])]) > 1:
            charts = traced.found.chart(chosen=(own, mapping.objective)).charts
        edges = [(name, value) for name, value in traced.found.edges.iloc[0].to_dict().items() if not math.isnan(value)]
    columns = (
        Column("in_words"), Column(column, "number"), Column("objective", "loss"),
        Column("lower_bound", "loss", data=True), Column("changed", "rate"), Column("status"),
    )  # fmt: skip
    rows = tuple(
        (_said(mapping, column, row[column]), row[column], row["objective"], row["lower_bound"], row["changed"],
         Note("frontier.this_mapping", {"status": row["status"]}) if row[column] == own else row["status"])
        for row in points
    )  # fmt: skip
    edge = tuple((Note(EDGES[name]), value, _said(mapping, column, value)) for name, value in edges)
    section = Section(
        "frontier", charts=charts, notes=traced.notes,
        tables=(Table("edges", (Column("edge"), Column(column, "number"), Column("in_words")), edge),),
        parts=(Section("points", tables=(Table("every_point", columns, rows),), form="folded"),),
    )  # fmt: skip
    key = "cost.looser_bounds" if column == "bound_factor" else "cost.looser_bound"
    looser = [
        Looser(Note(key, {"said": _said(mapping, column, row[column])}), row["changed"])
        for row in sorted(points, key=lambda row: float(row[column]))
        if own is not None and row[column] > own and row["changed"] is not None and not math.isnan(row["changed"])
    ]
    return section, looser


def _cost(given: _Material, found: Sequence[Disparity]) -> tuple[Section, list[Note]]:
    """Return what the bounds cost: what drives it, other bounds, and prices; and what drives it alone."""
    mapping, m = given.mapping, given.m
    prices = mapping.prices() if mapping.has_prices else None
    frontier, looser = _frontier(given, found)
    notes = list(cost_notes(m, prices, mapping.objective, looser))
    parts = [frontier]
    if prices is not None:
        (own,) = prices.sections
        free = [Note("cost.no_price")] if (prices.frame["price"] <= ROUNDING).all() else []
        parts.append(replace(own, notes=(Note("cost.prices"), *free)))
    drivers = () if prices is None else (drivers_table(m, prices),)
    return Section("cost", tables=drivers, notes=tuple(notes), parts=tuple(parts)), notes
