"""Which levels or columns of the features to merge so that the domain becomes small enough for a table.

A merge makes labels coarser for the people who have them; nothing else is known of its worth, so it is a proposal.
Protected columns and the outcome are left alone: merging those changes what is bounded, and for whom.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from evenhand.arrays import sums
from evenhand.data.counts import Counts
from evenhand.data.domain import Role, Value
from evenhand.data.sentences import Said
from evenhand.tables import frame

if TYPE_CHECKING:
    import pandas as pd

SHOWN = 3
"""How many proposals are put into words."""


@dataclass(frozen=True)
class Merge:
    """One proposal.

    Attributes
    ----------
    column : str
        The feature.
    levels : tuple of tuples
        The levels that become one, each a tuple of the original levels it is made of; all of them where the column is
        dropped.
    drops : bool
        Whether the column then has one level left, and can be left out.
    cells_before, cells_after : int
        |D||X||Y| before and after.
    affected : float
        The share of people whose label becomes coarser.
    radius_after : float
        τ after (tight constants).
    """

    column: str
    levels: tuple[tuple[Value, ...], ...]
    drops: bool
    cells_before: int
    cells_after: int
    affected: float
    radius_after: float

    @property
    def worth(self) -> float:
        """Cells saved for each unit of probability affected; infinite where nobody is."""
        saved = self.cells_before - self.cells_after
        return saved / self.affected if self.affected > 0 else np.inf

    @property
    def named(self) -> list[dict[str, Value]]:
        """The levels that its words name."""
        return [] if self.drops else [{self.column: level} for parts in self.levels for level in parts]

    @property
    def words(self) -> str:
        """Say what to do."""
        if self.drops:
            return f"leave out {self.column}"
        levels = ("+".join(map(repr, parts)) for parts in self.levels)
        return f"merge {' and '.join(levels)} of {self.column}"


@dataclass(frozen=True)
class Level:
    """One level of a partly merged column: the original levels it is made of, and its share of people."""

    parts: tuple[Value, ...]
    mass: float


@dataclass(frozen=True)
class Column:
    """A feature and its remaining levels."""

    name: str
    ordered: bool
    levels: tuple[Level, ...]


State = tuple[Column, ...]
Radius = Callable[[int], float]


def start(counts: Counts) -> State:
    """Return every feature with its levels as they are."""
    pairs = zip(counts.domain.x.variables, counts.domain.x.unravel(counts.x), strict=True)
    # After regrouping, protected columns may stand among the features; they are not merged. Nor are learned cells, of
    # which there are as many as were asked for.
    merged = ((v, code) for v, code in pairs if v.role is Role.FEATURE and v.is_column)
    masses = ((v, sums(code, counts.probability, len(v))) for v, code in merged)
    return tuple(
        Column(v.name, v.ordered, tuple(Level((level,), float(m)) for level, m in zip(v.levels, mass, strict=True)))
        for v, mass in masses
    )


def single(state: State, cells: int, radius: Radius) -> tuple[Merge, ...]:
    """Return every single merge of a state, the best first.

    Examples
    --------
    >>> import evenhand as eh
    >>> counts = eh.datasets.load("compas").counts
    >>> proposals = single(start(counts), 144, lambda cells: 0.0)
    >>> proposals[0].words, proposals[-1].words
    ('leave out age_cat', "merge '25 - 45' and 'Greater than 45' of age_cat")
    """
    proposals = []
    for column in state:
        size = len(column.levels)
        if size < 2:
            continue
        # All levels, which drops the column, or the two of least mass together: neighbours, where there is an order.
        chosen = [column.levels]
        if size > 2 and column.ordered:
            neighbours = zip(column.levels, column.levels[1:], strict=False)
            chosen.append(min(neighbours, key=lambda pair: pair[0].mass + pair[1].mass))
        elif size > 2:
            chosen.append(tuple(sorted(column.levels, key=lambda level: level.mass)[:2]))
        for levels in chosen:
            left = size - len(levels) + 1
            after = cells // size * left
            affected = min(1.0, sum(level.mass for level in levels))
            parts = tuple(level.parts for level in levels)
            proposals.append(Merge(column.name, parts, left == 1, cells, after, affected, radius(after)))
    return tuple(sorted(proposals, key=lambda merge: (-merge.worth, merge.column)))


def plan(state: State, cells: int, needed: int, radius: Radius) -> tuple[Merge, ...]:
    """Return merges, each the best after those before it, until a domain of at most ``needed`` cells is reached.

    Empty where the domain is small enough already, or where no feature is left to merge before it is.
    """
    steps: list[Merge] = []
    while cells > needed:
        options = single(state, cells, radius)
        if not options:
            return ()
        best = options[0]
        steps.append(best)
        cells = best.cells_after
        merged = next(column for column in state if column.name == best.column)
        together = [level for level in merged.levels if level.parts in best.levels]
        joined = Level(tuple(part for level in together for part in level.parts), sum(level.mass for level in together))
        # The new level takes the place of the first, which keeps an order.
        kept = [joined if level is together[0] else level for level in merged.levels if level not in together[1:]]
        state = tuple(replace(column, levels=tuple(kept)) if column is merged else column for column in state)
    return tuple(steps)


def as_frame(merges: tuple[Merge, ...]) -> pd.DataFrame:
    """Return proposals as a pandas frame, one row per proposal."""
    names = [f.name for f in fields(Merge) if f.name != "levels"]
    columns = {name: [getattr(merge, name) for merge in merges] for name in names}
    return frame({"what": [merge.words for merge in merges], **columns, "worth": [merge.worth for merge in merges]})


def fewer_leaves(counts: Counts, needed: int | None) -> list[str]:
    """Say how many learned cells a domain of at most ``needed`` cells leaves room for."""
    said = []
    for variable in counts.domain.x.variables:
        if variable.is_column:
            continue
        others = counts.domain.d.size * counts.domain.x.size * counts.domain.y.size // len(variable)
        room = 0 if needed is None else needed // others
        if room >= len(variable):
            continue
        enough = f"; {room} leave {room * others} cells" if room >= 2 else ""
        said.append(
            f"There are {len(variable)} learned cells: fewer of them (most, or number, in the problem's cells) make "
            f"the domain smaller, and tell less{enough}."
        )
    return said


def words(merges: tuple[Merge, ...], steps: tuple[Merge, ...], needed: int | None) -> list[str]:
    """Put the proposals into sentences."""
    said: list[str] = []
    if merges:
        shown = merges[:SHOWN]
        listed = "; ".join(f"{m.words} ({m.cells_after} cells, {m.affected:.1%} of people)" for m in shown)
        what = f"What saves most cells for the fewest people whose label becomes coarser: {listed}."
        said.append(Said(what, *(part for merge in shown for part in merge.named)))
    if steps:
        what = (
            f"To come down to {needed} cells: {', then '.join(m.words for m in steps)}, which leaves "
            f"{steps[-1].cells_after} cells. Fit again after merging: rates and the smallest pair may change."
        )
        said.append(Said(what, *(part for merge in steps for part in merge.named)))
    elif needed is None:
        said.append(
            "No merging of features makes the statement on ratios reach its margin with these people. Merging "
            "protected groups or outcomes would raise the smallest pair, but then the merged groups are no longer "
            "bounded apart."
        )
    return said
