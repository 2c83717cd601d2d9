"""What a bound costs a model: one small chart per measure along the bound, with intervals, beside the bare model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.report.charts.chart import Chart, Part, finished, mark, measured, named

LINE, BAND, GREY = "#08519c", "#9ecae1", "#555555"
WIDTH, HEIGHT = 290, 190
ACROSS = 2
"""How many panels stand side by side."""

ROOM = 0.06
"""The axes end beyond the furthest number by this share of their extent."""


@dataclass(frozen=True)
class Panel:
    """One measure: the field of the points that has it, what its axis is called, and whether that begins at zero.

    ``limit`` names a field to be drawn beside it, dotted, and ``limit_name`` what it is called: the bound itself, or
    what chance alone gives.
    """

    field: str
    title: str
    from_zero: bool = False
    limit: str | None = None
    limit_name: str = ""


PANELS = (
    Panel("auc", "AUC"),
    Panel("log_loss", "log loss"),
    Panel("apart", "mean scores apart (ratio less one)", from_zero=True, limit="bound", limit_name="the bound"),
    Panel("worst_gap", "selection rates apart, at worst", from_zero=True, limit="chance_gap", limit_name="by chance"),
)


def models(points: Sequence[Mapping[str, Any]], bare: Mapping[str, Any], *, title: str) -> Chart:
    """Return the chart of a model's measures along a parity bound.

    Each point has ``bound`` and, for each panel's field, that field with ``_low`` and ``_high``; ``bare`` has the
    same of the model without a bound, which is drawn as a dashed line.
    """
    right = max([point["bound"] for point in points], default=0.0) or 1.0
    x = measured(
        "bound",
        title="parity bound ε",
        scale={"domain": [0, right * (1 + ROOM)], "nice": False},
        axis={"labelFlush": False},
    )
    drawn = [_panel(panel, points, bare, x) for panel in PANELS]
    joined = {"concat": drawn, "columns": ACROSS, "spacing": 28}
    said = [f"{point['bound']:g}: AUC {point['auc']:.3f}, mean scores {point['apart']:.3f} apart" for point in points]
    return finished(
        joined,
        title=title,
        subtitle="out-of-fold predictions; shaded: 95 % intervals",
        description=f"{title}, by parity bound. {'; '.join(said)}.",
        width=ACROSS * (WIDTH + 70),
        grid=False,
    )


def _panel(panel: Panel, points: Sequence[Mapping[str, Any]], bare: Mapping[str, Any], x: Part) -> Part:
    names = [panel.field, f"{panel.field}_low", f"{panel.field}_high", *([panel.limit] if panel.limit else [])]
    every = [row[name] for row in (*points, bare) for name in names if row.get(name) is not None]
    low, high = (0.0 if panel.from_zero else min(every)), max(every)
    room = ROOM * ((high - low) or 1.0)
    extent = [low if panel.from_zero else low - room, high + room]

    def up(field: str) -> Part:
        axis = {"format": "~g", "tickCount": 5}
        return measured(field, title=panel.title, scale={"domain": extent, "nice": False, "zero": False}, axis=axis)

    told = [
        measured(name, title=name.replace("_", " "), format=".4g")
        for name in ("bound", panel.field, f"{panel.field}_low", f"{panel.field}_high")
    ]
    band = {"x": x, "y": up(f"{panel.field}_low"), "y2": {"field": f"{panel.field}_high"}}
    line = {"x": x, "y": up(panel.field), "tooltip": told}
    bounds = [point["bound"] for point in points]
    beside = [{"bound": 0.0, "value": bare[panel.field], "label": f"without a bound: {bare[panel.field]:.3g}"}]
    name = {"x": x, "y": measured("value"), "text": named("label")}
    # Where the bare model is at the top of its panel, its name stands below the line.
    under = bare[panel.field] > (extent[0] + extent[1]) / 2
    layers = [
        mark("area", band, points, color=BAND, opacity=0.55, tooltip=None),
        mark("rule", {"y": measured("value")}, beside, color=GREY, strokeDash=[5, 3]),
        mark("text", name, beside, color=GREY, fontSize=11, align="left", dx=4, dy=10 if under else -7),
        mark("line", line, points, color=LINE, strokeWidth=2, point={"filled": True, "size": 34, "color": LINE}),
    ]
    if panel.limit is not None and bounds:
        limit = [{"bound": point["bound"], "value": point[panel.limit]} for point in points]
        last = [{**limit[bounds.index(max(bounds))], "label": panel.limit_name}]
        dots = {"x": x, "y": measured("value")}
        layers += [
            mark("line", dots, limit, color="black", strokeDash=[2, 2], strokeWidth=1.2),
            mark("text", {**dots, "text": named("label")}, last, fontSize=11, align="right", dx=-2, dy=-7),
        ]
    return {"layer": layers, "width": WIDTH, "height": HEIGHT}
