"""Shadow prices: how much less of Δ would be lost if a bound were relaxed by one unit.

They are the multipliers of the optimum: of each parity bound by outcome and pair of groups, of each budget by group
and by cell. A price holds for small changes; where the optimum changes its shape it lies between what relaxing and
tightening would show. A limit of zero has none: it rules moves out from the start, and nobody looked beyond it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evenhand.arrays import Numbers, sums
from evenhand.data.counts import Counts
from evenhand.findings.discretion import Behind, Compared
from evenhand.findings.document import Row
from evenhand.findings.naming import cell_levels, holder_names
from evenhand.kernel import Kernel
from evenhand.kernel.achieved import parity_achieved, segment_shares
from evenhand.optimize.compile import Compiled
from evenhand.optimize.compile.inverse import budget_multipliers, entry_multipliers
from evenhand.optimize.program import Multipliers
from evenhand.render.finding import Finding
from evenhand.render.section import Kind, Section, Table
from evenhand.spec import Problem
from evenhand.tables import frame
from evenhand.tolerances import ROUNDING, SHOWN_FROM

if TYPE_CHECKING:
    import pandas as pd

KINDS: dict[str, Kind] = {
    "kind": "text", "constraint": "text", "level": "text", "where": "text", "weight": "people", "bound": "number",
    "price": "number",
}  # fmt: skip
MOST_ROWS = 16
"""So many prices are shown; JSON has all."""

TOTALS = (("kind", "constraint", "level"),)
"""What prices are parts of."""


@dataclass(frozen=True, eq=False, repr=False)
class Prices(Finding):
    """What relaxing each bound by one unit would gain, in units of Δ.

    Attributes
    ----------
    frame : pandas.DataFrame
        Columns ``kind`` (parity or budget), ``constraint``, ``level`` (of detail: total, outcome, pair, group or cell),
        ``where``, ``weight`` (of a cell, its people), ``bound`` (the smallest, of several) and ``price``; pairs and
        cells that cost something are listed, the most expensive first. Learned cells are named by their numbers in
        ``mapping.cells``. NaN is a price that is not known: of a user's own distance, or of a limit of zero.
    parity, budgets : tuple of float
        The total of each parity constraint (all its bounds relaxed by one unit together), and of each charge.
    cells : tuple of arrays
        For each charge, the price of every holder's limit (a source, or an (x, y)); NaN where the limit is zero.
    comparisons : tuple of arrays
        For each parity constraint, the price of every comparison's bound; NaN where it is not known.
    about : tuple of tuples
        Whom each row of the frame is about.
    """

    frame: pd.DataFrame
    parity: tuple[float, ...]
    budgets: tuple[float, ...]
    cells: tuple[Numbers, ...]
    comparisons: tuple[Numbers, ...] = ()
    about: tuple[tuple[Any, ...], ...] = ()

    @property
    def sections(self) -> tuple[Section, ...]:
        """The table, without prices that are noise; those that are not known are in it."""
        every = Table.of(
            "every_price", self.frame, KINDS, about=self.about, detail=("weight",), most=MOST_ROWS, totals=TOTALS
        )
        listed = every.kept(np.flatnonzero(~(self.frame["price"] <= SHOWN_FROM)))
        return (Section("prices", tables=(listed,)),)

    def __repr__(self) -> str:
        return f"<Prices: parity {[round(p, 6) for p in self.parity]}, budgets {[round(b, 6) for b in self.budgets]}>"


def prices(problem: Problem, counts: Counts, compiled: Compiled, kernel: Kernel, multipliers: Multipliers) -> Prices:
    """Read the prices of every bound off the multipliers of an optimum."""
    worth = _comparisons(counts, compiled, kernel, multipliers)
    rows = [*_parity(compiled, worth, kernel)]
    by_limit, cells = budget_multipliers(compiled.program, multipliers), []
    for i, charge in enumerate(problem.charges):
        mine = compiled.budgets.charge == i
        limits = charge.limits(counts)
        found = sums(compiled.budgets.holder[mine], by_limit[mine], len(limits))
        # A limit of zero rules moves out: nobody looked what it would be worth.
        cells.append(np.where(limits == 0, np.nan, found))
        rows += _budget(problem, counts, i, cells[i])
    totals = {"parity": [0.0] * len(problem.parity), "budget": [0.0] * len(problem.charges)}
    for row in rows:
        if row["level"] == "total":
            # One bound holds the table's own rates and those of a model without D: relaxing it relaxes both.
            of_kind = totals[row["kind"]]
            of_kind[row.pop("number") % len(of_kind)] += row["price"]
    listed = frame({name: [row.get(name) for row in rows] for name in KINDS})
    about = tuple(row.get("about", ()) for row in rows)
    return Prices(listed, tuple(totals["parity"]), tuple(totals["budget"]), tuple(cells), worth, about)


def _comparisons(counts: Counts, compiled: Compiled, kernel: Kernel, multipliers: Multipliers) -> tuple[Numbers, ...]:
    """Return the price of every comparison's bound, constraint by constraint; NaN where none is known."""
    found = entry_multipliers(compiled.parity, compiled.compared, multipliers.parity)
    rates = []
    for part in compiled.compared:
        measured = parity_achieved(part, counts, kernel)
        rates.append((measured.rate, measured.other, segment_shares(part, counts, kernel)))
    worth = found.relief(compiled.compared, rates)
    prices = []
    for i, part in enumerate(compiled.compared):
        mine = found.constraint == i
        by_entry = sums(found.entry[mine], worth[mine], len(part))
        prices.append(by_entry if part.parity.distance.at_any_bound else np.full(len(part), np.nan))
    return tuple(prices)


def _parity(compiled: Compiled, worth: tuple[Numbers, ...], kernel: Kernel) -> Iterator[Row]:
    for i, (part, by_entry) in enumerate(zip(compiled.compared, worth, strict=True)):
        name = type(part.parity).__name__
        unknown = not part.parity.distance.at_any_bound
        base = {"kind": "parity", "constraint": name}
        total = float("nan") if unknown else float(by_entry.sum())
        smallest = part.parity.smallest_bound
        where = "all bounds, scored" if part.scored else "all bounds"
        yield base | {"level": "total", "where": where, "bound": smallest, "price": total, "number": i}
        if unknown:
            continue
        for event in np.unique(part.event):
            here = part.event == event
            where, price = part.events.words(int(event)), float(by_entry[here].sum())
            yield base | {"level": "outcome", "where": where, "bound": float(part.bound[here].min()), "price": price}
        for e in np.argsort(-by_entry):
            if by_entry[e] > ROUNDING:
                where, price = part.words(int(e)), float(by_entry[e])
                pair = {"level": "pair", "where": where, "bound": float(part.bound[e]), "price": price}
                yield base | pair | {"about": (Compared(part, kernel, int(e)),)}


def _budget(problem: Problem, counts: Counts, number: int, cells: Numbers) -> Iterator[Row]:
    charge, domain = problem.charges[number], counts.domain
    limits = charge.limits(counts)
    base = {"kind": "budget", "constraint": charge.words}
    where = "all limits above zero" if np.any(limits == 0) else "all limits"
    yield base | {"level": "total", "where": where, **_together(limits, cells), "number": number}
    if not charge.averaged:
        for group, cell in enumerate(counts.groups.cells):
            mine, about = counts.groups.of_source == group, (domain.d.labels(int(cell)),)
            own = {"level": "group", "where": domain.d.words(int(cell)), **_together(limits[mine], cells[mine])}
            yield base | own | {"about": about}
    costly = [at for at in np.argsort(-cells) if cells[at] > ROUNDING]
    holders = charge.holders(counts)
    weight, heads = (sums(holders, of) for of in (counts.weight, counts.unweighted.weight))
    for at, where in zip(costly, holder_names(counts, charge, np.array(costly, dtype=np.int64)), strict=True):
        # A record (x, y) is many groups'.
        whom = Behind(float(heads[at])) if charge.averaged else cell_levels(counts, at)
        cell = {"level": "cell", "where": where, "bound": float(limits[at]), "price": float(cells[at])}
        yield base | cell | {"weight": float(weight[at]), "about": (whom,)}


def _together(limits: Numbers, cells: Numbers) -> Row:
    """Return the smallest of the limits that have a price, and the price of all of those."""
    priced = limits > 0
    if not priced.any():
        return {"bound": 0.0, "price": float("nan")}
    return {"bound": float(limits[priced].min()), "price": float(cells[priced].sum())}
