"""Decisions at a threshold: how far apart selection rates are at the worst one, and what chance alone gives.

Mean scores are not decisions: at equal means the groups' shares above a threshold can be far apart. Pure functions of
scores and groups; knows neither mappings nor models.
"""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Cells, Numbers

PERMUTATIONS = 200
"""Of who is in which group, by which the floor is found."""


def worst_gap(score: Numbers, group: Cells) -> float:
    """Return the largest difference of two groups' shares of people at or above any threshold.

    It is the largest Kolmogorov-Smirnov distance between the scores of two groups.

    Examples
    --------
    >>> worst_gap(np.array([0.1, 0.4, 0.4, 0.9]), np.array([0, 0, 1, 1]))
    0.5
    """
    order, ends = _thresholds(np.asarray(score, dtype=float))
    return worst_gap_of(np.asarray(group)[order], np.ones(len(order)), ends)


def gap_floor(score: Numbers, group: Cells, *, times: int = PERMUTATIONS, seed: int = 0) -> float:
    """Return the mean worst gap where there is none: people of these scores, dealt out to groups at random.

    A worst gap is a maximum over thresholds, so that it is above zero whatever the scores are, the more so the smaller
    a group is. What a measured one exceeds this by is what there is to explain.

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
        found.append(worst_gap_of(dealt, each, ends))
    return float(np.mean(found))


def quantile_barycentre(score: Numbers, group: Cells) -> Numbers:
    """Return scores with the same distribution in every group: at each rank the mean of the groups' quantiles.

    Whoever is at a share u of their own group gets Σ p(d) · (the score at u in group d), the closest scores in the mean
    square that no threshold tells groups apart by. Ranks within a group stay; equal scores get the mean of theirs.

    Examples
    --------
    >>> quantile_barycentre(np.array([0.1, 0.3, 0.5, 0.9]), np.array([0, 0, 1, 1])).round(2).tolist()
    [0.3, 0.6, 0.3, 0.6]
    """
    score, group = np.asarray(score, dtype=float), np.asarray(group)
    found = np.empty(len(score))
    groups = np.unique(group)
    for each in groups:
        mine = np.flatnonzero(group == each)
        _, kind, times = np.unique(score[mine], return_inverse=True, return_counts=True)
        middle = (np.cumsum(times) - times / 2) / len(mine)
        at = np.array([np.mean(group == other) * _quantiles(score[group == other], middle) for other in groups])
        found[mine] = at.sum(axis=0)[kind]
    return found


def _quantiles(score: Numbers, shares: Numbers) -> Numbers:
    """Return the scores at shares of a group: the middle of the i-th of n people is at (i - 1/2)/n."""
    there = (np.arange(len(score)) + 0.5) / len(score)
    return np.asarray(np.interp(shares, there, np.sort(score)))


def _thresholds(score: Numbers) -> tuple[Cells, Cells]:
    """Return the order of falling scores, and the places after which a threshold can lie: where the score changes."""
    order = np.argsort(-score, kind="stable")
    falling = score[order]
    return order, np.append(np.flatnonzero(np.diff(falling) < 0), len(falling) - 1)


def worst_gap_of(group: Cells, weight: Numbers, ends: Cells) -> float:
    """Return the worst gap of people in the order of falling scores, at thresholds after given places."""
    shares = []
    for each in np.unique(group):
        reached = np.cumsum(weight * (group == each))
        if reached[-1] > 0:
            shares.append(reached[ends] / reached[-1])
    return float((np.max(shares, axis=0) - np.min(shares, axis=0)).max())
