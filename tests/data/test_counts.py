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
    assert np.bincount(before.of_source, weights=counts.outcome_given_rest) == pytest.approx(np.ones(4))
    assert np.bincount(counts.records.of_source, weights=counts.group_given_record) == pytest.approx(np.ones(4))
    assert np.bincount(counts.groups.of_source, weights=counts.given_group) == pytest.approx(np.ones(2))


def test_weights_stand_for_repeated_rows():
    frame = small_frame()
    cells = frame.value_counts().rename("n").reset_index()
    weighted = eh.count(small_problem(), cells, weights="n")
    counted = eh.count(small_problem(), frame)
    assert np.array_equal(weighted.sources, counted.sources)
    assert weighted.weight == pytest.approx(counted.weight)


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
    swapped = (a[::-1] for a in (counts.d, counts.x, counts.y, counts.weight))
    with pytest.raises(eh.DataError, match="sorted"):
        eh.Counts(counts.domain, *swapped, people=200)
