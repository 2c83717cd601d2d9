"""Folds of a table: fit on four fifths, and see what becomes of the last fifth.

Folds are dealt at random, by what rows hold and never by their order. Spread evenly over the folds, equal people would
hide the very noise that folds are to show. Cells that are learned are learned anew within each fold.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Cells, Numbers, dealt, positions, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Role
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, learn_in_pieces, rows_in_memory
from evenhand.errors import DataError, EvenhandWarning
from evenhand.kernel import Kernel
from evenhand.kernel.strangers import strangers
from evenhand.spec import Problem
from evenhand.tables import Levelled, Piece, cells, order_by_content, take
from evenhand.tables.transforming import Transformer, train_mode

FOLDS = 5

SEED = 20
"""Folds are the same whenever the table is."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Four fifths of a table, and who is in the last.

    Attributes
    ----------
    train : Counts
        Those to fit on; their groups and outcomes are those of the whole table, their features' cells may be others.
    cell : array
        Of each kind of people held out, their cell among those of the whole table.
    d, x, y : array
        Their cell in the domain of ``train``.
    weight : array
        How much they weigh.
    """

    train: Counts
    cell: Cells
    d: Cells
    x: Cells
    y: Cells
    weight: Numbers

    def held_out(self, problem: Problem, kernel: Kernel, size: int) -> Numbers:
        """Return the weighted expected outcomes of those held out, added up over so many cells of the whole table."""
        each = expected_outcomes(_mode(problem, self.train, kernel), self.d, self.x, self.y) * self.weight[:, None]
        return np.column_stack([sums(self.cell, column, size) for column in each.T])


def _mode(problem: Problem, counts: Counts, kernel: Kernel) -> Transformer:
    policies = strangers(problem, counts, kernel, problem.suppression.conditional(counts))
    return train_mode(counts, kernel, problem.reads, policies=policies)


def expected_outcomes(mode: Transformer, d: Cells, x: Cells, y: Cells) -> Numbers:
    """Return P(ŷ) of people of any cells, one row for each: fitted, typical where the cell is new, else as they are."""
    domain = mode.domain
    whose = {domain.d: d, domain.x: x, domain.y: y}
    number = np.zeros(len(d), dtype=np.int64)
    for axis in mode.reads:
        number = number * axis.size + whose[axis]
    place = mode.place(number)
    found = np.eye(domain.y.size)[y]
    known, others = place >= 0, mode.strangers
    fitted = sums(
        mode.fitted.rows * domain.y.size + domain.split_xy(mode.fitted.targets)[1],
        mode.fitted.probability,
        len(mode.fitted) * domain.y.size,
    ).reshape(-1, domain.y.size)
    found[known] = fitted[place[known]]
    new = np.flatnonzero(~known)
    if others is None or not len(new):
        return found
    key = np.zeros(len(new), dtype=np.int64)
    for axis in others.by:
        cell = whose[axis][new] if axis in whose else domain.x.cells_of(axis, x[new])
        key = key * axis.size + cell
    row = others.row(key)
    shares = np.zeros((len(others.kernel), domain.y.size))
    shares[others.kernel.rows, others.kernel.targets] = others.kernel.probability
    found[new[row >= 0]] = shares[row[row >= 0]]
    return found


def folds_of(
    problem: Problem, counts: Counts, table: AnyTable | Counts, weighting: Weighting | None = None
) -> tuple[Fold, ...]:
    """Deal the people of a table, of which these are the counts."""
    if problem.cells is None:
        return tuple(_counted(counts, elsewhere="d" in problem.reads))
    if isinstance(table, Counts):
        raise DataError(
            f"confidence: {type(problem.cells).__name__} must be learned anew within folds of the table, which counts "
            f"alone do not tell; give the table itself"
        )
    return tuple(_learned(problem, counts, rows_in_memory(problem, table, weighting)))


def _counted(counts: Counts, *, elsewhere: bool) -> Iterator[Fold]:
    """Deal the people of each cell, whoever they are: those of one cell are alike.

    A case of the problem may be about so few that nobody of them is in a fold (``elsewhere``), but for mappings that
    do not read the group, whose limits are the smallest of all groups.
    """
    people = counts.unweighted.weight.astype(np.int64)
    for held in dealt(people, FOLDS, SEED):
        share = held / people
        kept, out = share < 1, np.flatnonzero(held > 0)
        left = people - held
        weight = (counts.weight * (1 - share))[kept]
        train = Counts(
            counts.domain, counts.d[kept], counts.x[kept], counts.y[kept], weight, left[kept],
            weight**2 / left[kept], elsewhere,
        )  # fmt: skip
        yield Fold(train, out, counts.d[out], counts.x[out], counts.y[out], (counts.weight * share)[out])


def _learned(problem: Problem, counts: Counts, rows: Piece) -> Iterator[Fold]:
    """Deal the rows of a table over which cells are learned."""
    domain, kept = counts.domain, np.flatnonzero(rows.weight > 0)
    table, weight = take(rows.table, kept), rows.weight[kept]
    d, x, y = (cells(axis, table)[0] for axis in (domain.d, domain.x, domain.y))
    _, cell = positions(counts.sources, domain.dxy(d, x, y))
    order = order_by_content(problem, table, weight, y, d)
    fold = np.empty(len(order), dtype=np.int64)
    fold[order] = np.random.default_rng(SEED).permutation(np.arange(len(order)) % FOLDS)
    for number in range(FOLDS):
        out, own = np.flatnonzero(fold == number), np.flatnonzero(fold != number)
        train = _learn(problem, counts, Piece(take(table, own), weight[own]), d[own], y[own])
        leaf = cells(train.domain.x, take(table, out))[0]
        yield Fold(train, cell[out], d[out], leaf, y[out], weight[out])


def _learn(problem: Problem, counts: Counts, rows: Piece, d: Cells, y: Cells) -> Counts:
    """Learn cells from some rows of a table whose groups and outcomes are known."""
    domain = counts.domain
    variables = tuple(variable for variable in domain.variables if variable.role is not Role.FEATURE)
    axes = ((domain.d, d), (domain.y, y))
    codes = {v.name: code for axis, cell in axes for v, code in zip(axis.variables, axis.unravel(cell), strict=True)}
    levelled = Levelled(rows.table, variables, codes, rows.weight)
    with warnings.catch_warnings():
        # What is remarkable about the columns was said of the whole table.
        warnings.simplefilter("ignore", EvenhandWarning)
        found = learn_in_pieces(problem, levelled, lambda: [rows]).counts(problem)
    return replace(found, elsewhere="d" in problem.reads)
