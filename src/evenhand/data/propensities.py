"""Sums of propensities: how much of each source a model that does not see D takes for each group (eq. 9).

A model that learns E[Ŷ|X] well and sees X alone has, in group d, the mean score E[π_d(X) Ŷ] / p(d), where π_d(x) is
Pr(D = d | x). With S_d(s) = Σ w_i π_d(x_i) over the people of source s, it is linear in the mapping: Σ_s S_d(s) P(ŷ|s)
over the weight of d. Only these sums are kept. Knows plain arrays, and nothing of how propensities are learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.errors import DataError
from evenhand.tolerances import SAME_WEIGHT

RAKINGS = 200
"""How often sums are multiplied by group and by source until they agree."""

FLOOR = 1e-3
"""This share of every source is taken for shared out as its stratum is, so that each group can have some of it."""


@dataclass(frozen=True, eq=False)
class Sharing:
    """The sources of a table: their weight, their group, and the stratum in which sums of propensities must agree."""

    weight: Numbers
    group: Cells
    stratum: Cells

    def by_stratum(self, each: Numbers) -> Numbers:
        """Add up rows over the sources by stratum."""
        return np.stack([sums(self.stratum, row) for row in each])

    @property
    def of_groups(self) -> Numbers:
        """The weight of every group in every stratum."""
        size, groups = int(self.stratum.max()) + 1, int(self.group.max()) + 1
        return sums(self.group * size + self.stratum, self.weight, groups * size).reshape(groups, size)

    @property
    def usual(self) -> Numbers:
        """The weight of every source, shared out over groups as its stratum is."""
        of_groups = self.of_groups
        return np.asarray((of_groups / of_groups.sum(axis=0))[:, self.stratum] * self.weight)

    def agreeing(self, found: Numbers) -> Numbers:
        """Return sums of propensities that agree with the counts: in each stratum those of a group sum to its weight.

        Sums S become S_d(s) − (n_s/n_c) S_d(c) + (n_s/n_c) n_dc, so that where propensities say nothing each source is
        shared out as its stratum is, and rates are held too strictly instead of not at all. In a stratum where one
        would be negative they are first raked: multiplied by group and by source in turns.
        """
        moved = self._moved(found)
        negative = np.isin(self.stratum, self.stratum[moved.min(axis=0) < 0])
        if not negative.any():
            return moved
        moved = self._moved(np.where(negative, self._raked(found), found))
        # What raking leaves is little: the largest part of it that leaves no sum negative, stratum by stratum.
        usual = self.usual
        off = moved - usual
        room = np.divide(usual, -off, out=np.ones_like(off), where=off < 0).min(axis=0)
        part = np.ones(int(self.stratum.max()) + 1)
        np.minimum.at(part, self.stratum, room)
        return np.asarray(np.maximum(usual + part[self.stratum] * off, 0.0))

    def _moved(self, found: Numbers) -> Numbers:
        share = self.weight / sums(self.stratum, self.weight)[self.stratum]
        return np.asarray(found + share * (self.of_groups - self.by_stratum(found))[:, self.stratum])

    def _raked(self, found: Numbers) -> Numbers:
        """Return sums that are as far apart by source, multiplied until they nearly agree with the counts."""
        raked, of_groups = (1 - FLOOR) * found + FLOOR * self.usual, self.of_groups
        for _ in range(RAKINGS):
            there = self.by_stratum(raked)
            raked = raked * np.divide(of_groups, there, out=np.zeros_like(there), where=there > 0)[:, self.stratum]
            raked = raked * self.weight / raked.sum(axis=0)
        return np.asarray(raked)


@dataclass(frozen=True, eq=False)
class Propensities:
    """The sums S_d(s), and by how much the mean scores of a model are known to differ from what they say.

    Attributes
    ----------
    sums : array
        One row per group that occurs, one column per source. Over groups they sum to the weight of the source; over
        the sources that agree in the features ``within``, to the weight of the group there.
    within : tuple of str
        Features; none is the whole table.
    shift : array
        One row per group, one column per outcome: what is added to a group's rates.
    learner : str
        What π was learned by; empty where it is counted.
    areas : tuple of float
        For each group the area under the curve (AUC) with which the features tell it from all others, out of fold where
        π is learned; none where it is not known.
    """

    sums: Numbers
    within: tuple[str, ...]
    shift: Numbers
    learner: str = ""
    areas: tuple[float, ...] = ()

    def described(self) -> dict[str, Any]:
        """Return what a file says beside the arrays."""
        return {"within": list(self.within), "learner": self.learner, "areas": list(self.areas)}

    def check(self, sharing: Sharing, outcomes: int) -> None:
        """Refuse sums that contradict the counts."""
        of_groups = sharing.of_groups
        groups = len(of_groups)
        if self.sums.shape != (groups, len(sharing.weight)) or self.shift.shape != (groups, outcomes):
            raise DataError("there must be a sum of propensities for each group and source, and a shift for each rate")
        if not (np.all(self.sums >= 0) and np.all(np.abs(self.shift) <= 1)):
            raise DataError("sums of propensities are not negative, and a shift is at most one")
        wrong = np.abs(self.sums.sum(axis=0) - sharing.weight).max()
        wrong = max(wrong, np.abs(sharing.by_stratum(self.sums) - of_groups).max())
        # Written so that a NaN is refused.
        if not wrong <= SAME_WEIGHT * sharing.weight.sum():
            raise DataError("the sums of propensities contradict the counts")
