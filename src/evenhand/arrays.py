"""Arrays and what is done with them everywhere: sums by group, looking cells up, telling rows apart, rounding up."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from evenhand.tolerances import ROUNDING

Numbers = NDArray[np.float64]
Cells = NDArray[np.int64]
Flags = NDArray[np.bool_]

LARGEST_KEY = 1 << 62
"""Rows are numbered by signed 64-bit integers."""


def positions(known: Cells, wanted: Cells) -> tuple[Flags, Cells]:
    """Look cells up in a sorted array: which were found, and where (0 where not)."""
    place = np.searchsorted(known, wanted)
    place[place == len(known)] = 0
    found = known[place] == wanted if len(known) else np.zeros(len(wanted), dtype=bool)
    return found, np.where(found, place, 0)


def sums(by: Cells, values: Numbers, size: int = 0) -> Numbers:
    """Add values up by the number of their group."""
    return np.asarray(np.bincount(by, weights=values, minlength=size), dtype=np.float64)


def quotient(p: Numbers, q: Numbers) -> Numbers:
    """Return p/q of rates; infinite over nothing, but nothing over nothing is one: it meets every bound.

    Examples
    --------
    >>> quotient([0.2, 0.2, 0.0, 0.0], [0.4, 0.0, 0.4, 0.0]).tolist()
    [0.5, inf, 0.0, 1.0]
    """
    p, q = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(q, dtype=float))
    ratio = np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0)
    # A rate found as a difference may come out just below zero.
    return np.where((p == 0) & (q <= 0), 1.0, ratio)


def alike(parts: Sequence[Cells]) -> tuple[Cells, Cells]:
    """Return the first row of each kind, in their order, and the kind of every row: those of one kind agree in all.

    Examples
    --------
    >>> first, kind = alike([np.array([1, 0, 1, 1]), np.array([2, 2, 2, 0])])
    >>> first.tolist(), kind.tolist()
    ([0, 1, 3], [0, 1, 0, 2])
    """
    number, size = np.zeros(len(parts[0]), dtype=np.int64), 1
    for part in parts:
        own = int(part.max(initial=0)) + 1
        if size * own > LARGEST_KEY:
            distinct, number = np.unique(number, return_inverse=True)
            size = len(distinct)
        number, size = number * own + part, size * own
    _, first, kind = np.unique(number, return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    return first[order], rank[kind]


def round_up(number: float, step: float = 0.0, digits: int | None = None) -> float:
    """Return a number that is easy to write and at least as large: a multiple of a step, or one of so many digits.

    Examples
    --------
    >>> round_up(0.21091, 1e-4), round_up(0.3 + 1e-16, 0.05), round_up(0.02041, digits=3), round_up(8.2, 1, digits=2)
    (0.211, 0.3, 0.0205, 9.0)
    """
    if number <= 0:
        return 0.0
    if digits is not None:
        step = max(step, 10.0 ** (math.floor(math.log10(number)) - digits + 1))
    # A number that exceeds a multiple by rounding alone is that multiple.
    return float(f"{math.ceil(number / step - ROUNDING) * step:.12g}")


MOST_DEALT = 10**9
"""More people than this are dealt in equal shares."""


def dealt(people: Cells, folds: int, seed: int) -> Iterator[Cells]:
    """Deal people to folds of equal size at random: yield how many of each kind every fold has."""
    rng, left = np.random.default_rng(seed), people.copy()
    for fold in range(folds):
        if people.sum() >= MOST_DEALT:
            yield (people * (fold + 1)) // folds - (people * fold) // folds
            continue
        size = int(left.sum()) // (folds - fold)
        held = rng.multivariate_hypergeometric(left, size, method="marginals").astype(np.int64)
        left = left - held
        yield held
