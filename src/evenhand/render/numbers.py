"""How values are written for people: one format for each kind, one rule for what is infinite or undefined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from evenhand.tolerances import ROUNDING

NONE = "–"
"""In place of a number that does not exist."""

PLAIN = 1e-4
"""Smaller numbers are written as powers of ten."""


def number(value: float, digits: int = 4) -> str:
    """Write a number in few digits.

    Examples
    --------
    >>> number(1234567.0), number(0.25), number(12.34567), number(1e-12), number(2.5e-7)
    ('1,234,567', '0.25', '12.35', '0', '2.5e-07')
    """
    if abs(value) <= ROUNDING:
        return "0"
    if abs(value) >= 10 ** (digits - 1) or float(value).is_integer():
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def people(value: float) -> str:
    """Write an expected number of people.

    Examples
    --------
    >>> people(0), people(0.4), people(1234.5)
    ('0', 'under 1', '1,234')
    """
    return "under 1" if ROUNDING < value < 1 else f"{value:,.0f}"


def percent(value: float, digits: int = 1) -> str:
    """Write a share of one. What rounding left is taken off first, so that a half is written alike everywhere."""
    return f"{100 * round(value, 9):.{digits}f}%"


FORMATS: dict[str, Callable[[Any], str]] = {
    "people": people,
    "rate": percent,
    "share": lambda value: percent(value, 2),
    "whole": lambda value: percent(value, 0),
    "ratio": lambda value: f"{value:.2f}×",
    "points": lambda value: f"{100 * value:.1f} points",
    "cost": lambda value: f"{0.0 if abs(value) <= ROUNDING else value:.4f}",
    "loss": lambda value: f"{value:.7f}",
    "number": number,
    "in_points": lambda value: f"{100 * value:.1f}",
    "signed": lambda value: f"{100 * value:+.1f}",
    "violation": lambda value: f"{value:.1e}",
}
"""How values of each kind are written; in sentences also percentages without digits, and percentage points."""


def written(value: Any, kind: str = "text") -> str:
    """Write a value of a kind.

    Examples
    --------
    >>> written(0.5, "rate"), written(None, "rate"), written(math.inf, "ratio"), written(True, "flag"), written("a")
    ('50.0%', '–', 'infinite', 'yes', 'a')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE
    if kind == "flag":
        return "yes" if value else "no"
    if kind == "text" or isinstance(value, str) or kind not in FORMATS:
        return str(value)
    if math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return FORMATS[kind](value)
