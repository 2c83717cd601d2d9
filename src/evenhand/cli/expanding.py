"""The command that takes a table through a mapping without a lottery, from file to file."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

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
    Unseen,
    UnseenOption,
    WeightsOption,
    asked,
    check_ending,
    counting,
)
from evenhand.cli.sections import counted_once, noted
from evenhand.cli.transforming import Done, Formulas, FormulasOption, MarkOption, OutOption, RowsArgument


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
    from evenhand.use.manifests import file_rates

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
            tally = fitted.expand(table, to=out, **given, manifest=beside, progress=report, **options)
        done = Done(fitted, mapping, table, tally, None, beside, signed)
        if beside is not None:
            with screen.progress_bar() as report:
                found = file_rates(fitted, tally, progress=report)
            write_manifest(done, found)
    # The rates of the weighted rows are those that an audit finds.
    said = {**given, **asked(missing, None if unseen is Unseen.error else unseen)}
    words = [word for name, value in said.items() if value is not None for word in (f"--{name}", value)]
    sections = noted(tally.sections, "rows", counted_once(fitted, table, given))
    facts = {"mapping": mapping, "table": table}
    reply(
        as_json, "expand", (*sections, written_table(out, beside)), facts=facts, title=f"{table} → {out}",
        following=[("audit", mapping, table, *words)],
    )  # fmt: skip
