"""Columns that are passed through and give away what was changed: an age beside a group of ages that moved.

A reader who knows how such a column goes with one that changes sees where the two no longer agree. What they could tell
is measured on people who are left out of what the reader knows: each person's level is guessed from those who have the
same value, or where values hardly repeat from those whose values are nearest. A few of the same value in the same cell
may be one person's repeated rows, and tell nothing of each other. So an identifier, of which every value is somebody's
own, gives nothing away, also where rows are repeated.

Knows modes and tables; nothing of problems or of how a mapping was found.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.data.domain import Variable
from evenhand.render.section import Note
from evenhand.tables import Table, take
from evenhand.tables.survey import Distinct, distinct
from evenhand.tables.transforming import Transformer, locate

MOST_ROWS = 20_000
"""A table is looked at by so many of its rows: more would tell the same, later."""

SURE = 0.9
"""A reader guesses a level that this share of the others with the same value has."""

RIGHT = 0.8
"""A column gives something away where a reader who suspects a change is right this often..."""

WORTH_TELLING = 0.1
"""...about this share more of the changed people than the rest of the released record tells of."""

FEWEST = 30
"""Of fewer people with a guess nothing is known."""

MOST_CELLS = 1 << 22
"""Of more values times levels, people are told apart by the nearest values alone."""

CROWD = 20
"""So many rows of one value in one cell are not the repeated rows of one person."""

FEW_ALIKE, NEAREST = 10, 20
"""Where a value has fewer people than the first on average, those of so many nearest values are put together, too."""


@dataclass(frozen=True)
class GivenAway:
    """A column that is passed through, what it gives away, and how well.

    Attributes
    ----------
    column, of : str
        The column, and the one that changes.
    told : float
        The share of the people whose value of the latter changes whom a reader could tell.
    right : float
        How often a reader who suspects a change is right.
    people : float
        How many people that is, of the whole table.
    """

    column: str
    of: str
    told: float
    right: float
    people: float


def given_away_note(found: Sequence[GivenAway]) -> Note | None:
    """Name all columns that reveal something, how well, and what to do; None where there are none."""
    if not found:
        return None
    revealed = [
        Note("given_away.of", {"of": repr(name), "columns": [_column(each) for each in found if each.of == name]})
        for name in dict.fromkeys(each.of for each in found)
    ]
    several = len({each.column for each in found}) > 1
    return Note("given_away.columns" if several else "given_away.column", {"revealed": revealed})


def _column(found: GivenAway) -> Note:
    return Note("given_away.from", {**vars(found), "column": repr(found.column)})


def giving_away(mode: Transformer, table: Table, passed: Sequence[str]) -> tuple[GivenAway, ...]:
    """Return the columns among those ``passed`` through that give away what a mode changes, the worst first.

    What is told is told in expectation over the draws, of people in cells that were fitted. Rows of a CSV file are
    ``text``.
    """
    changing = [variable for variable in mode.written if _may_change(mode, variable)]
    if not passed or not changing or not len(table):
        return ()
    everybody = len(table)
    if everybody > MOST_ROWS:
        table = take(table, np.linspace(0, everybody - 1, MOST_ROWS).astype(np.int64))
    located = locate(mode, table)
    known = np.flatnonzero(located.sourced)
    if not len(known):
        return ()
    kind, rows = located.kind(known), located.rows[known]
    level = {
        variable.name: codes
        for axis in mode.reads
        for variable, codes in zip(axis.variables, axis.unravel(located.kinds.cells[axis][kind]), strict=True)
    }
    columns = [each for each in distinct(table.select(list(passed))) if not each.nested and not _numbers_rows(each)]
    fixed = [variable for variable in mode.read if variable not in changing]
    beside = [_Group.of(_together(part, level), rows) for part in ([], mode.domain.d.variables, fixed)]
    by_column = [[_Group.of(number, rows) for number in _groups(each, known)] for each in columns]
    found = []
    for variable in changing:
        people = _People(*_released(mode, variable, rows), level[variable.name])
        if not people.changed.sum() > 0:
            continue
        # What readers of a released record know of it anyhow: how common levels are, and what never changes.
        anyhow = max(people.told(group)[0] for group in beside)
        for each, groups in zip(columns, by_column, strict=True):
            told, right = max(map(people.told, groups))
            if told >= anyhow + WORTH_TELLING:
                number = told * float(people.changed.sum()) * everybody / len(table)
                found.append(GivenAway(each.name, variable.name, told, right, number))
    return tuple(sorted(found, key=lambda each: (-each.told, each.column, each.of)))


def _targets(mode: Transformer, variable: Variable) -> Cells:
    """Return the level of a column in every entry of the kernel of fitted people."""
    targets = mode.domain.split_xy(mode.fitted.targets) if mode.writes_outcome else (mode.fitted.targets,)
    for axis, cells in zip(mode.writes, targets, strict=True):
        if variable in axis.variables:
            return axis.unravel(cells)[axis.variables.index(variable)]
    raise AssertionError(variable.name)


def _released(mode: Transformer, variable: Variable, rows: Cells) -> tuple[Cells, Any]:
    """Return p(released level | row) of a column for the rows of the kernel that people have, and each one's place."""
    kernel = mode.fitted
    entries = (kernel.probability, (kernel.rows, _targets(mode, variable)))
    have, place = np.unique(rows, return_inverse=True)
    found = sparse.csr_array(entries, shape=(len(kernel), len(variable)))[have]
    # Looking up is much faster in a plain array, where there is room for one.
    return place, found.toarray() if len(have) * len(variable) <= MOST_CELLS else found


def _may_change(mode: Transformer, variable: Variable) -> bool:
    """Whether anybody who was fitted may get another level of a column."""
    own: Cells = np.zeros(len(mode.fitted), dtype=np.int64)
    number = mode.sources
    for axis in reversed(mode.reads):
        number, cells = np.divmod(number, axis.size)
        if variable in axis.variables:
            own = axis.unravel(cells)[axis.variables.index(variable)]
    return bool(np.any(_targets(mode, variable) != own[mode.fitted.rows]))


def _together(variables: Sequence[Variable], level: Mapping[str, Cells]) -> Cells:
    """Number the combinations of levels that people have."""
    group = np.zeros(len(next(iter(level.values()))), dtype=np.int64)
    for variable in variables:
        if variable.name in level:
            group = np.unique(group * len(variable) + level[variable.name], return_inverse=True)[1]
    return group


@dataclass(frozen=True, eq=False)
class _Group:
    """The number of each person's group, and how many of it may be the same person, themselves included."""

    number: Cells
    alike: Cells

    @classmethod
    def of(cls, number: Cells, rows: Cells) -> _Group:
        """Take a number for each person, and the row of the kernel, which is that of the cell."""
        _, place, people = np.unique(number * (int(rows.max()) + 1) + rows, return_inverse=True, return_counts=True)
        return cls(number, np.where(people < CROWD, people, 1)[place])


@dataclass(frozen=True, eq=False)
class _People:
    """People with their row of the kernel, their level of a column, and p(released level | row)."""

    rows: Cells
    released: Any
    level: Cells

    def otherwise(self, level: Cells, at: Any = slice(None)) -> Numbers:
        """Return how likely people are to be released with another level than one each."""
        return np.asarray(np.maximum(1 - np.asarray(self.released[self.rows[at], level]).ravel(), 0.0))

    @cached_property
    def changed(self) -> Numbers:
        return self.otherwise(self.level)

    def told(self, group: _Group) -> tuple[float, float]:
        """Return which share of the changed people a reader can tell who knows a group of each, and is right how often.

        Nothing where suspicions are right less often than counts, or there are too few people to know.
        """
        if int(group.number.max() + 1) * self.released.shape[1] > MOST_CELLS:
            return 0.0, 0.0
        guess, sure = _guesses(group, self.level)
        if int(sure.sum()) < FEWEST:
            return 0.0, 0.0
        told = float(self.changed[sure & (guess == self.level)].sum())
        # A reader suspects whoever is released with another level than that which was guessed.
        suspected = float(self.otherwise(guess[sure], sure).sum())
        right = told / suspected if suspected > 0 else 0.0
        return (told / float(self.changed.sum()), right) if right >= RIGHT else (0.0, right)


def _guesses(of: _Group, level: Cells) -> tuple[Cells, Flags]:
    """Return the level that most of each person's group have who are somebody else, and whether nearly all do."""
    group, width = of.number, int(level.max()) + 1
    people = np.bincount(group * width + level, minlength=(int(group.max()) + 1) * width).reshape(-1, width)
    first, every = people.argmax(axis=1), np.arange(len(people))
    most, size = people[every, first], people.sum(axis=1)
    people[every, first] = -1
    second = people.argmax(axis=1)
    next_ = people[every, second]
    # Without those who may be the same person, the second level of a group may be its commonest.
    is_first = first[group] == level
    without = most[group] - of.alike * is_first
    behind = is_first & (next_[group] > without)
    guess = np.where(behind, second[group], first[group])
    others = size[group] - of.alike
    return guess, (others > 0) & (np.where(behind, next_[group], without) >= SURE * others)


def _groups(column: Distinct, known: Cells) -> Iterator[Cells]:
    """Yield ways to put people together by a column: by its values, and where few share one by the nearest."""
    # A missing value is one like any other; those of one person each, who have no others, are put together.
    values, codes = len(column.values), column.codes[known]
    codes = np.where(codes < 0, values, codes).astype(np.int64)
    shared = np.bincount(codes, minlength=values + 1) > 1
    yield np.where(shared, np.cumsum(shared), 0)[codes]
    if values and len(known) < FEW_ALIKE * values:
        rank = np.empty(values + 1, dtype=np.int64)
        rank[:-1][_order(column.values)] = np.arange(values)
        rank[-1] = values
        place = np.empty(len(known), dtype=np.int64)
        place[np.argsort(rank[codes], kind="stable")] = np.arange(len(known))
        # People of one value stay together, by the first of them.
        first = np.full(values + 1, len(known), dtype=np.int64)
        np.minimum.at(first, codes, place)
        yield first[codes] // NEAREST


def _numbers_rows(column: Distinct) -> bool:
    """Whether a column is no more than the order of the rows, which readers see anyhow: every value its own, sorted."""
    if len(column.values) < len(column.codes):
        return False
    step = np.diff(np.argsort(_order(column.values))[column.codes])
    return bool(np.all(step > 0) or np.all(step < 0))


def _order(values: Any) -> Cells:
    """Return the order of values: by number where all are, else by their text."""
    try:
        return np.argsort(np.asarray(values, dtype=np.float64), kind="stable")
    except (TypeError, ValueError):
        return np.argsort(np.asarray([str(value) for value in values]), kind="stable")
