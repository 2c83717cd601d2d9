"""The structured programme that every problem compiles to.

    minimise    loss(r)
    over        x ≥ 0, r, g, 0 ≤ m ≤ 1
    subject to  Σ over the choices of an owner of x = 1     every owner is a distribution
                r = R x                                     the released distribution
                g = G x                                     the rates that parity compares
                H (g, m) ≤ h                                parity; m are auxiliary, in the unit box
                B x ≤ b                                     budgets

Choices are stored contiguously by owner (ordinarily a source, and its choices are its moves). Rows of H know how
their slack grows when their bound is relaxed by one unit (``relief``), which gives edges and prices. Knows nothing of
groups, outcomes or people: those words belong to ``compile``, which also knows how to go back.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from evenhand.arrays import Cells, Numbers
from evenhand.spec.utility import Epigraph

Matrix: TypeAlias = Any
"""A SciPy sparse array in CSR form."""

# Limits of the specialised method: it reads them, and so does the estimate of the memory that a fit takes.

MOST_ENTRIES = 60_000_000
"""The most entries of all fronts and the border together: up to a gigabyte, with where they go."""

MOST_PAIRS = 100_000_000
"""The most pairs of targets, over all clusters of owners: the product of each is kept, and where it goes.

Measured with 97 million, that took 2.4 GB, and a fifth of HiGHS's time.
"""

CLUSTER_ROWS = 400
"""Holdings with the same targets are put together up to this many local rows."""

LEAF = 150
"""Parts of at most so many targets are not cut."""


class Loss(Protocol):
    """A convex function of r."""

    def value(self, r: Numbers) -> float:
        """Return the loss."""

    def infimum(self, multipliers: Numbers) -> float:
        """Return inf over r ≥ 0 of loss(r) − λ·r."""

    def clip(self, multipliers: Numbers) -> Numbers:
        """Return the nearest multipliers with a finite infimum."""


@runtime_checkable
class SmoothLoss(Loss, Protocol):
    """A loss with a gradient and a curvature in each r."""

    @property
    def start(self) -> Numbers:
        """The r at which the loss is least."""

    @property
    def ceiling(self) -> float | None:
        """The least upper bound of the derivatives, not reached; None where there is none, or none is known."""

    @property
    def decisive(self) -> NDArray[np.bool_]:
        """The cells whose r determines the loss."""

    @property
    def needed(self) -> NDArray[np.bool_]:
        """The cells that must not be empty: the loss is infinite there."""

    def gradient(self, r: Numbers) -> Numbers:
        """Return the first derivatives."""

    def curvature(self, r: Numbers) -> Numbers:
        """Return the second derivatives."""


@runtime_checkable
class PolyhedralLoss(Loss, Protocol):
    """A loss that is a linear programme in r."""

    @property
    def epigraph(self) -> Epigraph:
        """The loss as a linear programme in r."""


@runtime_checkable
class QuasiconvexLoss(Loss, Protocol):
    """A loss whose sublevel sets are polyhedra in r, and of which no more is known."""

    @property
    def start(self) -> Numbers:
        """The r at which the loss is least."""

    @property
    def highest(self) -> float | None:
        """A level that every r stays within; None where it must be looked for."""

    def sublevel(self, level: float) -> tuple[Matrix, Numbers]:
        """Return the r with a loss of at most ``level`` as ``A r ≤ b``."""


@dataclass(frozen=True, eq=False)
class Inequalities:
    """Rows ``matrix · z ≤ limit``."""

    matrix: Matrix
    limit: Numbers

    def __len__(self) -> int:
        return len(self.limit)


@dataclass(frozen=True, eq=False)
class Program:
    """The arrays of the programme above; see the module's docstring.

    Attributes
    ----------
    starts : array
        The choices of owner s are ``starts[s]`` up to ``starts[s + 1]``.
    weight : array
        The probability of each owner.
    release : matrix
        R: one row per target, one column per choice.
    rates : matrix
        G: one row per rate, one column per choice.
    n_auxiliary : int
        The length of m.
    parity, relief : Inequalities
        H and h over (g, m); and what one unit more of the bound adds to each row's slack.
    budgets : Inequalities
        B and b over x; compiled so that b is one.
    budget_unit : array
        What a whole budget row is in the user's units of distortion.
    original : array
        p on the targets.
    loss : Loss
        The objective as a function of r.
    distortion : array
        The mean distortion of each choice, for the tie-break.
    change : array
        The probability with which each choice changes something.
    """

    starts: Cells
    weight: Numbers
    release: Matrix
    rates: Matrix
    n_auxiliary: int
    parity: Inequalities
    relief: Inequalities
    budgets: Inequalities
    budget_unit: Numbers
    original: Numbers
    loss: Loss
    distortion: Numbers
    change: Numbers

    @property
    def n_moves(self) -> int:
        """The length of x."""
        return len(self.distortion)

    @property
    def n_targets(self) -> int:
        """The length of r."""
        return int(self.release.shape[0])

    @property
    def n_sources(self) -> int:
        """The number of owners."""
        return len(self.weight)

    @property
    def n_rates(self) -> int:
        """The length of g."""
        return int(self.rates.shape[0])

    @cached_property
    def source(self) -> Cells:
        """The owner of each choice."""
        return np.repeat(np.arange(self.n_sources), np.diff(self.starts))

    @cached_property
    def move_weight(self) -> Numbers:
        """The probability of each choice's owner."""
        return self.weight[self.source]

    @cached_property
    def simplex(self) -> Matrix:
        """One row per owner: the sum of its choices."""
        ones = np.ones(self.n_moves)
        return sparse.csr_array((ones, np.arange(self.n_moves), self.starts), shape=(self.n_sources, self.n_moves))

    @cached_property
    def scaled_distortion(self) -> Numbers:
        """The distortion in units of the largest, so that tolerances mean the same whatever the user's units."""
        return self.distortion / (self.distortion.max(initial=0.0) or 1.0)

    @cached_property
    def stays(self) -> Numbers:
        """The x at which every owner takes the choice that changes least."""
        order = np.lexsort((self.change, self.source))
        first = np.concatenate([[True], np.diff(self.source[order]) != 0])
        x = np.zeros(self.n_moves)
        x[order[first]] = 1.0
        return x

    @cached_property
    def soft(self) -> NDArray[np.bool_]:
        """The parity rows that depend on a bound at all."""
        return np.asarray((np.diff(self.relief.matrix.indptr) > 0) | (self.relief.limit != 0))

    def released(self, x: Numbers) -> Numbers:
        """Return r = R x."""
        return np.asarray(self.release @ x)

    def parity_slack(self, x: Numbers) -> Numbers:
        """Return h − H (g, m) at the m that suits x best."""
        z = np.concatenate([self.rates @ x, self.auxiliary(self.rates @ x)])
        return np.asarray(self.parity.limit - self.parity.matrix @ z)

    def auxiliary(self, g: Numbers) -> Numbers:
        """Return the largest m that the rows ``m ≤ g`` allow; other rows only gain from it."""
        if not self.n_auxiliary:
            return np.zeros(0)
        rows, columns, rise = self._rising
        rest = self.parity.limit - self._on_g @ g
        m = np.ones(self.n_auxiliary)
        np.minimum.at(m, columns, rest[rows] / rise)
        return np.clip(m, 0.0, 1.0)

    @cached_property
    def _on_g(self) -> Matrix:
        """The columns of H on g."""
        return self.parity.matrix[:, : self.n_rates]

    @cached_property
    def _rising(self) -> tuple[Cells, Cells, Numbers]:
        """The rows of H that hold m down, with the m and its coefficient."""
        on_m = self.parity.matrix[:, self.n_rates :].tocoo()
        rises = on_m.data > 0
        return on_m.coords[0][rises], on_m.coords[1][rises], on_m.data[rises]

    def budget_slack(self, x: Numbers) -> Numbers:
        """Return b − B x."""
        return np.asarray(self.budgets.limit - self.budgets.matrix @ x)

    def slack(self, x: Numbers) -> Numbers:
        """Return the slack of every row."""
        return np.concatenate([self.parity_slack(x), self.budget_slack(x)])

    def prices(self, on_release: Numbers, on_rates: Numbers, on_budgets: Numbers) -> Numbers:
        """Return Rᵀλ + Gᵀν + Bᵀη: what each choice costs at given prices."""
        release, rates, budgets = self._transposed
        return np.asarray(release @ on_release + rates @ on_rates + budgets @ on_budgets)

    @cached_property
    def _transposed(self) -> tuple[Matrix, Matrix, Matrix]:
        return self.release.T, self.rates.T, self.budgets.matrix.T


@dataclass(frozen=True, eq=False)
class Multipliers:
    """One number per row: on r = R x, on parity and on budgets. The last two are not negative."""

    released: Numbers
    parity: Numbers
    budgets: Numbers


@dataclass(frozen=True, eq=False)
class Solution:
    """What a solver found: the moves' probabilities, and multipliers where it has them."""

    x: Numbers
    multipliers: Multipliers
    steps: int = 0


def lower_bound(program: Program, multipliers: Multipliers) -> float:
    """Return a bound that no feasible x can go below, for any multipliers (weak duality).

    With g substituted out::

        inf over r ≥ 0 of [loss(r) − λ·r]  +  Σ over sources of min over its moves of (Rᵀλ + Gᵀν + Bᵀη)
        + Σ over m of min(0, coefficient)  −  μ·h  −  η·b,     ν = the part of Hᵀμ on g
    """
    return float(program.loss.infimum(multipliers.released) + least_price(program, multipliers))


def least_price(program: Program, multipliers: Multipliers) -> float:
    """Return the same without the loss: where that is positive and λ is zero, nothing is feasible."""
    mu = np.maximum(multipliers.parity, 0.0)
    eta = np.maximum(multipliers.budgets, 0.0)
    on_parity = program.parity.matrix.T @ mu
    price = program.prices(multipliers.released, on_parity[: program.n_rates], eta)
    cheapest = np.minimum.reduceat(price, program.starts[:-1])
    return float(
        cheapest.sum()
        + np.minimum(0.0, on_parity[program.n_rates :]).sum()
        - mu @ program.parity.limit
        - eta @ program.budgets.limit
    )
