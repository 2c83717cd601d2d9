"""The command that writes a report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.explaining import WEIGHED, unweighed
from evenhand.cli.files import check_outputs, read_table
from evenhand.cli.manifests import SignOffOption, read_sign_off
from evenhand.cli.options import (
    ConfidenceOption,
    ForceOption,
    HideBelowOption,
    MappingArgument,
    MissingOption,
    SeedOption,
    TableWeightsOption,
    asked,
    typed,
)
from evenhand.data import FEW_PEOPLE
from evenhand.errors import DataError, Option, did_you_mean

if TYPE_CHECKING:
    import pandas as pd


def report(
    context: typer.Context,
    mapping: MappingArgument,
    out: Annotated[Path, typer.Option(help="Where to write the page; its summary goes beside it, as .json.")] = Path(
        "report.html"
    ),
    table: Annotated[
        Path | None,
        typer.Option(help="A CSV or Parquet file to fit a plain model on: its mean scores and its decisions."),
    ] = None,
    weights: TableWeightsOption = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="OUT.manifest.json of a file that this mapping wrote: does that very file keep the bounds?"),
    ] = None,
    sign_off: SignOffOption = None,
    hide_below: HideBelowOption = FEW_PEOPLE,
    frontier: Annotated[bool, typer.Option(help="Trace what other parity bounds would cost.")] = True,
    points: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="How many bounds the frontier is solved at, beside the mapping's own and one that changes nobody: 12, "
            "or 6 where the table has more than 2,000 cells.",
        ),
    ] = None,
    confidence: ConfidenceOption = 0.95,
    seed: SeedOption = 0,
    missing: MissingOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write one page for the person who signs off: what was asked, what is bounded, who is changed, at what cost."""
    if weights is not None and table is None:
        raise typer.BadParameter("goes with --table; the fitted one has its own", param_hint="--weights")
    if missing is not None and table is None:
        raise typer.BadParameter("goes with --table", param_hint="--missing")
    # The summary of a page of another name could have the same name, and no browser would open the page.
    if out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"must end in .html, not {out.name!r}", param_hint="--out")
    screen.load()
    from evenhand.use.mapping import Mapping
    from evenhand.use.reporting import report_on, summary_path

    check_outputs(force, out, summary_path(out), inputs=(mapping, table, manifest, sign_off))
    signed = read_sign_off(sign_off)
    with screen.progress_bar() as progress:
        progress("reading", 0.0)
        fitted = Mapping.load(mapping)
        frame = None
        if table is not None:
            read = read_table(table, fitted.problem, lambda stage, share: progress(stage, 0.05 * share))
            frame = _people(read, weights)
        found = report_on(
            fitted, frame=frame, hide_below=hide_below, trace=frontier, points=points, confidence=confidence,
            seed=seed, manifest=manifest, sign_off=signed, source=mapping, command=typed(context),
            progress=progress, **asked(missing),
        )  # fmt: skip
    page, summary = found.save(out)
    notes = [WEIGHED] if table is not None and unweighed(fitted, weights) else []
    document = {"written": {"page": page, "summary": summary}, "notes": notes, "summary": found.summary}

    def show() -> None:
        screen.heading("What was written")
        screen.written(page, "the report, which any browser opens without a network")
        screen.written(summary, f"its numbers as JSON, version {found.summary['version']}")
        small = found.summary["small_cells"]
        screen.bullets(
            [
                f"{small['cells_hidden']} of {small['cells']} cells and {small['groups_hidden']} of {small['groups']} "
                f"groups have fewer than {small['hide_below']:g} people and are not shown (--hide-below)",
                "counts of the other cells are shown: treat the page as you would the table",
                *notes,
            ]
        )

    answer(as_json, "report", lambda: document, show)


def _people(frame: pd.DataFrame, weights: str | None) -> pd.DataFrame:
    """Return a row for each person that a row stands for: a model is fitted on people, each of them drawn anew."""
    if weights is None:
        return frame
    if weights not in frame.columns:
        raise DataError(f"the table has no column {weights!r} of weights.{did_you_mean(weights, list(frame.columns))}")
    times = frame[weights]
    if times.dtype.kind not in "iuf" or not ((times >= 0) & (times % 1 == 0)).all():
        raise DataError(
            f"the weights {weights!r} must be whole numbers here: how many people a row stands for; leave out ",
            Option("weights"),
            " to fit the model on rows, each of them one person, whatever they weigh",
        )
    if len(times) and not times.any():
        raise DataError(f"no row has a positive weight in column {weights!r}: nobody would be there")
    return frame.loc[frame.index.repeat(times.astype(int))].drop(columns=weights).reset_index(drop=True)
