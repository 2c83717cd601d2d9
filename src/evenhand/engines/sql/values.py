"""The value that a changed column gets, for each level: one, or by a second draw one of a stock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.coding import UNSEEN, Stock
from evenhand.domain import Cells, Value, Variable
from evenhand.draws import DRAW_BITS, thresholds
from evenhand.engines.sql.dialects import Dialect
from evenhand.tables import Restore


@dataclass(frozen=True)
class Choice:
    """A value and the draws that choose it: up to, but not including, ``until``."""

    value: Value | None
    until: int = 2**DRAW_BITS


@dataclass(frozen=True)
class Values:
    """What may be written into a column for each level that somebody is moved to."""

    of_level: Mapping[int, tuple[Choice, ...]]

    @classmethod
    def of(cls, variable: Variable, targets: Cells, restore: Restore) -> Values:
        """Return the values of the levels that occur among targets."""
        levels = sorted(set(targets.tolist()) - {UNSEEN})
        return cls({level: tuple(_choices(variable, level, restore)) for level in levels})

    @property
    def drawn(self) -> bool:
        """Whether a level has several values, so that a second draw decides."""
        return any(len(choices) > 1 for choices in self.of_level.values())

    def single(self, sql: Dialect, to: str) -> str:
        """Return the value of a level as an expression, where each has only one."""
        cases = (
            f"WHEN {level} THEN {sql.written(choices[0].value)}"
            for level, choices in self.of_level.items()
            if choices[0].value is not None
        )
        listed = " ".join(cases)
        return f"CASE {to} {listed} END" if listed else "NULL"

    def rows(self, sql: Dialect) -> Iterator[str]:
        """Yield the stock: level, first draw, end of the draws, value."""
        for level, choices in self.of_level.items():
            first = 0
            for choice in choices:
                if choice.value is not None and first < choice.until:
                    yield f"({level},{first},{choice.until},{sql.written(choice.value)})"
                first = choice.until


def _choices(variable: Variable, level: int, restore: Restore) -> Iterator[Choice]:
    coding = variable.coding
    if level == variable.missing:
        yield Choice(None)
    elif coding is None:
        yield Choice(variable.levels[level])
    elif restore != "sample" or not coding.stock[level].values:
        yield Choice(coding.middle(level))
    else:
        yield from _stocked(coding.stock[level])


def _stocked(stock: Stock) -> Iterator[Choice]:
    share = np.asarray(stock.weights) / np.sum(stock.weights)
    ends = thresholds(share, np.array([0, len(share)]), np.zeros(len(share), dtype=np.int64))
    yield from (Choice(value, end) for value, end in zip(stock.values, ends.tolist(), strict=True))
