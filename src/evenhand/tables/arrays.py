"""Arrays and loose columns beside frames: what scikit-learn passes around, as frames that a mapping can read."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.arrays import Cells
from evenhand.errors import DataError

Frame = Any


def is_frame(given: Any) -> bool:
    """Whether this is an eager dataframe, of any library that narwhals knows; a lazy one is refused."""
    found = nw.from_native(given, pass_through=True)
    if isinstance(found, nw.LazyFrame):
        raise DataError(f"scikit-learn needs rows in memory, not a lazy {type(given).__name__}; collect it first")
    return isinstance(found, nw.DataFrame)


def is_series(given: Any) -> bool:
    """Whether this is a column, of any library that narwhals knows."""
    return isinstance(nw.from_native(given, series_only=True, pass_through=True), nw.Series)


def from_array(array: NDArray[Any], read: Collection[str], whole: Collection[str]) -> pd.DataFrame:
    """Return the columns of an array as a frame, named by their numbers: "0", "1" and so on.

    Those named in ``read`` must hold texts or numbers. An array has one dtype for all its columns, so that codes beside
    real numbers are stored as real numbers, too: columns named in ``whole`` become integers again where every value is
    whole.

    Examples
    --------
    >>> from_array(np.array([[0.0, 2.5], [1.0, 3.0]]), [], whole=["0", "1"]).dtypes.astype(str).tolist()
    ['int64', 'float64']
    """
    columns = {str(i): array[:, i] for i in range(array.shape[1])}
    for name in columns.keys() & set(read):
        kinds = str | bool | int | float | np.generic | None
        odd = [v for v in columns[name] if not isinstance(v, kinds)] if array.dtype.kind == "O" else []
        if odd:
            raise DataError(f"column {name!r} holds {odd[0]!r}, which is neither a text nor a number")
    return pd.DataFrame({name: one_column(values, name in whole) for name, values in columns.items()})


def one_column(values: NDArray[Any], whole: bool) -> pd.Series[Any]:
    """Return an array as a column; with ``whole`` as integers where it can be."""
    column: pd.Series[Any] = pd.Series(values).infer_objects()
    if whole and column.dtype.kind == "f" and np.all(np.isfinite(column)) and np.all(column == np.rint(column)):
        return column.astype("int64")
    return column


def to_array(frame: Frame, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return a frame as an array of the given dtype; texts may grow longer."""
    return _as_dtype(nw.from_native(frame, eager_only=True).to_pandas().to_numpy(), dtype)


def _as_dtype(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    return values.astype(dtype.kind if dtype.kind in "US" else dtype)


def names(frame: Frame) -> list[Any]:
    return list(frame.columns) if isinstance(frame, pd.DataFrame) else nw.from_native(frame, eager_only=True).columns


def renamed(frame: pd.DataFrame, columns: Sequence[Any]) -> pd.DataFrame:
    """Return a pandas frame with other names."""
    return frame.set_axis(pd.Index(columns), axis="columns")


def select(frame: Frame, columns: Sequence[str]) -> Frame:
    return nw.from_native(frame, eager_only=True).select(list(columns)).to_native()


def rows(frame: Any, positions: Cells) -> Any:
    if isinstance(frame, np.ndarray):
        return frame[positions]
    if isinstance(frame, pd.DataFrame):
        # Names that are no texts are no matter here.
        return frame.iloc[positions]
    return nw.from_native(frame, eager_only=True)[positions.tolist(), :].to_native()


def with_column(frame: Frame, name: str, values: Any) -> Frame:
    """Add a column, an array or a series of any library, to a frame; rows are matched by position."""
    table = nw.from_native(frame, eager_only=True)
    if name in table.columns:
        raise DataError(f"X has a column {name!r}, which is the outcome's name; the outcome is y, so leave it out of X")
    if isinstance(frame, pd.DataFrame):
        given = values if isinstance(values, pd.Series) else pd.Series(_array(values))
        return frame.assign(**{name: given.set_axis(frame.index)})
    series, backend = values, table.implementation
    if not is_series(values) or nw.from_native(values, series_only=True).implementation is not backend:
        series = nw.new_series(name, _array(values).tolist(), backend=backend).to_native()
    return table.with_columns(nw.from_native(series, series_only=True).alias(name)).to_native()


def split(frame: Frame, *columns: str) -> tuple[Frame, ...]:
    """Take columns out of a frame: return the rest of it, and each of them as a series."""
    table = nw.from_native(frame, eager_only=True)
    return (table.drop(columns).to_native(), *(table[name].to_native() for name in columns))


def numbers(series: Any) -> NDArray[Any]:
    return np.asarray(nw.from_native(series, series_only=True).to_numpy())


def _array(values: Any) -> NDArray[Any]:
    return numbers(values) if is_series(values) else np.asarray(values)


def like(given: Any, series: Any) -> Any:
    """Return a column as the kind that was given: an array, or a series of its library with its name and dtype.

    Examples
    --------
    >>> like(np.array([0.0, 1.0]), pd.Series([1, 1])).tolist()
    [1.0, 1.0]
    """
    if isinstance(given, np.ndarray):
        return _as_dtype(numbers(series), given.dtype)
    values = nw.from_native(series, series_only=True).to_list()
    if isinstance(given, pd.Series):
        return pd.Series(values, index=given.index, name=given.name, dtype=given.dtype)
    model = nw.from_native(given, series_only=True)
    return nw.new_series(model.name, values, model.dtype, backend=model.implementation).to_native()


def distinct(frame: Frame) -> tuple[Cells, Cells]:
    """Return the position of the first of each kind of equal rows, and for every row the number of its kind.

    Examples
    --------
    >>> first, kind = distinct(pd.DataFrame({"a": [1, 2, 1], "b": ["u", "u", "u"]}))
    >>> first.tolist(), kind.tolist()
    ([0, 1], [0, 1, 0])
    """
    table = nw.from_native(frame, eager_only=True).to_pandas()
    kind = np.zeros(len(table), dtype=np.int64)
    for place in range(table.shape[1]):
        codes, found = pd.factorize(table.iloc[:, place], use_na_sentinel=False)
        # Renumbered at every column, so that the product of all levels never overflows.
        kind = np.unique(kind * max(len(found), 1) + codes, return_inverse=True)[1]
    _, first, kind = np.unique(kind, return_index=True, return_inverse=True)
    return np.asarray(first, dtype=np.int64), np.asarray(kind, dtype=np.int64)


def kinds(frame: Frame, columns: Sequence[str]) -> dict[str, Any]:
    """Return the dtypes of columns of a pandas frame; of any other none are known."""
    return {name: frame[name].dtype for name in columns} if isinstance(frame, pd.DataFrame) else {}


def of_kinds(frame: Frame, wanted: Mapping[str, Any]) -> Frame:
    """Return a pandas frame with columns of given dtypes, where they hold nothing that these cannot.

    Examples
    --------
    >>> known = pd.CategoricalDtype(["a", "b"])
    >>> [str(of_kinds(pd.DataFrame({"x": x}), {"x": known})["x"].dtype) for x in (["a"], ["c"])]
    ['category', 'str']
    """
    if not isinstance(frame, pd.DataFrame):
        return frame
    changed = {name: _as_kind(frame[name], kind) for name, kind in wanted.items() if frame[name].dtype != kind}
    return frame.assign(**changed) if changed else frame


def _as_kind(column: pd.Series[Any], kind: Any) -> pd.Series[Any]:
    if isinstance(kind, pd.CategoricalDtype):
        return column.astype(kind) if column.dropna().isin(kind.categories).all() else column
    try:
        found = column.astype(kind)
    except (TypeError, ValueError):
        return column
    return found if ((found == column) | column.isna()).all() else column
