"""Commands that take a table through a mapping, from file to file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.explaining import NOTHING_BOUNDS_THEM, counted_once, outside, show_realised
from evenhand.cli.files import columns_of, writing
from evenhand.cli.manifests import (
    ManifestOption,
    SignOffOption,
    manifest_file,
    read_sign_off,
    show_manifest,
    write_manifest,
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
from evenhand.cli.wording import worded
from evenhand.errors import in_number, some_of
from evenhand.render.sentences import sentence

if TYPE_CHECKING:
    from evenhand.findings.new_people import Realised
    from evenhand.spec.sign_off import SignOff
    from evenhand.use.manifests import Held


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


NOTHING_CHANGES = "this mapping changes no feature, so that people are used as they come; train mode changes outcomes"


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
        found, notes = _drawn(done, weights, list(map(sentence, counted_once(done.fitted, table, given))))
        _write_manifest(done, found, weights=weights, keep_seed=seed_in_manifest)
    document = {**done.document, "weights": weights, "realised": _realised(found.after), "notes": notes}

    def show() -> None:
        _show_done(done, "outcome" if done.fitted.problem.cells is not None else "features or outcome", "train")
        if found.after is not None:
            show_realised(done.fitted, found.after)
        else:
            screen.heading("The rates in the file that was written")
        screen.bullets(notes)
        screen.following(*_next(done))

    answer(as_json, "release", lambda: document, show)


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
            from evenhand.use.manifests import held

            _write_manifest(done, held(done.fitted, done.tally), keep_seed=seed_in_manifest)

    def show() -> None:
        _show_done(done, "features; the outcome, if there is one, was not read", "apply")
        screen.following(*_next(done))

    answer(as_json, "apply", lambda: done.document, show)


SEEDS = {"given": "as given", "drawn": "drawn anew for this file", "default": "the default"}


@dataclass(frozen=True, eq=False)
class Done:
    """What was done with a table: in which mode, the mapping and its file, the result and where it is, and how."""

    name: str
    fitted: Any
    mapping: Path
    table: Path
    out: Path
    changes: Path | None
    tally: Any
    options: dict[str, Any]
    passed_through: list[str]
    manifest: Path | None
    sign_off: SignOff | None

    @property
    def mode(self) -> Any:
        mode = self.fitted.release_mode if self.name == "release" else self.fitted.apply_mode
        return mode.with_unseen(self.options["unseen"])

    @property
    def document(self) -> dict[str, Any]:
        """The same as a document."""
        names = ("rows", "people", "results", "changed", "unseen", "typical", "missing")
        counted = {name: getattr(self.tally, name) for name in names}
        passed = {"passed_through": self.passed_through, "changes_nothing": self.mode.changes_nothing}
        written = {"table": self.out, "manifest": self.manifest, "changes": self.changes}
        return {"written": written, **counted, **passed, "options": self.options}


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
        others = outside(columns_of(table, fitted.problem), fitted.problem, *counted.values())
        used = {name: tally.options[name] for name in ("seed", "seed_origin", "draw", "frequencies")}
        options = {"unseen": "typical", **options, **used}
        yield Done(mode, fitted, mapping, table, out, changes, tally, options, others, beside, signed)


def _write_manifest(done: Done, found: Held, **options: Any) -> None:
    if done.manifest is not None:
        write_manifest(done.fitted, done.tally, done.mapping, found, done.manifest, done.sign_off, **options)


def _realised(found: Realised | None) -> dict[str, Any] | None:
    """Return the rates of one draw as it stands, as a document."""
    if found is None:
        return None
    tables = {name: getattr(found, name) for name in ("rates", "bounds", "words", "kept")}
    return {**tables, "violated": found.verdict.violated, "verdict": found.verdict.words}


def _drawn(done: Done, weights: str | None, once: list[str]) -> tuple[Held, Sequence[str]]:
    """Count the rates of the file that was written, and for a manifest those of the one that was read; with notes."""
    from evenhand.use.manifests import held

    with screen.progress_bar() as report:
        before = done.manifest is not None
        found = held(done.fitted, done.tally, weights=weights, before=before, progress=report)
    if found.failure is not None:
        return found, (f"its rates could not be counted: {worded(found.failure)}",)
    if found.why is not None:
        return found, (found.why,)
    notes = once
    if done.options["draw"] == Draw.balanced:
        notes += _balanced(done, weights)
    else:
        notes += [
            "bounds hold in expectation for the fitted table (evenhand audit MAPPING TABLE tells what is expected of "
            "another); the rates of single releases of it scatter around that, as follows"
        ]
        notes += map(sentence, done.fitted.theory.one_draw())
    return found, notes


def _balanced(done: Done, weights: str | None) -> Iterator[str]:
    """Say what balanced draws kept and what they could not keep."""
    from evenhand.tables.transforming import unbalanced

    fitted, nest = done.fitted, done.fitted.release_mode.nest
    groups = [" × ".join(nest.columns[:level]) for level in nest.levels]
    by = f"of every group by {' and by '.join(groups)}, " if groups else ""
    yield (
        f"balanced draws keep the released outcomes {by}of everybody and of every cell within one person of "
        f"their expectation, and every move within two; bounds hold in expectation for the fitted table (evenhand "
        f"audit MAPPING TABLE tells what is expected of another)"
    )
    yield from unbalanced(fitted.release_mode, done.tally, done.options["key"])
    weights = weights or fitted.problem.weights
    if weights is not None:
        yield (
            f"rows are balanced, not weights: the numbers of rows are within one of their expectation, while sums of "
            f"{weights} can be off by the weights of single rows"
        )


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


def _show_done(done: Done, what: str, mode: str) -> None:
    tally, key = done.tally, done.options["key"]
    everybody = tally.rows if tally.people is None else tally.people
    share = tally.changed / everybody if everybody else 0.0
    rows, changed = f"{tally.rows:,}", f"{tally.changed:,}"
    if tally.people is not None:
        changed = in_number(tally.changed)
        column = done.options["frequencies"]
        rows += f", which stand for {tally.people:,} people by {column}; {tally.results:,} rows written"
    passed = f"{some_of(done.passed_through)}: unchanged, and {NOTHING_BOUNDS_THEM}"
    screen.pairs(
        [
            ("Rows", rows),
            ("Changed", f"{changed} ({share:.1%}) in their {what}"),
            *([("Unseen", done.mode.unseen_words(tally.unseen, tally.typical))] if tally.unseen else []),
            *([("Missing", f"{tally.missing:,} of these, for a value that is missing")] if tally.missing else []),
            *([("Nothing changes", NOTHING_CHANGES)] if done.mode.changes_nothing else []),
            ("Seed", f"{done.options['seed']}, {SEEDS[done.options['seed_origin']]}"),
            *([("Key", f"{key}: rows that share a key share one draw")] if key is not None else []),
            *([("Passed through", passed)] if done.passed_through else []),
        ]
    )
    screen.heading("What was written")
    screen.written(done.out, f"the table in {mode} mode")
    if done.changes is not None:
        screen.written(done.changes, "every value that changed, with the probability of the move that was drawn")
    show_manifest(done.manifest, done.out, done.sign_off, counted=done.mode.name == "release")
