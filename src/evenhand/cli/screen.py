"""What the terminal shows: tables, words and a progress bar, in plain order. Knows rich; computes nothing.

Whatever is shown may come from a table or a file that somebody else made. No text is read as markup, and none reaches
the terminal with characters that it would obey: `Terminal` sees to it, for every text and every cell of a table.
"""

from __future__ import annotations

import gc
import logging
import math
import shlex
import sys
from collections.abc import Callable, Iterable, Iterator
from collections.abc import Mapping as Mapping_
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.cells import cell_len
from rich.padding import Padding
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from evenhand.findings.document import written as written_number
from evenhand.render.terminal import Terminal
from evenhand.text import printable
from evenhand.tolerances import DOUBLE_ROUNDING

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.mapping import Mapping
    from evenhand.verifier import Report

TOP = 8
"""How many rows of a long table are shown."""

MANY, LARGE = 1000, 10_000
"""A whole number from the first on is shown in full, whatever its type; of any from the second on, the whole part."""

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


def shown(mapping: Mapping, table: pd.DataFrame) -> pd.DataFrame:
    """Keep the rows of the outcomes that are worth showing."""
    from evenhand.findings.rates import shown_outcomes
    from evenhand.tables import own_name

    outcome = own_name(table, mapping.problem.outcome)
    return table[table[outcome].isin(shown_outcomes(mapping.counts.domain))]


def frame_table(frame: pd.DataFrame, most: int | None = None, *, first_number: int | None = None) -> None:
    """Show a pandas frame, numbers to the right, up to ``most`` rows.

    From ``first_number`` on, columns hold numbers that are written already.
    """
    shown = frame if most is None else frame.head(most)
    right = tuple(i for i, kind in enumerate(frame.dtypes) if kind.kind in "fi")
    right = right if first_number is None else tuple(range(first_number, len(frame.columns)))
    names, rows = list(map(str, frame.columns)), [list(map(cell, row)) for row in shown.itertuples(index=False)]
    table = table_of(*names, right=right)
    longest = [max([0, *(cell_len(row[i]) for row in rows)]) for i in range(len(names))]
    fits = sum(max(cell_len(name), own) + 2 for name, own in zip(names, longest, strict=True)) <= console.width - 4
    for i in right:
        # Numbers stay whole; where there is no room, their headings go on in the next line, before names have to.
        table.columns[i].no_wrap = fits
        table.columns[i].width = None if fits else max([longest[i], *map(cell_len, names[i].split())])
    for row in rows:
        table.add_row(*row)
    console.print(Padding(table, (0, 2)))
    if len(shown) < len(frame):
        console.print(Padding(f"… and {len(frame) - len(shown)} more", (0, 2)), style="dim")


def cell(value: Any) -> str:
    """Return one value of a table in few digits.

    Examples
    --------
    >>> [cell(value) for value in (0.123456, 1000.0, 1234.5, 20704.36, 3)]
    ['0.1235', '1,000', '1234', '20,704', '3']
    """
    value = value.item() if hasattr(value, "item") else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    if isinstance(value, int) or (MANY <= abs(value) < math.inf and (value.is_integer() or abs(value) >= LARGE)):
        return f"{value:,.0f}"
    return "0" if abs(value) < DOUBLE_ROUNDING else written_number(value, ".4g")


def proof(report: Report) -> None:
    """Show what was found in a proof file."""
    console.print(report.sentences[0] if report.sentences else "Not a proof that can be read.")
    if report.rows:
        console.print()
        table = table_of("Checked", "Recomputed", "Claimed")
        for row in report.rows:
            table.add_row(*row)
        console.print(table)
    console.print()
    paragraph: list[str] = []
    for line in (*report.sentences[1:], ""):
        if line and not line.startswith("  "):
            paragraph.append(line)
            continue
        if paragraph:
            console.print(" ".join(paragraph))
            paragraph = []
        if line:
            bullets([line.strip()])
    if report.stands:
        console.print(report.verdict.capitalize(), style="bold")
    else:
        refused(f"{report.reason}.")


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


def refused(reason: str) -> None:
    """Say that a file does not stand."""
    console.print(styled(("Refused", "bold red"), (f": {reason}", "")))


def comparison(rows: Iterable[Mapping_[str, Any]], verdict: str, stands: bool) -> None:
    """Show what was claimed beside what was found, and the verdict."""
    table = table_of("", "Claimed", "Recomputed", "Agrees", right=(1, 2))
    for row in rows:
        table.add_row(row["checked"], short(row["claimed"]), short(row["recomputed"]), agreement(row["agrees"]))
    console.print(table)
    console.print(verdict, style="" if stands else "bold red")


def agreement(agrees: bool) -> Text:
    """Say whether two numbers agree."""
    return styled(("yes", "") if agrees else ("NO", "bold red"))


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


def pairs(pairs: Iterable[tuple[str, str]]) -> None:
    """Print names and sentences in two columns."""
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, text in pairs:
        grid.add_row(name, text)
    console.print(Padding(grid, (0, 2)))


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


def short(value: Any) -> str:
    """Return a number in few digits."""
    if not isinstance(value, int | float):
        return str(value)
    if abs(value) < 1e6 and value == int(value):
        return f"{int(value)}"
    return written_number(value, ".1e" if abs(value) < 1e-6 else ".7f")
