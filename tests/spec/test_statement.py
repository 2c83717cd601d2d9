"""Problems and certificates in plain words: what they say is what holds."""

import math
from dataclasses import replace

import numpy as np
import pytest
from formulations import BUDGETS, DISTORTIONS, MODES, PARITIES, UTILITIES, problem_of, table
from people import problem as raw_problem

import evenhand as eh
from evenhand.render.sentences import facts, sentence
from evenhand.spec.statement import budget_note, rule_note

GAP = eh.UserDistance(lambda p, q: np.abs(p - q), "the gap")


def asked(problem):
    """What is asked for, as headings and sentences."""
    return list(facts(problem.sections[0].facts))


def of(parity="pairwise", budget="expected", distortion="sum", mode="plain", utility="KL"):
    return problem_of((utility, parity, budget, distortion, mode), 1)


def said(problem):
    """The sentences by heading, those of one heading together."""
    found = {}
    for heading, words in asked(problem):
        found[heading] = f"{found[heading]} | {words}" if heading in found else words
    return found


def test_the_papers_studies(compas, adult):
    text = " ".join(f"{a}: {b}" for a, b in asked(compas.problem))
    for words in (
        "Favourable: is_recid=0 is good for a person",
        "Protected: sex × race (read, never changed)",
        "differ by a factor of at most 1.1",
        "expected distortion is at most 0.5",
        "priors_count down (cost 1 per step), at most 1 step",
        "c_charge_degree to any value (cost 4)",
        "the Kullback–Leibler divergence, in nats, from the original to the released distribution",
    ):
        assert words in text
    text = " ".join(b for _, b in asked(adult.problem))
    for words in (
        "within 15% of its rate in the whole table",
        "above 0.9 with probability at most 0.1, and above 1.9 with probability at most 0.05",
        "on average over the groups",
        "income up (free) or down (cost 1 per step)",
        "of several changes at once, the costliest counts",
    ):
        assert words in text


PARITY_WORDS = [
    (eh.PairwiseParity(0.1), "for every two groups, each outcome's rates differ by a factor of at most 1.1"),
    (eh.PairwiseParity(0), "for every two groups, each outcome's rates are equal"),
    (
        eh.PairwiseParity(0.1, on=["sex"], given=["age", "job"]),
        "for every two groups by sex within each segment by age × job, each outcome's rates differ by a factor of at "
        "most 1.1",
    ),
    (
        eh.PairwiseParity(0.06, eh.Difference()),
        "for every two groups, each outcome's rates differ by at most 6 percentage points",
    ),
    (
        eh.PairwiseParity(0.12, eh.LogRatio()),
        "for every two groups, each outcome's rates differ by at most 0.12 in log-ratio",
    ),
    (
        eh.PairwiseParity(0.2, eh.FourFifths("hired")),
        "for every two groups, the rate of outcome 'hired' in one is at least 80% of that in the other",
    ),
    (eh.PairwiseParity(0.1, GAP), "for every two groups, each outcome's rates are at most 0.1 apart by the gap"),
    (
        eh.PairwiseParity(0.1, against="rest"),
        "for every group, each outcome's rate is within 10% of that of all other people",
    ),
    (
        eh.PairwiseParity(0.1, on=["sex"], against={"sex": "m"}),
        "for every other group by sex, each outcome's rate is within 10% of that of sex=m",
    ),
    (
        eh.PairwiseParity(eh.By(0.1, [({"y": 1}, 0.2)]), eh.FourFifths(1), against="rest"),
        "for every group, the rate of outcome 1 is at least 80% to 90% (by case) of that of all other people",
    ),
    (
        eh.PairwiseParity(eh.By(math.inf, [({"y": 1}, 0.1)])),
        "for every two groups, each outcome's rates differ by a factor of at most 1.1 (some cases are not bounded)",
    ),
    (eh.TargetParity(0.125), "for every group, each outcome's rate is within 12.5% of its rate in the whole table"),
    (eh.TargetParity(0.005), "for every group, each outcome's rate is within 0.5% of its rate in the whole table"),
    (eh.TargetParity(0), "for every group, each outcome's rate equals its rate in the whole table"),
    (
        eh.TargetParity(0.1, {"no": 0.6, "yes": 0.4}, eh.Difference(), on=["sex", "race"]),
        "for every group by sex × race, each outcome's rate is within 10 percentage points of the target "
        "(no: 0.6, yes: 0.4)",
    ),
    (
        eh.TargetParity(eh.By(0.1, [({"sex": "m"}, 0.3)]), distance=eh.LogRatio()),
        "for every group, each outcome's rate is within 0.1 to 0.3 (by case) in log-ratio of its rate in the whole "
        "table",
    ),
    (
        eh.TargetParity(0.1, given=["age"]),
        "for every group within each segment by age, each outcome's rate is within 10% of its rate in the whole "
        "segment",
    ),
    (
        eh.TargetParity(0.1, eh.By({0: 0.5, 1: 0.5}, [({"age": 1}, {0: 0.6, 1: 0.4})]), given=["age"], released=True),
        "for every group within each released segment by age, each outcome's rate is within 10% of the target of its "
        "segment",
    ),
    (
        eh.TargetParity(0.1, distance=GAP),
        "for every group, each outcome's rate is at most 0.1 from its rate in the whole table by the gap",
    ),
    (
        eh.TargetParity(0.2, distance=eh.FourFifths(1)),
        "for every group, the rate of outcome 1 is at least 80% of its rate in the whole table",
    ),
]


@pytest.mark.parametrize(("parity", "words"), PARITY_WORDS, ids=range(len(PARITY_WORDS)))
def test_parity(parity, words):
    assert parity.words == words


def test_a_reference_is_not_held_to_a_factor():
    """|p/q − 1| ≤ .5 lets q be twice p, where a factor of 1.5 would not; so it must not be called one."""
    assert eh.Ratio().value(np.array([0.1]), np.array([0.2]))[0] == 0.5
    assert "factor" not in eh.PairwiseParity(0.5, against="rest").words


PERSON = "for each person (each cell of protected columns, features and outcome), "
RECORD = "for each combination of features and outcome, on average over the groups, "
BUDGET_WORDS = {
    "expected": [PERSON + "the expected distortion is at most 0.6"],
    "expected xy": [RECORD + "the expected distortion is at most 0.5"],
    "excess": [
        PERSON + "the distortion is above 0.9 with probability at most 0.5, and above 1.9 with probability at most 0.2"
    ],
    "by cell": [PERSON + "the expected distortion is at most 0.4 to 0.7 (by case; some cases are not limited)"],
    "both": [
        RECORD + "the expected distortion is at most 0.8",
        PERSON + "the distortion is above 1.4 with probability at most 0.2 to 0.3 (by case)",
    ],
    "zero for some": [PERSON + "the expected distortion is at most 0 to 0.8 (by case)"],
}


@pytest.mark.parametrize("name", BUDGET_WORDS)
def test_budgets(name):
    assert [sentence(budget_note(b)) for b in of(budget=name).budgets] == BUDGET_WORDS[name]


def test_what_is_not_bounded_is_said():
    assert said(of(budget="none"))["Constraints"].endswith("where a change is allowed at all")
    nothing = said(replace(of(budget="none"), parity=[]))
    assert nothing["Constraints"].startswith(
        "nothing limits how far apart the rates of groups may be | nothing limits how much"
    )
    assert "nothing limits" not in said(of())["Constraints"]


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (eh.Fixed(), "never"),
        (eh.Free(), "to any value (free)"),
        (eh.Nominal(3), "to any value (cost 3)"),
        (eh.Nominal(0), "to any value (free)"),
        (eh.Nominal(math.inf), "never"),
        (eh.Nominal({("a", "b"): 1.0, ("b", "a"): math.inf}), "by a table of 2 costs"),
        (eh.Ordinal(1, up=False, down=False), "never"),
        (eh.Ordinal(2, max_steps=2), "up or down (cost 2 per step), at most 2 steps"),
        (eh.Ordinal(1, up_step=0, max_steps=1), "up (free) or down (cost 1 per step), at most 1 step"),
        (eh.Ordinal(0.5, down=False), "up (cost 0.5 per step)"),
    ],
)
def test_rules(rule, words):
    found = rule_note(rule)
    assert ("never" if found is None else sentence(found)) == words


def test_columns_that_never_change_are_named_together():
    changes = said(of(distortion="table"))["May change"]
    assert changes == "f1 by a table of 6 costs | y down (cost 1 per step) | f0 never | costs of several changes add up"


def test_a_users_function_charges_and_rules_only_narrow():
    """A column is not free because no rule names it. After a fit the function is a table of the same name."""
    problem = of(distortion="function")
    words = said(problem)["May change"]
    assert words == (
        "f0 to any value | f1 to any value | y to any value | what each change costs, and what is forbidden, comes "
        "from a function: one_way"
    )
    loose = replace(problem, parity=[eh.PairwiseParity(0.9)])
    assert said(eh.fit(loose, table(3)).problem)["May change"] == words
    narrowed = eh.Distortion({"f0": eh.Fixed(), "f1": eh.Ordinal(7, up=False)}, function=problem.distortion.function)
    assert said(replace(problem, distortion=narrowed))["May change"].startswith(
        "f1 down | y to any value | f0 never | what"
    )


def test_modes():
    assert said(of(mode="blind"))["Protected"] == "sex × race (read to fit the mapping, not to use it)"
    assert "treated alike" in said(of(mode="blind"))["Blind"]
    assert "that nobody has may be released" in said(of(mode="all targets"))["May change"]
    for mode, words in {
        "suppressed": "from the table's own p(y|x)",
        "own model": "from the p(y|x) of a given model",
    }.items():
        assert said(of(mode=mode))["For whom"].endswith(words)
    assert said(of(mode="own model"))["Minimized"].endswith("distribution of features")
    alternating = replace(of(mode="suppressed"), suppress_protected="alternating")
    assert said(alternating)["For whom"].endswith("found by alternating minimization")


@pytest.mark.parametrize("name", UTILITIES)
def test_every_measure_has_a_name(name):
    assert "user" not in said(of(utility=name))["Minimized"]


def test_a_users_measure(tmp_path):
    """And what a mapping file keeps of it."""
    squares = eh.Separable(
        lambda p, r: (r - p) ** 2, lambda p, r: 2 * (r - p), lambda p, r: np.full_like(p, 2.0), name="squares"
    )
    problem = replace(of(), parity=[eh.PairwiseParity(0.9)], utility=squares)
    assert said(problem)["Minimized"].startswith("a user's own measure (squares) from the original")
    eh.fit(problem, table(3)).save(tmp_path / "m")
    assert said(eh.Mapping.load(tmp_path / "m").problem) == said(problem)


@pytest.mark.slow(keep=60)
@pytest.mark.parametrize("parity", PARITIES)
@pytest.mark.parametrize("mode", MODES)
def test_every_form_reads_as_sentences(parity, mode):
    for budget, distortion in zip(BUDGETS, [*DISTORTIONS, "sum", "max"], strict=True):
        text = " ".join(words for _, words in asked(of(parity, budget, distortion, mode)))
        for ugly in ("inf", "nan", "None", "  ", " ,", "By(", "{", "0000", "<"):
            assert ugly not in text, (ugly, text)


def test_how_values_become_levels():
    bins = {
        "age": eh.Edges([30, 45.5]),
        "hours": eh.Quantiles(3),
        "job": eh.PooledLevels(50),
        "sex": eh.MergedLevels({"m": ["M", "male"]}, rest="f"),
        "hired": eh.ChosenBins(4),
    }
    found = list(asked(raw_problem(bins=bins)))
    assert ("Levels", "age: in bins that begin at 30, 45.5") in found
    assert ("Levels", "hours: in 3 bins of equal weight") in found
    assert ("Levels", "job: values of a weight below 50 are one level, 'other'") in found
    assert ("Levels", "sex: 'm' is 'M', 'male'; 'f' is all else") in found
    assert ("Levels", "hired: in at most 4 bins, cut where the outcome changes most") in found
    assert any(heading == "Missing values" and "'?'" in sentence for heading, sentence in found)
