"""Polyhedral measures: the least cost of a linear programme in r."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.arrays import Numbers
from evenhand.spec.utility.base import Epigraph, Polyhedral

EPSILON = float(np.finfo(float).eps)


def _gain_and_loss(p: Numbers, price: float) -> Epigraph:
    size = len(p)
    one = sparse.eye_array(size, format="csr")
    return Epigraph(np.full(2 * size, price), one, sparse.hstack([-one, one], format="csr"), p)


def _priced_infimum(p: Numbers, multipliers: Numbers, price: float) -> float:
    """Return the infimum of ``price`` Σ |r − p| − λ·r: at r = p or, where λ is below −price, at r = 0."""
    if np.any(multipliers > price):
        return float("-inf")
    return float(np.dot(np.minimum(-multipliers, price), p))


@dataclass(frozen=True)
class L1(Polyhedral):
    """The ℓ1 distance Σ |r − p|, twice the total variation; a cell with p = 0 costs its r.

    Examples
    --------
    >>> L1().value(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.5
    """

    words = "the ℓ1 distance"

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Σ |r − p|."""
        return float(np.abs(r - p).sum())

    def epigraph(self, p: Numbers) -> Epigraph:
        """Split r − p into a gain and a loss."""
        return _gain_and_loss(p, 1.0)

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ of at most one."""
        return np.minimum(multipliers, 1.0)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return Σ p·min(−λ, 1), reached at r = p or, where λ < −1, at r = 0."""
        return _priced_infimum(p, multipliers, 1.0)


@dataclass(frozen=True)
class TotalVariation(Polyhedral):
    """The total variation ½ Σ |r − p|: the mass that moves, between 0 and 1; a cell with p = 0 costs half its r.

    Examples
    --------
    >>> TotalVariation().value(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.25
    """

    words = "the total variation"

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return ½ Σ |r − p|."""
        return float(np.abs(r - p).sum()) / 2

    def epigraph(self, p: Numbers) -> Epigraph:
        """Split r − p into a gain and a loss."""
        return _gain_and_loss(p, 0.5)

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ of at most one half."""
        return np.minimum(multipliers, 0.5)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return Σ p·min(−λ, ½), reached at r = p or, where λ < −½, at r = 0."""
        return _priced_infimum(p, multipliers, 0.5)


@dataclass(frozen=True)
class MaxRelativeChange(Polyhedral):
    """The largest relative change of any cell, max |r/p − 1|; no mass may move to cells with p = 0.

    Examples
    --------
    >>> MaxRelativeChange().value(np.array([0.5, 0.5]), np.array([0.25, 0.75]))
    0.5
    >>> MaxRelativeChange().value(np.array([1.0, 0.0]), np.array([0.5, 0.5]))
    inf
    """

    words = "the largest relative change of any cell"
    new_cells = False

    def value(self, p: Numbers, r: Numbers) -> float:
        """Return max |r/p − 1| over p > 0."""
        held = p > 0
        if np.any(r[~held] > 0):
            return float("inf")
        return float(np.max(np.abs(r[held] - p[held]) / p[held], initial=0.0))

    def epigraph(self, p: Numbers) -> Epigraph:
        """State −t ≤ r/p − 1 ≤ t with v = (t, slacks of the right side, slacks of the left)."""
        size, held = len(p), p > 0
        # In units of p, so that a solver's tolerance is one on t. Where p = 0 the right side says r = 0.
        change = sparse.dia_array((1 / np.where(held, p, 1.0)[None, :], [0]), shape=(size, size)).tocsr()
        room = sparse.csr_array(held.astype(float)[:, None])
        one, none = sparse.eye_array(size, format="csr"), sparse.csr_array((size, size))
        on_v = sparse.vstack([sparse.hstack([-room, one, none]), sparse.hstack([room, none, -one])], format="csr")
        cost = np.concatenate([[1.0], np.zeros(2 * size)])
        return Epigraph(cost, sparse.vstack([change, change], format="csr"), on_v, np.tile(held.astype(float), 2))

    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return λ with its positive part scaled so that Σ λp over it is at most one."""
        gain = float(np.dot(np.maximum(multipliers, 0.0), p))
        if gain <= 1:
            return multipliers
        # A sum of n products may round by n units in the last place.
        share = 1 / gain / (1 + 4 * EPSILON * len(p))
        return np.where(multipliers > 0, multipliers * share, multipliers)

    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return −Σ λp + min(0, 1 − Σ |λ|p), reached at r = p or at an r with a change of one.

        At a largest change t the best r is (1 + t) p where λ > 0 and max(0, 1 − t) p where λ < 0: the infimum is
        piecewise linear in t, with a corner at t = 1, and unbounded if Σ λp over λ > 0 exceeds one.
        """
        gain = float(np.dot(np.maximum(multipliers, 0.0), p))
        loss = float(np.dot(np.maximum(-multipliers, 0.0), p))
        if gain > 1:
            return float("-inf")
        # Each case apart: their difference would cancel where λ is large.
        return min(loss - gain, 1 - 2 * gain)
