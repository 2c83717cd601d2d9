"""Searches that respect a bound: pooled over folds as by hand, and the best candidate among those within."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.dummy import DummyClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_predict, cross_validate
from sklearn.pipeline import Pipeline
from sklearn.svm import LinearSVC

import evenhand as eh

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def people(number=900, seed=0, classes=2):
    """Numbers alone: a group, and two columns of which one tells it."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, number)
    X = pd.DataFrame({"group": group, "near": rng.normal(size=number) + group, "skill": rng.normal(size=number)})
    score = X["skill"] + 0.8 * X["near"] + rng.normal(size=number)
    return X, np.digitize(score, np.quantile(score, np.arange(1, classes) / classes))


COLUMNS = [("near", "skill"), ("skill",), ("near",)]


def seeing(columns=COLUMNS[0]):
    """A logistic regression of some columns."""
    return Pipeline([("see", make_column_transformer(("passthrough", list(columns)))), ("learn", LogisticRegression())])


GRID = {"see": [seeing(columns).named_steps["see"] for columns in COLUMNS]}


def apart_by_hand(model, X, y, of):
    """Out-of-fold parity, from every person's own score."""
    scores = cross_val_predict(model, X, y, cv=FOLDS, method="predict_proba")
    if of == "selected":
        scores = np.eye(scores.shape[1])[scores.argmax(axis=1)]
    means = np.array([scores[X["group"] == g].mean(axis=0) for g in np.unique(X["group"])])
    if of == "selected":
        return np.ptp(means, axis=0).max()
    return (means.max(axis=0) / means.min(axis=0)).max() - 1


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("of", ["mean_score", "selected"])
def test_the_best_among_those_that_are_within(of, classes):
    X, y = people(classes=classes)
    score = "roc_auc" if classes == 2 else "roc_auc_ovr"
    rule = eh.best_within(0.1, of=of, otherwise="nearest")
    search = GridSearchCV(
        seeing(), GRID, cv=FOLDS, scoring=eh.parity_scoring(X, ["group"], score=score), refit=rule, error_score="raise"
    ).fit(X, y)
    by_hand = [apart_by_hand(seeing(columns), X, y, of) for columns in COLUMNS]
    assert rule.apart(search.cv_results_) == pytest.approx(by_hand)
    plain = GridSearchCV(seeing(), GRID, cv=FOLDS, scoring=score).fit(X, y)
    assert search.cv_results_["mean_test_score"] == pytest.approx(plain.cv_results_["mean_test_score"])
    assert plain.best_index_ == 0
    assert by_hand[0] > 0.1 > by_hand[1]
    assert search.best_index_ == 1, "the best of all is not within"
    assert search.predict_proba(X).shape == (len(X), classes)


def test_a_loose_bound_changes_nothing():
    X, y = people()
    search = GridSearchCV(seeing(), GRID, cv=FOLDS, scoring=eh.parity_scoring(X, ["group"]), refit=eh.best_within(99))
    assert search.fit(X, y).best_index_ == 0


@pytest.mark.slow
def test_the_one_line_is_searched():
    X, y = people()
    search = GridSearchCV(
        eh.PreprocessedClassifier(LogisticRegression(), protected=["group"], bound=0.1),
        {"bound": [0.02, 1.0], "estimator__C": [1e-6, 1.0]},
        scoring=eh.parity_scoring(X, ["group"], score="neg_log_loss"), refit=eh.best_within(0.15), cv=FOLDS,
    ).fit(X, y)  # fmt: skip
    assert search.best_params_ == {"bound": 0.02, "estimator__C": 1.0}


def test_none_is_within():
    X, y = people()
    scoring = eh.parity_scoring(X, ["group"])
    search = GridSearchCV(seeing(), {"see": [GRID["see"][0], GRID["see"][2]]}, cv=FOLDS, scoring=scoring)
    nearest = min(apart_by_hand(seeing(columns), X, y, "mean_score") for columns in (COLUMNS[0], COLUMNS[2]))
    with pytest.raises(
        eh.InfeasibleError, match=r"none of 2 candidates is within the bound of 0.01 .* nearest"
    ) as error:
        search.set_params(refit=eh.best_within(0.01)).fit(X, y)
    assert error.value.smallest_parity_bound == pytest.approx(nearest)
    search.set_params(refit=eh.best_within(0.01, otherwise="nearest"))
    with pytest.warns(eh.EvenhandWarning, match="it is taken") as told:
        search.fit(X, y)
    assert [each.filename for each in told] == [__file__]
    assert search.refit.apart(search.cv_results_)[search.best_index_] == pytest.approx(nearest)


def test_a_fold_without_a_group_says_nothing_of_it():
    X, y = people(60)
    X["group"] = np.where(X.index == 7, 2, X["group"])
    scoring = eh.parity_scoring(X, ["group"])
    search = GridSearchCV(seeing(), GRID, cv=FOLDS, scoring=scoring, refit=eh.best_within(99))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
        search.fit(X, y)
    found = search.refit.apart(search.cv_results_)
    assert found[0] == pytest.approx(apart_by_hand(seeing(), X, y, "mean_score"))


def test_arrays_other_frames_and_several_columns():
    X, y = people()
    model = LogisticRegression()
    found = cross_validate(model, X.to_numpy(), y, cv=FOLDS, scoring=eh.parity_scoring(X.to_numpy(), ["0"]))
    assert {"test_score", "test_people of 0=0", "test_mean_score of 0=1", "test_selected of 0=1"} <= set(found)
    other = pl.from_pandas(X)
    same = eh.parity_scoring(other, ["group"])(model.fit(X, y), other, y)
    assert same["mean_score of group=0"] == pytest.approx(model.predict_proba(X)[X["group"] == 0, 1].mean())
    X["old"] = np.arange(len(X)) % 2 == 0
    crossed = pickle.loads(pickle.dumps(eh.parity_scoring(X, ["group", "old"])))
    assert list(crossed.groups.values()) == [f"group={g}, old={o}" for g in (0, 1) for o in (False, True)]


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda X: eh.parity_scoring(X, ["sex"]), eh.DataError, r"lacks \['sex'\], which protected names"),
        (lambda X: eh.parity_scoring(X, []), eh.SpecError, "at least one column"),
        (lambda X: eh.parity_scoring(X, "group"), eh.SpecError, r"write \['group'\]"),
        (lambda X: eh.parity_scoring(X.assign(group=1), ["group"]), eh.DataError, "a single group"),
        (lambda X: eh.parity_scoring(X, ["group"], score="auc"), eh.DataError, "score: .*'auc'"),
        (lambda X: eh.parity_scoring(X, ["group"], score=3), eh.SpecError, "score must be"),
        (lambda X: eh.parity_scoring(pl.from_pandas(X).lazy(), ["group"]), eh.DataError, "collect it first"),
        (lambda X: eh.best_within(-1), eh.SpecError, "bound must be"),
        (lambda X: eh.best_within(0.1, of="decisions"), eh.SpecError, "of must be"),
        (lambda X: eh.best_within(0.1, otherwise="warn"), eh.SpecError, "otherwise must be"),
        (lambda X: eh.best_within(0.1)({"mean_test_score": [0.5]}), eh.SpecError, "scoring=eh.parity_scoring"),
    ],
)
def test_bad_input(call, error, match):
    X, _ = people(60)
    with pytest.raises(error, match=match):
        call(X)


def test_people_and_models_that_cannot_be_scored():
    """Whatever a scorer raises a search forgets, and stumbles over: so a warning says it, and there is no score."""
    X, y = people(60)
    scoring = eh.parity_scoring(X, ["group"])
    with pytest.warns(eh.EvenhandWarning, match="row 8 of X is of a group, group=2, that the table given to parity"):
        found = scoring(DummyClassifier().fit(X, y), X.assign(group=np.where(X.index == 7, 2, X["group"])), y)
    assert np.isnan(found["score"])
    with pytest.warns(eh.EvenhandWarning, match="LinearSVC has no predict_proba"):
        found = scoring(LinearSVC().fit(X, y), X, y)
    assert np.isnan(found["mean_score of group=1"])


@pytest.mark.parametrize(
    "given",
    [
        lambda X: X.assign(group=X["group"].where(X.index >= 5)),
        lambda X: X.assign(group=X["group"].map({0: "a", 1: "b"}).where(X.index >= 5, None)),
        lambda X: X.assign(group=X["group"].astype("Int64").where(X.index >= 5)),
        lambda X: pl.from_pandas(X).with_columns(group=pl.Series([None] * 5 + X["group"].tolist()[5:])),
        lambda X: pl.from_pandas(X).with_columns(group=pl.Series([np.nan] * 5 + X["group"].tolist()[5:], strict=False)),
    ],
    ids=["NaN", "None", "NA", "null", "NaN in polars"],
)
def test_people_whose_group_is_missing_are_refused_before_anything_is_trained(given):
    X, y = people(60)
    lacking = given(X)
    with pytest.raises(eh.DataError, match=r"column 'group' has 5 missing values, the first in row 1; drop those rows"):
        eh.parity_scoring(lacking, ["skill", "group"])
    with pytest.warns(eh.EvenhandWarning, match="not scored: column 'group' has 5 missing values"):
        eh.parity_scoring(X, ["group"])(DummyClassifier().fit(X, y), lacking, y)


def test_a_missing_group_in_an_array():
    X, _ = people(60)
    with pytest.raises(eh.DataError, match=r"column '0' has a missing value in row 3"):
        eh.parity_scoring(X.assign(group=X["group"].where(X.index != 2)).to_numpy(), ["0"])


def test_no_candidate_is_scored_and_numpy_says_nothing_of_it():
    X, y = people(60)
    search = GridSearchCV(
        LinearSVC(), {"C": [0.1, 1.0]}, cv=FOLDS, scoring=eh.parity_scoring(X, ["group"]), refit=eh.best_within(9)
    )
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        with pytest.raises(eh.DataError, match="no candidate of this search was fitted and scored"):
            search.fit(X, y)
    assert not [each for each in told if issubclass(each.category, RuntimeWarning)]


@pytest.mark.parametrize("weighted", [True, False])
def test_a_score_gets_the_weights_that_it_requests(weighted):
    X, y = people(200)
    weights = np.random.default_rng(0).exponential(size=len(X)) ** 2
    with config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        score = get_scorer("roc_auc").set_score_request(sample_weight=weighted)
        search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=FOLDS, scoring=score)
        plain = clone(search).fit(X, y, sample_weight=weights)
        search.set_params(scoring=eh.parity_scoring(X, ["group"], score=score), refit=eh.best_within(99))
        search.fit(X, y, sample_weight=weights)
    assert search.cv_results_["mean_test_score"] == pytest.approx(plain.cv_results_["mean_test_score"])


def test_weights_of_which_a_score_says_nothing_are_not_dropped_in_silence():
    X, y = people(200)
    with config_context(enable_metadata_routing=True):
        model = LogisticRegression().set_fit_request(sample_weight=True)
        scoring = eh.parity_scoring(X, ["group"])
        search = GridSearchCV(model, {"C": [0.1, 1.0]}, cv=FOLDS, scoring=scoring, refit=eh.best_within(99))
        with pytest.raises(UnsetMetadataPassedError, match="roc_auc"):
            search.fit(X, y, sample_weight=np.ones(len(X)))
        assert search.fit(X, y).best_index_ in (0, 1)
        own = eh.parity_scoring(X, ["group"], score=lambda model, X, y: model.score(X, y))
        assert search.set_params(scoring=own).fit(X, y, sample_weight=np.ones(len(X))).best_index_ in (0, 1)


def halves(lacking):
    """Two folds; in the second half of the people one class, or one group, is lacking."""
    X, y = people(80, classes=3 if lacking == "one of three classes" else 2)
    late = X.index >= 40
    if lacking == "a group":
        X.loc[late, "group"] = 0
    else:
        y = np.where(late, np.minimum(y, 1 if lacking == "one of three classes" else 0), y)
    first, second = np.arange(40), np.arange(40, 80)
    return X, y, [(first, second), (second, first)]


@pytest.mark.parametrize("score", ["roc_auc", "neg_log_loss"])
@pytest.mark.parametrize("model", [LogisticRegression(), DummyClassifier()], ids=["fails", "learns one class"])
@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore:Scoring failed", "ignore:Only one class")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.FitFailedWarning")
def test_a_fold_without_a_class_or_a_group(model, score):
    """Of a group that a fold lacks the others tell; where no fold has a score there is an error in words."""
    grid = {"C": [0.1, 1.0]} if isinstance(model, LogisticRegression) else {"strategy": ["prior", "uniform"]}
    for lacking, found in (("a class", None), ("a group", 0), ("one of three classes", None)):
        X, y, folds = halves(lacking)
        scoring = eh.parity_scoring(X, ["group"], score="neg_log_loss" if lacking.startswith("one") else score, y=y)
        search = GridSearchCV(model, grid, cv=folds, scoring=scoring, refit=eh.best_within(9))
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            if found is None:
                with pytest.raises(eh.DataError, match="no candidate of this search was fitted and scored in every"):
                    search.fit(X, y)
            else:
                assert search.fit(X, y).best_index_ in (0, 1)
        ours = [str(each.message) for each in told if issubclass(each.category, eh.EvenhandWarning)]
        assert len(ours) == len(set(ours))


@pytest.mark.filterwarnings("ignore:One or more of the test scores", "ignore:Only one class")
def test_candidates_are_compared_where_their_score_is_defined():
    """One of three folds has a single class: there is no AUC there, and the two others decide."""
    X, y = people(90)
    y[60:] = 0
    folds = [(np.setdiff1d(np.arange(90), part), part) for part in np.split(np.arange(90), 3)]
    search = GridSearchCV(seeing(), GRID, cv=folds, scoring=eh.parity_scoring(X, ["group"]), refit=eh.best_within(99))
    with pytest.warns(eh.EvenhandWarning, match="in 1 of 3 folds no candidate has a score") as told:
        search.fit(X, y)
    assert sum(issubclass(each.category, eh.EvenhandWarning) for each in told) == 1
    assert [each.filename for each in told if issubclass(each.category, eh.EvenhandWarning)] == [__file__]
    means = [search.cv_results_[f"split{fold}_test_score"] for fold in (0, 1)]
    assert search.best_index_ == np.argmax(np.mean(means, axis=0))
