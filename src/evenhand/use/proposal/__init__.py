"""From a table to a problem that can be stated: a commented TOML to read, change and fit.

survey → draft (roles, levels, rules, what is left out) → bounds that can be met → words. Every number in the result is
written out, so that the statement stays the same when the table grows.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from evenhand import check
from evenhand.arrays import Cells
from evenhand.data.counts import Counts
from evenhand.data.weighting import Weighting
from evenhand.engines import AnyTable, counts_of, is_path
from evenhand.engines.looking import Looked
from evenhand.errors import DataError, EvenhandError, Option, SpecError, warn
from evenhand.findings.changes import changes
from evenhand.findings.giving_away import MOST_ROWS, given_away_note, giving_away
from evenhand.findings.ledger import both_directions, ledger
from evenhand.findings.simpson import LEARNED, Paradox, paradoxes
from evenhand.mapping import Mapping
from evenhand.optimize.solve import Clock
from evenhand.optimum import optimal
from evenhand.render.finding import Finding
from evenhand.render.section import Note, Section
from evenhand.resources import Progress, silent
from evenhand.spec import CsvFormat, Problem
from evenhand.tables import Table, count_rows, read
from evenhand.tables.frames import take, with_column
from evenhand.tables.survey import Survey, by_code, survey
from evenhand.use.proposal.bounding import Bounds, Finder
from evenhand.use.proposal.choosing import all_joined
from evenhand.use.proposal.draft import WAYS, Draft, Ways, draft
from evenhand.use.proposal.levels import Levelled
from evenhand.use.proposal.outcome import Direction, level_called
from evenhand.use.proposal.shown import sections_of
from evenhand.use.proposal.toml import write

LOOKED_AT = 500_000
"""So many rows of a file are looked at."""

Rows = Callable[[Sequence[str], Cells, Sequence[Any]], Table]
"""Gives some columns of some rows, by their places; and what stands for a missing value in them."""


@dataclass(frozen=True, eq=False, repr=False)
class Proposal(Finding):
    """A problem that is proposed for a table.

    Attributes
    ----------
    problem : Problem
        The problem.
    toml : str
        The same as TOML, with a comment on each choice.
    draft : Draft
        The columns in their roles, and those left out, each with why.
    bounds, beside : Bounds
        How its two bounds were chosen; and those by another distance, where many people would lose the favourable
        outcome by one of them.
    direction : Direction
        Which way the outcome may change.
    source : str
        The table's name.
    weighting : Weighting or None
        By what its rows count.
    given_away : Note or None
        The columns that reveal what changes.
    outcomes : tuple of Note
        Who loses the favourable outcome by a fit, by group; or without one, who goes from which outcome to which.
    paradoxes : tuple of Note
        The features within whose levels a disparity changes sign or nearly vanishes.
    """

    problem: Problem
    toml: str
    draft: Draft
    bounds: Bounds
    direction: Direction
    beside: Bounds | None = None
    source: str = "table.csv"
    weighting: Weighting | None = None
    given_away: Note | None = None
    outcomes: tuple[Note, ...] = ()
    paradoxes: tuple[Note, ...] = ()

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """All of it as data."""
        return tuple(sections_of(self))

    def __repr__(self) -> str:
        stated = repr(self.problem).removeprefix("<Problem: ").removesuffix(">")
        return f"<Proposal: {stated}. Read .toml, change it, and fit .problem>"


def propose(
    table: AnyTable,
    *,
    protected: Sequence[str],
    outcome: str,
    features: Sequence[str] | None = None,
    cells: Ways | None = None,
    favourable: Any = None,
    sees_protected: bool = True,
    weights: str | None = None,
    frequencies: str | None = None,
    missing_values: Sequence[str] | None = None,
    csv: CsvFormat | None = None,
    progress: Progress | None = None,
) -> Proposal:
    """Propose a problem for a table: which columns are compared and changed, at which cost, and bounds that can be met.

    ``evenhand init`` does the same on the command line.

    Parameters
    ----------
    table : dataframe or path
        One row per person, or with ``frequencies`` for so many. Of a CSV or Parquet file the first rows are looked at,
        and all are counted.
    protected : sequence of str
        The protected columns.
    outcome : str
        The column whose rates are compared.
    features : sequence of str, optional
        The columns that may be changed; by default all that can be used where cells are learned, else those that
        explain most of the outcome.
    cells : {"leaves", "levels"}, optional
        Whether cells are the leaves of a tree over all features, which stay as they are, or the combinations of their
        levels. By default leaves, where nobody names the features and more than five columns explain something of the
        outcome; but levels where groups are too small for useful leaves, or scikit-learn is not installed.
    favourable : value, optional
        The outcome that is good for a person: people then move towards it only, if the bound can be met that way. If
        not, and many would lose it, a distance by which clearly fewer do is proposed where there is one.
    sees_protected : bool
        Whether the model that learns from the release may see the protected columns. If not, cells are leaves, records
        stay, and the problem says ``suppress_protected=True``.
    weights, frequencies : str, optional
        A column of survey weights, or of numbers of people, by which everything is counted.
    missing_values : sequence of str, optional
        The strings that stand for a missing value; by default those that usually do and occur.
    csv : CsvFormat, optional
        How the table's file is written, to be kept in the problem.
    progress : callable, optional
        Called with a text and the share that is done.

    Returns
    -------
    Proposal
        With the ``problem``, the same as a commented ``toml``, and ``sections``; ``print`` shows what was chosen and
        what to look at.

    Examples
    --------
    >>> import evenhand as eh
    >>> data = eh.datasets.load("compas")
    >>> found = eh.propose(data.frame, protected=["sex", "race"], outcome="is_recid")
    >>> found
    <Proposal: is_recid by sex × race, 2 features; PairwiseParity, ... Read .toml, change it, and fit .problem>
    >>> eh.Problem.from_toml(found.toml) == found.problem
    True
    """
    if weights is not None:
        check.column("weights", weights)
    if frequencies is not None:
        check.column("frequencies", frequencies)
    if missing_values is not None:
        listed = check.listed("missing_values", missing_values, "a list such as ['?']")
        missing_values = [check.text("each of missing_values", value) for value in listed]
    if csv is not None:
        check.kind("csv", csv, CsvFormat, "an eh.CsvFormat")
    return proposed(
        table,
        protected=check.columns("protected", protected),
        outcome=check.column("outcome", outcome),
        features=None if features is None else check.columns("features", features),
        cells=cells,
        favourable=None if favourable is None else check.level("favourable", favourable),
        sees_protected=check.flag("sees_protected", sees_protected),
        weighting=Weighting.of(weights, frequencies),
        missing_values=missing_values,
        csv=csv,
        source=os.fspath(table) if is_path(table) else "table.csv",
        progress=check.progress(progress),
    )


def proposed(
    table: AnyTable,
    *,
    protected: Sequence[str],
    outcome: str,
    features: Sequence[str] | None = None,
    cells: Ways | None = None,
    favourable: Any = None,
    sees_protected: bool = True,
    weighting: Weighting | None = None,
    missing_values: Collection[str] | None = None,
    csv: CsvFormat | None = None,
    source: str = "table.csv",
    target: str = "problem.toml",
    progress: Progress | None = None,
) -> Proposal:
    """Propose a problem for a table whose rows count by a ``weighting``, with the names of files in its comments.

    Weights that look like numbers of people are refused, unless they are deliberate.
    """
    column = None if weighting is None else weighting.column
    _check_roles(protected, outcome, features, column)
    check.one_of("cells", cells, (*WAYS, None))
    if not sees_protected:
        if cells == "levels":
            raise SpecError(
                "a model that does not see the protected columns is covered where records stay; leave out cells, or "
                "write leaves"
            )
        cells = "leaves"
    report = progress or silent
    report("reading", 0.0)
    looked = None
    if is_path(table):
        looked = Looked.at(table, csv, rows=LOOKED_AT, progress=lambda stage, share: report(stage, 0.2 * share))
    report("looking over the columns", 0.2)
    found = survey(
        table if looked is None else looked.distinct(), missing_values, parse=is_path(table), weighting=weighting
    )
    _check(found)
    if weighting is None:
        _note_counts(found, {*protected, outcome, *(features or ())})
    odd = ((), ()) if looked is None else (looked.source.shared, looked.source.unnamed)
    report("choosing features and levels", 0.3)
    drafted = replace(
        draft(found, protected, outcome, features, favourable, *odd, cells), sees_protected=sees_protected
    )
    used = {column.name for column in drafted.used}
    tokens = tuple(dict.fromkeys(t for column in found.columns if column.name in used for t in column.tokens))

    def text(bounds: Bounds, direction: Direction, beside: Bounds | None = None, own: Draft = drafted) -> str:
        return write(
            own,
            bounds,
            direction,
            beside,
            source=source,
            target=target,
            weighting=weighting,
            csv=csv,
            tokens=tokens,
        )

    def stated(bounds: Bounds, direction: Direction) -> Problem:
        problem = Problem.from_toml(text(bounds, direction))
        return problem if looked is not None and not looked.whole else _as_levels(problem, drafted)

    def rows(names: Sequence[str], at: Cells, blanks: Sequence[Any]) -> Table:
        return take(read(table).select(names), at) if looked is None else looked.table(names, at, blanks)

    def counted(problem: Problem) -> Counts:
        if looked is None or looked.whole:
            if looked is not None:
                looked.source.require([column.name for column in drafted.used])
            return _counts_of_rows(problem, drafted, rows)
        return counts_of(problem, table, problem.weighting, lambda stage, share: report(stage, 0.3 + 0.2 * share))

    good = None if favourable is None else level_called(drafted.outcome, favourable)
    finder = Finder(stated, counted, drafted, report)
    bounds, direction, beside = finder.proposed(good)
    given_away: Note | None = None
    outcomes: tuple[Note, ...] = ()
    if bounds.smallest_bound is not None:
        report("looking for columns that reveal changes", 0.95)
        problem = stated(bounds, direction)
        # Where it cannot be fitted, fit will say why.
        with suppress(EvenhandError):
            mapping = optimal(problem, finder.counts(problem, direction), Clock(), silent)
            given_away, outcomes = _given_away(mapping, drafted, rows), tuple(_outcomes(mapping))
    plain = stated(bounds, direction)
    named = paradoxes(plain, finder.counts(plain, direction))
    if drafted.cells is not None and drafted.trial is not None:
        # The cells of a tree justify nothing; a column may.
        own = _within_features(drafted, rows, lambda own: Problem.from_toml(text(bounds, direction, own=own)))
        few = drafted.trial.few or tuple(feature.name for feature in drafted.features)
        named = own or [replace(each, feature=LEARNED, given=few) for each in named]
    final = text(bounds, direction, beside)
    found_paradoxes = tuple(each.note(plain.outcome) for each in named)
    return Proposal(
        Problem.from_toml(final), final, drafted, bounds, direction, beside, source, weighting, given_away, outcomes,
        found_paradoxes,
    )  # fmt: skip


def _outcomes(mapping: Mapping) -> Iterator[Note]:
    """Yield who loses the favourable outcome, by group; without one, who goes from which outcome to which."""
    problem, counts = mapping.problem, mapping.counts
    who = ledger(problem, counts, mapping.kernel, mapping.achieved)
    if who is None:
        yield from both_directions(counts, changes(counts, mapping.kernel, mapping.achieved))
    elif (lost := who.loss(suppressed=problem.suppression.redraws)) is not None:
        yield lost


def _given_away(mapping: Mapping, draft: Draft, rows: Rows) -> Note | None:
    """Name the columns outside a problem that would reveal what its mapping changes."""
    names = list(dict.fromkeys(column.name for column in draft.found.columns))
    used = {column.name for column in draft.used}
    table = _examined(mapping.problem, draft, rows, names)
    passed = [name for name in names if name not in used]
    return given_away_note(giving_away(mapping.release_mode, table, passed))


def _check_roles(protected: Sequence[str], outcome: str, features: Sequence[str] | None, counts: str | None) -> None:
    """Refuse a column in two roles, and a problem without groups."""
    if not protected:
        raise SpecError("name at least one protected column")
    listed = [*protected, outcome, *(features or ()), *(() if counts is None else [counts])]
    twice = next((name for name in listed if listed.count(name) > 1), None)
    if twice is not None:
        raise SpecError(
            f"column {twice!r} is named twice; a column is protected, a feature, the outcome, the weights or the "
            f"frequencies"
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


def _note_counts(found: Survey, used: Collection[str]) -> None:
    """Say that a table looks like one of counts, where nobody said by what its rows count."""
    name = found.like_frequencies(used)
    if name is not None:
        option = Option("frequencies", name)
        warn(
            f"the values of {name!r} are integers, and no two rows have the same combination of the other columns: if "
            f"a row stands for so many people, give ",
            option,
        )


def _as_levels(problem: Problem, draft: Draft) -> Problem:
    """Return a problem over leaves as one over levels: its one feature is the leaf, which never changes.

    Leaves are those that were tried out. Bounds hardly depend on which cells there are, since outcomes alone change.
    """
    if problem.cells is None or draft.trial is None:
        return problem
    return replace(problem, features=[problem.cells.variable], cells=None)


def _counts_of_rows(problem: Problem, draft: Draft, rows: Rows) -> Counts:
    """Count a draft's table over the cells of its problem, whose feature may be the leaf.

    No file is read twice: rows that agree in every level, or leaf, are counted by the first of them.
    """
    found = draft.found
    codes = [_levels_and_names(column) for column in draft.levelled]
    leaf = None if draft.cells is None or draft.trial is None else draft.trial.leaf
    together = all_joined(codes if leaf is None else [*codes, leaf])
    first = np.unique(together, return_index=True)[1]
    once = np.ones(found.rows)
    each, heads = (once if of is None else of for of in (found.row_weights, found.row_people))
    squared = heads if np.array_equal(each, heads) else each**2
    people, weight, squares = (by_code(together, of, 0) for of in (heads, each, squared))
    at = first if found.kept is None else found.kept[first]
    table = rows([column.name for column in draft.levelled], at, problem.missing_values)
    if leaf is not None:
        (name,) = problem.features
        table = with_column(table, name, [f"leaf {number}" for number in leaf[first]])
    return count_rows(problem, table, weight, people, squares=squares)


def _within_features(draft: Draft, rows: Rows, stated: Callable[[Draft], Problem]) -> list[Paradox]:
    """Find the features of learned cells within whose levels, by themselves, a disparity changes sign or vanishes."""
    found: list[Paradox] = []
    for feature in draft.features:
        if len(feature.levelled.levels) > 1:
            own = replace(draft, features=(feature,), tried=None, cells=None)
            problem = stated(own)
            found += paradoxes(problem, _counts_of_rows(problem, own, rows), examined=len(draft.features))
    return found


def _examined(problem: Problem, draft: Draft, rows: Rows, names: Sequence[str]) -> Table:
    """Return evenly spaced rows of a draft's table, with their leaf where it is the problem's feature."""
    found = draft.found
    some = np.linspace(0, found.rows - 1, min(found.rows, MOST_ROWS)).astype(np.int64)
    table = rows(names, some if found.kept is None else found.kept[some], problem.missing_values)
    if draft.trial is None or draft.cells is None or problem.cells is not None:
        return table
    (leaf,) = problem.features
    return with_column(table, leaf, [f"leaf {number}" for number in draft.trial.leaf[some]])


def _levels_and_names(column: Levelled) -> Cells:
    """Return codes that tell levels apart, and also the words of which a level is made by name."""
    cut = column.column.numeric and column.binning is not None
    return column.codes if cut else column.column.codes + 1
