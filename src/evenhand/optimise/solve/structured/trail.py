"""Where to begin a form that differs in its bounds alone: on the way to the answer of one with tighter ones.

The answer itself is no place to begin: its pairs are at zero on one side, and get away from there by short steps. One
on the way, with a gap of some decades more, has every pair still near the middle. What met the tighter bounds meets the
looser ones, so with the slacks that those leave every row is met from the start, and only the products of these few
slacks are too large. The other way round, from loose to tight, rows are off by more than the whole gap.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from evenhand.optimise.solve.structured.form import Form
from evenhand.optimise.solve.structured.steps import Point

DECADE = -4
"""The decade of the gap from which to begin, or the nearest that there is."""

LEAST = 1e-2
"""The share of itself that a slack keeps where the form's rows leave it less."""


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
        z[part[name]] = np.maximum(slack, LEAST * z[part[name]])
    return replace(point, z=z)
