"""The estimators once: the paper's pipeline, the one line, and scikit-learn's own checks of one of them."""

import numpy as np
import pytest
from families import small_frame, small_problem
from sklearn.linear_model import LogisticRegression
from sklearn.utils.estimator_checks import parametrize_with_checks

import evenhand as eh


@pytest.fixture
def people():
    frame = small_frame()
    numbered = frame.assign(group=(frame["group"] == "a").astype(int))
    return numbered[["group", "score"]], numbered["hired"].to_numpy()


def test_the_papers_pipeline(people):
    """Trained on every possible release with its weight, and asked for expected scores: eq. 8 holds by arithmetic."""
    X, y = people
    preprocessor = eh.OptimizedPreprocessor(small_problem())
    model = eh.PreprocessedClassifier(LogisticRegression(C=1e6), preprocessor).fit(X, y)
    score = model.predict_proba(X)[:, 1]
    means = np.array([score[X["group"] == group].mean() for group in (0, 1)])
    mapping = model.preprocessor_.mapping_
    after = mapping.achieved.rates_after[:, 1]
    assert abs(means.max() / means.min() - after.max() / after.min()) < 0.1
    assert set(model.predict(X)) <= {0, 1}


def test_one_line(people):
    X, y = people
    model = eh.PreprocessedClassifier(LogisticRegression(), protected=["group"], bound=0.1).fit(X, y)
    score = model.predict_proba(X)[:, 1]
    means = np.array([score[X["group"] == group].mean() for group in (0, 1)])
    before = np.array([y[X["group"] == group].mean() for group in (0, 1)])
    assert means.max() / means.min() < before.max() / before.min()
    assert len(model.parity_)


def test_fit_resample_draws_a_training_set(people):
    X, y = people
    released, outcome = eh.OptimizedPreprocessor(small_problem(), seed=1).fit_resample(X, y)
    assert released.shape == X.shape
    assert np.all(outcome <= y), "hired only falls"
    assert np.any(outcome != y)


@parametrize_with_checks([eh.OptimizedPreprocessor()])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)
