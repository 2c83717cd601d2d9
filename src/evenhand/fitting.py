"""Fit: count a table, find the optimum, with confidence where it is asked for, and warn of what a reader must know."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from evenhand import check, tables
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.errors import DataError, warn
from evenhand.mapping import Mapping
from evenhand.optimize.solve import Clock
from evenhand.optimum import optimal
from evenhand.resources import Progress, heeding, part_of, silent
from evenhand.spec import Parity, Problem, check_problem, weighted_by, weighting_of
from evenhand.spec.agreement import favourable_code
from evenhand.spec.by import each

if TYPE_CHECKING:
    from evenhand.engines import AnyTable

LOG = logging.getLogger("evenhand")

COUNTING_SHARE = 0.05
"""Of a whole fit; a large file says in words how far it is counted."""


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
        mapping = fit_counted(problem, counts, frame, weighting, clock, report)
    level = logging.INFO if mapping.certificate.history else logging.WARNING
    for words in mapping.certificate.notes:
        LOG.log(level, words)
    warn_of_bounds(problem.parity)
    warn_of_people(mapping)
    report("done", 1.0)
    return mapping


def warn_of_people(mapping: Mapping) -> None:
    """Warn of new cells, of records that are forbidden already, and of people who lose the favourable outcome."""
    problem, counts = mapping.problem, mapping.counts
    notes = [mapping.new_cells]
    if problem.forbidden_records:
        from evenhand.findings.forbidden import already_forbidden

        notes.append(already_forbidden(problem, counts))
    for note in filter(None, notes):
        from evenhand.render.sentences import sentence

        warn(sentence(note))
    if favourable_code(problem, counts.domain) is not None:
        from evenhand.findings.ledger import ledger, levelled_down

        who = ledger(problem, counts, mapping.kernel, mapping.achieved)
        if who is not None and (lost := levelled_down(problem, who)) is not None:
            warn(*lost)


def warn_of_bounds(constraints: Iterable[Parity]) -> None:
    """Warn of every parity bound that is almost surely a mistake."""
    for parity in constraints:
        for bound in dict.fromkeys(each(parity.bound)):
            if (doubt := parity.distance.doubt(bound)) is not None:
                warn(f"{type(parity).__name__}{parity.where}: {doubt}")


def fit_counted(
    problem: Problem,
    counts: Counts,
    frame: AnyTable | Counts,
    weighting: Weighting | None,
    clock: Clock,
    report: Progress,
) -> Mapping:
    """Fit to the counts of a table, with confidence where the problem asks for it: its folds need the table itself."""
    if problem.suppression.scored:
        from evenhand.suppression import fit_unaware

        return fit_unaware(problem, counts, frame, weighting, clock, report)
    if problem.confidence is None:
        return optimal(problem, counts, clock, report)
    # Few ask for it.
    from evenhand.confidence import fit_confident
    from evenhand.folds import folds_of

    return fit_confident(problem, counts, folds_of(problem, counts, frame, weighting), clock, report)


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
    if tables.in_memory(frame) and not problem.suppression.scored:
        counts = tables.counts_in_memory(problem, frame, weighting)
    else:
        from evenhand import engines

        counts = engines.counts_of(problem, frame, weighting, part_of(progress, 0.0, COUNTING_SHARE))
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
