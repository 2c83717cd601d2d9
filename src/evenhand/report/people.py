"""What a mapping does to whom, for a summary: plain rows, with cells and groups of few people left out.

Who is shown is asked of a :class:`Discretion`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from evenhand.arrays import Flags, alike
from evenhand.data.counts import Counts
from evenhand.findings.audit import Audit
from evenhand.findings.cells import cell_table, told_outcome
from evenhand.findings.changes import LEAST_SHARE, Move, worst_off_cells
from evenhand.findings.changes import changes as who_changes
from evenhand.findings.discretion import Discretion, complementary
from evenhand.findings.document import Json
from evenhand.findings.ledger import better_and_worse
from evenhand.findings.naming import group_levels, long_name, short_name
from evenhand.findings.rates import cohorts
from evenhand.findings.rates import rates as group_rates
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.render.section import notes_of
from evenhand.render.sentences import sentence
from evenhand.report.extent import outcomes_drawn
from evenhand.spec import Problem
from evenhand.spec.agreement import favourable_code
from evenhand.tables import own_name
from evenhand.tolerances import AT_BOUND

WORST = 8
"""How many of the worst-off cells are listed."""

MOST_MOVES = 40


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
    hidden = {v.name for v in counts.domain.variables if v.has_missing and not shown.levels(v)[v.missing]}
    for row in audit.coverage.to_dict("records"):
        if row["rows"] > 0:
            # Of those who are hidden, only that there are some.
            is_shown = shown.enough(row["rows"]) and row["column"] not in hidden
            told = {name: row[name] for name in ("column", "what", "policy")}
            coverage.append(told | {"rows": float(row["rows"]) if is_shown else None})
    return {
        "people": counts.people,
        "weight": float(counts.weight.sum()),
        "weighed": counts.weighed,
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
    enough = shown.parts(found.people.min(axis=1)) & shown.groups.all()
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
        "cells": len(counts),
        "cells_hidden": int((~shown.cells).sum()),
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
        "told": counts.domain.outcome.levels[told_outcome(problem, counts)],
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

    way = _ways(problem, counts)
    together = [
        row(m) | {"share": m.people / who.people, "way": way(m)}
        for m, is_shown in zip(who.together, _shown_moves(who.together, shown), strict=True)
        if is_shown
    ]
    return {
        "words": sentence(who.note(suppressed=problem.suppression.redraws)),
        "suppressed": problem.suppression.redraws,
        "people": who.people,
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
        "outcome_people": float(sum(m.people for m in who.together if m.column.name == counts.domain.outcome.name)),
        "by_group": [
            {"group": short_name(m.group), **row(m), "had": m.had, "probability": m.probability}
            for m, is_shown in zip(who.moves, _shown_moves(who.moves, shown), strict=True)
            if is_shown
        ],
    }


def _shown_moves(moves: Sequence[Move], shown: Discretion) -> Flags:
    """Return which moves are listed: of people enough, in groups and from levels that may be named."""
    codes = {long_name(levels): at for at, levels in enumerate(group_levels(shown.counts))}
    levels = {m.column.name: shown.levels(m.column) for m in moves}
    group = np.array([codes.get(long_name(m.group), len(codes)) for m in moves], dtype=np.int64)
    column = np.array([list(levels).index(m.column.name) for m in moves], dtype=np.int64)
    old, new = (np.array([getattr(m, end) for m in moves], dtype=np.int64) for end in ("old", "new"))
    named = np.append(shown.groups, np.True_)[group]
    named &= np.array([levels[m.column.name][m.old] for m in moves], dtype=bool)
    heads = np.array([m.heads for m in moves])
    # Over the groups moves add up to those of everybody, and in a group over levels to those of a column.
    totals = [alike([column, old, new])[1], alike([group, column, old])[1], alike([group, column])[1]]
    return complementary(heads, named & shown.enough(heads), totals, shown.hide_below)


def _ways(problem: Problem, counts: Counts) -> Callable[[Move], str | None]:
    """Return what says whether a move is for the better or the worse, as the ledger counts it; None where neither."""
    better, worse = better_and_worse(counts, favourable_code(problem, counts.domain))

    def way(move: Move) -> str | None:
        if move.column.name != counts.domain.outcome.name:
            return None
        return "better" if better[move.old, move.new] else "worse" if worse[move.old, move.new] else None

    return way


def gains(problem: Problem, counts: Counts, audit: Audit, shown: Discretion) -> Json | None:
    """Return who is helped and who is harmed, by group; None where nobody said which outcome is good for a person."""
    if audit.ledger is None:
        return None
    who = [own_name(audit.ledger, column) for column in problem.protected]
    numbers = audit.ledger.drop(columns=who).to_dict("records")
    rows = zip(group_levels(counts), numbers, shown.groups, strict=True)
    return {
        "favourable": problem.favourable,
        # How many sentences are left out would tell how many hidden groups are levelled down.
        "words": [sentence(note) for note in notes_of(audit.sections, "gains") if all(map(shown.may_name, note.about))],
        "helped": float(audit.ledger["helped"].sum()),
        "harmed": float(audit.ledger["harmed"].sum()),
        "levelled_down": [
            {"group": levels, "before": row["before"], "after": row["after"]}
            for levels, row, is_shown in zip(group_levels(counts), numbers, shown.groups, strict=True)
            if is_shown and row["after"] < row["before"] - AT_BOUND
        ],
        "rows": [{"group": levels, **row} for levels, row, is_shown in rows if is_shown],
    }


def worst_off(problem: Problem, counts: Counts, kernel: Kernel, measured: Achieved, shown: Discretion) -> Json:
    """Return the cells (d, x, y) that bear most, what they most likely become, and the same in sentences.

    A better outcome is no burden: whoever gets one is not among them.
    """
    changed, enough = measured.changed > 0, shown.cells
    favourable = favourable_code(problem, counts.domain)
    better, worse = better_and_worse(counts, favourable)
    rows = worst_off_cells(counts, kernel, measured, enough, WORST, better, worse)
    # Of all cells, one is enough to tell whether anybody bears anything.
    somebody = worst_off_cells(counts, kernel, measured, np.ones_like(enough), 1, better, worse)
    return {
        "rows": rows,
        "words": [_borne(counts, row, favourable is not None) for row in rows],
        "hidden_bear": bool(somebody and not rows),
        "cells_changed": int(changed.sum()),
        "cells_hidden": int((changed & ~enough).sum()),
    }


def _borne(counts: Counts, row: Json, ranked: bool) -> str:
    """Say what the people of one cell bear; ``ranked``, where it is known which outcome is better."""
    cell, likeliest = row["cell"], row["likeliest_change"]
    steps = [f"{name}: {cell[name]} → {level}" for name, level in likeliest.items() if cell[name] != level]
    who = f"{counts.unit.write(row['weight'])} ({long_name(cell)})"
    bear = f"{row['changed']:.1%} of them are changed{' without a better outcome' * ranked}"
    if row["worse"] > 0:
        bear = f"{row['worse']:.1%} of them get a worse outcome"
    said = f"{who}: {bear}; likeliest, with {row['likeliest_probability']:.1%}, is {', '.join(steps)}."
    if row["tied"]:
        one = row["tied"] == 1
        said += f" {row['tied']:,} more cell{'' if one else 's'} bear{'s' if one else ''} as much."
    return said


def by_level(counts: Counts, problem: Problem, kernel: Kernel, shown: Discretion) -> Json:
    """Return the rate of the outcome that is told among the people of every level of every feature, in their order.

    They are the same people before and after, whatever features they are released with. Learned cells have a table of
    their own.
    """
    rows = []
    told = told_outcome(problem, counts)
    for variable in counts.domain.x.variables:
        if not variable.is_column:
            continue
        found = cohorts(
            counts, kernel, [{}], by=[variable.name], outcome=counts.domain.outcome.levels[told], features="original",
            hide_below=shown.hide_below,
        )  # fmt: skip
        rows += [
            {"column": variable.name, "level": variable.shown[row["cell"]], "people": row["people"]}
            | {name: row[name] for name in ("before", "after")}
            for row in found
        ]
    return {"outcome": counts.domain.y.words(told), "rows": rows}
