"""What a person may undergo at apply time, when the outcome is not known: section 3.4.

The mapping is averaged over y, so the bound on a person (d, x) is c(d, x) = Σ_y p(y|d, x) c(d, x, y), and what is
achieved is Σ_y p(y|d, x) E[charge | d, x, y]. The paper's expectation counts the change of the outcome too, which apply
mode never makes; what the features alone undergo is given beside it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Numbers, sums
from evenhand.data.counts import Counts
from evenhand.findings.document import ranged
from evenhand.kernel import Kernel
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section
from evenhand.spec import Problem
from evenhand.tables import beside, labels

if TYPE_CHECKING:
    import pandas as pd

ON_AVERAGE = Note("caveat.budgets_on_average")


@dataclass(frozen=True, eq=False)
class Applying(Finding):
    """The bounds on distortion at apply time, and what is achieved.

    Attributes
    ----------
    frame : pandas.DataFrame
        For each charge and each (d, x) that occurs: its weight, ``bound`` c(d, x) (NaN where there is none, infinite
        where some outcome is not limited), ``achieved`` (as the paper's equation counts, outcome included)
        and ``features_alone``.
    worst : float
        The largest ``achieved − bound``; −∞ where nothing is bounded.
    sections : tuple of Section
        What follows.
    """

    frame: pd.DataFrame
    worst: float
    sections: tuple[Section, ...]


@dataclass(frozen=True, eq=False)
class _Block:
    """One charge of one budget, for every (d, x)."""

    words: str
    bound: Numbers
    achieved: Numbers
    features_alone: Numbers


def applying(problem: Problem, counts: Counts, kernel: Kernel) -> Applying:
    """Bound the distortion of every (d, x) at apply time, and measure it.

    Parameters
    ----------
    problem : Problem
        Whose budgets are charged.
    counts : Counts
        The table.
    kernel : Kernel
        The mapping in train mode: one row per source of ``counts``.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = applying(data.problem, data.counts, mapping.kernel)
    >>> len(found.frame), found.frame["bound"].round(9).unique().tolist()
    (72, [0.5])
    """
    domain, before, rows = counts.domain, counts.people_before_outcome, kernel.rows
    to_x, to_y = domain.split_xy(kernel.targets)
    x, y = counts.x[rows], counts.y[rows]
    # The distortion of each move, and that of its features alone; forbidden moves have no mass to charge.
    costs = [problem.distortion.between(domain, x, y, to_x, outcome) for outcome in (to_y, y)]
    costs = [np.where(np.isfinite(cost), cost, 0.0) for cost in costs]
    blocks, worst = [], -np.inf
    for charge in problem.charges:
        limit = np.full(len(counts), np.nan) if charge.averaged else charge.limits(counts)
        charged = [sums(rows, charge.of(cost) * kernel.probability, len(kernel)) for cost in costs]
        # Σ_y p(y|d, x) of each, for every (d, x).
        averaged = (
            sums(before.of_source, counts.given("dx") * values, len(before.cells)) for values in (limit, *charged)
        )
        block = _Block(charge.words, *averaged)
        bounded = ~np.isnan(block.bound)
        worst = max(worst, float(np.max(block.achieved[bounded] - block.bound[bounded], initial=-np.inf)))
        blocks.append(block)
    notes = tuple(_notes(problem, blocks))
    return Applying(_table(counts, blocks), worst, (Section("applying", notes=notes),))


def _table(counts: Counts, blocks: list[_Block]) -> pd.DataFrame:
    before = counts.people_before_outcome
    number = len(blocks)
    d, x = np.divmod(np.tile(before.cells, number), counts.domain.x.size)
    weight = sums(before.of_source, counts.weight)

    def joined(name: str) -> Numbers:
        return np.concatenate([np.zeros(0), *(getattr(block, name) for block in blocks)])

    return beside(
        {**labels(counts.domain.d, d), **labels(counts.domain.x, x)},
        {
            "weight": np.tile(weight, number),
            "charge": np.repeat(np.array([block.words for block in blocks], dtype=object), len(before.cells)),
            **{name: joined(name) for name in ("bound", "achieved", "features_alone")},
        },
    )


def _notes(problem: Problem, blocks: list[_Block]) -> Iterator[Note]:
    if not blocks:
        yield Note("applying.no_budget")
        return
    for block in blocks:
        low, high = float(block.bound.min()), float(block.bound.max())
        key, same = "applying.at_most", math.isclose(low, high)
        if math.isnan(high):
            key = "applying.no_bound"
        elif not same:
            key = "applying.by_cell"
        fields = {"charge": block.words, "bound": ranged(low, high, "g"), "achieved": float(block.achieved.max())}
        features = float(block.features_alone.max())
        yield Note("applying.charge", {"bounded": Note(key, fields), "features": features, **fields})
    if any(charge.averaged for charge in problem.charges):
        yield ON_AVERAGE
    yield Note("applying.kept")
