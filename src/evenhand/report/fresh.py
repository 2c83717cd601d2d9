"""What can be said about other people than those of the table: what a signer needs first, then the paper's terms.

Short sentences are made from the theory's numbers; the theory's own sentences follow as details.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.findings.assurance import Assurance
from evenhand.findings.discretion import Discretion, discreet, not_shown
from evenhand.findings.document import Json
from evenhand.findings.naming import long_name
from evenhand.findings.new_people import with_own_target
from evenhand.findings.theory import Bootstrap, DrawSpread, SmallGroups, Straying, Theory
from evenhand.findings.theory.intervals import WIDE
from evenhand.findings.theory.rates import of_groups
from evenhand.render.finding import Finding
from evenhand.render.section import Note, notes_of
from evenhand.spec import Problem, Ratio
from evenhand.tables import own_name


def in_the_population(promised: Assurance) -> Json:
    """Say what a mapping's confidence promises of the people whom the table is a sample of."""
    heading = f"The bounds among those whom the table is a sample of, at a confidence of {promised.confidence:g}"
    return {"heading": heading, "words": list(promised.words), "detail": False}


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
        """Simulate, once for all that is said of it.

        How often a bound is violated is that of everybody; how far rates are apart, of the groups that are shown.
        """
        tables, draws = shown.bootstrap(confidence=confidence, seed=seed), shown.draw_spread(seed=seed)
        every = own = shown.straying(number=tables.resamples, seed=seed)
        if shown is not theory:
            every = theory.straying(number=tables.resamples, seed=seed)
        if every is not None and own is not None:
            every = replace(every[0], apart=own[0].apart), replace(every[1], apart=own[1].apart)
        return cls(tables, draws, every)

    def numbers(self, promised: Assurance | None) -> Json:
        """Return in numbers what can be said about others: what is promised, how tables and draws stray."""
        tables, draws = self.own or (None, None)
        return {
            "confidence": None if promised is None else promised.confidence,
            "resamples": self.tables.resamples,
            "resamples_apart": self.tables_apart,
            "resamples_over": None if tables is None else tables.over,
            "releases": self.draws.releases,
            "releases_apart": self.draws_apart,
            "releases_over": None if draws is None else draws.over,
        }

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


def theory_of_shown(theory: Theory, shown: Discretion) -> Theory:
    """Return what theory says of the groups that are shown alone, or of all where there would be nothing to compare."""
    axis, cells = theory.counts.domain.d, theory.counts.groups.cells[shown.groups]
    bounded = [set(axis.names), *(set(part.on) for part in theory.problem.parity if part.on is not None)]
    codes = [
        [code for name, code in zip(axis.names, axis.unravel(cells), strict=True) if name in columns]
        for columns in bounded
    ]
    if shown.groups.all() or any(len(np.unique(np.stack(each), axis=1).T) < 2 for each in codes):
        return theory
    counts, kernel = of_groups(theory.counts, theory.kernel, shown.groups)
    return Theory(with_own_target(theory.problem, theory.counts), counts, kernel)


def fresh_people(
    problem: Problem, theory: Theory, of_shown: Theory, strayed: Strayed, shown: Discretion, confidence: float
) -> list[Json]:
    """Return what can be said about others, heading by heading; all but the first are details."""
    small = theory.small_groups(width=WIDE, confidence=confidence)
    robustness = of_shown.robustness(confidence=confidence)
    everybody: dict[str, Finding] = {
        "Small groups": small,
        "At apply time, when the outcome is not known (section 3.4)": theory.applying(),
    }
    compared: dict[str, Finding] = {
        "By resampling": strayed.tables,
        "One release": strayed.draws,
        "Proved from the table (section 3.5)": robustness,
        "Telling the group from the outcome (section 3.3)": of_shown.advantage(),
    }
    # Where fewer than two groups are shown, what compares groups is of all of them, and would reveal the hidden ones.
    details = everybody if of_shown is theory and not shown.groups.all() else compared | everybody
    first = _first(strayed, small, problem, shown, confidence)
    told = [(heading, discreet(notes_of(part.sections), shown)) for heading, part in details.items()]
    return [
        {"heading": "Before signing", "detail": False, "words": discreet(list(first), shown)},
        *({"heading": heading, "detail": True, "words": words} for heading, words in told if words),
    ]


def _first(
    strayed: Strayed, small: SmallGroups, problem: Problem, shown: Discretion, confidence: float
) -> Iterator[Note]:
    """Return what a signer needs first: one draw, other people, and how badly the rates of small groups are known."""
    several = len(problem.parity) > 1
    fields: dict[str, Any] = {
        "releases": strayed.draws.releases, "tables": strayed.tables.resamples, "draws_apart": strayed.draws_apart,
        "tables_apart": strayed.tables_apart, "confidence": confidence, "wide": WIDE,
    }  # fmt: skip
    fields["which"] = Note("fresh.first_bound") if several else None
    fields["bounds"] = Note("fresh.a_bound" if several else "fresh.the_bound")
    if strayed.own is None:
        yield Note("fresh.draws", fields)
        yield Note("fresh.tables", fields | {"over": None})
    else:
        on_tables, in_draws = strayed.own
        yield Note("fresh.draws_over", fields | {"over": in_draws.over})
        over = Note("fresh.tables_over", fields | {"over": on_tables.over})
        yield Note("fresh.tables", fields | {"over": over})
    yield Note("fresh.holdout")
    # The theory's groups may be formed by some of the protected columns alone.
    own = {column: own_name(small.frame, column) for column in problem.protected}
    every = [
        ({column: row[own[column]] for column in own if own[column] in row}, row["widest"])
        for row in small.frame.to_dict("records")
    ]
    widths = {long_name(levels): width for levels, width in every if shown.may_name(levels)}
    wide = [name for name in widths if widths[name] > WIDE]
    if wide:
        widest = max(wide, key=lambda name: widths[name])
        yield Note(
            "fresh.wide_groups",
            fields | {"groups": len(widths), "small": len(wide), "widest": widths[widest], "group": widest},
        )
    if few := len(every) - len(widths):
        hidden = not_shown(few, len(every), "groups", shown.hide_below)
        yield Note("fresh.hidden_groups", {"hidden": hidden})
