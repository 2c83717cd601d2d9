"""What of a table a mapping knows, counted by hand."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.findings.coverage import fitted_coverage


def test_the_fitted_table():
    frame = small_frame().astype({"score": "Int64"})
    frame.loc[:4, "score"] = None
    counts = eh.fit(replace(small_problem(), missing="level"), frame).counts
    found = pd.DataFrame(fitted_coverage(counts)).set_index("column")
    assert found.loc["score"].to_list() == ["missing", 5.0, "a level", ""]
    assert found.loc["group", "rows"] == 0
    plain = pd.DataFrame(fitted_coverage(shared_fit(small_problem(), small_frame()).counts))
    assert set(plain["policy"]) == {"an error"}
    assert not plain["rows"].any()


def test_new_people_are_those_who_are_alone_in_their_cell():
    """Leaving one person out at a time, by hand."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.integers(0, [2, 12, 6, 2], (150, 4)), columns=["d", "f", "g", "y"])
    problem = eh.Problem(
        protected=["d"], features=["f", "g"], outcome="y", distortion=eh.Distortion({"y": eh.Ordinal(1)})
    )
    rows = list(frame.itertuples(index=False, name=None))
    new = sum(row not in rows[:i] + rows[i + 1 :] for i, row in enumerate(rows))
    assert eh.count(problem, frame).share_of_new_cells() == pytest.approx(new / 150)
    # It is people who are counted, whatever they weigh.
    assert eh.count(problem, frame.assign(w=0.3), weights="w").share_of_new_cells() == pytest.approx(new / 150)
    blind = sum(row[1:] not in [each[1:] for each in rows[:i] + rows[i + 1 :]] for i, row in enumerate(rows))
    assert blind < new
    assert eh.count(problem, frame).share_of_new_cells("xy") == pytest.approx(blind / 150)
