"""A value that depends on group, outcome, segment or cell: one form everywhere.

``By(0.1, [({"sex": "Male"}, 0.05)])`` is 0.1, except 0.05 for men. Of several cases that fit, the last one counts.
Which columns a case may name depends on what the value belongs to, and is checked where the value meets a table.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand import check, records
from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Axis, Value, Variable
from evenhand.errors import SpecError, did_you_mean
from evenhand.records import FrozenMap

AGAINST = "against"
"""In a case for a pair of groups, the key under which the second group stands."""

Group = Mapping[str, Value | Sequence[Value]]
"""Columns, and of each one level or several."""

GROUP = records.Table(records.form_of(Value | Sequence[Value]))

Where = Mapping[str, Any]
"""A group; of a case for a pair of groups with the second one."""


class Field(NamedTuple):
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
        order) it holds the second group under ``"against"``; with nothing else, it is for every pair with that group.
        The last case that fits counts.

    Examples
    --------
    >>> By(0.1, [({"sex": "Male"}, 0.05), ({"race": "A", "against": {"race": "B"}}, 0.2)]).default
    0.1
    """

    default: Any
    cases: Sequence[tuple[Where, Any]] = ()

    @staticmethod
    def form_around(inner: records.Form) -> records.Form:
        """Return the form of a value of some form with exceptions."""
        return Cases(inner)

    def __post_init__(self) -> None:
        pairs = "a list of (where, value)"
        if isinstance(self.cases, Mapping):
            raise check.refused("the cases of By", pairs, self.cases)
        cases = check.listed("the cases of By", self.cases, pairs)
        object.__setattr__(self, "default", _value("the default of By", self.default))
        object.__setattr__(self, "cases", tuple(_case(case) for case in cases))

    def map(self, change: Callable[[Any], Any]) -> By:
        """Return the same cases with every value changed."""
        check.function("change", change, takes=1)
        return By(change(self.default), [(where, change(value)) for where, value in self.cases])

    @property
    def values(self) -> tuple[Any, ...]:
        """Every value, the default first."""
        return (self.default, *(value for _, value in self.cases))

    @property
    def columns(self) -> set[str]:
        """The columns that cases name."""
        return {column for where, _ in self.cases for column in where}

    def which(self, what: str, fields: Fields, against: Fields | None, size: int, *, elsewhere: bool = False) -> Cells:
        """Return at every place the number of the case that counts, 0 for the default.

        A case for nobody is refused, unless these are the places of a table that need not have everybody.
        """
        chosen = np.zeros(size, dtype=np.int64)
        for number, (where, _) in enumerate(self.cases, start=1):
            fits = _fits(what, where, fields, against, size)
            if not elsewhere and not fits.any():
                raise SpecError(
                    f"{what}: a case of By is for {_words(where)}, but nobody there is held to it: the table has "
                    f"nobody there, or does not compare them"
                )
            chosen[fits] = number
        return chosen


@dataclass(frozen=True)
class Cases(records.Form):
    """The form of By: a document has it as an array of {where, value}, one of them without where."""

    inner: records.Form

    def suits(self, value: Any) -> bool:
        """Whether it has cases."""
        of_document = isinstance(value, list) and any(isinstance(case, Mapping) and "value" in case for case in value)
        return isinstance(value, By) or of_document

    def take(self, place: records.Place, value: Any) -> By:
        """Take every value; of a document, the cases and the value for all the rest."""
        if isinstance(value, By):
            return value.map(lambda inner: self.inner.take(place, inner))
        defaults, cases = [], []
        for number, case in enumerate(value):
            own = place.item(number)
            if not isinstance(case, Mapping):
                raise check.refused(own, "{where = {...}, value = ...}", case)
            records.need_keys(own, case, ("where", "value"), ("value",))
            inner = self.inner.take(own.key("value"), case["value"])
            if "where" not in case:
                defaults.append(inner)
            else:
                cases.append((where_of(own.key("where"), case["where"], _side), inner))
        if len(defaults) != 1:
            raise SpecError(
                f"{place} needs exactly one {{value = ...}} without where, for all the rest; it has {len(defaults)}"
            )
        return By(defaults[0], cases)

    def write(self, place: records.Place, value: Any, full: bool) -> list[Any]:
        """Write the value for all the rest, then the cases."""
        cases = [{"where": _plain(at), "value": self.inner.write(place, inner, full)} for at, inner in value.cases]
        return [{"value": self.inner.write(place, value.default, full)}, *cases]

    def schema(self, known: records.Known) -> records.Schema:
        """Return that of an array of {where, value}."""
        group = {"minProperties": 1, **GROUP.schema(known)}
        known["Where"] = {
            "description": "Who a case is for: columns, and of each one level or several; all of them must fit.",
            **group,
            "properties": {AGAINST: {"description": "The second group of a pair, in either order.", **group}},
        }
        case = {"where": {"$ref": "#/$defs/Where"}, "value": self.inner.schema(known) or {}}
        return {"type": "array", "minItems": 1, "items": records.an_object(case, ["value"])}


def _plain(where: Any) -> Any:
    """Return a group as a document has it."""
    if isinstance(where, Mapping):
        return {column: _plain(levels) for column, levels in where.items()}
    return list(where) if isinstance(where, tuple) else where


def check_finite(what: str, value: Any) -> None:
    """Refuse a bound or limit that is infinite in every case."""
    if all(math.isinf(number) for number in each(value)):
        raise SpecError(f"{what} must be finite somewhere, not {value}: it would bound nothing")


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


def numbers_at(
    what: str, value: Any, fields: Fields, size: int, against: Fields | None = None, *, elsewhere: bool = False
) -> Numbers:
    """Return a number at every place, from a plain number or a By; ``elsewhere`` as in :meth:`By.which`."""
    if not isinstance(value, By):
        return np.full(size, float(value))
    return np.array(value.values, dtype=float)[value.which(what, fields, against, size, elsewhere=elsewhere)]


def smallest_at(what: str, value: Any, axis: Axis, fields: Fields, size: int) -> Numbers:
    """Return at every place the smallest number of any cell of an axis, of which nothing else is known there."""
    named = Axis(tuple(v for v in axis.variables if isinstance(value, By) and v.name in value.columns))
    if not named.variables:
        return numbers_at(what, value, fields, size, elsewhere=True)
    everywhere = fields_of(named, np.arange(named.size))
    sides = [{column: levels for column, levels in where.items() if column in everywhere} for where, _ in value.cases]
    # Cells that the same cases fit have the same numbers.
    _, cells = np.unique([holds_at(what, side, everywhere, named.size) for side in sides], axis=1, return_index=True)
    smallest = np.full(size, math.inf)
    for cell in cells:
        own = {**fields, **fields_of(named, np.full(size, cell))}
        smallest = np.minimum(smallest, numbers_at(what, value, own, size, elsewhere=True))
    return smallest


def _case(case: Any) -> tuple[Where, Any]:
    what, expected = "each of the cases of By", "a pair (where, value)"
    pair = check.listed(what, case, expected)
    if len(pair) != 2:
        raise check.refused(what, expected, case)
    return where_of("where one of the cases of By holds", pair[0], _side), _value("each value in cases of By", pair[1])


def where_of(what: object, where: Any, side: Callable[[object, str, Any], Any] | None = None) -> Where:
    """Return where something holds: columns, and of each a level or several, or what ``side`` makes of them."""
    example = 'a mapping such as {"sex": "Male"}'
    given = check.mapping(what, where, example)
    if not given:
        raise check.refused(what, example, where)
    side = side or _levels
    return FrozenMap({check.column(what, column): side(what, column, levels) for column, levels in given.items()})


def _side(what: object, column: str, levels: Any) -> Any:
    """Return the levels of one column of a case, or the second group of a pair."""
    if column == AGAINST:
        return where_of(f"{what}: {AGAINST!r}, the second group,", levels)
    return _levels(what, column, levels)


def _levels(what: object, column: str, levels: Any) -> Any:
    """Return one level, or several."""
    if isinstance(levels, str | Mapping) or not isinstance(levels, Iterable):
        return check.level(f"{what}: {column!r}", levels)
    several = check.listed(f"{what}: {column!r}", levels, "a level or a list of levels")
    found = tuple(check.level(f"{what}: each level of {column!r}", level) for level in several)
    return tuple(sorted(found, key=repr)) if isinstance(levels, set | frozenset) else found


def _value(what: str, value: Any) -> Any:
    """Return a number, or a distribution: a number for each level; or a word, for others to refuse."""
    if isinstance(value, By):
        raise SpecError(f"{what} must be a plain value, not another By")
    if isinstance(value, str | bool | None):
        # Who is given this value says what it must be, and what it is called.
        return value
    if not isinstance(value, Mapping):
        return check.own_number(what, value)
    return FrozenMap({check.level(what, level): check.own_number(what, share) for level, share in value.items()})


def _fits(what: str, where: Where, fields: Fields, against: Fields | None, size: int) -> NDArray[np.bool_]:
    first = {column: levels for column, levels in where.items() if column != AGAINST}
    if AGAINST not in where:
        return holds_at(what, first, fields, size)
    if against is None:
        raise SpecError(f"{what}: a case of By has {AGAINST!r}, but nothing is held against another group here")
    second = where[AGAINST]
    shared = {name: field for name, field in fields.items() if name not in against}
    forward = holds_at(what, first, fields, size) & holds_at(what, second, against, size)
    swapped = holds_at(what, second, fields, size) & holds_at(what, first, {**shared, **against}, size)
    return forward | swapped


def holds_at(what: str, where: Where, fields: Fields, size: int) -> NDArray[np.bool_]:
    """Return at which places every named column has one of its levels."""
    fits = np.ones(size, dtype=bool)
    for column, levels in where.items():
        if column not in fields:
            hint = did_you_mean(column, fields)
            raise SpecError(f"{what} cannot depend on {column!r}; it may depend on {list(fields)}.{hint}")
        fits &= np.isin(fields[column].codes, codes_of(what, fields[column].variable, levels))
    return fits


def codes_of(what: str, variable: Variable, levels: Any) -> list[int]:
    """Return the codes of a level or of several; one that the column does not have is refused."""
    return [_code(what, variable, level) for level in (levels if isinstance(levels, tuple) else (levels,))]


def _code(what: str, variable: Variable, level: Any) -> int:
    code = variable.place(level)
    if code is not None:
        return code
    hint = did_you_mean(level, variable.levels)
    raise SpecError(
        f"{what} names {variable.name}={level!r}, which does not exist; the levels of {variable.name!r} are "
        f"{list(variable.levels)}.{hint}"
    )


def _words(where: Where) -> str:
    return ", ".join(f"{column}={levels!r}" for column, levels in where.items())
