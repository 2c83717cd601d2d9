"""Who is shown: groups, cells and comparisons of enough people, whatever their weight. Sentences that know they name
others (:class:`Said`) are left out.

The one place that decides it, so that findings, summary, page and charts leave out the same. How many were left out is
always told, never who. Bounds hold for everybody, shown or not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable
from evenhand.data.sentences import about
from evenhand.findings.naming import Where, matching, source_codes
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import ParityAchieved, segment_shares
from evenhand.spec import AGAINST_TARGET
from evenhand.spec.comparison import shares


@dataclass(frozen=True, eq=False)
class Discretion:
    """What may be shown of a table by itself: whatever at least ``hide_below`` people are in."""

    counts: Counts
    hide_below: float

    def enough(self, people: Numbers | float) -> Flags:
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
        return source_codes(self.counts)

    def comparisons(self, part: ParityAchieved, kernel: Kernel) -> Flags:
        """Return which comparisons of a constraint are shown: those of two populations of enough people."""
        compared = part.compared
        people = np.array([float(self.people[each.member].sum()) for each in compared.populations])
        other = np.where(compared.against == AGAINST_TARGET, np.inf, people[compared.against])
        if compared.within_released and self.counts.weighed:
            # The share of a group's people that is released into a segment is not that of its weight.
            compared = replace(compared, weights=shares(compared.populations, self.counts.unweighted))
        inside = segment_shares(compared, self.counts, kernel)
        return self.enough(np.minimum(people[compared.population] * inside, other))

    def may_name(self, where: Where | None) -> bool:
        """Whether part of a table may be named: where enough people are in it, or nobody; the outcome aside.

        Anybody, which is None, only where everybody is shown.
        """
        if where is None:
            return bool(self.cells.all())
        outcome = self.counts.domain.outcome.name
        inside = matching(self.counts, {column: level for column, level in where.items() if column != outcome})
        return not inside.any() or bool(self.enough(self.people[inside].sum()))


def discreet(sentences: Sequence[str], shown: Discretion) -> list[str]:
    """Leave out the sentences that name a part of the table that is not shown, and say at the end how many did.

    Examples
    --------
    >>> import evenhand as eh
    >>> from evenhand.data.sentences import Said
    >>> shown = Discretion(eh.datasets.load("compas").counts, 1300)
    >>> discreet([Said("few of them", {"sex": "Female"}), Said("many", {"sex": "Male"}), "all is well"], shown)
    ['many', 'all is well', '1 sentence names a group or a level of too few people to be shown, and is left out']
    """
    kept = [text for text in sentences if all(shown.may_name(part) for part in about(text))]
    left = len(sentences) - len(kept)
    if not left:
        return kept
    names, are = ("sentence names", "is") if left == 1 else ("sentences name", "are")
    return [*kept, f"{left} {names} a group or a level of too few people to be shown, and {are} left out"]
