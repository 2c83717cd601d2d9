"""The list of changes of a release: one row for each value that is another than it was, written while rows stream by.

What a row says is taken from the batch before and after, and from the kernel's entry that was drawn; nothing is drawn
or compared here. The key, or the row's number, tells who it is.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells
from evenhand.data.domain import Variable
from evenhand.engines.files import PARQUET, Batch, is_parquet
from evenhand.engines.writing import Layout, written_texts
from evenhand.errors import DataError
from evenhand.files import replacing
from evenhand.tables.transforming import Transformed

ENDINGS = (".csv", *PARQUET)

ROW, KEY, COLUMN, BEFORE, AFTER, PROBABILITY = "row", "key", "column", "before", "after", "probability"


class ChangeList:
    """A file of changes that is being written."""

    def __init__(self, path: str, key: str | None, *, parquet: bool) -> None:
        self.path, self.key, self.parquet = path, key, parquet
        self._writer: Any = None

    @property
    def names(self) -> list[str]:
        return [ROW, *([] if self.key is None else [KEY]), COLUMN, BEFORE, AFTER, PROBABILITY]

    def add(self, layout: Layout, batch: Batch, done: Transformed) -> None:
        """Write what changed in a batch."""
        import pyarrow

        if self._writer is None:
            kind = pyarrow.string() if self.key is None else _shown(layout, batch, self.key, NOBODY).type
            self._begin(kind)
        parts = list(self._parts(layout, batch, done))
        if parts:
            found = pyarrow.concat_tables(parts)
            # By person, and each person's columns in their order.
            order = np.argsort(found[ROW].to_numpy(), kind="stable")
            self._write(found.take(order))

    def _parts(self, layout: Layout, batch: Batch, done: Transformed) -> Iterator[Any]:
        import pyarrow

        mode, moves = done.mode, done.moves
        assert moves is not None
        probability = mode.kernel.probability[moves.entry]
        for axis, own, targets in zip(mode.writes, moves.own, mode.targets(moves.entry, moves.own), strict=True):
            for variable, old, new in zip(axis.variables, axis.unravel(own), axis.unravel(targets), strict=True):
                # A level that does not change keeps its value; learned cells are no column.
                moved = np.flatnonzero(old != new) if variable.is_column else np.zeros(0, dtype=np.int64)
                if not len(moved):
                    continue
                at = moves.at[moved]
                columns = {
                    ROW: at + batch.first + 1,
                    **({} if self.key is None else {KEY: _shown(layout, batch, self.key, at)}),
                    COLUMN: pyarrow.array([variable.name]).take(pyarrow.array(np.zeros(len(moved), dtype=np.int64))),
                    BEFORE: _shown(layout, batch, variable.name, at).cast(pyarrow.string()),
                    AFTER: _became(layout, batch, done, variable, at).cast(pyarrow.string()),
                    PROBABILITY: probability[moved],
                }
                yield pyarrow.table(columns, schema=self._schema)

    def _begin(self, key: Any) -> None:
        import pyarrow

        kinds = {ROW: pyarrow.int64(), KEY: key, PROBABILITY: pyarrow.float64()}
        self._schema = pyarrow.schema([(name, kinds.get(name, pyarrow.string())) for name in self.names])
        if self.parquet:
            import pyarrow.parquet

            self._writer = pyarrow.parquet.ParquetWriter(self.path, self._schema, store_schema=False)
            return
        import pyarrow.csv

        sink = pyarrow.OSFile(self.path, "wb")
        sink.write(f"{','.join(self.names)}\n".encode())
        self._sink = sink
        options = pyarrow.csv.WriteOptions(include_header=False)
        self._writer = pyarrow.csv.CSVWriter(sink, self._schema, write_options=options)

    def _write(self, found: Any) -> None:
        self._writer.write_table(found)

    def close(self) -> None:
        """End the file; one without a change has its columns alone."""
        import pyarrow

        if self._writer is None:
            self._begin(pyarrow.string())
        self._writer.close()
        if not self.parquet:
            self._sink.close()


NOBODY = np.zeros(0, dtype=np.int64)


def _shown(layout: Layout, batch: Batch, name: str, at: Cells) -> Any:
    """Return what some rows of a batch hold in a column, as it stands in the file."""
    import pyarrow

    if batch.records is not None:
        place = layout.source.place(name)
        return batch.records.of(at).texts(place)
    return _plain(batch.table[name].to_native().take(pyarrow.array(at)))


def _became(layout: Layout, batch: Batch, done: Transformed, variable: Variable, at: Cells) -> Any:
    """Return what some rows that changed have now."""
    import pyarrow

    if batch.records is None:
        return _plain(done.table[variable.name].to_native().take(pyarrow.array(at)))
    fresh, place = done.fresh[variable.name], layout.source.place(variable.name)
    texts = written_texts(fresh, variable, lambda: batch.records.numbered(place)[1])
    which = fresh.which[np.searchsorted(fresh.at, at)]
    return pyarrow.array(texts, pyarrow.string()).take(pyarrow.array(which))


def _plain(column: Any) -> Any:
    """Return a column without a dictionary."""
    import pyarrow

    return column.cast(column.type.value_type) if pyarrow.types.is_dictionary(column.type) else column


def check_changes(path: str | os.PathLike[str], target: str, read: tuple[str, ...]) -> str:
    """Return where a list of changes goes; refuse a file of no known kind, and one that is read or written itself."""
    found = check.path("changes", path)
    if not found.lower().endswith(ENDINGS):
        raise DataError(f"changes are written as .csv or .parquet, not as {found!r}")
    if os.path.realpath(found) in {os.path.realpath(each) for each in (target, *read)}:
        raise DataError(f"changes go into a file of their own, not into {found!r}")
    return found


@contextmanager
def listing(path: str | None, key: str | None) -> Iterator[ChangeList | None]:
    """Give a list of changes that appears under its name when all of it is written; None where none is asked for."""
    if path is None:
        yield None
        return
    with replacing(path) as temporary:
        changes = ChangeList(temporary, key, parquet=is_parquet(path))
        try:
            yield changes
        finally:
            changes.close()
