"""A mapping and its audit as words and as a document, for every command that shows one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenhand import screen

if TYPE_CHECKING:
    from evenhand.audit import Audit
    from evenhand.mapping import Mapping

TABLES = ("rates", "bounds", "groups", "changes", "lifts", "scores", "coverage")
"""The tables of an audit that a document holds."""


def mapping_document(mapping: Mapping, audit: Audit) -> dict[str, Any]:
    """Return what a mapping is: its certificate and its audit."""
    return {
        "people": mapping.counts.people,
        "weight": float(mapping.counts.weight.sum()),
        "objective": mapping.objective,
        "certificate": mapping.certificate.as_dict(),
        **audit_document(mapping, audit),
    }


def audit_document(mapping: Mapping, audit: Audit) -> dict[str, Any]:
    """Return every table and sentence of an audit."""
    tables = {name: getattr(audit, name) for name in TABLES}
    return {"outcome": mapping.problem.outcome, **tables, "headlines": audit.headlines, "notes": audit.notes}


def show_readers(mapping: Mapping, audit: Audit) -> None:
    """Show the mean scores that eqs. (8) and (9) predict of models that see, or do not see, the protected columns."""
    screen.heading("Mean score of a model of the released data, if it sees the protected columns or not")
    scores = audit.scores.rename(columns={"seeing_protected": "Sees them", "not_seeing_protected": "Does not"})
    screen.frame_table(_shown(mapping, scores))
    screen.heading(
        "Lift before → after: p(y|d) over p(y) (extended), over p(y|not d) (selective), over the lowest group"
    )
    screen.frame_table(_lifts(_shown(mapping, audit.lifts).copy()))


def _shown(mapping: Mapping, table: Any) -> Any:
    """Keep the outcomes worth showing: of two, one follows from the other."""
    levels = mapping.counts.domain.outcome.levels
    return table[table[mapping.problem.outcome].isin(levels[1:] if len(levels) == 2 else levels)]


def _lifts(table: Any) -> Any:
    """Set each lift before beside the same after."""
    for name in ("extended", "selective", "contrastive"):
        before, after = table.pop(f"{name}_before"), table.pop(f"{name}_after")
        table[name] = [f"{a:.3f} → {b:.3f}" for a, b in zip(before, after, strict=True)]
    return table
