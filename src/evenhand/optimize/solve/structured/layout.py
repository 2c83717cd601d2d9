"""Where every number of the eliminations goes: found once for a form, from its pattern alone.

An owner's local rows, with those of owners who share a budget, are a *holding*: they are eliminated together, as one
small dense matrix. Holdings whose choices lead to the same targets are a *cluster*: what they leave is added up, dense
over the cluster's release rows and rates (its *outer* rows). Release rows are eliminated front by front
(:mod:`evenhand.optimize.solve.structured.fronts`); the rates are last, as a border of all of them. Holdings and
clusters of similar size are stacked, so that NumPy works on whole stacks.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse import csgraph

from evenhand.arrays import Cells, Numbers
from evenhand.optimize.program import CLUSTER_ROWS, Matrix
from evenhand.optimize.solve.structured.form import Form
from evenhand.optimize.solve.structured.fronts import Fronts, Members, lay_out_fronts, rounded
from evenhand.resources import heed

PAIRS_AT_ONCE, CHOICES_AT_ONCE = 100_000, 10_000
"""So many pairs of outer rows, and so many choices, are looked at in one go: what fits into caches is faster."""


@dataclass(frozen=True, eq=False)
class Stack:
    """Clusters of one shape: as many holdings of as many local rows each, by as many outer rows.

    ``holdings``, ``across`` and ``products`` say where the holdings' own matrices begin, those across to the outer
    rows, and the products of the latter. ``columns`` are the outer rows, one past the last where a cluster has fewer.
    """

    clusters: Cells
    members: int
    height: int
    columns: Cells
    holdings: int
    across: int
    products: int

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The number of clusters, of holdings in each, and of local and outer rows."""
        return len(self.columns), self.members, self.height, self.columns.shape[1]


@dataclass(frozen=True, eq=False)
class Layout:
    """The pattern of the eliminations. Outer rows are the release rows in the fronts' order, then the rates.

    Attributes
    ----------
    clusters : list of Stack
        Local rows by outer rows.
    heights : list of (int, int, int)
        Holdings by their number of local rows: that number, where their own matrices begin, and how many there are.
    fronts : Fronts
        Release rows by release rows.
    own, across : Matrix
        What θ (of q, w and v, and a one) adds to the holdings' own matrices and to those across to the outer rows.
    outer : Matrix
        What θ and the clusters' products, in this order, add to the entries of the outer matrix that are not zero.
    entries : array
        Where these entries are.
    n_products, size : int
        The number of those products, and of all entries of the outer matrix.
    inside, beside : Matrix
        Patterns: the holdings' own matrices by local rows, and the ones across by outer rows, with one more row (and
        column) for what fills matrices up.
    border, corner : int
        Where, in the outer matrix, the release rows' entries with the rates begin, and the rates' own (upper triangle).
    """

    clusters: list[Stack]
    heights: list[tuple[int, int, int]]
    fronts: Fronts
    own: Matrix
    across: Matrix
    outer: Matrix
    entries: Cells
    n_products: int
    size: int
    inside: Matrix
    beside: Matrix
    border: int
    corner: int
    n_release: int
    n_rates: int


@dataclass(frozen=True, eq=False)
class _Entries:
    """Coefficients of the choices, in the order of choices: where those of each begin, their rows and values."""

    starts: Cells
    row: Cells
    value: Numbers

    @classmethod
    def of(cls, columns: Matrix, rows: slice) -> _Entries:
        chosen = (columns.indices >= rows.start) & (columns.indices < rows.stop)
        starts = np.concatenate([[0], np.cumsum(chosen)])[columns.indptr]
        return cls(starts, columns.indices[chosen].astype(np.int64) - rows.start, columns.data[chosen])

    @property
    def choice(self) -> Cells:
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def pairs(self, other: _Entries) -> Iterator[tuple[Cells, Cells, Cells]]:
        """Give the choice and both positions of every pair of entries of the same choice, some choices at a time."""
        for begin in range(0, len(self.starts) - 1, CHOICES_AT_ONCE):
            starts, others = (entries.starts[begin : begin + CHOICES_AT_ONCE + 1] for entries in (self, other))
            choice = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
            count = np.diff(others)[choice]
            first = np.repeat(np.arange(len(choice)), count)
            within = np.arange(len(first)) - np.repeat(np.cumsum(count) - count, count)
            choice = choice[first]
            yield begin + choice, starts[0] + first, others[choice] + within


@dataclass(frozen=True, eq=False)
class _Holdings:
    """The holding of every choice, and of every local row, with its place there; how many rows each has."""

    of_choice: Cells
    of_row: Cells
    place: Cells
    rows: Cells

    @classmethod
    def of(cls, form: Form) -> _Holdings:
        columns = form.transposed
        # The owner of each choice is its first local row.
        owner = columns.indices[columns.indptr[:-1]].astype(np.int64)
        of_owner = np.arange(form.n_owners)
        budgets = form.matrix[form.budget_rows]
        if form.n_budgets:
            row = np.repeat(np.arange(form.n_budgets), np.diff(budgets.indptr))
            part = connected(row, owner[budgets.indices], (form.n_budgets, form.n_owners))
            of_owner = np.unique(part[form.n_budgets :], return_inverse=True)[1]
        of_row = np.concatenate([of_owner, of_owner[owner[budgets.indices[budgets.indptr[:-1]]]]])
        rows = np.bincount(of_row)
        order = np.argsort(of_row, kind="stable")
        place = np.empty(form.n_local, dtype=np.int64)
        place[order] = np.arange(form.n_local) - (np.cumsum(rows) - rows)[of_row[order]]
        return cls(of_owner[owner], of_row, place, rows)


@dataclass(frozen=True, eq=False)
class _Slots:
    """Where each holding's matrices begin, the widths of these, and its cluster's stacks."""

    height: Cells
    width: Cells
    own: Cells
    across: Cells
    stacks: list[Stack]
    heights: list[tuple[int, int, int]]

    @classmethod
    def of(cls, rows: Cells, cluster: Cells, outside: Members, n_outer: int) -> _Slots:
        """Stack clusters by the rows and the number of their holdings, and by their outer rows."""
        order = np.argsort(cluster, kind="stable")
        members = np.bincount(cluster)
        place = np.empty(len(cluster), dtype=np.int64)
        place[order] = np.arange(len(cluster)) - (np.cumsum(members) - members)[cluster[order]]
        of_cluster = np.empty(len(members), dtype=np.int64)
        of_cluster[cluster] = rounded(rows)
        kinds = np.column_stack([of_cluster, rounded(members), rounded(outside.sizes)])
        # Stacks whose holdings have as many rows stand side by side.
        shapes, which = np.unique(kinds, axis=0, return_inverse=True)
        own, across = np.zeros(len(members), np.int64), np.zeros(len(members), np.int64)
        stacks, ends = [], [0, 0, 0]
        for number, (q, m, n) in enumerate(shapes.tolist()):
            chosen = np.flatnonzero(which.ravel() == number)
            own[chosen] = ends[0] + q * q * m * np.arange(len(chosen))
            across[chosen] = ends[1] + q * n * m * np.arange(len(chosen))
            stacks.append(Stack(chosen, m, q, outside.padded(chosen, outside.member, n, n_outer), *ends))
            ends = [end + len(chosen) * size for end, size in zip(ends, (m * q * q, m * q * n, n * n), strict=True)]
        height, width = of_cluster[cluster], kinds[cluster, 2]
        return cls(
            height, width, own[cluster] + place * height**2, across[cluster] + place * height * width, stacks,
            _by_height(stacks),
        )  # fmt: skip


def _by_height(stacks: list[Stack]) -> list[tuple[int, int, int]]:
    heights: dict[int, tuple[int, int, int]] = {}
    for stack in stacks:
        count, m, q, _ = stack.shape
        _, first, before = heights.get(q, (q, stack.holdings, 0))
        heights[q] = (q, first, before + count * m)
    return list(heights.values())


def lay_out_form(form: Form) -> Layout:
    """Find the pattern of a form's eliminations."""
    local = _Entries.of(form.transposed, slice(0, form.n_local))
    outer = _Entries.of(form.transposed, slice(form.n_local, len(form.right)))
    holdings = _Holdings.of(form)
    # Who reaches what: holdings with the same targets, and the sets of targets that there are.
    on_release = outer.row < form.n_release
    reached = Members.of(
        holdings.of_choice[outer.choice[on_release]], outer.row[on_release], len(holdings.rows), max(1, form.n_release)
    )
    kind, cliques = cliques_of(reached, form.n_release)
    fronts = lay_out_fronts(cliques)
    heed()
    outer = _Entries(
        outer.starts,
        np.concatenate([fronts.number, np.arange(form.n_release, form.n_release + form.n_rates)])[outer.row],
        outer.value,
    )
    cluster = _clusters(holdings, kind)
    n_clusters, n_outer = int(cluster.max()) + 1, form.n_release + form.n_rates
    of_outer = cluster[holdings.of_choice[outer.choice]]
    outside = Members.of(of_outer, outer.row, n_clusters, n_outer)
    slot = np.searchsorted(outside.group * n_outer + outside.member, of_outer * n_outer + outer.row)
    slots = _Slots.of(holdings.rows, cluster, outside, n_outer)
    heed()
    storage = _Storage.of(form, fronts, outside)
    inside, beside = _patterns(form, holdings, slots, n_outer)
    entries, matrix = storage.outer(form, outer, slot, slots.stacks)
    return Layout(
        slots.stacks, slots.heights, fronts, _own(form, local, holdings, slots),
        _across(form, local, outer, holdings, slots, outside.place[slot]), matrix, entries, _n_products(slots.stacks),
        storage.size, inside, beside, storage.border, storage.corner, form.n_release, form.n_rates,
    )  # fmt: skip


def connected(rows: Cells, columns: Cells, shape: tuple[int, int]) -> Cells:
    """Number the connected parts of a pattern: the part of each row, then that of each column."""
    links = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
    graph = sparse.block_array([[None, links], [links.T, None]], format="csr")
    return np.asarray(csgraph.connected_components(graph, directed=False)[1])


def tokens(rows: Cells, columns: Cells, shape: tuple[int, int]) -> NDArray[np.uint64]:
    """Return a sum of random numbers over the columns of each row: the same where two rows have the same pattern."""
    return tokens_of(Members.of(rows, columns, *shape), shape[1])


def tokens_of(members: Members, n_members: int) -> NDArray[np.uint64]:
    """Return such a sum for every group. If two agree by accident, they are put together though they need not be."""
    random = np.random.default_rng(0).integers(0, 2**62, n_members, dtype=np.uint64)
    token = np.zeros(members.n_groups, dtype=np.uint64)
    np.add.at(token, members.group, random[members.member])
    return token


def cliques_of(reached: Members, n_release: int) -> tuple[Cells, Matrix]:
    """Return the kind of every holding, by the targets that it reaches, and a row with these targets for every kind."""
    _, kind = np.unique(tokens_of(reached, n_release), return_inverse=True)
    n_kinds = int(kind.max(initial=-1)) + 1
    pairs = Members.of(kind[reached.group], reached.member, n_kinds, max(1, n_release))
    indptr = np.concatenate([[0], np.cumsum(pairs.sizes)])
    return kind, sparse.csr_array((np.ones(len(pairs.member)), pairs.member, indptr), shape=(n_kinds, n_release))


def _clusters(holdings: _Holdings, kind: Cells) -> Cells:
    """Return the cluster of every holding: those of one kind and of as many rows, a limited number at a time."""
    order = np.lexsort((holdings.rows, kind))
    new = np.ones(len(order), dtype=bool)
    new[1:] = (np.diff(kind[order]) != 0) | (np.diff(holdings.rows[order]) != 0)
    start = np.flatnonzero(new)[np.cumsum(new) - 1]
    chunk = np.maximum(1, CLUSTER_ROWS // holdings.rows[order])
    new |= (np.arange(len(order)) - start) % chunk == 0
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.cumsum(new) - 1
    return number


def _own(form: Form, local: _Entries, holdings: _Holdings, slots: _Slots) -> Matrix:
    """Σ θ a aᵀ over the local entries of each choice, θ of budgets' slacks, ones where nothing is; lower triangles."""
    place, parts = holdings.place[local.row], []
    for choice, a, b in local.pairs(local):
        lower = np.flatnonzero(place[a] >= place[b])
        choice, a, b = choice[lower], a[lower], b[lower]
        of = holdings.of_choice[choice]
        at = slots.own[of] + place[a] * slots.height[of] + place[b]
        parts.append((at, choice, local.value[a] * local.value[b]))
    slack = np.arange(form.n_budgets)
    of, row = holdings.of_row[form.n_owners :], holdings.place[form.n_owners :]
    diagonal = slots.own[of] + row * (slots.height[of] + 1)
    size = sum(q * q * count for q, _, count in slots.heights)
    # Every diagonal entry, in order, and which of them belong to rows.
    filler = np.concatenate(
        [
            (first + q * q * np.arange(count)[:, None] + np.arange(q) * (q + 1)).ravel()
            for q, first, count in slots.heights
        ]
    )
    held = np.zeros(size, dtype=bool)
    held[slots.own[holdings.of_row] + holdings.place * (slots.height[holdings.of_row] + 1)] = True
    filler = filler[~held[filler]]
    last = form.parts["v"].stop
    return _matrix(
        [*parts, (diagonal, form.n_choices + slack, np.ones(len(slack))),
         (filler, np.full(len(filler), last), np.ones(len(filler)))],
        (size, last + 1),
    )  # fmt: skip


def _across(form: Form, local: _Entries, outer: _Entries, holdings: _Holdings, slots: _Slots, place: Cells) -> Matrix:
    """Σ θ a bᵀ over the local and the outer entries of each choice; the latter have a place among a cluster's."""
    own_place, parts = holdings.place[local.row], []
    for choice, a, b in local.pairs(outer):
        of = holdings.of_choice[choice]
        at = slots.across[of] + own_place[a] * slots.width[of] + place[b]
        parts.append((at, choice, local.value[a] * outer.value[b]))
    size = sum(int(np.prod(stack.shape)) for stack in slots.stacks)
    return _matrix(parts, (size, form.parts["v"].stop + 1))


def _patterns(form: Form, holdings: _Holdings, slots: _Slots, n_outer: int) -> tuple[Matrix, Matrix]:
    """Return which local rows and which outer rows the rows of the holdings' matrices stand for."""
    size = sum(q * q * count for q, _, count in slots.heights)
    rows = np.full(size, form.n_local)
    of = holdings.of_row
    rows[slots.own[of] + holdings.place] = np.arange(form.n_local)
    inside = [
        np.repeat(rows[first : first + q * q * count].reshape(count, q * q)[:, :q], q, axis=0).ravel()
        for q, first, count in slots.heights
    ]
    heights = np.concatenate([np.full(q * count, q) for q, _, count in slots.heights])
    beside, widths = [], []
    for stack in slots.stacks:
        count, m, q, n = stack.shape
        beside.append(np.repeat(stack.columns, m * q, axis=0).ravel())
        widths.append(np.full(count * m * q, n))
    return _pattern(inside, heights, form.n_local + 1), _pattern(beside, np.concatenate(widths), n_outer + 1)


def _pattern(indices: list[Cells], widths: Cells, n_columns: int) -> Matrix:
    column = np.concatenate(indices)
    kind = _index_kind(len(column), n_columns)
    indptr = np.concatenate([[0], np.cumsum(widths)]).astype(kind)
    # The data are not looked at; a view of a single number takes no memory.
    data = np.broadcast_to(0.0, len(column))
    return sparse.csr_array((data, column.astype(kind), indptr), shape=(len(widths), n_columns))


@dataclass(frozen=True, eq=False)
class _Storage:
    """The outer matrix: the fronts, the border, the corner.

    ``home`` is the lowest front of each cluster, ``place`` that of each of its outer rows there.
    """

    fronts: Fronts
    outside: Members
    home: Cells
    place: Cells
    border: int
    corner: int
    n_release: int
    n_rates: int

    @classmethod
    def of(cls, form: Form, fronts: Fronts, outside: Members) -> _Storage:
        # A cluster's first release row is in its lowest front; the others are there as well, or on its border.
        home = np.full(outside.n_groups, -1)
        place = np.zeros(len(outside.member), dtype=np.int64)
        release = np.flatnonzero(outside.member < form.n_release)
        begins = release[outside.place[release] == 0]
        home[outside.group[begins]] = fronts.front[outside.member[begins]]
        place[release] = fronts.places(home[outside.group[release]], outside.member[release])
        corner = fronts.size + form.n_release * form.n_rates
        return cls(fronts, outside, home, place, fronts.size, corner, form.n_release, form.n_rates)

    @property
    def size(self) -> int:
        return self.corner + self.n_rates**2

    def with_rate(self, row: Cells, column: Cells) -> Cells:
        """Return where the entry of a rate and an outer row up to it is kept; the rates' own follow the border's."""
        return self.border + column * self.n_rates + (row - self.n_release)

    def outer(self, form: Form, outer: _Entries, slot: Cells, clusters: list[Stack]) -> tuple[Cells, Matrix]:
        """Return which entries are not zero, and what θ and the clusters' products add to each."""
        n_known = form.parts["v"].stop + 1
        n_given = n_known + _n_products(clusters)
        kind = _index_kind(self.size, n_given)
        parts = [
            (row.astype(kind), column.astype(kind), value)
            for found in (self.from_columns(form, outer, slot), self.from_clusters(clusters, n_known))
            for row, column, value in found
        ]
        used = np.zeros(self.size, dtype=bool)
        for row, _, _ in parts:
            used[row] = True
        number = np.cumsum(used, dtype=kind) - 1
        parts = [(number[row], column, value) for row, column, value in parts]
        entries = np.flatnonzero(used)
        return entries, _matrix(parts, (len(entries), n_given))

    def from_columns(self, form: Form, outer: _Entries, slot: Cells) -> Iterator[tuple[Cells, Cells, Numbers]]:
        """Σ θ b bᵀ over the outer entries of each choice, θ of the loss's columns, and ones where a front is filled."""
        for choice, a, b in outer.pairs(outer):
            kept = np.flatnonzero(outer.row[a] >= outer.row[b])
            choice, a, b = choice[kept], a[kept], b[kept]
            at = self.with_rate(outer.row[a], outer.row[b])
            inner = np.flatnonzero(outer.row[a] < self.n_release)
            first, second = slot[a[inner]], slot[b[inner]]
            at[inner] = self.fronts.at(self.home[self.outside.group[first]], self.place[first], self.place[second])
            yield at, choice, outer.value[a] * outer.value[b]
        pieces, first = form.pieces, form.parts["v"].start
        yield self.fronts.diagonal[self.fronts.number[pieces.row]], first + np.arange(len(pieces.row)), pieces.on_v**2
        fill = self.fronts.filled
        yield fill, np.full(len(fill), form.parts["v"].stop), np.ones(len(fill))

    def from_clusters(self, clusters: list[Stack], first: int) -> Iterator[tuple[Cells, Cells, Numbers]]:
        """Take every product of two outer rows of a cluster from its place."""
        n_outer = self.n_release + self.n_rates
        for stack in clusters:
            width = stack.columns.shape[1]
            a, b = np.tril_indices(width)
            step = max(1, PAIRS_AT_ONCE // len(a))
            for begin in range(0, len(stack.clusters), step):
                heed()
                cluster, column = stack.clusters[begin : begin + step], stack.columns[begin : begin + step]
                place = self.outside.padded(cluster, self.place, width, 0)
                row = column[:, a]
                inside = self.fronts.at(self.home[cluster][:, None], place[:, a], place[:, b])
                at = np.where(row < self.n_release, inside, self.with_rate(row, column[:, b]))
                product = first + stack.products + np.arange(begin, begin + len(cluster)) * width * width
                real = row < n_outer
                where = (product[:, None] + (a * width + b))[real]
                yield at[real], where, np.broadcast_to(-1.0, len(where))


def _n_products(clusters: list[Stack]) -> int:
    return sum(len(stack.columns) * stack.columns.shape[1] ** 2 for stack in clusters)


def _index_kind(*sizes: int) -> type[np.signedinteger]:
    """Half the index is half of what a product has to read."""
    return np.int32 if max(sizes) <= np.iinfo(np.int32).max else np.int64


def _matrix(parts: list[tuple[Cells, Cells, Numbers]], shape: tuple[int, int]) -> Matrix:
    kind = _index_kind(*shape, sum(len(data) for _, _, data in parts))
    row, column = (np.concatenate([part[i].astype(kind, copy=False) for part in parts]) for i in (0, 1))
    return sparse.csr_array((np.concatenate([part[2] for part in parts]), (row, column)), shape=shape)
