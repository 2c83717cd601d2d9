import json

import pytest

import evenhand as eh
from evenhand.report import charts

ROWS = [
    {"group": "Female", "level": 1, "before": 0.2, "after": 0.3},
    {"group": "Male", "level": 1, "before": 0.5, "after": 0.35},
]


def chart():
    return charts.rates(ROWS, outcome="hired", title="Rates", subtitle="Bound: 20 %")


def test_the_chart_shows_every_rate_and_starts_at_zero():
    spec = json.loads(chart().to_json())
    values = spec["data"]["values"]
    assert {(v["group"], v["when"], v["rate"]) for v in values} == {
        ("Female", "before", 0.2), ("Female", "after", 0.3), ("Male", "before", 0.5), ("Male", "after", 0.35),
    }  # fmt: skip
    x = spec["layer"][1]["encoding"]["x"]
    assert x["scale"]["domain"][0] == 0
    assert x["title"] == "rate of hired = 1"
    assert spec["layer"][1]["encoding"]["shape"]["scale"]["range"] == ["circle", "diamond"]


def test_several_outcomes_are_shown_one_below_the_other():
    rows = [{**row, "level": level} for row in ROWS for level in ("no", "maybe", "yes")]
    spec = json.loads(charts.rates(rows, outcome="hired", title="", subtitle="").to_json())
    assert spec["facet"]["row"]["field"] == "level"


@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!DOCTYPE html>")])
def test_charts_are_written_by_ending(tmp_path, ending, start):
    path = tmp_path / f"chart.{ending}"
    charts.save(chart(), path)
    assert path.read_bytes().startswith(start)


def test_an_unknown_ending(tmp_path):
    with pytest.raises(eh.SpecError, match=r"\.png, \.svg or \.html"):
        charts.save(chart(), tmp_path / "chart.gif")
