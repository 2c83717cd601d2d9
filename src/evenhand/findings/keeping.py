"""Whether one table keeps every parity bound as it stands, and what the rounding to whole people does to bounds.

A bound holds in expectation; of a release by balanced draws the people with an outcome are whole numbers within one of
theirs. Rates are moved by whole people here, and held against the bounds again. Computes no rate itself.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Flags, Numbers
from evenhand.data.counts import Counts
from evenhand.findings.bounds import ROUNDING, Furthest, furthest, said_bound
from evenhand.findings.document import written
from evenhand.kernel.achieved import ParityAchieved
from evenhand.spec import AGAINST_TARGET, EVERYWHERE, Comparisons

WHOLE = 1e-6
"""An expected number of people this close to a whole one is that."""

DIGITS = 3
"""Significant digits of a bound that is advised; it is rounded down."""


@dataclass(frozen=True)
class Verdict:
    """Whether a table keeps every parity bound.

    Attributes
    ----------
    bounds, exceeded : int
        How many there are, and how many are exceeded.
    worst : Furthest or None
        The comparison that is furthest beyond its bound, or nearest to it; None where nothing is bounded.
    bound : float or None
        Its bound.
    one_person : bool
        Whether each bound that is exceeded would be kept with one person's outcome more or fewer in each group.
    uncounted : tuple of str
        Who or what the comparison leaves open: rows that have no cell, groups that have nobody, segments that people
        may have left.
    decided : bool
        Whether what is compared is what the bounds are about.
    remarks : tuple of str
        What else is to be known about those who are compared.
    allowed : str
        The bound of the worst, as people say it.
    """

    bounds: int
    exceeded: int
    worst: Furthest | None
    bound: float | None
    one_person: bool
    uncounted: tuple[str, ...] = ()
    decided: bool = True
    remarks: tuple[str, ...] = ()
    allowed: str = ""

    @property
    def kept(self) -> bool | None:
        """Whether no bound is exceeded; None where that is not known of everybody."""
        if self.exceeded and self.decided:
            return False
        return None if self.uncounted else True

    @property
    def words(self) -> str:
        """The same in one line."""
        held = self._compared if self.decided else f"by the segments as they are here, {self._compared}"
        return "; ".join((*self.uncounted, *self.remarks, held))

    @property
    def _compared(self) -> str:
        if self.worst is None or self.bound is None:
            return "there is nothing to compare: no parity bound is about the people of this table"
        nearest = f"{self.worst.pair}: {self.worst.said}, {self._beside(self.worst, self.bound)}"
        if not self.exceeded:
            every = "its one parity bound" if self.bounds == 1 else f"every one of its {self.bounds:,} parity bounds"
            return f"this very table keeps {every}; nearest: {nearest}"
        of = "its one parity bound" if self.bounds == 1 else f"{self.exceeded:,} of its {self.bounds:,} parity bounds"
        less = ", by less than one person's outcome in each group" if self.one_person else ""
        return f"this very table exceeds {of}{less}; the worst: {nearest}"

    def _beside(self, worst: Furthest, bound: float) -> str:
        """Say what is allowed; where both are written alike, on which side of it the worst is."""
        over = worst.apart - bound
        if worst.said != self.allowed or abs(over) <= ROUNDING:
            return f"where {self.allowed} is allowed"
        return f"a little {'more' if over > 0 else 'less'} than the {self.allowed} that is allowed"


def verdict(
    counts: Counts,
    parts: Sequence[ParityAchieved],
    uncounted: tuple[str, ...] = (),
    *,
    decided: bool = True,
    remarks: tuple[str, ...] = (),
) -> Verdict:
    """Hold a table's own rates against every parity bound; ``uncounted`` says what that leaves open."""
    over = [part.excess > ROUNDING for part in parts]
    bounds, exceeded = (sum(int(each) for each in sizes) for sizes in (map(len, over), (each.sum() for each in over)))
    bounded = [part for part in parts if len(part.excess)]
    if not bounded:
        return Verdict(0, 0, None, None, False, uncounted, decided, remarks)
    worst = max(bounded, key=lambda part: part.violation)
    # With weights one person's outcome is not one and the same share.
    one_person = (
        exceeded > 0
        and not counts.weighed
        and all(np.all(_moved(part, np.minimum, 1.0)[at] <= ROUNDING) for part, at in zip(parts, over, strict=True))
    )
    bound = float(worst.compared.bound[worst.worst])
    allowed = said_bound(worst.parity, bound)
    return Verdict(bounds, exceeded, furthest(counts, worst), bound, one_person, uncounted, decided, remarks, allowed)


def rooms(parts: Sequence[ParityAchieved]) -> tuple[float | None, ...]:
    """Return for each constraint by how much its bounds are to be smaller, so that every rounding keeps them as stated.

    Expected rates are moved by one person in each group: by as much as this brings them further apart, a fit must
    stay below the bound. None where a constraint has that room already.
    """
    found: list[float | None] = []
    for part in parts:
        excess = _moved(part, np.maximum, _outcomes_moved(part.compared))
        tight = excess > ROUNDING
        found.append(float((excess - part.excess)[tight].max()) if tight.any() else None)
    return tuple(found)


def excess_at_most(part: ParityAchieved) -> float:
    """Return the most by which a balanced release of the table itself exceeds the bounds of a constraint.

    The people of a group with an outcome are then their expected number, rounded down or up.
    """
    return float(_moved(part, np.maximum, _outcomes_moved(part.compared), rounded=True).max(initial=-np.inf))


def bound_with_room(part: ParityAchieved, room: float) -> float:
    """Return the smallest bound of a constraint with room below it; zero where none is left.

    The room is that of the rates that the table has, which move a little with the bound: it is rounded down.
    """
    smaller = float(part.compared.bound.min()) - room
    if smaller <= 0:
        return 0.0
    unit = 10.0 ** (math.floor(math.log10(smaller)) - DIGITS + 1)
    # What is short of a unit by rounding alone is the whole unit.
    return round(math.floor(smaller / unit + ROUNDING) * unit, 12)


def room_words(parts: Sequence[ParityAchieved]) -> Iterator[str]:
    """Say of every constraint that has no room for whole people what they keep, and which bound would leave some."""
    for part, room in zip(parts, rooms(parts), strict=True):
        excess = excess_at_most(part)
        if room is None or excess <= ROUNDING:
            continue
        bound, smaller = part.compared.bound, bound_with_room(part, room)
        said = (
            f"{type(part.parity).__name__}{part.parity.where}: a bound that is met with nothing to spare can be "
            f"exceeded by the rounding to whole people, by less than one person's outcome in each group"
            f"{'' if part.parity.of_outcomes else ' for each outcome that is counted together'}; a balanced release of "
            f"the fitted table exceeds it by {written(excess, '.2g')} at most"
        )
        if smaller == 0:
            yield f"{said}, and its smallest groups are too small for a bound that would always leave room"
        elif bound.min() == bound.max():
            then = f"a mapping fitted with {smaller:g} instead of {bound[0]:g}, where that can be met, always keeps"
            yield f"{said}; one by {then} {bound[0]:g}, and evenhand release --against {bound[0]:g} tells so"
        else:
            less = bound.min() - smaller
            yield f"{said}; one by a mapping whose bounds are smaller by {less:.3g}, where these can be met, does not"


def _moved(part: ParityAchieved, best: np.ufunc, each: Numbers | float, *, rounded: bool = False) -> Numbers:
    """Return the least, or the largest, J − ε of each comparison where its rates may move by whole people.

    By so many people ``each``, or ``rounded`` to whole numbers of them.
    """
    compared = part.compared
    by, rest = _one_person(part)
    whole = ~rest & compared.parity.of_outcomes
    found = part.excess
    for own in _steps(part.rate, each * by[compared.population], rounded & whole[compared.population]):
        for other in _steps(part.other, each * by[compared.against], rounded & whole[compared.against]):
            # A target stays what it is.
            held = np.where(compared.against == AGAINST_TARGET, part.other, np.clip(part.other + other, 0, 1))
            excess = compared.parity.distance.excess(np.clip(part.rate + own, 0, 1), held, compared.bound)
            found = best(found, excess)
    return np.asarray(found)


def _steps(rate: Numbers, one: Numbers, rounded: Flags) -> tuple[Numbers, Numbers, Numbers]:
    """Return how far down and up rates may move: by one person, or to the whole numbers of people beside them."""
    people = np.divide(rate, one, out=np.zeros_like(rate), where=one > 0)
    # A number that is whole but for rounding stays.
    down = np.where(rounded, people - np.floor(people + WHOLE), 1.0)
    up = np.where(rounded, np.ceil(people - WHOLE) - people, 1.0)
    return -down * one, np.zeros_like(one), up * one


def _outcomes_moved(compared: Comparisons) -> Numbers:
    """Return how many outcomes of an entry's event can each be off by a person: of those in it, or of those not in it.

    Of features it is not known here how many people have which.
    """
    if compared.events.free:
        return np.zeros(len(compared))
    inside = compared.events.members[compared.event].sum(axis=1)
    return np.asarray(np.minimum(inside, compared.events.members.shape[1] - inside))


def _one_person(part: ParityAchieved) -> tuple[Numbers, Flags]:
    """Return by how much one person's outcome moves the rate of each population, and which are the rest beside a group.

    The rest is everybody without the group, and off by as many as both; in a segment, by one for each of its groups.
    """
    people = part.compared.counts.unweighted.weight
    populations = part.compared.populations
    rest = np.array([population.rest for population in populations], dtype=bool)
    moved = np.zeros(len(populations))
    for at, population in enumerate(populations):
        many = 1
        if population.rest:
            groups = sum(not each.rest and each.segment == population.segment for each in populations)
            many = groups - 1 if population.segment != EVERYWHERE else min(groups - 1, 2)
        moved[at] = many / float(people[population.member].sum())
    # Of people who are released into a segment it is not known here how many they are.
    return np.zeros(len(moved)) if part.compared.within_released else moved, rest
