"""The rows behind charts and summaries, against the audit and against the definitions."""

from dataclasses import replace

import numpy as np
import pytest
from families import small_frame

import evenhand as eh
from evenhand.report import pictures, rows


def test_rates_are_the_audits(compas_mapping):
    m = compas_mapping
    found = rows.rates(m.problem, m.counts, m.kernel)
    audit = m.audit().rates
    for name in ("weight", "before", "after"):
        assert [row[name] for row in found] == pytest.approx(audit[name].tolist(), abs=1e-12)
    for row in found:
        assert row["before_low"] <= row["before"] <= row["before_high"]
        assert row["after_low"] <= row["after"] <= row["after_high"]


def test_all_intervals_are_wider_than_one_alone(compas_mapping):
    from evenhand.findings.theory import clopper_pearson

    m = compas_mapping
    row = rows.rates(m.problem, m.counts, m.kernel)[1]
    low, high = clopper_pearson(np.array([row["before"] * row["weight"]]), np.array([row["weight"]]))
    assert row["before_low"] < low[0]
    assert high[0] < row["before_high"]


def test_the_permitted_band(compas_mapping, adult_mapping):
    m = compas_mapping
    bands = rows.permitted(m.problem, m.counts, m.achieved.rates_after)
    lowest = m.achieved.rates_after[:, 1].min()
    assert bands[1] == pytest.approx((lowest, 1.1 * lowest))
    a = adult_mapping
    overall = a.counts.outcome[1]
    assert rows.permitted(a.problem, a.counts, a.achieved.rates_after)[1] == pytest.approx(
        (0.85 * overall, 1.15 * overall)
    )
    for parity in (eh.PairwiseParity(0.1, on=["sex"]), eh.PairwiseParity(0.1, eh.FourFifths(1))):
        other = replace(m.problem, parity=[parity])
        assert rows.permitted(other, m.counts, m.achieved.rates_after) == {}


def test_cohorts_are_the_conditional_rates(compas, compas_mapping):
    """p(ŷ|x̂,d) and p(y|x,d) from the mapping's own table."""
    m = compas_mapping
    table = m.table()
    weight = compas.frame.value_counts(list(compas.frame.columns)).rename("people").reset_index()
    moved = table.merge(weight, on=list(compas.frame.columns))
    moved["mass"] = moved["people"] * moved["probability"]
    group = {"sex": "Male", "race": "African-American"}
    for row in rows.cohorts(m.counts, m.kernel, [group]):
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
    groups = rows.every_group(m.counts)
    every = rows.cohorts(m.counts, m.kernel, groups, hide_below=0)
    assert len(every) == len(m.counts.people_before_outcome.cells)
    shown = rows.cohorts(m.counts, m.kernel, groups)
    hidden = [row for row in every if row["people"] < 20 or row["released_people"] < 20]
    assert hidden
    assert len(shown) == len(every) - len(hidden)
    assert min(min(row["people"], row["released_people"]) for row in shown) >= 20


def test_cohorts_by_original_features_compare_the_same_people(compas_mapping):
    m = compas_mapping
    for row in rows.cohorts(m.counts, m.kernel, [{}], features="original"):
        assert row["people"] == pytest.approx(row["released_people"])
        # The outcome can only fall, and the people of a cohort stay in it.
        assert row["change"] <= 1e-12


def test_cohorts_by_some_features(compas_mapping):
    m = compas_mapping
    found = rows.cohorts(m.counts, m.kernel, [{}], by=["age_cat"])
    assert sum(row["people"] for row in found) == 5278
    with pytest.raises(eh.SpecError, match="age_cat"):
        rows.cohorts(m.counts, m.kernel, [{}], by=["age"])


def test_moves_are_the_kernels_and_columns_need_a_sum(compas_mapping):
    m = compas_mapping
    where = {"sex": "Male", "race": "African-American", "age_cat": "Less than 25", "is_recid": 1}
    table = m.table()
    own = table[np.logical_and.reduce([table[k] == v for k, v in where.items()])]
    every = rows.moves(m.counts, m.kernel, where, least=0)
    assert sorted(row["probability"] for row in every) == pytest.approx(sorted(own["probability"]))
    total = {}
    for row in every:
        total[row["target"]] = total.get(row["target"], 0) + row["probability"]
    shown = {row["target"] for row in rows.moves(m.counts, m.kernel, where, least=0.5)}
    assert shown == {target for target, mass in total.items() if mass > 0.5}
    assert {row["source"] for row in every} == {f"{c} · {p}" for c in "FM" for p in ("0", "1-3", ">3")}


def test_changes_add_up_to_the_audits(compas_mapping):
    m = compas_mapping
    audit = {(r["column"], r["from"], r["to"]): r["share"] for r in m.audit().changes.to_dict("records")}
    found = {}
    for row in rows.changes(m.counts, m.kernel):
        key = (row["column"], row["from"], row["to"])
        found[key] = found.get(key, 0) + row["people"] / 5278
        assert row["probability"] == pytest.approx(row["people"] / row["had"])
    assert found == pytest.approx(audit)


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


@pytest.mark.slow
def test_a_chart_of_cohorts_hides_the_same(compas_mapping):
    m = compas_mapping
    for hide in (0, 20, 60):
        drawn = cells(m.chart("cohorts", show="rates", hide_below=hide))
        groups = [{}, *rows.every_group(m.counts)]
        assert len(drawn) == len(rows.cohorts(m.counts, m.kernel, groups, hide_below=hide))
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
    assert len(rows.largest_groups(eh.fit(_loose(frame), frame).counts, 1)) == 1


def test_groups_are_chosen_by_people_changed(adult_mapping):
    m = adult_mapping
    people = np.bincount(m.counts.groups.of_source, weights=m.counts.weight * m.achieved.changed)
    for most in (1, 2, 4):
        wanted = set(np.argsort(-people)[:most])
        expected = [g for at, g in enumerate(rows.every_group(m.counts)) if at in wanted]
        assert rows.most_changed_groups(m.counts, m.achieved.changed, most) == expected
    large = rows.most_changed_groups(m.counts, m.achieved.changed, 4, hide_below=10_000)
    assert [m.counts.weight[rows.matching(m.counts, g)].sum() >= 10_000 for g in large] == [True] * len(large)


@pytest.mark.slow
def test_heat_maps_show_who_changes_most_and_say_of_how_many(compas_mapping):
    m = compas_mapping
    chosen = rows.most_changed(m.counts, m.kernel, m.achieved.changed, panels=2)
    mass = m.counts.weight * m.achieved.changed
    assert chosen.held == ("c_charge_degree",)  # of the features, the one that changes least
    every = [
        mass[rows.matching(m.counts, {**group, "is_recid": y, "c_charge_degree": degree})].sum()
        for group in rows.every_group(m.counts)
        for y in (0, 1)
        for degree in "FM"
    ]
    assert [mass[rows.matching(m.counts, part)].sum() for part in chosen.parts] == sorted(every, reverse=True)[:2]
    assert chosen.number == sum(people > 0 for people in every)
    subtitle = " ".join(m.chart("heat").to_dict()["title"]["subtitle"])
    assert f"Shown: of {chosen.number} parts of the table (by sex × race × is_recid × c_charge_degree)" in subtitle
    assert "the 4 with the most people changed" in subtitle
    assert "cells of fewer than 20 people" in " ".join(m.chart("heat", hide_below=20).to_dict()["title"]["subtitle"])
    asked = m.chart("heat", where={"sex": "Male"}).to_dict()["title"]["subtitle"]
    assert "Shown" not in " ".join(asked)


def test_a_heat_map_is_not_of_hidden_cells(compas_mapping):
    m = compas_mapping
    chosen = rows.most_changed(m.counts, m.kernel, m.achieved.changed, hide_below=100, panels=99)
    for part in chosen.parts:
        there = rows.matching(m.counts, part) & (m.counts.weight >= 100)
        assert (m.counts.weight * m.achieved.changed)[there].sum() > 0
    assert rows.most_changed(m.counts, m.kernel, m.achieved.changed, hide_below=1e9).parts == []


@pytest.mark.slow
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
            pictures.picture(kind, mapping.problem, mapping.counts, mapping.kernel)
