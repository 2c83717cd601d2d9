"""The certificate: a lower bound, the gap to it, and every violation, recomputed for the kernel as it is.

The violations come from :mod:`evenhand.kernel.achieved`, which never saw a solver. The lower bound holds for *any*
multipliers by weak duality, so a wrong multiplier can only make the gap larger, never the claim false.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

import numpy as np

from evenhand.data.counts import Counts
from evenhand.errors import SolverError, StorageError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved, achieved
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import Multipliers, Program, lower_bound
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Note, Section
from evenhand.spec import Problem
from evenhand.tolerances import CONTRADICTION, GAP_TOLERANCE, ROW_TOLERANCE, VIOLATION_TOLERANCE, WORST_VIOLATION

Status = Literal["optimal", "feasible", "local"]


STATUS = {"optimal": "certificate.optimal", "feasible": "certificate.feasible", "local": "certificate.local"}


@dataclass(frozen=True)
class Certificate(Finding):
    """What is known of a mapping without trusting how it was found.

    Attributes
    ----------
    status : {"optimal", "feasible", "local"}
        ``optimal``: every bound holds within 1e-9 and the gap is at most 1e-7. ``feasible``: the bounds hold (within
        the violation stated), the optimum may be better. ``local``: found by alternating minimisation, which is not
        convex; the bounds hold, and the gap is to a bound on every mapping, whether or not it suppresses D.
    objective : float
        Δ(p, r) achieved.
    lower_bound : float or None
        No mapping that meets the bounds has a smaller Δ.
    gap : float or None
        ``objective − lower_bound``, by rounding a little below zero at times; None where there is no bound.
    max_violation : float
        The largest amount by which any bound is exceeded, in its own units.
    row_error : float
        The largest distance of a row's sum from one.
    notes : tuple of str
        Anything about how the mapping was found that should be known.
    history : tuple of float
        The objective after each half-step of an alternating minimisation; it never rises.
    without_confidence : float or None
        The optimum of the same problem without its ``confidence``, as the fit found it: what the margins cost is the
        difference. None where no confidence was asked for.
    """

    status: Status
    objective: float
    lower_bound: float | None
    gap: float | None
    max_violation: float
    row_error: float
    notes: tuple[str, ...] = ()
    history: tuple[float, ...] = ()
    without_confidence: float | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the certificate as plain values."""
        return asdict(self)

    @property
    def sections(self) -> tuple[Section, ...]:
        """What is certified, and what that means."""
        facts = [Fact("status", self.status), Fact("objective", self.objective, "loss")]
        notes = [Note(STATUS[self.status])]
        if self.lower_bound is not None and self.gap is not None:
            # What rounding makes of no gap may be below zero.
            facts += [Fact("lower_bound", self.lower_bound, "loss"), Fact("gap", max(self.gap, 0.0), "violation")]
            notes.append(Note("certificate.lower_bound"))
        if self.without_confidence is not None:
            facts.append(Fact("without_confidence", self.without_confidence, "loss"))
            more = max(self.objective - self.without_confidence, 0.0)
            notes.append(Note("certificate.margins", {"more": more}))
        facts.append(Fact("max_violation", self.max_violation, "violation"))
        facts.append(Fact("row_error", self.row_error, "violation", detail=True))
        notes += [Note("text", {"text": words}) for words in self.notes]
        return (Section("certificate", facts=tuple(facts), notes=tuple(notes)),)


def certify(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    multipliers: Multipliers,
    *,
    program: Program | None = None,
    measured: Achieved | None = None,
    notes: tuple[str, ...] = (),
    history: tuple[float, ...] = (),
) -> Certificate:
    """Recompute the certificate of a kernel.

    The programme and what was achieved are recomputed from the problem and the counts unless they are given.
    """
    program = program or compile_problem(bounding(problem), counts).program
    measured = measured or achieved(problem, counts, kernel)
    wanted = (program.n_targets, len(program.parity), len(program.budgets))
    given = (len(multipliers.released), len(multipliers.parity), len(multipliers.budgets))
    if wanted != given:
        raise StorageError(f"the multipliers are for another problem: {given} of them where it has {wanted} rows")
    objective, violation = measured.objective, measured.max_violation
    # Written so that a NaN is refused.
    if not (violation <= WORST_VIOLATION and measured.row_error <= ROW_TOLERANCE):
        raise SolverError(
            f"the mapping exceeds a bound by {violation:.2g} (rows sum to one within {measured.row_error:.2g}): it is "
            f"not returned. Relax a bound a little, or merge small cells"
        )
    bound = _proved(problem, program, multipliers)
    gap = None if bound is None else objective - bound
    status: Status = "feasible" if problem.suppression.convex else "local"
    if violation <= VIOLATION_TOLERANCE and bound is not None and gap is not None:
        if bound - objective > CONTRADICTION * max(1.0, abs(objective)):
            raise SolverError(
                f"the lower bound {bound:.9g} exceeds the objective {objective:.9g}: the utility measure contradicts "
                f"itself (its value, gradient and curvature must belong to one convex function)"
            )
        status = "optimal" if gap <= GAP_TOLERANCE else status
    return Certificate(
        status=status,
        objective=objective,
        lower_bound=bound,
        gap=gap,
        max_violation=violation,
        row_error=measured.row_error,
        notes=notes,
        history=history,
    )


def bounding(problem: Problem) -> Problem:
    """Return the convex problem whose optimum bounds this one's: itself, or the one that does not suppress D."""
    return problem if problem.suppression.convex else replace(problem, suppress_protected=None)


def _proved(problem: Problem, program: Program, multipliers: Multipliers) -> float | None:
    """Return the multipliers' bound, or zero where that is better and Δ goes no lower; None where nothing is proved."""
    if not problem.utility.certifiable:
        return None
    with np.errstate(over="ignore", invalid="ignore"):
        bound = lower_bound(program, multipliers)
    if problem.utility.nonnegative:
        return bound if np.isfinite(bound) and bound > 0 else 0.0
    return bound if np.isfinite(bound) else None
