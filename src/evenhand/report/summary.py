"""The summary of a report: everything that its page says, as JSON-safe values.

The order is what was asked, what holds, what it did to whom, and how to repeat it. ``docs/report.md`` describes every
field; ``VERSION`` rises when one changes its meaning or goes. Nothing here knows HTML.
"""

from __future__ import annotations

import math
import platform
import shlex
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np

from evenhand._version import __version__
from evenhand.errors import SpecError
from evenhand.findings.audit import Audit
from evenhand.findings.prices import Prices
from evenhand.findings.theory import Theory
from evenhand.optimise.certificate import Certificate
from evenhand.report import assurance, people
from evenhand.report.discretion import Discretion, discreet
from evenhand.report.fresh import fresh_people
from evenhand.report.words import asked, certificate_words
from evenhand.spec import Problem

FORMAT = "evenhand-report"
VERSION = 1

PACKAGES = ("numpy", "scipy", "highspy", "clarabel", "narwhals", "pandas")
"""What the numbers depend on, beside evenhand itself."""

Json = dict[str, Any]


@dataclass(frozen=True)
class Settings:
    """How a report is made: cells of fewer people are hidden; the confidence of intervals; the seed of all draws."""

    hide_below: float
    confidence: float
    seed: int


@dataclass(frozen=True)
class Source:
    """The mapping file that is reported on, where there is one."""

    name: str | None = None
    sha256: str | None = None


@dataclass(frozen=True, eq=False)
class Material(assurance.Mapped):
    """What a report is made of.

    ``fitted`` holds the rates of a model fitted on one release, with what is said of it; ``frontier`` its points, edges
    and words; ``other_columns`` those of a given table that the problem does not name, None where no table was given.
    """

    certificate: Certificate
    audit: Audit
    theory: Theory
    prices: Prices | None
    fitted: Json | None
    frontier: Json
    settings: Settings
    source: Source
    other_columns: tuple[str, ...] | None = None


def summary(material: Material) -> Json:
    """Summarise: data in, plain values out, ready for ``json.dumps``."""
    m, hide = material, material.settings.hide_below
    shown = Discretion(m.counts, hide)
    hidden = shown.names(m.problem, (part.compared for part in m.achieved.parity))
    bounds = assurance.bounds(m, shown)
    found = {
        "format": FORMAT,
        "version": VERSION,
        "evenhand": __version__,
        "table": people.table(m.counts, m.audit, shown),
        "small_cells": people.small_cells(m.counts, hide),
        "asked": _pairs(asked(m.problem)),
        "headlines": list(assurance.headlines(bounds["parity"], hide)),
        "bounds": bounds,
        "not_covered": discreet([*m.audit.notes, *_other_columns(m)], hidden),
        "certificate": {**m.certificate.as_dict(), "words": _pairs(certificate_words(m.certificate))},
        "rates": people.rates(m.problem, m.counts, m.kernel, m.settings.confidence, hide),
        "changes": people.changes(m.problem, m.counts, m.kernel, m.achieved, hide),
        "worst_off": people.worst_off(m.counts, m.kernel, m.achieved, hide),
        "models": {"predicted": assurance.scores(m.problem, m.audit, shown), "fitted": m.fitted},
        "prices": None if m.prices is None else assurance.prices(m, m.prices, shown),
        "fresh_people": fresh_people(m.problem, m.theory, shown, hidden, m.settings.confidence, m.settings.seed),
        "frontier": {**m.frontier, "words": " ".join(discreet([m.frontier["words"]], hidden))},
        "problem_toml": _toml(m.problem),
        "repeat": _repeat(m),
    }
    return dict(plain(found))


def _other_columns(m: Material) -> Iterator[str]:
    """Name the columns of the given table that nothing here is about."""
    if m.other_columns:
        yield (
            f"in the given table these are columns outside the problem, passed through unchanged: "
            f"{', '.join(m.other_columns)}; leave out of a model's inputs what should not tell it the group"
        )
    elif m.other_columns is not None:
        yield "the given table has no columns outside the problem"


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: what is not a number becomes null, and the infinite a word.

    Examples
    --------
    >>> import numpy as np
    >>> plain({"a": np.float64(0.5), "b": float("nan"), "c": (np.int64(1), float("inf"))})
    {'a': 0.5, 'b': None, 'c': [1, 'infinite']}
    """
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None if math.isnan(value) else f"{'-' * (value < 0)}infinite"
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


def _pairs(pairs: Iterable[tuple[str, str]]) -> list[Json]:
    return [{"heading": heading, "text": text} for heading, text in pairs]


def _toml(problem: Problem) -> str:
    try:
        return problem.to_toml()
    except SpecError as error:
        return f"# {error}"


def _repeat(material: Material) -> Json:
    """Say how to get the same numbers again; there is no date here, so that the same mapping gives the same report."""
    return {
        "commands": _commands(material),
        "mapping_file": material.source.name,
        "mapping_sha256": material.source.sha256,
        "seed": material.settings.seed,
        "python": platform.python_version(),
        "packages": {name: found for name in PACKAGES if (found := _installed(name)) is not None},
    }


def _commands(material: Material) -> list[Json]:
    name, settings = shlex.quote(material.source.name or "fitted.mapping"), material.settings
    options = f"--hide-below {settings.hide_below:g} --confidence {settings.confidence:g} --seed {settings.seed}"
    return [
        {"command": f"evenhand verify {name}", "what": "recompute the certificate of the mapping"},
        {"command": f"evenhand fit problem.toml table.csv --out {name}", "what": "learn the mapping again"},
        {"command": f"evenhand report {name} --out report.html {options}", "what": "write this report again"},
    ]


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None
