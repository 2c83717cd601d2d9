"""The last digits: the nearest point, in relative terms, that meets every bound and keeps r.

What the method leaves of a row is of the size of rounding, and so is what goes when dust is dropped; it is made good
by a weighted projection, in which every choice may change by a share of itself, and every cell of r by a small one.
Choices that are not used stay so.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from evenhand.arrays import Cells, Numbers
from evenhand.optimize.program import Program
from evenhand.optimize.solve.dust import EXCEEDED, exceeds, normalised, tidy
from evenhand.optimize.solve.structured.elimination import Factor
from evenhand.optimize.solve.structured.form import form_of, held
from evenhand.optimize.solve.structured.layout import lay_out_form
from evenhand.optimize.solve.structured.steps import rows_at, transposed

ROOM = 1e-15
"""The slack that a row is given at least, in units of mass."""

HELD = 1e-3
"""The share of itself by which a cell of r may change, in units of that of a choice."""

SMALLEST = 1e-9
"""A smaller cell of r may change as if it were this large."""

ROUNDS = 4
LEAST_KEPT = 0.1
"""The share of itself that a choice keeps at least in a round."""


DUST = (1.0, 1e-2, 1e-4)
"""What counts as dust, in units of what does elsewhere: less where all of it is not to be missed."""


def polished(program: Program, x: Numbers, targets: Cells, good: Callable[[Numbers], bool]) -> Numbers:
    """Return x without dust and, where that can be had by small changes, within every bound, r as it was on targets.

    An answer in the middle of the optima has a little of every choice there is, and hundreds of thousands of grains
    can be too much to drop: the less is dropped until the result is ``good``, the last of them if none is.
    """
    for share in DUST:
        found = _polished(program, x, targets, share)
        if good(found):
            break
    return found


def _polished(program: Program, x: Numbers, targets: Cells, share: float) -> Numbers:
    x = normalised(program, x)
    wanted = program.released(x)
    x = tidy(program, x, share)
    if exceeds(program, x) <= EXCEEDED:
        return x
    form = form_of(program, held(targets, wanted, 0.0), x > 0)
    layout, part = lay_out_form(form), form.parts
    best, nothing = x, np.zeros(form.n_rates)
    for _ in range(ROUNDS):
        z = np.empty(len(form.prices))
        z[part["q"]] = x[form.choices] * form.scale
        # What r gains and what it loses, the same, so that neither shows unless it changes.
        z[part["v"]] = HELD * np.tile(np.maximum(form.pieces.right, SMALLEST), 2)
        g = form.on_rates @ z[part["q"]]
        m = np.clip(program.auxiliary(g), ROOM, 1 - ROOM)
        z[part["w"]] = form.right[form.budget_rows] - form.matrix[form.budget_rows] @ z[part["q"]]
        z[part["m"]], z[part["n"]] = m, 1 - m
        z[part["t"]] = form.limit - form.on_g @ g - form.on_m @ m
        z = np.maximum(z, ROOM)
        rows, small = rows_at(form, z, g)
        factor = Factor(form, layout, z**2)
        y, on_small = factor.solve(form.right - rows, nothing, form.parity_right - small)
        moved = np.maximum(z + z**2 * transposed(form, y, on_small), LEAST_KEPT * z)
        x = normalised(program, form.probabilities(moved, program.n_moves))
        best = min(best, x, key=partial(exceeds, program))
        if exceeds(program, best) <= EXCEEDED / 10:
            break
    return best
