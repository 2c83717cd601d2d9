"""A mapping meets people that it was not fitted on: their counts, what it does to them, and what it does not know.

Values that are not levels have no cell: those rows are counted and left out. A combination of known levels that the
fitted table did not have is a cell like any other: what train mode does with such people is done here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Flags, Numbers, positions, sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Domain, Variable
from evenhand.engines import Columns, Pair, Rows, read_as
from evenhand.errors import DataError, some_of
from evenhand.findings import bounds
from evenhand.findings.coverage import LEFT_OUT, coverage
from evenhand.findings.theory.rates import by_group_and_outcome
from evenhand.findings.verdict import Verdict, verdict
from evenhand.kernel import Kernel, gather, unchanged
from evenhand.kernel.achieved import ParityAchieved, group_rates, parity_achieved
from evenhand.render.finding import Finding
from evenhand.render.section import Fact, Note, Section, Table
from evenhand.render.sentences import paragraph
from evenhand.spec import Parity, Problem, comparisons
from evenhand.tables.transforming import Located, Transformer, locate

if TYPE_CHECKING:
    import pandas as pd

MOST_PIECES = 64
"""So many pieces of a table are counted by themselves before they are added up."""


@dataclass(frozen=True, eq=False)
class Meeting:
    """The counts of a table on a mapping's domain, the kernel of its cells, what was new, and who is not counted.

    Whether people of groups that nobody had are kept as they are depends on whether the mapping reads groups.
    """

    counts: Counts
    kernel: Kernel
    coverage: dict[str, Any]
    uncounted: tuple[Note, ...] = ()
    keeps_new_groups: bool = True


def meeting(mode: Transformer, rows: Rows) -> Meeting:
    """Count a table, and give each of its cells the row of the kernel that train mode would use."""
    axes, new = known_values(mode, rows)
    groups = mode.domain.d
    located = locate(mode, rows.table)
    d, _ = tables.cells(groups, rows.table)
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
    covered = _covered(mode, axes, rows, located, new)
    keeps = groups in mode.reads and (mode.strangers is None or groups in mode.strangers.by)
    return Meeting(counts, kernel, covered, tuple(_uncounted(covered, rows, new)), keeps)


def known_values(mode: Transformer, rows: Rows) -> tuple[tuple[Axis, ...], Flags]:
    """Return the axes of groups and of what a mode reads, and which rows have a value there that is no level.

    A table without rows, or without one that could be counted, is refused, and so are missing values that are none.
    """
    axes = tuple(dict.fromkeys((mode.domain.d, *mode.reads)))
    if not len(rows.people):
        raise DataError("the table has no rows")
    if rows.together:
        tables.refuse_gaps(axes, rows.table, rows.where, people=rows.people)
    new = np.any([tables.cells(axis, rows.table)[1] for axis in axes], axis=0)
    if new.all():
        why = some_of(_unknown_values(coverage(axes, rows, 0.0, 0.0, None)))
        raise DataError(
            f"every row of the table has a value that the fitted table did not have ({why}): nothing can be said of it"
        )
    return axes, new


def _covered(mode: Transformer, axes: tuple[Axis, ...], rows: Rows, located: Located, new: Flags) -> dict[str, Any]:
    strange = ~located.sourced & ~new
    drawn, kept = (float(rows.people[strange & of].sum()) for of in (located.known, ~located.known))
    return coverage(axes, rows, drawn, kept, mode.drawn_by)


def covered_without_outcomes(mode: Transformer, rows: Rows) -> tuple[dict[str, Any], tuple[Note, ...]]:
    """Return the coverage of people by apply mode, which reads no outcome, and who is not counted."""
    axes, new = known_values(mode, rows)
    covered = _covered(mode, axes, rows, locate(mode, rows.table), new)
    return covered, tuple(_uncounted(covered, rows, new))


def _uncounted(covered: dict[str, Any], rows: Rows, new: Flags) -> Iterator[Note]:
    """Yield how many rows have no cell, and for which values."""
    if new.any():
        fields = {"rows": int(rows.people[new].sum()), "total": int(rows.people.sum())}
        yield Note("uncounted.rows", {**fields, "values": some_of(_unknown_values(covered))})


def _unknown_values(covered: dict[str, Any]) -> Iterator[str]:
    """Name the values that are no levels, by column."""
    listed = zip(*(covered[name] for name in ("column", "rows", "policy", "values")), strict=True)
    yield from (
        f"{column} is {values or 'missing'}" for column, n, policy, values in listed if n and policy == LEFT_OUT
    )


def without_people(fitted: Counts, counts: Counts) -> Iterator[Note]:
    """Name the groups of the fitted table that have nobody, or nobody who weighs anything, in another."""
    absent = np.setdiff1d(fitted.groups.cells, counts.groups.cells)
    if len(absent):
        named = some_of(f"({fitted.domain.d.words(int(group))})" for group in absent)
        fields = {"absent": len(absent), "groups": len(fitted.groups.cells), "named": named}
        yield Note("uncounted.groups", fields)


def of_new_groups(fitted: Counts, met: Meeting) -> Iterator[Note]:
    """Name the groups that nobody fitted belongs to, and say how many people they have."""
    counts = met.counts
    new = ~np.isin(counts.groups.cells, fitted.groups.cells)
    if new.any():
        named = some_of(f"({counts.domain.d.words(int(group))})" for group in counts.groups.cells[new])
        key = "uncounted.new_groups_kept" if met.keeps_new_groups else "uncounted.new_groups"
        yield Note(key, {"people": float(counts.group_people[new].sum()), "named": named})


def with_own_target(problem: Problem, counts: Counts) -> Problem:
    """Return the problem with the fitted table's p(y), in segments p(y|b), written out where it is the target."""
    return replace(problem, parity=[parity.with_own_target(counts) for parity in problem.parity])


@dataclass(frozen=True, eq=False, repr=False)
class Realised(Finding):
    """A table as it stands, held against the bounds: what one draw made of a release.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, its weight and its rate.
    bounds : pandas.DataFrame
        Every parity bound with what the table has, and the slack; negative where a bound is violated.
    verdict : Verdict
        Whether every parity constraint holds: how many are violated, the worst of them, and if by less than one person.
    sections : tuple of Section
        All of it as data.
    """

    rates: pd.DataFrame
    bounds: pd.DataFrame
    verdict: Verdict
    sections: tuple[Section, ...] = ()

    @property
    def kept(self) -> bool | None:
        """Whether this very table keeps every parity bound; None where that is not known of everybody."""
        return self.verdict.kept

    def __repr__(self) -> str:
        return f"<Rates as they stand: {paragraph(self.verdict.notes)}>"


class Origins:
    """People by what they were and what they became: their original group and segment, and their new outcome.

    Of original features and outcomes those are told apart that segments are made of.
    """

    def __init__(self, domain: Domain, segments: Sequence[str]) -> None:
        self.domain, self.segments = domain, frozenset(segments)
        self.found: list[tuple[Cells, Numbers]] = []

    @property
    def columns(self) -> tuple[Columns, Columns]:
        """The columns that are read of the original table, and of the new one."""
        domain = self.domain
        outcome = domain.y.variables if self._by_outcome else ()
        before, after = (*domain.d.variables, *domain.x.variables, *outcome), (*domain.d.variables, *domain.y.variables)
        return read_as(before), read_as(after)

    @property
    def _by_outcome(self) -> bool:
        return self.domain.outcome.name in self.segments

    def add(self, pair: Pair) -> None:
        """Count some rows; those with a value that is no level have no cell."""
        domain, before, after = self.domain, pair.before, pair.after
        (d, new_d), (x, new_x) = (tables.cells(axis, before) for axis in (domain.d, domain.x))
        (now, other), (y, new_y) = (tables.cells(axis, after) for axis in (domain.d, domain.y))
        if np.any(wrong := (d != now) | (new_d != other)):
            raise DataError(
                f"original= must be the very table that was released, row for row: row "
                f"{pair.first + int(np.argmax(wrong)) + 1} is of another group there"
            )
        levels = zip(domain.x.variables, domain.x.unravel(x), strict=True)
        x = domain.x.ravel([codes if v.name in self.segments else np.zeros_like(codes) for v, codes in levels])
        was = np.zeros_like(y)
        if self._by_outcome:
            was, unknown = tables.cells(domain.y, before)
            new_y = new_y | unknown
        counted = ~(new_d | new_x | new_y) & (pair.weight > 0)
        became = domain.dxy(d, x, was)[counted] * domain.y.size + y[counted]
        cell, at = np.unique(became, return_inverse=True)
        sums_ = [sums(at, of[counted], len(cell)) for of in (pair.weight, pair.people, pair.squares)]
        self.found.append((cell, np.stack(sums_)))
        if len(self.found) > MOST_PIECES:
            self.found = [self._together()]

    def _together(self) -> tuple[Cells, Numbers]:
        cells, numbers = (np.concatenate(each, axis=-1) for each in zip(*self.found, strict=True))
        distinct, at = np.unique(cells, return_inverse=True)
        return distinct, np.stack([sums(at, of, len(distinct)) for of in numbers])

    def became(self) -> tuple[Counts, Kernel]:
        """Return people by their original values, and the shares of them that a release gave each outcome."""
        cell, (weight, people, squares) = self._together()
        source, to_y = np.divmod(cell, self.domain.y.size)
        own, at = np.unique(source, return_inverse=True)
        dx, was = np.divmod(own, self.domain.y.size)
        d, x = np.divmod(dx, self.domain.x.size)
        each = (sums(at, of, len(own)) for of in (weight, people, squares))
        counts = replace(Counts.of(self.domain, d, x, was, *each), elsewhere=True)
        starts = np.concatenate([[0], np.cumsum(np.bincount(at))])
        return counts, Kernel(starts, self.domain.xy(x[at], to_y), weight / counts.weight[at])


def left_segments(problem: Problem, domain: Domain) -> tuple[str, ...]:
    """Return the columns that make segments of original values which people may leave."""
    named = (name for parity in problem.parity for name in _original_segments(problem, parity))
    moved = any(_left(problem, domain, parity) for parity in problem.parity)
    return tuple(dict.fromkeys(named)) if moved else ()


def _original_segments(problem: Problem, parity: Parity) -> tuple[str, ...]:
    """Return the columns whose original values make the segments of a constraint."""
    given = () if parity.released else tuple(parity.given or ())
    return (*given, *([problem.outcome] * parity.given_outcome))


def realised(problem: Problem, fitted: Counts, met: Meeting, origin: tuple[Counts, Kernel] | None = None) -> Realised:
    """Hold a table's own rates against the bounds of a problem.

    ``origin`` is what :meth:`Origins.became` returns, where original values are known: a bound within original segments
    is held by them.
    """
    counts = met.counts
    uncounted = (*met.uncounted, *without_people(fitted, counts))
    segments = tuple(_released_segments(problem, fitted)) if origin is None else ()
    parts, as_it_is = [], unchanged(counts)
    for parity in problem.parity:
        own, shares = counts, as_it_is
        if origin is not None and _original_segments(problem, parity):
            own, shares = origin
        parts.append(parity_achieved(comparisons(parity, own), own, shares))
    weight = np.repeat(counts.group_weight, counts.domain.y.size)
    rates = {"weight": weight, "rate": group_rates(counts, as_it_is).ravel()}
    remarks = tuple(of_new_groups(fitted, met))
    held = verdict(counts, parts, (*uncounted, *segments), decided=not segments, remarks=remarks)
    found = tables.beside(by_group_and_outcome(counts), rates), bounds.table(counts, parts)
    return Realised(*found, held, (_section(counts, *found, held, parts),))


def _section(
    counts: Counts, rates: pd.DataFrame, listed: pd.DataFrame, held: Verdict, parts: Sequence[ParityAchieved]
) -> Section:
    """Return rates and verdict; of several constraints each has its own comparison, since the verdict names one."""
    worst = ((part.parity, bounds.furthest(part)) for part in parts)
    each = [
        Note("verdict.constraint", {"constraint": f"{type(parity).__name__}{parity.where}", "worst": found.held})
        for parity, found in worst
        if found is not None and len(parts) > 1
    ]
    table = Table.of("rates", rates, {"weight": "weight" if counts.weighed else "people", "rate": "rate"})
    follow = (at for at in range(len(rates)) if at % counts.domain.y.size not in counts.domain.shown_outcomes)
    return Section(
        "release",
        facts=(Fact("kept", held.kept, "flag", detail=True), Fact("violated", held.violated, detail=True)),
        tables=(replace(table, implied=frozenset(follow)), Table.of("bounds", listed, {}, most=0)),
        notes=(*held.notes, *each),
    )


def _released_segments(problem: Problem, fitted: Counts) -> Iterator[Note]:
    """Yield where segments are formed by columns that people may have left, of which a table has the new values."""
    for parity in problem.parity:
        if moved := _left(problem, fitted.domain, parity):
            constraint = f"{type(parity).__name__}{parity.where}"
            yield Note("uncounted.segments", {"constraint": constraint, "columns": moved})


def _left(problem: Problem, domain: Domain, parity: Parity) -> list[str]:
    """Return the columns of a constraint's original segments that may change."""
    columns = _original_segments(problem, parity)
    return [name for name in columns if _may_change(problem, domain.variable(name))]


def _may_change(problem: Problem, variable: Variable) -> bool:
    """Whether a rule lets a column change, or a user's function may."""
    costs = problem.distortion.costs(variable)
    return bool(np.any(np.isfinite(costs) & ~np.eye(len(variable), dtype=bool)))
