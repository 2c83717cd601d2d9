"""Two mappings compared: against the tables of both written out, and what cannot be compared."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from formulations import table
from wide import wide_frame, wide_problem

import evenhand as eh

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


@pytest.mark.slow(keep=2)
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
    assert "The two statements are the same." in same.words
    assert any(words.startswith("Nobody is treated differently") for words in same.words)
    assert not len(same.cells)
    assert same.about == "the 400 people on whom both were fitted"
    b = eh.fit(problem(parity=[eh.PairwiseParity(0.2)], favourable=1, bins={}, blind=True), frame)
    assert {tuple(row) for row in eh.compare(a, b).statement.itertuples(index=False)} == {
        ("favourable", None, "1"),
        ("blind", "false", "true"),
        ("parity[0].bound", "0.3", "0.2"),
    }


def test_a_new_level_other_people_and_other_groups():
    frame = table(4)
    a = eh.fit(problem(), frame[frame["f1"] < 2])
    with_level = eh.compare(a, eh.fit(problem(), frame))
    assert "on whom B was fitted; A was fitted on" in with_level.about
    assert any("cells that nobody had whom A was fitted on" in note for note in with_level.notes)
    assert any("records are not" in note for note in with_level.notes)
    assert "other_record" not in with_level.groups
    fewer = eh.fit(problem(protected=["sex"], features=["f0", "f1"]), frame)
    found = eh.compare(eh.fit(problem(), frame), fewer, frame)
    assert list(found.groups["sex"]) == ["f", "m"]
    assert any(note.startswith("A protects sex, race, B sex") for note in found.notes)
    with pytest.raises(eh.SpecError, match=r"'race', which the second does not know.*give a table"):
        eh.compare(eh.fit(problem(), frame), fewer)
    strange = frame.assign(sex="x")
    with pytest.raises(eh.DataError, match="nobody in the table"):
        eh.compare(a, a, strange)
    some = pd.concat([frame[frame["f1"] < 2], strange.head(3)])
    assert any(note.startswith("3 rows of the table") for note in eh.compare(a, a, some).notes)


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
    assert any("records are not" in note for note in found.notes)


def test_different_outcomes_are_refused(compas_mapping, adult_mapping):
    with pytest.raises(eh.SpecError, match="different outcomes, 'is_recid' and 'income'"):
        eh.compare(compas_mapping, adult_mapping)
    frame = table(6)
    three = frame.assign(y=frame["y"] + (np.arange(400) % 2))
    with pytest.raises(eh.SpecError, match=r"has the levels \[0, 1\] in one mapping and \[0, 1, 2\] in the other"):
        eh.compare(eh.fit(problem(), frame), eh.fit(problem(parity=[eh.PairwiseParity(0.9)]), three))


def test_json_page_and_a_measure_of_ones_own(compas, compas_mapping, tmp_path):
    quartic = eh.Separable(
        value=lambda p, r: (r - p) ** 2,
        gradient=lambda p, r: 2 * (r - p),
        curvature=lambda p, r: np.full_like(r, 2.0),
        name="squares",
    )
    other = eh.fit(replace(compas.problem, utility=quartic), compas.counts)
    found = eh.compare(compas_mapping, other)
    assert any("different measures" in note for note in found.notes)
    assert found.statement["setting"].tolist() == ["Minimised", "Minimised"]
    document = json.loads(json.dumps(found.as_dict(), allow_nan=False))
    assert document["people"] == 5278
    page = found.save(tmp_path / "both.html").read_text(encoding="utf-8")
    assert "Two mappings compared" in page
    for words in found.words:
        assert words.split(" (")[0].replace("<", "&lt;").replace(">", "&gt;") in page
    assert repr(found).startswith("<Comparison on 5,278 people: ")
