"""Spark dataframes: counted by groupBy, transformed batch by batch where they lie.

The plan stays lazy and partitioned: Arrow batches go through the same kernel as frames in memory, and the mode is
broadcast once to every worker, where evenhand must be installed. Draws are by key, since the rows of a Spark dataframe
have no positions.

``eh.fit(problem, people)``, ``mapping.apply(people, key="person")`` and ``mapping.release`` use this wherever
``people`` is a Spark dataframe. How many rows had an unknown source is not counted, since nothing is computed yet;
``unseen="error"`` ends the job that meets one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from evenhand import check, tables
from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Variable
from evenhand.data.tree import Kind
from evenhand.data.weighting import Weighting
from evenhand.engines.files import column_number, named
from evenhand.engines.grouping import ROWS, SQUARES, WEIGHT
from evenhand.engines.learning import Sums, cell_sums, levelled
from evenhand.errors import DataError, MissingExtraError, Option, SpecError, did_you_mean, some_of
from evenhand.spec import Problem, check_problem, weighting_of
from evenhand.tables import (
    HOLDS,
    Levelled,
    Piece,
    Table,
    becomes_text,
    is_word,
    learned_variable,
    leaves,
    level_rows,
    profile_counts,
    read,
    refuse_gaps,
    refuse_other_kinds,
    take,
    unlike_fitted,
    weights_column,
)
from evenhand.tables import is_spark as is_spark
from evenhand.tables.sampling import WRITTEN, Alike, Looks, Noticed, alike_in, look, sample_of_rows
from evenhand.tables.transforming import How, Transformer, transform_piece

LEAF, NEW, ONE, CELL = (f"evenhand_{name}" for name in ("leaf", "new", "one", "cell"))
CONTENT, GROUP, OUTCOME = (f"evenhand_{name}" for name in ("content", "group", "outcome"))
SIGN = np.uint64(1 << 63)
"""Spark's whole numbers have signs: with this bit turned, they are in the order of those without."""

NESTED = ("array", "map", "struct", "binary", "variant")

SparkFrame = Any


@runtime_checkable
class Mapped(Protocol):
    """What a mapping can do."""

    def release(self, frame: Any, *, key: str | None, **options: Any) -> Any:
        """Train mode."""

    def apply(self, frame: Any, *, key: str | None, **options: Any) -> Any:
        """Apply mode."""


def counts(
    problem: Problem, frame: SparkFrame, weights: str | None = None, *, frequencies: str | None = None
) -> Counts:
    """Count the rows of a Spark dataframe over the cells of a problem, by one groupBy.

    Parameters
    ----------
    problem : Problem
        Says which columns to count.
    frame : pyspark.sql.DataFrame
        One row per person, or for so many people with ``frequencies``. The distinct combinations of the columns are
        collected, so a column of real numbers that is binned may bring many.
    weights : str, optional
        A column of survey weights.
    frequencies : str, optional
        A column of numbers of people.
    """
    check_problem(problem)
    weighting = weighting_of(problem, weights, frequencies)
    return count_frame(problem, frame, weighting)


def refuse_mistaken(frame: SparkFrame, weighting: Weighting | None) -> None:
    """Refuse weights that look like numbers of people in the first rows."""
    if weighting is not None and weighting.column in frame.columns and not weighting.repeats:
        tables.refuse_mistaken(read(frame.limit(tables.ENOUGH_ROWS).toPandas()), weighting)


def count_frame(problem: Problem, frame: SparkFrame, weighting: Weighting | None) -> Counts:
    """Count a Spark dataframe; refuse weights that look like numbers of people."""
    weights_column(problem.columns, weighting, "a Spark dataframe")
    if not is_spark(frame):
        raise DataError(f"this counts the rows of a Spark dataframe as the table, not of {check.shown(frame)}")
    _require(frame, problem.columns)
    _refuse_nested(frame, problem.columns)
    refuse_mistaken(frame, weighting)
    found = grouped(frame, problem.levelled, weighting)
    rows, weight, squares = (found[name].to_numpy().astype(float) for name in (ROWS, WEIGHT, SQUARES))
    people = level_rows(problem, named(found, problem.levelled), weight, rows, squares=squares)
    if problem.cells is not None:
        people = _learn(problem, people, _Weighed.of(frame, problem.columns, weighting))
    return people.counts(problem)


@dataclass(frozen=True, eq=False)
class _Weighed:
    """Some columns of a Spark dataframe, which have numbers, and beside them the weight of every row."""

    frame: SparkFrame
    columns: tuple[str, ...]
    places: tuple[str, ...]
    repeats: bool = False

    @classmethod
    def of(cls, frame: SparkFrame, columns: Sequence[str], weighting: Weighting | None) -> _Weighed:
        """Choose columns; refuse weights that cannot be counted."""
        functions = _pyspark().sql.functions
        of = weights_column(columns, weighting, "a Spark dataframe")
        repeats = weighting is not None and weighting.repeats
        _require(frame, [*columns, *([] if of is None else [of])])
        _refuse_nested(frame, columns)
        numbered, places = _numbered(frame), [_number(frame, name) for name in columns]
        weight = functions.lit(1.0)
        if of is not None:
            weight = numbered[_number(frame, of)].try_cast("double")
            good = weight.isNotNull() & ~functions.isnan(weight) & (weight >= 0) & (weight < float("inf"))
            if repeats:
                good &= weight == functions.floor(weight)
            if wrong := numbered.where(~good).count():
                assert weighting is not None
                raise DataError(f"{wrong} rows have no {weighting.needed} in column {of!r}")
        return cls(numbered.select(*places, weight.alias(WEIGHT)), tuple(columns), tuple(places), repeats)

    @property
    def weighing(self) -> _Weighed:
        """The rows that weigh anything."""
        return replace(self, frame=self.frame.where(_pyspark().sql.functions.col(WEIGHT) > 0))

    def each(self, work: Callable[[Piece], Any], schema: Any) -> SparkFrame:
        """Return the plan that does a piece of work with every batch, which makes an Arrow table of it."""
        columns, repeats = self.columns, self.repeats

        def batches(given: Iterable[Any]) -> Iterator[Any]:
            for batch in given:
                if len(batch):
                    yield from work(_piece(batch, columns, repeats)).to_batches()

        return self.frame.mapInArrow(batches, schema)


def _piece(batch: Any, columns: Sequence[str], repeats: bool) -> Piece:
    import pyarrow

    return Piece(named(pyarrow.Table.from_batches([batch]), columns), batch.column(len(columns)).to_numpy(), repeats)


def grouped(frame: SparkFrame, columns: Sequence[str], weighting: Weighting | None) -> Any:
    """Return the distinct rows of some columns, which have numbers, as an Arrow table.

    Beside them are their number, their weight and the sum of their squared weights.
    """
    chosen = _Weighed.of(frame, columns, weighting)
    return _collected(chosen.frame.groupBy(*chosen.places).agg(*_totals(chosen)), chosen.places)


def _totals(chosen: _Weighed) -> list[Any]:
    functions = _pyspark().sql.functions
    weight, total = functions.col(WEIGHT), functions.sum(WEIGHT)
    people = total if chosen.repeats else functions.count(functions.when(weight > 0, 1))
    squares = total if chosen.repeats else functions.sum(weight * weight)
    return [people.alias(ROWS), total.alias(WEIGHT), squares.alias(SQUARES)]


def _collected(plan: SparkFrame, places: Sequence[str]) -> Any:
    # Partitions finish in any order; the same table must give the same counts.
    return plan.toArrow().sort_by([(place, "ascending") for place in places])


def grouped_for(domain: Domain, frame: SparkFrame, weighting: Weighting | None) -> Any:
    """Return the distinct rows of a domain's columns; where cells were learned, one for each kind of rows.

    Rows are then of one kind if they agree in the columns that have levels, in the leaf, and in the columns whose words
    the tree does not know.
    """
    own = [variable.name for variable in domain.variables if variable.is_column]
    learned = next((variable for variable in domain.variables if not variable.is_column), None)
    if learned is None:
        return grouped(frame, own, weighting)
    pyspark, columns = _pyspark(), dict.fromkeys(column for variable in domain.variables for column in variable.columns)
    functions, chosen = pyspark.sql.functions, _Weighed.of(frame, tuple(columns), weighting)
    _refuse_other_kinds(learned, frame)
    plan = chosen.each(_with_leaf(learned), _with(chosen.frame.schema, **{LEAF: "long", NEW: "string"}))
    by = [_number(frame, name) for name in own]
    rest = [place for place in chosen.places if place not in by]
    totals = [functions.first(functions.struct(*rest)).alias(ONE)] if rest else []
    plan = plan.groupBy(*by, LEAF, NEW).agg(*totals, *_totals(chosen))
    values = [functions.col(at if at in by else f"{ONE}.{at}").alias(at) for at in chosen.places]
    return _collected(plan.select(*values, ROWS, WEIGHT, SQUARES, LEAF, NEW), [*by, LEAF, NEW])


def _with_leaf(learned: Variable) -> Callable[[Piece], Any]:
    """Return what adds to rows their leaf, and in which columns of words each has one that the tree does not know."""

    def work(piece: Piece) -> Any:
        import pyarrow

        table = piece.table.to_native()
        places = [column_number(place) for place in range(len(table.column_names))]
        new = [flags.astype(int).astype(str) for flags in unlike_fitted(learned, piece.table).values()]
        marks = ["".join(each) for each in zip(*new, strict=True)] if new else [""] * len(table)
        leaf = pyarrow.array(leaves(learned, piece.table), "int64")
        columns = [*table.columns, pyarrow.array(piece.weight, "float64"), leaf, pyarrow.array(marks, "string")]
        return pyarrow.table(columns, names=[*places, WEIGHT, LEAF, NEW])

    return work


def profile_counts_of(learned: Variable, frame: SparkFrame, weighting: Weighting | None) -> Numbers:
    """Count rows by the levels of every column that cells are learned from, as ``profile_counts`` does."""
    functions, chosen = _pyspark().sql.functions, _Weighed.of(frame, learned.columns, weighting)
    _refuse_other_kinds(learned, frame)

    def work(piece: Piece) -> Any:
        import pyarrow

        found = profile_counts(learned, piece.table, piece.weight, weighting)
        return pyarrow.table([np.arange(found.shape[1]), *found], names=[CELL, ROWS, WEIGHT, SQUARES])

    plan = chosen.each(work, f"{CELL} long, {ROWS} double, {WEIGHT} double, {SQUARES} double")
    names = (ROWS, WEIGHT, SQUARES)
    found = plan.groupBy(CELL).agg(*(functions.sum(name).alias(name) for name in names)).orderBy(CELL).toArrow()
    return np.array([found.column(name).to_numpy() for name in names])


def _learn(problem: Problem, rows: Levelled, given: _Weighed) -> Levelled:
    """Learn cells from a sample, and count everybody in them: three jobs."""
    assert problem.cells is not None
    given = given.weighing
    functions, known = _pyspark().sql.functions, _looked_at(problem, given)
    fields = {CONTENT: "long", GROUP: "long", OUTCOME: "long", ROWS: "double"}
    alike = given.each(_with_contents(problem, known, rows.variables), _with(given.frame.schema, **fields))
    summed = (functions.sum(name).alias(name) for name in (WEIGHT, ROWS))
    one_of = (functions.first(place).alias(place) for place in given.places)
    order = (CONTENT, GROUP, OUTCOME)
    # One more than is needed tells whether there are more, and cuts none of those that are kept.
    chosen = alike.groupBy(*order).agg(*one_of, *summed).orderBy(*order).limit(problem.cells.sample + 1).toArrow()
    number = chosen.column(CONTENT).to_numpy().view(np.uint64) ^ SIGN
    parts = (chosen.column(name).to_numpy() for name in (GROUP, OUTCOME, WEIGHT, ROWS))
    kept = Alike.of(number, *parts).first(problem.cells.sample)
    table = take(named(chosen.select(list(given.places)), given.columns), kept.at)
    learned = learned_variable(problem, problem.cells, sample_of_rows(problem, known, rows.everybody, kept, table))
    domain = Domain.of((*rows.variables, learned))
    plan = given.each(_cell_sums(domain), f"{CELL} long, {ROWS} double, {WEIGHT} double, {SQUARES} double")
    found = plan.groupBy(CELL).agg(*(functions.sum(name).alias(name) for name in (ROWS, WEIGHT, SQUARES))).toArrow()
    counted = Sums(*(found.column(name).to_numpy() for name in (CELL, ROWS, WEIGHT, SQUARES)))
    # Partitions finish in any order.
    return levelled(domain, Sums.joined([counted]), rows)


def _cell_sums(domain: Domain) -> Callable[[Piece], Any]:
    def work(piece: Piece) -> Any:
        import pyarrow

        found = cell_sums(domain, piece)
        names = (CELL, ROWS, WEIGHT, SQUARES)
        return pyarrow.table([found.cell, found.people, found.weight, found.squares], names=names)

    return work


def _with_contents(problem: Problem, known: Looks, variables: Sequence[Variable]) -> Callable[[Piece], Any]:
    """Return what puts rows together that are alike, with the number by which a sample is chosen.

    Numbers are in the order of Spark's whole ones, which have a sign.
    """

    def work(piece: Piece) -> Any:
        import pyarrow

        alike = alike_in(problem, known, variables, piece)
        table = take(piece.table, alike.at).to_native()
        number = (alike.number ^ SIGN).view("int64")
        names = [*map(column_number, range(len(table.column_names))), WEIGHT, CONTENT, GROUP, OUTCOME, ROWS]
        more = (alike.weight, number, alike.group, alike.outcome, alike.people)
        return pyarrow.table([*table.columns, *map(pyarrow.array, more)], names=names)

    return work


def _looked_at(problem: Problem, given: _Weighed) -> Looks:
    """Return what the features hold, by all of their values."""

    def work(piece: Piece) -> Any:
        import pyarrow

        found = look(problem, piece.table)
        flags = [[kind in each.kinds for kind in Kind] + [each.valued, each.gaps] for each in found.values()]
        return pyarrow.table([list(found), *map(list, zip(*flags, strict=True))], names=["name", *names])

    functions, names = _pyspark().sql.functions, [*(kind.value for kind in Kind), "valued", "gaps"]
    plan = given.each(work, ", ".join(["name string", *(f"{name} boolean" for name in names)]))
    some = {"valued", "gaps"}
    totals = [(functions.bool_or if name in some else functions.bool_and)(name).alias(name) for name in names]
    found = {row["name"]: row for row in plan.groupBy("name").agg(*totals).collect()}
    return {name: _noticed(found[name]) for name in problem.features}


def _noticed(row: Any) -> Noticed:
    kinds = tuple(kind for kind in (Kind.NUMBER, *(kind for kind, _ in WRITTEN), Kind.WORD) if row[kind.value])
    return Noticed(kinds or (Kind.WORD,), row["valued"], row["gaps"])


def _with(schema: Any, **fields: str) -> Any:
    """Return a schema with more fields."""
    more = _pyspark().sql.types.StructType(list(schema.fields))
    for name, kind in fields.items():
        more = more.add(name, kind)
    return more


def release(mapping: Mapped, frame: SparkFrame, *, key: str, **options: Any) -> SparkFrame:
    """Train mode on a Spark dataframe: what ``mapping.release(frame, key=key)`` does."""
    check.kind("mapping", mapping, Mapped, "an eh.Mapping")
    return mapping.release(frame, key=key, **options)


def apply(mapping: Mapped, frame: SparkFrame, *, key: str, **options: Any) -> SparkFrame:
    """Apply mode on a Spark dataframe: what ``mapping.apply(frame, key=key)`` does."""
    check.kind("mapping", mapping, Mapped, "an eh.Mapping")
    return mapping.apply(frame, key=key, **options)


def transform_spark(mode: Transformer, frame: SparkFrame, how: How) -> SparkFrame:
    """Return the plan that transforms a Spark dataframe; nothing is computed until its rows are asked for."""
    if how.key is None:
        raise SpecError(
            "the rows of a Spark dataframe have no positions that draws could go by; give ",
            Option("key"),
            ", a column that says who a row is",
        )
    if how.balanced:
        raise SpecError("balanced draws need every row of a source at once; Spark has them in partitions")
    _require(frame, [*mode.columns, how.key])
    _refuse_nested(frame, mode.columns)
    types = _pyspark().sql.types
    for variable in mode.read:
        # Found here, before there is a job that would fail.
        if not variable.is_column:
            _refuse_other_kinds(variable, frame)
            continue
        kind = frame.schema[variable.name].dataType
        texts, numbers = isinstance(kind, types.StringType), isinstance(kind, types.NumericType)
        if (texts and variable.numeric) or (numbers and variable.textual):
            own = "numbers" if texts else "texts"
            raise DataError(
                f"column {variable.name!r} is of type {kind.simpleString()}, but its levels are {own}; cast the column"
            )
    made_text, emptied = _texts(mode, how), {variable.name for variable in mode.written if variable.has_missing}
    fields = [
        types.StructField(
            field.name,
            types.StringType() if field.name in made_text else field.dataType,
            field.nullable or field.name in emptied,
            field.metadata,
        )
        for field in frame.schema.fields
    ]
    return _numbered(frame).mapInArrow(_worker(frame, mode, how), types.StructType(fields))


def _refuse_other_kinds(learned: Variable, frame: SparkFrame) -> None:
    """Refuse a column of a type that can hold nothing of the kind that a tree asks about."""
    assert learned.tree is not None
    types = _pyspark().sql.types
    for asked in learned.tree.columns:
        kind = frame.schema[asked.name].dataType
        texts, numbers = isinstance(kind, types.StringType), isinstance(kind, types.NumericType)
        days = isinstance(kind, types.DateType | types.TimestampType | types.TimestampNTZType)
        if (
            (texts and asked.kind is Kind.NUMBER)
            or (numbers and asked.kind is Kind.DATE)
            or (numbers and asked.kind is Kind.WORD and not is_word(asked, 0))
            or (isinstance(kind, types.BooleanType) and asked.kind is Kind.WORD and not is_word(asked, True))
            or (isinstance(kind, types.BinaryType))
            or (days and asked.kind is not Kind.DATE)
        ):
            raise DataError(
                f"column {asked.name!r} is of type {kind.simpleString()}, but the fitted table had "
                f"{HOLDS[asked.kind]} there; cast the column"
            )


def _worker(frame: SparkFrame, mode: Transformer, how: How) -> Callable[[Iterable[Any]], Iterator[Any]]:
    """Return what runs on the workers: it carries the broadcast of the mode, or with Spark Connect the mode itself."""
    names = list(frame.columns)
    try:
        shared = frame.sparkSession.sparkContext.broadcast(mode)
    except AttributeError:  # Spark Connect has no context to broadcast with.
        return lambda batches: _batches(batches, names, mode, how)
    return lambda batches: _batches(batches, names, shared.value, how)


def _batches(batches: Iterable[Any], names: list[str], mode: Transformer, how: How) -> Iterator[Any]:
    """Transform the batches of one partition."""
    import pyarrow

    texts = _texts(mode, how)
    for batch in batches:
        given = pyarrow.Table.from_batches([batch]).rename_columns(names)
        table = read(given)
        try:
            done = transform_piece(mode, table, how)
        except DataError:
            # A batch's rows have no place in the table: what is missing, or of another kind, is named by its key.
            _refuse_gaps(mode, table, how)
            raise
        fields = [field.with_type(pyarrow.string()) if field.name in texts else field for field in given.schema]
        schema = pyarrow.schema([field.with_nullable(True) for field in fields])
        yield from done.table.to_native().cast(schema).to_batches()


def _refuse_gaps(mode: Transformer, table: Table, how: How) -> None:
    assert how.key is not None
    keys = table[how.key]

    def where(row: int) -> str:
        return f" in the row whose {keys.name!r} is {keys[row]!r}"

    refuse_gaps(mode.reads, table, lambda _, row: where(row))
    refuse_other_kinds(mode.reads, table, where)


def _texts(mode: Transformer, how: How) -> set[str]:
    return {variable.name for variable in mode.written if becomes_text(variable, how.restore)}


def _require(frame: SparkFrame, columns: Sequence[str]) -> None:
    for name in columns:
        if frame.columns.count(name) != 1:
            what = "no column" if name not in frame.columns else "several columns called"
            hint = did_you_mean(name, frame.columns) if name not in frame.columns else ""
            raise DataError(f"the table has {what} {name!r}; it has {some_of(frame.columns)}.{hint}")


def _refuse_nested(frame: SparkFrame, columns: Sequence[str]) -> None:
    """Refuse columns whose values are made of others: they are no levels, and have no order."""
    for field in frame.schema.fields:
        if field.name in columns and field.dataType.typeName() in NESTED:
            raise DataError(
                f"column {field.name!r} is of type {field.dataType.simpleString()}; a column must hold strings, "
                f"numbers or booleans"
            )


def _numbered(frame: SparkFrame) -> SparkFrame:
    """Return a dataframe whose columns have numbers: Spark takes dots and quotes in names apart, and folds case."""
    return frame.toDF(*map(column_number, range(len(frame.columns))))


def _number(frame: SparkFrame, name: str) -> str:
    return column_number(frame.columns.index(name))


def _pyspark() -> Any:
    try:
        import pyarrow  # noqa: F401
        import pyspark.sql
        import pyspark.sql.functions
        import pyspark.sql.types
    except ImportError:
        raise MissingExtraError("Spark dataframes need pyspark and pyarrow: pip install 'evenhand[spark]'") from None
    return pyspark
