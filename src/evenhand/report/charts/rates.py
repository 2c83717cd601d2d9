"""The rates of an outcome by group, before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from evenhand.report.charts.chart import Chart, Part, finished, mark, measured, named

# Light and dark: colours are kept for better and worse.
BEFORE, AFTER = "#9aa5b1", "#1a1a1a"
PERMITTED = "#e4e4e4"
TICK = 0.05
WIDTH = 460
STEP = 52
"""The height of a group."""

LONGEST_LABEL = 320
WHEN = ("before", "after")


def rates(
    rows: Sequence[Mapping[str, Any]], *, outcome: str, title: str, subtitle: str, description: str = ""
) -> Chart:
    """Return the chart of an outcome's rate by group, before and after.

    Each row has ``group``, ``level`` (of the outcome), ``before`` and ``after``; where intervals are known
    ``before_low``, ``before_high``, ``after_low`` and ``after_high``; where the rates after must lie in a band
    ``permitted_low`` and ``permitted_high``.
    """
    levels = list(dict.fromkeys(row["level"] for row in rows))
    long = [_point(row, when, outcome) for row in rows for when in WHEN]
    order = list(dict.fromkeys(row["group"] for row in rows))
    heading = f"rate of {outcome} = {levels[0]}" if len(levels) == 1 else "rate"
    furthest = max((value for point in long for value in (point["rate"], point.get("high", 0.0))), default=1.0)
    top = min(1.0, math.ceil(furthest / TICK + 0.2) * TICK)
    for point in long:
        # Cut here and not by the drawing, which would number its cuts anew for every picture.
        if "permitted_high" in point:
            point["permitted_high"] = min(point["permitted_high"], top)
    across = partial(_across, heading, top)
    layers = []
    if any("permitted_low" in point for point in long):
        # Over the grid and under all else; opaque, since it is drawn once for each row of the data.
        band = {"x": across("permitted_low"), "x2": {"field": "permitted_high"}}
        layers.append(mark("rect", band, color=PERMITTED, opacity=1, tooltip=None))
    legend, both = {"orient": "top"}, list(WHEN)
    shared = {
        "y": named(
            "group", title=None, sort=order,
            axis={"labelLimit": LONGEST_LABEL, "ticks": False, "domain": False, "grid": False},
        ),
        "yOffset": named("when", sort=both, scale={"domain": both, "paddingOuter": 0.35}),
        "color": named("when", title=None, scale={"domain": both, "range": [BEFORE, AFTER]}, legend=legend),
    }  # fmt: skip
    if any("low" in point for point in long):
        layers.append(mark("rule", {"x": across("low"), "x2": {"field": "high"}, **shared}, strokeWidth=2))
        layers += [mark("tick", {"x": across(end), **shared}, thickness=2, size=9) for end in ("low", "high")]
    # Told apart by lightness and by shape.
    shapes = {"domain": both, "range": ["circle", "diamond"]}
    told = [
        *map(named, ("group", "level", "when")),
        *(measured(name, format=".4f") for name in ("rate", "low", "high")),
    ]
    dots = {
        "x": across("rate"), "shape": named("when", title=None, scale=shapes, legend=legend), "tooltip": told, **shared,
    }  # fmt: skip
    layers.append(mark("point", dots, filled=True, size=120, opacity=1))
    data = {"data": {"values": long}}
    layered: Part = {"layer": layers, "width": WIDTH, "height": STEP * len(order)}
    if len(levels) > 1:
        header = {"labelAngle": 0, "labelAlign": "left", "labelLimit": LONGEST_LABEL}
        layered = {"facet": {"row": named("level", title=None, header=header)}, "spec": layered}
    said = description or f"Rates of {outcome} by group, before and after."
    return finished(data | layered, title=title, subtitle=subtitle, description=said, width=WIDTH + 160)


def _point(row: Mapping[str, Any], when: str, outcome: str) -> dict[str, Any]:
    point = {"group": row["group"], "level": f"{outcome} = {row['level']}", "when": when, "rate": row[when]}
    if f"{when}_low" in row:
        point |= {"low": row[f"{when}_low"], "high": row[f"{when}_high"]}
    if row.get("permitted_low") is not None:
        point |= {"permitted_low": row["permitted_low"], "permitted_high": row["permitted_high"]}
    return point


def _across(heading: str, top: float, field: str) -> Part:
    """Place a field along the one axis that all layers share."""
    axis = {"format": ".0%", "tickCount": 8, "labelFlush": False}
    return measured(field, title=heading, scale={"domain": [0, top]}, axis=axis)
