"""The charts of a page as places in percent: they hold the summary's numbers, in order, whatever the table."""

import pytest
from reports import WIDE_TABLES, hostile_mapping, summary_of, tiny_mapping, wide_mapping

from evenhand.report import drawn
from evenhand.report.drawn import Axis, Bar, shares_axis, tone_of


def pairs_of(charts):
    found = [*charts["rates"], *charts["decisions"]]
    return [*found, charts["levels"]] if charts["levels"] else found


def bars_of(charts):
    return [row for name in ("flows", "gains") if charts[name] for outer in charts[name].rows
            for row in (outer, *outer.inner)]  # fmt: skip


@pytest.fixture(scope="module")
def compas_charts(compas_mapping):
    summary = summary_of(compas_mapping, trace=True)
    return drawn.drawn(summary), summary


def test_dots_are_where_the_rates_are(compas_charts):
    charts, summary = compas_charts
    (chart,) = charts["rates"]
    rows = [row for row in summary["rates"]["rows"] if row["outcome"] == summary["rates"]["told"]]
    assert [pair.after for pair in chart.rows] == pytest.approx([chart.axis.at(row["after"]) for row in rows])
    assert [pair.before for pair in chart.rows] == pytest.approx([chart.axis.at(row["before"]) for row in rows])
    low, width = chart.band
    # Every rate after lies in the shade.
    assert all(low - 0.01 <= pair.after <= low + width + 0.01 for pair in chart.rows)
    assert "A higher rate is better" in chart.note


def test_colours_mean_better_and_worse_everywhere(compas_charts):
    charts, summary = compas_charts
    assert summary["ledger"]["favourable"] == 0
    for chart in pairs_of(charts):
        for pair in chart.rows:
            if pair.tone in ("better", "worse"):
                assert (pair.after > pair.before) == (pair.tone == "better")
                assert ("▲" in pair.value) == (pair.tone == "better")
    tones = {bar.label: bar.tone for bar in charts["flows"].rows}
    assert tones.pop("is_recid: 1 → 0") == "better"
    assert set(tones.values()) == {"plain"}
    assert {tone_of(0.1, 0.2, None), tone_of(0.2, 0.2, True)} == {"plain", "still"}


def test_without_a_good_outcome_nothing_is_better():
    charts = drawn.drawn(summary_of(hostile_mapping()))
    assert {pair.tone for chart in pairs_of(charts) for pair in chart.rows} <= {"plain", "still"}
    assert {bar.tone for bar in bars_of(charts)} == {"plain"}
    assert charts["gains"] is None


def test_levels_stand_in_their_order(compas_charts, compas_mapping):
    charts, _ = compas_charts
    labels = [pair.label for pair in charts["levels"].rows]
    expected = [
        f"{variable.name}: {level}"
        for variable in compas_mapping.counts.domain.x.variables
        for level in variable.levels
    ]
    assert labels == expected


def test_flows_are_only_what_changes_and_add_up(compas_charts):
    charts, summary = compas_charts
    bars = charts["flows"].rows
    assert [bar.label for bar in bars] == [
        f"{row['column']}: {row['from']} → {row['to']}" for row in summary["changes"]["columns"] if row["people"] >= 1
    ]
    outcome = bars[0]
    assert sum(inner.length for inner in outcome.inner) == pytest.approx(outcome.length, abs=0.01)


def test_the_frontier_ends_at_its_edge_and_shows_people(compas_charts):
    charts, summary = compas_charts
    chart = charts["frontier"]
    loss, people = chart.panels
    assert (loss.title, people.title) == ("Utility lost", "People changed")
    for panel in (loss, people):
        assert panel.dots[0][:2] == (0.0, 0.0)
        assert panel.dots[-1][:2] == (100.0, 100.0)
        assert panel.here in [dot[:2] for dot in panel.dots]
        heights = [y for _, y, _ in panel.dots]
        assert heights == sorted(heights)
    assert dict(chart.meanings)["B"] == "this mapping: 1.10 times"
    assert summary["frontier"]["edges_said"]["identity_from"] == "1.61 times"


def test_marks_that_would_meet_share_their_place():
    found = {
        "edges": {"smallest_feasible": 0.0, "lossless_from": 0.99, "identity_from": 1.0},
        "edges_said": {name: name for name in ("smallest_feasible", "lossless_from", "identity_from")},
        "chosen": {"bound": 0.5, "said": "here"},
    }
    letters, meanings = drawn._marks(Axis(0.0, 1.0, ()), "bound", found)
    assert letters == ((0.0, "A"), (50.0, "B"), (99.0, "C D"))
    assert [letter for letter, _ in meanings] == ["A", "B", "C", "D"]
    # Two letters need more room beside them than one.
    near = found | {"edges": {"smallest_feasible": 0.0, "lossless_from": 0.03, "identity_from": 0.065}}
    assert drawn._marks(Axis(0.0, 1.0, ()), "bound", near)[0] == ((0.0, "A B C"), (50.0, "D"))
    apart = found | {"edges": {"smallest_feasible": 0.0, "lossless_from": 0.05, "identity_from": 0.1}}
    assert drawn._marks(Axis(0.0, 1.0, ()), "bound", apart)[0][:3] == ((0.0, "A"), (5.0, "B"), (10.0, "C"))


def test_bounds_that_are_written_alike_are_told_apart():
    found = {
        "edges": {"smallest_feasible": 0.149},
        "edges_said": {"smallest_feasible": "1.15 times"},
        "chosen": {"bound": 0.15, "said": "1.15 times"},
    }
    _, meanings = drawn._marks(Axis(0.0, 1.0, ()), "bound", found)
    assert dict(meanings)["A"].endswith("1.15 times, a little tighter than this mapping’s")


@pytest.mark.slow
def test_what_rounding_leaves_of_a_loss_is_none():
    summary = summary_of(tiny_mapping(), trace=True, points=4, hide_below=0)
    for row in summary["frontier"]["points"]:
        row["objective"] = 3e-17
    loss, people = drawn.drawn(summary)["frontier"].panels
    assert loss.extent == "none anywhere"
    assert {y for _, y, _ in loss.dots} == {100.0}
    assert people.extent.startswith("0.0% (0) to ")


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("name", WIDE_TABLES)
@pytest.mark.parametrize("hide_below", [0, 30])
def test_every_place_is_on_its_line_whatever_the_table(name, hide_below):
    charts = drawn.drawn(summary_of(wide_mapping(name), hide_below=hide_below))
    for chart in pairs_of(charts):
        assert 0 < len(chart.rows) <= 48
        assert len(chart.axis.ticks) <= 7
        for pair in chart.rows:
            assert 0 <= pair.before <= 100
            assert 0 <= pair.after <= 100
    for bar in bars_of(charts):
        assert 0 <= bar.length <= 100


def test_an_axis_of_nothing_is_still_one():
    assert shares_axis([]).high == 1.0
    assert shares_axis([0.0]).at(0.0) == 0.0
    assert [label for _, label in shares_axis([1.0]).ticks] == ["0%", "20%", "40%", "60%", "80%", "100%"]
    assert Bar("a", 0.0, "plain", "0").inner == ()
