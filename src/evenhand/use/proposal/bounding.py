"""Which bounds to propose: a tenth where it can be met, within a budget with a little room, and by which distance.

Where somebody said which outcome is good for a person, people move towards it only, if that is enough; if not, and many
would lose it, a distance by which clearly fewer do is looked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace

from evenhand.arrays import round_up
from evenhand.data.counts import Counts
from evenhand.data.domain import Value
from evenhand.errors import EvenhandError
from evenhand.findings.feasibility import budget_edge, parity_edge
from evenhand.findings.ledger import ledger
from evenhand.fitting import checked_counts
from evenhand.optimize.solve import Clock
from evenhand.optimum import optimal
from evenhand.resources import Progress
from evenhand.spec import ExpectedDistortion, Problem
from evenhand.spec.distance import Difference, Distance, FourFifths, Ratio
from evenhand.use.proposal.draft import Draft
from evenhand.use.proposal.outcome import Direction

USUAL_BOUND = 0.1
"""Rates that differ by a tenth: asked for wherever it can be met within the widest budget."""

WIDEST_BUDGET = 0.5
LEAST_BUDGET = 0.1

SLACK = 1.2
"""How much wider than the smallest the proposed budget, or bound, is."""

GRID = 0.05
"""Proposed numbers are multiples of this."""

MANY_LOSE = 0.01
"""Where more than this share of people would lose the favourable outcome, other distances are looked at."""

CLEARLY_FEWER = 0.5
"""Another distance is proposed if at most this share of them would still lose it."""

COMPARABLE = {FourFifths: 0.2, Difference: 0.1}
"""The widest bound at which another distance is proposed: the four-fifths rule's own, and ten points."""


@dataclass(frozen=True)
class Bounds:
    """The two numbers that are proposed, by which distance, and how far each could be tightened while the other stays.

    ``losing`` is the share of people who lose the favourable outcome by a fit, None where it is not known.
    """

    bound: float
    limit: float
    smallest_bound: float | None = None
    smallest_limit: float | None = None
    distance: Distance = field(default_factory=Ratio)
    losing: float | None = None


@dataclass(eq=False)
class Finder:
    """Finds bounds that can be met, and who loses by them; counts a table once for each direction of the outcome."""

    stated: Callable[[Bounds, Direction], Problem]
    count: Callable[[Problem], Counts]
    draft: Draft
    report: Progress
    counted: dict[bool, Counts] = field(default_factory=dict)

    def proposed(self, good: Value | None) -> tuple[Bounds, Direction, Bounds | None]:
        """Return the bounds and the direction to propose; and bounds by another distance, where they were looked at."""
        direction = Direction(good, only=good is not None)
        bounds = self.bounds(direction, Ratio())
        reach = bounds.smallest_bound
        if good is None or (reach is not None and bounds.bound <= USUAL_BOUND):
            return bounds, direction, None
        # A tighter bound may need the other way too.
        either = self.bounds(Direction(good), Ratio())
        if reach is not None and bounds.bound <= either.bound:
            return bounds, direction, None
        usual, direction = self.losing(either, Direction(good)), Direction(good, reach=reach)
        fewer = self.fewer_lose(good, usual)
        if fewer is None:
            return usual, direction, None
        other, way = fewer
        return (other, way, usual) if comparable(other) else (usual, direction, other)

    def counts(self, problem: Problem, direction: Direction) -> Counts:
        """Count the table, once for each direction, which says in which order the outcome's levels are."""
        if direction.only not in self.counted:
            self.counted[direction.only] = checked_counts(problem, self.count(problem))
        return self.counted[direction.only]

    def bounds(
        self, direction: Direction, distance: Distance, wanted: float = USUAL_BOUND, *, widest: bool = False
    ) -> Bounds:
        """Find a bound, the wanted one or else a wider one, and a budget that can be met with a little room.

        The budget is the smallest such one, or the ``widest`` of all.
        """
        tried = Bounds(wanted, WIDEST_BUDGET, distance=distance)
        problem = self.stated(tried, direction)
        counts, clock = self.counts(problem, direction), Clock()
        self.report("finding bounds that can be met", 0.5)

        def smallest_bound(limit: float) -> float | None:
            edge = parity_edge(replace(problem, budget=ExpectedDistortion(limit)), counts, clock)
            return None if edge is None else edge.bound

        factor = budget_edge(problem, counts, clock)
        if factor is not None and factor * SLACK <= 1:
            least = factor * WIDEST_BUDGET
            limit = WIDEST_BUDGET if widest else max(LEAST_BUDGET, round_up(least * SLACK, GRID))
            return replace(tried, limit=limit, smallest_bound=smallest_bound(limit), smallest_limit=least)
        edge = smallest_bound(WIDEST_BUDGET)
        if edge is None:
            return tried
        return replace(tried, bound=max(wanted, round_up(edge * SLACK, GRID)), smallest_bound=edge)

    def losing(self, bounds: Bounds, direction: Direction) -> Bounds:
        """Find which share of people lose the favourable outcome by what these bounds ask for."""
        good = direction.favourable
        if good is None or bounds.smallest_bound is None:
            return bounds
        if direction.only:
            return replace(bounds, losing=0.0)
        self.report(f"finding who loses {good}", 0.7)
        problem = self.stated(bounds, direction)
        counts = self.counts(problem, direction)
        try:
            found = optimal(problem, counts, Clock(), lambda stage, share: self.report(stage, 0.7))
        except EvenhandError:
            # Bounds that cannot be met, or not found so, take nothing from anybody; fit will say why.
            return bounds
        who = ledger(problem, counts, found.kernel, found.achieved)
        return replace(bounds, losing=None if who is None else who.share_harmed)

    def fewer_lose(self, good: Value, usual: Bounds) -> tuple[Bounds, Direction] | None:
        """Find another distance by which clearly fewer people lose the favourable outcome; None where there is none."""
        if usual.losing is None or usual.losing <= MANY_LOSE:
            return None
        found: list[tuple[Bounds, Direction]] = []
        for distance in (FourFifths(good), Difference()):
            self.report(f"trying another distance: {distance.word}", 0.8)
            towards = Direction(good, only=True)
            alone = self.losing(self.bounds(towards, distance), towards)
            if comparable(alone):
                return alone, towards
            # Where people lose anyway, the widest bound that is comparable, and the widest budget, take least.
            either = Direction(good, reach=alone.smallest_bound)
            widest = self.bounds(either, distance, COMPARABLE[type(distance)], widest=True)
            found += [(alone, towards), (self.losing(widest, either), either)]
        most = CLEARLY_FEWER * usual.losing
        fewer = [one for one in found if one[0].losing is not None and one[0].losing <= most and one[0].bound < 1]
        return min(fewer, key=lambda one: (not comparable(one[0]), one[0].losing or 0.0), default=None)


def comparable(bounds: Bounds) -> bool:
    """Whether bounds by another distance are worth as much as the usual ones."""
    return bounds.bound <= COMPARABLE[type(bounds.distance)] and bounds.smallest_bound is not None
