"""Simpson's paradox: a disparity between two groups that changes sign or nearly vanishes within levels of a feature.

The two groups whose rates of an outcome are furthest apart in the whole table are compared within the levels of each
feature, or within learned cells; and after a fit, in which cells the mapping reverses their order. Knows counts and
kernels; whether a feature justifies a difference is for people to say.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Value, Variable, in_words
from evenhand.errors import Setting, some_of
from evenhand.findings.naming import group_levels
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import outcome_by_source
from evenhand.render.section import Note
from evenhand.spec import Problem

ERROR = 0.05
"""How often a feature may be named by chance, over all features that are examined."""

LEFT = 0.25
"""Within levels a disparity nearly vanishes if less than this share of it is left, beyond its standard error."""

LEAST_GAP = 0.02
"""A pooled difference of fewer than two percentage points is no disparity that could vanish."""

COVERED = 0.5
"""So much of either group must be in levels that have enough people of both."""

LEARNED = "learned cells"
"""What the cells of a tree are called, which no constraint can be given."""

REVERSED_BY = 0.01
"""After a fit the other group must lead by so much for the order to count as reversed."""


@dataclass(frozen=True)
class Paradox:
    """A feature within whose levels a disparity changes sign or nearly vanishes.

    Attributes
    ----------
    feature : str
        The feature, or the learned cells.
    outcome : level
        The outcome whose rates are compared.
    higher, lower : dict
        The two groups, by their rates in the whole table.
    levels : tuple of dict
        For each level with enough people of both groups: ``level``, ``people`` and the rates ``higher`` and ``lower``.
    pooled, within : float
        The difference of rates over these levels together, and its mean within them, weighted by Mantel and Haenszel.
    standard_error : float
        Of the difference within levels.
    reversed : int
        In how many of the levels the lower group has the higher rate.
    given : tuple of str
        The columns that parity can be stated given: the feature, or those that learned cells ask about.
    """

    feature: str
    outcome: Value
    higher: dict[str, Value]
    lower: dict[str, Value]
    levels: tuple[dict[str, object], ...]
    pooled: float
    within: float
    standard_error: float
    reversed: int
    given: tuple[str, ...]

    def note(self, outcome: str) -> Note:
        """Return what is found, with the statement to try; it names the two groups."""
        fields = {
            "higher": in_words(self.higher), "lower": in_words(self.lower), "outcome": f"{outcome}={self.outcome}",
            "feature": self.feature, "pooled": self.pooled, "within": self.within, "error": self.standard_error,
            "reversed": self.reversed, "levels": len(self.levels), "columns": some_of(self.given, most=4),
            "setting": Setting("given", [self.given[0]]),
        }  # fmt: skip
        advice = "simpson.given" if self.feature in self.given else "simpson.given_a_column"
        key = "simpson.reversed" if self.within < 0 else "simpson.vanishes"
        return Note(key, fields | {"advice": Note(advice, fields)}, (self.higher, self.lower))


def paradoxes(problem: Problem, counts: Counts, examined: int = 0) -> list[Paradox]:
    """Find the features within whose levels the largest disparity of an outcome changes sign or nearly vanishes.

    Features that parity is given are left out, learned cells that are made of one, and levels of a score, which is made
    of the outcome itself. Of two outcomes one follows from the other. Levels with fewer than 20 people of either group
    do not count. So many features are ``examined`` in all, where these are not all of them.
    """
    if problem.cells is not None and problem.cells.ordered:
        return []
    given = {name for parity in problem.parity for name in parity.given or ()}
    features = [each for each in counts.domain.x.variables if len(each) > 1 and not given & set(_can_be_given(each))]
    if not features:
        return []
    z, found = -float(ndtri(ERROR / 2 / max(len(features), examined) / len(counts.domain.shown_outcomes))), []
    for y in counts.domain.shown_outcomes:
        pair = _furthest(counts, y)
        if pair is None:
            continue
        for variable in features:
            level = counts.domain.x.cells_of(Axis((variable,)), counts.x)
            table = _Table.of(counts, level, pair, (counts.y == y).astype(float), len(variable))
            kept = np.flatnonzero(table.enough)
            if len(kept) < 2 or np.any(table.people[:, kept].sum(axis=1) < COVERED * table.people.sum(axis=1)):
                continue
            pooled, pooled_error = table.pooled(kept)
            within, error = table.within(kept)
            if pooled < max(LEAST_GAP, z * pooled_error) or within + z * error >= LEFT * pooled:
                continue
            gap = table.rate[0, kept] - table.rate[1, kept]
            levels = group_levels(counts)
            found.append(
                Paradox(
                    feature=variable.name if variable.is_column else LEARNED,
                    outcome=counts.domain.outcome.levels[y],
                    higher=levels[pair[0]],
                    lower=levels[pair[1]],
                    levels=tuple(
                        {
                            "level": variable.levels[k],
                            "people": float(table.people[:, k].sum()),
                            "higher": float(table.rate[0, k]),
                            "lower": float(table.rate[1, k]),
                        }
                        for k in kept
                    ),
                    pooled=pooled,
                    within=within,
                    standard_error=error,
                    reversed=int((gap < 0).sum()),
                    given=_can_be_given(variable),
                )
            )
    return found


def _can_be_given(variable: Variable) -> tuple[str, ...]:
    """Return the column of a feature; of learned cells those that their tree asks about, words before numbers."""
    if variable.tree is None:
        return (variable.name,)
    asked = dict.fromkeys(variable.tree.columns[split.column] for split in variable.tree.splits)
    return tuple(column.name for column in sorted(asked, key=lambda column: column.kind.numeric))


def paradox_notes(problem: Problem, counts: Counts) -> Iterator[Note]:
    """Return for each feature within which a disparity changes sign or nearly vanishes what to try."""
    return (each.note(problem.outcome) for each in paradoxes(problem, counts))


@dataclass(frozen=True, eq=False)
class _Table:
    """Two groups by level: people, whatever their weight, and rates; one row per group."""

    people: Numbers
    rate: Numbers

    @classmethod
    def of(cls, counts: Counts, level: Cells, pair: tuple[int, int], rate: Numbers, size: int) -> _Table:
        """Count the two groups; rates are of weights, and how sure they are goes by people."""
        people, rates = [], []
        for group in pair:
            own = counts.groups.of_source == group
            weight = sums(level[own], counts.weight[own], size)
            people.append(sums(level[own], counts.unweighted.weight[own], size))
            rates.append(sums(level[own], counts.weight[own] * rate[own], size) / np.where(weight > 0, weight, 1.0))
        return cls(np.array(people), np.array(rates))

    @property
    def enough(self) -> Flags:
        """Which levels have enough people of both groups."""
        return np.asarray(np.all(self.people >= FEW_PEOPLE, axis=0))

    def pooled(self, kept: Cells) -> tuple[float, float]:
        """Return the difference of rates over some levels together, and its standard error."""
        people = self.people[:, kept].sum(axis=1)
        rate = (self.people[:, kept] * self.rate[:, kept]).sum(axis=1) / people
        return float(rate[0] - rate[1]), float(np.sqrt((rate * (1 - rate) / people).sum()))

    def within(self, kept: Cells) -> tuple[float, float]:
        """Return the mean difference within some levels, by the weights of Mantel and Haenszel, and its error."""
        people, rate = self.people[:, kept], self.rate[:, kept]
        weight = people.prod(axis=0) / people.sum(axis=0)
        weight = weight / weight.sum()
        # Of a rate of 0 or 1 the error is not 0: one person more of either kind (Agresti and Coull).
        safe = (people * rate + 1) / (people + 2)
        error = np.sqrt((weight**2 * (safe * (1 - safe) / people).sum(axis=0)).sum())
        return float(weight @ (rate[0] - rate[1])), float(error)


def _furthest(counts: Counts, y: int) -> tuple[int, int] | None:
    """Return the groups with the highest and the lowest rate, of those with enough people and a known group."""
    rates = counts.outcome_by_group[:, y]
    there = np.flatnonzero((counts.group_people >= FEW_PEOPLE) & ~counts.domain.d.has_missing(counts.groups.cells))
    if len(there) < 2:
        return None
    return int(there[np.argmax(rates[there])]), int(there[np.argmin(rates[there])])


@dataclass(frozen=True, eq=False)
class Reversals:
    """Cells of the features in which a mapping reverses the order of the two groups that were furthest apart.

    ``cells`` are all cells with enough people of both groups; ``before`` and ``after`` have one row per group.
    """

    counts: Counts
    outcome: int
    pair: tuple[int, int]
    cells: Cells
    people: Numbers
    before: Numbers
    after: Numbers

    @property
    def reversed(self) -> Cells:
        """The places of the cells in which the group that led, or was level, is behind after."""
        gap, then = (rate[0] - rate[1] for rate in (self.before, self.after))
        return np.flatnonzero((gap >= 0) & (then < -REVERSED_BY))

    def notes(self) -> Iterator[Note]:
        """Return in how many cells the order is reversed, and how many people are in them."""
        at, outcome, levels = self.reversed, self.counts.domain.outcome, group_levels(self.counts)
        if len(at):
            higher, lower = (in_words(levels[group]) for group in self.pair)
            fields = {
                "reversed": len(at), "cells": len(self.cells), "people": float(self.people[:, at].sum()),
                "higher": higher, "lower": lower, "outcome": f"{outcome.name}={outcome.levels[self.outcome]}",
                "gap": float((self.after[1, at] - self.after[0, at]).max()),
            }  # fmt: skip
            yield Note("simpson.reversals", fields, tuple(levels[group] for group in self.pair))


def reversals(counts: Counts, kernel: Kernel) -> list[Reversals]:
    """Find the cells (x) in which a mapping reverses the order of groups: for each outcome that is worth showing."""
    found, after = [], outcome_by_source(counts, kernel)
    cells, place = counts.features.cells, counts.features.of_source
    for y in counts.domain.shown_outcomes:
        pair = _furthest(counts, y)
        if pair is None:
            continue
        old, new = (
            _Table.of(counts, place, pair, rate, len(cells)) for rate in ((counts.y == y).astype(float), after[:, y])
        )
        kept = np.flatnonzero(old.enough)
        found.append(Reversals(counts, y, pair, cells[kept], old.people[:, kept], old.rate[:, kept], new.rate[:, kept]))
    return found
