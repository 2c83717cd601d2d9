"""The checks that every statement and every public function makes of what it is given.

Each takes what to call the argument and its value, and returns the value in Python's own type, or raises a
:class:`SpecError` that names the argument, shows the value and says what is expected. A value is never compared, tested
or shown before its type is known: arrays have no truth, pandas' NA has none either, and some values cannot be shown.
"""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence, Sized
from datetime import date
from functools import partial
from numbers import Integral, Rational, Real
from typing import Annotated, Any

from evenhand.errors import SpecError, did_you_mean

LONGEST_SHOWN = 80
"""More of a value's text says no more about what is wrong with it."""

LARGEST = sys.float_info.max

SMALLEST = sys.float_info.min
"""The smallest number whose inverse is one."""

LARGEST_SEED = 2**4096
"""A seed is written out, and longer numbers are refused by Python itself."""

MOST = 2**63 - 1
"""The largest whole number that an array holds."""

LARGEST_COST = 1e9
"""Beside costs of about one, solvers take a larger one for noise, or end."""


def shown(value: Any) -> str:
    """Return a value as errors show it: on one line, short, whatever it is.

    Examples
    --------
    >>> shown("a"), shown(10**400)
    ("'a'", '1000000000000000000000000000000000000000…0000000000000000000000000000000000000000')
    """
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if isinstance(value, Sized) and not isinstance(value, str | bytes | list | tuple | Mapping | set | frozenset):
        # A table or an array is told by its kind, not by its rows.
        return f"a value of type {type(value).__name__}"
    try:
        text = " ".join(repr(value).split())
    except Exception:
        return f"a value of type {type(value).__name__}"
    half = LONGEST_SHOWN // 2
    return text if len(text) <= LONGEST_SHOWN else f"{text[:half]}…{text[-half:]}"


def refused(what: object, expected: object, value: Any) -> SpecError:
    """Return the error that says what an argument must be, and what it is."""
    return SpecError(f"{what} must be {expected}, not {shown(value)}")


def own_number(what: object, value: Any, *, low: float = -math.inf, high: float = math.inf) -> int | float:
    """Return a number within [low, high] in Python's own type, whole numbers as such, or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise refused(what, "a number", value)
    number = int(value) if isinstance(value, Integral) else _real(what, value)
    if math.isnan(_real(what, number)):
        raise refused(what, "a number", value)
    if number < low:
        raise SpecError(f"{what} must be at least {low:g}, not {number:g}")
    if number > high:
        raise SpecError(f"{what} must be at most {high:g}, not {number:g}")
    return number


def _real(what: object, value: Any) -> float:
    try:
        return float(value)
    except (OverflowError, ValueError, TypeError):
        raise refused(what, "a number that a computer can hold", value) from None


def number(what: object, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a number within [low, high], or say what is wrong with it."""
    return float(own_number(what, value, low=low, high=high))


def bound(what: object, value: Any) -> float:
    """Return a bound or a limit: at least zero, and if more, then so that others can be divided by it."""
    checked = number(what, value, low=0)
    if 0 < checked < SMALLEST:
        raise SpecError(f"{what} must be 0 or a number that can be divided by, not {checked:g}")
    return checked


def finite(what: object, value: Any, *, low: float = -math.inf) -> float:
    """Return a finite number of at least ``low``."""
    checked = number(what, value, low=low)
    if math.isinf(checked):
        raise SpecError(f"{what} must be finite, not {value}")
    return checked


def share(what: object, value: Any) -> float:
    """Return a number strictly between 0 and 1."""
    checked = number(what, value)
    if not 0 < checked < 1:
        hint = f"; write {checked / 100:g}" if 2 <= checked < 100 else ""
        raise SpecError(f"{what} must be between 0 and 1, such as 0.95, not {checked:g}{hint}")
    return checked


def cost(what: object, value: Any, *, forbids: bool = True) -> int | float:
    """Return what a change costs: a number that a solver can weigh, or infinity where that ``forbids`` a change."""
    checked = own_number(what, value, low=0)
    if not forbids:
        finite(what, value)
    if LARGEST_COST < checked < math.inf:
        raise SpecError(f"{what} must be at most {LARGEST_COST:g}, not {checked:g}; a change may also be forbidden")
    return checked


def whole(what: object, value: Any, *, low: int = 0, high: int = MOST) -> int:
    """Return a whole number within [low, high]; a real one that is whole will do."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise refused(what, "a whole number", value)
    checked = own_number(what, value)
    if math.isinf(checked) or checked != int(checked):
        raise refused(what, "a whole number", value)
    if not low <= checked <= high:
        side = f"at least {low}" if checked < low else f"at most {high}"
        raise refused(what, f"a whole number of {side}", value)
    return int(checked)


def seed(what: object, value: Any, *, or_none: bool = False) -> int:
    """Return the seed of draws: a whole number of at least zero, of any size."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < LARGEST_SEED:
        raise refused(what, "a whole number of at least 0" + ", or None for fresh draws" * or_none, value)
    return int(value)


def flag(what: object, value: Any) -> bool:
    """Return true or false, Python's or NumPy's."""
    if not _is_flag(value):
        raise refused(what, "true or false", value)
    return bool(value)


def _is_flag(value: Any) -> bool:
    # NumPy is not imported for this: whoever gives a value of its has done so.
    return isinstance(value, bool) or (type(value).__module__ == "numpy" and type(value).__name__ in ("bool", "bool_"))


def text(what: object, value: Any) -> str:
    """Return a text that can be written to a file."""
    if not isinstance(value, str):
        raise refused(what, "a text", value)
    try:
        value.encode()
    except UnicodeEncodeError:
        raise refused(what, "a text of whole characters, not halves of them", value) from None
    return str(value)


def column(what: object, value: Any) -> str:
    """Return the name of a column."""
    if not isinstance(value, str):
        raise refused(what, "one column name", value)
    return text(what, value)


def listed(what: object, value: Any, expected: object) -> tuple[Any, ...]:
    """Return the entries of a list, an array or anything else that has them one by one, unlike a text or a mapping."""
    if isinstance(value, str | bytes | bytearray | type | Mapping) or not isinstance(value, Iterable):
        raise refused(what, expected, value)
    try:
        return tuple(value.tolist() if hasattr(value, "tolist") else value)
    except Exception:
        raise refused(what, expected, value) from None


def columns(what: object, value: Any) -> tuple[str, ...]:
    """Return the names of columns."""
    if isinstance(value, str):
        raise SpecError(f"{what} must be a list of column names; write [{shown(value)}]")
    names = listed(what, value, "a list of column names")
    if not names:
        raise SpecError(f"{what} must name at least one column")
    for name in names:
        if not isinstance(name, str):
            number = isinstance(name, int) and not isinstance(name, bool)
            hint = f"; write {str(name)!r}, and frame.rename(columns=str)" if number else ""
            raise SpecError(f"{what} must list column names, which are texts, not {shown(name)}{hint}")
    return tuple(text(what, name) for name in names)


def mapping(what: object, value: Any, expected: str) -> dict[Any, Any]:
    """Return a mapping as one of Python's own."""
    if not isinstance(value, Mapping):
        raise refused(what, expected, value)
    return dict(value)


def level(what: object, value: Any) -> Any:
    """Return one level of a column: a plain value, not a list or a table, and nothing that stands for no value."""
    if isinstance(value, str):
        return text(what, value)
    if _is_flag(value):
        return bool(value)
    if isinstance(value, Real) and (not isinstance(value, Rational) or isinstance(value, Integral)):
        return own_number(what, value)
    if isinstance(value, date) and value == value:
        return value
    raise refused(what, "one level: a string, a number, true or false", value)


def one_of(what: object, value: Any, choices: Iterable[Any]) -> None:
    """Refuse what is not among the choices: words, None, true or false; and suggest the nearest."""
    words = list(choices)
    if not (value is None or isinstance(value, bool | str)) or value not in words:
        hint = did_you_mean(value, words) if isinstance(value, str) else ""
        raise SpecError(f"{what} must be one of {words}, not {shown(value)}.{hint}")


def kind(what: object, value: Any, kinds: type | tuple[type, ...], expected: str) -> None:
    if not isinstance(value, kinds):
        raise refused(what, expected, value)


def function(what: object, value: Any, takes: int | None = None) -> Callable[..., Any]:
    """Return what can be called, with so many arguments if a number is given."""
    expected = "a function" if takes is None else f"a function of {takes} argument{'s' * (takes != 1)}"
    if not callable(value):
        raise refused(what, expected, value)
    if takes is not None:
        # Few calls have a function among their arguments, and every command would wait for this module.
        from inspect import signature

        try:
            known = signature(value)
        except (TypeError, ValueError):  # Some functions written in C say nothing of their arguments.
            known = None
        try:
            if known is not None:
                known.bind(*range(takes))
        except TypeError:
            raise refused(what, expected, value) from None
    found: Callable[..., Any] = value
    return found


def progress(value: Any) -> Callable[[str, float], None] | None:
    """Return what is told of progress, if anybody is: a function of the stage and of the share that is done."""
    what = "progress, which is told the stage and the share that is done,"
    if isinstance(value, type):
        raise refused(what, "a function", value)
    return None if value is None else function(what, value, takes=2)


def path(what: object, value: Any, expected: str = "a path") -> str:
    """Return the path of a file or folder."""
    try:
        found = os.fspath(value)
    except Exception:
        found = None
    if not isinstance(found, str) or not found:
        raise refused(what, expected, value)
    if "\0" in found:
        raise refused(what, f"{expected}, without a NUL, which no name of a file can hold", value)
    try:
        # Names of files may hold halves of characters, but only those that the system itself gives.
        os.fsencode(found)
    except UnicodeEncodeError:
        raise refused(what, f"{expected}, in whole characters, not halves of them", value) from None
    return found


Bound = Annotated[float, bound]
Nonnegative = Annotated[float, partial(finite, low=0)]
Probability = Annotated[float, partial(number, low=0, high=1)]
Share = Annotated[float, share]
Positive = Annotated[int, partial(whole, low=1)]
Column = Annotated[str, column]
Columns = Annotated[Sequence[str], columns]
"""The types of fields of records, with what :mod:`evenhand.records` checks of them."""
