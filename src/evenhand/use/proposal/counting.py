"""Counts of a table that was looked over, from what is known of its rows already: no file is read twice.

Rows that agree in every level, or leaf, are counted by the first of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.counts import Counts
from evenhand.spec import Problem
from evenhand.tables import Table
from evenhand.tables.learned import variable_of_tree
from evenhand.tables.reading import level_rows
from evenhand.tables.survey import by_code
from evenhand.use.proposal.choosing import all_joined
from evenhand.use.proposal.draft import Draft
from evenhand.use.proposal.levels import Levelled

Rows = Callable[[Sequence[str], Cells, Sequence[Any]], Table]
"""Gives some columns of some rows, by their places; and what stands for a missing value in them."""


def counts_of_rows(problem: Problem, draft: Draft, rows: Rows) -> Counts:
    """Count a draft's table over the cells of its problem."""
    found, learned = draft.found, None
    codes = [_apart(column) for column in draft.levelled]
    if problem.cells is not None and draft.tried is not None and draft.tried.trial is not None:
        # The tree that was tried out: bounds hardly depend on which cells there are, since outcomes alone change.
        trial = draft.tried.trial
        learned = variable_of_tree(problem.cells, trial.tree, problem.missing_values), trial.leaf
        codes.append(trial.leaf)
    together = all_joined(codes)
    first = np.unique(together, return_index=True)[1]
    each = np.ones(found.rows) if found.row_weights is None else found.row_weights
    people, weight, squares = (by_code(together, of, 0) for of in (None, each, each**2))
    at = first if found.kept is None else found.kept[first]
    table = rows(problem.levelled, at, problem.missing_values)
    counted = level_rows(problem, table, weight, people, squares=squares)
    if learned is not None:
        variable, leaf = learned
        counted = counted.with_variable(variable, leaf[first[weight > 0]])
    return counted.counts(problem)


def _apart(column: Levelled) -> Cells:
    """Return codes that tell levels apart, and also the values of which a level is made by name."""
    by_edges = column.binning is not None and column.binning.coding.numeric
    return column.codes if by_edges else column.column.codes + 1
