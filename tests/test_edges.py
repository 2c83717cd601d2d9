"""The edges against bisection over the dense statement's feasibility."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pytest
from families import random_problem, small_frame, small_problem
from oracle import Dense

import evenhand as eh


def is_feasible(problem, counts):
    dense = Dense(problem, counts)
    model = cp.Problem(cp.Minimize(0), list(dense.constraints()))
    model.solve(solver=cp.HIGHS)
    return model.status == "optimal"


@pytest.mark.parametrize("seed", [1, 4, 11, 17, 31, 47])
def test_the_smallest_bound_separates_feasible_from_infeasible(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    edge = eh.smallest_parity_bound(problem, counts)
    at = lambda bound: replace(problem, parity=[replace(problem.parity[0], bound=bound)])  # noqa: E731
    assert is_feasible(at(edge + 1e-5), counts)
    if edge > 1e-4:
        assert not is_feasible(at(edge - 1e-5), counts)


@pytest.mark.parametrize("seed", [1, 4, 11, 17])
def test_the_smallest_budget_separates_as_well(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    budget = problem.budget

    def scaled(factor):
        if isinstance(budget, eh.ExpectedDistortion):
            return replace(problem, budget=replace(budget, limit=budget.limit * factor))
        shares = {t: min(1.0, c * factor) for t, c in budget.thresholds.items()}
        return replace(problem, budget=replace(budget, thresholds=shares))

    factor = eh.smallest_budget(problem, counts)
    if factor is None:
        assert not is_feasible(scaled(100), counts)
        return
    assert is_feasible(scaled(factor * (1 + 1e-5)), counts)
    if factor > 1e-4:
        assert not is_feasible(scaled(factor * (1 - 1e-5)), counts)


def test_lossless_is_where_the_loss_vanishes(adult):
    edge = eh.smallest_parity_bound(adult.problem, adult.counts, lossless=True)
    at = lambda bound: eh.fit(replace(adult.problem, parity=[eh.TargetParity(bound)]), adult.counts)  # noqa: E731
    assert at(edge + 1e-6).objective == pytest.approx(0, abs=1e-8)
    assert at(edge - 1e-3).objective > 1e-6


def test_identity_from_is_where_nobody_need_change():
    counts = eh.count(small_problem(), small_frame())
    assert eh.identity_from(small_problem(), counts) == pytest.approx(0.5 / 0.3 - 1)


def test_an_edge_exists_even_where_the_identity_is_infinitely_far():
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    problem = small_problem(distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(1)}))
    counts = eh.count(problem, frame)
    assert eh.identity_from(problem, counts) == np.inf
    edge = eh.smallest_parity_bound(problem, counts)
    assert edge == pytest.approx(0, abs=1e-9)
