"""The empirical distribution p(d, x, y): weights over the observed cells, and what follows from them.

Only cells that somebody is in are kept, sorted by (d, x, y). This module knows nothing of constraints.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.domain import Domain
from evenhand.data.propensities import Propensities, Sharing
from evenhand.data.weighting import SURVEY, Unit
from evenhand.errors import DataError
from evenhand.tolerances import SAME_WEIGHT

AXES = ("", "d", "x", "y", "dx", "dy", "xy", "dxy")
"""The sets of axes onto which counts can be projected."""

SCALE = "multiply all weights by the same number, which changes nothing else"


@dataclass(frozen=True, eq=False)
class Marginal:
    """A marginal distribution over the cells that occur.

    Attributes
    ----------
    cells : array
        The distinct cells, ascending.
    probability : array
        The probability of each.
    of_source : array
        For each source cell (d, x, y), its position in ``cells``.
    """

    cells: Cells
    probability: Numbers
    of_source: Cells

    def at(self, cells: Cells) -> Numbers:
        """Return the probability of any cells; those that never occur have none."""
        found, position = positions(self.cells, cells)
        return np.where(found, self.probability[position], 0.0)


@dataclass(frozen=True, eq=False)
class Counts:
    """Weights over the observed cells (d, x, y).

    Parameters
    ----------
    domain : Domain
        The variables and their levels.
    d, x, y : array of int
        The observed cells, distinct and sorted. Use :meth:`of` for any other order.
    weight : array of float
        The positive weight of each cell.
    cell_people : array of int
        The number of people that each cell was counted from: one for each row, or as many as its frequency.
    cell_squares : array of float
        The sum of the squared weights of these people.
    elsewhere : bool
        Whether these are other people than those that a problem was stated for: not everybody whom it names need be
        among them.
    propensities : Propensities, optional
        What a model that does not see D takes from each source for every group, where that is bounded.
    """

    domain: Domain
    d: Cells
    x: Cells
    y: Cells
    weight: Numbers
    cell_people: Cells
    cell_squares: Numbers
    elsewhere: bool = False
    propensities: Propensities | None = None

    def __post_init__(self) -> None:
        check.kind("domain", self.domain, Domain, "the domain of a Counts, as eh.count makes it")
        for axis in "dxy":
            object.__setattr__(self, axis, _whole(f"each cell in {axis}", getattr(self, axis)))
        object.__setattr__(self, "weight", _numbers("weight", self.weight))
        object.__setattr__(self, "cell_people", _whole("cell_people", self.cell_people))
        object.__setattr__(self, "cell_squares", _numbers("cell_squares", self.cell_squares))
        arrays = (self.d, self.x, self.y, self.weight, self.cell_people, self.cell_squares)
        if len(set(map(len, arrays))) > 1:
            raise DataError(
                "d, x, y and weight of a Counts must be of the same length, one entry for each cell, and so must "
                "cell_people and cell_squares"
            )
        object.__setattr__(self, "elsewhere", check.flag("elsewhere", self.elsewhere))
        ids = self.domain.dxy(self.d, self.x, self.y)
        if not len(ids):
            raise DataError("the table is empty: no row has a positive weight")
        if np.any(np.diff(ids) <= 0):
            raise DataError("cells of a Counts must be distinct and sorted by (d, x, y); use Counts.of")
        for axis, cells in zip("dxy", (self.d, self.x, self.y), strict=True):
            size = getattr(self.domain, axis).size
            if cells.min() < 0 or cells.max() >= size:
                raise DataError(f"a cell of axis {axis} lies outside its domain of {size} cells")
        if not np.all(np.isfinite(self.weight)) or np.any(self.weight <= 0):
            raise DataError("every cell of a Counts needs a positive, finite weight")
        with np.errstate(over="ignore"):
            if not np.isfinite(self.weight.sum() ** 2):
                raise DataError(f"the weights sum to {self.weight.sum():g}, whose square no number can hold; {SCALE}")
        self._check_rows()
        if self.propensities is not None:
            check.kind("propensities", self.propensities, Propensities, "sums of propensities, as a fit makes them")
            self.propensities.check(sharing(self, self.propensities.within), self.domain.y.size)

    def _check_rows(self) -> None:
        """Refuse numbers of people and squared weights that no rows have."""
        people, squares = self.cell_people, self.cell_squares
        if people.min() < 1 or sum(people.tolist()) > check.MOST:
            raise DataError(f"cell_people of a Counts must be at least 1 each, and at most {check.MOST} in all")
        tiny = np.finfo(float).tiny
        if np.any((squares < tiny) & (self.weight**2 / people < tiny)):
            raise DataError(f"a cell has a weight of {self.weight.min():g}, whose square no number can hold; {SCALE}")
        # (Σw)² / n ≤ Σw² ≤ (Σw)², the first by Cauchy and Schwarz, the second since no weight is negative. Written so
        # that a NaN is refused.
        most, slack = self.weight**2, 1 + SAME_WEIGHT
        if not np.all((squares <= most * slack) & (squares * people * slack >= most)):
            raise DataError("the squared weights of a cell (cell_squares) contradict its weight and its people")

    @classmethod
    def of(
        cls,
        domain: Domain,
        d: Cells,
        x: Cells,
        y: Cells,
        weight: Numbers | None = None,
        people: Numbers | None = None,
        squares: Numbers | None = None,
    ) -> Counts:
        """Count rows, in any order and with repeats; rows of weight zero are left out.

        Where a row stands for several equal ones, ``people`` says for how many of positive weight, and ``squares`` is
        the sum of their squared weights.
        """
        check.kind("domain", domain, Domain, "the domain of a Counts, as eh.count makes it")
        d, x, y = (_whole(f"each cell in {axis}", of) for axis, of in zip("dxy", (d, x, y), strict=True))
        weight = np.ones(len(d)) if weight is None else SURVEY.checked(_numbers("weight", weight))
        if not len(d) == len(x) == len(y) == len(weight):
            raise DataError("d, x, y and weight of a Counts must be of the same length, one entry for each row")
        weighted = weight > 0
        ids, inverse = np.unique(domain.dxy(d, x, y)[weighted], return_inverse=True)
        each = np.ones(len(weight)) if people is None else _numbers("people", people)
        with np.errstate(over="ignore"):
            squared = weight**2 if squares is None else _numbers("squares", squares)
        if not len(each) == len(squared) == len(weight):
            raise DataError("people and squares of a Counts must have one entry for each row")
        # Written so that a NaN is refused.
        if not (np.all((each >= 1) & (each == np.rint(each)) | ~weighted) and each[weighted].sum() < check.MOST):
            raise DataError("people of a Counts must be whole numbers of at least 1 wherever the weight is positive")
        total, cell_people, cell_squares = (sums(inverse, of[weighted]) for of in (weight, each, squared))
        dx, y_cells = np.divmod(ids, domain.y.size)
        d_cells, x_cells = np.divmod(dx, domain.x.size)
        number = cell_people.astype(np.int64)
        return cls(domain, d_cells, x_cells, y_cells, total, number, cell_squares)

    def __len__(self) -> int:
        return len(self.d)

    @cached_property
    def people(self) -> int:
        """How many people were counted: one for each row, or as many as its frequency."""
        return int(self.cell_people.sum())

    @cached_property
    def probability(self) -> Numbers:
        """The probability p(d, x, y) of each source cell."""
        return np.asarray(self.weight / self.weight.sum())

    @cached_property
    def sources(self) -> Cells:
        """The numbers of the source cells in D × X × Y, ascending."""
        return self.domain.dxy(self.d, self.x, self.y)

    @cached_property
    def _projected(self) -> dict[str, Marginal]:
        return {}

    def over(self, axes: str) -> Marginal:
        """Return the projection onto some of the axes D, X and Y, such as ``"dx"``: what is left is summed over.

        Examples
        --------
        >>> import evenhand as eh
        >>> counts = eh.datasets.load("compas").counts
        >>> [len(counts.over(axes).cells) for axes in ("", "d", "xy", "dxy")]
        [1, 4, 36, 142]
        """
        check.one_of("axes", axes, AXES)
        if axes not in self._projected:
            cells = self.domain.number(axes, {"d": self.d, "x": self.x, "y": self.y})
            distinct, of_source = np.unique(cells, return_inverse=True)
            self._projected[axes] = Marginal(distinct, sums(of_source, self.probability), of_source)
        return self._projected[axes]

    @property
    def groups(self) -> Marginal:
        """The marginal p(d) over the groups that occur."""
        return self.over("d")

    @cached_property
    def group_weight(self) -> Numbers:
        """The weight of each group that occurs."""
        return sums(self.groups.of_source, self.weight)

    @cached_property
    def weighed(self) -> bool:
        """Whether rows had weights that are not one per person."""
        # Σ(w − 1)² = Σw² − 2Σw + n is zero only where every weight is one.
        return not (np.array_equal(self.cell_people, self.weight) and np.array_equal(self.cell_squares, self.weight))

    @property
    def unit(self) -> Unit:
        """What people are counted by."""
        return Unit.of(weighed=self.weighed)

    @cached_property
    def unweighted(self) -> Counts:
        """The same table with every row counted once.

        Its weights are numbers of people: who is few is asked here.
        """
        if not self.weighed:
            return self
        once = self.cell_people.astype(np.float64)
        return replace(self, weight=once, cell_squares=once, propensities=None)

    @property
    def group_people(self) -> Numbers:
        """How many people each group that occurs has."""
        return self.unweighted.group_weight

    @property
    def features(self) -> Marginal:
        """The marginal p(x)."""
        return self.over("x")

    @property
    def records(self) -> Marginal:
        """The marginal p(x, y) over cells of X × Y."""
        return self.over("xy")

    @property
    def people_before_outcome(self) -> Marginal:
        """The marginal p(d, x): what is known of a person before the outcome."""
        return self.over("dx")

    def share_of_new_cells(self, axes: str = "dxy") -> float:
        """Return the share of new people who will be in a cell over some axes that nobody had.

        Estimated out of fold, with one person in each: the people who would be in a new cell if they had come last are
        those who are in theirs alone.
        """
        people = sums(self.over(axes).of_source, self.unweighted.weight)
        return float((people == 1).sum() / people.sum())

    @cached_property
    def outcome(self) -> Numbers:
        """The marginal p(y) over all levels of the outcome."""
        return sums(self.y, self.probability, self.domain.y.size)

    @cached_property
    def outcome_by_group(self) -> Numbers:
        """The rates p(y | d): one row per group that occurs, one column per outcome."""
        size = self.domain.y.size
        joint = sums(self.groups.of_source * size + self.y, self.probability, len(self.groups.cells) * size)
        return np.asarray(joint.reshape(-1, size) / self.groups.probability[:, None])

    def given(self, axes: str) -> Numbers:
        """Return, for each source, its probability given its cell on some axes: p(x, y | d) by ``"d"``."""
        over = self.over(axes)
        return np.asarray(self.probability / over.probability[over.of_source])


def sharing(counts: Counts, within: tuple[str, ...]) -> Sharing:
    """Return the sources with their weight and group, and for stratum their combination of some features."""
    codes = dict(zip(counts.domain.x.names, counts.domain.x.unravel(counts.x), strict=True))
    stratum = np.zeros(len(counts), dtype=np.int64)
    for name in within:
        both = stratum * len(counts.domain.variable(name)) + codes[name]
        stratum = np.unique(both, return_inverse=True)[1].ravel()
    return Sharing(counts.weight, counts.groups.of_source, stratum)


def with_propensities(counts: Counts, found: Numbers | None = None, within: tuple[str, ...] | None = None) -> Counts:
    """Return counts with sums of propensities, which are made to agree with them within some features.

    Where none are given π is p(d|x), as the table counts it.

    Examples
    --------
    >>> import evenhand as eh
    >>> counts = with_propensities(eh.datasets.load("compas").counts)
    >>> scored = counts.propensities.sums @ (counts.y == 1) / counts.group_weight
    >>> [f"{rate:.3f}" for rate in scored]
    ['0.489', '0.407', '0.555', '0.447']
    """
    within = counts.domain.x.names if within is None else within
    shared = sharing(counts, within)
    agreed = shared.usual if found is None else shared.agreeing(found)
    shift = np.zeros((len(agreed), counts.domain.y.size))
    return replace(counts, propensities=Propensities(agreed, within, shift))


def _array(what: str, given: Any, kinds: str, numbers: str) -> Any:
    try:
        array = np.asarray(given)
    except Exception:  # Whatever is no array says so in its own way.
        array = np.empty(())
    if array.ndim != 1 or (array.dtype.kind not in kinds and array.size):
        raise DataError(f"{what} of a Counts must be an array of {numbers}, not {check.shown(given)}")
    return array


def _whole(what: str, given: Any) -> Cells:
    return np.asarray(_array(what, given, "iu", "whole numbers"), dtype=np.int64)


def _numbers(what: str, given: Any) -> Numbers:
    return np.asarray(_array(what, given, "fiu", "numbers"), dtype=np.float64)
