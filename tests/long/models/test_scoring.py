"""Scores out of fold: of people whom the model was not trained on, whatever the order of rows."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh

pytestmark = pytest.mark.turns(4)


def table(seed=0, people=600):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"d": rng.integers(0, 2, people), "u": rng.normal(size=people), "v": rng.normal(size=people)})
    return frame.assign(y=(frame["u"] + rng.normal(size=people) > 0).astype(int))


def problem(**changes):
    return eh.Problem(**{
        "protected": ["d"], "features": ["u", "v"], "outcome": "y", "cells": eh.Leaves(),
        "distortion": eh.Distortion({"y": eh.Nominal(1)}), **changes,
    })  # fmt: skip


class Memory(ClassifierMixin, BaseEstimator):
    """Knows by heart whom it was trained on, and says 1 of them, 0 of everybody else."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.known_ = np.unique(y), {tuple(row) for row in X.to_numpy()}
        self.columns_, self.weight_ = list(X.columns), sample_weight
        return self

    def predict_proba(self, X):
        known = np.array([float(tuple(row) in self.known_) for row in X.to_numpy()])
        return np.column_stack([1 - known, known])


def test_what_an_estimator_cannot_read_is_named():
    frame = table().assign(u=lambda f: f["u"].mask(f.index == 3), v=lambda f: np.where(f["v"] > 0, "high", "low"))
    with pytest.raises(eh.DataError, match=r"^LogisticRegression cannot .*'v': put an encoder .*'u': put an imputer"):
        eh.out_of_fold(LogisticRegression(), frame, problem())
    with pytest.raises(eh.DataError, match="a Pipeline of LogisticRegression cannot"):
        eh.out_of_fold(make_pipeline(StandardScaler(), LogisticRegression()), frame, problem())


def test_nobody_is_scored_by_a_model_that_has_seen_them():
    assert eh.out_of_fold(Memory(), table(), problem()).max() == 0


@pytest.mark.parametrize("seed", range(3))
def test_where_records_repeat_scores_are_those_of_any_folds(seed):
    """Folds must not go by the outcome: a record would be known with the other outcomes alone."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"d": rng.integers(0, 2, 3000), "u": rng.integers(0, 5, 3000), "v": rng.integers(0, 5, 3000)})
    frame["y"] = (rng.random(3000) < 0.1 + 0.1 * frame["u"] + 0.08 * frame["v"]).astype(int)
    model = DecisionTreeClassifier(random_state=0)
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    usual = cross_val_predict(model, frame[["d", "u", "v"]], frame["y"], cv=folds, method="predict_proba")[:, 1]
    ours = eh.out_of_fold(model, frame, problem())
    assert roc_auc_score(frame["y"], ours) == pytest.approx(roc_auc_score(frame["y"], usual), abs=0.04)
    # Which outcome somebody has is not told by their score beyond what their record tells.
    within = frame.assign(score=ours).groupby(["d", "u", "v"])[["score", "y"]].corr().iloc[0::2]["y"].dropna()
    assert abs(within.mean()) < 0.5


def test_scores_tell_of_the_outcome_and_not_of_the_order_of_rows():
    frame = table()
    model = DecisionTreeClassifier(max_depth=2, random_state=0)
    scores = pd.Series(eh.out_of_fold(model, frame, problem()), frame.index)
    assert scores[frame["y"] == 1].mean() > scores[frame["y"] == 0].mean() + 0.2
    shuffled = frame.sample(frac=1, random_state=1)
    again = pd.Series(eh.out_of_fold(model, shuffled, problem()), shuffled.index)
    pd.testing.assert_series_equal(again.sort_index(), scores)  # no two rows hold the same
    of_zero = eh.out_of_fold(model, frame, problem(favourable=0))
    assert of_zero == pytest.approx(1 - scores.to_numpy())
    assert not hasattr(model, "tree_")


def test_frames_of_other_kinds_and_what_the_model_sees():
    frame = table().assign(u=lambda f: f["u"].where(f.index % 7 > 0))
    model = HistGradientBoostingClassifier(max_iter=5, random_state=0)
    pandas = eh.out_of_fold(model, frame, problem())
    assert eh.out_of_fold(model, pl.from_pandas(frame), problem()) == pytest.approx(pandas)
    with_d = eh.out_of_fold(model, frame.assign(y=frame["d"]), problem())
    without = eh.out_of_fold(model, frame.assign(y=frame["d"]), problem(), sees_protected=False)
    assert np.abs(with_d - frame["d"]).mean() < 0.3 < np.abs(without - frame["d"]).mean()


def test_weights_reach_the_model():
    frame = table().assign(w=lambda f: np.where(f["y"] == 1, 3.0, 1.0))
    model = DecisionTreeClassifier(max_depth=1, random_state=0)
    assert eh.out_of_fold(model, frame, problem(), weights="w").mean() > frame["y"].mean() + 0.1


def test_levels_of_such_a_score():
    frame = table(people=3000)
    frame["score"] = eh.out_of_fold(DecisionTreeClassifier(max_depth=4, random_state=0), frame, problem())
    stated = problem(features=["score"], cells=eh.ScoreLevels(6), parity=[eh.PairwiseParity(0.02)])
    mapping = eh.fit(stated, frame)
    assert 3 <= len(mapping.cells) <= 6
    assert mapping.certificate.status == "optimal"


def test_what_is_wrong_is_refused():
    frame = table()
    with pytest.raises(eh.SpecError, match="estimator must be a classifier with fit and predict_proba"):
        eh.out_of_fold(LinearSVC(), frame, problem())
    with pytest.raises(eh.SpecError, match="a classifier with fit and predict_proba"):
        eh.out_of_fold(None, frame, problem())
    with pytest.raises(eh.SpecError, match="folds must be a whole number of at least 2"):
        eh.out_of_fold(Memory(), frame, problem(), folds=1)
    with pytest.raises(eh.DataError, match="only one outcome"):
        eh.out_of_fold(Memory(), frame.assign(y=0), problem())
    with pytest.raises(eh.DataError, match="nobody in the table has y=5"):
        eh.out_of_fold(Memory(), frame, problem(favourable=5))
    with pytest.raises(eh.DataError, match="no column 'v'"):
        eh.out_of_fold(Memory(), frame.drop(columns="v"), problem())
