import math

import numpy as np
import pytest
from families import small_frame, small_problem
from hypothesis import given, settings
from hypothesis import strategies as st
from oracle import by

import evenhand as eh
from evenhand.data.domain import Role, Variable
from evenhand.spec.by import Field, numbers_at

SEX = Variable("sex", Role.PROTECTED, ("f", "m"), ordered=False)
AGE = Variable("age", Role.FEATURE, (0, 1, 2), ordered=True)
SIZE = 12
FIELDS = {"sex": Field(SEX, np.arange(SIZE) % 2), "age": Field(AGE, np.arange(SIZE) // 2 % 3)}


def places(fields):
    return [{n: f.variable.levels[f.codes[i]] for n, f in fields.items()} for i in range(SIZE)]


WHERE = st.dictionaries(st.sampled_from(["sex", "age"]), st.none(), min_size=1, max_size=2).flatmap(
    lambda chosen: st.fixed_dictionaries(
        {n: st.lists(st.sampled_from(FIELDS[n].variable.levels), min_size=1, max_size=2, unique=True) for n in chosen}
    )
)


@pytest.mark.slow
@given(st.floats(0, 1), st.lists(st.tuples(WHERE, st.floats(0, 1)), max_size=4))
@settings(max_examples=60, derandomize=True)
def test_the_last_case_that_fits_counts(default, cases):
    value = eh.By(default, cases)
    found = numbers_at("a bound", value, FIELDS, SIZE)
    assert found.tolist() == [by(value, place) for place in places(FIELDS)]


def test_a_pair_fits_in_both_orders():
    value = eh.By(0.3, [({"sex": "f", "against": {"sex": "m"}}, 0.1)])
    own, other = np.array([0, 1, 0, 1]), np.array([1, 0, 0, 1])
    found = numbers_at("a bound", value, {"sex": Field(SEX, own)}, 4, {"sex": Field(SEX, other)})
    assert found.tolist() == [0.1, 0.1, 0.3, 0.3]


def test_a_plain_number_is_the_same_everywhere():
    assert numbers_at("a bound", 0.25, FIELDS, 3).tolist() == [0.25] * 3


def test_true_is_not_one():
    number = Variable("n", Role.FEATURE, (0, 1), ordered=True)
    with pytest.raises(eh.SpecError, match="names n=True, which does not exist"):
        numbers_at("a bound", eh.By(1.0, [({"n": True}, 2.0)]), {"n": Field(number, np.array([0, 1]))}, 2)


def test_statements_with_exceptions_are_frozen_values():
    listed = eh.By(0.1, [({"sex": ["m", "f"]}, 0.2)])
    assert listed == eh.By(0.1, [({"sex": ("m", "f")}, 0.2)])
    assert hash(listed) == hash(eh.By(0.1, [({"sex": np.array(["m", "f"])}, 0.2)]))
    assert eh.By(0.1, [({"sex": {"m", "f"}}, 0.2)]) == eh.By(0.1, [({"sex": ("f", "m")}, 0.2)])
    assert listed != eh.By(0.1, [({"sex": ["m", "f"]}, 0.3)])
    assert listed.map(lambda v: 2 * v).values == (0.2, 0.4)


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: eh.By(0.1, {"sex": 0.2}), "cases of By must be a list"),
        (lambda: eh.By(0.1, [3]), r"a pair \(where, value\), not 3"),
        (lambda: eh.By(0.1, [("sex", 0.2)]), "where one of the cases of By holds must be a mapping"),
        (lambda: eh.By(0.1, [({}, 0.2)]), "where one of the cases of By holds must be a mapping"),
        (lambda: eh.By(0.1, [({"sex": "m", "against": "f"}, 0.2)]), "'against', the second group, must be a mapping"),
        (lambda: eh.By(0.1, [({"sex": "m", "against": {}}, 0.2)]), "'against', the second group, must be a mapping"),
        (lambda: eh.By(eh.By(0.1)), "default of By must be a plain value"),
        (lambda: eh.By(0.1, [({"sex": "m"}, eh.By(0.1))]), "value in cases of By must be a plain value"),
        (lambda: eh.PairwiseParity(eh.By(0.1, [({"sex": "m"}, -0.1)])), "bound of PairwiseParity must be at least 0"),
        (lambda: eh.PairwiseParity(eh.By(0.1, [({"sex": "m"}, "x")])), "bound of PairwiseParity must be a number"),
        (lambda: eh.TargetParity(eh.By(math.inf, [({"sex": "m"}, math.inf)])), "would bound nothing"),
        (lambda: eh.ExpectedDistortion(eh.By(math.inf)), "would bound nothing"),
        (lambda: eh.ExcessDistortion({0.9: math.inf}), "at 0.9 must be finite somewhere"),
        (lambda: eh.ExcessDistortion({0.9: eh.By(0.1, [({"sex": "m"}, 1.5)])}), "at most 1"),
    ],
)
def test_bad_statements(build, words):
    with pytest.raises(eh.SpecError, match=words):
        build()


BOUNDS = [
    ({"group": "c"}, "bound of PairwiseParity names group='c', which does not exist"),
    ({"grup": "a"}, r"cannot depend on 'grup'; it may depend on \['group', 'hired'\]. Did you mean 'group'"),
    ({"score": 0}, "cannot depend on 'score'"),
    ({"hired": 2}, "names hired=2, which does not exist"),
    ({"group": "a", "against": {"group": "a"}}, "group='a', against={'group': 'a'}, but nobody there"),
    ({"group": "a", "against": {"group": "z"}}, "names group='z'"),
    ({"group": "a", "against": {"score": 1}}, "cannot depend on 'score'"),
    ({"group": []}, r"group=\(\), but nobody there"),
]


@pytest.mark.parametrize(("where", "words"), BOUNDS, ids=lambda v: str(v))
def test_bounds_for_nobody(where, words):
    problem = small_problem(parity=[eh.PairwiseParity(eh.By(0.2, [(where, 0.1)]))])
    with pytest.raises(eh.SpecError, match=words):
        eh.fit(problem, small_frame())


@pytest.mark.parametrize(
    "parity",
    [
        eh.TargetParity(eh.By(0.2, [({"group": "a", "against": {"group": "b"}}, 0.1)])),
        eh.PairwiseParity(eh.By(0.2, [({"group": "a", "against": {"group": "b"}}, 0.1)]), against="rest"),
    ],
)
def test_a_pair_where_nothing_is_held_against_a_group(parity):
    with pytest.raises(eh.SpecError, match="nothing is held against another group"):
        eh.fit(small_problem(parity=[parity]), small_frame())


def test_a_combination_of_levels_that_nobody_has():
    frame = small_frame().query("not (group == 'b' and score == 1)")
    budget = eh.ExpectedDistortion(eh.By(0.4, [({"group": "b", "score": 1}, 0.1)]))
    with pytest.raises(eh.SpecError, match=r"limit of expected distortion: .* group='b', score=1, but nobody there"):
        eh.fit(small_problem(budget=budget), frame)


def test_a_limit_per_xy_does_not_know_groups():
    budget = eh.ExpectedDistortion(eh.By(0.4, [({"group": "a"}, 0.1)]), per="xy")
    with pytest.raises(eh.SpecError, match=r"cannot depend on 'group'; it may depend on \['score', 'hired'\]"):
        eh.fit(small_problem(budget=budget), small_frame())
