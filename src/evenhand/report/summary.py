"""The summary of a report: everything that its page says, as JSON-safe values.

The order is what was asked, what holds, what it did to whom, and how to repeat it. ``docs/reference/report.md``
describes every field. Nothing here knows HTML.
"""

from __future__ import annotations

import platform
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from evenhand._version import __version__
from evenhand.data.counts import Counts
from evenhand.errors import SpecError
from evenhand.findings.assurance import Assurance
from evenhand.findings.audit import Audit
from evenhand.findings.discretion import Discretion, discreet
from evenhand.findings.document import Json, installed, plain
from evenhand.findings.prices import Prices
from evenhand.findings.theory import Theory
from evenhand.optimize.certificate import Certificate
from evenhand.render.section import Note, notes_of
from evenhand.render.sentences import facts, sentence
from evenhand.report import assurance, people
from evenhand.report.brief import brief, decided
from evenhand.report.fresh import Strayed, fresh_people, in_the_population, theory_of_shown
from evenhand.spec.distortion import Ordinal

FORMAT = "evenhand-report"
NOTE = "Note"
VERSION = 1

PACKAGES = ("numpy", "scipy", "highspy", "clarabel", "narwhals", "pandas")
"""What the numbers depend on, beside evenhand itself."""


@dataclass(frozen=True)
class Settings:
    """How a report is made: cells of fewer people are hidden; the confidence of intervals; the seed of all draws."""

    hide_below: float
    confidence: float
    seed: int


@dataclass(frozen=True)
class Source:
    """The mapping file that is reported on, where there is one: its path as it was given."""

    path: str | None = None
    sha256: str | None = None

    @property
    def name(self) -> str | None:
        """The name of the file, without its folder."""
        return None if self.path is None else Path(self.path).name


@dataclass(frozen=True, eq=False)
class Material(assurance.Mapped):
    """What a report is made of.

    ``fitted`` holds the rates of a model that was fitted, with what is said of it; ``frontier`` its points, edges
    and words; ``other_columns`` those of a given table that the problem does not name, None where no table was given;
    ``command`` what writes the same report again; ``promised`` what a confidence promises of the population; ``file``
    what is known of one file, ``released`` the name and counts of one that models learn from; ``sign_off`` who signed,
    None where none was given; ``fitted_by`` is the command that fitted the mapping, where one did.
    """

    certificate: Certificate
    audit: Audit
    theory: Theory
    prices: Prices | None
    fitted: Json | None
    frontier: Json
    settings: Settings
    source: Source
    command: str
    other_columns: tuple[str, ...] | None = None
    promised: Assurance | None = None
    file: Json | None = None
    released: tuple[str, Counts] | None = None
    sign_off: list[Json] | None = None
    fitted_by: str | None = None


def summary(material: Material) -> Json:
    """Summarise: data in, plain values out, ready for ``json.dumps``."""
    m, shown = material, Discretion(material.counts, material.settings.hide_below)
    bounds, headlines = assurance.bounds(m, shown)
    notes = list(notes_of(m.audit.sections, "caveats"))
    if m.other_columns:
        notes.append(Note("caveat.columns_outside", {"columns": list(m.other_columns)}))
    elif m.other_columns is not None:
        notes.append(Note("caveat.no_columns_outside"))
    frontier = assurance.frontier(m, m.frontier, shown)
    notes += assurance.in_combination(m, shown)
    of_shown = theory_of_shown(m.theory, shown)
    strayed = Strayed.of(m.theory, of_shown, m.settings.confidence, m.settings.seed)
    first, *details = fresh_people(m.problem, m.theory, of_shown, strayed, shown, m.settings.confidence)
    try:
        toml = m.problem.to_toml()
    except SpecError as error:
        toml = f"# {error}"
    found = {
        "format": FORMAT,
        "version": VERSION,
        "evenhand": __version__,
        "table": people.table(m.counts, m.audit, shown),
        "learned_cells": people.learned_cells(m.problem, m.counts, m.kernel, shown),
        "small_cells": people.small_cells(m.counts, shown),
        "bounded_on": [list(columns) for columns in assurance.bounded_on(m.problem)],
        "asked": _pairs(facts(m.problem.sections[0].facts)),
        "headlines": headlines,
        "bounds": bounds,
        "not_covered": discreet(notes, shown),
        "certificate": {**m.certificate.as_dict(), "words": _pairs(_certified(m.certificate))},
        "rates": people.rates(m.problem, m.counts, m.kernel, m.settings.confidence, shown),
        "changes": people.changes(m.problem, m.counts, m.kernel, m.achieved, shown),
        "ledger": people.gains(m.problem, m.counts, m.audit, shown),
        "this_file": m.file,
        "sign_off": m.sign_off,
        "by_level": people.by_level(m.counts, m.problem, m.kernel, shown),
        "worst_off": people.worst_off(m.problem, m.counts, m.kernel, m.achieved, shown),
        "decisions": assurance.decisions(m, shown, m.released),
        "models": {"predicted": assurance.scores(m.problem, m.audit, shown), "fitted": m.fitted},
        "cost": assurance.cost(m, m.prices, m.certificate.objective, frontier, shown),
        "prices": None if m.prices is None else assurance.prices(m, m.prices, shown),
        "fresh_people": [first, *([] if m.promised is None else [in_the_population(m.promised)]), *details],
        "new_people": strayed.numbers(m.promised),
        "frontier": frontier,
        "problem_toml": toml,
        "repeat": _repeat(m),
    }
    told = dict(plain(found))
    told["decisions"]["words"] = decided(told)
    # What stands on the first screen is made of all the rest.
    return {name: told[name] for name in ("format", "version", "evenhand")} | {"brief": brief(told)} | told


def _certified(certificate: Certificate) -> Iterable[tuple[str, str]]:
    (section,) = certificate.sections
    return (*facts(section.facts), *((NOTE, sentence(note)) for note in section.notes))


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[Json]:
    return [{"heading": heading, "text": text} for heading, text in pairs]


def _orders(material: Material) -> str:
    """Say which columns of words had their order from the table, which a file does not keep."""
    domain, rules = material.counts.domain, material.problem.distortion.rules
    ordered = [
        name
        for name, rule in rules.items()
        if isinstance(rule, Ordinal) and rule.levels is None and isinstance(domain.variable(name).levels[0], str)
    ]
    if material.fitted_by is not None or not ordered:
        return ""
    return f"; a CSV file does not keep the order of {', '.join(ordered)}: write levels = [...] into their rules"


def _repeat(material: Material) -> Json:
    """Say how to get the same numbers again; there is no date here, so that the same mapping gives the same report."""
    name = shlex.quote(material.source.path or "fitted.mapping")
    # A column that was named is stated by the problem.
    weights = " --weights COLUMN" if material.counts.weighed and material.problem.weights is None else ""
    # What was fitted from Python had a call that nobody wrote down; its words are to be filled in.
    fitted = material.fitted_by or f"evenhand fit problem.toml table.csv{weights}"
    # Where a page goes is no part of it.
    where = ", under any name (--out)" if material.command.startswith("evenhand ") else ""
    return {
        "commands": [
            {"command": f"evenhand verify {name}", "what": "recompute the certificate of the mapping"},
            {"command": f"{fitted} --out {name}", "what": f"learn the mapping again{_orders(material)}"},
            {"command": material.command, "what": f"write this report again{where}"},
        ],
        "template": material.fitted_by is None,
        "mapping_file": material.source.name,
        "mapping_sha256": material.source.sha256,
        "seed": material.settings.seed,
        "python": platform.python_version(),
        "packages": installed(PACKAGES),
    }
