"""Charts: a table drawn as dots, bars, curves or a grid of shades. The one place where anything is drawn.

A chart is laid out for a width in pixels, in SVG with text as text. A page gets it in two widths, of which its style
sheet shows the one that fits; a file gets one. Nothing runs, and nothing is fetched. What is told by a colour is told
by a sign, a shape or a number as well.
"""

from __future__ import annotations

import math
import os
import re
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Any

from evenhand import check
from evenhand.errors import MissingExtraError, SpecError
from evenhand.files import replace_file
from evenhand.render.canvas import JOINT, LEADING, MIDDLE, SIZE, Canvas, widest, width_of, wrap
from evenhand.render.markup import Markup, element, joined
from evenhand.render.numbers import NONE, compact, tick, written
from evenhand.render.section import Chart, Column, Line
from evenhand.render.sentences import heading, sentence, title

NARROW, WIDE = 360, 760
"""The widths, in pixels, that a page chooses from."""

COLOURS = {
    "ground": ("#ffffff", "#14181d"),
    "ink": ("#1a1a1a", "#eceff3"),
    "soft": ("#555555", "#aab4bf"),
    "rule": ("#dcdfe3", "#39424c"),
    "band": ("#dde6ef", "#2a3a4a"),
    "nothing": ("#d5d5d5", "#39404a"),
    "before": ("#6b7683", "#9aa7b4"),
    "shade": ("#17467a", "#64a8ee"),
    "better": ("#0b62b8", "#6cb2ff"),
    "worse": ("#b34700", "#ff9d5c"),
    "up": ("#1b7837", "#69c68c"),
    "down": ("#762a83", "#c49be0"),
    "third": ("#00795c", "#3ec9a0"),
    "fourth": ("#a8518a", "#e59ccb"),
}
"""Each colour on a light and on a dark ground; those of marks are told apart by the colour-blind."""

MARKS = """
.c-ink{fill:var(--ink)}.c-strong{fill:var(--ink);font-weight:700}.c-soft{fill:var(--soft)}
.c-on{fill:var(--ground)}.c-ground{fill:var(--ground)}.c-band{fill:var(--band)}.c-nothing{fill:var(--nothing)}
.c-grid{stroke:var(--rule);stroke-width:1}.c-axis{stroke:var(--soft);stroke-width:1}
.c-bound{stroke:var(--ink);stroke-width:1.5;stroke-dasharray:5 3}.c-interval{stroke:var(--ink);stroke-width:1.2}
.c-around{fill:var(--shade);fill-opacity:.2}
.c-way{stroke:var(--before);stroke-width:3;stroke-opacity:.6}
.c-way-better{stroke:var(--better);stroke-width:3;stroke-opacity:.6}
.c-way-worse{stroke:var(--worse);stroke-width:3;stroke-opacity:.6}
.c-before{fill:var(--ground);stroke:var(--before);stroke-width:2}
.c-here{fill:none;stroke:var(--ink);stroke-width:2.5}
.c-plain{fill:var(--ink)}.c-bar{fill:var(--before)}.c-shade{fill:var(--shade)}.c-none{fill:var(--rule)}
.c-better{fill:var(--better)}.c-worse{fill:var(--worse)}.c-up{fill:var(--up)}.c-down{fill:var(--down)}
.c-curve{fill:none;stroke-width:2}.c-0{stroke:var(--shade)}.c-1{stroke:var(--worse);stroke-dasharray:7 3}
.c-2{stroke:var(--third);stroke-dasharray:2 3}.c-3{stroke:var(--fourth);stroke-dasharray:9 3 2 3}
.c-spot-0{fill:var(--shade)}.c-spot-1{fill:var(--worse)}.c-spot-2{fill:var(--third)}.c-spot-3{fill:var(--fourth)}
"""
"""How marks look; of curves the first four, then again."""

CURVES = 4
FONT = 'system-ui,"Segoe UI","Helvetica Neue","DejaVu Sans","Liberation Sans",Arial,sans-serif'

CSS = (
    ".eh-chart{"
    + "".join(f"--{name}:{light};" for name, (light, _) in COLOURS.items())
    + "background:var(--ground);color:var(--ink);margin:1.3rem 0;container-type:inline-size}\n"
    "@supports (color:light-dark(#000,#fff)){.eh-chart{"
    + "".join(f"--{name}:light-dark({light},{dark});" for name, (light, dark) in COLOURS.items())
    + "}}\n"
    f".eh-chart svg{{display:block;width:100%;height:auto;max-width:{WIDE * 1.1:.0f}px;font-family:{FONT}}}\n"
    f".eh-chart .c-narrow svg{{max-width:{NARROW * 1.35:.0f}px}}\n"
    ".eh-chart figcaption{font-weight:600;margin-bottom:.35rem}\n"
    ".eh-chart .c-note{color:var(--soft);font-size:.9rem;margin:.2rem 0 .5rem;max-width:90ch}\n"
    "@container (max-width:36rem){.eh-chart .c-wide{display:none}.eh-chart .c-narrow[hidden]{display:block}}\n"
    "@media print{.eh-chart{color-scheme:light only;break-inside:avoid-page;print-color-adjust:exact;"
    "-webkit-print-color-adjust:exact}}\n" + "".join(f".eh-chart {rule}\n" for rule in re.findall(r"\.[^}]+\}", MARKS))
)
"""The style sheet of charts on a page. It has a dark form where the page says ``color-scheme: light dark``."""

LIGHT = re.sub(r"var\(--(\w+)\)", lambda found: COLOURS[found[1]][0], MARKS)
"""How marks look in a file."""

ENDINGS = (".png", ".svg", ".html")
SCALE = 2.0
"""Pixels of a PNG for each of the layout."""

MARGIN = 12.0
"""Around the charts of a file."""

SMALL = 11.0
LABEL_SHARE = 0.33
"""Names beside a row take so much of the width; where they leave too little, names stand above the rows."""

LEAST_PLOT = 0.44
GAP = 12.0
BELOW = 8.0
STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TICK_ROOM = 50.0
MOST_TICKS = 8
"""About one number along an axis for so many pixels."""

BEYOND = 3.0
"""An interval reaches at most to so many times what else is drawn; there it goes on."""

FROM_ZERO = 0.6
"""Curves whose lowest value is a larger share of their highest are drawn on an axis that does not begin at zero."""

FLAT = 0.02
"""Curves that vary by a smaller share of their highest value are drawn as flat."""

MOST_SPOTS = 80
LARGEST_CELL, CELL_HEIGHT = 60.0, 22.0
LONGEST_TURNED = 260.0
MOST_HEADING_LINES = 3
ON_DARK = 0.55
"""The share of the scale from which a number is written in the colour of the ground."""

MOST_SAID = 60
"""So many rows are read out to those who cannot see a chart; the tables have all."""

SIGNS = {"better": " ▲", "worse": " ▼"}
SHAPES = {"better": "circle", "worse": "square"}
STATES = {"better": "circle", "worse": "up"}
SYMBOL = 16.0

Row = dict[str, Any]


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` between two places, with those that have a number beside the axis."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    step: float

    def at(self, value: float) -> float:
        """Return where a value is; what is beyond an end is at it."""
        share = (min(max(value, self.low), self.high) - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)


def scaled(values: Iterable[float], start: float, end: float, most: int, *, zero: bool = True) -> Scale:
    """Return a scale that has all finite values, and ends at a number of its axis.

    Examples
    --------
    >>> scale = scaled([0.12, 0.4], 0, 100, 5)
    >>> scale.ticks, scale.at(0.2)
    ((0.0, 0.1, 0.2, 0.30000000000000004, 0.4), 50.0)
    """
    known = [float(value) for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    if high - low <= 1e-12 * max(abs(high), 1e-9):
        high = low + (abs(low) or 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for times in STEPS:
        step = power * times
        first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
        if last - first <= most:
            break
    return Scale(first * step, last * step, start, end, tuple(step * n for n in range(first, last + 1)), step)


def _from_zero(values: Sequence[float]) -> bool:
    """Whether curves are drawn on an axis from zero on: unless they vary, and all far from it."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return low < FROM_ZERO * high or high - low < FLAT * high


def _most_ticks(start: float, end: float) -> int:
    return max(2, min(MOST_TICKS, int((end - start) / TICK_ROOM)))


def figure(chart: Chart) -> Markup:
    """Return a chart as part of a page, which has ``CSS`` in its style sheet."""
    notes = [element("p", sentence(note), class_="c-note") for note in chart.notes]
    wide, narrow = (_inline(chart, width) for width in (WIDE, NARROW))
    drawn = element(
        "div", element("div", wide, class_="c-wide"), element("div", narrow, class_="c-narrow", hidden=""),
        role="img", aria_label=described(chart),
    )  # fmt: skip
    caption = element("figcaption", named(chart))
    return element("figure", caption, *notes, drawn, class_="eh-chart", data_chart=chart.key)


def _inline(chart: Chart, width: int) -> Markup:
    canvas = Canvas(width)
    height = math.ceil(draw(canvas, chart, 0.0))
    return element("svg", canvas.content(), viewBox=f"0 0 {width} {height}", font_size=f"{SIZE:g}", aria_hidden="true")


def svg(*charts: Chart, width: float = WIDE) -> str:
    """Return charts below one another as the text of an SVG file, with their titles and notes."""
    canvas = Canvas(width)
    bottom = 0.0
    for chart in charts:
        bottom = canvas.text(0, bottom, wrap(named(chart), width, 17), "c-strong", size=15) + 4
        for note in chart.notes:
            bottom = canvas.text(0, bottom, wrap(sentence(note), width, SMALL), "c-soft", size=SMALL)
        bottom = draw(canvas, chart, bottom + 8) + 2 * GAP
    height = math.ceil(max(bottom - 2 * GAP, 1.0))
    whole = f"{-MARGIN:g} {-MARGIN:g} {width + 2 * MARGIN:g} {height + 2 * MARGIN:g}"
    ground = Canvas(width)
    ground.rect(-MARGIN, -MARGIN, width + 2 * MARGIN, height + 2 * MARGIN, "c-ground")
    return element(
        "svg", element("style", Markup(f"text{{font-family:{FONT}}}{LIGHT}")),
        element("title", "; ".join(map(named, charts))), element("desc", " ".join(map(described, charts))),
        ground.content(), canvas.content(), xmlns="http://www.w3.org/2000/svg", viewBox=whole, role="img",
        width=f"{width + 2 * MARGIN:g}", height=f"{height + 2 * MARGIN:g}", font_size=f"{SIZE:g}",
    )  # fmt: skip


def page(*charts: Chart) -> str:
    """Return charts as a page of their own, on which no script runs and nothing is fetched."""
    style = f":root{{color-scheme:light dark}}body{{margin:1rem;font:16px/1.5 {FONT};overflow-wrap:anywhere}}\n{CSS}"
    digest = b64encode(sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    head = joined((
        Markup('<meta charset="utf-8"><meta name="viewport" content="width=device-width">'),
        Markup(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        element("title", "; ".join(map(named, charts))),
        element("style", Markup(style)),
    ))  # fmt: skip
    body = element("body", *map(figure, charts))
    return f'<!DOCTYPE html>\n<html lang="en">{element("head", head)}\n{body}</html>\n'


def check_ending(path: str | os.PathLike[str] | None) -> None:
    """Refuse a path that no chart can be written to, before there is one."""
    if path is not None and not check.path("path", path).endswith(ENDINGS):
        raise SpecError(f"the path of a chart ends in .png, .svg or .html, not as {os.fspath(path)!r} does")


def save(charts: Chart | Sequence[Chart], path: str | os.PathLike[str]) -> None:
    """Write charts as SVG, HTML or PNG, by the path's ending. PNG needs the extra ``charts``."""
    check_ending(path)
    drawn = [charts] if isinstance(charts, Chart) else charts
    name = os.fspath(path)
    if name.endswith(".png"):
        replace_file(path, _png(svg(*drawn)))
        return
    replace_file(path, (page(*drawn) if name.endswith(".html") else svg(*drawn)).encode())


def _png(text: str) -> bytes:
    try:
        import vl_convert
    except ImportError:
        raise MissingExtraError("charts as PNG need vl-convert: pip install 'evenhand[charts]'") from None
    return bytes(vl_convert.svg_to_png(text, scale=SCALE))


@dataclass(frozen=True, repr=False)
class Picture:
    """One chart or several, as users have them: shown by notebooks, and written to files.

    Examples
    --------
    >>> from evenhand.render.section import Chart, Column, Table
    >>> table = Table("people", (Column("who"), Column("n", "people")), (("a", 2), ("b", 3)))
    >>> picture = Picture((Chart("people", "bars", table, ("who",), ("n",), fields={"title": "People"}),))
    >>> picture
    <Picture: People>
    >>> picture.to_svg()[:4]
    '<svg'
    """

    charts: tuple[Chart, ...]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write SVG, HTML or PNG, by the path's ending. PNG needs the extra ``charts``."""
        save(self.charts, path)

    def to_svg(self, width: float = WIDE) -> str:
        """Return the text of an SVG file, laid out for a width in pixels."""
        return svg(*self.charts, width=check.finite("width", width, low=NARROW / 2))

    def _repr_html_(self) -> str:
        return joined((element("style", Markup(CSS)), *map(figure, self.charts)))

    def __repr__(self) -> str:
        return f"<Picture: {'; '.join(map(named, self.charts))}>"


def named(chart: Chart) -> str:
    """Return the title of a chart."""
    return str(chart.fields.get("title") or title(chart.key, chart.fields))


def described(chart: Chart) -> str:
    """Return what a chart shows in words and numbers, for those who cannot see it."""
    rows, columns = chart.table.records(), _columns(chart)
    values = chart.y if chart.y else chart.x
    across = (*chart.x,) if chart.y else ()
    told = []
    for row in rows[:MOST_SAID]:
        who = ", ".join(_words(row, columns, [chart.panel, *chart.label, chart.inner, *across]))
        told.append(f"{who}: {' → '.join(_words(row, columns, values))}{_sign(chart, row)}")
    told += [f"and {len(rows) - MOST_SAID:,} more"] if len(rows) > MOST_SAID else []
    lines = [line_name(line) for line in chart.lines]
    return "; ".join([f"{named(chart)}. {told[0]}" if told else named(chart), *told[1:], *lines]) + "."


def _columns(chart: Chart) -> dict[str, Column]:
    return {column.name: column for column in chart.table.columns}


def _words(row: Row, columns: dict[str, Column], names: Iterable[str | None]) -> list[str]:
    return [written(row[name], columns[name].kind) for name in names if name is not None and row[name] is not None]


def line_name(line: Line) -> str:
    """Return what a line is called."""
    return title(line.key, {"value": line.value, **line.fields}) or heading(line.key)


def _axis_title(chart: Chart, end: str, column: str) -> str:
    named = _columns(chart)[column]
    return title(f"{chart.key}.{end}", chart.fields) or (column if named.own else heading(column))


def _tone(chart: Chart, row: Row) -> str | None:
    """Return whether a mark is better or worse for people; None where it is neither."""
    tone = None if chart.tone is None else row[chart.tone]
    return tone if tone in SIGNS else None


def _sign(chart: Chart, row: Row) -> str:
    """Return what is written behind a number: a sign or, of curves, what the shape of a point means."""
    tone = _tone(chart, row)
    if chart.mark != "lines":
        return SIGNS.get(tone or "", "")
    return f" ({_meaning(chart, tone or 'neither')})" if chart.tone else ""


def _number(value: Any) -> float | None:
    """Return a number, or None where there is none."""
    return None if value is None or math.isnan(value) else float(value)


def _panels(chart: Chart) -> list[tuple[Any, str, list[Row]]]:
    """Return each panel: its value, what it is called, and its rows."""
    rows = chart.table.records()
    if chart.panel is None:
        return [(None, "", rows)]
    column = _columns(chart)[chart.panel]
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[chart.panel], []).append(row)

    def name(text: str) -> str:
        return text if column.own else title(f"chart.{text}", chart.fields) or heading(text)

    return [(key, name(written(key, column.kind)), own) for key, own in found.items()]


def _lines(chart: Chart, panel: Any, axis: str) -> list[Line]:
    """Return the lines of a panel across one of its axes."""
    return [line for line in chart.lines if line.axis == axis and line.panel in (None, panel)]


def draw(canvas: Canvas, chart: Chart, top: float) -> float:
    """Draw a chart from a height on, and return where it ends."""
    top = _legend(canvas, chart, top)
    if chart.mark in ("dots", "bars"):
        for panel, name, rows in _panels(chart):
            top = _heading(canvas, name, 0.0, top, canvas.width)
            top = _Rows(canvas, chart, rows, _lines(chart, panel, "x")).draw(top) + GAP
        return top - GAP
    return _curves(canvas, chart, top) if chart.mark == "lines" else _grids(canvas, chart, top)


def _heading(canvas: Canvas, text: str, x: float, top: float, width: float) -> float:
    return canvas.text(x, top, wrap(text, width, SIZE * 1.12), "c-strong") + 4 if text else top


# What the marks mean.

Symbol = tuple[str, str, str]
"""A shape, its class and its words."""


def _legend(canvas: Canvas, chart: Chart, top: float) -> float:
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
    tones = {_tone(chart, row) for row in chart.table.records()}
    columns = _columns(chart)
    words = partial(_meaning, chart)
    if chart.mark == "dots":
        for at, column in enumerate(chart.x):
            last = at == len(chart.x) - 1
            if len(chart.x) > 1:
                yield "circle", "c-plain" if last else "c-before", heading(column)
        yield from _toned(tones, words, SHAPES)
    if chart.mark == "bars":
        yield from _toned(tones, words, {})
    if chart.mark == "lines":
        curves = _curve_names(chart)
        if len(curves) > 1:
            yield from (("curve", f"c-curve c-{at % CURVES}", name) for at, name in enumerate(curves))
        yield from _toned(tones, words, STATES)
        if None in tones and chart.tone:
            yield "diamond", "c-bar", words("neither")
        if any(line.shade for line in chart.lines):
            yield "box", "c-nothing", words("infeasible")
        for point in {point.key: point for point in chart.points}.values():
            yield "ring", "c-here", title(point.key, point.fields) or heading(point.key)
    if chart.mark == "heat":
        yield from _shades(chart, columns, tones, words)
    if chart.low is not None:
        yield ("line", "c-interval", words("interval")) if chart.mark != "lines" or _batches(chart) else (
            "box", "c-around", words("interval"))  # fmt: skip
    if chart.band is not None:
        yield "box", "c-band", words("band")


def _meaning(chart: Chart, key: str, **more: Any) -> str:
    fields = {**chart.fields, **more}
    return title(f"{chart.key}.{key}", fields) or title(f"chart.{key}", fields)


def _toned(tones: set[Any], words: Any, shapes: dict[str, str]) -> Iterator[Symbol]:
    for tone in ("better", "worse"):
        if tone in tones:
            sign = "" if shapes is STATES else SIGNS[tone].strip()
            yield shapes.get(tone, "box"), f"c-{tone}", f"{sign} {words(tone)}".strip()


def _shades(chart: Chart, columns: dict[str, Column], tones: set[Any], words: Any) -> Iterator[Symbol]:
    kind, values = columns[chart.y[0]].kind, _grid_values(chart)
    if nothing := title(f"{chart.key}.nothing", chart.fields):
        yield "box", "c-none", nothing
    top = written(max(map(abs, values), default=0.0), kind)
    if min(values, default=0.0) >= 0:
        yield "box", "c-shade", words("shade", top=top)
        return
    known = tones & {"better", "worse"}
    for sign, class_ in (("+", "c-up"), ("−", "c-down")):
        tone = next((t for t in known if _sign_of(chart, t) == sign), None)
        said = f"{SIGNS[tone].strip()} {words(tone)}, " if tone else ""
        if not any(value > 0 if sign == "+" else value < 0 for value in values):
            continue
        yield "box", f"c-{tone}" if tone else class_, f"{said}{sign} up to {top}"


def _sign_of(chart: Chart, tone: str) -> str:
    value = next(row[chart.y[0]] for row in chart.table.records() if _tone(chart, row) == tone)
    return "+" if value > 0 else "−"


# Dots and bars: one row below the other, on one axis.


class _Rows:
    """The rows of a panel: a name, a line with marks, and the number in words."""

    def __init__(self, canvas: Canvas, chart: Chart, rows: list[Row], lines: list[Line]) -> None:
        self.canvas, self.chart, self.rows, self.lines = canvas, chart, rows, lines
        self.columns = _columns(chart)
        self.kind = self.columns[chart.x[-1]].kind
        self.names = [self._name(row) for row in rows]
        self.values = [
            " → ".join(written(row[name], self.columns[name].kind) for name in chart.x) + _sign(chart, row)
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
        self.scale = scaled(self._extent(), start, end, _most_ticks(start, end))

    def _name(self, row: Row) -> tuple[str, bool]:
        inner = self.chart.inner
        if inner is not None and row[inner] is not None:
            return written(row[inner], self.columns[inner].kind), True
        return JOINT.join(_words(row, self.columns, self.chart.label)), False

    def _extent(self) -> Iterator[float]:
        names = [*self.chart.x, *filter(None, (self.chart.low, self.chart.high))]
        for row in self.chart.table.records():
            yield from (row[name] for name in names if _number(row[name]) is not None)
            yield from (end for end in _band_of(self.chart, row) if end is not None)
        yield from (line.value for line in self.chart.lines)

    def draw(self, top: float) -> float:
        canvas, scale = self.canvas, self.scale
        top = _names_above(canvas, self.lines, scale, top)
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
        return _x_axis(canvas, scale, bottom, self.kind, _axis_title(self.chart, "x", self.chart.x[-1]))

    def _behind(self, row: Row, top: float, bottom: float) -> None:
        low, high = _band_of(self.chart, row)
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
        tone = _tone(self.chart, row)
        class_ = f"c-{tone}" if tone else "c-ink"
        middle = y + height / 2 if self.beside else y + text + 13
        above = middle - text / 2 if self.beside else y + 2
        canvas.text(indent, above, lines, "c-soft" if indent else "c-ink")
        beside = middle - SIZE * LEADING / 2 if self.beside else y + 2
        canvas.text(canvas.width, beside, value, class_, anchor="end")
        draw = self._dots if self.chart.mark == "dots" else self._bar
        draw(row, middle, tone)

    def _bar(self, row: Row, y: float, tone: str | None) -> None:
        value = _number(row[self.chart.x[-1]])
        inner = self.chart.inner is not None and row[self.chart.inner] is not None
        if value is not None:
            start, end = sorted((self.scale.at(0.0), self.scale.at(value)))
            more = {"fill_opacity": ".6"} if inner else {}
            self.canvas.rect(start, y - 6 + inner, max(end - start, 1.5), 12 - 2 * inner, f"c-{tone or 'bar'}", **more)
        self._interval(row, y)

    def _interval(self, row: Row, y: float) -> None:
        if self.chart.low is None or self.chart.high is None:
            return
        low, high = _number(row[self.chart.low]), _number(row[self.chart.high])
        if low is not None and high is not None:
            start, end = self.scale.at(low), self.scale.at(high)
            self.canvas.line(start, y, end, y, "c-interval")
            for cap in (start, end):
                self.canvas.line(cap, y - 4, cap, y + 4, "c-interval")

    def _dots(self, row: Row, y: float, tone: str | None) -> None:
        known = [(name, _number(row[name])) for name in self.chart.x]
        places = [(name, self.scale.at(value)) for name, value in known if value is not None]
        if len(places) > 1:
            self.canvas.line(places[0][1], y, places[-1][1], y, f"c-way-{tone}" if tone else "c-way")
        self._interval(row, y)
        for name, x in places:
            if name == self.chart.x[-1]:
                self.canvas.shape(SHAPES.get(tone or "", "circle"), x, y, f"c-{tone or 'plain'}")
            else:
                self.canvas.shape("circle", x, y, "c-before")


def _band_of(chart: Chart, row: Row) -> tuple[float | None, float | None]:
    if chart.band is None:
        return None, None
    low, high = (row[end] if isinstance(end, str) else end for end in chart.band)
    return _number(low), _number(high)


def _x_axis(canvas: Canvas, scale: Scale, y: float, kind: str, words: str) -> float:
    """Draw an axis with its numbers and its title below a plot, and return where it ends."""
    canvas.line(scale.start, y, scale.end, y, "c-axis")
    texts = [tick(value, scale.step, kind) for value in scale.ticks]
    for value in scale.ticks:
        canvas.line(scale.at(value), y, scale.at(value), y + 4, "c-axis")
    for every in range(1, len(texts) + 1):
        some = list(zip(scale.ticks, texts, strict=True))[::every]
        if placed := _spread([(scale.at(value), width_of(text, SMALL)) for value, text in some], 0.0, canvas.width):
            break
    for middle, (_, text) in zip(placed, some, strict=True):
        canvas.text(middle, y + BELOW, text, "c-soft", anchor="middle", size=SMALL)
    return _axis_words(canvas, scale, y + BELOW + SMALL * LEADING, words)


def _axis_words(canvas: Canvas, scale: Scale, y: float, words: str) -> float:
    lines = wrap(words, scale.end - scale.start)
    return canvas.text((scale.start + scale.end) / 2, y, lines, "c-soft", anchor="middle")


def _spread(wanted: Sequence[tuple[float, float]], low: float, high: float) -> list[float]:
    """Return the middles of texts, given with their widths, moved in from the ends; none where two would meet."""
    middles = [max(min(at, high - width / 2), low + width / 2) for at, width in wanted]
    ends = [(at - width / 2, at + width / 2) for at, (_, width) in zip(middles, wanted, strict=True)]
    free = all(right + 4 <= left for (_, right), (left, _) in pairwise(ends))
    return middles if free else []


def _names_above(canvas: Canvas, lines: Sequence[Line], scale: Scale, top: float) -> float:
    """Write the names of upright lines above a plot, each lower than those that it would meet; return its top."""
    if not lines:
        return top
    left, right = scale.start, scale.end
    placed: list[tuple[float, float, int, list[str], Line]] = []
    levels: list[list[tuple[float, float]]] = []
    heights: list[float] = []
    for line in sorted(lines, key=lambda line: line.value):
        words = wrap(line_name(line), right - left)
        width = widest(words)
        start = min(max(scale.at(line.value) - width / 2, left), max(right - width, left))
        level = next(
            (at for at, taken in enumerate(levels) if all(start > b + 8 or start + width < a - 8 for a, b in taken)),
            len(levels),
        )
        if level == len(levels):
            levels.append([])
            heights.append(0.0)
        levels[level].append((start, start + width))
        heights[level] = max(heights[level], len(words) * SIZE * LEADING)
        placed.append((start, width, level, words, line))
    bottom = top + sum(heights) + 4
    for _, _, level, _, line in placed:
        x = scale.at(line.value)
        canvas.line(x, top + sum(heights[:level]) + 2, x, bottom, "c-bound")
    for start, width, level, words, _ in placed:
        y = top + sum(heights[:level])
        canvas.rect(start - 2, y, width + 4, len(words) * SIZE * LEADING, "c-ground")
        canvas.text(start + width / 2, y, words, anchor="middle")
    return bottom


# Curves, in panels over one axis.


def _batches(chart: Chart) -> bool:
    """Whether the abscissa is a list of names."""
    return _columns(chart)[chart.x[0]].kind == "text"


def _curve_name(chart: Chart, row: Row) -> str:
    return JOINT.join(_words(row, _columns(chart), chart.label))


def _curve_names(chart: Chart) -> list[str]:
    return list(dict.fromkeys(_curve_name(chart, row) for row in chart.table.records())) if chart.label else []


def _curves(canvas: Canvas, chart: Chart, top: float) -> float:
    panels = [(*panel, column) for panel in _panels(chart) for column in chart.y]
    across = 2 if len(panels) > 1 and canvas.width >= 1.5 * NARROW else 1
    width = (canvas.width - (across - 1) * 2 * GAP) / across
    bottom = top
    for at, (owner, name, rows, column) in enumerate(panels):
        if at % across == 0:
            top = bottom + (GAP if at else 0)
        part = Canvas(width)
        end = _Curves(part, chart, rows, column, owner).draw(name)
        x = (at % across) * (width + 2 * GAP)
        canvas.parts.append(element("g", part.content(), transform=f"translate({x:.1f} {top:.1f})"))
        bottom = max(bottom, top + end)
    return bottom


class _Curves:
    """One panel of curves."""

    def __init__(self, canvas: Canvas, chart: Chart, rows: list[Row], column: str, owner: Any) -> None:
        self.canvas, self.chart, self.column = canvas, chart, column
        self.columns = _columns(chart)
        self.rows = [row for row in rows if _number(row[column]) is not None]
        self.kind = self.columns[column].kind
        self.upright, self.level = _lines(chart, owner, "x"), _lines(chart, owner, "y")
        self.points = [point for point in chart.points if point.panel is None or point.panel == owner]
        self.points = self.points if column == chart.y[0] else []
        self.height = 170.0 if canvas.width < 1.5 * NARROW else 250.0
        self.bounds: list[tuple[float, float, float]] = []
        self.batches = list(dict.fromkeys(chart.table.values(chart.x[0]))) if _batches(chart) else []

    def _heights(self, own: list[Row]) -> list[float]:
        """Return all values upwards; intervals as far as they are drawn."""
        found = [float(row[self.column]) for row in own if _number(row[self.column]) is not None]
        found += [line.value for line in self.level] + [point.y for point in self.points]
        found += [end for row in own for end in _band_of(self.chart, row) if end is not None]
        found = [value for value in found if math.isfinite(value)]
        most = BEYOND * max(map(abs, found), default=1.0)
        names = [name for name in (self.chart.low, self.chart.high) if name is not None]
        ends = [_number(row[name]) for row in own for name in names]
        return found + [min(max(end, -most), most) for end in ends if end is not None]

    def _scale(self, low_end: float, high_end: float) -> Scale:
        heights = self._heights(self.rows if self.chart.own_scale else self.chart.table.records())
        return scaled(heights, low_end, high_end, 5, zero=_from_zero(heights))

    def _across(self, start: float, end: float) -> Scale:
        if self.batches:
            number = len(self.batches)
            return Scale(-0.5, number - 0.5, start, end, tuple(range(number)), 1.0)
        values = [float(value) for value in self.chart.table.values(self.chart.x[0]) if _number(value) is not None]
        values += [line.value for line in self.chart.lines if line.axis == "x"] + [p.x for p in self.chart.points]
        most = _most_ticks(start, end)
        return scaled(values, start, end, most, zero=_from_zero(values))

    def draw(self, name: str) -> float:
        canvas, chart = self.canvas, self.chart
        top = _heading(canvas, name, 0.0, 0.0, canvas.width)
        words = title(f"{chart.key}.{self.column if len(chart.y) > 1 else 'y'}", chart.fields)
        top = canvas.text(0, top, wrap(words or heading(self.column), canvas.width), "c-soft") + 4
        y = self._scale(0.0, 1.0)
        texts = [tick(value, y.step, self.kind) for value in y.ticks]
        start = widest(texts, SMALL) + 8
        x = self._across(start, canvas.width - 10)
        top = _names_above(canvas, self.upright, x, top)
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
        for at, curve in enumerate(_curve_names(chart) or [""]):
            own = [row for row in self.rows if not chart.label or _curve_name(chart, row) == curve]
            self._curve(own, x, y, at % CURVES)
        for point in self.points:
            canvas.shape("ring", x.at(point.x), y.at(point.y), "c-here", r=7)
        self._level_names(x, y)
        return self._below(x, bottom)

    def _names_height(self, x: Scale) -> float:
        words = [wrap(line_name(line), x.end - x.start - 8) for line in self.level]
        return sum(map(len, words)) * SIZE * LEADING + 8

    def _below(self, x: Scale, bottom: float) -> float:
        words = _axis_title(self.chart, "x", self.chart.x[0])
        if not self.batches:
            return _x_axis(self.canvas, x, bottom, self.columns[self.chart.x[0]].kind, words)
        self.canvas.line(x.start, bottom, x.end, bottom, "c-axis")
        pitch = (x.end - x.start) / len(self.batches)
        for every in range(max(1, math.ceil(72 / pitch)), len(self.batches) + 1):
            places = range(0, len(self.batches), every)
            named = [wrap(str(self.batches[at]), every * pitch - 6, SMALL, 4) for at in places]
            wanted = [(x.at(at), widest(lines, SMALL)) for at, lines in zip(places, named, strict=True)]
            if placed := _spread(wanted, x.start, self.canvas.width):
                break
        else:
            places, placed = range(1), [(x.start + x.end) / 2]
            named = [wrap(str(self.batches[0]), x.end - x.start, SMALL, 4)]
        end = bottom
        for at, middle, lines in zip(places, placed, named, strict=True):
            self.canvas.line(x.at(at), bottom, x.at(at), bottom + 4, "c-axis")
            end = max(end, self.canvas.text(middle, bottom + BELOW, lines, "c-soft", anchor="middle", size=SMALL))
        return _axis_words(self.canvas, x, end, words)

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
            low, high = _band_of(self.chart, row)
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
            ends = [(_number(row[chart.low]), _number(row[chart.high])) for row in rows]
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
            tone = _tone(chart, row)
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
        for words, height, place in zip(every, heights, places, strict=True):
            width = widest(words)
            self.canvas.rect(x.end - width - 4, place + 1, width + 4, height - 1, "c-ground", fill_opacity=".75")
            self.canvas.text(x.end - 2, place, words, anchor="end")


# Grids of shades.


def _grid_values(chart: Chart) -> list[float]:
    found = map(_number, chart.table.values(chart.y[0]))
    return [value for value in found if value is not None and math.isfinite(value)]


def _grids(canvas: Canvas, chart: Chart, top: float) -> float:
    panels = _panels(chart)
    half = (canvas.width - 2 * GAP) / 2
    beside = len(panels) > 1 and canvas.width >= 1.5 * NARROW
    across = 2 if beside and all(_Grid(Canvas(half), chart, rows).fits for _, _, rows in panels) else 1
    width = half if across == 2 else canvas.width
    bottom = top
    for at, (_, name, rows) in enumerate(panels):
        if at % across == 0:
            top = bottom + (GAP if at else 0)
        part = Canvas(width)
        end = _Grid(part, chart, rows).draw(name)
        x = (at % across) * (width + 2 * GAP)
        canvas.parts.append(element("g", part.content(), transform=f"translate({x:.1f} {top:.1f})"))
        bottom = max(bottom, top + end)
    return bottom


class _Grid:
    """One panel of cells: rows as they are named, columns too, each cell a shade with its number."""

    def __init__(self, canvas: Canvas, chart: Chart, rows: list[Row]) -> None:
        self.canvas, self.chart = canvas, chart
        self.columns = _columns(chart)
        self.kind = self.columns[chart.y[0]].kind
        every = _grid_values(chart)
        self.most = max(map(abs, every), default=0.0) or 1.0
        self.signed = min(every, default=0.0) < 0
        self.down = list(dict.fromkeys(self._named(row, chart.label) for row in rows))
        self.across = list(dict.fromkeys(self._named(row, chart.x) for row in rows))
        self.cells = {(self._named(row, chart.label), self._named(row, chart.x)): row for row in rows}
        self.texts = {at: compact(row[chart.y[0]], self.kind, signed=self.signed) for at, row in self.cells.items()}
        title_room = width_of(_axis_title(chart, "y", chart.label[0]))
        self.label_room = min(max(widest(self.down) + 8, title_room / 2), 0.36 * canvas.width)
        self.least = max(widest(list(self.texts.values()), SMALL) + 4, 20.0)
        room = canvas.width - self.label_room
        self.fits = room >= len(self.across) * self.least
        # Columns that have no room stand in blocks below one another.
        self.block = len(self.across) if self.fits else max(1, int(room / self.least))
        longest = max((width_of(word) for name in self.across for word in name.split()), default=0.0)
        self.cell = min(room / self.block, max(LARGEST_CELL, longest + 6))

    def _named(self, row: Row, names: Sequence[str]) -> str:
        return JOINT.join(_words(row, self.columns, names)) or NONE

    def draw(self, name: str) -> float:
        bottom = _heading(self.canvas, name, 0.0, 0.0, self.canvas.width)
        x_words = _axis_title(self.chart, "x", self.chart.x[0])
        y_words = _axis_title(self.chart, "y", self.chart.label[0])
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
        value = None if row is None else _number(row[self.chart.y[0]])
        middle = y + height / 2 - SMALL * LEADING / 2
        if value is None or row is None:
            self.canvas.rect(x, y, self.cell - 1, height - 1, "c-none", fill_opacity=".4")
            return
        share = min(abs(value) / self.most, 1.0)
        tone = _tone(self.chart, row)
        class_ = "c-shade" if not self.signed else "c-up" if value > 0 else "c-down"
        class_ = f"c-{tone}" if tone else class_
        self.canvas.rect(x, y, self.cell - 1, height - 1, "c-none", fill_opacity=".25")
        self.canvas.rect(x, y, self.cell - 1, height - 1, class_, fill_opacity=f"{share:.2f}")
        look = "c-on" if share > ON_DARK else "c-ink"
        self.canvas.text(x + (self.cell - 1) / 2, middle, self.texts[place], look, anchor="middle", size=SMALL)
