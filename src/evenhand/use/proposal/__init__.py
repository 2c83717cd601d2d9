"""From a table to a problem that can be stated: a commented TOML to read, change and fit.

survey → draft (roles, levels, rules, what is left out) → bounds that can be met → words. Every number in the result is
written out, so that the statement stays the same when the table grows.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from evenhand.engines import AnyTable, Source, is_path, read_file
from evenhand.errors import DataError, SpecError
from evenhand.resources import Progress, heeding
from evenhand.spec import CsvFormat, Problem
from evenhand.tables.survey import Survey, survey
from evenhand.use.fitting import silent
from evenhand.use.proposal.bounding import Bounds, Finder
from evenhand.use.proposal.draft import Draft, draft
from evenhand.use.proposal.outcome import Direction, level_called
from evenhand.use.proposal.wording import write
from evenhand.use.telling import Teller

LOOKED_AT = 500_000
"""So many rows of a file are looked at."""


@dataclass(frozen=True, eq=False)
class Proposal:
    """A problem with its commented TOML, the columns left out of it and why, how its two bounds were chosen, and which
    way the outcome may change. ``beside`` are bounds by another distance, where many people would lose by one of them
    the outcome that is good for a person."""

    text: str
    problem: Problem
    draft: Draft
    bounds: Bounds
    direction: Direction
    beside: Bounds | None = None


def propose(
    table: AnyTable,
    *,
    protected: Sequence[str],
    outcome: str,
    features: Sequence[str] | None = None,
    favourable: Any = None,
    weights: str | None = None,
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
        The outcome that is good for a person: people then move towards it only, if the bound can be met that way. If
        not, and many would lose it, a distance by which clearly fewer do is proposed where there is one.
    weights : str, optional
        A column of weights, by which everything is counted. Where rows are the cells of a table of counts, a row stands
        for as many people as it weighs; else for one, whatever its weight.
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
    _check_roles(protected, outcome, features, weights)
    report = Teller(progress or silent)
    with heeding(report.going_on):
        report("reading", 0.0)
        frame = table
        if is_path(table):
            frame = read_file(table, csv, rows=LOOKED_AT, progress=lambda stage, share: report(stage, 0.2 * share))
        report("looking over the columns", 0.2)
        found = survey(frame, missing_values, parse=is_path(table), weights=weights)
        _check(found)
        file = Source.of(table, csv) if is_path(table) else None
        odd = ((), ()) if file is None else (file.shared, file.unnamed)
        report("choosing features and levels", 0.3)
        drafted = draft(found, protected, outcome, features, favourable, *odd)
    used = {column.name for column in drafted.levelled}
    tokens = tuple(dict.fromkeys(t for column in found.columns if column.name in used for t in column.tokens))

    def text(bounds: Bounds, direction: Direction, beside: Bounds | None = None) -> str:
        return write(
            drafted, bounds, direction, beside, source=source, target=target, weights=weights, csv=csv, tokens=tokens
        )

    good = None if favourable is None else level_called(drafted.outcome, favourable)
    finder = Finder(lambda bounds, way: Problem.from_toml(text(bounds, way)), table, weights, drafted, report)
    with heeding(report.going_on):
        bounds, direction, beside = finder.proposed(good)
    final = text(bounds, direction, beside)
    return Proposal(final, Problem.from_toml(final), drafted, bounds, direction, beside)


def _check_roles(protected: Sequence[str], outcome: str, features: Sequence[str] | None, weights: str | None) -> None:
    """Refuse a column in two roles, and a problem without groups."""
    if not protected:
        raise SpecError("name at least one protected column")
    listed = [*protected, outcome, *(features or ()), *(() if weights is None else [weights])]
    twice = next((name for name in listed if listed.count(name) > 1), None)
    if twice is not None:
        raise SpecError(
            f"column {twice!r} is named twice; a column is protected, a feature, the outcome or the weights"
        )


def _check(found: Survey) -> None:
    """Refuse an empty table, and one that was cut at the wrong places."""
    if not found.rows:
        raise DataError("the table is empty: it has no rows")
    # Where all words begin with a space, the delimiter holds one.
    words = [column for column in found.columns[1:] if column.values and isinstance(column.values[0], str)]
    if words and all(str(value).startswith(" ") for column in words for value in column.values):
        raise DataError(
            f"every word in column {words[0].name!r} begins with a space, such as {words[0].values[0]!r}; give a "
            f"delimiter that holds the space: --delimiter ', '"
        )
