"""People in a file: the rows that meet conditions, with their positions, and the row at a position.

A file is read in batches; of its rows those are kept that are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.engines.files import Source, batches, literal, reading
from evenhand.engines.waiting import beside
from evenhand.errors import DataError
from evenhand.resources import Progress, current
from evenhand.spec import CsvFormat
from evenhand.tables import Table, read

BATCH, STEP, BATCH_SHARE = 1 << 16, 1 << 14, 1 / 32
"""Rows that are read and handed over at once, and how much of the memory they may take."""

KEPT = 5
"""So many of the rows that meet conditions are kept."""

HIT = "evenhand_hit"
AS_TEXT, AS_NUMBER = 2, 1
"""How well a row meets conditions: each value is the text that was asked for, or the same number."""


@dataclass(frozen=True, eq=False)
class Row:
    """One row of a file: its position, counted from 0, and a table of it alone; ``text`` where it holds texts."""

    position: int
    table: Table
    text: bool

    @property
    def values(self) -> dict[str, Any]:
        return {name: self.table[name].to_list()[0] for name in self.table.columns}


def rows_where(
    path: str | os.PathLike[str],
    where: Mapping[str, str],
    columns: Sequence[str],
    format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> tuple[int, list[Row]]:
    """Find the rows whose columns have the values that are named, as texts or, where no row does, as numbers.

    Return how many there are, and the first few of them.
    """
    source = Source.of(path, format)
    names = list(dict.fromkeys((*columns, *where)))
    source.require(names)
    exact = " AND ".join(f"CAST({source.at(name)} AS VARCHAR) = {literal(value)}" for name, value in where.items())
    alike = " AND ".join(
        f"(CAST({at} AS VARCHAR) = {text} OR TRY_CAST({at} AS DOUBLE) = TRY_CAST({text} AS DOUBLE))"
        for at, text in ((source.at(name), literal(value)) for name, value in where.items())
    )
    hit = f"CASE WHEN {exact} THEN {AS_TEXT} WHEN {alike} THEN {AS_NUMBER} ELSE 0 END"
    kept: dict[int, list[Row]] = {AS_TEXT: [], AS_NUMBER: []}
    number = {AS_TEXT: 0, AS_NUMBER: 0}
    with reading(source, progress=progress) as (duck_, given):

        def look() -> None:
            first, (expected, _) = 0, given.rows(duck_)
            query = f"SELECT {', '.join(map(given.at, names))}, {hit} AS {HIT} FROM {given.sql}"
            memory = current().memory * BATCH_SHARE
            for part in batches(duck_, query, [*names, HIT], rows=BATCH, memory=memory, step=STEP):
                hits = part[HIT].to_numpy()
                for level in (AS_TEXT, AS_NUMBER):
                    at = (hits == level).nonzero()[0]
                    number[level] += len(at)
                    for place in at[: KEPT - len(kept[level])].tolist():
                        table = read(part.slice(place, 1).select(names).combine_chunks())
                        kept[level].append(Row(first + place, table, source.format is not None))
                first += len(part)
                if progress is not None:
                    progress(f"looking: {first:,} rows", min(first / max(expected, 1), 1.0))

        beside(look, duck_.interrupt)
    level = AS_TEXT if number[AS_TEXT] else AS_NUMBER
    return number[level], kept[level]


def row_at(path: str | os.PathLike[str], position: int, columns: Sequence[str], format: CsvFormat | None = None) -> Row:
    """Return the row at a position, counted from 0."""
    source = Source.of(path, format)
    source.require(columns)
    with reading(source) as (duck_, given):
        query = f"SELECT {', '.join(map(given.at, columns))} FROM {given.sql} LIMIT 1 OFFSET {int(position)}"
        found = beside(lambda: duck_.sql(query).to_arrow_table(), duck_.interrupt)
    if not len(found):
        raise DataError(f"{source.name!r} has no row {position + 1:,}")
    return Row(position, read(found.rename_columns(list(columns))), source.format is not None)
