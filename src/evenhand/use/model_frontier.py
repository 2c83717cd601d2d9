"""What a parity bound costs a model: its measures at every bound, cross-validated, beside those without a bound.

Knows preprocessors and what is measured of scores; the mathematics is elsewhere.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers, round_up
from evenhand.errors import DataError, EvenhandWarning, InfeasibleError, SolverError, SpecError, some_of, warn
from evenhand.findings.feasibility import smallest_parity_bound
from evenhand.findings.scores import MEASURES, Judged, gap_floor
from evenhand.resources import Progress
from evenhand.spec import Problem
from evenhand.tables import Frame, arrays, dealt_folds, read
from evenhand.tables import frame as table_of
from evenhand.tolerances import EDGE_TOLERANCE
from evenhand.use.estimator import OptimizedPreprocessor, PreprocessedClassifier
from evenhand.use.estimator.conventions import classes_of
from evenhand.use.scoring import TrainingRows, probabilities, trained
from evenhand.use.training import last_step

if TYPE_CHECKING:
    import pandas as pd

TIMES, SEED = 200, 0
"""How often people are drawn again for the intervals, and from which seed."""


@dataclass(frozen=True, eq=False)
class Folded:
    """The table in folds: X as the estimator sees it, the outcome, groups, and the fold of each row."""

    estimator: Any
    problem: Problem
    X: Frame
    outcome: Any
    threshold: float
    part: Cells
    group: Cells

    @classmethod
    def of(cls, estimator: Any, problem: Problem, table: Any, folds: int, threshold: float) -> Folded:
        """Check what is given, and cut the table."""
        if isinstance(estimator, type) or not hasattr(estimator, "fit"):
            raise check.refused("estimator", "a classifier to be fitted, such as LogisticRegression()", estimator)
        if not hasattr(estimator, "predict_proba"):
            name = type(last_step(estimator)).__name__
            raise SpecError(f"the estimator, {name}, has no predict_proba, and what is compared are mean scores")
        number, level = check.whole("folds", folds, low=2), check.number("threshold", threshold, low=0, high=1)
        whole = read(table)
        if not arrays.is_frame(table):
            table = whole.to_native()
        names, target = problem.protected, problem.outcome
        lacking = [name for name in (*names, target) if name not in whole.columns]
        if lacking:
            raise DataError(f"the table lacks {lacking}, which the problem names; it has {some_of(whole.columns)}")
        X, series = arrays.split(table, target)
        y = arrays.numbers(series)
        if len(classes_of(y)) != 2:
            raise DataError(
                f"the outcome {target!r} has {len(np.unique(y))} values in this table, and a model's measures need two"
            )
        _, group = arrays.distinct(arrays.select(X, names))
        code = np.searchsorted(np.unique(y), y)
        part = dealt_folds(whole, [name for name in whole.columns if name != target], number, code)
        return cls(estimator, problem, X, y, level, part, group)

    @property
    def parts(self) -> int:
        """How many there are."""
        return int(self.part.max()) + 1

    def split(self, part: int) -> tuple[Cells, Cells]:
        """Return the rows that are fitted for a fold, and its own."""
        fitted, judged = np.flatnonzero(self.part != part), np.flatnonzero(self.part == part)
        left = np.bincount(self.group[fitted], minlength=int(self.group.max()) + 1)
        if not left.all() or len(np.unique(self.outcome[fitted])) < 2:
            what = "a group" if not left.all() else "one class"
            raise DataError(
                f"without one of the {self.parts} folds of the table, {what} has nobody left to be fitted; put small "
                f"groups together, or ask for more folds"
            )
        return fitted, judged

    def measured(self, score: Numbers) -> dict[str, float]:
        """Return every measure of everybody's scores, with its interval."""
        judged = Judged(score, self.outcome == np.unique(self.outcome)[-1], self.group, self.threshold)
        values, ends = judged.measures(), judged.intervals(TIMES, SEED)
        found: dict[str, float] = {}
        for name in MEASURES:
            found |= {name: values[name], f"{name}_low": ends[name][0], f"{name}_high": ends[name][1]}
        return found | {"chance_gap": gap_floor(score, self.group, seed=SEED)}


def model_costs(
    people: Folded, bounds: Sequence[float], progress: Progress
) -> tuple[pd.DataFrame, pd.DataFrame, tuple[str, ...]]:
    """Train at every bound without each fold in turn, score its people, and measure all folds together.

    Returns one row per bound, one row without a bound, and what fits warned of.
    """
    taken, steps = count(), (people.parts + 1) * (1 + len(bounds))

    def done(stage: str) -> None:
        progress(stage, next(taken) / steps)

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        bare, scores, least = _out_of_fold(people, bounds, done)
        done("measuring")
        without = people.measured(bare)
        rows = []
        for score in scores:
            done("measuring")
            rows.append(dict.fromkeys(without, math.nan) if score is None else people.measured(score))
    notes = _passed_on(caught)
    lost = [f"{bound:g}" for bound, score in zip(bounds, scores, strict=True) if score is None]
    if lost:
        advice = "" if least is None else f"; the smallest that can is {round_up(least, 1e-4):g}"
        warn(f"{len(lost)} of {len(bounds)} bounds cannot be met in every fold of the table ({some_of(lost)}){advice}")
    frame = table_of({name: [row[name] for row in rows] for name in without})
    return frame, table_of({name: [value] for name, value in without.items()}), notes


def _out_of_fold(
    people: Folded, bounds: Sequence[float], done: Callable[[str], None]
) -> tuple[Numbers, list[Numbers | None], float | None]:
    """Return everybody's score without a bound, at each bound (None where it cannot be met), and the smallest bound."""
    classes = np.unique(people.outcome)
    splits = [people.split(part) for part in range(people.parts)]
    least = _smallest(people, [fitted for fitted, _ in splits])
    bare = np.zeros(len(people.outcome))
    # Known before anything is trained: below the smallest bound there is nothing to train on.
    scores = [None if least is None or bound < least - EDGE_TOLERANCE else np.zeros(len(bare)) for bound in bounds]
    for fitted, judged in splits:
        done("training without a bound")
        rows = TrainingRows(fitted, people.outcome[fitted])
        new = arrays.rows(people.X, judged)
        bare[judged] = probabilities(trained(people.estimator, people.X, rows), new, classes)[:, -1]
        X, y = arrays.rows(people.X, fitted), people.outcome[fitted]
        for place, bound in enumerate(bounds):
            done(f"bound {bound:g}")
            score = scores[place]
            if score is None:
                continue
            before = OptimizedPreprocessor(people.problem, bound=bound)
            try:
                score[judged] = PreprocessedClassifier(people.estimator, before).fit(X, y).predict_proba(new)[:, -1]
            except (InfeasibleError, SolverError):
                scores[place] = None
    return bare, scores, least


def _smallest(people: Folded, fits: Sequence[Cells]) -> float | None:
    """Return the smallest bound that can be met in every fold; None where none can."""
    whole = arrays.with_column(people.X, people.problem.outcome, people.outcome)
    found = [smallest_parity_bound(people.problem, arrays.rows(whole, rows)) for rows in fits]
    return None if None in found else max(each for each in found if each is not None)


def _passed_on(caught: Sequence[warnings.WarningMessage]) -> tuple[str, ...]:
    """Return what evenhand warned of, once each; warn again of all else, once each."""
    notes: dict[tuple[Any, str], warnings.WarningMessage] = {}
    others: dict[tuple[Any, str], warnings.WarningMessage] = {}
    for each in caught:
        text = str(each.message)
        (notes if issubclass(each.category, EvenhandWarning) else others).setdefault((each.category, text), each)
    for each in others.values():
        warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    return tuple(str(each.message) for each in notes.values())
