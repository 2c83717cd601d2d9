"""Parity, eqs. (1) to (4), as rows over the rates g.

A rate is the probability of an outcome in a population (and, where a constraint is about released segments, of the
segment as well). Held against a target, a rate has a row for each line of the distance; held between populations, so
has a pair. Where all pairs of a segment share one bound, each rate is held against the smallest of them, m: two rows
per rate instead of one per pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.errors import InfeasibleError
from evenhand.optimise.compile.moves import Moves
from evenhand.optimise.program import Inequalities, Matrix
from evenhand.resources import heed
from evenhand.spec import AGAINST_TARGET, EVERYWHERE, Comparisons

LEAST_OF_ALL = -2
"""In place of the entry for the rows that hold m below every rate."""


@dataclass(frozen=True, eq=False)
class ParityRows:
    """Rows over (g, m) with their relief; the rates g as rows over the moves; and what each row is about.

    ``constraint``, ``entry`` and ``line`` say of each row to which comparison it belongs. With a shared m the entry
    is the first of the rate's own, or ``LEAST_OF_ALL`` for the rows ``m ≤ rate``; ``rate`` and ``auxiliary`` are the
    columns.
    """

    rows: Inequalities
    relief: Inequalities
    rates: Matrix
    n_auxiliary: int
    constraint: Cells
    entry: Cells
    line: Cells
    rate: Cells
    auxiliary: Cells


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
    rate: Cells
    auxiliary: Cells


def parity_rows(compared: list[Comparisons], counts: Counts, moves: Moves) -> ParityRows:
    """Return the rows of every parity constraint, one below the other."""
    rate_blocks, blocks, width = [], [], 0
    shared = [_shared(part) for part in compared]
    for part in compared:
        rates = _rates(part, counts, moves)
        rate_blocks.append(rates)
        width += rates.shape[0]
    first_rate, first_m = 0, width
    for part, rates, is_shared in zip(compared, rate_blocks, shared, strict=True):
        if is_shared:
            block, n_m = _against_least(part, counts, first_rate, first_m)
            first_m += n_m
        else:
            block = _held(part, counts, first_rate)
        blocks.append(block)
        first_rate += rates.shape[0]
    return _assembled(blocks, rate_blocks, len(moves.source), width, first_m - width)


def _shared(part: Comparisons) -> bool:
    """Whether every rate of a segment and outcome is held against every other, within one bound."""
    if not len(part) or part.against_target or part.parity.distance.both(part.bound) is None:
        return False
    key = _segment_and_outcome(part)
    low, high = (np.full(key.max() + 1, start) for start in (np.inf, -np.inf))
    np.minimum.at(low, key, part.bound)
    np.maximum.at(high, key, part.bound)
    size = np.bincount(key)
    members = np.array([len(np.unique([part.population[key == k], part.against[key == k]])) for k in range(len(size))])
    # An entry that is not bounded at all was left out, so that fewer than all pairs are there; and where groups are
    # held against the rest, or against one of them, there are fewer from the start.
    return bool(np.all(low == high) and np.all(size == members * (members - 1)))


def _segment_and_outcome(part: Comparisons) -> Cells:
    """Number the distinct (segment, outcome) of the entries."""
    segment = np.array([population.segment for population in part.populations])[part.population]
    _, number = np.unique(segment * (part.outcome.max() + 1) + part.outcome, return_inverse=True)
    return np.asarray(number, dtype=np.int64).ravel()


def _released_segments(part: Comparisons) -> Cells:
    return np.unique(part.segment)


def _rates(part: Comparisons, counts: Counts, moves: Moves) -> Matrix:
    """Return the rates of a constraint as rows over the moves: by population, released segment and outcome."""
    heed()
    n_y = counts.domain.y.size
    to_x, to_y = counts.domain.split_xy(moves.target)
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
    row = (population * n_segments + place) * n_y + to_y[move]
    shape = (len(part.populations) * n_segments * n_y, len(moves.source))
    return sparse.csr_array((weight, (row, move)), shape=shape)


def _rate_index(part: Comparisons, counts: Counts, population: Cells, outcome: Cells) -> Cells:
    """Return the position of a rate among those of its constraint, in the released segment of its entry."""
    segments = _released_segments(part)
    place = np.searchsorted(segments, part.segment)
    return (population * max(1, len(segments)) + place) * counts.domain.y.size + outcome


def _held(part: Comparisons, counts: Counts, first: int) -> _Block:
    """Hold each entry's rate against its target or its counterpart, with one row per line of the distance."""
    size, n_lines = len(part), len(part.lines)
    own = first + _rate_index(part, counts, part.population, part.outcome)

    def stacked(lines: list[tuple[Numbers, Numbers, Numbers]]) -> tuple[tuple[Cells, Cells, Numbers], Numbers]:
        terms = [_terms(part, counts, first, own, line) for line in lines]
        row = np.concatenate([np.zeros(0, np.int64), *(t[0] + i * size for i, t in enumerate(terms))])
        column, value, right = (np.concatenate([np.zeros(0), *(t[i] for t in terms)]) for i in (1, 2, 3))
        return (row, column.astype(np.int64), value), right

    matrix, limit = stacked([(line.on_p, line.on_q, line.limit) for line in part.lines])
    slope, slope_limit = stacked([line.slope for line in part.lines])
    entry, line = np.tile(np.arange(size), n_lines), np.repeat(np.arange(n_lines), size)
    none = np.full(len(entry), -1)
    return _Block(len(limit), matrix, limit, slope, slope_limit, entry, line, np.tile(own, n_lines), none)


Terms = tuple[Cells, Cells, Numbers, Numbers]


def _terms(part: Comparisons, counts: Counts, first: int, own: Cells, line: tuple[Numbers, Numbers, Numbers]) -> Terms:
    """Write ``on_p·p + on_q·q ≤ limit`` over the rates: rows, columns, values and right-hand sides."""
    on_p, on_q, limit = line
    row = np.arange(len(part))
    if not part.against_target:
        other = first + _rate_index(part, counts, part.against, part.outcome)
        return np.concatenate([row, row]), np.concatenate([own, other]), np.concatenate([on_p, on_q]), limit
    right = limit - on_q * part.target
    if np.all(part.segment == EVERYWHERE):
        return row, own, on_p, right
    # Given a released segment p is a share of the segment's own probability: multiply the line by that.
    n_y = counts.domain.y.size
    every = own - part.outcome
    columns = np.concatenate([own, *(every + y for y in range(n_y))])
    values = np.concatenate([on_p, *([-right] * n_y)])
    return np.concatenate([row] * (n_y + 1)), columns, values, np.zeros(len(part))


def _against_least(part: Comparisons, counts: Counts, first: int, first_m: int) -> tuple[_Block, int]:
    """Hold every rate of a segment and outcome against the smallest, m, and m below every rate."""
    key = _segment_and_outcome(part)
    own = first + _rate_index(part, counts, part.population, part.outcome)
    rate, at = np.unique(own, return_index=True)
    least = first_m + key[at]
    found = part.parity.distance.both(part.bound[at])
    assert found is not None
    size, row = len(rate), np.arange(len(rate))

    def over(on_p: Numbers, on_q: Numbers) -> tuple[Cells, Cells, Numbers]:
        return np.concatenate([row, row]), np.concatenate([rate, least]), np.concatenate([on_p, on_q])

    one, zero = np.ones(size), np.zeros(size)
    above, below, slope = over(found.on_p, found.on_q), over(-one, one), over(found.slope[0], found.slope[1])
    matrix = (np.concatenate([above[0], below[0] + size]), *(np.concatenate([above[i], below[i]]) for i in (1, 2)))
    return (
        _Block(
            2 * size,
            matrix,  # type: ignore[arg-type]
            np.concatenate([found.limit, zero]),
            slope,
            np.concatenate([found.slope[2], zero]),
            np.concatenate([at, np.full(size, LEAST_OF_ALL)]),
            np.zeros(2 * size, dtype=np.int64),
            np.concatenate([rate, rate]),
            np.concatenate([least, least]),
        ),
        int(key.max()) + 1,
    )


def _assembled(
    blocks: list[_Block], rate_blocks: list[Matrix], n_moves: int, n_rates: int, n_auxiliary: int
) -> ParityRows:
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
    entry, line, rate, auxiliary = (column(w).astype(np.int64) for w in ("entry", "line", "rate", "auxiliary"))
    return ParityRows(
        Inequalities(matrix("matrix"), column("limit")),
        Inequalities(matrix("slope"), column("slope_limit")),
        sparse.vstack([sparse.csr_array((0, n_moves)), *rate_blocks], format="csr"),
        n_auxiliary,
        constraint,
        entry,
        line,
        rate,
        auxiliary,
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
        barred = {int(part.outcome[b.entry]) for part, b in bars if lost in part.populations[b.population].member}
        names = ", ".join(repr(counts.domain.outcome.levels[y]) for y in sorted(barred))
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
        if part.within_released:
            continue
        reachable = (part.weights @ reaches) > 0
        target = part.against == AGAINST_TARGET
        empty = np.where(target, part.target == 0, ~reachable[np.where(target, 0, part.against), part.outcome])
        own = ~target & ~reachable[part.population, part.outcome]
        for number, line in enumerate(part.lines):
            # One rate may be no more than a multiple of another, and that is zero.
            for e in np.flatnonzero((line.limit == 0) & (line.on_p > 0) & empty):
                because.append(Barring(i, int(e), number, int(part.population[e]), float(line.on_p[e])))
            for e in np.flatnonzero((line.limit == 0) & (line.on_q > 0) & (line.on_p <= 0) & own):
                because.append(Barring(i, int(e), number, int(part.against[e]), float(line.on_q[e])))
    for bar in because:
        part = compared[bar.constraint]
        barred[part.populations[bar.population].member, part.outcome[bar.entry]] = True
    return barred, because
