"""Columns that are perhaps known only after the outcome: a follow-up of it, or a function of it.

Knows a column beside the outcome. Nothing here is proof; what is found is said, and people decide.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import numpy as np

from evenhand.arrays import Cells
from evenhand.spec.bins import ChosenBins, Occurrence
from evenhand.tables.survey import Column
from evenhand.use.proposal.choosing import PEOPLE_PER_CELL, tabulated, told
from evenhand.use.proposal.levels import Levelled

GIVES_AWAY = 0.5
"""A column that tells this share of the outcome is perhaps the outcome by another name."""

TELLING = 0.2
"""A feature that tells this share of the groups, or of the outcome, is worth a word; and whether a column is filled in
tells as much of the outcome only if it is filled in after it."""

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
    return {
        name: there
        for name, there in filled.items()
        if told(there, outcome.codes, weight) >= TELLING
        or _given_away(there, outcome, MOSTLY_ALIKE)
        or _decided(there, outcome)
    }


def known_after(column: Levelled, outcome: Levelled, followed: Mapping[str, Cells]) -> str | None:
    """Say why a column is perhaps known only after the outcome; None where nothing speaks for it.

    ``followed`` are the columns of the table that are filled in depending on the outcome.
    """
    weight = outcome.column.row_weights
    if column.name in followed:
        return "filled in or not depending on the outcome: known only after it"
    share = told(_finely(column, outcome), outcome.codes, weight)
    if share >= GIVES_AWAY:
        return f"tells {share:.0%} of the outcome: perhaps the outcome by another name, or known only after it"
    for code, level in _given_away(column.codes, outcome, NEARLY_ALL_ALIKE).items():
        return f"all with {column.named[code]} have {outcome.name} {level}: perhaps known only after it"
    for name, there in followed.items():
        if told(column.codes, there, weight) >= GIVES_AWAY:
            return f"tells whether {name} is filled in, which depends on the outcome: known only after it"
    return None


def asked_about(column: Levelled, outcome: Levelled) -> str | None:
    """Ask whether a column is known before the outcome, where it could be known only after it."""
    share = told(column.codes, outcome.codes, outcome.column.row_weights)
    if share >= TELLING:
        return f"tells {share:.0%} of the outcome by itself: is it known before it?"
    for code, level in (_given_away(column.codes, outcome, MOSTLY_ALIKE) | _decided(column.codes, outcome)).items():
        return f"nearly all with {column.named[code]} have {outcome.name} {level}: is it known before it?"
    return None


def _decided(cells: Cells, outcome: Levelled) -> dict[int, object]:
    """Return the cells, of enough people, in which everybody has the same outcome, as chance would not make it."""
    table = tabulated(cells, outcome.codes, outcome.column.row_weights)
    size, usual = table.sum(axis=1), table.sum(axis=0) / table.sum()
    common = table.argmax(axis=1)
    by_chance = usual[common] ** size
    found = (table.max(axis=1) == size) & (size >= DECIDING * table.sum()) & (by_chance < UNLIKELY)
    return {int(code): outcome.levels[common[code]] for code in np.flatnonzero(found)}


def _given_away(cells: Cells, outcome: Levelled, least: float) -> dict[int, object]:
    """Return the cells of enough people of whom at least a share has an outcome that most people do not have."""
    table = tabulated(cells, outcome.codes, outcome.column.row_weights)
    size, usual = table.sum(axis=1), table.sum(axis=0) / table.sum()
    common = table.argmax(axis=1)
    alike = table.max(axis=1) >= least * size
    found = alike & (size >= max(ENOUGH_PEOPLE, DECIDING * table.sum())) & (usual[common] <= 1 / 2)
    return {int(code): outcome.levels[common[code]] for code in np.flatnonzero(found)}


def _finely(column: Levelled, outcome: Levelled) -> Cells:
    """Return finer cells than levels, where there are people enough: a bin could hide where the outcome changes."""
    own = column.column
    total = own.weights.sum()
    if len(own.values) <= min(MOST_DISTINCT, total / PEOPLE_PER_CELL):
        return own.codes + 1
    if not own.numeric or len(own.values) < 2:
        return column.codes
    there = own.codes >= 0
    weight = None if own.row_weights is None else own.row_weights[there]
    by_outcome = tabulated(own.codes[there], outcome.codes[there], weight)
    edges = ChosenBins().find(Occurrence(own.name, own.values, by_outcome))
    cells = np.searchsorted(np.asarray(edges), np.asarray(own.values, dtype=float), side="right") + 1
    return np.append(cells, 0)[own.codes]
