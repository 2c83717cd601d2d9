"""Where the next programme begins: nearer to the answer after few iterations, farther from it after many."""

from evenhand.optimise.solve.structured.steps import Answer
from evenhand.optimise.solve.structured.trail import LEAST, Trail

POINTS = {decade: f"at {decade}" for decade in (-1, -2, -3, -4)}


def test_a_trail_begins_at_its_decade_or_the_next_larger_gap():
    assert Trail(POINTS, 15).start == "at -4"
    assert Trail({-2: "at -2"}, 15).start == "at -2"
    assert Trail({-5: "at -5"}, 15).start is None
    assert Trail(POINTS, 15, decade=0).start is None


def test_many_iterations_lead_to_a_larger_gap_and_few_to_a_smaller_one():
    trail = Trail(POINTS, 15)
    assert trail.after(Answer(None, 14, {})).decade == -3
    assert trail.after(Answer(None, 7, {})).decade == -4
    assert trail.after(Answer(None, 3, {})).decade == LEAST


def test_newer_points_take_the_place_of_older_ones():
    trail = Trail(POINTS, 15).after(Answer(None, 7, {-4: "newer"}))
    assert trail.start == "newer"
    assert trail.points[-2] == "at -2"
