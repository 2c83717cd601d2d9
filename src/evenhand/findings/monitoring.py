"""A batch of new people held against the fitted table and against the bounds: coverage, drift, and one word per bound.

One confidence is for all of it. Half of the error is for drift: a batch of the fitted people's own population is told
as drifted, in anything, with at most that probability. The other half is for the intervals of all bounds. Outcomes may
be unknown: then drift of everything else is told, and no bound is decided.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
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
from evenhand.findings.coverage import NEW_COMBINATION, new_cells_share
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
from evenhand.resources import Progress
from evenhand.spec import Problem
from evenhand.tables.transforming import Transformer

if TYPE_CHECKING:
    import pandas as pd

GAP, NO_BIN = "a missing value", "a number that is in no bin"
"""What values that are no levels are called where they have no text."""


@dataclass(frozen=True, eq=False, repr=False)
class Monitored:
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
    coverage : pandas.DataFrame
        As in an audit: missing values, new values and new combinations, with what becomes of such rows.
    drift : pandas.DataFrame
        For each column, the groups, the outcome in each group and the cells: how far ``apart`` the batch and the fitted
        table are (the total variation), what sampling alone gives (``expected``) and what it stays below in everything
        at once (``limit``), the ``chance`` of as much by sampling alone, whether it ``drifted``, and which level's
        share ``moved`` most. Where people have values that nobody fitted had, what they are by themselves, too: then
        ``apart`` is their share.
    bounds : pandas.DataFrame
        For each parity bound the people and rates that are compared, the distance of one release (``value``), its exact
        interval (``low``, ``high``), the distance ``expected`` over the draws, and a ``verdict``: shown met, shown
        violated or not decided.
    verdict : str or None
        The same for all bounds together; None where nothing is bounded.
    words : tuple of str
        What follows, in sentences.
    weighed : bool
        Whether rows had weights, with which limits and intervals are approximate.
    released : str or None
        What tells that the mapping wrote this table itself: its people are no new ones; None where nothing does.
    """

    people: int
    confidence: float
    outcomes: bool
    fitted: bool
    coverage: pd.DataFrame
    drift: pd.DataFrame
    bounds: pd.DataFrame
    verdict: str | None
    words: tuple[str, ...]
    weighed: bool = False
    released: str | None = None

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
    released: Callable[[Counts | None], str | None],
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
    found = Monitored(
        people=int(rows.people.sum()),
        confidence=confidence,
        outcomes=outcomes,
        fitted=beside.same,
        coverage=tables.frame(covered),
        drift=_drift_frame(moved),
        bounds=_bounds_frame(judged),
        verdict=overall([each.verdict for each in judged]),
        words=(),
        weighed=beside.now.weighed or beside.before.weighed,
        released=released(None if met is None else met.counts),
    )
    combinations = found.coverage.loc[found.coverage["what"] == NEW_COMBINATION, "rows"].sum()
    strange = (float(combinations) + beside.people_with_new_values) / max(1, found.people)
    expected = None if met is None else new_cells_share(fitted, blind=problem.blind)
    words = _words(problem, domain, found, uncounted, (strange, expected), judged, moved)
    return replace(found, words=(*(() if found.released is None else (found.released,)), *words))


def _told(domain: Domain, rows: Rows) -> tuple[dict[str, Cells], Sample, dict[str, Sequence[str]]]:
    """Return the level of every row that weighs anything in each variable, and the names of values that are no level.

    Those have codes of their own, from the number of levels on, in the order of their names.
    """
    there = np.flatnonzero(rows.people > 0)
    codes: dict[str, Cells] = {}
    new: dict[str, Sequence[str]] = {}
    for variable in domain.variables:
        found = tables.levels_in(variable, rows.table, text=rows.text)
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
            "moved": found.moved,
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


def _words(
    problem: Problem,
    domain: Domain,
    found: Monitored,
    uncounted: Sequence[str],
    in_new_cells: tuple[float, float | None],
    judged: Sequence[Judgement],
    moved: Drift,
) -> Iterator[str]:
    if found.fitted:
        yield (
            "this is the fitted table, count for count: nothing can have drifted, and what it says of the bounds is "
            "about the people that were fitted, not about new ones"
        )
    yield from uncounted
    strange, expected = in_new_cells
    usual = "" if expected is None else f"; about {expected:.1%} were to be expected"
    yield f"{strange:.1%} of the people are in cells that nobody fitted was in{usual}"
    yield from _drift_words(moved)
    yield from _bound_words(problem, found, judged)
    yield (
        f"with a confidence of {found.confidence:g} a random sample of the fitted people's population has nothing told "
        f"as drifted and every interval right, all at once; of a hundred such batches about "
        f"{100 * (1 - found.confidence):.2g} are told otherwise by chance"
    )
    if found.weighed:
        yield (
            "rows have weights: limits and intervals are approximate, with as many people as would tell as much if "
            "all weighed the same"
        )
    yield from _unwatched(problem, domain)


def _drift_words(moved: Drift) -> Iterator[str]:
    at = np.flatnonzero(moved.drifted)
    if not len(at):
        yield (
            f"of {len(moved.looks)} things looked at, none is further from the fitted table than sampling alone "
            f"explains"
        )
        return
    # New values may have no limit but zero.
    order = at[np.argsort(-moved.apart[at] / np.maximum(moved.limit[at], 1e-9), kind="stable")]
    for place in order[:MOST_TOLD]:
        look, apart, limit = moved.looks[place], moved.apart[place], moved.limit[place]
        if look.what == NEW:
            yield (
                f"drifted: {look.name}: {apart:.1%} of the people have one, where sampling alone explains up to "
                f"{limit:.1%}; most: {moved.moved[place]}"
            )
            continue
        yield (
            f"drifted: {look.name}, {apart:.3f} apart where sampling alone explains up to {limit:.3f}; most: "
            f"{moved.moved[place]}"
        )
    if len(order) > MOST_TOLD:
        yield f"and {len(order) - MOST_TOLD} more drifted"


def _bound_words(problem: Problem, found: Monitored, judged: Sequence[Judgement]) -> Iterator[str]:
    if not judged:
        yield "no parity bound was asked for"
        return
    if not found.outcomes:
        yield f"the table has no column {problem.outcome!r}: without outcomes no parity bound is decided"
        return
    # Two groups that are compared in both orders are one comparison, which is decided as both are.
    both: dict[int, list[str]] = {}
    for each in judged:
        both.setdefault(each.comparison, []).append(each.verdict)
    verdicts = [overall(words) for words in both.values()]
    counted = ", ".join(f"{verdicts.count(word)} {word}" for word in (VIOLATED, MET, UNDECIDED) if word in verdicts)
    yield f"of {len(verdicts)} parity constraint{'s' * (len(verdicts) > 1)}: {counted}"
    over = sorted((j for j in judged if j.verdict == VIOLATED), key=lambda j: j.low - j.bound)
    # Of both orders the worse one.
    worst = list({each.comparison: each for each in over}.values())
    for judgement in sorted(worst, key=lambda j: j.bound - j.low)[:MOST_TOLD]:
        yield f"{VIOLATED}: {judgement.where}, {judgement.held}"


def _unwatched(problem: Problem, domain: Domain) -> Iterator[str]:
    """Say what the mapping file tells too little of to be watched."""
    yield "columns outside the problem are not watched: the mapping holds nothing of them"
    binned = [variable.name for variable in domain.variables if variable.coding is not None]
    if binned:
        yield f"within a level nothing is seen to move: {some_of(binned)} are told by their levels alone"
    asked = {column for variable in domain.x.variables for column in variable.columns}
    silent = [name for name in problem.features if name not in asked]
    if silent:
        yield f"columns that no rule of the learned cells asks about are not watched: {some_of(silent)}"
