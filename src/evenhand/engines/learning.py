"""Learned cells of tables that come in pieces: a tree from a sample, people counted by leaf on all rows.

A row's leaf is found by the code that finds it in a frame. What is held at once are the sample, a piece, and a row for
each cell. Knows nothing of where pieces come from.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, alike, sums
from evenhand.data.domain import Domain, Variable
from evenhand.data.levels import UNSEEN
from evenhand.errors import DataError, Option
from evenhand.resources import current, words
from evenhand.spec import Problem
from evenhand.tables import Levelled, Piece, Table, cells, learned_variable, levels_in, stacked, take, unlike_fitted
from evenhand.tables.sampling import Pieces, sample_in_pieces

HELD_SHARE = 1 / 4
"""How much of the memory rows may take that stand for all of their kind."""

MOST_PARTS = 1 << 20
"""Counts of so many cells are put together before more are added."""


@dataclass(frozen=True, eq=False)
class Sums:
    """Cells with the people in each, their weight and squared weights."""

    cell: Cells
    people: Numbers
    weight: Numbers
    squares: Numbers

    @classmethod
    def joined(cls, parts: Sequence[Sums]) -> Sums:
        """Return what several have together."""
        joined = (np.concatenate([getattr(part, name) for part in parts]) for name in SUMMED)
        cell, inverse = np.unique(np.concatenate([part.cell for part in parts]), return_inverse=True)
        return cls(cell, *(sums(inverse, each, len(cell)) for each in joined))


SUMMED = ("people", "weight", "squares")


def learn_in_pieces(problem: Problem, rows: Levelled, pieces: Pieces) -> Levelled:
    """Learn cells over a table that comes in pieces, and count people in them; the other levels are known already.

    The pieces have only rows that weigh anything.
    """
    assert problem.cells is not None
    sample = sample_in_pieces(problem, problem.cells.sample, pieces, rows.variables, rows.everybody)
    learned = learned_variable(problem, problem.cells, sample)
    domain = Domain.of((*rows.variables, learned))
    held: list[Sums] = []
    for piece in pieces():
        held.append(cell_sums(domain, piece))
        if sum(len(each.cell) for each in held) > MOST_PARTS:
            held = [Sums.joined(held)]
    return levelled(domain, Sums.joined(held), rows)


def cell_sums(domain: Domain, piece: Piece) -> Sums:
    """Count the rows of a piece in the cells (d, x, y) of a domain that was made from all of the table."""
    found = [cells(axis, piece.table) for axis in (domain.d, domain.x, domain.y)]
    if any(new.any() for _, new in found):
        # Levels were made from all rows.
        raise DataError("the table was changed while it was read: it has values that it did not have")
    cell, inverse = np.unique(domain.dxy(*(each for each, _ in found)), return_inverse=True)
    return Sums(cell, *(sums(inverse, each, len(cell)) for each in (piece.people, piece.weight, piece.squares)))


def levelled(domain: Domain, counted: Sums, rows: Levelled) -> Levelled:
    """Return counted cells as rows that stand for the people in them."""
    dx, y = np.divmod(counted.cell, domain.y.size)
    both = zip((domain.d, domain.x, domain.y), (*np.divmod(dx, domain.x.size), y), strict=True)
    codes = {v.name: code for axis, cell in both for v, code in zip(axis.variables, axis.unravel(cell), strict=True)}
    return replace(
        rows,
        variables=domain.variables,
        codes=codes,
        weight=counted.weight,
        people=counted.people,
        squares=counted.squares,
    )


@dataclass(frozen=True, eq=False)
class Represented:
    """Rows that each stand for all of their kind, with the people, weight and squared weights of these."""

    table: Table
    people: Numbers
    weight: Numbers
    squares: Numbers


def represented(domain: Domain, pieces: Iterable[Piece], name: str) -> Represented | None:
    """Return one row for each kind of rows that a mapping tells apart; None of a table without rows.

    Rows are of one kind if they agree in the level of every column that has levels, or in the value where that is none;
    in the leaf; and in the columns whose words the tree does not know.
    """
    domain = domain.allowing_missing(True)
    place: dict[tuple[Any, ...], int] = {}
    held: list[Table] = []
    found = [np.zeros(0)] * 3
    size, first = 0, 0
    for piece in pieces:
        keys, at, inverse = _kinds(domain, piece.table, first=first)
        first += len(piece.weight)
        known = len(place)
        slot = np.array([place.setdefault(key, len(place)) for key in keys], dtype=np.int64)
        new = take(piece.table, at[slot >= known])
        size += int(new.estimated_size())
        _refuse_too_many(name, len(place), size)
        held.append(new)
        each = piece.people, piece.weight, piece.squares
        found = [
            np.pad(before, (0, len(place) - known)) + sums(slot[inverse], more, len(place))
            for before, more in zip(found, each, strict=True)
        ]
    return Represented(stacked(held), *found) if place else None


def _kinds(domain: Domain, table: Table, *, first: int) -> tuple[list[tuple[Any, ...]], Cells, Cells]:
    """Return what tells each kind of rows from others, one row of each, and the kind of every row."""
    parts: list[Cells] = []
    values: list[list[Any] | None] = []
    for variable in domain.variables:
        part, own = _told_apart(variable, table, first=first)
        parts.append(part)
        values.append(own)
        for flags in () if variable.is_column else unlike_fitted(variable, table).values():
            parts.append(flags.astype(np.int64))
            values.append(None)
    at, kind = alike(parts)
    columns = [
        part[at].tolist() if own is None else [own[code] for code in part[at].tolist()]
        for part, own in zip(parts, values, strict=True)
    ]
    return list(zip(*columns, strict=True)), at, kind


def _told_apart(variable: Variable, table: Table, *, first: int) -> tuple[Cells, list[Any] | None]:
    """Return a variable's levels, each value that is none as one more, and what these numbers stand for."""
    found = levels_in(variable, table, first=first)
    level = np.asarray(found.level[found.codes], dtype=np.int64)
    new = level == UNSEEN
    if not new.any():
        return level, None
    # Where values are not numbered, a missing one alone has no level.
    values: list[Any] = [None] if found.encoded is None else [*found.encoded.values, None]
    code = np.zeros(len(level), np.int64) if found.encoded is None else np.asarray(found.encoded.codes, np.int64)
    code = np.where(code < 0, len(values) - 1, code)
    return np.where(new, len(variable) + code, level), [*range(len(variable)), *((value,) for value in values)]


def _refuse_too_many(name: str, number: int, size: int) -> None:
    memory = current().memory
    if size > memory * HELD_SHARE:
        raise DataError(
            f"{name} has more than {number:,} kinds of rows, by new values and by words that the mapping does not "
            f"know, which do not fit into {words(memory)} of memory; try ",
            Option("memory", words(2 * memory)),
        )
