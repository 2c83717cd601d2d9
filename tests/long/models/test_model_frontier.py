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
from evenhand.render.sentences import sentence
from evenhand.tables import dealt_folds, read

pytestmark = pytest.mark.turns(4)


def people(number=600, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, 2, number)
    skill = np.clip(rng.integers(0, 4, number) + group, 0, 3)
    hired = rng.random(number) < 0.1 + 0.2 * skill
    return pd.DataFrame({"group": group, "skill": skill, "near": rng.normal(size=number) + group, "hired": hired * 1})


PROBLEM = eh.Problem(
    protected=["group"], features=["skill"], outcome="hired", parity=[eh.PairwiseParity(0.1)],
    distortion=eh.Distortion({"skill": eh.Ordinal(1), "hired": eh.Ordinal(1)}), budget=eh.ExpectedDistortion(0.1),
)  # fmt: skip


LOOSE = replace(PROBLEM, budget=eh.ExpectedDistortion(0.5))


class Counting(LogisticRegression):
    """A model that notes how often it is trained."""

    trainings: list[int] = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        self.trainings.append(len(X))
        return super().fit(X, y, sample_weight)


def parts(table, number):
    """Return the fold of each row, as the frontier cuts the table."""
    columns = [name for name in table if name != "hired"]
    return dealt_folds(read(table), columns, number, table["hired"].to_numpy())


def found_of(model, table, bounds, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        return eh.frontier(PROBLEM, table, bounds=bounds, estimator=model, **given)


@pytest.mark.filterwarnings("ignore:the estimator also sees columns:evenhand.errors.EvenhandWarning")
def test_everything_is_measured_of_people_who_were_not_fitted():
    table = people()
    found = eh.frontier(LOOSE, table, bounds=[0.3, 0.05], estimator=LogisticRegression(), folds=3)
    part, X, y = parts(table, 3), table.drop(columns="hired"), table["hired"]
    for bound, row in ((None, found.bare.iloc[0]), *zip((0.3, 0.05), found.frame.to_dict("records"), strict=True)):
        scores = np.zeros(len(X))
        for each in range(3):
            model = LogisticRegression()
            if bound is not None:
                model = eh.PreprocessedClassifier(model, eh.OptimizedPreprocessor(LOOSE, bound=bound))
            scores[part == each] = model.fit(X[part != each], y[part != each]).predict_proba(X[part == each])[:, 1]
        assert row["auc"] == pytest.approx(roc_auc_score(y, scores))
        assert row["log_loss"] == pytest.approx(log_loss(y, scores))
        means = pd.Series(scores).groupby(X["group"]).mean()
        assert row["apart"] == pytest.approx(max(means.max() / means.min(), (1 - means).max() / (1 - means).min()) - 1)
        for name in ("auc", "accuracy", "log_loss", "apart", "decisions_apart", "worst_gap"):
            assert row[f"{name}_low"] < row[f"{name}_high"]
        assert row["auc_low"] < row["auc"] < row["auc_high"]
        assert 0 < row["chance_gap"] < 0.15
    assert found.frame["apart"].max() < found.bare["apart"].item()


def test_the_mappings_are_those_of_the_frontier_without_a_model():
    table = people(200)
    plain = eh.frontier(PROBLEM, table, bounds=[0.9, 0.4])
    seen = []
    found = found_of(
        LogisticRegression(), table, [0.9, 0.4], folds=2, progress=lambda stage, share: seen.append((share, stage))
    )
    pd.testing.assert_frame_equal(found.frame[plain.frame.columns], plain.frame)
    assert found.smallest_feasible == plain.smallest_feasible
    assert plain.bare is None
    shares = [share for share, _ in seen]
    assert shares == sorted(shares)
    assert seen[-1] == (1.0, "done")
    assert "done" not in {stage for _, stage in seen[:-1]}


def test_infeasible_points_cost_nothing_and_are_reported_in_one_line():
    Counting.trainings = []
    table = people()
    with pytest.warns(eh.EvenhandWarning) as told:
        found = eh.frontier(PROBLEM, table, bounds=[0.0, 0.01, 0.02, 0.9], estimator=Counting(), folds=2)
    (one,) = [str(each.message) for each in told]
    edges = [eh.smallest_parity_bound(PROBLEM, table[parts(table, 2) != each]) for each in range(2)]
    least = np.ceil(max(edges) * 1e4) / 1e4
    assert "3 of 4 bounds cannot be met in every fold of the table (0, 0.01, 0.02)" in one
    assert one.endswith(f"the smallest that can is {least:g}")
    assert told[0].filename == __file__
    assert found.frame["auc"].isna().tolist() == [True] * 3 + [False]
    assert len(Counting.trainings) == 2 * (1 + 1)
    assert any("outside the problem" in sentence(note) for note in found.notes), (
        "what a fit warns of is kept, not repeated"
    )
    assert found.chart().to_svg().count("<svg") == 1


def test_nothing_can_be_met():
    fixed = replace(PROBLEM, distortion=eh.Distortion({"skill": eh.Fixed(), "hired": eh.Fixed()}))
    with pytest.warns(eh.EvenhandWarning, match="1 of 1 bounds cannot be met"):
        found = eh.frontier(fixed, people(200), bounds=[0.01], estimator=LogisticRegression(), folds=2)
    assert found.frame["status"].tolist() == ["infeasible"]
    assert found.chart().to_svg()


def test_other_frames_words_and_models_without_weights():
    table = people(300).assign(hired=lambda t: np.where(t["hired"] == 1, "yes", "no"))
    words = replace(LOOSE, distortion=eh.Distortion({"skill": eh.Ordinal(1), "hired": eh.Nominal(1)}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        found = eh.frontier(words, table, bounds=[0.1], estimator=LogisticRegression(), folds=2)
        polars = eh.frontier(words, pl.from_pandas(table), bounds=[0.1], estimator=LogisticRegression(), folds=2)
        near = eh.frontier(words, table, bounds=[0.1], estimator=KNeighborsClassifier(9), folds=2)
    pd.testing.assert_frame_equal(found.frame, polars.frame)
    assert near.frame["apart"].item() < near.bare["apart"].item()


def test_warnings_of_the_estimator_come_once():
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        eh.frontier(PROBLEM, people(200), bounds=[0.9], estimator=LogisticRegression(max_iter=1), folds=2)
    assert sum(issubclass(each.category, ConvergenceWarning) for each in told) == 1


def test_the_chart_shows_what_was_fitted():
    found = found_of(LogisticRegression(), people(200), [0.9, 0.0, 0.5], folds=2)
    (chart,) = found.chart(title="Costs").charts
    rows = chart.table.records()
    assert list(dict.fromkeys(row["measure"] for row in rows)) == ["auc", "log_loss", "apart", "worst_gap"]
    drawn = [row["bound"] for row in rows if row["measure"] == "auc"]
    assert drawn == [0.5, 0.9], "in order, without what cannot be met"
    assert [row["value"] for row in rows if row["curve"] == "bound"] == [0.5, 0.9]
    assert {line.panel: line.value for line in chart.lines}["auc"] == found.bare["auc"].item()
    assert "AUC" in found.chart().to_svg()
    with pytest.raises(eh.SpecError, match="chosen marks a place on the curve of the utility"):
        found.chart(chosen=(0.5, 0.0))


@pytest.mark.parametrize(
    ("changes", "error", "match"),
    [
        ({"estimator": LogisticRegression}, eh.SpecError, "estimator must be"),
        ({"estimator": LinearSVC()}, eh.SpecError, "LinearSVC, has no predict_proba"),
        ({"bounds": []}, eh.SpecError, "at least one number"),
        ({"bounds": None}, eh.SpecError, "say what to trace"),
        ({"bounds": None, "budgets": [0.1]}, eh.SpecError, "leave budgets out"),
        ({"weights": [1.0] * 60}, eh.SpecError, "leave weights out"),
        ({"time_limit": 5}, eh.SpecError, "leave time_limit out"),
        ({"estimator": None, "folds": 3}, eh.SpecError, "folds is for a model: write estimator="),
        ({"estimator": None, "threshold": 0.0}, eh.SpecError, "threshold is for a model"),
        ({"folds": 1}, eh.SpecError, "folds"),
        ({"threshold": 2}, eh.SpecError, "threshold"),
        ({"problem": replace(PROBLEM, protected=["sex"])}, eh.DataError, r"lacks \['sex'\], which the problem names"),
        ({"frame": people(60).assign(hired=lambda t: t["skill"])}, eh.DataError, "'hired' has 4 values in this table"),
        ({"frame": people(60).assign(group=lambda t: (t.index == 3) * 1)}, eh.DataError, "a group has nobody left"),
        ({"frame": people(60).assign(hired=lambda t: (t.index == 3) * 1)}, eh.DataError, "one class has nobody left"),
        ({"frame": people(60).assign(group=0)}, eh.DataError, "a single group"),
        ({"frame": people(60).to_numpy()}, eh.DataError, "expected a dataframe"),
    ],
)
def test_bad_input(changes, error, match):
    given = {"problem": PROBLEM, "frame": people(60), "bounds": [0.9], "estimator": LogisticRegression(), **changes}
    with pytest.raises(error, match=match):
        eh.frontier(**given)
