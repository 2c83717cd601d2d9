"""A mapping and its audit as words and as a document, for every command that shows one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from evenhand.cli import screen

if TYPE_CHECKING:
    from evenhand.findings.audit import Audit
    from evenhand.findings.new_people import Realised
    from evenhand.use.mapping import Mapping

TABLES = ("rates", "bounds", "groups", "changes", "lifts", "scores", "coverage")
"""The tables of an audit that a document holds."""

EXCEEDED = 1e-9
"""A bound that is missed by less is kept, up to rounding."""

TOP = 8
"""How many bounds that do not hold are shown."""

MOST_NAMED = 12
"""How many columns a sentence names."""

NOTHING_BOUNDS_THEM = "nothing bounds what a model learns from them"

WEIGHED = (
    "the mapping was fitted with weights, but here every row counts once; if the rows of this table have weights, name "
    "their column with --weights"
)


def audited(
    mapping: Mapping,
    table: Any = None,
    weights: str | None = None,
    progress: Callable[[str, float], None] | None = None,
) -> Audit:
    """Audit a mapping, and note weights that were left out."""
    found = mapping.audit() if table is None else mapping.audit(table, weights=weights, progress=progress)
    more = [WEIGHED] if table is not None and unweighed(mapping, weights) else []
    return replace(found, notes=(*more, *found.notes))


def unweighed(mapping: Mapping, weights: str | None) -> bool:
    """Whether a mapping was fitted with weights, and another table is counted without."""
    counts = mapping.counts
    return weights is None and abs(float(counts.weight.sum()) - counts.people) > EXCEEDED * counts.people


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
    return {
        "outcome": mapping.problem.outcome,
        **tables,
        "exceeded": exceeded(audit.bounds),
        "headlines": audit.headlines,
        "notes": audit.notes,
    }


def exceeded(bounds: Any) -> Any:
    """Return the bounds that do not hold, and by how much they are exceeded, worst first."""
    over = bounds[bounds["slack"] < -EXCEEDED].drop(columns="slack")
    return over.assign(excess=over["achieved"] - over["bound"]).sort_values("excess", ascending=False, kind="stable")


def show_verdict(bounds: Any) -> None:
    """Say of a table that was not fitted which bounds hold there, and which do not."""
    screen.heading("Which bounds hold for this table, which is not the one that was fitted")
    screen.bullets(verdict(bounds))
    over = exceeded(bounds)
    if len(over):
        screen.frame_table(over, TOP)


def verdict(bounds: Any) -> Iterator[str]:
    """Say for each constraint how many of its bounds hold, and by how much the worst is exceeded."""
    for name in dict.fromkeys(bounds["constraint"]):
        own = bounds[bounds["constraint"] == name]
        over = exceeded(own)
        if len(over):
            yield f"{name}: {len(over):,} of {len(own):,} bounds are exceeded, by up to {over['excess'].iloc[0]:.4g}"
        else:
            yield f"{name}: {'the bound holds' if len(own) == 1 else f'all {len(own):,} bounds hold'}"
    yield "the certificate is about the fitted table alone; of new people, no bound is promised"


def show_readers(mapping: Mapping, audit: Audit) -> None:
    """Show the mean scores that eqs. (8) and (9) predict of models that see, or do not see, the protected columns."""
    screen.heading("Mean score of a model of the released data, if it sees the protected columns or not")
    scores = audit.scores.rename(columns={"seeing_protected": "Sees them", "not_seeing_protected": "Does not"})
    screen.frame_table(_shown(mapping, scores))
    _show_lifts(_shown(mapping, audit.lifts), mapping.problem.outcome)


def _show_lifts(lifts: Any, outcome: str) -> None:
    of = lifts[outcome].unique()
    one = len(of) == 1
    name = f"Lift of {outcome}={of[0]}" if one else "Lift"
    screen.heading(f"{name}: p(y|d) over p(y) (extended), p(y|not d) (selective), the lowest group's (contrastive)")
    screen.frame_table(_lifts(lifts.drop(columns=outcome) if one else lifts))


def _shown(mapping: Mapping, table: Any) -> Any:
    """Keep the outcomes worth showing: of two, one follows from the other."""
    domain = mapping.counts.domain
    return table[table[mapping.problem.outcome].isin([domain.outcome.levels[y] for y in domain.shown_outcomes])]


def _lifts(table: Any) -> Any:
    """Set each lift after below the same before: side by side they would not fit a terminal."""
    names = ("extended", "selective", "contrastive")
    rows = []
    for row in table.to_dict("records"):
        who = {name: value for name, value in row.items() if not name.endswith(("_before", "_after"))}
        rows += [who | {"": when} | {name: row[f"{name}_{when}"] for name in names} for when in ("before", "after")]
    return type(table)(rows)


def outside(columns: Sequence[str], problem: Any, weights: str | None = None) -> list[str]:
    """Return the columns that a problem does not name, which are passed through."""
    return [name for name in columns if name not in (*problem.columns, weights)]


def named(columns: Sequence[str]) -> str:
    """Name the first of many columns.

    Examples
    --------
    >>> named(["age", "job"])
    'age, job'
    """
    more = f" and {len(columns) - MOST_NAMED} more" * (len(columns) > MOST_NAMED)
    return ", ".join(columns[:MOST_NAMED]) + more


def show_realised(mapping: Mapping, found: Realised) -> None:
    """Show the rates of one draw as it stands, against the bound."""
    screen.heading("The rates in the file that was written")
    rates = _shown(mapping, found.rates).rename(columns={"weight": "People", "rate": "Rate"})
    screen.frame_table(rates)
    screen.bullets(found.words)
