"""A table and what became of it, row beside row: two frames, or two files that are read together in batches.

What is held at once of files is a few batches of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.weighting import Weighting
from evenhand.engines import spark
from evenhand.engines.counting import AnyTable
from evenhand.engines.files import Batch, Columns, Reader, Source, reading
from evenhand.engines.weights import Weights
from evenhand.errors import DataError, SpecError
from evenhand.resources import Progress, current, using
from evenhand.spec import CsvFormat
from evenhand.tables import Table, is_path, read, weights_column, weights_of


@dataclass(frozen=True, eq=False)
class Pair:
    """The same rows of both tables, what each weighs, how many people it is, and the place of the first."""

    before: Table
    after: Table
    weight: Numbers
    people: Numbers
    squares: Numbers
    first: int

    @classmethod
    def of(cls, before: Table, after: Table, weight: Numbers | None, weighting: Weighting | None, first: int) -> Pair:
        """Put rows beside each other that count as they are given."""
        if weighting is None or weight is None:
            once = np.ones(len(after))
            return cls(before, after, once, once, once, first)
        return cls(before, after, weight, weighting.people(weight), weighting.squares(weight), first)


def each_pair(
    take: Callable[[Pair], None],
    before: AnyTable,
    after: AnyTable,
    columns: tuple[Columns, Columns],
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
    take(Pair.of(*tables, weights_of(list(columns[1]), tables[1], weighting), weighting, 0))


def _other_rows(before: int | str, after: int | str) -> DataError:
    return DataError(
        f"original= must be the very table that was released, row for row: it has {before} rows, this one {after}"
    )


def _each_of_files(
    take: Callable[[Pair], None],
    paths: tuple[Any, Any],
    columns: tuple[Columns, Columns],
    weighting: Weighting | None,
    format: CsvFormat | None,
    progress: Progress | None,
) -> None:
    name = weights_column(list(columns[1]), weighting, "a file")
    more = {} if name is None else {name: None}
    first, second = (Source.of(path, format) for path in paths)
    first.require(list(columns[0]))
    second.require([*columns[1], *more])
    weights = Weights(second, weighting)
    # Each of the two has a share of the memory.
    with (
        using(memory=max(current().memory // 2, 1)),
        reading(first, progress=progress) as before,
        reading(second) as after,
    ):

        def work() -> None:
            others = after.batches({**columns[1], **more}, "")
            for one, two in _in_step(before.batches(columns[0], "comparing"), others):
                weight = None if name is None else weights.of(two)
                take(Pair.of(one.table, two.table, weight, weighting, one.first))

        _run((before, after), work)
    weights.refuse_wrong()


def _run(readers: tuple[Reader, Reader], work: Callable[[], None]) -> None:
    """Do the work with both so that Ctrl-C ends it within moments."""
    one, other = readers
    one.run(lambda: other.run(work))


def _in_step(ones: Iterator[Batch], others: Iterator[Batch]) -> Iterator[tuple[Batch, Batch]]:
    """Cut two streams of batches so that each two have as many rows; refuse one that ends before the other."""
    one, other, done = next(ones, None), next(others, None), 0
    while one is not None and other is not None:
        size = min(len(one), len(other))
        if size:
            yield one.of(slice(0, size)), other.of(slice(0, size))
        done += size
        one = one.of(slice(size, len(one))) if size < len(one) else next(ones, None)
        other = other.of(slice(size, len(other))) if size < len(other) else next(others, None)
    if one is not None or other is not None:
        lengths = [done if each is None else f"more than {done}" for each in (one, other)]
        raise _other_rows(*lengths)
