"""How values are written for people: one format for each kind, one rule for what is infinite or undefined."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from evenhand.tolerances import ROUNDING

NONE = "–"
"""In place of a number that does not exist."""

JOINT = " · "
"""Between the levels that name a group, where a heading names the columns."""

MOST_LETTERS = 120
"""A longer text of the kind ``cut`` is cut; JSON has it whole."""

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


def four_digits(value: float) -> str:
    """Write a number as long as those below and above it in a table."""
    return f"{0.0 if abs(value) <= ROUNDING else value:.4f}"


def percent(value: float, digits: int = 1) -> str:
    """Write a share of one. What rounding left is taken off first, so that a half is written alike everywhere."""
    return f"{100 * round(value, 9):.{digits}f}%"


def chance(probability: float) -> str:
    """Write a probability: only what is certain is written as 0% or 100%.

    Examples
    --------
    >>> chance(0.2034), chance(0.0001), chance(0.0), chance(0.99999)
    ('20.3%', 'under 0.1%', '0%', 'over 99.9%')
    """
    if probability in (0.0, 1.0):
        return f"{probability:.0%}"
    if probability < 0.001:
        return "under 0.1%"
    return "over 99.9%" if probability > 0.999 else f"{probability:.1%}"


def cut(text: str) -> str:
    """Cut a text that nobody would read to its end, such as the lines of a user's distance, and say how long it is.

    Examples
    --------
    >>> cut("[" + "0.25, " * 1000 + "1]")[-30:]
    ', 0.25, 0.25,… (6,003 letters)'
    """
    return text if len(text) <= MOST_LETTERS else f"{text[:MOST_LETTERS]}… ({len(text):,} letters)"


FORMATS: dict[str, Callable[[Any], str]] = {
    "people": people,
    "weight": people,
    "rate": percent,
    "share": lambda value: percent(value, 2),
    "chance": chance,
    "cut": cut,
    "whole": lambda value: percent(value, 0),
    "ratio": lambda value: f"{value:.2f}×",
    "points": lambda value: f"{100 * value:.1f} points",
    "cost": four_digits,
    "distance": four_digits,
    "loss": lambda value: f"{value:.7f}",
    "number": number,
    "in_points": lambda value: f"{100 * value:.1f}",
    "signed": lambda value: f"{100 * value:+.1f}",
    "violation": lambda value: f"{value:.1e}" if value else "0",
    "fraction": lambda value: f"{value:.3f}",
    "interval": lambda ends: " to ".join(written(end, "rate") for end in ends),
}
"""How values of each kind are written; in sentences also percentages without digits, and
percentage points."""


def tick(value: float, step: float, kind: str = "number") -> str:
    """Write a number beside an axis, in as many digits as its distance to the next one needs.

    Examples
    --------
    >>> tick(0.25, 0.05, "rate"), tick(0.025, 0.025, "rate"), tick(1500, 500), tick(0.8, 0.2, "ratio"), tick(2e-6, 1e-6)
    ('25%', '2.5%', '1,500', '0.8×', '2e-06')
    """
    hundreds = kind in ("rate", "share", "whole", "points")
    value, step = (100 * value, 100 * step) if hundreds else (value, step)
    unit = {"ratio": "×", "points": " points"}.get(kind, "%" if hundreds else "")
    if step < PLAIN and value:
        return f"{value:.{max(3, math.ceil(math.log10(abs(value) / step)) + 2)}g}{unit}"
    digits = next((n for n in range(6) if math.isclose(round(step, n), step, rel_tol=1e-6)), 6)
    return f"{0.0 if abs(value) < step / 2 else value:,.{digits}f}{unit}"


def compact(value: Any, kind: str = "number", *, signed: bool = False) -> str:
    """Write a number where there is little room: percentages without digits, nor their sign.

    Examples
    --------
    >>> compact(0.426, "rate"), compact(-0.12, "rate", signed=True), compact(0.001, "rate"), compact(0.01234)
    ('43', '−12', '<1', '0.012')
    """
    if value is None or math.isnan(value) or math.isinf(value) or kind not in ("rate", "share", "points"):
        return written(value, kind) if kind != "number" or value is None or math.isnan(value) else f"{value:.2g}"
    whole = round(100 * round(value, 9))
    if signed:
        return f"{whole:+d}".replace("-", "−") if whole else "0"
    return "<1" if not whole and value > ROUNDING else f"{whole:d}"


def written(value: Any, kind: str = "text") -> str:
    """Write a value of a kind.

    Examples
    --------
    >>> written(0.5, "rate"), written(None, "rate"), written(math.inf, "ratio"), written(True, "flag"), written("a")
    ('50.0%', '–', 'infinite', 'yes', 'a')
    >>> written((0.25, 0.5), "interval"), written({"sex": "Male", "age": 3}, "group")
    ('25.0% to 50.0%', 'Male · 3')
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return NONE
    if kind == "flag" or isinstance(value, bool):
        return "yes" if value else "no"
    if kind == "cut":
        return cut(str(value))
    if kind == "group":
        return JOINT.join(map(str, value.values()))
    if kind == "text" or isinstance(value, str) or kind not in FORMATS:
        return str(value)
    if kind != "interval" and math.isinf(value):
        return "infinite" if value > 0 else "-infinite"
    return FORMATS[kind](value)
