"""People in a file: the rows that meet conditions, with their positions, and the row at a position.

A file is read in batches; of its rows those are kept that are asked for.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Flags
from evenhand.engines.files import Batch, Columns, Source, reading
from evenhand.errors import DataError
from evenhand.resources import Progress
from evenhand.spec import CsvFormat
from evenhand.tables import Table, encode, parsed_number, take

KEPT = 5
"""So many of the rows that meet conditions are kept."""

AS_TEXT, AS_NUMBER = 2, 1
"""How well a row meets conditions: each value is the text that was asked for, or the same number."""


@dataclass(frozen=True, eq=False)
class Row:
    """One row of a file: its position, counted from 0, a table of it alone, and the values that the file has."""

    position: int
    table: Table
    values: Mapping[str, Any]

    @classmethod
    def at(cls, source: Source, batch: Batch, place: int) -> Row:
        """Return one row of a batch."""
        own = batch.of(slice(place, place + 1))
        values = {name: own.table[name].to_list()[0] for name in own.table.columns}
        if own.records is not None:
            # As they are written.
            values = {name: own.records.numbered(source.place(name))[1][0] for name in values}
        return cls(own.first, take(own.table, np.zeros(1, np.int64)), values)


def rows_where(
    path: str | os.PathLike[str],
    where: Mapping[str, str],
    columns: Columns,
    format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> tuple[int, list[Row]]:
    """Find the rows whose columns have the values that are named, as texts or, where no row does, as numbers.

    Return how many there are, and the first few of them.
    """
    source = Source.of(path, format)
    names = dict.fromkeys(where) | dict(columns)
    source.require(list(names))
    kept: dict[int, list[Row]] = {AS_TEXT: [], AS_NUMBER: []}
    number = {AS_TEXT: 0, AS_NUMBER: 0}

    def look() -> None:
        for batch in reader.batches(names, "looking"):
            found = [_hits(source, batch, name, value) for name, value in where.items()]
            exact, alike = (np.all(each, axis=0) for each in zip(*found, strict=True))
            for level, hits in ((AS_TEXT, exact), (AS_NUMBER, alike & ~exact)):
                at = np.flatnonzero(hits)
                number[level] += len(at)
                kept[level] += [Row.at(source, batch, place) for place in at[: KEPT - len(kept[level])].tolist()]

    with reading(source, progress=progress) as reader:
        reader.run(look)
    level = AS_TEXT if number[AS_TEXT] else AS_NUMBER
    return number[level], kept[level]


def _hits(source: Source, batch: Batch, name: str, wanted: str) -> tuple[Flags, Flags]:
    """Return which rows have a value: as the text that it is, and as the same text or number."""
    if batch.records is not None:
        codes, values = batch.records.numbered(source.place(name))
        texts: Sequence[str | None] = values
    else:
        encoded = encode(batch.table[name])
        codes = encoded.codes
        texts = [*(_text(value) for value in encoded.values), None]
    exact = np.array([text == wanted for text in texts], dtype=bool)
    number = parsed_number(wanted)
    same = [number is not None and text is not None and parsed_number(text) == number for text in texts]
    return exact[codes], (exact | np.array(same, dtype=bool))[codes]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def row_at(path: str | os.PathLike[str], position: int, columns: Columns, format: CsvFormat | None = None) -> Row:
    """Return the row at a position, counted from 0."""
    source = Source.of(path, format)
    source.require(list(columns))

    def look() -> Row | None:
        for batch in reader.batches(columns, "looking"):
            if position < batch.first + len(batch):
                return Row.at(source, batch, position - batch.first)
        return None

    with reading(source) as reader:
        found = reader.run(look)
    if found is None:
        raise DataError(f"{source.name!r} has no row {position + 1:,}")
    return found
