"""Section 3.5 as numbers: how far parity and loss may be off in the population that a fitted table was drawn from.

A table of n independent people over m = |D||X||Y| cells is, with probability 1 − β, within a radius τ of its
population: KL(p‖q) ≤ τ. What is released in the population is then close to what is released from the table:

    radius   τ = (1/n) log((1/β) (e(n + m)/m)^m)
    ratio    q(ŷ|d)/p_T(ŷ) in [(1 − ε) e^−h, (1 + ε) e^h],  h = sqrt(3τ/c_m),  c_m = min p(d, ŷ),
             if τ ≤ min p(d, ŷ)(1 − p(ŷ|d)) / (3(1 + p(ŷ|d))²)
    loss     Σ|q_XY − q_X̂Ŷ| ≤ μ + 2 sqrt(2τ)

These are the paper's constants but for the loss (the exact number of types, C(n + m − 1, m − 1), would make τ little
smaller). Pinsker's inequality is Σ|p − q| ≤ sqrt(2 KL) in nats. The paper
writes 2 sqrt(2 KL), so its 4 sqrt(2τ) is twice too large. Both bounds on the loss are given.

Where else the paper's text differs from its mathematics (nothing below depends on it):

- The lemma bounds an alternating series by its first two terms. Alternation alone does not allow that, and the series
  converges only while ατ/c < −log c. The bound holds all the same: with u = ατ/c the divergence has the second
  derivative (1 − c) Σ k c^k e^−ku, so its fourth is positive for u ≥ 0, and Taylor's remainder has the right sign.
- The condition on τ is needed for the lower side alone; the upper side holds for every τ (with 2 in place of 3).
- The lemma ends "p(x) ≥ γ₂ r(x)" where ≤ is meant, and h drops the factor 1 − p(ŷ|d).
- The proposition assumes p(y, d) > 0; its proof needs p(ŷ, d) > 0, of the released outcome.
- Only parity against a *fixed* target is covered; a target that is the table's own p(y) stays the table's. Between two
  groups both rates err. The errors share one τ, because Σ_d p(d) KL_d ≤ τ, so by Cauchy and Schwarz h grows by sqrt(2).
- Cells that the table has not seen have a row of their own in the argument: here, that they are kept as they are.
- People must be independent draws and the domain fixed before looking at them: levels chosen from the table, or
  weights, are outside the proposition.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import LARGEST_DOMAIN, Role
from evenhand.errors import DataError
from evenhand.findings.naming import group_levels, long_name
from evenhand.findings.theory.rates import MOST_PEOPLE, number_of_people, people_notes, share
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section, Where

LARGEST_L1 = 2.0
"""The largest ℓ1 distance between two distributions: a bound of this much says nothing."""


@dataclass(frozen=True, eq=False, repr=False)
class Robustness(Finding):
    """What the proposition of section 3.5 proves about a table's population.

    Attributes
    ----------
    people, cells : int
        n and m.
    smallest : float
        c_m, the smallest p(d, ŷ).
    smallest_pair : str
        The group and outcome that have it.
    radius : float
        τ.
    required : float
        The largest τ at which anything is proved about ratios.
    ratio_low, ratio_high : float or None
        The interval of the ratio of rates in the population; None where nothing is proved.
    ratio_bound : float or None
        The bound on |ratio − 1| in the population.
    loss_bound : float
        The bound μ + 2 sqrt(2τ) on the ℓ1 distance between original and released records in the population.
    loss_bound_as_printed : float
        The same with the paper's 4 sqrt(2τ).
    people_for_ratio, people_for_loss : int or None
        The fewest people, with the same domain and rates, for which the bound widens by no more than its margin; None
        where no number is enough.
    cells_for_ratio, cells_for_loss : int or None
        The largest domain, with the same people and rates, for which it does; None where even a domain without
        features would be too large.
    sections : tuple of Section
        What follows.
    """

    people: int
    cells: int
    smallest: float
    smallest_pair: str
    radius: float
    required: float
    ratio_low: float | None
    ratio_high: float | None
    ratio_bound: float | None
    loss_bound: float
    loss_bound_as_printed: float
    people_for_ratio: int | None
    cells_for_ratio: int | None
    people_for_loss: int | None
    cells_for_loss: int | None
    sections: tuple[Section, ...]

    @property
    def ratio_vacuous(self) -> bool:
        """Whether nothing is proved about ratios."""
        return self.ratio_bound is None

    @property
    def loss_vacuous(self) -> bool:
        """Whether the bound on the loss is 2 or more, which every two distributions satisfy."""
        return self.loss_bound >= LARGEST_L1


@dataclass(frozen=True, eq=False)
class _Setting:
    """What stays the same while n and m vary."""

    rates: Numbers
    groups: Numbers
    bound: float
    pairwise: bool
    loss: float
    confidence: float
    margin: float
    loss_margin: float

    @property
    def joint(self) -> Numbers:
        """p(d, ŷ)."""
        return np.asarray(self.rates * self.groups[:, None])

    @property
    def smallest(self) -> float:
        """c_m."""
        return float(self.joint.min())

    @property
    def required(self) -> float:
        """The largest τ for which the lemma's lower side is proved, in every group and for every outcome."""
        return float(np.min(self.joint * (1 - self.rates) / (3 * (1 + self.rates) ** 2)))

    def radius(self, people: int, cells: int) -> float:
        """τ."""
        return radius(people, cells, confidence=self.confidence)

    def ratios(self, tau: float) -> tuple[float, float] | None:
        """Return the interval of ratios in the population; None where nothing is proved."""
        if tau > self.required:
            return None
        h = math.sqrt(3 * tau / self.smallest) * (math.sqrt(2) if self.pairwise else 1.0)
        # Pairwise bounds hold in both orders, so the smallest ratio is 1/(1 + ε), which is at least 1 − ε.
        least = 1 / (1 + self.bound) if self.pairwise else max(0.0, 1 - self.bound)
        return least * math.exp(-h), (1 + self.bound) * math.exp(h)

    def ratio_within(self, tau: float) -> bool:
        """Whether the bound on ratios widens by no more than its margin."""
        ratios = self.ratios(tau)
        return ratios is not None and _off_one(ratios) - self.bound <= self.margin

    def loss_within(self, tau: float) -> bool:
        """Whether the bound on the loss does, and says something."""
        more = _loss_widening(tau)
        return more <= self.loss_margin and self.loss + more < LARGEST_L1


def radius(people: int, cells: int, *, confidence: float = 0.95) -> float:
    """Return τ: with the given confidence a table of n people over m cells has KL(p‖q) ≤ τ.

    Parameters
    ----------
    people, cells : int
        n and m.
    confidence : float
        1 − β.

    Examples
    --------
    >>> round(radius(5278, 144), 4)
    0.1268
    """
    surprise = -math.log1p(-share("confidence", confidence))
    return (surprise + cells * (1 + math.log1p(people / cells))) / people


def robustness(
    counts: Counts,
    rates: Numbers,
    loss: float,
    *,
    bound: float,
    pairwise: bool,
    confidence: float = 0.95,
    margin: float = 0.05,
    loss_margin: float = 0.1,
    people: int | None = None,
) -> Robustness:
    """State what the fitted table proves about its population, and what it would take to prove more.

    Parameters
    ----------
    counts : Counts
        The table.
    rates : array
        p(ŷ|d) after: one row per group of the table, one column per outcome.
    loss : float
        μ, the ℓ1 distance Σ|p − r| between original and released records (see ``l1_distance``), whatever utility was
        minimised.
    bound : float
        The bound ε that the rates satisfy, a ratio.
    pairwise : bool
        Whether ε holds between every two groups, or of each group against a fixed target, as in the paper.
    confidence : float
        1 − β.
    margin : float
        By how much ε may widen in the population.
    loss_margin : float
        By how much μ may.
    people : int, optional
        n, where it is not the number of rows counted.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> from evenhand.findings.theory import l1_distance
    >>> loss = l1_distance(data.counts, mapping.kernel)
    >>> found = robustness(data.counts, mapping.achieved.rates_after, loss, bound=0.1, pairwise=True)
    >>> round(found.radius, 3), round(found.required, 4), found.ratio_vacuous
    (0.127, 0.0027, True)
    >>> found.smallest_pair
    'is_recid=1 in the group sex=Female, race=Caucasian'
    """
    rates = np.asarray(rates, dtype=float)
    groups = counts.groups.probability
    if rates.shape != (len(groups), counts.domain.y.size):
        raise DataError(
            f"rates of shape {rates.shape} do not fit {len(groups)} groups and {counts.domain.y.size} outcomes"
        )
    setting = _Setting(
        np.clip(rates, 0.0, 1.0),
        groups,
        check.finite("bound", bound, low=0),
        pairwise,
        check.finite("loss", float(loss), low=0),
        share("confidence", confidence),
        check.finite("margin", margin, low=0),
        check.finite("loss_margin", loss_margin, low=0),
    )
    n, domain = number_of_people(counts, people), counts.domain
    features = math.prod(len(v) for v in domain.x.variables if v.role is Role.FEATURE)
    cells = domain.d.size * domain.x.size * domain.y.size
    fewest = cells // features
    tau = setting.radius(n, cells)
    ratios = setting.ratios(tau)
    group, outcome = np.unravel_index(int(setting.joint.argmin()), setting.joint.shape)
    levels = group_levels(counts)[group]
    found = Robustness(
        people=n,
        cells=cells,
        smallest=setting.smallest,
        smallest_pair=f"{domain.y.words(int(outcome))} in the group {long_name(levels)}",
        radius=tau,
        required=setting.required,
        ratio_low=None if ratios is None else ratios[0],
        ratio_high=None if ratios is None else ratios[1],
        ratio_bound=None if ratios is None else _off_one(ratios),
        loss_bound=setting.loss + _loss_widening(tau),
        loss_bound_as_printed=setting.loss + 2 * _loss_widening(tau),
        people_for_ratio=smallest(lambda size: setting.ratio_within(setting.radius(size, cells))),
        cells_for_ratio=largest(lambda size: setting.ratio_within(setting.radius(n, size)), fewest),
        people_for_loss=smallest(lambda size: setting.loss_within(setting.radius(size, cells))),
        cells_for_loss=largest(lambda size: setting.loss_within(setting.radius(n, size)), fewest),
        sections=(),
    )
    notes = (*_notes(setting, found, levels, fewest), *people_notes(counts, n))
    return replace(found, sections=(Section("robustness", notes=notes),))


def _off_one(ratios: tuple[float, float]) -> float:
    """Return the largest |ratio − 1| within an interval."""
    return max(ratios[1] - 1, 1 - ratios[0])


def _loss_widening(tau: float) -> float:
    """By the triangle inequality μ grows by twice Pinsker's bound, sqrt(2τ)."""
    return 2 * math.sqrt(2 * tau)


def smallest(enough: Callable[[int], bool], low: int = 1, most: int = MOST_PEOPLE) -> int | None:
    """Return the smallest whole number that is enough, if more is always enough too; None up to ``most``.

    Examples
    --------
    >>> smallest(lambda n: n * n >= 1000)
    32
    """
    if enough(low):
        return low
    high = 2 * low
    while not enough(high):
        low, high = high, 2 * high
        if high > most:
            return None
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def largest(enough: Callable[[int], bool], low: int) -> int | None:
    """Return the largest whole number that still is enough, if less always is; None where ``low`` is not.

    Examples
    --------
    >>> largest(lambda n: n * n <= 1000, 1), largest(lambda n: n < 1, 1)
    (31, None)
    """
    if not enough(low):
        return None
    first = smallest(lambda size: not enough(size), low, LARGEST_DOMAIN)
    return LARGEST_DOMAIN if first is None else first - 1


def _notes(setting: _Setting, found: Robustness, group: Where, fewest: int) -> list[Note]:
    fields = {
        "people": found.people, "cells": found.cells, "radius": found.radius, "confidence": setting.confidence,
        "required": found.required, "low": found.ratio_low, "high": found.ratio_high, "ratio": found.ratio_bound,
        "bound": setting.bound, "loss": setting.loss, "loss_bound": found.loss_bound,
        "printed": found.loss_bound_as_printed, "pair": found.smallest_pair, "smallest": found.smallest,
    }  # fmt: skip
    if found.ratio_bound is not None:
        ratio = "robustness.pairs" if setting.pairwise else "robustness.target"
    else:
        ratio = "robustness.rate_of_zero" if setting.smallest <= 0 else "robustness.nothing"
    to_widen = {"margin": setting.margin, "needed": _needed(found.people_for_ratio, found.cells_for_ratio, fewest)}
    loss = {"margin": setting.loss_margin, "needed": _needed(found.people_for_loss, found.cells_for_loss, fewest)}
    return [
        Note("robustness.radius", fields),
        Note(ratio, fields),
        Note("robustness.loss_vacuous" if found.loss_vacuous else "robustness.loss", fields),
        Note("robustness.widen_ratio", to_widen),
        Note("robustness.widen_loss", loss),
        Note("robustness.least_likely", fields, (group,)),
        *([Note("robustness.pairwise")] if setting.pairwise else []),
        Note("robustness.holdout"),
    ]


def _needed(people: int | None, cells: int | None, fewest: int) -> Note:
    more = Note("robustness.never") if people is None else Note("robustness.takes", {"people": people})
    if cells is None:
        return Note("robustness.too_large", {"more": more})
    return Note("robustness.or_cells", {"more": more, "cells": cells, "combinations": cells // fewest})
