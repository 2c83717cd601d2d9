"""How far apart the groups are, before and after: what of each constraint is furthest apart, every group's rates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, quotient
from evenhand.findings.bounds import Constraint, Furthest, budget_found, comparison, constraints, furthest, said_bound
from evenhand.findings.charts import rate_charts, tone_of
from evenhand.findings.rates import cohorts, rates
from evenhand.findings.subject import Subject
from evenhand.render.section import Chart, Column, Fact, Kind, Note, Section, Table
from evenhand.spec.distance import Ratio
from evenhand.tolerances import AT_BOUND

LISTED = 12
"""How many comparisons of a constraint are listed, those nearest to their bound."""

MOST_FIRST = 6
"""How many groups have their rates on a first screen."""

MOST_LEVELS = 40
"""How many levels of features are drawn."""

TARGET = "the target"
"""What rates are held against that are not those of other people."""

BUDGETS: dict[str, Kind] = {
    "constraint": "text", "per": "text", "smallest_limit": "number", "largest_limit": "number", "largest": "number",
    "at_limit": "number", "cells": "number",
}  # fmt: skip


@dataclass(frozen=True, eq=False)
class Disparity:
    """One parity constraint with what is furthest apart of those comparisons that may be shown."""

    constraint: Constraint
    kept: Cells

    @property
    def before(self) -> Furthest | None:
        """What is furthest apart in the table as it is; None where nothing may be shown."""
        return furthest(self.constraint.before, self.kept)

    @property
    def after(self) -> Furthest | None:
        """The same of the mapping."""
        return furthest(self.constraint.after, self.kept)

    @property
    def comparisons(self) -> int:
        """How many comparisons are made; two groups that are compared in both orders are one."""
        return self.constraint.after.compared.number_of()

    @property
    def hidden(self) -> int:
        """How many of them have a group in them that is not shown."""
        return self.comparisons - self.constraint.after.compared.number_of(self.kept)

    @property
    def at_bound(self) -> int:
        """How many of them are at their bound."""
        part = self.constraint.after
        return part.compared.number_of(part.excess >= -AT_BOUND)

    @property
    def bound(self) -> str:
        """The bound as people say it."""
        return self.constraint.said_bound

    def notes(self) -> Iterator[Note]:
        """Yield what is furthest apart, and how many comparisons are hidden."""
        before, after = self.before, self.after
        if before is not None and after is not None:
            words = self.constraint.after.parity.words
            fields: dict[str, Any] = {
                "parity": f"{words[0].upper()}{words[1:]}", "bound": self.bound, "at_bound": self.at_bound,
                "comparisons": self.comparisons, "before": before.said, "after": after.said,
                "among": Note("disparity.among") if self.hidden else None,
                "was": Note("disparity.before", {"outcome": before.outcome, "pair": pair(before)}),
                "is": Note("disparity.after", {"outcome": after.outcome, "pair": pair(after)}),
            }  # fmt: skip
            yield Note("disparity.constraint", fields)
        if self.hidden:
            key = "disparity.hidden" if len(self.kept) else "disparity.all_hidden"
            yield Note(key, {"hidden": self.hidden, "comparisons": self.comparisons})


def disparities(m: Subject) -> tuple[Disparity, ...]:
    """Return every parity constraint of a mapping, with the comparisons that may be shown."""
    return tuple(
        Disparity(each, np.flatnonzero(m.shown.comparisons(each.after.compared, m.kernel)))
        for each in constraints(m.counts, m.achieved.parity)
    )


def pair(found: Furthest) -> Note:
    """Return two rates that are compared; a target is nobody's."""
    key = "disparity.pair_target" if found.against == TARGET else "disparity.pair"
    return Note(key, {"rate": found.rate, "of": found.of, "other": found.other, "against": found.against})


def rates_section(m: Subject, found: Sequence[Disparity], confidence: float) -> Section:
    """Return every group's rates before and after, what is furthest apart, and which comparisons are at their bound."""
    one = m.drawn[0] if len(m.drawn) == 1 else None
    charts = tuple(
        rate_charts(m.problem, m.counts, m.kernel, confidence=confidence, hide_below=m.shown.hide_below, outcome=one)
    )
    if charts[0].table.rows == first_chart(m, confidence)[0].table.rows:
        # The first screen has it.
        charts = ()
    facts = (
        Fact("confidence", confidence, detail=True),
        Fact("told", m.counts.domain.outcome.levels[m.told], detail=True),
        Fact("drawn", m.drawn, detail=True),
    )
    notes = [note for each in found for note in each.notes()]
    by_level = _by_level(m)
    nearest = Section(
        "in_detail", charts=(_levels_chart(m, by_level),), tables=(_nearest(found), by_level), form="folded"
    )
    return Section(
        "rates", facts=facts, charts=charts, notes=(*notes, Note("disparity.intervals")), parts=(nearest,),
        tables=(_rates(m, confidence), _constraints(found), _furthest(found)),
    )  # fmt: skip


def first_chart(m: Subject, confidence: float) -> tuple[Chart, ...]:
    """Return the rates of the largest groups, of the outcome that is told."""
    return tuple(
        rate_charts(
            m.problem, m.counts, m.kernel, confidence=confidence, hide_below=m.shown.hide_below, most_groups=MOST_FIRST,
            outcome=m.counts.domain.outcome.levels[m.told],
        )
    )  # fmt: skip


def _rates(m: Subject, confidence: float) -> Table:
    rows = rates(m.problem, m.counts, m.kernel, confidence=confidence, hide_below=m.shown.hide_below)
    columns = (
        Column("group", "group"), Column("outcome"), Column("weight", m.people), Column("before", "rate"),
        Column("after", "rate"), Column("interval_before", "interval"), Column("interval_after", "interval"),
        Column("permitted", "interval", data=True),
    )  # fmt: skip
    listed = [
        (row["columns"], row["level"], row["weight"], row["before"], row["after"],
         (row["before_low"], row["before_high"]), (row["after_low"], row["after_high"]),
         None if row["permitted_low"] is None else (row["permitted_low"], row["permitted_high"]))
        for row in rows
    ]  # fmt: skip
    return Table(
        "every_rate", columns, tuple(listed), tuple((row["columns"],) for row in rows), {"confidence": confidence},
        implied=m.spared(row["level"] for row in rows),
    )  # fmt: skip


def _constraints(found: Sequence[Disparity]) -> Table:
    columns = (
        Column("constraint"), Column("words"), Column("comparisons", "number"), Column("comparisons_hidden", "number"),
        Column("at_bound", "number"), Column("smallest_bound", "number"), Column("largest_bound", "number"),
        Column("before"), Column("after"), Column("bound"),
    )  # fmt: skip
    rows = []
    for each in found:
        parity, (before, after) = each.constraint.after.parity, (each.before, each.after)
        ends = each.constraint.range or (None, None)
        said = before and before.said, after and after.said, before and each.bound
        rows.append(
            (type(parity).__name__, parity.words, each.comparisons, each.hidden, each.at_bound, *ends, *said)
        )  # fmt: skip
    return Table("constraints", columns, tuple(rows), most=0)


def _furthest(found: Sequence[Disparity]) -> Table:
    names = ("constraint", "when", "outcome", "of", "rate", "against", "other", "apart", "said")
    rows = [
        (number, when, *(getattr(each, name) for name in names[2:]))
        for number, disparity in enumerate(found)
        for when, each in (("before", disparity.before), ("after", disparity.after))
        if each is not None
    ]
    return Table("furthest_apart", tuple(map(Column, names)), tuple(rows), most=0)


def _nearest(found: Sequence[Disparity]) -> Table:
    columns = (
        Column("comparison"), Column("bound", "number", data=True), Column("achieved", "number", data=True),
        Column("said_bound"), Column("said"),
    )  # fmt: skip
    rows = []
    for disparity in found:
        part, kept = disparity.constraint.after, disparity.kept
        for at in map(int, kept[np.argsort(-part.excess[kept], kind="stable")][:LISTED]):
            bound, each = float(part.compared.bound[at]), comparison(part, at)
            rows.append((part.compared.words(at), bound, each.apart, said_bound(part.parity, bound), each.said))
    return Table("nearest", columns, tuple(rows))


def budgets_table(m: Subject) -> Table:
    """Return for each charge whose limits it has, how many of them are reached, and the largest charge of all."""
    found = [budget_found(part) for part in m.achieved.budgets]
    rows = []
    for each in found:
        whom = Note("disparity.each_record" if each.per == "xy" else "disparity.each_person")
        rows.append(tuple(whom if name == "per" else getattr(each, name) for name in BUDGETS))
    return Table("budgets", tuple(Column(name, kind) for name, kind in BUDGETS.items()), tuple(rows))


def _by_level(m: Subject) -> Table:
    """Return the rate of the outcome that is told among the people of every level of every feature, in their order.

    They are the same people before and after, whatever features they are released with. Learned cells have a table of
    their own.
    """
    level = m.counts.domain.outcome.levels[m.told]
    rows: list[tuple[Any, ...]] = []
    about: list[tuple[Any, ...]] = []
    for variable in m.counts.domain.x.variables:
        if not variable.is_column:
            continue
        found = cohorts(
            m.counts, m.kernel, [{}], by=[variable.name], outcome=level, features="original",
            hide_below=m.shown.hide_below,
        )  # fmt: skip
        for row in found:
            tone = tone_of(m.problem, m.counts, level, row["after"] - row["before"])
            who = variable.name, variable.shown[row["cell"]]
            rows.append((*who, row["people"], row["before"], row["after"], tone))
            about.append(({variable.name: variable.levels[row["cell"]]},))
    columns = (
        Column("column", own=True), Column("level", own=True), Column("people", m.people), Column("before", "rate"),
        Column("after", "rate"), Column("tone"),
    )  # fmt: skip
    return Table("by_level", columns, tuple(rows), tuple(about), most=0)


def _levels_chart(m: Subject, table: Table) -> Chart:
    total = len(table.rows)
    cut = [Note("chart.levels_cut", {"shown": MOST_LEVELS, "total": total})] if total > MOST_LEVELS else []
    return Chart(
        "chart.levels", "dots", table.kept(range(min(total, MOST_LEVELS))), ("column", "level"), ("before", "after"),
        tone="tone", notes=(Note("chart.levels_alike"), *cut), fields={"outcome": m.outcome},
    )  # fmt: skip


def in_combination(m: Subject) -> Iterator[Note]:
    """Yield how far apart the groups are that all protected columns form, where bounds are on some of these alone."""
    on = bounded_on(m)
    if any(set(columns) == set(m.problem.protected) for columns in on) or m.shown.groups.sum() < 2:
        return
    bounded = {column for columns in on for column in columns}
    yield from (Note("caveat.no_bound_on", {"column": name}) for name in m.problem.protected if name not in bounded)
    before, after = (_spread(of[m.shown.groups, m.told]) for of in (m.achieved.rates_before, m.achieved.rates_after))
    yield Note("caveat.together", {
        "on": [" × ".join(columns) for columns in on], "together": " × ".join(m.problem.protected),
        "outcome": m.outcome, "before": before, "after": after,
    })  # fmt: skip


def _spread(rates: Numbers) -> str:
    return Ratio().said(float(rates.max()), float(rates.min()))


def bounded_on(m: Subject) -> list[tuple[str, ...]]:
    """Return the protected columns that the groups of each bound are formed by; all of them where there is none."""
    every = dict.fromkeys(tuple(part.on or m.problem.protected) for part in m.problem.parity)
    return list(every) or [tuple(m.problem.protected)]


def needed(m: Subject, found: Sequence[Disparity], *, factor: bool) -> tuple[float, float]:
    """Return which bound, or factor on the bounds, leaves everybody as they are: for those shown, and the others."""
    most = {True: 0.0, False: 0.0}
    for each in found:
        before, bound = each.constraint.before.value, each.constraint.after.compared.bound
        own = quotient(before, bound) if factor else before
        kept = np.isin(np.arange(len(own)), each.kept)
        for which in most:
            most[which] = max(most[which], float(np.max(own[kept == which], initial=0.0)))
    return most[True], most[False]
