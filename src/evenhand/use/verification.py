"""Mapping files and proofs checked again: what they claim beside what is recomputed."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evenhand import storage, verifier
from evenhand.errors import StorageError
from evenhand.findings.verified import verified
from evenhand.mapping import Mapping
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section
from evenhand.tolerances import AGREEMENT

CLAIMED = ("status", "objective", "lower_bound", "gap", "max_violation", "row_error")


@dataclass(frozen=True, repr=False)
class Verification(Finding):
    """Whether a file is what it claims to be, with everything that was checked."""

    stands: bool
    sections: tuple[Section, ...]


def verify_mapping(path: str | os.PathLike[str]) -> Verification:
    """Recompute the certificate of a mapping file, and compare it with the one that it claims."""
    try:
        claims = storage.read(path).claims
        certificate = Mapping.load(path).certificate
    except StorageError as error:
        return refused(error)
    found = certificate.as_dict()
    rows: list[dict[str, Any]] = [
        {
            "checked": name.replace("_", " "),
            "claimed": claims.get(name),
            "recomputed": found[name],
            "agrees": _same(claims.get(name), found[name]),
        }
        for name in CLAIMED
    ]
    stands = all(row["agrees"] for row in rows)
    fields = {"status": certificate.status, "violation": certificate.max_violation}
    note = Note("verified.certificate", fields) if stands else Note("verified.other_certificate")
    return Verification(stands, (verified(stands, (note,), rows),))


def verify_proof(path: str | Path) -> Verification:
    """Check a proof in exact arithmetic, by the verifier that needs nothing of evenhand."""
    found = verifier.verify(path)
    names = ("checked", "recomputed", "claimed")
    rows = [dict(zip(names, row, strict=True)) for row in found.rows]
    lines = [*_paragraphs(found.sentences), *([] if found.stands else [found.reason])]
    notes = (Note("text", {"text": line}) for line in lines)
    return Verification(found.stands, (verified(found.stands, notes, rows),))


def refused(error: StorageError) -> Verification:
    """Return that a file could not be checked."""
    return Verification(False, (verified(False, (Note("text", {"text": error}),)),))


def _paragraphs(lines: tuple[str, ...]) -> Iterator[str]:
    """Yield sentences that stand together in one line, and what is listed in a line of its own."""
    together: list[str] = []
    for line in (*lines[:1], "", *lines[1:], ""):
        listed = line.startswith("  ")
        if (listed or not line) and together:
            yield " ".join(together)
            together = []
        if listed:
            yield line.strip()
        elif line:
            together.append(line)


def _same(claimed: Any, recomputed: Any) -> bool:
    if isinstance(claimed, int | float) and isinstance(recomputed, int | float):
        return abs(claimed - recomputed) <= AGREEMENT
    return bool(claimed == recomputed)
