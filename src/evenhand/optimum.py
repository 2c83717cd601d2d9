"""The optimum of a problem on counts: the one place that joins compiling, solving and certifying.

Where there is no optimum it finds out why, and says the smallest bound and the smallest budgets that would do.
"""

from __future__ import annotations

import logging
from dataclasses import replace

import numpy as np

from evenhand.data.counts import Counts
from evenhand.errors import SolverError, TimeLimitError
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import achieved
from evenhand.mapping import Mapping
from evenhand.optimize.certificate import bounding, certify
from evenhand.optimize.compile import Compiled, compile_problem
from evenhand.optimize.program import Multipliers, Program, SmoothLoss
from evenhand.optimize.solve import Clock, Result, solve
from evenhand.optimize.tabulate import refuse_unmet, tabulated
from evenhand.resources import Progress, silent
from evenhand.spec import Problem
from evenhand.tolerances import AT_BOUND, VIOLATION_TOLERANCE

LOG = logging.getLogger("evenhand")

WRITING_SHARE = 0.05
"""Of a whole fit: when the programme is written."""

MARGIN = 1e-4
"""How much larger a bound to try where the given one can be met only just."""


def optimal(asked: Problem, counts: Counts, clock: Clock, report: Progress) -> Mapping:
    """Tabulate a problem's callables, compile, solve and certify; a user's own distance is checked at the rates found.

    Errors speak of the problem as it was asked.
    """
    problem = tabulated(asked, counts)
    mapping = (_solved if problem.suppression.convex else _alternated)(asked, problem, counts, clock, report)
    refuse_unmet(asked, counts, mapping.kernel)
    return mapping


def _solved(asked: Problem, problem: Problem, counts: Counts, clock: Clock, report: Progress) -> Mapping:
    """Return the optimum of a convex problem whose callables are tabulated."""
    report("writing the programme", WRITING_SHARE)
    compiled = compile_problem(problem, counts)
    program = compiled.program
    LOG.info(
        "compiled %d sources, %d moves, %d parity rows, %d budget rows",
        len(counts), program.n_moves, len(program.parity), len(program.budgets),
    )  # fmt: skip
    mapping = _unchanged(problem, counts, program)
    if mapping is not None:
        return mapping
    result = _result(asked, problem, counts, compiled, clock, report)
    LOG.info("solved in %d steps", result.steps)
    report("certifying", 0.9)
    kernel = compiled.kernel(result.x)
    measured = achieved(problem, counts, kernel)
    if not measured.max_violation <= VIOLATION_TOLERANCE:
        # A solver that stopped short may have come near bounds that cannot be met.
        _refuse_infeasible(asked, counts, clock, report)
    certificate = certify(
        problem, counts, kernel, result.multipliers, program=program, measured=measured, notes=result.notes
    )
    return Mapping(problem, counts, kernel, result.multipliers, certificate)


def _unchanged(problem: Problem, counts: Counts, program: Program) -> Mapping | None:
    """Return the identity where it meets every bound: then nothing is lost and nobody is changed."""
    if problem.suppression.redraws or np.any(program.change @ program.stays > 0):
        return None
    if program.parity_slack(program.stays).min(initial=0.0) < -AT_BOUND:
        return None
    kernel = unchanged(counts)
    measured = achieved(problem, counts, kernel)
    if measured.max_violation > 0:
        return None
    loss = program.loss
    r = program.released(program.stays)
    on_release = loss.gradient(r) if isinstance(loss, SmoothLoss) else np.zeros(len(r))
    multipliers = Multipliers(on_release, np.zeros(len(program.parity)), np.zeros(len(program.budgets)))
    certificate = certify(problem, counts, kernel, multipliers, program=program, measured=measured)
    # A measure of a user's own may be smaller elsewhere.
    return Mapping(problem, counts, kernel, multipliers, certificate) if certificate.status == "optimal" else None


def _result(
    asked: Problem, problem: Problem, counts: Counts, compiled: Compiled, clock: Clock, report: Progress
) -> Result:
    """Solve, or say why it cannot be done."""
    try:
        result = solve(compiled.program, problem.tie_break, clock, report)
    except TimeLimitError:
        raise
    except SolverError as error:
        _refuse_infeasible(asked, counts, clock, report)
        raise SolverError(*error.pieces, f". {_barely(problem)}") from None
    if result is None:
        _refuse_infeasible(asked, counts, clock, report)
        raise SolverError(_barely(problem))
    return result


def _alternated(asked: Problem, problem: Problem, counts: Counts, clock: Clock, report: Progress) -> Mapping:
    """Strategy 2: a local optimum, with the optimum without suppression as the bound that it is held against."""
    from evenhand.optimize.alternating import alternate

    report("bounding every mapping", 0.05)
    convex = bounding(problem)
    compiled = compile_problem(convex, counts)
    bound = _result(bounding(asked), replace(convex, tie_break=None), counts, compiled, clock, silent)
    run, words = alternate(problem, counts, clock, report)
    certificate = certify(
        problem, counts, run.kernel, bound.multipliers, program=compiled.program, notes=words, history=run.history
    )
    return Mapping(problem, counts, run.kernel, bound.multipliers, certificate)


def _refuse_infeasible(problem: Problem, counts: Counts, clock: Clock, report: Progress) -> None:
    # How far a problem is from being feasible takes longer to find than the optimum of one that is.
    from evenhand.findings.feasibility import refuse_infeasible

    refuse_infeasible(problem, counts, clock, report)


def _barely(problem: Problem) -> str:
    larger = ", ".join(f"{p.smallest_bound + MARGIN:g}" for p in problem.parity)
    return f"The bounds can be met only just, if at all; try a parity bound of {larger}"
