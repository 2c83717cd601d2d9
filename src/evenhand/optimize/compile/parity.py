"""Parity, eqs. (1) to (4), as rows over the rates g.

A rate is the probability of an outcome in a population (and, where a constraint is about released segments, of the
segment as well); that of an event is a sum of them. Held against a target, an event has a row for each line of the
distance; held between populations, so has a pair. Where all pairs of a segment share one bound, each is held against
the smallest of them, m: two rows per event instead of one per pair. Where the event is free, the m are what two
populations have in common of each value: TV ≤ ε says that they sum to 1 − ε at least.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.errors import InfeasibleError
from evenhand.optimize.compile.moves import Moves
from evenhand.optimize.program import Inequalities, Matrix
from evenhand.resources import heed
from evenhand.spec import AGAINST_TARGET, EVERYWHERE, Comparisons

LEAST_OF_ALL = -2
"""In place of the entry for the rows that hold m below every rate."""

IN_COMMON_OF_OWN, IN_COMMON_OF_OTHER = -3, -4
"""The same for the rows that hold what two populations have in common below the rates of the first, and the second."""


@dataclass(frozen=True, eq=False)
class ParityRows:
    """Rows over (g, m) with their relief; the rates g as rows over the moves; and what each row is about.

    ``constraint``, ``entry`` and ``line`` say of each row to which comparison it belongs. With a shared m the entry
    is the first of the rate's own, or ``LEAST_OF_ALL`` for the rows ``m ≤ rate``; ``auxiliary`` is the column of m, -1
    where a row has none or, for a free event, all of its entry. ``values`` are those that each constraint's rates tell
    apart, and ``value`` is that of each row which holds down what two populations have in common.
    """

    rows: Inequalities
    relief: Inequalities
    rates: Matrix
    n_auxiliary: int
    constraint: Cells
    entry: Cells
    line: Cells
    auxiliary: Cells
    value: Cells
    of_entry: Cells
    values: tuple[Cells, ...]


@dataclass(frozen=True, eq=False)
class _Block:
    """Entries of the rows of one constraint: (row, column, value) over (g, m), and likewise their relief."""

    size: int
    matrix: tuple[Cells, Cells, Numbers]
    limit: Numbers
    slope: tuple[Cells, Cells, Numbers]
    slope_limit: Numbers
    entry: Cells
    line: Cells
    auxiliary: Cells
    value: Cells
    of_entry: Cells


@dataclass(frozen=True, eq=False)
class _Rates:
    """The rates of one constraint as rows over the moves: by population, released segment and value.

    ``first`` is the column of the first, among those of all constraints.
    """

    part: Comparisons
    matrix: Matrix
    values: Cells
    first: int

    def start(self, population: Cells) -> Cells:
        """Return the column of the first rate of each entry's population, in the entry's released segment."""
        segments = _released_segments(self.part)
        place = np.searchsorted(segments, self.part.segment)
        return np.asarray(self.first + (population * max(1, len(segments)) + place) * len(self.values))

    def of_events(self, row: Cells, start: Cells, event: Cells, weight: Numbers) -> tuple[Cells, Cells, Numbers]:
        """Return weighted rates of events as (row, column, value): each is the sum of the rates of its values."""
        members = self.part.events.members[event]
        at, value = np.nonzero(members)
        return row[at], start[at] + value, weight[at] * members[at, value]


def parity_rows(compared: list[Comparisons], counts: Counts, moves: Moves) -> ParityRows:
    """Return the rows of every parity constraint, one below the other."""
    rates: list[_Rates] = []
    for part in compared:
        rates.append(_rates(part, counts, moves, sum(each.matrix.shape[0] for each in rates)))
    width = sum(each.matrix.shape[0] for each in rates)
    blocks, first_m = [], width
    for each in rates:
        if each.part.events.free:
            block, n_m = _in_common(each, first_m)
        elif _shared(each.part):
            block, n_m = _against_least(each, first_m)
        else:
            block, n_m = _held(each), 0
        first_m += n_m
        blocks.append(block)
    return _assembled(blocks, rates, len(moves.source), width, first_m - width)


def _shared(part: Comparisons) -> bool:
    """Whether every rate of a segment and event is held against every other, within one bound."""
    if not len(part) or part.against_target or part.parity.distance.both(part.bound) is None:
        return False
    key = _segment_and_event(part)
    low, high = (np.full(key.max() + 1, start) for start in (np.inf, -np.inf))
    np.minimum.at(low, key, part.bound)
    np.maximum.at(high, key, part.bound)
    size = np.bincount(key)
    members = np.array([len(np.unique([part.population[key == k], part.against[key == k]])) for k in range(len(size))])
    # An entry that is not bounded at all was left out, so that fewer than all pairs are there; and where groups are
    # held against the rest, or against one of them, there are fewer from the start.
    return bool(np.all(low == high) and np.all(size == members * (members - 1)))


def _segment_and_event(part: Comparisons) -> Cells:
    """Number the distinct (segment, event) of the entries."""
    segment = np.array([population.segment for population in part.populations])[part.population]
    _, number = np.unique(segment * (part.event.max() + 1) + part.event, return_inverse=True)
    return np.asarray(number, dtype=np.int64).ravel()


def _released_segments(part: Comparisons) -> Cells:
    return np.unique(part.segment)


def _rates(part: Comparisons, counts: Counts, moves: Moves, first: int) -> _Rates:
    """Return the rates of a constraint."""
    heed()
    to_x, to_y = counts.domain.split_xy(moves.target)
    values, of_move = part.events.told_apart(counts.domain, to_x, to_y)
    by_source = sparse.csr_array(part.weights)[:, moves.source].tocoo()
    population, move, weight = by_source.coords[0], by_source.coords[1], by_source.data
    segments = _released_segments(part)
    place = np.zeros(len(move), dtype=np.int64)
    if part.segments is not None and part.within_released:
        cell = counts.domain.x.cells_of(part.segments, to_x)[move]
        place = np.minimum(np.searchsorted(segments, cell), len(segments) - 1)
        known = segments[place] == cell
        population, move, weight, place = population[known], move[known], weight[known], place[known]
    heed()
    n_segments = max(1, len(segments))
    row = (population * n_segments + place) * len(values) + of_move[move]
    shape = (len(part.populations) * n_segments * len(values), len(moves.source))
    return _Rates(part, sparse.csr_array((weight, (row, move)), shape=shape), values, first)


def _held(rates: _Rates) -> _Block:
    """Hold each entry's rate against its target or its counterpart, with one row per line of the distance."""
    part = rates.part
    size, n_lines = len(part), len(part.lines)

    def stacked(lines: list[tuple[Numbers, Numbers, Numbers]]) -> tuple[Entries, Numbers]:
        terms = [_terms(rates, line) for line in lines]
        row = np.concatenate([np.zeros(0, np.int64), *(t[0] + i * size for i, t in enumerate(terms))])
        column, value, right = (np.concatenate([np.zeros(0), *(t[i] for t in terms)]) for i in (1, 2, 3))
        return (row, column.astype(np.int64), value), right

    matrix, limit = stacked([(line.on_p, line.on_q, line.limit) for line in part.lines])
    slope, slope_limit = stacked([line.slope for line in part.lines])
    entry, line = np.tile(np.arange(size), n_lines), np.repeat(np.arange(n_lines), size)
    none = np.full(len(entry), -1)
    return _Block(len(limit), matrix, limit, slope, slope_limit, entry, line, none, none, entry)


Entries = tuple[Cells, Cells, Numbers]
Terms = tuple[Cells, Cells, Numbers, Numbers]


def _terms(rates: _Rates, line: tuple[Numbers, Numbers, Numbers]) -> Terms:
    """Write ``on_p·p + on_q·q ≤ limit`` over the rates: rows, columns, values and right-hand sides."""
    part, (on_p, on_q, limit) = rates.part, line
    # What is added to the rates is known, and goes to the right.
    limit = limit - on_p * part.shifts[part.population, part.event]
    row, start = np.arange(len(part)), rates.start(part.population)
    own = rates.of_events(row, start, part.event, on_p)
    if not part.against_target:
        limit = limit - on_q * part.shifts[part.against, part.event]
        return *_joined(own, rates.of_events(row, rates.start(part.against), part.event, on_q)), limit
    right = limit - on_q * part.target
    if np.all(part.segment == EVERYWHERE):
        return *own, right
    # Given a released segment p is a share of the segment's own probability: multiply the line by that.
    every = [(row, start + value, -right) for value in range(len(rates.values))]
    return *_joined(own, *every), np.zeros(len(part))


def _joined(*parts: Entries) -> Entries:
    row, column, value = (np.concatenate(each) for each in zip(*parts, strict=True))
    return row, column, value


def _against_least(rates: _Rates, first_m: int) -> tuple[_Block, int]:
    """Hold every rate of a segment and event against the smallest, m, and m below every rate."""
    part, key = rates.part, _segment_and_event(rates.part)
    _, at = np.unique(np.stack([part.population, part.event]), axis=1, return_index=True)
    start, event, least = rates.start(part.population)[at], part.event[at], first_m + key[at]
    found = part.parity.distance.both(part.bound[at])
    assert found is not None
    size, row = len(at), np.arange(len(at))

    def over(on_p: Numbers, on_q: Numbers) -> Entries:
        return _joined(rates.of_events(row, start, event, on_p), (row, least, on_q))

    one, added = np.ones(size), part.shifts[part.population[at], event]
    above, below, slope = over(found.on_p, found.on_q), over(-one, one), over(found.slope[0], found.slope[1])
    block = _Block(
        size=2 * size,
        matrix=_joined(above, (below[0] + size, *below[1:])),
        limit=np.concatenate([found.limit - found.on_p * added, added]),
        slope=slope,
        slope_limit=np.concatenate([found.slope[2] - found.slope[0] * added, 0.0 * added]),
        entry=np.concatenate([at, np.full(size, LEAST_OF_ALL)]),
        line=np.zeros(2 * size, dtype=np.int64),
        auxiliary=np.concatenate([least, least]),
        value=np.full(2 * size, -1),
        of_entry=np.concatenate([at, at]),
    )
    return block, int(key.max()) + 1


def _in_common(rates: _Rates, first_m: int) -> tuple[_Block, int]:
    """Hold what two populations have in common, m, below both rates of every value, and its sum above 1 − ε.

    A value that one of them cannot have is in neither sum.
    """
    part = rates.part
    reached = np.diff(rates.matrix.indptr) > 0
    own, other = (rates.start(p)[:, None] + np.arange(len(rates.values)) for p in (part.population, part.against))
    entry, value = np.nonzero(reached[own - rates.first] & reached[other - rates.first])
    size, many = len(part), len(entry)
    m, row, one = first_m + np.arange(many), size + np.arange(many), np.ones(many)
    sums_ = (entry, m, -one)
    below = [
        _joined((row + shift, which[entry, value], -one), (row + shift, m, one))
        for which, shift in ((own, 0), (other, many))
    ]
    nothing = np.zeros(2 * many)
    empty = np.zeros(0, dtype=np.int64)
    places = np.arange(size)
    block = _Block(
        size=size + 2 * many,
        matrix=_joined(sums_, *below),
        limit=np.concatenate([part.bound - 1, nothing]),
        slope=(empty, empty, np.zeros(0)),
        slope_limit=np.concatenate([np.ones(size), nothing]),
        entry=np.concatenate([places, np.full(many, IN_COMMON_OF_OWN), np.full(many, IN_COMMON_OF_OTHER)]),
        line=np.zeros(size + 2 * many, dtype=np.int64),
        auxiliary=np.concatenate([np.full(size, -1), m, m]),
        value=np.concatenate([np.full(size, -1), value, value]),
        of_entry=np.concatenate([places, entry, entry]),
    )
    return block, many


def _assembled(blocks: list[_Block], rates: list[_Rates], n_moves: int, n_rates: int, n_auxiliary: int) -> ParityRows:
    width = n_rates + n_auxiliary
    shift = np.cumsum([0, *(block.size for block in blocks)])
    size = int(shift[-1])

    def matrix(which: str) -> Matrix:
        parts = [getattr(block, which) for block in blocks]
        rows = np.concatenate([np.zeros(0, np.int64), *(p[0] + s for p, s in zip(parts, shift, strict=False))])
        columns, values = (np.concatenate([np.zeros(0), *(p[i] for p in parts)]) for i in (1, 2))
        entries = sparse.csr_array((values, (rows, columns.astype(np.int64))), shape=(size, width))
        entries.eliminate_zeros()
        return entries

    def column(which: str) -> Numbers:
        return np.concatenate([np.zeros(0), *(getattr(block, which) for block in blocks)])

    constraint = np.repeat(np.arange(len(blocks)), [block.size for block in blocks]).astype(np.int64)
    entry, line, auxiliary, value, of_entry = (
        column(w).astype(np.int64) for w in ("entry", "line", "auxiliary", "value", "of_entry")
    )
    return ParityRows(
        Inequalities(matrix("matrix"), column("limit")),
        Inequalities(matrix("slope"), column("slope_limit")),
        sparse.vstack([sparse.csr_array((0, n_moves)), *(each.matrix for each in rates)], format="csr"),
        n_auxiliary,
        constraint,
        entry,
        line,
        auxiliary,
        value,
        of_entry,
        tuple(each.values for each in rates),
    )


@dataclass(frozen=True)
class Barring:
    """A line of an entry of a constraint that rules an outcome out for a population, whose rate it weighs so much."""

    constraint: int
    entry: int
    line: int
    population: int
    weight: float


def without_unreachable(compared: list[Comparisons], counts: Counts, moves: Moves) -> tuple[Moves, list[list[Barring]]]:
    """Drop the moves to outcomes that somebody may never have; and return what ruled them out, round by round.

    A ratio to zero is unbounded: where the target gives an outcome no probability, or where one of two groups that are
    compared can never have it, neither may. Removing the moves makes those rates exactly zero instead of nearly so.
    """
    moves, rounds = reachable(compared, counts, moves)
    stranded = np.setdiff1d(np.arange(len(counts)), moves.source)
    if len(stranded):
        lost = int(stranded[0])
        bars = [(compared[bar.constraint], bar) for because in rounds for bar in because]
        events = [
            part.events.members[part.event[b.entry]] for part, b in bars if part.populations[b.population].member[lost]
        ]
        barred = np.flatnonzero(np.any([np.zeros(counts.domain.y.size), *events], axis=0))
        names = ", ".join(repr(counts.domain.outcome.levels[y]) for y in barred)
        where = counts.domain.words(int(counts.d[lost]), int(counts.x[lost]), int(counts.y[lost]))
        raise InfeasibleError(
            f"parity by ratio means that nobody may have the outcome {names}: its target probability is zero, or "
            f"some group can never have it. But people at ({where}) cannot leave it. Allow that change in the "
            f"distortion, or merge the outcome with another."
        )
    return moves, rounds


def reachable(compared: list[Comparisons], counts: Counts, moves: Moves) -> tuple[Moves, list[list[Barring]]]:
    """Do the same, and end where somebody is left without any move."""
    rounds: list[list[Barring]] = []
    while True:
        heed()
        barred, because = _barred_outcomes(compared, counts, moves)
        _, outcome = counts.domain.split_xy(moves.target)
        kept = ~barred[moves.source, outcome]
        if kept.all():
            return moves, rounds
        moves = moves.keep(kept)
        rounds.append(because)
        if len(np.unique(moves.source)) < len(counts):
            return moves, rounds


def _barred_outcomes(
    compared: list[Comparisons], counts: Counts, moves: Moves
) -> tuple[NDArray[np.bool_], list[Barring]]:
    """Return, for each source and outcome, whether some constraint rules it out; and which lines do."""
    size = counts.domain.y.size
    _, outcome = counts.domain.split_xy(moves.target)
    reaches = np.zeros((len(counts), size))
    reaches[moves.source, outcome] = 1.0
    barred = np.zeros((len(counts), size), dtype=bool)
    because: list[Barring] = []
    for i, part in enumerate(compared):
        if part.within_released or part.events.free:
            continue
        reachable = part.rates(reaches) > 0
        target = part.against == AGAINST_TARGET
        empty = np.where(target, part.target == 0, ~reachable[np.where(target, 0, part.against), part.event])
        own = ~target & ~reachable[part.population, part.event]
        for number, line in enumerate(part.lines):
            # One rate may be no more than a multiple of another, and that is zero.
            for e in np.flatnonzero((line.limit == 0) & (line.on_p > 0) & empty):
                because.append(Barring(i, int(e), number, int(part.population[e]), float(line.on_p[e])))
            for e in np.flatnonzero((line.limit == 0) & (line.on_q > 0) & (line.on_p <= 0) & own):
                because.append(Barring(i, int(e), number, int(part.against[e]), float(line.on_q[e])))
    for bar in because:
        part = compared[bar.constraint]
        event = part.events.members[part.event[bar.entry]] > 0
        barred[np.ix_(part.populations[bar.population].member, event)] = True
    return barred, because
