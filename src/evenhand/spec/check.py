"""The checks that every statement makes of the numbers and words it is given."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any

from evenhand.errors import SpecError, did_you_mean

LARGEST = 1e300
"""A whole number may have any number of digits; one beyond this is no real one."""

LARGEST_COST = 1e9
"""Beside costs of about one, solvers take a larger one for noise, or end."""


def number(what: str, value: Any, *, low: float = -math.inf, high: float = math.inf) -> float:
    """Return a number within [low, high], or say what is wrong with it."""
    if isinstance(value, bool) or not isinstance(value, int | float) or value != value:
        raise SpecError(f"{what} must be a number, not {value!r}")
    if isinstance(value, int) and abs(value) > LARGEST:
        # Python writes out neither its digits, which may be thousands, nor how many there are.
        raise SpecError(f"{what} must be a number from {-LARGEST:.0e} to {LARGEST:.0e}")
    if value < low:
        raise SpecError(f"{what} must be at least {low:g}, not {value:g}")
    if value > high:
        raise SpecError(f"{what} must be at most {high:g}, not {value:g}")
    return float(value)


def finite(what: str, value: Any, *, low: float = -math.inf) -> float:
    """Return a finite number of at least ``low``."""
    checked = number(what, value, low=low)
    if math.isinf(checked):
        raise SpecError(f"{what} must be finite, not {value}")
    return checked


def cost(what: str, value: Any) -> float:
    """Return what a change costs: a number that a solver can weigh, or infinity for a change that is forbidden."""
    checked = number(what, value, low=0)
    if LARGEST_COST < checked < math.inf:
        raise SpecError(f"{what} must be at most {LARGEST_COST:g}, not {checked:g}; a change may also be forbidden")
    return checked


def level(what: str, value: Any) -> Any:
    """Return one level of a column: a plain value, not a list or a table."""
    if not isinstance(value, Hashable) or isinstance(value, tuple | Mapping):
        raise SpecError(f"{what} must be one level: a string, a number, true or false, not {value!r}")
    return value


def one_of(what: str, value: Any, choices: Iterable[Any]) -> None:
    """Refuse a word that is not among the choices, and suggest the nearest."""
    listed = list(choices)
    if value not in listed:
        raise SpecError(f"{what} must be one of {listed}, not {value!r}.{did_you_mean(value, listed)}")
