"""The scikit-learn face: its own checks, its own ways of composing, and scores that are exactly what they should be."""

import pickle
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from families import small_frame, small_problem
from fits import shared_fit
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import get_scorer
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.estimator_checks import parametrize_with_checks

import evenhand as eh
from evenhand.use.estimator.classifier import uncovered
from evenhand.use.estimator.preprocessor import stated
from evenhand.use.training import takes_weights

pytestmark = pytest.mark.turns(4)

EXACT = 1e-12
OTHERS = pytest.mark.filterwarnings(
    "ignore:the estimator also sees columns that are outside:evenhand.errors.EvenhandWarning"
)
FOLDS = StratifiedKFold(3, shuffle=True, random_state=0)

# Real numbers in numbered columns, as the checks pass them: a group is half of column 0, a feature a quarter of
# column 1. Any outcome may become any other, so a bound on differences can be met whatever the table.
NUMBERED = eh.Problem(
    protected=["0"],
    features=["1"],
    outcome="y",
    bins={"0": eh.Quantiles(2), "1": eh.Quantiles(4)},
    parity=[eh.PairwiseParity(0.05, eh.Difference())],
    distortion=eh.Distortion({"1": eh.Ordinal(step=1, max_steps=1), "y": eh.Nominal(1)}),
)
# The same with the group suppressed: parity is then met by moving features alone, so that transform must draw.
SUPPRESSED = replace(
    NUMBERED,
    parity=[eh.PairwiseParity(0.01, eh.Difference())],
    suppress_protected="fixed",
    distortion=eh.Distortion({"1": eh.Ordinal(step=1), "y": eh.Free()}),
)


NO_NUMBER = {
    "check_dtype_object": "an object that is neither a text nor a number is a DataError; the check wants a TypeError"
}
BY_POSITION = "without a key draws go by position, so a person's draw depends on the rows before"
CHECKED = [
    (eh.OptimizedPreprocessor(), {}),
    (eh.PreprocessedClassifier(LogisticRegression(), eh.OptimizedPreprocessor()), {}),
    (eh.OptimizedPreprocessor(NUMBERED), {}),
    (
        eh.OptimizedPreprocessor(SUPPRESSED),
        {"check_methods_sample_order_invariance": BY_POSITION, "check_methods_subset_invariance": BY_POSITION},
    ),
    # The checks ask for an accuracy that a tight bound must cost.
    (eh.PreprocessedClassifier(LogisticRegression(), eh.OptimizedPreprocessor(NUMBERED, bound=0.3)), NO_NUMBER),
    (
        eh.PreprocessedClassifier(
            LogisticRegression(),
            eh.OptimizedPreprocessor(NUMBERED, bound=0.3),
            train_on="draw",
            predict_with="draw",
        ),
        NO_NUMBER
        | {
            "check_sample_weight_equivalence_on_dense_data": "a person who is in the table twice is drawn twice, one "
            "of weight two once"
        },
    ),
]


def excluded(estimator):
    return next(reasons for one, reasons in CHECKED if repr(one) == repr(estimator))


@parametrize_with_checks([estimator for estimator, _ in CHECKED], expected_failed_checks=excluded)
@pytest.mark.filterwarnings("ignore::evenhand.errors.EvenhandWarning")
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_the_checks_meet_mappings_that_change_something():
    """On a table of the kind that the checks pass."""
    X = 3 * np.random.RandomState(0).uniform(size=(20, 3))
    y = X[:, 0].astype(int)
    released = eh.OptimizedPreprocessor(NUMBERED).fit_resample(X, y)[1]
    assert np.any(released != y)
    new = eh.OptimizedPreprocessor(SUPPRESSED).fit(X, y).transform(X)
    assert np.any(new[:, 1] != X[:, 1])
    assert np.array_equal(new[:, [0, 2]], X[:, [0, 2]])


def table():
    """Features and outcome of :func:`small_frame`."""
    frame = small_frame()
    return frame.drop(columns="hired"), frame["hired"]


def coded():
    """The same as an array of real numbers: group 0 or 1, score, and a column that the problem does not name."""
    X, y = table()
    rest = np.random.default_rng(0).normal(size=len(X))
    return np.column_stack([X["group"].eq("b"), X["score"], rest]).astype(float), y.to_numpy()


def coded_problem(**changes):
    rules = {"1": eh.Ordinal(step=1), "hired": eh.Ordinal(step=1, up=False)}
    return small_problem(protected=["0"], features=["1"], distortion=eh.Distortion(rules), **changes)


def tree():
    """A model that learns p(ŷ|x̂,d) of its training rows, exactly."""
    return make_pipeline(make_column_transformer((OrdinalEncoder(), ["group"]), remainder="passthrough"), TREE)


TREE = DecisionTreeClassifier(random_state=0)


def whole(**ways):
    return eh.PreprocessedClassifier(tree(), eh.OptimizedPreprocessor(small_problem()), **ways)


class TestPreprocessor:
    def test_without_a_problem_it_returns_its_input(self):
        X, y = table()
        plain = eh.OptimizedPreprocessor().fit(X)
        assert plain.mapping_ is None
        pd.testing.assert_frame_equal(plain.transform(X), X)
        features, outcome = plain.fit_resample(X, y)
        pd.testing.assert_frame_equal(features, X)
        assert outcome is y
        array, _ = coded()
        assert np.array_equal(plain.fit_transform(array, np.linspace(0, 1, len(array))), array)

    def test_it_fits_the_mapping_of_the_table(self):
        X, y = table()
        fitted = eh.OptimizedPreprocessor(small_problem()).fit(X, y)
        assert fitted.mapping_.objective == pytest.approx(shared_fit(small_problem(), small_frame()).objective)
        assert fitted.n_features_in_ == 2
        assert list(fitted.feature_names_in_) == list(fitted.get_feature_names_out()) == ["group", "score"]

    def test_transform_is_apply_mode(self):
        X, y = table()
        fitted = eh.OptimizedPreprocessor(small_problem(), seed=5).fit(X, y)
        pd.testing.assert_frame_equal(fitted.transform(X), fitted.mapping_.apply(X, seed=5))
        assert not fitted.transform(X).equals(X)
        assert not fitted.transform(X).equals(fitted.set_params(seed=6).transform(X))

    def test_fit_resample_is_train_mode(self):
        X, y = table()
        preprocessor = eh.OptimizedPreprocessor(small_problem(), seed=5)
        features, outcome = preprocessor.fit_resample(X, y)
        released = preprocessor.mapping_.release(small_frame(), seed=5)
        pd.testing.assert_frame_equal(features, released.drop(columns="hired"))
        pd.testing.assert_series_equal(outcome, released["hired"])
        assert not outcome.equals(y)

    @pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
    @pytest.mark.parametrize("outcome", ["array", "list", "pandas", "polars", "arrow", "category", "texts"])
    def test_what_comes_out_is_of_the_kind_that_went_in(self, kind, outcome):
        X, y = table()
        texts = y.map({0: "no", 1: "yes"})
        given = {"pandas": X, "polars": pl.from_pandas(X), "arrow": pa.Table.from_pandas(X, preserve_index=False)}[kind]
        target = {
            "array": y.to_numpy(), "list": y.tolist(), "pandas": y, "polars": pl.Series("hired", y.to_list()),
            "arrow": pa.chunked_array([y.to_list()]), "category": texts.astype("category"), "texts": texts.to_numpy(),
        }[outcome]  # fmt: skip
        rules = {"score": eh.Ordinal(step=1), "hired": eh.Nominal(1)}
        preprocessor = eh.OptimizedPreprocessor(small_problem(distortion=eh.Distortion(rules)))
        features, released = preprocessor.fit_resample(given, target)
        assert type(features) is type(preprocessor.transform(given)) is type(given)
        assert type(released) is type(np.asarray(target) if outcome == "list" else target)
        assert getattr(released, "dtype", None) == getattr(
            np.asarray(target) if outcome == "list" else target, "dtype", None
        )
        reference = eh.OptimizedPreprocessor(preprocessor.problem).fit_resample(X, y)
        assert np.array_equal(np.asarray(features["score"]), reference[0]["score"])
        as_numbers = pd.Series(np.asarray(released)).replace({"no": 0, "yes": 1}).astype(int)
        assert np.array_equal(as_numbers, reference[1])

    def test_the_columns_of_an_array_go_by_their_numbers(self):
        X, y = coded()
        frame, outcome = table()
        fitted = eh.OptimizedPreprocessor(coded_problem()).fit(X, y)
        new = fitted.transform(X)
        assert new.dtype == float
        assert np.array_equal(new[:, [0, 2]], X[:, [0, 2]])
        expected = eh.OptimizedPreprocessor(small_problem()).fit(frame, outcome).transform(frame)
        assert np.array_equal(new[:, 1], expected["score"])
        assert list(fitted.get_feature_names_out()) == ["x0", "x1", "x2"]
        texts = np.column_stack([frame["group"], frame["score"]]).astype(object)
        assert (
            eh.OptimizedPreprocessor(coded_problem()).fit(texts, y).transform(texts)[:, 1].tolist()
            == new[:, 1].tolist()
        )

    def test_a_frame_whose_names_are_numbers(self):
        X, y = coded()
        frame = pd.DataFrame(X[:, :2].astype(int), columns=[10, 20], index=range(7, 7 + len(X)))
        new = eh.OptimizedPreprocessor(coded_problem()).fit(frame, y).transform(frame)
        assert list(new.columns) == [10, 20]
        assert new.index.equals(frame.index)
        assert not new[20].equals(frame[20])

    def test_an_index_in_any_order(self):
        X, y = table()
        mixed = X.sample(frac=1, random_state=1)
        fitted = eh.OptimizedPreprocessor(small_problem()).fit(mixed, y.loc[mixed.index].to_numpy())
        same = eh.OptimizedPreprocessor(small_problem()).fit(mixed.reset_index(drop=True), y.loc[mixed.index].array)
        assert fitted.mapping_.objective == pytest.approx(same.mapping_.objective)
        assert fitted.transform(mixed).index.equals(mixed.index)
        features, released = fitted.fit_resample(mixed, y.loc[mixed.index])
        assert features.index.equals(mixed.index)
        assert released.index.equals(mixed.index)

    def test_bound_and_budget_replace_those_of_the_problem(self):
        by = eh.By(np.inf, [({"group": "a"}, 0.1)])
        problem = small_problem(
            parity=[eh.TargetParity(0.2), eh.TargetParity(by)],
            budget=[
                eh.ExpectedDistortion(0.5),
                eh.ExcessDistortion({0.9: 0.4, 1.9: eh.By(0.3, [({"group": "a"}, 0.2)])}),
            ],
        )
        found = stated(problem, 0.35, 0.15)
        assert [parity.bound for parity in found.parity] == [0.35, eh.By(np.inf, [({"group": "a"}, 0.35)])]
        limits = [charge.limit for charge in found.charges]
        assert limits == [0.15, 0.15, eh.By(0.15, [({"group": "a"}, 0.15)])]
        assert stated(problem, None, None) is problem
        some = small_problem(budget=eh.ExpectedDistortion(eh.By(0.5, [({"group": "a"}, np.inf)])))
        assert stated(some, None, 0.2).charges[0].limit == eh.By(0.2, [({"group": "a"}, np.inf)])

    def test_what_cannot_be_replaced(self):
        X, y = table()
        with pytest.raises(eh.SpecError, match="give one with problem="):
            eh.OptimizedPreprocessor(bound=0.1).fit(X, y)
        with pytest.raises(eh.SpecError, match="it has none"):
            eh.OptimizedPreprocessor(small_problem(budget=None), budget=0.1).fit(X, y)
        with pytest.raises(eh.SpecError, match="it has none"):
            eh.OptimizedPreprocessor(small_problem(parity=[]), bound=0.1).fit(X, y)
        with pytest.raises(eh.SpecError, match="must be an eh\\.Problem"):
            eh.OptimizedPreprocessor("compas").fit(X, y)

    def test_bad_tables(self):
        X, y = table()
        preprocessor = eh.OptimizedPreprocessor(small_problem())
        with pytest.raises(eh.DataError, match="lacks \\['score'\\]"):
            preprocessor.fit(X[["group"]], y)
        with pytest.raises(eh.DataError, match="leave it out of X"):
            preprocessor.fit(small_frame(), y)
        with pytest.raises(ValueError, match="requires y"):
            preprocessor.fit(X)
        with pytest.raises(ValueError, match="inconsistent numbers of samples"):
            preprocessor.fit(X, y[:-1])
        with pytest.raises(ValueError, match="Unknown label type"):
            preprocessor.fit(X, np.linspace(0, 1, len(X)))
        with pytest.raises(eh.DataError, match="0 sample"):
            preprocessor.fit(X, y).transform(X.head(0))
        with pytest.raises(ValueError, match="feature names should match"):
            preprocessor.fit(X, y).transform(X[["score", "group"]])
        with pytest.raises(NotFittedError):
            eh.OptimizedPreprocessor(small_problem()).transform(X)

    def test_lazy_frames_and_objects(self):
        X, y = table()
        preprocessor = eh.OptimizedPreprocessor(small_problem())
        with pytest.raises(eh.DataError, match="collect it first"):
            preprocessor.fit(pl.from_pandas(X).lazy(), y)
        array, target = coded()
        odd = array.astype(object)
        odd[3, 1] = {"a": 1}
        with pytest.raises(eh.DataError, match=r"column '1' holds {'a': 1}"):
            eh.OptimizedPreprocessor(coded_problem()).fit(odd, target)

    def test_missing_values_in_an_array(self):
        """Refused where the problem reads them, unless they are a level; passed through elsewhere."""
        X, y = coded()
        X[[3, 5], 2] = np.nan
        fitted = eh.OptimizedPreprocessor(coded_problem()).fit(X, y)
        assert np.array_equal(fitted.transform(X)[:, 2], X[:, 2], equal_nan=True)
        X[3, 1] = np.nan
        with pytest.raises(
            eh.DataError, match=r"contains NaN in column '1', first in row 4; .* write missing='level' to"
        ):
            fitted.transform(X)
        with pytest.raises(eh.DataError, match=r"column '1', first in row 4; .* missing='level' in the problem"):
            eh.OptimizedPreprocessor(coded_problem()).fit(X, y)
        with pytest.warns(eh.EvenhandWarning, match="1 of them for a missing value"):
            new = fitted.set_params(missing="level").transform(X)
        assert np.isnan(new[3, 1])
        assert np.isnan(new[:, 1]).sum() == 1
        rules = {"1": eh.Ordinal(step=1), "hired": eh.Ordinal(step=1, up=False)}
        level = coded_problem(missing="level", bins={"1": eh.Edges([0.5])})
        assert level.distortion.rules == rules
        new = eh.OptimizedPreprocessor(level).fit(X, y).transform(X)
        assert np.isnan(new[3, 1])

    def test_a_fit_that_fails_leaves_no_identity_behind(self):
        X, y = table()
        preprocessor = eh.OptimizedPreprocessor(small_problem()).fit(X, y)
        mapping = preprocessor.mapping_
        with pytest.raises(eh.InfeasibleError):
            preprocessor.set_params(bound=0.0, budget=0.01).fit(X, y)
        assert preprocessor.mapping_ is mapping
        fresh = clone(preprocessor)
        with pytest.raises(eh.InfeasibleError):
            fresh.fit(X, y)
        with pytest.raises(NotFittedError):
            fresh.transform(X)

    def test_people_who_were_not_in_the_table(self):
        X, y = table()
        strangers = pd.DataFrame({"group": ["c"], "score": [1]})
        with pytest.warns(eh.EvenhandWarning, match="1 of 1 rows"):
            eh.OptimizedPreprocessor(small_problem()).fit(X, y).transform(strangers)
        with pytest.raises(eh.DataError, match="1 of 1 rows"):
            eh.OptimizedPreprocessor(small_problem(), unseen="error").fit(X, y).transform(strangers)

    def test_weights_count_people(self):
        X, y = table()
        cells = small_frame().value_counts().rename("n").reset_index()
        weighted = eh.OptimizedPreprocessor(small_problem()).fit(
            cells[["group", "score"]], cells["hired"], sample_weight=cells["n"]
        )
        one_by_one = eh.OptimizedPreprocessor(small_problem()).fit(X, y)
        assert weighted.mapping_.objective == pytest.approx(one_by_one.mapping_.objective, abs=1e-9)
        assert weighted.mapping_.objective > 1e-3

    def test_a_key_makes_draws_independent_of_the_order(self):
        X, y = table()
        X = X.assign(person=[f"p{i}" for i in range(len(X))])
        fitted = eh.OptimizedPreprocessor(small_problem(), key="person").fit(X, y)
        new = fitted.transform(X)
        mixed = X.sample(frac=1, random_state=1)
        pd.testing.assert_frame_equal(fitted.transform(mixed), new.loc[mixed.index])
        assert not new["score"].equals(X["score"])
        by_position = eh.OptimizedPreprocessor(small_problem()).fit(X, y)
        assert not by_position.transform(mixed).equals(by_position.transform(X).loc[mixed.index])


@OTHERS
class TestComposing:
    def test_clone_and_parameters(self):
        preprocessor = eh.OptimizedPreprocessor(small_problem(), bound=0.3, budget=0.4, seed=7, key="k", unseen="error")
        twin = clone(preprocessor)
        assert twin.get_params() == preprocessor.get_params()
        assert set(twin.get_params()) == {"problem", "bound", "budget", "seed", "key", "unseen", "missing"}
        assert "preprocessor__bound" in whole().get_params()

    @pytest.mark.parametrize("output", ["pandas", "polars"])
    @pytest.mark.parametrize("kind", ["pandas", "polars", "array"])
    def test_set_output(self, output, kind):
        X, y = coded()
        names = ["0", "1", "x"]
        frame = pd.DataFrame(X, columns=names).astype({"0": int, "1": int})
        given = {"pandas": frame, "polars": pl.from_pandas(frame), "array": X}[kind]
        for problem in (coded_problem(), None):
            fitted = eh.OptimizedPreprocessor(problem).set_output(transform=output).fit(given, y)
            new = fitted.transform(given)
            assert isinstance(new, {"pandas": pd.DataFrame, "polars": pl.DataFrame}[output])
            assert list(new.columns) == (["x0", "x1", "x2"] if kind == "array" else names)
            assert np.array_equal(
                new.to_numpy().astype(float),
                np.asarray(fitted.set_output(transform="default").transform(given), dtype=float),
            )

    def test_in_a_pipeline(self):
        X, y = coded()
        pipeline = make_pipeline(eh.OptimizedPreprocessor(coded_problem()), StandardScaler(), LogisticRegression())
        assert pipeline.fit(X, y).predict(X).shape == y.shape
        assert pipeline[0].mapping_.certificate.status == "optimal"

    def test_grid_search_over_bound_and_budget(self):
        X, y = coded()
        pipeline = Pipeline([("before", eh.OptimizedPreprocessor(coded_problem())), ("model", LogisticRegression())])
        grid = {"before__bound": [0.2, 0.4], "before__budget": [0.6, 0.9]}
        search = GridSearchCV(pipeline, grid, cv=FOLDS, error_score="raise").fit(X, y)
        assert len(search.cv_results_["params"]) == 4
        best = search.best_estimator_["before"]
        assert best.mapping_.problem.parity[0].bound == search.best_params_["before__bound"]
        assert best.mapping_.problem.budget[0].limit == search.best_params_["before__budget"]

    def test_grid_search_of_the_preprocessor_itself(self):
        """The utility that is left, as any scorer of a fitted preprocessor may ask."""
        X, y = table()

        def kept(fitted, X, y):
            return -fitted.mapping_.objective

        search = GridSearchCV(eh.OptimizedPreprocessor(small_problem()), {"bound": [0.4, 0.8]}, scoring=kept, cv=FOLDS)
        assert search.fit(X, y).best_params_ == {"bound": 0.8}
        assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))

    def test_grid_search_of_the_whole(self):
        X, y = table()
        grid = {"preprocessor__bound": [0.3, 0.4], "preprocessor__budget": [0.6]}
        search = GridSearchCV(whole(), grid, cv=FOLDS, error_score="raise").fit(X, y)
        assert np.all(np.isfinite(search.cv_results_["mean_test_score"]))
        fitted = search.best_estimator_.preprocessor_.mapping_.problem
        assert fitted.parity[0].bound == search.best_params_["preprocessor__bound"]

    def test_a_bound_that_cannot_be_met_fails_alone(self):
        X, y = table()
        grid = {"preprocessor__bound": [0.0, 0.8], "preprocessor__budget": [0.2]}
        search = GridSearchCV(whole(), grid, cv=FOLDS)
        with pytest.warns(FitFailedWarning, match="InfeasibleError"), pytest.warns(UserWarning, match="non-finite"):
            search.fit(X, y)
        assert np.isfinite(search.cv_results_["mean_test_score"]).tolist() == [False, True]

    def test_routing_of_weights(self):
        X, y = table()
        weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
        direct = whole().fit(X, y, sample_weight=weights)
        assert not np.allclose(direct.predict_proba(X), whole().fit(X, y).predict_proba(X))
        with config_context(enable_metadata_routing=True):
            outer = Pipeline([("model", whole().set_fit_request(sample_weight=True))])
            routed = outer.fit(X, y, sample_weight=weights)
            before = eh.OptimizedPreprocessor(coded_problem()).set_fit_request(sample_weight=True)
            array, target = coded()
            inner = make_pipeline(before, LogisticRegression().set_fit_request(sample_weight=False))
            inner.fit(array, target, sample_weight=weights)
        assert np.array_equal(routed.predict_proba(X), direct.predict_proba(X))
        expected = eh.OptimizedPreprocessor(coded_problem()).fit(array, target, sample_weight=weights)
        assert inner[0].mapping_.objective == expected.mapping_.objective

    def test_cross_validation_and_scorers(self):
        X, y = table()
        scores = cross_val_score(whole().set_params(preprocessor__budget=0.9), X, y, scoring="roc_auc", cv=FOLDS)
        assert np.all((scores > 0.4) & (scores < 0.8))
        fitted = whole().fit(X, y)
        assert get_scorer("neg_log_loss")(fitted, X, y) < 0

    def test_it_can_be_kept(self):
        X, y = table()
        fitted = whole().fit(X, y)
        again = pickle.loads(pickle.dumps(fitted))
        assert np.array_equal(again.predict_proba(X), fitted.predict_proba(X))


@OTHERS
class TestClassifier:
    def test_a_model_that_learns_exactly_scores_the_released_rates(self):
        """Eq. (8) through scikit-learn: expected rows, a full tree, expected scores; nothing is sampled."""
        X, y = table()
        model = whole().fit(X, y)
        mapping = model.preprocessor_.mapping_
        scores = model.predict_proba(X)
        means = pd.DataFrame(scores).groupby(X["group"].to_numpy()).mean().to_numpy()
        assert np.abs(means - mapping.achieved.rates_after).max() < EXACT
        assert np.abs(scores - mapping.predictor.predict_proba(X)).max() < EXACT
        assert np.abs(means - mapping.achieved.rates_before).max() > 0.05

    def test_on_compas(self, compas):
        X, y = compas.frame.drop(columns="is_recid"), compas.frame["is_recid"]
        encoder = make_column_transformer((OrdinalEncoder(), list(X.columns)))
        model = eh.PreprocessedClassifier(make_pipeline(encoder, TREE), eh.OptimizedPreprocessor(compas.problem))
        model.fit(X, y)
        assert np.abs(model.predict_proba(X) - model.preprocessor_.mapping_.predictor.predict_proba(X)).max() < 1e-9

    def test_expected_scores_by_brute_force(self):
        """Every row of the tidy table of apply mode, scored by the fitted estimator and added up."""
        X, y = table()
        model = whole().fit(X, y)
        moves = model.preprocessor_.mapping_.table("apply")
        shown = moves[["group", "to_score"]].rename(columns={"to_score": "score"})
        moves["score_of_move"] = model.estimator_.predict_proba(shown)[:, 1] * moves["probability"]
        expected = moves.groupby(["group", "score"])["score_of_move"].sum().rename("expected").reset_index()
        expected = X.merge(expected, how="left")["expected"]
        assert np.abs(model.predict_proba(X)[:, 1] - expected).max() < EXACT
        assert len(moves) > len(expected.unique()), "somebody moves"

    def test_the_expected_score_is_the_mean_over_draws(self):
        X, y = table()
        people = X.drop_duplicates()
        model = whole().fit(X, y)
        expected = model.predict_proba(people)
        model.set_params(predict_with="draw")
        draws = []
        for seed in range(400):
            model.preprocessor_.set_params(seed=seed)
            draws.append(model.predict_proba(people))
        assert np.mean(draws, axis=0) == pytest.approx(expected, abs=0.02)
        assert np.std(draws, axis=0).max() > 0.02

    def test_training_rows(self):
        seen = {}

        class Watching(DecisionTreeClassifier):
            def fit(self, X, y, sample_weight=None):
                seen.update(X=X, y=y, sample_weight=sample_weight)
                return super().fit(X, y, sample_weight=sample_weight)

        array, target = coded()
        before = eh.OptimizedPreprocessor(coded_problem(), seed=3)
        eh.PreprocessedClassifier(Watching(), before).fit(array[:, :2], target)
        assert seen["sample_weight"].sum() == pytest.approx(len(target))
        shares = pd.DataFrame(seen["X"]).assign(y=seen["y"], w=seen["sample_weight"])
        rates = shares.groupby([0, "y"])["w"].sum() / shares.groupby(0)["w"].sum()
        mapping = before.fit(array[:, :2], target).mapping_
        assert rates.to_numpy() == pytest.approx(mapping.achieved.rates_after.ravel(), abs=EXACT)
        eh.PreprocessedClassifier(Watching(), before, train_on="draw").fit(array[:, :2], target)
        features, outcome = before.fit_resample(array[:, :2], target)
        assert seen["sample_weight"] is None
        assert np.array_equal(seen["X"], features)
        assert np.array_equal(seen["y"], outcome)

    def test_weights_are_people(self):
        X, y = table()
        weights = np.random.default_rng(0).integers(0, 3, len(X))
        weighted = whole().fit(X, y, sample_weight=weights)
        repeated = whole().fit(X.loc[np.repeat(X.index, weights)], y.loc[np.repeat(y.index, weights)])
        assert weighted.predict_proba(X) == pytest.approx(repeated.predict_proba(X), abs=1e-6)

    def test_an_estimator_that_takes_no_weights_gets_a_draw_and_the_user_is_told(self):
        X, y = coded()
        before = eh.OptimizedPreprocessor(coded_problem(), seed=2)
        neighbours = KNeighborsClassifier(3)
        with pytest.warns(eh.EvenhandWarning, match="KNeighborsClassifier takes no sample weights"):
            told = eh.PreprocessedClassifier(neighbours, before).fit(X, y)
        asked = eh.PreprocessedClassifier(neighbours, before, train_on="draw").fit(X, y)
        assert np.array_equal(told.predict_proba(X), asked.predict_proba(X))

    def test_weights_for_an_estimator_that_takes_none(self):
        X, y = coded()
        neighbours = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
        for before in (eh.OptimizedPreprocessor(), eh.OptimizedPreprocessor(coded_problem())):
            model = eh.PreprocessedClassifier(neighbours, before, train_on="draw")
            with pytest.raises(eh.SpecError, match=r"KNeighborsClassifier.* takes no sample weights"):
                model.fit(X, y, sample_weight=np.ones(len(y)))
            with pytest.raises(TypeError, match="sample_weight"):
                model.set_params(estimator=KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(len(y)))

    def test_a_key_is_not_shown_to_the_estimator(self):
        X, y = coded()
        X[:, 2] = np.arange(len(X))
        X = X.astype(int)
        before = eh.OptimizedPreprocessor(coded_problem(), key="2")
        model = eh.PreprocessedClassifier(LogisticRegression(), before).fit(X, y)
        plain = eh.PreprocessedClassifier(LogisticRegression(), eh.OptimizedPreprocessor(coded_problem()))
        assert np.array_equal(model.predict_proba(X), plain.fit(X[:, :2], y).predict_proba(X[:, :2]))
        drawn = clone(model).set_params(train_on="draw", predict_with="draw").fit(X, y)
        order = np.random.default_rng(0).permutation(len(X))
        assert np.array_equal(drawn.predict_proba(X[order]), drawn.predict_proba(X)[order])
        assert len(np.unique(drawn.predict_proba(X)[:, 1])) > 2

    def test_which_take_weights(self):
        assert takes_weights(make_pipeline(StandardScaler(), make_pipeline(LogisticRegression())))
        assert not takes_weights(make_pipeline(StandardScaler(), KNeighborsClassifier()))
        assert not takes_weights(GridSearchCV(LogisticRegression(), {}))

    @pytest.mark.parametrize("routing", [False, True])
    def test_weights_reach_every_step_of_a_pipeline_that_takes_them(self, routing):
        X, y = coded()
        before = eh.OptimizedPreprocessor(coded_problem())
        linear = make_pipeline(StandardScaler(), make_pipeline(LogisticRegression()))
        with config_context(enable_metadata_routing=routing):
            model = eh.PreprocessedClassifier(linear, before).fit(X, y)
        before.fit(X, y)
        frame = pd.DataFrame(X, columns=["0", "1", "2"]).astype({"0": int, "1": int}).assign(hired=y)
        rows = before.mapping_.expand(frame)
        mean = np.average(rows["1"], weights=rows["weight"])
        assert model.estimator_[0].mean_[1] == pytest.approx(mean)
        assert mean != pytest.approx(rows["1"].mean())

    def test_without_probabilities_the_class_predicted_most_often(self):
        X, y = coded()
        model = eh.PreprocessedClassifier(LinearSVC(), eh.OptimizedPreprocessor(coded_problem())).fit(X, y)
        assert not hasattr(model, "predict_proba")
        with pytest.raises(AttributeError, match="predict_proba"):
            model.predict_proba(X)
        assert not hasattr(model, "decision_function")
        moves = model.preprocessor_.mapping_.table("apply")
        people, kind = np.unique(X, axis=0, return_inverse=True)
        decided = model.predict(people)
        for person, found in zip(people, decided, strict=True):
            own = moves[(moves["0"] == person[0]) & (moves["1"] == person[1])]
            shown = np.column_stack([own["0"], own["to_1"], np.full(len(own), person[2])])
            votes = (model.estimator_.predict(shown) * own["probability"]).sum()
            assert found == (votes > 0.5)
        assert np.array_equal(model.predict(X), decided[kind.ravel()])

    def test_predictions_are_the_likeliest_class(self):
        X, y = table()
        names = y.map({0: "no", 1: "yes"}).to_numpy()
        rules = {"score": eh.Ordinal(step=1), "hired": eh.Ordinal(step=1, up=False, levels=["no", "yes"])}
        before = eh.OptimizedPreprocessor(small_problem(distortion=eh.Distortion(rules)))
        model = eh.PreprocessedClassifier(tree(), before).fit(X, names)
        assert model.classes_.tolist() == ["no", "yes"]
        assert np.array_equal(model.predict(X) == "yes", model.predict_proba(X)[:, 1] > 0.5)
        assert 0 < model.score(X, names) < 1

    def test_draws_at_prediction(self):
        X, y = table()
        model = whole(predict_with="draw").fit(X, y)
        applied = model.preprocessor_.transform(X)
        assert np.array_equal(model.predict_proba(X), model.estimator_.predict_proba(applied))
        assert np.array_equal(model.predict(X), model.estimator_.predict(applied))

    def test_a_class_that_is_never_released(self):
        """It keeps its place among the classes, with probability zero."""
        X, y = table()
        three = y.to_numpy().copy()
        three[[0, 60]] = 2
        target = eh.TargetParity(0.5, {0: 0.6, 1: 0.4, 2: 0.0})
        rules = {"score": eh.Fixed(), "hired": eh.Nominal(1)}
        problem = small_problem(distortion=eh.Distortion(rules), parity=[target], budget=None, utility=eh.L1())
        model = eh.PreprocessedClassifier(tree(), eh.OptimizedPreprocessor(problem)).fit(X, three)
        assert model.classes_.tolist() == [0, 1, 2]
        assert model.estimator_.classes_.tolist() == [0, 1]
        scores = model.predict_proba(X)
        assert scores.shape == (len(X), 3)
        assert np.all(scores[:, 2] == 0)

    def test_without_a_problem_it_is_the_estimator(self):
        X, y = coded()
        model = eh.PreprocessedClassifier(LogisticRegression(), eh.OptimizedPreprocessor()).fit(X, y)
        bare = LogisticRegression().fit(X, y)
        assert np.array_equal(model.predict_proba(X), bare.predict_proba(X))
        assert np.array_equal(model.predict(X), bare.predict(X))

    def test_bad_parameters(self):
        X, y = coded()
        for wrong in ({"train_on": "both"}, {"predict_with": "mean"}):
            with pytest.raises(eh.SpecError, match=next(iter(wrong))):
                eh.PreprocessedClassifier(LogisticRegression(), eh.OptimizedPreprocessor(), **wrong).fit(X, y)
        with pytest.raises(eh.SpecError, match="must be an eh\\.OptimizedPreprocessor, not StandardScaler"):
            eh.PreprocessedClassifier(LogisticRegression(), StandardScaler()).fit(X, y)


@OTHERS
class TestModelsThatDoNotSeeTheGroup:
    def test_on_an_ordinary_mapping_there_is_a_warning(self):
        X, y = coded()
        model = eh.PreprocessedClassifier(
            LogisticRegression(), eh.OptimizedPreprocessor(coded_problem()), drop_protected=True
        )
        with pytest.warns(eh.EvenhandWarning, match='suppress_protected="fixed"'):
            model.fit(X, y)
        assert model.estimator_.n_features_in_ == 2
        assert model.n_features_in_ == 3

    @pytest.mark.parametrize("changes", [{}, {"suppress_protected": "fixed"}])
    @pytest.mark.parametrize("sees_groups", [False, True])
    @pytest.mark.parametrize("drawn", [False, True])
    def test_parity_of_features_covers_what_is_drawn_and_alone(self, changes, sees_groups, drawn):
        problem = small_problem(parity=[eh.FeatureParity(0.02)], **changes)
        words = list(uncovered(problem, sees_groups=sees_groups, drawn=drawn))
        assert len(words) == (sees_groups or not drawn)
        for message in words:
            assert "FeatureParity covers what a model decides by released features that are drawn" in message
            assert ("drop_protected=True" in message) == sees_groups
            assert ('predict_with="draw"' in message) == (not drawn)
            assert "suppress_protected" not in message

    def test_of_two_kinds_of_bounds_each_is_told_of(self):
        both = small_problem(parity=[eh.FeatureParity(0.02), eh.PairwiseParity(0.2)])
        (unseen,) = uncovered(both, sees_groups=False, drawn=True)
        assert "FeatureParity alone covers its mean scores, those on the outcome do not" in unseen
        (seen,) = uncovered(both, sees_groups=True, drawn=True)
        assert 'write drop_protected=True, and suppress_protected="fixed" in the problem' in seen
        made_for_it = replace(both, suppress_protected="fixed", distortion=eh.Distortion({"hired": eh.Free()}))
        assert not list(uncovered(made_for_it, sees_groups=False, drawn=True))

    def test_features_that_are_not_compared(self, compas):
        problem = replace(compas.problem, parity=[eh.FeatureParity(0.02, features=["age_cat"])])
        (words,) = uncovered(problem, sees_groups=False, drawn=True)
        assert "features that it does not compare (c_charge_degree, priors_count)" in words
        problem = replace(problem, parity=[*problem.parity, eh.PairwiseParity(0.2)])
        assert "no bound covers its mean scores" in next(uncovered(problem, sees_groups=False, drawn=True))

    def test_the_fit_says_so_where_features_are_not_drawn(self):
        X, y = coded()
        rules = eh.Distortion({"1": eh.Nominal(1), "hired": eh.Fixed()})
        problem = replace(coded_problem(), parity=[eh.FeatureParity(0.1)], distortion=rules, budget=None)
        before = eh.OptimizedPreprocessor(problem)
        with pytest.warns(eh.EvenhandWarning, match=r'means over all .*; write predict_with="draw"'):
            eh.PreprocessedClassifier(TREE, before, drop_protected=True).fit(X, y)
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            eh.PreprocessedClassifier(TREE, before, drop_protected=True, predict_with="draw").fit(X, y)
        assert all("outside the problem" in str(each.message) for each in told)

    def test_with_suppression_the_bound_covers_their_mean_scores(self, compas):
        X, y = compas.frame.drop(columns="is_recid"), compas.frame["is_recid"]
        rules = dict(compas.problem.distortion.rules) | {"is_recid": eh.Free()}
        problem = replace(
            compas.problem,
            suppress_protected="fixed",
            distortion=eh.Distortion(rules),
            parity=[eh.PairwiseParity(0.3)],
            budget=eh.ExpectedDistortion(0.8),
        )
        encoder = make_column_transformer((OrdinalEncoder(), list(problem.features)))
        before = eh.OptimizedPreprocessor(problem)
        model = eh.PreprocessedClassifier(make_pipeline(encoder, TREE), before, drop_protected=True).fit(X, y)
        assert list(model.estimator_.feature_names_in_) == list(problem.features)
        means = pd.DataFrame(model.predict_proba(X)).groupby([X["sex"], X["race"]]).mean()
        assert (means.max() / means.min() - 1).max() <= 0.3 + 1e-6
        features = X[list(problem.features)]
        raw = make_pipeline(encoder, TREE).fit(features, y).predict_proba(features)
        means = pd.DataFrame(raw).groupby([X["sex"], X["race"]]).mean()
        assert (means.max() / means.min() - 1).max() > 0.35

    def test_a_blind_mapping_needs_no_group_at_prediction(self):
        X, y = table()
        rules = {"score": eh.Ordinal(step=1), "hired": eh.Free()}
        problem = small_problem(
            blind=True, suppress_protected="fixed", distortion=eh.Distortion(rules), parity=[eh.PairwiseParity(0.6)]
        )
        before = eh.OptimizedPreprocessor(problem)
        model = eh.PreprocessedClassifier(LogisticRegression(), before, drop_protected=True).fit(X, y)
        without = X.drop(columns="group")
        assert np.array_equal(model.predict_proba(without), model.predict_proba(X))
        pd.testing.assert_frame_equal(
            model.preprocessor_.transform(without), model.preprocessor_.transform(X).drop(columns="group")
        )
        with pytest.raises(ValueError, match="feature names"):
            model.predict_proba(X.drop(columns="score"))


class Watching(LogisticRegression):
    """A model that keeps what it is shown."""

    def fit(self, X, y, sample_weight=None):
        self.seen_ = [X]
        return super().fit(X, y, sample_weight)

    def predict_proba(self, X):
        self.seen_.append(X)
        return super().predict_proba(X)

    def predict(self, X):
        self.seen_.append(X)
        return super().predict(X)


def workers(n, seed):
    """People of whom the old know more and are hired less: by chances that depend on the very age."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, n)
    skill = rng.binomial(3, 0.15 + 0.012 * (age - 18))
    chance = 0.1 + 0.15 * skill - 0.3 * (age >= 60) - 0.004 * (age - 48) * (age < 60)
    return pd.DataFrame({"age": age, "skill": skill}), (rng.random(n) < np.clip(chance, 0.02, 0.98)).astype(int)


def by_age(*edges, **changes):
    rules = eh.Distortion({"skill": eh.Ordinal(1, max_steps=1), "y": eh.Nominal(1)})
    bins = {"age": eh.Edges(edges)} if edges else {}
    stated = {
        "protected": ["age"], "features": ["skill"], "outcome": "y", "bins": bins,
        "parity": [eh.PairwiseParity(0.1)], "distortion": rules, "budget": eh.ExpectedDistortion(0.5),
    }  # fmt: skip
    return eh.OptimizedPreprocessor(eh.Problem(**{**stated, **changes}))


class TestProtectedColumnsWithBins:
    """They reach the estimator as their levels: one value for each."""

    @pytest.mark.parametrize(("edges", "encoder"), [([45], StandardScaler), ([25], StandardScaler), ([30, 60], None)])
    def test_mean_scores_are_the_released_rates_in_the_population(self, edges, encoder):
        """A linear model with a weight for each group: on the people it learned from, and on many others."""
        (X, y), (others, _) = workers(8000, 0), workers(100_000, 1)
        first = encoder() if encoder else make_column_transformer((OneHotEncoder(), ["age"]), remainder="passthrough")
        model = eh.PreprocessedClassifier(make_pipeline(first, LogisticRegression()), by_age(*edges)).fit(X, y)
        released = model.preprocessor_.mapping_.achieved.rates_after[:, 1]
        for people, near in ((X, 0.001), (others, 0.01)):
            scores = pd.Series(model.predict_proba(people)[:, 1])
            means = scores.groupby(np.digitize(people["age"], edges)).mean().to_numpy()
            assert means == pytest.approx(released, abs=near)
            assert means.max() / means.min() < 1.1 + 10 * near

    @pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "array", "float32"])
    @pytest.mark.parametrize("way", ["expected", "draw"])
    def test_whatever_it_sees(self, kind, way):
        X, y = workers(400, 0)
        given = {
            "pandas": X, "polars": pl.from_pandas(X), "arrow": pa.Table.from_pandas(X), "array": X.to_numpy(),
            "float32": X.astype({"age": "float32"}),
        }[kind]  # fmt: skip
        before = by_age(30, 60)
        if kind == "array":
            rules = eh.Distortion({"1": eh.Ordinal(1, max_steps=1), "y": eh.Nominal(1)})
            bins = {"0": eh.Edges([30, 60])}
            before.set_params(
                problem=replace(before.problem, protected=["0"], features=["1"], distortion=rules, bins=bins)
            )
        model = eh.PreprocessedClassifier(Watching(), before, train_on=way, predict_with=way).fit(given, y)
        model.predict_proba(given)
        model.predict(given)
        model.score(given, y)
        assert len(model.estimator_.seen_) >= 3
        for shown in model.estimator_.seen_:
            assert type(shown) is type(given)
            ages = np.asarray(shown[:, 0] if kind == "array" else shown["age"])
            assert ages.dtype == np.asarray(given[:, 0] if kind == "array" else given["age"]).dtype
            assert len(np.unique(ages)) == 3
            assert np.unique(np.digitize(ages, [30, 60])).tolist() == [0, 1, 2]

    @pytest.mark.parametrize("kind", ["str", "category"])
    def test_merged_levels_go_by_their_names(self, kind):
        X, y = workers(900, 0)
        places = np.random.default_rng(0).choice(["north", "east", "west"], len(X))
        X = X.assign(place=pd.Series(places).astype(kind)).drop(columns="age")
        merged = {"place": eh.MergedLevels({"elsewhere": ["east", "west"]})}
        before = by_age(protected=["place"], bins=merged)
        encoder = make_column_transformer((OneHotEncoder(), ["place"]), remainder="passthrough")

        class Keeping(type(encoder)):
            def fit_transform(self, X, y=None, **more):
                self.shown_ = X
                return super().fit_transform(X, y, **more)

        keeping = Keeping([("place", OneHotEncoder(), ["place"])], remainder="passthrough")
        model = eh.PreprocessedClassifier(make_pipeline(keeping, LogisticRegression()), before).fit(X, y)
        shown = model.estimator_[0].shown_["place"]
        assert set(shown) == {"elsewhere", "north"}
        assert (
            shown.dtype == X["place"].dtype if kind == "str" else list(shown.cat.categories) == ["elsewhere", "north"]
        )
        north = X[X["place"] == "north"].head(3)
        assert np.array_equal(model.predict_proba(north), model.predict_proba(X)[north.index])

    def test_who_has_no_level_is_shown_as_they_are(self):
        X, y = workers(400, 0)
        model = eh.PreprocessedClassifier(TREE, by_age(30, missing="level")).fit(X, y)
        with pytest.warns(eh.EvenhandWarning, match="1 of 2 rows"):
            model.predict_proba(pd.DataFrame({"age": [np.nan, 50.0], "skill": [1, 1]}))

    @pytest.mark.parametrize("way", ["expected", "draw"])
    def test_a_person_of_no_known_age_is_refused_or_scored_as_they_are(self, way):
        X, y = workers(400, 0)
        model = eh.PreprocessedClassifier(TREE, by_age(30), predict_with=way).fit(X, y)
        new = X.astype({"age": float}).set_axis([f"p{i}" for i in X.index])
        new.loc["p7", "age"] = np.nan
        with pytest.raises(eh.DataError, match=r"'age' has a missing value in row 8 \(index 'p7'\); .*missing='level'"):
            model.predict_proba(new)
        model.preprocessor_.set_params(missing="level")
        with pytest.warns(eh.EvenhandWarning, match="1 of 400 rows .* 1 of them for a missing value"):
            scores = model.predict_proba(new)
        assert np.array_equal(scores[[7]], model.estimator_.predict_proba(new.loc[["p7"]]))
        assert np.array_equal(np.delete(scores, 7, axis=0), np.delete(model.predict_proba(X), 7, axis=0))

    def test_a_mapping_keeps_the_ages_it_is_given(self):
        """Release and apply are for people; levels are for models."""
        X, y = workers(400, 0)
        before = by_age(30, 60).fit(X, y)
        assert before.transform(X)["age"].equals(X["age"])
        assert before.fit_resample(X, y)[0]["age"].equals(X["age"])


class Indifferent(ClassifierMixin, BaseEstimator):
    """It learns nothing, and keeps what it was shown last."""

    def fit(self, X, y, sample_weight=None):
        self.classes_, self.trained_on = np.unique(y), X
        return self

    def predict_proba(self, X):
        self.asked_about = X
        return np.full((len(X), len(self.classes_)), 1 / len(self.classes_))


OBJECTS = {
    "numbers": lambda X: X.assign(score=X["score"].astype(object)),
    "truths": lambda X: X.assign(score=X["score"].eq(1).astype(object)),
    "texts": lambda X: X.assign(group=X["group"].astype(object)),
    "numbers outside the problem": lambda X: X.assign(town=pd.Series(np.arange(len(X)) % 3, dtype=object)),
    "days outside the problem": lambda X: X.assign(day=pd.Series([pd.Timestamp("2020")] * len(X), dtype=object)),
    "gaps outside the problem": lambda X: X.assign(town=pd.Series([None, 1] * (len(X) // 2), dtype=object)),
    "small numbers": lambda X: X.astype({"score": "int8"}),
    "nullable numbers": lambda X: X.astype({"score": "Int64"}),
    "categories": lambda X: X.assign(group=X["group"].astype("category"), town=pd.Categorical(X["score"])),
}


@pytest.mark.filterwarnings("ignore:the estimator also sees columns:evenhand.errors.EvenhandWarning")
@pytest.mark.parametrize("train_on", ["expected", "draw"])
@pytest.mark.parametrize("predict_with", ["expected", "draw"])
@pytest.mark.parametrize("column", OBJECTS)
def test_the_estimator_is_trained_on_and_asked_about_columns_of_one_type(column, train_on, predict_with):
    X, y = table()
    X = OBJECTS[column](X)
    before = eh.OptimizedPreprocessor(small_problem())
    model = eh.PreprocessedClassifier(Indifferent(), before, train_on=train_on, predict_with=predict_with).fit(X, y)
    model.predict_proba(X)
    shown = model.estimator_
    assert shown.trained_on.dtypes.to_dict() == shown.asked_about.dtypes.to_dict() == X.dtypes.to_dict()
    assert {type(v) for v in shown.trained_on.iloc[:, -1]} == {type(v) for v in X.iloc[:, -1]}


class TestColumnsOutsideTheProblem:
    def people(self):
        X, y = table()
        return X.assign(town=np.arange(len(X)) % 3, person=np.arange(len(X))), y

    def test_they_are_named_at_the_line_of_the_fit(self):
        X, y = self.people()
        before = eh.OptimizedPreprocessor(small_problem(), key="person")
        with pytest.warns(eh.EvenhandWarning) as told:
            model = eh.PreprocessedClassifier(tree(), before).fit(X, y)
        assert [each.filename for each in told] == [__file__]
        assert "nothing bounds what it learns from them: town; list them as features" in str(told[0].message)
        model.predict_proba(X), model.predict(X), model.score(X, y)

    def test_none_are_named_where_there_are_none(self):
        X, y = table()
        whole().fit(X, y)

    def test_columns_of_arrays_and_of_frames_with_odd_names(self):
        X, y = coded()
        wide = np.column_stack([X, np.zeros((len(X), 20))])
        model = eh.PreprocessedClassifier(TREE, eh.OptimizedPreprocessor(coded_problem()))
        with pytest.warns(eh.EvenhandWarning, match=r"from them: 2, 3, 4, .*, 13 and 9 more;"):
            model.fit(wide, y)
        frame = pd.DataFrame(X.astype(int), columns=[10, 20, 30])
        with pytest.warns(eh.EvenhandWarning, match="from them: 30;"):
            model.fit(frame, y)

    def test_a_search_names_the_line_that_searches(self):
        X, y = self.people()
        before = eh.OptimizedPreprocessor(small_problem(), bound=0.8)
        search = GridSearchCV(eh.PreprocessedClassifier(tree(), before), {"train_on": ["expected"]}, cv=FOLDS)
        with pytest.warns(eh.EvenhandWarning, match="outside the problem") as told:
            search.fit(X, y)
        assert {each.filename for each in told} == {__file__}


@pytest.mark.parametrize("kind", ["classifier", "pipeline"])
def test_a_search_warns_of_unseen_people_at_its_line(kind):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"g": rng.integers(0, 2, 300), "x": rng.integers(0, 25, 300)})
    y = (X["x"] + 6 * X["g"] + rng.normal(0, 6, 300) > 14).astype(int)
    problem = eh.Problem(
        protected=["g"],
        features=["x"],
        outcome="y",
        parity=[eh.PairwiseParity(0.3)],
        distortion=eh.Distortion({"x": eh.Ordinal(step=1), "y": eh.Nominal(2)}),
        budget=eh.ExpectedDistortion(2.0),
    )
    before = eh.OptimizedPreprocessor(problem)
    model = make_pipeline(before, TREE) if kind == "pipeline" else eh.PreprocessedClassifier(TREE, before)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        cross_val_score(model, X, y, cv=5, error_score="raise")
    assert any("have a combination" in str(each.message) for each in told)
    assert {each.filename for each in told} == {__file__}
