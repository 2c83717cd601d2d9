"""A mapping in sections: what was asked, what it does to whom, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evenhand.findings.assurance import Assurance
from evenhand.findings.audit import Audit
from evenhand.optimize.certificate import Certificate
from evenhand.render.section import Kind, Note, Section, Table

if TYPE_CHECKING:
    import pandas as pd


def described(audit: Audit, certificate: Certificate | None, promised: Assurance | None) -> Iterator[Section]:
    """Yield what a mapping is, in the order in which it is read; of a table that was not fitted no certificate."""
    for section in audit.sections:
        if section.key == "changes":
            if certificate is not None:
                yield from certificate.sections
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
