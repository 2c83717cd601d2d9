import pandas as pd

from evenhand.render import document, html, markdown, terminal
from evenhand.render.section import Fact, Note, Section, Table


def table():
    frame = pd.DataFrame({"weight (column)": ["heavy", "light"], "weight": [3.0, 4.0]})
    return Table.of("by_group", frame, {"weight": "people"}, about=[({"weight": "heavy"},), ()])


def test_columns_that_no_kind_is_given_for_are_the_users_own():
    assert [(column.name, column.own) for column in table().columns] == [("weight (column)", True), ("weight", False)]
    assert table().values("weight") == [3.0, 4.0]
    assert table().records()[0] == {"weight (column)": "heavy", "weight": 3.0}


def test_rows_are_kept_with_what_they_reveal():
    kept = table().kept([1])
    assert kept.rows == (("light", 4.0),)
    assert kept.about == ((),)


def test_a_section_of_tables_without_rows_is_empty():
    assert Section("rates", tables=(table().kept([]),)).empty
    assert not Section("rates", tables=(table(),)).empty


def test_facts_that_only_json_has_leave_no_trace_for_people():
    found = Section("rates", facts=(Fact("gap", 1.0, "number", detail=True),))
    assert found.empty
    beside = Section("rates", facts=found.facts, tables=(table(),))
    plain = Section("rates", tables=(table(),))
    for text in (terminal.text, markdown.text, html.fragments):
        assert text([beside]) == text([plain])
    assert document.document([beside])["rates"]["gap"] == 1.0


def test_facts_for_json_alone_are_shown_nowhere():
    """Not even as an empty line, a list without entries or a heading."""
    facts = (Fact("status", "optimal", detail=True),)
    alone = Section("certificate", facts=facts)
    assert alone.empty
    found = Section("certificate", facts=facts, notes=(Note("certificate.lower_bound"),))
    assert len(terminal.text([found]).splitlines()) == 2
    assert "<dl>" not in html.fragments([found])
    assert markdown.text([found]).count("\n\n") == 1
    assert document.document([alone])["certificate"]["status"] == "optimal"
