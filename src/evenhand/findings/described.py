"""A mapping in sections: what was asked, what it does to whom, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evenhand.findings.assurance import Assurance
from evenhand.findings.audit import Audit
from evenhand.optimise.certificate import Certificate
from evenhand.render.section import Fact, Kind, Note, Section, Table

if TYPE_CHECKING:
    import pandas as pd


STATUS = {"optimal": "certificate.optimal", "feasible": "certificate.feasible", "local": "certificate.local"}


def described(audit: Audit, certificate: Certificate | None, promised: Assurance | None) -> Iterator[Section]:
    """Yield what a mapping is, in the order in which it is read; of a table that was not fitted no certificate."""
    for section in audit.sections:
        if section.key == "changes":
            if certificate is not None:
                yield certified(certificate)
            if promised is not None:
                yield assured(promised)
        yield section


def assured(promised: Assurance) -> Section:
    """Return what a confidence promises."""
    notes = tuple(Note("text", {"text": words}) for words in promised.words)
    comparisons = Table.of("comparisons", promised.frame, {}, most=0)
    return Section("assurance", tables=(comparisons,), notes=notes, fields={"confidence": promised.confidence})


def learned(cells: pd.DataFrame, most: int | None = None, elsewhere: str = "") -> Section:
    """Return who is in each learned cell; of more than ``most`` the largest, the others ``elsewhere``."""
    kinds: dict[str, Kind] = {"cell": "text", "people": "people", "rule": "text"}
    notes: tuple[Note, ...] = ()
    small: list[int] = []
    if most is not None and len(cells) > most:
        notes = (Note("cells.largest", {"cells": len(cells), "command": elsewhere}),)
        small = cells["people"].argsort().tolist()[:-most]
    table = Table.of("every_cell", cells, kinds, detail=set(map(str, cells)) - set(kinds), implied=small)
    return Section("cells", tables=(table,), notes=notes)


def certified(found: Certificate) -> Section:
    """Return a certificate as a section."""
    facts = [Fact("status", found.status), Fact("objective", found.objective, "loss")]
    notes = [Note(STATUS[found.status])]
    if found.lower_bound is not None and found.gap is not None:
        # What rounding makes of no gap may be below zero.
        facts += [Fact("lower_bound", found.lower_bound, "loss"), Fact("gap", max(found.gap, 0.0), "violation")]
        notes.append(Note("certificate.lower_bound"))
    if found.without_confidence is not None:
        facts.append(Fact("without_confidence", found.without_confidence, "loss"))
        more = max(found.objective - found.without_confidence, 0.0)
        notes.append(Note("certificate.margins", {"more": more}))
    facts.append(Fact("max_violation", found.max_violation, "violation"))
    facts.append(Fact("row_error", found.row_error, "violation", detail=True))
    notes += [Note("text", {"text": words}) for words in found.notes]
    return Section("certificate", facts=tuple(facts), notes=tuple(notes))
