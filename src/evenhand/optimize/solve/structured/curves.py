"""How r and its multiplier hang together where a loss is smooth: the curve s = c − φ'(v).

A column v = r of the form has a reduced cost s, as every column has. A linear one must end where their product is zero,
a smooth one on its curve, c the least upper bound of φ' (zero where it has none). Every iteration replaces the curve by
a line through the point: dv = aim − width · ds. Where φ' has a bound, v and s both stay positive, and the line is that
of their logarithms: exact for powers, of which −p log r (v s = p) is one, so that with the Kullback–Leibler divergence
a smooth loss costs what a linear one does. Elsewhere it is the tangent, exact for squares.

φ is the loss in units of its own size, so that every loss has multipliers of the size of one, whatever its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.optimize.program import SmoothLoss

STEEP = 1e3
"""A curvature that grows by this much towards an empty cell keeps r away from it."""

NEARLY_EMPTY = 1e-8
"""The share of a cell's mass at which that is looked at."""

LEAST_CURVATURE = 1e-12
"""Smaller curvatures are taken as if they were this large."""


@dataclass(frozen=True, eq=False)
class Curve:
    """The curve of a loss on the targets that decide it."""

    loss: SmoothLoss
    targets: Cells

    @cached_property
    def unit(self) -> float:
        """The size of the loss: twice what it is, to second order, where every cell is off by all its mass."""
        start = self.loss.start
        size = float(start[self.targets] ** 2 @ self.loss.curvature(start)[self.targets])
        return size if np.isfinite(size) and size > 0 else 1.0

    @cached_property
    def ceiling(self) -> Numbers:
        return np.full(len(self.targets), (self.loss.ceiling or 0.0) / self.unit)

    @property
    def bounded(self) -> bool:
        """Whether φ' has an upper bound, so that s stays positive."""
        return self.loss.ceiling is not None

    @cached_property
    def open(self) -> Flags:
        """The v that stay positive."""
        start = np.maximum(self.loss.start[self.targets], np.finfo(float).tiny)
        if self.bounded:
            return np.ones(len(start), dtype=bool)
        near, there = self._curvature(NEARLY_EMPTY * start), self._curvature(start)
        return np.asarray(near > STEEP * there)

    def at(self, v: Numbers) -> Numbers:
        return self.ceiling - self.loss.gradient(self._spread(v))[self.targets] / self.unit

    def line(self, v: Numbers, s: Numbers) -> tuple[Numbers, Numbers]:
        """Return the aim and the width of the line that stands for the curve at a point."""
        on_curve, curvature = self.at(v), self._curvature(v)
        if self.bounded:
            # The line of the logarithms; its slope is d log s / d log v on the curve.
            slope = v * curvature / on_curve
            return v / slope * (on_curve / s - 1), v / (slope * s)
        return (on_curve - s) / curvature, 1 / curvature

    def bend(self, v: Numbers, s: Numbers, step_v: Numbers, step_s: Numbers) -> Numbers:
        """Return what a step that follows the line makes the aim lack, to second order."""
        if not self.bounded:
            return np.zeros(len(v))
        return -step_v * step_s / s

    def gap(self, v: Numbers, s: Numbers) -> float:
        """Return φ(v) − λ·v less the least that this can be, λ the slope that s stands for; zero on the curve."""
        slope = np.asarray(self.loss.gradient(self._spread(v)))
        slope[self.targets] = self.unit * (self.ceiling - s)
        # Rounding may put it on the bound of φ', where nothing is finite.
        slope, r = self.loss.clip(slope), self._spread(v)
        return (self.loss.value(r) - float(slope @ r) - self.loss.infimum(slope)) / self.unit

    def _curvature(self, v: Numbers) -> Numbers:
        return np.maximum(self.loss.curvature(self._spread(v))[self.targets] / self.unit, LEAST_CURVATURE)

    def _spread(self, v: Numbers) -> Numbers:
        """Return r on all cells, those that decide nothing empty."""
        r = np.zeros(len(self.loss.start))
        r[self.targets] = v
        return r
