"""What a mapping does, as charts: rates by group and by cohort, who becomes what, which changes are common.

Each is a table with a way to draw it, and notes that say who is left out. How it looks is not known here.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from evenhand import check
from evenhand.data import FEW_PEOPLE
from evenhand.data.counts import Counts
from evenhand.errors import DataError
from evenhand.findings.changes import (
    LEAST_COLUMN,
    Chosen,
    changes,
    conditional,
    first_groups,
    most_changed,
    most_changed_groups,
)
from evenhand.findings.discretion import Discretion
from evenhand.findings.document import Row
from evenhand.findings.extent import MOST_ACROSS, MOST_DOWN, MOST_LINES, foremost, groups_drawn, outcomes_drawn, totals
from evenhand.findings.naming import Where, long_name, matching, short_name, shown_levels
from evenhand.findings.rates import Features, cohort_axis, cohorts, outcome_code, rates, shown_outcomes
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import Achieved
from evenhand.render.numbers import JOINT
from evenhand.render.section import Chart, Column, Line, Note, Table
from evenhand.spec import Problem
from evenhand.spec.agreement import favourable_code

Kind = Literal["rates", "heat", "cohorts", "changes"]
Parts = Where | Sequence[Where]

STILL = 5e-4
"""A rate that moves by less is the same, for better and for worse."""

MOST_CHANGES = 16
MOST_GROUPS = 40
MOST_COLUMNS = 8
MOST_PANELS = 12
"""How many groups have a panel of cohorts, unless others are asked for."""

FEWEST_DOWN = 4
"""However many panels stand below one another, each has so many rows."""


def mapping_charts(
    kind: Kind, problem: Problem, counts: Counts, kernel: Kernel, measured: Achieved, **options: Any
) -> tuple[Chart, ...]:
    """Return the charts of one kind; ``options`` are those of its function, and ``title``."""
    kinds: dict[str, Callable[..., Iterable[Chart]]] = {
        "rates": rate_charts,
        "heat": partial(heat_charts, measured=measured),
        "cohorts": cohort_charts,
        "changes": partial(change_charts, measured=measured),
    }
    check.one_of("kind", kind, tuple(kinds))
    checked = {name: OPTIONS[name](name, value) if name in OPTIONS else value for name, value in options.items()}
    return tuple(kinds[kind](problem, counts, kernel, **checked))


def _part(what: str, where: Any) -> Where:
    """Return a part of a table: a level for each column that it names."""
    named = check.mapping(what, where, 'a mapping of columns to levels, such as {"sex": "Male"}')
    return {check.column(what, column): check.level(f"{what}: {column!r}", level) for column, level in named.items()}


def _parts(what: str, parts: Any) -> list[Where]:
    """Return several parts of a table; one may stand alone."""
    listed = [parts] if isinstance(parts, Mapping) else check.listed(what, parts, "a list of parts of the table")
    return [_part(what, part) for part in listed]


def _or_none(read: Callable[[str, Any], Any]) -> Callable[[str, Any], Any]:
    return lambda what, value: None if value is None else read(what, value)


OPTIONS: dict[str, Callable[[str, Any], Any]] = {
    "confidence": check.number,
    "hide_below": partial(check.finite, low=0),
    "least": partial(check.finite, low=0),
    "most": partial(check.whole, low=1),
    "most_groups": partial(check.whole, low=1),
    "where": _or_none(_parts),
    "groups": _or_none(_parts),
    "by": _or_none(check.columns),
    "outcome": _or_none(check.level),
    "title": check.text,
}
"""How the options of all charts are read; words are left to the chart that knows them."""


def _titled(title: str | None, **fields: Any) -> dict[str, Any]:
    return fields if title is None else {"title": title, **fields}


def rate_charts(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    confidence: float = 0.95,
    hide_below: float = 0,
    most_groups: int = MOST_GROUPS,
    outcome: Any = None,
    title: str | None = None,
) -> Iterator[Chart]:
    """Return each group's rates before and after, with intervals, the permitted band and the required rate.

    Of all outcomes that are drawn, or of one.
    """
    levels = outcomes_drawn(counts)
    if outcome is not None:
        levels = [counts.domain.outcome.levels[counts.domain.outcome.code(outcome)]]
    found = rates(problem, counts, kernel, confidence=confidence, hide_below=hide_below)
    worth = np.where(Discretion(counts, hide_below).groups, counts.groups.probability, -np.inf)
    groups = first_groups(counts, worth, min(most_groups, groups_drawn(len(levels))))
    named = [short_name(group) for group in groups]
    shown = [row for row in found if row["level"] in levels and row["group"] in named]
    panels = {level: f"{problem.outcome} = {level}" for level in levels}
    columns = (
        Column("level", own=True), Column("group", own=True), Column("before", "rate"), Column("after", "rate"),
        Column("after_low", "rate"), Column("after_high", "rate"), Column("permitted_low", "rate"),
        Column("permitted_high", "rate"), Column("tone"),
    )  # fmt: skip
    ends = ("after_low", "after_high", "permitted_low", "permitted_high")
    shown.sort(key=lambda row: levels.index(row["level"]))
    rows = tuple(
        (panels[row["level"]], row["group"], row["before"], row["after"], *(row[end] for end in ends),
         tone_of(problem, counts, row["level"], row["after"] - row["before"]))
        for row in shown
    )  # fmt: skip
    table = Table("rates", columns, rows, tuple(({**row["columns"]},) for row in shown))
    every = len(shown_outcomes(counts.domain))
    some = [Note("chart.outcomes", {"shown": len(levels), "total": every})] if 1 < len(levels) < every else []
    one = f"{problem.outcome}={levels[0]}" if len(levels) == 1 else problem.outcome
    yield Chart(
        "chart.rates", "dots", table, ("group",), ("before", "after"), low="after_low", high="after_high", tone="tone",
        panel="level" if len(levels) > 1 else None,
        band=("permitted_low", "permitted_high") if any(row["permitted_low"] is not None for row in shown) else None,
        lines=tuple(_required(problem, shown, panels if len(levels) > 1 else {})),
        notes=(*_constraints(problem), *some, *left_out(counts, len(groups), "largest", hide_below)),
        fields=_titled(title, outcome=one, confidence=confidence),
    )  # fmt: skip


def tone_of(problem: Problem, counts: Counts, level: Any, change: float) -> str | None:
    """Say whether more or less of an outcome is better or worse for people, where it is known which one is good."""
    good, domain = favourable_code(problem, counts.domain), counts.domain
    if good is None or abs(change) < STILL:
        return None
    own = domain.outcome.code(level) == good
    if not own and domain.y.size > 2:
        return None
    return "better" if (change > 0) == own else "worse"


def _required(problem: Problem, shown: Sequence[Row], panels: Mapping[Any, str]) -> Iterator[Line]:
    """Return the lowest rate that a bound on shortfalls allows beside the highest one: four fifths of it, or others."""
    for parity in problem.parity:
        plain = parity.holds_everybody and not parity.segmented and not parity.on and not parity.against_target
        if not plain or not parity.distance.holds_the_lower or not isinstance(parity.bound, int | float):
            continue
        own = [row for row in shown if parity.distance.concerns(row["level"])]
        if own and parity.bound < 1:
            share = 1 - float(parity.bound)
            value = share * max(row["after"] for row in own)
            yield Line("chart.required", value, {"share": share}, panel=panels.get(own[0]["level"]))


def _constraints(problem: Problem) -> list[Note]:
    stated = [parity.words for parity in problem.parity]
    return [Note("chart.constraints", {"constraints": stated})] if stated else [Note("chart.unconstrained")]


def left_out(counts: Counts, drawn: int, which: str, hide_below: float) -> list[Note]:
    """Say how many groups are left out, and why."""
    total = len(counts.groups.cells)
    few = int((~Discretion(counts, hide_below).groups).sum())
    told = [Note("chart.groups", {"shown": drawn, "which": which, "total": total})] if drawn < total - few else []
    return told + _hidden("chart.hidden_groups", few, total, hide_below)


def _hidden(key: str, hidden: int, total: int, least: float) -> list[Note]:
    return [Note(key, {"hidden": hidden, "total": total, "least": least})] if hidden else []


def heat_charts(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    measured: Achieved,
    where: Parts | None = None,
    least: float = LEAST_COLUMN,
    hide_below: float = 0,
    title: str | None = None,
) -> Iterator[Chart]:
    """Return P(x̂, ŷ | d, x, y) for parts of the table, one panel per part: figure 3. Else for the most changed."""
    chosen, parts = None, [where] if isinstance(where, Mapping) else list(where or ())
    if where is None:
        chosen = most_changed(counts, kernel, measured.changed, hide_below=hide_below)
        parts = chosen.parts
    found = {
        long_name(shown_levels(counts.domain, part)): conditional(
            counts, kernel, part, least=least, hide_below=hide_below
        )
        for part in parts
    }
    entries = [row for rows in found.values() for row in rows]
    order = {row["source"]: row["source_cell"] for row in entries}
    people = {row["source"]: row["people"] for row in entries}
    sources = foremost(people, MOST_DOWN)
    rows: list[tuple[Any, ...]] = []
    released = 0
    for panel, own in found.items():
        own = [row for row in own if row["source"] in sources]
        worth = totals(own, "target", "probability")
        columns = foremost(worth, MOST_ACROSS)
        released = max(released, len(worth))
        down = sorted({row["source"] for row in own}, key=lambda source: order[source])
        rows += _every_pair(panel, down, [row for row in own if row["target"] in columns])
    if not rows:
        named = "; ".join(map(long_name, parts)) or "nobody changes"
        raise DataError(f"nobody to show: {named}; widen where, or lower hide_below or least")
    inside = np.any([matching(counts, part) for part in parts], axis=0)
    hidden = int((inside & ~Discretion(counts, hide_below).cells).sum())
    notes = [Note("chart.rows_sum", {"least": least}), *_chosen(counts, chosen)]
    if released > MOST_ACROSS:
        notes.append(Note("chart.columns", {"shown": MOST_ACROSS, "total": released}))
    if len(people) > len(sources):
        notes.append(Note("chart.sources", {"shown": len(sources), "total": len(people)}))
    domain = counts.domain
    left = JOINT.join(v.name for v in domain.variables if v.name not in parts[-1]) or "everything held"
    columns_ = (
        Column("part", own=True),
        Column("from", own=True),
        Column("to", own=True),
        Column("probability", "rate"),
    )
    yield Chart(
        "chart.heat", "heat", Table("conditional", columns_, tuple(rows)), ("from",), ("to",), ("probability",),
        panel="part", notes=(*notes, *_hidden("chart.hidden_cells", hidden, int(inside.sum()), hide_below)),
        fields=_titled(title, down=left, across=JOINT.join((*domain.x.names, domain.outcome.name))),
    )  # fmt: skip


def _every_pair(panel: str, down: Sequence[str], own: Sequence[Row]) -> Iterator[tuple[Any, ...]]:
    """Return the cells of a panel, row by row; what is never released has no number."""
    known = {(row["source"], row["target"]): row["probability"] for row in own}
    across = dict.fromkeys(row["target"] for row in sorted(own, key=lambda row: int(row["target_cell"])))
    yield from ((panel, *place, known.get(place)) for place in itertools.product(down, across))


def _chosen(counts: Counts, chosen: Chosen | None) -> Iterator[Note]:
    """Say which parts of the table were chosen, of how many."""
    if chosen is not None:
        by = [*counts.domain.d.names, counts.domain.outcome.name, *chosen.held]
        share = chosen.people / chosen.everybody if chosen.everybody else 0.0
        yield Note("chart.parts", {"shown": len(chosen.parts), "total": chosen.number, "by": by, "share": share})


def cohort_charts(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    groups: Sequence[Where] | None = None,
    by: Sequence[str] | None = None,
    outcome: Any = None,
    show: Literal["both", "rates", "change"] = "both",
    features: Features = "released",
    hide_below: float = FEW_PEOPLE,
    title: str | None = None,
) -> Iterator[Chart]:
    """Return the rates of each cohort x, for everybody and by group, and their change: figures 4 and 5."""
    check.one_of("show", show, ("both", "rates", "change"))
    check.one_of("features", features, ("released", "original"))
    asked = groups is not None
    if groups is None:
        groups = first_groups(counts, counts.groups.probability, MOST_PANELS)
    listed: list[Where] = [{}, *groups]
    shared: dict[str, Any] = {"by": by, "outcome": outcome, "features": features}
    found = cohorts(counts, kernel, listed, hide_below=hide_below, **shared)
    if not found:
        raise DataError(f"no cohort has {hide_below:g} people or more; lower hide_below")
    every = cohorts(counts, kernel, listed, hide_below=0, **shared)
    laid = _Cohorts(counts, by, found)
    code = outcome_code(counts.domain, outcome)
    level = counts.domain.outcome.levels[code]
    notes = (*laid.notes(every, hide_below), *_cohort_groups(counts, groups, laid, asked=asked))
    down = JOINT.join(laid.axis.names[:-1]) or "cohort"
    fields = {
        "outcome": f"{problem.outcome}={level}",
        "down": down,
        "across": laid.axis.names[-1],
        "features": features,
    }
    columns = (Column("group", own=True), Column("cohort", own=True), Column("level", own=True))
    parts = {"both": ("before", "change"), "rates": ("before",), "change": ("change",)}[show]
    for part in parts:
        values = Column(part, "points" if part == "change" else "rate")
        rows = tuple(
            (*place, None if row is None else row[part],
             None if row is None or part != "change" else tone_of(problem, counts, level, row["change"]))
            for place, row in laid.cells()
        )  # fmt: skip
        yield Chart(
            f"chart.cohorts.{part}", "heat", Table(f"cohorts_{part}", (*columns, values, Column("tone")), rows),
            ("cohort",), ("level",), (part,), panel="group", tone="tone", notes=notes if part == parts[-1] else (),
            fields=_titled(title if part == parts[0] else None, **fields),
        )  # fmt: skip


def _cohort_groups(counts: Counts, groups: Sequence[Where], laid: _Cohorts, *, asked: bool) -> Iterator[Note]:
    """Say which groups have panels beside everybody's: all but those of which nothing is left to draw."""
    drawn, total = len({row["group"] for row in laid.found}) - 1, len(counts.groups.cells)
    if not asked and len(groups) < total:
        yield Note("chart.groups", {"shown": len(groups), "which": "largest", "total": total})
    if drawn < len(groups):
        yield Note("chart.empty_groups", {"empty": len(groups) - drawn})


class _Cohorts:
    """Cohorts laid out: the last feature across, the others down; of too many rows or columns, those of most people."""

    def __init__(self, counts: Counts, by: Sequence[str] | None, found: Sequence[Row]) -> None:
        self.axis = cohort_axis(counts.domain, by)
        self.averaged = [name for name in counts.domain.x.names if name not in self.axis.names]
        self.across = self.axis.variables[-1]
        placed = [{"down": d, "across": a, **row} for row in found for d, a in [self.labels(row["cell"])]]
        self.people = {name: totals(placed, name, "people") for name in ("down", "across")}
        panels = len({row["group"] for row in found})
        # Panels that stand below one another share the height.
        most = min(MOST_DOWN, max(FEWEST_DOWN, MOST_LINES // panels))
        kept = {"down": foremost(self.people["down"], most), "across": foremost(self.people["across"], MOST_ACROSS)}
        self.cut = {name: set(self.people[name]) - kept[name] for name in kept}
        some = [row for row in found if self.may_show(row["cell"])]
        left = [self.labels(row["cell"]) for row in some]
        self.drawn = {"down": {at for at, _ in left}, "across": {at for _, at in left}}
        self.found = some

    def cells(self) -> Iterator[tuple[tuple[str, str, str], Row | None]]:
        """Return every group, row and column with its cohort; all panels have the same, in the order of the levels."""
        known = {(row["group"], *self.labels(row["cell"])): row for row in self.found}
        down = dict.fromkeys(self.labels(cell)[0] for cell in sorted({row["cell"] for row in self.found}))
        across = [level for level in self.across.shown if level in self.drawn["across"]]
        for group in dict.fromkeys(row["group"] for row in self.found):
            yield from ((place, known.get(place)) for place in itertools.product([group], down, across))

    def labels(self, cell: int) -> tuple[str, str]:
        """Return the row and the column of a cohort."""
        levels = self.axis.shown(cell)
        last = levels.pop(self.across.name)
        return JOINT.join(levels.values()) or "all", last

    def may_show(self, cell: int) -> bool:
        """Whether a cohort is in none of the rows and columns that are left out."""
        down, across = self.labels(cell)
        return down not in self.cut["down"] and across not in self.cut["across"]

    def is_drawn(self, cell: int) -> bool:
        """Whether the row and the column of a cohort are there."""
        down, across = self.labels(cell)
        return down in self.drawn["down"] and across in self.drawn["across"]

    def notes(self, every: Sequence[Row], hide_below: float) -> Iterator[Note]:
        """Say what is averaged over, cut and hidden. Rows, columns and panels with nothing to show are not there."""
        if self.averaged:
            yield Note("chart.averaged", {"by": list(self.axis.names), "over": self.averaged})
        for name, key in (("down", "chart.cohorts_down"), ("across", "chart.cohorts_across")):
            if self.cut[name]:
                fields = {"shown": len(self.drawn[name]), "total": len(self.people[name]), "column": self.across.name}
                yield Note(key, fields)
        panels = {row["group"] for row in self.found}
        some = [row for row in every if self.may_show(row["cell"])]
        there = [row for row in some if row["group"] in panels and self.is_drawn(row["cell"])]
        hidden = len(there) - len(self.found)
        yield from _hidden("chart.hidden_cohorts", hidden, len(there), hide_below)
        if len(there) < len(some):
            yield Note("chart.undrawn_cohorts", {"undrawn": len(some) - len(there), "least": hide_below})


def change_charts(
    problem: Problem,
    counts: Counts,
    kernel: Kernel,
    *,
    measured: Achieved,
    most: int = MOST_CHANGES,
    most_groups: int = MOST_COLUMNS,
    hide_below: float = 0,
    title: str | None = None,
) -> Iterator[Chart]:
    """Return how likely a person of each group is to change from one level to another, the commonest changes first."""
    shown = Discretion(counts, hide_below)
    moves = changes(counts, kernel, measured).moves
    changing = [move.group for move in moves]
    kept = most_changed_groups(counts, measured.changed, most_groups, hide_below=hide_below)
    kept = [group for group in kept if group in changing]
    found: dict[str, dict[str, float]] = {}
    unseen: set[str] = set()
    for move in moves:
        row = f"{move.column.name}: {move.levels[0]} → {move.levels[1]}"
        if move.group not in kept:
            continue
        if shown.enough(move.heads):
            found.setdefault(row, {})[short_name(move.group)] = move.probability
        else:
            unseen.add(row)
    if not found:
        raise DataError("nobody changes, or nobody who may be shown with this hide_below: there is nothing to draw")
    order, groups = list(found)[:most], list(map(short_name, kept))
    columns = (Column("change", own=True), Column("group", own=True), Column("probability", "rate"))
    rows = tuple((row, group, found[row].get(group)) for row in order for group in groups)
    few = len(unseen - set(found))
    notes = [
        *([Note("chart.changes", {"shown": len(order), "total": len(found)})] if len(order) < len(found) else []),
        *([Note("chart.rare_changes", {"least": hide_below})] if hide_below > 0 else []),
        *([Note("chart.uncounted_changes", {"uncounted": few})] if few else []),
        *left_out(counts, len(kept), "most changed", hide_below),
    ]
    yield Chart(
        "chart.changes", "heat", Table("changes", columns, rows), ("change",), ("group",), ("probability",),
        notes=tuple(notes), fields=_titled(title, across=JOINT.join(problem.protected)),
    )  # fmt: skip


# What a mapping met since it was fitted.

MOST_HISTORY_PANELS = 6
"""So many bounds, and so many things that may have drifted, are drawn: those that are furthest out."""

MOST_BATCHES = 60
"""So many batches are drawn: the last."""

TO_THE_MINUTE = len("2026-01-31T12:00")
"""So many letters of a time are shown."""

VERDICTS = {"shown met": "better", "shown violated": "worse"}


def history_charts(records: Sequence[Mapping[str, Any]]) -> Iterator[Chart]:
    """Return the batches that a mapping was watched on: intervals beside their bounds, and drift beside its limits."""
    shown = list(enumerate(records, 1))[-MOST_BATCHES:]
    cut = [Note("chart.batches", {"shown": len(shown), "total": len(records)})] if len(shown) < len(records) else []
    confidence = float(records[-1]["confidence"])
    bounds, drift = _furthest_bounds(shown), _furthest_looks(shown)
    if bounds:
        kept = bounds[:MOST_HISTORY_PANELS]
        rows = [
            (name, _batch(number, record), row["value"], row["low"], row["high"], 0.0, row["bound"],
             VERDICTS.get(row["verdict"]))
            for name, own in kept for number, record, row in own if not math.isnan(row["low"])
        ]  # fmt: skip
        notes = (Note("chart.joint"), *_furthest(len(kept), len(bounds)), *cut)
        yield _watched("chart.history", rows, notes, ("low", "high"), confidence)
    if drift:
        kept = drift[:MOST_HISTORY_PANELS]
        rows = [
            (name, _batch(number, record), row["apart"], None, None, 0.0, row["limit"],
             "worse" if row["drifted"] else None)
            for name, own in kept for number, record, row in own
        ]  # fmt: skip
        notes = (Note("chart.drift", {"error": 1 - confidence}), *_furthest(len(kept), len(drift)), *cut)
        yield _watched("chart.drift", rows, notes, (None, None), confidence)


def _furthest(shown: int, total: int) -> list[Note]:
    return [Note("chart.looks", {"shown": shown, "total": total})] if shown < total else []


def _watched(
    key: str, rows: Sequence[tuple[Any, ...]], notes: Sequence[Note], interval: tuple[str | None, str | None],
    confidence: float,
) -> Chart:  # fmt: skip
    low, high = interval
    numbers = (Column(name, "number") for name in ("value", "low", "high", "none", "bound"))
    columns = (Column("what", own=True), Column("batch"), *numbers, Column("verdict"))
    return Chart(
        key, "lines", Table(key, columns, tuple(rows)), (), ("batch",), ("value",), low=low, high=high,
        band=("none", "bound"), tone="verdict", panel="what", own_scale=True, notes=tuple(notes),
        fields={"confidence": confidence},
    )  # fmt: skip


def _batch(number: int, record: Mapping[str, Any]) -> str:
    """Return what a batch is called below the axis: its number, and its name or, without one, its time."""
    return f"{number}: {record['name'] or record['at'][:TO_THE_MINUTE].replace('T', ' ')}"


Watched = tuple[int, Mapping[str, Any], Row]


def _furthest_bounds(shown: Sequence[tuple[int, Mapping[str, Any]]]) -> list[tuple[str, list[Watched]]]:
    """Return the bounds furthest beyond what they allow, or nearest to it, one for each two that are compared."""
    by_name: dict[str, list[Watched]] = {}
    for number, record in shown:
        for row in record["bounds"]:
            by_name.setdefault(f"{row['constraint']}: {row['where']}", []).append((number, record, row))

    def beyond(item: tuple[str, list[Watched]]) -> float:
        known = (row["value"] - row["bound"] for _, _, row in item[1] if not math.isnan(row["value"]))
        return max(known, default=-math.inf)

    found: dict[frozenset[str], tuple[str, list[Watched]]] = {}
    for name, rows in sorted(by_name.items(), key=lambda item: -beyond(item)):
        # They are compared both ways, and by every outcome: the larger distance is drawn.
        _, _, first = rows[0]
        found.setdefault(
            frozenset([first["constraint"], *first["where"].partition(": ")[2].split(" against ")]), (name, rows)
        )
    return list(found.values())


def _furthest_looks(shown: Sequence[tuple[int, Mapping[str, Any]]]) -> list[tuple[str, list[Watched]]]:
    by_name: dict[str, list[Watched]] = {}
    for number, record in shown:
        for row in record["drift"]:
            if not math.isnan(row["apart"]):
                by_name.setdefault(row["name"], []).append((number, record, row))

    def out(item: tuple[str, list[Watched]]) -> float:
        return -max((row["apart"] / row["limit"] if row["limit"] > 0 else 0.0) for _, _, row in item[1])

    return sorted(by_name.items(), key=out)
