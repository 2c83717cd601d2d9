"""A table and what became of it, row beside row: two frames, or two files that are read together in batches.

What is held at once of files is a few batches of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.weighting import Weighting
from evenhand.engines import spark
from evenhand.engines.counting import AnyTable, weight_value
from evenhand.engines.files import Opened, Source, batches, reading
from evenhand.engines.waiting import beside
from evenhand.errors import DataError, SpecError
from evenhand.resources import Progress, current, using
from evenhand.spec import CsvFormat
from evenhand.tables import is_path, read, weights_column, weights_of

BATCH = 1 << 16
"""Rows of a file that are read at once, unless they are long."""

BATCH_SHARE = 1 / 32

WEIGHT = "evenhand_weight"


@dataclass(frozen=True, eq=False)
class Pair:
    """The same rows of both tables, what each weighs, how many people it is, and the place of the first."""

    before: Opened
    after: Opened
    weight: Numbers
    people: Numbers
    squares: Numbers
    first: int

    @classmethod
    def of(cls, before: Opened, after: Opened, weight: Numbers | None, weighting: Weighting | None, first: int) -> Pair:
        """Put rows beside each other that count as they are given."""
        if weighting is None or weight is None:
            once = np.ones(len(after.table))
            return cls(before, after, once, once, once, first)
        return cls(before, after, weight, weighting.people(weight), weighting.squares(weight), first)


def each_pair(
    take: Callable[[Pair], None],
    before: AnyTable,
    after: AnyTable,
    columns: tuple[Sequence[str], Sequence[str]],
    weighting: Weighting | None = None,
    format: CsvFormat | None = None,
    progress: Progress | None = None,
) -> None:
    """Go through two tables row by row; ``columns`` are what is needed of each, weights are those of the second."""
    if spark.is_spark(before) or spark.is_spark(after):
        raise SpecError("original= needs the same rows in the same order, which Spark dataframes do not have")
    if is_path(before) != is_path(after):
        raise SpecError("original= is a path where the table is one, and a dataframe where that is one")
    if is_path(after):
        _each_of_files(take, (before, after), columns, weighting, format, progress)
        return
    tables = read(before), read(after)
    if len(tables[0]) != len(tables[1]):
        raise _other_rows(len(tables[0]), len(tables[1]))
    was, now = (Opened(table, text=False) for table in tables)
    take(Pair.of(was, now, weights_of(columns[1], tables[1], weighting), weighting, 0))


def _other_rows(before: int | str, after: int | str) -> DataError:
    return DataError(
        f"original= must be the very table that was released, row for row: it has {before} rows, this one {after}"
    )


def _each_of_files(
    take: Callable[[Pair], None],
    paths: tuple[Any, Any],
    columns: tuple[Sequence[str], Sequence[str]],
    weighting: Weighting | None,
    format: CsvFormat | None,
    progress: Progress | None,
) -> None:
    name = weights_column(columns[1], weighting, "a file")
    first, second = (Source.of(path, format) for path in paths)
    first.require(columns[0])
    second.require((*columns[1], *([] if name is None else [name])))
    # Each of the two has a DuckDB of its own.
    with (
        using(memory=max(current().memory // 2, 1)),
        reading(first, progress=progress) as (duck_, before),
        reading(second, progress=progress) as (other, after),
    ):

        def work() -> None:
            done, (expected, exact) = 0, before.rows(duck_)
            streams = _batches(before, duck_, columns[0]), _batches(after, other, columns[1], name)
            for one, two in _in_step(*streams):
                weight = None if name is None else np.asarray(two[WEIGHT].to_numpy(), dtype=float)
                was, now = Opened(read(one), first.format is not None), Opened(read(two), second.format is not None)
                take(Pair.of(was, now, weight, weighting, done))
                done += len(one)
                if progress is not None:
                    of = f" of {expected:,}" if exact else ""
                    progress(f"comparing: {done:,}{of} rows", min(done / max(expected, 1), 1.0))

        def stop() -> None:
            duck_.interrupt()
            other.interrupt()

        beside(work, stop)


def _batches(source: Source, duck_: Any, columns: Sequence[str], weights: str | None = None) -> Iterator[Any]:
    """Read columns of a file, and the weight of each row, in order."""
    names = [*columns, *([] if weights is None else [WEIGHT])]
    chosen = [*map(source.at, columns), *([] if weights is None else [weight_value(source, weights)])]
    query = f"SELECT {', '.join(chosen)} FROM {source.sql}"
    return batches(duck_, query, names, rows=BATCH, memory=current().memory * BATCH_SHARE, step=BATCH)


def _in_step(ones: Iterator[Any], others: Iterator[Any]) -> Iterator[tuple[Any, Any]]:
    """Cut two streams of tables so that each two have as many rows; refuse one that ends before the other."""
    one, other, done = next(ones, None), next(others, None), 0
    while one is not None and other is not None:
        size = min(len(one), len(other))
        if size:
            yield one.slice(0, size), other.slice(0, size)
        done += size
        one = one.slice(size) if size < len(one) else next(ones, None)
        other = other.slice(size) if size < len(other) else next(others, None)
    if one is not None or other is not None:
        lengths = [done if each is None else f"more than {done}" for each in (one, other)]
        raise _other_rows(*lengths)
