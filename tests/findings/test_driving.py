"""What drives the cost: the people named are those whose comparisons are dear, and the saving is what a fit saves."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.findings.bounds import constraints
from evenhand.findings.driving import ROOM, drivers, room


def driver_of(mapping):
    return list(drivers(mapping.counts, constraints(mapping.counts, mapping.achieved.parity), mapping.prices()))


def test_a_group_that_cannot_move_sets_the_level(compas_mapping):
    (found,) = driver_of(compas_mapping)
    m = compas_mapping
    assert found.who == "sex=Female, race=Caucasian"
    assert found.people == 482
    assert found.share == pytest.approx(1.0)
    assert "482 people (sex=Female, race=Caucasian) set the level for everybody" in found.words
    assert "within 1.10 times of it" in found.words
    assert found.after == pytest.approx(m.achieved.rates_after[:, 1].min())


def test_against_a_target_the_share_is_that_of_the_prices(adult_mapping):
    (found,) = driver_of(adult_mapping)
    pairs = adult_mapping.prices().frame.query("kind == 'parity' and level == 'pair'")
    theirs = pairs[pairs["where"].str.contains(found.who, regex=False)]["price"].sum()
    assert found.share == pytest.approx(theirs / pairs["price"].sum())
    assert found.against_target
    assert "make up" in found.words


def test_the_prices_of_comparisons_add_up(compas_mapping, adult_mapping):
    for mapping in (compas_mapping, adult_mapping):
        found = mapping.prices()
        assert [np.nansum(each) for each in found.comparisons] == pytest.approx(list(found.parity))


def test_a_little_more_room_saves_what_is_said(compas):
    """A hundredth of the bound more, since prices are exact for small changes."""
    mapping = eh.fit(compas.problem, compas.counts)
    found = room(
        mapping.prices(), constraints(mapping.counts, mapping.achieved.parity), mapping.achieved.budgets,
        mapping.objective,
    )  # fmt: skip
    looser = eh.fit(compas.problem.with_bounds(lambda own: own * 1.01), compas.counts)
    assert found.parity * 0.01 / ROOM == pytest.approx(mapping.objective - looser.objective, rel=0.05)
    (said,) = found.words
    assert f"{found.parity / mapping.objective:.0%} of what is lost" in said


def test_where_nothing_costs_anything_nobody_drives_it(compas):
    assert driver_of(eh.fit(compas.problem.with_bounds(lambda _: 2.0), compas.counts)) == []
