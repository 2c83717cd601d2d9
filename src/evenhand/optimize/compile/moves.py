"""Which moves exist: for each observed source (d, x, y), the cells (x̂, ŷ) it may become.

A move exists if its distortion is finite, if its target is permitted, if it makes no forbidden record, and if no
budget of zero rules it out.
They are listed column by column, so nothing as large as |X| × |X| is ever made.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers, positions
from evenhand.data.counts import Counts
from evenhand.optimize.compile.size import WRITING, refuse_beyond_memory
from evenhand.resources import heed
from evenhand.spec import Problem, becomes_forbidden


@dataclass(frozen=True, eq=False)
class Moves:
    """Every allowed move, contiguous by source and ascending by target."""

    source: Cells
    target: Cells
    distortion: Numbers

    def keep(self, kept: NDArray[np.bool_]) -> Moves:
        return Moves(self.source[kept], self.target[kept], self.distortion[kept])


def allowed_moves(problem: Problem, counts: Counts) -> Moves:
    """List the moves of every source."""
    records = counts.records
    if problem.distortion.table is None:
        record, target = moves_of_records(problem, counts)
    else:
        record, target = problem.distortion.table.targets_of(records.cells)
        if problem.observed_only:
            seen, _ = positions(counts.features.cells, counts.domain.split_xy(target)[0])
            record, target = record[seen], target[seen]
    heed()
    x, y = counts.domain.split_xy(records.cells[record])
    to_x, to_y = counts.domain.split_xy(target)
    distortion = problem.distortion.between(counts.domain, x, y, to_x, to_y)
    heed()
    possible = np.isfinite(distortion)
    if not problem.utility.new_cells and problem.suppression.utility_axes == "xy":
        # Where p = 0 this measure is infinite, so nobody may go there.
        possible &= records.at(target) > 0
    record, target, distortion = record[possible], target[possible], distortion[possible]
    heed()
    source, entry = _repeat(records.of_source, record, len(records.cells))
    moves = Moves(source, target[entry], distortion[entry])
    if problem.forbidden_records:
        heed()
        own = counts.d[moves.source], counts.x[moves.source], counts.y[moves.source]
        moves = moves.keep(~becomes_forbidden(problem, counts.domain, *own, *counts.domain.split_xy(moves.target)))
    for charge in problem.charges:
        heed()
        # A budget of zero rules moves out; it then needs no row.
        limit = charge.limits(counts)[charge.holders(counts)]
        moves = moves.keep((charge.of(moves.distortion) == 0) | (limit[moves.source] > 0))
    return moves


def moves_of_records(problem: Problem, counts: Counts) -> tuple[Cells, Cells]:
    """For each distinct (x, y), every (x̂, ŷ) that its columns' rules allow."""
    refuse_beyond_memory(problem, counts, WRITING)
    domain = counts.domain
    origin, to_x = _moves_of_features(problem, counts)
    x, y = domain.split_xy(counts.records.cells)
    _, which_x = positions(counts.features.cells, x)
    heed()
    record, entry = _repeat(which_x, origin, len(counts.features.cells))
    allowed_y = np.isfinite(problem.distortion.costs(domain.outcome))
    from_y, to_y = np.nonzero(allowed_y)
    heed()
    pair, choice = _repeat(y[record], from_y, domain.y.size)
    return record[pair], domain.xy(to_x[entry][pair], to_y[choice])


def _moves_of_features(problem: Problem, counts: Counts) -> tuple[Cells, Cells]:
    """For each distinct x, every x̂; prefixes that no permitted x̂ begins with are dropped on the way."""
    axis = counts.domain.x
    observed = axis.unravel(counts.features.cells)
    origin = np.arange(len(counts.features.cells))
    prefix = np.zeros(len(origin), dtype=np.int64)
    known = np.zeros(len(origin), dtype=np.int64)
    for variable, codes in zip(axis.variables, observed, strict=True):
        heed()
        from_level, to_level = np.nonzero(np.isfinite(problem.distortion.costs(variable)))
        entry, choice = _repeat(codes[origin], from_level, len(variable))
        origin, prefix = origin[entry], prefix[entry] * len(variable) + to_level[choice]
        if problem.observed_only:
            known = known * len(variable) + codes
            found, _ = positions(np.unique(known), prefix)
            origin, prefix = origin[found], prefix[found]
    return origin, prefix


def _repeat(wanted: Cells, groups: Cells, n_groups: int) -> tuple[Cells, Cells]:
    """Join each wanted group to its entries, given the sorted group of each entry.

    Returns, for every pair, the position in ``wanted`` and the position of the entry.
    """
    sizes = np.bincount(groups, minlength=n_groups)
    first = np.cumsum(sizes) - sizes
    count = sizes[wanted]
    position = np.repeat(np.arange(len(wanted)), count)
    within = np.arange(len(position)) - np.repeat(np.cumsum(count) - count, count)
    return position, first[wanted][position] + within
