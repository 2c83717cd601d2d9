"""The frontier: what each parity bound ε, each budget c, or each pair of them, costs in utility.

The edges come first, and are found, not sampled: below the smallest feasible bound every point is infeasible, from the
lossless bound on nothing is lost, from the identity's on nobody need change. Only the points between are solved, from
loose to tight, each begun where the last one ended. Every point is certified as a fit is; one that is not found optimal
in this way is fitted anew.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product, tee
from typing import Any

import numpy as np

from evenhand.data.counts import Counts
from evenhand.errors import InfeasibleError, SolverError, SpecError, TimeLimitError
from evenhand.findings.feasibility import budget_edge, identity_from, parity_edge
from evenhand.kernel import Kernel, unchanged
from evenhand.kernel.achieved import achieved
from evenhand.optimise.certificate import Certificate, certify
from evenhand.optimise.compile import Compiled, compile_problem
from evenhand.optimise.program import Multipliers
from evenhand.optimise.solve import Clock, Result, solve_along
from evenhand.optimise.tabulate import tabulated
from evenhand.report import charts
from evenhand.report.charts import Chart
from evenhand.resources import Progress
from evenhand.spec import By, ExcessDistortion, Problem, check, each
from evenhand.tables import Frame
from evenhand.tables import frame as table
from evenhand.use.fitting import EDGE_TOLERANCE, checked_counts, fit

LOG = logging.getLogger("evenhand")

EDGES_SHARE = 0.2
"""The share of the whole that finding the edges counts for in reports of progress."""

ROUNDING = 1e-14
"""A smaller loss is rounding, and would draw a curve of its own."""

MOST_TOLD = 3
"""How many notes are logged; the frontier has them all."""

EDGES = ("smallest_feasible", "lossless_from", "identity_from")

AXES = {"bound": "parity bound ε", "budget_limit": "budget c", "budget_factor": "factor on all budgets"}
"""What the columns are called in a chart."""

SEVERAL = "shaded: infeasible, the darker at the more budgets"

Edge = float | None | dict[float, float | None]
"""An edge, None where there is none; one for each budget where several are swept."""


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """Utility lost against the parity bound, the budget, or both. Made by :func:`evenhand.frontier`.

    Attributes
    ----------
    frame : pandas.DataFrame
        A row a point, in the order asked for: ``bound`` (NaN where the problem's own bounds differ and are kept),
        where budgets are swept ``budget_limit`` (the one limit of the problem) or ``budget_factor`` (on all its
        limits), then ``objective``, ``lower_bound``, ``gap``, ``max_violation`` and ``status``: ``optimal``,
        ``feasible`` or ``local`` as in a certificate, ``infeasible``, or ``unsolved`` where a solver failed or the
        time ran out (see the notes). Numbers that do not exist are NaN.
    edges : pandas.DataFrame
        A row a budget: ``smallest_feasible``, ``lossless_from`` and ``identity_from``; NaN where there is none.
    smallest_budget : float or None
        Where budgets are swept at the problem's own bounds: the smallest limit (or factor) at which they can be met.
    notes : tuple of str
        What was remarkable at which point.
    utility : str
        The name of the utility measure.
    """

    frame: Any
    edges: Any
    smallest_budget: float | None
    notes: tuple[str, ...]
    utility: str

    @property
    def smallest_feasible(self) -> Edge:
        """The smallest parity bound that can be met; by budget where several are swept."""
        return self._edge("smallest_feasible")

    @property
    def lossless_from(self) -> Edge:
        """The smallest parity bound at which nothing is lost: r = p; by budget where several are swept."""
        return self._edge("lossless_from")

    @property
    def identity_from(self) -> Edge:
        """The smallest parity bound that the table meets as it is; by budget where several are swept."""
        return self._edge("identity_from")

    @property
    def budget_column(self) -> str | None:
        """The column that the budgets are in; None where they are not swept."""
        return next((name for name in ("budget_limit", "budget_factor") if name in self.edges), None)

    def chart(
        self, *, title: str = "Utility lost along the frontier", chosen: tuple[float, float] | None = None
    ) -> Chart:
        """Return the chart of the utility lost, whose ``save`` writes PNG, SVG or HTML.

        Along ε with a line for each budget; along the budgets where only they were swept. ``chosen``, a place on that
        axis and an objective, is marked.
        """
        budget = self.budget_column
        along_budgets = budget is not None and self.frame["bound"].nunique() <= 1
        at = budget if along_budgets and budget is not None else "bound"
        many = budget is not None and not along_budgets and len(self.edges) > 1
        return charts.frontier(
            _chart_points(self.frame.to_dict("records"), at, budget if many else None),
            _chart_edges(self, at, budget if many else None),
            along=AXES[at],
            lines=AXES[str(budget)] if many else None,
            loss=f"utility lost, {self.utility}",
            title=title,
            subtitle=SEVERAL if many else _held(self, at, budget),
            chosen=None if chosen is None else {"at": chosen[0], "objective": chosen[1]},
        )

    def _edge(self, name: str) -> Edge:
        found = [None if math.isnan(value) else value for value in self.edges[name].tolist()]
        if len(found) == 1 or self.budget_column is None:
            return found[0]
        return dict(zip(self.edges[self.budget_column].tolist(), found, strict=True))

    def __repr__(self) -> str:
        counted = ", ".join(f"{n} {status}" for status, n in self.frame["status"].value_counts().items())
        return f"<Frontier of {len(self.frame)} points ({counted}): smallest feasible ε {self.smallest_feasible}>"


def frontier(
    problem: Problem,
    frame: Frame | Counts,
    bounds: Sequence[float] | None = None,
    budgets: Sequence[float] | None = None,
    *,
    weights: str | Sequence[float] | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """Trace what the utility loses as the parity bound, the budgets, or both are changed.

    Parameters
    ----------
    problem : Problem
        All else that is asked. Its tie-break is not used: points have no mapping, and the tie-break leaves Δ as it is.
    frame : dataframe or Counts
        The table: one row a person (or a cell, with ``weights``).
    bounds : sequence of float, optional
        Parity bounds ε; each in turn takes the place of every finite bound of the problem. None keeps its own.
    budgets : sequence of float, optional
        Where the problem has one budget with one plain limit, such as ``ExpectedDistortion(0.5)``: that limit. Else
        factors on all limits. With ``bounds`` as well, every combination is traced. None keeps the problem's own.
    weights : str or sequence of float, optional
        A column of the frame, or one number a row.
    time_limit : float, optional
        Seconds after which to stop; points that were not reached are then ``unsolved``.
    progress : callable, optional
        Called with the name of the stage and the share that is done.

    Returns
    -------
    Frontier
        With ``frame``, the exact edges, and ``chart()``.

    Notes
    -----
    With ``suppress_protected`` the identity is no permitted mapping, so ``identity_from`` is None. With
    ``"alternating"``, which is not convex, and with a user's distance, which is met up to its supporting lines, the
    other edges are not known exactly and are None as well; every point is then fitted by itself.

    Examples
    --------
    >>> from dataclasses import replace
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> problem = replace(data.problem, budget=eh.ExpectedDistortion(0.25))
    >>> found = eh.frontier(problem, data.frame, bounds=[0.1, 0.3, 0.5, 0.7])
    >>> found.frame[["bound", "objective", "status"]].round(6)
       bound  objective      status
    0    0.1        NaN  infeasible
    1    0.3   0.006649     optimal
    2    0.5   0.000878     optimal
    3    0.7   0.000000     optimal
    >>> round(found.smallest_feasible, 7), round(found.identity_from, 7)
    (0.2109576, 0.6146101)
    """
    clock = Clock(time_limit)
    report = progress or (lambda stage, share: None)
    asked = _checked_bounds(problem, bounds, budgets)
    scale = _Budgets.of(problem, budgets)
    report("counting", 0.0)
    counts = checked_counts(problem, frame, weights, report)
    problem = replace(problem, tie_break=None)
    lines = _lines(problem, counts, scale, clock, report)
    least = None if bounds is not None or scale is None else _smallest_budget(problem, counts, scale, clock)
    spots = [_Spot.at(line, bound) for line, bound in product(lines, asked)]
    points = _trace(spots, counts, least, clock, report)
    notes = tuple(note for spot, point in zip(spots, points, strict=True) for note in _notes(spot, point, scale))
    for note in notes[:MOST_TOLD]:
        LOG.info(note)
    if len(notes) > MOST_TOLD:
        LOG.info("%d more points were remarkable; see the frontier's notes", len(notes) - MOST_TOLD)
    report("done", 1.0)
    column = None if scale is None else scale.column
    return Frontier(_frame(spots, points, column), _edges(lines, column), least, notes, type(problem.utility).__name__)


@dataclass(frozen=True)
class _Budgets:
    """The budgets to sweep, and what they mean: the one limit of the problem, or a factor on all limits."""

    values: tuple[float, ...]
    column: str

    @classmethod
    def of(cls, problem: Problem, budgets: Any) -> _Budgets | None:
        """Check the budgets asked for."""
        if budgets is None:
            return None
        charges = problem.charges
        if not charges:
            raise SpecError("budgets are to be swept, but the problem has none; give it budget=ExpectedDistortion(...)")
        plain = len(charges) == 1 and not isinstance(charges[0].limit, By)
        values = _numbers("budgets", budgets)
        if plain and isinstance(problem.budgets[0], ExcessDistortion):
            values = [check.number("a limit on a probability, of budgets,", value, high=1) for value in values]
        return cls(tuple(values), "budget_limit" if plain else "budget_factor")

    def given(self, problem: Problem, value: float) -> Problem:
        """Return the problem with one of the budgets."""

        def change(own: float) -> float:
            if math.isinf(own):
                return own
            return value if self.column == "budget_limit" else own * value

        return replace(problem, budget=[budget.with_limits(change) for budget in problem.budgets])


@dataclass(frozen=True, eq=False)
class _Line:
    """One budget: the problem with it, its edges, and the largest bound below which nothing is feasible for certain."""

    problem: Problem
    budget: float | None
    smallest_feasible: float | None
    lossless_from: float | None
    identity_from: float | None
    infeasible_below: float
    lossless: Kernel | None


@dataclass(frozen=True, eq=False)
class _Spot:
    """A point to be traced: its problem, on its line; the bound is None where the problem's own bounds differ."""

    line: _Line
    bound: float | None
    problem: Problem

    @classmethod
    def at(cls, line: _Line, bound: float | None) -> _Spot:
        """Put a bound into the problem of a line."""
        if bound is None:
            return cls(line, None, line.problem)
        given = float(bound)
        return cls(
            line, bound, replace(line.problem, parity=[p.with_bounds(lambda _: given) for p in line.problem.parity])
        )

    @property
    def looseness(self) -> tuple[float, float]:
        """What points are ordered by."""
        return (self.line.budget or 0.0, self.bound or 0.0)


@dataclass(frozen=True)
class _Point:
    """What is known of a point."""

    status: str
    objective: float = math.nan
    lower_bound: float = math.nan
    gap: float = math.nan
    max_violation: float = math.nan
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, certificate: Certificate, *more: str) -> _Point:
        """Read a certificate."""
        bound, gap = (math.nan if v is None else v for v in (certificate.lower_bound, certificate.gap))
        # An alternating minimisation always tells its story, which is nothing remarkable.
        notes = more if certificate.history else certificate.notes + more
        objective = certificate.objective if certificate.objective > ROUNDING else 0.0
        return cls(certificate.status, objective, bound, gap, certificate.max_violation, notes)


UNCHANGED = _Point("optimal", 0.0, 0.0, 0.0, 0.0)


def _checked_bounds(problem: Problem, bounds: Any, budgets: Any) -> list[float | None]:
    """Return the bounds to trace; the problem's own where none are given."""
    if bounds is None and budgets is None:
        raise SpecError("say what to trace: bounds=[...] for ε, budgets=[...] for c, or both")
    if bounds is None:
        own = {value for parity in problem.parity for value in each(parity.bound)}
        return [own.pop()] if len(own) == 1 else [None]
    if not problem.parity:
        raise SpecError("bounds are to be swept, but the problem has no parity; give it parity=[PairwiseParity(...)]")
    return list(_numbers("bounds", bounds))


def _numbers(what: str, values: Any) -> list[float]:
    """Return the finite numbers of at least zero in a sequence or array."""
    listed = values.tolist() if hasattr(values, "tolist") else values
    if isinstance(listed, str) or not hasattr(listed, "__iter__"):
        raise SpecError(f"{what} must be a list of numbers, such as [0.1, 0.2], not {values!r}")
    numbers = [check.finite(f"each of {what}", value, low=0) for value in listed]
    if not numbers:
        raise SpecError(f"{what} must list at least one number")
    return numbers


def _lines(problem: Problem, counts: Counts, scale: _Budgets | None, clock: Clock, report: Progress) -> list[_Line]:
    """Find the edges at every budget."""
    budgets: tuple[float | None, ...] = (None,) if scale is None else scale.values
    lines = []
    for done, budget in enumerate(budgets):
        report("finding the edges", EDGES_SHARE * done / len(budgets))
        given = problem if scale is None or budget is None else scale.given(problem, budget)
        lines.append(_line(given, budget, counts, clock))
    return lines


def _line(problem: Problem, budget: float | None, counts: Counts, clock: Clock) -> _Line:
    """Find the edges at one budget."""
    suppressed = problem.suppresses
    slack_from = math.inf if suppressed else identity_from(problem, counts)
    line = _Line(problem, budget, None, None, slack_from if math.isfinite(slack_from) else None, 0.0, None)
    if not _convex(problem):
        return line
    edge = parity_edge(problem, counts, clock)
    if edge is None:
        return replace(line, infeasible_below=math.inf)
    line = replace(line, smallest_feasible=edge.bound, infeasible_below=edge.bound)
    lossless = parity_edge(problem, counts, clock, lossless=True)
    return line if lossless is None else replace(line, lossless_from=lossless.bound, lossless=lossless.kernel)


def _smallest_budget(problem: Problem, counts: Counts, scale: _Budgets, clock: Clock) -> float | None:
    """Return the smallest budget at which the problem's own bounds can be met."""
    largest = max(scale.values)
    if largest == 0 or not _convex(problem):
        return None
    factor = budget_edge(scale.given(problem, largest), counts, clock)
    return None if factor is None else factor * largest


def _trace(spots: Sequence[_Spot], counts: Counts, least: float | None, clock: Clock, report: Progress) -> list[_Point]:
    """Settle what the edges settle, solve the rest, and put everything back in the order asked for."""
    found = {i: point for i, spot in enumerate(spots) if (point := _settled(spot, counts, least)) is not None}
    # From loose to tight: there is more room at the start, and fewer steps are needed than the other way.
    left = sorted((i for i in range(len(spots)) if i not in found), key=lambda i: spots[i].looseness, reverse=True)
    solved = _solved([spots[i] for i in left], counts, clock)
    try:
        for done, (i, point) in enumerate(zip(left, solved, strict=True)):
            found[i] = point
            share = EDGES_SHARE + (1 - EDGES_SHARE) * (done + 1) / len(left)
            report(f"tracing {len(left)} points", share)
    except TimeLimitError as error:
        unsolved = _Point("unsolved", notes=(str(error),))
        found |= {i: unsolved for i in left if i not in found}
    return [found[i] for i in range(len(spots))]


def _settled(spot: _Spot, counts: Counts, least: float | None) -> _Point | None:
    """Return what the edges say of a point; None where it must be solved."""
    line = spot.line
    if spot.bound is None:
        if least is not None and line.budget is not None and line.budget < least - EDGE_TOLERANCE:
            return _Point("infeasible")
        return UNCHANGED if _meets(spot.problem, counts) else None
    if spot.bound < line.infeasible_below - EDGE_TOLERANCE:
        return _Point("infeasible")
    if line.identity_from is not None and spot.bound >= line.identity_from:
        return UNCHANGED
    if line.lossless is not None and line.lossless_from is not None and spot.bound >= line.lossless_from:
        return _lossless(spot, line.lossless, counts)
    return None


def _meets(problem: Problem, counts: Counts) -> bool:
    """Whether the table meets every bound as it is."""
    if problem.suppresses:
        return False
    return achieved(problem, counts, unchanged(counts)).max_violation <= 0


def _lossless(spot: _Spot, kernel: Kernel, counts: Counts) -> _Point | None:
    """Certify the mapping found at the lossless edge, which meets every larger bound too; zero bounds its loss."""
    problem = tabulated(spot.problem, counts)
    program = compile_problem(problem, counts).program
    nothing = Multipliers(np.zeros(program.n_targets), np.zeros(len(program.parity)), np.zeros(len(program.budgets)))
    point = _certified(problem, counts, kernel, nothing, program)
    return point if point is not None and point.status == "optimal" else None


def _certified(
    problem: Problem, counts: Counts, kernel: Kernel, multipliers: Multipliers, program: Any
) -> _Point | None:
    try:
        return _Point.of(certify(problem, counts, kernel, multipliers, program=program))
    except SolverError:
        return None


def _solved(spots: Sequence[_Spot], counts: Counts, clock: Clock) -> Iterator[_Point]:
    """Solve the points one after the other, warm where that can be done."""
    problem = spots[0].problem if spots else None
    if problem is not None and _convex(problem) and problem.utility.certifiable:
        return _along(spots, counts, clock)
    return (_refitted(spot, counts, clock) for spot in spots)


def _convex(problem: Problem) -> bool:
    """Whether a problem is one convex programme: one with a user's distance is several, an alternating one is not."""
    by_lines = any(parity.distance.holds_functions for parity in problem.parity)
    return not by_lines and not problem.alternates


def _along(spots: Sequence[_Spot], counts: Counts, clock: Clock) -> Iterator[_Point]:
    """Compile and solve one point at a time, each from the last; what is not optimal is fitted anew."""
    problems = [tabulated(spot.problem, counts) for spot in spots]
    mine, theirs = tee(compile_problem(problem, counts) for problem in problems)
    results = solve_along((compiled.program for compiled in theirs), clock)
    for spot, problem, compiled, result in zip(spots, problems, mine, results, strict=True):
        point = None if result is None else _read(problem, counts, compiled, result)
        if point is not None and point.status == "optimal":
            yield point
        else:
            yield _refitted(spot, counts, clock, "the warm start did not reach the optimum; fitted anew")


def _read(problem: Problem, counts: Counts, compiled: Compiled, result: Result) -> _Point | None:
    return _certified(problem, counts, compiled.kernel(result.x), result.multipliers, compiled.program)


def _refitted(spot: _Spot, counts: Counts, clock: Clock, *notes: str) -> _Point:
    """Fit a point as if it stood alone."""
    remaining = clock.remaining if math.isfinite(clock.remaining) else None
    clock.check()
    try:
        return _Point.of(fit(spot.problem, counts, time_limit=remaining).certificate, *notes)
    except TimeLimitError:
        raise
    except InfeasibleError as error:
        # An alternating minimisation without a feasible start proves nothing: another start might do.
        proved = not spot.problem.alternates or error.smallest_parity_bound is not None
        return _Point("infeasible" if proved else "unsolved", notes=(str(error),))
    except SolverError as error:
        return _Point("unsolved", notes=(*notes, str(error)))


def _notes(spot: _Spot, point: _Point, scale: _Budgets | None) -> Iterator[str]:
    where = [] if spot.bound is None else [f"bound {spot.bound:g}"]
    if scale is not None:
        where.append(f"{scale.column.replace('_', ' ')} {spot.line.budget:g}")
    for note in point.notes:
        yield f"{', '.join(where)}: {note}"


def _frame(spots: Sequence[_Spot], points: Sequence[_Point], column: str | None) -> Any:
    columns: dict[str, Any] = {"bound": [math.nan if spot.bound is None else spot.bound for spot in spots]}
    if column is not None:
        columns[column] = [spot.line.budget for spot in spots]
    for name in ("objective", "lower_bound", "gap", "max_violation", "status"):
        columns[name] = [getattr(point, name) for point in points]
    return table(columns)


def _edges(lines: Sequence[_Line], column: str | None) -> Any:
    columns: dict[str, Any] = {} if column is None else {column: [line.budget for line in lines]}
    for name in EDGES:
        found = [getattr(line, name) for line in lines]
        columns[name] = [math.nan if value is None else value for value in found]
    return table(columns)


def _chart_points(rows: list[dict[str, Any]], at: str, line: str | None) -> list[dict[str, Any]]:
    """Return the points as a chart reads them."""
    kept = ("objective", "status")
    return [{"at": row[at], "line": _named(row, line), **{name: row[name] for name in kept}} for row in rows]


def _chart_edges(found: Frontier, at: str, line: str | None) -> list[dict[str, Any]]:
    """Return the edges along the axis of a chart, by the names that it gives them."""
    if at != "bound":
        least = found.smallest_budget
        return [] if least is None else [{"at": least, "line": "", "edge": charts.EDGES[0]}]
    return [
        {"at": row[column], "line": _named(row, line), "edge": name}
        for row in found.edges.to_dict("records")
        for column, name in zip(EDGES, charts.EDGES, strict=True)
        if not math.isnan(row[column])
    ]


def _named(row: dict[str, Any], line: str | None) -> str:
    return "" if line is None else f"{row[line]:g}"


def _held(found: Frontier, at: str, budget: str | None) -> str:
    """Say what is the same at every point of a chart."""
    for column in ("bound", budget):
        if column is not None and column != at and found.frame[column].notna().all():
            return f"{AXES[column]} = {found.frame[column].iloc[0]:g}"
    return ""
