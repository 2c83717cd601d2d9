"""The last resort: an error that nobody thought of ends in one line as well, which asks to report it.

It stands on the standard library alone, so that it has words also where others fail.
"""

from __future__ import annotations

import json
import logging
import sys
import traceback

from evenhand._version import __version__
from evenhand.cli.exits import Exit
from evenhand.text import printable

LONGEST = 300
"""How many letters of what another library says are repeated; it may hold half a table."""


def explain(error: Exception) -> Exit:
    """Say what happened, on the error stream or as JSON on the output stream, and return how to end."""
    for line in "".join(traceback.format_exception(error)).splitlines():
        logging.getLogger("evenhand").info("%s", line)
    said = " ".join(str(error).split())
    said = said if len(said) <= LONGEST else f"{said[:LONGEST]}…"
    message = (
        f"evenhand {__version__} has a defect that shows here; please report it, with the command that was run and "
        f"this line: {type(error).__name__}{': ' * bool(said)}{said}"
    )
    if "--json" in sys.argv[1:]:
        document = {"error": {"kind": "UnexpectedError", "message": message, "exit_code": int(Exit.UNEXPECTED)}}
        stream, text = sys.stdout, json.dumps(document, indent=2)
    else:
        stream, text = sys.stderr, printable(f"Error: {message}")
    stream.write(f"{text}\n")
    stream.flush()
    return Exit.UNEXPECTED
