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
from evenhand.findings import bounds
from evenhand.findings.changes import Changes, changes
from evenhand.findings.coverage import coverage_section
from evenhand.findings.forbidden import already_forbidden
from evenhand.findings.ledger import Ledger, both_directions, ledger, outcome_moves
from evenhand.findings.moves import moves_table
from evenhand.findings.naming import group_levels, group_names
from evenhand.findings.simpson import Paradox, Reversals, paradoxes, reversals
from evenhand.findings.theory.applying import ON_AVERAGE
from evenhand.findings.theory.rates import by_group_and_outcome
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved, outcome_by_source
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Kind, Note, Section, Table
from evenhand.spec import Problem
from evenhand.spec.agreement import favourable_code
from evenhand.tables import beside, frame, labels, own_name

if TYPE_CHECKING:
    import pandas as pd


RATES: dict[str, Kind] = {"weight": "people", "before": "rate", "after": "rate"}
NUMBERS: dict[str, dict[str, Kind]] = {
    "by_group": RATES,
    "by_segment": RATES,
    "ledger": {**RATES, "helped": "people", "harmed": "people", "unchanged": "people"},
    "groups": {"weight": "people", "changed": "rate", "features_changed": "rate", "expected_distortion": "cost"},
    "outcome_changes": {"from": "text", "to": "text", "people": "people", "had": "people"},
    "every_bound": {"constraint": "text", "where": "text", "bound": "number", "achieved": "number", "slack": "number"},
    "violated": {"constraint": "text", "where": "text", "bound": "number", "achieved": "number", "excess": "number"},
    "scores": {"seeing_protected": "rate", "not_seeing_protected": "rate"},
    "reversals": {
        "outcome": "text", "people": "people", "higher_before": "rate", "lower_before": "rate", "higher_after": "rate",
        "lower_after": "rate",
    },
}  # fmt: skip
"""The columns of an audit's tables that are no columns of the user's."""

WEIGHT, PEOPLE = "weight", "people"
"""Columns that are headed by what numbers of people are counted in."""

MOST_ROWS = 8
"""So many bounds, and rates within segments, are shown; JSON has all."""


@dataclass(frozen=True, eq=False, repr=False)
class Audit(Finding):
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
        For each column, from which level to which, how many people and the share of all.
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
    ledger : pandas.DataFrame or None
        For a problem that says which outcome is good for a person: for each group, its weight in the table, how many of
        them are helped, harmed and neither (``unchanged``), by weight, and its rate of that outcome before and after.
        Helped is whose outcome becomes the favourable one, harmed who loses it; at an end of an ordered outcome of
        more than two levels also who moves nearer to it, or further from it.
    reversals : pandas.DataFrame
        The cells of the features, with at least 20 people of both groups, in which the mapping reverses the order of
        the two groups that were furthest apart: their ``people``, and the rates of the group that was ``higher`` and
        the one that was ``lower``, before and after.
    paradoxes : tuple of Paradox
        The features within whose levels the disparity before changes sign or nearly vanishes: Simpson's paradox.
    sections : tuple of Section
        All of it as data, with what a reader of these tables should know.
    """

    rates: pd.DataFrame
    bounds: pd.DataFrame
    groups: pd.DataFrame
    changes: pd.DataFrame
    outcome_changes: pd.DataFrame
    lifts: pd.DataFrame
    scores: pd.DataFrame
    coverage: pd.DataFrame
    ledger: pd.DataFrame | None
    reversals: pd.DataFrame
    paradoxes: tuple[Paradox, ...]
    sections: tuple[Section, ...]

    @property
    def violated(self) -> pd.DataFrame:
        """The bounds that are violated, and by how much, worst first."""
        return bounds.violated(self.bounds)

    def __repr__(self) -> str:
        names = "rates, bounds, groups, changes, outcome_changes, lifts, scores, coverage, ledger, reversals"
        headlines = self.sentences("rates")
        return f"<Audit: {'; '.join(headlines) or 'no parity constraint'}. Tables: {names}>"


def audit(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    measured: Achieved,
    covered: dict[str, Any],
    scores: tuple[Numbers, Numbers],
    uncounted: Sequence[Note] | None = None,
    more: Sequence[Note] = (),
) -> Audit:
    """Find what was achieved.

    ``covered`` are the columns of the table of coverage; ``scores`` the mean scores of models, seeing the protected
    columns or not; ``uncounted`` says who is not counted of a table that is not the fitted one, and is None for that;
    ``more`` are further notes.
    """
    constraints, who = bounds.constraints(counts, measured.parity), changes(counts, kernel, measured)
    gains = ledger(problem, counts, kernel, measured)
    paradox, turned = paradoxes(problem, counts), reversals(counts, kernel)
    by_outcome = by_group_and_outcome(counts)
    by_group = labels(counts.domain.d, counts.groups.cells)
    seeing, not_seeing = (of.ravel() for of in scores)
    frames: dict[str, Any] = {
        "rates": _rates(problem, counts, kernel),
        "bounds": bounds.table(counts, measured.parity, measured.budgets),
        "groups": beside(by_group, {"weight": counts.group_weight, **who.groups}),
        "changes": _moves(counts, who),
        "outcome_changes": _outcome_changes(counts, who),
        "lifts": beside(by_outcome, _lifts(counts, measured)),
        "scores": beside(by_outcome, {"seeing_protected": seeing, "not_seeing_protected": not_seeing}),
        "coverage": frame(covered),
        "ledger": None if gains is None else beside(by_group, gains.columns),
        "reversals": _reversals(counts, turned),
    }
    headlines = tuple(filter(None, (constraint.headline() for constraint in constraints)))
    caveats = (
        *more,
        *(each.note(problem.outcome) for each in paradox),
        *(note for each in turned for note in each.notes()),
        *_caveats(problem, counts, measured, constraints),
    )
    held = () if uncounted is None else (*uncounted, *bounds.verdict(measured.parity, measured.budgets))
    notes = {
        "rates": headlines,
        "gains": tuple(_gains(problem, counts, who, gains)),
        "bounds": held,
        "changes": (who.note(suppressed=problem.suppression.redraws),),
        "caveats": caveats,
    }
    return Audit(**frames, paradoxes=tuple(paradox), sections=tuple(_sections(problem, counts, who, frames, notes)))


def _gains(problem: Problem, counts: Counts, who: Changes, gains: Ledger | None) -> Iterator[Note]:
    if gains is not None:
        yield from gains.notes(suppressed=problem.suppression.redraws)
    else:
        yield from both_directions(counts, who)
        yield Note("ledger.nobody_said")


def _sections(
    problem: Problem, counts: Counts, who: Changes, frames: dict[str, Any], notes: dict[str, tuple[Note, ...]]
) -> Iterator[Section]:
    """Yield the sections in the order in which they are read."""
    groups = [(levels,) for levels in group_levels(counts)]
    given = list(dict.fromkeys(name for parity in problem.parity for name in parity.given or ()))
    rates, whole = frames["rates"], len(groups) * counts.domain.y.size

    def spared(rows: int) -> list[int]:
        """The rows of outcomes that follow from another."""
        return [at for at in range(rows) if at % counts.domain.y.size not in counts.domain.shown_outcomes]

    def table(key: str, found: pd.DataFrame, **more: Any) -> Table:
        kinds = NUMBERS[key]
        if counts.weighed:
            kinds = {name: "weight" if name in (WEIGHT, PEOPLE) else kind for name, kind in kinds.items()}
        return Table.of(key, found, kinds, **more)

    def by_group(key: str, found: pd.DataFrame, **more: Any) -> Table:
        """A table with a row for each group, or one for each of its outcomes."""
        each = len(found) // len(groups)
        about = [group for group in groups for _ in range(each)]
        return table(key, found, about=about, implied=spared(len(found)) if each > 1 else (), **more)

    yield from problem.sections
    everybody = by_group("by_group", rates[:whole].drop(columns=[own_name(rates, name) for name in given]))
    inside = rates[whole:]
    fields = {"given": " × ".join(given)}
    within = table("by_segment", inside, most=MOST_ROWS, implied=spared(len(inside)), fields=fields)
    yield Section("rates", tables=(everybody, within), notes=notes["rates"])
    moved = frames["outcome_changes"]
    if frames["ledger"] is not None:
        good = {"favourable": f"{problem.outcome}={problem.favourable}"}
        tables = by_group("ledger", frames["ledger"]), table("outcome_changes", moved, most=0)
        facts = (Fact("favourable", problem.favourable, detail=True),)
        yield Section("gains", facts=facts, tables=tables, notes=notes["gains"], fields=good)
    else:
        yield Section("outcomes", tables=(table("outcome_changes", moved),), notes=notes["gains"])
    over = table("violated", bounds.violated(frames["bounds"]), most=MOST_ROWS)
    yield Section("bounds", tables=(over, table("every_bound", frames["bounds"], most=0)), notes=notes["bounds"])
    detail = ["changed"] if problem.suppression.redraws else ["features_changed"]
    moves = moves_table(counts, who, favourable_code(problem, counts.domain))
    changed = by_group("groups", frames["groups"], detail=detail), moves
    yield Section("changes", tables=changed, notes=notes["changes"])
    yield Section("caveats", tables=(table("reversals", frames["reversals"], most=0),), notes=notes["caveats"])
    lifts = frames["lifts"]
    kinds: dict[str, Kind] = {name: "number" for name in lifts if name.endswith(("_before", "_after"))}
    yield Section("scores", tables=(by_group("scores", frames["scores"]), Table.of("lifts", lifts, kinds, most=0)))
    yield coverage_section(frames["coverage"])


def _moves(counts: Counts, who: Changes) -> pd.DataFrame:
    """List the changes of everybody in the order of columns and levels."""
    columns = (*counts.domain.x.names, counts.domain.outcome.name)
    moves = sorted(who.together, key=lambda move: (columns.index(move.column.name), move.old, move.new))
    return frame(
        {
            "column": [move.column.name for move in moves],
            "from": [move.levels[0] for move in moves],
            "to": [move.levels[1] for move in moves],
            "people": [move.people for move in moves],
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


def _caveats(
    problem: Problem, counts: Counts, measured: Achieved, constraints: Sequence[bounds.Constraint]
) -> Iterator[Note]:
    levels, names, outcome = group_levels(counts), group_names(counts), counts.domain.outcome
    for group, y in zip(*np.nonzero(measured.rates_before == 0), strict=True):
        fields = {
            "group": names[group], "outcome": f"{outcome.name}={outcome.levels[y]}",
            "rate": measured.rates_after[group, y],
        }  # fmt: skip
        yield Note("caveat.nobody_before", fields, (levels[group],))
    for group in np.flatnonzero(counts.group_people < FEW_PEOPLE):
        # Of a table with weights it is rows that are counted, whatever each stands for.
        fields = {
            "group": names[group], "number": float(counts.group_people[group]),
            "unit": "rows" if counts.weighed else "people",
        }  # fmt: skip
        yield Note("caveat.small_group", fields, (levels[group],))
    if (already := already_forbidden(problem, counts)) is not None:
        yield already
    if any(budget.averaged for budget in problem.budgets):
        yield ON_AVERAGE
    if any(parity.own_target for parity in problem.parity):
        yield Note("caveat.own_target")
    yield Note("caveat.in_expectation")
    yield Note("caveat.other_columns")
    if problem.cells is not None:
        yield Note("caveat.learned_cells")
    for constraint in constraints:
        yield from constraint.after.compared.left_out
        before, parity = constraint.before, constraint.before.parity
        # Of another table a constraint may compare nobody; what is left out says why.
        # Where nobody is relabelled, nobody bears it: only what else is bounded makes such a bound matter.
        if len(before.value) and before.violation <= 0 and not parity.given_outcome:
            yield Note("caveat.slack", {"parity": parity.words})
    if not problem.parity:
        yield Note("caveat.no_parity")
    if not problem.charges:
        yield Note("caveat.no_budget")
    yield from _readers(problem, measured)


def _readers(problem: Problem, measured: Achieved) -> Iterator[Note]:
    """Yield what holds for a model that may not see D, and for people whose D is unknown."""
    if problem.suppression.redraws:
        yield Note("caveat.suppressed", {"leak": measured.outcome_leak})
    elif any(parity.compares_features for parity in problem.parity):
        for parity in problem.parity:
            if parity.compares_features:
                columns = problem.features if parity.features is None else parity.features
                key = "caveat.blind_features" if problem.blind else "caveat.features"
                yield Note(key, {"columns": " × ".join(columns)})
    else:
        yield Note("caveat.unaware" if problem.suppression.scored else "caveat.models_without")
    if problem.conditional is not None:
        yield Note("caveat.given_model")
    if problem.blind:
        yield Note("caveat.blind")
    elif problem.suppression.redraws:
        yield Note("caveat.apply_reads")
