"""Counts of any table: a frame, a file, or counts already. A file is counted by one GROUP BY inside DuckDB.

Where columns have bins, the values of each are listed first, and every value is counted as one that stands for its
level: what comes out of DuckDB is then no larger than the number of cells, however many values there are.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from evenhand import tables
from evenhand.arrays import Numbers
from evenhand.data.counts import Counts, with_propensities
from evenhand.data.domain import Domain, Variable
from evenhand.data.levels import UNSEEN
from evenhand.data.profile import Profile
from evenhand.data.weighting import Weighting
from evenhand.engines import spark
from evenhand.engines.files import Source, batches, named, opened, reading, text_of, typed, watched
from evenhand.engines.learning import Represented, learn_in_pieces, represented
from evenhand.engines.spark import ROWS, SQUARES, WEIGHT
from evenhand.engines.streaming import BATCH, BATCH_SHARE, STEP
from evenhand.engines.unaware import learned_from_counts, learned_from_rows, people_in, people_of_counts
from evenhand.engines.waiting import beside
from evenhand.errors import DataError, Option
from evenhand.resources import Progress, current, words
from evenhand.spec import CsvFormat, Problem, check_problem
from evenhand.spec.unaware import People
from evenhand.tables import (
    Frame,
    Levelled,
    Piece,
    Table,
    counts_in_memory,
    is_missing,
    is_path,
    level_rows,
    levels_of,
    profile_counts,
    read,
    stacked,
    take,
    variable_of,
    weights_column,
    weights_of,
)
from evenhand.text import counted

WRONG, VALUE = "evenhand_wrong", "evenhand_value"
T = TypeVar("T")
GROUPS, VALUES, ONE, SET = "evenhand_groups", "evenhand_values", "evenhand_one", "evenhand_set"

BYTES_PER_VALUE = 256
"""What it takes to sort one distinct value of a column into its bin; half of the memory is for that."""


AnyTable = Frame | str | os.PathLike[str]
"""A dataframe, which may be Spark's, or the path of CSV or Parquet files."""


def counts_of(
    problem: Problem,
    table: AnyTable | Counts,
    weighting: Weighting | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Return the counts of a frame or of a file, or given counts if they are those of the problem's columns.

    Where mean scores of a model without D are bounded, they have sums of propensities.
    """
    check_problem(problem)
    counts = _counted(problem, table, weighting, progress)
    if not problem.suppression.scored or counts.propensities is not None:
        return counts
    if problem.cells is None:
        return learned_from_counts(problem, counts)
    if not _has_rows(table):
        return with_propensities(counts)
    return _over_rows(problem, table, weighting, partial(learned_from_rows, problem, counts))


def unaware_people(problem: Problem, counts: Counts, table: AnyTable | Counts, weighting: Any) -> People | None:
    """Return people as a model without D sees them; None where a table shows no rows, and counts are of cells."""
    if problem.cells is None:
        return people_of_counts(counts)
    if not _has_rows(table):
        return None
    return _over_rows(problem, table, weighting, partial(people_in, problem, counts))[0]


def _has_rows(table: AnyTable | Counts) -> bool:
    return not isinstance(table, Counts) and not spark.is_spark(table)


def _over_rows(problem: Problem, table: Any, weighting: Weighting | None, work: Callable[..., T]) -> T:
    """Do a piece of work with the rows of a frame or of files, which come in pieces; ``text`` is what files hold."""
    if not is_path(table):
        rows = read(table)
        weight = weights_of(problem.columns, rows, weighting)
        repeats = weighting is not None and weighting.repeats
        piece = Piece(rows, np.ones(len(rows)) if weight is None else weight, repeats)
        piece = piece.of(np.flatnonzero(piece.weight > 0))
        return work(lambda: [piece], text=False)
    given = _Counting.of(table, problem.csv, problem.columns, weighting)

    def weighing(duck_: Any, counting: _Counting) -> Iterator[Piece]:
        return (piece.of(np.flatnonzero(piece.weight > 0)) for piece in counting.pieces(duck_))

    return given.run(lambda counting, duck_: work(lambda: weighing(duck_, counting), text=counting.text), None)


def _counted(
    problem: Problem, table: AnyTable | Counts, weighting: Weighting | None, progress: Progress | None
) -> Counts:
    if is_path(table):
        refuse_mistaken(table, problem.csv, weighting)
        return count_file(problem, table, weighting, progress)
    if spark.is_spark(table):
        return spark.count_frame(problem, table, weighting)
    return counts_in_memory(problem, table, weighting)


def refuse_mistaken(table: AnyTable, format: CsvFormat | None, weighting: Weighting | None) -> None:
    """Refuse weights that look like numbers of people in the first rows; warn of those that a problem states."""
    if spark.is_spark(table):
        spark.refuse_mistaken(table, weighting)
    elif not is_path(table):
        tables.refuse_mistaken(read(table), weighting)
    elif weighting is not None and weighting.column is not None and not weighting.repeats:
        tables.refuse_mistaken(opened(table, format, tables.ENOUGH_ROWS).table, weighting)


def count_file(
    problem: Problem,
    path: Any,
    weighting: Weighting | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Count the rows of a file over the cells of a problem."""
    given = _Counting.of(path, problem.csv, problem.columns, weighting)
    blanks = problem.missing_values

    def counted(counting: _Counting, duck_: Any) -> Levelled:
        of_levels = replace(counting, columns=problem.levelled)
        listed = of_levels.listed(duck_, tuple(problem.bins), problem.outcome, blanks)
        known = {
            name: variable_of(problem, name, table, _numbers(found, WEIGHT), _numbers(found, ROWS))
            for name, (table, found) in listed.items()
        }
        stands = {name: _standing(known[name], *each, name, text=False) for name, each in listed.items()}
        of_levels.group(duck_, stands)
        chosen = typed(duck_, counting.source, problem.levelled, blanks, table=GROUPS)
        query = f"SELECT {chosen}, {ROWS}, {WEIGHT}, {SQUARES} FROM {GROUPS} ORDER BY ALL"
        found = duck_.sql(query).to_arrow_table()
        weight, rows, squares = (_numbers(found, name) for name in (WEIGHT, ROWS, SQUARES))
        levelled = level_rows(problem, named(found, problem.levelled), weight, rows, known, squares)
        if problem.cells is None:
            return levelled
        return learn_in_pieces(problem, levelled, lambda: counting.pieces(duck_), text=counting.text)

    return given.run(counted, progress).counts(problem)


def _numbers(found: Any, name: str) -> Numbers:
    return np.asarray(found[name].to_numpy(), dtype=float)


def _standing(variable: Variable, table: Table, found: Any, name: str, *, text: bool) -> Any:
    """Return the values of a column that have a level, and for each the first value of the same level."""
    import pyarrow

    coded = levels_of(variable, table[name], text=text)
    level = coded.level[coded.codes]
    at = np.flatnonzero((level != UNSEEN) & (level != variable.missing))
    _, first, place = np.unique(level[at], return_index=True, return_inverse=True)
    values = found[VALUE].combine_chunks()
    return pyarrow.table({"value": values.take(at), "stand": values.take(at[first[place]])})


def weight_value(source: Source, weights: str) -> str:
    """Return the expression of a row's weight: null where a column has no number."""
    number = source.at(weights)
    # Of a column that is nothing but cast, DuckDB would have the file's reader make numbers, which fails at a text.
    return f"TRY_CAST({number if source.format is None else text_of(number)} AS DOUBLE)"


def no_weight(source: Source, weighting: Weighting) -> str:
    """Return the expression that is true of a row without a number that can be counted."""
    value = weight_value(source, str(weighting.column))
    fraction = f" OR {value} != floor({value})" if weighting.repeats else ""
    return f"{value} IS NULL OR NOT isfinite({value}) OR {value} < 0{fraction}"


def wrong_weights(duck_: Any, source: Source, weighting: Weighting, number: int) -> DataError:
    """Return the error that says how many rows have no number that can be counted, and what one of them has."""
    column = str(weighting.column)
    one = f"SELECT {source.at(column)} FROM {source.sql} WHERE {no_weight(source, weighting)} LIMIT 1"
    return DataError(
        f"{counted(number, 'row')} of {source.name!r} {'has' if number == 1 else 'have'} no {weighting.needed} in "
        f"column {column!r}, for example {duck_.sql(one).fetchall()[0][0]!r}"
    )


def total_weight(duck_: Any, source: Source, weighting: Weighting) -> float:
    """Return the sum of a column of weights; refuse one that cannot be counted, or is zero everywhere."""
    bad, column = no_weight(source, weighting), str(weighting.column)
    good = f"sum({weight_value(source, column)}) FILTER (NOT ({bad}))"
    rows, wrong, total = duck_.sql(f"SELECT count(*), count(*) FILTER ({bad}), {good} FROM {source.sql}").fetchall()[0]
    if wrong:
        raise wrong_weights(duck_, source, weighting, wrong)
    if rows and not total:
        raise DataError(f"no row of {source.name!r} has a positive {weighting.noun} in column {column!r}")
    if rows and not math.isfinite(total):
        raise DataError(f"the {weighting.option} in column {column!r} of {source.name!r} are too large to be added up")
    return float(total or 0.0)


@dataclass(frozen=True)
class _Counting:
    """The columns of a file that are counted together, and the expression of a row's weight."""

    source: Source
    columns: tuple[str, ...]
    weighting: Weighting | None

    @classmethod
    def of(cls, path: Any, format: CsvFormat | None, columns: Sequence[str], weighting: Weighting | None) -> _Counting:
        weights = weights_column(columns, weighting, "a file")
        source = Source.of(path, format)
        source.require((*columns, *([] if weights is None else [weights])))
        return cls(source, tuple(columns), weighting)

    def run(self, work: Callable[[_Counting, Any], T], progress: Progress | None) -> T:
        """Do a piece of work with the files inside DuckDB."""
        with reading(self.source, progress=progress) as (duck_, source), watched(duck_, "counting", progress):
            return beside(lambda: work(replace(self, source=source), duck_), duck_.interrupt)

    @property
    def weight(self) -> str:
        return "1" if self.weighting is None else weight_value(self.source, str(self.weighting.column))

    @property
    def repeats(self) -> bool:
        """Whether a row stands for so many people."""
        return self.weighting is not None and self.weighting.repeats

    @property
    def text(self) -> bool:
        """Whether values are the texts of a CSV file."""
        return self.source.format is not None

    def pieces(self, duck_: Any) -> Iterator[Piece]:
        """Read the columns piece by piece, with the weight of every row."""
        query = f"SELECT {self.list(self.columns)}, CAST({self.weight} AS DOUBLE) AS {WEIGHT} FROM {self.source.sql}"
        memory = current().memory * BATCH_SHARE
        for part in batches(duck_, query, [*self.columns, WEIGHT], rows=BATCH, memory=memory, step=STEP):
            yield Piece(named(part, self.columns), _numbers(part, WEIGHT), self.repeats)

    def list(self, columns: Sequence[str]) -> str:
        return ", ".join(map(self.source.at, columns))

    @property
    def bad(self) -> str:
        return "false" if self.weighting is None else no_weight(self.source, self.weighting)

    def group(self, duck_: Any, stands: Mapping[str, Any]) -> None:
        """Count equal rows, each value as the one that stands for it: one GROUP BY."""
        chosen, tables = [], [f"{self.source.sql} AS evenhand_given"]
        for place, name in enumerate(self.columns):
            number = self.source.at(name)
            own = f"evenhand_given.{number}"
            if name in stands:
                duck_.register(f"evenhand_stands_{place}", stands[name])
                each = f"(SELECT DISTINCT * FROM evenhand_stands_{place}) AS evenhand_{place}"
                tables.append(f"LEFT JOIN {each} ON {own} = evenhand_{place}.value")
                own = f"coalesce(evenhand_{place}.stand, {own})"
            chosen.append(f"{own} AS {number}")
        self._keep(duck_, GROUPS, ", ".join(chosen), " ".join(tables), self.list(self.columns))
        wrong = duck_.sql(f"SELECT sum({WRONG}) FROM {GROUPS}").fetchall()[0][0]
        if wrong:
            assert self.weighting is not None
            raise wrong_weights(duck_, self.source, self.weighting, wrong)

    def represented(self, duck_: Any, domain: Domain) -> Represented | None:
        """Return one row for each kind that a domain with learned cells tells apart."""
        if self.weighting is not None:
            wrong = duck_.sql(f"SELECT count(*) FROM {self.source.sql} WHERE {self.bad}").fetchall()[0][0]
            if wrong:
                raise wrong_weights(duck_, self.source, self.weighting, wrong)
        return represented(domain, self.pieces(duck_), repr(self.source.name), text=self.text)

    def _keep(self, duck_: Any, name: str, chosen: str, tables: str, kept: str, sets: str | None = None) -> None:
        """Count rows inside DuckDB into a table that it keeps."""
        people = f"sum({WEIGHT})" if self.repeats else f"count(*) FILTER ({WEIGHT} > 0)"
        squares = WEIGHT if self.repeats else f"{WEIGHT} * {WEIGHT}"
        duck_.execute(
            f"CREATE TEMP TABLE {name} AS SELECT {kept}, {people} AS {ROWS}, "
            f"sum({WEIGHT})::DOUBLE AS {WEIGHT}, sum({squares})::DOUBLE AS {SQUARES}, "
            f"count(*) FILTER ({WRONG}) AS {WRONG} FROM "
            f"(SELECT {chosen}, {self.weight} AS {WEIGHT}, {self.bad} AS {WRONG} FROM {tables}) GROUP BY {sets or kept}"
        )

    def listed(
        self, duck_: Any, names: Sequence[str], beside: str | None = None, blanks: Sequence[Any] | None = None
    ) -> dict[str, tuple[Table, Any]]:
        """List the values of columns with their weights, each column with the values of the one ``beside`` it.

        With ``blanks`` the texts of a CSV file get their types; the values as they stand are in a column of their own.
        Return a table of the columns alone, and the Arrow table that has the weights too.
        """
        if not names:
            return {}
        sets = {name: tuple(dict.fromkeys([name, *([] if beside is None else [beside])])) for name in names}
        columns = tuple(dict.fromkeys(column for each in sets.values() for column in each))
        chosen, grouping = self.list(columns), f"GROUPING({self.list(names)}) AS {SET}"
        wanted = ", ".join(f"({self.list(each)})" for each in sets.values())
        self._keep(duck_, VALUES, chosen, self.source.sql, f"{chosen}, {grouping}", f"GROUPING SETS ({wanted})")
        return {name: self._values(duck_, name, each, names, blanks) for name, each in sets.items()}

    def _values(
        self, duck_: Any, name: str, columns: Sequence[str], names: Sequence[str], blanks: Sequence[Any] | None
    ) -> tuple[Table, Any]:
        # A column that is no part of a set has a one in the number of its set; the first name has the highest place.
        number = sum((each not in columns) << place for place, each in enumerate(reversed(names)))
        duck_.execute(
            f"CREATE OR REPLACE TEMP VIEW {ONE} AS SELECT * FROM {VALUES} WHERE {SET} = {number} AND {WEIGHT} > 0"
        )
        self._refuse_too_many(duck_, name)
        own = self.list(columns) if blanks is None else typed(duck_, self.source, columns, blanks, table=ONE)
        query = f"SELECT {own}, {self.source.at(name)} AS {VALUE}, {WEIGHT}, {ROWS} FROM {ONE} ORDER BY ALL"
        found = duck_.sql(query).to_arrow_table()
        return named(found, columns), found

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


def rows_in_memory(problem: Problem, table: AnyTable, weighting: Weighting | None = None) -> tuple[Piece, bool]:
    """Return one row per person of a table with their weights, and whether values are the texts of a file."""
    if spark.is_spark(table):
        raise DataError(
            "confidence with learned cells needs the rows in memory: collect the Spark dataframe first, with toPandas()"
        )
    if not is_path(table):
        found = read(table)
        weight = weights_of(problem.columns, found, weighting)
        repeats = weighting is not None and weighting.repeats
        return _one_by_one(Piece(found, np.ones(len(found)) if weight is None else weight, repeats)), False
    given = _Counting.of(table, problem.csv, problem.columns, weighting)
    parts = given.run(lambda counting, duck_: list(counting.pieces(duck_)), None)
    whole, weight = stacked([part.table for part in parts]), np.concatenate([part.weight for part in parts])
    return _one_by_one(Piece(whole, weight, given.repeats)), given.text


def _one_by_one(rows: Piece) -> Piece:
    """Return one row per person; refuse more than memory holds."""
    people = float(rows.people.sum()) if rows.repeats else len(rows.table)
    size = int(rows.table.estimated_size() / max(len(rows.table), 1) * people)
    if size > current().memory / 2:
        raise DataError(
            "confidence with learned cells holds one row per person in memory, of which there is too little; try ",
            Option("memory", words(4 * size)),
        )
    if not rows.repeats:
        return rows
    each = np.repeat(np.arange(len(rows.table)), rows.weight.astype(np.int64))
    return Piece(take(rows.table, each), np.ones(len(each)))


@dataclass(frozen=True, eq=False)
class Rows:
    """The distinct rows of a table: weights and their squares, how many people each stands for, whether values are
    texts of a file.

    Where equal rows were put ``together``, they have no place in the table any more; the ``source`` is the file that
    they came from.
    """

    table: Table
    weight: Numbers
    people: Numbers
    squares: Numbers
    text: bool
    together: bool = False
    source: Source | None = None

    def where(self, variable: Variable, row: int) -> str:
        """Say where a file has its first missing value in a column; nothing of other tables."""
        if self.source is None:
            return ""
        import pyarrow

        first = 0
        with reading(self.source) as (duck_, source):
            for part in duck_.sql(f"SELECT {source.at(variable.name)} FROM {source.sql}").to_arrow_reader(BATCH):
                each = named(pyarrow.Table.from_batches([part]), [variable.name])
                found = np.flatnonzero(is_missing(variable, each, text=self.text))
                if len(found):
                    return f" in row {first + found[0] + 1}"
                first += len(part)
        return ""


def distinct_rows(
    domain: Domain,
    table: Any,
    format: CsvFormat | None = None,
    weighting: Weighting | None = None,
    progress: Progress | None = None,
) -> Rows:
    """Read what a domain's columns hold; equal rows of a file are counted inside DuckDB.

    Where cells were learned, a row stands for all of its kind (:func:`evenhand.engines.learning.represented`).
    """
    names = list(dict.fromkeys(column for variable in domain.variables for column in variable.columns))
    if spark.is_spark(table):
        return _rows_of(spark.grouped_for(domain, table, weighting), names, "the table", text=False)
    if not is_path(table):
        found = read(table)
        weight = weights_of(names, found, weighting)
        if weighting is None or weight is None:
            once = np.ones(len(found))
            return Rows(found, once, once, once, text=False)
        return Rows(found, weight, weighting.people(weight), weighting.squares(weight), text=False)
    given = _Counting.of(table, format, names, weighting)
    name = repr(given.source.name)
    if not all(variable.is_column for variable in domain.variables):
        held = given.run(lambda counting, duck_: counting.represented(duck_, domain), progress)
        if held is None:
            raise DataError(f"{name} has no rows")
        each = (held.weight, held.people, held.squares)
        return Rows(held.table, *each, given.text, together=True, source=given.source)

    def grouped(counting: _Counting, duck_: Any) -> Any:
        listed = counting.listed(duck_, [v.name for v in domain.variables if v.coding is not None])
        stands = {name: _standing(domain.variable(name), *each, name, text=given.text) for name, each in listed.items()}
        counting.group(duck_, stands)
        asked = f"SELECT {counting.list(names)}, {ROWS}, {WEIGHT}, {SQUARES} FROM {GROUPS} ORDER BY ALL"
        return duck_.sql(asked).to_arrow_table()

    return _rows_of(given.run(grouped, progress), names, name, text=given.text, source=given.source)


def profiled_rows(
    domain: Domain,
    table: Any,
    format: CsvFormat | None = None,
    weighting: Weighting | None = None,
) -> list[tuple[Profile, Numbers]]:
    """Count the rows of a table by the levels of each column that cells are learned from.

    Beside the fitted profile of each column are the people, weight and squared weights of the table's own: three rows.
    """
    learned = next((variable for variable in domain.variables if variable.profiles), None)
    if learned is None:
        return []
    if spark.is_spark(table):
        found = spark.profile_counts_of(learned, table, weighting)
    elif is_path(table):
        given = _Counting.of(table, format, learned.columns, weighting)

        def counted(counting: _Counting, duck_: Any) -> Numbers:
            pieces = counting.pieces(duck_)
            each = (profile_counts(learned, p.table, p.weight, weighting, text=given.text) for p in pieces)
            return sum(each, np.zeros((3, 1)))

        found = given.run(counted, None)
    else:
        rows = read(table)
        weight = weights_of(learned.columns, rows, weighting)
        found = profile_counts(learned, rows, np.ones(len(rows)) if weight is None else weight, weighting)
    ends = np.cumsum([profile.size for profile in learned.profiles])
    return list(zip(learned.profiles, np.split(found, ends[:-1], axis=1), strict=True))


def columns_in(table: AnyTable, format: CsvFormat | None = None) -> tuple[AnyTable, list[str]]:
    """Return a table, what is lazy collected, and the names of its columns."""
    if is_path(table):
        return table, list(Source.of(table, format).columns)
    if spark.is_spark(table):
        frame: Any = table
        return table, list(frame.columns)
    found = read(table)
    return found, list(found.columns)


def _rows_of(grouped: Any, columns: Sequence[str], name: str, *, text: bool, source: Source | None = None) -> Rows:
    if not len(grouped):
        raise DataError(f"{name} has no rows")
    weight, people, squares = (_numbers(grouped, each) for each in (WEIGHT, ROWS, SQUARES))
    return Rows(named(grouped, columns), weight, people, squares, text, together=True, source=source)


def weighting_in(
    problems: Sequence[Problem], table: AnyTable, weights: Any, frequencies: Any
) -> tuple[AnyTable, Weighting | None]:
    """Return a table that mappings meet, what is lazy collected, and by what its rows count.

    A column that a problem names counts where the table has it; other people may come in a table of one row each.
    """
    asked = Weighting.of(weights, frequencies)
    stated = [each.weighting for each in problems if each.weighting is not None]
    if asked is not None or not stated:
        return table, Weighting.chosen(asked, next(iter(stated), None))
    found, columns = columns_in(table, problems[0].csv)
    return found, next((each for each in stated if each.column in columns), None)
