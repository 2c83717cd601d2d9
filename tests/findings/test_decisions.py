"""Selection rates at the worst threshold, against every threshold tried by hand, and against SciPy."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from evenhand.findings.decisions import gap_floor, quantile_barycentre, worst_gap


def drawn(seed, groups=3, number=200, levels=None):
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, number)
    score = rng.beta(2, 4, number) ** (1 + 0.3 * group)
    return (score if levels is None else np.round(score * levels) / levels), group


@pytest.mark.parametrize("levels", [None, 5])
@pytest.mark.parametrize("seed", range(5))
def test_the_worst_of_all_thresholds_tried_by_hand(seed, levels):
    score, group = drawn(seed, levels=levels)
    gaps = [np.ptp([np.mean(score[group == g] >= at) for g in range(3)]) for at in np.unique(score)]
    assert worst_gap(score, group) == pytest.approx(max(gaps))


@pytest.mark.parametrize("seed", range(5))
def test_between_two_groups_it_is_the_distance_of_kolmogorov_and_smirnov(seed):
    score, group = drawn(seed, groups=2)
    assert worst_gap(score, group) == pytest.approx(ks_2samp(score[group == 0], score[group == 1]).statistic)


@pytest.mark.parametrize("number", [100, 1000])
def test_the_floor_is_what_tables_without_a_gap_have(number):
    rng = np.random.default_rng(0)
    group = (np.arange(number) < number // 3).astype(int)
    score = rng.random(number)
    fresh = [worst_gap(rng.random(number), group) for _ in range(400)]
    assert gap_floor(score, group) == pytest.approx(np.mean(fresh), rel=0.1)
    assert gap_floor(np.full(number, 0.5), group) == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_barycentre_tells_groups_apart_at_no_threshold_and_keeps_ranks(seed):
    score, group = drawn(seed, number=3000)
    found = quantile_barycentre(score, group)
    assert worst_gap(found, group) < 0.01 < 0.2 < worst_gap(score, group)
    for each in range(3):
        mine = group == each
        assert np.array_equal(np.argsort(found[mine], kind="stable"), np.argsort(score[mine], kind="stable"))
    # The nearest in the mean square: no common shift of everybody's scores is nearer to the scores they had.
    assert np.mean(found - score) == pytest.approx(0, abs=1e-3)


def test_equal_scores_stay_equal():
    score, group = drawn(0, levels=4)
    found = quantile_barycentre(score, group)
    for each in range(3):
        for level in np.unique(score):
            assert len(np.unique(found[(group == each) & (score == level)])) <= 1


def test_one_group_is_left_as_it_is():
    score = np.random.default_rng(0).random(50)
    assert quantile_barycentre(score, np.zeros(50, dtype=int)) == pytest.approx(score)
    assert worst_gap(score, np.zeros(50, dtype=int)) == 0
