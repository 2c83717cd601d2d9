"""Scales and axes: numbers, titles, and the names of lines, none upon another."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from evenhand.render.chart.canvas import LEADING, SIZE, Canvas, widest, width_of, wrap
from evenhand.render.chart.contents import line_name
from evenhand.render.numbers import tick
from evenhand.render.section import Line

SMALL = 11.0
"""The size of numbers beside an axis, and of letters in a grid."""

BELOW = 8.0
"""From an axis down to its numbers."""

STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
TICK_ROOM, MOST_TICKS = 50.0, 8
"""About one number along an axis for so many pixels, and never more."""

FROM_ZERO = 0.6
"""Curves whose lowest value is a larger share of their highest are drawn on an axis that does not begin at zero."""

FLAT = 0.02
"""Curves that vary by a smaller share of their highest value are drawn as flat."""


@dataclass(frozen=True)
class Scale:
    """Values from ``low`` to ``high`` between two places, with those that have a number beside the axis."""

    low: float
    high: float
    start: float
    end: float
    ticks: tuple[float, ...]
    step: float

    def at(self, value: float) -> float:
        """Return where a value is; what is beyond an end is at it."""
        share = (min(max(value, self.low), self.high) - self.low) / ((self.high - self.low) or 1.0)
        return self.start + share * (self.end - self.start)


def scaled(values: Iterable[float], start: float, end: float, most: int, *, zero: bool = True) -> Scale:
    """Return a scale that has all finite values, and ends at a number of its axis.

    Examples
    --------
    >>> scale = scaled([0.12, 0.4], 0, 100, 5)
    >>> scale.ticks, scale.at(0.2)
    ((0.0, 0.1, 0.2, 0.30000000000000004, 0.4), 50.0)
    """
    known = [float(value) for value in values if math.isfinite(value)] or [0.0]
    low, high = min(known), max(known)
    low, high = (min(low, 0.0), max(high, 0.0)) if zero else (low, high)
    if high - low <= 1e-12 * max(abs(high), 1e-9):
        high = low + (abs(low) or 1.0)
    power = 10.0 ** math.floor(math.log10((high - low) / most))
    for times in STEPS:
        step = power * times
        first, last = math.floor(round(low / step, 6)), math.ceil(round(high / step, 6))
        if last - first <= most:
            break
    return Scale(first * step, last * step, start, end, tuple(step * n for n in range(first, last + 1)), step)


def from_zero(values: Sequence[float]) -> bool:
    """Whether curves are drawn on an axis from zero on: unless they vary, and all far from it."""
    low, high = min(values, default=0.0), max(values, default=0.0)
    return low < FROM_ZERO * high or high - low < FLAT * high


def most_ticks(start: float, end: float) -> int:
    """Return how many numbers have room along an axis."""
    return max(2, min(MOST_TICKS, int((end - start) / TICK_ROOM)))


def draw_axis(canvas: Canvas, scale: Scale, y: float, kind: str, words: str) -> float:
    """Draw an axis with its numbers and its title below a plot, and return where it ends."""
    canvas.line(scale.start, y, scale.end, y, "c-axis")
    texts = [tick(value, scale.step, kind) for value in scale.ticks]
    for value in scale.ticks:
        canvas.line(scale.at(value), y, scale.at(value), y + 4, "c-axis")
    for every in range(1, len(texts) + 1):
        some = list(zip(scale.ticks, texts, strict=True))[::every]
        if placed := spread([(scale.at(value), width_of(text, SMALL)) for value, text in some], 0.0, canvas.width):
            break
    for middle, (_, text) in zip(placed, some, strict=True):
        canvas.text(middle, y + BELOW, text, "c-soft", anchor="middle", size=SMALL)
    return write_axis_title(canvas, scale, y + BELOW + SMALL * LEADING, words)


def write_axis_title(canvas: Canvas, scale: Scale, y: float, words: str) -> float:
    """Write the title of an axis below its numbers, and return where it ends."""
    lines = wrap(words, scale.end - scale.start)
    return canvas.text((scale.start + scale.end) / 2, y, lines, "c-soft", anchor="middle")


def spread(wanted: Sequence[tuple[float, float]], low: float, high: float) -> list[float]:
    """Return the middles of texts, given with their widths, moved in from the ends; none where two would meet."""
    middles = [max(min(at, high - width / 2), low + width / 2) for at, width in wanted]
    ends = [(at - width / 2, at + width / 2) for at, (_, width) in zip(middles, wanted, strict=True)]
    free = all(right + 4 <= left for (_, right), (left, _) in pairwise(ends))
    return middles if free else []


def write_names_above(canvas: Canvas, lines: Sequence[Line], scale: Scale, top: float) -> float:
    """Write the names of upright lines above a plot, each lower than those that it would meet; return its top."""
    if not lines:
        return top
    left, right = scale.start, scale.end
    placed: list[tuple[float, float, int, list[str], Line]] = []
    levels: list[list[tuple[float, float]]] = []
    heights: list[float] = []
    for line in sorted(lines, key=lambda line: line.value):
        words = wrap(line_name(line), right - left)
        width = widest(words)
        start = min(max(scale.at(line.value) - width / 2, left), max(right - width, left))
        level = next(
            (at for at, taken in enumerate(levels) if all(start > b + 8 or start + width < a - 8 for a, b in taken)),
            len(levels),
        )
        if level == len(levels):
            levels.append([])
            heights.append(0.0)
        levels[level].append((start, start + width))
        heights[level] = max(heights[level], len(words) * SIZE * LEADING)
        placed.append((start, width, level, words, line))
    bottom = top + sum(heights) + 4
    for _, _, level, _, line in placed:
        x = scale.at(line.value)
        canvas.line(x, top + sum(heights[:level]) + 2, x, bottom, "c-bound")
    for start, width, level, words, _ in placed:
        y = top + sum(heights[:level])
        canvas.rect(start - 2, y, width + 4, len(words) * SIZE * LEADING, "c-ground")
        canvas.text(start + width / 2, y, words, anchor="middle")
    return bottom
