"""The paper's constraints, computed from any mapping in plain NumPy: what each alternative keeps, and by how much not.

Every method's answer is brought to the same form, probabilities of moves (d, x, y) → (x̂, ŷ), and judged by the same
lines. Nothing here sees a solver, nor evenhand's own certificate; only the statement and the counts are shared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import evenhand as eh

NOTHING = 1e-12
"""Probabilities below this are no moves."""


@dataclass(frozen=True, eq=False)
class Moves:
    """A mapping: the number of the source among the counts, the target's cells, and P(x̂, ŷ | d, x, y)."""

    source: np.ndarray
    to_x: np.ndarray
    to_y: np.ndarray
    probability: np.ndarray

    @classmethod
    def of_kernel(cls, counts, kernel):
        """Take evenhand's own sparse array."""
        to_x, to_y = counts.domain.split_xy(kernel.targets)
        return cls(kernel.rows, to_x, to_y, kernel.probability)

    @classmethod
    def of_dense(cls, matrix, to_x, to_y):
        """Take a matrix of sources by targets."""
        source, target = np.nonzero(np.abs(matrix) > NOTHING)
        return cls(source, to_x[target], to_y[target], matrix[source, target])


def judged(problem, counts, moves):
    """Return the loss of a mapping and by how much it exceeds each of the paper's bounds at most.

    ``parity`` is J − ε (eqs. 1 to 3), ``individual`` is the largest E[δ|d,x,y] − c or Pr[δ>t|d,x,y] − c (eqs. 5, 6),
    ``averaged`` the same given (x, y) alone, ``forbidden`` the largest probability with which anybody makes a move that
    has δ = ∞, ``rows`` by how much probabilities miss the simplex. None of them is cut off at zero.
    """
    cost = problem.distortion.between(
        counts.domain, counts.x[moves.source], counts.y[moves.source], moves.to_x, moves.to_y
    )
    allowed = np.isfinite(cost)

    def by_source(values):
        return np.bincount(moves.source, weights=values * moves.probability, minlength=len(counts))

    individual, averaged = _distortion(problem, counts, np.where(allowed, cost, 0.0), by_source)
    return {
        "objective": _loss(problem, counts, moves),
        "parity": max(_parity(p, _rates(counts, moves), counts.outcome) for p in problem.parity),
        "individual": individual,
        "averaged": averaged,
        "forbidden": float(by_source(~allowed * 1.0).max()),
        "rows": float(max(np.abs(by_source(np.ones(len(cost))) - 1).max(), -moves.probability.min())),
    }


def exceeded(problem, found):
    """Return the most by which any bound that the problem states is exceeded."""
    each = "averaged" if all(budget.per == "xy" for budget in problem.budgets) else "individual"
    return max(0.0, found["parity"], found[each], found["forbidden"], found["rows"])


def _loss(problem, counts, moves):
    """Return Δ(p, r); what is moved to cells with p = 0 is only lost for KL."""
    size = counts.domain.y.size
    to = moves.to_x * size + moves.to_y
    cells, place = np.unique(np.concatenate([counts.x * size + counts.y, to]), return_inverse=True)
    mass = counts.probability[moves.source] * moves.probability
    p = np.bincount(place[: len(counts)], weights=counts.probability, minlength=len(cells))
    r = np.bincount(place[len(counts) :], weights=mass, minlength=len(cells))
    if isinstance(problem.utility, eh.L1):
        return float(np.abs(r - p).sum())
    held = p > 0
    return float((p[held] * np.log(p[held] / np.maximum(r[held], NOTHING))).sum())


def _rates(counts, moves):
    """Return p(ŷ|d), one row per group."""
    group = np.searchsorted(counts.groups.cells, counts.d)
    share = counts.probability / np.bincount(group, weights=counts.probability)[group]
    at = group[moves.source] * counts.domain.y.size + moves.to_y
    size = len(counts.groups.cells) * counts.domain.y.size
    rates = np.bincount(at, weights=share[moves.source] * moves.probability, minlength=size)
    return rates.reshape(-1, counts.domain.y.size)


def _parity(parity, rates, outcome):
    """Return the largest |p/q − 1| − ε over groups and the target, or over ordered pairs of groups."""
    if isinstance(parity, eh.TargetParity):
        return float(np.abs(rates / outcome - 1).max() - parity.bound)
    return float((rates.max(axis=0) / rates.min(axis=0) - 1).max() - parity.bound)


def _distortion(problem, counts, cost, by_source):
    """Return the largest excess over any budget, for an individual (d, x, y) and averaged over d given (x, y)."""
    record, share = counts.records.of_source, counts.given("xy")
    individual, averaged = [], []
    for budget in problem.budgets:
        if isinstance(budget, eh.ExpectedDistortion):
            charges = [(cost, budget.limit)]
        else:
            charges = [((cost > threshold) * 1.0, limit) for threshold, limit in budget.thresholds.items()]
        for charge, limit in charges:
            each = by_source(charge)
            individual.append(each.max() - limit)
            averaged.append(np.bincount(record, weights=share * each).max() - limit)
    return float(max(individual)), float(max(averaged))
