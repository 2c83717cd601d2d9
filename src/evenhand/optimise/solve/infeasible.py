"""Why a programme is infeasible: the multipliers that prove it, and how far single rates can go."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.arrays import Numbers
from evenhand.optimise.program import Multipliers, Program
from evenhand.optimise.solve.clock import Clock
from evenhand.optimise.solve.linear import LinearSolver
from evenhand.optimise.solve.model import INFINITY, Columns, Model, lay_out, multipliers_of, one_column, relief_at

LEAST_WEIGHT = 1e-3
"""A row that its bound hardly relieves gives way as if it relieved it this much."""


def least_excess(program: Program, clock: Clock) -> tuple[float, Multipliers] | None:
    """Return by how much the bounds must give way at least, and multipliers that prove it; None for no answer.

    Parity gives way first, in units of its bounds; where that is not enough, budgets give way as well.
    """
    base = lay_out(program)
    relief = np.maximum(relief_at(program, program.rates @ program.stays), LEAST_WEIGHT)
    excess = Columns.of("t", 1, 0.0, INFINITY, np.ones(1))
    for with_budgets in (False, True):
        # Minimise t, with every parity row (and every budget) allowed to exceed its limit by t in its own units.
        give = {"parity": np.where(program.soft | with_budgets, relief, 0.0)}
        if with_budgets:
            give["budgets"] = np.ones(len(program.budgets))
        rows = tuple(
            replace(block, parts=block.parts | {"t": one_column(-give[block.name])}) if block.name in give else block
            for block in base.rows
        )
        model = Model((*base.columns, excess), rows)
        answer = LinearSolver(model, clock).run()
        if answer.z is not None:
            found = multipliers_of(model, answer.duals, program.loss)
            return answer.objective, replace(found, released=np.zeros(program.n_targets))
    return None


def reachable_rates(program: Program, rate: Numbers, clock: Clock) -> tuple[float, float]:
    """Return the least and the most that a rate (a row over the choices) can be within the budgets, parity aside."""
    base = lay_out(program)
    columns = tuple(c for c in base.columns if c.name == "x")
    model = Model(columns, tuple(r for r in base.rows if r.name in ("simplex", "budgets")))
    found = []
    for sign in (1.0, -1.0):
        answer = LinearSolver(model.with_cost(x=sign * rate), clock).run()
        found.append(float("nan") if answer.z is None else sign * answer.objective)
    return found[0], found[1]
