"""Remove what a solver leaves: dust of tiny probabilities, and numerical slack beyond a bound.

The dust is dropped, and the nearest point with the same moves that meets every bound is found by a linear programme.
Where those moves cannot meet them, x keeps its dust if it meets them so; or it is mixed with a point that has room:
x ← (1 − θ) x + θ x₀, with the smallest θ that does. Near the edge of feasibility no point has much room, θ would be
large and cost utility; there the nearest point with any moves is taken. Where nothing helps, the certificate says by
how much a bound is exceeded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial

import numpy as np

from evenhand.arrays import Flags, Numbers
from evenhand.errors import SolverError
from evenhand.optimize.program import Program
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.dust import EXCEEDED, exceeds, normalised, tidy
from evenhand.optimize.solve.linear import LinearSolver
from evenhand.optimize.solve.model import INFINITY, Columns, Model, equalities, eye, lay_out
from evenhand.tolerances import VIOLATION_TOLERANCE

GENTLE = 1e-7
"""The largest θ that is mixed in without looking for a nearer point."""


MIXED = (0.0, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3)
"""The shares of an optimum that are mixed into what a tie-break chose, the smallest that is enough."""


def repair(program: Program, x: Numbers, clock: Clock, enough: float = EXCEEDED) -> tuple[Numbers, tuple[str, ...]]:
    """Return x within every bound where that can be had, and what there is to say about it.

    An x that exceeds no bound by more than ``enough`` stays.
    """
    best = tidy(program, x)
    if exceeds(program, best) <= enough:
        return best, ()
    try:
        for mended in _mended(program, x, clock):
            best = min(best, mended, key=partial(exceeds, program))
            if exceeds(program, best) <= EXCEEDED:
                break
    except SolverError as error:
        return best, (f"numerical slack left as it is: {error}",)
    left = exceeds(program, best)
    if left <= VIOLATION_TOLERANCE:
        return best, ()
    return best, (f"no nearby mapping meets every bound: one is exceeded by {left:.1e}",)


def _mended(program: Program, x: Numbers, clock: Clock) -> Iterator[Numbers]:
    """Yield points that may meet every bound, the gentlest first; see the module's docstring."""
    dusty, x = normalised(program, x), tidy(program, x)
    same_moves = nearest(program, x, clock, within=x > 0)
    if same_moves is not None:
        yield normalised(program, same_moves)
    yield dusty
    from evenhand.optimize.solve.edges import slackest

    inside = slackest(program, x, clock)
    if inside is not None:
        inside = tidy(program, inside)
        slack, room = program.slack(x), program.slack(inside)
        short = slack < 0
        # Slack is concave along the way, so the smallest θ that meets every row is seen from both ends.
        if not np.any(room[short] <= slack[short]):
            share = float(np.max(-slack[short] / (room[short] - slack[short]), initial=0.0))
            if share <= GENTLE:
                yield x + share * (inside - x)
    any_moves = nearest(program, x, clock)
    if any_moves is None:
        raise SolverError("no mapping meets the bounds to the last digit")
    # A vertex has exact zeros, and its smallest moves are what makes it meet the bounds.
    yield normalised(program, any_moves)


def toward(
    program: Program, optimum: Numbers, points: Sequence[Numbers], good: Callable[[Numbers], bool]
) -> Numbers | None:
    """Return the first of some points that is good when as little as possible of an optimum is mixed in.

    Constraints and loss are convex: what a point near the optima lacks, a small share of one of them makes good.
    """
    for share in MIXED:
        for point in points:
            x = normalised(program, point + share * (optimum - point))
            if good(x):
                return x
    return None


def nearest(program: Program, x: Numbers, clock: Clock, within: Flags | None = None) -> Numbers | None:
    """Return the feasible point that moves the least probability from x, using only the given moves."""
    size, one = program.n_moves, eye(program.n_moves)
    moved = [Columns.of(name, size, 0.0, INFINITY, program.move_weight) for name in ("more", "less")]
    rows = equalities("distance", {"x": one, "more": -one, "less": one}, x)
    model = lay_out(program).with_blocks(moved, [rows])
    if within is not None:
        allowed = replace(model.columns[0], high=np.where(within, INFINITY, 0.0))
        model = Model((allowed, *model.columns[1:]), model.rows)
    answer = LinearSolver(model, clock).run()
    return None if answer.z is None else answer.z[model.column("x")]
