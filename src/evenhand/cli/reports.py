"""The command that writes a report."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.explaining import counted_once
from evenhand.cli.files import writing
from evenhand.cli.manifests import SignOffOption, read_sign_off
from evenhand.cli.options import (
    ConfidenceOption,
    ForceOption,
    FrequenciesOption,
    HideBelowOption,
    MappingArgument,
    MissingOption,
    SeedOption,
    WeightsOption,
    asked,
    counting,
    typed,
)
from evenhand.data import FEW_PEOPLE
from evenhand.render.sentences import sentence


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
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
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
    given = counting(weights, frequencies, table, "--table; the fitted one has its own")
    if missing is not None and table is None:
        raise typer.BadParameter("goes with --table", param_hint="--missing")
    # The summary of a page of another name could have the same name, and no browser would open the page.
    if out.suffix.lower() not in (".html", ".htm"):
        raise typer.BadParameter(f"must end in .html, not {out.name!r}", param_hint="--out")
    screen.load()
    from evenhand.mapping import Mapping
    from evenhand.use.reporting import report_on, summary_path

    with writing(force, out, summary_path(out), inputs=(mapping, table, manifest, sign_off)):
        signed = read_sign_off(sign_off)
        with screen.progress_bar() as progress:
            progress("reading", 0.0)
            fitted = Mapping.load(mapping)
            found = report_on(
                fitted, frame=table, **given, hide_below=hide_below, trace=frontier, points=points,
                confidence=confidence, seed=seed, manifest=manifest, sign_off=signed, source=mapping,
                command=typed(context), progress=progress, **asked(missing),
            )  # fmt: skip
        page, summary = found.save(out)
    notes = list(map(sentence, counted_once(fitted, table, given)))
    document = {"written": {"page": page, "summary": summary}, "notes": notes, "summary": found.summary}

    def show() -> None:
        from evenhand.findings.discretion import not_shown

        screen.heading("What was written")
        screen.written(page, "the report, which any browser opens without a network")
        screen.written(summary, f"its numbers as JSON, version {found.summary['version']}")
        small = found.summary["small_cells"]
        screen.bullets(
            [
                *(
                    not_shown(small[f"{what}_hidden"], small[what], what, small["hide_below"]) + " (--hide-below)"
                    for what in ("cells", "groups")
                    if small[f"{what}_hidden"]
                ),
                "counts of the other cells are shown: treat the page as you would the table",
                *notes,
            ]
        )

    answer(as_json, "report", lambda: document, show)
