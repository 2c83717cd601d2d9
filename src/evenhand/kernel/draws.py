"""Where randomness comes from: a draw is an integer of 52 bits per row, by position or by key.

By position: row i of a table uses the i-th number of PCG64's raw stream for (seed, mode). By key: the first 52 bits of
the MD5 of the UTF-8 text ``mode:seed:key``, so that a person gets the same draw in any order, in any table, on any
engine. Balanced, in apply mode: systematic sampling of the rows that share a source (train mode: ``kernel.balance``).
Knows arrays and texts, not tables.

Examples
--------
The person "p-17" in apply mode with seed 0: MD5 of ``apply:0:p-17`` begins with the 13 hexadecimal digits of

>>> f"{keyed_draws(['p-17'], 0, 'apply')[0]:013x}"
'9c5e83335086e'

which is a share of 0.611 of the range; the target is the first, in the domain's order, whose cumulated probability is
larger.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Cells, Numbers

if TYPE_CHECKING:
    from evenhand.kernel.md5 import Texts

SALT = 0x6576656E68616E64
"""Sets draws by position apart from all others with the same seed."""

MODES = ("release", "apply")

DRAW_BITS = 52
"""A draw is an integer of this many bits; thresholds end at exactly two to this power."""


def seeded_draws(seed: int, size: int, mode: str, *, purpose: str = "", first: int = 0) -> Cells:
    """Return draws by position from PCG64's raw stream, which is the same in every version of NumPy.

    The seed is mixed with the mode and with a number of our own: a plain PCG64(seed) would repeat the very numbers from
    which somebody may have made, shuffled or split the table with the same seed, and the lottery would not be one.

    Parameters
    ----------
    seed, size, mode : int, int, str
        For ``size`` rows of a table that is released or applied with ``seed``.
    purpose : str
        A stream of its own, for a second draw of the same row: the column that is restored.
    first : int
        The position of the first row, where a table comes in pieces.
    """
    mixed = np.random.SeedSequence([seed, SALT, MODES.index(mode), *purpose.encode()])
    generator = np.random.PCG64(mixed).advance(first)
    raw = generator.random_raw(size)
    raw >>= np.uint64(64 - DRAW_BITS)
    return raw.view(np.int64)


def common_words(seed: int, mode: str) -> np.random.PCG64:
    """Return the raw stream of 64-bit words for what is drawn for all rows of a table together."""
    # No purpose is a text with a byte of 256, so no column is restored by these numbers.
    return np.random.PCG64(np.random.SeedSequence([seed, SALT, MODES.index(mode), 256]))


def keyed_draws(keys: Iterable[str] | Texts, seed: int, mode: str, *, purpose: str = "") -> Cells:
    """Return draws by key: the first 52 bits of MD5 of ``mode:seed:key``, or of ``mode.purpose:seed:key``."""
    from evenhand.kernel.md5 import Texts, leading_bits

    start = _before_key(seed, mode, purpose)
    return leading_bits(start, keys if isinstance(keys, Texts) else Texts.of(keys), DRAW_BITS)


def keyed_draw(key: str, seed: int, mode: str, *, purpose: str = "") -> int:
    """Return the draw of one key, the same as among many.

    Examples
    --------
    >>> [keyed_draw("p-17", 0, "apply")] == keyed_draws(["p-17"], 0, "apply").tolist()
    True
    """
    from evenhand.kernel.md5 import first_bits

    return first_bits((_before_key(seed, mode, purpose) + key).encode(), DRAW_BITS)


def _before_key(seed: int, mode: str, purpose: str) -> str:
    return f"{mode}.{purpose}:{seed}:" if purpose else f"{mode}:{seed}:"


@dataclass(frozen=True, eq=False)
class Spaced:
    """Systematic sampling within each source: evenly spaced draws from a random start, one for each of its people.

    The k-th of n people gets (k + u) / n, with one u per source. Where each person is the k-th as likely as any other,
    their own draw is uniform and their probabilities are exact; and any interval of length p holds n·p of the n draws,
    rounded down or up. ``people`` is how many each source has, ``start`` its u.
    """

    people: Cells
    start: Cells

    @classmethod
    def of(cls, people: Cells, seed: int, mode: str) -> Spaced:
        """Draw the start of each source that somebody has."""
        start, sources = np.zeros_like(people), np.flatnonzero(people)
        start[sources] = keyed_draws(map(str, sources.tolist()), seed, mode, purpose="start")
        return cls(people, start)

    def draws(self, source: Cells, rank: Cells) -> Cells:
        """Return (rank · 2^52 + start) / people, rounded down."""
        whole, rest = np.divmod(2**DRAW_BITS, np.maximum(self.people, 1))
        return np.asarray(rank * whole[source] + (rank * rest[source] + self.start[source]) // self.people[source])


def thresholds(probability: Numbers, starts: Cells, rows: Cells) -> Cells:
    """Return cumulated probabilities of each row as integers, the last exactly 2**52.

    Unsigned sums wrap around, and differences of wrapped sums are exact, so no row is affected by those before it.
    """
    top = 2**DRAW_BITS
    shares = np.rint(probability * top).astype(np.uint64)
    running = np.cumsum(shares, dtype=np.uint64)
    before = np.concatenate([np.zeros(1, np.uint64), running])[starts[:-1]]
    within = np.minimum((running - before[rows]).astype(np.int64), top)
    within[starts[1:] - 1] = top
    return np.asarray(within)
