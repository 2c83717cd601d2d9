"""Train mode in imbalanced-learn's own pipelines; the preprocessor itself is in test_estimator.py."""

import os
import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from imblearn.pipeline import Pipeline, make_pipeline
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh

FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def people():
    table = small_frame()
    return table.drop(columns="hired"), table["hired"]


def alone(**changes):
    """Outcomes alone change."""
    return small_problem(distortion=eh.Distortion({"hired": eh.Ordinal(step=1)}), **changes)


def pipeline(problem, model=None, **given):
    words = make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough")
    return Pipeline(
        [
            ("release", eh.OptimizedResampler(problem, **given)),
            ("words", words),
            ("model", model or DecisionTreeClassifier(random_state=0)),
        ]
    )


def test_it_draws_what_the_preprocessor_draws():
    X, y = people()
    found = eh.OptimizedResampler(alone(), seed=3).fit_resample(X, y)
    wanted = eh.OptimizedPreprocessor(alone(), seed=3).fit_resample(X, y)
    pd.testing.assert_frame_equal(found[0], wanted[0])
    pd.testing.assert_series_equal(found[1], wanted[1])
    assert not hasattr(eh.OptimizedResampler, "transform")


def test_a_pipeline_trains_on_the_release_and_skips_it_at_prediction():
    X, y = people()
    fitted = pipeline(alone()).fit(X, y)
    released, outcome = eh.OptimizedResampler(alone()).fit_resample(X, y)
    assert np.any(outcome != y)
    by_hand = make_pipeline(*[clone(step) for _, step in fitted.steps[1:]]).fit(released, outcome)
    assert np.array_equal(fitted.predict_proba(X), by_hand.predict_proba(X))
    means = pd.Series(fitted.predict_proba(X)[:, 1]).groupby(X["group"].to_numpy()).mean()
    rates = outcome.groupby(X["group"].to_numpy()).mean()
    assert means.to_numpy() == pytest.approx(rates.to_numpy()), "a tree learns what it is given"
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.predict(X), fitted.predict(X))


def test_what_has_both_modes_is_refused_by_the_pipeline():
    X, y = people()
    with pytest.raises(TypeError, match="implements both"):
        make_pipeline(eh.OptimizedPreprocessor(alone()), DecisionTreeClassifier()).fit(X, y)


def test_features_that_change_are_told_of_once_in_a_search():
    X, y = people()
    moving = small_problem()
    with pytest.warns(eh.EvenhandWarning, match="skips this step at prediction") as told:
        cross_validate(pipeline(moving, bound=0.3), X, y, cv=FOLDS, error_score="raise")
    skipped = [each for each in told if "skips this step" in str(each.message)]
    assert [each.filename for each in skipped] == [__file__]


def test_searches_over_the_bound():
    X, y = people()
    search = GridSearchCV(pipeline(alone()), {"release__bound": [0.1, 2.0]}, cv=FOLDS, error_score="raise").fit(X, y)
    mapping = search.best_estimator_.named_steps["release"].mapping_
    assert mapping.problem.parity[0].bound == search.best_params_["release__bound"]


@pytest.mark.slow
def test_routed_weights_stay_with_their_people():
    """In a process of its own: imbalanced-learn teaches scikit-learn to route to samplers when it is imported."""
    code = """
import imblearn
from sklearn import config_context
from sklearn.linear_model import LogisticRegression
from test_preprocessor import *
X, y = people()
weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
released, outcome = eh.OptimizedResampler(alone()).fit_resample(X, y, sample_weight=weights)
whole = pipeline(alone(), LogisticRegression())
by_hand = Pipeline([(name, clone(step)) for name, step in whole.steps[1:]])
by_hand.fit(released, outcome, model__sample_weight=weights)
with config_context(enable_metadata_routing=True):
    sampler = whole.named_steps["release"]
    sampler.set_fit_request(sample_weight=True).set_fit_resample_request(sample_weight=True)
    whole.named_steps["model"].set_fit_request(sample_weight=True)
    whole.fit(X, y, sample_weight=weights)
assert np.array_equal(whole.predict_proba(X), by_hand.predict_proba(X))
print(whole.named_steps["release"].mapping_.counts.weight.sum() == weights.sum())
"""
    path = ":".join([os.path.dirname(__file__), *sys.path])
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
        check=False,
    )
    assert done.stdout == "True\n", done.stderr


def test_bad_input():
    X, y = people()
    with pytest.raises(eh.DataError, match=r"lacks \['group'\], which the problem names"):
        pipeline(alone()).fit(X.drop(columns="group"), y)
    with pytest.raises(eh.InfeasibleError, match="No mapping meets"):
        pipeline(alone(budget=eh.ExpectedDistortion(0.001)), bound=0.0).fit(X, y)
