"""A programme laid out for a general solver.

    minimise    cost · z + ½ Σ curvature z²
    subject to  row_low ≤ A z ≤ row_high,   low ≤ z ≤ high

The columns of z are the blocks x, r, g and m of :mod:`evenhand.program`, and any that a caller adds; every block
of columns and of rows keeps its name, so that answers and multipliers can be read back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from evenhand.counts import Numbers
from evenhand.program import Loss, Matrix, Multipliers, Program

INFINITY = float("inf")


@dataclass(frozen=True, eq=False)
class Columns:
    """A named block of variables with their bounds and cost."""

    name: str
    low: Numbers
    high: Numbers
    cost: Numbers


@dataclass(frozen=True, eq=False)
class Rows:
    """A named block of rows: one matrix for each block of columns that it touches."""

    name: str
    parts: dict[str, Matrix]
    low: Numbers
    high: Numbers


@dataclass(frozen=True, eq=False)
class Model:
    """Blocks of columns and rows; see the module's docstring."""

    columns: tuple[Columns, ...]
    rows: tuple[Rows, ...]

    def column(self, name: str) -> slice:
        """Return where a block of columns lies in z."""
        return _slice([(c.name, len(c.low)) for c in self.columns], name)

    def row(self, name: str) -> slice:
        """Return where a block of rows lies in A."""
        return _slice([(r.name, len(r.low)) for r in self.rows], name)

    def with_blocks(self, columns: Sequence[Columns] = (), rows: Sequence[Rows] = ()) -> Model:
        """Return the model with further blocks at the end."""
        return Model(self.columns + tuple(columns), self.rows + tuple(rows))

    def with_cost(self, **costs: Numbers) -> Model:
        """Return the model with these blocks' costs, and no others."""
        blocks = (replace(c, cost=costs.get(c.name, np.zeros(len(c.low)))) for c in self.columns)
        return Model(tuple(blocks), self.rows)

    @property
    def cost(self) -> Numbers:
        """The cost of every column."""
        return np.concatenate([c.cost for c in self.columns])

    @property
    def bounds(self) -> tuple[Numbers, Numbers]:
        """The bounds of every column."""
        return np.concatenate([c.low for c in self.columns]), np.concatenate([c.high for c in self.columns])

    @property
    def row_bounds(self) -> tuple[Numbers, Numbers]:
        """The bounds of every row."""
        return np.concatenate([r.low for r in self.rows]), np.concatenate([r.high for r in self.rows])

    @property
    def matrix(self) -> Matrix:
        """A, as one CSR array."""
        entries: list[tuple[Numbers, Numbers, Numbers]] = []
        for block in self.rows:
            first_row = self.row(block.name).start
            for name, part in block.parts.items():
                coo = sparse.coo_array(part)
                first_column = self.column(name).start
                entries.append((coo.data, coo.coords[0] + first_row, coo.coords[1] + first_column))
        data, row, column = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        shape = (sum(len(r.low) for r in self.rows), sum(len(c.low) for c in self.columns))
        return sparse.csr_array((data, (row, column)), shape=shape)


def lay_out(program: Program) -> Model:
    """Write a programme's constraints as a model without a cost."""
    columns = (
        _columns("x", program.n_moves, 0.0, INFINITY),
        _columns("r", program.n_targets, -INFINITY, INFINITY),
        _columns("g", program.n_rates, -INFINITY, INFINITY),
        _columns("m", program.n_auxiliary, 0.0, 1.0),
    )
    parity = program.parity.matrix
    rows = (
        equalities("simplex", {"x": program.simplex}, np.ones(program.n_sources)),
        equalities("released", {"x": program.release, "r": -_eye(program.n_targets)}, np.zeros(program.n_targets)),
        equalities("rates", {"x": program.rates, "g": -_eye(program.n_rates)}, np.zeros(program.n_rates)),
        at_most(
            "parity",
            {"g": parity[:, : program.n_rates], "m": parity[:, program.n_rates :]},
            program.parity.limit,
        ),
        at_most("budgets", {"x": program.budgets.matrix}, program.budgets.limit),
    )
    return Model(columns, rows)


def equalities(name: str, parts: dict[str, Matrix], right: Numbers) -> Rows:
    """Return a block of rows that equal ``right``."""
    return Rows(name, parts, right, right)


def at_most(name: str, parts: dict[str, Matrix], limit: Numbers) -> Rows:
    """Return a block of rows that stay at or below ``limit``."""
    return Rows(name, parts, np.full(len(limit), -INFINITY), limit)


def multipliers_of(model: Model, duals: Numbers, loss: Loss) -> Multipliers:
    """Read multipliers out of the duals of all rows (those of the Lagrangian ``cost·z + dual·(A z − b)``)."""
    return Multipliers(
        loss.clip(duals[model.row("released")]),
        np.maximum(duals[model.row("parity")], 0.0),
        np.maximum(duals[model.row("budgets")], 0.0),
    )


def _columns(name: str, size: int, low: float, high: float) -> Columns:
    return Columns(name, np.full(size, low), np.full(size, high), np.zeros(size))


def _eye(size: int) -> Matrix:
    return sparse.eye_array(size, format="csr")


def _slice(blocks: list[tuple[str, int]], name: str) -> slice:
    start = 0
    for block, size in blocks:
        if block == name:
            return slice(start, start + size)
        start += size
    raise KeyError(name)
