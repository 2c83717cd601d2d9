"""The edges against bisection over the dense statement's feasibility."""

from dataclasses import replace

import cvxpy as cp
import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem
from oracle import Dense

import evenhand as eh
from evenhand.errors import SolverError
from evenhand.findings.feasibility import raised
from evenhand.optimize.solve import edges


def is_feasible(problem, counts):
    dense = Dense(problem, counts)
    model = cp.Problem(cp.Minimize(0), list(dense.constraints()))
    model.solve(solver=cp.HIGHS)
    return model.status == "optimal"


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 4, 11, 17, 31, 47])
def test_the_smallest_bound_separates_feasible_from_infeasible(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    edge = eh.smallest_parity_bound(problem, counts)
    at = lambda bound: replace(problem, parity=[replace(problem.parity[0], bound=bound)])  # noqa: E731
    assert is_feasible(at(edge + 1e-5), counts)
    if edge > 1e-4:
        assert not is_feasible(at(edge - 1e-5), counts)


@pytest.mark.slow
def test_a_probe_that_stays_undecided_leaves_the_edge(monkeypatch):
    problem, frame = random_problem(np.random.default_rng(4))
    counts = eh.count(problem, frame)
    edge = eh.smallest_parity_bound(problem, counts)
    asked = []
    decided = edges._feasible_point

    def undecided(*given):
        asked.append(given)
        if len(asked) > 1:
            raise SolverError("HiGHS stopped with the status 'Unknown'")
        return decided(*given)

    monkeypatch.setattr(edges, "_feasible_point", undecided)
    assert eh.smallest_parity_bound(problem, counts) == pytest.approx(edge, abs=1e-9)
    assert len(asked) > 1


@pytest.mark.slow
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

    factor = eh.smallest_budget_factor(problem, counts)
    if factor is None:
        assert not is_feasible(scaled(100), counts)
        return
    assert is_feasible(scaled(factor * (1 + 1e-5)), counts)
    if factor > 1e-4:
        assert not is_feasible(scaled(factor * (1 - 1e-5)), counts)


@pytest.mark.slow
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


def rates_only(up, down):
    """Two groups of 100, half and none of them hired; the outcome may change, at cost one."""
    rows = [("a", 0, 0)] * 50 + [("a", 0, 1)] * 50 + [("b", 0, 0)] * 100
    frame = pd.DataFrame(rows, columns=["group", "score", "hired"])
    rule = eh.Ordinal(1, up=up, down=down)
    problem = small_problem(distortion=eh.Distortion({"hired": rule}), budget=eh.ExpectedDistortion(0.1))
    return problem, eh.count(problem, frame)


def test_an_edge_by_hand():
    """Group a can fall to .5 × .9 = .45, group b can rise to .1: the ratio is 4.5."""
    assert eh.smallest_parity_bound(*rates_only(up=True, down=True)) == pytest.approx(3.5, abs=1e-9)


def test_an_edge_where_the_rates_vanish():
    """Only falling is allowed, and fully affordable: exact parity is met with nobody hired."""
    problem, counts = rates_only(up=False, down=True)
    problem = replace(problem, budget=eh.ExpectedDistortion(1.0))
    assert eh.smallest_parity_bound(problem, counts) == pytest.approx(0, abs=1e-9)
    assert eh.fit(replace(problem, utility=eh.L1(), parity=[eh.PairwiseParity(0)]), counts).objective > 0
    with pytest.raises(eh.InfeasibleError, match="empties some cell"):
        eh.fit(replace(problem, parity=[eh.PairwiseParity(0)]), counts)


def never_hired():
    """Group b never has the outcome 1, so that a ratio to it is infinite as the table is."""
    frame = small_frame()
    return frame.assign(hired=frame["hired"].where(frame["group"] == "a", 0))


@pytest.mark.slow
@pytest.mark.parametrize("distance", [eh.LogRatio(), eh.Ratio()], ids=repr)
def test_the_edge_where_the_table_itself_is_infinitely_far(distance):
    rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Nominal(1)})
    problem = small_problem(
        parity=[eh.PairwiseParity(0.01, distance)], distortion=rules, budget=eh.ExpectedDistortion(0.1)
    )
    with pytest.raises(eh.InfeasibleError) as caught:
        eh.fit(problem, never_hired())
    edge = caught.value.smallest_parity_bound
    assert eh.smallest_parity_bound(problem, never_hired()) == pytest.approx(edge, abs=1e-9)
    eh.fit(replace(problem, parity=[eh.PairwiseParity(edge + 1e-6, distance)]), never_hired())
    with pytest.raises(eh.InfeasibleError):
        eh.fit(replace(problem, parity=[eh.PairwiseParity(edge - 1e-6, distance)]), never_hired())


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(("distance", "bound"), [(eh.LogRatio(), 30.0), (eh.LogRatio(), 300.0), (eh.Ratio(), 1e20)])
def test_huge_bounds_are_no_trouble(distance, bound):
    rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Nominal(1)})
    problem = small_problem(parity=[eh.PairwiseParity(bound, distance)], distortion=rules)
    with pytest.warns(eh.EvenhandWarning, match="times the other rate"):
        assert eh.fit(problem, small_frame()).objective == 0
    with pytest.warns(eh.EvenhandWarning, match="times the other rate"):
        assert eh.diagnose(problem, never_hired()).feasible


def test_with_d_suppressed_the_edge_does_not_begin_at_the_identity():
    """The identity is no mapping there: its rates say nothing about what can be met."""
    rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Free()})
    problem = small_problem(parity=[eh.PairwiseParity(0.001)], distortion=rules, suppress_protected="fixed")
    problem = replace(problem, budget=eh.ExpectedDistortion(0.01))
    frame = small_frame()
    frame = frame[(frame["group"] == "a") | (frame["score"] == 0)]
    with pytest.raises(eh.InfeasibleError) as caught:
        eh.fit(problem, frame)
    edge = caught.value.smallest_parity_bound
    eh.fit(replace(problem, parity=[eh.PairwiseParity(edge + 1e-6)]), frame)
    with pytest.raises(eh.InfeasibleError):
        eh.fit(replace(problem, parity=[eh.PairwiseParity(edge - 1e-6)]), frame)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    ("budget", "said", "absent"),
    [
        # A probability is at most one, whatever the factor.
        ([eh.ExpectedDistortion(0.02), eh.ExcessDistortion({1.5: 0.8})], "0.8 → 1", "0.8 → 2"),
        # What has no limit, or one of zero, stays so.
        (eh.ExpectedDistortion(eh.By(np.inf, [({"group": "a"}, 0.02), ({"group": "b"}, 0.0)])), "0.02 → ", "inf"),
    ],
)
def test_fit_and_diagnose_say_the_same_limits(budget, said, absent):
    problem = small_problem(parity=[eh.PairwiseParity(0.02)], budget=budget)
    with pytest.raises(eh.InfeasibleError) as caught:
        eh.fit(problem, small_frame())
    assert caught.value.smallest_budget_factor > 1.25
    told = str(caught.value).split("multiply the budgets by ")[1].split(")")[0]
    found = eh.diagnose(problem, small_frame())
    diagnosed = " ".join(found.sentences()).split("multiply the budgets by ")[1].split(").")[0]
    assert said in told
    assert said in diagnosed
    assert absent not in told + diagnosed
    assert "0 → 0" not in told.split("(")[1].split(", ")


def test_limits_times_a_factor():
    many = eh.By(np.inf, [({"group": "a"}, 0.4), ({"group": "b"}, 0.0), ({"group": "c"}, 0.2)])
    assert raised(eh.ExpectedDistortion(many).charges[0], 4) == {0.2: 0.8, 0.4: 1.6}
    assert raised(eh.ExcessDistortion({1: many}).charges[0], 4) == {0.2: 0.8, 0.4: 1.0}
    doubled = small_problem(budget=eh.ExcessDistortion({1: many})).with_limits(lambda limit: 4 * limit)
    assert doubled.charges[0].limit.values == eh.By(np.inf, [({"g": 1}, 1.0), ({"g": 2}, 0.0), ({"g": 3}, 0.8)]).values


@pytest.mark.parametrize("edge", [eh.smallest_parity_bound, eh.smallest_budget_factor, eh.identity_from])
def test_an_edge_of_a_weighted_table_is_that_of_its_people(edge):
    cells = small_frame().value_counts().rename("n").reset_index()
    tight = small_problem(parity=[eh.PairwiseParity(0.05)], budget=eh.ExpectedDistortion(0.1))
    expected = edge(tight, small_frame())
    assert expected > 0
    assert edge(tight, cells, frequencies="n") == pytest.approx(expected)
    assert edge(tight, cells, weights=(cells["n"] / 3).tolist()) == pytest.approx(expected)
    assert edge(tight, cells) != pytest.approx(expected), "each cell counts once"
