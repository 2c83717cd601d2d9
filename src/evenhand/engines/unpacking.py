"""The bytes of CSV files: packed or not, checked from the first to the last, in lines and records.

DuckDB does not notice that a packed file is damaged. It is given a plain copy of such a file, so that what was checked
is what is read. Files with mixed line ends are refused. Knows nothing of columns and their types.
"""

from __future__ import annotations

import csv
import gzip
import os
import re
import sys
import zlib
from codecs import BOM_UTF8, getincrementaldecoder
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO

from evenhand.errors import DataError, Option
from evenhand.resources import current, words

PACKED = (".gz", ".zst")

CHUNK = 1 << 20
"""Bytes that are looked at together."""

HARMLESS = 256_000_000
"""So many bytes every packed file may unpack to."""

USUAL_RATIO = 100
"""Tables of people unpack to some ten times their packed size; what is made to fill a disk, to hundreds of times."""

LONGEST_RECORD = 32_000_000
"""A row may have so many bytes; DuckDB reads so many at once."""

LINE_END = re.compile(rb"\r\n|\r|\n")

SEPARATOR = "\ufdd0"
"""Stands for a delimiter, which may have several characters: no character of Unicode, and no byte as Latin 1."""

Told = Callable[[float], None]
"""Called with the share of a file that is read."""


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


def chunks(path: str, told: Told | None = None) -> Iterator[bytes]:
    """Read a file from its first byte to its last, unpacked; one that is damaged or unpacks to too much is refused."""
    unpacked = 0
    try:
        with open(path, "rb") as raw, _unpacked(path, raw) as file:
            size = max(os.fstat(raw.fileno()).st_size, 1)
            while chunk := file.read(CHUNK):
                unpacked += len(chunk)
                if is_packed(path):
                    _refuse_bomb(path, raw.tell(), unpacked)
                if told is not None:
                    told(min(raw.tell() / size, 1.0))
                yield chunk
    except (EOFError, zlib.error, OSError) as error:
        # What has a number comes from the system; what has none, from whoever unpacks.
        if isinstance(error, OSError) and error.errno is not None:
            raise DataError(f"cannot read {path!r}: {error.strerror}") from None
        raise DataError(
            f"{path!r} is damaged and cannot be unpacked: {error}; copy it again, or pack it anew"
        ) from None


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


def _unpacked(path: str, raw: BinaryIO) -> Any:
    if path.lower().endswith(".gz"):
        return gzip.GzipFile(fileobj=raw)
    if path.lower().endswith(".zst"):
        import pyarrow

        return pyarrow.input_stream(raw, compression="zstd")
    return raw


def lines(path: str) -> Iterator[bytes]:
    """Read a file line by line, with their ends: any of the three that there are."""
    held = b""
    for chunk in chunks(path):
        *whole, held = (held + chunk).splitlines(keepends=True)
        yield from whole
        if len(held) > LONGEST_RECORD:
            # Whoever reads on refuses it.
            yield held
            held = b""
    yield from held.splitlines(keepends=True)


@dataclass(frozen=True)
class Record:
    """A row of a CSV file: the number of its first line, its bytes, and its fields, which are bytes as Latin 1."""

    line: int
    raw: bytes
    fields: tuple[str, ...]

    @property
    def end(self) -> bytes:
        """How its last line ends; nothing at the end of a file."""
        return self.raw[len(self.raw.rstrip(b"\r\n")) :]


class Unended(Exception):
    """A quote is not where it may be, or does not end; or a row is too long."""


def records(path: str, delimiter: str) -> Iterator[Record]:
    """Read a file record by record; what stands between quotes may hold line ends."""
    own, first, held = delimiter.encode().decode("latin-1"), 1, list[bytes]()

    def fed() -> Iterator[str]:
        size = 0
        for line in lines(path):
            size = len(line) + (size if held else 0)
            if size > LONGEST_RECORD:
                most = words(LONGEST_RECORD)
                raise Unended(f"has a row of more than {most} in line {first}, or a quote there that does not end")
            held.append(line)
            text = line.removeprefix(BOM_UTF8) if first == 1 and len(held) == 1 else line
            yield text.decode("latin-1").replace(own, SEPARATOR)

    # The limit is one of the whole process.
    before = csv.field_size_limit(sys.maxsize)
    try:
        for fields in csv.reader(fed(), delimiter=SEPARATOR, strict=True):
            yield Record(first, b"".join(held), tuple(field.replace(SEPARATOR, own) for field in fields))
            first += len(held)
            held.clear()
    except csv.Error:
        raise Unended(f"has a quote in line {first} that does not end, or text after one") from None
    finally:
        csv.field_size_limit(before)


def written(record: str) -> str:
    """Return a text that was read as Latin 1 as the text in UTF-8 that it is."""
    return record.encode("latin-1").decode()


def checked(path: str, take: Callable[[bytes], object], told: Told | None = None) -> int:
    """Read all of a file, which must be text in UTF-8, and hand it over chunk by chunk; return its longest line.

    That is a number of bytes, which counts only lines that are longer than a chunk.
    """
    decoder, number, longest, size = getincrementaldecoder("utf-8")(), 1, 0, 0
    for chunk in chain(chunks(path, told), [b""]):
        try:
            decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            number += error.object[: error.start].count(b"\n")
            raise DataError(f"{path!r} is not text in UTF-8 in line {number}; save it as UTF-8 first") from None
        number += chunk.count(b"\n")
        if ends := LINE_END.search(chunk):
            longest = max(longest, size + ends.start())
            size = len(chunk) - 1 - max(chunk.rfind(b"\n"), chunk.rfind(b"\r"))
        else:
            size += len(chunk)
        take(chunk)
    return max(longest, size)


def quoted_field(text: str, delimiter: str) -> str:
    """Return a text as a field of a CSV file: between quotes where it would be read as something else."""
    odd = (delimiter, '"', "\r", "\n")
    return '"' + text.replace('"', '""') + '"' if not text or any(each in text for each in odd) else text


def _mixed(line: int) -> str:
    return (
        f"has mixed line ends: those of line {line} differ from those before; convert the line ends to \\n, "
        f"for example with perl -pi -e 's/\\r\\n?/\\n/g' FILE"
    )


def mixed_start(path: str, delimiter: str) -> str | None:
    """Return what is wrong with a first row that holds other line ends between quotes than its own; None if nothing.

    DuckDB takes the first line end in a file for the end of every row, and would read no rows without an error.
    """
    with suppress(Unended):
        for first in islice(records(path, delimiter), 1):
            found = LINE_END.search(first.raw)
            if found and first.end and found[0] != first.end:
                return _mixed(first.line + len(LINE_END.findall(first.raw)) - 1)
    return None


def fault(path: str, fields: int, delimiter: str) -> str | None:
    """Return what is wrong with the rows of a file that should have so many fields each; None where nothing is."""
    end = b""
    try:
        for record in records(path, delimiter):
            end = end or record.end
            if record.end not in (b"", end):
                return _mixed(record.line + len(LINE_END.findall(record.raw)) - 1)
            if record.fields and len(record.fields) != fields:
                return f"has {len(record.fields)} fields in line {record.line} where it should have {fields}"
    except Unended as error:
        return str(error)
    return None
