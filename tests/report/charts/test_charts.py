"""Charts of plain rows: what is drawn is what was given, and files are of the kind that their names say."""

import json
import re
import sys

import pytest

import evenhand as eh
from evenhand.report import charts
from evenhand.report.page import digest, number

ROWS = [
    {"group": "Female", "level": 1, "before": 0.2, "after": 0.3},
    {"group": "Male", "level": 1, "before": 0.5, "after": 0.35},
]


def chart():
    return charts.rates(ROWS, outcome="hired", title="Rates", subtitle="Bound: 20 %")


def points(spec):
    return next(layer for layer in spec["layer"] if layer["mark"]["type"] == "point")


def test_the_chart_shows_every_rate_and_starts_at_zero():
    spec = json.loads(chart().to_json())
    assert {(v["group"], v["when"], v["rate"]) for v in spec["data"]["values"]} == {
        ("Female", "before", 0.2), ("Female", "after", 0.3), ("Male", "before", 0.5), ("Male", "after", 0.35),
    }  # fmt: skip
    encoding = points(spec)["encoding"]
    assert encoding["x"]["scale"]["domain"][0] == 0
    assert encoding["x"]["title"] == "rate of hired = 1"
    assert encoding["shape"]["scale"]["range"] == ["circle", "diamond"]


def test_intervals_and_the_permitted_band_are_drawn_where_they_are_known():
    assert [layer["mark"]["type"] for layer in chart().to_dict()["layer"]] == ["point"]
    ends = {"before_low": 0.1, "before_high": 0.6, "after_low": 0.2, "after_high": 0.4}
    rows = [{**row, **ends, "permitted_low": 0.25, "permitted_high": 0.36} for row in ROWS]
    spec = charts.rates(rows, outcome="hired", title="", subtitle="").to_dict()
    assert [layer["mark"]["type"] for layer in spec["layer"]] == ["rect", "rule", "tick", "tick", "point"]
    assert {(v["when"], v["low"], v["high"]) for v in spec["data"]["values"]} == {
        ("before", 0.1, 0.6), ("after", 0.2, 0.4),
    }  # fmt: skip
    assert points(spec)["encoding"]["x"]["scale"]["domain"][1] >= 0.6


def test_several_outcomes_are_shown_one_below_the_other():
    rows = [{**row, "level": level} for row in ROWS for level in ("no", "maybe", "yes")]
    spec = json.loads(charts.rates(rows, outcome="hired", title="", subtitle="").to_json())
    assert spec["facet"]["row"]["field"] == "level"


CELLS = [
    {"panel": panel, "row": row, "column": column, "value": value, "label": f"{value:+.0%}"}
    for panel, row, column, value in (("all", "a", "x", 0.1), ("all", "b", "y", -0.4), ("few", "a", "y", 0.0))
]


def grid(**options):
    shared = {"across": "c", "down": "r", "title": "T", "subtitle": "", "description": "D"}
    return charts.grid(CELLS, rows=["a", "b"], **shared, **options)


def values(spec):
    """Every row of data in a specification, wherever it stands."""
    found = [row for rows in spec.get("datasets", {}).values() for row in rows]
    for part in spec.get("concat", []) + spec.get("vconcat", []) + spec.get("layer", []):
        found += values(part)
    return found + spec.get("data", {}).get("values", [])


def test_a_grid_writes_its_numbers_and_shares_its_shades():
    spec = grid(shades=charts.DIVERGING).to_dict()
    assert {row["label"] for row in values(spec)} == {"+10%", "-40%", "+0%"}
    assert [row["dark"] for row in values(spec) if row["value"] == -0.4] == [True]
    scales = [panel["layer"][0]["encoding"]["color"]["scale"] for panel in spec["concat"]]
    assert scales == [{"scheme": "purplegreen", "reverse": False, "domain": [-0.4, 0.4]}] * 2
    first, second = spec["concat"]
    assert first["layer"][0]["encoding"]["y"]["axis"]["labels"] is True
    assert second["layer"][0]["encoding"]["y"]["axis"]["labels"] is False
    assert first["layer"][0]["encoding"]["y"]["scale"]["domain"] == ["a", "b"]
    assert grid(shades=charts.SEQUENTIAL, wrap=1).to_dict()["columns"] == 1


def test_panels_stand_side_by_side_where_every_line_of_them_fits():
    assert charts.side_by_side(10_000, [5, 5, 5]) == 3
    assert charts.side_by_side(700, [10, 3, 10, 3]) == 2
    assert charts.side_by_side(700, [3, 10, 10, 10]) == 1
    assert charts.side_by_side(1, [3, 3]) == 1


@pytest.mark.slow
def test_grids_can_be_stacked():
    above, below = grid(shades=charts.SEQUENTIAL), grid(shades=charts.DIVERGING)
    spec = charts.stacked(above, below, title="Both", subtitle="", description="D").to_dict()
    assert len(spec["vconcat"]) == 2
    assert "config" in spec
    assert not any("config" in part for part in spec["vconcat"])
    assert spec["resolve"]["scale"]["color"] == "independent"


def test_a_chart_says_what_it_shows():
    assert grid(shades=charts.SEQUENTIAL).description == "D"
    assert grid(shades=charts.SEQUENTIAL).to_dict()["description"] == "D"


@pytest.mark.slow
@pytest.mark.parametrize(("ending", "start"), [("png", b"\x89PNG"), ("svg", b"<svg"), ("html", b"<!DOCTYPE html>")])
def test_charts_are_written_by_ending(tmp_path, ending, start):
    path = tmp_path / f"chart.{ending}"
    chart().save(path)
    assert path.read_bytes().startswith(start)


@pytest.mark.slow
def test_a_specification_is_what_altair_reads(monkeypatch):
    """Charts are made without Altair, which holds them against its schema only where somebody asks for its object."""
    drawn = [chart(), grid(shades=charts.DIVERGING)]
    for made in drawn:
        found = made.specification.to_dict()
        assert found["config"] == made.to_dict()["config"]
        assert values(found) == values(made.to_dict()) != []
    monkeypatch.setitem(sys.modules, "altair", None)
    assert chart().to_dict() == drawn[0].to_dict()
    with pytest.raises(eh.MissingExtraError, match="altair"):
        assert chart().specification


def test_no_name_ends_the_script_of_a_page(monkeypatch):
    """A browser reads the end of a script wherever it stands, and runs only the script of the policy."""
    monkeypatch.setattr(charts.chart, "drawn", lambda form: b"/* the bundle */")
    name = "sex</script><script>document.title=1337</script><!--"
    rows = [{"group": name, "level": name, "before": 0.2, "after": 0.3}]
    page = charts.chart.page_of(charts.rates(rows, outcome=name, title=name, subtitle=name))
    (script,) = re.findall(r"<script>(.*?)</script>", page, flags=re.DOTALL)
    assert page.lower().count("<script") == page.lower().count("</script") == 1
    assert f"script-src '{digest(script)}'" in page
    specification = re.search(r"vegaEmbed\('#chart', (.*), {ast: true", script)[1]
    assert json.loads(specification)["data"]["values"][0]["group"] == name


@pytest.mark.slow
def test_a_chart_that_ends_its_process_is_an_error(monkeypatch):
    monkeypatch.setattr(charts.chart, "DRAWING", "import os, signal; os.kill(os.getpid(), signal.SIGTRAP)")
    with pytest.raises(eh.EvenhandError, match=r"stopped: 'SIGTRAP'; .*ulimit -v"):
        chart().to_svg()


def test_an_unknown_ending(tmp_path):
    with pytest.raises(eh.SpecError, match=r"\.png, \.svg or \.html"):
        chart().save(tmp_path / "chart.gif")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("value", "shown"), [("infinite", "∞"), ("-infinite", "−∞"), (None, "–"), (0.25, "0.25"), ("by hand", "by hand")]
)
def test_a_page_writes_signs_for_the_words_of_its_summary(value, shown):
    assert number(value) == shown


@pytest.mark.slow
def test_names_that_no_picture_can_hold():
    """The drawing library would end the process at a control character, and fail at a title with a backslash."""
    draw = pytest.importorskip("vl_convert").vegalite_to_svg
    hostile = [
        "a\x1b[31m",
        "b\r",
        "c\n",
        "d\\",
        "e\x9b",
        "f\u2028",
        "g\ufffe",
        "h\ud800",
        'i"',
        "j</text>",
        "k\N{NO-BREAK SPACE}l",
    ]
    rows = [{"group": name, "level": name, "before": 0.2, "after": 0.3} for name in hostile]
    for name in hostile:
        drawn = charts.rates([row | {"level": name} for row in rows], outcome=name, title=name, subtitle=name)
        spec = drawn.to_dict()
        # Groups that differ stay apart, and what can be shown is shown as it is.
        assert len({row["group"] for row in spec["data"]["values"]}) == len(hostile)
        assert {'i"', "d\\", "a␛[31m", "k\N{NO-BREAK SPACE}l"} <= {row["group"] for row in spec["data"]["values"]}
    assert draw(drawn.to_json()).startswith("<svg")
    for name in ("a\x1b", "b\r", "d\\"):
        assert draw(charts.rates(ROWS, outcome=name, title=name, subtitle=name).to_json()).startswith("<svg")
        cells = [cell | {"panel": name, "row": name, "label": name} for cell in CELLS]
        shared = {"across": name, "down": name, "title": name, "subtitle": name, "description": name}
        assert draw(charts.grid(cells, rows=[name], shades=charts.SEQUENTIAL, **shared).to_json()).startswith("<svg")
