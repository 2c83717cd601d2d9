"""What drives the cost: the people named are those whose comparisons are dear, and the saving is what a fit saves."""

import numpy as np
import pandas as pd
import pytest
from fits import shared_fit

import evenhand as eh
from evenhand.findings.bounds import constraints
from evenhand.findings.cost import ROOM, drivers, room
from evenhand.render.sentences import sentence


def driver_of(mapping):
    return list(drivers(mapping.counts, constraints(mapping.counts, mapping.achieved.parity), mapping.prices()))


def test_a_group_that_cannot_move_sets_the_level(compas_mapping):
    (found,) = driver_of(compas_mapping)
    m = compas_mapping
    assert found.who == "sex=Female, race=Caucasian"
    assert found.people == 482
    assert found.share == pytest.approx(1.0)
    assert "482 people (sex=Female, race=Caucasian) set the level for everybody" in sentence(found.note)
    assert "brought near it (bound: 1.10 times)" in sentence(found.note)
    assert found.after == pytest.approx(m.achieved.rates_after[:, 1].min())


@pytest.mark.parametrize(("high", "way"), [("a", "down"), ("b", "down"), ("a", "up"), ("b", "up")])
def test_of_one_pair_those_set_the_level_whose_rate_stays(high, way):
    """Whichever group comes first, and whichever is moved."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"g": rng.choice(["a", "b"], 600, p=[0.4, 0.6]), "x": 0})
    frame["y"] = (rng.random(600) < np.where(frame["g"] == high, 0.7, 0.4)).astype(int)
    problem = eh.Problem(
        protected=["g"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion({"y": eh.Ordinal(step=1, **{{"down": "up", "up": "down"}[way]: False})}),
        budget=eh.ExpectedDistortion(1),
    )  # fmt: skip
    (found,) = driver_of(eh.fit(problem, frame))
    stays = high if way == "up" else {"a": "b", "b": "a"}[high]
    assert found.who == f"g={stays}"
    assert found.before == pytest.approx(found.after, abs=1e-6)
    assert found.people == (frame["g"] == stays).sum()
    assert "set the level for everybody" in sentence(found.note)


def test_those_who_are_moved_most_do_not_set_the_level():
    """One group of three is brought to two that stay: it is in every comparison that costs anything."""
    rows = [("a", 1)] * 80 + [("a", 0)] * 20
    rows += [(g, y) for g in "bc" for y in [1] * 40 + [0] * 60]
    frame = pd.DataFrame(rows, columns=["g", "y"]).assign(x=0)
    problem = eh.Problem(
        protected=["g"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion({"y": eh.Ordinal(step=1, up=False)}), budget=eh.ExpectedDistortion(1),
    )  # fmt: skip
    (found,) = driver_of(eh.fit(problem, frame))
    if found.who == "g=a":
        assert found.moved
        assert "set the level" not in sentence(found.note)
    else:
        assert found.before == pytest.approx(found.after, abs=1e-6)


def test_against_a_target_the_share_is_that_of_the_prices(adult_mapping):
    (found,) = driver_of(adult_mapping)
    pairs = adult_mapping.prices().frame.query("kind == 'parity' and level == 'pair'")
    theirs = pairs[pairs["where"].str.contains(found.who, regex=False)]["price"].sum()
    assert found.share == pytest.approx(theirs / pairs["price"].sum())
    assert found.against_target
    assert "make up" in sentence(found.note)


def test_the_prices_of_comparisons_add_up(compas_mapping, adult_mapping):
    for mapping in (compas_mapping, adult_mapping):
        found = mapping.prices()
        assert [np.nansum(each) for each in found.comparisons] == pytest.approx(list(found.parity))


def test_a_little_more_room_saves_what_is_said(compas):
    """A hundredth of the bound more, since prices are exact for small changes."""
    mapping = shared_fit(compas.problem, compas.counts)
    found = room(
        mapping.prices(), constraints(mapping.counts, mapping.achieved.parity), mapping.achieved.budgets,
        mapping.objective,
    )  # fmt: skip
    looser = eh.fit(compas.problem.with_bounds(lambda own: own * 1.01), compas.counts)
    assert found.parity * 0.01 / ROOM == pytest.approx(mapping.objective - looser.objective, rel=0.05)
    (note,) = found.notes()
    assert f"{found.parity / mapping.objective:.0%} of what is lost" in sentence(note)


def test_where_nothing_costs_anything_nobody_drives_it(compas):
    assert driver_of(eh.fit(compas.problem.with_bounds(lambda _: 2.0), compas.counts)) == []
