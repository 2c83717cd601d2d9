"""Which levels to merge: fewer cells, few people affected, neighbours only where there is an order."""

import numpy as np
import pytest

import evenhand as eh
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain, Role, Variable
from evenhand.findings.theory import merging


def made(sizes, ordered, rng, people=400):
    variables = [Variable("g", Role.PROTECTED, ("a", "b"), False)]
    variables += [
        Variable(f"f{i}", Role.FEATURE, tuple(range(size)), o)
        for i, (size, o) in enumerate(zip(sizes, ordered, strict=True))
    ]
    domain = Domain.of([*variables, Variable("y", Role.OUTCOME, (0, 1), True)])
    d, y = rng.integers(0, 2, people), rng.integers(0, 2, people)
    x = rng.integers(0, domain.x.size, people)
    return Counts.of(domain, d, x, y)


def test_every_merge_shrinks_the_domain():
    counts = made((4, 3, 2), (True, False, False), np.random.default_rng(0))
    merges = merging.single(merging.start(counts), 4 * 24, float)
    assert len(merges) == 5
    for merge in merges:
        assert merge.cells_after < merge.cells_before
        assert 0 < merge.affected <= 1
        assert merge.radius_after == merge.cells_after
    assert [m.worth for m in merges] == sorted((m.worth for m in merges), reverse=True)


def test_neighbours_where_there_is_an_order():
    levels = tuple(merging.Level((name,), mass) for name, mass in (("a", 0.05), ("b", 0.5), ("c", 0.35), ("d", 0.1)))
    (pair,) = (m for m in merging.single((merging.Column("f", True, levels),), 16, float) if not m.drops)
    assert pair.levels == (("c",), ("d",))
    (pair,) = (m for m in merging.single((merging.Column("f", False, levels),), 16, float) if not m.drops)
    assert pair.levels == (("a",), ("d",))


def test_levels_nobody_has_come_first():
    levels = tuple(merging.Level((i,), mass) for i, mass in enumerate((0.0, 0.0, 0.6, 0.4)))
    best = merging.single((merging.Column("f", True, levels),), 16, float)[0]
    assert best.levels == ((0,), (1,))
    assert best.worth == np.inf


def test_a_plan_goes_on_until_it_is_enough():
    counts = made((6, 5), (True, True), np.random.default_rng(1))
    state = merging.start(counts)
    for needed in (100, 60, 24, 4):
        plan = merging.plan(state, 120, needed, float)
        assert plan[-1].cells_after <= needed
        assert all(step.cells_after > needed for step in plan[:-1])
    assert merging.plan(state, 120, 120, float) == ()
    assert merging.plan(state, 120, 3, float) == ()


def test_merged_levels_keep_their_parts_and_order():
    levels = tuple(merging.Level((i,), mass) for i, mass in enumerate((0.01, 0.01, 0.28, 0.3, 0.4)))
    state = (merging.Column("f", True, levels),)
    first, *_ = merging.plan(state, 20, 16, float)
    assert first.levels == ((0,), (1,))
    assert first.cells_after == 16
    again, second = merging.plan(state, 20, 12, float)
    assert again == first
    # What was merged stands where its first level stood, with the mass of both.
    assert second.levels == ((0, 1), (2,))
    assert second.affected == pytest.approx(0.3)


def test_words():
    counts = eh.datasets.load("compas").counts
    merges = merging.single(merging.start(counts), 144, lambda cells: 0.1)
    assert "leave out age_cat (48 cells" in merging.words(merges, (), 144)[0]
    assert "No merging of features" in merging.words(merges, (), None)[-1]
    assert ", then " in merging.words(merges, merges[:2], 50)[-1]
