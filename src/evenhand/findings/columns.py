"""The columns of a fitted table and their levels, as values became them; and who is in each learned cell."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from evenhand.data.domain import Variable
from evenhand.findings.cells import cell_table
from evenhand.findings.discretion import Behind
from evenhand.findings.subject import Subject
from evenhand.render.section import Column, Note, Section, Table

if TYPE_CHECKING:
    import pandas as pd

MOST_LEVELS = 24
"""How many levels of a column are listed."""

MOST_GROUPS_BESIDE = 4
"""Of more groups than this, people are shown how many people are in each learned cell alone."""


def columns_table(m: Subject, coverage: pd.DataFrame) -> Table:
    """Return every column with its role, its levels and how many rows have no value.

    Levels that few people have are counted; where few rows have no value, only that there are some.
    """
    missing: dict[Any, dict[Any, Any]] = {
        row["column"]: row for row in coverage.to_dict("records") if row["what"] == "missing" and row["rows"]
    }
    names = ("column", "role", "levels", "without_a_value")
    data = ("every_level", "levels_hidden", "ordered", "rows_missing", "policy", "learned")
    columns = (*map(Column, names), *(Column(name, data=True) for name in data))
    rows: list[tuple[Any, ...]] = []
    for variable in m.counts.domain.variables:
        kept = m.shown.levels(variable)
        levels = [level for level, is_shown in zip(variable.levels, kept, strict=True) if is_shown]
        hidden, found, count = int((~kept).sum()), missing.get(variable.name), None
        without = Note("columns.none_missing")
        if found is not None:
            if m.shown.enough(found["rows"]) and not (variable.has_missing and not kept[variable.missing]):
                count = float(found["rows"])
            without = Note("columns.few_missing" if count is None else "columns.missing", found)
        listed = Note("columns.levels", {"parts": list(_listed(variable, levels, hidden))})
        policy = None if found is None else found["policy"]
        rows += [] if variable.is_column else _read(m, variable)
        rows.append(
            (variable.name, str(variable.role), listed, without, levels, hidden, variable.ordered, count, policy,
             not variable.is_column)
        )  # fmt: skip
    return Table("columns", columns, tuple(rows))


def _read(m: Subject, variable: Variable) -> Iterator[tuple[Any, ...]]:
    """Yield the columns that cells are learned from: its levels are no values of a file, what files have are these."""
    for name in m.problem.features:
        read = Note("columns.read" if name in variable.columns else "columns.not_read")
        yield name, str(variable.role), read, None, None, None, None, None, None, False


def _listed(variable: Variable, levels: list[Any], hidden: int) -> Iterator[Note]:
    if not variable.is_column:
        yield Note("columns.learned", {"cells": len(levels), "over": list(variable.columns)})
    else:
        yield Note("columns.listed", {"levels": list(map(str, levels[:MOST_LEVELS]))})
        if len(levels) > MOST_LEVELS:
            yield Note("columns.more", {"more": len(levels) - MOST_LEVELS})
    if hidden:
        yield Note("columns.hidden", {"hidden": hidden})


def learned_cells(m: Subject) -> Section | None:
    """Return who is in each learned cell, how many people of each group, and their rates; None where none are learned.

    A cell with few people of a group is left out: its rate would tell theirs.
    """
    if m.problem.cells is None:
        return None
    found = cell_table(m.problem, m.counts, m.kernel)
    beside = len(found.groups) <= MOST_GROUPS_BESIDE
    columns = (
        Column("cell", own=True), Column("rule"), Column("people", "people"),
        *(Column(f"{found.outcome}, {group}", own=True, data=not beside) for group in found.groups),
        Column("people_by_group", data=True), Column("before", data=True), Column("after", data=True),
    )  # fmt: skip
    rows = []
    for number, rule, people, before, after in zip(
        found.numbers.tolist(), found.rules, found.people.tolist(), found.before.tolist(), found.after.tolist(),
        strict=True,
    ):  # fmt: skip
        each = [
            Note("cells.rate", {"before": b, "after": a, "people": n})
            for n, b, a in zip(people, before, after, strict=True)
        ]
        rows.append((number, rule, sum(people), *each, people, before, after))
    # Of a group that is hidden no cell is shown.
    about = [(*m.groups, Behind(min(people))) for people in found.people.tolist()]
    table = Table("learned_cells", columns, tuple(rows), tuple(about), totals=((),))
    facts = Note("cells.learned", {"cells": m.problem.cells.words})
    return Section("cells", tables=(table,), notes=(facts,))
