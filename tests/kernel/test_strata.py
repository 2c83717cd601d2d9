"""Strata that are met in pieces: the same moves however a table is cut, and in whatever order."""

import numpy as np
import pytest
from families import random_kernel

from evenhand.data.domain import Role, Variable
from evenhand.kernel.balance import ranked
from evenhand.kernel.draws import seeded_draws
from evenhand.kernel.strata import Strata

SEX = Variable("sex", Role.PROTECTED, ("F", "M"), ordered=False)
AGE = Variable("age", Role.FEATURE, (1, 2, 3), ordered=True)


def drawn(kernel, levels, rows, known, draw, cuts):
    """Number, rank and draw the rows of a table that is cut into pieces."""
    strata = Strata(kernel, 3, [SEX, AGE], [1, 2])
    number = np.concatenate(
        [
            strata.number(lambda name, at=at: levels[name][at], rows[at], known[at])
            for at in (slice(*each) for each in zip([0, *cuts], [*cuts, len(rows)], strict=True))
        ]
    )
    rank, people = ranked(number, draw, int(number.max()) + 1)
    return number, people, strata.allot(people, 4, "release").draws(number, rank)


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    kernel = random_kernel(rng, 20, 3)
    levels = {"sex": rng.integers(-1, 2, 900), "age": rng.integers(0, 3, 900)}
    return kernel, levels, rng.integers(0, 20, 900), rng.random(900) < 0.9, seeded_draws(1, 900, "release")


def test_pieces_and_orders_make_no_difference(table):
    kernel, levels, rows, known, draw = table
    _, _, whole = drawn(*table, [])
    _, _, cut = drawn(*table, [1, 300, 301, 850])
    assert np.array_equal(whole[known], cut[known])
    order = np.random.default_rng(1).permutation(900)
    levels = {name: codes[order] for name, codes in levels.items()}
    _, _, again = drawn(kernel, levels, rows[order], known[order], draw[order], [400])
    assert np.array_equal(again[known[order]], whole[order][known[order]])


def test_kinds_that_nobody_is_of_change_nothing(table):
    kernel, levels, rows, known, draw = table
    _, people, found = drawn(*table, [])
    strata = Strata(kernel, 3, [SEX, AGE], [1, 2])
    again = strata.number(levels.__getitem__, rows, known)
    every = np.stack(np.meshgrid([-1, 0, 1], [0, 1, 2], np.arange(20))).reshape(3, -1)
    strata.number({"sex": every[0], "age": every[1]}.__getitem__, every[2], np.ones(180, bool))
    assert len(strata) == 181
    rank, _ = ranked(again, draw, len(people))
    assert np.array_equal(strata.allot(people, 4, "release").draws(again, rank)[known], found[known])


def test_parts_are_people_of_the_same_levels(table):
    kernel, levels, rows, known, _ = table
    strata = Strata(kernel, 3, [SEX, AGE], [1, 2])
    number = strata.number(levels.__getitem__, rows, known)[known]
    for part, names in zip(strata.parts(strata.keys[number]), (["sex"], ["sex", "age"]), strict=True):
        own = list(zip(*(levels[name][known].tolist() for name in names), strict=True))
        assert len(set(zip(part.tolist(), own, strict=True))) == len(set(own)) == len(set(part.tolist()))


def test_people_of_a_stratum_share_row_and_part_and_others_do_not(table):
    _, levels, rows, known, _ = table
    number, people, _ = drawn(*table, [])
    assert set(number[~known]) == {0}
    kinds = np.column_stack([levels["sex"], levels["age"], rows])[known]
    assert len(np.unique(kinds, axis=0)) == len(np.unique(number[known]))
    assert len(np.unique(np.column_stack([kinds, number[known]]), axis=0)) == len(np.unique(kinds, axis=0))
    assert people.sum() == 900


def test_outcomes_of_parts_are_within_one(table):
    kernel, levels, rows, known, _ = table
    _, _, draw = drawn(*table, [])
    outcome = kernel.targets % 3
    low = np.concatenate([[0], kernel.thresholds[:-1]])
    low[kernel.starts[:-1]] = 0
    chance = np.zeros((20, 3))
    np.add.at(chance, (kernel.rows, outcome), (kernel.thresholds - low) / 2**52)
    off = np.eye(3)[outcome[kernel.hit(rows, draw)]] - chance[rows]
    for sex in (-1, 0, 1):
        own = known & (levels["sex"] == sex)
        assert np.abs(off[own].sum(axis=0)).max() < 1
        for age in range(3):
            assert np.abs(off[own & (levels["age"] == age)].sum(axis=0)).max() < 1
    assert np.abs(off[known].sum(axis=0)).max() < 1


def test_nobody_at_all():
    kernel = random_kernel(np.random.default_rng(0), 4, 3)
    strata = Strata(kernel, 3, [], [])
    none = np.zeros(0, np.int64)
    assert strata.number(lambda name: none, none, none.astype(bool)).tolist() == []
    number = strata.number(lambda name: none, np.zeros(2, np.int64), np.zeros(2, bool))
    found = strata.allot(np.array([2]), 0, "release").draws(number, np.arange(2))
    assert np.all((found >= 0) & (found < 2**52))
