"""What the terminal shows: tables, words and a progress bar, in plain order. Knows rich; computes nothing.

Whatever is shown may come from a table or a file that somebody else made. No text is read as markup, and none reaches
the terminal with characters that it would obey: `Terminal` sees to it, for every text and every cell of a table.
"""

from __future__ import annotations

import gc
import logging
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from importlib import import_module

from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from evenhand.render.terminal import Terminal
from evenhand.text import printable

LOADED = ("numpy", "pandas", "scipy.sparse", "evenhand.spec", "evenhand.optimize.solve", "evenhand.mapping")
"""What nearly every command imports, in this order; together it takes about a second."""

LOG = logging.getLogger("evenhand")


console = Terminal()
complaints = Terminal(stderr=True)


def styled(*parts: tuple[str, str]) -> Text:
    return Text.assemble(*(console.render_str(text, style=style) for text, style in parts))


def note(message: str) -> None:
    """Say on the error stream what should be known of an answer."""
    complaints.print(styled(("Note", "bold"), (f": {message}", "")))


def complain(message: str, *, error: bool = True) -> None:
    """Say on the error stream what is wrong."""
    complaints.print(styled(("Error", "bold red"), (f": {message}", "")) if error else message)


def usage(*lines: str) -> None:
    """Say on the error stream how a command is used."""
    for line in lines:
        complaints.print(line)
    complaints.print()


class LogLines(logging.Handler):
    """Log to the error stream, in lines that the terminal does not obey."""

    def emit(self, record: logging.LogRecord) -> None:
        """Print one line."""
        complaints.print(self.format(record), soft_wrap=True)


def following(*commands: Iterable[object]) -> None:
    """Name the commands that usually come next, each on one line, however long, so that it can be copied."""
    heading("Next")
    for words in commands:
        console.print(f"  {command(*words)}", soft_wrap=True)


def command(*words: object) -> str:
    """Return a command as a shell reads it.

    Examples
    --------
    >>> command("verify", "my mapping")
    "evenhand verify 'my mapping'"
    """
    return shlex.join(["evenhand", *map(str, words)])


def rule(title: str) -> None:
    """Print a title across the terminal."""
    console.rule(styled((title, "bold")))


def heading(text: str) -> None:
    """Print a heading."""
    console.print()
    console.print(text, style="bold")


@contextmanager
def progress_bar() -> Iterator[Callable[[str, float], None]]:
    """Draw a bar on the error stream while something runs; it leaves nothing behind.

    Where the error stream is no terminal, stages are logged instead, which is silent unless somebody asked.
    """
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=complaints, transient=True, disable=not complaints.is_terminal) as bar:
        task = bar.add_task("starting", total=1.0)

        reached = 0.0

        def report(stage: str, share: float) -> None:
            nonlocal reached
            # A bar that goes back tells nothing.
            reached = max(reached, share)
            if bar.disable:
                LOG.info("%3.0f%% %s", 100 * reached, stage)
            bar.update(task, description=printable(stage), completed=reached)

        yield report


def load() -> None:
    """Import what a command is about to need, and draw a bar meanwhile."""
    if LOADED[-1] in sys.modules:
        return
    # What is loaded stays: to look through it again and again for what could be forgotten takes a fifth of the time.
    gc.disable()
    try:
        with progress_bar() as report:
            for done, name in enumerate(LOADED):
                report(f"loading {name}", done / len(LOADED))
                import_module(name)
    finally:
        gc.freeze()
        gc.enable()
