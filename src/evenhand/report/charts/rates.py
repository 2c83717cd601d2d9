"""The rates of an outcome by group, before and after."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from evenhand.report.charts.chart import Chart, altair, finished

# Light and dark of one blue: legible in grey and to the colour-blind.
BEFORE, AFTER = "#6baed6", "#08306b"
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
    alt = altair()
    levels = list(dict.fromkeys(row["level"] for row in rows))
    long = [_point(row, when, outcome) for row in rows for when in WHEN]
    order = list(dict.fromkeys(row["group"] for row in rows))
    heading = f"rate of {outcome} = {levels[0]}" if len(levels) == 1 else "rate"
    y = alt.Y(
        "group:N",
        title=None,
        sort=order,
        axis=alt.Axis(labelLimit=LONGEST_LABEL, ticks=False, domain=False, grid=False),
    )
    furthest = max((value for point in long for value in (point["rate"], point.get("high", 0.0))), default=1.0)
    top = min(1.0, math.ceil(furthest / TICK + 0.2) * TICK)
    for point in long:
        # Cut here and not by the drawing, which would number its cuts anew for every picture.
        if "permitted_high" in point:
            point["permitted_high"] = min(point["permitted_high"], top)
    across = partial(_across, alt, heading, top)
    layers = []
    if any("permitted_low" in point for point in long):
        # Over the grid and under all else; opaque, since it is drawn once for each row of the data.
        band = alt.Chart().mark_rect(color=PERMITTED, opacity=1, tooltip=None)
        layers.append(band.encode(x=across("permitted_low"), x2="permitted_high:Q"))
    legend = alt.Legend(orient="top")
    colours = alt.Scale(domain=list(WHEN), range=[BEFORE, AFTER])
    shared = {
        "y": y,
        "yOffset": alt.YOffset("when:N", sort=list(WHEN), scale=alt.Scale(domain=list(WHEN), paddingOuter=0.35)),
        "color": alt.Color("when:N", title=None, scale=colours, legend=legend),
    }
    if any("low" in point for point in long):
        tick = alt.Chart().mark_tick(thickness=2, size=9)
        layers.append(alt.Chart().mark_rule(strokeWidth=2).encode(x=across("low"), x2="high:Q", **shared))
        layers += [tick.encode(x=across(end), **shared) for end in ("low", "high")]
    # Told apart by lightness and by shape.
    shapes = alt.Scale(domain=list(WHEN), range=["circle", "diamond"])
    numbers = [alt.Tooltip(f"{name}:Q", format=".4f") for name in ("rate", "low", "high")]
    layers.append(
        alt.Chart()
        .mark_point(filled=True, size=120, opacity=1)
        .encode(
            x=across("rate"),
            shape=alt.Shape("when:N", title=None, scale=shapes, legend=legend),
            tooltip=["group:N", "level:N", "when:N", *numbers],
            **shared,
        )
    )
    layered = alt.layer(*layers, data=alt.Data(values=long)).properties(width=WIDTH, height=STEP * len(order))
    if len(levels) > 1:
        layered = layered.facet(
            row=alt.Row(
                "level:N", title=None, header=alt.Header(labelAngle=0, labelAlign="left", labelLimit=LONGEST_LABEL)
            )
        )
    said = description or f"Rates of {outcome} by group, before and after."
    return finished(layered, title=title, subtitle=subtitle, description=said, width=WIDTH + 160)


def _point(row: Mapping[str, Any], when: str, outcome: str) -> dict[str, Any]:
    point = {"group": row["group"], "level": f"{outcome} = {row['level']}", "when": when, "rate": row[when]}
    if f"{when}_low" in row:
        point |= {"low": row[f"{when}_low"], "high": row[f"{when}_high"]}
    if row.get("permitted_low") is not None:
        point |= {"permitted_low": row["permitted_low"], "permitted_high": row["permitted_high"]}
    return point


def _across(alt: Any, heading: str, top: float, field: str) -> Any:
    """Place a field along the one axis that all layers share."""
    axis = alt.Axis(format=".0%", tickCount=8, labelFlush=False)
    return alt.X(f"{field}:Q", title=heading, scale=alt.Scale(domain=[0, top]), axis=axis)
