"""How well the group can be guessed from the outcome, and what that implies: section 3.3.

Adv(D|Y) = Σ_y max_d p(y, d) / max_d p(d): how many times more often the best estimator of D from Y is right than the
best guess without Y. The proposition: if Adv(D|Y) > 1 + ε then, for any target p_T, some |p(y|d)/p_T(y) − 1| > ε.

Its proof uses nothing of p(d), so it holds for groups of any imagined sizes. Equal sizes prove the most: for any π,
Σ_y max_d p(y|d) π(d) / max_d π(d) ≤ Σ_y max_d p(y|d). With the table's own sizes the advantage is often exactly one
(on COMPAS it is, before and after): where one group is large, guessing it is best whatever the outcome.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.errors import DataError
from evenhand.findings.naming import group_levels, long_name
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section
from evenhand.tables import beside, labels

if TYPE_CHECKING:
    import pandas as pd

PROVES_NOTHING = 1e-12
"""An advantage no further above one than this is arithmetic, not evidence."""


@dataclass(frozen=True, eq=False)
class Estimator:
    """The maximum a posteriori estimator of the group from the outcome.

    Attributes
    ----------
    guess : array
        For each outcome, the position of the group it guesses (the first of those that tie).
    right : array
        For each outcome, the probability that this guess is right; NaN for an outcome that never occurs.
    outcome : array
        The probability of each outcome.
    probability : float
        P_c(D|Y), the probability of being right.
    blind : float
        The probability of being right without the outcome: that of the largest group.
    """

    guess: Cells
    right: Numbers
    outcome: Numbers
    probability: float
    blind: float

    @property
    def advantage(self) -> float:
        """Adv(D|Y), at least one."""
        return self.probability / self.blind

    @property
    def proved(self) -> float:
        """The supremum of the ε that the proposition proves to be exceeded: Adv − 1."""
        return max(0.0, self.advantage - 1)


@dataclass(frozen=True, eq=False, repr=False)
class Advantage(Finding):
    """How well the group can be guessed from the outcome, before and after.

    Attributes
    ----------
    before, after : Estimator
        The best estimators, from the table's outcome and from the released one.
    before_if_equal, after_if_equal : Estimator
        The same if all groups were equally large, which is what the proposition proves most from.
    frame : pandas.DataFrame
        For each outcome, before and after: the group that is guessed and the probability that it is right.
    sections : tuple of Section
        What follows.
    """

    before: Estimator
    after: Estimator
    before_if_equal: Estimator
    after_if_equal: Estimator
    frame: pd.DataFrame
    sections: tuple[Section, ...]


def estimator(rates: Numbers, group_probability: Numbers) -> Estimator:
    """Return the best estimator of the group from the outcome.

    Parameters
    ----------
    rates : array
        p(y|d): one row per group, one column per outcome.
    group_probability : array
        p(d).

    Examples
    --------
    >>> best = estimator(np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([0.5, 0.5]))
    >>> best.guess.tolist(), round(best.advantage, 6)
    ([0, 1], 1.7)
    """
    rates, group_probability = np.asarray(rates, dtype=float), np.asarray(group_probability, dtype=float)
    if rates.ndim != 2 or group_probability.shape != rates.shape[:1]:
        raise DataError(f"rates of shape {rates.shape} do not have a row for each of {group_probability.size} groups")
    joint = rates * group_probability[:, None]
    best, outcome = joint.max(axis=0), joint.sum(axis=0)
    right = np.divide(best, outcome, out=np.full(len(best), np.nan), where=outcome > 0)
    return Estimator(joint.argmax(axis=0), right, outcome, float(best.sum()), float(group_probability.max()))


def advantage(counts: Counts, rates: Numbers, *, bound: float | None = None) -> Advantage:
    """Measure how well the group can be guessed from the outcome, before and after.

    Parameters
    ----------
    counts : Counts
        The table.
    rates : array
        p(ŷ|d) after: one row per group of the table, one column per outcome.
    bound : float, optional
        The ε that the released rates are held to, against a target or between groups; it limits the advantage.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.counts)
    >>> found = advantage(data.counts, mapping.achieved.rates_after, bound=0.1)
    >>> round(found.before.advantage, 4), round(found.after.advantage, 4)
    (1.0, 1.0)
    >>> round(found.before_if_equal.advantage, 4), round(found.after_if_equal.advantage, 4)
    (1.2257, 1.0367)
    """
    group = counts.groups.probability
    equal = np.full(len(group), 1 / len(group))
    both = counts.outcome_by_group, np.asarray(rates, dtype=float)
    before, after = (estimator(part, group) for part in both)
    equal_before, equal_after = (estimator(part, equal) for part in both)
    size = counts.domain.y.size
    numbers = {
        "share": np.concatenate([before.outcome, after.outcome]),
        **labels(counts.domain.d, counts.groups.cells[np.concatenate([before.guess, after.guess])], prefix="guess_"),
        "right": np.concatenate([before.right, after.right]),
    }
    when = {"table": np.repeat(["before", "after"], size)}
    table = beside(labels(counts.domain.y, np.tile(np.arange(size), 2)), when | numbers)
    notes = tuple(_notes(counts, (before, after), (equal_before, equal_after), bound))
    return Advantage(before, after, equal_before, equal_after, table, (Section("advantage", notes=notes),))


def _notes(
    counts: Counts, own: tuple[Estimator, ...], equals: tuple[Estimator, ...], bound: float | None
) -> Iterator[Note]:
    groups = group_levels(counts)
    for when, best, equal in zip(("before", "after"), own, equals, strict=True):
        seen = np.flatnonzero(best.outcome > 0).tolist()
        guessed = [groups[best.guess[y]] for y in seen]
        fields = {
            "when": when, "When": when.capitalize(), "probability": best.probability, "advantage": best.advantage,
            "blind": best.blind, "proved": best.proved, "if_equal": 1 + equal.proved,
            "rule": [
                Note("advantage.guess", {"group": long_name(group), "outcome": counts.domain.y.words(y)})
                for group, y in zip(guessed, seen, strict=True)
            ],
        }  # fmt: skip
        yield Note("advantage.best", fields, tuple(guessed))
        stronger = max(best.proved, equal.proved)
        if stronger <= PROVES_NOTHING:
            yield Note("advantage.none", fields)
            continue
        key = "advantage.if_equal" if best.proved <= PROVES_NOTHING else "advantage.proved"
        yield Note(key, fields | {"stronger": stronger})
    if bound is not None:
        yield Note("advantage.bounded", {"bound": bound, "factor": 1 + bound})
    yield Note("advantage.outcome_alone")
