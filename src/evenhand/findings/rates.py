"""Rates of outcomes by group and by cohort, before and after: with intervals, and the band where they must lie.

In expectation over the draws; words and pictures are made elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from evenhand import check
from evenhand.arrays import Numbers, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain, Value
from evenhand.errors import SpecError
from evenhand.findings.discretion import Discretion
from evenhand.findings.document import Row
from evenhand.findings.naming import Where, group_levels, matching, short_name
from evenhand.findings.theory import rate_intervals
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import group_rates
from evenhand.spec import Problem, comparisons

Features = Literal["released", "original"]


def shown_outcomes(domain: Domain) -> list[Value]:
    """Return the outcomes that are worth showing: of two, one follows from the other."""
    return [domain.outcome.levels[y] for y in domain.shown_outcomes]


def outcome_code(domain: Domain, outcome: Any = None) -> int:
    """Return the outcome whose rates are shown: the last one unless another is named."""
    return domain.y.size - 1 if outcome is None else domain.outcome.code(outcome)


def rates(
    problem: Problem, counts: Counts, kernel: Kernel, *, confidence: float = 0.95, hide_below: float = 0
) -> list[Row]:
    """Return each group's rates before and after with intervals that hold all at once, and the permitted band.

    Groups of fewer people than ``hide_below`` are left out, and the band is that of the others: it begins at the lowest
    rate, which would tell the hidden one.
    """
    parts = {"before": counts.outcome_by_group, "after": group_rates(counts, kernel)}
    ends = {when: rate_intervals(counts, part, confidence=confidence) for when, part in parts.items()}
    weight = counts.group_weight
    shown = Discretion(counts, hide_below).groups
    held = ~counts.domain.d.has_missing(counts.groups.cells) | any(parity.against_target for parity in problem.parity)
    bands = permitted(problem, counts, parts["after"][shown & held])
    rows: list[Row] = []
    levels = group_levels(counts)
    for g, y in itertools.product(np.flatnonzero(shown), range(counts.domain.y.size)):
        group = levels[g]
        row: Row = {
            "group": short_name(group),
            "columns": group,
            "level": counts.domain.outcome.levels[y],
            "weight": float(weight[g]),
        }
        for when, part in parts.items():
            low, high = (float(end[g, y]) for end in ends[when])
            row |= {when: float(part[g, y]), f"{when}_low": low, f"{when}_high": high}
        # No other group is compared with people whose group is missing.
        band = bands.get(y, (None, None)) if held[g] else (None, None)
        rows.append(row | {"permitted_low": band[0], "permitted_high": band[1]})
    return rows


def permitted(problem: Problem, counts: Counts, after: Numbers) -> dict[int, tuple[float, float]]:
    """Return for each outcome the band that all groups' rates must lie in, where one plain constraint gives one.

    Against a target the band lies around it; between every two groups it begins at the lowest rate after.
    """
    for parity in problem.parity:
        plain = parity.holds_everybody and parity.of_outcomes and not parity.segmented and not parity.on
        if not plain or parity.distance.reach(1.0, 1.0) is None:
            continue
        if isinstance(parity.bound, int | float) and np.isfinite(parity.bound):
            break
    else:
        return {}
    if not len(after):
        return {}
    compared, bands = comparisons(parity, counts), {}
    for y in np.unique(compared.event):
        middle = compared.target[compared.event == y][0] if parity.against_target else after[:, y].min()
        reach = parity.distance.reach(middle, parity.bound) or 0.0
        below = reach if parity.against_target else 0.0
        bands[int(y)] = (max(0.0, float(middle - below)), min(1.0, float(middle + reach)))
    return bands


def cohort_axis(domain: Domain, by: Sequence[str] | None) -> Axis:
    """Return the features that cohorts are formed by; None takes all."""
    if by is None:
        return domain.x
    if not by:
        raise SpecError("by must name at least one of the features")
    for column in by:
        check.one_of("a column of by", column, domain.x.names)
    return Axis(tuple(variable for variable in domain.x.variables if variable.name in by))


def cohorts(
    counts: Counts,
    kernel: Kernel,
    groups: Sequence[Where],
    *,
    by: Sequence[str] | None = None,
    outcome: Any = None,
    features: Features = "released",
    hide_below: float = FEW_PEOPLE,
) -> list[Row]:
    """Return the rates of an outcome by group and cohort x, before and after: figures 4 and 5.

    A cohort is a combination of the features in ``by``; None takes all of them.
    ``features="released"`` compares p(ŷ|x̂, d) with p(y|x, d): those who are released as x with those who are x.
    ``"original"`` compares p(ŷ|x, d): the same people, whatever features they are released with. A cohort with fewer
    people than ``hide_below``, before or after, is left out.
    """
    y, axis = outcome_code(counts.domain, outcome), cohort_axis(counts.domain, by)
    own = counts.domain.x.cells_of(axis, counts.x)
    to_x, to_y = counts.domain.split_xy(kernel.targets)
    to = counts.domain.x.cells_of(axis, to_x) if features == "released" else own[kernel.rows]
    rows, shown = [], Discretion(counts, hide_below)
    for group in groups:
        mask = matching(counts, group)
        heads = shown.people * mask
        enough = shown.parts(sums(own, heads, axis.size))
        enough &= shown.parts(sums(to, heads[kernel.rows] * kernel.probability, axis.size))
        weight, mass = counts.weight * mask, (counts.weight * mask)[kernel.rows] * kernel.probability
        before, before_y = sums(own, weight, axis.size), sums(own, weight * (counts.y == y), axis.size)
        after, after_y = sums(to, mass, axis.size), sums(to, mass * (to_y == y), axis.size)
        for x in np.flatnonzero(before):
            people, released = float(before[x]), float(after[x])
            # Where nobody is released there is no rate.
            if released == 0 or not enough[x]:
                continue
            row = {"group": short_name(group), "cell": int(x), "people": people, "released_people": released}
            old, new = float(before_y[x] / people), float(after_y[x] / released)
            rows.append(row | {"before": old, "after": new, "change": new - old})
    return rows
