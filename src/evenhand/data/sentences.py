"""Sentences that know of whom they speak, so that whoever shows them can leave some out without reading them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ANYBODY: Mapping[str, Any] | None = None
"""In place of part of a table, where a sentence may name anybody in it."""


class Said(str):
    """A sentence that names parts of a table: a text like any other, with the levels of each part.

    A plain text names nobody.

    Examples
    --------
    >>> said = Said("the group sex=a has only 3 people", {"sex": "a"})
    >>> said, said.about
    ('the group sex=a has only 3 people', ({'sex': 'a'},))
    >>> about(said), about("all is well")
    (({'sex': 'a'},), ())
    """

    about: tuple[Mapping[str, Any] | None, ...]

    def __new__(cls, text: str, *parts: Mapping[str, Any] | None) -> Said:
        """Say something of parts of a table."""
        said = super().__new__(cls, text)
        said.about = parts
        return said


def about(text: str) -> tuple[Mapping[str, Any] | None, ...]:
    """Return the parts of a table that a text names."""
    return text.about if isinstance(text, Said) else ()
