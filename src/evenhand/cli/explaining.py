"""A mapping and its audit as words and as a document, for every command that shows one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli import screen
from evenhand.data.weighting import Unit

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.findings.audit import Audit
    from evenhand.findings.new_people import Realised
    from evenhand.spec import Problem
    from evenhand.use.mapping import Mapping

TABLES = (
    "rates",
    "bounds",
    "groups",
    "changes",
    "outcome_changes",
    "lifts",
    "scores",
    "coverage",
    "ledger",
    "reversals",
)

NOTHING_BOUNDS_THEM = "nothing bounds what a model learns from them"


def audited(
    mapping: Mapping,
    table: Path | pd.DataFrame | None = None,
    given: dict[str, Any] | None = None,
    progress: Callable[[str, float], None] | None = None,
    **others: Any,
) -> Audit:
    """Audit a mapping, and note that rows count once; ``given`` and ``others`` are for a table that is not fitted."""
    given = given or {}
    found = mapping.audit() if table is None else mapping.audit(table, progress=progress, **given, **others)
    return replace(found, notes=(*counted_once(mapping, table, given), *found.notes))


def counted_once(mapping: Mapping, table: Path | pd.DataFrame | None, given: dict[str, Any]) -> list[str]:
    """Say that every row of a table counts as one person, where it was otherwise when the mapping was fitted."""
    from evenhand.engines import weighting_in

    own = mapping.problem.weighting
    if table is None or given or (own is None and not mapping.counts.weighed):
        return []
    if own is not None and weighting_in([mapping.problem], table, None, None)[1] is not None:
        return []
    option = "weights" if own is None else own.option
    lacking = "" if own is None else f", and this table has no column {own.column!r}"
    return [
        f"the mapping was fitted with {option}{lacking}: here every row counts as one person. If it does not, name the "
        f"column with --{option}"
    ]


def mapping_document(mapping: Mapping, audit: Audit) -> dict[str, Any]:
    """Return what a mapping is: its certificate, what its confidence promises, and its audit."""
    promised = mapping.assurance
    return {
        "people": mapping.counts.people,
        "weight": float(mapping.counts.weight.sum()),
        "objective": mapping.objective,
        "certificate": mapping.certificate.as_dict(),
        "assurance": None if promised is None else {"words": promised.words, "comparisons": promised.frame},
        **audit_document(mapping, audit),
    }


def audit_document(mapping: Mapping, audit: Audit) -> dict[str, Any]:
    """Return every table and sentence of an audit."""
    tables = {name: getattr(audit, name) for name in TABLES}
    return {
        "cells": None if mapping.problem.cells is None else mapping.cells,
        "outcome": mapping.problem.outcome,
        "favourable": mapping.problem.favourable,
        **tables,
        "violated": audit.violated,
        "uncounted": audit.uncounted,
        "headlines": audit.headlines,
        "who_gains": audit.who_gains,
        "paradoxes": [vars(each) for each in audit.paradoxes],
        "notes": audit.notes,
    }


def show_cells(cells: pd.DataFrame, most: int | None = None, elsewhere: str = "") -> None:
    """List who is in each learned cell, by its number; of more than ``most`` the largest, the others ``elsewhere``."""
    listed = cells if most is None or len(cells) <= most else cells.nlargest(most, "people").sort_values("cell")
    screen.heading("The learned cells: who is in each")
    names = {"cell": "Cell", "people": "People", "rule": "Who is in it"}
    screen.frame_table(listed[list(names)].rename(columns=names))
    if len(listed) < len(cells):
        screen.bullets([f"these are the largest of {len(cells)}; {elsewhere}"])


def show_verdict(audit: Audit) -> None:
    """Say of a table that was not fitted which bounds hold there, and which do not."""
    screen.heading("Which bounds hold for this table")
    screen.bullets(audit.verdict)
    if len(audit.violated):
        screen.frame_table(audit.violated, screen.TOP)


def show_readers(mapping: Mapping, audit: Audit) -> None:
    """Show the mean scores that eqs. (8) and (9) predict of models that see, or do not see, the protected columns."""
    from evenhand.tables import own_name

    screen.heading("Mean score of a model of the released data, if it sees the protected columns or not")
    scores = audit.scores.rename(columns={"seeing_protected": "Sees them", "not_seeing_protected": "Does not"})
    screen.frame_table(screen.shown(mapping, scores))
    lifts, outcome = screen.shown(mapping, audit.lifts), mapping.problem.outcome
    own = own_name(lifts, outcome)
    of = lifts[own].unique()
    one = len(of) == 1
    name = f"Lift of {outcome}={of[0]}" if one else "Lift"
    screen.heading(f"{name}: p(y|d) over p(y) (extended), p(y|not d) (selective), the lowest group's (contrastive)")
    # Each lift after stands below the same before: side by side they would not fit a terminal.
    kinds, rows = ("extended", "selective", "contrastive"), []
    for row in (lifts.drop(columns=own) if one else lifts).to_dict("records"):
        found = {(kind, when): row.pop(f"{kind}_{when}") for kind in kinds for when in ("before", "after")}
        rows += [row | {"": when} | {kind: found[kind, when] for kind in kinds} for when in ("before", "after")]
    screen.frame_table(type(lifts)(rows))


def outside(columns: Sequence[str], problem: Problem, *used: str | None) -> list[str]:
    """Return the columns that a problem does not name, which are passed through."""
    own = (*problem.columns, problem.weights, problem.frequencies, *used)
    return [name for name in columns if name not in own]


def show_realised(mapping: Mapping, found: Realised) -> None:
    """Show the rates of one draw as it stands, against the bound."""
    screen.heading("The rates in the file that was written")
    people = Unit.of(weighed=found.weighed).heading
    rates = screen.shown(mapping, found.rates).rename(columns={"weight": people, "rate": "Rate"})
    screen.frame_table(rates)
    # The verdict names the worst of all; of several constraints, each has its own.
    screen.bullets([found.verdict.words, *(found.words if len(found.words) > 1 else ())])
