"""The paper's whole pipeline as one classifier: a mapping is learned, the estimator trained on its release.

Knows scikit-learn's conventions, preprocessors and the one line; the mathematics is elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers
from evenhand.data.domain import same_level
from evenhand.data.weighting import SURVEY
from evenhand.errors import DataError, MissingExtraError, SpecError, some_of, warn
from evenhand.fitting import warn_of_bounds
from evenhand.mapping import Mapping
from evenhand.spec import PairwiseParity, Parity, Problem
from evenhand.spec.distance import Difference
from evenhand.tables import Frame, arrays, as_levels, read, returned
from evenhand.use.deciding import Decided, Decisions, fit_decisions
from evenhand.use.estimator.conventions import (
    Features,
    checked,
    classes_of,
    outcome_of,
    refuse_too_few,
    take_columns,
    weights_of,
)
from evenhand.use.estimator.over_mapping import WAYS, Way, has_probabilities, likeliest, scores_over
from evenhand.use.estimator.preprocessor import OptimizedPreprocessor
from evenhand.use.estimator.preprocessor import People as Read
from evenhand.use.oneline import WEIGHT, Calibrated, People, Wanted, fit_one_line, scored_out_of_fold
from evenhand.use.scoring import probabilities
from evenhand.use.training import NEEDED, fitted_on, last_step, takes_weights

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
    from sklearn.utils import get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted
except ImportError:
    raise MissingExtraError(NEEDED) from None

SUPPRESS = 'write suppress_protected="fixed" in the problem'

UNSEEN_GROUPS = (
    "the estimator does not see the protected columns, and the mapping is not made for that: no bound "
    "covers its mean scores, which can differ by group as much as without any mapping; "
    f"{SUPPRESS}, which preprocessor=eh.OptimizedPreprocessor(problem) holds"
)

UNSEEN_BESIDE_FEATURES = (
    "the estimator does not see the protected columns, and the mapping is not made for that: of the bounds "
    f"FeatureParity alone covers its mean scores, those on the outcome do not; {SUPPRESS}"
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
    bound : float or Parity, optional
        Without a preprocessor: how far apart released rates of any two groups may be, as their ratio less one; or a
        statement such as ``eh.PairwiseParity(0.1, distance=eh.FourFifths("granted"))``, by which outcomes change
        towards the favourable one only.
    favourable : value of y, optional
        Without a preprocessor: the outcome that is good for a person. Where a mapping takes it from people, a warning
        says from how many, by group; without ``favourable`` a warning says how many go from which outcome to which.
        With ``decisions`` it is the class that people are selected for.
    decisions : float or PairwiseParity, optional
        In place of ``bound``, with two classes: how far apart selection rates of any two groups may be, as a
        difference, at every threshold on the score; or a statement such as ``eh.PairwiseParity(0.2,
        distance=eh.FourFifths(1))``. The estimator is trained on the outcomes as they are. What is released, by a
        mapping of its own, is the level of its score: twenty of them, moved by group, as little as possible in total of
        squares, with nothing drawn and nobody overtaken by a lower score of their group. The mean move of a group's
        people of one level is within the mapping's budget. No label is read. The bound is held out of fold: where it is
        exceeded there, the mapping is fitted again with a tighter one, and a warning with the numbers comes wherever it
        is not reached. A model that overfits scores those whom it was trained on otherwise.
    threshold : float, optional
        With ``decisions``: the one score from which on people are selected, and compared; ``predict`` goes by it.
    confidence : float, optional
        With ``bound``: released rates keep it, with this confidence, in the population that X was drawn from; see
        :class:`Problem`. Scores are then shifted to these rates.
    calibrate : bool
        With ``bound``: whether each group's scores are shifted on the logit, by a constant, so that their mean
        is the released rate, measured on people whom clones of the trained estimator were not trained on.
    train_on : {"expected", "draw"}
        ``"expected"`` trains on every possible (x̂, ŷ) of each person, weighted by its probability: no sampling noise.
        An estimator that takes no sample weights gets a draw, with a warning. ``"draw"`` trains on one release, which
        is balanced unless draws go by a key.
    predict_with : {"expected", "draw"}
        ``"expected"`` averages the score over the mapping, Σ p(x̂|d,x) · score(x̂, d), exactly and without drawing.
        ``"draw"`` scores one draw of x̂, so that a person's score depends on the seed. With ``decisions`` nothing is
        drawn but this: where people of one score are released as different levels, ``"expected"`` goes by what their
        rows hold, so that equal people are released alike and a crowd of them cannot be split; ``"draw"`` splits it,
        by the place of a row in X: people who are scored one at a time are not split.
    drop_protected : bool
        Whether the estimator is kept from seeing the protected columns. Apply mode still reads them, unless the problem
        is blind. Bounds on the outcome then cover the model only if the problem has ``suppress_protected``.
        :class:`FeatureParity` covers its mean scores only then, and its decisions with ``predict_with="draw"``. Where a
        bound covers less there is a warning.

    Attributes
    ----------
    estimator_, preprocessor_ : objects
        The fitted ones.
    mapping_ : Mapping
        Without a preprocessor: the mapping that was made.
    parity_ : pandas.DataFrame
        Without a preprocessor: one row per group with the number of its ``people``, the rate of the last class
        ``before`` and as ``released``, its ``mean_score`` and the share ``selected``, for whom it is the predicted
        class, both of people whom clones were not trained on; how far ``apart`` its mean scores are from the furthest
        other group's, by the distance of the bound and for any class; and the ``bound``. With more than two classes,
        one row for each of them. With ``decisions`` no rate is released, ``before`` is the share selected by the
        scores of clones; ``apart`` is how far selection rates are at the worst of the thresholds that are bounded, out
        of fold, and ``up_to`` how far those of new people may be, as 19 of 20 samples of this size go.
    classes_ : array
        The values of y. One that is never released has probability zero.
    n_features_in_, feature_names_in_
        As in every estimator.

    Notes
    -----
    ``sample_weight`` is a survey weight of each person, in the mapping and in the estimator; repeat the rows of a table
    of counts. Through a ``Pipeline`` weights go to every step that takes them. There is no ``decision_function``:
    margins have no mean that is a margin. An estimator without ``predict_proba`` has none here either, and ``predict``
    then gives the class that it predicts most often over the mapping.

    The bounds are about the problem's columns. Others in X reach the estimator as they are, and what it learns from
    them is not covered: a warning names them. List them as features, which stay fixed unless a rule says otherwise.

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
        bound: float | Parity | None = None,
        favourable: Any = None,
        decisions: float | Parity | None = None,
        threshold: float | None = None,
        confidence: float | None = None,
        calibrate: bool = True,
        train_on: Way = "expected",
        predict_with: Way = "expected",
        drop_protected: bool = False,
    ) -> None:
        self.estimator = estimator
        self.preprocessor = preprocessor
        self.protected = protected
        self.bound = bound
        self.favourable = favourable
        self.decisions = decisions
        self.threshold = threshold
        self.confidence = confidence
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
        if any(each is not None for each in self._stated) or self.preprocessor is None:
            return self._fit_one_line(X, y, sample_weight)
        return self._fit_with_preprocessor(X, y, sample_weight)

    def _fit_with_preprocessor(self, X: Any, y: Any, sample_weight: Any) -> PreprocessedClassifier:
        """Let the preprocessor learn its mapping, and train on what that releases."""
        if not isinstance(self.preprocessor, OptimizedPreprocessor):
            raise SpecError(
                f"preprocessor must be an eh.OptimizedPreprocessor, not {type(self.preprocessor).__name__}; other "
                f"steps belong before this classifier, or in its estimator"
            )
        self.preprocessor_ = clone(self.preprocessor)
        people = self.preprocessor_._fit(X, y, sample_weight)
        take_columns(self, self.preprocessor_)
        self.classes_ = classes_of(people.outcome)
        mapping: Mapping | None = self.preprocessor_.mapping_
        if mapping is not None:
            way = {"sees_groups": not self.drop_protected, "drawn": self.predict_with == "draw"}
            for words in uncovered(mapping.problem, **way):
                warn(words)
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
        outcome = outcome_of(y, given.frame)
        classes = classes_of(outcome)
        weights = None if sample_weight is None else SURVEY.checked(weights_of(given.frame, sample_weight))
        if weights is not None and not takes_weights(self.estimator):
            raise SpecError(f"{last_step(self.estimator)} takes no sample weights; leave sample_weight out")
        refuse_too_few(given.frame, classes if weights is None else classes_of(outcome[weights > 0]))
        name = getattr(y, "name", None)
        people = People(
            shown, given.frame, protected, outcome, name if isinstance(name, str) and name else "y", weights
        )
        wanted = replace(wanted, favourable=self._good(classes, wanted.parity))
        decisions = self._decided(classes)
        warn_of_bounds([wanted.parity if decisions is None else decisions.parity])
        scored = scored_out_of_fold(self.estimator, people, by_all=decisions is not None)
        found: Calibrated | Decided
        if decisions is None:
            found = fit_one_line(self.estimator, scored, wanted)
        else:
            found = fit_decisions(self.estimator, scored, decisions)
        self._one_line, self.classes_, self.estimator_ = found, found.classes, found.estimator
        self.mapping_, self.parity_ = found.mapping, found.parity
        self._forget("preprocessor_")
        return self

    @property
    def _stated(self) -> tuple[Any, ...]:
        """What a classifier says that makes its own mapping."""
        return self.protected, self.bound, self.favourable, self.decisions, self.threshold, self.confidence

    def _decided(self, classes: Any) -> Decisions | None:
        """Return what is asked of decisions; None where the bound is on mean scores."""
        if self.decisions is None:
            return None
        if len(classes) != 2:
            raise SpecError(
                f"Only binary classification is supported with decisions, and y has {len(classes)} classes; write "
                f"bound=..., which holds mean scores of each, or make one class of several"
            )
        parity = self.decisions
        if not isinstance(parity, Parity):
            parity = PairwiseParity(check.bound("decisions", parity), Difference())
        good = self._good(classes, parity)
        selected = 1 if good is None else classes.tolist().index(good)
        threshold = None if self.threshold is None else check.number("threshold", self.threshold, low=0, high=1)
        return Decisions(parity, threshold, selected, good is not None, self.predict_with == "draw")

    def _good(self, classes: Any, parity: Parity) -> Any:
        """Return the class that is good for a person, as stated or as a distance names it; None where neither does."""
        named = parity.distance.good_outcome
        if named is not None and self.favourable is not None and not same_level(named, self.favourable):
            raise SpecError(f"favourable says {self.favourable!r}, and {type(parity.distance).__name__} {named!r}")
        good = self.favourable if named is None else named
        found = [each for each in classes.tolist() if good is not None and same_level(good, each)]
        if good is not None and not found:
            raise SpecError(f"the favourable outcome is {good!r}, and y has {some_of(map(repr, classes.tolist()))}")
        return found[0] if found else None

    def _refuse_unclear_decisions(self) -> None:
        """Refuse what the one line cannot hold of decisions."""
        if self.threshold is not None and self.decisions is None:
            raise SpecError("threshold is where decisions are compared; say how far apart they may be: decisions=0.05")
        if self.decisions is None:
            return
        if self.confidence is not None:
            raise SpecError(
                "confidence goes with bound: how far selection rates at every threshold stray in the population is not "
                "covered; leave it out, and see up_to in parity_"
            )
        if self.bound is not None:
            raise SpecError(
                "bound holds mean scores, decisions holds selection rates, which one release does not do both: write "
                "one of them"
            )
        parity = self.decisions
        if not isinstance(parity, Parity):
            return
        if parity.segmented or parity.against_target or not parity.of_outcomes:
            raise SpecError(
                "decisions compares selection rates of whole groups with each other: write a PairwiseParity without "
                "given, given_outcome and levels"
            )
        if parity.distance.good_outcome is not None and self.threshold is None:
            raise SpecError(
                f"{type(parity.distance).__name__} is about one decision: say at which score with threshold=0.5, or "
                f"write decisions=0.05, which holds differences at every threshold"
            )

    def _asked(self) -> tuple[tuple[str, ...], Wanted]:
        """Return what the one line asks for, or say what it lacks."""
        if self.preprocessor is not None:
            raise SpecError(
                "protected, bound, favourable, decisions and confidence are for a classifier that makes its own "
                "mapping, and a preprocessor holds a problem with bounds: write one or the other; "
                "preprocessor=eh.OptimizedPreprocessor(problem, bound=...)"
            )
        self._refuse_unclear_decisions()
        if self.protected is None or (self.bound is None and self.decisions is None):
            raise SpecError(
                "say who is compared and how far apart they may be: write protected=['sex'], bound=0.05 with columns "
                "of X, or decisions=0.05 in place of bound, or preprocessor=eh.OptimizedPreprocessor(problem)"
            )
        protected = check.columns("protected", self.protected)
        parity = self._parity()
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
            warn(UNSEEN_GROUPS)
        expected = self.train_on == "expected" and takes_weights(self.estimator)
        if self.train_on == "expected" and not expected:
            warn(
                f"{type(last_step(self.estimator)).__name__} takes no sample weights, so it is trained on one release "
                f'(seed 0) and not on the expected one; write train_on="draw" to say so',
            )
        confidence = None if self.confidence is None else check.share("confidence", self.confidence)
        return protected, Wanted(parity, bool(self.calibrate), expected, confidence)

    def _parity(self) -> Parity:
        """Return the statement about mean scores: as given, or a ratio of every two groups."""
        if not isinstance(self.bound, Parity):
            return PairwiseParity(0.0 if self.bound is None else check.bound("bound", self.bound))
        if self.bound.segmented or not self.bound.of_outcomes:
            raise SpecError(
                "bound compares mean scores of whole groups: write a PairwiseParity or TargetParity without given, "
                "given_outcome and levels"
            )
        return self.bound

    def _given(self, X: Any, y: Any, protected: tuple[str, ...], fitting: bool = True) -> tuple[Any, Features]:
        """Check X as scikit-learn does; return it as the estimator sees it, and as a frame with names."""
        X = checked(self, X, y, fitting=fitting, needed=protected)
        given = Features.of(X, protected, protected)
        if not self.drop_protected:
            return X, given
        if not isinstance(X, np.ndarray):
            return given.back(given.frame, without=protected), given
        return X[:, [place for place in range(X.shape[1]) if str(place) not in protected]], given

    def _forget(self, *names: str) -> None:
        """Leave nothing behind of an earlier fit in the other form."""
        for name in names:
            self.__dict__.pop(name, None)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Any:
        """Return the expected score of every class, or with ``predict_with="draw"`` that of one draw."""
        check_is_fitted(self, "estimator_")
        if self._one_line is not None:
            return self._shifted(X, self._one_line)
        # A class of y that was never released has no score.
        return self._scored(X, lambda shown: probabilities(self.estimator_, shown, self.classes_))

    def predict(self, X: Any) -> Any:
        """Return the class of largest expected score: a decision, which no bound covers."""
        check_is_fitted(self, "estimator_")
        if self._one_line is not None:
            return self.classes_[self._one_line.chosen(self._shifted(X, self._one_line))]
        if self._mapping is None:
            self.preprocessor_._read(X)  # which checks it
            return self.estimator_.predict(X)
        return likeliest(self.estimator_, self.classes_, self.predict_with, lambda score: self._scored(X, score))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        before = self.preprocessor is None or get_tags(self.preprocessor).input_tags.allow_nan
        tags.input_tags.allow_nan = inner.input_tags.allow_nan and before
        tags.input_tags.string = inner.input_tags.string
        if inner.classifier_tags is not None:
            both = inner.classifier_tags.multi_class and self.decisions is None
            tags.classifier_tags = replace(inner.classifier_tags, multi_class=both)
        return tags

    _one_line: Calibrated | Decided | None = None
    """What a fit without a preprocessor found."""

    def _shifted(self, X: Any, found: Calibrated | Decided) -> Numbers:
        """Return scores of new people, each group's shifted by its constant, or as they are released."""
        protected = tuple(found.mapping.problem.protected)
        shown, given = self._given(X, "no_validation", protected, fitting=False)
        return found.scores(shown, given.frame)

    @property
    def _mapping(self) -> Mapping | None:
        found: Mapping | None = self.preprocessor_.mapping_
        return found

    def _name_others(self, given: Features) -> None:
        """Tell which columns the estimator sees that the problem does not name."""
        before: OptimizedPreprocessor = self.preprocessor_
        known = (*before._mapping.problem.columns, *before._identifies)
        others = [name for name in arrays.names(given.frame) if name not in known]
        if others:
            # A frame's own names, where a problem goes by the numbers of its columns.
            shown = [name if given.labels is None else given.labels[int(name)] for name in others]
            warn(
                f"the estimator also sees columns that are outside the problem, and nothing bounds what it learns from "
                f"them: {some_of(shown)}; list them as features, which stay fixed unless a rule says "
                f"otherwise, or leave them out",
            )

    def _training_rows(self, people: Read) -> tuple[Any, Any, Any]:
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
            warn(
                f"{type(last_step(self.estimator)).__name__} takes no sample weights, so it is trained on one release "
                f'(seed {before.seed}) and not on the expected one; write train_on="draw" to say so',
            )
        frame, outcome = before._released(people)
        return self._shown(people.features, self._levelled(frame)), outcome, people.weights

    def _levelled(self, frame: Frame) -> Frame:
        """Return a transformed frame with the protected columns as their levels, which are what the bounds are about.

        Whoever sees an age beside the groups of age need not learn one rate for each group.
        """
        assert self._mapping is not None
        return returned(as_levels(read(frame), self._mapping.counts.domain.d), frame)

    def _shown(self, given: Features, frame: Frame) -> Any:
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
        return scores_over(
            before, given, self.predict_with, self._levelled, lambda frame: score(self._shown(given, frame))
        )


def uncovered(problem: Problem, *, sees_groups: bool, drawn: bool) -> Iterator[str]:
    """Yield what each kind of bound does not cover of a model that ``sees_groups``, or is shown x̂ that is ``drawn``.

    Bounds on the outcome cover mean scores of a model that sees the group, or of any under suppression. A bound on
    features covers whatever is done with them alone: mean scores, and decisions too where features are drawn.
    """
    of_features = [parity for parity in problem.parity if parity.compares_features]
    of_outcomes = len(of_features) < len(problem.parity) or not of_features
    if of_outcomes and not sees_groups and not problem.suppression.covers_unaware:
        beside = any(not _left_out(problem, parity) for parity in of_features)
        yield UNSEEN_BESIDE_FEATURES if beside else UNSEEN_GROUPS
    for parity in of_features:
        lacks = list(_lacks(problem, parity, sees_groups, drawn))
        if lacks:
            yield _beyond_features(lacks)


def _lacks(problem: Problem, parity: Parity, sees_groups: bool, drawn: bool) -> Iterator[tuple[str, str]]:
    """Yield why a bound on features does not cover a model's decisions, each with what to write instead."""
    if sees_groups:
        # Without the group, bounds on the outcome would in turn cover nothing.
        both = any(not each.compares_features for each in problem.parity) and not problem.suppression.covers_unaware
        advice = 'drop_protected=True, and suppress_protected="fixed" in the problem' if both else "drop_protected=True"
        yield "the estimator sees the protected columns too", advice
    if not drawn:
        yield "scores are means over all features that a person may get", 'predict_with="draw"'
    left_out = _left_out(problem, parity)
    if left_out:
        yield f"the estimator sees features that it does not compare ({some_of(left_out)})", "it without features=[...]"


def _left_out(problem: Problem, parity: Parity) -> list[str]:
    """Name the features that a bound on features does not compare."""
    return [] if parity.features is None else [name for name in problem.features if name not in parity.features]


def _beyond_features(lacks: list[tuple[str, str]]) -> str:
    reasons, advice = (" and ".join(each) for each in zip(*lacks, strict=True))
    return (
        f"FeatureParity covers what a model decides by released features that are drawn, and by nothing else, and here "
        f"{reasons}: the shares of groups above a threshold can differ by more than its bound; write {advice}"
    )
