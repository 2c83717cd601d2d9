"""Codes back to dataframes: into a frame of the caller's own type, or as a pandas frame of ours."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.counts import Numbers
from evenhand.domain import Axis, Cells, Value, Variable


def replace(table: nw.DataFrame[Any], axis: Axis, new: Cells, changed: NDArray[np.bool_]) -> nw.DataFrame[Any]:
    """Write cells of an axis into a frame; rows that did not change keep their own values."""
    for variable, codes in zip(axis.variables, axis.unravel(new), strict=True):
        series = table[variable.name]
        table = table.with_columns(_overwrite(series, variable, codes, changed).alias(variable.name))
    return table


def _overwrite(series: nw.Series[Any], variable: Variable, codes: Cells, changed: NDArray[np.bool_]) -> nw.Series[Any]:
    """Write levels into the rows that changed; categories that lack one of them are extended."""
    native = series.to_native()
    values = np.array(variable.levels, dtype=object)[codes]
    needed = [variable.levels[code] for code in np.unique(codes[changed])]
    if isinstance(native, pd.Series):
        native = _with_categories(native, variable, needed).copy()
        native.iloc[np.flatnonzero(changed)] = pd.Series(values[changed].tolist(), dtype=native.dtype).array
        return nw.from_native(native, series_only=True)
    dtype = series.dtype
    if isinstance(dtype, nw.Enum) and not set(needed) <= set(dtype.categories):
        dtype = nw.Enum([str(level) for level in _united(variable, dtype.categories)])
        series = series.cast(dtype)
    backend = nw.get_native_namespace(series)
    if isinstance(dtype, nw.Categorical) and hasattr(native, "type"):
        # Arrow cannot join two dictionaries; join their values, and cast back to the column's own type.
        texts = np.where(changed, values, np.array(series.to_list(), dtype=object)).tolist()
        plain = nw.new_series(variable.name, texts, nw.String(), backend=backend).to_native()
        return nw.from_native(plain.cast(native.type), series_only=True)
    written = nw.new_series(variable.name, values.tolist(), dtype, backend=backend)
    keep = nw.new_series("keep", (~changed).tolist(), nw.Boolean(), backend=backend)
    return series.zip_with(keep, written)


def _with_categories(native: Any, variable: Variable, needed: Sequence[Value]) -> Any:
    """Extend a pandas categorical by the variable's levels if it lacks one that is needed."""
    if not isinstance(native.dtype, pd.CategoricalDtype) or set(needed) <= set(native.cat.categories):
        return native
    return native.cat.set_categories(_united(variable, native.cat.categories))


def _united(variable: Variable, own: Iterable[Value]) -> list[Value]:
    return [*variable.levels, *(value for value in own if value not in variable.levels)]


def merged(table: nw.DataFrame[Any], weight: Numbers, name: str) -> nw.DataFrame[Any]:
    """Add up the weights of equal rows, in the order in which they first occur."""
    backend = nw.get_native_namespace(table)
    native = table.to_native()
    if isinstance(native, pd.DataFrame):
        table = nw.from_native(native.reset_index(drop=True), eager_only=True)
    columns = list(table.columns)
    place = "evenhand_first_row"
    extra = {name: weight, place: np.arange(len(weight))}
    for key, values in extra.items():
        table = table.with_columns(nw.new_series(key, values, backend=backend).alias(key))
    grouped = table.group_by(columns).agg(nw.col(name).sum(), nw.col(place).min())
    return grouped.sort(place).select([*columns, name])


def take(table: nw.DataFrame[Any], rows: Cells) -> nw.DataFrame[Any]:
    """Return rows by position, with repeats."""
    return table[rows.tolist(), :]


def labels(axis: Axis, cells_: Cells, prefix: str = "") -> dict[str, Any]:
    """Return the columns of an axis for given cells, with the levels' own values and dtypes."""
    codes = axis.unravel(cells_)
    return {
        prefix + variable.name: _typed(variable, code) for variable, code in zip(axis.variables, codes, strict=True)
    }


def to_pandas(table: Any) -> pd.DataFrame:
    """Return any frame as a pandas frame."""
    found: pd.DataFrame = nw.from_native(table, eager_only=True).to_pandas()
    return found


def frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a pandas frame of the given columns."""
    return pd.DataFrame(dict(columns))


def _typed(variable: Variable, codes: Cells) -> Any:
    if variable.dtype == "category":
        categories: Any = list(variable.levels)
        return pd.Categorical.from_codes(codes, categories=categories, ordered=variable.ordered)
    values = np.array(variable.levels, dtype=object)[codes]
    return pd.Series(values, dtype=variable.dtype).array
