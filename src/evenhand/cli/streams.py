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
