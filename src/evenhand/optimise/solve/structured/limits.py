"""Which programmes the specialised method takes: from where it is faster, and as long as its matrices are small."""

from __future__ import annotations

import numpy as np
from scipy import sparse
from scipy.sparse import csgraph

from evenhand.arrays import Cells
from evenhand.optimise.program import Program
from evenhand.optimise.solve.structured.form import Pieces, pieces_of

FROM_MOVES = 4_500
"""With fewer moves the general solvers are as fast."""

LARGEST_BLOCK = 4_000
"""The most targets that may hang together: their matrix is dense, and its factorisation grows with the cube."""

MOST_ENTRIES = 60_000_000
"""The most entries of all blocks and the border together: half a gigabyte."""

MOST_RATES = 400
"""The most rates, and the most parity rows: their matrix is dense as well."""

LARGEST_HOLDING = 100
"""The most owners that may share budgets."""


def suitable(program: Program) -> Pieces | None:
    """Return the loss in pieces if the programme is one for the specialised method, else None."""
    if program.n_moves < FROM_MOVES or max(program.n_rates, len(program.parity)) > MOST_RATES:
        return None
    # Where a choice spreads over several targets, rows of r depend on one another.
    spreads = np.any(np.bincount(program.release.indices, minlength=1) > 1)
    pieces = None if spreads else pieces_of(program)
    if pieces is None or _largest_holding(program) > LARGEST_HOLDING:
        return None
    sizes = _block_sizes(program, pieces)
    # Stacks are filled up by a quarter at most.
    entries = 1.25**2 * float((sizes.astype(float) ** 2).sum()) + len(pieces.targets) * program.n_rates
    return pieces if sizes.max(initial=0) <= LARGEST_BLOCK and entries <= MOST_ENTRIES else None


def _block_sizes(program: Program, pieces: Pieces) -> Cells:
    """Return how many targets hang together, for every block."""
    release = sparse.coo_array(program.release[pieces.targets])
    shape = (len(pieces.targets), program.n_sources)
    links = sparse.csr_array(
        (np.ones(release.nnz), (release.coords[0], program.source[release.coords[1]])), shape=shape
    )
    return _sizes(links)


def _largest_holding(program: Program) -> int:
    """Return the most owners that are tied together by budgets."""
    budgets = sparse.coo_array(program.budgets.matrix)
    shape = (program.n_sources, max(1, len(program.budgets)))
    links = sparse.csr_array(
        (np.ones(budgets.nnz), (program.source[budgets.coords[1]], budgets.coords[0])), shape=shape
    )
    return int(_sizes(links).max(initial=0))


def _sizes(links: sparse.csr_array) -> Cells:
    """Return how many rows are in each connected part."""
    graph = sparse.block_array([[None, links], [links.T, None]], format="csr")
    label = csgraph.connected_components(graph, directed=False)[1]
    return np.asarray(np.bincount(label[: links.shape[0]]))
