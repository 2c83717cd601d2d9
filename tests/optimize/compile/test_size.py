"""What does not fit into the memory that there is is refused before anything of it is written."""

import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem

import evenhand as eh
from evenhand.optimize.compile import compile_problem, moves, size
from evenhand.optimize.solve.structured import form, layout, limits
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


@pytest.mark.slow
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


def test_what_was_counted_is_that_of_the_rules_and_targets_asked_for():
    """Bounds and limits leave the number of moves as it is, and it is counted once; rules and targets do not."""
    problem, frame = wide(30, rule=eh.Ordinal(1, max_steps=2))
    counts = eh.count(problem, frame)
    others = [
        problem.with_bounds(lambda bound: bound / 2),
        replace(problem, distortion=eh.Distortion({"x": eh.Fixed(), "y": eh.Nominal(1)})),
        replace(problem, targets="all"),
        problem,
    ]
    for other in others:
        assert size.expected_moves(other, counts) == pytest.approx(listed(other, counts))


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
        f"about {words(size._rounded(size.expected_memory(small_problem(), eh.count(small_problem(), small_frame()))))}"
        in said
    )
    assert "0.01MB are free" in said
    assert "{'score': eh.Ordinal(step=..., max_steps=1)} in the distortion" in said


@pytest.mark.slow
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


@pytest.mark.slow
def test_an_outcome_of_many_levels_is_named(monkeypatch):
    monkeypatch.setattr(size, "free_memory", lambda: in_bytes("1GB"))
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"d": rng.integers(0, 2, 9000), "u": rng.random(9000), "y": rng.integers(0, 3000, 9000)})
    rules = eh.Distortion({"y": eh.Ordinal(1)})
    learned = eh.Problem(protected=["d"], features=["u"], outcome="y", cells=eh.Leaves(8, 5), distortion=rules)
    with pytest.raises(eh.DataError, match=r"\{'y': eh.Ordinal\(step=..., max_steps=\d+\)\} in the distortion"):
        eh.fit(learned, frame)


def test_what_is_advised_would_do(monkeypatch):
    problem, frame = wide(300, rule=eh.Ordinal(0.01))
    counts = eh.count(problem, frame)
    whole = size.expected_memory(problem, counts) - size.LIBRARIES
    monkeypatch.setattr(size, "free_memory", lambda: size.LIBRARIES + whole // 4)
    with pytest.raises(eh.DataError) as refusal:
        eh.fit(problem, counts)
    (setting,) = refusal.value.advice
    steps = setting.value.given["max_steps"]
    smaller = replace(problem, distortion=eh.Distortion({"x": eh.Ordinal(0.01, max_steps=steps), "y": eh.Nominal(1)}))
    assert whole / 8 < size.expected_memory(smaller, counts) - size.LIBRARIES <= whole / 4


def test_where_the_system_does_not_tell_nothing_is_refused(monkeypatch):
    monkeypatch.setattr(size, "free_memory", lambda: None)
    assert eh.fit(small_problem(), small_frame()).certificate.status == "optimal"


@pytest.mark.parametrize("rule", [eh.Free(), eh.Ordinal(1, max_steps=3), eh.Ordinal(1, up=False), eh.Fixed()])
@pytest.mark.parametrize("window", [1_000, 20])
def test_the_pairs_are_those_that_the_specialised_method_counts(rule, window, monkeypatch):
    monkeypatch.setattr(size, "WINDOW", window)
    problem, frame = wide(40, rule=rule)
    counts = eh.count(problem, frame)
    program = compile_problem(problem, counts).program
    assert size.expected_pairs(problem, counts) == pytest.approx(limits._pairs(program), rel=0.3)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    ("levels", "features", "rule", "fixed"),
    [
        (40, 1, eh.Free(), 0),
        (600, 1, eh.Ordinal(1, max_steps=3), 0),
        (24, 2, eh.Ordinal(1, max_steps=1), 0),
        (8, 3, eh.Ordinal(1, max_steps=1), 0),
        (8, 3, eh.Ordinal(1, max_steps=1), 1),
        (8, 3, eh.Ordinal(1, max_steps=1), 2),
        (5, 3, eh.Ordinal(1), 3),
    ],
    ids=str,
)
def test_the_entries_are_about_those_that_are_laid_out(levels, features, rule, fixed):
    problem, frame = several(levels, features, 2, 20_000, rule)
    rules = dict(problem.distortion.rules) | {f"f{i}": eh.Fixed() for i in range(fixed)}
    problem = replace(problem, distortion=eh.Distortion(rules), utility=eh.L1())
    counts = eh.count(problem, frame)
    program = compile_problem(problem, counts).program
    laid_out = layout.lay_out_form(form.form_of(program, form.pieces_of(program))).fronts.size
    # A matrix that is cut is never larger than it would be, by much; a small one is filled up.
    assert laid_out / 1.6 <= size.expected_entries(problem, counts) <= 4 * laid_out


@pytest.mark.parametrize("limit", ["MOST_ENTRIES", "MOST_PAIRS"])
def test_beyond_a_limit_the_memory_is_that_of_the_general_solvers(limit, monkeypatch):
    problem, frame = wide(60)
    counts = eh.count(problem, frame)
    before = size.expected_memory(problem, counts)
    monkeypatch.setattr(size, limit, 0)
    beyond = size.expected_memory(problem, counts)
    assert beyond > before
    monkeypatch.setattr(size, "_separable", lambda problem: False)
    assert size.expected_memory(problem, counts) == beyond


@pytest.mark.parametrize(
    ("changes", "specialised"),
    [
        ({}, True),
        ({"utility": eh.L1()}, True),
        ({"utility": eh.TotalVariation()}, True),
        ({"utility": eh.MaxRelativeChange()}, False),
        ({"utility": eh.Hellinger()}, True),
        ({"suppress_protected": "fixed"}, False),
    ],
    ids=str,
)
def test_who_will_answer_is_foreseen(changes, specialised, monkeypatch):
    monkeypatch.setattr(limits, "FROM_MOVES", 0)
    problem = small_problem(distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Free()}), **changes)
    program = compile_problem(problem, eh.count(problem, small_frame())).program
    assert size._separable(problem) == (limits.suitable(program) is not None) == specialised


PEAK = """
import pickle, sys
import evenhand as eh

def peak():
    return next(int(line.split()[1]) * 1024 for line in open("/proc/self/status") if line.startswith("VmHWM:"))

problem, frame = pickle.load(sys.stdin.buffer)
counts = eh.count(problem, frame)
before = peak()
eh.fit(problem, counts)
print(peak() - before)
"""
"""In a process that has loaded no more than a user's; not by getrusage, which begins at the peak of who started it."""


def several(levels, features, groups, people, rule, seed=0):
    """Some features of as many levels, with moves by one rule."""
    rng = np.random.default_rng(seed)
    names = [f"f{i}" for i in range(features)]
    frame = pd.DataFrame({name: rng.integers(0, levels, people) for name in names})
    frame["group"] = rng.integers(0, groups, people)
    frame["y"] = (rng.random(people) < 0.25 + 0.3 * frame["group"] / groups).astype(int)
    problem = eh.Problem(
        protected=["group"],
        features=names,
        outcome="y",
        parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion(dict.fromkeys(names, rule) | {"y": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.4),
    )
    return problem, frame


SHAPES = {
    "one feature, free": lambda: wide(60, people=480),
    "one feature, half of it": lambda: wide(80, rule=eh.Ordinal(1 / 40, max_steps=20), people=640),
    "several features, few steps": lambda: several(5, 3, 3, 2000, eh.Ordinal(1, max_steps=1)),
    "many groups": lambda: several(20, 1, 16, 4000, eh.Ordinal(1 / 20)),
}
"""Of 19,000 to 26,000 moves."""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell the peak of a process")
@pytest.mark.parametrize("utility", ["KL", "L1", "Hellinger"])
@pytest.mark.parametrize("shape", SHAPES)
def test_the_estimate_against_the_peak_that_is_measured(shape, utility):
    problem, frame = SHAPES[shape]()
    problem = replace(problem, utility=getattr(eh, utility)())
    counts = eh.count(problem, frame)
    given = pickle.dumps((problem, frame))
    run = subprocess.run([sys.executable, "-c", PEAK], input=given, capture_output=True, check=True)
    estimate, peak = size.expected_memory(problem, counts), int(run.stdout)
    assert peak < 1.1 * estimate, "what would be killed is not let through"
    assert estimate < 2.5 * peak, "what fits with ease is not refused"
