"""Bins of a numeric column: edges that are given, quantiles, or edges chosen by the data."""

from __future__ import annotations

import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Annotated, Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.levels import UNSEEN, Case, Coding, Stock, Value
from evenhand.errors import DataError, Made, Setting, SpecError, StorageError
from evenhand.spec.bins.binning import Binning, Occurrence

CANDIDATES = 200
"""How many places for an edge are tried."""

MOST_BINS = 10_000
"""More are no bins, and cost memory."""


@dataclass(frozen=True)
class Cuts(Coding):
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

    kind = "cuts"
    numeric = True

    def codes(self, values: Numbers) -> Cells:
        """Return the bin of each number; NaN has none."""
        found = np.searchsorted(np.asarray(self.edges), values, side="right")
        return np.where(np.isnan(values), UNSEEN, found).astype(np.int64)

    def code(self, value: float) -> int:
        """Return the bin of one number."""
        return bisect_right(self.edges, value) if value == value else UNSEEN

    def cases(self) -> Iterator[Case]:
        """Yield one bin after the other, each of what lies below its upper edge."""
        yield from (Case(code, below=edge) for code, edge in enumerate(self.edges))
        yield Case(len(self.edges))

    @property
    def gives_whole(self) -> bool:
        """Whether the column was one of whole numbers, so that the middle of a bin is one, too."""
        return self.whole

    def middle(self, code: int) -> Value:
        """Return the middle of a bin; the outer bins end at the smallest and largest value that was seen."""
        stock = self.stock[code].values
        if not code and not stock:
            # Nobody was below the first edge; it is the bin above that begins there.
            return int(np.ceil(self.edges[0])) - 1 if self.whole else float(np.nextafter(self.edges[0], -np.inf))
        low = self.edges[code - 1] if code else float(min(stock))
        last = self.edges[code] if code < len(self.edges) else float(max(stock, default=self.edges[-1]))
        if not self.whole:
            # The sum of very large numbers is none.
            return (low + last) / 2 if math.isfinite(low + last) else low / 2 + last / 2
        # The last whole number of an inner bin lies below its edge.
        top = np.ceil(last) - 1 if code < len(self.edges) else last
        return int((np.ceil(low) + max(top, np.ceil(low))) // 2)

    def described(self) -> dict[str, Any]:
        """Return edges, and whether numbers are whole."""
        return {"edges": list(self.edges), "whole": self.whole}

    @classmethod
    def read(cls, entry: Mapping[str, Any], stock: tuple[Stock, ...], size: int) -> Cuts:
        """Read edges, which must ascend, one fewer than there are bins."""
        edges = entry["edges"]
        if not isinstance(edges, list) or any(isinstance(edge, str | bool) for edge in edges):
            raise StorageError("the edges of a column are not numbers")
        edges, whole = tuple(float(edge) for edge in edges), entry["whole"]
        if not edges or not all(np.isfinite(edges)) or np.any(np.diff(edges) <= 0) or len(edges) + 1 != size:
            raise StorageError("the edges of a column do not fit its levels")
        if any(isinstance(value, str | bool) for each in stock for value in each.values):
            raise StorageError("a column with edges has kept values that are no numbers")
        if not isinstance(whole, bool) or (whole and any(v != int(v) for each in stock for v in each.values)):
            raise StorageError("a column of whole numbers has kept values that are none")
        return cls(edges, stock, whole)


@dataclass(frozen=True)
class Cut(Binning):
    """A numeric column in bins; each bin holds its lower edge and not its upper one."""

    coding = Cuts

    @abstractmethod
    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return the edges between bins."""

    def names(self, edges: Sequence[float], whole: bool) -> tuple[Value, ...]:
        """Name the bins."""
        return _names(edges, whole)

    @property
    @abstractmethod
    def most_bins(self) -> int:
        """The largest number of bins there can be."""

    def could_give(self, levels: Sequence[Value], coding: Coding) -> bool:
        """Whether there are not too many bins, and they are named by their edges."""
        if not isinstance(coding, Cuts) or len(coding.edges) >= self.most_bins:
            return False
        return tuple(levels) == self.names(coding.edges, coding.whole)

    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return one level per bin, lowest first."""
        if not seen.numeric:
            odd = min(seen.values, key=_is_number)
            why = "which is not a number; if that stands for a missing value, list it in missing_values"
            if not isinstance(odd, str | bool):
                why = f"of type {type(odd).__name__}; make the column one of whole or of real numbers"
            raise DataError(
                f"column {seen.column!r} is to be binned by {type(self).__name__}, but it holds {odd!r}, {why}"
            )
        numbers = np.asarray(seen.values, dtype=float)
        endless = np.flatnonzero(~np.isfinite(numbers))
        if len(endless):
            raise DataError(
                f"column {seen.column!r} holds {seen.values[endless[0]]!r}, which lies in no bin that has a middle; "
                f"drop those rows, or list it in missing_values"
            )
        edges = self.find(seen)
        if not edges:
            raise DataError(
                f"{type(self).__name__} finds no edge in column {seen.column!r}: nearly all of its values are "
                f"{seen.values[int(np.argmax(seen.weights))]!r}; write ",
                Setting("bins", Made("Edges", {"edges": [...]}), column=seen.column),
                ", or leave the column out",
            )
        # The smallest and the largest value make no level of their own where nobody lies beyond an outer edge.
        code = np.searchsorted(np.asarray(edges), numbers, side="right")
        plain = Occurrence(seen.column, [int(v) for v in seen.values], seen.by_outcome) if seen.whole else seen
        stock = tuple(plain.stock(np.flatnonzero(code == i)) for i in range(len(edges) + 1))
        return self.names(edges, seen.whole), Cuts(edges, stock, seen.whole), True


@dataclass(frozen=True)
class Edges(Cut):
    """Bins with given edges: ``Edges([25, 45])`` is below 25, from 25 to below 45, and 45 or more.

    Parameters
    ----------
    edges : sequence of float
        Ascending.
    labels : sequence, optional
        The names of the bins, one more than edges.

    Examples
    --------
    >>> Edges([25, 45]).names((25.0, 45.0), whole=True)
    ('<25', '25 to 44', '>=45')
    """

    word = "edges"
    edges: Sequence[Annotated[float, check.finite]]
    labels: Sequence[Value] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        edges, labels = self.edges, self.labels
        if not edges:
            raise check.refused("edges of Edges", "a list of numbers", edges)
        if any(b <= a for a, b in pairwise(edges)):
            raise SpecError(f"edges of Edges must ascend, not {list(edges)}")
        if labels is not None and len(labels) != len(edges) + 1:
            raise SpecError(
                f"{len(edges)} edges make {len(edges) + 1} bins, which need as many labels, not "
                f"{check.shown(list(labels))}"
            )
        if labels is not None and len(set(labels)) < len(labels):
            raise SpecError(f"a label is given twice in the labels of Edges, {check.shown(list(labels))}")

    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return the edges as they were given."""
        return tuple(self.edges)

    @property
    def most_bins(self) -> int:
        """One more than edges."""
        return len(self.edges) + 1

    def could_give(self, levels: Sequence[Value], coding: Coding) -> bool:
        """Whether the edges are the given ones."""
        return isinstance(coding, Cuts) and coding.edges == tuple(self.edges) and super().could_give(levels, coding)

    @property
    def words(self) -> str:
        """Where bins begin."""
        return f"in bins that begin at {', '.join(f'{edge:g}' for edge in self.edges)}"

    def names(self, edges: Sequence[float], whole: bool) -> tuple[Value, ...]:
        """Name the bins as they were named, or by their edges."""
        return tuple(self.labels) if self.labels is not None else _names(edges, whole)


@dataclass(frozen=True)
class Quantiles(Cut):
    """Bins of equal weight, as nearly as ties allow: ``Quantiles(4)`` is quarters.

    Examples
    --------
    >>> seen = Occurrence("age", [20, 30, 40, 50], np.ones((4, 1)))
    >>> Quantiles(2).find(seen)
    (40.0,)
    """

    word = "quantiles"
    number: Annotated[int, partial(check.whole, low=2, high=MOST_BINS)]

    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return distinct edges; ties can make them fewer."""
        return _quantiles(seen, self.number)

    @property
    def most_bins(self) -> int:
        """As many as were asked for."""
        return self.number

    @property
    def words(self) -> str:
        """How many bins there are."""
        return f"in {self.number} bins of equal weight"


@dataclass(frozen=True)
class ChosenBins(Cut):
    """A small number of bins chosen by the data: edges where the outcome changes most.

    Bins are split one after the other where that tells most about the outcome, as long as it tells more than it costs
    to describe (Fayyad and Irani's rule of minimum description length), and until there are ``most``. Where no edge
    tells anything, the column is cut at its median.

    Parameters
    ----------
    most : int
        The largest number of bins.

    Examples
    --------
    >>> seen = Occurrence("age", [20, 30, 40, 50], np.array([[90.0, 10], [90, 10], [10, 90], [10, 90]]))
    >>> ChosenBins().find(seen)
    (40.0,)
    """

    word = "data"
    by_outcome = True
    most: Annotated[int, partial(check.whole, low=2)] = 6

    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return the edges that tell most."""
        tried = np.asarray(_quantiles(seen, CANDIDATES))
        block = np.searchsorted(tried, np.asarray(seen.values, dtype=float), side="right")
        tables = np.stack([sums(block, column, len(tried) + 1) for column in seen.by_outcome.T], axis=1)
        found: list[int] = []
        while len(found) < self.most - 1:
            # Of all bins so far, the one is cut where that gains most.
            gain, cut = max(_best_cut(tables, a, b) for a, b in pairwise([0, *sorted(found), len(tables)]))
            if gain <= 0:
                break
            found.append(cut)
        return tuple(float(tried[i - 1]) for i in sorted(found)) or _quantiles(seen, 2)

    @property
    def most_bins(self) -> int:
        """As many as were allowed."""
        return self.most

    @property
    def words(self) -> str:
        """How many bins there may be."""
        return f"in at most {self.most} bins, cut where the outcome changes most"


def _quantiles(seen: Occurrence, number: int) -> tuple[float, ...]:
    """Return the values at which each further share of the weight begins; the smallest value is no edge."""
    values, weights = np.asarray(seen.values, dtype=float), seen.weights
    below = (np.cumsum(weights) - weights) / weights.sum()
    wanted = np.arange(1, number) / number
    # The first value that at least this share lies below; one that many share may hold several quantiles.
    place = np.searchsorted(below, wanted * (1 - np.finfo(float).eps * number))
    # Where the largest value alone is more than the last shares, it is told apart from the rest.
    inner = np.minimum(place, len(values) - 1)
    return tuple(float(v) for v in np.unique(values[inner[inner > 0]]))


def _is_number(value: Any) -> bool:
    """Whether a value is a number, or a text that writes one out: of a column of texts, that one is not to blame."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return False
    try:
        return float(value) == float(value)
    except ValueError:
        return False


def _names(edges: Sequence[float], whole: bool) -> tuple[Value, ...]:
    """Name bins by their edges; whole numbers by their first and last."""
    shown = [f"{edge:g}" for edge in edges]
    if len(set(shown)) < len(shown):
        shown = [repr(edge) for edge in edges]
    if not whole or any(edge != int(edge) for edge in edges):
        inner = [f"{a} to <{b}" for a, b in pairwise(shown)]
        return (f"<{shown[0]}", *inner, f">={shown[-1]}")
    first = [int(edge) for edge in edges]
    inner = [f"{a} to {b - 1}" if b - 1 > a else f"{a}" for a, b in pairwise(first)]
    return (f"<{first[0]}", *inner, f">={first[-1]}")


def _best_cut(tables: Numbers, first: int, last: int) -> tuple[float, int]:
    """Return what the best cut of a bin gains beyond its description, in bits over all people, and where it is."""
    if last - first < 2:
        return 0.0, first
    part = tables[first:last]
    left = np.cumsum(part, axis=0)[:-1]
    whole = part.sum(axis=0)
    right = whole - left
    size = whole.sum()
    kept = (left.sum(axis=1) > 0) & (right.sum(axis=1) > 0)
    if size <= 1 or not kept.any():
        return 0.0, first
    gain = _bits(whole[None])[0] - _bits(left) - _bits(right)
    at = int(np.argmax(np.where(kept, gain, -np.inf)))
    k, k1, k2 = ((counts > 0).sum() for counts in (whole, left[at], right[at]))
    spread = [_bits(c[None])[0] / c.sum() for c in (whole, left[at], right[at])]
    cost = np.log2(size - 1) + np.log2(3.0**k - 2) - (k * spread[0] - k1 * spread[1] - k2 * spread[2])
    return float(gain[at] - cost), first + at + 1


def _bits(tables: Numbers) -> Numbers:
    """Return the entropy of each row of counts times its size, in bits."""
    total = tables.sum(axis=1, keepdims=True)
    share = np.divide(tables, total, out=np.zeros_like(tables), where=total > 0)
    logs = np.log2(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(tables * logs).sum(axis=1))
