"""The last digits: dust goes, and as much of it stays as is needed."""

import numpy as np
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve import Clock, solve
from evenhand.optimize.solve.dust import exceeds
from evenhand.optimize.solve.structured.polish import DUST, polished

GRAIN = 1e-9
"""Dust at first sight, and no longer where a hundredth of that counts as dust."""


@pytest.fixture
def program():
    problem = small_problem()
    return compile_problem(problem, eh.count(problem, small_frame())).program


@pytest.fixture
def dusty(program):
    """Return the optimum with a grain on every choice that it does not use."""
    x = solve(program, "least_change", Clock()).x
    return x, np.where(x == 0, GRAIN, x)


def test_dust_goes_where_that_is_good(program, dusty):
    x, grains = dusty
    found = polished(program, grains, np.arange(program.n_targets), lambda x: True)
    assert np.array_equal(found > 0, x > 0)
    assert exceeds(program, found) <= 1e-9


def test_less_of_it_goes_until_the_result_is_good(program, dusty):
    x, grains = dusty
    asked = []

    def good(found):
        asked.append(found)
        return np.all(found > 0)

    found = polished(program, grains, np.arange(program.n_targets), good)
    assert len(asked) == 2
    assert found is asked[1]
    assert np.all(found[x == 0] == pytest.approx(GRAIN, rel=1e-2))


def test_the_last_is_taken_where_none_is_good(program, dusty):
    asked = []
    found = polished(program, dusty[1], np.arange(program.n_targets), lambda x: asked.append(x))
    assert len(asked) == len(DUST)
    assert found is asked[-1]
