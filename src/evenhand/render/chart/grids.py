"""Grids of shades: rows and columns as they are named, each cell with its number."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from evenhand.render.chart.axes import SMALL
from evenhand.render.chart.canvas import GAP, LEADING, MIDDLE, Canvas, widest, width_of, wrap, write_heading
from evenhand.render.chart.contents import Row, axis_title, columns_of, number_of, panels_of, tone_of, words_of
from evenhand.render.chart.style import TWO_FROM
from evenhand.render.numbers import JOINT, NONE, compact
from evenhand.render.section import Chart

LARGEST_CELL, CELL_HEIGHT = 60.0, 22.0
LONGEST_TURNED, MOST_HEADING_LINES = 260.0, 3
"""The name of a column is turned where it needs more lines, and then it is at most so long."""

HALF, FULL = 0.55, 0.75
"""The shares of the scale from which a number is black, and from which it has the colour of the ground."""


def shades_of(chart: Chart) -> list[float]:
    """Return all numbers of a grid."""
    found = map(number_of, chart.table.values(chart.y[0]))
    return [value for value in found if value is not None and math.isfinite(value)]


def draw_grids(canvas: Canvas, chart: Chart, top: float) -> float:
    """Draw a grid for each panel, two side by side where both fit, and return where they end."""
    panels = panels_of(chart)
    half = (canvas.width - 2 * GAP) / 2
    beside = len(panels) > 1 and canvas.width >= TWO_FROM
    across = 2 if beside and all(GridPanel(Canvas(half), chart, rows).fits for _, _, rows in panels) else 1

    def drawn(name: str, rows: list[Row]) -> Callable[[Canvas], float]:
        return lambda part: GridPanel(part, chart, rows).draw(name)

    return canvas.side_by_side([drawn(name, rows) for _, name, rows in panels], across, top)


class GridPanel:
    """One panel of cells: rows as they are named, columns too, each cell a shade with its number."""

    def __init__(self, canvas: Canvas, chart: Chart, rows: list[Row]) -> None:
        self.canvas, self.chart = canvas, chart
        self.columns = columns_of(chart)
        self.kind = self.columns[chart.y[0]].kind
        every = shades_of(chart)
        self.most = max(map(abs, every), default=0.0) or 1.0
        self.signed = min(every, default=0.0) < 0
        self.down = list(dict.fromkeys(self._named(row, chart.label) for row in rows))
        self.across = list(dict.fromkeys(self._named(row, chart.x) for row in rows))
        self.cells = {(self._named(row, chart.label), self._named(row, chart.x)): row for row in rows}
        self.texts = {at: compact(row[chart.y[0]], self.kind, signed=self.signed) for at, row in self.cells.items()}
        title_room = width_of(axis_title(chart, "y", chart.label[0]))
        self.label_room = min(max(widest(self.down) + 8, title_room / 2), 0.36 * canvas.width)
        self.least = max(widest(list(self.texts.values()), SMALL) + 4, 20.0)
        room = canvas.width - self.label_room
        self.fits = room >= len(self.across) * self.least
        # Columns that have no room stand in blocks below one another.
        self.block = max(1, len(self.across) if self.fits else int(room / self.least))
        longest = max((width_of(word) for name in self.across for word in name.split()), default=0.0)
        self.cell = min(room / self.block, max(LARGEST_CELL, longest + 6))

    def _named(self, row: Row, names: Sequence[str]) -> str:
        return JOINT.join(words_of(row, self.columns, names)) or NONE

    def draw(self, name: str) -> float:
        """Draw the grid under its name, and return where it ends."""
        bottom = write_heading(self.canvas, name, 0.0, 0.0, self.canvas.width)
        x_words = axis_title(self.chart, "x", self.chart.x[0])
        y_words = axis_title(self.chart, "y", self.chart.label[0])
        bottom = self.canvas.text(0, bottom, wrap(f"↓ {y_words}    → {x_words}", self.canvas.width), "c-soft") + 4
        for start in range(0, len(self.across), self.block):
            bottom = self._block(self.across[start : start + self.block], bottom) + 6
        return bottom

    def _block(self, across: list[str], top: float) -> float:
        top = self._headings(across, top)
        for name in self.down:
            lines = wrap(name, self.label_room - 6, SMALL)
            height = max(CELL_HEIGHT, len(lines) * SMALL * LEADING + 4)
            middle = top + height / 2
            self.canvas.text(0, middle - len(lines) * SMALL * LEADING / 2, lines, size=SMALL)
            for at, column in enumerate(across):
                self._cell((name, column), self.label_room + at * self.cell, top, height)
            top += height
        return top

    def _headings(self, across: list[str], top: float) -> float:
        """Write the names of columns, in lines where their words have room, else turned."""
        room = self.cell - 4
        if all(width_of(word, SMALL) <= room for name in across for word in name.split()):
            every = [wrap(name, room, SMALL) for name in across]
            if max(map(len, every)) <= MOST_HEADING_LINES:
                bottom = top + max(map(len, every)) * SMALL * LEADING + 2
                for at, lines in enumerate(every):
                    x = self.label_room + (at + 0.5) * self.cell
                    self.canvas.text(x, bottom - 2 - len(lines) * SMALL * LEADING, lines, anchor="middle", size=SMALL)
                return bottom
        most = max(1, int(self.cell // (SMALL * LEADING)))
        every = [wrap(name, LONGEST_TURNED, SMALL, most) for name in across]
        bottom = top + max(widest(lines, SMALL) for lines in every) + 6
        for at, lines in enumerate(every):
            middle = self.label_room + (at + 0.5) * self.cell
            for number, line in enumerate(lines):
                x = middle + (number - (len(lines) - 1) / 2) * SMALL * LEADING + SMALL * MIDDLE
                self.canvas.text(x, bottom - 4, line, size=SMALL, turned=True)
        return bottom

    def _cell(self, place: tuple[str, str], x: float, y: float, height: float) -> None:
        row = self.cells.get(place)
        value = None if row is None else number_of(row[self.chart.y[0]])
        middle = y + height / 2 - SMALL * LEADING / 2
        if value is None or row is None:
            self.canvas.rect(x, y, self.cell - 1, height - 1, "c-none", fill_opacity=".4")
            return
        share = min(abs(value) / self.most, 1.0)
        tone = tone_of(self.chart, row)
        class_ = "c-shade" if not self.signed else "c-up" if value > 0 else "c-down"
        class_ = f"c-{tone}" if tone else class_
        self.canvas.rect(x, y, self.cell - 1, height - 1, "c-none", fill_opacity=".25")
        self.canvas.rect(x, y, self.cell - 1, height - 1, class_, fill_opacity=f"{share:.2f}")
        look = "c-on" if share > FULL else "c-mid" if share > HALF else "c-ink"
        self.canvas.text(x + (self.cell - 1) / 2, middle, self.texts[place], look, anchor="middle", size=SMALL)
