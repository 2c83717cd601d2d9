"""From a column's values to levels: bins with readable edges, an order where it is plain, a pool for rare levels.

Knows one column at a time, and nothing of what it is for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.data.domain import Value
from evenhand.render.section import Note
from evenhand.spec.bins import Binning, Edges, Occurrence, PooledLevels
from evenhand.tables.survey import Column, by_code
from evenhand.tolerances import ROUNDING

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


@dataclass(frozen=True, eq=False)
class Levelled:
    """A column with its levels: for each of its values the number of the level, and last that of missing ones.

    ``binning`` is None where the values are the levels; ``order`` lists words whose order is plain; ``why``
    is how the levels were chosen, where people should know.
    """

    column: Column
    of_value: Cells
    levels: tuple[Value, ...]
    binning: Binning | None = None
    order: tuple[str, ...] | None = None
    why: tuple[Note, ...] = ()

    @cached_property
    def codes(self) -> Cells:
        """For each row the number of its level."""
        return np.asarray(self.of_value[self.column.codes])

    @property
    def name(self) -> str:
        return self.column.name

    @property
    def ordered(self) -> bool:
        """Whether one level is higher than another."""
        return self.column.numeric or self.order is not None

    @property
    def two_codes(self) -> bool:
        """Whether it has two values, such as 0 and 1: a yes or no, of which none is a step above the other."""
        return len(self.column.values) == 2 and self.order is None

    @property
    def named(self) -> tuple[Value, ...]:
        """The levels, and one more for what is missing."""
        return (*self.levels, "missing")

    @property
    def weights(self) -> Numbers:
        """How many people have each level, by weight; last, where some have none, the missing."""
        return by_code(self.codes, self.column.row_weights, 0)


def levelled(column: Column, bins: int) -> Levelled:
    """Propose the levels of a column; numbers with many values get about so many bins."""
    if column.numeric and len(column.values) > MOST_VALUES:
        return binned(column, readable_edges(column, bins))
    if column.real and column.numeric and len(column.values) > 1:
        # Real numbers have no levels of their own, so every value gets its bin.
        return binned(column, [float(value) for value in column.values[1:]])
    if not column.numeric and len(column.values) > MOST_LEVELS:
        return _pooled(column)
    order = None if column.numeric else plain_order([str(value) for value in column.values])
    return replace(as_they_are(column), order=order)


def as_they_are(column: Column) -> Levelled:
    return Levelled(column, np.arange(len(column.values) + 1), column.values)


def binned(column: Column, edges: Sequence[float]) -> Levelled:
    """Cut a column of numbers at edges; without any, its values are its levels."""
    return coded(column, Edges(edges)) if edges else as_they_are(column)


def coded(column: Column, binning: Binning) -> Levelled:
    """Code a column by a binning, as a fit would."""
    seen = Occurrence(column.name, column.values, column.weights[:, None])
    levels, coding, _ = binning.levels(seen)
    of_value = coding.codes(np.asarray(column.values, dtype=float if column.numeric else object))
    return Levelled(column, np.append(of_value, len(levels)).astype(np.int64), levels, binning)


def _pooled(column: Column) -> Levelled:
    """Pool rare levels, and the next commoner ones as long as the pool itself is very rare.

    The common ones are named, so that they are the same in another table; whatever is new there joins the pool.
    """
    weights, total = column.weights, column.weights.sum()
    rarest = np.argsort(weights, kind="stable")
    together = np.cumsum(weights[rarest])
    number = int((weights < RARE * total).sum())
    if 0 < number < len(weights):
        number = max(number, int(np.searchsorted(together, VERY_RARE * total)) + 1)
    pool = new_name(column, POOL_NAMES)
    if number == len(weights):
        return Levelled(column, np.append(np.zeros(len(weights), dtype=np.int64), 1), (pool,))
    return coded(column, PooledLevels(keep=[column.values[i] for i in np.sort(rarest[number:])], into=pool))


def new_name(column: Column, names: Sequence[str]) -> str:
    """Return the first name that no value of a column has, however it is written."""
    taken = {str(value).lower() for value in column.values}
    return next(name for name in names if name.lower() not in taken)


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
    kept = enough_beside(column, {float(np.rint(edge / step) * step) for edge in wanted})
    if kept:
        return kept
    # Nearly everybody has one value: an edge above it, or at it, if enough people are beyond.
    at = int(np.argmax(weights))
    if weights[at + 1 :].sum() >= VERY_RARE * total:
        return (float(values[at] + 1 if column.whole else values[at + 1]),)
    return (float(values[at]),) if weights[:at].sum() >= VERY_RARE * total else ()


def enough_beside(
    column: Column, edges: Iterable[float], apart: Callable[[Flags, Flags], bool] = lambda below, above: False
) -> tuple[float, ...]:
    """Keep the edges, from below, that leave no rare bin beside them; or beside which values are far enough apart."""
    values, weights = np.asarray(column.values, dtype=float), column.weights
    kept: list[float] = []
    for edge in sorted(edges):
        below, above = (values < edge) & (values >= (kept[-1] if kept else -np.inf)), values >= edge
        if min(weights[below].sum(), weights[above].sum()) >= RARE * weights.sum() or apart(below, above):
            kept.append(float(edge))
    return tuple(kept)


def _step(width: float, whole: bool) -> float:
    """Return the largest readable number up to a width; one at least for whole numbers."""
    if width <= 0:
        return 1.0 if whole else 0.1
    power = 10.0 ** math.floor(math.log10(width))
    step = max(part * power for part in READABLE if part * power <= width * (1 + ROUNDING))
    return max(1.0, step if float(step).is_integer() else float(np.floor(step))) if whole else step


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
    if len(levels) == 2 and all(SINGLE.match(level.strip()) for level in levels):
        # Two numbers are a yes and a no, or a one and the other.
        return None
    return tuple(level for _, level in known)
