"""Sections as Markdown. What comes from a table is escaped: no name of a column is read as a link, a table or HTML."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from evenhand.render.section import NUMBERS, Section, Table
from evenhand.render.sentences import caption, column_heading, facts, sentence, shown, title
from evenhand.text import printable, printable_lines

SPECIAL = re.compile(r"([\\`*_{}\[\]<>|#~$&@]|:(?=//)|(?<=\bwww)\.)", re.IGNORECASE)
"""What Markdown reads as more than a letter; programs that show it make links of bare addresses."""


def escaped(text: Any) -> str:
    """Return a text that Markdown shows as it is, in one line of printable characters.

    Examples
    --------
    >>> escaped("a|b <c> [d]")
    'a\\\\|b \\\\<c\\\\> \\\\[d\\\\]'
    >>> escaped("&lt; http://x.org")
    '\\\\&lt; http\\\\://x.org'
    """
    return SPECIAL.sub(r"\\\1", printable(" ".join(str(text).split())))


def text(sections: Iterable[Section], level: int = 2) -> str:
    """Return sections, those with something in them, with headings of a level."""
    return "\n".join(line for section in sections if not section.empty for line in _section(section, level))


def _section(section: Section, level: int) -> Iterator[str]:
    yield f"{'#' * level} {escaped(title(section.key, section.fields))}"
    yield ""
    for fact in section.shown:
        for name, words in facts((fact,)):
            yield f"- **{escaped(name)}:** {_code(words) if fact.kind == 'code' else escaped(words)}"
    if section.shown:
        yield ""
    for table in section.tables:
        if table.shown:
            yield from _table(table)
    for note in section.notes:
        yield f"- {escaped(sentence(note))}"
    if section.notes:
        yield ""
    if section.parts:
        yield text(section.parts, level + 1)


def _code(words: str) -> str:
    """Return a text that is shown letter by letter, between more backticks than it holds."""
    fence = "`" * (max((len(found) for found in re.findall("`+", words)), default=0) + 1)
    if "\n" not in words:
        return f"{fence} {printable(words)} {fence}" if "`" in words else f"`{printable(words)}`"
    fence = max(fence, "```", key=len)
    return f"\n\n{fence}\n{printable_lines(words).rstrip()}\n{fence}"


def _table(table: Table) -> Iterator[str]:
    above = caption(table.key, table.fields)
    if above:
        yield escaped(above)
        yield ""
    columns = [(at, column) for at, column in table.visible if not column.detail]
    names = [escaped(column_heading(column)) for _, column in columns]
    yield f"| {' | '.join(names)} |"
    yield "|" + "|".join(" ---: " if column.kind in NUMBERS else " --- " for _, column in columns) + "|"
    for row in table.shown:
        yield f"| {' | '.join(escaped(shown(row[at], column.kind)) for at, column in columns)} |"
    yield ""
