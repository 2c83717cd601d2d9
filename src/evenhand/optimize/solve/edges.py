"""The edges of what is feasible, and points well inside it; all by linear programmes.

Where r does not count they are those of the programme's core, which is small whatever its size.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Flags, Numbers
from evenhand.errors import SolverError, TimeLimitError
from evenhand.optimize.program import Program
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.core import core_of
from evenhand.optimize.solve.linear import LinearSolver
from evenhand.optimize.solve.model import (
    INFINITY,
    Columns,
    Model,
    Rows,
    at_most,
    equalities,
    eye,
    lay_out,
    one_column,
    relief_at,
)
from evenhand.optimize.solve.structured.limits import suitable
from evenhand.tolerances import DOUBLE_ROUNDING

if TYPE_CHECKING:
    from evenhand.optimize.solve.structured.room import RoomAlong

EDGE_SETTLED = 1e-11
"""An edge is found when another iteration moves it by less."""

PROBE = 1e-7
"""How far below an edge nothing must be feasible."""

EMPTY = 1e-9
"""A cell that keeps no larger share of its mass is empty, up to a solver's tolerance."""

MOST_ITERATIONS = 100
LEAST_RELIEF = 1e-6
"""Rows that a bound hardly relieves at the given rates are scaled as if it relieved them this much."""


def fullest(program: Program, original: Numbers, held: Flags, clock: Clock) -> tuple[Numbers, float]:
    """Return the feasible x whose emptiest held cell keeps the largest share of its original mass, and that share."""
    share = np.where(held, original, 0.0)[held]
    rows = Rows(
        "full",
        {"r": eye(program.n_targets)[held], "t": one_column(-share)},
        np.zeros(len(share)),
        np.full(len(share), INFINITY),
    )
    model = lay_out(program).with_blocks([Columns.of("t", 1, 0.0, 1.0)], [rows])
    answer = LinearSolver(model.with_cost(t=-np.ones(1)), clock).run()
    if answer.z is None:
        return program.stays, 0.0
    kept = float(answer.z[model.column("t")][0])
    return answer.z[model.column("x")], kept if kept > EMPTY else 0.0


def roomiest(
    program: Program, clock: Clock, near: Numbers, released: Numbers | None, along: RoomAlong
) -> Numbers | None:
    """Return the x with the most room under every parity bound, in units of the bound at the rates ``near``.

    Budgets are held; ``released`` holds r as well; ``along`` has looked with other bounds. None where that cannot
    be done.
    """
    scale = _relief(program, near)
    if released is not None and suitable(program) is not None:
        try:
            return along.most_room(program, scale, released, lambda share: clock.check())
        except TimeLimitError:
            raise
        except SolverError:
            # The general solvers have the word.
            pass
    found = _most_room(program, clock, scale, 0.0, released)
    return None if found is None else found[1]


def slackest(program: Program, x: Numbers, clock: Clock) -> Numbers | None:
    """Return a point with slack in every parity and budget row at once; None where there is none."""
    found = _most_room(program, clock, _relief(program, program.rates @ x), 1.0, None)
    return found[1] if found is not None and found[0] > 0 else None


def smallest_bound(
    program_at: Callable[[float], Program],
    bound_of: Callable[[float, Numbers], float],
    start: float,
    clock: Clock,
    released: Numbers | None = None,
) -> tuple[float, Numbers] | None:
    """Return the smallest bound that is feasible, and an x there; None where ``start`` is not feasible.

    ``program_at`` writes the programme for a bound, ``bound_of`` says which bound an x of it needs. Dinkelbach's
    iteration finds the edge in a few steps, except where some rates vanish there; so it is probed, and bisected if a
    smaller bound turns out to be feasible. Where a probe is undecided nothing smaller is known to be feasible.
    """

    def point_at(bound: float) -> Numbers | None:
        try:
            return _feasible_point(program_at(bound), clock, released)
        except TimeLimitError:
            raise
        except SolverError:
            return None

    found = _feasible_point(program_at(start), clock, released)
    if found is None:
        return None
    bound, x = _descend(program_at, bound_of, (start, found), clock, released)
    if released is not None and suitable(program_at(bound)) is not None:
        # Rates hardly vanish where r is held, and a large programme is not probed for it.
        return bound, x
    lower = bound - PROBE * max(1.0, bound)
    if lower <= 0 or point_at(lower) is None:
        return bound, x
    exact = point_at(0.0)
    if exact is not None:
        return 0.0, exact
    low = 0.0
    # Halve the distance, in the ratio 1 + bound, to the largest infeasible bound.
    while bound - low > EDGE_SETTLED * max(1.0, bound):
        middle = float(np.sqrt((1 + low) * (1 + bound))) - 1
        found = point_at(middle)
        if found is None:
            low = middle
        else:
            bound, x = middle, found
    return bound, x


def _descend(
    program_at: Callable[[float], Program],
    bound_of: Callable[[float, Numbers], float],
    best: tuple[float, Numbers],
    clock: Clock,
    released: Numbers | None,
) -> tuple[float, Numbers]:
    """Lower the bound to what the roomiest solution needs, again and again."""
    from evenhand.optimize.solve.structured.room import RoomAlong

    along = RoomAlong()
    for _ in range(MOST_ITERATIONS):
        bound, x = best
        program = program_at(bound)
        if len(x) != program.n_moves:
            # Another bound left other moves: the last point is not one of these.
            x = program.stays
        try:
            found = roomiest(program, clock, program.rates @ x, released, along)
        except TimeLimitError:
            raise
        except SolverError:
            return best
        latest = x if found is None else found
        needed = bound_of(bound, latest)
        if needed < bound:
            best = needed, latest
        if needed >= bound - EDGE_SETTLED:
            return best
    return best


def _feasible_point(program: Program, clock: Clock, released: Numbers | None) -> Numbers | None:
    """Return some feasible x; None where there is none."""
    if _meets_everything(program, program.stays, released):
        return program.stays
    if released is None:
        core = core_of(program)
        answer = LinearSolver(lay_out(core.program), clock).run()
        return None if answer.z is None else core.back(answer.z[: core.program.n_moves])
    answer = LinearSolver(_with_release(lay_out(program), program, released), clock).run()
    return None if answer.z is None else answer.z[: program.n_moves]


def is_feasible(program: Program, clock: Clock) -> bool:
    """Whether some x meets every row."""
    return _feasible_point(program, clock, None) is not None


def _meets_everything(program: Program, x: Numbers, released: Numbers | None) -> bool:
    """Whether an x meets every row, up to rounding."""
    off = 0.0 if released is None else np.abs(program.released(x) - released).max()
    return bool(min(program.slack(x).min(initial=0.0), -off) >= -DOUBLE_ROUNDING)


def least_budget_factor(program: Program, clock: Clock) -> float | None:
    """Return the smallest factor on all budgets at which parity can be met; None where none would do."""
    core = core_of(program).program
    base = lay_out(core)
    kept = tuple(block for block in base.rows if block.name != "budgets")
    limit = core.budgets.limit
    scaled = at_most("scaled", {"x": core.budgets.matrix, "f": one_column(-limit)}, np.zeros(len(limit)))
    model = Model((*base.columns, Columns.of("f", 1, 0.0, INFINITY)), (*kept, scaled))
    answer = LinearSolver(model.with_cost(f=np.ones(1)), clock).run()
    return None if answer.z is None else float(answer.z[model.column("f")][0])


def _most_room(
    program: Program, clock: Clock, on_parity: Numbers, on_budgets: float, released: Numbers | None
) -> tuple[float, Numbers] | None:
    """Maximise t with every row's slack at least t times the given scale, of budgets in units of their limits."""
    core = core_of(program) if released is None else None
    smaller = program if core is None else core.program
    base = lay_out(smaller)
    room = {"parity": on_parity, "budgets": on_budgets * smaller.budgets.limit}
    rows = [replace(b, parts=b.parts | {"t": one_column(room[b.name])}) if b.name in room else b for b in base.rows]
    columns = (*base.columns, Columns.of("t", 1, -INFINITY, INFINITY))
    model = _with_release(Model(columns, tuple(rows)), smaller, released)
    answer = LinearSolver(model.with_cost(t=-np.ones(1)), clock).run()
    if answer.z is None:
        return None
    x = answer.z[model.column("x")]
    return float(answer.z[model.column("t")][0]), x if core is None else core.back(x)


def _with_release(model: Model, program: Program, released: Numbers | None) -> Model:
    """Hold r where it is asked for."""
    if released is None:
        return model
    return model.with_blocks(rows=[equalities("held", {"r": eye(program.n_targets)}, released)])


def _relief(program: Program, g: Numbers) -> Numbers:
    """Return the scale of each parity row: what its bound relieves at rates g, not too little; zero for hard rows."""
    return np.where(program.soft, np.maximum(relief_at(program, g), LEAST_RELIEF), 0.0)
