"""DuckDB for one piece of work on files: its limits, where it spills, how far it is, and its errors as ours."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, Thread
from typing import Any

from evenhand.errors import DataError, EvenhandError, MissingExtraError, Option, StorageError
from evenhand.resources import Progress, Resources, current, words

DUCKDB_SHARE = 0.9
"""How much of the memory DuckDB may hold; batches on their way through the kernel have the rest."""

GLANCE = 0.2
"""Seconds between two looks at how far a query is."""

BLOCK = 1 << 18
"""DuckDB writes so many bytes at once: a disk with less room is full."""

FULL = "the disk is full"


@contextmanager
def connection(name: str, target: str | None = None) -> Iterator[Any]:
    """Open DuckDB for one piece of work on a file; its errors become ours.

    What does not fit into memory goes beside ``target``, into a folder that DuckDB makes when it first needs one.
    """
    duckdb = duck()
    resources = current()
    spill = Path(resources.folder(target)) / f".evenhand-{secrets.token_hex(6)}"
    memory = f"{int(resources.memory * DUCKDB_SHARE) // 1000}KB"
    opened = duckdb.connect(
        config={"memory_limit": memory, "threads": resources.threads, "temp_directory": os.fspath(spill)}
    )
    try:
        # Otherwise all columns of a row group are read at once, however large it is.
        opened.execute("SET GLOBAL disable_parquet_prefetching = true")
        yield observable(opened)
    except (duckdb.Error, OSError) as error:
        if not isinstance(error, duckdb.Error) and error.errno is not None:
            raise
        raise explained(name, error, resources, spill.parent) from None
    finally:
        opened.close()
        shutil.rmtree(spill, ignore_errors=True)


def kind_of(error: BaseException) -> type[BaseException]:
    """Return the class of one of DuckDB's errors.

    Through Arrow they arrive as errors of the system without a number, and the name of the class is how they begin.
    """
    duckdb = duck()
    kinds = {
        "Out of Memory Error": duckdb.OutOfMemoryException,
        "Invalid Input Error": duckdb.InvalidInputException,
        "IO Error": duckdb.IOException,
    }
    found: type[BaseException] = type(error)
    return found if isinstance(error, duckdb.Error) else kinds.get(str(error).split(":", 1)[0], found)


def observable(duck_: Any) -> Any:
    """Let a connection be asked how far its query is, which DuckDB answers only where a bar could be drawn."""
    duck_.execute("SET enable_progress_bar = true")
    duck_.execute("SET enable_progress_bar_print = false")
    return duck_


@contextmanager
def watched(duck_: Any, what: str, progress: Progress | None) -> Iterator[None]:
    """Say how far the queries of a connection are, while they run."""
    if progress is None:
        yield
        return
    done = Event()

    def look() -> None:
        # Who ends the work by raising here is heard in the thread that does it.
        with suppress(KeyboardInterrupt):
            while not done.wait(GLANCE):
                share = share_done(duck_)
                progress(f"{what}: {share:.0%}" if share else what, share)

    watcher = Thread(target=look, daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def share_done(duck_: Any) -> float:
    """Return how much of the running query is done; 0 where that is not known."""
    return max(float(duck_.query_progress()), 0.0) / 100


def duck() -> Any:
    """Import DuckDB, or say how to install it."""
    arrow()
    try:
        import duckdb
    except ImportError:
        raise _missing() from None
    return duckdb


def arrow() -> Any:
    """Import Arrow, or say how to install it."""
    try:
        import pyarrow
        import pyarrow.compute
    except ImportError:
        raise _missing() from None
    return pyarrow


def _missing() -> MissingExtraError:
    return MissingExtraError("files are read by DuckDB and Arrow: pip install 'evenhand[files]'")


def explained(name: str, error: BaseException, resources: Resources, folder: Path) -> EvenhandError:
    """Return the error that says in one sentence what DuckDB found wrong; ``folder`` is where it spills."""
    duckdb, kind = duck(), kind_of(error)
    if kind is duckdb.IOException and (why := why_unwritable(folder)):
        return no_room(folder, why)
    if kind is duckdb.OutOfMemoryException:
        # DuckDB leaves some of a disk free, and calls that a lack of memory too.
        if shutil.disk_usage(folder).free < resources.memory:
            return no_room(folder, FULL)
        fewer = (", or ", Option("threads", resources.threads // 2)) if resources.threads > 1 else ()
        return DataError(
            f"{name!r} cannot be worked on within {words(resources.memory)} of memory; try ",
            Option("memory", words(2 * resources.memory)),
            *fewer,
        )
    return DataError(f"{name!r} cannot be read: {first_line(error)}")


def first_line(error: BaseException) -> str:
    """Return what one of DuckDB's errors says first, without the name of its class."""
    return next(iter(str(error).splitlines()), type(error).__name__).split(": ", 1)[-1]


def why_unwritable(place: Path) -> str | None:
    """Say why a folder takes no more files, or a file no more bytes; None where it does."""
    try:
        with tempfile.TemporaryFile(dir=place) if place.is_dir() else place.open("ab") as file:
            file.write(bytes(BLOCK))
    except OSError as error:
        return in_words_of(error)
    return None


def in_words_of(error: OSError) -> str:
    return FULL if error.errno == errno.ENOSPC else error.strerror or str(error)


def no_room(folder: Path, why: str | OSError) -> StorageError:
    """Return the error that says that a folder takes no more of what does not fit into memory."""
    why = why if isinstance(why, str) else in_words_of(why)
    return StorageError(
        f"{why}: {os.fspath(folder)!r} has no room for what does not fit into memory "
        f"({words(current().memory)}); raise ",
        Option("memory"),
        ", or choose another folder with EVENHAND_SPILL",
    )


def literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
