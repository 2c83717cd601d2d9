"""What every utility measure promises: a value, and a lower bound from any multipliers.

Knows no measure and no solver.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Numbers
from evenhand.spec.part import Part


@dataclass(frozen=True, eq=False)
class Epigraph:
    """Δ(r) as the least ``cost · v`` over v ≥ 0 with ``on_r · r + on_v · v = right``."""

    cost: Numbers
    on_r: Any
    on_v: Any
    right: Numbers


class Utility(Part):
    """A measure Δ of the difference between two distributions.

    Attributes
    ----------
    new_cells : bool
        Whether mass may go to cells that are empty originally (p = 0). Where it may not, Δ is infinite at such a
        move, so the moves are left out from the start.
    certifiable : bool
        Whether :meth:`infimum` bounds anything; where it does not, only feasibility can be certified.
    nonnegative : bool
        Whether Δ is known not to go below zero, which is then a lower bound in itself.
    name : str
        What a user calls a measure of their own.
    """

    name: str
    key = "measure"
    new_cells: bool = True
    certifiable: bool = True
    nonnegative: bool = True

    @abstractmethod
    def value(self, p: Numbers, r: Numbers) -> float:
        """Return Δ(p, r)."""

    @abstractmethod
    def infimum(self, p: Numbers, multipliers: Numbers) -> float:
        """Return inf over r ≥ 0 of Δ(p, r) − λ·r, or a lower bound of it over 0 ≤ r ≤ 1; −∞ where there is none."""

    @abstractmethod
    def clip(self, p: Numbers, multipliers: Numbers) -> Numbers:
        """Return the nearest multipliers at which :meth:`infimum` is finite."""

    @property
    def words(self) -> str:
        """What to call it in a sentence; one without words of its own is a user's, and may have a name."""
        return f"a user's own measure ({getattr(self, 'name', type(self).__name__)})"

    def check(self, p: Numbers) -> None:
        """Refuse a measure that is not what it claims to be; those of evenhand itself need no check.

        Raises
        ------
        SpecError
            If the measure is not convex, or contradicts itself.
        """


class Smooth(Utility):
    """A measure with a gradient and a curvature, strictly convex on the cells that :meth:`decides` names.

    Attributes
    ----------
    ceiling : float or None
        The least upper bound of the derivatives as r grows, not reached at any; None where there is none, or none is
        known.
    """

    ceiling: ClassVar[float | None] = None

    @abstractmethod
    def gradient(self, p: Numbers, r: Numbers) -> Numbers:
        """Return the derivative in each r > 0."""

    @abstractmethod
    def curvature(self, p: Numbers, r: Numbers) -> Numbers:
        """Return the second derivative in each r > 0."""

    @abstractmethod
    def decides(self, p: Numbers) -> NDArray[np.bool_]:
        """Return the cells where Δ is strictly convex in r, so that an optimum has only one r there."""


class Polyhedral(Utility):
    """A measure whose epigraph is a polyhedron, so that its problem is a linear programme."""

    @abstractmethod
    def epigraph(self, p: Numbers) -> Epigraph:
        """Return the measure as a linear programme in r."""
