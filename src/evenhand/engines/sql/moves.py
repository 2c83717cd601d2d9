"""A mode as a list of its changes: source, the draws that make the change, and the new level of each column.

Most of a mapping keeps people as they are, so the changes alone are short enough to be written into a query. Knows
nothing of SQL.
"""

from __future__ import annotations

import math
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
        The number of the source over the axes that are read. People of an unknown source who draw their outcome all
        the same have the numbers -1 - key, where the key is that of strangers, with the outcome as its last digit.
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
    targets = mode.targets(entry, tuple(cells[asked] for cells in own))
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
    strangers, outcomes = mode.strangers, mode.domain.y.size
    if strangers is None:
        return mode.sources, own, np.arange(len(mode.sources))
    key, row = strangers.keys, strangers.rows
    if mode.domain.y not in strangers.by:
        # Whatever the outcome, the row is the same; whoever has no key of their own has the one after the last.
        if strangers.others is not None:
            key, row = np.append(key, math.prod(axis.size for axis in strangers.by)), np.append(row, strangers.others)
        key = (key[:, None] * outcomes + np.arange(outcomes)).ravel()
        row = np.repeat(row, outcomes)
    # They keep their x, whatever it is.
    x, y = np.zeros_like(key), key % outcomes
    return (
        np.concatenate([mode.sources, -1 - key]),
        (np.concatenate([own[0], x]), np.concatenate([own[1], y])),
        np.concatenate([np.arange(len(mode.sources)), len(mode.fitted) + row]),
    )


def _columns(variables: tuple[Variable, ...], before: list[Cells], after: list[Cells]) -> list[tuple[Variable, Cells]]:
    """Return the new codes of each column that changes anywhere."""
    found = [(v, np.where(old == new, UNSEEN, new)) for v, old, new in zip(variables, before, after, strict=True)]
    return [(variable, codes) for variable, codes in found if np.any(codes != UNSEEN)]
