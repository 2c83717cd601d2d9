import pytest
import scipy.linalg  # noqa: F401 (its BLAS is one of the libraries that are counted)
from threadpoolctl import threadpool_info, threadpool_limits

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve.structured.form import pieces_of
from evenhand.optimize.solve.structured.method import minimise_loss
from evenhand.optimize.solve.structured.threads import one_thread


def threads():
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.fixture
def two():
    with threadpool_limits(2, user_api="blas"):
        yield


def test_one_thread_inside_and_the_number_before_afterwards(two):
    before = threads()
    with one_thread():
        assert threads() == {1}
    assert threads() == before


def test_callers_that_overlap_leave_the_number_as_it_was(two):
    before = threads()
    first, second = one_thread(), one_thread()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert threads() == {1}
    second.__exit__(None, None, None)
    assert threads() == before


def test_the_specialised_method_runs_on_one_thread(two):
    data = eh.datasets.load("adult")
    program = compile_problem(data.problem, data.counts).program
    seen = set()
    minimise_loss(program, pieces_of(program), lambda done: seen.update(threads()))
    assert seen == {1}
