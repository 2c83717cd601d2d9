"""Dots and bars: one row below the other on one axis, each with its name and its number in words."""

from __future__ import annotations

from collections.abc import Iterator

from evenhand.render.chart.axes import draw_axis, most_ticks, scaled, write_names_above
from evenhand.render.chart.canvas import GAP, LEADING, SIZE, Canvas, widest, wrap
from evenhand.render.chart.contents import Row, axis_title, band_of, columns_of, number_of, sign_of, tone_of, words_of
from evenhand.render.numbers import JOINT, written
from evenhand.render.section import Chart, Line

LABEL_SHARE, LEAST_PLOT = 0.33, 0.44
"""Names take at most so much of the width; where less than so much is left for marks, names stand above the rows."""

SHAPES = {"better": "circle", "worse": "square"}


class RowPanel:
    """The rows of a panel: a name, a line with marks, and the number in words."""

    def __init__(self, canvas: Canvas, chart: Chart, rows: list[Row], lines: list[Line]) -> None:
        self.canvas, self.chart, self.rows, self.lines = canvas, chart, rows, lines
        self.columns = columns_of(chart)
        self.kind = self.columns[chart.x[-1]].kind
        self.names = [self._name(row) for row in rows]
        self.values = [
            " → ".join(written(row[name], self.columns[name].kind) for name in chart.x) + sign_of(chart, row)
            for row in rows
        ]
        width = canvas.width
        value_room = widest(self.values) + 8
        label_room = min(widest([name for name, _ in self.names]) + 14 + 8, LABEL_SHARE * width)
        self.beside = width - label_room - value_room - 2 * GAP >= LEAST_PLOT * width
        if self.beside:
            self.label_room, start, end = label_room, label_room + GAP, width - value_room - GAP
        else:
            self.label_room, start, end = width - value_room, GAP, width - GAP
        self.scale = scaled(self._extent(), start, end, most_ticks(start, end))

    def _name(self, row: Row) -> tuple[str, bool]:
        inner = self.chart.inner
        if inner is not None and row[inner] is not None:
            return written(row[inner], self.columns[inner].kind), True
        return JOINT.join(words_of(row, self.columns, self.chart.label)), False

    def _extent(self) -> Iterator[float]:
        names = [*self.chart.x, *filter(None, (self.chart.low, self.chart.high))]
        for row in self.chart.table.records():
            yield from (row[name] for name in names if number_of(row[name]) is not None)
            yield from (end for end in band_of(self.chart, row) if end is not None)
        yield from (line.value for line in self.chart.lines)

    def draw(self, top: float) -> float:
        """Draw the rows from a height on, and return where their axis ends."""
        canvas, scale = self.canvas, self.scale
        top = write_names_above(canvas, self.lines, scale, top)
        places, bottom = [], top
        for (name, inner), value in zip(self.names, self.values, strict=True):
            indent = 14.0 * inner
            lines = wrap(name, self.label_room - indent - 6)
            text = len(lines) * SIZE * LEADING
            height = max(text + 6, 22.0) if self.beside else text + 24
            places.append((bottom, height, lines, indent, value))
            bottom += height
        for (y, height, lines, *_), row in zip(places, self.rows, strict=True):
            # Above a line with marks stands its name, behind which there is nothing.
            self._behind(row, y + (0 if self.beside else len(lines) * SIZE * LEADING + 3), y + height)
        if self.beside:
            self._upright(top, bottom)
        for place, row in zip(places, self.rows, strict=True):
            self._row(row, *place)
        return draw_axis(canvas, scale, bottom, self.kind, axis_title(self.chart, "x", self.chart.x[-1]))

    def _behind(self, row: Row, top: float, bottom: float) -> None:
        low, high = band_of(self.chart, row)
        if low is not None and high is not None:
            left, right = self.scale.at(low), self.scale.at(high)
            self.canvas.rect(left, top, max(right - left, 2), bottom - top, "c-band")
        if not self.beside:
            self._upright(top, bottom)

    def _upright(self, top: float, bottom: float) -> None:
        for value in self.scale.ticks:
            self.canvas.line(self.scale.at(value), top, self.scale.at(value), bottom, "c-grid")
        for line in self.lines:
            self.canvas.line(self.scale.at(line.value), top, self.scale.at(line.value), bottom, "c-bound")

    def _row(self, row: Row, y: float, height: float, lines: list[str], indent: float, value: str) -> None:
        canvas, text = self.canvas, len(lines) * SIZE * LEADING
        tone = tone_of(self.chart, row)
        class_ = f"c-{tone}" if tone else "c-ink"
        middle = y + height / 2 if self.beside else y + text + 13
        above = middle - text / 2 if self.beside else y + 2
        canvas.text(indent, above, lines, "c-soft" if indent else "c-ink")
        beside = middle - SIZE * LEADING / 2 if self.beside else y + 2
        canvas.text(canvas.width, beside, value, class_, anchor="end")
        draw = self._dots if self.chart.mark == "dots" else self._bar
        draw(row, middle, tone)

    def _bar(self, row: Row, y: float, tone: str | None) -> None:
        value = number_of(row[self.chart.x[-1]])
        inner = self.chart.inner is not None and row[self.chart.inner] is not None
        if value is not None:
            start, end = sorted((self.scale.at(0.0), self.scale.at(value)))
            more = {"fill_opacity": ".6"} if inner else {}
            self.canvas.rect(start, y - 6 + inner, max(end - start, 1.5), 12 - 2 * inner, f"c-{tone or 'bar'}", **more)
        self._interval(row, y)

    def _interval(self, row: Row, y: float) -> None:
        if self.chart.low is None or self.chart.high is None:
            return
        low, high = number_of(row[self.chart.low]), number_of(row[self.chart.high])
        if low is not None and high is not None:
            start, end = self.scale.at(low), self.scale.at(high)
            self.canvas.line(start, y, end, y, "c-interval")
            for cap in (start, end):
                self.canvas.line(cap, y - 4, cap, y + 4, "c-interval")

    def _dots(self, row: Row, y: float, tone: str | None) -> None:
        known = [(name, number_of(row[name])) for name in self.chart.x]
        places = [(name, self.scale.at(value)) for name, value in known if value is not None]
        if len(places) > 1:
            self.canvas.line(places[0][1], y, places[-1][1], y, f"c-way-{tone}" if tone else "c-way")
        self._interval(row, y)
        for name, x in places:
            if name == self.chart.x[-1]:
                self.canvas.shape(SHAPES.get(tone or "", "circle"), x, y, f"c-{tone or 'plain'}")
            else:
                self.canvas.shape("circle", x, y, "c-before")
