"""A batch of new people held against the fitted table and against the bounds: coverage, drift, and one word per bound.

One confidence is for all of it. Half of the error is for drift: a batch of the fitted people's own population is told
as drifted, in anything, with at most that probability. The other half is for the intervals of all bounds. Outcomes may
be unknown: then drift of everything else is told, and no bound is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import engines, tables
from evenhand.arrays import Cells
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain
from evenhand.data.levels import UNSEEN
from evenhand.data.weighting import SURVEY, Weighting
from evenhand.engines import AnyTable, Rows
from evenhand.errors import DataError, some_of
from evenhand.findings.coverage import NEW_COMBINATION, coverage_section
from evenhand.findings.document import MOST_TOLD
from evenhand.findings.drift import NEW, Beside, Drift, Sample, drift
from evenhand.findings.new_people import (
    Meeting,
    covered_without_outcomes,
    meeting,
    of_new_groups,
    with_own_target,
    without_people,
)
from evenhand.findings.theory import Judgement, judge, overall
from evenhand.findings.theory.intervals import MET, UNDECIDED, VIOLATED
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Kind, Note, Section, Table
from evenhand.render.sentences import sentence
from evenhand.resources import Progress
from evenhand.spec import Problem
from evenhand.tables.transforming import Transformer

if TYPE_CHECKING:
    import pandas as pd

GAP, NO_BIN = "a missing value", "a number that is in no bin"
"""What values that are no levels are called where they have no text."""

LOOKED_AT: dict[str, Kind] = {
    "what": "text", "name": "text", "apart": "distance", "expected": "distance", "limit": "distance",
    "chance": "chance", "drifted": "flag", "moved": "text", "moved_from": "number", "moved_to": "number",
}  # fmt: skip
JUDGED: dict[str, Kind] = {
    "constraint": "text", "where": "text", "bound": "number", "people": "people", "against_people": "people",
    "rate": "rate", "other": "rate", "value": "distance", "low": "distance", "high": "distance", "expected": "distance",
    "verdict": "text",
}  # fmt: skip
"""The columns of what was looked at, and of bounds."""

MOST_ROWS = 8
"""So many bounds are shown; JSON has all."""


@dataclass(frozen=True, eq=False, repr=False)
class Monitored(Finding):
    """What a batch of new people says of a mapping.

    Attributes
    ----------
    people : int
        How many rows of the batch weigh anything.
    confidence : float
        The probability that nothing is told as drifted and that every interval holds, for a batch that is a random
        sample of the population that the fitted table is one of.
    outcomes : bool
        Whether the batch has outcomes.
    fitted : bool
        Whether it has the very counts of the fitted table.
    in_new_cells, expected_in_new_cells : float, float or None
        The share of its people who are in cells that nobody fitted was in, and what is to be expected; None without
        outcomes.
    coverage : pandas.DataFrame
        As in an audit: missing values, new values and new combinations, with what becomes of such rows.
    drift : pandas.DataFrame
        For each column, the groups, the outcome in each group and the cells: how far ``apart`` the batch and the fitted
        table are (the total variation), what sampling alone gives (``expected``) and what it stays below in everything
        at once (``limit``), the ``chance`` of as much by sampling alone, whether it ``drifted``, and which level's
        share ``moved`` most, from what to what. Where people have values that nobody fitted had, what they are by
        themselves, too: then ``apart`` is their share.
    bounds : pandas.DataFrame
        For each parity bound the people and rates that are compared, the distance of one release (``value``), its exact
        interval (``low``, ``high``), the distance ``expected`` over the draws, and a ``verdict``: shown met, shown
        violated or not decided.
    verdict : str or None
        The same for all bounds together; None where nothing is bounded.
    weighed : bool
        Whether rows had weights, with which limits and intervals are approximate.
    released : str or None
        What tells that the mapping wrote this table itself: its people are no new ones; None where nothing does.
    sections : tuple of Section
        All of it as data, with what follows.
    """

    people: int
    confidence: float
    outcomes: bool
    fitted: bool
    in_new_cells: float
    expected_in_new_cells: float | None
    coverage: pd.DataFrame
    drift: pd.DataFrame
    bounds: pd.DataFrame
    verdict: str | None
    weighed: bool
    released: str | None
    sections: tuple[Section, ...]

    @cached_property
    def drifted(self) -> tuple[str, ...]:
        """What is further from the fitted table than sampling alone explains."""
        return tuple(self.drift.loc[self.drift["drifted"], "name"])

    @property
    def violated(self) -> pd.DataFrame:
        return self.bounds[self.bounds["verdict"] == VIOLATED]

    @property
    def undecided(self) -> pd.DataFrame:
        return self.bounds[self.bounds["verdict"] == UNDECIDED]

    def __repr__(self) -> str:
        drifted = f"{len(self.drifted)} of {len(self.drift)} drifted"
        return f"<Monitored: {self.people:,} people; bounds {self.verdict or 'none'}; {drifted}>"


def monitor(
    problem: Problem,
    fitted: Counts,
    modes: tuple[Transformer, Transformer],
    table: AnyTable,
    *,
    weighting: Weighting | None,
    confidence: float,
    seed: int,
    progress: Progress | None,
    released: Callable[[Counts | None], Note | None],
) -> Monitored:
    """Hold a table of new people against the fitted one; ``modes`` are train mode and apply mode.

    ``released`` says of a table, by its counts where outcomes are known, that the mapping wrote it itself.
    """
    given, columns = engines.columns_in(table, problem.csv)
    engines.refuse_mistaken(given, problem.csv, weighting)
    release, apply = modes
    domain = release.domain
    missing = [name for name in problem.protected if name not in columns]
    if missing:
        raise DataError(
            f"the table has no column {missing[0]!r}, which is protected: without it nothing can be said of the "
            f"groups. It has {some_of(columns)}"
        )
    outcomes = problem.outcome in columns
    read = domain if outcomes else Domain(domain.d, domain.x, Axis(()))
    rows = engines.distinct_rows(read, given, problem.csv, weighting, progress)
    if not len(rows.people):
        raise DataError("the table has no rows")
    SURVEY.checked(rows.weight)
    met: Meeting | None = None
    if outcomes:
        met = meeting(release, rows)
        covered, uncounted = met.coverage, met.uncounted
        uncounted = (*uncounted, *without_people(fitted, met.counts), *of_new_groups(fitted, met))
    else:
        covered, uncounted = covered_without_outcomes(apply, rows)
    half = (1 - confidence) / 2
    beside = Beside.of(fitted, *_told(read, rows))
    chosen = problem.cells is not None or any(binning.by_outcome for binning in problem.bins.values())
    profiled = engines.profiled_rows(read, given, problem.csv, weighting)
    moved = drift(beside, fitted.groups.cells, error=half, chosen=chosen, seed=seed, profiled=profiled)
    stated = with_own_target(problem, fitted).parity
    batch = None if met is None else (met.counts, met.kernel)
    judged = judge(stated, fitted, batch, confidence=1 - half, seed=seed)
    frames: dict[str, Any] = {
        "coverage": tables.frame(covered),
        "drift": _drift_frame(moved),
        "bounds": _bounds_frame(judged),
    }
    itself = released(None if met is None else met.counts)
    values: dict[str, Any] = {
        "people": int(rows.people.sum()),
        "confidence": confidence,
        "outcomes": outcomes,
        "fitted": beside.same,
        "verdict": overall([each.verdict for each in judged]),
        "weighed": beside.now.weighed or beside.before.weighed,
        "released": None if itself is None else sentence(itself),
    }
    combinations = frames["coverage"].loc[frames["coverage"]["what"] == NEW_COMBINATION, "rows"].sum()
    values["in_new_cells"] = (float(combinations) + beside.people_with_new_values) / max(1, values["people"])
    values["expected_in_new_cells"] = None if met is None else fitted.share_of_new_cells(problem.reads)
    notes = {
        "batch": (*(() if itself is None else (itself,)), *_batch_notes(values, uncounted)),
        "drift": tuple(_drift_notes(moved)),
        "verdicts": tuple(_bound_notes(problem, judged, outcomes=outcomes)),
        "caveats": tuple(_caveats(problem, domain, values)),
    }
    return Monitored(**values, **frames, sections=tuple(_sections(values, frames, notes)))


def _sections(
    values: dict[str, Any], frames: dict[str, pd.DataFrame], notes: dict[str, tuple[Note, ...]]
) -> Iterator[Section]:
    """Yield the sections in the order in which they are read."""
    kinds: dict[str, Kind] = {"people": "people", "in_new_cells": "rate", "expected_in_new_cells": "rate"}
    shown = ("people", "verdict")
    facts = [
        Fact(name, value, kinds.get(name, "text"), detail=name not in shown or value is None)
        for name, value in values.items()
    ]
    moved, bounds = frames["drift"], frames["bounds"]
    facts.append(Fact("drifted", moved.loc[moved["drifted"], "name"].tolist(), detail=True))
    yield Section("batch", facts=tuple(facts), notes=notes["batch"])
    looks = Table.of("looks", moved, LOOKED_AT, detail=("what", "moved", "moved_from", "moved_to"))
    yield Section("drift", tables=(looks,), notes=notes["drift"])
    beyond = bounds[["low", "value"]].sub(bounds["bound"], axis=0)
    # Worst first: what is shown to be beyond its bound, then what this release has beyond it.
    order = beyond.assign(low=beyond["low"].clip(lower=0)).sort_values(["low", "value"], ascending=False).index
    detail = {"people", "against_people", "rate", "other", "expected"}
    detail |= {"constraint"} if bounds["constraint"].nunique() <= 1 else set()
    most = MOST_ROWS if values["outcomes"] else 0
    judged = Table.of("bounds", bounds.loc[order], JUDGED, detail=detail, most=most)
    yield Section("verdicts", tables=(judged,), notes=notes["verdicts"])
    yield coverage_section(frames["coverage"])
    yield Section("caveats", notes=notes["caveats"])


def _told(domain: Domain, rows: Rows) -> tuple[dict[str, Cells], Sample, dict[str, Sequence[str]]]:
    """Return the level of every row that weighs anything in each variable, and the names of values that are no level.

    Those have codes of their own, from the number of levels on, in the order of their names.
    """
    there = np.flatnonzero(rows.people > 0)
    codes: dict[str, Cells] = {}
    new: dict[str, Sequence[str]] = {}
    for variable in domain.variables:
        found = tables.levels_in(variable, rows.table)
        level = found.level[found.codes][there].astype(np.int64)
        strange = np.flatnonzero(level == UNSEEN)
        if len(strange):
            called = _called(found, there[strange])
            new[variable.name] = sorted(set(called))
            place = {name: code for code, name in enumerate(new[variable.name], len(variable))}
            level[strange] = [place[name] for name in called]
        codes[variable.name] = level
    return codes, Sample(rows.people[there], rows.weight[there], rows.squares[there]), new


def _called(found: tables.Coded, rows: Cells) -> list[str]:
    """Name the values of some rows, which are no levels."""
    if found.encoded is None:
        return [NO_BIN] * len(rows)
    own, missing = found.encoded.codes[rows], found.codes[rows] == tables.NULL
    named = {code: tables.canonical(found.encoded.values[code]) for code in set(own[~missing].tolist())}
    return [GAP if gap else named[code] for code, gap in zip(own.tolist(), missing.tolist(), strict=True)]


def _drift_frame(found: Drift) -> pd.DataFrame:
    return tables.frame(
        {
            "what": [look.what for look in found.looks],
            "name": [look.name for look in found.looks],
            "apart": found.apart,
            "expected": found.expected,
            "limit": found.limit,
            "chance": found.chance,
            "drifted": found.drifted,
            "moved": ["" if each is None else each.level for each in found.moved],
            "moved_from": [np.nan if each is None else each.before for each in found.moved],
            "moved_to": [np.nan if each is None else each.now for each in found.moved],
        }
    )


def _bounds_frame(judged: Sequence[Judgement]) -> pd.DataFrame:
    rows = [asdict(each) for each in judged]
    texts, verdict = ("constraint", "where"), "verdict"
    other = (*texts, verdict, "held", "comparison")
    numbers = [field.name for field in fields(Judgement) if field.name not in other]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in texts}
    columns |= {name: np.array([row[name] for row in rows], dtype=float) for name in numbers}
    return tables.frame({**columns, verdict: [row[verdict] for row in rows]})


def _batch_notes(values: dict[str, Any], uncounted: Sequence[Note]) -> Iterator[Note]:
    if values["fitted"]:
        yield Note("batch.fitted")
    yield from uncounted
    expected = values["expected_in_new_cells"]
    usual = None if expected is None else Note("batch.usual", {"expected": expected})
    yield Note("batch.new_cells", {"share": values["in_new_cells"], "usual": usual})


def _drift_notes(found: Drift) -> Iterator[Note]:
    at = np.flatnonzero(found.drifted)
    if not len(at):
        yield Note("drift.none", {"looks": len(found.looks)})
        return
    # New values may have no limit but zero.
    order = at[np.argsort(-found.apart[at] / np.maximum(found.limit[at], 1e-9), kind="stable")]
    for place in order[:MOST_TOLD]:
        look, moved = found.looks[place], found.moved[place]
        most = None if moved is None else Note("drift.most", vars(moved))
        fields = {"name": look.name, "apart": found.apart[place], "limit": found.limit[place], "most": most}
        yield Note("drift.new_values" if look.what == NEW else "drift.apart", fields)
    if len(order) > MOST_TOLD:
        yield Note("drift.more", {"more": len(order) - MOST_TOLD})


def _bound_notes(problem: Problem, judged: Sequence[Judgement], *, outcomes: bool) -> Iterator[Note]:
    if not judged:
        yield Note("verdicts.no_bound")
        return
    if not outcomes:
        yield Note("verdicts.no_outcomes", {"column": repr(problem.outcome)})
        return
    # Two groups that are compared in both orders are one comparison, which is decided as both are.
    both: dict[int, list[str]] = {}
    for each in judged:
        both.setdefault(each.comparison, []).append(each.verdict)
    verdicts = [overall(words) for words in both.values()]
    counted = [
        Note("verdicts.verdict", {"number": verdicts.count(word), "verdict": word})
        for word in (VIOLATED, MET, UNDECIDED)
        if word in verdicts
    ]
    yield Note("verdicts.counted", {"number": len(verdicts), "verdicts": counted})
    over = sorted((j for j in judged if j.verdict == VIOLATED), key=lambda j: j.low - j.bound)
    # Of both orders the worse one.
    worst = list({each.comparison: each for each in over}.values())
    for judgement in sorted(worst, key=lambda j: j.bound - j.low)[:MOST_TOLD]:
        fields = {"verdict": judgement.verdict, "where": judgement.where, "interval": judgement.held}
        yield Note("verdicts.violated", fields)


def _caveats(problem: Problem, domain: Domain, values: dict[str, Any]) -> Iterator[Note]:
    """Say how sure all of it is, and what the mapping file tells too little of to be watched."""
    confidence = values["confidence"]
    yield Note("monitor.confidence", {"confidence": confidence, "alarms": 100 * (1 - confidence)})
    if values["weighed"]:
        yield Note("monitor.weighed")
    yield Note("monitor.other_columns")
    binned = [variable.name for variable in domain.variables if variable.coding is not None]
    if binned:
        yield Note("monitor.binned", {"columns": some_of(binned)})
    asked = {column for variable in domain.x.variables for column in variable.columns}
    silent = [name for name in problem.features if name not in asked]
    if silent:
        yield Note("monitor.not_asked", {"columns": some_of(silent)})
