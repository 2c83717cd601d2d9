import json

import pytest

import evenhand as eh
from evenhand.report import charts
from evenhand.report.words import asked, budget_words, certificate_words, parity_words, rule_words

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


def test_words_of_a_problem(compas, adult):
    text = " ".join(f"{a}: {b}" for a, b in asked(compas.problem))
    for words in (
        "differ by a factor of at most 1.1",
        "expected distortion is at most 0.5",
        "priors_count down (cost 1 a step), at most 1 step",
    ):
        assert words in text
    text = " ".join(b for _, b in asked(adult.problem))
    for words in (
        "within 15% of its rate in the whole table",
        "above 0.9 with probability at most 0.1",
        "income up (cost 0 a step) or down (cost 1 a step)",
    ):
        assert words in text


def test_words_of_parts(compas_mapping):
    assert "the target {0: 0.5, 1: 0.5}" in parity_words(eh.TargetParity(0.1, {0: 0.5, 1: 0.5}))
    assert "on average over the groups" in budget_words(eh.ExpectedDistortion(0.5, per="xy"))
    assert rule_words(eh.Fixed()) == "never"
    assert rule_words(eh.Ordinal(1, up=False, down=False)) == "never"
    assert rule_words(eh.Free()) == "to any value, free"
    assert rule_words(eh.Ordinal(2, max_steps=2)) == "up or down (cost 2 a step), at most 2 steps"
    assert dict(certificate_words(compas_mapping.certificate))["Status"].startswith("optimal")
