"""A mapping as a scikit-learn transformer: apply mode in ``transform``, train mode in ``fit_resample``.

Knows scikit-learn's conventions and the public face of a mapping; nothing of models.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import check
from evenhand.data.weighting import Weighting
from evenhand.errors import DataError, MissingExtraError, SpecError
from evenhand.fitting import fit_weighted
from evenhand.mapping import Mapping
from evenhand.spec import Problem
from evenhand.tables import Frame, arrays, to_pandas
from evenhand.tables.columns import APPLY_ADVICE, MISSING_ADVICE
from evenhand.tables.transforming import Draws, Missing, Unseen
from evenhand.use.estimator.conventions import (
    Features,
    checked,
    classes_of,
    outcome_of,
    refuse_too_few,
    weights_of,
)
from evenhand.use.training import NEEDED

try:
    from sklearn import get_config
    from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise MissingExtraError(NEEDED) from None


@dataclass(frozen=True, eq=False)
class People:
    """What a preprocessor was fitted on: features, the outcome and weights, each checked; None where there is none."""

    features: Features
    outcome: Any
    weights: Any

    @property
    def weighting(self) -> Weighting | None:
        """By what their rows count in a mapping."""
        return None if self.weights is None else Weighting(self.weights, sampled=True)


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
        Of the draws, by default the same each time; None takes a fresh one, but 0 in train mode with a key. Without a
        key draws go by position, and are balanced in train mode.
    key : str, optional
        A column of X that identifies people, so that each gets the same draw in any order. No estimator is shown it.
    unseen : {"typical", "keep", "error"}, optional
        What to do with people whose cell was not in the fitted table, as in :meth:`evenhand.Mapping.release`; by
        default ``typical``.
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

    def fit_resample(self, X: Any, y: Any, sample_weight: Any = None) -> tuple[Any, Any]:
        """Train mode: learn the mapping, draw (x̂, ŷ) for every row, and return both, of the kinds that were given."""
        people = self._fit(X, y, sample_weight)
        alone = self.mapping_ is None
        frame, released = (people.features.frame, people.outcome) if alone else self._released(people)
        return people.features.back(frame), released

    def transform(self, X: Any) -> Any:
        """Apply mode: draw x̂ for every row given its (d, x); what comes out is of the kind that was given."""
        check_is_fitted(self, "mapping_")
        given = self._read(X)
        result = given.back(given.frame if self.mapping_ is None else self._applied(given))
        # scikit-learn itself turns only arrays into the pandas frames that set_output asks for.
        asked = getattr(self, "_sklearn_output_config", {}).get("transform", get_config()["transform_output"])
        return to_pandas(result) if asked == "pandas" and arrays.is_frame(result) else result

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self.problem is not None
        tags.input_tags.allow_nan = self.problem is None or self.problem.missing_is_level
        tags.input_tags.string = True
        return tags

    def _fit(self, X: Any, y: Any, sample_weight: Any) -> People:
        """Fit, and return what was read."""
        people = self._checked(X, y, sample_weight)
        self._learn(people)
        return people

    def _learn(self, people: People) -> None:
        """Learn the mapping from people who were checked."""
        problem = stated(self.problem, self.bound, self.budget)
        # Set last: after a fit that fails, transform must not return its input as if there were no problem.
        self.mapping_ = None if problem is None else fit_weighted(problem, self._table(people), people.weighting)

    def _checked(self, X: Any, y: Any, sample_weight: Any) -> People:
        """Check everything that is given before anything is learned."""
        problem = stated(self.problem, self.bound, self.budget)
        Draws(self.seed, self.key, unseen=self.unseen)  # which checks them
        given = self._read(X, y, fitting=True)
        outcome = y
        if y is not None:
            values = outcome_of(y, given.frame)
            if problem is not None:
                classes_of(values)
            outcome = y if arrays.is_series(y) else values
        weights: Any = None if sample_weight is None else weights_of(given.frame, sample_weight)
        people = People(given, outcome, weights)
        if problem is not None:
            # Refused in the words that scikit-learn's users know.
            names = arrays.names(given.frame)
            lacking = [name for name in (*problem.protected, *problem.features) if name not in names]
            if lacking:
                raise DataError(
                    f"X has n_features={len(names)} columns, {names}, and lacks {lacking}, which the problem names; "
                    f"the columns of an array are '0', '1' and so on"
                )
            refuse_too_few(given.frame, classes_of(outcome))
        return people

    def _read(self, X: Any, y: Any = "no_validation", fitting: bool = False) -> Features:
        """Check X as scikit-learn does, and name its columns."""
        problem = self.problem if fitting else None if self.mapping_ is None else self.mapping_.problem
        # To a mapping that is blind, people may come without their protected columns.
        unread = problem.protected if problem is not None and problem.blind and not fitting else ()
        needed = () if problem is None else [n for n in (*problem.protected, *problem.features) if n not in unread]
        X = checked(self, X, y, fitting=fitting, without=unread, needed=needed)
        if not isinstance(X, np.ndarray):
            return Features.of(X, (), ())
        if problem is None:
            return Features(X)
        self._refuse_nan(X, fitting)
        return Features.of(X, problem.columns, _whole(problem))

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

    def _table(self, people: People) -> Frame:
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

    def _applied(self, given: Features) -> Frame:
        return self._mapping.apply(given.frame, seed=self.seed, key=self.key, unseen=self.unseen, missing=self.missing)

    def _released(self, people: People) -> tuple[Frame, Any]:
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
    if problem.weighting is not None:
        raise SpecError(
            f"an estimator counts rows by the sample_weight of its fit; leave {problem.weighting.option} out of its "
            f"problem"
        )
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
