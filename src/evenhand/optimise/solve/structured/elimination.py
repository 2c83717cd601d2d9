"""The normal equations A Θ Aᵀ y = f of a form, solved by eliminating local rows, then blocks, then the border.

Every stage is a Cholesky factorisation of a stack of small matrices: clusters of local rows, blocks of release rows,
last one dense matrix of the parity rows. See :mod:`evenhand.optimise.solve.structured.layout` for what they hold.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve, lapack

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimise.solve.structured.form import Form
from evenhand.optimise.solve.structured.layout import Layout

LOOPED_FROM = 40
"""Blocks at least this large are solved one by one, smaller ones by the inverse of their factors, a stack at a time."""

REGULARISED = (1e-15, 1e-13, 1e-10)
"""What is added to a diagonal, relative to itself; more where a factorisation fails."""


class Factor:
    """The factorised normal equations for one Θ."""

    def __init__(self, form: Form, layout: Layout, theta: Numbers) -> None:
        self._form, self._layout = form, layout
        self._theta = theta
        for share in REGULARISED:
            try:
                self._factorise(share)
                return
            except np.linalg.LinAlgError:
                continue
        raise SolverError("the normal equations are singular")

    def _factorise(self, share: float) -> None:
        form, layout, theta = self._form, self._layout, self._theta
        known = np.append(theta[: form.parts["v"].stop], 1.0)
        # The local rows, cluster by cluster; what is eliminated is subtracted from the outer matrix.
        own, across = layout.own @ known, layout.across @ known
        self._inverse: list[Numbers] = []
        self._halves: list[Numbers] = []
        products, start = [np.zeros(0)], 0
        for stack in layout.clusters:
            count, q, n = stack.shape
            matrix = own[stack.first : stack.first + count * q * q].reshape(count, q, q)
            _strengthen(matrix, share)
            inverse = np.linalg.inv(np.linalg.cholesky(matrix))
            half = inverse @ across[start : start + count * q * n].reshape(count, q, n)
            self._inverse.append(inverse)
            self._halves.append(half)
            products.append((half.transpose(0, 2, 1) @ half).ravel())
            start += count * q * n
        outer = layout.outer @ known - layout.spread @ np.concatenate(products)
        # The release rows, block by block; only the border couples them.
        border = outer[layout.border : layout.corner].reshape(layout.n_release, layout.n_rates)
        padded = np.vstack([border, np.zeros((1, layout.n_rates))])
        self._blocks: list[Numbers | list[Numbers]] = []
        self._border: list[Numbers] = []
        eliminated = np.zeros((layout.n_rates, layout.n_rates))
        for stack in layout.blocks:
            count, size, _ = stack.shape
            matrix = outer[stack.first : stack.first + count * size * size].reshape(count, size, size)
            _strengthen(matrix, share)
            factor = _factored(matrix)
            half = _solved(factor, padded[stack.rows])
            self._blocks.append(factor)
            self._border.append(half)
            flat = half.reshape(-1, layout.n_rates)
            eliminated += flat.T @ flat
        self._corner = outer[layout.corner :].reshape(form.n_rates, form.n_rates) - eliminated
        # The parity rows. The rates are substituted out: y on them is Hᵀ y on parity.
        of_m, of_n, of_t = (theta[form.parts[name]] for name in ("m", "n", "t"))
        on_m, size = form.on_m, len(form.limit)
        matrix = np.zeros((size + len(of_m), size + len(of_m)))
        matrix[:size, :size] = form.on_g @ self._corner @ form.on_g.T + (on_m * of_m) @ on_m.T + np.diag(of_t)
        matrix[size:, :size] = (on_m * of_m).T
        matrix[:size, size:] = on_m * of_m
        matrix[size:, size:] = np.diag(of_m + of_n)
        diagonal = np.einsum("ii->i", matrix)
        diagonal += share * diagonal
        self._unit = 1 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
        self._parity = cho_factor(matrix * np.outer(self._unit, self._unit), lower=True) if len(matrix) else None

    def solve(self, rows: Numbers, rates: Numbers, parity: Numbers) -> tuple[Numbers, Numbers]:
        """Return y on the rows of q, and on the parity rows and those of m + n.

        ``rows`` and ``parity`` are right-hand sides, ``rates`` what y on the rates must exceed Hᵀ y by, negated.
        """
        form, layout = self._form, self._layout
        local = np.append(rows[: form.n_local], 0.0)
        outer = np.append(rows[form.n_local :], 0.0)
        # Subtract from the outer rows what the eliminated local rows leave there.
        reduced, left, index = [], [np.zeros(0)], [np.zeros(0, dtype=np.int64)]
        for stack, inverse, half in zip(layout.clusters, self._inverse, self._halves, strict=True):
            right = inverse @ local[stack.rows][:, :, None]
            reduced.append(right)
            left.append((right.transpose(0, 2, 1) @ half).ravel())
            index.append(stack.columns.ravel())
        outer -= np.bincount(np.concatenate(index), np.concatenate(left), minlength=len(outer))
        release, on_rates = outer[: layout.n_release], outer[layout.n_release : -1].copy()
        padded = np.append(release, 0.0)
        halves = []
        for stack, factor, border in zip(layout.blocks, self._blocks, self._border, strict=True):
            half = _solved(factor, padded[stack.rows][:, :, None])
            on_rates -= np.einsum("ctr,ct->r", border, half[:, :, 0])
            halves.append(half)
        small = np.zeros(0)
        if self._parity is not None:
            right = parity.copy()
            right[: len(form.limit)] += form.on_g @ (on_rates + self._corner @ rates)
            small = np.asarray(self._unit * cho_solve(self._parity, self._unit * right))
        # And back: rates, blocks, local rows.
        y_rates = form.on_g.T @ small[: len(form.limit)] - rates
        y_outer = np.zeros(len(outer))
        y_outer[layout.n_release : -1] = y_rates
        for stack, factor, border, half in zip(layout.blocks, self._blocks, self._border, halves, strict=True):
            y_outer[stack.rows] = _solved(factor, half - (border @ y_rates)[:, :, None], back=True)[:, :, 0]
        y_outer[layout.n_release : -1] = y_rates
        y_outer[-1] = 0.0
        y_local = np.zeros(form.n_local + 1)
        for stack, inverse, half, right in zip(layout.clusters, self._inverse, self._halves, reduced, strict=True):
            rest = right - half @ y_outer[stack.columns][:, :, None]
            y_local[stack.rows] = (inverse.transpose(0, 2, 1) @ rest)[:, :, 0]
        return np.concatenate([y_local[:-1], y_outer[:-1]]), small


def _strengthen(stack: Numbers, share: float) -> None:
    diagonal = np.einsum("cii->ci", stack)
    diagonal *= 1 + share


def _factored(stack: Numbers) -> Numbers | list[Numbers]:
    """Return the inverses of the lower factors, or the factors themselves where they are large."""
    if stack.shape[1] < LOOPED_FROM:
        return np.linalg.inv(np.linalg.cholesky(stack))
    factors = []
    for matrix in stack:
        # The lower triangle by rows is the upper one by columns, as LAPACK reads it; it is factorised in place.
        factor, failed = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
        if failed:
            raise np.linalg.LinAlgError("not positive definite")
        factors.append(factor)
    return factors


def _solved(factor: Numbers | list[Numbers], right: Numbers, *, back: bool = False) -> Numbers:
    """Solve L z = right for a stack, or Lᵀ z = right on the way back."""
    if not isinstance(factor, list):
        return np.asarray((factor.transpose(0, 2, 1) if back else factor) @ right)
    trans = 0 if back else 1
    return np.stack([lapack.dtrtrs(one, b, lower=0, trans=trans)[0] for one, b in zip(factor, right, strict=True)])
