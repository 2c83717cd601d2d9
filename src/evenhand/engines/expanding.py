"""Expand from file to file: train mode without the lottery, every possible result of each row with its weight.

Batches go through the kernel as in ``streaming``; rows that are equal in all columns go through it once. DuckDB adds up
the weights of equal results, out of core, and writes them in the order in which they first occur, as frames have them.
What a CSV file holds in columns that the mapping does not write is equal where the texts are the same; in those that it
writes, and in Parquet, where the values are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from evenhand.arrays import Cells, sums
from evenhand.data.weighting import Weighting
from evenhand.engines.counting import total_weight, weight_value
from evenhand.engines.files import is_parquet, refuse_alike, watched
from evenhand.engines.marking import Marking
from evenhand.engines.streaming import (
    BATCH,
    BATCH_SHARE,
    UNMARKED,
    Read,
    Run,
    Work,
    copied,
    copy_statement,
    destined,
    execute,
    kinds_of,
    levels_of,
    named_line,
    valued,
)
from evenhand.files import replacing
from evenhand.resources import Progress, current, silent
from evenhand.spec import CsvFormat
from evenhand.tables import REAL, WHOLE, Table, becomes_text, choices, quoted, read, refuse_taken, take, weights_column
from evenhand.tables.transforming import (
    How,
    Located,
    Tally,
    Transformer,
    locate,
    met,
    report_unlike,
    report_unseen,
)
from evenhand.tables.unfolding import (
    number_of_results,
    refuse_sampling,
    report_weightless,
    unfold_piece,
    weight_by_group,
)

RESULTS, WEIGHT, PLACE = "evenhand_results", "new_weight", "new_place"
"""The table of merged results inside DuckDB, and its columns besides those of the file, which have numbers."""

PARTS = 2.0**120
"""Weights are added up as whole numbers of such parts of a unit: their sum is the same in whatever order they come."""

UNIT_OF_ROWS = 2.0**40
"""The unit where each row counts once; of up to 2**46 rows the parts are no more than the largest whole number."""

LARGEST_KIND = 1 << 62
"""Kinds of rows are numbered up to here, and then anew."""


@dataclass(frozen=True)
class Expanded:
    """What was done with a file, and where the result is.

    Attributes
    ----------
    rows, results : int
        How many rows were read, and how many the result has.
    weight : float
        What the weights of the result sum to: the number of rows that were read, or the sum of their weights.
    unseen, typical, missing : int
        How many rows had a source that the fitted table did not have, how many of them have the results of a typical
        row or, where D is suppressed, of p(ŷ|x), and how many have a missing value that has no level.
    path : str
        The result.
    read : Read
        The files that were read.
    options : mapping
        With which options.
    """

    rows: int
    results: int
    weight: float
    unseen: int
    typical: int
    missing: int
    path: str
    read: Read
    options: Mapping[str, Any] = field(default_factory=dict)


def expand_file(
    mode: Transformer,
    path: str | os.PathLike[str],
    to: str | os.PathLike[str] | None,
    how: How,
    weighting: Weighting | None = None,
    weight_column: str = "weight",
    format: CsvFormat | None = None,
    progress: Progress | None = None,
    marking: Marking = UNMARKED,
) -> Expanded:
    """Expand a file into another; nothing appears under the new name until all of it is there."""
    refuse_sampling(how)
    weights = weights_column(mode.columns, weighting, "a file")
    source, target, written = destined(path, to, format, (*mode.columns, *([] if weights is None else [weights])))
    run = _Expansion(
        mode, source, how, progress or silent, written,
        marking=marking, weighting=weighting, weight_column=weight_column,
    )  # fmt: skip
    refuse_taken("weight_column", weight_column, (*run.kept, *run.kept_header))
    marking.check(source, run.needed, levels_of(mode), target)
    if is_parquet(target):
        refuse_alike(source.name, (*run.needed, *marking.names))
    with replacing(target) as temporary:
        done = copied(run, temporary, target, _written)
        report_unseen(mode, done.tally, how.unseen)
        report_unlike(mode, done.tally)
        report_weightless(mode, run.weighed)
    tally = done.tally
    counted = tally.rows, done.results, done.weight, tally.unseen, tally.typical, tally.missing
    return Expanded(*counted, target, Read.of(source))


@dataclass(frozen=True, eq=False)
class _Expansion(Run):
    """A run that reads all columns but that of weights, and writes one more."""

    weighting: Weighting | None = None
    weight_column: str = "weight"
    weighed: dict[int, float] = field(default_factory=dict)
    """What the rows of each group weigh, where they have weights."""

    @property
    def name(self) -> str:
        return "expand"

    @property
    def weights(self) -> str | None:
        """The column by which rows count, where they do not count once each."""
        return None if self.weighting is None else self.weighting.column

    @property
    def kept(self) -> list[str]:
        """The columns of the file that the result has."""
        return [name for name in self.source.columns if name != self.weights]

    @property
    def kept_header(self) -> list[str]:
        """What the file calls them."""
        both = zip(self.source.header, self.source.columns, strict=True)
        return [given for given, name in both if name != self.weights]

    @property
    def numbers(self) -> list[str]:
        """What they are called inside DuckDB."""
        return [self.source.at(name) for name in self.kept]

    @property
    def needed(self) -> list[str]:
        return [*self.kept, self.weight_column]

    @property
    def query(self) -> str:
        weight = "CAST(1 AS DOUBLE)" if self.weights is None else weight_value(self.source, self.weights)
        return f"SELECT {', '.join(self.numbers)}, {weight} FROM {self.source.sql}"

    @property
    def header(self) -> str:
        if self.written.names:
            return ""
        delimiter = self.written.delimiter
        added = (self.weight_column, *self.marking.names)
        if self.weights is None and self.source.line is not None and self.source.format == self.written:
            return self.with_more(self.source.line, added)
        return named_line([*self.kept_header, *added], delimiter)


@dataclass(frozen=True)
class _Done:
    """What was read, and what the result holds."""

    tally: Tally
    results: int
    weight: float

    @property
    def rows(self) -> int:
        return self.tally.rows


def _written(run: _Expansion, duck_: Any, cursor: Any, temporary: str, target: str) -> _Done:
    """Merge the results inside DuckDB, then write them; batches are read through the cursor meanwhile."""
    import pyarrow

    unit = UNIT_OF_ROWS
    if run.weighting is not None:
        with watched(duck_, "adding up weights", run.progress):
            # The power of two below the total: dividing by it loses nothing.
            unit = math.ldexp(0.5, math.frexp(total_weight(duck_, run.source, run.weighting) or 1.0)[1])
    merging = f"CREATE TEMP TABLE {RESULTS} AS {_merged(run, duck_, is_parquet(target))}"
    work = Work(run, cursor, _unfolded(run, cursor, unit))
    # Whoever leaves waits for the batch that is on its way: the cursor is busy with it.
    with closing(work.tables()) as tables:
        stream = pyarrow.RecordBatchReader.from_batches(work.begin(), _batches(run, tables))
        duck_.register("stream", stream)
        run.copying.set()
        execute(duck_, merging, work, temporary, target)
    results, total = duck_.sql(f"SELECT count(*), {_weight(f'sum({WEIGHT})', unit)} FROM {RESULTS}").fetchall()[0]
    with watched(duck_, "writing", run.progress):
        execute(duck_, _command(run, duck_, unit, temporary, is_parquet(target)), work, temporary, target)
    if not results and not is_parquet(target):
        # DuckDB would end the line of a row that there is not.
        Path(temporary).write_text(run.header, encoding="utf-8", newline="")
    return _Done(work.tally, results, float(total or 0.0))


def _batches(run: _Expansion, tables: Iterator[Any]) -> Iterator[Any]:
    """Hand tables over in batches; after the last, DuckDB reads no stream any more, and can be told to stop."""
    for table in tables:
        yield from table.to_batches()
    run.copying.clear()


def _unfolded(run: _Expansion, cursor: Any, unit: float) -> Iterator[tuple[Any, Tally]]:
    """Unfold batch after batch, in pieces that the memory has room for; an empty file is one empty piece."""
    read_so_far, place = Tally(), 0
    for arrow in run.batches(cursor):
        table, weight = read(arrow.select(run.kept)), arrow[run.weight_column].to_numpy() / unit
        located = locate(run.mode, table, text=run.text, first=read_so_far.rows)
        tally = met(run.mode, table, located, text=run.text)
        read_so_far = read_so_far + tally
        if run.how.unseen == "error":
            report_unseen(run.mode, read_so_far, "error")
        if run.weights is not None:
            for group, more in weight_by_group(run.mode, located, weight).items():
                run.weighed[group] = run.weighed.get(group, 0.0) + more
        first, which = _alike(arrow.select(run.kept))
        if len(first) < len(table):
            table, weight = take(table, first), sums(which, weight, len(first))
            located = locate(run.mode, table, text=run.text)
        most = min(BATCH, int(current().memory * BATCH_SHARE * len(arrow) / max(arrow.nbytes, 1)))
        for rows in _runs(number_of_results(run.mode, located), most):
            piece = _piece(run, table[rows], located.of(rows), weight[rows], place)
            yield piece, tally
            # The rows of a batch are counted with its first piece.
            tally, place = Tally(), place + len(piece)
    if not read_so_far.rows:
        empty = cursor.sql(f"{run.query} LIMIT 0").to_arrow_table().rename_columns(run.needed)
        table = read(empty.select(run.kept))
        yield _piece(run, table, locate(run.mode, table, text=run.text), np.zeros(0), 0), Tally()


def _piece(run: _Expansion, table: Table, located: Located, weight: Any, place: int) -> Any:
    """Unfold some rows: an Arrow table of their results, with weights and places in the order of all results."""
    import pyarrow

    wide, rows, share = unfold_piece(run.mode, table, located, run.how, text=run.text)
    found = wide.to_native().rename_columns(run.numbers)
    found = found.append_column(WEIGHT, pyarrow.array(share * weight[rows], pyarrow.float64()))
    return found.append_column(PLACE, pyarrow.array(place + np.arange(len(rows)), pyarrow.int64()))


def _runs(sizes: Cells, most: int) -> Iterator[slice]:
    """Cut rows of given sizes into runs of at most so much together, but of a row at least."""
    ends, first = np.cumsum(sizes), 0
    while first < len(sizes):
        before = ends[first - 1] if first else 0
        stop = max(int(np.searchsorted(ends, before + most, side="right")), first + 1)
        yield slice(first, stop)
        first = stop


def _alike(table: Any) -> tuple[Cells, Cells]:
    """Return the first of each kind of equal rows of an Arrow table, in their order, and the kind of every row."""
    import pyarrow

    every = np.arange(len(table))
    kind, kinds = np.zeros(len(table), dtype=np.int64), 1
    for column in table.columns:
        try:
            numbered = column.combine_chunks().dictionary_encode()
        except pyarrow.ArrowNotImplementedError:
            # Lists and the like: here all rows are different, and DuckDB compares them later.
            return every, every
        values = len(numbered.dictionary) + 1
        if kinds * values > LARGEST_KIND:
            found, kind = np.unique(kind, return_inverse=True)
            kinds = len(found)
            if kinds == len(table):
                return every, every
        kind = kind * values + numbered.indices.fill_null(values - 1).to_numpy()
        kinds *= values
    _, first, which = np.unique(kind, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[which]


def _merged(run: _Expansion, duck_: Any, parquet: bool) -> str:
    """Return the query that adds up the weights of equal results, with the place at which each first occurs."""
    if run.text:
        kinds: dict[str, str] = kinds_of(run, duck_) if parquet else {}
        texts = {number: _as_real(number) for number in _real(run, duck_) if kinds.get(number, "VARCHAR") == "VARCHAR"}
        chosen = [f"{texts.get(each, valued(each, kinds.get(each)))} AS {each}" for each in run.numbers]
    else:
        # What went through Arrow gets the file's own types back.
        given = duck_.sql(f"SELECT {', '.join(run.numbers)} FROM {run.source.sql} LIMIT 0")
        own = dict(zip(run.numbers, map(str, given.types), strict=True))
        named = [run.source.at(each.name) for each in run.mode.written if becomes_text(each, run.how.restore)]
        own |= dict.fromkeys(named, "VARCHAR")
        chosen = [f"CAST({number} AS {kind}) AS {number}" for number, kind in own.items()]
    weight = f"sum(CAST({WEIGHT} * {PARTS!r} AS HUGEINT)) AS {WEIGHT}"
    return f"SELECT {', '.join(chosen)}, {weight}, min({PLACE}) AS {PLACE} FROM stream GROUP BY ALL"


def _real(run: _Expansion, duck_: Any) -> list[str]:
    """Return the columns of numbers that a CSV file or the mapping writes as real ones, by their numbers.

    Whole ones are to be written so too: 44 and 44.0 are one number, and one may come from either.
    """
    restore = run.how.restore
    numeric = [each for each in run.mode.written if each.numeric and not becomes_text(each, restore)]
    if not numeric:
        return []
    columns = [run.source.at(variable.name) for variable in numeric]
    tests = (f"bool_or(regexp_full_match({c}, '{REAL}') AND NOT regexp_full_match({c}, '{WHOLE}'))" for c in columns)
    with watched(duck_, "looking for numbers", run.progress):
        given = duck_.sql(f"SELECT {', '.join(tests)} FROM {run.source.sql}").fetchall()[0]
    values = ([value for code in range(len(v)) for value in choices(v, code, restore)[0]] for v in numeric)
    own = (any(isinstance(value, float) for value in each) for each in values)
    return [column for column, one, other in zip(columns, given, own, strict=True) if one or other]


def _as_real(column: str) -> str:
    """Return the expression of a text in which a number is a real one, written in its shortest way."""
    number = f"coalesce(CAST(TRY_CAST({column} AS DOUBLE) AS VARCHAR), {column})"
    return f"CASE WHEN regexp_full_match({column}, '{REAL}') THEN {number} ELSE {column} END"


def _weight(parts: str, unit: float) -> str:
    """Return the expression of a weight that was added up as whole numbers."""
    return f"CAST({parts} AS DOUBLE) / {PARTS!r} * {unit!r}"


def _command(run: _Expansion, duck_: Any, unit: float, temporary: str, parquet: bool) -> str:
    names = map(quoted, run.needed) if parquet else (*run.numbers, WEIGHT)
    values = (*run.numbers, _weight(WEIGHT, unit))
    chosen = ", ".join(f"{value} AS {name}" for value, name in zip(values, names, strict=True))
    # Beside a table without rows one thread writes: where several write a CSV file, DuckDB never ends on a full disk.
    ordered = f"(SELECT * FROM {RESULTS} ORDER BY {PLACE}) POSITIONAL JOIN (SELECT 1 AS nothing WHERE false)"
    return copy_statement(run, duck_, f"SELECT {chosen} FROM {ordered}", temporary, parquet)
