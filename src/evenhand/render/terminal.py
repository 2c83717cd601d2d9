"""Sections on a terminal: headings, facts in two columns, tables, and notes as a list."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from io import StringIO
from typing import Any

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from evenhand.render.section import NUMBERS, Column, Fact, Section, Table
from evenhand.render.sentences import caption, column_heading, facts, sentence, title
from evenhand.render.sentences import shown as cell
from evenhand.text import printable, printable_lines

WIDTH = 100
"""How wide a text is that goes to no terminal."""

INDENT = (0, 2)


class Terminal(Console):
    """A console that shows every text as it is, in one line, and obeys none."""

    def __init__(self, **how: Any) -> None:
        super().__init__(markup=False, emoji=False, highlight=False, **how)

    def render_str(self, text: str, **how: Any) -> Text:
        """Make printable what is to be printed; rich asks here for each string, also those inside of tables."""
        return super().render_str(printable(text), **how)


def text(sections: Iterable[Section], width: int = WIDTH) -> str:
    """Return sections as plain text."""
    out = StringIO()
    show(sections, Terminal(file=out, width=width, color_system=None))
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()).strip("\n")


def show(sections: Iterable[Section], console: Console) -> None:
    """Print sections, those with something in them."""
    for section in sections:
        if not section.empty:
            console.print()
            console.print(Text(printable(title(section.key, section.fields)), style="bold"))
            for place, part in enumerate(_parts(section, console)):
                if place and isinstance(part, Group):
                    console.print()
                console.print(Padding(part, INDENT))
            show(section.parts, console)


def _parts(section: Section, console: Console) -> Iterable[RenderableType]:
    if section.shown:
        named = ((name, _fact(words, fact)) for fact in section.shown for name, words in facts((fact,)))
        yield pairs(_once(named))
    for table in section.tables:
        if table.shown:
            yield _table(table, console)
    if section.notes:
        yield bullets(map(sentence, section.notes))


def _fact(words: str, fact: Fact) -> str | Text:
    # A program's text keeps its lines.
    return Text(printable_lines(words)) if fact.kind == "code" else words


def _once(rows: Iterable[tuple[str, str | Text]]) -> Iterable[tuple[str, str | Text]]:
    """Name what several lines are about in the first of them."""
    before = None
    for name, words in rows:
        yield "" if name == before else name, words
        before = name


def pairs(rows: Iterable[tuple[str, str | Text]]) -> Grid:
    """Return names and sentences in two columns."""
    grid = Grid.grid(padding=(0, 2))
    grid.add_column(style="cyan", no_wrap=True)
    grid.add_column()
    for name, words in rows:
        grid.add_row(name, words)
    return grid


def bullets(lines: Iterable[str]) -> Grid:
    """Return sentences as a list."""
    grid = Grid.grid(padding=(0, 1))
    grid.add_column()
    # Letters that are two cells wide may leave a word a cell too long for its line: no part of it is left out.
    grid.add_column(overflow="fold")
    for line in lines:
        grid.add_row("•", line)
    return grid


def _table(table: Table, console: Console) -> RenderableType:
    shown = [column for _, column in table.visible if not column.detail]
    places = [at for at, column in table.visible if not column.detail]
    cells = [[cell(row[at], table.columns[at].kind) for at in places] for row in table.shown]
    grid = grid_of(shown, cells, console.width - 4)
    above = caption(table.key, table.fields)
    parts: list[RenderableType] = [Text(printable(above), style="dim")] if above else []
    parts.append(grid)
    if table.more:
        parts.append(Text(f"… and {table.more:,} more", style="dim"))
    return Group(*parts)


def grid_of(columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int) -> Grid:
    """Return a grid of texts, numbers to the right, which stay whole: their headings wrap before names have to."""
    names = list(map(column_heading, columns))
    who = next((at for at, column in enumerate(columns) if not column.own), len(columns))
    longest = [max([0, *(cell_len(row[at]) for row in cells)]) for at in range(len(names))]
    fits = sum(max(cell_len(name), own) + 2 for name, own in zip(names, longest, strict=True)) <= width
    if not fits and who > 1:
        # Side by side the user's columns would leave a few letters to each: they are joined in one.
        first = Column(", ".join(names[:who]), own=True)
        return grid_of([first, *columns[who:]], [(", ".join(row[:who]), *row[who:]) for row in cells], width)
    grid = Grid(box=None, header_style="cyan", padding=(0, 2, 0, 0))
    for column, name, own in zip(columns, names, longest, strict=True):
        number = column.kind in NUMBERS
        room = max([own, *map(cell_len, name.split())]) if number and not fits else None
        # A name that is too long goes on in the next line; cut off, it could be another one.
        grid.add_column(
            name, justify="right" if number else "left", overflow="fold", no_wrap=number and fits, width=room
        )
    for row in cells:
        grid.add_row(*row)
    return grid
