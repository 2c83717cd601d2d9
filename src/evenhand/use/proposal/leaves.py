"""Learned cells beside a choice of columns: how large leaves may be, and how much each tells about new people.

Knows columns, groups and the outcome, and nothing of bounds. What is told is measured on people whom neither the tree
nor the choice has seen: on the people of a fold, by all the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.tree import EPOCH, Asked, Given, Kind, Tree
from evenhand.errors import DataError, MissingExtraError
from evenhand.spec.cells import Learned, Leaves, Sample, Seen
from evenhand.tables.survey import Column
from evenhand.use.proposal.choosing import Weight, all_joined, choose, tabulated

FEWEST_LEAVES, MOST_LEAVES = 8, 64
PEOPLE_PER_LEAF = 200
"""Between those two there is a leaf for each so many people, at first."""

FEWEST, MOST = 5, 20
SHARE_OF_GROUP = 400
"""Every leaf has one in so many people of the smallest group, but no fewer and no more than those two."""

PART_OF_GROUP = 8
"""So many leaves are possible at least, however small the smallest group is."""

FOLDS = 5

MANY_ROWS = 10_000
"""Of more rows one fold tells enough."""

TRIED_ON = 20_000
"""A tree that is only tried out is learned from so many rows."""

PRIOR = 2.0
"""A cell's rates are drawn towards everybody's by the weight of so many people."""


@dataclass(frozen=True, eq=False)
class Trial:
    """Leaves that were tried out, beside the best few columns as levels.

    Attributes
    ----------
    cells : Leaves
        What would be stated.
    size : int
        How many leaves a tree had.
    told, told_by_few : float
        Which share of what is not known about the outcome the leaves, and the few columns, tell of new people.
    few : tuple of str
        Those columns.
    leaf
        The leaf of every row, in such a tree.
    """

    cells: Leaves
    size: int
    told: float
    told_by_few: float
    few: tuple[str, ...]
    leaf: Cells

    @property
    def tells(self) -> bool:
        """Whether there are leaves that tell anything: they then leave no column out, and have a place for anybody."""
        return self.size > 1 and self.told > min(self.told_by_few, 0.0)


@dataclass(frozen=True, eq=False)
class Tried:
    """What came of a trial: the trial; or, where there is none, why: a missing package, or groups too small."""

    trial: Trial | None = None
    install: MissingExtraError | None = None
    refused: str | None = None


def sized(groups: Cells) -> Leaves:
    """Return how many leaves to ask for, and how many people of every group each is to have.

    Examples
    --------
    >>> sized(np.repeat([0, 1], [10_771, 21_790]))
    Leaves(most=64, at_least=20, sample=100000)
    >>> sized(np.repeat([0, 1, 2], [149, 552, 299]))
    Leaves(most=8, at_least=5, sample=100000)
    """
    rows = len(groups)
    # A larger table is learned from a sample, in which groups are smaller.
    smallest = int(np.bincount(groups).min() * min(1.0, Leaves.sample / rows))
    people = min(int(np.clip(smallest // SHARE_OF_GROUP, FEWEST, MOST)), smallest // PART_OF_GROUP)
    return Leaves(int(np.clip(rows // PEOPLE_PER_LEAF, FEWEST_LEAVES, MOST_LEAVES)), max(people, 1))


def try_out(
    columns: Sequence[Column],
    levels: Mapping[str, Cells],
    groups: Cells,
    names: Sequence[str],
    outcome: Cells,
    weight: Weight,
) -> Tried:
    """Learn leaves over columns, and measure what they tell beside a choice among columns as levels."""
    cells = sized(groups)
    ones = np.ones(len(outcome)) if weight is None else weight
    people = np.bincount(groups, minlength=len(names))
    sample = Sample(tuple(map(_seen, columns)), outcome, ones, np.ones(len(outcome)), groups, names, people)
    try:
        return Tried(_tried(cells, sample, levels, weight))
    except MissingExtraError as error:
        return Tried(install=error)
    except DataError as error:
        return Tried(refused=str(error))


def _tried(cells: Leaves, sample: Sample, levels: Mapping[str, Cells], weight: Weight) -> Trial:
    rows = len(sample)
    sizes = _sizes(cells, rows)
    shares: list[list[float]] = []
    for others, fold in _folds(rows):
        leaves = [_leaf(_grown(size, sample, others), sample) for size in sizes]
        own = {name: codes[others] for name, codes in levels.items()}
        few = choose(own, sample.group[others], sample.outcome[others], None if weight is None else weight[others])
        by_few = all_joined([np.zeros(rows, dtype=np.int64), *(levels[name] for name in few)])
        shares.append([_told(each, sample, others, fold) for each in (*leaves, by_few)])
    *told, told_by_few = np.mean(shares, axis=0).tolist()
    best = int(np.argmax(told))
    leaf = leaves[best]
    if rows <= MANY_ROWS:
        leaf = _leaf(_grown(sizes[best], sample, np.arange(rows)), sample)
        few = choose(levels, sample.group, sample.outcome, weight)
    return Trial(sizes[best], int(leaf.max()) + 1, told[best], told_by_few, few, leaf)


def _sizes(cells: Leaves, rows: int) -> list[Leaves]:
    """Return leaves in the numbers that are tried out: of few rows also in larger ones, of which new people decide."""
    most = [cells.most]
    while rows <= MANY_ROWS and most[-1] < MOST_LEAVES:
        most.append(min(2 * most[-1], MOST_LEAVES))
    return [replace(cells, most=each) for each in most]


def _folds(rows: int) -> Iterator[tuple[Cells, Cells]]:
    """Yield the rows to learn from, and those to measure on."""
    parts = np.array_split(np.random.default_rng(0).permutation(rows), FOLDS)
    for fold in range(FOLDS if rows <= MANY_ROWS else 1):
        yield np.concatenate(parts[:fold] + parts[fold + 1 :]), parts[fold]


def _grown(cells: Leaves, sample: Sample, rows: Cells) -> Tree:
    """Return a tree that is learned from rows, or from some of them: in proportion fewer people are then enough."""
    some = rows[:TRIED_ON]
    people = max(round(cells.at_least * len(some) / min(len(sample), cells.sample)), 1)
    # A single leaf is a finding here, and nothing to warn of.
    return Learned.tree(replace(cells, at_least=people), sample.of(np.sort(some)))


def _leaf(tree: Tree, sample: Sample) -> Cells:
    given = {seen.asked.name: seen.given for seen in sample.columns}
    return tree.leaves([given[name] for name in tree.names], len(sample))


def _told(cells: Cells, sample: Sample, others: Cells, fold: Cells) -> float:
    """Return which share of the outcome of a fold cells tell whose rates are those of the others."""
    usual = np.bincount(sample.outcome[others], sample.weight[others], int(sample.outcome.max()) + 1)
    usual = (usual + PRIOR / len(usual)) / (usual + PRIOR / len(usual)).sum()
    size = np.zeros((int(cells.max()) + 1, len(usual)))
    table = tabulated(cells[others], sample.outcome[others], sample.weight[others])
    size[: table.shape[0], : table.shape[1]] = table
    rates = (size + PRIOR * usual) / (size.sum(axis=1, keepdims=True) + PRIOR)
    weight, outcome = sample.weight[fold], sample.outcome[fold]
    unknown = weight @ np.log(usual[outcome])
    return float(1 - weight @ np.log(rates[cells[fold], outcome]) / unknown)


def _seen(column: Column) -> Seen:
    """Return a column as a tree reads it."""
    gaps = column.missing > 0
    truths = bool(column.values) and all(isinstance(value, bool) for value in column.values)
    if column.numeric or truths:
        kind = Kind.TRUTH if truths else Kind.NUMBER
        return Seen(Asked(column.name, kind, gaps), Given(numbers=_at(column, column.values)))
    if column.dated:
        return Seen(Asked(column.name, Kind.DATE, gaps), Given(numbers=_at(column, map(_day, column.values))))
    words = [str(value) for value in column.values]
    return Seen(Asked(column.name, Kind.WORD, gaps=gaps), Given(codes=column.codes, words=words))


def _at(column: Column, numbers: Iterable[object]) -> Numbers:
    """Return the number of each row, of those of its values."""
    return np.array([*numbers, np.nan], dtype=float)[column.codes]


def _day(value: object) -> float:
    """Return a date as days since 1970; one that is written in another way is missing."""
    try:
        return float((date.fromisoformat(str(value)[:10]) - EPOCH).days)
    except ValueError:
        return np.nan
