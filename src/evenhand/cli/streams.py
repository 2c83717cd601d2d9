"""The output and the error stream: whatever may be wrong with them is dealt with here, and commands simply write.

Whoever reads may stop early, the disk may be full, a stream may be closed from the start or know no letters but
ASCII. Loads no library, so that the version comes at once.
"""

from __future__ import annotations

import codecs
import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, TextIO, cast

from evenhand.cli.exits import Exit
from evenhand.files import reason

KEPT = "\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{IDEOGRAPHIC SPACE}\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"
"""What Python does not call printable, but ordinary writing needs; it moves nothing."""

PLAIN = {"•": "*", "…": "...", "–": "-", "—": "-", "−": "-", "±": "+-", "≤": "<=", "≥": ">=", "→": "->", "·": "*"}
"""What stands for the signs of our own sentences where a stream does not know them."""


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


def _spelled(error: UnicodeError) -> tuple[str, int]:
    """Write a letter that an encoding does not have, as a plain one or as its number."""
    assert isinstance(error, UnicodeEncodeError)
    letters = error.object[error.start : error.end]
    spelled = (PLAIN.get(letter) or letter.encode("ascii", "backslashreplace").decode("ascii") for letter in letters)
    return "".join(spelled), error.end


SPELLED = "evenhand.spelled"
codecs.register_error(SPELLED, _spelled)


class Stream:
    """A stream that can be written to whatever becomes of it; in all else it is the one that it stands for.

    The output is the answer: if it cannot be written, the command ends, and says so. Complaints that cannot be written
    are dropped, since the exit code says the same.
    """

    def __init__(self, stream: TextIO | None, *, answers: bool) -> None:
        self.stream = stream
        self.answers = answers

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)

    @property
    def encoding(self) -> str:
        """The name of its encoding."""
        return getattr(self.stream, "encoding", None) or "utf-8"

    def isatty(self) -> bool:
        """Whether somebody looks at it."""
        return self.stream is not None and self.stream.isatty()

    def write(self, text: str) -> int:
        """Write a text, with what its encoding does not have spelled out."""
        with self._ending():
            if self.stream is None:
                raise OSError(errno.EBADF, "it is closed")
            self.stream.write(text.encode(self.encoding, SPELLED).decode(self.encoding))
        return len(text)

    def flush(self) -> None:
        """Send what was written on its way."""
        with self._ending():
            if self.stream is not None:
                self.stream.flush()

    @contextmanager
    def _ending(self) -> Iterator[None]:
        """End the command where nobody reads any more, or where its answer cannot be written."""
        try:
            yield
        except BrokenPipeError:
            # Without a word, as other programs do whose reader went away.
            self._silence()
            raise SystemExit(Exit.UNREAD) from None
        except (OSError, ValueError) as error:
            self._silence()
            if self.answers:
                sys.stderr.write(f"Error: cannot write to the output stream: {reason(error)}\n")
                sys.stderr.flush()
                raise SystemExit(Exit.INPUT) from None

    def _silence(self) -> None:
        """Let everything that is still to come vanish: Python would write it, and fail, when it ends."""
        with suppress(OSError, ValueError, AttributeError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, cast(TextIO, self.stream).fileno())
            os.close(nowhere)


@contextmanager
def guarded() -> Iterator[None]:
    """Put such streams in place of Python's own."""
    before = sys.stdout, sys.stderr
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The next file that is opened would get the number of a closed stream, and all that is printed there.
            os.open(os.devnull, os.O_RDWR)
    sys.stdout, sys.stderr = (cast(TextIO, Stream(stream, answers=place == 0)) for place, stream in enumerate(before))
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before
