"""The theory of one mapping: every statement of this package with the mapping's own table, bounds and groups filled
in."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.findings.theory.advantage import Advantage, advantage
from evenhand.findings.theory.applying import Applying, applying
from evenhand.findings.theory.intervals import WIDE, HoldOut, SmallGroups, holdout, small_groups
from evenhand.findings.theory.rates import l1_distance, largest_ratio, regrouped
from evenhand.findings.theory.robustness import Robustness, robustness
from evenhand.findings.theory.spread import Bootstrap, DrawSpread, bootstrap, draw_spread
from evenhand.findings.theory.straying import Straying, in_releases, on_resamples, simulable
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import group_rates
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section, notes_of
from evenhand.spec import Comparisons, Parity, Problem, Ratio, comparisons, each
from evenhand.tables import Frame
from evenhand.tables.transforming import Missing, Transformer, Unseen


@dataclass(frozen=True, eq=False, repr=False)
class Theory(Finding):
    """What the paper's propositions, and data beside them, say of a mapping.

    The bound ε that they speak of is that of the first parity constraint which holds the ratio of every rate to a
    target, or of every two rates, in the whole table; its groups (``on``) are the groups. Where there is none, ε is the
    largest ratio that the mapping leaves between groups.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> theory = eh.fit(data.problem, data.counts).theory
    >>> theory.robustness().ratio_vacuous
    True
    >>> round(theory.advantage().after_if_equal.advantage, 4)
    1.0367
    """

    problem: Problem
    counts: Counts
    kernel: Kernel
    mode: Transformer | None = None

    @cached_property
    def _constraint(self) -> Parity | None:
        for parity in self.problem.parity:
            in_the_whole_table = parity.holds_everybody and parity.of_outcomes and not parity.segmented
            bounded = not any(math.isinf(bound) for bound in each(parity.bound))
            if isinstance(parity.distance, Ratio) and in_the_whole_table and bounded:
                return parity
        return None

    @cached_property
    def _compared(self) -> Comparisons | None:
        return None if self._constraint is None else comparisons(self._constraint, self.counts)

    @cached_property
    def _grouped(self) -> tuple[Counts, Kernel]:
        constraint = self._constraint
        if constraint is None or constraint.on is None:
            return self.counts, self.kernel
        return regrouped(self.counts, self.kernel, list(constraint.on))

    @cached_property
    def bound(self) -> float:
        """The bound ε that is spoken of: the largest, where it varies; infinite where some rates are zero."""
        if self._compared is not None:
            return float(self._compared.bound.max())
        return float(largest_ratio(group_rates(*self._grouped)))

    @property
    def _stated_bound(self) -> float | None:
        """The bound on ratios that was asked for; None where bounds are by other distances, or on other rates."""
        return None if self._constraint is None else self._told_bound

    @property
    def _told_bound(self) -> float | None:
        """The bound, None where a rate of zero leaves none."""
        return self.bound if math.isfinite(self.bound) else None

    @cached_property
    def target(self) -> Numbers | None:
        """The target that rates are held against; None where they are held against one another."""
        compared = self._compared
        if compared is None or not compared.against_target:
            return None
        found = np.zeros(self.counts.domain.y.size)
        found[compared.event] = compared.target
        return found

    def advantage(self) -> Advantage:
        """Section 3.3: how much better than a guess anybody could tell the group from the outcome, before and after."""
        counts, kernel = self._grouped
        return advantage(counts, group_rates(counts, kernel), bound=self._told_bound)

    def applying(self) -> Applying:
        """Section 3.4: the bound on distortion at apply time for each (d, x), and what it is."""
        return applying(self.problem, self.counts, self.kernel)

    def robustness(
        self, *, confidence: float = 0.95, margin: float = 0.05, loss_margin: float = 0.1, people: int | None = None
    ) -> Robustness:
        """Section 3.5: what the fitted table proves about its population, and the people or cells it would take."""
        counts, kernel = self._grouped
        return robustness(
            counts, group_rates(counts, kernel), l1_distance(self.counts, self.kernel),
            bound=self._told_bound or 0.0, pairwise=self.target is None,
            confidence=confidence, margin=margin, loss_margin=loss_margin, people=people,
        )  # fmt: skip

    def holdout(
        self,
        rows: Frame,
        *,
        confidence: float = 0.95,
        seed: int = 0,
        unseen: Unseen | None = None,
        missing: Missing | None = None,
    ) -> HoldOut:
        """Exact intervals, all at once, for the released rates of people (a frame or a file) not used for fitting.

        ``unseen`` and ``missing`` are as in ``mapping.release``.
        """
        counts, kernel = self._grouped
        return holdout(
            counts, kernel, rows, mode=self.mode, bound=self._told_bound, target=self.target, confidence=confidence,
            seed=seed, unseen=unseen, missing=missing, format=self.problem.csv,
        )  # fmt: skip

    def bootstrap(
        self, *, confidence: float = 0.95, resamples: int = 2000, seed: int = 0, people: int | None = None
    ) -> Bootstrap:
        """Percentile intervals of the released rates when the table's people are resampled."""
        counts, kernel = self._grouped
        return bootstrap(
            counts, kernel, bound=self._stated_bound, target=self.target,
            confidence=confidence, resamples=resamples, seed=seed, people=people,
        )  # fmt: skip

    def draw_spread(self, *, releases: int = 2000, seed: int = 0, people: int | None = None) -> DrawSpread:
        """How much the rates of a single release vary around their expectation; the table stays as it is."""
        counts, kernel = self._grouped
        return draw_spread(
            counts, kernel, bound=self._stated_bound, target=self.target, releases=releases, seed=seed, people=people
        )  # fmt: skip

    def straying(self, *, number: int = 2000, seed: int = 0) -> tuple[Straying, Straying] | None:
        """How often resampled tables, and single releases, violate a bound of the problem, each by its own distance.

        None where no bound is on rates of outcomes in the table as it is.
        """
        parts = simulable([comparisons(parity, self.counts) for parity in self.problem.parity])
        if not parts:
            return None
        told = (parts, self.counts, self.kernel)
        return on_resamples(*told, number=number, seed=seed), in_releases(*told, number=number, seed=seed)

    def one_draw(self) -> tuple[Note, ...]:
        """How much single releases vary: by the bounds' own distances, else by ratios."""
        found = self.straying()
        if found is None:
            return notes_of(self.draw_spread().sections)
        _, draws = found
        fields = {"over": draws.over, "releases": draws.number, "apart": draws.apart}
        first = "draws.independent" if len(self.problem.parity) < 2 else "draws.independent_first"
        return Note(first, fields), Note("draws.balanced")

    def small_groups(self, *, width: float = WIDE, confidence: float = 0.95) -> SmallGroups:
        """The groups too small to say much about."""
        counts, kernel = self._grouped
        return small_groups(counts, group_rates(counts, kernel), width=width, confidence=confidence)

    def __repr__(self) -> str:
        parts = "advantage, applying, robustness, bootstrap, draw_spread, small_groups, holdout"
        return f"<Theory of {len(self.counts.groups.cells)} groups: {parts}>"

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All of it, statement by statement."""
        parts: tuple[Finding, ...] = (
            self.advantage(), self.applying(), self.robustness(), self.bootstrap(), self.draw_spread(),
            self.small_groups(),
        )  # fmt: skip
        return tuple(section for part in parts for section in part.sections)
