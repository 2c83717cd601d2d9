"""Impact ratios: how often each category is selected, beside the category that is selected most often.

The table that rules such as New York City's Local Law 144 ask for: people, selected, selection rate and impact ratio by
each protected column and by their intersections, people of unknown category counted, categories of less than two
percent of the people named and left out of the ratios. Categories of few people are hidden unless they are asked for.
Ratios; no verdict. Knows counts, kernels and rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Flags, Numbers, alike, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.data.weighting import Unit
from evenhand.engines import Rows
from evenhand.errors import DataError
from evenhand.findings.discretion import combinations_shown, not_shown
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source
from evenhand.render.finding import Finding
from evenhand.render.section import Column, Fact, Kind, Note, Section, Table
from evenhand.tables.transforming import Transformer, locate

LEAST_SHARE = 0.02
"""Categories of a smaller share of the people are named, and have no ratio."""

UNDER, NO_HIGHEST = Note("impact.under", {"least": LEAST_SHARE}), Note("impact.no_highest")

KINDS: dict[str, Kind] = {
    "by": "text", "category": "text", "people": "people", "share": "share", "selected_before": "number",
    "rate_before": "fraction", "ratio_before": "fraction", "selected_after": "number", "rate_after": "fraction",
    "ratio_after": "fraction", "note": "text",
}  # fmt: skip


@dataclass(frozen=True)
class Category:
    """One category: who, how many, how often they are selected before and after, and the ratios to the highest rates.

    ``ratio_before`` and ``ratio_after`` are None for a category that is too small, where nobody is selected, and where
    the category with the highest rate is hidden.
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
    note: Note | None


@dataclass(frozen=True, repr=False)
class Impact(Finding):
    """Impact ratios of a table, by one column or several.

    Attributes
    ----------
    selected : level
        The outcome that counts as being selected.
    people : float
        Everybody, by weight.
    categories : tuple of Category
        In the order of columns and levels; those that are hidden are left out.
    hidden : int
        How many are.
    together : str
        The columns of the largest intersections.
    unknown : dict
        For each column, how many people have no category there, None where that is hidden; they are in no ratio by it.
    weighed : bool
        Whether people were counted by weights that are not all one.
    notes : tuple of Note
        What else there is to know of who was counted, and how.
    """

    selected: Value
    people: float
    categories: tuple[Category, ...]
    hidden: int
    together: str
    unknown: dict[str, float | None]
    weighed: bool = False
    notes: tuple[Note, ...] = ()

    @property
    def sections(self) -> tuple[Section, ...]:
        """The categories, and who is in no ratio."""
        return (self._section(self.categories, *self._unknown(), Note("impact.no_verdict")),)

    @property
    def in_short(self) -> Section:
        """The categories that all columns form together."""
        return self._section([each for each in self.categories if each.by == self.together], Note("impact.no_verdict"))

    def _section(self, categories: Sequence[Category], *more: Note) -> Section:
        unit = Unit.of(weighed=self.weighed)
        kinds = {**KINDS, "people": "weight"} if self.weighed else KINDS
        columns = tuple(Column(name, kind, detail=name == "share") for name, kind in kinds.items())
        rows = tuple(tuple(getattr(each, name) for name in KINDS) for each in categories)
        facts = (
            Fact("selected", self.selected), Fact("everybody", unit.write(self.people)),
            Fact("weighed", self.weighed, "flag", detail=True), Fact("unknown", self.unknown, detail=True),
        )  # fmt: skip
        what = Note("impact.what", {"least": LEAST_SHARE})
        table = Table("categories", columns, rows)
        return Section("impact", facts=facts, tables=(table,), notes=(what, *self.notes, *more))

    def _unknown(self) -> Iterator[Note]:
        unit = Unit.of(weighed=self.weighed)
        for column, people in self.unknown.items():
            number = Note("impact.some", {"unit": unit}) if people is None else unit.write(people)
            yield Note("impact.unknown", {"number": number, "column": column})
        if not self.unknown:
            yield Note("impact.all_known")

    def __repr__(self) -> str:
        return f"<Impact: {len(self.categories)} categories, {self.hidden} hidden>"


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of people: their levels in the protected columns, how many they are, what they weigh, how likely they are
    selected.

    A level is UNSEEN where a person's category is not known.
    """

    variables: tuple[Variable, ...]
    levels: dict[str, Cells]
    people: Numbers
    weight: Numbers
    before: Numbers
    after: Numbers

    def known(self, names: Sequence[str]) -> Flags:
        """Return whose category is known in all of some columns."""
        return np.asarray(np.all([self.levels[name] != UNSEEN for name in names], axis=0))


def impact(counts: Counts, kernel: Kernel, selected: int, columns: Sequence[str], *, hide_below: float = 0) -> Impact:
    """Return the impact ratios of an outcome, by its code, for each column and every intersection of two, and of all.

    Categories of fewer people than ``hide_below``, and those that would reveal one, are left out.

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
    kinds = _Kinds(groups.variables, levels, counts.unweighted.weight, counts.weight, before, after)
    return _impact(kinds, counts.domain.outcome.levels[selected], columns, hide_below, weighed=counts.weighed)


def impact_on(mode: Transformer, rows: Rows, selected: int, columns: Sequence[str], *, hide_below: float = 0) -> Impact:
    """Return the same of the rows of any table, with what a mode makes of each of them.

    Everybody is counted: of a row that a release leaves as it is, the outcome stays what it is.
    """
    domain = mode.domain
    if not len(rows.people):
        raise DataError("the table has no rows")
    if rows.together:
        # The rows of a frame are looked at where they are read, where each of them has its place.
        axes = dict.fromkeys((domain.d, *mode.reads))
        tables.refuse_gaps(axes, rows.table, rows.where, people=rows.people)
    nowhere = np.zeros(len(rows.weight), dtype=np.int64)
    # All of them in one cell: weights are checked there, and whether all are one is known of it.
    everybody = Counts.of(domain, nowhere, nowhere, nowhere, rows.weight, rows.people, rows.squares)
    located = locate(mode, rows.table)
    _, y = located.own()
    before = (y == selected).astype(float)
    _, to_y = domain.split_xy(mode.kernel.targets)
    chance = sums(mode.kernel.rows, mode.kernel.probability * (to_y == selected), len(mode.kernel))
    after = np.where(located.known, chance[located.rows], before)
    counted = rows.weight > 0
    levels = {v.name: _level(v, _codes(v, rows))[counted] for v in domain.d.variables}
    kinds = _Kinds(
        domain.d.variables, levels, rows.people[counted], rows.weight[counted], before[counted], after[counted]
    )  # fmt: skip
    found = _impact(kinds, domain.outcome.levels[selected], columns, hide_below, weighed=everybody.weighed)
    those = (~located.known, located.known & ~located.sourced, y == UNSEEN)
    # Where anything is hidden, these numbers could be those of the hidden.
    unit = everybody.unit
    notes = [
        Note(key, {
            "number": Note("impact.some", {"unit": unit}) if found.hidden else unit.write(float(rows.weight[of].sum())),
            "then": mode.then_drawn,
        })
        for key, of in zip(("impact.kept", "impact.typical", "impact.strange"), those, strict=True)
        if of.any()
    ]  # fmt: skip
    return replace(found, notes=(*found.notes, *notes))


def _codes(variable: Variable, rows: Rows) -> Cells:
    found = tables.levels_in(variable, rows.table)
    return np.asarray(found.level[found.codes])


def _level(variable: Variable, codes: Cells) -> Cells:
    """Return levels, UNSEEN for one that stands for a missing value."""
    return np.where(codes == variable.missing, UNSEEN, codes) if variable.has_missing else codes


def _impact(kinds: _Kinds, selected: Value, columns: Sequence[str], hide_below: float, *, weighed: bool) -> Impact:
    names = [variable.name for variable in kinds.variables if variable.name in columns]
    codes = [kinds.levels[name] - UNSEEN for name in names]
    first, kind = alike(codes)
    tables_ = combinations_shown([code[first] for code in codes], sums(kind, kinds.people), hide_below)
    shown = {tuple(names[at] for at in chosen): flags[kind] for chosen, flags in tables_.items()}
    every = [category for chosen in _together(names) for category in _categories(kinds, chosen, shown[chosen])]
    unknown = {name: ~kinds.known([name]) for name in names}
    told = {
        name: float(kinds.weight[whose].sum()) if shown[name,][whose].all() else None
        for name, whose in unknown.items()
        if whose.any()
    }
    found = tuple(category for category in every if category is not None)
    hidden, total = len(every) - len(found) + sum(people is None for people in told.values()), len(every) + len(told)
    notes = (not_shown(hidden, total, "categories", hide_below),) if hidden else ()
    return Impact(selected, float(kinds.weight.sum()), found, hidden, " × ".join(names), told, weighed, notes)


def _together(columns: Sequence[str]) -> list[tuple[str, ...]]:
    """Return each column, every two of them, and all."""
    sizes = dict.fromkeys((1, 2, len(columns)))
    return [names for size in sizes for names in combinations(columns, size)]


def _categories(kinds: _Kinds, names: Sequence[str], shown: Flags) -> Iterator[Category | None]:
    """Yield the categories that some columns form, None in place of one that is hidden."""
    part = Axis(tuple(variable for variable in kinds.variables if variable.name in names))
    known = kinds.known(names)
    cells, place = np.unique(part.ravel([kinds.levels[name][known] for name in part.names]), return_inverse=True)
    weight = kinds.weight[known]
    people = sums(place, weight, len(cells))
    named = sums(place, (~shown[known]).astype(float), len(cells)) == 0
    share = people / float(kinds.weight.sum())
    large = share >= LEAST_SHARE
    numbers = []
    for values in (kinds.before, kinds.after):
        selected = sums(place, weight * values[known], len(cells))
        rate = selected / people
        highest = float(rate[large].max(initial=0.0))
        reference = highest > 0 and bool(named[large & (rate == highest)].all())
        numbers.append((selected, rate, rate / highest if reference else np.full(len(cells), np.nan), highest > 0))
    name = " × ".join(part.names)
    for i, own in enumerate(cells):
        if not named[i]:
            yield None
            continue
        ratios = [float(ratio[i]) if large[i] and np.isfinite(ratio[i]) else None for _, _, ratio, _ in numbers]
        (chosen, rate, *_), (chosen_after, rate_after, *_) = numbers
        no_highest = any(ratio is None and some for ratio, (*_, some) in zip(ratios, numbers, strict=True))
        yield Category(
            by=name, category=part.words(int(own)), people=float(people[i]), share=float(share[i]),
            selected_before=float(chosen[i]), rate_before=float(rate[i]), ratio_before=ratios[0],
            selected_after=float(chosen_after[i]), rate_after=float(rate_after[i]), ratio_after=ratios[1],
            note=UNDER if not large[i] else NO_HIGHEST if no_highest else None,
        )  # fmt: skip
