"""Ctrl-C and time limits."""

import os
import signal
import threading

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.optimise.solve import Clock
from evenhand.optimise.solve.structured import limits


@pytest.fixture
def heavy(monkeypatch):
    """A problem that takes the general solvers many seconds."""
    monkeypatch.setattr(limits, "FROM_MOVES", 10**9)
    rng = np.random.default_rng(0)
    n = 20_000
    frame = pd.DataFrame({c: rng.integers(0, 4, n) for c in "abcd"})
    frame["group"] = rng.integers(0, 3, n)
    frame["y"] = (rng.random(n) < 0.2 + 0.1 * frame["group"]).astype(int)
    rules = {c: eh.Ordinal(1, max_steps=1) for c in "abcd"} | {"y": eh.Ordinal(1)}
    problem = eh.Problem(
        protected=["group"], features=list("abcd"), outcome="y", distortion=eh.Distortion(rules),
        parity=[eh.PairwiseParity(0.1)], budget=eh.ExpectedDistortion(0.3),
    )  # fmt: skip
    return problem, eh.count(problem, frame)


def with_utility(problem, utility):
    from dataclasses import replace

    return replace(problem, utility=utility)


@pytest.mark.slow
@pytest.mark.parametrize("utility", [eh.KL(), eh.L1()])
def test_a_time_limit_stops_the_fit(heavy, utility):
    problem, counts = heavy
    with pytest.raises(eh.TimeLimitError, match=r"time limit of 0\.3 s"):
        eh.fit(with_utility(problem, utility), counts, time_limit=0.3)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("utility", [eh.KL(), eh.L1()])
def test_ctrl_c_stops_the_fit_and_restores_the_handler(heavy, utility):
    problem, counts = heavy
    # Workers of a parallel test run ignore Ctrl-C; a user's session does not.
    outer = signal.signal(signal.SIGINT, signal.default_int_handler)
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            eh.fit(with_utility(problem, utility), counts, time_limit=300)
        timer.join()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, outer)


@pytest.mark.slow
def test_a_solver_that_does_not_heed_is_left_behind(compas, monkeypatch):
    """Some stages of a solver cannot be stopped; the fit returns all the same."""
    from evenhand.optimise.solve import linear

    released = threading.Event()
    monkeypatch.setattr(linear, "GRACE_SECONDS", 0.1)
    monkeypatch.setattr(linear.highspy.Highs, "run", lambda self: released.wait(60))
    problem = with_utility(compas.problem, eh.L1())
    with pytest.raises(eh.TimeLimitError, match=r"time limit of 0\.2 s"):
        eh.fit(problem, compas.counts, time_limit=0.2)
    released.set()


def test_a_fit_runs_in_another_thread(compas):
    found = []
    thread = threading.Thread(target=lambda: found.append(eh.fit(compas.problem, compas.counts)))
    thread.start()
    thread.join()
    assert found[0].certificate.status == "optimal"


def test_a_tie_break_out_of_time_keeps_the_optimum(compas, monkeypatch):
    from evenhand.optimise.solve.linear import LinearSolver

    def late(self, cost):
        raise eh.TimeLimitError("no answer within the time limit of 1 s")

    monkeypatch.setattr(LinearSolver, "minimise_again", late)
    mapping = eh.fit(compas.problem, compas.counts)
    assert mapping.certificate.status == "optimal"
    assert mapping.certificate.notes == ("tie-break skipped: no answer within the time limit of 1 s",)


@pytest.mark.parametrize("limit", [0, -1, float("nan")])
def test_a_senseless_limit(compas, limit):
    with pytest.raises(eh.SpecError, match="time_limit"):
        eh.fit(compas.problem, compas.counts, time_limit=limit)
    assert Clock().remaining == float("inf")
