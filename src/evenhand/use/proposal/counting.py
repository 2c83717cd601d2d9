"""Counts of a table that was looked over, from what is known of its rows already: no file is read twice.

Rows that agree in every level, or leaf, are counted by the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.counts import Counts
from evenhand.findings.giving_away import MOST_ROWS
from evenhand.spec import Problem
from evenhand.tables import Table, count_rows
from evenhand.tables.frames import with_column
from evenhand.tables.survey import by_code
from evenhand.use.proposal.choosing import all_joined
from evenhand.use.proposal.draft import Draft
from evenhand.use.proposal.levels import Levelled

Rows = Callable[[Sequence[str], Cells, Sequence[Any]], Table]
"""Gives some columns of some rows, by their places; and what stands for a missing value in them."""


def as_levels(problem: Problem, draft: Draft) -> Problem:
    """Return a problem over leaves as one over levels: its one feature is the leaf, which never changes.

    Leaves are those that were tried out. Bounds hardly depend on which cells there are, since outcomes alone change.
    """
    if problem.cells is None or draft.trial is None:
        return problem
    return replace(problem, features=[problem.cells.variable], cells=None)


def counts_of_rows(problem: Problem, draft: Draft, rows: Rows) -> Counts:
    """Count a draft's table over the cells of its problem, whose feature may be the leaf."""
    found = draft.found
    codes = [_apart(column) for column in draft.levelled]
    leaf = None if draft.cells is None or draft.trial is None else draft.trial.leaf
    together = all_joined(codes if leaf is None else [*codes, leaf])
    first = np.unique(together, return_index=True)[1]
    once = np.ones(found.rows)
    each, heads = (once if of is None else of for of in (found.row_weights, found.row_people))
    squared = heads if np.array_equal(each, heads) else each**2
    people, weight, squares = (by_code(together, of, 0) for of in (heads, each, squared))
    at = first if found.kept is None else found.kept[first]
    table = rows([column.name for column in draft.levelled], at, problem.missing_values)
    if leaf is not None:
        (name,) = problem.features
        table = with_column(table, name, [f"leaf {number}" for number in leaf[first]])
    return count_rows(problem, table, weight, people, squares=squares)


def examined(problem: Problem, draft: Draft, rows: Rows, names: Sequence[str]) -> Table:
    """Return evenly spaced rows of a draft's table, with their leaf where it is the problem's feature."""
    found = draft.found
    some = np.linspace(0, found.rows - 1, min(found.rows, MOST_ROWS)).astype(np.int64)
    table = rows(names, some if found.kept is None else found.kept[some], problem.missing_values)
    if draft.trial is None or draft.cells is None or problem.cells is not None:
        return table
    (leaf,) = problem.features
    return with_column(table, leaf, [f"leaf {number}" for number in draft.trial.leaf[some]])


def _apart(column: Levelled) -> Cells:
    """Return codes that tell levels apart, and also the words of which a level is made by name."""
    cut = column.column.numeric and column.binning is not None
    return column.codes if cut else column.column.codes + 1
