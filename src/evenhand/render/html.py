"""Sections as HTML. Every text is escaped where an element is made of it; nothing is fetched, and nothing runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenhand.render.chart import figure
from evenhand.render.markup import Markup, element, joined
from evenhand.render.section import NUMBERS, Fact, Section, Table
from evenhand.render.sentences import caption, column_heading, facts, sentence, title
from evenhand.render.sentences import shown as cell_of

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What a browser may do with a page: show pictures and styles that are in it."""

LONG_WORD = 20
"""So many letters a word may have that is not broken in a table."""


def page(name: str, style: str, sections: Iterable[Section]) -> Markup:
    """Return a whole page of sections. It fetches nothing and runs nothing, and the browser is told so as well."""
    head = (
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'),
        element("title", name),
        Markup('<link rel="icon" href="data:,">'),
        element("style", Markup(style)),
    )
    body = element("body", element("header", element("h1", name)), element("main", fragments(sections)))
    return Markup(f"<!DOCTYPE html>\n{element('html', element('head', *head), body, lang='en')}\n")


def fragments(sections: Iterable[Section]) -> Markup:
    """Return sections, those with something in them."""
    return joined(fragment(section) for section in sections if not section.empty)


def fragment(section: Section) -> Markup:
    """Return one section: its heading, then facts, charts, tables and notes."""
    return element("section", *_parts(section), id=section.key)


def _parts(section: Section) -> Iterator[Markup]:
    yield element("h2", title(section.key, section.fields))
    if section.shown:
        yield definitions(section.shown)
    yield from (figure(chart) for chart in section.charts if chart.table.rows)
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
    names = [column_heading(column) for column in table.columns]
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
