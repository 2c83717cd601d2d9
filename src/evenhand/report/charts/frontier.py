"""What is lost, and how many people change, along a bound or a budget: figure 2, with its infeasible region.

One panel for each measure; several budgets are small multiples, each with its own edges. A panel ends at its own edge:
beyond where nobody need change there is nothing to see. Edges are letters, which the words above explain, so that no
name is turned or printed over another.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.report.charts.chart import Chart, Part, finished, mark, measured, named

LINE = "#17324d"
WIDTH, HEIGHT = 430, 250
SMALL_WIDTH, SMALL_HEIGHT = 270, 160
"""Of each of several panels of one measure."""

ACROSS = 3
"""How many of those stand side by side."""

SPACING = 34
LETTER = 7
"""The width of a letter of a heading."""

HEADROOM = 1.06
"""The axis ends above the highest point by this factor."""

NOTHING_LOST = 0.01
"""The upper end of the axis where nothing is lost anywhere."""

SEEN_FROM = 1e-6
"""An edge at a smaller share of the axis is at zero; a point that is further beyond the last edge is not drawn."""

LABELLED_FROM = 0.25
"""A region of a smaller share of the axis has no room for its name."""

NEAR = 0.05
"""Letters that are nearer than this share of the axis stand together."""

SMALLEST = "smallest feasible"
LAST = "unchanged from"
LOSSLESS = "lossless from"
EDGES = (SMALLEST, LOSSLESS, LAST)

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Measure:
    """What is drawn upwards: a field of the points, its title, and how its numbers are written."""

    field: str
    title: str
    form: str
    top: float


def frontier(
    points: Sequence[Row],
    edges: Sequence[Row],
    *,
    along: str,
    lines: str | None,
    loss: str,
    title: str,
    subtitle: str,
    chosen: Mapping[str, float] | None = None,
) -> Chart:
    """Return the chart of what is lost along a bound or a budget, one panel for each line.

    Each point has ``at``, ``line``, ``objective`` and ``status``, and where people were counted ``changed``, which has
    a panel beside the loss; points without an objective set only the axis. Each edge has ``at``, ``line`` and ``edge``,
    one of ``EDGES``; left of the smallest feasible one is the infeasible region. ``along`` and ``loss`` are the titles
    of the axes; ``lines`` is what tells several lines apart, None where there is one. ``chosen``, with ``at`` and
    ``objective``, is marked as the mapping that is spoken of.
    """
    order = list(dict.fromkeys(row["line"] for row in (*points, *edges)))
    known = [point for point in points if not math.isnan(point["objective"])]
    measures = [Measure("objective", loss, "~g", _top(known, "objective") or NOTHING_LOST)]
    if any(not math.isnan(point.get("changed", math.nan)) for point in known):
        measures.append(Measure("changed", "people changed", ".0%", _top(known, "changed") or 1.0))
    small = len(order) > 1
    panels: list[Part] = []
    told: list[str] = []
    for line in order:
        own_edges = [row for row in edges if row["line"] == line]
        own = [row for row in points if row["line"] == line]
        letters, words = _letters(own_edges, own, chosen)
        heading = f"{lines} = {line}" if lines is not None else ""
        # Of several panels each says its own edges.
        told += [] if small else [words]
        beside = textwrap.wrap(words, SMALL_WIDTH // LETTER) if small else []
        panels += [
            _panel(own, own_edges, letters, along, measure, [_heading(heading, measure), *beside], chosen, small)
            for measure in measures
        ]
    columns = len(measures) if len(measures) > 1 or not small else min(ACROSS, len(panels))
    joined = {"concat": panels, "columns": columns, "spacing": SPACING}
    said = " ".join(f"{words}." for words in [subtitle, *told] if words)
    upwards = " and ".join(measure.title for measure in measures)
    width = columns * (SMALL_WIDTH if small else WIDTH)
    described = f"{title}: {upwards} along the {along}. {said}".strip()
    return finished(joined, title=title, subtitle=said, description=described, width=width, grid=False)


def _top(points: Sequence[Row], field: str) -> float:
    return max((float(point[field]) for point in points if not math.isnan(point.get(field, math.nan))), default=0.0)


def _heading(line: str, measure: Measure) -> str:
    name = measure.title[0].upper() + measure.title[1:]
    return f"{line}: {measure.title}" if line else name


def _right(edges: Sequence[Row], points: Sequence[Row], chosen: Mapping[str, float] | None) -> float:
    """Return where a panel ends: at its own last edge, or else its last point; never before the mapping's own place."""
    last = [row["at"] for row in edges if row["edge"] == LAST] or [row["at"] for row in (*points, *edges)]
    return max([*last, *([] if chosen is None else [chosen["at"]])], default=0.0) or 1.0


def _letters(
    edges: Sequence[Row], points: Sequence[Row], chosen: Mapping[str, float] | None
) -> tuple[list[dict[str, Any]], str]:
    """Return a letter for each edge, those that would meet as one text, and what they mean."""
    right = _right(edges, points, chosen)
    known: dict[float, list[str]] = {}
    for row in edges:
        # What is feasible from zero on has no infeasible region, and no edge that could be seen.
        if row["edge"] != SMALLEST or row["at"] > SEEN_FROM:
            known.setdefault(round(row["at"], 9), []).append(row["edge"])
    marks: list[dict[str, Any]] = []
    words = []
    for number, at in enumerate(sorted(known)):
        letter = chr(ord("A") + number)
        words.append(f"{letter} {' and '.join(known[at]).replace(' from and ', ' and ')} {at:.4f}")
        if marks and at - marks[-1]["at"] < NEAR * right:
            marks.append({"at": at, "label": "", "letter": letter})
            marks[-2]["label"] += f" {letter}"
        else:
            marks.append({"at": at, "label": letter, "letter": letter})
    return marks, "; ".join(words)


def _panel(
    points: Sequence[Row], edges: Sequence[Row], letters: list[dict[str, Any]], along: str, measure: Measure,
    heading: list[str], chosen: Mapping[str, float] | None, small: bool,
) -> Part:  # fmt: skip
    width, height = (SMALL_WIDTH, SMALL_HEIGHT) if small else (WIDTH, HEIGHT)
    right = _right(edges, points, chosen)
    x = measured("at", title=along, scale={"domain": [0, right], "nice": False}, axis={"labelFlush": False})
    scale = {"domain": [0, HEADROOM * measure.top], "nice": False}
    y = measured(measure.field, title=None, scale=scale, axis={"format": measure.form, "tickCount": 5})
    drawn = [
        dict(row)
        for row in points
        if not math.isnan(row.get(measure.field, math.nan)) and row["at"] <= right * (1 + SEEN_FROM)
    ]
    place = {row["edge"]: row["at"] for row in edges}
    if drawn and LAST in place and max(row["at"] for row in drawn) < place[LAST]:
        # There nobody need change; where nothing is lost either, the line is known to end, asked for or not.
        known = place.get(LOSSLESS, math.inf) <= place[LAST]
        drawn += [{"at": place[LAST], measure.field: 0.0, "status": "unchanged"}] if known else []
    told = [measured("at", format=".7g"), measured(measure.field, format=".6g"), named("status")]
    look = {"strokeWidth": 2, "point": {"filled": True, "size": 24}}
    parts = [
        *_infeasible_region(x, edges, right, height),
        mark("rule", {"x": x}, letters, color="#404040", strokeDash=[4, 3]),
        mark("text", {"x": x, "y": {"value": -7}, "text": named("label")}, letters, color="#404040", fontSize=12),
        mark("line", {"x": x, "y": y, "color": {"value": LINE}, "tooltip": told}, drawn, **look),
    ]
    if chosen is not None and measure.field in chosen:
        here, place = [{**chosen, "label": "this mapping"}], {"x": x, "y": measured(measure.field)}
        beside = {"align": "left", "dx": 12, "dy": -8, "fontSize": 12, "fontWeight": "bold"}
        parts += [
            mark("point", place, here, size=170, strokeWidth=2.5, color="black", filled=False, opacity=1),
            mark("text", {**place, "text": named("label")}, here, **beside),
        ]
    title = {"text": heading, "anchor": "start", "frame": "group", "fontSize": 12, "offset": 18, "limit": width + 60}
    return {"layer": parts, "width": width, "height": height, "title": title}


def _infeasible_region(x: Part, edges: Sequence[Row], right: float, height: int) -> list[Part]:
    """Shade what is left of the smallest feasible place; its name stands in it where there is room."""
    until = [row["at"] for row in edges if row["edge"] == SMALLEST and row["at"] > SEEN_FROM * right]
    if not until:
        return []
    end = min(max(until), right)
    region = mark(
        "rect", {"x": x, "x2": {"field": "until"}}, [{"at": 0.0, "until": end}], color="#d5d5d5", tooltip=None
    )
    if end < LABELLED_FROM * right:
        return [region]
    # Curves fall from the upper left, so that there is room at the bottom.
    place = {"x": x, "y": {"value": 0.9 * height}, "text": named("label")}
    label = [{"at": end / 2, "label": "infeasible"}]
    return [region, mark("text", place, label, color="#404040", fontSize=12, fontStyle="italic")]
