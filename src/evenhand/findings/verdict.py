"""Whether one table satisfies every parity constraint as it stands, or violates one by less than one person's outcome.

A bound holds in expectation; of a release by balanced draws the people with an outcome are whole numbers within one of
theirs. Computes no rate itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.findings.bounds import Furthest, furthest
from evenhand.kernel.achieved import ParityAchieved
from evenhand.render.section import Note
from evenhand.spec import AGAINST_TARGET, EVERYWHERE
from evenhand.tolerances import ROUNDING

HOLDS = {1: "verdict.holds", 2: "verdict.both_hold"}


@dataclass(frozen=True)
class Verdict:
    """Whether a table satisfies every parity constraint.

    Attributes
    ----------
    bounds, violated : int
        How many comparisons are bounded, and how many violate their bound; two groups are compared once per outcome
        and constraint.
    worst : Furthest or None
        The comparison that is furthest beyond its bound, or nearest to it; None where nothing is bounded.
    one_person : bool
        Whether each violated bound would hold with one person's outcome more or fewer in each group.
    uncounted : tuple of Note
        Who or what the comparison leaves open: rows that have no cell, groups that have nobody, segments that people
        may have left.
    decided : bool
        Whether what is compared is what the bounds are about.
    remarks : tuple of Note
        What else is to be known about those who are compared.
    """

    bounds: int
    violated: int
    worst: Furthest | None
    one_person: bool
    uncounted: tuple[Note, ...] = ()
    decided: bool = True
    remarks: tuple[Note, ...] = ()

    @property
    def kept(self) -> bool | None:
        """Whether no bound is violated; None where that is not known of everybody."""
        if self.violated and self.decided:
            return False
        return None if self.uncounted else True

    @property
    def notes(self) -> tuple[Note, ...]:
        """Who is not compared, whether the bounds hold, and the comparison that is worst or tightest."""
        notes = [*self.uncounted, *self.remarks]
        if self.worst is None:
            return (*notes, Note("verdict.nothing"))
        if not self.decided:
            notes.append(Note("verdict.segments"))
        if self.violated:
            key, tightest = ("verdict.violated" if self.bounds == 1 else "verdict.some_violated"), "verdict.worst"
        else:
            key, tightest = HOLDS.get(self.bounds, "verdict.all_hold"), "verdict.tightest"
        less = Note("verdict.one_person") if self.one_person else None
        fields = {"violated": self.violated, "bounds": self.bounds, "less": less}
        return (*notes, Note(key, fields), Note(tightest, {"worst": self.worst.held}))


def verdict(
    counts: Counts,
    parts: Sequence[ParityAchieved],
    uncounted: tuple[Note, ...] = (),
    *,
    decided: bool = True,
    remarks: tuple[Note, ...] = (),
) -> Verdict:
    """Hold a table's own rates against every parity bound; ``uncounted`` says what that leaves open."""
    over = [part.excess > ROUNDING for part in parts]
    bounds = sum(part.compared.number_of() for part in parts)
    violated = sum(part.compared.number_of(entries) for part, entries in zip(parts, over, strict=True))
    bounded = [part for part in parts if len(part.excess)]
    if not bounded:
        return Verdict(0, 0, None, False, uncounted, decided, remarks)
    worst = max(bounded, key=lambda part: part.violation)
    # With weights one person's outcome is not one and the same share.
    one_person = (
        violated > 0
        and not counts.weighed
        and all(np.all(_least_excess(part)[at] <= ROUNDING) for part, at in zip(parts, over, strict=True))
    )
    return Verdict(bounds, violated, furthest(worst), one_person, uncounted, decided, remarks)


def _least_excess(part: ParityAchieved) -> Numbers:
    """Return the least J − ε of each comparison where its rates may move by one person's outcome in each group."""
    compared, by = part.compared, _one_person(part)
    found = part.excess
    for own in (-1, 0, 1):
        for other in (-1, 0, 1):
            rate = np.clip(part.rate + own * by[compared.population], 0, 1)
            # A target stays what it is.
            moved = np.clip(part.other + other * by[compared.against], 0, 1)
            held = np.where(compared.against == AGAINST_TARGET, part.other, moved)
            found = np.minimum(found, compared.parity.distance.excess(rate, held, compared.bound))
    return np.asarray(found)


def _one_person(part: ParityAchieved) -> Numbers:
    """Return by how much one person's outcome moves the rate of each population.

    The rest beside a group is everybody without it, and off by as many as both; in a segment, by one for each of its
    groups.
    """
    people = part.compared.counts.unweighted.weight
    populations = part.compared.populations
    moved = np.zeros(len(populations))
    for at, population in enumerate(populations):
        many = 1
        if population.rest:
            groups = sum(not each.rest and each.segment == population.segment for each in populations)
            many = groups - 1 if population.segment != EVERYWHERE else min(groups - 1, 2)
        moved[at] = many / float(people[population.member].sum())
    # Of people who are released into a segment it is not known here how many they are.
    return np.zeros(len(moved)) if part.compared.within_released else moved
