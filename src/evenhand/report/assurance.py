"""What holds and what it costs, for a summary: bounds, scores of models, prices.

Comparisons, groups and cells of few people are left out, and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.findings.audit import Audit
from evenhand.findings.prices import Prices, holder_words
from evenhand.kernel import Kernel, unchanged
from evenhand.kernel.achieved import Achieved, BudgetAchieved, ParityAchieved, parity_achieved
from evenhand.report.discretion import Discretion
from evenhand.spec import AGAINST_TARGET, Problem

AT_BOUND = 1e-6
"""A quantity this close to its bound is said to be at it."""

LISTED = 12
"""How many comparisons of a parity constraint, and how many prices, are listed."""

NOTHING = 1e-9
"""A smaller price is not listed."""

FREE = "No bound costs anything here: relaxing one would gain nothing."

Json = dict[str, Any]


@dataclass(frozen=True, eq=False)
class Mapped:
    """A mapping as its report sees it: what was asked, of which table, by which kernel, and what that achieves."""

    problem: Problem
    counts: Counts
    kernel: Kernel
    achieved: Achieved


def bounds(m: Mapped, shown: Discretion) -> Json:
    """Return every constraint with how many bounds it has, how many are reached, and the tightest that are shown."""
    return {
        "parity": [_parity(m, part, shown) for part in m.achieved.parity],
        "budgets": [_budget(part) for part in m.achieved.budgets],
    }


def _parity(m: Mapped, part: ParityAchieved, shown: Discretion) -> Json:
    kept = np.flatnonzero(shown.comparisons(part, m.kernel))
    order = kept[np.argsort(-part.excess[kept], kind="stable")][:LISTED]
    before = parity_achieved(part.compared, m.counts, unchanged(m.counts))
    finite = part.compared.bound
    return {
        "constraint": type(part.parity).__name__,
        "words": part.parity.words,
        "comparisons": len(part.value),
        "comparisons_hidden": len(part.value) - len(kept),
        "at_bound": int((part.excess >= -AT_BOUND).sum()),
        "smallest_bound": float(finite.min()) if len(finite) else None,
        "largest_bound": float(finite.max()) if len(finite) else None,
        "furthest_before": _furthest(m.counts, before, kept),
        "furthest_after": _furthest(m.counts, part, kept),
        "rows": [
            {
                "where": part.compared.words(int(at), m.counts.domain.y),
                "bound": float(part.compared.bound[at]),
                "achieved": float(part.value[at]),
            }
            for at in order
        ],
    }


def _furthest(counts: Counts, part: ParityAchieved, kept: Cells) -> Json | None:
    """Return the comparison that is furthest beyond its bound, or nearest to it, of those that are shown."""
    if not len(kept):
        return None
    at, compared = int(kept[np.argmax(part.excess[kept])]), part.compared
    against = "the target"
    if compared.against[at] != AGAINST_TARGET:
        against = compared.populations[int(compared.against[at])].words
    return {
        "apart": float(part.value[at]),
        "outcome": counts.domain.y.words(int(compared.outcome[at])),
        "of": compared.populations[int(compared.population[at])].words,
        "rate": float(part.rate[at]),
        "against": against,
        "other": float(part.other[at]),
    }


def headlines(constraints: Sequence[Json], hide_below: float) -> Iterator[str]:
    """Say of each parity constraint how far apart rates are at worst, before and after, among those shown."""
    for part in constraints:
        left, total = part["comparisons_hidden"], part["comparisons"]
        few = f"a group of fewer than {hide_below:g} people"
        if part["furthest_after"] is not None:
            bound = " to ".join(dict.fromkeys(f"{part[end]:g}" for end in ("smallest_bound", "largest_bound")))
            before, after = (_apart(part[f"furthest_{when}"]) for when in ("before", "after"))
            hidden = f"; {left} of {total} comparisons have {few} in them and are left out: the bounds hold there too"
            yield f"furthest apart before: {before}; after: {after}; bound {bound}{hidden * (left > 0)}"
        elif left:
            yield f"all {left} comparisons have {few} in them and are left out: the bounds hold there too"


def _apart(found: Json) -> str:
    return (
        f"{found['apart']:.3f} ({found['outcome']}: {found['of']} {found['rate']:.3f} against {found['against']} "
        f"{found['other']:.3f})"
    )


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


def scores(problem: Problem, audit: Audit, shown: Discretion) -> list[Json]:
    """Return the mean scores that eqs. (8) and (9) predict of models that see the protected columns or do not."""
    return _by_group(problem, audit.scores, ("seeing_protected", "not_seeing_protected"), shown)


def model_rates(problem: Problem, table: Any, words: str, shown: Discretion, *, sees_protected: bool) -> Json:
    """Return the rates of a model that was fitted on one release."""
    names = ("released", "predicted", "score", "decision")
    return {"model": words, "sees_protected": sees_protected, "rows": _by_group(problem, table, names, shown)}


def _by_group(problem: Problem, table: Any, names: Sequence[str], shown: Discretion) -> list[Json]:
    """Return a table of groups and outcomes as rows, those of hidden groups left out."""
    cells = shown.counts.groups.cells[shown.groups]
    kept = {tuple(shown.counts.domain.d.labels(int(cell)).values()) for cell in cells}
    return [
        {
            "group": {column: row[column] for column in problem.protected},
            "outcome": row[problem.outcome],
            **{name: row[name] for name in names},
        }
        for row in table.to_dict("records")
        if tuple(row[column] for column in shown.counts.domain.d.names) in kept
    ]


def prices(m: Mapped, found: Prices, shown: Discretion) -> Json:
    """Return what relaxing each bound would gain: totals, by outcome, pair and group, and by cell."""
    wide = found.frame[(found.frame["level"] != "cell") & ~(found.frame["price"] <= NOTHING)]
    hidden_names = set(_hidden_places(m, shown))
    listed = [row for row in wide.to_dict("records") if (row["level"], row["where"]) not in hidden_names]
    cells: list[Json] = []
    hidden = 0
    for charge, price in zip(m.problem.charges, found.cells, strict=True):
        weight = m.counts.weight
        if charge.per == "xy":
            weight = sums(m.counts.records.of_source, m.counts.weight, len(m.counts.records.cells))
        costly, left = _cell_prices(m.counts, charge.words, charge.per, price, weight, shown.hide_below)
        cells, hidden = cells + costly, hidden + left
    cells.sort(key=lambda row: -row["price"])
    return {
        "rows": listed,
        "rows_hidden": len(wide) - len(listed),
        "cells": cells[:LISTED],
        "cells_hidden": hidden,
        "words": "" if len(wide) or cells or hidden else FREE,
    }


def _hidden_places(m: Mapped, shown: Discretion) -> Iterator[tuple[str, str]]:
    """Yield the level and the place of prices that belong to groups which are not shown."""
    for part in m.achieved.parity:
        for at in np.flatnonzero(~shown.comparisons(part, m.kernel)):
            yield "pair", part.compared.words(int(at), m.counts.domain.y)
    for cell in m.counts.groups.cells[~shown.groups]:
        yield "group", m.counts.domain.d.words(int(cell))


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
