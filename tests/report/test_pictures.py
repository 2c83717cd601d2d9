"""The pictures of a mapping hold the findings, and say what they leave out."""

import pytest
from families import small_frame

import evenhand as eh
from evenhand.findings.changes import first_groups, most_changed
from evenhand.findings.naming import matching
from evenhand.findings.rates import cohorts
from evenhand.report import pictures


def every_group(counts):
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def test_charts_hold_these_rows(compas_mapping):
    m = compas_mapping
    spec = m.chart("rates").to_dict()
    audit = m.audit().rates.query("is_recid == 1")
    drawn = [v["rate"] for v in spec["data"]["values"] if v["when"] == "after"]
    assert drawn == pytest.approx(audit["after"].tolist())
    assert m.chart("changes").description.startswith("Who changes, to what, how likely. Largest: ")


def cells(chart):
    return [row for part in chart.to_dict()["concat"] for row in _data(chart.to_dict(), part)]


def _data(spec, part):
    layer = part["layer"][0]["data"] if "data" in part["layer"][0] else part["data"]
    return layer.get("values") or spec["datasets"][layer["name"]]


def test_a_chart_of_cohorts_hides_the_same(compas_mapping):
    m = compas_mapping
    for hide in (0, 20, 60):
        drawn = cells(m.chart("cohorts", show="rates", hide_below=hide))
        groups = [{}, *every_group(m.counts)]
        assert len(drawn) == len(cohorts(m.counts, m.kernel, groups, hide_below=hide))
        assert all(float(cell["people"].replace(",", "")) >= hide for cell in drawn)
    signed = cells(m.chart("cohorts", show="change"))
    assert all(cell["label"][0] in "+−" for cell in signed if abs(cell["value"]) > 0.006)


@pytest.mark.parametrize(
    ("kind", "options", "error", "words"),
    [
        ("pie", {}, eh.SpecError, "kind must be one of"),
        ("heat", {"where": {"sax": "Male"}}, eh.SpecError, "Did you mean 'sex'"),
        ("heat", {"where": {"sex": "male"}}, eh.DataError, "no level 'male'"),
        ("heat", {"where": {"sex": "Male"}, "hide_below": 1e9}, eh.DataError, "nobody to show"),
        ("cohorts", {"hide_below": 1e9}, eh.DataError, "lower hide_below"),
        ("cohorts", {"show": "nothing"}, eh.SpecError, "show must be one of"),
    ],
)
def test_what_cannot_be_drawn(compas_mapping, kind, options, error, words):
    with pytest.raises(error, match=words):
        compas_mapping.chart(kind, **options)


def test_many_groups_are_cut_to_the_largest():
    frame = small_frame()
    counts = eh.fit(_loose(frame), frame).counts
    assert len(first_groups(counts, counts.groups.probability, 1)) == 1


def test_heat_maps_show_who_changes_most_and_say_of_how_many(compas_mapping):
    m = compas_mapping
    chosen = most_changed(m.counts, m.kernel, m.achieved.changed, panels=2)
    mass = m.counts.weight * m.achieved.changed
    assert chosen.held == ("c_charge_degree",)  # of the features, the one that changes least
    every = [
        mass[matching(m.counts, {**group, "is_recid": y, "c_charge_degree": degree})].sum()
        for group in every_group(m.counts)
        for y in (0, 1)
        for degree in "FM"
    ]
    assert [mass[matching(m.counts, part)].sum() for part in chosen.parts] == sorted(every, reverse=True)[:2]
    assert chosen.number == sum(people > 0 for people in every)
    subtitle = " ".join(m.chart("heat").to_dict()["title"]["subtitle"])
    assert f"Shown: of {chosen.number} parts of the table (by sex × race × is_recid × c_charge_degree)" in subtitle
    assert "the 4 with the most people changed" in subtitle
    assert "cells of fewer than 20 people" in " ".join(m.chart("heat", hide_below=20).to_dict()["title"]["subtitle"])
    asked = m.chart("heat", where={"sex": "Male"}).to_dict()["title"]["subtitle"]
    assert "Shown" not in " ".join(asked)


def test_cohorts_say_what_is_averaged_over(compas_mapping):
    def said(**options):
        return " ".join(compas_mapping.chart("cohorts", **options).to_dict()["title"]["subtitle"])

    assert "averaged over c_charge_degree, priors_count" in said(by=["age_cat"], hide_below=0)
    assert "averaged" not in said()
    assert said().startswith("Grey: nobody, or fewer than 20 people before or after (22 of 90 cohorts)")
    assert said(hide_below=0) == "Grey: nobody."
    assert "Of 1 of these groups nothing is left to draw." in said(
        groups=[{"sex": "Female", "is_recid": 0}], hide_below=400
    )


def test_the_chart_of_changes_says_how_many_are_left_out(compas_mapping):
    def said(**options):
        return " ".join(compas_mapping.chart("changes", **options).to_dict()["title"]["subtitle"])

    assert said().startswith("All 6 changes")
    assert said(most=2).startswith("The 2 commonest of 6 changes")
    assert "Shown: the 1 most changed of 4 groups." in said(most_groups=1)
    assert "1 of 4 groups has fewer than 500 people and is not shown; the bounds hold for them too" in said(
        hide_below=500
    )


def _loose(frame):
    return eh.Problem(
        protected=["group"], features=["score"], outcome="hired", parity=[eh.PairwiseParity(5.0)],
        distortion=eh.Distortion({"hired": eh.Ordinal(1)}),
    )  # fmt: skip


def test_where_nobody_changes_there_is_nothing_to_draw():
    frame = small_frame()
    mapping = eh.fit(_loose(frame), frame)
    for kind in ("changes", "heat"):
        with pytest.raises(eh.DataError, match="nobody"):
            pictures.picture(kind, mapping.problem, mapping.counts, mapping.kernel, mapping.achieved)
