"""What can be said about other people than those of the table: what a signer needs first, then the paper's terms.

Short sentences are made from the theory's numbers; the theory's own sentences follow as details.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
from evenhand.render.section import notes_of
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
) -> Iterator[str]:
    """Say what a signer needs first: one draw, other people, and how badly the rates of small groups are known."""
    releases, tables = strayed.draws.releases, strayed.tables.resamples
    first = "" if len(problem.parity) < 2 else " that the first bound is about"
    within, over = f"In nine of ten, rates{first} are {strayed.draws_apart}.", ""
    if strayed.own is None:
        yield f"With independent draws {releases:,} releases were simulated. {within}"
    else:
        on_tables, in_draws = strayed.own
        bounds = "the bound" if len(problem.parity) == 1 else "a bound"
        yield (
            f"Constraints hold in expectation: with independent draws {in_draws.over:.1%} of {releases:,} simulated "
            f"releases violate {bounds}. {within} Balanced draws vary less. The expanded table, with every possible "
            f"row and its weight, does not vary."
        )
        over = f", and {on_tables.over:.1%} of them violate {bounds}"
    yield (
        f"Had other people been in the table: on {tables:,} resampled tables, the mapping held fixed, the "
        f"expected rates{first} are mostly {strayed.tables_apart}{over}."
    )
    yield (
        "Surest is a hold-out: release people who were not used for fitting, and look at their rates. "
        "Given their table as a hold-out, the theory of the mapping has exact intervals for them, all at once, and "
        "says whether the bound is met, violated or not decided."
    )
    # The theory's groups may be formed by some of the protected columns alone.
    own = {column: own_name(small.frame, column) for column in problem.protected}
    every = [
        ({column: row[own[column]] for column in own if own[column] in row}, row["widest"])
        for row in small.frame.to_dict("records")
    ]
    widths = {long_name(levels): width for levels, width in every if shown.may_name(levels)}
    wide = [name for name in widths if widths[name] > WIDE]
    if wide:
        widest, are = max(wide, key=lambda name: widths[name]), "is" if len(wide) == 1 else "are"
        yield (
            f"Of the {len(widths)} groups that are shown, {len(wide)} {are} so small that a rate of theirs is only "
            f"known to within an interval wider than {WIDE:g} ({confidence:.0%}, each by itself); the widest, "
            f"{widths[widest]:.2f}, is that of {widest}."
        )
    if few := len(every) - len(widths):
        hidden = not_shown(few, len(every), "groups", shown.hide_below)
        yield f"{hidden}. They count in these shares, and the rates of so few people move most."
