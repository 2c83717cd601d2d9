"""The empirical distribution p(d, x, y): weights over the observed cells, and what follows from them.

Only cells that somebody is in are kept, sorted by (d, x, y). This module knows nothing of constraints.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.domain import Domain
from evenhand.errors import DataError

SAME_WEIGHT = 1e-9
"""Relative difference up to which the weights of a table sum to its number of rows."""


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
    people : int
        The number of rows that were counted.
    """

    domain: Domain
    d: Cells
    x: Cells
    y: Cells
    weight: Numbers
    people: int

    def __post_init__(self) -> None:
        check.kind("domain", self.domain, Domain, "the domain of a Counts, as eh.count makes it")
        for axis in "dxy":
            object.__setattr__(self, axis, _cells(axis, getattr(self, axis)))
        object.__setattr__(self, "weight", _array("weight", self.weight, "fiu").astype(float, copy=False))
        if not len(self.d) == len(self.x) == len(self.y) == len(self.weight):
            raise DataError("d, x, y and weight of a Counts must be of the same length, one entry for each cell")
        object.__setattr__(self, "people", check.whole("people", self.people))
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

    @classmethod
    def of(cls, domain: Domain, d: Cells, x: Cells, y: Cells, weight: Numbers | None = None) -> Counts:
        """Count rows, in any order and with repeats; rows of weight zero are left out."""
        check.kind("domain", domain, Domain, "the domain of a Counts, as eh.count makes it")
        d, x, y = _cells("d", d), _cells("x", x), _cells("y", y)
        weight = np.ones(len(d)) if weight is None else checked_weights(_array("weight", weight, "fiu").astype(float))
        if not len(d) == len(x) == len(y) == len(weight):
            raise DataError("d, x, y and weight of a Counts must be of the same length, one entry for each row")
        weighted = weight > 0
        ids, inverse = np.unique(domain.dxy(d, x, y)[weighted], return_inverse=True)
        total = sums(inverse, weight[weighted])
        dx, y_cells = np.divmod(ids, domain.y.size)
        d_cells, x_cells = np.divmod(dx, domain.x.size)
        return cls(domain, d_cells, x_cells, y_cells, total, int(weighted.sum()))

    def __len__(self) -> int:
        return len(self.d)

    @cached_property
    def probability(self) -> Numbers:
        """The probability p(d, x, y) of each source cell."""
        return np.asarray(self.weight / self.weight.sum())

    @cached_property
    def sources(self) -> Cells:
        """The numbers of the source cells in D × X × Y, ascending."""
        return self.domain.dxy(self.d, self.x, self.y)

    def _marginal(self, cells: Cells) -> Marginal:
        distinct, of_source = np.unique(cells, return_inverse=True)
        return Marginal(distinct, sums(of_source, self.probability), of_source)

    @cached_property
    def groups(self) -> Marginal:
        """The marginal p(d) over the groups that occur."""
        return self._marginal(self.d)

    @cached_property
    def group_weight(self) -> Numbers:
        """The weight of each group that occurs."""
        return sums(self.groups.of_source, self.weight)

    @property
    def weighed(self) -> bool:
        """Whether rows had weights that are not one per person."""
        return not math.isclose(self.weight.sum(), self.people, rel_tol=SAME_WEIGHT)

    @cached_property
    def features(self) -> Marginal:
        """The marginal p(x)."""
        return self._marginal(self.x)

    @cached_property
    def records(self) -> Marginal:
        """The marginal p(x, y) over cells of X × Y."""
        return self._marginal(self.domain.xy(self.x, self.y))

    @cached_property
    def people_before_outcome(self) -> Marginal:
        """The marginal p(d, x): what is known of a person before the outcome."""
        return self._marginal(self.domain.dx(self.d, self.x))

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

    @cached_property
    def given_group(self) -> Numbers:
        """For each source, p(x, y | d)."""
        return np.asarray(self.probability / self.groups.probability[self.groups.of_source])

    @cached_property
    def group_given_record(self) -> Numbers:
        """For each source, p(d | x, y)."""
        return np.asarray(self.probability / self.records.probability[self.records.of_source])

    @cached_property
    def outcome_given_rest(self) -> Numbers:
        """For each source, p(y | d, x): the weights of apply mode."""
        before = self.people_before_outcome
        return np.asarray(self.probability / before.probability[before.of_source])


def _array(what: str, given: Any, kinds: str) -> Any:
    """Return an array of one dimension, of numbers of these kinds."""
    try:
        array = np.asarray(given)
    except Exception:  # Whatever is no array says so in its own way.
        array = np.empty(())
    if array.ndim != 1 or (array.dtype.kind not in kinds and array.size):
        raise DataError(f"{what} of a Counts must be an array of numbers, not {check.shown(given)}")
    return array


def _cells(what: str, given: Any) -> Cells:
    """Return the numbers of cells."""
    return np.asarray(_array(f"each cell in {what}", given, "iu"), dtype=np.int64)


def checked_weights(weight: Numbers) -> Numbers:
    """Return weights that can be counted: finite, not negative, not all zero."""
    if not np.all(np.isfinite(weight)):
        row = int(np.flatnonzero(~np.isfinite(weight))[0])
        raise DataError(f"weights must be finite numbers; row {row + 1} has {weight[row]}")
    if np.any(weight < 0):
        row = int(np.flatnonzero(weight < 0)[0])
        raise DataError(f"weights must not be negative; row {row + 1} has {weight[row]:g}")
    if not np.any(weight > 0):
        raise DataError("the table is empty: no row has a positive weight")
    return weight
