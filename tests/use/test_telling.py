"""Progress that moves while solvers work: which stages are told of, and that none is silent for long."""

import threading
import time
from dataclasses import replace

import pytest

import evenhand as eh
from evenhand.use import telling
from evenhand.use.proposal import propose
from evenhand.use.telling import Teller, TellingClock


@pytest.fixture
def now(monkeypatch):
    """A time that passes as the test says."""
    found = [100.0]
    monkeypatch.setattr(telling.time, "monotonic", lambda: found[0])
    return found


def test_a_stage_that_goes_on_is_told_again_with_its_seconds(now):
    told = []
    teller = Teller(lambda stage, share: told.append((stage, share)))
    clock = TellingClock(None, teller)
    clock.check()
    teller("solving", 0.2)
    for _ in range(9):
        now[0] += 0.2
        assert not clock.stop
        clock.check()
    assert told == [("solving", 0.2), ("solving, 0.6 s", 0.2), ("solving, 1.2 s", 0.2), ("solving, 1.8 s", 0.2)]


def test_the_seconds_are_those_of_the_stage(now):
    told = []
    teller = Teller(lambda stage, share: told.append(stage))
    teller("reading", 0.0)
    now[0] += 5
    teller("solving", 0.1)
    teller("solving", 0.2)
    now[0] += 1
    teller.going_on()
    assert told[-1] == "solving, 1.0 s"


def test_nobody_is_told_from_the_thread_of_a_solver(now):
    told = []
    teller = Teller(lambda stage, share: told.append(stage))
    teller("solving", 0.0)
    now[0] += 10
    solver = threading.Thread(target=teller.going_on)
    solver.start()
    solver.join()
    assert told == ["solving"]


def test_it_moves_while_a_solver_says_nothing(monkeypatch):
    """The clock waits for a solver that only sleeps, and tells all along that it does."""
    monkeypatch.setattr(telling, "QUIET", 0.0)
    told = []
    teller = Teller(lambda stage, share: told.append(stage))
    teller("solving", 0.0)
    assert TellingClock(None, teller).run(lambda: time.sleep(0.4) or "solved") == "solved"
    assert len(set(told)) >= 3


def test_a_limit_is_still_a_limit():
    clock = TellingClock(1e-9, Teller(lambda stage, share: None))
    with pytest.raises(eh.TimeLimitError):
        clock.check()
    assert clock.stop


def stages(work):
    """What is told of some work with every look at the clock, by the first words of each stage; shares never fall."""
    told = []
    work(lambda stage, share: told.append((stage, share)))
    shares = [share for _, share in told]
    assert shares == sorted(shares)
    return [stage for stage, _ in told]


def pulses(told, stage):
    """How often it was told that a stage goes on."""
    return sum(each.startswith(stage) and each.endswith(" s") for each in told)


@pytest.fixture
def restless(monkeypatch):
    """Every look at a clock is told, so that a stage is silent only if it looks at none."""
    monkeypatch.setattr(telling, "QUIET", 0.0)


EDGES = ("finding the smallest parity bound that can be met", "finding the smallest budgets that will do")


def test_a_fit_and_a_feasible_diagnosis(compas, restless):
    told = stages(lambda tell: eh.diagnose(compas.problem, compas.counts, progress=tell))
    for stage in ("writing the programme", "minimising the utility loss", "choosing among the optima", *EDGES):
        assert pulses(told, stage), stage
    assert "finding what each bound costs" in told


def test_an_infeasible_diagnosis(compas, restless):
    tight = replace(compas.problem, budget=eh.ExpectedDistortion(0.25))
    told = stages(lambda tell: eh.diagnose(tight, compas.counts, progress=tell))
    for stage in (*EDGES, "proving it", "finding the cheapest change of both"):
        assert pulses(told, stage), stage


@pytest.mark.parametrize("measure", [eh.KL(), eh.L1()])
def test_a_frontier(compas, restless, measure):
    problem = replace(compas.problem, utility=measure)
    told = stages(lambda tell: eh.frontier(problem, compas.counts, bounds=[0.1, 0.2, 0.3], progress=tell))
    for stage in ("finding the smallest feasible bound", "finding where nothing is lost", "tracing 3 points, 0 done"):
        assert pulses(told, stage), stage
    assert [stage for stage in told if stage.endswith(" done")] == [f"tracing 3 points, {n} done" for n in range(4)]


def test_points_that_are_fitted_one_by_one(compas, restless):
    free = eh.Distortion(dict(compas.problem.distortion.rules) | {"is_recid": eh.Free()})
    problem = replace(compas.problem, suppress_protected="alternating", distortion=free)
    told = stages(lambda tell: eh.frontier(problem, compas.counts, bounds=[0.3], progress=tell))
    assert any(stage.startswith("tracing 1 point, 0 done; ") for stage in told)


@pytest.mark.slow
def test_a_report(compas_mapping, restless):
    told = stages(lambda tell: eh.report_on(compas_mapping, points=2, progress=tell))
    for stage in ("tracing ", "summarising"):
        assert pulses(told, stage), stage
    assert "drawing" in told


def test_a_proposal(compas, restless):
    told = stages(lambda tell: propose(compas.frame, protected=["sex"], outcome="is_recid", progress=tell))
    for stage in ("looking over the columns", "choosing features and levels", "finding bounds that can be met"):
        assert pulses(told, stage), stage
