"""Levels that stand for several values each: merged as somebody says, or pooled where they are rare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Annotated, Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells
from evenhand.data.levels import UNSEEN, Case, Coding, Stock, Value, listed_values
from evenhand.errors import DataError, SpecError, StorageError, did_you_mean
from evenhand.spec.bins.binning import Binning, Occurrence


@dataclass(frozen=True)
class Merges(Coding):
    """Levels that stand for several values each.

    ``members`` lists the values of each level. ``rest`` is the level of every value that is in none, where there is
    one.
    """

    members: tuple[tuple[Value, ...], ...]
    rest: int | None
    stock: tuple[Stock, ...]

    kind = "merges"
    numeric = False

    @cached_property
    def _level_of(self) -> dict[Value, int]:
        return {value: code for code, members in enumerate(self.members) for value in members}

    def codes(self, values: Iterable[Value]) -> Cells:
        """Return the level of each value."""
        return np.array([self.code(value) for value in values], dtype=np.int64)

    def code(self, value: Value) -> int:
        """Return the level of one value."""
        return self._level_of.get(value, UNSEEN if self.rest is None else self.rest)

    def cases(self) -> Iterator[Case]:
        """Yield the members of each level but the rest's, which is everything else."""
        yield from (Case(code, among=members) for code, members in enumerate(self.members) if code != self.rest)
        if self.rest is not None:
            yield Case(self.rest)

    def middle(self, code: int) -> Value:
        """Return the commonest value of a level: merged values have no middle."""
        return self.stock[code].commonest

    def reordered(self, order: Sequence[int]) -> Merges:
        """Return the coding with its levels in another order."""
        rest = None if self.rest is None else list(order).index(self.rest)
        return Merges(tuple(self.members[i] for i in order), rest, tuple(self.stock[i] for i in order))

    def described(self) -> dict[str, Any]:
        """Return the values of each level, and the level of all others."""
        return {"members": [list(members) for members in self.members], "rest": self.rest}

    @classmethod
    def read(cls, entry: Mapping[str, Any], stock: tuple[Stock, ...], size: int) -> Merges:
        """Read the values of each level."""
        members, rest = tuple(listed_values(m) for m in entry["members"]), entry["rest"]
        place = isinstance(rest, int) and not isinstance(rest, bool) and 0 <= rest < size
        if len(members) != size or not (rest is None or place):
            raise StorageError("the merged values of a column do not fit its levels")
        every = [value for values in members for value in values]
        if len(set(every)) < len(every):
            raise StorageError("a merged value of a column has two levels")
        if not all(each.values for each in stock):
            raise StorageError("a level of merged values has none that somebody had")
        return cls(members, rest, stock)


@dataclass(frozen=True)
class MergedLevels(Binning):
    """Levels that are told apart no more: ``MergedLevels({"Minority": ["Black", "Other"]})``.

    Parameters
    ----------
    into : mapping of str to sequence
        For each new level, the values that it stands for; values that are in none keep a level of their own.
    rest : str, optional
        The level of every value that is in none.
    ordered : bool
        Whether the order in which the levels are given means something.

    Examples
    --------
    >>> seen = Occurrence("race", ["Black", "Other", "White"], np.ones((3, 1)))
    >>> MergedLevels({"Minority": ["Black", "Other"]}).levels(seen)[0]
    ('Minority', 'White')
    """

    word = "merging"
    into: Mapping[str, Sequence[Value]]
    rest: str | None = None
    ordered: bool = False

    coding = Merges

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.into:
            raise check.refused("into of MergedLevels", "a mapping of levels to values", self.into)
        held: dict[Value, str] = {}
        for level, values in self.into.items():
            for value in values:
                if value in held:
                    raise SpecError(f"into of MergedLevels: {value!r} is in both {held[value]!r} and {level!r}")
                held[value] = level

    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return the merged levels, then those that stand alone."""
        listed = {value for values in self.into.values() for value in values}
        members: dict[Value, list[Value]] = {level: list(values) for level, values in self.into.items()}
        alone = [value for value in seen.values if value not in listed]
        if self.rest is not None:
            members.setdefault(self.rest, []).extend(alone)
        else:
            _refuse_clash(seen.column, members, alone)
            members |= {value: [value] for value in alone}
        return (*_grouped(seen, members, self.rest, ordered=self.ordered), self.ordered)

    def could_give(self, levels: Sequence[Value], coding: Coding) -> bool:
        """Whether each level stands for its own values, or for itself, and the rest for all else."""
        if not isinstance(coding, Merges) or coding.rest != _place(self.rest, levels):
            return False
        listed = {value for values in self.into.values() for value in values}
        for code, (level, members) in enumerate(zip(levels, coding.members, strict=True)):
            own = next((tuple(values) for name, values in self.into.items() if name == level), ())
            if code == coding.rest:
                fits = members[: len(own)] == own and not listed & set(members[len(own) :])
            elif level in self.into:
                fits = members == own
            else:
                fits = self.rest is None and members == (level,) and level not in listed
            if not fits:
                return False
        return True

    @property
    def words(self) -> str:
        """Which values each level stands for."""
        merged = "; ".join(f"{level!r} is {', '.join(map(repr, values))}" for level, values in self.into.items())
        return merged + (f"; {self.rest!r} is all else" if self.rest is not None else "")


Weight = Annotated[float, partial(check.own_number, low=0, high=check.LARGEST)]


@dataclass(frozen=True)
class PooledLevels(Binning):
    """Rare levels pooled into one; a value that was never seen at fit belongs there too.

    What is rare is said by a weight, which every table answers in its own way, or by the names of the levels to keep,
    which mean the same groups in every table.

    Parameters
    ----------
    fewer_than : float, optional
        A level of a smaller weight (of fewer people) is rare.
    into : str
        The name of the level of all rare ones.
    keep : sequence, optional
        In place of ``fewer_than``: the values that keep a level of their own; every other, also a new one, is rare.

    Examples
    --------
    >>> seen = Occurrence("country", ["A", "B", "C"], np.array([[900.0], [3], [4]]))
    >>> PooledLevels(10).levels(seen)[0]
    ('A', 'other')
    >>> PooledLevels(keep=["A", "C"]).levels(seen)[0]
    ('A', 'C', 'other')
    """

    word = "pooling"
    fewer_than: Weight | None = None
    into: str = "other"
    keep: Sequence[Value] | None = None

    coding = Merges

    def __post_init__(self) -> None:
        super().__post_init__()
        if (self.fewer_than is None) == (self.keep is None):
            raise SpecError(
                "PooledLevels needs one of the two: fewer_than, a weight below which a level is rare, or keep, the "
                "list of levels that are not pooled"
            )
        keep = self.keep or ()
        if self.keep == ():
            raise check.refused("keep of PooledLevels", "a list of values", keep)
        if (twice := next((value for i, value in enumerate(keep) if value in keep[:i]), None)) is not None:
            raise SpecError(f"keep of PooledLevels lists {twice!r} twice")

    def levels(self, seen: Occurrence) -> tuple[tuple[Value, ...], Coding, bool]:
        """Return the common levels, and last the pool if anything is rare."""
        common = [value for value, weight in zip(seen.values, seen.weights, strict=True) if self._common(value, weight)]
        pool = [value for value in seen.values if value not in common]
        if self.keep is not None and not common:
            raise DataError(
                f"column {seen.column!r} has none of the levels that PooledLevels keeps, {list(self.keep)}, but values "
                f"such as {seen.values[0]!r}.{did_you_mean(self.keep[0], seen.values)}"
            )
        if not pool:
            return (*_grouped(seen, {value: [value] for value in common}, None, ordered=False), False)
        _refuse_clash(seen.column, {self.into: pool}, [v for v in common if v != self.into])
        members = {value: [value] for value in common}
        members.setdefault(self.into, []).extend(pool)
        return (*_grouped(seen, members, self.into, ordered=True), False)

    def could_give(self, levels: Sequence[Value], coding: Coding) -> bool:
        """Whether every level stands for itself, and is one of those to keep, but for the pool."""
        if not isinstance(coding, Merges) or coding.rest not in (None, _place(self.into, levels)):
            return False
        pairs = enumerate(zip(levels, coding.members, strict=True))
        alone = [(level, members) for code, (level, members) in pairs if code != coding.rest]
        return all(members == (level,) and (self.keep is None or level in self.keep) for level, members in alone)

    def _common(self, value: Value, weight: float) -> bool:
        if self.keep is not None:
            return value in self.keep
        return self.fewer_than is None or weight >= self.fewer_than

    @property
    def words(self) -> str:
        """What is rare."""
        if self.keep is not None:
            return f"all values but {', '.join(map(repr, self.keep))} are one level, {self.into!r}"
        return f"values of a weight below {self.fewer_than:g} are one level, {self.into!r}"


def _place(level: str | None, levels: Sequence[Value]) -> int | None:
    """Return the code of a level; None where there is none of that name."""
    return levels.index(level) if level is not None and level in levels else None


def _refuse_clash(column: str, members: Mapping[Value, Sequence[Value]], alone: Sequence[Value]) -> None:
    for value in alone:
        if value in members:
            raise SpecError(
                f"column {column!r} already has a value {value!r}, which is also the name of a level of several "
                f"values; give that level another name"
            )


def _grouped(
    seen: Occurrence, members: Mapping[Value, Sequence[Value]], rest: str | None, *, ordered: bool
) -> tuple[tuple[Value, ...], Merges]:
    """Return the levels that somebody has, sorted unless their order is given, and their coding."""
    known = {value: i for i, value in enumerate(seen.values)}
    held = {level: [known[v] for v in values if v in known] for level, values in members.items()}
    names = [level for level, rows in held.items() if rows]
    if not ordered:
        names.sort(key=lambda level: (isinstance(level, str), level))
    stock = tuple(seen.stock(np.sort(held[level])) for level in names)
    pool = names.index(rest) if rest is not None and rest in names else None
    return tuple(names), Merges(tuple(tuple(members[level]) for level in names), pool, stock)
