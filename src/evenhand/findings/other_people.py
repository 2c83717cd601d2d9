"""What can be said about other people than those of the table: what a signer needs first, then the paper's terms.

How often a bound is violated is that of everybody; how far rates are apart, of the groups that may be shown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.findings.assurance import Assurance
from evenhand.findings.described import assured
from evenhand.findings.discretion import not_shown
from evenhand.findings.naming import long_name
from evenhand.findings.new_people import with_own_target
from evenhand.findings.subject import Subject
from evenhand.findings.theory import Bootstrap, DrawSpread, SmallGroups, Straying, Theory
from evenhand.findings.theory.intervals import WIDE
from evenhand.findings.theory.rates import of_groups
from evenhand.render.section import Fact, Note, Section
from evenhand.spec import Ratio
from evenhand.tables import own_name


@dataclass(frozen=True, eq=False)
class Strayed:
    """How far the rates stray, by simulation: of the same mapping on resampled tables, and of single releases.

    ``own`` is how both stray by the distances that the bounds are in; None where none is on rates of outcomes.
    """

    tables: Bootstrap
    draws: DrawSpread
    own: tuple[Straying, Straying] | None

    @classmethod
    def of(cls, theory: Theory, shown: Theory, confidence: float, seed: int) -> Strayed:
        """Simulate, once for all that is said of it."""
        tables, draws = shown.bootstrap(confidence=confidence, seed=seed), shown.draw_spread(seed=seed)
        every = own = shown.straying(number=tables.resamples, seed=seed)
        if shown is not theory:
            every = theory.straying(number=tables.resamples, seed=seed)
        if every is not None and own is not None:
            every = replace(every[0], apart=own[0].apart), replace(every[1], apart=own[1].apart)
        return cls(tables, draws, every)

    @property
    def tables_apart(self) -> str:
        """Say how far apart rates mostly are on resampled tables: as the first bound is said, or else in times."""
        _, low, high = self.tables.largest
        return Ratio().said_range(low, high) if self.own is None else self.own[0].apart

    @property
    def draws_apart(self) -> str:
        """Say the same of single releases."""
        low, *_, high = self.draws.quantiles["largest_ratio"].tolist()
        return Ratio().said_range(low, high) if self.own is None else self.own[1].apart

    @property
    def tables_over(self) -> float | None:
        """The share of resampled tables that violate a bound."""
        return None if self.own is None else self.own[0].over

    @property
    def draws_over(self) -> float | None:
        """The share of single releases that do."""
        return None if self.own is None else self.own[1].over


def theory_of_shown(theory: Theory, m: Subject) -> Theory:
    """Return what theory says of the groups that are shown alone, or of all where there would be nothing to compare."""
    axis, cells = theory.counts.domain.d, theory.counts.groups.cells[m.shown.groups]
    bounded = [set(axis.names), *(set(part.on) for part in theory.problem.parity if part.on is not None)]
    codes = [
        [code for name, code in zip(axis.names, axis.unravel(cells), strict=True) if name in columns]
        for columns in bounded
    ]
    if m.shown.groups.all() or any(len(np.unique(np.stack(each), axis=1).T) < 2 for each in codes):
        return theory
    counts, kernel = of_groups(theory.counts, theory.kernel, m.shown.groups)
    return Theory(with_own_target(theory.problem, theory.counts), counts, kernel)


def other_people(
    m: Subject, theory: Theory, strayed: Strayed, promised: Assurance | None, confidence: float, *, draws: bool
) -> Section:
    """Return what a signer needs first of other people: resampled tables, small groups, a promise.

    And what single ``draws`` do, where that is not said of a file.
    """
    facts = (
        Fact("confidence", None if promised is None else promised.confidence, detail=True),
        Fact("resamples", strayed.tables.resamples, detail=True),
        Fact("resamples_apart", strayed.tables_apart, detail=True),
        Fact("resamples_over", strayed.tables_over, detail=True),
        Fact("releases", strayed.draws.releases, detail=True),
        Fact("releases_apart", strayed.draws_apart, detail=True),
        Fact("releases_over", strayed.draws_over, detail=True),
    )
    small = theory.small_groups(width=WIDE, confidence=confidence)
    also = None if promised is None else Note("fresh.confidence", {"confidence": promised.confidence})
    first = Note("fresh.fitted_alone", {"also": also})
    notes = (first, *([draws_note(m, strayed)] if draws else []), *_notes(m, strayed, small, confidence))
    return Section("fresh", facts=facts, notes=notes, parts=() if promised is None else (assured(promised),))


def _notes(m: Subject, strayed: Strayed, small: SmallGroups, confidence: float) -> Iterator[Note]:
    fields = {**_fields(m, strayed), "confidence": confidence, "wide": WIDE}
    if strayed.own is None:
        yield Note("fresh.tables", fields | {"over": None})
    else:
        over = Note("fresh.tables_over", fields | {"over": strayed.tables_over})
        yield Note("fresh.tables", fields | {"over": over})
    yield Note("fresh.holdout")
    # The theory's groups may be formed by some of the protected columns alone.
    own = {column: own_name(small.frame, column) for column in m.problem.protected}
    every = [
        ({column: row[own[column]] for column in own if own[column] in row}, row["widest"])
        for row in small.frame.to_dict("records")
    ]
    widths = {long_name(levels): width for levels, width in every if m.shown.may_name(levels)}
    wide = [name for name in widths if widths[name] > WIDE]
    if wide:
        widest = max(wide, key=lambda name: widths[name])
        yield Note(
            "fresh.wide_groups",
            fields | {"groups": len(widths), "small": len(wide), "widest": widths[widest], "group": widest},
        )
    if few := len(every) - len(widths):
        yield Note("fresh.hidden_groups", {"hidden": not_shown(few, len(every), "groups", m.shown.hide_below)})


def draws_note(m: Subject, strayed: Strayed) -> Note:
    """Return how much single releases vary."""
    key = "fresh.draws" if strayed.own is None else "fresh.draws_over"
    return Note(key, {**_fields(m, strayed), "over": strayed.draws_over})


def _fields(m: Subject, strayed: Strayed) -> Mapping[str, Any]:
    several = len(m.problem.parity) > 1
    return {
        "releases": strayed.draws.releases, "tables": strayed.tables.resamples, "draws_apart": strayed.draws_apart,
        "tables_apart": strayed.tables_apart, "which": Note("fresh.first_bound") if several else None,
        "bounds": Note("fresh.a_bound" if several else "fresh.the_bound"),
    }  # fmt: skip


def in_papers_terms(m: Subject, theory: Theory, of_shown: Theory, strayed: Strayed, confidence: float) -> Section:
    """Return the theory's own statements: those that compare groups, of the groups that are shown."""
    compared = (
        strayed.tables, strayed.draws, of_shown.robustness(confidence=confidence), of_shown.advantage(),
    )  # fmt: skip
    # Where fewer than two groups are shown, what compares groups is of all of them, and would reveal the hidden ones.
    told = () if of_shown is theory and not m.shown.groups.all() else compared
    everybody = theory.small_groups(width=WIDE, confidence=confidence), theory.applying()
    parts = tuple(section for finding in (*told, *everybody) for section in finding.sections)
    return Section("theory", parts=(Section("statements", parts=parts, form="folded"),))
