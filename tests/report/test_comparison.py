"""The page of a comparison: small cells are left out and counted, and nothing is read as markup."""

import pytest

from evenhand.report.comparison import comparison_page


@pytest.fixture
def found():
    cell = {"sex": "<b>f</b>", "age": "old", "y": 0, "people": 30.0, "weight": 30.0, "1: a": 0.25, "other_outcome": 0.1}
    return {
        "about": "the 40 people of the table",
        "people": 40.0,
        "words": ["Of the statements one setting differs."],
        "notes": ["records are not compared"],
        "statement": [{"setting": "blind", "a": "false", "b": None}],
        "rates": [{"sex": "<b>f</b>", "y": 1, "weight": 1234.0, "before": 0.5, "after_a": 0.4, "after_b": 0.123}],
        "groups": [{"sex": "f", "weight": 19.0, "changed_a": 0.5, "changed_b": 0.25, "other_outcome": 0.1}],
        "costs": [{"what": "utility loss", "a": 0.0123456, "b": 2}, {"what": "people changed", "a": 5000.0, "b": None}],
        "cells": [cell, cell | {"people": 3.0, "age": "rare"}],
    }


def test_small_cells_are_left_out_and_nothing_is_markup(found):
    page = comparison_page(found, 20)
    assert "&lt;b&gt;f&lt;/b&gt;" in page
    assert "<b>f" not in page
    assert "rare" not in page
    assert page.count("1 rows of fewer than 20 people are not shown") == 0
    assert page.count("1 row of fewer than 20 people is not shown") == 2
    for written in ("12.3%", "25.0%", "0.01235", "5,000", "–", "1,234", "On the 40 people of the table."):
        assert written in page
    assert "rare" in comparison_page(found, 0)


def test_nothing_to_list_is_said(found):
    page = comparison_page(found | {"cells": [], "statement": []}, 20)
    assert "There is nothing to list." in page
