"""Parity of what is released of people's features: whatever a model does with them alone, its rates stay close.

The total variation between p(x̂|d) and p(x̂|d') is the largest difference between the two probabilities of any set of
x̂, so also of the set that a model selects, at any threshold. It needs an x̂ that is drawn, and covers the features of
the problem alone: no other column, and no protected one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evenhand import check
from evenhand.data.counts import Counts
from evenhand.data.domain import Value, in_words
from evenhand.spec.by import By, words_of
from evenhand.spec.distance import Difference, hundredths
from evenhand.spec.events import Events, Features
from evenhand.spec.parity import Against, BetweenGroups
from evenhand.spec.people import part_of


@dataclass(frozen=True)
class FeatureParity(BetweenGroups):
    """TV(p(x̂|d1), p(x̂|d2)) ≤ bound for every two groups.

    Parameters
    ----------
    bound : float or By
        The bound ε; by group or pair of groups with :class:`By`.
    features : sequence of str, optional
        Some of the features: these alone are compared, together. None is all of them.
    on, against
        As in :class:`PairwiseParity`.

    Examples
    --------
    >>> FeatureParity(0.05).words
    'for every two groups, the shares of any set of released features differ by at most 5 percentage points'
    """

    bound: check.Bound | By
    features: check.Columns | None = None
    on: check.Columns | None = None
    against: Against | Mapping[check.Column, Value] = "each"
    word = "features"
    compares_features = True
    distance = Difference()
    given = None
    min_segment = 0.0

    def events(self, counts: Counts) -> Events:
        """Return what of a released record is compared: any set of its features."""
        axis = counts.domain.x
        if self.features is not None:
            axis = part_of("features of FeatureParity", axis, self.features, "feature")
        return Features(axis)

    def compared(self, counts: Counts) -> Sequence[int]:
        """Return the one event there is: the set that tells two groups apart best."""
        return [0]

    @property
    def words(self) -> str:
        """Say how far apart released features may be."""
        of = "released features" if self.features is None else f"released {' × '.join(self.features)}"
        points = words_of(self.bound, hundredths)
        apart = f"the shares of any set of {of} differ by at most {points} percentage points"
        if self.against == "each":
            return f"for every two groups{self.where}, {apart}"
        other = "all other people" if self.against == "rest" else in_words(dict(self.against))
        return f"for every group{self.where} beside {other}, {apart}"
