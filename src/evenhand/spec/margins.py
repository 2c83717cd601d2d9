"""Margins: a bound that is kept even where the rate that it holds is a little off.

``above`` and ``below`` say by how much the rate p of each comparison may be higher, or lower, than the table shows:
every line ``on_p·p + on_q·q ≤ limit`` must hold at p + above where it holds p down, and at p − below where it holds p
up. So margins only move limits, and whoever sees lines sees ordinary ones. Knows nothing of where margins come from.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.domain import Value
from evenhand.spec.by import By
from evenhand.spec.distance import Distance, Line, points
from evenhand.spec.problem import Problem


@dataclass(frozen=True)
class Margin:
    """How much higher and how much lower the rate of each comparison of one constraint may be than it is here."""

    above: tuple[float, ...]
    below: tuple[float, ...]

    @classmethod
    def of(cls, above: Numbers, below: Numbers) -> Margin:
        """Return the margin that two arrays say."""
        return cls(tuple(above.tolist()), tuple(below.tolist()))

    def times(self, share: float) -> Margin:
        return Margin(tuple(share * at for at in self.above), tuple(share * at for at in self.below))


Margins = tuple[Margin, ...]
"""One for each parity constraint of a problem."""


@dataclass(frozen=True)
class WithMargin(Distance):
    """A distance that must be kept by rates that are off by a margin, comparison by comparison.

    It is known for the comparisons of one table alone, in their order.
    """

    of: Distance
    margin: Margin

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return the larger of J for the rate and for the rate with its margin."""
        above, below = np.asarray(self.margin.above), np.asarray(self.margin.below)
        return np.maximum(self.of.value(p + above, q), self.of.value(np.maximum(p - below, 0.0), q))

    def concerns(self, level: Value) -> bool:
        """Whether the distance is about this level of the outcome."""
        return self.of.concerns(level)

    def outcomes(self) -> tuple[Value, ...]:
        """The levels of the outcome that the distance names."""
        return self.of.outcomes()

    @property
    def good_outcome(self) -> Value | None:
        """The level of the outcome that the distance takes for good for a person."""
        return self.of.good_outcome

    @property
    def largest_bound(self) -> float:  # type: ignore[override]
        """A bound that restrains nothing but ratios to zero."""
        return self.of.largest_bound

    def apart(self, bound: float | By) -> str:
        """Say how far apart two groups' rates may be."""
        return f"{self.of.apart(bound)}, with margins"

    def near(self, bound: float | By, other: str) -> str:
        """Say how near a group's rate must be to another."""
        return f"{self.of.near(bound, other)}, with margins"

    def lines(self, bound: Numbers) -> tuple[Line, ...]:
        return tuple(map(self._moved, self.of.lines(bound)))

    def within(self, bound: Numbers, target: Numbers) -> tuple[Line, ...]:
        """Return the lines against each entry's target, with limits that the margin moves."""
        return tuple(map(self._moved, self.of.within(bound, target)))

    def _moved(self, line: Line) -> Line:
        by = np.where(line.on_p > 0, self.margin.above, -np.asarray(self.margin.below))
        # The limit moves by a multiple of on_p, which may itself depend on the bound.
        on_p, on_q, limit = line.slope
        return replace(line, limit=line.limit - line.on_p * by, slope=(on_p, on_q, limit - on_p * by))


def widest(problem: Problem) -> str:
    """Say the widest margin of a problem that has some.

    Examples
    --------
    >>> import evenhand as eh
    >>> asked = {"parity": [eh.PairwiseParity(0.1)], "distortion": eh.Distortion({"y": eh.Free()})}
    >>> problem = Problem(protected=["d"], features=["x"], outcome="y", **asked)
    >>> widest(with_margins(problem, [Margin((0.02, 0.031), (0.0, 0.01))]))
    '3.1 points'
    """
    each = (parity.distance.margin for parity in problem.parity if isinstance(parity.distance, WithMargin))
    return points(max((at for margin in each for at in (*margin.above, *margin.below)), default=0.0))


def with_margins(problem: Problem, margins: Sequence[Margin] | None) -> Problem:
    """Return the problem whose parity constraints are to be kept with margins, on the table that these are for.

    The margins stand for its confidence, which it therefore does not ask for.
    """
    parities = list(problem.parity)
    if margins is not None:
        both = zip(parities, margins, strict=True)
        parities = [parity.with_distance(WithMargin(parity.distance, margin)) for parity, margin in both]
    return replace(problem, parity=parities, confidence=None)
