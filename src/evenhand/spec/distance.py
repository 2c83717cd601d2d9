"""Distances J between two probabilities of an outcome: eq. (3), and others.

What a problem needs of a distance is the set of (p, q) with J(p, q) ≤ bound, as lines ``on_p·p + on_q·q ≤ limit``;
Proposition 1 asks that it be convex. Against a fixed target the lines leave an interval of p. Between every two groups,
in both orders, one line is enough for the distances that have one (``both``): every rate is then held against the
smallest of them. Slopes are derivatives of the lines in the bound.

A distance says all that others ask of it: what a bound on it means in words, whether it leaves a band around a rate,
which bound is as good as none. No module asks which distance it is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from evenhand.arrays import Numbers, quotient
from evenhand.data.domain import Value, same_level
from evenhand.spec.by import By, change_each, words_of
from evenhand.spec.part import Part
from evenhand.tolerances import ROUNDING

LARGEST_BOUND = 1e6
"""A bound that restrains nothing but ratios to zero."""

RATES, RATE = "each outcome's rates", "each outcome's rate"


@dataclass(frozen=True, eq=False)
class Line:
    """The half-plane ``on_p · p + on_q · q ≤ limit``, one per entry of the bound, with its slope in the bound.

    ``scale`` is what the line was divided by, so that no coefficient is large, from the form in which its distance is
    usually written.
    """

    on_p: Numbers
    on_q: Numbers
    limit: Numbers
    slope: tuple[Numbers, Numbers, Numbers]
    scale: Numbers

    @classmethod
    def of(cls, size: int, line: tuple[Any, Any, Any], slope: tuple[Any, Any, Any], scale: Any = 1.0) -> Line:
        """Broadcast plain numbers to one per entry."""

        def wide(value: Any) -> Numbers:
            return np.broadcast_to(np.asarray(value, dtype=float), (size,))

        on_p, on_q, limit = (wide(value) for value in line)
        return cls(on_p, on_q, limit, (wide(slope[0]), wide(slope[1]), wide(slope[2])), wide(scale))


class Distance(Part):
    """A distance J(p, q) between two probabilities.

    Attributes
    ----------
    holds_functions : bool
        Whether it holds a user's function, which no file can keep: :meth:`tabulated` turns it into lines.
    at_any_bound : bool
        Whether its lines, and their slopes, are known at any bound.
    holds_the_lower : bool
        Whether J is how far p falls below q, so that ``both`` is the line of the lower rate's own entry.
    largest_bound : float
        A bound that restrains nothing but ratios to zero.
    """

    key = "measure"
    at_any_bound: ClassVar[bool] = True
    holds_the_lower: ClassVar[bool] = False
    largest_bound: ClassVar[float] = LARGEST_BOUND

    @abstractmethod
    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return J(p, q), elementwise."""

    @abstractmethod
    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        """Return lines that together are J(p, q) ≤ bound."""

    def both(self, bound: Numbers) -> Line | None:
        """Return the one line that, for p and q in both orders, is J ≤ bound, with on_p > 0 ≥ on_q; None if none is."""
        return None

    def within(self, bound: Numbers, target: Numbers) -> tuple[Line, ...]:
        """Return lines that together are J(p, target) ≤ bound."""
        return self.lines(bound)

    def excess(self, p: Numbers, q: Numbers, bound: Numbers) -> Numbers:
        """Return J(p, q) − bound."""
        return np.asarray(self.value(p, q) - bound)

    def refuse_unmet(self, p: Numbers, q: Numbers, bound: Numbers) -> None:
        """Refuse rates that violate a bound although they meet its lines; lines that are exact leave none."""
        return

    def concerns(self, level: Value) -> bool:
        """Whether the distance is about this level of the outcome."""
        return True

    def outcomes(self) -> tuple[Value, ...]:
        """The levels of the outcome that the distance names."""
        return ()

    def about(self, level: Value) -> Distance:
        """Return the same distance about another level of the outcome, where it is about one."""
        return self

    @property
    def good_outcome(self) -> Value | None:
        """The level of the outcome that the distance takes for good for a person; None where it takes none."""
        return None

    def reach(self, rate: float, bound: float) -> float | None:
        """Return how far from a rate, to either side, the bound lets another be; None where that is no plain number."""
        return None

    def tabulated(self, bounds: Sequence[float], targets: Sequence[float] | None) -> Distance:
        """Return the distance as files keep it, for these bounds and targets (None between groups): mostly itself."""
        return self

    def apart(self, bound: float | By) -> str:
        """Say how far apart two groups' rates may be."""
        return f"{RATES} are at most {words_of(bound, plain)} apart by {self._name}"

    def near(self, bound: float | By, other: str) -> str:
        """Say how near a group's rate must be to another."""
        return f"{RATE} is at most {words_of(bound, plain)} from {other} by {self._name}"

    def said(self, p: float, q: float) -> str:
        """Say how far apart two rates are, as people say it: "6.3 times", "12 points"."""
        return f"{float(self.value(np.array([p]), np.array([q]))[0]):.3g} by {self._name}"

    def said_bound(self, bound: float, *, both: bool = True) -> str:
        """Say a bound in the same words as :meth:`said`: on rates in ``both`` orders, or on one beside another."""
        return f"{bound:.3g} by {self._name}"

    def said_range(self, low: float, high: float, *, both: bool = True) -> str:
        """Say that two rates are between one distance and another apart."""
        apart = "apart" if both else "away from what they are held against"
        first = self.said_bound(low, both=both)
        if not math.isfinite(high):
            return f"{first} {apart} or, where a rate is zero, without limit" if math.isfinite(low) else WITHOUT_LIMIT
        return f"{from_to(first, self.said_bound(high, both=both))} {apart}"

    def doubt(self, bound: float) -> str | None:
        """Say why a bound is almost surely a mistake, and what may have been meant; None where it is plausible."""
        return None

    def asked(self, bound: float, *, both: bool = True) -> str:
        """Say what a bound asks, in the words of :meth:`said_bound`: "at most 1.10 times"."""
        return f"at most {self.said_bound(bound, both=both)}"

    def beside(self, p: float, q: float, bound: float) -> str:
        """Say how far apart two rates are and what a bound asks of them: "ratio 0.9005, at least 0.9000 required"."""
        over = float(self.excess(np.array([p]), np.array([q]), np.array([bound]))[0])
        return self.held((bound + over,), bound, lower=p < q)

    def held(self, apart: Sequence[float], bound: float, *, lower: bool | None = None) -> str:
        """Say the same of a distance J, or of the two ends of its interval.

        ``lower`` says whether the first rate is the lower one; None where that is not known.
        """
        return at_most(f"distance by {self._name}", apart, bound)

    @property
    def _name(self) -> str:
        return str(getattr(self, "name", type(self).__name__))


def from_to(first: str, last: str) -> str:
    """Say two distances, the unit once, or the one that both are written as.

    Examples
    --------
    >>> from_to("9.1 points", "12.0 points"), from_to("1.10 times", "1.10 times"), from_to("5 times", "without limit")
    ('9.1 to 12.0 points', '1.10 times', '5 times to without limit')
    """
    if first == last:
        return last
    number, _, unit = first.partition(" ")
    return f"{number} to {last}" if last.endswith(f" {unit}") else f"{first} to {last}"


WITHOUT_LIMIT = "without limit"


def at_most(what: str, found: Sequence[float], limit: float, unit: str = "") -> str:
    """Write a number, or an interval, and the largest that a bound allows.

    Examples
    --------
    >>> at_most("ratio", [1.25], 1.2), at_most("difference", [4.0, 12.34567], 12.34561, " points")
    ('ratio 1.2500, at most 1.2000 allowed', 'difference 4.0000 to 12.3457, at most 12.3456 points allowed')
    """
    number, written = _told_apart(found, limit)
    return f"{what} {number}, at most {written}{unit} allowed"


def at_least(what: str, found: Sequence[float], limit: float, more: str = "") -> str:
    """Write a number, or an interval, and the smallest that a bound requires.

    Examples
    --------
    >>> at_least("ratio", [0.90046], 0.9), at_least("ratio", [0.919998], 0.92)
    ('ratio 0.9005, at least 0.9000 required', 'ratio 0.919998, at least 0.920000 required')
    """
    number, written = _told_apart(found, limit)
    return f"{what} {number}{more}, at least {written} required"


def _told_apart(found: Sequence[float], limit: float) -> tuple[str, str]:
    """Write numbers and a limit with four digits, or as many as show on which side of it they are."""

    def write(value: float, digits: int) -> str:
        return f"{value:.{digits}f}" if math.isfinite(value) else "infinite"

    other = [value for value in found if abs(value - limit) > ROUNDING]
    apart = (n for n in range(4, 10) if all(write(value, n) != write(limit, n) for value in other))
    digits = next(apart, 10)
    return " to ".join(write(value, digits) for value in found), write(limit, digits)


NO_TIMES = "none against some"
"""What is said of a rate above zero beside one of zero: no number of times."""


def times(factor: float) -> str:
    """Write a factor between two rates as people say it.

    Examples
    --------
    >>> times(6.288), times(1.1), times(1.005), times(120.4), times(0.374)
    ('6.3 times', '1.10 times', '1.005 times', '120 times', '0.37 times')
    """
    if not math.isfinite(factor):
        return NO_TIMES
    if factor >= 100:
        return f"{factor:,.0f} times"
    if factor >= 2:
        return f"{factor:.1f} times"
    # A bound of half a percent must not be written as none.
    fine = 0 < abs(factor - 1) < 0.01 and f"{factor:.4f}" != "1.0000"
    return f"{factor:.4g} times" if fine else f"{factor:.2f} times"


def points(difference: float) -> str:
    """Write a difference of two rates in percentage points.

    Examples
    --------
    >>> points(0.226), points(0.05), points(0.004)
    ('22.6 points', '5.0 points', '0.40 points')
    """
    return f"{100 * difference:.{1 if difference >= 0.01 or difference == 0 else 2}f} points"


def _larger_over_smaller(p: float, q: float) -> float:
    low, high = min(p, q), max(p, q)
    return high / low if low > 0 else (math.inf if high > 0 else 1.0)


def plain(value: float) -> str:
    """Write a number in as few digits as it needs."""
    return f"{value:g}"


def hundredths(value: float) -> str:
    """Write a number as a percentage, without its sign."""
    return f"{100 * value:.4g}"


@dataclass(frozen=True)
class Ratio(Distance):
    """The probability ratio |p/q − 1| of eq. (3); 0/0 satisfies every bound, p/0 none.

    Examples
    --------
    >>> Ratio().value(np.array([0.3, 0.0, 0.1]), np.array([0.2, 0.0, 0.0])).round(6).tolist()
    [0.5, 0.0, inf]
    """

    word = "ratio"

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return |p/q − 1|."""
        return np.abs(quotient(p, q) - 1)

    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        """Return p ≤ (1 + ε) q and p ≥ (1 − ε) q."""
        size, large = len(bound), bound > 1
        factor = np.where(large, 1 + bound, 1.0)
        above = Line.of(
            size,
            (1 / factor, np.where(large, -1.0, -(1 + bound)), 0.0),
            (np.where(large, -((1 / factor) ** 2), 0.0), np.where(large, 0.0, -1.0), 0.0),
            factor,
        )
        # From ε = 1 on the second asks for nothing.
        below = Line.of(size, (-1.0, np.maximum(1 - bound, 0.0), 0.0), (0.0, np.where(bound < 1, -1.0, 0.0), 0.0))
        return above, below

    def both(self, bound: Numbers) -> Line:
        """Return p ≤ (1 + ε) q; the other inequality follows, since 1/(1 + ε) ≥ 1 − ε."""
        return self.lines(bound)[0]

    def reach(self, rate: float, bound: float) -> float:
        """Return the share ε of the rate."""
        return bound * rate

    def apart(self, bound: float | By) -> str:
        """Say the largest factor between two rates."""
        if bound == 0:
            return f"{RATES} are equal"
        return f"{RATES} differ by a factor of at most {words_of(bound, lambda e: f'{1 + e:g}')}"

    def said(self, p: float, q: float) -> str:
        """Say how many times the other rate the one is."""
        return times(p / q if q > 0 else (math.inf if p > 0 else 1.0))

    def said_bound(self, bound: float, *, both: bool = True) -> str:
        """Say the largest factor; beside a rate that stays, the smallest too."""
        if both or not math.isfinite(bound):
            return times(1 + bound)
        return f"{times(max(0.0, 1 - bound)).removesuffix(' times')} to {times(1 + bound)}"

    def doubt(self, bound: float) -> str | None:
        """Doubt a bound that reads as a percentage: 10 allows eleven times the other rate."""
        if not 10 <= bound < math.inf:
            return None
        return f"a bound of {bound:g} allows {1 + bound:g} times the other rate; for {bound:g}% write {bound / 100:g}"

    def asked(self, bound: float, *, both: bool = True) -> str:
        """Say the largest factor; beside a rate that stays, between which factors it is."""
        return super().asked(bound) if both else f"from {self.said_bound(bound, both=False)}"

    def held(self, apart: Sequence[float], bound: float, *, lower: bool | None = None) -> str:
        """Say the ratio of two rates, or how far it is from one."""
        if lower is None:
            return at_most("relative difference", apart, bound)
        if lower:
            return at_least("ratio", [1 - each for each in apart], 1 - bound)
        return at_most("ratio", [1 + each for each in apart], 1 + bound)

    def said_range(self, low: float, high: float, *, both: bool = True) -> str:
        """Say two factors; beside a rate that stays, two shares of it.

        Examples
        --------
        >>> Ratio().said_range(0.06, 0.234), Ratio().said_range(0.15, 0.2125, both=False)
        ('1.06 to 1.23 times apart', '15.0% to 21.2% away from what they are held against')
        """
        if both or not math.isfinite(high):
            return super().said_range(low, high, both=both)
        return f"{from_to(f'{100 * low:.1f}%', f'{100 * high:.1f}%')} away from what they are held against"

    def near(self, bound: float | By, other: str) -> str:
        """Say within what share of another a rate must be."""
        if bound == 0:
            return f"{RATE} equals {other}"
        return f"{RATE} is within {words_of(bound, lambda e: f'{hundredths(e)}%')} of {other}"


@dataclass(frozen=True)
class Difference(Distance):
    """The difference |p − q|, in points of probability.

    Examples
    --------
    >>> Difference().value(np.array([0.3]), np.array([0.2])).round(6).tolist()
    [0.1]
    """

    word = "difference"

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return |p − q|."""
        return np.abs(np.asarray(p) - np.asarray(q))

    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        """Return p − q ≤ ε and q − p ≤ ε."""
        size = len(bound)
        return (
            Line.of(size, (1.0, -1.0, bound), (0.0, 0.0, 1.0)),
            Line.of(size, (-1.0, 1.0, bound), (0.0, 0.0, 1.0)),
        )

    def both(self, bound: Numbers) -> Line:
        """Return p − q ≤ ε."""
        return self.lines(bound)[0]

    def reach(self, rate: float, bound: float) -> float:
        """Return ε."""
        return bound

    def apart(self, bound: float | By) -> str:
        """Say how many points two rates may differ by."""
        if bound == 0:
            return f"{RATES} are equal"
        return f"{RATES} differ by at most {words_of(bound, hundredths)} percentage points"

    def said(self, p: float, q: float) -> str:
        """Say by how many points the rates differ."""
        return points(abs(p - q))

    def said_bound(self, bound: float, *, both: bool = True) -> str:
        """Say the largest difference."""
        return points(bound)

    def doubt(self, bound: float) -> str | None:
        """Doubt a bound of one or more: no two rates differ by more than one."""
        if not 1 <= bound < math.inf:
            return None
        meant = f"for {bound:g} percentage points write {bound / 100:g}" if bound <= 100 else "leave the constraint out"
        return f"a bound of {bound:g} never binds, because no two rates differ by more than 1; {meant}"

    def held(self, apart: Sequence[float], bound: float, *, lower: bool | None = None) -> str:
        """Say the difference in points."""
        return at_most("difference", [100 * each for each in apart], 100 * bound, " points")

    def near(self, bound: float | By, other: str) -> str:
        """Say within how many points of another a rate must be."""
        if bound == 0:
            return f"{RATE} equals {other}"
        return f"{RATE} is within {words_of(bound, hundredths)} percentage points of {other}"


@dataclass(frozen=True)
class LogRatio(Distance):
    """The log-ratio |log(p/q)|, the same in both orders; 0/0 satisfies every bound, p/0 and 0/q none.

    Examples
    --------
    >>> LogRatio().value(np.array([0.2, 0.1]), np.array([0.1, 0.2])).round(6).tolist()
    [0.693147, 0.693147]
    """

    word = "log-ratio"
    largest_bound = math.log1p(LARGEST_BOUND)

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return |log(p/q)|."""
        with np.errstate(divide="ignore"):
            return np.abs(np.log(quotient(p, q)))

    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        """Return p ≤ e^ε q and q ≤ e^ε p, each divided by e^ε."""
        size, share = len(bound), np.exp(-bound)
        with np.errstate(over="ignore"):
            scale = np.exp(bound)
        return (
            Line.of(size, (share, -1.0, 0.0), (-share, 0.0, 0.0), scale),
            Line.of(size, (-1.0, share, 0.0), (0.0, -share, 0.0), scale),
        )

    def both(self, bound: Numbers) -> Line:
        """Return p ≤ e^ε q."""
        return self.lines(bound)[0]

    def apart(self, bound: float | By) -> str:
        """Say the largest log-ratio of two rates."""
        if bound == 0:
            return f"{RATES} are equal"
        return f"{RATES} differ by at most {words_of(bound, plain)} in log-ratio"

    def said(self, p: float, q: float) -> str:
        """Say how many times the smaller rate the larger is."""
        return times(_larger_over_smaller(p, q))

    def said_bound(self, bound: float, *, both: bool = True) -> str:
        """Say the largest factor."""
        return times(math.exp(bound)) if bound < self.largest_bound else NO_TIMES

    def doubt(self, bound: float) -> str | None:
        """Doubt a bound that allows eleven times the other rate or more."""
        if not math.log(11) <= bound < math.inf:
            return None
        times_more = f"{math.exp(bound):.3g}" if bound < self.largest_bound else "over a million"
        return f"a bound of {bound:g} allows {times_more} times the other rate; for 10% write {math.log(1.1):.4f}"

    def held(self, apart: Sequence[float], bound: float, *, lower: bool | None = None) -> str:
        """Say the ratio of two rates, or its logarithm."""
        if lower is None:
            return at_most("log-ratio", apart, bound)
        if lower:
            return at_least("ratio", [math.exp(-each) for each in apart], math.exp(-bound))
        return at_most("ratio", [np.exp(each) for each in apart], math.exp(bound))

    def near(self, bound: float | By, other: str) -> str:
        """Say within what log-ratio of another a rate must be."""
        if bound == 0:
            return f"{RATE} equals {other}"
        return f"{RATE} is within {words_of(bound, plain)} in log-ratio of {other}"


@dataclass(frozen=True)
class FourFifths(Distance):
    """How far p falls short of q, as a share of q: max(0, 1 − p/q), on the favourable outcome alone.

    A bound of 0.2 is the four-fifths rule: no group's rate of the favourable outcome is below 80 % of another's. Held
    between every two groups that is the same as a :class:`Ratio` bound of 0.25 on that outcome.

    Parameters
    ----------
    favourable : level of the outcome
        The outcome that the rule is about; the others are not bounded.

    Examples
    --------
    >>> FourFifths(1).value(np.array([0.08, 0.12]), np.array([0.1, 0.1])).round(6).tolist()
    [0.2, 0.0]
    """

    favourable: Value
    word = "four-fifths"
    holds_the_lower = True

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return max(0, 1 − p/q); nothing falls short of zero."""
        return np.where(np.asarray(q) > 0, np.maximum(0.0, 1 - quotient(p, q)), 0.0)

    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        """Return p ≥ (1 − ε) q."""
        return (
            Line.of(len(bound), (-1.0, np.maximum(1 - bound, 0.0), 0.0), (0.0, np.where(bound < 1, -1.0, 0.0), 0.0)),
        )

    def both(self, bound: Numbers) -> Line:
        """Return (1 − ε) p ≤ q."""
        slope = np.where(bound < 1, -1.0, 0.0)
        return Line.of(len(bound), (np.maximum(1 - bound, 0.0), -1.0, 0.0), (slope, 0.0, 0.0))

    def concerns(self, level: Value) -> bool:
        """Whether the level is the favourable one."""
        return same_level(level, self.favourable)

    def outcomes(self) -> tuple[Value, ...]:
        """The favourable outcome."""
        return (self.favourable,)

    def about(self, level: Value) -> FourFifths:
        """Return the rule about another outcome."""
        return FourFifths(level)

    @property
    def good_outcome(self) -> Value:
        """The favourable outcome."""
        return self.favourable

    def apart(self, bound: float | By) -> str:
        """Say what share of another's rate every group must have."""
        return f"the rate of outcome {self.favourable!r} in one is at least {_remaining(bound)} of that in the other"

    def said(self, p: float, q: float) -> str:
        """Say which share of the other rate the one is."""
        return f"{hundredths(round(p / q, 3))}% of the other rate" if q > 0 else "none to fall short of"

    def said_bound(self, bound: float, *, both: bool = True) -> str:
        """Say the smallest share."""
        return f"{hundredths(max(0.0, 1 - bound))}% of the other rate"

    def said_range(self, low: float, high: float, *, both: bool = True) -> str:
        """Say two shares, the smaller first.

        Examples
        --------
        >>> FourFifths(1).said_range(0.1588, 0.25)
        'such that one is 75.0% to 84.1% of the other'
        """
        shares = (f"{100 * max(0.0, 1 - end):.1f}%" for end in (high, low))
        return f"such that one is {from_to(*shares)} of the other"

    def doubt(self, bound: float) -> str | None:
        """Doubt a bound of 0.8 or more: it is the share that may be missing, not the share that is required."""
        if not 0.8 <= bound < math.inf:
            return None
        left = max(0.0, 1 - bound)
        also = f", {left:g} to require {hundredths(bound)}%" if 0.8 < bound < 1 else ""
        rule = f"write 0.2 for the four-fifths rule{also}"
        return f"a bound of {bound:g} requires only {hundredths(left)}% of the other rate; {rule}"

    def asked(self, bound: float, *, both: bool = True) -> str:
        """Say the smallest share."""
        return f"at least {self.said_bound(bound)}"

    def beside(self, p: float, q: float, bound: float) -> str:
        """Say the ratio of two rates; nothing falls short of zero."""
        ratio = p / q if q > 0 else math.inf if p > 0 else 1.0
        return at_least("ratio", [ratio], max(0.0, 1 - bound))

    def held(self, apart: Sequence[float], bound: float, *, lower: bool | None = None) -> str:
        """Say which ratio a shortfall leaves, the smallest first; without one the ratio is one or more."""
        ratios = [1 - each for each in reversed(apart)]
        return at_least("ratio", ratios, max(0.0, 1 - bound), " or more" if ratios[-1] >= 1 else "")

    def near(self, bound: float | By, other: str) -> str:
        """Say what share of another rate a group must have."""
        return f"the rate of outcome {self.favourable!r} is at least {_remaining(bound)} of {other}"


def _remaining(bound: float | By) -> str:
    """Say the share of a rate that a shortfall leaves."""
    left = change_each(bound, lambda b: b if math.isinf(b) else max(0.0, 1 - b))
    return words_of(left, lambda share: f"{hundredths(share)}%")
