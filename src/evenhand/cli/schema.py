"""The command that writes the JSON schema of problem files, by which editors complete and check them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply, write_text
from evenhand.cli.files import writing
from evenhand.cli.options import ForceOption
from evenhand.cli.sections import written
from evenhand.render.section import Note

USUAL = "problem.schema.json"
"""The file beside a problem in which ``init`` looks for the schema."""


def directive(path: Path) -> str:
    """Return the first line of a problem that names the schema beside it, as editors with Taplo read it."""
    return f"#:schema ./{path.name}"


def naming_schema(problem: Path, text: str) -> str:
    """Return a problem's text, which names the schema where one lies beside it; a name of nothing is of no use."""
    schema = problem.parent / USUAL
    return f"{directive(schema)}\n{text}" if schema.is_file() else text


def schema(
    out: Annotated[
        Path | None, typer.Option(help=f"Where to write it, such as {USUAL}; by default it is shown.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write the JSON schema of problem files, for editors that complete and check TOML."""
    with writing(force, out):
        screen.load()
        from evenhand.files import replace_file
        from evenhand.spec import Problem

        found = Problem.schema()
        text = json.dumps(found, indent=2) + "\n"
        if out is not None:
            replace_file(out, text.encode())

    if out is None and not as_json:
        write_text(text)
        return
    notes = () if out is None else (Note("written.schema"), Note("text", {"text": directive(out)}))
    reply(as_json, "schema", (written(schema=out, notes=notes),), facts={"schema": found})
