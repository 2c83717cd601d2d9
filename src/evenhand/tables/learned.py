"""Columns as a tree reads them: numbers, days and words of a frame, and the leaf of each row.

Knows frames and trees, not how a tree is grown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import narwhals as nw
import numpy as np

from evenhand import check
from evenhand.arrays import Cells, Flags, Numbers
from evenhand.data.domain import Axis, Role, Value, Variable
from evenhand.data.levels import UNSEEN
from evenhand.data.profile import Profile
from evenhand.data.tree import EPOCH, NOWHERE, Asked, Given, Kind, Tree, named_leaves
from evenhand.data.weighting import SURVEY, Weighting
from evenhand.errors import DataError
from evenhand.spec.cells import Learned
from evenhand.tables.columns import Encoded, canonical, column, encode, plain

TRUTHS = {"true": 1.0, "false": 0.0, "1": 1.0, "0": 0.0}
TRUE_OR_FALSE = "(?i:true|false)"
"""Texts that are truths, in any case."""

DATE = r"[0-9]{4}-[0-9]{2}-[0-9]{2}(.{6,25})?"
"""Texts that may be dates, with or without a time."""

RARE_WORD, NEW_GAP = "rare or new word", "missing, where nobody's was"
"""What a tree was not grown on."""

MANY, MOST = 0.05, 0.95
"""From these shares of rows on, what a tree was not grown on is warned of: what the fitted table did not have, and rare
words where it had some."""

ENOUGH = 20
"""Of fewer rows shares say nothing."""

Unlike = Mapping[tuple[str, str], int]
"""How many rows have, by column, what a tree was not grown on."""

NUMBERS = (int, float, Decimal)

HOLDS = {Kind.NUMBER: "numbers", Kind.TRUTH: "truths", Kind.DATE: "dates", Kind.WORD: "words"}

Where = Callable[[int], str]
"""Says where a row is."""


def variable_of_tree(
    cells: Learned, tree: Tree, blanks: Sequence[Value], profiles: tuple[Profile, ...] = ()
) -> Variable:
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
        profiles=profiles,
    )


def leaves(variable: Variable, table: nw.DataFrame[Any], *, first: int = 0) -> Cells:
    """Return the leaf of each row; ``first`` is the position of the first, where a table comes in pieces."""
    return leaves_and_unlike(variable, table, first=first)[0]


def leaves_and_unlike(variable: Variable, table: nw.DataFrame[Any], *, first: int = 0) -> tuple[Cells, Unlike]:
    """Return the leaf of each row, and how many rows have what the tree was not grown on."""
    assert variable.tree is not None
    rows = _given(variable, table, lambda row: f" in row {first + row + 1}")
    found = ((what, int(np.count_nonzero(flags))) for what, flags in _unlike(variable.tree, rows).items())
    return variable.tree.leaves(rows, len(table)), {what: number for what, number in found if number}


def profile_counts(
    variable: Variable, table: nw.DataFrame[Any], weight: Numbers, weighting: Weighting | None
) -> Numbers:
    """Count rows by the levels of every column that cells are learned from, one column after the other.

    Three rows: people, their weight, their squared weights.
    """
    counted = weighting or SURVEY
    each = counted.people(weight), weight, counted.squares(weight)
    both = zip(variable.profiles, _given(variable, table, None), strict=True)
    return np.concatenate([profile.counted(held, *each) for profile, held in both], axis=1)


def unlike_fitted(variable: Variable, table: nw.DataFrame[Any]) -> dict[tuple[str, str], Flags]:
    """Return which rows have what the tree was not grown on: by column, words that it does not know, and new gaps."""
    assert variable.tree is not None
    return _unlike(variable.tree, _given(variable, table, None))


def unlike_words(variable: Variable, unlike: Unlike, rows: int) -> Iterator[str]:
    """Say which columns hold in many rows what the tree was not grown on."""
    assert variable.tree is not None
    for asked in variable.tree.columns:
        words, gaps = (unlike.get((asked.name, what), 0) for what in (RARE_WORD, NEW_GAP))
        # Where the fitted table had rare words too, some are no news.
        if words >= max((MOST if asked.others else MANY) * rows, ENOUGH):
            yield (
                f"{words} of {rows} rows have a word in column {asked.name!r} that nobody, or hardly anybody, of the "
                f"fitted table had; they go where rare words go"
            )
        if gaps >= max(MANY * rows, ENOUGH):
            yield (
                f"{gaps} of {rows} rows have no value in column {asked.name!r}, where nobody's was missing in the "
                f"fitted table; they go along one branch of every split"
            )


def _unlike(tree: Tree, rows: Sequence[Given]) -> dict[tuple[str, str], Flags]:
    found: dict[tuple[str, str], Flags] = {}
    for place, (asked, held) in enumerate(zip(tree.columns, rows, strict=True)):
        if asked.kind is Kind.WORD:
            found[asked.name, RARE_WORD] = tree.unknown(place, held)
        if not asked.gaps:
            found[asked.name, NEW_GAP] = held.missing
    return found


def refuse_other_kinds(axes: Iterable[Axis], table: nw.DataFrame[Any], where: Where) -> None:
    """Refuse columns of another kind than a tree asks about, in a table whose rows have no place."""
    for variable in (variable for axis in axes for variable in axis.variables if not variable.is_column):
        _given(variable, table, where)


def _given(variable: Variable, table: nw.DataFrame[Any], where: Where | None) -> list[Given]:
    assert variable.tree is not None
    return [given(asked, column(table, asked.name), variable.blanks, where=where) for asked in variable.tree.columns]


def kind_of(series: nw.Series[Any], blanks: Sequence[Value]) -> Kind:
    """Tell what a column holds: by its type, or by all of its values."""
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
    if all(isinstance(value, bool) or _fits(TRUE_OR_FALSE, value) for value in values):
        return Kind.TRUTH
    if all(isinstance(value, NUMBERS) and not isinstance(value, bool) for value in values):
        return Kind.NUMBER
    if all(day_of(value) is not None for value in values):
        return Kind.DATE
    if not all(isinstance(value, str | int | float) for value in values):
        odd = next(value for value in values if not isinstance(value, str | int | float))
        raise DataError(
            f"column {series.name!r} holds {check.shown(odd)}; a column must hold numbers, words, truths or dates"
        )
    return Kind.WORD


def given(asked: Asked, series: nw.Series[Any], blanks: Sequence[Value], *, where: Where | None = None) -> Given:
    """Return a column as a tree reads it, which must be of the kind that it was when the tree was grown.

    ``where`` says where a row is that is of another kind.
    """
    if asked.kind is Kind.WORD:
        return _words(asked, series, blanks, where=where)
    if asked.kind is Kind.NUMBER and (series.dtype.is_numeric() or isinstance(series.dtype, nw.Boolean)):
        return Given(numbers=_without(_real(series), blanks))
    if asked.kind is Kind.DATE and isinstance(series.dtype, nw.Date | nw.Datetime):
        return Given(numbers=_days(series))
    encoded = encode(series, blanks)
    found = [_number(asked.kind, value) for value in encoded.values]
    if None in found and np.any(wrong := np.isin(encoded.codes, [i for i, n in enumerate(found) if n is None])):
        row = int(np.argmax(wrong))
        raise _other_kind(asked, encoded.values[encoded.codes[row]], "" if where is None else where(row))
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
            if not is_word(asked, value):
                raise _other_kind(asked, value)
            found.append(canonical(value))
        else:
            number = _number(asked.kind, value)
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
    try:
        return np.asarray(series.cast(nw.Float64()).to_numpy(), dtype=float)
    except Exception:  # Arrow refuses whole numbers that no real one equals; here the nearest will do
        return np.array([np.nan if value is None else float(value) for value in series.to_list()])


def _days(series: nw.Series[Any]) -> Numbers:
    """Return dates as days since 1970, NaN for none."""
    days = np.asarray(series.to_numpy()).astype("datetime64[D]")
    return np.where(np.isnat(days), np.nan, days.astype(np.int64).astype(float))


def blanks_among_numbers(blanks: Sequence[Value]) -> list[float]:
    """Return the numbers that stand for a missing one: those that read as one of the blanks does."""
    wanted = {canonical(value) for value in blanks}
    found = (
        number for text in sorted(wanted) if (number := parsed_number(text)) is not None and canonical(number) in wanted
    )
    return [number for number in found if number == number]


def _without(numbers: Numbers, blanks: Sequence[Value]) -> Numbers:
    """Return numbers with NaN for those that stand for a missing one."""
    found = blanks_among_numbers(blanks)
    return np.where(np.isin(numbers, found), np.nan, numbers) if found else numbers


def parsed_number(text: str) -> float | None:
    try:
        # Python reads 1_000, which nobody else does.
        return None if "_" in text else float(text)
    except ValueError:
        return None


def _fits(pattern: str, value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value, re.DOTALL) is not None


def _number(kind: Kind, value: Any) -> float | None:
    """Return a value as a number: a truth as 0 or 1, a date as days since 1970; None where it is not of its kind."""
    if kind is Kind.DATE:
        return day_of(value)
    if kind is Kind.TRUTH:
        return TRUTHS.get(canonical(value).lower())
    if isinstance(value, NUMBERS):
        return float(value)
    return None


def day_of(value: Any) -> float | None:
    """Return a date, or a text that writes one as 2014-05-01 with or without a time, as days since 1970."""
    if isinstance(value, str):
        try:
            value = date.fromisoformat(value[:10]) if _fits(DATE, value) else None
        except ValueError:
            return None
    if isinstance(value, datetime):
        # As columns of times with a zone are read.
        value = (value if value.tzinfo is None else value.astimezone(UTC)).date()
    return float((value - EPOCH).days) if isinstance(value, date) else None


def reads_numbers(asked: Asked) -> bool:
    """Whether words of a column are numbers that were written out."""
    return any(parsed_number(word) is not None for word in asked.words)


def reads_truths(asked: Asked) -> bool:
    """Whether words of a column are truths that were written out."""
    return any(_fits(TRUE_OR_FALSE, word) for word in asked.words)


def is_word(asked: Asked, value: Any) -> bool:
    """Whether a value is a word to a column of words: a text; or a number or a truth, where some of its words are."""
    value = plain(value)
    if isinstance(value, bool):
        return not asked.words or reads_truths(asked)
    if isinstance(value, NUMBERS):
        return not asked.words or reads_numbers(asked)
    return isinstance(value, str)


def _plain(value: Any) -> bool:
    return isinstance(plain(value), str | int | float)


def _words(asked: Asked, series: nw.Series[Any], blanks: Sequence[Value], *, where: Where | None) -> Given:
    # A column without any value may be of any type.
    encoded: Encoded = encode(series, blanks)
    # Among objects of several kinds, a number may have been one of the rare words of the fitted table.
    rare = asked.others and isinstance(series.dtype, nw.Object)
    fits = (is_word(asked, value) or (rare and _plain(value)) for value in encoded.values)
    odd = [place for place, each in enumerate(fits) if not each]
    if odd:
        row = int(np.argmax(np.isin(encoded.codes, odd)))
        raise _other_kind(asked, encoded.values[encoded.codes[row]], "" if where is None else where(row))
    # 1 and "1" are one word.
    place: dict[str, int] = {}
    places = [place.setdefault(canonical(value), len(place)) for value in encoded.values]
    return Given(codes=np.array([*places, NOWHERE], dtype=np.int64)[encoded.codes], words=list(place))
