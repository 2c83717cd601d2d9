"""The command line: parse, call, print.

Every command takes ``--json``. Errors are explained, never traced; how a command ends is listed in ``exits``. Modules
that take long to import are imported by the commands that need them, so that help and complaints come at once.
"""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper

from evenhand._version import __version__
from evenhand.cli.exits import Exit
from evenhand.files import reason


def main() -> None:
    """Run the command line; explain errors instead of tracing them, also those that nobody thought of."""
    code: str | int | None = None
    try:
        # Python has None for a stream that is closed.
        sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
        if sys.stdout is None:
            raise OSError("it is closed")
        if isinstance(sys.stdout, TextIOWrapper):
            sys.stdout.reconfigure(errors="backslashreplace")
        _run()
    except KeyboardInterrupt:
        # Before or after a command, whose own words say that it was interrupted.
        code = Exit.INTERRUPTED
    except SystemExit as end:
        # rich and typer end with 1 where nobody reads.
        code = Exit.UNREAD if isinstance(end.__context__, BrokenPipeError) else end.code
    except BrokenPipeError:
        code = Exit.UNREAD
    except OSError as error:
        code = Exit.INPUT
        with suppress(OSError):
            sys.stderr.write(f"Error: cannot write to the output stream: {reason(error)}\n")
    for stream in filter(None, (sys.__stdout__, sys.__stderr__)):
        try:
            stream.flush()
        except OSError:
            # Python flushes once more when it ends, and must not fail then.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(code)


def _run() -> None:
    try:
        # The version is asked for by scripts, and is known before anything else is imported.
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"evenhand {__version__}\n")
            sys.stdout.flush()
            return
        from evenhand.cli.commands import run

        run()
    except OSError:
        raise
    except Exception as error:
        from evenhand.cli.unexpected import explain

        sys.exit(explain(error))
