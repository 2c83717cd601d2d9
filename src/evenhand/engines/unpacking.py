"""The bytes of CSV files: packed or not, checked from the first to the last, in lines and records.

DuckDB does not notice that a packed file is damaged, and refuses one whose lines end in several ways. It is given a
plain copy of such a file, so that what was checked is what is read. Knows nothing of columns and their types.
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
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO

from evenhand.errors import DataError
from evenhand.resources import words

PACKED = (".gz", ".zst")

CHUNK = 1 << 20
"""Bytes that are looked at together."""

LONGEST_RECORD = 32_000_000
"""A row may have so many bytes; DuckDB reads so many at once."""

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
    """Read a file from its first byte to its last, unpacked; one that is damaged is refused."""
    try:
        with open(path, "rb") as raw, _unpacked(path, raw) as file:
            size = max(os.fstat(raw.fileno()).st_size, 1)
            while chunk := file.read(CHUNK):
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
    yield from held.splitlines(keepends=True)


@dataclass(frozen=True)
class Record:
    """A row of a CSV file: the number of its first line, its bytes, and its fields, which are bytes as Latin 1."""

    line: int
    raw: bytes
    fields: tuple[str, ...]


class Unended(Exception):
    """A quote is not where it may be, or does not end."""


def records(path: str, delimiter: str) -> Iterator[Record]:
    """Read a file record by record; what stands between quotes may hold line ends."""
    own, first, held = delimiter.encode().decode("latin-1"), 1, list[bytes]()

    def fed() -> Iterator[str]:
        size = 0
        for line in lines(path):
            size = len(line) + (size if held else 0)
            if size > LONGEST_RECORD:
                raise DataError(
                    f"{path!r} has a row of more than {words(LONGEST_RECORD)} in line {first}, or a quote there that "
                    f"does not end"
                )
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


@dataclass(frozen=True)
class Ends:
    """How often lines end in each way, in and out of quotes."""

    returns: int = 0
    feeds: int = 0
    both: int = 0

    def __add__(self, other: Ends) -> Ends:
        return Ends(self.returns + other.returns, self.feeds + other.feeds, self.both + other.both)

    @property
    def one_way(self) -> bool:
        """Whether all lines certainly end in the same way."""
        return not self.returns or not self.feeds or self.returns == self.feeds == self.both


def checked(path: str, take: Callable[[bytes], object], told: Told | None = None) -> Ends:
    """Read all of a file, which must be text in UTF-8, and hand it over chunk by chunk; return how its lines end."""
    decoder, ends, last, number = getincrementaldecoder("utf-8")(), Ends(), b"", 1
    for chunk in chain(chunks(path, told), [b""]):
        try:
            decoder.decode(chunk, final=not chunk)
        except UnicodeDecodeError as error:
            number += error.object[: error.start].count(b"\n")
            raise DataError(f"{path!r} is not text in UTF-8 in line {number}; save it as UTF-8 first") from None
        returns = chunk.count(b"\r")
        feeds = chunk.count(b"\n")
        across = int(last == b"\r" and chunk[:1] == b"\n")
        ends += Ends(returns, feeds, (chunk.count(b"\r\n") if returns else 0) + across)
        number, last = number + feeds, chunk[-1:]
        take(chunk)
    return ends


def with_equal_ends(path: str, delimiter: str) -> Iterator[bytes]:
    """Read a file record by record, each with the same end; line ends between quotes stay as they are."""
    for record in records(path, delimiter):
        yield record.raw.removesuffix(b"\n").removesuffix(b"\r") + b"\n"


def raw_fields(record: Record, delimiter: bytes) -> list[bytes]:
    """Return the fields of a record as they stand, quotes and all.

    Examples
    --------
    >>> raw_fields(Record(1, b'a,"b,b",5" c\\n', ()), b",")
    [b'a', b'"b,b"', b'5" c']
    """
    raw = record.raw.removesuffix(b"\n").removesuffix(b"\r")
    if b'"' not in raw:
        return raw.split(delimiter)
    between = re.escape(delimiter)
    return re.findall(rb'(?s)("[^"]*(?:""[^"]*)*"|.*?)' + between, raw + delimiter)


def quoted_field(text: str, delimiter: str) -> str:
    """Return a text as a field of a CSV file: between quotes where it would be read as something else."""
    odd = (delimiter, '"', "\r", "\n")
    return '"' + text.replace('"', '""') + '"' if not text or any(each in text for each in odd) else text


def misfit(record: Record, fields: int) -> str | None:
    """Say that a record has not as many fields as it should have; None where it has, or is an empty line."""
    if len(record.fields) == fields or not record.fields:
        return None
    return f"has {len(record.fields)} fields in line {record.line} where it should have {fields}"


def fault(path: str, fields: int, delimiter: str) -> str | None:
    """Say what is wrong with the rows of a file that should have so many fields each; None where nothing is."""
    try:
        return next(filter(None, (misfit(record, fields) for record in records(path, delimiter))), None)
    except Unended as error:
        return str(error)
