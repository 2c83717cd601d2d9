"""Names of cells and parts of a table, and the sources that they mean."""

import numpy as np
import pytest
from families import small_frame, small_problem
from fits import shared_fit

import evenhand as eh
from evenhand.findings import naming


@pytest.fixture(scope="module")
def counts():
    return shared_fit(small_problem(), small_frame()).counts


def test_the_name_of_a_cell_means_that_cell(counts):
    for source in range(len(counts)):
        levels = naming.cell_levels(counts, source)
        assert list(levels) == ["group", "score", "hired"]
        assert np.flatnonzero(naming.matching(counts, levels)).tolist() == [source]


def test_part_of_a_table(counts):
    frame = small_frame()
    found = counts.weight[naming.matching(counts, {"group": "a"})].sum()
    assert found == (frame["group"] == "a").sum()
    assert naming.matching(counts, {}).all()
    with pytest.raises(eh.SpecError, match=r"no column 'grup'.* Did you mean 'group'"):
        naming.matching(counts, {"grup": "a"})


def test_targets_and_holders(counts):
    y = counts.domain.y.size
    assert [naming.target_levels(counts, cell) for cell in (0, y)] == [
        {"score": 0, "hired": 0}, {"score": 1, "hired": 0},
    ]  # fmt: skip
    [own], [averaged] = (eh.ExpectedDistortion(0.5, per=per).charges for per in ("individual", "xy"))
    sources = naming.holder_names(counts, own, np.arange(len(counts)))
    assert len(set(sources)) == len(counts)
    records = naming.holder_names(counts, averaged, np.arange(len(counts.records.cells)))
    assert len(set(records)) == len(counts.records.cells) < len(counts)
