"""The scikit-learn face: a preprocessor, and the paper's whole pipeline as one classifier.

Knows scikit-learn's conventions and the public face of a mapping; the mathematics is elsewhere.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers, sums
from evenhand.data.counts import checked_weights
from evenhand.errors import DataError, EvenhandError, Line, MissingExtraError, SpecError, calling_line, some_of, warn
from evenhand.spec import Problem
from evenhand.tables import Frame, arrays, as_levels, read, returned, to_pandas
from evenhand.tables.columns import APPLY_ADVICE, MISSING_ADVICE
from evenhand.tables.transforming import How, Missing, Unseen
from evenhand.use.fitting import fit
from evenhand.use.mapping import Mapping
from evenhand.use.oneline import ROW, WEIGHT, Calibrated, People, Wanted, fit_one_line
from evenhand.use.scoring import probabilities
from evenhand.use.training import NEEDED, fitted_on, last_step, takes_weights

try:
    from sklearn import get_config
    from sklearn.base import (
        BaseEstimator,
        ClassifierMixin,
        MetaEstimatorMixin,
        OneToOneFeatureMixin,
        TransformerMixin,
        clone,
    )
    from sklearn.exceptions import NotFittedError
    from sklearn.utils import get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import (
        _num_samples,
        assert_all_finite,
        check_consistent_length,
        check_is_fitted,
        column_or_1d,
        validate_data,
    )
except ImportError:
    raise MissingExtraError(NEEDED) from None

SEARCHING = ("sklearn", "joblib")
"""Packages that lie between a fit and the line that asked for it."""

UNSEEN_GROUPS = (
    "the estimator does not see the protected columns, and the mapping is not made for that: no bound "
    "covers its mean scores, which can differ by group as much as without any mapping; write "
    'suppress_protected="fixed" in the problem, which preprocessor=eh.OptimizedPreprocessor(problem) holds'
)

Way = Literal["expected", "draw"]
WAYS = ("expected", "draw")


@dataclass(frozen=True, eq=False)
class _Features:
    """X as a frame whose columns a problem can name, and the way back to what the caller gave.

    ``dtype`` is that of the array it came from, ``labels`` are the names of a frame whose names are no texts; both are
    None for an ordinary frame, and for an array that no problem reads, which stays one.
    """

    frame: Frame
    dtype: np.dtype[Any] | None = None
    labels: tuple[Any, ...] | None = None

    def back(self, frame: Frame, without: tuple[str, ...] = ()) -> Any:
        """Return a transformed frame as the kind that was given, without some of its columns."""
        if without:
            frame = arrays.select(frame, [name for name in arrays.names(frame) if name not in without])
        if self.labels is not None:
            return arrays.renamed(frame, [self.labels[int(name)] for name in arrays.names(frame)])
        return frame if self.dtype is None else arrays.to_array(frame, self.dtype)


@dataclass(frozen=True, eq=False)
class _People:
    """What a preprocessor was fitted on: features, the outcome and weights, each checked; None where there is none."""

    features: _Features
    outcome: Any
    weights: Any


@dataclass(eq=False)
class _Telling:
    """What a model and its clones told, so that a search, which fits a clone for each fold, tells it once.

    In one process they share what was ``told``. Workers that are sent clones share nothing: there only the first clone
    ``speaks``, at the ``line`` at which it was made, for a worker does not know who searches.
    """

    told: dict[tuple[str, ...], object] = field(default_factory=dict)
    process: int = field(default_factory=os.getpid)
    line: Line | None = None
    speaks: bool = True
    cloned: bool = False

    @property
    def at_work(self) -> bool:
        """Whether this is in a worker of the process in which it was made."""
        parent = multiprocessing.parent_process()
        return parent is not None and parent.pid == self.process

    def of_clone(self) -> _Telling:
        """Return that of a clone."""
        if self.at_work:
            return self
        speaks, self.cloned = self.speaks and not self.cloned, True
        return _Telling(self.told, line=calling_line(SEARCHING), speaks=speaks)

    def tell_once(self, what: tuple[str, ...], message: str) -> None:
        """Warn, unless that was told."""
        # Threads of a worker share this: setdefault lets one of them through, a look followed by a note would not.
        mine = object()
        first = self.told.setdefault(what, mine) is mine
        if first and (self.speaks or not self.at_work):
            warn(message, SEARCHING, at=self.line if self.at_work else None)


class OptimizedPreprocessor(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Learn a mapping that bounds how much an outcome depends on protected columns, as a scikit-learn transformer.

    ``transform`` is apply mode: it draws x̂ given (d, x), never reads an outcome, and *reads the protected columns*
    unless the problem is blind. ``fit_resample`` is train mode: it draws x̂ and ŷ given (d, x, y). A scikit-learn
    ``Pipeline`` calls ``transform`` alone and so trains on the outcome as it was, which no bound covers: to train a
    model use :class:`PreprocessedClassifier`.

    Parameters
    ----------
    problem : Problem, optional
        What to bound and what to keep. Its protected columns and features are columns of X, its outcome is y. The
        columns of a frame go by their names; those of an array, or of a frame whose names are no texts, by their
        numbers: ``"0"``, ``"1"`` and so on. None bounds nothing and returns its input.
    bound : float, optional
        Replaces every parity bound of the problem; what is not bounded stays so.
    budget : float, optional
        Replaces every limit of the problem's budgets.
    seed : int or None
        Of the draws, as in :meth:`evenhand.Mapping.apply`. Without a key draws go by position.
    key : str, optional
        A column of X that identifies people, so that each gets the same draw in any order. No estimator is shown it.
    unseen : {"typical", "keep", "error"}, optional
        What to do with people whose cell was not in the fitted table, as in :meth:`evenhand.Mapping.release`; by
        default what the mapping says, which is ``typical``.
    missing : {"level", "error"}, optional
        After ``fit``: whether a missing value where the fitted table had none makes its person one of these, or is an
        error that names the row; by default what the problem says. To an estimator it is handed as it is.

    Attributes
    ----------
    mapping_ : Mapping or None
        The fitted mapping; None without a problem.
    n_features_in_ : int
        The number of columns of X.
    feature_names_in_ : array of str
        Their names, where they have any.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> X, y = data.frame.drop(columns="is_recid"), data.frame["is_recid"]
    >>> preprocessor = eh.OptimizedPreprocessor(data.problem, bound=0.2).fit(X, y)
    >>> preprocessor.mapping_.certificate.status
    'optimal'
    >>> preprocessor.transform(X).shape
    (5278, 5)
    """

    def __init__(
        self,
        problem: Problem | None = None,
        *,
        bound: float | None = None,
        budget: float | None = None,
        seed: int | None = 0,
        key: str | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
    ) -> None:
        self.problem = problem
        self.bound = bound
        self.budget = budget
        self.seed = seed
        self.key = key
        self.unseen = unseen
        self.missing = missing

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> OptimizedPreprocessor:
        """Learn the mapping from features and outcomes, one row per person or with weights."""
        self._fit(X, y, sample_weight)
        return self

    def transform(self, X: Any) -> Any:
        """Apply mode: draw x̂ for every row given its (d, x); what comes out is of the kind that was given."""
        check_is_fitted(self, "mapping_")
        given = self._read(X)
        result = given.back(given.frame if self.mapping_ is None else self._applied(given))
        # scikit-learn itself turns only arrays into the pandas frames that set_output asks for.
        asked = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        return to_pandas(result) if asked == "pandas" and arrays.is_frame(result) else result

    def fit_resample(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Train mode: learn the mapping, draw (x̂, ŷ) for every row, and return both, of the kinds that were given."""
        people = self._fit(X, y, sample_weight)
        frame, released = (people.features.frame, people.outcome) if self.mapping_ is None else self._released(people)
        return people.features.back(frame), released

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.problem is not None
        tags.input_tags.allow_nan = self.problem is None or self.problem.missing_is_level
        tags.input_tags.string = True
        return tags

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> _People:
        """Fit, and return what was read."""
        problem = stated(self.problem, self.bound, self.budget)
        How.of(self.seed, key=self.key, unseen=self.unseen)  # which checks them
        given = self._read(X, y, fitting=True)
        outcome = y
        if y is not None:
            with _about("y"):
                values = column_or_1d(y, warn=True)
            with _about("X and y"):
                check_consistent_length(given.frame, values)
            if problem is not None:
                _classes(values)
            outcome = y if arrays.is_series(y) else values
        weights: Any = None if sample_weight is None else _weights(given, sample_weight)
        people = _People(given, outcome, weights)
        if problem is not None:
            # Refused in the words that scikit-learn's users know.
            names = arrays.names(given.frame)
            lacking = [name for name in (*problem.protected, *problem.features) if name not in names]
            if lacking:
                raise DataError(
                    f"X has n_features={len(names)} columns, {names}, and lacks {lacking}, which the problem names; "
                    f"the columns of an array are '0', '1' and so on"
                )
            if _num_samples(given.frame) < 2:
                raise DataError("X has n_samples=1: one person makes no two groups to compare")
            if len(_classes(outcome)) < 2:
                raise DataError("y has only one class, so there are no rates of it to compare")
        # Set last: after a fit that fails, transform must not return its input as if there were no problem.
        self.mapping_ = None if problem is None else fit(problem, self._table(people), weights=weights)
        return people

    def _read(self, X: Any, y: Any = "no_validation", fitting: bool = False) -> _Features:
        """Check X as scikit-learn does, and name its columns."""
        problem = self.problem if fitting else None if self.mapping_ is None else self.mapping_.problem
        # The checks ask whether an outcome is lacking only where they are told of one.
        outcome = {"y": None} if y is None else {}
        with _about("X"):
            framed = arrays.is_frame(X)
        if not framed:
            with _about("X"):
                array = validate_data(self, X, **outcome, reset=fitting, dtype=None, ensure_all_finite="allow-nan")
            if problem is None:
                return _Features(array)
            self._refuse_nan(array, fitting)
            return _Features(arrays.from_array(array, problem.columns, _whole(problem)), dtype=array.dtype)
        if not _num_samples(X):
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        names = tuple(arrays.names(X))
        # To a mapping that is blind, people may come without their protected columns.
        unread = problem.protected if problem is not None and problem.blind and not fitting else ()
        known = getattr(self, "feature_names_in_", ())
        if not unread or names != tuple(name for name in known if name not in unread):
            with _about("X"):
                validate_data(self, X, **outcome, reset=fitting, skip_check_array=True)
        if all(isinstance(name, str) for name in names):
            return _Features(X)
        return _Features(arrays.renamed(X, [str(i) for i in range(len(names))]), labels=names)

    def _refuse_nan(self, array: Any, fitting: bool) -> None:
        """Refuse NaN in a column that is read, unless it is a level, in the words that scikit-learn's users know."""
        columns: Collection[str]
        advice: tuple[object, ...]
        if fitting:
            assert self.problem is not None
            columns, advice = () if self.problem.missing_is_level else self.problem.levelled, MISSING_ADVICE
        else:
            mode = self._mapping.apply_mode.with_missing(self.missing)
            columns, advice = {variable.name for variable in mode.read if variable.missing is None}, APPLY_ADVICE
        for place in np.flatnonzero(np.isnan(array).any(axis=0)) if array.dtype.kind == "f" else ():
            # In a column that the problem does not read, NaN is passed through.
            if str(place) in columns:
                row = int(np.flatnonzero(np.isnan(array[:, place]))[0])
                raise DataError(f"Input X contains NaN in column '{place}', first in row {row + 1}; ", *advice)

    def _table(self, people: _People) -> Frame:
        """Return the table of (d, x, y) that the problem is about."""
        assert self.problem is not None
        name, y = self.problem.outcome, people.outcome
        if isinstance(y, np.ndarray):
            y = arrays.one_column(y, name in _whole(self.problem))
        return arrays.with_column(people.features.frame, name, y)

    @property
    def _mapping(self) -> Mapping:
        """The mapping, where there is a problem."""
        assert self.mapping_ is not None
        return self.mapping_

    @property
    def _identifies(self) -> tuple[str, ...]:
        """The key, where it is nothing else to the problem: a model must not see it."""
        return () if self.key is None or self.key in self._mapping.problem.columns else (self.key,)

    def _applied(self, given: _Features) -> Frame:
        return self._mapping.apply(given.frame, seed=self.seed, key=self.key, unseen=self.unseen, missing=self.missing)

    def _released(self, people: _People) -> tuple[Frame, Any]:
        """Draw in train mode: the features as a frame, the outcome as the kind that was given."""
        drawn = self._mapping.release(self._table(people), seed=self.seed, key=self.key, unseen=self.unseen)
        frame, released = arrays.split(drawn, self._mapping.problem.outcome)
        return frame, arrays.like(people.outcome, released)


def stated(problem: Problem | None, bound: float | None, budget: float | None) -> Problem | None:
    """Return the problem with every parity bound and every limit of its budgets replaced.

    Examples
    --------
    >>> from evenhand.datasets import load
    >>> found = stated(load("compas").problem, 0.3, None)
    >>> found.parity[0].bound, found.budget.limit
    (0.3, 0.5)
    """
    if problem is None:
        if bound is not None or budget is not None:
            raise SpecError("bound and budget replace those of a problem; give one with problem=eh.Problem(...)")
        return None
    check.kind("problem", problem, Problem, "an eh.Problem")
    if bound is not None:
        if not problem.parity:
            raise SpecError(
                "bound replaces the problem's parity bounds, and it has none; add parity=[eh.PairwiseParity(...)]"
            )
        given = check.number("bound", bound, low=0)
        problem = problem.with_bounds(lambda _: given)
    if budget is not None:
        if not problem.budgets:
            raise SpecError(
                "budget replaces the limits of the problem's budgets, and it has none; add "
                "budget=eh.ExpectedDistortion(...)"
            )
        limit = check.number("budget", budget, low=0)
        problem = problem.with_limits(lambda _: limit)
    return problem


def _whole(problem: Problem) -> tuple[str, ...]:
    """Name the columns that are codes: those of the problem that are not binned."""
    return tuple(name for name in problem.columns if name not in problem.bins)


def _classes(y: Any) -> Any:
    """Return the values of an outcome, which must be classes."""
    with _about("y"):
        values = column_or_1d(y)
        assert_all_finite(values, input_name="y")
        check_classification_targets(values)
        return np.unique(values)


@contextmanager
def _about(what: str) -> Iterator[None]:
    """Say of which argument an error of scikit-learn's checks is, in its own words otherwise."""
    try:
        yield
    except (EvenhandError, NotFittedError):
        raise
    except Exception as error:
        raise DataError(f"{what}: {error}") from error


def _weights(given: _Features, sample_weight: Any) -> Numbers:
    """Check weights: one number per row, not all of them zero. The rest is checked where they are counted."""
    with _about("sample_weight"):
        weights = np.asarray(sample_weight, dtype=float)
    if weights.ndim != 1:
        raise DataError(f"Sample weights must be 1D array or scalar: one number per row, not of shape {weights.shape}")
    with _about("sample_weight"):
        check_consistent_length(given.frame, weights)
    if not np.any(weights):
        raise DataError("Sample weights must contain at least one non-zero number; here all are zero")
    return weights


def _has_probabilities(model: PreprocessedClassifier) -> bool:
    estimator = getattr(model, "estimator_", model.estimator)
    if hasattr(estimator, "predict_proba"):
        return True
    raise AttributeError(
        f"{type(estimator).__name__} has no predict_proba, so there is no score to average; predict gives the class "
        f"that it predicts most often over the mapping"
    )


class PreprocessedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """The paper's whole pipeline in one classifier: learn a mapping, train on its release, predict in apply mode.

    ``PreprocessedClassifier(estimator, protected=["sex"], bound=0.05)`` is enough for any columns; a preprocessor with
    a problem of one's own says more.

    The mapping bounds the released outcome by group, and so the *mean score* of a model that learns it well, eq. (8):
    not the model's decisions at a threshold. Report both.

    Parameters
    ----------
    estimator : classifier
        It sees the columns of X transformed, protected ones with bins as their levels; put an encoder before a linear
        model. It is cloned.
    preprocessor : OptimizedPreprocessor, optional
        Holds the problem; it is cloned. Without one, ``protected`` and ``bound`` make a mapping.
    protected : sequence of str, optional
        Without a preprocessor: columns of X, of whole numbers, truths or words, whose values together are the groups.
        All other columns are features, as they are. Scores of people whom clones of the estimator were not trained on
        make levels, within which outcomes alone change: each person's expected change is at most three times the
        smallest that will do.
    bound : float, optional
        Without a preprocessor: how far apart released rates of any two groups may be, as their ratio less one.
    calibrate : bool
        Without a preprocessor: whether each group's scores are shifted on the logit, by a constant, so that their mean
        is the released rate, measured on people whom clones of the trained estimator were not trained on.
    train_on : {"expected", "draw"}
        ``"expected"`` trains on every possible (x̂, ŷ) of each person, weighted by its probability: no sampling noise.
        An estimator that takes no sample weights gets a draw, with a warning. ``"draw"`` trains on one release.
    predict_with : {"expected", "draw"}
        ``"expected"`` averages the score over the mapping, Σ p(x̂|d,x) · score(x̂, d), exactly and without drawing.
        ``"draw"`` scores one draw of x̂, so that a person's score depends on the seed.
    drop_protected : bool
        Whether the estimator is kept from seeing the protected columns. Apply mode still reads them, unless the problem
        is blind. The bounds then cover the model only if the problem has ``suppress_protected``; without it there is a
        warning.

    Attributes
    ----------
    estimator_, preprocessor_ : objects
        The fitted ones.
    mapping_ : Mapping
        Without a preprocessor: the mapping that was made.
    parity_ : pandas.DataFrame
        Without a preprocessor: one row per group with the number of its ``people``, the ``released`` rate of the last
        class, its ``mean_score`` and the share ``selected``, for whom it is the predicted class, both of people whom
        clones were not trained on; how far ``apart`` its mean scores are from the furthest other group's, as their
        ratio less one and for any class; and the ``bound``. With more than two classes, one row for each of them.
    classes_ : array
        The values of y. One that is never released has probability zero.
    n_features_in_, feature_names_in_
        As in every estimator.

    Notes
    -----
    ``sample_weight`` counts people: it weighs them in the mapping and in the estimator. Through a ``Pipeline`` weights
    go to every step that takes them. There is no ``decision_function``: margins have no mean that is a margin. An
    estimator without ``predict_proba`` has none here either, and ``predict`` then gives the class that it predicts most
    often over the mapping.

    The bounds are about the problem's columns. Others in X reach the estimator as they are, and what it learns from
    them is not covered: a warning names them, once for a model and its clones. Where a search fits these in other
    processes (``n_jobs``) the first clone's names them on standard error, and a search that fits the best again does so
    here too. List them as features, which stay fixed unless a rule says otherwise.

    A protected column with bins or merged levels reaches the estimator as its level: numbers as the one that stands for
    their bin (its middle), other values as the level's name, in the column's own type. With ages beside groups of age a
    model need not learn the rate of each group, and no bound would cover it. A linear model learns one for each of more
    than two levels only if an encoder comes before it. Features keep the values that people have; in expectation, a
    binned one that moves becomes the middle of its new bin.

    Examples
    --------
    >>> import evenhand as eh
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> from dataclasses import replace
    >>> data = eh.datasets.load("compas")
    >>> X, y = data.frame.drop(columns=["sex", "is_recid"]), data.frame["is_recid"]
    >>> by_race = eh.OptimizedPreprocessor(replace(data.problem, protected=["race"]))
    >>> linear = make_pipeline(OneHotEncoder(), LogisticRegression())
    >>> model = eh.PreprocessedClassifier(linear, by_race).fit(X, y)

    A linear model with a weight for each race meets the released rates nearly exactly:

    >>> X.assign(score=model.predict_proba(X)[:, 1]).groupby("race")["score"].mean().round(3).tolist()
    [0.457, 0.416]
    >>> model.preprocessor_.mapping_.audit().rates.query("is_recid == 1")["after"].round(3).tolist()
    [0.457, 0.416]

    In one line, whatever the columns; mean scores are the released rates, out of fold:

    >>> model = eh.PreprocessedClassifier(linear, protected=["race"], bound=0.1).fit(X, y)
    >>> model.parity_[["race", "released", "mean_score", "apart"]].round(3).to_numpy().tolist()
    [['African-American', 0.52, 0.52, 0.1], ['Caucasian', 0.473, 0.473, 0.1]]
    """

    def __init__(
        self,
        estimator: Any,
        preprocessor: Any = None,
        *,
        protected: Sequence[str] | None = None,
        bound: float | None = None,
        calibrate: bool = True,
        train_on: Way = "expected",
        predict_with: Way = "expected",
        drop_protected: bool = False,
    ) -> None:
        self.estimator = estimator
        self.preprocessor = preprocessor
        self.protected = protected
        self.bound = bound
        self.calibrate = calibrate
        self.train_on = train_on
        self.predict_with = predict_with
        self.drop_protected = drop_protected

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> PreprocessedClassifier:
        """Learn the mapping, and train the estimator on what it releases."""
        check.one_of("train_on", self.train_on, WAYS)
        check.one_of("predict_with", self.predict_with, WAYS)
        check.flag("drop_protected", self.drop_protected)
        check.flag("calibrate", self.calibrate)
        if isinstance(self.estimator, type) or not hasattr(self.estimator, "fit"):
            raise check.refused("estimator", "a classifier to be fitted, such as LogisticRegression()", self.estimator)
        if self.protected is not None or self.bound is not None or self.preprocessor is None:
            return self._fit_one_line(X, y, sample_weight)
        if not isinstance(self.preprocessor, OptimizedPreprocessor):
            raise SpecError(
                f"preprocessor must be an eh.OptimizedPreprocessor, not {type(self.preprocessor).__name__}; other "
                f"steps belong before this classifier, or in its estimator"
            )
        self.preprocessor_ = clone(self.preprocessor)
        people = self.preprocessor_._fit(X, y, sample_weight)
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(self.preprocessor_, name):
                setattr(self, name, getattr(self.preprocessor_, name))
        self.classes_ = _classes(people.outcome)
        mapping: Mapping | None = self.preprocessor_.mapping_
        if mapping is not None and self.drop_protected and not mapping.problem.suppresses:
            _tell(UNSEEN_GROUPS)
        if mapping is not None:
            self._name_others(people.features)
        rows = (X, y, sample_weight) if mapping is None else self._training_rows(people)
        self.estimator_ = fitted_on(self.estimator, *rows)
        self._forget("mapping_", "parity_", "_one_line")
        return self

    def _fit_one_line(self, X: Any, y: Any, sample_weight: Any) -> PreprocessedClassifier:
        """Make the mapping from protected columns and a bound alone, over levels of the estimator's own scores."""
        protected, wanted = self._asked()
        shown, given = self._given(X, y, protected)
        lacking = [name for name in protected if name not in arrays.names(given.frame)]
        if lacking:
            raise DataError(
                f"X has the columns {some_of(arrays.names(given.frame))}, and lacks {lacking}, which protected names; "
                f"the columns of an array are '0', '1' and so on"
            )
        with _about("y"):
            outcome = column_or_1d(y, warn=True)
        with _about("X and y"):
            check_consistent_length(given.frame, outcome)
        classes = _classes(outcome)
        if _num_samples(given.frame) < 2:
            raise DataError("X has n_samples=1: one person makes no two groups to compare")
        weights = None if sample_weight is None else checked_weights(_weights(given, sample_weight))
        if weights is not None and not takes_weights(self.estimator):
            raise SpecError(f"{last_step(self.estimator)} takes no sample weights; leave sample_weight out")
        if len(classes) < 2 or (weights is not None and len(np.unique(outcome[weights > 0])) < 2):
            raise DataError("y has only one class, so there are no rates of it to compare")
        name = getattr(y, "name", None)
        people = People(
            shown, given.frame, protected, outcome, name if isinstance(name, str) and name else "y", weights
        )
        self.__dict__.setdefault("_telling", _Telling())
        found = fit_one_line(self.estimator, people, wanted, self._tell_once)
        self._one_line, self.classes_, self.estimator_ = found, found.classes, found.estimator
        self.mapping_, self.parity_ = found.mapping, found.parity
        self._forget("preprocessor_")
        return self

    def _asked(self) -> tuple[tuple[str, ...], Wanted]:
        """Return what the one line asks for, or say what it lacks."""
        if self.preprocessor is not None:
            raise SpecError(
                "protected and bound are for a classifier that makes its own mapping, and a preprocessor holds a "
                "problem with bounds: write one or the other; preprocessor=eh.OptimizedPreprocessor(problem, bound=...)"
            )
        if self.protected is None or self.bound is None:
            raise SpecError(
                "say who is compared and how far apart they may be: write protected=['sex'], bound=0.05 with columns "
                "of X, or preprocessor=eh.OptimizedPreprocessor(problem)"
            )
        protected, bound = check.columns("protected", self.protected), check.bound("bound", self.bound)
        if not protected or len(set(protected)) < len(protected):
            raise SpecError(f"protected must name at least one column of X, and each once, not {list(protected)}")
        if not hasattr(self.estimator, "predict_proba"):
            raise SpecError(
                f"{type(last_step(self.estimator)).__name__} has no predict_proba, and score levels need "
                f"probabilities; put it into sklearn.calibration.CalibratedClassifierCV, or choose one that has them"
            )
        if self.drop_protected and self.calibrate:
            raise SpecError(
                "calibrate=True shifts scores by group, and with drop_protected=True no group is seen; write "
                "calibrate=False, after which no bound covers mean scores, or leave drop_protected out"
            )
        if self.drop_protected:
            self._tell_once(("drop_protected",), UNSEEN_GROUPS)
        expected = self.train_on == "expected" and takes_weights(self.estimator)
        if self.train_on == "expected" and not expected:
            self._tell_once(
                ("no weights",),
                f"{type(last_step(self.estimator)).__name__} takes no sample weights, so it is trained on one release "
                f'(seed 0) and not on the expected one; write train_on="draw" to say so',
            )
        return protected, Wanted(bound, bool(self.calibrate), expected)

    def _given(self, X: Any, y: Any, protected: tuple[str, ...], fitting: bool = True) -> tuple[Any, _Features]:
        """Check X as scikit-learn does; return it as the estimator sees it, and as a frame with names."""
        outcome = {"y": None} if y is None else {}
        with _about("X"):
            framed = arrays.is_frame(X)
        if not framed:
            with _about("X"):
                X = validate_data(self, X, **outcome, reset=fitting, dtype=None, ensure_all_finite="allow-nan")
            given = _Features(arrays.from_array(X, protected, protected), dtype=X.dtype)
            kept = [place for place in range(X.shape[1]) if str(place) not in protected]
            return (X[:, kept] if self.drop_protected else X), given
        if not _num_samples(X):
            raise DataError("Found array with 0 sample(s) while a minimum of 1 is required.")
        with _about("X"):
            validate_data(self, X, **outcome, reset=fitting, skip_check_array=True)
        given = _Features(X)
        names = tuple(arrays.names(X))
        if not all(isinstance(name, str) for name in names):
            given = _Features(arrays.renamed(X, [str(i) for i in range(len(names))]), labels=names)
        return (given.back(given.frame, without=protected) if self.drop_protected else X), given

    def _forget(self, *names: str) -> None:
        """Leave nothing behind of an earlier fit in the other form."""
        for name in names:
            self.__dict__.pop(name, None)

    def _tell_once(self, what: tuple[str, ...], message: str) -> None:
        telling: _Telling = self.__dict__.setdefault("_telling", _Telling())
        telling.tell_once(what, message)

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the expected score of every class, or with ``predict_with="draw"`` that of one draw."""
        check_is_fitted(self, "estimator_")
        if self._one_line is not None:
            return self._shifted(X, self._one_line)
        return self._scored(X, self._probabilities)

    def predict(self, X: Any) -> Any:
        """Return the class of largest expected score: a decision, which no bound covers."""
        check_is_fitted(self, "estimator_")
        if self._one_line is not None:
            return self.classes_[np.argmax(self._shifted(X, self._one_line), axis=1)]
        if self._mapping is None:
            self.preprocessor_._read(X)  # which checks it
            return self.estimator_.predict(X)

        def votes(shown: Any) -> Any:
            return np.eye(len(self.classes_))[np.searchsorted(self.classes_, self.estimator_.predict(shown))]

        probable = hasattr(self.estimator_, "predict_proba") and self.predict_with == "expected"
        scores = self._scored(X, self._probabilities if probable else votes)
        return self.classes_[np.argmax(scores, axis=1)]

    def __sklearn_clone__(self) -> Any:
        found = super().__sklearn_clone__()
        found._telling = self.__dict__.setdefault("_telling", _Telling()).of_clone()
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        before = self.preprocessor is None or get_tags(self.preprocessor).input_tags.allow_nan
        tags.input_tags.allow_nan = inner.input_tags.allow_nan and before
        tags.input_tags.string = inner.input_tags.string
        if inner.classifier_tags is not None:
            tags.classifier_tags = replace(inner.classifier_tags)
        return tags

    _one_line: Calibrated | None = None
    """What a fit without a preprocessor found."""

    def _shifted(self, X: Any, found: Calibrated) -> Numbers:
        """Return scores of new people, each group's shifted by its constant."""
        protected = tuple(found.mapping.problem.protected)
        shown, given = self._given(X, "no_validation", protected, fitting=False)
        return found.scores(shown, arrays.select(given.frame, protected), self._tell_once)

    @property
    def _mapping(self) -> Mapping | None:
        found: Mapping | None = self.preprocessor_.mapping_
        return found

    def _name_others(self, given: _Features) -> None:
        """Tell which columns the estimator sees that the problem does not name."""
        before: OptimizedPreprocessor = self.preprocessor_
        known = (*before._mapping.problem.columns, *before._identifies)
        others = [name for name in arrays.names(given.frame) if name not in known]
        if others:
            # A frame's own names, where a problem goes by the numbers of its columns.
            shown = [name if given.labels is None else given.labels[int(name)] for name in others]
            telling: _Telling = self.__dict__.setdefault("_telling", _Telling())
            telling.tell_once(
                tuple(others),
                f"the estimator also sees columns that are outside the problem, and nothing bounds what it learns from "
                f"them: {some_of(shown)}; list them as features, which stay fixed unless a rule says "
                f"otherwise, or leave them out",
            )

    def _training_rows(self, people: _People) -> tuple[Any, Any, Any]:
        """Return what the estimator is trained on: features, outcome and weights."""
        before: OptimizedPreprocessor = self.preprocessor_
        if self.train_on == "expected" and takes_weights(self.estimator):
            frame, weights = before._table(people), people.weights
            if before._identifies:
                # Equal rows are merged, and no two people would be equal.
                frame = arrays.split(frame, *before._identifies)[0]
            if weights is not None:
                # Rows of weight zero were not counted, and so the mapping does not know them.
                counted = np.flatnonzero(weights)
                frame, weights = arrays.rows(frame, counted), weights[counted]
            wide = before._mapping.expand(frame, weights=weights, weight_column=WEIGHT, unseen=before.unseen)
            frame, outcome, weights = arrays.split(wide, before._mapping.problem.outcome, WEIGHT)
            # Outcomes of whole numbers were read as integers; the estimator gets the classes that were given.
            classes = arrays.numbers(outcome).astype(self.classes_.dtype)
            return self._shown(people.features, self._levelled(frame)), classes, arrays.numbers(weights)
        if self.train_on == "expected":
            _tell(
                f"{type(last_step(self.estimator)).__name__} takes no sample weights, so it is trained on one release "
                f'(seed {before.seed}) and not on the expected one; write train_on="draw" to say so'
            )
        frame, outcome = before._released(people)
        return self._shown(people.features, self._levelled(frame)), outcome, people.weights

    def _levelled(self, frame: Frame) -> Frame:
        """Return a transformed frame with the protected columns as their levels, which are what the bounds are about.

        Whoever sees an age beside the groups of age need not learn one rate for each group.
        """
        assert self._mapping is not None
        return returned(as_levels(read(frame), self._mapping.counts.domain.d), frame)

    def _shown(self, given: _Features, frame: Frame) -> Any:
        """Return a transformed frame as the estimator sees it."""
        assert self._mapping is not None
        protected = tuple(self._mapping.problem.protected) if self.drop_protected else ()
        return given.back(frame, without=(*protected, *self.preprocessor_._identifies))

    def _scored(self, X: Any, score: Callable[[Any], Numbers]) -> Numbers:
        """Return scores of every person and class: over the mapping, of one draw, or of X itself."""
        before: OptimizedPreprocessor = self.preprocessor_
        given = before._read(X)
        if self._mapping is None:
            return score(X)
        if self.predict_with == "draw":
            return score(self._shown(given, self._levelled(before._applied(given))))
        wide = before._mapping.possibilities(
            given.frame, row_column=ROW, weight_column=WEIGHT, unseen=before.unseen, missing=before.missing
        )
        frame, row, weight, *_ = arrays.split(wide, ROW, WEIGHT, *before._identifies)
        frame, row, weight = self._levelled(frame), arrays.numbers(row), arrays.numbers(weight)
        # Many people share their possible features: the estimator is asked once for each.
        first, kind = arrays.distinct(frame)
        scores = score(self._shown(given, arrays.rows(frame, first)))[kind] * weight[:, None]
        return np.column_stack([sums(row, column, _num_samples(given.frame)) for column in scores.T])

    def _probabilities(self, X: Any) -> Numbers:
        """Return the estimator's scores; a class of y that was never released has none."""
        return probabilities(self.estimator_, X, self.classes_)


def _tell(message: str) -> None:
    """Warn at the line that asked for a fit, whatever of scikit-learn lies between."""
    warn(message, SEARCHING)
