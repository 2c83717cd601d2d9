"""The steps: how far they can go, with every share of a correction."""

from types import SimpleNamespace

import numpy as np
import pytest

from evenhand.optimize.solve.structured.steps import Point, lengths, longest_with


@pytest.mark.parametrize("seed", range(20))
def test_the_longest_steps_are_those_of_each_share(seed):
    rng = np.random.default_rng(seed)
    values, (step, correction) = 10 ** rng.uniform(-6, 0, 50), rng.normal(size=(2, 50)) * 10 ** rng.uniform(-3, 1)
    shares, signed = np.linspace(rng.uniform(0, 0.9), 1.0, 9), rng.random(50) < 0.8
    found = longest_with(values, step, correction, shares, signed)
    for share, longest in zip(shares, found, strict=True):
        at_the_end = (values + longest * (step + share * correction))[signed]
        assert at_the_end.min() == pytest.approx(0, abs=1e-9 * max(1.0, longest))


def test_what_never_falls_goes_on_for_ever():
    ones = np.ones(3)
    assert longest_with(ones, ones, ones, np.array([0.5, 1.0]), ones > 0).tolist() == [np.inf, np.inf]
    assert longest_with(ones, -ones, ones, np.array([0.5, 1.0]), ones < 0).tolist() == [np.inf, np.inf]


def test_a_step_ends_short_of_zero_and_is_never_more_than_whole():
    z, s = np.array([1.0, 2.0, 1.0]), np.array([1.0, 4.0])
    form = SimpleNamespace(signed=(np.array([True, True, False]), np.array([True, True])))
    for fall, length in ((0.5, 1.0), (0.95, 0.9 / 0.95), (1.0, 0.9), (4.0, 0.9 / 4)):
        point, step = (Point(z, s, *3 * [s]), Point(np.array([-fall, 1.0, -9.0]), np.array([1.0, -4 * fall]), *3 * [s]))
        assert lengths(form, point, step, 0.9) == pytest.approx((length, length))


def test_a_point_moves_by_two_lengths():
    one = Point(*(np.ones(1) for _ in range(5)))
    moved = one.moved(one, 0.5, 0.25)
    assert [float(part[0]) for part in (moved.z, moved.g, moved.s, moved.y, moved.small)] == [
        1.5,
        1.5,
        1.25,
        1.25,
        1.25,
    ]
