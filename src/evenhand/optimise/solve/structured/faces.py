"""The tie-break on the set of optima, which an interior-point method shows.

At its answer a choice is either used or has a reduced cost: the optima are the points that use no choice with one, and
that hold with equality every row with a price. Among them the least distortion is found by the same method, then the
least change among what that leaves. A programme over fewer choices each time, and no row that holds a loss to its last
digit. What the set of optima holds with equality is held by a price, so that rounding cannot make it empty.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimise.program import Program
from evenhand.optimise.solve.structured.beginning import begin
from evenhand.optimise.solve.structured.form import Form, Pieces, form_of, held
from evenhand.optimise.solve.structured.layout import lay_out_form
from evenhand.optimise.solve.structured.polish import polished
from evenhand.optimise.solve.structured.steps import Point, Watch, minimise

FREE = 1e-8
"""A smaller reduced cost, in units of the objective a unit of mass, is none."""

DOUBTFUL = 1e-7
"""A larger one is one; between the two it depends on whether the variable is nearer to zero, in its own unit."""

PRICES = (30.0, 1000.0)
"""What leaving the set of optima costs, in units of the largest distortion; the second where the first is paid."""

PAID = 1e-8
"""The largest mass that may have left."""

GOAL = 1e-11
"""The gap of a stage."""

OPEN = 1e-3
"""The share of an even spread that every choice has at the start of a stage."""


def least_change(
    program: Program, form: Form, point: Point, x: Numbers, watch: Watch
) -> tuple[Numbers, tuple[str, ...]]:
    """Minimise the expected distortion over the optima, of which x is one, then the probability of any change."""
    stages = (_scaled(program.distortion), program.change)
    words = ("tie-break skipped", "tie-break stopped after the least expected distortion")
    for number, (cost, said) in enumerate(zip(stages, words, strict=True)):
        try:
            form, point = _stage(program, form, point, x, cost, partial(_half, watch, number))
        except SolverError as error:
            return x, (f"{said}: {error}",)
        x = polished(program, form.probabilities(point.z, program.n_moves), form.pieces.targets)
    return x, ()


def _half(watch: Watch, number: int, done: float) -> None:
    watch((number + done) / 2)


def _stage(program: Program, form: Form, point: Point, x: Numbers, cost: Numbers, watch: Watch) -> tuple[Form, Point]:
    """Minimise a cost over the optima of a form, of which x is one."""
    for price in PRICES:
        face = _face(program, form, point, x, cost, price)
        found, _ = minimise(face, lay_out_form(face), begin(face, _opened(program, face, x)), GOAL, watch)
        if _paid(face, found) <= PAID:
            return face, found
    raise SolverError("the set of optima could not be held")


def _face(program: Program, form: Form, point: Point, x: Numbers, cost: Numbers, price: float) -> Form:
    """Return the form over the optima alone, with another cost."""
    parts, optimal = form.parts, _without_cost(form, point)
    chosen = x > 0
    chosen[form.choices[optimal[parts["q"]]]] = True
    logarithms = bool(np.any(form.pieces.product > 0))
    face = form_of(program, _held_pieces(program, form, x, optimal[parts["v"]], price), chosen)
    prices = face.prices.copy()
    prices[face.parts["q"]] = cost[face.choices]
    if not logarithms:
        # Where r is held, the rows with a price follow; else they are held as well.
        priced = ~optimal | (form.prices > 0)
        on_budgets = np.zeros(len(program.budgets), dtype=bool)
        on_budgets[form.budgets] = priced[parts["w"]]
        prices[face.parts["w"]] = price * on_budgets[face.budgets]
        for name in ("m", "n", "t"):
            prices[face.parts[name]] = price * priced[parts[name]]
    return replace(face, prices=prices)


def _without_cost(form: Form, point: Point) -> NDArray[np.bool_]:
    """Return which variables are free to be anything among the optima."""
    unit = np.ones(len(point.z))
    unit[form.parts["q"]] = form.scale
    unit[form.parts["w"]] = form.right[form.budget_rows]
    return np.asarray((point.s <= FREE) | ((point.s <= DOUBTFUL) & (point.z > point.s * unit)))


def _held_pieces(program: Program, form: Form, x: Numbers, optimal: NDArray[np.bool_], price: float) -> Pieces:
    """Return the loss as what holds it: r itself for logarithms; for gains and losses those that cost nothing more.

    Where a target may neither gain nor lose, it is held where x has it.
    """
    pieces, r = form.pieces, program.released(x)
    if np.any(pieces.product > 0):
        return held(pieces.targets, r, price)
    cost = np.where(optimal & (pieces.cost < PRICES[0]), 0.0, price)
    either = np.bincount(pieces.row, cost == 0, minlength=form.n_release) > 0
    return replace(pieces, cost=cost, right=np.where(either, pieces.right, pieces.on_r * r[pieces.targets]))


def _opened(program: Program, face: Form, x: Numbers) -> Numbers:
    """Return the q of x on the face, no choice closed."""
    owner = program.source[face.choices]
    even = (program.weight / np.bincount(owner, minlength=program.n_sources))[owner]
    return np.maximum(x[face.choices] * face.scale, OPEN * even)


def _paid(face: Form, point: Point) -> float:
    """Return the mass that left the set of optima."""
    paid = face.prices >= PRICES[0]
    paid[face.parts["q"]] = False
    return float(point.z[paid].sum())


def _scaled(values: Numbers) -> Numbers:
    return values / (values.max(initial=0.0) or 1.0)
