"""Dataframes to codes: levels, counts and cells. Reads any frame that narwhals knows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.counts import Counts, Numbers
from evenhand.domain import Axis, Cells, Domain, Role, Value, Variable
from evenhand.errors import DataError, SpecError, did_you_mean
from evenhand.spec import Ordinal, Problem

MISSING_ADVICE = "fill them, drop those rows, or write a value of your own for what is missing"

PROBABILITY = "probability"
"""The column of a conditional's frame that holds p(ŷ|x̂)."""

UNSEEN = -1
"""The code of a value that is not a level."""

Frame = Any
"""Any dataframe that narwhals knows."""


def read(frame: Frame) -> nw.DataFrame[Any]:
    """Wrap a native frame."""
    if isinstance(frame, str | os.PathLike):
        raise DataError(f"expected a dataframe, not a path; read it first, for example pandas.read_csv({str(frame)!r})")
    try:
        return nw.from_native(frame, eager_only=True)
    except TypeError:
        raise DataError(
            f"expected an eager dataframe (pandas, polars, pyarrow) or eh.Counts, not {type(frame).__name__}"
        ) from None


def read_csv(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a CSV file; columns of whole numbers become integers, an empty field is missing."""
    try:
        table = pd.read_csv(path, keep_default_na=False, na_values=[""])
    except UnicodeDecodeError:
        raise DataError(f"{os.fspath(path)!r} is not text in UTF-8; save it as UTF-8 first") from None
    except OSError as error:
        raise DataError(f"cannot read {os.fspath(path)!r}: {error.strerror}") from None
    except (ValueError, pd.errors.ParserError) as error:
        raise DataError(f"{os.fspath(path)!r} is not a sound CSV file: {error}") from None
    if len(table.columns) == 1 and (found := [c for c in ";\t|" if c in str(table.columns[0])]):
        raise DataError(f"{os.fspath(path)!r} seems to be separated by {found[0]!r}; save it with commas")
    return table


def count(problem: Problem, frame: Frame, weights: str | Sequence[float] | None = None) -> Counts:
    """Count a frame's rows over the cells of a problem.

    Parameters
    ----------
    problem : Problem
        Says which columns to count, and the order of levels where a rule gives it.
    frame : dataframe
        One row a person, or one row a cell with ``weights``.
    weights : str or sequence of float, optional
        A column of the frame, or one number a row.

    Examples
    --------
    >>> from evenhand.datasets import load
    >>> data = load("compas")
    >>> len(count(data.problem, data.frame))
    142
    """
    table = read(frame)
    if not len(table):
        raise DataError("the table is empty: it has no rows")
    encoded = {name: encode(column(table, name)) for name in problem.columns}
    domain = Domain.of(_variable(problem, encoded[name], role) for name, role in _roles(problem).items())
    d, x, y = (
        axis.ravel([_known(variable, encoded[variable.name]) for variable in axis.variables])
        for axis in (domain.d, domain.x, domain.y)
    )
    return Counts.of(domain, d, x, y, row_weights(problem, table, weights))


def conditional_rows(problem: Problem, frame: Frame) -> list[tuple[tuple[Value, ...], dict[Value, float]]]:
    """Read p(ŷ|x̂) from a frame with a row for each combination of features and each outcome, and its probability."""
    table = read(frame)
    columns = [column(table, name).to_list() for name in (*problem.features, problem.outcome, PROBABILITY)]
    found: dict[tuple[Value, ...], dict[Value, float]] = {}
    for *features, outcome, probability in zip(*columns, strict=True):
        shares = found.setdefault(tuple(features), {})
        if outcome in shares:
            raise DataError(f"the conditional gives {tuple(features)} with {problem.outcome}={outcome!r} twice")
        shares[outcome] = float(probability)
    return list(found.items())


def _roles(problem: Problem) -> dict[str, Role]:
    roles = dict.fromkeys(problem.protected, Role.PROTECTED) | dict.fromkeys(problem.features, Role.FEATURE)
    return roles | {problem.outcome: Role.OUTCOME}


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column as codes into its distinct values (or its categories, whether or not they occur)."""

    series: nw.Series[Any]
    codes: Cells
    values: list[Value]


def counts_of(problem: Problem, frame: Frame | Counts, weights: str | Sequence[float] | None = None) -> Counts:
    """Return the counts of a frame, or given counts if they are those of the problem's columns."""
    if not isinstance(problem, Problem):
        raise SpecError(f"the problem comes first and must be an eh.Problem, not {type(problem).__name__}")
    if not isinstance(frame, Counts):
        return count(problem, frame, weights)
    if weights is not None:
        raise DataError("weights go with a frame; a Counts already has its own")
    names = tuple(v.name for v in frame.domain.variables)
    if names != problem.columns:
        raise DataError(f"these counts are over the columns {list(names)}, the problem's are {list(problem.columns)}")
    for name, rule in problem.distortion.rules.items():
        levels = frame.domain.variable(name).levels
        if isinstance(rule, Ordinal) and rule.levels is not None and tuple(rule.levels) != levels:
            raise DataError(
                f"the rule of {name!r} gives the levels {list(rule.levels)}, but the counts have {list(levels)}"
            )
    return frame


def encode(series: nw.Series[Any]) -> Encoded:
    """Number the values of a column, in one pass."""
    native = series.to_native()
    if isinstance(native, pd.Series) and isinstance(native.dtype, pd.CategoricalDtype):
        codes, values = native.cat.codes.to_numpy(), native.cat.categories.tolist()
    else:
        found: Any = native if isinstance(native, pd.Series) else series.to_numpy()
        codes, distinct = pd.factorize(found)
        values = distinct.tolist()
    return Encoded(series, np.asarray(codes, dtype=np.int64), values)


def column(table: nw.DataFrame[Any], name: str, advice: str = MISSING_ADVICE) -> nw.Series[Any]:
    """Return a column that must be there and complete."""
    if name not in table.columns:
        hint = did_you_mean(name, table.columns)
        raise DataError(f"the table has no column {name!r}; it has {table.columns}.{hint}")
    series = table[name]
    missing = series.is_null()
    if series.dtype.is_float():
        missing = missing | series.is_nan()
    if missing.any():
        row = int(np.flatnonzero(missing.to_numpy())[0])
        number = int(missing.sum())
        what = "a missing value" if number == 1 else f"{number} missing values, the first"
        raise DataError(f"column {name!r} has {what} in row {row}; {advice}")
    return series


def first_unseen(axes: Iterable[Axis], table: nw.DataFrame[Any]) -> str | None:
    """Name the first column and value that is not a level; None where every value is one."""
    for axis in axes:
        for variable in axis.variables:
            encoded = encode(column(table, variable.name))
            unseen = np.flatnonzero(_recode(variable, encoded) == UNSEEN)
            if len(unseen):
                return f"column {variable.name!r} has the new value {encoded.values[encoded.codes[unseen[0]]]!r}"
    return None


def cells(axis: Axis, table: nw.DataFrame[Any]) -> tuple[Cells, NDArray[np.bool_]]:
    """Return the cell of each row on an axis, and which rows have a value that is not a level."""
    codes = [_recode(variable, encode(column(table, variable.name))) for variable in axis.variables]
    unseen = np.any([code == UNSEEN for code in codes], axis=0)
    return axis.ravel([np.maximum(code, 0) for code in codes]), np.asarray(unseen)


def _recode(variable: Variable, encoded: Encoded) -> Cells:
    """Return each row's code among the levels of a variable, UNSEEN where it has none."""
    place = {level: code for code, level in enumerate(variable.levels)}
    of_value = np.array([place.get(value, UNSEEN) for value in encoded.values], dtype=np.int64)
    return of_value[encoded.codes] if len(of_value) else encoded.codes


def _known(variable: Variable, encoded: Encoded) -> Cells:
    """Return each row's code; a value that is not a level is an error."""
    codes = _recode(variable, encoded)
    if np.any(codes == UNSEEN):
        row = int(np.flatnonzero(codes == UNSEEN)[0])
        value = encoded.values[encoded.codes[row]]
        hint = did_you_mean(value, variable.levels)
        raise DataError(
            f"column {variable.name!r} has the value {value!r} in row {row}, which is not among the levels "
            f"that its rule gives: {list(variable.levels)}.{hint}"
        )
    return codes


def _variable(problem: Problem, encoded: Encoded, role: Role) -> Variable:
    name = encoded.series.name
    rule = problem.distortion.rules.get(name)
    levels, ordered = _levels(encoded)
    if isinstance(rule, Ordinal) and rule.levels is not None:
        levels, ordered = tuple(rule.levels), True
    return Variable(name, role, levels, ordered, _pandas_dtype(encoded.series))


def _levels(encoded: Encoded) -> tuple[tuple[Value, ...], bool]:
    """Return the levels of a column and whether their order means something."""
    name, dtype = encoded.series.name, encoded.series.dtype
    if isinstance(dtype, nw.Enum):
        return tuple(dtype.categories), True
    if isinstance(dtype, nw.Categorical):
        native = encoded.series.to_native()
        if isinstance(native, pd.Series):
            return tuple(encoded.values), bool(native.cat.ordered)
        return tuple(sorted(encoded.values)), False
    if dtype.is_float():
        raise DataError(_real_numbers(name, encoded.values))
    if dtype.is_integer() or isinstance(dtype, nw.Boolean):
        return tuple(sorted(encoded.values)), True
    if isinstance(dtype, nw.String):
        return tuple(sorted(encoded.values)), False
    raise DataError(f"column {name!r} is of type {dtype}; a column must hold strings, integers, booleans or categories")


def _real_numbers(name: str, values: Sequence[Any]) -> str:
    """Say what to do about a column of real numbers."""
    what = f"column {name!r} holds real numbers, which have no finite levels"
    if all(float(value).is_integer() for value in values):
        return f"{what}; its values are whole, so make it a column of integers: frame[{name!r}].astype(int)"
    low, high = min(values), max(values)
    return (
        f"{what} (it runs from {low:g} to {high:g}); cut it into bins first, for example with "
        f"pandas.cut(frame[{name!r}], bins, include_lowest=True), which gives ordered categories"
    )


def _pandas_dtype(series: nw.Series[Any]) -> str:
    native = series.to_native()
    if isinstance(native, pd.Series):
        return str(native.dtype)
    if isinstance(series.dtype, nw.Enum | nw.Categorical):
        return "category"
    if isinstance(series.dtype, nw.String):
        return "str"
    return "bool" if isinstance(series.dtype, nw.Boolean) else str(series.dtype).lower()


def row_weights(problem: Problem, table: nw.DataFrame[Any], weights: str | Sequence[float] | None) -> Numbers | None:
    """Return one weight a row, from a column or as given; None where there are none."""
    if weights is None:
        return None
    given: Any = weights
    if isinstance(weights, str):
        if weights in problem.columns:
            raise DataError(f"column {weights!r} is part of the problem and cannot also be the weights")
        given = column(table, weights, advice="every row needs a weight").to_numpy()
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("weights must be numbers, one a row") from None
    if array.shape != (len(table),):
        raise DataError(f"there are {array.size} weights for {len(table)} rows")
    return array
