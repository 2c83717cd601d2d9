"""What is lost along a bound or a budget: figure 2, with its infeasible region."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.report.charts.chart import Chart, Part, finished, mark, measured, named

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

PLACE = measured("at", format=".7g")
"""Where a point is, as a tooltip tells it."""


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
    right = max([row["at"] for row in (*points, *edges)], default=0.0) or 1.0
    x = measured("at", title=along, scale={"domain": [0, right], "nice": False}, axis={"labelFlush": False})
    known = [dict(point) for point in points if not math.isnan(point["objective"])]
    order = list(dict.fromkeys(row["line"] for row in (*points, *edges)))
    parts = [
        *_infeasible_region(x, edges, right),
        *(_edge_rules(x, edges) if lines is None else [_edge_marks(x, edges, _colours(lines, order))]),
        _curves(x, known, loss, lines, order),
    ]
    if chosen is not None:
        here, place = [{**chosen, "label": "this mapping"}], {"x": x, "y": measured("objective")}
        beside = {"align": "left", "dx": 12, "dy": -8, "fontSize": 12, "fontWeight": "bold"}
        parts += [
            mark("point", place, here, size=170, strokeWidth=2.5, color="black", filled=False, opacity=1),
            mark("text", {**place, "text": named("label")}, here, **beside),
        ]
    alone = {"shape": "independent"}
    layered = {"layer": parts, "resolve": {"scale": alone, "legend": alone}, "width": WIDTH, "height": HEIGHT}
    lines_at = (f" (at {row['line']})" if row["line"] else "" for row in edges)
    found = [f"{row['edge']} {row['at']:.4g}{line}" for row, line in zip(edges, lines_at, strict=True)]
    said = f"{title}: {loss} along the {along}. {'; '.join(found).capitalize()}{'.' * bool(found)}".strip()
    return finished(layered, title=title, subtitle=subtitle, description=said, width=WIDTH, grid=False)


def _infeasible_region(x: Part, edges: Sequence[Mapping[str, Any]], right: float) -> list[Part]:
    """Shade what is left of each line's smallest feasible place, the darker the more lines it is infeasible on."""
    until = [row["at"] for row in edges if row["edge"] == SMALLEST and row["at"] > SEEN_FROM * right]
    if not until:
        return []
    # Where all of them lie over one another the region is as dark as that of a single line.
    opacity = 1 - (1 - SHADE) ** (1 / len(until))
    shades = [{"at": 0.0, "until": end} for end in until]
    wide = max(until) >= LABELLED_FROM * right
    label = [{"at": max(until) / 2, "label": "infeasible"}]
    # Curves fall from the upper left, so that there is room at the bottom.
    place = {"x": x, "y": {"value": 0.9 * HEIGHT}, "text": named("label")}
    return [
        mark("rect", {"x": x, "x2": {"field": "until"}}, shades, color="#737373", opacity=opacity, tooltip=None),
        mark("text", place, label, color="#404040", fontSize=12, fontStyle="italic", angle=0 if wide else 270),
    ]


def _edge_rules(x: Part, edges: Sequence[Mapping[str, Any]]) -> list[Part]:
    """Return an upright line at each edge, with its name and place; edges at one place share them."""
    known: dict[float, list[str]] = {}
    for row in edges:
        # What is feasible from zero on has no infeasible region, and no edge that could be seen.
        if row["edge"] != SMALLEST or row["at"] > SEEN_FROM:
            known.setdefault(round(row["at"], 9), []).append(row["edge"])
    # At the left end there is no room inside the infeasible region, which is empty then.
    widest = max(known, default=0.0)
    rows = [
        {"at": at, "label": f"{_joined(names)} {at:.4f}", "left": SMALLEST in names and at > LABELLED_FROM * widest}
        for at, names in known.items()
    ]
    parts = [mark("rule", {"x": x}, rows, color="#404040", strokeDash=[4, 3])]
    # The name of the infeasible region's edge stands inside it, the others beyond theirs: away from the curve.
    for side, offset in (("true", -9), ("false", 9)):
        place = {"x": x, "xOffset": {"value": offset}, "y": {"value": 4}, "text": named("label")}
        text = mark(
            "text", place, rows, color="#404040", fontSize=11, angle=270, align="right", baseline="middle"
        )  # fmt: skip
        parts.append({**text, "transform": [{"filter": f"(datum.left === {side})"}]})
    return parts


def _joined(names: list[str]) -> str:
    return " and ".join(names).replace(" from and ", " and ")


def _edge_marks(x: Part, edges: Sequence[Mapping[str, Any]], colour: Part) -> Part:
    """Return a symbol on the axis at each line's edges, one shape per kind of edge."""
    scale = {"domain": list(EDGES), "range": ["triangle-up", "diamond", "cross"]}
    encoding = {
        "x": x, "y": {"value": HEIGHT}, "shape": named("edge", title="edge", scale=scale), "color": colour,
        "tooltip": [named("edge"), named("line"), PLACE],
    }  # fmt: skip
    return mark("point", encoding, edges, filled=True, size=110, opacity=1, yOffset=-6)


def _curves(x: Part, points: list[dict[str, Any]], loss: str, lines: str | None, order: list[str]) -> Part:
    """Return one curve per line, told apart by lightness, width and dashes: where they coincide each is still seen."""
    # Where nothing is lost anywhere, the axis still needs an extent.
    top = max((point["objective"] for point in points), default=0.0) or NOTHING_LOST
    ticks = {"format": "~g", "tickCount": 6}
    y = measured("objective", title=loss, scale={"domain": [0, HEADROOM * top], "nice": False}, axis=ticks)
    told = [PLACE, measured("objective", format=".6g"), named("status")]
    if lines is None:
        look = {"strokeWidth": 2, "point": {"filled": True, "size": 24}}
        return mark("line", {"x": x, "y": y, "color": {"value": LINE}, "tooltip": told}, points, **look)
    steps = range(len(order))
    scales = {
        "strokeDash": [DASHES[i % len(DASHES)] for i in steps],
        "strokeWidth": [WIDEST + (NARROWEST - WIDEST) * i / max(1, len(order) - 1) for i in steps],
    }
    apart = {
        look: named("line", title=lines, sort=order, scale={"type": "ordinal", "domain": order, "range": values})
        for look, values in scales.items()
    }
    encoding = {"x": x, "y": y, **apart, "color": _colours(lines, order), "tooltip": [named("line"), *told]}
    return mark("line", encoding, points)


def _colours(lines: str, order: list[str]) -> Part:
    """Return one blue per line, from dark to light."""
    shades = [BLUES[round(i * (len(BLUES) - 1) / max(1, len(order) - 1))] for i in range(len(order))]
    legend = {"symbolType": "stroke"}
    return named("line", title=lines, sort=order, scale={"domain": order, "range": shades}, legend=legend)
