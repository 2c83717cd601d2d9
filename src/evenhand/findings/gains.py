"""Who is better off and who is worse off, for a report: what an audit says of it, its sums, and its chart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from evenhand.findings.changes import Changes
from evenhand.findings.charts import left_out
from evenhand.findings.extent import foremost, groups_drawn
from evenhand.findings.ledger import Ledger, outcome_moves
from evenhand.findings.naming import short_name
from evenhand.findings.subject import Subject
from evenhand.render.section import Chart, Column, Fact, Note, Section, Table


def gains(m: Subject, audited: Sequence[Section], who: Ledger | None, changed: Changes) -> Section:
    """Return who is helped and who is harmed, by group; where nobody said which outcome is good, that."""
    if who is None:
        moves = {(move.old, move.new) for move in outcome_moves(m.counts, changed)}
        return Section("outcomes", notes=(Note("gains.nobody_said", {"moves": len(moves), "share": changed.share}),))
    (own,) = (section for section in audited if section.key == "gains")
    sums = Fact("helped", float(who.helped.sum()), detail=True), Fact("harmed", float(who.harmed.sum()), detail=True)
    # Who goes from which outcome to which is among the changes, where few people are hidden alike.
    return Section(
        "gains", facts=(*own.facts, *sums), charts=(_chart(m, who),), tables=(own.table("ledger"),), notes=own.notes,
        fields=own.fields,
    )  # fmt: skip


def _chart(m: Subject, who: Ledger) -> Chart:
    """Draw which share of each group is helped and which is harmed."""
    shown = zip(m.groups, m.counts.group_weight, m.shown.groups, strict=True)
    large = foremost({short_name(group): float(weight) for group, weight, some in shown if some}, groups_drawn(1))
    rows: list[tuple[Any, ...]] = []
    about: list[tuple[Any, ...]] = []
    for name, tone, people in (("helped", "better", who.helped), ("harmed", "worse", who.harmed)):
        for group, weight, number in zip(m.groups, m.counts.group_weight, people, strict=True):
            if short_name(group) in large and people.sum():
                rows.append((name, dict(group), float(number / weight), tone))
                about.append((group,))
    columns = Column("what"), Column("group", "group"), Column("share", "rate"), Column("tone")
    notes = left_out(m.counts, len(large), "largest", m.shown.hide_below)
    table = Table("gains", columns, tuple(rows), tuple(about))
    return Chart("chart.gains", "bars", table, ("group",), ("share",), tone="tone", panel="what", notes=tuple(notes))
