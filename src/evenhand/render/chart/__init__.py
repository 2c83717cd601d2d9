"""Charts: a table drawn as dots, bars, curves or a grid of shades. The one room where anything is drawn.

A chart is laid out for a width in pixels, in SVG with text as text. A page gets it in two widths, of which its style
sheet shows the one that fits; a file gets one. Nothing runs, and nothing is fetched. What is told by a colour is told
by a sign, a shape or a number as well.
"""

from __future__ import annotations

import math
import os
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256

from evenhand import check
from evenhand.errors import MissingExtraError, SpecError
from evenhand.files import replace_file
from evenhand.render.chart.axes import SMALL
from evenhand.render.chart.canvas import GAP, SIZE, Canvas, wrap, write_heading
from evenhand.render.chart.contents import described, lines_of, named, panels_of
from evenhand.render.chart.curves import draw_curves
from evenhand.render.chart.grids import draw_grids
from evenhand.render.chart.legend import draw_legend
from evenhand.render.chart.rows import RowPanel
from evenhand.render.chart.style import CSS, FONT, LIGHT, NARROW, WIDE
from evenhand.render.markup import Markup, element, joined
from evenhand.render.section import Chart
from evenhand.render.sentences import sentence

ENDINGS = (".png", ".svg", ".html")
SCALE = 2.0
"""Pixels of a PNG for each of the layout."""

MARGIN = 12.0
"""Around the charts of a file."""


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
    except ImportError as error:
        lacking = isinstance(error, ModuleNotFoundError)
        why = "charts as PNG need vl-convert: pip install 'evenhand[charts]'"
        raise MissingExtraError(why if lacking else f"vl-convert cannot be loaded: {error}") from None
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
        save(self.charts, check.path("path", path))

    def to_svg(self, width: float = WIDE) -> str:
        """Return the text of an SVG file, laid out for a width in pixels."""
        return svg(*self.charts, width=check.finite("width", width, low=NARROW / 2))

    def _repr_html_(self) -> str:
        return joined((element("style", Markup(CSS)), *map(figure, self.charts)))

    def __repr__(self) -> str:
        return f"<Picture: {'; '.join(map(named, self.charts))}>"


def draw(canvas: Canvas, chart: Chart, top: float) -> float:
    """Draw a chart from a height on, and return where it ends."""
    top = draw_legend(canvas, chart, top)
    if chart.mark in ("dots", "bars"):
        for panel, name, rows in panels_of(chart):
            top = write_heading(canvas, name, 0.0, top, canvas.width)
            top = RowPanel(canvas, chart, rows, lines_of(chart, panel, "x")).draw(top) + GAP
        return top - GAP
    return draw_curves(canvas, chart, top) if chart.mark == "lines" else draw_grids(canvas, chart, top)
