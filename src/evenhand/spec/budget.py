"""Distortion control: how much change each individual may undergo, eqs. (5) and (6).

A budget is a list of charges. A charge turns the distortion of a move into what the move costs an individual
(the distortion itself, or one if it exceeds a threshold) and limits the expected charge.
"""

from __future__ import annotations

import itertools
import math
from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.errors import SpecError
from evenhand.records import FrozenMap, Keys
from evenhand.spec.by import By, change_each, check_finite, each, fields_of, numbers_at, smallest_at
from evenhand.spec.part import Part

Per = Literal["individual", "xy"]


def _probability(what: str, value: Any) -> float:
    """Return a probability, or infinity where nothing is limited."""
    probability = check.bound(what, value)
    return probability if math.isinf(probability) else check.number(what, probability, high=1)


Allowed = Annotated[float, _probability]


class _Held:
    """What holds for somebody."""

    per: Per

    @property
    def averaged(self) -> bool:
        """Whether it holds for each (x, y) on average over the groups, not for every individual."""
        return self.per == "xy"


@dataclass(frozen=True)
class Charge(_Held):
    """The expectation of one function of the distortion, its limit, and for whom it holds.

    ``threshold`` None charges the distortion itself (eq. 5), else one where it is exceeded (eq. 6). ``of_any_group``:
    people of any group may come to have the (x, y) of those who are counted, and get the same row.
    """

    limit: float | By
    threshold: float | None = None
    per: Per = "individual"
    of_any_group: bool = False

    def of(self, distortion: Numbers) -> Numbers:
        """Return what moves of the given distortion are charged."""
        if self.threshold is None:
            return distortion
        return (distortion > self.threshold).astype(np.float64)

    def holders(self, counts: Counts) -> Cells:
        """Return whose limit each source shares: its own, or with ``per="xy"`` that of its (x, y)."""
        return counts.records.of_source if self.averaged else np.arange(len(counts))

    def limits(self, counts: Counts) -> Numbers:
        """Return the limit of every holder: of each source, or with ``per="xy"`` of each (x, y); infinite for none.

        Where people of any group may come to have a source's row, it is the smallest limit of all groups.
        """
        domain, what = counts.domain, f"the limit of {self.words}"
        if self.averaged:
            x, y = domain.split_xy(counts.records.cells)
            fields = {**fields_of(domain.x, x), **fields_of(domain.y, y)}
            return numbers_at(what, self.limit, fields, len(x), elsewhere=counts.elsewhere)
        record = {**fields_of(domain.x, counts.x), **fields_of(domain.y, counts.y)}
        own = numbers_at(
            what, self.limit, fields_of(domain.d, counts.d) | record, len(counts), elsewhere=counts.elsewhere
        )
        if not self.of_any_group or counts.elsewhere:
            return own
        return smallest_at(what, self.limit, domain.d, record, len(counts))

    @property
    def words(self) -> str:
        """Say what is charged."""
        return "expected distortion" if self.threshold is None else f"Pr[distortion > {self.threshold:g}]"


class Budget(_Held, Part):
    """A bound on the distortion of each individual."""

    key = "kind"

    @property
    @abstractmethod
    def charges(self) -> tuple[Charge, ...]:
        """What it charges, and within which limits."""

    @abstractmethod
    def with_limits(self, change: Any) -> Budget:
        """Return the same budget with every limit changed; what is not limited stays so."""


@dataclass(frozen=True)
class ExpectedDistortion(Budget):
    """Eq. (5): the expected distortion of each individual is at most ``limit``.

    Parameters
    ----------
    limit : float or By
        The budget c, the same for all or by columns of (d, x, y) with :class:`By`.
    per : {"individual", "xy"}
        Whether it holds for every (d, x, y), as the paper's equation reads, or for every (x, y) on average
        over D, which is weaker: some groups may be changed more. A blind mapping has one row per (x, y), which people
        of any group may come to have: limits that differ by group are then the smallest of all groups.

    Examples
    --------
    >>> ExpectedDistortion(0.5).charges
    (Charge(limit=0.5, threshold=None, per='individual', of_any_group=False),)
    >>> ExpectedDistortion(By(0.5, [({"hired": 1}, 0.2)])).limit.default
    0.5
    """

    limit: check.Bound | By
    per: Per = "individual"
    word = "expected"

    def __post_init__(self) -> None:
        super().__post_init__()
        check_finite("limit of ExpectedDistortion", self.limit)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The one charge of this budget."""
        return (Charge(self.limit, None, self.per),)

    def with_limits(self, change: Any) -> ExpectedDistortion:
        """Return the same budget with every limit changed; what is not limited stays so."""
        return replace(self, limit=change_each(self.limit, lambda c: c if math.isinf(c) else change(c)))


@dataclass(frozen=True)
class ExcessDistortion(Budget):
    """Eq. (6): the probability that the distortion exceeds a threshold is bounded, for several thresholds.

    Parameters
    ----------
    thresholds : mapping of float to float or By
        For each threshold the largest probability with which it may be exceeded.
    per : {"individual", "xy"}
        As in :class:`ExpectedDistortion`.

    Examples
    --------
    >>> [c.limit for c in ExcessDistortion({0.9: 0.1, 1.9: 0.05}).charges]
    [0.1, 0.05]
    """

    thresholds: Annotated[Mapping[check.Nonnegative, Allowed | By], Keys("above", "probability")]
    per: Per = "individual"
    word = "excess"

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.thresholds:
            raise check.refused("thresholds of ExcessDistortion", "a mapping such as {0.9: 0.1}", self.thresholds)
        pairs = sorted(self.thresholds.items(), key=lambda pair: pair[0])
        for threshold, allowed in pairs:
            check_finite(f"thresholds of ExcessDistortion at {threshold:g}", allowed)
        for (low, allowed), (high, larger) in itertools.pairwise(pairs):
            if max(each(larger)) > max(each(allowed)):
                raise SpecError(
                    f"threshold {high:g} may be exceeded with probability {max(each(larger)):g}, more than the lower "
                    f"threshold {low:g} with {max(each(allowed)):g}; exceeding the higher exceeds the lower as well, "
                    f"so write at most {max(each(allowed)):g}"
                )
        object.__setattr__(self, "thresholds", FrozenMap(dict(pairs)))

    @property
    def charges(self) -> tuple[Charge, ...]:
        """One charge per threshold, ascending."""
        return tuple(Charge(limit, threshold, self.per) for threshold, limit in self.thresholds.items())

    def with_limits(self, change: Any) -> ExcessDistortion:
        """Return the same budget with every limit changed, to one at most; what is not limited stays so."""

        def changed(c: float) -> float:
            return c if math.isinf(c) else min(1.0, change(c))

        return replace(self, thresholds={t: change_each(c, changed) for t, c in self.thresholds.items()})
