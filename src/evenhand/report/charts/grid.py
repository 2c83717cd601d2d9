"""Heat maps with their numbers written into the cells: panels side by side, and rows of them."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.report.charts.chart import Chart, Part, finished, mark, measured, named

CELL_HEIGHT = 24
CELL_WIDTH = 38
SPACING = 14
LETTER = 7
"""The width of a letter of a label."""

MOST_NAME_LINES = 8
"""A panel's name of more lines is cut."""

BREAK = " · "
"""Where a label may be broken into lines."""

LINE_END = "\N{FOUR-PER-EM SPACE}"
"""Where a label's lines end: it is a space to whoever reads it as one text."""

LONGEST_WORD = 12
"""A column is as wide as its longest word, up to so many letters; a longer word is broken."""

LABEL_ROOM = 150
"""What is kept for the labels of the rows when a subtitle is wrapped."""

LONGEST_LABEL = 360
"""A label of more units is cut: names that begin alike must still be told apart."""

LARGEST_EXTENT = LONGEST_LABEL + 60
"""How far an axis may reach before its title is printed over its labels, which Vega does from 200 on."""

DARK_FROM = 0.55
"""The share of the scale from which a cell's number is written in white."""

PLAIN_AXIS = {
    "labelLimit": LONGEST_LABEL, "maxExtent": LARGEST_EXTENT, "titlePadding": 8, "ticks": False, "domain": False,
}  # fmt: skip

NOT_SHOWN = "#f2f2f2"
"""The ground of a panel: what is left of it where a cell has no number."""


@dataclass(frozen=True)
class Shades:
    """How numbers become shades: from zero up, or both ways from zero (then signs are written)."""

    scheme: str
    both_ways: bool
    reverse: bool = False

    def scale(self, top: float) -> Part:
        """Return the scale of colours up to a largest number."""
        return {"scheme": self.scheme, "reverse": self.reverse, "domain": [-top if self.both_ways else 0.0, top]}


SEQUENTIAL = Shades("greys", both_ways=False)
DIVERGING = Shades("purplegreen", both_ways=True)
"""Where it is not known what is good for a person; signs tell both apart in grey."""

MORE_IS_BETTER, MORE_IS_WORSE = (Shades("blueorange", both_ways=True, reverse=reverse) for reverse in (True, False))
"""Blue is better and orange is worse for a person, wherever colours stand; both are told apart by the colour-blind."""


def grid(
    cells: Sequence[Mapping[str, Any]],
    *,
    rows: Sequence[str],
    across: str,
    down: str,
    shades: Shades,
    title: str,
    subtitle: str,
    description: str,
    tooltip: Mapping[str, str] | None = None,
    columns: Sequence[str] | None = None,
    wrap: int | None = None,
    cell_width: int = CELL_WIDTH,
) -> Chart:
    """Return panels of cells, each a shade with its number.

    Parameters
    ----------
    cells : sequence of mappings
        Each has ``panel``, ``row``, ``column``, ``value`` and ``label``, the number as it is written.
    rows : sequence of str
        The rows of every panel, from the top.
    across, down : str
        The titles of the columns and of the rows.
    shades : Shades
        How numbers become shades; all panels share them.
    title, subtitle, description : str
        What is above the chart, and what it shows in words.
    tooltip : mapping, optional
        Further fields of the cells to show, with their titles.
    columns : sequence of str, optional
        The columns of every panel; else each has those of its own cells, in their order.
    wrap : int, optional
        How many panels stand side by side; else all.
    cell_width : int
        Of each column.
    """
    panels = list(dict.fromkeys(cell["panel"] for cell in cells))
    side = wrap or max(1, len(panels))
    top = max((abs(cell["value"]) for cell in cells), default=0.0) or 1.0
    drawn, data = [], {}
    every = list(columns or dict.fromkeys(cell["column"] for cell in cells))
    cell_width = max([cell_width, *(LETTER * _longest_word(column) for column in every)])
    wrapped = {column: _in_lines(column, cell_width // LETTER) for column in every}
    for number, name in enumerate(panels):
        own = [
            {**cell, "column": wrapped[cell["column"]], "dark": abs(cell["value"]) > DARK_FROM * top}
            for cell in cells
            if cell["panel"] == name
        ]
        along = list(dict.fromkeys(cell["column"] for cell in own))
        if columns is not None:
            along = [wrapped[column] for column in columns]
        axes = _Axes(list(rows), along, across, down if number % side == 0 else None, cell_width)
        # Named, so that the layers of a panel share its rows.
        key = f"{title}: {name}"
        data[key] = own
        drawn.append(_panel(key, name, axes, shades.scale(top), tooltip or {}))
    width = _width(drawn[:side])
    joined = {"concat": drawn, "columns": side, "spacing": SPACING}
    words = {"title": title, "subtitle": subtitle, "description": description}
    return finished(joined, **words, width=width, grid=False, datasets=data)


@dataclass(frozen=True)
class _Axes:
    """The rows and columns of a panel with their titles; a panel that is not the first of its line has no ``down``."""

    rows: list[str]
    columns: list[str]
    across: str
    down: str | None
    cell_width: int


def _panel(data: str, name: str, axes: _Axes, scale: Part, tooltip: Mapping[str, str]) -> Part:
    # Labels in lines: no label is turned.
    lines = {"labelExpr": f"split(datum.label, '{LINE_END}')", "labelAngle": 0}
    shown = {"labels": axes.down is not None}
    place = {
        "x": named("column", title=axes.across, scale={"domain": axes.columns}, axis={**lines, **PLAIN_AXIS}),
        "y": named("row", title=axes.down, scale={"domain": axes.rows}, axis={**shown, **PLAIN_AXIS}),
    }
    told = [
        named("row", title=axes.down or "row"),
        named("column", title=axes.across),
        *(named(field, title=title) for field, title in tooltip.items()),
    ]
    shade = {**place, "color": measured("value", scale=scale, legend=None), "tooltip": told}
    dark = {"condition": {"test": "datum.dark", "value": "white"}, "value": "black"}
    number = {**place, "text": named("label"), "color": dark}
    width = axes.cell_width * max(1, len(axes.columns))
    words = _lines(name, max(16, width // LETTER))
    return {
        "data": {"name": data},
        "layer": [mark("rect", shade, stroke="white"), mark("text", number, fontSize=11)],
        "width": width,
        "height": CELL_HEIGHT * max(1, len(axes.rows)),
        "title": {"text": words, "anchor": "start", "frame": "group", "fontSize": 12, "offset": 4},
        "view": {"fill": NOT_SHOWN},
    }


def _lines(name: str, most: int) -> list[str]:
    """Break a panel's name where its levels meet, and only then within them."""
    parts = [name] if len(name) <= most else name.split(BREAK)
    lines = [line for part in parts for line in textwrap.wrap(part, most)]
    return lines if len(lines) <= MOST_NAME_LINES else [*lines[: MOST_NAME_LINES - 1], "…"]


def _longest_word(label: str) -> int:
    """Return the length of the longest word of a label, as far as a column is widened for it."""
    return min(LONGEST_WORD, max((len(word) for word in label.split()), default=1))


def _in_lines(label: str, most: int) -> str:
    """Break a label where its levels meet, and between words; lines end with a space that words do not have."""
    lines = [line for part in label.split(BREAK) for line in textwrap.wrap(part, max(1, most)) or [part]]
    return LINE_END.join(lines)


def panels_within(width: float, columns: int) -> int:
    """Return how many panels of so many columns stand side by side within a width; at least one."""
    return max(1, int((width - LABEL_ROOM) // (columns * CELL_WIDTH + SPACING)))


def side_by_side(width: float, columns: Sequence[int], cell_width: int = CELL_WIDTH) -> int:
    """Return how many panels, each of so many columns, can stand in every line of a width; at least one."""
    for side in range(len(columns), 1, -1):
        lines = [columns[at : at + side] for at in range(0, len(columns), side)]
        if all(LABEL_ROOM + sum(n * cell_width + SPACING for n in line) <= width for line in lines):
            return side
    return 1


def _width(panels: Sequence[Part]) -> int:
    """Return the width of panels that stand side by side."""
    return int(sum(panel["width"] for panel in panels)) + LABEL_ROOM


def stacked(above: Chart, below: Chart, *, title: str, subtitle: str, description: str) -> Chart:
    """Return two charts as one, the one above the other, each with its own scale of shades."""
    # Only the outermost may have a configuration.
    parts = [
        {name: chart.values[name] for name in ("concat", "columns", "spacing")}
        | {"title": {**chart.values["title"], "offset": 4}}
        for chart in (above, below)
    ]
    joined = {"vconcat": parts, "spacing": 26, "resolve": {"scale": {"color": "independent"}}}
    width = max(_width(part["concat"][: part["columns"]]) for part in parts)
    words = {"title": title, "subtitle": subtitle, "description": description}
    return finished(joined, **words, width=width, grid=False, datasets={**above.datasets, **below.datasets})
