"""Figures 2 to 5 of the paper, drawn anew from the embedded tables.

The trade-off, the conditional mapping and the rates by cohort are those of the same problems; the paper's pictures of
cohorts show one draw of the lottery, these its expectation.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from evenhand.datasets import load
from evenhand.fitting import fit
from evenhand.render.chart import Picture
from evenhand.resources import Progress, silent
from evenhand.spec import ExpectedDistortion
from evenhand.use.tradeoff import frontier

ENDINGS = ("png", "svg", "html")

POINTS = 60
FURTHEST = 0.7
"""Figure 2 is traced at this many bounds up to this one, beyond which nobody changes."""

YOUNG = {"age_cat": "Less than 25"}
GROUPS_OF_FIGURE_3 = (
    {"sex": "Male", "race": "African-American", **YOUNG, "is_recid": 1},
    {"sex": "Male", "race": "African-American", **YOUNG, "is_recid": 0},
    {"sex": "Male", "race": "Caucasian", **YOUNG, "is_recid": 1},
)
GROUPS_OF_FIGURE_5 = ({"sex": "Female"}, {"sex": "Male"}, {"race": "Minority"}, {"race": "White"})


@dataclass(frozen=True)
class Figure:
    """A figure of the paper: its number, what it shows, and how to draw it."""

    number: int
    caption: str
    draw: Callable[[], Picture]


def figures() -> list[Figure]:
    """List the figures, in the paper's order."""
    return [
        Figure(2, "utility lost along the parity bound, COMPAS, c = 0.25", _tradeoff),
        Figure(3, "the conditional mapping of young men, COMPAS, ε = 0.1, c = 0.5", _conditional_mapping),
        Figure(4, "recidivism by cohort and its change, COMPAS, ε = 0.1, c = 0.5", _recidivism),
        Figure(5, "high income by cohort and its change, Adult, ε = 0.15", _income),
    ]


def paths(folder: str | os.PathLike[str]) -> list[Path]:
    """Return every file that :func:`write` writes."""
    return [Path(folder) / _name(figure, ending) for figure in figures() for ending in ENDINGS]


def _name(figure: Figure, ending: str) -> str:
    return f"figure-{figure.number}.{ending}"


def write(folder: str | os.PathLike[str], progress: Progress | None = None) -> list[tuple[Path, str]]:
    """Draw every figure into a folder that exists, as PNG, SVG and HTML; return what was written, with captions."""
    report = progress or silent
    written = []
    listed = figures()
    for done, figure in enumerate(listed):
        report(f"figure {figure.number}: {figure.caption}", done / len(listed))
        chart = figure.draw()
        for ending in ENDINGS:
            path = Path(folder) / _name(figure, ending)
            chart.save(path)
            written.append((path, figure.caption))
    report("done", 1.0)
    return written


def _tradeoff() -> Picture:
    data = load("compas")
    problem = replace(data.problem, budget=ExpectedDistortion(0.25))
    bounds = [FURTHEST * i / (POINTS - 1) for i in range(POINTS)]
    return frontier(problem, data.counts, bounds=bounds).chart(title="COMPAS: utility lost along the bound, c = 0.25")


def _conditional_mapping() -> Picture:
    data = load("compas")
    title = "COMPAS: conditional mappings of young men, ε = 0.1, c = 0.5"
    return fit(data.problem, data.counts).chart("heat", where=GROUPS_OF_FIGURE_3, title=title)


def _recidivism() -> Picture:
    data = load("compas")
    title = "COMPAS: recidivism by cohort, ε = 0.1, c = 0.5"
    return fit(data.problem, data.counts).chart("cohorts", title=title)


def _income() -> Picture:
    """The paper plots original age and education throughout, so that the same people are compared."""
    data = load("adult")
    title = "Adult: high income by cohort, ε = 0.15"
    return fit(data.problem, data.counts).chart("cohorts", groups=GROUPS_OF_FIGURE_5, features="original", title=title)
