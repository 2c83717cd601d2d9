"""What charts and summaries show, as plain rows: rates, cohorts, conditional mappings, changes.

Computes from counts and kernel, in expectation over the draws; words and pictures are made elsewhere.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain, Variable
from evenhand.errors import SpecError, did_you_mean
from evenhand.findings.theory import rate_intervals
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import group_rates
from evenhand.spec import Parity, Problem, check, comparisons

JOINT = " · "
"""Between the levels of one cell."""

EVERYBODY = "everybody"

Features = Literal["released", "original"]
Row = dict[str, Any]
Where = Mapping[str, Any]
Mask = NDArray[np.bool_]


def name(axis: Axis, cell: int) -> str:
    """Name a cell by its levels."""
    return JOINT.join(str(level) for level in axis.labels(cell).values())


def where_words(where: Where) -> str:
    """Name part of a table."""
    return ", ".join(f"{column}={level}" for column, level in where.items()) or EVERYBODY


def group_words(group: Where) -> str:
    """Name a group by its levels."""
    return JOINT.join(str(level) for level in group.values()) or EVERYBODY


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
    before, after = counts.outcome_by_group, group_rates(counts, kernel)
    ends = {
        when: rate_intervals(counts, part, confidence=confidence)
        for when, part in (("before", before), ("after", after))
    }
    weight = counts.group_weight
    shown = weight >= hide_below
    bands = permitted(problem, counts, after[shown])
    rows: list[Row] = []
    for g, y in itertools.product(np.flatnonzero(shown), range(before.shape[1])):
        row: Row = {
            "group": name(counts.domain.d, int(counts.groups.cells[g])),
            "columns": counts.domain.d.labels(int(counts.groups.cells[g])),
            "level": counts.domain.outcome.levels[y],
            "weight": float(weight[g]),
        }
        for when, part in (("before", before), ("after", after)):
            low, high = (float(end[g, y]) for end in ends[when])
            row |= {when: float(part[g, y]), f"{when}_low": low, f"{when}_high": high}
        band = bands.get(y, (None, None))
        rows.append(row | {"permitted_low": band[0], "permitted_high": band[1]})
    return rows


def permitted(problem: Problem, counts: Counts, after: Numbers) -> dict[int, tuple[float, float]]:
    """Return for each outcome the band that all groups' rates must lie in, where one plain constraint gives one.

    Against a target the band lies around it; between every two groups it begins at the lowest rate after.
    """
    plain = [parity for parity in problem.parity if _gives_a_band(parity)]
    if not plain or not len(after):
        return {}
    parity = plain[0]
    bound = float(parity.bound)  # type: ignore[arg-type]
    compared = comparisons(parity, counts)
    bands = {}
    for y in np.unique(compared.outcome):
        middle = after[:, y].min()
        if parity.against_target:
            middle = compared.target[compared.outcome == y][0]
        reach = parity.distance.reach(middle, bound) or 0.0
        below = reach if parity.against_target else 0.0
        bands[int(y)] = (max(0.0, float(middle - below)), min(1.0, float(middle + reach)))
    return bands


def _gives_a_band(parity: Parity) -> bool:
    plain = isinstance(parity.bound, int | float) and np.isfinite(parity.bound)
    plain = plain and parity.distance.reach(1.0, 1.0) is not None
    return parity.holds_everybody and plain and not (parity.given or parity.on)


def matching(counts: Counts, where: Where) -> Mask:
    """Return which sources have the levels that are named.

    Examples
    --------
    >>> import evenhand as eh
    >>> counts = eh.datasets.load("compas").counts
    >>> float(counts.weight[matching(counts, {"sex": "Female", "is_recid": 1})].sum())
    393.0
    """
    domain = counts.domain
    mask = np.ones(len(counts), dtype=bool)
    codes = _codes(domain, counts.d, counts.x, counts.y)
    for column, level in where.items():
        mask &= codes[column_named(domain, column).name] == domain.variable(column).code(level)
    return mask


def column_named(domain: Domain, column: str) -> Variable:
    """Return a variable, or say which there are."""
    names = [variable.name for variable in domain.variables]
    if column not in names:
        raise SpecError(f"the mapping has no column {column!r}; it has {names}.{did_you_mean(column, names)}")
    return domain.variable(column)


def _codes(domain: Domain, d: Cells, x: Cells, y: Cells) -> dict[str, Cells]:
    parts = ((domain.d, d), (domain.x, x), (domain.y, y))
    return {n: code for axis, cells in parts for n, code in zip(axis.names, axis.unravel(cells), strict=True)}


def every_group(counts: Counts) -> list[Where]:
    """Return the groups that occur, as levels of the protected columns."""
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def largest_groups(counts: Counts, most: int) -> list[Where]:
    """Return at most so many groups, the largest ones, in their own order."""
    return _first_groups(counts, counts.groups.probability, most)


def most_changed_groups(counts: Counts, changed: Numbers, most: int, *, hide_below: float = 0) -> list[Where]:
    """Return at most so many groups, those with the most people changed, in their own order; of few people, none."""
    people = sums(counts.groups.of_source, counts.weight * changed)
    weight = counts.group_weight
    return _first_groups(counts, np.where(weight >= hide_below, people, -np.inf), most)


def _first_groups(counts: Counts, worth: Numbers, most: int) -> list[Where]:
    place = np.argsort(-worth, kind="stable")[:most]
    return [counts.domain.d.labels(int(counts.groups.cells[i])) for i in np.sort(place) if worth[i] > -np.inf]


def cohort_axis(domain: Domain, by: Sequence[str] | None) -> Axis:
    """Return the features that cohorts are formed by; None takes all."""
    if by is None:
        return domain.x
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
    y = outcome_code(counts.domain, outcome)
    axis = cohort_axis(counts.domain, by)
    rows = []
    for group in groups:
        mask = matching(counts, group)
        before = _cohort_weights(counts, mask, y, axis)
        after = _released_weights(counts, kernel, mask, y, axis, features)
        for x in np.flatnonzero(before[0]):
            people, released = float(before[0][x]), float(after[0][x])
            if min(people, released) < max(hide_below, np.finfo(float).tiny):
                continue
            row = {"group": group_words(group), "cell": int(x), "people": people, "released_people": released}
            rates = float(before[1][x] / people), float(after[1][x] / released)
            rows.append(row | {"before": rates[0], "after": rates[1], "change": rates[1] - rates[0]})
    return rows


def _cohort_weights(counts: Counts, mask: Mask, y: int, axis: Axis) -> tuple[Numbers, Numbers]:
    """Return the weight of each cohort among some sources, and of those with the outcome."""
    x, weight = counts.domain.x.cells_of(axis, counts.x[mask]), counts.weight[mask]
    return sums(x, weight, axis.size), sums(x, weight * (counts.y[mask] == y), axis.size)


def _released_weights(
    counts: Counts, kernel: Kernel, mask: Mask, y: int, axis: Axis, features: Features
) -> tuple[Numbers, Numbers]:
    """Return the expected weight released into each cohort (or from it), and that with the outcome."""
    kept = mask[kernel.rows]
    to_x, to_y = counts.domain.split_xy(kernel.targets[kept])
    rows = kernel.rows[kept]
    mass = counts.weight[rows] * kernel.probability[kept]
    x = counts.domain.x.cells_of(axis, to_x if features == "released" else counts.x[rows])
    return sums(x, mass, axis.size), sums(x, mass * (to_y == y), axis.size)


def moves(counts: Counts, kernel: Kernel, where: Where, *, least: float = 0.05, hide_below: float = 0) -> list[Row]:
    """Return P(x̂, ŷ | d, x, y) of part of the table, a row an entry: figure 3.

    Sources are named by the columns that ``where`` leaves open. A target is listed only if its probabilities sum to
    more than ``least`` over the sources shown.
    """
    mask = matching(counts, where) & (counts.weight >= hide_below)
    kept = mask[kernel.rows]
    rows, targets, probability = kernel.rows[kept], kernel.targets[kept], kernel.probability[kept]
    total = dict(zip(*_totals(targets, probability), strict=True))
    sources = {int(row): _source_name(counts, int(row), where) for row in np.unique(rows)}
    return [
        {
            "source": sources[int(row)],
            "target": _target_name(counts.domain, int(target)),
            "source_cell": (int(counts.x[row]), int(counts.y[row]), int(counts.d[row])),
            "target_cell": int(target),
            "probability": float(p),
            "people": float(counts.weight[row]),
        }
        for row, target, p in zip(rows, targets, probability, strict=True)
        if total[int(target)] > least
    ]


def _totals(targets: Cells, probability: Numbers) -> tuple[list[int], list[float]]:
    cells, place = np.unique(targets, return_inverse=True)
    return cells.tolist(), sums(place, probability, len(cells)).tolist()


def open_columns(counts: Counts, where: Where) -> list[str]:
    """Return the columns that part of a table leaves open."""
    return [variable.name for variable in counts.domain.variables if variable.name not in where]


def _source_name(counts: Counts, row: int, where: Where) -> str:
    domain = counts.domain
    levels = {
        **domain.d.labels(int(counts.d[row])), **domain.x.labels(int(counts.x[row])),
        **domain.y.labels(int(counts.y[row])),
    }  # fmt: skip
    return JOINT.join(str(level) for column, level in levels.items() if column not in where) or where_words(where)


def _target_name(domain: Domain, target: int) -> str:
    x, y = divmod(target, domain.y.size)
    return JOINT.join((name(domain.x, x), name(domain.y, y)))


def changes(counts: Counts, kernel: Kernel) -> list[Row]:
    """Return for each group, column and pair of levels how likely a person with the one is released with the other.

    The most frequent change of all first; ``people`` is the expected number in the group.
    """
    found: list[Row] = []
    for column, old, new in _columns_moved(counts, kernel):
        found += _column_changes(counts, kernel, column, old, new)
    total: dict[tuple[str, str], float] = {}
    for row in found:
        key = (row["column"], row["change"])
        total[key] = total.get(key, 0.0) + row["people"]
    return sorted(found, key=lambda row: -total[row["column"], row["change"]])


def _columns_moved(counts: Counts, kernel: Kernel) -> Iterator[tuple[Variable, Cells, Cells]]:
    """Yield each feature and the outcome with its codes before and after, an entry of the kernel each."""
    domain, rows = counts.domain, kernel.rows
    to_x, to_y = domain.split_xy(kernel.targets)
    before = (*domain.x.unravel(counts.x[rows]), counts.y[rows])
    after = (*domain.x.unravel(to_x), to_y)
    yield from zip((*domain.x.variables, domain.outcome), before, after, strict=True)


def _column_changes(counts: Counts, kernel: Kernel, column: Variable, old: Cells, new: Cells) -> Iterator[Row]:
    size, n_groups = len(column), len(counts.groups.cells)
    mass = counts.weight[kernel.rows] * kernel.probability
    key = np.ravel_multi_index((counts.groups.of_source[kernel.rows], old, new), (n_groups, size, size))
    moved = sums(key, mass, n_groups * size * size).reshape(n_groups, size, size)
    had = moved.sum(axis=2)
    for group, i, j in zip(*np.nonzero(moved), strict=True):
        if i != j:
            yield {
                "group": name(counts.domain.d, int(counts.groups.cells[group])),
                "column": column.name,
                "change": f"{column.levels[i]} → {column.levels[j]}",
                "from": column.levels[i],
                "to": column.levels[j],
                "people": float(moved[group, i, j]),
                "had": float(had[group, i]),
                "probability": float(moved[group, i, j] / had[group, i]),
            }


@dataclass(frozen=True)
class Chosen:
    """Parts of a table chosen to be shown.

    Attributes
    ----------
    parts : list
        Those with the most people changed.
    held : tuple of str
        The features that each of them holds at one level, beside group and outcome.
    number : int
        In how many such parts anybody who may be shown is changed.
    people, everybody : float
        How many people are expected to change in the parts chosen, and in the whole table.
    """

    parts: list[Where]
    held: tuple[str, ...]
    number: int
    people: float
    everybody: float


def most_changed(
    counts: Counts, kernel: Kernel, changed: Numbers, *, panels: int = 4, most: int = 9, hide_below: float = 0
) -> Chosen:
    """Choose what a heat map should show: the parts of the table with the most people changed (people × probability).

    A part is a group and an outcome. Where such a part would have more cells than ``most``, features are held at one
    level each as well, those first that change least. Cells of fewer people than ``hide_below`` do not count.
    """
    domain = counts.domain
    shown = counts.weight >= hide_below
    mass = counts.weight * changed * shown
    held = _held(counts, kernel, shown, most)
    codes = _codes(domain, counts.d, counts.x, counts.y)
    names = (*domain.d.names, domain.outcome.name, *held)
    _, first, part = np.unique(np.stack([codes[n] for n in names]), axis=1, return_index=True, return_inverse=True)
    total = sums(part.ravel(), mass)
    order = [int(at) for at in np.argsort(-total, kind="stable")[:panels] if total[at] > 0]
    parts = [{n: domain.variable(n).levels[int(codes[n][first[at]])] for n in names} for at in order]
    everybody = float(counts.weight @ changed)
    return Chosen(list(parts), held, int((total > 0).sum()), float(total[order].sum()), everybody)


def _held(counts: Counts, kernel: Kernel, shown: Mask, most: int) -> tuple[str, ...]:
    """Return the features to hold so that no part has more than so many cells, those that change least first."""
    moved = {
        column.name: float(_moving(counts, kernel, old, new)) for column, old, new in _columns_moved(counts, kernel)
    }
    codes = _codes(counts.domain, counts.d, counts.x, counts.y)
    held: list[str] = []
    for column in sorted(counts.domain.x.names, key=lambda name: moved[name]):
        key = [counts.d, counts.y, *(codes[name] for name in held)]
        if np.unique(np.stack(key)[:, shown], axis=1, return_counts=True)[1].max(initial=0) <= most:
            break
        held.append(column)
    return tuple(name for name in counts.domain.x.names if name in held)


def _moving(counts: Counts, kernel: Kernel, old: Cells, new: Cells) -> float:
    return float(counts.weight[kernel.rows] @ (kernel.probability * (old != new)))
