from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from fits import shared_fit
from formulations import DISTORTIONS, MODES, table

import evenhand as eh


@pytest.fixture(scope="module")
def mapping():
    return shared_fit(small_problem(), small_frame())


@pytest.mark.parametrize("method", ["release", "apply", "audit", "realised"])
def test_a_wrong_word_is_told_before_a_table_is_read(mapping, method):
    with pytest.raises(eh.SpecError, match="missing must be one of"):
        getattr(mapping, method)("no/such/table.csv", missing="levels")


def test_release_is_repeatable_and_follows_the_seed(mapping):
    first, again, other = (mapping.release(small_frame(), seed=s) for s in (0, 0, 1))
    assert first.equals(again)
    assert not first.equals(other)


def test_nothing_is_read_from_the_global_generator(mapping):
    np.random.seed(0)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    mapping.release(small_frame())
    assert np.array_equal(before, np.random.get_state()[1])  # noqa: NPY002


def test_release_never_makes_a_forbidden_move(compas, compas_mapping):
    frame = pd.concat([compas.frame] * 5, ignore_index=True)
    released = compas_mapping.release(frame, seed=2)
    assert released[["sex", "race"]].equals(frame[["sex", "race"]])
    assert not ((released["is_recid"] == 1) & (frame["is_recid"] == 0)).any()
    step = released["priors_count"].cat.codes.astype(int) - frame["priors_count"].cat.codes.astype(int)
    assert set(step) == {0, -1}
    step = released["age_cat"].cat.codes.astype(int) - frame["age_cat"].cat.codes.astype(int)
    assert set(step.abs()) <= {0, 1}


def test_apply_never_reads_the_outcome(compas, compas_mapping):
    """With the outcome present, absent, shuffled or broken, the features come out the same."""
    features = list(compas.problem.features)
    applied = compas_mapping.apply(compas.frame, seed=4)
    shuffled = compas.frame.assign(is_recid=compas.frame["is_recid"].sample(frac=1, random_state=0).to_numpy())
    broken = compas.frame.assign(is_recid=np.nan)
    absent = compas.frame.drop(columns="is_recid")
    for frame in (shuffled, broken, absent):
        assert compas_mapping.apply(frame, seed=4)[features].equals(applied[features])
    assert compas_mapping.apply(shuffled, seed=4)["is_recid"].equals(shuffled["is_recid"])
    assert "is_recid" not in compas_mapping.apply(absent)


def test_apply_on_adult_moves_far_fewer_people_than_the_known_mistake(adult, adult_mapping):
    """The map normalised by columns before rows moves X for many more; ours moves what the table says."""
    table = adult_mapping.table("apply")
    people = adult.frame.groupby(["sex", "race", "age", "education"], observed=True).size().rename("n").reset_index()
    merged = table.merge(people)
    stays = (merged["age"].astype(str) == merged["to_age"].astype(str)) & (
        merged["education"].astype(str) == merged["to_education"].astype(str)
    )
    expected = (merged["n"] * merged["probability"])[~stays].sum() / len(adult.frame)
    applied = adult_mapping.apply(adult.frame, seed=0)
    moved = (applied[["age", "education"]].astype(str) != adult.frame[["age", "education"]].astype(str)).any(axis=1)
    assert moved.mean() == pytest.approx(expected, abs=0.002)


def test_the_table_is_a_kernel_without_zeros(compas_mapping):
    table = compas_mapping.table()
    assert (table["probability"] > 0).all()
    sums = table.groupby(["sex", "race", "age_cat", "c_charge_degree", "priors_count", "is_recid"], observed=True)
    assert (sums["probability"].sum() - 1).abs().max() <= 1e-12
    assert len(sums) == 142


def test_the_table_has_the_frames_own_values_and_dtypes(compas, compas_mapping):
    for mode in ("release", "apply"):
        table = compas_mapping.table(mode)
        columns = [*compas.problem.protected, *compas.problem.features] + ["is_recid"] * (mode == "release")
        for column in columns:
            assert table[column].dtype == compas.frame[column].dtype
            assert set(table[column]) == set(compas.frame[column])
        assert list(table.columns)[-1] == "probability"
        assert ("to_is_recid" in table) == (mode == "release")
    with pytest.raises(eh.SpecError, match="mode must be one of"):
        compas_mapping.table("train")


def test_expand_is_the_expectation_of_release(mapping):
    wide = mapping.expand(small_frame())
    released = wide.groupby(["group", "hired"])["weight"].sum() / 100
    assert released.loc["a", 1] == pytest.approx(mapping.achieved.rates_after[0, 1])
    assert wide["weight"].sum() == pytest.approx(200)
    assert not wide.duplicated(["group", "score", "hired"]).any()


def test_expand_refuses_a_taken_name(mapping):
    with pytest.raises(eh.DataError, match="already has a column 'weight'"):
        mapping.expand(small_frame().assign(weight=1))
    assert "w" in mapping.expand(small_frame().assign(weight=1), weight_column="w")


def test_expand_takes_a_table_of_cells(mapping):
    cells = small_frame().value_counts().rename("n").reset_index()
    wide = mapping.expand(cells, weights="n", weight_column="n")
    assert wide.columns.tolist() == ["group", "score", "hired", "n"]
    people = mapping.expand(small_frame(), weight_column="n")
    keys = ["group", "score", "hired"]
    assert wide.sort_values(keys)["n"].to_numpy() == pytest.approx(people.sort_values(keys)["n"].to_numpy())


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([-1.0, *[1.0] * 199], "weights must not be negative; row 1 has -1"),
        ([*[1.0] * 199, np.inf], "weights must be finite numbers; row 200 has inf"),
        ([0.0] * 200, "no row has a positive weight"),
        ([1.0], "1 weights for 200 rows"),
    ],
    ids=["negative", "infinite", "zero", "one"],
)
def test_expand_refuses_weights_that_count_nobody(mapping, weights, words):
    with pytest.raises(eh.DataError, match=words):
        mapping.expand(small_frame(), weights=weights)


def test_expand_says_which_group_weighs_nothing(mapping):
    weights = small_frame()["group"].eq("a") * 1.0
    with pytest.warns(eh.EvenhandWarning, match=r"every row of \(group=b\) has a weight of 0"):
        wide = mapping.expand(small_frame(), weights=weights)
    assert wide.groupby("group")["weight"].sum().to_dict() == pytest.approx({"a": 100, "b": 0})


def test_expand_of_a_frame_takes_no_path_for_its_result(mapping, tmp_path):
    with pytest.raises(eh.SpecError, match="a dataframe is returned"):
        mapping.expand(small_frame(), to=tmp_path / "out.csv")
    empty = mapping.expand(small_frame().head(0).assign(w=1.0), weights="w")
    assert (list(empty), len(empty)) == (["group", "score", "hired", "weight"], 0)


class TestUnseen:
    def unseen(self):
        new = pd.DataFrame({"group": ["c", "a"], "score": [0, 7], "hired": [1, 0]})
        return pd.concat([small_frame(), new], ignore_index=True)

    @pytest.mark.parametrize("act", ["release", "apply", "expand"])
    def test_kept_and_counted(self, mapping, act):
        with pytest.warns(
            eh.EvenhandWarning,
            match=r"2 of 202 rows .* in row 201 \(column 'group' has the new value 'c'\); they are left",
        ):
            result = getattr(mapping, act)(self.unseen())
        tail = result[result["group"].eq("c") | result["score"].eq(7)][["group", "score", "hired"]]
        assert tail.reset_index(drop=True).equals(self.unseen().tail(2).reset_index(drop=True))

    @pytest.mark.parametrize("act", ["release", "apply", "expand"])
    def test_or_refused(self, mapping, act):
        with pytest.raises(eh.DataError, match="2 of 202 rows"):
            getattr(mapping, act)(self.unseen(), unseen="error")

    def test_by_a_known_policy_only(self, mapping):
        with pytest.raises(eh.SpecError, match="unseen must be one of"):
            mapping.release(small_frame(), unseen="drop")

    def test_draws_of_the_others_do_not_change(self, mapping):
        with pytest.warns(eh.EvenhandWarning):
            released = mapping.release(self.unseen(), seed=0)
        assert released.iloc[:200].equals(mapping.release(small_frame(), seed=0))


@pytest.mark.parametrize("seed", [-1, 1.5, "a", True])
def test_bad_seeds(mapping, seed):
    with pytest.raises(eh.SpecError, match="seed must be a whole number"):
        mapping.release(small_frame(), seed=seed)


def test_no_seed_takes_fresh_randomness(mapping):
    frame = pd.concat([small_frame()] * 5, ignore_index=True)
    assert not mapping.release(frame, seed=None).equals(mapping.release(frame, seed=None))


def test_a_frame_that_lacks_a_protected_column(mapping):
    with pytest.raises(eh.DataError, match="no column 'group'"):
        mapping.apply(small_frame().drop(columns="group"))


def test_an_empty_frame_comes_back_empty(mapping):
    empty = small_frame().iloc[:0]
    assert len(mapping.release(empty)) == 0
    assert len(mapping.apply(empty)) == 0


def test_an_outcome_of_three_values():
    rng = np.random.default_rng(0)
    frame = small_frame().assign(hired=lambda f: (f["hired"] + (rng.random(200) < 0.3)).astype(int))
    mapping = eh.fit(small_problem(), frame)
    assert mapping.certificate.status == "optimal"
    after = mapping.achieved.rates_after
    assert after.shape == (2, 3)
    assert (after.max(axis=0) / after.min(axis=0) - 1).max() <= 0.2 + 1e-9


def test_the_representation_says_what_it_is(compas_mapping):
    found = compas_mapping.audit()
    rates = [found.rates.query("is_recid == 1")[when] for when in ("before", "after")]
    before, after = (f"{100 * rate.min():.0f}–{100 * rate.max():.0f} %" for rate in rates)
    changed = (found.groups["weight"] * found.groups["changed"]).sum()
    assert repr(compas_mapping) == (
        f"<Mapping of 5,278 people, 4 groups: rate of is_recid=1 {before} → {after}, {changed:.0f} records changed, "
        f"optimal>"
    )
    assert "<table>" in compas_mapping._repr_html_()
    assert "Each group's rates, before and after" in str(compas_mapping)


def test_fit_reports_progress(compas):
    seen = []
    eh.fit(compas.problem, compas.counts, progress=lambda stage, share: seen.append((stage, share)))
    assert seen[0] == ("counting", 0.0)
    assert seen[-1] == ("done", 1.0)
    assert [share for _, share in seen] == sorted(share for _, share in seen)
    assert len(seen) >= 4


def test_counts_must_fit_the_problem(compas):
    with pytest.raises(eh.DataError, match="these counts are over the columns"):
        eh.fit(small_problem(), compas.counts)
    with pytest.raises(eh.DataError, match="already has its own"):
        eh.fit(compas.problem, compas.counts, weights=[1.0])
    rules = dict(compas.problem.distortion.rules) | {"is_recid": eh.Ordinal(1, levels=[1, 0])}
    with pytest.raises(eh.DataError, match="gives the levels"):
        eh.fit(replace(compas.problem, distortion=eh.Distortion(rules)), compas.counts)


# ---------------------------------------------------------------------------------------------------------------------
# Modes: blind, suppressed D
# ---------------------------------------------------------------------------------------------------------------------


def in_mode(mode, bound, **changes):
    outcome = "is free" if "suppress_protected" in MODES[mode] else "falls"
    statement = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": [eh.PairwiseParity(bound)],
        "distortion": DISTORTIONS["sum"](outcome),
        "budget": eh.ExpectedDistortion(0.6),
        **MODES[mode],
    }
    return eh.Problem(**{**statement, **changes})


class TestBlind:
    @pytest.fixture(scope="class")
    @staticmethod
    def blind():
        found = eh.fit(in_mode("blind", 0.5), table(3))
        assert found.objective > 1e-3
        return found

    @pytest.mark.parametrize("act", ["release", "apply", "expand"])
    def test_it_needs_no_protected_column(self, blind, act):
        without = table(3).drop(columns=["sex", "race"])
        columns = ["f0", "f1"] + ["y"] * (act != "apply")
        seed = {"seed": 1} if act == "release" else {}
        with_them, without_them = (getattr(blind, act)(frame, **seed) for frame in (table(3), without))
        assert set(without_them.columns) <= {"f0", "f1", "y", "weight"}
        if act == "expand":
            with_them = with_them.groupby(columns, as_index=False)["weight"].sum()
            without_them = without_them.sort_values(columns, ignore_index=True)
            assert with_them["weight"].to_numpy() == pytest.approx(without_them["weight"].to_numpy())
        assert with_them[columns].equals(without_them[columns])

    def test_an_unknown_group_is_nothing_new(self, blind):
        strangers = table(3).assign(sex="x", race="z")
        found, expected = (blind.release(people, seed=1) for people in (strangers, table(3)))
        assert found[["f0", "f1", "y"]].equals(expected[["f0", "f1", "y"]])

    def test_its_table_of_apply_mode_has_no_protected_column(self, blind):
        applied = blind.table("apply")
        assert list(applied.columns) == ["f0", "f1", "to_f0", "to_f1", "probability"]
        assert np.allclose(applied.groupby(["f0", "f1"])["probability"].sum(), 1)
        assert "sex" in blind.table("release")

    def test_everybody_with_the_same_record_is_treated_alike(self, blind):
        rows = blind.table().drop(columns=["sex", "race"])
        spread = rows.groupby(["f0", "f1", "y", "to_f0", "to_f1", "to_y"])["probability"].agg(["min", "max"])
        assert (spread["max"] - spread["min"]).max() <= 1e-12

    def test_new_records_are_kept(self, blind):
        new = pd.DataFrame({"f0": [0, 9], "f1": [0, 0], "y": [0, 1]})
        with pytest.warns(eh.EvenhandWarning, match=r"1 of 2 rows have a combination of features and outcome"):
            assert blind.release(new).iloc[1].tolist() == [9, 0, 1]
        with pytest.raises(eh.DataError, match="1 of 2 rows have a combination of features"):
            blind.apply(new, unseen="error")


class TestSuppressed:
    """A person whose (d, x, y) is new keeps x and gets ŷ from p(ŷ|x), so that ŷ never tells the group."""

    @pytest.fixture(scope="class")
    @staticmethod
    def frame():
        frame = table(3)
        return frame[~(frame["sex"].eq("m") & frame["f0"].eq(1) & frame["f1"].eq(2))]

    @pytest.fixture(scope="class")
    @staticmethod
    def suppressed(frame):
        return eh.fit(in_mode("suppressed", 0.3), frame)

    @pytest.fixture(scope="class")
    @staticmethod
    def unseen():
        return pd.DataFrame({"sex": ["m"] * 4000, "race": "a", "f0": 1, "f1": 2, "y": 1})

    def test_release_keeps_x_and_draws_y(self, suppressed, unseen, frame):
        with pytest.warns(eh.EvenhandWarning, match=r"they keep their features and get ŷ from p\(ŷ\|x\)"):
            released = suppressed.release(unseen, seed=0)
        assert released[["f0", "f1"]].equals(unseen[["f0", "f1"]])
        like = frame[frame["f0"].eq(1) & frame["f1"].eq(2)]
        assert 0 < like["y"].mean() < 1
        assert released["y"].mean() == pytest.approx(like["y"].mean(), abs=0.03)

    def test_expand_is_the_expectation(self, suppressed, unseen, frame):
        with pytest.warns(eh.EvenhandWarning):
            wide = suppressed.expand(unseen)
        like = frame[frame["f0"].eq(1) & frame["f1"].eq(2)]
        assert wide.set_index("y")["weight"].to_dict() == pytest.approx(
            {0: 4000 * (1 - like["y"].mean()), 1: 4000 * like["y"].mean()}
        )
        assert (wide["f0"] == 1).all()

    def test_a_new_x_is_left_as_it_is(self, suppressed):
        strange = pd.DataFrame({"sex": ["m"], "race": ["a"], "f0": [7], "f1": [2], "y": [1]})
        with pytest.warns(eh.EvenhandWarning):
            assert suppressed.release(strange).equals(strange)

    def test_a_new_group_is_drawn_all_the_same(self, suppressed, frame):
        with pytest.warns(eh.EvenhandWarning, match="get ŷ from"):
            released = suppressed.release(frame.assign(sex="x"), seed=0)
        assert released[["f0", "f1"]].equals(frame[["f0", "f1"]])
        assert not released["y"].equals(frame["y"])

    def test_or_it_is_an_error(self, suppressed, unseen):
        with pytest.raises(eh.DataError, match="4000 of 4000 rows"):
            suppressed.release(unseen, unseen="error")

    def test_the_outcome_depends_on_released_features_alone(self, suppressed):
        rows = suppressed.table()
        rows["whole"] = rows.groupby(["sex", "race", "f0", "f1", "y", "to_f0", "to_f1"])["probability"].transform("sum")
        rows["share"] = rows["probability"] / rows["whole"]
        spread = rows[rows["whole"] > 1e-6].groupby(["to_f0", "to_f1", "to_y"])["share"].agg(["min", "max"])
        assert (spread["max"] - spread["min"]).max() <= 1e-6

    @pytest.mark.slow
    def test_alternating_draws_from_its_own_conditional(self):
        mapping = eh.fit(in_mode("suppressed", 0.05, suppress_protected="alternating"), table(3))
        assert mapping.conditional.sum(axis=1) == pytest.approx(np.ones(len(mapping.conditional)))
        rows = mapping.table()
        people = table(3).value_counts().rename("n").reset_index()
        mass = rows.merge(people).assign(mass=lambda f: f["n"] * f["probability"])
        joint = mass.groupby(["to_f0", "to_f1", "to_y"])["mass"].sum().unstack(fill_value=0.0)
        shares = joint.div(joint.sum(axis=1), axis=0)
        for cell, row in zip(mapping.counts.features.cells, mapping.conditional, strict=True):
            labels = tuple(mapping.counts.domain.x.labels(int(cell)).values())
            if labels in shares.index:
                assert row == pytest.approx(shares.loc[labels].to_numpy())


def test_bounds_and_limits_that_vary_hold_case_by_case():
    """By everywhere: in parity by pair and by outcome, in limits by cell, in targets by segment."""
    limit = eh.By(0.7, [({"sex": "m"}, 0.5), ({"f0": [0], "y": 1}, 0.4), ({"race": "b", "y": 0, "f1": 2}, np.inf)])
    bound = eh.By(0.6, [({"y": 0}, 0.8), ({"sex": "m", "race": "a", "against": {"sex": "f", "race": "a"}}, 0.3)])
    problem = in_mode("plain", 0.1, parity=[eh.PairwiseParity(bound)], budget=eh.ExpectedDistortion(limit))
    mapping = eh.fit(problem, table(3))
    bounds = mapping.audit().bounds
    assert bounds["slack"].min() >= -1e-9
    pair = bounds[bounds["where"] == "y=1: sex=m, race=a against sex=f, race=a"]
    assert pair["bound"].tolist() == [0.3]
    assert bounds[bounds["where"] == "y=0: sex=m, race=b against sex=f, race=a"]["bound"].tolist() == [0.8]
    cells = bounds[bounds["constraint"] == "expected distortion"].set_index("where")["bound"]
    assert cells["sex=f, race=a; f0=0, f1=1; y=1"] == 0.4
    assert cells["sex=m, race=a; f0=1, f1=1; y=0"] == 0.5
    assert np.isinf(cells["sex=m, race=b; f0=1, f1=2; y=0"])
