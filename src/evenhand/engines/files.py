"""CSV and Parquet files as DuckDB queries; a path may be a glob.

A CSV file is read as texts, so that what is not transformed comes out as it was; the columns that are counted get their
types from all of their values: whole numbers, real numbers, else text.
"""

from __future__ import annotations

import csv
import glob
import gzip
import io
import os
import re
import secrets
import shutil
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from evenhand import check
from evenhand.errors import (
    DataError,
    EvenhandError,
    EvenhandWarning,
    MissingExtraError,
    Option,
    StorageError,
    did_you_mean,
)
from evenhand.resources import Progress, Resources, current, words
from evenhand.spec import CsvFormat
from evenhand.tables import REAL, WHOLE, Table, is_path, quoted, read

if TYPE_CHECKING:
    import pandas as pd

PARQUET = (".parquet", ".pq")
HEADER_BYTES = 1 << 20
"""A header is looked for in so many bytes."""

DUCKDB_SHARE = 0.9
"""How much of the memory DuckDB may hold; batches on their way through the kernel have the rest."""

GLANCE = 0.2
"""Seconds between two looks at how far a query is."""


def is_parquet(path: str | os.PathLike[str]) -> bool:
    """Whether a path names Parquet files."""
    return os.fspath(path).lower().endswith(PARQUET)


@dataclass(frozen=True)
class Source:
    """One or several files of the same columns.

    Attributes
    ----------
    paths : tuple of str
        The files.
    columns : tuple of str
        Their columns.
    format : CsvFormat or None
        How they are written; None for Parquet.
    shared : tuple of str
        Names in the header that several columns have.
    """

    paths: tuple[str, ...]
    columns: tuple[str, ...]
    format: CsvFormat | None
    shared: tuple[str, ...] = ()

    @classmethod
    def of(cls, path: str | os.PathLike[str], format: CsvFormat | None = None) -> Source:
        """Find the files of a path or glob, and their columns."""
        duck()
        paths = _found(check.path("the table", path))
        if is_parquet(paths[0]):
            with connection(paths[0]) as duck_:
                listed = {path: _described(duck_, path) for path in paths}
            for other, columns in listed.items():
                if columns != listed[paths[0]]:
                    first = list(listed[paths[0]])
                    raise DataError(f"{other!r} has other columns than {paths[0]!r}: {list(columns)} against {first}")
            return cls(paths, listed[paths[0]], None)
        format = format or CsvFormat(delimiter="\t" if paths[0].lower().endswith(".tsv") else ",")
        header = _header(paths[0], format) if format.names is None else tuple(format.names)
        for other in paths[1:] if format.names is None else ():
            if (found := _header(other, format)) != header:
                raise DataError(f"{other!r} has another header than {paths[0]!r}: {list(found)} against {list(header)}")
        shared = tuple(name for name in header if header.count(name) > 1)
        return cls(paths, _distinct(paths[0], header), format, shared)

    @property
    def sql(self) -> str:
        """The table expression that reads them; a CSV file's columns are texts."""
        # DuckDB would take characters of a name for a pattern, and the names of folders for columns.
        files = "[" + ", ".join(literal(glob.escape(path)) for path in self.paths) + "]"
        if self.format is None:
            return f"read_parquet({files}, hive_partitioning = false)"
        columns = ", ".join(f"{literal(name)}: 'VARCHAR'" for name in self.columns)
        return (
            f"read_csv({files}, columns = {{{columns}}}, auto_detect = false, strict_mode = true, "
            f"header = {'false' if self.format.names else 'true'}, delim = {literal(self.format.delimiter)}, "
            f"quote = '\"', escape = '\"', allow_quoted_nulls = false, hive_partitioning = false)"
        )

    @property
    def state(self) -> tuple[tuple[int, int], ...]:
        """The files' sizes and times, by which a change is noticed."""
        return tuple((found.st_size, found.st_mtime_ns) for found in map(os.stat, self.paths))

    def rows(self, duck_: Any) -> tuple[int, bool]:
        """Return how many rows there are, and whether that is exact: those of a CSV file are told by its first lines.

        DuckDB would have to read all of it; 0 where it is compressed.
        """
        if self.format is None:
            return int(duck_.sql(f"SELECT count(*) FROM {self.sql}").fetchall()[0][0]), True
        with open(self.paths[0], "rb") as file:
            start = file.read(HEADER_BYTES)
        compressed = self.paths[0].lower().endswith((".gz", ".zst"))
        lines = 0 if compressed or not start else start.count(b"\n")
        return sum(size for size, _ in self.state) * lines // max(len(start), 1), False

    @property
    def name(self) -> str:
        """The file, or the first of several."""
        return self.paths[0] if len(self.paths) == 1 else f"{self.paths[0]} and {len(self.paths) - 1} more"

    def require(self, columns: Sequence[str]) -> None:
        """Refuse a file that lacks a column, or has it twice."""
        for name in columns:
            if name not in self.columns:
                hint = did_you_mean(name, self.columns)
                raise DataError(f"{self.name!r} has no column {name!r}; it has {list(self.columns)}.{hint}")
            if name in self.shared:
                raise DataError(f"{self.name!r} has two columns called {name!r}; rename one")
        if self.shared:
            warnings.warn(
                f"{self.name!r} has several columns called {self.shared[0]!r}; those after the first are read and "
                f"written as '{self.shared[0]}_2' and so on",
                EvenhandWarning,
                stacklevel=2,
            )


def _found(pattern: str) -> tuple[str, ...]:
    if os.path.isdir(pattern):
        raise DataError(
            f"{pattern!r} is a folder; give a file, or a pattern such as {str(Path(pattern) / '*.parquet')!r}"
        )
    if os.path.exists(pattern) and not os.path.isfile(pattern):
        raise DataError(
            f"{pattern!r} is a pipe or a device, which cannot be read twice; save the table to a file first"
        )
    if os.path.exists(pattern):
        paths: list[str] = [pattern]
    else:
        paths = sorted(glob.glob(pattern)) if glob.has_magic(pattern) else []
    if not paths:
        raise DataError(f"there is no file {pattern!r}")
    if len({is_parquet(path) for path in paths}) > 1:
        raise DataError(f"{pattern!r} matches files of different kinds")
    return tuple(paths)


def _described(duck_: Any, path: str) -> tuple[str, ...]:
    found = duck_.sql(f"SELECT * FROM {Source((path,), (), None).sql} LIMIT 0").columns
    named = duck_.sql(f"SELECT name FROM parquet_schema({literal(glob.escape(path))}) OFFSET 1").fetchall()
    names = {name for (name,) in named}
    for name in found:
        if name not in names:
            raise DataError(f"{path!r} has columns whose names differ in case alone, such as {name!r}; rename one")
    return tuple(found)


def _header(path: str, format: CsvFormat) -> tuple[str, ...]:
    """Return the column names in the first line of a CSV file."""
    try:
        with gzip.open(path) if path.lower().endswith(".gz") else open(path, "rb") as file:
            start = file.read(HEADER_BYTES)
        text = start.decode("utf-8-sig", errors="strict" if len(start) < HEADER_BYTES else "ignore")
    except UnicodeDecodeError as error:
        at = start[: error.start].count(b"\n") + 1
        raise DataError(f"{path!r} is not text in UTF-8 in line {at}; save it as UTF-8 first") from None
    except OSError as error:
        raise DataError(f"cannot read {path!r}: {error.strerror}") from None
    if not text.strip():
        raise DataError(f"{path!r} is empty")
    if text[0] in "\r\n":
        raise DataError(f"the first line of {path!r}, which should name its columns, is blank")
    names, line = tuple(_fields(text, format.delimiter)), text.split("\n", 1)[0]
    if len(names) == 1 and (found := [c for c in ",;\t|" if c in line and c != format.delimiter]):
        raise DataError(
            f"{path!r} seems to be separated by {found[0]!r}, not by {format.delimiter!r}; write [csv] delimiter = "
            f"{found[0]!r} in the problem, or give --delimiter to init"
        )
    return names


def _fields(text: str, delimiter: str) -> list[str]:
    """Return the fields of the first record; one in quotes may hold line ends."""
    if len(delimiter) == 1:
        return next(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    return [field.strip('"') for field in text.split("\n", 1)[0].rstrip("\r").split(delimiter)]


def _distinct(path: str, names: Sequence[str]) -> tuple[str, ...]:
    """Give columns that share a name a number each."""
    found: list[str] = []
    for name in names:
        number = 1 + names[: len(found)].count(name)
        new = name if number == 1 else f"{name}_{number}"
        if number > 1 and new in names:
            raise DataError(f"{path!r} has two columns called {name!r}; rename one")
        found.append(new)
    return tuple(found)


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
    except (duckdb.Error, RuntimeError, OSError) as error:
        # Ctrl-C is lost inside DuckDB, which says that it was stopped, or quotes Python.
        if "interrupted" in str(error).lower() or "KeyboardInterrupt" in str(error):
            raise KeyboardInterrupt from None
        # Through Arrow DuckDB's errors arrive as those of the system, without the number that these have.
        if not isinstance(error, duckdb.Error | OSError) or getattr(error, "errno", None) is not None:
            raise
        raise explained(name, str(error), resources, spill) from None
    finally:
        opened.close()
        shutil.rmtree(spill, ignore_errors=True)


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


def explained(name: str, message: str, resources: Resources, spill: Path) -> EvenhandError:
    """Return the error that says in one sentence what DuckDB found wrong."""
    if "no space left" in message.lower() or "max_temp_directory_size" in message:
        return StorageError(
            f"the disk is full: {os.fspath(spill.parent)!r} has no room for what does not fit into memory "
            f"({words(resources.memory)}); raise ",
            Option("memory"),
            ", or choose another folder with EVENHAND_SPILL",
        )
    if message.startswith("Out of Memory Error"):
        fewer = (", or ", Option("threads", resources.threads // 2)) if resources.threads > 1 else ()
        return DataError(
            f"{name!r} cannot be worked on within {words(resources.memory)} of memory; try ",
            Option("memory", words(2 * resources.memory)),
            *fewer,
        )
    return DataError(_misread(name, message))


def _misread(name: str, message: str) -> str:
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    where = next((line.split("Line:")[1].split()[0] for line in lines if "on Line:" in line), None)
    at = f" in line {where}" if where else ""
    if "utf-8" in message.lower() or "unicode" in message.lower():
        return f"{name!r} is not text in UTF-8{at}; save it as UTF-8 first"
    fields = re.search(r"Expected Number of Columns: (\d+) Found: (\d+)", message)
    if fields is not None:
        expected, found = int(fields[1]), int(fields[2])
        # DuckDB counts no further than one field too many.
        least = "at least " if found > expected else ""
        return f"{name!r} has {least}{found} fields{at} where it should have {expected}"
    if "quote" in message.lower() and where:
        return f"{name!r} has a quote that does not end{at}"
    return f"{name!r} cannot be read{at}: {lines[0].split(': ', 1)[-1] if lines else message}"


def typed(
    duck_: Any, source: Source, columns: Sequence[str], blanks: Sequence[Any] = (), table: str | None = None
) -> str:
    """Return the select list of columns with their types, of a file or of a table that holds all values of one.

    ``blanks`` are texts that stand for a missing value.
    """
    if source.format is None:
        return ", ".join(quoted(name) for name in columns)
    kinds = types(duck_, table or source.sql, columns, blanks)
    return ", ".join(f"CAST({text_of(name, blanks)} AS {kind}) AS {quoted(name)}" for name, kind in kinds.items())


def types(duck_: Any, table: str, columns: Sequence[str], blanks: Sequence[Any] = ()) -> dict[str, str]:
    """Return the type of each column of texts: a number where every text is one."""
    tests = [
        f"bool_and(regexp_full_match({text_of(name, blanks)}, '{pattern}'))"
        for name in columns
        for pattern in (WHOLE, REAL)
    ]
    found = duck_.sql(f"SELECT {', '.join(tests)} FROM {table}").fetchall()[0]
    answers = zip(columns, found[::2], found[1::2], strict=True)
    return {name: "BIGINT" if whole else "DOUBLE" if real else "VARCHAR" for name, whole, real in answers}


def text_of(name: str, blanks: Sequence[Any] = ()) -> str:
    """Return the expression of a column's text, null where it is blank."""
    known = ["''", *(literal(str(value)) for value in blanks)]
    return f"CASE WHEN {quoted(name)} IN ({', '.join(known)}) THEN NULL ELSE {quoted(name)} END"


def read_file(
    path: str | os.PathLike[str],
    format: CsvFormat | None = None,
    *,
    blanks: Sequence[Any] = (),
    rows: int | None = None,
) -> pd.DataFrame:
    """Read a whole file, or its first rows, into memory: a pandas frame."""
    source = Source.of(path, format)
    with connection(source.name) as duck_:
        chosen = typed(duck_, source, source.columns, blanks)
        limit = "" if rows is None else f" LIMIT {int(rows)}"
        found: pd.DataFrame = duck_.sql(f"SELECT {chosen} FROM {source.sql}{limit}").to_arrow_table().to_pandas()
        return found


@dataclass(frozen=True, eq=False)
class Opened:
    """A whole table in memory; ``text`` where it holds the texts of a CSV file."""

    table: Table
    text: bool


def opened(table: Any, format: CsvFormat | None = None) -> Opened:
    """Return a frame as it is, or a whole file as its texts (CSV) or values (Parquet)."""
    if not is_path(table):
        return Opened(read(table), text=False)
    source = Source.of(table, format)
    with connection(source.name) as duck_:
        return Opened(read(duck_.sql(f"SELECT * FROM {source.sql}").to_arrow_table()), source.format is not None)


def literal(text: str) -> str:
    """Quote a text."""
    return "'" + text.replace("'", "''") + "'"
