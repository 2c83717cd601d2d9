"""Scores as levels, and what is released of them: nothing is drawn, a level that is split is split by the score.

A mapping gives every level of a group's scores a distribution over levels. Of the people of a level those who score
higher get the higher ones, each as many as the distribution says; of people of one score, those who come later by
something else that tells them apart. Who is not told apart is a crowd, and released as one. Pure functions of arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.errors import DataError
from evenhand.tolerances import SAME_PROBABILITY

LAST = 1 - SAME_PROBABILITY
"""The end of a level belongs to the last place with any probability, whatever rounding leaves of one."""

Ties = Callable[[Cells], Numbers]
"""Gives people of one score, by their rows, a place among them from 0 to 1."""


@dataclass(frozen=True, eq=False)
class ScoreScale:
    """Levels of a score: the ``edges`` between them, and the score ``value`` that each is released as.

    Examples
    --------
    >>> scale = ScoreScale.of(np.array([0.1, 0.2, 0.6, 0.8]), np.ones(4), 2, threshold=0.5)
    >>> scale.edges.tolist(), scale.value.round(2).tolist(), scale.level(np.array([0.4, 0.5])).tolist()
    ([0.5], [0.15, 0.7], [0, 1])
    """

    edges: Numbers
    value: Numbers

    @classmethod
    def of(cls, score: Numbers, weight: Numbers, number: int, threshold: float | None = None) -> ScoreScale:
        """Return levels of about equal weight, cut at scores that there are, and at the threshold if there is one."""
        order = np.argsort(score, kind="stable")
        reached = np.cumsum(weight[order]) / weight.sum()
        cuts = score[order][np.searchsorted(reached * LAST, np.arange(1, number) / number)]
        higher = score[score > score.min()]
        # Where a crowd has the lowest score, and all cuts are in it, those above it are a level all the same.
        edges = np.unique(cuts[cuts > score.min()]) if cuts.max() > score.min() else np.unique(higher)[:1]
        if threshold is not None:
            # The level from the threshold on begins with the least score above it, so that somebody is in it.
            least = _least_above(score, threshold)
            edges = np.union1d(edges[(edges < threshold) | (edges > least)], threshold)
        if not len(edges):
            raise DataError(
                f"the estimator gives everybody the same score, {score.min():.3g}: there is nothing to decide by"
            )
        level = np.searchsorted(edges, score, side="right")
        total, summed = (sums(level, each, len(edges) + 1) for each in (weight, weight * score))
        # A mean of equal scores may be below them in its last digit.
        return cls(edges, np.maximum(summed / total, np.append(-np.inf, edges)))

    def __len__(self) -> int:
        return len(self.value)

    def level(self, score: Numbers) -> Cells:
        return np.searchsorted(self.edges, score, side="right")


def _least_above(score: Numbers, threshold: float) -> float:
    """Return the least score that a threshold selects, if it selects some people and not all."""
    selected = score >= threshold
    if selected.all() or not selected.any():
        raise DataError(
            f"at threshold={threshold:g} the estimator selects {'everybody' if selected.any() else 'nobody'}: out of "
            f"fold its scores are from {score.min():.3g} to {score.max():.3g}; choose a threshold among them"
        )
    return float(score[selected].min())


@dataclass(frozen=True, eq=False)
class GroupRelease:
    """What becomes of one group's scores.

    Attributes
    ----------
    score, below, same : arrays
        The distinct scores of the fitted people; of each, the share of its level that is below it, and that has it.
    first : array
        The place of the first score of each level.
    reached : array
        The released levels' cumulative probabilities, one row per level.
    fitted : array
        Which levels somebody of the group is in.
    otherwise : array
        What the others become: themselves, or the nearest level that keeps the order.
    tied : mapping
        Of each score whose people are released as different levels, by its place among the scores: the fitted people's
        ties in order, and the share of them before each. A tie is then as far as it comes among theirs, so that of the
        fitted people as many get each level as is due; without it, those of the people who are asked about together are
        spread evenly.
    """

    score: Numbers
    below: Numbers
    same: Numbers
    first: Cells
    reached: Numbers
    fitted: Flags
    otherwise: Cells
    tied: Mapping[int, tuple[Numbers, Numbers]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, scale: ScoreScale, score: Numbers, weight: Numbers, rows: Numbers, ties: Ties | None = None
    ) -> GroupRelease:
        """Place a group's people in their levels; ``rows`` are the mapping's probabilities for each level.

        ``ties`` says who of them comes before whom among people of one score, where that is to be remembered.
        """
        distinct, at = np.unique(score, return_inverse=True)
        each, level = sums(at, weight, len(distinct)), scale.level(distinct)
        total = sums(level, each, len(scale))
        before = np.cumsum(total) - total
        below = (np.cumsum(each) - each - before[level]) / total[level]
        first = np.searchsorted(level, np.arange(len(scale) + 1))
        fitted = total > 0
        reached = np.cumsum(rows, axis=1)
        found = cls(distinct, below, each / total[level], first, reached, fitted, _between(rows, fitted))
        if ties is None:
            return found
        tied = {}
        for place in np.flatnonzero(found._torn(level, below, found.same)).tolist():
            mine = np.flatnonzero(at == place)
            value, kind = np.unique(ties(mine), return_inverse=True)
            tied[place] = value, np.append(0, np.cumsum(sums(kind, weight[mine], len(value)))) / each[place]
        return replace(found, tied=tied)

    def released(self, scale: ScoreScale, score: Numbers, ties: Ties) -> Cells:
        """Return the level that each score is released as.

        Where people of one score are released as different levels, ``ties`` says who comes before whom.
        """
        level = scale.level(score)
        found = self.otherwise[level].copy()
        known = np.flatnonzero(self.fitted[level])
        level, score = level[known], score[known]
        at = np.searchsorted(self.score, score)
        there = np.minimum(at, len(self.score) - 1)
        # Beyond the last fitted score of its level a person is at the end of it.
        low = np.where(at < self.first[level + 1], self.below[there], 1.0)
        width = np.where(self.score[there] == score, self.same[there], 0.0)
        place = self._at(level, low)
        torn = np.flatnonzero(self._torn(level, low, width))
        if len(torn):
            tie = ties(known[torn])
            for of in np.unique(there[torn]).tolist():
                mine = there[torn] == of
                tie[mine] = _among(self.tied[of], tie[mine]) if of in self.tied else spread(tie[mine])
            place[torn] = self._at(level[torn], low[torn] + width[torn] * tie)
        found[known] = place
        return found

    def _torn(self, level: Cells, low: Numbers, width: Numbers) -> Flags:
        """Return which people, who have a position together, are released as different levels."""
        return np.asarray(self._at(level, low) != self._at(level, low + LAST * width))

    def _at(self, level: Cells, position: Numbers) -> Cells:
        reached = self.reached[level]
        return np.asarray((np.minimum(position, reached[:, -1] * LAST)[:, None] >= reached).sum(axis=1))


def _among(fitted: tuple[Numbers, Numbers], tie: Numbers) -> Numbers:
    """Return which share of the fitted people comes before each tie."""
    value, before = fitted
    return before[np.searchsorted(value, tie)]


def spread(tie: Numbers) -> Numbers:
    """Return ties in their order, one in each of as many equal parts: a draw in which every part gets its share.

    Examples
    --------
    >>> spread(np.array([0.6, 0.5, 0.9, 0.8])).tolist()
    [0.4, 0.125, 0.975, 0.7]
    """
    rank = np.empty(len(tie))
    rank[np.argsort(tie, kind="stable")] = np.arange(len(tie))
    return (rank + tie) / len(tie)


def _between(rows: Numbers, fitted: Flags) -> Cells:
    """Return every level itself, moved as little as keeps it between what the fitted ones beside it become.

    Examples
    --------
    >>> rows = np.array([[0.0, 0.5, 0.5, 0.0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 1, 0]])
    >>> _between(rows, np.array([True, False, False, True])).tolist()
    [1, 2, 2, 2]
    """
    size = len(rows)
    highest = np.where(fitted, size - 1 - np.argmax(rows[:, ::-1] > 0, axis=1), 0)
    lowest = np.where(fitted, np.argmax(rows > 0, axis=1), size - 1)
    low, high = np.maximum.accumulate(highest), np.minimum.accumulate(lowest[::-1])[::-1]
    return np.clip(np.arange(size), np.minimum(low, high), np.maximum(low, high))


def all_released(
    releases: Sequence[GroupRelease], scale: ScoreScale, score: Numbers, group: Cells, ties: Ties
) -> Cells:
    """Return the level that everybody's score is released as, each by their own group's."""
    found = np.zeros(len(score), dtype=np.int64)
    for place in np.unique(group):
        of = np.flatnonzero(group == place)
        found[of] = releases[place].released(scale, score[of], lambda rows, of=of: ties(of[rows]))
    return found
