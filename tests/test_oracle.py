"""Agreement with the dense cvxpy statement on random instances."""

import numpy as np
import pytest
from families import random_events_problem, random_problem
from oracle import Dense
from wide import random_wide_problem

import evenhand as eh
from evenhand.verifier import verify

INSTANCES = 240
BATCH = 4
OBJECTIVE = 1e-6
INACCURATE = 1e-5
EDGE = 1e-4


def ours(problem, counts):
    try:
        return eh.fit(problem, counts)
    except eh.InfeasibleError as error:
        return error


def compare(seed, family=random_problem):
    """Return 'optimal', 'infeasible' or 'unsure' after asserting agreement on one instance."""
    problem, frame = family(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    result = ours(problem, counts)
    status, value = Dense(problem, counts).solve()
    if status == "optimal":
        if isinstance(result, eh.InfeasibleError):
            edge = result.smallest_parity_bound
            assert edge is not None, seed
            assert edge - problem.parity[0].smallest_bound < EDGE, seed
            return "unsure"
        assert result.objective == pytest.approx(value, abs=OBJECTIVE), (seed, problem)
        assert result.certificate.status == "optimal", (seed, result)
        return "optimal"
    if status == "optimal_inaccurate" and not isinstance(result, eh.InfeasibleError):
        assert result.objective == pytest.approx(value, abs=INACCURATE), (seed, problem)
        return "optimal"
    if status == "infeasible":
        if not isinstance(result, eh.InfeasibleError):
            edge = eh.smallest_parity_bound(problem, counts)
            assert problem.parity[0].smallest_bound - edge < EDGE, seed
            return "unsure"
        return "infeasible"
    return "unsure"


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("first", range(0, INSTANCES, BATCH))
def test_agrees_with_the_dense_statement(first):
    verdicts = [compare(seed) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("first", range(0, 60, BATCH))
def test_agrees_with_the_dense_statement_over_learned_cells(first):
    verdicts = [compare(seed, random_wide_problem) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("first", range(0, 120, BATCH))
def test_agrees_with_the_dense_statement_about_events(first):
    verdicts = [compare(seed, random_events_problem) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("first", range(0, 120, BATCH))
def test_proofs_about_events_stand(first, tmp_path):
    for seed in range(first, first + BATCH):
        problem, frame = random_events_problem(np.random.default_rng(seed))
        counts = eh.count(problem, frame)
        found, path = ours(problem, counts), tmp_path / f"{seed}.json"
        if isinstance(found, eh.InfeasibleError):
            found = eh.diagnose(problem, counts)
        found.proof(path)
        report = verify(path)
        assert report.stands, (seed, problem.parity, report.reason)


def test_the_instances_cover_both_verdicts_and_every_setting():
    problems = [random_problem(np.random.default_rng(seed))[0] for seed in range(INSTANCES)]
    settings = {(type(p.utility), type(p.parity[0]), type(p.budgets[0]), p.budgets[0].per) for p in problems}
    assert len(settings) == 16
    assert {p.distortion.combine for p in problems} == {"sum", "sum_of_squares", "max"}
