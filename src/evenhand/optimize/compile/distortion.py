"""Budgets, eqs. (5) and (6), as rows over the moves: one per source, or one per (x, y) averaged over D.

A row is the share of its limit that is spent, at most one, so that the user's units of distortion do not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.optimize.compile.choices import Choices
from evenhand.optimize.program import Inequalities, Matrix
from evenhand.resources import heed
from evenhand.spec import Charge, Problem


@dataclass(frozen=True, eq=False)
class BudgetRows:
    """Rows over the choices, and for each its limit, its charge and its holder (a source, or an (x, y))."""

    rows: Inequalities
    limit: Numbers
    charge: Cells
    holder: Cells


def budget_rows(problem: Problem, counts: Counts, choices: Choices) -> BudgetRows:
    """Return one row for each charge and each holder that has a finite limit and a move it charges."""
    blocks = [_rows(charge, counts, choices, problem.reads) for charge in problem.charges]
    size = len(choices.owner)
    matrix = sparse.vstack([sparse.csr_array((0, size)), *(matrix for matrix, _, _ in blocks)], format="csr")
    none = np.zeros(0, dtype=np.int64)
    return BudgetRows(
        Inequalities(matrix, np.ones(matrix.shape[0])),
        np.concatenate([np.zeros(0), *(limit for _, limit, _ in blocks)]),
        np.concatenate([none, *(np.full(len(limit), i) for i, (_, limit, _) in enumerate(blocks))]),
        np.concatenate([none, *(holder for _, _, holder in blocks)]),
    )


def _rows(charge: Charge, counts: Counts, choices: Choices, reads: str) -> tuple[Matrix, Numbers, Cells]:
    heed()
    moves, limits = choices.moves, charge.limits(counts)
    amount = charge.of(moves.distortion)
    source = moves.source
    holder = charge.holders(counts)[source]
    if charge.averaged:
        amount = amount * counts.given("xy")[source]
    elif reads != "dxy":
        # Who shares what is read is treated alike: the smallest limit among them is the one that counts.
        shared = counts.over(reads).of_source
        order = np.lexsort((limits, shared))
        first = np.concatenate([[True], np.diff(shared[order]) != 0])
        kept = np.zeros(len(limits), dtype=bool)
        kept[order[first]] = True
        amount = np.where(kept[source], amount, 0.0)
    heed()
    charged = np.flatnonzero((amount > 0) & np.isfinite(limits[holder]))
    holders, row = np.unique(holder[charged], return_inverse=True)
    value = amount[charged] / limits[holder[charged]]
    per_move = sparse.csr_array((value, (row, charged)), shape=(len(holders), len(moves.source)))
    return choices.gather(per_move), limits[holders], holders
