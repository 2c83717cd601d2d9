"""Counts of any table: a frame, a file, or counts already.

Where columns have bins, the values of each are listed first, and every value is counted as one that stands for its
level: there are then no more distinct rows than cells, however many values there are.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
from evenhand.engines.files import Batch, Columns, Reader, Source, named, opened, reading, table_of
from evenhand.engines.grouping import ROWS, SQUARES, WEIGHT, groups
from evenhand.engines.learning import learn_in_pieces, represented
from evenhand.engines.typed import TEXT, Holds, ReadAs, Types, read_as, valued
from evenhand.engines.unaware import learned_from_counts, learned_from_rows, people_in, people_of_counts
from evenhand.engines.weights import Weights
from evenhand.errors import DataError, Option
from evenhand.resources import Progress, current, words
from evenhand.spec import CsvFormat, Problem, check_problem
from evenhand.spec.unaware import People
from evenhand.tables import (
    Frame,
    Levelled,
    Piece,
    Table,
    canonical,
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
from evenhand.tables.sampling import Pieces

T = TypeVar("T")

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


def _over_rows(problem: Problem, table: Any, weighting: Weighting | None, work: Callable[[Pieces], T]) -> T:
    """Do a piece of work with the rows of a frame or of files, which come in pieces."""
    if not is_path(table):
        rows = read(table)
        weight = weights_of(problem.columns, rows, weighting)
        repeats = weighting is not None and weighting.repeats
        piece = Piece(rows, np.ones(len(rows)) if weight is None else weight, repeats)
        piece = piece.of(np.flatnonzero(piece.weight > 0))
        return work(lambda: [piece])
    with reading(_source(table, problem.csv, problem.columns, weighting)) as reader:
        columns = _as_all_are(reader, problem)
        return reader.run(lambda: work(lambda: pieces(reader, columns, problem.columns, weighting, weightless=False)))


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
        tables.refuse_mistaken(opened(table, format, tables.ENOUGH_ROWS), weighting)


def count_file(
    problem: Problem,
    path: Any,
    weighting: Weighting | None = None,
    progress: Progress | None = None,
) -> Counts:
    """Count the rows of a file over the cells of a problem."""
    source = _source(path, problem.csv, problem.columns, weighting)
    with reading(source, progress=progress) as reader:
        return reader.run(lambda: _levels_of(reader, problem, weighting)).counts(problem)


def _source(path: Any, format: CsvFormat | None, columns: Sequence[str], weighting: Weighting | None) -> Source:
    """Return files that have columns, and one of weights where that is asked for."""
    weights = weights_column(columns, weighting, "a file")
    source = Source.of(path, format)
    source.require((*columns, *([] if weights is None else [weights])))
    return source


def _levels_of(reader: Reader, problem: Problem, weighting: Weighting | None) -> Levelled:
    blanks = problem.missing_values
    sets = [tuple(dict.fromkeys((name, problem.outcome))) for name in problem.bins]
    known: dict[str, Variable] = {}
    stands = {}
    for columns, found in zip(sets, groups(reader, sets, weighting, listing=True) if sets else [], strict=True):
        found = found.filter(found[WEIGHT].to_numpy() > 0)
        table, name = _typed(reader.source, found, columns, blanks), columns[0]
        known[name] = variable_of(problem, name, table, _numbers(found, WEIGHT), _numbers(found, ROWS))
        stands[name] = _standing(known[name], table, found[reader.source.at(name)], name)
    types = {} if problem.cells is None else _types(problem)
    (found,) = groups(reader, [problem.levelled], weighting, stands, also=_noticing(reader.source, types))
    table = _typed(reader.source, found, problem.levelled, blanks)
    weight, rows, squares = (_numbers(found, name) for name in (WEIGHT, ROWS, SQUARES))
    levelled = level_rows(problem, table, weight, rows, known, squares)
    if problem.cells is None:
        return levelled
    columns_ = _features(types, blanks) | read_as(levelled.variables)
    return learn_in_pieces(
        problem, levelled, lambda: pieces(reader, columns_, problem.columns, weighting, weightless=False)
    )


def _typed(source: Source, found: Any, columns: Sequence[str], blanks: Sequence[Any]) -> Table:
    """Return distinct rows with types: those that all texts of a CSV file's column have."""
    import pyarrow

    own = [found[source.at(name)] for name in columns]
    if source.format is not None:
        own = [valued(each.combine_chunks(), blanks) for each in own]
    return read(pyarrow.table(own, names=list(columns)))


def _types(problem: Problem) -> dict[str, Types]:
    return {name: Types(problem.missing_values) for name in problem.features}


def _noticing(source: Source, types: Mapping[str, Types]) -> Any:
    """Return what notices what columns of a CSV file hold, in rows that weigh anything."""

    def notice(batch: Batch, weight: Numbers) -> None:
        assert batch.records is not None
        records = batch.records.of(weight > 0)
        for name, each in types.items():
            if each.open:
                each.add(records.numbered(source.place(name))[1])

    return notice


def _features(types: Mapping[str, Types], blanks: Sequence[Any]) -> dict[str, ReadAs]:
    """Return how features are read from which cells are learned."""
    missing = frozenset(map(canonical, blanks))
    return {name: ReadAs(each.holds, missing) for name, each in types.items()}


def pieces(
    reader: Reader,
    columns: Columns,
    wanted: Sequence[str],
    weighting: Weighting | None,
    *,
    weightless: bool = True,
) -> Iterator[Piece]:
    """Read the wanted columns piece by piece, with the weight of every row; ``weightless`` are rows of none."""
    weights = Weights(reader.source, weighting)
    asked = {name: columns.get(name) for name in wanted}
    more = {} if weights.column is None else {weights.column: None}
    for batch in reader.batches(asked | more if reader.source.format is None else {}, "reading"):
        weight = weights.of(batch)
        there = (weight > 0) | weightless
        if batch.records is None:
            table = take(batch.table.select(list(wanted)), np.flatnonzero(there))
        else:
            table = table_of(batch.records.of(there), reader.source, asked)
        yield Piece(table, weight[there], weighting is not None and weighting.repeats)
    weights.refuse_wrong()


def _numbers(found: Any, name: str) -> Numbers:
    return np.asarray(found[name].to_numpy(), dtype=float)


def _standing(variable: Variable, table: Table, values: Any, name: str) -> Any:
    """Return the values of a column that have a level, and for each the first value of the same level."""
    import pyarrow

    coded = levels_of(variable, table[name])
    level = coded.level[coded.codes]
    at = np.flatnonzero((level != UNSEEN) & (level != variable.missing))
    _, first, place = np.unique(level[at], return_index=True, return_inverse=True)
    values = values.combine_chunks()
    return pyarrow.table({"value": values.take(at), "stand": values.take(at[first[place]])})


def rows_in_memory(problem: Problem, table: AnyTable, weighting: Weighting | None = None) -> Piece:
    """Return one row per person of a table, with their weights."""
    if spark.is_spark(table):
        raise DataError(
            "confidence with learned cells needs the rows in memory: collect the Spark dataframe first, with toPandas()"
        )
    repeats = weighting is not None and weighting.repeats
    if not is_path(table):
        found = read(table)
        weight = weights_of(problem.columns, found, weighting)
        return _one_by_one(Piece(found, np.ones(len(found)) if weight is None else weight, repeats))
    source = _source(table, problem.csv, problem.columns, weighting)
    with reading(source) as reader:
        parts = reader.run(lambda: list(pieces(reader, _as_all_are(reader, problem), problem.columns, weighting)))
    whole, weight = stacked([part.table for part in parts]), np.concatenate([part.weight for part in parts])
    return _one_by_one(Piece(whole, weight, repeats))


def _as_all_are(reader: Reader, problem: Problem) -> Columns:
    """Return how columns are read that have the types of all their values."""
    if reader.duck is not None:
        return {}
    types = {name: Types(problem.missing_values) for name in problem.columns}
    notice = _noticing(reader.source, types)
    for batch in reader.batches({}, "looking for numbers"):
        notice(batch, np.ones(len(batch)))
    missing = frozenset(map(canonical, problem.missing_values))
    levelled = {
        name: ReadAs(Holds.TEXTS if types[name].kind == TEXT else Holds.NUMBERS, missing) for name in problem.levelled
    }
    return _features({name: types[name] for name in problem.features}, problem.missing_values) | levelled


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
    """The distinct rows of a table: weights and their squares, and how many people each stands for.

    Where equal rows were put ``together``, they have no place in the table any more; the ``source`` is the file that
    they came from.
    """

    table: Table
    weight: Numbers
    people: Numbers
    squares: Numbers
    together: bool = False
    source: Source | None = None

    def where(self, variable: Variable, row: int) -> str:
        """Say where a file has its first missing value in a column; nothing of other tables."""
        if self.source is None:
            return ""
        with reading(self.source) as reader:
            for batch in reader.batches(read_as([variable]), ""):
                found = np.flatnonzero(is_missing(variable, batch.table))
                if len(found):
                    return f" in row {batch.first + found[0] + 1}"
        return ""


def distinct_rows(
    domain: Domain,
    table: Any,
    format: CsvFormat | None = None,
    weighting: Weighting | None = None,
    progress: Progress | None = None,
) -> Rows:
    """Read what a domain's columns hold; equal rows of a file are put together.

    Where cells were learned, a row stands for all of its kind (:func:`evenhand.engines.learning.represented`).
    """
    names = list(dict.fromkeys(column for variable in domain.variables for column in variable.columns))
    if spark.is_spark(table):
        found = spark.grouped_for(domain, table, weighting)
        return _rows_of(found, named(found, names), "the table")
    if not is_path(table):
        given = read(table)
        weight = weights_of(names, given, weighting)
        if weighting is None or weight is None:
            once = np.ones(len(given))
            return Rows(given, once, once, once)
        return Rows(given, weight, weighting.people(weight), weighting.squares(weight))
    source, columns = _source(table, format, names, weighting), read_as(domain.variables)
    name = repr(source.name)
    with reading(source, progress=progress) as reader:
        if not all(variable.is_column for variable in domain.variables):
            held = reader.run(lambda: represented(domain, pieces(reader, columns, names, weighting), name))
            if held is None:
                raise DataError(f"{name} has no rows")
            return Rows(held.table, held.weight, held.people, held.squares, together=True, source=source)
        found = reader.run(lambda: _grouped(reader, domain, names, columns, weighting))
    return _rows_of(found, _as_read(source, found, columns), name, source)


def _grouped(
    reader: Reader, domain: Domain, names: Sequence[str], columns: Mapping[str, ReadAs], weighting: Weighting | None
) -> Any:
    sets = [(variable.name,) for variable in domain.variables if variable.coding is not None]
    stands = {}
    for (name,), found in zip(sets, groups(reader, sets, weighting, listing=True) if sets else [], strict=True):
        table = _as_read(reader.source, found, {name: columns[name]})
        stands[name] = _standing(domain.variable(name), table, found[reader.source.at(name)], name)
    return groups(reader, [names], weighting, stands)[0]


def _as_read(source: Source, found: Any, columns: Mapping[str, ReadAs]) -> Table:
    """Return distinct rows of columns with the types in which they are read."""
    import pandas as pd

    if source.format is None:
        return named(found.select([source.at(name) for name in columns]), list(columns))
    made = {}
    for name, how in columns.items():
        texts = found[source.at(name)].combine_chunks().dictionary_encode()
        codes = np.asarray(texts.indices.fill_null(len(texts.dictionary)).to_numpy(zero_copy_only=False), np.int64)
        made[name] = how.column((codes, [*texts.dictionary.to_pylist(), None]))
    return read(pd.DataFrame(made, index=pd.RangeIndex(len(found)), copy=False))


def _rows_of(found: Any, table: Table, name: str, source: Source | None = None) -> Rows:
    if not len(found):
        raise DataError(f"{name} has no rows")
    weight, people, squares = (_numbers(found, each) for each in (WEIGHT, ROWS, SQUARES))
    return Rows(table, weight, people, squares, together=True, source=source)


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
        source = _source(table, format, learned.columns, weighting)
        with reading(source) as reader:
            parts = pieces(reader, read_as([learned]), learned.columns, weighting)
            each = (profile_counts(learned, part.table, part.weight, weighting) for part in parts)
            found = reader.run(lambda: sum(each, np.zeros((3, 1))))
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
