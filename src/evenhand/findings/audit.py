"""The audit: what was achieved, as tables and words, for people who must judge it.

Says what is bounded, for whom, at what cost, and what is not covered.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Numbers, quotient, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.data.sentences import Said
from evenhand.findings import bounds
from evenhand.findings.changes import Changes, changes
from evenhand.findings.forbidden import already_forbidden
from evenhand.findings.ledger import both_directions, ledger, outcome_moves
from evenhand.findings.naming import group_levels, group_names
from evenhand.findings.simpson import Paradox, Reversals, paradoxes, reversals
from evenhand.findings.theory.applying import ON_AVERAGE
from evenhand.findings.theory.rates import by_group_and_outcome
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved, outcome_by_source
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
        For each group and outcome, its weight in the table and its rate before and after. Where parity is ``given``
        features, there are columns of these, too: empty for the whole table, and below that the same by segment.
    bounds : pandas.DataFrame
        Every bound with what was achieved and the slack that is left.
    groups : pandas.DataFrame
        For each group, the share of people changed and their expected distortion.
    changes : pandas.DataFrame
        For each column, from which level to which, and the share of all people.
    outcome_changes : pandas.DataFrame
        For each group, from which outcome to which, how many people change so, of how many who had it, by weight.
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
    paradoxes : tuple of Paradox
        The features within whose levels the disparity before changes sign or nearly vanishes: Simpson's paradox.
    reversals : pandas.DataFrame
        The cells of the features, with at least 20 people of both groups, in which the mapping reverses the order of
        the two groups that were furthest apart: their ``people``, and the rates of the group that was ``higher`` and
        the one that was ``lower``, before and after.
    who_gains : tuple of str
        How many are helped and harmed, and each group whose rate of the favourable outcome is lower than it was. Where
        the problem does not say which one that is, how many go from which outcome to which, by group.
    notes : tuple of str
        What a reader of these tables should know.
    uncounted : tuple of str
        Of another table than the fitted one: rows with values that are no levels, which are not counted, fitted groups
        that have nobody, and groups that nobody fitted belongs to.
    verdict : tuple of str
        After who is not counted, in how many comparisons each constraint holds.
    weighed : bool
        Whether rows had survey weights: then ``weight`` is no number of people.
    """

    rates: pd.DataFrame
    bounds: pd.DataFrame
    groups: pd.DataFrame
    changes: pd.DataFrame
    outcome_changes: pd.DataFrame
    lifts: pd.DataFrame
    scores: pd.DataFrame
    coverage: pd.DataFrame
    headlines: tuple[str, ...]
    who_changes: str
    ledger: pd.DataFrame | None
    who_gains: tuple[str, ...]
    notes: tuple[str, ...]
    paradoxes: tuple[Paradox, ...]
    reversals: pd.DataFrame
    uncounted: tuple[str, ...] = ()
    verdict: tuple[str, ...] = ()
    weighed: bool = False

    @property
    def violated(self) -> pd.DataFrame:
        """The bounds that are violated, and by how much, worst first."""
        return bounds.violated(self.bounds)

    def __repr__(self) -> str:
        names = "rates, bounds, groups, changes, outcome_changes, lifts, scores, coverage, ledger, headlines, notes"
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
    paradox, turned = paradoxes(problem, counts), reversals(counts, kernel)
    by_outcome = by_group_and_outcome(counts)
    by_group = labels(counts.domain.d, counts.groups.cells)
    return Audit(
        rates=_rates(problem, counts, kernel),
        bounds=bounds.table(counts, measured.parity, measured.budgets),
        groups=beside(by_group, {"weight": counts.group_weight, **who.groups}),
        changes=_moves(counts, who),
        outcome_changes=_outcome_changes(counts, who),
        lifts=beside(by_outcome, _lifts(counts, measured)),
        scores=beside(by_outcome, {"seeing_protected": scores[0].ravel(), "not_seeing_protected": scores[1].ravel()}),
        coverage=frame(covered),
        headlines=tuple(filter(None, (constraint.headline() for constraint in constraints))),
        who_changes=who.words(suppressed=problem.suppresses),
        ledger=None if gains is None else beside(by_group, gains.columns),
        who_gains=tuple(both_directions(counts, who) if gains is None else gains.words(suppressed=problem.suppresses)),
        notes=(
            *more,
            *(each.words(problem.outcome) for each in paradox),
            *(words for each in turned for words in each.words()),
            *_notes(problem, counts, measured, constraints),
        ),
        paradoxes=tuple(paradox),
        reversals=_reversals(counts, turned),
        uncounted=uncounted,
        verdict=(*uncounted, *bounds.verdict(measured.parity, measured.budgets)),
        weighed=counts.weighed,
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


def _rates(problem: Problem, counts: Counts, kernel: Kernel) -> pd.DataFrame:
    """List rates by group in the whole table, and below that in the segments that parity is given."""
    domain, outcomes = counts.domain, counts.domain.y.size
    ways = [(), *dict.fromkeys(tuple(parity.given) for parity in problem.parity if parity.given)]
    segments: list[dict[str, Any]] = []
    parts = []
    for given in ways:
        axis = Axis(tuple(variable for variable in domain.x.variables if variable.name in given))
        segment = domain.x.cells_of(axis, counts.x) if given else np.zeros(len(counts), dtype=np.int64)
        both = segment * domain.d.size + counts.d
        _, first, place = np.unique(both, return_index=True, return_inverse=True)
        weight = sums(place, counts.weight)
        rates = [
            np.column_stack([sums(place, counts.weight * column) / weight for column in rate.T])
            for rate in (np.eye(outcomes)[counts.y], outcome_by_source(counts, kernel))
        ]
        parts.append((counts.d[first], weight, *rates))
        segments += [axis.labels(int(cell)) if given else {} for cell in segment[first]]
    group, weight, before, after = (np.concatenate(part) for part in zip(*parts, strict=True))
    names = dict.fromkeys(name for given in ways for name in given)
    who = labels(domain.d, np.repeat(group, outcomes))
    who |= {name: [each.get(name) for each in segments for _ in range(outcomes)] for name in names}
    who |= labels(domain.y, np.tile(np.arange(outcomes), len(group)))
    return beside(who, {"weight": np.repeat(weight, outcomes), "before": before.ravel(), "after": after.ravel()})


def _outcome_changes(counts: Counts, who: Changes) -> pd.DataFrame:
    moves = outcome_moves(counts, who)
    numbers = {
        "from": [move.levels[0] for move in moves],
        "to": [move.levels[1] for move in moves],
        "people": [move.people for move in moves],
        "had": [move.had for move in moves],
    }
    return beside({name: [move.group[name] for move in moves] for name in counts.domain.d.names}, numbers)


def _reversals(counts: Counts, found: Sequence[Reversals]) -> pd.DataFrame:
    """List the cells in which the order of groups is reversed."""
    axis, names = counts.domain.x, ("higher_before", "lower_before", "higher_after", "lower_after")
    cells = [axis.labels(int(each.cells[at])) for each in found for at in each.reversed]
    rows = [(each, at) for each in found for at in each.reversed]
    numbers: dict[str, Any] = {
        "outcome": [counts.domain.outcome.levels[each.outcome] for each, _ in rows],
        "people": [float(each.people[:, at].sum()) for each, at in rows],
    }
    for place, name in enumerate(names):
        numbers[name] = [float((each.before, each.after)[place // 2][place % 2, at]) for each, at in rows]
    return beside({name: [cell[name] for cell in cells] for name in axis.names}, numbers)


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
