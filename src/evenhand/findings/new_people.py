"""A mapping meets people that it was not fitted on: their counts, what it does to them, and what it does not know.

Values that are not levels have no cell: those rows are counted and left out. A combination of known levels that the
fitted table did not have is a cell like any other, and stays as it is.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells, Flags, positions
from evenhand.data.counts import Counts
from evenhand.data.domain import Axis
from evenhand.engines import Rows
from evenhand.errors import DataError
from evenhand.kernel import Kernel, gather, unchanged
from evenhand.kernel.achieved import ParityAchieved, group_rates, parity_achieved
from evenhand.spec import Problem, comparisons
from evenhand.tables.transforming import Transformer, locate

MOST_DIGITS = 9


@dataclass(frozen=True, eq=False)
class Meeting:
    """The counts of a table on a mapping's domain, the kernel of its cells, and what was new."""

    counts: Counts
    kernel: Kernel
    coverage: dict[str, Any]


def meeting(mode: Transformer, rows: Rows, groups: Axis) -> Meeting:
    """Count a table, and give each of its cells the row of the kernel that train mode would use."""
    if rows.together:
        tables.refuse_gaps((groups, *mode.reads), rows.table, rows.people, text=rows.text)
    located = locate(mode, rows.table, text=rows.text)
    d, new_d = tables.cells(groups, rows.table, text=rows.text)
    axes = tuple(dict.fromkeys((groups, *mode.reads)))
    new = np.any([tables.cells(axis, rows.table, text=rows.text)[1] for axis in axes], axis=0) | new_d
    if new.all():
        raise DataError("no row of the table has values that the fitted table had; nothing can be said about it")
    x, y = located.own()
    counts = Counts.of(mode.domain, d[~new], x[~new], y[~new], rows.weight[~new])
    counts = replace(counts, people=int(rows.people[~new & (rows.weight > 0)].sum()))
    kernel = _kernel(mode, counts, d[~new], x[~new], y[~new], located.rows[~new], located.known[~new])
    unknown = float(rows.people[~located.sourced & ~new].sum())
    return Meeting(counts, kernel, _coverage(axes, rows, unknown))


def _kernel(mode: Transformer, counts: Counts, d: Cells, x: Cells, y: Cells, row: Cells, known: Flags) -> Kernel:
    """Return the kernel over the cells of the table; a cell that is not known stays as it is."""
    domain = mode.domain
    found, place = positions(counts.sources, domain.dxy(d, x, y))
    own_row, own_known = np.zeros(len(counts), np.int64), np.zeros(len(counts), bool)
    own_row[place[found]], own_known[place[found]] = row[found], known[found]
    sources = np.flatnonzero(own_known)
    asked, entry = mode.kernel.entries(own_row[sources])
    kept = np.flatnonzero(~own_known)
    return gather(
        np.concatenate([sources[asked], kept]),
        np.concatenate([mode.kernel.targets[entry], domain.xy(counts.x, counts.y)[kept]]),
        np.concatenate([mode.kernel.probability[entry], np.ones(len(kept))]),
        len(counts),
    )


def _coverage(axes: tuple[Axis, ...], rows: Rows, unknown: float) -> dict[str, Any]:
    """Count missing values, new values and new combinations, in rows of the table."""
    found = []
    for variable in (variable for axis in axes for variable in axis.variables):
        missing, unseen = tables.gaps(variable, rows.table, text=rows.text)
        found.append((variable.name, "missing", _total(rows, missing), _missing_policy(variable.missing)))
        found.append((variable.name, "new value", _total(rows, unseen & ~missing), "kept, left out of this audit"))
    found.append(("all", "new combination", unknown, "kept as it is"))
    columns = ("column", "what", "rows", "policy")
    return {name: [row[i] for row in found] for i, name in enumerate(columns)}


def _total(rows: Rows, chosen: Flags) -> float:
    return float(rows.people[chosen].sum())


def _missing_policy(missing: int | None) -> str:
    return "an error" if missing is None else "a level" if missing >= 0 else "kept, left out of this audit"


def with_own_target(problem: Problem, counts: Counts) -> Problem:
    """Return the problem with the fitted table's p(y), in segments p(y|b), written out where it is the target."""
    return replace(problem, parity=[parity.with_own_target(counts) for parity in problem.parity])


@dataclass(frozen=True, eq=False)
class Realised:
    """A table as it stands, held against the bounds: what one draw made of a release.

    Attributes
    ----------
    rates : pandas.DataFrame
        For each group and outcome, its weight and its rate.
    bounds : pandas.DataFrame
        Every parity bound with what the table has, and the slack; negative where a bound is exceeded.
    words : tuple of str
        How far apart the rates are at worst, for each parity constraint.
    """

    rates: Any
    bounds: Any
    words: tuple[str, ...]


def realised(problem: Problem, counts: Counts) -> Realised:
    """Hold a table's own rates against the bounds of a problem."""
    as_it_is = unchanged(counts)
    parts = [parity_achieved(comparisons(parity, counts), counts, as_it_is) for parity in problem.parity]
    rates = group_rates(counts, as_it_is)
    size = counts.domain.y.size
    weight = counts.group_weight
    columns = {
        **tables.labels(counts.domain.d, np.repeat(counts.groups.cells, size)),
        **tables.labels(counts.domain.y, np.tile(np.arange(size), len(weight))),
        "weight": np.repeat(weight, size),
        "rate": rates.ravel(),
    }
    rows = [row for part in parts for row in _held(part, counts)]
    bounds = {name: [row[name] for row in rows] for name in ("constraint", "where", "bound", "achieved", "slack")}
    words = tuple(_apart(part, counts) for part in parts if len(part.value))
    return Realised(tables.frame(columns), tables.frame(bounds), words)


def _held(part: ParityAchieved, counts: Counts) -> list[dict[str, Any]]:
    return [
        {
            "constraint": type(part.parity).__name__,
            "where": part.compared.words(at, counts.domain.y),
            "bound": float(bound),
            "achieved": float(value),
            "slack": float(bound - value),
        }
        for at, (bound, value) in enumerate(zip(part.compared.bound, part.value, strict=True))
    ]


def _apart(part: ParityAchieved, counts: Counts) -> str:
    at = int(np.argmax(part.value - part.compared.bound))
    value, bound = float(part.value[at]), float(part.compared.bound[at])
    where = part.compared.words(at, counts.domain.y)
    verdict = f"{'beyond' if value > bound else 'within'} the bound {bound:g}"
    return f"the rates of this very table are {_told_from(bound, value)} apart at worst ({where}), {verdict}"


def _told_from(bound: float, value: float) -> str:
    """Write a value out to three digits, or as many as tell it from the bound."""
    digits = next((n for n in range(3, MOST_DIGITS) if f"{value:.{n}f}" != f"{bound:.{n}f}"), 3)
    return f"{value:.{digits}f}"
