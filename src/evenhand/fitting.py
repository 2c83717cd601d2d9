"""Fit: the one place that joins counting, compiling, solving and certifying."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from evenhand import check
from evenhand.arrays import round_up
from evenhand.confidence import Trials, allowed, enough, not_enough_people
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, counts_of
from evenhand.errors import DataError, InfeasibleError, Made, Setting, SolverError, TimeLimitError, Verb, warn
from evenhand.findings.assurance import Assurance, answered, parts_of, quantile, refuse_small, refuse_tiny
from evenhand.findings.bounds import comparison
from evenhand.findings.feasibility import Edge, budget_edge, parity_edge, raised
from evenhand.findings.forbidden import already_forbidden
from evenhand.findings.ledger import ledger, levelled_down
from evenhand.folds import Fold, folds_of
from evenhand.kernel import unchanged
from evenhand.kernel.achieved import achieved, distances, outcome_by_source
from evenhand.mapping import Mapping
from evenhand.optimize.alternating import alternate
from evenhand.optimize.certificate import bounding, certify
from evenhand.optimize.compile import Compiled, compile_problem
from evenhand.optimize.program import Multipliers, Program, SmoothLoss
from evenhand.optimize.solve import Clock, Result, solve
from evenhand.optimize.tabulate import refuse_unmet, tabulated
from evenhand.render.sentences import sentence
from evenhand.resources import Progress, heeding, silent
from evenhand.spec import Margins, Parity, Problem, check_problem, weighted_by, weighting_of, with_margins
from evenhand.spec.by import each
from evenhand.tolerances import AT_BOUND, EDGE_TOLERANCE, VIOLATION_TOLERANCE

LOG = logging.getLogger("evenhand")

PLAIN_SHARE, FOLDS_SHARE, LAST_SHARE = 0.1, 0.8, 0.9
"""Of a fit with confidence: until the optimum without it is found, until the margins are, and until they are met."""

COUNTING_SHARE = 0.05
"""Of a whole fit; a large file says in words how far it is counted."""


MARGIN = 1e-4
"""How much larger a bound to try where the given one can be met only just."""


def fit(
    problem: Problem,
    frame: AnyTable | Counts,
    *,
    weights: str | Sequence[float] | None = None,
    frequencies: str | Sequence[int] | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Mapping:
    """Learn the mapping that loses least among those that meet every bound.

    Parameters
    ----------
    problem : Problem
        What to bound and what to keep.
    frame : dataframe, path or Counts
        The table: one row per person; with ``frequencies``, one row for so many people. A path names CSV or Parquet
        files.
    weights : str or sequence of float, optional
        Survey weights: a column of the table, or for a dataframe one number per row. A row is one person, who counts
        more or less. By default what the problem says. The mapping's problem
        states a column that is given here.
    frequencies : str or sequence of int, optional
        A table of counts: a column, or for a dataframe one integer per row. A row stands for so many people.
    time_limit : float, optional
        Seconds after which to stop, while the programme is written as well as while it is solved. A tie-break that runs
        out of time keeps the optimum found before it. A solver that does not stop within a second is left behind in its
        thread; but nothing stops Clarabel while it orders a matrix, which takes half a minute with two million moves.
    progress : callable, optional
        Called with the name of the stage and the share that is done.

    Returns
    -------
    Mapping
        With a certificate; see ``mapping.certificate``.

    Raises
    ------
    InfeasibleError
        If no mapping meets every bound; it carries the smallest bound that can be met.
    SolverError
        If no answer was found, and nothing is proved; :class:`TimeLimitError` if the limit came first.
    DataError
        Among others, if the fit would not fit into the memory that there is.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> mapping = eh.fit(data.problem, data.frame)
    >>> round(mapping.objective, 6), mapping.certificate.status
    (0.021244, 'optimal')
    """
    return fit_weighted(problem, frame, weighting_of(problem, weights, frequencies), time_limit, progress)


def fit_weighted(
    problem: Problem,
    frame: AnyTable | Counts,
    weighting: Weighting | None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> Mapping:
    """Fit to a table whose rows count as they are given, which the mapping's problem then states."""
    problem = weighted_by(problem, weighting)
    counts, clock, report = begin(problem, frame, weighting, time_limit, progress)
    with heeding(clock.check):
        mapping = fitted_as_asked(problem, counts, frame, weighting, clock, report)
    level = logging.INFO if mapping.certificate.history else logging.WARNING
    for words in mapping.certificate.notes:
        LOG.log(level, words)
    warn_of_bounds(problem.parity)
    for note in (mapping.new_cells, already_forbidden(problem, counts)):
        if note is not None:
            warn(sentence(note))
    warn_of_losses(mapping)
    report("done", 1.0)
    return mapping


def warn_of_losses(mapping: Mapping) -> None:
    """Warn where a mapping takes the favourable outcome from people in expectation."""
    who = ledger(mapping.problem, mapping.counts, mapping.kernel, mapping.achieved)
    lost = None if who is None else levelled_down(mapping.problem, who)
    if lost is not None:
        warn(*lost)


def warn_of_bounds(constraints: Iterable[Parity]) -> None:
    """Warn of every parity bound that is almost surely a mistake."""
    for parity in constraints:
        for bound in dict.fromkeys(each(parity.bound)):
            if (doubt := parity.distance.doubt(bound)) is not None:
                warn(f"{type(parity).__name__}{parity.where}: {doubt}")


def fitted(problem: Problem, counts: Counts, clock: Clock, report: Progress) -> Mapping:
    """Fit a problem whose callables are tabulated here; a user's own distance is checked again at the rates found."""
    mapping = _mapped(problem, tabulated(problem, counts), counts, clock, report)
    refuse_unmet(problem, counts, mapping.kernel)
    return mapping


def fitted_as_asked(
    problem: Problem,
    counts: Counts,
    frame: AnyTable | Counts,
    weighting: Weighting | None,
    clock: Clock,
    report: Progress,
) -> Mapping:
    """Fit to the counts of a table, with confidence where the problem asks for it."""
    if problem.confidence is None:
        return fitted(problem, counts, clock, report)
    return assured(problem, counts, folds_of(problem, counts, frame, weighting), clock, report)


def assured(problem: Problem, counts: Counts, folds: Sequence[Fold], clock: Clock, report: Progress) -> Mapping:
    """Fit with margins for the confidence that a problem asks for, found from folds of its table."""
    confidence = problem.confidence
    assert confidence is not None
    error = 1 - confidence
    parts = parts_of(problem, counts)
    for part in parts:
        refuse_tiny(part, counts)
    # Bounds that cannot be met at all are refused first; and the optimum without confidence tells what it costs.
    plain = fitted(problem, counts, clock, part_of(report, 0.0, PLAIN_SHARE))
    for part in parts:
        refuse_small(part, counts, outcome_by_source(counts, plain.kernel))
    if problem.conditional is not None:
        # A model is asked once, about everybody; folds have no cells that the table lacks.
        problem = replace(problem, conditional=plain.problem.conditional)
    stray, z = Trials(problem, counts, folds, clock, part_of(report, PLAIN_SHARE, FOLDS_SHARE)).settled()
    for last in (False, False, True):
        try:
            mapping = _with_margins(problem, counts, stray.margins(z), clock, part_of(report, FOLDS_SHARE, LAST_SHARE))
        except InfeasibleError as refused:
            raise not_enough_people(problem, counts, stray, z, clock, refused) from None
        own = stray.of_mapping(counts, mapping.kernel)
        if last or enough(own, error):
            break
        # Where the mapping of the whole table strays further than those of the folds, its own errors count; at last
        # a union over all lines, whatever room they have.
        stray = stray.widened(own)
        z = max(z, quantile(error, own.reach))
    most = allowed(problem, counts, stray, z, clock)
    if most < math.inf:
        z = answered(z, most)
        mapping = _with_margins(problem, counts, stray.margins(z), clock, part_of(report, LAST_SHARE, 1.0))
    margins = stray.margins(z)
    stated, without = plain.problem, plain.objective
    promised = Assurance(stated, counts, mapping.kernel, confidence, margins, stray.leaning, without)
    certificate = replace(mapping.certificate, without_confidence=without)
    return replace(mapping, problem=stated, certificate=certificate, assurance=promised)


def _with_margins(problem: Problem, counts: Counts, margins: Margins, clock: Clock, report: Progress) -> Mapping:
    """Fit a problem whose bounds are kept with margins."""
    stated = with_margins(problem, margins)
    return _mapped(stated, tabulated(stated, counts), counts, clock, report)


def part_of(report: Progress, first: float, last: float) -> Progress:
    """Tell of a part of the work, between two shares of the whole."""
    return lambda stage, share: report(stage, first + (last - first) * share)


def begin(
    problem: Problem,
    frame: AnyTable | Counts,
    weighting: Weighting | None = None,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> tuple[Counts, Clock, Progress]:
    """Start the clock, count the table, and return what everything after that is told."""
    check_problem(problem)
    report = check.progress(progress) or silent
    clock = Clock(time_limit)
    report("counting", 0.0)
    counts = checked_counts(problem, frame, weighting, report)
    clock.check()
    return counts, clock, report


def checked_counts(
    problem: Problem,
    frame: AnyTable | Counts,
    weighting: Weighting | None = None,
    progress: Progress = silent,
) -> Counts:
    """Count a table, and refuse one in which there is nothing to compare."""
    counts = counts_of(problem, frame, weighting, lambda stage, share: progress(stage, COUNTING_SHARE * share))
    if len(counts.groups.cells) < 2:
        only = counts.domain.d.words(int(counts.groups.cells[0]))
        raise DataError(
            f"the protected columns {list(problem.protected)} have a single group in this table ({only}); bounds "
            f"between groups need at least two"
        )
    if counts.domain.y.size < 2:
        level = counts.domain.outcome.levels[0]
        raise DataError(f"the outcome {problem.outcome!r} has a single value, {level!r}: there is no other class")
    return counts


def _mapped(asked: Problem, problem: Problem, counts: Counts, clock: Clock, report: Progress) -> Mapping:
    """Fit a problem whose callables are tabulated; errors speak of the one that was asked for."""
    if problem.alternates:
        return _alternated(asked, problem, counts, clock, report)
    report("writing the programme", COUNTING_SHARE)
    compiled = compile_problem(problem, counts)
    program = compiled.program
    LOG.info(
        "compiled %d sources, %d moves, %d parity rows, %d budget rows",
        len(counts), program.n_moves, len(program.parity), len(program.budgets),
    )  # fmt: skip
    mapping = _unchanged(problem, counts, program)
    if mapping is not None:
        return mapping
    result = _result(asked, problem, counts, compiled, clock, report)
    LOG.info("solved in %d steps", result.steps)
    report("certifying", 0.9)
    kernel = compiled.kernel(result.x)
    measured = achieved(problem, counts, kernel)
    if not measured.max_violation <= VIOLATION_TOLERANCE:
        # A solver that stopped short may have come near bounds that cannot be met.
        _refuse_if_infeasible(asked, counts, clock, report)
    certificate = certify(
        problem, counts, kernel, result.multipliers, program=program, measured=measured, notes=result.notes
    )
    return Mapping(problem, counts, kernel, result.multipliers, certificate)


def _unchanged(problem: Problem, counts: Counts, program: Program) -> Mapping | None:
    """Return the identity where it meets every bound: then nothing is lost and nobody is changed."""
    if problem.suppresses or np.any(program.change @ program.stays > 0):
        return None
    if program.parity_slack(program.stays).min(initial=0.0) < -AT_BOUND:
        return None
    kernel = unchanged(counts)
    measured = achieved(problem, counts, kernel)
    if measured.max_violation > 0:
        return None
    loss = program.loss
    r = program.released(program.stays)
    on_release = loss.gradient(r) if isinstance(loss, SmoothLoss) else np.zeros(len(r))
    multipliers = Multipliers(on_release, np.zeros(len(program.parity)), np.zeros(len(program.budgets)))
    certificate = certify(problem, counts, kernel, multipliers, program=program, measured=measured)
    # A measure of a user's own may be smaller elsewhere.
    return Mapping(problem, counts, kernel, multipliers, certificate) if certificate.status == "optimal" else None


def _result(
    asked: Problem, problem: Problem, counts: Counts, compiled: Compiled, clock: Clock, report: Progress
) -> Result:
    """Solve, or say why it cannot be done."""
    try:
        result = solve(compiled.program, problem.tie_break, clock, report)
    except TimeLimitError:
        raise
    except SolverError as error:
        _refuse_if_infeasible(asked, counts, clock, report)
        raise SolverError(*error.pieces, f". {_barely(problem)}") from None
    if result is None:
        _refuse_if_infeasible(asked, counts, clock, report)
        raise SolverError(_barely(problem))
    return result


def _alternated(asked: Problem, problem: Problem, counts: Counts, clock: Clock, report: Progress) -> Mapping:
    """Strategy 2: a local optimum, with the optimum without suppression as the bound that it is held against."""
    report("bounding every mapping", 0.05)
    convex = bounding(problem)
    compiled = compile_problem(convex, counts)
    bound = _result(bounding(asked), replace(convex, tie_break=None), counts, compiled, clock, silent)
    run, words = alternate(problem, counts, clock, report)
    certificate = certify(
        problem, counts, run.kernel, bound.multipliers, program=compiled.program, notes=words, history=run.history
    )
    return Mapping(problem, counts, run.kernel, bound.multipliers, certificate)


def _barely(problem: Problem) -> str:
    larger = ", ".join(f"{p.smallest_bound + MARGIN:g}" for p in problem.parity)
    return f"The bounds can be met only just, if at all; try a parity bound of {larger}"


def _refuse_if_infeasible(problem: Problem, counts: Counts, clock: Clock, report: Progress) -> None:
    """Raise the error that says how far the bounds are from being met, if they cannot be."""
    report("finding the smallest parity bound that can be met", 0.9)
    edge = parity_edge(problem, counts, clock, floors=True)
    if edge is not None and edge.bound <= problem.smallest_bound + EDGE_TOLERANCE:
        return
    report("finding the smallest budgets that will do", 0.95)
    factor = budget_edge(problem, counts, clock)
    if factor is not None and factor <= 1:
        return
    raise InfeasibleError(
        *_infeasible_words(problem, counts, edge, factor),
        smallest_parity_bound=None if edge is None else edge.bound,
        smallest_budget_factor=factor,
    )


def _infeasible_words(problem: Problem, counts: Counts, edge: Edge | None, factor: float | None) -> list[object]:
    asked = " and ".join(f"{type(p).__name__}({p.smallest_bound:g})" for p in problem.parity) or "the budgets"
    within = (
        "budgets, forbidden moves and forbidden records" if problem.forbidden_records else "budgets and forbidden moves"
    )
    words: list[object] = [f"No mapping meets {asked} within these {within}. "]
    if edge is None and problem.suppresses:
        words += [
            "No parity bound, however large, would do: with D suppressed the outcome is drawn from p(ŷ|x̂) for "
            "everybody, so what its changes cost is spent in any case. Write ",
            Setting("distortion", Made("Free"), column=problem.outcome),
            " to charge the features alone. ",
        ]
    elif edge is None:
        words.append("No parity bound, however large, would do: budgets or forbidden moves rule every mapping out. ")
    else:
        worst = max(distances(problem, counts, edge.kernel), key=lambda part: float(part.value.max()))
        apart = comparison(worst, int(np.argmax(worst.value))).words
        words.append(
            f"The smallest parity bound that can be met is {edge.bound:.7f}; try {round_up(edge.bound, 1e-4):g}. "
            f"The largest disparity there: {apart}. "
        )
    if factor is not None:
        changes = sorted({change for charge in problem.charges for change in raised(charge, factor).items()})
        limits = ", ".join(f"{limit:g} → {larger:.7g}" for limit, larger in changes)
        words.append(f"Or keep the parity bound and multiply the budgets by {round_up(factor, 1e-4):g} ({limits}). ")
    return [*words, Verb("diagnose"), " says why, with a proof."]
