"""What does not fit into the memory that there is is refused before anything of it is written."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem

import evenhand as eh
from evenhand.optimise.compile import compile_problem, moves, size
from evenhand.resources import in_bytes, words


def wide(levels, *, rule=None, people=4000, seed=0, **changes):
    """One feature of many values, two groups, two outcomes."""
    rng = np.random.default_rng(seed)
    x = np.concatenate([np.arange(levels), rng.integers(0, levels, max(0, people - levels))])
    group = rng.integers(0, 2, len(x))
    y = (rng.random(len(x)) < 0.3 + 0.2 * group).astype(int)
    problem = eh.Problem(
        protected=["group"],
        features=["x"],
        outcome="y",
        parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion({"x": rule or eh.Free(), "y": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.3),
    )
    frame = pd.DataFrame({"group": group, "x": x, "y": y})
    return replace(problem, **changes), frame


def listed(problem, counts):
    """The moves that rules and targets leave, before budgets, parity and measure."""
    plain = replace(problem, budget=None, parity=[], utility=eh.KL())
    return len(compile_problem(plain, counts).moves.source)


@pytest.mark.parametrize("seed", range(20))
def test_the_moves_of_a_small_table_are_counted(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    assert size.expected_moves(problem, counts) == pytest.approx(listed(problem, counts))


@pytest.mark.parametrize(
    "rule", [eh.Free(), eh.Ordinal(1), eh.Ordinal(1, up=False), eh.Ordinal(1, max_steps=3), eh.Fixed()]
)
@pytest.mark.parametrize("targets", ["observed", "all"])
def test_the_moves_of_a_large_table_are_estimated(monkeypatch, rule, targets):
    """From a few sources and a few levels, about as many as there are."""
    monkeypatch.setattr(size, "COMPARED", 20_000)
    monkeypatch.setattr(size, "WINDOW", 100)
    problem, frame = wide(400, rule=rule, targets=targets)
    counts = eh.count(problem, frame)
    assert size.expected_moves(problem, counts) == pytest.approx(listed(problem, counts), rel=0.3)


FORMS = {
    "fit": eh.fit,
    "diagnose": eh.diagnose,
    "frontier": lambda problem, frame: eh.frontier(problem, frame, bounds=[0.1]),
    "smallest_parity_bound": eh.smallest_parity_bound,
    "smallest_budget_factor": eh.smallest_budget_factor,
    "an estimator": lambda problem, frame: eh.OptimizedPreprocessor(problem).fit(
        frame.drop(columns=problem.outcome), frame[problem.outcome]
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_everything_that_solves_is_refused_alike(form, monkeypatch):
    monkeypatch.setattr(size, "free_memory", lambda: 10_000)
    with pytest.raises(eh.DataError) as refusal:
        FORMS[form](small_problem(), small_frame())
    said = str(refusal.value)
    assert "about 24 moves are allowed between the 8 cells" in said
    assert (
        f"about {words(size._rounded(size.size_of(small_problem(), eh.count(small_problem(), small_frame())).memory))}"
        in said
    )
    assert "0.01MB are free" in said
    assert "{'score': eh.Ordinal(step=..., max_steps=1)} in the distortion" in said


def test_nothing_is_listed_before_the_refusal(monkeypatch):
    """Listing the moves of one feature with 20,000 values is what ran out of memory."""

    def never(*_):
        raise AssertionError("this would take gigabytes")

    monkeypatch.setattr(size, "free_memory", lambda: in_bytes("4GB"))
    monkeypatch.setattr(moves, "_moves_of_features", never)
    problem, frame = wide(20_000, people=20_000)
    with pytest.raises(eh.DataError, match=r"about [78]\d\d,\d{3},\d{3} moves .* and 4GB are free"):
        eh.fit(problem, frame)
    with pytest.raises(eh.DataError, match=r"column 'x' has 20,000 levels: merge some of them \(bins\)"):
        eh.fit(replace(problem, distortion=eh.Distortion({"y": eh.Nominal(1)})), frame)


def test_what_is_advised_would_do(monkeypatch):
    problem, frame = wide(300, rule=eh.Ordinal(0.01))
    counts = eh.count(problem, frame)
    whole = size.size_of(problem, counts).memory - size.LIBRARIES
    monkeypatch.setattr(size, "free_memory", lambda: size.LIBRARIES + whole // 4)
    with pytest.raises(eh.DataError) as refusal:
        eh.fit(problem, counts)
    (setting,) = refusal.value.advice
    steps = setting.value.given["max_steps"]
    smaller = replace(problem, distortion=eh.Distortion({"x": eh.Ordinal(0.01, max_steps=steps), "y": eh.Nominal(1)}))
    assert whole / 8 < size.size_of(smaller, counts).memory - size.LIBRARIES <= whole / 4


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(size, "free_memory", lambda: None)
    assert eh.fit(small_problem(), small_frame()).certificate.status == "optimal"


PEAK = """
import resource, sys
sys.path[:0] = {path!r}
import evenhand as eh
from test_size import measured_problem
problem, counts = measured_problem({kind!r}, {utility!r}, {levels})
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
eh.fit(problem, counts)
print(1024 * (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before))
"""


def measured_problem(kind, utility, levels):
    """A problem whose peak of memory is measured: one feature whose moves are free, or several with near ones."""
    if kind == "one feature":
        problem, frame = wide(levels, rule=eh.Ordinal(1 / levels), people=8 * levels)
    else:
        rng = np.random.default_rng(0)
        people = levels * 100
        frame = pd.DataFrame({f"f{i}": rng.integers(0, 5, people) for i in range(5)})
        frame["group"] = rng.integers(0, 3, people)
        frame["y"] = (rng.random(people) < 0.2 + 0.1 * frame["group"]).astype(int)
        rules = {f"f{i}": eh.Ordinal(1, max_steps=1) for i in range(5)} | {"y": eh.Ordinal(1)}
        problem = eh.Problem(
            protected=["group"], features=[f"f{i}" for i in range(5)], outcome="y", parity=[eh.PairwiseParity(0.1)],
            distortion=eh.Distortion(rules), budget=eh.ExpectedDistortion(0.3),
        )  # fmt: skip
    problem = replace(problem, utility=getattr(eh, utility)(), tie_break=None)
    return problem, eh.count(problem, frame)


@pytest.mark.slow
@pytest.mark.parametrize("utility", ["KL", "L1", "Hellinger"])
@pytest.mark.parametrize(("kind", "levels"), [("one feature", 60), ("several features", 5)])
def test_the_estimate_against_the_peak_that_is_measured(kind, levels, utility):
    problem, counts = measured_problem(kind, utility, levels)
    path = [str(Path(__file__).parent), *filter(None, sys.path)]
    code = PEAK.format(path=path, kind=kind, utility=utility, levels=levels)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    estimate, peak = size.size_of(problem, counts).memory, int(run.stdout)
    assert peak < 1.4 * estimate, "what would be killed is not let through"
    assert estimate < size.LIBRARIES + 6 * peak, "what fits with ease is not refused"
