"""Scores by group: means, how far apart these are, and what was found as a frame.

Knows mappings and arrays of scores, one row per person and one column per class; nothing of the models that gave them.
"""

from __future__ import annotations

from collections.abc import Mapping as Columns
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Value, in_words
from evenhand.data.levels import UNSEEN
from evenhand.errors import warn
from evenhand.mapping import Mapping
from evenhand.spec.comparison import AGAINST_TARGET, Comparisons
from evenhand.tables import Frame, arrays, column, frame, read, unused
from evenhand.tables.columns import codes_of


def fitted_groups(mapping: Mapping, groups: Frame) -> Cells:
    """Return the place of each row's group among those that were fitted, UNSEEN where it is none of them."""
    table, axis = read(groups), mapping.counts.domain.d
    codes = [codes_of(variable.allowing_missing(True), column(table, variable.name)) for variable in axis.variables]
    known = np.all([code != UNSEEN for code in codes], axis=0)
    cells, there = axis.ravel(codes), mapping.counts.groups.cells
    place = np.minimum(np.searchsorted(there, cells), len(there) - 1)
    return np.where(known & (there[place] == cells), place, UNSEEN)


def warn_of_new_groups(group: Cells, groups: Frame) -> None:
    """Warn of people whose group was not fitted."""
    new = np.flatnonzero(group == UNSEEN)
    if len(new):
        words = in_words(row_values(groups, int(new[0])))
        warn(
            f"{len(new)} of {len(group)} people are of no group that was fitted, first {words} in row {new[0] + 1}: "
            f"their scores are the estimator's own, and no bound covers them",
        )


def row_values(table: Frame, row: int) -> dict[str, Value]:
    return {name: arrays.numbers(column(read(table), name).to_native())[row] for name in arrays.names(table)}


def parity_frame(mapping: Mapping, classes: Any, found: Columns[str, Numbers], apart: Numbers, bound: Numbers) -> Any:
    """Return what is known of each group, for the last class, or for each where there are more than two.

    ``found`` has one array over groups and classes for each column; ``apart`` and ``bound`` have one number per group.
    """
    counts = mapping.counts
    shown, number = np.array(counts.domain.shown_outcomes), len(counts.groups.cells)
    group, place = np.repeat(np.arange(number), len(shown)), np.tile(shown, number)
    labels = [counts.domain.d.labels(int(counts.groups.cells[g])) for g in group]
    who = {name: [label[name] for label in labels] for name in counts.domain.d.names}
    who[mapping.problem.outcome] = classes[place]
    columns = {
        "people": counts.group_weight[group],
        **{name: values[group, place] for name, values in found.items()},
        "apart": apart[group],
        "bound": bound[group],
    }
    return frame(who | {unused(name, tuple(who)): values for name, values in columns.items()})


def worst_by_group(compared: Comparisons, values: Numbers, worse: np.ufunc, start: float) -> Numbers:
    """Return the largest, or the smallest, value of the comparisons that each group takes part in."""
    place = compared.counts.groups.of_source
    found = np.full(len(compared.counts.groups.cells), start)
    for side in (compared.population, compared.against):
        for population, value in zip(side.tolist(), values.tolist(), strict=True):
            if population != AGAINST_TARGET:
                here = np.unique(place[compared.populations[population].member])
                found[here] = worse(found[here], value)
    return found
