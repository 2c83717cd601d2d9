"""Solve a structured programme: the loss first, then the tie-break, then the repair.

Imports :mod:`evenhand.optimize.program` only; knows nothing of groups, outcomes or people.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import InfeasibleError, SolverError, TimeLimitError
from evenhand.optimize.program import (
    Multipliers,
    PolyhedralLoss,
    Program,
    QuasiconvexLoss,
    SmoothLoss,
    lower_bound,
)
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.dust import EXCEEDED, exceeds, tidy
from evenhand.optimize.solve.linear import LinearSolver, PolyhedralAlong, best_multipliers, solve_polyhedral
from evenhand.optimize.solve.quadratic import SmoothAlong, solve_smooth
from evenhand.optimize.solve.repair import repair, toward
from evenhand.optimize.solve.structured.limits import suitable
from evenhand.optimize.solve.tiebreak import even, least_change
from evenhand.resources import Progress
from evenhand.tolerances import VIOLATION_TOLERANCE

__all__ = ["Clock", "Result", "from_tight", "solve", "solve_along"]

if TYPE_CHECKING:
    from evenhand.optimize.solve.structured.method import Found
    from evenhand.optimize.solve.structured.steps import Watch

MANY_ITERATIONS = 25
"""Few programmes that have an answer take the specialised method more; one that has none takes up to a hundred."""

GAP_WORTH_POLISHING = 1e-8
"""Above this gap the multipliers are computed anew, exactly for the final r."""

EMPTY_FOR_SURE = -1e9
"""The multiplier of a cell that cannot be anything but empty."""

CHOOSING = "choosing among the optima"

DUST = (0.3, 0.1, 3e-2, 1e-2, 1e-4, 0.0)
"""What of a tie-break is dropped as dust, in units of what is elsewhere, where its repair lost the optimum."""

TIE_BREAK_LOSS = 5e-8
"""A tie-break that loses more than this is discarded."""


@dataclass(frozen=True, eq=False)
class Result:
    """What was found: the moves' probabilities, multipliers for its lower bound, and what to say about it."""

    x: Numbers
    multipliers: Multipliers
    steps: int
    notes: tuple[str, ...] = ()


def solve(
    program: Program, tie_break: str | None, clock: Clock, progress: Progress = lambda stage, share: None
) -> Result | None:
    """Minimise the programme's loss and choose among the optima; None where it is infeasible.

    A large programme of the right kind goes to the specialised method; where that is not certified, the general solvers
    answer, and a note says so.
    """
    said: tuple[str, ...] = ()
    try:
        if (result := _specialised(program, tie_break, clock, progress)) is not None:
            return result
    except TimeLimitError:
        raise
    except SolverError as error:
        from evenhand.optimize.solve.infeasible import proved_infeasible

        if proved_infeasible(program, clock):
            return None
        said = (f"the specialised method did not answer ({error}): the general solver did",)
    progress(_minimising(program), 0.1)
    loss, warm = program.loss, None
    if isinstance(loss, PolyhedralLoss):
        solution, warm = solve_polyhedral(program, loss, clock)
    elif isinstance(loss, SmoothLoss):
        solution = solve_smooth(program, loss, clock)
    elif isinstance(loss, QuasiconvexLoss):
        from evenhand.optimize.solve.level import solve_quasiconvex

        solution = solve_quasiconvex(program, loss, clock)
    else:
        raise TypeError(f"no solver takes a loss of type {type(loss).__name__}")
    if solution is None:
        return None
    progress(CHOOSING, 0.6)
    chosen, notes = _choose(program, solution.x, tie_break, clock, warm)
    x, notes = _finished(program, solution.x, chosen, said + notes, clock, progress)
    return Result(x, _final_multipliers(program, solution.multipliers, x, clock), solution.steps, notes)


def _specialised(program: Program, tie_break: str | None, clock: Clock, progress: Progress) -> Result | None:
    """Solve by the specialised method; None where the programme is not one for it."""
    pieces = suitable(program)
    if pieces is None:
        return None
    from evenhand.optimize.solve.structured.method import minimise_loss

    choosing = tie_break == "least_change"
    watch = _doubting(program, clock, _watch(clock, progress, _minimising(program), 0.1, 0.5))
    found = minimise_loss(program, pieces, watch, clear=choosing)
    return _chosen(program, found, tie_break, clock, progress)


def _chosen(program: Program, found: Found, tie_break: str | None, clock: Clock, progress: Progress) -> Result:
    """Choose among the optima of which one was found, and remove numerical slack."""
    from evenhand.optimize.solve.structured.method import choose

    choosing = tie_break == "least_change"
    x = found.x
    notes: tuple[str, ...] = ()
    if choosing:
        x, notes = choose(program, found, _watch(clock, progress, CHOOSING, 0.5, 0.8))
    if notes or tie_break == "even":
        progress(CHOOSING, 0.7)
        x, more = _choose(program, found.x, tie_break, clock, None)
        # Where the general tie-break failed as well, its words are enough.
        notes = more or tuple(f"{note} by the specialised method; the general one answered" for note in notes)
        # What the specialised method gives has no dust that could be missed.
        x, notes = _finished(program, found.x, x, notes, clock, progress, enough=VIOLATION_TOLERANCE)
    return Result(x, found.multipliers, found.steps, notes)


def _watch(clock: Clock, progress: Progress, stage: str, first: float, last: float) -> Watch:
    """Return what the specialised method calls between iterations: it heeds the clock and tells how far it is."""

    def watch(done: float) -> None:
        clock.check()
        progress(stage, first + (last - first) * min(1.0, max(0.0, done)))

    return watch


def _doubting(program: Program, clock: Clock, watch: Watch) -> Watch:
    """Return what watches as well, and asks after many iterations whether there is anything to find."""
    from evenhand.optimize.solve.infeasible import proved_infeasible

    iterations = count()

    def doubting(done: float) -> None:
        watch(done)
        if next(iterations) == MANY_ITERATIONS and proved_infeasible(program, clock):
            raise SolverError("nothing is feasible")

    return doubting


def _minimising(program: Program) -> str:
    return f"minimising the utility loss ({program.n_sources:,} sources, {program.n_moves:,} moves)"


def _finished(
    program: Program, optimum: Numbers, chosen: Numbers, notes: tuple[str, ...], clock: Clock, progress: Progress,
    enough: float = EXCEEDED,
) -> tuple[Numbers, tuple[str, ...]]:  # fmt: skip
    """Remove numerical slack, and take the tie-break back if it lost what it had to hold."""

    def holds(x: Numbers) -> bool:
        lost = program.loss.value(program.released(x)) - program.loss.value(program.released(optimum))
        # Written so that a NaN counts as lost.
        return lost <= TIE_BREAK_LOSS and exceeds(program, x) <= max(VIOLATION_TOLERANCE, exceeds(program, optimum))

    progress("removing numerical slack", 0.8)
    x, more = repair(program, chosen, clock, enough)
    if chosen is optimum or holds(x):
        return x, notes + more
    # Repair may lose more than the dust that it drops is worth: the less is dropped, down to nothing.
    points = [x, *(tidy(program, chosen, share) for share in DUST)]
    optimum, more = repair(program, optimum, clock, enough)
    if (mixed := toward(program, optimum, points, holds)) is not None:
        return mixed, notes
    return optimum, (*notes, "tie-break discarded: it did not hold the optimum", *more)


def from_tight(program: Program) -> bool:
    """Whether such programmes are better solved from the tightest bounds to the loosest than the other way."""
    return suitable(program) is not None


def solve_along(programs: Iterable[Program], clock: Clock) -> Iterator[Result | None]:
    """Minimise the losses of programmes that differ little, each begun where the last one ended; no tie-break.

    Programmes are asked for one at a time, best in the order of their bounds that :func:`from_tight` tells; large ones
    of the right kind go to the specialised method, which begins halfway of the last one. None where this way finds
    nothing, be it that there is nothing to find: :func:`solve` tries harder. A smooth loss is not held to any gap here;
    the caller's certificate is the judge.
    """
    smooth, polyhedral = SmoothAlong(clock), PolyhedralAlong(clock)
    found: Found | None = None
    for program in programs:
        loss, solution, result = program.loss, None, None
        try:
            if (pieces := suitable(program)) is not None:
                from evenhand.optimize.solve.structured.method import minimise_after

                found = minimise_after(found, program, pieces, lambda share: clock.check())
                result = Result(found.x, found.multipliers, found.steps)
        except TimeLimitError:
            raise
        except SolverError:
            found = None
        if result is None:
            try:
                if isinstance(loss, PolyhedralLoss):
                    solution = polyhedral.minimise(program, loss)
                elif isinstance(loss, SmoothLoss):
                    solution = smooth.minimise(program, loss)
            except TimeLimitError:
                raise
            except (SolverError, InfeasibleError):
                # What failed here must not be where the next programme begins.
                smooth, polyhedral = SmoothAlong(clock), PolyhedralAlong(clock)
        if solution is not None:
            x, notes = repair(program, solution.x, clock)
            multipliers = _final_multipliers(program, solution.multipliers, x, clock)
            result = Result(x, multipliers, solution.steps, notes)
        yield result


def _choose(
    program: Program, x: Numbers, tie_break: str | None, clock: Clock, warm: LinearSolver | None
) -> tuple[Numbers, tuple[str, ...]]:
    if tie_break == "least_change":
        return least_change(program, x, clock, warm)
    if tie_break == "even":
        return even(program, x, clock)
    return x, ()


def _final_multipliers(program: Program, found: Multipliers, x: Numbers, clock: Clock) -> Multipliers:
    """Return the multipliers as they are, unless their gap asks for the best ones at the final r."""
    loss = program.loss
    r = program.released(x)
    if isinstance(loss, QuasiconvexLoss) or loss.value(r) - lower_bound(program, found) <= GAP_WORTH_POLISHING:
        return found
    candidates = [found.released]
    if isinstance(loss, SmoothLoss):
        # A cell that no choice leads to is empty whatever its multiplier: the loss there is a constant.
        empty = np.diff(program.release.indptr) == 0
        candidates = [np.where(empty, EMPTY_FOR_SURE, m) for m in (found.released, loss.gradient(r))]
    try:
        polished = [best_multipliers(program, released, clock) for released in candidates]
    except SolverError:
        return found
    return max([found, *polished], key=partial(lower_bound, program))
