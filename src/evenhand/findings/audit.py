"""The audit: what was achieved, as tables and words, for people who must judge it.

Says what is bounded, for whom, at what cost, and what is not covered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Numbers, quotient
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.sentences import Said
from evenhand.findings import bounds
from evenhand.findings.changes import Changes, changes
from evenhand.findings.forbidden import already_forbidden
from evenhand.findings.ledger import ledger
from evenhand.findings.naming import group_levels, group_names
from evenhand.findings.theory.applying import ON_AVERAGE
from evenhand.findings.theory.rates import by_group_and_outcome
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.spec import Problem
from evenhand.tables import beside, frame, labels

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class Audit:
    """What a mapping does to the table it was fitted on, in expectation over its draws.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, its weight in the table and its rate before and after.
    bounds : pandas.DataFrame
        Every bound with what was achieved and the slack that is left.
    groups : pandas.DataFrame
        For each group, the share of people changed and their expected distortion.
    changes : pandas.DataFrame
        For each column, from which level to which, and the share of all people.
    lifts : pandas.DataFrame
        For each group and outcome, before and after: the extended lift p(y|d) / p(y), the selective lift p(y|d) /
        p(y|not d), and the contrastive lift p(y|d) / p(y|d') against the group d' with the lowest rate.
    scores : pandas.DataFrame
        The mean score by group of a model that learned the released outcome well: if it sees the protected columns
        (eq. 8), and if it does not (eq. 9).
    coverage : pandas.DataFrame
        For each column, how many rows have no value and how many a new one, with these values, and how many rows are a
        new combination of known values; with the policy for each. In the fitted table nothing is new.
    headlines : tuple of str
        For each parity constraint, how far apart the rates are before and after.
    who_changes : str
        How many people change, and how much.
    ledger : pandas.DataFrame or None
        For a problem that says which outcome is good for a person: for each group, its weight in the table, how many of
        them are helped, harmed and neither (``unchanged``), by weight, and its rate of that outcome before and after.
        Helped is whose outcome becomes the favourable one, harmed who loses it; at an end of an ordered outcome of
        more than two levels also who moves nearer to it, or further from it.
    who_gains : tuple of str
        How many are helped and harmed, and each group whose rate of the favourable outcome is lower than it was; empty
        where the problem does not say which one that is.
    notes : tuple of str
        What a reader of these tables should know.
    uncounted : tuple of str
        Of another table than the fitted one: rows with values that are no levels, which are not counted, fitted groups
        that have nobody, and groups that nobody fitted belongs to.
    """

    rates: pd.DataFrame
    bounds: pd.DataFrame
    groups: pd.DataFrame
    changes: pd.DataFrame
    lifts: pd.DataFrame
    scores: pd.DataFrame
    coverage: pd.DataFrame
    headlines: tuple[str, ...]
    who_changes: str
    ledger: pd.DataFrame | None
    who_gains: tuple[str, ...]
    notes: tuple[str, ...]
    uncounted: tuple[str, ...] = ()

    @property
    def exceeded(self) -> pd.DataFrame:
        """The bounds that do not hold, and by how much they are exceeded, worst first."""
        return bounds.exceeded(self.bounds)

    @property
    def verdict(self) -> tuple[str, ...]:
        """How many bounds of each constraint hold, of a table that was not fitted, after who is not counted."""
        return (*self.uncounted, *bounds.verdict(self.bounds))

    def __repr__(self) -> str:
        names = "rates, bounds, groups, changes, lifts, scores, coverage, ledger, headlines, notes"
        return f"<Audit: {'; '.join(self.headlines) or 'no parity constraint'}. Tables: {names}>"


def audit(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    measured: Achieved,
    covered: dict[str, Any],
    scores: tuple[Numbers, Numbers],
    uncounted: tuple[str, ...] = (),
    more: Sequence[str] = (),
) -> Audit:
    """Write what was achieved as tables and words.

    ``covered`` are the columns of the table of coverage; ``scores`` the mean scores of models, seeing the protected
    columns or not; ``uncounted`` says who is not counted of a table that is not the fitted one; ``more`` are further
    notes.
    """
    constraints, who = bounds.constraints(counts, measured.parity), changes(counts, kernel, measured)
    gains = ledger(problem, counts, kernel, measured)
    by_outcome = by_group_and_outcome(counts)
    weight = np.repeat(counts.group_weight, counts.domain.y.size)
    before, after = measured.rates_before.ravel(), measured.rates_after.ravel()
    by_group = labels(counts.domain.d, counts.groups.cells)
    return Audit(
        rates=beside(by_outcome, {"weight": weight, "before": before, "after": after}),
        bounds=bounds.table(counts, measured.parity, measured.budgets),
        groups=beside(by_group, {"weight": counts.group_weight, **who.groups}),
        changes=_moves(counts, who),
        lifts=beside(by_outcome, _lifts(counts, measured)),
        scores=beside(by_outcome, {"seeing_protected": scores[0].ravel(), "not_seeing_protected": scores[1].ravel()}),
        coverage=frame(covered),
        headlines=tuple(filter(None, (constraint.headline() for constraint in constraints))),
        who_changes=who.words(suppressed=problem.suppresses),
        ledger=None if gains is None else beside(by_group, gains.columns),
        who_gains=() if gains is None else tuple(gains.words(suppressed=problem.suppresses)),
        notes=(*more, *_notes(problem, counts, measured, constraints)),
        uncounted=uncounted,
    )


def _moves(counts: Counts, who: Changes) -> pd.DataFrame:
    """List the changes of everybody in the order of columns and levels."""
    columns = (*counts.domain.x.names, counts.domain.outcome.name)
    moves = sorted(who.together, key=lambda move: (columns.index(move.column.name), move.old, move.new))
    return frame(
        {
            "column": [move.column.name for move in moves],
            "from": [move.levels[0] for move in moves],
            "to": [move.levels[1] for move in moves],
            "share": [move.people / who.people for move in moves],
        }
    )


def _lifts(counts: Counts, measured: Achieved) -> dict[str, Numbers]:
    """Return the criteria that eqs. (1) and (2) generalise."""
    columns: dict[str, Numbers] = {}
    share = counts.groups.probability[:, None]
    for when, rates in (("before", measured.rates_before), ("after", measured.rates_after)):
        everybody = (share * rates).sum(axis=0)
        rest = (everybody - share * rates) / np.maximum(1 - share, np.finfo(float).tiny)
        for name, of in (("extended", everybody), ("selective", rest), ("contrastive", rates.min(axis=0))):
            columns[f"{name}_{when}"] = quotient(rates, of).ravel()
    return columns


def _notes(
    problem: Problem, counts: Counts, measured: Achieved, constraints: Sequence[bounds.Constraint]
) -> Iterator[str]:
    levels, names, outcome = group_levels(counts), group_names(counts), counts.domain.outcome
    for group, y in zip(*np.nonzero(measured.rates_before == 0), strict=True):
        yield Said(
            f"nobody in the group {names[group]} has {outcome.name}={outcome.levels[y]} before; "
            f"after, the rate is {measured.rates_after[group, y]:.4g}",
            levels[group],
        )
    for group in np.flatnonzero(counts.group_people < FEW_PEOPLE):
        # Of a table with weights it is rows that are counted, whatever each stands for.
        unit = "rows" if counts.weighed else "people"
        number = f"only {counts.group_people[group]:g} {unit}"
        yield Said(f"the group {names[group]} has {number}; its rates say little about other people", levels[group])
    if (already := already_forbidden(problem, counts)) is not None:
        yield already
    if any(budget.averaged for budget in problem.budgets):
        yield ON_AVERAGE
    if any(parity.own_target for parity in problem.parity):
        yield "the target is the table's own p(y), which repeats whatever the table's outcomes already contain"
    yield (
        "the bounds hold for the table that was fitted, in expectation over the draws; they limit the released "
        "outcome's rates, and so the mean score of a model that learns them well, not its thresholded decisions"
    )
    yield "columns outside the problem are passed through unchanged, and nothing bounds what a model learns from them"
    if problem.cells is not None:
        yield (
            "features stay as they are, so that apply mode changes nothing; the utility compares shares of learned "
            "cells, not of whole records, and the certificate is about mappings of these cells"
        )
    for constraint in constraints:
        yield from constraint.after.compared.left_out
        before, parity = constraint.before, constraint.before.parity
        # Of another table a constraint may compare nobody; what is left out says why.
        # Where nobody is relabelled, nobody bears it: only what else is bounded makes such a bound matter.
        if len(before.value) and before.violation <= 0 and not parity.given_outcome:
            yield f"one bound changes nothing by itself, since the table as it is keeps it: {parity.words}"
    if not problem.parity:
        yield "no parity bound was asked for: nothing limits how far groups' rates are apart"
    if not problem.charges:
        yield "no budget was asked for: only forbidden moves limit how much anybody is changed"
    # What holds for a model that may not see D, and for people whose D is unknown.
    if problem.suppresses:
        yield (
            f"the released outcome depends on the released features alone, p(ŷ|x̂,d) = p(ŷ|x̂), within "
            f"{measured.outcome_leak:.1e}: the bounds carry over to a model that may not see the protected columns"
        )
    elif any(parity.compares_features for parity in problem.parity):
        yield from _of_drawn_features(problem)
    else:
        yield (
            "a model that may not see the protected columns is not covered: it can depend on them through the features"
        )
    if problem.utility_on_features:
        yield "p(ŷ|x̂) is that of a given model: what is bounded is that model's mean score on the released features"
    if problem.blind:
        yield (
            "the mapping is the same for every group, and apply mode needs no protected column; it then averages over "
            "p(y|x) instead of p(y|x,d), so that mean scores are those of the audit's table of scores, not exactly "
            "the released rates"
        )
    elif problem.suppresses:
        yield "apply mode still reads the protected columns, although the model does not; a blind mapping would not"


def _of_drawn_features(problem: Problem) -> Iterator[str]:
    """Say which models a bound on released features covers."""
    for parity in problem.parity:
        if parity.compares_features:
            columns = problem.features if parity.features is None else parity.features
            where = "in train mode" if problem.blind else "in train and apply mode"
            yield (
                f"whatever is selected by {' × '.join(columns)} as released alone, the groups' shares of it differ by "
                f"no more than the bound on features, {where}, in expectation over the draws; a model that reads any "
                f"other column, or scores averaged over the draws of a person, is not covered"
            )
