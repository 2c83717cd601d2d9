"""Smooth measures: a sum over cells of a convex φ(p, r), with φ's two derivatives and its conjugate in closed form.

Every ``infimum`` is a sum over cells of the least φ(p, r) − λr over r ≥ 0; its docstring says at which r that is.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Numbers
from evenhand.spec.utility.base import Smooth

LARGEST = 1e150
"""A multiplier whose square is still a number."""

LARGEST_EXPONENT = 700.0
"""A multiplier whose exponential is still a number."""

LOG_2 = float(np.log(2.0))
LOG_2_REST = 2.3190468138462996e-17
"""What the double nearest to log 2 leaves out; it is below log 2."""


@dataclass(frozen=True)
class KL(Smooth):
    """The Kullback–Leibler divergence Σ p log(p/r), in nats; mass moved to cells with p = 0 is only lost.

    Examples
    --------
    >>> round(KL().value(np.array([0.5, 0.5]), np.array([0.25, 0.75])), 6)
    0.143841
    """

    words = "the Kullback–Leibler divergence, in nats,"
    ceiling = 0.0

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
class ReverseKL(Smooth):
    """The reverse Kullback–Leibler divergence Σ r log(r/p), in nats; no mass may move to cells with p = 0.

    A cell may be emptied: Δ is finite at r = 0. On the barred cells the derivatives are given as 0.

    Examples
    --------
    >>> round(ReverseKL().value(np.array([0.25, 0.75]), np.array([0.5, 0.5])), 6)
    0.143841
    >>> ReverseKL().value(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    inf
    """

    words = "the reverse Kullback–Leibler divergence, in nats,"
    new_cells = False

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ r log(r/p)."""
        from scipy.special import rel_entr

        # By Gibbs' inequality it is not negative; rounding may say otherwise.
        return max(0.0, float(np.sum(rel_entr(r, p))))

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return log(r/p) + 1."""
        held = p > 0
        return np.where(held, np.log(r) - np.log(np.where(held, p, 1.0)) + 1, 0.0)

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return 1/r."""
        return np.divide(1.0, r, out=np.zeros_like(p), where=p > 0)

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells with p > 0."""
        return p > 0

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ whose exponential is still a number."""
        return np.minimum(multipliers, LARGEST_EXPONENT)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return −Σ p exp(λ − 1), reached at r = p exp(λ − 1)."""
        held = p > 0
        with np.errstate(over="ignore"):
            return -float(np.sum(p[held] * np.exp(multipliers[held] - 1)))


@dataclass(frozen=True)
class PearsonChi2(Smooth):
    """Pearson's chi-square Σ (r − p)²/p; no mass may move to cells with p = 0.

    On the barred cells the derivatives are given as 0.

    Examples
    --------
    >>> PearsonChi2().value(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.25
    >>> PearsonChi2().value(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    inf
    """

    words = "Pearson's χ²"
    new_cells = False

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ (r − p)²/p."""
        held = p > 0
        if np.any(r[~held] > 0):
            return float("inf")
        return float(np.sum((r[held] - p[held]) ** 2 / p[held]))

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return 2 (r − p)/p."""
        return 2 * np.divide(r - p, p, out=np.zeros_like(p), where=p > 0)

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return 2/p."""
        return np.divide(2.0, p, out=np.zeros_like(p), where=p > 0)

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells with p > 0."""
        return p > 0

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ whose square is still a number."""
        return np.minimum(multipliers, LARGEST)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return −Σ pλ (1 + λ/4), reached at r = p (1 + λ/2); below λ = −2 it stays at r = 0."""
        held = p > 0
        slope = np.maximum(multipliers[held], -2.0)
        with np.errstate(over="ignore"):
            return -float(np.sum(p[held] * slope * (1 + slope / 4)))


@dataclass(frozen=True)
class NeymanChi2(Smooth):
    """Neyman's chi-square Σ (r − p)²/r; a cell with p = 0 costs its r.

    Examples
    --------
    >>> NeymanChi2().value(np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.25, 0.25]))
    0.5
    """

    words = "Neyman's χ²"
    ceiling = 1.0

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ (r − p)²/r."""
        held = p > 0
        if np.any(r[held] <= 0):
            return float("inf")
        with np.errstate(over="ignore"):
            return float(np.sum((r[held] - p[held]) ** 2 / r[held]) + np.sum(r[~held]))

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return 1 − (p/r)²."""
        with np.errstate(over="ignore"):
            return 1 - (p / r) ** 2

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return 2p²/r³."""
        with np.errstate(over="ignore"):
            return 2 * (p / r) ** 2 / r

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells with p > 0; the measure is linear on the others."""
        return p > 0

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ of at most one."""
        return np.minimum(multipliers, 1.0)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return 2 Σ p (√(1 − λ) − 1), reached at r = p/√(1 − λ)."""
        if np.any(multipliers > 1):
            return float("-inf")
        return 2 * float(np.sum(p * (np.sqrt(1 - multipliers) - 1)))


@dataclass(frozen=True)
class Hellinger(Smooth):
    """The squared Hellinger distance ½ Σ (√r − √p)², between 0 and 1; a cell with p = 0 costs half its r.

    Examples
    --------
    >>> round(Hellinger().value(np.array([1.0, 0.0]), np.array([0.25, 0.75])), 6)
    0.5
    """

    words = "the squared Hellinger distance"
    ceiling = 0.5

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return ½ Σ (√r − √p)²."""
        return float(np.sum((np.sqrt(r) - np.sqrt(p)) ** 2) / 2)

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return ½ (1 − √(p/r))."""
        with np.errstate(over="ignore"):
            return (1 - np.sqrt(p / r)) / 2

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return ¼ √p/r^{3/2}."""
        with np.errstate(over="ignore"):
            return np.sqrt(p / r) / r / 4

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells with p > 0; the measure is linear on the others."""
        return p > 0

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ below one half, and at most one half where p = 0."""
        return np.minimum(multipliers, np.where(p > 0, np.nextafter(0.5, 0.0), 0.5))

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return −Σ pλ/(1 − 2λ), reached at r = p/(1 − 2λ)²."""
        held = p > 0
        if np.any(multipliers[held] >= 0.5) or np.any(multipliers[~held] > 0.5):
            return float("-inf")
        # The infimum falls as λ grows, so that a λ raised to what can be doubled is still a bound.
        slope = np.maximum(multipliers[held], -LARGEST)
        return -float(np.sum(p[held] * slope / (1 - 2 * slope)))


@dataclass(frozen=True)
class JensenShannon(Smooth):
    """The Jensen–Shannon divergence ½ KL(p‖m) + ½ KL(r‖m), m = (p + r)/2, in nats, between 0 and log 2.

    A cell with p = 0 costs its r times ½ log 2.

    Examples
    --------
    >>> round(JensenShannon().value(np.array([1.0, 0.0]), np.array([0.0, 1.0])), 6)
    0.693147
    """

    words = "the Jensen–Shannon divergence, in nats,"
    ceiling = LOG_2 / 2

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return ½ Σ p log(p/m) + ½ Σ r log(r/m)."""
        from scipy.special import rel_entr

        middle = (p + r) / 2
        # By Gibbs' inequality it is not negative; rounding may say otherwise.
        return max(0.0, float(np.sum(rel_entr(p, middle)) + np.sum(rel_entr(r, middle))) / 2)

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return ½ log(r/m)."""
        return np.log(2 * (r / (p + r))) / 2

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return ½ p/(r (p + r))."""
        with np.errstate(over="ignore"):
            return p / (p + r) / r / 2

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells with p > 0; the measure is linear on the others."""
        return p > 0

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ of at most ½ log 2: as a double that is below it, so inside the domain."""
        return np.minimum(multipliers, LOG_2 / 2)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return ½ Σ p log(2 − exp 2λ), reached at r = p exp 2λ/(2 − exp 2λ)."""
        # As 2 (1 − exp(2λ − log 2)), with log 2 to twice the digits: exact up to the edge of the domain.
        exponent = (2 * np.clip(multipliers, -LARGEST, LARGEST) - LOG_2) - LOG_2_REST
        if np.any(exponent >= 0):
            return float("-inf")
        return float(np.sum(p * (LOG_2 + np.log(-np.expm1(exponent))))) / 2


@dataclass(frozen=True)
class SquaredL2(Smooth):
    """The squared Euclidean distance Σ (r − p)²; a cell with p = 0 costs r².

    Examples
    --------
    >>> SquaredL2().value(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.125
    """

    words = "the squared ℓ2 distance"

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ (r − p)²."""
        return float(np.sum((r - p) ** 2))

    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return 2 (r − p)."""
        return 2 * (r - p)

    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return 2."""
        return np.full_like(p, 2.0)

    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return every cell."""
        return np.ones(len(p), dtype=bool)

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ whose square is still a number."""
        return np.minimum(multipliers, LARGEST)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return −Σ λ (p + λ/4), reached at r = p + λ/2; below λ = −2p it stays at r = 0."""
        slope = np.maximum(multipliers, -2 * p)
        with np.errstate(over="ignore"):
            return -float(np.sum(slope * (p + slope / 4)))
