"""The datasheet and the summary of a bundle: sections of the report, and impact ratios."""

import pytest

import evenhand as eh
from evenhand.findings.datasheet import datasheet, job_summary
from evenhand.findings.impact import Category, Impact, impact
from evenhand.render import markdown
from evenhand.render.markdown import escaped
from evenhand.render.sentences import sentence


@pytest.fixture(scope="module")
def report(compas_mapping):
    return eh.report_on(compas_mapping, trace=False)


def test_a_datasheet_is_of_the_report(report):
    sheet = markdown.text(datasheet(report.sections, ["report.html"]))
    headings = [line for line in sheet.splitlines() if line.startswith("## ")]
    assert headings[0] == "## Datasheet of a table released by evenhand"
    assert headings[-2:] == ["## Sign-off", "## How it can be checked"]
    assert len(headings) == 10
    assert "No sign-off was given." in sheet
    assert "| Male · African-American | 0 | 2,626 | 40.7% | 59.6% |" in sheet
    caveats = next(section for section in report.sections if section.key == "caveats")
    for note in caveats.notes:
        assert escaped(sentence(note)) in sheet
    assert "report.html" in sheet


def test_a_summary_has_the_answers_the_certificate_and_the_ratios(report, compas_mapping):
    found = impact(compas_mapping.counts, compas_mapping.kernel, 0, ["sex", "race"])
    short = markdown.text(job_summary(report.sections, found))
    for part in report.sections[0].parts:
        if part.form == "card":
            assert escaped(sentence(part.value("answer"))) in short
    assert "- **Status:** optimal" in short
    line = next(line for line in short.splitlines() if "sex=Male, race=African-American |" in line)
    assert line.startswith("| sex × race | sex=Male, race=African-American | 2,626 |")
    assert "0.643" in line
    assert "0.942" in line
    assert short.count("\n- ") < 40


def test_impact_ratios_say_who_is_small_and_who_is_unknown():
    shared = {"selected_before": 5.0, "rate_before": 0.5, "selected_after": 6.0, "rate_after": 0.6}
    large = Category("sex", "sex=f", 90.0, 0.9, ratio_before=1.0, ratio_after=1.0, note=None, **shared)
    small = Category("sex", "sex=x", 1.0, 0.01, ratio_before=None, ratio_after=None, note=None, **shared)
    found = Impact(1, 100.0, (large, small), 0, "sex", {"sex": 9.0})
    text = found.to_markdown()
    for words in ("| sex | sex=f | 90 | 5 | 0.500 | 1.000 | 6 | 0.600 | 1.000 |", "9 people have no known sex",
                  "not a verdict"):  # fmt: skip
        assert words in text, words
    assert "Nobody's category is unknown." in Impact(1, 100.0, found.categories, 0, "sex", {}).to_markdown()
