"""Which rates a parity constraint compares, on a given table: eqs. (1), (2) and (4) written out.

A population is a group, a group within a segment, or the rest of a segment beside a group. An entry holds the rate of
one event (an outcome, mostly) in a population against its rate in another, or against a target: the form of parity says
which. Knows nothing of how rates come about.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from types import EllipsisType
from typing import Any

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Value
from evenhand.data.propensities import Propensities
from evenhand.errors import DataError
from evenhand.render.section import Note
from evenhand.spec.by import Field, fields_of, numbers_at
from evenhand.spec.distance import Line
from evenhand.spec.events import Events
from evenhand.spec.parity import Parity
from evenhand.spec.people import EVERYWHERE, People, Population, Segment
from evenhand.spec.problem import Problem

AGAINST_TARGET = -1
"""In place of the second population where a rate is held against a target."""

MOST_ENTRIES = 1_000_000
"""More comparisons than this are refused."""


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Every rate that one parity constraint bounds.

    Attributes
    ----------
    parity : Parity
        The constraint.
    counts : Counts
        The table.
    populations : tuple of Population
        Who is compared.
    weights : sparse array
        One row per population, one column per source: p(source | population).
    events : Events
        What of a released record rates are about.
    event, population, against : arrays
        For each entry the event, the population whose rate is bounded, and the one it is held against
        (``AGAINST_TARGET`` for a target).
    segment : array
        The *released* segment of each entry, a cell of :attr:`segments`; ``EVERYWHERE`` where rates are not
        conditioned on what is released.
    target, bound : arrays
        The target's probability (NaN where there is none), and ε.
    left_out : tuple of Note
        What the constraint does not cover, and why.
    scored : bool
        Whether rates are mean scores of a model that does not see D, eq. (9), and not the table's own.
    shift : array, or zero
        What is added to the rates: one row per population, one column per outcome.
    """

    parity: Parity
    counts: Counts
    populations: tuple[Population, ...]
    weights: Any
    groups: Axis
    segments: Axis | None
    events: Events
    event: Cells
    population: Cells
    against: Cells
    segment: Cells
    target: Numbers
    bound: Numbers
    left_out: tuple[Note, ...]
    scored: bool = False
    shift: Any = 0.0

    def __len__(self) -> int:
        return len(self.event)

    @property
    def against_target(self) -> bool:
        """Whether rates are held against a target, eq. (1), and not against each other."""
        return bool(np.any(self.against == AGAINST_TARGET))

    @property
    def within_released(self) -> bool:
        return bool(np.any(self.segment != EVERYWHERE))

    @cached_property
    def lines(self) -> tuple[Line, ...]:
        """The lines that each entry's rate and its counterpart must keep."""
        if self.against_target:
            return self.parity.distance.within(self.bound, self.target)
        return self.parity.distance.lines(self.bound)

    def rates(self, of_source: Numbers) -> Numbers:
        """Return the rate of every event in every population, where each source has these rates of outcomes."""
        return np.asarray((self.weights @ of_source + self.shift) @ self.events.members.T)

    @cached_property
    def shifts(self) -> Numbers:
        """What is added to the rate of every event in every population."""
        return self.rates(np.zeros((len(self.counts), self.counts.domain.y.size)))

    @cached_property
    def pair(self) -> Cells:
        """The number of each entry's comparison: two populations that are compared in both orders are one."""
        sides = np.sort(np.column_stack([self.population, self.against]), axis=1)
        return np.unique(np.column_stack([sides, self.event, self.segment]), axis=0, return_inverse=True)[1].ravel()

    def number_of(self, entries: Flags | Cells | EllipsisType = ...) -> int:
        """Count the comparisons that some entries are of, or all."""
        return len(np.unique(self.pair[entries]))

    def words(self, entry: int) -> str:
        return f"{self.event_words(entry)}: {self.own_words(entry)} against {self.other_words(entry)}"

    def labels(self, population: int) -> dict[str, Value]:
        """Return the levels that name a population: of its group and its segment."""
        own = self.populations[population]
        within = {} if self.segments is None or own.segment == EVERYWHERE else self.segments.labels(own.segment)
        return self.groups.labels(own.group) | within

    def event_words(self, entry: int) -> str:
        """Name what an entry's rate is the rate of."""
        return self.events.words(int(self.event[entry]))

    def own_words(self, entry: int) -> str:
        """Name the people whose rate an entry bounds."""
        own = self.populations[int(self.population[entry])].words
        if self.segment[entry] == EVERYWHERE or self.segments is None:
            return own
        return f"{own}, released {self.segments.words(int(self.segment[entry]))}"

    def other_words(self, entry: int) -> str:
        """Name what an entry's rate is held against."""
        against = int(self.against[entry])
        return "the target" if against == AGAINST_TARGET else self.populations[against].words


def comparisons(parity: Parity, counts: Counts) -> Comparisons:
    """Write a constraint out for a table."""
    what, people, events = type(parity).__name__, parity.people(counts), parity.events(counts)
    compared = _compared(parity, people)
    left_out: list[Note] = []
    number: dict[Population, int] = {}
    rows = []
    for segment in _segments(parity, people, left_out):
        for group in segment.groups:
            number.setdefault(group, len(number))
        at = segment.cell if people.released else EVERYWHERE
        for own, other in parity.held(segment):
            second = AGAINST_TARGET if other is None else number.setdefault(other, len(number))
            rows += [(number[own], second, at, event) for event in compared]
    population, against, released, event = np.array(rows, dtype=np.int64).reshape(-1, 4).T
    groups, places = (np.array([getattr(p, w) for p in number], dtype=np.int64) for w in ("group", "segment"))
    place = released if people.released else places[population]
    fields = {} if people.segments is None else fields_of(people.segments, place)
    fields |= fields_of(people.groups, groups[population])
    if not events.free:
        fields[counts.domain.outcome.name] = Field(counts.domain.outcome, event)
    # Only where the other is a group as well can a bound depend on the pair.
    pairs = not any(p.rest for p in number) and not np.any(against == AGAINST_TARGET)
    others = fields_of(people.groups, groups[against]) if pairs else None
    elsewhere = counts.elsewhere
    bound = numbers_at(f"the bound of {what}", parity.bound, fields, len(event), others, elsewhere=elsewhere)
    if events.free:
        bound = _of_either_order(population, against, bound)
    kept = np.isfinite(bound)
    target = _targets(parity, people, place, events, event)
    return Comparisons(
        parity, counts, tuple(number), shares(tuple(number), counts), people.groups, people.segments, events,
        event[kept], population[kept], against[kept], released[kept], target[kept], bound[kept], tuple(left_out),
    )  # fmt: skip


def all_comparisons(problem: Problem, counts: Counts) -> list[Comparisons]:
    """Write every constraint out: the table's own rates and, where they are bounded, those of a model without D.

    The latter follow in the same order. They are known of the people alone whose propensities are.
    """
    own = [comparisons(parity, counts) for parity in problem.parity]
    known = counts.propensities
    if not problem.suppression.scored or known is None:
        return own
    return [*own, *(_scored(part, counts, known) for part in own)]


def _scored(own: Comparisons, counts: Counts, known: Propensities) -> Comparisons:
    """Return the same comparisons of mean scores of a model that does not see D.

    In a population it takes from each source the sums of propensities of the population's groups.
    """
    of_group = counts.groups.of_source
    weights = []
    for population in own.populations:
        groups = np.unique(of_group[population.member])
        segment = own.parity.people(counts).inside(population.segment)
        weights.append(np.where(segment, known.sums[groups].sum(axis=0), 0.0))
    columns = " × ".join(counts.domain.d.names)
    populations = tuple(
        replace(each, words=f"{each.words}, scored without {columns}", member=of > 0)
        for each, of in zip(own.populations, weights, strict=True)
    )
    each = np.array([of / of.sum() for of in weights]).reshape(len(weights), len(counts))
    return replace(
        own,
        populations=populations,
        weights=sparse.csr_array(each),
        left_out=(),
        scored=True,
        shift=own.weights @ known.shift[of_group],
    )


def _compared(parity: Parity, people: People) -> Sequence[int]:
    """Return the events that are compared; refuse more comparisons than can be made."""
    compared, groups = parity.compared(people.counts), len(np.unique(people.group))
    pairs = groups if parity.against_target else groups * (groups - 1)
    if pairs * len(compared) > MOST_ENTRIES:
        # A column of so many values is not a group but a name.
        raise DataError(
            f"{type(parity).__name__} would compare {groups:,} groups by {list(people.groups.names)} with each other; "
            f"a protected column must tell groups apart, not people: leave it out, merge its levels, or use "
            f"TargetParity"
        )
    return compared


def _of_either_order(population: Cells, against: Cells, bound: Numbers) -> Numbers:
    """Return the smaller bound of two populations that are compared in both orders once, and infinity the other time.

    Which set tells them apart best is the same in either order.
    """
    place = {pair: entry for entry, pair in enumerate(zip(population.tolist(), against.tolist(), strict=True))}
    found = bound.copy()
    for (own, other), entry in place.items():
        back = place.get((other, own))
        if back is not None:
            found[entry] = min(bound[entry], bound[back]) if own < other else np.inf
    return found


def _targets(parity: Parity, people: People, place: Cells, events: Events, event: Cells) -> Numbers:
    """Return the target's probability of each entry's event: the sum of those of its outcomes."""
    if events.free or not parity.against_target:
        return np.full(len(event), np.nan)
    members = events.members
    by_outcome = [parity.targets(people, place, np.full(len(event), y)) for y in range(members.shape[1])]
    # A sum of all may be above one in its last digit.
    return np.asarray(np.minimum((np.column_stack(by_outcome) * members[event]).sum(axis=1), 1.0))


def _segments(parity: Parity, people: People, left_out: list[Note]) -> Iterator[Segment]:
    """Yield the segments in which groups are compared: those that are large enough."""
    # Anybody may be released into a segment: its populations are those of the whole table.
    everybody = people.populations(EVERYWHERE) if people.released or people.segments is None else ()
    cells, place = np.unique(people.segment, return_inverse=True)
    for cell, size in zip(cells.tolist(), sums(place, people.counts.weight), strict=True):
        if people.segments is not None and size < parity.min_segment:
            key = "parity.small_released_segment" if people.released else "parity.small_segment"
            fields = {"segment": people.segments.words(cell), "weight": size, "least": parity.min_segment}
            left_out.append(Note(key, fields, (people.segments.labels(cell),)))
        else:
            yield Segment(people, cell, everybody or people.populations(cell), left_out)


def shares(populations: tuple[Population, ...], counts: Counts) -> Any:
    """Return p(source | population): one row per population, one column per source."""
    p = counts.probability
    if not populations:
        return sparse.csr_array((0, len(p)))
    rows = [np.flatnonzero(k.member) for k in populations]
    data = [p[row] / p[row].sum() for row in rows]
    starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
    shape = (len(populations), len(p))
    return sparse.csr_array((np.concatenate(data), np.concatenate(rows), starts), shape=shape)
