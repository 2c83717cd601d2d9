"""Balanced draws of more rows than fit into memory (systematic sampling, as in ``draws.balanced_draws``).

Two numbers per row are kept in files: the row's source, and its own draw, which is then replaced by its rank among the
draws of the source. Ranks are found in portions of the range of draws, each of as many rows as memory holds: a row's
rank is its place in its portion, and the number of different draws of its source in the portions below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import BinaryIO

import numpy as np

from evenhand.arrays import Cells
from evenhand.kernel.draws import DRAW_BITS, keyed_draws
from evenhand.resources import current

SHARE = 1 / 8
"""How much of the memory the rows of a portion may take."""

BYTES_PER_ROW = 80
"""What it takes to sort one row of a portion."""

CHUNK = 1 << 20
"""Rows that are looked through at once."""


@dataclass(frozen=True, eq=False)
class Balanced:
    """Evenly spaced draws of every row: the files of its source and rank, and for each source how many ranks it has."""

    sources: Path
    ranks: Path
    size: Cells
    start: Cells

    def draws(self, first: int, number: int) -> Cells:
        """Return the draws of some rows: (rank · 2^52 + start) / size, rounded down."""
        source = np.fromfile(self.sources, np.int32, number, offset=4 * first)
        rank = np.fromfile(self.ranks, np.int64, number, offset=8 * first)
        whole, rest = np.divmod(2**DRAW_BITS, np.maximum(self.size, 1))
        return np.asarray(rank * whole[source] + (rank * rest[source] + self.start[source]) // self.size[source])


def balanced(
    rows: Iterable[tuple[Cells, Cells]],
    folder: Path,
    number: int,
    seed: int,
    mode: str,
    progress: Callable[[str, float], None],
) -> Balanced:
    """Balance rows that come in batches of (source, draw); ``number`` is how many sources there can be."""
    sources, ranks = folder / "sources", folder / "ranks"
    seen, total = np.zeros(number, dtype=bool), 0
    with sources.open("wb") as of_sources, ranks.open("wb") as of_draws:
        for source, draw in rows:
            _append(of_sources, source.astype(np.int32))
            _append(of_draws, draw.astype(np.int64))
            seen[source] = True
            total += len(source)
    size = np.zeros(number, dtype=np.int64)
    # Draws are uniform: equal portions of their range have as many rows each as fit into memory.
    portions = int(total * BYTES_PER_ROW // (current().memory * SHARE)) + 1
    edges = [2**DRAW_BITS * place // portions for place in range(portions + 1)]
    # A rank that was written must not be taken for a draw of a portion to come: it is smaller than any of these.
    assert total <= edges[1]
    for low, high in pairwise(edges):
        progress("balancing", low / 2**DRAW_BITS)
        _rank(sources, ranks, low, high, size)
    start = np.zeros(number, dtype=np.int64)
    start[seen] = keyed_draws(map(str, np.flatnonzero(seen).tolist()), seed, mode, purpose="start")
    return Balanced(sources, ranks, size, start)


def _rank(sources: Path, ranks: Path, low: int, high: int, size: Cells) -> None:
    """Replace the draws of a portion by their ranks, and add the number of different ones to each source's size."""
    at, source, draw = _found(sources, ranks, low, high)
    order = np.argsort(draw)
    # Few sources have numbers of two bytes, which are sorted without comparing them.
    order = order[np.argsort(source[order].astype(np.min_scalar_type(len(size))), kind="stable")]
    source, draw = source[order], draw[order]
    first = np.concatenate([[True], np.diff(source) != 0])[: len(source)]
    new = first | np.concatenate([[True], np.diff(draw) != 0])[: len(draw)]
    running = np.cumsum(new) - 1
    begun = np.flatnonzero(first)
    rank = np.empty(len(source), dtype=np.int64)
    rank[order] = running - np.repeat(running[begun], np.diff([*begun, len(source)])) + size[source]
    size += np.bincount(source[new], minlength=len(size))
    _write(ranks, at, rank)


def _found(sources: Path, ranks: Path, low: int, high: int) -> tuple[Cells, Cells, Cells]:
    """Return the rows of a portion: where they are, their sources and draws."""
    found, total = [], ranks.stat().st_size // 8
    for first in range(0, total, CHUNK):
        draw = np.fromfile(ranks, np.int64, CHUNK, offset=8 * first)
        here = np.flatnonzero((draw >= low) & (draw < high))
        source = np.fromfile(sources, np.int32, CHUNK, offset=4 * first)
        found.append((first + here, source[here].astype(np.int64), draw[here]))
    if not found:
        return (np.zeros(0, np.int64),) * 3
    at, sources_, draws = (np.concatenate(each) for each in zip(*found, strict=True))
    return at, sources_, draws


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
