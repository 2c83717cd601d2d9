"""Intervals of distances against all points of the boxes, verdicts against the hold-out's, and how often they hold."""

from dataclasses import replace

import numpy as np
import pytest
from families import random_problem, small_frame, small_problem
from fits import shared_fit
from scipy.stats import binom

import evenhand as eh
from evenhand.findings.theory.intervals import UNDECIDED, holdout, overall
from evenhand.findings.theory.judging import apart, drawn_once, judge
from evenhand.kernel import unchanged
from evenhand.spec import comparisons

pytestmark = pytest.mark.turns(4)

DISTANCES = [eh.Ratio(), eh.Difference(), eh.LogRatio(), eh.FourFifths(1)]


@pytest.mark.parametrize("distance", DISTANCES, ids=lambda d: type(d).__name__)
def test_a_distance_lies_between_its_least_and_its_most_on_the_box(distance):
    rng = np.random.default_rng(4)
    compared = comparisons(eh.PairwiseParity(0.2, distance=distance), eh.count(small_problem(), small_frame()))
    for _ in range(60):
        p, q = (np.sort(rng.choice([0, 1, *rng.random(4)], 2)) for _ in range(2))
        low, high = apart(compared, *(tuple(np.full(len(compared), end) for end in ends) for ends in (p, q)))
        grid = [np.linspace(*ends, 41) for ends in (p, q)]
        # Nearest points of the two intervals may lie between those of the grid.
        both = np.unique(np.concatenate([*grid, np.clip(p, *q), np.clip(q, *p)]))
        one, other = (both[(both >= ends[0]) & (both <= ends[1])] for ends in (p, q))
        values = distance.value(one[:, None], other[None, :])
        assert low[0] == pytest.approx(values.min(), abs=1e-12)
        assert high[0] == pytest.approx(values.max(), abs=1e-12)


@pytest.mark.parametrize("bound", [0.05, 0.4, 3.0])
def test_verdicts_are_the_hold_outs(bound):
    """Where nothing is drawn, both have the same rates and the same share of the error."""
    frame = small_frame().sample(5000, replace=True, random_state=1)
    counts = eh.count(small_problem(), frame)
    kept = unchanged(counts)
    expected = holdout(counts, kept, frame, bound=bound, confidence=0.9)
    found = judge([eh.PairwiseParity(bound)], counts, (counts, kept), confidence=0.9)
    words = {f"hired={row.hired}: {row.group} against {row.against}": row for row in expected.comparisons.itertuples()}
    assert {each.where for each in found} == set(words)
    for each in found:
        own = words[each.where]
        assert each.verdict == own.verdict
        assert each.high == pytest.approx(max(own.high - 1, 1 - own.low))
        assert each.low == pytest.approx(max(own.low - 1, 1 - own.high, 0))
    assert overall([each.verdict for each in found]) == expected.verdict


def test_one_release_has_whole_people_and_the_right_expectation(compas_mapping):
    counts, kernel = compas_mapping.counts, compas_mapping.kernel
    drawn = [drawn_once(counts, kernel, seed) for seed in range(200)]
    people = counts.weight[kernel.rows]
    number = np.array([each.probability for each in drawn]) * people
    assert np.allclose(number, number.round())
    assert np.allclose([np.bincount(kernel.rows, each) for each in number], counts.weight)
    error = np.sqrt(people * kernel.probability * (1 - kernel.probability) / len(drawn))
    assert np.all(np.abs(number.mean(axis=0) - people * kernel.probability) <= 5.5 * error + 1e-9)


FORMS = [
    eh.TargetParity(0.3),
    eh.TargetParity(0.3, distance=eh.Difference()),
    eh.PairwiseParity(0.3, against="rest"),
    eh.PairwiseParity(0.3, distance=eh.LogRatio()),
    eh.PairwiseParity(0.3, distance=eh.FourFifths(1)),
    eh.PairwiseParity(0.4, given=["score"]),
    eh.TargetParity(0.4, given=["score"], released=True),
    eh.PairwiseParity(0.3, distance=eh.Difference(), levels="cumulative"),
    eh.PairwiseParity(0.5, distance=eh.Difference(), given_outcome=True),
    eh.FeatureParity(0.2),
]


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("parity", FORMS, ids=lambda p: f"{type(p).__name__} {p.where}")
def test_every_form_is_judged(parity):
    """What is expected is the audit's; what was drawn lies in its interval; a larger batch has a narrower one."""
    mapping = eh.fit(small_problem(parity=[parity], budget=eh.ExpectedDistortion(2.0)), small_frame())
    widths = []
    for size in (400, 20_000):
        batch = small_frame().sample(size, replace=True, random_state=2)
        found = mapping.monitor(batch).bounds
        audited = mapping.audit(batch).bounds.query("constraint == @name", local_dict={"name": type(parity).__name__})
        assert found["expected"].to_numpy() == pytest.approx(audited["achieved"].to_numpy())
        assert list(found["where"]) == list(audited["where"])
        assert ((found["low"] <= found["value"] + 1e-12) & (found["value"] <= found["high"] + 1e-12)).all()
        widths.append((found["high"] - found["low"]).replace(np.inf, 1e9).mean())
    assert widths[1] < widths[0]


def test_a_group_that_is_not_there_decides_nothing():
    mapping = shared_fit(small_problem(), small_frame())
    found = mapping.monitor(small_frame().query("group == 'a'"))
    assert set(found.bounds["verdict"]) == {UNDECIDED}
    assert found.bounds["low"].isna().all()
    assert "nobody is counted of 1 of the 2 fitted groups" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_all_intervals_hold_at_once(seed):
    """Batches of a known population, for a random problem."""
    rng = np.random.default_rng(seed)
    for _ in range(40):
        problem, frame = random_problem(rng)
        try:
            mapping = eh.fit(replace(problem, tie_break=None), frame)
            break
        except eh.InfeasibleError:
            continue
    bounds = mapping.audit(frame).bounds
    really = bounds[bounds["constraint"].str.endswith("Parity")].set_index("where")["achieved"]
    trials, wrong = 150, 0
    for at in range(trials):
        found = mapping.monitor(frame.sample(250, replace=True, random_state=at), seed=at, confidence=0.6).bounds
        known = found.dropna(subset=["low"])
        true = known["where"].map(really)
        wrong += bool(((true < known["low"] - 1e-9) | (true > known["high"] + 1e-9)).any())
    assert wrong <= binom.ppf(0.9999, trials, 0.2)
