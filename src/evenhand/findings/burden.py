"""Who bears most of what a mapping does: the cells whose outcome gets worse, or that are changed for no better one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Flags, Numbers, sums
from evenhand.data.counts import Counts
from evenhand.findings.changes import LEAST_SHARE
from evenhand.findings.discretion import not_shown
from evenhand.findings.document import Row
from evenhand.findings.ledger import better_and_worse
from evenhand.findings.naming import cell_levels, long_name, target_levels
from evenhand.findings.subject import Subject
from evenhand.kernel import Kernel
from evenhand.render.section import Column, Fact, Kind, Note, Section, Table
from evenhand.spec.agreement import favourable_code
from evenhand.tolerances import ROUNDING

MOST_CELLS = 8
"""How many of the cells that bear most are listed."""

TIED = 5e-4
"""Probabilities nearer than this are written alike, and are a tie."""

KINDS: dict[str, Kind] = {
    "cell": "group", "weight": "people", "worse": "rate", "changed": "rate", "expected_distortion": "cost",
    "likeliest_change": "group", "likeliest_probability": "rate", "tied": "number",
}  # fmt: skip


def worst_off(m: Subject) -> Section:
    """Return the cells (d, x, y) of those who may be shown that bear most, and what they most likely become.

    A better outcome is no burden: whoever gets one is not among them.
    """
    changed, shown = m.achieved.changed > 0, m.shown.cells
    good = favourable_code(m.problem, m.counts.domain)
    better, worse = better_and_worse(m.counts, good)
    bearing = _Bearing(m.counts, m.kernel, m.achieved.distortion, better, worse)
    rows = bearing.cells(shown, MOST_CELLS)
    # Of all cells, one is enough to tell whether anybody bears anything.
    hidden_bear = not rows and bool(bearing.cells(np.ones_like(shown), 1))
    hidden = int((changed & ~shown).sum())
    counted = {"changed": int(changed.sum()), "cells": len(m.counts), "hidden": hidden}
    notes = [Note("worst.cells", counted)]
    lost = float(m.counts.probability[m.kernel.rows] @ (m.kernel.probability * bearing.lost))
    if good is not None and lost <= ROUNDING:
        notes.append(Note("worst.nobody_loses"))
    if rows:
        among = Note("worst.among_shown") if hidden else None
        notes.append(Note("worst.listed", {"among": among, "ranked": None if good is None else Note("worst.ranked")}))
    elif hidden_bear:
        notes.append(Note("worst.hidden_bear"))
    elif changed.any():
        notes.append(Note("worst.nobody"))
    notes += [_borne(m.counts, row, ranked=good is not None) for row in rows]
    notes.append(Note("worst.counts"))
    if few := int((~shown).sum()):
        of_these = Note("worst.hidden_changed", counted) if hidden else None
        said = not_shown(few, len(m.counts), "cells", m.shown.hide_below)
        notes.append(Note("worst.hidden", {"hidden": said, "changed": of_these}))
    columns = tuple(Column(name, kind) for name, kind in KINDS.items())
    table = Table("cells", columns, tuple(tuple(row.values()) for row in rows), most=0)
    facts = (
        Fact("cells_changed", counted["changed"], "number", detail=True),
        Fact("cells_changed_hidden", hidden, "number", detail=True),
        Fact("hidden_bear", hidden_bear, "flag", detail=True),
    )
    return Section("worst_off", facts=facts, tables=(table,), notes=tuple(notes))


class _Bearing:
    """What every entry of a kernel is to the people of its cell."""

    def __init__(self, counts: Counts, kernel: Kernel, distortion: Numbers, better: Flags, worse: Flags) -> None:
        rows, (_, new) = kernel.rows, counts.domain.split_xy(kernel.targets)
        old = counts.y[rows]
        own = counts.domain.xy(counts.x, counts.y)[rows] == kernel.targets
        self.counts, self.kernel, self.distortion = counts, kernel, distortion
        self.borne = ~own & ~better[old, new]
        self.lost = self.borne & worse[old, new]

    def cells(self, among: Flags, most: int) -> list[Row]:
        """Return the cells that bear most: those first whose outcome gets worse with the largest probability.

        Then those whose record changes with the largest without a better outcome. Cells that are alike in both are told
        by how many more there are of them.
        """
        counts, kernel = self.counts, self.kernel
        lost, burden = (
            sums(kernel.rows, kernel.probability * of, len(counts)) for of in (self.lost, self.borne.astype(float))
        )
        shown = np.flatnonzero(among & (burden > LEAST_SHARE))
        order = shown[np.lexsort((-counts.weight[shown], -burden[shown].round(6), -lost[shown].round(6)))]
        found: list[Row] = []
        for source in order:
            alike = (("worse", lost), ("changed", burden))
            if found and all(abs(of[source] - found[-1][name]) < TIED for name, of in alike):
                found[-1]["tied"] += 1
                continue
            if len(found) == most:
                break
            found.append(self._row(int(source), float(lost[source]), float(burden[source])))
        return found

    def _row(self, source: int, lost: float, burden: float) -> Row:
        counts, kernel = self.counts, self.kernel
        entries = slice(kernel.starts[source], kernel.starts[source + 1])
        other = np.where(self.borne[entries], kernel.probability[entries], -1.0)
        return {
            "cell": cell_levels(counts, source),
            "weight": float(counts.weight[source]),
            "worse": lost,
            "changed": burden,
            "expected_distortion": float(self.distortion[source]),
            "likeliest_change": target_levels(counts, int(kernel.targets[entries][np.argmax(other)])),
            "likeliest_probability": float(other.max()),
            "tied": 0,
        }


def _borne(counts: Counts, row: Row, *, ranked: bool) -> Note:
    """Return what the people of one cell bear; ``ranked``, where it is known which outcome is better."""
    cell, likeliest = row["cell"], row["likeliest_change"]
    steps: Sequence[Any] = [
        Note("worst.step", {"column": name, "old": cell[name], "new": level})
        for name, level in likeliest.items()
        if cell[name] != level
    ]
    bear = Note("worst.changed", {**row, "ranked": Note("worst.no_better") if ranked else None})
    if row["worse"] > 0:
        bear = Note("worst.worse", row)
    fields = {
        "people": counts.unit.write(row["weight"]), "who": long_name(cell), "bear": bear, "steps": steps,
        "probability": row["likeliest_probability"], "tied": Note("worst.tied", row) if row["tied"] else None,
    }  # fmt: skip
    return Note("worst.cell", fields)
