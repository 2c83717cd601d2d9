"""Strata of a table that may come in pieces: people who share a row of the kernel and a part of nested partitions.

They are numbered as they are met, and put in their own order before numbers of moves are allotted: these do not depend
on how a table was cut. Knows columns by their levels, not tables.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Cells, Flags, positions
from evenhand.data.domain import Variable
from evenhand.kernel.balance import Allotment, allot
from evenhand.kernel.stochastic import Kernel, look_up

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
        # Ascending, and the number of each.
        self.keys = np.array([NOBODY], dtype=np.int64)
        self.numbers = np.zeros(1, dtype=np.int64)

    def __len__(self) -> int:
        return len(self.keys)

    def number(self, levels: Callable[[str], Cells], rows: Cells, known: Flags) -> Cells:
        """Return the number of the stratum of each kind of people: by their levels and their row, where they have one.

        A value that is no level is a part of its own.
        """
        part: Cells = np.zeros(len(rows), dtype=np.int64)
        for variable in self.variables:
            part = part * (len(variable) + 1) + levels(variable.name) + 1
        distinct, kind = np.unique(np.where(known, part * len(self.kernel) + rows, NOBODY), return_inverse=True)
        new = distinct[~positions(self.keys, distinct)[0]]
        keys = np.concatenate([self.keys, new])
        order = np.argsort(keys)
        self.numbers = np.concatenate([self.numbers, len(self) + np.arange(len(new))])[order]
        self.keys = keys[order]
        return self.numbers[np.searchsorted(self.keys, distinct)][kind]

    def allot(self, people: Cells, seed: int, mode: str) -> Allotted:
        """Allot the moves to so many people of each stratum, by its number; those met last may have nobody."""
        place = np.empty(len(self), dtype=np.int64)
        place[self.numbers] = np.arange(len(self))
        own = np.zeros(len(self), dtype=np.int64)
        own[place[: len(people)]] = people
        own[0] = 0  # Nobody's is the first key of all.
        part, rows = np.divmod(np.maximum(self.keys, 0), len(self.kernel))
        sizes = [len(variable) + 1 for variable in self.variables]
        levels = [part // int(np.prod(sizes[level:], dtype=np.int64)) for level in self.levels]
        outcome = self.kernel.targets % self.outcomes
        return Allotted(allot(self.kernel, outcome, own, rows, levels, seed, mode), place)
