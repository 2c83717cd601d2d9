"""Utility measures Δ(p, r): how far the released distribution r may be from the original p.

A measure knows its value and what a solver and a certificate need of it, on plain arrays over the same cells:
a smooth one its gradient and curvature, a polyhedral one its epigraph; both the infimum of Δ(r) − λ·r over
r ≥ 0 (minus the convex conjugate), which turns any multipliers λ into a lower bound. All act cell by cell in
r, convexly: that is what Proposition 1 needs.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.counts import Numbers


@dataclass(frozen=True, eq=False)
class Epigraph:
    """Δ(r) as the least ``cost · v`` over v ≥ 0 with ``on_r · r + on_v · v = right``."""

    cost: Numbers
    on_r: Any
    on_v: Any
    right: Numbers


class Utility(ABC):
    """A measure Δ of the difference between two distributions."""

    @abstractmethod
    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Δ(p, r)."""

    @abstractmethod
    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return inf over r ≥ 0 of Δ(p, r) − λ·r; minus infinity where unbounded."""

    @abstractmethod
    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return the nearest multipliers at which :meth:`infimum` is finite."""


class Smooth(Utility):
    """A measure with a gradient and a curvature, strictly convex on the cells that :meth:`decides` names."""

    @abstractmethod
    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return the derivative in each r."""

    @abstractmethod
    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return the second derivative in each r."""

    @abstractmethod
    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells whose r determines Δ; the others may change without changing it."""


class Polyhedral(Utility):
    """A measure whose epigraph is a polyhedron, so that its problem is a linear programme."""

    @abstractmethod
    def epigraph(self, p: Numbers) -> Epigraph:
        """Return the measure as a linear programme in r."""


@dataclass(frozen=True)
class KL(Smooth):
    """The Kullback–Leibler divergence Σ p log(p/r), in nats; mass moved to cells with p = 0 is only lost.

    Examples
    --------
    >>> round(KL().value(np.array([0.5, 0.5]), np.array([0.25, 0.75])), 6)
    0.143841
    """

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ p log(p/r)."""
        held = p > 0
        if np.any(r[held] <= 0):
            return float("inf")
        # By Gibbs' inequality it is not negative; rounding may say otherwise.
        return max(0.0, float(np.sum(p[held] * np.log(p[held] / r[held]))))

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return −p/r."""
        return -np.divide(p, r, out=np.zeros_like(p), where=p > 0)

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return p/r²."""
        return np.divide(p, r**2, out=np.zeros_like(p), where=p > 0)

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells with p > 0."""
        return p > 0

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ below zero, and at most zero where p = 0."""
        return np.minimum(multipliers, np.where(p > 0, -np.finfo(float).tiny, 0.0))

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return Σ p (log(−λ) + 1), reached at r = −p/λ."""
        held = p > 0
        if np.any(multipliers[held] >= 0) or np.any(multipliers[~held] > 0):
            return float("-inf")
        return float(np.sum(p[held] * (np.log(-multipliers[held]) + 1)))


@dataclass(frozen=True)
class L1(Polyhedral):
    """The ℓ1 distance Σ |r − p|, twice the total variation.

    Examples
    --------
    >>> L1().value(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.5
    """

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ |r − p|."""
        return float(np.abs(r - p).sum())

    def epigraph(self, p: Numbers) -> Epigraph:
        """Split r − p into a gain and a loss."""
        size = len(p)
        one = sparse.eye_array(size, format="csr")
        return Epigraph(np.ones(2 * size), one, sparse.hstack([-one, one], format="csr"), p)

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ of at most one."""
        return np.minimum(multipliers, 1.0)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return Σ p·min(−λ, 1), reached at r = p or, where λ < −1, at r = 0."""
        if np.any(multipliers > 1):
            return float("-inf")
        return float(np.dot(np.minimum(-multipliers, 1.0), p))
