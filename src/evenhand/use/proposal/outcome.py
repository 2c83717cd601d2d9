"""How the outcome may change: any way, or only towards the one that is good for a person.

Knows the outcome's levels, and nothing of bounds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from evenhand.data.domain import Value
from evenhand.errors import DataError, did_you_mean
from evenhand.use.proposal.levels import Levelled


@dataclass(frozen=True)
class Direction:
    """Which outcome is good for a person, None where nobody said, and whether people may only move towards it.

    ``reach`` is the smallest bound that could be met in that way, where it was asked for and does not suffice.
    """

    favourable: Value | None = None
    only: bool = False
    reach: float | None = None


def level_called(column: Levelled, name: Any) -> Value:
    """Return the level of an outcome that somebody named, by itself or as a text."""
    for level in column.levels:
        if level == name or str(level) == str(name):
            return level
    listed = [str(level) for level in column.levels]
    raise DataError(
        f"the outcome {column.name!r} has no level {str(name)!r} that could be the favourable one; it has {listed}."
        f"{did_you_mean(str(name), listed)}"
    )


def one_way(column: Levelled, favourable: Value) -> dict[str, Any]:
    """Return a rule that lets people move towards an outcome only, as the keys of its TOML.

    Levels with an order are passed step by step; of several without one, only the favourable itself can be reached.
    """
    levels = column.levels
    ordinal = {"rule": "ordinal", "step": 1}
    if column.ordered and favourable == levels[-1]:
        return ordinal | {"down": False}
    if column.ordered and favourable == levels[0]:
        return ordinal | {"up": False}
    if len(levels) == 2:
        return ordinal | {"levels": [*(level for level in levels if level != favourable), favourable], "down": False}
    pairs = [(a, b) for a in levels for b in levels if a != b]
    return {
        "rule": "nominal",
        "cost": [{"from": a, "to": b, "cost": _cost(column, a, b, favourable)} for a, b in pairs],
    }


def _cost(column: Levelled, a: Value, b: Value, favourable: Value) -> float:
    """Return how many steps nearer a change comes; infinite if it does not, or passes the favourable level."""
    if not column.ordered:
        return 1 if b == favourable else math.inf
    start, end, goal = (column.levels.index(level) for level in (a, b, favourable))
    return abs(end - start) if start < end <= goal or goal <= end < start else math.inf


def any_way(column: Levelled) -> dict[str, Any]:
    """Return a rule that lets the outcome change in every direction."""
    return {"rule": "ordinal", "step": 1} if column.ordered else {"rule": "nominal", "cost": 1}
