"""A sample of what tests/long/oracle compares: our answers and the dense cvxpy statement's, on random problems."""

from functools import cache

import pytest
from families import random_events_problem, random_problem, random_scored_problem
from formulations import random_edge_problem, random_tied_problem
from oracle import BEATEN, compare, tie_break_beaten
from wide import random_wide_problem

SAMPLE = [(random_problem, 6), (random_wide_problem, 2), (random_events_problem, 3), (random_scored_problem, 6)]


@cache
def verdict(seed, family):
    return compare(seed, family)


@pytest.mark.parametrize(("family", "seed"), [(family, seed) for family, size in SAMPLE for seed in range(size)])
def test_agrees_with_the_dense_statement(family, seed):
    verdict(seed, family)


def test_the_sample_can_tell():
    """At most half of these instances are so near to an edge that either verdict is right."""
    verdicts = [verdict(seed, random_problem) for seed in range(2)]
    assert verdicts.count("unsure") <= 1


@pytest.mark.parametrize(
    ("family", "seed"), [(random_tied_problem, 1), (random_tied_problem, 13), (random_edge_problem, 5)]
)
def test_no_optimum_is_better_than_the_one_that_a_tie_break_chose(family, seed):
    assert max(tie_break_beaten(seed, family).values()) <= BEATEN
