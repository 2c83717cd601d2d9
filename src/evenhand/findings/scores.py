"""What is measured of scores that a model gave people whom it was not trained on: how good they are, how far apart.

Pure functions of arrays: one score per person for a class, whether each has that class, their groups, and weights.
Mean scores are not decisions: at equal means the groups' shares above a threshold can be far apart, so that these are
measured too. Knows neither mappings nor models.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, sums

LEVELS = 10
"""Of the score, within which it is compared with how often the class occurs."""

CERTAIN = 1e-15
"""No score is nearer than this to 0 or 1 where its logarithm is taken."""

CONFIDENCE = 0.95
BELOW, ABOVE = (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2

THRESHOLDS, COMPARED = 500, 1_000_000
"""At how many thresholds it is seen how far shares stray, and at how many, for every two groups, in all."""


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


def worst_gap(score: Numbers, group: Cells, weight: Numbers | None = None) -> float:
    """Return the largest difference of two groups' shares of people at or above any threshold.

    It is the largest Kolmogorov-Smirnov distance between the scores of two groups.

    Examples
    --------
    >>> worst_gap(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.5
    """
    order, ends = _thresholds(np.asarray(score, dtype=float))
    counted = np.ones(len(order)) if weight is None else weight
    return _worst_gap(np.asarray(group)[order], counted[order], ends)


def gap_floor(score: Numbers, group: Cells, *, times: int = 200, seed: int = 0) -> float:
    """Return the mean worst gap where there is none: people of these scores, dealt out to groups at random.

    A worst gap is a maximum over thresholds, so that it is above zero whatever the scores are, the more so the smaller
    a group is. What a measured one exceeds this by is what there is to explain. People are dealt out ``times`` times.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> group = rng.integers(0, 2, 300)
    >>> round(gap_floor(rng.random(300), group), 2)
    0.1
    """
    rng = np.random.default_rng(seed)
    _, ends = _thresholds(np.asarray(score, dtype=float))
    dealt, each = np.array(group), np.ones(len(group))
    found = []
    for _ in range(times):
        rng.shuffle(dealt)
        found.append(_worst_gap(dealt, each, ends))
    return float(np.mean(found))


def _thresholds(score: Numbers) -> tuple[Cells, Cells]:
    """Return the order of falling scores, and the places after which a threshold can lie: where the score changes."""
    order = np.argsort(-score, kind="stable")
    falling = score[order]
    return order, np.append(np.flatnonzero(np.diff(falling) < 0), len(falling) - 1)


def _worst_gap(group: Cells, weight: Numbers, ends: Cells) -> float:
    """Return the worst gap of people in the order of falling scores, at thresholds after given places."""
    shares = []
    for each in np.unique(group):
        reached = np.cumsum(weight * (group == each))
        if reached[-1] > 0:
            shares.append(reached[ends] / reached[-1])
    return float((np.max(shares, axis=0) - np.min(shares, axis=0)).max())


MEANS = ("auc", "accuracy", "log_loss")
MEASURES = (*MEANS, "calibration", "apart", "decisions_apart", "worst_gap")
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
        off = sums(self._level, w * (self.score - self.outcome), LEVELS)
        return self._means(w) | {
            "calibration": float(np.abs(off).sum() / w.sum()),
            "apart": float(np.nanmax(apart(means[~np.isnan(means[:, 0])]))),
            "decisions_apart": float(np.nanmax(shares) - np.nanmin(shares)),
            "worst_gap": worst_gap(self.score, self.group, w),
        }

    def intervals(self, times: int, seed: int) -> dict[str, tuple[float, float]]:
        """Return a 95 % interval of every measure, from people drawn again, the model being the same.

        It holds the measure itself. How far apart groups are is a largest distance, and calibration a sum of distances:
        both are too large on average where groups do not differ, in people drawn again once more than in these. So it
        is seen how far what they are made of strays, and the intervals allow for whichever of these distances may
        really be the largest.
        """
        rng = np.random.default_rng(seed)
        number = len(self.score)
        means, strayed = [], []
        for _ in range(times):
            w = rng.multinomial(number, np.full(number, 1 / number)).astype(float)
            means.append(list(self._means(w).values()))
            strayed.append(self._compared(w))
        values, own = self.measures(), self._compared(np.ones(number))
        low, high = np.nanquantile(means, [BELOW, ABOVE], axis=0)
        ends = {name: (float(a), float(b)) for name, a, b in zip(MEANS, low, high, strict=True)}
        for name, found in own.items():
            ends[name] = _ends(name, values[name], found, np.stack([each[name] for each in strayed]))
        return {name: (min(ends[name][0], values[name]), max(ends[name][1], values[name])) for name in MEASURES}

    def _means(self, w: Numbers) -> dict[str, float]:
        """Return what is a mean over people, or over pairs of them."""
        likely = np.clip(np.where(self.outcome, self.score, 1 - self.score), CERTAIN, 1)
        return {
            "auc": self._auc(w),
            "accuracy": float(np.average((self.score >= self.threshold) == self.outcome, weights=w)),
            "log_loss": float(-np.average(np.log(likely), weights=w)),
        }

    def _compared(self, w: Numbers) -> dict[str, Numbers]:
        """Return what distances are taken of: differences in every level, or what each group has, one row each."""
        off = sums(self._level, w * (self.score - self.outcome), LEVELS)
        means = by_group(self.group, w, np.column_stack([1 - self.score, self.score]), self._groups)
        selected = (self.score >= self.threshold)[:, None].astype(float)
        some = [sums(self._between[of], w[of], self._cuts + 1) for of in self._members]
        with np.errstate(invalid="ignore"):
            reached = np.array([np.cumsum(each)[:-1] / each.sum() for each in some])
        return {
            "calibration": off / w.sum(),
            # The ratio of two means is the difference of their logarithms.
            "apart": np.log(np.clip(means, CERTAIN, None)),
            "decisions_apart": by_group(self.group, w, selected, self._groups),
            "worst_gap": reached,
        }

    @cached_property
    def _groups(self) -> int:
        return int(self.group.max()) + 1

    @cached_property
    def _level(self) -> Cells:
        cuts = np.quantile(self.score, np.arange(1, LEVELS) / LEVELS)
        return np.searchsorted(cuts, self.score, side="right")

    @cached_property
    def _cuts(self) -> int:
        """At how many thresholds groups are compared when people are drawn again."""
        return int(np.clip(COMPARED // self._groups**2, LEVELS, THRESHOLDS))

    @cached_property
    def _between(self) -> Cells:
        """Between which of these thresholds each person is."""
        cuts = np.quantile(self.score, np.arange(1, self._cuts + 1) / (self._cuts + 1))
        return np.searchsorted(cuts, self.score, side="right")

    @cached_property
    def _members(self) -> list[Cells]:
        return [np.flatnonzero(self.group == each) for each in range(self._groups)]

    @cached_property
    def _falling(self) -> tuple[Cells, Cells]:
        return _thresholds(self.score)

    def _auc(self, weight: Numbers) -> float:
        """Return the chance that of two people of either class the one who has it scores higher; half where equal."""
        order, ends = self._falling
        w, has = weight[order], self.outcome[order]
        above, below = (np.diff(np.cumsum(w * of)[ends], prepend=0.0) for of in (has, ~has))
        if not above.sum() * below.sum():
            return float("nan")
        lower = below.sum() - np.cumsum(below) + below / 2
        return float(above @ lower / (above.sum() * below.sum()))


def _ends(name: str, value: float, found: Numbers, drawn: Numbers) -> tuple[float, float]:
    """Return the ends of the interval of a distance, or of a sum of them, from how far what is compared strays."""
    if name == "calibration":
        below, above = stray_of_sum(found, drawn)
        return max(0.0, value - below), value + above
    below, above = stray_of_largest(found, drawn)
    if name != "apart":
        return max(0.0, value - below), min(1.0, value + above)
    return max(0.0, (1 + value) * math.exp(-below) - 1), (1 + value) * math.exp(above) - 1


def stray_of_largest(found: Numbers, drawn: Numbers) -> tuple[float, float]:
    """Return how far the largest difference of two groups, in any column, may be above and below the true one.

    ``found`` has one row per group, ``drawn`` the same of people drawn again. What strays is every single difference.
    The true largest one is among those that chance may have put below the one that was found, and the largest of their
    errors is what the one that was found is too large by, at most; the least, what it is too small by.
    """
    off = drawn - found
    with np.errstate(invalid="ignore"):
        furthest = np.nanmax(off, axis=1) - np.nanmin(off, axis=1)
    anywhere = float(np.nanquantile(np.nanmax(furthest, axis=1), CONFIDENCE))
    apart_by = found[:, None, :] - found[None, :, :]
    one, other, column = np.nonzero(apart_by >= np.nanmax(apart_by) - 2 * anywhere)
    others = one != other
    one, other, column = one[others], other[others], column[others]
    errors = [each[one, column] - each[other, column] for each in off]
    most, least = np.array([(np.nanmax(each), np.nanmin(each)) for each in errors]).T
    return float(np.quantile(most, ABOVE)), float(-np.quantile(least, BELOW))


def stray_of_sum(found: Numbers, drawn: Numbers) -> tuple[float, float]:
    """Return how far a sum of absolute values may be above and below the true one.

    Of a value that chance tells from zero the sign is known, and its errors cancel with others'; one that may be zero
    is off to whichever side it strays to.
    """
    off = drawn - found
    clear = np.abs(found) > np.quantile(np.abs(off), CONFIDENCE, axis=0)
    known, open_ = off[:, clear] @ np.sign(found[clear]), np.abs(off[:, ~clear]).sum(axis=1)
    return float(np.quantile(known + open_, ABOVE)), float(-np.quantile(known - open_, BELOW))
