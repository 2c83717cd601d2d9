"""The core of a programme: a few owners and choices, the same edges, and proofs that hold for the whole."""

from dataclasses import replace

import numpy as np
import pytest
from families import random_problem
from formulations import all_pairs, problem_of, table
from ladder import generated, rung

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import least_price
from evenhand.optimize.solve import Clock
from evenhand.optimize.solve.core import core_of
from evenhand.optimize.solve.infeasible import least_excess, reachable_rates
from evenhand.optimize.solve.linear import LinearSolver
from evenhand.optimize.solve.model import INFINITY, Columns, Model, lay_out, one_column, relief_at
from evenhand.optimize.tabulate import tabulated


def program_of(problem, frame):
    counts = frame if isinstance(frame, eh.Counts) else eh.count(problem, frame)
    return compile_problem(tabulated(problem, counts), counts).program


def excess(program, relief):
    """Return by how much parity must give way at least, over all choices."""
    base = lay_out(program)
    give = one_column(-np.where(program.soft, relief, 0.0))
    rows = [replace(b, parts=b.parts | {"t": give}) if b.name == "parity" else b for b in base.rows]
    model = Model((*base.columns, Columns.of("t", 1, 0.0, INFINITY, np.ones(1))), tuple(rows))
    return LinearSolver(model, Clock()).run().objective


def assert_same_edge(program):
    """What the whole programme's excess is, is its core's; what the core finds, and proves, holds for the whole."""
    core = core_of(program)
    relief = np.maximum(relief_at(program, program.rates @ program.stays), 1e-3)
    least = excess(program, relief)
    assert excess(core.program, relief) == pytest.approx(least, abs=1e-8)
    found = least_excess(program, Clock())
    if np.isfinite(least) and least > 1e-6:
        assert found[0] == pytest.approx(least, abs=1e-8)
        assert least_price(program, found[1]) > 0
    rng = np.random.default_rng(0)
    x = rng.random(core.program.n_moves)
    x /= np.add.reduceat(x, core.program.starts[:-1])[core.program.source]
    whole = core.back(x)
    assert np.allclose(np.add.reduceat(whole, program.starts[:-1]), 1)
    assert np.allclose(program.rates @ whole, core.program.rates @ x)
    spent = [np.max(p.budgets.matrix @ y, initial=0.0) for p, y in ((program, whole), (core.program, x))]
    assert spent[0] == pytest.approx(spent[1])


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seed", range(40))
def test_random_problems(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    for factor in (1.0, 0.05):
        assert_same_edge(program_of(problem.with_bounds(lambda own, by=factor: own * by), frame))


FORMS = [(i, row) for i, row in enumerate(all_pairs()) if row[0] in ("KL", "L1")]


@pytest.mark.slow(keep=8)
@pytest.mark.parametrize(("number", "row"), FORMS, ids=str)
def test_every_form_of_parity_budget_and_mode(number, row):
    assert_same_edge(program_of(problem_of(row, number), table(number)))


def test_owners_with_the_same_choices_are_one():
    """A group and an outcome have the same rates, and here everybody has the same budget."""
    problem, counts = generated(6, 6, eh.L1())
    core = core_of(program_of(problem, counts)).program
    assert core.n_sources == 6
    assert core.n_moves == 9
    assert core.weight.sum() == pytest.approx(1)


def test_a_budget_that_groups_share_keeps_its_owners_apart():
    problem, counts = generated(2, 4, eh.L1())
    shared = replace(problem, budget=eh.ExpectedDistortion(0.4, per="xy"))
    program = program_of(shared, counts)
    core = core_of(program).program
    # Those who need no budget are one for each of the three groups.
    assert core.n_sources == int((counts.y == 1).sum()) + 3
    assert core.n_moves < program.n_moves / 3
    assert_same_edge(program)


@pytest.mark.slow
def test_an_edge_of_the_largest_rung():
    """195,994 moves; the bound that the core finds is met, and nothing below it is."""
    problem, counts = rung(4, eh.L1())
    tight = replace(problem, budget=eh.ExcessDistortion({0.9: 0.02, 1.9: 0.01}))
    rules = dict(problem.distortion.rules) | {"income": eh.Ordinal(step=1, up=False)}
    tight = replace(tight, distortion=replace(problem.distortion, rules=rules))
    bound = eh.smallest_parity_bound(tight, counts)
    assert bound > 0.1
    assert eh.fit(tight.with_bounds(lambda own: bound + 1e-6), counts).certificate.max_violation <= 1e-9
    with pytest.raises(eh.InfeasibleError):
        eh.fit(tight.with_bounds(lambda own: bound - 1e-6), counts)


def test_reachable_rates_do_not_heed_parity(compas):
    program = program_of(compas.problem, compas.counts)
    rate = program.rates.toarray()[0]
    low, high = reachable_rates(program, rate, Clock())
    now = rate @ program.stays
    assert low - 1e-12 <= now <= high + 1e-12
    assert high - low > 0.01
