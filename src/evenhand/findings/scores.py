"""What is measured of scores that a model gave people whom it was not trained on: how good they are, how far apart.

Pure functions of arrays: one score per person for a class, whether each has that class, their groups, and weights.
Knows neither mappings nor models.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.findings.decisions import worst_gap_of

LEVELS = 10
"""Of the score, within which it is compared with how often the class occurs."""

CERTAIN = 1e-15
"""No score is nearer than this to 0 or 1 where its logarithm is taken."""

CONFIDENCE = 0.95


def by_group(group: Cells, weight: Numbers, values: Numbers, size: int) -> Numbers:
    """Return the mean of every column in every group; NaN where a group has nobody.

    Examples
    --------
    >>> by_group(np.array([0, 0, 1]), np.ones(3), np.array([[0.2], [0.4], [0.6]]), 2).round(2).tolist()
    [[0.3], [0.6]]
    """
    there = sums(group, weight, size)[:, None]
    total = np.column_stack([sums(group, weight * one, size) for one in values.T])
    return np.asarray(np.divide(total, there, out=np.full(total.shape, np.nan), where=there > 0))


def apart(means: Numbers) -> Numbers:
    """Return how far each group is from the furthest other, for any class, as the ratio of mean scores less one.

    Examples
    --------
    >>> apart(np.array([[0.7, 0.3], [0.8, 0.2], [0.8, 0.2]])).round(3).tolist()
    [0.5, 0.5, 0.5]
    """
    low, high = means.min(axis=0), means.max(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.maximum(means / low, high / means)
    there: Flags = high > 0
    return np.asarray(np.where(there, ratio, 1.0).max(axis=1) - 1)


MEASURES = ("auc", "accuracy", "log_loss", "calibration", "apart", "decisions_apart", "worst_gap")
"""What is measured, in this order."""


@dataclass(frozen=True, eq=False)
class Judged:
    """People with a score of one of two classes, whether they have it, their group, and a threshold for decisions."""

    score: Numbers
    outcome: Flags
    group: Cells
    threshold: float = 0.5

    def measures(self, weight: Numbers | None = None) -> dict[str, float]:
        """Return every measure, of people who count as often as their weight says.

        ``auc``; ``accuracy`` of decisions at the threshold; ``log_loss``; ``calibration``, the mean difference between
        score and share within ten levels of the score; ``apart``, the largest ratio of two groups' mean scores of
        either class, less one; ``decisions_apart``, the largest difference of two groups' shares at or above the
        threshold; and ``worst_gap``, that at whichever threshold it is largest.
        """
        w = np.ones(len(self.score)) if weight is None else weight
        chosen = self.score >= self.threshold
        means = by_group(self.group, w, np.column_stack([1 - self.score, self.score]), self._groups)
        shares = by_group(self.group, w, chosen[:, None].astype(float), self._groups)
        likely = np.clip(np.where(self.outcome, self.score, 1 - self.score), CERTAIN, 1)
        off = sums(self._level, w * (self.score - self.outcome), LEVELS)
        return {
            "auc": self._auc(w),
            "accuracy": float(np.average(chosen == self.outcome, weights=w)),
            "log_loss": float(-np.average(np.log(likely), weights=w)),
            "calibration": float(np.abs(off).sum() / w.sum()),
            "apart": float(np.nanmax(apart(means[~np.isnan(means[:, 0])]))),
            "decisions_apart": float(np.nanmax(shares) - np.nanmin(shares)),
            "worst_gap": worst_gap_of(self.group[self._order], w[self._order], self._ends),
        }

    def intervals(self, times: int, seed: int) -> dict[str, tuple[float, float]]:
        """Return a 95 % interval of every measure: percentiles over people drawn again, the model being the same."""
        rng = np.random.default_rng(seed)
        number = len(self.score)
        drawn = [
            list(self.measures(rng.multinomial(number, np.full(number, 1 / number)).astype(float)).values())
            for _ in range(times)
        ]
        low, high = np.nanquantile(drawn, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], axis=0)
        return {name: (float(a), float(b)) for name, a, b in zip(MEASURES, low, high, strict=True)}

    @cached_property
    def _groups(self) -> int:
        return int(self.group.max()) + 1

    @cached_property
    def _level(self) -> Cells:
        cuts = np.quantile(self.score, np.arange(1, LEVELS) / LEVELS)
        return np.searchsorted(cuts, self.score, side="right")

    @cached_property
    def _order(self) -> Cells:
        return np.argsort(-self.score, kind="stable")

    @cached_property
    def _ends(self) -> Cells:
        return np.append(np.flatnonzero(np.diff(self.score[self._order]) < 0), len(self.score) - 1)

    def _auc(self, weight: Numbers) -> float:
        """Return the chance that of two people of either class the one who has it scores higher; half where equal."""
        w, has = weight[self._order], self.outcome[self._order]
        above, below = (np.diff(np.cumsum(w * of)[self._ends], prepend=0.0) for of in (has, ~has))
        if not above.sum() * below.sum():
            return float("nan")
        lower = below.sum() - np.cumsum(below) + below / 2
        return float(above @ lower / (above.sum() * below.sum()))
