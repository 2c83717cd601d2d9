"""The order in which targets that hang together are eliminated: by nested dissection.

Some targets are found (a *separator*) without which the others fall apart, and so again in every part, until parts are
small or none is worth it. The parts are eliminated first and know nothing of one another; the separators follow. Every
part that is left, and every separator, is a *front*; fronts are a forest, a separator above what it separates. All
parts of a round are cut at once, so that the number of rounds counts and not the number of parts.

Nothing is known of the targets but who can reach them: sets of targets (*cliques*) that are coupled with one another.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.optimize.program import LEAF, Matrix

WORTHWHILE = 0.7
"""A part is cut if that leaves at most this share of its arithmetic."""


@dataclass(frozen=True, eq=False)
class Forest:
    """The front of every vertex, and the front above each; -1 above the last."""

    front: Cells
    above: Cells

    @property
    def depth(self) -> Cells:
        """How many fronts are above each."""
        depth, above = np.zeros(len(self.above), dtype=np.int64), self.above
        while np.any(above >= 0):
            depth += above >= 0
            above = np.where(above >= 0, self.above[above], -1)
        return depth


@dataclass(frozen=True, eq=False)
class _Parts:
    """Connected parts, with vertices numbered part by part: where each begins, the cliques, and who is in which."""

    cliques: Matrix
    holders: Matrix
    starts: Cells

    @cached_property
    def part(self) -> Cells:
        return np.repeat(np.arange(len(self.starts)), self.sizes)

    @cached_property
    def sizes(self) -> Cells:
        return np.diff(np.append(self.starts, self.cliques.shape[1]))

    def distances(self, sources: Cells) -> Cells:
        """Return how many cliques every vertex is away from the nearest source; every part must have one."""
        n = self.cliques.shape[1]
        root = n + self.cliques.shape[0]
        # Vertices and cliques are linked with one another, and a last node with the sources.
        indices = np.concatenate([self.holders.indices + n, self.cliques.indices, sources])
        ends = self.holders.nnz + self.cliques.indptr[1:]
        indptr = np.concatenate([self.holders.indptr, ends, [len(indices)]])
        graph = sparse.csr_array((np.ones(len(indices)), indices, indptr), shape=(root + 1, root + 1))
        order, before = csgraph.breadth_first_order(graph, root)
        # Steps are added up along the way to the root, twice as far each time.
        jump = np.full(root + 1, root)
        jump[order[1:]] = before[order[1:]]
        steps = np.ones(root + 1, dtype=np.int64)
        steps[root] = 0
        while np.any(jump != root):
            steps += steps[jump]
            jump = jump[jump]
        return (steps[:n] - 1) // 2

    def farthest(self, distance: Cells) -> Flags:
        return np.asarray(distance == np.maximum.reduceat(distance, self.starts)[self.part])

    def one_of(self, chosen: Flags) -> Cells:
        """Return in every part one of the chosen vertices, which fewest cliques hold."""
        held = np.where(chosen, np.diff(self.holders.indptr), np.iinfo(np.int64).max)
        least = np.flatnonzero(held == np.minimum.reduceat(held, self.starts)[self.part])
        return np.asarray(least[np.unique(self.part[least], return_index=True)[1]])

    def reach(self, value: Cells) -> Cells:
        """Return the largest value among the vertices that each is coupled with."""
        of_clique = np.maximum.reduceat(value[self.cliques.indices], self.cliques.indptr[:-1])
        return np.asarray(np.maximum.reduceat(of_clique[self.holders.indices], self.holders.indptr[:-1]))


def dissected(cliques: Matrix) -> Forest:
    """Find fronts for the vertices (columns) of which every clique (row) is coupled."""
    n = cliques.shape[1]
    front, above = np.full(n, -1), [np.zeros(0, dtype=np.int64)]
    # The front above each vertex that has none yet.
    beyond, count = np.full(n, -1), 0
    waiting = np.ones(n, dtype=bool)
    while waiting.any():
        vertices = np.flatnonzero(waiting)
        part, n_parts = _connected(cliques, vertices)
        # Parts are fronts as they are, or their separators are; the rest of these waits.
        chosen = np.zeros(len(vertices), dtype=bool)
        large = (np.bincount(part) > LEAF)[part]
        chosen[~large] = True
        if large.any():
            chosen[large] = _separators(cliques, vertices[large], part[large])
        number = count + part
        above_part = np.empty(n_parts, dtype=np.int64)
        above_part[part] = beyond[vertices]
        front[vertices[chosen]] = number[chosen]
        beyond[vertices] = number
        waiting[vertices[chosen]] = False
        above.append(above_part)
        count += n_parts
    return Forest(front, np.concatenate(above))


def _connected(cliques: Matrix, vertices: Cells) -> tuple[Cells, int]:
    """Number the parts into which some vertices fall without the others."""
    among = sparse.csr_array(cliques[:, vertices])
    n_cliques, n = among.shape
    shape = (n + n_cliques, n + n_cliques)
    graph = sparse.csr_array(
        (among.data, among.indices, np.concatenate([np.zeros(n, among.indptr.dtype), among.indptr])), shape=shape
    )
    part = csgraph.connected_components(graph, directed=False)[1][:n]
    _, part = np.unique(part, return_inverse=True)
    return part, int(part.max()) + 1


def _separators(cliques: Matrix, vertices: Cells, part: Cells) -> Flags:
    """Return, of some vertices, which separate their part; all of those of a part that is not worth cutting."""
    order = np.argsort(part, kind="stable")
    starts = np.flatnonzero(np.diff(part[order], prepend=-1))
    among = sparse.csr_array(cliques[:, vertices[order]])
    among = sparse.csr_array(among[np.diff(among.indptr) > 1])
    parts = _Parts(among, sparse.csr_array(among.T), starts)
    best = WORTHWHILE * _alone(parts.sizes.astype(float))
    chosen = np.ones(len(vertices), dtype=bool)
    for value in _levels(parts):
        first, reach = _shifted(parts, value, parts.reach(value))
        cost, level = _cheapest(parts, first, reach)
        better = cost < best
        best = np.where(better, cost, best)
        # Those up to the level that reach beyond it.
        between = (first <= level[parts.part]) & (level[parts.part] < reach)
        chosen = np.where(better[parts.part], between, chosen)
    separates = np.empty(len(vertices), dtype=bool)
    separates[order] = chosen
    return separates


def _levels(parts: _Parts) -> list[Cells]:
    """Return numbers of the vertices along which parts may be cut.

    Distances from one end of a part, from the whole of the other end, from the whole of the end that is opposite to
    that, and whether a vertex is nearer to the one or to the other; each in both directions.
    """
    anyone = parts.one_of(np.ones(parts.cliques.shape[1], dtype=bool))
    one = parts.distances(parts.one_of(parts.farthest(parts.distances(anyone))))
    other = parts.distances(parts.one_of(parts.farthest(one)))
    end = parts.distances(np.flatnonzero(parts.farthest(one)))
    opposite = parts.distances(np.flatnonzero(parts.farthest(end)))
    return [sign * value for value in (one, end, opposite, one - other) for sign in (1, -1)]


def _shifted(parts: _Parts, value: Cells, reach: Cells) -> tuple[Cells, Cells]:
    """Number the levels of every part from zero."""
    least = np.minimum.reduceat(value, parts.starts)[parts.part]
    return value - least, reach - least


def _cheapest(parts: _Parts, value: Cells, reach: Cells) -> tuple[Numbers, Cells]:
    """Return for every part the least arithmetic of a cut after some level, and that level.

    A cut after a level separates what reaches no further from what lies beyond, by those that do reach further.
    """
    levels = np.maximum.reduceat(value, parts.starts) + 1
    first = np.cumsum(levels) - levels
    within, total = first[parts.part], int(levels.sum())
    start, size = np.repeat(parts.starts, levels), np.repeat(parts.sizes, levels)
    up_to = np.cumsum(np.bincount(within + value, minlength=total)) - start
    inside = np.cumsum(np.bincount(within + reach, minlength=total)) - start
    cost = _cut((up_to - inside).astype(float), inside.astype(float), (size - up_to).astype(float))
    least = np.minimum.reduceat(cost, first)
    of_level = np.repeat(np.arange(len(levels)), levels)
    hits = np.flatnonzero(cost == least[of_level])
    hits = hits[np.unique(of_level[hits], return_index=True)[1]]
    return least, hits - first


def _alone(size: Numbers) -> Numbers:
    """The arithmetic of a dense factorisation."""
    return np.asarray(size**3 / 3)


def _cut(separator: Numbers, one: Numbers, other: Numbers) -> Numbers:
    """The arithmetic of both sides, coupled with the separator, and of the separator."""
    sides = sum(_alone(side) + side**2 * separator + side * separator**2 for side in (one, other))
    return np.asarray(sides + _alone(separator))
