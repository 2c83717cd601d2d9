"""Rounding up: what is advised is never less than what is needed, and easy to write."""

from evenhand.arrays import round_up


def test_rounding_up_to_digits():
    assert [round_up(n, 1, digits=2) for n in (7.2, 99.5, 1234, 28_765)] == [8, 100, 1300, 29_000]
    assert [round_up(n, digits=3) for n in (0.02041, 0.1 * 1.02, 1.0)] == [0.0205, 0.102, 1.0]


def test_rounding_up_to_a_step():
    assert [round_up(n, 0.05) for n in (0.0, 0.1, 0.1 + 0.2, 0.31)] == [0.0, 0.1, 0.3, 0.35]
    assert [round_up(n, 1e-4) for n in (0.21091, 0.2109)] == [0.211, 0.2109]
