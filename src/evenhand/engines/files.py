"""CSV and Parquet files as DuckDB queries; a path may be a glob.

A CSV file is read as texts, so that what is not transformed comes out as it was; the columns that are counted get their
types from all of their values: whole numbers, real numbers, else text. Inside DuckDB columns have numbers: whatever a
file calls its columns, or does not call them, no name of a query is one of these.
"""

from __future__ import annotations

import errno
import glob
import os
import secrets
import shutil
import tempfile
import warnings
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from evenhand import check
from evenhand.engines.unpacking import (
    CHUNK,
    LONGEST_RECORD,
    Unended,
    checked,
    fault,
    is_packed,
    mixed_start,
    records,
    unpacked_name,
    written,
)
from evenhand.engines.waiting import beside
from evenhand.errors import (
    DataError,
    EvenhandError,
    EvenhandWarning,
    MissingExtraError,
    Option,
    StorageError,
    did_you_mean,
    some_of,
)
from evenhand.resources import Progress, Resources, current, words
from evenhand.spec import CsvFormat
from evenhand.tables import REAL, WHOLE, Table, is_path, read

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")

DUCKDB_SHARE = 0.9
"""How much of the memory DuckDB may hold; batches on their way through the kernel have the rest."""

GLANCE = 0.2
"""Seconds between two looks at how far a query is."""

BLOCK = 1 << 18
"""DuckDB writes so many bytes at once: a disk with less room is full."""

FULL = "the disk is full"

BLOCK_OF_TEXTS = 2048 * 16
"""DuckDB's block of a column of texts has so many bytes, however few rows there are."""

BLOCKS_HELD = 8
"""So many blocks of a column may be there at once: being read, put beside others, and written."""


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
    copies : tuple of str
        What DuckDB is to read in place of the files.
    """

    paths: tuple[str, ...]
    header: tuple[str, ...]
    format: CsvFormat | None
    line: str | None = None
    types: tuple[Any, ...] = ()
    copies: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str | os.PathLike[str], format: CsvFormat | None = None) -> Source:
        """Find the files of a path or glob, and their columns."""
        duck()
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

    def at(self, name: str) -> str:
        """Return what a column is called inside DuckDB."""
        return column_number(self._places[name])

    @property
    def sql(self) -> str:
        """The table expression that reads them; a CSV file's columns are texts."""
        # DuckDB would take characters of a name for a pattern, and the names of folders for columns.
        files = "[" + ", ".join(literal(glob.escape(path)) for path in self.copies or self.paths) + "]"
        if self.format is None:
            return (
                f"(FROM read_parquet({files}, hive_partitioning = false) AS evenhand_file({', '.join(self.numbers)}))"
            )
        columns = ", ".join(f"{number}: 'VARCHAR'" for number in self.numbers)
        return (
            f"read_csv({files}, columns = {{{columns}}}, auto_detect = false, strict_mode = true, "
            f"header = {'false' if self.format.names else 'true'}, delim = {literal(self.format.delimiter)}, "
            f"quote = '\"', escape = '\"', allow_quoted_nulls = false, hive_partitioning = false, "
            f"compression = 'none', max_line_size = {LONGEST_RECORD}, buffer_size = {LONGEST_RECORD})"
        )

    @property
    def state(self) -> tuple[tuple[int, int], ...]:
        """The files' sizes and times, by which a change is noticed."""
        return tuple((found.st_size, found.st_mtime_ns) for found in map(os.stat, self.paths))

    def rows(self, duck_: Any) -> tuple[int, bool]:
        """Return how many rows there are, and whether that is exact: those of a CSV file are told by its first lines.

        DuckDB would have to read all of it.
        """
        if self.format is None:
            return int(duck_.sql(f"SELECT count(*) FROM {self.sql}").fetchall()[0][0]), True
        paths = self.copies or self.paths
        with open(paths[0], "rb") as file:
            start = file.read(CHUNK)
        return sum(map(os.path.getsize, paths)) * start.count(b"\n") // max(len(start), 1), False

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

    @property
    def at_once(self) -> int:
        """How many columns of a CSV file DuckDB can hold at once: it has blocks of each on several ways."""
        return max(current().memory // (BLOCKS_HELD * BLOCK_OF_TEXTS), 1)

    @property
    def fault(self) -> str | None:
        """What is wrong with the rows of a CSV file, found without DuckDB; None where nothing is."""
        if self.format is None:
            return None
        for path, copy in zip(self.paths, self.copies or self.paths, strict=True):
            if found := fault(copy, len(self.header), self.format.delimiter):
                return f"{path!r} {found}"
        return None


def column_number(place: int) -> str:
    """Return what the column at a place is called inside DuckDB."""
    return f"column_{place}"


def named(found: Any, columns: Sequence[str]) -> Table:
    """Return the first columns of an Arrow table under their own names."""
    return read(found.select(list(range(len(columns)))).rename_columns(list(columns)))


def batches(duck_: Any, query: str, columns: Sequence[str], *, rows: int, memory: float, step: int) -> Iterator[Any]:
    """Read the answer of a query in order: Arrow tables of so many rows, or of as many as so much memory holds.

    DuckDB hands over no more than ``step`` rows at once.
    """
    import pyarrow

    held: list[Any] = []
    for part in duck_.sql(query).to_arrow_reader(min(rows, step)):
        held.append(part)
        if sum(map(len, held)) >= rows or sum(one.nbytes for one in held) >= memory:
            yield pyarrow.Table.from_batches(held).rename_columns(list(columns))
            held = []
    if held:
        yield pyarrow.Table.from_batches(held).rename_columns(list(columns))


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
            raise DataError(f"the name {path!r} is not text in UTF-8, as DuckDB needs it; rename the file") from None
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
        return f": {_in_words(error)}"
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
    try:
        found = next(records(path, format.delimiter), None)
        if found is None:
            raise DataError(f"{path!r} is empty")
        names = tuple(map(written, found.fields))
        line = found.raw.decode("utf-8-sig").rstrip("\r\n")
    except Unended as error:
        raise DataError(f"{path!r} {error}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path!r} is not text in UTF-8 in line 1; save it as UTF-8 first") from None
    if not line.strip():
        raise DataError(f"the first line of {path!r}, which should name its columns, is blank")
    if len(names) == 1 and (others := [c for c in ",;\t|" if c in line and c != format.delimiter]):
        raise DataError(
            f"{path!r} seems to be separated by {others[0]!r}, not by {format.delimiter!r}; write [csv] delimiter = "
            f"{others[0]!r} in the problem, or give --delimiter to init"
        )
    return line, names


@contextmanager
def reading(
    source: Source, target: str | None = None, progress: Progress | None = None
) -> Iterator[tuple[Any, Source]]:
    """Open DuckDB for one piece of work on files, and give what it is to read: the files, or copies of them.

    Every byte of CSV files is looked at first. Packed files are unpacked; the copies go where everything goes that does
    not fit into memory.
    """
    duckdb = duck()
    with connection(source.name, target) as duck_:
        source = source if source.format is None else _readable(source, source.format, duck_, progress)
        try:
            yield duck_, source
        except (duckdb.Error, OSError) as error:
            if kind_of(error) is duckdb.InvalidInputException and (wrong := source.fault):
                raise DataError(wrong) from None
            raise


def _readable(source: Source, format: CsvFormat, duck_: Any, progress: Progress | None) -> Source:
    """Check CSV files from the first byte to the last, and return them as DuckDB can read them."""
    folder = Path(duck_.sql("SELECT current_setting('temp_directory')").fetchall()[0][0])
    copies = []
    for place, path in enumerate(source.paths):
        told = None if progress is None else partial(progress, "unpacking" if is_packed(path) else "checking")
        if is_packed(path):
            copies.append(os.fspath(folder / f"{place}.csv"))
            with _writing(copies[-1]) as file:
                longest = checked(path, file.write, told)
        else:
            copies.append(path)
            longest = checked(path, len, told)
        wrong = mixed_start(copies[-1], format.delimiter)
        if longest > LONGEST_RECORD:
            # DuckDB would leave out a last row that is far too long.
            wrong = fault(copies[-1], len(source.header), format.delimiter)
        if wrong is not None:
            raise DataError(f"{path!r} {wrong}")
    return replace(source, copies=tuple(copies))


@contextmanager
def _writing(path: str) -> Iterator[BinaryIO]:
    """Open a copy to be written; the disk may be full."""
    folder = Path(path).parent
    try:
        folder.mkdir(exist_ok=True)
        with open(path, "wb") as file:
            yield file
    except OSError as error:
        raise no_room(folder.parent, error) from None


@contextmanager
def connection(name: str, target: str | None = None) -> Iterator[Any]:
    """Open DuckDB for one piece of work on a file; its errors become ours.

    What does not fit into memory goes beside ``target``, into a folder that DuckDB makes when it first needs one.
    """
    duckdb = duck()
    resources = current()
    spill = Path(resources.folder(target)) / f".evenhand-{secrets.token_hex(6)}"
    memory = f"{int(resources.memory * DUCKDB_SHARE) // 1000}KB"
    opened = duckdb.connect(
        config={"memory_limit": memory, "threads": resources.threads, "temp_directory": os.fspath(spill)}
    )
    try:
        # Otherwise all columns of a row group are read at once, however large it is.
        opened.execute("SET GLOBAL disable_parquet_prefetching = true")
        yield observable(opened)
    except (duckdb.Error, OSError) as error:
        if not isinstance(error, duckdb.Error) and error.errno is not None:
            raise
        raise explained(name, error, resources, spill.parent) from None
    finally:
        opened.close()
        shutil.rmtree(spill, ignore_errors=True)


def kind_of(error: BaseException) -> type[BaseException]:
    """Return the class of one of DuckDB's errors.

    Through Arrow they arrive as errors of the system without a number, and the name of the class is how they begin.
    """
    duckdb = duck()
    kinds = {
        "Out of Memory Error": duckdb.OutOfMemoryException,
        "Invalid Input Error": duckdb.InvalidInputException,
        "IO Error": duckdb.IOException,
    }
    found: type[BaseException] = type(error)
    return found if isinstance(error, duckdb.Error) else kinds.get(str(error).split(":", 1)[0], found)


def observable(duck_: Any) -> Any:
    """Let a connection be asked how far its query is, which DuckDB answers only where a bar could be drawn."""
    duck_.execute("SET enable_progress_bar = true")
    duck_.execute("SET enable_progress_bar_print = false")
    return duck_


@contextmanager
def watched(duck_: Any, what: str, progress: Progress | None) -> Iterator[None]:
    """Say how far the queries of a connection are, while they run."""
    if progress is None:
        yield
        return
    done = Event()

    def look() -> None:
        # Who ends the work by raising here is heard in the thread that does it.
        with suppress(KeyboardInterrupt):
            while not done.wait(GLANCE):
                share = share_done(duck_)
                progress(f"{what}: {share:.0%}" if share else what, share)

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def share_done(duck_: Any) -> float:
    """Return how much of the running query is done; 0 where that is not known."""
    return max(float(duck_.query_progress()), 0.0) / 100


def duck() -> Any:
    """Import DuckDB, or say how to install it."""
    try:
        import duckdb
        import pyarrow  # noqa: F401  # DuckDB hands batches over through it
    except ImportError:
        raise MissingExtraError("files are read by DuckDB: pip install 'evenhand[files]'") from None
    return duckdb


def explained(name: str, error: BaseException, resources: Resources, folder: Path) -> EvenhandError:
    """Return the error that says in one sentence what DuckDB found wrong; ``folder`` is where it spills."""
    duckdb, kind = duck(), kind_of(error)
    if kind is duckdb.IOException and (why := why_unwritable(folder)):
        return no_room(folder, why)
    if kind is duckdb.OutOfMemoryException:
        # DuckDB leaves some of a disk free, and calls that a lack of memory too.
        if shutil.disk_usage(folder).free < resources.memory:
            return no_room(folder, FULL)
        fewer = (", or ", Option("threads", resources.threads // 2)) if resources.threads > 1 else ()
        return DataError(
            f"{name!r} cannot be worked on within {words(resources.memory)} of memory; try ",
            Option("memory", words(2 * resources.memory)),
            *fewer,
        )
    return DataError(f"{name!r} cannot be read: {first_line(error)}")


def first_line(error: BaseException) -> str:
    """Return what one of DuckDB's errors says first, without the name of its class."""
    return next(iter(str(error).splitlines()), type(error).__name__).split(": ", 1)[-1]


def why_unwritable(place: Path) -> str | None:
    """Say why a folder takes no more files, or a file no more bytes; None where it does."""
    try:
        with tempfile.TemporaryFile(dir=place) if place.is_dir() else place.open("ab") as file:
            file.write(bytes(BLOCK))
    except OSError as error:
        return _in_words(error)
    return None


def _in_words(error: OSError) -> str:
    return FULL if error.errno == errno.ENOSPC else error.strerror or str(error)


def no_room(folder: Path, why: str | OSError) -> StorageError:
    """Return the error that says that a folder takes no more of what does not fit into memory."""
    why = why if isinstance(why, str) else _in_words(why)
    return StorageError(
        f"{why}: {os.fspath(folder)!r} has no room for what does not fit into memory "
        f"({words(current().memory)}); raise ",
        Option("memory"),
        ", or choose another folder with EVENHAND_SPILL",
    )


def typed(
    duck_: Any, source: Source, columns: Sequence[str], blanks: Sequence[Any] = (), table: str | None = None
) -> str:
    """Return the select list of columns with their types, of a file or of a table that holds all values of one.

    Columns keep their numbers.

    ``blanks`` are texts that stand for a missing value.
    """
    numbers = [source.at(name) for name in columns]
    if source.format is None:
        return ", ".join(numbers)
    kinds = types(duck_, table or source.sql, numbers, blanks)
    return ", ".join(f"CAST({text_of(number, blanks)} AS {kind}) AS {number}" for number, kind in kinds.items())


def types(duck_: Any, table: str, numbers: Sequence[str], blanks: Sequence[Any] = ()) -> dict[str, str]:
    """Return the type of each column of texts: a number where every text is one."""
    # One test of all columns' texts, one below the other: DuckDB takes its time to prepare each of thousands.
    texts, places = ", ".join(text_of(number, blanks) for number in numbers), ", ".join(map(literal, numbers))
    tests = ", ".join(f"bool_and(regexp_full_match(text, '{pattern}'))" for pattern in (WHOLE, REAL))
    below = f"SELECT unnest([{places}]) AS number, unnest([{texts}]) AS text FROM {table}"
    found = {
        n: (whole, real)
        for n, whole, real in duck_.sql(f"SELECT number, {tests} FROM ({below}) GROUP BY number").fetchall()
    }
    answers = ((number, *found.get(number, (None, None))) for number in numbers)
    return {number: "BIGINT" if whole else "DOUBLE" if real else "VARCHAR" for number, whole, real in answers}


def text_of(column: str, blanks: Sequence[Any] = ()) -> str:
    """Return the expression of a column's text, null where it is blank."""
    known = ["''", *(literal(str(value)) for value in blanks)]
    return f"CASE WHEN {column} IN ({', '.join(known)}) THEN NULL ELSE {column} END"


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
    with reading(source, progress=progress) as (duck_, given), watched(duck_, "counting rows", progress):
        query = f"SELECT count(*) FROM {given.sql}"
        return int(beside(lambda: duck_.sql(query).fetchall()[0][0], duck_.interrupt))


def whole_table(source: Source, rows: int | None = None, progress: Progress | None = None) -> Any:
    """Return all columns of files, or their first rows, as they stand: an Arrow table."""
    import pyarrow

    limit = "" if rows is None else f" LIMIT {int(rows)}"
    # As many columns at a time as DuckDB can hold.
    size = len(source.columns) if source.format is None else source.at_once
    with reading(source, progress=progress) as (duck_, given), watched(duck_, "reading", progress):

        def some(columns: Sequence[str]) -> Any:
            return duck_.sql(f"SELECT {', '.join(columns)} FROM {given.sql}{limit}").to_arrow_table()

        def side_by_side() -> Any:
            parts = [some(given.numbers[first : first + size]) for first in range(0, len(given.numbers), size)]
            return pyarrow.table([each for part in parts for each in part.columns], names=list(given.numbers))

        return beside(side_by_side, duck_.interrupt)


def valued(texts: Any, blanks: Sequence[Any], kind: str | None = None) -> Any:
    """Return texts as values of a type, or of that which :func:`types` would find: it is slow for many columns."""
    import pyarrow
    import pyarrow.compute

    compute: Any = pyarrow.compute
    blank = compute.is_in(texts, value_set=pyarrow.array(["", *map(str, blanks)], type=texts.type))
    texts = compute.if_else(blank, None, texts)
    for name, pattern, to in (("BIGINT", WHOLE, pyarrow.int64()), ("DOUBLE", REAL, pyarrow.float64())):
        # It is None where there is no text at all.
        fits = compute.all(compute.match_substring_regex(texts, rf"\A(?:{pattern})\z")) if kind is None else None
        if name == kind or (fits is not None and fits.as_py()):
            return texts.cast(to)
    return texts


class Opened(NamedTuple):
    """A whole table in memory; ``text`` where it holds the texts of a CSV file."""

    table: Table
    text: bool


def opened(table: Any, format: CsvFormat | None = None, rows: int | None = None) -> Opened:
    """Return a frame as it is, or a whole file, or its first rows, as its texts (CSV) or values (Parquet)."""
    if not is_path(table):
        return Opened(read(table), text=False)
    source = Source.of(table, format)
    return Opened(named(whole_table(source, rows), source.columns), source.format is not None)


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
