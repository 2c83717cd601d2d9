import numpy as np
import pytest

import evenhand as eh
from evenhand.data.domain import Domain, Role, Variable

AGE = Variable("age", Role.FEATURE, ("young", "middle", "old"), ordered=True)


def domain():
    return Domain.of(
        [
            Variable("d", Role.PROTECTED, (0, 1), True),
            AGE,
            Variable("charge", Role.FEATURE, ("F", "M"), ordered=False),
            Variable("y", Role.OUTCOME, (0, 1), True),
        ]
    )


def test_asymmetric_steps():
    costs = eh.Ordinal(step=3, up_step=0.5, max_steps=2).costs(AGE)
    assert costs.tolist() == [[0, 0.5, 1.0], [3, 0, 0.5], [6, 3, 0]]


def test_one_way_and_limited():
    costs = eh.Ordinal(step=1, max_steps=1, up=False).costs(AGE)
    assert np.isinf(costs[0, 1])
    assert np.isinf(costs[2, 0])
    assert costs[1, 0] == 1


def test_fixed_and_free():
    assert np.isinf(eh.Fixed().costs(AGE)[0, 1])
    assert eh.Fixed().costs(AGE)[1, 1] == 0
    assert not eh.Free().costs(AGE).any()


@pytest.mark.parametrize(("combine", "cost"), [("sum", 7.0), ("sum_of_squares", 2**2 + 4**2 + 1.0), ("max", 4.0)])
def test_combinations_square_features_only(combine, cost):
    rules = {"age": eh.Ordinal(2), "charge": eh.Nominal(4), "y": eh.Ordinal(1)}
    x, to_x = (
        domain().x.ravel([np.array([0]), np.array([0])]),
        domain().x.ravel([np.array([1]), np.array([1])]),
    )
    distortion = eh.Distortion(rules, combine=combine)
    assert distortion.between(domain(), x, np.array([1]), to_x, np.array([0])).tolist() == [cost]


def test_a_feature_without_a_rule_never_changes():
    distortion = eh.Distortion({"y": eh.Free()})
    assert np.isinf(distortion.costs(AGE)[0, 1])


def test_strings_without_an_order():
    with pytest.raises(eh.SpecError, match=r"'charge'.*levels=\[...\]"):
        eh.Ordinal(1).costs(domain().variable("charge"))


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: eh.Ordinal(-1), "step of Ordinal must be at least 0"),
        (lambda: eh.Ordinal(float("nan")), "must be a number"),
        (lambda: eh.Ordinal(1, up_step=float("inf")), "must be finite"),
        (lambda: eh.Ordinal(1, max_steps=1.5), "whole number"),
        (lambda: eh.Ordinal(1, levels="abc"), "list of values"),
        (lambda: eh.Nominal(-2), "at least 0"),
        (lambda: eh.Nominal("4"), "must be a number"),
        (lambda: eh.Distortion({"a": 3}), "must be an instance of Ordinal, Nominal, Fixed or Free"),
        (lambda: eh.Distortion({"a": eh.Free()}, combine="summ"), "Did you mean 'sum'"),
        (lambda: eh.Distortion([("a", eh.Free())]), "mapping of names"),
    ],
)
def test_bad_statements(build, words):
    with pytest.raises(eh.SpecError, match=words):
        build()


CHARGE = Variable("charge", Role.FEATURE, ("F", "M", "X"), ordered=False)
PAIRS = {(a, b): 1.0 for a in "FMX" for b in "FMX" if a != b}


def test_a_table_of_costs():
    costs = eh.Nominal({**PAIRS, ("F", "M"): 3, ("M", "X"): np.inf, ("F", "F"): 0}).costs(CHARGE)
    assert costs.tolist() == [[0, 3, 1], [1, 0, np.inf], [1, 1, 0]]


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ({("F", "M"): 1}, "cost table of column 'charge' lacks the change from 'F' to 'X'"),
        ({**PAIRS, ("F", "Z"): 1}, r"column 'charge' names 'Z', which is not among its levels \['F', 'M', 'X'\]"),
    ],
)
def test_a_table_that_does_not_fit_the_column(cost, words):
    with pytest.raises(eh.SpecError, match=words):
        eh.Nominal(cost).costs(CHARGE)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: eh.Nominal({("F", "M"): -1}), "cost..'F', 'M'...cost of Nominal must be at least 0"),
        (lambda: eh.Nominal({("F", "M"): float("nan")}), "cost..'F', 'M'...cost of Nominal must be a number"),
        (lambda: eh.Nominal({("F", "F"): 1}), "staying at 'F' must cost 0, not 1"),
        (lambda: eh.Nominal({"F": 1}), "each key of cost of Nominal must be .from, to., not 'F'"),
        (lambda: eh.Nominal({("F", "M", "X"): 1}), "each key of cost of Nominal must be .from, to."),
        (lambda: eh.Ordinal(1, up="no"), "up of Ordinal must be true or false, not 'no'"),
        (lambda: eh.Ordinal(1, down=1), "down of Ordinal must be true or false, not 1"),
        (lambda: eh.Ordinal(1, levels=3), "levels of Ordinal must be a list of values, not 3"),
        (lambda: eh.Distortion(function=3), "function of Distortion must be a function, not 3"),
    ],
)
def test_more_bad_statements(build, words):
    with pytest.raises(eh.SpecError, match=words):
        build()


def test_levels_may_be_an_array():
    assert eh.Ordinal(1, levels=np.array(["low", "high"])).levels == ("low", "high")
    assert eh.Ordinal(1, up=np.bool_(False)) == eh.Ordinal(1, up=False)


def test_costs_that_no_solver_weighs():
    for build in (
        lambda: eh.Ordinal(step=1e30),
        lambda: eh.Ordinal(step=1, up_step=1e10),
        lambda: eh.Nominal(1e30),
        lambda: eh.Nominal({("a", "b"): 1e30}),
    ):
        with pytest.raises(eh.SpecError, match=r"must be at most 1e\+09, not 1e\+.*may also be forbidden"):
            build()
    assert eh.Nominal(np.inf).cost == np.inf
    assert eh.Ordinal(step=1e9).step == 1e9
