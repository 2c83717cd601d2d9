"""Agreement with the dense cvxpy statement on random instances."""

import numpy as np
import pytest
from families import (
    random_events_problem,
    random_problem,
    random_problem_with_missing_groups,
    random_scored_problem,
)
from oracle import compare, ours
from wide import random_wide_problem

import evenhand as eh
from evenhand.data.counts import with_propensities
from evenhand.verifier import verify

pytestmark = pytest.mark.whole

INSTANCES = 240
BATCH = 4


@pytest.mark.parametrize("first", range(0, INSTANCES, BATCH))
def test_agrees_with_the_dense_statement(first):
    verdicts = [compare(seed, random_problem) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.parametrize("first", range(0, 40, BATCH))
def test_agrees_with_the_dense_statement_where_groups_are_missing(first):
    verdicts = [compare(seed, random_problem_with_missing_groups) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.parametrize("first", range(0, 60, BATCH))
def test_agrees_with_the_dense_statement_over_learned_cells(first):
    verdicts = [compare(seed, random_wide_problem) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.parametrize("first", range(0, 120, BATCH))
def test_agrees_with_the_dense_statement_about_events(first):
    verdicts = [compare(seed, random_events_problem) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.parametrize("first", range(0, 200, BATCH))
def test_agrees_with_the_dense_statement_about_models_without_protected_columns(first):
    verdicts = [compare(seed, random_scored_problem) for seed in range(first, first + BATCH)]
    assert verdicts.count("unsure") <= BATCH // 2


@pytest.mark.parametrize("first", range(0, 200, BATCH))
def test_proofs_about_models_without_protected_columns_stand(first, tmp_path):
    for seed in range(first, first + BATCH):
        problem, frame = random_scored_problem(np.random.default_rng(seed))
        counts = with_propensities(eh.count(problem, frame))
        found, path = ours(problem, counts), tmp_path / f"{seed}.json"
        if isinstance(found, eh.InfeasibleError):
            found = eh.diagnose(problem, counts)
            if found.reason is not None and not found.stranded:
                continue  # nothing is weighed where every cell that Δ needs would be emptied
        found.proof(path)
        report = verify(path)
        assert report.stands, (seed, problem.parity, report.reason)


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
