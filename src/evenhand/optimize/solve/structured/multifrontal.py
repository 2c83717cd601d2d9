"""The release rows' matrix factorised front by front, from the lowest to the last: a multifrontal Cholesky method."""

from __future__ import annotations

import numpy as np
from scipy.linalg import blas, lapack

from evenhand.arrays import Numbers
from evenhand.optimize.solve.structured.fronts import Fronts, Stage

VECTORISED_UP_TO = 6
"""Matrices of at most so many rows are factorised entry by entry, over the whole stack."""


class Multifrontal:
    """A matrix L Lᵀ = M whose entries lie as ``fronts`` says; they are overwritten.

    ``share`` is added to every diagonal entry, relative to itself.
    """

    def __init__(self, fronts: Fronts, entries: Numbers, share: float) -> None:
        self._factors = [
            (stage, *(_eliminate_one if stage.alone else _eliminate_stack)(stage, entries, share))
            for stage in fronts.stages
        ]

    def forward(self, values: Numbers) -> None:
        """Solve L z = values, in place; rows are numbered as the fronts', with one of zeros after them."""
        for stage, factor, border in self._factors:
            if stage.alone:
                part = values[stage.consecutive]
                part[:] = _solved(factor, part, back=False)
                if border.size:
                    values[stage.border[0]] -= border @ part
            else:
                part = factor @ _columns(values[stage.rows])
                values[stage.rows] = part.reshape(*stage.rows.shape, *values.shape[1:])
                if border.size:
                    left = (border @ part).reshape(*stage.border.shape, *values.shape[1:])
                    np.subtract.at(values, stage.border, left)

    def backward(self, values: Numbers) -> None:
        for stage, factor, border in reversed(self._factors):
            if stage.alone:
                part = values[stage.consecutive]
                if border.size:
                    part -= border.T @ values[stage.border[0]]
                part[:] = _solved(factor, part, back=True)
            else:
                part = _columns(values[stage.rows])
                if border.size:
                    part -= border.transpose(0, 2, 1) @ _columns(values[stage.border])
                values[stage.rows] = (factor.transpose(0, 2, 1) @ part).reshape(*stage.rows.shape, *values.shape[1:])


def _columns(stack: Numbers) -> Numbers:
    """Return a stack of vectors as one of columns; of matrices as it is."""
    return stack if stack.ndim == 3 else stack[:, :, None]


def _solved(factor: Numbers, values: Numbers, *, back: bool) -> Numbers:
    """Solve L z = values, or Lᵀ z = values; by rows L is lower, by columns, as BLAS reads it, Lᵀ is upper."""
    if values.ndim == 1:
        return np.asarray(blas.dtrsv(factor.T, values, lower=0, trans=0 if back else 1))
    return np.asarray(blas.dtrsm(1.0, factor.T, values.T, side=1, lower=0, trans_a=1 if back else 0).T)


def _eliminate_one(stage: Stage, entries: Numbers, share: float) -> tuple[Numbers, Numbers]:
    """Return the factor and what couples the border with it; what is left goes to the front above."""
    _, own, border = stage.shape
    matrix = entries[stage.first : stage.first + own * own].reshape(own, own)
    entries[stage.first : stage.first + own * own : own + 1] *= 1 + share
    # The lower triangle by rows is the upper one by columns, as LAPACK reads it; everything is done in place.
    _, failed = lapack.dpotrf(matrix.T, lower=0, clean=0, overwrite_a=1)
    if failed:
        raise np.linalg.LinAlgError("not positive definite")
    beside = entries[stage.first + own * own : stage.first + own * (own + border)].reshape(border, own)
    if border:
        blas.dtrsm(1.0, matrix.T, beside.T, side=0, lower=0, trans_a=1, overwrite_b=1)
        rest = entries[stage.rest : stage.rest + border * border].reshape(border, border)
        blas.dsyrk(-1.0, beside.T, beta=1.0, c=rest.T, trans=1, lower=0, overwrite_c=1)
        # Every entry has a place of its own there.
        entries[stage.into] += entries[stage.kept]
    return matrix, beside


def _eliminate_stack(stage: Stage, entries: Numbers, share: float) -> tuple[Numbers, Numbers]:
    """Return the inverses of the factors and what couples the borders with them."""
    count, own, border = stage.shape
    whole = entries[stage.first : stage.first + count * own * (own + border)].reshape(count, own + border, own)
    strengthen(whole[:, :own], share)
    inverse = inverse_factors(whole[:, :own])
    beside = whole[:, own:] @ inverse.transpose(0, 2, 1)
    if border:
        rest = entries[stage.rest : stage.rest + count * border * border].reshape(count, border, border)
        rest -= beside @ beside.transpose(0, 2, 1)
        np.add.at(entries, stage.into, entries[stage.kept])
    return inverse, beside


def strengthen(stack: Numbers, share: float) -> None:
    """Add a share of itself to every diagonal entry."""
    diagonal = np.einsum("...ii->...i", stack)
    diagonal *= 1 + share


def inverse_factors(stack: Numbers) -> Numbers:
    """Return the inverses of the lower Cholesky factors of a stack of matrices; their lower triangles are read alone.

    Examples
    --------
    >>> inverse_factors(np.array([[[4.0, 0.0], [2.0, 10.0]]]))
    array([[[ 0.5       ,  0.        ],
            [-0.16666667,  0.33333333]]])
    """
    size = stack.shape[1]
    if size > VECTORISED_UP_TO:
        return np.asarray(np.linalg.inv(np.linalg.cholesky(stack)))
    # Entry by entry, each of the whole stack: for small matrices a call for each would take longer than its arithmetic.
    matrix = np.ascontiguousarray(stack.transpose(1, 2, 0))
    factor, inverse = np.zeros_like(matrix), np.zeros_like(matrix)
    for j in range(size):
        pivot = matrix[j, j] - (factor[j, :j] ** 2).sum(axis=0)
        if not np.all(pivot > 0):
            raise np.linalg.LinAlgError("not positive definite")
        inverse[j, j] = 1 / np.sqrt(pivot)
        for i in range(j + 1, size):
            factor[i, j] = (matrix[i, j] - (factor[i, :j] * factor[j, :j]).sum(axis=0)) * inverse[j, j]
    for i in range(size):
        for j in range(i):
            inverse[i, j] = -inverse[i, i] * (factor[i, j:i] * inverse[j:i, j]).sum(axis=0)
    return np.ascontiguousarray(inverse.transpose(2, 0, 1))
