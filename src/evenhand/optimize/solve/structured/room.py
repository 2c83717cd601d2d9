"""The most room under the parity bounds with r held, by the specialised method.

The room t is one more variable of the parity rows, in the unit box as the others: between what there is where nothing
moves, and what the rows could have at all. r is held by a price, as in a tie-break.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from evenhand.arrays import Numbers
from evenhand.errors import SolverError, TimeLimitError
from evenhand.optimize.program import Inequalities, Program
from evenhand.optimize.solve.model import one_column
from evenhand.optimize.solve.structured.beginning import begin, begin_on, opened
from evenhand.optimize.solve.structured.form import Form, form_of, held
from evenhand.optimize.solve.structured.layout import Layout, lay_out_form
from evenhand.optimize.solve.structured.polish import polished
from evenhand.optimize.solve.structured.steps import Answer, Point, Watch, minimise
from evenhand.optimize.solve.structured.threads import one_thread

PRICES = (1000.0, 100000.0)
"""What a unit of mass of r that is not held costs, in units of the box of t; the second where the first is paid."""

PAID = 1e-9
"""The mass that may be paid for."""

ROOM_GOAL = 1e-11
"""The gap, in units of the box of t."""

KEPT = 0.9
"""Of the room that other bounds leave a point of the way, the share that it has where the search begins..."""

LEAST_ROOM = 1e-3
"""...and how far from the ends of its box t is there at least."""


class RoomAlong:
    """The most room in programmes that differ in their bounds alone: one layout, each begun on the way to the last."""

    def __init__(self) -> None:
        self._last: tuple[Form, Layout, Answer] | None = None

    @one_thread()
    def most_room(self, program: Program, on_parity: Numbers, released: Numbers, watch: Watch) -> Numbers:
        """Return the x with the most room: the largest t with every parity row's slack at least t times its scale.

        Raises
        ------
        SolverError
            Where the method finds none.
        """
        parity, soft = program.parity, on_parity > 0
        # Between the room where nothing moves and what rates between zero and one could leave.
        low = float(np.min(program.parity_slack(program.stays)[soft] / on_parity[soft], initial=0.0))
        largest = parity.limit - np.minimum(parity.matrix.toarray(), 0.0).sum(axis=1)
        high = float(np.min(largest[soft] / on_parity[soft], initial=np.inf))
        if not low < high < np.inf:
            raise SolverError("there is no room to look for")
        matrix = sparse.hstack([parity.matrix, one_column((high - low) * on_parity)], format="csr")
        limit = parity.limit - low * on_parity
        with_room = replace(program, n_auxiliary=program.n_auxiliary + 1, parity=Inequalities(matrix, limit))
        targets = np.flatnonzero(np.diff(program.release.indptr) > 0)
        for price in PRICES:
            form = form_of(with_room, held(targets, released, price))
            prices = form.prices.copy()
            prices[form.parts["n"].stop - 1] = 1.0
            form = replace(form, prices=prices)
            point = self._minimise(form, opened(program), watch).point
            if float(point.z[form.parts["v"]].sum()) <= PAID:
                return polished(program, form.probabilities(point.z, program.n_moves), targets, lambda x: True)
        raise SolverError("r could not be held")

    def _minimise(self, form: Form, q: Numbers, watch: Watch) -> Answer:
        """Begin on the way to the last answer, if it was one of the same pattern; else, or if that fails, at q."""
        last = self._last if self._last is not None and form.same_pattern(self._last[0]) else None
        layout, trail = (lay_out_form(form), {}) if last is None else (last[1], last[2].trail)
        start = begin_on({decade: _with_less_room(point, form) for decade, point in trail.items()}, form)
        answer = None
        try:
            answer = None if start is None else minimise(form, layout, start, ROOM_GOAL, watch)
        except TimeLimitError:
            raise
        except SolverError:
            # It was no good start.
            pass
        if answer is None:
            answer = minimise(form, layout, begin(form, q), ROOM_GOAL, watch)
        self._last = form, layout, answer
        return answer


def _with_less_room(point: Point, form: Form) -> Point:
    """Return a point of another form with no more room than this one's rows leave it, so that they are met."""
    z, g = point.z.copy(), point.g
    # A view: the room is the last of m.
    m, on_room = z[form.parts["m"]], form.on_m[:, -1]
    left, soft = form.limit - form.on_g @ g - form.on_m[:, :-1] @ m[:-1], on_room > 0
    m[-1] = np.clip(KEPT * np.min(left[soft] / on_room[soft]), LEAST_ROOM, 1 - LEAST_ROOM)
    z[form.parts["n"]] = 1 - m
    return replace(point, z=z)
