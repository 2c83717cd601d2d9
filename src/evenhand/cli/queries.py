"""The command that writes a mapping as a query, for engines that Python cannot reach."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer, write_text
from evenhand.cli.files import writing
from evenhand.cli.options import ForceOption, MappingArgument, MissingOption, SeedOption, UnseenOption, asked
from evenhand.cli.options import words as listed
from evenhand.cli.transforming import Restore, RestoreOption
from evenhand.text import printable_lines


class Mode(StrEnum):
    """What a query does."""

    apply = "apply"
    release = "release"


# Each dialect is a file; their registry cannot be asked here, because help would wait for numpy.
DIALECTS = sorted(
    path.stem
    for path in (Path(__file__).parents[1] / "engines" / "sql" / "dialects").glob("*.py")
    if path.stem not in ("__init__", "base")
)


def _known(dialect: str) -> str:
    if dialect not in DIALECTS:
        raise typer.BadParameter(f"{dialect!r} is not one of {', '.join(map(repr, DIALECTS))}.")
    return dialect


def sql(
    mapping: MappingArgument,
    dialect: Annotated[
        str,
        typer.Option(
            callback=_known,
            autocompletion=lambda: DIALECTS,
            metavar=f"<{'|'.join(DIALECTS)}>",
            help="The engine that is to run the query.",
        ),
    ],
    table: Annotated[str, typer.Option(help="The table's name there, such as people or sales.people.")],
    key: Annotated[str, typer.Option(help="The column that names people; draws depend on it and the seed.")],
    mode: Annotated[Mode, typer.Option(help="Apply mode, or train mode.")] = Mode.apply,
    seed: SeedOption = 0,
    unseen: UnseenOption = None,
    missing: MissingOption = None,
    restore: RestoreOption = Restore.sample,
    columns: Annotated[
        str | None, typer.Option(help="The columns that come out, separated by commas; by default all of them.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the query; by default it is shown.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a mapping as one query for a database, with the same draws by key as everywhere."""
    options: dict[str, Any] = {"mode": mode.value, "seed": seed, "restore": restore.value, **asked(missing, unseen)}
    chosen = listed("--columns", columns)
    with writing(force, out, inputs=(mapping,)):
        screen.load()
        from evenhand.files import replace_file
        from evenhand.mapping import Mapping

        with screen.progress_bar() as report:
            report("reading the mapping", 0.0)
            fitted = Mapping.load(mapping)
            query = fitted.to_sql(dialect, table, key, columns=chosen, **options)
        if out is not None:
            replace_file(out, query.encode())

    def show() -> None:
        if out is None:
            write_text(query)
            if sys.stdout.isatty() and printable_lines(query) != query:
                screen.note("control characters of values are shown as a sign here; --out FILE writes the very query")
            return
        screen.heading("What was written")
        screen.written(out, f"a query of {len(query.encode()):,} bytes; a missing key or value ends it with an error")

    used = {"dialect": dialect, "key": key, "unseen": "typical", **options}
    document = {"written": {"query": out}, "query": query, "options": used}
    answer(as_json, "sql", lambda: document, show)
