"""Draws: by position, by key, balanced."""

import hashlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenhand.kernel.balance import ranked
from evenhand.kernel.draws import (
    DRAW_BITS,
    Spaced,
    common_words,
    keyed_draw,
    keyed_draws,
    seeded_draws,
    thresholds,
)

TOP = 2**DRAW_BITS


def balanced_draws(rows, draws, seed, mode):
    """Draw the rows of each source together, in the order of draws of their own."""
    rank, people = ranked(rows, draws, int(rows.max()) + 1)
    return Spaced.of(people, seed, mode).draws(rows, rank)


def test_a_keyed_draw_is_the_first_52_bits_of_md5():
    text = "apply:7:Zoë, 'x'"
    expected = int.from_bytes(hashlib.md5(text.encode()).digest()[:7]) >> 4
    assert keyed_draws(["Zoë, 'x'"], 7, "apply").tolist() == [expected]
    assert keyed_draw("Zoë, 'x'", 7, "apply") == expected
    assert expected < TOP


def test_keys_seeds_modes_and_purposes_are_told_apart():
    found = {
        int(keyed_draws([key], seed, mode, purpose=purpose)[0])
        for key in ("1", "2")
        for seed in (0, 1)
        for mode in ("release", "apply")
        for purpose in ("", "age", "hours")
    }
    assert len(found) == 24


@pytest.mark.slow
@given(keys=st.lists(st.text(st.characters(codec="utf-8")), max_size=5), seed=st.integers(0, 2**200))
def test_one_key_has_the_draw_that_it_has_among_many(keys, seed):
    many = keyed_draws(keys, seed, "apply", purpose="age").tolist()
    assert [keyed_draw(key, seed, "apply", purpose="age") for key in keys] == many


def test_draws_by_position_come_in_pieces():
    whole = seeded_draws(5, 1000, "apply", purpose="age")
    pieces = [seeded_draws(5, size, "apply", purpose="age", first=at) for at, size in ((0, 1), (1, 600), (601, 399))]
    assert np.array_equal(whole, np.concatenate(pieces))
    assert not np.array_equal(whole, seeded_draws(5, 1000, "apply"))


def test_the_same_seed_draws_the_same_for_ever():
    """What somebody released with a seed and wrote down can be released again by every later version."""
    assert seeded_draws(7, 2, "release").tolist() == [2258765791987318, 2705879483648316]
    assert seeded_draws(7, 2, "apply", purpose="age").tolist() == [1021273892941967, 3655444491703123]
    assert common_words(7, "release").random_raw(2).tolist() == [4969084561088796225, 9235666378710188577]


@given(sizes=st.lists(st.integers(1, 60), min_size=1, max_size=5), share=st.floats(0, 1), seed=st.integers(0, 10**6))
def test_balanced_counts_are_within_one_of_their_expectation(sizes, share, seed):
    rows = np.random.default_rng(seed).permutation(np.repeat(np.arange(len(sizes)) * 3, sizes))
    draws = balanced_draws(rows, seeded_draws(seed, len(rows), "release"), seed, "release")
    assert draws.min() >= 0
    assert draws.max() < TOP
    for source, size in enumerate(sizes):
        number = (draws[rows == 3 * source] < share * TOP).sum()
        assert abs(number - share * size) < 1 + 1e-9


@pytest.mark.slow
def test_balanced_probabilities_are_exact_for_everybody():
    """Over many seeds and sources each of the five rows of a source is below 0.37 equally often."""
    seeds, sources, share = 100, 40, 0.37
    rows = np.repeat(np.arange(sources), 5)
    draws = [balanced_draws(rows, seeded_draws(s, len(rows), "release"), s, "release") for s in range(seeds)]
    below = (np.array(draws) < share * TOP).reshape(-1, 5)
    error = np.sqrt(share * (1 - share) / len(below))
    assert np.all(np.abs(below.mean(axis=0) - share) < 4 * error)
    assert set(below.sum(axis=1)) == {1, 2}


@pytest.mark.slow
def test_balanced_draws_of_a_large_source_do_not_overflow():
    n = 300_000
    draws = balanced_draws(np.zeros(n, dtype=np.int32), np.arange(n), 0, "apply")
    assert np.all(np.diff(draws) > 0)
    assert draws[-1] < TOP
    assert draws[0] >= 0


def test_keyed_and_balanced_does_not_depend_on_the_order_of_rows():
    keys = [f"p{i}" for i in range(500)]
    rows = np.arange(500) % 7
    found = balanced_draws(rows, keyed_draws(keys, 0, "apply"), 0, "apply")
    order = np.random.default_rng(0).permutation(500)
    again = balanced_draws(rows[order], keyed_draws([keys[i] for i in order], 0, "apply"), 0, "apply")
    assert np.array_equal(again, found[order])


@given(st.lists(st.floats(1e-12, 1), min_size=1, max_size=9))
def test_thresholds_end_at_the_top(weights):
    share = np.array(weights) / np.sum(weights)
    ends = thresholds(share, np.array([0, len(share)]), np.zeros(len(share), dtype=np.int64))
    assert ends[-1] == TOP
    assert np.all(np.diff(ends) >= 0)


@pytest.mark.parametrize("mode", ["release", "apply"])
def test_keyed_draws_are_uniform(mode):
    draws = np.sort(keyed_draws(map(str, range(20_000)), 3, mode)) / TOP
    assert np.abs(draws - (np.arange(20_000) + 0.5) / 20_000).max() < 0.015
