import itertools

import numpy as np
import pytest
from families import random_problem, small_frame, small_problem
from oracle import distortion, step_costs

import evenhand as eh
from evenhand.kernel import Kernel, identity
from evenhand.kernel.achieved import achieved, parity_achieved
from evenhand.optimize.compile import compile_problem
from evenhand.spec import comparisons


def by_hand(problem, counts, kernel):
    """Every bounded quantity by plain loops over dictionaries."""
    domain = counts.domain
    p = counts.weight / counts.weight.sum()
    x_codes = [tuple(int(c[i]) for c in domain.x.unravel(counts.x)) for i in range(len(counts))]
    released, rates, expected = {}, {}, {}
    steps = list(step_costs(problem, domain))
    for entry, row in enumerate(kernel.rows):
        to_x, to_y = (int(v) for v in divmod(kernel.targets[entry], domain.y.size))
        to = (*(int(c[0]) for c in domain.x.unravel(np.array([to_x]))), to_y)
        own = (*x_codes[row], int(counts.y[row]))
        probability = kernel.probability[entry]
        released[to] = released.get(to, 0.0) + p[row] * probability
        key = (int(counts.d[row]), to_y)
        rates[key] = rates.get(key, 0.0) + p[row] * probability
        cost = distortion(problem, domain, steps, own, to)
        expected.setdefault(row, []).append((probability, cost))
    p_d = {d: p[counts.d == d].sum() for d in np.unique(counts.d)}
    return released, {k: v / p_d[k[0]] for k, v in rates.items()}, expected


def feasible_kernel(seed):
    """A random kernel over the allowed moves: not optimal, and not within the bounds."""
    rng = np.random.default_rng(seed)
    problem, frame = random_problem(rng)
    counts = eh.count(problem, frame)
    compiled = compile_problem(problem, counts)
    x = rng.random(compiled.program.n_moves) * (rng.random(compiled.program.n_moves) < 0.5)
    x += 0.5 * compiled.program.stays
    x /= np.add.reduceat(x, compiled.program.starts[:-1])[compiled.program.source]
    return problem, counts, compiled.kernel(x)


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seed", range(30))
def test_agrees_with_plain_loops(seed):
    problem, counts, kernel = feasible_kernel(seed)
    measured = achieved(problem, counts, kernel)
    released, rates, expected = by_hand(problem, counts, kernel)
    p = counts.weight / counts.weight.sum()
    for group, outcome in itertools.product(range(len(counts.groups.cells)), range(counts.domain.y.size)):
        d = int(counts.groups.cells[group])
        assert measured.rates_after[group, outcome] == pytest.approx(rates.get((d, outcome), 0.0))
    mean = [sum(q * c for q, c in expected[row]) for row in range(len(counts))]
    assert measured.distortion == pytest.approx(mean)
    assert sum(measured.released) == pytest.approx(1)
    assert len(released) <= len(measured.cells)
    budget = problem.budgets[0]
    for part, charge in zip(measured.budgets, budget.charges, strict=True):
        value = [
            sum(q * (c if charge.threshold is None else c > charge.threshold) for q, c in expected[row])
            for row in range(len(counts))
        ]
        if budget.per == "xy":
            records = counts.domain.xy(counts.x, counts.y)
            value = [
                np.dot(p[records == r], np.array(value)[records == r]) / p[records == r].sum()
                for r in np.unique(records)
            ]
        assert part.value == pytest.approx(value)
        assert part.violation == pytest.approx(max(value) - charge.limit)


@pytest.mark.parametrize("seed", range(10))
def test_pairwise_parity_is_every_ordered_pair(seed):
    problem, counts, kernel = feasible_kernel(seed)
    pairwise = eh.PairwiseParity(0.1)
    rates = achieved(problem, counts, kernel).rates_after
    part = parity_achieved(comparisons(pairwise, counts), counts, kernel)
    n = len(counts.groups.cells)
    assert len(part.value) == n * (n - 1) * counts.domain.y.size
    worst = np.max(rates.max(axis=0) / rates.min(axis=0) - 1)
    assert part.value.max() == pytest.approx(worst)


def test_rates_in_released_segments_are_of_those_released_there():
    parity = eh.TargetParity(0.2, given=["score"], released=True)
    counts = eh.count(small_problem(), small_frame())
    compiled = compile_problem(small_problem(), counts)
    kernel = compiled.kernel((1 / np.diff(compiled.program.starts))[compiled.program.source])
    part = parity_achieved(comparisons(parity, counts), counts, kernel)
    mass = counts.weight[kernel.rows] * kernel.probability
    group, (score, hired) = counts.d[kernel.rows], np.divmod(kernel.targets, 2)
    expected = [
        mass[here & (hired == outcome)].sum() / mass[here].sum()
        for here in ((group == d) & (score == s) for d, s in itertools.product(range(2), repeat=2))
        for outcome in range(2)
    ]
    assert sorted(part.rate) == pytest.approx(sorted(expected))


def test_the_identity_changes_nothing():
    problem, counts = small_problem(), eh.count(small_problem(), small_frame())
    kernel = identity(counts.domain.xy(counts.x, counts.y))
    measured = achieved(problem, counts, kernel)
    assert measured.objective == 0
    assert not measured.changed.any()
    assert not measured.distortion.any()
    assert np.array_equal(measured.rates_after, measured.rates_before)


def test_a_forbidden_move_is_a_violation():
    problem = small_problem(distortion=eh.Distortion({"hired": eh.Ordinal(1, up=False)}), parity=[], budget=None)
    counts = eh.count(problem, small_frame())
    own = counts.domain.xy(counts.x, counts.y)
    kernel = identity(own)
    targets = np.concatenate([own[:1], own[:1] + 1, own[1:]])
    probability = np.concatenate([[0.9, 0.1], np.ones(len(own) - 1)])
    bad = Kernel(np.concatenate([[0], np.arange(2, len(own) + 2)]), targets, probability)
    assert achieved(problem, counts, kernel).max_violation == 0
    assert achieved(problem, counts, bad).max_violation == pytest.approx(0.1)


def test_an_unobserved_target_is_a_violation_unless_all_are_allowed():
    frame = small_frame()
    frame = frame[frame["score"].eq(0)]
    rules = eh.Distortion({"score": eh.Ordinal(1, levels=[0, 1]), "hired": eh.Ordinal(1)})
    for targets, violation in (("observed", 0.25), ("all", 0.0)):
        problem = small_problem(distortion=rules, targets=targets, parity=[], budget=None)
        counts = eh.count(problem, frame)
        own = counts.domain.xy(counts.x, counts.y)
        moved = Kernel(
            np.concatenate([[0], np.arange(2, len(own) + 2)]),
            np.concatenate([own[:1], own[:1] + 2, own[1:]]),
            np.concatenate([[0.75, 0.25], np.ones(len(own) - 1)]),
        )
        assert achieved(problem, counts, moved).max_violation == pytest.approx(violation)
