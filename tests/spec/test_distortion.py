import numpy as np
import pytest

import evenhand as eh
from evenhand.domain import Domain, Role, Variable

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
        (lambda: eh.Ordinal(1, up_step=float("inf")), "finite"),
        (lambda: eh.Ordinal(1, max_steps=1.5), "whole number"),
        (lambda: eh.Ordinal(1, levels="abc"), "list of values"),
        (lambda: eh.Nominal(-2), "at least 0"),
        (lambda: eh.Nominal("4"), "must be a number"),
        (lambda: eh.Distortion({"a": 3}), "must be Ordinal, Nominal, Fixed or Free"),
        (lambda: eh.Distortion({"a": eh.Free()}, combine="summ"), "Did you mean 'sum'"),
        (lambda: eh.Distortion([("a", eh.Free())]), "mapping of columns"),
    ],
)
def test_bad_statements(build, words):
    with pytest.raises(eh.SpecError, match=words):
        build()
