from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.findings.bounds import told_from


def test_rates_are_those_of_the_table(compas, compas_mapping):
    rates = compas_mapping.audit().rates
    before = compas.frame.groupby(["sex", "race"])["is_recid"].mean()
    positive = rates[rates["is_recid"] == 1].set_index(["sex", "race"])
    assert positive["before"].to_numpy() == pytest.approx(before.loc[positive.index].to_numpy())
    assert positive["after"].to_numpy() == pytest.approx([0.3934, 0.3672, 0.4039, 0.4039], abs=5e-5)
    assert positive["weight"].sum() == 5278


def test_every_bound_is_listed_with_what_was_achieved(compas_mapping):
    bounds = compas_mapping.audit().bounds
    assert set(bounds["constraint"]) == {"PairwiseParity", "expected distortion"}
    parity = bounds[bounds["constraint"] == "PairwiseParity"]
    assert len(parity) == 4 * 3 * 2
    assert len(bounds) - len(parity) == 142
    assert bounds["slack"].min() >= -1e-9
    assert parity["slack"].min() == pytest.approx(0, abs=1e-9)
    assert parity["where"].str.contains("is_recid=1: sex=Male, race=African-American against").any()
    assert np.allclose(bounds["bound"] - bounds["achieved"], bounds["slack"])


def test_bounds_averaged_over_groups_are_listed_by_record(adult_mapping):
    bounds = adult_mapping.audit().bounds
    assert (bounds["constraint"] == "Pr[distortion > 0.9]").sum() == len(adult_mapping.counts.records.cells)
    assert bounds["where"].str.contains("against the target").sum() == 8
    assert any("budgets are per (x, y)" in note for note in adult_mapping.audit().sentences("caveats"))


def test_changes_add_up(compas_mapping):
    audit = compas_mapping.audit()
    lowered = audit.changes.query("column == 'is_recid'")
    assert lowered[["from", "to"]].to_numpy().tolist() == [[1, 0]]
    rates = audit.rates[audit.rates["is_recid"] == 1]
    fall = ((rates["before"] - rates["after"]) * rates["weight"]).sum() / 5278
    assert lowered["share"].sum() == pytest.approx(fall)
    counts = compas_mapping.counts
    changed = (audit.groups["changed"] * audit.groups["weight"]).sum() / 5278
    assert changed == pytest.approx(counts.probability @ compas_mapping.achieved.changed)


def test_a_group_with_no_one_at_some_outcome_is_legal_and_named():
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    problem = small_problem(
        distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(1)}),
        parity=[eh.PairwiseParity(0.5)],
    )
    mapping = eh.fit(problem, frame)
    assert mapping.certificate.status == "optimal"
    assert mapping.achieved.rates_after[1, 1] > 0
    assert any(
        "nobody in the group group=b has hired=1 before" in note for note in mapping.audit().sentences("caveats")
    )


def test_small_groups_are_named():
    few = pd.DataFrame({"group": ["c"] * 4, "score": [0, 0, 1, 1], "hired": [0, 1, 0, 1]})
    mapping = eh.fit(small_problem(), pd.concat([small_frame(), few], ignore_index=True))
    assert any("group=c has only 4 people" in note for note in mapping.audit().sentences("caveats"))


def test_the_audit_says_what_is_not_covered(compas_mapping):
    notes = " ".join(compas_mapping.audit().sentences("caveats"))
    assert "not its thresholded decisions" in notes
    assert "may not see the protected columns" in notes


def test_headlines_give_the_worst_distance_before_and_after(compas_mapping, adult_mapping):
    (compas,) = compas_mapping.audit().sentences("rates")
    groups = "(sex=Male, race=African-American) vs 36.7% (sex=Female, race=Caucasian)"
    before, after = f"is_recid=1 59.3% {groups}, 1.61 times", f"is_recid=1 40.4% {groups}, ratio 1.1000"
    assert compas == f"largest disparity before: {before}; after: {after}, at most 1.1000 allowed"
    (adult,) = adult_mapping.audit().sentences("rates")
    assert "7.1% (sex=Female, race=Minority) vs 24.1% (the target), 0.29 times" in adult
    assert compas in repr(compas_mapping.audit())


def test_lifts_by_brute_force(compas, compas_mapping):
    """Extended, selective and contrastive lift, before and after, from counts of people alone."""
    lifts = compas_mapping.audit().lifts.set_index(["sex", "race", "is_recid"])
    released = compas_mapping.expand(compas.frame)
    for when, people in (("before", compas.frame.assign(weight=1.0)), ("after", released)):
        mass = people.groupby(["sex", "race", "is_recid"])["weight"].sum()
        for sex, race, y in lifts.index:
            mine, rest = mass.loc[sex, race], mass.drop((sex, race))
            rate = mine[y] / mine.sum()
            others = {g: mass.loc[g][y] / mass.loc[g].sum() for g in {index[:2] for index in mass.index}}
            everybody = mass.groupby("is_recid").sum()[y] / mass.sum()
            row = lifts.loc[(sex, race, y)]
            assert row[f"extended_{when}"] == pytest.approx(rate / everybody)
            selective = rate / (rest.groupby("is_recid").sum()[y] / rest.sum())
            assert row[f"selective_{when}"] == pytest.approx(selective)
            assert row[f"contrastive_{when}"] == pytest.approx(rate / min(others.values()))


def test_lifts_over_nothing():
    """A rate over a rate of zero is infinite; nothing over nothing is one; one group alone has no others."""
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    lifts = eh.fit(small_problem(parity=[]), frame).audit().lifts.set_index(["group", "hired"])
    assert lifts.loc[("a", 1), "contrastive_before"] == np.inf
    assert lifts.loc[("b", 1), "contrastive_before"] == 1
    assert lifts.loc[("b", 1), "extended_before"] == 0


MODES_SAY = {
    "blind": ({"blind": True}, "the mapping is the same for every group, and apply mode needs no protected column"),
    "suppressed": ({"suppress_protected": "fixed"}, "apply mode still reads the protected columns"),
    "own model": (
        {"suppress_protected": "fixed", "conditional": eh.Conditional({(s,): {0: 0.6, 1: 0.4} for s in (0, 1)})},
        "what is bounded is that model's mean score",
    ),
}


@pytest.mark.parametrize("mode", MODES_SAY)
def test_every_mode_says_for_whom_it_holds(mode):
    changes, words = MODES_SAY[mode]
    rules = {"score": eh.Ordinal(1), "hired": eh.Ordinal(1, up=False) if mode == "blind" else eh.Free()}
    problem = small_problem(
        distortion=eh.Distortion(rules), parity=[eh.PairwiseParity(0.6)], budget=eh.ExpectedDistortion(2.0), **changes
    )
    notes = " ".join(eh.fit(problem, small_frame()).audit().sentences("caveats"))
    assert words in notes
    assert ("is not covered: it can depend on them through the features" in notes) == (mode == "blind")


def test_segments_that_were_left_out_are_named():
    few = pd.DataFrame({"group": ["a", "b"], "score": [2, 2], "hired": [0, 1]})
    problem = small_problem(parity=[eh.PairwiseParity(0.9, given=["score"], min_segment=20)])
    notes = eh.fit(problem, pd.concat([small_frame(), few], ignore_index=True)).audit().sentences("caveats")
    assert any("the segment score=2 has a weight of 2, below min_segment 20" in note for note in notes)


@pytest.mark.parametrize(
    ("value", "shown"), [(0.25, "0.250"), (0.10004, "0.10004"), (0.0999996, "0.0999996"), (0.1 + 1e-12, "0.100")]
)
def test_a_rate_near_its_bound_is_told_from_it(value, shown):
    assert told_from(0.1, value) == shown


def test_a_table_in_which_nobody_is_compared(compas, compas_mapping):
    one = compas.frame[(compas.frame["sex"] == "Male") & (compas.frame["race"] == "Caucasian")]
    found = compas_mapping.audit(one)
    assert not (found.bounds["constraint"] == "PairwiseParity").any()
    assert any("nothing to compare" in note for note in found.sentences("caveats"))
    assert not any("changes nothing by itself" in note for note in found.sentences("caveats"))


def test_rates_by_segment_where_parity_is_given_a_feature(compas):
    given = [eh.PairwiseParity(0.3, on=["race"], given=["c_charge_degree"])]
    rates = shared_fit(replace(compas.problem, parity=given), compas.counts).audit().rates
    frame = compas.frame
    whole, within = rates[rates["c_charge_degree"].isna()], rates.dropna(subset="c_charge_degree")
    assert len(whole) == 8
    assert len(within) == 16
    assert within["weight"].sum() == whole["weight"].sum()
    for row in within.to_dict("records"):
        own = frame[np.all([frame[name] == row[name] for name in ("sex", "race", "c_charge_degree")], axis=0)]
        assert row["weight"] == len(own)
        assert row["before"] == pytest.approx((own["is_recid"] == row["is_recid"]).mean())
    for (_, before), (_, after) in zip(whole.groupby("is_recid"), within.groupby("is_recid"), strict=True):
        assert before["weight"] @ before["after"] == pytest.approx(after["weight"] @ after["after"])
