"""Scores that no threshold tells groups apart by, as near as can be to those that a model gave."""

import numpy as np


def quantile_barycentre(score, group):
    """Return scores with the same distribution in every group: at each rank the mean of the groups' quantiles.

    Whoever is at a share u of their own group gets Σ p(d) · (the score at u in group d), the closest scores in the mean
    square that no threshold tells groups apart by. Ranks within a group stay; equal scores get the mean of theirs.
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


def _quantiles(score, shares):
    """Return the scores at shares of a group: the middle of the i-th of n people is at (i - 1/2)/n."""
    there = (np.arange(len(score)) + 0.5) / len(score)
    return np.interp(shares, there, np.sort(score))
