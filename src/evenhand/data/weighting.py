"""How the rows of a table count: once each, by survey weights, or as many equal people.

A survey weight corrects for who was asked: a row is one person, who counts more or less. A frequency is a number of
people: the row stands for so many persons who agree in every column.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.errors import DataError, Option, Setting, SpecError, in_number

WEIGHTS, FREQUENCIES = "weights", "frequencies"
WHOLE = "integer of at least 0"

PAIRS_EXPECTED = 2.0
"""So many pairs of equal rows are to be expected where their lack says something."""


class Unit(StrEnum):
    """What numbers of people are counted in: people, or people by survey weight.

    Rows are no unit of their own. A row without a frequency is one person, one with a frequency is so many people: both
    sum to people. Survey weights let people count for more or less, and what they sum to is no number of people. Where
    lines of a file are counted, they are called rows.

    Examples
    --------
    >>> Unit.of(weighed=False).write(1), Unit.of(weighed=True).write(1200.4), Unit.WEIGHT.heading
    ('1 person', '1,200 people by weight', 'People by weight')
    """

    PEOPLE = "people"
    WEIGHT = "people by weight"

    @classmethod
    def of(cls, *, weighed: bool) -> Unit:
        """Return the unit of a table whose rows have survey weights, or have none."""
        return cls.WEIGHT if weighed else cls.PEOPLE

    @property
    def heading(self) -> str:
        """What a column of such numbers is called."""
        return self.value.capitalize()

    def write(self, people: float) -> str:
        """Write how many people there are."""
        return self.value.replace(self.PEOPLE, in_number(people), 1)


@dataclass(frozen=True, eq=False)
class Weighting:
    """What the rows of a table count.

    Attributes
    ----------
    given : str or array
        A column, or one number per row.
    option : {"weights", "frequencies"}
        Whether a number is a survey weight or a number of people.
    deliberate : bool
        Whether a problem states it, and nobody gave it for one table.
    sampled : bool
        Whether it is an estimator's ``sample_weight``, which is never a number of people.
    """

    given: Any
    option: str = WEIGHTS
    deliberate: bool = False
    sampled: bool = False

    @classmethod
    def of(cls, weights: Any, frequencies: Any) -> Weighting | None:
        """Return what was asked for, if anything; both at once are refused."""
        if weights is not None and frequencies is not None:
            raise SpecError(
                "give weights or frequencies, not both: a weight is of one person, a frequency is a number of people"
            )
        if frequencies is not None:
            return cls(frequencies, FREQUENCIES)
        return None if weights is None else cls(weights)

    @staticmethod
    def chosen(asked: Weighting | None, stated: Weighting | None) -> Weighting | None:
        """Return what was asked for, else what a problem states: that too where it is asked for again."""
        if asked is None or stated is None:
            return asked or stated
        again = asked.column is not None and (asked.option, asked.column) == (stated.option, stated.column)
        return stated if again else asked

    @property
    def repeats(self) -> bool:
        """Whether a row stands for so many people."""
        return self.option == FREQUENCIES

    @property
    def column(self) -> str | None:
        """The column, where it is one."""
        return self.given if isinstance(self.given, str) else None

    @staticmethod
    def named_by(weighting: Weighting | None) -> dict[str, Any]:
        """Return both options of a problem, or of a call, that say the same."""
        neither: dict[str, Any] = {WEIGHTS: None, FREQUENCIES: None}
        return neither if weighting is None else {**neither, weighting.option: weighting.column}

    def people(self, weight: Numbers) -> Numbers:
        """Return how many people each row is."""
        return weight if self.repeats else (weight > 0).astype(float)

    def squares(self, weight: Numbers) -> Numbers:
        """Return the sum of the squared weights of the people that each row is."""
        with np.errstate(over="ignore"):
            return weight if self.repeats else weight**2

    def checked(self, weight: Numbers) -> Numbers:
        """Return numbers that can be counted: finite, not negative, not all zero; frequencies are integers."""
        wrong = np.flatnonzero(~np.isfinite(weight) | (weight < 0) | (self.repeats & (weight != np.rint(weight))))
        if len(wrong):
            row = int(wrong[0])
            must = "must be integers of at least 0" if self.repeats else "must be finite numbers"
            if not self.repeats and np.isfinite(weight[row]):
                must = "must not be negative"
            raise DataError(f"{self.option} {must}; row {row + 1} has {weight[row]:g}")
        if len(weight) and not np.any(weight > 0):
            where = f" in column {self.column!r}" if self.column else ""
            raise DataError(f"no row has a positive {self.noun}{where}: all are 0, so that there is nobody to count")
        if self.repeats and not weight.sum() < check.MOST:
            raise DataError(f"frequencies that sum to {weight.sum():g} are not numbers of people")
        return weight

    @property
    def noun(self) -> str:
        """What one number is called."""
        return "frequency" if self.repeats else "weight"

    @property
    def needed(self) -> str:
        """What every row must have."""
        return WHOLE if self.repeats else "weight of at least 0"

    @property
    def mistakable(self) -> tuple[object, ...]:
        """What to say of survey weights that look like numbers of people."""
        named = self.column or "..."
        stated = (". If a row is one person with a survey weight, state ", Setting(WEIGHTS, named), " in the problem.")
        return (
            f"the weights{f' {self.column!r}' if self.column else ''} are integers, and no two rows have the same "
            f"combination: this looks like a table of counts. If a row stands for so many people, give ",
            Option(FREQUENCIES, named),
            *(() if self.deliberate else stated),
        )


SURVEY = Weighting(())
"""Survey weights that are numbers already."""


def look_like_counts(weight: Numbers, columns: Sequence[Cells]) -> bool:
    """Whether weights may be numbers of people: they are integers, and no two rows have the same combination.

    Of people some would be alike: where several pairs are to be expected, and there is none, equal rows were put
    together. Columns with the fewest values are looked at first, until they tell all rows apart; an index, and whatever
    else has a value of its own in every other row, says nothing.

    Examples
    --------
    >>> rows = [np.arange(24) // 12, np.arange(24) // 6 % 2, np.arange(24) % 6]
    >>> look_like_counts(np.arange(24.0), rows), look_like_counts(np.arange(24.0), [each // 2 for each in rows])
    (True, False)
    """
    rows = len(weight)
    if not np.any(weight > 1) or np.any(weight != np.rint(weight)):
        return False
    levels = [np.unique(codes, return_inverse=True, return_counts=True)[1:] for codes in columns]
    together, pairs = np.zeros(rows, dtype=np.int64), rows * (rows - 1) / 2
    for codes, people in sorted(levels, key=lambda each: len(each[1])):
        if 2 * len(people) >= rows:
            break
        # Were columns independent of each other, so many pairs of rows would agree in all.
        pairs *= float(((people / rows) ** 2).sum())
        found, together = np.unique(together * len(people) + codes, return_inverse=True)
        if len(found) == rows:
            return bool(pairs >= PAIRS_EXPECTED)
    return False
