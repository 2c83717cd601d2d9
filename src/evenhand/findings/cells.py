"""The cells of the features, one row for each: who is in it, how many people of each group, and their rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.arrays import Numbers, sums
from evenhand.data.counts import Counts
from evenhand.kernel import Kernel
from evenhand.spec import Problem
from evenhand.spec.agreement import favourable_code

if TYPE_CHECKING:
    import pandas as pd


def cells_of(problem: Problem, counts: Counts, kernel: Kernel) -> pd.DataFrame:
    """Return a row for each cell of the features that somebody is in, by its number."""
    domain, number = counts.domain, len(counts.features.cells)
    groups = counts.groups
    key = counts.features.of_source * len(groups.cells) + groups.of_source
    good = favourable_code(problem, domain)
    shown = domain.shown_outcomes[-1] if good is None else good
    _, to_y = domain.split_xy(kernel.targets)
    after = sums(kernel.rows, kernel.probability * (to_y == shown), len(counts))
    people = counts.unweighted.weight

    def by_group(values: Numbers) -> Numbers:
        return sums(key, values, number * len(groups.cells)).reshape(number, -1)

    weight = by_group(counts.weight)
    with np.errstate(invalid="ignore"):
        rates = [by_group(counts.weight * of) / weight for of in (counts.y == shown, after)]
    columns: dict[str, Any] = {
        "cell": np.arange(1, number + 1),
        "rule": [_rule(counts, int(cell)) for cell in counts.features.cells],
        "people": sums(counts.features.of_source, people, number).astype(np.int64),
    }
    level = domain.outcome.levels[shown]
    for place, group in enumerate(groups.cells):
        words = domain.d.words(int(group))
        columns[f"people ({words})"] = by_group(people)[:, place].astype(np.int64)
        for when, of in zip(("before", "after"), rates, strict=True):
            columns[f"{problem.outcome}={level} {when} ({words})"] = of[:, place]
    return tables.frame(columns)


def _rule(counts: Counts, cell: int) -> str:
    """Say who is in a cell: the rule of a leaf alone, where cells are learned."""
    axis = counts.domain.x
    learned = [v for v in axis.variables if v.tree is not None]
    if not learned:
        return axis.words(cell)
    (variable,), leaf = learned, axis.unravel(np.array([cell]))[-1]
    assert variable.tree is not None
    return variable.tree.rules[int(leaf[0])]
