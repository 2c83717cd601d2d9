"""Who is shown: groups, cells and comparisons of enough people. Sentences that name others are left out.

The one place that decides it, so that summary, page and charts leave out the same. How many were left out is always
told, never who. Bounds hold for everybody, shown or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Variable
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import ParityAchieved, segment_shares
from evenhand.spec import AGAINST_TARGET, Comparisons, Problem

Mask = NDArray[np.bool_]

LEFT_OUT = "names a group or a level of too few people to be shown, and is left out"


@dataclass(frozen=True, eq=False)
class Discretion:
    """What may be shown of a table by itself: whatever at least ``hide_below`` people are in."""

    counts: Counts
    hide_below: float

    def enough(self, weight: Numbers) -> Mask:
        """Return which weights are large enough."""
        return np.asarray(weight >= self.hide_below)

    @cached_property
    def groups(self) -> Mask:
        """Which of the groups that occur are shown."""
        return self.enough(self.counts.group_weight)

    @cached_property
    def cells(self) -> Mask:
        """Which source cells (d, x, y) are shown."""
        return self.enough(self.counts.weight)

    def levels(self, variable: Variable) -> Mask:
        """Return which levels of a column are shown; those of the outcome always are, and those of nobody."""
        if variable.name == self.counts.domain.outcome.name:
            return np.ones(len(variable), dtype=bool)
        weight = sums(self._codes[variable.name], self.counts.weight, len(variable))
        return np.asarray(self.enough(weight) | (weight == 0))

    @cached_property
    def _codes(self) -> dict[str, Cells]:
        domain = self.counts.domain
        axes = ((domain.d, self.counts.d), (domain.x, self.counts.x))
        return {name: code for axis, at in axes for name, code in zip(axis.names, axis.unravel(at), strict=True)}

    def comparisons(self, part: ParityAchieved, kernel: Kernel) -> Mask:
        """Return which comparisons of a constraint are shown: those of two populations of enough people."""
        compared = part.compared
        weight = self._populations(compared)
        other = np.where(compared.against == AGAINST_TARGET, np.inf, weight[compared.against])
        inside = segment_shares(compared, self.counts, kernel)
        return self.enough(np.minimum(weight[compared.population] * inside, other))

    def _populations(self, compared: Comparisons) -> Numbers:
        return np.array([float(self.counts.weight[p.member].sum()) for p in compared.populations])

    def names(self, problem: Problem, constraints: Iterable[Comparisons] = ()) -> frozenset[str]:
        """Return the names, as sentences write them, of the groups, segments and levels that are hidden."""
        domain = self.counts.domain
        parts = [(domain.d, self.counts.d)]
        for parity in problem.parity:
            for axis, cells, columns in ((domain.d, self.counts.d, parity.on), (domain.x, self.counts.x, parity.given)):
                if columns is not None:
                    part = Axis(tuple(v for v in axis.variables if v.name in columns))
                    parts.append((part, axis.cells_of(part, cells)))
        found = {name for axis, cells in parts for name in self._small(axis, cells)}
        for compared in constraints:
            small = ~self.enough(self._populations(compared))
            found |= {compared.populations[i].words for i in np.flatnonzero(small)}
        return frozenset(found | set(self._small_levels()))

    def _small(self, axis: Axis, cells: Cells) -> Iterator[str]:
        distinct, place = np.unique(cells, return_inverse=True)
        for cell in distinct[~self.enough(sums(place, self.counts.weight))]:
            yield axis.words(int(cell))

    def _small_levels(self) -> Iterator[str]:
        for variable in (*self.counts.domain.d.variables, *self.counts.domain.x.variables):
            for code in np.flatnonzero(~self.levels(variable)):
                yield f"{variable.name}={variable.levels[code]}"


def discreet(sentences: Sequence[str], hidden: Iterable[str]) -> list[str]:
    """Leave out the sentences that name what is hidden, and say at the end how many did.

    Examples
    --------
    >>> discreet(["the group sex=a has 3 people", "all is well"], ["sex=a"])
    ['all is well', '1 sentence names a group or a level of too few people to be shown, and is left out']
    """
    patterns = [re.compile(rf"(?<!\w){re.escape(name)}(?!\w)") for name in hidden]
    kept = [text for text in sentences if not any(pattern.search(text) for pattern in patterns)]
    left = len(sentences) - len(kept)
    if not left:
        return kept
    words = f"1 sentence {LEFT_OUT}" if left == 1 else f"{left} sentences {_several(LEFT_OUT)}"
    return [*kept, words]


def _several(words: str) -> str:
    return words.replace("names ", "name ").replace("and is ", "and are ")
