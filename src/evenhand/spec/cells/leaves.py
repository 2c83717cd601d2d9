"""Leaves of a decision tree as cells: any columns as they are, no bins.

The tree is grown by scikit-learn on ranks of numbers and on words in the order of their outcomes, best split first.
What comes out is ours: it is translated, split by split, into a :class:`evenhand.data.tree.Tree`.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.tree import Tree
from evenhand.errors import MissingExtraError, in_number, warn
from evenhand.spec.cells.learning import CellNumber, Learned, Node, Question, Sample, Seen

_OTHERS, _GONE = 0, 1
"""Stand among words for those that are not known, and for missing ones."""


@dataclass(frozen=True)
class Leaves(Learned):
    """Cells are the leaves of a tree that is learned from the features and the outcome; it never asks about groups.

    Features may be any columns: numbers, words, truths, dates, with missing values; none needs bins or a rule. Every
    leaf has people enough of every group: a split that would leave fewer on one side is left out. (A segment that a
    parity bound is given is a leaf, however few people it has.) Needs the extra ``sklearn`` where a tree is learned,
    and nothing where one is used.

    Parameters
    ----------
    most : int
        The largest number of leaves; but each segment that a parity bound is given has one at least.
    at_least : int
        How many people of every group each leaf has at least. A word that fewer people have is known to no split: it
        goes where all such words go, as a word does that nobody had.
    sample : int
        Where a table has more kinds of people than this, by features, group and outcome, splits are found on so many of
        them, chosen by their features; people are counted on all.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> problem = eh.Problem(
    ...     protected=["race"], features=["sex", "age_cat", "c_charge_degree", "priors_count"], outcome="is_recid",
    ...     cells=eh.Leaves(most=4), parity=[eh.PairwiseParity(0.1)],
    ...     distortion=eh.Distortion({"is_recid": eh.Ordinal(step=1)}),
    ... )
    >>> eh.fit(problem, data.frame).cells["rule"].tolist()[:2]
    ['priors_count is 0, age_cat is not Less than 25', 'priors_count is 1-3, age_cat is not Less than 25']
    """

    most: CellNumber = 64
    at_least: check.Positive = 20
    sample: check.Positive = 100_000

    word = "leaves"
    variable = "learned cell"
    ordered = False

    @property
    def most_cells(self) -> int:
        """The largest number of leaves."""
        return self.most

    @property
    def words(self) -> str:
        """How cells are made."""
        return f"at most {self.most} leaves of a tree, each with {in_number(self.at_least)} or more of every group"

    def tree(self, sample: Sample) -> Tree:
        """Return the tree that a sample gives, and say so where it has one leaf."""
        tree = super().tree(sample)
        if tree.size == 1:
            few = int(np.argmin(sample.everybody))
            warn(
                f"all people are in one cell: no feature tells anything of the outcome, or no split of one leaves "
                f"{in_number(self.at_least)} of every group on both sides (at_least; {sample.group_words[few]} has "
                f"{sample.everybody[few]} in all)"
            )
        return tree

    def grown(self, sample: Sample, share: float) -> Node:
        """Return the tree of one segment, with its share of the leaves."""
        most = max(round(self.most * share), 1)
        columns = [ranked for seen in sample.columns if (ranked := _Ranked.of(seen, sample, self.at_least)).varies]
        if most < 2 or not columns:
            return Node()
        rows = np.column_stack([column.rank for column in columns]).astype(np.float32)

        def of(size: int) -> Node:
            learner = _learner()(
                criterion="log_loss",
                max_leaf_nodes=size,
                # No leaf of fewer people could have enough of every group. Rows stand for several people.
                min_weight_fraction_leaf=min(
                    (self.at_least * len(sample.group_words) - 0.5) / sample.people.sum(), 0.5
                ),
                random_state=0,
            )
            found = learner.fit(rows, sample.outcome, sample_weight=sample.weight).tree_
            return self.settled(_translated(found, 0, columns), sample)

        node = of(most)
        # Splits that leave too few of a group are left out; as many leaves are asked for as may make up for it.
        if node.size < most and (larger := of(most * most // node.size)).size <= most:
            node = larger
        return node


def _learner() -> Any:
    try:
        from sklearn.tree import DecisionTreeClassifier
    except ImportError:
        raise MissingExtraError(
            "learned cells need scikit-learn 1.6 or newer: pip install 'evenhand[sklearn]'"
        ) from None
    return DecisionTreeClassifier


@dataclass(frozen=True, eq=False)
class _Ranked:
    """A column as ranks: of numbers among the values that there are, of words in the order of their outcomes.

    ``values`` are the numbers by rank; ``words`` the words by rank, of which one stands for all that are not known, and
    one for missing ones.
    """

    seen: Seen
    rank: Numbers
    values: Numbers | None = None
    words: tuple[str | int, ...] = ()

    @classmethod
    def of(cls, seen: Seen, sample: Sample, at_least: int) -> _Ranked:
        """Rank a column of a sample."""
        given = seen.given
        if given.numbers is not None:
            missing = np.isnan(given.numbers)
            values, place = np.unique(given.numbers[~missing], return_inverse=True)
            rank = np.full(len(given.numbers), np.nan)
            rank[~missing] = place
            return cls(seen, rank, values)
        assert given.codes is not None
        entries: list[str | int] = [*seen.asked.words, _OTHERS, _GONE]
        known = {word: place for place, word in enumerate(seen.asked.words)}
        others, gone = len(known), len(known) + 1
        entry = np.array([*(known.get(word, others) for word in given.words), gone])[given.codes]
        order = np.argsort(_outcome_scores(entry, len(entries), sample, at_least), kind="stable")
        place = np.empty(len(entries), dtype=np.int64)
        place[order] = np.arange(len(entries))
        return cls(seen, place[entry].astype(float), words=tuple(entries[i] for i in order))

    @property
    def varies(self) -> bool:
        """Whether there is anything to split."""
        ranks = np.unique(self.rank[~np.isnan(self.rank)])
        return len(ranks) + bool(np.isnan(self.rank).any()) > 1

    def question(self, threshold: float, missing_left: bool) -> Question:
        """Return the split at a rank, as one of values."""
        asked = self.seen.asked
        if self.values is None:
            left = self.words[: math.floor(threshold) + 1]
            among = frozenset(word for word in left if isinstance(word, str))
            return Question(asked, _GONE in left, None, among, _OTHERS in left)
        if not math.isfinite(threshold) or threshold >= len(self.values) - 1:
            # Every value against missing ones.
            return Question(asked, False)
        below, above = self.values[math.floor(threshold)], self.values[math.floor(threshold) + 1]
        return Question(asked, missing_left, simplest_between(float(below), float(above)))


def _outcome_scores(entry: Cells, number: int, sample: Sample, at_least: int) -> Numbers:
    """Return by what words are ordered: the first principal axis of their shares of outcomes.

    For two outcomes this is nearly the order of rates, in which the best split of words lies between two neighbours
    (Breiman et al. 1984, section 4.2); but shares of few people are drawn towards those of all, and one order serves
    the whole tree.
    """
    size = len(sample.by_outcome)
    table = sums(entry * size + sample.outcome, sample.weight, number * size).reshape(number, size)
    usual = sample.by_outcome / sample.by_outcome.sum()
    weight = table.sum(axis=1, keepdims=True)
    prior = at_least * sample.weight.sum() / sample.people.sum()
    apart = (table + prior * usual) / (weight + prior) - usual
    covariance = (apart * weight).T @ apart
    axis = np.linalg.eigh(covariance)[1][:, -1]
    # An axis has no direction of its own: it is to point towards the last outcome that it tells apart.
    axis *= np.sign(axis[np.flatnonzero(np.abs(axis) > np.abs(axis).max() / 2)[-1]])
    return np.asarray(np.round(apart @ axis, 12))


def _translated(found: Any, place: int, columns: list[_Ranked]) -> Node:
    """Return a tree of scikit-learn's as one of ours."""
    left, right = int(found.children_left[place]), int(found.children_right[place])
    if left == right:
        return Node()
    column = columns[found.feature[place]]
    # Where a column had no missing value, one goes with most people.
    more = found.n_node_samples[left] >= found.n_node_samples[right]
    missing_left = bool(found.missing_go_to_left[place]) if np.isnan(column.rank).any() else bool(more)
    question = column.question(float(found.threshold[place]), missing_left)
    return Node(question, _translated(found, left, columns), _translated(found, right, columns))


def simplest_between(below: float, above: float) -> float:
    """Return a number of few digits that is larger than one number and at most another, near their middle.

    Examples
    --------
    >>> simplest_between(12, 13), simplest_between(10, 50), simplest_between(0.3127, 0.3381)
    (13.0, 30.0, 0.33)
    """
    if math.isinf(above):
        above = sys.float_info.max
    middle = below / 2 + above / 2
    if math.isfinite(above - below) and above > below:
        largest = min(math.floor(math.log10(above - below)) + 1, sys.float_info.max_10_exp)
        for exponent in range(largest, largest - 18, -1):
            step = 10.0**exponent
            for number in (round(middle / step), math.ceil(middle / step)):
                # Written out and read again, so that it has no more digits than it needs.
                found = float(f"{number}e{exponent}")
                if below < found <= above:
                    return found
    return above
