"""What is lost along a bound or a budget: figure 2, with its infeasible region."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.report.charts.chart import Chart, altair, finished

LINE = "#08519c"
# Shades of one blue: legible in grey and to the colour-blind.
BLUES = ("#08306b", "#08519c", "#2171b5", "#4292c6", "#6baed6")
DASHES = ([1, 0], [6, 3], [2, 2], [8, 3, 2, 3], [12, 4], [4, 1])
WIDTH, HEIGHT = 520, 300

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


def frontier(
    points: Sequence[Mapping[str, Any]],
    edges: Sequence[Mapping[str, Any]],
    *,
    along: str,
    lines: str | None,
    loss: str,
    title: str,
    subtitle: str,
    chosen: Mapping[str, float] | None = None,
) -> Chart:
    """Return the chart of what is lost along a bound or a budget, one curve per line.

    Each point has ``at``, ``line``, ``objective`` and ``status``; points without an objective set only the axis. Each
    edge has ``at``, ``line`` and ``edge``, one of ``EDGES``; left of the smallest feasible one is the infeasible
    region. ``along``, ``loss`` and ``lines`` are the titles of the axes and of the legend; ``lines`` is None where
    there is one line. ``chosen``, with ``at`` and ``objective``, is marked as the mapping that is spoken of.
    """
    alt = altair()
    right = max([row["at"] for row in (*points, *edges)], default=0.0) or 1.0
    x = alt.X("at:Q", title=along, scale=alt.Scale(domain=[0, right], nice=False), axis=alt.Axis(labelFlush=False))
    known = [dict(point) for point in points if not math.isnan(point["objective"])]
    order = list(dict.fromkeys(row["line"] for row in (*points, *edges)))
    parts = [
        *_infeasible_region(alt, x, edges, right),
        *(_edge_rules(alt, x, edges) if lines is None else [_edge_marks(alt, x, edges, _colours(alt, lines, order))]),
        _curves(alt, x, known, loss, lines, order),
    ]
    if chosen is not None:
        here = alt.Chart(alt.Data(values=[{**chosen, "label": "this mapping"}])).encode(x=x, y="objective:Q")
        name = here.mark_text(align="left", dx=12, dy=-8, fontSize=12, fontWeight="bold").encode(text="label:N")
        parts += [here.mark_point(size=170, strokeWidth=2.5, color="black", filled=False, opacity=1), name]
    layered = (
        alt.layer(*parts)
        .resolve_scale(shape="independent")
        .resolve_legend(shape="independent")
        .properties(width=WIDTH, height=HEIGHT)
    )
    lines_at = (f" (at {row['line']})" if row["line"] else "" for row in edges)
    found = [f"{row['edge']} {row['at']:.4g}{line}" for row, line in zip(edges, lines_at, strict=True)]
    said = f"{title}: {loss} along the {along}. {'; '.join(found).capitalize()}{'.' * bool(found)}".strip()
    return finished(layered, title=title, subtitle=subtitle, description=said, width=WIDTH, grid=False)


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
        # What is feasible from zero on has no infeasible region, and no edge that could be seen.
        if row["edge"] != SMALLEST or row["at"] > SEEN_FROM:
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
    """Return a symbol on the axis at each line's edges, one shape per kind of edge."""
    shape = alt.Shape(
        "edge:N", title="edge", scale=alt.Scale(domain=list(EDGES), range=["triangle-up", "diamond", "cross"])
    )
    return (
        alt.Chart(alt.Data(values=[dict(row) for row in edges]))
        .mark_point(filled=True, size=110, opacity=1, yOffset=-6)
        .encode(x=x, y=alt.value(HEIGHT), shape=shape, color=colour, tooltip=["edge:N", "line:N", _place(alt)])
    )


def _curves(alt: Any, x: Any, points: list[dict[str, Any]], loss: str, lines: str | None, order: list[str]) -> Any:
    """Return one curve per line, told apart by lightness, width and dashes: where they coincide each is still seen."""
    # Where nothing is lost anywhere, the axis still needs an extent.
    top = max((point["objective"] for point in points), default=0.0) or NOTHING_LOST
    ticks = alt.Axis(format="~g", tickCount=6)
    y = alt.Y("objective:Q", title=loss, scale=alt.Scale(domain=[0, HEADROOM * top], nice=False), axis=ticks)
    tooltip = [_place(alt), alt.Tooltip("objective:Q", format=".6g"), "status:N"]
    chart = alt.Chart(alt.Data(values=points))
    if lines is None:
        marked = chart.mark_line(strokeWidth=2, point=alt.OverlayMarkDef(filled=True, size=24))
        return marked.encode(x=x, y=y, color=alt.value(LINE), tooltip=tooltip)
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


def _colours(alt: Any, lines: str, order: list[str]) -> Any:
    """Return one blue per line, from dark to light."""
    shades = [BLUES[round(i * (len(BLUES) - 1) / max(1, len(order) - 1))] for i in range(len(order))]
    legend = alt.Legend(symbolType="stroke")
    return alt.Color("line:N", title=lines, sort=order, scale=alt.Scale(domain=order, range=shades), legend=legend)


def _place(alt: Any) -> Any:
    return alt.Tooltip("at:Q", format=".7g")
