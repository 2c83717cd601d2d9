"""The tie-break on the set of optima, which an interior-point method shows.

At its answer a choice is either used or has a reduced cost: the optima are the points that use no choice with one, and
that hold with equality every row with a price. Among them the least distortion is found by the same method, then the
least change among what that leaves. A programme over fewer choices each time, and no row that holds a loss to its last
digit. What the set of optima holds with equality is held by a price, so that rounding cannot make it empty.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimise.program import Program
from evenhand.optimise.solve.structured.beginning import begin
from evenhand.optimise.solve.structured.form import Form, form_of, held
from evenhand.optimise.solve.structured.layout import lay_out_form
from evenhand.optimise.solve.structured.polish import polished
from evenhand.optimise.solve.structured.steps import Point, Watch, minimise
from evenhand.optimise.solve.tiebreak import scaled_distortion

FREE = 1e-8
"""A smaller reduced cost, in units of the objective per unit of mass, is none."""

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
    stages = (scaled_distortion(program), program.change)
    words = ("tie-break skipped", "tie-break stopped after the least expected distortion")
    for number, (cost, said) in enumerate(zip(stages, words, strict=True)):

        def half(done: float, first: int = number) -> None:
            watch((first + done) / 2)

        try:
            form, point = _stage(program, form, point, x, cost, half)
        except SolverError as error:
            return x, (f"{said}: {error}",)
        x = polished(program, form.probabilities(point.z, program.n_moves), form.pieces.targets)
    return x, ()


def _stage(program: Program, form: Form, point: Point, x: Numbers, cost: Numbers, watch: Watch) -> tuple[Form, Point]:
    """Minimise a cost over the optima of a form, of which x is one."""
    for price in PRICES:
        face = _face(program, form, point, x, cost, price)
        owner = program.source[face.choices]
        even = (program.weight / np.bincount(owner, minlength=program.n_sources))[owner]
        # Begin at x, no choice closed.
        opened = np.maximum(x[face.choices] * face.scale, OPEN * even)
        found, _ = minimise(face, lay_out_form(face), begin(face, opened), GOAL, watch)
        left = face.prices >= PRICES[0]
        left[face.parts["q"]] = False
        if float(found.z[left].sum()) <= PAID:
            return face, found
    raise SolverError("the set of optima could not be held")


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
    logarithms = bool(np.any(pieces.product > 0))
    if logarithms:
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
    if not logarithms:
        # Where r is held, the rows with a price follow; else they are held as well.
        priced = ~optimal | (form.prices > 0)
        on_budgets = np.zeros(len(program.budgets), dtype=bool)
        on_budgets[form.budgets] = priced[parts["w"]]
        prices[face.parts["w"]] = price * on_budgets[face.budgets]
        for name in ("m", "n", "t"):
            prices[face.parts[name]] = price * priced[parts[name]]
    return replace(face, prices=prices)
