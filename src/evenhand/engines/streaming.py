"""Release and apply from file to file: a mapping's columns go through the kernel in batches, all others straight on.

DuckDB reads what a mode needs; what the kernel draws streams back into the statement that copies the file, row beside
row. From Parquet to Parquet Arrow does both, where it can. What is held at once is a few batches. Balanced draws need
every row's source first, so the file is read twice. The result is written under another name and renamed when it is
complete.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event
from typing import Any, Protocol, TypeVar

from evenhand import check
from evenhand.arrays import Cells
from evenhand.engines.changes import ChangeList, check_changes, listing
from evenhand.engines.files import (
    PARQUET,
    Source,
    batches,
    duck,
    is_parquet,
    literal,
    reading,
    refuse_alike,
    text_of,
    types,
    watched,
    why_unwritable,
)
from evenhand.engines.marking import Marking
from evenhand.engines.parquet import Straight
from evenhand.engines.unpacking import quoted_field
from evenhand.engines.waiting import beside
from evenhand.errors import DataError, Option, SpecError, StorageError
from evenhand.files import replacing, together
from evenhand.resources import Progress, current, silent
from evenhand.spec import CsvFormat
from evenhand.tables import becomes_text, quoted, read
from evenhand.tables.transforming import (
    Balancing,
    How,
    Located,
    Tally,
    Together,
    Transformer,
    locate,
    report_balance,
    report_unlike,
    report_unseen,
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

END = "\n"

NOTHING = "new_nothing"
"""The one column of a stream where nothing may change: learned cells in apply mode."""

UNMARKED = Marking()

ENDINGS = (".csv", ".tsv", ".data", ".txt", *PARQUET)


@dataclass(frozen=True)
class Read:
    """The files that were read, and their sizes and times then, by which a change is noticed."""

    paths: tuple[str, ...]
    state: tuple[tuple[int, int], ...]

    @classmethod
    def of(cls, source: Source) -> Read:
        """Return what is known of files that were just read."""
        return cls(source.paths, source.state)


@dataclass(frozen=True)
class Written(Tally):
    """What was done with a file, from what, where the result is, and with which options."""

    path: str = ""
    read: Read | None = None
    changes: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def transform_file(
    mode: Transformer,
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    how: How,
    format: CsvFormat | None = None,
    progress: Progress | None = None,
    changes: str | os.PathLike[str] | None = None,
    marking: Marking = UNMARKED,
) -> Written:
    """Transform a file into another; nothing appears under the new name until all of it is there.

    ``changes`` is where one row goes for every value that changes, ``marking`` what the result says of itself.
    """
    if how.balanced and how.key is not None:
        raise SpecError(
            "balanced draws by key need all rows in memory: read the file into a dataframe, or leave out ",
            Option("key"),
            ", or ",
            Option("draw"),
        )
    source, target, written = destined(path, to, format, (*mode.columns, *([] if how.key is None else [how.key])))
    marking.check(source, source.columns, levels_of(mode), target)
    if is_parquet(target):
        refuse_alike(source.name, (*source.columns, *marking.names))
    # Those over which cells were learned may have as many values as there are rows.
    few = [variable.name for variable in mode.read if variable.is_column]
    straight = Straight.of(source, few) if is_parquet(target) else None
    listed = None if changes is None else check_changes(changes, target, source.paths)
    with together(), replacing(target) as temporary, listing(listed, how.key) as list_:
        run = Run(mode, source, how, progress or silent, written, straight, list_, marking)
        tally = copied(run, temporary, target, _written)
        report_unseen(mode, tally, how.unseen)
        report_unlike(mode, tally)
    report_balance(mode, tally, how)
    return Written(**vars(tally), path=target, read=Read.of(source), changes=listed)


def levels_of(mode: Transformer) -> dict[str, tuple[Any, ...]]:
    """Return the values that a mode knows, by column."""
    return {variable.name: tuple(variable.levels) for variable in mode.read if variable.is_column}


def destined(
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    format: CsvFormat | None,
    columns: Sequence[str],
) -> tuple[Source, str, CsvFormat]:
    """Return the files that are read, where the result goes, and how a CSV result is written.

    Refused are files that lack one of the columns, a result of no known kind, and one that is read itself.
    """
    if to is None:
        raise DataError(f"{os.fspath(path)!r} is a file: say where the result goes with to=, a .csv or .parquet file")
    target = check.path("to", to)
    if not target.lower().endswith(ENDINGS):
        raise DataError(f"the result is written as .csv or .parquet, not as {target!r}")
    # A link is followed, not replaced.
    target = os.path.realpath(target) if os.path.islink(target) else target
    source = Source.of(path, format)
    source.require(columns)
    if any(os.path.exists(target) and os.path.samefile(target, each) for each in source.paths):
        raise DataError(f"{target!r} is a file that is read; give the result another name")
    # A CSV result is written like the file that was read, unless its name says that tabs are wanted.
    written = source.format or format or CsvFormat()
    return source, target, replace(written, delimiter="\t") if target.lower().endswith(".tsv") else written


@dataclass(frozen=True, eq=False)
class Run:
    """One piece of work from file to file: what is read, how it is transformed and written, who is told.

    ``copying`` is set while DuckDB reads a stream of ours.
    """

    mode: Transformer
    source: Source
    how: How
    progress: Progress
    written: CsvFormat
    straight: Straight | None = None
    changes: ChangeList | None = None
    marking: Marking = UNMARKED
    copying: Event = field(default_factory=Event)

    @property
    def name(self) -> str:
        """What it is called where it says how far it is."""
        return self.mode.name

    @property
    def text(self) -> bool:
        """Whether values are the texts of a CSV file."""
        return self.source.format is not None

    @property
    def needed(self) -> list[str]:
        """The columns that are read: those of the mode, and the key."""
        key = [] if self.how.key is None else [self.how.key]
        return list(dict.fromkeys((*self.mode.columns, *key)))

    @property
    def query(self) -> str:
        return f"SELECT {', '.join(map(self.source.at, self.needed))} FROM {self.source.sql}"

    @property
    def changing(self) -> dict[str, str]:
        """The columns that are written, and the name of each in the stream; those of the file have numbers alone."""
        return {variable.name: f"new_{place}" for place, variable in enumerate(self.mode.written)}

    @property
    def header(self) -> str:
        """The first line of a CSV result: that of the file that was read, wherever it is written alike."""
        if self.written.names:
            return ""
        if self.source.line is not None and self.source.format == self.written:
            return self.with_more(self.source.line, self.marking.names)
        return named_line((*self.source.header, *self.marking.names), self.written.delimiter)

    def with_more(self, line: str, names: Sequence[str]) -> str:
        """Return a line that names columns with the names of others after it."""
        delimiter = self.written.delimiter
        return line + (delimiter + named_line(names, delimiter) if names else END)

    def batches(self, duck_: Any, *, whole: bool = False) -> Iterator[Any]:
        """Read the file's batches in order: so many rows, or as many as their share of the memory holds.

        They have what is needed of each row; or, where Arrow reads them, all of it, if rows are to be ``whole``.
        """
        most = current().memory * BATCH_SHARE
        if self.straight is None:
            return batches(duck_, self.query, self.needed, rows=BATCH, memory=most, step=STEP)
        rows = max(min(BATCH, MOST_TOGETHER, int(most / self.straight.row)), 1)
        return self.straight.batches(rows, None if whole else self.needed)


class Done(Protocol):
    """What was done with the rows of a file."""

    @property
    def rows(self) -> int:
        """How many there were."""


R = TypeVar("R", bound=Run)
D = TypeVar("D", bound=Done)


def copied(run: R, temporary: str, target: str, write: Callable[[R, Any, Any, str, str], D]) -> D:
    """Write the whole result into the temporary file; return what was done.

    ``write`` is given the run, a connection and a cursor of it, and both names.
    """
    before = run.source.state
    with reading(run.source, target, run.progress) as (duck_, source):
        stopped = Event()
        given, cursors = replace(run, source=source, progress=_ending(run.progress, stopped)), (duck_, duck_.cursor())

        def stop() -> None:
            stopped.set()
            # A statement that copies may never end once DuckDB is told to stop it; the stream that it reads ends it.
            for each in () if given.copying.is_set() else cursors:
                each.interrupt()

        tally = beside(lambda: write(given, *cursors, temporary, target), stop)
    if run.source.state != before:
        raise DataError(f"{run.source.name!r} was changed while it was read; nothing was written")
    run.marking.refuse_formulas(temporary, run.written, run.progress)
    run.progress(f"{run.name}: {tally.rows:,} rows", 1.0)
    return tally


def _ending(progress: Progress, stopped: Event) -> Progress:
    """Return a report of progress that also ends the work, once it was told to stop: between two queries."""

    def say(stage: str, share: float) -> None:
        if stopped.is_set():
            raise KeyboardInterrupt
        progress(stage, share)

    return say


def _written(run: Run, duck_: Any, cursor: Any, temporary: str, target: str) -> Tally:
    """Write the result; batches are read through the cursor while the connection writes them."""
    import pyarrow

    balancing = _counted(run, cursor) if run.how.balanced else None
    together = Together() if balancing is None else balancing.together()
    work = Work(run, cursor, _transformed(run, cursor, balancing), together)
    # Whoever leaves waits for the batch that is on its way: the cursor is busy with it.
    with closing(work.tables()) as tables:
        schema = work.begin()
        if run.straight is not None:
            _write_straight(run, run.straight, tables, schema, temporary, target)
            return work.tally
        parts = (batch for table in tables for batch in table.to_batches())
        stream = pyarrow.RecordBatchReader.from_batches(schema, parts)
        command = _command(run, duck_, temporary, is_parquet(target))
        duck_.register("stream", stream)
        run.copying.set()
        done = int(execute(duck_, command, work, temporary, target)[0][0])
    if not done and not is_parquet(target):
        # DuckDB would end the line of a row that there is not.
        Path(temporary).write_text(run.header, encoding="utf-8", newline="")
    if done != work.tally.rows:
        raise DataError(f"{run.source.name!r} was changed while it was read; nothing was written")
    return work.tally


def execute(duck_: Any, command: str, work: Work | None, temporary: str, target: str) -> list[Any]:
    """Run a statement on the way to the result; return what it answers."""
    try:
        found: list[Any] = duck_.execute(command).fetchall()
        return found
    except duck().Error as error:
        # What went wrong in reading and in our own code reaches the writer as a text; the error itself was kept.
        if work is not None and work.failure is not None:
            raise work.failure from None
        if isinstance(error, duck().IOException) and (why := why_unwritable(Path(temporary))):
            raise StorageError(f"cannot write {target!r}: {why}") from None
        raise


def _write_straight(
    run: Run, straight: Straight, tables: Iterator[Any], schema: Any, temporary: str, target: str
) -> None:
    try:
        straight.write(tables, schema, temporary, added=run.marking.names, metadata=run.marking.metadata)
    except OSError as error:
        if why := why_unwritable(Path(temporary)):
            raise StorageError(f"cannot write {target!r}: {why}") from None
        raise error


class Work:
    """The batches of a run on their way into a file: counted, and with the error that stopped them.

    ``together`` is what balanced draws could not tell apart.
    """

    def __init__(
        self, run: Run, cursor: Any, results: Iterator[tuple[Any, Tally]], together: Together | None = None
    ) -> None:
        self.tally = Tally(**(together or Together())._asdict())
        self.failure: BaseException | None = None
        self._said = _saying(run, run.name, cursor)
        self._results = results
        # The writer asks from a thread of its own, which does not know what may be used here.
        self._context = copy_context()

    def begin(self) -> Any:
        """Transform the first batch, which tells the columns' types."""
        self._first, self._done = next(self._results)
        return self._first.schema

    def tables(self) -> Generator[Any, None, None]:
        """Yield every batch as a table; while one is written, the next is transformed."""
        try:
            yield self._counted(self._first, self._done)
            with ThreadPoolExecutor(max_workers=1) as pool:
                ahead = pool.submit(self._next)
                while (result := ahead.result()) is not None:
                    ahead = pool.submit(self._next)
                    yield self._counted(*result)
        except (Exception, KeyboardInterrupt) as error:
            self.failure = error
            raise

    def _next(self) -> tuple[Any, Tally] | None:
        found = self._context.run(next, self._results, None)
        return None if found is None else (found[0].cast(self._first.schema), found[1])

    def _counted(self, table: Any, done: Tally) -> Any:
        self.tally = self.tally + done
        self._said(self.tally.rows)
        return table


def _saying(run: Run, what: str, duck_: Any) -> Callable[[int], None]:
    expected, exact = run.source.rows(duck_)
    of = f" of {expected:,}" if exact else ""

    def say(rows: int) -> None:
        run.progress(f"{what}: {rows:,}{of} rows", min(rows / expected, 1.0) if expected else 0.0)

    return say


def _transformed(run: Run, cursor: Any, balancing: Balancing | None) -> Iterator[tuple[Any, Tally]]:
    """Transform batch after batch; an empty file is one empty batch."""
    first, dealt = 0, None if balancing is None else balancing.dealt(run.how.seed)

    def draws(located: Located) -> Cells:
        assert balancing is not None
        assert dealt is not None
        return dealt.draws(balancing.number(located))

    drawing = None if dealt is None else draws
    for arrow in run.batches(cursor, whole=True):
        done = transform_piece(run.mode, read(arrow.select(run.needed)), run.how, drawing, first=first, text=run.text)
        new = done.table.to_native()
        if run.changes is not None and done.moves is not None:
            run.changes.add(run.mode, arrow, new, done.moves, first)
        yield _streamed(run, new) if run.straight is None else _whole(run, arrow, new), done.tally
        first += len(arrow)
    if dealt is not None:
        dealt.finish()
    if not first:
        empty = cursor.sql(f"{run.query} LIMIT 0").to_arrow_table().rename_columns(run.needed)
        yield _streamed(run, empty), Tally()


def _streamed(run: Run, arrow: Any) -> Any:
    """Return the columns that may have changed, under their names in the stream."""
    import pyarrow

    if not run.changing:
        # DuckDB counts the rows of a stream by its columns.
        return pyarrow.table({NOTHING: pyarrow.nulls(len(arrow), pyarrow.bool_())})
    return arrow.select(list(run.changing)).rename_columns(list(run.changing.values()))


def _whole(run: Run, arrow: Any, new: Any) -> Any:
    """Return whole rows with the columns that may have changed."""
    for name in run.changing:
        arrow = arrow.set_column(run.source.columns.index(name), name, new[name])
    for name in run.marking.names:
        arrow = arrow.append_column(name, _repeated(run.marking.words, len(arrow)))
    return arrow


def _repeated(text: str, times: int) -> Any:
    """Return a column of one text."""
    import pyarrow

    return pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * times, pyarrow.int32()), [text])


def _counted(run: Run, cursor: Any) -> Balancing:
    """Count the people of every stratum."""
    say, balancing, first = _saying(run, "reading", cursor), Balancing(run.mode), 0
    for arrow in run.batches(cursor):
        table = read(arrow.select(run.needed))
        balancing.count(balancing.number(locate(run.mode, table, text=run.text, first=first)))
        first += len(table)
        say(first)
    balancing.settle()
    return balancing


def _command(run: Run, duck_: Any, temporary: str, parquet: bool) -> str:
    """Return the statement that writes the result: the stream has the rows of the file in order, and is put beside."""
    kinds = kinds_of(run, duck_) if parquet and run.text else {}
    chosen = ", ".join(
        f"{valued(run.changing.get(name, number), kinds.get(number))} AS {quoted(name) if parquet else number}"
        for name, number in zip(run.source.columns, run.source.numbers, strict=True)
    )
    both = f"SELECT {chosen} FROM {run.source.sql} AS given POSITIONAL JOIN stream"
    return copy_statement(run, duck_, both, temporary, parquet)


def copy_statement(run: Run, duck_: Any, rows: str, temporary: str, parquet: bool) -> str:
    """Return the statement that writes the rows of a query: as Parquet, or as CSV like the file that was read."""
    rows = run.marking.written(rows, parquet=parquet)
    if parquet:
        # Fewer rows are gathered before they are written where rows are long.
        first = duck_.sql(f"SELECT * FROM {run.source.sql} LIMIT {FEWEST_TOGETHER}").to_arrow_table()
        most = current().memory * GROUP_SHARE / max(first.nbytes, 1) * max(len(first), 1)
        group = f"ROW_GROUP_SIZE {int(min(max(most, FEWEST_TOGETHER), MOST_TOGETHER))}"
        options = f"FORMAT parquet, {group}, USE_TMP_FILE false{run.marking.parquet_option}"
        return f"COPY ({rows}) TO {literal(temporary)} ({options})"
    # DuckDB would give columns names of its own that have none, or the same.
    header = f"PREFIX {literal(run.header)}, SUFFIX {literal(END)}, " if run.header else ""
    format = f"FORMAT csv, HEADER false, {header}DELIMITER {literal(run.written.delimiter)}, USE_TMP_FILE false"
    return f"COPY ({rows}) TO {literal(temporary)} ({format})"


def named_line(names: Sequence[str], delimiter: str) -> str:
    """Return the line that names the columns of a CSV file."""
    # A name that is empty needs no quotes.
    return delimiter.join(quoted_field(name, delimiter) if name else "" for name in names) + END


def valued(column: str, kind: str | None) -> str:
    """Return the expression of a column of the result, of a type where it needs one."""
    if kind is None:
        return column
    return f"CAST({column if kind == 'VARCHAR' else text_of(column)} AS {kind})"


def kinds_of(run: Run, duck_: Any) -> dict[str, str]:
    """Return the types that the texts of a CSV file get in Parquet, by the numbers of the columns."""
    with watched(duck_, "looking for numbers", run.progress):
        kinds = types(duck_, run.source.sql, run.source.numbers)
    for variable in run.mode.written:
        number = run.source.at(variable.name)
        if not variable.numeric or becomes_text(variable, run.how.restore):
            kinds[number] = "VARCHAR"
        elif variable.coding is not None and not variable.coding.gives_whole and kinds[number] == "BIGINT":
            kinds[number] = "DOUBLE"
    return kinds
