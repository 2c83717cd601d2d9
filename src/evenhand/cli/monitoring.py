"""The command that watches batches of new people, and keeps and draws their history."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply
from evenhand.cli.exits import Exit
from evenhand.cli.explaining import counted_once, noted
from evenhand.cli.files import check_chart, draw_chart, writing
from evenhand.cli.options import (
    ConfidenceOption,
    ForceOption,
    FrequenciesOption,
    MappingArgument,
    MissingOption,
    PolicyOption,
    SeedOption,
    WeightsOption,
    asked,
    counting,
)
from evenhand.errors import in_number
from evenhand.render.section import Fact, Note, Section

if TYPE_CHECKING:
    from evenhand.findings.monitoring import Monitored


class FailOn(StrEnum):
    """What ends the command with 1."""

    violated = "violated"
    undecided = "undecided"
    drifted = "drifted"


def monitor(
    mapping: MappingArgument,
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file of new people, with or without outcomes.")],
    history: Annotated[
        Path | None, typer.Option(help="Add a line about this batch to a file; made where there is none.")
    ] = None,
    name: Annotated[
        str | None, typer.Option(help="What the batch is called in the history; by default the file's name.")
    ] = None,
    chart: Annotated[Path | None, typer.Option(help="Draw all batches of the history: .png, .svg or .html.")] = None,
    fail_on: Annotated[
        list[FailOn] | None,
        typer.Option(
            help="End with 1 if a bound is shown to be violated, if one is undecided, or if "
            "anything drifted; may be given several times."
        ),
    ] = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    unseen: PolicyOption = None,
    missing: MissingOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Watch a batch of new people: coverage, drift beyond what sampling explains, and whether bounds are shown met.

    It informs: it exits with 0 whatever it finds, unless told to --fail-on something.
    """
    if chart is not None and history is None:
        raise typer.BadParameter("draws a history; name its file with --history", param_hint="--chart")
    if name is not None and history is None:
        raise typer.BadParameter("names a batch of a history; name its file with --history", param_hint="--name")
    given = counting(weights, frequencies)
    screen.load()
    from evenhand.mapping import Mapping

    check_chart(chart)
    with writing(force, chart, inputs=(mapping, table, history)), screen.progress_bar() as report:
        report("reading", 0.1)
        fitted = Mapping.load(mapping)
        report("counting", 0.3)
        found = fitted.monitor(
            table, **given, confidence=confidence, history=history, name=name, seed=seed,
            progress=lambda stage, share: report(stage, 0.3 + 0.6 * share), **asked(missing, unseen),
        )  # fmt: skip
        past = None if history is None else fitted.history(history)
        report("drawing", 0.95)
        drawn = None if past is None else draw_chart(past.chart, chart)
    sections = list(noted(found.sections, "batch", counted_once(fitted, table, given)))
    if past is not None:
        files = Fact("history", history), Fact("chart", drawn, detail=drawn is None)
        notes = (Note("monitor.number", {"batches": len(past)}),)
        sections.append(Section("written", facts=(*files, Fact("batches", len(past), detail=True)), notes=notes))
    facts, title = {"mapping": mapping, "table": table}, f"{in_number(found.people)} of {table} against {mapping}"
    reply(as_json, "monitor", sections, facts=facts, title=title)
    if any(_found(found, each) for each in fail_on or ()):
        raise typer.Exit(Exit.NO)


def _found(found: Monitored, what: FailOn) -> bool:
    tables: dict[FailOn, Any] = {
        FailOn.violated: found.violated,
        FailOn.undecided: [*found.violated.index, *found.undecided.index],
        FailOn.drifted: found.drifted,
    }
    return len(tables[what]) > 0
