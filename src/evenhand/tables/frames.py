"""Any dataframe in, and one of the same type out: pandas, polars (eager and lazy), pyarrow, DuckDB relations."""

from __future__ import annotations

import os
from typing import Any

import narwhals as nw
import pandas as pd

from evenhand.errors import DataError

Frame = Any
"""Any dataframe that narwhals knows."""


Table = nw.DataFrame[Any]
"""A frame in narwhals' hands."""


def read(frame: Frame) -> nw.DataFrame[Any]:
    """Wrap a native frame; what is lazy is collected."""
    if isinstance(frame, nw.DataFrame):
        return frame
    if isinstance(frame, str | os.PathLike):
        raise DataError(f"expected a dataframe here, not the path {str(frame)!r}; read the file first")
    try:
        table = nw.from_native(frame)
    except TypeError:
        raise DataError(
            f"expected a dataframe (pandas, polars, pyarrow or a DuckDB relation), a path or eh.Counts, not "
            f"{type(frame).__name__}"
        ) from None
    if isinstance(table, nw.DataFrame):
        return table
    backend = table.implementation
    if backend is nw.Implementation.DUCKDB:
        collected: nw.DataFrame[Any] = nw.from_native(frame.to_arrow_table(), eager_only=True)
        return collected
    if backend is nw.Implementation.POLARS:
        collected = table.collect()
        return collected
    raise DataError(f"a lazy {backend} frame must be collected first, for example with .to_pandas()")


def returned(table: nw.DataFrame[Any], like: Frame) -> Frame:
    """Return a table as a native frame of the type that was given."""
    found: Any = table.to_native()
    if isinstance(like, nw.DataFrame):
        return table
    given = nw.from_native(like)
    if isinstance(given, nw.DataFrame):
        # Where nothing changed: a frame of one's own all the same.
        return found.copy() if found is like and isinstance(like, pd.DataFrame) else found
    if given.implementation is nw.Implementation.POLARS:
        return found.lazy()
    return _relation(found, like)


def _relation(found: Any, like: Any) -> Any:
    """Return an Arrow table as a relation of the same connection, with the types that the columns had."""
    types = dict(zip(like.columns, like.types, strict=True))
    chosen = ", ".join(
        f"CAST({_quoted(name)} AS {types[name]}) AS {_quoted(name)}" if name in types else _quoted(name)
        for name in found.column_names
    )
    # The relation finds the Arrow table by its name here, and keeps it alive.
    evenhand_result = found
    assert evenhand_result is not None
    return like.query("evenhand_given", f"SELECT {chosen} FROM evenhand_result")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def to_pandas(table: Any) -> pd.DataFrame:
    """Return any frame as a pandas frame."""
    found: pd.DataFrame = read(table).to_pandas()
    return found
