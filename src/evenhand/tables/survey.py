"""A table looked over before anything is stated: what each column holds, how often, and what is missing.

Knows nothing of problems; what to make of it is decided in proposal.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from typing import Any

import narwhals as nw
import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Value
from evenhand.data.weighting import Weighting, look_like_counts
from evenhand.errors import DataError, SpecError, did_you_mean, some_of
from evenhand.tables.columns import REAL, WHOLE
from evenhand.tables.frames import Frame, read

TOKENS = ("?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "-", ".")
"""Words that often stand for a missing value."""

ONLY_AMONG_NUMBERS = ("-", ".")
"""Tokens that mean something else among words."""

STORED = (str, int, float, np.number, Decimal)

MISSING = -1

FEW_COLUMNS, SOME_ROWS = 16, 5_000
"""Of so many columns at most, and of the first rows, it is asked whether a table is one of counts."""


@dataclass(frozen=True, eq=False)
class Column:
    """One column: its distinct values, ascending, and for each row the number of its value.

    ``tokens`` are the words in it that stand for a missing value; ``real`` says that its numbers are stored as real
    ones, ``dated`` that its values are dates or times, ``nested`` that they are made of others or are bytes: those are
    not listed. ``row_weights`` and ``row_people`` are those of the survey; None is one for each row.
    """

    name: str
    values: tuple[Value, ...]
    codes: Cells
    tokens: tuple[str, ...] = ()
    real: bool = False
    dated: bool = False
    nested: bool = False
    row_weights: Numbers | None = None
    row_people: Numbers | None = None

    @cached_property
    def weights(self) -> Numbers:
        """How many people have each value, by weight."""
        return by_code(self.codes, self.row_weights, len(self.values))

    @cached_property
    def people(self) -> Numbers:
        """How many people were counted with each value."""
        return by_code(self.codes, self.row_people, len(self.values))

    @cached_property
    def missing(self) -> int:
        """How many rows have none."""
        return int((self.codes == MISSING).sum())

    @cached_property
    def numeric(self) -> bool:
        return bool(self.values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    @cached_property
    def whole(self) -> bool:
        return self.numeric and all(isinstance(v, int) for v in self.values)


@dataclass(frozen=True, eq=False)
class Distinct:
    """A column as it was read: its distinct values in any order, and for each row the number of its value.

    An array of values holds finite numbers alone. ``real`` says that its numbers are stored as real ones; of ``nested``
    columns no values are listed.
    """

    name: str
    values: Sequence[Any] | NDArray[Any]
    codes: Cells
    real: bool = False
    nested: bool = False


@dataclass(frozen=True, eq=False)
class Survey:
    """Every column of a table but its weights.

    Attributes
    ----------
    rows : int
        How many rows it has, without those of no weight.
    row_weights : array, optional
        What each row weighs; together as much as there are people. None is one for each.
    row_people : array, optional
        How many people each row stands for: its frequency in a table of counts, else one. None is one for each.
    kept : array, optional
        The places of the rows in the table, where some have no weight. None is all.
    """

    rows: int
    columns: tuple[Column, ...]
    row_weights: Numbers | None = None
    row_people: Numbers | None = None
    kept: Cells | None = None

    def __getitem__(self, name: str) -> Column:
        return next(column for column in self.columns if column.name == name)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    @property
    def people(self) -> int:
        return self.rows if self.row_people is None else int(self.row_people.sum())

    def like_frequencies(self, used: Collection[str]) -> str | None:
        """Return a column that may say for how many people a row stands: no two rows agree in the others."""
        if len(self.columns) > FEW_COLUMNS:
            return None
        # An index comes first, and numbers rows one by one.
        for column in reversed(self.columns):
            if not column.whole or column.missing or column.name in used:
                continue
            others = [each.codes[:SOME_ROWS] for each in self.columns if each is not column]
            least, most = int(column.values[0]), int(column.values[-1])
            if least >= 0 and most - least + 1 != self.rows:
                people = np.asarray(column.values, dtype=float)[column.codes[:SOME_ROWS]]
                there = np.flatnonzero(people)
                if look_like_counts(people[there], [codes[there] for codes in others]):
                    return column.name
        return None


def survey(
    table: Frame | Sequence[Distinct],
    missing_values: Collection[str] | None = None,
    *,
    parse: bool = False,
    weighting: Weighting | None = None,
) -> Survey:
    """Look over a table.

    Parameters
    ----------
    table : dataframe, or sequence of Distinct
        One row per person, or with frequencies for so many; or its columns, where their distinct values are known.
    missing_values : collection of str, optional
        The words that stand for a missing value; by default those that usually do.
    parse : bool
        Whether texts that are all numbers are numbers, as in a file.
    weighting : Weighting, optional
        By which column rows count.

    Examples
    --------
    >>> found = survey(pd.DataFrame({"age": ["31", "?", "45"], "sex": ["f", "m", "f"]}), parse=True)
    >>> found["age"].values, found["age"].missing, found["sex"].values
    ((31, 45), 1, ('f', 'm'))
    """
    known = isinstance(table, Sequence) and all(isinstance(each, Distinct) for each in table)
    read_as = list(table) if known else distinct(read(table))
    rows = len(read_as[0].codes) if read_as else 0
    columns = tuple(_column(each, missing_values, parse) for each in read_as)
    if weighting is None or not rows:
        return Survey(rows, columns)
    weights, option = str(weighting.column), weighting.option
    given = next((each for each in columns if each.name == weights), None)
    if given is None:
        names = [each.name for each in columns]
        raise DataError(f"the table has no column {weights!r}; it has {some_of(names)}.{did_you_mean(weights, names)}")
    if given.missing or not given.numeric:
        wrong = f"is missing in {given.missing} rows" if given.missing else f"holds {given.values[0]!r}"
        raise DataError(f"the {option} {weights!r} must be numbers, one for each row; the column {wrong}")
    weight = weighting.checked(np.asarray(given.values, dtype=float)[given.codes])
    kept = np.flatnonzero(weight > 0)
    if len(kept) < rows:
        # What only rows without a weight hold is not there.
        read_as = [replace(each, **_remaining(each, kept)) for each in read_as]
        columns, weight = tuple(_column(each, missing_values, parse) for each in read_as), weight[kept]
    columns = tuple(each for each in columns if each.name != weights)
    if not weighting.repeats and not weighting.deliberate and look_like_counts(weight, [c.codes for c in columns]):
        raise SpecError(*weighting.mistakable)
    people = weighting.people(weight)
    scaled = weight * (people.sum() / weight.sum())
    both = {"row_weights": scaled, "row_people": people}
    return Survey(len(kept), tuple(replace(each, **both) for each in columns), **both, kept=kept)


def distinct(table: nw.DataFrame[Any]) -> list[Distinct]:
    """Return the columns of a table by their distinct values."""
    found = []
    for name in table.columns:
        series = table[name]
        if _is_nested(series):
            found.append(Distinct(name, (), np.full(len(series), MISSING, dtype=np.int64), nested=True))
            continue
        codes, values = pd.factorize(series.to_pandas())
        listed: list[Any] = np.asarray(values, dtype=object).tolist()
        found.append(Distinct(name, listed, np.asarray(codes), series.dtype.is_float()))
    return found


def _remaining(each: Distinct, rows: Cells) -> dict[str, Any]:
    """Return the values of some rows, and their numbers."""
    codes = each.codes[rows]
    there, place = np.unique(codes[codes != MISSING], return_inverse=True)
    numbered = np.full(len(codes), MISSING, dtype=np.int64)
    numbered[codes != MISSING] = place
    return {"values": [each.values[i] for i in there], "codes": numbered}


def by_code(codes: Cells, each: Numbers | None, size: int) -> Numbers:
    """Add up rows by their code; those without one are left out."""
    there = codes >= 0
    return np.bincount(codes[there], None if each is None else each[there], minlength=size).astype(np.float64)


def _is_nested(series: nw.Series[Any]) -> bool:
    """Whether values are made of others, or are bytes; where the dtype does not tell, each of them does."""
    # Arrow's maps have no dtype of their own in narwhals.
    if isinstance(series.dtype, nw.Object | nw.Unknown):
        return any(isinstance(value, Container) and not isinstance(value, str) for value in series.to_list())
    return isinstance(series.dtype, nw.List | nw.Array | nw.Struct | nw.Binary)


def _column(given: Distinct, missing_values: Collection[str] | None, parse: bool) -> Column:
    if given.nested:
        return Column(given.name, (), given.codes, nested=True)
    values = given.values
    if isinstance(values, np.ndarray):
        numbers, rank = np.unique(values, return_inverse=True)
        kind = int if np.all(numbers == np.rint(numbers)) else float
        return Column(given.name, tuple(map(kind, numbers)), np.append(rank, MISSING)[given.codes], real=given.real)
    tokens = _tokens(values, missing_values)
    blank = {*tokens, ""}
    kept = [i for i, value in enumerate(values) if not (isinstance(value, str) and value in blank)]
    levels, dated = _typed([values[i] for i in kept], parse)
    ascending = sorted(set(levels))
    place = {level: i for i, level in enumerate(ascending)}
    of_value = np.full(len(values) + 1, MISSING, dtype=np.int64)
    of_value[kept] = [place[level] for level in levels]
    return Column(given.name, tuple(ascending), of_value[given.codes], tokens, given.real, dated)


def _tokens(values: Sequence[Any], missing_values: Collection[str] | None) -> tuple[str, ...]:
    """Return the words of a column that stand for a missing value."""
    texts = {value for value in values if isinstance(value, str)}
    if missing_values is not None:
        return tuple(token for token in missing_values if token in texts)
    found = [token for token in TOKENS if token in texts]
    if not any(token in ONLY_AMONG_NUMBERS for token in found):
        return tuple(found)
    numbers = _numbers([value for value in values if value not in (*found, "")]) is not None
    return tuple(token for token in found if numbers or token not in ONLY_AMONG_NUMBERS)


def _typed(texts: Sequence[Any], parse: bool) -> tuple[list[Any], bool]:
    """Return the values as numbers where all of them are, else as words; and whether they are dates."""
    if not texts:
        return [], False
    if all(isinstance(text, bool | np.bool_) for text in texts):
        return [bool(text) for text in texts], False
    numbers = _numbers(texts) if parse or not any(isinstance(text, str) for text in texts) else None
    if numbers is not None:
        return numbers, False
    words = [str(text) for text in texts]
    # Dates or times, as databases write them.
    if not all(word[:1].isdigit() and any(mark in word for mark in "-:/") for word in words[:100]):
        return words, False
    return words, bool(pd.to_datetime(pd.Series(words[:100]), errors="coerce", format="ISO8601").notna().all())


def _numbers(values: Sequence[Any]) -> list[int | float] | None:
    """Return numbers for values, whole ones as integers if all are whole; None where one is no number.

    Texts are numbers where a fit would read them as such: of too many digits they are words, as codes are.
    """
    if not values or any(isinstance(value, bool) or not isinstance(value, STORED) for value in values):
        return None
    texts = [value for value in values if isinstance(value, str)]
    if len(texts) == len(values) and all(re.fullmatch(WHOLE, text) for text in texts):
        return [int(text) for text in texts]
    if not all(re.fullmatch(REAL, text) for text in texts):
        return None
    if all(isinstance(value, int | np.integer) for value in values):
        # Large ones are no real numbers.
        return [int(value) for value in values]
    found = [float(value) for value in values]
    whole = all(number.is_integer() for number in found) and not any(set(text) & set(".eE") for text in texts)
    return [int(number) for number in found] if whole else found
