"""Columns as a tree reads them: numbers, days and words of a frame, the leaf of each row, and a sample to learn from.

Knows frames and trees; how a tree is grown, the statement in the problem knows.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import date, datetime
from hashlib import blake2b
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from evenhand import check
from evenhand.arrays import Cells, Flags, Numbers
from evenhand.data.domain import Axis, Role, Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.data.tree import EPOCH, NOWHERE, Asked, Given, Kind, Tree, named_leaves
from evenhand.errors import DataError
from evenhand.spec.cells import Learned, Sample, Seen
from evenhand.tables.columns import Encoded, canonical, column, encode, plain
from evenhand.tables.numbering import NULL

TRUTHS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
NUMBERS = "numbers"
HOLDS = {Kind.NUMBER: NUMBERS, Kind.TRUTH: "truths", Kind.DATE: "dates", Kind.WORD: "words"}


def variable_of_tree(cells: Learned, tree: Tree, blanks: Sequence[Value]) -> Variable:
    """Return the variable whose levels are the leaves of a tree, numbered from 1 and said in words."""
    return Variable(
        cells.variable,
        Role.FEATURE,
        named_leaves(tree),
        cells.ordered,
        "str",
        missing=UNSEEN,
        blanks=tuple(blanks),
        tree=tree,
    )


def leaves(variable: Variable, table: nw.DataFrame[Any], *, text: bool = False, first: int = 0) -> Cells:
    """Return the leaf of each row; ``first`` is the position of the first, where a table comes in pieces."""
    assert variable.tree is not None
    return variable.tree.leaves(_given(variable, table, text, first), len(table))


def unknown_words(variable: Variable, table: nw.DataFrame[Any], *, text: bool = False) -> dict[str, Flags]:
    """Return for each column of words which rows have one that the tree does not know."""
    tree = variable.tree
    assert tree is not None
    rows = _given(variable, table, text, 0)
    return {
        asked.name: tree.unknown(place, rows[place])
        for place, asked in enumerate(tree.columns)
        if asked.kind is Kind.WORD
    }


def _given(variable: Variable, table: nw.DataFrame[Any], text: bool, first: int) -> list[Given]:
    assert variable.tree is not None
    return [
        given(asked, column(table, asked.name), variable.blanks, text=text, first=first)
        for asked in variable.tree.columns
    ]


def seen(series: nw.Series[Any], blanks: Sequence[Value]) -> Seen:
    """Return a column of a table to be learned from: what it holds is told by its type, or by all of its values."""
    kind = _kind(series, blanks)
    asked = Asked(series.name, kind)
    values = given(asked, series, blanks)
    if values.numbers is None:
        assert values.codes is not None
        return Seen(replace(asked, gaps=bool(np.any(values.codes == NOWHERE))), values)
    there = values.numbers[~np.isnan(values.numbers)]
    whole = bool(np.all(there == np.rint(there)))
    return Seen(replace(asked, whole=whole, gaps=len(there) < len(values)), values)


def _kind(series: nw.Series[Any], blanks: Sequence[Value]) -> Kind:
    """Tell what a column holds."""
    dtype = series.dtype
    if dtype.is_numeric():
        return Kind.NUMBER
    if isinstance(dtype, nw.Boolean):
        return Kind.TRUTH
    if isinstance(dtype, nw.Date | nw.Datetime):
        return Kind.DATE
    if isinstance(dtype, nw.Duration | nw.Time | nw.List | nw.Array | nw.Struct | nw.Binary):
        raise DataError(
            f"column {series.name!r} is of type {dtype}; a column must hold numbers, words, truths or dates"
        )
    values = encode(series, blanks).values
    if not values:
        return Kind.WORD
    if all(isinstance(value, bool) for value in values):
        return Kind.TRUTH
    if all(isinstance(value, int | float) and not isinstance(value, bool) for value in values):
        return Kind.NUMBER
    if all(_day(value) is not None for value in values):
        return Kind.DATE
    if not all(isinstance(value, str | int | float) for value in values):
        odd = next(value for value in values if not isinstance(value, str | int | float))
        raise DataError(
            f"column {series.name!r} holds {check.shown(odd)}; a column must hold numbers, words, truths or dates"
        )
    return Kind.WORD


def given(
    asked: Asked, series: nw.Series[Any], blanks: Sequence[Value], *, text: bool = False, first: int = 0
) -> Given:
    """Return a column as a tree reads it, which must be of the kind that it was when the tree was grown.

    ``text`` says that the column comes from a file of texts, in which everything is written out.
    """
    if asked.kind is Kind.WORD:
        return _words(asked, series, blanks, text=text)
    if asked.kind is Kind.NUMBER and (series.dtype.is_numeric() or isinstance(series.dtype, nw.Boolean)):
        return Given(numbers=_without(_real(series), blanks))
    if asked.kind is Kind.NUMBER and text and not blanks:
        # Most files of texts hold nothing but numbers where numbers were.
        try:
            return Given(numbers=_real(series))
        except Exception:  # each library has errors of its own
            pass
    if asked.kind is Kind.DATE and isinstance(series.dtype, nw.Date | nw.Datetime):
        return Given(numbers=_days(series))
    encoded = encode(series, (*blanks, "") if text else blanks)
    found = [_number(asked.kind, value, text) for value in encoded.values]
    if None in found and np.any(wrong := np.isin(encoded.codes, [i for i, n in enumerate(found) if n is None])):
        row = int(np.argmax(wrong))
        raise _other_kind(asked, encoded.values[encoded.codes[row]], f" in row {first + row + 1}")
    numbers = np.array([*(np.nan if n is None else n for n in found), np.nan], dtype=float)[encoded.codes]
    return Given(numbers=_without(numbers, blanks) if asked.kind is Kind.NUMBER else numbers)


def plain_values(tree: Tree, values: Sequence[Any], blanks: Sequence[Value]) -> list[Any]:
    """Return one person's values as a tree reads them: None where one is missing."""
    blank = {canonical(value) for value in blanks}
    found: list[Any] = []
    for asked, value in zip(tree.columns, values, strict=True):
        if value is None or canonical(value) in blank:
            found.append(None)
        elif asked.kind is Kind.WORD:
            if isinstance(value, int | float) and not isinstance(value, bool) and not _reads_numbers(asked):
                raise _other_kind(asked, value)
            found.append(canonical(value))
        else:
            number = _number(asked.kind, value, False)
            if number is None:
                raise _other_kind(asked, value)
            found.append(number)
    return found


def _other_kind(asked: Asked, value: Any, where: str = "") -> DataError:
    return DataError(
        f"column {asked.name!r} holds {check.shown(plain(value))}{where}, where the fitted table had "
        f"{HOLDS[asked.kind]}; convert the column"
    )


def _real(series: nw.Series[Any]) -> Numbers:
    return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=float)


def _days(series: nw.Series[Any]) -> Numbers:
    """Return dates as days since 1970, NaN for none."""
    days = np.asarray(series.to_numpy()).astype("datetime64[D]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(float))


def _without(numbers: Numbers, blanks: Sequence[Value]) -> Numbers:
    """Return numbers with NaN for those that stand for a missing one."""
    wanted = {canonical(value) for value in blanks}
    found = [number for text in wanted if (number := _parsed(text)) is not None and canonical(number) in wanted]
    return np.where(np.isin(numbers, found), np.nan, numbers) if found else numbers


def _parsed(text: str) -> float | None:
    try:
        return float(text)
    except ValueError:
        return None


def _number(kind: Kind, value: Any, text: bool) -> float | None:
    """Return a value as a number: a truth as 0 or 1, a date as days since 1970; None where it is not of its kind."""
    if kind is Kind.DATE:
        return _day(value)
    if kind is Kind.TRUTH:
        return TRUTHS.get(canonical(value).lower())
    if isinstance(value, int | float):
        return float(value)
    return _parsed(value) if text and isinstance(value, str) else None


def _day(value: Any) -> float | None:
    """Return a date, or a text that writes one as 2014-05-01 with or without a time, as days since 1970."""
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value[:10]) if len(value) in (10, *range(16, 36)) else None
        except ValueError:
            return None
    if isinstance(value, datetime):
        value = value.date()
    return float((value - EPOCH).days) if isinstance(value, date) else None


def _reads_numbers(asked: Asked) -> bool:
    """Whether words of a column are numbers that were written out."""
    return any(_parsed(word) is not None for word in asked.words)


def _words(asked: Asked, series: nw.Series[Any], blanks: Sequence[Value], *, text: bool) -> Given:
    if series.dtype.is_numeric() and asked.words and not _reads_numbers(asked) and len(series):
        raise _other_kind(asked, series[0])
    if isinstance(series.dtype, nw.Date | nw.Datetime) and len(series):
        raise _other_kind(asked, series[0])
    encoded: Encoded = encode(series, (*blanks, "") if text else blanks)
    codes = np.asarray(encoded.codes, dtype=np.int64)
    return Given(codes=np.where(codes == NULL, NOWHERE, codes), words=[canonical(value) for value in encoded.values])


def sample_of(
    columns: Iterable[nw.Series[Any]],
    segmenting: Iterable[nw.Series[Any]],
    blanks: Sequence[Value],
    groups: Axis,
    group: Cells,
    outcome: Cells,
    weight: Numbers,
) -> Sample:
    """Return what is learned from: the columns of a table, with the groups, outcomes and weights of its rows."""
    there, number = np.unique(group, return_inverse=True)
    return Sample(
        columns=tuple(seen(series, blanks) for series in columns),
        outcome=outcome,
        weight=weight,
        group=number,
        group_words=[groups.words(int(cell)) for cell in there],
        segmenting=tuple(seen(series, blanks) for series in segmenting),
    )


def chosen_rows(sample: Sample, number: int) -> Cells:
    """Return at most so many rows, chosen and put in order by what they hold.

    Equal tables then give equal samples, and sums that are equal to the last digit, in whatever order rows come.
    """
    mixed = _content((*sample.columns, *sample.segmenting), sample.outcome.astype(np.uint64))
    return np.lexsort((sample.weight, mixed))[:number]


def folds_of(table: nw.DataFrame[Any], columns: Sequence[str], blanks: Sequence[Value], number: int) -> Cells:
    """Return the fold of each row, by what it holds: equal rows are in one fold, in whatever order rows come."""
    mixed = _content([seen(column(table, name), blanks) for name in columns], np.zeros(len(table), dtype=np.uint64))
    _, kind, people = np.unique(mixed, return_inverse=True, return_counts=True)
    # Folds of about equally many people: each kind of rows goes where those before it end.
    reached = np.cumsum(people) - people
    return np.asarray((reached * number // max(len(table), 1))[kind])


def _content(columns: Sequence[Seen], mixed: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return a number that what a row holds decides, and that looks like chance."""
    for each in columns:
        held = each.given
        if held.numbers is not None:
            part = (held.numbers + 0.0).view(np.uint64)
        else:
            assert held.codes is not None
            # By the words themselves: their codes depend on the order of rows.
            texts = [int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little") for word in held.words]
            part = np.array([*texts, 0], dtype=np.uint64)[held.codes]
        mixed = (mixed ^ part) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(31)
    return mixed
