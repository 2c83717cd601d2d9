"""What a solver leaves of an answer: dust of tiny probabilities, and how far it is beyond a bound."""

from __future__ import annotations

import numpy as np

from evenhand.arrays import Numbers
from evenhand.optimize.program import Program
from evenhand.optimize.solve.model import relief_at

NEGLIGIBLE = 1e-8
"""A smaller probability is dust: it moves nobody in practice, and almost no rate is still a rate."""

NOBODY = 2e-10
"""A move that a smaller share of all people makes is dust as well."""

MOST_LOST = 1e-2
"""A source whose moves of this kind add up to more of its probability keeps them."""

EXCEEDED = 3e-10
"""Less than this beyond a bound is rounding, well within what a certificate tolerates."""


def tidy(program: Program, x: Numbers, share: float = 1.0) -> Numbers:
    """Drop the dust, or only what is a smaller share of what counts as such, and make every source sum to one."""
    few = program.move_weight * x <= share * NOBODY
    # All that a source of hardly any people does is done by hardly anybody, and is no dust for that.
    lost = np.add.reduceat(np.where(few, np.maximum(x, 0.0), 0.0), program.starts[:-1])
    few &= (lost <= MOST_LOST)[program.source]
    return normalised(program, np.where((x <= share * NEGLIGIBLE) | few, 0.0, x))


def normalised(program: Program, x: Numbers) -> Numbers:
    """Make every source sum to one."""
    x = np.maximum(x, 0.0)
    total = np.add.reduceat(x, program.starts[:-1])
    return np.asarray(x / total[program.source])


def exceeds(program: Program, x: Numbers) -> float:
    """Return the most by which any bound is exceeded, in its own units."""
    relief = relief_at(program, program.rates @ x)
    parity = program.parity_slack(x)
    # A rate against zero has no relief: exceeding it at all exceeds every bound.
    unit = np.where(relief > 0, relief, np.where(program.soft, np.finfo(float).tiny, 1.0))
    worst = np.concatenate([parity / unit, program.budget_slack(x) * program.budget_unit]).min(initial=0.0)
    return float(-worst)
