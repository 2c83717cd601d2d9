"""Every bounded quantity, recomputed from kernel, counts and statement in plain arrays.

This is what a certificate trusts. It must never see how the answer was found: no programme, no solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.counts import Counts, Numbers, positions, sums
from evenhand.domain import Cells
from evenhand.kernel import Kernel
from evenhand.spec import Charge, PairwiseParity, Parity, Problem, TargetParity

AGAINST_TARGET = -1
"""In place of the second group where a rate is held against a target."""


@dataclass(frozen=True, eq=False)
class ParityAchieved:
    """J for every outcome and group (or ordered pair of groups) of one parity constraint."""

    parity: Parity
    outcome: Cells
    group: Cells
    against: Cells
    value: Numbers

    @property
    def violation(self) -> float:
        """The largest J − ε."""
        return float(np.max(self.value - self.parity.bound, initial=-np.inf))


@dataclass(frozen=True, eq=False)
class BudgetAchieved:
    """The expected charge of every individual cell (or (x, y) cell) of one budget."""

    charge: Charge
    per: str
    value: Numbers

    @property
    def violation(self) -> float:
        """The largest E − c."""
        return float(np.max(self.value - self.charge.limit, initial=-np.inf))


@dataclass(frozen=True, eq=False)
class Achieved:
    """What a kernel does to a table.

    Attributes
    ----------
    objective : float
        Δ(p, r).
    cells, original, released : arrays
        The cells of X × Y that p or r touches, with p and r on them.
    rates_before, rates_after : arrays
        p(y|d) and p(ŷ|d): a row a group, a column an outcome.
    parity, budgets : tuples
        Each constraint with what was achieved.
    distortion, changed : arrays
        For each source, its expected distortion and its probability of any change.
    forbidden : float
        The largest probability of a move of infinite distortion or to a target that is not permitted.
    row_error : float
        The largest distance of a row's sum from one.
    """

    objective: float
    cells: Cells
    original: Numbers
    released: Numbers
    rates_before: Numbers
    rates_after: Numbers
    parity: tuple[ParityAchieved, ...]
    budgets: tuple[BudgetAchieved, ...]
    distortion: Numbers
    changed: Numbers
    forbidden: float
    row_error: float

    @property
    def max_violation(self) -> float:
        """The largest amount by which any bound is exceeded, in its own units; zero where none is."""
        parts: tuple[ParityAchieved | BudgetAchieved, ...] = (*self.parity, *self.budgets)
        return float(np.max([0.0, self.forbidden, *(part.violation for part in parts)]))


def achieved(problem: Problem, counts: Counts, kernel: Kernel) -> Achieved:
    """Recompute everything that a problem bounds."""
    rows = kernel.rows
    joint = counts.probability[rows] * kernel.probability
    cells, original, released = _distributions(counts, kernel, joint)
    to_x, to_y = counts.domain.split_xy(kernel.targets)
    x, y = counts.x[rows], counts.y[rows]
    cost = problem.distortion.between(counts.domain, x, y, to_x, to_y)
    after = _rates_after(counts, rows, to_y, kernel.probability)
    moved = (to_x != x) | (to_y != y)
    possible = np.isfinite(cost) & _permitted(problem, counts, to_x)
    cost = np.where(possible, cost, 0.0)
    return Achieved(
        objective=problem.utility.value(original, released),
        cells=cells,
        original=original,
        released=released,
        rates_before=counts.outcome_by_group,
        rates_after=after,
        parity=tuple(parity_achieved(parity, counts, after) for parity in problem.parity),
        budgets=tuple(
            _budget(charge, budget.per, counts, kernel, cost) for budget in problem.budgets for charge in budget.charges
        ),
        distortion=_by_row(kernel, cost * kernel.probability),
        changed=_by_row(kernel, moved * kernel.probability),
        forbidden=float(np.max(kernel.probability[~possible], initial=0.0)),
        row_error=float(np.max(np.abs(_by_row(kernel, kernel.probability) - 1))),
    )


def _permitted(problem: Problem, counts: Counts, to_x: Cells) -> NDArray[np.bool_]:
    if problem.targets == "all":
        return np.ones(len(to_x), dtype=bool)
    return positions(counts.features.cells, to_x)[0]


def _distributions(counts: Counts, kernel: Kernel, joint: Numbers) -> tuple[Cells, Numbers, Numbers]:
    cells = np.union1d(counts.records.cells, kernel.targets)
    released = sums(np.searchsorted(cells, kernel.targets), joint, len(cells))
    return cells, counts.records.at(cells), released


def _rates_after(counts: Counts, rows: Cells, to_y: Cells, probability: Numbers) -> Numbers:
    size = counts.domain.y.size
    groups = counts.groups
    flat = sums(groups.of_source[rows] * size + to_y, counts.given_group[rows] * probability, len(groups.cells) * size)
    return flat.reshape(-1, size)


def parity_achieved(parity: Parity, counts: Counts, rates: Numbers) -> ParityAchieved:
    """Return J wherever one parity constraint bounds it, for given rates by group."""
    n_groups, n_outcomes = rates.shape
    if isinstance(parity, TargetParity):
        group, outcome = (a.ravel() for a in np.indices(rates.shape))
        target = parity.distribution(counts)[outcome]
        value = parity.distance.value(rates[group, outcome], target)
        return ParityAchieved(parity, outcome, group, np.full(len(group), AGAINST_TARGET), value)
    if isinstance(parity, PairwiseParity):
        grid = np.indices((n_groups, n_groups, n_outcomes))
        group, other, outcome = (a[grid[0] != grid[1]] for a in grid)
        value = parity.distance.value(rates[group, outcome], rates[other, outcome])
        return ParityAchieved(parity, outcome, group, other, value)
    raise TypeError(f"unknown parity {parity!r}")


def _budget(charge: Charge, per: str, counts: Counts, kernel: Kernel, cost: Numbers) -> BudgetAchieved:
    value = _by_row(kernel, charge.of(cost) * kernel.probability)
    if per == "xy":
        records = counts.records
        value = sums(records.of_source, value * counts.group_given_record)
    return BudgetAchieved(charge, per, value)


def _by_row(kernel: Kernel, values: Numbers) -> Numbers:
    return sums(kernel.rows, values, len(kernel))
