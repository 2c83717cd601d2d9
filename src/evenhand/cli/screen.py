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
from pathlib import Path

from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
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


def written(path: Path, what: str) -> None:
    """Say that a file was written, and what it is."""
    console.print(Padding(styled((str(path), "bold")), (0, 2)))
    console.print(Padding(what, (0, 6)))


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


def bullets(lines: Iterable[str]) -> None:
    """Print lines as a list."""
    grid = Table.grid(padding=(0, 1))
    grid.add_column()
    # Letters that are two cells wide may leave a word a cell too long for its line: no part of it is left out.
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row("•", line)
    console.print(Padding(grid, (0, 2)))


def rule(title: str) -> None:
    """Print a title across the terminal."""
    console.rule(styled((title, "bold")))


def heading(text: str) -> None:
    """Print a heading."""
    console.print()
    console.print(text, style="bold")


def table_of(*columns: str, right: tuple[int, ...] = ()) -> Table:
    """Return an empty table with these columns; those listed in ``right`` are aligned to the right."""
    table = Table(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    aligned = {index % len(columns) for index in right}
    for index, name in enumerate(columns):
        # A name that is too long goes on in the next line; cut off, it could be another one.
        table.add_column(name, justify="right" if index in aligned else "left", overflow="fold")
    return table


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
