"""What a command answers: words for people, or with --json exactly one JSON document on the output stream.

Numbers that JSON does not know become null; tables become lists of rows. Complaints and progress go to the error stream
in either case.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from evenhand.cli import screen

JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON document instead of words.")]


def answer(as_json: bool, command: str, document: Callable[[], Mapping[str, Any]], show: Callable[[], None]) -> None:
    """Write the document, or show the words."""
    if as_json:
        write({"command": command, **document()})
    else:
        show()


def write(document: Mapping[str, Any]) -> None:
    """Write one JSON document."""
    try:
        sys.stdout.write(json.dumps(plain(document), ensure_ascii=False, allow_nan=False, indent=2) + "\n")
        sys.stdout.flush()
    except BrokenPipeError:
        raise screen.UnreadError from None


def write_text(text: str) -> None:
    """Write a text as it is, for another program to read."""
    sys.stdout.write(text)
    sys.stdout.flush()


def plain(value: Any) -> Any:
    """Return a value of plain lists, dictionaries, texts and numbers.

    Examples
    --------
    >>> plain({"bound": math.inf, "levels": (1, 2.5)})
    {'bound': None, 'levels': [1, 2.5]}
    """
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        return plain(value.to_dict("records"))
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set):
        return [plain(inner) for inner in value]
    return _scalar(value.item() if hasattr(value, "item") else value)


def _scalar(value: Any) -> Any:
    # A member of an enumeration is a text or a number with a name; JSON gets the bare one.
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None
    return str(value)
