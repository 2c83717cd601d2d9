"""Markdown that cannot be written into by what a table holds."""

import html
import re

import pytest
from markdown_it import MarkdownIt

from evenhand.render.markdown import escaped, text
from evenhand.render.section import Column, Fact, Note, Section, Table
from evenhand.text import printable

HOSTILE = [
    "a|b", "<script>", "[x](y)", "`code`", "# no\nheading", "*so*", "a_b_c", "$x$", "&lt;img&gt; &#42;", "a\\&b",
    "see http://x.org/a?b=1", "HTTPS://X.ORG", "www.x.org", "WWW.x.org", "a@b.org", "\x1b[31m\x07\u202e",
]  # fmt: skip


@pytest.mark.parametrize("words", HOSTILE)
def test_no_text_is_read_as_markdown(words):
    line = escaped(words)
    assert line.isprintable()
    for character in "|<>[]`*_#$&@":
        assert line.count(character) == line.count("\\" + character)
    assert not re.search(r"(?<!\\)://|www\.", line, re.IGNORECASE)
    # What a reader of Markdown makes of it is one paragraph of the text itself.
    shown = html.escape(printable(" ".join(words.split())), quote=False)
    assert MarkdownIt().render(line) == f"<p>{shown}</p>\n"


@pytest.mark.parametrize("words", [*HOSTILE, "``` fenced\n```", "a ``b`` c"])
def test_code_is_shown_letter_by_letter(words):
    section = Section("problem", facts=(Fact("toml", words, "code"),))
    made = MarkdownIt().render(text([section]))
    expected = html.escape("\n".join(map(printable, words.split("\n"))), quote=True).replace("&#x27;", "'")
    assert expected in made
    assert made.count("<h2>") == 1
    assert "<a " not in made


def test_a_table_has_one_line_per_row_and_parts_lower_headings():
    columns = Column("a", own=True), Column("b", "number", own=True), Column("c", data=True)
    table = Table("rows", columns, (("x|y", 1, "out"), ("z\nw", 2, "out")))
    notes = (Note("text", {"text": "that is *all*"}),)
    lines = text([Section("rates", tables=(table,), parts=(Section("changes", notes=notes),))]).splitlines()
    assert lines[2:6] == ["| a | b |", "| --- | ---: |", "| x\\|y | 1 |", "| z w | 2 |"]
    assert lines[7:10] == ["### Who changes, and how", "", "- that is \\*all\\*"]
