"""Two mappings compared: against the tables of both written out, and what cannot be compared."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from formulations import table
from wide import wide_frame, wide_problem

import evenhand as eh
from evenhand.render.sentences import sentence

pytestmark = pytest.mark.turns(2)

COLUMNS = ["sex", "race", "f0", "f1", "y"]


def problem(**changes):
    stated = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": [eh.PairwiseParity(0.3)],
        "distortion": eh.Distortion({"f1": eh.Ordinal(0.5, max_steps=1), "y": eh.Ordinal(1)}),
        "budget": eh.ExpectedDistortion(0.6),
    }
    return eh.Problem(**stated | changes)


def by_hand(a, b, frame):
    """For each group, the least share that gets another outcome, and another record, from the mappings' own tables."""
    people = frame.value_counts(COLUMNS).rename("people").reset_index()
    keys = {"other_record": ["to_f0", "to_f1", "to_y"], "other_outcome": ["to_y"]}
    found = {}
    for name, to in keys.items():
        shares = [m.table().groupby([*COLUMNS, *to])["probability"].sum() for m in (a, b)]
        both = pd.concat(shares, axis=1).fillna(0.0)
        apart = (both.iloc[:, 0] - both.iloc[:, 1]).abs().groupby(level=COLUMNS).sum() / 2
        joined = people.merge(apart.rename("apart").reset_index())
        joined["other"] = joined["people"] * joined["apart"]
        sums = joined.groupby(["sex", "race"])[["other", "people"]].sum()
        found[name] = sums["other"] / sums["people"]
    return pd.DataFrame(found)


PAIRS = {
    "bounds": ({}, {"parity": [eh.PairwiseParity(0.1)]}),
    "costs": ({}, {"distortion": eh.Distortion({"f0": eh.Nominal(1), "y": eh.Ordinal(1)}), "utility": eh.L1()}),
    "forbidden": ({}, {"forbidden": [{"when": {"f0": 0}, "then": {"y": 1}}], "parity": [eh.PairwiseParity(0.6)]}),
}


@pytest.mark.slow
def test_who_is_treated_differently_is_said_in_expectation():
    """Single pairs of releases differ in fewer people than what is said; on average over seeds they do not."""
    frame = table(1)
    a, b = (eh.fit(problem(**changes), frame) for changes in PAIRS["bounds"])
    found = eh.compare(a, b)
    (words,) = (each for each in found.sentences("compared") if "another outcome" in each)
    least = float((found.groups["weight"] * found.groups["other_outcome"]).sum())
    assert words.startswith(f"In expectation over the draws, at least {least:,.0f} people")
    pairs = [[m.release(frame, seed=seed, draw="independent")["y"] for m in (a, b)] for seed in range(40)]
    differ = np.array([(one != other).sum() for one, other in pairs])
    assert differ.min() < least - 1
    assert differ.mean() >= least - 3 * differ.std() / np.sqrt(len(differ))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* already")
@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize("seed", [1, 2])
def test_who_is_treated_differently(pair, seed):
    frame = table(seed)
    a, b = (eh.fit(problem(**changes), frame) for changes in PAIRS[pair])
    expected = by_hand(a, b, frame)
    for found in (eh.compare(a, b), eh.compare(a, b, frame)):
        groups = found.groups.set_index(["sex", "race"])
        for name in expected:
            assert np.allclose(groups[name], expected[name].reindex(groups.index), atol=1e-9)
        assert np.allclose(found.rates["after_a"], a.audit().rates["after"])
        assert np.allclose(found.rates["after_b"], b.audit().rates["after"])
        assert np.allclose(found.rates["before"], b.audit().rates["before"])
        assert np.allclose(groups["changed_b"], b.audit().groups["changed"])
        costs = found.costs.set_index("what")
        assert costs.loc["utility loss"].tolist() == [a.objective, b.objective]
        assert costs.loc["mean expected distortion", "b"] == pytest.approx(
            float(b.counts.probability @ b.achieved.distortion)
        )
        told = found.cells["people"] * found.cells["other_outcome"]
        assert told.sum() == pytest.approx((groups["weight"] * groups["other_outcome"]).sum())
    assert eh.compare(b, a).groups["other_record"].tolist() == pytest.approx(found.groups["other_record"].tolist())


def test_the_same_twice_and_the_statement():
    frame = table(3)
    a = eh.fit(problem(), frame)
    same = eh.compare(a, a)
    assert "The two statements are the same." in same.sentences("compared")
    assert any(words.startswith("Nobody is treated differently") for words in same.sentences("compared"))
    assert not len(same.cells)
    assert sentence(same.about) == "the 400 people on whom both were fitted"
    b = eh.fit(problem(parity=[eh.PairwiseParity(0.2)], favourable=1, bins={}, blind=True), frame)
    assert {tuple(row) for row in eh.compare(a, b).statement.itertuples(index=False)} == {
        ("favourable", None, "1"),
        ("blind", "false", "true"),
        ("parity[0].bound", "0.3", "0.2"),
    }


@pytest.mark.slow
def test_a_new_level_other_people_and_other_groups():
    frame = table(4)
    a = eh.fit(problem(), frame[frame["f1"] < 2])
    with_level = eh.compare(a, eh.fit(problem(), frame))
    assert "on whom B was fitted; A was fitted on another table, of " in sentence(with_level.about)
    assert any("in cells not seen when A was fitted" in note for note in with_level.sentences("compared"))
    assert any("records are not" in note for note in with_level.sentences("compared"))
    assert "other_record" not in with_level.groups
    fewer = eh.fit(problem(protected=["sex"], features=["f0", "f1"]), frame)
    found = eh.compare(eh.fit(problem(), frame), fewer, frame)
    assert list(found.groups["sex"]) == ["f", "m"]
    assert any(note.startswith("A protects sex, race, B sex") for note in found.sentences("compared"))
    with pytest.raises(eh.SpecError, match=r"'race', which the second does not know.*give a table"):
        eh.compare(eh.fit(problem(), frame), fewer)
    strange = frame.assign(sex="x")
    with pytest.raises(eh.DataError, match="nobody in the table"):
        eh.compare(a, a, strange)
    some = pd.concat([frame[frame["f1"] < 2], strange.head(3)])
    assert any(
        note.startswith("left out: 3 rows of the table") for note in eh.compare(a, a, some).sentences("compared")
    )


@pytest.mark.slow
def test_bins_weights_and_files(tmp_path):
    rng = np.random.default_rng(0)
    frame = table(5).assign(age=rng.uniform(18, 80, 400), w=rng.integers(1, 4, 400))
    stated = {"features": ["f0", "age"], "distortion": eh.Distortion({"y": eh.Ordinal(1)})}
    a, b = (eh.fit(problem(**stated, bins={"age": eh.Edges(cuts)}), frame) for cuts in ([30, 50], [30, 60]))
    coarse = eh.compare(a, b)
    assert coarse.statement["setting"].tolist() == ["bins.age.edges"]
    frame.to_csv(tmp_path / "people.csv", index=False)
    exact = eh.compare(a, b, tmp_path / "people.csv", weights="w")
    assert exact.people == frame["w"].sum()
    in_memory = eh.compare(a, b, frame, weights="w")
    assert np.allclose(exact.groups["other_outcome"], in_memory.groups["other_outcome"])
    assert np.allclose(coarse.groups["other_outcome"], eh.compare(a, b, frame).groups["other_outcome"], atol=0.1)
    with pytest.raises(eh.SpecError, match="weights go with a table"):
        eh.compare(a, b, weights="w")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_learned_cells_need_a_table_unless_they_are_the_same():
    frame = wide_frame(1, 600)
    a = eh.fit(wide_problem(), frame)
    tighter = eh.fit(wide_problem(parity=[eh.PairwiseParity(0.02)]), frame)
    assert len(eh.compare(a, tighter).cells)
    other = eh.fit(wide_problem(cells=eh.Leaves(most=4, at_least=30)), frame)
    with pytest.raises(eh.SpecError, match="learned different cells"):
        eh.compare(a, other)
    found = eh.compare(a, other, frame)
    assert np.allclose(found.rates["after_a"], a.audit().rates["after"])
    assert any("records are not" in note for note in found.sentences("compared"))


def test_different_outcomes_are_refused(compas_mapping, adult_mapping):
    with pytest.raises(eh.SpecError, match="different outcomes, 'is_recid' and 'income'"):
        eh.compare(compas_mapping, adult_mapping)
    frame = table(6)
    three = frame.assign(y=frame["y"] + (np.arange(400) % 2))
    with pytest.raises(eh.SpecError, match=r"has the levels \[0, 1\] in one mapping and \[0, 1, 2\] in the other"):
        eh.compare(eh.fit(problem(), frame), eh.fit(problem(parity=[eh.PairwiseParity(0.9)]), three))


@pytest.mark.slow
def test_json_page_and_a_measure_of_ones_own(compas, compas_mapping, tmp_path):
    quartic = eh.Separable(
        value=lambda p, r: (r - p) ** 2,
        gradient=lambda p, r: 2 * (r - p),
        curvature=lambda p, r: np.full_like(r, 2.0),
        name="squares",
    )
    other = eh.fit(replace(compas.problem, utility=quartic), compas.counts)
    found = eh.compare(compas_mapping, other)
    assert any("different measures" in note for note in found.sentences("compared"))
    assert found.statement["setting"].tolist() == ["Minimized", "Minimized"]
    assert json.loads(found.to_json())["compared"]["people"] == 5278
    page = found.save(tmp_path / "both.html").read_text(encoding="utf-8")
    # A browser runs no script of it at all.
    assert "default-src 'none'" in page
    assert "script-src" not in page
    assert "Two mappings compared" in page
    for words in found.sentences("compared"):
        assert words.split(" (")[0].replace("<", "&lt;").replace(">", "&gt;") in page
    assert repr(found).startswith("<Comparison on 5,278 people: ")


def with_one_person():
    """A table with one heavy person who is a group, and whom two bounds treat differently."""
    frame = table(7).assign(w=100.0)
    alone = frame[frame["y"] == 0].head(1).assign(sex="only", w=4000.0)
    return pd.concat([frame, alone], ignore_index=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_nothing_is_told_of_a_group_of_one_however_heavy(tmp_path):
    frame = with_one_person()
    bounds = ([eh.PairwiseParity(each, on=["race"])] for each in (0.5, 0.15))
    a, b = (eh.fit(problem(parity=bound), frame, weights="w") for bound in bounds)
    for found in (eh.compare(a, b), eh.compare(a, b, frame, weights="w")):
        alone = found.groups[found.groups["sex"] == "only"]
        assert alone["people"].tolist() == [1]
        assert alone["weight"].tolist() == [4000]
        # The one of all who is treated most differently: the words would name that person first.
        moved = found.groups.assign(other_outcome=found.groups["other_outcome"].where(found.groups["sex"] != "only", 1))
        told = replace(found, groups=moved)
        assert "only" not in " ".join(told.sentences("compared"))
        assert any(
            words.startswith("Most of all, of the groups that are shown,") for words in told.sentences("compared")
        )
        page = told.save(tmp_path / "both.html").read_text(encoding="utf-8")
        assert "only" not in page
        assert "rows are not shown: fewer than 20 people" in page


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_people_by_weight_are_said_to_be(tmp_path):
    frame = with_one_person()
    a, b = (eh.fit(problem(parity=[eh.PairwiseParity(e, on=["race"])]), frame, weights="w") for e in (0.5, 0.15))
    found = eh.compare(a, b)
    assert found.weighed
    assert any(words.startswith("Of 44,000 people by weight A changes") for words in found.sentences("compared"))
    assert any(
        re.search(r"people by weight \(\d+\.\d%\) get another outcome", words) for words in found.sentences("compared")
    )
    assert "e+04" not in found.save(tmp_path / "both.html").read_text(encoding="utf-8")
    assert repr(found).startswith("<Comparison on 44,000 people by weight: ")
    # A mapping knows its weights; a table without them has its rows counted.
    assert eh.compare(a, b, frame).weighed
    assert not eh.compare(a, b, frame.drop(columns="w")).weighed


@pytest.mark.slow
def test_each_bound_is_said_in_its_own_words(compas, compas_mapping):
    points = eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.1, distance=eh.Difference(), on=["sex"])]),
                    compas.frame)  # fmt: skip
    found = eh.compare(compas_mapping, points)
    a, b = found.sentences("compared")[1:3]
    assert a.startswith(
        "The parity constraint of A requires at most 1.10 times: at worst 1.61 times before (is_recid=1: sex=Male, "
    )
    assert b.startswith("The parity constraint of B requires at most 10.0 points by sex: at worst ")
    assert "10.0 points with B (" in b
    assert "times" not in b
    # Of a table it is what the audit of that table says.
    half = compas.frame.iloc[::2]
    row = eh.compare(compas_mapping, points, half).bounds.to_dict("records")[0]
    after = compas_mapping.audit(half).sentences("rates")[0].split("after: ")[1]
    factor = float(after.split("ratio ")[1].split(",")[0])
    assert row["after"] == eh.Ratio().said(factor, 1)
    assert row["whose"] == ""
    none = eh.fit(replace(compas.problem, parity=[]), compas.frame)
    assert eh.compare(none, points).sentences("compared")[1] == "A has no parity bound."


def test_a_table_that_a_bound_cannot_be_measured_of(compas, compas_mapping, monkeypatch):
    def refuse(*_):
        raise eh.DataError("every row is new")

    monkeypatch.setattr("evenhand.use.comparing.meeting", refuse)
    found = eh.compare(compas_mapping, compas_mapping, compas.frame)
    assert all(words.endswith(", of the people it was fitted on.") for words in found.sentences("compared")[1:3])


@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_the_same_people_with_other_columns_are_no_others(compas, compas_mapping):
    fewer = replace(
        compas.problem, features=["age_cat", "priors_count"], distortion=eh.Distortion({"is_recid": eh.Ordinal(1)}),
        budget=None,
    )  # fmt: skip
    found = eh.compare(eh.fit(fewer, compas.frame), compas_mapping)
    assert "A was fitted on as many, the same in all that both know of them, with other columns" in sentence(
        found.about
    )
    assert "the utility losses are about other columns or levels, so that they cannot be compared" in found.sentences(
        "compared"
    )
    assert not any(words.startswith("The utility loss") for words in found.sentences("compared"))


@pytest.mark.slow
def test_a_long_distance_is_cut_in_words(compas, compas_mapping):
    roots = eh.UserDistance(lambda p, q: abs(p**0.5 - q**0.5), name="roots")
    other = eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.05, distance=roots)]), compas.frame)
    found = eh.compare(compas_mapping, other)
    assert max(map(len, found.sentences("compared"))) < 1000
    assert " letters)" in found.sentences("compared")[0]
    assert max(len(str(value)) for value in found.statement["b"]) > 2000


def test_names_and_fingerprints(compas_mapping, tmp_path):
    found = eh.compare(compas_mapping, compas_mapping, names=["old.mapping", "new.mapping"])
    named, prints = json.loads(found.to_json())["compared"]["mappings"]
    assert (named["a"], named["b"]) == ("old.mapping", "new.mapping")
    assert prints["a"] == prints["b"]
    assert len(prints["a"]) == 64
    page = found.save(tmp_path / "both.html").read_text(encoding="utf-8")
    assert f"<dt>B</dt><dd>new.mapping, fingerprint {prints['b']}</dd>" in page
    assert eh.compare(compas_mapping, compas_mapping).mappings["what"].tolist() == ["fingerprint"]
    with pytest.raises(eh.SpecError, match="names must be two"):
        eh.compare(compas_mapping, compas_mapping, names=["one"])


def test_missing_values_where_there_were_none(compas, compas_mapping):
    some = compas.frame.copy()
    some["race"] = some["race"].astype(object)
    some.loc[some.index[:5], "race"] = None
    with pytest.raises(eh.DataError, match="missing"):
        eh.compare(compas_mapping, compas_mapping, some)
    found = eh.compare(compas_mapping, compas_mapping, some, missing="level")
    assert found.people == len(some) - 5
    assert any(note.startswith("left out: 5 rows of the table") for note in found.sentences("compared"))
    with pytest.raises(eh.SpecError, match="missing goes with a table"):
        eh.compare(compas_mapping, compas_mapping, missing="level")


@pytest.mark.slow
def test_another_order_of_levels_is_no_other_level(compas):
    """Records of both are compared by what their levels are called, as their tables have them."""
    order = ["Less than 25", "25 - 45", "Greater than 45"]
    frames = [
        compas.frame.astype({"age_cat": str}).assign(
            age_cat=lambda frame, kinds=kinds: pd.Categorical(frame["age_cat"], kinds, ordered=True)
        )
        for kinds in (order, order[::-1])
    ]
    a, b = (eh.fit(compas.problem, frame) for frame in frames)
    assert a.counts.domain.x.variables[0].levels != b.counts.domain.x.variables[0].levels
    found = eh.compare(a, b)
    assert found.losses_compare
    assert not any("other levels" in note for note in found.sentences("compared"))
    own = ["sex", "race", "age_cat", "c_charge_degree", "priors_count", "is_recid"]
    new = [f"to_{name}" for name in own[2:]]
    shares = [each.table().astype(dict.fromkeys(own + new, str)).set_index(own + new)["probability"] for each in (a, b)]
    apart = (shares[0].sub(shares[1], fill_value=0.0).abs().groupby(level=own).sum() / 2).rename("apart")
    people = compas.frame.astype(str).value_counts(own).rename("people")
    each = pd.concat([apart, people], axis=1)
    expected = (each["apart"] * each["people"]).groupby(level=own[:2]).sum() / people.groupby(level=own[:2]).sum()
    assert found.groups["other_record"].tolist() == pytest.approx(expected.tolist(), abs=1e-9)
    assert expected.max() > 0.001


def test_the_outcome_that_differs_is_the_one_that_is_told():
    """With a favourable outcome that nobody gets more of, words are about another."""
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 900), "x": 0})
    frame["y"] = np.where(rng.random(900) < 0.4 + 0.3 * (frame["g"] == "a"), "low", "mid")
    frame.loc[:9, "y"] = "high"
    levels = ("low", "mid", "high")
    between = {(a, b): np.inf if "high" in (a, b) else 1.0 for a in levels for b in levels if a != b}
    stated = {
        "protected": ["g"], "features": ["x"], "outcome": "y", "favourable": "high", "budget": eh.ExpectedDistortion(1),
        "distortion": eh.Distortion({"y": eh.Nominal(between)}),
    }  # fmt: skip
    a, b = (
        eh.fit(eh.Problem(parity=[eh.PairwiseParity(bound, eh.Difference())], **stated), frame)
        for bound in (0.05, 0.25)
    )
    found = eh.compare(a, b)
    told = [words for words in found.sentences("compared") if "of cases with A" in words]
    assert told
    assert not any("y=high in 0%" in words for words in told)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("seed", range(2))
def test_no_group_of_few_people_follows_from_the_rows_that_are_passed_on(seed):
    rng = np.random.default_rng(seed)
    few = int(rng.integers(7, 20))
    sizes = [few, *rng.integers(100, 400, 3)]
    group = np.repeat(["few", "a", "b", "c"], sizes)
    outcome = (rng.random(len(group)) < np.repeat(rng.uniform(0.2, 0.8, 4), sizes)).astype(int)
    frame = pd.DataFrame({"group": group, "x": rng.integers(0, 2, len(group)), "y": outcome})
    stated = eh.Problem(
        protected=["group"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.3)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    found = eh.compare(*(eh.fit(replace(stated, parity=[eh.PairwiseParity(bound)]), frame) for bound in (0.5, 0.3)))
    passed_on = json.loads(found.to_json())
    groups = passed_on["compared_groups"]
    rest = passed_on["compared"]["people"] - sum(row["people"] for row in groups["groups"])
    assert rest >= few + 100
    assert groups["hidden"] == 2
    for name in ("groups", "rates", "cells"):
        assert "few" not in {row["group"] for row in passed_on[f"compared_{name}"][name]}
    for medium in (str(found), found.to_markdown(), found._repr_html_()):
        assert "few" not in medium.replace("fewer", "")
    assert set(found.groups["group"]) == {"few", "a", "b", "c"}
