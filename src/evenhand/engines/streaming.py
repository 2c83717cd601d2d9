"""Release and apply from file to file: batches out of DuckDB, through the kernel, and back into a new file.

What is held at once is a batch. Balanced draws need every row's source first, so the file is read twice and two numbers
a row are kept. The result is written under another name and renamed when it is complete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.coding import Cuts
from evenhand.domain import Cells
from evenhand.draws import balanced_draws
from evenhand.engines.files import PARQUET, Source, connection, is_parquet, literal, quoted, text_of, types
from evenhand.errors import DataError, StorageError
from evenhand.spec import CsvFormat
from evenhand.tables import is_numeric, read
from evenhand.transforming import (
    How,
    Tally,
    Transformer,
    locate,
    report_unseen,
    single_draws,
    strata,
    write,
)

BATCH = 100_000
"""Rows that are transformed at once."""

ENDINGS = (".csv", ".tsv", ".data", ".txt", *PARQUET)

Progress = Callable[[str, float], None]


@dataclass(frozen=True)
class Written(Tally):
    """What was done with a file, and where the result is."""

    path: str = ""


def transform_file(
    mode: Transformer,
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    how: How,
    format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Written:
    """Transform a file into another; nothing appears under the new name until all of it is there."""
    target = _checked_target(path, to)
    source = Source.of(path, format)
    source.require((*mode.columns, *([] if how.key is None else [how.key])))
    if any(Path(target).exists() and Path(target).samefile(each) for each in source.paths):
        raise DataError(f"{target!r} is a file that is read; give the result another name")
    run = _Run(mode, source, how, progress or (lambda stage, share: None), _written_as(target, source, format))
    temporary = _beside(target)
    try:
        tally = _copy(run, temporary, target)
        report_unseen(mode, tally, how.unseen)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        raise StorageError(f"cannot write {target!r}: {error.strerror}") from None
    finally:
        Path(temporary).unlink(missing_ok=True)
    return Written(tally.rows, tally.changed, tally.unseen, tally.first_unseen, tally.example, path=target)


@dataclass(frozen=True, eq=False)
class _Run:
    mode: Transformer
    source: Source
    how: How
    progress: Progress
    written: CsvFormat

    @property
    def text(self) -> bool:
        return self.source.format is not None

    def batches(self, duck_: Any, columns: str = "*") -> Iterator[Any]:
        """Read the file's batches in order."""
        yield from duck_.sql(f"SELECT {columns} FROM {self.source.sql}").to_arrow_reader(BATCH)


def _checked_target(path: Any, to: Any) -> str:
    if to is None:
        raise DataError(f"{os.fspath(path)!r} is a file: say where the result goes with to=, a .csv or .parquet file")
    target: str = os.fspath(to)
    if not target.lower().endswith(ENDINGS):
        raise DataError(f"the result is written as .csv or .parquet, not as {target!r}")
    if Path(target).is_dir():
        raise StorageError(f"{target!r} is a folder; give the name of a file")
    # A link is followed, not replaced.
    return os.path.realpath(target) if Path(target).is_symlink() else target


def _written_as(target: str, source: Source, format: CsvFormat | None) -> CsvFormat:
    """Return how a CSV result is written: like the file that was read, unless its name says that tabs are wanted."""
    found = source.format or format or CsvFormat()
    return replace(found, delimiter="\t") if target.lower().endswith(".tsv") else found


def _beside(target: str) -> str:
    """Make an empty temporary file in the folder of the target."""
    folder = Path(target).resolve().parent
    try:
        handle, name = tempfile.mkstemp(dir=folder, prefix=".evenhand-", suffix=Path(target).suffix)
    except OSError as error:
        raise StorageError(f"cannot write into {os.fspath(folder)!r}: {error.strerror}") from None
    os.close(handle)
    return name


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _copy(run: _Run, temporary: str, target: str) -> Tally:
    """Write every batch into the temporary file; return what was done."""
    import pyarrow

    with connection(run.source.name) as reading:
        rows = reading.sql(f"SELECT count(*) FROM {run.source.sql}").fetchall()[0][0]
        planned = _balanced(run, reading, rows) if run.how.draw == "balanced" else None
        work = _Work(run, rows, _transformed(run, reading, planned))
        schema = work.begin()
        stream = pyarrow.RecordBatchReader.from_batches(schema, work.batches())
        command = _command(run, reading, schema.names, temporary, is_parquet(target))
        try:
            with connection(target) as writing:
                writing.register("evenhand_stream", stream)
                writing.execute(command)
        except DataError:
            # What went wrong in reading and in our own code reaches the writer as a text; the error itself was kept.
            if work.failure is not None:
                raise work.failure from None
            raise
    return work.tally


class _Work:
    """The batches of a run on their way into a file: counted, and with the error that stopped them."""

    def __init__(self, run: _Run, rows: int, results: Iterator[tuple[Any, Tally]]) -> None:
        self.tally = Tally()
        self.failure: BaseException | None = None
        self._run, self._rows, self._results = run, rows, results

    def begin(self) -> Any:
        """Transform the first batch, which tells the columns' types."""
        self._first, self._done = next(self._results)
        return self._first.schema

    def batches(self) -> Iterator[Any]:
        """Yield every batch."""
        try:
            yield from self._count(self._first, self._done)
            for table, done in self._results:
                yield from self._count(table.cast(self._first.schema), done)
        except BaseException as error:
            self.failure = error
            raise

    def _count(self, table: Any, done: Tally) -> Iterator[Any]:
        self.tally = self.tally + done
        share = self.tally.rows / max(self._rows, 1)
        self._run.progress(f"{self._run.mode.name}: {self.tally.rows:,} of {self._rows:,} rows", share)
        yield from table.to_batches()


def _transformed(run: _Run, reading: Any, planned: Cells | None) -> Iterator[tuple[Any, Tally]]:
    """Transform batch after batch; an empty file is one empty batch."""
    import pyarrow

    first = 0
    for batch in run.batches(reading.cursor()):
        arrow = pyarrow.Table.from_batches([batch])
        yield _one(run, arrow, first, planned)
        first += len(arrow)
    if not first:
        empty = reading.sql(f"SELECT * FROM {run.source.sql} LIMIT 0").to_arrow_table()
        yield empty, Tally()


def _one(run: _Run, arrow: Any, first: int, planned: Cells | None) -> tuple[Any, Tally]:
    table = read(arrow)
    located = locate(run.mode, table, text=run.text)
    drawn = (
        single_draws(run.mode, table, run.how, first=first) if planned is None else planned[first : first + len(arrow)]
    )
    done = write(run.mode, table, located, drawn, run.how, first=first, text=run.text)
    if run.how.unseen == "error":
        report_unseen(run.mode, done.tally, "error")
    return done.table.to_native(), done.tally


def _balanced(run: _Run, reading: Any, size: int) -> Cells:
    """Read every row's source and draw, and space the draws of each source evenly."""
    import pyarrow

    names = dict.fromkeys((*run.mode.columns, *([] if run.how.key is None else [run.how.key])))
    rows, drawn, first = np.empty(size, np.int32), np.empty(size, np.int64), 0
    for batch in run.batches(reading.cursor(), ", ".join(map(quoted, names))):
        table = read(pyarrow.Table.from_batches([batch]))
        part = slice(first, first + len(table))
        rows[part] = strata(run.mode, locate(run.mode, table, text=run.text))
        drawn[part] = single_draws(run.mode, table, run.how, first=first)
        first += len(table)
        run.progress(f"reading: {first:,} of {size:,} rows", first / max(size, 1))
    return balanced_draws(rows, drawn, run.how.seed, run.mode.name)


def _command(run: _Run, reading: Any, columns: list[str], temporary: str, parquet: bool) -> str:
    """Return the statement that writes the stream: as Parquet, or as CSV in the way of the file that was read."""
    if parquet:
        chosen = _numbers_again(run, reading) if run.text else "*"
        return f"COPY (SELECT {chosen} FROM evenhand_stream) TO {literal(temporary)} (FORMAT parquet)"
    format = run.written
    header = "false" if format.names else "true"
    return (
        f"COPY (SELECT * FROM evenhand_stream) TO {literal(temporary)} "
        f"(FORMAT csv, HEADER {header}, DELIMITER {literal(format.delimiter)})"
    )


def _numbers_again(run: _Run, reading: Any) -> str:
    """Return the select list that gives the texts of a CSV file their types for Parquet."""
    kinds = types(reading, run.source, run.source.columns)
    for axis in run.mode.writes:
        for variable in axis.variables:
            if not is_numeric(variable) or (variable.coding is not None and run.how.restore == "label"):
                kinds[variable.name] = "VARCHAR"
            elif isinstance(variable.coding, Cuts) and not variable.coding.whole and kinds[variable.name] == "BIGINT":
                kinds[variable.name] = "DOUBLE"
    return ", ".join(_as(name, kind) for name, kind in kinds.items())


def _as(name: str, kind: str) -> str:
    text = quoted(name) if kind == "VARCHAR" else text_of(name)
    return f"CAST({text} AS {kind}) AS {quoted(name)}"
