"""The canonical text of a key: the same on every engine, whatever type a column has."""

from __future__ import annotations

from typing import Any

import narwhals as nw
import numpy as np

from evenhand.errors import DataError, Option
from evenhand.kernel.md5 import Texts
from evenhand.tables.columns import column, encode, refuse_missing

REAL_KEYS = (
    "real numbers are written differently by different engines, so they cannot be keys; make them text or whole numbers"
)


def key_texts(table: nw.DataFrame[Any], name: str, *, first: int = 0) -> Texts:
    """Return the text of each row's key.

    Text is taken as it is, a whole number in decimal digits, a boolean as ``true`` or ``false``, a date as
    ``YYYY-MM-DD``, a UUID in lower case with hyphens. Anything else is refused. A key may occur several times: those
    rows are one person, and get one draw. It may not be missing. ``first`` is the position of the first row, where a
    table comes in pieces.
    """
    series = column(table, name)
    # Asking a column for its type takes longer than hashing a key: once is enough.
    dtype = series.dtype
    if series.null_count():
        refuse_missing(encode(series), *key_advice(name), first=first)
    try:
        if dtype.is_integer() or isinstance(dtype, nw.String):
            return _written_out(series)
        encoded = encode(series)
        refuse_missing(encoded, *key_advice(name), first=first)
        if isinstance(dtype, nw.Object):
            # Of any kinds: a truth and a one are equal, but not the same key.
            return Texts.of(key_text(name, dtype, value) for value in series.to_list())
        return Texts.of(key_text(name, dtype, value) for value in encoded.values).repeated(encoded.codes)
    except UnicodeEncodeError as error:
        raise DataError(f"the key {name!r} holds {error.object!r}, which is not Unicode text") from None


def _written_out(series: nw.Series[Any]) -> Texts:
    """Return texts and whole numbers; Arrow, where it is installed, writes thousands at once as Python writes one."""
    try:
        import pyarrow

        given: Any = series.to_arrow()
        # A column of pandas may be made of several pieces, or be one of them.
        pieces = given if isinstance(given, pyarrow.ChunkedArray) else pyarrow.chunked_array([given])
        written = pieces.cast(pyarrow.large_string()).combine_chunks()
    except Exception:  # not installed, or of a type that Arrow does not know
        return Texts.of(map(str, series.to_list()))
    _, offsets, data = written.buffers()
    ends = np.frombuffer(offsets, np.int64)[written.offset : written.offset + len(written) + 1]
    return Texts(np.frombuffer(data or b"", np.uint8), ends)


def key_advice(name: str) -> tuple[object, ...]:
    """Return what to do about a missing key."""
    return (f"every row needs its key {name!r}; leave ", Option("key"), " out for draws by position")


def key_text(name: str, dtype: Any, value: Any) -> str:
    """Return the text of one key, in a column of a type."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        return str(int(value))
    if isinstance(value, float | np.floating):
        raise DataError(f"the key {name!r} holds {value!r}: {REAL_KEYS}")
    if isinstance(dtype, nw.Date) or type(value).__name__ == "date":
        return str(value)[:10]
    if type(value).__name__ == "UUID":
        return str(value)
    raise DataError(f"the key {name!r} is of type {dtype}; a key must be text, whole numbers, dates or booleans")
