"""Forbidden records: by the dense statement over random rules, in the release, in files, proofs and words."""

import itertools
import json
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from formulations import MODES, all_pairs, problem_of, table
from oracle import Dense, matches

import evenhand as eh
from evenhand import verifier
from evenhand.render.sentences import facts

LEVELS = {"sex": "fm", "race": "ab", "f0": range(2), "f1": range(3), "y": range(2)}
EVERYBODY = pd.DataFrame(list(itertools.product(*LEVELS.values())), columns=list(LEVELS))
ROWS = all_pairs()
BATCH, EVERY = 2, 2
OBJECTIVE, INACCURATE, VIOLATION = 5e-6, 1e-5, 1e-9
YOUNG = {"when": {"f0": 0}, "then": {"y": 1}}


def random_rules(rng, *, outcome=True, number=2):
    """Rules of two or three columns, at least one of which is not protected, with one level or several."""
    rules = []
    while len(rules) < number:
        names = [n for n in LEVELS if outcome or n != "y"]
        chosen = [str(n) for n in rng.choice(names, int(rng.integers(2, 4)), replace=False)]
        if set(chosen) <= {"sex", "race"}:
            continue
        where = {}
        for name in chosen:
            levels = list(LEVELS[name])
            several = rng.choice(len(levels), int(rng.integers(1, len(levels))), replace=False)
            where[name] = levels[several[0]] if rng.random() < 0.7 else [levels[i] for i in several]
        split = int(rng.integers(1, len(chosen)))
        rules.append({"when": dict(list(where.items())[:split]), "then": dict(list(where.items())[split:])})
    return rules


def problem_with_rules(number):
    """A problem of random settings with random rules; of suppressed ones, about features and groups."""
    problem, rng = problem_of(ROWS[number], number), np.random.default_rng(number)
    return replace(problem, forbidden=random_rules(rng, outcome=not problem.suppression.redraws))


def is_one(rule, row):
    return matches(rule.when, row) and matches(rule.then, row)


def wrongly_made(problem, rows):
    """The moves of a table of a mapping that make a forbidden record of one that is none."""
    found = []
    for row in rows.to_dict("records"):
        after = row | {name.removeprefix("to_"): row[name] for name in row if name.startswith("to_")}
        found += [(row, rule) for rule in problem.forbidden if is_one(rule, after) and not is_one(rule, row)]
    return found


@pytest.mark.filterwarnings("ignore:.* already")
@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(ROWS), BATCH * EVERY))
def test_agrees_with_the_dense_statement_and_never_makes_one(first, tmp_path):
    for number in range(first, min(first + BATCH * EVERY, len(ROWS)), EVERY):
        problem, what = problem_with_rules(number), (number, ROWS[number])
        counts = eh.count(problem, table(number))
        status, value = Dense(problem, counts).solve()
        try:
            mapping = eh.fit(problem, counts)
        except eh.InfeasibleError:
            assert status != "optimal", what
            continue
        assert mapping.certificate.max_violation <= VIOLATION, what
        assert status != "infeasible", what
        if status == "optimal":
            assert mapping.objective == pytest.approx(value, abs=OBJECTIVE), what
            assert mapping.certificate.status == "optimal", what
        elif not math.isnan(value):
            assert mapping.certificate.lower_bound <= value + INACCURATE, what
        assert wrongly_made(problem, mapping.table()) == []
        mapping.proof(tmp_path / "a.proof")
        assert verifier.verify(tmp_path / "a.proof").stands, what


def small(**changes):
    """A problem in which outcomes rise, so that people with f0=0 would be given y=1."""
    rises = eh.Distortion({"y": eh.Ordinal(1, down=False)})
    plain = problem_of(("KL", "pairwise", "none", "sum", "plain"), 5)
    return replace(plain, **{"forbidden": [YOUNG], "distortion": rises, "parity": [eh.PairwiseParity(0.8)]} | changes)


def with_gaps(seed):
    """A table in which some cells of every group have nobody, each level being there."""
    frame = table(seed)
    return frame[~(frame["f1"].eq(1) & frame["sex"].eq("m")) & ~(frame["f1"].eq(2) & frame["race"].eq("a"))]


@pytest.fixture(scope="module")
def mapping():
    with pytest.warns(eh.EvenhandWarning, match="people are already f0=0 with y=1"):
        return eh.fit(small(), table(5))


def test_it_matters_and_costs(mapping):
    free = eh.fit(small(forbidden=()), table(5))
    assert wrongly_made(small(), free.table()) != []
    assert wrongly_made(small(), mapping.table()) == []
    assert mapping.objective > free.objective


@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seed", range(12))
def test_people_in_new_cells_become_none_either(seed):
    rng, frame = np.random.default_rng(seed), with_gaps(seed)
    both_ways = eh.Distortion({"f0": eh.Nominal(1), "f1": eh.Nominal(1), "y": eh.Nominal(1)})
    problem = small(forbidden=random_rules(rng, number=3), blind=seed % 3 == 0, distortion=both_ways)
    try:
        mapping = eh.fit(problem, frame)
    except eh.InfeasibleError as error:
        met = error.smallest_parity_bound + 0.01
        mapping = eh.fit(problem.with_bounds(lambda _: met), frame)
    wide = mapping.possibilities(EVERYBODY, mode="release")
    before, after = EVERYBODY.loc[wide["row"]].to_dict("records"), wide.to_dict("records")
    for own, becomes in zip(before, after, strict=True):
        for rule, sex, race in itertools.product(problem.forbidden, "fm", "ab"):
            # A blind mapping treats everybody as somebody of any group.
            whose = {"sex": sex, "race": race} if problem.blind else {}
            assert not is_one(rule, becomes | whose) or is_one(rule, own | whose)
    # Nor does apply mode, which releases no outcome, where a rule names none.
    wide = mapping.possibilities(EVERYBODY.drop(columns="y"), mode="apply")
    before = EVERYBODY.drop(columns="y").loc[wide["row"]].to_dict("records")
    rules = [rule for rule in problem.forbidden if "y" not in rule.where]
    for own, becomes in zip(before, wide.to_dict("records"), strict=True):
        assert all(not is_one(rule, becomes) or is_one(rule, own) for rule in rules)


def test_a_file_keeps_it_and_another_kernel_is_refused(mapping, tmp_path):
    mapping.save(tmp_path / "a.mapping")
    again = eh.Mapping.load(tmp_path / "a.mapping")
    assert again.problem == mapping.problem
    assert again.table().equals(mapping.table())
    free = eh.fit(small(forbidden=()), table(5))
    replace(free, problem=small()).save(tmp_path / "b.mapping")
    with pytest.raises(eh.StorageError, match="does not stand"):
        eh.Mapping.load(tmp_path / "b.mapping")


def test_the_verifier_refuses_a_mapping_that_makes_one(mapping, tmp_path):
    eh.fit(small(forbidden=()), table(5)).proof(tmp_path / "free.proof")
    mapping.proof(tmp_path / "a.proof")
    free, forbidding = (json.loads((tmp_path / name).read_text()) for name in ("free.proof", "a.proof"))
    assert forbidding["statement"]["forbidden"] == [{"f0": [0], "y": [1]}]
    for strange in ([{"nobody": [0]}], [{}], [{"f0": [7]}], {"f0": [0]}, [{"f0": 0}]):
        wrong = forbidding | {"statement": forbidding["statement"] | {"forbidden": strange}}
        assert "forbidden" in judged(wrong, tmp_path).reason
    wrong = free | {"statement": free["statement"] | {"forbidden": [{"f0": [0], "y": [1]}]}}
    assert "which the statement forbids" in judged(wrong, tmp_path).reason


def judged(document, folder):
    document["sha256"] = verifier.digest(document)
    (folder / "wrong.proof").write_text(json.dumps(document))
    report = verifier.verify(folder / "wrong.proof")
    assert not report.stands
    return report


@pytest.mark.slow
def test_a_diagnosis_says_where_forbidding_is_why():
    frame = table(5)
    never = [{"when": {"sex": sex}, "then": {"y": y, "f0": [0, 1]}} for sex in "fm" for y in range(2)]
    problem = small(forbidden=never, parity=[eh.PairwiseParity(0.02)])
    found = eh.diagnose(problem, frame)
    assert not found.feasible
    assert "If none of the 4 kinds of records were forbidden, every bound could be met." in " ".join(found.sentences())
    found = eh.diagnose(replace(problem, forbidden=never[:2]), frame)
    tight = small(forbidden=never[:1], parity=[eh.TargetParity(0.01, {0: 0.01, 1: 0.99})])
    found = eh.diagnose(replace(tight, distortion=eh.Distortion({"y": eh.Fixed()})), frame)
    assert "Also if no record were forbidden, the bounds could not be met." in " ".join(found.sentences())
    with pytest.raises(eh.InfeasibleError, match="forbidden records"):
        eh.fit(problem, frame)


def test_a_level_may_be_a_bin_or_among_learned_cells():
    rng = np.random.default_rng(3)
    age, pay, sex = rng.integers(14, 70, 3000), rng.normal(0, 1, 3000), rng.choice(["f", "m"], 3000)
    y = (rng.random(3000) < 0.2 + 0.25 * (sex == "m") + 0.1 * (pay > 0)).astype(int)
    y[(age < 18)] = 0
    frame = pd.DataFrame({"age": age, "pay": pay, "sex": sex, "y": y})
    stated = {"protected": ["sex"], "outcome": "y", "parity": [eh.PairwiseParity(0.02)], "tie_break": "even"}
    stated |= {"bins": {"age": eh.Edges([18, 40])}, "forbidden": [{"when": {"age": "<18"}, "then": {"y": 1}}]}
    by_level = eh.Problem(features=["age"], distortion=eh.Distortion({"y": eh.Nominal(1)}), **stated)
    learned = eh.Problem(
        features=["age", "pay"], distortion=eh.Distortion({"y": eh.Nominal(1)}), cells=eh.Leaves(6, 10), **stated
    )
    for problem in (by_level, learned):
        free = eh.fit(replace(problem, forbidden=(), bins={}), frame) if problem.cells else None
        released = eh.fit(problem, frame).release(frame, seed=0)
        assert released.loc[released["age"] < 18, "y"].sum() == 0
        assert (released["y"] != y).any()
        assert free is None or "age" not in free.counts.domain.x.names


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ({"when": {"f9": 1}, "then": {"y": 1}}, "'f9', which is not a column here"),
        ({"when": {"sex": "f"}, "then": {"race": "a"}}, "protected columns alone"),
        ({"when": {"f0": 1}, "then": {"f0": 0, "y": 1}}, "both in when and in then"),
        ({"when": {"f0": 1}}, r"forbidden\[0\] lacks the key 'then'"),
        ({"when": {}, "then": {"y": 1}}, r"forbidden\[0\].when must be a mapping"),
        ({"when": {"f0": 1}, "then": {"y": 1}, "else": 2}, r"forbidden\[0\] has no key 'else'"),
        ("f0=1", r"forbidden\[0\] must be an instance of Forbidden: in TOML a table of"),
    ],
)
def test_what_is_no_rule_is_refused(rule, words):
    with pytest.raises(eh.SpecError, match=words):
        small(forbidden=[rule])


def test_what_goes_with_a_table_is_refused_there():
    with pytest.raises(eh.SpecError, match="a forbidden record names f1=7, which does not exist"):
        eh.fit(small(forbidden=[{"when": {"f1": 7}, "then": {"y": 1}}]), table(5))
    with pytest.raises(eh.SpecError, match="may name features and protected columns alone"):
        small(**MODES["suppressed"])
    with pytest.raises(eh.SpecError, match=r"\[\[forbidden\]\]"):
        eh.Problem.from_toml(small(forbidden=()).to_toml() + "\n[forbidden]\nwhen = 1\n")
    with pytest.raises(eh.SpecError, match=r"forbidden\[0\] has no key 'wen'. Did you mean 'when'"):
        eh.Problem.from_toml(small(forbidden=()).to_toml() + "\n[[forbidden]]\nwen = {f0 = 1}\nthen = {y = 1}\n")


def test_the_statement_round_trips_and_has_words():
    rule = eh.Forbidden(when={"f0": [0, 1], "sex": "f"}, then={"y": 1})
    problem = small(forbidden=rule)
    assert problem == small(forbidden=[{"when": {"f0": (0, 1), "sex": "f"}, "then": {"y": 1}}])
    assert hash(problem.forbidden) == hash((rule,))
    assert eh.Problem.from_toml(problem.to_toml()) == problem
    assert rule.words == "f0=0 or 1 and sex=f with y=1"
    assert ("Forbidden", f"nobody becomes {rule.words} who is not so already") in list(facts(problem.sections[0].facts))
