"""CSV files by their bytes: read once from the first to the last, cut into records, and these into fields.

Most files are cut with a few operations on all bytes at a time. What is out of the ordinary (blank lines, quotes within
unquoted text, rows that end in \\r alone, rows of another length) is cut field by field instead, which also finds the
line of whatever is wrong. Every byte is UTF-8 or refused. Knows nothing of what columns mean.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Flags
from evenhand.errors import DataError, Option
from evenhand.resources import current, words

PACKED = (".gz", ".zst")

CHUNK = 1 << 22
"""Bytes that are cut into records together."""

CHUNK_SHARE = 1 / 256
"""How much of the memory they may take: where each field is takes several times as much."""

LINE = 1 << 16
"""Bytes that are read to find a first line."""

HARMLESS = 256_000_000
"""So many bytes every packed file may unpack to."""

USUAL_RATIO = 100
"""Tables of people unpack to some ten times their packed size; what is made to fill a disk, to hundreds of times."""

LONGEST_RECORD = 32_000_000
"""A row may have so many bytes: so many are held."""

WIDEST = 64
"""Fields of up to so many bytes are compared without making a text of each."""

QUOTED = re.compile(rb'"(?:[^"]++|"")*+"')
QUOTE, NEWLINE, RETURN = b'"\n\r'

MASKS = np.array([(1 << 8 * size) - 1 for size in range(9)], dtype=np.uint64)
"""By how many of a word's bytes are kept: the first ones."""

Cut = tuple[Cells, Cells, int, bool]
"""Where fields begin and end, how many bytes were cut, and whether records are tidy."""

See = Callable[[memoryview], object]
"""Is given bytes as they are read."""

Told = Callable[[float], None]
"""Called with the share of a file that is read."""

Bytes = NDArray[np.uint8]


def is_packed(path: str) -> bool:
    """Whether a path names a packed file."""
    return path.lower().endswith(PACKED)


def unpacked_name(path: str) -> str:
    """Return the name of a file without the ending that says how it is packed.

    Examples
    --------
    >>> unpacked_name("people.tsv.GZ"), unpacked_name("people.csv")
    ('people.tsv', 'people.csv')
    """
    return os.path.splitext(path)[0] if is_packed(path) else path


def chunks(path: str, told: Told | None = None, *, size: int | None = None, see: See | None = None) -> Iterator[bytes]:
    """Read a file from its first byte to its last, unpacked; one that is damaged or unpacks to too much is refused.

    ``see`` is given every byte of the file as it stands.
    """
    unpacked, size = 0, size or min(CHUNK, int(current().memory * CHUNK_SHARE))
    try:
        with open(path, "rb", buffering=0) as raw, _unpacked(path, _Seen(raw, see) if see else raw) as file:
            whole = max(os.fstat(raw.fileno()).st_size, 1)
            while chunk := file.read(size):
                unpacked += len(chunk)
                if is_packed(path):
                    _refuse_bomb(path, raw.tell(), unpacked)
                if told is not None:
                    told(min(raw.tell() / whole, 1.0))
                yield chunk
    except (EOFError, zlib.error, OSError) as error:
        # What has a number comes from the system; what has none, from whoever unpacks.
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"cannot read {path!r}: {error.strerror}") from None
        raise DataError(
            f"{path!r} is damaged and cannot be unpacked: {error}; copy it again, or pack it anew"
        ) from None


class _Seen(io.RawIOBase):
    """A file whose bytes somebody sees on the way."""

    def __init__(self, raw: io.FileIO, see: See) -> None:
        self._raw, self._see = raw, see

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        size = self._raw.readinto(buffer)
        self._see(memoryview(buffer)[:size])
        return size


def _refuse_bomb(path: str, packed: int, unpacked: int) -> None:
    """Refuse a packed file that unpacks to more than was allowed, or else to more than files usually do."""
    allowed = current().unpacked
    most = max(HARMLESS, USUAL_RATIO * packed) if allowed is None else allowed
    if unpacked > most:
        usual = f", over {USUAL_RATIO} times its packed size, as files do that are made to fill a disk"
        why = usual if allowed is None else ""
        raise DataError(
            f"{path!r} unpacks to more than {words(most)}{why}. If it should be as large, say how large with ",
            Option("unpacked", words(10 * most)),
        )


def _unpacked(path: str, raw: Any) -> Any:
    if path.lower().endswith(".gz"):
        return gzip.GzipFile(fileobj=raw)
    if path.lower().endswith(".zst"):
        import pyarrow

        return pyarrow.input_stream(raw, compression="zstd")
    return raw


@dataclass(frozen=True)
class Shape:
    """How a file is cut: its name, what stands between two fields, and how many each record has; 0 is any number."""

    path: str
    delimiter: str
    fields: int = 0

    @cached_property
    def mark(self) -> bytes:
        return self.delimiter.encode()

    @cached_property
    def field(self) -> re.Pattern[bytes]:
        """A field and what ends it."""
        mark = re.escape(self.mark)
        plain = rb"(?:(?!" + mark + rb")[^\r\n])*+"
        return re.compile(rb"(?:" + QUOTED.pattern + rb'|(?!")' + plain + rb")(" + mark + rb"|\r\n|\n|\r|\Z)")

    def wrong(self, what: str) -> DataError:
        return DataError(f"{self.path!r} {what}")


@dataclass(frozen=True, eq=False)
class Records:
    """Whole records, by their bytes.

    Attributes
    ----------
    data : bytes
        The bytes, and some zeros behind them.
    starts, ends : array of int
        Where each field of each record begins and ends, its quotes included: one row per record.
    tidy : bool
        Whether one newline ends each record, and nothing else stands between any two.
    plain : bool
        Whether there are no zeros among the bytes.
    """

    data: bytes
    starts: Cells
    ends: Cells
    tidy: bool
    plain: bool

    def __len__(self) -> int:
        return len(self.starts)

    def of(self, rows: slice | Flags | Cells) -> Records:
        """Return some of the records."""
        return replace(self, starts=self.starts[rows], ends=self.ends[rows])

    @classmethod
    def joined(cls, parts: Sequence[Records]) -> Records:
        """Return the records of several parts as one."""
        begins = np.cumsum([0, *(len(part.data) for part in parts)])
        starts, ends = (
            np.concatenate([getattr(part, name) + begin for part, begin in zip(parts, begins, strict=False)])
            for name in ("starts", "ends")
        )
        plain = all(part.plain for part in parts)
        return cls(b"".join(part.data for part in parts), starts, ends, tidy=False, plain=plain)

    def raw(self, place: int) -> list[bytes]:
        """Return the bytes of a column's fields."""
        both = zip(self.starts[:, place].tolist(), self.ends[:, place].tolist(), strict=True)
        return [self.data[start:end] for start, end in both]

    def numbered(self, place: int) -> tuple[Cells, list[str | None]]:
        """Return a column as codes into its distinct texts; None is a field that holds nothing, not even quotes."""
        import pyarrow

        found = self._windows(place)
        if found is None:
            place_of: dict[bytes, int] = {}
            codes = np.array([place_of.setdefault(each, len(place_of)) for each in self.raw(place)], dtype=np.int64)
            return codes, list(map(text_of, place_of))
        kind = pyarrow.binary(found.shape[1])
        made = pyarrow.FixedSizeBinaryArray.from_buffers(kind, len(found), [None, pyarrow.py_buffer(found)])
        made = made.dictionary_encode()
        return made.indices.to_numpy(), [text_of(each.rstrip(b"\0")) for each in made.dictionary.to_pylist()]

    def texts(self, place: int) -> Any:
        """Return a column as an Arrow array of texts, null where a field holds nothing, not even quotes."""
        import pyarrow

        found, starts = self._windows(place), self.starts[:, place]
        size = self.ends[:, place] - starts
        if found is None or np.any(self.array[starts[size > 0]] == QUOTE):
            return pyarrow.array(map(text_of, self.raw(place)), pyarrow.string())
        ends = np.concatenate([[0], np.cumsum(size)]).astype(np.int32)
        content = found[np.arange(found.shape[1]) < size[:, None]]
        buffers = [pyarrow.py_buffer(ends), pyarrow.py_buffer(content)]
        return pyarrow.Array.from_buffers(pyarrow.string(), len(size), [_bitmap(size > 0), *buffers])

    @cached_property
    def array(self) -> Bytes:
        return np.frombuffer(self.data, np.uint8)

    def _windows(self, place: int) -> Bytes | None:
        """Return so many bytes of each field as the longest has, with zeros after its end.

        None where fields are too long, or hold zeros themselves.
        """
        starts, size = self.starts[:, place], self.ends[:, place] - self.starts[:, place]
        width = -(-max(int(size.max(initial=1)), 1) // 8) * 8
        if width > WIDEST or not self.plain:
            return None
        found = np.lib.stride_tricks.sliding_window_view(self.array, width)[starts]
        words_ = found.view(np.uint64)
        for word in range(width // 8):
            words_[:, word] &= MASKS[np.clip(size - 8 * word, 0, 8)]
        return found


def _bitmap(there: NDArray[np.bool_]) -> Any:
    """Return as Arrow keeps it which values are there; None where all are."""
    import pyarrow

    return None if there.all() else pyarrow.py_buffer(np.packbits(there, bitorder="little"))


def text_of(field: bytes) -> str | None:
    """Return what a field holds; None where it is nothing, not even quotes."""
    if field[:1] == b'"':
        return field[1:-1].replace(b'""', b'"').decode()
    return field.decode() if field else None


def quoted_field(text: str, delimiter: str) -> str:
    """Return a text as a field of a CSV file: between quotes where it would be read as something else."""
    odd = (delimiter, '"', "\r", "\n")
    return '"' + text.replace('"', '""') + '"' if not text or any(each in text for each in odd) else text


def records(shape: Shape, told: Told | None = None, see: See | None = None) -> Iterator[Records]:
    """Read a file from its first record to its last, some at a time; ``see`` is given its bytes as they stand."""
    cutter, held = _Cutter(shape), b""
    for chunk in chunks(shape.path, told, see=see):
        held += chunk
        if len(held) >= len(BOM_UTF8):
            found, done = cutter.cut(held, last=False)
            held = held[done:]
            if len(held) > LONGEST_RECORD:
                raise cutter.too_long(cutter.line)
            if len(found):
                yield found
    found, _ = cutter.cut(held, last=True)
    if len(found):
        yield found


class _Cutter:
    """Cuts the bytes of a file, which come in pieces; knows the line that it is in, and how lines end."""

    def __init__(self, shape: Shape) -> None:
        self.shape, self.line, self.begun = shape, 1, False
        self.ending: bytes | None = None

    def cut(self, data: bytes, *, last: bool) -> tuple[Records, int]:
        """Return the whole records, and how many bytes they take; a file's last record needs no end."""
        mark = 0
        if not self.begun:
            self.begun, mark = True, len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
            data = data[mark:]
        starts, ends, done, tidy = self._at_once(data, last=last) or self._by_field(data, last=last)
        self._refuse_other_text(data[:done])
        size = ends[:, -1] - starts[:, 0]
        if size.max(initial=0) > LONGEST_RECORD:
            raise self.too_long(self.line + _lines(data[: starts[np.argmax(size), 0]]))
        self.line += _lines(data[:done])
        plain = b"\0" not in data
        return Records(data + bytes(WIDEST), starts, ends, tidy, plain), done + mark

    def first(self, data: bytes, *, last: bool) -> tuple[bytes, list[str]] | None:
        """Return the first record's bytes without its end, and its fields; None where the rest of it is to come."""
        data = data.removeprefix(BOM_UTF8)
        found = self._record(data, 0, 1, last=last) if data else None
        if found is None:
            return None
        row, _, _ = found
        raw = data[: row[-1][1]]
        self._refuse_other_text(raw)
        return raw, [text_of(data[start:end]) or "" for start, end in row]

    def too_long(self, line: int) -> DataError:
        most = words(LONGEST_RECORD)
        return self.shape.wrong(f"has a row of more than {most} in line {line}, or a quote there that does not end")

    def _refuse_other_text(self, data: bytes) -> None:
        if data.isascii():
            return
        try:
            data.decode()
        except UnicodeDecodeError as error:
            line = self.line + _lines(data[: error.start])
            raise self.shape.wrong(f"is not text in UTF-8 in line {line}; save it as UTF-8 first") from None

    def _at_once(self, data: bytes, *, last: bool) -> Cut | None:
        """Find all fields together; None where something is out of the ordinary."""
        mark, fields = self.shape.mark, self.shape.fields
        if last and data and not data.endswith(b"\n"):
            data += b"\n"
        found = np.frombuffer(data, np.uint8)
        newline = found == NEWLINE
        marks = newline | _begins(found, mark)
        outside = _outside_quotes(data, found, marks, len(mark)) if b'"' in data else None
        if b'"' in data:
            if outside is None:
                return None
            marks &= outside
        at = np.flatnonzero(marks)
        final = newline[at]
        at = at[: len(at) - int(np.argmax(final[::-1]))] if final.any() else at[:0]
        done = int(at[-1]) + 1 if len(at) else 0
        if not fields or len(at) % fields or (last and done != len(data)):
            return None
        ends = at.reshape(-1, fields)
        if not newline[ends[:, -1]].all() or np.count_nonzero(newline[at]) != len(ends):
            return None
        starts = np.empty_like(ends)
        starts[:, 1:] = ends[:, :-1] + len(mark)
        starts[:1, 0], starts[1:, 0] = 0, ends[:-1, -1] + 1
        ending = b"\n"
        if b"\r" in data:
            before = found[ends[:, -1] - 1] == RETURN
            returns = found[:done] == RETURN
            alone = np.count_nonzero(returns if outside is None else returns & outside[:done])
            if alone not in (0, len(ends)) or np.count_nonzero(before) != alone:
                return None
            if alone:
                ending, ends = b"\r\n", ends - np.eye(1, fields, fields - 1, dtype=np.int64)
        if len(ends) and self.ending not in (None, ending):
            return None
        self.ending = ending if len(ends) else self.ending
        return starts, ends, done, ending == b"\n"

    def _by_field(self, data: bytes, *, last: bool) -> Cut:
        """Find one field after another, and the line of whatever is wrong."""
        starts: list[list[int]] = []
        ends: list[list[int]] = []
        at, line = 0, self.line
        while at < len(data):
            record = self._record(data, at, line, last=last)
            if record is None:
                break
            row, end, stop = record
            lines, at = _lines(data[at:stop]), stop
            self.ending = self.ending or end or None
            if end not in (b"", self.ending):
                raise self.shape.wrong(_mixed(line + lines - 1))
            blank = len(row) == 1 and row[0][0] == row[0][1] and self.shape.fields != 1
            if not blank:
                if self.shape.fields not in (0, len(row)):
                    raise self.shape.wrong(
                        f"has {len(row)} fields in line {line} where it should have {self.shape.fields}"
                    )
                starts.append([start for start, _ in row])
                ends.append([stop for _, stop in row])
            line += lines
        width = self.shape.fields or (len(starts[0]) if starts else 1)
        shape = (-1, width)
        return np.array(starts, np.int64).reshape(shape), np.array(ends, np.int64).reshape(shape), at, False

    def _record(
        self, data: bytes, at: int, line: int, *, last: bool
    ) -> tuple[list[tuple[int, int]], bytes, int] | None:
        """Return a record's fields, how it ends, and where the next begins; None where the rest of it is to come."""
        row: list[tuple[int, int]] = []
        while True:
            found = self.shape.field.match(data, at)
            if found is None:
                closed = QUOTED.match(data, at)
                if not last and (closed is None or self.shape.mark.startswith(data[closed.end() :])):
                    return None
                raise self.shape.wrong(f"has a quote in line {line} that does not end, or text after one")
            if not last and found.end() == len(data) and found[1] in (b"", b"\r"):
                return None
            row.append((at, found.start(1)))
            at = found.end()
            if found[1] != self.shape.mark:
                return row, found[1], at


def _begins(found: Bytes, mark: bytes) -> NDArray[np.bool_]:
    """Return where a delimiter begins."""
    begins: NDArray[np.bool_] = found == mark[0]
    for place, byte in enumerate(mark[1:], 1):
        begins[:-place] &= found[place:] == byte
        begins[-place:] = False
    return begins


def _outside_quotes(data: bytes, found: Bytes, marks: NDArray[np.bool_], size: int) -> NDArray[np.bool_] | None:
    """Return which bytes stand outside of quotes; None where a quote is neither around a field nor doubled."""
    quote = found == QUOTE
    outside = np.cumsum(quote, dtype=np.uint8) & 1 == 0
    at = np.flatnonzero(quote)
    opening, closing = at[::2], at[1::2]
    # Behind a delimiter or a line end, or behind another quote.
    before = found[np.maximum(opening - 1, 0)]
    opens = (opening == 0) | (before == NEWLINE) | (before == QUOTE)
    opens |= (opening >= size) & marks[np.maximum(opening - size, 0)]
    after = found[np.minimum(closing + 1, len(found) - 1)]
    closes = (closing + 1 == len(found)) | (after == NEWLINE) | (after == RETURN) | (after == QUOTE)
    closes |= marks[np.minimum(closing + 1, len(found) - 1)]
    return outside if opens.all() and closes.all() else None


def _lines(data: bytes) -> int:
    """Return how many line ends there are."""
    newlines = data.count(b"\n")
    return newlines + data.count(b"\r") - data.count(b"\r\n") if b"\r" in data else newlines


def _mixed(line: int) -> str:
    return (
        f"has mixed line ends: those of line {line} differ from those before; convert the line ends to \\n, "
        f"for example with perl -pi -e 's/\\r\\n?/\\n/g' FILE"
    )


def first_record(path: str, delimiter: str) -> tuple[bytes, list[str]] | None:
    """Return the bytes of a file's first record without its end, and what its fields hold; None of an empty file."""
    cutter, held = _Cutter(Shape(path, delimiter)), b""
    for chunk in chain(chunks(path, size=LINE), [b""]):
        held += chunk
        found = cutter.first(held, last=not chunk)
        if found is not None:
            return found
        if len(held) > LONGEST_RECORD:
            raise cutter.too_long(1)
    return None
