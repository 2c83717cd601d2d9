"""What a report is on: a mapping as its findings see it, and who of its table may be shown."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from evenhand.data.counts import Counts
from evenhand.data.domain import Value
from evenhand.data.weighting import Unit
from evenhand.findings.cells import told_outcome
from evenhand.findings.discretion import Discretion
from evenhand.findings.extent import outcomes_drawn
from evenhand.findings.naming import group_levels
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.render.section import Kind, Where
from evenhand.spec import Problem


@dataclass(frozen=True, eq=False)
class Subject:
    """A mapping: what was asked, of which table, by which kernel, what that achieves, and who may be shown."""

    problem: Problem
    counts: Counts
    kernel: Kernel
    achieved: Achieved
    shown: Discretion

    @cached_property
    def told(self) -> int:
        """The outcome whose rate is told where there is room for one: the favourable, or else the last."""
        return told_outcome(self.problem, self.counts)

    @property
    def outcome(self) -> str:
        """The same in words."""
        return self.counts.domain.y.words(self.told)

    @cached_property
    def drawn(self) -> list[Value]:
        """The outcomes whose rates are shown: of two the one that is told, for the other follows from it."""
        found = outcomes_drawn(self.counts)
        return [self.counts.domain.outcome.levels[self.told]] if len(found) == 1 else found

    def spared(self, outcomes: Iterable[Value]) -> frozenset[int]:
        """Return which rows are not shown, given the outcome of each."""
        return frozenset(at for at, outcome in enumerate(outcomes) if outcome not in self.drawn)

    @cached_property
    def groups(self) -> list[Where]:
        """The groups that occur, by their levels."""
        return list(group_levels(self.counts))

    @property
    def unit(self) -> Unit:
        """What numbers of people are counted in."""
        return self.counts.unit

    @property
    def people(self) -> Kind:
        """What numbers of people are, for a column of them."""
        return "weight" if self.counts.weighed else "people"
