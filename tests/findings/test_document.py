"""The one rule for what JSON does not know: undefined is null, infinite is a word, a table is a list of rows."""

import json
import math
import subprocess
import sys
from enum import IntEnum, StrEnum
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from evenhand.findings.document import plain, written


class Colour(StrEnum):
    RED = "red"


class Code(IntEnum):
    NO = 1


def test_a_nested_value():
    table = pd.DataFrame({"bound": [np.inf, 0.5], "level": pd.array([1, pd.NA], dtype="Int64")})
    found = plain(
        {
            "table": table,
            "array": np.array([[1.0, -np.inf], [np.nan, 0.25]]),
            "series": pd.Series([np.inf, np.nan]),
            1: (np.float64("inf"), np.int64(3), np.bool_(True), None, pd.NaT, pd.NA, float("nan")),
            "words": [Colour.RED, Code.NO, Path("a/b"), "∞", {"deep": {-math.inf}}],
        }
    )
    assert found == {
        "table": [{"bound": "infinite", "level": 1}, {"bound": 0.5, "level": None}],
        "array": [[1.0, "-infinite"], [None, 0.25]],
        "series": ["infinite", None],
        "1": ["infinite", 3, True, None, None, None, None],
        "words": ["red", 1, "a/b", "∞", {"deep": ["-infinite"]}],
    }
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert type(found["words"][0]) is str
    assert type(found["words"][1]) is int


@pytest.mark.parametrize(
    ("value", "shown"), [(0.12345, "0.123"), (math.inf, "infinite"), (-math.inf, "-infinite"), (math.nan, "–")]
)
def test_people_read_the_same_words(value, shown):
    assert written(value, ".3f") == shown


def test_it_loads_no_library():
    code = "import sys, evenhand.findings.document; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.split()
    assert not {"numpy", "scipy", "pandas"} & set(loaded)
