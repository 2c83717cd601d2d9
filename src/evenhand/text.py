"""Text that somebody else wrote, as a terminal, a page or a picture may show it. Loads no library."""

from __future__ import annotations

import unicodedata

CONTROLS, PICTURES = "\x1f", ord("\N{SYMBOL FOR NULL}")
"""The last of the control characters, and the first of the signs for them, which are in the same order."""

DELETE = "\x7f"

JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""Python does not call them printable, but ordinary writing needs them, as it does spaces of all widths."""


def printable(text: str) -> str:
    """Return a text in one line that is only shown: a sign stands for each character that a reader would obey.

    Escapes, line ends and overrides of the direction are such characters. Control characters have signs of their own,
    so that two levels stay two.

    Examples
    --------
    >>> printable("naïve"), printable("red" + chr(27) + "[31m"), printable("two" + chr(10) + "lines")
    ('naïve', 'red␛[31m', 'two␊lines')
    """
    # Most texts are printable as they are.
    return text if text.isprintable() else "".join(map(_shown, text))


def counted(number: float, one: str, several: str = "") -> str:
    """Write how many there are; several of them have another s, unless they are named.

    Examples
    --------
    >>> counted(1, "row"), counted(1200, "row"), counted(1, "person", "people"), counted(0, "person", "people")
    ('1 row', '1,200 rows', '1 person', '0 people')
    """
    return f"{number:,.0f} {one if number == 1 else several or f'{one}s'}"


def printable_lines(text: str) -> str:
    """Return the same for a text of several lines, which stay lines."""
    return "\n".join(map(printable, text.split("\n")))


def _shown(letter: str) -> str:
    if letter.isprintable() or letter in JOINERS or unicodedata.category(letter) == "Zs":
        return letter
    if letter <= CONTROLS:
        return chr(PICTURES + ord(letter))
    return "\N{SYMBOL FOR DELETE}" if letter == DELETE else "\N{REPLACEMENT CHARACTER}"
