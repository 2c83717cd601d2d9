"""What is decided under a blind mapping, and with D suppressed (section 3.2.2)."""

from dataclasses import replace

import numpy as np
import pytest
from families import small_frame, small_problem
from formulations import table

import evenhand as eh

SEEDS = range(3)
FALLS = eh.Ordinal(1, up=False)
FREE_OUTCOME = {"f0": FALLS, "f1": eh.Ordinal(0.5, up=False), "y": eh.Free()}


def problem(**changes):
    statement = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": [eh.PairwiseParity(0.3)],
        "distortion": eh.Distortion({"f0": FALLS, "f1": FALLS, "y": FALLS}),
        "budget": eh.ExpectedDistortion(0.9),
    }
    return eh.Problem(**{**statement, **changes})


def suppressed(**changes):
    return problem(**{"suppress_protected": "fixed", "distortion": eh.Distortion(FREE_OUTCOME), **changes})


def mass(mapping, frame):
    """The mapping's rows with the share of people who make each move."""
    rows = mapping.table().merge(frame.value_counts().rename("n").reset_index())
    return rows.assign(mass=rows["n"] * rows["probability"] / len(frame))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_blind_mapping_is_the_same_for_every_group_and_costs_no_less(seed):
    sees = eh.fit(problem(), table(seed))
    blind = eh.fit(problem(blind=True), table(seed))
    assert blind.objective > sees.objective + 1e-6
    moves = blind.table().groupby(["f0", "f1", "y", "to_f0", "to_f1", "to_y"])["probability"]
    assert (moves.max() - moves.min()).max() <= 1e-9
    people = blind.table().groupby(["f0", "f1", "y"])[["sex", "race"]].value_counts().groupby(level=[0, 1, 2]).nunique()
    assert (people == 1).all(), "every group makes as many moves"
    assert blind.achieved.group_leak <= 1e-9
    assert sees.achieved.group_leak is None


def test_a_blind_mapping_heeds_the_strictest_limit_of_those_alike():
    limit = eh.By(0.9, [({"sex": "m", "race": "a"}, 0.3)])
    statement = problem(parity=[eh.PairwiseParity(0.9)], budget=eh.ExpectedDistortion(limit))
    uneven = eh.fit(replace(statement, blind=True), table(0))
    charge = uneven.achieved.budgets[0]
    assert np.all(charge.value <= charge.limit + 1e-9)
    alike = uneven.counts.records.of_source
    strict = np.isin(alike, alike[charge.limit == 0.3])
    assert charge.value[strict].max() == pytest.approx(0.3, abs=1e-6)
    wide = eh.fit(replace(statement, blind=True, budget=eh.ExpectedDistortion(0.9)), table(0))
    assert wide.objective < uneven.objective - 1e-6


@pytest.mark.parametrize("seed", SEEDS)
def test_with_a_fixed_conditional_the_outcome_follows_from_the_released_features(seed):
    frame = table(seed)
    mapping = eh.fit(suppressed(), frame)
    assert mapping.objective > 1e-3
    rows = mass(mapping, frame)
    own = frame.groupby(["f0", "f1"])["y"].mean()
    seen = rows.groupby(["to_f0", "to_f1"])[["mass"]].sum()
    ones = rows[rows["to_y"] == 1].groupby(["to_f0", "to_f1"])["mass"].sum()
    assert (ones / seen["mass"]).to_numpy() == pytest.approx(own.loc[seen.index].to_numpy(), abs=1e-9)
    rows["rate"] = [own[cell] for cell in zip(rows["to_f0"], rows["to_f1"], strict=True)]
    for _, group in rows.groupby(["sex", "race"]):
        rate = group.loc[group["to_y"] == 1, "mass"].sum() / group["mass"].sum()
        assert rate == pytest.approx(np.average(group["rate"], weights=group["mass"]), abs=1e-9), "eq. (10)"
    assert mapping.achieved.outcome_leak <= 1e-9


F_DIVERGENCES = [eh.KL(), eh.ReverseKL(), eh.L1(), eh.TotalVariation(), eh.PearsonChi2(), eh.NeymanChi2(),
                 eh.Hellinger(), eh.JensenShannon()]  # fmt: skip


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("utility", F_DIVERGENCES, ids=lambda u: type(u).__name__)
def test_with_the_own_conditional_a_divergence_is_that_of_the_features(utility):
    frame = table(0)
    own = frame.groupby(["f0", "f1"])["y"].mean()
    conditional = eh.Conditional({cell: {0: 1 - rate, 1: rate} for cell, rate in own.items()})
    joint = eh.fit(suppressed(utility=utility), frame)
    features = eh.fit(suppressed(utility=utility, conditional=conditional), frame)
    assert joint.objective > 1e-3
    assert features.objective == pytest.approx(joint.objective, abs=1e-7)


def test_squared_differences_are_no_divergence_and_do_depend_on_the_outcome():
    frame = table(0)
    own = frame.groupby(["f0", "f1"])["y"].mean()
    conditional = eh.Conditional({cell: {0: 1 - rate, 1: rate} for cell, rate in own.items()})
    joint = eh.fit(suppressed(utility=eh.SquaredL2()), frame)
    features = eh.fit(suppressed(utility=eh.SquaredL2(), conditional=conditional), frame)
    assert features.objective > joint.objective + 1e-4


def test_suppression_costs_no_less():
    joint = suppressed(suppress_protected=None)
    assert eh.fit(joint, table(0)).objective < eh.fit(suppressed(), table(0)).objective


@pytest.mark.parametrize("mode", ["fixed", "alternating"])
def test_a_forbidden_change_of_the_outcome_is_refused(mode):
    with pytest.raises(eh.SpecError, match=r"forbids 0 → 1: that is infeasible for every bound and budget"):
        eh.fit(small_problem(suppress_protected=mode), small_frame())


@pytest.mark.parametrize("mode", ["fixed", "alternating"])
def test_suppression_needs_observed_targets(mode):
    with pytest.raises(eh.SpecError, match='write targets="observed"'):
        small_problem(suppress_protected=mode, targets="all")


def never_hired(before, after):
    return np.where(after["hired"] > before["hired"], np.inf, 0.0)


@pytest.mark.parametrize(
    "changes",
    [
        {"distortion": eh.Distortion(function=never_hired), "suppress_protected": "fixed", "budget": None},
        {
            "distortion": eh.Distortion({"score": eh.Free(), "hired": eh.Nominal(1)}),
            "suppress_protected": "fixed",
            "budget": eh.ExpectedDistortion(eh.By(0.5, [({"group": "a", "score": 0, "hired": 0}, 0.0)])),
        },
    ],
    ids=["by a function", "by a budget of zero"],
)
def test_people_without_a_whole_move_are_named(changes):
    with pytest.raises(eh.InfeasibleError, match=r"people at \(group=a; score=0; hired=0\) have no move"):
        eh.fit(small_problem(**changes), small_frame())


def test_a_budget_of_zero_for_one_group_stops_all_who_must_move_with_it():
    zero = eh.ExpectedDistortion(eh.By(0.45, [({"group": "b"}, 0.0)]))
    parity = [eh.PairwiseParity(0.7)]
    mapping = eh.fit(small_problem(blind=True, budget=zero, parity=parity), small_frame())
    assert (mapping.table()["probability"] == 1).all()
    with pytest.raises(eh.InfeasibleError):
        eh.fit(small_problem(blind=True, budget=zero), small_frame())
    assert eh.fit(small_problem(budget=zero), small_frame()).objective > 0


def test_statements_do_not_mix():
    with pytest.raises(eh.SpecError, match=r"suppress_protected must be one of .* Did you mean 'fixed'"):
        small_problem(suppress_protected="fixd")
    with pytest.raises(eh.SpecError, match="blind must be true or false, not 'yes'"):
        replace(small_problem(), blind="yes")
