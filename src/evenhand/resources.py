"""What work on large tables may use: memory, cores, and a folder for what does not fit into memory.

One setting for everything that runs inside it, from the environment unless somebody says otherwise. Knows nothing of
tables or of DuckDB.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TypeAlias, TypeVar

from evenhand import check
from evenhand.errors import SpecError

Progress: TypeAlias = Callable[[str, float], None]
"""Called with the name of the stage and the share of the whole that is done."""


def silent(stage: str, share: float) -> None:
    """Report progress to nobody."""


T = TypeVar("T")
R = TypeVar("R")

MEMORY, THREADS, SPILL = "EVENHAND_MEMORY", "EVENHAND_THREADS", "EVENHAND_SPILL"
UNPACKED = "EVENHAND_UNPACKED"
"""Environment variables."""

USUAL = "1GB"
"""How much memory is used where nothing is said."""

LEAST = "64MB"
"""With less DuckDB does not read a file of a few columns."""

MOST = "1000TB"

LARGEST = 10**30
"""A number of bytes that is worth writing out."""

FOLDER = "a folder that exists"

MOST_THREADS = 256
"""More bring nothing on any machine, and thousands bring one down."""

UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "KI": 2**10, "MI": 2**20, "GI": 2**30, "TI": 2**40}

BLOCK = 1 << 17
"""Rows that are worked on at once."""


@dataclass(frozen=True)
class Resources:
    """How much may be used.

    Attributes
    ----------
    memory : int
        Bytes that reading, transforming and writing a file may hold at once, besides the interpreter and its libraries.
    threads : int
        How many cores work at once.
    spill : str or None
        The folder for what does not fit into memory; None is the result's own folder, or the system's for temporary
        files where there is no result.
    unpacked : int or None
        The most bytes that a packed file may unpack to; None is what files usually do, by their packed size.
    """

    memory: int
    threads: int
    spill: str | None = None
    unpacked: int | None = None

    def __post_init__(self) -> None:
        if not in_bytes(LEAST) <= self.memory <= in_bytes(MOST):
            # Python does not write numbers of thousands of digits.
            given = f", not {words(self.memory)}" if abs(self.memory) < LARGEST else ""
            raise SpecError(f"memory must be from {LEAST} to {MOST}{given}")
        object.__setattr__(self, "threads", check.whole("threads", self.threads, low=1, high=MOST_THREADS))
        if self.spill is not None and not os.path.isdir(self.spill):
            raise check.refused("spill", FOLDER, self.spill)
        if self.unpacked is not None:
            check.whole("unpacked", self.unpacked, low=1, high=in_bytes(MOST))

    def folder(self, target: str | None = None) -> str:
        """Return where to put what does not fit into memory: beside a result, unless a folder was chosen."""
        beside = tempfile.gettempdir() if target is None else os.path.dirname(os.path.realpath(target))
        return self.spill or beside


_CHOSEN: ContextVar[Resources | None] = ContextVar("evenhand_resources", default=None)


def current() -> Resources:
    """Return what may be used here."""
    chosen = _CHOSEN.get()
    if chosen is not None:
        return chosen
    memory, threads, spill, unpacked = (os.environ.get(name, "") for name in (MEMORY, THREADS, SPILL, UNPACKED))
    # A process may use fewer cores than there are.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    try:
        if threads and not re.fullmatch(r"\s*[0-9]{1,9}\s*", threads):
            raise SpecError(f"threads must be a whole number from 1 to {MOST_THREADS}, not {threads!r}")
        return Resources(
            in_bytes(memory or USUAL), int(threads) if threads else cores, spill or None,
            in_bytes(unpacked, "unpacked") if unpacked else None,
        )  # fmt: skip
    except SpecError as error:
        names = f"{MEMORY}, {THREADS}, {SPILL} or {UNPACKED}"
        raise SpecError(*error.pieces, f" (from the environment: {names})") from None


@contextmanager
def using(
    *,
    memory: str | int | None = None,
    threads: int | None = None,
    spill: str | os.PathLike[str] | None = None,
    unpacked: str | int | None = None,
) -> Iterator[Resources]:
    """Bound what work on large tables uses, for as long as the ``with`` block runs; what is not given stays.

    Parameters
    ----------
    memory : str or int
        What reading, transforming and writing a file may hold at once: "2GB", "800MB" or a number of bytes. The
        interpreter and its libraries, 150 to 300 MB, come on top. By default EVENHAND_MEMORY, or 1 GB. A fit is not
        bounded by it: it is refused where it would not fit into what the machine, or its control group, has left.
    threads : int
        How many cores to use. By default EVENHAND_THREADS, or all that the process may use.
    spill : path
        A folder for what does not fit into memory. By default EVENHAND_SPILL, or the folder of the result; where there
        is none, the system's folder for temporary files.
    unpacked : str or int
        How large a packed file may be unpacked. By default EVENHAND_UNPACKED, or 100 times its packed size, and 256 MB
        at least: a file that unpacks to more was probably made to fill a disk.

    Examples
    --------
    >>> import evenhand as eh
    >>> with eh.using(memory="2GB", threads=1) as resources:
    ...     resources.memory, resources.threads
    (2000000000, 1)
    """
    now = current()
    chosen = Resources(
        now.memory if memory is None else in_bytes(memory),
        now.threads if threads is None else threads,
        now.spill if spill is None else check.path("spill", spill, FOLDER),
        now.unpacked if unpacked is None else in_bytes(unpacked, "unpacked"),
    )
    token = _CHOSEN.set(chosen)
    try:
        yield chosen
    finally:
        _CHOSEN.reset(token)


_HEEDED: ContextVar[Callable[[], None] | None] = ContextVar("evenhand_heeded", default=None)


@contextmanager
def heeding(check: Callable[[], None]) -> Iterator[None]:
    """Let long work inside the ``with`` block call ``check`` now and then, which raises where it is to stop."""
    token = _HEEDED.set(check)
    try:
        yield
    finally:
        _HEEDED.reset(token)


def heed() -> None:
    """Stop here if somebody asked for it; called between steps that each take a moment on a large table."""
    check = _HEEDED.get()
    if check is not None:
        check()


def in_bytes(size: str | int, what: str = "memory") -> int:
    """Return a size as a number of bytes.

    Examples
    --------
    >>> in_bytes("1.5GB"), in_bytes("512 MiB"), in_bytes(100)
    (1500000000, 536870912, 100)
    """
    if isinstance(size, Integral) and not isinstance(size, bool):
        return check.whole(what, size)
    text = size.upper() if isinstance(size, str) else ""
    found = re.fullmatch(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([KMGT]?I?)B?\s*", text)
    if found is None or found[2] not in UNITS:
        raise SpecError(f"{what} must look like 512MB or 2GB, not {check.shown(size)}")
    # However many digits there are: a size that is far too large is one, which others refuse.
    return int(min(float(found[1]) * UNITS[found[2]], LARGEST))


def words(size: int) -> str:
    """Return a number of bytes as people write it.

    Examples
    --------
    >>> words(512_000_000), words(2_500_000_000), words(1000)
    ('512MB', '2.5GB', '0.001MB')
    """
    return f"{size / 10**9:g}GB" if size >= 10**9 else f"{size / 10**6:g}MB"


def free_memory(root: Path = Path("/")) -> int | None:
    """Return the bytes that this process may still take: what the machine, and every control group it is in, has left.

    None where the system does not tell. A fit is held against this, and not against ``memory``, which bounds work on
    files: what a fit needs is known only once a table was counted, and no part of it can go to a folder.
    """
    found = [
        int(line.split()[1]) * 1024
        for line in _read(root / "proc/meminfo").splitlines()
        if line.startswith("MemAvailable:")
    ]
    for line in _read(root / "proc/self/cgroup").splitlines():
        _, controllers, path = line.split(":", 2)
        # Version 2 has one tree without a name, version 1 a tree of its own for memory.
        if controllers not in ("", "memory"):
            continue
        group = root / "sys/fs/cgroup" / controllers
        for name in (".", *Path(path.strip("/")).parts):
            # In a container the group may be the root of what is mounted, so that parts of its path are not there.
            group = group / name
            found += _left_in(group)
    return min(found, default=None)


def _left_in(group: Path) -> Iterator[int]:
    """Yield what a control group of either version has left; pages of files that it can drop count as left."""
    for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
        most, taken = _read(group / limit).strip(), _read(group / used).strip()
        if most.isdecimal() and taken.isdecimal():
            stat = dict(line.split() for line in _read(group / "memory.stat").splitlines() if len(line.split()) == 2)
            yield max(0, int(most) - int(taken) + int(stat.get("total_inactive_file", stat.get("inactive_file", 0))))


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except OSError:
        return ""


def each_of(items: Sequence[T], work: Callable[[T], R]) -> list[R]:
    """Work on each item, on every core where it lets go of the interpreter; the first item's error comes first."""
    # What may be used is only asked where there is something to share out.
    if len(items) <= 1 or min(current().threads, len(items)) <= 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(max_workers=min(current().threads, len(items))) as pool:
        return list(pool.map(work, items))


def in_blocks(size: int, work: Callable[[slice], R], block: int = BLOCK) -> list[R]:
    """Work on blocks of rows that stay in the cache, on every core; NumPy lets go of the interpreter meanwhile."""
    # A table without rows is one empty block.
    return each_of([slice(first, min(first + block, size)) for first in range(0, max(size, 1), block)], work)


def part_of(report: Progress, first: float, last: float) -> Progress:
    """Tell of a part of the work, between two shares of the whole."""
    return lambda stage, share: report(stage, first + (last - first) * share)
