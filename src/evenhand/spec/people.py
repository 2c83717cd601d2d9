"""Whom a parity constraint can compare in a given table: groups, the segments that they are in, and the rest beside
them.

Knows columns and counts; nothing of bounds, distances or forms of parity.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.errors import SpecError, did_you_mean
from evenhand.render.section import Note

EVERYWHERE = -1
"""In place of a segment where a constraint has none."""


@dataclass(frozen=True, eq=False)
class Population:
    """People who are compared: a group, or the ``rest`` beside it, in a segment or everywhere."""

    words: str
    member: NDArray[np.bool_]
    group: int
    segment: int
    rest: bool = False


@dataclass(frozen=True, eq=False)
class People:
    """A table as one constraint sees it: its groups, and its segments, original or ``released``."""

    counts: Counts
    groups: Axis
    segments: Axis | None
    released: bool = False

    @classmethod
    def of(cls, counts: Counts, what: str, on: Any, given: Any, released: bool, given_outcome: bool = False) -> People:
        """Form groups by the columns ``on`` (all protected ones for None), and segments by the columns ``given``.

        With ``given_outcome`` segments are those of the original outcome, too.
        """
        domain = counts.domain
        groups = domain.d if on is None else part_of(f"on of {what}", domain.d, on, "protected column")
        segments = None if given is None else part_of(f"given of {what}", domain.x, given, "feature")
        if given_outcome:
            segments = Axis((*(() if segments is None else segments.variables), domain.outcome))
        return cls(counts, groups, segments, released)

    @cached_property
    def group(self) -> Cells:
        return self.counts.domain.d.cells_of(self.groups, self.counts.d)

    @cached_property
    def segment(self) -> Cells:
        """The original segment of each source."""
        domain, counts = self.counts.domain, self.counts
        if self.segments is None:
            return np.full(len(counts), EVERYWHERE)
        codes = dict(zip(domain.x.names, domain.x.unravel(counts.x), strict=True)) | {domain.outcome.name: counts.y}
        return self.segments.ravel([codes[name] for name in self.segments.names])

    def inside(self, segment: int) -> NDArray[np.bool_]:
        return np.ones(len(self.counts), bool) if segment == EVERYWHERE else self.segment == segment

    def rates_in(self, segment: int) -> Numbers:
        """Return p(y), or p(y | b) within a segment."""
        counts, inside = self.counts, self.inside(segment)
        by_outcome = sums(counts.y[inside], counts.probability[inside], counts.domain.y.size)
        return np.asarray(by_outcome / counts.probability[inside].sum())

    def populations(self, segment: int) -> tuple[Population, ...]:
        """Return the groups that somebody in a segment belongs to."""
        inside = self.inside(segment)
        within = "" if segment == EVERYWHERE or self.segments is None else f" within {self.segments.words(segment)}"
        return tuple(
            Population(self.groups.words(int(g)) + within, inside & (self.group == g), int(g), segment)
            for g in np.unique(self.group[inside])
        )


@dataclass(frozen=True, eq=False)
class Segment:
    """The groups of one segment, or of the whole table, for a form of parity to say who is held against whom."""

    people: People
    cell: int
    groups: tuple[Population, ...]
    left_out: list[Note]

    def rest_beside(self, own: Population) -> Population:
        """Return everybody of the segment who is known not to be in a population's group."""
        people = self.people
        others = people.inside(own.segment) & (people.group != own.group) & ~people.groups.has_missing(people.group)
        return Population(f"everybody but {own.words}", others, own.group, own.segment, rest=True)

    def known_groups(self) -> tuple[Population, ...]:
        """Return the groups without a missing protected value, and note the others, which are not compared."""
        axis = self.people.groups
        missing = axis.has_missing(np.array([population.group for population in self.groups], dtype=np.int64))
        for population, lacks in zip(self.groups, missing, strict=True):
            group = axis.words(population.group)
            note = Note("parity.missing_group", {"group": group}, (axis.labels(population.group),))
            if lacks and note not in self.left_out:
                self.left_out.append(note)
        return tuple(population for population, lacks in zip(self.groups, missing, strict=True) if not lacks)

    def target_counts_missing(self) -> None:
        """Note the groups with a missing protected value where the target is everybody's rate, theirs included."""
        axis = self.people.groups
        for population in self.groups:
            if axis.has_missing(np.array([population.group]))[0]:
                group = axis.labels(population.group)
                self.left_out.append(
                    Note("parity.missing_in_target", {"group": axis.words(population.group)}, (group,))
                )

    def leave_out(self, why: str, group: int) -> None:
        """Note that nothing is compared here, and why: because of a group."""
        segments = self.people.segments
        where = "the table" if segments is None else f"the segment {segments.words(self.cell)}"
        own = {} if segments is None else segments.labels(self.cell)
        fields = {"where": where, "group": self.people.groups.words(group)}
        self.left_out.append(Note(why, fields, (own, self.people.groups.labels(group))))


def part_of(what: str, axis: Axis, names: Any, kind: str) -> Axis:
    """Return the named variables of an axis as an axis."""
    for name in names:
        if name not in axis.names:
            hint = did_you_mean(name, axis.names)
            raise SpecError(f"{what} names {name!r}, which is not a {kind}; those are {list(axis.names)}.{hint}")
    return Axis(tuple(v for v in axis.variables if v.name in names))
