"""Strata of a table that may come in pieces: people who share a row of the kernel and a part of nested partitions.

People in a cell that nobody fitted had share their row with those of other such cells. Each of these cells is a stratum
of its own, unless they are very many.

Strata are numbered as they are met, and put in their own order before numbers of moves are allotted: these do not
depend on how a table was cut. Knows columns by their levels, not tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Cells, Flags, positions
from evenhand.data.domain import Variable
from evenhand.kernel.balance import Allotment, allot
from evenhand.kernel.stochastic import Kernel, look_up

MOST_CELLS = 1 << 18
"""So many cells that nobody fitted had are told apart; of more, all that share a row and a part are one stratum."""

NOBODY = -1
"""In place of a stratum where people have no row of the kernel: they stay as they are."""


@dataclass(frozen=True, eq=False)
class Allotted:
    """The moves of all people: an allotment, and which of its strata each number is."""

    allotment: Allotment
    place: Cells

    def draws(self, number: Cells, rank: Cells) -> Cells:
        """Return a draw that hits the entry of each person: of the stratum of that number, the one of that rank."""
        return self.allotment.draws(look_up(self.place, number), rank)


@dataclass(frozen=True, eq=False)
class _Numbered:
    """Keys, ascending, and the number of each."""

    keys: Cells
    numbers: Cells

    def without(self, keys: Cells) -> Cells:
        """Return those of some keys that are none of these."""
        return keys[~positions(self.keys, keys)[0]]

    def __add__(self, more: _Numbered) -> _Numbered:
        keys = np.concatenate([self.keys, more.keys])
        order = np.argsort(keys)
        return _Numbered(keys[order], np.concatenate([self.numbers, more.numbers])[order])

    def at(self, keys: Cells) -> Cells:
        return self.numbers[np.searchsorted(self.keys, keys)]


class Strata:
    """The strata that were met so far.

    Parameters
    ----------
    kernel, outcomes : Kernel, int
        Train mode's rows, and how many outcomes there are: a target's outcome is its remainder.
    variables, levels : sequence of Variable, sequence of int
        The columns that make the finest partition, and for each partition, coarse to fine, how many of them make it.
    """

    def __init__(self, kernel: Kernel, outcomes: int, variables: Sequence[Variable], levels: Sequence[int]) -> None:
        self.kernel, self.outcomes = kernel, outcomes
        self.variables, self.levels = tuple(variables), tuple(levels)
        # By number: part and row of each stratum as one key, that of nobody first.
        self.keys = np.array([NOBODY], dtype=np.int64)
        self.strata = _Numbered(self.keys, np.zeros(1, dtype=np.int64))
        self.cells = _Numbered(*(np.zeros(0, dtype=np.int64),) * 2)

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def pooled(self) -> bool:
        """Whether there are too many new cells for strata of their own."""
        return len(self.cells.keys) > MOST_CELLS

    def number(self, levels: Callable[[str], Cells], rows: Cells, known: Flags, cell: Cells | None = None) -> Cells:
        """Return the number of the stratum of each kind of people: by their levels and their row, where they have one.

        A value that is no level is a part of its own. ``cell`` numbers cells that nobody fitted had, and is negative
        for all others, as it must be for kinds that nobody is of.
        """
        part: Cells = np.zeros(len(rows), dtype=np.int64)
        for variable in self.variables:
            part = part * (len(variable) + 1) + levels(variable.name) + 1
        key = np.where(known, part * len(self.kernel) + rows, NOBODY)
        if cell is None or self.pooled or not (new := known & (cell >= 0)).any():
            return self._numbers(key)
        number = np.empty(len(key), dtype=np.int64)
        number[~new] = self._numbers(key[~new])
        number[new] = self._cell_numbers(cell[new], key[new])
        return number

    def _numbers(self, key: Cells) -> Cells:
        distinct, kind = np.unique(key, return_inverse=True)
        new = self.strata.without(distinct)
        self.strata += _Numbered(new, self._next(new))
        return self.strata.at(distinct)[kind]

    def _cell_numbers(self, cell: Cells, key: Cells) -> Cells:
        distinct, first, kind = np.unique(cell, return_index=True, return_inverse=True)
        new = self.cells.without(distinct)
        self.cells += _Numbered(new, self._next(key[first[np.searchsorted(distinct, new)]]))
        return self.cells.at(distinct)[kind]

    def _next(self, keys: Cells) -> Cells:
        """Return the next numbers, for strata of given keys."""
        first = len(self)
        self.keys = np.concatenate([self.keys, keys])
        return first + np.arange(len(keys))

    def settled(self) -> Cells | None:
        """Return what every number has become once all people were met; None where that is the number itself."""
        if not self.pooled:
            return None
        together = self._numbers(self.keys[self.cells.numbers])
        become = np.arange(len(self))
        become[self.cells.numbers] = together
        return become

    def parts(self, keys: Cells) -> list[Cells]:
        """Return the part of the stratum of each key in every partition, coarse to fine."""
        part = np.maximum(keys, 0) // len(self.kernel)
        sizes = [len(variable) + 1 for variable in self.variables]
        return [part // int(np.prod(sizes[level:], dtype=np.int64)) for level in self.levels]

    @property
    def order(self) -> Cells:
        """The numbers of all strata, in the order of what they are: however a table was cut.

        New cells come after what was fitted; where they are pooled nobody has their numbers any more.
        """
        return np.concatenate([self.strata.numbers, self.cells.numbers[: 0 if self.pooled else None]])

    def allot(self, people: Cells, seed: int, mode: str) -> Allotted:
        """Allot the moves to so many people of each stratum, by its number; those met last may have nobody."""
        order = self.order
        place = np.zeros(len(self), dtype=np.int64)
        place[order] = np.arange(len(order))
        own = np.zeros(len(order), dtype=np.int64)
        own[place[: len(people)]] = people
        own[0] = 0  # Nobody's is the first key of all.
        rows, levels = np.maximum(self.keys[order], 0) % len(self.kernel), self.parts(self.keys[order])
        outcome = self.kernel.targets % self.outcomes
        return Allotted(allot(self.kernel, outcome, own, rows, levels, seed, mode), place)
