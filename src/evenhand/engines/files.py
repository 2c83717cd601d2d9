"""CSV and Parquet files, one or several of the same columns; a path may be a glob.

A CSV file is read by its bytes, and its columns get types where they are read. Parquet files are read by DuckDB, where
columns have numbers: whatever a file calls its columns, or does not call them, no name of a query is one of these.
"""

from __future__ import annotations

import glob
import os
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, TypeVar

import pandas as pd

from evenhand import check
from evenhand.engines.delimited import Records, See, Shape, first_record, records, unpacked_name
from evenhand.engines.duck import arrow, connection, in_words_of, literal
from evenhand.engines.typed import ReadAs, valued
from evenhand.engines.waiting import ahead, beside
from evenhand.errors import DataError, EvenhandWarning, did_you_mean, some_of
from evenhand.resources import Progress, current, silent
from evenhand.spec import CsvFormat
from evenhand.tables import Table, is_path, read, stacked

PARQUET = (".parquet", ".pq")

BATCH = 1 << 17
"""Rows of a Parquet file that are read at once, unless they are long."""

STEP = 1 << 14
"""Rows that DuckDB hands over at once."""

BATCH_SHARE = 1 / 32
"""How much of the memory the values of a batch may take."""

T = TypeVar("T")

Reading = Callable[[Sequence[str]], Iterator[Any]]
"""Reads columns of Parquet files in place of DuckDB: Arrow tables."""


@dataclass(frozen=True)
class Listed(os.PathLike[str]):
    """Several files in an order of their own, in place of a path or a glob."""

    paths: tuple[str, ...]

    def __fspath__(self) -> str:
        return self.paths[0]


def is_parquet(path: str | os.PathLike[str]) -> bool:
    return os.fspath(path).lower().endswith(PARQUET)


@dataclass(frozen=True)
class Source:
    """One or several files of the same columns.

    Attributes
    ----------
    paths : tuple of str
        The files.
    header : tuple of str
        What they call their columns: nothing, or the same, where they like.
    format : CsvFormat or None
        How they are written; None for Parquet.
    line : str or None
        The first line of a CSV file as it stands, without its end.
    types : tuple of Any
        The Arrow types of a Parquet file's columns.
    """

    paths: tuple[str, ...]
    header: tuple[str, ...]
    format: CsvFormat | None
    line: str | None = None
    types: tuple[Any, ...] = ()

    @classmethod
    def of(cls, path: str | os.PathLike[str], format: CsvFormat | None = None) -> Source:
        """Find the files of a path or glob, and their columns."""
        arrow()
        given = path.paths if isinstance(path, Listed) else (check.path("the table", path),)
        paths = tuple(found for each in given for found in _found(each))
        if is_parquet(paths[0]):
            schemas = {path: _schema(path) for path in paths}
            first = schemas[paths[0]]
            for other, schema in schemas.items():
                if schema.names != first.names:
                    raise DataError(
                        f"{other!r} has other columns than {paths[0]!r}: {schema.names} against {first.names}"
                    )
            refuse_alike(paths[0], first.names)
            return cls(paths, tuple(first.names), None, types=tuple(first.types))
        tabs = unpacked_name(paths[0]).lower().endswith(".tsv")
        format = format or CsvFormat(delimiter="\t" if tabs else ",")
        if format.names is not None:
            return cls(paths, tuple(format.names), format)
        line, header = _header(paths[0], format)
        for other in paths[1:]:
            if (found := _header(other, format)[1]) != header:
                raise DataError(f"{other!r} has another header than {paths[0]!r}: {list(found)} against {list(header)}")
        return cls(paths, header, format, line)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """A name for each column, all different, as frames and Parquet have them.

        A column without a name gets pandas' name for it, and those after the first of the same name a number.
        """
        given, found = set(self.header), dict[str, int]()
        for place, name in enumerate(self.header):
            new = name or f"Unnamed: {place}"
            # What is made up must be no other column's name.
            number = 1
            while new in found or (new in given and new != name):
                number += 1
                new = f"{name or f'Unnamed: {place}'}_{number}"
            found[new] = place
        return tuple(found)

    @cached_property
    def _places(self) -> dict[str, int]:
        return {name: place for place, name in enumerate(self.columns)}

    @cached_property
    def shared(self) -> tuple[str, ...]:
        """Names that several columns have."""
        return tuple(name for name, times in Counter(self.header).items() if name and times > 1)

    @property
    def unnamed(self) -> tuple[str, ...]:
        """What columns without a name are called here."""
        return tuple(new for name, new in zip(self.header, self.columns, strict=True) if not name)

    @property
    def numbers(self) -> tuple[str, ...]:
        """What the columns are called inside DuckDB."""
        return tuple(map(column_number, range(len(self.header))))

    def place(self, name: str) -> int:
        """Return which column has a name."""
        return self._places[name]

    def at(self, name: str) -> str:
        """Return what a column is called inside DuckDB."""
        return column_number(self._places[name])

    @property
    def sql(self) -> str:
        """The table expression that reads Parquet files."""
        # DuckDB would take characters of a name for a pattern, and the names of folders for columns.
        files = "[" + ", ".join(literal(glob.escape(path)) for path in self.paths) + "]"
        return f"(FROM read_parquet({files}, hive_partitioning = false) AS evenhand_file({', '.join(self.numbers)}))"

    def records(self, told: Callable[[float], None], see: Callable[[str], See] | None = None) -> Iterator[Records]:
        """Read CSV files from the first record to the last; ``see`` is asked for whoever sees a file's bytes."""
        assert self.format is not None
        for place, path in enumerate(self.paths):
            shape = Shape(path, self.format.delimiter, len(self.header))

            def share(done: float, place: int = place) -> None:
                told((place + done) / len(self.paths))

            skipped = 0 if self.format.names is not None else 1
            for found in records(shape, share, None if see is None else see(path)):
                if len(found) > skipped:
                    yield found.of(slice(skipped, None)) if skipped else found
                skipped = max(skipped - len(found), 0)

    @property
    def state(self) -> tuple[tuple[int, int], ...]:
        """The files' sizes and times, by which a change is noticed."""
        return tuple((found.st_size, found.st_mtime_ns) for found in map(os.stat, self.paths))

    @property
    def rows(self) -> int | None:
        """How many rows Parquet files have; a CSV file does not say it."""
        if self.format is not None:
            return None
        import pyarrow.parquet

        return sum(int(pyarrow.parquet.read_metadata(path).num_rows) for path in self.paths)

    @property
    def name(self) -> str:
        """The file, or the first of several."""
        return self.paths[0] if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more"

    def require(self, columns: Sequence[str]) -> None:
        """Refuse a file that lacks a column, has it twice or without a name, or whose values are made of others."""
        for name in columns:
            if name not in self._places:
                hint = did_you_mean(name, self.columns)
                raise DataError(f"{self.name!r} has no column {name!r}; it has {some_of(self.columns)}.{hint}")
            if name in self.shared:
                raise DataError(f"{self.name!r} has two columns called {name!r}; rename one")
            if name in self.unnamed:
                place = self._places[name] + 1
                raise DataError(f"column {place} of {self.name!r} has no name; give it one in the file's header")
            self._refuse_nested(name)
        if self.shared:
            warnings.warn(
                f"{self.name!r} has several columns called {self.shared[0]!r}; those after the first are known as "
                f"'{self.shared[0]}_2' and so on",
                EvenhandWarning,
                stacklevel=2,
            )

    def _refuse_nested(self, name: str) -> None:
        """Refuse a column of a Parquet file whose values are no levels and have no order."""
        import pyarrow.types

        if self.types and not any(holds(self.types[self._places[name]]) for holds in _plain_types(pyarrow.types)):
            kind = self.types[self._places[name]]
            raise DataError(
                f"column {name!r} of {self.name!r} is of type {kind}; a column must hold strings, numbers, booleans or "
                f"dates"
            )


def column_number(place: int) -> str:
    """Return what the column at a place is called inside DuckDB."""
    return f"column_{place}"


def named(found: Any, columns: Sequence[str]) -> Table:
    """Return the first columns of an Arrow table under their own names."""
    return read(found.select(list(range(len(columns)))).rename_columns(list(columns)))


def _plain_types(types: Any) -> tuple[Any, ...]:
    """Return the tests of types whose values can be levels or keys."""
    texts = (types.is_string, types.is_large_string, types.is_string_view, types.is_dictionary)
    numbers = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean)
    return (*texts, *numbers, types.is_date, types.is_time, types.is_timestamp, types.is_null)


def refuse_alike(name: str, columns: Sequence[str]) -> None:
    """Refuse columns that DuckDB does not tell apart in Parquet files."""
    seen: dict[str, str] = {}
    for column in columns:
        if column.lower() in seen:
            raise DataError(f"{name!r} has columns whose names differ in case alone, such as {column!r}; rename one")
        seen[column.lower()] = column


def _found(pattern: str) -> tuple[str, ...]:
    # These answer no for a name that no file can have, where a Path would raise.
    if os.path.isdir(pattern):
        raise DataError(
            f"{pattern!r} is a folder; give a file, or a pattern such as {str(Path(pattern) / '*.parquet')!r}"
        )
    if os.path.exists(pattern):
        paths: list[str] = [pattern]
    else:
        paths = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else []
    if not paths:
        raise DataError(f"there is no file {pattern!r}{_why_none(pattern)}")
    for path in paths:
        if os.path.exists(path) and not os.path.isfile(path):
            kind = "a folder" if os.path.isdir(path) else "a pipe or a device"
            raise DataError(f"{path!r} is {kind}, which cannot be read twice; save the table to a file first")
        # Pseudo-files of the kernel, where reading may wait for ever, have no size either.
        if os.path.exists(path) and not os.path.getsize(path):
            raise DataError(f"{path!r} is empty")
        try:
            path.encode()
        except UnicodeEncodeError:
            raise DataError(f"the name {path!r} is not text in UTF-8, rename the file") from None
    if len({is_parquet(path) for path in paths}) > 1:
        raise DataError(f"{pattern!r} matches files of different kinds")
    return tuple(paths)


def _why_none(pattern: str) -> str:
    """Say why the system finds no file, where it has more to say than that."""
    try:
        os.stat(pattern)
    except (FileNotFoundError, ValueError):
        return ""
    except OSError as error:
        return f": {in_words_of(error)}"
    return ""


def _schema(path: str) -> Any:
    """Return the names and types of a Parquet file's columns."""
    import pyarrow
    import pyarrow.parquet

    try:
        return pyarrow.parquet.read_schema(path)
    except (pyarrow.ArrowException, OSError) as error:
        why = getattr(error, "strerror", None) or str(error).splitlines()[0]
        raise DataError(f"{path!r} cannot be read as Parquet: {why}") from None


def _header(path: str, format: CsvFormat) -> tuple[str, tuple[str, ...]]:
    """Return the first line of a CSV file, and the column names in it."""
    found = first_record(path, format.delimiter)
    if found is None:
        raise DataError(f"{path!r} is empty")
    line, names = found[0].decode(), found[1]
    if not line.strip():
        raise DataError(f"the first line of {path!r}, which should name its columns, is blank")
    if len(names) == 1 and (others := [c for c in ",;\t|" if c in line and c != format.delimiter]):
        raise DataError(
            f"{path!r} seems to be separated by {others[0]!r}, not by {format.delimiter!r}; write [csv] delimiter = "
            f"{others[0]!r} in the problem, or give --delimiter to init"
        )
    return line, tuple(names)


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows of a file.

    Attributes
    ----------
    table : frame
        The columns that were asked for, with their types.
    first : int
        The position of the first row.
    records : Records or None
        The rows as they stand in a CSV file.
    whole : Arrow table or None
        All columns of a Parquet file, where they were asked for.
    """

    table: Table
    first: int
    records: Records | None = None
    whole: Any = None

    def __len__(self) -> int:
        return len(self.table) if self.records is None else len(self.records)

    def of(self, rows: slice) -> Batch:
        """Return some of the rows."""
        if rows == slice(0, len(self)):
            return self
        records = None if self.records is None else self.records.of(rows)
        whole = None if self.whole is None else self.whole.slice(rows.start, rows.stop - rows.start)
        return Batch(self.table[rows, :], self.first + rows.start, records, whole)


Columns = Mapping[str, ReadAs | None]
"""The columns that are read, and how their texts are read in CSV files; None as the texts that they are."""


@dataclass(frozen=True, eq=False)
class Reader:
    """Files that are open for one piece of work, and DuckDB's connection if they are Parquet."""

    source: Source
    duck: Any
    progress: Progress

    def run(self, work: Callable[[], T]) -> T:
        """Do the work so that Ctrl-C ends it within moments."""
        return work() if self.duck is None else beside(work, self.duck.interrupt)

    def batches(
        self,
        columns: Columns,
        what: str,
        *,
        whole: bool = False,
        see: Callable[[str], See] | None = None,
        straight: Reading | None = None,
    ) -> Iterator[Batch]:
        """Read columns in batches, in the order of rows, and say how far that is."""
        shares = [0.0]
        if self.duck is None:
            found = self._of_records(columns, shares, see)
        else:
            found = self._of_parquet(columns, straight, whole=whole)
        done, every = 0, self.source.rows
        for batch in found:
            yield batch
            done += len(batch)
            share = shares[0] if every is None else done / max(every, 1)
            self.progress(f"{what}: {done:,}{'' if every is None else f' of {every:,}'} rows", min(share, 1.0))

    def _of_records(self, columns: Columns, shares: list[float], see: Callable[[str], See] | None) -> Iterator[Batch]:
        def told(share: float) -> None:
            shares[0] = share

        first = 0

        def typed(found: Records) -> Batch:
            nonlocal first
            table = table_of(found, self.source, columns)
            first += len(found)
            return Batch(table, first - len(found), found)

        # One thread cuts bytes into records, one makes columns of these, while the caller works on the batch before.
        yield from ahead(map(typed, ahead(self.source.records(told, see))))

    def _of_parquet(self, columns: Columns, straight: Reading | None, *, whole: bool) -> Iterator[Batch]:
        names = list(self.source.columns) if whole else list(columns)
        if straight is not None:
            parts = straight(names)
        else:
            query = f"SELECT {', '.join(map(self.source.at, names))} FROM {self.source.sql}"
            parts = duck_batches(self.duck, query, names)
        first = 0
        for part in parts:
            yield Batch(read(part.select(list(columns))), first, whole=part if whole else None)
            first += len(part)

    def gathered(self, columns: Columns, what: str) -> Iterator[Batch]:
        """Read everything as one batch; a file without rows has none."""
        parts = list(self.batches(columns, what))
        if not parts:
            return
        if self.duck is None:
            records = Records.joined([each.records for each in parts if each.records is not None])
            yield Batch(table_of(records, self.source, columns), 0, records)
        else:
            yield Batch(stacked([each.table for each in parts]), 0)


def table_of(found: Records, source: Source, columns: Columns) -> Table:
    """Return some columns of records with their types."""
    made = {}
    for name, how in columns.items():
        place = source.place(name)
        if how is None:
            texts: Any = pd.arrays.ArrowExtensionArray(found.texts(place))
            made[name] = pd.Series(texts, copy=False)
        else:
            made[name] = how.column(found.numbered(place))
    return read(pd.DataFrame(made, index=pd.RangeIndex(len(found)), copy=False))


def rows_at_once(size: float) -> int:
    """Return how many rows of so many bytes each are read at once."""
    return max(min(BATCH, int(current().memory * BATCH_SHARE / size)), 1)


def duck_batches(duck_: Any, query: str, columns: Sequence[str]) -> Iterator[Any]:
    """Read the answer of a query in order: Arrow tables of so many rows, or of as many as their share of the memory."""
    import pyarrow

    held: list[Any] = []
    memory = current().memory * BATCH_SHARE
    for part in duck_.sql(query).to_arrow_reader(min(BATCH, STEP)):
        held.append(part)
        if sum(map(len, held)) >= BATCH or sum(one.nbytes for one in held) >= memory:
            yield pyarrow.Table.from_batches(held).rename_columns(list(columns))
            held = []
    if held:
        yield pyarrow.Table.from_batches(held).rename_columns(list(columns))


@contextmanager
def reading(source: Source, target: str | None = None, progress: Progress | None = None) -> Iterator[Reader]:
    """Open files for one piece of work; what does not fit into memory goes beside ``target``."""
    if source.format is not None:
        yield Reader(source, None, progress or silent)
        return
    with connection(source.name, target) as duck_:
        yield Reader(source, duck_, progress or silent)


def read_file(
    path: str | os.PathLike[str],
    format: CsvFormat | None = None,
    *,
    blanks: Sequence[Any] = (),
    progress: Progress | None = None,
) -> pd.DataFrame:
    """Read a whole file into memory: a pandas frame."""
    import pyarrow

    source = Source.of(path, format)
    columns = whole_table(source, progress=progress).columns
    if source.format is not None:
        columns = [valued(texts, blanks) for texts in columns]
    frame: pd.DataFrame = pyarrow.table(columns, names=list(source.columns)).to_pandas()
    return frame


def count_rows(path: str | os.PathLike[str], format: CsvFormat | None = None, progress: Progress | None = None) -> int:
    """Return how many rows files have."""
    source = Source.of(path, format)
    if (rows := source.rows) is not None:
        return rows
    with reading(source, progress=progress) as reader:
        return sum(len(batch) for batch in reader.batches({}, "counting rows"))


def whole_table(source: Source, rows: int | None = None, progress: Progress | None = None) -> Any:
    """Return all columns of files, or of their first rows, as they stand: an Arrow table."""
    import pyarrow

    with reading(source, progress=progress) as reader:
        if reader.duck is not None:
            limit = "" if rows is None else f" LIMIT {int(rows)}"
            query = f"SELECT {', '.join(source.numbers)} FROM {source.sql}{limit}"
            return reader.run(lambda: reader.duck.sql(query).to_arrow_table())
        parts, held = [], 0
        for batch in reader.batches({}, "reading"):
            found = batch.records
            assert found is not None
            parts.append([found.texts(place) for place in range(len(source.header))])
            held += len(batch)
            if rows is not None and held >= rows:
                break
        columns = [
            pyarrow.chunked_array([part[place] for part in parts], pyarrow.string())
            for place in range(len(source.header))
        ]
        found_ = pyarrow.table(columns, names=list(source.numbers))
        return found_ if rows is None else found_.slice(0, rows)


def opened(
    table: Any, format: CsvFormat | None = None, rows: int | None = None, columns: Columns | None = None
) -> Table:
    """Return a frame as it is, or a whole file, or its first rows; columns of CSV files as they are to be read."""
    if not is_path(table):
        return read(table)
    source = Source.of(table, format)
    if source.format is None:
        return named(whole_table(source, rows), source.columns)
    every = dict.fromkeys(source.columns) | dict(columns or {})
    with reading(source) as reader:
        parts, held = [], 0
        for batch in reader.batches(every, "reading"):
            parts.append(batch.table)
            held += len(batch)
            if rows is not None and held >= rows:
                break
    found = stacked(parts) if parts else read(pd.DataFrame({name: [] for name in every}))
    return found if rows is None else found.head(rows)
