"""Who is shown: groups, cells and comparisons of enough people, whatever their weight. Sentences that name others are
left out.

The one place that decides it, so that findings, summary, page and charts leave out the same. How many were left out is
always told, never who. Bounds hold for everybody, shown or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Variable
from evenhand.findings.naming import source_codes
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import ParityAchieved, segment_shares
from evenhand.spec import AGAINST_TARGET, Comparisons, Problem
from evenhand.spec.comparison import shares


@dataclass(frozen=True, eq=False)
class Discretion:
    """What may be shown of a table by itself: whatever at least ``hide_below`` people are in."""

    counts: Counts
    hide_below: float

    def enough(self, people: Numbers | float) -> Flags:
        """Return which numbers of people are large enough."""
        return np.asarray(people >= self.hide_below)

    @property
    def people(self) -> Numbers:
        """How many people each source cell has."""
        return self.counts.unweighted.weight

    @cached_property
    def groups(self) -> Flags:
        """Which of the groups that occur are shown."""
        return self.enough(self.counts.group_people)

    @cached_property
    def cells(self) -> Flags:
        """Which source cells (d, x, y) are shown."""
        return self.enough(self.people)

    def levels(self, variable: Variable) -> Flags:
        """Return which levels of a column are shown; those of the outcome always are, and those of nobody."""
        if variable.name == self.counts.domain.outcome.name:
            return np.ones(len(variable), dtype=bool)
        people = sums(self.codes[variable.name], self.people, len(variable))
        return np.asarray(self.enough(people) | (people == 0))

    @cached_property
    def codes(self) -> dict[str, Cells]:
        """The codes of every column in the sources."""
        return source_codes(self.counts)

    def comparisons(self, part: ParityAchieved, kernel: Kernel) -> Flags:
        """Return which comparisons of a constraint are shown: those of two populations of enough people."""
        compared = part.compared
        people = self._populations(compared)
        other = np.where(compared.against == AGAINST_TARGET, np.inf, people[compared.against])
        # Shares of people, not of weight, are released into a segment.
        counted = replace(compared, weights=shares(compared.populations, self.counts.unweighted))
        inside = segment_shares(counted, self.counts, kernel)
        return self.enough(np.minimum(people[compared.population] * inside, other))

    def _populations(self, compared: Comparisons) -> Numbers:
        return np.array([float(self.people[p.member].sum()) for p in compared.populations])

    def names(self, problem: Problem, constraints: Iterable[Comparisons] = ()) -> frozenset[str]:
        """Return the names, as sentences write them, of the groups, segments and levels that are hidden."""
        domain = self.counts.domain
        parts = [(domain.d, self.counts.d)]
        for parity in problem.parity:
            for axis, cells, columns in ((domain.d, self.counts.d, parity.on), (domain.x, self.counts.x, parity.given)):
                if columns is not None:
                    part = Axis(tuple(v for v in axis.variables if v.name in columns))
                    parts.append((part, axis.cells_of(part, cells)))
        found = set()
        for axis, cells in parts:
            distinct, place = np.unique(cells, return_inverse=True)
            found |= {axis.words(int(cell)) for cell in distinct[~self.enough(sums(place, self.people))]}
        for compared in constraints:
            small = ~self.enough(self._populations(compared))
            found |= {compared.populations[i].words for i in np.flatnonzero(small)}
        for variable in (*domain.d.variables, *domain.x.variables):
            hidden = np.flatnonzero(~self.levels(variable))
            found |= {f"{variable.name}={variable.levels[code]}" for code in hidden}
        return frozenset(found)


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
    names, are = ("sentence names", "is") if left == 1 else ("sentences name", "are")
    return [*kept, f"{left} {names} a group or a level of too few people to be shown, and {are} left out"]
