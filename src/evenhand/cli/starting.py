"""The command that starts a problem: from a table to a commented TOML."""

from __future__ import annotations

import sys
from dataclasses import replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply
from evenhand.cli.files import writing
from evenhand.cli.options import ForceOption, FrequenciesOption, WeightsOption, words
from evenhand.cli.schema import naming_schema
from evenhand.cli.sections import written
from evenhand.cli.wording import worded
from evenhand.errors import SpecError
from evenhand.files import replace_file
from evenhand.render.section import Note

if TYPE_CHECKING:
    from evenhand.data.weighting import Weighting
    from evenhand.use.proposal import Proposal


class YesNo(StrEnum):
    """An answer."""

    yes = "yes"
    no = "no"


class CellsWay(StrEnum):
    """What cells are."""

    leaves = "leaves"
    levels = "levels"


def init(
    table: Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.")],
    protected: Annotated[str, typer.Option(help="The protected columns: sex,race.")],
    outcome: Annotated[str, typer.Option(help="The column whose rates are compared.")],
    features: Annotated[
        str | None, typer.Option(help="The columns that may be changed; otherwise those that tell most are chosen.")
    ] = None,
    cells: Annotated[
        CellsWay | None,
        typer.Option(
            help="Leaves of a tree over all columns, which stay as they are, or levels of a few; by default leaves, "
            "where many columns tell something about the outcome.",
        ),
    ] = None,
    favourable: Annotated[
        str | None,
        typer.Option(
            metavar="LEVEL",
            help="The outcome that is good for a person; people are moved towards it only, where bounds can be met so.",
        ),
    ] = None,
    model_sees_protected: Annotated[
        YesNo,
        typer.Option(
            help="yes: the model will see the protected columns, and bounds on the table's rates cover it. no: it will "
            "not (often the law), and its mean scores are bounded too; records stay.",
        ),
    ] = YesNo.yes,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    delimiter: Annotated[str, typer.Option(help="What stands between two fields.")] = ",",
    names: Annotated[str | None, typer.Option(help="All columns' names, for a file without a header: a,b,c.")] = None,
    missing_values: Annotated[
        str | None, typer.Option(help="Words for a missing value: ?,NA; otherwise the usual ones are looked for.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Where to write the problem.")] = Path("problem.toml"),
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Propose a problem for a table: a commented TOML file to read, change and fit."""
    # First of all: DuckDB complains at the end of what was there before, which is never collected.
    screen.load()
    from evenhand.engines import Source
    from evenhand.spec import CsvFormat

    named = words("--names", names)
    try:
        csv = None if delimiter == "," and named is None else CsvFormat(delimiter, named)
    except SpecError as error:
        raise typer.BadParameter(worded(error), param_hint="--delimiter, --names") from None
    # A table that is not there is complained of before a problem that is.
    Source.of(table, csv)
    with writing(force, out):
        from evenhand.data.weighting import Weighting
        from evenhand.use.proposal import proposed

        def found_by(weighting: Weighting | None) -> Proposal:
            with screen.progress_bar() as report:
                return proposed(
                    table, protected=words("--protected", protected) or [], outcome=outcome,
                    features=words("--features", features), cells=None if cells is None else cells.value,
                    favourable=favourable, weighting=weighting, sees_protected=model_sees_protected is YesNo.yes,
                    missing_values=words("--missing-values", missing_values),
                    csv=csv, source=str(table), target=str(out), progress=report,
                )  # fmt: skip

        weighting = Weighting.of(weights, frequencies)
        try:
            found = found_by(weighting)
        except SpecError as error:
            if weighting is None or error.pieces != weighting.mistakable or not sys.stdin.isatty():
                raise
            weighting = _asked(weighting)
            found = found_by(weighting)
        text = naming_schema(out, found.toml)
        replace_file(out, text.encode())
    written_ = written(problem=out, notes=(Note("written.problem"),))
    reply(
        as_json, "init", (*replace(found, toml=text).sections, written_),
        following=(("diagnose", out, table), ("fit", out, table)),
    )  # fmt: skip


def _asked(weighting: Weighting) -> Weighting:
    """Ask whether weights that look like numbers of people are such."""
    question = (
        f"The values of {weighting.column} are integers, and no two rows have the same combination. Does a row "
        f"stand for that many people?"
    )
    if typer.confirm(question, err=True):
        return replace(weighting, option="frequencies")
    return replace(weighting, deliberate=True)
