"""Charts of plain rows: one specification each, to PNG, SVG or HTML by its ending. Needs the extra ``charts``.

They know rows of numbers and words, and nothing of mappings; told apart by lightness, shape and written numbers, so
that they are legible in grey and to the colour-blind.
"""

from evenhand.report.charts.chart import Chart, check_ending, save
from evenhand.report.charts.frontier import EDGES, frontier
from evenhand.report.charts.grid import (
    DIVERGING,
    MORE_IS_BETTER,
    MORE_IS_WORSE,
    SEQUENTIAL,
    Shades,
    grid,
    panels_within,
    side_by_side,
    stacked,
)
from evenhand.report.charts.history import history_chart
from evenhand.report.charts.models import models
from evenhand.report.charts.rates import rates

__all__ = [
    "DIVERGING",
    "EDGES",
    "MORE_IS_BETTER",
    "MORE_IS_WORSE",
    "SEQUENTIAL",
    "Chart",
    "Shades",
    "check_ending",
    "frontier",
    "grid",
    "history_chart",
    "models",
    "panels_within",
    "rates",
    "save",
    "side_by_side",
    "stacked",
]
