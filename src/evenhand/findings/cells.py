"""The cells of the features, one row for each: who is in it, how many people of each group, and their rates.

A cell has one number wherever it is named: a learned cell that of its leaf, any other its place among those that occur.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.tree import Tree
from evenhand.findings.naming import group_names
from evenhand.kernel import Kernel
from evenhand.spec import Problem
from evenhand.spec.agreement import favourable_code

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class CellTable:
    """The cells that somebody is in.

    Attributes
    ----------
    numbers : array
        What each is called.
    rules : list of str
        Who is in each, in words.
    groups : list of str
        The groups, in words.
    outcome : str
        The outcome whose rates are told: the favourable, or else the last.
    people : array
        How many people of each group, one row per cell.
    before, after : array
        The rate of the outcome, one row per cell and one column per group; NaN where a group has nobody.
    """

    numbers: Cells
    rules: list[str]
    groups: list[str]
    outcome: str
    people: Cells
    before: Numbers
    after: Numbers

    @property
    def frame(self) -> pd.DataFrame:
        """The same as a frame, with three columns for each group."""
        columns: dict[str, Any] = {
            "cell": self.numbers,
            "rule": self.rules,
            "people": self.people.sum(axis=1),
        }
        for place, group in enumerate(self.groups):
            columns[f"people ({group})"] = self.people[:, place]
            columns[f"{self.outcome} before ({group})"] = self.before[:, place]
            columns[f"{self.outcome} after ({group})"] = self.after[:, place]
        return tables.frame(columns)


def cell_table(problem: Problem, counts: Counts, kernel: Kernel) -> CellTable:
    """Return the cells of the features that somebody is in, in the order of their numbers."""
    domain, shape = counts.domain, (len(counts.features.cells), len(counts.groups.cells))
    key = counts.features.of_source * shape[1] + counts.groups.of_source
    shown = told_outcome(problem, counts)
    _, to_y = domain.split_xy(kernel.targets)
    after = sums(kernel.rows, kernel.probability * (to_y == shown), len(counts))

    def by_group(values: Numbers) -> Numbers:
        return sums(key, values, shape[0] * shape[1]).reshape(shape)

    weight = by_group(counts.weight)
    with np.errstate(invalid="ignore"):
        rates = [by_group(counts.weight * of) / weight for of in ((counts.y == shown).astype(float), after)]
    return CellTable(
        numbers=cell_numbers(counts),
        rules=cell_rules(counts),
        groups=group_names(counts),
        outcome=f"{problem.outcome}={domain.outcome.levels[shown]}",
        people=by_group(counts.unweighted.weight).astype(np.int64),
        before=rates[0],
        after=rates[1],
    )


def told_outcome(problem: Problem, counts: Counts) -> int:
    """Return the outcome whose rate is told where there is room for one: the favourable, or else the last."""
    good = favourable_code(problem, counts.domain)
    return counts.domain.shown_outcomes[-1] if good is None else good


def cell_numbers(counts: Counts) -> Cells:
    """Return the number of each cell that somebody is in."""
    found = _leaves(counts)
    return np.arange(1, len(counts.features.cells) + 1) if found is None else found[1] + 1


def cell_rules(counts: Counts) -> list[str]:
    """Say who is in each cell: the rule of a leaf alone, where cells are learned, for it tells of segments too."""
    found = _leaves(counts)
    if found is None:
        return [counts.domain.x.words(int(cell)) for cell in counts.features.cells]
    tree, leaves = found
    return [tree.rules[leaf] for leaf in leaves]


def who_is_where(counts: Counts) -> pd.DataFrame:
    """Return the number, the rule and the people of each cell, where no mapping is needed."""
    people = sums(counts.features.of_source, counts.unweighted.weight, len(counts.features.cells))
    return tables.frame({"cell": cell_numbers(counts), "rule": cell_rules(counts), "people": people.astype(np.int64)})


def _leaves(counts: Counts) -> tuple[Tree, Cells] | None:
    """Return the tree of learned cells and the leaf of each cell; None where none are learned."""
    axis = counts.domain.x
    for variable, leaves in zip(axis.variables, axis.unravel(counts.features.cells), strict=True):
        if variable.tree is not None:
            return variable.tree, leaves
    return None
