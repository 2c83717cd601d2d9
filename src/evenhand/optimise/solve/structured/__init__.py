"""The specialised method for large programmes; see :mod:`evenhand.optimise.solve.structured.form` for what it solves.

An interior-point method that knows the structure: owners meet only in r and in the rates. What it finds is judged by
its gap and by what it exceeds, as any answer is; where that is not good enough it raises, and the general solvers are
there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from evenhand.arrays import Numbers
from evenhand.errors import SolverError, TimeLimitError
from evenhand.optimise.program import Multipliers, Program, lower_bound
from evenhand.optimise.solve.dust import exceeds
from evenhand.optimise.solve.structured.beginning import begin, opened
from evenhand.optimise.solve.structured.faces import least_change
from evenhand.optimise.solve.structured.form import Form, Pieces, form_of, multipliers_in
from evenhand.optimise.solve.structured.layout import Layout, lay_out_form
from evenhand.optimise.solve.structured.limits import suitable
from evenhand.optimise.solve.structured.polish import polished
from evenhand.optimise.solve.structured.steps import Answer, Point, Watch, minimise
from evenhand.optimise.solve.structured.trail import Trail

__all__ = ["Found", "choose", "minimise_loss", "suitable"]

GOAL = 1e-10
"""The gap at which the method stops, a tenth of what a certificate asks."""

CLEAR_GOAL = 1e-12
"""The same before a tie-break: the smaller the gap, the clearer which choices are used."""

CLEAR_SMOOTH_GOAL = 2e-11
"""The same for smooth losses, whose rows lose digits sooner."""

GAP = 1e-9
GAP_SHARE = 5e-7
"""The largest gap of an answer: the larger of the two, the second in units of the objective."""

EXCESS = 1e-9
"""The most by which an answer may exceed a bound, in its own units."""


@dataclass(frozen=True, eq=False)
class Found:
    """An answer that was judged good enough, with what a tie-break needs to go on."""

    x: Numbers
    multipliers: Multipliers
    form: Form
    layout: Layout
    answer: Answer
    trail: Trail

    @property
    def steps(self) -> int:
        """The number of iterations."""
        return self.answer.steps


def minimise_loss(
    program: Program, pieces: Pieces, watch: Watch, *, clear: bool = True, before: Found | None = None
) -> Found:
    """Minimise the loss; raise SolverError where the answer is not good enough.

    ``clear`` goes on until it is clear which choices are used, as :func:`choose` needs it. ``before`` is the answer of
    a programme that differs little: if it has the same pattern, its trail is where to begin.
    """
    form = form_of(program, pieces)
    goal = (CLEAR_GOAL if pieces.curve is None else CLEAR_SMOOTH_GOAL) if clear else GOAL
    before = before if before is not None and form.same_pattern(before.form) else None
    if before is not None and (start := before.trail.start) is not None:
        try:
            found = _found(program, form, before.layout, start, goal, watch, recentre=True)
            return replace(found, trail=before.trail.after(found.answer))
        except TimeLimitError:
            raise
        except SolverError:
            # It was no good start.
            pass
    layout = lay_out_form(form) if before is None else before.layout
    return _found(program, form, layout, begin(form, opened(program)), goal, watch)


def _found(
    program: Program, form: Form, layout: Layout, start: Point, goal: float, watch: Watch, *, recentre: bool = False
) -> Found:
    """Minimise the loss from a start, and judge the answer."""
    answer = minimise(form, layout, start, goal, watch, recentre=recentre)
    multipliers = multipliers_in(form, program, answer.point.y, answer.point.s)
    x = polished(
        program, form.probabilities(answer.point.z, program.n_moves), form.pieces.targets,
        lambda x: not shortcoming(program, x, multipliers),
    )  # fmt: skip
    if said := shortcoming(program, x, multipliers):
        raise SolverError(said)
    return Found(x, multipliers, form, layout, answer, Trail(answer.trail, answer.steps))


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
    if not (excess := exceeds(program, x)) <= EXCESS:
        return f"a bound was exceeded by {excess:.1e}"
    return ""
