"""Where the method begins: every choice open, every budget with room, no prices but those of the loss."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Numbers
from evenhand.optimise.program import Program
from evenhand.optimise.solve.structured.form import Form
from evenhand.optimise.solve.structured.steps import Point

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
