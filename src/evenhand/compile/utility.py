"""Utility measures Δ with the original distribution p filled in: losses of r alone."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.counts import Numbers
from evenhand.program import Loss
from evenhand.spec import Epigraph, Polyhedral, Smooth, Utility


@dataclass(frozen=True, eq=False)
class From:
    """A measure from a fixed p."""

    measure: Utility
    p: Numbers

    def value(self, r: Numbers) -> float:
        """Return Δ(p, r)."""
        return self.measure.value(self.p, r)

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

    @cached_property
    def decisive(self) -> NDArray[np.bool_]:
        """The cells whose r determines the loss."""
        return self.measure.decides(self.p)

    def gradient(self, r: Numbers) -> Numbers:
        """Return the first derivatives."""
        return self.measure.gradient(self.p, r)

    def curvature(self, r: Numbers) -> Numbers:
        """Return the second derivatives."""
        return self.measure.curvature(self.p, r)


@dataclass(frozen=True, eq=False)
class PolyhedralFrom(From):
    """A polyhedral measure from a fixed p."""

    measure: Polyhedral

    @cached_property
    def epigraph(self) -> Epigraph:
        """The measure as a linear programme in r."""
        return self.measure.epigraph(self.p)


def loss_from(measure: Utility, p: Numbers) -> Loss:
    """Fill p into a measure."""
    if isinstance(measure, Smooth):
        return SmoothFrom(measure, p)
    if isinstance(measure, Polyhedral):
        return PolyhedralFrom(measure, p)
    raise TypeError(f"a utility measure is Smooth or Polyhedral; {type(measure).__name__} is neither")
