"""Files appear whole or not at all: written beside their name, then renamed.

A link is followed, and only a regular file is ever replaced, by one of the same owner and mode.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from evenhand import check
from evenhand.errors import StorageError

KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
}
"""What a name may stand for besides a regular file."""


PIECE = 1 << 20
"""So many bytes of a file are held at once."""


def existing(path: str | os.PathLike[str]) -> os.stat_result | None:
    """Return what is known of the regular file that an output would replace; refuse what is none.

    A device or a pipe is not replaced, whatever was asked for: other programs need it where it is.
    """
    try:
        found = os.stat(path)
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot write {os.fspath(path)!r}: {reason(error)}") from None
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise StorageError(f"{os.fspath(path)!r} is {kind}; give the name of a file")
    return found


def reason(error: OSError | ValueError) -> str:
    """Return why the system, or Python before it, refuses a path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@contextmanager
def replacing(path: str | os.PathLike[str], suffix: str = "") -> Iterator[str]:
    """Give the name of an empty file beside another, and put it in that one's place if nothing goes wrong.

    It is hidden, so that no pattern for tables finds it.
    """
    before = existing(check.path("path", path))
    target = os.path.realpath(path)
    folder = os.path.dirname(target)
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".evenhand-", suffix=suffix)
    except OSError as error:
        raise StorageError(f"cannot write into {folder!r}: {error.strerror}") from None
    os.close(handle)
    try:
        yield temporary
        _dress(temporary, before)
        os.replace(temporary, target)
    except OSError as error:
        raise StorageError(f"cannot write {os.fspath(path)!r}: {reason(error)}") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


@contextmanager
def alone(path: str | os.PathLike[str]) -> Iterator[None]:
    """Wait until no other process is in here for a file of the same folder, so that two do not replace it at once.

    Where the system has no such locks, nothing is waited for.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    folder = os.path.dirname(os.path.realpath(path))
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError as error:
        raise StorageError(f"cannot write into {folder!r}: {error.strerror}") from None
    try:
        # Some network drives have no locks.
        with suppress(OSError):
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        # Whoever closes it lets the next one in.
        os.close(handle)


def _dress(temporary: str, before: os.stat_result | None) -> None:
    """Give a file, which is its owner's alone so far, the owner and mode of the one before, or those of a new one."""
    if before is None:
        # The system tells its mask only in exchange for another.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        return
    if hasattr(os, "chown"):
        # Who may write into the folder may replace the file, but not always give its owner a new one.
        with suppress(PermissionError):
            os.chown(temporary, before.st_uid, before.st_gid)
    os.chmod(temporary, stat.S_IMODE(before.st_mode))


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Put content under a name in one step, or leave what was there."""
    with replacing(path) as temporary:
        Path(temporary).write_bytes(content)


def sha256_of(path: str | os.PathLike[str], tell: Callable[[float], None] | None = None) -> str:
    """Return the SHA-256 of a file's bytes, which are read piece by piece; ``tell`` hears which share is done."""
    found, done, piece = hashlib.sha256(), 0, memoryview(bytearray(PIECE))
    try:
        with open(path, "rb", buffering=0) as file:
            size = max(os.fstat(file.fileno()).st_size, 1)
            while read := file.readinto(piece):
                found.update(piece[:read])
                done += read
                if tell is not None:
                    tell(min(done / size, 1.0))
        return found.hexdigest()
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {os.fspath(path)!r}: {reason(error)}") from None
