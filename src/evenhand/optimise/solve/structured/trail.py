"""Where to begin a form that differs little from the last one: a point on the way to that one's answer.

The answer itself is no place to begin: its pairs are at zero on one side, and get away from there by short steps. One
on the way, with a gap of some decades more, has every pair still near the middle. How many decades depends on how much
the two differ, which is learned on the way: after many iterations the next form begins with a larger gap, after few
with a smaller one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenhand.optimise.solve.structured.steps import Answer, Point

FIRST = -4
"""The decade of the gap at which the second form begins."""

LEAST, MOST = -5, -1
"""The decades that there are."""

SLOW, QUICK = 0.6, 0.4
"""The share of a beginner's iterations above which a start was too near to the answer, and below which too far."""


@dataclass(frozen=True, eq=False)
class Trail:
    """Points by the decade of their gap, how many iterations the first form took, and which decade to begin at."""

    points: dict[int, Point]
    beginner: int
    decade: int = FIRST

    @property
    def start(self) -> Point | None:
        """The point of that decade, or of the next larger gap; None where there is none."""
        known = [decade for decade in self.points if decade >= self.decade]
        return self.points[min(known)] if known and self.decade <= MOST else None

    def after(self, answer: Answer) -> Trail:
        """Return the trail after another form that began here."""
        share = answer.steps / self.beginner
        step = 1 if share > SLOW else -1 if share < QUICK else 0
        return replace(self, points=self.points | answer.trail, decade=max(LEAST, self.decade + step))
