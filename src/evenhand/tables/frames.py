"""Any dataframe in, and one of the same type out: pandas, polars (eager and lazy), pyarrow, DuckDB relations."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import narwhals as nw
import pandas as pd

from evenhand import check
from evenhand.arrays import Cells
from evenhand.errors import DataError, Option

Frame = Any
"""Any dataframe that narwhals knows."""


Table = nw.DataFrame[Any]
"""A frame in narwhals' hands."""


def is_path(table: Any) -> bool:
    return isinstance(table, str | os.PathLike)


def read(frame: Frame) -> nw.DataFrame[Any]:
    """Wrap a native frame; what is lazy is collected."""
    if isinstance(frame, nw.DataFrame):
        return frame
    if is_path(frame):
        raise DataError(f"expected a dataframe here, not the path {str(frame)!r}; read the file first")
    if isinstance(frame, pd.DataFrame):
        _refuse_shared_names(list(frame.columns))
    try:
        table = nw.from_native(frame)
    except nw.exceptions.NarwhalsError as error:
        raise DataError(f"this table cannot be read: {error}") from None
    except TypeError:
        raise DataError(
            f"expected a dataframe (pandas, polars, pyarrow or a DuckDB relation), a path or eh.Counts, not "
            f"{type(frame).__name__}"
        ) from None
    if isinstance(table, nw.DataFrame):
        _refuse_shared_names(table.columns)
        return _without_views(table)
    backend = table.implementation
    if backend is nw.Implementation.DUCKDB:
        collected: nw.DataFrame[Any] = nw.from_native(frame.to_arrow_table(), eager_only=True)
        return _without_views(collected)
    if backend is nw.Implementation.POLARS:
        collected = table.collect()
        return collected
    ways = {nw.Implementation.DASK: ".compute()", nw.Implementation.IBIS: ".to_pandas()"}
    collect = ways.get(backend, ".toPandas()")
    raise DataError(f"this needs rows in memory: a {backend} frame must be collected first, for example with {collect}")


def _refuse_shared_names(names: Sequence[Any]) -> None:
    if len(set(names)) < len(names):
        name, times = Counter(names).most_common(1)[0]
        raise DataError(f"the table has {times} columns called {name!r}; rename or drop all but one")


def _without_views(table: nw.DataFrame[Any]) -> nw.DataFrame[Any]:
    """Return an Arrow table with plain texts for views, from which Arrow can take no rows."""
    if not table.implementation.is_pyarrow():
        return table
    arrow: Any = table.to_native()
    views = _views(arrow)
    return nw.from_native(_with_types(arrow, dict.fromkeys(views, "large_string")), eager_only=True) if views else table


def _views(arrow: Any) -> list[str]:
    return [field.name for field in arrow.schema if str(field.type) == "string_view"]


def _with_types(arrow: Any, types: Mapping[str, str]) -> Any:
    """Return an Arrow table with other types of some of its columns."""
    for name, kind in types.items():
        arrow = arrow.set_column(arrow.column_names.index(name), name, arrow.column(name).cast(kind))
    return arrow


def returned(table: nw.DataFrame[Any], like: Frame) -> Frame:
    """Return a table as a native frame of the type that was given."""
    found: Any = table.to_native()
    if isinstance(like, nw.DataFrame):
        return table
    if isinstance(like, pd.DataFrame):
        # Where nothing changed: a frame of one's own all the same.
        return found.copy() if found is like else found
    if type(found) is not type(like):
        # What was lazy.
        lazy = nw.from_native(like).implementation is nw.Implementation.POLARS
        return found.lazy() if lazy else _relation(found, like)
    if table.implementation.is_pyarrow() and (views := _views(like)):
        texts = {field.name for field in found.schema if str(field.type) == "large_string"}
        return _with_types(found, {name: "string_view" for name in views if name in texts})
    return found


def _relation(found: Any, like: Any) -> Any:
    """Return an Arrow table as a relation of the same connection, with the types that the columns had."""
    types = {name: kind for name, kind in zip(like.columns, like.types, strict=True) if _fits(found, name, kind)}
    chosen = ", ".join(
        f"CAST({quoted(name)} AS {types[name]}) AS {quoted(name)}" if name in types else quoted(name)
        for name in found.column_names
    )
    # The relation finds the Arrow table by its name here (no table of the user's is called like that), and keeps it
    # alive.
    evenhand_result_5f0d1c7a9be34c62 = found
    assert evenhand_result_5f0d1c7a9be34c62 is not None
    try:
        return like.query("evenhand_given", f"SELECT {chosen} FROM evenhand_result_5f0d1c7a9be34c62")
    except Exception as error:
        raise DataError(
            f"DuckDB does not take the result as a relation ({error}); pass an Arrow table instead"
        ) from None


def _fits(found: Any, name: str, kind: Any) -> bool:
    """Whether a column of the result can have the type that it had: not if labels or new levels came into it."""
    if name not in found.column_names:
        return False
    texts = str(found.schema.field(name).type) in ("string", "large_string")
    if str(kind.id) == "enum":
        levels = set(dict(kind.children)["values"])
        return {value for value in found.column(name).unique().to_pylist() if value is not None} <= levels
    return not texts or str(kind.id) in ("varchar", "uuid")


def quoted(name: str) -> str:
    """Quote an identifier as DuckDB does."""
    return '"' + name.replace('"', '""') + '"'


def refuse_taken(what: str, name: str, columns: Sequence[str]) -> None:
    if not check.column(what, name):
        raise check.refused(what, "one column name", name)
    if name in columns:
        raise DataError(f"the table already has a column {name!r}; give ", Option(what), " another name")


def to_pandas(table: Any) -> pd.DataFrame:
    found: pd.DataFrame = read(table).to_pandas()
    return found


def with_column(table: nw.DataFrame[Any], name: str, values: Sequence[Any]) -> nw.DataFrame[Any]:
    return table.with_columns(nw.new_series(name, values, backend=table.implementation))


def take(table: nw.DataFrame[Any], rows: Cells) -> nw.DataFrame[Any]:
    """Return rows by position, with repeats."""
    return table[rows.tolist(), :]


def stacked(tables: Sequence[nw.DataFrame[Any]]) -> nw.DataFrame[Any]:
    """Return the rows of several tables of the same columns, one below the other."""
    return nw.concat(tables)


def is_spark(table: Any) -> bool:
    """Whether a table is a Spark dataframe, of a classic session or of Spark Connect.

    Examples
    --------
    >>> is_spark([1, 2])
    False
    """
    kind = type(table)
    return kind.__module__.startswith("pyspark.sql.") and kind.__name__ == "DataFrame"


def in_memory(table: Any) -> bool:
    """Whether a table is neither a file nor Spark's."""
    return not is_path(table) and not is_spark(table)
