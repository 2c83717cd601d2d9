"""What drives the cost: whose comparisons the price of parity is made of, and what a little more room would save.

Reads prices and what was achieved; solves nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.data.domain import Value
from evenhand.data.weighting import Unit
from evenhand.findings.bounds import Constraint, constraints
from evenhand.findings.prices import Prices
from evenhand.findings.subject import Subject
from evenhand.kernel.achieved import BudgetAchieved
from evenhand.render.numbers import people as expected_people
from evenhand.render.section import Column, Kind, Note, Table
from evenhand.spec import AGAINST_TARGET
from evenhand.tolerances import ROUNDING, SAME_PRICE

ROOM = 0.1
"""By how much of itself a bound is relaxed where it is said what that would save."""

STAYS = 0.5
"""Who moves by at most this share of what the others move by stays where it is, and the others are brought near it."""

ALL = 0.995
"""A share from which on it is all, to rounding."""

FEWER = 0.8
"""A looser bound is told of where at most this share of the people change."""

DRIVERS: dict[str, Kind] = {
    "who": "text", "people": "people", "weight": "weight", "share": "rate", "outcome": "text", "before": "rate",
    "after": "rate", "bound": "text",
}  # fmt: skip


@dataclass(frozen=True)
class Driver:
    """The people whose comparisons cost most.

    Attributes
    ----------
    who : str
        The group, as the constraint names it.
    people : int
        How many they are, whatever their weight.
    share : float
        Of the price of the constraint, that of the comparisons that they are in.
    outcome : str
        What the costliest of these comparisons is the rate of.
    before, after : float
        Their rate of it.
    against_target : bool
        Whether they are held against a target and not against others.
    moved : bool
        Whether their rate moves much beside that which it is held against: then it is not they who set the level.
    bound : str
        The bound in words.
    about : dict
        The levels that name them.
    weight : float or None
        What they weigh, where people count by weight.
    """

    who: str
    people: int
    share: float
    outcome: str
    before: float
    after: float
    against_target: bool
    moved: bool
    bound: str
    about: dict[str, Value]
    weight: float | None = None

    @property
    def note(self) -> Note:
        """What they have to do with the cost."""
        people = Unit.PEOPLE.write(self.people) if self.weight is None else Unit.WEIGHT.write(self.weight)
        rate = Note("cost.rate", {"outcome": self.outcome, "before": self.before, "after": self.after})
        whole = self.share >= ALL
        key = "cost.level" if whole else "cost.most_of_level"
        if self.against_target or self.moved:
            key = "cost.part"
        share = Note("cost.all") if whole else self.share
        fields = {"people": people, "who": self.who, "share": share, "rate": rate, "bound": self.bound}
        return Note(key, fields, (self.about,))


def drivers(counts: Counts, constraints: Sequence[Constraint], prices: Prices) -> Iterator[Driver]:
    """Name for each parity constraint that costs anything the people whose comparisons cost most."""
    for constraint, price in zip(constraints, prices.comparisons, strict=True):
        part = constraint.after.compared
        total = float(np.nansum(price))
        if not total > ROUNDING or len(price) != len(part):
            continue
        worth = np.zeros(len(part.populations))
        np.add.at(worth, part.population, price)
        held = part.against != AGAINST_TARGET
        np.add.at(worth, part.against[held], price[held])
        costliest = np.flatnonzero(worth >= worth.max() * (1 - SAME_PRICE))
        # Where one pair costs, both are in it: the level is set by those whose rate moves less.
        who, at, moves = min(
            ((int(each), *_moves(constraint, price, int(each))) for each in costliest), key=lambda found: found[2][0]
        )
        own = part.population[at] == who
        before, after = (
            float((of.rate if own else of.other)[at]) for of in (constraint.before, constraint.after)
        )  # fmt: skip
        yield Driver(
            who=part.populations[who].words,
            people=int(counts.unweighted.weight[part.populations[who].member].sum()),
            share=float(worth[who]) / total,
            outcome=part.event_words(at),
            before=before,
            after=after,
            against_target=not bool(held[at]),
            moved=moves[0] > STAYS * moves[1],
            bound=constraint.said_bound,
            about=part.labels(who),
            weight=float(counts.weight[part.populations[who].member].sum()) if counts.weighed else None,
        )


def _moves(constraint: Constraint, price: Numbers, who: int) -> tuple[int, tuple[float, float]]:
    """Return the costliest comparison of some people, and by how much their rate and the other one move in it."""
    part = constraint.after.compared
    theirs = (part.population == who) | (part.against == who)
    at = int(np.argmax(np.where(theirs, price, -np.inf)))
    rate, other = (
        abs(float(now[at] - then[at]))
        for then, now in (
            (constraint.before.rate, constraint.after.rate),
            (constraint.before.other, constraint.after.other),
        )
    )
    return at, (rate, other) if part.population[at] == who else (other, rate)


@dataclass(frozen=True)
class Room:
    """What relaxing all parity bounds, or all budgets, by a tenth of themselves would save at first."""

    parity: float
    budgets: float
    objective: float

    def notes(self) -> Iterator[Note]:
        """Yield it as a share of what is lost."""
        if self.objective <= ROUNDING:
            return
        for saved, key in ((self.parity, "cost.room_in_parity"), (self.budgets, "cost.room_in_budgets")):
            if saved > ROUNDING:
                share = saved / self.objective
                yield Note(key, {"saved": Note("cost.saved" if share < 1 else "cost.much_saved", {"share": share})})


def room(
    prices: Prices, constraints: Sequence[Constraint], budgets: Sequence[BudgetAchieved], objective: float
) -> Room:
    """Work out what a tenth more room would save."""
    parity = sum(
        _worth(price, constraint.after.compared.bound)
        for constraint, price in zip(constraints, prices.comparisons, strict=True)
    )
    spared = sum(_worth(price, part.limit) for price, part in zip(prices.cells, budgets, strict=True))
    return Room(float(parity), float(spared), objective)


def _worth(price: Numbers, bound: Numbers) -> float:
    # A price that is not known is none; a bound that is infinite costs nothing.
    known = np.nan_to_num(price) > ROUNDING
    return ROOM * float((price[known] * bound[known]).sum())


@dataclass(frozen=True)
class Looser:
    """A point of the frontier at which bounds are looser, as it is said, and which share of the people change there."""

    said: Note
    changed: float


def cost_notes(m: Subject, found: Prices | None, objective: float, looser: Sequence[Looser]) -> Iterator[Note]:
    """Yield for each constraint what drives the cost, and what a little more room would save.

    ``looser`` are points of the frontier, the nearest first.
    """
    if found is None:
        yield Note("cost.not_convex")
        return
    compared = constraints(m.counts, m.achieved.parity)
    named = list(drivers(m.counts, compared, found))
    yield from (driver.note if m.shown.may_name(driver.about) else Note("cost.too_few") for driver in named)
    if not named:
        unknown = any(np.isnan(price).any() for price in (*found.comparisons, *found.cells))
        yield Note("cost.unknown") if unknown else _without_price(m, objective, looser)
    yield from room(found, compared, m.achieved.budgets, objective).notes()


def drivers_table(m: Subject, found: Prices) -> Table:
    """Return whose comparisons cost most, a row for each constraint that costs anything."""
    named = list(drivers(m.counts, constraints(m.counts, m.achieved.parity), found))
    rows = tuple(tuple(getattr(each, name) for name in DRIVERS) for each in named)
    columns = tuple(Column(name, kind) for name, kind in DRIVERS.items())
    return Table("drivers", columns, rows, tuple((each.about,) for each in named), most=0)


def _without_price(m: Subject, objective: float, looser: Sequence[Looser]) -> Note:
    """Return what bounds cost whose prices are zero: changes of people, by which no utility is lost."""
    if objective > ROUNDING:
        return Note("cost.not_parity")
    # Where D is suppressed everybody's outcome is drawn anew, whatever is bounded.
    suppressed = m.problem.suppression.redraws
    changed = m.achieved.features_changed if suppressed else m.achieved.changed
    share = float(m.counts.probability @ changed)
    if share <= ROUNDING:
        return Note("cost.free_of_features" if suppressed else "cost.free")
    everybody = float(m.counts.weight.sum())
    spared = next((each for each in looser if each.changed <= FEWER * share), None)
    features = Note("cost.in_features") if suppressed else None
    fields = {"number": expected_people(share * everybody), "unit": m.unit, "features": features, "fewer": None}
    if spared is not None:
        fewer = spared.changed * everybody
        number = expected_people(fewer) if fewer >= 1 else Note("cost.nearly_nobody")
        fields["fewer"] = Note("cost.fewer", {"with": spared.said, "number": number})
    return Note("cost.changes_alone", fields)
