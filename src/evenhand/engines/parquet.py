"""Parquet straight to Parquet: Arrow reads whole rows and writes them, and texts that repeat stay in dictionaries.

DuckDB puts a stream beside the rows of a file on one core, and makes every text anew only to look it up again. Arrow
hands dictionaries and small numbers on as they are. But it knows no bound of memory, and has types of its own: so this
is for files whose row groups are small beside the memory, and whose types both have. All others are DuckDB's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.engines.files import Source, rows_at_once
from evenhand.errors import DataError
from evenhand.resources import current

MOST_TOGETHER = 122_880
"""Rows that are written together where nothing is said."""

GROUP_SHARE = 1 / 4
"""How much of the memory the largest row group may take: parts of all its columns are held while it is read."""

ROW_SHARE = 1 / (1 << 16)
"""How much of the memory a row may take: with longer ones, or more columns, row groups would be of a few rows."""

KEPT = frozenset({"NONE", "STRING", "INT", "DATE", "DECIMAL", "TIMESTAMP"})
"""What Parquet may say of a column for DuckDB and Arrow to read the same."""

TEXTS = frozenset({"string", "large_string", "binary", "large_binary"})
"""Types of values of any length."""

PREFIXED = "DELTA_BYTE_ARRAY"
"""The encoding in which texts that begin alike take few bytes."""

SMALL = 4
"""Bytes per value of a column: the length of a text alone takes as many where it is written out."""

BYTES_OF_NUMBER = 8
"""What a value takes in memory, as a rule, however few bytes its number in a dictionary has in a file."""

ROWS_PER_VALUE = 16
"""Where values have fewer rows each, their dictionary is made anew: the one that they came with may be far longer."""


@dataclass(frozen=True, eq=False)
class Straight:
    """Files that Arrow reads and writes.

    Attributes
    ----------
    source : Source
        The files.
    dictionaries : tuple of int
        The places of columns of texts that have dictionaries.
    repeated : tuple of int
        The places of all columns that are written with dictionaries.
    row : float
        The bytes of a row, in the row group where they are most.
    """

    source: Source
    dictionaries: tuple[int, ...]
    repeated: tuple[int, ...]
    row: float

    @classmethod
    def of(cls, source: Source, own: Sequence[str]) -> Straight | None:
        """Return files that Arrow can read in DuckDB's place, or None; ``own`` columns are known to have few values."""
        if source.format is not None:
            return None
        found = [_footer(path) for path in source.paths]
        schema, places = found[0][1], range(len(source.columns))
        if any(other.types != schema.types or not _kept(metadata, other) for metadata, other in found):
            return None
        groups = [metadata.row_group(number) for metadata, _ in found for number in range(metadata.num_row_groups)]
        groups = [group for group in groups if group.num_rows]
        largest = max((group.total_byte_size for group in groups), default=0)
        longest = max((group.total_byte_size / group.num_rows for group in groups), default=0)
        row = max(BYTES_OF_NUMBER * len(places), longest)
        if not groups or largest > current().memory * GROUP_SHARE or row > current().memory * ROW_SHARE:
            return None
        mine = {source.columns.index(name) for name in own}
        texts = [place for place in places if str(schema.types[place]) in TEXTS]
        chunks = [[group.column(place) for group in groups] for place in places]
        repeated = {place for place in places if place in mine or _repeats(chunks[place])}
        if any(_may_grow(chunks[place]) for place in texts if place not in repeated):
            return None
        dictionaries = [place for place in texts if place in repeated]
        return cls(source, tuple(dictionaries), tuple(repeated), row)

    def batches(self, columns: Sequence[str]) -> Iterator[Any]:
        """Read columns, as many rows at a time as their share of the memory holds, in their order: Arrow tables."""
        import pyarrow
        import pyarrow.parquet

        header, names = self.source.header, self.source.columns
        rows = min(rows_at_once(self.row), MOST_TOGETHER)
        # Whatever is asked for, it comes in the order of the file.
        places = [place for place, name in enumerate(names) if name in columns]
        dictionaries = [header[place] for place in self.dictionaries]
        # What Arrow buffers ahead it keeps until the file is closed.
        options = {"read_dictionary": dictionaries, "pre_buffer": False}
        for path in self.source.paths:
            try:
                with pyarrow.parquet.ParquetFile(path, **options) as file:
                    for batch in file.iter_batches(rows, columns=[header[place] for place in places]):
                        yield pyarrow.table(batch.columns, names=[names[place] for place in places])
            except (pyarrow.ArrowException, OSError) as error:
                why = next(iter(str(error).splitlines()), "")
                raise DataError(f"{path!r} cannot be read as Parquet: {why}") from None

    def writer(self, file: Any, schema: Any, *, added: Sequence[str], metadata: Mapping[str, str]) -> ParquetFile:
        """Open the result; columns that were ``added`` repeat their values."""
        repeated = [*(name for place in self.repeated if (name := self.source.columns[place]) in schema.names), *added]
        return ParquetFile(file, schema, metadata=metadata, repeated=repeated)


class ParquetFile:
    """A Parquet file that is being written by Arrow."""

    def __init__(
        self, file: Any, schema: Any, *, metadata: Mapping[str, str] | None = None, repeated: Any = True
    ) -> None:
        import pyarrow.parquet

        self.schema, self._metadata = schema, metadata
        # What the result says of its types is what DuckDB would say: nothing of Arrow's own.
        options = {"compression": "snappy", "use_dictionary": repeated, "store_schema": False}
        self._writer = pyarrow.parquet.ParquetWriter(file, schema, **options)

    def write(self, table: Any) -> None:
        """Write a table as one row group."""
        found = _compact(table.cast(self.schema))
        self._writer.write_table(found, row_group_size=max(len(found), 1))

    def close(self) -> None:
        if self._metadata:
            self._writer.add_key_value_metadata(self._metadata)
        self._writer.close()


def _footer(path: str) -> tuple[Any, Any]:
    """Return what a file says of its row groups, and the Arrow types of its columns."""
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:
        return file.metadata, file.schema_arrow


def _kept(metadata: Any, schema: Any) -> bool:
    """Whether DuckDB and Arrow read all columns of a file alike."""
    from pyarrow import types

    texts = (types.is_string, types.is_large_string, types.is_binary, types.is_large_binary)
    numbers = (types.is_boolean, types.is_integer, types.is_float32, types.is_float64, types.is_decimal128)
    times = (types.is_date32, lambda kind: types.is_timestamp(kind) and kind.unit == "us")
    kinds = [kind.value_type if types.is_dictionary(kind) else kind for kind in schema.types]
    # Columns that are made of others have several here, or lists of none of these types.
    return metadata.num_columns == len(kinds) and all(
        metadata.schema.column(place).logical_type.type in KEPT
        and any(holds(kind) for holds in (*texts, *numbers, *times))
        for place, kind in enumerate(kinds)
    )


def _repeats(chunks: Sequence[Any]) -> bool:
    """Whether a column is so small that a dictionary must have served it: some writers give one to every column."""
    small = sum(chunk.total_uncompressed_size for chunk in chunks) < SMALL * sum(chunk.num_values for chunk in chunks)
    return small and any(chunk.has_dictionary_page for chunk in chunks)


def _may_grow(chunks: Sequence[Any]) -> bool:
    """Whether texts may be far longer in memory than in the file."""
    return any(chunk.has_dictionary_page or PREFIXED in chunk.encodings for chunk in chunks)


def _compact(table: Any) -> Any:
    """Return a table each of whose dictionaries is one, and not much longer than needed."""
    import pyarrow
    from pyarrow import compute

    table = table.unify_dictionaries().combine_chunks()
    for place, column in enumerate(table.columns):
        # The dictionary is that of a row group, of which these rows may be a small part.
        if pyarrow.types.is_dictionary(column.type) and len(table) < ROWS_PER_VALUE * len(column.chunk(0).dictionary):
            indices, values = column.chunk(0).indices, column.chunk(0).dictionary
            used = indices.unique().drop_null()
            own = pyarrow.DictionaryArray.from_arrays(compute.index_in(indices, used), values.take(used))
            table = table.set_column(place, table.field(place), own.cast(column.type))
    return table
