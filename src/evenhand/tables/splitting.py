"""Release and apply on a table of counts: the people of a row are split among its results.

A row stands for so many people, who agree in every column. What comes out has one row per result, with the number of
people who have it; these numbers add up to that of the row. Balanced draws round the expected numbers; independent
draws are those of the table in which every row is repeated.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evenhand import tables
from evenhand.arrays import Cells
from evenhand.data.weighting import Weighting
from evenhand.errors import DataError, Option, SpecError
from evenhand.kernel.balance import LARGEST_STRATUM, Allotment, allot
from evenhand.kernel.draws import seeded_draws
from evenhand.tables import Fresh, Table
from evenhand.tables.transforming import (
    Balancing,
    How,
    Located,
    Transformed,
    Transformer,
    locate,
    met,
    moves_of,
    report_balance,
    report_unlike,
    report_unseen,
    write,
)

BLOCK = 1 << 20
"""People who are drawn at once."""


def split(mode: Transformer, table: Table, how: How, weighting: Weighting) -> Transformed:
    """Draw how many people of each row have each result, and write one row for each; rows of nobody are left out."""
    if how.key is not None:
        raise SpecError(
            "frequencies say that a row is several people, and a key that it is one; leave out ", Option("key")
        )
    name = weighting.column
    if name is None:
        raise SpecError("frequencies must name a column here: the result has one, too")
    given = tables.weights_of(mode.columns, table, weighting)
    assert given is not None
    located = locate(mode, table)
    tally = met(mode, table, located)
    if how.unseen == "error":
        report_unseen(mode, tally, "error")
    people = given.astype(np.int64)
    row, shares = _places(mode, located, people, how)
    there = np.flatnonzero(shares.number)
    row, drawn = row[there], shares.low[there]
    lines = tables.take(table, row)
    moves = moves_of(mode, len(lines), locate(mode, lines), drawn.__getitem__)
    done = write(mode, lines, moves, how)
    number, which = np.unique(shares.number[there], return_inverse=True)
    fresh = {**done.fresh, name: Fresh.of(np.arange(len(row)), number.tolist(), which)}
    changed, total = int(shares.number[there][moves.at].sum()), int(people.sum())
    tally = replace(tally, changed=changed, people=total, results=len(lines))
    report_unseen(mode, tally, how.unseen)
    report_unlike(mode, tally)
    report_balance(mode, tally, how)
    return Transformed(mode, how, table, fresh, row, tally, moves)


def _places(mode: Transformer, located: Located, people: Cells, how: How) -> tuple[Cells, Allotment]:
    """Return the results that each row may have, as entries of the kernel, and how many of its people have each."""
    known, rows = located.known, located.rows
    # Rows that are not known stay as they are: their first entry stands for that.
    size = np.where(known, np.diff(mode.kernel.starts)[rows], 1)
    starts = np.concatenate([[0], np.cumsum(size)])
    row = np.repeat(np.arange(len(rows)), size)
    entry = mode.kernel.starts[rows][row] + np.arange(len(row)) - starts[row]
    low = np.where(entry == mode.kernel.starts[rows][row], 0, mode.kernel.thresholds[entry - 1])
    count = _rounded if how.balanced else _drawn
    return row, Allotment(starts, entry, count(mode, located, people, how, starts), low)


def _drawn(mode: Transformer, located: Located, people: Cells, how: How, starts: Cells) -> Cells:
    """Return how many people have each result where each is drawn alone, as in the table with repeated rows."""
    kernel, rows, known = mode.kernel, located.rows, located.known
    number, ends = np.zeros(starts[-1], dtype=np.int64), np.cumsum(people)
    for first in range(0, int(people.sum()), BLOCK):
        draws = seeded_draws(how.seed, min(BLOCK, int(ends[-1]) - first), mode.name, first=first)
        who = np.searchsorted(ends, first + np.arange(len(draws)), side="right")
        hit = kernel.hit(rows[who], draws) - kernel.starts[rows[who]]
        number += np.bincount(starts[who] + np.where(known[who], hit, 0), minlength=len(number))
    return number


def _rounded(mode: Transformer, located: Located, people: Cells, how: How, starts: Cells) -> Cells:
    """Return the expected numbers of people, rounded so that totals are within one person of theirs."""
    kernel, known = mode.kernel, np.flatnonzero(located.known)
    if np.any(people >= LARGEST_STRATUM):
        raise DataError(f"a row of {people.max():,} people is too large; split it into rows of fewer")
    rows, levels = located.rows[known], []
    outcome = np.zeros(len(kernel.targets), dtype=np.int64)
    if mode.writes_outcome:
        outcome = kernel.targets % mode.domain.y.size
        levels = [level[known] for level in Balancing(mode).parts(located)]
    found = allot(kernel, outcome, people[known], rows, levels, how.seed, mode.name)
    number = np.zeros(starts[-1], dtype=np.int64)
    number[starts[:-1]] = people
    # Within a row they are in the order of outcomes, and not in that of the kernel.
    first = np.repeat(starts[known] - kernel.starts[rows], np.diff(found.starts))
    number[first + found.entry] = found.number
    return number
