import math

import numpy as np
import pandas as pd
import pytest
from formulations import table
from oracle import by

import evenhand as eh


def test_ratio_at_zero():
    value = eh.Ratio().value(np.array([0.0, 0.2, 0.0, 0.3]), np.array([0.0, 0.0, 0.4, 0.2]))
    assert value.tolist() == pytest.approx([0.0, np.inf, 1.0, 0.5])


def test_a_ratio_is_said_with_what_is_required_or_allowed():
    assert eh.Ratio().beside(0.4, 0.5, 0.1) == "ratio 0.8000, at least 0.9000 required"
    assert eh.Ratio().beside(0.6, 0.5, 0.1) == "ratio 1.2000, at most 1.1000 allowed"


def test_two_rates_of_zero_are_equal():
    assert eh.LogRatio().said(0.0, 0.0) == "1.00 times"


DISTANCES = [eh.Ratio(), eh.Difference(), eh.LogRatio(), eh.FourFifths(1)]


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@pytest.mark.parametrize("bound", [0.0, 0.1, 0.35, 1.2])
def test_the_lines_are_the_sublevel_set(distance, bound):
    rng = np.random.default_rng(0)
    p, q = rng.random((2, 3000))
    q[:1000] = p[:1000] * (1 + 0.3 * rng.standard_normal(1000)).clip(0)
    lines = distance.lines(np.full(3000, bound))
    within = np.all([line.on_p * p + line.on_q * q <= line.limit + 1e-12 for line in lines], axis=0)
    assert np.array_equal(within, distance.value(p, q) <= bound + 1e-12)


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
@pytest.mark.parametrize("bound", [0.05, 0.35])
def test_one_line_over_both_orders_is_the_sublevel_set(distance, bound):
    rng = np.random.default_rng(1)
    p = rng.random(3000)
    q = (p * (1 + 0.4 * rng.standard_normal(3000))).clip(0, 1)
    line = distance.both(np.full(3000, bound))
    within = (line.on_p * p + line.on_q * q <= line.limit) & (line.on_p * q + line.on_q * p <= line.limit)
    both = (distance.value(p, q) <= bound) & (distance.value(q, p) <= bound)
    assert np.array_equal(within, both)
    assert 0 < within.sum() < 3000


@pytest.mark.parametrize("distance", DISTANCES, ids=repr)
def test_slopes_are_derivatives_in_the_bound(distance):
    bound, step = np.array([0.2, 0.5]), 1e-6
    for which in (distance.lines, lambda b: (distance.both(b),)):
        for low, high, at in zip(which(bound - step), which(bound + step), which(bound), strict=True):
            for i, name in enumerate(("on_p", "on_q", "limit")):
                difference = (getattr(high, name) - getattr(low, name)) / (2 * step)
                assert at.slope[i] == pytest.approx(difference, abs=1e-8)


def test_log_ratio_and_four_fifths_at_zero():
    p, q = np.array([0.0, 0.2, 0.0]), np.array([0.0, 0.0, 0.4])
    assert eh.LogRatio().value(p, q).tolist() == [0.0, np.inf, np.inf]
    assert eh.FourFifths(1).value(p, q).tolist() == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: eh.PairwiseParity(-0.1), "bound of PairwiseParity must be at least 0"),
        (lambda: eh.TargetParity(float("nan")), "must be a number"),
        (lambda: eh.TargetParity(float("inf")), "finite"),
        (lambda: eh.PairwiseParity(0.1, distance="ratio"), r"an instance of Ratio, "),
        (lambda: eh.TargetParity(0.1, {0: 0.6, 1: 0.3}), "sums to 0.9"),
        (lambda: eh.TargetParity(0.1, {0: 1.2, 1: -0.2}), "must be at (most 1|least 0)"),
        (lambda: eh.TargetParity(0.1, [0.6, 0.4]), "mapping of outcome to probability"),
        (lambda: eh.ExpectedDistortion(-0.5), "limit of ExpectedDistortion must be at least 0"),
        (lambda: eh.ExpectedDistortion(0.5, per="person"), "per of ExpectedDistortion must be one of"),
        (lambda: eh.ExcessDistortion({0.9: 1.1}), "at most 1"),
        (lambda: eh.ExcessDistortion({0.9: -0.1}), "at least 0"),
        (lambda: eh.ExcessDistortion({-1: 0.1}), ".above of ExcessDistortion must be at least 0"),
        (lambda: eh.ExcessDistortion({}), "thresholds of ExcessDistortion must be a mapping such as"),
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


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: eh.PairwiseParity(0.1, on=3), "on of PairwiseParity must be a list of column names, not 3"),
        (lambda: eh.PairwiseParity(0.1, on=[]), "on of PairwiseParity must name at least one column"),
        (lambda: eh.PairwiseParity(0.1, given="age"), r"given of PairwiseParity must be a list .* write \['age'\]"),
        (lambda: eh.PairwiseParity(0.1, against="rst"), "against of PairwiseParity must be one of .* 'rest'"),
        (lambda: eh.PairwiseParity(0.1, against={}), "names a reference group"),
        (lambda: eh.PairwiseParity(0.1, against={"sex": ["m"]}), "against.sex of PairwiseParity must be one level"),
        (lambda: eh.PairwiseParity(0.1, min_segment=5), "min_segment of PairwiseParity is about segments"),
        (
            lambda: eh.PairwiseParity(0.1, given=["age"], min_segment=-1),
            "min_segment of PairwiseParity must be at least",
        ),
        (lambda: eh.TargetParity(0.1, released=True), "released of TargetParity is about segments"),
        (lambda: eh.TargetParity(0.1, released=1, given=["age"]), "released of TargetParity must be true or false"),
        (
            lambda: eh.TargetParity(0.1, eh.By(None, [({"age": 1}, {0: 1.0})])),
            "mapping of outcome to probability: .* not None",
        ),
        (lambda: eh.FourFifths([1]), "favourable of FourFifths must be one level"),
    ],
)
def test_bad_statements_about_groups_and_segments(build, words):
    with pytest.raises(eh.SpecError, match=words):
        build()


FALLS = eh.Ordinal(1, up=False)


def priced(budget, distortion=None):
    """A statement in which budgets bind."""
    return eh.Problem(
        protected=["sex", "race"],
        features=["f0", "f1"],
        outcome="y",
        parity=[eh.PairwiseParity(0.35)],
        distortion=distortion or eh.Distortion({"f0": FALLS, "f1": FALLS, "y": FALLS}),
        budget=budget,
    )


def test_a_budget_by_cell():
    cell = {"sex": "m", "y": 1, "f0": [1], "f1": [0, 1]}
    limit = eh.By(0.9, [({"sex": "m"}, 0.6), (cell, 0.25), ({"race": "a", "sex": "f"}, math.inf)])
    mapping = eh.fit(priced(eh.ExpectedDistortion(limit)), table(0))
    counts, spent = mapping.counts, mapping.achieved.distortion
    for source in range(len(counts)):
        place = counts.domain.d.labels(counts.d[source]) | counts.domain.x.labels(counts.x[source])
        place["y"] = int(counts.y[source])
        assert spent[source] <= by(limit, place) + 1e-9
    inside = mapping.achieved.budgets[0].limit == 0.25
    assert spent[inside].max() == pytest.approx(0.25, abs=1e-6)
    even = eh.fit(priced(eh.ExpectedDistortion(0.9)), table(0))
    assert even.achieved.distortion[inside].max() > 0.3
    assert mapping.objective > even.objective + 1e-6


def test_expected_and_excess_together():
    expected = eh.ExpectedDistortion(eh.By(math.inf, [({"race": "a"}, 0.4)]))
    excess = eh.ExcessDistortion({0.5: eh.By(math.inf, [({"race": "b"}, 0.46)]), 1.5: 0.1})
    both, one, other = (eh.fit(priced(budget), table(0)) for budget in ([expected, excess], expected, excess))
    assert both.objective > max(one.objective, other.objective) + 1e-6
    assert len(both.achieved.budgets) == 3
    assert max(budget.violation for budget in both.achieved.budgets) <= 1e-9


def test_a_binary_distortion_is_a_probability():
    undesirable = eh.Distortion({"f0": FALLS, "f1": eh.Ordinal(0, up=False), "y": FALLS}, combine="max")
    expected = eh.fit(priced(eh.ExpectedDistortion(0.45), undesirable), table(0))
    excess = eh.fit(priced(eh.ExcessDistortion({0: 0.45}), undesirable), table(0))
    assert expected.objective > 1e-4
    assert excess.objective == pytest.approx(expected.objective, abs=1e-7)
    rows = expected.table()
    wrong = rows[(rows["to_f0"] != rows["f0"]) | (rows["to_y"] != rows["y"])]
    share = wrong.groupby(["sex", "race", "f0", "f1", "y"])["probability"].sum()
    assert share.max() == pytest.approx(0.45, abs=1e-6)
    assert share.max() <= 0.45 + 1e-9


@pytest.mark.parametrize("make", [eh.ExpectedDistortion, eh.PairwiseParity], ids=lambda each: each.__name__)
def test_numbers_that_nothing_can_be_divided_by(make):
    with pytest.raises(eh.SpecError, match="0 or a number that can be divided by"):
        make(1e-320)


@pytest.mark.parametrize(
    ("distance", "bound", "meant"),
    [
        (eh.FourFifths(1), 0.8, "write 0.2"), (eh.FourFifths(1), 0.9, "0.1 to require 90%"),
        (eh.FourFifths(1), 1.0, "write 0.2"), (eh.FourFifths(1), 0.2, None), (eh.FourFifths(1), 0.5, None),
        (eh.Difference(), 10, "write 0.1"), (eh.Difference(), 1.0, "never binds"), (eh.Difference(), 0.5, None),
        (eh.Ratio(), 10, "write 0.1"), (eh.Ratio(), 9, None), (eh.Ratio(), 1e6, "write 10000"),
        (eh.LogRatio(), 10, "write 0.0953"), (eh.LogRatio(), 2, None),
    ],
)  # fmt: skip
def test_a_bound_that_is_almost_surely_a_mistake_is_doubted(distance, bound, meant):
    doubt = distance.doubt(bound)
    assert (doubt is None) == (meant is None)
    assert meant is None or meant in doubt


@pytest.mark.parametrize("verb", [eh.fit, eh.diagnose])
def test_fit_and_diagnose_warn_of_it(verb):
    frame = pd.DataFrame({"d": list("aabb") * 5, "x": 0, "y": [0, 1] * 10})
    problem = eh.Problem(
        protected=["d"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.8, eh.FourFifths(1))],
        distortion=eh.Distortion({"y": eh.Ordinal(1)}), budget=eh.ExpectedDistortion(0.5),
    )  # fmt: skip
    with pytest.warns(eh.EvenhandWarning, match=r"PairwiseParity: a bound of 0.8 requires only 20%.*write 0\.2"):
        verb(problem, frame)
