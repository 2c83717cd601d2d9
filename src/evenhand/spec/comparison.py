"""Which rates a parity constraint compares, on a given table: eqs. (1), (2) and (4) written out.

A population is a group, a group within a segment, or the rest of a segment beside a group. An entry holds the rate of
one outcome in a population against its rate in another, or against a target. Knows nothing of how rates come about.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.errors import DataError, SpecError, did_you_mean
from evenhand.spec.by import By, Field, fields_of, numbers_at
from evenhand.spec.distance import Line
from evenhand.spec.parity import PairwiseParity, Parity, TargetParity

AGAINST_TARGET = -1
"""In place of the second population where a rate is held against a target."""

MOST_ENTRIES = 1_000_000
"""More comparisons than this are refused."""

EVERYWHERE = -1
"""In place of a segment where a constraint has none."""


@dataclass(frozen=True, eq=False)
class Population:
    """People who are compared: a group (or the rest beside it), in a segment or everywhere."""

    words: str
    member: NDArray[np.bool_]
    group: int
    segment: int


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Every rate that one parity constraint bounds.

    Attributes
    ----------
    parity : Parity
        The constraint.
    populations : tuple of Population
        Who is compared.
    weights : sparse array
        A row a population, a column a source: p(source | population).
    outcome, population, against : arrays
        For each entry the outcome, the population whose rate is bounded, and the one it is held against
        (``AGAINST_TARGET`` for a target).
    segment : array
        The *released* segment of each entry, a cell of :attr:`segments`; ``EVERYWHERE`` where rates are not
        conditioned on what is released.
    target, bound : arrays
        The target's probability (NaN where there is none), and ε.
    left_out : tuple of str
        What the constraint does not cover, and why.
    """

    parity: Parity
    populations: tuple[Population, ...]
    weights: Any
    groups: Axis
    segments: Axis | None
    outcome: Cells
    population: Cells
    against: Cells
    segment: Cells
    target: Numbers
    bound: Numbers
    left_out: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.outcome)

    @property
    def against_target(self) -> bool:
        """Whether rates are held against a target, eq. (1), and not against each other."""
        return bool(np.any(self.against == AGAINST_TARGET))

    @property
    def within_released(self) -> bool:
        """Whether rates are those within segments as they are released."""
        return bool(np.any(self.segment != EVERYWHERE))

    @property
    def lines(self) -> tuple[Line, ...]:
        """The lines that each entry's rate and its counterpart must keep."""
        if self.against_target:
            return self.parity.distance.within(self.bound, self.target)
        return self.parity.distance.lines(self.bound)

    def words(self, entry: int, outcomes: Axis) -> str:
        """Say what an entry compares."""
        outcome = outcomes.words(int(self.outcome[entry]))
        return f"{outcome}: {self.own_words(entry)} against {self.other_words(entry)}"

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
    return _Writer(parity, counts).write()


class _Writer:
    """Lists the populations and entries of one constraint."""

    def __init__(self, parity: Parity, counts: Counts) -> None:
        self.parity, self.counts = parity, counts
        self.what = type(parity).__name__
        domain = counts.domain
        self.groups = _part(f"on of {self.what}", domain.d, parity.on, "protected column")
        self.segments = (
            None if parity.given is None else _part(f"given of {self.what}", domain.x, parity.given, "feature")
        )
        self.group = domain.d.cells_of(self.groups, counts.d)
        self.own_segment = (
            np.full(len(counts), EVERYWHERE) if self.segments is None else domain.x.cells_of(self.segments, counts.x)
        )
        self.released = isinstance(parity, TargetParity) and parity.released
        self.left_out: list[str] = []
        for level in parity.distance.outcomes():
            if level not in domain.outcome.levels:
                hint = did_you_mean(level, domain.outcome.levels)
                raise SpecError(f"the distance of {self.what} names outcome {level!r}, but the levels of "
                                f"{domain.outcome.name!r} are {list(domain.outcome.levels)}.{hint}")  # fmt: skip
        self.outcomes = [y for y, level in enumerate(domain.outcome.levels) if parity.distance.concerns(level)]

    def write(self) -> Comparisons:
        self._refuse_too_many()
        populations, triples = self._pairs()
        rows = [(k, j, s, y) for k, j, s in triples for y in self.outcomes]
        population, against, segment, outcome = np.array(rows, dtype=np.int64).reshape(-1, 4).T
        bound = self._bounds(populations, population, against, segment, outcome)
        kept = np.isfinite(bound)
        at = segment if self.released else np.array([populations[k].segment for k in population], dtype=np.int64)
        target = self._target(against, at, outcome)
        return Comparisons(
            self.parity, tuple(populations), self._weights(populations), self.groups, self.segments,
            outcome[kept], population[kept], against[kept], segment[kept], target[kept], bound[kept],
            tuple(self.left_out),
        )  # fmt: skip

    def _pairs(self) -> tuple[list[Population], list[tuple[int, int, int]]]:
        """Return the populations, and for each comparison two of them and the released segment."""
        populations: list[Population] = []
        triples: list[tuple[int, int, int]] = []
        for segment in self._segments():
            inside = self.own_segment == segment if not self.released else np.ones(len(self.counts), bool)
            groups = np.unique(self.group[inside])
            first = len(populations)
            if not (self.released and populations):
                populations += [self._population(int(g), segment, inside & (self.group == g)) for g in groups]
            else:
                first = 0
            triples += self._held(populations, first, [int(g) for g in groups], segment, inside)
        return populations, triples

    def _refuse_too_many(self) -> None:
        """Refuse a column that is not a group but a name: every pair of its values would be compared."""
        groups = len(np.unique(self.group))
        pairs = groups * (groups - 1) if isinstance(self.parity, PairwiseParity) else groups
        if pairs * len(self.outcomes) > MOST_ENTRIES:
            raise DataError(
                f"{self.what} would compare {groups:,} groups by {list(self.groups.names)} with each other; a "
                f"protected "
                f"column must tell groups apart, not people: leave it out, merge its levels, or use TargetParity"
            )

    def _segments(self) -> Iterator[int]:
        if self.segments is None:
            yield EVERYWHERE
            return
        weight = sums(np.unique(self.own_segment, return_inverse=True)[1], self.counts.weight)
        for segment, size in zip(np.unique(self.own_segment), weight, strict=True):
            if size < self.parity.min_segment:
                self.left_out.append(
                    f"the segment {self.segments.words(int(segment))} has a weight of {size:g}, below min_segment "
                    f"{self.parity.min_segment:g}: parity is not bounded there"
                    + ", although people may be moved into it"
                    * self.released
                )
            else:
                yield int(segment)

    def _population(self, group: int, segment: int, member: NDArray[np.bool_], rest: bool = False) -> Population:
        words = ("everybody but " if rest else "") + self.groups.words(group)
        if self.segments is not None and not self.released:
            words += f" within {self.segments.words(segment)}"
        return Population(words, member, group, EVERYWHERE if self.released else segment)

    def _held(
        self, populations: list[Population], first: int, groups: list[int], segment: int, inside: NDArray[np.bool_]
    ) -> Iterator[tuple[int, int, int]]:
        """Yield who is held against whom in one segment."""
        at = segment if self.released else EVERYWHERE
        if isinstance(self.parity, TargetParity):
            yield from ((first + i, AGAINST_TARGET, at) for i in range(len(groups)))
            return
        assert isinstance(self.parity, PairwiseParity)
        if len(groups) < 2:
            assert self.segments is not None or len(groups) == 1
            where = "the table" if self.segments is None else f"the segment {self.segments.words(segment)}"
            self.left_out.append(f"{where} has the one group {self.groups.words(groups[0])}: nothing to compare")
            return
        if self.parity.against == "each":
            yield from ((first + i, first + j, at) for i in range(len(groups)) for j in range(len(groups)) if i != j)
        elif self.parity.against == "rest":
            for i, group in enumerate(groups):
                populations.append(self._population(group, segment, inside & (self.group != group), rest=True))
                yield first + i, len(populations) - 1, at
        else:
            yield from self._against_reference(first, groups, segment)

    def _against_reference(self, first: int, groups: list[int], segment: int) -> Iterator[tuple[int, int, int]]:
        reference = self._reference()
        if reference not in groups:
            where = "the table" if self.segments is None else f"the segment {self.segments.words(segment)}"
            if self.segments is None:
                raise DataError(f"against of {self.what}: nobody in the table is {self.groups.words(reference)}")
            self.left_out.append(f"{where} has nobody of the reference group {self.groups.words(reference)}")
            return
        place = first + groups.index(reference)
        yield from ((first + i, place, EVERYWHERE) for i, g in enumerate(groups) if g != reference)

    def _reference(self) -> int:
        assert isinstance(self.parity, PairwiseParity)
        named: Any = self.parity.against
        if set(named) != set(self.groups.names):
            raise SpecError(
                f"against of {self.what} must name one group by the columns {list(self.groups.names)}, not "
                f"{dict(named)!r}"
            )
        codes = []
        for variable in self.groups.variables:
            level = named[variable.name]
            if level not in variable.levels:
                hint = did_you_mean(level, variable.levels)
                raise SpecError(f"against of {self.what}: {variable.name!r} has no level {level!r}; its levels are "
                                f"{list(variable.levels)}.{hint}")  # fmt: skip
            codes.append(np.array([variable.levels.index(level)]))
        return int(self.groups.ravel(codes)[0])

    def _bounds(
        self, populations: list[Population], population: Cells, against: Cells, segment: Cells, outcome: Cells
    ) -> Numbers:
        own = np.array([p.group for p in populations], dtype=np.int64)
        place = np.array([p.segment for p in populations], dtype=np.int64)
        fields = {**fields_of(self.groups, own[population]), **self._outcome_field(outcome)}
        if self.segments is not None:
            fields |= fields_of(self.segments, segment if self.released else place[population])
        each = isinstance(self.parity, PairwiseParity) and self.parity.against != "rest"
        other = fields_of(self.groups, own[against]) if each and len(against) else None
        return numbers_at(f"the bound of {self.what}", self.parity.bound, fields, len(outcome), other)

    def _outcome_field(self, outcome: Cells) -> dict[str, Field]:
        variable = self.counts.domain.outcome
        return {variable.name: Field(variable, outcome)}

    def _target(self, against: Cells, segment: Cells, outcome: Cells) -> Numbers:
        if not isinstance(self.parity, TargetParity):
            return np.full(len(outcome), np.nan)
        if self.parity.target is None:
            return self._own_rates(segment, outcome)
        value = self.parity.target
        choices = value.values if isinstance(value, By) else (value,)
        table = np.array([self._levels(choice) for choice in choices])
        which = np.zeros(len(outcome), dtype=np.int64)
        if isinstance(value, By):
            fields = {} if self.segments is None else fields_of(self.segments, segment)
            which = value.which(f"the target of {self.what}", fields, None, len(outcome))
        return np.asarray(table[which, outcome], dtype=float)

    def _own_rates(self, segment: Cells, outcome: Cells) -> Numbers:
        """Return p(y), or p(y | b) within segments."""
        counts = self.counts
        rates = np.empty(len(outcome))
        for place in np.unique(segment):
            inside = np.ones(len(counts), bool) if place == EVERYWHERE else self.own_segment == place
            by_outcome = sums(counts.y[inside], counts.probability[inside], counts.domain.y.size)
            rates[segment == place] = (by_outcome / counts.probability[inside].sum())[outcome[segment == place]]
        return rates

    def _levels(self, target: Any) -> list[float]:
        variable = self.counts.domain.outcome
        for level in target:
            if level not in variable.levels:
                raise SpecError(
                    f"the target names outcome {level!r}, but the levels of {variable.name!r} are "
                    f"{list(variable.levels)}.{did_you_mean(level, variable.levels)}"
                )
        return [float(target.get(level, 0.0)) for level in variable.levels]

    def _weights(self, populations: list[Population]) -> Any:
        p = self.counts.probability
        if not populations:
            return sparse.csr_array((0, len(p)))
        rows = [np.flatnonzero(k.member) for k in populations]
        data = [p[row] / p[row].sum() for row in rows]
        starts = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        shape = (len(populations), len(p))
        return sparse.csr_array((np.concatenate(data), np.concatenate(rows), starts), shape=shape)


def _part(what: str, axis: Axis, names: Any, kind: str) -> Axis:
    """Return the named variables of an axis as an axis; all of them for None."""
    if names is None:
        return axis
    for name in names:
        if name not in axis.names:
            hint = did_you_mean(name, axis.names)
            raise SpecError(f"{what} names {name!r}, which is not a {kind}; those are {list(axis.names)}.{hint}")
    return Axis(tuple(v for v in axis.variables if v.name in names))
