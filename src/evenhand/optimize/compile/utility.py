"""Utility measures Δ with the original distribution p filled in: losses of r alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Numbers
from evenhand.optimize.program import Loss, Matrix
from evenhand.spec import Epigraph, Polyhedral, Quasiconvex, Smooth, Utility

GRADIENT_FROM = 1e-12
"""Gradients are taken at no smaller r: at an empty cell those of some measures are infinite."""

CURVED_FROM = 1e-9
"""Curvatures are taken at no smaller r; a steeper expansion than that is beyond a solver's digits."""


@dataclass(frozen=True, eq=False)
class From:
    """A measure from a fixed p."""

    measure: Utility
    p: Numbers

    def value(self, r: Numbers) -> float:
        """Return Δ(p, r)."""
        # A solver's r may be below zero in its last digit.
        return self.measure.value(self.p, np.maximum(r, 0.0))

    def clip(self, multipliers: Numbers) -> Numbers:
        """Return the nearest multipliers with a finite infimum."""
        return self.measure.clip(self.p, multipliers)

    def infimum(self, multipliers: Numbers) -> float:
        """Return inf over r ≥ 0 of Δ(p, r) − λ·r."""
        return self.measure.infimum(self.p, multipliers)


@dataclass(frozen=True, eq=False)
class SmoothFrom(From):
    """A smooth measure from a fixed p."""

    measure: Smooth

    @property
    def start(self) -> Numbers:
        """The original distribution, from which nothing is lost."""
        return self.p

    @property
    def ceiling(self) -> float | None:
        """The least upper bound of the derivatives, not reached."""
        return self.measure.ceiling

    @cached_property
    def decisive(self) -> NDArray[np.bool_]:
        """The cells whose r determines the loss."""
        return self.measure.decides(self.p)

    @cached_property
    def needed(self) -> NDArray[np.bool_]:
        """The cells that must not be empty."""
        most = np.array([self.p.max()])
        infinite = np.isinf(self.measure.value(most, np.zeros(1)))
        return np.asarray((self.p > 0) & infinite)

    def gradient(self, r: Numbers) -> Numbers:
        """Return the first derivatives."""
        return self.measure.gradient(self.p, np.maximum(r, GRADIENT_FROM))

    def curvature(self, r: Numbers) -> Numbers:
        """Return the second derivatives."""
        return self.measure.curvature(self.p, np.maximum(r, CURVED_FROM))


@dataclass(frozen=True, eq=False)
class PolyhedralFrom(From):
    """A polyhedral measure from a fixed p."""

    measure: Polyhedral

    @cached_property
    def epigraph(self) -> Epigraph:
        """The measure as a linear programme in r."""
        return self.measure.epigraph(self.p)


@dataclass(frozen=True, eq=False)
class QuasiconvexFrom(From):
    """A quasiconvex measure from a fixed p."""

    measure: Quasiconvex

    @property
    def start(self) -> Numbers:
        """The original distribution."""
        return self.p

    @property
    def highest(self) -> float | None:
        """A level that every r stays within, if the user gave one."""
        return self.measure.highest

    def sublevel(self, level: float) -> tuple[Matrix, Numbers]:
        """Return the r with a loss of at most ``level`` as ``A r ≤ b``."""
        matrix, limit = self.measure.sublevel(self.p, level)
        return sparse.csr_array(matrix), np.asarray(limit, dtype=float)


def loss_from(measure: Utility, p: Numbers) -> Loss:
    """Fill p into a measure."""
    if isinstance(measure, Smooth):
        return SmoothFrom(measure, p)
    if isinstance(measure, Polyhedral):
        return PolyhedralFrom(measure, p)
    if isinstance(measure, Quasiconvex):
        return QuasiconvexFrom(measure, p)
    # A recorded measure can be looked up, not minimised.
    return From(measure, p)
