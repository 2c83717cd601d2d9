"""People who are hired, or not, of two groups: for estimators of any kind, and scikit-learn's own checks of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import evenhand as eh


def people(number=900, seed=0, classes=2):
    """Numbers, words, gaps and two groups, of which one has the better outcomes."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({
        "sex": rng.choice(["f", "m"], number),
        "skill": rng.normal(size=number),
        "town": rng.choice(["a", "b", "c"], number),
        "noise": rng.normal(size=number),
    })  # fmt: skip
    score = X["skill"] + 0.9 * X["sex"].eq("m") + 0.4 * X["town"].eq("a") + rng.normal(size=number)
    cuts = np.quantile(score, np.arange(1, classes) / classes)
    return X, pd.Series(np.searchsorted(cuts, score), name="hired")


def linear():
    words = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), ["sex", "town"]), (StandardScaler(), ["skill", "noise"])
    )
    return make_pipeline(words, LogisticRegression())


def coded(number=900):
    """The same people as numbers alone: the first column is the group."""
    X, y = people(number)
    return np.column_stack([X["sex"].eq("m"), X["skill"], X["noise"]]).astype(float), y.to_numpy()


def with_words(model):
    encoder = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    return make_pipeline(make_column_transformer((encoder, ["sex", "town"]), remainder="passthrough"), model)


class InHalves(eh.PreprocessedClassifier):
    """The checks pass real numbers, which are no groups: here these are the halves of the column that is protected."""

    def _given(self, X, y, protected, fitting=True):
        shown, found = super()._given(X, y, protected, fitting)
        (name,) = protected
        if not isinstance(found.frame, pd.DataFrame) or name not in found.frame:
            return shown, found
        numbers = found.frame[name].astype(float)
        if fitting:
            self._middle = float(numbers.median())
        return shown, replace(found, frame=found.frame.assign(**{name: (numbers > self._middle).astype(int)}))


EXCLUDED = {
    "check_sample_weight_equivalence_on_dense_data": "a person who is in the table twice is two rows, which are in "
    "folds and in score levels as two, one of weight two as one",
    "check_dtype_object": "an object that is neither a text nor a number is a DataError; the check wants a TypeError",
}
