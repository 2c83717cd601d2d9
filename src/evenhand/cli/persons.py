"""The command that explains what a mapping does with one person, or why with two it does not do the same."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.options import MappingArgument, MissingOption, PolicyOption, asked


class Mode(StrEnum):
    """Train mode or apply mode."""

    release = "release"
    apply = "apply"


def explain(
    mapping: MappingArgument,
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file in which the person is.")],
    where: Annotated[
        list[str],
        typer.Option(help="Who is meant, as COLUMN=VALUE, or row=NUMBER; several conditions must all be met."),
    ],
    beside: Annotated[
        list[str] | None,
        typer.Option("--and", help="Another person, told in the same way: why what may become of the two differs."),
    ] = None,
    manifest: Annotated[
        Path | None, typer.Option(help="The manifest of a released file: what was drawn for the person there.")
    ] = None,
    mode: Annotated[
        Mode | None, typer.Option(help="By default release where the table has the outcome, else apply.")
    ] = None,
    unseen: PolicyOption = None,
    missing: MissingOption = None,
    as_json: JsonOption = False,
) -> None:
    """Explain one person: what may become of them and how likely, which limits bind, what was drawn, why two differ."""
    one, other = _conditions("--where", where), _conditions("--and", beside or ())
    screen.load()
    from evenhand.findings.manifest import Manifest
    from evenhand.mapping import Mapping
    from evenhand.render import terminal
    from evenhand.render.document import document
    from evenhand.use.persons import explain_person

    with screen.progress_bar() as report:
        report("reading the mapping", 0.0)
        fitted = Mapping.load(mapping)
        read = None if manifest is None else Manifest.load(manifest)
        found = explain_person(
            fitted, table, one, beside=other or None, mode=None if mode is None else mode.value, manifest=read,
            mapping=mapping, progress=report, **asked(missing, unseen),
        )  # fmt: skip
    people = [document(each.sections) for each in found]
    told: dict[str, Any] = {
        "mapping": mapping, "table": table, "where": one, "person": people[0],
        "and": other or None, "other": people[1] if len(people) > 1 else None,
    }  # fmt: skip

    def show() -> None:
        for conditions, each in zip((one, other), found, strict=False):
            screen.rule(" and ".join(f"{name}={value}" for name, value in conditions.items()))
            terminal.show((section for section in each.sections if section.key != "unlike"), screen.console)
        # Why two differ is shown once, below both.
        terminal.show((section for section in found[0].sections if section.key == "unlike"), screen.console)

    answer(as_json, "explain", lambda: told, show)


def _conditions(option: str, given: Sequence[str]) -> dict[str, str]:
    """Read conditions; a column may be named once."""
    found: dict[str, str] = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise typer.BadParameter(f"must look like id=123, not {text!r}", param_hint=option)
        if name in found:
            raise typer.BadParameter(f"names the column {name!r} twice", param_hint=option)
        found[name] = value
    return found
