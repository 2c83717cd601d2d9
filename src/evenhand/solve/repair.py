"""Remove what numerical slack a solver leaves: mix with a point that has room.

x ← (1 − θ) x + θ x₀ with the smallest θ that meets every bound. Where no point has room the vertex is returned as
it is, and the certificate says by how much it exceeds a bound.
"""

from __future__ import annotations

import numpy as np

from evenhand.counts import Numbers
from evenhand.errors import SolverError
from evenhand.program import Program
from evenhand.solve.clock import Clock
from evenhand.solve.edges import slackest

NEGLIGIBLE = 1e-12
"""A smaller probability is a solver's zero."""

EXCEEDED = 1e-12
"""Less than this beyond a bound is rounding, not a violation."""


def tidy(program: Program, x: Numbers) -> Numbers:
    """Set a solver's zeros to zero and make every source sum to one."""
    x = np.where(x > NEGLIGIBLE, x, 0.0)
    total = np.add.reduceat(x, program.starts[:-1])
    return np.asarray(x / total[program.source])


def repair(program: Program, x: Numbers, clock: Clock) -> tuple[Numbers, tuple[str, ...]]:
    """Return x within every bound where that can be had, and what there is to say about it."""
    x = tidy(program, x)
    slack = _slack(program, x)
    if slack.min(initial=0.0) >= -EXCEEDED:
        return x, ()
    try:
        inside = slackest(program, x, clock)
    except SolverError as error:
        return x, (f"numerical slack left as it is: {error}",)
    if inside is None:
        return x, ("no mapping has room under every bound; numerical slack left as it is",)
    inside = tidy(program, inside)
    room = _slack(program, inside)
    short = slack < 0
    share = float(np.max(-slack[short] / (room[short] - slack[short])))
    return x + min(1.0, share) * (inside - x), ()


def _slack(program: Program, x: Numbers) -> Numbers:
    """Return the slack of every row, parity rows in units of their bound where they have one."""
    g = program.rates @ x
    z = np.concatenate([g, program.auxiliary(g)])
    relief = program.relief.limit - program.relief.matrix @ z
    unit = np.where(relief > 0, relief, 1.0)
    return np.concatenate([program.parity_slack(x) / unit, program.budget_slack(x)])
