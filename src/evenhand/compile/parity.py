"""Parity, eqs. (1) to (3), as rows over the rates g = p(ŷ|d).

Target parity is an interval a rate. Pairwise parity is, for each outcome, a line between every rate and the
smallest of them, m: two rows a rate instead of one a pair.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.compile.moves import Moves
from evenhand.counts import Counts
from evenhand.domain import Cells
from evenhand.errors import InfeasibleError
from evenhand.program import Inequalities, Matrix
from evenhand.spec import PairwiseParity, Parity, Problem, TargetParity


@dataclass(frozen=True, eq=False)
class ParityRows:
    """Rows over (g, m) with their relief, and the number of auxiliary m."""

    rows: Inequalities
    relief: Inequalities
    n_auxiliary: int


def rate_index(counts: Counts, group: Cells, outcome: Cells) -> Cells:
    """Return the position in g of p(outcome | group)."""
    return group * counts.domain.y.size + outcome


def rates(counts: Counts, moves: Moves) -> Matrix:
    """Return G: each move adds p(x, y | d) to the rate of its group and released outcome."""
    _, outcome = counts.domain.split_xy(moves.target)
    row = rate_index(counts, counts.groups.of_source[moves.source], outcome)
    shape = (len(counts.groups.cells) * counts.domain.y.size, len(moves.source))
    return sparse.csr_array((counts.given_group[moves.source], (row, np.arange(shape[1]))), shape=shape)


def parity_rows(problem: Problem, counts: Counts) -> ParityRows:
    """Return the rows of every parity constraint, one below the other."""
    n_rates = len(counts.groups.cells) * counts.domain.y.size
    n_outcomes = counts.domain.y.size
    pairwise = [p for p in problem.parity if isinstance(p, PairwiseParity)]
    width = n_rates + n_outcomes * len(pairwise)
    blocks = [
        _pairwise(p, counts, width, n_rates + n_outcomes * pairwise.index(p))
        if isinstance(p, PairwiseParity)
        else _target(p, counts, width)
        for p in problem.parity
    ]
    return ParityRows(
        _stack([rows for rows, _ in blocks], width),
        _stack([relief for _, relief in blocks], width),
        width - n_rates,
    )


def _target(parity: Parity, counts: Counts, width: int) -> tuple[Inequalities, Inequalities]:
    assert isinstance(parity, TargetParity)
    group, outcome = _every_rate(counts)
    target = parity.distribution(counts)[outcome]
    low, high = parity.distance.interval(target, parity.bound)
    low_slope, high_slope = parity.distance.interval_slope(target, parity.bound)
    rate = rate_index(counts, group, outcome)
    one = sparse.csr_array((np.ones(len(rate)), (np.arange(len(rate)), rate)), shape=(len(rate), width))
    rows = Inequalities(sparse.vstack([one, -one], format="csr"), np.concatenate([high, -low]))
    empty = sparse.csr_array(rows.matrix.shape)
    return rows, Inequalities(empty, np.concatenate([high_slope, -low_slope]))


def _pairwise(parity: Parity, counts: Counts, width: int, first_m: int) -> tuple[Inequalities, Inequalities]:
    group, outcome = _every_rate(counts)
    rate = rate_index(counts, group, outcome)
    size = len(rate)
    row = np.arange(size)
    line, slope = parity.distance.line(parity.bound), parity.distance.line_slope(parity.bound)

    def over(on_rate: float, on_least: float) -> Matrix:
        values = np.repeat([on_rate, on_least], size)
        columns = np.concatenate([rate, first_m + outcome])
        return sparse.csr_array((values, (np.concatenate([row, row]), columns)), shape=(size, width))

    rows = sparse.vstack([over(line.on_p, line.on_q), over(-1.0, 1.0)], format="csr")
    relief = sparse.vstack([over(slope.on_p, slope.on_q), sparse.csr_array((size, width))], format="csr")
    zeros = np.zeros(size)
    return (
        Inequalities(rows, np.concatenate([zeros + line.limit, zeros])),
        Inequalities(relief, np.concatenate([zeros + slope.limit, zeros])),
    )


def _every_rate(counts: Counts) -> tuple[Cells, Cells]:
    group, outcome = np.indices((len(counts.groups.cells), counts.domain.y.size))
    return group.ravel(), outcome.ravel()


def _stack(blocks: list[Inequalities], width: int) -> Inequalities:
    if not blocks:
        return Inequalities(sparse.csr_array((0, width)), np.zeros(0))
    matrix = sparse.vstack([block.matrix for block in blocks], format="csr")
    return Inequalities(matrix, np.concatenate([block.limit for block in blocks]))


def without_unreachable(problem: Problem, counts: Counts, moves: Moves) -> Moves:
    """Drop the moves to outcomes that nobody may have.

    A ratio to zero is unbounded: where the target gives an outcome no probability, or where one group can never
    have it, no group may. Removing the moves makes those rates exactly zero instead of nearly so.
    """
    while True:
        barred = _barred_outcomes(problem, counts, moves)
        _, outcome = counts.domain.split_xy(moves.target)
        kept = ~barred[outcome]
        if kept.all():
            return moves
        _refuse_stranded(counts, moves.source[kept], barred)
        moves = moves.keep(kept)


def _barred_outcomes(problem: Problem, counts: Counts, moves: Moves) -> NDArray[np.bool_]:
    size = counts.domain.y.size
    _, outcome = counts.domain.split_xy(moves.target)
    reachable = np.zeros((len(counts.groups.cells), size), dtype=bool)
    reachable[counts.groups.of_source[moves.source], outcome] = True
    barred = np.zeros(size, dtype=bool)
    for parity in problem.parity:
        if isinstance(parity, TargetParity):
            barred |= parity.distance.interval(parity.distribution(counts), parity.bound)[1] <= 0
        elif parity.distance.line(parity.bound).limit <= 0:
            barred |= ~reachable.all(axis=0)
    return barred


def _refuse_stranded(counts: Counts, sources: Cells, barred: NDArray[np.bool_]) -> None:
    """Say who would have nowhere to go."""
    moving = np.zeros(len(counts), dtype=bool)
    moving[sources] = True
    if moving.all():
        return
    lost = int(np.flatnonzero(~moving)[0])
    levels = counts.domain.outcome.levels
    names = ", ".join(repr(levels[y]) for y in np.flatnonzero(barred))
    raise InfeasibleError(
        f"parity by ratio means that nobody may have the outcome {names}: its target probability is zero, or "
        f"some group can never have it. But people at ({_words(counts, lost)}) cannot leave it. Allow that "
        f"change in the distortion, or merge the outcome with another."
    )


def _words(counts: Counts, source: int) -> str:
    return counts.domain.words(int(counts.d[source]), int(counts.x[source]), int(counts.y[source]))
