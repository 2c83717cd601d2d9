"""The page of a comparison: small cells are left out and counted, and nothing is read as markup."""

import pytest

from evenhand.report.comparison import comparison_page


@pytest.fixture
def found():
    cell = {"sex": "<b>f</b>", "age": "old", "y": 0, "people": 30.0, "weight": 30.0, "1: a": 0.25, "other_outcome": 0.1}
    return {
        "about": "the 40 people of the table",
        "people": 40.0,
        "weighed": False,
        "mappings": [
            {"what": "name", "a": "<i>old", "b": "new"},
            {"what": "fingerprint", "a": "a" * 64, "b": "b" * 64},
        ],
        "bounds": [
            {
                "mapping": "A",
                "constraint": "rates",
                "bound": "1.1 times",
                "before": "2 times",
                "after": None,
                "whose": "",
            }
        ],
        "words": ["Of the statements one setting differs."],
        "notes": ["records are not compared"],
        "statement": [{"setting": "blind", "a": "false", "b": None}],
        "rates": [
            {
                "sex": "<b>f</b>",
                "y": 1,
                "people": 1234.0,
                "weight": 1234.0,
                "before": 0.5,
                "after_a": 0.4,
                "after_b": 0.123,
            }
        ],
        "hide_below": 20,
        "hidden": {"rates": 0, "groups": 1, "cells": 15},
        "groups": [
            {"sex": "f", "people": 19.0, "weight": 9e4, "changed_a": 0.5, "changed_b": 0.25, "other_outcome": 0.1}
        ],
        "costs": [{"what": "utility loss", "a": 0.0123456, "b": 2}, {"what": "people changed", "a": 5000.0, "b": None}],
        "cells": [cell],
    }


def test_hidden_rows_are_counted_and_nothing_is_markup(found):
    page = comparison_page(found)
    assert "&lt;b&gt;f&lt;/b&gt;" in page
    assert "<b>f" not in page
    assert page.count("1 of 2 rows is not shown: it has fewer than 20 people, or would reveal one that has") == 1
    assert page.count("15 of 16 rows are not shown") == 1
    for written in ("12.3%", "25.0%", "0.01235", "5,000", "–", "1,234", "On the 40 people of the table."):
        assert written in page


def test_what_is_not_hidden_is_cut(found):
    page = comparison_page(found | {"cells": [found["cells"][0]] * 30})
    assert "15 of 45 rows are not shown" in page
    assert "of the 30 others the first 24 are shown" in page
    assert page.count("&lt;b&gt;f&lt;/b&gt;, old, 0") == 24


def test_both_mappings_are_named(found):
    page = comparison_page(found)
    assert f"<b>A</b>: &lt;i&gt;old, fingerprint {'a' * 64}" in page
    assert f"<b>B</b>: new, fingerprint {'b' * 64}" in page
    assert f"<b>A</b>: fingerprint {'a' * 64}" in comparison_page(found | {"mappings": found["mappings"][1:]})


def test_people_and_their_weight_are_two_things(found):
    rate = found["rates"][0] | {"people": 729.0, "weight": 72789.4}
    page = comparison_page(found | {"rates": [rate], "weighed": True})
    for words in (">People</th>", ">By weight</th>", "72,789", "Numbers are people by weight."):
        assert words in page
    assert "e+04" not in page
    assert ">By weight</th>" not in comparison_page(found)


def test_a_long_value_is_cut(found):
    lines = "[" + "0.25, " * 1000 + "1]"
    page = comparison_page(found | {"statement": [{"setting": "distance.lines", "a": None, "b": lines}]})
    assert "… (6,003 letters)" in page
    assert "0.25, " * 30 not in page


def test_nothing_to_list_is_said(found):
    page = comparison_page(found | {"cells": [], "statement": [], "hidden": found["hidden"] | {"cells": 0}})
    assert "There is nothing to list." in page
