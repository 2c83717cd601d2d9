"""People in files: found by texts or numbers, in whatever kind of file, with their positions."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.engines import row_at, rows_where

FRAME = pd.DataFrame({"id": ["007", "7", "a b", None], "n": [1.0, 2.5, 2.0, np.nan], "k": [1, 2, 2, 3]})


@pytest.fixture(params=["csv", "parquet", "csv.gz"])
def path(request, tmp_path):
    found = tmp_path / f"people.{request.param}"
    FRAME.to_parquet(found) if request.param == "parquet" else FRAME.to_csv(found, index=False)
    return found


@pytest.mark.parametrize(
    ("where", "rows"),
    [
        ({"id": "7"}, [1]),
        ({"id": "007"}, [0]),
        ({"id": "07"}, [0, 1]),
        ({"id": "a b"}, [2]),
        ({"k": "2"}, [1, 2]),
        ({"k": "2", "n": "2.50"}, [1]),
        ({"n": "2"}, [2]),
        ({"k": "9"}, []),
        ({"k": "2", "id": "007"}, [1]),
    ],
)
def test_who_meets_conditions(path, where, rows):
    number, found = rows_where(path, where, {"k": None})
    assert (number, [row.position for row in found]) == (len(rows), rows)
    assert [int(row.values["k"]) for row in found] == FRAME["k"].iloc[rows].tolist()


def test_many_are_counted_and_a_few_kept(tmp_path):
    pd.DataFrame({"k": np.arange(200_000) % 3}).to_parquet(tmp_path / "many.parquet")
    number, found = rows_where(tmp_path / "many.parquet", {"k": "1"}, {})
    assert (number, len(found)) == (66_667, 5)
    late = pd.DataFrame({"k": np.arange(200_000)})
    late.to_csv(tmp_path / "late.csv", index=False)
    _, (row,) = rows_where(tmp_path / "late.csv", {"k": "199999"}, {})
    assert row.position == 199_999


def test_a_row_by_its_position(path):
    assert str(row_at(path, 2, {"id": None, "k": None}).values["id"]) == "a b"
    with pytest.raises(eh.DataError, match="has no row 5"):
        row_at(path, 4, {"k": None})


def test_a_column_that_is_not_there_is_named(path):
    with pytest.raises(eh.DataError, match="no column 'key'"):
        rows_where(path, {"key": "1"}, {})
