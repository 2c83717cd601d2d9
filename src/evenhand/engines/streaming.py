"""Release and apply from file to file: a mapping's columns go through the kernel in batches, all others straight on.

DuckDB reads what a mode needs; what the kernel draws streams back into the statement that copies the file, row beside
row. What is held at once is a batch. Balanced draws need every row's source first, so the file is read twice. The
result is written under another name and renamed when it is complete.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, nullcontext
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from evenhand import check
from evenhand.arrays import Cells
from evenhand.engines.balancing import Balanced, balanced
from evenhand.engines.files import (
    PARQUET,
    Source,
    connection,
    duck,
    explained,
    is_parquet,
    literal,
    text_of,
    types,
    watched,
)
from evenhand.errors import DataError, StorageError
from evenhand.files import replacing
from evenhand.resources import Progress, current
from evenhand.spec import CsvFormat
from evenhand.tables import becomes_text, quoted, read
from evenhand.tables.transforming import (
    How,
    Tally,
    Transformer,
    locate,
    report_unseen,
    single_draws,
    strata,
    transform_piece,
)

BATCH = 1 << 17
"""Rows that are transformed at once, unless they are long."""

STEP = 1 << 14
"""Rows that DuckDB hands over at once."""

BATCH_SHARE = 1 / 32
"""How much of the memory the values of a batch may take."""

GROUP_SHARE = 1 / 16
"""How much of the memory the rows may take that DuckDB writes together; it gathers several such groups at once."""

FEWEST_TOGETHER, MOST_TOGETHER = 2048, 122_880
"""Rows that DuckDB can work on at once, and that it writes together where nothing is said."""

ENDINGS = (".csv", ".tsv", ".data", ".txt", *PARQUET)


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
    if to is None:
        raise DataError(f"{os.fspath(path)!r} is a file: say where the result goes with to=, a .csv or .parquet file")
    target = check.path("to", to)
    if not target.lower().endswith(ENDINGS):
        raise DataError(f"the result is written as .csv or .parquet, not as {target!r}")
    if os.path.isdir(target):
        raise StorageError(f"{target!r} is a folder; give the name of a file")
    # A link is followed, not replaced.
    target = os.path.realpath(target) if os.path.islink(target) else target
    source = Source.of(path, format)
    source.require((*mode.columns, *([] if how.key is None else [how.key])))
    if any(os.path.exists(target) and os.path.samefile(target, each) for each in source.paths):
        raise DataError(f"{target!r} is a file that is read; give the result another name")
    # A CSV result is written like the file that was read, unless its name says that tabs are wanted.
    written = source.format or format or CsvFormat()
    written = replace(written, delimiter="\t") if target.lower().endswith(".tsv") else written
    run = _Run(mode, source, how, progress or (lambda stage, share: None), written)
    with replacing(target, suffix=".part") as temporary:
        tally = _copy(run, temporary, target)
        report_unseen(mode, tally, how.unseen)
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

    @property
    def needed(self) -> str:
        """The columns that are read: those of the mode, and the key."""
        key = [] if self.how.key is None else [self.how.key]
        return ", ".join(map(quoted, dict.fromkeys((*self.mode.columns, *key))))

    @property
    def changing(self) -> dict[str, str]:
        """The columns that are written, and the name of each in the stream."""
        return {variable.name: f"evenhand_new_{place}" for place, variable in enumerate(self.mode.written)}

    def batches(self, duck_: Any) -> Iterator[Any]:
        """Read the file's batches in order: so many rows, or as many as their share of the memory holds."""
        import pyarrow

        most = current().memory * BATCH_SHARE
        held: list[Any] = []
        for part in duck_.sql(f"SELECT {self.needed} FROM {self.source.sql}").to_arrow_reader(min(STEP, BATCH)):
            held.append(part)
            if sum(map(len, held)) >= BATCH or sum(one.nbytes for one in held) >= most:
                yield pyarrow.Table.from_batches(held)
                held = []
        if held:
            yield pyarrow.Table.from_batches(held)


def _copy(run: _Run, temporary: str, target: str) -> Tally:
    """Write the whole result into the temporary file; return what was done."""
    import pyarrow

    before = run.source.state
    place: AbstractContextManager[str | None] = nullcontext()
    if run.how.balanced:
        # The draws of all rows must be known together; they are kept in files.
        beside = current().folder(target)
        place = tempfile.TemporaryDirectory(prefix=".evenhand-", dir=beside, ignore_cleanup_errors=True)
    with connection(run.source.name, target) as duck_, place as folder:
        planned = None
        if folder is not None:
            rows, number = _sources(run, duck_.cursor()), len(run.mode.kernel) + 1
            try:
                planned = balanced(rows, Path(folder), number, run.how.seed, run.mode.name, run.progress)
            except OSError as error:
                raise explained(run.source.name, str(error), current(), Path(folder)) from None
        work = _Work(run, duck_.cursor(), planned)
        stream = pyarrow.RecordBatchReader.from_batches(work.begin(), work.batches())
        command = _command(run, duck_, temporary, is_parquet(target))
        writing = duck_.cursor()
        writing.register("evenhand_stream", stream)
        try:
            done = work.into(writing, command)
        except duck().Error as error:
            # What went wrong in reading and in our own code reaches the writer as a text; the error itself was kept.
            if work.failure is not None:
                raise work.failure from None
            message = str(error)
            if temporary not in message:
                raise
            full = "no space left" in message.lower()
            why = "the disk is full" if full else message.splitlines()[0].split(": ")[-1].strip('"}')
            raise StorageError(f"cannot write {target!r}: {why}") from None
    if done != work.tally.rows or run.source.state != before:
        raise DataError(f"{run.source.name!r} was changed while it was read; nothing was written")
    run.progress(f"{run.mode.name}: {done:,} rows", 1.0)
    return work.tally


class _Work:
    """The batches of a run on their way into a file: counted, and with the error that stopped them."""

    def __init__(self, run: _Run, reading: Any, planned: Balanced | None) -> None:
        self.tally = Tally()
        self.failure: BaseException | None = None
        self.stopped = False
        self._said = _saying(run, run.mode.name, reading)
        self._results = _transformed(run, reading, planned)
        # The writer asks from a thread of its own, which does not know what may be used here.
        self._context = copy_context()

    def begin(self) -> Any:
        """Transform the first batch, which tells the columns' types."""
        self._first, self._done = next(self._results)
        return self._first.schema

    def into(self, writing: Any, command: str) -> int:
        """Run the statement beside this thread, which only waits: Ctrl-C inside DuckDB can be lost, or never end."""
        with ThreadPoolExecutor(max_workers=1) as pool:
            running = pool.submit(lambda: int(writing.execute(command).fetchall()[0][0]))
            try:
                return running.result()
            except KeyboardInterrupt:
                self.stopped = True
                writing.interrupt()
                raise

    def batches(self) -> Iterator[Any]:
        """Yield every batch; while one is written, the next is transformed."""
        try:
            yield from self._count(self._first, self._done)
            with ThreadPoolExecutor(max_workers=1) as pool:
                ahead = pool.submit(self._next)
                while (result := ahead.result()) is not None:
                    if self.stopped:
                        raise KeyboardInterrupt
                    ahead = pool.submit(self._next)
                    yield from self._count(*result)
        except BaseException as error:
            self.failure = error
            raise

    def _next(self) -> tuple[Any, Tally] | None:
        found = self._context.run(next, self._results, None)
        return None if found is None else (found[0].cast(self._first.schema), found[1])

    def _count(self, table: Any, done: Tally) -> Iterator[Any]:
        self.tally = self.tally + done
        self._said(self.tally.rows)
        yield from table.to_batches()


def _saying(run: _Run, what: str, duck_: Any) -> Callable[[int], None]:
    """Return what says how many rows are done."""
    expected, exact = run.source.rows(duck_)
    of = f" of {expected:,}" if exact else ""

    def say(rows: int) -> None:
        run.progress(f"{what}: {rows:,}{of} rows", min(rows / expected, 1.0) if expected else 0.0)

    return say


def _transformed(run: _Run, reading: Any, planned: Balanced | None) -> Iterator[tuple[Any, Tally]]:
    """Transform batch after batch; an empty file is one empty batch."""
    first = 0
    for arrow in run.batches(reading):
        drawn = None if planned is None else planned.draws(first, len(arrow)).__getitem__
        done = transform_piece(run.mode, read(arrow), run.how, drawn, first=first, text=run.text)
        yield _streamed(run, done.table.to_native()), done.tally
        first += len(arrow)
    if not first:
        empty = reading.sql(f"SELECT {run.needed} FROM {run.source.sql} LIMIT 0").to_arrow_table()
        yield _streamed(run, empty), Tally()


def _streamed(run: _Run, arrow: Any) -> Any:
    """Return the columns that may have changed, under their names in the stream."""
    return arrow.select(list(run.changing)).rename_columns(list(run.changing.values()))


def _sources(run: _Run, reading: Any) -> Iterator[tuple[Cells, Cells]]:
    """Read every row's source, and its own draw."""
    say, first = _saying(run, "reading", reading), 0
    for arrow in run.batches(reading):
        table = read(arrow)
        yield (
            strata(run.mode, locate(run.mode, table, text=run.text, first=first)),
            single_draws(run.mode, table, run.how, first=first),
        )
        first += len(table)
        say(first)


def _command(run: _Run, duck_: Any, temporary: str, parquet: bool) -> str:
    """Return the statement that writes the result: as Parquet, or as CSV in the way of the file that was read.

    The stream has the rows of the file in their order, and is put beside them.
    """
    kinds = _kinds(run, duck_) if parquet and run.text else {}
    chosen = ", ".join(_column(name, run.changing.get(name), kinds.get(name)) for name in run.source.columns)
    both = f"SELECT {chosen} FROM {run.source.sql} AS evenhand_given POSITIONAL JOIN evenhand_stream"
    if parquet:
        # Fewer rows are gathered before they are written where rows are long.
        first = duck_.sql(f"SELECT * FROM {run.source.sql} LIMIT {FEWEST_TOGETHER}").to_arrow_table()
        most = current().memory * GROUP_SHARE / max(first.nbytes, 1) * max(len(first), 1)
        group = f"ROW_GROUP_SIZE {int(min(max(most, FEWEST_TOGETHER), MOST_TOGETHER))}"
        return f"COPY ({both}) TO {literal(temporary)} (FORMAT parquet, {group}, USE_TMP_FILE false)"
    header = "false" if run.written.names else "true"
    format = f"FORMAT csv, HEADER {header}, DELIMITER {literal(run.written.delimiter)}, USE_TMP_FILE false"
    return f"COPY ({both}) TO {literal(temporary)} ({format})"


def _column(name: str, new: str | None, kind: str | None) -> str:
    """Return the expression of a column of the result: the file's own or the new one, of a type where it needs one."""
    value = quoted(name if new is None else new)
    if kind is not None:
        value = f"CAST({value if kind == 'VARCHAR' else text_of(name if new is None else new)} AS {kind})"
    return f"{value} AS {quoted(name)}"


def _kinds(run: _Run, duck_: Any) -> dict[str, str]:
    """Return the types that the texts of a CSV file get in Parquet."""
    with watched(duck_, "looking for numbers", run.progress):
        kinds = types(duck_, run.source.sql, run.source.columns)
    for variable in run.mode.written:
        if not variable.numeric or becomes_text(variable, run.how.restore):
            kinds[variable.name] = "VARCHAR"
        elif variable.coding is not None and not variable.coding.gives_whole and kinds[variable.name] == "BIGINT":
            kinds[variable.name] = "DOUBLE"
    return kinds
