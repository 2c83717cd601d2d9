"""Arrays and what is done with them everywhere: sums by group, and looking cells up."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Cells = NDArray[np.int64]
Flags = NDArray[np.bool_]


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
