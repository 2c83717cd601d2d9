"""A page's frame: what a browser may do with it, cards, folded parts and lists that end."""

import re

import pytest

from evenhand.render.html import MOST_NOTES, MOST_ROWS, fragments
from evenhand.render.page import POLICY, page
from evenhand.render.section import Column, Fact, Note, Section, Table


def said(text):
    return Note("text", {"text": text})


def card(key, tone="plain"):
    facts = Fact("answer", said("<1>")), Fact("tone", tone, detail=True), Fact("section", "rates", detail=True)
    return Section(key, facts=facts, notes=(said("why"),), form="card")


def test_nothing_runs_unless_something_is_folded():
    plain = page("A & B", [Section("rates", notes=(said("<i>x</i>"),))])
    assert "<title>A &amp; B</title>" in plain
    assert "<h1>A &amp; B</h1>" in plain
    assert "&lt;i&gt;x&lt;/i&gt;" in plain
    assert "<script" not in plain
    assert f'content="{POLICY}"' in plain
    folded = page("A", [Section("rates", parts=(Section("changes", notes=(said("x"),), form="folded"),))])
    assert folded.count("<script>") == 1
    assert re.search(r"; script-src 'sha256-[\w+/=]+'\"", folded)
    assert '<details open="" id="changes"><summary>' in folded


def test_the_first_screen_has_cards_and_what_the_page_contains():
    first = Section("report", facts=(Fact("table", "here"),), notes=(said("lead"),), parts=(card("apart", "worse"),))
    shown = page("A", [Section("rates", notes=(said("x"),)), Section("gains")], first=first, end=said("the end"))
    header, rest = shown.split("</header>")
    assert '<section class="answer worse" data-key="apart"><h2><a href="#rates">' in header
    assert '<p class="short">&lt;1&gt;</p><p>why</p>' in header
    # What is empty is neither shown nor linked.
    assert header.count("<li>") == 1
    assert "gains" not in rest
    assert rest.rstrip().endswith("<footer><p>the end</p></footer></body></html>")


@pytest.mark.parametrize(("number", "shown"), [(3, 3), (100, None)])
def test_lists_and_tables_end(number, shown):
    table = Table("rows", (Column("n", "number"), Column("m", data=True)), tuple((n, n) for n in range(number)))
    made = fragments([Section("rates", tables=(table,), notes=tuple(said(str(n)) for n in range(number)))])
    assert made.count("<tr>") - 1 == (shown or MOST_ROWS)
    assert made.count("<li>") == (shown or MOST_NOTES + 1)
    assert ("the first 60 of 100" in made) == (number > MOST_ROWS)
    assert ("and 76 more, which the JSON beside this page has" in made) == (number > MOST_NOTES)
    assert made.count("<th ") == 1 + min(number, MOST_ROWS)


def test_headings_go_down_with_the_parts():
    inner = Section(
        "changes", notes=(said("x"),), parts=(Section("gains", notes=(said("y"),), fields={"favourable": 1}),)
    )
    made = fragments([Section("rates", parts=(inner, Section("points", parts=(inner,), form="folded")))])
    assert re.findall(r"<(h\d)", made) == ["h2", "h3", "h4", "h3", "h4"]
