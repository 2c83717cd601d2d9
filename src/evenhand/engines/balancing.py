"""Balanced draws of more rows than fit into memory: every row's rank among the draws of its stratum, in files.

Two numbers per row are kept: the row's stratum, and its own draw, which is then replaced by its rank among the
draws of the stratum. Ranks are found in portions of the range of draws, each of as many rows as memory holds: a row's
rank is its place in its portion, and the number of different draws of its stratum in the portions below. What ranks
become is made in memory, for strata are few.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO, Protocol

import numpy as np

from evenhand.arrays import Cells
from evenhand.kernel.balance import ranked
from evenhand.kernel.draws import DRAW_BITS
from evenhand.resources import current

SHARE = 1 / 8
"""How much of the memory the rows of a portion may take."""

BYTES_PER_ROW = 80
"""What it takes to sort one row of a portion."""

CHUNK = 1 << 20
"""Rows that are looked through at once."""


class Plan(Protocol):
    """What ranks become."""

    def draws(self, number: Cells, rank: Cells) -> Cells:
        """Return the draw of people of a stratum's number and a rank in it."""


@dataclass(frozen=True, eq=False)
class Ranked:
    """The files of every row's stratum and rank, how many rows there are, and how many ranks each stratum has."""

    strata: Path
    ranks: Path
    rows: int
    people: Cells

    def draws(self, plan: Plan, first: int, number: int) -> Cells:
        """Return the draws of some rows by a plan."""
        stratum = np.fromfile(self.strata, np.int32, number, offset=4 * first).astype(np.int64)
        return plan.draws(stratum, np.fromfile(self.ranks, np.int64, number, offset=8 * first))


def rank_rows(
    rows: Iterable[tuple[Cells, Cells]],
    folder: Path,
    progress: Callable[[str, float], None],
    settled: Callable[[], Cells | None] = lambda: None,
) -> Ranked:
    """Rank rows that come in batches of (stratum, draw); strata are numbered from 0 on.

    ``settled`` tells, once all rows were met, what every number of a stratum has become; None if it stays.
    """
    strata, ranks = folder / "strata", folder / "ranks"
    largest, total = -1, 0
    with strata.open("wb") as of_strata, ranks.open("wb") as of_draws:
        for stratum, draw in rows:
            _append(of_strata, stratum.astype(np.int32))
            _append(of_draws, draw.astype(np.int64))
            largest = max(largest, int(stratum.max(initial=-1)))
            total += len(stratum)
    if (become := settled()) is not None:
        _renumber(strata, become)
        largest = len(become) - 1
    people = np.zeros(largest + 1, dtype=np.int64)
    # Draws are uniform: equal portions of their range have as many rows each as fit into memory.
    portions = int(total * BYTES_PER_ROW // (current().memory * SHARE)) + 1
    edges = [2**DRAW_BITS * place // portions for place in range(portions + 1)]
    # A rank that was written must not be taken for a draw of a portion to come: it is smaller than any of these.
    assert total <= edges[1]
    for low, high in pairwise(edges):
        progress("balancing", low / 2**DRAW_BITS)
        at, stratum, draw = _found(strata, ranks, low, high)
        rank, more = ranked(stratum, draw, len(people))
        rank += people[stratum]
        people += more
        _write(ranks, at, rank)
    return Ranked(strata, ranks, total, people)


def _renumber(strata: Path, become: Cells) -> None:
    with strata.open("r+b") as file:
        for first in range(0, strata.stat().st_size // 4, CHUNK):
            chunk = become[np.fromfile(strata, np.int32, CHUNK, offset=4 * first)]
            file.seek(4 * first)
            _append(file, chunk.astype(np.int32))


def _found(strata: Path, ranks: Path, low: int, high: int) -> tuple[Cells, Cells, Cells]:
    """Return the rows of a portion: where they are, their strata and draws."""
    found, total = [], ranks.stat().st_size // 8
    for first in range(0, total, CHUNK):
        draw = np.fromfile(ranks, np.int64, CHUNK, offset=8 * first)
        stratum = np.fromfile(strata, np.int32, CHUNK, offset=4 * first)
        here = np.flatnonzero((draw >= low) & (draw < high))
        if len(here) < len(draw):
            stratum, draw = stratum[here], draw[here]
        found.append((first + here, stratum, draw))
    if not found:
        return np.zeros(0, np.int64), np.zeros(0, np.int32), np.zeros(0, np.int64)
    at, numbers, draws = (np.concatenate(each) for each in zip(*found, strict=True))
    return at, numbers, draws


def _write(ranks: Path, at: Cells, rank: Cells) -> None:
    with ranks.open("r+b") as file:
        for low in range(0, int(at[-1]) + 1 if len(at) else 0, CHUNK):
            here = slice(*np.searchsorted(at, [low, low + CHUNK]))
            chunk = np.fromfile(ranks, np.int64, CHUNK, offset=8 * low)
            chunk[at[here] - low] = rank[here]
            file.seek(8 * low)
            _append(file, chunk)


def _append(file: BinaryIO, numbers: Cells) -> None:
    # NumPy's own way does not say that the disk is full.
    file.write(np.ascontiguousarray(numbers).data)
