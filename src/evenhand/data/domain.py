"""Finite variables and their cells.

A domain has three axes, always in this order: D (protected), X (features) and Y (outcome). An axis is one
or more variables; a cell of an axis is a single integer, the mixed-radix number of its levels' codes. So a
record is three integers (d, x, y), and no array is ever as large as the product of the levels.

This module knows nothing of tables, counts or constraints.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Flags
from evenhand.data.levels import UNSEEN, Coding
from evenhand.data.levels import Value as Value
from evenhand.data.profile import Profile
from evenhand.data.tree import Tree
from evenhand.errors import DataError, SpecError, did_you_mean

MISSING = "(missing)"
"""The level of missing values, where they are one."""

ANYTHING = re.compile(r"object|category|dictionary<.*>")
TEXTS = re.compile(r"str|(large_)?string(_view)?")
TRUTHS = re.compile(r"bool(ean)?")
WHOLE = re.compile(r"(?P<unsigned>u?)int(?P<bits>8|16|32|64)")
NUMBERED = re.compile(r"unknown|(datetime|duration)\(.*\)")
"""The names of the types that columns with levels have, whoever keeps them; the last are of whole numbers."""

LARGEST_DOMAIN = 2**62
"""Cells are numbered by signed 64-bit integers."""


class Role(StrEnum):
    """What a column is to the problem."""

    PROTECTED = "protected"
    FEATURE = "feature"
    OUTCOME = "outcome"


@dataclass(frozen=True)
class Variable:
    """One column with a finite number of levels; or several, whose leaves in a tree are the levels.

    Parameters
    ----------
    name : str
        The column's name; that of no column where cells are learned.
    role : Role
        Protected, feature or outcome.
    levels : tuple
        The values it can take, in order where there is one.
    ordered : bool
        Whether the order of the levels means something.
    dtype : str
        The pandas dtype in which tables of this variable are shown.
    coding : Coding, optional
        How values become levels; None where values are levels.
    missing : int, optional
        The code of the level that missing values have. None: they are an error. UNSEEN: they are allowed, but the
        fitted table had none.
    blanks : tuple
        Values that stand for a missing one.
    tree : Tree, optional
        How several columns become levels, where cells are learned: everybody is in a leaf, whatever is missing.
    profiles : tuple of Profile
        How the values of each of these columns are distributed in the fitted table.

    Examples
    --------
    >>> Variable("age", Role.FEATURE, ("young", "old"), ordered=True).code("old")
    1
    """

    name: str
    role: Role
    levels: tuple[Value, ...]
    ordered: bool
    dtype: str = "object"
    coding: Coding | None = None
    missing: int | None = None
    blanks: tuple[Value, ...] = ()
    tree: Tree | None = None
    profiles: tuple[Profile, ...] = ()

    def __post_init__(self) -> None:
        if not self.levels:
            raise DataError(f"column {self.name!r} has no levels")
        if len(set(self.levels)) != len(self.levels):
            raise SpecError(f"column {self.name!r}: a level is listed twice in {list(self.levels)}")

    def __len__(self) -> int:
        return len(self.levels)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of a table that it is read from."""
        return (self.name,) if self.tree is None else self.tree.names

    @property
    def is_column(self) -> bool:
        """Whether it is a column of its own, which can be written."""
        return self.tree is None

    @cached_property
    def shown(self) -> tuple[str, ...]:
        """The levels as pictures show them, which have little room: of learned cells their numbers."""
        return tuple(map(str, self.levels if self.is_column else range(1, len(self) + 1)))

    @property
    def has_missing(self) -> bool:
        """Whether missing values have a level of their own that somebody had."""
        return self.missing is not None and self.missing != UNSEEN

    def allowing_missing(self, allowed: bool) -> Variable:
        """Return the variable that allows missing values where they have no level, or that refuses them.

        A missing outcome is refused whatever is said: there is nothing to draw from.

        Examples
        --------
        >>> Variable("age", Role.FEATURE, ("young", "old"), ordered=True).allowing_missing(True).missing == UNSEEN
        True
        """
        if self.has_missing or self.role is Role.OUTCOME or not self.is_column:
            return self
        return replace(self, missing=UNSEEN if allowed else None)

    @property
    def always_missing(self) -> bool:
        """Whether the fitted table had no value at all in the column, so that it may be of any type."""
        return len(self) == 1 and self.missing == 0

    @property
    def fits_type(self) -> bool:
        """Whether the column's type is one that columns have, and its levels are of it.

        Real numbers are no levels, so that no column of levels is of their type.

        Examples
        --------
        >>> [Variable("age", Role.FEATURE, (0, 200), True, dtype).fits_type for dtype in ("uint8", "int8", "str")]
        [True, False, False]
        """
        name = re.sub(r"\[(pyarrow|python)\]$", "", self.dtype).lower()
        if self.always_missing or ANYTHING.fullmatch(name):
            return True
        if TEXTS.fullmatch(name):
            return all(isinstance(level, str) for level in self.levels)
        if TRUTHS.fullmatch(name):
            return all(isinstance(level, bool) for level in self.levels)
        whole = all(not isinstance(level, bool | str) and level % 1 == 0 for level in self.levels)
        if found := WHOLE.fullmatch(name):
            unsigned, bits = bool(found["unsigned"]), int(found["bits"])
            low, high = (0, 2**bits) if unsigned else (-(2 ** (bits - 1)), 2 ** (bits - 1))
            return whole and all(low <= level < high for level in self.levels)  # type: ignore[operator]
        return whole and NUMBERED.fullmatch(name) is not None

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """Values that the column had: its levels but that of missing values, or those that its coding keeps."""
        if self.coding is not None:
            return tuple(self.coding.values)
        return tuple(level for code, level in enumerate(self.levels) if code != self.missing)

    @cached_property
    def numeric(self) -> bool:
        """Whether the column holds numbers."""
        if self.coding is not None and self.coding.numeric:
            return True
        return bool(self.values) and all(isinstance(v, int | float) and not isinstance(v, bool) for v in self.values)

    @cached_property
    def textual(self) -> bool:
        """Whether the column holds texts."""
        values = self.levels if self.coding is None else self.values
        return bool(values) and not self.numeric and all(isinstance(value, str) for value in values)

    @cached_property
    def codes(self) -> dict[Value, int]:
        return {level: code for code, level in enumerate(self.levels)}

    def place(self, level: Value) -> int | None:
        """Return the position of a level that a statement names; None where the column has no such level.

        Python takes True for 1. A column does not: its levels are truths, or they are numbers.

        Examples
        --------
        >>> hired = Variable("hired", Role.OUTCOME, (0, 1), ordered=True)
        >>> hired.place(1), hired.place(True)
        (1, None)
        """
        found = (code for code, known in enumerate(self.levels) if same_level(known, level))
        return next(found, None)

    def code(self, value: Value) -> int:
        """Return the position of a value among the levels."""
        try:
            return self.codes[value]
        except KeyError:
            hint = did_you_mean(value, self.levels)
            raise DataError(
                f"column {self.name!r} has no level {value!r}; its levels are {list(self.levels)}.{hint}"
            ) from None


def same_level(one: Value, other: Value) -> bool:
    """Whether two statements name the same level: a truth is no number, whatever Python says.

    Examples
    --------
    >>> same_level(1, 1.0), same_level(1, True)
    (True, False)
    """
    return one == other and isinstance(one, bool) == isinstance(other, bool)


def in_words(levels: Mapping[str, object]) -> str:
    """Name levels of some columns, as errors and audits do.

    Examples
    --------
    >>> in_words({"sex": "Male", "age": 3})
    'sex=Male, age=3'
    """
    return ", ".join(f"{column}={level}" for column, level in levels.items())


@dataclass(frozen=True)
class Axis:
    """Variables taken together; a cell of the axis is one integer.

    Examples
    --------
    >>> sex = Variable("sex", Role.PROTECTED, ("F", "M"), ordered=False)
    >>> race = Variable("race", Role.PROTECTED, ("A", "B", "C"), ordered=False)
    >>> both = Axis((sex, race))
    >>> both.size, both.labels(4)
    (6, {'sex': 'M', 'race': 'B'})
    """

    variables: tuple[Variable, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of levels of each variable."""
        return tuple(len(v) for v in self.variables)

    @property
    def size(self) -> int:
        """The number of cells."""
        return math.prod(self.shape)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(v.name for v in self.variables)

    def ravel(self, codes: Sequence[Cells]) -> Cells:
        """Join one array of codes per variable into cells."""
        cells = np.zeros_like(codes[0], dtype=np.int64)
        for variable, code in zip(self.variables, codes, strict=True):
            cells = cells * len(variable) + code
        return cells

    def unravel(self, cells: Cells) -> list[Cells]:
        """Split cells into one array of codes per variable."""
        codes = []
        rest = np.asarray(cells, dtype=np.int64)
        for variable in reversed(self.variables[1:]):
            rest, code = np.divmod(rest, len(variable))
            codes.append(code)
        return [rest, *codes[::-1]]

    def cells_of(self, part: Axis, cells: Cells) -> Cells:
        """Return the cells of a part of this axis (some of its variables) that given cells lie in."""
        codes = dict(zip(self.names, self.unravel(cells), strict=True))
        return part.ravel([codes[name] for name in part.names])

    def has_missing(self, cells: Cells) -> Flags:
        """Return which cells hold a missing value in some variable."""
        codes = zip(self.variables, self.unravel(cells), strict=True)
        lacking = [variable.has_missing & (code == variable.missing) for variable, code in codes]
        return np.asarray(np.any(lacking, axis=0))

    def labels(self, cell: int) -> dict[str, Value]:
        """Name one cell: a level for each variable."""
        codes = self.unravel(np.asarray([cell], dtype=np.int64))
        return {v.name: v.levels[int(c[0])] for v, c in zip(self.variables, codes, strict=True)}

    def shown(self, cell: int) -> dict[str, str]:
        """Name one cell as pictures do."""
        codes = self.unravel(np.asarray([cell], dtype=np.int64))
        return {v.name: v.shown[int(c[0])] for v, c in zip(self.variables, codes, strict=True)}

    def words(self, cell: int) -> str:
        """Name one cell in words, as errors and audits do."""
        return in_words(self.labels(cell))


def among(axes: str, kept: str) -> str:
    """Return those of some axes that are among others, by their letters.

    Examples
    --------
    >>> among("dxy", "dy"), among("xy", "dx")
    ('dy', 'x')
    """
    return "".join(axis for axis in axes if axis in kept)


@dataclass(frozen=True)
class Domain:
    """The axes D, X and Y.

    Examples
    --------
    >>> domain = Domain.of([Variable("sex", Role.PROTECTED, ("F", "M"), False),
    ...                     Variable("age", Role.FEATURE, (1, 2, 3), True),
    ...                     Variable("hired", Role.OUTCOME, (0, 1), True)])
    >>> domain.d.size, domain.x.size, domain.y.size
    (2, 3, 2)
    """

    d: Axis
    x: Axis
    y: Axis

    def __post_init__(self) -> None:
        if self.d.size * self.x.size * self.y.size > LARGEST_DOMAIN:
            raise DataError("the product of all levels exceeds 2**62 cells; merge levels or leave out a column")

    @classmethod
    def of(cls, variables: Iterable[Variable]) -> Domain:
        """Sort variables onto the three axes by their roles."""
        listed = tuple(variables)
        d, x, y = (Axis(tuple(v for v in listed if v.role is role)) for role in Role)
        return cls(d, x, y)

    def allowing_missing(self, allowed: bool) -> Domain:
        """Return the domain that allows missing values where they have no level, or that refuses them."""
        return Domain.of(variable.allowing_missing(allowed) for variable in self.variables)

    @property
    def variables(self) -> tuple[Variable, ...]:
        return self.d.variables + self.x.variables + self.y.variables

    @property
    def outcome(self) -> Variable:
        return self.y.variables[0]

    @property
    def shown_outcomes(self) -> tuple[int, ...]:
        """The outcomes that are worth showing: of two, one follows from the other."""
        return (1,) if self.y.size == 2 else tuple(range(self.y.size))

    def variable(self, name: str) -> Variable:
        for variable in self.variables:
            if variable.name == name:
                return variable
        names = [v.name for v in self.variables]
        raise SpecError(f"no column {name!r} in this domain {names}.{did_you_mean(name, names)}")

    def axes(self, names: str) -> tuple[Axis, ...]:
        """Return some of the axes D, X and Y, by their letters."""
        return tuple(getattr(self, name) for name in names)

    def number(self, axes: str, cells: Mapping[str, Cells]) -> Cells:
        """Join the cells on some axes into numbers over these; over none, everybody is number 0."""
        number: Cells = np.zeros_like(next(iter(cells.values())), dtype=np.int64)
        for name, axis in zip(axes, self.axes(axes), strict=True):
            number = number * axis.size + cells[name]
        return number

    def split(self, axes: str, number: Cells) -> dict[str, Cells]:
        """Undo :meth:`number`: return the cell on each of these axes."""
        cells: dict[str, Cells] = {}
        for name in reversed(axes):
            number, cells[name] = np.divmod(number, getattr(self, name).size)
        return cells

    def xy(self, x: Cells, y: Cells) -> Cells:
        return x * self.y.size + y

    def split_xy(self, xy: Cells) -> tuple[Cells, Cells]:
        """Undo :meth:`xy`."""
        x, y = np.divmod(xy, self.y.size)
        return x, y

    def dx(self, d: Cells, x: Cells) -> Cells:
        return d * self.x.size + x

    def dxy(self, d: Cells, x: Cells, y: Cells) -> Cells:
        return self.dx(d, x) * self.y.size + y

    def words(self, d: int, x: int, y: int) -> str:
        """Name one cell (d, x, y) in words."""
        return "; ".join((self.d.words(d), self.x.words(x), self.y.words(y)))
