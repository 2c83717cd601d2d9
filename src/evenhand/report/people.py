"""What a mapping does to whom, for a summary: plain rows, with cells and groups of few people left out.

Who is shown is asked of a :class:`Discretion`.
"""

from __future__ import annotations

from typing import Any

from evenhand.data.counts import Counts
from evenhand.findings.audit import Audit
from evenhand.findings.cells import cell_table
from evenhand.findings.changes import LEAST_SHARE, Move, worst_off_cells
from evenhand.findings.changes import changes as who_changes
from evenhand.findings.discretion import Discretion, discreet
from evenhand.findings.naming import group_levels, short_name
from evenhand.findings.rates import rates as group_rates
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.report.extent import outcomes_drawn
from evenhand.spec import Problem

WORST = 12
"""How many of the worst-off cells are listed."""

MOST_MOVES = 40
"""How many changes of a column are listed."""

Json = dict[str, Any]


def table(counts: Counts, audit: Audit, shown: Discretion) -> Json:
    """Say what was fitted on: how many people, which columns with which levels, and how many values are missing."""
    columns, coverage = [], []
    for variable in counts.domain.variables:
        kept = shown.levels(variable)
        columns.append({
            "name": variable.name,
            "role": str(variable.role),
            "levels": [level for level, is_shown in zip(variable.levels, kept, strict=True) if is_shown],
            "levels_hidden": int((~kept).sum()),
            "ordered": variable.ordered,
            **({} if variable.is_column else {"learned_over": list(variable.columns)}),
        })  # fmt: skip
    for row in audit.coverage.to_dict("records"):
        if row["rows"] > 0:
            # Of few people, only that there are some.
            told = {name: row[name] for name in ("column", "what", "policy")}
            coverage.append(told | {"rows": float(row["rows"]) if shown.enough(row["rows"]) else None})
    return {
        "people": counts.people,
        "weight": float(counts.weight.sum()),
        "cells": len(counts),
        "groups": len(counts.groups.cells),
        "columns": columns,
        "coverage": coverage,
    }


def learned_cells(problem: Problem, counts: Counts, kernel: Kernel, shown: Discretion) -> Json | None:
    """Return who is in each learned cell, how many people of each group, and their rates; None where none are learned.

    A cell with few people of a group is left out: its rate would tell theirs.
    """
    if problem.cells is None:
        return None
    found = cell_table(problem, counts, kernel)
    enough = shown.enough(found.people.min(axis=1)) & shown.groups.all()
    numbers = found.people.tolist(), found.before.tolist(), found.after.tolist()
    rows = zip(found.numbers.tolist(), found.rules, *numbers, enough, strict=True)
    return {
        "words": problem.cells.words,
        "outcome": found.outcome,
        "groups": found.groups,
        "rows": [
            {"cell": number, "rule": rule, "people": people, "before": before, "after": after}
            for number, rule, people, before, after, is_shown in rows
            if is_shown
        ],
        "cells_hidden": int((~enough).sum()),
    }


def small_cells(counts: Counts, shown: Discretion) -> Json:
    """Say how many cells and groups are too small to be shown by themselves."""
    return {
        "hide_below": shown.hide_below,
        "by_weight": not counts.knows_people,
        "cells": len(counts),
        "cells_hidden": int((~shown.cells).sum()),
        "people_in_hidden_cells": float(shown.people[~shown.cells].sum()),
        "groups": len(shown.groups),
        "groups_hidden": int((~shown.groups).sum()),
    }


def rates(problem: Problem, counts: Counts, kernel: Kernel, confidence: float, shown: Discretion) -> Json:
    """Return each group's rates of every outcome, before and after, with intervals."""
    rows = group_rates(problem, counts, kernel, confidence=confidence, hide_below=shown.hide_below)
    return {
        "confidence": confidence,
        "intervals": "Clopper–Pearson, all at once; after: of the expected number, the mapping held fixed",
        "shown": outcomes_drawn(counts),
        "rows": [
            {"group": row["columns"], "outcome": row["level"]}
            | {name: value for name, value in row.items() if name not in ("group", "columns", "level")}
            for row in rows
        ],
        "groups_hidden": int((~shown.groups).sum()),
    }


def changes(problem: Problem, counts: Counts, kernel: Kernel, measured: Achieved, shown: Discretion) -> Json:
    """Return how many people change, by group, and in which columns from what to what."""
    who = who_changes(counts, kernel, measured)

    def row(move: Move) -> Json:
        return {"column": move.column.name, "from": move.levels[0], "to": move.levels[1], "people": move.people}

    # From a level that few have, no change is listed.
    together = [row(m) | {"share": m.people / who.people} for m in who.together if shown.enough(m.heads)]
    return {
        "words": who.words(suppressed=problem.suppresses),
        "suppressed": problem.suppresses,
        "share": who.share,
        "share_features": who.share_features,
        "expected_distortion": who.expected_distortion,
        "groups": [
            {
                "group": levels,
                "weight": float(weight),
                **{name: float(of[i]) for name, of in who.groups.items()},
            }
            for i, (levels, weight) in enumerate(zip(group_levels(counts), counts.group_weight, strict=True))
            if shown.groups[i]
        ],
        "columns": [move for move in together if move["share"] >= LEAST_SHARE][:MOST_MOVES],
        "outcome": [move for move in together if move["column"] == counts.domain.outcome.name],
        "by_group": [
            {"group": short_name(m.group), **row(m), "had": m.had, "probability": m.probability}
            for m in who.moves
            if shown.enough(m.heads)
        ],
    }


def gains(problem: Problem, counts: Counts, audit: Audit, shown: Discretion) -> Json | None:
    """Return who is helped and who is harmed, by group; None where nobody said which outcome is good for a person."""
    if audit.ledger is None:
        return None
    numbers = audit.ledger.drop(columns=list(problem.protected)).to_dict("records")
    rows = zip(group_levels(counts), numbers, shown.groups, strict=True)
    return {
        "favourable": problem.favourable,
        "words": discreet(audit.who_gains, shown),
        "rows": [{"group": levels, **row} for levels, row, is_shown in rows if is_shown],
    }


def worst_off(counts: Counts, kernel: Kernel, measured: Achieved, shown: Discretion) -> Json:
    """Return the cells (d, x, y) with the largest expected distortion, and what they most likely become."""
    changed, enough = measured.changed > 0, shown.cells
    return {
        "rows": worst_off_cells(counts, kernel, measured, enough, WORST),
        "cells_changed": int(changed.sum()),
        "cells_hidden": int((changed & ~enough).sum()),
    }
