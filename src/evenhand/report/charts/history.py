"""Batches of new people over time: intervals against their bounds, and drift against what sampling explains."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from evenhand.findings.document import Row
from evenhand.findings.drift import NEW
from evenhand.report.charts.chart import Chart, Part, finished, mark, measured, named

WIDTH, HEIGHT = 300, 130
"""Of a panel."""

SIDE = 2
"""How many panels stand side by side."""

MOST_PANELS = 6
"""So many bounds, and so many things that may have drifted, are drawn: those that are furthest out."""

MOST_BATCHES = 60
"""So many batches are drawn: the last."""

MOST_LINES, LINE = 3, 50
"""A panel's name has so many lines of so many letters."""

TO_THE_MINUTE = len("2026-01-31T12:00")
"""So many letters of a time are shown."""

HEADROOM = 1.08
SMALLEST = 1e-3
"""The upper end of an axis of which all values are zero."""

WIDEST = 3.0
"""Beyond so many times the bound, or the largest distance, an interval goes on without being drawn."""

STATES = {
    "shown met": ("#2171b5", "circle"),
    "not decided": ("#969696", "diamond"),
    "shown violated": ("#d94801", "triangle-up"),
    "within what sampling explains": ("#6baed6", "circle"),
    "drifted": ("#a63603", "triangle-up"),
}
"""The colour and the shape of what was found: told apart by shape and lightness too."""


def history_chart(records: Sequence[Mapping[str, Any]]) -> Chart:
    shown = list(enumerate(records, 1))[-MOST_BATCHES:]
    axis = {number: _called(number, record) for number, record in shown}
    parts = [
        *(_bound_panel(name, rows, axis) for name, rows in _furthest_bounds(shown)),
        *(_drift_panel(name, rows, axis) for name, rows in _furthest_looks(shown)),
    ]
    last = records[-1]
    words = f"batches: {len(records)}; of the last, bounds: {last['verdict'] or 'none'}"
    drifted = [look["name"] for look in last["drift"] if look["drifted"]]
    words += f"; drifted: {', '.join(drifted) or 'nothing'}."
    share = 1 - last["confidence"]
    subtitle = (
        f"Bars: exact intervals of how far apart rates are, all of a batch at once (one that reaches the top goes on); "
        f"dashed: the bound. Drift: how far a batch is from the fitted table; ticks: what sampling alone stays below. "
        f"Of batches in which nothing changed, a share of about {share:.2g} is told otherwise. The panels are those "
        f"furthest out."
    )
    joined = {"concat": parts, "columns": SIDE, "spacing": 22}
    title = "New batches against the bounds and the fitted table"
    return finished(joined, title=title, subtitle=subtitle, description=f"{title}: {words}", width=SIDE * WIDTH + 80)


def _furthest_bounds(shown: Sequence[tuple[int, Mapping[str, Any]]]) -> list[tuple[str, list[Row]]]:
    """Return the bounds furthest beyond what they allow, or nearest to it, one for each two that are compared."""
    by_name: dict[str, list[Row]] = {}
    for number, record in shown:
        for row in record["bounds"]:
            by_name.setdefault(f"{row['constraint']}: {row['where']}", []).append({**row, "batch": number})
    found: dict[frozenset[str], tuple[str, list[Row]]] = {}
    for name, rows in sorted(by_name.items(), key=lambda item: -_beyond(item[1])):
        # They are compared both ways, and by every outcome: the larger distance is drawn.
        pair = rows[0]["where"].partition(": ")[2].split(" against ")
        found.setdefault(frozenset([rows[0]["constraint"], *pair]), (name, rows))
    return list(found.values())[:MOST_PANELS]


def _beyond(rows: Sequence[Row]) -> float:
    return max((row["value"] - row["bound"] for row in rows if not math.isnan(row["value"])), default=-math.inf)


def _furthest_looks(shown: Sequence[tuple[int, Mapping[str, Any]]]) -> list[tuple[str, list[Row]]]:
    by_name: dict[str, list[Row]] = {}
    for number, record in shown:
        for row in record["drift"]:
            if not math.isnan(row["apart"]):
                by_name.setdefault(row["name"], []).append({**row, "batch": number})

    def out(item: tuple[str, list[Row]]) -> float:
        return -max((row["apart"] / row["limit"] if row["limit"] > 0 else 0.0) for row in item[1])

    return sorted(by_name.items(), key=out)[:MOST_PANELS]


def _bound_panel(name: str, rows: Sequence[Row], axis: Mapping[int, str]) -> Part:
    known = [row for row in rows if not math.isnan(row["low"])]
    bound = max(row["bound"] for row in rows)
    finite = [row["value"] for row in known if math.isfinite(row["value"])]
    most = max([WIDEST * max([bound, *finite], default=0.0), SMALLEST])
    top = HEADROOM * max([min(row["high"], most) for row in known] + [bound, SMALLEST])
    drawn = [
        {"batch": axis[row["batch"]], "bound": row["bound"], "state": row["verdict"], "low": min(row["low"], top),
         "high": min(row["high"], top), "value": min(row["value"], top)}
        for row in known
    ]  # fmt: skip
    x, y = _across(axis), _up("low", top, "how far apart")
    told = [named("batch"), *(measured(n, format=".4f") for n in ("value", "low", "high", "bound")), named("state")]
    line = [{"bound": rows[0]["bound"]}]
    layers = [
        mark("rule", {"y": _up("bound", top, "how far apart")}, line, strokeDash=[5, 3], color="#252525"),
        mark("rule", {"x": x, "y": y, "y2": {"field": "high"}, "color": _colour()}, drawn, strokeWidth=2.5),
        mark("point", {"x": x, "y": {**y, "field": "value"}, **_state(), "tooltip": told}, drawn, **POINT),
    ]
    return _panel(name, layers)


def _drift_panel(name: str, rows: Sequence[Row], axis: Mapping[int, str]) -> Part:
    states = ("within what sampling explains", "drifted")
    # Where hardly any error is allowed there may be no limit.
    top = HEADROOM * max(
        [row["apart"] for row in rows] + [row["limit"] for row in rows if row["limit"] < 1] + [SMALLEST]
    )
    drawn = [
        {"batch": axis[row["batch"]], "apart": row["apart"], "limit": min(row["limit"], top),
         "expected": row["expected"], "state": states[row["drifted"]]}
        for row in rows
    ]  # fmt: skip
    x, y = _across(axis), _up("apart", top, "share of people" if rows[0]["what"] == NEW else "total variation")
    told = [named("batch"), *(measured(n, format=".4f") for n in ("apart", "limit", "expected")), named("state")]
    layers = [
        mark("tick", {"x": x, "y": {**y, "field": "limit"}}, drawn, orient="horizontal", color="#252525", size=12),
        mark("point", {"x": x, "y": y, **_state(), "tooltip": told}, drawn, **POINT),
    ]
    return _panel(f"drift: {name}", layers)


POINT = {"filled": True, "size": 70, "opacity": 1}


def _across(axis: Mapping[int, str]) -> Part:
    look = {"grid": False, "labelAngle": -30, "labelLimit": WIDTH // 2, "labelOverlap": True}
    return named("batch", title="batch", scale={"domain": list(axis.values())}, axis=look)


def _called(number: int, record: Mapping[str, Any]) -> str:
    """Return what a batch is called below the axis: its number, and its name or, without one, its time."""
    return f"{number}: {record['name'] or record['at'][:TO_THE_MINUTE].replace('T', ' ')}"


def _up(field: str, top: float, title: str) -> Part:
    return measured(
        field, title=title, scale={"domain": [0, top], "nice": False}, axis={"tickCount": 5, "format": "~g"}
    )


def _colour() -> Part:
    scale = {"domain": list(STATES), "range": [colour for colour, _ in STATES.values()]}
    return named("state", title=None, scale=scale, legend={"orient": "top", "columns": 3})


def _state() -> Part:
    scale = {"domain": list(STATES), "range": [shape for _, shape in STATES.values()]}
    return {
        "color": _colour(),
        "shape": named("state", title=None, scale=scale, legend={"orient": "top", "columns": 3}),
    }


def _panel(name: str, layers: Sequence[Part]) -> Part:
    lines = textwrap.wrap(name, LINE, max_lines=MOST_LINES, placeholder=" …")
    return {
        "layer": list(layers), "width": WIDTH, "height": HEIGHT,
        "title": {"text": lines, "anchor": "start", "frame": "group", "fontSize": 11, "offset": 4},
    }  # fmt: skip
