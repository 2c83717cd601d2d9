"""Results in fairlearn's own MetricFrame, by the groups that bounds are about."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from fairlearn.metrics import MetricFrame, selection_rate
from families import small_frame, small_problem
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import accuracy_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import evenhand as eh

RACES = ("African-American", "Caucasian")


def mean_score(y_true, y_pred):
    return float(np.mean(y_pred))


@pytest.fixture(scope="module")
def by_race(compas):
    """A model of COMPAS by race, and its people."""
    X, y = compas.frame.drop(columns=["sex", "is_recid"]), compas.frame["is_recid"]
    linear = make_pipeline(OneHotEncoder(), LogisticRegression())
    before = eh.OptimizedPreprocessor(replace(compas.problem, protected=["race"]))
    return eh.PreprocessedClassifier(linear, before).fit(X, y), X, y


@pytest.mark.slow
def test_decisions_and_scores_of_a_classifier(by_race):
    model, X, y = by_race
    decided, scores = model.predict(X), model.predict_proba(X)[:, 1]
    metrics = {"selected": selection_rate, "right": accuracy_score}
    chosen = MetricFrame(metrics=metrics, **eh.metric_inputs(model, X, y)).by_group
    for race in RACES:
        mine = X["race"] == race
        assert chosen.loc[race, "selected"] == pytest.approx(decided[mine].mean())
        assert chosen.loc[race, "right"] == pytest.approx((decided == y)[mine].mean())
    means = MetricFrame(metrics=mean_score, **eh.metric_inputs(model, X, y, scores=True))
    assert means.by_group[RACES[0]] == pytest.approx(scores[X["race"] == RACES[0]].mean())
    bare = clone_of(model).fit(X, y).predict_proba(X)[:, 1]
    before = MetricFrame(metrics=mean_score, y_true=y, y_pred=bare, sensitive_features=X["race"])
    assert before.ratio() < 0.8 < 0.9 < means.ratio(), "near the bound of 1.1, which a linear model need not meet"


def clone_of(model):
    from sklearn.base import clone

    return clone(model.estimator)


@pytest.mark.slow
def test_the_one_line_and_a_shielded_model(compas):
    X, y = compas.frame.drop(columns="is_recid"), compas.frame["is_recid"]
    linear = make_pipeline(OneHotEncoder(), LogisticRegression())
    one = eh.PreprocessedClassifier(linear, protected=["race"], bound=0.05).fit(X, y)
    means = MetricFrame(metrics=mean_score, **eh.metric_inputs(one, X, y, scores=True))
    assert means.ratio() > 1 / 1.1
    seen = list(compas.problem.features)
    rules = {name: compas.problem.distortion.rules[name] for name in seen} | {"is_recid": eh.Free()}
    problem = replace(compas.problem, protected=["race"], distortion=eh.Distortion(rules))
    model = make_pipeline(OneHotEncoder(), LogisticRegression()).fit(X[seen], y)
    shielded = eh.ShieldedClassifier(model, problem).fit(X, y)
    inputs = eh.metric_inputs(shielded, X, y, scores=True)
    assert MetricFrame(metrics=mean_score, **inputs).ratio() == pytest.approx(1 / 1.1, abs=1e-3)


def test_a_release_of_a_mapping(compas, compas_mapping):
    inputs = eh.metric_inputs(compas_mapping, compas.frame, seed=4)
    found = MetricFrame(metrics=selection_rate, **inputs)
    released = compas_mapping.release(compas.frame, seed=4)
    wanted = released.groupby(["sex", "race"])["is_recid"].mean()
    assert found.by_group.to_dict() == pytest.approx(wanted.to_dict())
    assert np.array_equal(inputs["y_true"], compas.frame["is_recid"])


def test_groups_are_the_levels_that_are_compared():
    table = small_frame().assign(age=lambda t: np.where(t["group"] == "a", 20, 60) + np.arange(len(t)) % 9)
    binned = small_problem(protected=["age"], bins={"age": eh.Edges([40])})
    inputs = eh.metric_inputs(eh.fit(binned, table), table)
    assert inputs["sensitive_features"]["age"].nunique() == 2
    assert len(MetricFrame(metrics=selection_rate, **inputs).by_group) == 2


def test_arrays():
    table = small_frame()
    X = np.column_stack([table["group"].eq("b"), table["score"]]).astype(float)
    model = eh.PreprocessedClassifier(LogisticRegression(), protected=["0"], bound=0.1).fit(X, table["hired"])
    inputs = eh.metric_inputs(model, X, table["hired"])
    assert isinstance(inputs["sensitive_features"], pd.DataFrame)
    assert len(MetricFrame(metrics=selection_rate, **inputs).by_group) == 2


def test_bad_input(by_race, compas_mapping, compas):
    model, X, y = by_race
    for other in (LogisticRegression(), eh.PreprocessedClassifier, eh.PreprocessedClassifier(LogisticRegression()), 3):
        with pytest.raises(eh.SpecError, match="fitted must be a Mapping, or a fitted classifier"):
            eh.metric_inputs(other, X, y)
    with pytest.raises(eh.DataError, match="y is None"):
        eh.metric_inputs(model, X)
    with pytest.raises(eh.DataError, match="leave it out"):
        eh.metric_inputs(compas_mapping, compas.frame, y)
    with pytest.raises(eh.DataError, match=r"X and y: .*inconsistent numbers"):
        eh.metric_inputs(model, X, y[:3])
    with pytest.raises(eh.SpecError, match="scores must be"):
        eh.metric_inputs(model, X, y, scores="yes")
