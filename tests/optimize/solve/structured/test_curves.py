"""The curves of smooth losses: lines that touch them, and a gap that is zero on them alone."""

from dataclasses import replace

import numpy as np
import pytest

import evenhand as eh
from evenhand.optimize.compile.utility import loss_from
from evenhand.optimize.solve.structured.curves import Curve

MEASURES = [
    eh.KL(), eh.Hellinger(), eh.JensenShannon(), eh.NeymanChi2(), eh.PearsonChi2(), eh.ReverseKL(), eh.SquaredL2(),
    eh.Separable(
        value=lambda p, r: 50 * (r - p) ** 4 + 50 * (r - p) ** 2,
        gradient=lambda p, r: 200 * (r - p) ** 3 + 100 * (r - p),
        curvature=lambda p, r: 600 * (r - p) ** 2 + 100,
        name="quartic",
    ),
    eh.Bregman(
        generator=lambda t: -np.log(t), derivative=lambda t: -1 / t, second_derivative=lambda t: 1 / t**2,
        name="Itakura–Saito",
    ),
]  # fmt: skip


@pytest.fixture(params=MEASURES, ids=lambda measure: getattr(measure, "name", type(measure).__name__))
def curve(request):
    p = np.array([0.1, 0.2, 0.3, 0.4])
    return Curve(loss_from(request.param, p), np.arange(4))


V = np.array([0.05, 0.25, 0.3, 0.4])


def test_on_the_curve_there_is_no_gap_and_nowhere_to_go(curve):
    s = curve.at(V)
    assert curve.gap(V, s) == pytest.approx(0, abs=1e-9)
    assert np.allclose(curve.line(V, s)[0], 0, atol=1e-12)


def test_beside_the_curve_there_is_a_gap(curve):
    s = curve.at(V)
    assert curve.gap(V, s + 0.1 * np.abs(s) + 0.01) > 1e-6


def test_the_line_is_the_curves_tangent(curve):
    step, s = 1e-6, curve.at(V)
    _, width = curve.line(V, s)
    assert np.allclose(-step / (curve.at(V + step) - s), width, rtol=1e-3)


def test_a_bounded_slope_keeps_s_positive(curve):
    if curve.bounded:
        assert np.all(curve.at(np.array([1e-9, 0.1, 1.0, 1e3])) > 0)
        assert np.all(curve.open)


def test_powers_are_lines_of_logarithms():
    """From anywhere, one step along the line at fixed s lands on the curve of KL."""
    curve = Curve(loss_from(eh.KL(), np.array([0.1, 0.2, 0.3, 0.4])), np.arange(4))
    s = 2.5 * curve.at(V)
    aim, _ = curve.line(V, s)
    assert np.allclose(curve.at(V + aim), s)


def test_the_scale_of_a_measure_does_not_matter(curve):
    """In units of the loss's own size: a thousand times the loss has the same curve."""
    loss = curve.loss

    class Larger(type(loss)):
        def gradient(self, r):
            return 1000 * super().gradient(r)

        def curvature(self, r):
            return 1000 * super().curvature(r)

        @property
        def ceiling(self):
            return None if super().ceiling is None else 1000 * super().ceiling

    larger = replace(curve, loss=Larger(loss.measure, loss.p))
    assert np.allclose(larger.at(V), curve.at(V))
    assert np.allclose(larger.line(V, curve.at(V) + 0.1), curve.line(V, curve.at(V) + 0.1))
