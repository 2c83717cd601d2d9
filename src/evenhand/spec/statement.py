"""What a problem asks for, fact by fact: who is protected, what may change, what is constrained and for whom."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from evenhand.render.section import Fact, Note, Section
from evenhand.spec.budget import Budget, ExpectedDistortion
from evenhand.spec.by import words_of
from evenhand.spec.distortion import Fixed, Free, Nominal, Ordinal, Rule

if TYPE_CHECKING:
    from evenhand.spec.problem import Problem

COMBINED = {
    "sum": "asked.combine_sum",
    "sum_of_squares": "asked.combine_sum_of_squares",
    "max": "asked.combine_max",
}


def statement(problem: Problem) -> Section:
    """Return what a problem asks for."""
    return Section("asked", facts=tuple(_facts(problem)))


def _facts(problem: Problem) -> Iterator[Fact]:
    yield Fact("outcome", problem.outcome)
    if problem.favourable is not None:
        yield Fact("favourable", Note("asked.favourable", {"outcome": f"{problem.outcome}={problem.favourable}"}))
    columns = {"columns": " × ".join(problem.protected)}
    yield Fact("protected", Note("asked.protected_blind" if problem.blind else "asked.protected", columns))
    yield Fact("may_change", tuple(_changes(problem)))
    if problem.cells is not None:
        fields = {"cells": problem.cells.words, "columns": problem.learned_over}
        yield Fact("cells", Note("asked.cells", fields))
    if problem.forbidden_records:
        yield Fact("forbidden", tuple(Note("asked.forbidden", {"rule": r.words}) for r in problem.forbidden_records))
    if problem.bins:
        binned = (Note("asked.levels", {"column": c, "levels": b.words}) for c, b in problem.bins.items())
        yield Fact("levels", tuple(binned))
    if problem.missing_is_level:
        tokens = list(map(repr, problem.missing_values))
        yield Fact("missing_values", Note("asked.missing_values" if tokens else "asked.missing", {"values": tokens}))
    yield Fact("constraints", tuple(_constraints(problem)))
    if problem.confidence is not None:
        yield Fact("confidence", Note("asked.confidence", {"confidence": problem.confidence}))
    if problem.suppression.scored:
        yield Fact("for_whom", Note("asked.scored", {"protected": list(problem.protected)}))
    if (source := problem.suppression.source) is not None:
        yield Fact("for_whom", Note("asked.suppressed", {"source": source}))
    if problem.blind:
        yield Fact("blind", Note("asked.blind", {"cells": problem.cell_words}))
    key = "asked.utility" if problem.suppression.utility_axes == "xy" else "asked.utility_on_features"
    yield Fact("minimized", Note(key, {"utility": problem.utility.words, "cells": problem.cell_words}))


def _constraints(problem: Problem) -> Iterator[Note]:
    for parity in problem.parity:
        yield Note("asked.parity", {"parity": parity.words})
    for budget in problem.budgets:
        yield budget_note(budget, problem.cell_words)
    if not problem.parity:
        yield Note("asked.no_parity")
    if not problem.budgets:
        yield Note("asked.no_budget")


def _changes(problem: Problem) -> Iterator[Note]:
    """Return for each column how it may change, and how costs combine."""
    function = problem.distortion.function
    # A user's function charges what it likes, whatever the rules say of costs.
    own, fixed = function is None, []
    for column in (*problem.features, problem.outcome):
        rule = rule_note(problem.distortion.rules.get(column, Fixed() if own else Free()), costs=own)
        if rule is None:
            fixed.append(column)
        else:
            yield Note("asked.column", {"column": column, "rule": rule})
    if fixed:
        yield Note("asked.fixed", {"columns": fixed})
    if function is None:
        yield Note(COMBINED[problem.distortion.combine])
    else:
        name = getattr(function, "name", None) or getattr(function, "__name__", "a function")
        yield Note("asked.own_costs", {"function": name})
    if not problem.observed_only:
        yield Note("asked.all_targets")


def budget_note(budget: Budget, cells: str = "features") -> Note:
    """Return what a budget bounds; ``cells`` is what features are called."""
    whom = Note("asked.each_record" if budget.averaged else "asked.each_person", {"cells": cells})

    def limit(value: Any) -> str:
        return words_of(value, "{:g}".format, "limited")

    if isinstance(budget, ExpectedDistortion):
        return Note("asked.expected", {"whom": whom, "limit": limit(budget.limit)})
    parts = [Note("asked.above", {"threshold": c.threshold, "limit": limit(c.limit)}) for c in budget.charges]
    return Note("asked.excess", {"whom": whom, "parts": parts})


def rule_note(rule: Rule, *, costs: bool = True) -> Note | None:
    """Return what a rule allows and, unless another function says so, what it costs; None where nothing changes."""
    if isinstance(rule, Ordinal):
        ways = [] if not (rule.up or rule.down) else list(_ways(rule, costs=costs))
        if not ways:
            return None
        most = None if rule.max_steps is None else Note("asked.most_steps", {"steps": rule.max_steps})
        return Note("asked.ordinal", {"ways": ways, "most": most})
    if isinstance(rule, Nominal):
        if isinstance(rule.cost, Mapping):
            return Note("asked.cost_table" if costs else "asked.allowed_table", {"costs": len(rule.cost)})
        return None if math.isinf(rule.cost) else Note("asked.any_value", {"cost": _cost(rule.cost, costs)})
    return Note("asked.any_value", {"cost": _cost(0.0, costs)}) if isinstance(rule, Free) else None


def _ways(rule: Ordinal, *, costs: bool) -> Iterator[Note]:
    up = rule.step if rule.up_step is None else rule.up_step
    if rule.up and rule.down and (up == rule.step or not costs):
        yield Note("asked.up_or_down", {"cost": _cost(rule.step, costs, rule)})
        return
    if rule.up:
        yield Note("asked.up", {"cost": _cost(up, costs, rule)})
    if rule.down:
        yield Note("asked.down", {"cost": _cost(rule.step, costs, rule)})


def _cost(cost: float, shown: bool, rule: Ordinal | None = None) -> Note | None:
    if not shown:
        return None
    if cost == 0:
        return Note("asked.free")
    if rule is None:
        return Note("asked.cost", {"cost": cost})
    if rule.power == 1:
        return Note("asked.cost_per_step", {"cost": cost})
    return Note("asked.cost_of_steps", {"cost": cost, "power": rule.power})
