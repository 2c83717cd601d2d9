"""Remove what numerical slack a solver leaves.

Mix with a point that has room: x ← (1 − θ) x + θ x₀, with the smallest θ that meets every bound. Near the edge of
feasibility no point has much room, θ would be large and cost utility; there the nearest vertex-exact point is found
by a linear programme instead. Where neither helps x is returned as it is, and the certificate says by how much it
exceeds a bound.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from evenhand.counts import Numbers
from evenhand.errors import SolverError
from evenhand.program import Program
from evenhand.solve.clock import Clock
from evenhand.solve.edges import slackest
from evenhand.solve.linear import LinearSolver
from evenhand.solve.model import INFINITY, Columns, equalities, lay_out

NEGLIGIBLE = 1e-12
"""A smaller probability is a solver's zero."""

EXCEEDED = 1e-12
"""Less than this beyond a bound is rounding, not a violation."""

GENTLE = 1e-7
"""The largest θ that is mixed in without looking for a nearer point."""


def tidy(program: Program, x: Numbers) -> Numbers:
    """Set a solver's zeros to zero and make every source sum to one."""
    x = np.where(x > NEGLIGIBLE, x, 0.0)
    total = np.add.reduceat(x, program.starts[:-1])
    return np.asarray(x / total[program.source])


def repair(program: Program, x: Numbers, clock: Clock) -> tuple[Numbers, tuple[str, ...]]:
    """Return x within every bound where that can be had, and what there is to say about it."""
    x = tidy(program, x)
    if exceeds(program, x) <= EXCEEDED:
        return x, ()
    try:
        inside = slackest(program, x, clock)
        share = np.inf if inside is None else _share(program, x, tidy(program, inside))
        if inside is not None and share <= GENTLE:
            return x + share * (tidy(program, inside) - x), ()
        near = tidy(program, nearest(program, x, clock))
    except SolverError as error:
        return x, (f"numerical slack left as it is: {error}",)
    return (near, ()) if exceeds(program, near) < exceeds(program, x) else (x, ())


def nearest(program: Program, x: Numbers, clock: Clock) -> Numbers:
    """Return the feasible point that moves the least probability from x."""
    size = program.n_moves
    eye = sparse.eye_array(size, format="csr")
    moved = [Columns(name, np.zeros(size), np.full(size, INFINITY), program.move_weight) for name in ("more", "less")]
    rows = equalities("distance", {"x": eye, "more": -eye, "less": eye}, x)
    model = lay_out(program).with_blocks(moved, [rows])
    answer = LinearSolver(model, clock).run()
    if answer.z is None:
        raise SolverError("no mapping meets the bounds to the last digit")
    return answer.z[model.column("x")]


def exceeds(program: Program, x: Numbers) -> float:
    """Return the most by which any bound is exceeded, in its own units."""
    return float(-_slack(program, x).min(initial=0.0))


def _share(program: Program, x: Numbers, inside: Numbers) -> float:
    """Return the smallest share of ``inside`` that meets every bound; slack is concave along the way."""
    slack, room = _slack(program, x), _slack(program, inside)
    short = slack < 0
    if np.any(room[short] <= slack[short]):
        return np.inf
    return float(np.max(-slack[short] / (room[short] - slack[short])))


def _slack(program: Program, x: Numbers) -> Numbers:
    """Return the slack of every row, parity rows in units of their bound where they have one."""
    g = program.rates @ x
    z = np.concatenate([g, program.auxiliary(g)])
    relief = program.relief.limit - program.relief.matrix @ z
    unit = np.where(relief > 0, relief, 1.0)
    return np.concatenate([program.parity_slack(x) / unit, program.budget_slack(x)])
