"""What every statement about learned cells shares: with a sample of a table it becomes a tree.

Knows plain arrays, not tables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Annotated, ClassVar

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data.tree import NOWHERE, Asked, Given, Split, Tree
from evenhand.errors import DataError, in_number, warn
from evenhand.spec.part import Part

MOST_CELLS = 10_000
"""More are no cells that anybody could read."""

CellNumber = Annotated[int, partial(check.whole, low=2, high=MOST_CELLS)]

NEARLY_TELLS = 0.9
"""A column that tells this share of the outcome's entropy by itself is warned of: perhaps it is known only after it."""

MOST_PIECES = 64
"""Into so many pieces of equally many people a column is cut to see how much it tells."""


@dataclass(frozen=True, eq=False)
class Seen:
    """A column of a sample: what a tree could ask about, and the values of every row."""

    asked: Asked
    given: Given

    def of(self, rows: Cells) -> Seen:
        """Return some of the rows."""
        given = self.given
        if given.numbers is not None:
            return replace(self, given=Given(numbers=given.numbers[rows]))
        assert given.codes is not None
        return replace(self, given=replace(given, codes=given.codes[rows]))


@dataclass(frozen=True, eq=False)
class Sample:
    """What learning may look at: kinds of people, each with its features, outcome, group, weight and number of people.

    Groups are read only to see that every cell has people enough of each. ``everybody`` is how many people of each
    group there are in the whole table, of which this may be a part. ``segmenting`` are the columns that parity bounds
    are given: no cell has people of two of their values.
    """

    columns: tuple[Seen, ...]
    outcome: Cells
    weight: Numbers
    people: Numbers
    group: Cells
    group_words: Sequence[str]
    everybody: Cells
    segmenting: tuple[Seen, ...] = ()

    def __len__(self) -> int:
        return len(self.outcome)

    def of(self, rows: Cells) -> Sample:
        return replace(
            self,
            columns=tuple(seen.of(rows) for seen in self.columns),
            segmenting=tuple(seen.of(rows) for seen in self.segmenting),
            **{name: getattr(self, name)[rows] for name in ("outcome", "weight", "people", "group")},
        )

    @cached_property
    def by_outcome(self) -> Numbers:
        return sums(self.outcome, self.weight, int(self.outcome.max()) + 1)

    def heads(self, rows: Cells) -> Numbers:
        """Return how many people of each group some rows stand for."""
        return sums(self.group[rows], self.people[rows], len(self.group_words))


class Learned(Part):
    """How cells are learned; subclasses are frozen dataclasses.

    Attributes
    ----------
    variable : str
        What the variable is called whose levels the cells are.
    ordered : bool
        Whether the order of cells means something.
    remedy : str
        What to do with a column that tells the outcome.
    """

    key = "kind"
    variable: ClassVar[str]
    ordered: ClassVar[bool]
    remedy: ClassVar[str] = "take it from the features"
    at_least: int
    sample: int

    def tree(self, sample: Sample) -> Tree:
        """Return the tree that a sample gives: the segments first, each with a tree of its own."""
        self.refuse_small_groups(sample)
        sample = replace(
            sample,
            columns=tuple(knowing(seen, sample.people, self.at_least) for seen in sample.columns),
            segmenting=tuple(knowing(seen, sample.people) for seen in sample.segmenting),
        )
        refuse_tellers(sample, self.at_least, self.remedy)
        everybody = sample.people.sum()
        return planted(
            by_segment(sample, sample.segmenting, lambda part: self.grown(part, float(part.people.sum() / everybody)))
        )

    @abstractmethod
    def grown(self, sample: Sample, share: float) -> Node:
        """Return the tree of one segment, with its share of all people."""

    @property
    @abstractmethod
    def most_cells(self) -> int:
        """The largest number of cells, where there are no segments."""

    @property
    @abstractmethod
    def words(self) -> str:
        """How cells are made, as a report says it."""

    def refuse_columns(self, features: Sequence[str]) -> None:  # most read any columns
        """Refuse features, other than those that parity bounds are given, that it cannot read."""

    def refuse_small_groups(self, sample: Sample) -> None:
        """Refuse groups that have too few people for even one cell."""
        people = sample.everybody
        few = [
            f"{words} ({number})"
            for words, number in zip(sample.group_words, people, strict=True)
            if number < self.at_least
        ]
        if few:
            raise DataError(
                f"every cell is to have at least {in_number(self.at_least)} of every group, but there are fewer in all "
                f"of {', '.join(few)}; write at_least={max(int(people.min()), 1)}, or merge groups with bins"
            )

    def settled(self, node: Node, sample: Sample) -> Node:
        """Return a tree without the splits that leave too few people of some group on a side.

        Where they do, everybody goes on along the other side.
        """

        def walked(node: Node, rows: Cells) -> Node:
            if node.split is None:
                return node
            left = node.split.left(sample, rows)
            sides = rows[left], rows[~left]
            enough = [bool(np.all(sample.heads(side) >= self.at_least)) for side in sides]
            if all(enough):
                return replace(node, left=walked(node.lower, sides[0]), right=walked(node.upper, sides[1]))
            # Where neither side has enough, along that of more people.
            many = [float(sample.people[side].sum()) for side in sides]
            on_left = enough[0] if any(enough) else many[0] >= many[1]
            return walked(node.lower if on_left else node.upper, rows)

        return walked(node, np.arange(len(sample)))


@dataclass(frozen=True, eq=False)
class Question:
    """A split of a tree that is being grown: the column itself, and what goes left."""

    seen: Asked
    missing_left: bool
    below: float | None = None
    among: frozenset[str] = frozenset()
    others_left: bool = False

    def left(self, sample: Sample, rows: Cells) -> Flags:
        """Return which of some rows go left."""
        seen = next(each for each in (*sample.columns, *sample.segmenting) if each.asked.name == self.seen.name)
        tree = Tree((self.seen,), (self.split(0, ~0, ~1),))
        return np.asarray(tree.leaves([seen.of(rows).given], len(rows)) == 0)

    def split(self, column: int, left: int, right: int) -> Split:
        """Return it as a split of a tree, at a place."""
        among = tuple(sorted(self.among))
        return Split(column, left, right, self.missing_left, self.below, among, self.others_left)


@dataclass(frozen=True, eq=False)
class Node:
    """A tree that is being grown: a leaf, or a question and what follows on either side."""

    split: Question | None = None
    left: Node | None = None
    right: Node | None = None

    @property
    def lower(self) -> Node:
        """What follows on the left."""
        assert self.left is not None
        return self.left

    @property
    def upper(self) -> Node:
        """What follows on the right."""
        assert self.right is not None
        return self.right

    @property
    def size(self) -> int:
        """The number of leaves."""
        return 1 if self.split is None else self.lower.size + self.upper.size

    def questions(self) -> Iterator[Question]:
        """Yield every split, those on the left first."""
        if self.split is not None:
            yield self.split
            yield from self.lower.questions()
            yield from self.upper.questions()


def planted(node: Node) -> Tree:
    """Return a grown tree as the values that a mapping keeps, with the columns that it asks about."""
    columns: dict[str, Asked] = {}
    for question in node.questions():
        known = columns.setdefault(question.seen.name, question.seen)
        words = tuple(sorted({*known.words, *question.seen.words}))
        columns[question.seen.name] = replace(known, words=words)
    places = {name: place for place, name in enumerate(columns)}
    splits: list[Split] = []
    leaves = 0

    def planted_at(node: Node) -> int:
        nonlocal leaves
        if node.split is None:
            leaves += 1
            return ~(leaves - 1)
        place = len(splits)
        splits.append(node.split.split(0, 0, 0))
        left = planted_at(node.lower)
        splits[place] = node.split.split(places[node.split.seen.name], left, planted_at(node.upper))
        return place

    planted_at(node)
    tree = Tree(tuple(columns.values()), tuple(splits))
    tree.check()
    return tree


def by_segment(sample: Sample, columns: Sequence[Seen], grow: Callable[[Sample], Node]) -> Node:
    """Return a tree that tells the values of columns apart, one column after the other, and then grows on."""
    if not columns:
        return grow(sample)
    first, rest = columns[0], columns[1:]
    node: Node | None = None
    for question, rows in reversed(list(_one_by_one(first))):
        inner = by_segment(sample.of(rows), [seen.of(rows) for seen in rest], grow)
        node = inner if node is None else Node(question, inner, node)
    assert node is not None
    return node


def _one_by_one(seen: Seen) -> Iterator[tuple[Question, Cells]]:
    """Yield the rows of each value of a column, missing ones last, and what tells them from those that follow."""
    asked, given = seen.asked, seen.given
    if given.numbers is not None:
        levels = np.unique(given.numbers[~np.isnan(given.numbers)])
        for level, after in zip(levels, [*levels[1:], None], strict=True):
            yield (
                Question(asked, False, None if after is None else float(after)),
                np.flatnonzero(given.numbers == level),
            )
        missing = np.flatnonzero(np.isnan(given.numbers))
    else:
        assert given.codes is not None
        # In the order of words: their codes depend on the order of rows.
        there = sorted(np.unique(given.codes[given.codes != NOWHERE]).tolist(), key=lambda code: given.words[code])
        for code in there:
            last = code == there[-1]
            yield (
                Question(asked, False, None, frozenset([given.words[code]]), last),
                np.flatnonzero(given.codes == code),
            )
        missing = np.flatnonzero(given.codes == NOWHERE)
    if len(missing):
        yield Question(asked, True), missing


def knowing(seen: Seen, people: Numbers, at_least: int = 1) -> Seen:
    """Return a column that knows the words which enough people have; each row stands for so many."""
    given = seen.given
    if given.codes is None:
        return seen
    there = given.codes != NOWHERE
    having = sums(given.codes[there], people[there], len(given.words))
    known = sorted(word for word, number in zip(given.words, having, strict=True) if number >= at_least)
    others = bool(np.any((having > 0) & (having < at_least)))
    return replace(seen, asked=replace(seen.asked, words=tuple(known), others=others))


def refuse_tellers(sample: Sample, at_least: int, remedy: str = Learned.remedy) -> None:
    """Refuse a column that is the outcome itself, and warn of those that nearly tell it."""
    number = len(sample.by_outcome)
    for seen in sample.columns:
        pieces, values = _pieces(seen, sample.people, at_least)
        table = sums(pieces * number + sample.outcome, sample.weight, (int(pieces.max()) + 1) * number)
        table = table.reshape(-1, number)
        table = table[table.sum(axis=1) > 0]
        one_to_one = np.all(np.count_nonzero(table, axis=1) == 1) and np.all(np.count_nonzero(table, axis=0) == 1)
        name = seen.asked.name
        if values and one_to_one and number > 1:
            raise DataError(
                f"column {name!r} is the outcome by another name: each of its values goes with one outcome, and each "
                f"outcome with one value; {remedy}"
            )
        told = 1 - _entropy(table) / max(_entropy(table.sum(axis=0, keepdims=True)), np.finfo(float).tiny)
        if number > 1 and told >= NEARLY_TELLS:
            warn(
                f"column {name!r} tells {told:.0%} of the outcome by itself: if it is known only after the outcome, "
                f"{remedy}"
            )


def _entropy(table: Numbers) -> float:
    """Return the entropy of outcomes given the row of a table of weights, times its whole weight."""
    share = table / table.sum(axis=1, keepdims=True)
    return float(-(table * np.log(np.where(table > 0, share, 1.0))).sum())


def _pieces(seen: Seen, people: Numbers, at_least: int) -> tuple[Cells, bool]:
    """Return a column in pieces of people, and whether each piece is one value; each row stands for so many."""
    given = seen.given
    if given.numbers is None:
        assert given.codes is not None
        known = {word: place for place, word in enumerate(seen.asked.words, 2)}
        place = np.array([*(known.get(word, 1) for word in given.words), 0], dtype=np.int64)
        return place[given.codes], not seen.asked.others
    missing = np.isnan(given.numbers)
    values, rank = np.unique(given.numbers[~missing], return_inverse=True)
    having = sums(rank, people[~missing], len(values))
    most = int(np.clip(having.sum() // max(at_least, 1), 1, MOST_PIECES))
    pieces = np.zeros(len(given.numbers), dtype=np.int64)
    if len(values) <= most:
        pieces[~missing] = rank + 1
        return pieces, True
    reached = (np.cumsum(having) - having) * most // having.sum()
    pieces[~missing] = reached[rank].astype(np.int64) + 1
    return pieces, False
