"""Readers who may not see D (section 3.2.2). A strategy says what follows for the program and for what is said.

Where records stay, what a model without D makes of each group is linear in the mapping, and is bounded beside the
table's own rates. Else the released outcome depends on the released features alone: P(x̂, ŷ | d, x, y) =
p(ŷ|x̂) P(x̂ | d, x, y), and the strategy says where p(ŷ|x̂) comes from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Cells, Numbers, positions
from evenhand.data.counts import Counts
from evenhand.render.section import Note
from evenhand.spec.conditional import Conditional, outcome_given_features


@dataclass(frozen=True)
class Suppression:
    """No suppression: the released outcome may depend on everything that is read.

    Attributes
    ----------
    given : Conditional or None
        p(ŷ|x̂) of a model that exists already.
    """

    given: Conditional | None = None

    redraws = False
    """Whether everybody's outcome is drawn anew, from p(ŷ|x̂)."""

    convex = True
    """Whether the problem is one convex program: not where p(ŷ|x̂) is improved too, and optima are local."""

    stated = False
    """Whether p(ŷ|x̂) is part of the statement."""

    scored = False
    """Whether mean scores of a model without D are bounded (eq. 9), beside the table's own rates."""

    @property
    def covers_unaware(self) -> bool:
        """Whether bounds on the outcome cover a model that does not see D."""
        return self.redraws or self.scored

    @property
    def utility_axes(self) -> str:
        """The axes on which Δ compares the tables: the features alone where p(ŷ|x̂) is not the table's own."""
        return "xy" if self.given is None else "x"

    @property
    def source(self) -> Note | None:
        """Where p(ŷ|x̂) comes from, for people who read it."""
        return None

    def conditional(self, counts: Counts, released: tuple[Cells, Numbers] | None = None) -> Numbers | None:
        """Return p(ŷ|x̂), one row per observed x; None where nothing is suppressed.

        ``released`` are the x̂ that a mapping releases, and its own p(ŷ|x̂) at them.
        """
        return None


class Scored(Suppression):
    """Records stay: mean scores of a model without D are propensity-weighted rates, and are bounded too."""

    scored = True


class Held(Suppression):
    """Strategy 1: p(ŷ|x̂) is the table's own p(y|x), or that of a model, and is held."""

    redraws = True
    stated = True

    @property
    def source(self) -> Note:
        """The table's own conditional, or that of a model."""
        return Note("asked.own_conditional" if self.given is None else "asked.given_conditional")

    def conditional(self, counts: Counts, released: tuple[Cells, Numbers] | None = None) -> Numbers:
        """Return what is held, whatever a mapping releases."""
        return outcome_given_features(self.given, counts, counts.features.cells)


class Alternating(Suppression):
    """Strategy 2: p(ŷ|x̂) and the mapping are improved in turns."""

    redraws = True
    convex = False

    @property
    def source(self) -> Note:
        """The minimization itself."""
        return Note("asked.alternating")

    def conditional(self, counts: Counts, released: tuple[Cells, Numbers] | None = None) -> Numbers:
        """Return what a mapping itself releases, and the table's own p(y|x) where it releases nobody."""
        cells = counts.features.cells
        found = outcome_given_features(None, counts, cells)
        if released is not None:
            there, place = positions(cells, released[0])
            found[place[there]] = released[1][there]
        return np.asarray(found)


STRATEGIES: dict[str | bool | None, Callable[[Conditional | None], Suppression]] = {
    None: Suppression,
    True: Scored,
    "fixed": Held,
    "alternating": Alternating,
}
"""The strategies, by what a problem calls them."""
