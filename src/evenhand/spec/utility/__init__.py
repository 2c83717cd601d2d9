"""Utility measures Δ(p, r): how far the released distribution r may be from the original p.

A measure knows its value and what a solver and a certificate need of it, on plain arrays over the same cells:
a smooth one its gradient and curvature, a polyhedral one its epigraph; both the infimum of Δ(r) − λ·r over
r ≥ 0 (minus the convex conjugate), which turns any multipliers λ into a lower bound. All are convex in r, but for
:class:`Quasiconvex`, whose sublevel sets are: that is what Proposition 1 needs.
"""

from __future__ import annotations

from evenhand.spec.utility.base import Epigraph, Polyhedral, Smooth, Utility
from evenhand.spec.utility.polyhedral import L1, MaxRelativeChange, TotalVariation
from evenhand.spec.utility.smooth import KL, Hellinger, JensenShannon, NeymanChi2, PearsonChi2, ReverseKL, SquaredL2
from evenhand.spec.utility.user import Bregman, Quasiconvex, Recorded, Separable

__all__ = [
    "KL",
    "L1",
    "Bregman",
    "Epigraph",
    "Hellinger",
    "JensenShannon",
    "MaxRelativeChange",
    "NeymanChi2",
    "PearsonChi2",
    "Polyhedral",
    "Quasiconvex",
    "Recorded",
    "ReverseKL",
    "Separable",
    "Smooth",
    "SquaredL2",
    "TotalVariation",
    "Utility",
]
