"""From a problem and its counts to a structured programme, and back.

One file per equation: ``moves`` (which changes exist), ``choices`` (what is decided), ``parity`` (eqs. 1 to 4),
``distortion`` (eqs. 5 and 6), ``utility`` (Δ). Knows nothing of solvers.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.errors import SpecError
from evenhand.kernel import Kernel
from evenhand.optimize.compile.choices import Choices, choices_of, outcome_choices
from evenhand.optimize.compile.distortion import BudgetRows, budget_rows
from evenhand.optimize.compile.moves import Moves, allowed_moves, moves_of_records
from evenhand.optimize.compile.parity import (
    LEAST_OF_ALL,
    Barring,
    ParityRows,
    parity_rows,
    reachable,
    without_unreachable,
)
from evenhand.optimize.compile.size import refuse_beyond_memory
from evenhand.optimize.compile.utility import loss_from
from evenhand.optimize.program import Program
from evenhand.resources import heed
from evenhand.spec import Comparisons, Problem, all_comparisons

__all__ = [
    "LEAST_OF_ALL",
    "Barring",
    "Compiled",
    "allowed_moves",
    "barred_outcomes",
    "compile_again",
    "compile_outcomes",
    "compile_problem",
    "moves_of_records",
    "refuse_beyond_memory",
]


@dataclass(frozen=True, eq=False)
class Compiled:
    """A programme together with what its rows and columns mean.

    Attributes
    ----------
    program : Program
        The arrays.
    choices : Choices
        What its columns are, and the moves they lead to.
    compared : list of Comparisons
        What each parity constraint compares.
    parity, budgets : ParityRows, BudgetRows
        What its rows are about.
    targets : array
        The cells that r is over: of X × Y, or of X where the utility is on the features.
    barred : list of lists
        Lines of parity constraints that ruled outcomes out altogether, in the order in which they did.
    """

    program: Program
    choices: Choices
    compared: list[Comparisons]
    parity: ParityRows
    budgets: BudgetRows
    targets: Cells
    barred: list[list[Barring]]

    @property
    def moves(self) -> Moves:
        return self.choices.moves

    def kernel(self, x: Numbers) -> Kernel:
        """Return the kernel that a solution x stands for: its positive moves, rows summing to one."""
        probability = self.choices.spread @ x
        kept = probability > 0
        source, probability = self.moves.source[kept], probability[kept]
        n_sources = int(self.moves.source.max()) + 1
        total = sums(source, probability, n_sources)
        starts = np.concatenate([[0], np.cumsum(np.bincount(source, minlength=n_sources))])
        return Kernel(starts, self.moves.target[kept], probability / total[source])


def compile_problem(problem: Problem, counts: Counts, conditional: Numbers | None = None) -> Compiled:
    """Write a problem on a table as a programme.

    Where D is suppressed, p(ŷ|x̂) is ``conditional`` (one row per observed x), or what the problem says.
    """
    if conditional is None:
        conditional = problem.suppression.conditional(counts)
    compared, moves, barred = _comparisons_and_moves(problem, counts)
    return _assembled(problem, counts, compared, choices_of(problem, counts, moves, conditional), barred)


def compile_again(like: Compiled | None, problem: Problem, counts: Counts) -> Compiled:
    """Write a problem that differs in its parity bounds alone from one that is compiled, if any; all else is kept."""
    if like is None:
        return compile_problem(problem, counts)
    compared = all_comparisons(problem, counts)
    moves, barred = without_unreachable(compared, counts, like.moves)
    if like.barred or barred:
        # Which outcomes are ruled out may hang on the bounds, and with them which moves there are.
        return compile_problem(problem, counts)
    rows = parity_rows(compared, counts, moves)
    program = replace(
        like.program,
        rates=like.choices.gather(rows.rates),
        n_auxiliary=rows.n_auxiliary,
        parity=rows.rows,
        relief=rows.relief,
    )
    return replace(like, program=program, compared=compared, parity=rows)


def compile_outcomes(problem: Problem, counts: Counts, kernel: Kernel) -> Compiled:
    """Write the choice of p(ŷ|x̂) as a programme, for the P(x̂ | d, x, y) of a kernel: half of strategy 2."""
    compared, moves, barred = _comparisons_and_moves(problem, counts)
    to_x, _ = counts.domain.split_xy(moves.target)
    width = counts.domain.x.size
    chosen, _ = counts.domain.split_xy(kernel.targets)
    keys, inverse = np.unique(kernel.rows * width + chosen, return_inverse=True)
    share = sums(inverse, kernel.probability)
    wanted = moves.source * width + to_x
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    features = np.where(keys[place] == wanted, share[place], 0.0)
    return _assembled(problem, counts, compared, outcome_choices(counts, moves, features), barred)


def barred_outcomes(problem: Problem, counts: Counts) -> list[list[Barring]]:
    """Return the lines that rule outcomes out altogether, in the order in which they do, also where nobody can move."""
    compared = all_comparisons(problem, counts)
    return reachable(compared, counts, allowed_moves(problem, counts))[1]


def _comparisons_and_moves(problem: Problem, counts: Counts) -> tuple[list[Comparisons], Moves, list[list[Barring]]]:
    if problem.suppression.scored and counts.propensities is None:
        raise SpecError(
            "suppress_protected=True bounds mean scores, for which these counts have no propensities; fit the table"
        )
    compared = all_comparisons(problem, counts)
    return compared, *without_unreachable(compared, counts, allowed_moves(problem, counts))


def _assembled(
    problem: Problem, counts: Counts, compared: list[Comparisons], choices: Choices, barred: list[list[Barring]]
) -> Compiled:
    moves = choices.moves
    rows = parity_rows(compared, counts, moves)
    budgets = budget_rows(problem, counts, choices)
    heed()
    # The cells of r, r as rows over the choices, and p on the same cells.
    axes = problem.suppression.utility_axes
    marginal, target = counts.over(axes), counts.domain.number(axes, counts.domain.split("xy", moves.target))
    targets, place = np.unique(np.concatenate([target, marginal.cells]), return_inverse=True)
    entries = (counts.probability[moves.source], (place[: len(target)], np.arange(len(target))))
    release = sparse.csr_array(entries, shape=(len(targets), len(target)))
    original = marginal.at(targets)
    heed()
    own = counts.domain.xy(counts.x, counts.y)[moves.source]
    program = Program(
        starts=choices.starts,
        weight=choices.weight,
        release=choices.gather(release),
        rates=choices.gather(rows.rates),
        n_auxiliary=rows.n_auxiliary,
        parity=rows.rows,
        relief=rows.relief,
        budgets=budgets.rows,
        budget_unit=budgets.limit,
        original=original,
        loss=loss_from(problem.utility, original),
        distortion=choices.mean(counts, moves.distortion),
        change=choices.mean(counts, (moves.target != own).astype(float)),
    )
    return Compiled(program, choices, compared, rows, budgets, targets, barred)
