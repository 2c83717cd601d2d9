"""Which rates are compared: eqs. (1), (2) and (4), and what they imply of each other."""

import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from formulations import table

import evenhand as eh
from evenhand import verifier
from evenhand.kernel.achieved import parity_achieved
from evenhand.render.sentences import sentence
from evenhand.spec import comparisons

SEEDS = range(3)


def problem(*parity, **changes):
    """A statement about formulations.table in which parity has its price: everything only falls."""
    rules = {"f0": eh.Ordinal(1, up=False), "f1": eh.Ordinal(1, up=False), "y": eh.Ordinal(1, up=False)}
    statement = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": parity,
        "distortion": eh.Distortion(rules),
        "budget": eh.ExpectedDistortion(0.8),
    }
    return eh.Problem(**{**statement, **changes})


def measured(parity, mapping):
    return parity_achieved(comparisons(parity, mapping.counts), mapping.counts, mapping.kernel)


def violation(parity, mapping):
    return measured(parity, mapping).violation


def rates_by_sex(mapping):
    return measured(eh.PairwiseParity(1.0, on=["sex"]), mapping).rate


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("distance", [eh.Ratio(), eh.Difference(), eh.LogRatio()], ids=repr)
def test_jointly_bounded_is_univariately_bounded(seed, distance):
    bound = 0.12
    joint = eh.fit(problem(eh.PairwiseParity(bound, distance)), table(seed))
    alone = [eh.PairwiseParity(bound, distance, on=[column]) for column in ("sex", "race")]
    assert max(violation(parity, joint) for parity in alone) <= 1e-9
    univariate = eh.fit(problem(*alone), table(seed))
    assert univariate.objective < joint.objective
    assert violation(eh.PairwiseParity(bound, distance), univariate) > 1e-3


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("kind", "more"),
    [
        (eh.PairwiseParity, {}),
        (eh.PairwiseParity, {"against": "rest"}),
        (eh.TargetParity, {"target": {0: 0.8, 1: 0.2}}),
        (eh.TargetParity, {"target": {0: 0.8, 1: 0.2}, "released": True}),
    ],
)
def test_a_segment_that_is_everybody_is_no_segment(seed, kind, more):
    frame = table(seed).assign(b="all")
    statement = {"features": ["f0", "f1", "b"]}
    segments = eh.fit(problem(kind(0.2, given=["b"], on=["sex"], **more), **statement), frame)
    plain = eh.fit(
        problem(kind(0.2, on=["sex"], **{k: v for k, v in more.items() if k != "released"}), **statement), frame
    )
    assert plain.objective > 1e-3
    assert segments.objective == pytest.approx(plain.objective, abs=1e-7)
    assert rates_by_sex(segments) == pytest.approx(rates_by_sex(plain), abs=1e-4)


@pytest.mark.parametrize("seed", SEEDS)
def test_four_fifths_is_a_ratio_of_a_quarter_on_one_outcome(seed):
    fifths = eh.fit(problem(eh.PairwiseParity(0.2, eh.FourFifths(1), on=["sex"])), table(seed))
    quarter = eh.fit(problem(eh.PairwiseParity(eh.By(math.inf, [({"y": 1}, 0.25)]), on=["sex"])), table(seed))
    both = eh.fit(problem(eh.PairwiseParity(0.25, on=["sex"])), table(seed))
    assert fifths.objective > 1e-4
    assert fifths.objective == pytest.approx(quarter.objective, abs=1e-7)
    assert rates_by_sex(fifths) == pytest.approx(rates_by_sex(quarter), abs=1e-4)
    assert fifths.objective <= both.objective + 1e-9


def test_a_pair_without_a_bound_is_not_bounded():
    pair = {"sex": "f", "race": "a", "against": {"sex": "m", "race": "b"}}
    everywhere = eh.fit(problem(eh.PairwiseParity(0.1)), table(0))
    relaxed = eh.fit(problem(eh.PairwiseParity(eh.By(0.1, [(pair, math.inf)]))), table(0))
    only = eh.fit(problem(eh.PairwiseParity(eh.By(math.inf, [(pair, 0.1)]))), table(0))
    assert only.objective < everywhere.objective
    assert relaxed.objective < everywhere.objective - 1e-4
    assert len(comparisons(only.problem.parity[0], only.counts)) == 4


def test_every_group_against_all_others_together():
    counts = eh.count(problem(), table(0))
    part = comparisons(eh.PairwiseParity(0.1, against="rest"), counts)
    assert part.weights.sum(axis=1) == pytest.approx(1.0)
    for population, against in zip(part.population, part.against, strict=True):
        own, other = part.populations[population], part.populations[against]
        assert np.array_equal(other.member, ~own.member)
        assert other.words == f"everybody but {own.words}"


def test_against_one_group():
    counts = eh.count(problem(), table(0))
    part = comparisons(eh.PairwiseParity(0.1, against={"race": "b", "sex": "f"}), counts)
    assert {part.populations[k].words for k in part.against} == {"sex=f, race=b"}
    assert len(part) == 3 * 2


def test_small_segments_and_lone_groups_are_named():
    frame = table(0).query("not (sex == 'm' and f0 == 0)")
    counts = eh.count(problem(), frame)
    part = comparisons(eh.PairwiseParity(0.1, on=["sex"], given=["f0"]), counts)
    assert list(map(sentence, part.left_out)) == ["the segment f0=0 has the one group sex=f: nothing to compare"]
    small = comparisons(eh.PairwiseParity(0.1, given=["f1"], min_segment=1e3), counts)
    left = [sentence(note).split(" has")[0] for note in small.left_out]
    assert left == [f"the segment f1={level}" for level in range(3)]
    assert len(small) == 0
    lacking = comparisons(eh.PairwiseParity(0.1, on=["sex"], given=["f0"], against={"sex": "m"}), counts)
    assert lacking.left_out == part.left_out


def test_a_segment_without_the_reference_group_is_named():
    frame = table(0).query("not (sex == 'm' and race == 'b' and f0 == 0)")
    part = comparisons(
        eh.PairwiseParity(0.1, given=["f0"], against={"sex": "m", "race": "b"}), eh.count(problem(), frame)
    )
    assert list(map(sentence, part.left_out)) == ["the segment f0=0 has nobody of the reference group sex=m, race=b"]


def test_own_rates_are_the_target_within_segments():
    frame = table(0)
    part = comparisons(eh.TargetParity(0.1, on=["sex"], given=["f0"]), eh.count(problem(), frame))
    rates = frame.groupby("f0")["y"].mean()
    for entry in range(len(part)):
        rate = rates[part.populations[part.population[entry]].segment]
        assert part.target[entry] == pytest.approx(rate if part.event[entry] else 1 - rate)


def test_released_segments_bound_what_a_recipient_sees():
    parity = eh.TargetParity(0.05, on=["sex"], given=["f0"], released=True)
    rules = {"f0": eh.Ordinal(1), "y": eh.Ordinal(1)}
    mapping = eh.fit(problem(parity, distortion=eh.Distortion(rules)), table(1))
    rows = mapping.table().merge(table(1).value_counts().rename("n").reset_index())
    rows["mass"] = rows["n"] * rows["probability"]
    own = table(1).groupby("f0")["y"].mean()
    before = table(1).groupby(["sex", "f0"])["y"].mean().div(own, level="f0")
    assert (before - 1).abs().max() > 0.1
    for (_, segment), part in rows.groupby(["sex", "to_f0"]):
        rate = part.loc[part["to_y"] == 1, "mass"].sum() / part["mass"].sum()
        assert abs(rate / own[segment] - 1) <= 0.05 + 1e-8
        assert abs((1 - rate) / (1 - own[segment]) - 1) <= 0.05 + 1e-8


def test_nobody_is_released_into_a_segment_that_is_not_bounded():
    frame = table(1).query("not (f0 == 1 and f1 == 0)")
    parity = eh.TargetParity(0.3, {0: 0.6, 1: 0.4}, on=["sex"], given=["f0", "f1"], released=True)
    rules = {"f0": eh.Ordinal(0.1), "f1": eh.Ordinal(0.1), "y": eh.Ordinal(1)}
    statement = problem(parity, distortion=eh.Distortion(rules))
    with pytest.raises(eh.DataError, match="into the segment f0=1, f1=0, where nobody is"):
        eh.fit(replace(statement, targets="all"), frame)
    assert eh.fit(statement, frame).certificate.status == "optimal"
    assert eh.fit(replace(statement, targets="all"), table(1)).certificate.status == "optimal"


@pytest.mark.parametrize(
    ("parity", "words"),
    [
        (eh.PairwiseParity(0.2, against={"group": "c"}), "'group' has no level 'c'"),
        (eh.PairwiseParity(0.2, against={"sex": "m"}), r"one group by the columns \['group'\]"),
        (eh.PairwiseParity(0.2, eh.FourFifths("yes")), "distance of PairwiseParity names outcome 'yes'"),
        (eh.PairwiseParity(0.2, eh.FourFifths(True)), "distance of PairwiseParity names outcome True"),
        (
            eh.TargetParity(0.2, eh.By({0: 0.6, 1: 0.4}, [({"score": 7}, {0: 0.5, 1: 0.5})]), given=["score"]),
            "target of TargetParity names score=7",
        ),
        (
            eh.TargetParity(0.2, eh.By({0: 0.6, 1: 0.4}, [({"score": 0}, {0: 0.5, 1: 0.5})])),
            "target of TargetParity cannot depend on 'score'",
        ),
        (
            eh.PairwiseParity(eh.By(0.2, [({"score": 0}, 0.1)]), given=["score"], min_segment=150),
            "score=0, but nobody there is held to it",
        ),
    ],
)
def test_statements_that_do_not_fit_the_table(parity, words):
    with pytest.raises(eh.SpecError, match=words):
        eh.fit(small_problem(parity=[parity]), small_frame())


def test_a_reference_group_without_members():
    frame = small_frame().astype({"group": "category"})
    frame["group"] = frame["group"].cat.add_categories("c")
    with pytest.raises(eh.DataError, match="nobody in the table is group=c"):
        eh.fit(small_problem(parity=[eh.PairwiseParity(0.2, against={"group": "c"})]), frame)


def test_a_constraint_that_bounds_nothing():
    parity = eh.PairwiseParity(0.2, given=["score"], min_segment=150)
    with pytest.raises(eh.DataError, match="PairwiseParity bounds nothing in this table: the segment score=0 has"):
        eh.fit(small_problem(parity=[parity]), small_frame())


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"on": ["grup"]}, "on of PairwiseParity names 'grup', .* Did you mean 'group'"),
        ({"given": ["scor"]}, "given of PairwiseParity names 'scor', .* Did you mean 'score'"),
        ({"given": ["group"]}, "given of PairwiseParity names 'group', which is not in features"),
    ],
)
def test_columns_that_do_not_exist(changes, words):
    with pytest.raises(eh.SpecError, match=words):
        small_problem(parity=[eh.PairwiseParity(0.2, **changes)])


def test_a_column_of_names_is_no_protected_column(monkeypatch):
    monkeypatch.setattr("evenhand.spec.comparison.MOST_ENTRIES", 3)
    with pytest.raises(eh.DataError, match=r"would compare 2 groups .* must tell groups apart, not people"):
        eh.fit(small_problem(), small_frame())


class TestMissingGroups:
    """People whose group is missing set no rate for others: here they have the highest rate by far."""

    GIVEN = (
        eh.PairwiseParity(0.1),
        eh.PairwiseParity(0.1, against="rest"),
        eh.PairwiseParity(0.1, against={"sex": "f"}),
        eh.PairwiseParity(0.1, given=["f0"]),
        eh.PairwiseParity(0.2, distance=eh.FourFifths(1)),
        eh.FeatureParity(0.1),
    )

    def frame(self):
        rng = np.random.default_rng(3)
        sex = rng.choice(["f", "m", None], 900, p=[0.45, 0.45, 0.1])
        rate = pd.Series(sex).map({"f": 0.3, "m": 0.4}).fillna(0.9)
        return pd.DataFrame({"sex": sex, "f0": rng.integers(0, 2, 900), "y": (rng.random(900) < rate).astype(int)})

    def problem(self, parity, **changes):
        rules = {"f0": eh.Nominal(1), "y": eh.Nominal(1)}
        columns = {"protected": ["sex"], "features": ["f0"], "outcome": "y"}
        return eh.Problem(**columns, parity=[parity], distortion=eh.Distortion(rules), missing="level", **changes)

    @pytest.mark.parametrize("parity", GIVEN)
    def test_no_comparison_is_with_them(self, parity):
        counts = eh.count(self.problem(parity), self.frame())
        compared = comparisons(parity, counts)
        missing = counts.domain.d.variables[0].missing
        populations = [compared.populations[i] for i in np.concatenate([compared.population, compared.against])]
        assert len(compared)
        assert not any(population.member[counts.d == missing].any() for population in populations)
        assert [note.about for note in compared.left_out] == [({"sex": "(missing)"},)]

    @pytest.mark.parametrize(("target", "counted"), [(None, True), ({0: 0.5, 1: 0.5}, False)])
    def test_a_target_holds_for_them_too(self, target, counted):
        parity = eh.TargetParity(0.1, target=target)
        found = comparisons(parity, eh.count(self.problem(parity), self.frame()))
        assert len(np.unique(found.population)) == 3
        assert [note.key for note in found.left_out] == ["parity.missing_in_target"] * counted

    def test_others_are_raised_no_further_than_to_the_known_rates(self):
        one_way = eh.Distortion({"y": eh.Ordinal(1, down=False)})
        stated = self.problem(eh.PairwiseParity(0.1, distance=eh.FourFifths(1)), favourable=1)
        mapping = eh.fit(replace(stated, distortion=one_way), self.frame())
        rates = mapping.audit().rates.query("y == 1").set_index("sex")
        assert rates.loc["(missing)", "after"] == pytest.approx(rates.loc["(missing)", "before"])
        assert rates.loc["m", "after"] == pytest.approx(rates.loc["m", "before"])
        assert rates.loc["f", "after"] == pytest.approx(0.9 * rates.loc["m", "after"])
        assert any("sex=(missing) is not compared" in note for note in mapping.audit().sentences("caveats"))

    def test_nor_to_the_rates_of_a_rest_that_they_are_in(self, tmp_path):
        """With them in the rest, both groups would have to rise; the proof names whom it leaves out of the rest."""
        rate = {"f": 0.3, "m": 0.4}
        sex = ["f"] * 100 + ["m"] * 100 + [None] * 200
        positive = [k < 100 * rate.get(group, 1) for group in ("f", "m") for k in range(100)] + [True] * 200
        frame = pd.DataFrame({"sex": sex, "f0": 0, "y": np.array(positive, dtype=int)})
        one_way = eh.Distortion({"y": eh.Ordinal(1, down=False)})
        parity = eh.PairwiseParity(0.05, distance=eh.FourFifths(1), against="rest")
        mapping = eh.fit(replace(self.problem(parity), distortion=one_way), frame)
        rates = mapping.audit().rates.query("y == 1").set_index("sex")
        assert rates.loc["f", "after"] == pytest.approx(0.95 * 0.4)
        assert rates.loc["m", "after"] == pytest.approx(0.4)
        mapping.proof(tmp_path / "a.proof")
        assert json.loads((tmp_path / "a.proof").read_text())["statement"]["parity"][0]["unknown"]
        assert verifier.verify(tmp_path / "a.proof").stands

    def test_they_are_no_reference(self):
        parity = eh.PairwiseParity(0.1, against={"sex": "(missing)"})
        with pytest.raises(eh.SpecError, match=r"sex=\(missing\)"):
            comparisons(parity, eh.count(self.problem(parity), self.frame()))

    def test_one_known_group_is_nothing_to_compare(self):
        parity = eh.PairwiseParity(0.1)
        frame = self.frame().query("sex != 'm'")
        with pytest.raises(eh.DataError, match="known"):
            eh.fit(self.problem(parity), frame)
