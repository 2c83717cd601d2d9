"""How a column's values become levels, and how a level becomes a value again (section 3: finite alphabets).

Most columns need none of this: their values are their levels. Any other has a coding, which everybody asks: which level
a value has, in memory and in a query, which value a changed record gets, and what a mapping file keeps. The kinds of
codings stand beside the statements that make them, in ``spec.bins``. A coding reads one column: cells that are learned
over several columns are a variable of their own kind. Knows nothing of tables or domains.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.errors import StorageError

Value = Annotated[str | int | float | bool, check.level]

UNSEEN = -1
"""The code of a value that is not a level."""

MOST_KEPT = 256
"""How many values of a level are kept; of more, so many evenly spaced ones."""


@dataclass(frozen=True)
class Stock:
    """The values that one level had in the table that was fitted, ascending, and how often each occurred."""

    values: tuple[Value, ...]
    weights: tuple[float, ...]

    @classmethod
    def of(cls, values: Sequence[Value], weights: Numbers) -> Stock:
        """Keep distinct, sorted values with their weights; of many values, evenly spaced ones of equal weight."""
        if len(values) <= MOST_KEPT:
            return cls(tuple(values), tuple(float(w) for w in weights))
        reached = np.cumsum(weights) / np.sum(weights)
        wanted = (np.arange(MOST_KEPT) + 0.5) / MOST_KEPT
        place = np.minimum(np.searchsorted(reached, wanted), len(values) - 1)
        distinct, times = np.unique(place, return_counts=True)
        return cls(tuple(values[i] for i in distinct), tuple(float(n) for n in times))

    @property
    def commonest(self) -> Value:
        """The value that occurred most often."""
        return self.values[int(np.argmax(self.weights))]


@dataclass(frozen=True)
class Case:
    """One step of telling a value's level: values below an edge have it, or those that are listed, or with neither all.

    Numbers are compared as real ones, texts by their characters. The level may be UNSEEN: such values have none.
    """

    level: int
    below: Value | None = None
    among: tuple[Value, ...] | None = None


class Coding(ABC):
    """How the values of one column become levels; subclasses are frozen dataclasses.

    Attributes
    ----------
    kind : str
        What mapping files call it.
    numeric : bool
        Whether it reads numbers.
    stock : tuple of Stock
        For each level the values that it had, from which a record that gets the level is given one.
    """

    kind: ClassVar[str]
    numeric: ClassVar[bool]
    stock: tuple[Stock, ...]

    @abstractmethod
    def codes(self, values: Any) -> Cells:
        """Return the level of each value, UNSEEN where it has none.

        One that reads numbers gets an array of real ones, NaN for what is none; any other a list of values.
        """

    def code(self, value: Any) -> int:
        """Return the level of one value, as :meth:`codes` does of many; worth a way of its own where that is faster."""
        return int(self.codes(np.array([value], dtype=np.float64) if self.numeric else [value])[0])

    @abstractmethod
    def middle(self, code: int) -> Value:
        """Return the value that stands for a level."""

    @abstractmethod
    def cases(self) -> Iterator[Case]:
        """Yield what a query asks of a value, in turn; the first case that holds tells its level."""

    @abstractmethod
    def described(self) -> dict[str, Any]:
        """Return what a mapping file keeps of it beside its kind and its stock, as JSON."""

    @classmethod
    @abstractmethod
    def read(cls, entry: Mapping[str, Any], stock: tuple[Stock, ...], size: int) -> Coding:
        """Undo :meth:`described` for a column of so many levels; what makes no sense is a StorageError."""

    def reordered(self, order: Sequence[int]) -> Coding | None:
        return None

    @property
    def values(self) -> Iterator[Value]:
        return (value for stock in self.stock for value in stock.values)

    @property
    def gives_whole(self) -> bool:
        """Whether all that it writes are whole numbers."""
        return all(not isinstance(value, str) and float(value).is_integer() for value in self.values)


def listed_values(listed: Any) -> tuple[Value, ...]:
    """Return the values that a mapping file lists: texts, truths and finite numbers."""
    if not isinstance(listed, list):
        raise StorageError(f"expected a list of values, not {listed!r}")
    for value in listed:
        if not isinstance(value, str | int | float) or (isinstance(value, float) and not np.isfinite(value)):
            raise StorageError(f"{value!r} is not a value that a column could have")
    return tuple(listed)
