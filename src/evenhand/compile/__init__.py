"""From a problem and its counts to a structured programme, and back.

One file an equation: ``moves`` (which changes exist), ``parity`` (eqs. 1 to 3), ``distortion`` (eqs. 5 and 6),
``utility`` (Δ). Knows nothing of solvers.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.compile.distortion import budget_rows
from evenhand.compile.moves import Moves, allowed_moves
from evenhand.compile.parity import parity_rows, rates, without_unreachable
from evenhand.compile.utility import loss_from
from evenhand.counts import Counts, Numbers, sums
from evenhand.kernel import Kernel
from evenhand.program import Program
from evenhand.spec import Problem


@dataclass(frozen=True, eq=False)
class Compiled:
    """A programme together with what its moves mean."""

    program: Program
    moves: Moves

    def kernel(self, x: Numbers) -> Kernel:
        """Return the kernel that a solution x stands for: its positive moves, rows summing to one."""
        kept = x > 0
        source, probability = self.moves.source[kept], x[kept]
        total = sums(source, probability, self.program.n_sources)
        starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=self.program.n_sources))])
        return Kernel(starts, self.moves.target[kept], probability / total[source])


def compile_problem(problem: Problem, counts: Counts) -> Compiled:
    """Write a problem on a table as a programme."""
    moves = without_unreachable(problem, counts, allowed_moves(problem, counts))
    domain = counts.domain
    targets, target = np.unique(np.concatenate([moves.target, counts.records.cells]), return_inverse=True)
    rows = parity_rows(problem, counts)
    budgets, budget_unit = budget_rows(problem, counts, moves)
    own = domain.xy(counts.x, counts.y)[moves.source]
    program = Program(
        starts=moves.starts(len(counts)),
        weight=counts.probability,
        target=target[: len(moves.target)],
        n_targets=len(targets),
        rates=rates(counts, moves),
        n_auxiliary=rows.n_auxiliary,
        parity=rows.rows,
        relief=rows.relief,
        budgets=budgets,
        budget_unit=budget_unit,
        loss=loss_from(problem.utility, counts.records.at(targets)),
        distortion=moves.distortion,
        stays=moves.target == own,
    )
    return Compiled(program, moves)
