"""Numerical tolerances: how near is equal, how far beyond a bound is a violation, how small is nothing.

What one method alone is tuned by (a solver's goals, the check of a user's function) stands beside that method.
``evenhand.verifier`` imports nothing and has its own, in exact arithmetic.
"""

VIOLATION_TOLERANCE = 1e-9
"""The largest violation of a mapping that is called optimal, in the units of each bound."""

WORST_VIOLATION = 1e-6
"""A mapping that violates a bound by more is not returned at all."""

GAP_TOLERANCE = 1e-7
"""The largest gap of a mapping that is called optimal, in units of the utility."""

CONTRADICTION = 1e-7
"""A lower bound this far above the objective is not rounding."""

ROW_TOLERANCE = 1e-12
"""How far each row of a mapping may be from summing to one."""

SOLVER_TOLERANCE = 1e-10
"""Asked of HiGHS and Clarabel: the tightest that HiGHS takes."""

EDGE_TOLERANCE = 1e-9
"""Bounds closer to the smallest feasible one are not called infeasible."""

AT_BOUND = 1e-6
"""A quantity this close to its bound is at it; one that exceeds it by more clearly violates it."""

ROUNDING = 1e-9
"""A smaller excess, price or difference of what was found is rounding, and zero."""

DOUBLE_ROUNDING = 1e-14
"""The same for what no solver touched: what double precision leaves of zero."""

SHOWN_FROM = 1e-7
"""Smaller prices, and smaller shares of the weight of an infeasibility proof, are noise and not listed."""

TREATED_ALIKE = 1e-6
"""People whose expected results differ by less are treated alike: solvers stop somewhere."""

SAME_PRICE = 1e-6
"""Prices that differ by a smaller share are tied."""

SAME_PROBABILITY = 1e-12
"""Probabilities, shares and rates that differ by less are the same."""

SAME_WEIGHT = 1e-9
"""Sums of weights that differ by a smaller share are the same: they are added up in different orders."""

WHOLE_PEOPLE = 1e-6
"""An expected number of people this close to an integer is that integer."""

AGREEMENT = 1e-9
"""How far a stated number may be from the recomputed one."""

TARGET_SUM_TOLERANCE = 1e-9
"""How far the probabilities of a given target may be from summing to one."""

SHARES_SUM_TOLERANCE = 1e-6
"""The same for the probabilities of a model, which may be in single precision; they are normalized."""
