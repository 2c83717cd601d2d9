"""The form that the specialised method solves: separable, over pairs of a variable and its reduced cost.

    minimise    cost · z  +  Σ (φ(v) − cost · v)      the second over smooth losses alone
    over        z = (q, w, v, m, n, t) ≥ 0, g free
    subject to  Σ over the choices of an owner of q = its weight      local: simplex
                B q + w = b                                           local: budgets
                R q + E v = c                                         release: the loss, a row per target
                G q − g = 0                                           rates
                H (g, m) + t = h,   m + n = 1                         parity

q are the choices in units of mass (weight × probability), so that every multiplier is of the size of a price. An ℓ1
loss has two v per target, of cost one, for what it gains and loses. A smooth loss has one v = r per target that decides
it, and the pair of v and its reduced cost must end on a curve (:mod:`evenhand.optimize.solve.structured.curves`) where
any other must end with a product of zero. All else is linear. A target that a smooth loss is linear in has no row: what
it costs is a price of the choices that lead there.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Flags, Numbers
from evenhand.optimize.program import Matrix, Multipliers, PolyhedralLoss, Program, SmoothLoss
from evenhand.optimize.solve.structured.curves import Curve


@dataclass(frozen=True, eq=False)
class Pieces:
    """The loss as columns v: the row (a target) of each, its coefficient there, its cost.

    ``targets`` are the targets that have a row, ``on_r`` is the coefficient of r in it, ``right`` its right-hand side.
    With a ``curve`` there is one v for each row, r. ``beside`` is what r costs where there is no row. Costs are all
    in units of ``unit``.
    """

    targets: Cells
    on_r: Numbers
    right: Numbers
    row: Cells
    on_v: Numbers
    cost: Numbers
    curve: Curve | None = None
    beside: Numbers | None = None
    unit: float = 1.0


@dataclass(frozen=True, eq=False)
class Form:
    """The arrays of the form above.

    Attributes
    ----------
    matrix : Matrix
        The coefficients of q: local rows (owners, then budgets), then release rows, then rates.
    right : array
        The right-hand sides of those rows.
    n_owners, n_budgets, n_rates : int
        How many rows there are of each kind; release rows are those of ``pieces``.
    pieces : Pieces
        The loss.
    prices : array
        The cost of every z.
    on_g, on_m, limit : arrays
        H over g and over m, dense, and h.
    budgets, budget_scale : arrays
        Which of the programme's budgets have a row, and what it was multiplied by.
    choices : array
        Which of the programme's choices q are.
    scale : array
        What each q must be divided by to be a probability.
    """

    matrix: Matrix
    right: Numbers
    n_owners: int
    n_budgets: int
    n_rates: int
    pieces: Pieces
    prices: Numbers
    on_g: Numbers
    on_m: Numbers
    limit: Numbers
    budgets: Cells
    budget_scale: Numbers
    choices: Cells
    scale: Numbers

    @property
    def n_choices(self) -> int:
        """The length of q."""
        return len(self.choices)

    @property
    def n_local(self) -> int:
        """The number of local rows."""
        return self.n_owners + self.n_budgets

    @property
    def n_release(self) -> int:
        """The number of release rows."""
        return len(self.pieces.targets)

    @property
    def release_rows(self) -> slice:
        return slice(self.n_local, self.n_local + self.n_release)

    @property
    def rate_rows(self) -> slice:
        return slice(self.n_local + self.n_release, self.n_local + self.n_release + self.n_rates)

    @property
    def budget_rows(self) -> slice:
        return slice(self.n_owners, self.n_local)

    @cached_property
    def transposed(self) -> Matrix:
        """The coefficients of q, one row per choice."""
        columns = sparse.csr_array(self.matrix.T)
        columns.sort_indices()
        return columns

    @cached_property
    def on_rates(self) -> Matrix:
        return self.matrix[self.rate_rows]

    @cached_property
    def on_pieces(self) -> Matrix:
        """The coefficients of v, one row per release row."""
        shape = (self.n_release, len(self.pieces.row))
        return sparse.csr_array((self.pieces.on_v, (self.pieces.row, np.arange(shape[1]))), shape=shape)

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where each block of z lies."""
        return _parts(self.n_choices, self.n_budgets, len(self.pieces.row), self.on_m.shape[1], len(self.limit))

    @cached_property
    def parity_right(self) -> Numbers:
        """The right-hand sides of parity and of m + n."""
        return np.concatenate([self.limit, np.ones(self.on_m.shape[1])])

    @cached_property
    def vanishing(self) -> Flags:
        """The pairs whose product must end at zero: all but those on a curve."""
        flags = np.ones(len(self.prices), dtype=bool)
        flags[self.parts["v"]] = self.pieces.curve is None
        return flags

    @cached_property
    def signed(self) -> tuple[Flags, Flags]:
        """The z and the s that must stay positive."""
        z, s = self.vanishing.copy(), self.vanishing.copy()
        if (curve := self.pieces.curve) is not None:
            z[self.parts["v"]], s[self.parts["v"]] = curve.open, curve.bounded
        return z, s

    def same_pattern(self, other: Form) -> bool:
        """Whether another form has as many of everything, and entries in the same places."""
        return (
            self.matrix.shape == other.matrix.shape
            and {name: part.stop for name, part in self.parts.items()} == {n: p.stop for n, p in other.parts.items()}
            and np.array_equal(self.pieces.row, other.pieces.row)
            and np.array_equal(self.matrix.indptr, other.matrix.indptr)
            and np.array_equal(self.matrix.indices, other.matrix.indices)
        )

    def probabilities(self, z: Numbers, size: int) -> Numbers:
        """Return the probability of every choice of the programme, of which there are ``size``."""
        x = np.zeros(size)
        x[self.choices] = z[self.parts["q"]] / self.scale
        return x


def _parts(q: int, w: int, v: int, m: int, t: int) -> dict[str, slice]:
    sizes = {"q": q, "w": w, "v": v, "m": m, "n": m, "t": t}
    ends = np.cumsum(list(sizes.values())).tolist()
    return {name: slice(end - size, end) for (name, size), end in zip(sizes.items(), ends, strict=True)}


def pieces_of(program: Program) -> Pieces | None:
    """Return the loss as separate pieces; None where it is not of that form."""
    loss = program.loss
    if isinstance(loss, SmoothLoss):
        return _smooth_pieces(program, loss)
    if not isinstance(loss, PolyhedralLoss):
        return None
    # An epigraph must have one row per target, and columns of one entry.
    epigraph, size = loss.epigraph, program.n_targets
    on_r, on_v = sparse.csr_array(epigraph.on_r), sparse.csc_array(epigraph.on_v)
    targets = np.arange(size)
    diagonal = on_r.shape == (size, size) and np.array_equal(on_r.indptr, np.arange(size + 1))
    if not diagonal or not np.array_equal(on_r.indices, targets) or np.any(np.diff(on_v.indptr) != 1):
        return None
    return Pieces(
        targets, on_r.data, epigraph.right, on_v.indices.astype(np.int64), on_v.data, epigraph.cost
    )  # fmt: skip


def _smooth_pieces(program: Program, loss: SmoothLoss) -> Pieces | None:
    """Return a smooth loss as pieces; None where a cell that decides it is empty whatever anybody does."""
    reached = np.diff(program.release.indptr) > 0
    if np.any(loss.decisive & ~reached):
        return None
    targets = np.flatnonzero(loss.decisive)
    one, zero = np.ones(len(targets)), np.zeros(len(targets))
    curve = Curve(loss, targets)
    beside = np.where(loss.decisive, 0.0, loss.gradient(loss.start) / curve.unit)
    return Pieces(targets, one, zero, np.arange(len(targets)), -one, curve.ceiling, curve, beside, curve.unit)


def held(targets: Cells, r: Numbers, price: float) -> Pieces:
    """Return pieces that hold r on some targets, at a price for what is more or less."""
    size = len(targets)
    one = np.ones(size)
    row = np.tile(np.arange(size), 2)
    price_of = np.full(2 * size, price)
    return Pieces(targets, one, r[targets], row, np.concatenate([-one, one]), price_of)


def form_of(program: Program, pieces: Pieces, chosen: Flags | None = None) -> Form:
    """Write a programme in the form above, in units of mass; with some of its choices only."""
    choices = np.arange(program.n_moves) if chosen is None else np.flatnonzero(chosen)
    scale = program.move_weight[choices]
    to_mass = sparse.csr_array((1 / scale, choices, np.arange(len(choices) + 1)), shape=(len(choices), program.n_moves))
    to_mass = sparse.csr_array(to_mass.T)
    charged = sparse.csr_array(program.budgets.matrix @ to_mass)
    # A budget that none of the choices charges needs no row.
    budgets = np.flatnonzero(np.diff(charged.indptr) > 0)
    charged = charged[budgets]
    # The heaviest entry of a row becomes one.
    heaviest = np.maximum.reduceat(charged.data, charged.indptr[:-1]) if len(budgets) else np.zeros(0)
    budget_scale = 1 / heaviest
    simplex = sparse.csr_array(
        (np.ones(len(choices)), (program.source[choices], np.arange(len(choices)))),
        shape=(program.n_sources, len(choices)),
    )
    parts = [
        simplex,
        sparse.diags_array(budget_scale, format="csr") @ charged,
        sparse.diags_array(pieces.on_r, format="csr") @ program.release[pieces.targets] @ to_mass,
        program.rates @ to_mass,
    ]
    matrix = sparse.vstack([sparse.csr_array(part) for part in parts], format="csr")
    matrix.eliminate_zeros()
    if matrix.nnz <= np.iinfo(np.int32).max:
        matrix.indices, matrix.indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int32)
    right = [program.weight, program.budgets.limit[budgets] * budget_scale, pieces.right, np.zeros(program.n_rates)]
    parity = program.parity.matrix.toarray()
    on_m, limit = parity[:, program.n_rates :], program.parity.limit
    where = _parts(len(choices), len(budgets), len(pieces.row), on_m.shape[1], len(limit))
    prices = np.zeros(where["t"].stop)
    prices[where["v"]] = pieces.cost
    if pieces.beside is not None:
        prices[where["q"]] = (program.release.T @ pieces.beside)[choices] / scale
    return Form(
        matrix, np.concatenate(right), program.n_sources, len(budgets), program.n_rates, pieces, prices,
        parity[:, : program.n_rates], on_m, limit, budgets, budget_scale, choices, scale,
    )  # fmt: skip


def multipliers_in(form: Form, program: Program, y: Numbers, s: Numbers) -> Multipliers:
    """Read the programme's multipliers out of the form's."""
    beside = form.pieces.beside
    on_release = np.zeros(program.n_targets) if beside is None else beside.copy()
    on_release[form.pieces.targets] = -form.pieces.on_r * y[form.release_rows]
    on_budgets = np.zeros(len(program.budgets))
    on_budgets[form.budgets] = np.maximum(s[form.parts["w"]], 0.0) * form.budget_scale
    on_parity, unit = np.maximum(s[form.parts["t"]], 0.0), form.pieces.unit
    return Multipliers(program.loss.clip(unit * on_release), unit * on_parity, unit * on_budgets)
