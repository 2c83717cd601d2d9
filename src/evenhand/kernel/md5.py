"""MD5 of many short texts at once (RFC 1321): the same 64 steps for thousands of texts, in arrays.

A text of at most 55 bytes, what all of them begin with included, is one block of 64; longer ones, and all where they
are few, go through hashlib one by one.
Not for security: a draw by key must only be the same everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import md5

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells
from evenhand.resources import in_blocks

Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]

ONE_BLOCK = 55
"""The longest message of one block: a byte ends it, and its length takes eight."""

BLOCK = 1 << 14
"""Texts that are hashed at once: about a dozen arrays of this many words stay in a core's own cache."""

FEW = 256
"""So many texts are hashed one by one in less time than the steps take in arrays of any length."""

BEGIN = (0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476)
TURNS = ((7, 12, 17, 22), (5, 9, 14, 20), (4, 11, 16, 23), (6, 10, 15, 21))
ORDER = ((0, 1), (1, 5), (5, 3), (0, 7))
"""In each round, the first word that is added and how far on the next one is."""

ADDED = [np.uint32(int(abs(math.sin(step + 1)) * 2**32)) for step in range(64)]


@dataclass(frozen=True, eq=False)
class Texts:
    """Texts as UTF-8, one after another: text i lies from ``offsets[i]`` up to ``offsets[i + 1]``.

    Examples
    --------
    >>> Texts.of(["a", "", "né"]).offsets.tolist()
    [0, 1, 1, 4]
    """

    data: Bytes
    offsets: Cells

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Put texts one after another."""
        encoded = [text.encode() for text in texts]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum(np.fromiter(map(len, encoded), np.int64, len(encoded)), out=offsets[1:])
        return cls(np.frombuffer(b"".join(encoded), np.uint8), offsets)

    def __getitem__(self, place: int) -> bytes:
        return self.data[self.offsets[place] : self.offsets[place + 1]].tobytes()

    def repeated(self, codes: Cells) -> Texts:
        """Return the texts with the given numbers."""
        sizes = np.diff(self.offsets)[codes]
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        at = np.repeat(self.offsets[codes] - offsets[:-1], sizes) + np.arange(offsets[-1])
        return Texts(self.data[at], offsets)


def leading_bits(start: str, texts: Texts, bits: int) -> Cells:
    """Return the first bits, up to 63, of the MD5 of ``start`` followed by each text."""
    begun = start.encode()
    if len(texts) <= FEW:
        return np.array([first_bits(begun + texts[place], bits) for place in range(len(texts))], dtype=np.int64)
    found = np.empty(len(texts), dtype=np.uint64)

    def fill(block: slice) -> None:
        short = len(begun) + np.diff(texts.offsets[block.start : block.stop + 1]) <= ONE_BLOCK
        if short.all():
            found[block] = _digests(_messages(begun, texts, np.arange(block.start, block.stop)))
            return
        if short.any():
            found[block][short] = _digests(_messages(begun, texts, block.start + np.flatnonzero(short)))
        for place in (block.start + np.flatnonzero(~short)).tolist():
            found[place] = first_bits(begun + texts[place], 64)

    in_blocks(len(texts), fill, BLOCK)
    found >>= np.uint64(64 - bits)
    return found.view(np.int64)


def first_bits(message: bytes, bits: int) -> int:
    """Return the first bits, up to 64, of one text's MD5."""
    return int.from_bytes(md5(message, usedforsecurity=False).digest()[:8]) >> (64 - bits)


def _messages(start: bytes, texts: Texts, places: Cells) -> Words:
    """Return each text's block as a column of sixteen words: the message, a bit that ends it, and its length."""
    first, sizes = texts.offsets[places], texts.offsets[places + 1] - texts.offsets[places]
    blocks = np.zeros((len(places), 64), dtype=np.uint8)
    blocks[:, : len(start)] = np.frombuffer(start, np.uint8)
    inside = np.arange(len(places)) * 64 + len(start)
    total = np.cumsum(sizes) - sizes
    step = np.arange(int(sizes.sum()))
    blocks.reshape(-1)[np.repeat(inside - total, sizes) + step] = texts.data[np.repeat(first - total, sizes) + step]
    blocks.reshape(-1)[inside + sizes] = 0x80
    words = blocks.view("<u4")
    words[:, 14] = 8 * (len(start) + sizes)
    return np.ascontiguousarray(words.T, dtype=np.uint32)


def _digests(message: Words) -> NDArray[np.uint64]:
    """Return the first eight bytes of each digest, the first byte highest."""
    a, b, c, d = (np.full(message.shape[1], word, dtype=np.uint32) for word in BEGIN)
    mixed, spare = np.empty_like(a), np.empty_like(a)
    # Most words of a short message are zero; they need not be added.
    used = [bool(word.any()) for word in message]
    for step in range(64):
        number, within = divmod(step, 16)
        first, further = ORDER[number]
        word, turn = (first + further * within) % 16, TURNS[number][step % 4]
        _mix(number, b, c, d, mixed)
        a += mixed
        a += ADDED[step]
        if used[word]:
            a += message[word]
        np.right_shift(a, np.uint32(32 - turn), out=spare)
        np.left_shift(a, np.uint32(turn), out=a)
        a |= spare
        a += b
        a, b, c, d = d, a, b, c
    a += np.uint32(BEGIN[0])
    b += np.uint32(BEGIN[1])
    # A digest is its words' bytes, the lowest first.
    high, low = (word.astype("<u4").view(">u4").astype(np.uint64) for word in (a, b))
    return (high << np.uint64(32)) | low


def _mix(number: int, b: Words, c: Words, d: Words, out: Words) -> None:
    """Write the round's function of three words: a choice, a choice, a sum, and one more."""
    if number == 0:
        np.bitwise_xor(c, d, out=out)
        out &= b
        out ^= d
    elif number == 1:
        np.bitwise_xor(b, c, out=out)
        out &= d
        out ^= c
    elif number == 2:
        np.bitwise_xor(b, c, out=out)
        out ^= d
    else:
        np.invert(d, out=out)
        out |= b
        out ^= c
