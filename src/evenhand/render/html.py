"""Sections as HTML. Every text is escaped where an element is made of it; nothing is fetched, and nothing runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from evenhand.render.chart import figure
from evenhand.render.markup import Markup, element, joined
from evenhand.render.section import NUMBERS, Fact, Note, Section, Table
from evenhand.render.sentences import caption, column_heading, facts, sentence, title
from evenhand.render.sentences import shown as cell_of

LONG_WORD = 20
"""So many letters a word may have that is not broken in a table."""

MOST_ROWS = 60
MOST_NOTES = 24
"""How many rows of a table, and sentences below one heading, are shown; JSON has all."""

LOWEST = 6
"""The level of the least heading."""


def fragments(sections: Iterable[Section], level: int = 2) -> Markup:
    """Return sections, those with something in them, with headings of a level."""
    return joined(fragment(section, level) for section in sections if not section.empty)


def fragment(section: Section, level: int = 2) -> Markup:
    """Return one section: its heading, then facts, charts, tables, notes and its parts."""
    name = title(section.key, section.fields)
    if section.form == "card":
        return _card(section, name, level)
    if section.form == "folded":
        # Open for those without scripts, and on paper.
        return element("details", element("summary", name), contents(section, level), open="", id=section.key)
    return element("section", element(f"h{level}", name), contents(section, min(level + 1, LOWEST)), id=section.key)


def contents(section: Section, level: int) -> Markup:
    """Return all of a section but its heading."""
    return joined(_contents(section, level))


def _contents(section: Section, level: int) -> Iterator[Markup]:
    if section.shown:
        yield definitions(section.shown)
    yield from (figure(chart) for chart in section.charts if chart.table.rows)
    yield from (grid(table) for table in section.tables if table.shown)
    if section.notes:
        yield bullets(section.notes)
    yield fragments(section.parts, level)


def _card(section: Section, name: str, level: int) -> Markup:
    tone, (answer, *more) = section.value("tone"), map(sentence, (section.value("answer"), *section.notes))
    return element(
        "section", element(f"h{level}", element("a", name, href=f"#{section.value('section')}")),
        element("p", answer, class_="short"), *(element("p", words) for words in more), class_=f"answer {tone}",
        data_key=section.key,
    )  # fmt: skip


def bullets(notes: Iterable[Note]) -> Markup:
    """Return notes as a list, of which as many are shown as can be read."""
    told = list(notes)
    more = [Note("page.more", {"more": len(told) - MOST_NOTES})] if len(told) > MOST_NOTES else []
    return element("ul", *(element("li", sentence(note)) for note in [*told[:MOST_NOTES], *more]))


def definitions(found: Iterable[Fact]) -> Markup:
    """Return names and values as a list of definitions."""
    return element("dl", *(part for fact in found for part in _definition(fact)))


def _definition(fact: Fact) -> Iterator[Markup]:
    for name, words in facts((fact,)):
        content: object = words
        if fact.kind == "code":
            content = element("code", words)
            content = element("pre", content) if "\n" in words else content
        yield element("dt", name)
        yield element("dd", content)


def grid(table: Table) -> Markup:
    """Return a table: numbers to the right; on a narrow page every cell has the heading of its column beside it."""
    places, columns = zip(*table.visible, strict=True)
    names = [column_heading(column) for column in columns]
    rows = table.shown[:MOST_ROWS]
    above, total = caption(table.key, table.fields), len(table.shown) + table.more
    if len(rows) < total:
        above = f"{above}: the first {len(rows)} of {total:,}".removeprefix(": ")
    kinds = ["number" if column.kind in NUMBERS else "" for column in columns]
    head = [
        element("th", name, scope="col", class_=_classes(kind, name)) for name, kind in zip(names, kinds, strict=True)
    ]
    body = []
    for row in rows:
        cells = [cell_of(row[at], column.kind) for at, column in zip(places, columns, strict=True)]
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
