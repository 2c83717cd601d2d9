"""One column of a table as codes: into its distinct values, or into the levels of a variable."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Role, Value, Variable
from evenhand.data.levels import UNSEEN, Coding
from evenhand.errors import DataError, Option, Setting, did_you_mean, some_of
from evenhand.tables.numbering import NULL, numbered

MISSING_ADVICE = ("fill them, drop those rows, or write ", Setting("missing", "level"), " in the problem")
APPLY_ADVICE = (
    "the fitted table had none there: fill in what is missing, drop such rows, or write ",
    Option("missing", "level"),
    " to keep them as they are; a problem with ",
    Setting("missing", "level"),
    " would have made them a level",
)
OUTCOME_ADVICE = ("every row needs its outcome here: drop such rows; apply mode is for people who have none yet",)
REAL = r"[-+]?((0|[1-9][0-9]{0,14})(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
"""Texts that are numbers; one with leading zeros is a code, not a number, and so is one too long for a real number."""

WHOLE = r"-?(0|[1-9][0-9]{0,17})"
ENDLESS: dict[Value, float] = {"inf": np.inf, "-inf": -np.inf}


@dataclass(frozen=True, eq=False)
class Encoded:
    """A column as codes into its distinct values (or its categories, whether or not they occur).

    ``series`` is the column itself; ``codes`` are NULL where a value is missing.
    """

    series: nw.Series[Any]
    codes: NDArray[Any]
    values: list[Any]
    blanks: Sequence[Value] = ()

    def is_blank(self, value: Value) -> bool:
        """Whether a value stands for a missing one."""
        return canonical(value) in {canonical(blank) for blank in self.blanks}

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.asarray(self.codes == NULL)


def column(table: nw.DataFrame[Any], name: str) -> nw.Series[Any]:
    """Return a column that must be there."""
    if name not in table.columns:
        hint = did_you_mean(name, table.columns)
        if any(not isinstance(each, str) for each in table.columns):
            hint = " Some names are not texts; make them so: frame.rename(columns=str)."
        raise DataError(f"the table has no column {name!r}; it has {some_of(table.columns)}.{hint}")
    return table.get_column(name)


def encode(series: nw.Series[Any], blanks: Sequence[Value] = ()) -> Encoded:
    """Number the values of a column, in one pass; ``blanks`` are values that stand for a missing one."""
    try:
        codes, values = numbered(series)
    except MemoryError:
        raise
    except Exception as error:  # each library has errors of its own for types it cannot list
        raise DataError(
            f"column {series.name!r} is of type {series.dtype}, whose values cannot be listed "
            f"({type(error).__name__}); make it text, numbers or categories"
        ) from None
    return _without_blanks(Encoded(series, codes, values), blanks) if blanks else Encoded(series, codes, values)


def encoded_as(variable: Variable, series: nw.Series[Any]) -> Encoded:
    """Number the values of a variable's column, with null for what stands for a missing value there."""
    return as_read_by(variable, encode(series))


def as_read_by(variable: Variable, encoded: Encoded) -> Encoded:
    """Return a variable's column with null for what stands for a missing value there."""
    return _without_blanks(encoded, variable.blanks) if variable.blanks else encoded


def _without_blanks(encoded: Encoded, blanks: Sequence[Value]) -> Encoded:
    """Return a column with null for the values that stand for a missing one; they are no levels either."""
    texts = {canonical(value) for value in blanks}
    kept = [i for i, value in enumerate(encoded.values) if canonical(value) not in texts]
    place = np.full(len(encoded.values) + 1, NULL, dtype=np.int64)
    place[kept] = np.arange(len(kept))
    return Encoded(encoded.series, place[encoded.codes], [encoded.values[i] for i in kept], blanks)


def canonical(value: Any) -> str:
    """Return the text of a value, the same for a number and for the text that writes it out."""
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def plain(value: Any) -> Any:
    """Return Python's own value for NumPy's or Arrow's."""
    for method in ("item", "as_py"):
        if hasattr(value, method):
            return getattr(value, method)()
    return value


def refuse_missing(
    encoded: Encoded,
    *advice: object,
    first: int = 0,
    people: Numbers | None = None,
    where: Callable[[int], str] | None = None,
) -> None:
    """Raise the error that names the first missing value of a column, if there is one.

    ``first`` is the position of the first row, where a table comes in pieces; ``people`` how many rows of a file each
    row stands for, where equal ones were put together: they have no place, unless ``where`` knows one.
    """
    # Codes are small integers: their least is found faster than every null.
    if not len(encoded.codes) or encoded.codes.min() != NULL:
        return
    rows = np.flatnonzero(encoded.missing)
    if len(rows):
        number = len(rows) if people is None else int(people[rows].sum())
        what = "a missing value" if number == 1 else f"{number} missing values"
        if where is not None:
            place = where(int(rows[0]))
        else:
            place = "" if people is not None else in_row(encoded.series, int(rows[0]), first)
        comma = ", the first" if number > 1 and place else ""
        raise DataError(f"column {encoded.series.name!r} has {what}{comma}{place}; ", *(advice or MISSING_ADVICE))


def in_row(series: nw.Series[Any], row: int, first: int = 0) -> str:
    """Say where a row is: its place, counted from 1, and its label where a pandas index has others than places."""
    native = series.to_native()
    index = native.index if isinstance(native, pd.Series) else pd.RangeIndex(len(series))
    label = "" if index.equals(pd.RangeIndex(len(index))) else f" (index {plain(index[row])!r})"
    return f" in row {first + row + 1}{label}"


def gap_advice(variable: Variable) -> tuple[object, ...]:
    """Return what to do about missing values that a mapping has no level for."""
    return OUTCOME_ADVICE if variable.role is Role.OUTCOME else APPLY_ADVICE


def codes_of(variable: Variable, series: nw.Series[Any]) -> Cells:
    """Return each row's code among the levels of a variable, UNSEEN where its value is none."""
    found = levels_of(variable, series)
    return np.asarray(found.level[found.codes])


@dataclass(frozen=True, eq=False)
class Coded:
    """A column as small codes, and the level of each code; the last is that of code NULL.

    ``encoded`` is the column with its own values numbered, blanks among them; None where it was not needed.
    ``unlike`` is how many rows have, by column, what learned cells were not grown on.
    """

    codes: NDArray[Any]
    level: Cells
    encoded: Encoded | None = None
    unlike: Mapping[tuple[str, str], int] = field(default_factory=dict)


def levels_of(variable: Variable, series: nw.Series[Any], *, first: int = 0) -> Coded:
    """Return a column's codes as they are, and the variable's level for each: nothing is done row by row yet.

    ``first`` is the position of the first row, where a table comes in pieces: for an error that names a row.
    """
    if variable.coding is not None and variable.coding.numeric and series.dtype.is_numeric():
        return Coded(_of_numbers(variable, variable.coding, series, first), np.append(np.arange(len(variable)), UNSEEN))
    given = encode(series)
    found = coded(variable, as_read_by(variable, given), first=first)
    return replace(found, encoded=given)


def coded(variable: Variable, encoded: Encoded, *, first: int = 0) -> Coded:
    """Return the levels of a column whose values are numbered already."""
    if variable.missing is None:
        refuse_missing(encoded, *gap_advice(variable), first=first)
    values = encoded.values
    refuse_other_kind(variable, values)
    coding, of_null = variable.coding, UNSEEN if variable.missing is None else variable.missing
    if coding is not None:
        numbers = [v if isinstance(v, int | float) else np.nan for v in values] if coding.numeric else None
        level = coding.codes(values if numbers is None else np.array(numbers, dtype=float))
    else:
        level = np.array([variable.codes.get(value, UNSEEN) for value in values], dtype=np.int64)
    return Coded(encoded.codes, np.append(level, of_null))


def blank_numbers(variable: Variable) -> list[int | float]:
    """Return the numbers that stand for a missing value: those that read as one of the blanks does."""
    read = [(blank, ENDLESS.get(blank, as_number(blank))) for blank in variable.blanks]
    numbers = [(blank, number) for blank, number in read if isinstance(number, int | float) and number == number]
    return [n for blank, n in numbers if not isinstance(n, bool) and canonical(n) == canonical(blank)]


def _of_numbers(variable: Variable, coding: Coding, series: nw.Series[Any], first: int) -> Cells:
    """Return the level of each number, without listing the distinct ones."""
    try:
        numbers = np.asarray(series.cast(nw.Float64()).to_numpy().astype(float))
    except Exception:  # Arrow refuses whole numbers that no real one equals; here the nearest will do
        numbers = np.array([np.nan if value is None else float(value) for value in series.to_list()])
    if variable.blanks:
        numbers = np.where(np.isin(numbers, blank_numbers(variable)), np.nan, numbers)
    if variable.missing is None and np.isnan(numbers).any():
        refuse_missing(encode(series, variable.blanks), *gap_advice(variable), first=first)
    codes = coding.codes(numbers)
    return codes if variable.missing is None else np.where(np.isnan(numbers), variable.missing, codes)


def as_number(text: Any) -> Any:
    """Return the number that a text writes out, or the text where it is none."""
    if not isinstance(text, str):
        return text
    if re.fullmatch(WHOLE, text):
        return int(text)
    return float(text) if re.fullmatch(REAL, text) else text


def refuse_other_kind(variable: Variable, values: Sequence[Any]) -> None:
    """Refuse a column of numbers where levels are texts, and the other way round: no value could ever be a level."""
    if not values or variable.always_missing:
        return
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    texts = all(isinstance(value, str) for value in values)
    if (variable.numeric and texts) or (numbers and variable.textual):
        own, given = ("numbers", "texts") if texts else ("texts", "numbers")
        example = next(iter(variable.values), variable.levels[0])
        raise DataError(
            f"column {variable.name!r} holds {given}, such as {check.shown(values[0])}, but its levels are {own}, "
            f"such as {example!r}; convert the column, or write its own levels into the rule"
        )
