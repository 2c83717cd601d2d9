"""Decisions of any estimator: selection rates that are close at every threshold, of people not fitted on."""

import pickle
import warnings
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from barycentre import quantile_barycentre
from hiring import EXCLUDED, InHalves, coded, linear, people, with_words
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import evenhand as eh
from evenhand.findings.scores import gap_floor, worst_gap

pytestmark = pytest.mark.turns(4)


def deciding(estimator=None, decisions=0.05, **changes):
    return eh.PreprocessedClassifier(estimator or linear(), protected=["sex"], decisions=decisions, **changes)


def gap(score, X):
    return worst_gap(score, X["sex"].eq("m").to_numpy().astype(int))


def rates(selected, X):
    return [float(np.mean(selected[X["sex"].eq(sex).to_numpy()])) for sex in ("f", "m")]


@pytest.fixture(scope="module")
def trial():
    """People to fit on, and as many whom nothing was fitted on."""
    X, y = people(8000, seed=3)
    return X[:4000], y[:4000], X[4000:].reset_index(drop=True), y[4000:].reset_index(drop=True)


@pytest.fixture(scope="module")
def fitted_at(trial):
    """The classifier with a bound, fitted once."""
    X, y, _, _ = trial

    @cache
    def fitted(decisions):
        with warnings.catch_warnings():
            # No table reaches a bound of zero to the last digit.
            warnings.filterwarnings("ignore", "the bound is not reached")
            return deciding(decisions=decisions).fit(X, y)

    return fitted


@pytest.mark.parametrize("decisions", [0.0, 0.05, 0.15])
def test_selection_rates_of_new_people_are_close_at_every_threshold(trial, fitted_at, decisions):
    X, y, new, _ = trial
    fitted = fitted_at(decisions)
    bare = gap(linear().fit(X, y).predict_proba(new)[:, 1], new)
    found = fitted.predict_proba(new)[:, 1]
    floor = gap_floor(found, new["sex"].eq("m").to_numpy().astype(int))
    assert bare > 0.25
    assert gap(found, new) <= decisions + 2 * floor
    assert fitted.parity_["apart"].max() == pytest.approx(decisions, abs=0.03)
    assert fitted.mapping_.certificate.status == "optimal"
    assert fitted.mapping_.achieved.parity[0].value.max() <= decisions + 1e-6


def test_at_zero_it_is_as_good_as_the_quantile_barycentre(trial, fitted_at):
    X, y, new, label = trial
    found = fitted_at(0.0).predict_proba(new)[:, 1]
    raw = linear().fit(X, y).predict_proba(new)[:, 1]
    best = quantile_barycentre(raw, new["sex"].eq("m").to_numpy().astype(int))
    assert roc_auc_score(label, found) >= roc_auc_score(label, best) - 0.004


def test_a_larger_bound_costs_less(trial, fitted_at):
    X, y, new, label = trial
    scores = [fitted_at(d).predict_proba(new)[:, 1] for d in (0.0, 0.1, 0.9)]
    found = [roc_auc_score(label, score) for score in scores]
    assert found[0] < found[1] < found[2]
    raw = linear().fit(X, y).predict_proba(new)[:, 1]
    assert found[2] == pytest.approx(roc_auc_score(label, raw), abs=0.002)


def of_groups(number, seed):
    """A synthetic table whose groups differ in size and in both features."""
    rng = np.random.default_rng(seed)
    group = rng.choice(3, number, p=[0.5, 0.3, 0.2])
    X = pd.DataFrame({"sex": np.array(["f", "m", "x"])[group], "a": rng.normal(size=number) + 0.6 * group})
    X["b"] = rng.normal(size=number) - 0.3 * group
    y = (X["a"] + 0.5 * X["b"] + 0.4 * group + rng.logistic(size=number) > 1).astype(int)
    return X, y


def embedded(name, number, protected):
    """An embedded table; of its other protected column nothing is known."""
    frame = eh.datasets.load(name).frame.sample(number, random_state=1).reset_index(drop=True)
    outcome = frame.columns[-1]
    words = frame.drop(columns=["sex", "race", outcome]).apply(lambda column: column.astype(str))
    return words.assign(sex=frame[protected].astype(str)), frame[outcome]


@pytest.mark.parametrize(
    ("table", "predict_with"),
    [
        (lambda: people(4000, seed=21), "expected"),
        (lambda: of_groups(6000, seed=22), "expected"),
        (lambda: embedded("compas", 5278, "race"), "draw"),
        (lambda: embedded("adult-wide", 12000, "sex"), "draw"),
    ],
    ids=["two groups", "three groups", "COMPAS", "Adult"],
)
def test_the_bound_is_reached_out_of_fold(table, predict_with):
    X, y = table()
    encoder = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), [name for name in X if not pd.api.types.is_numeric_dtype(X[name])]),
        remainder="passthrough",
    )
    model = make_pipeline(encoder, LogisticRegression(max_iter=300))
    with warnings.catch_warnings():
        warnings.simplefilter("error", eh.EvenhandWarning)
        warnings.filterwarnings("ignore", ".*Say which outcome is good for a person")
        fitted = deciding(model, decisions=0.03, predict_with=predict_with).fit(X, y)
    assert fitted.parity_["apart"].max() <= 0.035
    assert set(fitted.parity_["bound"]) == {0.03}


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_that_is_not_reached_is_always_warned_of(seed):
    """Few people: whatever chance would explain, the numbers are given."""
    rng = np.random.default_rng(seed)
    X, y = people(int(rng.integers(80, 400)), seed)
    bound = float(rng.choice([0.0, 0.01, 0.03, 0.08]))
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", eh.EvenhandWarning)
        fitted = deciding(linear(), decisions=bound, predict_with="draw").fit(X, y)
    apart, up_to = fitted.parity_["apart"].max(), fitted.parity_["up_to"].max()
    one = sum(1 / n for n in X["sex"].value_counts())
    words = [str(each.message) for each in told if "the bound is not reached" in str(each.message)]
    assert (apart > bound + one + 1e-6) == bool(words)
    for each in words:
        assert f"differ by {apart:.3f}, and the bound is {bound:.3f}" in each
        assert f"up to {up_to:.3f}" in each


@pytest.mark.parametrize("seed", [0, 3, 4])
def test_fitted_people_who_are_scored_beyond_the_bound_are_told_of(seed):
    """Whoever asks for scores of the people that were fitted may find them beyond a bound that holds out of fold."""
    X, y = people(int(np.random.default_rng(seed).integers(300, 2000)), seed)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", eh.EvenhandWarning)
        fitted = deciding(decisions=0.03).fit(X, y)
    one = sum(1 / n for n in X["sex"].value_counts())
    beyond = gap(fitted.predict_proba(X)[:, 1], X) - 0.03 > one + 0.005
    reached = not any("the bound is not reached" in str(each.message) for each in told)
    assert (beyond and reached) == any("of the fitted people exceed the bound" in str(each.message) for each in told)


@pytest.mark.parametrize("decisions", [0.0, 0.02])
def test_ranks_stay_within_a_group(trial, fitted_at, decisions):
    X, y, new, _ = trial
    raw = linear().fit(X, y).predict_proba(new)[:, 1]
    found = fitted_at(decisions).predict_proba(new)[:, 1]
    for sex in ("f", "m"):
        mine = new["sex"].eq(sex).to_numpy()
        assert np.all(np.diff(found[mine][np.argsort(raw[mine], kind="stable")]) >= 0)


@pytest.mark.parametrize("seed", range(3))
def test_ranks_stay_in_a_small_group(seed):
    """Groups of 80, 15 and 5 in a hundred: those of the smallest move furthest."""
    X, y = people(3000, seed)
    rng = np.random.default_rng(seed)
    X["sex"] = rng.choice(["m", "f", "x"], 3000, p=[0.8, 0.15, 0.05])
    X["skill"] += 1.2 * X["sex"].eq("x")
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", ".*of the fitted people exceed the bound")
        fitted = deciding(decisions=0.03).fit(X[:1000], y[:1000])
    raw = linear().fit(X[:1000], y[:1000]).predict_proba(X[1000:])[:, 1]
    found = fitted.predict_proba(X[1000:])[:, 1]
    for sex in ("m", "f", "x"):
        mine = X["sex"][1000:].eq(sex).to_numpy()
        assert np.all(np.diff(found[mine][np.argsort(raw[mine], kind="stable")]) >= 0)


def test_what_chance_leaves_open_is_beside_what_was_found(fitted_at):
    found = fitted_at(0.0).parity_
    chance = 1.36 * np.sqrt(1 / found["people"][0] + 1 / found["people"][1])
    assert found["up_to"].to_numpy() == pytest.approx(found["apart"].to_numpy() + chance)


def test_a_ratio_is_moved_by_chance_too(trial):
    """Where few are selected, rates by chance alone are far apart as a ratio: no warning."""
    X, y, _, _ = trial
    fitted = deciding(decisions=eh.PairwiseParity(0.2)).fit(X[:700], y[:700])
    assert fitted.parity_["up_to"].max() > fitted.parity_["apart"].max()


def test_scores_that_are_no_numbers_are_refused():
    X, y = people(300)

    class Broken(LogisticRegression):
        def predict_proba(self, X):
            found = super().predict_proba(X)
            found[0] = np.nan
            return found

    with pytest.raises(eh.DataError, match="Broken gives no score to row 1"):
        deciding(with_words(Broken())).fit(X, y)


def test_one_threshold_is_held_and_decides(trial):
    X, y, new, _ = trial
    fitted = deciding(decisions=0.04, threshold=0.6).fit(X, y)
    selected = fitted.predict(new)
    assert np.array_equal(selected == 1, fitted.predict_proba(new)[:, 1] >= 0.6)
    low, high = rates(selected == 1, new)
    assert abs(high - low) <= 0.04 + 0.04
    # Elsewhere nothing was asked, and so less is moved.
    assert gap(fitted.predict_proba(new)[:, 1], new) > 0.2
    assert fitted.parity_["apart"].max() == pytest.approx(0.04, abs=0.02)


@pytest.mark.parametrize("favourable", [0, 1])
def test_four_fifths_at_a_threshold(trial, favourable):
    X, y, new, _ = trial
    rule = eh.PairwiseParity(0.2, distance=eh.FourFifths(favourable))
    fitted = deciding(decisions=rule, threshold=0.5).fit(X, y)
    low, high = sorted(rates(fitted.predict(new) == favourable, new))
    assert low / high >= 0.8 - 0.06
    assert fitted.parity_["selected"].min() / fitted.parity_["selected"].max() >= 0.8 - 0.03
    bare = sorted(rates(linear().fit(X, y).predict(new) == favourable, new))
    assert bare[0] / bare[1] < 0.75


def test_a_statement_may_name_a_reference_group(trial):
    X, y, new, _ = trial
    rule = eh.PairwiseParity(0.1, distance=eh.Difference(), against={"sex": "m"})
    fitted = deciding(decisions=rule).fit(X, y)
    assert gap(fitted.predict_proba(new)[:, 1], new) <= 0.1 + 0.08


def test_no_label_decides_what_is_released():
    """With other labels of the same people, scores that a model gave anyway are released the same."""
    X, y = people(1200)
    scores = X["skill"].rank(pct=True) * 0.8 + 0.1 * X["sex"].eq("m")

    class Known(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            self.classes_ = np.array([0, 1])
            return self

        def predict_proba(self, X):
            own = scores.loc[X.index].to_numpy()
            return np.column_stack([1 - own, own])

    one = deciding(Known()).fit(X, y).predict_proba(X)
    other = deciding(Known()).fit(X, 1 - y).predict_proba(X)
    assert np.array_equal(one, other)


def test_the_mean_move_of_a_level_is_within_the_budget(fitted_at):
    mapping = fitted_at(0.0).mapping_
    (part,) = mapping.achieved.budgets
    assert part.violation <= 1e-9
    assert mapping.problem.budget.limit < 0.5


@pytest.mark.parametrize("model", [DecisionTreeClassifier(max_depth=3), GaussianNB(), LogisticRegression()])
def test_models_of_few_scores_are_split_by_what_rows_hold(model):
    """A tree has a handful of scores: people of one are told apart by their rows, whatever the order of them."""
    X, y = people(3000, seed=5)
    fitted = deciding(with_words(model), decisions=0.03).fit(X, y)
    assert fitted.parity_["apart"].max() <= 0.08
    new, _ = people(3000, seed=6)
    found = fitted.predict_proba(new)[:, 1]
    assert gap(found, new) <= 0.03 + 2 * gap_floor(found, new["sex"].eq("m").to_numpy().astype(int))
    turned = fitted.predict_proba(new[::-1])[::-1, 1]
    assert np.array_equal(found, turned)
    assert np.array_equal(fitted.predict_proba(new[:10])[:, 1], found[:10])


def crowds(seed, number=3000):
    """People of a few words alone: hundreds of them are equal."""
    X, y = people(number, seed)
    return X.assign(skill=pd.cut(X["skill"], [-9, -0.5, 0.5, 9]).astype(str))[["sex", "town", "skill"]], y


def crowd_model():
    return make_pipeline(OneHotEncoder(handle_unknown="ignore"), LogisticRegression())


def test_a_crowd_of_equal_people_is_split_by_a_draw_alone():
    X, y = crowds(1)
    new, _ = crowds(2)
    with pytest.warns(eh.EvenhandWarning, match='predict_with="draw" splits it'):
        alike = deciding(crowd_model(), decisions=0.02).fit(X, y)
    found = new.assign(score=alike.predict_proba(new)[:, 1])
    assert found.groupby(["sex", "town", "skill"])["score"].nunique().max() == 1
    drawn = deciding(crowd_model(), decisions=0.02, predict_with="draw").fit(X, y)
    assert drawn.parity_["apart"].max() < 0.04 < alike.parity_["apart"].max()
    score = drawn.predict_proba(new)[:, 1]
    assert gap(score, new) <= 0.02 + 2 * gap_floor(score, new["sex"].eq("m").to_numpy().astype(int))


@pytest.mark.parametrize("seed", range(12))
def test_crowds_that_put_the_fitted_people_beyond_the_bound_are_told_of(seed):
    """Few people, so that chance would explain more: what the fitted people's rates are is no chance."""
    rng = np.random.default_rng(seed)
    X, y = crowds(seed, int(rng.integers(80, 900)))
    bound = float(rng.choice([0.0, 0.03, 0.1]))
    one = sum(1 / n for n in X["sex"].value_counts())
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", eh.EvenhandWarning)
        alike = deciding(crowd_model(), decisions=bound).fit(X, y)
    beyond = gap(alike.predict_proba(X)[:, 1], X) - bound
    assert (beyond > one + 1e-6) == any("people who share a score" in str(each.message) for each in told)
    with warnings.catch_warnings():
        # Out of fold the bound may be exceeded.
        warnings.filterwarnings("ignore", "the bound is not reached")
        drawn = deciding(crowd_model(), decisions=bound, predict_with="draw").fit(X, y)
    assert gap(drawn.predict_proba(X)[:, 1], X) <= bound + one + 1e-6


def test_a_crowd_in_one_place_at_a_threshold_is_told_of():
    """The estimator's scores are many, but four in ten people have the very same."""
    X, y = people(400, seed=4)
    same = X.index % 5 < 2

    class Flat(LogisticRegression):
        def predict_proba(self, X):
            found = super().predict_proba(X)
            found[X[:, -1] == 0] = 0.5
            return found

    X["noise"] = np.where(same, 0.0, X["noise"])
    X.loc[same, ["skill", "town"]] = 0.0, "a"
    with pytest.warns(eh.EvenhandWarning, match=r"at the threshold 0\.5 of the fitted people exceed the bound"):
        deciding(with_words(Flat()), decisions=0.01, threshold=0.5).fit(X, y)


@pytest.mark.parametrize("predict_with", ["expected", "draw"])
def test_a_model_that_overfits_is_no_crowd(predict_with):
    """All rows differ, so that a draw changes nothing: the forest's scores of those it was trained on are others."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 2, 2000)
    X = pd.DataFrame({"sex": group, "a": rng.normal(size=2000) + 0.5 * group, "b": rng.normal(size=2000)})
    y = (X["a"] + 0.5 * X["b"] + 0.8 * group + rng.normal(size=2000) > 0.8).astype(int)
    forest = RandomForestClassifier(20, min_samples_leaf=5, random_state=0)
    with pytest.warns(eh.EvenhandWarning) as told:
        deciding(make_pipeline(forest), predict_with=predict_with).fit(X, y)
    message, losses = (str(each.message) for each in told)
    assert "Say which outcome is good for a person" in losses
    assert "of the fitted people exceed the bound by 0.03" in message
    assert "whom it was trained on are not those out of fold" in message


@pytest.mark.parametrize("depth", [2, 4])
def test_people_of_one_leaf_are_told_apart_exactly(depth):
    """Their rows differ: as many as the mapping says are released as each level, to one person."""
    X, y = people(700, seed=8)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "the bound is not reached")
        fitted = deciding(with_words(DecisionTreeClassifier(max_depth=depth, random_state=0)), decisions=0.02).fit(X, y)
    one = sum(1 / n for n in X["sex"].value_counts())
    assert gap(fitted.predict_proba(X)[:, 1], X) <= 0.02 + one + 1e-6


def test_polars_arrays_pickles_and_clones_agree():
    X, y = people(1000)
    fitted = deciding().fit(X, y)
    found = fitted.predict_proba(X)
    assert np.array_equal(pickle.loads(pickle.dumps(fitted)).predict_proba(X), found)
    assert np.allclose(deciding().fit(pl.DataFrame(X), y.to_numpy()).predict_proba(pl.DataFrame(X)), found)
    again = clone(fitted)
    assert not hasattr(again, "mapping_")
    numbers, label = coded(1000)
    model = eh.PreprocessedClassifier(LogisticRegression(), protected=["0"], decisions=0.05)
    assert model.fit(numbers, label).predict(numbers).shape == (1000,)


def test_weights_count_people():
    X, y = people(1500)
    twice = pd.concat([X, X], ignore_index=True), pd.concat([y, y], ignore_index=True)
    one = deciding().fit(X, y, sample_weight=np.full(1500, 2.0))
    assert one.parity_["people"].sum() == 3000
    assert deciding().fit(*twice).parity_["people"].sum() == 3000


@pytest.mark.filterwarnings("ignore:.*of the fitted people exceed the bound:evenhand.errors.EvenhandWarning")
def test_in_a_cross_validation():
    X, y = people(900)
    found = cross_validate(
        deciding(decisions=0.1), X, y, scoring="roc_auc", cv=StratifiedKFold(3, shuffle=True, random_state=0)
    )
    assert found["test_score"].min() > 0.7


def test_three_groups(trial):
    X, y, new, _ = trial
    model = eh.PreprocessedClassifier(linear(), protected=["town"], decisions=0.02).fit(X, y)
    group = np.unique(new["town"], return_inverse=True)[1]
    found = model.predict_proba(new)[:, 1]
    assert worst_gap(found, group) <= 0.02 + 2 * gap_floor(found, group)
    assert len(model.parity_) == 3


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"bound": 0.1}, "write one of them"),
        ({"decisions": -0.1}, "decisions must be"),
        ({"decisions": "0.1"}, "decisions must be"),
        ({"decisions": None, "threshold": 0.5, "bound": 0.1}, "threshold is where decisions are compared"),
        ({"threshold": 1.5}, "threshold must be"),
        ({"confidence": 0.95}, "confidence goes with bound"),
        ({"decisions": eh.PairwiseParity(0.1, given=["skill"])}, "whole groups"),
        ({"decisions": eh.PairwiseParity(0.1, levels="cumulative")}, "whole groups"),
        ({"decisions": eh.PairwiseParity(0.2, distance=eh.FourFifths(1))}, "say at which score with threshold"),
        ({"decisions": eh.PairwiseParity(0.2, distance=eh.FourFifths("yes")), "threshold": 0.5}, "'yes', and y has"),
        ({"decisions": eh.TargetParity(0.2)}, "with each other"),
        ({"estimator": LinearSVC()}, "no predict_proba"),
        ({"preprocessor": eh.OptimizedPreprocessor(eh.datasets.load("compas").problem)}, "one or the other"),
    ],
)
def test_what_cannot_be_asked_is_refused(changes, words):
    X, y = people(300)
    with pytest.raises(eh.SpecError, match=words):
        deciding(**{"estimator": None, **changes}).fit(X, y)


def test_three_classes_are_refused():
    X, y = people(300, classes=3)
    with pytest.raises(eh.SpecError, match="y has 3 classes"):
        deciding().fit(X, y)


def test_new_people_must_have_their_group(trial, fitted_at):
    X, fitted = trial[2], fitted_at(0.0)
    with pytest.raises((ValueError, eh.DataError), match="sex"):
        fitted.predict_proba(X.drop(columns="sex"))
    with pytest.warns(eh.EvenhandWarning, match="no group that was fitted, first sex=x"):
        found = fitted.predict_proba(X.assign(sex="x"))
    own = fitted.estimator_.predict_proba(X.assign(sex="x"))
    assert np.allclose(found, own)


def test_nothing_is_told_where_the_bound_holds(trial):
    X, y, _, _ = trial
    with warnings.catch_warnings():
        warnings.simplefilter("error", eh.EvenhandWarning)
        warnings.filterwarnings("ignore", ".*Say which outcome is good for a person")
        deciding().fit(X, y)


@parametrize_with_checks(
    [InHalves(LogisticRegression(), protected=["0"], decisions=0.5)], expected_failed_checks=lambda _: EXCLUDED
)
@pytest.mark.filterwarnings("ignore::evenhand.errors.EvenhandWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
