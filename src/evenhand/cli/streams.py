"""The output and the error stream: what reaches a terminal, and how a command ends that cannot write.

Loads no library, so that the version comes at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import Any, TextIO, TypeVar, cast

from evenhand.cli.exits import Exit
from evenhand.files import reason

T = TypeVar("T")

KEPT = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""What Python does not call printable, but ordinary writing needs; it moves nothing."""


def printable(text: str) -> str:
    """Return a text that a terminal only shows: in place of what it would obey stands a sign for it.

    Examples
    --------
    >>> printable("naïve"), printable("red" + chr(27) + "[31m"), printable("two" + chr(10) + "lines")
    ('naïve', 'red�[31m', 'two�lines')
    """
    # Most texts are printable as they are.
    return text if text.isprintable() else "".join(map(_shown, text))


def _shown(letter: str) -> str:
    return letter if letter.isprintable() or letter in KEPT else "\N{REPLACEMENT CHARACTER}"


class Stream:
    """A stream that ends the command where it cannot be written to; rich and typer would end it with other codes."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    def write(self, text: str) -> int:
        return self._tried(lambda: self.stream.write(text))

    def flush(self) -> None:
        """Write what is buffered."""
        self._tried(self.stream.flush)

    def _tried(self, work: Callable[[], T]) -> T:
        try:
            return work()
        except OSError as error:
            # Python flushes once more when it ends, and must not fail then.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.stream.fileno())
            if isinstance(error, BrokenPipeError):
                raise SystemExit(Exit.UNREAD) from None
            raise refused(reason(error)) from None


def refused(why: str) -> SystemExit:
    """Report that the output cannot be written, and return the end of the command."""
    sys.stderr.write(f"Error: cannot write to the output stream: {why}\n")
    return SystemExit(Exit.INPUT)


@contextmanager
def guarded() -> Iterator[None]:
    """Put such streams in place of Python's own, which are None where they are closed."""
    errors = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    with redirect_stderr(cast(TextIO, Stream(errors))):
        if sys.stdout is None:
            raise refused("it is closed")
        with redirect_stdout(cast(TextIO, Stream(sys.stdout))):
            yield
