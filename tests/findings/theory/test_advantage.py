"""Section 3.3: the MAP estimator is the best there is, and the proposition holds."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.findings.theory.advantage import advantage, estimator


def random_rates(rng, groups, outcomes):
    return rng.dirichlet(np.full(outcomes, 0.7), size=groups), rng.dirichlet(np.full(groups, 1.5))


@pytest.mark.parametrize("seed", range(12))
def test_no_estimator_is_better(seed):
    rng = np.random.default_rng(seed)
    groups, outcomes = int(rng.integers(2, 5)), int(rng.integers(2, 4))
    rates, sizes = random_rates(rng, groups, outcomes)
    best = estimator(rates, sizes)
    joint = rates * sizes[:, None]
    every = (sum(joint[g, y] for y, g in enumerate(rule)) for rule in itertools.product(range(groups), repeat=outcomes))
    assert best.probability == pytest.approx(max(every))
    assert best.advantage == pytest.approx(best.probability / sizes.max())
    assert best.probability == pytest.approx(np.sum(best.right * best.outcome))
    assert best.advantage >= 1 - 1e-12


tables = st.integers(0, 10**6).map(lambda seed: np.random.default_rng(seed))


@pytest.mark.slow
@settings(max_examples=200)
@given(tables, st.integers(2, 5), st.integers(2, 4))
def test_the_proposition(rng, groups, outcomes):
    """Whatever the target, some ratio is at least Adv − 1 away from one; and equal groups prove the most."""
    rates, sizes = random_rates(rng, groups, outcomes)
    own, equal = estimator(rates, sizes), estimator(rates, np.full(groups, 1 / groups))
    assert own.proved <= equal.proved + 1e-9
    for target in (rng.dirichlet(np.ones(outcomes)), rates.mean(axis=0), sizes @ rates):
        assert np.abs(rates / target - 1).max() >= equal.proved - 1e-9


@settings(max_examples=100)
@given(tables, st.integers(2, 5))
def test_the_contrapositive_for_pairs(rng, groups):
    """Rates within ε of each other give an advantage of at most 1 + ε."""
    rates, sizes = random_rates(rng, groups, 3)
    apart = (rates.max(axis=0) / rates.min(axis=0)).max() - 1
    assert estimator(rates, sizes).advantage <= 1 + apart + 1e-9


def test_equal_rates_give_no_advantage():
    best = estimator(np.array([[0.3, 0.7], [0.3, 0.7]]), np.array([0.6, 0.4]))
    assert best.advantage == pytest.approx(1)
    assert best.proved == pytest.approx(0, abs=1e-12)


def test_an_outcome_that_never_occurs():
    best = estimator(np.array([[1.0, 0.0], [1.0, 0.0]]), np.array([0.6, 0.4]))
    assert np.isnan(best.right[1])
    assert best.probability == pytest.approx(0.6)


def test_rates_must_fit_the_groups():
    with pytest.raises(eh.DataError, match="2 groups"):
        estimator(np.ones((3, 2)) / 2, np.array([0.5, 0.5]))


def test_compas(compas, compas_mapping):
    found = advantage(compas.counts, compas_mapping.achieved.rates_after, bound=0.1)
    # Men who are African-American are half of the table: guessing them is best whatever the outcome.
    assert found.before.advantage == pytest.approx(1)
    assert found.after.advantage == pytest.approx(1)
    rates = compas_mapping.achieved.rates_before
    assert found.before_if_equal.advantage == pytest.approx(rates.max(axis=0).sum())
    assert found.after_if_equal.advantage <= 1.1
    assert len(found.frame) == 4
    assert (found.frame["guess_race"] == "African-American").all()
    text = " ".join(found.sentences())
    assert "proves nothing" in text
    assert "1.1 times" in text
    assert not any(word in text.lower() for word in ("fair", "unbiased"))


def test_words_say_what_is_proved():
    counts = eh.datasets.load("adult").counts
    flat = np.tile(counts.outcome, (len(counts.groups.cells), 1))
    found = advantage(counts, flat)
    assert "no advantage" in found.sentences()[3]
    assert "at least" in found.sentences()[1]
