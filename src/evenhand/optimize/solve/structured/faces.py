"""The tie-break on the set of optima, which an interior-point method shows.

At its answer a choice is either used or has a reduced cost: the optima are the points that use no choice with one, and
that hold with equality every row with a price. Among them the least distortion is found by the same method, then the
least change among what that leaves. A programme over fewer choices each time, and no row that holds a loss to its last
digit. What the set of optima holds with equality is held by a price, so that rounding cannot make it empty.

The last answer is in the middle of the set, every choice as far from zero as it can be, and that is where a stage
begins: at a vertex, or at a point that meets no row, the products of pairs differ by so much that steps stay short.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimize.program import Program
from evenhand.optimize.solve.structured.form import Form, form_of, held
from evenhand.optimize.solve.structured.layout import lay_out_form
from evenhand.optimize.solve.structured.polish import polished
from evenhand.optimize.solve.structured.steps import Point, Watch, minimise

FREE = 1e-8
"""A smaller reduced cost, in units of the objective per unit of mass, is none."""

DOUBTFUL = 1e-7
"""A larger one is one; between the two it depends on whether the variable is nearer to zero, in its own unit."""

PRICES = (30.0, 1000.0)
"""What leaving the set of optima costs, in units of the largest distortion; the second where the first is paid."""

STAGE_GOAL = 1e-11
"""The gap of a stage."""

LOST, LOST_SHARE = 5e-10, 1e-7
"""What of the loss a stage may lose: the larger of the two, the second in units of the loss."""

LOST_DISTORTION = 2e-7
"""What the second stage may lose of the least distortion, in units of the largest."""

OPEN = 1e-3
"""The share of an even spread that every choice has at the start of a stage."""

PRODUCT = 0.05
"""The product of a pair there, in units of what a choice has on average."""

LEAST = 1e-3
"""The least that a variable is there, in units of the product."""


def least_change(
    program: Program, form: Form, point: Point, x: Numbers, watch: Watch
) -> tuple[Numbers, tuple[str, ...]]:
    """Minimise the expected distortion over the optima, of which x is one, then the probability of any change."""
    stages = (program.scaled_distortion, program.change)
    words = ("tie-break skipped", "tie-break stopped after the least expected distortion")
    for number, (cost, said) in enumerate(zip(stages, words, strict=True)):

        def half(done: float, first: int = number) -> None:
            watch((first + done) / 2)

        try:
            form, point, x = _stage(program, form, point, x, cost, stages[:number], half)
        except SolverError as error:
            return x, (f"{said}: {error}",)
    return x, ()


def _stage(
    program: Program, form: Form, point: Point, x: Numbers, cost: Numbers, before: tuple[Numbers, ...], watch: Watch
) -> tuple[Form, Point, Numbers]:
    """Minimise a cost over the optima of a form, of which x is one; ``before`` are the costs that it must not raise."""
    for price in PRICES:
        face = _face(program, form, point, x, cost, price)
        found = minimise(face, lay_out_form(face), _begun(program, face, form, point), STAGE_GOAL, watch).point
        good = partial(_holds, program, x, before=before)
        chosen = polished(program, face.probabilities(found.z, program.n_moves), face.pieces.targets, good)
        if good(chosen):
            return face, found, chosen
    raise SolverError("the set of optima could not be held")


def _holds(program: Program, x: Numbers, chosen: Numbers, before: tuple[Numbers, ...]) -> bool:
    """Whether what was chosen loses no more than x did."""
    was, now = (program.loss.value(program.released(one)) for one in (x, chosen))
    spent = [float((program.move_weight * cost) @ (chosen - x)) for cost in before]
    return now - was <= max(LOST, LOST_SHARE * abs(was)) and max(spent, default=0.0) <= LOST_DISTORTION


def _begun(program: Program, face: Form, form: Form, point: Point) -> Point:
    """Return the middle of the optima of a form as a point of its face."""
    part, last = face.parts, form.parts
    product = PRODUCT / face.n_choices
    owner = program.source[face.choices]
    even = (program.weight / np.bincount(owner, minlength=program.n_sources))[owner]
    middle, slack = np.zeros(program.n_moves), np.zeros(len(program.budgets))
    middle[form.choices] = point.z[last["q"]]
    slack[form.budgets] = point.z[last["w"]] / form.budget_scale
    z = np.empty(len(face.prices))
    z[part["q"]] = np.maximum(middle[face.choices], OPEN * even)
    z[part["w"]] = slack[face.budgets] * face.budget_scale
    for name in ("m", "n", "t"):
        z[part[name]] = point.z[last[name]]
    rows = face.matrix @ z[part["q"]]
    lost = face.pieces.right - rows[face.release_rows]
    z[part["v"]] = np.maximum(face.pieces.on_v * lost[face.pieces.row], 0.0)
    # What is held by a price has it for a reduced cost, all else one that makes up the product.
    dear = face.prices >= PRICES[0]
    dear[part["q"]] = False
    z[dear] += product / face.prices[dear]
    z = np.maximum(z, LEAST * product)
    s = np.where(dear, face.prices, face.prices + product / z)
    return Point(z, s, rows[face.rate_rows], np.zeros(len(face.right)), np.zeros(len(face.parity_right)))


def _face(program: Program, form: Form, point: Point, x: Numbers, cost: Numbers, price: float) -> Form:
    """Return the form over the optima alone, with another cost."""
    parts, pieces, r = form.parts, form.pieces, program.released(x)
    unit = np.ones(len(point.z))
    unit[parts["q"]] = form.scale
    unit[parts["w"]] = form.right[form.budget_rows]
    # What is free to be anything among the optima.
    optimal = (point.s <= FREE) | ((point.s <= DOUBTFUL) & (point.z > point.s * unit))
    chosen = x > 0
    chosen[form.choices[optimal[parts["q"]]]] = True
    if pieces.curve is not None:
        holding = held(pieces.targets, r, price)
    else:
        # Gains and losses that cost nothing more; a target that may neither gain nor lose is held where x has it.
        on_pieces = np.where(optimal[parts["v"]] & (pieces.cost < PRICES[0]), 0.0, price)
        either = np.bincount(pieces.row, on_pieces == 0, minlength=form.n_release) > 0
        right = np.where(either, pieces.right, pieces.on_r * r[pieces.targets])
        holding = replace(pieces, cost=on_pieces, right=right)
    face = form_of(program, holding, chosen)
    prices = face.prices.copy()
    prices[face.parts["q"]] = cost[face.choices]
    # Rows with a price are held as well. Where r is held they follow, but a slack without a price that can only be zero
    # would have no room.
    priced = ~optimal | (form.prices >= PRICES[0])
    on_budgets = np.zeros(len(program.budgets), dtype=bool)
    on_budgets[form.budgets] = priced[parts["w"]]
    prices[face.parts["w"]] = price * on_budgets[face.budgets]
    for name in ("m", "n", "t"):
        prices[face.parts[name]] = price * priced[parts[name]]
    return replace(face, prices=prices)
