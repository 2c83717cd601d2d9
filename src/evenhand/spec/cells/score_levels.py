"""Levels of a score as cells: the sharpest ordered cells there are for a model that exists already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evenhand import check
from evenhand.data.tree import Kind
from evenhand.errors import DataError, SpecError, in_number
from evenhand.spec.cells.learning import CellNumber, Learned, Node, Question, Sample
from evenhand.spec.cells.leaves import simplest_between
from evenhand.tolerances import SAME_PROBABILITY


@dataclass(frozen=True)
class ScoreLevels(Learned):
    """Cells are levels of a score: of the one feature that is a column of numbers, about equally many people in each.

    The score should be one that a model gave to people whom it was not trained on: :func:`evenhand.out_of_fold` makes
    it. Every level has people enough of every group; neighbours are merged until it does. Missing scores are a level of
    their own, if these are people enough.

    Parameters
    ----------
    number : int
        How many levels there are, at most.
    at_least : int
        How many people of every group each level has at least.
    sample : int
        Where a table has more different scores than this, by group and outcome, levels are found on so many of them.

    Examples
    --------
    >>> ScoreLevels(2).words
    'at most 2 levels of a score, each with 20 people or more of every group'
    """

    number: CellNumber = 20
    at_least: check.Positive = 20
    sample: check.Positive = 100_000

    word = "score_levels"
    variable = "score level"
    ordered = True
    remedy = "keep what tells the outcome from the model that gives this score"

    @property
    def most_cells(self) -> int:
        """The largest number of levels."""
        return self.number

    @property
    def words(self) -> str:
        """How cells are made."""
        return f"at most {self.number} levels of a score, each with {in_number(self.at_least)} or more of every group"

    def refuse_columns(self, features: Sequence[str]) -> None:
        """Refuse anything but one score."""
        if len(features) != 1:
            raise SpecError(
                f"ScoreLevels reads one feature, a column that holds a model's score, not {list(features)}; "
                f"eh.out_of_fold makes one from any columns, and Leaves reads them all"
            )

    def grown(self, sample: Sample, share: float) -> Node:
        """Return the levels of one segment."""
        (seen,) = sample.columns
        numbers = seen.given.numbers
        if numbers is None or seen.asked.kind is not Kind.NUMBER:
            raise DataError(f"column {seen.asked.name!r} must hold a score, a number, for ScoreLevels")
        missing = np.isnan(numbers)
        values, place = np.unique(numbers[~missing], return_inverse=True)
        if not len(values):
            return Node()
        reached = np.cumsum(np.bincount(place, weights=sample.weight[~missing]))
        wanted = np.arange(1, self.number) / self.number * reached[-1]
        ends = np.unique(np.searchsorted(reached, wanted * (1 - SAME_PROBABILITY)))
        edges = [simplest_between(float(values[i]), float(values[i + 1])) for i in ends if i + 1 < len(values)]

        def between(first: int, last: int, *, all_of_them: bool = False) -> Node:
            if first == last:
                return Node()
            middle = (first + last) // 2
            # Where nobody's score was missing, one that is goes just above the middle.
            question = Question(seen.asked, not all_of_them, edges[middle])
            return Node(question, between(first, middle), between(middle + 1, last))

        levels = between(0, len(edges), all_of_them=True)
        return self.settled(Node(Question(seen.asked, False), levels, Node()) if missing.any() else levels, sample)
