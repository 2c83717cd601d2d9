"""Commands on a problem and its table."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.exits import Exit
from evenhand.cli.explaining import NOTHING_BOUNDS_THEM, audited, mapping_document, outside, show_cells, show_readers
from evenhand.cli.files import check_outputs, columns_of, csv_text, problem_and_table, read_table
from evenhand.cli.options import (
    ForceOption,
    LimitOption,
    ProblemArgument,
    ProofOption,
    SureOption,
    TableArgument,
    WeightsOption,
    numbers,
    typed,
)
from evenhand.cli.wording import worded
from evenhand.errors import MissingExtraError, SpecError, some_of
from evenhand.files import replace_file
from evenhand.tolerances import SHOWN_FROM

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.spec import Problem

TOP = 8
"""How many rows of a long table are shown."""

CELLS = 16
"""How many learned cells are listed where they are not what was asked about."""

MappingOut = Annotated[Path, typer.Option(help="Where to write the mapping.")]


BESIDE_THE_MAPPING = ("out", "proof", "force", "as_json", "threads")
"""Where an answer goes, and how fast it comes: what is in a mapping does not depend on them."""


def fit(
    context: typer.Context,
    problem: ProblemArgument,
    table: TableArgument = None,
    out: MappingOut = Path("evenhand.mapping"),
    weights: WeightsOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Learn the mapping of a problem, explain it, and write it to a file."""
    check_outputs(force, out, proof, inputs=(Path(problem), table))
    screen.load()
    stated, rows = problem_and_table(problem, table)
    stated = _sure(stated, confidence)
    _fit_and_write(context, stated, rows, problem, out, weights, proof, time_limit, as_json)


def shield(
    context: typer.Context,
    problem: ProblemArgument,
    table: TableArgument = None,
    scores: Annotated[
        Path | None,
        typer.Option(help="The model's probabilities: a CSV file of the features, the outcome and probability."),
    ] = None,
    out: MappingOut = Path("evenhand.mapping"),
    weights: WeightsOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Shield an existing model: bound its mean score on transformed features, without retraining it.

    The model must not read the protected columns. Without --scores the table's own p(y|x) stands for the model.
    """
    check_outputs(force, out, proof, inputs=(Path(problem), table, scores))
    screen.load()
    stated, rows = problem_and_table(problem, table)
    conditional = stated.conditional if scores is None else read_table(scores)
    stated = _sure(replace(stated, suppress_protected="fixed", conditional=conditional), confidence)
    _fit_and_write(context, stated, rows, problem, out, weights, proof, time_limit, as_json)


def _sure(problem: Problem, confidence: float | None) -> Problem:
    """Return the problem with the confidence that was asked for on the command line, if any was."""
    return problem if confidence is None else replace(problem, confidence=confidence)


def _fit_and_write(
    context: typer.Context, stated: Problem, rows: Path | pd.DataFrame, name: str, out: Path, weights: str | None,
    proof: Path | None, time_limit: float | None, as_json: bool,
) -> None:  # fmt: skip
    from evenhand.use.fitting import fit as learn

    with screen.progress_bar() as report:
        found = learn(stated, rows, weights=weights, time_limit=time_limit, progress=report)
        mapping = replace(found, fitted_by=typed(context, BESIDE_THE_MAPPING))
        audit = audited(mapping)
    mapping.save(out)
    if proof is not None:
        mapping.proof(proof)
    others, command = outside(columns_of(rows, stated), stated, weights), str(context.command.name)

    def show() -> None:
        size = mapping.counts.weight.sum()
        screen.explain(f"{name}: {size:,.0f} people" + " by weight" * (weights is not None), "", mapping, audit)
        show_readers(mapping, audit)
        if stated.cells is not None:
            show_cells(mapping.cells, CELLS, f"{screen.command('audit', out)} lists all")
        screen.heading("One draw")
        screen.bullets(mapping.theory.one_draw())
        screen.heading("What was written")
        screen.written(out, f"the mapping; check it with: {screen.command('verify', out)}")
        if proof is not None:
            _proof_written(proof)
        if others:
            screen.heading("Columns outside the problem")
            passed = f"{some_of(others)}: release and apply pass them through unchanged, and {NOTHING_BOUNDS_THEM}"
            screen.bullets([passed])
        # The table of an embedded study is in no file; and a model that exists already needs no new training data.
        mode, result = ("release", "released.csv") if command == "fit" else ("apply", "applied.csv")
        use = [(mode, out, rows, "--out", result)] if isinstance(rows, Path) else []
        screen.following(*use, ("report", out, "--out", "report.html"))

    document = {"written": {"mapping": out, "proof": proof}, "outside_the_problem": others}
    answer(as_json, command, lambda: document | mapping_document(mapping, audit), show)


def _proof_written(path: Path) -> None:
    from evenhand import verifier

    shown = shlex.quote(str(path))
    screen.written(
        path, f"the proof; check it with: evenhand verify {shown}, or without evenhand: python verifier.py {shown}"
    )
    screen.bullets([f"verifier.py needs Python alone; here it is {verifier.__file__}"])


def diagnose(
    problem: ProblemArgument,
    table: TableArgument = None,
    weights: WeightsOption = None,
    proof: ProofOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Say why a problem is infeasible and what would help; or, where it is feasible, what each bound costs.

    Exits with 1 if the problem is infeasible.
    """
    check_outputs(force, proof, inputs=(Path(problem), table))
    screen.load()
    from evenhand.use.diagnosis import diagnose as examine

    stated, rows = problem_and_table(problem, table)
    stated = _sure(stated, confidence)
    with screen.progress_bar() as report:
        found = examine(stated, rows, weights=weights, time_limit=time_limit, progress=report)
    if proof is not None:
        found.proof(proof)
    # Prices that are noise are left out, those that are not known are not.
    prices = None if found.prices is None else found.prices[~(found.prices["price"] <= SHOWN_FROM)]
    conflict = found.conflict
    sentences = found.sentences if found.reason is None else (worded(found.reason), *found.sentences[1:])
    document = {
        "written": {"proof": proof},
        "feasible": found.feasible,
        "smallest_parity_bound": found.smallest_parity_bound,
        "smallest_budget": found.smallest_budget,
        "smallest_budget_factor": found.smallest_budget_factor,
        "cheapest": found.cheapest,
        "sentences": sentences,
        "conflict": None if conflict is None else conflict.bounds,
        "reach": None if conflict is None else conflict.reach,
        "prices": prices,
        "objective": None if found.mapping is None else found.mapping.objective,
        "cells": None if stated.cells is None else found.cells,
    }

    def show() -> None:
        screen.heading("Feasible" if found.feasible else "Infeasible")
        screen.bullets(sentences)
        if conflict is not None:
            screen.heading("The bounds that conflict (share of the proof's weight)")
            screen.frame_table(conflict.bounds, TOP)
            screen.heading("How far these rates can go within budgets and forbidden moves")
            screen.frame_table(conflict.reach, TOP)
        if prices is not None and len(prices):
            screen.heading("What each bound costs: utility gained for each unit that it is relaxed, at first")
            screen.frame_table(prices, 2 * TOP)
        if stated.cells is not None and (conflict is not None or prices is not None):
            show_cells(found.cells)
        if proof is not None:
            screen.heading("What was written")
            _proof_written(proof)

    answer(as_json, "diagnose", lambda: document, show)
    if not found.feasible:
        raise typer.Exit(Exit.NO)


def frontier(
    problem: ProblemArgument,
    table: TableArgument = None,
    bounds: Annotated[
        str | None, typer.Option(help="Parity bounds: 0:0.7:50 (from, to, how many) or 0.1,0.2,0.5.")
    ] = None,
    budgets: Annotated[
        str | None, typer.Option(help="Budgets in the same form; factors where a problem has several limits.")
    ] = None,
    people: Annotated[
        bool, typer.Option("--people", help="Count the people changed at every point, too: each is fitted by itself.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where to write the points.")] = Path("frontier.csv"),
    chart: Annotated[Path | None, typer.Option(help="Where to draw them: .png, .svg or .html.")] = None,
    weights: WeightsOption = None,
    time_limit: LimitOption = None,
    confidence: SureOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Trace what tighter bounds cost: the objective along parity bounds, budgets or both, with exact edges."""
    screen.load()
    from evenhand.report import charts
    from evenhand.use.fitting import checked_counts
    from evenhand.use.tradeoff import frontier as trace

    try:
        charts.check_ending(chart)
    except SpecError as error:
        raise typer.BadParameter(worded(error), param_hint="--chart") from None
    swept = {"bounds": numbers("--bounds", bounds), "budgets": numbers("--budgets", budgets)}
    check_outputs(force, out, chart, inputs=(Path(problem), table))
    stated, rows = problem_and_table(problem, table)
    stated = _sure(stated, confidence)
    with screen.progress_bar() as report:
        counted = rows if weights is None else checked_counts(stated, rows, weights, report)
        found = trace(
            stated, counted, swept["bounds"], swept["budgets"], time_limit=time_limit, people=people, progress=report
        )
    replace_file(out, csv_text(found.frame))
    undrawn = None
    if chart is not None:
        try:
            charts.save(found.chart(), chart)
        except MissingExtraError as error:
            undrawn, chart = f"no chart: {worded(error)}", None

    def show() -> None:
        if stated.confidence is None:
            screen.heading("The edges, found exactly")
            screen.frame_table(found.edges)
        else:
            screen.heading(f"Every point with margins for a confidence of {stated.confidence:.12g}")
            screen.bullets(["margins are found anew at every point, so that edges between points are not known"])
        screen.heading("The points")
        swept = [name for name in found.frame.columns if name not in ("lower_bound", "max_violation")]
        screen.frame_table(found.frame[swept])
        screen.heading("What was written")
        screen.written(out, "every point")
        if chart is not None:
            screen.written(chart, "the trade-off, with its infeasible region")
        elif undrawn is not None:
            screen.bullets([undrawn])

    written = {"points": out, "chart": chart}
    document = {"written": written, "edges": found.edges, "points": found.frame}
    answer(as_json, "frontier", lambda: document, show)
