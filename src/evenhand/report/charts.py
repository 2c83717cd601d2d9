"""Charts: one specification each, to PNG, SVG or HTML by its ending. Needs the extra ``charts``."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.errors import MissingExtraError, SpecError
from evenhand.storage import replace_file

# Light and dark of one blue: legible in grey and to the colour-blind.
BEFORE, AFTER = "#9ecae1", "#08519c"
BLUES = ("#08306b", "#08519c", "#2171b5", "#4292c6", "#6baed6")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 1])
SCALE = 2.0
HEIGHT = 300
TICK = 0.05

WIDEST, NARROWEST = 7.0, 2.0
"""The widths of the first curve and of the last, which lies over the others."""

HEADROOM = 1.06
"""The axis ends above the highest point by this factor."""

NOTHING_LOST = 0.01
"""The upper end of the axis where nothing is lost anywhere."""

SHADE = 0.22
"""The opacity of the region that is infeasible on every line."""

SEEN_FROM = 1e-6
"""An edge at a smaller share of the axis is at zero."""

LABELLED_FROM = 0.15
"""A region of a smaller share of the axis has its label upright."""

SMALLEST = "smallest feasible"
EDGES = (SMALLEST, "lossless from", "unchanged from")


def rates(rows: Sequence[Mapping[str, Any]], *, outcome: str, title: str, subtitle: str) -> Any:
    """Return the chart of an outcome's rate by group, before and after.

    Each row has ``group``, ``level`` (of the outcome), ``before`` and ``after``.
    """
    alt = _altair()
    levels = list(dict.fromkeys(row["level"] for row in rows))
    long = [
        {"group": row["group"], "level": f"{outcome} = {row['level']}", "when": when, "rate": row[when]}
        for row in rows
        for when in ("before", "after")
    ]
    order = list(dict.fromkeys(row["group"] for row in rows))
    top = min(1.0, math.ceil(max(point["rate"] for point in long) / TICK + 0.2) * TICK)
    heading = f"rate of {outcome} = {levels[0]}" if len(levels) == 1 else "rate"
    y = alt.Y("group:N", title=None, sort=order, axis=alt.Axis(labelLimit=320, ticks=False, domain=False))
    x = alt.X(
        "rate:Q",
        title=heading,
        scale=alt.Scale(domain=[0, top]),
        axis=alt.Axis(format=".0%", tickCount=8, labelFlush=False),
    )
    span = alt.Chart().mark_line(color="#bdbdbd", strokeWidth=3).encode(x=x, y=y, detail="group:N")
    layered = alt.layer(span, _before_and_after(alt, x, y), data=alt.Data(values=long))
    layered = layered.properties(width=420, height=44 * len(order))
    if len(levels) > 1:
        layered = layered.facet(row=alt.Row("level:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left")))
    return (
        layered.properties(title=alt.Title(title, subtitle=subtitle, anchor="start", subtitleColor="#555555"))
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12)
        .configure_legend(labelFontSize=12, orient="top")
    )


def _before_and_after(alt: Any, x: Any, y: Any) -> Any:
    """Return the points, told apart by lightness and by shape."""
    scale = {"domain": ["before", "after"]}
    return (
        alt.Chart()
        .mark_point(filled=True, size=140, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("when:N", title=None, scale=alt.Scale(range=[BEFORE, AFTER], **scale)),
            shape=alt.Shape("when:N", title=None, scale=alt.Scale(range=["circle", "diamond"], **scale)),
            tooltip=["group:N", "when:N", alt.Tooltip("rate:Q", format=".4f")],
        )
    )


def frontier(
    points: Sequence[Mapping[str, Any]],
    edges: Sequence[Mapping[str, Any]],
    *,
    along: str,
    lines: str | None,
    loss: str,
    title: str,
    subtitle: str,
) -> Any:
    """Return the chart of what is lost along a bound or a budget, one curve a line.

    Each point has ``at``, ``line``, ``objective`` and ``status``; points without an objective set only the axis. Each
    edge has ``at``, ``line`` and ``edge``, one of ``EDGES``; left of the smallest feasible one is the infeasible
    region. ``along``, ``loss`` and ``lines`` are the titles of the axes and of the legend; ``lines`` is None where
    there is one line.
    """
    alt = _altair()
    right = max([row["at"] for row in (*points, *edges)], default=0.0) or 1.0
    x = alt.X("at:Q", title=along, scale=alt.Scale(domain=[0, right], nice=False), axis=alt.Axis(labelFlush=False))
    known = [dict(point) for point in points if not math.isnan(point["objective"])]
    order = list(dict.fromkeys(row["line"] for row in (*points, *edges)))
    parts = [
        *_infeasible_region(alt, x, edges, right),
        *(_edge_rules(alt, x, edges) if lines is None else [_edge_marks(alt, x, edges, _colours(alt, lines, order))]),
        _curves(alt, x, known, loss, lines, order),
    ]
    return (
        alt.layer(*parts)
        .resolve_scale(shape="independent")
        .resolve_legend(shape="independent")
        .properties(width=520, height=HEIGHT)
        .properties(title=alt.Title(title, subtitle=subtitle, anchor="start", subtitleColor="#555555"))
        .configure_view(stroke=None)
        .configure_axis(labelFontSize=12, titleFontSize=12, grid=False)
        .configure_legend(labelFontSize=12, titleFontSize=12, symbolSize=90)
    )


def _infeasible_region(alt: Any, x: Any, edges: Sequence[Mapping[str, Any]], right: float) -> list[Any]:
    """Shade what is left of each line's smallest feasible place, the darker the more lines it is infeasible on."""
    until = [row["at"] for row in edges if row["edge"] == SMALLEST and row["at"] > SEEN_FROM * right]
    if not until:
        return []
    shades = alt.Chart(alt.Data(values=[{"at": 0.0, "until": end} for end in until]))
    # Where all of them lie over one another the region is as dark as that of a single line.
    opacity = 1 - (1 - SHADE) ** (1 / len(until))
    rectangle = shades.mark_rect(color="#737373", opacity=opacity, tooltip=None).encode(x=x, x2="until:Q")
    wide = max(until) >= LABELLED_FROM * right
    text = alt.Chart(alt.Data(values=[{"at": max(until) / 2, "label": "infeasible"}]))
    # Curves fall from the upper left, so that there is room at the bottom.
    label = text.mark_text(color="#404040", fontSize=12, fontStyle="italic", angle=0 if wide else 270)
    return [rectangle, label.encode(x=x, y=alt.value(0.9 * HEIGHT), text="label:N")]


def _edge_rules(alt: Any, x: Any, edges: Sequence[Mapping[str, Any]]) -> list[Any]:
    """Return an upright line at each edge, with its name and place; edges at one place share them."""
    named: dict[float, list[str]] = {}
    for row in edges:
        named.setdefault(round(row["at"], 9), []).append(row["edge"])
    # At the left end there is no room inside the infeasible region, which is empty then.
    widest = max(named, default=0.0)
    rows = [
        {"at": at, "label": f"{_joined(names)} {at:.4f}", "left": SMALLEST in names and at > LABELLED_FROM * widest}
        for at, names in named.items()
    ]
    chart = alt.Chart(alt.Data(values=rows))
    rule = chart.mark_rule(color="#404040", strokeDash=[4, 3]).encode(x=x)
    text = chart.mark_text(color="#404040", fontSize=11, angle=270, align="right", baseline="middle")
    # The name of the infeasible region's edge stands inside it, the others beyond theirs: away from the curve.
    return [rule] + [
        text.transform_filter(alt.datum.left == side).encode(
            x=x, xOffset=alt.value(offset), y=alt.value(4), text="label:N"
        )
        for side, offset in ((True, -9), (False, 9))
    ]


def _joined(names: list[str]) -> str:
    return " and ".join(names).replace(" from and ", " and ")


def _edge_marks(alt: Any, x: Any, edges: Sequence[Mapping[str, Any]], colour: Any) -> Any:
    """Return a symbol on the axis at each line's edges, one shape a kind of edge."""
    shape = alt.Shape(
        "edge:N", title="edge", scale=alt.Scale(domain=list(EDGES), range=["triangle-up", "diamond", "cross"])
    )
    return (
        alt.Chart(alt.Data(values=[dict(row) for row in edges]))
        .mark_point(filled=True, size=110, opacity=1, yOffset=-6)
        .encode(x=x, y=alt.value(HEIGHT), shape=shape, color=colour, tooltip=["edge:N", "line:N", _place(alt)])
    )


def _curves(alt: Any, x: Any, points: list[dict[str, Any]], loss: str, lines: str | None, order: list[str]) -> Any:
    """Return one curve a line, told apart by lightness, width and dashes: where they coincide each is still seen."""
    # Where nothing is lost anywhere, the axis still needs an extent.
    top = max((point["objective"] for point in points), default=0.0) or NOTHING_LOST
    y = alt.Y("objective:Q", title=loss, scale=alt.Scale(domain=[0, HEADROOM * top], nice=False), axis=_ticks(alt))
    tooltip = [_place(alt), alt.Tooltip("objective:Q", format=".6g"), "status:N"]
    chart = alt.Chart(alt.Data(values=points))
    if lines is None:
        marked = chart.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(filled=True, size=24))
        return marked.encode(x=x, y=y, color=alt.value(AFTER), tooltip=tooltip)
    steps = range(len(order))
    scales = {
        alt.StrokeDash: [DASHES[i % len(DASHES)] for i in steps],
        alt.StrokeWidth: [WIDEST + (NARROWEST - WIDEST) * i / max(1, len(order) - 1) for i in steps],
    }
    told = [
        kind("line:N", title=lines, sort=order, scale=alt.Scale(type="ordinal", domain=order, range=values))
        for kind, values in scales.items()
    ]
    return chart.mark_line().encode(x, y, *told, color=_colours(alt, lines, order), tooltip=["line:N", *tooltip])


def _ticks(alt: Any) -> Any:
    return alt.Axis(format="~g", tickCount=6)


def _colours(alt: Any, lines: str, order: list[str]) -> Any:
    """Return one blue a line, from dark to light."""
    shades = [BLUES[round(i * (len(BLUES) - 1) / max(1, len(order) - 1))] for i in range(len(order))]
    legend = alt.Legend(symbolType="stroke")
    return alt.Color("line:N", title=lines, sort=order, scale=alt.Scale(domain=order, range=shades), legend=legend)


def _place(alt: Any) -> Any:
    return alt.Tooltip("at:Q", format=".7g")


def check_ending(path: str | os.PathLike[str] | None) -> None:
    """Refuse a path that no chart can be written to, before there is one."""
    if path is not None and not os.fspath(path).endswith((".png", ".svg", ".html")):
        raise SpecError(f"a chart is written as .png, .svg or .html, not as {os.fspath(path)!r}")


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart as PNG, SVG or HTML, by the path's ending."""
    check_ending(path)
    convert = _vl_convert()
    name = os.fspath(path)
    specification = chart.to_json()
    if name.endswith(".png"):
        content: bytes = convert.vegalite_to_png(specification, scale=SCALE)
    elif name.endswith(".svg"):
        content = convert.vegalite_to_svg(specification).encode()
    else:
        content = convert.vegalite_to_html(specification, bundle=True).encode()
    replace_file(path, content)


def _altair() -> Any:
    try:
        import altair
    except ImportError:
        raise _missing() from None
    return altair


def _vl_convert() -> Any:
    try:
        import vl_convert
    except ImportError:
        raise _missing() from None
    return vl_convert


def _missing() -> MissingExtraError:
    return MissingExtraError("charts need altair and vl-convert: pip install 'evenhand[charts]'")
