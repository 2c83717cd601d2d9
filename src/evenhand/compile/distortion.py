"""Budgets, eqs. (5) and (6), as rows over the moves: one a source, or one an (x, y) averaged over D.

A row is the share of its limit that is spent, at most one, so that the user's units of distortion do not matter.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from evenhand.compile.moves import Moves
from evenhand.counts import Counts
from evenhand.program import Inequalities
from evenhand.spec import Charge, Problem


def budget_rows(problem: Problem, counts: Counts, moves: Moves) -> Inequalities:
    """Return one row for each charge and each source (or (x, y)) that has a move it charges."""
    blocks = [
        _rows(charge, budget.per, counts, moves)
        for budget in problem.budgets
        for charge in budget.charges
        if charge.limit > 0
    ]
    if not blocks:
        return Inequalities(sparse.csr_array((0, len(moves.source))), np.zeros(0))
    matrix = sparse.vstack([block.matrix for block in blocks], format="csr")
    return Inequalities(matrix, np.concatenate([block.limit for block in blocks]))


def _rows(charge: Charge, per: str, counts: Counts, moves: Moves) -> Inequalities:
    amount = charge.of(moves.distortion) / charge.limit
    charged = np.flatnonzero(amount > 0)
    source = moves.source[charged]
    value = amount[charged]
    holder = source
    if per == "xy":
        value = value * counts.group_given_record[source]
        holder = counts.records.of_source[source]
    holders, row = np.unique(holder, return_inverse=True)
    shape = (len(holders), len(moves.source))
    return Inequalities(sparse.csr_array((value, (row, charged)), shape=shape), np.ones(len(holders)))
