"""What a file claims beside what was found when it was checked again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from evenhand.render.section import Column, Fact, Kind, Note, Section, Table

KINDS: dict[str, Kind] = {"checked": "text", "claimed": "number", "recomputed": "number", "agrees": "flag"}


def verified(
    stands: bool, notes: Iterable[Note], rows: Iterable[Mapping[str, Any]] = (), implied: Iterable[int] = ()
) -> Section:
    """Return whether a file stands, what is to be said of that, and everything that was checked."""
    listed = list(rows)
    # A proof's numbers are written already, in as many digits as they are exact to.
    written = not any("agrees" in row for row in listed)
    columns = tuple(Column(name, "text" if written else KINDS[name]) for name in (listed[0] if listed else ()))
    table = Table("checks", columns, tuple(tuple(row.values()) for row in listed), implied=frozenset(implied))
    title = {"verdict": Note("verified.yes" if stands else "verified.no")}
    facts = (Fact("stands", stands, "flag", detail=True),)
    return Section("verification", facts=facts, tables=(table,) if listed else (), notes=tuple(notes), fields=title)
