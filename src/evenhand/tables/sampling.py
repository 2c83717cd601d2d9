"""Rows to learn cells from: of a table in memory, or of one that comes in pieces.

Rows that agree in features, group and outcome are put together. Of too many, kinds of features are chosen by what they
hold, each with everybody who is like that: who is left out depends on no outcome, and rates within a kind are those of
all. Equal tables give equal samples, in whatever order their rows come and whoever keeps them. What a column holds is
told by its type, or by all of its values. Knows columns as trees read them, not how a tree is grown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from hashlib import blake2b
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from evenhand.arrays import Cells, Numbers
from evenhand.data.domain import Axis, Role, Value, Variable
from evenhand.data.tree import NOWHERE, Asked, Given, Kind
from evenhand.errors import DataError
from evenhand.resources import each_of
from evenhand.spec import Problem
from evenhand.spec.cells import Sample, Seen
from evenhand.tables.columns import canonical, codes_of, column
from evenhand.tables.frames import Frame, read, stacked, take
from evenhand.tables.learned import DATE, TRUE_OR_FALSE, day_of, given, kind_of

Contents = NDArray[np.uint64]
"""A number for each row that what it holds decides."""

WRITTEN = ((Kind.TRUTH, TRUE_OR_FALSE), (Kind.DATE, DATE))
"""What texts may be besides words, and how each is written."""

MIXING = np.uint64(0x9E3779B97F4A7C15)


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups of a whole table: their axis, the cells in which somebody is, ascending, and how many people."""

    axis: Axis
    cells: Cells
    people: Cells


def sample_of(
    problem: Problem,
    table: nw.DataFrame[Any],
    groups: Groups,
    group: Cells,
    outcome: Cells,
    weight: Numbers,
    people: Numbers,
) -> Sample:
    """Return what is learned from a table in memory, of whose rows groups, outcomes, weights and people are known."""
    assert problem.cells is not None
    blanks = problem.missing_values
    found = {name: _seen(Asked(name, kind_of(column(table, name), blanks)), table, blanks) for name in problem.features}
    held = [found[name].given for name in (*problem.learned_over, *problem.given)]
    alike = Alike.of(contents(held, len(table)), group, outcome, weight, people).first(problem.cells.sample)
    return _sample(problem, {name: seen.of(alike.at) for name, seen in found.items()}, groups, alike)


def _sample(problem: Problem, found: Mapping[str, Seen], groups: Groups, alike: Alike) -> Sample:
    """Return rows that each stand for all that are like them; what a column holds is known from all of its values."""
    return Sample(
        columns=tuple(found[name] for name in problem.learned_over),
        outcome=alike.outcome,
        weight=alike.weight,
        people=alike.people,
        group=np.searchsorted(groups.cells, alike.group),
        group_words=[groups.axis.words(int(cell)) for cell in groups.cells],
        everybody=groups.people,
        segmenting=tuple(found[name] for name in problem.given),
    )


@dataclass(frozen=True, eq=False)
class Alike:
    """Rows that agree in features, group and outcome, put together, in the order of what they hold.

    Attributes
    ----------
    number : array
        What the features hold: rows of one number are of one kind.
    group, outcome : array
        Their groups and outcomes.
    weight, people : array
        How much they weigh together, and how many they are.
    at : array
        The place of one of them.
    """

    number: Contents
    group: Cells
    outcome: Cells
    weight: Numbers
    people: Numbers
    at: Cells

    @classmethod
    def of(cls, number: Contents, group: Cells, outcome: Cells, weight: Numbers, people: Numbers) -> Alike:
        """Put rows together. Weights are added from the smallest on, so that sums do not depend on the rows' order."""
        order = np.lexsort((weight, outcome, group, number))
        changes = [key[order][1:] != key[order][:-1] for key in (number, group, outcome)]
        starts = np.flatnonzero(np.append(len(order) > 0, np.any(changes, axis=0)))
        at = order[starts]
        weight, people = (np.add.reduceat(each[order], starts) if len(order) else each for each in (weight, people))
        return cls(number[at], group[at], outcome[at], weight, people, at)

    def __len__(self) -> int:
        return len(self.at)

    def first(self, size: int) -> Alike:
        """Return at most so many of them: whole kinds, so that rates of outcomes are those of everybody like that.

        A part of those who are alike would have other rates; one kind is there in any case.
        """
        if len(self) <= size:
            return self
        ends = np.append(np.flatnonzero(np.diff(self.number) != 0) + 1, len(self))
        within = int(np.count_nonzero(ends <= size))
        kept = slice(int(ends[max(within - 1, 0)]))
        return Alike(*(getattr(self, part.name)[kept] for part in fields(self)))


def _seen(asked: Asked, table: nw.DataFrame[Any], blanks: Sequence[Value]) -> Seen:
    """Return a column, and whether these rows have gaps there."""
    values = given(asked, column(table, asked.name), blanks)
    if values.numbers is None:
        assert values.codes is not None
        return Seen(replace(asked, gaps=bool(np.any(values.codes == NOWHERE))), values)
    return Seen(replace(asked, gaps=bool(np.any(np.isnan(values.numbers)))), values)


def contents(columns: Iterable[Given], rows: int) -> Contents:
    """Return a number for each of so many rows, by what it holds."""
    mixed = np.zeros(rows, dtype=np.uint64)
    for held in columns:
        if held.numbers is not None:
            # One zero, and one way to hold nothing.
            part = np.where(np.isnan(held.numbers), np.nan, held.numbers + 0.0).view(np.uint64)
        else:
            assert held.codes is not None
            # By the words themselves: their codes depend on the order of rows.
            part = np.array([*map(_of_word, held.words), 0], dtype=np.uint64)[held.codes]
        mixed = (mixed ^ part) * MIXING
        mixed ^= mixed >> np.uint64(31)
    return mixed


def by_content(table: Frame) -> Numbers:
    """Return a number from 0 to 1 for each row, by what it holds and nothing else: equal rows have the same."""
    read_ = read(table)
    names = [name for name in read_.columns if _can_be_read(read_, name)]
    mixed = contents(_held(read_, names, ()), len(read_)) * MIXING
    return np.asarray((mixed >> np.uint64(11)).astype(float) / float(1 << 53))


def dealt_folds(table: nw.DataFrame[Any], columns: Sequence[str], number: int, *ties: NDArray[Any]) -> Cells:
    """Return the fold of each row, by what it holds: rows of which there are many alike are spread over all folds.

    A model that has not seen anybody like them would have to guess. Of so few alike that they may be one person twice,
    all are in one fold. Rows that are alike are taken in the order of ``ties``, the last one first. Columns that hold
    anything but numbers, words, truths and dates are not looked at.
    """
    kind, people = _kinds_of_rows(table, [name for name in columns if _can_be_read(table, name)], ())
    order = np.lexsort((*ties, kind))
    turn = np.empty(len(kind), dtype=np.int64)
    turn[order] = np.arange(len(kind)) - (np.cumsum(people) - people)[kind[order]]
    many = people >= number
    together = _together(np.where(many, 0, people), number)
    return np.where(many[kind], (kind + turn) % number, together[kind])


def order_by_content(problem: Problem, table: nw.DataFrame[Any], *ties: NDArray[Any]) -> Cells:
    """Return the order of rows by what their features hold, and then by ``ties``, the last one first."""
    known, blanks = look(problem, table), problem.missing_values
    held = [given(each.asked(name), column(table, name), blanks) for name, each in known.items()]
    return np.asarray(np.lexsort((*ties, contents(held, len(table)))))


def _can_be_read(table: nw.DataFrame[Any], name: str) -> bool:
    try:
        kind_of(column(table, name), ())
    except DataError:
        return False
    return True


def _kinds_of_rows(table: nw.DataFrame[Any], columns: Sequence[str], blanks: Sequence[Value]) -> tuple[Cells, Cells]:
    """Return the number of each row's kind, where equal rows are of one, and the people of each kind."""
    _, kind, people = np.unique(
        contents(_held(table, columns, blanks), len(table)), return_inverse=True, return_counts=True
    )
    return np.asarray(kind), np.asarray(people)


def _held(table: nw.DataFrame[Any], columns: Sequence[str], blanks: Sequence[Value]) -> list[Given]:
    return [given(Asked(name, kind_of(column(table, name), blanks)), column(table, name), blanks) for name in columns]


def _together(people: Cells, number: int) -> Cells:
    """Return folds of about equally many people: each kind of rows goes where those before it end."""
    return np.asarray((np.cumsum(people) - people) * number // max(int(people.sum()), 1))


def _of_word(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Noticed:
    """What some rows show of a column: of which kinds all of their values are, the likeliest first.

    ``valued`` says whether there is a value at all, ``gaps`` whether one is missing.
    """

    kinds: tuple[Kind, ...]
    valued: bool
    gaps: bool = False

    @property
    def kind(self) -> Kind:
        """What the column holds, as far as is known."""
        return self.kinds[0] if self.valued else self.kinds[-1]

    def __add__(self, other: Noticed) -> Noticed:
        kinds = tuple(kind for kind in self.kinds if kind in other.kinds)
        return Noticed(kinds or (Kind.WORD,), self.valued or other.valued, self.gaps or other.gaps)

    def asked(self, name: str) -> Asked:
        """Return what a tree may ask about."""
        return Asked(name, self.kind, gaps=self.gaps)


Looks = dict[str, Noticed]
"""What is known of each column."""


def look(problem: Problem, table: nw.DataFrame[Any]) -> Looks:
    """Look at the features of some rows."""
    found = each_of(problem.features, lambda name: _noticed(column(table, name), problem.missing_values))
    return dict(zip(problem.features, found, strict=True))


def both(one: Looks, other: Looks) -> Looks:
    """Return what is known from two looks."""
    return {name: noticed + other[name] for name, noticed in one.items()}


def _noticed(series: nw.Series[Any], blanks: Sequence[Value]) -> Noticed:
    if isinstance(series.dtype, nw.String | nw.Categorical | nw.Enum):
        kinds, valued = _kinds_of_texts(series, blanks)
    else:
        # By the type alone.
        kinds, valued = (kind_of(series, blanks),), True
    seen = _seen(Asked(series.name, kinds[0]), series.to_frame(), blanks)
    return Noticed(kinds, valued, seen.asked.gaps)


def _kinds_of_texts(series: nw.Series[Any], blanks: Sequence[Value]) -> tuple[tuple[Kind, ...], bool]:
    """Return of which kinds all texts of a column are, and whether there is one that stands for no missing value."""
    import pyarrow
    from pyarrow import compute

    values: Any = pyarrow.array(series.unique().drop_nulls().to_arrow()).cast("large_string")
    blank = pyarrow.array([*map(canonical, blanks)], values.type)
    values = values.filter(compute.invert(compute.is_in(values, value_set=blank)))
    found = [
        kind for kind, pattern in WRITTEN if _all_fit(values, pattern) and (kind is not Kind.DATE or _all_days(values))
    ]
    return (*found, Kind.WORD), len(values) > 0


def _all_fit(values: Any, pattern: str) -> bool:
    from pyarrow import compute

    matched: Any = compute
    return bool(matched.all(matched.match_substring_regex(values, rf"(?s)\A(?:{pattern})\z"), min_count=0).as_py())


def _all_days(values: Any) -> bool:
    return all(day_of(value) is not None for value in values.to_pylist())


@dataclass(frozen=True, eq=False)
class Piece:
    """Rows of a table that comes in pieces, with their weights; or with frequencies, each ``repeats`` so often."""

    table: nw.DataFrame[Any]
    weight: Numbers
    repeats: bool = False

    @property
    def people(self) -> Numbers:
        """How many people each row is."""
        return self.weight if self.repeats else (self.weight > 0).astype(float)

    @property
    def squares(self) -> Numbers:
        """The sum of the squared weights of these people."""
        return self.weight if self.repeats else self.weight**2

    def of(self, at: Cells) -> Piece:
        """Return some of the rows."""
        return self if len(at) == len(self.weight) else Piece(take(self.table, at), self.weight[at], self.repeats)


Pieces = Callable[[], Iterable[Piece]]
"""Reads a table from its beginning."""


def sample_in_pieces(
    problem: Problem, size: int, pieces: Pieces, variables: Sequence[Variable], groups: Groups
) -> Sample:
    """Return what is learned from a table that comes in pieces: the same rows that would be chosen in memory."""
    known, alike, table = chosen_in_pieces(problem, size, pieces, variables)
    return sample_of_rows(problem, known, groups, alike, table)


def chosen_in_pieces(
    problem: Problem, size: int, pieces: Pieces, variables: Sequence[Variable]
) -> tuple[Looks, Alike, nw.DataFrame[Any]]:
    """Return what the columns of a table hold, so many kinds of its rows, and one row of each kind.

    The pieces are read once; twice where later rows are of another kind than the first make believe.
    """
    known: Looks = {}
    chosen: Smallest | None = Smallest(size)
    for piece in pieces():
        found = look(problem, piece.table)
        before, known = known, both(known, found) if known else found
        if before and _kinds(before) != _kinds(known):
            # What was chosen went by other kinds.
            chosen = None
        if chosen is not None:
            chosen.add(alike_in(problem, known, variables, piece), piece.table)
    if chosen is None:
        chosen = Smallest(size)
        for piece in pieces():
            chosen.add(alike_in(problem, known, variables, piece), piece.table)
    return known, *chosen.rows


def _kinds(known: Looks) -> list[Kind]:
    return [noticed.kind for noticed in known.values()]


def alike_in(problem: Problem, known: Looks, variables: Sequence[Variable], piece: Piece) -> Alike:
    """Put the rows of a piece together that are alike; what columns hold is known."""
    table = piece.table

    def read(name: str) -> Given:
        return given(known[name].asked(name), column(table, name), problem.missing_values)

    number = contents(each_of((*problem.learned_over, *problem.given), read), len(table))
    groups = Axis(tuple(variable for variable in variables if variable.role is Role.PROTECTED))
    group = groups.ravel([_codes(variables, name, table) for name in groups.names])
    outcome = _codes(variables, problem.outcome, table)
    return Alike.of(number, group, outcome, piece.weight, piece.people)


def sample_of_rows(problem: Problem, known: Looks, groups: Groups, alike: Alike, table: nw.DataFrame[Any]) -> Sample:
    """Return rows that were chosen, one of each kind in its order, as what is learned from."""
    blanks = problem.missing_values
    asked = {name: noticed.asked(name) for name, noticed in known.items()}
    found = {name: Seen(each, given(each, column(table, name), blanks)) for name, each in asked.items()}
    return _sample(problem, found, groups, alike)


def _codes(variables: Sequence[Variable], name: str, table: nw.DataFrame[Any]) -> Cells:
    (variable,) = (each for each in variables if each.name == name)
    return codes_of(variable, column(table, name))


class Smallest:
    """The kinds of rows with the smallest numbers, of a table that comes in pieces."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._limit = np.uint64(2**64 - 1)
        self._held: list[tuple[Alike, nw.DataFrame[Any]]] = []

    def add(self, alike: Alike, table: nw.DataFrame[Any]) -> None:
        """Take what may be among the smallest from a piece."""
        # They are in the order of their numbers.
        kept = int(np.searchsorted(alike.number, self._limit, side="right"))
        alike = alike.first(kept) if kept else alike
        if kept:
            self._held.append((alike, take(table, alike.at)))
        if sum(len(each) for each, _ in self._held) > 2 * self._size:
            self._shrink()

    def _shrink(self) -> None:
        held = [each for each, _ in self._held]
        together = Alike.of(
            *(np.concatenate([getattr(each, name) for each in held]) for name in ("number", "group", "outcome")),
            *(np.concatenate([getattr(each, name) for each in held]) for name in ("weight", "people")),
        ).first(self._size)
        table = take(stacked([table for _, table in self._held]), together.at)
        self._limit = min(self._limit, together.number.max())
        self._held = [(together, table)]

    @property
    def rows(self) -> tuple[Alike, nw.DataFrame[Any]]:
        """What was chosen, and a row of each kind."""
        self._shrink()
        return self._held[0]
