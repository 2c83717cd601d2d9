"""Impact ratios: how often each category is selected, beside the category that is selected most often.

The table that rules such as New York City's Local Law 144 ask for: people, selected, selection rate and impact ratio by
each protected column and by their intersections, people of unknown category counted, categories of less than two
percent of the people named and left out of the ratios. Ratios; no verdict. Knows counts and kernels.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Value
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source

LEAST_SHARE = 0.02
"""Categories of a smaller share of the people are named, and have no ratio."""

UNDER = "under 2% of the people: no ratio"


@dataclass(frozen=True)
class Category:
    """One category: who, how many, how often they are selected before and after, and the ratios to the highest rates.

    ``ratio_before`` and ``ratio_after`` are None for a category that is too small, and where nobody is selected.
    """

    by: str
    category: str
    people: float
    share: float
    selected_before: float
    rate_before: float
    ratio_before: float | None
    selected_after: float
    rate_after: float
    ratio_after: float | None
    note: str


@dataclass(frozen=True)
class Impact:
    """Impact ratios of a table, by one column or several.

    Attributes
    ----------
    selected : level
        The outcome that counts as being selected.
    people : float
        Everybody, by weight.
    categories : tuple of Category
        In the order of columns and levels.
    unknown : dict
        For each column, how many people have no category there; they are in no ratio by it.
    """

    selected: Value
    people: float
    categories: tuple[Category, ...]
    unknown: dict[str, float]


def impact(
    counts: Counts, kernel: Kernel, selected: int, columns: Sequence[str], unknown: dict[str, float] | None = None
) -> Impact:
    """Return the impact ratios of an outcome, by its code, for each column and every intersection of two, and of all.

    ``unknown`` are people who are not in the counts, because they have no level of a column.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("adult")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = impact(data.counts, mapping.kernel, 1, ["sex", "race"])
    >>> [(c.category, round(c.ratio_before, 3), round(c.ratio_after, 3)) for c in found.categories[:2]]
    [('sex=Female', 0.358, 0.759), ('sex=Male', 1.0, 1.0)]
    """
    after = outcome_by_source(counts, kernel)[:, selected]
    before = (counts.y == selected).astype(float)
    missing = dict(unknown or {})
    for variable in counts.domain.d.variables:
        if variable.has_missing and variable.name in columns:
            (codes,) = (
                counts.domain.d.unravel(counts.d)[i]
                for i, each in enumerate(counts.domain.d.variables)
                if each.name == variable.name
            )
            without = float(counts.weight[codes == variable.missing].sum())
            missing[variable.name] = missing.get(variable.name, 0.0) + without
    parts = [Axis(tuple(v for v in counts.domain.d.variables if v.name in names)) for names in _together(columns)]
    found = [category for part in parts for category in _categories(part, counts, before, after)]
    total = float(counts.weight.sum()) + sum((unknown or {}).values())
    level = counts.domain.outcome.levels[selected]
    return Impact(level, total, tuple(found), {name: missing[name] for name in columns if missing.get(name)})


def _together(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each column, every two of them, and all."""
    sizes = dict.fromkeys((1, 2, len(columns)))
    return [names for size in sizes for names in combinations(columns, size)]


def _categories(part: Axis, counts: Counts, before: Numbers, after: Numbers) -> Iterator[Category]:
    cell: Cells = counts.domain.d.cells_of(part, counts.d)
    known = np.ones(len(counts), dtype=bool)
    for variable, codes in zip(part.variables, part.unravel(cell), strict=True):
        known &= codes != variable.missing if variable.has_missing else True
    cells, place = np.unique(cell[known], return_inverse=True)
    weight = counts.weight[known]
    people = sums(place, weight, len(cells))
    share = people / float(counts.weight.sum())
    large = share >= LEAST_SHARE
    numbers = []
    for values in (before, after):
        selected = sums(place, weight * values[known], len(cells))
        rate = selected / people
        highest = float(rate[large].max(initial=0.0))
        numbers.append((selected, rate, rate / highest if highest > 0 else np.full(len(cells), np.nan)))
    name = " × ".join(part.names)
    for i, own in enumerate(cells):
        ratios = [float(ratio[i]) if large[i] and np.isfinite(ratio[i]) else None for _, _, ratio in numbers]
        (chosen, rate, _), (chosen_after, rate_after, _) = numbers
        yield Category(
            by=name, category=part.words(int(own)), people=float(people[i]), share=float(share[i]),
            selected_before=float(chosen[i]), rate_before=float(rate[i]), ratio_before=ratios[0],
            selected_after=float(chosen_after[i]), rate_after=float(rate_after[i]), ratio_after=ratios[1],
            note="" if large[i] else UNDER,
        )  # fmt: skip
