"""What of a table a mapping knows: missing values, values and combinations that are new, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand import tables
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis, Variable
from evenhand.errors import some_of
from evenhand.render.section import Kind, Section, Table

if TYPE_CHECKING:
    import pandas as pd

    from evenhand.engines import Rows

LEFT_OUT = "kept, left out of this audit"
NEW_COMBINATION = "new combination"


KINDS: dict[str, Kind] = {"column": "text", "what": "text", "rows": "people", "policy": "text", "values": "text"}
"""The columns of the table of coverage."""

Row = tuple[str, str, float, str, str]
"""A row of it."""


def coverage(
    axes: tuple[Axis, ...], rows: Rows, drawn: float, kept: float, typical: str | None
) -> dict[str, list[Any]]:
    """Count missing values, new values and new combinations, in rows of a table that was not fitted.

    Of the new combinations some have ``drawn`` their outcome, by a policy of the name ``typical``; the others are
    ``kept``.
    """
    found: list[Row] = []
    for variable in (variable for axis in axes for variable in axis.variables):
        if not variable.is_column:
            found += _unlike_fitted(variable, rows)
            continue
        missing, unseen = tables.gaps(variable, rows.table)
        new = unseen & ~missing
        policy = "an error" if variable.missing is None else "a level" if variable.missing >= 0 else LEFT_OUT
        found.append((variable.name, "missing", float(rows.people[missing].sum()), policy, ""))
        values = some_of(map(repr, tables.distinct_values(rows.table, variable.name, np.flatnonzero(new))))
        found.append((variable.name, "new value", float(rows.people[new].sum()), LEFT_OUT, values))
    if typical is not None:
        found.append(("all", NEW_COMBINATION, drawn, typical, ""))
    return _columns([*found, ("all", NEW_COMBINATION, kept, "kept as it is", "")])


def _unlike_fitted(variable: Variable, rows: Rows) -> Iterator[Row]:
    """Count the people of whom learned cells were told nothing: by rare and new words, and by values that are missing.

    Words are not named: one that a single person has may tell who it is.
    """
    for (name, what), flags in tables.unlike_fitted(variable, rows.table).items():
        policy = "goes along a branch" if what == tables.NEW_GAP else "goes where rare words go"
        yield name, what, float(rows.people[flags].sum()), policy, ""


def fitted_coverage(counts: Counts) -> dict[str, list[Any]]:
    """Count the rows of the fitted table that have no value: there nothing is new."""
    found: list[Row] = []
    people = counts.unweighted.weight
    for axis, cells in ((counts.domain.d, counts.d), (counts.domain.x, counts.x)):
        for variable, codes in zip(axis.variables, axis.unravel(cells), strict=True):
            if not variable.is_column:
                continue
            missing = 0.0 if variable.missing is None else float(people[codes == variable.missing].sum())
            policy = "an error" if variable.missing is None else "a level"
            found.append((variable.name, "missing", missing, policy, ""))
    return _columns(found)


def coverage_section(covered: pd.DataFrame) -> Section:
    """Return coverage as a section, which shows people what there is."""
    nothing = [at for at, rows in enumerate(covered["rows"]) if not rows]
    return Section("coverage", tables=(Table.of("coverage", covered, KINDS, implied=nothing),))


def _columns(rows: Iterable[Row]) -> dict[str, list[Any]]:
    columns = zip(*rows, strict=True)
    return dict(zip(KINDS, map(list, columns), strict=True))
