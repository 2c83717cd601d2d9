"""Distances J between two probabilities of an outcome: eq. (3), and room for others.

A distance is used in two ways, and Proposition 1 asks of it just what each way needs. Against a fixed target
its sublevel set is an interval. Between two groups it is, for both orders of the pair, one supporting line
``on_p · p + on_q · q ≤ limit`` with ``on_p > 0 ≥ on_q``. Slopes are derivatives in the bound.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from evenhand.counts import Numbers


@dataclass(frozen=True)
class Line:
    """The half-plane ``on_p · p + on_q · q ≤ limit``."""

    on_p: float
    on_q: float
    limit: float


class Distance(ABC):
    """A distance J(p, q) between two probabilities."""

    @abstractmethod
    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return J(p, q), elementwise."""

    @abstractmethod
    def interval(self, q: Numbers, bound: float) -> tuple[Numbers, Numbers]:
        """Return the smallest and largest p with J(p, q) ≤ bound."""

    @abstractmethod
    def interval_slope(self, q: Numbers, bound: float) -> tuple[Numbers, Numbers]:
        """Return the derivatives of :meth:`interval` in the bound."""

    @abstractmethod
    def line(self, bound: float) -> Line:
        """Return the line that, over both orders of a pair, is the same as J ≤ bound."""

    @abstractmethod
    def line_slope(self, bound: float) -> Line:
        """Return the derivative of :meth:`line` in the bound."""


@dataclass(frozen=True)
class Ratio(Distance):
    """The probability ratio |p/q − 1| of eq. (3); 0/0 satisfies every bound, p/0 none.

    Examples
    --------
    >>> Ratio().value(np.array([0.3, 0.0, 0.1]), np.array([0.2, 0.0, 0.0])).round(6).tolist()
    [0.5, 0.0, inf]
    """

    def value(self, p: Numbers, q: Numbers) -> Numbers:
        """Return |p/q − 1|."""
        p, q = np.broadcast_arrays(np.asarray(p, dtype=float), np.asarray(q, dtype=float))
        ratio = np.divide(p, q, out=np.full(p.shape, np.inf), where=q > 0)
        return np.where((p == 0) & (q == 0), 0.0, np.abs(ratio - 1))

    def interval(self, q: Numbers, bound: float) -> tuple[Numbers, Numbers]:
        """Return [(1 − ε) q, (1 + ε) q]."""
        return (1 - bound) * q, (1 + bound) * q

    def interval_slope(self, q: Numbers, bound: float) -> tuple[Numbers, Numbers]:
        """Return (−q, q)."""
        return -q, q

    def line(self, bound: float) -> Line:
        """Return p ≤ (1 + ε) q; the other inequality follows, since 1/(1 + ε) ≥ 1 − ε."""
        return Line(1.0, -(1 + bound), 0.0)

    def line_slope(self, bound: float) -> Line:
        """Return the derivative of :meth:`line`."""
        return Line(0.0, -1.0, 0.0)
