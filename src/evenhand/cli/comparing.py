"""The command that compares two mapping files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply
from evenhand.cli.files import writing
from evenhand.cli.options import (
    ForceOption,
    FrequenciesOption,
    HideBelowOption,
    MissingOption,
    WeightsOption,
    asked,
    counting,
)
from evenhand.data import FEW_PEOPLE
from evenhand.render.section import Fact, Section


def compare(
    a: Annotated[Path, typer.Argument(help="A mapping file, such as the version in use: A.")],
    b: Annotated[Path, typer.Argument(help="Another, such as the version that is to replace it: B.")],
    table: Annotated[
        Path | None,
        typer.Option(help="A CSV or Parquet file of the people to compare them on; by default those B was fitted on."),
    ] = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    missing: MissingOption = None,
    hide_below: HideBelowOption = FEW_PEOPLE,
    out: Annotated[Path | None, typer.Option(help="Where to write a page of it, too: an .html file.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say in what two mappings differ: statement, rates, people changed, costs, and who is treated differently."""
    given = counting(weights, frequencies, table, "--table; the fitted people have their own")
    if missing is not None and table is None:
        raise typer.BadParameter("goes with --table; the fitted one says it itself", param_hint="--missing")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"must end in .html, not {out.name!r}", param_hint="--out")
    screen.load()
    from evenhand.mapping import Mapping
    from evenhand.use.comparing import compare as compared

    with writing(force, out, inputs=(a, b, table)), screen.progress_bar() as report:
        report("reading", 0.1)
        first, second = Mapping.load(a), Mapping.load(b)
        report("comparing", 0.5)
        found = compared(first, second, table, **given, names=(str(a), str(b)), hide_below=hide_below, **asked(missing))
        if out is not None:
            report("writing the page", 0.9)
            found.save(out)
    written = () if out is None else (Section("written", facts=(Fact("page", out),)),)
    facts = {"a": a, "b": b, "table": table}
    reply(as_json, "compare", (*found.sections, *written), facts=facts, title="Two mappings compared")
