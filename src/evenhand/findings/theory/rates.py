"""What the other files share: who is in a group, what a source becomes, and how far apart rates are.

Plain arrays in, plain arrays out; a row of ``rates`` is a group that occurs, a column an outcome.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain
from evenhand.errors import SpecError
from evenhand.kernel import Kernel
from evenhand.render.section import Note
from evenhand.spec import Ratio
from evenhand.tables import labels
from evenhand.tolerances import SAME_WEIGHT

MOST_PEOPLE = 2**62
"""A search for a number of people ends here, and no larger one can be given."""


def by_group_and_outcome(counts: Counts) -> dict[str, Any]:
    """Return the first columns of a table with a row for each group and outcome."""
    groups, outcomes = counts.groups.cells, counts.domain.y.size
    return {
        **labels(counts.domain.d, np.repeat(groups, outcomes)),
        **labels(counts.domain.y, np.tile(np.arange(outcomes), len(groups))),
    }


def number_of_people(counts: Counts, people: int | None) -> int:
    """Return the given number of independent people, or the rows that were counted."""
    return counts.people if people is None else check.whole("people", people, low=1, high=MOST_PEOPLE)


def people_notes(counts: Counts, people: int) -> tuple[Note, ...]:
    """Return what was assumed where the table's weights do not sum to the number of people."""
    total = float(counts.weight.sum())
    if math.isclose(total, people, rel_tol=SAME_WEIGHT):
        return ()
    return (Note("theory.weights", {"total": total, "people": people}),)


def share(what: str, value: float) -> float:
    """Return a number strictly between zero and one."""
    checked = check.number(what, value, low=0, high=1)
    if checked in (0.0, 1.0):
        raise SpecError(f"{what} must lie strictly between 0 and 1, not be {checked:g}")
    return checked


def l1_distance(counts: Counts, kernel: Kernel) -> float:
    """Return Σ|p − r| over records (x, y), original and released, whatever utility was minimised."""
    cells = np.union1d(counts.records.cells, kernel.targets)
    joint = counts.probability[kernel.rows] * kernel.probability
    released = sums(np.searchsorted(cells, kernel.targets), joint, len(cells))
    return float(np.abs(counts.records.at(cells) - released).sum())


def regrouped(counts: Counts, kernel: Kernel, on: Sequence[str]) -> tuple[Counts, Kernel]:
    """Return the same table and mapping with groups formed by some of the protected columns alone.

    The other protected columns become features that never change, so every cell and every move stays what it is, and
    what is said of groups is said of the coarser ones.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> counts, kernel = regrouped(data.counts, mapping.kernel, ["race"])
    >>> from evenhand.findings.naming import group_names
    >>> group_names(counts)
    ['race=African-American', 'race=Caucasian']
    """
    domain = counts.domain
    for name in on:
        check.one_of("a column of on", name, domain.d.names)
    codes = dict(zip(domain.d.names, domain.d.unravel(counts.d), strict=True))
    own = Axis(tuple(v for v in domain.d.variables if v.name in on))
    rest = Axis(tuple(v for v in domain.d.variables if v.name not in on))
    if not rest.variables:
        return counts, kernel
    wider = Domain(own, Axis((*rest.variables, *domain.x.variables)), domain.y)
    d, other = (axis.ravel([codes[name] for name in axis.names]) for axis in (own, rest))
    x = other * domain.x.size + counts.x
    order = np.argsort(wider.dxy(d, x, counts.y))
    again = Counts(
        wider, d[order], x[order], counts.y[order], counts.weight[order], counts.cell_people[order],
        counts.cell_squares[order],
    )  # fmt: skip
    asked, entry = kernel.entries(order)
    to_x, to_y = domain.split_xy(kernel.targets[entry])
    targets = wider.xy(other[order][asked] * domain.x.size + to_x, to_y)
    starts = np.concatenate([[0], np.cumsum(np.diff(kernel.starts)[order])])
    return again, Kernel(starts, targets, kernel.probability[entry])


def of_groups(counts: Counts, kernel: Kernel, groups: Flags) -> tuple[Counts, Kernel]:
    """Return the part of a table that some groups are, and of a mapping what is theirs."""
    kept = np.flatnonzero(groups[counts.groups.of_source])
    part = Counts(
        counts.domain, counts.d[kept], counts.x[kept], counts.y[kept], counts.weight[kept], counts.cell_people[kept],
        counts.cell_squares[kept],
    )  # fmt: skip
    _, entry = kernel.entries(kept)
    starts = np.concatenate([[0], np.cumsum(np.diff(kernel.starts)[kept])])
    return part, Kernel(starts, kernel.targets[entry], kernel.probability[entry])


def group_sums(counts: Counts, values: Numbers) -> Numbers:
    """Add values up by group along their first axis, that of the sources, which are sorted by group."""
    starts = np.searchsorted(counts.groups.of_source, np.arange(len(counts.groups.cells)))
    return np.asarray(np.add.reduceat(values, starts))


def largest_ratio(rates: Numbers, target: Numbers | None = None) -> Numbers:
    """Return the largest |ratio − 1| over outcomes and groups; leading axes of ``rates`` are kept.

    Between every two groups where there is no target. A group whose rates are not numbers is left out.

    Examples
    --------
    >>> largest_ratio(np.array([[0.5, 0.5], [0.4, 0.6]])).round(6).item()
    0.25
    >>> largest_ratio(np.array([[0.5, 0.5], [0.4, 0.6]]), np.array([0.5, 0.5])).round(6).item()
    0.2
    """
    if target is None:
        # |p/q − 1| is largest for the largest over the smallest rate: a/b − 1 ≥ 1 − b/a.
        value = Ratio().value(np.nanmax(rates, axis=-2), np.nanmin(rates, axis=-2))
        return np.asarray(value.max(axis=-1))
    value = Ratio().value(rates, np.broadcast_to(target, rates.shape))
    return np.asarray(np.nanmax(value, axis=(-2, -1)))
