"""A sparse stochastic array: for each source row, the cells it may become and how likely each is.

Train mode has one row per source (d, x, y) and targets in X × Y; apply mode, eq. of section 3.4, has one row per
(d, x) and targets in X. Both are the same value here. Knows counts, not tables or constraints.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.kernel.draws import DRAW_BITS, thresholds

GUIDE_BITS = 6
"""A draw's leading bits, by which its target is nearly found."""

LARGEST_GUIDE = 1 << 24
"""More parts than this are not listed."""


@dataclass(frozen=True, eq=False)
class Kernel:
    """Rows of probabilities over target cells.

    Attributes
    ----------
    starts : array of int
        Row i holds the entries ``starts[i]`` up to ``starts[i + 1]``.
    targets : array of int
        The target cell of each entry, ascending within a row.
    probability : array of float
        The probability of each entry; positive, and each row sums to one.
    """

    starts: Cells
    targets: Cells
    probability: Numbers

    def __len__(self) -> int:
        return len(self.starts) - 1

    @cached_property
    def rows(self) -> Cells:
        return np.repeat(np.arange(len(self)), np.diff(self.starts))

    @cached_property
    def thresholds(self) -> Cells:
        """Cumulated probabilities of each row as integers, the last exactly 2**52."""
        return thresholds(self.probability, self.starts, self.rows)

    @cached_property
    def guide(self) -> Cells:
        """For each row and each of 2**GUIDE_BITS equal parts of the range of draws, the first entry that can be hit."""
        parts = 1 << GUIDE_BITS
        width = 1 << (DRAW_BITS - GUIDE_BITS)
        # An entry is passed in every part that begins at its threshold or later.
        passed_from = -(-self.thresholds // width)
        size = parts + 1
        passed = np.bincount(self.rows * size + passed_from, minlength=len(self) * size).reshape(-1, size)
        return (self.starts[:-1, None] + np.cumsum(passed[:, :parts], axis=1)).ravel()

    def pick(self, rows: Cells, draws: Cells) -> Cells:
        """Return the target of each draw: the first whose threshold lies above it."""
        return self.targets[self.hit(rows, draws)]

    def hit(self, rows: Cells, draws: Cells) -> Cells:
        """Return the entry that each draw hits: begin where the guide says, and go on while the threshold is passed."""
        if len(self) << GUIDE_BITS > LARGEST_GUIDE:
            # A guide would be larger than so many rows are: search each row by halves.
            low, high = self.starts[rows], self.starts[rows + 1] - 1
            while np.any(low < high):
                middle = (low + high) // 2
                below = draws < self.thresholds[middle]
                high = np.where(below, middle, high)
                low = np.where(below, low, middle + 1)
            return low
        entry = look_up(self.guide, (rows << GUIDE_BITS) + (draws >> (DRAW_BITS - GUIDE_BITS)))
        late = np.flatnonzero(draws >= look_up(self.thresholds, entry))
        while len(late):
            entry[late] += 1
            late = late[draws[late] >= self.thresholds[entry[late]]]
        return entry

    def hit_one(self, row: int, draw: int) -> int:
        """Return the entry that one draw hits, as :meth:`hit` does for many."""
        first, end = self.starts.item(row), self.starts.item(row + 1)
        return first + int(self.thresholds[first:end].searchsorted(draw, side="right"))

    def entries(self, rows: Cells) -> tuple[Cells, Cells]:
        """List every entry of the given rows: which of ``rows`` it belongs to, and its position."""
        sizes = np.diff(self.starts)[rows]
        asked = np.repeat(np.arange(len(rows)), sizes)
        first = np.cumsum(sizes) - sizes
        return asked, np.arange(len(asked)) - first[asked] + self.starts[rows][asked]


def look_up(table: NDArray[Any], at: Cells) -> NDArray[Any]:
    """Return values of a table by positions that are known to lie in it, which NumPy then need not check first."""
    return np.take(table, at, mode="clip")


def identity(targets: Cells) -> Kernel:
    """Return the kernel that keeps each row at the given cell."""
    return Kernel(np.arange(len(targets) + 1), targets, np.ones(len(targets)))


def unchanged(counts: Counts) -> Kernel:
    """Return the kernel that keeps everybody as they are."""
    return identity(counts.domain.xy(counts.x, counts.y))


def gather(rows: Cells, targets: Cells, probability: Numbers, size: int) -> Kernel:
    """Build a kernel from loose entries: equal targets of a row are added, and rows normalised once."""
    order = np.lexsort((targets, rows))
    rows, targets, probability = rows[order], targets[order], probability[order]
    new = np.ones(len(rows), dtype=bool)
    new[1:] = (np.diff(rows) != 0) | (np.diff(targets) != 0)
    probability = np.add.reduceat(probability, np.flatnonzero(new))
    rows, targets = rows[new], targets[new]
    total = sums(rows, probability, size)
    starts = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=size))])
    return Kernel(starts, targets, probability / total[rows])


def project(kernel: Kernel, counts: Counts, reads: str, writes: str = "xy") -> Kernel:
    """Return P(what is written | what is read): a mean over what is not read, a sum over what is not written.

    Its rows are those of ``counts.over(reads)``, its targets are numbers over the axes that are written. Apply mode,
    section 3.4, reads no outcome and writes none: p(x̂ | d, x) = Σ over y and ŷ of P(x̂, ŷ | d, x, y) p(y | x, d), the
    projection that reads ``"dx"`` and writes ``"x"``. A blind mapping, the same for every d, reads ``"xy"``, and where
    it is applied ``"x"``.
    """
    if (reads, writes) == ("dxy", "xy"):
        return kernel
    rows, domain = counts.over(reads), counts.domain
    targets = domain.number(writes, domain.split("xy", kernel.targets))
    mass = counts.given(reads)[kernel.rows] * kernel.probability
    return gather(rows.of_source[kernel.rows], targets, mass, len(rows.cells))


def joined(kernel: Kernel, more: Kernel) -> Kernel:
    """Return a kernel with the rows of another at its end."""
    return Kernel(
        np.concatenate([kernel.starts, kernel.starts[-1] + more.starts[1:]]),
        np.concatenate([kernel.targets, more.targets]),
        np.concatenate([kernel.probability, more.probability]),
    )
