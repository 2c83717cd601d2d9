"""Which columns to take as features: those that tell most about the outcome for the cells that they make.

Knows codes, not words. Columns are added one at a time, each the one that tells most beyond those before it, as long as
that is more than chance would give (Akaike's criterion: one nat for each free number) and as cells stay large enough.
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


def choose(candidates: Mapping[str, Cells], groups: Cells, outcome: Cells) -> tuple[str, ...]:
    """Return the names of the columns to take, the one that tells most first."""
    chosen: list[str] = []
    together = np.zeros(len(outcome), dtype=np.int64)
    while len(chosen) < MOST_FEATURES:
        gains = {}
        for name, codes in candidates.items():
            finer = joined(together, codes)
            if name not in chosen and len(outcome) >= PEOPLE_PER_CELL * (int(joined(groups, finer).max()) + 1):
                gains[name] = _gain(together, finer, outcome)
        best = max(gains, key=lambda name: gains[name], default=None)
        if best is None or gains[best] <= 0:
            break
        chosen.append(best)
        together = joined(together, candidates[best])
    return tuple(chosen)


def telling(candidates: Mapping[str, Cells], chosen: Sequence[str], outcome: Cells) -> set[str]:
    """Return the columns that tell more than chance would beyond those that were chosen."""
    together = all_joined([np.zeros_like(outcome), *(candidates[name] for name in chosen)])
    return {name for name, codes in candidates.items() if _gain(together, joined(together, codes), outcome) > 0}


def joined(first: Cells, second: Cells) -> Cells:
    """Number the combinations of two codes that occur."""
    return np.asarray(np.unique(first * (int(second.max()) + 1) + second, return_inverse=True)[1])


def all_joined(codes: Sequence[Cells]) -> Cells:
    """Number the combinations of several codes that occur."""
    together = np.zeros(len(codes[0]), dtype=np.int64)
    for each in codes:
        together = joined(together, each)
    return together


def _gain(before: Cells, after: Cells, outcome: Cells) -> float:
    """Return the bits that finer cells tell about the outcome, less what chance would give."""
    more = int(after.max()) - int(before.max())
    return _bits(before, outcome) - _bits(after, outcome) - BY_CHANCE * more * int(outcome.max())


def told(cells: Cells, outcome: Cells) -> float:
    """Return which share of what is not known about an outcome the cells tell, from 0 to 1.

    Examples
    --------
    >>> told(np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1]))
    1.0
    """
    unknown = _bits(np.zeros_like(cells), outcome)
    return 1 - _bits(cells, outcome) / unknown if unknown > 0 else 0.0


def deciding(cells: Cells, outcome: Cells, least: float) -> Cells:
    """Return the cells, of at least so many rows, in which everybody has the same outcome."""
    table = np.zeros((int(cells.max()) + 1, int(outcome.max()) + 1))
    np.add.at(table, (cells, outcome), 1)
    return np.flatnonzero((table.max(axis=1) == table.sum(axis=1)) & (table.sum(axis=1) >= least))


def _bits(cells: Cells, outcome: Cells) -> float:
    """Return the entropy of the outcome within cells, over all rows."""
    size = int(outcome.max()) + 1
    table = np.bincount(cells * size + outcome, minlength=(int(cells.max()) + 1) * size).astype(float)
    within = table.reshape(-1, size)
    return float(_sum_log(within.sum(axis=1)) - _sum_log(within))


def _sum_log(numbers: Numbers) -> float:
    positive = numbers[numbers > 0]
    return float((positive * np.log2(positive)).sum())
