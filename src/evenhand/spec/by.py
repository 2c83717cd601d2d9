"""A value that depends on group, outcome, segment or cell: one form everywhere.

``By(0.1, [({"sex": "Male"}, 0.05)])`` is 0.1, except 0.05 for men. Of several cases that fit, the last one counts.
Which columns a case may name depends on what the value belongs to, and is checked where the value meets a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Axis, Variable
from evenhand.errors import SpecError, did_you_mean
from evenhand.spec.frozen import FrozenMap

AGAINST = "against"
"""In a case for a pair of groups, the key under which the second group stands."""

Where = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Field:
    """A column that cases may name, with the code of its level at every place where a value is wanted."""

    variable: Variable
    codes: Cells


Fields = Mapping[str, Field]


def fields_of(axis: Axis, cells: Cells) -> dict[str, Field]:
    """Return the columns of an axis as fields, at given cells of it."""
    return {v.name: Field(v, codes) for v, codes in zip(axis.variables, axis.unravel(cells), strict=True)}


@dataclass(frozen=True)
class By:
    """A value with exceptions.

    Parameters
    ----------
    default : float or mapping
        The value where no case fits.
    cases : sequence of (where, value)
        ``where`` maps columns to a level or a list of levels; all of them must fit. For a pair of groups (in either
        order) it holds the second group under ``"against"``. The last case that fits counts.

    Examples
    --------
    >>> By(0.1, [({"sex": "Male"}, 0.05), ({"race": "A", "against": {"race": "B"}}, 0.2)]).default
    0.1
    """

    default: Any
    cases: Sequence[tuple[Where, Any]] = ()

    def __post_init__(self) -> None:
        if isinstance(self.default, By):
            raise SpecError("the default of By must be a plain value, not another By")
        if isinstance(self.cases, Mapping | str) or not isinstance(self.cases, Iterable):
            raise SpecError(f"the cases of By are a list of (where, value), not {self.cases!r}")
        object.__setattr__(self, "default", _frozen(self.default))
        object.__setattr__(self, "cases", tuple(_case(case) for case in self.cases))

    def map(self, change: Callable[[Any], Any]) -> By:
        """Return the same cases with every value changed."""
        return By(change(self.default), [(where, change(value)) for where, value in self.cases])

    @property
    def values(self) -> tuple[Any, ...]:
        """Every value, the default first."""
        return (self.default, *(value for _, value in self.cases))

    def which(self, what: str, fields: Fields, against: Fields | None, size: int) -> Cells:
        """Return at every place the number of the case that counts, 0 for the default."""
        chosen = np.zeros(size, dtype=np.int64)
        for number, (where, _) in enumerate(self.cases, start=1):
            fits = _fits(what, where, fields, against, size)
            if not fits.any():
                raise SpecError(
                    f"{what}: a case of By is for {_words(where)}, but nobody there is held to it: the table has "
                    f"nobody there, or does not compare them"
                )
            chosen[fits] = number
        return chosen


def each(value: Any) -> tuple[Any, ...]:
    """Return every value of a By, or the one plain value."""
    return value.values if isinstance(value, By) else (value,)


def change_each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Change every value of a By, or the one plain value."""
    return value.map(change) if isinstance(value, By) else change(value)


def words_of(value: Any, shown: Callable[[float], str], what: str = "bounded") -> str:
    """Say a number, or the range of those of a By; infinite ones leave their cases not ``what``."""
    finite = sorted({float(v) for v in each(value) if not math.isinf(v)})
    free = f"; some cases are not {what}" if any(math.isinf(v) for v in each(value)) else ""
    if len(finite) > 1:
        return f"{shown(finite[0])} to {shown(finite[-1])} (by case{free})"
    return f"{shown(finite[0])} ({free[2:]})" if free else shown(finite[0])


def numbers_at(what: str, value: Any, fields: Fields, size: int, against: Fields | None = None) -> Numbers:
    """Return a number at every place, from a plain number or a By."""
    if not isinstance(value, By):
        return np.full(size, float(value))
    return np.array(value.values, dtype=float)[value.which(what, fields, against, size)]


def _case(case: Any) -> tuple[Where, Any]:
    try:
        where, value = case
    except (TypeError, ValueError):
        raise SpecError(f"a case of By is a pair (where, value), not {case!r}") from None
    if not isinstance(where, Mapping) or not where:
        raise SpecError(f'a case of By begins with where it holds, such as {{"sex": "Male"}}, not {where!r}')
    if isinstance(value, By):
        raise SpecError("a value of By must be a plain value, not another By")
    return FrozenMap({column: _frozen(levels) for column, levels in where.items()}), _frozen(value)


def _frozen(value: Any) -> Any:
    if isinstance(value, Mapping):
        return FrozenMap({key: _frozen(inner) for key, inner in value.items()})
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, set | frozenset):
        return tuple(sorted(value, key=repr))
    return tuple(value) if isinstance(value, list | tuple) else value


def _fits(what: str, where: Where, fields: Fields, against: Fields | None, size: int) -> NDArray[np.bool_]:
    first = {column: levels for column, levels in where.items() if column != AGAINST}
    if AGAINST not in where:
        return _one_side(what, first, fields, size)
    if against is None:
        raise SpecError(f"{what}: a case of By has {AGAINST!r}, but nothing is held against another group here")
    second = where[AGAINST]
    if not isinstance(second, Mapping) or not second:
        raise SpecError(f"{what}: {AGAINST!r} must name the second group, such as {{'sex': 'Male'}}, not {second!r}")
    shared = {name: field for name, field in fields.items() if name not in against}
    forward = _one_side(what, first, fields, size) & _one_side(what, second, against, size)
    swapped = _one_side(what, second, fields, size) & _one_side(what, first, {**shared, **against}, size)
    return forward | swapped


def _one_side(what: str, where: Where, fields: Fields, size: int) -> NDArray[np.bool_]:
    fits = np.ones(size, dtype=bool)
    for column, levels in where.items():
        if column not in fields:
            hint = did_you_mean(column, fields)
            raise SpecError(f"{what} cannot depend on {column!r}; it may depend on {list(fields)}.{hint}")
        field = fields[column]
        listed = levels if isinstance(levels, tuple) else (levels,)
        fits &= np.isin(field.codes, [_code(what, field.variable, level) for level in listed])
    return fits


def _code(what: str, variable: Variable, level: Any) -> int:
    for code, known in enumerate(variable.levels):
        if known == level and isinstance(known, bool) == isinstance(level, bool):
            return code
    hint = did_you_mean(level, variable.levels)
    raise SpecError(
        f"{what} names {variable.name}={level!r}, which does not exist; the levels of {variable.name!r} are "
        f"{list(variable.levels)}.{hint}"
    )


def _words(where: Where) -> str:
    return ", ".join(f"{column}={levels!r}" for column, levels in where.items())
