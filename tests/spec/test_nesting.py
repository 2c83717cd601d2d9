"""Which groups and segments can be balanced at once."""

from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.spec.nesting import nest


@pytest.fixture
def asked():
    data = eh.datasets.load("compas")

    def nested(*parity, **others):
        return nest(replace(data.problem, parity=list(parity), **others), data.counts.domain)

    return nested


@pytest.mark.parametrize(
    ("parity", "columns", "levels"),
    [
        ([], ("sex", "race"), (2,)),
        ([eh.PairwiseParity(0.1)], ("sex", "race"), (2,)),
        ([eh.PairwiseParity(0.1, on=["race"])], ("race", "sex"), (1, 2)),
        ([eh.PairwiseParity(0.1, given=["age_cat"])], ("sex", "race", "age_cat"), (2, 3)),
        ([eh.PairwiseParity(0.1), eh.TargetParity(0.2, on=["race"])], ("race", "sex"), (1, 2)),
        (
            [eh.PairwiseParity(0.3, given=["priors_count", "age_cat"]), eh.PairwiseParity(0.1, on=["sex"])],
            ("sex", "race", "age_cat", "priors_count"),
            (1, 2, 4),
        ),
    ],
)
def test_partitions_that_are_nested(asked, parity, columns, levels):
    found = asked(*parity)
    assert (found.columns, found.levels, found.notes) == (columns, levels, ())


def test_groups_that_nobody_compares_together_are_named_where_they_cross(asked):
    """Groups by race are kept beside their segments; those by sex and race, which people look at, cannot be."""
    found = asked(eh.PairwiseParity(0.1, on=["race"], given=["age_cat"]))
    assert (found.columns, found.levels) == (("race", "age_cat"), (1, 2))
    (note,) = found.notes
    assert "of groups by sex × race can be further than one person from their expectation" in note
    assert "cross groups by race within segments by age_cat" in note


def test_what_crosses_is_left_out_and_said(asked):
    found = asked(eh.PairwiseParity(0.1, on=["race"]), eh.PairwiseParity(0.1, on=["sex"], given=["age_cat"]))
    assert (found.columns, found.levels) == (("race", "sex"), (1, 2))
    (note,) = found.notes
    assert "of groups by sex within segments by age_cat can be further than one person" in note
    assert "since they cross groups by race, whose are; those of every cell are within one" in note


def test_two_columns_each_by_itself(asked):
    found = asked(eh.PairwiseParity(0.1, on=["sex"]), eh.PairwiseParity(0.1, on=["race"]))
    assert (found.columns, found.levels) == (("sex", "race"), (1, 2))
    assert "groups by race" in found.notes[0]


def test_released_segments(asked):
    found = asked(eh.TargetParity(0.3, on=["race"], given=["age_cat"], released=True))
    assert (found.columns, found.levels) == (("race", "sex"), (1, 2))
    assert "within released segments by age_cat" in found.notes[0]


def test_a_blind_mapping_knows_segments_alone(asked):
    found = asked(eh.PairwiseParity(0.5, given=["age_cat"]), blind=True)
    assert (found.columns, found.levels) == (("age_cat",), (1,))
    assert "train mode does not read sex × race" in found.notes[0]
    assert asked(eh.PairwiseParity(0.5), blind=True).columns == ()


def test_more_parts_than_can_be_numbered(asked, monkeypatch):
    monkeypatch.setattr("evenhand.spec.nesting.MOST_PARTS", 12)
    found = asked(eh.PairwiseParity(0.1, given=["age_cat"]))
    assert (found.columns, found.levels) == (("sex", "race"), (2,))
    assert "are more than can be told apart" in found.notes[0]
