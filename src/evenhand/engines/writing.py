"""The one writer of files: what becomes of each batch goes into the result, whichever way suits input and result.

From CSV to CSV records are passed on by their bytes; from CSV to Parquet columns get the types of all their values;
from Parquet to Parquet Arrow writes whole rows, where it can; all else is put together by DuckDB from the file that
was read and a small one of what changed.
"""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.domain import Variable
from evenhand.engines.delimited import quoted_field
from evenhand.engines.duck import duck, literal, why_unwritable
from evenhand.engines.files import Batch, Reader, Source, is_parquet
from evenhand.engines.marking import Marking
from evenhand.engines.parquet import MOST_TOGETHER, ParquetFile, Straight
from evenhand.engines.splicing import Splice
from evenhand.engines.typed import INTEGER, REAL_NUMBER, TEXT, Types, valued
from evenhand.errors import StorageError
from evenhand.resources import current
from evenhand.spec import CsvFormat
from evenhand.tables import Fresh, becomes_text, quoted
from evenhand.tables.transforming import How, Transformed, Transformer

END = "\n"

GROUP_SHARE = 1 / 16
"""How much of the memory the rows may take that DuckDB writes together; it gathers several such groups at once."""

FEWEST_TOGETHER = 2048
"""Rows that DuckDB can work on at once."""

ROW, WEIGHT = "new_row", "new_weight"
"""The columns of what changed besides those of the file, which have numbers."""


@dataclass(frozen=True)
class Layout:
    """What a result looks like.

    Attributes
    ----------
    mode, how : Transformer, How
        What is done with rows.
    source : Source
        The files that are read.
    written : CsvFormat
        How a CSV result is written.
    marking : Marking
        What the result says of itself.
    dropped, weight : str, optional
        The column of weights that the result does not have, and the one that it has.
    split : tuple of str
        The column of frequencies, where a row's people are split among its results.
    """

    mode: Transformer
    how: How
    source: Source
    written: CsvFormat
    marking: Marking
    dropped: str | None = None
    weight: str | None = None
    split: tuple[str, ...] = ()

    @property
    def places(self) -> list[int]:
        """The columns of the file that the result has."""
        return [place for place, name in enumerate(self.source.columns) if name != self.dropped]

    @property
    def added(self) -> tuple[str, ...]:
        """The columns that the result has besides."""
        return (*([] if self.weight is None else [self.weight]), *self.marking.names)

    @property
    def columns(self) -> list[str]:
        return [*(self.source.columns[place] for place in self.places), *self.added]

    @property
    def variables(self) -> dict[str, Variable]:
        """The variables whose columns may change, by name."""
        return {variable.name: variable for variable in self.mode.written}

    @property
    def header(self) -> str:
        """The first line of a CSV result: that of the file that was read, wherever it is written alike."""
        if self.written.names:
            return ""
        delimiter, source = self.written.delimiter, self.source
        if source.line is not None and source.format == self.written and self.dropped is None:
            return source.line + "".join(delimiter + quoted_field(name, delimiter) for name in self.added) + END
        names = [*(source.header[place] for place in self.places), *self.added]
        # A name that is empty needs no quotes.
        return delimiter.join(quoted_field(name, delimiter) if name else "" for name in names) + END


class Sink(Protocol):
    """Writes a result."""

    def write(self, batch: Batch, done: Transformed, weight: Numbers | None) -> None:
        """Write what became of a batch; ``weight`` is that of each row of the result."""

    def finish(self) -> None:
        """Write what is left."""


def sink_of(layout: Layout, reader: Reader, straight: Straight | None, file: Hashed, target: str) -> Sink:
    """Return what writes a result of this layout into a file, whose name will be ``target``."""
    if layout.source.format is None:
        return Arrows(layout, straight, file) if straight is not None else Joined(layout, reader, file, target)
    return Tabled(layout, reader, file) if is_parquet(target) else Spliced(layout, file)


class Hashed(io.RawIOBase):
    """A file that is written from its first byte to its last, and its checksum if that is wanted."""

    def __init__(self, path: str, *, wanted: bool = False) -> None:
        self.path, self._digest, self._size = path, hashlib.sha256() if wanted else None, 0
        self._file: BinaryIO = open(path, "wb")  # noqa: SIM115

    def writable(self) -> bool:
        return True

    def write(self, content: Any) -> int:
        if self._digest is not None:
            self._digest.update(content)
        written = self._file.write(content)
        self._size += written
        return written

    def close(self) -> None:
        self._file.close()
        super().close()

    @property
    def sha256(self) -> str | None:
        """The checksum; None where it is not wanted, or others wrote the file."""
        return None if self._digest is None or not self._size else self._digest.hexdigest()


class Spliced:
    """CSV from CSV: records by their bytes."""

    def __init__(self, layout: Layout, file: Hashed) -> None:
        assert layout.source.format is not None
        self._layout, self._file = layout, file
        self._mark, self._written = (each.delimiter.encode() for each in (layout.source.format, layout.written))
        self._tail = b"".join(
            self._written + quoted_field(layout.marking.words, layout.written.delimiter).encode()
            for _ in layout.marking.names
        )
        file.write(layout.header.encode())

    def write(self, batch: Batch, done: Transformed, weight: Numbers | None) -> None:
        layout, records = self._layout, batch.records
        assert records is not None
        escape = layout.marking.formulas == "escape"
        splice = Splice(records, layout.places, self._mark, self._written, done.rows, escape)
        for name, fresh in done.fresh.items():
            place = layout.source.place(name)
            texts = written_texts(fresh, layout.variables.get(name), lambda place=place: records.numbered(place)[1])
            splice.replace(place, fresh.at, texts, fresh.which)
        if weight is None:
            self._file.write(splice.joined([self._tail + b"\n"]))
            return
        distinct, which = np.unique(weight, return_inverse=True)
        tails = [self._written + str(each).encode() + self._tail + b"\n" for each in distinct.tolist()]
        self._file.write(splice.joined(tails, which))

    def finish(self) -> None:
        """Nothing is left."""


def written_texts(fresh: Fresh, variable: Variable | None, own: Any) -> list[str | None]:
    """Return the texts of values, truths as the column's ``own`` texts are written."""
    texts = [None if value is None else str(value) for value in fresh.values]
    if variable is None or not isinstance(variable.levels[0], bool):
        return texts
    small = all(text == text.lower() for text in own() if text is not None)
    return [text.lower() if small and text is not None else text for text in texts]


class Tabled:
    """Parquet from CSV: every column gets the type of all its values."""

    def __init__(self, layout: Layout, reader: Reader, file: Hashed) -> None:
        import pyarrow

        self._layout, self._held = layout, 0
        types = {INTEGER: pyarrow.int64(), REAL_NUMBER: pyarrow.float64(), TEXT: pyarrow.string()}
        self._kinds = kinds_of(layout, reader)
        fields = [(layout.source.columns[place], types[self._kinds[place]]) for place in layout.places]
        fields += [(name, pyarrow.float64() if name == layout.weight else pyarrow.string()) for name in layout.added]
        self._writer = ParquetFile(file, pyarrow.schema(fields), metadata=layout.marking.metadata)
        self._parts: list[Any] = []

    def write(self, batch: Batch, done: Transformed, weight: Numbers | None) -> None:
        import pyarrow

        layout, records = self._layout, batch.records
        assert records is not None
        size = len(records) if done.rows is None else len(done.rows)
        columns = []
        for place in layout.places:
            name = layout.source.columns[place]
            codes, texts = records.numbered(place)
            codes = codes if done.rows is None else codes[done.rows]
            if name in done.fresh:
                fresh = done.fresh[name]
                codes, own = codes.copy(), list(texts)
                codes[fresh.at] = fresh.which + len(texts)
                texts = own + written_texts(fresh, layout.variables.get(name), lambda own=own: own)
            kind = self._kinds[place]
            # What is quoted and empty stays a text.
            values = pyarrow.array(texts, pyarrow.string())
            values = values if kind == TEXT else valued(values, kind=kind)
            columns.append(values.take(pyarrow.array(codes)))
        if weight is not None:
            columns.append(pyarrow.array(weight, pyarrow.float64()))
        columns += [pyarrow.array([layout.marking.words] * size, pyarrow.string()) for _ in layout.marking.names]
        self._parts.append(pyarrow.table(columns, schema=self._writer.schema))
        self._held += size
        if self._held >= MOST_TOGETHER or sum(each.nbytes for each in self._parts) > current().memory * GROUP_SHARE:
            self._flush()

    def _flush(self) -> None:
        import pyarrow

        if self._parts:
            self._writer.write(pyarrow.concat_tables(self._parts))
        self._parts, self._held = [], 0

    def finish(self) -> None:
        self._flush()
        self._writer.close()


def kinds_of(layout: Layout, reader: Reader) -> dict[int, str]:
    """Return the types that the texts of a CSV file get in Parquet, by the places of its columns."""
    kinds = types_of(reader, layout.places)
    for variable in layout.mode.written:
        place = layout.source.place(variable.name)
        if not variable.numeric or becomes_text(variable, layout.how.restore):
            kinds[place] = TEXT
        elif variable.coding is not None and not variable.coding.gives_whole and kinds[place] == INTEGER:
            kinds[place] = REAL_NUMBER
    return kinds


def types_of(reader: Reader, places: Sequence[int]) -> dict[int, str]:
    """Return the type that all texts of each column have."""
    types = {place: Types() for place in places}
    for batch in reader.batches({}, "looking for numbers"):
        assert batch.records is not None
        for place, found in types.items():
            if found.open:
                found.add(batch.records.numbered(place)[1])
    return {place: found.kind for place, found in types.items()}


class Arrows:
    """Parquet straight from Parquet: whole rows by Arrow."""

    def __init__(self, layout: Layout, straight: Straight, file: Hashed) -> None:
        self._layout, self._straight, self._file = layout, straight, file
        self._writer: Any = None

    def write(self, batch: Batch, done: Transformed, weight: Numbers | None) -> None:
        import pyarrow

        layout = self._layout
        whole = batch.whole if done.rows is None else batch.whole.take(pyarrow.array(done.rows))
        if done.fresh:
            new = done.table.to_native()
            for name in done.fresh:
                whole = whole.set_column(whole.column_names.index(name), name, new[name])
        if layout.dropped is not None:
            whole = whole.drop_columns([layout.dropped])
        if weight is not None:
            whole = whole.append_column(str(layout.weight), pyarrow.array(weight, pyarrow.float64()))
        for name in layout.marking.names:
            zeros = pyarrow.array(np.zeros(len(whole), np.int32))
            whole = whole.append_column(name, pyarrow.DictionaryArray.from_arrays(zeros, [layout.marking.words]))
        if self._writer is None:
            metadata, added = layout.marking.metadata, layout.marking.names
            self._writer = self._straight.writer(self._file, whole.schema, added=added, metadata=metadata)
        self._writer.write(whole)

    def finish(self) -> None:
        self._writer.close()


class Joined:
    """What DuckDB puts together: the file that was read, and beside it what changed, which is kept in a small one."""

    def __init__(self, layout: Layout, reader: Reader, file: Hashed, target: str) -> None:
        self._layout, self._reader, self._target, self._to = layout, reader, target, file.path
        self._beside = os.path.join(os.path.dirname(file.path), "changed")
        self._writer: Any = None
        self._rows = False

    @property
    def _changing(self) -> dict[str, str]:
        """The columns that may change, and what they are called in the small file."""
        changing = (*(variable.name for variable in self._layout.mode.written), *self._layout.split)
        return {name: f"new_{place}" for place, name in enumerate(changing)}

    def write(self, batch: Batch, done: Transformed, weight: Numbers | None) -> None:
        import pyarrow

        new = done.table.to_native()
        found = new.select(list(self._changing)).rename_columns(list(self._changing.values()))
        if done.rows is not None:
            found = found.append_column(ROW, pyarrow.array(done.rows + batch.first, pyarrow.int64()))
        if weight is not None:
            found = found.append_column(WEIGHT, pyarrow.array(weight, pyarrow.float64()))
        if not found.column_names:
            return
        if self._writer is None:
            self._rows = done.rows is not None
            self._writer = ParquetFile(self._beside, found.schema)
        self._writer.write(found)

    def finish(self) -> None:
        if self._writer is not None:
            self._writer.close()
        query = self._query(self._layout.marking, parquet=is_parquet(self._target))
        try:
            self._reader.duck.execute(query)
        except duck().Error as error:
            if isinstance(error, duck().IOException) and (why := why_unwritable(Path(self._to))):
                raise StorageError(f"cannot write {self._target!r}: {why}") from None
            raise

    def _query(self, marking: Marking, *, parquet: bool) -> str:
        """Return the statement that writes the result."""
        layout, source = self._layout, self._layout.source
        there, labelled = self._writer is not None, self._labelled()
        own = dict(zip(source.numbers, self._own_types(), strict=True))
        chosen = []
        for place in layout.places:
            name, number = source.columns[place], source.numbers[place]
            # What went through Arrow gets the file's own type back.
            kind = "VARCHAR" if name in labelled else own[number]
            value = self._changing[name] if there and name in self._changing else number
            value = value if value == number and name not in labelled else f"CAST({value} AS {kind})"
            chosen.append(f"{value} AS {quoted(name) if parquet else number}")
        if layout.weight is not None:
            weight = WEIGHT if there else "CAST(NULL AS DOUBLE)"
            chosen.append(f"{weight} AS {quoted(layout.weight) if parquet else WEIGHT}")
        rows = f"SELECT {', '.join(chosen)} FROM {self._tables()}"
        return copy_statement(layout, rows, self._to, self._reader, parquet=parquet)

    def _labelled(self) -> set[str]:
        return {each.name for each in self._layout.mode.written if becomes_text(each, self._layout.how.restore)}

    def _own_types(self) -> list[str]:
        source = self._layout.source
        found = self._reader.duck.sql(f"SELECT {', '.join(source.numbers)} FROM {source.sql} LIMIT 0")
        return list(map(str, found.types))

    def _tables(self) -> str:
        given, changed = f"{self._layout.source.sql} AS given", f"read_parquet({literal(self._beside)})"
        if self._writer is None:
            return given
        if not self._rows:
            return f"{given} POSITIONAL JOIN {changed} AS stream"
        numbered = f"(SELECT *, row_number() OVER () - 1 AS given_row FROM {given}) AS given"
        placed = f"(SELECT *, row_number() OVER () AS new_place FROM {changed}) AS stream"
        return f"{numbered} JOIN {placed} ON given_row = {ROW} ORDER BY new_place"


def copy_statement(layout: Layout, rows: str, to: str, reader: Reader, *, parquet: bool) -> str:
    """Return DuckDB's statement that writes the rows of a query: as Parquet, or as CSV."""
    rows = layout.marking.written(rows, parquet=parquet)
    if parquet:
        # Fewer rows are gathered before they are written where rows are long.
        first = reader.duck.sql(f"SELECT * FROM {layout.source.sql} LIMIT {FEWEST_TOGETHER}").to_arrow_table()
        most = current().memory * GROUP_SHARE / max(first.nbytes, 1) * max(len(first), 1)
        group = f"ROW_GROUP_SIZE {int(min(max(most, FEWEST_TOGETHER), MOST_TOGETHER))}"
        options = f"FORMAT parquet, {group}, USE_TMP_FILE false{layout.marking.parquet_option}"
        return f"COPY ({rows}) TO {literal(to)} ({options})"
    # DuckDB would give columns names of its own that have none, or the same.
    header = f"PREFIX {literal(layout.header)}, SUFFIX {literal(END)}, " if layout.header else ""
    format = f"FORMAT csv, HEADER false, {header}DELIMITER {literal(layout.written.delimiter)}, USE_TMP_FILE false"
    return f"COPY ({rows}) TO {literal(to)} ({format})"
