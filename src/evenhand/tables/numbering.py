"""The distinct values of a column, numbered: codes row by row, and the list of values that they stand for.

Each library keeps columns in its own way, and has its own fastest way to number them; none makes a Python object for
each row. A long column nearly always shows all of its values in its first rows: these are listed, and the others looked
up among them; if one is new after all, the column is numbered from the start.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

NULL = -1

FIRST_ROWS = 1 << 16
"""So many rows are expected to show all values of a longer column."""

PART = 1 << 19
"""Rows that are looked up at once."""

FEW = FIRST_ROWS // 16
"""A column with more values in its first rows is expected to have others below; whole numbers in a range of so many
are numbered by their distance from the least."""

KEPT_BY_ARROW = (nw.String, nw.Categorical, nw.Enum, nw.Boolean, nw.Int64)
"""The types whose values Arrow numbers by itself."""

Numbered = tuple[NDArray[Any], list[Any]]


def numbered(series: nw.Series[Any]) -> Numbered:
    """Return a column's codes, NULL where a value is missing, and its distinct values (or a pandas column's categories,
    whether or not they occur).
    """
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        return native.cat.codes.to_numpy(), native.cat.categories.tolist()
    near = _whole_numbers(series)
    if near is not None:
        return near
    if kept_by_arrow(series) and isinstance(series.dtype, KEPT_BY_ARROW):
        # Where Arrow is not installed, the column is numbered as any other.
        with suppress(ImportError):
            arrow = _as_enum(series).to_arrow()
            return _looked_up(arrow) or _by_arrow(arrow)
    found, distinct = pd.factorize(native if isinstance(native, pd.Series) else _array(series))
    return np.asarray(found), distinct.tolist()


def _whole_numbers(series: nw.Series[Any]) -> Numbered | None:
    """Number whole numbers by their distance from the least, where there are none missing and they lie close."""
    if not len(series) or not series.dtype.is_integer() or series.null_count():
        return None
    numbers = series.to_numpy()
    if numbers.dtype.kind not in "iu":
        return None
    low, high = int(numbers.min()), int(numbers.max())
    if high - low >= FEW:
        return None
    codes = np.empty(len(numbers), dtype=np.int16)
    # In 64 bits, where numbers without signs that are too large turn over, and their differences are right again.
    np.subtract(numbers, numbers.min().astype(np.int64), out=codes, dtype=np.int64, casting="unsafe")
    return _used(codes, list(range(low, high + 1)))


def kept_by_arrow(series: nw.Series[Any]) -> bool:
    """Whether a column's library keeps it as Arrow does, or nearly so."""
    return not series.implementation.is_pandas() or getattr(series.to_native().dtype, "storage", None) == "pyarrow"


def _as_enum(series: nw.Series[Any]) -> nw.Series[Any]:
    """Return polars' texts as an enumeration of those of the first rows; any other column, or one with more, as it is.

    Polars keeps short texts in a way of its own, which is slow to make into Arrow's.
    """
    if series.implementation is not nw.Implementation.POLARS or not isinstance(series.dtype, nw.String):
        return series
    values = series.head(FIRST_ROWS).unique(maintain_order=True).drop_nulls().to_list()
    if len(values) > FEW or len(series) <= FIRST_ROWS:
        return series
    try:
        return series.cast(nw.Enum(values))
    except Exception:  # a value that the first rows do not have; each version has an error of its own for it
        return series


def _looked_up(given: Any) -> Numbered | None:
    """Look up the values of a long Arrow column among those of its first rows; None where one is not there."""
    import pyarrow
    from pyarrow import compute

    if len(given) <= FIRST_ROWS or pyarrow.types.is_dictionary(given.type):
        return None
    values = given.slice(0, FIRST_ROWS).unique().drop_null()
    if len(values) > FEW or pyarrow.types.is_string_view(given.type):
        return None
    codes = np.empty(len(given), dtype=np.int16)
    for first in range(0, len(given), PART):
        part = given.slice(first, PART)
        found = compute.index_in(part, values)
        if found.null_count > part.null_count:
            return None
        codes[first : first + PART] = _codes(_chunks(found))
    return codes, values.to_pylist()


def _by_arrow(given: Any) -> Numbered:
    import pyarrow

    # All chunks by the same list of values.
    chunks = _chunks(pyarrow.chunked_array(_chunks(given.dictionary_encode())).unify_dictionaries())
    values = chunks[0].dictionary.to_pylist()
    if None in values or len(set(values)) < len(values):
        # A dictionary that holds a null, or a value twice, numbers rows and not values.
        return _by_arrow(given.cast(given.type.value_type))
    codes = _codes([chunk.indices for chunk in chunks])
    return _used(codes, values) if pyarrow.types.is_dictionary(given.type) else (codes, values)


def _chunks(given: Any) -> list[Any]:
    """Return the parts of an Arrow column, at least one."""
    if not hasattr(given, "chunks"):
        return [given]
    return given.chunks or [given.combine_chunks()]


def _codes(parts: list[Any]) -> NDArray[Any]:
    import pyarrow

    # Some libraries count without signs, where null has no number, and in 64 bits sums would be real numbers.
    arrays = [
        (p.cast("int64").fill_null(NULL) if p.null_count or pyarrow.types.is_uint64(p.type) else p).to_numpy()
        for p in parts
    ]
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)


def _used(codes: NDArray[Any], values: list[Any]) -> Numbered:
    """Leave out the values that no row has: a library's dictionary may hold those of other columns."""
    if _there(codes[:FIRST_ROWS], len(values)).all():
        return codes, values
    there = _there(codes, len(values))
    place = np.append(np.cumsum(there) - 1, NULL)
    return place[codes], [value for value, used in zip(values, there.tolist(), strict=True) if used]


def _there(codes: NDArray[Any], number: int) -> NDArray[np.bool_]:
    return np.asarray(np.bincount(codes.astype(np.int64) - NULL, minlength=number - NULL)[-NULL:] > 0)


def _array(series: nw.Series[Any]) -> Any:
    """Return a column as an array; an integer or boolean column with nulls keeps its values as they are."""
    if series.null_count() and not isinstance(series.dtype, nw.String) and not series.dtype.is_float():
        return np.array(series.to_list(), dtype=object)
    return series.to_numpy()
