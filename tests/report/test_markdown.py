"""Markdown that cannot be written into by what a table holds."""

import html
import re

import pytest
from markdown_it import MarkdownIt

from evenhand.findings.impact import Category, Impact
from evenhand.report.markdown import datasheet, escaped, impact_lines, job_summary, table
from evenhand.text import printable

HOSTILE = [
    "a|b", "<script>", "[x](y)", "`code`", "# no\nheading", "*so*", "a_b_c", "$x$", "&lt;img&gt; &#42;", "a\\&b",
    "see http://x.org/a?b=1", "HTTPS://X.ORG", "www.x.org", "WWW.x.org", "a@b.org", "\x1b[31m\x07\u202e",
]  # fmt: skip


@pytest.mark.parametrize("text", HOSTILE)
def test_no_text_is_read_as_markdown(text):
    line = escaped(text)
    assert line.isprintable()
    for character in "|<>[]`*_#$&@":
        assert line.count(character) == line.count("\\" + character)
    assert not re.search(r"(?<!\\)://|www\.", line, re.IGNORECASE)
    # What a reader of Markdown makes of it is one paragraph of the text itself.
    shown = html.escape(printable(" ".join(text.split())), quote=False)
    assert MarkdownIt().render(line) == f"<p>{shown}</p>\n"


def test_a_table_has_one_line_per_row():
    lines = list(table(("a", "b"), [("x|y", 1), ("z\nw", 2)], 1))
    assert lines == ["| a | b |", "| --- | ---: |", "| x\\|y | 1 |", "| z w | 2 |", ""]


@pytest.fixture
def found():
    shared = {"selected_before": 5.0, "rate_before": 0.5, "selected_after": 6.0, "rate_after": 0.6}
    large = Category("sex", "sex=f", 90.0, 0.9, ratio_before=1.0, ratio_after=1.0, note="", **shared)
    small = Category("sex", "sex=x", 1.0, 0.01, ratio_before=None, ratio_after=None, note="under", **shared)
    return Impact(1, 100.0, (large, small), 0, "sex", {"sex": 9.0})


def test_impact_ratios_say_who_is_small_and_who_is_unknown(found):
    text = "\n".join(impact_lines(found, "hired", "the table"))
    for words in ("### By sex", "| sex=f | 90 | 5 | 0.500 | 1.000 | 6 | 0.600 | 1.000 |", "sex=x (1 person)",
                  "is not known, who are in no ratio by that column: sex: 9.", "not a verdict"):  # fmt: skip
        assert words in text, words
    nobody = "\n".join(impact_lines(Impact(1, 100.0, found.categories, 0, "sex", {}), "hired", "the table"))
    assert "Nobody's category is unknown." in nobody


def test_datasheet_and_job_summary_are_of_the_summary(compas_mapping):
    import evenhand as eh
    from evenhand.findings.impact import impact

    mapping = compas_mapping
    summary = eh.report_on(mapping, trace=False).summary
    ratios = impact(mapping.counts, mapping.kernel, 0, ["sex", "race"])
    sheet = datasheet(summary, ratios, ["report.html"], mapping.problem.features)
    assert sheet.count("\n## ") == 8
    assert "No sign-off was given." in sheet
    assert "| sex=Male, race=African-American | 2,626 | 40.7% | 59.6% |" in sheet
    for words in summary["not_covered"]:
        assert escaped(words) in sheet
    short = job_summary(summary, ratios, "is_recid")
    assert "| sex=Male, race=African-American | 2,626 | 0.643 | 0.942 |" in short
    assert "Certificate: **optimal**" in short
