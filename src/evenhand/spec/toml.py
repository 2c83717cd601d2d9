"""A problem as TOML and back: what the records say, within what TOML promises to keep.

Each statement is a table: a key that says which kind it is, and one key per field. Fields at their default are left
out, except those that decide the answer at the top level. Unknown keys are refused.
"""

from __future__ import annotations

import json
import math
import re
import tomllib
from typing import TYPE_CHECKING, Any

import tomli_w

from evenhand import records
from evenhand._version import __version__
from evenhand.errors import SpecError

if TYPE_CHECKING:
    from evenhand.spec.problem import Problem

DRAFT = "https://json-schema.org/draft/2020-12/schema"
ABOUT = "What evenhand is to keep, and within which bounds. What descriptions call None is a key that is left out."

LARGEST_WHOLE = 2**64
"""TOML promises 64 bits, with a sign; without one they are levels of some tables, too."""

WHOLE = "whole numbers have at most 19 digits"

TOO_DEEP = "this TOML nests its arrays or tables too deeply to be read; a problem has five levels"

KEY = r"""(?:[\w-]+|"[^"\n]*"|'[^'\n]*')"""
DOTTED = re.compile(rf"(?:^[ \t]*\[{{0,2}}|[{{,])[ \t]*(?:{KEY}[ \t]*\.[ \t]*){{100}}", re.MULTILINE)
"""A key or a heading of a hundred parts, each of which is a table in the last; to read thousands takes minutes."""


def literal(value: Any) -> str:
    """Return a text, number, truth or list of them as TOML writes it in one line."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, list):
        return f"[{', '.join(map(literal, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", r"\u007f")


def key(name: str) -> str:
    """Return a name as a key, which stands in quotes unless it is a bare one."""
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else literal(name)


def write(problem: Problem) -> str:
    return tomli_w.dumps(records.written(problem))


def read(text: str, problem: type[Problem]) -> Problem:
    """Return the problem that a TOML document states."""
    if not isinstance(text, str):
        raise SpecError(f"from_toml takes the text of a TOML document, not {type(text).__name__}")
    if "\n" not in text and text.endswith(".toml"):
        raise SpecError(f"from_toml takes the text of a TOML document; {text!r} looks like a path: read the file first")
    document = parse(text)
    _check_whole("the problem", document)
    return records.read(problem, document)


def parse(text: str) -> dict[str, Any]:
    """Return what a TOML document says, or say why it cannot be read."""
    if DOTTED.search(text):
        raise SpecError(TOO_DEEP)
    try:
        return tomllib.loads(text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"))
    except tomllib.TOMLDecodeError as error:
        raise SpecError(f"this is not valid TOML: {error}") from None
    except ValueError:
        raise SpecError(f"this is not valid TOML: it holds a whole number of thousands of digits; {WHOLE}") from None
    except RecursionError:
        raise SpecError(TOO_DEEP) from None


def _check_whole(where: str, value: Any) -> None:
    """Refuse whole numbers that TOML does not promise to keep, and nothing here could count with."""
    if isinstance(value, int) and abs(value) > LARGEST_WHOLE:
        raise SpecError(f"{where} holds a whole number that is too large; {WHOLE}")
    if isinstance(value, dict | list):
        for key, inner in value.items() if isinstance(value, dict) else enumerate(value):
            _check_whole(key if isinstance(key, str) else where, inner)


def schema(problem: type[Problem]) -> dict[str, Any]:
    """Return the JSON schema of a problem's TOML.

    It knows the shape of a document, not which columns a table has or which numbers make sense. It says that it is of
    draft 2020-12, but uses only what means the same from draft 4 on, which some editors read.
    """
    top = {"$schema": DRAFT, "$comment": f"evenhand {__version__}: evenhand schema", "title": "evenhand: a problem"}
    return {**top, **records.schema(problem), "description": ABOUT}
