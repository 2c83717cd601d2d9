"""The report of a mapping: the one place that joins audit, theory, prices, models and frontier into a page.

A report is a JSON summary and an HTML page made from it; both are plain values until they are saved.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from types import NoneType
from typing import Any, cast, get_args

from evenhand import check, tables
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, columns_in, distinct_rows, is_path, read_file, refuse_mistaken, weighting_in
from evenhand.errors import DataError, EvenhandError, SpecError, StorageError
from evenhand.files import content_of, replace_file, together
from evenhand.findings.bounds import said_bound
from evenhand.findings.discretion import Discretion
from evenhand.findings.manifest import Manifest
from evenhand.findings.models import EXPANDED, check_model, model_rates, people_by_group
from evenhand.findings.new_people import meeting
from evenhand.findings.theory.rates import share
from evenhand.mapping import Mapping
from evenhand.optimize.solve.structured.threads import one_thread
from evenhand.render.section import ANYBODY, Note
from evenhand.report import assurance
from evenhand.report.page import check_packages, page
from evenhand.report.summary import Material, Settings, Source, summary
from evenhand.report.this_file import this_file
from evenhand.resources import Progress, silent
from evenhand.spec.sign_off import SignOff
from evenhand.tables.transforming import Missing
from evenhand.tolerances import EDGE_TOLERANCE
from evenhand.use.manifests import check_sign_off, recheck_file
from evenhand.use.tradeoff import frontier_around, share_changed

POINTS = 12
"""How many bounds the frontier is solved at, beside the mapping's own, which is known."""

POINTS_OF_LARGE, LARGE = 6, 2000
"""The same for tables of more cells than this, each of whose points takes as long as a small table's frontier."""

FEWEST_POINTS = 2
"""One on either side of the mapping's own."""


@dataclass(frozen=True, eq=False, repr=False)
class Report:
    """A report: its summary and its page.

    Attributes
    ----------
    summary : dict
        Everything that the page says, as JSON-safe values; ``docs/reference/report.md`` lists the fields.
    html : str
        The page, which needs no network.
    """

    summary: dict[str, Any]
    html: str

    def save(self, path: str | os.PathLike[str]) -> tuple[Path, Path]:
        """Write the page, and its summary beside it with the ending ``.json``; return both paths."""
        html, beside = Path(check.path("path", path)), summary_path(path)
        text = json.dumps(self.summary, ensure_ascii=False, indent=2, allow_nan=False)
        # The name of a mapping file need not be text; what is none of it is spelled out, in JSON and in words.
        with together():
            replace_file(beside, f"{text}\n".encode(errors="backslashreplace"))
            replace_file(html, self.html.encode(errors="backslashreplace"))
        return html, beside

    def __repr__(self) -> str:
        return f"<Report of {len(self.html.encode()) / 1e6:.1f} MB, summary version {self.summary['version']}>"


def summary_path(path: str | os.PathLike[str]) -> Path:
    """Return where the summary of a page is written."""
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
    """Report on a mapping, for the person who signs off on it. Needs the extra ``charts``.

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
        Its ``save`` writes the page and its summary.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> report = eh.report_on(mapping, trace=False)
    >>> report.summary["certificate"]["status"], report.summary["small_cells"]["hide_below"]
    ('optimal', 20)
    """
    check.kind("mapping", mapping, Mapping, "an eh.Mapping")
    check_model(model)
    sees_protected, trace = check.flag("sees_protected", sees_protected), check.flag("trace", trace)
    confidence, seed = share("confidence", confidence), check.seed("seed", seed)
    if model is not None and frame is None:
        raise DataError("a model needs a table to be fitted on: give frame= as well")
    check_packages()
    tell = check.progress(progress) or silent
    threshold = check.finite("hide_below", hide_below, low=0)
    settings = Settings(int(threshold) if threshold == int(threshold) else threshold, confidence, seed)
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
            fitted = _fitted(mapping, people, weighting, checked, model, sees_protected, missing, settings)
            used = {*mapping.problem.columns, None if weighting is None else weighting.column}
            columns = columns_in(people, mapping.problem.csv)[1]
            other_columns = tuple(str(column) for column in columns if column not in used)
        traced = _traced(mapping, solved if trace else None, lambda stage, share: tell(stage, 0.1 + 0.5 * share))
        tell("summarising", 0.65)
        found = summary(
            Material(
                problem=mapping.problem, counts=mapping.counts, kernel=mapping.kernel, certificate=mapping.certificate,
                achieved=mapping.achieved, audit=mapping.audit(), theory=mapping.theory,
                prices=mapping.prices() if mapping.has_prices else None, fitted=fitted,
                promised=mapping.assurance, frontier=traced, settings=settings, source=known_source,
                other_columns=other_columns, file=_this_file(mapping, checked, settings),
                released=_released(mapping, checked),
                sign_off=_signed(sign_off or signed), fitted_by=mapping.fitted_by,
                command=command or _called(
                    source, frame=frame, weights=weights, frequencies=frequencies, model=model,
                    sees_protected=sees_protected, hide_below=hide_below, trace=trace, points=points,
                    confidence=confidence, seed=seed,
                    missing=missing, manifest=manifest, sign_off=sign_off,
                ),
            )
        )  # fmt: skip
        tell("drawing", 0.9)
        html = page(found)
    tell("done", 1.0)
    return Report(found, html)


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


def _this_file(mapping: Mapping, manifest: Manifest | None, settings: Settings) -> dict[str, Any] | None:
    if manifest is None:
        return None
    looked = "The file has the bytes that its manifest states, and its rows and rates were counted again."
    to_x, to_y = mapping.counts.domain.split_xy(mapping.kernel.targets)
    source = mapping.kernel.rows
    return this_file(
        manifest, mapping.problem, Discretion(mapping.counts, settings.hide_below), looked,
        features_move=bool((to_x != mapping.counts.x[source]).any()),
        outcome_moves=bool((to_y != mapping.counts.y[source]).any()),
    )  # fmt: skip


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


def _signed(sign_off: SignOff | None) -> list[dict[str, str]] | None:
    return None if sign_off is None else [{"heading": heading, "text": text} for heading, text in sign_off.pairs]


def _fitted(
    mapping: Mapping,
    people: Any,
    weighting: Weighting | None,
    manifest: Manifest | None,
    model: Any,
    sees_protected: bool,
    missing: Missing | None,
    settings: Settings,
) -> dict[str, Any]:
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
    name = "The shares of each outcome by features" if model is None else f"The model {type(model).__name__}"
    sight = "with" if sees_protected else "without"
    every = " (every possible result with its weight)" if released is None else ""
    words = (
        f"{name}, {sight} the protected columns: learned from the table as it is and scoring it; and learned from "
        f"{learned_from}{every}, scoring the same people in apply mode, over all of its draws. Decided so: the share "
        f"of people for whom the outcome is the likeliest; no bound covers it."
    )
    each = None if weighting is None or by is None else weighting.people(by)
    return assurance.model_rates(
        mapping.problem, rates, people_by_group(mapping.counts, table, each), words,
        Discretion(mapping.counts, settings.hide_below), sees_protected=sees_protected, learned_from=learned_from,
    )  # fmt: skip


def _traced(mapping: Mapping, points: int | None, progress: Progress) -> dict[str, Any]:
    """Trace the frontier around a mapping, and say what was found, or why there is none."""
    problem, certificate, why = mapping.problem, mapping.certificate, None
    if points is None:
        why = Note("frontier.not_asked")
    elif not problem.parity:
        why = Note("frontier.no_parity")
    elif not mapping.has_prices:
        why = Note("frontier.not_convex")
    if points is None or why is not None:
        return {"notes": [why], "points": [], "edges": None, "edges_said": None, "chosen": None}
    own, column = problem.one_bound, "bound"
    moved = "frontier.bounds"
    if own is None:
        own, column, moved = 1.0, "bound_factor", "frontier.factors"

    def said(value: float) -> str:
        """Say a bound as people do, as each kind of constraint says it; or a factor on bounds that differ."""
        if column == "bound_factor":
            return f"× {value:.3g}"
        return ", ".join(dict.fromkeys(said_bound(part, max(0.0, value)) for part in problem.parity))

    changed = share_changed(mapping)
    here = {column: own, "said": said(own), "objective": mapping.objective, "changed": changed}
    try:
        found = frontier_around(
            mapping.certified, mapping.counts, certificate, changed, points=points, progress=progress
        )
    except EvenhandError as error:
        alone = here | {"lower_bound": certificate.lower_bound, "status": certificate.status}
        notes = [Note("frontier.not_traced", {"error": str(error)}, (ANYBODY,))]
        return {"notes": notes, "points": [alone], "edges": None, "edges_said": None, "chosen": here}
    held = Note("frontier.budgets" if mapping.assurance is None else "frontier.budgets_and_margins")
    notes = [Note(moved, {"held": held})]
    edges = found.edges.to_dict("records")[0]
    edge = edges["smallest_feasible"]
    if edge > EDGE_TOLERANCE:
        notes.append(Note("frontier.tightest", {"bound": said(edge)}))
    elif edge >= 0:
        notes.append(Note("frontier.down_to_zero"))
    if unsolved := int((found.frame["status"] == "unsolved").sum()):
        notes.append(Note("frontier.unsolved", {"unsolved": unsolved, "points": len(found.frame)}))
    return {
        "notes": notes,
        "points": [
            {**row, "said": said(row[column])}
            for row in found.frame[[column, "objective", "lower_bound", "status", "changed"]].to_dict("records")
        ],
        "edges": edges,
        "edges_said": {name: None if math.isnan(value) else said(value) for name, value in edges.items()},
        "chosen": here,
    }
