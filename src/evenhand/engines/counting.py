"""Counts of any table: a frame, a file, or counts already. A file is counted by one GROUP BY inside DuckDB.

Where columns have bins, the values of each are listed first, and every value is counted as one that stands for its
level: what comes out of DuckDB is then no larger than the number of cells, however many values there are.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Variable
from evenhand.data.levels import UNSEEN
from evenhand.engines import spark
from evenhand.engines.files import Source, connection, typed, watched
from evenhand.engines.spark import ROWS, WEIGHT
from evenhand.errors import DataError, Option
from evenhand.resources import Progress, current, words
from evenhand.spec import CsvFormat, Ordinal, Problem, check_problem
from evenhand.tables import (
    Frame,
    Table,
    count,
    count_rows,
    is_path,
    levels_of,
    quoted,
    read,
    variable_of,
    weights_column,
    weights_of,
)

WRONG, VALUE = "evenhand_wrong", "evenhand_value"
GROUPS, VALUES, ONE, SET = "evenhand_groups", "evenhand_values", "evenhand_one", "evenhand_set"

BYTES_PER_VALUE = 256
"""What it takes to sort one distinct value of a column into its bin; half of the memory is for that."""


AnyTable = Frame | str | os.PathLike[str]
"""A dataframe, which may be Spark's, or the path of CSV or Parquet files."""


def counts_of(
    problem: Problem,
    table: AnyTable | Counts,
    weights: str | Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Return the counts of a frame or of a file, or given counts if they are those of the problem's columns."""
    check_problem(problem)
    if is_path(table):
        return count_file(problem, table, weights, progress)
    if spark.is_spark(table):
        return spark.counts(problem, table, weights)
    if not isinstance(table, Counts):
        return count(problem, table, weights)
    if weights is not None:
        raise DataError("weights go with a frame; a Counts already has its own")
    names = tuple(v.name for v in table.domain.variables)
    if names != problem.columns:
        raise DataError(f"these counts are over the columns {list(names)}, the problem's are {list(problem.columns)}")
    for name, rule in problem.distortion.rules.items():
        levels = table.domain.variable(name).levels
        if isinstance(rule, Ordinal) and rule.levels is not None and tuple(rule.levels) != levels:
            raise DataError(
                f"the rule of {name!r} gives the levels {list(rule.levels)}, but the counts have {list(levels)}"
            )
    return table


def count_file(
    problem: Problem,
    path: Any,
    weights: str | Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Count the rows of a file over the cells of a problem."""
    counting = _Counting.of(path, problem.csv, problem.columns, weights)
    blanks = problem.missing_values
    with connection(counting.source.name) as duck_, watched(duck_, "counting", progress):
        listed = counting.listed(duck_, tuple(problem.bins), problem.outcome, blanks)
        known = {
            name: variable_of(problem, name, each, _numbers(each, WEIGHT), _numbers(each, ROWS))
            for name, each in listed.items()
        }
        stands = {name: _standing(known[name], each, name, text=False) for name, each in listed.items()}
        counting.group(duck_, stands)
        chosen = typed(duck_, counting.source, problem.columns, blanks, table=GROUPS)
        found = duck_.sql(f"SELECT {chosen}, {ROWS}, {WEIGHT} FROM {GROUPS} ORDER BY ALL").to_arrow_table()
    table = read(found)
    columns = table.select(list(problem.columns))
    return count_rows(problem, columns, _numbers(table, WEIGHT), _numbers(table, ROWS), known)


def _numbers(table: Table, name: str) -> Numbers:
    return np.asarray(table[name].to_numpy(), dtype=float)


def _standing(variable: Variable, table: Table, name: str, *, text: bool) -> Any:
    """Return the values of a column that have a level, and for each the first value of the same level."""
    import pyarrow

    coded = levels_of(variable, table[name], text=text)
    level = coded.level[coded.codes]
    at = np.flatnonzero((level != UNSEEN) & (level != variable.missing))
    _, first, place = np.unique(level[at], return_index=True, return_inverse=True)
    values: Any = table[VALUE].to_arrow()
    return pyarrow.table({"value": values.take(at), "stand": values.take(at[first[place]])})


@dataclass(frozen=True)
class _Counting:
    """The columns of a file that are counted together, and the expression of a row's weight."""

    source: Source
    columns: tuple[str, ...]
    weights: str | None

    @classmethod
    def of(cls, path: Any, format: CsvFormat | None, columns: Sequence[str], weights: Any) -> _Counting:
        weights_column(columns, weights, "a file")
        source = Source.of(path, format)
        source.require((*columns, *([] if weights is None else [weights])))
        return cls(source, tuple(columns), weights)

    @property
    def weight(self) -> str:
        return "1" if self.weights is None else f"TRY_CAST({quoted(self.weights)} AS DOUBLE)"

    @property
    def bad(self) -> str:
        value = self.weight
        return "false" if self.weights is None else f"{value} IS NULL OR NOT isfinite({value}) OR {value} < 0"

    def group(self, duck_: Any, stands: Mapping[str, Any]) -> None:
        """Count equal rows, each value as the one that stands for it: one GROUP BY."""
        chosen, tables = [], [f"{self.source.sql} AS evenhand_given"]
        for place, name in enumerate(self.columns):
            own = f"evenhand_given.{quoted(name)}"
            if name in stands:
                duck_.register(f"evenhand_stands_{place}", stands[name])
                each = f"(SELECT DISTINCT * FROM evenhand_stands_{place}) AS evenhand_{place}"
                tables.append(f"LEFT JOIN {each} ON {own} = evenhand_{place}.value")
                own = f"coalesce(evenhand_{place}.stand, {own})"
            chosen.append(f"{own} AS {quoted(name)}")
        self._keep(duck_, GROUPS, ", ".join(chosen), " ".join(tables), ", ".join(map(quoted, self.columns)))
        wrong = duck_.sql(f"SELECT sum({WRONG}) FROM {GROUPS}").fetchall()[0][0]
        if wrong:
            assert self.weights is not None
            one = f"SELECT {quoted(self.weights)} FROM {self.source.sql} WHERE {self.bad} LIMIT 1"
            raise DataError(
                f"{wrong} rows of {self.source.name!r} have no weight of at least 0 in column {self.weights!r}, for "
                f"example {duck_.sql(one).fetchall()[0][0]!r}"
            )

    def _keep(self, duck_: Any, name: str, chosen: str, tables: str, kept: str, sets: str | None = None) -> None:
        """Count rows inside DuckDB into a table that it keeps."""
        duck_.execute(
            f"CREATE TEMP TABLE {name} AS SELECT {kept}, count(*) FILTER ({WEIGHT} > 0) AS {ROWS}, "
            f"sum({WEIGHT})::DOUBLE AS {WEIGHT}, count(*) FILTER ({WRONG}) AS {WRONG} FROM "
            f"(SELECT {chosen}, {self.weight} AS {WEIGHT}, {self.bad} AS {WRONG} FROM {tables}) GROUP BY {sets or kept}"
        )

    def listed(
        self, duck_: Any, names: Sequence[str], beside: str | None = None, blanks: Sequence[Any] | None = None
    ) -> dict[str, Table]:
        """List the values of columns with their weights, each column with the values of the one ``beside`` it.

        With ``blanks`` the texts of a CSV file get their types; the values as they stand are in a column of their own.
        """
        if not names:
            return {}
        sets = {name: tuple(dict.fromkeys([name, *([] if beside is None else [beside])])) for name in names}
        columns = tuple(dict.fromkeys(column for each in sets.values() for column in each))
        chosen, grouping = _list(columns), f"GROUPING({_list(names)}) AS {SET}"
        wanted = ", ".join(f"({_list(each)})" for each in sets.values())
        self._keep(duck_, VALUES, chosen, self.source.sql, f"{chosen}, {grouping}", f"GROUPING SETS ({wanted})")
        return {name: self._values(duck_, name, each, names, blanks) for name, each in sets.items()}

    def _values(
        self, duck_: Any, name: str, columns: Sequence[str], names: Sequence[str], blanks: Sequence[Any] | None
    ) -> Table:
        # A column that is no part of a set has a one in the number of its set; the first name has the highest place.
        number = sum((each not in columns) << place for place, each in enumerate(reversed(names)))
        duck_.execute(
            f"CREATE OR REPLACE TEMP VIEW {ONE} AS SELECT * FROM {VALUES} WHERE {SET} = {number} AND {WEIGHT} > 0"
        )
        self._refuse_too_many(duck_, name)
        own = _list(columns) if blanks is None else typed(duck_, self.source, columns, blanks, table=ONE)
        query = f"SELECT {own}, {quoted(name)} AS {VALUE}, {WEIGHT}, {ROWS} FROM {ONE} ORDER BY ALL"
        return read(duck_.sql(query).to_arrow_table())

    def _refuse_too_many(self, duck_: Any, name: str) -> None:
        """Refuse a column of so many distinct values that they do not fit into memory."""
        number = duck_.sql(f"SELECT count(*) FROM {ONE}").fetchall()[0][0]
        memory = current().memory
        if number * BYTES_PER_VALUE > memory / 2:
            raise DataError(
                f"column {name!r} has {number:,} distinct values, more than can be sorted into bins within "
                f"{words(memory)} of memory; round it to fewer, or try ",
                Option("memory", words(2 * number * BYTES_PER_VALUE)),
            )


def _list(columns: Sequence[str]) -> str:
    return ", ".join(map(quoted, columns))


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct rows of a table: weights, how many people each stands for, whether values are texts of a file.

    Where equal rows were put ``together``, they have no place in the table any more.
    """

    table: Table
    weight: Numbers
    people: Numbers
    text: bool
    together: bool = False


def distinct_rows(
    domain: Domain,
    table: Any,
    format: CsvFormat | None = None,
    weights: str | Sequence[float] | None = None,
    progress: Progress | None = None,
) -> Rows:
    """Read what a domain's columns hold; equal rows of a file are counted inside DuckDB."""
    names = [variable.name for variable in domain.variables]
    if spark.is_spark(table):
        return _rows_of(spark.grouped(table, names, weights), "the table", text=False)
    if not is_path(table):
        found = read(table)
        weight = weights_of(names, found, weights)
        if weight is None:
            return Rows(found, np.ones(len(found)), np.ones(len(found)), text=False)
        return Rows(found, weight, (weight > 0).astype(float), text=False)
    counting = _Counting.of(table, format, names, weights)
    text = counting.source.format is not None
    with connection(counting.source.name) as duck_, watched(duck_, "counting", progress):
        listed = counting.listed(duck_, [v.name for v in domain.variables if v.coding is not None])
        stands = {name: _standing(domain.variable(name), each, name, text=text) for name, each in listed.items()}
        counting.group(duck_, stands)
        grouped = duck_.sql(f"SELECT {_list(names)}, {ROWS}, {WEIGHT} FROM {GROUPS} ORDER BY ALL").to_arrow_table()
    return _rows_of(grouped, repr(counting.source.name), text=text)


def _rows_of(grouped: Any, name: str, *, text: bool) -> Rows:
    found = read(grouped)
    if not len(found):
        raise DataError(f"{name} has no rows")
    return Rows(found, _numbers(found, WEIGHT), _numbers(found, ROWS), text, together=True)
