"""The optimum is not unique: choose among the equally useful mappings.

Every stage holds the loss where it is (for a strictly convex one by holding r) and keeps every bound. If a stage
fails, the answer before it stands, and the caller is told.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimize.program import Inequalities, PolyhedralLoss, Program, QuasiconvexLoss, SmoothLoss
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.dust import normalised
from evenhand.optimize.solve.linear import HELD_LOSS, LinearSolver, with_epigraph
from evenhand.optimize.solve.model import INFINITY, Columns, Model, Rows, at_most, equalities, eye, lay_out
from evenhand.optimize.solve.quadratic import QuadraticSolver

HELD_RELEASE = 1e-10
"""How far each held cell of r may move, relative to itself."""

HELD_INTERIOR = 1e-9
"""The same for an interior-point method, which needs room; and what it may give back of a polyhedral loss."""

SMALLEST_HELD = 1e-6
"""A smaller cell of r is held as if it were this large."""

HELD_DISTORTION = 1e-11
"""How much expected distortion the second stage may give back, in units of the largest distortion."""

FIRST = 1e3
"""The weight of the distortion, in units of the largest one, where the probability of a change has one."""


def least_change(
    program: Program, x: Numbers, clock: Clock, solver: LinearSolver | None
) -> tuple[Numbers, tuple[str, ...]]:
    """Minimise the expected distortion, then the probability of any change.

    ``solver`` is one that already holds the loss; without it one is made that holds r. Both are minimised at once, the
    distortion with far the larger weight. If that leaves it at its least, which takes one look from there, then so is
    the change among all that do; else it is held there, and the change minimised by itself.
    """
    try:
        if solver is None:
            solver = LinearSolver(held(program, x), clock)
        size = solver.n_columns
        burden, change = np.zeros(size), np.zeros(size)
        burden[: program.n_moves] = program.move_weight * program.scaled_distortion
        change[: program.n_moves] = program.move_weight * program.change
        both = solver.minimise_again(FIRST * burden + change)
        z = solver.minimise_again(burden)
    except SolverError as error:
        return x, (f"tie-break skipped: {error}",)
    least = float(burden @ z) + HELD_DISTORTION
    if burden @ both <= least:
        return both[: program.n_moves], ()
    x = z[: program.n_moves]
    solver.hold(burden, least)
    try:
        z = solver.minimise_again(change)
    except SolverError as error:
        return x, (f"tie-break stopped after the least expected distortion: {error}",)
    return z[: program.n_moves], ()


def even(program: Program, x: Numbers, clock: Clock) -> tuple[Numbers, tuple[str, ...]]:
    """Minimise Σ weight × (expected distortion)² over sources, which spreads the burden."""
    size = program.n_sources
    by_source = sparse.csr_array(
        (program.scaled_distortion, np.arange(program.n_moves), program.starts), shape=(size, program.n_moves)
    )
    burden = Columns.of("burden", size, -INFINITY, INFINITY)
    sums = equalities("burden", {"x": by_source, "burden": -eye(size)}, np.zeros(size))
    try:
        model = held(program, x, interior=True).with_blocks([burden], [sums])
        on_burden = model.column("burden")
        curvature = np.zeros(len(model.cost))
        curvature[on_burden] = 2 * program.weight
        solver = QuadraticSolver(model, np.arange(on_burden.start, on_burden.stop), clock)
        answer = solver.minimise(np.zeros(len(curvature)), curvature)
    except SolverError as error:
        return x, (f"tie-break skipped: {error}",)
    if answer is None:
        return x, ("tie-break skipped: the held optimum was numerically infeasible",)
    return answer[0][model.column("x")], ()


def held(program: Program, x: Numbers, *, interior: bool = False) -> Model:
    """Return the programme's constraints with the loss held at its value at x, for a simplex or an interior method."""
    loss = program.loss
    x = normalised(program, x)
    r = program.released(x)
    base = lay_out(_met(program, x), in_units=not interior)
    if isinstance(loss, SmoothLoss):
        width = HELD_INTERIOR if interior else HELD_RELEASE
        decisive = np.flatnonzero(loss.decisive)
        # Rows are scaled to one, so that tolerances are relative; a nearly empty cell is held in absolute terms.
        size = np.maximum(r[decisive], SMALLEST_HELD)
        scaled = sparse.diags_array(1 / size, format="csr") @ program.release[decisive]
        rows = Rows("held", {"x": scaled}, r[decisive] / size - width, r[decisive] / size + width)
        kept = tuple(block for block in base.rows if block.name != "released")
        return Model(tuple(c for c in base.columns if c.name != "r"), (*kept, rows))
    width = HELD_INTERIOR if interior else HELD_LOSS
    if isinstance(loss, QuasiconvexLoss):
        from evenhand.optimize.solve.level import within

        return within(base, loss, loss.value(r) + width)
    assert isinstance(loss, PolyhedralLoss)
    model = with_epigraph(base, loss)
    cost = model.columns[-1].cost
    row = at_most("held", {"loss": sparse.csr_array(cost.reshape(1, -1))}, np.array([loss.value(r) + width]))
    return model.with_cost().with_blocks(rows=[row])


def _met(program: Program, x: Numbers) -> Program:
    """Return the programme with limits that x meets.

    At the edge of feasibility a solver's x is beyond a limit by rounding, and nothing within it has the same r.
    """
    parity, budgets = (
        Inequalities(rows.matrix, rows.limit + np.maximum(-slack, 0.0))
        for rows, slack in ((program.parity, program.parity_slack(x)), (program.budgets, program.budget_slack(x)))
    )
    return replace(program, parity=parity, budgets=budgets)
