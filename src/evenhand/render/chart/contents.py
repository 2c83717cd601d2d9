"""What a chart says: its titles, its rows by panel, what a mark means. Nothing is drawn here."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from evenhand.render.numbers import written
from evenhand.render.section import Chart, Column, Line
from evenhand.render.sentences import caption, heading

MOST_SAID = 60
"""So many rows are read out to those who cannot see a chart; the tables have all."""

SIGNS = {"better": " ▲", "worse": " ▼"}

Row = dict[str, Any]


def named(chart: Chart) -> str:
    """Return the title of a chart."""
    written = chart.fields.get("title") or caption(chart.key, chart.fields)
    return str(written or heading(chart.key.removeprefix("chart.")))


def described(chart: Chart) -> str:
    """Return what a chart shows in words and numbers, for those who cannot see it."""
    rows, columns = chart.table.records(), columns_of(chart)
    values = chart.y if chart.y else chart.x
    across = (*chart.x,) if chart.y else ()
    told = []
    for row in rows[:MOST_SAID]:
        who = ", ".join(words_of(row, columns, [chart.panel, *chart.label, chart.inner, *across]))
        numbers = " → ".join(written(row[name], columns[name].kind) for name in values)
        told.append(f"{who}: {numbers}{sign_of(chart, row)}")
    told += [f"and {len(rows) - MOST_SAID:,} more"] if len(rows) > MOST_SAID else []
    lines = [line_name(line) for line in chart.lines]
    return "; ".join([f"{named(chart)}. {told[0]}" if told else named(chart), *told[1:], *lines]) + "."


def columns_of(chart: Chart) -> dict[str, Column]:
    """Return the columns of a chart by their names."""
    return {column.name: column for column in chart.table.columns}


def words_of(row: Row, columns: dict[str, Column], names: Iterable[str | None]) -> list[str]:
    """Write the values of a row in some columns, those that there are."""
    return [written(row[name], columns[name].kind) for name in names if name is not None and row[name] is not None]


def line_name(line: Line) -> str:
    """Return what a line is called."""
    return caption(line.key, {"value": line.value, **line.fields}) or heading(line.key)


def axis_title(chart: Chart, end: str, column: str) -> str:
    """Return the title of an axis: the catalogue's, or else the heading of its column."""
    named = columns_of(chart)[column]
    return caption(f"{chart.key}.{end}", chart.fields) or (column if named.own else heading(column))


def meaning(chart: Chart, key: str, **more: Any) -> str:
    """Return what a mark means: in this chart, or else in any."""
    fields = {**chart.fields, **more}
    return caption(f"{chart.key}.{key}", fields) or caption(f"chart.{key}", fields)


def tone_of(chart: Chart, row: Row) -> str | None:
    """Return whether a mark is better or worse for people; None where it is neither."""
    tone = None if chart.tone is None else row[chart.tone]
    return tone if tone in SIGNS else None


def sign_of(chart: Chart, row: Row) -> str:
    """Return what is written behind a number: a sign or, of curves, what the shape of a point means."""
    tone = tone_of(chart, row)
    if chart.mark != "lines":
        return SIGNS.get(tone or "", "")
    return f" ({meaning(chart, tone or 'neither')})" if chart.tone else ""


def number_of(value: Any) -> float | None:
    """Return a number, or None where there is none."""
    return None if value is None or math.isnan(value) else float(value)


def band_of(chart: Chart, row: Row) -> tuple[float | None, float | None]:
    """Return where the values of a row must lie."""
    if chart.band is None:
        return None, None
    low, high = (row[end] if isinstance(end, str) else end for end in chart.band)
    return number_of(low), number_of(high)


def panels_of(chart: Chart) -> list[tuple[Any, str, list[Row]]]:
    """Return each panel: its value, what it is called, and its rows."""
    rows = chart.table.records()
    if chart.panel is None:
        return [(None, "", rows)]
    column = columns_of(chart)[chart.panel]
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[chart.panel], []).append(row)

    def name(text: str) -> str:
        return text if column.own else caption(f"chart.{text}", chart.fields) or heading(text)

    return [(key, name(written(key, column.kind)), own) for key, own in found.items()]


def lines_of(chart: Chart, panel: Any, axis: str) -> list[Line]:
    """Return the lines of a panel across one of its axes."""
    return [line for line in chart.lines if line.axis == axis and line.panel in (None, panel)]
