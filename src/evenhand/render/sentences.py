"""Every sentence, heading and title that says what was found, by its key: the one place to edit them.

A template names its fields in braces, with a kind of number (``{before:rate}``), with the two forms of a word that
depends on how many there are (``{groups:group|groups}``), or, for a list, with what stands between (``{names:, }``).
A field may be a note, whose sentence is filled in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Formatter
from typing import Any

from evenhand.render.numbers import FORMATS, written
from evenhand.render.section import Note

MOST_LISTED = 5
"""So many of a list are written; the tables have all."""

SENTENCES: dict[str, str] = {
    "hidden.rows": "{hidden} of {total} rows are not shown: fewer than {least} people, or would reveal such a group",
}

TITLES: dict[str, str] = {
    "chart.band": "allowed",
    "chart.better": "better for people",
    "chart.infeasible": "infeasible",
    "chart.interval": "interval",
    "chart.neither": "neither",
    "chart.shade": "darker is more, up to {top}",
    "chart.worse": "worse for people",
}
"""The headings of sections, the captions of tables and the titles of charts."""

HEADINGS: dict[str, str] = {}
"""The headings of columns and facts that are not their names."""


class _Template(Formatter):
    def format_field(self, value: Any, format_spec: str) -> str:
        if isinstance(value, Note):
            return sentence(value)
        if isinstance(value, Sequence) and not isinstance(value, str):
            return (format_spec or ", ").join(self.format_field(each, "") for each in value)
        if "|" in format_spec:
            one, several = format_spec.split("|")
            return one if value == 1 else several
        if format_spec in FORMATS or format_spec == "flag":
            return written(value, format_spec)
        return "" if value is None else format(value, format_spec)


TEMPLATE = _Template()


def fill(template: str, fields: Mapping[str, Any]) -> str:
    """Fill in a template.

    Examples
    --------
    >>> fill("{n} {n:group|groups}: {names}, {rate:rate}", {"n": 2, "names": ["a", "b"], "rate": 0.25})
    '2 groups: a, b, 25.0%'
    """
    return TEMPLATE.vformat(template, (), fields)


def sentence(note: Note) -> str:
    """Write a note."""
    return fill(SENTENCES[note.key], note.fields)


def title(key: str, fields: Mapping[str, Any]) -> str:
    """Return the title of a section, a table or a chart; empty where the catalogue has none."""
    return fill(TITLES.get(key, ""), fields)


def heading(name: str) -> str:
    """Return how a column or a fact is headed: its name, unless the catalogue has a better one."""
    return HEADINGS.get(name, name.replace("_", " ").capitalize())
