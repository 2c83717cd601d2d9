"""Files appear whole or not at all: written beside their name, then renamed."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from evenhand.errors import StorageError


def replace_file(path: str | os.PathLike[str], content: bytes) -> None:
    """Put content under a name in one step, or leave what was there."""
    folder = Path(path).resolve().parent
    try:
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".evenhand-")
    except OSError as error:
        raise StorageError(f"cannot write into {os.fspath(folder)!r}: {error.strerror}") from None
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, path)
    except BaseException as error:
        os.unlink(temporary)
        if isinstance(error, OSError):
            raise StorageError(f"cannot write {os.fspath(path)!r}: {error.strerror}") from None
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
