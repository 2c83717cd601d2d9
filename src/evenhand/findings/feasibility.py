"""Where a problem becomes feasible, lossless, or needs no change at all.

The smallest parity bound that a table and its budgets allow, the smallest budgets that its parity bounds allow,
and the bounds from which nothing is lost. All are found, not sampled.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers, round_up
from evenhand.data.counts import Counts
from evenhand.engines import AnyTable, counts_of
from evenhand.errors import InfeasibleError, Made, Setting, Verb
from evenhand.findings.bounds import comparison
from evenhand.kernel import Kernel, unchanged
from evenhand.kernel.achieved import distances
from evenhand.optimize.compile import Compiled, compile_again, compile_problem
from evenhand.optimize.program import Program
from evenhand.optimize.solve import Clock
from evenhand.optimize.solve.edges import least_budget_factor, smallest_bound
from evenhand.optimize.tabulate import tabulated
from evenhand.resources import Progress
from evenhand.spec import Charge, Distance, Problem, each, weighting_of
from evenhand.tolerances import EDGE_TOLERANCE


@dataclass(frozen=True, eq=False)
class Edge:
    """The smallest parity bound that can be met, a mapping that just meets it, and the programme there."""

    bound: float
    kernel: Kernel
    compiled: Compiled


def smallest_parity_bound(
    problem: Problem,
    frame: AnyTable | Counts,
    *,
    lossless: bool = False,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
) -> float | None:
    """Return the smallest bound that all parity constraints can share; None where no bound would do.

    Parameters
    ----------
    problem : Problem
        Its own parity bounds are not used.
    frame : dataframe, path or Counts
        The table.
    lossless : bool
        Ask for the smallest bound at which nothing is lost: r = p.
    weights, frequencies : str or sequence of numbers, optional
        As in :func:`evenhand.fit`.

    Notes
    -----
    With ``suppress_protected="alternating"`` it is where the fixed conditional p(y|x) becomes feasible; alternating may
    find a mapping below.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> tight = replace(data.problem, budget=eh.ExpectedDistortion(0.25))
    >>> round(eh.smallest_parity_bound(tight, data.frame), 7)
    0.2109576
    """
    lossless = check.flag("lossless", lossless)
    counts = counts_of(problem, frame, weighting_of(problem, weights, frequencies))
    edge = parity_edge(problem, counts, Clock(), lossless=lossless)
    return None if edge is None else edge.bound


def smallest_budget_factor(
    problem: Problem,
    frame: AnyTable | Counts,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
) -> float | None:
    """Return the smallest factor on all budgets at which the parity bounds can be met; None where none would do.

    Parameters
    ----------
    problem : Problem
        Its budgets are multiplied by the factor; a budget of zero stays zero.
    frame : dataframe, path or Counts
        The table.
    weights, frequencies : str or sequence of numbers, optional
        As in :func:`evenhand.fit`.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> round(0.5 * eh.smallest_budget_factor(data.problem, data.frame), 4)
    0.3187
    """
    return budget_edge(problem, counts_of(problem, frame, weighting_of(problem, weights, frequencies)), Clock())


def identity_from(
    problem: Problem,
    frame: AnyTable | Counts,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
) -> float:
    """Return the smallest shared parity bound that the table meets as it is, so that nobody need change.

    Parameters
    ----------
    problem : Problem
        Its own parity bounds are not used.
    frame : dataframe, path or Counts
        The table.
    weights, frequencies : str or sequence of numbers, optional
        As in :func:`evenhand.fit`.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> round(eh.identity_from(data.problem, data.frame), 4)
    0.6146
    """
    counts = counts_of(problem, frame, weighting_of(problem, weights, frequencies))
    return _needed(problem, counts, unchanged(counts), floors=False)


def parity_edge(
    problem: Problem,
    counts: Counts,
    clock: Clock,
    *,
    floors: bool = False,
    lossless: bool = False,
    like: Compiled | None = None,
) -> Edge | None:
    """Return where parity can just be met; with ``floors`` no constraint is asked for less than its own bound.

    ``like`` is the same problem compiled, with any bounds.
    """
    last: dict[float, Compiled] = {}

    def program_at(bound: float) -> Program:
        if bound not in last:
            moved = tabulated(problem.with_bounds(lambda own: max(bound, own) if floors else bound), counts)
            known = last.popitem()[1] if last else like
            last[bound] = compile_again(known, moved, counts)
        return last[bound].program

    def bound_of(bound: float, x: Numbers) -> float:
        program_at(bound)
        return _needed(problem, counts, last[bound].kernel(x), floors)

    start = _needed(problem, counts, unchanged(counts), floors)
    if not np.isfinite(start) or problem.suppression.redraws:
        # With D suppressed the identity is no mapping to begin with.
        start = min((parity.distance.largest_bound for parity in problem.parity), default=Distance.largest_bound)
    try:
        program = program_at(start)
        found = smallest_bound(program_at, bound_of, start, clock, program.original if lossless else None)
    except InfeasibleError:
        return None
    if found is None:
        return None
    bound, x = found
    program_at(bound)
    compiled = last[bound]
    kernel = compiled.kernel(x) if len(x) == compiled.program.n_moves else unchanged(counts)
    return Edge(bound, kernel, compiled)


def _needed(problem: Problem, counts: Counts, kernel: Kernel, floors: bool) -> float:
    """Return the smallest bound that all constraints could share for a kernel to meet them."""
    needed = 0.0
    for part in distances(problem, counts, kernel):
        beyond = part.value if not floors else part.value[part.excess > 0]
        needed = max(needed, float(np.max(beyond, initial=0.0)))
    return needed


def budget_edge(problem: Problem, counts: Counts, clock: Clock) -> float | None:
    """Return the factor on all budgets at which the parity bounds can just be met."""
    try:
        program = compile_problem(tabulated(problem, counts), counts).program
    except InfeasibleError:
        return None
    return least_budget_factor(program, clock)


def raised(charge: Charge, factor: float) -> dict[float, float]:
    """Return each limit of a charge that a factor changes, in order, with what it becomes.

    A probability is at most one; limits of zero and infinite ones stay what they are, whatever the factor.
    """
    most = math.inf if charge.threshold is None else 1.0
    return {limit: min(most, limit * factor) for limit in sorted(each(charge.limit)) if 0 < limit < math.inf}


def refuse_infeasible(problem: Problem, counts: Counts, clock: Clock, report: Progress) -> None:
    """Raise the error that says how far the bounds are from being met, if they cannot be."""
    report("finding the smallest parity bound that can be met", 0.9)
    edge = parity_edge(problem, counts, clock, floors=True)
    if edge is not None and edge.bound <= problem.smallest_bound + EDGE_TOLERANCE:
        return
    report("finding the smallest budgets that will do", 0.95)
    factor = budget_edge(problem, counts, clock)
    if factor is not None and factor <= 1:
        return
    raise InfeasibleError(
        *_infeasible_words(problem, counts, edge, factor),
        smallest_parity_bound=None if edge is None else edge.bound,
        smallest_budget_factor=factor,
    )


def _infeasible_words(problem: Problem, counts: Counts, edge: Edge | None, factor: float | None) -> list[object]:
    asked = " and ".join(f"{type(p).__name__}({p.smallest_bound:g})" for p in problem.parity) or "the budgets"
    within = (
        "budgets, forbidden moves and forbidden records" if problem.forbidden_records else "budgets and forbidden moves"
    )
    words: list[object] = [f"No mapping meets {asked} within these {within}. "]
    if edge is None and problem.suppression.redraws:
        words += [
            "No parity bound, however large, would do: with D suppressed the outcome is drawn from p(ŷ|x̂) for "
            "everybody, so what its changes cost is spent in any case. Write ",
            Setting("distortion", Made("Free"), column=problem.outcome),
            " to charge the features alone. ",
        ]
    elif edge is None:
        words.append("No parity bound, however large, would do: budgets or forbidden moves rule every mapping out. ")
    else:
        worst = max(distances(problem, counts, edge.kernel), key=lambda part: float(part.value.max()))
        apart = comparison(worst, int(np.argmax(worst.value))).words
        words.append(
            f"The smallest parity bound that can be met is {edge.bound:.7f}; try {round_up(edge.bound, 1e-4):g}. "
            f"The largest disparity there: {apart}. "
        )
    if factor is not None:
        changes = sorted({change for charge in problem.charges for change in raised(charge, factor).items()})
        limits = ", ".join(f"{limit:g} → {larger:.7g}" for limit, larger in changes)
        words.append(f"Or keep the parity bound and multiply the budgets by {round_up(factor, 1e-4):g} ({limits}). ")
    return [*words, Verb("diagnose"), " says why, with a proof."]
