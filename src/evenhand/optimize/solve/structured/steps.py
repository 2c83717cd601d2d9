"""The primal–dual predictor–corrector method on a form (Mehrotra's, with Gondzio's further correctors).

Feasibility is linear in z and in (y, s), also with a smooth loss, so either takes steps of its own length. All that is
not linear is how the two of a pair hang together: their product goes to zero, by way of a common μ, or they are on the
curve of a smooth loss. Either is replaced by a line: dz = aim − width · ds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from evenhand.arrays import Flags, Numbers
from evenhand.errors import SolverError
from evenhand.optimize.solve.structured.elimination import Factor
from evenhand.optimize.solve.structured.form import Form
from evenhand.optimize.solve.structured.layout import Layout

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

FARTHEST, NEAREST = 1.0, 1e-5
"""The gaps between which points on the way are kept..."""

MET = 0.3
"""...if what their rows lack is no more than this share of the gap."""

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

SHARES = 9

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
        return Point(
            self.z + primal * step.z, self.s + dual * step.s, self.g + primal * step.g,
            self.y + dual * step.y, self.small + dual * step.small,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class Answer:
    """Where the method ended, after how many iterations, and points on the way by the decade of their gap."""

    point: Point
    steps: int
    trail: dict[int, Point]


@dataclass(frozen=True, eq=False)
class Lacking:
    """What each kind of row lacks at a point: rows of q; parity and m + n; reduced costs; those of the free rates."""

    rows: Numbers
    parity: Numbers
    costs: Numbers
    rates: Numbers

    @classmethod
    def nothing_of(cls, form: Form) -> Lacking:
        """Return what a point lacks whose rows are all met."""
        sizes = len(form.right), len(form.parity_right), len(form.prices), form.n_rates
        return cls(*map(np.zeros, sizes))

    @property
    def primal(self) -> float:
        return float(np.abs(self.rows).sum() + np.abs(self.parity).sum())

    def dual(self, point: Point) -> float:
        """What the gap may be larger for what reduced costs lack."""
        return float(np.abs(self.costs) @ point.z + np.abs(self.rates) @ np.abs(point.g))


def minimise(form: Form, layout: Layout, start: Point, goal: float, watch: Watch) -> Answer:
    """Return a point with a gap of at most ``goal`` whose rows lack almost nothing.

    ``watch`` is called before every iteration with the share of the way that is done, on the scale of digits; it may
    raise.

    Raises
    ------
    SolverError
        Where the method does not get there, be it that there is nothing to find.
    """
    first, point, best = gap_at(form, start), start, (np.inf, start)
    mark, since = np.inf, 0
    trail: dict[int, Point] = {}
    least = LEAST_MU * goal / len(start.z)
    for iteration in range(MOST_ITERATIONS):
        lacking = lacks(form, point)
        gap = gap_at(form, point)
        if FARTHEST >= gap >= NEAREST and lacking.primal <= MET * gap:
            trail[int(np.floor(np.log10(gap)))] = point
        watch(_digits(first, gap) / _digits(first, goal))
        # What rows lack is made good afterwards, so it counts by half its digits.
        merit = max((gap + lacking.dual(point)) / goal, np.sqrt(lacking.primal / FEASIBLE))
        mark, since = (merit, 0) if merit < BETTER * mark else (mark, since + 1)
        # Written so that a NaN is never the best.
        best = (merit, point) if merit < best[0] else best
        if best[0] <= 1 or (since > PATIENCE and best[0] <= NEARLY):
            return Answer(best[1], iteration, trail)
        if since > STUCK or not np.isfinite(merit):
            break
        # A pair on a curve may have a zero, and gets its line elsewhere; what is no number is not kept.
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            point = _iterate(form, layout, point, lacking, least)
    raise SolverError(f"it stopped at a gap of {gap:.1e}, rows off by {lacking.primal:.1e}")


def gap_at(form: Form, point: Point) -> float:
    """Return the duality gap of a point whose rows lack nothing: what products are too large, or pairs off a curve."""
    gap = float(point.z[form.vanishing] @ point.s[form.vanishing])
    curve, v = form.pieces.curve, form.parts["v"]
    return gap if curve is None else gap + max(0.0, curve.gap(point.z[v], point.s[v]))


def _digits(first: float, gap: float) -> float:
    """Return how many digits of the gap are gone."""
    return float(np.log10(max(first / gap, 1.0 + LEAST_GAIN))) if gap > 0 else np.inf


def _iterate(form: Form, layout: Layout, point: Point, lacking: Lacking, least: float) -> Point:
    """Predict, correct, and go; towards no smaller a μ than the least."""
    product, curve, v = point.z * point.s, form.pieces.curve, form.parts["v"]
    mu = float(product[form.vanishing].mean())
    aim, width = -point.z, point.z / point.s
    if curve is not None:
        aim[v], width[v] = curve.line(point.z[v], point.s[v])
    lines = Lines(form, Factor(form, layout, width), width)
    ahead = lines.step(lacking, aim)
    primal, dual = lengths(form, point, ahead, 1.0)
    after = point.moved(ahead, primal, dual)
    mu_after = float((after.z * after.s)[form.vanishing].mean())
    goal = max(least, mu * (mu_after / mu) ** 3)
    # Where the product of a pair should be the goal, and what the prediction leaves to second order.
    aim = (goal - ahead.z * ahead.s) / point.s
    if curve is not None:
        aim[v] = curve.bend(point.z[v], point.s[v], ahead.z[v], ahead.s[v])
    step = _weighted(form, point, ahead, lines.step(None, aim), primal * dual)
    step = _corrected(form, point, lines, goal, step)
    # Solve again for what rounding left of the rows.
    before = np.inf
    for _ in range(REFINEMENTS):
        rows, small = rows_at(form, step.z, step.g)
        left = replace(Lacking.nothing_of(form), rows=lacking.rows - rows, parity=lacking.parity - small)
        if left.primal <= FEASIBLE / 10 or left.primal > before / 2:
            break
        before = left.primal
        step = step.moved(lines.step(left, None), 1.0, 1.0)
    return point.moved(step, *lengths(form, point, step, BACK_OFF))


def _weighted(form: Form, point: Point, step: Point, correction: Point, least: float) -> Point:
    """Add as much of a correction as makes for the longest step, of z and of s each (Colombo and Gondzio's)."""
    on_z, on_s = form.signed
    shares = np.linspace(least, 1.0, SHARES)
    of_z = longest_with(point.z, step.z, correction.z, shares, on_z)
    of_s = longest_with(point.s, step.s, correction.s, shares, on_s)
    # Of equally long steps the one with more of the correction.
    best = [shares[SHARES - 1 - int(np.argmax(np.minimum(1.0, lengths)[::-1]))] for lengths in (of_z, of_s)]
    return step.moved(correction, *best)


def _corrected(form: Form, point: Point, lines: Lines, goal: float, step: Point) -> Point:
    """Bring the products that a longer step would leave far from their goal nearer to it."""
    primal, dual = lengths(form, point, step, 1.0)
    for _ in range(CORRECTORS):
        if min(primal, dual) > 1 - FURTHER / 3:
            break
        further = min(1.0, primal + FURTHER), min(1.0, dual + FURTHER)
        trial = point.moved(step, *further)
        product = trial.z * trial.s
        far = np.clip(product, NARROW * goal, WIDE * goal) - product
        aim = np.where(form.vanishing, np.maximum(far, -WIDE * goal) / point.s, 0.0)
        longer = _weighted(form, point, step, lines.step(None, aim), further[0] * further[1])
        reached = lengths(form, point, longer, 1.0)
        if min(reached[0] - primal, reached[1] - dual) < -WORTHWHILE or sum(reached) < primal + dual + WORTHWHILE:
            break
        step, (primal, dual) = longer, reached
    return step


def lengths(form: Form, point: Point, step: Point, share: float) -> tuple[float, float]:
    """Return how far z and s can go, at most the whole step."""
    on_z, on_s = form.signed
    of_z, of_s = _longest(point.z, step.z, on_z), _longest(point.s, step.s, on_s)
    return min(1.0, share * of_z), min(1.0, share * of_s)


def _longest(values: Numbers, step: Numbers, signed: Flags) -> float:
    """Return how far a step can go until a value that must stay positive is zero."""
    fastest = float(np.max(-step / values, initial=0.0, where=signed))
    return np.inf if fastest <= 0 else 1 / fastest


def longest_with(values: Numbers, step: Numbers, correction: Numbers, shares: Numbers, signed: Flags) -> Numbers:
    """Return how far a step with each share of a correction can go, the shares in order.

    Examples
    --------
    >>> ones = np.ones(3)
    >>> longest_with(ones, np.array([-4.0, -1, 1]), np.array([2.0, -4, 0]), np.array([0.0, 0.5, 1]), ones > 0)
    array([0.25      , 0.33333333, 0.2       ])
    """
    speed, more = (np.where(signed, -each / values, 0.0) for each in (step, correction))
    first, last = speed + shares[0] * more, speed + shares[-1] * more
    # A speed is linear in the share: one that is below another at both ends is never the fastest.
    fast = np.maximum(first, last) >= np.minimum(first, last).max(initial=0.0)
    fastest = (speed[fast] + shares[:, None] * more[fast]).max(axis=1, initial=0.0)
    longest = np.full(len(shares), np.inf)
    np.divide(1.0, fastest, out=longest, where=fastest > 0)
    return longest


@dataclass(frozen=True, eq=False)
class Lines:
    """The rows of a form, and the line dz = aim − width · ds of every pair; the widths are factorised."""

    form: Form
    factor: Factor
    width: Numbers

    def step(self, lacking: Lacking | None, aim: Numbers | None) -> Point:
        """Return the step that fills what is lacking and follows every line; None for nothing of either."""
        form = self.form
        lacking = Lacking.nothing_of(form) if lacking is None else lacking
        aim = np.zeros(len(self.width)) if aim is None else aim
        rows, small = multiplied(form, aim - self.width * lacking.costs)
        y, on_small = self.factor.solve(lacking.rows - rows, lacking.rates, lacking.parity - small)
        s = lacking.costs - transposed(form, y, on_small)
        z = aim - self.width * s
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
