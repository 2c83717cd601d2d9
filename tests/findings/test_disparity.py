"""How far apart groups are: what is furthest apart of those who may be shown, rates, and the charts of both."""

from dataclasses import replace

import pytest
from fits import shared_fit
from reports import document_of, hostile_mapping, said_in

import evenhand as eh
from evenhand.render.chart.contents import described

pytestmark = pytest.mark.turns(2)


@pytest.fixture(scope="module")
def found(compas_mapping):
    return document_of(compas_mapping)


def groups_of(rows):
    return [tuple(row["group"].values()) for row in rows]


def test_the_rates_are_the_audits(found, compas_mapping):
    audit = compas_mapping.audit().rates
    rows = found["rates"]["every_rate"]
    assert groups_of(rows) == list(zip(audit["sex"], audit["race"], strict=True))
    for name in ("weight", "before", "after"):
        assert [row[name] for row in rows] == pytest.approx(audit[name].tolist(), abs=1e-12)
    for row in rows:
        for when in ("before", "after"):
            low, high = row[f"interval_{when}"]
            assert low < row[when] < high
    assert (found["rates"]["drawn"], found["rates"]["told"]) == ([0], 0)


def test_the_bounds_are_the_mappings(found, compas_mapping):
    (parity,) = found["rates"]["constraints"]
    bounds = compas_mapping.audit().bounds
    entries = bounds[bounds["constraint"] == "PairwiseParity"]
    # Both orders of two groups are one comparison.
    assert parity["comparisons"] == len(entries) / 2
    tight = entries.loc[entries["slack"] < 1e-6, "where"].str.split(": | against ")
    assert parity["at_bound"] == len({frozenset(each) for each in tight}) > 0
    nearest = found["rates"]["in_detail"]["nearest"]
    assert nearest[0]["achieved"] == pytest.approx(0.1, abs=1e-8)
    assert (nearest[0]["said_bound"], nearest[0]["said"]) == ("1.10 times", "1.10 times")
    (budget,) = found["changes"]["budgets"]
    assert budget["largest"] == pytest.approx(bounds.query("constraint == 'expected distortion'")["achieved"].max())
    assert (budget["smallest_limit"], budget["largest_limit"], budget["per"]) == (0.5, 0.5, "each person")


@pytest.mark.slow
def test_what_is_furthest_apart_is_the_audits_where_nobody_is_hidden(found, compas_mapping, adult_mapping):
    for each, mapping in ((found, compas_mapping), (document_of(adult_mapping), adult_mapping)):
        before, after = each["rates"]["furthest_apart"]
        (headline,) = mapping.audit().sentences("rates")
        for row in (before, after):
            assert f"{row['outcome']} {row['rate']:.1%} ({row['of']})" in headline
        (said,) = said_in(each["rates"], "disparity.constraint")
        assert f"{before['said']} → {after['said']}" in said
    (part,), (before, after) = found["rates"]["constraints"], found["rates"]["furthest_apart"]
    rates = compas_mapping.achieved
    assert before["apart"] == pytest.approx((rates.rates_before.max(0) / rates.rates_before.min(0)).max() - 1)
    assert after["apart"] == pytest.approx((rates.rates_after.max(0) / rates.rates_after.min(0)).max() - 1)
    assert (part["smallest_bound"], part["comparisons_hidden"]) == (0.1, 0)


@pytest.mark.slow
def test_comparisons_with_small_groups_are_counted():
    mapping = hostile_mapping()
    shown, everything, nothing = (document_of(mapping, hide_below=hide)["rates"] for hide in (20, 0, 1e6))
    (part,), rows = shown["constraints"], shown["in_detail"]["nearest"]
    assert (part["comparisons"], part["comparisons_hidden"], len(rows)) == (12, 10, 4)
    (part,) = everything["constraints"]
    assert (part["comparisons_hidden"], len(everything["in_detail"]["nearest"])) == (0, 12)
    assert "10 of 12 comparisons have a group in them that is not shown" in said_in(shown, "disparity.hidden")[0]
    assert said_in(nothing, "disparity.all_hidden")[0].startswith("all 12 comparisons")
    assert (nothing["constraints"][0]["before"], nothing["furthest_apart"]) == (None, [])


def test_the_permitted_band_is_that_of_the_groups_shown():
    rows = [row for row in document_of(hostile_mapping())["rates"]["every_rate"] if row["outcome"] == 1]
    assert {row["permitted"][0] for row in rows} == {min(row["after"] for row in rows)}


def test_levels_stand_in_their_order_with_the_rates_of_the_same_people(compas, found):
    rows = found["rates"]["in_detail"]["by_level"]
    variables = shared_fit(compas.problem, compas.counts).counts.domain.x.variables
    assert [(row["column"], row["level"]) for row in rows] == [
        (v.name, str(level)) for v in variables for level in v.levels
    ]
    for row in rows:
        own = compas.frame[compas.frame[row["column"]].astype(str) == row["level"]]
        assert row["people"] == len(own)
        assert row["before"] == pytest.approx((own["is_recid"] == 0).mean())


def test_charts_draw_the_band_and_the_required_rate(compas):
    def charts(parity):
        mapping = eh.fit(replace(compas.problem, parity=[parity]), compas.counts)
        first, rates, *_ = eh.report_on(mapping, trace=False).sections
        # Where the first screen has all groups, the section does not draw them again.
        assert rates.charts == ()
        return first.charts

    for chart in charts(eh.PairwiseParity(0.1)):
        rows = chart.table.records()
        assert chart.band == ("permitted_low", "permitted_high")
        assert all(row["permitted_low"] - 1e-9 <= row["after"] <= row["permitted_high"] + 1e-9 for row in rows)
    # Of shortfalls the rate that is required beside the highest; the first screen has the outcome that is told.
    (first,) = charts(eh.PairwiseParity(0.2, eh.FourFifths(0)))
    (line,) = first.lines
    assert line.value == pytest.approx(0.8 * max(row["after"] for row in first.table.records()))
    assert "80% of the highest rate" in described(first)
    assert 'class="c-bound"' in eh.report_on(
        eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.2, eh.FourFifths(0))]), compas.counts), trace=False
    ).html  # fmt: skip


@pytest.mark.slow
def test_groups_that_columns_form_together_are_named_where_bounds_are_on_each(compas):
    parity = [eh.PairwiseParity(0.1, on=["sex"]), eh.PairwiseParity(0.2, on=["race"])]
    mapping = eh.fit(replace(compas.problem, parity=parity), compas.counts)
    found = document_of(mapping)
    assert found["report"]["bounded_on"] == [["sex"], ["race"]]
    assert "Groups that sex × race form together." in said_in(found["report"]["covered"])
    rates = [of[:, 0] for of in (mapping.achieved.rates_before, mapping.achieved.rates_after)]
    before, after = (f"{of.max() / of.min():.2f} times" for of in rates)
    (note,) = said_in(found["caveats"], "caveat.together")
    assert note.endswith(f"of is_recid=0 the highest rate is {before} the lowest before, {after} after")
    assert "of the first bound are mostly" in " ".join(said_in(found["report"]["new_people"]))
    whole = document_of(shared_fit(compas.problem, compas.counts))
    assert said_in(whole["caveats"], "caveat.together") == []
    assert not any("form together" in text for text in said_in(whole["report"]["covered"]))


@pytest.mark.slow
def test_a_problem_without_prices_or_budgets(compas):
    found = document_of(eh.fit(replace(compas.problem, parity=[], budget=None), compas.counts))
    assert (found["rates"]["constraints"], found["changes"]["budgets"]) == ([], [])
    assert found["changes"]["share"] == 0
    assert found["cost"]["frontier"]["points"]["every_point"] == []
