"""Counting wherever a table lies: the same cells, weights, people and squared weights."""

import numpy as np
import pytest
from families import small_frame, small_problem
from people import people, problem

import evenhand as eh
from evenhand.engines.counting import counts_of, distinct_rows


def weighed(frame):
    rng = np.random.default_rng(2)
    return frame.assign(w=rng.choice([0.0, 0.25, 3.0, 1e4], len(frame)))


def assert_same(found, expected):
    assert np.array_equal(found.sources, expected.sources)
    assert found.weight == pytest.approx(expected.weight)
    assert found.people == expected.people
    assert np.array_equal(found.cell_people, expected.cell_people)
    assert found.cell_squares == pytest.approx(expected.cell_squares)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize(("stated", "frame"), [(small_problem(), small_frame()), (problem(), people(400))])
def test_a_file_is_counted_as_its_frame(tmp_path, ending, weights, stated, frame):
    table, path = weighed(frame), tmp_path / f"people.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    assert_same(counts_of(stated, path, weights), counts_of(stated, table, weights))


@pytest.mark.parametrize("weights", [None, "w"])
def test_another_table_is_met_as_it_is_counted(tmp_path, weights):
    """Rows that were put together stand for as many people, with as much weight."""
    table = weighed(people(400))
    mapping = eh.fit(problem(), table)
    table.to_csv(tmp_path / "people.csv", index=False)
    own = counts_of(mapping.problem, table, weights)
    for other in (table, tmp_path / "people.csv"):
        rows = distinct_rows(mapping.counts.domain, other, weights=weights)
        assert rows.people.sum() == own.people
        assert rows.squares.sum() == pytest.approx(own.cell_squares.sum())
        assert mapping.audit(other, weights=weights).rates["weight"].sum() == pytest.approx(2 * own.weight.sum())


def test_a_table_of_counts_has_as_many_people_as_rows():
    """What a row stands for is not known: it may be a person of great weight."""
    cells = small_frame().value_counts().rename("n").reset_index()
    counts = eh.count(small_problem(), cells, weights="n")
    assert counts.people == counts.cell_people.sum() == len(cells)
