"""Which programmes the specialised method takes: from where it is faster, and as long as its matrices are small."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from evenhand.optimise.program import Program
from evenhand.optimise.solve.structured.form import Pieces, pieces_of
from evenhand.optimise.solve.structured.layout import CLUSTER_ROWS, connected, tokens

FROM_MOVES = 4_500
"""With fewer moves the general solvers are as fast."""

LARGEST_BLOCK = 4_000
"""The most targets that may hang together: their matrix is dense, and its factorisation grows with the cube."""

MOST_ENTRIES = 60_000_000
"""The most entries of all blocks and the border together: half a gigabyte."""

MOST_PAIRS = 40_000_000
"""The most pairs of targets, over all clusters of owners: of each the product is kept, and where it goes, forty bytes.

Measured below, general solvers took up to twice the memory or two thirds of it, and more time throughout; at twice as
many pairs they took 0.8 GB instead of more than 2, and less time.
"""

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
    if pieces is None or _pairs(program) > MOST_PAIRS:
        return None
    charged = sparse.coo_array(program.budgets.matrix)
    shape = program.n_sources, max(1, len(program.budgets))
    holdings = connected(program.source[charged.coords[1]], charged.coords[0], shape)[: program.n_sources]
    if np.bincount(holdings).max(initial=0) > LARGEST_HOLDING:
        return None
    release = sparse.coo_array(program.release[pieces.targets])
    shape = len(pieces.targets), program.n_sources
    blocks = connected(release.coords[0], program.source[release.coords[1]], shape)[: len(pieces.targets)]
    sizes = np.bincount(blocks)
    # Stacks are filled up by a quarter at most.
    entries = 1.25**2 * float((sizes.astype(float) ** 2).sum()) + len(pieces.targets) * program.n_rates
    return pieces if sizes.max(initial=0) <= LARGEST_BLOCK and entries <= MOST_ENTRIES else None


def _pairs(program: Program) -> float:
    """Return about how many pairs of targets clusters have: one of owners with the same targets has each pair once."""
    release = sparse.coo_array(program.release)
    owner, target = program.source[release.coords[1]].astype(np.int64), release.coords[0].astype(np.int64)
    token = tokens(owner, target, (program.n_sources, program.n_targets))
    _, kind, owners = np.unique(token, return_inverse=True, return_counts=True)
    together = max(1, int(CLUSTER_ROWS // (1 + len(program.budgets) / program.n_sources)))
    return float((np.diff(program.starts) ** 2.0 / np.minimum(owners, together)[kind]).sum())
