"""Counts that another problem made: what contradicts the one they are given to is refused, with what to do."""

from dataclasses import replace

import pytest
from families import small_frame, small_problem
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


WRONG = {
    "another number": (2, r"favourable names hired=2, .* levels of 'hired' are \[0, 1\]\.$"),
    "a text": ("1", r"names hired='1', .* Did you mean favourable=1\?"),
    "a truth": (True, r"names hired=True, .* Did you mean favourable=1\?"),
}


class TestFavourable:
    """The outcome that is good for a person is one that the table has, in the table's own type."""

    @pytest.mark.parametrize("name", WRONG)
    @pytest.mark.parametrize("meet", [eh.count, eh.fit, eh.diagnose, eh.smallest_parity_bound])
    def test_a_level_that_is_not_there(self, name, meet):
        level, words = WRONG[name]
        with pytest.raises(eh.SpecError, match=words):
            meet(small_problem(favourable=level), small_frame())

    def test_a_misspelt_level(self):
        frame = small_frame().assign(hired=lambda f: f["hired"].map({0: "rejected", 1: "accepted"}))
        rules = eh.Distortion({"hired": eh.Nominal(1)})
        with pytest.raises(eh.SpecError, match="Did you mean 'accepted'"):
            eh.fit(small_problem(favourable="acepted", distortion=rules), frame)

    def test_counts_and_files_are_asked_too(self, tmp_path):
        counts = eh.count(small_problem(), small_frame())
        words = r"column 'hired' has the levels \[0, 1\], none of which is the problem's favourable 'yes'"
        with pytest.raises(eh.DataError, match=words):
            eh.fit(small_problem(favourable="yes"), counts)
        assert eh.fit(small_problem(favourable=1), counts).problem.favourable == 1
        small_frame().to_csv(tmp_path / "people.csv", index=False)
        with pytest.raises(eh.SpecError, match="favourable names hired='yes'"):
            eh.fit(small_problem(favourable="yes"), tmp_path / "people.csv")

    def test_truths_are_no_numbers(self):
        frame = small_frame().assign(hired=lambda f: f["hired"] == 1)
        assert eh.fit(small_problem(favourable=True), frame).audit().ledger is not None
        with pytest.raises(eh.SpecError, match="Did you mean favourable=True"):
            eh.fit(small_problem(favourable=1), frame)
