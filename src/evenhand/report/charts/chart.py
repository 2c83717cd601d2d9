"""A finished chart, and how it becomes a file. The one place that loads the drawing packages.

Charts are written as Vega-Lite by hand, in plain values: Altair would check and copy every part of them anew with each
step, which took longer than all else that a report does. It is loaded for those who ask for its object alone.
"""

from __future__ import annotations

import json
import os
import textwrap
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from evenhand import check
from evenhand.errors import MissingExtraError, SpecError
from evenhand.files import replace_file

SCALE = 2.0
"""Pixels of a PNG for each unit of the specification."""

LETTER = 6.2
"""The mean width of a subtitle's letter, in the specification's units."""

SHORTEST_LINE = 70
"""A subtitle's lines are no shorter than so many letters, however narrow the chart."""

CONTROLS, PICTURES = "\x1f", ord("\N{SYMBOL FOR NULL}")
"""The last of the control characters, and the first of the signs for them, which are in the same order."""

JOINERS = "\N{ZERO WIDTH JOINER}\N{ZERO WIDTH NON-JOINER}"

MOST_SUBTITLE_LINES = 12
"""A subtitle of more lines is cut."""

LONGEST_TITLE = 600
"""A title that is longer, and longer than its chart is wide, is cut."""

GREY = "#555555"
SCHEMA = "https://vega.github.io/schema/vega-lite/v6.json"
VIEW = 300
"""The width and the height of a chart that says neither."""

Part = dict[str, Any]
"""A part of a specification, in Vega-Lite's own words."""

ENDINGS = (".png", ".svg", ".html")


@dataclass(frozen=True, eq=False, repr=False)
class Chart:
    """A picture: one specification, shown by notebooks and written as PNG, SVG or HTML that needs no network.

    Attributes
    ----------
    values : mapping
        The Vega-Lite specification, as plain values; without its datasets.
    title : str
        Its title.
    description : str
        What it shows, in words: for those who cannot see it.
    datasets : mapping
        The rows that the specification refers to by name.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> chart = eh.fit(data.problem, data.counts).chart("rates")
    >>> chart
    <Chart: Rates by group, before and after>
    >>> import os, tempfile
    >>> chart.save(os.path.join(tempfile.mkdtemp(), "rates.svg"))
    """

    values: Part
    title: str
    description: str
    datasets: Mapping[str, Sequence[Mapping[str, Any]]] = field(default_factory=dict)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the chart as PNG, SVG or HTML, by the path's ending."""
        save(self, path)

    @cached_property
    def _values(self) -> dict[str, Any]:
        return dict(_drawable({**self.values, "datasets": dict(self.datasets)} if self.datasets else self.values))

    @property
    def specification(self) -> Any:
        """The chart as an object of Altair, to be changed further: an ``altair.TopLevelMixin``."""
        values = self.to_dict()
        datasets = values.pop("datasets", {})
        found = altair().Chart.from_dict(values)
        # Those that it reads by itself, it does not write again.
        return found.properties(datasets=datasets) if datasets else found

    def to_dict(self) -> dict[str, Any]:
        """Return the Vega-Lite specification as plain values."""
        return dict(self._values)

    def to_json(self) -> str:
        """Return the Vega-Lite specification as JSON."""
        return json.dumps(self._values, ensure_ascii=False, allow_nan=False)

    def to_svg(self) -> str:
        """Return the chart as SVG text."""
        return str(drawing().vegalite_to_svg(self.to_json()))

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        return self.specification._repr_mimebundle_(*args, **options)

    def __repr__(self) -> str:
        return f"<Chart: {self.title}>"


def _drawable(part: Any, key: str = "") -> Any:
    """Return a part of a specification without letters at which the drawing library ends, and the process with it.

    SVG has no control characters; and titles get into programs, in quotes, where a backslash is no letter.
    """
    if isinstance(part, dict):
        return {name: _drawable(inner, name) for name, inner in part.items()}
    if isinstance(part, list | tuple):
        return [_drawable(inner) for inner in part]
    if not isinstance(part, str):
        return part
    shown = part if part.isprintable() else "".join(map(_visible, part))
    return shown.replace("\\", "\N{REVERSE SOLIDUS OPERATOR}") if key == "title" else shown


def _visible(letter: str) -> str:
    """Return a letter, or a sign for it: of control characters their own, so that levels stay apart."""
    if letter.isprintable() or letter in JOINERS or unicodedata.category(letter) == "Zs":
        return letter
    return chr(PICTURES + ord(letter)) if letter <= CONTROLS else "\N{REPLACEMENT CHARACTER}"


def named(field: str, **how: Any) -> Part:
    """Encode a field of words."""
    return {"field": field, "type": "nominal", **how}


def measured(field: str, **how: Any) -> Part:
    """Encode a field of numbers."""
    return {"field": field, "type": "quantitative", **how}


def mark(kind: str, encoding: Mapping[str, Any], rows: Sequence[Mapping[str, Any]] | None = None, **look: Any) -> Part:
    """Return one layer: marks of a kind, how fields become their places and looks, and the rows, if it has its own."""
    data = {} if rows is None else {"data": {"values": [dict(row) for row in rows]}}
    return {**data, "mark": {"type": kind, **look}, "encoding": dict(encoding)}


def finished(
    specification: Part,
    *,
    title: str,
    subtitle: str,
    description: str,
    width: int,
    grid: bool = True,
    datasets: Mapping[str, Any] | None = None,
) -> Chart:
    """Give a specification its title and the look that all charts share; the subtitle is wrapped to the width."""
    letters = max(SHORTEST_LINE, int(width / LETTER))
    lines = textwrap.wrap(subtitle, letters, max_lines=MOST_SUBTITLE_LINES, placeholder=" …")
    longest = max(LONGEST_TITLE, width)
    dressed = {
        "$schema": SCHEMA,
        **specification,
        "title": {
            "text": title, "subtitle": lines, "anchor": "start", "subtitleColor": GREY, "offset": 10, "limit": longest,
        },
        "description": description,
        "config": {
            "view": {"continuousWidth": VIEW, "continuousHeight": VIEW, "stroke": None},
            "axis": {"labelFontSize": 12, "titleFontSize": 12, "titleLimit": LONGEST_TITLE, "grid": grid},
            "legend": {"labelFontSize": 12, "titleFontSize": 12, "symbolSize": 90},
        },
    }  # fmt: skip
    return Chart(dressed, title, description, datasets or {})


def check_ending(path: str | os.PathLike[str] | None) -> None:
    """Refuse a path that no chart can be written to, before there is one."""
    if path is not None and not check.path("path", path).endswith(ENDINGS):
        raise SpecError(f"the path of a chart ends in .png, .svg or .html, not as {os.fspath(path)!r} does")


def save(chart: Chart, path: str | os.PathLike[str]) -> None:
    """Write a chart as PNG, SVG or HTML, by the path's ending."""
    check_ending(check.path("path", path))
    convert = drawing()
    name = os.fspath(path)
    if name.endswith(".png"):
        content: bytes = convert.vegalite_to_png(chart.to_json(), scale=SCALE)
    elif name.endswith(".svg"):
        content = chart.to_svg().encode()
    else:
        content = convert.vegalite_to_html(chart.to_json(), bundle=True).encode()
    replace_file(path, content)


def altair() -> Any:
    """Return the package whose objects specifications can be."""
    try:
        import altair
    except ImportError:
        raise _missing() from None
    return altair


def drawing() -> Any:
    """Return the package that draws them."""
    try:
        import vl_convert
    except ImportError:
        raise _missing() from None
    return vl_convert


def _missing() -> MissingExtraError:
    return MissingExtraError("charts need vl-convert, and altair to be changed: pip install 'evenhand[charts]'")
