"""One person in plain values: the level of each value, the target of a draw and what is written; no frame is made.

The same that :mod:`evenhand.tables.transforming` does to the rows of a table, in microseconds. What can be known before
anybody comes is kept in frozen values, which any number of threads may share. Knows columns, kernels and draws, not
how a mapping was found.
"""

from __future__ import annotations

import secrets
from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells
from evenhand.data.domain import Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.errors import DataError, did_you_mean, some_of
from evenhand.kernel import Kernel
from evenhand.kernel.draws import DRAW_BITS, keyed_draw, seeded_draws
from evenhand.tables.columns import blank_numbers, canonical, gap_advice, refuse_other_kind
from evenhand.tables.keys import key_advice, key_text
from evenhand.tables.learned import plain_values
from evenhand.tables.writing import Restoring, as_single, as_whole, becomes_text, choices

if TYPE_CHECKING:
    from evenhand.kernel.strangers import Strangers

Record = Mapping[str, Any]
"""A person: a value for each column."""

Draw = Callable[[str], int]
"""A person's draw for a purpose: none for the target, a column for its new value."""

PLAIN = frozenset([str, int, float, bool, type(None)])
"""The types of values that are what they seem."""

LARGEST = 2**4096
"""Whole numbers of more digits may be ones that Python does not write out."""

Choice = tuple[Sequence[Value | None], list[int]]
"""Values, and for each the draw that no longer chooses it."""


def plain_value(column: str, given: Any) -> Any:
    """Return Python's own value for NumPy's, and None for whatever stands for no value.

    Examples
    --------
    >>> plain_value("age", np.int8(3)), plain_value("age", float("nan"))
    (3, None)
    """
    kind = type(given)
    if kind is float:
        return given if given == given else None
    if kind in PLAIN and (kind is not int or -LARGEST < given < LARGEST):
        return given
    # Pandas is not asked for this: whoever gives its NA, which is not even unlike itself, has imported it.
    if kind.__name__ == "NAType":
        return None
    try:
        value = given.item() if isinstance(given, np.generic) else given
        # What is looked up among levels, and written out to be held against words for a missing value.
        hash(value), str(value)
        # NaN and NaT are the only values that are not themselves.
        return value if value == value else None
    except Exception:  # Whatever is no single value says so in its own way.
        raise DataError(
            f"column {column!r} must hold one value, a text, a number, true or false, not {check.shown(given)}"
        ) from None


@dataclass(frozen=True, eq=False)
class Reader:
    """How one column is read: the level of a value, as :func:`evenhand.tables.columns.levels_of` finds it."""

    variable: Variable

    @cached_property
    def _blanks(self) -> frozenset[str]:
        return frozenset(map(canonical, self.variable.blanks))

    @cached_property
    def _blank_numbers(self) -> frozenset[float]:
        return frozenset(map(float, blank_numbers(self.variable)))

    @cached_property
    def _other_kind(self) -> type | tuple[type, ...]:
        """The types of which no value could be a level."""
        if self.variable.always_missing:
            return ()
        return str if self.variable.numeric else (int, float) if self.variable.textual else ()

    def is_missing(self, value: Any) -> bool:
        """Whether a value stands for a missing one."""
        if value is None:
            return True
        if not self._blanks:
            return False
        coding = self.variable.coding
        if coding is not None and coding.numeric and _is_number(value) and not isinstance(value, bool):
            return _real(value) in self._blank_numbers
        return canonical(value) in self._blanks

    def level(self, value: Any) -> int:
        """Return the level of a value, UNSEEN where it has none; of learned cells, the leaf of several."""
        variable = self.variable
        if variable.tree is not None:
            return variable.tree.leaf(plain_values(variable.tree, value, variable.blanks))
        if self.is_missing(value):
            if variable.missing is None:
                raise DataError(f"column {variable.name!r} has a missing value; ", *gap_advice(variable))
            return variable.missing
        if isinstance(value, self._other_kind):
            refuse_other_kind(variable, [value])
        if variable.coding is None:
            return variable.codes.get(value, UNSEEN)
        if variable.coding.numeric:
            value = _real(value) if _is_number(value) else np.nan
        return variable.coding.code(value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _real(number: float) -> float:
    """Return a number as a real one, also one that is larger than any."""
    try:
        return float(number)
    except OverflowError:
        return np.inf if number > 0 else -np.inf


@dataclass(frozen=True, eq=False)
class Writer:
    """How one column is written: what a level becomes, as :func:`evenhand.tables.writing.replace` writes it."""

    variable: Variable

    @cached_property
    def _sampled(self) -> tuple[Choice, ...]:
        return self._choices(Restoring.SAMPLE)

    @cached_property
    def _middles(self) -> tuple[Choice, ...]:
        return self._choices(Restoring.MIDPOINT)

    def _choices(self, restore: Restoring) -> tuple[Choice, ...]:
        each = (choices(self.variable, level, restore) for level in range(len(self.variable)))
        return tuple((tuple(values), ends.tolist()) for values, ends in each)

    def value(self, given: Any, level: int, restore: Restoring, draw: Draw) -> Any:
        """Return the new value of somebody who gets a level, in the kind of the value that was given."""
        if self.variable.coding is None:
            new = None if level == self.variable.missing else self.variable.levels[level]
        else:
            possible, ends = (self._sampled if restore.draws else self._middles)[level]
            new = possible[bisect_right(ends, draw(self.variable.name)) if len(possible) > 1 else 0]
        return self._like(given, new)

    def _like(self, given: Any, new: Any) -> Any:
        """Return a value as a column of the given one's type would hold it."""
        if not _is_number(new):
            return new
        if isinstance(given, (bool, np.bool_)):
            return bool(new) if new in (0, 1) else new
        if isinstance(given, (int, np.integer)):
            whole = as_whole(self.variable, new)
            return int(whole) if isinstance(whole, bool) else whole
        if isinstance(given, np.float32):
            return float(as_single(self.variable, new))
        return float(new) if isinstance(given, (float, np.floating)) else new

    def label(self, value: Any, level: int, *, missing: bool) -> str | None:
        """Return the name of a level; of none, and of a missing value that stays so, the value's own text."""
        if level == UNSEEN or (level == self.variable.missing and missing):
            return None if value is None else str(value)
        return None if level == self.variable.missing else str(self.variable.levels[level])


@dataclass(frozen=True)
class Placed:
    """Where a person is: the level of each column that is read, and the kernel's row, if there is one.

    ``sourced`` where it is the row of people like them who were fitted.
    """

    levels: tuple[int, ...]
    row: int | None
    sourced: bool


@dataclass(frozen=True, eq=False)
class Lookup:
    """One mode of a mapping, for one person at a time.

    Attributes
    ----------
    name : str
        The mode's name, which draws depend on.
    read, written : tuple of Variable
        The columns that are read, and those of them that may change, which are the last.
    kernel, sources, strangers
        As in :class:`evenhand.tables.transforming.Transformer`.
    fitted : int
        How many of the kernel's rows are those of sources; the others are strangers'.
    """

    name: str
    read: tuple[Variable, ...]
    written: tuple[Variable, ...]
    kernel: Kernel
    sources: Cells
    strangers: Strangers | None
    fitted: int

    @cached_property
    def readers(self) -> tuple[Reader, ...]:
        return tuple(map(Reader, self.read))

    @cached_property
    def writers(self) -> tuple[Writer, ...]:
        return tuple(map(Writer, self.written))

    @cached_property
    def _sizes(self) -> tuple[int, ...]:
        return tuple(map(len, self.read))

    @cached_property
    def first_written(self) -> int:
        """The place among the columns that are read from which on they are written."""
        return len(self.read) - len(self.written)

    def values(self, record: Record) -> list[Any]:
        try:
            return [self._value(variable, record) for variable in self.read]
        except KeyError:
            name = next(name for variable in self.read for name in variable.columns if name not in record)
            raise no_entry(record, name) from None

    def _value(self, variable: Variable, record: Record) -> Any:
        """Return the plain value of a column; of learned cells, those of all their columns."""
        if variable.is_column:
            return plain_value(variable.name, record[variable.name])
        return [plain_value(name, record[name]) for name in variable.columns]

    def levels(self, values: Sequence[Any]) -> list[int]:
        return [reader.level(value) for reader, value in zip(self.readers, values, strict=True)]

    def row(self, levels: Sequence[int]) -> tuple[int | None, bool]:
        """Return the kernel's row of somebody with these levels, if there is one, and whether it is a source's own."""
        place = _place(self.sources, self._source(levels))
        if place is not None:
            return place, True
        if self.strangers is None or UNSEEN in levels[self.first_written :]:
            return None, False
        # An unknown source whose values are levels may have a row that draws ŷ.
        key = 0
        for place, size in self._key:
            if levels[place] == UNSEEN:
                return None, False
            key = key * size + levels[place]
        place = _place(self.strangers.keys, key)
        row = self.strangers.others if place is None else self.strangers.rows.item(place)
        return None if row is None else self.fitted + row, False

    @cached_property
    def _key(self) -> tuple[tuple[int, int], ...]:
        """The columns that choose a stranger's row: their places among those that are read, and their sizes."""
        names = [variable.name for variable in self.read]
        by = () if self.strangers is None else self.strangers.by
        return tuple((names.index(variable.name), len(variable)) for axis in by for variable in axis.variables)

    def _source(self, levels: Sequence[int]) -> int:
        """Return the number of the source that has these levels, UNSEEN where one of them is none."""
        number = 0
        for level, size in zip(levels, self._sizes, strict=True):
            if level == UNSEEN:
                return UNSEEN
            number = number * size + level
        return number

    def placed(self, levels: Sequence[int]) -> Placed:
        return Placed(tuple(levels), *self.row(levels))

    def possible(self, person: Placed) -> list[tuple[list[int], float]]:
        """Return every result that a person may have: the level of each column that is written, and how likely it is.

        Who has no row stays as they are.
        """
        own = person.levels[self.first_written :]
        if person.row is None:
            return [(list(own), 1.0)]
        entries = range(self.kernel.starts.item(person.row), self.kernel.starts.item(person.row + 1))
        return [(self._target(person.row, at, own), self.kernel.probability.item(at)) for at in entries]

    def _target(self, row: int, entry: int, own: Sequence[int]) -> list[int]:
        """Return the level of each column that is written, of an entry of a row; strangers keep their x."""
        rest = self.kernel.targets.item(entry)
        if row >= self.fitted:
            return [*own[:-1], rest]
        levels = []
        for size in reversed(self._sizes[self.first_written + 1 :]):
            rest, level = divmod(rest, size)
            levels.append(level)
        return [rest, *levels[::-1]]

    def draw(self, record: Record, key: str | None, seed: int | None) -> Draw:
        """Return where a person's draws come from: a key, the first position, or fresh randomness without a seed."""
        text = "" if key is None else _own_key(record, key)
        if seed is None:
            return lambda _: secrets.randbits(DRAW_BITS)
        if key is None:
            return lambda purpose: seeded_draws(seed, 1, self.name, purpose=purpose).item(0)
        return lambda purpose: keyed_draw(text, seed, self.name, purpose=purpose)

    def transformed(
        self, record: Record, values: Sequence[Any], levels: Sequence[int], row: int | None, draw: Draw, way: Restoring
    ) -> dict[str, Any]:
        """Return a record with what is drawn for it: what does not change is the very value that was given."""
        new, last = dict(record), slice(self.first_written, None)
        own = levels[last]
        targets = own if row is None else self._target(row, self.kernel.hit_one(row, draw("")), own)
        for reader, writer, value, before, level in zip(
            self.readers[last], self.writers, values[last], own, targets, strict=True
        ):
            name = writer.variable.name
            if becomes_text(writer.variable, way):
                new[name] = writer.label(value, level, missing=reader.is_missing(value))
            elif level != before:
                new[name] = writer.value(record[name], level, way, draw)
        return new


def _place(among: Cells, number: int) -> int | None:
    """Return the place of a number in an ascending array; None where it is not there."""
    place = int(among.searchsorted(number))
    return place if place < len(among) and among.item(place) == number else None


def _own_key(record: Record, key: str) -> str:
    if key not in record:
        raise no_entry(record, key)
    value = plain_value(key, record[key])
    if value is None:
        raise DataError(f"the key {key!r} is missing; ", *key_advice(key))
    text = key_text(key, type(value).__name__, value)
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"the key {key!r} holds {text!r}, which is not Unicode text") from None
    return text


def no_entry(record: Record, name: str) -> DataError:
    """Return the error that says which column a record lacks."""
    others = f"it has {some_of(record)}" if record else "it is empty"
    return DataError(f"the row has no entry {name!r}; {others}.{did_you_mean(name, record)}")
