"""Impact ratios: how often each category is selected, beside the category that is selected most often.

The table that rules such as New York City's Local Law 144 ask for: people, selected, selection rate and impact ratio by
each protected column and by their intersections, people of unknown category counted, categories of less than two
percent of the people named and left out of the ratios. Ratios; no verdict. Knows counts, kernels and rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.engines import Rows
from evenhand.errors import DataError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source
from evenhand.tables.transforming import Transformer, locate

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
    weighed : bool
        Whether people were counted by weights that are not all one.
    notes : tuple of str
        What else there is to know of who was counted, and how.
    """

    selected: Value
    people: float
    categories: tuple[Category, ...]
    unknown: dict[str, float]
    weighed: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of people: their levels in the protected columns, how much they weigh, how likely they are selected.

    A level is UNSEEN where a person's category is not known.
    """

    variables: tuple[Variable, ...]
    levels: dict[str, Cells]
    weight: Numbers
    before: Numbers
    after: Numbers

    def known(self, names: Sequence[str]) -> Flags:
        """Return whose category is known in all of some columns."""
        return np.asarray(np.all([self.levels[name] != UNSEEN for name in names], axis=0))


def impact(counts: Counts, kernel: Kernel, selected: int, columns: Sequence[str]) -> Impact:
    """Return the impact ratios of an outcome, by its code, for each column and every intersection of two, and of all.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("adult")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = impact(data.counts, mapping.kernel, 1, ["sex", "race"])
    >>> [(c.category, round(c.ratio_before, 3), round(c.ratio_after, 3)) for c in found.categories[:2]]
    [('sex=Female', 0.358, 0.759), ('sex=Male', 1.0, 1.0)]
    """
    groups = counts.domain.d
    levels = {v.name: _level(v, codes) for v, codes in zip(groups.variables, groups.unravel(counts.d), strict=True)}
    before, after = (counts.y == selected).astype(float), outcome_by_source(counts, kernel)[:, selected]
    kinds = _Kinds(groups.variables, levels, counts.weight, before, after)
    return _impact(kinds, counts.domain.outcome.levels[selected], columns, weighed=counts.weighed)


def impact_on(mode: Transformer, rows: Rows, selected: int, columns: Sequence[str]) -> Impact:
    """Return the same of the rows of any table, with what a mode makes of each of them.

    Everybody is counted: of a row that a release leaves as it is, the outcome stays what it is.
    """
    domain = mode.domain
    if not len(rows.people):
        raise DataError("the table has no rows")
    if rows.together:
        # The rows of a frame are looked at where they are read, where each of them has its place.
        axes = dict.fromkeys((domain.d, *mode.reads))
        tables.refuse_gaps(axes, rows.table, rows.where, people=rows.people, text=rows.text)
    nowhere = np.zeros(len(rows.weight), dtype=np.int64)
    # All of them in one cell: weights are checked there, and whether all are one is known of it.
    everybody = Counts.of(domain, nowhere, nowhere, nowhere, rows.weight, rows.people, rows.squares)
    located = locate(mode, rows.table, text=rows.text)
    _, y = located.own()
    before = (y == selected).astype(float)
    _, to_y = domain.split_xy(mode.kernel.targets)
    chance = sums(mode.kernel.rows, mode.kernel.probability * (to_y == selected), len(mode.kernel))
    after = np.where(located.known, chance[located.rows], before)
    counted = rows.weight > 0
    levels = {v.name: _level(v, _codes(v, rows))[counted] for v in domain.d.variables}
    kinds = _Kinds(domain.d.variables, levels, rows.weight[counted], before[counted], after[counted])
    kept, strange, typical = (
        float(rows.weight[those].sum()) for those in (~located.known, y == UNSEEN, located.known & ~located.sourced)
    )
    notes = _notes(kept, strange, typical, mode.then_drawn, " by weight" * everybody.weighed)
    return _impact(kinds, domain.outcome.levels[selected], columns, weighed=everybody.weighed, notes=tuple(notes))


def _notes(kept: float, strange: float, typical: float, then: str, by_weight: str) -> Iterator[str]:
    """Say how many people are left as they are, or drawn otherwise, and how many have an outcome that is no level."""
    if kept > 0:
        yield (
            f"{kept:,.0f} people{by_weight} have a new value, none, or a combination that nobody fitted had: a release "
            f"leaves them as they are, or refuses them; they are counted as they are, before and after"
        )
    if typical > 0:
        yield (
            f"{typical:,.0f} people{by_weight} have a combination that nobody fitted had, and {then}: so they are "
            f"counted after"
        )
    if strange > 0:
        yield f"{strange:,.0f} people{by_weight} have an outcome that nobody fitted had: they are not selected"


def _codes(variable: Variable, rows: Rows) -> Cells:
    found = tables.levels_in(variable, rows.table, text=rows.text)
    return np.asarray(found.level[found.codes])


def _level(variable: Variable, codes: Cells) -> Cells:
    """Return levels, UNSEEN for one that stands for a missing value."""
    return np.where(codes == variable.missing, UNSEEN, codes) if variable.has_missing else codes


def _impact(
    kinds: _Kinds, selected: Value, columns: Sequence[str], *, weighed: bool, notes: tuple[str, ...] = ()
) -> Impact:
    unknown = {name: float(kinds.weight[~kinds.known([name])].sum()) for name in columns}
    found = [category for names in _together(columns) for category in _categories(kinds, names)]
    told = {name: people for name, people in unknown.items() if people}
    return Impact(selected, float(kinds.weight.sum()), tuple(found), told, weighed, notes)


def _together(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each column, every two of them, and all."""
    sizes = dict.fromkeys((1, 2, len(columns)))
    return [names for size in sizes for names in combinations(columns, size)]


def _categories(kinds: _Kinds, names: Sequence[str]) -> Iterator[Category]:
    part = Axis(tuple(variable for variable in kinds.variables if variable.name in names))
    known = kinds.known(names)
    cells, place = np.unique(part.ravel([kinds.levels[name][known] for name in part.names]), return_inverse=True)
    weight = kinds.weight[known]
    people = sums(place, weight, len(cells))
    share = people / float(kinds.weight.sum())
    large = share >= LEAST_SHARE
    numbers = []
    for values in (kinds.before, kinds.after):
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
