"""Ctrl-C and time limits."""

import os
import signal
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.solve import Clock, clock
from evenhand.optimize.solve.structured import limits
from evenhand.resources import heeding


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


@pytest.mark.slow
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
    from evenhand.optimize.solve import linear

    released = threading.Event()
    monkeypatch.setattr(clock, "GRACE_SECONDS", 0.1)
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
    from evenhand.optimize.solve.linear import LinearSolver

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


class Ticking:
    """A clock for a clock: time stands still until it was looked at a number of times, and then is long past."""

    def __init__(self, looks):
        self.looks, self.seen = looks, 0

    def monotonic(self):
        self.seen += 1
        return 0.0 if self.seen <= self.looks else 1e9


def seconds(before, after):
    """A user's distortion."""
    return 1.0 * (before["hired"] != after["hired"]) + 0.5 * np.abs(before["score"] - after["score"])


WRITTEN = {
    "plain": {},
    "blind": {"blind": True, "parity": [eh.PairwiseParity(0.65)]},
    "suppressed": {"suppress_protected": "fixed", "distortion": eh.Distortion({"hired": eh.Free()})},
    "a user's function": {"distortion": eh.Distortion(function=seconds), "parity": [eh.PairwiseParity(0.3)]},
    "l1": {"utility": eh.L1()},
    "even": {"tie_break": "even"},
}


@pytest.mark.slow
@pytest.mark.parametrize("form", WRITTEN)
def test_the_limit_is_heeded_wherever_it_comes(form, monkeypatch):
    """At whichever look at the clock time is up, the fit ends with the usual error, or has its optimum already."""
    problem = small_problem(**WRITTEN[form])
    counts = eh.count(problem, small_frame())
    whole = Ticking(10**9)
    monkeypatch.setattr(clock, "time", whole)
    best = eh.fit(problem, counts, time_limit=1.0).objective
    assert whole.seen > 15
    late = set()
    for looks in range(1, whole.seen, 3):
        monkeypatch.setattr(clock, "time", Ticking(looks))
        try:
            assert eh.fit(problem, counts, time_limit=1.0).objective == pytest.approx(best, abs=1e-6)
        except eh.TimeLimitError as error:
            late.add(str(error))
    assert late == {"no answer within the time limit of 1 s; give it more time, or merge levels"}


STAGES = ("moves", "choices", "parity", "distortion", "__init__")


def test_every_stage_of_writing_looks_at_the_clock(monkeypatch):
    """A stage alone can take seconds where there are millions of moves."""
    problem = small_problem(blind=True)
    counts = eh.count(problem, small_frame())
    stages = set()

    def look():
        stages.add(Path(sys._getframe(2).f_code.co_filename).stem)

    with heeding(look):
        compile_problem(problem, counts)
    assert stages == set(STAGES)
