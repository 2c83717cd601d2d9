"""The command that writes a folder of evidence about a mapping."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.manifests import SignOffOption, read_sign_off
from evenhand.cli.options import (
    ForceOption,
    FrequenciesOption,
    HideBelowOption,
    MappingArgument,
    SeedOption,
    WeightsOption,
    counting,
)
from evenhand.data import FEW_PEOPLE
from evenhand.errors import SpecError

if TYPE_CHECKING:
    from evenhand.data.domain import Value
    from evenhand.mapping import Mapping
    from evenhand.use.evidence import Evidence


def evidence(
    mapping: MappingArgument,
    out: Annotated[Path, typer.Option(help="The folder to write, which must not be there yet.")] = Path("evidence"),
    table: Annotated[
        Path | None,
        typer.Option(help="A CSV or Parquet file: whose impact ratios are told, and on whom the report fits a model."),
    ] = None,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    manifest: Annotated[
        Path | None,
        typer.Option(help="OUT.manifest.json of a file that this mapping wrote, for the report to tell of."),
    ] = None,
    sign_off: SignOffOption = None,
    selected: Annotated[
        str | None,
        typer.Option(
            help="The outcome that counts as being selected; by default the favourable one, or of two the last."
        ),
    ] = None,
    hide_below: HideBelowOption = FEW_PEOPLE,
    show_all_groups: Annotated[
        bool,
        typer.Option(
            "--show-all-groups",
            help="Name every category in the table of impact ratios, as a law may ask: small ones too.",
        ),
    ] = False,
    frontier: Annotated[bool, typer.Option(help="Trace what other parity bounds would cost, for the report.")] = True,
    seed: SeedOption = 0,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Write a folder for others: report, proof, impact ratios, datasheet, a summary for a job, and checksums."""
    counted_by = counting(weights, frequencies, table, "--table; the fitted one has its own")
    screen.load()
    from evenhand.data.weighting import Unit
    from evenhand.mapping import Mapping
    from evenhand.use.evidence import check_folder
    from evenhand.use.evidence import evidence as written

    check_folder(out, force=force)
    signed = read_sign_off(sign_off)
    # The report in the folder can be written again by itself.
    given = {
        "--table": table, "--weights": weights, "--frequencies": frequencies, "--manifest": manifest,
        "--sign-off": sign_off,
    }  # fmt: skip
    words: list[object] = [word for option, value in given.items() if value is not None for word in (option, value)]
    words += ["--hide-below", f"{hide_below:g}"] if hide_below != FEW_PEOPLE else []
    words += [] if frontier else ["--no-frontier"]
    words += ["--seed", seed] if seed else []
    words += ["--missing", "level"] if table is not None else []
    with screen.progress_bar() as report:
        report("reading", 0.0)
        fitted = Mapping.load(mapping)
        found = written(
            fitted, out, table=table, **counted_by, manifest=manifest, sign_off=signed, hide_below=hide_below,
            show_all_groups=show_all_groups, trace=frontier, seed=seed,
            selected=None if selected is None else _level(fitted, selected), source=mapping,
            force=force, command=screen.command("report", mapping, *words), progress=report,
        )  # fmt: skip
    document = {
        "written": {"folder": out},
        "files": [{"file": name, "what": what, "sha256": found.sha256.get(name)} for name, what in found.files.items()],
        "impact_ratios": found.impact,
        "unknown": found.unknown,
        "weighed": found.weighed,
        "notes": found.notes,
        "certificate": found.summary["certificate"]["status"],
    }

    def show() -> None:
        screen.heading("What was written")
        for name, what in found.files.items():
            screen.written(out / name, what)
        screen.heading("Impact ratios, before and after: ratios, no verdict")
        table_ = screen.table_of(
            "By", "Category", Unit.of(weighed=found.weighed).heading, "Before", "After", right=(-3, -2, -1)
        )
        for row in found.impact:
            ratios = (row[f"ratio_{when}"] for when in ("before", "after"))
            written_ratios = ("–" if ratio is None else f"{ratio:.3f}" for ratio in ratios)
            table_.add_row(row["by"], row["category"], f"{row['people']:,.0f}", *written_ratios)
        screen.console.print(table_)
        screen.bullets(
            [
                "the proof holds the counts of all cells, small ones too: treat the folder as you would the table",
                "sha256sum -c SHA256SUMS, in the folder, rechecks the files",
                *_unknown(found),
                *found.notes,
            ]
        )

    answer(as_json, "evidence", lambda: document, show)


def _unknown(found: Evidence) -> list[str]:
    """Say how many people's category is not known."""
    from evenhand.data.weighting import Unit

    unit = Unit.of(weighed=found.weighed)
    return [
        f"{f'some {unit}' if number is None else unit.write(number)} have no known {column}: they are in no ratio by it"
        for column, number in found.unknown.items()
    ]


def _level(mapping: Mapping, text: str) -> Value:
    """Return the level of the outcome that a word of the command line means."""
    outcome = mapping.counts.domain.outcome
    for level in outcome.levels:
        if str(level) == text:
            return level
    raise SpecError(
        f"--selected names {outcome.name}={text}, which does not exist; the levels are {list(map(str, outcome.levels))}"
    )
