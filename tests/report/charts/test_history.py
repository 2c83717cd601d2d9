"""The chart of a history: every interval against its bound, every distance against its limit, the furthest first."""

import json
import math

import pytest

from evenhand.report.charts.history import MOST_BATCHES, MOST_PANELS, history_chart


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


def panels(chart):
    return json.loads(chart.to_json())["concat"]


def drawn(panel, kind):
    return next(layer["data"]["values"] for layer in panel["layer"] if layer["mark"]["type"] == kind)


def test_every_batch_has_its_interval_and_its_distance():
    found = panels(history_chart([record(number) for number in range(4)]))
    assert len(found) == 2 * MOST_PANELS
    first = drawn(found[0], "point")
    called = ["1: 2026-03-01 12:30", "2: week 1", "3: 2026-03-03 12:30", "4: week 3"]
    assert [row["batch"] for row in first] == called
    for panel in found:
        across = panel["layer"][1]["encoding"]["x"]
        assert (across["type"], across["scale"]["domain"]) == ("nominal", called)
    assert {(row["low"], row["high"], row["value"]) for row in first} == {(0.07, 0.27, 0.14)}
    assert found[0]["title"]["text"] == ["PairwiseParity: y=1: g7 against h"]
    assert drawn(found[0], "rule") == [{"bound": 0.1}]
    drift = drawn(found[MOST_PANELS], "point")
    assert [row["apart"] for row in drift] == pytest.approx([0.08, 0.081, 0.082, 0.083])
    assert {row["state"] for row in drift} == {"drifted"}


def test_both_ways_and_outcomes_are_drawn_once():
    one = record(0, bounds=0)
    one["bounds"] = [
        {"constraint": "PairwiseParity", "where": f"y={y}: {a} against {b}", "bound": 0.1, "value": value, "low": 0.0,
         "high": 1.0, "verdict": "not decided"}
        for y, a, b, value in ((0, "m", "f", 0.2), (1, "m", "f", 0.5), (0, "f", "m", 0.3), (1, "f", "m", 0.4))
    ]  # fmt: skip
    found = [panel for panel in panels(history_chart([one])) if panel["title"]["text"][0].startswith("Pairwise")]
    assert [panel["title"]["text"] for panel in found] == [["PairwiseParity: y=1: m against f"]]


def test_what_is_infinite_or_not_known_is_not_drawn_beyond_the_panel():
    wild = record(1, bounds=1, low=0.4, high=math.inf, value=0.5)
    unknown = record(2, bounds=1, low=math.nan, high=math.nan, value=math.nan)
    found = panels(history_chart([wild, unknown]))[0]
    assert [row["batch"] for row in drawn(found, "point")] == ["1: week 1"]
    top = found["layer"][0]["encoding"]["y"]["scale"]["domain"][1]
    assert drawn(found, "point")[0]["high"] <= top < 5


def test_of_many_batches_the_last_are_drawn():
    found = panels(history_chart([record(number) for number in range(MOST_BATCHES + 5)]))
    assert drawn(found[0], "point")[0]["batch"] == "6: week 5"


def test_nothing_bounded():
    assert len(panels(history_chart([{**record(0, bounds=0), "verdict": None}]))) == MOST_PANELS


def test_new_values_are_a_share_of_people():
    batch = record(0, bounds=0, looks=1)
    of_column, of_new = (
        history_chart([{**batch, "drift": [{**batch["drift"][0], "what": what}]}]) for what in ("column", "new values")
    )
    titles = [panels(each)[0]["layer"][1]["encoding"]["y"]["title"] for each in (of_column, of_new)]
    assert titles == ["total variation", "share of people"]
