"""Numbers of moves: they add up, totals are within one of their expectation, and nobody's probability is another."""

import itertools
import time
from fractions import Fraction

import numpy as np
import pytest
from families import random_kernel
from scipy import stats

from evenhand.kernel import Kernel, balance
from evenhand.kernel.balance import ONE, allot
from evenhand.kernel.draws import seeded_draws


def chains(rng, strata):
    """No partition, one, two that are nested, and three; parts are in no order, and numbers come again."""
    finest = rng.integers(0, 24, strata)
    return [[], [finest], [finest % 6, finest], [finest % 2, finest % 6, finest // 6]]


def by(parts, found, difference, outcome):
    """Add differences up by part and outcome."""
    total = np.zeros((parts.max(initial=0) + 1, outcome.max(initial=0) + 1))
    np.add.at(total, (parts[found], outcome), difference)
    return total


def expected(kernel, found, people):
    """Return the stratum of each place, and what is expected there."""
    stratum = np.repeat(np.arange(len(people)), np.diff(found.starts))
    low = np.concatenate([[0], kernel.thresholds[:-1]])
    low[kernel.starts[:-1]] = 0
    return stratum, people[stratum] * ((kernel.thresholds - low)[found.entry] / ONE)


@pytest.mark.parametrize("outcomes", [2, 3, 4, 5])
@pytest.mark.parametrize("seed", range(4))
def test_totals_are_within_one_and_moves_within_two(outcomes, seed):
    rng = np.random.default_rng([outcomes, seed])
    strata = 60
    kernel = random_kernel(rng, 40, outcomes)
    outcome = kernel.targets % outcomes
    people, rows = rng.integers(0, 12, strata), rng.integers(0, 40, strata)
    for levels in chains(rng, strata):
        found = allot(kernel, outcome, people, rows, levels, seed, "release")
        stratum, mean = expected(kernel, found, people)
        assert np.array_equal(rows[stratum], kernel.rows[found.entry])
        assert found.number.min() >= 0
        assert np.array_equal(np.bincount(stratum, found.number, strata), people)
        assert np.abs(found.number - mean).max() < 2
        # Within a stratum, over everybody, and in the parts that the levels up to each make together.
        parts = [np.arange(strata), np.zeros(strata, np.int64)]
        for size in range(1, len(levels) + 1):
            parts.append(np.unique(np.stack(levels[:size]), axis=1, return_inverse=True)[1].ravel())
        for part in parts:
            assert np.abs(by(part, stratum, found.number - mean, outcome[found.entry])).max() < 1


@pytest.mark.parametrize("outcomes", [2, 4])
def test_it_depends_on_the_seed_and_the_strata_alone(outcomes):
    rng = np.random.default_rng(1)
    kernel = random_kernel(rng, 30, outcomes)
    people, rows, part = rng.integers(0, 9, 50), rng.integers(0, 30, 50), rng.integers(0, 3, 50)

    def numbers(seed, mode="release"):
        return allot(kernel, kernel.targets % outcomes, people, rows, [part], seed, mode).number.tolist()

    assert numbers(3) == numbers(3)
    assert numbers(3) != numbers(4)
    assert numbers(3) != numbers(3, "apply")
    assert numbers(2**200) != numbers(3)


def test_blocks_make_no_difference(monkeypatch):
    rng = np.random.default_rng(2)
    kernel = random_kernel(rng, 50, 3)
    people, rows = rng.integers(0, 9, 80), rng.integers(0, 50, 80)
    whole = allot(kernel, kernel.targets % 3, people, rows, [], 0, "release").number
    monkeypatch.setattr(balance, "BLOCK", 7)
    assert np.array_equal(allot(kernel, kernel.targets % 3, people, rows, [], 0, "release").number, whole)


def test_no_strata_and_strata_of_nobody():
    kernel = Kernel(np.array([0, 2]), np.array([0, 1]), np.array([0.3, 0.7]))
    none = np.zeros(0, np.int64)
    found = allot(kernel, kernel.targets, none, none, [none], 0, "release")
    assert found.draws(none, none).tolist() == []
    zero = np.zeros(3, np.int64)
    found = allot(kernel, kernel.targets, np.array([0, 4, 0]), zero, [zero], 0, "release")
    assert found.number[[0, 1, 4, 5]].tolist() == [0, 0, 0, 0]
    assert found.number.sum() == 4


def test_whole_numbers_stay():
    """Half of four people is two of them, whatever the seed; and who has one move makes it."""
    kernel = Kernel(np.array([0, 2, 3]), np.array([0, 1, 2]), np.array([0.5, 0.5, 1.0]))
    for seed in range(20):
        found = allot(kernel, kernel.targets, np.array([4, 7]), np.arange(2), [], seed, "release")
        assert found.number.tolist() == [2, 2, 7]


def test_products_are_exact():
    rng = np.random.default_rng(0)
    people = np.concatenate([rng.integers(0, balance.LARGEST_STRATUM, 500), [0, 1, balance.LARGEST_STRATUM - 1] * 2])
    mass = np.concatenate([rng.integers(0, ONE + 1, 503), [0, ONE - 1, ONE]])
    whole, rest = balance._product(people, mass)
    for at in range(len(people)):
        assert divmod(int(people[at]) * int(mass[at]), ONE) == (whole[at], rest[at])


def test_numbers_that_are_too_large_are_refused():
    kernel = Kernel(np.array([0, 1]), np.array([0]), np.array([1.0]))
    with pytest.raises(OverflowError, match="larger than numbers are exact"):
        allot(kernel, kernel.targets, np.array([2**36]), np.array([0]), [], 0, "release")


class Scripted:
    """A stream that has one word."""

    def __init__(self, word):
        self.word = word

    def random_raw(self, size):
        return np.full(size, self.word, dtype=np.uint64)


class TestUnbiased:
    """Means over every start, and over every way that cycles can be turned: exact, not to rounding."""

    def test_two_outcomes(self):
        eighths = np.array([1, 3, 0, 7, 2, 2, 5])
        rest = np.column_stack([eighths, (8 - eighths) % 8]) * (ONE // 8)
        ups = [balance._rounded(rest, [], Scripted(word << 61)) for word in range(8)]
        assert np.array_equal(np.sum(ups, axis=0), rest // (ONE // 8))
        assert all(np.array_equal(up.sum(axis=1), (eighths > 0).astype(int)) for up in ups)

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("seed", range(6))
    def test_more_outcomes(self, seed, monkeypatch):
        rng = np.random.default_rng(seed)
        strata, outcomes = 5, 3
        sixths = rng.multinomial(6, [1 / outcomes] * outcomes, strata) % 6
        # Not all in sixths: whatever is left of a stratum is its last outcome's.
        rest = sixths * (ONE // 6) + rng.integers(0, 3, sixths.shape) * (sixths > 0)
        rest[:, -1] = -rest[:, :-1].sum(axis=1) % ONE
        parts = [np.zeros(strata, np.int64), np.array([0, 0, 0, 1, 1])]
        mean, total = np.zeros(rest.shape, dtype=object), Fraction(0)
        waiting = [()]
        while waiting:
            script = waiting.pop()
            chances = []

            def choose(flows, chance, of, script=script, chances=chances):
                at = len(chances)
                chances.append(Fraction(chance, of))
                return script[at] if at < len(script) else True

            monkeypatch.setattr(balance._Flows, "_below", choose)
            up = balance._rounded(rest, parts, None)
            taken = (*script, *[True] * (len(chances) - len(script)))
            # Whatever was chosen here for the first time is chosen the other way as well.
            waiting += [(*taken[:at], False) for at in range(len(script), len(taken))]
            weight = Fraction(1)
            for chance, yes in zip(chances, taken, strict=True):
                weight *= chance if yes else 1 - chance
            mean = mean + up.astype(object) * weight
            total += weight
        assert total == 1
        assert np.array_equal(mean * ONE, rest.astype(object))

    def test_a_chance_is_met_exactly(self):
        """Of each run of words as many are below as should be, and the words of a last, broken run are left out."""
        flows = balance._Flows(None, 0)
        for chance, of in ((1, 3), (5, 7), (6, 7)):
            flows.words = itertools.count(2 * of)
            assert sum(flows._below(chance, of) for _ in range(of)) == chance
            flows.words = iter([*range(2**64 // of * of, 2**64), of - 1])
            assert not flows._below(chance, of)
            assert next(flows.words, None) is None

    def test_moves_to_one_outcome(self):
        width, number = np.array([1, 2, 0, 5]), np.array([3])
        group, mass = np.zeros(4, np.int64), np.array([8])
        found = [balance._moves(group, width, number, mass, Scripted(word << 61)) for word in range(8)]
        assert np.array_equal(np.sum(found, axis=0), 3 * width)
        assert all(each.sum() == 3 for each in found)


def test_people_get_the_entries_in_order():
    rng = np.random.default_rng(3)
    kernel = random_kernel(rng, 20, 3)
    people, rows = rng.integers(0, 30, 40), rng.integers(0, 20, 40)
    found = allot(kernel, kernel.targets % 3, people, rows, [], 5, "release")
    stratum = np.repeat(np.arange(40), people)
    rank = np.concatenate([np.arange(n) for n in people])
    entries = found.entries(stratum, rank)
    assert np.array_equal(entries, np.repeat(found.entry, found.number))
    # A draw that hits the entry: the rest of the machinery takes draws.
    assert np.array_equal(kernel.hit(rows[stratum], found.draws(stratum, rank)), entries)


def test_entries_of_no_width_are_never_hit():
    tiny = 2.0**-60
    kernel = Kernel(np.array([0, 4]), np.arange(4), np.array([tiny, 0.4, tiny, 0.6 - 2 * tiny]))
    for seed in range(200):
        found = allot(kernel, kernel.targets % 2, np.array([5]), np.array([0]), [], seed, "release")
        assert found.number[np.isin(found.entry, [0, 2])].tolist() == [0, 0]


@pytest.mark.parametrize("size", [0, 1, 5000])
@pytest.mark.parametrize("strata", [1, 7, 3000, 2**40])
@pytest.mark.parametrize("shared", ["no", "a third", "most", "leading bits"])
def test_ranks(size, strata, shared):
    """Whatever the leading bits of draws tell apart, and whoever shares a draw."""
    rng = np.random.default_rng(size)
    stratum, draw = rng.integers(0, min(strata, 3000), size), rng.integers(0, ONE, size)
    if shared == "a third":
        draw = draw[rng.integers(0, max(size // 3, 1), size)]
    elif shared == "most":
        draw = rng.integers(0, 50, size)
    elif shared == "leading bits":
        draw = (rng.integers(0, 3, size) << 40) + rng.integers(0, 4, size)
    if strata == 2**40:
        # Strata and rows leave few bits for draws.
        order, _ = balance._in_order(stratum, draw, strata)
        expected = np.lexsort((draw, stratum))
        assert np.array_equal(stratum[order], stratum[expected])
        assert np.array_equal(draw[order], draw[expected])
        return
    rank, people = balance.ranked(stratum, draw, strata)
    for own in np.unique(stratum):
        inside = stratum == own
        distinct, expected = np.unique(draw[inside], return_inverse=True)
        assert np.array_equal(rank[inside], expected)
        assert people[own] == len(distinct)
    assert len(people) == strata


@pytest.mark.slow
@pytest.mark.parametrize("outcomes", [2, 4])
def test_everybody_has_their_own_probabilities(outcomes):
    """Over many seeds each person hits each entry of their row as often as its probability says: chi-square."""
    rng = np.random.default_rng(outcomes)
    kernel = random_kernel(rng, 8, outcomes, most=4)
    people, rows, part = np.array([1, 2, 5, 3, 7, 1, 4, 2, 6, 3]), np.arange(10) % 8, np.arange(10) % 3
    stratum = np.repeat(np.arange(10), people)
    seeds = 2000
    hit = np.zeros((len(stratum), len(kernel.targets)))
    for seed in range(seeds):
        draw = seeded_draws(seed, len(stratum), "release")
        order = np.lexsort((draw, stratum))
        rank = np.empty(len(stratum), dtype=np.int64)
        rank[order] = np.concatenate([np.arange(n) for n in people])
        found = allot(kernel, kernel.targets % outcomes, people, rows, [part], seed, "release")
        hit[np.arange(len(stratum)), found.entries(stratum, rank)] += 1
    values = []
    for person, row in enumerate(rows[stratum]):
        inside = slice(kernel.starts[row], kernel.starts[row + 1])
        assert hit[person].sum() == hit[person, inside].sum()
        likely = kernel.probability[inside] * seeds > 5
        if likely.sum() > 1:
            seen = hit[person, inside][likely]
            share = kernel.probability[inside][likely]
            values.append(stats.chisquare(seen, share / share.sum() * seen.sum()).pvalue)
    assert len(values) > 10
    assert min(values) > 1e-3 / len(values)
    # Nor are they all too good to be true.
    assert stats.kstest(values, "uniform").pvalue > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize(("strata", "outcomes", "seconds"), [(3000, 4, 1.0), (100_000, 4, 30.0), (100_000, 2, 5.0)])
def test_the_time_is_near_linear(strata, outcomes, seconds):
    rng = np.random.default_rng(0)
    kernel = random_kernel(rng, 1000, outcomes)
    people, rows = rng.integers(1, 9, strata), rng.integers(0, 1000, strata)
    levels = [np.arange(strata) % 4, np.arange(strata) % 40]
    begun = time.process_time()
    found = allot(kernel, kernel.targets % outcomes, people, rows, levels, 0, "release")
    assert time.process_time() - begun < seconds
    stratum, mean = expected(kernel, found, people)
    for part in (np.zeros(strata, np.int64), *levels):
        assert np.abs(by(part, stratum, found.number - mean, kernel.targets[found.entry] % outcomes)).max() < 1 + 1e-6


def test_paths_through_the_forest_stay_short(monkeypatch):
    """At most one stratum fewer than there are outcomes is open in a part: however many there were."""
    rng = np.random.default_rng(7)
    kernel = random_kernel(rng, 300, 4)
    sizes = []
    let_in = balance._Flows.let_in

    def watched(flows, flow):
        let_in(flows, flow)
        sizes.append(len(flows.links))

    monkeypatch.setattr(balance._Flows, "let_in", watched)
    levels = [np.arange(300) % 3, np.arange(300) % 12]
    allot(kernel, kernel.targets % 4, np.full(300, 5), np.arange(300), levels, 0, "release")
    assert 10 < max(sizes) < 60
    assert sizes[-1] == 0
