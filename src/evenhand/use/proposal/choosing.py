"""Which columns to take as features: those that tell most about the outcome for the cells that they make.

Knows codes and what each row weighs (None: one each), not words. Columns are added one at a time, each the one that
tells most beyond those before it, as long as that is more than chance would give (Akaike's criterion: one nat for each
free number) and as cells stay large enough.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from evenhand.arrays import Cells, Numbers

PEOPLE_PER_CELL = 10
"""How many people a combination of protected columns and features has, at least on average."""

BY_CHANCE = float(np.log2(np.e))
"""The bits that a free number must tell: one nat."""

MOST_FEATURES = 5

SPREAD = 4
"""So many times as many combinations as rows are still marked one by one."""

Weight = Numbers | None
"""What each row weighs; None is one each."""


def choose(candidates: Mapping[str, Cells], groups: Cells, outcome: Cells, weight: Weight = None) -> tuple[str, ...]:
    """Return the names of the columns to take, the one that tells most first."""
    chosen: list[str] = []
    people = len(outcome) if weight is None else weight.sum()
    together = np.zeros(len(outcome), dtype=np.int64)
    while len(chosen) < MOST_FEATURES:
        gains = {}
        before = tabulated(together, outcome, weight)
        for name, codes in candidates.items():
            if name in chosen:
                continue
            finer = _within(together, codes, outcome, weight)
            # Mostly there are people enough even if all combinations with groups occur.
            least = people / PEOPLE_PER_CELL
            if (int(groups.max()) + 1) * len(finer) <= least or _combinations(groups, together, codes) <= least:
                gains[name] = _told_beyond_chance(before, finer)
        best = max(gains, key=lambda name: gains[name], default=None)
        if best is None or gains[best] <= 0:
            break
        chosen.append(best)
        together = joined(together, candidates[best])
    return tuple(chosen)


def _within(cells: Cells, codes: Cells, outcome: Cells, weight: Weight) -> Numbers:
    """Return how many people of each combination that occurs of cells and codes have each outcome."""
    number = int(codes.max()) + 1
    if (int(cells.max()) + 1) * number > SPREAD * len(cells):
        return tabulated(joined(cells, codes), outcome, weight)
    table = tabulated(cells * number + codes, outcome, weight)
    return np.asarray(table[table.any(axis=1)])


def _combinations(*codes: Cells) -> int:
    return int(all_joined(codes).max()) + 1


def telling(candidates: Mapping[str, Cells], chosen: Sequence[str], outcome: Cells, weight: Weight = None) -> set[str]:
    """Return the columns that tell more than chance would beyond those that were chosen."""
    together = all_joined([np.zeros_like(outcome), *(candidates[name] for name in chosen)])
    before = tabulated(together, outcome, weight)
    finer = {name: _within(together, codes, outcome, weight) for name, codes in candidates.items()}
    return {name for name, table in finer.items() if _told_beyond_chance(before, table) > 0}


def joined(first: Cells, second: Cells) -> Cells:
    """Number the combinations of two codes that occur, in their order.

    Examples
    --------
    >>> joined(np.array([0, 2, 0]), np.array([1, 0, 1])).tolist()
    [0, 1, 0]
    """
    both = first * (int(second.max()) + 1) + second
    low, size = int(both.min()), int(both.max()) - int(both.min()) + 1
    if size > SPREAD * len(both):
        return np.asarray(np.unique(both, return_inverse=True)[1])
    # Marked and counted, where they lie close enough together: sorting every row takes ten times as long.
    occurs = np.zeros(size, dtype=bool)
    occurs[both - low] = True
    return np.asarray((np.cumsum(occurs) - 1)[both - low])


def all_joined(codes: Sequence[Cells]) -> Cells:
    """Number the combinations of several codes that occur."""
    together = np.zeros(len(codes[0]), dtype=np.int64)
    for each in codes:
        together = joined(together, each)
    return together


def _told_beyond_chance(before: Numbers, after: Numbers) -> float:
    """Return the bits that finer cells tell about the outcome beyond those that they would tell by chance."""
    by_chance = BY_CHANCE * (len(after) - len(before)) * (before.shape[1] - 1)
    return float(_bits(before) - _bits(after) - by_chance)


def told(cells: Cells, outcome: Cells, weight: Weight = None) -> float:
    """Return which share of what is not known about an outcome the cells tell, from 0 to 1.

    Examples
    --------
    >>> told(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    1.0
    """
    return told_by(tabulated(cells, outcome, weight))


def told_by(table: Numbers) -> float:
    """Return the same share from how many people of each cell have each outcome."""
    unknown = _bits(table.sum(axis=0, keepdims=True))
    return 1 - _bits(table) / unknown if unknown > 0 else 0.0


def beyond_chance(table: Numbers) -> float:
    """Return the same share less what chance would give; at most zero where cells tell nothing.

    Examples
    --------
    >>> alike, apart = np.array([[21.0, 20.0], [20.0, 21.0]]), np.array([[30.0, 10.0], [10.0, 30.0]])
    >>> beyond_chance(alike) > 0, beyond_chance(apart) > 0
    (False, True)
    """
    everybody = table.sum(axis=0, keepdims=True)
    unknown = _bits(everybody)
    return _told_beyond_chance(everybody, table[table.any(axis=1)]) / unknown if unknown > 0 else 0.0


def tabulated(cells: Cells, outcome: Cells, weight: Weight = None) -> Numbers:
    """Return how many people of each cell have each outcome."""
    size = int(outcome.max()) + 1
    table = np.bincount(cells * size + outcome, weight, minlength=(int(cells.max()) + 1) * size)
    return table.astype(np.float64).reshape(-1, size)


def _bits(within: Numbers) -> float:
    """Return the entropy of the outcome within cells, over all people."""
    return float(_sum_log(within.sum(axis=1)) - _sum_log(within))


def _sum_log(numbers: Numbers) -> float:
    positive = numbers[numbers > 0]
    return float((positive * np.log2(positive)).sum())
