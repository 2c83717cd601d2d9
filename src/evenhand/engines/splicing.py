"""CSV records written as they stand but for what changes: fields are cut out of their bytes, and others put in.

Whatever is not replaced is passed on byte by byte. Knows records and texts, not what they mean.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evenhand.arrays import Cells
from evenhand.engines.delimited import Records, quoted_field, text_of
from evenhand.engines.marking import is_formula

FORMULAS = np.frombuffer(b"=+-@\t\r", np.uint8)
"""How a formula begins."""


@dataclass(eq=False)
class Splice:
    """What is to become of some records.

    Attributes
    ----------
    records : Records
        The records.
    places : sequence of int
        The columns of the result.
    mark, written : bytes
        What stands between two fields, and what is to stand there.
    rows : array, optional
        The record of which each row of the result is made; None where each record makes one.
    escape : bool
        Whether what a spreadsheet would take for a formula gets an apostrophe before it.
    """

    records: Records
    places: Sequence[int]
    mark: bytes
    written: bytes
    rows: Cells | None = None
    escape: bool = False
    _texts: list[bytes] = field(default_factory=list)
    _edits: list[tuple[Cells, Cells, Cells, Cells]] = field(default_factory=list)
    _replaced: list[tuple[int, Cells]] = field(default_factory=list)

    def replace(self, place: int, at: Cells, texts: Sequence[str | None], which: Cells) -> None:
        """Put one of some texts into a column of rows; None is nothing, not even quotes."""
        delimiter = self.written.decode()
        found = [b"" if text is None else quoted_field(self._safe(text), delimiter).encode() for text in texts]
        starts, ends = self._column(place)
        self._edit(at, starts[at], ends[at], found, which)
        self._replaced.append((place, at))

    def joined(self, tails: Sequence[bytes], which: Cells | None = None) -> bytes:
        """Return the rows, and behind each one of some tails, which end it."""
        records, every = self.records, range(self.records.starts.shape[1])
        if self.escape:
            self._escape()
        if list(self.places) != list(every) or self.mark != self.written:
            self._separate()
        first, last = self._column(self.places[0])[0], self._column(self.places[-1])[1]
        if not len(first):
            return b""
        if records.tidy and self.rows is None and which is None and list(tails) == [b"\n"] and not self._separated:
            # Rows follow one another as they stand.
            return self._assembled(first[:1], last[-1:], np.zeros(1, np.int64), tails, together=True)
        return self._assembled(first, last, np.zeros(len(first), np.int64) if which is None else which, tails)

    @property
    def _separated(self) -> bool:
        return list(self.places) != list(range(self.records.starts.shape[1])) or self.mark != self.written

    def _column(self, place: int) -> tuple[Cells, Cells]:
        """Return where the fields of a column are, row by row of the result."""
        starts, ends = self.records.starts[:, place], self.records.ends[:, place]
        return (starts, ends) if self.rows is None else (starts[self.rows], ends[self.rows])

    def _edit(self, rows: Cells, starts: Cells, ends: Cells, texts: Sequence[bytes], which: Cells) -> None:
        self._edits.append((rows, starts, ends, which + len(self._texts)))
        self._texts += texts

    def _safe(self, text: str) -> str:
        return f"'{text}" if self.escape and is_formula(text) else text

    def _escape(self) -> None:
        """Put an apostrophe before what a spreadsheet would take for a formula, in fields that are not replaced."""
        found = self.records.array
        for place in self.places:
            starts, ends = self._column(place)
            begin = starts + ((found[starts] == ord('"')) & (ends > starts))
            asked = np.isin(found[begin], FORMULAS) & (ends > starts + 1)
            for other, at in self._replaced:
                if other == place:
                    asked[at] = False
            at = np.flatnonzero(asked)
            both = zip(starts[at].tolist(), ends[at].tolist(), strict=True)
            at = at[[is_formula(text_of(self.records.data[start:end]) or "") for start, end in both]] if len(at) else at
            self._edit(at, begin[at], begin[at], [b"'"], np.zeros(len(at), np.int64))

    def _separate(self) -> None:
        """Put other delimiters between the columns of the result; fields that hold one get quotes."""
        for place, following in zip(self.places, self.places[1:], strict=False):
            ends, starts = self._column(place)[1], self._column(following)[0]
            self._edit(np.arange(len(ends)), ends, starts, [self.written], np.zeros(len(ends), np.int64))
        if self.mark == self.written or self.written not in self.records.data:
            return
        replaced = [np.concatenate([NOTHING, *(at for other, at in self._replaced if other == p)]) for p in self.places]
        for place, gone in zip(self.places, replaced, strict=True):
            raw, (starts, ends) = self.records.raw(place), self._column(place)
            rows = np.arange(len(starts)) if self.rows is None else self.rows
            odd = np.array([self.written in each and not each.startswith(b'"') for each in raw], dtype=bool)
            at = np.setdiff1d(np.flatnonzero(odd[rows]), gone)
            texts = [b'"' + raw[row] + b'"' for row in rows[at].tolist()]
            self._edit(at, starts[at], ends[at], texts, np.arange(len(at)))

    def _assembled(
        self, first: Cells, last: Cells, which: Cells, tails: Sequence[bytes], *, together: bool = False
    ) -> bytes:
        """Return bytes from each first to each last one, edited, with a tail behind each."""
        edits = [np.concatenate(each) for each in zip(*self._edits, strict=True)] if self._edits else [NOTHING] * 4
        rows, starts, ends, texts = edits
        rows = np.zeros_like(rows) if together else rows
        every = (
            np.concatenate([rows, np.arange(len(first))]),
            np.concatenate([starts, last]),
            np.concatenate([ends, last]),
            np.concatenate([texts, which + len(self._texts)]),
            np.concatenate([np.zeros(len(rows), np.int64), np.ones(len(first), np.int64)]),
        )
        order = np.lexsort((every[4], every[2], every[1], every[0]))
        rows, starts, ends, texts = (each[order] for each in every[:4])
        begins = np.concatenate([first[:1], ends[:-1]])
        new = np.flatnonzero(np.diff(rows, prepend=-1))
        begins[new] = first[rows[new]]
        data, words = self.records.data, [*self._texts, *tails]
        pieces: list[Any] = []
        for begin, start, text in zip(begins.tolist(), starts.tolist(), texts.tolist(), strict=True):
            pieces.append(data[begin:start])
            pieces.append(words[text])
        return b"".join(pieces)


NOTHING = np.zeros(0, dtype=np.int64)
