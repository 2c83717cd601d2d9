"""Rows to learn cells from, chosen by what they hold: of a table in memory, or of one that comes in pieces.

Equal tables give equal samples, in whatever order their rows come and whoever keeps them. What a column holds is told
by its type, or by all of its values. Knows columns as trees read them, not how a tree is grown.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
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
from evenhand.tables.columns import REAL, canonical, codes_of, column
from evenhand.tables.frames import stacked, take
from evenhand.tables.learned import DATE, TRUE_OR_FALSE, day_of, given, kind_of

Contents = NDArray[np.uint64]
"""A number for each row that what it holds decides."""

WRITTEN = ((Kind.NUMBER, REAL), (Kind.TRUTH, TRUE_OR_FALSE), (Kind.DATE, DATE))
"""What texts may be besides words, and how each is written."""

MIXING = np.uint64(0x9E3779B97F4A7C15)


def sample_of(
    problem: Problem, table: nw.DataFrame[Any], groups: Axis, group: Cells, outcome: Cells, weight: Numbers
) -> Sample:
    """Return what is learned from a table in memory, of whose rows the groups, outcomes and weights are known."""
    blanks = problem.missing_values
    found = {name: _seen(Asked(name, kind_of(column(table, name), blanks)), table, blanks) for name in problem.features}
    sample = _sample(problem, found, groups, group, outcome, weight)
    size = problem.cells.sample if problem.cells is not None else len(sample)
    if len(sample) <= size:
        return sample
    number = contents([seen.given for seen in (*sample.columns, *sample.segmenting)], outcome)
    return sample.of(np.sort(np.argsort(number, kind="stable")[:size]))


def _sample(
    problem: Problem, found: Mapping[str, Seen], groups: Axis, group: Cells, outcome: Cells, weight: Numbers
) -> Sample:
    there, number = np.unique(group, return_inverse=True)
    return Sample(
        columns=tuple(found[name] for name in problem.learned_over),
        outcome=outcome,
        weight=weight,
        group=number,
        group_words=[groups.words(int(cell)) for cell in there],
        segmenting=tuple(found[name] for name in problem.given),
    )


def _seen(asked: Asked, table: nw.DataFrame[Any], blanks: Sequence[Value], *, text: bool = False) -> Seen:
    """Return a column, and whether these rows have gaps there and whole numbers alone."""
    values = given(asked, column(table, asked.name), blanks, text=text)
    if values.numbers is None:
        assert values.codes is not None
        return Seen(replace(asked, gaps=bool(np.any(values.codes == NOWHERE))), values)
    there = values.numbers[~np.isnan(values.numbers)]
    whole = bool(np.all(there == np.rint(there)))
    return Seen(replace(asked, whole=whole, gaps=len(there) < len(values)), values)


def contents(columns: Iterable[Given], outcome: Cells) -> Contents:
    """Return a number for each row, by what it holds."""
    mixed = outcome.astype(np.uint64)
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


def in_order(sample: Sample) -> Sample:
    """Return a sample in an order that its rows' contents decide: sums then agree to the last digit."""
    number = contents([seen.given for seen in (*sample.columns, *sample.segmenting)], sample.outcome)
    return sample.of(np.lexsort((sample.weight, number)))


def folds_of(table: nw.DataFrame[Any], columns: Sequence[str], blanks: Sequence[Value], number: int) -> Cells:
    """Return the fold of each row, by what it holds: equal rows are in one fold, in whatever order rows come."""
    kind, people = _kinds_of_rows(table, columns, blanks)
    return _together(people, number)[kind]


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


def _can_be_read(table: nw.DataFrame[Any], name: str) -> bool:
    try:
        kind_of(column(table, name), ())
    except DataError:
        return False
    return True


def _kinds_of_rows(table: nw.DataFrame[Any], columns: Sequence[str], blanks: Sequence[Value]) -> tuple[Cells, Cells]:
    """Return the number of each row's kind, where equal rows are of one, and the people of each kind."""
    held = [given(Asked(name, kind_of(column(table, name), blanks)), column(table, name), blanks) for name in columns]
    number = contents(held, np.zeros(len(table), dtype=np.int64))
    _, kind, people = np.unique(number, return_inverse=True, return_counts=True)
    return np.asarray(kind), np.asarray(people)


def _together(people: Cells, number: int) -> Cells:
    """Return folds of about equally many people: each kind of rows goes where those before it end."""
    return np.asarray((np.cumsum(people) - people) * number // max(int(people.sum()), 1))


def _of_word(word: str) -> int:
    return int.from_bytes(blake2b(word.encode(errors="surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Noticed:
    """What some rows show of a column: of which kinds all of their values are, the likeliest first.

    ``valued`` says whether there is a value at all, ``gaps`` whether one is missing, and ``whole`` whether its numbers
    are whole ones.
    """

    kinds: tuple[Kind, ...]
    valued: bool
    gaps: bool = False
    whole: bool = True

    @property
    def kind(self) -> Kind:
        """What the column holds, as far as is known."""
        return self.kinds[0] if self.valued else self.kinds[-1]

    def __add__(self, other: Noticed) -> Noticed:
        kinds = tuple(kind for kind in self.kinds if kind in other.kinds)
        return Noticed(
            kinds or (Kind.WORD,), self.valued or other.valued, self.gaps or other.gaps, self.whole and other.whole
        )

    def asked(self, name: str) -> Asked:
        """Return what a tree may ask about."""
        return Asked(name, self.kind, whole=self.whole and self.kind.numeric, gaps=self.gaps)


Looks = dict[str, Noticed]
"""What is known of each column."""


def look(problem: Problem, table: nw.DataFrame[Any], *, text: bool = False) -> Looks:
    """Look at the features of some rows."""
    found = each_of(problem.features, lambda name: _noticed(column(table, name), problem.missing_values, text))
    return dict(zip(problem.features, found, strict=True))


def both(one: Looks, other: Looks) -> Looks:
    """Return what is known from two looks."""
    return {name: noticed + other[name] for name, noticed in one.items()}


def _noticed(series: nw.Series[Any], blanks: Sequence[Value], text: bool) -> Noticed:
    if isinstance(series.dtype, nw.String | nw.Categorical | nw.Enum):
        kinds, valued = _kinds_of_texts(series, blanks, text)
    else:
        # By the type alone.
        kinds, valued = (kind_of(series, blanks),), True
    seen = _seen(Asked(series.name, kinds[0]), series.to_frame(), blanks, text=text)
    return Noticed(kinds, valued, seen.asked.gaps, seen.asked.whole)


def _kinds_of_texts(series: nw.Series[Any], blanks: Sequence[Value], text: bool) -> tuple[tuple[Kind, ...], bool]:
    """Return of which kinds all texts of a column are, and whether there is one that stands for no missing value."""
    import pyarrow
    from pyarrow import compute

    values: Any = pyarrow.array(series.unique().drop_nulls().to_arrow()).cast("large_string")
    blank = pyarrow.array([*map(canonical, blanks), *([""] if text else [])], values.type)
    values = values.filter(compute.invert(compute.is_in(values, value_set=blank)))
    found = [
        kind
        for kind, pattern in WRITTEN
        if (text or kind is not Kind.NUMBER)
        and _all_fit(values, pattern)
        and (kind is not Kind.DATE or _all_days(values))
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
    """Rows of a table that comes in pieces, each with a weight of more than nothing."""

    table: nw.DataFrame[Any]
    weight: Numbers


Pieces = Callable[[], Iterable[Piece]]
"""Reads a table from its beginning."""


def sample_in_pieces(
    problem: Problem, size: int, pieces: Pieces, variables: Sequence[Variable], *, text: bool
) -> Sample:
    """Return so many rows of a table that comes in pieces, or all, the same that would be chosen in memory.

    The pieces are read once; twice where later rows are of another kind than the first make believe.
    """
    known: Looks = {}
    chosen: Smallest | None = Smallest(size)
    for piece in pieces():
        found = look(problem, piece.table, text=text)
        before, known = known, both(known, found) if known else found
        if before and _kinds(before) != _kinds(known):
            # What was chosen went by other kinds.
            chosen = None
        if chosen is not None:
            chosen.add(row_contents(problem, known, variables, piece.table, text=text), piece)
    if chosen is None:
        chosen = Smallest(size)
        for piece in pieces():
            chosen.add(row_contents(problem, known, variables, piece.table, text=text), piece)
    return sample_of_rows(problem, known, variables, chosen.rows, text=text)


def _kinds(known: Looks) -> list[Kind]:
    return [noticed.kind for noticed in known.values()]


def row_contents(
    problem: Problem, known: Looks, variables: Sequence[Variable], table: nw.DataFrame[Any], *, text: bool = False
) -> Contents:
    """Return the number of each row by which samples are chosen; what columns hold is known."""
    names = (*problem.learned_over, *problem.given)

    def read(name: str) -> Given:
        return given(known[name].asked(name), column(table, name), problem.missing_values, text=text)

    return contents(each_of(names, read), _codes(variables, problem.outcome, table, text))


def sample_of_rows(
    problem: Problem, known: Looks, variables: Sequence[Variable], rows: Piece, *, text: bool = False
) -> Sample:
    """Return rows that were chosen as what is learned from."""
    groups = Axis(tuple(variable for variable in variables if variable.role is Role.PROTECTED))
    group = groups.ravel([_codes(variables, name, rows.table, text) for name in groups.names])
    outcome, table, blanks = _codes(variables, problem.outcome, rows.table, text), rows.table, problem.missing_values
    asked = {name: noticed.asked(name) for name, noticed in known.items()}
    found = {name: Seen(each, given(each, column(table, name), blanks, text=text)) for name, each in asked.items()}
    return _sample(problem, found, groups, group, outcome, rows.weight)


def _codes(variables: Sequence[Variable], name: str, table: nw.DataFrame[Any], text: bool) -> Cells:
    (variable,) = (each for each in variables if each.name == name)
    return codes_of(variable, column(table, name), text=text)


class Smallest:
    """The rows with the smallest numbers, of a table that comes in pieces; of equal ones the first."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._limit = np.uint64(2**64 - 1)
        self._held: list[tuple[Contents, Piece]] = []

    def add(self, number: Contents, piece: Piece) -> None:
        """Take what may be among the smallest from a piece."""
        at = np.flatnonzero(number <= self._limit)
        self._held.append((number[at], Piece(take(piece.table, at), piece.weight[at])))
        if sum(len(number) for number, _ in self._held) > 2 * self._size:
            self._shrink()

    def _shrink(self) -> None:
        number = np.concatenate([number for number, _ in self._held])
        table = stacked([piece.table for _, piece in self._held])
        weight = np.concatenate([piece.weight for _, piece in self._held])
        if len(number) > self._size:
            kept = np.sort(np.argsort(number, kind="stable")[: self._size])
            number, table, weight = number[kept], take(table, kept), weight[kept]
            self._limit = number.max()
        self._held = [(number, Piece(table, weight))]

    @property
    def rows(self) -> Piece:
        """The rows, in their order."""
        self._shrink()
        return self._held[0][1]
