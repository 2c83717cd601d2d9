"""Columns that are perhaps known only after the outcome: a follow-up of it, or a function of it.

Knows a column beside the outcome. Nothing here is proof; what is found is said, and people decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.render.section import Note
from evenhand.spec.bins import ChosenBins, Occurrence
from evenhand.tables.survey import Column
from evenhand.use.proposal.choosing import PEOPLE_PER_CELL, beyond_chance, tabulated, told, told_by
from evenhand.use.proposal.levels import Levelled

GIVES_AWAY = 0.5
"""A column that tells this share of the outcome is perhaps the outcome by another name."""

TELLING = 0.2
"""A feature that tells this share of the groups is worth a word; and whether a column is filled in
tells as much of the outcome only if it is filled in after it."""

ASKED = 0.15
"""A column that tells this share of the outcome by itself is asked about: few that are known before it tell more."""

NEARLY_ALL_ALIKE = 0.99
"""The share of a level's people with one outcome from which on it gives that outcome away."""

MOSTLY_ALIKE = 0.9
"""The same share from which on that is asked about; enough where it is those with a value, or those without."""

DECIDING = 0.01
"""A level with this share of the people, all of one outcome, is worth a word."""

ENOUGH_PEOPLE = 30
"""Of fewer people all could have one outcome by chance."""

MOST_DISTINCT = 100
"""With more values than this, a column would tell anything by chance."""

UNLIKELY = 1e-3
"""All of a level have one outcome more rarely than this by chance."""


def followers(columns: Iterable[Column], outcome: Levelled) -> dict[str, Cells]:
    """Return the columns that are filled in depending on the outcome, each with whether a row is."""
    weight = outcome.column.row_weights
    filled = {column.name: (column.codes >= 0).astype(np.int64) for column in columns if column.missing > 0}
    tables = {name: tabulated(there, outcome.codes, weight) for name, there in filled.items()}
    return {
        name: filled[name]
        for name, table in tables.items()
        if told_by(table) >= TELLING or _given_away(table, outcome, MOSTLY_ALIKE) or _decided(table, outcome)
    }


@dataclass(frozen=True, eq=False)
class Beside:
    """A column beside the outcome: how many people with each of its values, or levels, have each outcome.

    Rows are looked at once; there are far fewer values.
    """

    column: Levelled
    outcome: Levelled

    @cached_property
    def by_value(self) -> Numbers:
        """The people of each value, ascending, and last those without one."""
        own = self.column.column
        table = tabulated(own.codes + 1, self.outcome.codes, own.row_weights)
        return np.roll(table, -1, axis=0)

    @cached_property
    def by_level(self) -> Numbers:
        """The people of each level, and last those without one."""
        return self._put_together(self.column.of_value)

    def _put_together(self, cells: Cells) -> Numbers:
        """Return the people of cells into which every value, and a missing one, falls."""
        table = np.zeros((int(cells.max()) + 1, self.by_value.shape[1]))
        np.add.at(table, cells, self.by_value)
        return table

    @cached_property
    def finely(self) -> Numbers:
        """The people of finer cells than levels, where there are enough: a bin could hide where the outcome changes."""
        own = self.column.column
        if len(own.values) <= min(MOST_DISTINCT, own.weights.sum() / PEOPLE_PER_CELL):
            return self.by_value
        if not own.numeric or len(own.values) < 2:
            return self.by_level
        edges = ChosenBins().find(Occurrence(own.name, own.values, self.by_value[:-1]))
        cells = np.searchsorted(np.asarray(edges), np.asarray(own.values, dtype=float), side="right")
        return self._put_together(np.append(cells, len(edges) + 1))

    def known_after(self, followed: Mapping[str, Cells]) -> Note | None:
        """Return why a column is perhaps known only after the outcome; None where nothing speaks for it.

        ``followed`` are the columns of the table that are filled in depending on the outcome.
        """
        column, outcome = self.column, self.outcome
        if column.name in followed:
            return Note("column.filled_in")
        share = told_by(self.finely)
        if share >= GIVES_AWAY:
            return Note("column.outcome_renamed", {"share": share})
        for code, level in _given_away(self.by_level, outcome, NEARLY_ALL_ALIKE).items():
            fields = {"value": column.named[code], "outcome": outcome.name, "level": level}
            return Note("column.decides", fields)
        for name, there in followed.items():
            if told(column.codes, there, outcome.column.row_weights) >= GIVES_AWAY:
                return Note("column.of_filled_in", {"column": name})
        return None

    @property
    def question(self) -> Note | None:
        """Return whether to ask if a column is known before the outcome: where it could be known only after it."""
        column, outcome = self.column, self.outcome
        share = told_by(self.finely)
        if share >= ASKED and beyond_chance(self.finely) >= ASKED:
            return Note("column.asked", {"share": share})
        alike = _given_away(self.by_level, outcome, MOSTLY_ALIKE) | _decided(self.by_level, outcome)
        for code, level in alike.items():
            fields = {"value": column.named[code], "outcome": outcome.name, "level": level}
            return Note("column.nearly_decides", fields)
        return None


def _decided(table: Numbers, outcome: Levelled) -> dict[int, object]:
    """Return the cells, of enough people, in which everybody has the same outcome, as chance would not make it."""
    size, usual = table.sum(axis=1), table.sum(axis=0) / table.sum()
    common = table.argmax(axis=1)
    by_chance = usual[common] ** size
    found = (table.max(axis=1) == size) & (size >= DECIDING * table.sum()) & (by_chance < UNLIKELY)
    return {int(code): outcome.levels[common[code]] for code in np.flatnonzero(found)}


def _given_away(table: Numbers, outcome: Levelled, least: float) -> dict[int, object]:
    """Return the cells of enough people of whom at least a share has an outcome that most people do not have."""
    size, usual = table.sum(axis=1), table.sum(axis=0) / table.sum()
    common = table.argmax(axis=1)
    alike = table.max(axis=1) >= least * size
    found = alike & (size >= max(ENOUGH_PEOPLE, DECIDING * table.sum())) & (usual[common] <= 1 / 2)
    return {int(code): outcome.levels[common[code]] for code in np.flatnonzero(found)}
