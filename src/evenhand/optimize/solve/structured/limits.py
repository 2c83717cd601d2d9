"""Which programmes the specialised method takes: from where it is faster, and as long as its matrices are small."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from scipy import sparse

from evenhand.optimize.program import CLUSTER_ROWS, MOST_ENTRIES, MOST_PAIRS, Program

if TYPE_CHECKING:
    from evenhand.optimize.solve.structured.form import Pieces

FROM_MOVES = 4_500
"""With fewer moves the general solvers are as fast."""

MOST_ARITHMETIC = 5e10
"""The most multiplications of a factorisation, which is a few seconds; there may be twenty."""

MOST_RATES = 400
"""The most rates, and the most parity rows: their matrix is dense as well."""

LARGEST_HOLDING = 100
"""The most owners that may share budgets."""


def suitable(program: Program) -> Pieces | None:
    """Return the loss in pieces if the programme is one for the specialised method, else None."""
    if program.n_moves < FROM_MOVES or max(program.n_rates, len(program.parity)) > MOST_RATES:
        return None
    from evenhand.optimize.solve.structured.form import pieces_of
    from evenhand.optimize.solve.structured.layout import connected

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
    return pieces if _bearable(program, pieces) else None


def _bearable(program: Program, pieces: Pieces) -> bool:
    """Whether the release rows' matrix is small enough: if it were dense, or else cut as well as it can be."""
    from evenhand.optimize.solve.structured.fronts import Members, lay_out_fronts
    from evenhand.optimize.solve.structured.layout import cliques_of, connected

    release = sparse.coo_array(program.release[pieces.targets])
    owner, target = program.source[release.coords[1]].astype(np.int64), release.coords[0].astype(np.int64)
    shape, border = (program.n_sources, len(pieces.targets)), len(pieces.targets) * program.n_rates
    sizes = np.bincount(connected(owner, target, shape)[program.n_sources :]).astype(float)
    # Small ones are stacked, and filled up by a quarter at most.
    if 1.25**2 * (sizes**2).sum() + border <= MOST_ENTRIES and (sizes**3).sum() / 6 <= MOST_ARITHMETIC:
        return True
    fronts = lay_out_fronts(cliques_of(Members.of(owner, target, *shape), len(pieces.targets))[1])
    return fronts.size + border <= MOST_ENTRIES and fronts.arithmetic <= MOST_ARITHMETIC


def _pairs(program: Program) -> float:
    """Return about how many pairs of targets clusters have: one of owners with the same targets has each pair once."""
    from evenhand.optimize.solve.structured.layout import tokens

    release = sparse.coo_array(program.release)
    owner, target = program.source[release.coords[1]].astype(np.int64), release.coords[0].astype(np.int64)
    token = tokens(owner, target, (program.n_sources, program.n_targets))
    _, kind, owners = np.unique(token, return_inverse=True, return_counts=True)
    together = max(1, int(CLUSTER_ROWS // (1 + len(program.budgets) / program.n_sources)))
    clusters = np.ceil(owners / together) / owners
    return float((np.diff(program.starts) ** 2.0 * clusters[kind]).sum())
