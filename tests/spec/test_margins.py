"""Margins: a bound that is kept even where the rate that it holds is off."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.spec import comparisons
from evenhand.spec.margins import Margin, WithMargin, with_margins

DISTANCES = [eh.Ratio(), eh.Difference(), eh.LogRatio(), eh.FourFifths(1)]
SIZE = 400


def one_sided(distance, p, q):
    """How far p is above q and how far below it, by each distance, written out anew."""
    if isinstance(distance, eh.Difference):
        return p - q, q - p
    if isinstance(distance, eh.LogRatio):
        return np.log(p / q), np.log(q / p)
    above = p / q - 1
    return (np.full(len(p), -np.inf) if isinstance(distance, eh.FourFifths) else above), -above


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: d.word)
@pytest.mark.parametrize("seed", range(3))
def test_a_margin_is_kept_by_rates_that_are_off_by_it(distance, seed):
    rng = np.random.default_rng(seed)
    p, q, bound = rng.uniform(0.1, 0.9, SIZE), rng.uniform(0.1, 0.9, SIZE), rng.uniform(0.01, 1.3, SIZE)
    above, below = rng.uniform(0, 0.09, (2, SIZE))
    held = WithMargin(distance, Margin.of(above, below))
    far = np.maximum(one_sided(distance, p + above, q)[0], one_sided(distance, p - below, q)[1])
    kept = far <= bound
    assert 0.1 < kept.mean() < 0.95
    np.testing.assert_array_equal(held.excess(p, q, bound) <= 0, kept)
    by_lines = [line.on_p * p + line.on_q * q <= line.limit for line in held.lines(bound)]
    np.testing.assert_array_equal(np.all(by_lines, axis=0), kept)


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: d.word)
def test_slopes_are_derivatives(distance):
    rng, step = np.random.default_rng(5), 1e-6
    # A ratio is written in another way from one on.
    bound = np.concatenate([rng.uniform(0.05, 0.95, SIZE), rng.uniform(1.05, 2.5, SIZE)])
    held = WithMargin(distance, Margin.of(*rng.uniform(0, 0.1, (2, 2 * SIZE))))
    for line, more in zip(held.lines(bound), held.lines(bound + step), strict=True):
        for slope, before, after in zip(
            line.slope, (line.on_p, line.on_q, line.limit), (more.on_p, more.on_q, more.limit), strict=True
        ):
            np.testing.assert_allclose(slope, (after - before) / step, atol=1e-4)


def test_no_margin_is_the_distance_itself(compas):
    part = comparisons(compas.problem.parity[0], compas.counts)
    none = Margin.of(np.zeros(len(part)), np.zeros(len(part)))
    found = eh.fit(with_margins(compas.problem, [none]), compas.counts)
    assert found.objective == pytest.approx(0.0212438, abs=1e-6)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("margin", [0.01, 0.04])
def test_equal_margins_of_a_difference_are_a_smaller_bound(compas, margin):
    problem = replace(compas.problem, parity=[eh.PairwiseParity(0.1, distance=eh.Difference())])
    part = comparisons(problem.parity[0], compas.counts)
    every = Margin.of(np.full(len(part), margin), np.full(len(part), margin))
    found = eh.fit(with_margins(problem, [every]), compas.counts)
    smaller = eh.fit(problem.with_bounds(lambda bound: bound - margin), compas.counts)
    assert found.certificate.status == "optimal"
    assert found.objective == pytest.approx(smaller.objective, abs=2e-7)


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: d.word)
def test_the_distance_is_about_the_same_outcomes(distance):
    held = WithMargin(distance, Margin((), ()))
    assert [held.concerns(level) for level in (0, 1)] == [distance.concerns(level) for level in (0, 1)]
    assert held.outcomes() == distance.outcomes()
    assert held.good_outcome == distance.good_outcome
    assert held.largest_bound == distance.largest_bound
    assert held.apart(0.2) == f"{distance.apart(0.2)}, with margins"
    assert held.near(0.2, "it") == f"{distance.near(0.2, 'it')}, with margins"


def test_margins_stand_for_the_confidence(compas):
    problem = replace(compas.problem, confidence=0.9)
    assert with_margins(problem, None).confidence is None
