"""From a column's values to levels: bins with readable edges, an order where it is plain, a pool for rare levels.

Knows one column at a time, and nothing of what it is for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Value
from evenhand.spec.bins import Binning, Edges, Occurrence, PooledLevels
from evenhand.tables.survey import Column

MOST_VALUES = 10
"""A column of numbers with more distinct values is cut into bins."""

MOST_LEVELS = 6
"""A column of words with more levels has its rare ones pooled."""

RARE = 0.05
"""The share of people below which a level, or a bin, is rare."""

VERY_RARE = 0.02
"""The same for a pool of rare levels, and for the few people beside a value that nearly everybody has."""

STEPS_BETWEEN_QUARTILES = 4
"""Edges are rounded to a number that goes about so many times into the middle half of the values."""

POOL_NAMES = ("other", "(other)", "(rare)", "(pooled)")

READABLE = (1.0, 2.0, 2.5, 5.0, 10.0)

ROUNDING = 1e-9
"""A number that misses a readable one by no more than this is that number."""


@dataclass(frozen=True, eq=False)
class Levelled:
    """A column with its levels: for each row the number of its level; missing values are a level of their own.

    ``binning`` is None where the values are the levels; ``order`` lists words whose order is plain.
    """

    column: Column
    codes: Cells
    levels: tuple[Value, ...]
    binning: Binning | None = None
    order: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The column's name."""
        return self.column.name

    @property
    def ordered(self) -> bool:
        """Whether one level is higher than another."""
        return self.column.numeric or self.order is not None

    @property
    def weights(self) -> Numbers:
        """How many people have each level; last, where some have none, the missing."""
        return np.bincount(self.codes).astype(np.float64)


def levelled(column: Column, bins: int) -> Levelled:
    """Propose the levels of a column; numbers with many values get about so many bins."""
    if column.numeric and len(column.values) > MOST_VALUES:
        return _binned(column, readable_edges(column, bins))
    if column.real and column.numeric and len(column.values) > 1:
        # Real numbers have no levels of their own, so every value gets its bin.
        return _binned(column, [float(value) for value in column.values[1:]])
    if not column.numeric and len(column.values) > MOST_LEVELS:
        return _coded(column, _pool(column))
    order = None if column.numeric else plain_order([str(value) for value in column.values])
    return Levelled(column, _with_missing(column.codes, len(column.values)), column.values, order=order)


def pooled(column: Column) -> Levelled:
    """Propose levels for a column of words whose every level must be common: a protected one."""
    if column.numeric or column.weights.min() >= RARE * len(column.codes):
        return levelled(column, 2)
    return _coded(column, _pool(column))


def _binned(column: Column, edges: Sequence[float]) -> Levelled:
    if not edges:
        return Levelled(column, _with_missing(column.codes, len(column.values)), column.values)
    return _coded(column, Edges(edges))


def _coded(column: Column, binning: Binning) -> Levelled:
    """Code a column by a binning, as a fit would."""
    seen = Occurrence(column.name, column.values, column.weights[:, None])
    levels, coding, _ = binning.levels(seen)
    of_value = np.append(coding.codes(np.asarray(column.values, dtype=float if column.numeric else object)), -1)
    return Levelled(column, _with_missing(of_value[column.codes], len(levels)), levels, binning)


def _with_missing(codes: Cells, number: int) -> Cells:
    return np.where(codes < 0, number, codes)


def _pool(column: Column) -> PooledLevels:
    """Pool rare levels, and the next commoner ones as long as the pool itself is very rare."""
    ascending = np.sort(column.weights)
    together = np.cumsum(ascending)
    fewest = rounded(RARE * len(column.codes))
    pooled_now, enough = int((ascending < fewest).sum()), VERY_RARE * len(column.codes)
    if 0 < pooled_now < len(ascending) and together[pooled_now - 1] < enough:
        fewest = int(ascending[int(np.searchsorted(together, enough))]) + 1
    # No level may have the pool's name, however it is written.
    taken = {str(value).lower() for value in column.values}
    return PooledLevels(fewest, next(name for name in POOL_NAMES if name not in taken))


def readable_edges(column: Column, bins: int) -> tuple[float, ...]:
    """Return edges near the quantiles, at round numbers, so that no bin is rare.

    Examples
    --------
    >>> ages = tuple(range(17, 91))
    >>> readable_edges(Column("age", ages, np.repeat(np.arange(74), 10)), 4)
    (35.0, 55.0, 70.0)
    """
    values, weights = np.asarray(column.values, dtype=float), column.weights
    total = weights.sum()
    reached = np.cumsum(weights) / total
    wanted = values[np.searchsorted(reached, np.arange(1, bins) / bins)]
    low, high = values[np.searchsorted(reached, [0.25, 0.75])]
    step = _step((high - low) / STEPS_BETWEEN_QUARTILES, whole=column.whole)
    kept: list[float] = []
    for edge in sorted({float(np.rint(edge / step) * step) for edge in wanted}):
        # From below, an edge is dropped that would leave a rare bin beside it.
        below = weights[(values < edge) & (values >= (kept[-1] if kept else -np.inf))].sum()
        if min(below, weights[values >= edge].sum()) >= RARE * total:
            kept.append(edge)
    if kept:
        return tuple(kept)
    # Nearly everybody has one value: an edge above it, or at it, if enough people are beyond.
    at = int(np.argmax(weights))
    if weights[at + 1 :].sum() >= VERY_RARE * total:
        return (float(values[at] + 1 if column.whole else values[at + 1]),)
    return (float(values[at]),) if weights[:at].sum() >= VERY_RARE * total else ()


def _step(width: float, whole: bool) -> float:
    """Return the largest readable number up to a width; one at least for whole numbers."""
    if width <= 0:
        return 1.0 if whole else 0.1
    power = 10.0 ** math.floor(math.log10(width))
    step = max(part * power for part in READABLE if part * power <= width * (1 + ROUNDING))
    return max(1.0, step if float(step).is_integer() else float(np.floor(step))) if whole else step


def rounded(number: float) -> int:
    """Return a readable whole number near another, at least 1.

    Examples
    --------
    >>> rounded(1628.05), rounded(49.9)
    (1600, 50)
    """
    if number < 1:
        return 1
    power = 10 ** max(math.floor(math.log10(number)) - 1, 0)
    return int(round(number / power) * power)


BELOW = re.compile(r"^(?:<=?|≤|under|below|less than|up to|at most)\s*(-?\d+(?:\.\d+)?)\D*$", re.IGNORECASE)
ABOVE = re.compile(r"^(?:>=?|≥|over|above|greater than|more than|at least)\s*(-?\d+(?:\.\d+)?)\D*$", re.IGNORECASE)
OR_MORE = re.compile(r"^(\d+(?:\.\d+)?)\s*(?:\+|or more|and over|and above)\D*$", re.IGNORECASE)
RANGE = re.compile(r"^(\d+(?:\.\d+)?)\s*(?:-|–|—|to|\.\.)\s*<?\d+(?:\.\d+)?\D*$", re.IGNORECASE)
SINGLE = re.compile(r"^(\d+(?:\.\d+)?)$")
SIDES = ((BELOW, -1), (RANGE, 0), (SINGLE, 0), (OR_MORE, 1), (ABOVE, 1))
"""Whether a level lies below its number, at it, or above."""


def plain_order(levels: Sequence[str]) -> tuple[str, ...] | None:
    """Return levels in order where they are plainly ranges of numbers; None for any other words.

    Examples
    --------
    >>> plain_order(["25 - 45", "Greater than 45", "Less than 25"])
    ('Less than 25', '25 - 45', 'Greater than 45')
    >>> plain_order(["A11", "A12"]) is None
    True
    """
    known = []
    for level in levels:
        found = ((pattern.match(level.strip()), side) for pattern, side in SIDES)
        known += [((float(match.group(1)), side), level) for match, side in found if match][:1]
    known.sort()
    if len(known) < max(2, len(levels)) or any(a[0] == b[0] for a, b in pairwise(known)):
        return None
    return tuple(level for _, level in known)
