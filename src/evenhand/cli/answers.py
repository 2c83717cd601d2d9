"""What a command answers: words for people, or with --json exactly one JSON document on the output stream.

What a document may hold, and how infinite and undefined numbers are written, is the rule of ``findings.document``.
Complaints and progress go to the error stream in either case.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any

import typer

from evenhand.cli.wording import advising
from evenhand.render.document import document, plain
from evenhand.render.section import Section
from evenhand.text import printable_lines

JsonOption = Annotated[bool, typer.Option("--json", help="Write one JSON document instead of words.")]


def answer(as_json: bool, command: str, document: Callable[[], Mapping[str, Any]], show: Callable[[], None]) -> None:
    if as_json:
        write({"command": command, **document()})
    else:
        show()


def reply(
    as_json: bool,
    command: str,
    sections: Iterable[Section],
    *,
    facts: Mapping[str, Any] | None = None,
    title: str | None = None,
    following: Iterable[Iterable[object]] = (),
) -> None:
    """Answer with sections: in JSON below ``facts``, for people below a ``title``, with the commands that come next."""
    found = list(map(advising, sections))

    def show() -> None:
        from evenhand.cli import screen
        from evenhand.render import terminal

        if title is not None:
            screen.rule(title)
        terminal.show(found, screen.console)
        if commands := list(following):
            screen.following(*commands)

    answer(as_json, command, lambda: {**(facts or {}), **document(found)}, show)


def write(found: Mapping[str, Any]) -> None:
    """Write one JSON document; in ASCII, so that any stream takes it and no terminal obeys it."""
    write_text(json.dumps(plain(found), allow_nan=False, indent=2) + "\n")


def write_text(text: str) -> None:
    """Write a text as it is, for another program to read; a terminal that shows it does not obey it."""
    sys.stdout.write(printable_lines(text) if sys.stdout.isatty() else text)
    sys.stdout.flush()
