"""The value that a changed column gets, for each level: one, or by a second draw one of a stock."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.domain import Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.engines.sql.dialects import Dialect
from evenhand.tables import Restoring, as_single, as_whole, choices

FORMS = ("value", "whole", "single")
"""A value as it is, and as columns of whole numbers and of single precision get it."""


class Choice(NamedTuple):
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
    def _differ(self) -> bool:
        """Whether some columns get a value in another form than it is."""
        return any(len(set(choice.forms)) > 1 for choice in self._choices)

    @property
    def _choices(self) -> Iterator[Choice]:
        return (choice for listed in self.of_level.values() for choice in listed)

    def _alone(self, sql: Dialect) -> bool:
        """Whether values are written as they are alone: a whole number must not be made real by another form of it."""
        return not sql.knows_types and all(isinstance(choice.forms[0], int) for choice in self._choices)

    def forms(self, sql: Dialect) -> tuple[str, ...]:
        """Return the forms that are told apart: one, where every column gets the value as it is."""
        return FORMS if self._differ and not self._alone(sql) else FORMS[:1]

    def refused(self, sql: Dialect) -> Iterator[tuple[tuple[str, ...], str]]:
        """Yield types of columns into which the values cannot be written as in memory, and what they are."""
        if self._differ and self._alone(sql):
            yield (sql.single_type,), "of single precision"
        if not all(sql.holds_whole(choice.forms[1]) for choice in self._choices):
            yield sql.whole_types, "of whole numbers"

    def single(self, sql: Dialect, to: str, form: str) -> str:
        """Return the value of a level in one form as an expression, where each has only one."""
        place = FORMS.index(form)
        cases = " ".join(
            f"WHEN {level} THEN {_written(sql, listed[0].forms, place)}"
            for level, listed in self.of_level.items()
            if listed
        )
        return f"CASE {to} {cases} END" if cases else "NULL"

    def rows(self, sql: Dialect) -> Iterator[str]:
        """Yield the stock: level, first draw, end of the draws, and the value in every form."""
        for level, listed in self.of_level.items():
            first = 0
            for forms, until in listed:
                if first < until:
                    texts = (_written(sql, forms, place) for place in range(len(self.forms(sql))))
                    yield f"({','.join(map(str, (level, first, until, *texts)))})"
                first = until


def _written(sql: Dialect, forms: tuple[Value, ...], place: int) -> str:
    """Write one form of a value; a whole number that no column holds is not asked for."""
    return sql.written(forms[place]) if place != 1 or sql.holds_whole(forms[place]) else "NULL"
