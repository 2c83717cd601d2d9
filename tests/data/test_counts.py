from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem

import evenhand as eh


@pytest.fixture
def counts():
    return eh.count(small_problem(), small_frame())


def test_marginals_are_those_of_pandas(counts):
    frame = small_frame()
    assert counts.people == 200
    assert counts.outcome == pytest.approx(frame["hired"].value_counts(normalize=True).sort_index().to_numpy())
    by_group = pd.crosstab(frame["group"], frame["hired"], normalize="index")
    assert counts.outcome_by_group == pytest.approx(by_group.to_numpy())
    assert counts.groups.probability == pytest.approx([0.5, 0.5])
    assert counts.features.probability == pytest.approx([0.5, 0.5])


def test_conditionals_are_consistent(counts):
    before = counts.people_before_outcome
    assert np.bincount(before.of_source, weights=counts.given("dx")) == pytest.approx(np.ones(4))
    assert np.bincount(counts.records.of_source, weights=counts.given("xy")) == pytest.approx(np.ones(4))
    assert np.bincount(counts.groups.of_source, weights=counts.given("d")) == pytest.approx(np.ones(2))


def test_weights_sum_as_repeated_rows_do():
    frame = small_frame()
    cells = frame.value_counts().rename("n").reset_index()
    weighted = eh.count(small_problem(), cells.assign(n=cells["n"] / 16), weights="n")
    counted = eh.count(small_problem(), frame)
    assert np.array_equal(weighted.sources, counted.sources)
    assert weighted.weight == pytest.approx(counted.weight / 16)
    assert (weighted.people, weighted.unit, counted.unit) == (8, "people by weight", "people")


def test_cells_of_weight_zero_are_nobody():
    frame = small_frame().assign(w=1.0)
    frame.loc[frame["group"].eq("a") & frame["score"].eq(0), "w"] = 0.0
    assert len(eh.count(small_problem(), frame, weights="w")) == 6


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([-1.0] + [1.0] * 199, "row 1 has -1"),
        ([1.0] * 199 + [np.nan], "row 200 has nan"),
        ([np.inf] + [1.0] * 199, "finite"),
        ([0.0] * 200, "no row has a positive weight"),
        ([1.0] * 3, "3 weights for 200 rows"),
        (["a"] * 200, "must be numbers"),
        ("hired", "part of the problem"),
        ("nosuch", "no column 'nosuch'"),
    ],
)
def test_bad_weights(weights, words):
    with pytest.raises(eh.DataError, match=words):
        eh.count(small_problem(), small_frame(), weights=weights)


def test_marginal_of_an_absent_cell_is_zero(counts):
    assert counts.records.at(np.array([0, 99])) == pytest.approx([counts.records.probability[0], 0.0])


def test_counts_refuse_disorder(counts):
    names = ("d", "x", "y", "weight", "cell_people", "cell_squares")
    with pytest.raises(eh.DataError, match="sorted"):
        eh.Counts(counts.domain, *(getattr(counts, name)[::-1] for name in names))


def test_people_and_squared_weights_of_cells_are_those_of_their_rows():
    rng = np.random.default_rng(0)
    frame = small_frame().assign(w=rng.choice([0.0, 0.5, 3.0], 200))
    counts = eh.count(small_problem(), frame, weights="w")
    rows = frame[frame["w"] > 0].assign(square=lambda f: f["w"] ** 2).groupby(["group", "score", "hired"])
    assert counts.cell_people.tolist() == rows.size().tolist()
    assert counts.cell_squares == pytest.approx(rows["square"].sum().to_numpy())
    assert counts.people == counts.cell_people.sum() == (frame["w"] > 0).sum()
    by_group = frame[frame["w"] > 0].groupby("group")["w"]
    assert counts.group_people.tolist() == by_group.size().tolist()


def test_without_weights_everybody_counts_once(counts):
    assert not counts.weighed
    assert counts.unweighted is counts
    assert np.array_equal(counts.cell_people, counts.weight)


@pytest.mark.parametrize("weight", [0.001, 7.0, 1e6, 1e-100, 1e100])
def test_equal_weights_change_nobody(counts, weight):
    weighed = eh.count(small_problem(), small_frame(), weights=[weight] * 200)
    assert weighed.weighed
    assert np.array_equal(weighed.unweighted.weight, counts.weight)


def test_weights_that_sum_to_the_rows_are_weights_all_the_same():
    """Scaled to a mean of one, as weights of surveys often are."""
    weighed = eh.count(small_problem(), small_frame(), weights=[0.5, 1.5] * 100)
    assert weighed.weight.sum() == weighed.people
    assert weighed.weighed


@pytest.mark.parametrize("weights", [[1e200] * 200, [1e-200] * 200])
def test_weights_whose_squares_no_number_holds(weights):
    with pytest.raises(eh.DataError, match="multiply all weights by the same number"):
        eh.count(small_problem(), small_frame(), weights=weights)


@pytest.mark.parametrize(
    ("change", "words"),
    {
        "nobody in a cell": ({"cell_people": lambda of: of - 25}, "at least 1"),
        "too few cells": ({"cell_people": lambda of: of[1:]}, "the same length"),
        "more people than a number can hold": ({"cell_people": lambda of: of + 2**62}, "at most"),
        "half a person": ({"cell_people": lambda of: of + 0.5}, "whole numbers"),
        "people without squares": ({"cell_squares": None}, "cell_squares of a Counts must be an array"),
        "squares too small": ({"cell_squares": lambda of: of * 0.9}, "contradict"),
        "squares too large": ({"cell_squares": lambda of: of**2 * 1.1}, "contradict"),
        "squares that are no numbers": ({"cell_squares": lambda of: of * np.nan}, "contradict"),
        "no squares": ({"cell_squares": lambda of: of * 0}, "contradict"),
    }.values(),
)
def test_impossible_people(counts, change, words):
    made = {name: to(getattr(counts, name)) if callable(to) else to for name, to in change.items()}
    with pytest.raises(eh.DataError, match=words):
        replace(counts, **made)


@pytest.mark.parametrize(
    ("people", "words"),
    {
        "half a person": (lambda of: of + 0.5, "whole numbers of at least 1"),
        "nobody": (lambda of: of * 0, "whole numbers of at least 1"),
        "no number": (lambda of: of * np.nan, "whole numbers of at least 1"),
        "more than can be counted": (lambda of: of * 1e300, "whole numbers of at least 1"),
        "too few rows": (lambda of: of[1:], "one entry for each row"),
    }.values(),
)
def test_rows_that_stand_for_impossible_people(counts, people, words):
    cells = (counts.domain, counts.d, counts.x, counts.y, counts.weight)
    again = eh.Counts.of(*cells, counts.cell_people, counts.cell_squares)
    assert again.cell_people.tolist() == counts.cell_people.tolist()
    with pytest.raises(eh.DataError, match=words):
        eh.Counts.of(*cells, people(counts.cell_people), counts.cell_squares)
