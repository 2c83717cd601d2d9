"""Every two settings of utility, parity, budget, distortion and mode together give the dense statement's answer."""

import itertools
import math
from functools import cache

import pytest
from formulations import FACTORS, all_pairs, problem_of, table
from oracle import Dense

import evenhand as eh

ROWS = all_pairs()
BATCH = 7
OBJECTIVE = 1e-6
INACCURATE = 1e-5
GAP = 1e-7
VIOLATION = 1e-9
POSITIVE = 1e-6


@cache
def fitted(number):
    """The problem and counts of a row, and its mapping; None where it is infeasible."""
    problem = problem_of(ROWS[number], number)
    counts = eh.count(problem, table(number))
    try:
        return problem, counts, eh.fit(problem, counts)
    except eh.InfeasibleError:
        return problem, counts, None


def compare(number):
    problem, counts, mapping = fitted(number)
    status, value = Dense(problem, counts).solve()
    what = (number, ROWS[number], status)
    if mapping is None:
        assert status != "optimal", what
        return
    assert status != "infeasible", what
    certificate = mapping.certificate
    assert certificate.status == "optimal", what
    assert certificate.gap <= GAP, what
    assert certificate.max_violation <= VIOLATION, what
    if status == "optimal":
        assert mapping.objective == pytest.approx(value, abs=OBJECTIVE), what
    elif not math.isnan(value):
        assert certificate.lower_bound <= value + INACCURATE, what


@pytest.mark.parametrize("first", range(0, len(ROWS), BATCH))
def test_agrees_with_the_dense_statement(first):
    for number in range(first, min(first + BATCH, len(ROWS))):
        compare(number)


def test_every_two_settings_meet():
    met = {(i, row[i], j, row[j]) for row in ROWS for i, j in itertools.combinations(range(len(row)), 2)}
    wanted = {
        (i, a, j, b) for i, j in itertools.combinations(range(len(FACTORS)), 2) for a in FACTORS[i] for b in FACTORS[j]
    }
    assert met == wanted


def test_many_rows_lose_something_and_every_setting_is_in_one_that_does():
    lossy = [row for i, row in enumerate(ROWS) if (m := fitted(i)[2]) is not None and m.objective > POSITIVE]
    assert len(lossy) >= 0.4 * len(ROWS)
    for place, factor in enumerate(FACTORS):
        assert {row[place] for row in lossy} == set(factor)
