"""Where a problem becomes feasible, lossless, or needs no change at all.

The smallest parity bound that a table and its budgets allow, the smallest budgets that its parity bounds allow,
and the bounds from which nothing is lost. All are found, not sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from evenhand.achieved import parity_achieved
from evenhand.compile import compile_problem
from evenhand.counts import Counts, Numbers
from evenhand.errors import InfeasibleError
from evenhand.program import Program
from evenhand.solve import Clock
from evenhand.solve.edges import smallest_bound, smallest_budget_factor
from evenhand.spec import Problem

LARGEST_BOUND = 1e6
"""A parity bound that restrains nothing but ratios to zero."""


def smallest_parity_bound(
    problem: Problem,
    counts: Counts,
    *,
    lossless: bool = False,
    floors: Sequence[float] | None = None,
    clock: Clock | None = None,
) -> float | None:
    """Return the smallest bound that all parity constraints can share; None where no bound would do.

    Parameters
    ----------
    problem : Problem
        Its own parity bounds are not used.
    counts : Counts
        The table.
    lossless : bool
        Ask for the smallest bound at which nothing is lost: r = p.
    floors : sequence of float, optional
        Do not ask less of each constraint than this.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from evenhand.datasets import load
    >>> from evenhand.spec import ExpectedDistortion
    >>> data = load("compas")
    >>> round(smallest_parity_bound(replace(data.problem, budget=ExpectedDistortion(0.25)), data.counts), 7)
    0.2109576
    """
    lowest = list(floors) if floors is not None else [0.0] * len(problem.parity)

    def program_at(bound: float) -> Program:
        return compile_problem(_with_bound(problem, bound, lowest), counts).program

    def bound_of(program: Program, x: Numbers) -> float:
        rates = (program.rates @ x).reshape(-1, counts.domain.y.size)
        needed = [float(parity_achieved(p, counts, rates).value.max()) for p in problem.parity]
        return max((n for n, floor in zip(needed, lowest, strict=True) if n > floor), default=0.0)

    identity = identity_from(problem, counts)
    start = identity if np.isfinite(identity) else LARGEST_BOUND
    try:
        program = program_at(start)
        released = program.released(program.stays.astype(float)) if lossless else None
        return smallest_bound(program_at, bound_of, start, clock or Clock(), released)
    except InfeasibleError:
        return None


def identity_from(problem: Problem, counts: Counts) -> float:
    """Return the smallest shared parity bound at which the table meets every constraint as it is."""
    rates = counts.outcome_by_group
    return max((float(parity_achieved(p, counts, rates).value.max()) for p in problem.parity), default=0.0)


def smallest_budget(problem: Problem, counts: Counts, clock: Clock | None = None) -> float | None:
    """Return the smallest factor on all budgets at which the parity bounds can be met; None where none would do.

    Examples
    --------
    >>> from evenhand.datasets import load
    >>> data = load("compas")
    >>> round(smallest_budget(data.problem, data.counts), 4) < 1
    True
    """
    try:
        program = compile_problem(problem, counts).program
    except InfeasibleError:
        return None
    return smallest_budget_factor(program, clock or Clock())


def _with_bound(problem: Problem, bound: float, floors: Sequence[float]) -> Problem:
    parity = [replace(p, bound=max(bound, f)) for p, f in zip(problem.parity, floors, strict=True)]  # type: ignore[type-var]
    return replace(problem, parity=parity)
