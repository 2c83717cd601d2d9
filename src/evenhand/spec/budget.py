"""Distortion control: how much change each individual may undergo, eqs. (5) and (6).

A budget is a list of charges. A charge turns the distortion of a move into what the move costs an individual
(the distortion itself, or one if it exceeds a threshold) and limits the expected charge.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from evenhand.counts import Numbers
from evenhand.errors import SpecError
from evenhand.spec import check
from evenhand.spec.frozen import FrozenMap

Per = Literal["individual", "xy"]
PER = ("individual", "xy")


@dataclass(frozen=True)
class Charge:
    """The expectation of one function of the distortion, and its limit.

    ``threshold`` None charges the distortion itself (eq. 5), else one where it is exceeded (eq. 6).
    """

    limit: float
    threshold: float | None = None

    def of(self, distortion: Numbers) -> Numbers:
        """Return what moves of the given distortion are charged."""
        if self.threshold is None:
            return distortion
        return (distortion > self.threshold).astype(np.float64)

    @property
    def words(self) -> str:
        """Say what is charged."""
        return "expected distortion" if self.threshold is None else f"Pr[distortion > {self.threshold:g}]"


@dataclass(frozen=True)
class ExpectedDistortion:
    """Eq. (5): the expected distortion of each individual is at most ``limit``.

    Parameters
    ----------
    limit : float
        The budget c.
    per : {"individual", "xy"}
        Whether it holds for every (d, x, y), as the paper's equation reads, or for every (x, y) on average
        over D, which is weaker: some groups may be changed more.

    Examples
    --------
    >>> ExpectedDistortion(0.5).charges
    (Charge(limit=0.5, threshold=None),)
    """

    limit: float
    per: Per = "individual"

    def __post_init__(self) -> None:
        object.__setattr__(self, "limit", check.finite("the limit of ExpectedDistortion", self.limit, low=0))
        check.one_of("per of ExpectedDistortion", self.per, PER)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The one charge of this budget."""
        return (Charge(self.limit),)


@dataclass(frozen=True)
class ExcessDistortion:
    """Eq. (6): the probability that the distortion exceeds a threshold is bounded, for several thresholds.

    Parameters
    ----------
    thresholds : mapping of float to float
        For each threshold the largest probability with which it may be exceeded.
    per : {"individual", "xy"}
        As in :class:`ExpectedDistortion`.

    Examples
    --------
    >>> [c.limit for c in ExcessDistortion({0.9: 0.1, 1.9: 0.05}).charges]
    [0.1, 0.05]
    """

    thresholds: Mapping[float, float]
    per: Per = "individual"

    def __post_init__(self) -> None:
        if not isinstance(self.thresholds, Mapping) or not self.thresholds:
            raise SpecError("ExcessDistortion needs at least one threshold with its probability, such as {0.9: 0.1}")
        pairs = sorted(
            (
                check.finite("a threshold of ExcessDistortion", threshold, low=0),
                check.number(f"the probability of exceeding threshold {threshold!r}", probability, low=0, high=1),
            )
            for threshold, probability in self.thresholds.items()
        )
        for (low, allowed), (high, larger) in itertools.pairwise(pairs):
            if larger > allowed:
                raise SpecError(
                    f"threshold {high:g} may be exceeded with probability {larger:g}, more than the lower "
                    f"threshold {low:g} with {allowed:g}; exceeding the higher exceeds the lower as well, so "
                    f"write at most {allowed:g}"
                )
        check.one_of("per of ExcessDistortion", self.per, PER)
        object.__setattr__(self, "thresholds", FrozenMap(dict(pairs)))

    @property
    def charges(self) -> tuple[Charge, ...]:
        """One charge a threshold, ascending."""
        return tuple(Charge(limit, threshold) for threshold, limit in self.thresholds.items())


Budget = ExpectedDistortion | ExcessDistortion
