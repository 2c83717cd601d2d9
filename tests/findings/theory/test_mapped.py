"""The theory of a mapping speaks of the right bound, of the right groups, against the right target."""

import math

import numpy as np
import pytest
from families import small_frame, small_problem
from formulations import DISTORTIONS, table

import evenhand as eh
from evenhand.findings.theory import advantage, bootstrap, draw_spread, holdout, regrouped, robustness
from evenhand.kernel.achieved import group_rates


def theory_of(*parity):
    problem = eh.Problem(
        protected=["sex", "race"], features=["f0", "f1"], outcome="y", parity=list(parity),
        distortion=DISTORTIONS["sum"]("falls"), budget=eh.ExpectedDistortion(0.6),
    )  # fmt: skip
    return eh.fit(problem, table(3)).theory


def largest_ratio(theory):
    rates = group_rates(theory.counts, theory.kernel)
    return (rates.max(axis=0) / rates.min(axis=0)).max() - 1


SPOKEN_OF = {
    "pairwise": (eh.PairwiseParity(0.4), 0.4, None),
    "pairwise, by pair": (eh.PairwiseParity(eh.By(0.4, [({"y": 0}, 0.5)])), 0.5, None),
    "target": (eh.TargetParity(0.3, {0: 0.6, 1: 0.4}), 0.3, [0.6, 0.4]),
}


@pytest.mark.parametrize("name", SPOKEN_OF)
def test_the_bound_is_that_of_the_constraint(name):
    parity, bound, target = SPOKEN_OF[name]
    theory = theory_of(parity)
    assert theory.bound == bound
    assert (theory.target is None) == (target is None)
    if target is not None:
        assert theory.target.tolist() == target


@pytest.mark.parametrize(
    "parity",
    [
        eh.PairwiseParity(eh.By(math.inf, [({"y": 1}, 0.4)])),
        eh.PairwiseParity(0.4, against="rest"),
        eh.PairwiseParity(0.4, against={"sex": "m", "race": "a"}),
        eh.PairwiseParity(0.1, eh.Difference()),
        eh.PairwiseParity(0.4, on=["sex"], given=["f0"]),
    ],
)
def test_a_bound_that_does_not_hold_every_two_groups_is_not_spoken_of(parity):
    """The ratio between groups may well exceed it; what is said then is the ratio that is there."""
    theory = theory_of(parity)
    assert theory.bound == pytest.approx(largest_ratio(theory))
    assert theory.target is None


def test_the_first_suitable_constraint_counts():
    theory = theory_of(eh.PairwiseParity(0.2, eh.Difference()), eh.PairwiseParity(0.6), eh.PairwiseParity(0.5))
    assert theory.bound == 0.6


def test_a_univariate_bound_speaks_of_its_own_groups():
    theory = theory_of(eh.PairwiseParity(0.1, on=["race"]))
    assert theory.bound == 0.1
    assert largest_ratio(theory) > 0.1, "the joint groups are further apart"
    counts, kernel = regrouped(theory.counts, theory.kernel, ["race"])
    expected = advantage(counts, group_rates(counts, kernel), bound=0.1)
    assert theory.advantage().after.advantage == pytest.approx(expected.after.advantage)
    assert list(theory.bootstrap(resamples=50).rates.columns[:2]) == ["race", "y"]
    assert list(theory.holdout(table(4)).rates.columns[:2]) == ["race", "y"]
    assert list(theory.small_groups().frame.columns[:1]) == ["race"]


@pytest.mark.slow
def test_every_part_is_the_function_of_this_package(compas, compas_mapping):
    theory, counts, kernel = compas_mapping.theory, compas.counts, compas_mapping.kernel
    rates = group_rates(counts, kernel)
    assert theory.advantage().sentences() == advantage(counts, rates, bound=0.1).sentences()
    assert theory.draw_spread(releases=100, seed=4).sentences() == draw_spread(
        counts, kernel, bound=0.1, releases=100, seed=4
    ).sentences()  # fmt: skip
    assert (
        theory.bootstrap(resamples=100).sentences() == bootstrap(counts, kernel, bound=0.1, resamples=100).sentences()
    )
    assert (
        theory.holdout(compas.frame[:900]).sentences()
        == holdout(counts, kernel, compas.frame[:900], bound=0.1).sentences()
    )
    loss = float(np.abs(compas_mapping.achieved.original - compas_mapping.achieved.released).sum())
    expected = robustness(counts, rates, loss, bound=0.1, pairwise=True, confidence=0.9, margin=0.0)
    assert theory.robustness(confidence=0.9, margin=0.0).sentences() == expected.sentences()


def test_the_papers_statement_is_vacuous_on_its_own_table(compas_mapping):
    statement = compas_mapping.theory.robustness()
    assert statement.ratio_vacuous
    assert statement.radius == pytest.approx(0.127, abs=5e-4)


def test_a_target_is_held_against_itself(adult, adult_mapping):
    theory = adult_mapping.theory
    assert theory.bound == 0.15
    assert theory.target == pytest.approx(adult.counts.outcome)
    found = theory.holdout(adult.frame[:2000])
    assert found.sentences() == holdout(
        adult.counts, adult_mapping.kernel, adult.frame[:2000], bound=0.15, target=adult.counts.outcome
    ).sentences()  # fmt: skip


def test_a_rate_of_zero_leaves_no_bound():
    """It must not be told that the bound of the others holds in expectation."""
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    theory = eh.fit(small_problem(parity=[eh.PairwiseParity(0.5, eh.Difference())]), frame).theory
    assert theory.bound == math.inf
    words = " ".join(theory.sentences())
    assert "because a group has an outcome of rate zero" in words
    assert "exceed the bound" not in words


@pytest.mark.slow
def test_everything_is_said_in_words(compas_mapping):
    words = list(compas_mapping.theory.sentences())
    text = " ".join(words)
    assert len(words) > 8
    for said in ("advantage", "At apply time", "the paper's constants", "independent draws", "hold-out"):
        assert said in text
    assert not [line for line in words if not line.endswith(".")]
