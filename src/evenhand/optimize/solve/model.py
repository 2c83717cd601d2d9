"""A programme laid out for a general solver.

    minimise    cost · z + ½ Σ curvature z²
    subject to  row_low ≤ A z ≤ row_high,   low ≤ z ≤ high

The columns of z are the blocks x, r, g and m of :mod:`evenhand.optimize.program`, and any that a caller adds; every
block of columns and of rows keeps its name, so that answers and multipliers can be read back.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Numbers
from evenhand.optimize.program import Loss, Matrix, Multipliers, Program
from evenhand.resources import heed

INFINITY = float("inf")

SMALLEST_UNIT = 1e-6
"""Rates below this are treated as if they were this large."""


@dataclass(frozen=True, eq=False)
class Columns:
    """A named block of variables with their bounds and cost."""

    name: str
    low: Numbers
    high: Numbers
    cost: Numbers

    @classmethod
    def of(cls, name: str, size: int, low: float, high: float, cost: Numbers | None = None) -> Columns:
        """Return a block whose variables have the same bounds; they cost nothing unless stated."""
        return cls(name, np.full(size, low), np.full(size, high), np.zeros(size) if cost is None else cost)


@dataclass(frozen=True, eq=False)
class Rows:
    """A named block of rows: one matrix for each block of columns that it touches.

    A solver sees each row divided by its ``unit``, so that its absolute tolerance is one in those units.
    """

    name: str
    parts: dict[str, Matrix]
    low: Numbers
    high: Numbers
    unit: Numbers | float = 1.0


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
        return np.concatenate([c.cost for c in self.columns])

    @property
    def bounds(self) -> tuple[Numbers, Numbers]:
        return np.concatenate([c.low for c in self.columns]), np.concatenate([c.high for c in self.columns])

    @property
    def row_bounds(self) -> tuple[Numbers, Numbers]:
        low = np.concatenate([r.low / r.unit for r in self.rows])
        return low, np.concatenate([r.high / r.unit for r in self.rows])

    @property
    def shape(self) -> tuple[int, int]:
        return sum(len(r.low) for r in self.rows), sum(len(c.low) for c in self.columns)

    @property
    def entries(self) -> tuple[Numbers, Cells, Cells]:
        """What A holds: values, rows, columns."""
        entries: list[tuple[Numbers, Cells, Cells]] = []
        for block in self.rows:
            heed()
            first_row = self.row(block.name).start
            for name, part in block.parts.items():
                row = np.repeat(np.arange(part.shape[0]), np.diff(part.indptr))
                unit = np.broadcast_to(block.unit, part.shape[0])[row]
                entries.append((part.data / unit, row + first_row, part.indices + self.column(name).start))
        data, row, column = (np.concatenate(parts) for parts in zip(*entries, strict=True))
        return data, row, column

    @property
    def matrix(self) -> Matrix:
        """A, as one CSR array."""
        data, row, column = self.entries
        return sparse.csr_array((data, (row, column)), shape=self.shape)


def lay_out(program: Program, *, in_units: bool = True) -> Model:
    """Write a programme's constraints as a model without a cost.

    ``in_units`` divides the rows of rates and parity by the size of what they compare.
    """
    heed()
    columns = (
        Columns.of("x", program.n_moves, 0.0, INFINITY),
        Columns.of("r", program.n_targets, -INFINITY, INFINITY),
        Columns.of("g", program.n_rates, -INFINITY, INFINITY),
        Columns.of("m", program.n_auxiliary, 0.0, 1.0),
    )
    parity = program.parity.matrix
    parity_unit, rate_unit = _units(program) if in_units else (1.0, 1.0)
    rows = (
        equalities("simplex", {"x": program.simplex}, np.ones(program.n_sources)),
        equalities("released", {"x": program.release, "r": -eye(program.n_targets)}, np.zeros(program.n_targets)),
        equalities("rates", {"x": program.rates, "g": -eye(program.n_rates)}, np.zeros(program.n_rates), rate_unit),
        at_most(
            "parity",
            {"g": parity[:, : program.n_rates], "m": parity[:, program.n_rates :]},
            program.parity.limit,
            parity_unit,
        ),
        at_most("budgets", {"x": program.budgets.matrix}, program.budgets.limit),
    )
    return Model(columns, rows)


def _units(program: Program) -> tuple[Numbers | float, Numbers | float]:
    """Return the size of the rates that each parity row compares, and the smallest that each rate is compared with.

    A rare outcome's rates are small, and a distance between them is relative; so must the tolerance be. Sizes are taken
    where nothing moves.
    """
    g = program.rates @ program.stays
    size = abs(program.parity.matrix)
    on_m = size[:, program.n_rates :] @ program.auxiliary(g)
    of_row = np.where(on_m > 0, on_m, size[:, : program.n_rates] @ g)
    of_row = np.where(of_row > 0, np.clip(of_row, SMALLEST_UNIT, 1.0), 1.0)
    of_rate = np.ones(program.n_rates)
    rows, columns = size[:, : program.n_rates].nonzero()
    np.minimum.at(of_rate, columns, of_row[rows])
    return of_row, of_rate


def equalities(name: str, parts: dict[str, Matrix], right: Numbers, unit: Numbers | float = 1.0) -> Rows:
    return Rows(name, parts, right, right, unit)


def at_most(name: str, parts: dict[str, Matrix], limit: Numbers, unit: Numbers | float = 1.0) -> Rows:
    """Return a block of rows that stay at or below ``limit``."""
    return Rows(name, parts, np.full(len(limit), -INFINITY), limit, unit)


def row_multipliers(model: Model, duals: Numbers, name: str) -> Numbers:
    """Read the multipliers of a block of inequalities out of the duals of all rows."""
    (unit,) = (block.unit for block in model.rows if block.name == name)
    return np.maximum(duals[model.row(name)] / unit, 0.0)


def multipliers_of(model: Model, duals: Numbers, loss: Loss) -> Multipliers:
    """Read multipliers out of the duals of all rows (those of the Lagrangian ``cost·z + dual·(A z − b)``)."""
    released = loss.clip(duals[model.row("released")])
    return Multipliers(released, *(row_multipliers(model, duals, name) for name in ("parity", "budgets")))


def eye(size: int) -> Matrix:
    return sparse.eye_array(size, format="csr")


def one_column(values: Numbers) -> Matrix:
    """Return the coefficients of a single variable."""
    return sparse.csr_array(values.reshape(-1, 1))


def relief_at(program: Program, g: Numbers) -> Numbers:
    """Return what one unit more of the bound adds to each parity row's slack at rates g."""
    z = np.concatenate([g, program.auxiliary(g)])
    return np.asarray(program.relief.limit - program.relief.matrix @ z)


def _slice(blocks: list[tuple[str, int]], name: str) -> slice:
    start = 0
    for block, size in blocks:
        if block == name:
            return slice(start, start + size)
        start += size
    raise KeyError(name)
