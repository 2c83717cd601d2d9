"""Training with weights: who gets them in pipelines and in estimators made of others, with routing and without."""

import numpy as np
import pandas as pd
import pytest
from imblearn.over_sampling import RandomOverSampler
from imblearn.pipeline import make_pipeline as resampled
from imblearn.under_sampling import RandomUnderSampler
from sklearn import config_context
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import BaggingClassifier
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import KBinsDiscretizer, OneHotEncoder, StandardScaler

import evenhand as eh
from evenhand.use.training import fitted_on

pytestmark = pytest.mark.turns(4)


def people(number=300, seed=0):
    """A group in words, a number, outcomes, and weights that matter."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({"sex": rng.choice(["F", "M"], number), "age": rng.normal(size=number)})
    y = (X["age"] + (X["sex"] == "M") + rng.normal(size=number) > 0).astype(int)
    return X, y, rng.exponential(size=number) ** 2


def by_columns(scaler, learner=None):
    """A pipeline that scales one of the columns and codes the other."""
    columns = make_column_transformer((OneHotEncoder(), ["sex"]), (scaler, ["age"]))
    return make_pipeline(columns, LogisticRegression() if learner is None else learner)


def scaler_of(model):
    return model[0].named_transformers_["standardscaler"]


COMPOSED = {
    "columns": by_columns(StandardScaler()),
    "columns of a pipeline": by_columns(make_pipeline(StandardScaler(), KBinsDiscretizer(3))),
    "a calibrated last step": by_columns(StandardScaler(), CalibratedClassifierCV(LogisticRegression(), cv=2)),
    "bags": by_columns(StandardScaler(), BaggingClassifier(LogisticRegression(), 2, random_state=0)),
    "a union": make_pipeline(OneHotEncoder(), make_union(StandardScaler(with_mean=False)), LogisticRegression()),
    "a chosen column": make_pipeline(OneHotEncoder(), SelectFromModel(LogisticRegression()), LogisticRegression()),
}


@pytest.mark.parametrize("model", COMPOSED.values(), ids=COMPOSED)
@pytest.mark.filterwarnings("ignore:Bins whose width", "ignore:The current default behavior")
def test_routing_changes_no_model(model):
    X, y, weights = people()
    X["age"] = X["age"].round()
    plain = fitted_on(model, X, y, weights).predict_proba(X)
    with config_context(enable_metadata_routing=True):
        routed = fitted_on(model, X, y, weights).predict_proba(X)
    assert routed == pytest.approx(plain)
    assert plain != pytest.approx(fitted_on(model, X, y, None).predict_proba(X)), "weights matter"


@pytest.mark.parametrize("learner", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression())])
def test_an_estimator_of_others_without_a_pipeline(learner):
    X, y, weights = people()
    with config_context(enable_metadata_routing=True):
        model = fitted_on(CalibratedClassifierCV(learner, ensemble=False, cv=2), X[["age"]], y, weights)
        inner = fitted_on(learner, X[["age"]], y, weights)
    own = model.calibrated_classifiers_[0].estimator
    assert own.predict_proba(X[["age"]]) == pytest.approx(inner.predict_proba(X[["age"]]))


@pytest.mark.parametrize("wanted", [None, False, True])
def test_what_a_user_requests_stays(wanted):
    X, y, weights = people()
    with config_context(enable_metadata_routing=True):
        scaler = StandardScaler().set_fit_request(sample_weight=wanted)
        mean = scaler_of(fitted_on(by_columns(scaler), X, y, weights)).mean_[0]
        direct = fitted_on(make_pipeline(scaler, LogisticRegression()), X[["age"]], y, weights)[0].mean_[0]
    weighted, plain = np.average(X["age"], weights=weights), X["age"].mean()
    assert mean == pytest.approx(weighted if wanted else plain)
    assert direct == pytest.approx(plain if wanted is False else weighted)


def test_the_learner_gets_weights_whatever_is_requested():
    """They are not the user's: rows of an expected release mean nothing without them."""
    X, y, weights = people()
    with config_context(enable_metadata_routing=True):
        refusing = by_columns(StandardScaler(), LogisticRegression().set_fit_request(sample_weight=False))
        model = fitted_on(refusing, X, y, weights)
    plain = fitted_on(by_columns(StandardScaler()), X, y, weights)
    assert model.predict_proba(X) == pytest.approx(plain.predict_proba(X))


def test_the_given_estimator_is_left_alone():
    X, y, weights = people()
    with config_context(enable_metadata_routing=True):
        model = by_columns(StandardScaler())
        before = str(model.get_metadata_routing())
        fitted_on(model, X, y, weights)
        assert str(model.get_metadata_routing()) == before


def test_the_one_line_with_routing():
    X, y, _ = people()
    model = eh.PreprocessedClassifier(by_columns(StandardScaler()), protected=["sex"], bound=0.1)
    plain = clone(model).fit(X, y)
    with config_context(enable_metadata_routing=True):
        routed = clone(model).fit(X, y)
    assert routed.predict_proba(X) == pytest.approx(plain.predict_proba(X))


@pytest.mark.parametrize("routing", [False, True])
@pytest.mark.parametrize("sampler", [RandomOverSampler(random_state=0), RandomUnderSampler(random_state=0)])
def test_a_pipeline_that_resamples_takes_no_weights(sampler, routing):
    """Not even where as many rows come out: they would be others than those that the weights are of."""
    X, y, weights = people()
    y[:] = np.arange(len(y)) % 2
    model = resampled(sampler, resampled(StandardScaler(), LogisticRegression()))
    nested = resampled(StandardScaler(), resampled(sampler, LogisticRegression()))
    with config_context(enable_metadata_routing=routing):
        for each in (model, nested):
            with pytest.raises(eh.SpecError, match=rf'{type(sampler).__name__} changes the number .* train_on="draw"'):
                fitted_on(each, X[["age"]], y, weights)
    assert len(fitted_on(model, X[["age"]], y, None).predict(X[["age"]])) == len(X)


def test_the_one_line_with_a_resampler():
    X, y, _ = people()
    X = X.assign(sex=(X["sex"] == "M").astype(int))
    model = resampled(RandomOverSampler(random_state=0), LogisticRegression())
    with pytest.raises(eh.SpecError, match="put RandomOverSampler before"):
        eh.PreprocessedClassifier(model, protected=["sex"], bound=0.1).fit(X, y)
    line = eh.PreprocessedClassifier(LogisticRegression(), protected=["sex"], bound=0.1)
    before = resampled(RandomOverSampler(random_state=0), line).fit(X, y)
    drawn = eh.PreprocessedClassifier(model, protected=["sex"], bound=0.1, train_on="draw").fit(X, y)
    for fitted in (before[-1], drawn):
        assert fitted.parity_["apart"].max() <= 0.1 + 1e-6
