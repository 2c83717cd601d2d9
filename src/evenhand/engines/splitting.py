"""Release and apply a file that is a table of counts: it is held in memory, for it has a row for each combination."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from evenhand.data.weighting import Weighting
from evenhand.engines.files import is_parquet, named, reading, refuse_alike, whole_table
from evenhand.engines.marking import Marking
from evenhand.engines.streaming import (
    UNMARKED,
    Read,
    Run,
    Written,
    copy_statement,
    destined,
    execute,
    kinds_of,
    levels_of,
    valued,
)
from evenhand.errors import DataError, Option, SpecError
from evenhand.files import replacing
from evenhand.resources import Progress, current, silent, words
from evenhand.spec import CsvFormat
from evenhand.tables import becomes_text, quoted, read, weights_column
from evenhand.tables.splitting import split
from evenhand.tables.transforming import How, Transformer

HELD_SHARE = 1 / 4
"""How much of the memory the file may take."""


def split_file(
    mode: Transformer,
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    how: How,
    weighting: Weighting,
    format: CsvFormat | None = None,
    progress: Progress | None = None,
    changes: str | os.PathLike[str] | None = None,
    marking: Marking = UNMARKED,
) -> Written:
    """Split the people of every row among its results; nothing appears under the new name until all of it is there."""
    if changes is not None:
        raise SpecError(
            Option("changes"),
            " lists the new values of single rows, and a row of a table of counts has several results: compare the two "
            "tables, or release one with a row per person",
        )
    name = weights_column(mode.columns, weighting, "a file")
    source, target, written = destined(path, to, format, (*mode.columns, str(name)))
    marking.check(source, source.columns, levels_of(mode), target)
    if is_parquet(target):
        refuse_alike(source.name, (*source.columns, *marking.names))
    run = Run(mode, source, how, progress or silent, written, marking=marking)
    given = whole_table(source, progress=progress)
    if given.nbytes > current().memory * HELD_SHARE:
        raise DataError(
            f"{source.name!r} is too large to be held in memory as a table of counts; add up its equal rows first, or "
            f"try ",
            Option("memory", words(int(given.nbytes / HELD_SHARE))),
        )
    done = split(mode, read(named(given, source.columns)), how, weighting, text=run.text)
    new = done.table.to_native().rename_columns(list(source.numbers))
    with replacing(target) as temporary, reading(source, target, run.progress) as (duck_, own):
        _write(replace(run, source=own), duck_, new, temporary, target)
        marking.refuse_formulas(temporary, written, run.progress)
    return Written(**vars(done.tally), path=target, read=Read.of(source))


def _write(run: Run, duck_: Any, new: Any, temporary: str, target: str) -> None:
    parquet = is_parquet(target)
    if not len(new) and not parquet:
        # DuckDB would end the line of a row that there is not.
        Path(temporary).write_text(run.header, encoding="utf-8", newline="")
        return
    if run.text:
        kinds: dict[str, str] = kinds_of(run, duck_) if parquet else {}
        values = {number: valued(number, kinds.get(number)) for number in run.source.numbers}
    else:
        # What went through Arrow gets the file's own types back.
        types = map(str, duck_.sql(f"SELECT {', '.join(run.source.numbers)} FROM {run.source.sql} LIMIT 0").types)
        own = dict(zip(run.source.numbers, types, strict=True))
        made = [run.source.at(each.name) for each in run.mode.written if becomes_text(each, run.how.restore)]
        values = {
            number: f"CAST({number} AS {kind})" for number, kind in (own | dict.fromkeys(made, "VARCHAR")).items()
        }
    names = map(quoted, run.source.columns) if parquet else run.source.numbers
    chosen = ", ".join(f"{value} AS {name}" for value, name in zip(values.values(), names, strict=True))
    duck_.register("stream", new)
    command = copy_statement(run, duck_, f"SELECT {chosen} FROM stream", temporary, parquet)
    execute(duck_, command, None, temporary, target)
