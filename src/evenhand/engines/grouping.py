"""Equal rows of a file put together: their number, their weight, and the sum of their squared weights.

Of a CSV file they are put together batch by batch, in one pass for any sets of columns; Parquet is grouped by DuckDB.
Texts of a CSV file stay texts here. Values may have others that stand for them, so that there are no more rows than
levels have combinations.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from evenhand.arrays import Cells, Numbers, alike, sums
from evenhand.data.weighting import SURVEY, Weighting
from evenhand.engines.files import Batch, Reader
from evenhand.engines.weights import Weights
from evenhand.errors import DataError, Option
from evenhand.resources import current, words

ROWS, WEIGHT, SQUARES = "evenhand_rows", "evenhand_weight", "evenhand_squares"
WRONG = "evenhand_wrong"

BYTES_PER_VALUE = 256
"""What it takes to sort one distinct value of a column into its bin; half of the memory is for that."""

MOST_PARTS = 1 << 20
"""So many kinds of rows are held apart before those that are equal are put together."""

Stands = Mapping[str, Any]
"""For columns an Arrow table of values and of what stands for each."""

Grouped = Any
"""An Arrow table of distinct rows: columns by their numbers, and what they count."""


def groups(
    reader: Reader,
    sets: Sequence[Sequence[str]],
    weighting: Weighting | None,
    stands: Stands | None = None,
    *,
    listing: bool = False,
    also: Callable[[Batch, Numbers], None] | None = None,
) -> list[Grouped]:
    """Return the distinct rows of sets of columns; ``listing`` says that each set lists the values of its first one.

    ``also`` is given every batch of a CSV file on the way, with the weights of its rows.
    """
    if reader.duck is not None:
        return _by_duckdb(reader, sets, weighting, stands or {}, listing=listing)
    weights = Weights(reader.source, weighting)
    kinds = [_Kinds(reader, columns, stands or {}, listing=listing) for columns in sets]
    for batch in reader.batches({}, "counting"):
        weight = weights.of(batch)
        counted = weighting or SURVEY
        each = counted.people(weight), weight, counted.squares(weight)
        for kind in kinds:
            kind.add(batch, each)
        if also is not None:
            also(batch, weight)
    weights.refuse_wrong()
    return [kind.table() for kind in kinds]


class _Kinds:
    """The distinct rows of some columns of a CSV file, as they are met."""

    def __init__(self, reader: Reader, columns: Sequence[str], stands: Stands, *, listing: bool) -> None:
        self.source, self.columns, self.listing = reader.source, tuple(columns), listing
        self.values: list[dict[Any, int]] = [{} for _ in columns]
        self.stands = [_pairs(stands[name]) if name in stands else {} for name in columns]
        self.parts: list[tuple[list[Cells], list[Numbers]]] = []

    def add(self, batch: Batch, counted: Sequence[Numbers]) -> None:
        assert batch.records is not None
        codes = []
        for name, known, stands in zip(self.columns, self.values, self.stands, strict=True):
            own, texts = batch.records.numbered(self.source.place(name))
            place = [known.setdefault(stands.get(text, text), len(known)) for text in texts]
            codes.append(np.array(place, dtype=np.int64)[own])
        self._put(codes, counted)
        if self.listing:
            refuse_too_many(self.columns[0], len(self.values[0]))
        if sum(len(each[0][0]) for each in self.parts) > MOST_PARTS:
            self._join()

    def _put(self, codes: Sequence[Cells], counted: Sequence[Numbers]) -> None:
        at, kind = alike(codes)
        self.parts.append(([each[at] for each in codes], [sums(kind, each, len(at)) for each in counted]))

    def _join(self) -> None:
        codes, counted = (
            [np.concatenate(each) for each in zip(*parts, strict=True)] for parts in zip(*self.parts, strict=True)
        )
        self.parts = []
        self._put(codes, counted)

    def table(self) -> Grouped:
        """Return the distinct rows, those that weigh nothing among them."""
        import pyarrow

        if self.parts:
            self._join()
        codes, counted = self.parts[0] if self.parts else ([NOTHING] * len(self.columns), [NOTHING] * 3)
        columns = {}
        for name, own, known in zip(self.columns, codes, self.values, strict=True):
            columns[self.source.at(name)] = pyarrow.array(list(known), pyarrow.string()).take(pyarrow.array(own))
        rows, weight, squares = counted
        return pyarrow.table({**columns, ROWS: rows, WEIGHT: weight, SQUARES: squares})


NOTHING = np.zeros(0, dtype=np.int64)


def _pairs(stands: Any) -> dict[Any, Any]:
    return dict(zip(stands["value"].to_pylist(), stands["stand"].to_pylist(), strict=True))


def refuse_too_many(name: str, number: int) -> None:
    """Refuse a column of so many distinct values that they do not fit into memory."""
    memory = current().memory
    if number * BYTES_PER_VALUE > memory / 2:
        raise DataError(
            f"column {name!r} has {number:,} distinct values, more than can be sorted into bins within "
            f"{words(memory)} of memory; round it to fewer, or try ",
            Option("memory", words(2 * number * BYTES_PER_VALUE)),
        )


def _by_duckdb(
    reader: Reader, sets: Sequence[Sequence[str]], weighting: Weighting | None, stands: Stands, *, listing: bool
) -> list[Grouped]:
    from evenhand.engines.duck import watched

    found = []
    with watched(reader.duck, "counting", reader.progress):
        for columns in sets:
            if listing:
                number = reader.duck.sql(
                    f"SELECT count(DISTINCT {reader.source.at(columns[0])}) FROM {reader.source.sql}"
                ).fetchall()[0][0]
                refuse_too_many(columns[0], number)
            grouped = reader.duck.sql(_query(reader, columns, weighting, stands)).to_arrow_table()
            if (wrong := int(grouped[WRONG].to_numpy().sum())) > 0:
                _refuse_wrong(reader, weighting, wrong)
            found.append(grouped.drop_columns([WRONG]))
    return found


def _query(reader: Reader, columns: Sequence[str], weighting: Weighting | None, stands: Stands) -> str:
    """Return the query of the distinct rows, each value as the one that stands for it."""
    source = reader.source
    chosen, tables = [], [f"{source.sql} AS evenhand_given"]
    for place, name in enumerate(columns):
        number = source.at(name)
        own = f"evenhand_given.{number}"
        if name in stands:
            reader.duck.register(f"evenhand_stands_{place}", stands[name])
            each = f"(SELECT DISTINCT * FROM evenhand_stands_{place}) AS evenhand_{place}"
            tables.append(f"LEFT JOIN {each} ON {own} = evenhand_{place}.value")
            own = f"coalesce(evenhand_{place}.stand, {own})"
        chosen.append(f"{own} AS {number}")
    kept = ", ".join(map(source.at, columns))
    weight, bad = "1", "false"
    repeats = weighting is not None and weighting.repeats
    if weighting is not None:
        weight = f"TRY_CAST(evenhand_given.{source.at(str(weighting.column))} AS DOUBLE)"
        fraction = f" OR {weight} != floor({weight})" if repeats else ""
        bad = f"{weight} IS NULL OR NOT isfinite({weight}) OR {weight} < 0{fraction}"
    people = f"sum({WEIGHT})" if repeats else f"count(*) FILTER ({WEIGHT} > 0)"
    squares = WEIGHT if repeats else f"{WEIGHT} * {WEIGHT}"
    rows = f"SELECT {', '.join(chosen)}, {weight} AS {WEIGHT}, {bad} AS {WRONG} FROM {' '.join(tables)}"
    return (
        f"SELECT {kept}, CAST({people} AS DOUBLE) AS {ROWS}, sum({WEIGHT})::DOUBLE AS {WEIGHT}, "
        f"sum({squares})::DOUBLE AS {SQUARES}, CAST(count(*) FILTER ({WRONG}) AS BIGINT) AS {WRONG} "
        f"FROM ({rows}) GROUP BY ALL ORDER BY ALL"
    )


def _refuse_wrong(reader: Reader, weighting: Weighting | None, wrong: int) -> None:
    """Refuse weights that are none, with an example of one."""
    assert weighting is not None
    weights = Weights(reader.source, weighting)
    for batch in reader.batches({str(weighting.column): None}, "counting"):
        weights.of(batch)
        if weights.wrong:
            break
    weights.wrong = wrong
    weights.refuse_wrong()
