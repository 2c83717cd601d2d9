"""The command that takes a table through a mapping without a lottery, from file to file."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any

import typer

from evenhand.cli import screen
from evenhand.cli.answers import JsonOption, answer
from evenhand.cli.explaining import NOTHING_BOUNDS_THEM, counted_once, outside
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
    Unseen,
    UnseenOption,
    WeightsOption,
    asked,
    check_ending,
    counting,
)
from evenhand.cli.transforming import Formulas, FormulasOption, MarkOption, OutOption, RowsArgument
from evenhand.errors import some_of
from evenhand.render.sentences import sentence

if TYPE_CHECKING:
    from evenhand.engines import Expanded
    from evenhand.tables.transforming import Transformer


class Restore(StrEnum):
    """What a changed value of a binned column becomes, where nothing is drawn."""

    midpoint = "midpoint"
    label = "label"


RestoreOption = Annotated[Restore, typer.Option(help="A changed binned value: the middle of its bin, or its name.")]


def expand(
    mapping: MappingArgument,
    table: RowsArgument,
    out: OutOption,
    weights: WeightsOption = None,
    frequencies: FrequenciesOption = None,
    weight_column: Annotated[str, typer.Option(help="The name of the column of weights in the new table.")] = "weight",
    unseen: UnseenOption = None,
    missing: MissingOption = None,
    restore: RestoreOption = Restore.midpoint,
    mark: MarkOption = None,
    formulas: FormulasOption = Formulas.keep,
    manifest: ManifestOption = True,
    sign_off: SignOffOption = None,
    force: ForceOption = False,
    as_json: JsonOption = False,
) -> None:
    """Train mode without the lottery: write every possible result of each row, with its weight."""
    screen.load()
    from evenhand.engines.streaming import ENDINGS
    from evenhand.mapping import Mapping
    from evenhand.use.manifests import held

    check_ending("--out", out, ENDINGS)
    beside = manifest_file(out, manifest)
    given = counting(weights, frequencies)
    options = {
        "weight_column": weight_column, "restore": restore, "mark": mark, "formulas": formulas,
        **asked(missing, unseen),
    }  # fmt: skip
    with writing(force, out, beside, inputs=(mapping, table, sign_off)):
        signed = read_sign_off(sign_off)
        with screen.progress_bar() as report:
            report("reading the mapping", 0.0)
            fitted = Mapping.load(mapping)
            done = fitted.expand(table, to=out, **given, manifest=beside, progress=report, **options)
        if beside is not None:
            with screen.progress_bar() as report:
                found = held(fitted, done, progress=report)
            write_manifest(fitted, done, mapping, found, beside, signed)
    passed = outside(columns_of(table, fitted.problem), fitted.problem, weights, frequencies)
    notes = [*map(sentence, counted_once(fitted, table, given)), *_uses(weight_column)]
    counted = {name: getattr(done, name) for name in ("rows", "results", "weight", "unseen", "typical", "missing")}
    document = {
        "written": {"table": out, "manifest": beside}, **counted, "passed_through": passed, "weights": weights,
        "frequencies": frequencies, "options": options, "notes": notes,
    }  # fmt: skip

    def show() -> None:
        mode = fitted.release_mode.with_unseen(None if unseen is None else unseen.value)
        _show_done(mode, done, weight_column, passed)
        screen.heading("What was written")
        screen.written(out, "every possible result in train mode, with its weight")
        show_manifest(beside, out, signed)
        screen.heading("How a model uses it")
        screen.bullets(notes)
        # The rates of the weighted rows are those that an audit tells.
        said = {**given, **asked(missing, None if unseen is Unseen.error else unseen)}
        told = [word for name, value in said.items() if value is not None for word in (f"--{name}", value)]
        screen.following(("audit", mapping, table, *told))

    answer(as_json, "expand", lambda: document, show)


def _uses(weight_column: str) -> list[str]:
    return [
        f"give it the column {weight_column} as sample_weight, and not as a feature: what it learns then has no "
        f"sampling noise, and weighted rates of known values are the expected ones that an audit tells",
        "a model that takes no weights needs a draw: evenhand release",
    ]


def _show_done(mode: Transformer, done: Expanded, weight_column: str, passed: list[str]) -> None:
    column = done.options["weights"] or done.options["frequencies"]
    of = "the number of rows" if column is None else f"the sum of {column}"
    through = f"{some_of(passed)}: unchanged, and {NOTHING_BOUNDS_THEM}"
    pairs: list[tuple[str, Any]] = [
        ("Rows read", f"{done.rows:,}"),
        ("Rows written", f"{done.results:,}, one for each possible result of a row"),
        ("Weights", f"{done.weight:,.12g} in all, {of}, in the column {weight_column}"),
        *([("Unseen", mode.unseen_words(done.unseen, done.typical))] if done.unseen else []),
        *([("Missing", f"{done.missing:,} of these, for a value that is missing")] if done.missing else []),
        *([("Passed through", through)] if passed else []),
    ]
    screen.pairs(pairs)
