"""Cells over several columns: a binary tree whose leaves are the levels of one variable.

The paper's X may be any finite variable (section 3), and so it may be the leaf that a person falls into. A tree is
plain values: columns, splits, and where each side of a split leads. It finds the leaf of rows of values, says each
leaf's rule in words, and can be kept in a file. Knows nothing of tables, nor of how a tree is grown.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.errors import StorageError

EPOCH = date(1970, 1, 1)

MOST_SPLITS = 10_000
"""More are no cells that anybody could read, and cost memory."""

MOST_WORDS_SHOWN = 4
"""So many words of a rule are listed; of more, this many and how many others there are."""

NOWHERE = -1
"""The code of a missing word."""

MISSING_WORD, ANOTHER_WORD = "missing", "another word"


class Kind(StrEnum):
    """What a column holds, to a tree."""

    NUMBER = "number"
    TRUTH = "truth"
    DATE = "date"
    WORD = "word"

    @property
    def numeric(self) -> bool:
        """Whether values have an order that splits cut: truths as 0 and 1, dates as days."""
        return self is not Kind.WORD


@dataclass(frozen=True)
class Asked:
    """A column that a tree asks about.

    Attributes
    ----------
    name : str
        The column.
    kind : Kind
        What it holds.
    gaps : bool
        Whether the table that the tree was grown on had missing values there.
    words : tuple of str
        The words that the tree knows, ascending; any other goes where the splits say.
    others : bool
        Whether that table had other words than these.
    """

    name: str
    kind: Kind
    gaps: bool = False
    words: tuple[str, ...] = ()
    others: bool = False


@dataclass(frozen=True)
class Split:
    """One question of a tree.

    Attributes
    ----------
    column : int
        The place of the column that is asked about.
    left, right : int
        Where each side leads: to a later split or, if negative, to a leaf: ``~leaf``.
    missing_left : bool
        Whether missing values go left.
    below : float or None
        Of numbers, truths and dates: what lies below goes left; None sends every value left.
    among : tuple of str
        Of words: these go left, ascending.
    others_left : bool
        Of words: whether those that the tree does not know go left.
    """

    column: int
    left: int
    right: int
    missing_left: bool
    below: float | None = None
    among: tuple[str, ...] = ()
    others_left: bool = False

    @cached_property
    def listed(self) -> frozenset[str]:
        """The words that go left."""
        return frozenset(self.among)


@dataclass(frozen=True, eq=False)
class Given:
    """A column of rows as a tree reads it: real numbers, NaN where one is missing; or words by their codes.

    The code of a missing word is NOWHERE.
    """

    numbers: Numbers | None = None
    codes: Cells | None = None
    words: Sequence[str] = ()

    def __len__(self) -> int:
        return len(self.missing)

    @property
    def missing(self) -> Flags:
        """Which rows have no value."""
        if self.numbers is not None:
            return np.isnan(self.numbers)
        assert self.codes is not None
        return np.asarray(self.codes == NOWHERE)


@dataclass(frozen=True)
class Tree:
    """Which leaf a row of values falls into. Leaves are numbered from left to right.

    Examples
    --------
    >>> years = Asked("years", Kind.NUMBER)
    >>> town = Asked("town", Kind.WORD, words=("Bonn", "Graz", "Rome"), others=True)
    >>> tree = Tree((years, town), (Split(0, ~0, 1, missing_left=True, below=13.0),
    ...                             Split(1, ~1, ~2, missing_left=False, among=("Bonn", "Rome"))))
    >>> tree.rules
    ('years below 13', 'years at least 13, town is Bonn or Rome', 'years at least 13, town is Graz or another word')
    >>> tree.leaf([13, "Oslo"]), tree.leaf([None, "Oslo"])
    (2, 0)
    """

    columns: tuple[Asked, ...]
    splits: tuple[Split, ...]

    @property
    def size(self) -> int:
        """The number of leaves."""
        return len(self.splits) + 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(column.name for column in self.columns)

    def leaves(self, rows: Sequence[Given], number: int) -> Cells:
        """Return the leaf of each of so many rows, of which every column is given."""
        values = [self._told_apart(column, given) for column, given in enumerate(rows)]
        found = np.zeros(number, dtype=np.int64)
        waiting = [(0 if self.splits else ~0, np.arange(number))]
        while waiting:
            place, at = waiting.pop()
            if place < 0:
                found[at] = ~place
                continue
            split = self.splits[place]
            left = self._left(place, values[split.column][at])
            waiting += [(split.left, at[left]), (split.right, at[~left])]
        return found

    def _told_apart(self, column: int, given: Given) -> NDArray[Any]:
        """Return what splits look at: numbers; or the place of each word among those known, others and missing last."""
        if given.numbers is not None:
            return given.numbers
        assert given.codes is not None
        known = self._places[column]
        places = [known.get(word, len(known)) for word in given.words]
        return np.array([*places, len(known) + 1], dtype=np.int64)[given.codes]

    def _left(self, place: int, value: NDArray[Any]) -> Flags:
        """Return which rows go left at a split."""
        split = self.splits[place]
        if not self.columns[split.column].kind.numeric:
            return np.asarray(self._sides[place][value])
        # Nothing is below or above what is missing.
        left: Flags = value < split.below if split.below is not None else ~np.isnan(value)
        return left | np.isnan(value) if split.missing_left else left

    @cached_property
    def _places(self) -> tuple[dict[str, int], ...]:
        return tuple({word: place for place, word in enumerate(column.words)} for column in self.columns)

    @cached_property
    def _sides(self) -> dict[int, Flags]:
        """For each split of words, whether each that is known goes left, then any other, then a missing one."""
        words = [column.words for column in self.columns]
        return {
            place: np.array([*(word in s.listed for word in words[s.column]), s.others_left, s.missing_left])
            for place, s in enumerate(self.splits)
            if not self.columns[s.column].kind.numeric
        }

    @cached_property
    def _known(self) -> tuple[frozenset[str], ...]:
        return tuple(frozenset(column.words) for column in self.columns)

    def unknown(self, column: int, given: Given) -> Flags:
        """Return which rows have a word in a column that the tree does not know."""
        if given.codes is None:
            return np.zeros(len(given), dtype=bool)
        return np.array([*(word not in self._known[column] for word in given.words), False])[given.codes]

    def leaf(self, values: Sequence[Any]) -> int:
        """Return the leaf of one row: real numbers or words, None where one is missing."""
        place = 0 if self.splits else ~0
        while place >= 0:
            split = self.splits[place]
            value = values[split.column]
            if value is None:
                left = split.missing_left
            elif self.columns[split.column].kind.numeric:
                left = split.below is None or value < split.below
            else:
                left = value in split.listed if value in self._known[split.column] else split.others_left
            place = split.left if left else split.right
        return ~place

    @cached_property
    def rules(self) -> tuple[str, ...]:
        """Who is in each leaf, in words."""
        return tuple(", ".join(said.values()) or "everybody" for said in self.told)

    @cached_property
    def told(self) -> tuple[dict[str, str], ...]:
        """The parts of each leaf's rule, by the column that each is about; columns it says nothing of are not there."""
        found = dict(self._walked(0 if self.splits else ~0, {}))
        return tuple(found[leaf] for leaf in range(self.size))

    def _walked(self, place: int, held: Mapping[int, _Held]) -> Iterator[tuple[int, dict[str, str]]]:
        if place < 0:
            said = {self.columns[column].name: held[column].told(self.columns[column]) for column in held}
            yield ~place, {name: words for name, words in said.items() if words}
            return
        split = self.splits[place]
        asked = self.columns[split.column]
        before = held.get(split.column, _Held(words=frozenset(asked.words)))
        for side, leads in ((True, split.left), (False, split.right)):
            yield from self._walked(leads, {**held, split.column: before.after(split, asked, left=side)})

    def described(self) -> dict[str, Any]:
        return {
            "columns": [
                {
                    "name": c.name,
                    "kind": c.kind,
                    "gaps": c.gaps,
                    "words": list(c.words),
                    "others": c.others,
                }
                for c in self.columns
            ],
            "column": [s.column for s in self.splits],
            "left": [s.left for s in self.splits],
            "right": [s.right for s in self.splits],
            "missing_left": [s.missing_left for s in self.splits],
            "below": [s.below for s in self.splits],
            "among": [list(s.among) for s in self.splits],
            "others_left": [s.others_left for s in self.splits],
        }

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> Tree:
        """Undo :meth:`described`; a tree that is damaged, goes round or leads nowhere is a StorageError."""
        columns = tuple(_read_column(each) for each in _list_of(entry, "columns", dict))
        if len({column.name for column in columns}) < len(columns):
            raise StorageError("the tree of the learned cells has a column twice")
        number = len(_list_of(entry, "column", int))
        if number > MOST_SPLITS:
            raise StorageError(f"the tree of the learned cells has {number} splits; at most {MOST_SPLITS} are read")
        kinds = {"column": int, "left": int, "right": int, "missing_left": bool, "others_left": bool, "among": list}
        parts = {key: _list_of(entry, key, kind, number) for key, kind in kinds.items()}
        parts["below"] = [_threshold(each) for each in _list_of(entry, "below", object, number)]
        splits = tuple(
            Split(**{**dict(zip(parts, each, strict=True)), "among": _words(each[5])})
            for each in zip(*parts.values(), strict=True)
        )
        tree = cls(columns, splits)
        tree.check()
        return tree

    def check(self) -> None:
        """Refuse a tree some of whose splits ask nothing, or that does not lead to each of its leaves once."""
        reached = sorted(side for split in self.splits for side in (split.left, split.right))
        wanted = [~leaf for leaf in reversed(range(self.size))] if self.splits else []
        if reached != [*wanted, *range(1, len(self.splits))]:
            raise StorageError("the tree of the learned cells leads nowhere, or to some place twice")
        for place, split in enumerate(self.splits):
            if any(0 <= side <= place for side in (split.left, split.right)):
                raise StorageError("the tree of the learned cells goes round in a circle")
            if not 0 <= split.column < len(self.columns):
                raise StorageError("a split of the learned cells asks about a column that there is not")
            if self.columns[split.column].kind.numeric:
                sound = (
                    not split.among and not split.others_left and (split.below is not None or not split.missing_left)
                )
            else:
                sound = split.below is None and split.listed <= self._known[split.column]
            if not sound:
                name = self.columns[split.column].name
                raise StorageError(f"a split of the learned cells asks what no value of column {name!r} could answer")


def named_leaves(tree: Tree) -> tuple[str, ...]:
    """Return what the leaves of a tree are called as levels: their numbers, from 1, and their rules."""
    return tuple(f"{number}: {rule}" for number, rule in enumerate(tree.rules, 1))


@dataclass(frozen=True)
class _Held:
    """What is known of one column on the way to a leaf: bounds of its numbers, or the words that may be there."""

    words: frozenset[str] = frozenset()
    low: float = -math.inf
    high: float = math.inf
    valued: bool = True
    missing: bool = True
    others: bool = True

    def after(self, split: Split, asked: Asked, *, left: bool) -> _Held:
        """Return what is known on one side of a split."""
        missing = self.missing and split.missing_left == left
        if not asked.kind.numeric:
            words = self.words & split.listed if left else self.words - split.listed
            return replace(self, words=words, others=self.others and split.others_left == left, missing=missing)
        if split.below is None:
            return replace(self, valued=self.valued and left, missing=missing)
        if left:
            return replace(self, high=min(self.high, split.below), missing=missing)
        return replace(self, low=max(self.low, split.below), missing=missing)

    def told(self, asked: Asked) -> str:
        """Say it; nothing where everything is possible."""
        said = self._numbers(asked) if asked.kind.numeric else self._words(asked)
        return f"{asked.name} {said}" if said else ""

    def _numbers(self, asked: Asked) -> str:
        if not self.valued:
            return MISSING_WORD
        said = interval(asked, self.low, self.high)
        if not said:
            return "" if self.missing or not asked.gaps else f"not {MISSING_WORD}"
        return f"{said} or {MISSING_WORD}" if self.missing and asked.gaps else said

    def _words(self, asked: Asked) -> str:
        others, missing = self.others and asked.others, self.missing and asked.gaps
        gone = [word for word in asked.words if word not in self.words]
        kept = [word for word in asked.words if word in self.words]
        if len(gone) < len(kept) and others == asked.others:
            gone += [MISSING_WORD] if asked.gaps and not missing else []
            return f"is not {_either(gone)}" if gone else ""
        kept += [ANOTHER_WORD] if others else []
        kept += [MISSING_WORD] if missing else []
        return f"is {_either(kept)}" if kept else MISSING_WORD


def _either(words: Sequence[str]) -> str:
    """List words of which one is meant."""
    few = (
        list(words)
        if len(words) <= MOST_WORDS_SHOWN + 1
        else [*words[:MOST_WORDS_SHOWN], f"{len(words) - MOST_WORDS_SHOWN} others"]
    )
    return few[0] if len(few) == 1 else f"{', '.join(few[:-1])} or {few[-1]}"


def interval(asked: Asked, low: float, high: float) -> str:
    """Say between which bounds values lie: from the lower one on, below the upper one.

    Numbers have all of their digits, so that every number belongs to exactly the leaf whose rule it satisfies.
    """
    begins, ends = low > -math.inf, high < math.inf
    if not begins and not ends:
        return ""
    if asked.kind is Kind.TRUTH:
        return f"is {begins}".lower()
    if asked.kind is Kind.DATE:
        first, end = (EPOCH + timedelta(days=math.ceil(day)) if math.isfinite(day) else None for day in (low, high))
        return f"from {first}, before {end}" if begins and ends else f"from {first} on" if begins else f"before {end}"
    least, most = (f"{number!r}".removesuffix(".0") for number in (low, high))
    return f"from {least} to below {most}" if begins and ends else f"at least {least}" if begins else f"below {most}"


def _list_of(entry: Mapping[str, Any], key: str, kind: type, number: int | None = None) -> list[Any]:
    """Return a list of a file, of so many entries of one kind."""
    found = entry.get(key)
    # Python takes a truth for a whole number.
    sound = isinstance(found, list) and all(
        isinstance(each, kind) and not (kind is int and isinstance(each, bool)) for each in found
    )
    if not sound or (number is not None and len(found) != number):  # type: ignore[arg-type]
        raise StorageError(f"the {key} of the learned cells make no sense")
    return list(found)  # type: ignore[arg-type]


def _threshold(given: Any) -> float | None:
    if given is not None and (isinstance(given, bool | str) or not math.isfinite(given)):
        raise StorageError(f"a split of the learned cells cannot be at {given!r}")
    return None if given is None else float(given)


def _words(given: list[Any]) -> tuple[str, ...]:
    if any(not isinstance(word, str) for word in given) or any(a >= b for a, b in pairwise(given)):
        raise StorageError("the words of the learned cells are not distinct and sorted")
    return tuple(given)


def _read_column(entry: dict[str, Any]) -> Asked:
    kinds = {"name": str, "kind": str, "gaps": bool, "words": list, "others": bool}
    for key, kind in kinds.items():
        if not isinstance(entry.get(key), kind):
            raise StorageError(f"the {key} of a column of the learned cells cannot be {entry.get(key)!r}")
    if entry["kind"] not in list(Kind):
        raise StorageError(f"the learned cells have a column of the kind {entry['kind']!r}")
    words = _words(entry["words"])
    if (words or entry["others"]) and Kind(entry["kind"]).numeric:
        raise StorageError(f"column {entry['name']!r} of the learned cells has both numbers and words")
    return Asked(entry["name"], Kind(entry["kind"]), entry["gaps"], words, entry["others"])
