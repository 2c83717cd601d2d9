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
from evenhand.solve.edges import least_budget_factor, smallest_bound
from evenhand.spec import Parity, Problem
from evenhand.tables import Frame, counts_of

LARGEST_BOUND = 1e6
"""A parity bound that restrains nothing but ratios to zero."""


@dataclass(frozen=True, eq=False)
class Edge:
    """The smallest parity bound that can be met, and the rates of each group and outcome there."""

    bound: float
    rates: Numbers


def smallest_parity_bound(problem: Problem, frame: Frame | Counts, *, lossless: bool = False) -> float | None:
    """Return the smallest bound that all parity constraints can share; None where no bound would do.

    Parameters
    ----------
    problem : Problem
        Its own parity bounds are not used.
    frame : dataframe or Counts
        The table.
    lossless : bool
        Ask for the smallest bound at which nothing is lost: r = p.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> tight = replace(data.problem, budget=eh.ExpectedDistortion(0.25))
    >>> round(eh.smallest_parity_bound(tight, data.frame), 7)
    0.2109576
    """
    counts = counts_of(problem, frame)
    edge = parity_edge(problem, counts, [0.0] * len(problem.parity), Clock(), lossless=lossless)
    return None if edge is None else edge.bound


def smallest_budget_factor(problem: Problem, frame: Frame | Counts) -> float | None:
    """Return the smallest factor on all budgets at which the parity bounds can be met; None where none would do.

    Parameters
    ----------
    problem : Problem
        Its budgets are multiplied by the factor; a budget of zero stays zero.
    frame : dataframe or Counts
        The table.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> round(0.5 * eh.smallest_budget_factor(data.problem, data.frame), 4)
    0.3187
    """
    return budget_edge(problem, counts_of(problem, frame), Clock())


def identity_from(problem: Problem, frame: Frame | Counts) -> float:
    """Return the smallest shared parity bound that the table meets as it is, so that nobody need change.

    Parameters
    ----------
    problem : Problem
        Its own parity bounds are not used.
    frame : dataframe or Counts
        The table.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> round(eh.identity_from(data.problem, data.frame), 4)
    0.6146
    """
    return _largest_distance(problem, counts_of(problem, frame))


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

    identity = _largest_distance(problem, counts)
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


def budget_edge(problem: Problem, counts: Counts, clock: Clock) -> float | None:
    """Return the factor on all budgets at which the parity bounds can just be met."""
    try:
        program = compile_problem(problem, counts).program
    except InfeasibleError:
        return None
    return least_budget_factor(program, clock)


def _largest_distance(problem: Problem, counts: Counts) -> float:
    return max((_needed(p, counts, counts.outcome_by_group) for p in problem.parity), default=0.0)


def _with_bound(problem: Problem, bound: float, floors: Sequence[float]) -> Problem:
    parity: list[Any] = list(problem.parity)
    return replace(
        problem, parity=[replace(p, bound=max(bound, floor)) for p, floor in zip(parity, floors, strict=True)]
    )
