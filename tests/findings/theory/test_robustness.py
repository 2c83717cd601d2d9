"""Section 3.5: the radius, the lemma, and what it would take."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import evenhand as eh
from evenhand.findings.theory.robustness import (
    CONSTANTS,
    divergence,
    largest,
    log_errors,
    log_types,
    radius,
    robustness,
    smallest,
)

NO_SEARCH = {"margin": 0.0, "loss_margin": 0.0}
"""Without a margin nobody looks for how many people or cells it would take."""


def loss_of(mapping):
    return abs(mapping.achieved.original - mapping.achieved.released).sum()


@pytest.fixture(scope="module")
def state(compas, compas_mapping):
    """Robustness of the COMPAS mapping, by keyword."""

    def made(**settings):
        settings = {"bound": 0.1, "pairwise": False} | settings
        return robustness(compas.counts, compas_mapping.achieved.rates_after, loss_of(compas_mapping), **settings)

    return made


@pytest.mark.parametrize(("n", "m"), [(1, 2), (10, 4), (200, 30), (5278, 144), (50, 400)])
def test_types_are_counted_exactly(n, m):
    assert log_types(n, m) == pytest.approx(math.log(math.comb(n + m - 1, m - 1)), rel=1e-12)


def test_the_radius_of_compas():
    n, m, beta = 5278, 144, 0.05
    paper = math.log(1 / beta) / n + m * math.log(math.e * (n + m) / m) / n
    assert radius(n, m, constants="paper") == pytest.approx(paper)
    assert radius(n, m, constants="paper") == pytest.approx(0.127, abs=5e-4)
    tight = (math.log(1 / beta) + math.log(math.comb(n + m - 1, m - 1))) / n
    assert radius(n, m, constants="tight") == pytest.approx(tight)
    sharp = radius(n, m, constants="sharp")
    assert math.exp(-n * sharp) * (math.e * n * sharp / (m - 1)) ** (m - 1) == pytest.approx(beta)
    assert sharp < tight < paper


@settings(max_examples=60)
@given(st.integers(1, 10**6), st.integers(2, 10**4), st.sampled_from(CONSTANTS), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_radius_falls_with_people_and_grows_with_cells(n, m, constants, confidence):
    here = radius(n, m, confidence=confidence, constants=constants)
    assert radius(n + 1, m, confidence=confidence, constants=constants) <= here * (1 + 1e-9)
    assert radius(n, m + 1, confidence=confidence, constants=constants) >= here * (1 - 1e-9)
    assert radius(n, m, confidence=0.9995, constants=constants) > here


@pytest.mark.parametrize("constants", CONSTANTS)
@pytest.mark.parametrize(("n", "q"), [(1, 0.3), (7, 0.01), (40, 0.5), (300, 0.2), (1000, 0.003)])
def test_the_radius_covers_a_coin(constants, n, q):
    """Over two cells the probability of KL > τ can be added up exactly."""
    k = np.arange(n + 1)
    p = k / n
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(p > 0, p * np.log(p / q), 0) + np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0)
    beyond = binom.pmf(k, n, q)[kl > radius(n, 2, constants=constants) * (1 + 1e-12)].sum()
    assert beyond <= 0.05


def test_the_radius_covers_many_cells():
    """Simulated: at 20 cells and 200 people no more than 5 % of tables lie beyond even the sharpest radius."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(20))
    p = rng.multinomial(200, truth, size=4000) / 200
    kl = np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / truth), 0).sum(axis=1)
    assert np.mean(kl > radius(200, 20, constants="sharp")) <= 0.05


@settings(max_examples=25)
@given(st.lists(st.floats(0.01, 0.99), min_size=8, max_size=8))
def test_the_lemma(rates):
    """With τ within the condition the exact errors lie within the lemma's; the upper side needs no condition."""
    p, part = np.array(rates)[:, None], np.geomspace(1e-6, 1, 60)
    tau = part * p * (1 - p) / (3 * (1 + p) ** 2)
    above, below = log_errors(p, tau)
    assert np.all(below <= np.sqrt(3 * (1 - p) * tau / p) + 1e-9)
    assert np.all(above <= np.sqrt(2 * (1 - p) * tau / p) + 1e-9)
    far, _ = log_errors(p, 5 * part)
    assert np.all(far <= np.sqrt(2 * (1 - p) * 5 * part / p) + 1e-9)


def test_the_lemma_needs_its_condition_below():
    p, tau = 0.2, 1.0
    _, below = log_errors(np.array([p]), np.array([tau]))
    assert below[0] > math.sqrt(3 * (1 - p) * tau / p)


@pytest.mark.parametrize("p", [1e-4, 0.2, 0.7, 0.999])
@pytest.mark.parametrize("tau", [1e-8, 1e-3, 0.4, 3.0])
def test_errors_reach_the_divergence(p, tau):
    above, below = log_errors(np.array([p]), np.array([tau]))
    assert divergence(np.array([p]), below)[0] == pytest.approx(tau, rel=1e-6)
    high = -math.log(p)
    assert above[0] <= high
    if above[0] < high * (1 - 1e-9):
        assert divergence(np.array([p]), -above)[0] == pytest.approx(tau, rel=1e-5)


def test_compas_proves_nothing_with_the_papers_constants(state):
    found = state()
    paper, tight, sharp = found.statements
    assert (found.people, found.cells) == (5278, 144)
    assert paper.radius == pytest.approx(0.127, abs=5e-4)
    assert paper.required == pytest.approx(0.003, abs=5e-4)
    assert paper.ratio_vacuous
    assert tight.ratio_vacuous
    assert not sharp.ratio_vacuous
    assert paper.loss_vacuous
    assert not tight.loss_vacuous
    assert paper.loss_bound - tight.loss_bound > 1
    assert "is_recid=1 in the group sex=Female, race=Caucasian" in found.smallest_pair
    assert sum("nothing is proved about ratios" in words for words in found.words) == 2
    assert not any("fair" in words.lower() for words in found.words)


def test_required_and_smallest_by_hand(state, compas, compas_mapping):
    rates = compas_mapping.achieved.rates_after
    joint = rates * compas.counts.groups.probability[:, None]
    found = state()
    assert found.smallest == pytest.approx(joint.min())
    assert found.statement("paper").required == pytest.approx((joint * (1 - rates) / (3 * (1 + rates) ** 2)).min())


def test_the_statement_by_hand(state, compas_mapping):
    n = 10**8
    found = state(people=n)
    for constants, factor in (("paper", 4), ("tight", 2)):
        s = found.statement(constants)
        tau = radius(n, 144, constants=constants)
        h = math.sqrt(3 * tau / found.smallest)
        assert (s.ratio_low, s.ratio_high) == pytest.approx((0.9 * math.exp(-h), 1.1 * math.exp(h)))
        assert s.fresh_bound == pytest.approx(1.1 * math.exp(h) - 1)
        assert s.loss_bound == pytest.approx(loss_of(compas_mapping) + factor * math.sqrt(2 * tau))
        assert not s.ratio_vacuous
    paper, tight, sharp = found.statements
    assert paper.fresh_bound > tight.fresh_bound > sharp.fresh_bound > 0.1


@pytest.mark.slow
def test_pairs_widen_by_the_root_of_two(state):
    n = 10**8
    one, two = state(people=n, **NO_SEARCH), state(people=n, pairwise=True, **NO_SEARCH)
    for constants in ("paper", "tight"):
        h = math.log(one.statement(constants).ratio_high / 1.1)
        assert math.log(two.statement(constants).ratio_high / 1.1) == pytest.approx(math.sqrt(2) * h)
    sharp = two.statement("sharp")
    assert sharp.fresh_bound < two.statement("tight").fresh_bound
    assert sharp.ratio_low * sharp.ratio_high == pytest.approx(1)


@pytest.mark.parametrize("pairwise", [False, True])
def test_sharp_covers_every_truth_within_the_radius(compas, compas_mapping, pairwise):
    """Random truths q at divergence τ from the table never leave the interval."""
    rng = np.random.default_rng(1)
    rates, sizes = compas_mapping.achieved.rates_after, compas.counts.groups.probability
    p = rates * sizes[:, None]
    n = 50_000
    s = robustness(compas.counts, rates, 0.2, bound=0.0, pairwise=pairwise, people=n, **NO_SEARCH).statement("sharp")
    for _ in range(300):
        tilt = rng.normal(size=p.shape) * rng.choice([0, 1], size=p.shape) * 3
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            q = p * np.exp(middle * tilt)
            q /= q.sum()
            low, high = (middle, high) if (p * np.log(p / q)).sum() < s.radius else (low, middle)
        q = p * np.exp(low * tilt)
        fresh = q / q.sum(axis=1, keepdims=True)
        error = fresh / rates
        ratios = error[:, None] / error[None] if pairwise else error
        assert ratios.max() <= s.ratio_high
        assert ratios.min() >= s.ratio_low


@pytest.mark.slow
def test_no_split_of_the_radius_between_two_groups_is_worse(compas, compas_mapping):
    rates, sizes = compas_mapping.achieved.rates_after, compas.counts.groups.probability
    s = robustness(compas.counts, rates, 0.2, bound=0.0, pairwise=True, people=50_000, **NO_SEARCH).statement("sharp")
    parts = np.linspace(0, s.radius, 4001)[:, None, None]
    above, below = log_errors(rates, parts / sizes[:, None])
    worst = max(
        (above[:, one] + below[::-1, other]).max() for one, other in itertools.permutations(range(len(sizes)), 2)
    )
    assert worst <= math.log(s.ratio_high) <= 1.02 * worst


@pytest.mark.slow
@pytest.mark.parametrize("pairwise", [False, True])
def test_the_people_needed_are_the_fewest(state, pairwise):
    for s in state(pairwise=pairwise, margin=0.2).statements:
        enough, short = (
            state(pairwise=pairwise, people=n, **NO_SEARCH).statement(s.constants)
            for n in (s.people_for_ratio, s.people_for_ratio - 1)
        )
        assert enough.fresh_bound - 0.1 <= 0.2
        assert short.ratio_vacuous or short.fresh_bound - 0.1 > 0.2


def test_the_people_needed_for_the_loss_are_the_fewest(state):
    for s in state(loss_margin=0.3).statements:
        factor = 4 if s.constants == "paper" else 2
        enough, short = (radius(n, 144, constants=s.constants) for n in (s.people_for_loss, s.people_for_loss - 1))
        assert factor * math.sqrt(2 * enough) <= 0.3 < factor * math.sqrt(2 * short)


def test_the_domain_needed_is_the_largest(state):
    found = state(people=10**6, margin=0.2, loss_margin=0.3)
    for s in found.statements:
        for cells in (s.cells_for_ratio, s.cells_for_loss):
            assert cells is None or cells >= 8
        if s.cells_for_loss is not None:
            widening = 4 if s.constants == "paper" else 2
            tau, more = (radius(10**6, m, constants=s.constants) for m in (s.cells_for_loss, s.cells_for_loss + 1))
            assert widening * math.sqrt(2 * tau) <= 0.3 < widening * math.sqrt(2 * more)
    assert found.statement("sharp").cells_for_ratio is not None


def test_what_cannot_be_reached_is_none(state):
    assert state().statement("tight").cells_for_ratio is None
    nothing = state(margin=0.0, loss_margin=0.0)
    assert nothing.statement("sharp").people_for_ratio is None
    assert nothing.statement("sharp").people_for_loss is None
    assert any("is out of reach of any number of people" in words for words in nothing.words)


def test_a_rate_of_zero_spoils_every_ratio(compas, compas_mapping):
    rates = compas_mapping.achieved.rates_after.copy()
    rates[0] = [1.0, 0.0]
    found = robustness(compas.counts, rates, 0.2, bound=0.1, pairwise=False)
    assert all(s.ratio_vacuous and s.people_for_ratio is None for s in found.statements)
    assert "sex=Female, race=African-American" in found.smallest_pair
    assert any("rate zero" in words for words in found.words)


@pytest.mark.slow
def test_weights_are_said(compas):
    cells = compas.cells
    counts = eh.count(compas.problem, cells, weights="people")
    found = robustness(counts, counts.outcome_by_group, 0.0, bound=0.7, pairwise=True, **NO_SEARCH)
    assert found.people == len(cells)
    assert "the number to assume is 5278" in found.words[-1]
    told = robustness(counts, counts.outcome_by_group, 0.0, bound=0.7, pairwise=True, people=5278, **NO_SEARCH)
    assert told.people == 5278
    assert "the number to assume is 5278" not in told.words[-1]


def test_the_plan_reaches_the_domain_needed(state):
    wide = state(people=60_000, margin=0.25)
    needed = max(s.cells_for_ratio or 0 for s in wide.statements)
    assert 8 <= needed < 144, "the example must need merging"
    assert wide.plan
    assert wide.plan[-1].cells_after <= needed
    sizes = [144, *(merge.cells_after for merge in wide.plan)]
    assert all(after < before for before, after in itertools.pairwise(sizes))
    assert len(wide.plan_frame) == len(wide.plan)
    assert len(wide.merges_frame) == len(wide.merges) == 5


def test_searches():
    assert smallest(lambda n: n >= 1) == 1
    assert smallest(lambda n: n >= 12345) == 12345
    assert smallest(lambda n: False) is None
    assert largest(lambda n: n <= 77, 8) == 77
    assert largest(lambda n: n <= 7, 8) is None


def test_refusals(state):
    with pytest.raises(eh.SpecError, match="confidence"):
        state(confidence=1.0)
    with pytest.raises(eh.SpecError, match="constants"):
        state().statement("papper")
    with pytest.raises(eh.SpecError, match="whole"):
        state(people=10.5)
    with pytest.raises(eh.DataError, match="groups"):
        robustness(eh.datasets.load("compas").counts, np.ones((2, 2)) / 2, 0.0, bound=0.1, pairwise=False)
