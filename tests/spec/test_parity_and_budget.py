import numpy as np
import pytest

import evenhand as eh


def test_ratio_at_zero():
    value = eh.Ratio().value(np.array([0.0, 0.2, 0.0, 0.3]), np.array([0.0, 0.0, 0.4, 0.2]))
    assert value.tolist() == pytest.approx([0.0, np.inf, 1.0, 0.5])


def test_the_ratio_line_over_both_orders_is_the_ratio_bound():
    rng = np.random.default_rng(0)
    p, q = rng.random(2000), rng.random(2000)
    bound = 0.35
    line = eh.Ratio().line(bound)
    within = (line.on_p * p + line.on_q * q <= line.limit) & (line.on_p * q + line.on_q * p <= line.limit)
    both = (eh.Ratio().value(p, q) <= bound) & (eh.Ratio().value(q, p) <= bound)
    assert np.array_equal(within, both)
    assert 0 < within.sum() < 2000


def test_the_ratio_interval_is_the_sublevel_set():
    q = np.array([0.4])
    low, high = eh.Ratio().interval(q, 0.25)
    assert eh.Ratio().value(np.array([low[0], high[0]]), q) == pytest.approx([0.25, 0.25])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: eh.PairwiseParity(-0.1), "bound of PairwiseParity must be at least 0"),
        (lambda: eh.TargetParity(float("nan")), "must be a number"),
        (lambda: eh.TargetParity(float("inf")), "finite"),
        (lambda: eh.PairwiseParity(0.1, distance="ratio"), r"such as Ratio\(\)"),
        (lambda: eh.TargetParity(0.1, {0: 0.6, 1: 0.3}), "sums to 0.9"),
        (lambda: eh.TargetParity(0.1, {0: 1.2, 1: -0.2}), "must be at (most 1|least 0)"),
        (lambda: eh.TargetParity(0.1, [0.6, 0.4]), "mapping of outcomes"),
        (lambda: eh.ExpectedDistortion(-0.5), "limit of ExpectedDistortion must be at least 0"),
        (lambda: eh.ExpectedDistortion(0.5, per="person"), "per of ExpectedDistortion must be one of"),
        (lambda: eh.ExcessDistortion({0.9: 1.1}), "at most 1"),
        (lambda: eh.ExcessDistortion({0.9: -0.1}), "at least 0"),
        (lambda: eh.ExcessDistortion({-1: 0.1}), "threshold of ExcessDistortion must be at least 0"),
        (lambda: eh.ExcessDistortion({}), "at least one threshold"),
        (lambda: eh.ExcessDistortion({0.9: 0.1, 1.9: 0.2}), "threshold 1.9 may be exceeded .* at most 0.1"),
    ],
)
def test_bad_statements(build, words):
    with pytest.raises(eh.SpecError, match=words):
        build()


def test_thresholds_are_sorted():
    assert list(eh.ExcessDistortion({1.9: 0.05, 0.9: 0.1}).thresholds) == [0.9, 1.9]


def test_a_target_that_names_no_outcome():
    from families import small_frame, small_problem

    problem = small_problem(parity=[eh.TargetParity(0.2, {"yes": 0.5, "no": 0.5})])
    with pytest.raises(eh.SpecError, match="names outcome 'yes'"):
        eh.fit(problem, small_frame())
