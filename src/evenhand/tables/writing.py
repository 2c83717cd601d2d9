"""Codes back to tables: into a frame of the caller's own type, or as a pandas frame of ours."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Literal

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Axis, Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.errors import DataError
from evenhand.kernel.draws import thresholds
from evenhand.resources import in_blocks
from evenhand.tables.columns import Encoded, codes_of, encode, encoded_as, plain
from evenhand.tables.numbering import NULL, kept_by_arrow

Restore = Literal["sample", "midpoint", "label"]
"""What people call the ways in which a level that stands for several values is written."""

Lots = Callable[[str, Cells], Cells]
"""Second draws: for a column and some rows by position, one for each of them."""

Native = Any
"""A column in its own library's type."""

PIECE = 1 << 19
"""Rows of texts that are made at once."""


class Restoring(StrEnum):
    """One of these ways, and what follows from it."""

    SAMPLE = "sample"
    MIDPOINT = "midpoint"
    LABEL = "label"

    @property
    def draws(self) -> bool:
        """Whether a second draw chooses one of the values that the level had."""
        return self is Restoring.SAMPLE

    @property
    def names(self) -> bool:
        """Whether the column becomes text, the names of its levels."""
        return self is Restoring.LABEL


def becomes_text(variable: Variable, restore: Restoring) -> bool:
    """Whether a column that is written gets the names of its levels, whatever it held."""
    return variable.coding is not None and restore.names


def rewritten(
    table: nw.DataFrame[Any],
    axis: Axis,
    at: Cells,
    old: Cells,
    new: Cells,
    *,
    lots: Lots | None = None,
    restore: Restoring = Restoring.SAMPLE,
) -> dict[str, Fresh]:
    """Return what the columns of an axis get; a row keeps its own value in every column whose level does not change.

    Parameters
    ----------
    table, axis : frame, Axis
        The frame, and the axis whose columns are written.
    at, old, new : array
        Rows by position, ascending; the cell that each has, and the one that it gets.
    lots : callable, optional
        Where draws come from, for a way that draws.
    restore : Restoring
        What is written for a level that stands for several values.
    """
    columns = {}
    for variable, before, codes in zip(axis.variables, axis.unravel(old), axis.unravel(new), strict=True):
        if becomes_text(variable, restore):
            series = table.get_column(variable.name)
            own = codes_of(variable, series)
            own[at] = codes
            columns[variable.name] = _labelled(variable, series, own)
            continue
        moved = before != codes
        if moved.any():
            columns[variable.name] = _restored(variable, at[moved], codes[moved], lots, restore)
    return columns


def overwritten(
    table: nw.DataFrame[Any],
    axis: Axis,
    fresh: Mapping[str, Fresh],
    restore: Restoring = Restoring.SAMPLE,
    encoded: Mapping[str, Encoded] | None = None,
) -> nw.DataFrame[Any]:
    """Write into a frame what columns of an axis get; ``encoded`` are those whose values are numbered already."""
    columns = {}
    for variable in axis.variables:
        if variable.name not in fresh:
            continue
        series, own = table.get_column(variable.name), fresh[variable.name]
        if becomes_text(variable, restore):
            columns[variable.name] = _as_texts(series, own)
        else:
            columns[variable.name] = _overwrite(series, variable, own, (encoded or {}).get(variable.name))
    return _with_series(table, columns)


def _with_series(table: nw.DataFrame[Any], columns: Mapping[str, Native]) -> nw.DataFrame[Any]:
    """Return a table with other columns in the place of some of its own."""
    if not columns:
        return table
    given: Any = table.to_native()
    # By each library's own way to put a column in: narwhals puts pandas' frames together anew, and asks polars' engine.
    if isinstance(given, pd.DataFrame):
        frame = given.copy(deep=False)
        for name, new in columns.items():
            frame[name] = new
    elif table.implementation.is_polars():
        frame = given.clone()
        for name, new in columns.items():
            frame.replace_column(frame.get_column_index(name), new.alias(name))
    elif table.implementation.is_pyarrow():
        frame = given
        for name, new in columns.items():
            frame = frame.set_column(frame.column_names.index(name), name, new)
    else:
        own = {name: nw.from_native(new, series_only=True).alias(name) for name, new in columns.items()}
        return table.with_columns(*own.values())
    return nw.from_native(frame, eager_only=True)


def as_levels(table: nw.DataFrame[Any], axis: Axis) -> nw.DataFrame[Any]:
    """Return a table whose columns of an axis hold levels and nothing finer, in the types that they have.

    Where levels stand for several values, a number becomes the one that stands for its level, any other value the
    level's name. What has no level stays as it is, and so does a column that the table does not have.
    """
    for variable in (each.allowing_missing(True) for each in axis.variables if each.name in table.columns):
        if variable.coding is None:
            continue
        series = table[variable.name]
        codes = codes_of(variable, series)
        if not variable.numeric:
            table = _with_series(table, {variable.name: _named(series, variable, codes)})
            continue
        at = np.flatnonzero((codes != UNSEEN) & (codes != variable.missing))
        if len(at):
            fresh = _restored(variable, at, codes[at], None, Restoring.MIDPOINT)
            table = _with_series(table, {variable.name: _overwrite(series, variable, fresh, None)})
    return table


def _named(series: nw.Series[Any], variable: Variable, codes: Cells) -> Native:
    """Return the names of levels as texts, or as categories: the same ones whoever is in the table."""
    native = _as_texts(series, _labelled(variable, series, codes))
    if not isinstance(series.dtype, nw.Categorical | nw.Enum):
        return native
    texts = nw.from_native(native, series_only=True)
    names = [str(level) for code, level in enumerate(variable.levels) if code != variable.missing]
    own = list(dict.fromkeys([*names, *texts.drop_nulls().unique(maintain_order=True).to_list()]))
    if isinstance(native, pd.Series):
        kind: Any = series.to_native().dtype
        return native.astype(
            pd.CategoricalDtype(own, ordered=variable.ordered or bool(getattr(kind, "ordered", False)))
        )
    return texts.cast(nw.Enum(own) if isinstance(series.dtype, nw.Enum) else nw.Categorical()).to_native()


@dataclass(frozen=True, eq=False)
class Fresh:
    """What a column gets: rows by position, and which of the distinct values each of them; None is a missing one."""

    at: Cells
    values: Sequence[Any]
    which: Cells

    @classmethod
    def of(cls, at: Cells, values: Sequence[Any], which: Cells) -> Fresh:
        """Keep the values that some row gets."""
        there = np.bincount(which, minlength=len(values)) > 0
        place = np.cumsum(there) - 1
        return cls(at, [value for value, used in zip(values, there.tolist(), strict=True) if used], place[which])

    @property
    def needed(self) -> list[Any]:
        """The values that are not missing ones."""
        return [value for value in self.values if value is not None]


def choices(variable: Variable, level: int, restore: Restoring) -> tuple[Sequence[Value | None], Cells]:
    """Return the values that a record may get with a level, and for each the draw that no longer chooses it.

    With more than one value a second draw decides: the first whose end lies above it. None is a missing value.
    """
    values: Sequence[Value | None]
    coding, weights = variable.coding, np.ones(1)
    if level == variable.missing:
        values = [None]
    elif coding is None:
        values = [variable.levels[level]]
    elif not restore.draws or not coding.stock[level].values:
        values = [coding.middle(level)]
    else:
        values, weights = coding.stock[level].values, np.asarray(coding.stock[level].weights)
    return values, thresholds(weights / np.sum(weights), np.array([0, len(values)]), np.zeros(len(values), np.int64))


def _restored(variable: Variable, at: Cells, codes: Cells, lots: Lots | None, restore: Restoring) -> Fresh:
    """Return a value for each of the rows that moved; None for the level of missing values."""
    if variable.coding is None:
        levels = [None if code == variable.missing else level for code, level in enumerate(variable.levels)]
        return Fresh.of(at, levels, codes)
    values: list[Any] = []
    which = np.empty(len(codes), dtype=np.int64)
    draws = np.zeros(len(codes), np.int64)
    if restore.draws:
        assert lots is not None
        draws = lots(variable.name, at)
    for code in np.unique(codes):
        here = np.flatnonzero(codes == code)
        possible, ends = choices(variable, int(code), restore)
        which[here] = len(values) + np.searchsorted(ends, draws[here], side="right")
        values.extend(possible)
    return Fresh.of(at, values, which)


def _labelled(variable: Variable, series: nw.Series[Any], codes: Cells) -> Fresh:
    """Return the names of levels for all rows; what has no level, or is missing and stays so, keeps its own text."""
    names: list[str | None] = [str(level) for level in variable.levels]
    named = codes != UNSEEN
    if variable.missing is not None and variable.missing != UNSEEN:
        names[variable.missing] = None
        named &= ~((codes == variable.missing) & encoded_as(variable, series).missing)
    at = np.flatnonzero(named)
    return Fresh.of(at, names, codes[at])


def _as_texts(series: nw.Series[Any], fresh: Fresh) -> Native:
    """Return a column as texts: those that some rows get, and of all others their own."""
    encoded = encode(series)
    own = np.array([*(str(value) for value in encoded.values), None], dtype=object)[encoded.codes]
    own[fresh.at] = np.array([*fresh.values, None], dtype=object)[fresh.which]
    texts = own.tolist()
    native = series.to_native()
    if isinstance(native, pd.Series):
        return pd.Series(texts, index=native.index, dtype="str", name=series.name)
    return nw.new_series(series.name, texts, nw.String(), backend=nw.get_native_namespace(series)).to_native()


def _overwrite(series: nw.Series[Any], variable: Variable, fresh: Fresh, encoded: Encoded | None) -> Native:
    """Write values into the rows that moved; a column that has no room for one of them is an error."""
    values, dtype = fresh.values, series.dtype
    if dtype.is_integer():
        values = [as_whole(variable, value) for value in values]
    elif isinstance(dtype, nw.Float32):
        values = [value if value is None else as_single(variable, value) for value in values]
    own = dataclasses.replace(fresh, values=values)
    try:
        # Few texts, kept as Arrow keeps them, are best made anew from the number of each.
        kept = isinstance(dtype, nw.String) or _is_dictionary_of_texts(series)
        texts = kept and all(isinstance(value, str) for value in own.needed)
        if texts and encoded is not None and len(encoded.values) * 16 <= len(series) and kept_by_arrow(series):
            return _written_by_number(series, encoded, own)
        return _written(series, variable, own)
    except MemoryError:
        raise
    except Exception as error:  # each library has errors of its own for values that do not fit a type
        raise DataError(
            f"column {variable.name!r} is of type {dtype}, which does not hold a value that the mapping writes "
            f"({type(error).__name__}: {error}); give the column a wider type"
        ) from None


def _written(series: nw.Series[Any], variable: Variable, fresh: Fresh) -> Native:
    """Write into a column of any library; categories that lack a value are extended."""
    native = series.to_native()
    kind = getattr(native, "dtype", None)
    if isinstance(kind, pd.ArrowDtype) and hasattr(kind.pyarrow_dtype, "value_type"):
        # Writing into a dictionary of Arrow's, pandas fills its nulls.
        return pd.Series(_written_by_arrow(series.to_arrow(), fresh), index=native.index, dtype=kind)
    if isinstance(native, pd.Series):
        native = _with_room(native, variable, fresh).copy()
        native.iloc[fresh.at] = pd.Series(fresh.values, dtype=native.dtype).array.take(fresh.which)
        return native
    if series.implementation.is_pyarrow():
        return _written_by_arrow(native, fresh)
    dtype = series.dtype
    if isinstance(dtype, nw.Enum) and not set(fresh.needed) <= set(dtype.categories):
        dtype = nw.Enum([str(level) for level in _united(variable, dtype.categories)])
        series = series.cast(dtype)
    backend = nw.get_native_namespace(series)
    values = nw.new_series(variable.name, fresh.values, dtype, backend=backend)
    moved = np.zeros(len(series), dtype=bool)
    moved[fresh.at] = True
    which = np.zeros(len(series), dtype=np.int64)
    which[fresh.at] = fresh.which
    keep = nw.new_series("keep", ~moved, nw.Boolean(), backend=backend)
    return series.zip_with(keep, values[which]).to_native()


def _written_by_number(series: nw.Series[Any], encoded: Encoded, fresh: Fresh) -> Native:
    """Make a column of texts anew from the number of each: faster than writing between texts of any length."""
    values: list[Any] = [*dict.fromkeys([*encoded.values, *fresh.needed]), None]
    place = {value: number for number, value in enumerate(values)}
    new = np.array([place[value] for value in fresh.values], dtype=np.int32)[fresh.which]

    def numbers(rows: slice) -> NDArray[np.int32]:
        codes = encoded.codes[rows].astype(np.int32)
        codes[codes == NULL] = place[None]
        here = slice(*np.searchsorted(fresh.at, [rows.start, rows.stop]))
        codes[fresh.at[here] - rows.start] = new[here]
        return codes

    native = series.to_native()
    if isinstance(native, pd.Series):
        import pyarrow

        kind: Any = native.dtype
        made = kind.__from_arrow__(_texts_by_number(values, pyarrow.large_string(), len(native), numbers))
        column = pd.Series(made, index=native.index, copy=False)
        column.attrs = native.attrs
        return column
    if series.implementation.is_pyarrow():
        make = _dictionary_by_number if isinstance(series.dtype, nw.Categorical) else _texts_by_number
        return nw.from_native(make(values, native.type, len(native), numbers), series_only=True)
    texts = nw.new_series(series.name, values, nw.String(), backend=nw.get_native_namespace(series))
    return texts[numbers(slice(0, len(series)))].to_native()


def _texts_by_number(
    values: Sequence[str | None], kind: Any, size: int, numbers: Callable[[slice], NDArray[np.int32]]
) -> Any:
    """Return an Arrow column of the values with given numbers, in pieces on every core."""
    import pyarrow

    texts = pyarrow.array(values, kind)
    longest = max(len(value.encode()) for value in values if value is not None)
    # A piece of a column whose offsets have 32 bits must not outgrow them.
    rows = min(PIECE, (1 << 30) // max(longest, 1))
    return pyarrow.chunked_array(in_blocks(size, lambda piece: texts.take(pyarrow.array(numbers(piece))), rows))


def _is_dictionary_of_texts(series: nw.Series[Any]) -> bool:
    """Whether a column is one of Arrow's dictionaries, as Parquet files are read: with room for any number of texts."""
    if not series.implementation.is_pyarrow():
        return False
    import pyarrow

    return bool(series.to_native().type == pyarrow.dictionary(pyarrow.int32(), pyarrow.string()))


def _dictionary_by_number(
    values: Sequence[str | None], kind: Any, size: int, numbers: Callable[[slice], NDArray[np.int32]]
) -> Any:
    """Return an Arrow dictionary of the values, of which the last is None, and the number of each row's."""
    import pyarrow

    codes = numbers(slice(0, size))
    indices = pyarrow.array(codes, pyarrow.int32(), mask=codes == values.index(None))
    made = pyarrow.DictionaryArray.from_arrays(indices, [value for value in values if value is not None])
    return pyarrow.chunked_array([made], kind)


def _written_by_arrow(native: Any, fresh: Fresh) -> Any:
    """Write into an Arrow column, without a Python object for each row."""
    import pyarrow
    from pyarrow import compute

    moved = np.zeros(len(native), dtype=bool)
    moved[fresh.at] = True
    kind = native.type
    # Arrow cannot write into dictionaries; write into their values, and cast back to the column's own type.
    plain_kind = kind.value_type if pyarrow.types.is_dictionary(kind) else kind
    values = native if plain_kind == kind else native.cast(plain_kind)
    written = pyarrow.array(fresh.values, plain_kind).take(pyarrow.array(fresh.which))
    return compute.replace_with_mask(values, pyarrow.array(moved), written).cast(kind)


def as_whole(variable: Variable, value: Any) -> Any:
    """Return what a column of whole numbers gets for a value."""
    return _in_bin(variable, value, round(value)) if isinstance(value, float) else value


def as_single(variable: Variable, value: Any) -> Any:
    """Return what a column of single precision gets for a number."""
    return _in_bin(variable, value, np.float32(value))


def _in_bin(variable: Variable, value: float, near: Any) -> Any:
    """Return a number of a coarser type that lies in the bin of the exact one: the nearest, or the one beside it."""
    coding = variable.coding
    if coding is None or not coding.numeric:
        return near
    beside = [near + 1, near - 1] if isinstance(near, int) else [np.nextafter(near, np.float32(s)) for s in (9e9, -9e9)]
    code = coding.codes(np.array([value]))
    fits = (n for n in (near, *beside) if coding.codes(np.array([float(n)])) == code)
    return plain(next(fits, near))


def _with_room(native: pd.Series[Any], variable: Variable, fresh: Fresh) -> pd.Series[Any]:
    """Return a pandas column that has room for new categories, and for nulls among whole numbers and truths."""
    dtype: Any = native.dtype
    if None in fresh.values and dtype.kind in "iub" and isinstance(dtype, np.dtype):
        return native.astype("boolean" if dtype.kind == "b" else "Int64")
    if not isinstance(dtype, pd.CategoricalDtype) or set(fresh.needed) <= set(dtype.categories):
        return native
    return native.cat.set_categories(_united(variable, dtype.categories, fresh.needed))


def _united(variable: Variable, own: Iterable[Value], needed: Sequence[Value] = ()) -> list[Value]:
    """Return the levels in their order, and what a column has besides."""
    known = [level for code, level in enumerate(variable.levels) if code != variable.missing]
    first = known if variable.coding is None else []
    return list(dict.fromkeys([*first, *own, *needed]))


def merged(table: nw.DataFrame[Any], weight: Numbers, name: str) -> nw.DataFrame[Any]:
    """Add up the weights of equal rows, in the order in which they first occur."""
    native = table.to_native()
    if isinstance(native, pd.DataFrame):
        table = nw.from_native(native.reset_index(drop=True), eager_only=True)
    place = "evenhand_first_row"
    weighed = with_columns(table, {name: weight, place: np.arange(len(weight))})
    found = weighed.group_by(table.columns).agg(nw.col(name).sum(), nw.col(place).min()).sort(place)
    # The rows themselves: grouping gives columns of objects the type that their values could have.
    kept = weighed[found[place].to_list(), :].select(table.columns)
    if isinstance(native, pd.DataFrame):
        kept = nw.from_native(kept.to_native().reset_index(drop=True), eager_only=True)
    return with_columns(kept, {name: found[name].to_numpy()})


def with_columns(table: nw.DataFrame[Any], columns: Mapping[str, Any]) -> nw.DataFrame[Any]:
    """Return a table with more columns, from arrays."""
    native = table.to_native()
    if isinstance(native, pd.DataFrame):
        return nw.from_native(native.assign(**columns), eager_only=True)
    backend = nw.get_native_namespace(table)
    return table.with_columns(*(nw.new_series(name, values, backend=backend) for name, values in columns.items()))


def with_numbers(table: nw.DataFrame[Any], name: str, numbers: NDArray[np.int64]) -> nw.DataFrame[Any]:
    """Return a table with whole numbers in a column that it has, of that column's own type."""
    dtype = table[name].dtype
    made = with_columns(table, {name: numbers})
    return made if dtype == nw.Object else made.with_columns(nw.col(name).cast(dtype))


def labels(axis: Axis, cells_: Cells, prefix: str = "") -> dict[str, Any]:
    """Return the columns of an axis for given cells, with the levels' own values and dtypes."""
    codes = axis.unravel(cells_)
    return {
        prefix + variable.name: _typed(variable, code) for variable, code in zip(axis.variables, codes, strict=True)
    }


def values(axis: Axis, cells_: Cells, draws: Mapping[str, int]) -> dict[str, Any]:
    """Return the columns of an axis for given cells as a table has them: values of the levels, and not their names.

    Of a level that stands for several values it is the one that a column's draw chooses, as it would for a person who
    is moved there; the level of missing values is a missing one.
    """
    codes = axis.unravel(cells_)
    return {
        variable.name: _valued(variable, code, draws.get(variable.name, 0))
        for variable, code in zip(axis.variables, codes, strict=True)
    }


def _valued(variable: Variable, codes: Cells, draw: int) -> Any:
    if variable.coding is None and not variable.has_missing:
        return _typed(variable, codes)
    fresh = _restored(variable, np.arange(len(codes)), codes, lambda _, at: np.full(len(at), draw), Restoring.SAMPLE)
    found = [fresh.values[which] for which in fresh.which.tolist()]
    if variable.coding is None and variable.dtype == "category":
        # The level of missing values is no category.
        kinds: Any = [level for code, level in enumerate(variable.levels) if code != variable.missing]
        return pd.Categorical(found, categories=kinds, ordered=variable.ordered)
    return pd.Series(found).infer_objects().array


def frame(columns: Mapping[str, Any]) -> pd.DataFrame:
    """Return a pandas frame of the given columns."""
    return pd.DataFrame(dict(columns))


SET_APART = " (column)"
"""What follows the name of a column that a number is called by as well."""


def beside(who: Mapping[str, Any], numbers: Mapping[str, Any]) -> pd.DataFrame:
    """Return a pandas frame of columns that say who people are, and of numbers about them.

    A number keeps its name, by which it is documented; a column of the user's that is called the same is set apart.

    Examples
    --------
    >>> found = beside({"weight": ["heavy", "light"]}, {"weight": [10.0, 20.0]})
    >>> list(found), own_name(found, "weight")
    (['weight (column)', 'weight'], 'weight (column)')
    """
    return frame({_set_apart(name) if name in numbers else name: who[name] for name in who} | dict(numbers))


def own_name(table: pd.DataFrame, column: str) -> str:
    """Return what a column of the user's is called in such a frame."""
    return _set_apart(column) if _set_apart(column) in table else column


def unused(name: str, taken: Sequence[str]) -> str:
    """Return a name that no other column has."""
    return unused(f"{name}_", taken) if name in taken else name


def _set_apart(name: str) -> str:
    return f"{name}{SET_APART}"


def _typed(variable: Variable, codes: Cells) -> Any:
    if variable.dtype == "category":
        categories: Any = list(variable.levels)
        return pd.Categorical.from_codes(codes, categories=categories, ordered=variable.ordered)
    values = np.array(variable.levels, dtype=object)[codes]
    try:
        return pd.Series(values, dtype=variable.dtype).array
    except (TypeError, ValueError):
        # A type that this pandas does not have, or that a level does not fit: show the levels as they are.
        return pd.Series(values, dtype=object).array
