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
SCALE = 2.0
TICK = 0.05


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


def save(chart: Any, path: str | os.PathLike[str]) -> None:
    """Write a chart as PNG, SVG or HTML, by the path's ending."""
    convert = _vl_convert()
    name = os.fspath(path)
    specification = chart.to_json()
    if name.endswith(".png"):
        content: bytes = convert.vegalite_to_png(specification, scale=SCALE)
    elif name.endswith(".svg"):
        content = convert.vegalite_to_svg(specification).encode()
    elif name.endswith(".html"):
        content = convert.vegalite_to_html(specification, bundle=True).encode()
    else:
        raise SpecError(f"a chart is written as .png, .svg or .html, not as {name!r}")
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
