from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from families import random_problem, small_frame, small_problem
from formulations import all_pairs, problem_of, table
from oracle import Dense
from scipy import sparse

import evenhand as eh
from evenhand.kernel.achieved import achieved
from evenhand.optimize.compile import compile_again, compile_problem
from evenhand.optimize.solve.dust import exceeds
from evenhand.optimize.tabulate import tabulated

ROWS = all_pairs()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(60))
def test_moves_are_those_of_the_dense_statement(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    compiled = compile_problem(problem, counts)
    dense = Dense(problem, counts)
    domain = counts.domain
    moves = set()
    for source, target in zip(compiled.moves.source, compiled.moves.target, strict=True):
        x, y = divmod(int(target), domain.y.size)
        own = (*(int(c[0]) for c in domain.x.unravel(counts.x[[source]])), int(counts.y[source]))
        to = (*(int(c[0]) for c in domain.x.unravel(np.array([x]))), y)
        moves.add((((int(counts.d[source]),), own), to))
    assert len(moves) == len(compiled.moves.source)
    assert moves == set(dense.moves)
    costs = dict(zip(dense.moves, dense.delta, strict=True))
    assert sum(costs.values()) == pytest.approx(compiled.moves.distortion.sum())


@pytest.mark.parametrize("seed", range(20))
def test_the_programme_measures_what_achieved_measures(seed):
    """Compile and its inverse: rows of the programme at x against the quantities of the kernel of x."""
    rng = np.random.default_rng(seed)
    problem, frame = random_problem(rng)
    counts = eh.count(problem, frame)
    compiled = compile_problem(problem, counts)
    program = compiled.program
    x = rng.dirichlet(np.ones(program.n_moves)) + program.stays
    x /= np.add.reduceat(x, program.starts[:-1])[program.source]
    measured = achieved(problem, counts, compiled.kernel(x))
    assert program.loss.value(program.released(x)) == pytest.approx(measured.objective)
    assert (program.rates @ x).reshape(measured.rates_after.shape) == pytest.approx(measured.rates_after)
    within_parity = max(p.violation for p in measured.parity) <= 0
    assert within_parity == (program.parity_slack(x).min() >= -1e-15)
    assert exceeds(program, x) == pytest.approx(measured.max_violation, abs=1e-12)
    charged = [b.violation / b.charge.limit for b in measured.budgets if b.value.any()]
    if charged:
        assert -program.budget_slack(x).min() == pytest.approx(max(charged))
    assert np.dot(program.move_weight * program.distortion, x) == pytest.approx(
        np.dot(counts.probability, measured.distortion)
    )


@pytest.mark.parametrize("seed", range(20))
def test_an_exceeded_budget_is_measured_in_the_users_units(seed):
    """Everybody moves at random, far beyond the budgets; parity is left out so that it cannot hide them."""
    problem, frame = random_problem(np.random.default_rng(seed))
    problem = replace(problem, parity=[])
    counts = eh.count(problem, frame)
    compiled = compile_problem(problem, counts)
    x = 1 / np.diff(compiled.program.starts)[compiled.program.source]
    measured = achieved(problem, counts, compiled.kernel(x))
    assert exceeds(compiled.program, x) == pytest.approx(measured.max_violation, abs=1e-12)
    assert measured.max_violation > 0


def same_arrays(one, other):
    """Whether two values of a dataclass are equal, arrays and matrices entry by entry."""
    for field in fields(one):
        a, b = getattr(one, field.name), getattr(other, field.name)
        if is_dataclass(a):
            same_arrays(a, b)
        elif isinstance(a, (np.ndarray, sparse.sparray)):
            dense = [each.toarray() if sparse.issparse(each) else each for each in (a, b)]
            np.testing.assert_array_equal(*dense, err_msg=field.name)


def compiled_or_not(compile_one, *arguments):
    """Return what is compiled; None where nobody may have an outcome that somebody cannot leave."""
    try:
        return compile_one(*arguments)
    except eh.InfeasibleError:
        return None


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("number", range(0, len(ROWS), 3))
def test_with_other_bounds_it_is_what_it_would_be_from_the_start(number):
    """Also after bounds of zero, which rule outcomes out where a group has none."""
    problem = problem_of(ROWS[number], number)
    counts = eh.count(problem, table(number))
    problem = tabulated(problem, counts)
    like = compiled_or_not(compile_problem, problem, counts)
    for bound in (0.3, 0.0, 0.6):
        moved = problem.with_bounds(lambda own, bound=bound: bound)
        anew = compiled_or_not(compile_problem, moved, counts)
        again = anew if like is None else compiled_or_not(compile_again, like, moved, counts)
        assert (again is None) == (anew is None)
        if again is not None:
            same_arrays(again.program, anew.program)
            same_arrays(again.parity, anew.parity)
            assert again.barred == anew.barred
        like = again


def test_sizes_of_the_two_studies(compas, adult):
    assert compile_problem(compas.problem, compas.counts).program.n_moves == 1664
    assert len(compas.counts) == 142
    assert compile_problem(adult.problem, adult.counts).program.n_moves == 4184


def test_a_budget_of_zero_prunes_and_needs_no_row():
    program = compile_problem(small_problem(budget=eh.ExpectedDistortion(0)), eh.count(small_problem(), small_frame()))
    assert not program.program.change.any()
    assert len(program.program.budgets) == 0


def test_an_excess_of_zero_prunes_above_its_threshold():
    problem = small_problem(budget=eh.ExcessDistortion({0.9: 0.5, 1.5: 0.0}))
    compiled = compile_problem(problem, eh.count(problem, small_frame()))
    assert compiled.moves.distortion.max() == 1.0


def test_an_outcome_the_target_rules_out_has_no_moves():
    frame = small_frame().replace({"hired": {1: 2}})
    rule = eh.Ordinal(1, levels=[0, 1, 2])
    problem = small_problem(
        distortion=eh.Distortion({"hired": rule}),
        parity=[eh.TargetParity(0.5, {0: 0.5, 1: 0.5, 2: 0.0})],
        budget=eh.ExpectedDistortion(2),
    )
    compiled = compile_problem(problem, eh.count(problem, frame))
    assert set(compiled.moves.target % 3) == {0, 1}


@pytest.mark.parametrize("utility", [eh.ReverseKL(), eh.PearsonChi2(), eh.MaxRelativeChange()], ids=str)
def test_where_a_measure_bars_new_cells_nobody_may_go_there(utility):
    frame = small_frame()
    frame = frame[~(frame["score"].eq(1) & frame["hired"].eq(0))]
    for measure, reached in ((eh.KL(), {0, 1, 2, 3}), (utility, {0, 1, 3})):
        problem = small_problem(utility=measure)
        assert set(compile_problem(problem, eh.count(problem, frame)).moves.target) == reached


def test_an_outcome_that_one_group_can_never_have_is_closed_to_all():
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    down = eh.Distortion({"hired": eh.Ordinal(1, up=False)})
    problem = small_problem(distortion=down, budget=eh.ExpectedDistortion(1))
    compiled = compile_problem(problem, eh.count(problem, frame))
    assert set(compiled.moves.target % 2) == {0}
    fixed = small_problem(distortion=eh.Distortion({"hired": eh.Fixed()}))
    with pytest.raises(eh.InfeasibleError, match=r"nobody may have the outcome 1.*group=a"):
        eh.fit(fixed, frame)


def test_no_array_is_as_large_as_sources_times_targets():
    """Six features of ten levels: a domain of two million cells compiles to some thousand moves."""
    rng = np.random.default_rng(0)
    import pandas as pd

    frame = pd.DataFrame(rng.integers(0, 10, (3000, 6)), columns=list("abcdef"))
    frame["group"], frame["y"] = rng.integers(0, 2, 3000), rng.integers(0, 2, 3000)
    rules = {c: eh.Ordinal(1, max_steps=1) for c in "abcdef"} | {"y": eh.Ordinal(1)}
    problem = eh.Problem(
        protected=["group"], features=list("abcdef"), outcome="y", distortion=eh.Distortion(rules),
        parity=[eh.PairwiseParity(0.1)], budget=eh.ExpectedDistortion(0.5),
    )  # fmt: skip
    program = compile_problem(problem, eh.count(problem, frame)).program
    assert program.n_sources > 2900
    assert program.n_moves < 20 * program.n_sources
