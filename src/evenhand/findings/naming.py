"""How cells, groups and parts of a table are named, and which sources of a table a name means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Flags
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, in_words
from evenhand.errors import SpecError, did_you_mean
from evenhand.render.numbers import JOINT
from evenhand.spec import Charge

EVERYBODY = "everybody"

Where = Mapping[str, Any]
"""Part of a table: levels of some of its columns."""


def long_name(where: Where) -> str:
    """Name part of a table by column and level.

    Examples
    --------
    >>> long_name({"sex": "Male", "age": 3}), short_name({"sex": "Male", "age": 3}), short_name({})
    ('sex=Male, age=3', 'Male · 3', 'everybody')
    """
    return in_words(where) or EVERYBODY


def short_name(where: Where) -> str:
    """Name part of a table by its levels alone."""
    return JOINT.join(map(str, where.values())) or EVERYBODY


def shown_levels(domain: Domain, where: Where) -> dict[str, str]:
    """Return the levels of part of a table as pictures show them."""
    return {name: domain.variable(name).shown[domain.variable(name).code(level)] for name, level in where.items()}


def group_levels(counts: Counts) -> list[dict[str, Any]]:
    return [counts.domain.d.labels(int(cell)) for cell in counts.groups.cells]


def group_names(counts: Counts) -> list[str]:
    return [in_words(levels) for levels in group_levels(counts)]


def cell_levels(counts: Counts, source: int) -> dict[str, Any]:
    domain = counts.domain
    return {
        **domain.d.labels(int(counts.d[source])),
        **domain.x.labels(int(counts.x[source])),
        **domain.y.labels(int(counts.y[source])),
    }


def target_levels(counts: Counts, target: int) -> dict[str, Any]:
    """Return the levels of features and outcome in a cell (x, y) that people are released as."""
    x, y = divmod(target, counts.domain.y.size)
    return {**counts.domain.x.labels(x), **counts.domain.y.labels(y)}


def holder_names(counts: Counts, charge: Charge, holders: Cells) -> list[str]:
    """Name those who have budgets of their own: sources, or with ``per="xy"`` records (x, y).

    There are many of them: learned cells are named by their numbers, whose rules are listed once elsewhere.
    """
    domain = counts.domain
    parts = [(domain.d, counts.d[holders]), (domain.x, counts.x[holders]), (domain.y, counts.y[holders])]
    if charge.averaged:
        parts = list(zip((domain.x, domain.y), domain.split_xy(counts.records.cells[holders]), strict=True))
    named = []
    for axis, cells in parts:
        # Few cells of an axis are many holders': each is named once.
        distinct, place = np.unique(cells, return_inverse=True)
        words = [in_words(axis.shown(int(cell))) for cell in distinct]
        named.append([words[i] for i in place])
    return ["; ".join(words) for words in zip(*named, strict=True)]


def source_codes(counts: Counts) -> dict[str, Cells]:
    """Return the codes of every column in the sources."""
    domain = counts.domain
    axes = ((domain.d, counts.d), (domain.x, counts.x), (domain.y, counts.y))
    return {name: code for axis, at in axes for name, code in zip(axis.names, axis.unravel(at), strict=True)}


def matching(counts: Counts, where: Where) -> Flags:
    """Return which sources have the levels that are named.

    Examples
    --------
    >>> import evenhand as eh
    >>> counts = eh.datasets.load("compas").counts
    >>> float(counts.weight[matching(counts, {"sex": "Female", "is_recid": 1})].sum())
    393.0
    """
    codes, mask = source_codes(counts), np.ones(len(counts), dtype=bool)
    for column, level in where.items():
        if column not in codes:
            raise SpecError(
                f"the mapping has no column {column!r}; it has {list(codes)}.{did_you_mean(column, list(codes))}"
            )
        mask &= codes[column] == counts.domain.variable(column).code(level)
    return mask
