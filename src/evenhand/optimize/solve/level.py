"""Quasiconvex losses: bisection on the sublevel sets, each a linear programme."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import SpecError
from evenhand.optimize.program import Multipliers, Program, QuasiconvexLoss, Solution
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.linear import LinearSolver
from evenhand.optimize.solve.model import Model, at_most, lay_out

LEVEL = 1e-9
"""The bisection stops when the best level is this close to the best that might be, relative to one or itself."""

LEAST_WIDTH = 1e-3
"""How far below the first point to look at least."""

MOST_HALVINGS = 200


def solve_quasiconvex(program: Program, loss: QuasiconvexLoss, clock: Clock) -> Solution | None:
    """Find the lowest level whose sublevel set holds a feasible x; None where the programme is infeasible."""
    x = _feasible(lay_out(program), clock)
    if x is None:
        return None
    x, steps = x[: program.n_moves], 0
    high = loss.value(program.released(x))
    if np.isinf(high):
        # Begin at the level that the user gave.
        found = None if loss.highest is None else _feasible(within(lay_out(program), loss, loss.highest), clock)
        if found is None or loss.highest is None:
            raise SpecError(
                "this quasiconvex measure is infinite at the first mapping that meets the bounds; give it highest=, a "
                "level from which to begin"
            )
        high, x = loss.highest, found[: program.n_moves]
    low, width = high, max(abs(high), LEAST_WIDTH)
    bracketed = False
    while not (bracketed and high - low <= LEVEL * max(1.0, abs(high))) and steps < MOST_HALVINGS:
        steps += 1
        # Nobody knows how low it goes: look ever lower until nothing is found, then halve.
        middle = (low + high) / 2 if bracketed else high - width
        found = _feasible(within(lay_out(program), loss, middle), clock)
        if found is None:
            low, bracketed = middle, True
        else:
            # The point may lie well inside its sublevel set.
            x, width = found[: program.n_moves], 2 * width
            high = min(middle, loss.value(program.released(x)))
    nothing = Multipliers(np.zeros(program.n_targets), np.zeros(len(program.parity)), np.zeros(len(program.budgets)))
    return Solution(x, nothing, steps)


def within(model: Model, loss: QuasiconvexLoss, level: float) -> Model:
    """Add the rows of a sublevel set."""
    matrix, limit = loss.sublevel(level)
    return model.with_blocks(rows=[at_most("level", {"r": matrix}, limit)])


def _feasible(model: Model, clock: Clock) -> Numbers | None:
    return LinearSolver(model, clock).run().z
