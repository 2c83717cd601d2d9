"""A file looked over before anything is stated: columns by their distinct values, and rows as a fit reads them.

A table of many rows has few distinct texts in most of its columns: what they are is asked of each text once.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.arrays import Cells
from evenhand.engines.files import Source, named, reading, whole_table
from evenhand.engines.typed import valued
from evenhand.engines.writing import types_of
from evenhand.resources import Progress
from evenhand.spec import CsvFormat
from evenhand.tables import Table, read
from evenhand.tables.survey import MISSING, Distinct, distinct


@dataclass(frozen=True, eq=False)
class Looked:
    """The first rows of files, or all of them.

    Attributes
    ----------
    source : Source
        The files.
    columns : tuple
        Arrow arrays; of CSV files they are texts with a dictionary.
    whole : bool
        Whether these are all rows.
    kinds : dict
        The types of columns of which not all rows are here, by the column's number.
    """

    source: Source
    columns: tuple[Any, ...]
    whole: bool
    kinds: dict[str, str] = field(default_factory=dict)

    @classmethod
    def at(
        cls,
        path: str | os.PathLike[str],
        format: CsvFormat | None = None,
        *,
        rows: int,
        progress: Progress | None = None,
    ) -> Looked:
        """Read the first rows of files."""
        source = Source.of(path, format)
        found = whole_table(source, rows, progress)
        whole = len(found) < rows
        if source.format is None:
            return cls(source, tuple(found.columns), whole)
        kinds: dict[str, str] = {}
        if not whole:
            # Values come from the first rows, types from all.
            with reading(source, progress=progress) as reader:
                found_ = types_of(reader, range(len(source.header)))
                kinds = {source.numbers[place]: kind for place, kind in found_.items()}
        return cls(source, tuple(_numbered(column) for column in found.columns), whole, kinds)

    def distinct(self) -> list[Distinct]:
        """Return every column by its distinct values, numbers where all of its texts are."""
        import pyarrow

        if self.source.format is None:
            return distinct(read(pyarrow.table(list(self.columns), names=list(self.source.columns)).to_pandas()))
        found = []
        for name, number, column in zip(self.source.columns, self.source.numbers, self.columns, strict=True):
            values, codes = valued(column.dictionary, (), self.kinds.get(number)), _codes(column)
            if values.null_count:
                # An empty text is a missing value.
                there = np.asarray(values.is_valid())
                codes = np.append(np.where(there, np.cumsum(there) - 1, MISSING), MISSING)[codes]
                values = values.drop_null()
            kinds = pyarrow.types
            numbers = kinds.is_integer(values.type) or kinds.is_floating(values.type)
            listed = values.to_numpy() if numbers else values.to_pylist()
            found.append(Distinct(name, listed, codes, kinds.is_floating(values.type)))
        return found

    def table(self, columns: Sequence[str], rows: Cells, blanks: Sequence[Any] = ()) -> Table:
        """Return some columns of some rows, as a fit reads them; ``blanks`` stand for a missing value."""
        import pyarrow

        places = [self.source.columns.index(name) for name in columns]
        found = []
        for place in places:
            column = self.columns[place]
            if self.source.format is not None:
                kind = self.kinds.get(self.source.numbers[place])
                column, at = valued(column.dictionary, blanks, kind), _codes(column)[rows]
                found.append(column.take(pyarrow.array(at, mask=at == MISSING)))
            else:
                found.append(column.take(pyarrow.array(rows)))
        return named(pyarrow.table(found, names=[f"column_{place}" for place in places]), columns)


def _numbered(column: Any) -> Any:
    """Return a column of texts with a dictionary."""
    import pyarrow

    found = column.dictionary_encode().unify_dictionaries() if column.num_chunks > 1 else column.dictionary_encode()
    return found.combine_chunks() if isinstance(found, pyarrow.ChunkedArray) else found


def _codes(column: Any) -> Cells:
    return np.asarray(column.indices.fill_null(MISSING).to_numpy(zero_copy_only=False), dtype=np.int64)
