"""The frontier of a model: what is measured of people out of fold, as by hand, and nothing trained in vain."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import evenhand as eh
from evenhand.tables import dealt_folds, read


def people(number=600, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, number)
    skill = np.clip(rng.integers(0, 4, number) + group, 0, 3)
    hired = rng.random(number) < 0.1 + 0.2 * skill
    return pd.DataFrame({"group": group, "skill": skill, "near": rng.normal(size=number) + group, "hired": hired * 1})


ASKED = {"protected": ["group"], "outcome": "hired"}
PROBLEM = eh.Problem(
    protected=["group"], features=["skill"], outcome="hired", parity=[eh.PairwiseParity(0.1)],
    distortion=eh.Distortion({"skill": eh.Ordinal(1), "hired": eh.Ordinal(1)}), budget=eh.ExpectedDistortion(0.1),
)  # fmt: skip


class Counting(LogisticRegression):
    """A model that notes how often it is trained."""

    trainings: list[int] = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.trainings.append(len(X))
        return super().fit(X, y, sample_weight)


def parts(table, number):
    """Return the part of each row, as the frontier cuts the table."""
    columns = [name for name in table if name != "hired"]
    return dealt_folds(read(table), columns, number, table["hired"].to_numpy())


@pytest.mark.slow
def test_everything_is_measured_of_people_who_were_not_fitted():
    table = people()
    found = eh.model_frontier(LogisticRegression(), table, **ASKED, bounds=[0.3, 0.05], folds=3)
    part, X, y = parts(table, 3), table.drop(columns="hired"), table["hired"]
    for bound, row in ((None, found.bare.iloc[0]), *zip((0.3, 0.05), found.frame.to_dict("records"), strict=True)):
        scores = np.zeros(len(X))
        for each in range(3):
            model = LogisticRegression()
            if bound is not None:
                model = eh.PreprocessedClassifier(model, protected=["group"], bound=bound)
            scores[part == each] = model.fit(X[part != each], y[part != each]).predict_proba(X[part == each])[:, 1]
        assert row["auc"] == pytest.approx(roc_auc_score(y, scores))
        assert row["log_loss"] == pytest.approx(log_loss(y, scores))
        means = pd.Series(scores).groupby(X["group"]).mean()
        assert row["apart"] == pytest.approx(max(means.max() / means.min(), (1 - means).max() / (1 - means).min()) - 1)
        for name in ("auc", "accuracy", "log_loss", "apart", "decisions_apart", "worst_gap"):
            assert row[f"{name}_low"] < row[f"{name}_high"]
        assert row["auc_low"] < row["auc"] < row["auc_high"]
        assert 0 < row["chance_gap"] < 0.15
    assert found.frame["bound"].tolist() == [0.3, 0.05], "in the order asked for"
    assert found.smallest_feasible == 0
    assert "2 fitted" in repr(found)


@pytest.mark.slow
def test_scores_out_of_fold_are_made_once_for_all_bounds():
    Counting.trainings = []
    told = []
    eh.model_frontier(
        Counting(), people(200), **ASKED, bounds=[0.05, 0.1, 0.2], folds=2,
        progress=lambda stage, share: told.append(share),
    )  # fmt: skip
    # For each of two parts: the bare model, five for the scores, and six at each bound.
    assert len(Counting.trainings) == 2 * (1 + 5 + 3 * 6)
    assert told == sorted(told)
    assert 0 == told[0] < told[-1] <= 1


@pytest.mark.slow
def test_infeasible_points_cost_nothing_and_are_told_in_one_line():
    Counting.trainings = []
    table = people()
    with pytest.warns(eh.EvenhandWarning) as told:
        found = eh.model_frontier(Counting(), table, problem=PROBLEM, bounds=[0.0, 0.01, 0.02, 0.9], folds=2)
    (one,) = [str(each.message) for each in told]
    assert "3 of 4 bounds cannot be met in every part of the table (0, 0.01, 0.02); the smallest that can is" in one
    assert told[0].filename == __file__
    assert found.frame["status"].tolist() == ["infeasible"] * 3 + ["fitted"]
    assert found.frame.loc[:2, "auc"].isna().all()
    assert len(Counting.trainings) == 2 * (1 + 1)
    edges = [eh.smallest_parity_bound(PROBLEM, table[parts(table, 2) != each]) for each in range(2)]
    assert found.smallest_feasible == pytest.approx(max(edges))
    assert any("outside the problem" in note for note in found.notes), "what a fit warns of is kept, not repeated"
    assert found.chart().to_svg().count("<svg") == 1


@pytest.mark.slow
def test_nothing_can_be_met():
    fixed = replace(PROBLEM, distortion=eh.Distortion({"skill": eh.Fixed(), "hired": eh.Fixed()}))
    with pytest.warns(eh.EvenhandWarning, match="1 of 1 bounds cannot be met"):
        found = eh.model_frontier(LogisticRegression(), people(200), problem=fixed, bounds=[0.01], folds=2)
    assert found.frame["status"].tolist() == ["infeasible"]
    assert found.chart().to_svg()


@pytest.mark.slow
def test_other_frames_words_and_models_without_weights():
    table = people(300).assign(hired=lambda t: np.where(t["hired"] == 1, "yes", "no"))
    found = eh.model_frontier(LogisticRegression(), table, **ASKED, bounds=[0.1], folds=2)
    polars = eh.model_frontier(LogisticRegression(), pl.from_pandas(table), **ASKED, bounds=[0.1], folds=2)
    pd.testing.assert_frame_equal(found.frame, polars.frame)
    near = eh.model_frontier(KNeighborsClassifier(9), table, **ASKED, bounds=[0.1], folds=2)
    assert near.frame["apart"].item() < near.bare["apart"].item()


@pytest.mark.slow
def test_warnings_of_the_estimator_come_once():
    table = people(200)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        eh.model_frontier(LogisticRegression(max_iter=1), table, **ASKED, bounds=[0.1], folds=2)
    assert sum(issubclass(each.category, ConvergenceWarning) for each in told) == 1


@pytest.mark.slow
def test_the_chart_shows_what_was_fitted():
    found = eh.model_frontier(LogisticRegression(), people(200), **ASKED, bounds=[0.2, 0.1], folds=2)
    values = found.chart(title="Costs").to_dict()
    assert len(values["concat"]) == 4
    drawn = values["concat"][0]["layer"][-1]["data"]["values"]
    assert [row["bound"] for row in drawn] == [0.1, 0.2]
    assert "0.1: AUC" in values["description"]


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"estimator": LogisticRegression}, eh.SpecError, "estimator must be"),
        ({"estimator": LinearSVC()}, eh.SpecError, "LinearSVC, has no predict_proba"),
        ({"bounds": []}, eh.SpecError, "at least one bound"),
        ({"bounds": [-1]}, eh.SpecError, "bounds"),
        ({"bounds": 0.1}, eh.SpecError, "bounds"),
        ({"protected": None}, eh.SpecError, "say who is compared"),
        ({"outcome": None}, eh.SpecError, "what is learned"),
        ({"protected": ["hired"]}, eh.SpecError, "not the outcome"),
        ({"protected": ["sex"]}, eh.DataError, r"lacks \['sex'\], which protected names"),
        ({"outcome": "bought"}, eh.DataError, r"lacks \['bought'\], which outcome names"),
        ({"outcome": "skill"}, eh.DataError, "has 4 values here, and two are compared"),
        ({"problem": PROBLEM}, eh.SpecError, "leave both out beside it"),
        ({"problem": "problem", "protected": None, "outcome": None}, eh.SpecError, "problem must be"),
        ({"folds": 1}, eh.SpecError, "folds"),
        ({"threshold": 2}, eh.SpecError, "threshold"),
        ({"table": people(60).assign(group=lambda t: (t.index == 3) * 1)}, eh.DataError, "a group has nobody left"),
        ({"table": people(60).assign(hired=lambda t: (t.index == 3) * 1)}, eh.DataError, "one class has nobody left"),
        ({"table": people(60).assign(group=0)}, eh.DataError, "a single group"),
        ({"table": people(60).to_numpy()}, eh.DataError, "expected a dataframe"),
    ],
)
def test_bad_input(changes, error, match):
    given = {"estimator": LogisticRegression(), "table": people(60), "bounds": [0.1], **ASKED, **changes}
    with pytest.raises(error, match=match):
        eh.model_frontier(**given)
