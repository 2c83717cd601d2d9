"""A finished chart, and how it becomes a file. The one place that knows the drawing packages.

Charts are written as Vega-Lite by hand, in plain values: Altair would check and copy every part of them anew with each
step, which took longer than all else that a report does. It is loaded for those who ask for its object alone.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from evenhand import check
from evenhand.errors import EvenhandError, MissingExtraError, SpecError
from evenhand.files import replace_file
from evenhand.report.page import template
from evenhand.text import printable

SCALE = 2.0
"""Pixels of a PNG for each unit of the specification."""

LETTER = 6.2
"""The mean width of a subtitle's letter, in the specification's units."""

SHORTEST_LINE = 70
"""A subtitle's lines are no shorter than so many letters, however narrow the chart."""

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

EMBEDDED = "{ast: true, renderer: 'svg', actions: {export: true, source: false, compiled: false, editor: false}}"
"""How a page shows a chart: nothing in a specification becomes a script, and none is sent to an editor elsewhere."""

SHORT_OF_MEMORY = "; it needs some GB of address space: raise the limit (ulimit -v)"

DRAWING = """
import sys
import vl_convert

form, scale = sys.argv[1:]
specification = sys.stdin.buffer.read().decode()
if form == "png":
    content = vl_convert.vegalite_to_png(specification, scale=float(scale))
elif form == "svg":
    content = vl_convert.vegalite_to_svg(specification).encode()
else:
    content = vl_convert.javascript_bundle().encode()
sys.stdout.buffer.write(content)
"""
"""What the process runs that draws."""


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
        return drawn("svg", self.to_json()).decode()

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
    shown = printable(part)
    return shown.replace("\\", "\N{REVERSE SOLIDUS OPERATOR}") if key == "title" else shown


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
    name = os.fspath(path)
    form: Any = name[-3:]
    replace_file(path, page_of(chart).encode() if name.endswith(".html") else drawn(form, chart.to_json()))


def page_of(chart: Chart) -> str:
    """Return a page of a chart that needs no network. The script in it is the only one that a browser runs."""
    # Within a script a browser looks for nothing but its end.
    values = chart.to_json().replace("<", "\\u003c")
    script = f"{drawn('bundle').decode()}\nvegaEmbed('#chart', {values}, {EMBEDDED});"
    return str(template("chart.html").render(title=chart.title, script=script))


def altair() -> Any:
    """Return the package whose objects specifications can be."""
    try:
        import altair
    except ImportError:
        raise _missing() from None
    return altair


def drawn(form: Literal["png", "svg", "bundle"], specification: str = "") -> bytes:
    """Return a drawing, or the bundle of scripts that draws in a browser, from the package that draws.

    That package ends its process where it is short of memory, so it has one of its own.
    """
    try:
        import vl_convert  # noqa: F401
    except ImportError:
        raise _missing() from None
    # A module of the folder that evenhand was started in is nobody's to run: -P.
    command = [sys.executable, "-P", "-c", DRAWING, form, str(SCALE)]
    try:
        done = subprocess.run(command, input=specification.encode(), capture_output=True, check=False)
    except (OSError, MemoryError) as error:
        raise _undrawn(str(error), SHORT_OF_MEMORY) from None
    if done.returncode < 0:
        raise _undrawn(signal.Signals(-done.returncode).name, SHORT_OF_MEMORY)
    if done.returncode:
        raise _undrawn("".join(done.stderr.decode(errors="replace").splitlines()[-1:]))
    return done.stdout


def _undrawn(why: str, advice: str = "") -> EvenhandError:
    return EvenhandError(f"vl-convert, which draws charts, stopped: {check.shown(why)}{advice}")


def _missing() -> MissingExtraError:
    return MissingExtraError("charts need vl-convert, and altair to be changed: pip install 'evenhand[charts]'")
