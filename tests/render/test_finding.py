"""One section in the four media."""

import json
import math

import pandas as pd
import pytest

from evenhand.render import document, html, markdown, terminal
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Note, Section, Table

HOSTILE = "<script>alert(1)</script>|\u202e\x1b[31m"


class Found(Finding):
    @property
    def sections(self):
        frame = pd.DataFrame({"sex": ["F", HOSTILE], "people": [1234.0, 0.5], "before": [0.25, math.nan]})
        table = Table.of("by_group", frame, {"people": "people", "before": "rate"}, most=1)
        note = Note("hidden.rows", {"hidden": 1, "total": 3, "least": 20})
        facts = (Fact("gap", math.inf, "number"), Fact("status", HOSTILE))
        return (Section("rates", facts=facts, tables=(table,), notes=(note,)), Section("nothing"))


def test_json_has_every_row_and_the_key_of_every_note():
    found = json.loads(Found().to_json())
    assert found["rates"]["by_group"][1]["before"] is None
    assert found["rates"]["gap"] == "infinite"
    assert found["rates"]["notes"][0]["key"] == "hidden.rows"
    assert found["nothing"] == {"notes": []}


def test_a_terminal_has_some_rows_and_says_how_many_are_left():
    shown = str(Found())
    assert "1,234" in shown
    assert "25.0%" in shown
    assert "… and 1 more" in shown
    assert "infinite" in shown
    assert "\x1b" not in shown
    assert "\u202e" not in shown


@pytest.mark.parametrize("text", [Found()._repr_html_(), html.fragments(Found().sections)])
def test_html_is_escaped(text):
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("<section") == 1
    assert 'data-label="People"' in text
    assert ">1,234<" in text


def test_markdown_is_escaped():
    text = Found().to_markdown()
    assert "<" not in text.replace("\\<", "")
    assert "| F | 1,234 | 25.0% |" in text
    assert "\\<script\\>" in text


def test_an_element_escapes_its_attributes():
    assert html.element("i", title='"><b>', class_=None) == '<i title="&quot;&gt;&lt;b&gt;"></i>'


def test_what_is_written_for_a_program_is_ascii():
    assert document.text({"name": "é"}).isascii()


def test_a_table_on_a_narrow_terminal_wraps_headings_before_names():
    lines = terminal.text(Found().sections, width=30).splitlines()
    assert max(map(len, lines)) <= 30


def test_markdown_has_headings_of_the_level_that_is_asked_for():
    assert markdown.text(Found().sections, level=3).startswith("### ")
