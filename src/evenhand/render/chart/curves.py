"""Curves, in panels over one axis: along a number, or along batches in their order."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from evenhand.render.chart.axes import (
    BELOW,
    SMALL,
    Scale,
    draw_axis,
    from_zero,
    most_ticks,
    scaled,
    spread,
    write_axis_title,
    write_names_above,
)
from evenhand.render.chart.canvas import LEADING, SIZE, Canvas, widest, wrap, write_heading
from evenhand.render.chart.contents import (
    Row,
    axis_title,
    band_of,
    columns_of,
    line_name,
    lines_of,
    number_of,
    panels_of,
    tone_of,
    words_of,
)
from evenhand.render.chart.style import CURVES, TWO_FROM
from evenhand.render.numbers import JOINT, tick, written
from evenhand.render.section import Chart
from evenhand.render.sentences import caption, heading

BEYOND = 3.0
"""An interval reaches at most to so many times what else is drawn; there it goes on."""

MOST_SPOTS = 80
"""A curve of more points has no marks at them."""

STATES = {"better": "circle", "worse": "up"}


def has_batches(chart: Chart) -> bool:
    """Whether the abscissa is a list of names."""
    return columns_of(chart)[chart.x[0]].kind == "text"


def curve_name(chart: Chart, row: Row) -> str:
    """Return which curve a row belongs to."""
    return JOINT.join(words_of(row, columns_of(chart), chart.label))


def curve_names(chart: Chart) -> list[str]:
    """Return all curves, in their order; none where there is one without a name."""
    return list(dict.fromkeys(curve_name(chart, row) for row in chart.table.records())) if chart.label else []


def draw_curves(canvas: Canvas, chart: Chart, top: float) -> float:
    """Draw a panel for each panel of the table and each height, and return where they end."""
    panels = [(*panel, column) for panel in panels_of(chart) for column in chart.y]

    def drawn(owner: Any, name: str, rows: list[Row], column: str) -> Callable[[Canvas], float]:
        return lambda part: CurvePanel(part, chart, rows, column, owner).draw(name)

    across = 2 if len(panels) > 1 and canvas.width >= TWO_FROM else 1
    return canvas.side_by_side([drawn(*panel) for panel in panels], across, top)


class CurvePanel:
    """One panel of curves."""

    def __init__(self, canvas: Canvas, chart: Chart, rows: list[Row], column: str, owner: Any) -> None:
        self.canvas, self.chart, self.column = canvas, chart, column
        self.columns = columns_of(chart)
        self.rows = [row for row in rows if number_of(row[column]) is not None]
        self.kind = self.columns[column].kind
        self.upright, self.level = lines_of(chart, owner, "x"), lines_of(chart, owner, "y")
        self.points = [point for point in chart.points if point.panel is None or point.panel == owner]
        self.points = self.points if column == chart.y[0] else []
        self.height = 170.0 if canvas.width < TWO_FROM else 250.0
        self.bounds: list[tuple[float, float, float]] = []
        self.batches = list(dict.fromkeys(chart.table.values(chart.x[0]))) if has_batches(chart) else []

    def _heights(self, own: list[Row]) -> list[float]:
        """Return all values upwards; intervals as far as they are drawn."""
        found = [float(row[self.column]) for row in own if number_of(row[self.column]) is not None]
        found += [line.value for line in self.level] + [point.y for point in self.points]
        found += [end for row in own for end in band_of(self.chart, row) if end is not None]
        found = [value for value in found if math.isfinite(value)]
        most = BEYOND * max(map(abs, found), default=1.0)
        names = [name for name in (self.chart.low, self.chart.high) if name is not None]
        ends = [number_of(row[name]) for row in own for name in names]
        return found + [min(max(end, -most), most) for end in ends if end is not None]

    def _scale(self, low_end: float, high_end: float) -> Scale:
        heights = self._heights(self.rows if self.chart.own_scale else self.chart.table.records())
        return scaled(heights, low_end, high_end, 5, zero=from_zero(heights))

    def _across(self, start: float, end: float) -> Scale:
        if self.batches:
            number = len(self.batches)
            return Scale(-0.5, number - 0.5, start, end, tuple(range(number)), 1.0)
        values = [float(value) for value in self.chart.table.values(self.chart.x[0]) if number_of(value) is not None]
        values += [line.value for line in self.chart.lines if line.axis == "x"] + [p.x for p in self.chart.points]
        most = most_ticks(start, end)
        return scaled(values, start, end, most, zero=from_zero(values))

    def draw(self, name: str) -> float:
        """Draw the panel under its name, and return where it ends."""
        canvas, chart = self.canvas, self.chart
        top = write_heading(canvas, name, 0.0, 0.0, canvas.width)
        words = caption(f"{chart.key}.{self.column if len(chart.y) > 1 else 'y'}", chart.fields)
        top = canvas.text(0, top, wrap(words or heading(self.column), canvas.width), "c-soft") + 4
        y = self._scale(0.0, 1.0)
        texts = [tick(value, y.step, self.kind) for value in y.ticks]
        start = widest(texts, SMALL) + 8
        x = self._across(start, canvas.width - 10)
        top = write_names_above(canvas, self.upright, x, top)
        y = Scale(y.low, y.high, top + max(self.height, self._names_height(x)), top + 4, y.ticks, y.step)
        bottom = y.start
        self._grounds(x, y)
        for value, text in zip(y.ticks, texts, strict=True):
            canvas.line(x.start, y.at(value), x.end, y.at(value), "c-grid")
            canvas.text(start - 6, y.at(value) - SMALL * LEADING / 2, text, "c-soft", anchor="end", size=SMALL)
        for line in self.upright:
            canvas.line(x.at(line.value), top, x.at(line.value), bottom, "c-bound")
        for left, right, at in [*self.bounds, *((x.start, x.end, y.at(line.value)) for line in self.level)]:
            canvas.line(left, at, right, at, "c-bound")
        canvas.line(x.start, y.end, x.start, bottom, "c-axis")
        for at, curve in enumerate(curve_names(chart) or [""]):
            own = [row for row in self.rows if not chart.label or curve_name(chart, row) == curve]
            self._curve(own, x, y, at % CURVES)
        for point in self.points:
            canvas.shape("ring", x.at(point.x), y.at(point.y), "c-here", r=7)
        self._level_names(x, y)
        return self._below(x, bottom)

    def _names_height(self, x: Scale) -> float:
        words = [wrap(line_name(line), x.end - x.start - 8) for line in self.level]
        return sum(map(len, words)) * SIZE * LEADING + 8

    def _below(self, x: Scale, bottom: float) -> float:
        words = axis_title(self.chart, "x", self.chart.x[0])
        if not self.batches:
            return draw_axis(self.canvas, x, bottom, self.columns[self.chart.x[0]].kind, words)
        self.canvas.line(x.start, bottom, x.end, bottom, "c-axis")
        pitch = (x.end - x.start) / len(self.batches)
        for every in range(max(1, math.ceil(72 / pitch)), len(self.batches) + 1):
            places = range(0, len(self.batches), every)
            named = [wrap(str(self.batches[at]), every * pitch - 6, SMALL, 4) for at in places]
            wanted = [(x.at(at), widest(lines, SMALL)) for at, lines in zip(places, named, strict=True)]
            if placed := spread(wanted, x.start, self.canvas.width):
                break
        else:
            places, placed = range(1), [(x.start + x.end) / 2]
            named = [wrap(str(self.batches[0]), x.end - x.start, SMALL, 4)]
        end = bottom
        for at, middle, lines in zip(places, placed, named, strict=True):
            self.canvas.line(x.at(at), bottom, x.at(at), bottom + 4, "c-axis")
            end = max(end, self.canvas.text(middle, bottom + BELOW, lines, "c-soft", anchor="middle", size=SMALL))
        return write_axis_title(self.canvas, x, end, words)

    def _place(self, row: Row, x: Scale) -> float:
        value = row[self.chart.x[0]]
        return x.at(self.batches.index(value) if self.batches else float(value))

    def _grounds(self, x: Scale, y: Scale) -> None:
        """Draw what is behind the curves: where nothing is feasible, and where values must lie."""
        for line in self.upright:
            if line.shade is not None:
                end = x.start if line.shade == "below" else x.end
                left, right = sorted((end, x.at(line.value)))
                self.canvas.rect(left, y.end, right - left, y.start - y.end, "c-nothing")
        # A little more, so that no seam shows.
        half = (x.end - x.start) / max(len(self.batches), 1) / 2 + 0.3
        for row in self.rows if self.batches else self.rows[:1]:
            low, high = band_of(self.chart, row)
            if low is None or high is None:
                continue
            middle = self._place(row, x)
            left, right = (max(middle - half, x.start), min(middle + half, x.end)) if self.batches else (x.start, x.end)
            self.canvas.rect(left, y.at(high), right - left, y.at(low) - y.at(high), "c-band")
            self.bounds.append((left, right, y.at(high)))

    def _curve(self, rows: list[Row], x: Scale, y: Scale, at: int) -> None:
        canvas, chart = self.canvas, self.chart
        places = [(self._place(row, x), y.at(float(row[self.column]))) for row in rows]
        if chart.low is not None and chart.high is not None:
            ends = [(number_of(row[chart.low]), number_of(row[chart.high])) for row in rows]
            known = [
                (px, y.at(low), y.at(high))
                for (px, _), (low, high) in zip(places, ends, strict=True)
                if low is not None and high is not None
            ]
            if self.batches:
                for px, low, high in known:
                    canvas.line(px, low, px, high, "c-interval")
            elif known:
                around = [(px, low) for px, low, _ in known] + [(px, high) for px, _, high in reversed(known)]
                canvas.path(around, "c-around", closed=True)
        if len(places) > 1 and not self.batches:
            canvas.path(places, f"c-curve c-{at}")
        if len(places) > MOST_SPOTS:
            return
        for row, (px, py) in zip(rows, places, strict=True):
            tone = tone_of(chart, row)
            said = f"{written(row[chart.x[0]], self.columns[chart.x[0]].kind)}: {written(row[self.column], self.kind)}"
            if chart.tone:
                canvas.shape(STATES.get(tone or "", "diamond"), px, py, f"c-{tone or 'bar'}", said)
            else:
                canvas.shape("circle", px, py, f"c-spot-{at}", said, r=4 if self.batches else 2.5)

    def _level_names(self, x: Scale, y: Scale) -> None:
        """Write the names of level lines at their right ends, as near above them as others leave room."""
        lines = sorted(self.level, key=lambda line: -line.value)
        every = [wrap(line_name(line), x.end - x.start - 8) for line in lines]
        heights = [len(words) * SIZE * LEADING for words in every]
        places, free = [], y.end
        for line, height in zip(lines, heights, strict=True):
            places.append(max(y.at(line.value) - height - 1, free))
            free = places[-1] + height
        limit = y.start
        for at in reversed(range(len(places))):
            places[at] = min(places[at], limit - heights[at])
            limit = places[at]
        for words, place in zip(every, places, strict=True):
            self.canvas.text(x.end - 2, place, words, "c-ink c-halo", anchor="end")
