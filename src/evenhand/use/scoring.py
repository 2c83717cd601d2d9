"""Scores out of fold: what a model says of people whom it was not trained on, for :class:`evenhand.ScoreLevels`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Flags, Numbers
from evenhand.errors import DataError, EvenhandError, SpecError, some_of
from evenhand.spec import Problem, check_problem, weighting_of
from evenhand.tables import Frame, arrays, column, dealt_folds, read, weights_of
from evenhand.tables.columns import encode
from evenhand.use.training import fitted_on, last_step, takes_weights


def out_of_fold(
    estimator: Any,
    frame: Frame,
    problem: Problem,
    *,
    folds: int = 5,
    sees_protected: bool = True,
    weights: str | Sequence[float] | None = None,
) -> Numbers:
    """Return a score for every row, by a clone of the estimator that was trained on other rows.

    The score is the probability of the favourable outcome, or else of the last one. Put it into the table as a column,
    and state that column as the one feature of a problem with ``cells=eh.ScoreLevels(20)``. Rows of which many hold the
    same are dealt out to all folds, few are in one, so that the order of rows matters only among those. Needs the extra
    ``sklearn``.

    Parameters
    ----------
    estimator : object with fit and predict_proba
        Any classifier in the manner of scikit-learn that takes a frame of the columns as they are; put an encoder
        before one that takes numbers alone. It is not changed.
    frame : dataframe
        One row per person.
    problem : Problem
        Its features are what the estimator sees, its outcome is what it learns.
    folds : int
        Into how many parts the table is cut.
    sees_protected : bool
        Whether the estimator sees the protected columns as well.
    weights : str or sequence of float, optional
        A column of the frame, or one number per row, with which the estimator is trained. By default what the problem
        says; a table of counts (``frequencies``) is refused.

    Examples
    --------
    >>> import evenhand as eh
    >>> from dataclasses import replace
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> data = eh.datasets.load("compas")
    >>> model = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> scored = data.frame.assign(score=eh.out_of_fold(model, data.frame, data.problem))
    >>> by_score = eh.Problem(
    ...     protected=["race"], features=["score"], outcome="is_recid", cells=eh.ScoreLevels(5),
    ...     parity=[eh.PairwiseParity(0.1)], distortion=eh.Distortion({"is_recid": eh.Ordinal(step=1)}),
    ... )
    >>> len(eh.fit(by_score, scored).cells)
    5
    """
    check_problem(problem)
    if isinstance(estimator, type) or not (hasattr(estimator, "fit") and hasattr(estimator, "predict_proba")):
        raise check.refused("estimator", "a classifier with fit and predict_proba", estimator)
    number, seeing = check.whole("folds", folds, low=2), check.flag("sees_protected", sees_protected)
    table = read(frame)
    columns = [*(problem.protected if seeing else ()), *problem.features]
    weighting = weighting_of(problem, weights, None)
    if weighting is not None and weighting.repeats:
        raise SpecError(
            "out_of_fold deals people to folds, so it needs one row per person: repeat the rows of a table of counts "
            "first, as in frame.loc[frame.index.repeat(frame[column])]"
        )
    weight = weights_of(problem.columns, table, weighting)
    if weight is not None and not takes_weights(estimator):
        raise SpecError(f"{type(estimator).__name__} takes no sample weights; leave weights out")
    for name in (*columns, problem.outcome):
        column(table, name)  # which must be there
    X, y = arrays.select(frame, columns), arrays.numbers(arrays.split(frame, problem.outcome)[1])
    classes, code = np.unique(y, return_inverse=True)
    # By features alone: a record whose outcomes were in different folds would be known by the others alone.
    fold = dealt_folds(table, columns, number, code)
    wanted = classes[-1] if problem.favourable is None else problem.favourable
    if wanted not in classes:
        raise DataError(f"nobody in the table has {problem.outcome}={wanted!r}")
    rows = TrainingRows(np.arange(len(y)), y, weight)
    try:
        scores = held_out(estimator, X, fold, rows, classes)
    except EvenhandError:
        raise
    except Exception as error:  # whatever an estimator has against a table it says in its own way
        raise DataError(
            f"{_named(estimator)} cannot be trained on, or asked about, {some_of(map(repr, columns))}: "
            f"{type(error).__name__}: {check.shown(next(iter(str(error).splitlines()), ''))}{_remedy(table, columns)}"
        ) from error
    return scores[:, int(np.flatnonzero(classes == wanted)[0])]


def _named(estimator: Any) -> str:
    """Name an estimator; of a pipeline, its last step too."""
    last = last_step(estimator)
    return type(last).__name__ if last is estimator else f"a {type(estimator).__name__} of {type(last).__name__}"


def _remedy(table: Any, columns: Sequence[str]) -> str:
    """Say what columns hold that many estimators do not read, and what to put before one."""
    encoded = {name: encode(table[name]) for name in columns}
    words = [name for name, each in encoded.items() if any(isinstance(value, str) for value in each.values)]
    gaps = [name for name, each in encoded.items() if each.missing.any()]
    said = [f"no numbers are in {some_of(map(repr, words))}: put an encoder before it"] * bool(words)
    said += [f"values are missing in {some_of(map(repr, gaps))}: put an imputer before it"] * bool(gaps)
    return "".join(f"; {each}" for each in said)


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """What a model is trained on: for each row its place among the rows of X, its outcome, and its weight if any."""

    place: Cells
    outcome: Any
    weight: Numbers | None = None

    def of(self, chosen: Flags) -> TrainingRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[chosen]
        return TrainingRows(self.place[chosen], self.outcome[chosen], weight)


def trained(estimator: Any, X: Any, rows: TrainingRows) -> Any:
    """Return a clone that was trained on rows of a frame or an array."""
    return fitted_on(estimator, arrays.rows(X, rows.place), rows.outcome, rows.weight)


def held_out(estimator: Any, X: Any, fold: Cells, rows: TrainingRows, classes: Any) -> Numbers:
    """Return scores of every row of X for every class, by clones that were trained on rows of other folds alone."""
    scores = np.zeros((len(fold), len(classes)))
    for test, model in each_clone(estimator, X, fold, rows):
        scores[test] = probabilities(model, arrays.rows(X, np.flatnonzero(test)), classes)
    return scores


def each_clone(estimator: Any, X: Any, fold: Cells, rows: TrainingRows) -> Iterator[tuple[Flags, Any]]:
    """Yield for every fold its rows of X, and a clone that was trained on those of the others alone."""
    for test in (fold == place for place in np.unique(fold)):
        others = rows.of(~test[rows.place])
        if len(np.unique(others.outcome)) < 2:
            raise DataError("a part of the table has only one outcome without the others; ask for fewer folds")
        yield test, trained(estimator, X, others)


def probabilities(model: Any, X: Any, classes: Any) -> Numbers:
    """Return a fitted model's scores for classes, in order; one that it was not trained on has none."""
    found = np.asarray(model.predict_proba(X), dtype=float)
    if not np.all(np.isfinite(found)):
        row = int(np.argmin(np.isfinite(found).all(axis=1)))
        raise DataError(f"{type(last_step(model)).__name__} gives no score to row {row + 1}: {found[row].tolist()}")
    scores = np.zeros((len(found), len(classes)))
    scores[:, np.searchsorted(classes, model.classes_)] = found
    return scores
