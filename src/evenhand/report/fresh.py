"""What can be said about other people than those of the table: what a signer needs first, then the paper's terms.

Short sentences are made from the theory's numbers; the theory's own sentences follow as details.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.findings.assurance import Assurance
from evenhand.findings.discretion import Discretion, discreet
from evenhand.findings.naming import long_name
from evenhand.findings.theory import Bootstrap, DrawSpread, SmallGroups, Theory
from evenhand.findings.theory.intervals import WIDE
from evenhand.spec import Problem
from evenhand.spec.distance import times

FIRST = "Before signing"
Json = dict[str, Any]


def in_the_population(promised: Assurance) -> Json:
    """Say what a mapping's confidence promises of the people whom the table is a sample of."""
    heading = f"The bounds among those whom the table is a sample of, at a confidence of {promised.confidence:g}"
    return {"heading": heading, "words": list(promised.words), "detail": False}


@dataclass(frozen=True, eq=False)
class Strayed:
    """How far the rates stray, by simulation: of the same mapping on resampled tables, and of single releases."""

    tables: Bootstrap
    draws: DrawSpread

    @classmethod
    def of(cls, theory: Theory, confidence: float, seed: int) -> Strayed:
        """Simulate, once for all that is said of it."""
        return cls(theory.bootstrap(confidence=confidence, seed=seed), theory.draw_spread(seed=seed))

    def numbers(self, promised: Assurance | None) -> Json:
        """Return in numbers what can be said about others: what is promised, how tables and draws stray."""
        ends = self.draws.quantiles["largest_ratio"].tolist()
        _, low, high = self.tables.largest
        return {
            "confidence": None if promised is None else promised.confidence,
            "resamples": self.tables.resamples,
            "resamples_apart": between(1 + low, 1 + high),
            "resamples_over": self.tables.over,
            "releases": self.draws.releases,
            "releases_apart": between(1 + ends[0], 1 + ends[-1]),
            "releases_over": self.draws.over,
        }


def fresh_people(
    problem: Problem, theory: Theory, strayed: Strayed, shown: Discretion, confidence: float
) -> list[Json]:
    """Return what can be said about others, heading by heading; all but the first are details."""
    bootstrap, spread = strayed.tables, strayed.draws
    small = theory.small_groups(width=WIDE, confidence=confidence)
    robustness = theory.robustness(confidence=confidence)
    details: dict[str, Sequence[str]] = {
        "By resampling": bootstrap.words,
        "One draw of the lottery": spread.words,
        "Small groups": small.words,
        "At apply time, when the outcome is not known (section 3.4)": theory.applying().words,
        "Proved from the table (section 3.5)": robustness.words,
        "Telling the group from the outcome (section 3.3)": theory.advantage().words,
    }
    first = _first(theory.bound, spread, bootstrap, small, problem, shown, confidence)
    told = [(heading, discreet(words, shown)) for heading, words in details.items()]
    return [
        {"heading": FIRST, "detail": False, "words": discreet(list(first), shown)},
        *({"heading": heading, "detail": True, "words": words} for heading, words in told if words),
    ]


def between(low: float, high: float) -> str:
    """Say two factors, or the one that both are written as.

    Examples
    --------
    >>> between(1.061, 1.234), between(1.1, 1.1), between(1.4, float("inf"))
    ('1.06 to 1.23 times', '1.10 times', '1.40 times or, where a rate is zero, without limit')
    """
    first, last = times(low), times(high)
    if not math.isfinite(high):
        return f"{first} or, where a rate is zero, without limit" if math.isfinite(low) else "without limit"
    return last if first == last else f"{first.removesuffix(' times')} to {last}"


def _first(
    bound: float, spread: DrawSpread, bootstrap: Bootstrap, small: SmallGroups, problem: Problem, shown: Discretion,
    confidence: float,
) -> Iterator[str]:  # fmt: skip
    """Say what a signer needs first: one draw, other people, and how badly the rates of small groups are known."""
    ends = spread.quantiles["largest_ratio"].tolist()
    within = f"in nine of ten the rates were {between(1 + ends[0], 1 + ends[-1])} apart"
    if spread.over is None:
        yield f"One release is one draw of a lottery. Of {spread.releases} simulated releases, {within}."
    else:
        yield (
            f"One release is one draw of a lottery: {spread.over:.1%} of {spread.releases} simulated releases exceed "
            f"the {times(1 + bound)} that holds in expectation; {within}. Balanced draws stray less, and the expanded "
            f"table, which carries every possible row with its weight, not at all."
        )
    _, low, high = bootstrap.largest
    over = "" if bootstrap.over is None else f", and {bootstrap.over:.1%} of them exceed {times(1 + bound)}"
    yield (
        f"Had other people been in the table: on {bootstrap.resamples} resampled tables, the mapping held fixed, the "
        f"expected rates are mostly {between(1 + low, 1 + high)} apart{over}."
    )
    yield (
        "Surest is a hold-out: release people who were not used for fitting, and look at their rates. "
        "Given their table as a hold-out, the theory of the mapping has exact intervals for them, all at once, and "
        "says whether the bound is met, violated or not decided."
    )
    # The theory's groups may be formed by some of the protected columns alone.
    every = [
        ({column: row[column] for column in problem.protected if column in row}, row["widest"])
        for row in small.frame.to_dict("records")
    ]
    widths = {long_name(levels): width for levels, width in every if shown.may_name(levels)}
    wide = [name for name in widths if widths[name] > WIDE]
    if wide:
        widest = max(wide, key=lambda name: widths[name])
        yield (
            f"Of the {len(widths)} groups that are shown, {len(wide)} are so small that a rate of theirs is only known "
            f"to within an interval wider than {WIDE:g} ({confidence:.0%}, each by itself); the widest, "
            f"{widths[widest]:.2f}, is that of {widest}."
        )
    if few := len(every) - len(widths):
        have, count = ("group has", "counts") if few == 1 else ("groups have", "count")
        yield (
            f"{few} {have} fewer than {shown.hide_below:g} people and cannot be named here, but {count} in these "
            f"shares: the rates of so few people move most."
        )
