"""What the marks of a chart mean, in a line above it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from evenhand.render.chart.canvas import LEADING, SIZE, Canvas, width_of, wrap
from evenhand.render.chart.contents import SIGNS, columns_of, meaning, number_of, tone_of
from evenhand.render.chart.curves import STATES, curve_names, has_batches
from evenhand.render.chart.grids import shades_of
from evenhand.render.chart.rows import SHAPES
from evenhand.render.chart.style import CURVES
from evenhand.render.numbers import written
from evenhand.render.section import Chart
from evenhand.render.sentences import caption, heading

SYMBOL = 16.0
"""How wide a mark is here."""


Symbol = tuple[str, str, str]
"""A shape, its class and its words."""


def draw_legend(canvas: Canvas, chart: Chart, top: float) -> float:
    """Draw what the marks mean from a height on, and return where it ends."""
    x, line = 0.0, SIZE * 1.6
    for shape, class_, words in _meanings(chart):
        room = SYMBOL + 6
        width = room + width_of(words) + 14
        if x and x + width > canvas.width:
            x, top = 0.0, top + line
        middle = top + line / 2
        if shape == "box":
            canvas.rect(x, middle - 5, SYMBOL, 10, class_)
        elif shape == "line":
            canvas.line(x, middle, x + SYMBOL, middle, class_)
        elif shape == "curve":
            canvas.path([(x, middle), (x + SYMBOL, middle)], class_)
        else:
            canvas.shape(shape, x + SYMBOL / 2, middle, class_)
        lines = wrap(words, canvas.width - room)
        bottom = canvas.text(x + room, middle - SIZE * LEADING / 2, lines)
        top = max(top, bottom - line)
        x += width
    return top + line + 6 if x else top


def _meanings(chart: Chart) -> Iterator[Symbol]:
    tones = {tone_of(chart, row) for row in chart.table.records()}
    words = partial(meaning, chart)
    if chart.mark == "dots":
        for at, column in enumerate(chart.x):
            last = at == len(chart.x) - 1
            if len(chart.x) > 1:
                yield "circle", "c-plain" if last else "c-before", heading(column)
        yield from _toned(tones, words, SHAPES)
    if chart.mark == "bars":
        yield from _toned(tones, words, {})
    if chart.mark == "lines":
        curves = curve_names(chart)
        if len(curves) > 1:
            yield from (("curve", f"c-curve c-{at % CURVES}", name) for at, name in enumerate(curves))
        yield from _toned(tones, words, STATES)
        if None in tones and chart.tone:
            yield "diamond", "c-bar", words("neither")
        if any(line.shade for line in chart.lines):
            yield "box", "c-nothing", words("infeasible")
        for point in {point.key: point for point in chart.points}.values():
            yield "ring", "c-here", caption(point.key, point.fields) or heading(point.key)
    if chart.mark == "heat":
        yield from _shades(chart, words)
    if chart.low is not None:
        yield ("line", "c-interval", words("interval")) if chart.mark != "lines" or has_batches(chart) else (
            "box", "c-around", words("interval"))  # fmt: skip
    if chart.band is not None:
        yield "box", "c-band", words("band")


def _toned(tones: set[Any], words: Any, shapes: dict[str, str]) -> Iterator[Symbol]:
    for tone in ("better", "worse"):
        if tone in tones:
            sign = "" if shapes is STATES else SIGNS[tone].strip()
            yield shapes.get(tone, "box"), f"c-{tone}", f"{sign} {words(tone)}".strip()


def _shades(chart: Chart, words: Any) -> Iterator[Symbol]:
    if nothing := caption(f"{chart.key}.nothing", chart.fields):
        yield "box", "c-none", nothing
    values, kind = shades_of(chart), columns_of(chart)[chart.y[0]].kind
    if min(values, default=0.0) >= 0:
        yield "box", "c-shade", words("shade", top=written(max(values, default=0.0), kind))
        return
    for sign, class_, way in (("+", "c-up", 1), ("−", "c-down", -1)):
        own = [row for row in chart.table.records() if way * (number_of(row[chart.y[0]]) or 0.0) > 0]
        if own:
            tone = next(filter(None, (tone_of(chart, row) for row in own)), None)
            said = f"{SIGNS[tone].strip()} {words(tone)}, " if tone else ""
            top = written(max(abs(row[chart.y[0]]) for row in own), kind)
            yield "box", f"c-{tone}" if tone else class_, f"{said}{sign} up to {top}"
