"""Counting wherever a table lies: the same cells, weights, people and squared weights."""

from dataclasses import replace

import numpy as np
import pytest
from families import small_frame, small_problem
from people import people, problem

import evenhand as eh
from evenhand.data.weighting import Weighting
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
    assert_same(
        counts_of(stated, path, Weighting.of(weights, None)), counts_of(stated, table, Weighting.of(weights, None))
    )


@pytest.mark.parametrize("weights", [None, "w"])
def test_another_table_is_met_as_it_is_counted(tmp_path, weights):
    """Rows that were put together stand for as many people, with as much weight."""
    table = weighed(people(400))
    mapping = eh.fit(problem(), table)
    table.to_csv(tmp_path / "people.csv", index=False)
    own = counts_of(mapping.problem, table, Weighting.of(weights, None))
    for other in (table, tmp_path / "people.csv"):
        rows = distinct_rows(mapping.counts.domain, other, None, Weighting.of(weights, None))
        assert rows.people.sum() == own.people
        assert rows.squares.sum() == pytest.approx(own.cell_squares.sum())
        assert mapping.audit(other, weights=weights).rates["weight"].sum() == pytest.approx(2 * own.weight.sum())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("learned", [False, True])
def test_a_file_of_counts_is_counted_as_its_frame(tmp_path, ending, learned):
    stated = problem()
    if learned:
        rule = {stated.outcome: stated.distortion.rules[stated.outcome]}
        changes = {"bins": {}, "distortion": eh.Distortion(rule), "cells": eh.Leaves(most=4, at_least=10)}
        stated = replace(stated, **changes)
    table = people(400).assign(n=np.arange(400) % 4)
    path = tmp_path / f"counts.{ending}"
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path)
    by_frequency = Weighting.of(None, "n")
    repeated = table.loc[table.index.repeat(table["n"])].drop(columns="n")
    expected = counts_of(stated, repeated)
    assert_same(counts_of(stated, path, by_frequency), expected)
    assert_same(counts_of(stated, table, by_frequency), expected)
    domain = eh.fit(stated, repeated).counts.domain
    assert distinct_rows(domain, path, None, by_frequency).people.sum() == len(repeated)
