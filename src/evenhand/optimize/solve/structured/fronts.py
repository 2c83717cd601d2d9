"""Where the release rows' matrix is kept while it is eliminated, front by front.

A front has rows of its own and, of the fronts above, those that it is coupled with (its *border*). Its matrix is kept
as two: own and border rows by own rows, which becomes the factor, and border rows by border rows, what is left for the
front above. Lower triangles alone count. Fronts of one height know nothing of one another; small ones of similar shape
are stacked, so that NumPy works on whole stacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evenhand.arrays import Cells, Flags
from evenhand.optimize.program import Matrix
from evenhand.optimize.solve.structured.dissection import Forest, dissected

LOOPED_FROM = 40
"""Fronts of at least so many rows are eliminated one by one, as they are..."""

FEWEST = 6
"""...and so are those of a shape that fewer have: a stack takes as long as so many one by one."""

SIZES = np.unique(np.concatenate([np.arange(1, 9), np.round(8 * 1.25 ** np.arange(1, 40))])).astype(np.int64)
"""Stacks have matrices of these sizes; smaller ones are filled up."""


@dataclass(frozen=True, eq=False)
class Members:
    """Distinct pairs (group, member), sorted, with each member's place in its group."""

    group: Cells
    member: Cells
    place: Cells
    n_groups: int

    @classmethod
    def of(cls, group: Cells, member: Cells, n_groups: int, n_members: int) -> Members:
        """Sort pairs, and drop those that are there already."""
        # Sorting is faster here than np.unique, which hashes first.
        keys = np.sort(group * n_members + member)
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
        group, member = np.divmod(keys, n_members)
        first = np.searchsorted(group, np.arange(n_groups))
        return cls(group, member, np.arange(len(keys)) - first[group], n_groups)

    @cached_property
    def sizes(self) -> Cells:
        return np.bincount(self.group, minlength=self.n_groups)

    @cached_property
    def first(self) -> Cells:
        """Where the members of each group begin, and where the last end."""
        return np.searchsorted(self.group, np.arange(self.n_groups + 1))

    def padded(self, chosen: Cells, values: Cells, width: int, filler: int) -> Cells:
        """Return values of the members of some groups as a matrix, filled up."""
        place = np.arange(width)
        slot = self.first[chosen][:, None] + place
        found = place < (self.first[chosen + 1] - self.first[chosen])[:, None]
        table = np.full(slot.shape, filler)
        table[found] = values[slot[found]]
        return table


def rounded(sizes: Cells) -> Cells:
    """Return the sizes up to which stacked matrices are filled."""
    return np.asarray(SIZES[np.searchsorted(SIZES, np.maximum(sizes, 1))])


@dataclass(frozen=True, eq=False)
class Stage:
    """Fronts that are eliminated together: as a stack, or one alone.

    Attributes
    ----------
    rows, border : arrays
        The numbers of their own rows and of those on their border, one past the last where a matrix is filled up.
    first, rest : int
        Where their matrices begin: own and border rows by own rows, and border rows by border rows.
    alone : bool
        Whether it is one, as it is; its own rows are consecutive.
    kept, into : arrays
        Where the entries of border rows by border rows are, and where in the fronts above they go.
    """

    rows: Cells
    border: Cells
    first: int
    rest: int
    alone: bool
    kept: Cells
    into: Cells

    @cached_property
    def shape(self) -> tuple[int, int, int]:
        """The number of matrices, of own rows and of border rows."""
        return (*self.rows.shape, self.border.shape[1])

    @cached_property
    def consecutive(self) -> slice:
        return slice(int(self.rows[0, 0]), int(self.rows[0, 0]) + self.rows.shape[1])


@dataclass(frozen=True, eq=False)
class Fronts:
    """All fronts, and where their entries lie.

    Release rows are numbered in the order in which they are eliminated.

    Attributes
    ----------
    number : array
        That number, of every release row.
    stages : list of Stage
        The fronts, from the lowest to the last.
    front, place : arrays
        The front of each number, and its place among the front's own rows.
    own, border : arrays
        How many rows each front has, of its own and on its border, filled up.
    first, rest : arrays
        Where its matrices begin, as in :class:`Stage`.
    size : int
        The number of entries of all fronts.
    couplings : Members
        The numbers on the border of each front.
    """

    number: Cells
    stages: list[Stage]
    front: Cells
    place: Cells
    own: Cells
    border: Cells
    first: Cells
    rest: Cells
    size: int
    couplings: Members

    @property
    def arithmetic(self) -> float:
        """About how many multiplications a factorisation takes."""
        own, border = self.own.astype(float), self.border.astype(float)
        return float((own**3 / 6 + own**2 * border / 2 + own * border**2 / 2).sum())

    def places(self, front: Cells, number: Cells) -> Cells:
        """Return the places of rows among those of a front; they must be its own or on its border."""
        place = self.place[number]
        far = np.flatnonzero(self.front[number] != front)
        keys = self.couplings.group * len(self.number) + self.couplings.member
        found = np.searchsorted(keys, front[far] * len(self.number) + number[far])
        place[far] = self.own[front[far]] + self.couplings.place[found]
        return place

    def at(self, front: Cells, row: Cells, column: Cells) -> Cells:
        """Return where the entry of two places of a front is kept, the second not behind the first."""
        own, border = self.own[front], self.border[front]
        inside = (self.first[front] + row * own) + column
        if np.all(border == 0):
            return np.asarray(inside)
        beyond = (self.rest[front] + (row - own) * border) + (column - own)
        return np.where(column < own, inside, beyond)

    @property
    def diagonal(self) -> Cells:
        """Where the diagonal entry of every number is kept."""
        return self.at(self.front, self.place, self.place)

    @property
    def filled(self) -> Cells:
        """Where the diagonal entries are that belong to no row."""
        found = [np.zeros(0, dtype=np.int64)]
        for stage in self.stages:
            _, own, border = stage.shape
            matrix, place = np.nonzero(stage.rows == len(self.number))
            found.append(stage.first + matrix * own * (own + border) + place * (own + 1))
        return np.concatenate(found)


def lay_out_fronts(cliques: Matrix) -> Fronts:
    """Order the vertices (columns) of which every clique (row) is coupled, and find where their entries go."""
    forest, n = dissected(cliques), cliques.shape[1]
    depth = forest.depth
    height = _heights(forest, depth)
    n_own = np.bincount(forest.front, minlength=len(forest.above))
    group, member = _couplings(forest, depth, cliques)
    n_border = np.bincount(group, minlength=len(forest.above))
    small = n_own + n_border < LOOPED_FROM
    own = np.where(small, rounded(n_own), n_own)
    border = np.where(small & (n_border > 0), rounded(n_border), n_border)
    # Fronts are numbered by height, the same shapes side by side; rows front by front.
    shape = np.column_stack([height, own, border, small])
    _, kind, count = np.unique(shape, axis=0, return_inverse=True, return_counts=True)
    small &= count[kind.ravel()] >= FEWEST
    own, border = np.where(small, own, n_own), np.where(small, border, n_border)
    order = np.lexsort((border, own, ~small, height))
    new = np.empty(len(order), dtype=np.int64)
    new[order] = np.arange(len(order))
    of_row = np.argsort(new[forest.front], kind="stable")
    number = np.empty(n, dtype=np.int64)
    number[of_row] = np.arange(n)
    front, n_own, own, border = new[forest.front][of_row], n_own[order], own[order], border[order]
    place = np.arange(n) - (np.cumsum(n_own) - n_own)[front]
    couplings = Members.of(new[group], number[member], len(order), n)
    above = forest.above[order]
    above = np.where(above >= 0, new[above], -1)
    return _stored(number, front, place, own, border, small[order], height[order], above, couplings)


def _heights(forest: Forest, depth: Cells) -> Cells:
    """Return how many fronts there are below each, at most."""
    height = np.zeros(len(depth), dtype=np.int64)
    for level in range(int(depth.max(initial=0)), 0, -1):
        fronts = np.flatnonzero(depth == level)
        np.maximum.at(height, forest.above[fronts], height[fronts] + 1)
    return height


def _couplings(forest: Forest, depth: Cells, cliques: Matrix) -> tuple[Cells, Cells]:
    """Return pairs of a front and a vertex above it that it is coupled with: by a clique, or by a front below."""
    n = cliques.shape[1]
    vertex = cliques.indices.astype(np.int64)
    clique = np.repeat(np.arange(cliques.shape[0]), np.diff(cliques.indptr))
    # A clique lies on one way up; its lowest front couples the rest of it.
    home = lowest(forest.front[vertex], depth, cliques)[clique]
    front = forest.front[vertex]
    pairs, found = (home * n + vertex)[front != home], [np.zeros(0, dtype=np.int64)]
    for level in range(int(depth.max(initial=0)), 0, -1):
        here = depth[pairs // n] == level
        pairs, coupled = pairs[~here], np.unique(pairs[here])
        found.append(coupled)
        group, member = np.divmod(coupled, n)
        further = forest.front[member] != forest.above[group]
        pairs = np.concatenate([pairs, forest.above[group[further]] * n + member[further]])
    group, member = np.divmod(np.concatenate(found), n)
    return group, member


def lowest(front: Cells, depth: Cells, cliques: Matrix) -> Cells:
    """Return the lowest front of each clique, given that of each of its members; -1 of an empty one."""
    home = np.full(cliques.shape[0], -1)
    clique = np.repeat(np.arange(cliques.shape[0]), np.diff(cliques.indptr))
    order = np.argsort(depth[front], kind="stable")
    home[clique[order]] = front[order]
    return home


def _stored(
    number: Cells, front: Cells, place: Cells, own: Cells, border: Cells, small: Flags, height: Cells, above: Cells,
    couplings: Members,
) -> Fronts:  # fmt: skip
    """Give every front its entries: first all that become factors, then all that are left over."""
    n, size = len(number), own * (own + border)
    first = np.cumsum(size) - size
    rest = int(size.sum()) + np.cumsum(border**2) - border**2
    total = int(size.sum() + (border**2).sum())
    fronts = Fronts(number, [], front, place, own, border, first, rest, total, couplings)
    own_rows = Members(front, np.arange(n), place, len(own))
    shape = np.column_stack([height, own, border, small])
    new = np.ones(len(own), dtype=bool)
    new[1:] = np.any(shape[1:] != shape[:-1], axis=1) | ~small[1:]
    starts = np.append(np.flatnonzero(new), len(own))
    up = fronts.places(above[couplings.group], couplings.member) if len(couplings.group) else couplings.member
    for begin, end in zip(starts[:-1].tolist(), starts[1:].tolist(), strict=True):
        fronts.stages.append(_stage(fronts, own_rows, up, above, np.arange(begin, end), alone=not small[begin]))
    return fronts


def _stage(fronts: Fronts, own_rows: Members, up: Cells, above: Cells, chosen: Cells, *, alone: bool) -> Stage:
    """Put some fronts, all of a shape, into one stage; ``up`` are the places of couplings in the front above."""
    n, width, beyond = len(fronts.number), int(fronts.own[chosen[0]]), int(fronts.border[chosen[0]])
    rows = own_rows.padded(chosen, own_rows.member, width, n)
    border = fronts.couplings.padded(chosen, fronts.couplings.member, beyond, n)
    places = fronts.couplings.padded(chosen, up, beyond, -1)
    first, rest = int(fronts.first[chosen[0]]), int(fronts.rest[chosen[0]])
    # Rows on the border of a front are numbered as above it, so that lower triangles stay lower triangles.
    lower = np.flatnonzero(np.tri(beyond, dtype=bool) & (places[:, :, None] >= 0))
    into = fronts.at(above[chosen][:, None, None], places[:, :, None], places[:, None, :])
    return Stage(rows, border, first, rest, alone, rest + lower, into.ravel()[lower])
