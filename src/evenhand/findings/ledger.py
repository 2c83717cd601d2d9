"""Who is helped and who is harmed: by group, in people, for a problem that says which outcome is good for a person.

In expectation over the draws, from counts, kernel and what was achieved. Helped is whose outcome becomes the favourable
one, harmed who had it and loses it. Where outcomes have an order and the favourable one is an end of it, every step
counts: nearer to it is helped, further from it harmed. Without an order, or between its ends, nobody can say which of
two other outcomes is the better one, so that a change from one to the other is neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from evenhand.arrays import Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable, in_words
from evenhand.data.weighting import Unit
from evenhand.errors import Made, Setting, some_of
from evenhand.findings.bounds import told_from
from evenhand.findings.changes import Changes, Move
from evenhand.findings.naming import group_levels, group_names
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.render.numbers import people as expected_people
from evenhand.render.section import Note
from evenhand.render.sentences import sentence
from evenhand.spec import Problem
from evenhand.spec.agreement import favourable_code
from evenhand.tolerances import AT_BOUND, ROUNDING

SOMEBODY = 0.5
"""Fewer people than this lose the favourable outcome in expectation where it is nobody who does."""


@dataclass(frozen=True, eq=False)
class Ledger:
    """Who is helped and who is harmed, one entry per group that occurs.

    Attributes
    ----------
    counts : Counts
        The table.
    favourable : int
        The code of the outcome that is good for a person.
    helped, harmed : arrays
        How many people are expected to be, by weight.
    reached : float
        How many of those who are helped get the favourable outcome itself.
    before, after : arrays
        The rate of the favourable outcome.
    """

    counts: Counts
    favourable: int
    helped: Numbers
    harmed: Numbers
    reached: float
    before: Numbers
    after: Numbers

    @property
    def columns(self) -> dict[str, Numbers]:
        """The columns of a table with one row per group: its weight, who is helped, harmed and neither, and the rate.

        The three numbers sum to the weight.
        """
        people = self.counts.group_weight
        return {
            "weight": people,
            "helped": self.helped,
            "harmed": self.harmed,
            "unchanged": np.maximum(people - self.helped - self.harmed, 0.0),
            "before": self.before,
            "after": self.after,
        }

    @property
    def share_harmed(self) -> float:
        """The share of all people who are harmed."""
        return float(self.harmed.sum() / self.counts.weight.sum())

    def loss(self, *, suppressed: bool) -> Note | None:
        """Return how many people lose the favourable outcome, by group; None where nobody does.

        Where D is suppressed the outcome is drawn anew for everybody, and what is lost is what groups' rates fall by.
        """
        counts = self.counts
        fall = counts.group_weight * (self.before - self.after)
        lost = np.where(fall > ROUNDING * counts.weight.sum(), fall, 0.0) if suppressed else self.harmed
        if lost.sum() / counts.weight.sum() * counts.people < SOMEBODY:
            return None
        names, order = group_names(counts), np.argsort(-lost, kind="stable")
        by_group = some_of((f"{names[g]}: {expected_people(lost[g])}" for g in order if lost[g]), most=6)
        everybody = counts.unit.write(counts.weight.sum())
        fields = {"lost": float(lost.sum()), "everybody": everybody, "outcome": self._good, "by_group": by_group}
        return Note("ledger.loss", fields)

    @property
    def _good(self) -> str:
        outcome = self.counts.domain.outcome
        return in_words({outcome.name: outcome.levels[self.favourable]})

    def notes(self, *, suppressed: bool) -> Iterator[Note]:
        """Return how many are helped and harmed, and each group whose rate is levelled down."""
        helped, harmed = float(self.helped.sum()), float(self.harmed.sum())
        fields: dict[str, Any] = {
            "everybody": self.counts.unit.write(self.counts.weight.sum()), "outcome": self._good,
            "helped": _somebody(helped), "harmed": _somebody(harmed), "reached": self.reached,
        }  # fmt: skip
        fields |= {"gain": _number(fields["helped"]), "lose": _number(fields["harmed"])}
        key = "ledger.helped_and_harmed"
        if counts_steps(self.counts.domain.outcome, self.favourable):
            key = "ledger.steps" if helped else "ledger.steps_away"
        found = Note(key, fields)
        # Where D is suppressed the outcome is drawn anew for everybody.
        yield Note("ledger.if_drawn", {"what": found}) if suppressed else found
        for group, before, after in zip(group_levels(self.counts), self.before, self.after, strict=True):
            if after < before - AT_BOUND:
                rates = {"before": told_from(after, before, 1, "%"), "after": told_from(before, after, 1, "%")}
                yield Note("ledger.levelled_down", {"group": in_words(group), "outcome": self._good, **rates}, (group,))


def ledger(problem: Problem, counts: Counts, kernel: Kernel, measured: Achieved) -> Ledger | None:
    """Find out who is helped and who is harmed; None where the problem does not say which outcome is good."""
    favourable = favourable_code(problem, counts.domain)
    if favourable is None:
        return None
    rows, (_, new) = kernel.rows, counts.domain.split_xy(kernel.targets)
    old, mass = counts.y[rows], counts.weight[rows] * kernel.probability
    better, worse = better_and_worse(counts, favourable)
    group, size = counts.groups.of_source[rows], len(counts.groups.cells)

    def people(those: Any) -> Numbers:
        found = sums(group[those], mass[those], size)
        # What rounding leaves is nobody.
        return np.where(found > ROUNDING * counts.weight.sum(), found, 0.0)

    return Ledger(
        counts=counts,
        favourable=favourable,
        helped=people(better[old, new]),
        harmed=people(worse[old, new]),
        reached=float(people((new == favourable) & (old != favourable)).sum()),
        before=measured.rates_before[:, favourable],
        after=measured.rates_after[:, favourable],
    )


def levelled_down(problem: Problem, who: Ledger) -> tuple[object, ...] | None:
    """Return a warning of people who lose the favourable outcome, with what to try; None where nobody does."""
    lost = who.loss(suppressed=problem.suppression.redraws)
    if lost is None:
        return None
    outcome, good = who.counts.domain.outcome, who.counts.domain.outcome.levels[who.favourable]
    advice: list[object] = [f"{sentence(lost)}. "]
    if all(parity.distance.good_outcome is None for parity in problem.parity):
        four_fifths = Setting("distance", Made("FourFifths", {"favourable": good}))
        advice += ["Fewer may lose it by the four-fifths rule: ", four_fifths, " in the parity constraint. "]
    step: dict[str, object] = {"step": 1}
    if outcome.ordered and who.favourable in (0, len(outcome) - 1):
        one_way = step | {"down" if who.favourable else "up": False}
    elif len(outcome) == 2:
        one_way = step | {"levels": [outcome.levels[1 - who.favourable], good], "down": False}
    else:
        return (
            *advice,
            f"Nobody loses it with costs that forbid leaving {outcome.name}={good}, if the bounds allow it",
        )
    rule = Setting("distortion", Made("Ordinal", one_way), column=outcome.name)
    return (*advice, "With one-sided costs nobody loses it, if the bounds can still be met: ", rule)


def outcome_moves(counts: Counts, who: Changes) -> list[Move]:
    """Return who goes from which outcome to which, in the order of outcomes; of each way the most people first."""
    name = counts.domain.outcome.name
    found = [move for move in who.moves if move.column.name == name and move.people > ROUNDING * who.people]
    return sorted(found, key=lambda move: (move.old, move.new, -move.people))


def both_directions(counts: Counts, who: Changes) -> Iterator[Note]:
    """Find how many people go from one outcome to another, by group: for a problem that does not say which is good."""
    outcome, everybody = counts.domain.outcome, Unit.of(weighed=who.weighed).write(who.people)
    for (old, new), moves in groupby(outcome_moves(counts, who), key=lambda move: (move.old, move.new)):
        some = list(moves)
        total = sum(move.people for move in some)
        if total / who.people * counts.people < SOMEBODY:
            continue
        by_group = some_of((f"{in_words(move.group)}: {expected_people(move.people)}" for move in some), most=6)
        ends = {"old": f"{outcome.name}={outcome.levels[old]}", "new": f"{outcome.name}={outcome.levels[new]}"}
        fields = {"people": total, "everybody": everybody, "by_group": by_group, **ends}
        yield Note("ledger.direction", fields, tuple(move.group for move in some))


def better_and_worse(counts: Counts, favourable: int | None) -> tuple[Flags, Flags]:
    """Return for every outcome, from every outcome, whether it is better, and whether it is worse, for a person.

    Where nobody said which outcome is good, none is.
    """
    size = counts.domain.y.size
    if favourable is None:
        return np.zeros((size, size), dtype=bool), np.zeros((size, size), dtype=bool)
    away = _distance(counts.domain.outcome, favourable)
    return away[None, :] < away[:, None], away[None, :] > away[:, None]


def counts_steps(outcome: Variable, favourable: int) -> bool:
    """Whether every step towards the favourable outcome counts: at an end of an order of more than two."""
    return outcome.ordered and len(outcome) > 2 and favourable in (0, len(outcome) - 1)


def _distance(outcome: Variable, favourable: int) -> Numbers:
    """Return how far each outcome is from the favourable one: in steps where they count, else one for every other."""
    steps = np.abs(np.arange(len(outcome)) - favourable).astype(np.float64)
    return steps if counts_steps(outcome, favourable) else np.minimum(steps, 1.0)


def _somebody(people: float) -> str:
    return expected_people(people) if people else "nobody"


def _number(somebody: str) -> int:
    """Return whether a verb is that of one, which nobody is, or of several."""
    return 1 if somebody in ("nobody", "1") else 2
