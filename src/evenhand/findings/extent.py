"""How much is shown at once, so that a page and its pictures can be read and printed whatever the table.

Who and what is left out is always said where it is shown; the summary has everything.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from evenhand.data.counts import Counts
from evenhand.data.domain import Value
from evenhand.findings.rates import shown_outcomes

MOST_OUTCOMES = 6

MOST_RATES = 48
"""How many rates, groups times outcomes, are shown at once."""

MOST_DOWN, MOST_ACROSS = 36, 30
"""How many rows and columns of cells a panel has."""

MOST_LINES = 60
"""How many rows of cells there are in all the panels below one another."""


def outcomes_drawn(counts: Counts) -> list[Value]:
    """Return the outcomes whose rates are shown, in their order: of those worth showing, the commonest."""
    levels, place = shown_outcomes(counts.domain), counts.domain.shown_outcomes
    kept = np.sort(np.argsort(-counts.outcome[list(place)], kind="stable")[:MOST_OUTCOMES])
    return [levels[at] for at in kept]


def groups_drawn(outcomes: int) -> int:
    """Return how many groups have the rates of so many outcomes shown."""
    return MOST_RATES // max(1, outcomes)


def foremost(worth: Mapping[str, float], most: int) -> set[str]:
    """Return at most so many names, those worth most.

    Examples
    --------
    >>> sorted(foremost({"a": 1, "b": 3, "c": 2}, 2))
    ['b', 'c']
    """
    return set(sorted(worth, key=lambda name: -worth[name])[:most])


def totals(rows: Iterable[Mapping[str, Any]], name: str, value: str) -> dict[str, float]:
    """Return the sum of one field for every value of another.

    Examples
    --------
    >>> totals([{"n": "a", "p": 1}, {"n": "b", "p": 2}, {"n": "a", "p": 3}], "n", "p")
    {'a': 4.0, 'b': 2.0}
    """
    found: dict[str, float] = {}
    for row in rows:
        found[row[name]] = found.get(row[name], 0.0) + float(row[value])
    return found
