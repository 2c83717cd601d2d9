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

Outcomes = Annotated[Mapping[Value, check.Probability], Keys("outcome", "probability")]
Rows = Annotated[Mapping[Sequence[Value], Outcomes], Keys("features", "probabilities")]


@dataclass(frozen=True)
class Conditional:
    """A table of p(ŷ|x̂): for each combination of features, the probability of each outcome.

    Parameters
    ----------
    rows : sequence of (features, probabilities)
        The levels of all features, in the problem's order, and the probability of every level of the outcome; or a
        mapping from the one to the other.

    Examples
    --------
    >>> Conditional({("young",): {0: 0.7, 1: 0.3}, ("old",): {0: 0.4, 1: 0.6}}).rows[0]
    (('young',), ((0, 0.7), (1, 0.3)))
    """

    rows: Any

    @staticmethod
    def form() -> records.Form:
        """Return what a document has of it: its rows."""
        return _Form()

    def __post_init__(self) -> None:
        given = self.rows.items() if isinstance(self.rows, Mapping) else self.rows
        rows = tuple(_row(features, shares) for features, shares in _pairs("the rows of a Conditional", given))
        if not rows:
            raise check.refused(
                "the rows of a Conditional", "at least one, for each combination of features", self.rows
            )
        if len({features for features, _ in rows}) != len(rows):
            raise SpecError("the conditional gives a combination of features twice")
        object.__setattr__(self, "rows", rows)

    def at(self, domain: Domain, cells: Cells) -> Numbers:
        """Return p(ŷ|x̂) for cells of X: one row per cell, one column per outcome."""
        table = dict(self.rows)
        return np.array([self._of(domain, table, domain.x.labels(int(cell))) for cell in cells])

    @staticmethod
    def _of(domain: Domain, table: Mapping[Any, Any], labels: Mapping[str, Value]) -> list[float]:
        features = tuple(labels.values())
        if features not in table:
            words = in_words(labels)
            raise DataError(f"the conditional has no row for {words}; it needs one for every combination in the table")
        shares = dict(table[features])
        for level in shares:
            if level not in domain.outcome.levels:
                raise DataError(
                    f"the conditional names outcome {level!r}, but the levels of {domain.outcome.name!r} are "
                    f"{list(domain.outcome.levels)}"
                )
        values = np.array([shares.get(level, 0.0) for level in domain.outcome.levels])
        return [float(value) for value in values / values.sum()]


class _Form(records.Form):
    rows = records.form_of(Rows)

    def suits(self, value: Any) -> bool:
        return isinstance(value, Conditional | list)

    def check(self, what: str, value: Any) -> Any:
        check.kind(what, value, Conditional, "a Conditional")
        return value

    def read(self, where: str, given: Any) -> Conditional:
        return Conditional(self.rows.read(where, given))

    def write(self, where: str, value: Any, full: bool) -> Any:
        return self.rows.write(where, {features: dict(shares) for features, shares in value.rows}, full)

    def schema(self, known: records.Known) -> records.Schema | None:
        return self.rows.schema(known)


def _row(features: Any, shares: Any) -> tuple[tuple[Any, ...], tuple[tuple[Any, float], ...]]:
    several = isinstance(features, Sequence) and not isinstance(features, str | bytes)
    named = tuple(
        check.level("each feature in the rows of a Conditional", level)
        for level in (features if several else [features])
    )
    what = f"the rows of a Conditional: the outcomes given {named!r}"
    pairs = []
    for outcome, share in _pairs(what, shares.items() if isinstance(shares, Mapping) else shares):
        level = check.level(what, outcome)
        pairs.append((level, check.number(f"{what}: the probability of outcome {level!r}", share, low=0, high=1)))
    total = sum(share for _, share in pairs)
    if abs(total - 1) > SHARES_SUM_TOLERANCE:
        raise SpecError(f"the conditional's probabilities given {named!r} sum to {total:g}, not to 1")
    return named, tuple(pairs)


def _pairs(what: str, given: Any) -> tuple[tuple[Any, Any], ...]:
    expected = "{(feature levels): {outcome: probability}}, such as {('young', 3): {0: 0.7, 1: 0.3}}"
    pairs = tuple(check.listed(what, pair, expected) for pair in check.listed(what, given, expected))
    if any(len(pair) != 2 for pair in pairs):
        raise check.refused(what, expected, given)
    return tuple((first, second) for first, second in pairs)


def outcome_given_features(conditional: Conditional | None, counts: Counts, cells: Cells) -> Numbers:
    """Return p(ŷ|x̂) for cells of X: as given, or the table's own p(y|x)."""
    if conditional is not None:
        return conditional.at(counts.domain, cells)
    size = counts.domain.y.size
    joint = counts.records.at((cells[:, None] * size + np.arange(size)).ravel()).reshape(-1, size)
    return np.asarray(joint / joint.sum(axis=1, keepdims=True))
