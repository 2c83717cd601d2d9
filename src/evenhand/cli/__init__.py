"""The command line: parse, call, print.

Exit codes: 0 done; 1 the answer is no (a number or a certificate does not hold, a problem is infeasible), or an error
that is explained; 2 a wrong command; 130 interrupted.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from evenhand import screen
from evenhand._version import __version__
from evenhand.cli import mappings, problems, studies
from evenhand.errors import EvenhandError

INTERRUPTED = 130

app = typer.Typer(
    name="evenhand",
    help="Bound an outcome's dependence on protected attributes by a certified, randomized change of the table.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Run the command line; explain errors instead of tracing them."""
    try:
        app()
    except EvenhandError as error:
        screen.complaints.print(f"[bold red]Error[/]: {screen.plain(str(error).strip())}")
        sys.exit(1)
    except SystemExit as ending:
        if ending.code == INTERRUPTED:
            screen.complaints.print("Interrupted; no file was left half-written.")
        raise
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(1)


def _show_version(asked: bool) -> None:
    if asked:
        screen.console.print(f"evenhand {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Take the options that every command shares."""


for command in (
    studies.demo,
    studies.reproduce,
    problems.fit,
    problems.shield,
    problems.diagnose,
    problems.frontier,
    mappings.theory,
    mappings.verify,
):
    app.command()(command)
