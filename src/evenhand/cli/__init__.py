"""The command line: parse, call, print.

Every command takes ``--json``. Errors are explained, never traced; how a command ends is listed in ``exits``. Modules
that take long to import are imported by the commands that need them, so that help and complaints come at once.
"""

from __future__ import annotations

import sys

from evenhand._version import __version__


def main() -> None:
    """Run the command line; explain errors instead of tracing them, also those that nobody thought of."""
    try:
        from evenhand.cli.streams import guarded

        with guarded():
            _run()
    except KeyboardInterrupt:
        # Before or after a command, whose own words say that it was interrupted.
        sys.exit(130)


def _run() -> None:
    try:
        # The version is asked for by scripts, and is known before anything else is imported.
        if sys.argv[1:] == ["--version"]:
            sys.stdout.write(f"evenhand {__version__}\n")
            sys.stdout.flush()
            return
        from evenhand.cli.commands import run

        run()
    except Exception as error:
        from evenhand.cli.unexpected import explain

        sys.exit(explain(error))
