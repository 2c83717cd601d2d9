"""Files appear whole or not at all: written beside their name, then renamed."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from evenhand import check
from evenhand.errors import StorageError


@contextmanager
def replacing(path: str | os.PathLike[str], suffix: str = "") -> Iterator[str]:
    """Give the name of an empty file beside another, and put it in that one's place if nothing goes wrong.

    It is hidden, so that no pattern for tables finds it.
    """
    folder = Path(check.path("path", path)).resolve().parent
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".evenhand-", suffix=suffix)
    except OSError as error:
        raise StorageError(f"cannot write into {os.fspath(folder)!r}: {error.strerror}") from None
    os.close(handle)
    try:
        yield temporary
        # The system tells its mask only in exchange for another.
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)
        os.replace(temporary, path)
    except OSError as error:
        raise StorageError(f"cannot write {os.fspath(path)!r}: {error.strerror}") from None
    finally:
        Path(temporary).unlink(missing_ok=True)


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Put content under a name in one step, or leave what was there."""
    with replacing(path) as temporary:
        Path(temporary).write_bytes(content)
