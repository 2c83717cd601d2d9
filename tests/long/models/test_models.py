"""Mean scores of models that learned the released data: eqs. (8) and (9) by brute force, models and predictors."""

from dataclasses import replace

import numpy as np
import pandas as pd
import people
import polars as pl
import pyarrow as pa
import pytest
from families import random_problem, small_frame, small_problem
from fits import shared_fit
from formulations import DISTORTIONS, MODES, table
from sklearn.linear_model import LogisticRegression

import evenhand as eh
from evenhand.findings.models import FrequencyTable, learned

pytestmark = pytest.mark.turns(4)

EXACT = 1e-12
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

            def fit(self, features, outcome, sample_weight):
                assert list(features.columns) == ["f0", "f1"]

            def predict_proba(self, features):
                return np.tile([0.4, 0.6], (len(features), 1))

        rates = mapping.model_rates(people, Always())
        assert rates["score"].tolist() == pytest.approx([0.4, 0.6] * 4)
        assert rates["decision"].tolist() == [0.0, 1.0] * 4

    def test_scikit_learn(self, mapping, people):
        linear = pytest.importorskip("sklearn.linear_model")
        rates = mapping.model_rates(people, linear.LogisticRegression())
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
    assert (found["score"] - found["predicted"]).abs().max() < 1e-9
    columns = ["sex", "age", "hours", "job"]
    new = mapping.possibilities(frame, restore="label")
    released = mapping.release(frame, seed=1, restore="label").assign(weight=1.0)
    by_sex = new["weight"].groupby(new["sex"])
    for train, rates in (
        (mapping.expand(frame, restore="label"), found),
        (released, mapping.model_rates(frame, protected=True, released=mapping.release(frame, seed=1))),
    ):
        keys, hired = [train[name] for name in columns], train["weight"] * train["hired"]
        shares = (hired.groupby(keys).sum() / train["weight"].groupby(keys).sum()).rename("share")
        scores = new[columns].join(shares, on=columns)["share"].fillna(hired.sum() / train["weight"].sum())
        means = (scores * new["weight"]).groupby(new["sex"]).sum() / by_sex.sum()
        assert rates.query("hired == 1")["score"].tolist() == pytest.approx(means.tolist())


def test_a_row_of_weight_three_counts_as_three_rows():
    frame = small_frame()
    mapping, three = eh.fit(small_problem(), frame), np.where(frame.index % 4 == 0, 3, 1)
    weighed, repeated = frame.assign(times=three), frame.loc[frame.index.repeat(three)]
    for model in (None, pytest.importorskip("sklearn.linear_model").LogisticRegression(C=1e6, tol=1e-9, max_iter=999)):
        rates = mapping.model_rates(weighed, model, weights="times")
        expected = mapping.model_rates(repeated.reset_index(drop=True), model)
        for name in ("score", "decision"):
            assert rates[name].to_numpy() == pytest.approx(expected[name].to_numpy(), abs=1e-4)


def test_a_model_without_weights_learns_from_a_release_alone():
    pipeline = pytest.importorskip("sklearn.pipeline").make_pipeline
    neighbours = pytest.importorskip("sklearn.neighbors").KNeighborsClassifier
    scaler = pytest.importorskip("sklearn.preprocessing").StandardScaler
    mapping, frame = eh.fit(small_problem(), small_frame()), small_frame()
    for model in (neighbours(), pipeline(scaler(), neighbours())):
        with pytest.raises(eh.SpecError, match="KNeighborsClassifier takes no sample weights"):
            mapping.model_rates(frame, model)
        assert len(mapping.model_rates(frame, model, released=mapping.release(frame, seed=0))) == 4


# The table p(ŷ|x̂,d) composed with apply mode: eq. (8) person by person, with no sampling anywhere.


def means_by_group(mapping, frame):
    """The mean score of each group, in the order of the mapping's own groups: what a user would compute."""
    problem = mapping.problem
    scores = pd.DataFrame(mapping.predictor.predict_proba(frame))
    means = scores.groupby([frame[name].to_numpy() for name in problem.protected]).mean()
    return means.to_numpy()


def feasible(seed):
    """The first feasible random problem from a seed on, with its table and mapping."""
    for attempt in range(seed, seed + 50):
        problem, frame = random_problem(np.random.default_rng(attempt))
        try:
            return eh.fit(problem, frame), frame
        except eh.InfeasibleError:
            continue
    raise AssertionError("no feasible problem")


class TestMeanScoresAreReleasedRates:
    """Eq. (8), end to end: a frame through apply mode and the table, against p(ŷ|d) from the kernel."""

    def test_compas(self, compas, compas_mapping):
        found = means_by_group(compas_mapping, compas.frame)
        assert np.abs(found - compas_mapping.achieved.rates_after).max() < EXACT
        assert np.abs(found - compas_mapping.achieved.rates_before).max() > 0.1, "and not because nothing changed"

    def test_adult(self, adult, adult_mapping):
        found = means_by_group(adult_mapping, adult.frame)
        assert np.abs(found - adult_mapping.achieved.rates_after).max() < EXACT
        assert np.abs(found - adult_mapping.achieved.rates_before).max() > 0.1

    @pytest.mark.parametrize("seed", range(1000, 1012))
    def test_random_problems(self, seed):
        mapping, frame = feasible(50 * seed)
        assert np.abs(means_by_group(mapping, frame) - mapping.achieved.rates_after).max() < EXACT

    @pytest.mark.parametrize("utility", [eh.KL(), eh.L1(), eh.Hellinger()])
    def test_utilities(self, utility):
        mapping = fitted("plain", 0.4, utility=utility)
        assert np.abs(means_by_group(mapping, table(3)) - mapping.achieved.rates_after).max() < EXACT

    def test_the_bound_carries_over(self, compas, compas_mapping):
        means = means_by_group(compas_mapping, compas.frame)
        assert (
            means.max(axis=0) / means.min(axis=0) - 1
        ).max() <= 0.1 + compas_mapping.certificate.max_violation + EXACT


def test_suppressed_the_table_does_not_read_the_group_and_the_rates_are_still_met():
    """Eq. (9): as far as ŷ is independent of the group given x̂."""
    mapping = fitted("suppressed", 0.1)
    predictor = mapping.predictor
    assert not predictor.reads_protected
    assert list(predictor.table.columns) == ["f0", "f1", "y", "probability"]
    apart = np.abs(means_by_group(mapping, table(3)) - mapping.achieved.rates_after).max()
    assert apart < max(EXACT, 4 * mapping.achieved.outcome_leak)
    ordinary = fitted("plain", 0.4)
    pooled = learned(ordinary.counts, ordinary.kernel, protected=False)
    assert np.ptp(pooled.shares, axis=0).max() == 0
    by_group = learned(ordinary.counts, ordinary.kernel, protected=True)
    assert np.ptp(by_group.shares, axis=0).max() > 0.01, "without suppression the groups' tables differ"


@pytest.mark.parametrize(("mode", "bound"), [("blind", 0.6), ("suppressed, blind", 0.25)])
def test_blind_the_mean_over_everybody_is_the_released_rate(mode, bound):
    """The group is unknown, so apply mode weighs outcomes by p(y|x): the means by group are not the released rates."""
    mapping = fitted(mode, bound)
    frame = table(3)
    scores = mapping.predictor.predict_proba(frame[["f0", "f1"]])
    released = mapping.counts.groups.probability @ mapping.achieved.rates_after
    assert np.abs(scores.mean(axis=0) - released).max() < EXACT
    assert np.abs(means_by_group(mapping, frame) - mapping.achieved.rates_after).max() > 1e-4


def test_the_table_is_what_the_release_shows(compas, compas_mapping):
    """By counting the mapping's own tidy table."""
    people = compas.frame.value_counts().rename("n").reset_index()
    released = compas_mapping.table().merge(people)
    released["mass"] = released["n"] * released["probability"]
    known = [*KEYS, *(f"to_{name}" for name in compas.problem.features)]
    mass = released.groupby([*known, "to_is_recid"], observed=True)["mass"].sum()
    expected = mass / mass.groupby(level=known, observed=True).transform("sum")
    shown = compas_mapping.predictor.table
    assert list(shown.columns) == [*KEYS, *compas.problem.features, "is_recid", "probability"]
    shown = shown.set_index(list(shown.columns[:-1]))["probability"]
    assert shown.groupby(level=list(range(5)), observed=True).sum().to_numpy() == pytest.approx(1, abs=EXACT)
    for key, share in expected.items():
        assert shown[key] == pytest.approx(share, abs=EXACT)
    assert shown.sum() == pytest.approx(len(shown) / 2)


def test_scores_are_the_average_over_apply_mode(compas, compas_mapping):
    predictor = compas_mapping.predictor
    person = compas.frame.iloc[[4000]]
    moves = compas_mapping.table("apply").merge(person.drop(columns="is_recid"))
    moves = moves.rename(columns={f"to_{name}": f"new_{name}" for name in compas.problem.features})
    shown = predictor.table.query("is_recid == 1").rename(
        columns={name: f"new_{name}" for name in compas.problem.features} | {"probability": "share"}
    )
    joined = moves.merge(shown)
    assert len(joined) == len(moves) > 1
    expected = (joined["probability"] * joined["share"]).sum()
    assert predictor.predict_proba(person)[0, 1] == pytest.approx(expected, abs=EXACT)


def test_binned_columns_and_other_dataframes():
    """The group and a feature are real numbers in bins; the same scores from pandas, polars and arrow."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40, 12, 800), "pay": rng.lognormal(size=800)})
    frame["hired"] = (rng.random(800) < 0.2 + 0.4 * (frame["age"] < 40) + 0.2 * (frame["pay"] > 1)).astype(int)
    problem = eh.Problem(
        protected=["age"], features=["pay"], outcome="hired", bins={"age": eh.Edges([40]), "pay": eh.Quantiles(4)},
        parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion({"pay": eh.Ordinal(step=1), "hired": eh.Nominal(1)}),
    )  # fmt: skip
    mapping = eh.fit(problem, frame)
    scores = mapping.predictor.predict_proba(frame)
    means = pd.DataFrame(scores).groupby(frame["age"].ge(40)).mean().to_numpy()
    assert np.abs(means - mapping.achieved.rates_after).max() < EXACT
    assert np.abs(means - mapping.achieved.rates_before).max() > 0.05
    for other in (pl.from_pandas(frame), pa.Table.from_pandas(frame)):
        assert np.array_equal(mapping.predictor.predict_proba(other), scores)


def test_it_never_reads_the_outcome(compas, compas_mapping):
    predictor = compas_mapping.predictor
    without = compas.frame.drop(columns="is_recid")
    shuffled = compas.frame.assign(is_recid=compas.frame["is_recid"].sample(frac=1, random_state=0).to_numpy())
    scores = predictor.predict_proba(without)
    assert np.array_equal(scores, predictor.predict_proba(compas.frame))
    assert np.array_equal(scores, predictor.predict_proba(shuffled))


def test_classes_and_decisions(compas, compas_mapping):
    predictor = compas_mapping.predictor
    assert predictor.classes_.tolist() == [0, 1]
    decided = predictor.predict(compas.frame)
    assert np.array_equal(decided == 1, predictor.predict_proba(compas.frame)[:, 1] > 0.5)
    assert repr(predictor) == "<Predictor p(ŷ|x̂, d) of 'is_recid' after apply mode>"


def test_people_who_were_not_in_the_table():
    """Known features in an unknown group: everybody's p(ŷ|x̂). Unknown features: p(ŷ)."""
    mapping = shared_fit(small_problem(), small_frame())
    predictor = mapping.predictor
    pooled = learned(mapping.counts, mapping.kernel, protected=False)
    strangers = pd.DataFrame({"group": ["c", "a", "c"], "score": [1, 7, 7]})
    with pytest.raises(eh.DataError, match="3 of 3 rows"):
        predictor.predict_proba(strangers, unseen="error")
    with pytest.warns(eh.EvenhandWarning, match="3 of 3 rows"):
        scores = predictor.predict_proba(strangers)
    released = mapping.counts.groups.probability @ mapping.achieved.rates_after
    assert scores == pytest.approx(np.array([pooled.at(np.array([-1]), np.array([1]))[0], released, released]))
    assert np.allclose(scores.sum(axis=1), 1)
    with pytest.raises(eh.SpecError, match="unseen"):
        predictor.predict_proba(strangers, unseen="drop")


def test_where_a_group_is_never_released_everybody_stands_in(adult_mapping):
    """Such cells exist (few are in Adult), no score of a known person rests on them, and they hold p(ŷ|x̂)."""
    table = learned(adult_mapping.counts, adult_mapping.kernel, protected=True)
    group, place = np.nonzero(table.mass == 0)
    assert len(group)
    assert np.array_equal(table.at(group, table.features[place]), table.shares[-1, place])
    own, at = np.nonzero(table.mass > 0)
    assert np.abs(table.shares[own, at] - table.shares[-1, at]).max() > 0.1
    assert np.allclose(table.shares.sum(axis=2), 1)


def test_a_model_that_sees_a_protected_column_with_bins_sees_its_levels():
    """And one that is linear in a number then meets the rates of two groups."""
    rng = np.random.default_rng(0)
    age = rng.integers(18, 80, 6000)
    skill = rng.binomial(3, 0.15 + 0.012 * (age - 18))
    chance = np.clip(0.1 + 0.15 * skill - 0.004 * (age - 48), 0.02, 0.98)
    frame = pd.DataFrame({"age": age, "skill": skill, "y": (rng.random(len(age)) < chance).astype(int)})
    problem = eh.Problem(
        protected=["age"], features=["skill"], outcome="y", bins={"age": eh.Edges([25])},
        parity=[eh.PairwiseParity(0.1)], distortion=eh.Distortion({"y": eh.Nominal(1)}),
    )  # fmt: skip
    shown = []

    class Watching(LogisticRegression):
        def fit(self, X, y, sample_weight=None):
            shown.append(X)
            return super().fit(X, y, sample_weight)

    rates = eh.fit(problem, frame).model_rates(frame, Watching(), protected=True)
    assert shown[0]["age"].nunique() == 2
    assert shown[0]["age"].dtype == frame["age"].dtype
    assert rates["score"].to_numpy() == pytest.approx(rates["released"].to_numpy(), abs=0.015)


@pytest.mark.parametrize("weight", [1.0, 0.1])
def test_twenty_people_are_twenty_whatever_they_weigh(weight):
    """Somebody with a new value of the second feature has the score of those who share the first."""
    cells = [(0, 0, 0, 7), (0, 1, 1, 6), (0, 2, 1, 3), (0, 2, 0, 4), (1, 0, 0, 30), (1, 1, 1, 2)]
    rows = [("a", x, z, y) for x, z, y, n in cells for _ in range(n)] + [("b", 0, 3, 0), ("b", 1, 3, 1)] * 10
    frame = pd.DataFrame(rows, columns=["g", "x", "z", "y"])
    frame["w"] = np.where(frame["g"].eq("a") & frame["x"].eq(0), weight, 1.0)
    problem = eh.Problem(
        protected=["g"], features=["x", "z"], outcome="y", parity=eh.PairwiseParity(9),
        distortion=eh.Distortion({"y": eh.Ordinal(1)}),
    )  # fmt: skip
    predictor = eh.fit(problem, frame, weights="w").predictor
    with pytest.warns(eh.EvenhandWarning, match="not in the fitted table"):
        (score,) = predictor.predict_proba(pd.DataFrame({"g": ["a"], "x": [0], "z": [3]}))
    assert score[1] == pytest.approx(9 / 20)
