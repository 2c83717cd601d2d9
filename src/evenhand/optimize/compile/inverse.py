"""Multipliers on a programme's rows as multipliers on the statement's own inequalities.

Every entry of a parity constraint is one inequality per line of its distance, every budget one per holder. Where a
programme holds all rates against their minimum m, its multipliers are shared out over pairs of groups: what the rates
above m carry is what the rates at m must bear. Where an event is free, the rows on what two populations have in common
tell which event the multiplier is about: every value with some share between none and all.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.optimize.compile.parity import IN_COMMON_OF_OTHER, IN_COMMON_OF_OWN, LEAST_OF_ALL, ParityRows
from evenhand.optimize.program import Multipliers, Program
from evenhand.spec import Comparisons


@dataclass(frozen=True, eq=False)
class EntryMultipliers:
    """Multipliers on lines of entries: which constraint, which entry of it, which line, and how much."""

    constraint: Cells
    entry: Cells
    line: Cells
    multiplier: Numbers

    def relief(self, compared: list[Comparisons], rates: list[tuple[Numbers, Numbers, Numbers]]) -> Numbers:
        """Return what one unit more of each entry's own bound is worth.

        ``rates`` holds for every constraint the entries' rates, what they are held against, and the probability of
        their released segments, by which their lines were multiplied.
        """
        worth = np.zeros(len(self.entry))
        for i, (part, (own, other, share)) in enumerate(zip(compared, rates, strict=True)):
            for number, line in enumerate(part.lines):
                at = np.flatnonzero((self.constraint == i) & (self.line == number))
                e = self.entry[at]
                on_p, on_q, limit = line.slope
                worth[at] = self.multiplier[at] * share[e] * (limit[e] - on_p[e] * own[e] - on_q[e] * other[e])
        return worth


def entry_multipliers(rows: ParityRows, compared: list[Comparisons], multipliers: Numbers) -> EntryMultipliers:
    """Turn multipliers on parity rows into multipliers on entries."""
    direct = (rows.auxiliary < 0) & (multipliers > 0)
    parts = [(rows.constraint[direct], rows.entry[direct], rows.line[direct], multipliers[direct])]
    for least in np.unique(rows.auxiliary[rows.entry == LEAST_OF_ALL]):
        mine = rows.auxiliary == least
        parts.append(_pairs(rows, compared, mine, multipliers))
    constraint, entry, line, multiplier = (np.concatenate(column) for column in zip(*parts, strict=True))
    return EntryMultipliers(
        constraint.astype(np.int64), entry.astype(np.int64), line.astype(np.int64), multiplier.astype(float)
    )


Part = tuple[Cells, Cells, Cells, Numbers]


def _pairs(rows: ParityRows, compared: list[Comparisons], mine: NDArray[np.bool_], multipliers: Numbers) -> Part:
    """Share the multipliers of one minimum out over the pairs of rates that it stands between."""
    above = np.flatnonzero(mine & (rows.entry != LEAST_OF_ALL))
    below = np.flatnonzero(mine & (rows.entry == LEAST_OF_ALL))
    constraint = int(rows.constraint[above[0]])
    part = compared[constraint]
    line = part.parity.distance.both(part.bound[rows.entry[above]])
    assert line is not None
    population = part.population[rows.entry[above]]
    carried, borne = multipliers[above], multipliers[below] / np.maximum(-line.on_q, np.finfo(float).tiny)
    # A rate that is held both ways carries part of its own weight: that part says nothing.
    idle = np.minimum(carried, borne)
    carried, borne = carried - idle, borne - idle
    total = max(carried.sum(), borne.sum())
    if total <= 0:
        none = np.zeros(0, dtype=np.int64)
        return none, none, none, np.zeros(0)
    share = np.outer(carried, borne) / (borne.sum() or 1.0)
    first, second = np.nonzero(share)
    above_m, below_m = population[first].tolist(), population[second].tolist()
    own, other = (below_m, above_m) if part.parity.distance.holds_the_lower else (above_m, below_m)
    here = np.flatnonzero(part.event == part.event[rows.entry[above[0]]])
    pairs = zip(part.population[here].tolist(), part.against[here].tolist(), strict=True)
    place = dict(zip(pairs, here.tolist(), strict=True))
    entry = np.array([place[pair] for pair in zip(own, other, strict=True)], dtype=np.int64)
    return np.full(len(entry), constraint), entry, np.zeros(len(entry), dtype=np.int64), share[first, second]


def free_event(rows: ParityRows, constraint: int, entry: int, multipliers: Numbers, reached: Flags) -> Numbers:
    """Return the event that the multiplier of an entry is about: the share w of each value, between 0 and 1.

    With μ on Σ m ≥ 1 − ε, α on m ≤ own rates and β on m ≤ other rates, any μ(1 − w) ≤ α and μw ≤ β prove as much. What
    the other population cannot have (values that are not ``reached``) is in the event whole.
    """
    mine = (rows.constraint == constraint) & (rows.of_entry == entry)
    price = float(multipliers[mine & (rows.entry == entry)].sum())
    share = np.where(reached, 0.0, 1.0)
    if price <= 0:
        return share
    own, other = (np.flatnonzero(mine & (rows.entry == kind)) for kind in (IN_COMMON_OF_OWN, IN_COMMON_OF_OTHER))
    least, most = 1 - multipliers[own] / price, multipliers[other] / price
    share[rows.value[own]] = np.clip((least + most) / 2, 0.0, 1.0)
    return share


def budget_multipliers(program: Program, multipliers: Multipliers) -> Numbers:
    """Return the multipliers on ``E ≤ c`` in the user's units; they are also what one unit more of c is worth."""
    return np.asarray(multipliers.budgets / program.budget_unit)
