"""Levels of scores, and what is released of them: as many as the mapping says, in the order of the scores."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.use.released_scores import GroupRelease, ScoreScale, all_released

pytestmark = pytest.mark.turns(4)


def no_ties(rows):
    """Whoever is alone with a score and torn between two levels gets the lower one."""
    return np.zeros(len(rows))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 40), st.booleans())
def test_every_level_has_somebody_and_scores_stay_in_order(seed, number, rounded):
    rng = np.random.default_rng(seed)
    score = rng.random(int(rng.integers(5, 300)))
    score = np.round(score, 1) if rounded else score
    score[:2] = 0.05, 0.95
    threshold = float(rng.choice([0.2, 0.5, 0.731]))
    for at in (None, threshold):
        scale = ScoreScale.of(score, np.ones(len(score)), number, at)
        level = scale.level(score)
        assert set(level) == set(range(len(scale)))
        assert np.all(np.diff(scale.value) > 0)
        assert len(scale) <= number + 1
        if at is not None:
            # Whoever is at the threshold or above is in a level that is released as no less than it.
            assert np.array_equal(score >= at, scale.value[level] >= at)


def test_levels_are_of_equal_weight():
    score, weight = np.arange(1000) / 1000, np.ones(1000)
    weight[:500] = 3
    scale = ScoreScale.of(score, weight, 10)
    shares = np.bincount(scale.level(score), weight) / weight.sum()
    assert shares == pytest.approx(np.full(10, 0.1), abs=0.003)


@pytest.mark.parametrize(("threshold", "words"), [(0.99, "selects nobody"), (0.0, "selects everybody")])
def test_a_threshold_that_selects_nobody_or_everybody_is_refused(threshold, words):
    with pytest.raises(eh.DataError, match=words):
        ScoreScale.of(np.array([0.2, 0.5, 0.7]), np.ones(3), 2, threshold)


def test_one_score_for_everybody_is_refused():
    with pytest.raises(eh.DataError, match=r"same score, 0\.4"):
        ScoreScale.of(np.full(9, 0.4), np.ones(9), 5)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10_000))
def test_as_many_are_released_as_a_level_as_the_rows_say(seed):
    """Of every level, in its order, within one person of the probabilities."""
    rng = np.random.default_rng(seed)
    score = rng.random(400)
    scale = ScoreScale.of(score, np.ones(400), 8)
    own = score[rng.random(400) < 0.6]
    rows = rng.dirichlet(np.full(len(scale), 0.3), size=len(scale))
    release = GroupRelease.of(scale, own, np.ones(len(own)), rows)
    found, level = release.released(scale, own, no_ties), scale.level(own)
    for at in range(len(scale)):
        here = level == at
        counted = np.bincount(found[here], minlength=len(scale))
        reached = np.cumsum(counted) - np.cumsum(rows[at]) * here.sum()
        assert np.abs(reached).max() <= 1 + 1e-9
        assert np.all(np.diff(found[here][np.argsort(own[here])]) >= 0)


def test_people_of_one_score_are_told_apart_by_what_they_hold():
    score = np.array([0.1] * 40 + [0.9] * 40)
    scale = ScoreScale.of(score, np.ones(80), 2)
    rows = np.array([[0.25, 0.75], [0.0, 1.0]])
    release = GroupRelease.of(scale, score, np.ones(80), rows)
    place = np.arange(80) % 40 / 40
    asked = []

    def ties(at):
        asked.extend(at.tolist())
        return place[at]

    found = release.released(scale, score, ties)
    assert asked == list(range(40))
    assert found[:40].sum() == 30
    assert np.array_equal(found[:40] == 0, place[:40] < 0.25)
    assert found[40:].min() == 1


def test_what_tells_the_fitted_people_apart_is_held_against_theirs():
    """Whatever values tell them apart, of the fitted people as many come before as the mapping says."""
    rng = np.random.default_rng(0)
    score, place = np.array([0.1] * 40 + [0.9] * 40), rng.beta(0.3, 2, 80)
    scale = ScoreScale.of(score, np.ones(80), 2)
    rows = np.array([[0.25, 0.75], [0.0, 1.0]])
    release = GroupRelease.of(scale, score, np.ones(80), rows, lambda at: place[at])
    found = release.released(scale, score, lambda at: place[at])
    assert np.bincount(found[:40]).tolist() == [10, 30]
    assert place[:40][found[:40] == 0].max() < place[:40][found[:40] == 1].min()
    assert release.released(scale, np.array([0.1, 0.1]), lambda at: np.array([0.0, 1.0])).tolist() == [0, 1]


def test_a_draw_gives_every_level_its_share():
    score = np.array([0.1] * 40 + [0.9] * 40)
    scale = ScoreScale.of(score, np.ones(80), 2)
    release = GroupRelease.of(scale, score, np.ones(80), np.array([[0.25, 0.75], [0.0, 1.0]]))
    for seed in range(20):
        drawn = np.random.default_rng(seed).random(80)
        assert abs(np.sum(release.released(scale, score, lambda at, drawn=drawn: drawn[at])[:40] == 0) - 10) <= 1


def test_a_level_without_anybody_keeps_the_order():
    score = np.linspace(0, 1, 100)
    scale = ScoreScale.of(score, np.ones(100), 4)
    own = score[np.isin(scale.level(score), (0, 3))]
    rows = np.array([[0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 1]], dtype=float)
    release = GroupRelease.of(scale, own, np.ones(len(own)), rows)
    assert release.released(scale, np.array([0.1, 0.4, 0.6, 0.9]), no_ties).tolist() == [2, 2, 2, 3]


def test_new_scores_beyond_those_fitted_stay_in_their_level():
    score = np.linspace(0, 1, 101)
    scale = ScoreScale.of(score, np.ones(101), 2)
    rows = np.array([[0.5, 0.5], [0.0, 1.0]])
    release = GroupRelease.of(scale, np.array([0.2, 0.3, 0.8]), np.ones(3), rows)
    assert release.released(scale, np.array([0.0, 0.2, 0.25, 0.3, 0.49]), no_ties).tolist() == [0, 0, 1, 1, 1]


def test_each_group_has_its_own():
    score = np.linspace(0, 1, 40)
    scale = ScoreScale.of(score, np.ones(40), 2)
    stays = GroupRelease.of(scale, score, np.ones(40), np.eye(2))
    falls = GroupRelease.of(scale, score, np.ones(40), np.array([[1.0, 0.0], [1.0, 0.0]]))
    group = np.arange(40) % 2
    found = all_released([stays, falls], scale, score, group, no_ties)
    assert np.array_equal(found, np.where(group == 0, scale.level(score), 0))
