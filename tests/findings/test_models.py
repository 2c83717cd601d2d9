"""Mean scores of models that learned the released data: eqs. (8) and (9) by brute force, and fitted models."""

from dataclasses import replace

import numpy as np
import pandas as pd
import people
import pytest
from families import small_frame, small_problem
from formulations import DISTORTIONS, MODES, table

import evenhand as eh
from evenhand.findings.models import FrequencyTable

KEYS = ["sex", "race"]


def fitted(mode="plain", bound=0.4, seed=3, **changes):
    outcome = "is free" if "suppress_protected" in MODES[mode] else "falls"
    problem = eh.Problem(
        protected=KEYS, features=["f0", "f1"], outcome="y", parity=[eh.PairwiseParity(bound)],
        distortion=DISTORTIONS["sum"](outcome), budget=eh.ExpectedDistortion(0.6), **{**MODES[mode], **changes},
    )  # fmt: skip
    return eh.fit(problem, table(seed))


def by_group(frame, values):
    """Series indexed by sex, race and y."""
    return frame.set_index([*KEYS, "y"])[values].sort_index()


def brute_scores(mapping, seed, protected):
    """Eqs. (8) and (9) as sums over rows of the mapping's own tables."""
    people = table(seed).value_counts().rename("n").reset_index()
    released = mapping.table().merge(people)
    released["mass"] = released["n"] * released["probability"]
    known = [*KEYS, "to_f0", "to_f1"] if protected else ["to_f0", "to_f1"]
    learned = released.groupby([*known, "to_y"])["mass"].sum()
    learned = (learned / learned.groupby(level=known).transform("sum")).rename("share").reset_index()
    applied = mapping.table("apply").merge(table(seed).value_counts([*KEYS, "f0", "f1"]).rename("n").reset_index())
    applied["mass"] = applied["n"] * applied["probability"]
    scored = applied.merge(learned, on=known)
    scored["score"] = scored["mass"] * scored["share"]
    total = scored.groupby([*KEYS, "to_y"])["score"].sum()
    return (total / applied.groupby(KEYS)["mass"].sum()).rename_axis(index={"to_y": "y"}).sort_index()


@pytest.mark.parametrize(
    ("mode", "bound"), [("plain", 0.4), ("blind", 0.6), ("suppressed", 0.1), ("suppressed, blind", 0.25)]
)
def test_predicted_scores_by_brute_force(mode, bound):
    mapping = fitted(mode, bound)
    scores = by_group(mapping.audit().scores, ["seeing_protected", "not_seeing_protected"])
    for column, protected in (("seeing_protected", True), ("not_seeing_protected", False)):
        expected = brute_scores(mapping, 3, protected)
        assert scores[column].to_numpy() == pytest.approx(expected.loc[scores.index].to_numpy(), abs=1e-12)
    rows = scores.groupby(level=KEYS).sum()
    assert np.allclose(rows, 1)


@pytest.mark.parametrize("utility", [eh.KL(), eh.L1(), eh.Hellinger()])
def test_a_model_that_sees_the_protected_columns_scores_the_released_rates(utility):
    """Eq. (8): exactly, for a mapping that is not blind."""
    mapping = fitted(utility=utility)
    scores = mapping.audit().scores["seeing_protected"].to_numpy()
    assert scores == pytest.approx(mapping.achieved.rates_after.ravel(), abs=1e-12)


def test_a_model_that_does_not_see_them_is_covered_only_if_they_are_suppressed():
    """Eq. (9): the released rates under suppress_protected, something else without."""
    ordinary, suppressed = fitted("plain"), fitted("suppressed", 0.1)
    released = suppressed.achieved.rates_after.ravel()
    assert suppressed.audit().scores["not_seeing_protected"].to_numpy() == pytest.approx(released, abs=1e-9)
    apart = ordinary.audit().scores["not_seeing_protected"].to_numpy() - ordinary.achieved.rates_after.ravel()
    assert np.abs(apart).max() > 0.01


def test_a_shielded_model_scores_within_the_bound():
    mapping = fitted("own model", 0.12)
    scores = mapping.audit().scores["not_seeing_protected"].to_numpy().reshape(4, 2)
    assert (scores.max(axis=0) / scores.min(axis=0) - 1).max() <= 0.12 + 1e-7
    before = brute_scores(fitted("own model", 5.0), 3, protected=False).to_numpy().reshape(4, 2)
    assert (before.max(axis=0) / before.min(axis=0) - 1).max() > 0.2, "there was something to shield"


class TestFittedModels:
    @pytest.fixture(scope="class")
    @staticmethod
    def mapping():
        return fitted("suppressed", 0.1)

    @pytest.fixture(scope="class")
    @staticmethod
    def people():
        """Everybody a hundred times, so that one draw is near its expectation."""
        return pd.concat([table(3)] * 100, ignore_index=True)

    def test_the_default_table(self, mapping, people):
        rates = mapping.model_rates(people)
        assert list(rates.columns) == ["sex", "race", "y", "released", "predicted", "score", "decision"]
        assert rates["released"].to_numpy() == pytest.approx(mapping.achieved.rates_after.ravel())
        assert rates["predicted"].to_numpy() == pytest.approx(rates["released"].to_numpy(), abs=1e-9)
        assert rates["score"].to_numpy() == pytest.approx(rates["predicted"].to_numpy(), abs=0.015)
        assert np.allclose(rates.groupby(KEYS)[["score", "decision"]].sum(), 1)

    def test_one_that_sees_the_protected_columns(self, people):
        mapping = fitted("plain")
        seeing, blind = (mapping.model_rates(people, protected=protected) for protected in (True, False))
        assert seeing["predicted"].to_numpy() == pytest.approx(seeing["released"].to_numpy(), abs=1e-12)
        assert seeing["score"].to_numpy() == pytest.approx(seeing["predicted"].to_numpy(), abs=0.015)
        assert blind["score"].to_numpy() == pytest.approx(blind["predicted"].to_numpy(), abs=0.015)
        assert np.abs(blind["score"] - seeing["score"]).max() > 0.01

    def test_decisions_are_not_scores(self, mapping, people):
        """A decision is the likelier outcome: shares of people, not means of probabilities."""

        class Always:
            classes_ = np.array([0, 1])

            def fit(self, features, outcome):
                assert list(features.columns) == ["f0", "f1"]

            def predict_proba(self, features):
                return np.tile([0.4, 0.6], (len(features), 1))

        rates = mapping.model_rates(people, Always())
        assert rates["score"].tolist() == pytest.approx([0.4, 0.6] * 4)
        assert rates["decision"].tolist() == [0.0, 1.0] * 4

    def test_scikit_learn(self, mapping, people):
        linear = pytest.importorskip("sklearn.linear_model")
        rates = mapping.model_rates(people, linear.LogisticRegression(), seed=1)
        assert rates["score"].to_numpy() == pytest.approx(rates["predicted"].to_numpy(), abs=0.05)
        trees = pytest.importorskip("sklearn.tree")
        rates = mapping.model_rates(people, trees.DecisionTreeClassifier())
        assert rates["score"].to_numpy() == pytest.approx(rates["predicted"].to_numpy(), abs=0.015)

    def test_a_model_that_is_none(self, mapping, people):
        with pytest.raises(eh.SpecError, match="needs fit and predict_proba"):
            mapping.model_rates(people, model=3)


def test_rows_of_an_unknown_group_belong_to_none():
    """Known levels can make up a group that was not in the table: it must not be counted as its neighbour."""
    frame = small_frame().assign(sex=lambda f: np.where(f["group"].eq("a"), "m", "f"))
    problem = replace(small_problem(), protected=["group", "sex"])
    mapping = eh.fit(problem, frame)
    stranger = frame[frame["group"].eq("b")].assign(sex="m")
    with pytest.warns(eh.EvenhandWarning):
        rates = mapping.model_rates(pd.concat([frame, *[stranger] * 9], ignore_index=True))
    expected = mapping.model_rates(frame)
    assert len(rates) == len(expected) == 4
    assert rates["score"].to_numpy() == pytest.approx(expected["score"].to_numpy(), abs=0.2)
    with pytest.warns(eh.EvenhandWarning), pytest.raises(eh.DataError, match="no row of the frame belongs to a group"):
        mapping.model_rates(stranger)


def test_a_frequency_table_falls_back_on_everybody():
    train = pd.DataFrame({"f": [0, 0, 1, 1], "y": ["no", "yes", "yes", "yes"]})
    model = FrequencyTable().fit(train[["f"]], train["y"])
    assert list(model.classes_) == ["no", "yes"]
    shares = model.predict_proba(pd.DataFrame({"f": [0, 1, 7]}))
    assert shares.tolist() == [[0.5, 0.5], [0.0, 1.0], [0.25, 0.75]]


def test_the_plainest_model_learns_levels_not_single_values():
    """With binned columns, p(ŷ|x̂) is a table over levels; over single values it would be learned by heart."""
    frame = people.people()
    mapping = eh.fit(people.problem(), frame)
    found = mapping.model_rates(frame, protected=True)
    assert (found["score"] - found["predicted"]).abs().max() < 0.05
    train, new = mapping.release(frame, restore="label"), mapping.apply(frame, seed=1, restore="label")
    columns = ["sex", "age", "hours", "job"]
    shares = train.groupby(columns)["hired"].mean()
    scores = new[columns].join(shares, on=columns)["hired"].fillna(train["hired"].mean())
    means = scores.groupby(frame["sex"]).mean()
    assert found.query("hired == 1")["score"].tolist() == pytest.approx(means.tolist())
