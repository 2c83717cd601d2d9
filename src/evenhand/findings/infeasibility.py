"""Why no mapping meets every bound: the multipliers that prove it, and what they are about.

A phase-1 programme asks by how much every bound would have to give way. Its multipliers weigh the bounds so that,
whatever anybody does, the weighted sum is exceeded: Σ over sources of the cheapest move, minus the bounds, is
positive. That is the proof (weak duality with no utility at all); it verifies in exact arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.counts import Counts
from evenhand.findings.naming import EVERYBODY, holder_names
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import outcome_by_source, parity_achieved
from evenhand.optimize.compile import Compiled, compile_problem
from evenhand.optimize.compile.inverse import budget_multipliers, entry_multipliers
from evenhand.optimize.program import Multipliers
from evenhand.optimize.solve import Clock
from evenhand.optimize.solve.infeasible import least_excess, reachable_rates
from evenhand.render.section import Kind, Note, Section, Table
from evenhand.spec import AGAINST_TARGET, EVERYWHERE, Charge, Forbidden, Problem
from evenhand.tables import frame
from evenhand.tolerances import SHOWN_FROM

if TYPE_CHECKING:
    import pandas as pd

MOST_NOTED = 3
"""How many of each kind have a sentence; the tables have them all."""

MOST_ROWS = 8
"""So many bounds and rates are shown; JSON has all."""

BOUNDS: dict[str, Kind] = {"constraint": "text", "where": "text", "bound": "number", "share": "share"}
REACH: dict[str, Kind] = {"group": "text", "now": "share", "lowest": "share", "highest": "share"}
FORBIDDEN: dict[str, Kind] = {"column": "text", "from": "text", "to": "text", "group": "text", "eases": "number"}
"""The columns of the tables; of rates that of the outcome, too."""


@dataclass(frozen=True, eq=False)
class Conflict:
    """A proof of infeasibility and what it is about.

    Attributes
    ----------
    multipliers : Multipliers
        On the programme's rows; those on r are zero.
    excess : float
        By how much the weighted bounds are exceeded whatever anybody does; positive.
    bounds : pandas.DataFrame
        The bounds that conflict, with their share of the weight.
    reach : pandas.DataFrame
        For the rates in the conflict: now, and the lowest and highest that budgets and forbidden moves allow.
    forbidden : pandas.DataFrame
        Changes of one column that the distortion forbids and that would ease the conflict, most first.
    notes : tuple of Note
        The heaviest of these, each as a sentence.
    """

    multipliers: Multipliers
    excess: float
    bounds: pd.DataFrame
    reach: pd.DataFrame
    forbidden: pd.DataFrame
    notes: tuple[Note, ...]

    @property
    def section(self) -> Section:
        """The tables as data."""
        bounds = Table.of("bounds", self.bounds, BOUNDS, most=MOST_ROWS)
        reach = Table.of("reach", self.reach, REACH, most=MOST_ROWS)
        return Section("conflict", tables=(bounds, reach, Table.of("forbidden", self.forbidden, FORBIDDEN, most=0)))


def conflict(problem: Problem, counts: Counts, compiled: Compiled, clock: Clock) -> Conflict | None:
    """Return why a problem is infeasible; None where it is feasible after all."""
    found = least_excess(compiled.program, clock)
    if found is None or not found[0] > 0:
        return None
    excess, multipliers = found
    story = _Story(problem, counts, compiled, multipliers, clock)
    notes = (*story.notes(), *_of_forbidden_records(problem, counts, clock))
    return Conflict(multipliers, excess, frame(story.bounds()), frame(story.reach()), frame(story.forbidden()), notes)


def _of_forbidden_records(problem: Problem, counts: Counts, clock: Clock) -> Iterator[Note]:
    """Find whether the bounds could be met if nothing, or one thing less, were forbidden to become."""
    rules = problem.forbidden_records

    def can_be_met(kept: Sequence[Forbidden]) -> bool:
        looser = compile_problem(replace(problem, forbidden=kept), counts)
        found = least_excess(looser.program, clock)
        return found is not None and not found[0] > 0

    if not rules:
        return
    if not can_be_met(()):
        yield Note("conflict.without_forbidden_records")
        return
    alone = [rule for rule in rules if can_be_met([other for other in rules if other is not rule])]
    for rule in alone[:MOST_NOTED]:
        yield Note("conflict.forbidden_record", {"rule": rule.words})
    if not alone:
        yield Note("conflict.forbidden_records", {"rules": len(rules)})


class _Story:
    """Reads a proof: whose rates, whose budgets, which forbidden moves."""

    def __init__(
        self, problem: Problem, counts: Counts, compiled: Compiled, multipliers: Multipliers, clock: Clock
    ) -> None:
        self.problem, self.counts, self.compiled, self.clock = problem, counts, compiled, clock
        self.parity = entry_multipliers(compiled.parity, compiled.compared, multipliers.parity)
        self.budgets = budget_multipliers(compiled.program, multipliers)
        self.on_rates = (compiled.program.parity.matrix.T @ multipliers.parity)[: compiled.program.n_rates]
        program = compiled.program
        # What the proof charges each of the programme's choices.
        self.on_choices = np.asarray(program.rates.T @ self.on_rates + program.budgets.matrix.T @ multipliers.budgets)
        self.weight = float(self.parity.multiplier.sum() + self.budgets.sum()) or 1.0
        self.now = [parity_achieved(part, counts, unchanged(counts)) for part in compiled.compared]

    def _release_prices(self, source: Cells, to_x: Cells, to_y: Cells) -> Numbers:
        """Return what the proof charges sources for releasing (x̂, ŷ), allowed or not, budgets aside."""
        total, first, domain = np.zeros(len(source)), 0, self.counts.domain
        for part, values in zip(self.compiled.compared, self.compiled.parity.values, strict=True):
            segments = np.unique(part.segment)
            size = len(part.populations) * len(segments) * len(values)
            block = self.on_rates[first : first + size].reshape(len(part.populations), -1)
            priced = (part.weights.T @ block).reshape(-1, len(segments), len(values))
            known, value = positions(values, part.events.value(domain, to_x, to_y))
            place = np.zeros(len(source), dtype=np.int64)
            if part.segments is not None and part.within_released:
                inside, place = positions(segments, domain.x.cells_of(part.segments, to_x))
                known &= inside
            total += np.where(known, priced[source, place, value], 0.0)
            first += size
        return total

    def entries(self) -> list[tuple[int, int, float]]:
        """Return the parity entries in the conflict, heaviest first: constraint, entry, share of the weight."""
        found: dict[tuple[int, int], float] = {}
        for i, e, m in zip(self.parity.constraint, self.parity.entry, self.parity.multiplier, strict=True):
            found[int(i), int(e)] = found.get((int(i), int(e)), 0.0) + float(m) / self.weight
        kept = [(i, e, m) for (i, e), m in found.items() if m > SHOWN_FROM]
        return sorted(kept, key=lambda entry: -entry[2])

    def holders(self) -> list[tuple[int, int, float]]:
        """Return the budgets in the conflict, heaviest first: charge, holder, share of the weight."""
        rows = self.compiled.budgets
        share = self.budgets / self.weight
        return [
            (int(rows.charge[i]), int(rows.holder[i]), float(share[i]))
            for i in np.argsort(-share)
            if share[i] > SHOWN_FROM
        ]

    def bounds(self) -> dict[str, list[Any]]:
        rows = []
        for i, e, share in self.entries():
            part = self.compiled.compared[i]
            where = part.words(e)
            rows.append((type(part.parity).__name__, where, float(part.bound[e]), share))
        for i, holder, share in self.holders():
            charge = self.problem.charges[i]
            limit = float(charge.limits(self.counts)[holder])
            (where,) = holder_names(self.counts, charge, np.array([holder]))
            rows.append((charge.words, where, limit, share))
        return _table(BOUNDS, rows)

    def reach(self) -> dict[str, list[Any]]:
        rows, outcomes = [], outcome_by_source(self.counts, unchanged(self.counts))
        for i, population, event in self._rates():
            part = self.compiled.compared[i]
            low, high = self._limits(i, population, event)
            now = float((part.weights[[population]] @ outcomes)[0] @ part.events.members[event])
            words = part.populations[population].words
            rows.append((words, part.events.label(event), now, low, high))
        return _table(("group", self.problem.outcome, "now", "lowest", "highest"), rows)

    def _rates(self) -> list[tuple[int, int, int]]:
        """Return the rates in the conflict.

        A rate within a released segment is a quotient, and a free event is none that is the same whatever happens: they
        are left out.
        """
        found: dict[tuple[int, int, int], None] = {}
        for i, e, _ in self.entries():
            part = self.compiled.compared[i]
            if part.segment[e] != EVERYWHERE or part.events.free:
                continue
            for population in (int(part.population[e]), int(part.against[e])):
                if population != AGAINST_TARGET:
                    found[i, population, int(part.event[e])] = None
        return list(found)

    def _limits(self, i: int, population: int, event: int) -> tuple[float, float]:
        part, moves = self.compiled.compared[i], self.compiled.moves
        _, to_y = self.counts.domain.split_xy(moves.target)
        weights = np.asarray(part.weights[[population]].toarray()[0])
        per_move = weights[moves.source] * part.events.members[event, to_y]
        return reachable_rates(self.compiled.program, self.compiled.choices.spread.T @ per_move, self.clock)

    def forbidden(self) -> dict[str, list[Any]]:
        """For each forbidden change of one column: the weight of the people whom it would free, if it were free."""
        counts, domain = self.counts, self.counts.domain
        if self.problem.reads != "dxy" or self.problem.suppression.redraws:
            return _table(FORBIDDEN, [])
        codes = [*domain.x.unravel(counts.x), counts.y]
        cheapest = np.minimum.reduceat(self.on_choices, self.compiled.program.starts[:-1])
        rows = []
        for column, variable in enumerate((*domain.x.variables, domain.outcome)):
            for a, b in np.argwhere(~np.isfinite(self.problem.distortion.costs(variable))):
                source = np.flatnonzero(codes[column] == a)
                changed = [np.full(len(source), b) if c == column else code[source] for c, code in enumerate(codes)]
                to_x, to_y = domain.x.ravel(changed[:-1]), changed[-1]
                price = self._release_prices(source, to_x, to_y)
                if self.problem.observed_only:
                    price = np.where(positions(counts.features.cells, to_x)[0], price, np.inf)
                gain = np.maximum(cheapest[source] - price, 0.0)
                group = counts.groups.of_source[source]
                for g, eased in enumerate(sums(group, gain, len(counts.groups.cells))):
                    if eased > SHOWN_FROM:
                        name = domain.d.words(int(counts.groups.cells[g]))
                        rows.append((variable.name, variable.levels[a], variable.levels[b], name, float(eased)))
        rows.sort(key=lambda row: -row[-1])
        return _table(FORBIDDEN, rows)

    def notes(self) -> Iterator[Note]:
        """Yield the heaviest part of the proof in sentences."""
        yield from (self._entry(i, e) for i, e, _ in self.entries()[:MOST_NOTED])
        yield from self._barred()
        yield from self._budgets()
        for column, old, new, group, _ in list(zip(*self.forbidden().values(), strict=True))[:MOST_NOTED]:
            yield Note("conflict.forbidden", {"column": column, "old": old, "new": new, "group": group})

    def _entry(self, i: int, e: int) -> Note:
        """Return what one entry compares, how far its rates can go, and the bound."""
        part, now = self.compiled.compared[i], self.now[i]
        own, against, event = int(part.population[e]), int(part.against[e]), int(part.event[e])
        fields: dict[str, Any] = {
            "outcome": part.event_words(e), "group": part.populations[own].words, "bound": float(part.bound[e]),
            "rate": float(now.rate[e]), "other": float(now.other[e]),
        }  # fmt: skip
        if against != AGAINST_TARGET:
            fields["against"] = part.populations[against].words
        if part.events.free:
            fields |= {"features": part.events.label(event), "value": float(now.value[e])}
            return Note("conflict.features", fields)
        if part.segment[e] != EVERYWHERE and part.segments is not None:
            return Note("conflict.segment", fields | {"segment": part.segments.words(int(part.segment[e]))})
        within = {
            "moves": Note("conflict.budgets_and_moves" if self.problem.charges else "conflict.moves"),
            "drawn": Note("conflict.drawn") if self.problem.suppression.redraws else None,
        }
        fields["reach"] = self._reach("conflict.reach", i, own, event, within)
        if against == AGAINST_TARGET:
            return Note("conflict.target", fields)
        fields["other_reach"] = self._reach("conflict.other_reach", i, against, event, {})
        return Note("conflict.pair", fields | {"blind": Note("conflict.blind") if self.problem.blind else None})

    def _reach(self, key: str, i: int, population: int, event: int, fields: dict[str, Any]) -> Note | None:
        """Return how far a rate can go; None where that is not known."""
        low, high = self._limits(i, population, event)
        return Note(key, {**fields, "low": low, "high": high}) if np.isfinite(low) else None

    def _barred(self) -> Iterable[Note]:
        """Return which outcomes were ruled out from the start, because a ratio to zero is bounded."""
        found: dict[tuple[str, ...], Note] = {}
        for bar in (bar for barred in self.compiled.barred for bar in barred):
            part, e = self.compiled.compared[bar.constraint], bar.entry
            (other,) = {int(part.population[e]), int(part.against[e])} - {bar.population}
            fields = {"outcome": part.event_words(e), "group": part.populations[bar.population].words}
            key = "conflict.barred_by_target"
            if other != AGAINST_TARGET:
                key, fields["other"] = "conflict.barred_by_group", part.populations[other].words
            found[key, *fields.values()] = Note(key, fields)
        return list(found.values())[:MOST_NOTED]

    def _budgets(self) -> Iterator[Note]:
        """Yield whose budgets bind, by group and outcome."""
        found: dict[tuple[int, str, int], list[tuple[int, float]]] = {}
        counts, domain = self.counts, self.counts.domain
        for i, holder, share in self.holders():
            charge = self.problem.charges[i]
            if charge.averaged:
                group, y = EVERYBODY, int(counts.records.cells[holder]) % domain.y.size
            else:
                group, y = domain.d.words(int(counts.d[holder])), int(counts.y[holder])
            found.setdefault((i, group, y), []).append((holder, share))
        ranked = sorted(found.items(), key=lambda item: -sum(share for _, share in item[1]))
        for (i, group, y), cells in ranked[:MOST_NOTED]:
            charge, holders = self.problem.charges[i], [holder for holder, _ in cells]
            held = charge.limits(counts)[holders]
            low, high = float(held.min()), float(held.max())
            others = np.any(replace(charge, of_any_group=False).limits(counts)[holders] > held)
            changes = [] if self.problem.distortion.function is not None else list(self._charged(charge, y, high))
            yield Note("conflict.budget", {
                "charge": charge.words, "group": group, "outcome": domain.y.words(y), "cells": len(cells),
                "limit": low if low == high else Note("conflict.limits", {"low": low, "high": high}),
                "charged": Note("conflict.charged", {"changes": changes}) if changes else None,
                "others": Note("conflict.limit_of_others") if others else None,
            })  # fmt: skip

    def _charged(self, charge: Charge, y: int, limit: float) -> Iterator[Note]:
        """Yield the changes of an outcome that cost more than the limit, with the share of people who may make them."""
        outcome = self.counts.domain.outcome
        costs = self.problem.distortion.costs(outcome)[y]
        costs = charge.of(np.where(np.isfinite(costs), costs, 0.0))
        for new in np.flatnonzero(costs > limit):
            cost = float(costs[new])
            yield Note("conflict.change", {
                "column": outcome.name, "old": outcome.levels[y], "new": outcome.levels[new], "cost": cost,
                "share": limit / cost,
            })  # fmt: skip


def _table(names: Iterable[str], rows: list[Any]) -> dict[str, list[Any]]:
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}
