"""Counts that another problem made: what contradicts the one they are given to is refused, with what to do."""

from dataclasses import replace

import pytest
from people import people, problem

import evenhand as eh
from evenhand.spec.agreement import disagreement

MERGED = eh.MergedLevels({"office": ["clerk"]}, rest="all else")
STATED = {
    "as it is": problem(),
    "quantiles": problem(bins={"age": eh.Quantiles(3), "hours": eh.ChosenBins(3)}),
    "merged": problem(bins={**problem().bins, "job": MERGED}),
    "merged, some alone": problem(bins={**problem().bins, "job": eh.MergedLevels({"office": ["clerk", "cook"]})}),
    "pooled": problem(bins={**problem().bins, "job": eh.PooledLevels(200)}),
    "no missing values": problem(missing="error", missing_values=[]),
}
JOBS = eh.Ordinal(1, levels=["cook", "clerk", "übrig", 'O\'Brien, "x"'])
IN_ORDER = problem(distortion=eh.Distortion({"job": JOBS, "hired": eh.Ordinal(2, up=False)}))


@pytest.mark.parametrize("name", STATED)
def test_counts_of_a_problem_agree_with_it_and_with_no_other(name):
    counts = eh.count(STATED[name], people(500))
    assert disagreement(STATED[name], counts.domain) is None
    for other, stated in STATED.items():
        if other != name:
            assert disagreement(stated, counts.domain) is not None


def test_counts_of_other_bins_are_not_fitted():
    counts = eh.count(problem(), people(500))
    other = replace(problem(), bins={"age": eh.Edges([30, 45]), "hours": eh.Quantiles(3)})
    with pytest.raises(eh.DataError, match=r"column 'age' has other levels .* count the table for this problem"):
        eh.fit(other, counts)
    assert eh.fit(problem(), counts).certificate.status == "optimal"


def test_counts_with_levels_of_a_rule_and_missing_values_are_fitted():
    counts = eh.count(IN_ORDER, people(500))
    assert eh.fit(IN_ORDER, counts).certificate.max_violation <= 1e-6
    assert "its rule gives the levels" in disagreement(IN_ORDER, eh.count(problem(), people(500)).domain)
