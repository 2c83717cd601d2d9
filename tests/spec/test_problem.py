import copy
import pickle
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from families import random_problem, small_problem

import evenhand as eh


@pytest.mark.parametrize("seed", range(40))
def test_toml_round_trip_of_random_problems(seed):
    problem, _ = random_problem(np.random.default_rng(seed))
    assert eh.Problem.from_toml(problem.to_toml()) == problem


@pytest.mark.parametrize(
    "changes",
    [
        {"tie_break": None},
        {"tie_break": "even", "targets": "all"},
        {"budget": None},
        {"parity": []},
        {"budget": [eh.ExpectedDistortion(0.5), eh.ExcessDistortion({1: 0.2}, per="xy")]},
        {"parity": [eh.TargetParity(0.1, {0: 0.25, 1: 0.75}), eh.PairwiseParity(0.3)]},
        {"distortion": eh.Distortion({"hired": eh.Ordinal(1, levels=("no", 'may"be', "ja\n")), "score": eh.Free()})},
        {"features": ["score", "a b.c", 'qu"ote', "ünï"]},
        {"favourable": 1, "parity": [eh.PairwiseParity(0.2, eh.FourFifths(1))]},
    ],
)
def test_toml_round_trip_of_awkward_problems(changes):
    problem = small_problem(**changes)
    assert eh.Problem.from_toml(problem.to_toml()) == problem


def test_problems_are_frozen_values(compas):
    problem = compas.problem
    with pytest.raises(FrozenInstanceError):
        problem.outcome = "x"
    with pytest.raises(TypeError):
        problem.distortion.rules["age_cat"] = eh.Free()
    assert replace(problem, outcome="is_recid") == problem
    assert hash(replace(problem)) == hash(problem)
    assert copy.deepcopy(problem) == problem
    assert pickle.loads(pickle.dumps(problem)) == problem


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"features": ["score", "group"]}, "'group' is listed in both protected and features"),
        ({"protected": ["hired"]}, "in both protected and outcome"),
        ({"features": ["score", "score"]}, "twice in features"),
        ({"protected": "group"}, r"write \['group'\]"),
        ({"protected": []}, "protected must name at least one"),
        ({"features": [1]}, "column names"),
        ({"outcome": ["hired"]}, "one column name"),
        ({"distortion": eh.Distortion({"score": eh.Free()})}, "outcome 'hired' has no rule"),
        ({"distortion": eh.Distortion({"hird": eh.Free()})}, "Did you mean 'hired'"),
        (
            {"distortion": eh.Distortion({"group": eh.Free(), "hired": eh.Free()})},
            "protected columns are never",
        ),
        ({"distortion": {"hired": eh.Free()}}, "distortion has no key 'hired'. Its keys are"),
        ({"parity": [0.1]}, "an instance of PairwiseParity, TargetParity or FeatureParity"),
        ({"parity": 0.1}, r"must be a list of PairwiseParity, TargetParity or FeatureParity"),
        ({"budget": 0.5}, r"must be an instance of ExpectedDistortion or ExcessDistortion"),
        ({"budget": [0.5]}, "ExpectedDistortion or ExcessDistortion"),
        ({"utility": "KL"}, r"an instance of KL, "),
        ({"targets": "observd"}, "Did you mean 'observed'"),
        ({"tie_break": "least"}, "tie_break must be one of"),
        ({"favourable": [1]}, "favourable must be one level"),
        ({"favourable": float("nan")}, "favourable must be a number"),
        (
            {"favourable": 0, "parity": [eh.PairwiseParity(0.1), eh.PairwiseParity(0.2, eh.FourFifths(1))]},
            "favourable says that hired=0 is good .* the FourFifths of PairwiseParity says hired=1",
        ),
        ({"favourable": 1, "parity": [eh.TargetParity(0.2, distance=eh.FourFifths(True))]}, "says hired=True"),
    ],
)
def test_bad_problems(changes, words):
    with pytest.raises(eh.SpecError, match=words):
        small_problem(**changes)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("outcome =", "outcom =", "no key 'outcom'. Did you mean 'outcome'"),
        ("bound =", "bounds =", "Did you mean 'bound'"),
        ('kind = "pairwise"', 'kind = "pairwize"', "Did you mean 'pairwise'"),
        ('kind = "pairwise", ', "", "needs the key 'kind'"),
        ('rule = "ordinal"', 'rule = "ordinl"', "Did you mean 'ordinal'"),
        ("step = 1", "stepp = 1", "Did you mean 'step'"),
        ("limit =", "limitt =", "Did you mean 'limit'"),
        ('measure = "KL"', 'measure = "LK"', "measure must be one of"),
        (
            'parity = [\n    { kind = "pairwise", bound = 0.2 },\n]',
            "parity = 3",
            r"must be a list of PairwiseParity, TargetParity or FeatureParity, not 3",
        ),
        ('outcome = "hired"', "", "lacks the key 'outcome'"),
        ("bound = 0.2", "bound = 'a'", "must be a number"),
        ("[utility]", "[utility", "not valid TOML"),
    ],
)
def test_bad_toml(old, new, words):
    text = small_problem().to_toml()
    assert old in text
    with pytest.raises(eh.SpecError, match=words):
        eh.Problem.from_toml(text.replace(old, new))


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("above = 0.9", "abov = 0.9", "Did you mean 'above'"),
        ("above = 1.9", "above = 0.9", "given twice"),
        (", probability = 0.05", "", "lacks the key 'probability'"),
    ],
)
def test_bad_thresholds_in_toml(adult, old, new, words):
    text = adult.problem.to_toml()
    assert old in text, text
    with pytest.raises(eh.SpecError, match=words):
        eh.Problem.from_toml(text.replace(old, new))


@pytest.mark.parametrize(("text", "words"), [(b"x = 1", "not bytes"), ("problem.toml", "looks like a path")])
def test_not_the_text_of_a_document(text, words):
    with pytest.raises(eh.SpecError, match=words):
        eh.Problem.from_toml(text)


@pytest.mark.parametrize("level", [0, 1, False, True, "yes", "0", 'may"be', "", 2**63, np.int64(1), np.True_])
def test_the_favourable_outcome_keeps_its_type(level):
    problem = small_problem(favourable=level)
    again = eh.Problem.from_toml(problem.to_toml())
    assert again == problem
    assert type(again.favourable) is type(problem.favourable)
    assert type(problem.favourable) in (int, bool, str)


def test_without_a_favourable_outcome_nothing_is_written():
    assert "favourable" not in small_problem().to_toml()
    assert eh.Problem.from_toml(small_problem().to_toml()).favourable is None
