"""How a column's values become levels: edges, quantiles, bins chosen by the data, merged and pooled levels.

A statement here says what is wanted; with the values of a table it becomes a coding, which a mapping keeps. Knows plain
arrays, not tables.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.domain import Value
from evenhand.data.levels import Coding, Cuts, Merges, Stock
from evenhand.errors import DataError, Made, Setting, SpecError
from evenhand.spec import check
from evenhand.spec.frozen import FrozenMap

CANDIDATES = 200
"""How many places for an edge are tried."""


@dataclass(frozen=True, eq=False)
class Occurrence:
    """What binning may look at: a column's distinct values, ascending, and how often each occurs with each outcome."""

    column: str
    values: Sequence[Value]
    by_outcome: Numbers

    @property
    def weights(self) -> Numbers:
        """How often each value occurs."""
        return np.asarray(self.by_outcome.sum(axis=1))

    @property
    def numeric(self) -> bool:
        """Whether the values are numbers."""
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers, of whatever type: pandas makes them real where one is missing."""
        return all(float(v).is_integer() for v in self.values)


class Binning(ABC):
    """How the values of one column become levels."""

    @abstractmethod
    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return the levels, the coding that gives them, and whether their order means something."""


@dataclass(frozen=True)
class Cut(Binning):
    """A numeric column in bins; each bin holds its lower edge and not its upper one."""

    @abstractmethod
    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return the edges between bins."""

    def names(self, edges: Sequence[float], whole: bool) -> tuple[Value, ...]:
        """Name the bins."""
        return _names(edges, whole)

    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return one level a bin, lowest first."""
        if not seen.numeric:
            odd = min(seen.values, key=_is_number)
            why = "which is not a number; if that stands for a missing value, list it in missing_values"
            if not isinstance(odd, str | bool):
                why = f"of type {type(odd).__name__}; make the column one of whole or of real numbers"
            raise DataError(
                f"column {seen.column!r} is to be binned by {type(self).__name__}, but it holds {odd!r}, {why}"
            )
        endless = [v for v in seen.values if not np.isfinite(float(v))]
        if endless:
            raise DataError(
                f"column {seen.column!r} holds {endless[0]!r}, which lies in no bin that has a middle; drop those "
                f"rows, or list it in missing_values"
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
        code = np.searchsorted(np.asarray(edges), np.asarray(seen.values, dtype=float), side="right")
        plain = Occurrence(seen.column, [int(v) for v in seen.values], seen.by_outcome) if seen.whole else seen
        stock = tuple(_stock(plain, np.flatnonzero(code == i)) for i in range(len(edges) + 1))
        return self.names(edges, seen.whole), Cuts(edges, stock, seen.whole), True


@dataclass(frozen=True)
class Edges(Cut):
    """Bins with given edges: ``Edges([25, 45])`` is below 25, from 25 to below 45, and 45 or more.

    Parameters
    ----------
    edges : sequence of float
        Ascending.
    labels : sequence of str, optional
        The names of the bins, one more than edges.

    Examples
    --------
    >>> Edges([25, 45]).names((25.0, 45.0), whole=True)
    ('<25', '25 to 44', '>=45')
    """

    edges: Sequence[float]
    labels: Sequence[str] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.edges, str) or not isinstance(self.edges, Iterable) or not tuple(self.edges):
            raise SpecError(f"the edges of Edges must be a list of numbers, not {self.edges!r}")
        edges = tuple(check.finite("an edge", edge) for edge in self.edges)
        if any(b <= a for a, b in pairwise(edges)):
            raise SpecError(f"the edges of Edges must ascend, not {list(self.edges)}")
        object.__setattr__(self, "edges", edges)
        if self.labels is not None:
            if isinstance(self.labels, str) or len(tuple(self.labels)) != len(edges) + 1:
                raise SpecError(
                    f"{len(edges)} edges make {len(edges) + 1} bins, which need as many labels, not {self.labels!r}"
                )
            if len(set(self.labels)) <= len(edges):
                raise SpecError(f"a label is given twice in {list(self.labels)}")
            object.__setattr__(self, "labels", tuple(self.labels))

    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return the edges as they were given."""
        return tuple(self.edges)

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

    number: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "number", _several("the number of Quantiles", self.number))

    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return distinct edges; ties can make them fewer."""
        return _quantiles(seen, self.number)


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

    most: int = 6

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", _several("the most of ChosenBins", self.most))

    def find(self, seen: Occurrence) -> tuple[float, ...]:
        """Return the edges that tell most."""
        tried = np.asarray(_quantiles(seen, CANDIDATES))
        block = np.searchsorted(tried, np.asarray(seen.values, dtype=float), side="right")
        tables = np.stack([sums(block, column, len(tried) + 1) for column in seen.by_outcome.T], axis=1)
        kept = _informative(tables, self.most - 1)
        return tuple(float(tried[i - 1]) for i in kept) or _quantiles(seen, 2)


@dataclass(frozen=True)
class MergedLevels(Binning):
    """Levels that are told apart no more: ``MergedLevels({"Minority": ["Black", "Other"]})``.

    Parameters
    ----------
    into : mapping of str to sequence
        For each new level, the values that it stands for; values that are in none keep a level of their own.
    rest : str, optional
        The level of every value that is in none.
    ordered : bool
        Whether the order in which the levels are given means something.

    Examples
    --------
    >>> seen = Occurrence("race", ["Black", "Other", "White"], np.ones((3, 1)))
    >>> MergedLevels({"Minority": ["Black", "Other"]}).levels(seen)[0]
    ('Minority', 'White')
    """

    into: Mapping[str, Sequence[Value]]
    rest: str | None = None
    ordered: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.into, Mapping) or not self.into:
            raise SpecError(f"MergedLevels needs a mapping of levels to values, not {self.into!r}")
        held: dict[Value, str] = {}
        for level, values in self.into.items():
            if isinstance(values, str) or not isinstance(values, Iterable):
                raise SpecError(f"MergedLevels: {level!r} must list its values, not {values!r}")
            for value in values:
                if check.level(f"MergedLevels: each value of {level!r}", value) in held:
                    raise SpecError(f"MergedLevels: {value!r} is in both {held[value]!r} and {level!r}")
                held[value] = level
        frozen = FrozenMap({level: tuple(values) for level, values in self.into.items()})
        object.__setattr__(self, "into", frozen)

    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return the merged levels, then those that stand alone."""
        listed = {value for values in self.into.values() for value in values}
        members: dict[Value, list[Value]] = {level: list(values) for level, values in self.into.items()}
        alone = [value for value in seen.values if value not in listed]
        if self.rest is not None:
            members.setdefault(self.rest, []).extend(alone)
        else:
            _refuse_clash(seen.column, members, alone)
            members |= {value: [value] for value in alone}
        return (*_grouped(seen, members, self.rest, ordered=self.ordered), self.ordered)


@dataclass(frozen=True)
class PooledLevels(Binning):
    """Rare levels pooled into one; a value that was never seen at fit belongs there too.

    Parameters
    ----------
    fewer_than : float
        A level of a smaller weight (of fewer people) is rare.
    into : str
        The name of the level of all rare ones.

    Examples
    --------
    >>> seen = Occurrence("country", ["A", "B", "C"], np.array([[900.0], [3], [4]]))
    >>> PooledLevels(10).levels(seen)[0]
    ('A', 'other')
    """

    fewer_than: float
    into: str = field(default="other")

    def __post_init__(self) -> None:
        check.finite("fewer_than of PooledLevels", self.fewer_than, low=0)
        if not isinstance(self.into, str):
            raise SpecError(f"into of PooledLevels must be a name, not {self.into!r}")

    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return the common levels, and last the pool if anything is rare."""
        rare = seen.weights < self.fewer_than
        common = [value for value, few in zip(seen.values, rare, strict=True) if not few]
        pool = [value for value, few in zip(seen.values, rare, strict=True) if few]
        if not pool:
            return (*_grouped(seen, {value: [value] for value in common}, None, ordered=False), False)
        _refuse_clash(seen.column, {self.into: pool}, [v for v in common if v != self.into])
        members = {value: [value] for value in common}
        members.setdefault(self.into, []).extend(pool)
        return (*_grouped(seen, members, self.into, ordered=True), False)


def _refuse_clash(column: str, members: Mapping[Value, Sequence[Value]], alone: Sequence[Value]) -> None:
    for value in alone:
        if value in members:
            raise SpecError(
                f"column {column!r} already has a value {value!r}, which is also the name of a level of several "
                f"values; give that level another name"
            )


def _grouped(
    seen: Occurrence, members: Mapping[Value, Sequence[Value]], rest: str | None, *, ordered: bool
) -> tuple[tuple[Value, ...], Merges]:
    """Return the levels that somebody has, sorted unless their order is given, and their coding."""
    known = {value: i for i, value in enumerate(seen.values)}
    held = {level: [known[v] for v in values if v in known] for level, values in members.items()}
    names = [level for level, rows in held.items() if rows]
    if not ordered:
        names.sort(key=lambda level: (isinstance(level, str), level))
    stock = tuple(_stock(seen, np.sort(held[level])) for level in names)
    pool = names.index(rest) if rest is not None and rest in names else None
    return tuple(names), Merges(tuple(tuple(members[level]) for level in names), pool, stock)


def _stock(seen: Occurrence, rows: Cells) -> Stock:
    return Stock.of([seen.values[i] for i in rows], seen.weights[rows])


def _several(what: str, value: int) -> int:
    number = check.finite(what, value, low=2)
    if number != int(number):
        raise SpecError(f"{what} must be a whole number, not {value}")
    return int(number)


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


def _informative(tables: Numbers, most: int) -> list[int]:
    """Return where to cut a run of blocks (rows of counts by outcome), the best cut first in turn, then ascending."""
    cuts = [0, len(tables)]
    found: list[int] = []
    while len(found) < most:
        best = max((_best_cut(tables, a, b) for a, b in pairwise(cuts)), default=(0.0, 0))
        if best[0] <= 0:
            break
        found.append(best[1])
        cuts = sorted([0, len(tables), *found])
    return sorted(found)


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
