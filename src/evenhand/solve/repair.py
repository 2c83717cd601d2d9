"""Remove what numerical slack a solver leaves.

Mix with a point that has room: x ← (1 − θ) x + θ x₀, with the smallest θ that meets every bound. Near the edge of
feasibility no point has much room, θ would be large and cost utility; there the nearest vertex-exact point is found
by a linear programme instead. Where neither helps x is returned as it is, and the certificate says by how much it
exceeds a bound.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy import sparse

from evenhand.counts import Numbers
from evenhand.errors import SolverError
from evenhand.program import Program
from evenhand.solve.clock import Clock
from evenhand.solve.edges import slackest
from evenhand.solve.linear import LinearSolver
from evenhand.solve.model import INFINITY, Columns, equalities, lay_out

NEGLIGIBLE = 1e-9
"""A smaller probability is a solver's zero: interior-point methods leave some, and almost no rate is still a rate."""

EXCEEDED = 1e-12
"""Less than this beyond a bound is rounding, not a violation."""

GENTLE = 1e-7
"""The largest θ that is mixed in without looking for a nearer point."""

WORTH_SAYING = 1e-9
"""A violation that is left and exceeds this is named."""


def tidy(program: Program, x: Numbers, negligible: float = NEGLIGIBLE) -> Numbers:
    """Set a solver's zeros to zero and make every source sum to one."""
    x = np.where(x > negligible, x, 0.0)
    total = np.add.reduceat(x, program.starts[:-1])
    return np.asarray(x / total[program.source])


def repair(program: Program, x: Numbers, clock: Clock) -> tuple[Numbers, tuple[str, ...]]:
    """Return x within every bound where that can be had, and what there is to say about it."""
    x = tidy(program, x)
    if exceeds(program, x) <= EXCEEDED:
        return x, ()
    try:
        x = min([x, *_mended(program, x, clock)], key=lambda point: exceeds(program, point))
    except SolverError as error:
        return x, (f"numerical slack left as it is: {error}",)
    left = exceeds(program, x)
    return x, (f"no nearby mapping meets every bound: one is exceeded by {left:.1e}",) if left > WORTH_SAYING else ()


def _mended(program: Program, x: Numbers, clock: Clock) -> Iterator[Numbers]:
    """Yield the mixture with a point that has room if that is gentle, else the nearest point within the bounds."""
    inside = slackest(program, x, clock)
    if inside is not None:
        share = _share(program, x, tidy(program, inside))
        if share <= GENTLE:
            yield x + share * (tidy(program, inside) - x)
            return
    # A vertex has exact zeros, and its smallest moves are what makes it meet the bounds.
    yield tidy(program, nearest(program, x, clock), negligible=0.0)


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
    g = program.rates @ x
    z = np.concatenate([g, program.auxiliary(g)])
    relief = program.relief.limit - program.relief.matrix @ z
    parity = program.parity_slack(x)
    # A row that no bound could relieve, such as a rate against zero, counts as it is unless it is infinitely exceeded.
    unit = np.where(relief > 0, relief, np.where(program.soft, np.finfo(float).tiny, 1.0))
    worst = np.concatenate([parity / unit, program.budget_slack(x)]).min(initial=0.0)
    return float(-worst)


def _share(program: Program, x: Numbers, inside: Numbers) -> float:
    """Return the smallest share of ``inside`` that meets every row; slack is concave along the way."""
    slack, room = _slack(program, x), _slack(program, inside)
    short = slack < 0
    if np.any(room[short] <= slack[short]):
        return np.inf
    return float(np.max(-slack[short] / (room[short] - slack[short]), initial=0.0))


def _slack(program: Program, x: Numbers) -> Numbers:
    """Return the slack of every row."""
    return np.concatenate([program.parity_slack(x), program.budget_slack(x)])
