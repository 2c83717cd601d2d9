"""The command that watches batches of new people, and keeps and draws their history."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.exits import Exit
from evenhand.cli.explaining import counted_once
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
from evenhand.render.sentences import sentence

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
    from evenhand.use.mapping import Mapping

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
    words = (*map(sentence, counted_once(fitted, table, given)), *found.words)
    batches = None if past is None else len(past)
    document = {
        "mapping": mapping,
        "table": table,
        **{name: getattr(found, name) for name in ("people", "confidence", "outcomes", "fitted", "weighed", "verdict")},
        "released": found.released,
        "drifted": found.drifted,
        "sentences": words,
        **{name: getattr(found, name) for name in ("coverage", "drift", "bounds")},
        "batches": batches,
        "written": {"history": history, "chart": drawn},
    }

    def show() -> None:
        screen.heading(f"{in_number(found.people)} of {table} against {mapping}")
        screen.bullets(words)
        _show_tables(found)
        if history is not None:
            screen.heading("What was written")
            screen.written(history, f"the history, with this batch as number {batches}")
        if drawn is not None:
            screen.written(drawn, "the history as a picture")

    answer(as_json, "monitor", lambda: document, show)
    if any(_found(found, each) for each in fail_on or ()):
        raise typer.Exit(Exit.NO)


def _found(found: Monitored, what: FailOn) -> bool:
    tables: dict[FailOn, Any] = {
        FailOn.violated: found.violated,
        FailOn.undecided: [*found.violated.index, *found.undecided.index],
        FailOn.drifted: found.drifted,
    }
    return len(tables[what]) > 0


def _show_tables(found: Monitored) -> None:
    screen.heading("How far from the fitted table, and what sampling alone stays below (total variation)")
    drift = found.drift[["name", "apart", "expected", "limit", "chance", "drifted"]]
    screen.frame_table(drift.assign(drifted=["yes" if each else "" for each in drift["drifted"]]))
    if len(found.bounds) and found.outcomes:
        screen.heading("Every parity bound, by one release of these people: how far apart, with an exact interval")
        beyond = found.bounds[["low", "value"]].sub(found.bounds["bound"], axis=0)
        # Worst first: what is shown to be beyond its bound, then what this release has beyond it.
        order = beyond.assign(low=beyond["low"].clip(lower=0)).sort_values(["low", "value"], ascending=False).index
        several = ["constraint"] if found.bounds["constraint"].nunique() > 1 else []
        columns = [*several, "where", "bound", "value", "low", "high", "verdict"]
        screen.frame_table(found.bounds.loc[order, columns], screen.TOP)
    counted = found.coverage[found.coverage["rows"] > 0]
    if len(counted):
        screen.heading("Missing and unseen")
        screen.frame_table(counted)
