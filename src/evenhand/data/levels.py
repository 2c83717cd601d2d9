"""How a column's values become levels, and how a level becomes a value again (section 3: finite alphabets).

Most columns need none of this: their values are their levels. A binned column has edges; a column with merged or pooled
levels has a table. Either keeps a stock of values for each level, from which a changed record gets a plausible one.
Knows nothing of tables or domains.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Value = str | int | float | bool
Codes = NDArray[np.int64]
Weights = NDArray[np.float64]

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
    def of(cls, values: Sequence[Value], weights: Weights) -> Stock:
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
class Cuts:
    """Bins of a numeric column: level i holds the values from edge i - 1 up to, but not including, edge i.

    Examples
    --------
    >>> cuts = Cuts((25.0, 45.0), (), whole=True)
    >>> cuts.codes(np.array([24, 25, 44.9, 45, 90])).tolist()
    [0, 1, 1, 2, 2]
    """

    edges: tuple[float, ...]
    stock: tuple[Stock, ...]
    whole: bool

    def codes(self, numbers: Weights) -> Codes:
        """Return the bin of each number; NaN has none."""
        found = np.searchsorted(np.asarray(self.edges), numbers, side="right")
        return np.where(np.isnan(numbers), UNSEEN, found).astype(np.int64)

    def middle(self, code: int) -> Value:
        """Return the middle of a bin; the outer bins end at the smallest and largest value that was seen."""
        stock = self.stock[code].values
        if not code and not stock:
            # Nobody was below the first edge; it is the bin above that begins there.
            return int(np.ceil(self.edges[0])) - 1 if self.whole else float(np.nextafter(self.edges[0], -np.inf))
        low = self.edges[code - 1] if code else float(min(stock))
        last = self.edges[code] if code < len(self.edges) else float(max(stock, default=self.edges[-1]))
        if not self.whole:
            return (low + last) / 2
        # The last whole number of an inner bin lies below its edge.
        top = np.ceil(last) - 1 if code < len(self.edges) else last
        return int((np.ceil(low) + max(top, np.ceil(low))) // 2)


@dataclass(frozen=True)
class Merges:
    """Levels that stand for several values each.

    ``members`` lists the values of each level. ``rest`` is the level of every value that is in none, where there is
    one.
    """

    members: tuple[tuple[Value, ...], ...]
    rest: int | None
    stock: tuple[Stock, ...]

    @cached_property
    def _level_of(self) -> dict[Value, int]:
        return {value: code for code, values in enumerate(self.members) for value in values}

    def code(self, value: Value) -> int:
        """Return the level of one value."""
        return self._level_of.get(value, UNSEEN if self.rest is None else self.rest)

    def codes(self, values: Iterable[Value]) -> Codes:
        """Return the level of each value."""
        return np.array([self.code(value) for value in values], dtype=np.int64)

    def middle(self, code: int) -> Value:
        """Return the commonest value of a level: merged values have no middle."""
        return self.stock[code].commonest


Coding = Cuts | Merges
