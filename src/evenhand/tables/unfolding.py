"""Every possible result of each row, with its probability: a mode without the lottery.

Frames are unfolded as a whole, files in pieces. Knows modes and tables, as ``transforming`` does; nothing is drawn.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.levels import UNSEEN as NO_LEVEL
from evenhand.errors import Option, SpecError, some_of, warn
from evenhand.tables import Fresh, Table
from evenhand.tables.transforming import (
    How,
    Located,
    Transformed,
    Transformer,
    locate,
    met,
    report_unlike,
    report_unseen,
)


def unfold(mode: Transformer, table: Table, how: How, weight: Numbers | None = None) -> tuple[Table, Cells, Numbers]:
    """Return every possible result of each row, the position of the row it belongs to, and its probability.

    ``weight`` is that of each row, where they have one: groups that weigh nothing are named.
    """
    refuse_sampling(how)
    located = locate(mode, table)
    if weight is not None:
        report_weightless(mode, weight_by_group(mode, located, weight))
    found, share = unfold_piece(mode, table, located, how)
    report_unseen(mode, found.tally, how.unseen)
    report_unlike(mode, found.tally)
    assert found.rows is not None
    return found.table, found.rows, share


def refuse_sampling(how: How) -> None:
    """Refuse to draw a value where nothing is drawn."""
    if how.restore.draws:
        other = (Option("restore", "midpoint"), " or ", Option("restore", "label"))
        raise SpecError("without a lottery no value is sampled; write ", *other)


def unfold_piece(mode: Transformer, table: Table, located: Located, how: How) -> tuple[Transformed, Numbers]:
    """Unfold rows that may be a part of a table, and whose sources are found; return also each result's probability."""
    asked, entry = mode.kernel.entries(located.rows)
    known = located.known[asked]
    # A row that is not known stays as it is: one entry of weight one.
    first = np.concatenate([[True], np.diff(asked) != 0]) if len(asked) else np.zeros(0, bool)
    kept = known | first
    asked, entry, known = asked[kept], entry[kept], known[kept]
    share = np.where(known, mode.kernel.probability[entry], 1.0)
    at = np.flatnonzero(known)
    wide = tables.take(table, asked) if how.restore.names else table
    before, fresh = located.own(asked[at]), dict[str, Fresh]()
    for axis, own, targets in zip(mode.writes, before, mode.targets(entry[at], before), strict=True):
        fresh |= tables.rewritten(wide, axis, at, own, targets, restore=how.restore)
    return Transformed(mode, how, table, fresh, asked, met(mode, table, located)), share


def number_of_results(mode: Transformer, located: Located) -> Cells:
    """Return how many possible results each row has."""
    return np.where(located.known, np.diff(mode.kernel.starts)[located.rows], 1)


def weight_by_group(mode: Transformer, located: Located, weight: Numbers) -> dict[int, float]:
    """Add up the weights of each group's rows, by the group's cell; of none where a blind mapping reads no group."""
    if mode.domain.d not in mode.reads:
        return {}
    groups, at = np.unique(located.kinds.cells[mode.domain.d][located.kind()], return_inverse=True)
    return dict(zip(groups.tolist(), sums(at, weight, len(groups)).tolist(), strict=True))


def report_weightless(mode: Transformer, weights: Mapping[int, float]) -> None:
    """Warn of groups all of whose rows have a weight of zero."""
    cells = sorted(cell for cell, weight in weights.items() if weight == 0 and cell != NO_LEVEL)
    if cells:
        groups = some_of(f"({mode.domain.d.words(cell)})" for cell in cells)
        warn(f"every row of {groups} has a weight of 0; they are kept, but a model learns nothing from them")
