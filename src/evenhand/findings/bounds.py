"""Every bound with what was achieved: what is furthest apart, which bounds do not hold, and the words for it.

Reads what ``kernel.achieved`` recomputed; computes no rate and no charge itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import Cells
from evenhand.data.counts import Counts
from evenhand.findings.document import written
from evenhand.findings.naming import holder_names
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import BudgetAchieved, ParityAchieved, parity_achieved
from evenhand.render.section import Note
from evenhand.spec import Parity
from evenhand.tables import frame
from evenhand.tolerances import AT_BOUND, ROUNDING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Furthest:
    """One comparison: how far apart two rates are, whose they are, and of which outcome."""

    apart: float
    outcome: str
    of: str
    rate: float
    against: str
    other: float
    said: str
    """How far apart, as people say it: "6.3 times"."""
    beside: str
    """The same beside what the bound asks: "ratio 0.9005, at least 0.9000 required"."""

    @property
    def rates(self) -> str:
        return f"{self.outcome} {self.rate:.1%} ({self.of}) vs {self.other:.1%} ({self.against})"

    @property
    def words(self) -> str:
        """Both rates, and how far apart they are."""
        return f"{self.rates}, {self.said}"

    @property
    def held(self) -> str:
        """Both rates, and how far apart they are beside what the bound asks."""
        return f"{self.rates}, {self.beside}"


def comparison(part: ParityAchieved, at: int) -> Furthest:
    """Return one comparison of a constraint."""
    compared, distance = part.compared, part.parity.distance
    rate, other, bound = (float(each[at]) for each in (part.rate, part.other, compared.bound))
    return Furthest(
        apart=float(part.value[at]),
        outcome=compared.event_words(at),
        of=compared.own_words(at),
        rate=rate,
        against=compared.other_words(at),
        other=other,
        said=distance.said(rate, other),
        beside=distance.beside(rate, other, bound),
    )


def furthest(part: ParityAchieved, kept: Cells | None = None) -> Furthest | None:
    """Return the comparison, of those kept, that is furthest beyond its bound or nearest to it; None if none is."""
    among = np.arange(len(part.value)) if kept is None else kept
    return comparison(part, int(among[np.argmax(part.excess[among])])) if len(among) else None


@dataclass(frozen=True, eq=False)
class Constraint:
    """A parity constraint of a table: what it measures of the table as it is, and of the mapping."""

    before: ParityAchieved
    after: ParityAchieved

    @property
    def range(self) -> tuple[float, float] | None:
        """The smallest and the largest of its bounds; None where it has none."""
        bound = self.after.compared.bound
        return (float(bound.min()), float(bound.max())) if len(bound) else None

    @property
    def said_bound(self) -> str:
        """The bound as people say it, or the smallest and the largest of several."""
        return " to ".join(dict.fromkeys(said_bound(self.after.parity, end) for end in self.range or ()))

    @property
    def asked(self) -> str:
        """What the bound asks, or the smallest and the largest of several."""
        return " or ".join(dict.fromkeys(asked(self.after.parity, end) for end in self.range or ()))

    def headline(self, kept: Cells | None = None) -> Note | None:
        """Return the largest disparity before and after, of the comparisons kept; None if there are none."""
        before, after = (furthest(part, kept) for part in (self.before, self.after))
        if before is None or after is None:
            return None
        return Note("rates.largest_disparity", {"before": before.words, "after": after.held})


def said_bound(parity: Parity, bound: float) -> str:
    """Say a bound of a constraint as people say it."""
    return parity.distance.said_bound(bound, both=_in_both_orders(parity))


def asked(parity: Parity, bound: float) -> str:
    """Say what a bound of a constraint asks."""
    return parity.distance.asked(bound, both=_in_both_orders(parity))


def _in_both_orders(parity: Parity) -> bool:
    # Between every two groups either may be the larger; a target, a reference or the rest stays what it is.
    return parity.holds_everybody and not parity.against_target


def constraints(counts: Counts, parity: Sequence[ParityAchieved]) -> tuple[Constraint, ...]:
    """Set what a mapping achieves beside the table as it is."""
    as_it_is = unchanged(counts)
    return tuple(Constraint(parity_achieved(part.compared, counts, as_it_is), part) for part in parity)


@dataclass(frozen=True)
class BudgetFound:
    """One charge: whose limits it has, how many of them are reached, and the largest expected charge of all."""

    constraint: str
    per: str
    cells: int
    at_limit: int
    largest: float
    smallest_limit: float | None
    largest_limit: float | None


def budget_found(part: BudgetAchieved) -> BudgetFound:
    """Sum up what was achieved of a charge."""
    finite = part.limit[np.isfinite(part.limit)]
    return BudgetFound(
        constraint=part.charge.words,
        per=part.charge.per,
        cells=len(part.value),
        at_limit=int((part.value >= part.limit - AT_BOUND).sum()),
        largest=float(part.value.max()),
        smallest_limit=float(finite.min()) if len(finite) else None,
        largest_limit=float(finite.max()) if len(finite) else None,
    )


def table(counts: Counts, parity: Sequence[ParityAchieved], budgets: Sequence[BudgetAchieved] = ()) -> pd.DataFrame:
    """List every bound with what was achieved, and the slack; negative where a bound is violated."""
    parts = [
        (type(p.parity).__name__, [p.compared.words(at) for at in range(len(p.value))],
         p.compared.bound, p.value)
        for p in parity
    ]  # fmt: skip
    for budget in budgets:
        where = holder_names(counts, budget.charge, np.arange(len(budget.value)))
        parts.append((budget.charge.words, where, budget.limit, budget.value))
    bound, achieved = (np.concatenate([np.zeros(0), *(part[i] for part in parts)]) for i in (2, 3))
    return frame(
        {
            "constraint": [name for name, where, *_ in parts for _ in where],
            "where": [place for _, where, *_ in parts for place in where],
            "bound": bound,
            "achieved": achieved,
            "slack": bound - achieved,
        }
    )


def violated(bounds: pd.DataFrame) -> pd.DataFrame:
    """Return the bounds that are violated, and by how much, worst first."""
    over = bounds[bounds["slack"] < -ROUNDING].drop(columns="slack")
    return over.assign(excess=over["achieved"] - over["bound"]).sort_values("excess", ascending=False, kind="stable")


def verdict(parity: Sequence[ParityAchieved], budgets: Sequence[BudgetAchieved] = ()) -> Iterator[Note]:
    """Find for each constraint in how many comparisons, or for how many people's budgets, it holds, and the worst."""
    for part in parity:
        over = part.excess > ROUNDING
        number, violated = part.compared.number_of(), part.compared.number_of(over)
        worst = furthest(part)
        if worst is not None:
            holds = "bounds.comparison_holds" if number == 1 else "bounds.comparisons_hold"
            key = "bounds.comparisons_violated" if violated else holds
            fields = {"constraint": type(part.parity).__name__, "number": number, "violated": violated}
            yield Note(key, {**fields, "worst": worst.held})
    for budget in budgets:
        over = budget.value > budget.limit + ROUNDING
        key = "bounds.budgets_violated" if over.any() else "bounds.budgets_hold"
        fields = {"constraint": budget.charge.words, "number": len(over), "violated": int(over.sum())}
        yield Note(key, {**fields, "excess": budget.violation})
    yield Note("bounds.fitted_alone")


def told_from(other: float, value: float, fewest: int = 3, form: str = "f") -> str:
    """Write a value out to the fewest digits, or as many as tell it from another."""
    digits = next((n for n in range(fewest, 9) if f"{value:.{n}{form}}" != f"{other:.{n}{form}}"), fewest)
    return written(value, f".{digits}{form}")
