"""The specialised method; see :mod:`evenhand.optimize.solve.structured.form` for what it solves.

An interior-point method that knows the structure: owners meet only in r and in the rates. What it finds is judged by
its gap and by what it exceeds, as any answer is; where that is not good enough it raises, and the general solvers are
there.
"""

from __future__ import annotations

from dataclasses import dataclass

from evenhand.arrays import Numbers
from evenhand.errors import SolverError, TimeLimitError
from evenhand.optimize.program import Multipliers, Program, lower_bound
from evenhand.optimize.solve.dust import exceeds, normalised
from evenhand.optimize.solve.structured.beginning import begin, begin_on, opened
from evenhand.optimize.solve.structured.faces import least_change
from evenhand.optimize.solve.structured.form import Form, Pieces, form_of, multipliers_in
from evenhand.optimize.solve.structured.layout import Layout, lay_out_form
from evenhand.optimize.solve.structured.polish import polished
from evenhand.optimize.solve.structured.steps import Answer, Point, Watch, minimise
from evenhand.optimize.solve.structured.threads import one_thread
from evenhand.tolerances import VIOLATION_TOLERANCE

GOAL = 1e-10
"""The gap at which the method stops, a tenth of what a certificate asks."""

CLEAR_GOAL = 1e-12
"""The same before a tie-break: the smaller the gap, the clearer which choices are used."""

CLEAR_SMOOTH_GOAL = 2e-11
"""The same for smooth losses, whose rows lose digits sooner."""

GAP = 1e-9
GAP_SHARE = 5e-7
"""The largest gap of an answer: the larger of the two, the second in units of the objective."""

SHARE_OF_GAP = 0.1
"""The share of that gap at which the method stops where the last answer tells what it is."""


@dataclass(frozen=True, eq=False)
class Found:
    """An answer that was judged good enough, with what a tie-break needs to go on."""

    x: Numbers
    multipliers: Multipliers
    form: Form
    layout: Layout
    answer: Answer

    @property
    def steps(self) -> int:
        """The number of iterations."""
        return self.answer.steps


@one_thread()
def minimise_loss(program: Program, pieces: Pieces, watch: Watch, *, clear: bool = True) -> Found:
    """Minimise the loss; raise SolverError where the answer is not good enough.

    ``clear`` goes on until it is clear which choices are used, as :func:`choose` needs it.
    """
    form = form_of(program, pieces)
    goal = (CLEAR_GOAL if pieces.curve is None else CLEAR_SMOOTH_GOAL) if clear else GOAL
    return _found(program, form, lay_out_form(form), begin(form, opened(program)), goal, watch)


@one_thread()
def minimise_after(before: Found | None, program: Program, pieces: Pieces, watch: Watch) -> Found:
    """Minimise the loss of a programme that differs little from the one before, best by its looser bounds.

    If it has the same pattern, the way to that one's answer is where to begin. The answer may keep its dust: it is to
    be judged, and nobody is to be moved by it.
    """
    form = form_of(program, pieces)
    before = before if before is not None and form.same_pattern(before.form) else None
    if before is not None and (start := begin_on(before.answer.trail, form)) is not None:
        near = program.loss.value(program.released(before.x)) / pieces.unit
        try:
            goal = max(GOAL, SHARE_OF_GAP * GAP_SHARE * near)
            return _found(program, form, before.layout, start, goal, watch, dusty=True)
        except TimeLimitError:
            raise
        except SolverError:
            # It was no good start.
            pass
    layout = lay_out_form(form) if before is None else before.layout
    return _found(program, form, layout, begin(form, opened(program)), GOAL, watch, dusty=True)


def _found(
    program: Program, form: Form, layout: Layout, start: Point, goal: float, watch: Watch, *, dusty: bool = False
) -> Found:
    """Minimise the loss from a start, and judge the answer, which may be ``dusty`` if that is good enough."""
    answer = minimise(form, layout, start, goal, watch)
    multipliers = multipliers_in(form, program, answer.point.y, answer.point.s)
    x = normalised(program, form.probabilities(answer.point.z, program.n_moves))
    if not dusty or shortcoming(program, x, multipliers):
        x = polished(program, x, form.pieces.targets, lambda x: not shortcoming(program, x, multipliers))
    if said := shortcoming(program, x, multipliers):
        raise SolverError(said)
    return Found(x, multipliers, form, layout, answer)


@one_thread()
def choose(program: Program, found: Found, watch: Watch) -> tuple[Numbers, tuple[str, ...]]:
    """Choose the least change among the optima; what was found, and why, where that does not work."""
    x, notes = least_change(program, found.form, found.answer.point, found.x, watch)
    if said := shortcoming(program, x, found.multipliers):
        return found.x, (f"tie-break discarded: {said}",)
    return x, notes


def shortcoming(program: Program, x: Numbers, multipliers: Multipliers) -> str:
    """Return why an answer is not good enough, its gap or what it exceeds; nothing where it is."""
    objective = program.loss.value(program.released(x))
    gap = objective - lower_bound(program, multipliers)
    # Written so that a NaN is refused.
    if not gap <= max(GAP, GAP_SHARE * abs(objective)):
        return f"a gap of {gap:.1e} was left"
    if not (excess := exceeds(program, x)) <= VIOLATION_TOLERANCE:
        return f"a bound was exceeded by {excess:.1e}"
    return ""
