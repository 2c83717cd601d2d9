"""Train mode in imbalanced-learn's own pipelines; the preprocessor itself is in test_estimator.py."""

import numpy as np
import pytest
from families import small_frame, small_problem
from imblearn import FunctionSampler
from imblearn.pipeline import make_pipeline
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import OneHotEncoder
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh

pytestmark = pytest.mark.turns(4)


def people():
    table = small_frame()
    return table.drop(columns="hired"), table["hired"]


def alone():
    """Outcomes alone change."""
    return small_problem(distortion=eh.Distortion({"hired": eh.Ordinal(step=1)}))


def released(X, y):
    return eh.OptimizedPreprocessor(alone()).fit_resample(X, y)


def test_a_pipeline_trains_on_the_release_and_skips_it_at_prediction():
    X, y = people()
    words = make_column_transformer((OneHotEncoder(), ["group"]), remainder="passthrough")
    model = DecisionTreeClassifier(random_state=0)
    fitted = make_pipeline(FunctionSampler(func=released, validate=False), words, model).fit(X, y)
    shown, outcome = released(X, y)
    assert np.any(outcome != y)
    by_hand = make_pipeline(clone(words), clone(model)).fit(shown, outcome)
    assert np.array_equal(fitted.predict_proba(X), by_hand.predict_proba(X))


def test_what_has_both_modes_is_refused_by_the_pipeline():
    X, y = people()
    with pytest.raises(TypeError, match="implements both"):
        make_pipeline(eh.OptimizedPreprocessor(alone()), DecisionTreeClassifier()).fit(X, y)
