"""Files looked over: distinct values as a fit reads them, and rows of them."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.data.weighting import Weighting
from evenhand.engines import read_file
from evenhand.engines.looking import Looked
from evenhand.tables.survey import survey

TEXTS = pd.DataFrame(
    {
        "whole": ["3", "1", "", "3"],
        "real": ["0.5", "2", "", "1.0"],
        "words": ["a", "?", "", "a"],
        "code": ["007", "7", "8", "9"],
        "gaps": ["1", "?", "2", ""],
        "nothing": ["", "", "", ""],
    }
)


@pytest.fixture
def file(tmp_path):
    TEXTS.to_csv(tmp_path / "texts.csv", index=False)
    return tmp_path / "texts.csv"


def test_columns_are_as_a_file_is_read(file):
    looked = Looked.at(file, rows=100)
    by_file, by_frame = survey(looked.distinct(), parse=True), survey(read_file(file), parse=True)
    assert looked.whole
    for one, other in zip(by_file.columns, by_frame.columns, strict=True):
        assert (one.name, one.values, one.tokens, one.dated) == (other.name, other.values, other.tokens, other.dated)
        assert one.codes.tolist() == other.codes.tolist(), one.name
    assert by_file["real"].real
    assert not by_file["whole"].real, "a missing value makes no real number of a whole one"
    assert (by_file["whole"].values, by_file["real"].values) == ((1, 3), (0.5, 1.0, 2.0))
    assert by_file["nothing"].values == ()


def test_numbers_are_kept_exactly(tmp_path):
    large = 2**55 + 1
    pd.DataFrame({"n": [str(large), "1"], "far": ["1e300", "2.5e300"]}).to_csv(tmp_path / "far.csv", index=False)
    found = survey(Looked.at(tmp_path / "far.csv", rows=9).distinct(), parse=True)
    assert found["n"].values == (1, large)
    assert found["far"].values == (int(1e300), int(2.5e300))


def test_rows_are_as_a_fit_reads_them(file):
    rows = Looked.at(file, rows=100).table(["gaps", "words", "whole"], np.array([2, 0, 1]), ["?"])
    assert rows["gaps"].to_list() == [2, 1, None], "without what stands for a missing one, all are numbers"
    assert rows["words"].to_list() == [None, "a", None]
    assert rows["whole"].to_list() == [None, 3, 1]


def test_values_from_the_first_rows_and_types_from_all(tmp_path):
    """A word after the rows that are looked at makes words of the numbers before it."""
    pd.DataFrame({"n": ["1", "2", "3", "x"]}).to_csv(tmp_path / "late.csv", index=False)
    looked = Looked.at(tmp_path / "late.csv", rows=2)
    assert not looked.whole
    assert survey(looked.distinct())["n"].values == ("1", "2")


def test_parquet(tmp_path):
    frame = pd.DataFrame({"n": [3, 1, 3], "w": ["a", None, "b"], "list": [[1], [2], [3]]})
    frame.to_parquet(tmp_path / "t.parquet")
    looked = Looked.at(tmp_path / "t.parquet", rows=100)
    found = survey(looked.distinct(), parse=True)
    assert (found["n"].values, found["w"].missing, found["list"].nested) == ((1, 3), 1, True)
    assert looked.table(["w", "n"], np.array([2, 1]))["w"].to_list() == ["b", None]


def test_rows_without_a_weight_hold_nothing(tmp_path):
    frame = pd.DataFrame({"n": ["5", "7", "9"], "w": ["1", "0", "2"]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    found = survey(Looked.at(tmp_path / "t.csv", rows=9).distinct(), parse=True, weighting=Weighting("w"))
    assert found["n"].values == (5, 9)
    assert found.kept.tolist() == [0, 2]
    with pytest.raises(eh.DataError, match="has no column 'weight'; it has n, w"):
        survey(Looked.at(tmp_path / "t.csv", rows=9).distinct(), parse=True, weighting=Weighting("weight"))
