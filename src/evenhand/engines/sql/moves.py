"""A mode as a list of its changes: source, the draws that make the change, and the new level of each column.

Most of a mapping keeps people as they are, so the changes alone are short enough to be written into a query. Knows
nothing of SQL.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.domain import Variable
from evenhand.data.levels import UNSEEN
from evenhand.tables.transforming import Transformer


@dataclass(frozen=True, eq=False)
class Moves:
    """Every change that a mode may make.

    Attributes
    ----------
    source : array of int
        The number of the source over the axes that are read. Where D is suppressed, people of an unknown source get
        their outcome by (x, y): those have the numbers -1 - (x, y).
    low, high : array of int
        The change is made by draws from ``low`` up to, but not including, ``high``.
    variables : tuple of Variable
        The columns that change for somebody.
    to : tuple of array
        For each of them the new level's code, UNSEEN where the column stays as it is.
    """

    source: Cells
    low: Cells
    high: Cells
    variables: tuple[Variable, ...]
    to: tuple[Cells, ...]


def moves_of(mode: Transformer) -> Moves:
    """List the changes of a mode.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> found = moves_of(eh.fit(data.problem, data.counts).apply_mode)
    >>> [variable.name for variable in found.variables]
    ['age_cat', 'c_charge_degree', 'priors_count']
    """
    source, own, row = _sources(mode)
    asked, entry = mode.kernel.entries(row)
    # An entry of the kernel is picked by the draws from the end of the one before it in its row up to its own.
    high = mode.kernel.thresholds
    low = np.concatenate([np.zeros(1, np.int64), high[:-1]])
    low[mode.kernel.starts[:-1]] = 0
    targets = [cells[entry] for cells in mode.targets]
    changed = np.any([cells[asked] != target for cells, target in zip(own, targets, strict=True)], axis=0)
    kept = np.flatnonzero(changed & (low[entry] < high[entry]))
    asked, entry = asked[kept], entry[kept]
    columns = [
        column
        for axis, cells, target in zip(mode.writes, own, targets, strict=True)
        for column in _columns(axis.variables, axis.unravel(cells[asked]), axis.unravel(target[kept]))
    ]
    return Moves(
        source[asked],
        low[entry],
        high[entry],
        tuple(variable for variable, _ in columns),
        tuple(codes for _, codes in columns),
    )


def _sources(mode: Transformer) -> tuple[Cells, tuple[Cells, ...], Cells]:
    """Return every source's number, its own cells on the axes that are written, and its row of the kernel."""
    rest, cells = mode.sources, {}
    for axis in reversed(mode.reads):
        rest, cells[axis] = np.divmod(rest, axis.size)
    own = tuple(cells[axis] for axis in mode.writes)
    if mode.fallback is None:
        return mode.sources, own, mode.rows
    size = mode.domain.y.size
    x, y = np.repeat(mode.fallback, size), np.tile(np.arange(size), len(mode.fallback))
    row = len(mode.kernel) - len(mode.fallback) + np.repeat(np.arange(len(mode.fallback)), size)
    return (
        np.concatenate([mode.sources, -1 - mode.domain.xy(x, y)]),
        (np.concatenate([own[0], x]), np.concatenate([own[1], y])),
        np.concatenate([mode.rows, row]),
    )


def _columns(variables: tuple[Variable, ...], before: list[Cells], after: list[Cells]) -> list[tuple[Variable, Cells]]:
    """Return the new codes of each column that changes anywhere."""
    found = [(v, np.where(old == new, UNSEEN, new)) for v, old, new in zip(variables, before, after, strict=True)]
    return [(variable, codes) for variable, codes in found if np.any(codes != UNSEEN)]
