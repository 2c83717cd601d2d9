"""Sections as a page of their own, which needs no network: its frame, its style, and the one script that folds.

The browser is told what it may do as well: show pictures and styles that are in the page, and run that script.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from importlib import resources

from evenhand.render.chart import figure
from evenhand.render.chart.style import CSS
from evenhand.render.html import contents, definitions, fragments
from evenhand.render.markup import Markup, element, joined
from evenhand.render.section import Note, Section
from evenhand.render.sentences import sentence, title

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
"""What a browser may do with a page."""


def page(name: str, sections: Iterable[Section], *, first: Section | None = None, end: Note | None = None) -> str:
    """Return a whole page of sections.

    ``first`` is the first screen, whose heading is that of the page: cards beside charts and facts, and what the page
    contains. ``end`` stands below everything.
    """
    told = [section for section in sections if not section.empty]
    script = _file("page.js") if any(_folds(section) for section in told) else ""
    allowed = f"{POLICY}; script-src 'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'"
    head = (
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{allowed if script else POLICY}">'),
        element("title", name),
        Markup('<link rel="icon" href="data:,">'),
        element("style", Markup(_file("page.css") + CSS)),
    )
    top = (element("h1", name),) if first is None else tuple(_first(first, told))
    footer = [] if end is None else [element("footer", element("p", sentence(end)))]
    scripts = [element("script", Markup(script))] if script else []
    body = element("body", element("header", *top), element("main", fragments(told)), *footer, *scripts)
    return f"<!DOCTYPE html>\n{element('html', element('head', *head), body, lang='en')}\n"


def _file(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _folds(section: Section) -> bool:
    return section.form == "folded" or any(map(_folds, section.parts))


def _first(first: Section, rest: Sequence[Section]) -> Iterator[Markup]:
    yield element("h1", title(first.key, first.fields))
    yield from (element("p", sentence(note), class_="lead") for note in first.notes)
    cards = [part for part in first.parts if part.form == "card"]
    beside = (*map(figure, first.charts), definitions(first.shown))
    yield element(
        "div", element("div", *beside, class_="beside"), element("div", fragments(cards), class_="brief"),
        class_="first",
    )  # fmt: skip
    yield from (element("div", contents(part, 2), id=part.key) for part in first.parts if part.form != "card")
    links = (
        element("li", element("a", title(section.key, section.fields), href=f"#{section.key}")) for section in rest
    )
    yield element("nav", element("ol", joined(links)), class_="screen", aria_label="Contents")
