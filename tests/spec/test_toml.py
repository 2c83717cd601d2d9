"""Every statement is the same in TOML, and a wrong one is told by its key."""

import math
import tomllib

import numpy as np
import pytest
from families import small_frame, small_problem
from formulations import BUDGETS, DISTORTIONS, MODES, PARITIES, UTILITIES, table
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.check import LARGEST_COST


def again(problem):
    return eh.Problem.from_toml(problem.to_toml())


def of(parity="pairwise", budget="expected", distortion="sum", mode="plain", utility="KL"):
    return eh.Problem(
        protected=["sex", "race"],
        features=["f0", "f1"],
        outcome="y",
        utility=UTILITIES[utility](),
        parity=PARITIES[parity](0.1),
        distortion=DISTORTIONS[distortion]("is free"),
        budget=BUDGETS[budget](),
        **MODES[mode],
    )


FORMS = [
    *({"parity": name} for name in PARITIES),
    *({"budget": name} for name in BUDGETS),
    *({"distortion": name} for name in DISTORTIONS if name != "function"),
    *({"mode": name} for name in MODES),
    *({"utility": name} for name in UTILITIES),
]


@pytest.mark.parametrize("form", FORMS, ids=str)
def test_every_form_round_trips(form):
    problem = of(**form)
    assert again(problem) == problem
    assert hash(again(problem)) == hash(problem)


def test_what_a_part_leaves_at_its_default_is_not_written():
    written = tomllib.loads(small_problem().to_toml())
    assert written["parity"] == [{"kind": "pairwise", "bound": 0.2}]
    assert written["distortion"]["rules"]["score"] == {"rule": "ordinal", "step": 1}


def test_a_function_is_written_once_it_is_tabulated():
    problem = of(distortion="function")
    with pytest.raises(eh.SpecError, match=r"distortion\.function is a function, which no TOML can hold"):
        problem.to_toml()
    mapping = eh.fit(problem, table(0))
    kept = again(mapping.problem)
    assert kept == mapping.problem
    assert eh.fit(kept, table(0)).objective == pytest.approx(mapping.objective, abs=1e-9)


def test_costs_written_by_hand_may_be_whole_or_not():
    text = STATEMENTS["function"].to_toml()
    assert "0.0," in text
    assert eh.Problem.from_toml(text.replace("0.0,", "0,", 1)) == STATEMENTS["function"]


@pytest.mark.parametrize("kind", [eh.PairwiseParity, eh.TargetParity])
def test_a_distance_is_written_once_it_is_tabulated(kind):
    parity = kind(eh.By(0.1, [({"hired": 0}, 0.2)]), distance=eh.UserDistance(lambda p, q: (p - q) ** 2, "square"))
    problem = small_problem(parity=[parity])
    with pytest.raises(eh.SpecError, match="UserDistance holds a function of your own"):
        problem.to_toml()
    mapping = eh.fit(problem, small_frame())
    kept = again(mapping.problem)
    assert kept == mapping.problem
    assert eh.fit(kept, small_frame()).objective == pytest.approx(mapping.objective, abs=1e-9)


def test_a_models_conditional_is_written_once_it_is_tabulated():
    class Model:
        classes_ = np.array([0, 1])

        def predict_proba(self, frame):
            return np.tile([0.6, 0.4], (len(frame), 1))

    rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Free()})
    problem = small_problem(suppress_protected="fixed", conditional=Model(), distortion=rules)
    with pytest.raises(eh.SpecError, match="conditional is a Model, which no TOML can hold"):
        problem.to_toml()
    kept = eh.fit(problem, small_frame()).problem
    assert again(kept) == kept


LEVELS = st.one_of(st.text(max_size=4), st.integers(-5, 5), st.booleans())
SHARES = st.floats(0, 1, allow_subnormal=False)
WHERE = st.dictionaries(
    st.text(min_size=1, max_size=4).filter(lambda name: name != "against"),
    st.one_of(LEVELS, st.lists(LEVELS, min_size=1, max_size=3)),
    min_size=1,
    max_size=3,
)
PAIR = st.builds(lambda where, against: {**where, "against": against}, WHERE, WHERE)


@pytest.mark.slow
@given(SHARES, st.lists(st.tuples(st.one_of(WHERE, PAIR), st.one_of(SHARES, st.just(math.inf))), max_size=3))
@settings(max_examples=60, derandomize=True)
def test_any_exceptions_round_trip(default, cases):
    value = eh.By(default, cases)
    problem = small_problem(
        parity=[eh.PairwiseParity(value), eh.TargetParity(value)],
        budget=[eh.ExpectedDistortion(value), eh.ExcessDistortion({0.5: value})],
    )
    assert again(problem) == problem


COSTS = st.one_of(st.floats(0, LARGEST_COST), st.just(math.inf))


@pytest.mark.slow
@given(st.dictionaries(st.tuples(LEVELS, LEVELS).filter(lambda p: p[0] != p[1]), COSTS, min_size=1))
@settings(max_examples=40, derandomize=True)
def test_any_cost_table_round_trips(costs):
    problem = small_problem(distortion=eh.Distortion({"hired": eh.Nominal(costs)}))
    assert again(problem) == problem


def test_numbers_of_numpy_are_numbers():
    where, levels = {"group": np.str_("a"), "hired": np.array([0, 1])}, np.array([0, 1])
    problem = small_problem(
        parity=[
            eh.PairwiseParity(eh.By(np.float64(0.2), [(where, np.float64(0.1))]), eh.FourFifths(levels[1])),
            eh.TargetParity(0.5, {levels[0]: np.float64(0.5), levels[1]: 0.5}),
        ],
        suppress_protected="fixed",
        conditional=eh.Conditional({(level,): {levels[0]: 0.5, levels[1]: 0.5} for level in levels}),
    )
    assert again(problem) == problem


STATEMENTS = {
    "by": small_problem(parity=[eh.PairwiseParity(eh.By(0.2, [({"group": "a", "against": {"group": "b"}}, 0.1)]))]),
    "target": small_problem(
        parity=[
            eh.TargetParity(
                0.2,
                eh.By({0: 0.5, 1: 0.5}, [({"score": 0}, {0: 0.4, 1: 0.6})]),
                given=["score"],
                released=True,
                min_segment=3,
            )
        ]
    ),
    "pairwise": small_problem(
        parity=[
            eh.PairwiseParity(
                0.2, eh.FourFifths(1), on=["group"], given=["score"], against={"group": "a"}, min_segment=5
            )
        ]
    ),
    "limit": small_problem(budget=eh.ExpectedDistortion(eh.By(0.4, [({"group": "a"}, 0.2)]))),
    "threshold": small_problem(budget=eh.ExcessDistortion({0.9: eh.By(0.4, [({"group": "a"}, 0.2)])})),
    "cost": small_problem(distortion=eh.Distortion({"hired": eh.Nominal({(0, 1): 1, (1, 0): 2})})),
    "conditional": small_problem(
        suppress_protected="fixed",
        conditional=eh.Conditional({(0,): {0: 0.5, 1: 0.5}, (1,): {0: 0.5, 1: 0.5}}),
        blind=True,
    ),
    "function": small_problem(
        distortion=eh.Distortion(
            function=eh.spec.CostTable([0, 0], [0, 1], [0.0, 2.5], "mine", [{"name": "hired", "levels": [0, 1]}])
        )
    ),
    "tabulated": small_problem(
        parity=[
            eh.PairwiseParity(
                0.1, eh.UserDistance(lambda p, q: np.abs(p - q), "mine").tabulated([0.1], None), min_segment=0
            )
        ]
    ),
}

PAIR_OF_GROUPS = 'where = { group = "a", against = { group = "b" } }'
MALFORMED = [
    ("by", "    { value = 0.2 },\n", "", r"parity\[0\].bound needs exactly one"),
    ("by", "where = {", "wher = {", r"parity\[0\].bound\[1\] has no key 'wher'. Did you mean 'where'"),
    ("by", PAIR_OF_GROUPS, "where = 3", r"parity\[0\].bound\[1\].where must be a mapping"),
    ("by", PAIR_OF_GROUPS, "where = {}", r"parity\[0\].bound\[1\].where must be a mapping"),
    ("by", "value = 0.1 }", "value = 0.1 }, 3", r"parity\[0\].bound\[2\] must be {where = "),
    ("by", "value = 0.1", 'value = "x"', r"parity\[0\].bound\[1\].value must be a number"),
    (
        "target",
        "outcome = 0, probability = 0.5",
        "outcome = [0], probability = 0.5",
        r"parity\[0\].target\[0\].value\[0\].outcome must be one level",
    ),
    (
        "target",
        "outcome = 0, probability = 0.5",
        "outcome = 0, probability = 0.6",
        "target of TargetParity sums to 1.1",
    ),
    (
        "target",
        "{ outcome = 0, probability = 0.5 }",
        "3",
        r"parity\[0\].target\[0\].value must be a mapping of outcome to probability: in TOML an array of",
    ),
    ("target", "released = true", 'released = "yes"', r"parity\[0\].released must be true or false"),
    ("target", "min_segment = 3.0", 'min_segment = "a"', r"parity\[0\].min_segment must be a number"),
    ("target", 'kind = "target"', 'kind = "pairwise"', r"parity\[0\] has no key 'released'"),
    ("pairwise", 'group = "a"', "", "against of PairwiseParity names a reference group"),
    ("pairwise", 'group = "a"', 'group = ["a"]', r"parity\[0\].against.group must be one level"),
    ("pairwise", 'on = [\n    "group",\n]', "on = 3", r"parity\[0\].on must be a list of column names"),
    ("pairwise", 'given = [\n    "score",\n]', "given = [3]", r"parity\[0\].given must list column names"),
    ("pairwise", "favourable", "favorable", r"distance has no key 'favorable'. Did you mean 'favourable'"),
    ("pairwise", "favourable = 1", "favourable = [1]", r"parity\[0\].distance.favourable must be one level"),
    ("pairwise", 'measure = "four-fifths"', "measure = []", "distance: measure must be one of"),
    ("limit", "value = 0.2", "value = -1", r"budget.limit\[1\].value must be at least 0"),
    ("limit", 'where = { group = "a" }', 'where = "group"', r"budget.limit\[1\].where must be a mapping"),
    ("threshold", "value = 0.2", "value = 7", r"budget.thresholds\[0\].probability\[1\].value must be at most 1"),
    ("threshold", "above = 0.9", "above = [1]", r"budget.thresholds\[0\].above must be a number"),
    (
        "threshold",
        'where = { group = "a" }',
        'where = "group"',
        r"budget.thresholds\[0\].probability\[1\].where must be a mapping",
    ),
    ("cost", "from = 0", "from = [0]", r"distortion.rules.hired.cost\[0\].from must be one level"),
    ("cost", "from = 0, to = 1", "from = 1, to = 0", r"hired.cost\[1\]: from and to \(1, 0\) is given twice"),
    ("cost", "cost = 2 ", "cost = -2 ", r"hired.cost\[1\].cost must be at least 0"),
    ("cost", "cost = 2 ", "price = 2 ", r"hired.cost\[1\] has no key 'price'"),
    ("cost", ", cost = 2 ", "", r"hired.cost\[1\] lacks the key 'cost'"),
    ("conditional", "features = [\n    0,\n]", "features = {}", r"conditional\[0\].features must be one level"),
    ("conditional", "features = [\n    0,\n]", "features = [[1]]", r"conditional\[0\].features must be one level"),
    ("conditional", "probability = 0.5", "probability = 0.4", r"conditional's probabilities given \(0,\) sum to 0.8"),
    ("conditional", "probabilities =", "probs =", r"conditional\[0\] has no key 'probs'"),
    ("conditional", 'suppress_protected = "fixed"', 'suppress_protected = "no"', "write suppress_protected"),
    ("conditional", 'suppress_protected = "fixed"', 'suppress_protected = "fix"', "suppress_protected must be one of"),
    ("conditional", "blind = true", 'blind = "yes"', "blind must be true or false"),
    ("conditional", "blind = true", "blnd = true", "no key 'blnd'. Did you mean 'blind'"),
    ("function", "cost = [\n    0.0,", "cost = [", "distortion.function: a cost table needs"),
    ("function", "2.5", "-2.5", "distortion.function: a cost table has a negative cost"),
    ("function", 'name = "mine"', 'nam = "mine"', "distortion.function has no key 'nam'"),
    (
        "function",
        "levels = [",
        "levls = [",
        r"distortion.function.columns\[0\] has no key 'levls'. Did you mean 'levels'",
    ),
    ("tabulated", 'measure = "tabulated"', 'measure = "tabulatd"', "Did you mean 'tabulated'"),
    (
        "tabulated",
        "bound = 0.1\nlines",
        "bnd = 0.1\nlines",
        r"distance.pieces\[0\] has no key 'bnd'. Did you mean 'bound'",
    ),
    ("tabulated", "lines = [", "lines = [3,", r"distance.pieces\[0\].lines\[0\] must be a list of 3 values"),
]


@pytest.mark.parametrize(("which", "old", "new", "words"), MALFORMED)
def test_malformed_documents(which, old, new, words):
    text = STATEMENTS[which].to_toml()
    assert eh.Problem.from_toml(text) == STATEMENTS[which]
    assert old in text, text
    with pytest.raises(eh.SpecError, match=words):
        eh.Problem.from_toml(text.replace(old, new))


ORDINAL = "{{ rules = {{ score = {{ rule = 'ordinal', step = 1, {} }}, hired = {{ rule = 'free' }} }} }}"
FUNCTION = "{{ function = {{ origin = [{}], target = [0], cost = [1] }} }}"
FINE = {
    "protected": "['group']",
    "features": "['score']",
    "outcome": "'hired'",
    "distortion": ORDINAL.format("up = true"),
}
HOSTILE = {
    "thousands of digits": ("outcome", "9" * 5000, "digits"),
    "hundreds of digits": (
        "parity",
        "[{ kind = 'pairwise', bound = " + "9" * 400 + " }]",
        "bound holds a whole number",
    ),
    "hexadecimal digits": ("targets", "0x" + "f" * 1000, "targets holds a whole number"),
    "deep arrays": ("protected", "[" * 5000 + "]" * 5000, "too deeply"),
    "deep tables": ("distortion", "{a=" * 5000 + "1" + "}" * 5000, "too deeply"),
    "deep keys": ("distortion", "{" + "a." * 50_000 + "b=1}", "too deeply"),
    "deep headings": ("distortion", "{}\n[bins" + ' . "a"' * 1000 + "]\nx=1", "too deeply"),
    "deep lines": ("distortion", "{}\n" + "a." * 50_000 + "b=1", "too deeply"),
    "a step of any size": ("distortion", ORDINAL.format("up_step = 1e30"), "rules.score.up_step must be at most 1e.09"),
    "endless steps": ("distortion", ORDINAL.format("max_steps = inf"), "rules.score.max_steps must be a whole number"),
    "lists as levels": ("distortion", ORDINAL.format("levels = [[]]"), r"rules.score.levels\[0\] must be one level"),
    "tables as levels": (
        "distortion",
        ORDINAL.format("levels = [{ a = 1 }]"),
        r"rules.score.levels\[0\] must be one level",
    ),
    "endless cells": ("distortion", FUNCTION.format("inf"), "origin must be a list of whole numbers"),
    "endlessly many bins": ("bins", "{ score = { by = 'quantiles', number = 1e30 } }", "at most 10000"),
    "nothing as a word for missing": ("missing_values", "[nan]", "missing_values"),
    "a list as the favourable outcome": ("favourable", "[0]", "favourable must be one level"),
    "infinity as a word for missing": ("missing_values", "['?', inf]", "missing_values"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_document_is_one_error(name):
    """Whatever somebody else's file holds, it is refused in one sentence that does not repeat it all."""
    key, value, words = HOSTILE[name]

    def written(entries):
        return "\n".join(f"{key} = {value}" for key, value in entries.items())

    assert eh.Problem.from_toml(written(FINE)).outcome == "hired"
    with pytest.raises(eh.SpecError, match=words) as found:
        eh.Problem.from_toml(written(FINE | {key: value}))
    assert len(str(found.value)) < 300


def test_whole_numbers_of_any_table_come_back():
    ids = eh.Ordinal(step=1, levels=[-(2**63), 0, 2**63, 2**64 - 1])
    rules = eh.Distortion(rules={"id": ids, "hired": eh.Free()})
    problem = eh.Problem(protected=["group"], features=["id"], outcome="hired", distortion=rules)
    assert again(problem) == problem


def test_numbers_that_are_too_large_for_python_too():
    for build in (
        lambda: eh.PairwiseParity(10**400),
        lambda: eh.Ordinal(step=10**5000),
        lambda: eh.Ordinal(1, -(10**400)),
    ):
        with pytest.raises(eh.SpecError, match="must be a number that a computer can hold"):
            build()
