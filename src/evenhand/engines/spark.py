"""Spark dataframes: counted by one groupBy, transformed batch by batch where they lie.

The plan stays lazy and partitioned: Arrow batches go through the same kernel as frames in memory, and the mode is
broadcast once to every worker, where evenhand must be installed. Draws are by key, since the rows of a Spark dataframe
have no positions.

``eh.fit(problem, people)``, ``mapping.apply(people, key="person")`` and ``mapping.release`` use this wherever
``people`` is a Spark dataframe. How many rows had an unknown source is not counted, since nothing is computed yet;
``unseen="error"`` ends the job that meets one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

from evenhand import check
from evenhand.data.counts import Counts
from evenhand.engines.files import column_number, named
from evenhand.errors import DataError, MissingExtraError, Option, SpecError, did_you_mean, some_of
from evenhand.spec import Problem, check_problem
from evenhand.tables import Table, becomes_text, count_rows, read, refuse_gaps, weights_column
from evenhand.tables.transforming import How, Transformer, transform_piece

ROWS, WEIGHT, SQUARES = "evenhand_rows", "evenhand_weight", "evenhand_squares"
NESTED = ("array", "map", "struct", "binary", "variant")

SparkFrame = Any
Weights = str | Sequence[float] | None


@runtime_checkable
class Mapped(Protocol):
    """What a mapping can do."""

    def release(self, frame: Any, *, key: str | None, **options: Any) -> Any:
        """Train mode."""

    def apply(self, frame: Any, *, key: str | None, **options: Any) -> Any:
        """Apply mode."""


def is_spark(table: Any) -> bool:
    """Whether a table is a Spark dataframe, of a classic session or of Spark Connect.

    Examples
    --------
    >>> is_spark([1, 2])
    False
    """
    kind = type(table)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def counts(problem: Problem, frame: SparkFrame, weights: Weights = None) -> Counts:
    """Count the rows of a Spark dataframe over the cells of a problem, by one groupBy.

    Parameters
    ----------
    problem : Problem
        Says which columns to count.
    frame : pyspark.sql.DataFrame
        One row per person, or per cell with ``weights``. The distinct combinations of the columns are collected,
        so a column of real numbers that is binned may bring many.
    weights : str, optional
        A column of weights.
    """
    check_problem(problem)
    weights_column(problem.columns, weights, "a Spark dataframe")
    if not is_spark(frame):
        raise DataError(f"this counts the rows of a Spark dataframe as the table, not of {check.shown(frame)}")
    found = grouped(frame, problem.columns, weights)
    table = named(found, problem.columns)
    rows, weight, squares = (found[name].to_numpy().astype(float) for name in (ROWS, WEIGHT, SQUARES))
    return count_rows(problem, table, weight, rows, squares=squares)


def grouped(frame: SparkFrame, columns: Sequence[str], weights: Weights) -> Any:
    """Return the distinct rows of some columns, which have numbers, as an Arrow table.

    Beside them are their number, their weight and the sum of their squared weights.
    """
    functions = _pyspark().sql.functions
    of = weights_column(columns, weights, "a Spark dataframe")
    _require(frame, [*columns, *([] if of is None else [of])])
    _refuse_nested(frame, columns)
    numbered, places = _numbered(frame), [_number(frame, name) for name in columns]
    weight = functions.lit(1.0)
    if of is not None:
        weight = numbered[_number(frame, of)].try_cast("double")
        good = weight.isNotNull() & ~functions.isnan(weight) & (weight >= 0) & (weight < float("inf"))
        if wrong := numbered.where(~good).count():
            raise DataError(f"{wrong} rows have no weight of at least 0 in column {of!r}")
    chosen = numbered.select(*places, weight.alias(WEIGHT))
    positive = functions.count(functions.when(functions.col(WEIGHT) > 0, 1)).alias(ROWS)
    squares = functions.sum(functions.col(WEIGHT) * functions.col(WEIGHT)).alias(SQUARES)
    found = chosen.groupBy(*places).agg(positive, functions.sum(WEIGHT).alias(WEIGHT), squares).toArrow()
    # Partitions finish in any order; the same table must give the same counts.
    return found.sort_by([(place, "ascending") for place in places])


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
            # A batch's rows have no place in the table: what is missing is named by its key.
            _refuse_gaps(mode, table, how)
            raise
        fields = [field.with_type(pyarrow.string()) if field.name in texts else field for field in given.schema]
        schema = pyarrow.schema([field.with_nullable(True) for field in fields])
        yield from done.table.to_native().cast(schema).to_batches()


def _refuse_gaps(mode: Transformer, table: Table, how: How) -> None:
    assert how.key is not None
    keys = table[how.key]
    refuse_gaps(mode.reads, table, lambda _, row: f" in the row whose {keys.name!r} is {keys[row]!r}")


def _texts(mode: Transformer, how: How) -> set[str]:
    """Name the columns that become text."""
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
