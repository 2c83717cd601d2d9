"""Budgets, eqs. (5) and (6), as rows over the moves: one a source, or one an (x, y) averaged over D.

A row is the share of its limit that is spent, at most one, so that the user's units of distortion do not matter.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from evenhand.compile.moves import Moves
from evenhand.counts import Counts, Numbers
from evenhand.program import Inequalities, Matrix
from evenhand.spec import Charge, Problem


def budget_rows(problem: Problem, counts: Counts, moves: Moves) -> tuple[Inequalities, Numbers]:
    """Return one row for each charge and each source (or (x, y)) that has a move it charges, and each row's limit."""
    charges = [(c, budget.per) for budget in problem.budgets for c in budget.charges if c.limit > 0]
    blocks = [_rows(charge, per, counts, moves) for charge, per in charges]
    matrix = sparse.vstack([sparse.csr_array((0, len(moves.source))), *blocks], format="csr")
    limits = [np.full(block.shape[0], charge.limit) for block, (charge, _) in zip(blocks, charges, strict=True)]
    return Inequalities(matrix, np.ones(matrix.shape[0])), np.concatenate([np.zeros(0), *limits])


def _rows(charge: Charge, per: str, counts: Counts, moves: Moves) -> Matrix:
    amount = charge.of(moves.distortion) / charge.limit
    charged = np.flatnonzero(amount > 0)
    source = moves.source[charged]
    value = amount[charged]
    holder = source
    if per == "xy":
        value = value * counts.group_given_record[source]
        holder = counts.records.of_source[source]
    holders, row = np.unique(holder, return_inverse=True)
    return sparse.csr_array((value, (row, charged)), shape=(len(holders), len(moves.source)))
