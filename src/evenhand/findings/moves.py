"""Who becomes what, as one table: the changes of everybody and of each group, and the chart of the most common ones."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from evenhand.data.counts import Counts
from evenhand.findings.changes import LEAST_SHARE, Changes, Move
from evenhand.findings.discretion import Behind
from evenhand.findings.extent import foremost, groups_drawn
from evenhand.findings.ledger import better_and_worse
from evenhand.findings.naming import group_levels, short_name
from evenhand.render.section import Chart, Column, Kind, Note, Table

MOST_FLOWS = 14
"""How many changes are drawn."""

MOVE = ("column", "from", "to")


def moves_table(counts: Counts, who: Changes, favourable: int | None) -> Table:
    """Return every change of a column: of everybody, the most common first, then by group, which people are not shown.

    ``way`` says whether a change of the outcome is for the better or the worse, as the ledger counts it.
    """
    better, worse = better_and_worse(counts, favourable)
    outcome = counts.domain.outcome.name
    people: Kind = "weight" if counts.weighed else "people"
    columns = (
        Column("column"), Column("from"), Column("to"), Column("group", "group", data=True), Column("people", people),
        Column("share", "share"), Column("had", people, data=True), Column("probability", "rate", data=True),
        Column("way", data=True),
    )  # fmt: skip

    def way(move: Move) -> str | None:
        if move.column.name != outcome:
            return None
        return "better" if better[move.old, move.new] else "worse" if worse[move.old, move.new] else None

    together = sorted(who.together, key=lambda move: -move.people)
    moves = [*together, *who.moves]
    rows = tuple(
        (move.column.name, *move.levels, dict(move.group) or None, move.people, move.people / who.people,
         # Of everybody it would be of the groups that change so, and tell of one of two that is hidden.
         *((move.had, move.probability) if move.group else (None, None)), way(move))
        for move in moves
    )  # fmt: skip
    about = [({**move.group, move.column.name: move.levels[0]}, Behind(move.heads)) for move in moves]
    rare = [at for at, move in enumerate(moves) if at >= len(together) or move.people / who.people < LEAST_SHARE]
    # Over the groups moves add up to those of everybody, and in a group over levels to those of a column.
    totals = (MOVE, ("group", "column", "from"), ("group", "column"))
    return Table("moves", columns, rows, tuple(about), implied=frozenset(rare), totals=totals)


def flow_chart(moves: Table, counts: Counts, *, suppressed: bool) -> Iterator[Chart]:
    """Yield the chart of who becomes what, of those moves that may be shown; those of the outcome by group as well.

    Where D is suppressed the outcome is drawn anew for everybody, and what changes are features.
    """
    outcome, every = counts.domain.outcome.name, moves.records()
    own = [row for row in every if row["share"] >= LEAST_SHARE and not (suppressed and row["column"] == outcome)]
    together = [row for row in own if row["group"] is None]
    # Changes of less than a person would be a long tail of nothing.
    whole = [row for row in together if row["people"] >= 1]
    drawn = (whole or together)[:MOST_FLOWS]
    if not drawn:
        return
    weight = {
        short_name(levels): float(each) for levels, each in zip(group_levels(counts), counts.group_weight, strict=True)
    }
    large = foremost(weight, groups_drawn(1))
    rows: list[tuple[Any, ...]] = []
    for move in drawn:
        change = f"{move['column']}: {move['from']} → {move['to']}"
        rows.append((change, None, move["people"], move["way"]))
        if move["column"] == outcome:
            same = [row for row in every if row["group"] and all(row[name] == move[name] for name in MOVE)]
            same = [row for row in same if short_name(row["group"]) in large]
            same.sort(key=lambda row: -row["people"])
            rows += [(change, row["group"], row["people"], move["way"]) for row in same]
    kind: Kind = "weight" if counts.weighed else "people"
    columns = (Column("change", own=True), Column("group", "group"), Column("people", kind), Column("way"))
    cut = [Note("chart.flows_cut", {"shown": len(drawn), "total": len(together)})] if len(drawn) < len(together) else []
    yield Chart(
        "chart.flows", "bars", Table("flows", columns, tuple(rows)), ("change",), ("people",), inner="group",
        tone="way", notes=tuple(cut),
    )  # fmt: skip
