"""The frontier of a model: what a parity bound costs it, cross-validated, beside how far apart its groups really are.

Knows the one line, preprocessors and what is measured of scores; the mathematics is elsewhere.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.errors import DataError, EvenhandWarning, InfeasibleError, SolverError, SpecError, some_of, warn
from evenhand.findings.decisions import gap_floor
from evenhand.findings.feasibility import smallest_parity_bound
from evenhand.findings.scores import MEASURES, Judged
from evenhand.report.charts import Chart, Panel, models
from evenhand.resources import Progress, silent
from evenhand.spec import Problem
from evenhand.tables import Frame, arrays, dealt_folds, read
from evenhand.tables import frame as table_of
from evenhand.use.estimator import OptimizedPreprocessor, PreprocessedClassifier
from evenhand.use.estimator.conventions import classes_of
from evenhand.use.fitting import EDGE_TOLERANCE
from evenhand.use.oneline import People, Wanted, fit_one_line, scored_out_of_fold
from evenhand.use.scoring import TrainingRows, probabilities, trained
from evenhand.use.training import last_step, takes_weights

if TYPE_CHECKING:
    import pandas as pd

TIMES = 200
"""How often people are drawn again for the intervals."""

FITTED, INFEASIBLE, UNSOLVED = "fitted", "infeasible", "unsolved"

PANELS = (
    Panel("auc", "AUC"),
    Panel("log_loss", "log loss"),
    Panel("apart", "mean scores apart (ratio less one)", from_zero=True, limit="bound", limit_name="the bound"),
    Panel("worst_gap", "selection rates apart, at worst", from_zero=True, limit="chance_gap", limit_name="by chance"),
)
"""What the chart shows."""


@dataclass(frozen=True, eq=False, repr=False)
class ModelFrontier:
    """What a parity bound costs a model. Made by :func:`evenhand.model_frontier`.

    Attributes
    ----------
    frame : pandas.DataFrame
        One row per bound, in the order asked for: ``bound``, ``status`` (``fitted``, ``infeasible``, or ``unsolved``
        where a solver failed), and each measure with the ends of its 95 % interval, such as ``auc``, ``auc_low`` and
        ``auc_high``: ``auc``; ``accuracy`` at the threshold; ``log_loss``; ``calibration``, the mean difference of
        score and share within ten levels of the score; ``apart``, how far apart the groups' mean scores are, as their
        largest ratio less one, for either class: what is bounded; ``decisions_apart``, the largest difference of two
        groups' shares at or above the threshold; ``worst_gap``, the same at the worst of all thresholds; and
        ``chance_gap``, what the worst gap would be, on average, if groups had nothing to do with scores. NaN where
        nothing was fitted.
    bare : pandas.DataFrame
        One row: the same of the estimator alone.
    smallest_feasible : float or None
        The smallest bound that can be met in every part of the table; zero where outcomes alone change; None where no
        bound can be, or where it is not known.
    notes : tuple of str
        What the fits warned of, once each.
    """

    frame: pd.DataFrame
    bare: pd.DataFrame
    smallest_feasible: float | None
    notes: tuple[str, ...]

    def chart(self, *, title: str = "What a bound costs the model") -> Chart:
        """Return the chart of AUC, log loss, and how far apart mean scores and decisions are, along the bound."""
        title = check.text("title", title)
        known: list[Any] = [row for row in self.frame.to_dict("records") if row["status"] == FITTED]
        bare: Any = self.bare.to_dict("records")[0]
        said = [f"{row['bound']:g}: AUC {row['auc']:.3f}, mean scores {row['apart']:.3f} apart" for row in known]
        return models(
            sorted(known, key=lambda row: float(row["bound"])),
            bare,
            PANELS,
            along="parity bound ε",
            title=title,
            subtitle="of people whom the model was not trained on; shaded: 95 % intervals",
            description=f"{title}, by parity bound. {'; '.join(said)}.",
        )

    def __repr__(self) -> str:
        counted = ", ".join(f"{n} {status}" for status, n in self.frame["status"].value_counts().items())
        return f"<ModelFrontier of {len(self.frame)} bounds ({counted})>"


def model_frontier(
    estimator: Any,
    table: Frame,
    *,
    bounds: Sequence[float],
    protected: Sequence[str] | None = None,
    outcome: str | None = None,
    problem: Problem | None = None,
    folds: int = 5,
    threshold: float = 0.5,
    seed: int = 0,
    progress: Progress | None = None,
) -> ModelFrontier:
    """Trace what parity bounds cost a model, on people whom it was not trained on.

    The table is cut into parts. For each of them the estimator is trained as :class:`PreprocessedClassifier` does, on
    the other parts and at every bound, and scores the people of that part; what is measured is measured of all parts
    together. Needs the extra ``sklearn``.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; it is cloned.
    table : dataframe
        One row per person: protected columns, outcome, and whatever else the estimator is to see.
    bounds : sequence of float
        Parity bounds ε.
    protected, outcome : sequence of str, str
        Who is compared, and what is learned, a column of two values of which the last is scored: the one line,
        ``PreprocessedClassifier(estimator, protected=..., bound=ε)``.
    problem : Problem, optional
        Instead of these: ``PreprocessedClassifier(estimator, OptimizedPreprocessor(problem, bound=ε))``. A bound that
        cannot be met costs no training.
    folds : int
        How many parts the table is cut into, by what rows hold.
    threshold : float
        From which score on a person is taken to be selected.
    seed : int
        Of the intervals, for which people are drawn again.
    progress : callable, optional
        Called with the name of the stage and the share that is done.

    Returns
    -------
    ModelFrontier
        With ``frame``, ``bare`` and ``chart()``.

    Notes
    -----
    The scores out of fold that make the levels of the one line are the same at every bound, and are made once. The
    intervals are about the people who are judged, not about those who were fitted: models are not trained anew.

    Examples
    --------
    >>> import evenhand as eh
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> people = eh.datasets.load("compas").frame.sample(1500, random_state=0)
    >>> model = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> found = eh.model_frontier(model, people, protected=["race"], outcome="is_recid", bounds=[0.05, 0.2], folds=3)
    >>> found.frame[["bound", "status"]].to_numpy().tolist()
    [[0.05, 'fitted'], [0.2, 'fitted']]
    >>> bool(found.frame["apart"].max() < found.bare["apart"].item())
    True
    """
    wanted = [check.finite("bounds", bound, low=0) for bound in check.listed("bounds", bounds, "a list such as [0.05]")]
    if not wanted:
        raise SpecError("bounds must hold at least one bound, such as [0.05, 0.1, 0.2]")
    people = _People.of(estimator, table, protected, outcome, problem, check.whole("folds", folds, low=2))
    level, drawn = check.number("threshold", threshold, low=0, high=1), check.seed("seed", seed)
    tell = check.progress(progress) or silent
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        done = _Done(tell, people.parts * (1 + len(wanted)) + 1 + len(wanted))
        trace = _trace(people, wanted, done)
        rows = [trace.measured(people, at, level, drawn, done) for at in (None, *range(len(wanted)))]
    notes = _passed_on(told)
    status = trace.status
    lost = [f"{bound:g}" for bound, each in zip(wanted, status, strict=True) if each != FITTED]
    if lost:
        least = trace.smallest_feasible
        advice = "" if least is None else f"; the smallest that can is {math.ceil(least * 1e4) / 1e4:g}"
        warn(f"{len(lost)} of {len(wanted)} bounds cannot be met in every part of the table ({some_of(lost)}){advice}")
    columns = {name: [row[name] for row in rows[1:]] for name in rows[0]}
    frame = table_of({"bound": wanted, "status": status, **columns})
    bare = table_of({name: [value] for name, value in rows[0].items()})
    return ModelFrontier(frame, bare, trace.smallest_feasible, notes)


@dataclass(frozen=True, eq=False)
class _People:
    """The table in parts: X as the estimator sees it, the outcome, groups, and the part of each row."""

    estimator: Any
    X: Frame
    outcome: Any
    outcome_name: str
    protected: tuple[str, ...]
    problem: Problem | None
    part: Cells
    group: Cells

    @classmethod
    def of(
        cls, estimator: Any, table: Frame, protected: Any, outcome: Any, problem: Problem | None, folds: int
    ) -> _People:
        """Check what is given, and cut the table."""
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise check.refused("estimator", "a classifier to be fitted, such as LogisticRegression()", estimator)
        if not hasattr(estimator, "predict_proba"):
            name = type(last_step(estimator)).__name__
            raise SpecError(f"the estimator, {name}, has no predict_proba, and what is bounded are mean scores")
        if problem is not None:
            check.kind("problem", problem, Problem, "an eh.Problem")
            if protected is not None or outcome is not None:
                raise SpecError("a problem says what is protected and what the outcome is; leave both out beside it")
            protected, outcome = problem.protected, problem.outcome
        if protected is None or outcome is None:
            raise SpecError("say who is compared and what is learned: protected=['sex'], outcome='hired', or problem=")
        names, target = check.columns("protected", protected), check.column("outcome", outcome)
        if not names or len(set(names)) < len(names) or target in names:
            raise SpecError(f"protected must name at least one column, each once, and not the outcome: {list(names)}")
        whole = read(table)
        if not arrays.is_frame(table):
            table = whole.to_native()
        for what, wanted in (("protected", names), ("outcome", (target,))):
            lacking = [name for name in wanted if name not in whole.columns]
            if lacking:
                raise DataError(f"the table lacks {lacking}, which {what} names; it has {some_of(whole.columns)}")
        X, series = arrays.split(table, target)
        y = arrays.numbers(series)
        if len(classes_of(y)) != 2:
            raise DataError(f"the outcome {target!r} has {len(np.unique(y))} values here, and two are compared")
        _, group = arrays.distinct(arrays.select(X, names))
        code = np.searchsorted(np.unique(y), y)
        part = dealt_folds(whole, [name for name in whole.columns if name != target], folds, code)
        return cls(estimator, X, y, target, names, problem, part, group)

    @property
    def parts(self) -> int:
        """How many there are."""
        return int(self.part.max()) + 1

    def split(self, part: int) -> tuple[Cells, Cells]:
        """Return the rows that are fitted for a part, and its own."""
        fitted, judged = np.flatnonzero(self.part != part), np.flatnonzero(self.part == part)
        left = np.bincount(self.group[fitted], minlength=int(self.group.max()) + 1)
        if not left.all() or len(np.unique(self.outcome[fitted])) < 2:
            what = "a group" if not left.all() else "one class"
            raise DataError(
                f"without one of the {self.parts} parts of the table, {what} has nobody left to be fitted; put small "
                f"groups together, or ask for more folds"
            )
        return fitted, judged

    def some(self, rows: Cells) -> People:
        """Return some of them as the one line takes people."""
        X = arrays.rows(self.X, rows)
        return People(X, X, self.protected, self.outcome[rows], self.outcome_name, None)


@dataclass(frozen=True)
class _Done:
    """Tells of progress, one step after another."""

    tell: Progress
    steps: int
    taken: Iterator[int] = field(default_factory=count)

    def __call__(self, stage: str) -> None:
        self.tell(stage, min(next(self.taken) / self.steps, 1.0))


@dataclass(frozen=True, eq=False)
class _Trace:
    """Scores of everybody out of fold: of the bare estimator, and at each bound; None where a bound cannot be met."""

    bare: Numbers
    scores: list[Numbers]
    status: list[str]
    smallest_feasible: float | None

    def measured(self, people: _People, at: int | None, threshold: float, seed: int, done: _Done) -> dict[str, float]:
        """Return every measure with its interval, of the bare estimator or at one bound."""
        done("measuring")
        names = [f"{name}{end}" for name in MEASURES for end in ("", "_low", "_high")]
        if at is not None and self.status[at] != FITTED:
            return dict.fromkeys([*names, "chance_gap"], math.nan)
        score = self.bare if at is None else self.scores[at]
        judged = Judged(score, people.outcome == np.unique(people.outcome)[-1], people.group, threshold)
        values, ends = judged.measures(), judged.intervals(TIMES, seed)
        found: dict[str, float] = {}
        for name in MEASURES:
            found |= {name: values[name], f"{name}_low": ends[name][0], f"{name}_high": ends[name][1]}
        return found | {"chance_gap": gap_floor(score, people.group, seed=seed)}


def _trace(people: _People, bounds: Sequence[float], done: _Done) -> _Trace:
    """Train at every bound without each part in turn, and score its people."""
    classes = np.unique(people.outcome)
    splits = [people.split(part) for part in range(people.parts)]
    least: float | None = 0.0
    if people.problem is not None:
        least = _smallest(people, people.problem, [fitted for fitted, _ in splits])
    # Known before anything is trained: below the smallest bound there is nothing to train on.
    status = [INFEASIBLE if least is None or bound < least - EDGE_TOLERANCE else FITTED for bound in bounds]
    bare = np.zeros(len(people.outcome))
    scores = [np.zeros(len(bare)) for _ in bounds]
    for fitted, judged in splits:
        done("training without a bound")
        rows = TrainingRows(fitted, people.outcome[fitted])
        new = arrays.rows(people.X, judged)
        bare[judged] = probabilities(trained(people.estimator, people.X, rows), new, classes)[:, -1]
        fit_at = _fits(people, fitted)
        for place, bound in enumerate(bounds):
            done(f"bound {bound:g}")
            if status[place] != FITTED:
                continue
            try:
                scores[place][judged] = fit_at(bound)(new)[:, -1]
            except (InfeasibleError, SolverError) as error:
                status[place] = INFEASIBLE if isinstance(error, InfeasibleError) else UNSOLVED
    return _Trace(bare, scores, status, least)


def _smallest(people: _People, problem: Problem, fits: Sequence[Cells]) -> float | None:
    """Return the smallest bound that can be met in every part; None where none can."""
    whole = arrays.with_column(people.X, people.outcome_name, people.outcome)
    found = [smallest_parity_bound(problem, arrays.rows(whole, rows)) for rows in fits]
    return None if None in found else max(each for each in found if each is not None)


def _fits(people: _People, fitted: Cells) -> Callable[[float], Callable[[Frame], Numbers]]:
    """Return what trains on some people at a bound, and then scores others."""
    if people.problem is not None:
        X, y = arrays.rows(people.X, fitted), people.outcome[fitted]

        def with_problem(bound: float) -> Callable[[Frame], Numbers]:
            before = OptimizedPreprocessor(people.problem, bound=bound)
            model = PreprocessedClassifier(people.estimator, before).fit(X, y)
            return lambda new: np.asarray(model.predict_proba(new))

        return with_problem
    scored = scored_out_of_fold(people.estimator, people.some(fitted))
    expected = takes_weights(people.estimator)

    def in_one_line(bound: float) -> Callable[[Frame], Numbers]:
        found = fit_one_line(people.estimator, scored, Wanted(bound, True, expected), _tell)
        return lambda new: found.scores(new, new, _tell)

    return in_one_line


def _tell(what: tuple[str, ...], message: str) -> None:
    warn(message)


def _passed_on(told: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return what evenhand warned of, once each; warn again of all else, once each."""
    notes: dict[tuple[Any, str], warnings.WarningMessage] = {}
    others: dict[tuple[Any, str], warnings.WarningMessage] = {}
    for each in told:
        text = str(each.message)
        (notes if issubclass(each.category, EvenhandWarning) else others).setdefault((each.category, text), each)
    for each in others.values():
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return tuple(str(each.message) for each in notes.values())
