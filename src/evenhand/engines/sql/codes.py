"""A column's level as an expression of its value: the same number that :mod:`evenhand.tables` finds, null for none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Enum
from functools import reduce

from evenhand.data.domain import Axis, Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.engines.sql.dialects import Dialect
from evenhand.engines.sql.leaves import LEAF
from evenhand.tables import blank_numbers, canonical

LARGEST_EXACT = 2**53
"""Real numbers hold all whole ones up to this."""

LARGEST_WHOLE = 10**16
"""Python writes whole real numbers below this with all their digits, and so can a query."""


class Kind(Enum):
    """What a column holds."""

    TEXT = "texts"
    NUMBER = "numbers"
    TRUTH = "booleans"

    @classmethod
    def of(cls, variable: Variable) -> Kind:
        """Return what the column of a variable holds."""
        if variable.coding is not None and variable.coding.numeric:
            return cls.NUMBER
        value = next(iter(variable.values), "")
        return cls.TEXT if isinstance(value, str) else cls.TRUTH if isinstance(value, bool) else cls.NUMBER


def missing(sql: Dialect, variable: Variable) -> str:
    """Say whether a row has no value: null, a word that stands for it, or a number that is none."""
    column = sql.name(variable.name)
    tests = [f"{column} IS NULL"]
    if Kind.of(variable) is Kind.NUMBER:
        tests.append(sql.is_nan(column))
    elif variable.always_missing:
        tests.append(f"({sql.is_real(column)} AND lower({sql.cast(column, 'text')}) = 'nan')")
    # Values of the column's own kind that stand for a missing one, however they are written.
    kind, blanks = Kind.of(variable), list[Value](dict.fromkeys(map(canonical, variable.blanks)))
    if kind is Kind.NUMBER:
        blanks = list(dict.fromkeys(blank_numbers(variable)))
    elif kind is Kind.TRUTH:
        blanks = [truth for truth in (False, True) if str(truth) in blanks]
    if blanks:
        tests.append(f"{_compared(sql, variable)} IN ({_listed(sql, blanks)})")
    return f"({' OR '.join(tests)})"


def code(sql: Dialect, variable: Variable) -> str:
    """Return a row's code among the levels, null where its value is none of them."""
    if not variable.is_column:
        # Found in a step before.
        return LEAF
    first = f"WHEN {missing(sql, variable)} THEN {variable.missing if variable.has_missing else 'NULL'}"
    return f"CASE {first} {' '.join(_cases(sql, variable))} END"


def _cases(sql: Dialect, variable: Variable) -> Iterator[str]:
    column, kind = _compared(sql, variable), Kind.of(variable)
    if variable.coding is None:
        # The name of the level of missing values is a level too, for a text that reads like it.
        for number, level in enumerate(variable.levels):
            for value in _of_kind([level], kind):
                yield f"WHEN {column} = {sql.literal(value)} THEN {number}"
        return
    for case in variable.coding.cases():
        level = "NULL" if case.level == UNSEEN else case.level
        if case.below is not None:
            yield f"WHEN {column} < {sql.literal(case.below)} THEN {level}"
        elif case.among is not None:
            if own := _of_kind(case.among, kind):
                yield f"WHEN {column} IN ({_listed(sql, own)}) THEN {level}"
        else:
            yield f"ELSE {level}"
            return
    yield "ELSE NULL"


def _of_kind(values: Iterable[Value], kind: Kind) -> list[Value]:
    """Return the values that a column of a kind can hold; Python takes true for 1 and false for 0."""
    if kind is Kind.TEXT:
        return [value for value in values if isinstance(value, str)]
    numbers = [int(value) if isinstance(value, bool) else value for value in values if not isinstance(value, str)]
    return [bool(number) for number in numbers if number in (0, 1)] if kind is Kind.TRUTH else list(numbers)


def has_close_levels(variable: Variable) -> bool:
    """Whether whole numbers are levels that real ones round to others."""
    values = () if variable.coding is not None else variable.values
    return any(isinstance(value, int) and abs(value) > LARGEST_EXACT for value in values)


def own_text(sql: Dialect, variable: Variable) -> str:
    """Return the text of a value that has no name: of no level, or missing; null elsewhere."""
    column, kind = sql.name(variable.name), Kind.of(variable)
    text = sql.cast(column, "text")
    if kind is Kind.TRUTH:
        text = f"CASE WHEN {column} THEN 'True' ELSE 'False' END"
    elif kind is Kind.NUMBER:
        whole = sql.cast(sql.cast(sql.cast(column, "double"), "bigint"), "text")
        text = f"CASE WHEN {sql.is_real(column)} THEN {whole} || '.0' ELSE {text} END"
    return f"CASE WHEN {_nameless(sql, variable)} THEN {text} END"


def unwritable(sql: Dialect, variable: Variable) -> str | None:
    """Say where a value without a name is a real number that engines write in ways of their own; None: never."""
    if Kind.of(variable) is not Kind.NUMBER:
        return None
    column = sql.name(variable.name)
    number = sql.cast(column, "double")
    odd = f"{number} <> floor({number}) OR abs({number}) >= {sql.number(LARGEST_WHOLE)}"
    return f"{_nameless(sql, variable)} AND {sql.is_real(column)} AND ({odd})"


def _nameless(sql: Dialect, variable: Variable) -> str:
    """Say whether a row has a value, but none that a label names."""
    column = sql.name(variable.name)
    there = f"{column} IS NOT NULL"
    if Kind.of(variable) is Kind.NUMBER:
        there += f" AND NOT {sql.is_nan(column)}"
    level = code(sql, variable)
    none = f"({level}) IS NULL"
    if variable.has_missing:
        none = f"({none} OR {missing(sql, variable)})"
    return f"{there} AND {none}"


def _compared(sql: Dialect, variable: Variable) -> str:
    """Return a column as levels are compared with it."""
    column = sql.name(variable.name)
    if variable.coding is not None and variable.coding.numeric:
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
