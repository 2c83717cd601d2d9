"""Files appear whole or not at all, and those of one command together: written beside their names, then renamed.

A link is followed, and only a regular file is ever replaced, by one of the same owner and mode. Where nothing may be
replaced, a name that another process took meanwhile is refused.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from evenhand import check
from evenhand.errors import Option, StorageError

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
    _refuse_irregular(path, found)
    return found


def content_of(path: str | os.PathLike[str], what: str, most: int | None = None) -> bytes:
    """Read a regular file, or its first bytes, as far as the system says that it is long; ``what`` it is to messages.

    A device or a pipe, which may never end, is refused, and so is an empty file, as pseudo-files of the kernel are.
    """
    name = os.fspath(path)
    try:
        # A pipe is opened without waiting for whoever writes into it.
        with open(path, "rb", opener=lambda path, flags: os.open(path, flags | getattr(os, "O_NONBLOCK", 0))) as file:
            found = os.fstat(file.fileno())
            _refuse_irregular(name, found)
            if not found.st_size:
                raise StorageError(f"{what} {name!r} is empty")
            return file.read(found.st_size if most is None else min(most, found.st_size))
    except (OSError, ValueError) as error:
        raise StorageError(f"cannot read {what} {name!r}: {reason(error)}") from None


def text_of(path: str | os.PathLike[str], what: str) -> str:
    """Read a regular file of text in UTF-8."""
    try:
        return content_of(path, what).decode()
    except UnicodeDecodeError:
        raise StorageError(f"cannot read {what} {os.fspath(path)!r}: it is not text in UTF-8") from None


def _refuse_irregular(path: str | os.PathLike[str], found: os.stat_result) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = KINDS.get(stat.S_IFMT(found.st_mode), "no regular file")
        raise StorageError(f"{os.fspath(path)!r} is {kind}; give the name of a file")


def reason(error: OSError | ValueError) -> str:
    """Return why the system, or Python before it, refuses a path."""
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


@dataclass(frozen=True)
class _Staged:
    """A complete file under a temporary name, in a hidden folder of its own beside the name that it will have.

    ``path`` is that name as it was given, for messages.
    """

    path: str
    temporary: str
    target: str
    replaces: bool

    @property
    def _before(self) -> str:
        return f"{self.temporary}.before"

    def publish(self) -> None:
        if self.replaces:
            # For taking it back.
            with suppress(OSError):
                os.link(self.target, self._before)
            os.replace(self.temporary, self.target)
            return
        try:
            self._publish_new()
        except FileExistsError:
            raise StorageError(f"{self.path!r} exists already; ", Option("force", True), " overwrites it") from None

    def _publish_new(self) -> None:
        try:
            os.link(self.temporary, self.target)
        except FileExistsError:
            raise
        except OSError:
            # Some file systems have no hard links: there the name is taken first.
            os.close(os.open(self.target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            try:
                os.replace(self.temporary, self.target)
            except OSError:
                os.unlink(self.target)
                raise

    def take_back(self) -> None:
        with suppress(OSError):
            if os.path.exists(self._before):
                os.replace(self._before, self.target)
            else:
                os.unlink(self.target)


@dataclass(frozen=True)
class Together:
    """Files that wait for each other, and what is held until they have appeared, such as a lock."""

    force: bool
    until_then: ExitStack
    staged: list[_Staged] = field(default_factory=list)

    def publish(self) -> None:
        """Give every file its name; if one cannot have it, none has."""
        done: list[_Staged] = []
        with uninterrupted():
            for each in self.staged:
                try:
                    each.publish()
                except (OSError, StorageError) as error:
                    for other in reversed(done):
                        other.take_back()
                    if isinstance(error, StorageError):
                        raise
                    raise StorageError(f"cannot write {each.path!r}: {reason(error)}") from None
                done.append(each)


_TOGETHER: ContextVar[Together | None] = ContextVar("evenhand_together", default=None)


@contextmanager
def together(*, force: bool = True) -> Iterator[Together]:
    """Let files that are written inside the ``with`` block appear at its end, all of them; if it fails, none does.

    Inside another such block they wait for the end of that one. Without ``force`` no file is replaced, not even one
    that another process wrote since the block began.
    """
    outer = _TOGETHER.get()
    if outer is not None:
        yield outer
        return
    with ExitStack() as until_then:
        found = Together(force, until_then)
        token = _TOGETHER.set(found)
        try:
            yield found
        finally:
            _TOGETHER.reset(token)
        found.publish()


@contextmanager
def replacing(path: str | os.PathLike[str], *, always: bool = False) -> Iterator[str]:
    """Give the name of an empty file beside another, and put it in that one's place if nothing goes wrong.

    It has the same name in a hidden folder, so that no pattern for tables finds it. With ``always`` it replaces a file
    that is there even where others must not: it is that file, with something added.
    """
    before = existing(check.path("path", path))
    target = os.path.realpath(path)
    with together() as others:
        try:
            folder = tempfile.mkdtemp(dir=os.path.dirname(target), prefix=".evenhand-")
            others.until_then.callback(shutil.rmtree, folder, ignore_errors=True)
            # DuckDB opens only names that are text.
            temporary = os.path.join(folder, os.path.basename(target).encode(errors="replace").decode())
            Path(temporary).touch()
        except OSError as error:
            raise StorageError(f"cannot write into {os.path.dirname(target)!r}: {error.strerror}") from None
        try:
            yield temporary
            _dress(temporary, before)
        except OSError as error:
            raise StorageError(f"cannot write {os.fspath(path)!r}: {reason(error)}") from None
        others.staged.append(_Staged(os.fspath(path), temporary, target, others.force or always))


def current_place(path: str | os.PathLike[str]) -> str:
    """Return where a file can be read now: under its temporary name, if it waits for others."""
    others, target = _TOGETHER.get(), os.path.realpath(path)
    waiting = () if others is None else others.staged
    return next((each.temporary for each in waiting if each.target == target), os.fspath(path))


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Let Ctrl-C and SIGTERM wait for the end of the block: they must not fall between two renames."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []

    def note(number: int, frame: Any) -> None:
        came.append(number)

    handlers: dict[signal.Signals, Any] = {}
    try:
        for number in (signal.SIGINT, signal.SIGTERM):
            # One that was not set by Python could not be set again.
            if (handler := signal.getsignal(number)) is not None:
                handlers[number] = handler
                signal.signal(number, note)
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for each in came:
            signal.raise_signal(each)


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


def replace_file(path: str | os.PathLike[str], content: bytes, *, always: bool = False) -> None:
    """Put content under a name in one step, or leave what was there; ``always`` is as in :func:`replacing`."""
    with replacing(path, always=always) as temporary:
        Path(temporary).write_bytes(content)


@dataclass(frozen=True)
class Checksum:
    """The SHA-256 of a file that was read or written to its end, and its size and time then."""

    sha256: str
    state: tuple[int, int]

    @classmethod
    def of(cls, path: str | os.PathLike[str], sha256: str) -> Checksum:
        return cls(sha256, _state(path))

    def holds(self, path: str | os.PathLike[str]) -> bool:
        """Whether nothing was written to the file since."""
        return self.state == _state(path)


def _state(path: str | os.PathLike[str]) -> tuple[int, int]:
    found = os.stat(path)
    return found.st_size, found.st_mtime_ns


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
