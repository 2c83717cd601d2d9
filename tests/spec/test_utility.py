import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import approx_fprime, minimize_scalar

import evenhand as eh

MEASURES = [eh.KL(), eh.L1()]
P = np.array([0.5, 0.3, 0.2, 0.0])


@pytest.mark.parametrize("measure", MEASURES)
def test_nothing_is_lost_from_p_to_p(measure):
    assert measure.value(P, P) == 0


def test_kl_loses_mass_moved_to_empty_cells():
    r = np.array([0.4, 0.3, 0.2, 0.1])
    assert eh.KL().value(P, r) == pytest.approx(0.5 * np.log(0.5 / 0.4))
    assert eh.KL().value(P, np.array([0.5, 0.5, 0.0, 0.0])) == np.inf


def test_kl_derivatives():
    r = np.array([0.4, 0.25, 0.3, 0.05])
    gradient = approx_fprime(r, lambda r: eh.KL().value(P, r), 1e-8)
    assert eh.KL().gradient(P, r) == pytest.approx(gradient, abs=1e-5)
    for i in range(4):
        step = np.eye(4)[i] * 1e-6
        slope = (eh.KL().gradient(P, r + step) - eh.KL().gradient(P, r - step))[i] / 2e-6
        assert eh.KL().curvature(P, r)[i] == pytest.approx(slope, rel=1e-4, abs=1e-6)


@given(st.lists(st.floats(-0.99, 0.99), min_size=4, max_size=4))
def test_the_l1_infimum_is_the_least_value(multipliers):
    slope = np.array(multipliers)
    least = sum(
        minimize_scalar(lambda r, p=p, s=s: abs(r - p) - s * r, bounds=(0, 3), method="bounded").fun
        for p, s in zip(P, slope, strict=True)
    )
    assert eh.L1().infimum(P, slope) == pytest.approx(least, abs=1e-4)


@given(st.lists(st.floats(-5, -0.2), min_size=4, max_size=4))
def test_the_kl_infimum_is_the_least_value(multipliers):
    slope = np.array(multipliers)
    least = sum(
        minimize_scalar(lambda r, p=p, s=s: p * np.log(p / r) - s * r, bounds=(1e-6, 30), method="bounded").fun
        for p, s in zip(P[:3], slope[:3], strict=True)
    )
    assert eh.KL().infimum(P, slope) == pytest.approx(least, abs=1e-4)


@pytest.mark.parametrize("measure", MEASURES)
@given(st.lists(st.floats(-50, 50), min_size=4, max_size=4))
def test_clipped_multipliers_have_a_finite_infimum(measure, multipliers):
    assert np.isfinite(measure.infimum(P, measure.clip(P, np.array(multipliers))))


def test_an_unbounded_infimum_says_so():
    assert eh.KL().infimum(P, np.array([-1.0, 0.5, -1, 0])) == -np.inf
    assert eh.L1().infimum(P, np.array([0.0, 0, 0, 1.5])) == -np.inf
