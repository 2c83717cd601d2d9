"""Linear programmes, through HiGHS."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import highspy
import numpy as np

from evenhand.arrays import Numbers
from evenhand.errors import SolverError
from evenhand.optimize.program import Multipliers, PolyhedralLoss, Program, Solution
from evenhand.optimize.solve.clock import Clock
from evenhand.optimize.solve.model import INFINITY, Columns, Model, equalities, lay_out, multipliers_of
from evenhand.tolerances import SOLVER_TOLERANCE

HELD_LOSS = 1e-10
"""How much of the loss a tie-break may give back."""

INTERIOR_POINT_FROM = 20_000
"""With more columns than this the interior-point method (and crossover) is faster than simplex."""

PRIMAL_SIMPLEX_TO = 12_000
"""With fewer columns than this the loss itself is minimised fastest by primal simplex without presolve."""

PRIMAL_SIMPLEX = 4
DUAL_SIMPLEX = 1
STOPPABLE = (
    highspy.cb.HighsCallbackType.kCallbackSimplexInterrupt,
    highspy.cb.HighsCallbackType.kCallbackIpmInterrupt,
)
UNDECIDED = (
    highspy.HighsModelStatus.kUnknown,
    highspy.HighsModelStatus.kNotset,
    highspy.HighsModelStatus.kSolveError,
)
OPTIMAL = highspy.HighsModelStatus.kOptimal
STOPPED = (highspy.HighsModelStatus.kTimeLimit, highspy.HighsModelStatus.kInterrupt)
INFEASIBLE = (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible)


@dataclass(frozen=True, eq=False)
class LinearAnswer:
    """The optimum of a linear programme; ``z`` is None where it is infeasible."""

    z: Numbers | None
    duals: Numbers
    objective: float


class LinearSolver:
    """One linear programme that may be solved again, from where it stands, with other numbers or more rows."""

    def __init__(self, model: Model, clock: Clock) -> None:
        clock.check()
        self._clock = clock
        make: Any = highspy.Highs
        self._highs = make()
        self._set("output_flag", False)
        self._set("primal_feasibility_tolerance", SOLVER_TOLERANCE)
        self._set("dual_feasibility_tolerance", SOLVER_TOLERANCE)

        def interrupt(kind: Any, message: str, seen: Any, said: Any, data: Any) -> None:
            said.user_interrupt = True

        self._highs.setCallback(interrupt, None)
        if len(model.cost) > INTERIOR_POINT_FROM:
            self._set("solver", "ipm")
        self._highs.passModel(_highs_model(model))
        clock.check()

    @property
    def n_columns(self) -> int:
        return int(self._highs.getNumCol())

    def take(self, model: Model) -> bool:
        """Go on with other numbers in as many rows and columns, from the last basis; False where that cannot be done.

        The last vertex is nearly feasible and nearly optimal, which primal simplex makes most of, whatever the size.
        """
        basis = self._highs.getBasis()
        shape = (sum(len(r.low) for r in model.rows), len(model.cost))
        if not basis.valid or shape != (self._highs.getNumRow(), self._highs.getNumCol()):
            return False
        self._highs.passModel(_highs_model(model))
        if self._highs.setBasis(basis) != highspy.HighsStatus.kOk:
            return False
        self.use_primal_simplex()
        return True

    def minimise_again(self, cost: Numbers) -> Numbers:
        """Solve with another cost, which cannot make a feasible programme infeasible."""
        self._highs.changeColsCost(len(cost), np.arange(len(cost), dtype=np.int32), cost)
        if self._highs.getBasis().valid:
            # The last vertex is still feasible, so primal simplex has only the new cost to follow.
            self.use_primal_simplex()
        answer = self.run()
        if answer.z is None:
            # Where there is next to no room, presolve's sums of rounding errors are taken for a contradiction.
            self._begin_anew()
            answer = self.run()
        if answer.z is None:
            raise SolverError("the held optimum was numerically infeasible")
        return answer.z

    def use_primal_simplex(self) -> None:
        """Choose primal simplex, from the basis as it stands."""
        self._set("solver", "simplex")
        self._set("simplex_strategy", PRIMAL_SIMPLEX)
        self._set("presolve", "off")

    def hold(self, coefficients: Numbers, at_most: float) -> None:
        """Add a row that keeps a linear function at or below a value."""
        columns = np.flatnonzero(coefficients).astype(np.int32)
        self._highs.addRow(-highspy.kHighsInf, at_most, len(columns), columns, coefficients[columns])

    def run(self) -> LinearAnswer:
        """Solve as it stands."""
        self._clock.check()
        if np.isfinite(self._clock.remaining):
            self._set("time_limit", self._highs.getRunTime() + self._clock.remaining)
        self._run()
        if self._highs.getModelStatus() in UNDECIDED:
            # Once more, the slow way, which has an answer where the quick one gives up.
            self._begin_anew()
            self._run()
        status = self._highs.getModelStatus()
        solution = self._highs.getSolution()
        # HiGHS reports sensitivities of the optimum, which are minus the Lagrangian's multipliers.
        duals = -np.asarray(solution.row_dual)
        if status == OPTIMAL:
            return LinearAnswer(np.asarray(solution.col_value), duals, self._highs.getObjectiveValue())
        if status in INFEASIBLE:
            return LinearAnswer(None, duals, float("inf"))
        if status in STOPPED:
            raise self._clock.late()
        raise SolverError(f"HiGHS stopped with the status {self._highs.modelStatusToString(status)!r}")

    def _begin_anew(self) -> None:
        """Forget every basis, and go on by dual simplex without presolve."""
        self._highs.clearSolver()
        self._set("solver", "simplex")
        self._set("simplex_strategy", DUAL_SIMPLEX)
        self._set("presolve", "off")

    def _run(self) -> None:
        """Run HiGHS.

        It would call back in every iteration, which doubles the time of small programmes; so its callbacks are switched
        on only once there is something to tell.
        """

        def ask_to_stop() -> None:
            for kind in STOPPABLE:
                self._highs.startCallback(kind)

        self._clock.run(self._highs.run, ask_to_stop)

    def _set(self, option: str, value: Any) -> None:
        # An option that HiGHS does not know leaves the default in silence.
        if self._highs.setOptionValue(option, value) != highspy.HighsStatus.kOk:
            raise SolverError(f"this version of HiGHS does not take the option {option}={value!r}")


def solve_polyhedral(program: Program, loss: PolyhedralLoss, clock: Clock) -> tuple[Solution | None, LinearSolver]:
    """Minimise a polyhedral loss; None where the programme is infeasible.

    The solver is returned as well: with the loss held at its optimum, a tie-break goes on from there.
    """
    model = with_epigraph(lay_out(program), loss)
    solver = _solver_of(model, clock)
    answer = solver.run()
    if answer.z is None:
        return None, solver
    multipliers = multipliers_of(model, answer.duals, loss)
    solver.hold(model.cost, answer.objective + HELD_LOSS)
    return Solution(answer.z[model.column("x")], multipliers, steps=1), solver


def _solver_of(model: Model, clock: Clock) -> LinearSolver:
    solver = LinearSolver(model, clock)
    if len(model.cost) < PRIMAL_SIMPLEX_TO:
        solver.use_primal_simplex()
    return solver


class PolyhedralAlong:
    """Polyhedral losses of programmes that differ little: one HiGHS model, each begun at the last one's basis."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._solver: LinearSolver | None = None

    def minimise(self, program: Program, loss: PolyhedralLoss) -> Solution | None:
        """Return the optimum; None where the programme is infeasible."""
        model = with_epigraph(lay_out(program), loss)
        if self._solver is None or not self._solver.take(model):
            self._solver = _solver_of(model, self._clock)
        answer = self._solver.run()
        if answer.z is None:
            return None
        return Solution(answer.z[model.column("x")], multipliers_of(model, answer.duals, loss), steps=1)


def best_multipliers(program: Program, released: Numbers, clock: Clock) -> Multipliers:
    """Return the parity and budget multipliers that give the best lower bound for given ones on r."""
    model = lay_out(program).with_cost(r=released)
    answer = LinearSolver(model, clock).run()
    found = multipliers_of(model, answer.duals, program.loss)
    return replace(found, released=released)


def with_epigraph(model: Model, loss: PolyhedralLoss) -> Model:
    """Add a polyhedral loss to a model, with its cost."""
    epigraph = loss.epigraph
    columns = Columns.of("loss", len(epigraph.cost), 0.0, INFINITY, epigraph.cost)
    rows = equalities("loss", {"r": epigraph.on_r, "loss": epigraph.on_v}, epigraph.right)
    return model.with_blocks([columns], [rows])


def _highs_model(model: Model) -> Any:
    matrix = model.matrix
    low, high = model.bounds
    row_low, row_high = model.row_bounds
    lp = highspy.HighsLp()
    lp.num_row_, lp.num_col_ = matrix.shape
    lp.col_cost_, lp.col_lower_, lp.col_upper_ = model.cost, low, high
    lp.row_lower_, lp.row_upper_ = row_low, row_high
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = matrix.indptr
    lp.a_matrix_.index_ = matrix.indices
    lp.a_matrix_.value_ = matrix.data
    return lp
