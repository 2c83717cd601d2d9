"""The command line: parse, call, print.

Every command takes ``--json``. Errors are explained, never traced; how a command ends is listed in ``exits``. Modules
that take long to import are imported by the commands that need them, so that help and complaints come at once.
"""

from __future__ import annotations

import os
import sys

from evenhand._version import __version__


def main() -> None:
    """Run the command line; explain errors instead of tracing them."""
    try:
        # The version is asked for by scripts, and is known before anything else is imported.
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"evenhand {__version__}\n")
            sys.stdout.flush()
            return
        from evenhand.cli.commands import run

        run()
    except BrokenPipeError:
        # End without a word and without an answer, as other programs do whose reader went away. What is still buffered
        # would be written, and fail, when Python ends.
        from evenhand.cli.exits import Exit

        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(Exit.UNREAD)
