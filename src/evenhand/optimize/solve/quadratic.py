"""Smooth losses: successive quadratic programmes through Clarabel, with a line search on the true loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any, NamedTuple

import clarabel
import numpy as np
from scipy import sparse

from evenhand.arrays import Cells, Numbers
from evenhand.errors import InfeasibleError, SolverError, TimeLimitError
from evenhand.optimize.program import Multipliers, Program, SmoothLoss, Solution, lower_bound
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.model import Model, lay_out, multipliers_of
from evenhand.tolerances import SOLVER_TOLERANCE

ROUGH_TOLERANCE = 1e-5
"""Clarabel's where all that is wanted is an r to expand a loss about."""

NEAR_ENOUGH = 1e-6
"""The largest residual of an answer that is worth repairing."""

STOPPED_SHORT = (
    clarabel.SolverStatus.AlmostSolved,
    clarabel.SolverStatus.InsufficientProgress,
    clarabel.SolverStatus.MaxIterations,
    clarabel.SolverStatus.NumericalError,
)

GAP_GOAL = 1e-9
"""The duality gap at which no further quadratic programme is solved."""

GAP_ACCEPTED = 1e-8
"""The gap above which another scaling of the rows is tried."""

STALLED = 0.5
"""A step that leaves more than this share of the gap may be the last."""

PROGRESS = 1e-3
"""But not if it lowers the loss by more than this share of the gap: far from the optimum steps are short at first."""

EMPTIED = 1e-3
"""A decisive cell with less than this share of its original mass counts as emptied."""


class Attempt(NamedTuple):
    """One way to put a programme to Clarabel."""

    refine: bool
    in_units: bool


ATTEMPTS = (Attempt(False, False), Attempt(True, False), Attempt(True, True))

MOST_STEPS = 200
BISECTIONS = 40


class QuadraticSolver:
    """min cost·z + ½ Σ curvature z² over a model, to be solved again with other costs, curvatures and coefficients."""

    def __init__(self, model: Model, curved: Numbers, clock: Clock, *, refine: bool = True) -> None:
        self._clock = clock
        self._refine = refine
        self._curved = curved
        self._conic = _conic(model)
        self._solver: Any = None

    def take(self, model: Model) -> bool:
        """Go on with other coefficients and limits; False, and nothing is done, where other entries are zero.

        Clarabel then keeps its ordering and its symbolic factorisation, which are half of a solve's time.
        """
        latest = _conic(model)
        if not latest.fits(self._conic):
            return False
        self._conic = latest
        if self._solver is not None:
            self._solver.update(A=latest.matrix.data, b=latest.right)
        return True

    def minimise(
        self, cost: Numbers, curvature: Numbers, tolerance: float = SOLVER_TOLERANCE
    ) -> tuple[Numbers, Numbers] | None:
        """Return z and the rows' multipliers, or None where the model is infeasible."""
        self._clock.check()
        first = np.searchsorted(self._curved, np.arange(len(cost) + 1))
        quadratic = sparse.csc_matrix((curvature[self._curved], self._curved, first), shape=(len(cost), len(cost)))
        if self._solver is None:
            # To take the matrix and to order it takes seconds where it is large, and cannot be stopped.
            self._clock.check()
            settings = clarabel.DefaultSettings()
            settings.verbose = False
            settings.presolve_enable = False
            settings.iterative_refinement_enable = self._refine
            if np.isfinite(self._clock.remaining):
                settings.time_limit = self._clock.remaining
            conic = self._conic
            self._solver = clarabel.DefaultSolver(quadratic, cost, conic.matrix, conic.right, conic.cones, settings)
            # Of the clock alone: Clarabel's memory is not seen by the garbage collector, so that a way back to this
            # object would keep both for ever.
            clock = self._clock
            self._solver.set_termination_callback(lambda info: clock.stop)
        else:
            self._solver.update(P=quadratic, q=cost)
        settings = self._solver.get_settings()
        settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
        self._solver.update(settings=settings)
        self._clock.check()
        answer = self._clock.run(self._solver.solve)
        status = answer.status
        # A solver that stopped short of its tolerances may still be near enough: the certificate is the judge.
        near = status in STOPPED_SHORT and answer.r_prim <= NEAR_ENOUGH
        if status == clarabel.SolverStatus.Solved or near:
            row_of = self._conic.row_of
            duals = np.zeros(self._conic.n_rows)
            duals[row_of] = np.asarray(answer.z)[: len(row_of)]
            return np.asarray(answer.x), duals
        if status == clarabel.SolverStatus.PrimalInfeasible:
            return None
        if status in (clarabel.SolverStatus.MaxTime, clarabel.SolverStatus.CallbackTerminated):
            raise self._clock.late()
        raise SolverError(f"Clarabel stopped with the status {status}")


def solve_smooth(program: Program, loss: SmoothLoss, clock: Clock) -> Solution | None:
    """Minimise a smooth loss; None where the programme is infeasible.

    The gap tells whether an answer is good enough, so the quickest way is tried first: without iterative refinement,
    then with it, then with rows in units of what they compare (Clarabel scales rows itself, mostly better).
    """
    best: tuple[Solution, float] | None = None
    for attempt in ATTEMPTS:
        try:
            found = _successive(program, loss, clock, attempt)
        except TimeLimitError:
            raise
        except SolverError:
            if attempt is ATTEMPTS[-1] and best is None:
                raise
            continue
        if found is None and attempt.refine:
            return None
        if found is None:
            continue
        best = found if best is None else min(best, found, key=itemgetter(1))
        if best[1] <= GAP_ACCEPTED:
            break
    return None if best is None else best[0]


class SmoothAlong:
    """Smooth losses of programmes that differ little: one Clarabel solver, each r begun where the last one ended."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._solver: QuadraticSolver | None = None
        self._r: Numbers | None = None

    def minimise(self, program: Program, loss: SmoothLoss) -> Solution | None:
        """Return the best that the quickest way finds, which the gap must judge; None where it finds nothing."""
        model = lay_out(program, in_units=ATTEMPTS[0].in_units)
        if self._solver is None or not self._solver.take(model):
            self._solver = _solver_of(model, self._clock, ATTEMPTS[0])
        start = self._r if self._r is not None and len(self._r) == program.n_targets else loss.start
        found = _descend(program, loss, model, self._solver, start, self._clock)
        self._r = None if found is None else program.released(found[0].x)
        return None if found is None else found[0]


def _successive(program: Program, loss: SmoothLoss, clock: Clock, attempt: Attempt) -> tuple[Solution, float] | None:
    """Put a programme to Clarabel in one way, and begin where nothing is lost, or rather near the answer."""
    model = lay_out(program, in_units=attempt.in_units)
    solver = _solver_of(model, clock, attempt)
    start = loss.start
    # A quadratic loss is its own expansion; of any other, the r where it is roughly least is better to expand about.
    if not np.array_equal(loss.curvature(start), loss.curvature(2 * start)):
        answer = solver.minimise(*_expansion(model, model.column("r"), loss, start), tolerance=ROUGH_TOLERANCE)
        r = start if answer is None else program.released(answer[0][model.column("x")])
        start = start if _empties(loss, r) else r
    return _descend(program, loss, model, solver, start, clock)


def _solver_of(model: Model, clock: Clock, attempt: Attempt) -> QuadraticSolver:
    on_r = model.column("r")
    return QuadraticSolver(model, np.arange(on_r.start, on_r.stop), clock, refine=attempt.refine)


def _descend(
    program: Program, loss: SmoothLoss, model: Model, solver: QuadraticSolver, r: Numbers, clock: Clock
) -> tuple[Solution, float] | None:
    """Expand the loss about r, solve, search, and again, until the gap is closed; return the solution and its gap."""
    on_r, on_x = model.column("r"), model.column("x")
    best: tuple[Solution, float] | None = None
    bounded: tuple[float, Multipliers] | None = None
    for step in range(1, MOST_STEPS + 1):
        answer = solver.minimise(*_expansion(model, on_r, loss, r))
        if answer is None:
            return None
        proposed = answer[0][on_x]
        before = _inside(program, loss, proposed, clock) if best is None else best[0].x
        x = _search(program, loss, before, proposed)
        lowered = loss.value(program.released(before)) - loss.value(program.released(x))
        r = program.released(x)
        found = multipliers_of(model, answer[1], loss)
        # The solver's own multipliers on r are consistent with its others, the gradient with r; both bounds are valid.
        both = found, replace(found, released=loss.gradient(r))
        candidates = [(lower_bound(program, one), one) for one in both]
        bound, multipliers = max(candidates if bounded is None else [*candidates, bounded], key=itemgetter(0))
        bounded = bound, multipliers
        gap = loss.value(r) - bound
        stalled = best is not None and gap >= STALLED * best[1] and not lowered > PROGRESS * best[1]
        best = Solution(x, multipliers, step), gap
        if gap <= GAP_GOAL or stalled:
            break
    return best


def _expansion(model: Model, on_r: slice, loss: SmoothLoss, r: Numbers) -> tuple[Numbers, Numbers]:
    """Return the cost and curvature of the loss's second-order expansion about r."""
    cost, curvature = np.zeros(len(model.cost)), np.zeros(len(model.cost))
    curvature[on_r] = loss.curvature(r)
    cost[on_r] = loss.gradient(r) - curvature[on_r] * r
    return cost, curvature


def _inside(program: Program, loss: SmoothLoss, proposed: Numbers, clock: Clock) -> Numbers:
    """Return a feasible point to search from: the first proposal, unless it empties a decisive cell.

    Near an empty cell the loss of some measures is infinitely steep, so a search would not get away from it.
    """
    if not _empties(loss, program.released(proposed)):
        return proposed
    held = loss.decisive & (loss.start > 0)
    from evenhand.optimize.solve.edges import fullest

    full, share = fullest(program, loss.start, held, clock)
    if share > 0:
        return (proposed + full) / 2
    if loss.needed.any():
        raise InfeasibleError(
            "every mapping that meets the bounds empties some cell of the table, where this utility is infinite; "
            "relax a bound, allow more moves, or choose a utility that allows empty cells, such as L1"
        )
    return proposed


def _empties(loss: SmoothLoss, r: Numbers) -> bool:
    """Whether a decisive cell has next to nothing left."""
    held = loss.decisive & (loss.start > 0)
    return not np.all(r[held] >= EMPTIED * loss.start[held])


def _search(program: Program, loss: SmoothLoss, x: Numbers, proposed: Numbers) -> Numbers:
    """Return the point of least loss between x and the proposal, by bisection on the slope."""
    r, step = program.released(x), program.released(proposed - x)

    def slope(share: float) -> float:
        at = r + share * step
        if np.any(at[loss.needed] <= 0):
            return np.inf
        return float(loss.gradient(at) @ step)

    low, high = 0.0, 1.0
    if slope(1.0) <= 0:
        return proposed
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        low, high = (middle, high) if slope(middle) <= 0 else (low, middle)
    return x + low * (proposed - x)


@dataclass(frozen=True, eq=False)
class Conic:
    """A model's rows and bounds as ``A z + s = b`` with s zero in the first ``n_equal`` rows, else not negative.

    The first entries of s belong to rows of the model, to their upper side; ``row_of`` says which.
    """

    matrix: Any
    right: Numbers
    n_equal: int
    row_of: Cells
    n_rows: int

    @property
    def cones(self) -> list[Any]:
        return [clarabel.ZeroConeT(self.n_equal), clarabel.NonnegativeConeT(len(self.right) - self.n_equal)]

    def fits(self, other: Conic) -> bool:
        """Whether the same rows have entries in the same places."""
        return (
            self.matrix.shape == other.matrix.shape
            and self.n_equal == other.n_equal
            and np.array_equal(self.row_of, other.row_of)
            and np.array_equal(self.matrix.indptr, other.matrix.indptr)
            and np.array_equal(self.matrix.indices, other.matrix.indices)
        )


def _conic(model: Model) -> Conic:
    """Write a model for Clarabel."""
    row_low, row_high = model.row_bounds
    low, high = model.bounds
    equal = np.flatnonzero(row_low == row_high)
    above = np.flatnonzero((row_low < row_high) & np.isfinite(row_high))
    below = np.flatnonzero((row_low < row_high) & np.isfinite(row_low))
    floor, ceiling = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    right = np.concatenate([row_high[equal], row_high[above], -row_low[below], -low[floor], high[ceiling]])
    entries = model.entries
    # Rows follow one another as in ``right``; one with two sides is there twice, a bound of z is a row of one entry.
    n_rows = len(row_low)
    parts = [_placed(entries, np.concatenate([equal, above]), n_rows, 0, 1.0)]
    parts.append(_placed(entries, below, n_rows, len(equal) + len(above), -1.0))
    bounded, sign = np.concatenate([floor, ceiling]), np.repeat([-1.0, 1.0], [len(floor), len(ceiling)])
    parts.append((sign, np.arange(len(right) - len(bounded), len(right)), bounded))
    data, row, column = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    stacked = sparse.csc_matrix((data, (row, column)), shape=(len(right), len(low)))
    return Conic(stacked, right, len(equal), np.concatenate([equal, above]), n_rows)


def _placed(
    entries: tuple[Numbers, Cells, Cells], rows: Cells, n_rows: int, first: int, sign: float
) -> tuple[Numbers, Cells, Cells]:
    data, row, column = entries
    place = np.full(n_rows, -1)
    place[rows] = np.arange(first, first + len(rows))
    kept = place[row] >= 0
    return sign * data[kept], place[row[kept]], column[kept]
