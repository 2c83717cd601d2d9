"""Messages in the words of the command line: its options, and what a problem's TOML says.

Errors and warnings carry what to try as data. ``str`` words it for people who call the library from Python, this module
for people who type commands and edit problems.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from evenhand.errors import Made, Message, Option, Setting, Verb

TABLES = {"distortion": "distortion.rules"}
"""Where a problem's TOML keeps what it says of single columns, if not under the same name as in Python."""


def worded(message: Message) -> str:
    """Return a message as a terminal shows it.

    Examples
    --------
    >>> worded(Message("3 rows are new; with ", Option("unseen", "keep"), " they are left unchanged"))
    '3 rows are new; with --unseen keep they are left unchanged'
    >>> worded(Message("bin it: ", Setting("bins", Made("Quantiles", {"number": 4}), column="age")))
    'bin it: [bins.age] with by = "quantiles" and number = 4'
    """
    return "".join(map(_piece, message.args)).strip()


def _piece(piece: object) -> str:
    match piece:
        case Option(name, value):
            return f"--{name.replace('_', '-')}" + ("" if value is None else f" {value}")
        case Verb(name):
            return f"evenhand {name}"
        case Made(kind, given):
            said = {**_named(kind), **(given if isinstance(given, Mapping) else {})}
            return " and ".join(f"{name} = {_value(value)}" for name, value in said.items())
        case Setting(name, [Made()]):
            # A list of what classes make is an array of tables.
            return f"[[{name}]]"
        case Setting(name, Made(_, given) as made, str(column)):
            # Unless it is a bare key of TOML, a column's name stands in quotes.
            key = column if re.fullmatch(r"[A-Za-z0-9_-]+", column) else _value(column)
            table = f"[{TABLES.get(name, name)}.{key}]"
            return f"{table} with {_piece(made)}" if given else f"{_piece(made)} in {table}"
        case Setting(name, value):
            return f"{name} = {_value(value)}"
    return str(piece)


def _named(kind: str) -> dict[str, str]:
    """Return the key that names a class in TOML, and the word for it."""
    # Only a complaint needs these, and they need numpy.
    from evenhand.spec.toml import BINNINGS, RULES

    return {
        family.key: word
        for family in (RULES, BINNINGS)
        for word, each in family.listed.items()
        if each.__name__ == kind
    }


def _value(value: object) -> str:
    """Return a value as TOML writes it; what only the author knows stays open."""
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return "..." if value is ... else json.dumps(value, ensure_ascii=False)
