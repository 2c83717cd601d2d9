"""Rates of groups and cohorts, against the audit and against the definitions."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.findings.rates import cohorts, permitted, rates


def every_group(counts):
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def test_rates_are_the_audits(compas_mapping):
    m = compas_mapping
    found = rates(m.problem, m.counts, m.kernel)
    audit = m.audit().rates
    for name in ("weight", "before", "after"):
        assert [row[name] for row in found] == pytest.approx(audit[name].tolist(), abs=1e-12)
    for row in found:
        assert row["before_low"] <= row["before"] <= row["before_high"]
        assert row["after_low"] <= row["after"] <= row["after_high"]


def test_all_intervals_are_wider_than_one_alone(compas_mapping):
    from evenhand.findings.theory import clopper_pearson

    m = compas_mapping
    row = rates(m.problem, m.counts, m.kernel)[1]
    low, high = clopper_pearson(np.array([row["before"] * row["weight"]]), np.array([row["weight"]]))
    assert row["before_low"] < low[0]
    assert high[0] < row["before_high"]


def test_the_permitted_band(compas_mapping, adult_mapping):
    m = compas_mapping
    bands = permitted(m.problem, m.counts, m.achieved.rates_after)
    lowest = m.achieved.rates_after[:, 1].min()
    assert bands[1] == pytest.approx((lowest, 1.1 * lowest))
    a = adult_mapping
    overall = a.counts.outcome[1]
    assert permitted(a.problem, a.counts, a.achieved.rates_after)[1] == pytest.approx((0.85 * overall, 1.15 * overall))
    for parity in (eh.PairwiseParity(0.1, on=["sex"]), eh.PairwiseParity(0.1, eh.FourFifths(0))):
        other = replace(m.problem, parity=[parity])
        assert permitted(other, m.counts, m.achieved.rates_after) == {}


def test_cohorts_are_the_conditional_rates(compas, compas_mapping):
    """p(ŷ|x̂,d) and p(y|x,d) from the mapping's own table."""
    m = compas_mapping
    table = m.table()
    weight = compas.frame.value_counts(list(compas.frame.columns)).rename("people").reset_index()
    moved = table.merge(weight, on=list(compas.frame.columns))
    moved["mass"] = moved["people"] * moved["probability"]
    group = {"sex": "Male", "race": "African-American"}
    for row in cohorts(m.counts, m.kernel, [group]):
        x = m.counts.domain.x.labels(row["cell"])
        into = moved[np.logical_and.reduce([moved[f"to_{k}"] == v for k, v in x.items()])]
        into = into[(into["sex"] == "Male") & (into["race"] == "African-American")]
        rate = into.loc[into["to_is_recid"] == 1, "mass"].sum() / into["mass"].sum()
        assert row["after"] == pytest.approx(rate, abs=1e-12)
        own = compas.frame[np.logical_and.reduce([compas.frame[k] == v for k, v in {**x, **group}.items()])]
        assert row["people"] == len(own)
        assert row["before"] == pytest.approx(own["is_recid"].mean(), abs=1e-12)
        assert row["change"] == pytest.approx(row["after"] - row["before"], abs=1e-12)


def test_cohorts_of_fewer_than_the_threshold_are_hidden(compas_mapping):
    m = compas_mapping
    groups = every_group(m.counts)
    every = cohorts(m.counts, m.kernel, groups, hide_below=0)
    assert len(every) == len(m.counts.people_before_outcome.cells)
    shown = cohorts(m.counts, m.kernel, groups)
    hidden = [row for row in every if row["people"] < 20 or row["released_people"] < 20]
    assert hidden
    # One that is hidden alone in its group would be the group less the others.
    alone = [row for row in hidden if sum(other["group"] == row["group"] for other in hidden) == 1]
    assert len(shown) == len(every) - len(hidden) - len(alone)
    assert min(min(row["people"], row["released_people"]) for row in shown) >= 20


def test_cohorts_by_original_features_compare_the_same_people(compas_mapping):
    m = compas_mapping
    for row in cohorts(m.counts, m.kernel, [{}], features="original"):
        assert row["people"] == pytest.approx(row["released_people"])
        # The outcome can only fall, and the people of a cohort stay in it.
        assert row["change"] <= 1e-12


def test_cohorts_by_some_features(compas_mapping):
    m = compas_mapping
    found = cohorts(m.counts, m.kernel, [{}], by=["age_cat"])
    assert sum(row["people"] for row in found) == 5278
    with pytest.raises(eh.SpecError, match="age_cat"):
        cohorts(m.counts, m.kernel, [{}], by=["age"])
