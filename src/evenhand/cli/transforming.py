"""Commands that take a table through a mapping, from file to file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, reply
from evenhand.cli.files import writing
from evenhand.cli.manifests import (
    ManifestOption,
    SignOffOption,
    manifest_file,
    read_sign_off,
    write_manifest,
    written_table,
)
from evenhand.cli.options import (
    ForceOption,
    FrequenciesOption,
    MappingArgument,
    MissingOption,
    SeedOption,
    UnseenOption,
    asked,
    check_ending,
    counting,
)
from evenhand.cli.sections import counted_once
from evenhand.render.section import Note, Section

if TYPE_CHECKING:
    from evenhand.engines import Written
    from evenhand.mapping import Mapping
    from evenhand.spec.sign_off import SignOff
    from evenhand.use.manifests import FileRates


class Draw(StrEnum):
    """How rows are drawn."""

    independent = "independent"
    balanced = "balanced"


class Formulas(StrEnum):
    """What becomes of cells of a CSV file that a spreadsheet would take for formulas."""

    keep = "keep"
    escape = "escape"
    refuse = "refuse"


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
ReleaseDrawOption = Annotated[
    Draw | None,
    typer.Option(
        help="balanced: the number of people with each outcome, in every group and cell, is within one of its "
        "expectation. independent: each row on its own. By default balanced, with --key independent.",
        show_default=False,
    ),
]
ApplyDrawOption = Annotated[
    Draw,
    typer.Option(help="independent: each row on its own. balanced: the number of each move is within one of expected."),
]
RestoreOption = Annotated[
    Restore, typer.Option(help="A changed binned value: one that the bin had, its middle, or its name.")
]


ReleaseSeedOption = Annotated[
    int | None,
    typer.Option(
        min=0,
        help="Makes the release repeatable; choose it before you see a result. By default a fresh one is drawn, which "
        "the manifest states; with --key it is 0.",
        show_default=False,
    ),
]
SeedInManifestOption = Annotated[
    bool,
    typer.Option(
        "--seed-in-manifest/--no-seed-in-manifest",
        help="State the seed in the manifest. With mapping, seed and key others can recompute most original outcomes.",
    ),
]
MarkOption = Annotated[
    str | None, typer.Option(metavar="COLUMN", help="Add a column that says in every row that the file was altered.")
]
FormulasOption = Annotated[
    Formulas,
    typer.Option(
        help="Cells of a .csv file that begin with = + - @ and are no numbers: as they are, with an apostrophe before "
        "them, or an error."
    ),
]
ChangesOption = Annotated[
    Path | None,
    typer.Option(
        help="List what changed, one row for each value: key or row, column, before, after, probability; .csv or "
        ".parquet.",
        show_default=False,
    ),
]


def release(
    mapping: MappingArgument,
    table: RowsArgument,
    out: OutOption,
    seed: ReleaseSeedOption = None,
    key: KeyOption = None,
    draw: ReleaseDrawOption = None,
    unseen: UnseenOption = None,
    missing: MissingOption = None,
    restore: RestoreOption = Restore.sample,
    weights: Annotated[
        str | None, typer.Option(help="A column of weights: for the rates that are shown, and passed through.")
    ] = None,
    frequencies: FrequenciesOption = None,
    changes: ChangesOption = None,
    mark: MarkOption = None,
    formulas: FormulasOption = Formulas.keep,
    manifest: ManifestOption = True,
    seed_in_manifest: SeedInManifestOption = True,
    sign_off: SignOffOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train mode: write a table with features and outcome drawn anew, for training or publication."""
    options = {
        "seed": "default" if seed is None else seed, "key": key, "draw": draw, "restore": restore, "mark": mark,
        "formulas": formulas,
        **asked(missing, unseen),
    }  # fmt: skip
    given = counting(weights, frequencies)
    with _transformed("release", mapping, table, out, changes, force, options, manifest, sign_off, given) as done:
        found = _drawn(done, weights, counted_once(done.fitted, table, given))
        if done.manifest is not None:
            write_manifest(done, found, weights=weights, keep_seed=seed_in_manifest)
    _reply(as_json, "release", done, found.sections)


def apply(
    mapping: MappingArgument,
    table: RowsArgument,
    out: OutOption,
    seed: SeedOption = 0,
    key: KeyOption = None,
    draw: ApplyDrawOption = Draw.independent,
    unseen: UnseenOption = None,
    missing: MissingOption = None,
    restore: RestoreOption = Restore.sample,
    frequencies: FrequenciesOption = None,
    changes: ChangesOption = None,
    mark: MarkOption = None,
    formulas: FormulasOption = Formulas.keep,
    manifest: ManifestOption = True,
    seed_in_manifest: SeedInManifestOption = True,
    sign_off: SignOffOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Apply mode: write a table with features drawn anew; an outcome column is passed through unread."""
    options = {
        "seed": seed, "key": key, "draw": draw, "restore": restore, "mark": mark, "formulas": formulas,
        **asked(missing, unseen),
    }  # fmt: skip
    given = counting(None, frequencies)
    with _transformed("apply", mapping, table, out, changes, force, options, manifest, sign_off, given) as done:
        if done.manifest is not None:
            from evenhand.use.manifests import file_rates

            write_manifest(done, file_rates(done.fitted, done.tally), keep_seed=seed_in_manifest)
    _reply(as_json, "apply", done)


@dataclass(frozen=True, eq=False)
class Done:
    """What was done with a table: the mapping and its file, the result, and what is written beside it."""

    fitted: Mapping
    mapping: Path
    table: Path
    tally: Written
    changes: Path | None
    manifest: Path | None
    sign_off: SignOff | None


@contextmanager
def _transformed(
    mode: str,
    mapping: Path,
    table: Path,
    out: Path,
    changes: Path | None,
    force: bool,
    options: dict[str, Any],
    manifest: bool,
    sign_off: Path | None,
    given: dict[str, Any],
) -> Iterator[Done]:
    """Write the table, and with it what is written in the ``with`` block."""
    screen.load()
    from evenhand.data.weighting import Weighting
    from evenhand.engines import distinct_rows, refuse_mistaken
    from evenhand.engines.changes import ENDINGS as LISTED
    from evenhand.engines.streaming import ENDINGS
    from evenhand.mapping import Mapping

    check_ending("--out", out, ENDINGS)
    beside = manifest_file(out, manifest)
    check_ending("--changes", changes, LISTED)
    with writing(force, out, beside, changes, inputs=(mapping, table, sign_off)):
        signed = read_sign_off(sign_off)
        with screen.progress_bar() as report:
            report("reading the mapping", 0.0)
            fitted = Mapping.load(mapping)
            # What cannot be counted afterwards is refused before anything is written.
            if "weights" in given:
                weighting = Weighting.of(given["weights"], None)
                refuse_mistaken(table, fitted.problem.csv, weighting)
                distinct_rows(fitted.counts.domain, table, fitted.problem.csv, weighting, report)
            use: Callable[..., Any] = getattr(fitted, mode)
            counted = {name: column for name, column in given.items() if name == "frequencies"}
            tally = use(table, to=out, changes=changes, manifest=beside, progress=report, **counted, **options)
        yield Done(fitted, mapping, table, tally, changes, beside, signed)


def _reply(as_json: bool, command: str, done: Done, rates: Iterable[Section] = ()) -> None:
    """Answer with what became of the rows, the rates of the file, and what was written."""
    listed = () if done.changes is None else (Note("written.changes"),)
    files = written_table(Path(done.tally.path), done.manifest, changes=done.changes, notes=listed)
    sections = (*done.tally.sections, *rates, files)
    facts, title = {"mapping": done.mapping, "table": done.table}, f"{done.table} → {done.tally.path}"
    reply(as_json, command, sections, facts=facts, title=title, following=_next(done))


def _drawn(done: Done, weights: str | None, once: list[Note]) -> FileRates:
    """Count the rates of the file that was written, and for a manifest those of the one that was read; with notes."""
    from evenhand.use.manifests import file_rates

    with screen.progress_bar() as report:
        before = done.manifest is not None
        found = file_rates(done.fitted, done.tally, weights=weights, before=before, progress=report)
    weights = weights or done.fitted.problem.weights
    if found.after is None:
        return found
    notes = list(once)
    if done.tally.options["draw"] == Draw.independent:
        notes += [Note("draws.expected"), *done.fitted.theory.one_draw()]
    elif weights is not None:
        notes.append(Note("balanced.weights", {"column": weights}))
    (section,) = found.sections
    return replace(found, after=replace(found.after, sections=(replace(section, notes=(*section.notes, *notes)),)))


def _next(done: Done) -> Iterator[tuple[object, ...]]:
    """Return the commands that may follow."""
    from evenhand.findings.manifest import Manifest, own_paths

    if done.manifest is None:
        yield "report", done.mapping, "--out", "report.html"
        return
    written = Manifest.load(done.manifest)
    places = {"input": done.table, "mapping": done.mapping, "changes": done.changes}
    # Files in other folders are opened only where they are named.
    outside = {what: places[what] for what in written.files if what in places and own_paths(written, what) is None}
    yield "verify", done.manifest, *(word for what, path in outside.items() for word in (f"--{what}", path))
    table = ("--table", done.table) if "input" in outside else ()
    yield "report", done.mapping, "--manifest", done.manifest, *table, "--out", "report.html"
