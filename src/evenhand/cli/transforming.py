"""Commands that take a table through a mapping, from file to file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.explaining import NOTHING_BOUNDS_THEM, WEIGHED, outside, show_realised, unweighed
from evenhand.cli.files import check_outputs, columns_of
from evenhand.cli.options import ForceOption, MappingArgument, MissingOption, SeedOption, asked, check_ending
from evenhand.cli.wording import worded
from evenhand.errors import EvenhandError, some_of

if TYPE_CHECKING:
    from evenhand.findings.new_people import Realised


class Draw(StrEnum):
    """How rows are drawn."""

    independent = "independent"
    balanced = "balanced"


class Unseen(StrEnum):
    """What to do with rows whose cell the fitted table did not have."""

    keep = "keep"
    error = "error"


class Restore(StrEnum):
    """What a changed value of a binned column becomes."""

    sample = "sample"
    midpoint = "midpoint"
    label = "label"


RowsArgument = Annotated[Path, typer.Argument(help="A CSV or Parquet file, one row per person.")]
OutOption = Annotated[Path, typer.Option(help="Where to write the new table: .csv or .parquet.")]
KeyOption = Annotated[
    str | None,
    typer.Option(help="A column that names people: draws then depend on it and the seed, not on the row's place."),
]
DrawOption = Annotated[
    Draw, typer.Option(help="Each row by itself, or together so that the numbers of moves are within one of expected.")
]
UnseenOption = Annotated[Unseen, typer.Option(help="Leave rows of a kind that was not fitted as they are, or refuse.")]
RestoreOption = Annotated[
    Restore, typer.Option(help="A changed binned value: one that the bin had, its middle, or its name.")
]


def release(
    mapping: MappingArgument,
    table: RowsArgument,
    out: OutOption,
    seed: SeedOption = 0,
    key: KeyOption = None,
    draw: DrawOption = Draw.independent,
    unseen: UnseenOption = Unseen.keep,
    missing: MissingOption = None,
    restore: RestoreOption = Restore.sample,
    weights: Annotated[
        str | None, typer.Option(help="A column of weights: for the rates that are shown, and passed through.")
    ] = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train mode: write a table with features and outcome drawn anew, for training or publication."""
    options = {"seed": seed, "key": key, "draw": draw, "unseen": unseen, "restore": restore, **asked(missing)}
    done = _transform("release", mapping, table, out, force, options)
    drawn = _drawn(done, out, weights)
    document = {**done.document, "weights": weights, **drawn.document}

    def show() -> None:
        _show_done(done, "features or outcome", "train")
        if drawn.found is not None:
            show_realised(done.fitted, drawn.found)
        else:
            screen.heading("The rates in the file that was written")
        screen.bullets(drawn.notes)
        screen.following(("report", done.mapping, "--out", "report.html"))

    answer(as_json, "release", lambda: document, show)


def apply(
    mapping: MappingArgument,
    table: RowsArgument,
    out: OutOption,
    seed: SeedOption = 0,
    key: KeyOption = None,
    draw: DrawOption = Draw.independent,
    unseen: UnseenOption = Unseen.keep,
    missing: MissingOption = None,
    restore: RestoreOption = Restore.sample,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Apply mode: write a table with features drawn anew; an outcome column is passed through unread."""
    options = {"seed": seed, "key": key, "draw": draw, "unseen": unseen, "restore": restore, **asked(missing)}
    done = _transform("apply", mapping, table, out, force, options)

    def show() -> None:
        _show_done(done, "features; the outcome, if there is one, was not read", "apply")
        screen.following(("report", done.mapping, "--out", "report.html"))

    answer(as_json, "apply", lambda: done.document, show)


@dataclass(frozen=True, eq=False)
class Done:
    """What was done with a table: the mapping and its file, the result and where it is, and how it was made."""

    fitted: Any
    mapping: Path
    out: Path
    tally: Any
    options: dict[str, Any]
    passed_through: list[str]

    @property
    def document(self) -> dict[str, Any]:
        """The same as a document."""
        counted = {name: getattr(self.tally, name) for name in ("rows", "changed", "unseen", "missing")}
        passed = {"passed_through": self.passed_through}
        return {"written": {"table": self.out}, **counted, **passed, "options": self.options}


def _transform(mode: str, mapping: Path, table: Path, out: Path, force: bool, options: dict[str, Any]) -> Done:
    screen.load()
    from evenhand.engines.streaming import ENDINGS
    from evenhand.use.mapping import Mapping

    check_ending("--out", out, ENDINGS)
    check_outputs(force, out, inputs=(mapping, table))
    with screen.progress_bar() as report:
        report("reading the mapping", 0.0)
        fitted = Mapping.load(mapping)
        use: Callable[..., Any] = getattr(fitted, mode)
        tally = use(table, to=out, progress=report, **options)
    others = outside(columns_of(table, fitted.problem), fitted.problem)
    return Done(fitted, mapping, out, tally, options, others)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The rates of one draw as it stands; or why they are not known."""

    found: Realised | None
    notes: tuple[str, ...]

    @property
    def document(self) -> dict[str, Any]:
        """The same as a document."""
        if self.found is None:
            return {"realised": None, "notes": self.notes}
        tables = {name: getattr(self.found, name) for name in ("rates", "bounds", "words")}
        return {"realised": tables, "notes": self.notes}


def _drawn(done: Done, out: Path, weights: str | None) -> Drawn:
    """Count the rates of the file that was written; it stays, whether they can be counted or not."""
    if not done.tally.rows:
        return Drawn(None, ("the table has no rows",))
    if done.options["restore"] == Restore.label and done.fitted.problem.bins:
        return Drawn(None, ("its rates were not counted: names of bins are no values that could be read again",))
    notes = [WEIGHED] if unweighed(done.fitted, weights) else []
    if done.options["draw"] == Draw.balanced:
        notes += [
            "the bound holds in expectation; balanced draws make each move within one person of it, in every cell"
        ]
    else:
        notes += ["the bound holds in expectation: the rates of single draws scatter around it, as follows"]
        notes += done.fitted.theory.draw_spread().words
    try:
        with screen.progress_bar() as report:
            found = done.fitted.realised(out, weights=weights, missing=done.options.get("missing"), progress=report)
            return Drawn(found, tuple(notes))
    except EvenhandError as error:
        return Drawn(None, (f"its rates could not be counted: {worded(error)}",))


def _show_done(done: Done, what: str, mode: str) -> None:
    tally, key = done.tally, done.options["key"]
    share = tally.changed / tally.rows if tally.rows else 0.0
    passed = f"{some_of(done.passed_through)}: unchanged, and {NOTHING_BOUNDS_THEM}"
    screen.pairs(
        [
            ("Rows", f"{tally.rows:,}"),
            ("Changed", f"{tally.changed:,} ({share:.1%}) in their {what}"),
            *([("Unseen", f"{tally.unseen:,} of a kind that was not in the fitted table")] if tally.unseen else []),
            *([("Missing", f"{tally.missing:,} of these, for a value that is missing")] if tally.missing else []),
            *([("Key", f"{key}: rows that share a key share one draw")] if key is not None else []),
            *([("Passed through", passed)] if done.passed_through else []),
        ]
    )
    screen.heading("What was written")
    screen.written(done.out, f"the table in {mode} mode")
