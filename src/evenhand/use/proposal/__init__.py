"""From a table to a problem that can be stated: a commented TOML to read, change and fit.

survey → draft (roles, levels, rules, what is left out) → bounds that can be met → words. Every number in the result is
written out, so that the statement stays the same when the table grows.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any

from evenhand.engines import AnyTable, Source, is_path, read_file
from evenhand.errors import DataError, SpecError
from evenhand.findings.feasibility import budget_edge, parity_edge
from evenhand.resources import Progress
from evenhand.spec import CsvFormat, ExpectedDistortion, Problem
from evenhand.tables.survey import Survey, survey
from evenhand.use.fitting import begin, silent
from evenhand.use.proposal.draft import Draft, draft
from evenhand.use.proposal.levels import ROUNDING
from evenhand.use.proposal.outcome import Direction, level_called
from evenhand.use.proposal.wording import Bounds, write

LOOKED_AT = 500_000
"""So many rows of a file are looked at."""

USUAL_BOUND = 0.1
"""Rates that differ by a tenth: asked for wherever it can be met within the widest budget."""

WIDEST_BUDGET = 0.5
LEAST_BUDGET = 0.1

SLACK = 1.2
"""How much wider than the smallest the proposed budget, or bound, is."""

GRID = 0.05
"""Proposed numbers are multiples of this."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A problem with its commented TOML, the columns left out of it and why, how its two bounds were chosen, and which
    way the outcome may change."""

    text: str
    problem: Problem
    draft: Draft
    bounds: Bounds
    direction: Direction


def propose(
    table: AnyTable,
    *,
    protected: Sequence[str],
    outcome: str,
    features: Sequence[str] | None = None,
    favourable: Any = None,
    missing_values: Collection[str] | None = None,
    csv: CsvFormat | None = None,
    source: str = "table.csv",
    target: str = "problem.toml",
    progress: Progress | None = None,
) -> Proposal:
    """Propose a problem for a table.

    Parameters
    ----------
    table : dataframe or path
        One row per person. Of a CSV or Parquet file the first rows are looked at, and all are counted.
    protected, outcome, features
        The columns in these roles; without ``features``, those that tell most about the outcome.
    favourable : value, optional
        The outcome that is good for a person: people then move towards it only, if the bound can be met that way.
    missing_values : collection of str, optional
        The words that stand for a missing value; by default those that usually do and occur.
    csv : CsvFormat, optional
        How the table's file is written, to be kept in the problem.
    source, target : str
        The names of the table and of the TOML file, for its comments.

    Examples
    --------
    >>> from evenhand.datasets import load
    >>> found = propose(load("compas").frame, protected=["sex", "race"], outcome="is_recid")
    >>> Problem.from_toml(found.text) == found.problem
    True
    """
    report = progress or silent
    report("reading", 0.0)
    frame = read_file(table, csv, rows=LOOKED_AT) if is_path(table) else table
    report("looking over the columns", 0.2)
    found = survey(frame, missing_values, parse=is_path(table))
    _check(found, protected, outcome, features)
    file = Source.of(table, csv) if is_path(table) else None
    odd = ((), ()) if file is None else (file.shared, file.unnamed)
    drafted = draft(found, protected, outcome, features, *odd)
    used = {column.name for column in drafted.levelled}
    tokens = tuple(dict.fromkeys(t for column in found.columns if column.name in used for t in column.tokens))

    def text(bounds: Bounds, direction: Direction) -> str:
        return write(drafted, bounds, direction, source=source, target=target, csv=csv, tokens=tokens)

    def bounds_of(direction: Direction) -> Bounds:
        return _bounds(Problem.from_toml(text(Bounds(USUAL_BOUND, WIDEST_BUDGET), direction)), table)

    report("finding bounds that can be met", 0.4)
    good = None if favourable is None else level_called(drafted.outcome, favourable)
    # Towards the favourable level only, unless a tighter bound needs the other way too.
    direction = Direction(good, only=good is not None)
    bounds = bounds_of(direction)
    reach = bounds.smallest_bound
    if good is not None and (reach is None or bounds.bound > USUAL_BOUND):
        both = bounds_of(Direction(good))
        if reach is None or bounds.bound > both.bound:
            bounds, direction = both, Direction(good, reach=reach)
    final = text(bounds, direction)
    return Proposal(final, Problem.from_toml(final), drafted, bounds, direction)


def _check(found: Survey, protected: Sequence[str], outcome: str, features: Sequence[str] | None) -> None:
    """Refuse an empty table, a column in two roles, and a table that was cut at the wrong places."""
    if not found.rows:
        raise DataError("the table is empty: it has no rows")
    if not protected:
        raise SpecError("name at least one protected column")
    listed = [*protected, outcome, *(features or ())]
    twice = next((name for name in listed if listed.count(name) > 1), None)
    if twice is not None:
        raise SpecError(f"column {twice!r} is named twice; a column is protected, a feature or the outcome")
    # Where all words begin with a space, the delimiter holds one.
    words = [column for column in found.columns[1:] if column.values and isinstance(column.values[0], str)]
    if words and all(str(value).startswith(" ") for column in words for value in column.values):
        raise DataError(
            f"every word in column {words[0].name!r} begins with a space, such as {words[0].values[0]!r}; give a "
            f"delimiter that holds the space: --delimiter ', '"
        )


def _bounds(problem: Problem, table: AnyTable) -> Bounds:
    """Find a bound and a budget that can be met, with a little room."""
    counts, clock, _ = begin(problem, table)

    def smallest_bound(limit: float) -> float | None:
        edge = parity_edge(replace(problem, budget=ExpectedDistortion(limit)), counts, clock)
        return None if edge is None else edge.bound

    factor = budget_edge(problem, counts, clock)
    if factor is not None and factor * SLACK <= 1:
        least = factor * WIDEST_BUDGET
        limit = max(LEAST_BUDGET, _round_up(least * SLACK))
        return Bounds(USUAL_BOUND, limit, smallest_bound(limit), least)
    edge = smallest_bound(WIDEST_BUDGET)
    if edge is None:
        return Bounds(USUAL_BOUND, WIDEST_BUDGET)
    return Bounds(max(USUAL_BOUND, _round_up(edge * SLACK)), WIDEST_BUDGET, edge)


def _round_up(number: float) -> float:
    return round(math.ceil(number / GRID - ROUNDING) * GRID, 10)
