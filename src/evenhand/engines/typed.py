"""What the texts of a CSV file are: numbers, truths or texts, by what reads them or by all of a column's values.

A column that a mapping reads gets the types of the mapping's levels. A text that is no number stays a text among
numbers, and is then a value that the mapping does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from evenhand.arrays import Cells
from evenhand.data.domain import Value, Variable
from evenhand.data.tree import Kind
from evenhand.tables import REAL, WHOLE, as_number, canonical, parsed_number

Texts = tuple[Cells, list[str | None]]
"""A column as codes into its distinct texts."""

ANY_NUMBER = rf"{REAL}|[-+]?(?i:inf(?:inity)?)"
"""Texts that are numbers where cells are learned from them."""


class Holds(StrEnum):
    """What a column's texts are read as."""

    TEXTS = "texts"
    TRUTHS = "truths"
    NUMBERS = "numbers"
    REALS = "reals"


@dataclass(frozen=True)
class ReadAs:
    """How a column of texts is read.

    Attributes
    ----------
    holds : Holds
        What its texts are, where they can be.
    blanks : frozenset of str
        Texts that stand for a missing value.
    empty : bool
        Whether an empty text between quotes is a value.
    """

    holds: Holds = Holds.TEXTS
    blanks: frozenset[str] = frozenset()
    empty: bool = False

    def value(self, text: str | None) -> Any:
        """Return the value of a text, None for a missing one."""
        if text is None or text in self.blanks or not (text or self.empty):
            return None
        if self.holds is Holds.NUMBERS:
            return as_number(text)
        if self.holds is Holds.TRUTHS:
            return {"true": True, "false": False}.get(text.lower(), text)
        if self.holds is Holds.REALS:
            number = parsed_number(text)
            return text if number is None else None if number != number else number
        return text

    def column(self, texts: Texts) -> pd.Series[Any]:
        """Return a column of values."""
        codes, given = texts
        values = [self.value(text) for text in given]
        there = [value for value in values if value is not None]
        numbers = self.holds in (Holds.NUMBERS, Holds.REALS)
        if numbers and there and not any(isinstance(value, str) for value in there):
            return pd.Series(_numbers(values, complete=len(there) == len(values))[codes], copy=False)
        # Where numbers are expected, a column of nothing else has room for one: so that its texts are values that are
        # not known, and the column none of another kind.
        place: dict[Any, int] = {0: 0} if numbers and there else {}
        # What one text says, another may say too, as 1 and 1.0 do.
        at = np.array([-1 if value is None else place.setdefault(value, len(place)) for value in values], np.int64)
        kinds = pd.Index(list(place), dtype=object)
        return pd.Series(pd.Categorical.from_codes(at[codes], categories=kinds, validate=False), copy=False)


def _numbers(values: Sequence[Any], *, complete: bool) -> NDArray[Any]:
    """Return numbers as an array, whole ones as such where none is missing."""
    if complete and all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array([np.nan if value is None else value for value in values], dtype=np.float64)


def read_as(variables: Iterable[Variable]) -> dict[str, ReadAs]:
    """Return how the columns are read whose values are levels of variables, or that a tree asks about."""
    found: dict[str, ReadAs] = {}
    for variable in variables:
        blanks = frozenset(map(canonical, variable.blanks))
        if variable.tree is not None:
            for asked in variable.tree.columns:
                holds = Holds.REALS if asked.kind is Kind.NUMBER else Holds.TEXTS
                found[asked.name] = ReadAs(holds, blanks, empty="" in asked.words)
            continue
        holds = Holds.NUMBERS if variable.numeric else Holds.TEXTS
        if variable.coding is None and isinstance(variable.levels[0], bool):
            holds = Holds.TRUTHS
        found[variable.name] = ReadAs(holds, blanks, empty="" in variable.levels)
    return found


def valued(texts: Any, blanks: Sequence[Value] = (), kind: str | None = None) -> Any:
    """Return an Arrow array of texts as values of a type, or of the one that all of them have; blanks are null."""
    import pyarrow

    compute: Any = pyarrow.compute
    blank = compute.is_in(texts, value_set=pyarrow.array(["", *map(str, blanks)], type=texts.type))
    texts = compute.if_else(blank, None, texts)
    for name, pattern, to in ((INTEGER, WHOLE, pyarrow.int64()), (REAL_NUMBER, REAL, pyarrow.float64())):
        # It is None where there is no text at all.
        fits = compute.all(compute.match_substring_regex(texts, rf"\A(?:{pattern})\z")) if kind is None else None
        if name == kind or (fits is not None and fits.as_py()):
            return texts.cast(to)
    return texts


INTEGER, REAL_NUMBER, TEXT = "BIGINT", "DOUBLE", "VARCHAR"
"""Types of columns, as DuckDB calls them."""


class Types:
    """The type that all texts of a column have, as far as they were met."""

    def __init__(self, blanks: Iterable[Value] = ()) -> None:
        self._blanks = frozenset(("", *map(str, blanks)))
        self._patterns = {INTEGER: WHOLE, REAL_NUMBER: REAL, Holds.REALS: ANY_NUMBER}
        self._valued = False

    def add(self, texts: Iterable[str | None]) -> None:
        """Meet the distinct texts of some rows."""
        there = [text for text in texts if text is not None and text not in self._blanks]
        self._valued = self._valued or bool(there)
        for kind, pattern in list(self._patterns.items()):
            if not all(map(re.compile(pattern).fullmatch, there)):
                del self._patterns[kind]

    @property
    def open(self) -> bool:
        """Whether it can still be a number."""
        return bool(self._patterns)

    @property
    def kind(self) -> str:
        """A number where every text is one."""
        found = next(iter(self._patterns), TEXT) if self._valued else TEXT
        return TEXT if found == Holds.REALS else found

    @property
    def holds(self) -> Holds:
        """The same for a column that cells are learned from."""
        return Holds.REALS if self._valued and Holds.REALS in self._patterns else Holds.TEXTS
