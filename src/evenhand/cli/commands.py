"""The commands, in the panels of the help, and how each of them ends."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import FrameType, MappingProxyType
from typing import Annotated, Any, NoReturn

import typer

from evenhand._version import __version__
from evenhand.cli import (
    answers,
    comparing,
    expanding,
    mappings,
    monitoring,
    persons,
    problems,
    queries,
    reports,
    schema,
    screen,
    starting,
    studies,
    transforming,
)
from evenhand.cli.exits import Exit, code_of
from evenhand.cli.options import bounded
from evenhand.cli.wording import worded
from evenhand.errors import DataError, EvenhandError, EvenhandWarning, InfeasibleError, Option, StorageError
from evenhand.files import reason

UsageError: Any = typer.BadParameter.__mro__[1]
"""The parent of every complaint about a command line; typer gives it no name of its own."""

NO_THREAD = "can't start new thread"
"""What Python says where there is no memory for the stack of one."""

app = typer.Typer(
    name="evenhand",
    help="Bound an outcome's dependence on protected attributes by a certified, randomized change of the table.",
    epilog="Exit codes: 0 done, 1 the answer is no, 2 wrong command line, 3 wrong input, 4 no answer in time, "
    "5 a package is missing, 70 a defect of evenhand, 130 interrupted, 141 output not read to its end, "
    "143 told to stop.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def run() -> NoReturn:
    """Run the command that was typed, and end with its code."""
    as_json = "--json" in sys.argv[1:]
    with warnings.catch_warnings(), _stoppable() as told_to_stop:
        warnings.simplefilter("default", EvenhandWarning)
        warnings.showwarning = _note
        try:
            code = app(prog_name="evenhand", standalone_mode=False)
        except EvenhandError as error:
            _complain(worded(error), _kind(error), code_of(error), as_json, _nearest(error))
        except UsageError as error:
            _misused(error, as_json)
        except (OSError, MemoryError, RuntimeError) as error:
            if isinstance(error, RuntimeError) and str(error) != NO_THREAD:
                raise
            _complain(worded(found := _of_the_machine(error)), _kind(found), code_of(found), as_json)
        if code == Exit.INTERRUPTED:
            name, code = ("Stopped", Exit.STOPPED) if told_to_stop else ("Interrupted", Exit.INTERRUPTED)
            _complain(f"{name}; no file was left half-written.", name, code, as_json)
        sys.exit(code or Exit.DONE)


@contextmanager
def _stoppable() -> Iterator[list[int]]:
    """Let SIGTERM do what Ctrl-C does at that moment, and list it when it came; where it is ignored, it stays so.

    What was begun is taken back, and nothing is left half-written.
    """
    came: list[int] = []
    unheard = signal.getsignal(signal.SIGTERM) in (signal.SIG_IGN, None)
    if unheard or threading.current_thread() is not threading.main_thread():
        yield came
        return

    def end(number: int, frame: FrameType | None) -> None:
        came.append(number)
        # While a solver runs, Ctrl-C only asks it to return; an exception would be lost in its callback.
        interrupt = signal.getsignal(signal.SIGINT)
        if not callable(interrupt):
            raise KeyboardInterrupt
        interrupt(number, frame)

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield came
    finally:
        signal.signal(signal.SIGTERM, before)


def _note(message: Warning | str, *place: Any, **more: Any) -> None:
    if isinstance(message, EvenhandWarning):
        screen.note(worded(message))
    else:
        # What a library says to programmers.
        logging.getLogger("evenhand").info("%s", message)


def _of_the_machine(error: OSError | MemoryError | RuntimeError) -> EvenhandError:
    """Return what to say of a disk that cannot be read, or of memory that there is not: neither is a bug."""
    if isinstance(error, OSError):
        of = "" if error.filename is None else f" of {os.fsdecode(error.filename)!r}"
        return StorageError(f"the system refused to read or write{of}: {reason(error)}")
    return DataError(
        "there is not enough memory for this. Raise the limit (ulimit -v, the container's), or have less to do: fewer "
        "features, groups or outcomes, or for work on files a smaller ",
        Option("memory"),
        " and ",
        Option("threads", 1),
    )


def _kind(error: EvenhandError) -> str:
    """Name the kind of error that users know."""
    return next(kind.__name__ for kind in type(error).__mro__ if kind.__module__ == EvenhandError.__module__)


def _nearest(error: EvenhandError) -> dict[str, float | None]:
    """Return what could be had, where not all can."""
    names = ("smallest_parity_bound", "smallest_budget_factor", "people_needed")
    return {name: getattr(error, name) for name in names} if isinstance(error, InfeasibleError) else {}


def _complain(
    message: str, kind: str, code: Exit, as_json: bool, nearest: Mapping[str, float | None] = MappingProxyType({})
) -> NoReturn:
    """Say on the error stream what is wrong, or as JSON on the output stream with what is nearest to it, and end."""
    if as_json:
        answers.write({"error": {"kind": kind, "message": message, "exit_code": int(code), **nearest}})
    else:
        screen.complain(message, error=code not in (Exit.INTERRUPTED, Exit.STOPPED))
    sys.exit(code)


def _misused(error: Any, as_json: bool) -> NoReturn:
    """Show how a command is used, and what is wrong with this use; a command line without a word was shown the help."""
    if not error.format_message():
        sys.exit(Exit.USAGE)
    if not as_json and error.ctx is not None:
        screen.usage(error.ctx.get_usage(), f"Try '{error.ctx.command_path} --help' for help.")
    _complain(error.format_message(), "UsageError", Exit.USAGE, as_json)


def _show_version(asked: bool) -> None:
    if asked:
        answers.write_text(f"evenhand {__version__}\n")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", "-v", help="Say on the error stream what is being done.")
    ] = False,
) -> None:
    """Take the options that every command shares."""
    if verbose:
        # Also where no bar is drawn.
        logging.basicConfig(format="%(message)s", handlers=[screen.LogLines()])
        logging.getLogger("evenhand").setLevel(logging.INFO)


START, FIT, USE, CHECK = "Start", "State and fit", "Use a mapping", "Explain and check"
COMMANDS: dict[Callable[..., None], str] = {
    studies.demo: START,
    studies.example: START,
    starting.init: START,
    schema.schema: START,
    problems.diagnose: FIT,
    problems.fit: FIT,
    problems.frontier: FIT,
    problems.shield: FIT,
    transforming.release: USE,
    transforming.apply: USE,
    expanding.expand: USE,
    queries.sql: USE,
    mappings.audit: CHECK,
    persons.explain: CHECK,
    monitoring.monitor: CHECK,
    reports.report: CHECK,
    comparing.compare: CHECK,
    mappings.verify: CHECK,
    mappings.theory: CHECK,
    studies.reproduce: CHECK,
}
ALONE = (studies.demo, studies.example, studies.reproduce, schema.schema)
"""Commands that read no table."""

for command, panel in COMMANDS.items():
    app.command(rich_help_panel=panel)(command if command in ALONE else bounded(command))
