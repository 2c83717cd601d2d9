"""A fixed conditional p(ŷ|x̂), for data whose reader may not see D (section 3.2.2).

Either the table's own p(y|x), or the class probabilities of a model that already exists: then the mapping protects that
model as it is, without retraining it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np

from evenhand import check, records
from evenhand.arrays import Cells, Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Value, in_words
from evenhand.errors import DataError, SpecError
from evenhand.records import Keys
from evenhand.tolerances import SHARES_SUM_TOLERANCE


def _combination(what: object, features: Any) -> tuple[Value, ...]:
    """Return the levels of a combination of features; of one feature its level will do."""
    several = isinstance(features, Sequence) and not isinstance(features, str | bytes)
    return tuple(check.level(what, level) for level in (features if several else [features]))


Outcomes = Annotated[Mapping[Value, check.Probability], Keys("outcome", "probability")]


@dataclass(frozen=True)
class Conditional:
    """A table of p(ŷ|x̂): for each combination of features, the probability of each outcome.

    Parameters
    ----------
    rows : mapping of features to probabilities
        For the levels of all features, in the problem's order, the probability of every level of the outcome.

    Examples
    --------
    >>> Conditional({("young",): {0: 0.7, 1: 0.3}, ("old",): {0: 0.4, 1: 0.6}}).rows[("young",)]
    {0: 0.7, 1: 0.3}
    """

    rows: Annotated[
        Mapping[Annotated[Value | Sequence[Value], _combination], Outcomes], Keys("features", "probabilities")
    ]
    document_is = "rows"

    def __post_init__(self) -> None:
        records.check(self)
        if not self.rows:
            raise check.refused("rows of Conditional", "at least one, for each combination of features", self.rows)
        for features, shares in self.rows.items():
            total = sum(shares.values())
            if abs(total - 1) > SHARES_SUM_TOLERANCE:
                raise SpecError(f"the conditional's probabilities given {features!r} sum to {total:g}, not to 1")

    def at(self, domain: Domain, cells: Cells) -> Numbers:
        """Return p(ŷ|x̂) for cells of X: one row per cell, one column per outcome."""
        return np.array([self._of(domain, domain.x.labels(int(cell))) for cell in cells])

    def _of(self, domain: Domain, labels: Mapping[str, Value]) -> list[float]:
        features = tuple(labels.values())
        if features not in self.rows:
            words = in_words(labels)
            raise DataError(f"the conditional has no row for {words}; it needs one for every combination in the table")
        shares = self.rows[features]
        for level in shares:
            if level not in domain.outcome.levels:
                raise DataError(
                    f"the conditional names outcome {level!r}, but the levels of {domain.outcome.name!r} are "
                    f"{list(domain.outcome.levels)}"
                )
        values = np.array([shares.get(level, 0.0) for level in domain.outcome.levels])
        return [float(value) for value in values / values.sum()]


def outcome_given_features(conditional: Conditional | None, counts: Counts, cells: Cells) -> Numbers:
    """Return p(ŷ|x̂) for cells of X: as given, or the table's own p(y|x)."""
    if conditional is not None:
        return conditional.at(counts.domain, cells)
    size = counts.domain.y.size
    joint = counts.records.at((cells[:, None] * size + np.arange(size)).ravel()).reshape(-1, size)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))
