"""A user's functions become tables before a fit, and bad ones are refused by name."""

import pickle
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import evenhand as eh
from evenhand.optimize.tabulate import tabulated
from evenhand.resources import heeding
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
    monkeypatch.setattr("evenhand.optimize.tabulate.BLOCK", 5)
    assert tabulated(with_function(watched), eh.count(whole, small_frame())) == whole
    assert max(sizes) == 5
    assert len(sizes) > 1


def test_the_clock_is_looked_at_before_every_block_and_after_the_last(monkeypatch):
    """Sorting millions of costs, and keeping them, each takes a moment of its own."""
    monkeypatch.setattr("evenhand.optimize.tabulate.BLOCK", 5)
    counts, happened = eh.count(small_problem(), small_frame()), []

    def watched(before, after):
        happened.append("call")
        return steps(before, after)

    def look():
        if sys._getframe(2).f_code.co_name == "_cost_table":
            happened.append("look")

    with heeding(look):
        tabulated(with_function(watched), counts)
    assert happened == ["look", "call"] * 4 + ["look", "look"], "16 moves in blocks of 5"


def test_no_move_is_handled_by_itself():
    """A clock of the calls that Python makes: few between two looks at it, however many moves there are."""
    levels = 60
    frame = pd.DataFrame({"score": np.repeat(np.arange(levels), 4), "hired": [0, 0, 1, 1] * levels})
    frame["group"] = ["a", "b"] * (2 * levels)
    problem = with_function(lambda before, after: 1.0 * (before["score"] != after["score"]))
    counts, calls, looks = eh.count(problem, frame), [0], []
    tabulated(problem, counts)  # What annotations say is read once.

    def called(frame, event, argument):
        calls[0] += 1

    outer = sys.getprofile()
    with heeding(lambda: looks.append(calls[0])):
        sys.setprofile(called)
        try:
            table = tabulated(problem, counts).distortion.table
            table.between(*(np.zeros(1, dtype=np.int64),) * 2, 2 * levels)
        finally:
            sys.setprofile(outer)
    assert len(table) == (2 * levels) ** 2
    assert max(np.diff([*looks, calls[0]])) < len(table) / 10


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


def listed(moves):
    """The table of moves (from, to, cost)."""
    return CostTable(*(zip(*moves, strict=True) if moves else ([], [], [])))


@pytest.mark.parametrize(
    ("moves", "words"),
    [
        ([], "origin of CostTable must be a list of whole numbers, at least one"),
        ([(0, 1, 1.0), (0, 1, 2.0)], "distinct and ascending"),
        ([(1, 0, 1.0), (0, 1, 2.0)], "distinct and ascending"),
        ([(0, 1, -1.0)], "negative cost"),
        ([(0, 1, float("nan"))], "negative cost"),
        ([(0, 0, 1.0)], "charges for staying"),
    ],
)
def test_bad_tables(moves, words):
    with pytest.raises(eh.SpecError, match=words):
        listed(moves)


def test_the_moves_of_a_table_are_frozen():
    moves = [(0, 0, 0.0), (0, 2, 1.5), (3, 1, 0.5)]
    table, same = listed(moves), listed(tuple(moves))
    assert table == same == pickle.loads(pickle.dumps(table)) == replace(table)
    assert hash(table) == hash(same)
    assert table != listed(moves[:2])
    assert table != listed([*moves[:2], (3, 1, 0.25)])
    assert len(table) == 3
    with pytest.raises(ValueError, match="read-only"):
        table.cost[0] = 1.0


@pytest.mark.parametrize(
    "arrays",
    [
        ([0], [1], ["dear"]), ([0], [None], [1.0]), ([0], [0.5], [1.0]), (3, 3, 3), ([2**70], [0], [1.0]),
        ([0, 1], [0], [1.0]), ([[0]], [[0]], [[0.0]]), ([0], [np.inf], [1.0]), (None, None, None), ("ab", "ab", "ab"),
    ],
    ids=str,
)  # fmt: skip
def test_moves_that_are_none(arrays):
    with pytest.raises(eh.SpecError, match=r"CostTable must be a list of|three arrays of one length"):
        CostTable(*arrays)


def test_moves_that_a_table_does_not_list_are_forbidden():
    table = listed([(0, 0, 0.0), (0, 2, 1.5), (3, 1, 0.5), (3, 3, 0.0)])
    origin, target = np.array([0, 0, 3, 2, 3]), np.array([2, 1, 1, 2, 0])
    assert table.between(origin, target, 4).tolist() == [1.5, np.inf, 0.5, np.inf, np.inf]
    position, to = table.targets_of(np.array([3, 1, 0]))
    assert list(zip(position.tolist(), to.tolist(), strict=True)) == [(0, 1), (0, 3), (2, 0), (2, 2)]


def test_a_measure_of_negative_curvature():
    concave = eh.Separable(
        lambda p, r: -((r - p) ** 2), lambda p, r: -2 * (r - p), lambda p, r: np.full_like(r, -2.0), name="gain"
    )
    with pytest.raises(eh.SpecError, match=r"curvature of gain .* is negative, so the measure is not convex"):
        eh.fit(small_problem(utility=concave), small_frame())


@pytest.mark.parametrize("others", [[eh.FeatureParity(0.1)], [eh.FeatureParity(0.1), eh.TargetParity(0.3)]])
def test_only_distances_that_hold_functions_become_lines(others):
    same = [eh.PairwiseParity(0.1, eh.UserDistance(lambda p, q: np.abs(p - q), "mine")), *others]
    plain = [eh.PairwiseParity(0.1, eh.Difference()), *others]
    mine, theirs = (eh.fit(small_problem(parity=parity), small_frame()) for parity in (same, plain))
    assert mine.objective == pytest.approx(theirs.objective, abs=1e-9)
    assert mine.certificate.max_violation <= 1e-9
    assert mine.problem.parity[1:] == theirs.problem.parity[1:] == tuple(others)


class Recording:
    """A model of the columns it was trained on, which keeps what it is asked."""

    classes_ = np.array([0, 1])

    def __init__(self, score):
        self.score, self.asked = score, []

    def predict_proba(self, x):
        self.asked.append(x)
        score = np.asarray(self.score(x), dtype=float)
        return np.column_stack([1 - score, score])


def shielded(model, **changes):
    """A problem whose outcome is a model's, with its features free to move."""
    columns = changes.get("features", ["age"])
    rules = {column: eh.Nominal(1) for column in columns} | {"y": eh.Free()}
    stated = {
        "protected": ["d"], "features": columns, "outcome": "y", "suppress_protected": "fixed", "conditional": model,
        "parity": [eh.PairwiseParity(0.1)], "distortion": eh.Distortion(rules),
    }  # fmt: skip
    return eh.Problem(**{**stated, **changes})


class TestModelsOfColumnsWithBins:
    """A model is asked for values as it was trained on, numbers as numbers."""

    @pytest.mark.slow(keep=2)
    @pytest.mark.parametrize("kind", ["int64", "int8", "float64", "Int64"])
    def test_numbers_of_the_table_in_their_bins(self, kind):
        age = np.tile([18, 19, 20, 21, 60], 40)
        frame = pd.DataFrame({"d": np.arange(200) % 2, "age": pd.array(age, dtype=kind), "y": np.arange(200) % 3 == 0})
        model = Recording(lambda x: x["age"] / 100)
        problem = shielded(model, bins={"age": eh.Edges([30])}, parity=[eh.PairwiseParity(5)])
        counts = eh.count(problem, frame.astype({"y": int}))
        table = tabulated(problem, counts).conditional.at(counts.domain, counts.features.cells)
        # The mean of what people in the bin are scored, not the score of its middle.
        assert table[:, 1] == pytest.approx([0.195, 0.6], abs=1e-3)
        assert all(x["age"].dtype.kind == "i" for x in model.asked)
        assert {value for x in model.asked for value in x["age"]} == {18, 19, 20, 21, 60}

    def test_real_numbers_stay_real(self):
        frame = pd.DataFrame({"d": [0, 1] * 50, "age": np.linspace(0, 10, 100), "y": [0, 1, 1, 0] * 25})
        model = Recording(lambda x: x["age"] / 20)
        problem = shielded(model, bins={"age": eh.Edges([5])})
        tabulated(problem, eh.count(problem, frame))
        assert all(x["age"].dtype == float for x in model.asked)
        assert {value for x in model.asked for value in x["age"]} <= set(frame["age"])

    @pytest.mark.slow
    def test_several_columns_are_asked_together_and_their_mean_is_over_all_pairs(self):
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"d": rng.integers(0, 2, 4000), "y": rng.integers(0, 2, 4000)})
        frame = frame.assign(a=rng.integers(0, 40, 4000), b=rng.integers(0, 40, 4000), c=rng.integers(0, 40, 4000))
        model = Recording(lambda x: 0.2 + (x["a"] > x["b"]) * 0.5 + (x["b"] > x["c"]) * 0.2)
        bins = {name: eh.Edges([50]) for name in "abc"}
        problem = shielded(model, features=["a", "b", "c"], bins=bins)
        table = tabulated(problem, eh.count(problem, frame)).conditional.rows
        expected = np.mean(model.score(frame))
        assert len(table) == 1
        assert next(iter(table.values()))[1] == pytest.approx(expected, abs=0.02)

    def test_other_columns_come_as_they_were(self):
        """Categories with their order, whole numbers, texts of merged levels, and nothing where a value is missing."""
        n = 240
        frame = pd.DataFrame(
            {
                "d": np.arange(n) % 2,
                "size": pd.Categorical(np.array(["s", "m", "l"])[np.arange(n) % 3], ["s", "m", "l"], ordered=True),
                "kids": np.where(np.arange(n) % 5, np.arange(n) % 4, np.nan),
                "town": np.array(["A", "B", "B", "C"])[np.arange(n) % 4],
                "rank": np.arange(n) // 2 % 3,
                "word": pd.Series(np.array(["x", None, "z"], dtype=object)[np.arange(n) // 3 % 3]),
                "y": np.arange(n) % 7 % 2,
            }
        )
        model = Recording(lambda x: np.full(len(x), 0.5))
        features = ["size", "kids", "town", "rank", "word"]
        merged = {"town": eh.MergedLevels({"both": ["A", "B"]})}
        problem = shielded(model, features=features, bins=merged, missing="level")
        tabulated(problem, eh.count(problem, frame))
        for x in model.asked:
            assert x["size"].dtype == frame["size"].dtype
            assert x["rank"].dtype == frame["rank"].dtype
            assert x["kids"].dtype == frame["kids"].dtype
            assert set(x["kids"].dropna()) <= {0.0, 1.0, 2.0, 3.0}
            assert x["kids"].isna().any()
            assert set(x["town"]) <= {"A", "B", "C"}
            assert set(x["word"].dropna()) == {"x", "z"}
            assert x["word"].isna().any()
        assert {value for x in model.asked for value in x["town"]} == {"A", "B", "C"}

    def test_without_bins_it_is_asked_once(self):
        model = Recording(lambda x: np.where(x["score"] > 0, 0.7, 0.3))
        rules = {"score": eh.Nominal(1), "hired": eh.Free()}
        problem = small_problem(suppress_protected="fixed", conditional=model, distortion=eh.Distortion(rules))
        tabulated(problem, eh.count(problem, small_frame()))
        assert len(model.asked) == 1


@pytest.mark.slow
@pytest.mark.parametrize("model", [LogisticRegression(), DecisionTreeClassifier(max_depth=4)])
def test_a_model_of_numbers_is_shielded_within_its_bound_in_the_population(model):
    """Ages are spread alike within every bin, whoever it is, but lie to one side of its middle."""

    def draw(n, seed):
        rng = np.random.default_rng(seed)
        man = rng.random(n) < 0.5
        older = rng.random(n) < np.where(man, 0.6, 0.35)
        age = np.where(older, 40 + 50 * rng.random(n) ** 4, 18 + 22 * rng.random(n) ** 3).astype(int)
        y = rng.random(n) < 1 / (1 + np.exp(-(0.06 * (age - 40))))
        return pd.DataFrame({"d": np.where(man, "m", "f"), "age": age, "y": y.astype(int)})

    people, others = draw(6000, 0), draw(200_000, 1)
    model.fit(people[["age"]], people["y"])
    mapping = eh.fit(shielded(model, bins={"age": eh.Edges([40])}, parity=[eh.PairwiseParity(0.05)]), people)

    def means(frame):
        return pd.Series(model.predict_proba(frame[["age"]])[:, 1]).groupby(frame["d"]).mean()

    bare, found = means(others), means(mapping.apply(others, seed=0))
    assert bare.max() / bare.min() > 1.15
    assert found.max() / found.min() <= 1.05 + 0.01
    assert found.to_numpy() == pytest.approx(mapping.achieved.rates_after[:, 1], abs=0.01)
