"""The primal–dual predictor–corrector method on a form (Mehrotra's, with Gondzio's further correctors).

Feasibility is linear in z and in (y, s), also with logarithms, so either takes steps of its own length. What every
pair's product must become is all that is not: zero, by way of a common μ, or its own where the pair is a logarithm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimise.solve.structured.elimination import Factor
from evenhand.optimise.solve.structured.form import Form
from evenhand.optimise.solve.structured.layout import Layout

Watch: TypeAlias = Callable[[float], None]
"""Told the share of the way that is done."""

MOST_ITERATIONS = 100

BACK_OFF = 0.9995
"""The share of the way to the boundary that a step goes."""

FEASIBLE = 1e-9
"""The largest sum of what rows lack at an answer; what is left is removed afterwards."""

REFINEMENTS = 3
"""The most times that a step is solved for what rounding left."""

NEARLY = 50.0
"""A point is good enough if nothing is more than so many times what it should be..."""

PATIENCE = 1
"""...and that many iterations made it no better."""

BETTER = 0.5
"""A better point is one whose worst is less than this share of the best point's."""

LEAST_MU = 0.05
"""The least product to go for, as a share of what each pair may have: with smaller ones rows lose digits."""

STUCK = 12
"""Iterations without a better point after which the method gives up."""

CORRECTORS = 1
"""The most further correctors in an iteration."""

FURTHER = 0.3
"""How much further a corrector tries to go."""

WORTHWHILE = 0.02
"""The longer step for which a corrector is kept."""

LEAST_GAIN = 1e-9
"""The relative gain that is counted where the gap did not shrink, so that digits are above zero."""

NARROW, WIDE = 0.1, 10.0
"""The products, in units of their goal, that a corrector leaves alone."""


@dataclass(frozen=True, eq=False)
class Point:
    """z and its reduced costs s; the rates g; y on the rows of q, and on parity and the rows of m + n."""

    z: Numbers
    s: Numbers
    g: Numbers
    y: Numbers
    small: Numbers

    def moved(self, step: Point, primal: float, dual: float) -> Point:
        """Return the point after a step."""
        return Point(
            self.z + primal * step.z, self.s + dual * step.s, self.g + primal * step.g,
            self.y + dual * step.y, self.small + dual * step.small,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Lacking:
    """What each kind of row lacks at a point: rows of q; parity and m + n; reduced costs; those of the free rates."""

    rows: Numbers
    parity: Numbers
    costs: Numbers
    rates: Numbers

    @property
    def primal(self) -> float:
        """The sum of what rows lack."""
        return float(np.abs(self.rows).sum() + np.abs(self.parity).sum())


def minimise(form: Form, layout: Layout, start: Point, goal: float, watch: Watch) -> tuple[Point, int]:
    """Return a point with a gap of at most ``goal`` whose rows lack almost nothing, and the number of iterations.

    ``watch`` is called before every iteration with the share of the way that is done, on the scale of digits; it may
    raise.

    Raises
    ------
    SolverError
        Where the method does not get there, be it that there is nothing to find.
    """
    first, point, best, since = gap_at(form, start), start, (np.inf, start), 0
    least = LEAST_MU * goal / len(start.z)
    for iteration in range(MOST_ITERATIONS):
        lacking = lacks(form, point)
        gap = gap_at(form, point)
        watch(_digits(first, gap) / _digits(first, goal))
        # What rows lack is made good afterwards, so it counts by half its digits.
        merit = max(gap / goal, np.sqrt(lacking.primal / FEASIBLE))
        since = 0 if merit < BETTER * best[0] else since + 1
        # Written so that a NaN is never the best.
        best = (merit, point) if merit < best[0] else best
        if best[0] <= 1 or (since > PATIENCE and best[0] <= NEARLY):
            return best[1], iteration
        if since > STUCK or not np.isfinite(merit):
            break
        point = _iterate(form, layout, point, lacking, least)
    raise SolverError(f"it stopped at a gap of {gap:.1e}, rows off by {lacking.primal:.1e}")


def gap_at(form: Form, point: Point) -> float:
    """Return the duality gap of a point whose rows lack nothing: what products are too large, or logarithms off."""
    product = point.z * point.s
    log = form.products > 0
    ratio = product[log] / form.products[log]
    return float(product[~log].sum() + form.products[log] @ (ratio - 1 - np.log(ratio)))


def _digits(first: float, gap: float) -> float:
    """Return how many digits of the gap are gone."""
    return float(np.log10(max(first / gap, 1.0 + LEAST_GAIN))) if gap > 0 else np.inf


def _iterate(form: Form, layout: Layout, point: Point, lacking: Lacking, least: float) -> Point:
    """Predict, correct, and go; towards no smaller a μ than the least."""
    free = form.products == 0
    factor = Factor(form, layout, point.z / point.s)
    product = point.z * point.s
    mu = float(product[free].mean())
    ahead = direction(form, factor, point, lacking, form.products - product)
    primal, dual = lengths(point, ahead, 1.0)
    after = point.moved(ahead, primal, dual)
    mu_after = float(after.z[free] @ after.s[free]) / int(free.sum())
    goal = np.where(free, max(least, mu * (mu_after / mu) ** 3), form.products)
    wanted = goal - product - ahead.z * ahead.s
    step = direction(form, factor, point, lacking, wanted)
    step = _corrected(form, factor, point, lacking, wanted, goal, step)
    # Solve again for what rounding left of the rows.
    nothing, before = np.zeros(len(step.z)), np.inf
    for _ in range(REFINEMENTS):
        rows, small = rows_at(form, step.z, step.g)
        left = Lacking(lacking.rows - rows, lacking.parity - small, nothing, np.zeros(form.n_rates))
        if left.primal <= FEASIBLE / 10 or left.primal > before / 2:
            break
        before = left.primal
        step = step.moved(direction(form, factor, point, left, nothing), 1.0, 1.0)
    return point.moved(step, *lengths(point, step, BACK_OFF))


def _corrected(
    form: Form, factor: Factor, point: Point, lacking: Lacking, wanted: Numbers, goal: Numbers, step: Point
) -> Point:
    """Bring the products that a longer step would leave far from their goal nearer to it."""
    primal, dual = lengths(point, step, 1.0)
    for _ in range(CORRECTORS):
        if min(primal, dual) > 1 - FURTHER / 3:
            break
        trial = point.moved(step, min(1.0, primal + FURTHER), min(1.0, dual + FURTHER))
        product = trial.z * trial.s
        far = np.clip(product, NARROW * goal, WIDE * goal) - product
        wanted = wanted + np.maximum(far, -WIDE * goal)
        longer = direction(form, factor, point, lacking, wanted)
        reached = lengths(point, longer, 1.0)
        if min(reached[0] - primal, reached[1] - dual) < -WORTHWHILE or sum(reached) < primal + dual + WORTHWHILE:
            break
        step, (primal, dual) = longer, reached
    return step


def lengths(point: Point, step: Point, share: float) -> tuple[float, float]:
    """Return how far z and s can go, at most the whole step."""
    return min(1.0, share * _longest(point.z, step.z)), min(1.0, share * _longest(point.s, step.s))


def _longest(values: Numbers, step: Numbers) -> float:
    """Return how far a step can go until a value is zero."""
    fastest = float(np.max(-step / values, initial=0.0))
    return np.inf if fastest <= 0 else 1 / fastest


def direction(form: Form, factor: Factor, point: Point, lacking: Lacking, wanted: Numbers) -> Point:
    """Return the step that fills what is lacking and changes every product by ``wanted``."""
    rows, small = multiplied(form, (wanted - point.z * lacking.costs) / point.s)
    y, on_small = factor.solve(lacking.rows - rows, lacking.rates, lacking.parity - small)
    s = lacking.costs - transposed(form, y, on_small)
    z = (wanted - point.z * s) / point.s
    g = form.on_rates @ z[form.parts["q"]] - lacking.rows[form.rate_rows]
    return Point(z, s, g, y, on_small)


def lacks(form: Form, point: Point) -> Lacking:
    """Return what every row lacks."""
    rows, small = rows_at(form, point.z, point.g)
    costs = form.prices - point.s - transposed(form, point.y, point.small)
    on_rates = point.y[form.rate_rows] - form.on_g.T @ point.small[: len(form.limit)]
    return Lacking(form.right - rows, form.parity_right - small, costs, on_rates)


def rows_at(form: Form, z: Numbers, g: Numbers) -> tuple[Numbers, Numbers]:
    """Return what every row holds at z and g: on the rows of q, and on parity and m + n."""
    rows, small = multiplied(form, z)
    rows[form.rate_rows] -= g
    small[: len(form.limit)] += form.on_g @ g
    return rows, small


def multiplied(form: Form, z: Numbers) -> tuple[Numbers, Numbers]:
    """Return A z, the rates g apart: on the rows of q, and on parity and m + n."""
    part = form.parts
    rows = form.matrix @ z[part["q"]]
    rows[form.budget_rows] += z[part["w"]]
    rows[form.release_rows] += form.on_pieces @ z[part["v"]]
    m = z[part["m"]]
    return rows, np.concatenate([form.on_m @ m + z[part["t"]], m + z[part["n"]]])


def transposed(form: Form, y: Numbers, small: Numbers) -> Numbers:
    """Return Aᵀ y on every z."""
    on_h, on_n = small[: len(form.limit)], small[len(form.limit) :]
    return np.concatenate([
        form.transposed @ y, y[form.budget_rows], form.pieces.on_v * y[form.release_rows][form.pieces.row],
        form.on_m.T @ on_h + on_n, on_n, on_h,
    ])  # fmt: skip
