"""Every bounded quantity, recomputed from kernel, counts and statement in plain arrays.

This is what a certificate trusts. It must never see how the answer was found: no programme, no solver.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.counts import Counts
from evenhand.kernel import Kernel
from evenhand.spec import (
    Charge,
    Comparisons,
    Parity,
    Problem,
    all_comparisons,
    becomes_forbidden,
)


@dataclass(frozen=True, eq=False)
class ParityAchieved:
    """For every entry of one parity constraint the rate, what it is held against, and J between them."""

    compared: Comparisons
    rate: Numbers
    other: Numbers
    value: Numbers
    excess: Numbers

    @property
    def parity(self) -> Parity:
        """The constraint."""
        return self.compared.parity

    @property
    def violation(self) -> float:
        """The largest J − ε."""
        return float(np.max(self.excess, initial=-np.inf))

    @property
    def worst(self) -> int:
        """The entry that is furthest beyond its bound, or nearest to it."""
        return int(np.argmax(self.excess))


@dataclass(frozen=True, eq=False)
class BudgetAchieved:
    """The expected charge of every individual cell (or (x, y) cell) of one budget, and its limit."""

    charge: Charge
    value: Numbers
    limit: Numbers

    @property
    def violation(self) -> float:
        """The largest E − c."""
        return float(np.max(self.value - self.limit, initial=-np.inf))


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
        p(y|d) and p(ŷ|d): one row per group, one column per outcome.
    parity, budgets : tuples
        Each constraint with what was achieved.
    distortion, changed, features_changed : arrays
        For each source, its expected distortion, its probability of any change, and of a change of features.
    forbidden : float
        The largest probability of a move of infinite distortion, to a target that is not permitted, or that makes a
        forbidden record.
    outcome_leak : float or None
        Where D is suppressed: the largest distance of P(x̂, ŷ | d, x, y) from p(ŷ|x̂) P(x̂ | d, x, y).
    group_leak : float or None
        Where the mapping is blind: the largest difference that the group makes to a probability.
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
    features_changed: Numbers
    forbidden: float
    outcome_leak: float | None
    group_leak: float | None
    row_error: float

    @property
    def max_violation(self) -> float:
        """The largest amount by which any bound is exceeded, in its own units; zero where none is."""
        parts: tuple[ParityAchieved | BudgetAchieved, ...] = (*self.parity, *self.budgets)
        leaks = (leak for leak in (self.outcome_leak, self.group_leak) if leak is not None)
        return float(np.max([0.0, self.forbidden, *leaks, *(part.violation for part in parts)]))


def achieved(problem: Problem, counts: Counts, kernel: Kernel) -> Achieved:
    """Recompute everything that a problem bounds."""
    rows = kernel.rows
    cells, original, released = _distributions(problem, counts, kernel)
    to_x, to_y = counts.domain.split_xy(kernel.targets)
    x, y = counts.x[rows], counts.y[rows]
    cost = problem.distortion.between(counts.domain, x, y, to_x, to_y)
    moved = (to_x != x) | (to_y != y)
    possible = np.isfinite(cost)
    if problem.observed_only:
        possible &= positions(counts.features.cells, to_x)[0]
    possible &= ~becomes_forbidden(problem, counts.domain, counts.d[rows], x, y, to_x, to_y)
    cost = np.where(possible, cost, 0.0)
    return Achieved(
        objective=problem.utility.value(original, released),
        cells=cells,
        original=original,
        released=released,
        rates_before=counts.outcome_by_group,
        rates_after=group_rates(counts, kernel),
        parity=distances(problem, counts, kernel),
        budgets=tuple(_budget(charge, counts, kernel, cost) for charge in problem.charges),
        distortion=_by_row(kernel, cost * kernel.probability),
        changed=_by_row(kernel, moved * kernel.probability),
        features_changed=_by_row(kernel, (to_x != x) * kernel.probability),
        forbidden=float(np.max(kernel.probability[~possible], initial=0.0)),
        outcome_leak=_outcome_leak(problem, counts, kernel),
        group_leak=_leak(counts, kernel, problem.reads),
        row_error=float(np.max(np.abs(_by_row(kernel, kernel.probability) - 1))),
    )


def distances(problem: Problem, counts: Counts, kernel: Kernel) -> tuple[ParityAchieved, ...]:
    """Return what each parity constraint measures of a kernel."""
    return tuple(parity_achieved(part, counts, kernel) for part in all_comparisons(problem, counts))


def _distributions(problem: Problem, counts: Counts, kernel: Kernel) -> tuple[Cells, Numbers, Numbers]:
    """Return the cells that the utility compares, with p and r on them."""
    joint = counts.probability[kernel.rows] * kernel.probability
    axes = problem.suppression.utility_axes
    marginal = counts.over(axes)
    targets = counts.domain.number(axes, counts.domain.split("xy", kernel.targets))
    cells = np.union1d(marginal.cells, targets)
    released = sums(np.searchsorted(cells, targets), joint, len(cells))
    return cells, marginal.at(cells), released


def outcome_by_source(counts: Counts, kernel: Kernel) -> Numbers:
    """Return P(ŷ | d, x, y): one row per source, one column per outcome."""
    size = counts.domain.y.size
    _, to_y = counts.domain.split_xy(kernel.targets)
    return sums(kernel.rows * size + to_y, kernel.probability, len(kernel) * size).reshape(-1, size)


def group_rates(counts: Counts, kernel: Kernel) -> Numbers:
    """Return p(ŷ|d): one row per group, one column per outcome."""
    groups = counts.groups
    weighted = counts.given("d")[:, None] * outcome_by_source(counts, kernel)
    return np.column_stack([sums(groups.of_source, column, len(groups.cells)) for column in weighted.T])


def parity_achieved(compared: Comparisons, counts: Counts, kernel: Kernel) -> ParityAchieved:
    """Return J for every entry of one parity constraint."""
    if compared.within_released:
        rate, other = _rates_in_released_segments(compared, counts, kernel), compared.target
    elif compared.events.free:
        rate, other = _rates_where_apart(compared, counts, kernel)
    else:
        return parity_of_rates(compared, outcome_by_source(counts, kernel))
    excess = compared.parity.distance.excess(rate, other, compared.bound)
    return ParityAchieved(compared, rate, other, np.asarray(compared.bound + excess), excess)


def parity_of_rates(compared: Comparisons, of_source: Numbers) -> ParityAchieved:
    """Return what a constraint on outcomes measures where every source has given rates of them."""
    rate, other = rates_compared(compared, of_source)
    excess = compared.parity.distance.excess(rate, other, compared.bound)
    return ParityAchieved(compared, rate, other, np.asarray(compared.bound + excess), excess)


def rates_compared(compared: Comparisons, of_source: Numbers) -> tuple[Numbers, Numbers]:
    """Return the rate that each comparison holds and the one that it is held against, from expected outcomes."""
    rates = compared.rates(of_source)
    own = rates[compared.population, compared.event]
    return own, compared.target if compared.against_target else rates[compared.against, compared.event]


def _rates_where_apart(compared: Comparisons, counts: Counts, kernel: Kernel) -> tuple[Numbers, Numbers]:
    """Return the shares of two populations in the values that the first has more of: their difference is largest."""
    values, place = compared.events.told_apart(counts.domain, *counts.domain.split_xy(kernel.targets))
    of_source = sparse.csr_array((kernel.probability, (kernel.rows, place)), shape=(len(kernel), len(values)))
    shares = (compared.weights @ of_source).toarray()
    own, other = shares[compared.population], shares[compared.against]
    more = own > other
    return (own * more).sum(axis=1), (other * more).sum(axis=1)


def _rates_in_released_segments(compared: Comparisons, counts: Counts, kernel: Kernel) -> Numbers:
    """Return p(ŷ | b̂, d) for every entry; its target where nobody of the group is released into the segment."""
    assert compared.segments is not None
    domain = counts.domain
    to_x, _ = domain.split_xy(kernel.targets)
    segment = domain.x.cells_of(compared.segments, to_x)
    rate = np.empty(len(compared))
    for place in np.unique(compared.segment):
        inside = Kernel(kernel.starts, kernel.targets, np.where(segment == place, kernel.probability, 0.0))
        joint = compared.weights @ outcome_by_source(counts, inside)
        here = np.flatnonzero(compared.segment == place)
        of, total = compared.population[here], joint.sum(axis=1)[compared.population[here]]
        share = (joint @ compared.events.members.T)[of, compared.event[here]] / np.where(total > 0, total, 1.0)
        rate[here] = np.where(total > 0, share, compared.target[here])
    return rate


def segment_shares(compared: Comparisons, counts: Counts, kernel: Kernel) -> Numbers:
    """Return the share of each entry's population that is released into its segment; one where it has none."""
    share = np.ones(len(compared))
    if compared.segments is None or not compared.within_released:
        return share
    to_x, _ = counts.domain.split_xy(kernel.targets)
    segment = counts.domain.x.cells_of(compared.segments, to_x)
    for place in np.unique(compared.segment):
        of_source = sums(kernel.rows, kernel.probability * (segment == place), len(kernel))
        here = compared.segment == place
        share[here] = (compared.weights @ of_source)[compared.population[here]]
    return share


def _budget(charge: Charge, counts: Counts, kernel: Kernel, cost: Numbers) -> BudgetAchieved:
    value = _by_row(kernel, charge.of(cost) * kernel.probability)
    if charge.averaged:
        value = sums(counts.records.of_source, value * counts.given("xy"))
    return BudgetAchieved(charge, value, charge.limits(counts))


def released_conditional(counts: Counts, kernel: Kernel) -> tuple[Cells, Numbers]:
    """Return the released x̂ and p(ŷ|x̂), one row per x̂."""
    to_x, to_y = counts.domain.split_xy(kernel.targets)
    cells, place = np.unique(to_x, return_inverse=True)
    size = counts.domain.y.size
    joint = counts.probability[kernel.rows] * kernel.probability
    released = sums(place * size + to_y, joint, len(cells) * size).reshape(-1, size)
    return cells, np.asarray(released / released.sum(axis=1, keepdims=True))


def _outcome_leak(problem: Problem, counts: Counts, kernel: Kernel) -> float | None:
    """Return how far the kernel is from drawing ŷ given x̂ alone; None where it need not."""
    if not problem.suppression.redraws:
        return None
    released = released_conditional(counts, kernel)
    conditional = problem.suppression.conditional(counts, released)
    assert conditional is not None
    cells = counts.features.cells
    if not np.all(positions(cells, released[0])[0]):
        return 1.0
    to_x, to_y = counts.domain.split_xy(kernel.targets)
    size, width = counts.domain.y.size, counts.domain.x.size
    keys, inverse = np.unique(kernel.rows * width + to_x, return_inverse=True)
    joint = sums(inverse * size + to_y, kernel.probability, len(keys) * size).reshape(-1, size)
    expected = joint.sum(axis=1, keepdims=True) * conditional[np.searchsorted(cells, keys % width)]
    return float(np.max(np.abs(joint - expected)))


def _leak(counts: Counts, kernel: Kernel, reads: str) -> float | None:
    """Return the most by which P(x̂, ŷ | d, x, y) differs between sources that differ in what is not read alone.

    None where everything is read.
    """
    if reads == "dxy":
        return None
    of_source = counts.over(reads).of_source
    record = of_source[kernel.rows]
    width = counts.domain.x.size * counts.domain.y.size
    _, move = np.unique(record * width + kernel.targets, return_inverse=True)
    low, high = np.full(move.max() + 1, np.inf), np.zeros(move.max() + 1)
    np.minimum.at(low, move, kernel.probability)
    np.maximum.at(high, move, kernel.probability)
    # A move that somebody who shares what is read never makes has probability zero there.
    of_record = np.zeros(len(low), dtype=np.int64)
    of_record[move] = record
    everybody = np.bincount(of_source)[of_record] == np.bincount(move)
    return float(np.max(high - np.where(everybody, low, 0.0), initial=0.0))


def _by_row(kernel: Kernel, values: Numbers) -> Numbers:
    return sums(kernel.rows, values, len(kernel))
