"""Where the method begins: every choice open, every budget with room, no prices but those of the loss.

Or, for a form that differs in its bounds alone, on the way to the answer of one with tighter ones. The answer itself is
no place to begin: its pairs are at zero on one side, and get away from there by short steps. One on the way, with a gap
of some decades more, has every pair still near the middle. What met the tighter bounds meets the looser ones, so with
the slacks that those leave every row is met from the start, and only the products of these few slacks are too large.
The other way round, from loose to tight, rows are off by more than the whole gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from evenhand.arrays import Numbers
from evenhand.optimize.program import Program
from evenhand.optimize.solve.structured.form import Form
from evenhand.optimize.solve.structured.steps import Point

ROOM = 0.5
"""The share of a budget that is its slack at least."""

PARITY_ROOM = 0.1
"""The slack of a parity row at least."""

LEAST_PIECE = 1e-6
"""What a target gains and loses at least."""

SPREAD = 0.1
"""The share of a difference by which both its sides are enlarged."""

STAYING = 0.1
"""What the choice that changes least has beyond its even share."""

DECADE = -4
"""The decade of the gap from which to begin, or the nearest that there is."""

LEAST_SLACK = 1e-2
"""The share of itself that a slack keeps where the form's rows leave it less."""


def begin(form: Form, q: Numbers) -> Point:
    """Return a point to begin at, with the given q, which must be positive."""
    part, pieces = form.parts, form.pieces
    z, s = np.empty(len(form.prices)), np.maximum(form.prices, 1.0)
    y = np.zeros(len(form.right))
    rows = form.matrix @ q
    z[part["q"]] = q
    limit = form.right[form.budget_rows]
    z[part["w"]] = np.maximum(limit - rows[form.budget_rows], ROOM * limit)
    r = rows[form.release_rows]
    lost = pieces.right - r
    on_piece = np.maximum(pieces.on_v * lost[pieces.row], 0.0)
    z[part["v"]] = on_piece + np.maximum(SPREAD * np.abs(lost), LEAST_PIECE)[pieces.row]
    if pieces.curve is not None:
        z[part["v"]], s[part["v"]] = r, pieces.curve.at(r)
        y[form.release_rows] = s[part["v"]] - pieces.cost
    g = rows[form.rate_rows]
    z[part["m"]] = z[part["n"]] = 0.5
    z[part["t"]] = np.maximum(form.limit - form.on_g @ g - 0.5 * form.on_m.sum(axis=1), PARITY_ROOM)
    return Point(z, s, g, y, np.zeros(len(form.limit) + form.on_m.shape[1]))


def opened(program: Program) -> Numbers:
    """Return the mass of every choice where all of an owner's are open, the one that changes least a little more."""
    choices = np.diff(program.starts)[program.source]
    return np.asarray(program.move_weight * (STAYING * program.stays + (1 - STAYING) / choices))


def begin_on(trail: Mapping[int, Point], form: Form) -> Point | None:
    """Return the point of another form's trail to begin at, with slacks that suit this one; None for no trail."""
    if not trail:
        return None
    point = trail[min(trail, key=lambda decade: (abs(decade - DECADE), -decade))]
    part, z = form.parts, point.z.copy()
    left = {
        "w": form.right[form.budget_rows] - form.matrix[form.budget_rows] @ z[part["q"]],
        "t": form.limit - form.on_g @ point.g - form.on_m @ z[part["m"]],
    }
    for name, slack in left.items():
        z[part[name]] = np.maximum(slack, LEAST_SLACK * z[part[name]])
    return replace(point, z=z)
