"""The frontier: what each parity bound ε, each budget c, or each pair of them, costs in utility.

The edges come first, and are found, not sampled: below the smallest feasible bound every point is infeasible, from the
lossless bound on nothing is lost, from the identity's on nobody need change. Only the points between are solved, from
loose to tight, each begun where the last one ended. Every point is certified as a fit is; one that is not found optimal
in this way is fitted anew.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, groupby, product, tee
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import check
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable
from evenhand.errors import (
    EvenhandError,
    InfeasibleError,
    Made,
    Option,
    Setting,
    SolverError,
    SpecError,
    TimeLimitError,
)
from evenhand.findings.feasibility import budget_edge, identity_from, parity_edge
from evenhand.fitting import begin, fit_counted
from evenhand.kernel import Kernel, unchanged
from evenhand.kernel.achieved import achieved, distances
from evenhand.mapping import Mapping
from evenhand.optimize.certificate import Certificate, certify
from evenhand.optimize.compile import Compiled, compile_again
from evenhand.optimize.program import Multipliers, Program
from evenhand.optimize.solve import Clock, from_tight, solve_along
from evenhand.optimize.tabulate import tabulated
from evenhand.render.chart import Picture
from evenhand.render.finding import Finding
from evenhand.render.section import Chart, Column, Fact, Kind, Line, Note, Point, Section, Table
from evenhand.resources import Progress, heeding, part_of
from evenhand.spec import Problem, check_problem, weighted_by, weighting_of
from evenhand.tables import frame as table
from evenhand.tolerances import AT_BOUND, DOUBLE_ROUNDING, EDGE_TOLERANCE

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.use.model_frontier import Folded

EDGES_SHARE = 0.2
"""The share of the whole that finding the edges counts for in reports of progress."""

MAPPINGS_SHARE = 0.1
"""The share of the whole that the mappings count for, where a model is trained as well."""

MOST_NOTED = 3
"""How many notes are shown; JSON has all."""

EDGES = ("smallest_feasible", "lossless_from", "identity_from")
TRACED = ("objective", "lower_bound", "gap", "max_violation", "status")
"""The columns of the two tables."""

CHANGED = "changed"
"""One more, where people are counted."""

KINDS: dict[str, Kind] = {"status": "text", CHANGED: "share"}
"""The columns that are no plain numbers."""

AXES = {
    "bound": "parity bound ε",
    "bound_factor": "factor on all parity bounds",
    "budget_limit": "budget c",
    "budget_factor": "factor on all budgets",
}

LOSSLESS_POINTS = 3
"""How many points of a frontier around a mapping lie where nothing is lost and people still change."""

LOOSER = 2.0
"""Where no bound is known from which nothing is lost: how many times the mapping's own bound is solved up to."""

Edge = float | None | dict[float, float | None]
"""An edge, None where there is none; one for each budget where several are swept."""


@dataclass(frozen=True, eq=False, repr=False)
class Frontier(Finding):
    """Utility lost against the parity bound, the budget, or both. Made by :func:`evenhand.frontier`.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per point, in the order asked for: ``bound`` (NaN where the problem's own bounds differ and are kept; in
        a report on a mapping with such bounds it is ``bound_factor``, on all of them),
        where budgets are swept ``budget_limit`` (the one limit of the problem) or ``budget_factor`` (on all its
        limits), then ``objective``, ``lower_bound``, ``gap``, ``max_violation`` and ``status``: ``optimal``,
        ``feasible`` or ``local`` as in a certificate, ``infeasible``, or ``unsolved`` where a solver failed or the
        time ran out (see the notes). With ``people`` also ``changed``, the share of people whom the mapping of that
        point is expected to change. With an ``estimator`` also the model's measures, each with the ends of its 95 %
        interval, such as ``auc``, ``auc_low`` and ``auc_high``: ``auc``; ``accuracy`` at the threshold; ``log_loss``;
        ``calibration``, the mean difference of score and share within ten levels of the score; ``apart``, the largest
        ratio of two groups' mean scores less one, for either class: what is bounded; ``decisions_apart``, the largest
        difference of two groups' selection rates at the threshold; ``worst_gap``, the same at the worst of all
        thresholds; and ``chance_gap``, the worst gap to expect if groups had nothing to do with scores. Numbers that
        do not exist are NaN.
    edges : pandas.DataFrame
        One row per budget: ``smallest_feasible``, ``lossless_from`` and ``identity_from``; NaN where there is none.
    smallest_budget : float or None
        Where budgets are swept at the problem's own bounds: the smallest limit (or factor) at which they can be met.
    notes : tuple of Note
        What was remarkable at which point, as ``to_json()`` writes it.
    utility : str
        The name of the utility measure.
    bare : pandas.DataFrame or None
        With an ``estimator``: one row, the same measures of the estimator trained without a bound.
    confidence : float or None
        The confidence of the problem, with whose margins every point is.
    """

    frame: pd.DataFrame
    edges: pd.DataFrame
    smallest_budget: float | None
    notes: tuple[Note, ...]
    utility: str
    bare: pd.DataFrame | None = None
    confidence: float | None = None

    @property
    def sections(self) -> tuple[Section, ...]:
        """All of it as data."""
        return tuple(_sections(self))

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

    @property
    def bound_column(self) -> str:
        """The column that the parity bounds are in: ``bound``, or ``bound_factor`` where they differ and all change."""
        return "bound_factor" if "bound_factor" in self.frame else "bound"

    def chart(self, *, title: str | None = None, chosen: tuple[float, float] | None = None) -> Picture:
        """Return the chart of the utility lost, whose ``save`` writes SVG, HTML or PNG (with the extra ``charts``).

        Along ε with a panel for each budget; along the budgets where only they were swept. Where people were counted,
        those who change have a panel beside the loss. ``chosen``, a place on that axis and an objective, is marked.
        With an estimator it is the chart of the model instead: AUC, log loss, and the disparity of mean scores and
        selection rates, along ε.
        """
        fields = {} if title is None else {"title": check.text("title", title)}
        if self.bare is not None:
            if chosen is not None:
                raise SpecError("chosen marks a place on the curve of the utility; leave it out with an estimator")
            return Picture((_model_chart(self.frame, self.bare, fields),))
        points: tuple[Point, ...] = ()
        if chosen is not None:
            expected = "a place and an objective, such as (0.1, 0.02)"
            marked = check.listed("chosen", chosen, expected)
            if len(marked) != 2:
                raise check.refused("chosen", expected, chosen)
            place, loss = check.finite("chosen: the place", marked[0]), check.finite("chosen: the objective", marked[1])
            points = (Point("chart.here", place, loss),)
        budget = self.budget_column
        along_budgets = budget is not None and self.frame["bound"].nunique() <= 1
        at = budget if along_budgets and budget is not None else self.bound_column
        many = budget is not None and not along_budgets and len(self.edges) > 1

        def panel(row: dict[Hashable, Any]) -> str | None:
            return f"{AXES[str(budget)]} = {row[budget]:g}" if many else None

        edges = [(panel(row), row) for row in self.edges.to_dict("records")] if at == self.bound_column else []
        lines = [line for name, row in edges for line in _edge_lines(row, name)]
        if at == budget and self.smallest_budget is not None:
            lines = [Line("chart.smallest", self.smallest_budget, shade="below")]
        heights = ("objective", *([CHANGED] if CHANGED in self.frame else []))
        rows = [
            (panel(row), row[at], *(row[name] for name in heights))
            for row in self.frame.to_dict("records")
            if not math.isnan(row["objective"])
        ]
        # What is the same at every point is said once.
        others = [column for column in (self.bound_column, budget) if column is not None and column != at and not many]
        held = [f"{AXES[c]} = {self.frame[c].iloc[0]:g}" for c in others if self.frame[c].notna().all()]
        columns = (
            Column("panel", own=True),
            Column(at, "number"),
            Column("objective", "cost"),
            Column(CHANGED, "rate"),
        )
        drawn = Table("frontier", columns[: 2 + len(heights)], tuple(_to_the_edges(rows, edges)))
        return Picture((Chart(
            "chart.frontier", "lines", drawn, (), (at,), heights, panel="panel" if many else None,
            lines=tuple(lines), points=points,
            fields={**fields, "along": ", ".join([AXES[at], *held[:1]]), "utility": self.utility},
        ),))  # fmt: skip

    def _edge(self, name: str) -> Edge:
        found = [None if math.isnan(value) else value for value in self.edges[name].tolist()]
        if len(found) == 1 or self.budget_column is None:
            return found[0]
        return dict(zip(self.edges[self.budget_column].tolist(), found, strict=True))

    def __repr__(self) -> str:
        counted = ", ".join(f"{n} {status}" for status, n in self.frame["status"].value_counts().items())
        return f"<Frontier of {len(self.frame)} points ({counted}): smallest feasible ε {self.smallest_feasible}>"


def _edge_lines(row: dict[Hashable, Any], panel: str | None) -> Iterator[Line]:
    """Return the edges of a curve; what is feasible from zero on has no infeasible region."""
    for key, column in zip(("chart.smallest", "chart.lossless", "chart.identity"), EDGES, strict=True):
        shade: Any = "below" if column == "smallest_feasible" else None
        if not math.isnan(row[column]) and not (shade and row[column] <= AT_BOUND):
            yield Line(key, row[column], panel=panel, shade=shade)


def _to_the_edges(
    rows: Sequence[tuple[Any, ...]], edges: Sequence[tuple[str | None, dict[Hashable, Any]]]
) -> Iterator[tuple[Any, ...]]:
    """Return the points of every curve up to where nobody need change; where nothing is lost there, it ends at zero."""
    ends = {panel: row for panel, row in edges if not math.isnan(row["identity_from"])}
    for panel in dict.fromkeys(row[0] for row in rows):
        own = sorted((row for row in rows if row[0] == panel), key=lambda row: row[1])
        if panel not in ends:
            yield from own
            continue
        end = ends[panel]["identity_from"]
        yield from (row for row in own if row[1] <= end * (1 + AT_BOUND))
        if (own[-1][1] < end and ends[panel]["lossless_from"] <= end) or own[-1][1] > end * (1 + AT_BOUND):
            yield (panel, end, *(0.0 for _ in own[0][2:]))


MEASURES = {"auc": None, "log_loss": None, "apart": "bound", "worst_gap": "chance_gap"}
"""What is drawn of a model, each with the column of what it is compared with."""


def _model_chart(frame: pd.DataFrame, bare: pd.DataFrame, fields: dict[str, Any]) -> Chart:
    """Return the chart of a model's measures along a parity bound, with intervals, beside the model without one."""
    points = frame[frame["auc"].notna()].sort_values("bound").to_dict("records")
    (without,) = bare.to_dict("records")
    rows: list[tuple[Any, ...]] = []
    for name, other in MEASURES.items():
        rows += [(name, "model", p["bound"], p[name], p[f"{name}_low"], p[f"{name}_high"]) for p in points]
        curve = {"bound": "bound", "chance_gap": "chance alone"}.get(other or "")
        rows += [(name, curve, p["bound"], p[other], None, None) for p in points] if other else []
    columns = (
        Column("measure"), Column("curve"), Column("bound", "number"), Column("value", "number"),
        Column("low", "number"), Column("high", "number"),
    )  # fmt: skip
    return Chart(
        "chart.models", "lines", Table("models", columns, tuple(rows)), ("curve",), ("bound",), ("value",),
        low="low", high="high", panel="measure", own_scale=True, notes=(Note("chart.out_of_fold"),), fields=fields,
        lines=tuple(Line("chart.bare", without[name], axis="y", panel=name) for name in MEASURES),
    )  # fmt: skip


def _sections(found: Frontier) -> Iterator[Section]:
    """Yield the sections in the order in which they are read."""
    fields, notes = {"edges": Note("frontier.edges")}, []
    if sure := found.confidence is not None:
        fields = {"edges": Note("frontier.confidence", {"confidence": found.confidence})}
        notes = [Note("frontier.margins")]
    budget = Fact("smallest_budget", found.smallest_budget, "number", detail=found.smallest_budget is None)
    edges = _numbers_of("by_budget", found.edges, most=0 if sure else None)
    yield Section("edges", facts=(budget,), tables=(edges,), notes=tuple(notes), fields=fields)
    remarks = Table("remarks", (Column("remark"),), tuple((note,) for note in found.notes), most=MOST_NOTED)
    yield Section("points", tables=(_numbers_of("every_point", found.frame), remarks))
    if found.bare is not None:
        yield Section("without_a_bound", tables=(_numbers_of("measures", found.bare),))


def _numbers_of(key: str, frame: pd.DataFrame, most: int | None = None) -> Table:
    """Return a table; a terminal has no room for the ends of intervals."""
    names = list(map(str, frame.columns))
    detail = [name for name in names if name in ("lower_bound", "max_violation") or name.endswith(("_low", "_high"))]
    return Table.of(key, frame, {**dict.fromkeys(names, "number"), **KINDS}, detail=detail, most=most)


def frontier(
    problem: Problem,
    frame: AnyTable | Counts,
    bounds: Sequence[float] | None = None,
    budgets: Sequence[float] | None = None,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    time_limit: float | None = None,
    people: bool = False,
    estimator: Any = None,
    folds: int | None = None,
    threshold: float | None = None,
    progress: Progress | None = None,
) -> Frontier:
    """Trace what the utility loses as the parity bound, the budgets, or both are changed, and what a model loses.

    Parameters
    ----------
    problem : Problem
        All else that is asked. Its tie-break is not used, unless ``people`` are counted: points have no mapping, and
        the tie-break leaves Δ as it is.
    frame : dataframe, path or Counts
        The table: one row per person; with ``frequencies``, one row for so many people.
    bounds : sequence of float, optional
        Parity bounds ε; each in turn takes the place of every finite bound of the problem. None keeps its own.
    budgets : sequence of float, optional
        Where the problem has one budget with one plain limit, such as ``ExpectedDistortion(0.5)``: that limit. Else
        factors on all limits. With ``bounds`` as well, every combination is traced. None keeps the problem's own.
    weights : str or sequence of float, optional
        Survey weights: a column of the table, or for a dataframe one number per row. A row is one person, who counts
        more or less. By default what the problem says.
    frequencies : str or sequence of int, optional
        A table of counts: a column, or for a dataframe one integer per row. A row stands for so many people.
    time_limit : float, optional
        Seconds after which to stop; points that were not reached are then ``unsolved``.
    people : bool
        Whether to find out how many people change at every point, too. Each point is then fitted by itself, with the
        problem's tie-break, which takes a few times as long.
    estimator : classifier, optional
        With ``predict_proba``, for an outcome of two values of which the last is scored. It is cloned and trained at
        every bound, as ``PreprocessedClassifier(estimator, OptimizedPreprocessor(problem, bound=ε))``, on all folds of
        the table but one, and scores the people of that one. Needs a dataframe with one row per person, ``bounds``
        without ``budgets``, and the extra ``sklearn``.
    folds : int, optional
        With an estimator: how many folds the table is cut into; 5 by default.
    threshold : float, optional
        With an estimator: the score from which on a person is selected; 0.5 by default.
    progress : callable, optional
        Called with the name of the stage and the share that is done.

    Returns
    -------
    Frontier
        With ``frame``, the exact edges, and ``chart()``.

    Notes
    -----
    With ``suppress_protected`` the identity is no permitted mapping, so ``identity_from`` is None. With
    ``"alternating"``, which is not convex, and with a user's distance, which is a polygon of its own at every bound,
    the other edges are not known exactly and are None as well; every point is then fitted by itself. So it is with
    ``confidence``, whose margins are others at every bound: no edge is known then.

    The intervals of a model's measures are about who is scored (people are drawn again 200 times), not about who is
    trained on. A bound that some fold cannot meet costs no training; a warning names it.

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

    What a bound costs a model, on people whom it was not trained on:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> model = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> costs = eh.frontier(data.problem, data.frame, bounds=[0.1, 0.3], estimator=model, folds=3)
    >>> costs.frame[["bound", "status", "auc", "apart"]].round(3)
       bound   status   auc  apart
    0    0.1  optimal  0.70  0.069
    1    0.3  optimal  0.71  0.314
    >>> costs.bare[["auc", "apart"]].round(3)
        auc  apart
    0  0.72  0.812
    """
    check_problem(problem)
    if bounds is None and budgets is None:
        raise SpecError("say what to trace: ", Option("bounds"), " for ε, ", Option("budgets"), " for c, or both")
    if bounds is not None and not problem.parity:
        lacking = Setting("parity", [Made("PairwiseParity", ...)])
        raise SpecError("bounds are to be swept, but the problem has no parity; give it ", lacking)
    asked = [problem.one_bound] if bounds is None else _numbers("bounds", bounds)
    scale, people = _Budgets.of(problem, budgets), check.flag("people", people)
    weighting = weighting_of(problem, weights, frequencies)
    problem = weighted_by(problem, weighting)
    counting = {} if weighting is None else {weighting.option: weighting.given}
    alone = {"budgets": budgets, **counting, "time_limit": time_limit}
    model = _folded(estimator, problem, frame, {"folds": folds, "threshold": threshold}, alone)
    counts, clock, told = begin(problem, frame, weighting, time_limit, progress)
    report = told if model is None else part_of(told, 0.0, MAPPINGS_SHARE)
    if not people and problem.confidence is None:
        # Which of several optima is found decides nothing here; but the margins of a confidence come from it.
        problem = replace(problem, tie_break=None)
    with heeding(clock.check):
        found = _lines(problem, counts, scale, clock, report)
        lines = [replace(line, table=frame, weighting=weighting) for line in found]
        least = None
        if bounds is None and scale is not None and max(scale.values) > 0 and _convex(problem):
            report("finding the smallest budget", EDGES_SHARE)
            factor = budget_edge(scale.given(problem, max(scale.values)), counts, clock)
            least = None if factor is None else factor * max(scale.values)
        spots = [_Spot.at(line, bound) for line, bound in product(lines, asked)]
        points = _trace(spots, counts, least, clock, report, people=people)
    traced = _traced(problem, spots, points, lines, scale, least, people=people)
    if model is not None:
        traced = _with_model(traced, model, part_of(told, MAPPINGS_SHARE, 1.0))
    told("done", 1.0)
    return traced


def _folded(estimator: Any, problem: Problem, frame: Any, own: dict[str, Any], alone: dict[str, Any]) -> Folded | None:
    """Return the table in folds for an estimator; None without one, where its ``own`` options are refused.

    Options that are for mappings ``alone`` are refused with one.
    """
    refused = [name for name, value in (own if estimator is None else alone).items() if value is not None]
    if estimator is None:
        if refused:
            raise SpecError(f"{refused[0]} is for a model: write estimator=... as well, or leave {refused[0]} out")
        return None
    if refused:
        raise SpecError(
            f"with an estimator, each row is one person and only parity bounds are traced; leave {refused[0]} out"
        )
    from evenhand.use.model_frontier import Folded

    folds, threshold = own["folds"], own["threshold"]
    return Folded.of(estimator, problem, frame, 5 if folds is None else folds, 0.5 if threshold is None else threshold)


def _with_model(found: Frontier, model: Folded, report: Progress) -> Frontier:
    """Add what the model loses at the bounds of a frontier."""
    from evenhand.use.model_frontier import model_costs

    costs, bare, notes = model_costs(model, found.frame["bound"].tolist(), report)
    said = tuple(Note("text", {"text": text}) for text in notes)
    return replace(found, frame=found.frame.join(costs), bare=bare, notes=found.notes + said)


def frontier_around(
    problem: Problem,
    counts: Counts,
    own: Certificate,
    changed: float,
    *,
    points: int,
    progress: Progress | None = None,
) -> Frontier:
    """Trace the frontier around a fitted mapping, from its own bound outwards, and count whom every point changes.

    ``points`` bounds are solved, evenly spaced on either side: towards the smallest feasible bound, and towards where
    nothing is lost. How many is all that limits the work, so that a slow machine finds the same. The mapping itself,
    of which ``own`` is the certificate and which changes a share of people, is on the frontier as it is. Where the
    problem's parity bounds differ, it is a factor on all of them that changes, the mapping's own being 1, and the edges
    but that of the identity are not known.
    """
    counts, clock, report = begin(problem, counts, None, None, progress)
    chosen = problem.one_bound
    factors = chosen is None
    line = _Line(problem, None, None, None, _identity_factor(problem, counts), 0.0, None)
    if not factors:
        (line,) = _lines(problem, counts, None, clock, report)
    here = 1.0 if chosen is None else chosen
    spots = [_Spot.at(line, bound, factors) for bound in sorted({here, *_places(line, here, points)})]
    # As it is: a loss that is rounding is still the mapping's own.
    itself = replace(_Point.of(own), objective=own.objective, changed=changed)
    found = _trace(spots, counts, None, clock, report, start=(here, itself), people=True)
    traced = _traced(problem, spots, found, [line], None, None, factors=factors, people=True)
    report("done", 1.0)
    return traced


def _identity_factor(problem: Problem, counts: Counts) -> float | None:
    """Return the factor on all parity bounds from which nobody need change; None where there is none."""
    if problem.suppression.redraws:
        return None
    needed = 0.0
    for part in distances(problem, counts, unchanged(counts)):
        beyond = part.value > 0
        with np.errstate(divide="ignore"):
            needed = max(needed, float(np.max(part.value[beyond] / part.compared.bound[beyond], initial=0.0)))
    return needed if math.isfinite(needed) else None


def _places(line: _Line, chosen: float, points: int) -> list[float]:
    """Return the bounds to solve around the chosen one, as far as where nobody need change."""
    known = [edge for edge in (line.lossless_from, line.identity_from) if edge is not None]
    loose = min(known, default=LOOSER * chosen)
    tight = min(line.smallest_feasible or 0.0, loose, chosen)
    if chosen < loose:
        # Evenly on either side, so that both begin beside the chosen bound.
        tighter = min(max(round(points * (chosen - tight) / (loose - tight)), 1), points - 1)
        sides = [np.linspace(chosen, tight, tighter + 1)[1:], np.linspace(chosen, loose, points - tighter + 1)[1:]]
    else:
        sides = [np.linspace(loose, tight, points)]
    # Where nothing is lost people still change, until nobody need: there the frontier ends.
    last = [np.linspace(loose, max(known), LOSSLESS_POINTS + 1)[1:]] if known and max(known) > loose else []
    places = np.concatenate([*sides, *last])
    # In steps that a solver tells apart; never below the edge (a thousandth of a step is rounding), and no zero with a
    # sign.
    whole = np.unique(np.ceil(places / EDGE_TOLERANCE - 1e-3) * EDGE_TOLERANCE + 0.0)
    return [float(bound) for bound in whole if abs(bound - chosen) > EDGE_TOLERANCE]


def _traced(
    problem: Problem, spots: Sequence[_Spot], points: Sequence[_Point], lines: Sequence[_Line],
    scale: _Budgets | None, least: float | None, *, factors: bool = False, people: bool = False,
) -> Frontier:  # fmt: skip
    """Put what was found into tables, with what was remarkable."""
    notes = tuple(note for spot, point in zip(spots, points, strict=True) for note in _notes(spot, point, scale))
    swept = () if scale is None else (scale.column,)
    rows = {
        "bound_factor" if factors else "bound": [_number(spot.bound) for spot in spots],
        **{column: [spot.line.budget for spot in spots] for column in swept},
        **{name: [getattr(point, name) for point in points] for name in (*TRACED, *[CHANGED] * people)},
    }
    edges = {
        **{column: [line.budget for line in lines] for column in swept},
        **{name: [_number(getattr(line, name)) for line in lines] for name in EDGES},
    }
    return Frontier(
        table(rows), table(edges), least, notes, type(problem.utility).__name__, confidence=problem.confidence
    )


def _number(value: float | None) -> float:
    return math.nan if value is None else value


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
        if not problem.charges:
            lacking = Setting("budget", [Made("ExpectedDistortion", ...)])
            raise SpecError("budgets are to be swept, but the problem has none; give it ", lacking)
        plain = problem.one_limit is not None
        values = _numbers("budgets", budgets)
        if plain and problem.charges[0].threshold is not None:
            values = [check.number("a limit on a probability, of budgets,", value, high=1) for value in values]
        return cls(tuple(values), "budget_limit" if plain else "budget_factor")

    def given(self, problem: Problem, value: float) -> Problem:
        return problem.with_limits(lambda own: value if self.column == "budget_limit" else own * value)


@dataclass(frozen=True, eq=False)
class _Line:
    """One budget: the problem with it, its edges, and the largest bound below which nothing is feasible for certain.

    ``like`` is the problem compiled, with some bounds; None where it has not been. ``table`` and ``weighting`` are
    those of which the counts are, for folds of them.
    """

    problem: Problem
    budget: float | None
    smallest_feasible: float | None
    lossless_from: float | None
    identity_from: float | None
    infeasible_below: float
    lossless: Kernel | None
    like: Compiled | None = None
    table: Any = None
    weighting: Weighting | None = None


@dataclass(frozen=True, eq=False)
class _Spot:
    """A point to be traced: its problem, on its line; the bound is None where the problem's own bounds differ."""

    line: _Line
    bound: float | None
    problem: Problem

    @classmethod
    def at(cls, line: _Line, bound: float | None, factor: bool = False) -> _Spot:
        """Put a bound into the problem of a line, or a factor on its bounds."""
        if bound is None:
            return cls(line, None, line.problem)
        given = float(bound)
        return cls(line, bound, line.problem.with_bounds(lambda own: own * given if factor else given))


@dataclass(frozen=True)
class _Point:
    """What is known of a point."""

    status: str
    objective: float = math.nan
    lower_bound: float = math.nan
    gap: float = math.nan
    max_violation: float = math.nan
    notes: tuple[str | EvenhandError, ...] = ()
    changed: float = math.nan

    @classmethod
    def of(cls, certificate: Certificate, *more: str) -> _Point:
        """Read a certificate."""
        bound, gap = (math.nan if v is None else v for v in (certificate.lower_bound, certificate.gap))
        # An alternating minimisation always tells its story, which is nothing remarkable.
        notes = more if certificate.history else certificate.notes + more
        objective = certificate.objective if certificate.objective > DOUBLE_ROUNDING else 0.0
        return cls(certificate.status, objective, bound, gap, certificate.max_violation, notes)


UNCHANGED = _Point("optimal", 0.0, 0.0, 0.0, 0.0, changed=0.0)


def _numbers(what: str, values: Any) -> list[float]:
    """Return the finite numbers of at least zero in a sequence or array."""
    listed = check.listed(what, values, "a list of numbers, such as [0.1, 0.2]")
    numbers = [check.finite(f"each of {what}", value, low=0) for value in listed]
    if not numbers:
        raise SpecError(f"{what} must list at least one number")
    return numbers


def _lines(problem: Problem, counts: Counts, scale: _Budgets | None, clock: Clock, report: Progress) -> list[_Line]:
    """Find the edges at every budget."""
    budgets: tuple[float | None, ...] = (None,) if scale is None else scale.values
    lines = []
    for done, budget in enumerate(budgets):
        # Two edges at each budget, the smallest feasible bound and the lossless one.
        share = EDGES_SHARE / len(budgets)
        report("finding the smallest feasible bound", share * done)
        given = problem if scale is None or budget is None else scale.given(problem, budget)
        moves_anyway = given.suppression.redraws or given.confidence is not None
        slack_from = math.inf if moves_anyway else identity_from(given, counts)
        line = _Line(given, budget, None, None, slack_from if math.isfinite(slack_from) else None, 0.0, None)
        if _convex(given):
            edge = parity_edge(given, counts, clock)
            line = replace(line, infeasible_below=math.inf if edge is None else edge.bound)
            if edge is not None:
                line = replace(line, smallest_feasible=edge.bound, like=edge.compiled)
                report("finding where nothing is lost", share * (done + 0.5))
                lossless = parity_edge(given, counts, clock, lossless=True, like=edge.compiled)
                if lossless is not None:
                    line = replace(line, lossless_from=lossless.bound, lossless=lossless.kernel)
        lines.append(line)
    return lines


def _trace(
    spots: Sequence[_Spot], counts: Counts, least: float | None, clock: Clock, report: Progress,
    start: tuple[float, _Point] | None = None, *, people: bool = False,
) -> list[_Point]:  # fmt: skip
    """Settle what the edges settle, solve the rest, and put everything back in the order asked for.

    ``start`` is a bound at which the point is known already; the others are solved from there outwards. Where
    ``people`` are counted every point is fitted by itself: who changes is settled by the tie-break.
    """
    found = {i: point for i, spot in enumerate(spots) if (point := _settled(spot, counts, least)) is not None}
    if people:
        # Edges may tell what a mapping loses, but not whom it changes.
        found = {i: point for i, point in found.items() if math.isnan(point.objective) or not math.isnan(point.changed)}
    if start is not None:
        found |= {i: start[1] for i, spot in enumerate(spots) if spot.bound == start[0]}
    tight_first = sorted(range(len(spots)), key=lambda i: (spots[i].line.budget or 0.0, spots[i].bound or 0.0))
    left = [i for i in tight_first if i not in found]
    upwards = bool(left) and _from_tight(spots[left[0]], counts)
    if not upwards:
        # From loose to tight: there is more room at the start, and fewer steps are needed than the other way.
        left.reverse()
    runs = [left]
    if start is not None and not upwards:
        tighter = [i for i in left if (spots[i].bound or 0.0) < start[0]]
        runs = [tighter, [i for i in reversed(left) if i not in tighter]]
    done = 0

    def tell(more: str = "") -> None:
        points = f"{len(left)} point{'s' * (len(left) != 1)}"
        report(f"tracing {points}, {done} done{more}", EDGES_SHARE + (1 - EDGES_SHARE) * done / len(left))

    solve = _each_refitted if people else _solved
    solved = chain.from_iterable(solve([spots[i] for i in run], counts, clock, tell) for run in runs)
    try:
        if left:
            tell()
        for i, point in zip(chain.from_iterable(runs), solved, strict=True):
            found[i] = point
            done += 1
            tell()
    except TimeLimitError as error:
        unsolved = _Point("unsolved", notes=(error,))
        found |= {i: unsolved for i in left if i not in found}
    return [found[i] for i in range(len(spots))]


def _from_tight(spot: _Spot, counts: Counts) -> bool:
    """Whether the points are solved from the tightest on, which this is."""
    if not _convex(spot.problem):
        return False
    try:
        return from_tight(compile_again(spot.line.like, tabulated(spot.problem, counts), counts).program)
    except TimeLimitError:
        # There will be no point at all.
        return False


def _settled(spot: _Spot, counts: Counts, least: float | None) -> _Point | None:
    """Return what the edges say of a point; None where it must be solved."""
    line, problem = spot.line, spot.problem
    if spot.bound is None:
        if least is not None and line.budget is not None and line.budget < least - EDGE_TOLERANCE:
            return _Point("infeasible")
        moves_anyway = problem.suppression.redraws or problem.confidence is not None
        met = not moves_anyway and achieved(problem, counts, unchanged(counts)).max_violation <= 0
        return UNCHANGED if met else None
    if spot.bound < line.infeasible_below - EDGE_TOLERANCE:
        return _Point("infeasible")
    if line.identity_from is not None and spot.bound >= line.identity_from:
        return UNCHANGED
    if line.lossless is not None and line.lossless_from is not None and spot.bound >= line.lossless_from:
        # The mapping found at the lossless edge meets every larger bound too, and zero bounds its loss.
        problem = tabulated(problem, counts)
        program = compile_again(line.like, problem, counts).program
        zeros = (np.zeros(size) for size in (program.n_targets, len(program.parity), len(program.budgets)))
        return _optimal(problem, counts, line.lossless, Multipliers(*zeros), program)
    return None


def _optimal(
    problem: Problem, counts: Counts, kernel: Kernel, multipliers: Multipliers, program: Program
) -> _Point | None:
    """Certify a mapping; None where that does not show it to be optimal."""
    try:
        point = _Point.of(certify(problem, counts, kernel, multipliers, program=program))
    except SolverError:
        return None
    return point if point.status == "optimal" else None


def _convex(problem: Problem) -> bool:
    """Whether a problem is one convex program at all bounds: an alternating one is not convex; a user's distance has
    other lines, and a confidence other margins, at every bound."""
    by_lines = any(parity.distance.holds_functions for parity in problem.parity)
    return not by_lines and problem.suppression.convex and problem.confidence is None


def _each_refitted(
    spots: Sequence[_Spot], counts: Counts, clock: Clock, tell: Callable[[str], None]
) -> Iterator[_Point]:
    """Fit every point as if it stood alone."""
    return (_refitted(spot, counts, clock, tell) for spot in spots)


def _solved(spots: Sequence[_Spot], counts: Counts, clock: Clock, tell: Callable[[str], None]) -> Iterator[_Point]:
    """Solve one point at a time, each begun where the last one ended; what is not optimal is fitted anew."""
    if not spots or not _convex(spots[0].problem) or not spots[0].problem.utility.certifiable:
        yield from _each_refitted(spots, counts, clock, tell)
        return
    # Compiled as they are asked for, by the solver and then here, so that one programme is held at a time.
    mine, theirs = tee(_compiled(spots, counts))
    results = solve_along((compiled.program for _, compiled in theirs), clock)
    for spot, (problem, compiled), result in zip(spots, mine, results, strict=True):
        point = None
        if result is not None:
            point = _optimal(problem, counts, compiled.kernel(result.x), result.multipliers, compiled.program)
        yield point or _refitted(spot, counts, clock, tell, "the warm start did not reach the optimum; fitted anew")


def _compiled(spots: Sequence[_Spot], counts: Counts) -> Iterator[tuple[Problem, Compiled]]:
    """Compile the points' problems one after the other; at one budget they differ in their bounds alone."""
    for _, same in groupby(spots, key=lambda spot: id(spot.line)):
        like: Compiled | None = None
        for spot in same:
            problem = tabulated(spot.problem, counts)
            like = compile_again(like or spot.line.like, problem, counts)
            yield problem, like


def share_changed(mapping: Mapping) -> float:
    """Return the share of people whom a mapping changes; in their features, where the outcome is drawn anew."""
    done = mapping.achieved
    changed = done.features_changed if mapping.problem.suppression.redraws else done.changed
    return float(mapping.counts.probability @ changed)


def _refitted(spot: _Spot, counts: Counts, clock: Clock, tell: Callable[[str], None], *notes: str) -> _Point:
    """Fit a point as if it stood alone."""
    clock.check()
    table = counts if spot.line.table is None else spot.line.table

    def report(stage: str, share: float) -> None:
        tell(f"; {stage}")

    try:
        found = fit_counted(spot.problem, counts, table, spot.line.weighting, clock, report)
        return replace(_Point.of(found.certificate, *notes), changed=share_changed(found))
    except TimeLimitError:
        raise
    except InfeasibleError as error:
        return _Point("infeasible", notes=(error,))
    except SolverError as error:
        return _Point("unsolved", notes=(*notes, error))


def _notes(spot: _Spot, point: _Point, scale: _Budgets | None) -> Iterator[Note]:
    """Yield what is remarkable of a point."""
    where = [] if spot.bound is None else [Note("frontier.bound", {"bound": spot.bound})]
    if scale is not None:
        key = "frontier.budget_limit" if scale.column == "budget_limit" else "frontier.budget_factor"
        where.append(Note(key, {"budget": spot.line.budget}))
    for what in point.notes:
        yield Note("frontier.at", {"where": where, "what": what})
