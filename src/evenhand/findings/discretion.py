"""Who is shown: groups, cells and comparisons of enough people, whatever their weight.

The one place that decides it, and the one filter: rows and notes say what they are about, and those about others are
left out of sections before anything is rendered. Only what is chosen among those who may be shown (which two rates are
furthest apart, who bears most) asks beforehand. A part of a total that is
hidden alone would follow by subtraction: the next smallest is hidden with it (complementary suppression). How many are
hidden is always reported, never who. Bounds hold for everybody, shown or not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, Protocol

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, alike, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable
from evenhand.findings.naming import Where, source_codes
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import segment_shares
from evenhand.render.section import About, Fact, Note, Section, Table
from evenhand.spec import AGAINST_TARGET
from evenhand.spec.comparison import Comparisons, shares
from evenhand.spec.people import EVERYWHERE

FEWEST_HIDDEN = 2
"""A total hides at least so many of its parts, or none: one alone is the total less the others."""

RANK = 1e-9
"""A singular value of the sums shown below this share of the largest is zero."""


def complementary(people: Numbers, shown: Flags, totals: Sequence[Cells], least: float) -> Flags:
    """Hide further parts of a table until none of few people follows from a total: the smallest that are left.

    Each of ``totals`` has the number of the total that a part belongs to. A total with a part of less than ``least``
    people, or one that is hidden for its sake, hides at least two parts, of ``least`` people together.

    Examples
    --------
    >>> people, total = np.array([1200.0, 793.0, 7.0]), np.zeros(3, dtype=np.int64)
    >>> complementary(people, people >= 20, [total], 20).tolist()
    [True, False, False]
    """
    kept, there, settled = np.array(shown), people > 0, False
    # What is hidden for other reasons need not be kept from anybody who can work it out.
    guarded = there & (people < least)
    while not settled:
        settled = True
        for total in totals:
            hidden = there & ~kept
            number, together = sums(total, hidden.astype(float)), sums(total, np.where(hidden, people, 0.0))
            kept_from = sums(total, (hidden & guarded).astype(float))
            revealed = (kept_from > 0) & ((number < FEWEST_HIDDEN) | (together < least))
            more = np.flatnonzero(there & kept & revealed[total])
            if len(more):
                smallest_first = more[np.lexsort((people[more], total[more]))]
                _, first = np.unique(total[smallest_first], return_index=True)
                kept[smallest_first[first]] = settled = False
                guarded[smallest_first[first]] = True
    return kept


def combinations_shown(codes: Sequence[Cells], people: Numbers, least: float) -> dict[tuple[int, ...], Flags]:
    """Return for every choice of columns, by their places, who may be shown in the table of their combinations.

    Every such table may be published beside the others, each the margin of larger ones: what all of them show together
    determines no part of few people. ``codes`` has the level of each kind of people in each column, ``people`` how many
    they are; so has every answer one flag for each kind.

    Examples
    --------
    >>> sex, race = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 1, 2, 0, 1, 2])
    >>> found = combinations_shown([sex, race], np.array([600.0, 400, 3, 600, 393, 4]), 20)
    >>> bool(found[0,].all()), found[1,].tolist() == found[0, 1].tolist() == [True, False, False] * 2
    (True, True)
    """
    found: dict[tuple[int, ...], Flags] = {}
    places: dict[tuple[int, ...], Cells] = {(): np.zeros(len(people), dtype=np.int64)}
    for size in range(1, len(codes) + 1):
        for chosen in combinations(range(len(codes)), size):
            first, places[chosen] = alike([codes[at] for at in chosen])
            margins = list(combinations(chosen, size - 1))
            parts = sums(places[chosen], people)
            # The parts of a hidden margin would add up to it.
            shown = np.all([parts >= least, *(found[margin][first] for margin in margins if margin)], axis=0)
            totals = [places[margin][first] for margin in margins]
            found[chosen] = complementary(parts, shown, totals, least)[places[chosen]]
    while (revealed := _revealed(places, found, people, least)) is not None:
        beside = np.any([np.isin(code, code[revealed]) for code in codes], axis=0)
        table = next((chosen for chosen in reversed(found) if (found[chosen] & beside).any()), None)
        if table is None:
            break
        # The finest table that shows anybody of the same levels gives up its smallest part of them.
        sizes = np.where(found[table] & beside, sums(places[table], people)[places[table]], np.inf)
        found[table] &= places[table] != places[table][np.argmin(sizes)]
    return found


def _revealed(
    places: dict[tuple[int, ...], Cells], found: dict[tuple[int, ...], Flags], people: Numbers, least: float
) -> Flags | None:
    """Return a part of few people that the numbers shown determine together; None where there is none."""
    unknown = np.flatnonzero(~found[max(found, key=len)])
    if not len(unknown):
        return None

    def parts(chosen: tuple[int, ...], which: Flags) -> Numbers:
        """Return one row of zeros and ones for each part of a table."""
        place = places[chosen][unknown]
        return np.asarray(place == np.unique(place[which[unknown]])[:, None], dtype=float)

    everybody = np.ones(len(people), dtype=bool)
    shown = np.concatenate([parts((), everybody), *(parts(chosen, flags) for chosen, flags in found.items())])
    _, singular, right = np.linalg.svd(shown, full_matrices=False)
    basis = right[singular > RANK * singular[0]]
    for chosen in found:
        place = places[chosen]
        few = parts(chosen, sums(place, people)[place] < least)
        determined = np.isclose(((few @ basis.T) ** 2).sum(axis=1), few.sum(axis=1))
        if determined.any():
            return np.isin(np.arange(len(people)), unknown[few[np.argmax(determined)] > 0])
    return None


@dataclass(frozen=True, eq=False)
class Discretion:
    """What may be shown of a table: whatever at least ``hide_below`` people are in, and no total reveals others."""

    counts: Counts
    hide_below: float

    def enough(self, people: Numbers | float) -> Flags:
        return np.asarray(people >= self.hide_below)

    @property
    def people(self) -> Numbers:
        """How many people each source cell has."""
        return self.counts.unweighted.weight

    @cached_property
    def groups(self) -> Flags:
        """Which of the groups that occur are shown."""
        return self._by_columns[self.counts.domain.d.names]

    @cached_property
    def _by_columns(self) -> dict[tuple[str, ...], Flags]:
        """Whether each group that occurs is shown, in the table of each choice of protected columns."""
        axis = self.counts.domain.d
        codes = axis.unravel(self.counts.groups.cells)
        found = combinations_shown(codes, self.counts.group_people, self.hide_below)
        return {tuple(axis.names[at] for at in chosen): flags for chosen, flags in found.items()}

    def groups_of(self, people: Numbers) -> Flags:
        """Return which groups are shown of another table, in which each has so many people."""
        return self.groups & self.parts(people)

    @cached_property
    def cells(self) -> Flags:
        """Which source cells (d, x, y) are shown."""
        counts, group = self.counts, self.counts.groups.of_source
        features = [self.codes[name] for name in counts.domain.x.names]
        totals = [group * counts.domain.y.size + counts.y]
        for variable, code in zip(counts.domain.x.variables, features, strict=True):
            totals += [code, group * len(variable) + code]
        return complementary(self.people, self.enough(self.people) & self.groups[group], totals, self.hide_below)

    def levels(self, variable: Variable) -> Flags:
        """Return which levels of a column are shown; those of the outcome always are, and those of nobody."""
        if variable.name == self.counts.domain.outcome.name:
            return np.ones(len(variable), dtype=bool)
        code = self.codes[variable.name]
        if variable in self.counts.domain.d.variables:
            hidden = code[~self._by_columns[variable.name,][self.counts.groups.of_source]]
            return ~np.isin(np.arange(len(variable)), hidden)
        people = sums(code, self.people, len(variable))
        return np.asarray(self.parts(people) | (people == 0))

    def parts(self, people: Numbers) -> Flags:
        """Return which parts of one total are shown."""
        return complementary(people, self.enough(people), [np.zeros(len(people), dtype=np.int64)], self.hide_below)

    @cached_property
    def codes(self) -> dict[str, Cells]:
        return source_codes(self.counts)

    def comparisons(self, compared: Comparisons, kernel: Kernel) -> Flags:
        """Return which comparisons of a constraint are shown: those of two populations that are."""
        people = np.array([float(self.people[each.member].sum()) for each in compared.populations])
        shown = self._populations(compared, people)
        other = (compared.against == AGAINST_TARGET) | shown[compared.against]
        if compared.within_released and self.counts.weighed:
            # The share of a group's people that is released into a segment is not that of its weight.
            compared = replace(compared, weights=shares(compared.populations, self.counts.unweighted))
        inside = segment_shares(compared, self.counts, kernel)
        return np.asarray(shown[compared.population] & other & self.enough(people[compared.population] * inside))

    def _populations(self, compared: Comparisons, people: Numbers) -> Flags:
        """Return which of the populations of a constraint are shown."""
        code = self.counts.domain.d.cells_of(compared.groups, self.counts.d)
        hidden = code[~self._by_columns[compared.groups.names][self.counts.groups.of_source]]
        rest, segment, group = (
            np.array([getattr(each, name) for each in compared.populations], dtype=np.int64)
            for name in ("rest", "segment", "group")
        )
        # The rest beside a group is everybody but that group.
        totals = [alike([rest, segment - EVERYWHERE])[1], alike([rest, group])[1]]
        return complementary(people, self.enough(people) & ~np.isin(group, hidden), totals, self.hide_below)

    def may_name(self, about: About) -> bool:
        """Whether what is about something may be shown: a part of the table with people enough, or with nobody, that no
        total reveals; a comparison of such parts; a number that enough people are behind.

        What is about anybody, which is None, only where everybody is shown.
        """
        match about:
            case None:
                return bool(self.cells.all())
            case Behind(people):
                return people >= self.hide_below
            case Compared(part, kernel, at):
                return bool(self._compared(part, kernel)[at])
        key = tuple(about.items())
        if key not in self._named:
            self._named[key] = self._may_name(about)
        return self._named[key]

    def people_of(self, about: About) -> float:
        """Return how many people something is about."""
        if isinstance(about, Behind):
            return about.people
        if about is None or isinstance(about, Compared):
            return np.inf
        return float(self.people[self._inside(about)].sum())

    def passed_on(self, table: Table) -> Table:
        """Return a table without the rows that may not be shown."""
        if not table.about:
            return table
        shown = np.array([all(map(self.may_name, about)) for about in table.about])
        if table.totals and not shown.all():
            people = np.array([min(map(self.people_of, about), default=np.inf) for about in table.about])
            shown = complementary(people, shown, [_numbered(table, names) for names in table.totals], self.hide_below)
        return table.kept(np.flatnonzero(shown))

    @cached_property
    def _named(self) -> dict[tuple[Any, ...], bool]:
        return {}

    @cached_property
    def _comparisons(self) -> dict[int, tuple[Comparisons, Flags]]:
        return {}

    def _compared(self, part: Comparisons, kernel: Kernel) -> Flags:
        if id(part) not in self._comparisons:
            self._comparisons[id(part)] = part, self.comparisons(part, kernel)
        return self._comparisons[id(part)][1]

    def _inside(self, where: Where) -> Flags:
        """Return which sources have the levels that are named."""
        domain, inside = self.counts.domain, np.ones(len(self.counts), dtype=bool)
        for column, level in where.items():
            inside &= self.codes[column] == domain.variable(column).code(level)
        return inside

    def _may_name(self, where: Where) -> bool:
        domain = self.counts.domain
        if len(where) == len(self.codes):
            return bool(self.cells[self._inside(where)].all())
        named = {column: level for column, level in where.items() if column != domain.outcome.name}
        inside = self._inside(named)
        if not inside.any():
            return True
        protected = tuple(column for column in domain.d.names if column in named)
        if protected and not self._by_columns[protected][self.counts.groups.of_source[inside]].all():
            return False
        features = [variable for variable in domain.x.variables if variable.name in named]
        apart = all(self.levels(variable)[variable.code(named[variable.name])] for variable in features)
        return apart and bool(self.enough(self.people[inside].sum()))


@dataclass(frozen=True)
class Behind:
    """What a row is about, where so many people are behind its number, whatever part of the table they are."""

    people: float


@dataclass(frozen=True, eq=False)
class Compared:
    """What a row is about, where it is one comparison of a parity constraint."""

    part: Comparisons
    kernel: Kernel
    at: int

    __match_args__ = ("part", "kernel", "at")


def _numbered(table: Table, names: Sequence[str]) -> Cells:
    """Return the number of the total that each row is part of: that of the rows which agree in some columns."""
    number: dict[tuple[Any, ...], int] = {}
    columns = [[tuple(each.items()) if isinstance(each, dict) else each for each in table.values(n)] for n in names]
    keys = zip(*columns, strict=True) if names else [()] * len(table.rows)
    return np.array([number.setdefault(key, len(number)) for key in keys], dtype=np.int64)


class Shown(Protocol):
    """Who says what may be shown: of a fitted table, :class:`Discretion`."""

    @property
    def hide_below(self) -> float:
        """Of how many people at least it must be."""

    def may_name(self, about: About) -> bool:
        """Whether what is about something may be shown."""

    def passed_on(self, table: Table) -> Table:
        """Return a table without the rows that may not be shown."""


def discreet(sections: Iterable[Section], shown: Shown) -> tuple[Section, ...]:
    """Return sections without the rows and notes that reveal what may not be shown; how many rows is said, never whose.

    How many notes are left out is not: that there is one may itself tell what is hidden.

    Examples
    --------
    >>> import evenhand as eh
    >>> shown = Discretion(eh.datasets.load("compas").counts, 500)
    >>> few = Note("text", {"text": "few"}, ({"sex": "Female", "race": "Caucasian"},))
    >>> (section,) = discreet([Section("caveats", notes=(few, Note("text", {"text": "all is well"})))], shown)
    >>> [note.fields["text"] for note in section.notes]
    ['all is well']
    """
    return tuple(_discreet(section, shown) for section in sections)


def _discreet(section: Section, shown: Shown) -> Section:
    tables = tuple(map(shown.passed_on, section.tables))
    total = sum(len(table.rows) for table in section.tables if table.about)
    hidden = sum(len(table.rows) for table in section.tables) - sum(len(table.rows) for table in tables)
    notes = [note for note in section.notes if all(map(shown.may_name, note.about))]
    if hidden:
        notes.append(Note("hidden.rows", {"hidden": hidden, "total": total, "least": shown.hide_below}))
    facts = [Fact("hidden", hidden, "number", detail=True)] if total else []
    return replace(
        section, facts=(*section.facts, *facts), tables=tables, notes=tuple(notes),
        charts=tuple(replace(chart, table=shown.passed_on(chart.table)) for chart in section.charts),
        parts=discreet(section.parts, shown),
    )  # fmt: skip


def not_shown(hidden: int, total: int, what: str, hide_below: float) -> Note:
    """Return how many parts of a table are hidden, and why; ``what`` is groups, cells or categories."""
    fields = {"hidden": hidden, "total": total, "what": what, "least": hide_below}
    return Note("hidden.parts", fields)
