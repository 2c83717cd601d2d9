"""The order of people within strata, without holding it: each stratum is shuffled by a permutation of its own.

The k-th person of a stratum of n, in the order of rows, gets the place that a permutation of 0 to n - 1 has for k. It
is computed for each person alone, from words of the seed's raw stream for the stratum. No order of all people is ever
made, and a table may come in pieces of any size.

The permutation is a Feistel network over pairs (high, low) of a times b numbers, n or a few more: by turns a hash of
one half is added to the other, modulo its size. A pair that is no place is sent through again (cycle walking), until it
is one. Few people are sorted by their hashes instead, for small networks do not reach every order. At last all places
of the stratum are turned by a random number, so that everybody's own place is as likely as any other.

Knows numbers, nothing of tables.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells
from evenhand.kernel.draws import MODES, SALT
from evenhand.kernel.stochastic import look_up
from evenhand.resources import in_blocks

ROUNDS = 8
"""Half rounds of the network."""

FEW = 64
"""So many people are put into order by sorting."""

Words = NDArray[np.uint64]

MIXERS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
"""Multipliers of the hash: the last steps of the generator called SplitMix64."""


def mixed(number: Words, word: Words) -> Words:
    """Return a hash of 64 bits of numbers and words."""
    found = number * np.uint64(0x9E3779B97F4A7C15) + word
    found ^= found >> np.uint64(30)
    found *= MIXERS[0]
    found ^= found >> np.uint64(27)
    found *= MIXERS[1]
    found ^= found >> np.uint64(31)
    return found


@dataclass(frozen=True, eq=False)
class Shuffle:
    """How the people of every stratum are shuffled.

    Attributes
    ----------
    people : array of int
        How many each stratum has.
    words : array
        Random words: one row per stratum, for each half round and for the turn.
    """

    people: Cells
    words: Words

    @classmethod
    def of(cls, people: Cells, order: Cells, seed: int, mode: str) -> Shuffle:
        """Take the words of each stratum that has people, in an order that does not depend on how a table is cut.

        ``order`` lists the strata by number.
        """
        stream = np.random.PCG64(np.random.SeedSequence([seed, SALT, MODES.index(mode), 257]))
        words = np.zeros((len(people), ROUNDS + 1), dtype=np.uint64)
        there = order[people[order] > 0]
        words[there] = stream.random_raw(words[there].size).reshape(-1, ROUNDS + 1)
        return cls(people, words)

    def places(self, stratum: Cells, turn: Cells) -> Cells:
        """Return the place of each person: of a stratum, the one whose turn it is, counted from 0."""
        place = np.empty(len(stratum), dtype=np.int64)

        def find(rows: slice) -> None:
            place[rows] = self._places(stratum[rows], turn[rows])

        in_blocks(len(stratum), find)
        return place

    def _places(self, stratum: Cells, turn: Cells) -> Cells:
        size = look_up(self.people, stratum)
        place = np.empty(len(stratum), dtype=np.int64)
        few = size <= FEW
        for at, work in ((np.flatnonzero(few), self._sorted), (np.flatnonzero(~few), self._walked)):
            place[at] = work(stratum[at], turn[at], size[at])
        place += _scaled(self.words[stratum, ROUNDS], size)
        return np.where(place >= size, place - size, place)

    def _sorted(self, stratum: Cells, turn: Cells, size: Cells) -> Cells:
        """Count the people of the stratum whose hashes are smaller."""
        word, place = self.words[stratum, 0], np.zeros(len(stratum), dtype=np.int64)
        own = mixed(turn.view(np.uint64), word)
        for other in range(int(size.max(initial=0))):
            hashed = mixed(np.full(len(stratum), other, np.uint64), word)
            place += (other < size) & ((hashed < own) | ((hashed == own) & (other < turn)))
        return place

    def _walked(self, stratum: Cells, turn: Cells, size: Cells) -> Cells:
        """Send each turn through the network until it comes out as a place."""
        low_size = np.ceil(np.sqrt(size)).astype(np.int64)
        sizes = low_size, -(-size // low_size)
        place, at = turn.copy(), np.arange(len(turn))
        while len(at):
            here = [each[at] for each in sizes]
            place[at] = self._network(stratum[at], place[at], *here)
            at = at[place[at] >= size[at]]
        return place

    def _network(self, stratum: Cells, number: Cells, low_size: Cells, high_size: Cells) -> Cells:
        high, low = np.divmod(number, low_size)
        for half in range(ROUNDS):
            low += _scaled(mixed(high.view(np.uint64), self.words[stratum, half]), low_size)
            low -= np.where(low >= low_size, low_size, 0)
            high, low, high_size, low_size = low, high, low_size, high_size
        # After an even number of halves each is what it was.
        return high * low_size + low


def _scaled(word: Words, size: Cells) -> Cells:
    """Return a number below each size: as much of it as the word is of its range. Sizes are below 2^36."""
    return ((word >> np.uint64(28)) * size.view(np.uint64) >> np.uint64(36)).view(np.int64)


@dataclass(eq=False)
class Turns:
    """Whose turn it is in every stratum: how many of its people were met before."""

    met: Cells = field(default_factory=lambda: np.zeros(0, dtype=np.int64))

    def next(self, stratum: Cells) -> Cells:
        """Return the turn of each of some more people, in their order."""
        number = np.bincount(stratum, minlength=len(self.met))
        self.met = np.pad(self.met, (0, len(number) - len(self.met)))
        order = np.argsort(stratum, kind="stable")
        starts = np.cumsum(number) - number
        turn = np.empty(len(stratum), dtype=np.int64)
        turn[order] = np.arange(len(stratum)) + np.repeat(self.met - starts, number)
        self.met = self.met + number
        return turn
