"""Section 3.5: the radius, the lemma, and what it would take."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

import evenhand as eh
from evenhand.findings.theory import l1_distance
from evenhand.findings.theory.robustness import largest, radius, robustness, smallest


def divergence(p, u):
    """The binary divergence KL(p‖q) at q = p e^−u."""
    return p * u - (1 - p) * np.log((1 - p * np.exp(-u)) / (1 - p))


def log_errors(p, bound):
    """How far log q may lie above and below log p while KL(p‖q) ≤ the bound, by bisection."""
    p, bound = np.broadcast_arrays(p, bound)
    found = []
    for sign, far in ((-1, -np.log(p)), (1, (bound - (1 - p) * np.log1p(-p)) / p)):
        low, high = np.zeros(p.shape), far
        for _ in range(100):
            middle = (low + high) / 2
            with np.errstate(divide="ignore"):
                over = divergence(p, sign * middle) > bound
            low, high = np.where(over, low, middle), np.where(over, middle, high)
        found.append(low)
    return found


def loss_of(mapping):
    return abs(mapping.achieved.original - mapping.achieved.released).sum()


@pytest.fixture(scope="module")
def state(compas, compas_mapping):
    """Robustness of the COMPAS mapping, by keyword."""

    def made(**settings):
        settings = {"bound": 0.1, "pairwise": False} | settings
        return robustness(compas.counts, compas_mapping.achieved.rates_after, loss_of(compas_mapping), **settings)

    return made


def test_the_radius_of_compas():
    n, m, beta = 5278, 144, 0.05
    assert radius(n, m) == pytest.approx(math.log(1 / beta) / n + m * math.log(math.e * (n + m) / m) / n)
    assert radius(n, m) == pytest.approx(0.127, abs=5e-4)


@pytest.mark.parametrize(("n", "m"), [(1, 2), (10, 4), (200, 30), (5278, 144), (50, 400)])
def test_the_radius_counts_every_type(n, m):
    """The argument needs at least log C(n + m − 1, m − 1) in place of m log(e(n + m)/m)."""
    assert n * radius(n, m) >= math.log(1 / 0.05) + math.log(math.comb(n + m - 1, m - 1))


@settings(max_examples=60)
@given(st.integers(1, 10**6), st.integers(2, 10**4), st.sampled_from([0.8, 0.95, 0.999]))
def test_the_radius_falls_with_people_and_grows_with_cells(n, m, confidence):
    here = radius(n, m, confidence=confidence)
    assert radius(n + 1, m, confidence=confidence) <= here * (1 + 1e-9)
    assert radius(n, m + 1, confidence=confidence) >= here * (1 - 1e-9)
    assert radius(n, m, confidence=0.9995) > here


@pytest.mark.parametrize(("n", "q"), [(1, 0.3), (7, 0.01), (40, 0.5), (300, 0.2), (1000, 0.003)])
def test_the_radius_covers_a_coin(n, q):
    """Over two cells the probability of KL > τ can be added up exactly."""
    k = np.arange(n + 1)
    p = k / n
    with np.errstate(divide="ignore", invalid="ignore"):
        kl = np.where(p > 0, p * np.log(p / q), 0) + np.where(p < 1, (1 - p) * np.log((1 - p) / (1 - q)), 0)
    beyond = binom.pmf(k, n, q)[kl > radius(n, 2) * (1 + 1e-12)].sum()
    assert beyond <= 0.05


def test_the_radius_covers_many_cells():
    """Simulated: at 20 cells and 200 people no more than 5 % of tables lie beyond the radius."""
    rng = np.random.default_rng(0)
    truth = rng.dirichlet(np.ones(20))
    p = rng.multinomial(200, truth, size=4000) / 200
    kl = np.where(p > 0, p * np.log(np.where(p > 0, p, 1) / truth), 0).sum(axis=1)
    assert np.mean(kl > radius(200, 20)) <= 0.05


@pytest.mark.slow
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


def test_compas_proves_nothing_about_ratios(state):
    found = state()
    assert (found.people, found.cells) == (5278, 144)
    assert found.radius == pytest.approx(0.127, abs=5e-4)
    assert found.required == pytest.approx(0.003, abs=5e-4)
    assert found.ratio_vacuous
    assert (found.ratio_low, found.ratio_high, found.ratio_bound) == (None, None, None)
    assert found.loss_bound < 2 < found.loss_bound_as_printed
    assert not found.loss_vacuous
    assert state(people=1000).loss_vacuous
    assert "is_recid=1 in the group sex=Female, race=Caucasian" in found.smallest_pair
    assert sum("Nothing is proved about ratios" in words for words in found.sentences()) == 1
    assert not any("fair" in words.lower() for words in found.sentences())


def test_required_and_smallest_by_hand(state, compas, compas_mapping):
    rates = compas_mapping.achieved.rates_after
    joint = rates * compas.counts.groups.probability[:, None]
    found = state()
    assert found.smallest == pytest.approx(joint.min())
    assert found.required == pytest.approx((joint * (1 - rates) / (3 * (1 + rates) ** 2)).min())


def test_the_statement_by_hand(state, compas_mapping):
    n = 10**8
    found = state(people=n)
    tau = radius(n, 144)
    h = math.sqrt(3 * tau / found.smallest)
    assert (found.ratio_low, found.ratio_high) == pytest.approx((0.9 * math.exp(-h), 1.1 * math.exp(h)))
    assert found.ratio_bound == pytest.approx(1.1 * math.exp(h) - 1)
    assert found.loss_bound == pytest.approx(loss_of(compas_mapping) + 2 * math.sqrt(2 * tau))
    assert found.loss_bound_as_printed == pytest.approx(loss_of(compas_mapping) + 4 * math.sqrt(2 * tau))
    assert not found.ratio_vacuous


def test_pairs_widen_by_the_root_of_two(state):
    one, two = state(people=10**8), state(people=10**8, pairwise=True)
    h = math.log(one.ratio_high / 1.1)
    assert math.log(two.ratio_high / 1.1) == pytest.approx(math.sqrt(2) * h)
    assert two.ratio_low * two.ratio_high == pytest.approx(1)


def truths(p, tau, number):
    """Random truths q at divergence τ from a table p."""
    rng = np.random.default_rng(1)
    for _ in range(number):
        tilt = rng.normal(size=p.shape) * rng.choice([0, 1], size=p.shape) * 3
        low, high = 0.0, 1.0
        for _ in range(50):
            middle = (low + high) / 2
            q = p * np.exp(middle * tilt)
            q /= q.sum()
            low, high = (middle, high) if (p * np.log(p / q)).sum() < tau else (low, middle)
        q = p * np.exp(low * tilt)
        yield q / q.sum()


@pytest.mark.parametrize("pairwise", [False, True])
def test_ratios_of_every_truth_within_the_radius_lie_in_the_interval(compas, compas_mapping, pairwise):
    rates, sizes = compas_mapping.achieved.rates_after, compas.counts.groups.probability
    found = robustness(compas.counts, rates, 0.2, bound=0.0, pairwise=pairwise, people=10**6)
    assert not found.ratio_vacuous
    for q in truths(rates * sizes[:, None], found.radius, 300):
        error = q / q.sum(axis=1, keepdims=True) / rates
        ratios = error[:, None] / error[None] if pairwise else error
        assert ratios.max() <= found.ratio_high
        assert ratios.min() >= found.ratio_low


def test_the_loss_of_every_truth_within_the_radius_is_within_its_bound(compas, compas_mapping):
    loss = loss_of(compas_mapping)
    rates = compas_mapping.achieved.rates_after
    found = robustness(compas.counts, rates, loss, bound=0.1, pairwise=True, people=10**6)
    drawn = truths(compas.counts.probability, found.radius, 100)
    once = np.ones(len(compas.counts), dtype=np.int64)
    tables = (replace(compas.counts, weight=q, cell_people=once, cell_squares=q**2) for q in drawn)
    losses = [l1_distance(table, compas_mapping.kernel) for table in tables]
    assert loss < max(losses) <= found.loss_bound


def test_no_split_of_the_radius_between_two_groups_is_worse(compas, compas_mapping):
    """The proof lets every group err; here exactly, for each part of τ that the first of two groups may have."""
    rates, sizes = compas_mapping.achieved.rates_after, compas.counts.groups.probability
    found = robustness(compas.counts, rates, 0.2, bound=0.0, pairwise=True, people=10**6)
    parts = np.linspace(0, found.radius, 401)[:, None, None]
    above, below = log_errors(rates, parts / sizes[:, None])
    worst = max(
        (above[:, one] + below[::-1, other]).max() for one, other in itertools.permutations(range(len(sizes)), 2)
    )
    assert 0.5 * math.log(found.ratio_high) <= worst <= math.log(found.ratio_high)


@pytest.mark.parametrize("pairwise", [False, True])
def test_the_people_needed_are_the_fewest(state, pairwise):
    needed = state(pairwise=pairwise, margin=0.2).people_for_ratio
    enough, short = (state(pairwise=pairwise, people=n) for n in (needed, needed - 1))
    assert enough.ratio_bound - 0.1 <= 0.2
    assert short.ratio_vacuous or short.ratio_bound - 0.1 > 0.2


def test_the_people_needed_for_the_loss_are_the_fewest(state):
    needed = state(loss_margin=0.3).people_for_loss
    enough, short = (radius(n, 144) for n in (needed, needed - 1))
    assert 2 * math.sqrt(2 * enough) <= 0.3 < 2 * math.sqrt(2 * short)


def test_the_domain_needed_is_the_largest(state):
    found = state(people=10**7, margin=0.2, loss_margin=0.3)
    tau, more = (radius(10**7, m) for m in (found.cells_for_ratio, found.cells_for_ratio + 1))
    within, beyond = (1.1 * math.exp(math.sqrt(3 * t / found.smallest)) - 1.1 for t in (tau, more))
    assert more < found.required
    assert within <= 0.2 < beyond
    tau, more = (radius(10**7, m) for m in (found.cells_for_loss, found.cells_for_loss + 1))
    assert 2 * math.sqrt(2 * tau) <= 0.3 < 2 * math.sqrt(2 * more)


def test_what_cannot_be_reached_is_none(state):
    assert state().cells_for_ratio is None
    nothing = state(margin=0.0, loss_margin=0.0)
    assert nothing.people_for_ratio is None
    assert nothing.people_for_loss is None
    assert any("is out of reach of any number of people" in words for words in nothing.sentences())


def test_a_rate_of_zero_spoils_every_ratio(compas, compas_mapping):
    rates = compas_mapping.achieved.rates_after.copy()
    rates[0] = [1.0, 0.0]
    found = robustness(compas.counts, rates, 0.2, bound=0.1, pairwise=False)
    assert found.ratio_vacuous
    assert found.people_for_ratio is None
    assert "sex=Female, race=African-American" in found.smallest_pair
    assert any("rate zero" in words for words in found.sentences())


def test_weights_are_said(compas):
    cells = compas.cells
    with pytest.warns(eh.EvenhandWarning, match="table of counts"):
        counts = eh.count(replace(compas.problem, weights="people"), cells)
    found = robustness(counts, counts.outcome_by_group, 0.0, bound=0.7, pairwise=True)
    assert found.people == len(cells)
    assert "The weights sum to 5278, and 142 independent people were assumed" in found.sentences()[-1]
    told = robustness(counts, counts.outcome_by_group, 0.0, bound=0.7, pairwise=True, people=5278)
    assert told.people == 5278
    assert "The weights sum to 5278" not in told.sentences()[-1]


def test_searches():
    assert smallest(lambda n: n >= 1) == 1
    assert smallest(lambda n: n >= 12345) == 12345
    assert smallest(lambda n: False) is None
    assert largest(lambda n: n <= 77, 8) == 77
    assert largest(lambda n: n <= 7, 8) is None


def test_refusals(state):
    with pytest.raises(eh.SpecError, match="confidence"):
        state(confidence=1.0)
    with pytest.raises(eh.SpecError, match="whole"):
        state(people=10.5)
    with pytest.raises(eh.DataError, match="groups"):
        robustness(eh.datasets.load("compas").counts, np.ones((2, 2)) / 2, 0.0, bound=0.1, pairwise=False)
