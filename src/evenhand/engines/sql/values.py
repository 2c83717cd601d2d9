"""The value that a changed column gets, for each level: one, or by a second draw one of a stock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.domain import Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.engines.sql.dialects import Dialect
from evenhand.tables import Restoring, as_single, as_whole, choices

FORMS = ("value", "whole", "single")
"""A value as it is, and as columns of whole numbers and of single precision get it."""


@dataclass(frozen=True)
class Choice:
    """A value in each of its forms and the draws that choose it: up to, but not including, ``until``."""

    forms: tuple[Value, ...]
    until: int


@dataclass(frozen=True)
class Values:
    """What may be written into a column for each level that somebody is moved to; nothing for missing values."""

    of_level: Mapping[int, tuple[Choice, ...]]

    @classmethod
    def of(cls, variable: Variable, targets: Cells, restore: Restoring) -> Values:
        """Return the values of the levels that occur among targets."""
        of_level = {}
        for level in sorted(set(targets.tolist()) - {UNSEEN}):
            values, ends = choices(variable, level, restore)
            listed = []
            for value, end in zip(values, ends.tolist(), strict=True):
                if isinstance(value, str | bool):
                    listed.append(Choice((value,) * len(FORMS), end))
                elif value is not None:
                    with np.errstate(over="ignore"):
                        forms = (value, as_whole(variable, value), float(as_single(variable, value)))
                    listed.append(Choice(forms, end))
            of_level[level] = tuple(listed)
        return cls(of_level)

    @property
    def drawn(self) -> bool:
        """Whether a level has several values, so that a second draw decides."""
        return any(len(listed) > 1 for listed in self.of_level.values())

    @property
    def forms(self) -> tuple[str, ...]:
        """The forms that are told apart: one, where every column gets the value as it is."""
        differ = any(len(set(choice.forms)) > 1 for listed in self.of_level.values() for choice in listed)
        return FORMS if differ else FORMS[:1]

    def single(self, sql: Dialect, to: str, form: str) -> str:
        """Return the value of a level in one form as an expression, where each has only one."""
        place = FORMS.index(form)
        cases = " ".join(
            f"WHEN {level} THEN {sql.written(listed[0].forms[place])}"
            for level, listed in self.of_level.items()
            if listed
        )
        return f"CASE {to} {cases} END" if cases else "NULL"

    def rows(self, sql: Dialect) -> Iterator[str]:
        """Yield the stock: level, first draw, end of the draws, and the value in every form."""
        for level, listed in self.of_level.items():
            first = 0
            for choice in listed:
                if first < choice.until:
                    forms = map(sql.written, choice.forms[: len(self.forms)])
                    yield f"({','.join(map(str, (level, first, choice.until, *forms)))})"
                first = choice.until
