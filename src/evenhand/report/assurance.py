"""What holds and what it costs, for a summary: bounds, scores of models, prices, statements about fresh people."""

from __future__ import annotations

from typing import Any

import numpy as np

from evenhand.achieved import Achieved, BudgetAchieved, ParityAchieved
from evenhand.audit import Audit
from evenhand.counts import Counts, Numbers, sums
from evenhand.prices import Prices, holder_words
from evenhand.report.words import parity_words
from evenhand.spec import Problem
from evenhand.theory import Theory

AT_BOUND = 1e-6
"""A quantity this close to its bound is said to be at it."""

LISTED = 12
"""How many comparisons of a parity constraint, and how many prices, are listed."""

NOTHING = 1e-9
"""A smaller price is not listed."""

Json = dict[str, Any]


def bounds(counts: Counts, measured: Achieved) -> Json:
    """Return every constraint with how many bounds it has, how many are reached, and the tightest."""
    return {
        "parity": [_parity(counts, part) for part in measured.parity],
        "budgets": [_budget(part) for part in measured.budgets],
    }


def _parity(counts: Counts, part: ParityAchieved) -> Json:
    order = np.argsort(-part.excess, kind="stable")[:LISTED]
    return {
        "constraint": type(part.parity).__name__,
        "words": parity_words(part.parity),
        "comparisons": len(part.value),
        "at_bound": int((part.excess >= -AT_BOUND).sum()),
        "rows": [
            {
                "where": part.compared.words(int(at), counts.domain.y),
                "bound": float(part.compared.bound[at]),
                "achieved": float(part.value[at]),
            }
            for at in order
        ],
    }


def _budget(part: BudgetAchieved) -> Json:
    finite = part.limit[np.isfinite(part.limit)]
    return {
        "constraint": part.charge.words,
        "per": part.charge.per,
        "cells": len(part.value),
        "at_limit": int((part.value >= part.limit - AT_BOUND).sum()),
        "largest": float(part.value.max()),
        "smallest_limit": float(finite.min()) if len(finite) else None,
        "largest_limit": float(finite.max()) if len(finite) else None,
    }


def scores(problem: Problem, audit: Audit) -> list[Json]:
    """Return the mean scores that eqs. (8) and (9) predict of models that see the protected columns or do not."""
    return [
        {
            "group": {column: row[column] for column in problem.protected},
            "outcome": row[problem.outcome],
            "seeing_protected": row["seeing_protected"],
            "not_seeing_protected": row["not_seeing_protected"],
        }
        for row in audit.scores.to_dict("records")
    ]


def model_rates(problem: Problem, table: Any, words: str, *, sees_protected: bool) -> Json:
    """Return the rates of a model that was fitted on one release."""
    names = ("released", "predicted", "score", "decision")
    return {
        "model": words,
        "sees_protected": sees_protected,
        "rows": [
            {
                "group": {column: row[column] for column in problem.protected},
                "outcome": row[problem.outcome],
                **{name: row[name] for name in names},
            }
            for row in table.to_dict("records")
        ],
    }


def prices(problem: Problem, counts: Counts, found: Prices, hide_below: float) -> Json:
    """Return what relaxing each bound would gain: totals, by outcome, pair and group, and by cell."""
    wide = found.frame[(found.frame["level"] != "cell") & ~(found.frame["price"] <= NOTHING)]
    cells: list[Json] = []
    hidden = 0
    for charge, price in zip(problem.charges, found.cells, strict=True):
        weight = counts.weight
        if charge.per == "xy":
            weight = sums(counts.records.of_source, counts.weight, len(counts.records.cells))
        listed, left = _cell_prices(counts, charge.words, charge.per, price, weight, hide_below)
        cells, hidden = cells + listed, hidden + left
    cells.sort(key=lambda row: -row["price"])
    return {"rows": wide.to_dict("records"), "cells": cells[:LISTED], "cells_hidden": hidden}


def _cell_prices(
    counts: Counts, words: str, per: str, price: Numbers, weight: Numbers, hide_below: float
) -> tuple[list[Json], int]:
    """Return the cells of one charge whose limit costs something, and how many of them are hidden."""
    costly = np.flatnonzero(np.nan_to_num(price) > NOTHING)
    shown = [int(at) for at in costly if weight[at] >= hide_below]
    rows = [
        {
            "constraint": words,
            "where": holder_words(counts, per, at),
            "weight": float(weight[at]),
            "price": float(price[at]),
        }
        for at in shown
    ]
    return rows, len(costly) - len(shown)


def fresh_people(theory: Theory, confidence: float, seed: int) -> list[Json]:
    """Return what can be said about other people than those of the table, heading by heading."""
    parts: dict[str, Any] = {
        "By resampling": theory.bootstrap(confidence=confidence, seed=seed),
        "One draw of the lottery": theory.draw_spread(seed=seed),
        "Small groups": theory.small_groups(confidence=confidence),
        "At apply time, when the outcome is not known (section 3.4)": theory.applying(),
        "Proved from the table (section 3.5)": theory.robustness(confidence=confidence),
        "Telling the group from the outcome (section 3.3)": theory.advantage(),
    }
    return [{"heading": heading, "words": list(part.words)} for heading, part in parts.items() if part.words]
