"""A column's level as an expression of its value: the same number that :mod:`evenhand.tables` finds, null for none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import reduce

from evenhand.coding import UNSEEN, Cuts, Merges
from evenhand.domain import Axis, Value, Variable
from evenhand.engines.sql.dialects import Dialect


class Kind(Enum):
    """What a column holds."""

    TEXT = "text"
    NUMBER = "number"
    TRUTH = "truth"

    @classmethod
    def of(cls, variable: Variable) -> Kind:
        """Return what the levels of a variable, or the values that they stand for, are."""
        return next(map(cls.of_value, _values(variable)), cls.TEXT)

    @classmethod
    def of_value(cls, value: Value) -> Kind:
        """Return what one value is."""
        if isinstance(value, str):
            return cls.TEXT
        return cls.TRUTH if isinstance(value, bool) else cls.NUMBER


def _values(variable: Variable) -> Iterator[Value]:
    coding = variable.coding
    if isinstance(coding, Cuts):
        yield from coding.edges
    elif isinstance(coding, Merges):
        yield from (value for values in coding.members for value in values)
        yield from (value for stock in coding.stock for value in stock.values)
    else:
        yield from (level for code, level in enumerate(variable.levels) if code != variable.missing)


def missing(sql: Dialect, variable: Variable) -> str:
    """Say whether a row has no value: null, a word that stands for it, or a number that is none."""
    column, kind = sql.name(variable.name), Kind.of(variable)
    tests = [f"{column} IS NULL"]
    if kind is Kind.NUMBER:
        tests.append(sql.is_nan(column))
    blanks = [value for value in variable.blanks if Kind.of_value(value) is kind]
    if blanks:
        tests.append(f"{_compared(sql, variable)} IN ({_listed(sql, blanks)})")
    return f"({' OR '.join(tests)})"


def code(sql: Dialect, variable: Variable) -> str:
    """Return a row's code among the levels, null where its value is none of them."""
    has_level = variable.missing not in (None, UNSEEN)
    first = f"WHEN {missing(sql, variable)} THEN {variable.missing if has_level else 'NULL'}"
    return f"CASE {first} {' '.join(_cases(sql, variable))} END"


def _cases(sql: Dialect, variable: Variable) -> Iterator[str]:
    column, coding = _compared(sql, variable), variable.coding
    if isinstance(coding, Cuts):
        yield from (f"WHEN {column} < {sql.number(edge)} THEN {code}" for code, edge in enumerate(coding.edges))
        yield f"ELSE {len(coding.edges)}"
    elif isinstance(coding, Merges):
        for number, values in enumerate(coding.members):
            if values and number != coding.rest:
                yield f"WHEN {column} IN ({_listed(sql, values)}) THEN {number}"
        yield "ELSE NULL" if coding.rest is None else f"ELSE {coding.rest}"
    else:
        for number, level in enumerate(variable.levels):
            if number != variable.missing:
                yield f"WHEN {column} = {sql.literal(level)} THEN {number}"


def _compared(sql: Dialect, variable: Variable) -> str:
    """Return a column as levels are compared with it."""
    column = sql.name(variable.name)
    if isinstance(variable.coding, Cuts):
        return sql.cast(column, "double")
    return sql.exact(column) if Kind.of(variable) is Kind.TEXT else column


def _listed(sql: Dialect, values: Iterable[Value]) -> str:
    return ", ".join(sql.literal(value) for value in values)


def number(sql: Dialect, axes: Iterable[Axis]) -> str:
    """Return the number of a row's cell over several axes, null where a value is no level."""
    variables = [variable for axis in axes for variable in axis.variables]
    parts = [(len(variable), code(sql, variable)) for variable in variables]
    first = sql.cast(parts[0][1], "bigint")
    return reduce(lambda joined, part: f"({joined}) * {part[0]} + {part[1]}", parts[1:], first)
