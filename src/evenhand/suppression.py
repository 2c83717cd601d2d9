"""Fit for models that may not see D, where records stay; corrected by what a learner makes of the release out of fold.

Propensities and the learner both err. So the learner is trained on the expected release within folds, each group's mean
score is compared with the rate that was bounded, the rates are shifted by the difference, and the fit is repeated. What
a correction is worth is judged by people who did not make it; the best mapping is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evenhand.arrays import Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, columns_in, unaware_people
from evenhand.errors import InfeasibleError, SolverError, TimeLimitError, warn
from evenhand.findings.unaware import UnawareScores, unaware_rates
from evenhand.kernel.achieved import outcome_by_source, parity_achieved
from evenhand.mapping import Mapping
from evenhand.optimize.solve import Clock
from evenhand.optimum import optimal
from evenhand.resources import Progress, part_of
from evenhand.spec import Problem, all_comparisons
from evenhand.spec.unaware import LEARNER, People, out_of_fold

CORRECTIONS = 3
"""More of them follow noise."""

FIRST_SHARE, LAST_SHARE = 0.3, 0.9
"""Of a fit: until the optimum without a correction is found, and until the last is judged."""


@dataclass(frozen=True, eq=False)
class Trial:
    """A mapping, and what a learner makes of it out of fold.

    Attributes
    ----------
    made : array
        By how much the mean scores of those who make a correction differ from the rates: by group and outcome.
    scores, errors : array
        The mean scores of all others, and their standard errors.
    excess : float
        By how much these exceed a bound, at worst.
    settled : bool
        Whether these are what the bounds were on, within their standard errors.
    """

    mapping: Mapping
    made: Numbers
    scores: Numbers
    errors: Numbers
    excess: float
    settled: bool


def fit_unaware(
    problem: Problem,
    counts: Counts,
    table: AnyTable | Counts,
    weighting: Weighting | None,
    clock: Clock,
    report: Progress,
) -> Mapping:
    """Fit with bounds on the mean scores of a model without D, corrected out of fold."""
    plain = optimal(problem, counts, clock, part_of(report, 0.0, FIRST_SHARE))
    outside = _outside(problem, table, weighting)
    # Sums that were given are taken as they are.
    given = isinstance(table, Counts) and table.propensities is not None
    people = None if given else unaware_people(problem, counts, table, weighting)
    first = None if people is None else _tried(plain, people)
    if people is None or first is None:
        nothing = np.full((len(counts.groups.cells), counts.domain.y.size), np.nan)
        if not given:
            _warn_of_nothing(people)
        return replace(plain, suppression=UnawareScores(counts, plain.kernel, "", nothing, nothing, 0, outside))
    best, number = _corrected(problem, counts, people, first, clock, report)
    told = best.mapping.counts, best.mapping.kernel, LEARNER, best.scores, best.errors
    return replace(best.mapping, suppression=UnawareScores(*told, number, outside))


def _corrected(
    problem: Problem, counts: Counts, people: People, first: Trial, clock: Clock, report: Progress
) -> tuple[Trial, int]:
    """Return the best of the corrections, and how many of them it has."""
    best, number, last = first, 0, first
    known = counts.propensities
    assert known is not None
    for attempt in range(1, CORRECTIONS + 1):
        if last.settled:
            break
        clock.check()
        share = (LAST_SHARE - FIRST_SHARE) / CORRECTIONS
        part = part_of(report, FIRST_SHARE + (attempt - 1) * share, FIRST_SHARE + attempt * share)
        shifted = replace(counts, propensities=replace(known, shift=np.clip(last.made, -1, 1)))
        try:
            mapping = optimal(problem, shifted, clock, part)
        except TimeLimitError:
            raise
        except (InfeasibleError, SolverError):
            break
        found = _tried(mapping, people)
        assert found is not None
        last = found
        if last.excess < best.excess:
            best, number = last, attempt
    return best, number


def _tried(mapping: Mapping, people: People) -> Trial | None:
    """Return what a learner makes of a mapping's expected release; None where there is no learner."""
    counts, known = mapping.counts, mapping.counts.propensities
    assert known is not None
    released = outcome_by_source(counts, mapping.kernel)
    found = out_of_fold(people, released[people.source])
    if found is None:
        return None
    rates = unaware_rates(counts, mapping.kernel, shifted=False)
    made, judged = (_means(found, people, those, rates) for those in (people.making, ~people.making))
    errors = _errors(found, people, ~people.making, judged)
    off = replace(counts, propensities=replace(known, shift=np.clip(judged - rates, -1, 1)))
    bounded = [part for part in all_comparisons(mapping.problem, off) if part.scored]
    excess = max((parity_achieved(part, off, mapping.kernel).violation for part in bounded), default=0.0)
    settled = bool(np.all(np.abs(judged - rates - known.shift) <= errors))
    return Trial(mapping, made - rates, judged, errors, excess, settled)


def _means(found: Numbers, people: People, those: Flags, otherwise: Numbers) -> Numbers:
    """Return the mean scores of some people by group; ``otherwise`` where a group has nobody among them."""
    groups, weight = len(otherwise), people.weight * those
    total = sums(people.group, weight, groups)[:, None]
    each = np.column_stack([sums(people.group, weight * column, groups) for column in found.T])
    return np.asarray(np.where(total > 0, each / np.where(total > 0, total, 1.0), otherwise))


def _errors(found: Numbers, people: People, those: Flags, means: Numbers) -> Numbers:
    """Return the standard errors of mean scores; one where a group has hardly anybody."""
    groups, weight = len(means), people.weight * those
    heads = np.maximum(people.people, 1e-12)
    off = (found - means[people.group]) ** 2 * (weight**2 / heads)[:, None]
    total = sums(people.group, weight, groups)[:, None]
    spread = np.column_stack([sums(people.group, column, groups) for column in off.T])
    return np.asarray(np.where(total > 0, np.minimum(np.sqrt(spread) / np.where(total > 0, total, 1.0), 1.0), 1.0))


def _outside(problem: Problem, table: AnyTable | Counts, weighting: Weighting | None) -> tuple[str, ...]:
    """Return the columns of a table that the propensities did not see."""
    if isinstance(table, Counts):
        return ()
    named: Sequence[str | None] = (*problem.columns, None if weighting is None else weighting.column)
    return tuple(name for name in columns_in(table, problem.csv)[1] if name not in named)


def _warn_of_nothing(people: People | None) -> None:
    why = (
        "learned cells are known here by their counts alone: give the table as a dataframe in memory, or as files"
        if people is None
        else "scikit-learn is not installed: pip install 'evenhand[sklearn]'"
    )
    warn(
        f"suppress_protected=True: mean scores of a model without the protected columns were neither cross-validated "
        f"nor corrected, for {why}"
    )
