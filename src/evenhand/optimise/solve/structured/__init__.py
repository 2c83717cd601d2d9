"""The specialised method for large programmes; see :mod:`evenhand.optimise.solve.structured.form` for what it solves.

An interior-point method that knows the structure: owners meet only in r and in the rates. What it finds is judged by
its gap and by what it exceeds, as any answer is; where that is not good enough it raises, and the general solvers are
there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimise.program import Multipliers, Program, lower_bound
from evenhand.optimise.solve.repair import exceeds
from evenhand.optimise.solve.structured.beginning import begin, opened
from evenhand.optimise.solve.structured.faces import least_change
from evenhand.optimise.solve.structured.form import Form, Pieces, form_of, multipliers_in
from evenhand.optimise.solve.structured.layout import lay_out_form
from evenhand.optimise.solve.structured.limits import suitable
from evenhand.optimise.solve.structured.polish import polished
from evenhand.optimise.solve.structured.steps import Point, Watch, minimise

__all__ = ["Found", "choose", "minimise_loss", "suitable"]

GOAL = 1e-10
"""The gap at which the method stops, a tenth of what a certificate asks."""

CLEAR_GOAL = 1e-12
"""The same before a tie-break: the smaller the gap, the clearer which choices are used."""

CLEAR_LOGARITHM_GOAL = 2e-11
"""The same for logarithms, whose rows lose digits sooner."""

GAP = 1e-9
GAP_SHARE = 1e-6
"""The largest gap of an answer: the larger of the two, the second in units of the objective."""

EXCESS = 1e-9
"""The most by which an answer may exceed a bound, in its own units."""


@dataclass(frozen=True, eq=False)
class Found:
    """An answer that was judged good enough, with what a tie-break needs to go on."""

    x: Numbers
    multipliers: Multipliers
    steps: int
    form: Form
    point: Point


def minimise_loss(program: Program, pieces: Pieces, watch: Watch, *, clear: bool = True) -> Found:
    """Minimise the loss; raise SolverError where the answer is not good enough.

    ``clear`` goes on until it is clear which choices are used, as :func:`choose` needs it.
    """
    form = form_of(program, pieces)
    goal = (CLEAR_LOGARITHM_GOAL if np.any(pieces.product > 0) else CLEAR_GOAL) if clear else GOAL
    point, steps = minimise(form, lay_out_form(form), begin(form, opened(program)), goal, watch)
    x = polished(program, form.probabilities(point.z, program.n_moves), pieces.targets)
    multipliers = multipliers_in(form, program, point.y, point.s)
    refuse_unless_certified(program, x, multipliers)
    return Found(x, multipliers, steps, form, point)


def choose(program: Program, found: Found, watch: Watch) -> tuple[Numbers, tuple[str, ...]]:
    """Choose the least change among the optima; what was found, and why, where that does not work."""
    x, notes = least_change(program, found.form, found.point, found.x, watch)
    try:
        refuse_unless_certified(program, x, found.multipliers)
    except SolverError as error:
        return found.x, (f"tie-break discarded: {error}",)
    return x, notes


def refuse_unless_certified(program: Program, x: Numbers, multipliers: Multipliers) -> None:
    """Raise SolverError unless the gap and every violation are within tolerance."""
    objective = program.loss.value(program.released(x))
    gap = objective - lower_bound(program, multipliers)
    # Written so that a NaN is refused.
    if not gap <= max(GAP, GAP_SHARE * abs(objective)):
        raise SolverError(f"a gap of {gap:.1e} was left")
    if not (excess := exceeds(program, x)) <= EXCESS:
        raise SolverError(f"a bound was exceeded by {excess:.1e}")
