"""The command that compares two mapping files."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
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

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.use.comparing import Comparison


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
    from evenhand.data.weighting import Unit
    from evenhand.report.comparison import called
    from evenhand.use.comparing import compare as compared
    from evenhand.use.mapping import Mapping

    with writing(force, out, inputs=(a, b, table)), screen.progress_bar() as report:
        report("reading", 0.1)
        first, second = Mapping.load(a), Mapping.load(b)
        report("comparing", 0.5)
        found = compared(first, second, table, **given, names=(str(a), str(b)), hide_below=hide_below, **asked(missing))
        if out is not None:
            report("writing the page", 0.9)
            found.save(out)
    document = {"a": a, "b": b, "table": table, "written": {"page": out}, **found.as_dict()}

    def show() -> None:
        screen.rule("Two mappings compared")
        screen.pairs(called(found.as_dict()["mappings"], letters=12))
        screen.heading("What differs")
        screen.bullets([f"compared on {found.about}", *found.words, *found.notes])
        if len(found.statement):
            screen.heading("What was stated")
            screen.frame_table(_written(found.statement.fillna("(not there)")))
        screen.heading(f"Each group's rates of {found.outcome}, {Unit.of(weighed=found.weighed)}")
        _enough(found, found.rates)
        screen.heading("Who is changed, and in expectation at least which share gets another result from B than from A")
        _enough(found, found.groups)
        screen.heading("What each costs")
        screen.frame_table(_written(found.costs))
        if len(found.cells):
            screen.heading("The cells in which people are treated differently, by how many people it is")
            beside = [f"{level}: {which}" for level in found.levels if level not in found.shown for which in "ab"]
            _enough(found, found.cells.drop(columns=beside), most=12)
        if out is not None:
            screen.heading("What was written")
            screen.written(out, "the same as a page, which any browser opens without a network")

    answer(as_json, "compare", lambda: document, show)


def _enough(found: Comparison, table: pd.DataFrame, most: int | None = None) -> None:
    """Show the rows that are passed on, who they are in one column, and say how many others there are."""
    from evenhand.findings.discretion import not_shown

    kept = table[table["shown"]].drop(columns="shown")
    if len(kept):
        screen.frame_table(_joined(found, kept), most, first_number=1)
    if len(kept) < len(table):
        screen.bullets([not_shown(len(table) - len(kept), len(table), "rows", found.hide_below)])


def _joined(found: Comparison, table: pd.DataFrame) -> pd.DataFrame:
    """Join the columns that say who it is: side by side they would leave one letter to each on a narrow screen."""
    from evenhand.report.comparison import heading, joined, without_weight, written

    named = ({str(name): value for name, value in row.items()} for row in table.to_dict("records"))
    rows = [joined(without_weight(row, weighed=found.weighed)) for row in named]
    texts = [{name: written(name, value) for name, value in row.items()} for row in rows]
    return type(table)(texts).rename(columns=heading)


def _written(table: pd.DataFrame) -> pd.DataFrame:
    """Write the values of a table of two columns beside names as its page does."""
    from evenhand.report.comparison import heading, written

    texts = {name: [written(name, value) for value in table[name]] for name in table.columns}
    return type(table)(texts).rename(columns=heading)
