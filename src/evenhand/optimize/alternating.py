"""Strategy 2 of section 3.2.2: alternating minimisation where D is suppressed.

With P(x̂, ŷ | d, x, y) = p(ŷ|x̂) P(x̂ | d, x, y) the problem is convex in either factor while the other is held.
Solving for one and then the other never raises the objective, and ends in a local optimum. It is begun from
p(ŷ|x̂) = p(y), which meets pairwise parity and the default target at any bound; from the table's own p(y|x); and from
between the two, because from p(y) every x̂ looks alike. A measure that forbids cells with p = 0 has each of these on the
outcomes that every x̂ was seen with.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Flags, Numbers
from evenhand.data.counts import Counts
from evenhand.errors import InfeasibleError, Made, Setting, SolverError, TimeLimitError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import achieved, released_conditional
from evenhand.optimize.compile import Compiled, compile_outcomes, compile_problem
from evenhand.optimize.solve import Clock, solve
from evenhand.resources import Progress
from evenhand.spec import Problem, outcome_given_features
from evenhand.tolerances import VIOLATION_TOLERANCE

SETTLED = 1e-8
"""A whole round that lowers the objective by less is the last."""

MOST_ROUNDS = 50

TOWARDS_OWN = 0.3
"""How far the third start lies from p(y) towards p(y|x)."""

SHARE_OF_BOUND = 0.2
"""The share of the whole that bounding every mapping counts for in reports of progress."""


@dataclass(frozen=True, eq=False)
class Run:
    """One alternating minimisation: where it began, what it reached, how the objective fell, and why it stopped."""

    start: str
    kernel: Kernel
    history: tuple[float, ...]
    reason: str

    @property
    def objective(self) -> float:
        """Δ of the last step."""
        return self.history[-1]

    @property
    def words(self) -> str:
        """Where it started, and how far the objective fell."""
        return (
            f"alternating from {self.start}: {self.history[0]:.6g} → {self.objective:.6g} in {len(self.history)} "
            f"half-steps; {self.reason}"
        )


def alternate(problem: Problem, counts: Counts, clock: Clock, progress: Progress) -> tuple[Run, tuple[str, ...]]:
    """Return the best of the runs, and what to say of each."""
    cells = counts.features.cells
    everywhere = np.tile(counts.outcome, (len(cells), 1))
    own = outcome_given_features(None, counts, cells)
    between = (1 - TOWARDS_OWN) * everywhere + TOWARDS_OWN * own
    starts = [("p(y)", everywhere), ("p(y|x)", own), ("between them", between)]
    for parity in problem.parity:
        # A target that parity states meets it at any bound.
        if (target := parity.stated_target) is not None:
            shares = [float(target.get(level, 0.0)) for level in counts.domain.outcome.levels]
            starts.append(("the target", np.tile(shares, (len(cells), 1))))
    permitted = _permitted(problem, counts)
    runs, words = [], []
    for number, (start, wanted) in enumerate(starts):
        conditional = _within(permitted, wanted, own)
        first = SHARE_OF_BOUND + (1 - SHARE_OF_BOUND) * number / len(starts)
        progress(f"alternating from {start}", first)

        def told(rounds: int, objective: float, start: str = start, first: float = first) -> None:
            # Nobody knows how many rounds there will be: each covers half of what is left.
            share = (1 - 0.5**rounds) * (1 - SHARE_OF_BOUND) / len(starts)
            progress(f"alternating from {start}: round {rounds}, loss {objective:.6g}", first + share)

        run = _run(problem, counts, start, conditional, clock, told)
        if run is None:
            words.append(f"alternating from {start}: no mapping within the bounds was found")
        else:
            runs.append(run)
            words.append(run.words)
    if not runs:
        raise SolverError(
            "alternating minimisation found no mapping within the bounds, which does not prove that there is none: it "
            "looked from p(y), from the table's own p(y|x), from between them and from every stated target. The "
            "outcome is drawn anew for everybody, so give its changes a smaller cost, or write ",
            Setting("distortion", Made("Free"), column=problem.outcome),
            ", or raise the budgets",
        )
    return min(runs, key=lambda run: run.objective), tuple(words)


def _permitted(problem: Problem, counts: Counts) -> Flags:
    """Return, for every observed x and each outcome, whether the measure lets anybody be released there."""
    cells, size = counts.features.cells, counts.domain.y.size
    if problem.utility.new_cells:
        return np.ones((len(cells), size), dtype=bool)
    every = counts.domain.xy(np.repeat(cells, size), np.tile(np.arange(size), len(cells)))
    return np.asarray(counts.records.at(every) > 0).reshape(len(cells), size)


def _within(permitted: Flags, conditional: Numbers, own: Numbers) -> Numbers:
    """Return a conditional on the permitted outcomes alone; the table's own where it has nothing on them."""
    kept = np.where(permitted, conditional, 0.0)
    total = kept.sum(axis=1, keepdims=True)
    return np.where(total > 0, kept / np.where(total > 0, total, 1.0), own)


def _run(
    problem: Problem,
    counts: Counts,
    start: str,
    conditional: Numbers,
    clock: Clock,
    told: Callable[[int, float], None],
) -> Run | None:
    """Improve p(ŷ|x̂) and P(x̂ | d, x, y) in turn; a half-step that would raise the objective is not taken."""
    found = _step(problem, counts, _features(problem, counts, conditional), clock)
    if found is None:
        return None
    kernel, history, reason = found[0], [found[1]], f"stopped after {MOST_ROUNDS} rounds"
    for rounds in range(1, MOST_ROUNDS + 1):
        before = history[-1]
        found = _step(problem, counts, compile_outcomes(problem, counts, kernel), clock, at_most=before)
        if found is not None:
            kernel = found[0]
            history.append(found[1])
            # Where nobody is released, p(ŷ|x̂) stays as it was.
            cells, released = released_conditional(counts, kernel)
            conditional = conditional.copy()
            conditional[np.searchsorted(counts.features.cells, cells)] = released
        found = _step(problem, counts, _features(problem, counts, conditional), clock, at_most=history[-1])
        if found is not None:
            kernel = found[0]
            history.append(found[1])
        told(rounds, history[-1])
        if before - history[-1] <= SETTLED:
            reason = f"stopped when a round lowered it by less than {SETTLED:g}"
            break
    # Among the equally useful P(x̂ | d, x, y) at the last p(ŷ|x̂), the tie-break chooses.
    features, most = _features(problem, counts, conditional), history[-1] + SETTLED
    found = _step(problem, counts, features, clock, at_most=most, tie_break=problem.tie_break)
    return Run(start, kernel if found is None else found[0], tuple(history), reason)


def _features(problem: Problem, counts: Counts, conditional: Numbers) -> Compiled | None:
    try:
        return compile_problem(problem, counts, conditional)
    except InfeasibleError:
        return None


def _step(
    problem: Problem,
    counts: Counts,
    compiled: Compiled | None,
    clock: Clock,
    *,
    at_most: float = np.inf,
    tie_break: str | None = None,
) -> tuple[Kernel, float] | None:
    """Solve one half; None where it is infeasible, not solved within the tolerances, or of a larger objective."""
    if compiled is None:
        return None
    try:
        result = solve(compiled.program, tie_break, clock)
    except TimeLimitError:
        raise
    except (SolverError, InfeasibleError):
        return None
    if result is None:
        return None
    kernel = compiled.kernel(result.x)
    measured = achieved(problem, counts, kernel)
    met = measured.max_violation <= VIOLATION_TOLERANCE and measured.objective <= at_most
    return (kernel, measured.objective) if met else None
