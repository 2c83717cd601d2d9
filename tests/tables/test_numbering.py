"""The values of a column as numbers: whatever library keeps it, codes and values give the column back."""

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from evenhand.tables import numbering
from evenhand.tables.numbering import NULL, numbered

CHUNKS = 3


def in_chunks(kind):
    """Return what makes an Arrow column of several chunks."""

    def made(values):
        array = pa.array(values, kind)
        step = -(-len(values) // CHUNKS) or 1
        return pa.chunked_array([array.slice(i, step) for i in range(0, len(values), step)], array.type)

    return made


def of_each_own(values):
    """Return a column whose chunks have dictionaries of their own."""
    chunks = in_chunks(pa.string())(values).chunks
    return pa.chunked_array([c.dictionary_encode() for c in chunks], pa.dictionary(pa.int32(), pa.string()))


def without_signs(values):
    """Return a column whose dictionary's indices have 64 bits and no sign, in chunks with and without nulls."""
    kind = pa.dictionary(pa.uint64(), pa.string())
    return pa.chunked_array([c.dictionary_encode().cast(kind) for c in in_chunks(pa.string())(values).chunks], kind)


TEXTS = {
    "pandas": lambda v: pd.Series(v, dtype="str"),
    "pandas, objects": lambda v: pd.Series(v, dtype=object),
    "pandas, string": lambda v: pd.Series(v, dtype="string"),
    "pandas, Arrow": lambda v: pd.Series(v, dtype=pd.ArrowDtype(pa.string())),
    "pandas, joined": lambda v: pd.concat([pd.Series(v[:5], dtype="str"), pd.Series(v[5:], dtype="str")]),
    "pandas, categories": lambda v: pd.Series(v, dtype="category"),
    "Arrow": in_chunks(pa.string()),
    "Arrow, large": in_chunks(pa.large_string()),
    "Arrow, views": in_chunks(pa.string_view()),
    "Arrow, dictionaries": of_each_own,
    "Arrow, dictionaries without signs": without_signs,
    "polars": lambda v: pl.Series(v, dtype=pl.String),
    "polars, categories": lambda v: pl.Series(v, dtype=pl.String).cast(pl.Categorical),
    "polars, enumeration": lambda v: pl.Series(v, dtype=pl.Enum(sorted({t for t in v if t is not None}) or ["a"])),
}
COLUMNS = {
    "no rows": [],
    "nothing but nulls": [None] * 9,
    "few values": ["a", "b"] * 12,
    "a null among the first": ["a", None, "b", "a"] * 6,
    "a null below": [*["a", "b"] * 9, None],
    "a new value below": [*["a", "b"] * 9, "c", "a"],
    "a new value and a null below": [*["a", "b"] * 9, None, "c", None],
    "many values": [f"v{i}" for i in range(40)],
    "awkward": ["", " ", "é", "e\u0301", "'", '"', "\\", "a\x00b"] * 4,
}


@pytest.fixture(params=[False, True], ids=["short", "long"])
def columns_count_as(request, monkeypatch):
    """Every column here is short, unless four rows are all that is looked at first."""
    if request.param:
        monkeypatch.setattr(numbering, "FIRST_ROWS", 4)
        monkeypatch.setattr(numbering, "PART", 7)
        monkeypatch.setattr(numbering, "FEW", 8)


def listed(values, codes):
    return [None if code == NULL else values[code] for code in codes.tolist()]


@pytest.mark.slow(keep=84)
@pytest.mark.usefixtures("columns_count_as")
@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("kind", TEXTS)
def test_codes_and_values_give_the_texts_back(kind, column):
    series = nw.from_native(TEXTS[kind](COLUMNS[column]), series_only=True)
    codes, values = numbered(series)
    assert listed(values, codes) == COLUMNS[column]
    assert np.can_cast(codes.dtype, np.int64)
    assert len(set(values)) == len(values)
    assert set(values) == {text for text in COLUMNS[column] if text is not None}


NUMBERS = {
    "int64": [0, 1, 1, 0, 3] * 4,
    "int8": [-128, 127, 0, -128] * 5,
    "uint8": [0, 255] * 10,
    "uint64": [2**64 - 1, 2**64 - 3] * 10,
    "int64, low": [-(2**63), -(2**63) + 2] * 10,
    "int64, far apart": [-(2**63), 2**63 - 1, 0] * 7,
    "int32": [10**6, 10**6 + 5, 10**6] * 7,
}


@pytest.mark.usefixtures("columns_count_as")
@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_codes_and_values_give_whole_numbers_back(library, name):
    array = np.array(NUMBERS[name], dtype=name.split(",")[0])
    made = {"pandas": pd.Series, "polars": pl.Series, "pyarrow": lambda a: pa.chunked_array([a])}[library](array)
    codes, values = numbered(nw.from_native(made, series_only=True))
    assert listed(values, codes) == NUMBERS[name]
    assert all(type(value) is int for value in values)
    assert set(values) == set(NUMBERS[name])


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_whole_numbers_with_nulls(library):
    given = [3, None, 4, 3]
    made = {
        "pandas": lambda: pd.Series(given, dtype="Int64"),
        "polars": lambda: pl.Series(given),
        "pyarrow": lambda: pa.chunked_array([given]),
    }[library]()
    codes, values = numbered(nw.from_native(made, series_only=True))
    assert listed(values, codes) == given


def test_a_long_column_is_looked_up_and_one_with_a_new_value_numbered_anew(monkeypatch):
    """The short way is taken where it can be, and not where it would be wrong."""
    monkeypatch.setattr(numbering, "FIRST_ROWS", 4)
    taken = []
    by_arrow = numbering._by_arrow
    monkeypatch.setattr(numbering, "_by_arrow", lambda given: taken.append(len(given)) or by_arrow(given))
    for values, anew in (COLUMNS["few values"], []), (COLUMNS["a new value below"], [20]):
        taken.clear()
        numbered(nw.from_native(pd.Series(values, dtype="str"), series_only=True))
        assert taken == anew
