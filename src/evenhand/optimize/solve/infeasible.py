"""Why a programme is infeasible: the multipliers that prove it, and how far single rates can go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from evenhand.arrays import Numbers
from evenhand.errors import SolverError, TimeLimitError
from evenhand.optimize.program import Multipliers, Program, least_price
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.core import core_of
from evenhand.optimize.solve.linear import LinearSolver
from evenhand.optimize.solve.model import (
    INFINITY,
    Columns,
    Model,
    at_most,
    equalities,
    lay_out,
    one_column,
    relief_at,
    row_multipliers,
)
from evenhand.tolerances import ROUNDING

LEAST_WEIGHT = 1e-3
"""A row that its bound hardly relieves gives way as if it relieved it this much."""


def least_excess(program: Program, clock: Clock) -> tuple[float, Multipliers] | None:
    """Return by how much the bounds must give way at least, and multipliers that prove it; None for no answer.

    Parity gives way first, in units of its bounds; where that is not enough, budgets give way as well.
    """
    core = core_of(program)
    base = lay_out(core.program)
    relief = np.maximum(relief_at(program, program.rates @ program.stays), LEAST_WEIGHT)
    excess = Columns.of("t", 1, 0.0, INFINITY, np.ones(1))
    for with_budgets in (False, True):
        # Minimise t, with every parity row (and every budget) allowed to exceed its limit by t in its own units.
        give = {"parity": np.where(program.soft | with_budgets, relief, 0.0)}
        if with_budgets:
            give["budgets"] = np.ones(len(core.program.budgets))
        rows = tuple(
            replace(block, parts=block.parts | {"t": one_column(-give[block.name])}) if block.name in give else block
            for block in base.rows
        )
        model = Model((*base.columns, excess), rows)
        answer = LinearSolver(model, clock).run()
        if answer.z is not None:
            on_parity, on_budgets = (row_multipliers(model, answer.duals, name) for name in ("parity", "budgets"))
            return answer.objective, core.multipliers(on_parity, on_budgets)
    return None


def proved_infeasible(program: Program, clock: Clock) -> bool:
    """Whether there are multipliers that prove that nothing is feasible."""
    try:
        found = least_excess(program, clock)
    except TimeLimitError:
        raise
    except SolverError:
        return False
    return found is not None and found[0] > 0 and least_price(program, found[1]) > ROUNDING


def reachable_rates(program: Program, rate: Numbers, clock: Clock) -> tuple[float, float]:
    """Return the least and the most that a rate (a row over the choices) can be within the budgets, parity aside."""
    # What the rate is of each choice counts as a rate, and nothing else does.
    counted = replace(program, rates=sparse.csr_array(rate.reshape(1, -1)))
    core = core_of(counted).program
    model = Model(
        (Columns.of("x", core.n_moves, 0.0, INFINITY),),
        (
            equalities("simplex", {"x": core.simplex}, np.ones(core.n_sources)),
            at_most("budgets", {"x": core.budgets.matrix}, core.budgets.limit),
        ),
    )
    found = []
    for sign in (1.0, -1.0):
        answer = LinearSolver(model.with_cost(x=sign * core.rates.toarray()[0]), clock).run()
        found.append(float("nan") if answer.z is None else sign * answer.objective)
    return found[0], found[1]
