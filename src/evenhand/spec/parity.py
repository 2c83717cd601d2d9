"""Discrimination control: how far an outcome's rate may differ by group.

Target parity is eq. (1): every group close to one distribution. Pairwise parity is eq. (2): every two groups close to
each other, or every group close to all others together, or to one of them. Both are joint over all protected columns,
or univariate with ``on``; and hold in the whole table, or within segments of it with ``given``, eq. (4).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from evenhand.data.domain import Value
from evenhand.errors import SpecError
from evenhand.spec import check
from evenhand.spec.by import By, change_each, each
from evenhand.spec.distance import Distance, Ratio
from evenhand.spec.frozen import FrozenMap

SUM_TOLERANCE = 1e-9
"""How far the probabilities of a given target may be from summing to one."""

AGAINST = ("each", "rest")

P = TypeVar("P", bound="Parity")


class Parity:
    """A bound on the distance J between rates; see the two kinds below."""

    bound: float | By
    distance: Distance
    on: Sequence[str] | None
    given: Sequence[str] | None
    min_segment: float

    def __post_init__(self) -> None:
        name = type(self).__name__
        object.__setattr__(self, "bound", change_each(self.bound, lambda b: _bound(name, b)))
        if all(math.isinf(bound) for bound in each(self.bound)):
            raise SpecError(f"the bound of {name} must be finite somewhere, not {self.bound}: it would bound nothing")
        if not isinstance(self.distance, Distance):
            raise SpecError(f"the distance of {name} must be a distance such as Ratio(), not {self.distance!r}")
        for what in ("on", "given"):
            object.__setattr__(self, what, _columns(f"{what} of {name}", getattr(self, what)))
        low = check.finite(f"min_segment of {name}", self.min_segment, low=0)
        object.__setattr__(self, "min_segment", low)
        if low and self.given is None:
            raise SpecError(f"min_segment of {name} is about segments; say which with given=[...]")

    def with_bounds(self: P, change: Any) -> P:
        """Return the same constraint with every bound changed; what is not bounded stays so."""
        bound = change_each(self.bound, lambda b: b if math.isinf(b) else change(b))
        return replace(self, bound=bound)  # type: ignore[type-var]

    @property
    def smallest_bound(self) -> float:
        """The smallest of the bounds."""
        return float(min(each(self.bound)))


@dataclass(frozen=True)
class PairwiseParity(Parity):
    """Eq. (2): J(p(ŷ|d1), p(ŷ|d2)) ≤ bound for every outcome and every two groups.

    Parameters
    ----------
    bound : float or By
        The bound ε; by outcome, group, pair of groups or segment with :class:`By`. An infinite value in a By leaves
        that case unbounded.
    distance : Distance
        J; the probability ratio of eq. (3) by default.
    on : sequence of str, optional
        Some of the protected columns: groups are formed by these alone. None is all of them.
    given : sequence of str, optional
        Feature columns: the bound holds within each segment of people who share their original values, eq. (4).
    against : {"each", "rest"} or mapping
        What each group is held against: each other group, in both orders; all other people together; or one reference
        group, as in ``{"sex": "Male"}``.
    min_segment : float
        Segments of a smaller weight are left out, and named in the audit.

    Examples
    --------
    >>> PairwiseParity(0.1).bound
    0.1
    >>> PairwiseParity(0.1, on=["sex"], against={"sex": "Male"}).against
    {'sex': 'Male'}
    """

    bound: float | By
    distance: Distance = field(default_factory=Ratio)
    on: Sequence[str] | None = None
    given: Sequence[str] | None = None
    against: str | Mapping[str, Value] = "each"
    min_segment: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.against, Mapping):
            if not self.against:
                raise SpecError("against of PairwiseParity names a reference group, such as {'sex': 'Male'}")
            levels = {c: check.level(f"against of PairwiseParity: {c!r}", v) for c, v in self.against.items()}
            object.__setattr__(self, "against", FrozenMap(levels))
        else:
            check.one_of("against of PairwiseParity", self.against, AGAINST)


@dataclass(frozen=True)
class TargetParity(Parity):
    """Eq. (1): J(p(ŷ|d), target(ŷ)) ≤ bound for every group and every outcome.

    Parameters
    ----------
    bound : float or By
        The bound ε; by outcome, group or segment with :class:`By`.
    target : mapping or By, optional
        The probability of each outcome; with :class:`By` one distribution a segment. None is the table's own p(y), and
        p(y|b) within segments.
    distance : Distance
        J; the probability ratio of eq. (3) by default.
    on, given, min_segment
        As in :class:`PairwiseParity`.
    released : bool
        Whether ``given`` means the released values of those columns, which a recipient sees, instead of the original
        ones.

    Examples
    --------
    >>> TargetParity(0.15, target={0: 0.6, 1: 0.4}).target
    {0: 0.6, 1: 0.4}
    >>> TargetParity(0.2, given=["age"], target=By({0: 0.6, 1: 0.4}, [({"age": "old"}, {0: 0.5, 1: 0.5})])).given
    ('age',)
    """

    bound: float | By
    target: Mapping[Value, float] | By | None = None
    distance: Distance = field(default_factory=Ratio)
    on: Sequence[str] | None = None
    given: Sequence[str] | None = None
    released: bool = False
    min_segment: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.released, bool):
            raise SpecError(f"released of TargetParity must be true or false, not {self.released!r}")
        if self.released and self.given is None:
            raise SpecError("released of TargetParity is about segments; say which with given=[...]")
        if self.target is not None:
            object.__setattr__(self, "target", change_each(self.target, _distribution))


def _bound(name: str, bound: Any) -> float:
    return check.number(f"the bound of {name}", bound, low=0)


def _columns(what: str, columns: Any) -> tuple[str, ...] | None:
    if columns is None:
        return None
    if isinstance(columns, str):
        raise SpecError(f"{what} must be a list of column names; write [{columns!r}]")
    listed = tuple(columns) if isinstance(columns, Iterable) else ()
    if not listed or not all(isinstance(name, str) for name in listed):
        raise SpecError(f"{what} must name at least one column, not {columns!r}")
    return listed


def _distribution(target: Any) -> Any:
    if not isinstance(target, Mapping):
        raise SpecError(f"the target of TargetParity must be a mapping of outcomes, not {target!r}")
    for level, share in target.items():
        check.number(f"the target's probability of outcome {level!r}", share, low=0, high=1)
    total = sum(target.values())
    if abs(total - 1) > SUM_TOLERANCE:
        raise SpecError(f"the target of TargetParity sums to {total:g}, not to 1")
    return FrozenMap(target)
