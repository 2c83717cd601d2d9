"""How the values of one column are distributed, in a few levels of its own: what drift of the column is held against.

Cells that are learned over several columns keep no more of each than their rules say. A profile keeps the column's own
distribution beside them: numbers in tenths of the people, words one by one. Plain values; knows nothing of tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.tree import ANOTHER_WORD, MISSING_WORD, NOWHERE, Asked, Given, interval
from evenhand.errors import StorageError

PARTS = 10
"""Of equally many people, into which numbers are cut; fewer values are levels each."""

COUNTED = ("people", "weight", "squares")


@dataclass(frozen=True)
class Profile:
    """The levels of a column, and how many of the fitted people had each.

    Attributes
    ----------
    asked : Asked
        The column; its words are levels, any other word is one more, and missing values are the last.
    edges : tuple of float
        Of numbers, truths and dates: where a level begins, but for the first.
    people, weight, squares : tuple of float
        Of each level, how many people it has, their weight and squared weights.

    Examples
    --------
    >>> from evenhand.data.tree import Kind
    >>> years = Asked("years", Kind.NUMBER, gaps=True)
    >>> found = Profile.of(years, Given(numbers=np.array([1.0, 2, 2, np.nan])), np.ones(4), np.ones(4))
    >>> [(found.named(level), people) for level, people in enumerate(found.people)]
    [('below 2', 1.0), ('at least 2', 2.0), ('missing', 1.0)]
    """

    asked: Asked
    edges: tuple[float, ...]
    people: tuple[float, ...]
    weight: tuple[float, ...]
    squares: tuple[float, ...]

    @classmethod
    def of(cls, asked: Asked, given: Given, people: Numbers, weight: Numbers) -> Profile:
        """Return the profile of rows that each stand for people of equal weight."""
        empty = cls(asked, _edges(given, people), (), (), ())
        counted = empty.counted(given, people, weight, weight**2 / np.maximum(people, 1.0))
        return cls(asked, empty.edges, *(tuple(each.tolist()) for each in counted))

    @property
    def size(self) -> int:
        """The number of levels."""
        return 2 + (len(self.edges) if self.asked.kind.numeric else len(self.asked.words))

    def levels(self, given: Given) -> Cells:
        """Return the level of each row."""
        if given.numbers is not None:
            # NaN is behind all edges, and then at the place of missing values.
            found = np.searchsorted(self.edges, given.numbers, side="right")
            return np.where(np.isnan(given.numbers), self.size - 1, found)
        assert given.codes is not None
        known = {word: place for place, word in enumerate(self.asked.words)}
        places = [known.get(word, len(known)) for word in given.words]
        return np.array([*places, self.size - 1], dtype=np.int64)[np.where(given.codes == NOWHERE, -1, given.codes)]

    def counted(self, given: Given, people: Numbers, weight: Numbers, squares: Numbers) -> Numbers:
        """Return people, weight and squared weights of rows by level: three rows."""
        level = self.levels(given)
        return np.array([sums(level, each, self.size) for each in (people, weight, squares)])

    def named(self, level: int) -> str:
        """Name a level."""
        if level == self.size - 1:
            return MISSING_WORD
        if not self.asked.kind.numeric:
            return [*self.asked.words, ANOTHER_WORD][level]
        ends = (-math.inf, *self.edges, math.inf)
        return interval(self.asked, ends[level], ends[level + 1]) or "any value"

    def described(self) -> dict[str, Any]:
        """Return what a file keeps beside the column, which the tree describes."""
        return {"edges": list(self.edges)} | {name: list(getattr(self, name)) for name in COUNTED}

    @classmethod
    def read(cls, asked: Asked, entry: Mapping[str, Any]) -> Profile:
        """Undo :meth:`described`."""
        edges, *counted = (_numbers(entry[name]) for name in ("edges", *COUNTED))
        found = cls(asked, edges, *counted)
        # Written so that a NaN is refused.
        ascending = all(a < b for a, b in pairwise(edges)) and (asked.kind.numeric or not edges)
        if not ascending or not all(len(each) == found.size and min(each) >= 0 for each in counted):
            raise StorageError(f"the profile of column {asked.name!r} makes no sense")
        if not min(map(sum, counted)) > 0:
            raise StorageError(f"the profile of column {asked.name!r} is of nobody")
        return found


def _numbers(given: Any) -> tuple[float, ...]:
    if not isinstance(given, list) or any(isinstance(each, bool | str) or not math.isfinite(each) for each in given):
        raise StorageError("the profile of a column is not of finite numbers")
    return tuple(map(float, given))


def _edges(given: Given, people: Numbers) -> tuple[float, ...]:
    """Return where levels of about equally many people begin."""
    if given.numbers is None:
        return ()
    there = np.isfinite(given.numbers)
    values, place = np.unique(given.numbers[there], return_inverse=True)
    if len(values) <= PARTS:
        return tuple(values[1:].tolist())
    reached = np.cumsum(sums(place, people[there], len(values)))
    cuts = values[np.searchsorted(reached, reached[-1] * np.arange(1, PARTS) / PARTS)]
    return tuple(np.unique(cuts[cuts > values[0]]).tolist())
