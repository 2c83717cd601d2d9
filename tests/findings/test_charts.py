"""Charts hold the findings, and say what they leave out."""

import math
import re
from dataclasses import replace
from itertools import product

import pytest
from families import small_frame
from reports import WIDE_TABLES, wide_mapping

import evenhand as eh
from evenhand.findings.changes import most_changed
from evenhand.findings.charts import MOST_BATCHES, MOST_HISTORY_PANELS, history_charts
from evenhand.findings.naming import matching
from evenhand.findings.rates import cohorts
from evenhand.render.chart.contents import described


def every_group(counts):
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def only(picture):
    (chart,) = picture.charts
    return chart


def notes(chart):
    return {note.key: note.fields for note in chart.notes}


def known(chart, name):
    """The rows of a chart that have a number in a column."""
    return [row for row in chart.table.records() if row[name] is not None]


def test_rates_are_those_of_the_audit_with_what_is_allowed(compas_mapping):
    chart = only(compas_mapping.chart("rates", confidence=0.9))
    audit = compas_mapping.audit().rates.query("is_recid == 1")
    for when in ("before", "after"):
        assert chart.table.values(when) == pytest.approx(audit[when].tolist())
    assert chart.fields == {"outcome": "is_recid=1", "confidence": 0.9}
    assert notes(chart)["chart.constraints"]["constraints"] == [compas_mapping.problem.parity[0].words]
    assert chart.band == ("permitted_low", "permitted_high")
    low, after = chart.table.values("permitted_low"), chart.table.values("after")
    assert low == pytest.approx([min(after)] * len(low))
    # Fewer records of reoffending are better for people.
    assert chart.table.values("tone") == [None, None, "better", "better"]


def test_four_fifths_of_the_highest_rate_are_drawn():
    problem = _loose().with_bounds(lambda _: 0.2)
    rule = eh.PairwiseParity(0.2, distance=eh.FourFifths(1))
    mapping = eh.fit(replace(problem, parity=[rule], favourable=1), small_frame())
    chart = only(mapping.chart("rates"))
    (line,) = chart.lines
    assert line.value == pytest.approx(0.8 * max(chart.table.values("after")))
    assert f"80% of the highest rate: {line.value:.1%}" in described(chart)
    assert min(chart.table.values("after")) >= line.value - 1e-9


def test_a_title_may_be_ones_own(compas_mapping):
    assert repr(compas_mapping.chart("cohorts", title="Mine")).startswith("<Picture: Mine; Change by cohort")


def test_a_chart_of_cohorts_hides_the_same(compas_mapping):
    m = compas_mapping
    for hide in (0, 20, 60):
        chart = only(m.chart("cohorts", show="rates", hide_below=hide))
        found = cohorts(m.counts, m.kernel, [{}, *every_group(m.counts)], hide_below=hide)
        assert sorted(row["before"] for row in known(chart, "before")) == sorted(row["before"] for row in found)


def test_every_panel_of_cohorts_has_the_same_rows_and_columns(compas_mapping):
    rows = only(compas_mapping.chart("cohorts", show="change")).table.records()
    places = {}
    for row in rows:
        places.setdefault(row["group"], []).append((row["cohort"], row["level"]))
    assert len({tuple(own) for own in places.values()}) == 1
    assert [level for _, level in places["everybody"][:3]] == ["0", "1-3", ">3"]


@pytest.mark.parametrize(("good", "outcome", "tones"), [(0, 0, "better"), (0, 1, "worse"), (None, 1, None)])
def test_more_is_better_or_worse_whichever_outcome_is_shown(compas_mapping, good, outcome, tones):
    mapping = replace(compas_mapping, problem=replace(compas_mapping.problem, favourable=good))
    chart = only(mapping.chart("cohorts", show="change", outcome=outcome))
    more = [row for row in known(chart, "change") if abs(row["change"]) > 0.01]
    assert more
    other = {"better": "worse", "worse": "better", None: None}[tones]
    assert {row["tone"] for row in more if row["change"] > 0} <= {tones}
    assert {row["tone"] for row in more if row["change"] < 0} <= {other}


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
    told = notes(only(m.chart("heat")))["chart.parts"]
    assert (told["shown"], told["total"]) == (4, chosen.number)
    assert told["by"] == ["sex", "race", "is_recid", "c_charge_degree"]
    hidden = notes(only(m.chart("heat", hide_below=20)))["chart.hidden_cells"]
    assert (hidden["hidden"], hidden["total"]) == (7, 36)
    assert "chart.parts" not in notes(only(m.chart("heat", where={"sex": "Male"})))


@pytest.mark.slow
def test_cohorts_say_what_is_averaged_over(compas_mapping):
    def told(**options):
        return notes(compas_mapping.chart("cohorts", **options).charts[-1])

    assert told(by=["age_cat"], hide_below=0)["chart.averaged"]["over"] == ["c_charge_degree", "priors_count"]
    hidden = told()["chart.hidden_cohorts"]
    assert (hidden["hidden"], hidden["total"], hidden["least"]) == (23, 90, 20)
    assert told(hide_below=0) == {}
    assert told(groups=[{"sex": "Female", "is_recid": 0}], hide_below=400)["chart.empty_groups"] == {"empty": 1}


def test_the_chart_of_changes_says_how_many_are_left_out(compas_mapping):
    def told(**options):
        return notes(only(compas_mapping.chart("changes", **options)))

    assert told() == {}
    assert told(most=2)["chart.changes"] == {"shown": 2, "total": 6}
    assert told(most_groups=1)["chart.groups"] == {"shown": 1, "which": "most changed", "total": 4}
    with pytest.raises(eh.DataError, match="who may be shown with this hide_below"):
        told(hide_below=500)


def _loose():
    return eh.Problem(
        protected=["group"], features=["score"], outcome="hired", parity=[eh.PairwiseParity(5.0)],
        distortion=eh.Distortion({"hired": eh.Ordinal(1)}),
    )  # fmt: skip


def test_where_nobody_changes_there_is_nothing_to_draw():
    mapping = eh.fit(_loose(), small_frame())
    for kind in ("changes", "heat"):
        with pytest.raises(eh.DataError, match="nobody"):
            mapping.chart(kind)


# ---------------------------------------------------------------------------------------------------------------------
# Whatever the table
# ---------------------------------------------------------------------------------------------------------------------

HIGHEST = 7000
"""The largest height of a picture that is 760 wide, in pixels: about six sheets of paper."""

CASES = list(product(WIDE_TABLES, (0, 30)))


def drawn(kind, name, hide_below, **options):
    """Return the charts of a wide table; none where nobody is left to draw."""
    try:
        return wide_mapping(name).chart(kind, hide_below=hide_below, **options)
    except eh.DataError:
        return None


def check_groups(name, hide_below, which, told, number):
    """A chart says how many groups are shown and hidden, of all that there are."""
    counts = wide_mapping(name).counts
    total, few = len(counts.groups.cells), int((counts.group_weight < hide_below).sum())
    # One alone would be the total less the others.
    few += few == 1
    hidden = {"hidden": few, "total": total, "least": hide_below} if few else None
    assert told.get("chart.hidden_groups") == hidden
    some = {"shown": number, "which": which, "total": total}
    assert told.get("chart.groups") == (None if number == total - few else some)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["rates", "heat", "cohorts", "changes"])
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_no_picture_is_higher_than_a_few_sheets(kind, name, hide_below):
    found = drawn(kind, name, hide_below)
    if found is None:
        assert hide_below
        return
    height = float(re.search(r'<svg[^>]*? height="([\d.]+)"', found.to_svg())[1])
    assert height <= HIGHEST


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_rates_that_are_shown_are_counted(name, hide_below):
    if (found := drawn("rates", name, hide_below)) is None:
        return
    chart = only(found)
    levels, outcomes = len(set(chart.table.values("level"))), WIDE_TABLES[name][1]
    occur = wide_mapping(name).counts.domain.y.size
    some = {"shown": levels, "total": occur}
    assert notes(chart).get("chart.outcomes") == (None if levels == occur or outcomes == 2 else some)
    check_groups(name, hide_below, "largest", notes(chart), len(set(chart.table.values("group"))))


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_changes_that_are_shown_are_counted(name, hide_below):
    if (found := drawn("changes", name, hide_below)) is None:
        return
    chart, every = only(found), only(drawn("changes", name, hide_below, most=10**6))
    check_groups(name, hide_below, "most changed", notes(chart), len(set(chart.table.values("group"))))
    shown, total = (len(set(each.table.values("change"))) for each in (chart, every))
    some = {"shown": shown, "total": total}
    assert notes(chart).get("chart.changes") == (None if shown == total else some)


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_parts_that_a_heat_map_shows_are_counted(name, hide_below):
    if (found := drawn("heat", name, hide_below)) is None:
        return
    chart, mapping = only(found), wide_mapping(name)
    number = most_changed(mapping.counts, mapping.kernel, mapping.achieved.changed, hide_below=hide_below).number
    told = notes(chart)
    assert told["chart.parts"]["shown"] == len(set(chart.table.values("part")))
    assert told["chart.parts"]["total"] == number
    if "chart.sources" in told:
        assert len(set(chart.table.values("from"))) <= told["chart.sources"]["shown"] < told["chart.sources"]["total"]


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize(("name", "hide_below"), CASES)
def test_the_cohorts_that_are_shown_are_counted(name, hide_below):
    if (found := drawn("cohorts", name, hide_below)) is None:
        return
    before, change = found.charts
    told, mapping, there = notes(change), wide_mapping(name), 0
    rows, columns, groups = (set(before.table.values(each)) for each in ("cohort", "level", "group"))
    for group in groups:
        where = {} if group == "everybody" else {"group": group}
        for row in cohorts(mapping.counts, mapping.kernel, [where], hide_below=0):
            *down, across = map(str, mapping.counts.domain.x.labels(row["cell"]).values())
            there += (" · ".join(down) or "all") in rows and across in columns
    hidden = {"hidden": there - len(known(before, "before")), "total": there, "least": hide_below}
    assert told.get("chart.hidden_cohorts") == (hidden if hidden["hidden"] else None)
    if "chart.groups" in told:
        assert told["chart.groups"]["total"] == len(mapping.counts.groups.cells) > told["chart.groups"]["shown"]
    if cut := told.get("chart.cohorts_across"):
        assert cut["shown"] == len(columns) < cut["total"]


@pytest.mark.slow
def test_a_part_that_is_asked_for_is_cut_too():
    chart = only(wide_mapping("many cohorts").chart("heat", where=[{"y": 1}]))
    told = notes(chart)
    assert told["chart.sources"]["shown"] == len(set(chart.table.values("from"))) < told["chart.sources"]["total"]
    assert told["chart.columns"]["shown"] == len(set(chart.table.values("to"))) < told["chart.columns"]["total"]


# ---------------------------------------------------------------------------------------------------------------------
# Batches
# ---------------------------------------------------------------------------------------------------------------------


def record(number, bounds=8, looks=9, **more):
    """A batch in which the bound and the look of a larger number are further out."""
    return {
        "at": f"2026-03-0{number % 9 + 1}T12:30:00+00:00",
        "name": f"week {number}" if number % 2 else None,
        "verdict": "not decided",
        "confidence": 0.95,
        "bounds": [
            {"constraint": "PairwiseParity", "where": f"y=1: g{at} against h", "bound": 0.1, "value": 0.02 * at,
             "low": 0.01 * at, "high": 0.2 + 0.01 * at, "verdict": "not decided", **more}
            for at in range(bounds)
        ],
        "drift": [
            {"what": "column", "name": f"column {at}", "apart": 0.01 * at + 0.001 * number, "limit": 0.05,
             "expected": 0.01, "drifted": at > 5}
            for at in range(looks)
        ],
    }  # fmt: skip


def panel(chart, at=0):
    """The rows of one panel, under its name."""
    name = list(dict.fromkeys(chart.table.values("what")))[at]
    return name, [row for row in chart.table.records() if row["what"] == name]


def test_every_batch_has_its_interval_and_its_distance():
    bounds, drift = history_charts([record(number) for number in range(4)])
    for chart, total in ((bounds, 8), (drift, 9)):
        assert len(set(chart.table.values("what"))) == MOST_HISTORY_PANELS
        assert notes(chart)["chart.looks"] == {"shown": MOST_HISTORY_PANELS, "total": total}
    name, rows = panel(bounds)
    assert name == "PairwiseParity: y=1: g7 against h"
    called = ["1: 2026-03-01 12:30", "2: week 1", "3: 2026-03-03 12:30", "4: week 3"]
    assert [row["batch"] for row in rows] == called
    assert {(row["low"], row["high"], row["value"], row["bound"]) for row in rows} == {(0.07, 0.27, 0.14, 0.1)}
    _, rows = panel(drift)
    assert [row["value"] for row in rows] == pytest.approx([0.08, 0.081, 0.082, 0.083])
    assert {(row["verdict"], row["bound"]) for row in rows} == {("worse", 0.05)}
    assert "4: week 3: 0.083 (drifted)" in described(drift)


def test_both_ways_and_outcomes_are_drawn_once():
    one = record(0, bounds=0)
    one["bounds"] = [
        {"constraint": "PairwiseParity", "where": f"y={y}: {a} against {b}", "bound": 0.1, "value": value, "low": 0.0,
         "high": 1.0, "verdict": "not decided"}
        for y, a, b, value in ((0, "m", "f", 0.2), (1, "m", "f", 0.5), (0, "f", "m", 0.3), (1, "f", "m", 0.4))
    ]  # fmt: skip
    bounds, _ = history_charts([one])
    assert set(bounds.table.values("what")) == {"PairwiseParity: y=1: m against f"}


def test_what_is_not_known_is_not_drawn():
    wild = record(1, bounds=1, low=0.4, high=math.inf, value=0.5)
    unknown = record(2, bounds=1, low=math.nan, high=math.nan, value=math.nan)
    bounds, _ = history_charts([wild, unknown])
    assert bounds.table.values("batch") == ["1: week 1"]


def test_of_many_batches_the_last_are_drawn():
    bounds, _ = history_charts([record(number) for number in range(MOST_BATCHES + 5)])
    assert panel(bounds)[1][0]["batch"] == "6: week 5"
    assert notes(bounds)["chart.batches"] == {"shown": MOST_BATCHES, "total": MOST_BATCHES + 5}


def test_nothing_bounded():
    (drift,) = history_charts([{**record(0, bounds=0), "verdict": None}])
    assert drift.key == "chart.drift"
