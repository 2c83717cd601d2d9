"""Places of people in their strata: every order, as likely as any other, and the same however rows are cut."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.kernel.shuffle import FEW, Shuffle, Turns


def shuffled(people, seed=0, cuts=(), stratum=None):
    """The places of the people of strata, who come in the order of strata or in one of their own."""
    people = np.array(people)
    stratum = np.repeat(np.arange(len(people)), people) if stratum is None else stratum
    shuffle, turns = Shuffle.of(people, np.arange(len(people)), seed, "release"), Turns()
    pieces = zip([0, *cuts], [*cuts, len(stratum)], strict=True)
    return np.concatenate([shuffle.places(stratum[a:b], turns.next(stratum[a:b])) for a, b in pieces])


@given(people=st.lists(st.integers(0, 300), min_size=1, max_size=6), seed=st.integers(0, 2**130))
def test_everybody_has_a_place_of_their_own(people, seed):
    found = np.split(shuffled(people, seed), np.cumsum(people)[:-1])
    assert [sorted(places) for places in found] == [list(range(number)) for number in people]


@pytest.mark.parametrize("size", [1, 7, 10_000])
def test_pieces_make_no_difference(size):
    people = [5, 0, 700, FEW, FEW + 1, 3000]
    stratum = np.random.default_rng(0).permutation(np.repeat(np.arange(6), people))
    whole = shuffled(people, stratum=stratum)
    cuts = range(size, len(stratum), size)
    assert np.array_equal(shuffled(people, stratum=stratum, cuts=cuts), whole)
    assert whole[stratum == 5].tolist() != list(range(3000))


def test_seeds_and_strata_are_shuffled_differently():
    found = [tuple(shuffled([100, 100], seed)[half]) for seed in (0, 1) for half in (slice(100), slice(100, None))]
    assert len(set(found)) == 4


def test_strata_without_people_change_nothing():
    assert np.array_equal(shuffled([0, 40, 0, 90]), shuffled([40, 90]))


@pytest.mark.parametrize("people", [2, 3, 5, FEW, FEW + 1, 90])
def test_every_place_is_as_likely_as_any_other(people):
    """Within sampling variation, for each person and for each pair of people."""
    strata = 3000
    found = shuffled([people] * strata).reshape(strata, people)
    for who in range(people):
        excess = np.bincount(found[:, who], minlength=people) - strata / people
        assert (excess**2).sum() / (strata / people) < people + 6 * np.sqrt(2 * people)
    pairs, apart = 0.0, people - 1
    chosen = list(combinations(range(people), 2))[:: max(people * people // 400, 1)]
    for one, other in chosen:
        excess = np.bincount((found[:, one] - found[:, other]) % people, minlength=people)[1:] - strata / apart
        pairs += (excess**2).sum() / (strata / apart) - (apart - 1)
    assert abs(pairs) < 5 * np.sqrt(2 * len(chosen) * max(apart - 1, 1))


@pytest.mark.slow
def test_a_large_stratum():
    people = 1_000_000
    found = shuffled([people])
    assert np.array_equal(np.sort(found), np.arange(people))
    for shift in (1, 2, 1000):
        assert abs(np.corrcoef(found[shift:], found[:-shift])[0, 1]) < 5 / np.sqrt(people)
    assert abs(np.corrcoef(found, np.arange(people))[0, 1]) < 5 / np.sqrt(people)


def test_the_same_seed_gives_the_same_places_for_ever():
    assert shuffled([6, 70], seed=7)[:12].tolist() == [1, 2, 3, 5, 0, 4, 64, 45, 63, 9, 48, 62]
