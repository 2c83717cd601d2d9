"""The normal equations A Θ Aᵀ y = f of a form, solved by eliminating local rows, then release rows, then the border.

Every stage is a Cholesky factorisation: of a stack of small matrices for the holdings of local rows, of fronts of
release rows (:mod:`evenhand.optimize.solve.structured.multifrontal`), last of one dense matrix of the parity rows, or
of its eigenvectors where some rates cannot move. See :mod:`evenhand.optimize.solve.structured.layout` for what they
hold.
"""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from scipy.linalg import cho_solve, lapack

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimize.program import Matrix
from evenhand.optimize.solve.structured.form import Form
from evenhand.optimize.solve.structured.layout import Layout
from evenhand.optimize.solve.structured.multifrontal import Multifrontal, inverse_factors, strengthen

REGULARISED = (1e-15, 1e-13, 1e-10)
"""What is added to a diagonal, relative to itself; more where a factorisation fails."""

SINGULAR = "the normal equations are singular"

ZERO_EIGENVALUE = 1e-13
"""An eigenvalue of the parity rows that is smaller, in units of what they were, is what rounding left of zero."""


class Factor:
    """The factorised normal equations for one Θ."""

    def __init__(self, form: Form, layout: Layout, theta: Numbers) -> None:
        self._form, self._layout = form, layout
        self._theta = theta
        for share in REGULARISED:
            try:
                self._factorise(share)
                break
            except np.linalg.LinAlgError:
                continue
        else:
            raise SolverError(SINGULAR)
        self._factorise_parity()

    def _factorise(self, share: float) -> None:
        layout, n_release = self._layout, self._layout.n_release
        known = np.append(self._theta[: self._form.parts["v"].stop], 1.0)
        given = np.empty(len(known) + layout.n_products)
        given[: len(known)] = known
        self._eliminate_local(known, share, given[len(known) :])
        outer = np.zeros(layout.size)
        outer[layout.entries] = layout.outer @ given
        self._release = Multifrontal(layout.fronts, outer[: layout.border], share)
        # The border, with a row of zeros for what fills fronts up.
        self._border = np.zeros((n_release + 1, layout.n_rates))
        self._border[:n_release] = outer[layout.border : layout.corner].reshape(n_release, layout.n_rates)
        self._release.forward(self._border)
        upper = np.triu(outer[layout.corner :].reshape(layout.n_rates, layout.n_rates))
        whole = upper + np.triu(upper, 1).T
        self._corner = whole - self._border.T @ self._border
        # What rounding leaves of the parity rows is a share of what they were before anything was subtracted.
        self._before = np.einsum("ij,jk,ik->i", self._form.on_g, whole, self._form.on_g)

    def _eliminate_local(self, known: Numbers, share: float, products: Numbers) -> None:
        """Factorise the local rows, holding by holding; write down the products that the outer rows lose."""
        layout = self._layout
        own, across = layout.own @ known, layout.across @ known
        inverse, half = np.empty_like(own), np.empty_like(across)
        for q, first, count in layout.heights:
            place = slice(first, first + count * q * q)
            matrix = own[place].reshape(count, q, q)
            strengthen(matrix, share)
            inverse[place] = inverse_factors(matrix).ravel()
        for stack in layout.clusters:
            count, m, q, n = stack.shape
            of_own = slice(stack.holdings, stack.holdings + count * m * q * q)
            of_across = slice(stack.across, stack.across + count * m * q * n)
            of_products = slice(stack.products, stack.products + count * n * n)
            np.matmul(
                inverse[of_own].reshape(count * m, q, q), across[of_across].reshape(count * m, q, n),
                out=half[of_across].reshape(count * m, q, n),
            )  # fmt: skip
            whole = half[of_across].reshape(count, m * q, n)
            np.matmul(whole.transpose(0, 2, 1), whole, out=products[of_products].reshape(count, n, n))
        self._inside, self._beside = _with(layout.inside, inverse), _with(layout.beside, half)

    def _factorise_parity(self) -> None:
        """Factorise the parity rows. The rates are substituted out: y on them is Hᵀ y on parity."""
        form = self._form
        of_m, of_n, of_t = (self._theta[form.parts[name]] for name in ("m", "n", "t"))
        on_m, size = form.on_m, len(form.limit)
        matrix = np.zeros((size + len(of_m), size + len(of_m)))
        matrix[:size, :size] = form.on_g @ self._corner @ form.on_g.T + (on_m * of_m) @ on_m.T + np.diag(of_t)
        matrix[size:, :size] = (on_m * of_m).T
        matrix[:size, size:] = on_m * of_m
        matrix[size:, size:] = np.diag(of_m + of_n)
        diagonal = np.einsum("ii->i", matrix)
        before = diagonal.copy()
        before[:size] += self._before
        diagonal += REGULARISED[0] * diagonal
        self._unit = 1 / np.sqrt(np.maximum(diagonal, np.finfo(float).tiny))
        factor, failed = lapack.dpotrf(matrix * np.outer(self._unit, self._unit), lower=1)
        if not failed:
            self._parity = partial(cho_solve, (factor, True))
            return
        # Rows that nothing can move, and of two rows that are nearly one their difference, are rounding and no more:
        # they are left as they are. Regularised like the other stages they would cost the owners' rows their digits.
        self._unit = 1 / np.sqrt(np.maximum(before, np.finfo(float).tiny))
        try:
            values, vectors = np.linalg.eigh(matrix * np.outer(self._unit, self._unit))
        except np.linalg.LinAlgError:
            raise SolverError(SINGULAR) from None
        inverse = np.divide(1.0, values, out=np.zeros_like(values), where=values > ZERO_EIGENVALUE)
        self._parity = ((vectors * inverse) @ vectors.T).__matmul__

    def solve(self, rows: Numbers, rates: Numbers, parity: Numbers) -> tuple[Numbers, Numbers]:
        """Return y on the rows of q, and on the parity rows and those of m + n.

        ``rows`` and ``parity`` are right-hand sides, ``rates`` what y on the rates must exceed Hᵀ y by, negated.
        """
        form, layout, n_release = self._form, self._layout, self._layout.n_release
        number = layout.fronts.number
        # Subtract from the outer rows what the eliminated local rows leave there.
        local = self._inside @ np.append(rows[: form.n_local], 0.0)
        left = self._beside.T @ local
        release = np.zeros(n_release + 1)
        release[number] = rows[form.release_rows]
        release[:n_release] -= left[:n_release]
        self._release.forward(release)
        on_rates = rows[form.rate_rows] - left[n_release:-1] - self._border.T @ release
        right = parity.copy()
        right[: len(form.limit)] += form.on_g @ (on_rates + self._corner @ rates)
        small = self._unit * self._parity(self._unit * right)
        # And back: rates, release rows, local rows.
        y_rates = form.on_g.T @ small[: len(form.limit)] - rates
        release -= self._border @ y_rates
        self._release.backward(release)
        y_release = release[:-1]
        local -= self._beside @ np.concatenate([y_release, y_rates, [0.0]])
        y_local = self._inside.T @ local
        return np.concatenate([y_local[:-1], y_release[number], y_rates]), small


def _with(pattern: Matrix, data: Numbers) -> Matrix:
    return sparse.csr_array((data, pattern.indices, pattern.indptr), shape=pattern.shape)
