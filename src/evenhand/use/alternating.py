"""Strategy 2 of section 3.2.2: alternating minimisation where D is suppressed.

With P(x̂, ŷ | d, x, y) = p(ŷ|x̂) P(x̂ | d, x, y) the problem is convex in either factor while the other is held.
Solving for one and then the other never raises the objective, and ends in a local optimum. It is begun from
p(ŷ|x̂) = p(y), which meets pairwise parity and the default target at any bound; from the table's own p(y|x); and from
between the two, because from p(y) every x̂ looks alike.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from evenhand.arrays import Numbers
from evenhand.data.counts import Counts
from evenhand.errors import InfeasibleError, SolverError, TimeLimitError
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import achieved, released_conditional
from evenhand.optimise.certificate import VIOLATION_TOLERANCE
from evenhand.optimise.compile import Compiled, compile_outcomes, compile_problem
from evenhand.optimise.solve import Clock, solve
from evenhand.resources import Progress
from evenhand.spec import Problem, outcome_given_features

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
        """The objective reached."""
        return self.history[-1]

    @property
    def words(self) -> str:
        """Say what the run did."""
        return (
            f"alternating from {self.start}: {self.history[0]:.6g} → {self.objective:.6g} in {len(self.history)} "
            f"half-steps; {self.reason}"
        )


def alternate(problem: Problem, counts: Counts, clock: Clock, progress: Progress) -> tuple[Run, tuple[str, ...]]:
    """Return the best of the runs, and what to say of each."""
    runs, words = [], []
    starts = _starts(problem, counts)
    for number, (start, conditional) in enumerate(starts):
        first = SHARE_OF_BOUND + (1 - SHARE_OF_BOUND) * number / len(starts)
        progress(f"alternating from {start}", first)

        def told(rounds: int, objective: float, start: str = start, first: float = first) -> None:
            # Nobody knows how many rounds there will be: each covers half of what is left.
            share = (1 - 0.5**rounds) * (1 - SHARE_OF_BOUND) / len(starts)
            progress(f"alternating from {start}: round {rounds}, loss {objective:.6g}", first + share)

        run = _run(problem, counts, start, conditional, clock, told)
        if run is None:
            words.append(f"alternating from {start}: infeasible")
        else:
            runs.append(run)
            words.append(run.words)
    if not runs:
        raise InfeasibleError(
            "alternating minimisation found no feasible start, which does not prove that there is none: neither p(y) "
            "nor the table's own p(y|x), nor anything tried between them, nor a stated target leaves a mapping within "
            "the bounds, budgets and forbidden moves. The outcome is drawn anew for everybody, so give its changes a "
            "smaller cost (or Free()), or raise the budgets"
        )
    return min(runs, key=lambda run: run.objective), tuple(words)


def _starts(problem: Problem, counts: Counts) -> list[tuple[str, Numbers]]:
    cells = counts.features.cells
    everywhere = np.tile(counts.outcome, (len(cells), 1))
    own = outcome_given_features(None, counts, cells)
    between = (1 - TOWARDS_OWN) * everywhere + TOWARDS_OWN * own
    return [("p(y)", everywhere), ("p(y|x)", own), ("between them", between), *_targets(problem, counts)]


def _targets(problem: Problem, counts: Counts) -> Iterator[tuple[str, Numbers]]:
    """Yield the targets that parity states, which meet it at any bound."""
    for parity in problem.parity:
        if (target := parity.stated_target) is not None:
            shares = [float(target.get(level, 0.0)) for level in counts.domain.outcome.levels]
            yield "the target", np.tile(shares, (len(counts.features.cells), 1))


def _run(
    problem: Problem,
    counts: Counts,
    start: str,
    conditional: Numbers,
    clock: Clock,
    told: Callable[[int, float], None],
) -> Run | None:
    found = _step(problem, counts, _features(problem, counts, conditional), clock)
    if found is None:
        return None
    kernel, history, reason = found[0], [found[1]], f"stopped after {MOST_ROUNDS} rounds"
    for rounds in range(1, MOST_ROUNDS + 1):
        before = history[-1]
        kernel, conditional = _round(problem, counts, kernel, conditional, history, clock)
        told(rounds, history[-1])
        if before - history[-1] <= SETTLED:
            reason = f"stopped when a round lowered it by less than {SETTLED:g}"
            break
    return Run(start, _chosen(problem, counts, conditional, kernel, history[-1], clock), tuple(history), reason)


def _round(
    problem: Problem, counts: Counts, kernel: Kernel, conditional: Numbers, history: list[float], clock: Clock
) -> tuple[Kernel, Numbers]:
    """Improve p(ŷ|x̂), then P(x̂ | d, x, y); a half-step that would raise the objective is not taken."""
    found = _step(problem, counts, compile_outcomes(problem, counts, kernel), clock)
    if found is not None and found[1] <= history[-1]:
        kernel = found[0]
        history.append(found[1])
        conditional = _updated(counts, kernel, conditional)
    found = _step(problem, counts, _features(problem, counts, conditional), clock)
    if found is not None and found[1] <= history[-1]:
        kernel = found[0]
        history.append(found[1])
    return kernel, conditional


def _features(problem: Problem, counts: Counts, conditional: Numbers) -> Compiled | None:
    try:
        return compile_problem(problem, counts, conditional)
    except InfeasibleError:
        return None


def _updated(counts: Counts, kernel: Kernel, conditional: Numbers) -> Numbers:
    """Take p(ŷ|x̂) from a kernel; where nobody is released it stays as it was."""
    cells, found = released_conditional(counts, kernel)
    changed = conditional.copy()
    changed[np.searchsorted(counts.features.cells, cells)] = found
    return changed


def _step(
    problem: Problem, counts: Counts, compiled: Compiled | None, clock: Clock, tie_break: str | None = None
) -> tuple[Kernel, float] | None:
    """Solve one half; None where it is infeasible, or not solved within the tolerances."""
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
    return (kernel, measured.objective) if measured.max_violation <= VIOLATION_TOLERANCE else None


def _chosen(
    problem: Problem, counts: Counts, conditional: Numbers, kernel: Kernel, objective: float, clock: Clock
) -> Kernel:
    """Choose among the equally useful P(x̂ | d, x, y) at the last p(ŷ|x̂)."""
    found = _step(problem, counts, _features(problem, counts, conditional), clock, problem.tie_break)
    return found[0] if found is not None and found[1] <= objective + SETTLED else kernel
