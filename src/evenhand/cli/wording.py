"""Messages in the words of the command line: its options, and what a problem's TOML says.

Errors and warnings carry what to try as data. ``str`` words it for people who call the library from Python, this module
for people who type commands and edit problems.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from evenhand.errors import Advice, Made, Message, Option, Setting, Verb
from evenhand.render.section import Note, Section


def worded(message: Message) -> str:
    """Return a message as a terminal shows it.

    Examples
    --------
    >>> from evenhand import SpecError
    >>> worded(SpecError("3 rows are new; with ", Option("unseen", "keep"), " they are left unchanged"))
    '3 rows are new; with --unseen keep they are left unchanged'
    >>> worded(SpecError("it exists already; ", Option("force", True), " replaces it"))
    'it exists already; --force replaces it'
    >>> worded(SpecError("bin it: ", Setting("bins", Made("Quantiles", {"number": 4}), column="age")))
    'bin it: [bins.age] with by = "quantiles" and number = 4'
    >>> worded(SpecError("measure it otherwise: ", Setting("utility", Made("L1"))))
    'measure it otherwise: utility = { measure = "L1" }'
    """
    return "".join(map(_piece, message.pieces)).strip()


def advising(section: Section) -> Section:
    """Return a section whose notes, and those in its tables, advise what to type on the command line.

    Examples
    --------
    >>> section = Section("caveats", notes=(Note("text", {"text": Option("unseen", "keep")}),))
    >>> advising(section).notes[0].fields
    {'text': '--unseen keep'}
    """
    tables = (replace(table, rows=tuple(tuple(map(_advice, row)) for row in table.rows)) for table in section.tables)
    return replace(section, notes=tuple(map(_advice, section.notes)), tables=tuple(tables))


def _advice(value: Any) -> Any:
    """Return a value, a field or a note with its advice in words."""
    match value:
        case Note():
            return replace(value, fields={name: _advice(each) for name, each in value.fields.items()})
        case list() | tuple():
            return [_advice(each) for each in value]
        case Message():
            return worded(value)
        case Advice():
            return _piece(value)
    return value


def _piece(piece: object) -> str:
    match piece:
        case Option(name, value):
            # A switch takes no value.
            return f"--{name.replace('_', '-')}" + ("" if value is None or value is True else f" {value}")
        case Verb(name):
            return f"evenhand {name}"
        case Made():
            return " and ".join(_entries(piece))
        case Setting(name, [Made()]):
            # A list of what classes make is an array of tables.
            return f"[[{name}]]"
        case Setting(name, Made(_, given) as made, str(column)):
            from evenhand.spec.toml import key

            table = f"[{piece.table}.{key(column)}]"
            return f"{table} with {_piece(made)}" if given else f"{_piece(made)} in {table}"
        case Setting(name, value):
            return f"{name} = {_value(value)}"
    return str(piece)


def _entries(made: Made) -> list[str]:
    """Return the lines of a table: the key that names a class and the word for it, and what it is given."""
    # Only a complaint needs these, and they need numpy.
    from evenhand.records import word_of
    from evenhand.spec import registry

    kind = getattr(registry, made.kind)
    said = {kind.key: word_of(kind)}
    given = made.given if isinstance(made.given, Mapping) else {}
    return [f"{name} = {_value(value)}" for name, value in {**said, **given}.items()]


def _value(value: object) -> str:
    """Return a value as TOML writes it; what only the author knows stays open."""
    from evenhand.spec.toml import literal

    if isinstance(value, Made):
        return f"{{ {', '.join([*_entries(value), *(['...'] if value.given is ... else [])])} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    return "..." if value is ... else literal(value)
