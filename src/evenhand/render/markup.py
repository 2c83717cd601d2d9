"""Elements of HTML and SVG. Every text is escaped where an element is made of it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape

from evenhand.text import printable_lines

LEFT = "[\u0590-\u08ff\ufb1d-\ufdff\ufe70-\ufefc]"
LEFTWARDS = re.compile(rf"{LEFT}+(?:[\s\u200c\u200d]+{LEFT}+)*")
"""Words in letters that are written from right to left."""


class Markup(str):
    """A text that is HTML already."""

    __slots__ = ()


def shown(text: object) -> Markup:
    """Escape a text, unless it is markup already. Words that are read from right to left are set apart.

    Examples
    --------
    >>> shown("a < b"), shown(element("b", "x"))
    ('a &lt; b', '<b>x</b>')
    """
    if isinstance(text, Markup):
        return text
    apart = LEFTWARDS.sub(lambda words: f"\u2068{words[0]}\u2069", printable_lines(str(text)))
    return Markup(escape(apart))


def element(tag: str, *content: object, **attributes: object) -> Markup:
    """Return an element; attributes that are None are left out, and an underscore in a name is a hyphen.

    Examples
    --------
    >>> element("td", "<1", class_="number", data_label=None)
    '<td class="number">&lt;1</td>'
    """
    named = (
        f' {name.rstrip("_").replace("_", "-")}="{shown(value)}"'
        for name, value in attributes.items()
        if value is not None
    )
    return Markup(f"<{tag}{''.join(named)}>{''.join(map(shown, content))}</{tag}>")


def joined(parts: Iterable[object]) -> Markup:
    """Return parts behind one another."""
    return Markup("".join(map(shown, parts)))
