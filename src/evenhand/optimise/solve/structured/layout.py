"""Where every number of the eliminations goes: found once for a form, from its pattern alone.

Owners whose choices lead to the same targets, or who share a budget, are a *cluster*: their local rows are
eliminated together, as one small dense matrix, and what is left is dense over the cluster's release rows and rates
(its *outer* rows). Release rows that some cluster joins are a *block*; blocks are coupled by the rates alone, which are
the border. Clusters and blocks of similar size are stacked, so that NumPy works on whole stacks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from evenhand.arrays import Cells, Numbers
from evenhand.optimise.program import Matrix
from evenhand.optimise.solve.structured.form import Form
from evenhand.resources import heed

CLUSTER_ROWS = 24
"""Owners with the same targets are put together up to this many local rows."""

NOWHERE = np.iinfo(np.int32).max
"""More than any place in a block."""

SIZES = np.unique(np.concatenate([np.arange(1, 9), np.round(8 * 1.25 ** np.arange(1, 40))])).astype(np.int64)
"""Stacks have matrices of these sizes; smaller ones are filled up."""


@dataclass(frozen=True, eq=False)
class Stack:
    """Matrices of one shape: which rows and which columns each holds, and where their entries lie.

    Places beyond what a matrix holds point one past the last row (or column).
    """

    rows: Cells
    columns: Cells
    first: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """The number of matrices, rows and columns."""
        return (*self.rows.shape, self.columns.shape[1])


@dataclass(frozen=True, eq=False)
class Layout:
    """The pattern of the eliminations.

    Attributes
    ----------
    clusters : list of Stack
        Local rows by outer rows.
    blocks : list of Stack
        Release rows by release rows.
    own, across, outer : Matrix
        What θ (of q, w and v, and a one) adds to the clusters' own matrices, to those across to the outer rows, and to
        the outer matrix itself.
    spread : Matrix
        What the clusters' products add to the outer matrix.
    border, corner : int
        Where, in the outer matrix, the release rows' entries with the rates begin, and the rates' own.
    size : int
        The number of entries of the outer matrix.
    """

    clusters: list[Stack]
    blocks: list[Stack]
    own: Matrix
    across: Matrix
    outer: Matrix
    spread: Matrix
    border: int
    corner: int
    size: int
    n_release: int
    n_rates: int


@dataclass(frozen=True, eq=False)
class _Members:
    """Distinct pairs (group, member), sorted, with each member's place in its group."""

    group: Cells
    member: Cells
    place: Cells
    n_groups: int

    @classmethod
    def of(cls, group: Cells, member: Cells, n_groups: int, n_members: int) -> _Members:
        # Sorting is faster here than np.unique, which hashes first.
        keys = np.sort(group * n_members + member)
        keys = keys[np.concatenate([[True], keys[1:] != keys[:-1]])] if len(keys) else keys
        group, member = np.divmod(keys, n_members)
        first = np.searchsorted(group, np.arange(n_groups))
        return cls(group, member, np.arange(len(keys)) - first[group], n_groups)

    @property
    def sizes(self) -> Cells:
        return np.bincount(self.group, minlength=self.n_groups)

    def padded(self, chosen: Cells, width: int, filler: int) -> Cells:
        """Return the members of some groups as a matrix, filled up."""
        number = np.full(self.n_groups, -1)
        number[chosen] = np.arange(len(chosen))
        found = number[self.group] >= 0
        table = np.full((len(chosen), width), filler)
        table[number[self.group[found]], self.place[found]] = self.member[found]
        return table


def lay_out_form(form: Form) -> Layout:
    """Find the pattern of a form's eliminations."""
    columns = form.transposed
    local, outer = sparse.csr_array(columns[:, : form.n_local]), sparse.csr_array(columns[:, form.n_local :])
    # The owner of each choice is its first local row.
    owner = np.asarray(columns.indices[columns.indptr[:-1]], dtype=np.int64)
    cluster = _clusters(form, owner, outer)
    n_clusters, n_outer = int(cluster.max()) + 1, form.n_release + form.n_rates
    budgets = form.matrix[form.budget_rows]
    of_budget = cluster[owner[budgets.indices[budgets.indptr[:-1]]]]
    inner = _Members.of(np.concatenate([cluster, of_budget]), np.arange(form.n_local), n_clusters, form.n_local)
    of_outer = np.repeat(cluster[owner], np.diff(outer.indptr))
    outside = _Members.of(of_outer, outer.indices.astype(np.int64), n_clusters, n_outer)
    stacks, where = _stack_clusters(inner, outside, form.n_local, n_outer)
    storage = _Storage.of(form, outside)
    place_inner = np.empty(form.n_local, dtype=np.int64)
    place_inner[inner.member] = inner.place
    heed()
    own = _own(form, local, cluster[owner], place_inner, where, stacks)
    across = _across(form, local, outer, cluster[owner], place_inner, outside, where, n_outer)
    return Layout(
        stacks, storage.stacks, own, across, storage.from_columns(form, outer), storage.spread(stacks),
        storage.border, storage.corner, storage.size, form.n_release, form.n_rates,
    )  # fmt: skip


def connected(rows: Cells, columns: Cells, shape: tuple[int, int]) -> Cells:
    """Number the connected parts of a pattern: the part of each row, then that of each column."""
    links = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    graph = sparse.block_array([[None, links], [links.T, None]], format="csr")
    return np.asarray(csgraph.connected_components(graph, directed=False)[1])


def tokens(rows: Cells, columns: Cells, shape: tuple[int, int]) -> NDArray[np.uint64]:
    """Return a sum of random numbers over the columns of each row: the same where two rows have the same pattern."""
    distinct = _Members.of(rows, columns, *shape)
    random = np.random.default_rng(0).integers(0, 2**62, shape[1], dtype=np.uint64)
    token = np.zeros(shape[0], dtype=np.uint64)
    np.add.at(token, distinct.group, random[distinct.member])
    return token


def _clusters(form: Form, owner: Cells, outer: Matrix) -> Cells:
    """Return the cluster of every owner."""
    tied = np.arange(form.n_owners)
    if form.n_budgets:
        budgets = form.matrix[form.budget_rows]
        row = np.repeat(np.arange(form.n_budgets), np.diff(budgets.indptr))
        part = connected(row, owner[budgets.indices], (form.n_budgets, form.n_owners))
        tied = np.unique(part[form.n_budgets :], return_inverse=True)[1]
    # If tokens agree by accident, the cluster only holds more than it need.
    release = sparse.csr_array(outer[:, : form.n_release])
    group = np.repeat(tied[owner], np.diff(release.indptr))
    token = tokens(group, release.indices.astype(np.int64), (int(tied.max()) + 1, max(1, form.n_release)))
    # Those with the same token are put together, a limited number at a time.
    rows = np.bincount(tied)[:, None] * (1 + form.n_budgets / form.n_owners)
    order = np.argsort(token, kind="stable")
    new = np.concatenate([[True], np.diff(token[order]) != 0])
    start = np.flatnonzero(new)[np.cumsum(new) - 1]
    chunk = np.maximum(1, CLUSTER_ROWS // np.ceil(rows.ravel()[order[start]])).astype(np.int64)
    new |= (np.arange(len(order)) - start) % chunk == 0
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return number[tied]


@dataclass(frozen=True, eq=False)
class _Where:
    """For each cluster: where its own matrix and the one across begin, and their widths."""

    own: Cells
    own_width: Cells
    across: Cells
    across_width: Cells
    own_size: int
    across_size: int


def _rounded(sizes: Cells) -> Cells:
    return SIZES[np.searchsorted(SIZES, np.maximum(sizes, 1))]


def _stack_clusters(inner: _Members, outside: _Members, n_local: int, n_outer: int) -> tuple[list[Stack], _Where]:
    high, wide = _rounded(inner.sizes), _rounded(outside.sizes)
    shapes, which = np.unique(np.column_stack([high, wide]), axis=0, return_inverse=True)
    own, across = np.zeros(inner.n_groups, np.int64), np.zeros(inner.n_groups, np.int64)
    stacks, first, first_across = [], 0, 0
    for number, (q, n) in enumerate(shapes.tolist()):
        chosen = np.flatnonzero(which.ravel() == number)
        own[chosen] = first + q * q * np.arange(len(chosen))
        across[chosen] = first_across + q * n * np.arange(len(chosen))
        stacks.append(Stack(inner.padded(chosen, q, n_local), outside.padded(chosen, n, n_outer), first))
        first += q * q * len(chosen)
        first_across += q * n * len(chosen)
    return stacks, _Where(own, high, across, wide, first, first_across)


def _pairs(left: Matrix, right: Matrix) -> tuple[Cells, Cells, Cells]:
    """Return, for every row, each pair of an entry of one matrix and one of the other: the row and both positions."""
    sizes, others = np.diff(left.indptr), np.diff(right.indptr)
    row_of_left = np.repeat(np.arange(left.shape[0]), sizes)
    count = others[row_of_left]
    first = np.repeat(np.arange(len(row_of_left)), count)
    within = np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
    row = row_of_left[first]
    return row, first, right.indptr[row].astype(np.int64) + within


def _own(form: Form, local: Matrix, cluster: Cells, place: Cells, where: _Where, stacks: list[Stack]) -> Matrix:
    """Σ θ a aᵀ over the local entries of each choice, θ of budgets' slacks, ones where nothing is; lower triangles."""
    column, a, b = _pairs(local, local)
    lower = place[local.indices[a]] >= place[local.indices[b]]
    column, a, b = column[lower], a[lower], b[lower]
    first, second = place[local.indices[a]], place[local.indices[b]]
    at = where.own[cluster[column]] + first * where.own_width[cluster[column]] + second
    slack = np.arange(form.n_budgets)
    budgets = form.matrix[form.budget_rows]
    of = cluster[budgets.indices[budgets.indptr[:-1]]]
    diagonal = where.own[of] + place[form.n_owners + slack] * (where.own_width[of] + 1)
    fill = [_empty_diagonal(stack, form.n_local) for stack in stacks]
    filler = np.concatenate([np.zeros(0, np.int64), *fill])
    last = form.parts["v"].stop
    return _matrix(
        [(at, column, local.data[a] * local.data[b]), (diagonal, form.n_choices + slack, np.ones(len(slack))),
         (filler, np.full(len(filler), last), np.ones(len(filler)))],
        (where.own_size, last + 1),
    )  # fmt: skip


def _empty_diagonal(stack: Stack, filler: int) -> Cells:
    matrix, place = np.nonzero(stack.rows == filler)
    width = stack.rows.shape[1]
    return np.asarray(stack.first + matrix * width * width + place * (width + 1))


def _across(
    form: Form, local: Matrix, outer: Matrix, cluster: Cells, place: Cells, outside: _Members, where: _Where,
    n_outer: int,
) -> Matrix:  # fmt: skip
    """Σ θ a bᵀ over the local and the outer entries of each choice."""
    column, a, b = _pairs(local, outer)
    keys = outside.group * n_outer + outside.member
    of = cluster[column]
    second = outside.place[np.searchsorted(keys, of * n_outer + outer.indices[b])]
    at = where.across[of] + place[local.indices[a]] * where.across_width[of] + second
    shape = (where.across_size, form.parts["v"].stop + 1)
    return _matrix([(at, column, local.data[a] * outer.data[b])], shape)


@dataclass(frozen=True, eq=False)
class _Storage:
    """The outer matrix: blocks of release rows (their lower triangles), the border, the corner."""

    stacks: list[Stack]
    first: Cells
    width: Cells
    place: Cells
    border: int
    corner: int
    size: int
    n_release: int
    n_rates: int

    @classmethod
    def of(cls, form: Form, outside: _Members) -> _Storage:
        # Release rows that some cluster joins are a block.
        joined = outside.member < form.n_release
        pattern = outside.group[joined], outside.member[joined]
        part = connected(*pattern, (outside.n_groups, form.n_release))
        block = np.asarray(np.unique(part[outside.n_groups :], return_inverse=True)[1])
        members = _Members.of(block, np.arange(form.n_release), int(block.max(initial=-1)) + 1, max(1, form.n_release))
        sizes = _rounded(members.sizes)
        first = np.zeros(members.n_groups, np.int64)
        stacks, start = [], 0
        for size in np.unique(sizes).tolist():
            chosen = np.flatnonzero(sizes == size)
            first[chosen] = start + size * size * np.arange(len(chosen))
            table = members.padded(chosen, size, form.n_release)
            stacks.append(Stack(table, table, start))
            start += size * size * len(chosen)
        place = np.empty(form.n_release, np.int64)
        place[members.member] = members.place
        border = start
        corner = border + form.n_release * form.n_rates
        size = corner + form.n_rates**2
        return cls(stacks, first[block], sizes[block], place, border, corner, size, form.n_release, form.n_rates)

    @cached_property
    def _row(self) -> Cells:
        """Where the row of each release row begins in its block; of rates, and one past the last, nowhere."""
        return np.concatenate([self.first + self.place * self.width, np.full(self.n_rates + 1, NOWHERE)])

    @cached_property
    def _rank(self) -> Cells:
        """The place of each release row in its block; rates stand behind all of them."""
        return np.concatenate([self.place, np.full(self.n_rates + 1, NOWHERE)])

    def at(self, row: Cells, column: Cells) -> Cells:
        """Return where the entry of two outer rows is kept; negative where its mirror image is, or nothing.

        Shapes are broadcast, so that many pairs need few lookups. The rates' own rows follow the border's.
        """
        with_rate = self.border + row * self.n_rates + (column - self.n_release)
        inside = np.where(self._rank[row] >= self._rank[column], self._row[row] + self._rank[column], -1)
        inside = np.where(row < self.n_release, inside, -1)
        return np.where(column >= self.n_release, with_rate, inside)

    def from_columns(self, form: Form, outer: Matrix) -> Matrix:
        """Σ θ b bᵀ over the outer entries of each choice, θ of the loss's columns, and ones where a block is filled."""
        column, a, b = _pairs(outer, outer)
        at = self.at(outer.indices[a].astype(np.int64), outer.indices[b].astype(np.int64))
        kept = at >= 0
        pieces, first = form.pieces, form.parts["v"].start
        diagonal = self.at(pieces.row, pieces.row)
        fill = np.concatenate([np.zeros(0, np.int64), *(_empty_diagonal(s, form.n_release) for s in self.stacks)])
        last = form.parts["v"].stop
        return _matrix(
            [(at[kept], column[kept], (outer.data[a] * outer.data[b])[kept]),
             (diagonal, first + np.arange(len(pieces.row)), pieces.on_v**2),
             (fill, np.full(len(fill), last), np.ones(len(fill)))],
            (self.size, last + 1),
        )  # fmt: skip

    def spread(self, clusters: list[Stack]) -> Matrix:
        """Send every product of two outer columns of a cluster to its place."""
        rows, columns, start = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
        n_outer = self.n_release + self.n_rates
        for stack in clusters:
            heed()
            count, _, width = stack.shape
            real = stack.columns < n_outer
            at = self.at(stack.columns[:, :, None], stack.columns[:, None, :])
            kept = np.flatnonzero((at >= 0) & real[:, :, None] & real[:, None, :])
            rows.append(at.ravel()[kept])
            columns.append(start + kept)
            start += count * width * width
        row, column = np.concatenate(rows), np.concatenate(columns)
        return _matrix([(row, column, np.ones(len(row)))], (self.size, start))


def _matrix(parts: list[tuple[Cells, Cells, Numbers]], shape: tuple[int, int]) -> Matrix:
    row, column, data = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    # Half the index is half of what a product has to read.
    kind = np.int32 if max(*shape, len(data)) <= NOWHERE else np.int64
    return sparse.csr_array((data, (row.astype(kind), column.astype(kind))), shape=shape)
