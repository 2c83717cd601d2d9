"""People in cells that the fitted table did not have: they keep x, and draw ŷ from a row of their own kind.

A typical row is the mean of the fitted rows of a person's group and outcome, Pr(ŷ | d, y), mixed with staying until
the person's own budgets hold: the group's rates then move as those of the fitted people do. Where D is suppressed ŷ
may depend on x̂ alone: it is drawn from p(ŷ|x), or from p(ŷ) where nobody had x. Knows the statement, counts and
kernels, not tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers, positions, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain, among
from evenhand.kernel.stochastic import Kernel, gather, project
from evenhand.spec import Charge, Forbidden, Problem
from evenhand.spec.by import By, Field, Fields, each, fields_of, holds_at, numbers_at, smallest_at

Policy = Literal["typical", "keep"]
"""What becomes of people whose cell nobody had."""

LARGEST_TABLE = 1 << 20
"""Of more combinations of what budgets and forbidden records depend on, everybody is held to the smallest limit there
is, and nobody is given an outcome that is forbidden to anybody of their group."""


@dataclass(frozen=True, eq=False)
class Strangers:
    """Rows over the outcomes alone, for people whose cell the fitted table did not have; they keep x.

    Attributes
    ----------
    by : tuple of Axis
        What chooses a person's row: axes, or parts of them.
    keys : array
        Ascending numbers over these axes.
    rows : array
        The kernel's row of each.
    kernel : Kernel
        Rows whose targets are outcomes.
    others : int or None
        The row of people with other keys; None where they stay as they are.
    """

    by: tuple[Axis, ...]
    keys: Cells
    rows: Cells
    kernel: Kernel
    others: int | None = None

    def row(self, key: Cells) -> Cells:
        """Return the row of each key, -1 where there is none."""
        found, place = positions(self.keys, key)
        return np.where(found, self.rows[place], -1 if self.others is None else self.others)


class Policies(NamedTuple):
    """What each policy does with people whose cell nobody had; None keeps them as they are."""

    typical: Strangers | None = None
    keep: Strangers | None = None


KEPT = Policies()
"""Everybody whose cell nobody had stays as they are."""


def strangers(problem: Problem, counts: Counts, kernel: Kernel, conditional: Numbers | None) -> Policies:
    """Return what each policy does; ``conditional`` is p(ŷ|x̂) at every observed x where D is suppressed."""
    if conditional is None:
        return Policies(typical=_typical(problem, counts, kernel))
    _, to_y = counts.domain.split_xy(kernel.targets)
    everybody = sums(to_y, counts.probability[kernel.rows] * kernel.probability, counts.domain.y.size)
    rows, cells = np.arange(len(conditional)), counts.features.cells
    by = (counts.domain.x,)
    return Policies(
        typical=Strangers(by, cells, rows, _over_outcomes(np.vstack([conditional, everybody])), others=len(rows)),
        keep=Strangers(by, cells, rows, _over_outcomes(conditional)),
    )


def _over_outcomes(shares: Numbers) -> Kernel:
    """Return a kernel from a table of shares: one row per kind of people, one column per outcome."""
    row, outcome = np.nonzero(shares > 0)
    return gather(row, outcome, shares[row, outcome], len(shares))


def mean_rows(counts: Counts, kernel: Kernel, axes: str) -> tuple[Numbers, Numbers]:
    """Return the mean row over the outcomes of people on some axes, such as Pr(ŷ | d, y), and their probability.

    One row per group (one for everybody where the groups are not read), one column per outcome that people had.
    """
    domain, kinds = counts.domain, counts.over(axes)
    mean = project(kernel, counts, axes, "y")
    cells = domain.split(axes, kinds.cells)
    group = positions(counts.groups.cells, cells["d"])[1] if "d" in axes else np.zeros(len(kinds.cells), dtype=np.int64)
    shape = (int(group.max()) + 1, domain.y.size)
    shares, there = np.zeros((*shape, domain.y.size)), np.zeros(shape)
    there[group, cells["y"]] = kinds.probability
    shares[group[mean.rows], cells["y"][mean.rows], mean.targets] = mean.probability
    return shares, there


@dataclass(frozen=True, eq=False)
class _Kinds:
    """Kinds of people, by what their budgets and costs depend on: a cell of some features, and an outcome."""

    features: Axis | None
    cell: Cells
    y: Cells


def _typical(problem: Problem, counts: Counts, kernel: Kernel) -> Strangers:
    """Return the typical rows of every group and outcome that somebody had; those of equal people are one."""
    domain, known = counts.domain, among(problem.reads, "dy")
    kinds = _kinds(problem, counts)
    shares, there = mean_rows(counts, kernel, known)
    cost, stays = _costs(problem, domain, kinds), np.eye(domain.y.size)[kinds.y]
    # Over groups, kinds and outcomes: what is forbidden to a person is not done.
    allowed = np.isfinite(cost) & ~_forbidden(problem, counts, kinds)
    rows = np.where(allowed, shares[:, kinds.y], 0.0)
    rows += (1 - rows.sum(axis=2, keepdims=True)) * stays
    mixed = np.ones(rows.shape[:2])
    for charge in problem.charges:
        spent = (rows * charge.of(np.where(np.isfinite(cost), cost, 0.0))).sum(axis=2)
        limit = _limits(charge, counts, kinds, known)
        mixed = np.minimum(mixed, np.divide(limit, spent, out=np.ones(spent.shape), where=spent > limit))
    rows = mixed[:, :, None] * rows + (1 - mixed[:, :, None]) * stays
    group, kind = np.nonzero(there[:, kinds.y] > 0)
    groups = among(known, "d")
    key, by = counts.over(groups).cells[group], domain.axes(groups)
    if kinds.features is not None:
        by, key = (*by, kinds.features), key * kinds.features.size + kinds.cell[kind]
    by, key = (*by, domain.y), key * domain.y.size + kinds.y[kind]
    distinct, row = np.unique(rows[group, kind], axis=0, return_inverse=True)
    order = np.argsort(key)
    return Strangers(by, key[order], row.ravel()[order], _over_outcomes(distinct))


def _kinds(problem: Problem, counts: Counts) -> _Kinds:
    """Return the kinds of people whose costs or limits differ."""
    domain = counts.domain
    if problem.distortion.table is not None:
        # Of a user's own costs it is known what those of the fitted records are.
        return _Kinds(domain.x, *domain.split_xy(counts.records.cells))
    limits = [charge.limit for charge in problem.charges]
    named = {column for limit in limits if isinstance(limit, By) for column in limit.columns}
    named |= {column for rule in _of_outcomes(problem) for column in rule.where}
    part = Axis(tuple(variable for variable in domain.x.variables if variable.name in named))
    size = part.size if part.size * domain.y.size * len(counts.groups.cells) <= LARGEST_TABLE else 1
    cell, y = np.divmod(np.arange(size * domain.y.size), domain.y.size)
    return _Kinds(part if part.variables and size == part.size else None, cell, y)


def _costs(problem: Problem, domain: Domain, kinds: _Kinds) -> Numbers:
    """Return what each outcome costs people of each kind who keep their features; infinite where it is forbidden."""
    if problem.distortion.table is None:
        return problem.distortion.costs(domain.outcome)[kinds.y]
    asked = np.meshgrid(np.arange(len(kinds.y)), np.arange(domain.y.size), indexing="ij")
    kind, to_y = (each.ravel() for each in asked)
    cost = problem.distortion.between(domain, kinds.cell[kind], kinds.y[kind], kinds.cell[kind], to_y)
    return cost.reshape(-1, domain.y.size)


def _of_outcomes(problem: Problem) -> list[Forbidden]:
    """Return the kinds of forbidden records that a change of the outcome alone can make."""
    return [rule for rule in problem.forbidden_records if problem.outcome in rule.where]


def _forbidden(problem: Problem, counts: Counts, kinds: _Kinds) -> NDArray[np.bool_]:
    """Return which outcomes would make forbidden records of people who keep x: by group, kind and outcome."""
    domain, groups = counts.domain, among(problem.reads, "d")
    known_groups = counts.over(groups).cells
    n_groups = len(known_groups)
    # A column that is not known of a kind, or of people whose groups are not told, may have any of its levels.
    known: list[tuple[Fields, int]] = [
        (fields_of(domain.d, known_groups) if groups else {}, n_groups),
        ({} if kinds.features is None else fields_of(kinds.features, kinds.cell), len(kinds.y)),
        (fields_of(domain.y, np.arange(domain.y.size)), domain.y.size),
    ]
    found = np.zeros((n_groups, len(kinds.y), domain.y.size), dtype=bool)
    for rule in _of_outcomes(problem):
        group, features, outcome = (
            holds_at("a forbidden record", {name: its for name, its in rule.where.items() if name in fields}, fields, n)
            for fields, n in known
        )
        becomes = outcome[None, :] & ~outcome[kinds.y][:, None]
        found |= group[:, None, None] & features[None, :, None] & becomes[None]
    return found


def _limits(charge: Charge, counts: Counts, kinds: _Kinds, known: str) -> Numbers:
    """Return the limit of a charge by group and kind; one row for all groups where they do not differ."""
    domain, groups, size = counts.domain, counts.groups.cells, len(kinds.y)
    named = charge.limit.columns if isinstance(charge.limit, By) else set()
    if kinds.features is None and named & set(domain.x.names):
        return np.full((1, size), min(each(charge.limit)))
    what, fields = f"the limit of {charge.words}", fields_of(domain.y, kinds.y)
    if kinds.features is not None:
        fields |= fields_of(kinds.features, kinds.cell)
    if "d" not in known or charge.averaged:
        # Where the group is not read, it is not known whose limit it is.
        return smallest_at(what, charge.limit, domain.d, fields, size)[None]
    everybody = {name: Field(own, np.tile(codes, len(groups))) for name, (own, codes) in fields.items()}
    everybody |= fields_of(domain.d, np.repeat(groups, size))
    return numbers_at(what, charge.limit, everybody, len(groups) * size).reshape(-1, size)
