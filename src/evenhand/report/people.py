"""What a mapping does to whom, for a summary: plain rows, with cells and groups of few people left out.

Every function takes the threshold below which cells are hidden, and says how many were.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.arrays import sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable
from evenhand.findings.audit import Audit
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.report import rows
from evenhand.report.discretion import Discretion
from evenhand.spec import Problem

WORST = 12
"""How many of the worst-off cells are listed."""

MOST_MOVES = 40
"""How many changes of a column are listed."""

LEAST_SHARE = 5e-5
"""A change of a smaller share of people would be written as 0.00%."""

WHOLE_PEOPLE = 1e-6
"""A table whose weights sum to another number has weights that are not one a person."""

Json = dict[str, Any]


def table(counts: Counts, audit: Audit, shown: Discretion) -> Json:
    """Say what was fitted on: how many people, which columns with which levels, and how many values are missing."""
    return {
        "people": counts.people,
        "weight": float(counts.weight.sum()),
        "cells": len(counts),
        "groups": len(counts.groups.cells),
        "columns": [_column(variable, shown) for variable in counts.domain.variables],
        "coverage": [_covered(row, shown) for row in audit.coverage.to_dict("records") if row["rows"] > 0],
    }


def _column(variable: Variable, shown: Discretion) -> Json:
    kept = shown.levels(variable)
    return {
        "name": variable.name,
        "role": str(variable.role),
        "levels": [level for level, is_shown in zip(variable.levels, kept, strict=True) if is_shown],
        "levels_hidden": int((~kept).sum()),
        "ordered": variable.ordered,
    }


def _covered(row: Json, shown: Discretion) -> Json:
    """Return how many rows have no value, or a new one; of few people, only that there are some."""
    rows = float(row["rows"])
    names = ("column", "what", "policy")
    return {name: row[name] for name in names} | {"rows": rows if rows >= shown.hide_below else None}


def small_cells(counts: Counts, hide_below: float) -> Json:
    """Say how many cells and groups are too small to be shown by themselves."""
    groups = counts.group_weight
    return {
        "hide_below": hide_below,
        "by_weight": bool(abs(counts.weight.sum() - counts.people) > WHOLE_PEOPLE),
        "cells": len(counts),
        "cells_hidden": int((counts.weight < hide_below).sum()),
        "people_in_hidden_cells": float(counts.weight[counts.weight < hide_below].sum()),
        "groups": len(groups),
        "groups_hidden": int((groups < hide_below).sum()),
    }


def rates(problem: Problem, counts: Counts, kernel: Kernel, confidence: float, hide_below: float) -> Json:
    """Return each group's rates of every outcome, before and after, with intervals."""
    kept = rows.rates(problem, counts, kernel, confidence=confidence, hide_below=hide_below)
    names = ("before", "before_low", "before_high", "after", "after_low", "after_high", "permitted_low")
    return {
        "confidence": confidence,
        "intervals": "Clopper–Pearson, all at once; after: of the expected number, the mapping held fixed",
        "shown": [counts.domain.outcome.levels[y] for y in counts.domain.shown_outcomes],
        "rows": [
            {
                "group": row["columns"],
                "outcome": row["level"],
                "weight": row["weight"],
                **{name: row[name] for name in (*names, "permitted_high")},
            }
            for row in kept
        ],
        "groups_hidden": len(counts.groups.cells) - len(kept) // counts.domain.y.size,
    }


def changes(problem: Problem, counts: Counts, kernel: Kernel, measured: Achieved, hide_below: float) -> Json:
    """Return how many people change, by group, and in which columns from what to what."""
    listed = [row for row in rows.changes(counts, kernel) if row["had"] >= hide_below]
    moved, total = _columns(counts, kernel, hide_below), float(counts.weight.sum())
    return {
        "suppressed": problem.suppresses,
        "share": float(counts.probability @ measured.changed),
        "share_features": float(counts.probability @ measured.features_changed),
        "expected_distortion": float(counts.probability @ measured.distortion),
        "groups": _groups(counts, measured, hide_below),
        "columns": [row for row in moved if row["people"] >= LEAST_SHARE * total][:MOST_MOVES],
        "outcome": [row for row in moved if row["column"] == counts.domain.outcome.name],
        "by_group": [
            {key: row[key] for key in ("group", "column", "from", "to", "people", "had", "probability")}
            for row in listed
        ],
    }


def _groups(counts: Counts, measured: Achieved, hide_below: float) -> list[Json]:
    groups = counts.groups
    weight = counts.group_weight
    parts = {
        "changed": measured.changed,
        "features_changed": measured.features_changed,
        "expected_distortion": measured.distortion,
    }
    means = {name: sums(groups.of_source, counts.given_group * values) for name, values in parts.items()}
    return [
        {
            "group": counts.domain.d.labels(int(cell)),
            "weight": float(weight[i]),
            **{name: float(mean[i]) for name, mean in means.items()},
        }
        for i, cell in enumerate(groups.cells)
        if weight[i] >= hide_below
    ]


def _columns(counts: Counts, kernel: Kernel, hide_below: float) -> list[Json]:
    """Return the changes of each column among all people; from a level that few have, none."""
    total = float(counts.weight.sum())
    found: dict[tuple[Any, ...], Json] = {}
    for row in rows.changes(counts, kernel):
        key = (row["column"], row["from"], row["to"])
        own = found.setdefault(key, {"column": key[0], "from": key[1], "to": key[2], "people": 0.0, "had": 0.0})
        own["people"] += row["people"]
        own["had"] += row["had"]
    kept = [row for row in found.values() if row["had"] >= hide_below]
    names = ("column", "from", "to", "people")
    return [{name: row[name] for name in names} | {"share": row["people"] / total} for row in kept]


def worst_off(counts: Counts, kernel: Kernel, measured: Achieved, hide_below: float) -> Json:
    """Return the cells (d, x, y) with the largest expected distortion, and what they most likely become."""
    shown = np.flatnonzero((counts.weight >= hide_below) & (measured.changed > 0))
    order = np.lexsort((-measured.changed[shown], -measured.distortion[shown]))[:WORST]
    return {
        "rows": [_cell(counts, kernel, measured, int(row)) for row in shown[order]],
        "cells_changed": int((measured.changed > 0).sum()),
        "cells_hidden": int(((counts.weight < hide_below) & (measured.changed > 0)).sum()),
    }


def _cell(counts: Counts, kernel: Kernel, measured: Achieved, row: int) -> Json:
    domain = counts.domain
    own = int(domain.xy(counts.x[row], counts.y[row]))
    entries = slice(kernel.starts[row], kernel.starts[row + 1])
    targets, probability = kernel.targets[entries], kernel.probability[entries]
    other = np.where(targets == own, -1.0, probability)
    x, y = divmod(int(targets[int(np.argmax(other))]), domain.y.size)
    return {
        "cell": {**domain.d.labels(int(counts.d[row])), **domain.x.labels(int(counts.x[row])),
                 **domain.y.labels(int(counts.y[row]))},
        "weight": float(counts.weight[row]),
        "changed": float(measured.changed[row]),
        "expected_distortion": float(measured.distortion[row]),
        "likeliest_change": {**domain.x.labels(x), **domain.y.labels(y)},
        "likeliest_probability": float(other.max()),
    }  # fmt: skip
