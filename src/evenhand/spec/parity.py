"""Discrimination control: how far an outcome's rate may differ by group.

Target parity is eq. (1): every group close to one distribution. Pairwise parity is eq. (2): every two groups close to
each other, or every group close to all others together, or to one of them. Both are joint over all protected columns,
or univariate with ``on``; and hold in the whole table, or within segments of it with ``given``, eq. (4). Rates are
those of each outcome, or of each with all above it; :mod:`evenhand.spec.feature_parity` compares features instead.

A form says who is held against whom (:meth:`Parity.held`), of which events, against which targets, and what it asks for
in words; that is all that others need of it. No module asks which form it is.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, ClassVar, Literal, TypeVar

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Value, in_words
from evenhand.errors import DataError, Setting, SpecError, did_you_mean
from evenhand.records import Keys
from evenhand.spec.by import By, change_each, check_finite, each, fields_of
from evenhand.spec.distance import Distance, Ratio
from evenhand.spec.events import CUMULATIVE, SINGLE, Events, Levels, Outcomes
from evenhand.spec.part import Part
from evenhand.spec.people import EVERYWHERE, People, Population, Segment
from evenhand.tolerances import TARGET_SUM_TOLERANCE

Against = Literal["each", "rest"]

Distribution = Annotated[Mapping[Value, check.Probability], Keys("outcome", "probability")]

P = TypeVar("P", bound="Parity")


class Parity(Part):
    """A bound on the distance J between rates: what every form of it has, and what a form must say.

    Attributes
    ----------
    compares_features : bool
        Whether what is compared is features, not an outcome.
    against_target : bool
        Whether rates are held against a target, eq. (1), and not against each other.
    holds_everybody : bool
        Whether every group is held to the same: to one target, or to every other group.
    own_target : bool
        Whether the target is what the table itself has.
    stated_target : mapping or None
        The one distribution that rates are held against everywhere, if the statement gives it.
    released : bool
        Whether segments are formed by what is released, not by the original values.
    given_outcome : bool
        Whether segments are those of the original outcome, too.
    levels : {"each", "cumulative"}
        Whether rates are those of each outcome, or of each with all above it.
    features : sequence of str or None
        The features that are compared, where not all are or the outcome is.
    """

    key = "kind"
    bound: float | By
    distance: Distance
    on: Sequence[str] | None
    given: Sequence[str] | None
    min_segment: float
    against_target: ClassVar[bool] = False
    holds_everybody: bool = False
    own_target: bool = False
    stated_target: Mapping[Value, float] | None = None
    released: bool = False
    given_outcome: bool = False
    levels: Levels = SINGLE
    features: Sequence[str] | None = None
    compares_features: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        name = type(self).__name__
        check_finite(f"bound of {name}", self.bound)
        if self.min_segment and not self.segmented:
            raise SpecError(f"min_segment of {name} is about segments; say which with ", Setting("given", [...]))

    def with_bounds(self: P, change: Any) -> P:
        """Return the same constraint with every bound changed; what is not bounded stays so."""
        bound = change_each(self.bound, lambda b: b if math.isinf(b) else change(b))
        return self.changed(bound=bound)

    def with_distance(self: P, distance: Distance) -> P:
        """Return the same constraint on another distance."""
        return self.changed(distance=distance)

    def changed(self: P, **changes: Any) -> P:
        """Return the same constraint with some fields changed."""
        return replace(self, **changes)  # type: ignore[type-var]

    @property
    def segmented(self) -> bool:
        """Whether rates are compared within segments of the table."""
        return self.given is not None or self.given_outcome

    @property
    def of_outcomes(self) -> bool:
        """Whether the rates of single outcomes are what is compared."""
        return self.levels == SINGLE and not self.compares_features

    @property
    def beyond_confidence(self) -> str | None:
        """What it is about this form that no margin for a sample is known for; None where one is."""
        if self.compares_features:
            return "features"
        forms = {
            f"given={list(self.given or ())}": self.given is not None,
            "given_outcome=True": self.given_outcome,
            f'levels="{self.levels}"': self.levels != SINGLE,
            f"the distance {type(self.distance).__name__}": not self.distance.at_any_bound,
        }
        return next((form for form, is_so in forms.items() if is_so), None)

    @property
    def beyond_scores(self) -> str | None:
        """What it is about this form that mean scores of a model without D do not have; None where they have it."""
        if self.compares_features:
            return "is not about: it compares features"
        if self.given_outcome:
            return "with given_outcome=True is not about: it would need the propensities of groups and outcomes"
        return (
            "with released=True would hold twice: records stay, so that released segments are the original ones"
            if (self.released)
            else None
        )

    @property
    def smallest_bound(self) -> float:
        """The smallest of the bounds."""
        return float(min(each(self.bound)))

    def people(self, counts: Counts) -> People:
        """Return the groups and segments of a table that the constraint is about."""
        return People.of(counts, type(self).__name__, self.on, self.given, self.released, self.given_outcome)

    def events(self, counts: Counts) -> Events:
        """Return what of a released record is compared: its outcome."""
        return Outcomes.of(counts, type(self).__name__, self.levels)

    def compared(self, counts: Counts) -> Sequence[int]:
        """Return the events that are compared: those of outcomes that the distance is about."""
        variable, events = counts.domain.outcome, Outcomes(counts.domain.y, self.levels == CUMULATIVE)
        for level in self.distance.outcomes():
            if variable.place(level) is None:
                hint = did_you_mean(level, variable.levels)
                raise SpecError(
                    f"the distance of {type(self).__name__} names outcome {level!r}, but the levels of "
                    f"{variable.name!r} are {list(variable.levels)}.{hint}"
                )
        return [y for y in events.compared if self.distance.concerns(variable.levels[y])]

    @abstractmethod
    def held(self, segment: Segment) -> Iterator[tuple[Population, Population | None]]:
        """Yield who is held against whom among the groups of one segment; None stands for the target."""

    def targets(self, people: People, segment: Cells, outcome: Cells) -> Numbers:
        """Return the target's probability of each outcome in each segment; NaN where there is none."""
        return np.full(len(outcome), np.nan)

    def with_own_target(self: P, counts: Counts) -> P:
        """Return the same with the table's own rates written out, where they are the target."""
        return self

    @property
    @abstractmethod
    def words(self) -> str:
        """Say what is bounded, for whom and where."""

    @property
    def where(self) -> str:
        """Say by which columns groups and segments are formed, where the statement names some."""
        by = "" if self.on is None else f" by {' × '.join(self.on)}"
        if not self.segmented:
            return by
        columns = [*(self.given or ()), *(["the original outcome"] * self.given_outcome)]
        return f"{by} within each {'released ' * self.released}segment by {' × '.join(columns)}"

    @property
    def from_levels_on(self) -> str:
        """Say that rates are those of outcomes from a level on, where they are."""
        return ", each outcome taken with all above it" * (self.levels == CUMULATIVE)


class BetweenGroups(Parity):
    """Parity of groups with each other: with each other one, with all other people, or with one reference group."""

    against: Against | Mapping[str, Value]

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.against == {}:
            raise SpecError(f"against of {type(self).__name__} names a reference group, such as {{'sex': 'Male'}}")

    @property
    def holds_everybody(self) -> bool:  # type: ignore[override]
        """Whether each group is held against each other."""
        return self.against == "each"

    def held(self, segment: Segment) -> Iterator[tuple[Population, Population | None]]:
        """Yield every two groups in both orders, or each with the rest of the segment, or with the reference.

        A group whose protected values are missing is nobody's reference, nor held against anybody.
        """
        groups, axis = segment.known_groups(), segment.people.groups
        unknown = len(groups) < len(segment.groups)
        if len(groups) < 2 and unknown and segment.cell == EVERYWHERE and not segment.people.counts.elsewhere:
            raise DataError(
                f"{type(self).__name__} compares groups whose protected values are known, and this table has "
                f"{len(groups)} of them by {list(axis.names)}; find out the missing values, or use TargetParity"
            )
        if not groups:
            return
        if len(groups) < 2:
            only = groups[0].group
            segment.leave_out("parity.one_group", only)
        elif self.against == "each":
            yield from ((own, other) for own in groups for other in groups if own is not other)
        elif self.against == "rest":
            yield from ((own, segment.rest_beside(own)) for own in groups)
        else:
            reference = self._reference(segment.people)
            found = [population for population in groups if population.group == reference]
            if not found and segment.cell == EVERYWHERE and not segment.people.counts.elsewhere:
                raise DataError(f"against of {type(self).__name__}: nobody in the table is {axis.words(reference)}")
            if not found:
                segment.leave_out("parity.no_reference", reference)
            yield from ((own, other) for other in found for own in groups if own is not other)

    def _reference(self, people: People) -> int:
        """Return the reference group, whose name must tell one from all others."""
        named: Any = self.against
        if set(named) != set(people.groups.names):
            raise SpecError(
                f"against of {type(self).__name__} must name one group by the columns {list(people.groups.names)}, not "
                f"{dict(named)!r}"
            )
        codes = []
        for variable in people.groups.variables:
            level = named[variable.name]
            if level not in variable.levels:
                hint = did_you_mean(level, variable.levels)
                raise SpecError(
                    f"against of {type(self).__name__}: {variable.name!r} has no level {level!r}; its levels are "
                    f"{list(variable.levels)}.{hint}"
                )
            if variable.has_missing and level == variable.levels[variable.missing or 0]:
                raise SpecError(
                    f"against of {type(self).__name__} names {variable.name}={level}: people whose group is missing "
                    f"are nobody's reference; name a group whose {variable.name!r} is known"
                )
            codes.append(np.array([variable.levels.index(level)]))
        return int(people.groups.ravel(codes)[0])


@dataclass(frozen=True)
class PairwiseParity(BetweenGroups):
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
        group, as in ``{"sex": "Male"}``. A group with a missing protected value is not compared, so that it never sets
        the rate for others; the audit names it.
    min_segment : float
        Segments of a smaller weight are left out, and named in the audit.
    levels : {"each", "cumulative"}
        Whether the rates are those of each outcome, or of an ordered outcome's level with all above it: Pr(ŷ ≥ k | d)
        for every k, which are the selection rates at every threshold.
    given_outcome : bool
        Whether the bound holds among people of the same original outcome, Pr(ŷ|d,y): who bears the relabelling.

    Examples
    --------
    >>> PairwiseParity(0.1).bound
    0.1
    >>> PairwiseParity(0, levels="cumulative").words
    "for every two groups, each outcome's rates are equal, each outcome taken with all above it"
    >>> PairwiseParity(0.1, on=["sex"], against={"sex": "Male"}).against
    {'sex': 'Male'}
    """

    bound: check.Bound | By
    distance: Distance = field(default_factory=Ratio)
    on: check.Columns | None = None
    given: check.Columns | None = None
    against: Against | Mapping[check.Column, Value] = "each"
    min_segment: check.Nonnegative = 0.0
    levels: Levels = SINGLE
    given_outcome: bool = False
    word = "pairwise"

    @property
    def words(self) -> str:
        """Say how far apart groups may be."""
        if self.against == "each":
            return f"for every two groups{self.where}, {self.distance.apart(self.bound)}{self.from_levels_on}"
        who, other = "every group", "that of all other people"
        if self.against != "rest":
            named: Any = self.against
            who, other = "every other group", f"that of {in_words(named)}"
        return f"for {who}{self.where}, {self.distance.near(self.bound, other)}{self.from_levels_on}"


@dataclass(frozen=True)
class TargetParity(Parity):
    """Eq. (1): J(p(ŷ|d), target(ŷ)) ≤ bound for every group and every outcome.

    Parameters
    ----------
    bound : float or By
        The bound ε; by outcome, group or segment with :class:`By`.
    target : mapping or By, optional
        The probability of each outcome; with :class:`By` one distribution per segment. None is the table's own p(y),
        and p(y|b) within segments.
    distance : Distance
        J; the probability ratio of eq. (3) by default.
    on, given, min_segment, levels
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

    bound: check.Bound | By
    target: Distribution | By | None = None
    distance: Distance = field(default_factory=Ratio)
    on: check.Columns | None = None
    given: check.Columns | None = None
    released: bool = False
    min_segment: check.Nonnegative = 0.0
    levels: Levels = SINGLE
    word = "target"
    against_target = True
    holds_everybody = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.released and self.given is None:
            raise SpecError("released of TargetParity is about segments; say which with ", Setting("given", [...]))
        for target in each(self.target):
            if target is not None and abs(sum(target.values()) - 1) > TARGET_SUM_TOLERANCE:
                raise SpecError(f"target of TargetParity sums to {sum(target.values()):g}, not to 1")

    @property
    def own_target(self) -> bool:  # type: ignore[override]
        """Whether no target is given."""
        return self.target is None

    @property
    def stated_target(self) -> Mapping[Value, float] | None:  # type: ignore[override]
        """The target, if it is the same everywhere."""
        return self.target if isinstance(self.target, Mapping) else None

    def held(self, segment: Segment) -> Iterator[tuple[Population, Population | None]]:
        """Yield every group, to be held against the target."""
        if self.own_target:
            segment.target_counts_missing()
        return ((own, None) for own in segment.groups)

    def targets(self, people: People, segment: Cells, outcome: Cells) -> Numbers:
        """Return the target of each segment, or p(y), within segments p(y | b)."""
        if self.target is None:
            rates = np.empty(len(outcome))
            for cell in np.unique(segment):
                rates[segment == cell] = people.rates_in(int(cell))[outcome[segment == cell]]
            return rates
        variable = people.counts.domain.outcome
        for level in (level for target in each(self.target) for level in target):
            if level not in variable.levels:
                raise SpecError(
                    f"the target names outcome {level!r}, but the levels of {variable.name!r} are "
                    f"{list(variable.levels)}.{did_you_mean(level, variable.levels)}"
                )
        which = np.zeros(len(outcome), dtype=np.int64)
        if isinstance(self.target, By):
            fields = {} if people.segments is None else fields_of(people.segments, segment)
            what, elsewhere = "the target of TargetParity", people.counts.elsewhere
            which = self.target.which(what, fields, None, len(outcome), elsewhere=elsewhere)
        table = [[float(target.get(level, 0.0)) for level in variable.levels] for target in each(self.target)]
        return np.asarray(np.array(table)[which, outcome], dtype=float)

    def with_own_target(self, counts: Counts) -> TargetParity:
        """Return the same with p(y), in segments p(y|b), written out as the target where none is given."""
        if self.target is not None:
            return self
        people, levels = self.people(counts), counts.domain.outcome.levels

        def target(cell: int) -> dict[Value, float]:
            return dict(zip(levels, people.rates_in(cell).tolist(), strict=True))

        if people.segments is None:
            return replace(self, target=target(EVERYWHERE))
        cases = [(people.segments.labels(int(cell)), target(int(cell))) for cell in np.unique(people.segment)]
        return replace(self, target=By(target(EVERYWHERE), cases))

    @property
    def words(self) -> str:
        """Say how near to the target groups must be."""
        if self.target is None:
            target = "its rate in the whole table" if self.given is None else "its rate in the whole segment"
        elif isinstance(self.target, By):
            target = "the target of its segment"
        else:
            target = f"the target ({', '.join(f'{level}: {share:g}' for level, share in self.target.items())})"
        return f"for every group{self.where}, {self.distance.near(self.bound, target)}{self.from_levels_on}"
