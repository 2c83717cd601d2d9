"""What of a table a mapping knows, counted by hand."""

from dataclasses import replace

import pandas as pd
from families import small_frame, small_problem

import evenhand as eh
from evenhand.findings.coverage import fitted_coverage


def test_the_fitted_table():
    frame = small_frame().astype({"score": "Int64"})
    frame.loc[:4, "score"] = None
    counts = eh.fit(replace(small_problem(), missing="level"), frame).counts
    found = pd.DataFrame(fitted_coverage(counts)).set_index("column")
    assert found.loc["score"].to_list() == ["missing", 5.0, "a level"]
    assert found.loc["group", "rows"] == 0
    plain = pd.DataFrame(fitted_coverage(eh.fit(small_problem(), small_frame()).counts))
    assert set(plain["policy"]) == {"an error"}
    assert not plain["rows"].any()
