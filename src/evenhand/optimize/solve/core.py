"""The core of a programme: the few owners and choices that decide what is feasible.

Where no loss counts, of two choices of an owner that make the same rates the one that charges every budget less does
all that the other can. And owners who have the same choices, at the same charges of budgets of their own, may as well
all do the same: the mean of what they do meets every bound that they meet. An edge of a large programme is then an
edge of a small one, and a proof of the small one is a proof of the large one, each owner bearing its share.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Flags, Numbers, sums
from evenhand.optimize.program import Inequalities, Matrix, Multipliers, Program
from evenhand.resources import heed

DIGITS = 12
"""Numbers that agree in so many digits are the same."""


@dataclass(frozen=True, eq=False)
class Core:
    """A small programme, without r, and the way back to the one that it stands for.

    Attributes
    ----------
    whole, program : Program
        The programme, and its core.
    place : array
        The core's choice that each choice stands for; −1 where it is not needed.
    budget, share : arrays
        The core's budget that each budget stands for, −1 where it is not needed, and the share that its owner has in
        the weight of the core's.
    """

    whole: Program
    program: Program
    place: Cells
    budget: Cells
    share: Numbers

    def back(self, x: Numbers) -> Numbers:
        """Return the x of the whole programme: everybody does what the core's owner does."""
        return np.where(self.place >= 0, x[self.place], 0.0)

    def multipliers(self, on_parity: Numbers, on_budgets: Numbers) -> Multipliers:
        """Return multipliers of the whole programme that prove what these prove of the core; none on r."""
        whole = np.append(on_budgets, 0.0)[self.budget] * self.share
        return Multipliers(np.zeros(self.whole.n_targets), on_parity, whole)


def core_of(program: Program) -> Core:
    """Return the core of a programme."""
    heed()
    rates = _numbered(*_entries(sparse.csc_array(program.rates), 1 / program.move_weight))
    chosen = _undominated(program, rates)
    charged = sparse.csc_array(sparse.csr_array(program.budgets.matrix)[:, chosen])
    owner = program.source[chosen]
    heed()
    rank, private = _ranks(charged, owner, program.n_sources)
    charges = _numbered(*_entries(sparse.csc_array((charged.data, rank, charged.indptr), shape=charged.shape), None))
    kind = _numbered(rates[chosen], charges)
    stands_for, leaders = _alike(owner, kind, private)
    weight = sums(stands_for, program.weight)
    leading = np.zeros(program.n_sources, dtype=bool)
    leading[leaders] = True
    led = np.flatnonzero(leading[owner])
    led = led[np.argsort(stands_for[owner[led]], kind="stable")]
    # The core's choice of each owner's kind and each choice's.
    pair = _numbered(stands_for[owner], kind)
    at = np.full(int(pair.max()) + 1, -1)
    at[pair[led]] = np.arange(len(led))
    place = np.full(program.n_moves, -1)
    place[chosen] = at[pair]
    rows, budget, holder = _budgets(charged, owner, rank, stands_for, leading)
    share = program.weight / weight[stands_for]
    larger = sparse.diags_array(1 / share[owner[led]], format="csr")
    fewer = replace(
        program,
        starts=np.concatenate([[0], np.cumsum(np.bincount(stands_for[owner[led]], minlength=len(weight)))]),
        weight=weight,
        release=sparse.csr_array((0, len(led))),
        rates=sparse.csr_array(sparse.csr_array(program.rates)[:, chosen[led]] @ larger),
        budgets=Inequalities(sparse.csr_array(sparse.csr_array(charged)[rows][:, led]), program.budgets.limit[rows]),
        budget_unit=program.budget_unit[rows],
        original=np.zeros(0),
        distortion=program.distortion[chosen[led]],
        change=program.change[chosen[led]],
    )
    return Core(program, fewer, place, budget, np.where(private[holder], share[holder], 1.0))


def _undominated(program: Program, rates: Cells) -> Cells:
    """Return the choices that no other of the same owner and the same rates dominates, and of equal ones the first.

    Only a choice that charges every budget least of all is seen to dominate; without one all stay.
    """
    charges = sparse.csc_array(program.budgets.matrix)
    alike = _numbered(program.source, rates)
    column = np.repeat(np.arange(program.n_moves), np.diff(charges.indptr))
    # What the choices alike charge each budget at least: nothing, where one of them does not charge it.
    pair = _numbered(alike[column], charges.indices)
    size = int(pair.max(initial=-1)) + 1
    least, of_pair = np.full(size, np.inf), np.zeros(size, dtype=np.int64)
    np.minimum.at(least, pair, charges.data)
    of_pair[pair] = alike[column]
    least = np.where(np.bincount(pair, minlength=size) == np.bincount(alike)[of_pair], least, 0.0)
    above = np.bincount(column, charges.data > least[pair], minlength=program.n_moves) > 0
    beaten = above & (np.bincount(alike, ~above) > 0)[alike]
    same = _numbered(alike, _numbered(*_entries(charges, None)))
    first = np.unique(np.where(beaten, -1, same), return_index=True)[1]
    return np.sort(first[~beaten[first]])


def _ranks(charged: Matrix, owner: Cells, n_owners: int) -> tuple[Cells, Flags]:
    """Return, for each entry, the rank of its budget among its owner's; and which owners share no budget."""
    holder = np.repeat(owner, np.diff(charged.indptr))
    pairs, pair = np.unique(holder * charged.shape[0] + charged.indices, return_inverse=True)
    of_pair, row = np.divmod(pairs, charged.shape[0]) if charged.shape[0] else (pairs, pairs)
    rank = np.arange(len(pairs)) - np.searchsorted(of_pair, of_pair)
    private = np.ones(n_owners, dtype=bool)
    private[of_pair[np.bincount(row, minlength=1)[row] > 1]] = False
    return rank[pair], private


def _alike(owner: Cells, kind: Cells, private: Flags) -> tuple[Cells, Cells]:
    """Return the number of each owner's kind, and the first owner of each: the same choices, and no budget shared."""
    order = np.lexsort((kind, owner))
    width = np.bincount(owner, minlength=len(private))
    place = np.arange(len(owner)) - np.repeat(np.cumsum(width) - width, width)
    table = np.full((int(width.max()), len(private)), -1)
    table[place, owner[order]] = kind[order]
    alone = np.where(private, -1, np.arange(len(private)))
    number = _numbered(*table, alone)
    _, leaders, stands_for = np.unique(number, return_index=True, return_inverse=True)
    return stands_for, leaders


def _budgets(
    charged: Matrix, owner: Cells, rank: Cells, stands_for: Cells, leading: Flags
) -> tuple[Cells, Cells, Cells]:
    holder = np.repeat(owner, np.diff(charged.indptr))
    rows = np.unique(charged.indices[leading[holder]])
    number = np.full(charged.shape[0], -1)
    number[rows] = np.arange(len(rows))
    pair = _numbered(stands_for[holder], rank)
    at = np.full(int(pair.max(initial=-1)) + 1, -1)
    led = leading[holder]
    at[pair[led]] = number[charged.indices[led]]
    budget, of = np.full(charged.shape[0], -1), np.zeros(charged.shape[0], dtype=np.int64)
    budget[charged.indices], of[charged.indices] = at[pair], holder
    return rows, budget, of


def _entries(columns: Matrix, scale: Numbers | None) -> tuple[Numbers | Cells, ...]:
    """Return the columns of a matrix as a table of places and rounded values, one array for each line."""
    columns = sparse.csc_array(columns, copy=True)
    columns.sort_indices()
    length = np.diff(columns.indptr)
    column = np.repeat(np.arange(columns.shape[1]), length)
    place = np.arange(columns.nnz) - columns.indptr[column]
    data = columns.data if scale is None else columns.data * scale[column]
    mantissa, exponent = np.frexp(data)
    width = int(length.max(initial=0))
    lines = np.zeros((2 * width + 1, columns.shape[1]))
    lines[place, column] = columns.indices + 1
    lines[width + place, column] = np.ldexp(np.round(mantissa, DIGITS), exponent)
    return tuple(lines)


def _numbered(*lines: Numbers | Cells) -> Cells:
    """Number the columns of a table, the same number for the same column."""
    number = np.zeros(len(lines[0]), dtype=np.int64)
    for values in lines:
        if len(values) and np.any(values != values[0]):
            place = np.unique(values, return_inverse=True)[1]
            number = np.unique(number * (int(place.max()) + 1) + place, return_inverse=True)[1]
    return number
