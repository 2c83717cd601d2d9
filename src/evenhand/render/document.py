"""Sections as JSON: the values of every table and fact by their names, and every note with its key and its sentence."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.render.section import Note, Section
from evenhand.render.sentences import sentence

Json = dict[str, Any]


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it: what is undefined becomes null, the infinite a word, a table a list of rows.

    Examples
    --------
    >>> plain({"bound": math.inf, "gap": math.nan, "levels": (1, 2.5, -math.inf)})
    {'bound': 'infinite', 'gap': None, 'levels': [1, 2.5, '-infinite']}
    """
    if isinstance(value, Note):
        return sentence(value)
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        value = value.to_dict("records")
    elif hasattr(value, "tolist"):
        # Arrays, and numbers of an array's type.
        value = value.tolist()
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    if value is None or isinstance(value, bool):
        return value
    # A member of an enumeration is a text or a number with a name; JSON gets the bare one.
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float) and math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    try:
        defined = bool(value == value)
    except TypeError:
        # What a table has in place of a missing value is neither equal to itself nor not.
        defined = False
    if not defined:
        return None
    return float(value) if isinstance(value, float) else str(value)


def document(sections: Iterable[Section]) -> Json:
    """Return sections by their keys."""
    return {section.key: _section(section) for section in sections}


def _section(section: Section) -> Json:
    found: Json = {fact.key: plain(fact.value) for fact in section.facts}
    # A chart may draw a part of a table that has all.
    for table in (*(chart.table for chart in section.charts), *section.tables):
        found[table.key] = plain(table.records())
    found["notes"] = [{"key": note.key, "text": sentence(note)} for note in section.notes]
    return found | document(section.parts)


def text(found: Mapping[str, Any]) -> str:
    """Return a document as text, in ASCII: any stream takes it, and no terminal obeys it."""
    return json.dumps(plain(found), allow_nan=False, indent=2) + "\n"
