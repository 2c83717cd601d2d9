"""Where a problem becomes feasible, lossless, or needs no change at all.

The smallest parity bound that a table and its budgets allow, the smallest budgets that its parity bounds allow,
and the bounds from which nothing is lost. All are found, not sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.achieved import parity_achieved
from evenhand.compile import compile_problem
from evenhand.counts import Counts, Numbers
from evenhand.errors import InfeasibleError
from evenhand.program import Program
from evenhand.solve import Clock
from evenhand.solve.edges import smallest_bound, smallest_budget_factor
from evenhand.spec import Parity, Problem

LARGEST_BOUND = 1e6
"""A parity bound that restrains nothing but ratios to zero."""


@dataclass(frozen=True, eq=False)
class Edge:
    """The smallest parity bound that can be met, and the rates of each group and outcome there."""

    bound: float
    rates: Numbers


def smallest_parity_bound(
    problem: Problem, counts: Counts, *, lossless: bool = False, clock: Clock | None = None
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
    clock : Clock, optional
        A time limit.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from evenhand.datasets import load
    >>> from evenhand.spec import ExpectedDistortion
    >>> data = load("compas")
    >>> round(smallest_parity_bound(replace(data.problem, budget=ExpectedDistortion(0.25)), data.counts), 7)
    0.2109576
    """
    edge = parity_edge(problem, counts, [0.0] * len(problem.parity), clock or Clock(), lossless=lossless)
    return None if edge is None else edge.bound


def parity_edge(
    problem: Problem, counts: Counts, floors: Sequence[float], clock: Clock, *, lossless: bool = False
) -> Edge | None:
    """Return where parity can just be met, asking of no constraint less than its floor."""
    n_outcomes = counts.domain.y.size

    def program_at(bound: float) -> Program:
        return compile_problem(_with_bound(problem, bound, floors), counts).program

    def bound_of(rates: Numbers) -> float:
        needed = [_needed(p, counts, rates.reshape(-1, n_outcomes)) for p in problem.parity]
        return max((n for n, floor in zip(needed, floors, strict=True) if n > floor), default=0.0)

    identity = identity_from(problem, counts)
    start = identity if np.isfinite(identity) else LARGEST_BOUND
    try:
        program = program_at(start)
    except InfeasibleError:
        return None
    released = program.released(program.stays.astype(float)) if lossless else None
    found = smallest_bound(program_at, bound_of, start, clock, released)
    return None if found is None else Edge(found[0], found[1].reshape(-1, n_outcomes))


def _needed(parity: Parity, counts: Counts, rates: Numbers) -> float:
    return float(parity_achieved(parity, counts, rates).value.max())


def identity_from(problem: Problem, counts: Counts) -> float:
    """Return the smallest shared parity bound at which the table meets every constraint as it is."""
    return max((_needed(p, counts, counts.outcome_by_group) for p in problem.parity), default=0.0)


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
    parity: list[Any] = list(problem.parity)
    return replace(
        problem, parity=[replace(p, bound=max(bound, floor)) for p, floor in zip(parity, floors, strict=True)]
    )
