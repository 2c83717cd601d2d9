"""A mapping meets people that it was not fitted on: their counts, what it does to them, and what it does not know.

Values that are not levels have no cell: those rows are counted and left out. A combination of known levels that the
fitted table did not have is a cell like any other: what train mode does with such people is done here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.arrays import Flags, positions
from evenhand.data.counts import Counts
from evenhand.data.domain import Variable
from evenhand.engines import Rows
from evenhand.errors import DataError, some_of
from evenhand.findings import bounds
from evenhand.findings.coverage import LEFT_OUT, coverage
from evenhand.findings.keeping import Verdict, verdict
from evenhand.findings.theory.rates import by_group_and_outcome
from evenhand.kernel import Kernel, gather, unchanged
from evenhand.kernel.achieved import distances, group_rates
from evenhand.spec import Problem
from evenhand.tables.transforming import Transformer, locate

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class Meeting:
    """The counts of a table on a mapping's domain, the kernel of its cells, what was new, and who is not counted."""

    counts: Counts
    kernel: Kernel
    coverage: dict[str, Any]
    uncounted: tuple[str, ...] = ()


def meeting(mode: Transformer, rows: Rows) -> Meeting:
    """Count a table, and give each of its cells the row of the kernel that train mode would use."""
    groups = mode.domain.d
    if not len(rows.people):
        raise DataError("the table has no rows")
    if rows.together:
        tables.refuse_gaps((groups, *mode.reads), rows.table, rows.where, people=rows.people, text=rows.text)
    located = locate(mode, rows.table, text=rows.text)
    d, new_d = tables.cells(groups, rows.table, text=rows.text)
    axes = tuple(dict.fromkeys((groups, *mode.reads)))
    new = np.any([tables.cells(axis, rows.table, text=rows.text)[1] for axis in axes], axis=0) | new_d
    if new.all():
        raise DataError("no row of the table has values that the fitted table had; nothing can be said about it")
    x, y = located.own()
    d, x, y = d[~new], x[~new], y[~new]
    counted = Counts.of(mode.domain, d, x, y, *(of[~new] for of in (rows.weight, rows.people, rows.squares)))
    counts = replace(counted, elsewhere=True)
    # The row of train mode's kernel of each cell of the table; a cell that it does not know stays as it is.
    found, place = positions(counts.sources, mode.domain.dxy(d, x, y))
    row, known = np.zeros(len(counts), np.int64), np.zeros(len(counts), bool)
    row[place[found]], known[place[found]] = located.rows[~new][found], located.known[~new][found]
    sources, kept = np.flatnonzero(known), np.flatnonzero(~known)
    asked, entry = mode.kernel.entries(row[sources])
    own = counts.x[sources[asked]], counts.y[sources[asked]]
    kernel = gather(
        np.concatenate([sources[asked], kept]),
        np.concatenate([mode.join(*mode.targets(entry, own)), mode.domain.xy(counts.x, counts.y)[kept]]),
        np.concatenate([mode.kernel.probability[entry], np.ones(len(kept))]),
        len(counts),
    )
    strange = ~located.sourced & ~new
    drawn, kept_people = (float(rows.people[strange & of].sum()) for of in (located.known, ~located.known))
    covered = coverage(axes, rows, drawn, kept_people, mode.drawn_by)
    return Meeting(counts, kernel, covered, tuple(_uncounted(covered, rows, new)))


def _uncounted(covered: dict[str, Any], rows: Rows, new: Flags) -> Iterator[str]:
    """Say how many rows have no cell, and for which values."""
    if new.any():
        listed = zip(*(covered[name] for name in ("column", "rows", "policy", "values")), strict=True)
        why = [f"{column} is {values or 'missing'}" for column, n, policy, values in listed if n and policy == LEFT_OUT]
        left, of = int(rows.people[new].sum()), int(rows.people.sum())
        yield f"{left:,} of {of:,} rows are not counted, for values that the fitted table did not have ({some_of(why)})"


def without_people(fitted: Counts, counts: Counts) -> Iterator[str]:
    """Name the groups of the fitted table that have nobody, or nobody who weighs anything, in another."""
    absent = np.setdiff1d(fitted.groups.cells, counts.groups.cells)
    if len(absent):
        named = some_of(f"({fitted.domain.d.words(int(group))})" for group in absent)
        yield f"nobody is counted of {len(absent)} of the {len(fitted.groups.cells)} fitted groups: {named}"


def with_own_target(problem: Problem, counts: Counts) -> Problem:
    """Return the problem with the fitted table's p(y), in segments p(y|b), written out where it is the target."""
    return replace(problem, parity=[parity.with_own_target(counts) for parity in problem.parity])


@dataclass(frozen=True, eq=False)
class Realised:
    """A table as it stands, held against the bounds: what one draw made of a release.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, its weight and its rate.
    bounds : pandas.DataFrame
        Every parity bound with what the table has, and the slack; negative where a bound is exceeded.
    words : tuple of str
        How far apart the rates are at worst, for each parity constraint.
    verdict : Verdict
        Whether every parity bound is kept: how many are exceeded, the worst of them, and if by less than one person.
    """

    rates: pd.DataFrame
    bounds: pd.DataFrame
    words: tuple[str, ...]
    verdict: Verdict

    @property
    def kept(self) -> bool | None:
        """Whether this very table keeps every parity bound; None where that is not known of everybody."""
        return self.verdict.kept


def realised(problem: Problem, fitted: Counts, met: Meeting) -> Realised:
    """Hold a table's own rates against the bounds of a problem."""
    counts = met.counts
    uncounted, segments = (*met.uncounted, *without_people(fitted, counts)), tuple(_released_segments(problem, fitted))
    as_it_is = unchanged(counts)
    parts = distances(problem, counts, as_it_is)
    words = []
    for part in parts:
        worst = bounds.furthest(counts, part)
        if worst is not None:
            bound = float(part.compared.bound[part.worst])
            apart, where = bounds.told_from(bound, worst.apart), "beyond" if worst.apart > bound else "within"
            words.append(
                f"the rates of this very table are {apart} apart at worst ({worst.pair}), {where} the bound {bound:g}"
            )
    weight = np.repeat(counts.group_weight, counts.domain.y.size)
    rates = {**by_group_and_outcome(counts), "weight": weight, "rate": group_rates(counts, as_it_is).ravel()}
    held = verdict(counts, parts, (*uncounted, *segments), decided=not segments)
    return Realised(tables.frame(rates), bounds.table(counts, parts), tuple(words), held)


def _released_segments(problem: Problem, fitted: Counts) -> Iterator[str]:
    """Say where segments are formed by columns that people may have left: a released table tells the new ones alone."""
    for parity in problem.parity:
        moved = [
            name
            for name in parity.given or ()
            if not parity.released and _may_change(problem, fitted.domain.variable(name))
        ]
        if moved:
            yield (
                f"whether {type(parity).__name__}{parity.where} is kept is not known: its segments are those of "
                f"{' × '.join(moved)} before the release, of which this table tells the new values alone"
            )


def _may_change(problem: Problem, variable: Variable) -> bool:
    """Whether a rule lets a column change, or a user's function may."""
    costs = problem.distortion.costs(variable)
    return bool(np.any(np.isfinite(costs) & ~np.eye(len(variable), dtype=bool)))
