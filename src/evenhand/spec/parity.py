"""Discrimination control: how far an outcome's rate may differ by group.

Target parity is eq. (1): every group close to one distribution. Pairwise parity is eq. (2): every two groups
close to each other. Both are joint over all protected columns.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from evenhand.counts import Counts, Numbers
from evenhand.domain import Value
from evenhand.errors import SpecError, did_you_mean
from evenhand.spec import check
from evenhand.spec.distance import Distance, Ratio
from evenhand.spec.frozen import FrozenMap

SUM_TOLERANCE = 1e-9
"""How far the probabilities of a given target may be from summing to one."""


class Parity:
    """A bound on the distance J between rates; see the two kinds below."""

    bound: float
    distance: Distance

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "bound", check.finite(f"the bound of {name}", self.bound, low=0))
        if not isinstance(self.distance, Distance):
            raise SpecError(f"the distance of {name} must be a distance such as Ratio(), not {self.distance!r}")


@dataclass(frozen=True)
class PairwiseParity(Parity):
    """Eq. (2): J(p(ŷ|d1), p(ŷ|d2)) ≤ bound for every two groups and every outcome.

    Parameters
    ----------
    bound : float
        The bound ε.
    distance : Distance
        J; the probability ratio of eq. (3) by default.

    Examples
    --------
    >>> PairwiseParity(0.1)
    PairwiseParity(bound=0.1, distance=Ratio())
    """

    bound: float
    distance: Distance = field(default_factory=Ratio)


@dataclass(frozen=True)
class TargetParity(Parity):
    """Eq. (1): J(p(ŷ|d), target(ŷ)) ≤ bound for every group and every outcome.

    Parameters
    ----------
    bound : float
        The bound ε.
    target : mapping, optional
        The probability of each outcome; None is the table's own p(y).
    distance : Distance
        J; the probability ratio of eq. (3) by default.

    Examples
    --------
    >>> TargetParity(0.15, target={0: 0.6, 1: 0.4}).target
    {0: 0.6, 1: 0.4}
    """

    bound: float
    target: Mapping[Value, float] | None = None
    distance: Distance = field(default_factory=Ratio)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.target is None:
            return
        if not isinstance(self.target, Mapping):
            raise SpecError(f"the target of TargetParity must be a mapping of outcomes, not {self.target!r}")
        for level, share in self.target.items():
            check.number(f"the target's probability of outcome {level!r}", share, low=0, high=1)
        total = sum(self.target.values())
        if abs(total - 1) > SUM_TOLERANCE:
            raise SpecError(f"the target of TargetParity sums to {total:g}, not to 1")
        object.__setattr__(self, "target", FrozenMap(self.target))

    def distribution(self, counts: Counts) -> Numbers:
        """Return the target as an array over the levels of the outcome."""
        if self.target is None:
            return counts.outcome
        levels = counts.domain.outcome.levels
        for level in self.target:
            if level not in levels:
                raise SpecError(
                    f"the target names outcome {level!r}, but the levels of {counts.domain.outcome.name!r} are "
                    f"{list(levels)}.{did_you_mean(level, levels)}"
                )
        return np.array([self.target.get(level, 0.0) for level in levels])
