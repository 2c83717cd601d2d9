"""People with values that nobody fitted had: their number against plain deals of the pooled people."""

import numpy as np
import pytest

from evenhand.findings.new_values import new_values


def by_dealing(pooled, batch, rng, deals=3000):
    """How many people have values that only the batch has, in deals of the pooled people."""
    now = rng.multivariate_hypergeometric(pooled, batch, size=deals)
    return (now * (now == pooled)).sum(axis=1), now


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("values", [4, 60, 900])
@pytest.mark.parametrize(("fitted", "batch"), [(2000, 1500), (5000, 300), (200, 900)])
def test_what_sampling_gives_is_what_deals_give(values, fitted, batch):
    """Few values and many rare ones: the mean is that of deals, and no more than the error lie beyond the limit."""
    rng = np.random.default_rng(values + fitted)
    pooled = rng.multinomial(fitted + batch, rng.dirichlet(np.full(values, 0.2)))
    dealt, now = by_dealing(pooled, batch, rng)
    error = 0.05
    told = [new_values((pooled - one).astype(float), one.astype(float), error) for one in now[:5]]
    assert [one.people for one in told] == dealt[:5].tolist()
    assert told[0].expected == pytest.approx(dealt.mean(), abs=5 * dealt.std() / np.sqrt(len(dealt)) + 1e-9)
    assert (dealt > told[0].limit).mean() <= error
    for one in told:
        assert (dealt >= one.people).mean() <= one.chance + 0.03
    # The limit belongs to the pooled people, however they are dealt out.
    assert len({one.limit for one in told}) == 1


def test_the_chance_of_one_value_is_that_of_all_its_people_falling_to_the_batch():
    told = new_values(np.array([3000.0, 2000.0, 0.0]), np.array([800.0, 650.0, 50.0]), 0.001)
    assert told.people == 50
    assert told.chance == pytest.approx(np.prod((1500 - np.arange(50)) / (6500 - np.arange(50))), rel=1e-6)
    assert told.people > told.limit
    alone = new_values(np.array([3000.0, 2000.0, 0.0]), np.array([800.0, 699.0, 1.0]), 0.001)
    assert alone.chance == pytest.approx(1500 / 6500)
    assert alone.people <= alone.limit


def test_as_many_new_values_as_are_alone_in_the_fitted_table_are_no_wonder():
    """The missing mass is about the share of people whose value nobody else has (Good 1953)."""
    singletons = 400
    usual = new_values(
        np.r_[1600.0, np.ones(singletons), np.zeros(200)], np.r_[800.0, np.zeros(singletons), np.ones(200)], 0.01
    )
    assert usual.expected == pytest.approx(200, rel=0.02)
    assert usual.people <= usual.limit
    many = new_values(np.r_[2000.0, np.zeros(200)], np.r_[800.0, np.ones(200)], 0.01)
    assert many.people > many.limit


def test_nothing_is_new():
    told = new_values(np.array([5.0, 1.0]), np.array([5.0, 0.0]), 0.1)
    assert (told.people, told.chance) == (0, 1.0)
