"""One line for any estimator: scores that meet the released rates out of fold, and errors before any training."""

import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hiring import EXCLUDED, InHalves, coded, linear, people, with_words
from hypothesis import given, settings
from hypothesis import strategies as st
from lightgbm import LGBMClassifier
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import evenhand as eh
from evenhand.use.oneline import CERTAIN, shift_to, shifted

pytestmark = pytest.mark.turns(4)

EQUAL = 1e-9
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)


def one_line(estimator=None, bound=0.05, **changes):
    return eh.PreprocessedClassifier(estimator or linear(), protected=["sex"], bound=bound, **changes)


class TestShift:
    @settings(max_examples=60, deadline=None)
    @given(
        st.integers(2, 4).flatmap(
            lambda k: st.tuples(
                st.lists(st.lists(st.floats(0.01, 1), min_size=k, max_size=k), min_size=1, max_size=30),
                st.lists(st.floats(0.02, 1), min_size=k, max_size=k),
            )
        )
    )
    def test_means_are_what_was_asked_for(self, drawn):
        scores, rates = (np.array(each) / np.sum(each, axis=-1, keepdims=True) for each in drawn)
        weight = 1.0 + np.arange(len(scores)) % 3
        found = shifted(scores, shift_to(scores, weight, rates))
        assert np.average(found, axis=0, weights=weight) == pytest.approx(rates, abs=EQUAL)
        assert found.sum(axis=1) == pytest.approx(1)

    def test_two_classes_keep_their_ranks(self):
        scores = np.column_stack([1 - np.linspace(0.01, 0.99, 50), np.linspace(0.01, 0.99, 50)])
        found = shifted(scores, shift_to(scores, np.ones(50), np.array([0.8, 0.2])))[:, 1]
        assert np.all(np.diff(found) > 0)
        logits = np.log(found / (1 - found)) - np.log(scores[:, 1] / scores[:, 0])
        assert np.ptp(logits) < 1e-9

    def test_certain_scores_have_a_logit(self):
        """A full tree says 0 and 1 alone; rates that it does not have are met all the same."""
        scores = np.eye(2)[np.arange(10) % 2]
        found = shifted(scores, shift_to(scores, np.ones(10), np.array([0.3, 0.7])))
        assert found.mean(axis=0) == pytest.approx([0.3, 0.7], abs=EQUAL)
        assert np.all((found > CERTAIN**3) & (found <= 1))

    def test_a_class_that_is_never_released(self):
        scores = np.array([[0.2, 0.3, 0.5], [0.6, 0.3, 0.1]])
        found = shifted(scores, shift_to(scores, np.ones(2), np.array([0.4, 0.0, 0.6])))
        assert found[:, 1].max() == 0
        assert found.mean(axis=0) == pytest.approx([0.4, 0, 0.6], abs=EQUAL)


MODELS = {
    "logistic regression in a pipeline": linear,
    "forest": lambda: with_words(RandomForestClassifier(20, random_state=0)),
    "boosting": lambda: with_words(HistGradientBoostingClassifier(max_iter=20, random_state=0)),
    "a full tree": lambda: with_words(DecisionTreeClassifier(random_state=0)),
    "lightgbm": lambda: with_words(LGBMClassifier(n_estimators=20, verbose=-1, n_jobs=1)),
    "xgboost": lambda: with_words(pytest.importorskip("xgboost").XGBClassifier(n_estimators=20, n_jobs=1)),
}


class TestWhatHolds:
    @pytest.mark.parametrize(
        "model",
        [
            pytest.param(make, id=name, marks=[pytest.mark.xgboost] * (name == "xgboost"))
            for name, make in MODELS.items()
        ],
    )
    def test_mean_scores_out_of_fold_are_the_released_rates(self, model):
        X, y = people()
        fitted = one_line(model()).fit(X, y)
        found = fitted.parity_
        assert found["mean_score"].to_numpy() == pytest.approx(found["released"].to_numpy(), abs=EQUAL)
        assert found["apart"].max() <= 0.05 + 1e-6
        assert fitted.mapping_.certificate.status == "optimal"
        rates = fitted.mapping_.audit().rates.query("hired == 1")
        assert rates["after"].to_numpy() == pytest.approx(found["released"].to_numpy())
        before = rates["before"].to_numpy()
        assert before.max() / before.min() > 1.5, "something had to change"

    def test_the_frame_says_who_how_many_and_how_far_apart(self):
        X, y = people()
        found = one_line().fit(X, y).parity_
        assert list(found) == [
            "sex",
            "hired",
            "people",
            "before",
            "released",
            "mean_score",
            "selected",
            "apart",
            "bound",
        ]
        assert found["sex"].tolist() == ["f", "m"]
        assert found["people"].tolist() == X["sex"].value_counts().sort_index().tolist()
        assert found["selected"].between(0.1, 0.9).all()
        assert set(found["bound"]) == {0.05}
        low, high = np.sort(found["mean_score"])
        assert found["apart"].iloc[0] == pytest.approx(max(high / low, (1 - low) / (1 - high)) - 1)

    def test_columns_that_are_called_as_those_of_the_frame(self):
        X, y = coded()
        named = pd.DataFrame(X, columns=["people", "score", "bound"]).astype({"people": int})
        model = eh.PreprocessedClassifier(LogisticRegression(), protected=["people"], bound=0.05)
        found = model.fit(named, pd.Series(y, name="selected")).parity_
        assert list(found)[:7] == ["people", "selected", "people_", "before", "released", "mean_score", "selected_"]
        assert found["people"].tolist() == [0, 1]

    def test_new_people(self):
        X, y = people(12000)
        half = len(X) // 2
        model = with_words(HistGradientBoostingClassifier(max_iter=40, random_state=0))
        new = X[half:]

        def apart(fitted):
            means = pd.Series(fitted.predict_proba(new)[:, 1]).groupby(new["sex"].to_numpy()).mean()
            return means.max() / means.min() - 1

        calibrated, bare = one_line(model).fit(X[:half], y[:half]), clone(model).fit(X[:half], y[:half])
        assert apart(calibrated) < 0.12 < 0.6 < apart(bare)
        assert calibrated.score(new, y[half:]) > 0.6

    def test_scores_of_new_people_are_the_estimators_own_with_a_constant_by_group(self):
        X, y = people()
        fitted = one_line().fit(X, y)
        own, found = (
            np.log(each[:, 1] / each[:, 0]) for each in (fitted.estimator_.predict_proba(X), fitted.predict_proba(X))
        )
        for _, moved in pd.Series(found - own).groupby(X["sex"]):
            assert np.ptp(moved) < 1e-8
        assert np.array_equal(fitted.predict(X), fitted.classes_[(fitted.predict_proba(X)[:, 1] > 0.5).astype(int)])

    def test_it_is_trained_on_everybodys_possible_outcomes(self):
        trainings = []

        class Watching(LogisticRegression):
            def fit(self, X, y, sample_weight=None):
                trainings.append((X, y, sample_weight))
                return super().fit(X, y, sample_weight)

        array, target = coded()
        fitted = eh.PreprocessedClassifier(Watching(), protected=["0"], bound=0.05).fit(array, target)
        seen, outcome, weight = trainings[-1]
        assert len(trainings) == 11
        assert weight.sum() == pytest.approx(len(array))
        rates = [np.average(outcome[seen[:, 0] == d], weights=weight[seen[:, 0] == d]) for d in (0, 1)]
        assert rates == pytest.approx(fitted.parity_["released"].tolist())
        assert {tuple(row) for row in seen} == {tuple(row) for row in array}, "records stay as they are"

    def test_the_budget_is_three_times_the_smallest_that_will_do(self):
        X, y = people()
        mapping = one_line().fit(X, y).mapping_
        limit = mapping.problem.budget.limit
        assert 3 * limit * eh.smallest_budget_factor(mapping.problem, mapping.counts) == pytest.approx(limit, rel=1e-3)
        assert one_line(bound=0).fit(X, y).mapping_.problem.budget.limit <= 1

    def test_nothing_changes_where_the_bound_is_met(self):
        X, y = people()
        mapping = one_line(bound=5.0).fit(X, y).mapping_
        assert mapping.objective == 0

    def test_uncalibrated_scores_are_told_of(self):
        X, y = people()
        model = with_words(HistGradientBoostingClassifier(max_iter=5, random_state=0))
        with pytest.warns(eh.EvenhandWarning, match="more than the bound of 0.01: see parity_; calibrate=True") as told:
            fitted = one_line(model, 0.01, calibrate=False).fit(X, y)
        # The fit warns as well, that outcomes of some are made worse.
        assert {each.filename for each in told} == {__file__}
        assert sum("calibrate=True" in str(each.message) for each in told) == 1
        assert fitted.parity_["apart"].max() > 0.01
        assert np.array_equal(fitted.predict_proba(X), fitted.estimator_.predict_proba(X))

    @pytest.mark.parametrize("words", [None, {0: "no", 1: "maybe", 2: "a yes"}], ids=["numbers", "words"])
    def test_three_classes(self, words):
        X, y = people(classes=3)
        fitted = one_line().fit(X, y if words is None else y.map(words))
        found = fitted.parity_
        assert len(found) == 6
        assert found["hired"].tolist() == [*fitted.classes_] * 2
        assert found["mean_score"].to_numpy() == pytest.approx(found["released"].to_numpy(), abs=EQUAL)
        rates = fitted.mapping_.audit().rates.sort_values(["sex", "hired"])
        assert found["released"].to_numpy() == pytest.approx(rates["after"].to_numpy())
        assert fitted.predict_proba(X).sum(axis=1) == pytest.approx(1)

    def test_two_protected_columns_and_small_groups(self):
        X, y = people()
        X["old"] = np.arange(len(X)) % 40 == 0
        fitted = eh.PreprocessedClassifier(
            make_pipeline(make_column_transformer((OneHotEncoder(), ["sex", "old"])), LogisticRegression()),
            protected=["sex", "old"], bound=0.1,
        ).fit(X, y)  # fmt: skip
        assert fitted.parity_[["sex", "old"]].to_numpy().tolist() == [
            ["f", False],
            ["f", True],
            ["m", False],
            ["m", True],
        ]
        assert fitted.mapping_.problem.cells.at_least < 5

    @pytest.mark.parametrize("kind", [bool, float, str])
    def test_outcomes_of_other_types(self, kind):
        X, y = people()
        fitted = one_line().fit(X, y.astype(kind))
        assert fitted.classes_.dtype == np.unique(y.astype(kind)).dtype
        assert np.array_equal(fitted.predict_proba(X), one_line().fit(X, y).predict_proba(X))

    def test_frames_and_arrays_of_any_kind(self):
        X, y = people()
        numbers = X.assign(sex=X["sex"].eq("m").astype(int)).drop(columns="town")
        model = eh.PreprocessedClassifier(LogisticRegression(), protected=["sex"], bound=0.05)
        pandas = model.fit(numbers, y).predict_proba(numbers)
        polars = pl.from_pandas(numbers)
        assert np.array_equal(model.fit(polars, pl.Series("hired", y.tolist())).predict_proba(polars), pandas)
        assert list(model.feature_names_in_) == ["sex", "skill", "noise"]
        array = numbers.to_numpy()
        model.set_params(protected=["0"])
        assert np.array_equal(model.fit(array, y).predict_proba(array), pandas)
        assert model.n_features_in_ == 3
        odd = numbers.set_axis([10, 20, 30], axis="columns")
        assert np.array_equal(model.fit(odd, y).predict_proba(odd), pandas)

    def test_columns_that_no_mapping_could_read_are_the_estimators_matter(self):
        X, y = people()
        X["waited"] = pd.to_timedelta(np.arange(len(X)), unit="s")
        assert one_line().fit(X, y).parity_["apart"].max() <= 0.05 + 1e-6

    def test_the_order_of_rows_does_not_matter(self):
        X, y = people()
        mixed = X.sample(frac=1, random_state=1)
        again = one_line().fit(mixed, y.loc[mixed.index])
        assert again.predict_proba(X) == pytest.approx(one_line().fit(X, y).predict_proba(X), abs=1e-6)

    def test_few_kinds_of_people(self):
        """Equal rows are dealt over all folds: else every clone would guess at whom it never saw."""
        X, y = people()
        coarse = pd.DataFrame({"sex": X["sex"].eq("m").astype(int), "able": X["skill"].gt(0).astype(int)})
        tree = eh.PreprocessedClassifier(DecisionTreeClassifier(random_state=0), protected=["sex"], bound=0.05)
        fitted = tree.fit(coarse, y)
        assert fitted.score(coarse, y) > 0.6
        assert len(fitted.mapping_.cells) > 1
        assert tree.fit(coarse[["sex"]], y).parity_["apart"].max() <= 0.05 + 1e-6


class TestComposing:
    def test_clone_parameters_and_pickle(self):
        X, y = people()
        model = one_line(calibrate=False)
        assert clone(model).get_params()["bound"] == 0.05
        assert clone(model).get_params()["calibrate"] is False
        fitted = one_line().fit(X, y)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))
        pd.testing.assert_frame_equal(again.parity_, fitted.parity_)

    def test_searches(self):
        X, y = people()
        search = GridSearchCV(one_line(), {"bound": [0.05, 0.4]}, cv=FOLDS, scoring="neg_log_loss", error_score="raise")
        search.fit(X, y)
        assert search.best_params_ == {"bound": 0.4}, "a looser bound costs less"
        assert search.best_estimator_.mapping_.problem.parity[0].bound == 0.4
        found = cross_validate(one_line(), X, y, cv=FOLDS, scoring="roc_auc", error_score="raise")
        assert np.all(found["test_score"] > 0.6)

    def test_weights(self):
        X, y = people()
        model = one_line(with_words(LogisticRegression()))
        weights = np.random.default_rng(0).integers(0, 3, len(X))
        weighted = clone(model).fit(X, y, sample_weight=weights)
        assert weighted.parity_["people"].tolist() == [weights[X["sex"] == sex].sum() for sex in "fm"]
        assert weighted.parity_["mean_score"].to_numpy() == pytest.approx(weighted.parity_["released"], abs=EQUAL)
        there = weights > 0
        without = clone(model).fit(X[there], y[there], sample_weight=weights[there])
        assert np.array_equal(without.predict_proba(X), weighted.predict_proba(X))
        with config_context(enable_metadata_routing=True):
            outer = Pipeline([("model", clone(model).set_fit_request(sample_weight=True))])
            routed = outer.fit(X, y, sample_weight=weights)
        assert np.array_equal(routed.predict_proba(X), weighted.predict_proba(X))

    def test_an_estimator_that_takes_no_weights_gets_a_draw_and_the_user_is_told(self):
        X, y = coded()
        model = eh.PreprocessedClassifier(KNeighborsClassifier(9), protected=["0"], bound=0.05)
        with pytest.warns(eh.EvenhandWarning, match="KNeighborsClassifier takes no sample weights") as told:
            fitted = model.fit(X, y)
        assert sum("sample weights" in str(each.message) for each in told) == 1
        assert fitted.parity_["apart"].max() <= 0.05 + 1e-6
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*Say which outcome is good for a person")
            drawn = clone(model).set_params(train_on="draw").fit(X, y)
        assert np.array_equal(drawn.predict_proba(X), fitted.predict_proba(X))

    def test_one_form_after_the_other_leaves_nothing_behind(self, compas):
        X, y = compas.frame.drop(columns="is_recid"), compas.frame["is_recid"]
        model = eh.PreprocessedClassifier(
            make_pipeline(OneHotEncoder(), LogisticRegression()), protected=["race"], bound=0.1
        )
        model.fit(X, y)
        before = eh.OptimizedPreprocessor(compas.problem, bound=0.3)
        model.set_params(preprocessor=before, protected=None, bound=None).fit(X, y)
        assert not hasattr(model, "parity_")
        plain = eh.PreprocessedClassifier(model.estimator, before).fit(X, y)
        assert np.array_equal(model.predict_proba(X), plain.predict_proba(X))
        model.set_params(preprocessor=None, protected=["race"], bound=0.1).fit(X, y)
        assert not hasattr(model, "preprocessor_")
        assert model.parity_["apart"].max() <= 0.1 + 1e-6

    def test_a_search_warns_at_the_line_that_searches(self):
        X, y = people()
        model = one_line(with_words(HistGradientBoostingClassifier(max_iter=5)), 0.01, calibrate=False)
        with pytest.warns(eh.EvenhandWarning, match="more than the bound") as told:
            cross_validate(model, X, y, cv=FOLDS, error_score="raise")
        assert {each.filename for each in told} == {__file__}


class Untrained(ClassifierMixin, BaseEstimator):
    """Whoever trains it is too late with an error."""

    def fit(self, X, y, sample_weight=None):
        raise AssertionError("trained")

    def predict_proba(self, X):
        raise AssertionError("asked")


class TestBadInput:
    @pytest.mark.parametrize(
        ("changes", "match"),
        [
            ({"protected": None, "bound": None}, r"write protected=\['sex'\], bound=0.05 .*, or preprocessor="),
            ({"bound": None}, "how far apart they may be"),
            ({"protected": None}, "say who is compared"),
            ({"preprocessor": eh.OptimizedPreprocessor()}, "one or the other"),
            ({"preprocessor": eh.OptimizedPreprocessor(), "protected": None}, "one or the other"),
            ({"protected": "sex"}, r"write \['sex'\]"),
            ({"protected": []}, "at least one column"),
            ({"protected": ["sex", "sex"]}, "each once"),
            ({"bound": -1}, "bound must be at least 0"),
            ({"bound": "x"}, "bound must be"),
            ({"calibrate": 3}, "calibrate must be"),
            ({"drop_protected": True}, "with drop_protected=True no group is seen; write calibrate=False"),
            ({"estimator": LinearSVC()}, "LinearSVC has no predict_proba"),
            ({"estimator": make_pipeline(StandardScaler(), LinearSVC())}, "LinearSVC has no predict_proba"),
        ],
    )
    def test_statements(self, changes, match):
        X, y = people(100)
        with pytest.raises(eh.SpecError, match=match):
            one_line(Untrained()).set_params(**changes).fit(X, y)

    @pytest.mark.parametrize(
        ("change", "match"),
        [
            (lambda X, y: (X.drop(columns="sex"), y), r"lacks \['sex'\], which protected names"),
            (
                lambda X, y: (X.assign(sex=X["skill"]), y),
                r"real numbers.* bins=.*stated by a problem, with preprocessor",
            ),
            (lambda X, y: (X.assign(sex=X["sex"].where(X.index > 2)), y), "'sex' has 3 missing values"),
            (lambda X, y: (X.assign(sex="f"), y), "a single group"),
            (
                lambda X, y: (X.assign(sex=X["sex"].where(X.index > 0, "x")), y),
                "nobody of sex=x, of whom there are 1",
            ),
            (lambda X, y: (X, y * 0), "only one class"),
            (lambda X, y: (X, (y.index == 3).astype(int)), "one would see only one class of y: .* 1 of 100 rows"),
            (lambda X, y: (X.head(1), y.head(1)), "n_samples=1"),
            (lambda X, y: (X.head(0), y.head(0)), "0 sample"),
            (lambda X, y: (X, y[:-1]), "inconsistent numbers of samples"),
            (lambda X, y: (X, np.linspace(0, 1, len(X))), "Unknown label type"),
            (lambda X, y: (pl.from_pandas(X).lazy(), y), "collect it first"),
        ],
    )
    def test_tables(self, change, match):
        with pytest.raises(eh.DataError, match=match):
            one_line(Untrained()).fit(*change(*people(100)))

    def test_weights_for_an_estimator_that_takes_none(self):
        X, y = coded(100)
        model = eh.PreprocessedClassifier(KNeighborsClassifier(), protected=["0"], bound=0.05, train_on="draw")
        with pytest.raises(eh.SpecError, match="takes no sample weights"):
            model.fit(X, y, sample_weight=np.ones(len(y)))

    def test_gaps_are_the_estimators_own_error(self):
        X, y = people(200)
        X.loc[3, "skill"] = np.nan
        with pytest.raises(ValueError, match="contains NaN"):
            one_line().fit(X, y)
        gaps = with_words(HistGradientBoostingClassifier(max_iter=5))
        assert one_line(gaps).fit(X, y).predict_proba(X).shape == (200, 2)

    def test_people_without_the_protected_column(self):
        X, y = people(200)
        with pytest.raises(eh.DataError, match="now missing:\n- sex"):
            one_line().fit(X, y).predict_proba(X.drop(columns="sex"))

    def test_an_array_where_there_was_a_frame_and_the_reverse(self):
        X, y = people()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.filterwarnings("ignore", ".*Say which outcome is good for a person")
            with pytest.raises(eh.DataError, match=r"X is no frame, and PreprocessedClassifier was fitted on one.*sex"):
                one_line().fit(X, y).predict_proba(X.to_numpy())
            numbers, label = coded()
            fitted = eh.PreprocessedClassifier(LogisticRegression(), protected=["0"], bound=0.1).fit(numbers, label)
            named = pd.DataFrame(numbers, columns=["sex", "skill", "noise"])
            with pytest.raises(eh.DataError, match="X is a frame, and PreprocessedClassifier was fitted on an array"):
                fitted.predict(named)
            # Numbers are all the names that there are.
            assert np.array_equal(fitted.predict(pd.DataFrame(numbers)), fitted.predict(numbers))

    def test_a_group_that_was_not_fitted_is_not_shifted_and_warned_of(self):
        X, y = people()
        fitted = one_line().fit(X, y)
        new = X.assign(sex=X["sex"].where(X.index != 7, "x"))
        with pytest.warns(eh.EvenhandWarning, match="1 of 900 people .* first sex=x in row 8: .* no bound") as told:
            scores = fitted.predict_proba(new)
        assert [each.filename for each in told] == [__file__]
        assert np.array_equal(scores[7], fitted.estimator_.predict_proba(new)[7])
        assert np.array_equal(np.delete(scores, 7, 0), np.delete(fitted.predict_proba(X), 7, 0))

    def test_a_person_of_no_known_group(self):
        X, y = people()
        model = with_words(HistGradientBoostingClassifier(max_iter=5, random_state=0))
        new = X.assign(sex=X["sex"].where(X.index != 7))
        with pytest.warns(eh.EvenhandWarning, match="1 of 900 people"):
            one_line(model).fit(X, y).predict_proba(new)

    def separable(self):
        """X tells y exactly, so that every level of the score has one outcome."""
        rng = np.random.default_rng(0)
        y = np.repeat([0, 1], 300)
        skill = np.where(y == 1, 5, -5) + rng.uniform(-1, 1, len(y))
        return pd.DataFrame({"sex": (rng.random(len(y)) < 0.3 + 0.4 * y).astype(int), "skill": skill}), y

    def test_any_bound_can_be_met_since_any_outcome_may_change(self):
        X, y = self.separable()
        model = eh.PreprocessedClassifier(LogisticRegression(), protected=["sex"], bound=0)
        with pytest.warns(eh.EvenhandWarning, match="keep what tells the outcome from the model"):
            assert model.fit(X, y).parity_["apart"].max() < 1e-6

    def test_what_a_fit_warns_of_names_the_line_that_searches(self):
        X, y = self.separable()
        model = eh.PreprocessedClassifier(LogisticRegression(), protected=["sex"], bound=0.05)
        with pytest.warns(eh.EvenhandWarning, match="keep what tells the outcome from the model") as told:
            cross_validate(model, X, y, cv=FOLDS, error_score="raise")
        assert {each.filename for each in told} == {__file__}

    def test_a_score_that_is_the_outcome(self):
        X, y = self.separable()
        model = eh.PreprocessedClassifier(DecisionTreeClassifier(), protected=["sex"], bound=0.05)
        with pytest.raises(eh.DataError, match="keep what tells the outcome from the model"):
            model.fit(X, y)

    def test_a_fit_that_fails_says_so_once_and_leaves_nothing_behind(self, monkeypatch):
        """No bound of the one line is out of reach; should a solver find one to be, its error is what people see."""

        def infeasible(*given):
            raise eh.InfeasibleError("No mapping meets it", smallest_parity_bound=0.2)

        X, y = people(200)
        monkeypatch.setattr("evenhand.use.oneline.fit_counted", infeasible)
        model = one_line()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(eh.InfeasibleError, match="No mapping meets it"):
                model.fit(X, y)
        with pytest.raises(NotFittedError):
            model.predict(X)

    def test_without_the_protected_columns_no_bound_covers_it(self):
        X, y = coded()
        model = eh.PreprocessedClassifier(
            LogisticRegression(), protected=["0"], bound=0.05, drop_protected=True, calibrate=False
        )
        with pytest.warns(eh.EvenhandWarning, match="no bound covers its mean scores"):
            fitted = model.fit(X, y)
        assert fitted.estimator_.n_features_in_ == 2
        assert fitted.predict_proba(X).shape == (len(X), 2)


class TestConfidence:
    def test_scores_are_shifted_to_rates_that_leave_a_margin(self):
        X, y = people(4000, seed=2)
        plain, sure = (one_line(bound=0.3, confidence=each).fit(X, y) for each in (None, 0.95))
        assert plain.mapping_.assurance is None
        assert sure.mapping_.assurance.frame["upper_limit"].to_numpy() == pytest.approx(0.3, abs=1e-6)
        apart = [fitted.parity_["apart"].max() for fitted in (plain, sure)]
        assert apart[1] < apart[0] - 0.02
        assert sure.parity_["mean_score"].to_numpy() == pytest.approx(sure.parity_["released"].to_numpy(), abs=EQUAL)

    @pytest.mark.parametrize("seed", range(4))
    def test_the_bound_that_a_refusal_advises_is_enough(self, seed):
        """Margins are others at another bound: only one that was fitted is known to be enough."""
        rng = np.random.default_rng(seed)
        X, y = people(int(rng.integers(200, 800)), seed)
        if seed % 2:
            X["sex"] = rng.choice(["f", "m", "x"], len(X), p=[0.5, 0.3, 0.2])
        asked = {"confidence": float(rng.choice([0.8, 0.95]))}
        with pytest.raises(eh.InfeasibleError, match=r"About [0-9,]+ people like these .* would be needed") as refused:
            one_line(bound=0.02, **asked).fit(X, y)
        advised = refused.value.smallest_parity_bound
        assert f"write bound={advised:g}, which can be met" in str(refused.value)
        assert 0.02 < advised < 1.5
        fitted = one_line(bound=advised, **asked).fit(X, y)
        assert fitted.mapping_.assurance.frame["upper_limit"].max() <= advised + 1e-6

    @pytest.mark.parametrize("confidence", [0, 1, 95, "0.9"])
    def test_what_is_no_confidence_is_refused(self, confidence):
        X, y = people(300)
        with pytest.raises(eh.SpecError, match="confidence"):
            one_line(confidence=confidence).fit(X, y)


# The checks ask for an accuracy that a tight bound must cost.
@parametrize_with_checks(
    [InHalves(LogisticRegression(), protected=["0"], bound=0.3)], expected_failed_checks=lambda _: EXCLUDED
)
@pytest.mark.filterwarnings("ignore::evenhand.errors.EvenhandWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


class TestFavourable:
    """Nobody loses the favourable outcome in silence: people of group 1 are granted less often."""

    def people(self):
        rng = np.random.default_rng(0)
        group = (rng.random(2000) < 0.2).astype(int)
        x = rng.normal(size=2000) + 0.8 * group
        y = np.where(rng.random(2000) < 1 / (1 + np.exp(2 - x)), "denied", "granted")
        return pd.DataFrame({"group": group, "x": x}), y

    def fitted(self, **stated):
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always", eh.EvenhandWarning)
            model = eh.PreprocessedClassifier(LogisticRegression(), protected=["group"], **stated).fit(*self.people())
        return model, [str(each.message) for each in told if issubclass(each.category, eh.EvenhandWarning)]

    def test_without_it_both_directions_are_reported(self):
        model, (told,) = self.fitted(bound=0.1)
        for move in model.mapping_.audit().outcome_changes.to_dict("records"):
            assert f"group={move['group']}: {move['people']:,.0f}" in told
        assert "favourable=" in told

    def test_with_it_those_who_lose_it(self):
        model, (told,) = self.fitted(bound=0.1, favourable="granted")
        harmed = model.mapping_.audit().ledger.set_index("group")["harmed"]
        assert harmed[0] > 1
        assert f"(group=0: {harmed[0]:,.0f})" in told
        assert "FourFifths(favourable='granted')" in told

    def test_by_the_four_fifths_rule_nobody_does(self):
        model, told = self.fitted(bound=eh.PairwiseParity(0.1, distance=eh.FourFifths("granted")))
        assert told == []
        assert model.mapping_.audit().ledger["harmed"].max() == 0
        denied = model.parity_.set_index("group")["released"]
        assert (1 - denied[1]) / (1 - denied[0]) >= 0.9 - 1e-9

    def test_decisions_say_who_is_predicted_otherwise(self):
        model, said = self.fitted(decisions=0.03, threshold=0.8)
        told = next(each for each in said if "favourable=" in each)
        # The last outcome is selected where none is favourable. Ranks stay: shares say who is predicted otherwise.
        lost, won = model.parity_.eval("(before - selected) * people")
        assert lost > 1
        assert won < -1
        assert (
            f"are predicted y=denied and not y=granted at the threshold 0.8, out of fold (group=0: {lost:,.0f})" in told
        )
        assert (
            f"are predicted y=granted and not y=denied at the threshold 0.8, out of fold (group=1: {-won:,.0f})" in told
        )

    def test_decisions_say_who_loses_the_favourable_one(self):
        model, said = self.fitted(decisions=0.03, threshold=0.8, favourable="granted")
        told = next(each for each in said if "levelled down" in each)
        lost, _ = model.parity_.eval("(before - selected) * people")
        assert lost > 1
        assert f"no longer predicted to have y=granted at the threshold 0.8, out of fold (group=0: {lost:,.0f})" in told
        assert "FourFifths(favourable='granted')" in told

    @pytest.mark.parametrize(
        ("stated", "meant"),
        [
            ({"bound": 10}, "for 10% write 0.1"),
            (
                {"bound": eh.PairwiseParity(0.8, distance=eh.FourFifths("granted"))},
                "write 0.2 for the four-fifths rule",
            ),
            ({"decisions": 3}, "for 3 percentage points write 0.03"),
            (
                {"decisions": eh.PairwiseParity(0.8, distance=eh.FourFifths("granted")), "threshold": 0.5},
                "write 0.2 for the four-fifths rule",
            ),
        ],
    )
    def test_a_bound_that_cannot_bind_is_warned_of(self, stated, meant):
        _, told = self.fitted(**stated)
        assert sum(meant in each for each in told) == 1

    def test_what_it_was_before(self):
        X, y = self.people()
        model, _ = self.fitted(bound=0.1, favourable="granted")
        before = [(y[X["group"] == group] == "granted").mean() for group in (0, 1)]
        assert model.parity_["before"].tolist() == pytest.approx(before)

    @pytest.mark.parametrize("stated", [{"favourable": "yes"}, {"favourable": "denied"}])
    def test_what_contradicts_is_refused(self, stated):
        with pytest.raises(eh.SpecError, match="favourable"):
            self.fitted(bound=eh.PairwiseParity(0.1, distance=eh.FourFifths("granted")), **stated)
