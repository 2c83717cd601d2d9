"""A model that exists already, shielded: people are transformed before they are scored, and it is never trained.

Knows scikit-learn's conventions, preprocessors and fitted models.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from evenhand import check, tables
from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.weighting import Weighting
from evenhand.errors import DataError, MissingExtraError, SpecError, some_of, warn
from evenhand.findings.scores import apart, by_group
from evenhand.mapping import Mapping
from evenhand.spec import Conditional, Distortion, Free, Problem
from evenhand.spec.distance import Ratio
from evenhand.tables import Frame, arrays
from evenhand.tables.transforming import Missing, Unseen
from evenhand.tolerances import AT_BOUND
from evenhand.use.estimator.conventions import Features, take_columns
from evenhand.use.estimator.over_mapping import WAYS, Way, asked_once, possible, summed
from evenhand.use.estimator.preprocessor import OptimizedPreprocessor, People
from evenhand.use.estimator.trained import Trained, check_trained
from evenhand.use.group_scores import fitted_groups, parity_frame
from evenhand.use.scoring import probabilities
from evenhand.use.training import NEEDED

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
    from sklearn.utils import get_tags
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise MissingExtraError(NEEDED) from None


class ShieldedClassifier(MetaEstimatorMixin, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Shield a model that exists already: bound its mean score by group, without training it.

    ``fit`` learns a mapping alone: how people are transformed, x̂ for (d, x), before the model is asked about them. The
    model is handed what it was trained on: its own columns, in its order, numbers as numbers and words as words.

    Parameters
    ----------
    model : fitted classifier
        With ``predict_proba`` and ``classes_``, and without protected columns among those that it reads. It is kept
        as it is, also in clones.
    problem : Problem, optional
        What to bound and what may change at which cost. Its protected columns and features are columns of X, its
        outcome is y, whose levels are the model's classes. What the outcome's own changes cost is not read: no outcome
        is released here. ``suppress_protected="fixed"`` and the model as ``conditional`` are added. With ``confidence``
        the model's mean scores are within the bounds in the population, too. None bounds nothing: the scores are the
        model's own, of its own columns.
    bound, budget, seed, key, unseen, missing
        As in :class:`OptimizedPreprocessor`.
    predict_with : {"expected", "draw"}
        ``"expected"`` averages the model's score over the mapping, Σ p(x̂|d,x) · score(x̂), without drawing. ``"draw"``
        scores one draw of x̂, so that a person's score depends on the seed.

    Attributes
    ----------
    mapping_ : Mapping or None
        How people are transformed; None without a problem.
    parity_ : pandas.DataFrame
        Of the people of ``fit``, one row per group: its ``people``, the mean score of the last class by the ``bare``
        model, its ``mean_score`` as shielded, the share ``selected``, for whom it is the predicted class; how far
        ``apart`` mean scores are from the furthest other group's, as their ratio less one and for any class; and the
        ``bound`` (NaN where the problem's parity is not one bound on ratios between groups). With more than two
        classes, one row for each of them. Not there without a problem.
    classes_ : array
        The model's.
    n_features_in_, feature_names_in_
        As in every estimator.

    Notes
    -----
    Columns of X that neither the problem nor the model reads are left out. Columns that the model reads and the problem
    does not name are handed to it as they are (``passed through``), and there is a warning: p(ŷ|x̂) is then the mean
    score of the people at x̂, and mean scores are near the bound only as far as those columns do not tell the group
    beyond what x̂ does. ``parity_`` has what they are. List such columns as features, which stay fixed unless a rule
    says otherwise, where the bound is to hold.

    Where a feature has bins, who stays in one is scored at their own value, and who moves into one by the mean of the
    model over values of that bin.

    Examples
    --------
    >>> import evenhand as eh
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> people = eh.datasets.load("compas").frame
    >>> X, y = people.drop(columns="is_recid"), people["is_recid"]
    >>> seen = ["age_cat", "c_charge_degree", "priors_count"]
    >>> model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(X[seen], y)  # by somebody else
    >>> problem = eh.Problem(
    ...     protected=["race"], features=seen, outcome="is_recid", parity=[eh.PairwiseParity(0.05)],
    ...     distortion=eh.Distortion({
    ...         "age_cat": eh.Ordinal(step=1, max_steps=1), "c_charge_degree": eh.Nominal(1),
    ...         "priors_count": eh.Ordinal(step=1, max_steps=1), "is_recid": eh.Free(),
    ...     }),
    ...     budget=eh.ExpectedDistortion(0.25),
    ... )
    >>> shielded = eh.ShieldedClassifier(model, problem).fit(X, y)
    >>> shielded.parity_[["race", "bare", "mean_score", "apart"]].round(3).to_numpy().tolist()
    [['African-American', 0.543, 0.506, 0.05], ['Caucasian', 0.438, 0.482, 0.05]]
    >>> shielded.predict_proba(X).shape
    (5278, 2)
    """

    def __init__(
        self,
        model: Any,
        problem: Problem | None = None,
        *,
        bound: float | None = None,
        budget: float | None = None,
        seed: int | None = 0,
        key: str | None = None,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
        predict_with: Way = "expected",
    ) -> None:
        self.model = model
        self.problem = problem
        self.bound = bound
        self.budget = budget
        self.seed = seed
        self.key = key
        self.unseen = unseen
        self.missing = missing
        self.predict_with = predict_with

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> ShieldedClassifier:
        """Learn how people are transformed before the model is asked; the model stays as it is."""
        check.one_of("predict_with", self.predict_with, WAYS)
        check_trained(self.model)
        before = OptimizedPreprocessor(
            None if self.problem is None else _shielding(self.problem),
            bound=self.bound, budget=self.budget, seed=self.seed, key=self.key, unseen=self.unseen,
            missing=self.missing,
        )  # fmt: skip
        people = before._checked(X, y, sample_weight)
        if before.problem is not None:
            there = arrays.names(people.features.frame)
            if self.key is not None and self.key not in there:
                raise DataError(f"X has no column {self.key!r}, which key names; it has {some_of(there)}")
            asked = Trained.on(self.model, people.features, before.problem.features)
            before.problem = replace(before.problem, conditional=self._conditional(before, asked, people))
        before._learn(people)
        take_columns(self, before)
        self.classes_ = np.asarray(self.model.classes_)
        self.preprocessor_, self.mapping_ = before, before.mapping_
        self.__dict__.pop("parity_", None)
        if self.mapping_ is None:
            asked = _as_it_is(self.model, people.features)
        self._asked = asked
        if self.mapping_ is not None:
            self.parity_ = self._parity(people, self.mapping_)
        return self

    def predict_proba(self, X: Any) -> Any:
        """Return the model's expected score of every class, or with ``predict_with="draw"`` that of one draw."""
        check_is_fitted(self, "preprocessor_")
        before: OptimizedPreprocessor = self.preprocessor_
        given = before._read(X)
        if self.mapping_ is None:
            named = arrays.is_frame(given.frame)
            return self._scores(given.frame) if named else probabilities(self.model, X, self.classes_)
        return self._expected(given) if self.predict_with == "expected" else self._scores(before._applied(given))

    def predict(self, X: Any) -> Any:
        """Return the class of largest score: a decision, which no bound covers."""
        scores = self.predict_proba(X)
        return self.classes_[np.argmax(scores, axis=1)]

    def __sklearn_clone__(self) -> Any:
        found = super().__sklearn_clone__()
        # A clone of the model would have forgotten all that it learned.
        found.model = self.model
        return found

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.model)
        before = self.problem is None or self.problem.missing_is_level
        tags.input_tags.allow_nan = inner.input_tags.allow_nan and before
        tags.input_tags.string = inner.input_tags.string
        if inner.classifier_tags is not None:
            tags.classifier_tags = replace(inner.classifier_tags)
        return tags

    _asked: Trained
    """The model as it is asked."""

    def _conditional(self, before: OptimizedPreprocessor, asked: Trained, people: People) -> Any:
        """Return the model's scores as p(ŷ|x̂)."""
        problem = before.problem
        assert problem is not None
        protected = [name for name in asked.columns if name in problem.protected]
        if protected:
            raise DataError(
                f"the model reads the protected columns {protected}, and a model that does cannot be shielded: its "
                f"scores differ by group whatever features people are given; train one without them"
            )
        passed = [name for name in asked.columns if name not in problem.features]
        if not passed:
            return asked
        warn(
            f"the model also reads columns that the problem does not name, and the bound does not cover what they tell "
            f"of the group: {some_of(passed)}; parity_ has the mean scores; list them as features, which stay fixed "
            f"unless a rule says otherwise",
        )
        return _mean_scores(asked, problem, before._table(people), people.weights)

    def _scores(self, frame: Frame) -> Numbers:
        return probabilities(self._asked, frame, self.classes_)

    def _expected(self, given: Features) -> Numbers:
        """Return each person's mean score over the mapping."""
        frame, row, weight = possible(self.preprocessor_, given)
        scores = asked_once(arrays.select(frame, self._asked.columns), self._scores)
        mapping: Mapping = self.preprocessor_._mapping
        features = mapping.counts.domain.x
        binned = any(variable.coding is not None for variable in features.variables)
        if binned and set(self._asked.columns) <= set(features.names):
            # Who moves into a bin is shown as its middle; p(ŷ|x̂), which the bound is about, is a mean over the bin.
            (before, _), (after, new) = (tables.cells(features, tables.read(each)) for each in (given.frame, frame))
            found, place = positions(mapping.counts.features.cells, after)
            moved = (after != before[row]) & found & ~new
            assert mapping.conditional is not None
            scores[moved] = mapping.conditional[place[moved]]
        return summed(row, scores * weight[:, None], given)

    def _parity(self, people: People, mapping: Mapping) -> Any:
        """Return what the mean scores of the fitted people are, and tell where they exceed the bound."""
        given = people.features
        counted = np.ones(len(people.outcome)) if people.weights is None else people.weights
        group = fitted_groups(mapping, arrays.select(given.frame, mapping.problem.protected))
        group = np.where(counted > 0, group, 0)
        scores = {"bare": self._scores(given.frame), "mean_score": self._expected(given)}
        scores["selected"] = np.eye(len(self.classes_))[np.argmax(scores["mean_score"], axis=1)]
        found = {
            name: by_group(group, counted, each, len(mapping.counts.groups.cells)) for name, each in scores.items()
        }
        bound = _ratio_bound(mapping.problem)
        by_group_apart = apart(found["mean_score"])
        furthest = float(by_group_apart.max())
        if furthest > bound + AT_BOUND:
            warn(
                f"mean scores of the fitted people are {furthest:.3f} apart by group, more than the bound of "
                f"{bound:g}: see parity_; where features have bins cut narrower ones, and list every column that the "
                f"model reads as a feature",
            )
        return parity_frame(mapping, self.classes_, found, by_group_apart, np.full(len(by_group_apart), bound))


def _as_it_is(model: Any, given: Features) -> Trained:
    """Return a model as it is asked about people who are not transformed: of X it reads its own columns."""
    named = given if arrays.is_frame(given.frame) else Features.of(given.frame, (), ())
    return Trained.on(model, named, arrays.names(named.frame), named_by="X")


def _shielding(problem: Problem) -> Problem:
    """Return the problem of a model that is shielded: features alone are charged, and D is suppressed."""
    check.kind("problem", problem, Problem, "an eh.Problem")
    if problem.conditional is not None:
        raise SpecError("the model itself is the problem's conditional here; leave conditional out of the problem")
    if problem.suppress_protected == "alternating":
        raise SpecError(
            'a model that is not trained keeps its p(ŷ|x̂): write suppress_protected="fixed", or leave it out, instead '
            'of "alternating", which changes it'
        )
    if problem.cells is not None:
        raise SpecError("with cells no feature changes, so that a model cannot be shielded; leave cells out")
    rules: Distortion = problem.distortion
    if rules.function is None:
        rules = replace(rules, rules={**rules.rules, problem.outcome: Free()})
    return replace(problem, suppress_protected="fixed", distortion=rules)


def _mean_scores(asked: Trained, problem: Problem, table: Frame, weights: Any) -> Conditional:
    """Return the mean score of the people at each x̂, over whatever else the model reads of them."""
    people = table
    if weights is not None:
        counted = np.flatnonzero(weights)
        people, weights = arrays.rows(table, counted), weights[counted]
    counts = tables.count_frame(problem, people, None if weights is None else Weighting(weights, sampled=True))
    cells: Cells = tables.cells(counts.domain.x, tables.read(people))[0]
    known, place = np.unique(cells, return_inverse=True)
    each = np.ones(len(cells)) if weights is None else np.asarray(weights)
    scores = asked.predict_proba(people)
    total = np.column_stack([sums(place, each * column, len(known)) for column in scores.T])
    classes = [getattr(name, "item", lambda name=name: name)() for name in asked.classes_]
    return Conditional(
        {
            tuple(counts.domain.x.labels(int(cell)).values()): dict(zip(classes, row / row.sum(), strict=True))
            for cell, row in zip(known, total, strict=True)
        }
    )


def _ratio_bound(problem: Problem) -> float:
    """Return the one bound on ratios between groups, where that is all the parity that a problem asks for; else NaN."""
    if len(problem.parity) != 1 or problem.one_bound is None:
        return float("nan")
    (parity,) = problem.parity
    everybody = parity.holds_everybody and parity.of_outcomes and parity.on is None
    between = not parity.against_target and not parity.segmented
    return problem.one_bound if everybody and between and isinstance(parity.distance, Ratio) else float("nan")
