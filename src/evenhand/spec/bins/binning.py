"""What every statement about a column's levels shares: with the values of a table it becomes a coding.

Knows plain arrays, not tables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.levels import Coding, Stock, Value
from evenhand.spec.part import Part


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
        return all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    @property
    def whole(self) -> bool:
        """Whether the values are whole numbers, of whatever type: pandas makes them real where one is missing."""
        return all(float(v).is_integer() for v in self.values)

    def stock(self, at: Cells) -> Stock:
        """Keep some of the values for a level."""
        return Stock.of([self.values[i] for i in at], self.weights[at])


class Binning(Part):
    """How the values of one column become levels; subclasses are frozen dataclasses.

    Attributes
    ----------
    coding : type of Coding
        What it becomes.
    by_outcome : bool
        Whether levels are chosen by what they tell about the outcome, so that it differs between them by chance, too.
    """

    key = "by"
    coding: ClassVar[type[Coding]]
    by_outcome: ClassVar[bool] = False

    @abstractmethod
    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return the levels, the coding that gives them, and whether their order means something."""

    def could_give(self, levels: Sequence[Value], coding: Coding) -> bool:
        """Whether the statement, with the values of some table, gives these levels by this coding."""
        return isinstance(coding, self.coding)

    @property
    @abstractmethod
    def words(self) -> str:
        """How values become levels, as a report says it."""
