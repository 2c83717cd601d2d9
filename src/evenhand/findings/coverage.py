"""What of a table a mapping knows: missing values, values and combinations that are new, and what becomes of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from evenhand import tables
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.engines import Rows

LEFT_OUT = "kept, left out of this audit"


def coverage(axes: tuple[Axis, ...], rows: Rows, new_combinations: float) -> dict[str, list[Any]]:
    """Count missing values, new values and new combinations, in rows of a table that was not fitted."""
    found: list[tuple[str, str, float, str]] = []
    for variable in (variable for axis in axes for variable in axis.variables):
        missing, unseen = tables.gaps(variable, rows.table, text=rows.text)
        policy = "an error" if variable.missing is None else "a level" if variable.missing >= 0 else LEFT_OUT
        found.append((variable.name, "missing", float(rows.people[missing].sum()), policy))
        found.append((variable.name, "new value", float(rows.people[unseen & ~missing].sum()), LEFT_OUT))
    return _columns([*found, ("all", "new combination", new_combinations, "kept as it is")])


def fitted_coverage(counts: Counts) -> dict[str, list[Any]]:
    """Count the rows of the fitted table that have no value: there nothing is new."""
    found, people = [], counts.unweighted.weight
    for axis, cells in ((counts.domain.d, counts.d), (counts.domain.x, counts.x)):
        for variable, codes in zip(axis.variables, axis.unravel(cells), strict=True):
            missing = 0.0 if variable.missing is None else float(people[codes == variable.missing].sum())
            found.append((variable.name, "missing", missing, "an error" if variable.missing is None else "a level"))
    return _columns(found)


def _columns(rows: Iterable[tuple[str, str, float, str]]) -> dict[str, list[Any]]:
    columns = zip(*rows, strict=True)
    return dict(zip(("column", "what", "rows", "policy"), map(list, columns), strict=True))
