"""The table of cells: who is in each, how many, and rates that a reader could count by hand."""

import numpy as np
import pytest
from families import small_frame, small_problem
from reports import document_of
from wide import wide_frame, wide_problem

import evenhand as eh


@pytest.mark.slow
@pytest.mark.parametrize("favourable", [None, 0])
def test_cells_are_what_counting_by_hand_gives(favourable):
    frame = wide_frame(1)
    mapping = eh.fit(wide_problem(favourable=favourable), frame)
    level = 1 if favourable is None else favourable
    found = mapping.cells
    cell = mapping.cell_of(frame)
    for _, row in found.iterrows():
        people = frame[cell == row["cell"]]
        assert row["people"] == len(people)
        for group, members in people.groupby("d"):
            assert row[f"people (d={group})"] == len(members)
            assert row[f"y={level} before (d={group})"] == pytest.approx((members["y"] == level).mean())
            wide = mapping.expand(members)
            share = wide["weight"][wide["y"] == level].sum() / len(members)
            assert row[f"y={level} after (d={group})"] == pytest.approx(share)
    assert found["people"].sum() == len(frame)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(("given", "limit"), [([], 0.3), (["job"], 0.3), (["married", "job"], 0.9)])
def test_a_cell_has_one_number_everywhere(given, limit):
    """That of its leaf, also where segments come first; and prices name cells by it."""
    frame = wide_frame(2).assign(job=lambda f: f["job"].fillna("none"))
    stated = wide_problem(
        parity=[eh.PairwiseParity(0.02, given=given)] if given else [eh.PairwiseParity(0.02)],
        budget=eh.ExpectedDistortion(limit),
    )
    found = eh.diagnose(stated, frame)
    mapping = found.mapping
    leaf = next(variable for variable in mapping.counts.domain.x.variables if variable.tree is not None)
    cells = mapping.cells
    assert found.cells.equals(cells)
    assert set(cells["cell"]) == set(range(1, len(leaf) + 1))
    for number, rule in zip(cells["cell"], cells["rule"], strict=True):
        assert leaf.levels[number - 1] == f"{number}: {rule}"
    assert set(mapping.cell_of(frame)) == set(cells["cell"])
    rows = document_of(mapping, hide_below=0)["asked"]["cells"]["learned_cells"]
    assert [(row["cell"], row["rule"]) for row in rows] == list(zip(cells["cell"], cells["rule"], strict=True))
    named = found.prices.query("level == 'cell'")["where"]
    assert named.str.contains(r"learned cell=\d+(?:;|,)").all()


def test_cells_of_levels_and_people_whom_nobody_is_like():
    frame = small_frame()
    mapping = eh.fit(small_problem(), frame)
    assert mapping.cells["rule"].tolist() == ["score=0", "score=1"]
    assert mapping.cell_of(frame.assign(score=7)).tolist() == [0] * len(frame)
    assert mapping.cell_of(frame).tolist() == (frame["score"] + 1).tolist()


def test_a_group_that_nobody_of_is_in_a_cell_has_no_rate():
    frame = small_frame()
    frame = frame[(frame["group"] == "a") | (frame["score"] == 0)]
    row = eh.fit(small_problem(parity=[]), frame).cells.iloc[1]
    assert row["people (group=b)"] == 0
    assert np.isnan(row["hired=1 before (group=b)"])
