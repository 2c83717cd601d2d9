"""A mapping meets people that it was not fitted on: their counts, what it does to them, and what it does not know.

Values that are not levels have no cell: those rows are counted and left out. A combination of known levels that the
fitted table did not have is a cell like any other, and stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.arrays import positions
from evenhand.data.counts import Counts
from evenhand.engines import Rows
from evenhand.errors import DataError
from evenhand.findings import bounds
from evenhand.findings.coverage import coverage
from evenhand.findings.theory.rates import by_group_and_outcome
from evenhand.kernel import Kernel, gather, unchanged
from evenhand.kernel.achieved import distances, group_rates
from evenhand.spec import Problem
from evenhand.tables.transforming import Transformer, locate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Meeting:
    """The counts of a table on a mapping's domain, the kernel of its cells, and what was new."""

    counts: Counts
    kernel: Kernel
    coverage: dict[str, Any]


def meeting(mode: Transformer, rows: Rows) -> Meeting:
    """Count a table, and give each of its cells the row of the kernel that train mode would use."""
    groups = mode.domain.d
    if rows.together:
        tables.refuse_gaps((groups, *mode.reads), rows.table, rows.where, people=rows.people, text=rows.text)
    located = locate(mode, rows.table, text=rows.text)
    d, new_d = tables.cells(groups, rows.table, text=rows.text)
    axes = tuple(dict.fromkeys((groups, *mode.reads)))
    new = np.any([tables.cells(axis, rows.table, text=rows.text)[1] for axis in axes], axis=0) | new_d
    if new.all():
        raise DataError("no row of the table has values that the fitted table had; nothing can be said about it")
    x, y = located.own()
    d, x, y = d[~new], x[~new], y[~new]
    counts = Counts.of(mode.domain, d, x, y, *(of[~new] for of in (rows.weight, rows.people, rows.squares)))
    # The row of train mode's kernel of each cell of the table; a cell that it does not know stays as it is.
    found, place = positions(counts.sources, mode.domain.dxy(d, x, y))
    row, known = np.zeros(len(counts), np.int64), np.zeros(len(counts), bool)
    row[place[found]], known[place[found]] = located.rows[~new][found], located.known[~new][found]
    sources, kept = np.flatnonzero(known), np.flatnonzero(~known)
    asked, entry = mode.kernel.entries(row[sources])
    kernel = gather(
        np.concatenate([sources[asked], kept]),
        np.concatenate([mode.kernel.targets[entry], mode.domain.xy(counts.x, counts.y)[kept]]),
        np.concatenate([mode.kernel.probability[entry], np.ones(len(kept))]),
        len(counts),
    )
    new_combinations = float(rows.people[~located.sourced & ~new].sum())
    return Meeting(counts, kernel, coverage(axes, rows, new_combinations))


def with_own_target(problem: Problem, counts: Counts) -> Problem:
    """Return the problem with the fitted table's p(y), in segments p(y|b), written out where it is the target."""
    return replace(problem, parity=[parity.with_own_target(counts) for parity in problem.parity])


@dataclass(frozen=True, eq=False)
class Realised:
    """A table as it stands, held against the bounds: what one draw made of a release.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, its weight and its rate.
    bounds : pandas.DataFrame
        Every parity bound with what the table has, and the slack; negative where a bound is exceeded.
    words : tuple of str
        How far apart the rates are at worst, for each parity constraint.
    """

    rates: pd.DataFrame
    bounds: pd.DataFrame
    words: tuple[str, ...]


def realised(problem: Problem, counts: Counts) -> Realised:
    """Hold a table's own rates against the bounds of a problem."""
    as_it_is = unchanged(counts)
    parts = distances(problem, counts, as_it_is)
    words = []
    for part in parts:
        worst = bounds.furthest(counts, part)
        if worst is not None:
            bound = float(part.compared.bound[part.worst])
            apart, verdict = bounds.told_from(bound, worst.apart), "beyond" if worst.apart > bound else "within"
            words.append(
                f"the rates of this very table are {apart} apart at worst ({worst.pair}), {verdict} the bound {bound:g}"
            )
    weight = np.repeat(counts.group_weight, counts.domain.y.size)
    rates = {**by_group_and_outcome(counts), "weight": weight, "rate": group_rates(counts, as_it_is).ravel()}
    return Realised(tables.frame(rates), bounds.table(counts, parts), tuple(words))
