"""Sections that several commands show: what a mapping does, which files were written."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli import screen
from evenhand.render.section import Fact, Note, Section

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.findings.audit import Audit
    from evenhand.mapping import Mapping


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
    return replace(found, sections=noted(found.sections, "caveats", counted_once(mapping, table, given)))


def noted(sections: Iterable[Section], key: str, notes: Iterable[Note]) -> tuple[Section, ...]:
    """Return sections, of which the one with this key begins with more notes."""
    return tuple(
        replace(section, notes=(*notes, *section.notes)) if section.key == key else section for section in sections
    )


def counted_once(mapping: Mapping, table: Path | pd.DataFrame | None, given: dict[str, Any]) -> list[Note]:
    """Note that every row of a table counts as one person, where it was otherwise when the mapping was fitted."""
    from evenhand.engines import weighting_in

    own = mapping.problem.weighting
    if table is None or given or (own is None and not mapping.counts.weighed):
        return []
    if own is not None and weighting_in([mapping.problem], table, None, None)[1] is not None:
        return []
    lacking = None if own is None else Note("audit.no_such_column", {"column": repr(own.column)})
    return [Note("audit.counted_once", {"option": "weights" if own is None else own.option, "lacking": lacking})]


def written(*, notes: Iterable[Note] = (), **files: Path | None) -> Section:
    """Return which files were written, by what each is, and how a mapping or a proof is checked."""
    from evenhand import verifier

    found = list(notes)
    if files.get("mapping") is not None:
        found.append(Note("written.mapping", {"command": screen.command("verify", files["mapping"])}))
    if (proof := files.get("proof")) is not None:
        command, python = screen.command("verify", proof), shlex.join(["python", "verifier.py", str(proof)])
        found.append(Note("written.proof", {"command": command, "python": python}))
        found.append(Note("written.verifier", {"path": verifier.__file__}))
    facts = (Fact(what, path, detail=path is None) for what, path in files.items())
    return Section("written", facts=tuple(facts), notes=tuple(found))


def passed_through(columns: Sequence[str]) -> Section:
    """Return the columns that are outside a problem."""
    notes = (Note("outside.columns"),) if columns else ()
    facts = (Fact("columns", list(columns)),) if columns else ()
    return Section("outside_the_problem", facts=facts, notes=notes)
