"""The value that a changed column gets, for each level: one, or by a second draw one of a stock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.domain import Value, Variable
from evenhand.data.levels import UNSEEN, Stock
from evenhand.engines.sql.dialects import Dialect
from evenhand.kernel.draws import DRAW_BITS, thresholds
from evenhand.tables import Restore, as_single, as_whole

FORMS = ("value", "whole", "single")
"""A value as it is, and as columns of whole numbers and of single precision get it."""


@dataclass(frozen=True)
class Choice:
    """A value in each of its forms and the draws that choose it: up to, but not including, ``until``."""

    forms: tuple[Value, ...]
    until: int = 2**DRAW_BITS


@dataclass(frozen=True)
class Values:
    """What may be written into a column for each level that somebody is moved to; nothing for missing values."""

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

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms that are told apart: one, where every column gets the value as it is."""
        choices = (choice for choices in self.of_level.values() for choice in choices)
        return FORMS if any(len(set(choice.forms)) > 1 for choice in choices) else FORMS[:1]

    def single(self, sql: Dialect, to: str, form: str) -> str:
        """Return the value of a level in one form as an expression, where each has only one."""
        place = FORMS.index(form)
        cases = (
            f"WHEN {level} THEN {sql.written(choices[0].forms[place])}"
            for level, choices in self.of_level.items()
            if choices
        )
        listed = " ".join(cases)
        return f"CASE {to} {listed} END" if listed else "NULL"

    def rows(self, sql: Dialect) -> Iterator[str]:
        """Yield the stock: level, first draw, end of the draws, and the value in every form."""
        for level, choices in self.of_level.items():
            first = 0
            for choice in choices:
                if first < choice.until:
                    forms = map(sql.written, choice.forms[: len(self.forms)])
                    yield f"({','.join(map(str, (level, first, choice.until, *forms)))})"
                first = choice.until


def _choices(variable: Variable, level: int, restore: Restore) -> Iterator[Choice]:
    coding = variable.coding
    if level == variable.missing:
        return
    if coding is None:
        yield Choice(_forms(variable, variable.levels[level]))
    elif restore != "sample" or not coding.stock[level].values:
        yield Choice(_forms(variable, coding.middle(level)))
    else:
        yield from _stocked(variable, coding.stock[level])


def _stocked(variable: Variable, stock: Stock) -> Iterator[Choice]:
    share = np.asarray(stock.weights) / np.sum(stock.weights)
    ends = thresholds(share, np.array([0, len(share)]), np.zeros(len(share), dtype=np.int64))
    yield from (Choice(_forms(variable, value), end) for value, end in zip(stock.values, ends.tolist(), strict=True))


def _forms(variable: Variable, value: Value) -> tuple[Value, ...]:
    if isinstance(value, str | bool):
        return (value,) * len(FORMS)
    with np.errstate(over="ignore"):
        return value, as_whole(variable, value), float(as_single(variable, value))
