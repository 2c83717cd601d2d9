"""The command that compares two mapping files."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.files import check_outputs
from evenhand.cli.options import ForceOption, TableWeightsOption

MOST_CELLS = 12
"""So many cells are listed on the screen."""


def compare(
    a: Annotated[Path, typer.Argument(help="A mapping file, such as the version in use: A.")],
    b: Annotated[Path, typer.Argument(help="Another, such as the version that is to replace it: B.")],
    table: Annotated[
        Path | None,
        typer.Option(help="A CSV or Parquet file of the people to compare them on; by default those B was fitted on."),
    ] = None,
    weights: TableWeightsOption = None,
    out: Annotated[Path | None, typer.Option(help="Where to write a page of it, too: an .html file.")] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say in what two mappings differ: statement, rates, people changed, costs, and who is treated differently."""
    if weights is not None and table is None:
        raise typer.BadParameter("goes with --table; the fitted people have their own", param_hint="--weights")
    if out is not None and out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"must end in .html, not {out.name!r}", param_hint="--out")
    check_outputs(force, out, inputs=(a, b, table))
    screen.load()
    from evenhand.report.comparison import HEADINGS
    from evenhand.use.comparing import compare as compared
    from evenhand.use.mapping import Mapping

    with screen.progress_bar() as report:
        report("reading", 0.1)
        first, second = Mapping.load(a), Mapping.load(b)
        report("comparing", 0.5)
        found = compared(first, second, table, weights=weights)
        if out is not None:
            report("writing the page", 0.9)
            found.save(out)
    document = {"a": a, "b": b, "table": table, "written": {"page": out}, **found.as_dict()}

    def show() -> None:
        screen.rule(f"A: {a}, B: {b}")
        screen.heading("What differs")
        screen.bullets([f"compared on {found.about}", *found.words, *found.notes])
        if len(found.statement):
            screen.heading("What was stated")
            screen.frame_table(found.statement.fillna("(not there)").rename(columns=HEADINGS))
        screen.heading("Each group's rates")
        screen.frame_table(screen.shown(second, found.rates).rename(columns=HEADINGS))
        screen.heading("Who is changed, and at least which share gets another result from B than from A")
        screen.frame_table(found.groups.rename(columns=HEADINGS))
        screen.heading("What each costs")
        screen.frame_table(found.costs.rename(columns=HEADINGS))
        if len(found.cells):
            screen.heading("The cells in which people are treated differently, by how many people it is")
            beside = [f"{level}: {which}" for level in found.levels if level not in found.shown for which in "ab"]
            screen.frame_table(found.cells.drop(columns=["weight", *beside]).rename(columns=HEADINGS), MOST_CELLS)
        if out is not None:
            screen.heading("What was written")
            screen.written(out, "the same as a page, which any browser opens without a network")

    answer(as_json, "compare", lambda: document, show)
