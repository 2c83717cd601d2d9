"""Sections as HTML. Every text is escaped where an element is made of it; nothing is fetched, and nothing runs."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from html import escape

from evenhand.render.section import NUMBERS, Fact, Section, Table
from evenhand.render.sentences import caption, facts, heading, sentence, title
from evenhand.render.sentences import shown as cell_of
from evenhand.text import printable_lines

LONG_WORD = 20
"""So many letters a word may have that is not broken in a table."""

LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
LEFTWARDS = re.compile(rf"{LEFT}+(?:[\s\u200c\u200d]+{LEFT}+)*")
"""Words in letters that are written from right to left."""


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def shown(text: object) -> Markup:
    """Escape a text, unless it is markup already. Words that are read from right to left are set apart.

    Examples
    --------
    >>> shown("a < b"), shown(element("b", "x"))
    ('a &lt; b', '<b>x</b>')
    """
    if isinstance(text, Markup):
        return text
    apart = LEFTWARDS.sub(lambda words: f"\u2068{words[0]}\u2069", printable_lines(str(text)))
    return Markup(escape(apart))


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """Return an element; attributes that are None are left out, and an underscore in a name is a hyphen.

    Examples
    --------
    >>> element("td", "<1", class_="number", data_label=None)
    '<td class="number">&lt;1</td>'
    """
    named = (
        f' {name.rstrip("_").replace("_", "-")}="{shown(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{''.join(named)}>{''.join(map(shown, content))}</{tag}>")


def joined(parts: Iterable[object]) -> Markup:
    """Return parts behind one another."""
    return Markup("".join(map(shown, parts)))


def fragments(sections: Iterable[Section]) -> Markup:
    """Return sections, those with something in them."""
    return joined(fragment(section) for section in sections if not section.empty)


def fragment(section: Section) -> Markup:
    """Return one section: its heading, then facts, charts, tables and notes."""
    return element("section", *_parts(section), id=section.key)


def _parts(section: Section) -> Iterator[Markup]:
    yield element("h2", title(section.key, section.fields))
    if section.facts:
        yield definitions(section.facts)
    yield from (grid(table) for table in section.tables if table.shown)
    if section.notes:
        yield element("ul", *(element("li", sentence(note)) for note in section.notes))


def definitions(found: Iterable[Fact]) -> Markup:
    """Return names and values as a list of definitions."""
    return element(
        "dl", *(part for name, words in facts(found) for part in (element("dt", name), element("dd", words)))
    )


def grid(table: Table) -> Markup:
    """Return a table: numbers to the right; on a narrow page every cell has the heading of its column beside it."""
    names = [column.name if column.own else heading(column.name) for column in table.columns]
    rows = table.shown
    above = caption(table.key, table.fields)
    if table.more:
        above = f"{above}: the first {len(rows)} of {len(rows) + table.more:,}".removeprefix(": ")
    kinds = ["number" if column.kind in NUMBERS else "" for column in table.columns]
    head = [
        element("th", name, scope="col", class_=_classes(kind, name)) for name, kind in zip(names, kinds, strict=True)
    ]
    body = []
    for row in rows:
        cells = [cell_of(value, column.kind) for value, column in zip(row, table.columns, strict=True)]
        first = element("th", cells[0], scope="row", class_=_classes("", cells[0]))
        rest = (
            element("td", cell, data_label=name, class_=_classes(kind, cell))
            for cell, name, kind in zip(cells[1:], names[1:], kinds[1:], strict=True)
        )
        body.append(element("tr", first, *rest))
    captions = [element("caption", above)] if above else []
    return element("table", *captions, element("thead", element("tr", *head)), element("tbody", *body))


def _classes(kind: str, text: str) -> str | None:
    long = any(len(word) > LONG_WORD for word in text.split())
    return " ".join(filter(None, (kind, "long" * long))) or None
