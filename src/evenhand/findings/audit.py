"""The audit: what was achieved, as tables and words, for people who must judge it.

Says what is bounded, for whom, at what cost, and what is not covered.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, sums
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.findings.models import predicted_scores
from evenhand.kernel import Kernel, unchanged
from evenhand.kernel.achieved import Achieved, BudgetAchieved, ParityAchieved, parity_achieved
from evenhand.spec import AGAINST_TARGET, Problem
from evenhand.tables import frame, labels


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
        For each column, how many rows have no value and how many a new one, and how many rows are a new combination of
        known values; with the policy for each. In the fitted table nothing is new.
    headlines : tuple of str
        For each parity constraint, how far apart the rates are before and after.
    notes : tuple of str
        What a reader of these tables should know.
    """

    rates: Any
    bounds: Any
    groups: Any
    changes: Any
    lifts: Any
    scores: Any
    coverage: Any
    headlines: tuple[str, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        names = "rates, bounds, groups, changes, lifts, scores, coverage, headlines, notes"
        return f"<Audit: {'; '.join(self.headlines) or 'no parity constraint'}. Tables: {names}>"


def audit(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    measured: Achieved,
    covered: dict[str, Any],
    scores: tuple[Numbers, Numbers] | None = None,
) -> Audit:
    """Write what was achieved as tables and words.

    ``covered`` are the columns of the table of coverage; ``scores`` the mean scores of models, seeing the protected
    columns or not, where the table is not the fitted one.
    """
    return Audit(
        rates=frame(_rates(counts, measured)),
        bounds=frame(_bounds(counts, measured)),
        groups=frame(_groups(counts, measured)),
        changes=frame(_changes(counts, kernel)),
        lifts=frame(_lifts(counts, measured)),
        scores=frame(_scores(counts, scores or _own_scores(problem, counts, kernel))),
        coverage=frame(covered),
        headlines=tuple(_headline(counts, part) for part in measured.parity if len(part.value)),
        notes=tuple(_notes(problem, counts, measured)),
    )


def coverage(counts: Counts) -> dict[str, Any]:
    """Count the missing values of the fitted table, by weight."""
    found = []
    for axis, cells in zip((counts.domain.d, counts.domain.x), (counts.d, counts.x), strict=True):
        for variable, codes in zip(axis.variables, axis.unravel(cells), strict=True):
            missing = 0.0 if variable.missing is None else float(counts.weight[codes == variable.missing].sum())
            found.append((variable.name, "missing", missing, "an error" if variable.missing is None else "a level"))
    return {name: [row[i] for row in found] for i, name in enumerate(("column", "what", "rows", "policy"))}


def _rates(counts: Counts, measured: Achieved) -> dict[str, Any]:
    n_groups, n_outcomes = measured.rates_before.shape
    cells = np.repeat(counts.groups.cells, n_outcomes)
    outcomes = np.tile(np.arange(n_outcomes), n_groups)
    weight = counts.group_weight
    return {
        **labels(counts.domain.d, cells),
        **labels(counts.domain.y, outcomes),
        "weight": np.repeat(weight, n_outcomes),
        "before": measured.rates_before.ravel(),
        "after": measured.rates_after.ravel(),
    }


def _lifts(counts: Counts, measured: Achieved) -> dict[str, Any]:
    """Return the criteria that eqs. (1) and (2) generalise."""
    n_groups, n_outcomes = measured.rates_before.shape
    columns: dict[str, Any] = {
        **labels(counts.domain.d, np.repeat(counts.groups.cells, n_outcomes)),
        **labels(counts.domain.y, np.tile(np.arange(n_outcomes), n_groups)),
    }
    share = counts.groups.probability[:, None]
    for when, rates in (("before", measured.rates_before), ("after", measured.rates_after)):
        everybody = (share * rates).sum(axis=0)
        rest = (everybody - share * rates) / np.maximum(1 - share, np.finfo(float).tiny)
        for name, other in (("extended", everybody), ("selective", rest), ("contrastive", rates.min(axis=0))):
            columns[f"{name}_{when}"] = _quotient(rates, np.broadcast_to(other, rates.shape)).ravel()
    return columns


def _quotient(rate: Numbers, other: Numbers) -> Numbers:
    """Return rate/other; nothing over nothing is one."""
    ratio = np.divide(rate, other, out=np.full(rate.shape, np.inf), where=other > 0)
    return np.where((rate == 0) & (other <= 0), 1.0, ratio)


def _own_scores(problem: Problem, counts: Counts, kernel: Kernel) -> tuple[Numbers, Numbers]:
    seeing, not_seeing = (predicted_scores(problem, counts, kernel, protected=sees) for sees in (True, False))
    return seeing, not_seeing


def _scores(counts: Counts, scores: tuple[Numbers, Numbers]) -> dict[str, Any]:
    size = counts.domain.y.size
    return {
        **labels(counts.domain.d, np.repeat(counts.groups.cells, size)),
        **labels(counts.domain.y, np.tile(np.arange(size), len(counts.groups.cells))),
        "seeing_protected": scores[0].ravel(),
        "not_seeing_protected": scores[1].ravel(),
    }


def _bounds(counts: Counts, measured: Achieved) -> dict[str, Any]:
    blocks = [
        *(_parity_block(counts, p) for p in measured.parity),
        *(_budget_block(counts, b) for b in measured.budgets),
    ]
    columns = ("constraint", "where", "bound", "achieved")
    table = {name: [value for block in blocks for value in block[name]] for name in columns}
    return table | {"slack": np.subtract(table["bound"], table["achieved"])}


def _parity_block(counts: Counts, part: ParityAchieved) -> dict[str, list[Any]]:
    return {
        "constraint": [type(part.parity).__name__] * len(part.value),
        "where": [part.compared.words(at, counts.domain.y) for at in range(len(part.value))],
        "bound": part.compared.bound.tolist(),
        "achieved": part.value.tolist(),
    }


def _headline(counts: Counts, part: ParityAchieved) -> str:
    """Say how far apart the rates of a constraint are at worst, before and after."""
    before = parity_achieved(part.compared, counts, unchanged(counts))
    bounds = sorted({float(bound) for bound in part.compared.bound})
    bound = f"{bounds[0]:g}" if len(bounds) == 1 else f"{bounds[0]:g} to {bounds[-1]:g}"
    return f"furthest apart before: {_apart(counts, before)}; after: {_apart(counts, part)}; bound {bound}"


def _apart(counts: Counts, part: ParityAchieved) -> str:
    at, compared = part.worst, part.compared
    own = compared.populations[int(compared.population[at])].words
    against = "the target"
    if compared.against[at] != AGAINST_TARGET:
        against = compared.populations[int(compared.against[at])].words
    return (
        f"{part.value[at]:.3f} ({counts.domain.y.words(int(compared.outcome[at]))}: {own} {part.rate[at]:.3f} "
        f"against {against} {part.other[at]:.3f})"
    )


def _budget_block(counts: Counts, part: BudgetAchieved) -> dict[str, list[Any]]:
    domain = counts.domain
    if part.charge.per == "xy":
        x, y = domain.split_xy(counts.records.cells)
        parts = [_words(domain.x, x), _words(domain.y, y)]
    else:
        parts = [_words(domain.d, counts.d), _words(domain.x, counts.x), _words(domain.y, counts.y)]
    return {
        "constraint": [part.charge.words] * len(part.value),
        "where": ["; ".join(words) for words in zip(*parts, strict=True)],
        "bound": part.limit.tolist(),
        "achieved": part.value.tolist(),
    }


def _words(axis: Axis, cells: Cells) -> list[str]:
    distinct, inverse = np.unique(cells, return_inverse=True)
    words = [axis.words(int(cell)) for cell in distinct]
    return [words[i] for i in inverse]


def _groups(counts: Counts, measured: Achieved) -> dict[str, Any]:
    groups = counts.groups

    def mean(values: Numbers) -> Numbers:
        return sums(groups.of_source, counts.given_group * values)

    return {
        **labels(counts.domain.d, groups.cells),
        "weight": counts.group_weight,
        "changed": mean(measured.changed),
        "features_changed": mean(measured.features_changed),
        "expected_distortion": mean(measured.distortion),
    }


def _changes(counts: Counts, kernel: Kernel) -> dict[str, Any]:
    """For each column, how many people move from which level to which."""
    domain = counts.domain
    share = counts.probability[kernel.rows] * kernel.probability
    to_x, to_y = domain.split_xy(kernel.targets)
    before = [*domain.x.unravel(counts.x[kernel.rows]), counts.y[kernel.rows]]
    after = [*domain.x.unravel(to_x), to_y]
    rows: list[tuple[str, Any, Any, float]] = []
    for variable, old, new in zip(domain.x.variables + domain.y.variables, before, after, strict=True):
        size = len(variable)
        moved = sums(old * size + new, share, size * size).reshape(size, size)
        np.fill_diagonal(moved, 0.0)
        for i, j in zip(*np.nonzero(moved), strict=True):
            rows.append((variable.name, variable.levels[i], variable.levels[j], float(moved[i, j])))
    names = ("column", "from", "to", "share")
    return {name: [row[i] for row in rows] for i, name in enumerate(names)}


def _notes(problem: Problem, counts: Counts, measured: Achieved) -> Iterator[str]:
    groups = counts.domain.d
    outcome = counts.domain.outcome
    for group, y in zip(*np.nonzero(measured.rates_before == 0), strict=True):
        name = groups.words(int(counts.groups.cells[group]))
        yield (
            f"nobody in the group {name} has {outcome.name}={outcome.levels[y]} before; "
            f"after, the rate is {measured.rates_after[group, y]:.4g}"
        )
    weight = counts.group_weight
    for group in np.flatnonzero(weight < FEW_PEOPLE):
        name = groups.words(int(counts.groups.cells[group]))
        yield f"the group {name} has a weight of only {weight[group]:g}; its rates say little about other people"
    if any(budget.per == "xy" for budget in problem.budgets):
        yield (
            "budgets are per (x, y) and hold on average over the protected groups: some groups are changed more than "
            "the budget says, and no bound on distortion carries over to apply mode"
        )
    if any(parity.own_target for parity in problem.parity):
        yield "the target is the table's own p(y), which repeats whatever the table's outcomes already contain"
    yield (
        "the bounds hold for the table that was fitted, in expectation over the draws; they limit the released "
        "outcome's rates, and so the mean score of a model that learns them well, not its thresholded decisions"
    )
    yield ("columns outside the problem are passed through unchanged, and nothing bounds what a model learns from them")
    for part in measured.parity:
        yield from part.compared.left_out
        before = parity_achieved(part.compared, counts, unchanged(counts))
        if before.violation <= 0:
            yield (
                f"{type(part.parity).__name__} binds nothing: the table as it is keeps every bound of it (at most "
                f"{before.value.max():.3f}, the smallest bound is {part.parity.smallest_bound:g})"
            )
    if not problem.parity:
        yield "no parity bound was asked for: nothing limits how far groups' rates are apart"
    if not problem.charges:
        yield "no budget was asked for: only forbidden moves limit how much anybody is changed"
    yield from _who_reads(problem, measured)


def _who_reads(problem: Problem, measured: Achieved) -> Iterator[str]:
    """Say what holds for a model that may not see D, and for people whose D is unknown."""
    if not problem.suppresses:
        yield (
            "a model that may not see the protected columns is not covered: it can depend on them through the features"
        )
    else:
        yield (
            f"the released outcome depends on the released features alone, p(ŷ|x̂,d) = p(ŷ|x̂), within "
            f"{measured.outcome_leak:.1e}: the bounds carry over to a model that may not see the protected columns"
        )
    if problem.utility_on_features:
        yield "p(ŷ|x̂) is that of a given model: what is bounded is that model's mean score on the released features"
    if problem.blind:
        yield (
            "the mapping is the same for every group, and apply mode needs no protected column; it then averages over "
            "p(y|x) instead of p(y|x,d), so that mean scores are those of audit.scores, not exactly the released rates"
        )
    elif problem.suppresses:
        yield "apply mode still reads the protected columns, although the model does not; a blind mapping would not"
