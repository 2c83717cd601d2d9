"""The most room under the parity bounds with r held, by the specialised method.

The room t is one more variable of the parity rows, in the unit box as the others: between what there is where nothing
moves, and what the rows could have at all. r is held by a price, as in a tie-break.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimise.program import Inequalities, Program
from evenhand.optimise.solve.model import one_column
from evenhand.optimise.solve.structured.beginning import begin, opened
from evenhand.optimise.solve.structured.form import form_of, held
from evenhand.optimise.solve.structured.layout import lay_out_form
from evenhand.optimise.solve.structured.polish import polished
from evenhand.optimise.solve.structured.steps import Watch, minimise
from evenhand.optimise.solve.structured.threads import one_thread

PRICES = (1000.0, 100000.0)
"""What a unit of mass of r that is not held costs, in units of the box of t; the second where the first is paid."""

PAID = 1e-9
"""The mass that may be paid for."""

GOAL = 1e-11
"""The gap, in units of the box of t."""


@one_thread()
def most_room(program: Program, on_parity: Numbers, released: Numbers, watch: Watch) -> Numbers:
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
        point = minimise(form, lay_out_form(form), begin(form, opened(program)), GOAL, watch).point
        if float(point.z[form.parts["v"]].sum()) <= PAID:
            return polished(program, form.probabilities(point.z, program.n_moves), targets, lambda x: True)
    raise SolverError("r could not be held")
