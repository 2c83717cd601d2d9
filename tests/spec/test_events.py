"""Parity of outcomes from a level on, among people of one original outcome, and of released features."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import random_events_problem, small_frame, small_problem

import evenhand as eh
from evenhand.kernel.achieved import distances
from evenhand.spec import comparisons


def graded():
    rng = np.random.default_rng(5)
    group = rng.integers(0, 2, 600)
    grade = np.clip(rng.integers(0, 4, 600) + group * (rng.random(600) < 0.5), 0, 3)
    return pd.DataFrame({"group": np.array(["a", "b"])[group], "score": rng.integers(0, 3, 600), "grade": grade})


def graded_problem(**changes):
    statement = {
        "protected": ["group"], "features": ["score"], "outcome": "grade",
        "distortion": eh.Distortion({"score": eh.Ordinal(1, max_steps=1), "grade": eh.Ordinal(1, up=False)}),
        "budget": eh.ExpectedDistortion(1.0),
        "parity": [eh.PairwiseParity(0.05, eh.Difference(), levels="cumulative")],
    }  # fmt: skip
    return eh.Problem(**{**statement, **changes})


def released_rates(mapping, frame, at_least):
    """Each group's expected share with at least an outcome, from the expanded table."""
    wide = mapping.expand(frame)
    wide["selected"] = (wide["grade"] >= at_least) * wide["weight"]
    return wide.groupby("group")["selected"].sum() / wide.groupby("group")["weight"].sum()


@pytest.mark.slow
def test_selection_rates_are_close_at_every_threshold():
    frame = graded()
    plain = eh.fit(graded_problem(parity=[eh.PairwiseParity(0.5)]), frame)
    mapping = eh.fit(graded_problem(), frame)
    gaps = [float(np.ptp(released_rates(mapping, frame, k))) for k in (1, 2, 3)]
    assert max(gaps) == pytest.approx(0.05, abs=1e-6)
    assert max(float(np.ptp(released_rates(plain, frame, k))) for k in (1, 2, 3)) > 0.06
    assert mapping.achieved.parity[0].value == pytest.approx(np.repeat(gaps, 2).reshape(3, 2).T.ravel(), abs=1e-9)


def test_the_audit_names_the_levels_that_rates_count_from():
    mapping = eh.fit(graded_problem(), graded())
    places = mapping.audit().bounds["where"].tolist()
    assert places[0] == "grade ≥ 1: group=a against group=b"
    assert {place.split(":")[0] for place in places if "≥" in place} == {"grade ≥ 1", "grade ≥ 2", "grade ≥ 3"}


def test_words_need_an_order():
    frame = graded().assign(grade=lambda f: f["grade"].map({0: "none", 1: "low", 2: "mid", 3: "top"}))
    free = eh.Distortion({"score": eh.Fixed(), "grade": eh.Nominal(1)})
    with pytest.raises(eh.DataError, match=r"words without an order.*Ordinal\(levels"):
        eh.fit(graded_problem(distortion=free), frame)
    rule = eh.Ordinal(1, up=False, levels=["none", "low", "mid", "top"])
    mapping = eh.fit(graded_problem(distortion=eh.Distortion({"score": eh.Fixed(), "grade": rule})), frame)
    assert "grade ≥ low: group=a against group=b" in mapping.audit().bounds["where"].tolist()


def test_relabelling_is_compared_among_people_of_one_outcome():
    frame = small_frame()
    problem = small_problem(
        parity=[eh.PairwiseParity(0.3), eh.PairwiseParity(0.1, eh.Difference(), given_outcome=True)],
        budget=eh.ExpectedDistortion(0.9),
    )
    mapping = eh.fit(problem, frame)
    wide = mapping.expand(frame.assign(was=frame["hired"]))
    wide["yes"] = wide["hired"] * wide["weight"]
    sums = wide.groupby(["was", "group"])[["yes", "weight"]].sum()
    rates = (sums["yes"] / sums["weight"]).unstack()
    assert np.abs(rates["a"] - rates["b"]).max() <= 0.1 + 1e-9
    assert np.abs(rates["a"] - rates["b"]).max() == pytest.approx(max(mapping.achieved.parity[1].value), abs=1e-9)


def test_a_file_is_judged_by_who_had_which_outcome():
    frame = small_frame()
    problem = small_problem(
        parity=[eh.PairwiseParity(0.3), eh.PairwiseParity(0.25, eh.Difference(), given_outcome=True)]
    )
    mapping = eh.fit(problem, frame)
    released = mapping.release(frame, seed=3, draw="balanced")
    assert mapping.realised(released).kept is None
    judged = mapping.realised(released, original=frame)
    assert judged.kept is not None
    both = frame.assign(now=released["hired"].to_numpy()).groupby(["hired", "group"])["now"].mean().unstack()
    own = judged.bounds[judged.bounds["where"].str.contains("within hired=1")]["achieved"]
    assert own.max() == pytest.approx(abs(both.loc[1, "a"] - both.loc[1, "b"]), abs=1e-9)


def test_balance_keeps_the_released_outcomes_of_each_original_one():
    frame = small_frame()
    mapping = eh.fit(small_problem(parity=[eh.PairwiseParity(0.4, eh.Difference(), given_outcome=True)]), frame)
    assert mapping.release_mode.nest.columns == ("group", "hired")


def total_variation(mapping, frame, columns):
    wide = mapping.expand(frame)
    shares = wide.groupby([*columns, "group"])["weight"].sum().unstack(fill_value=0.0)
    shares = shares / shares.sum()
    return float(np.abs(shares["a"] - shares["b"]).sum() / 2)


def test_any_set_of_features_has_close_shares():
    frame = small_frame()
    frame.loc[frame["group"] == "a", "score"] = np.where(np.arange(100) < 80, 1, 0)
    mapping = eh.fit(small_problem(parity=[eh.FeatureParity(0.1)]), frame)
    assert total_variation(mapping, frame, ["score"]) == pytest.approx(0.1, abs=1e-7)
    assert mapping.achieved.parity[0].value[0] == pytest.approx(0.1, abs=1e-7)
    assert len(mapping.achieved.parity[0].value) == 1


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("seed", range(12))
def test_the_distance_of_features_is_half_of_l1(seed):
    rng = np.random.default_rng(seed)
    problem, frame = random_events_problem(rng)
    problem = replace(problem, parity=[eh.FeatureParity(0.5)])
    counts = eh.count(problem, frame)
    found = distances(problem, counts, eh.fit(replace(problem, parity=[]), counts).kernel)[0]
    shares = frame.groupby([*problem.features, "d"]).size().unstack(fill_value=0)
    shares = shares / shares.sum()
    for entry, value in enumerate(found.value):
        own, other = (
            found.compared.populations[int(p[entry])].group for p in (found.compared.population, found.compared.against)
        )
        assert value == pytest.approx(np.abs(shares[own] - shares[other]).sum() / 2)


def test_two_groups_are_compared_once():
    counts = eh.count(small_problem(), small_frame())
    assert len(comparisons(eh.FeatureParity(0.1), counts)) == 1
    assert len(comparisons(eh.FeatureParity(0.1, against="rest"), counts)) == 2
    assert len(comparisons(eh.FeatureParity(0.1, against={"group": "b"}), counts)) == 1


@pytest.mark.parametrize("named", ["a", "b", "c"])
def test_a_bound_on_one_groups_features_holds_whichever_it_is(named):
    frame = pd.DataFrame({"d": list("abc") * 40, "x": [0, 0, 1] * 20 + [0, 1, 1] * 20, "y": [0, 1] * 60})
    problem = eh.Problem(
        protected=["d"], features=["x"], outcome="y", parity=[eh.FeatureParity(eh.By(0.9, [({"d": named}, 0.05)]))],
        distortion=eh.Distortion({"x": eh.Nominal(1), "y": eh.Nominal(1)}),
    )  # fmt: skip
    part = comparisons(problem.parity[0], eh.count(problem, frame))
    pairs = {
        "".join(sorted(part.populations[int(p[e])].words[-1] for p in (part.population, part.against))): part.bound[e]
        for e in range(len(part))
    }
    assert pairs == {pair: 0.05 if named in pair else 0.9 for pair in ("ab", "ac", "bc")}


def test_targets_from_a_level_on_are_probabilities():
    """The sum of all of a target's outcomes but an empty one is one, and not one and a digit."""
    frame = graded()
    for seed in range(60):
        share = np.random.default_rng(seed).dirichlet(np.ones(3))
        target = dict(zip((0, 1, 2, 3), (0.0, *share), strict=True))
        problem = graded_problem(parity=[eh.TargetParity(0.5, target, eh.Difference(), levels="cumulative")])
        assert comparisons(problem.parity[0], eh.count(problem, frame)).target.max() <= 1


def test_features_that_stay_cannot_be_brought_together():
    problem = {"protected": ["group"], "features": ["score"], "outcome": "hired", "parity": [eh.FeatureParity(0.1)]}
    with pytest.raises(eh.SpecError, match="FeatureParity bounds released features, which with Leaves stay"):
        eh.Problem(**problem, cells=eh.Leaves(), distortion=eh.Distortion({"hired": eh.Nominal(1)}))


@pytest.mark.parametrize(
    ("parity", "words"),
    [
        (lambda: eh.PairwiseParity(0.1, levels="all"), "levels of PairwiseParity must be one of"),
        (lambda: eh.PairwiseParity(0.1, given_outcome="yes"), "given_outcome of PairwiseParity must be"),
        (lambda: eh.FeatureParity(0.1, features=[]), "features of FeatureParity must name at least one column"),
        (lambda: eh.FeatureParity(-1), "bound of FeatureParity must be at least 0"),
        (lambda: eh.FeatureParity(0.1, against="all"), "against of FeatureParity"),
    ],
)
def test_bad_statements_are_refused(parity, words):
    with pytest.raises(eh.SpecError, match=words):
        parity()


def test_unknown_features_are_named():
    with pytest.raises(eh.SpecError, match="features of FeatureParity names 'scores'"):
        small_problem(parity=[eh.FeatureParity(0.1, features=["scores"])])


@pytest.mark.parametrize("bound", [0.0, 0.05])
def test_diagnosis_tells_what_two_bounds_leave(bound):
    both = [eh.PairwiseParity(0), eh.PairwiseParity(bound, eh.Difference(), given_outcome=True)]
    problem = small_problem(parity=both, utility=eh.L1(), budget=None)
    found = eh.diagnose(replace(problem, distortion=eh.Distortion({"hired": eh.Nominal(1)})), small_frame())
    assert ("tells nothing of the original one" if bound == 0 else "tells little of the original one") in " ".join(
        found.sentences()
    )


def test_nothing_is_said_of_bounds_that_leave_out_a_segment():
    both = [eh.PairwiseParity(0), eh.PairwiseParity(0, eh.Difference(), given_outcome=True, min_segment=90)]
    problem = small_problem(parity=both, utility=eh.L1(), budget=None)
    found = eh.diagnose(replace(problem, distortion=eh.Distortion({"hired": eh.Nominal(1)})), small_frame())
    assert "original one" not in " ".join(found.sentences())


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seed", range(6))
def test_what_two_bounds_leave_is_no_more_than_is_said(seed):
    """The released outcome tells of the original one no more than (a + b) over the groups' distance."""
    rng = np.random.default_rng(seed)
    frame = small_frame().sample(150, random_state=seed).reset_index(drop=True)
    a, b = rng.uniform(0, 0.05, 2)
    both = [eh.PairwiseParity(a, eh.Difference()), eh.PairwiseParity(b, eh.Difference(), given_outcome=True)]
    rules = eh.Distortion({"score": eh.Fixed(), "hired": eh.Nominal(1)})
    mapping = eh.fit(small_problem(parity=both, utility=eh.L1(), budget=None, distortion=rules), frame)
    wide = mapping.expand(frame.assign(was=frame["hired"]))
    wide["yes"] = wide["hired"] * wide["weight"]
    sums = wide.groupby(["was", "group"])[["yes", "weight"]].sum()
    rates = (sums["yes"] / sums["weight"]).unstack()
    gap = abs(frame[frame["group"] == "a"]["hired"].mean() - frame[frame["group"] == "b"]["hired"].mean())
    assert np.abs(rates.loc[1] - rates.loc[0]).max() <= (a + b) / gap + 1e-9
