"""Smooth losses: successive quadratic programmes through Clarabel, with a line search on the true loss."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from operator import itemgetter
from typing import Any

import clarabel
import numpy as np
from scipy import sparse

from evenhand.counts import Numbers
from evenhand.errors import InfeasibleError, SolverError, TimeLimitError
from evenhand.program import Multipliers, Program, SmoothLoss, Solution, lower_bound
from evenhand.solve.clock import Clock
from evenhand.solve.edges import fullest
from evenhand.solve.model import Model, lay_out, multipliers_of

TOLERANCE = 1e-10
"""Clarabel's tolerances for feasibility and gap."""

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
"""A step that leaves more than this share of the gap is the last."""

EMPTIED = 1e-3
"""A decisive cell with less than this share of its original mass counts as emptied."""


@dataclass(frozen=True)
class Attempt:
    """One way to put a programme to Clarabel."""

    refine: bool
    in_units: bool


ATTEMPTS = (Attempt(False, False), Attempt(True, False), Attempt(True, True))

MOST_STEPS = 60
BISECTIONS = 40


class QuadraticSolver:
    """min cost·z + ½ Σ curvature z² over a model, to be solved again with other costs and curvatures."""

    def __init__(self, model: Model, curved: Numbers, clock: Clock, *, refine: bool = True) -> None:
        self._clock = clock
        self._refine = refine
        self._model = model
        self._curved = curved
        self._solver: Any = None

    def minimise(self, cost: Numbers, curvature: Numbers) -> tuple[Numbers, Numbers] | None:
        """Return z and the rows' multipliers, or None where the model is infeasible."""
        self._clock.check()
        quadratic = sparse.csc_array(
            (curvature[self._curved], (self._curved, self._curved)), shape=(len(cost), len(cost))
        )
        if self._solver is None:
            self._solver = self._build(quadratic, cost)
        else:
            self._solver.update(P=sparse.csc_matrix(quadratic), q=cost)
        with self._clock.listening():
            answer = self._solver.solve()
        return self._read(answer)

    def _build(self, quadratic: Any, cost: Numbers) -> Any:
        matrix, right, cones, self._row_of = _conic(self._model)
        settings = clarabel.DefaultSettings()
        settings.verbose = False
        settings.presolve_enable = False
        settings.iterative_refinement_enable = self._refine
        for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas"):
            setattr(settings, name, TOLERANCE)
        if np.isfinite(self._clock.remaining):
            settings.time_limit = self._clock.remaining
        solver = clarabel.DefaultSolver(sparse.csc_matrix(quadratic), cost, matrix, right, cones, settings)
        solver.set_termination_callback(lambda info: self._clock.stop)
        return solver

    def _read(self, answer: Any) -> tuple[Numbers, Numbers] | None:
        status = answer.status
        # A solver that stopped short of its tolerances may still be near enough: the certificate is the judge.
        near = status in STOPPED_SHORT and answer.r_prim <= NEAR_ENOUGH
        if status == clarabel.SolverStatus.Solved or near:
            duals = np.zeros(sum(len(r.low) for r in self._model.rows))
            duals[self._row_of] = np.asarray(answer.z)[: len(self._row_of)]
            return np.asarray(answer.x), duals
        if status == clarabel.SolverStatus.PrimalInfeasible:
            return None
        if status in (clarabel.SolverStatus.MaxTime, clarabel.SolverStatus.CallbackTerminated):
            raise TimeLimitError(f"no answer within the time limit of {self._clock.time_limit} s")
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


def _successive(program: Program, loss: SmoothLoss, clock: Clock, attempt: Attempt) -> tuple[Solution, float] | None:
    """Expand the loss, solve, search, and again, until the gap is closed; return the solution and its gap."""
    model = lay_out(program, in_units=attempt.in_units)
    on_r, on_x = model.column("r"), model.column("x")
    solver = QuadraticSolver(model, np.arange(on_r.start, on_r.stop), clock, refine=attempt.refine)
    r, best = loss.start, None
    for step in range(1, MOST_STEPS + 1):
        answer = solver.minimise(*_expansion(model, on_r, loss, r))
        if answer is None:
            return None
        proposed = answer[0][on_x]
        before = _inside(program, loss, proposed, clock) if best is None else best[0].x
        x = _search(program, loss, before, proposed)
        r = program.released(x)
        latest = Solution(x, _best(program, loss, r, multipliers_of(model, answer[1], loss)), step)
        gap = loss.value(r) - lower_bound(program, latest.multipliers)
        stalled = best is not None and gap >= STALLED * best[1]
        if best is None or gap <= best[1]:
            best = latest, gap
        if gap <= GAP_GOAL or stalled:
            break
    return best


def _best(program: Program, loss: SmoothLoss, r: Numbers, found: Multipliers) -> Multipliers:
    """Choose between the solver's own multipliers on r and the gradient there: whichever bounds better.

    The first are consistent with the other multipliers, the second with r; both give valid bounds.
    """
    return max(found, replace(found, released=loss.gradient(r)), key=partial(lower_bound, program))


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
    held = loss.decisive & (loss.start > 0)
    if np.all(program.released(proposed)[held] >= EMPTIED * loss.start[held]):
        return proposed
    full, share = fullest(program, loss.start, held, clock)
    if share > 0:
        return (proposed + full) / 2
    if loss.needed.any():
        raise InfeasibleError(
            "every mapping that meets the bounds empties some cell of the table, where this utility is infinite; "
            "relax a bound, allow more moves, or choose a utility that allows empty cells, such as L1()"
        )
    return proposed


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


def _conic(model: Model) -> tuple[Any, Numbers, list[Any], Any]:
    """Write a model's rows and bounds as ``A z + s = b`` with s zero or not negative.

    The first entries of s belong to rows of the model, to their upper side; ``row_of`` says which.
    """
    matrix = model.matrix
    row_low, row_high = model.row_bounds
    low, high = model.bounds
    equal = np.flatnonzero(row_low == row_high)
    above = np.flatnonzero((row_low < row_high) & np.isfinite(row_high))
    below = np.flatnonzero((row_low < row_high) & np.isfinite(row_low))
    floor, ceiling = np.flatnonzero(np.isfinite(low)), np.flatnonzero(np.isfinite(high))
    eye = sparse.eye_array(len(low), format="csr")
    parts = [matrix[equal], matrix[above], -matrix[below], -eye[floor], eye[ceiling]]
    right = np.concatenate([row_high[equal], row_high[above], -row_low[below], -low[floor], high[ceiling]])
    cones = [clarabel.ZeroConeT(len(equal)), clarabel.NonnegativeConeT(len(right) - len(equal))]
    stacked = sparse.csc_matrix(sparse.vstack(parts, format="csc"))
    return stacked, right, cones, np.concatenate([equal, above])
