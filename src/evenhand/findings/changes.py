"""Who changes, from what to what, how likely and how much: computed once for audit, screen, report and charts.

All of it in expectation over the draws, from counts, kernel and what was achieved.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Value, Variable
from evenhand.data.weighting import Unit
from evenhand.findings.discretion import Discretion
from evenhand.findings.document import Row
from evenhand.findings.naming import (
    Where,
    cell_levels,
    group_levels,
    long_name,
    matching,
    short_name,
    shown_levels,
    source_codes,
    target_levels,
)
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.render.numbers import JOINT
from evenhand.render.section import Note

LEAST_SHARE = 5e-5
"""A change of a smaller share of people would be written as 0.00%, and is not listed."""

LEAST_COLUMN = 0.05
"""A target is shown only if its probabilities sum to more: figure 3."""


@dataclass(frozen=True)
class Move:
    """A change of one column: so many people of a group who have one level are released with another.

    Attributes
    ----------
    group : mapping
        The levels of the protected columns; empty for everybody.
    column : Variable
        The column, with the codes of its levels ``old`` and ``new``.
    people, had : float
        How many are expected to change so, of how many who had the level, by weight. For everybody, of the groups that
        change so.
    heads : float
        How many people had the level, whatever their weight.
    """

    group: Where
    column: Variable
    old: int
    new: int
    people: float
    had: float
    heads: float

    @property
    def levels(self) -> tuple[Value, Value]:
        """From what to what."""
        return self.column.levels[self.old], self.column.levels[self.new]

    @property
    def probability(self) -> float:
        """How likely a person who has the level is to change so."""
        return self.people / self.had


@dataclass(frozen=True, eq=False)
class Changes:
    """Who changes.

    Attributes
    ----------
    people : float
        The weight of the table.
    share, share_features, expected_distortion : float
        Of everybody: the shares who change in some way and in their features, and the mean expected distortion.
    groups : dict of arrays
        The same for each group that occurs: ``changed``, ``features_changed`` and ``expected_distortion``.
    moves : tuple of Move
        By group; the most frequent change of all first.
    weighed : bool
        Whether people count by weights that are not all one.
    """

    people: float
    share: float
    share_features: float
    expected_distortion: float
    groups: dict[str, Numbers]
    moves: tuple[Move, ...]
    weighed: bool = False

    @cached_property
    def together(self) -> tuple[Move, ...]:
        """The moves of everybody, the most frequent first."""
        found: dict[tuple[str, int, int], Move] = {}
        for move in self.moves:
            key = (move.column.name, move.old, move.new)
            so_far = found.get(key, Move({}, move.column, move.old, move.new, 0.0, 0.0, 0.0))
            people, had, heads = so_far.people + move.people, so_far.had + move.had, so_far.heads + move.heads
            found[key] = Move({}, move.column, move.old, move.new, people, had, heads)
        return tuple(found.values())

    def note(self, *, suppressed: bool) -> Note:
        """Return how many change; where D is suppressed the outcome is drawn anew, and what changes are features."""
        fields = {
            "some": self.share * self.people,
            "everybody": Unit.of(weighed=self.weighed).write(self.people),
            "share": self.share,
            "moved": self.share_features * self.people,
            "share_moved": self.share_features,
            "distortion": self.expected_distortion,
        }
        return Note("changes.suppressed" if suppressed else "changes.all", fields)


def changes(counts: Counts, kernel: Kernel, measured: Achieved) -> Changes:
    """Find out who changes."""
    of_source = {
        "changed": measured.changed,
        "features_changed": measured.features_changed,
        "expected_distortion": measured.distortion,
    }
    return Changes(
        people=float(counts.weight.sum()),
        share=float(counts.probability @ measured.changed),
        share_features=float(counts.probability @ measured.features_changed),
        expected_distortion=float(counts.probability @ measured.distortion),
        groups={name: sums(counts.groups.of_source, counts.given("d") * of) for name, of in of_source.items()},
        moves=tuple(_moves(counts, kernel)),
        weighed=counts.weighed,
    )


def _moves(counts: Counts, kernel: Kernel) -> list[Move]:
    mass = counts.weight[kernel.rows] * kernel.probability
    group, n_groups = counts.groups.of_source[kernel.rows], len(counts.groups.cells)
    labels = group_levels(counts)
    codes = source_codes(counts)
    found: list[Move] = []
    total: dict[tuple[str, int, int], float] = {}
    for column, old, new in _columns_moved(counts, kernel):
        shape = (n_groups, len(column), len(column))
        level, size = counts.groups.of_source * len(column) + codes[column.name], n_groups * len(column)
        had, heads = sums(level, counts.weight, size), sums(level, counts.unweighted.weight, size)
        moved = (old != new) & (mass > 0)
        # Only pairs of levels that occur: a table of all of them would be large where a column has many.
        keys, place = np.unique(np.ravel_multi_index((group, old, new), shape)[moved], return_inverse=True)
        for g, i, j, people in zip(*np.unravel_index(keys, shape), sums(place, mass[moved]), strict=True):
            of = g * len(column) + i
            found.append(Move(labels[g], column, int(i), int(j), float(people), float(had[of]), float(heads[of])))
            key = (column.name, int(i), int(j))
            total[key] = total.get(key, 0.0) + float(people)
    return sorted(found, key=lambda move: -total[move.column.name, move.old, move.new])


def _columns_moved(counts: Counts, kernel: Kernel) -> Iterator[tuple[Variable, Cells, Cells]]:
    """Yield each feature and the outcome with its codes before and after, one for each entry of the kernel."""
    domain, rows = counts.domain, kernel.rows
    to_x, to_y = domain.split_xy(kernel.targets)
    before = (*domain.x.unravel(counts.x[rows]), counts.y[rows])
    after = (*domain.x.unravel(to_x), to_y)
    yield from zip((*domain.x.variables, domain.outcome), before, after, strict=True)


def most_changed_groups(counts: Counts, changed: Numbers, most: int, *, hide_below: float = 0) -> list[Where]:
    """Return at most so many groups, those with the most people changed, in their own order; of few people, none."""
    people = sums(counts.groups.of_source, counts.weight * changed)
    return first_groups(counts, np.where(Discretion(counts, hide_below).groups, people, -np.inf), most)


def first_groups(counts: Counts, worth: Numbers, most: int) -> list[Where]:
    """Return at most so many groups, those worth most, in their own order."""
    place = np.argsort(-worth, kind="stable")[:most]
    levels = group_levels(counts)
    return [levels[i] for i in np.sort(place) if worth[i] > -np.inf]


def conditional(
    counts: Counts, kernel: Kernel, where: Where, *, least: float = LEAST_COLUMN, hide_below: float = 0
) -> list[Row]:
    """Return P(x̂, ŷ | d, x, y) of part of the table, one row per entry: figure 3.

    Sources are named by the columns that ``where`` leaves open. A target is listed only if its probabilities sum to
    more than ``least`` over the sources shown.
    """
    kept = (matching(counts, where) & Discretion(counts, hide_below).cells)[kernel.rows]
    rows, targets, probability = kernel.rows[kept], kernel.targets[kept], kernel.probability[kept]
    _, place = np.unique(targets, return_inverse=True)
    total = sums(place, probability)[place]
    sources = {}
    for row in np.unique(rows):
        levels = shown_levels(counts.domain, cell_levels(counts, int(row)))
        open_levels = [level for column, level in levels.items() if column not in where]
        sources[int(row)] = JOINT.join(open_levels) or long_name(shown_levels(counts.domain, where))
    return [
        {
            "source": sources[int(row)],
            "target": short_name(shown_levels(counts.domain, target_levels(counts, int(target)))),
            "source_cell": (int(counts.x[row]), int(counts.y[row]), int(counts.d[row])),
            "target_cell": int(target),
            "probability": float(p),
            "people": float(counts.weight[row]),
        }
        for row, target, p, all_of_it in zip(rows, targets, probability, total, strict=True)
        if all_of_it > least
    ]


@dataclass(frozen=True)
class Chosen:
    """Parts of a table chosen to be shown.

    Attributes
    ----------
    parts : list
        Those with the most people changed.
    held : tuple of str
        The features that each of them holds at one level, beside group and outcome.
    number : int
        In how many such parts anybody who may be shown is changed.
    people, everybody : float
        How many people are expected to change in the parts chosen, and in the whole table.
    """

    parts: list[Where]
    held: tuple[str, ...]
    number: int
    people: float
    everybody: float


def most_changed(counts: Counts, kernel: Kernel, changed: Numbers, *, panels: int = 4, hide_below: float = 0) -> Chosen:
    """Choose what a heat map should show: the parts of the table with the most people changed (people × probability).

    A part is a group and an outcome. Where such a part would have more than nine cells, features are held at one
    level each as well, those first that change least. Cells of fewer people than ``hide_below`` do not count.
    """
    domain, codes = counts.domain, source_codes(counts)
    shown = Discretion(counts, hide_below).cells
    moved = {
        column.name: float(counts.weight[kernel.rows] @ (kernel.probability * (old != new)))
        for column, old, new in _columns_moved(counts, kernel)
    }
    held: list[str] = []
    for column in sorted(domain.x.names, key=lambda name: moved[name]):
        key = np.stack([counts.d, counts.y, *(codes[name] for name in held)])
        if np.unique(key[:, shown], axis=1, return_counts=True)[1].max(initial=0) <= 9:
            break
        held.append(column)
    held.sort(key=domain.x.names.index)
    names = (*domain.d.names, domain.outcome.name, *held)
    _, first, part = np.unique(np.stack([codes[n] for n in names]), axis=1, return_index=True, return_inverse=True)
    total = sums(part.ravel(), counts.weight * changed * shown)
    order = [int(at) for at in np.argsort(-total, kind="stable")[:panels] if total[at] > 0]
    parts: list[Where] = [{n: domain.variable(n).levels[int(codes[n][first[at]])] for n in names} for at in order]
    everybody = float(counts.weight @ changed)
    return Chosen(parts, tuple(held), int((total > 0).sum()), float(total[order].sum()), everybody)
