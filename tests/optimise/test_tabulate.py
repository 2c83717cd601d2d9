"""A user's functions become tables before a fit, and bad ones are refused by name."""

from dataclasses import replace

import numpy as np
import pytest
from families import small_frame, small_problem

import evenhand as eh
from evenhand.optimise.tabulate import tabulated
from evenhand.spec import CostTable


def steps(before, after):
    """The distortion of small_problem, as a function."""
    cost = np.abs(after["score"] - before["score"]) + 1.0 * (before["hired"] != after["hired"])
    return np.where(after["hired"] > before["hired"], np.inf, cost)


def with_function(function, **rules):
    return small_problem(distortion=eh.Distortion(rules, function=function))


def test_a_function_gives_what_its_rules_give():
    rules, function = eh.fit(small_problem(), small_frame()), eh.fit(with_function(steps), small_frame())
    assert rules.objective > 1e-3
    assert function.objective == pytest.approx(rules.objective, abs=1e-9)
    assert function.achieved.distortion == pytest.approx(rules.achieved.distortion, abs=1e-6)


def test_a_function_is_called_once_for_the_moves_that_rules_leave():
    calls = []

    def counted(before, after):
        calls.append((before, after))
        return steps(before, after)

    eh.fit(with_function(counted, score=eh.Fixed()), small_frame())
    ((before, after),) = calls
    assert list(before) == list(after) == ["score", "hired"]
    assert np.array_equal(before["score"], after["score"])
    assert len(before["hired"]) == 4 * 2, "each of four records to each outcome"


def test_rules_narrow_a_function_and_do_not_charge():
    dear = eh.fit(with_function(steps, score=eh.Nominal(50)), small_frame())
    assert dear.objective == pytest.approx(eh.fit(with_function(steps), small_frame()).objective, abs=1e-9)
    fixed = eh.fit(with_function(steps, score=eh.Fixed()), small_frame())
    assert (fixed.table()["score"] == fixed.table()["to_score"]).all()


def test_a_function_must_be_tabulated_to_be_used():
    cells = np.zeros(1, dtype=np.int64)
    counts = eh.count(small_problem(), small_frame())
    with pytest.raises(eh.SpecError, match="must be tabulated"):
        eh.Distortion(function=steps).between(counts.domain, cells, cells, cells, cells)


def failing(before, after):
    raise KeyError("age")


BAD = {
    "NaN": (lambda b, a: np.full(len(a["hired"]), np.nan), r"returned NaN for the move \(score=0, hired=0\)"),
    "shape": (lambda b, a: np.zeros(3), r"one cost per move: \(16,\) of them, not an array of shape \(3,\)"),
    "a scalar": (lambda b, a: 1.0, "one cost per move"),
    "None": (lambda b, a: None, "one cost per move"),
    "words": (lambda b, a: ["dear"] * len(a["hired"]), "must return an array of numbers, not list"),
    "negative": (
        lambda b, a: 1.0 * a["hired"] - b["hired"],
        r"a negative cost for the move \(score=0, hired=1\) → \(score=0, hired=0\)",
    ),
    "staying": (lambda b, a: np.ones(len(a["hired"])), r"returned 1 for staying at \(score=0, hired=0\)"),
    "forbids staying": (lambda b, a: np.full(len(a["hired"]), np.inf), "returned inf for staying"),
    "raises": (failing, r"failing failed on 16 moves .* KeyError: 'age'"),
    "arguments": (lambda: 0.0, r"TypeError: .* called as <lambda>\(before, after\)"),
}


@pytest.mark.parametrize(("function", "words"), BAD.values(), ids=BAD)
def test_bad_functions(function, words):
    with pytest.raises(eh.SpecError, match=words):
        eh.fit(with_function(function), small_frame())


def test_a_function_that_forbids_everything_is_infeasible():
    def nothing(before, after):
        stays = (before["score"] == after["score"]) & (before["hired"] == after["hired"])
        return np.where(stays, 0.0, np.inf)

    with pytest.raises(eh.InfeasibleError, match=r"smallest parity bound that can be met is 0.6666667"):
        eh.fit(with_function(nothing), small_frame())


def test_a_function_is_called_in_blocks(monkeypatch):
    """So that a time limit is heeded between them; the costs are the same."""
    whole = eh.fit(with_function(steps), small_frame()).problem
    sizes = []

    def watched(before, after):
        sizes.append(len(before["score"]))
        return steps(before, after)

    watched.__name__ = steps.__name__
    monkeypatch.setattr("evenhand.optimise.tabulate.BLOCK", 5)
    assert tabulated(with_function(watched), eh.count(whole, small_frame())) == whole
    assert max(sizes) == 5
    assert len(sizes) > 1


def test_a_table_belongs_to_its_columns_and_levels():
    problem = eh.fit(with_function(steps), small_frame()).problem
    assert tabulated(problem, eh.count(problem, small_frame())) == problem
    shifted = small_frame().assign(score=lambda f: f["score"] + 1)
    with pytest.raises(eh.DataError, match=r"steps were tabulated for column 'score' with the levels \[0, 1\]"):
        eh.fit(problem, shifted)
    nameless = replace(problem.distortion, function=replace(problem.distortion.table, columns=()))
    wider = small_frame().assign(score=lambda f: f["score"] + (f.index % 7 == 0))
    with pytest.raises(eh.DataError, match="steps were tabulated on another table"):
        eh.fit(replace(problem, distortion=nameless), wider)


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ([], "at least one move"),
        ([(0, 1, 1.0), (0, 1, 2.0)], "distinct and ascending"),
        ([(1, 0, 1.0), (0, 1, 2.0)], "distinct and ascending"),
        ([(0, 1, -1.0)], "negative cost"),
        ([(0, 1, float("nan"))], "negative cost"),
        ([(0, 0, 1.0)], "charges for staying"),
    ],
)
def test_bad_tables(moves, words):
    with pytest.raises(eh.SpecError, match=words):
        CostTable(moves)


def test_moves_that_a_table_does_not_list_are_forbidden():
    listed = CostTable([(0, 0, 0.0), (0, 2, 1.5), (3, 1, 0.5), (3, 3, 0.0)])
    origin, target = np.array([0, 0, 3, 2, 3]), np.array([2, 1, 1, 2, 0])
    assert listed.between(origin, target, 4).tolist() == [1.5, np.inf, 0.5, np.inf, np.inf]
    position, to = listed.targets_of(np.array([3, 1, 0]))
    assert list(zip(position.tolist(), to.tolist(), strict=True)) == [(0, 1), (0, 3), (2, 0), (2, 2)]


def test_a_measure_of_negative_curvature():
    concave = eh.Separable(
        lambda p, r: -((r - p) ** 2), lambda p, r: -2 * (r - p), lambda p, r: np.full_like(r, -2.0), name="gain"
    )
    with pytest.raises(eh.SpecError, match=r"curvature of gain .* is negative, so the measure is not convex"):
        eh.fit(small_problem(utility=concave), small_frame())
