"""What a mapping does, as sections, for every command that shows one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenhand.cli import screen
from evenhand.render.section import Note, Section

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.findings.audit import Audit
    from evenhand.findings.new_people import Realised
    from evenhand.mapping import Mapping
    from evenhand.spec import Problem


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


def outside(columns: Sequence[str], problem: Problem, *used: str | None) -> list[str]:
    """Return the columns that a problem does not name, which are passed through."""
    own = (*problem.columns, problem.weights, problem.frequencies, *used)
    return [name for name in columns if name not in own]


def show_realised(mapping: Mapping, found: Realised) -> None:
    """Show the rates of one draw as it stands, against the bound."""
    from evenhand.data.weighting import Unit

    screen.heading("The rates in the file that was written")
    people = Unit.of(weighed=found.weighed).heading
    rates = screen.shown(mapping, found.rates).rename(columns={"weight": people, "rate": "Rate"})
    screen.frame_table(rates)
    # The verdict names the worst of all; of several constraints, each has its own.
    screen.bullets([found.verdict.words, *(found.words if len(found.words) > 1 else ())])
