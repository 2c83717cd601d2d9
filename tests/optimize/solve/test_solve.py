"""Every solver meets every family: feasible, infeasible, degenerate, near the edge."""

import gc
import weakref
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem

import evenhand as eh
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import Multipliers, lower_bound
from evenhand.optimize.solve import Clock, solve, solve_along, tiebreak
from evenhand.optimize.solve.dust import exceeds, tidy
from evenhand.optimize.solve.repair import repair

UTILITIES = [eh.KL(), eh.L1()]
TIE_BREAKS = ["least_change", "even", None]


def compiled(problem, frame=None):
    return compile_problem(problem, eh.count(problem, small_frame() if frame is None else frame)).program


@pytest.fixture(scope="module")
def edge(compas):
    """The smallest bound that COMPAS can meet within a budget of 0.25, whatever the utility."""
    return eh.smallest_parity_bound(replace(compas.problem, budget=eh.ExpectedDistortion(0.25)), compas.counts)


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
class TestFamilies:
    def test_feasible(self, utility, tie_break):
        mapping = eh.fit(small_problem(utility=utility, tie_break=tie_break), small_frame())
        assert mapping.certificate.status == "optimal"
        assert mapping.certificate.gap <= 1e-7
        assert mapping.certificate.notes == ()

    @pytest.mark.slow(keep=3)
    def test_infeasible(self, utility, tie_break):
        tight = small_problem(
            utility=utility,
            tie_break=tie_break,
            parity=[eh.PairwiseParity(0.01)],
            budget=eh.ExpectedDistortion(0.01),
        )
        with pytest.raises(eh.InfeasibleError) as error:
            eh.fit(tight, small_frame())
        assert error.value.smallest_parity_bound > 0.01
        assert error.value.smallest_budget_factor > 1

    def test_degenerate(self, utility, tie_break):
        """Exact parity: no mapping has room under the bound."""
        exact = small_problem(utility=utility, tie_break=tie_break, parity=[eh.PairwiseParity(0)])
        mapping = eh.fit(exact, small_frame())
        assert mapping.certificate.max_violation <= 1e-9
        assert np.ptp(mapping.achieved.rates_after[:, 1]) <= 1e-9

    @pytest.mark.slow(keep=2)
    @pytest.mark.parametrize("above", [1e-8, 1e-6, 1e-4])
    def test_near_the_edge(self, compas, edge, utility, tie_break, above):
        problem = replace(compas.problem, utility=utility, tie_break=tie_break, budget=eh.ExpectedDistortion(0.25))
        mapping = eh.fit(replace(problem, parity=[eh.PairwiseParity(edge + above)]), compas.counts)
        assert mapping.certificate.max_violation <= 1e-9
        assert mapping.certificate.gap <= 1e-7

    @pytest.mark.slow
    def test_below_the_edge(self, compas, edge, utility, tie_break):
        problem = replace(compas.problem, utility=utility, tie_break=tie_break, budget=eh.ExpectedDistortion(0.25))
        with pytest.raises(eh.InfeasibleError) as error:
            eh.fit(replace(problem, parity=[eh.PairwiseParity(edge - 1e-6)]), compas.counts)
        assert error.value.smallest_parity_bound == pytest.approx(edge, abs=1e-8)


@pytest.mark.slow(keep=3)
@pytest.mark.parametrize("seed", range(25))
def test_the_lower_bound_holds_for_any_multipliers(seed):
    """Weak duality, with multipliers no solver would give."""
    rng = np.random.default_rng(seed)
    problem, frame = random_problem(rng)
    program = compile_problem(problem, eh.count(problem, frame)).program
    found = solve(program, None, Clock())
    if found is None:
        return
    optimum = program.loss.value(program.released(found.x))
    for scale in (0.1, 1.0, 10.0):
        wild = Multipliers(
            program.loss.clip(rng.normal(-1, scale, program.n_targets)),
            np.abs(rng.normal(0, scale, len(program.parity))),
            np.abs(rng.normal(0, scale, len(program.budgets))),
        )
        assert lower_bound(program, wild) <= optimum + 1e-9
        noisy = Multipliers(
            program.loss.clip(found.multipliers.released + rng.normal(0, 1e-3 * scale, program.n_targets)),
            found.multipliers.parity * (1 + rng.normal(0, 1e-3 * scale, len(program.parity))),
            found.multipliers.budgets,
        )
        assert lower_bound(program, noisy) <= optimum + 1e-9


def test_negative_multipliers_are_not_believed(compas):
    program = compile_problem(compas.problem, compas.counts).program
    found = solve(program, None, Clock()).multipliers
    assert lower_bound(program, replace(found, parity=-found.parity - 5)) <= 0.0212439


def optima(program, r, x):
    """The set of optima at r, stated anew in cvxpy."""
    import cvxpy as cp

    m = cp.Variable(max(1, program.n_auxiliary))
    z = cp.hstack([program.rates @ x, m])[: program.parity.matrix.shape[1]]
    yield program.simplex @ x == 1
    yield program.parity.matrix @ z <= program.parity.limit + 1e-9
    if len(program.budgets):
        yield program.budgets.matrix @ x <= program.budgets.limit + 1e-9
    if hasattr(program.loss, "epigraph"):
        yield cp.norm1(program.release @ x - program.loss.p) <= program.loss.value(r) + 1e-9
    else:
        held = program.loss.decisive
        yield (program.release @ x)[held] == r[held]


FEASIBLE = [0, 2, 5, 9, 12, 23]


@pytest.mark.slow
@pytest.mark.parametrize("first", [tiebreak.FIRST, 0.0], ids=["at once", "one after the other"])
@pytest.mark.parametrize("seed", FEASIBLE)
def test_least_change_is_least(seed, first, monkeypatch):
    """Against a linear programme over the same optima, also where both at once is not the least distortion."""
    import cvxpy as cp

    monkeypatch.setattr(tiebreak, "FIRST", first)
    problem, frame = random_problem(np.random.default_rng(seed))
    program = compile_problem(problem, eh.count(problem, frame)).program
    found = solve(program, "least_change", Clock())
    x = cp.Variable(program.n_moves, nonneg=True)
    rules = list(optima(program, program.released(found.x), x))
    burden = program.move_weight * program.distortion
    least = cp.Problem(cp.Minimize(burden @ x), rules).solve(solver=cp.HIGHS)
    assert burden @ found.x == pytest.approx(least, abs=2e-7)
    change = program.move_weight * program.change
    fewest = cp.Problem(cp.Minimize(change @ x), [*rules, burden @ x <= least + 1e-8]).solve(solver=cp.HIGHS)
    assert change @ found.x == pytest.approx(fewest, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", FEASIBLE[1:])
def test_even_is_most_even(seed):
    """Against a quadratic programme over the same optima."""
    import cvxpy as cp

    problem, frame = random_problem(np.random.default_rng(seed))
    program = compile_problem(problem, eh.count(problem, frame)).program
    found = solve(program, "even", Clock())
    x = cp.Variable(program.n_moves, nonneg=True)
    by_source = program.simplex.multiply(program.distortion).tocsr()
    squares = cp.sum(cp.multiply(program.weight, cp.square(by_source @ x)))
    least = cp.Problem(cp.Minimize(squares), list(optima(program, program.released(found.x), x))).solve(
        solver=cp.CLARABEL
    )
    assert program.weight @ (by_source @ found.x) ** 2 <= least + 1e-6
    assert found.notes == ()


@pytest.mark.slow
def test_the_tie_break_keeps_the_optimum(compas, adult):
    for data in (compas, adult):
        program = compile_problem(data.problem, data.counts).program
        plain = solve(program, None, Clock())
        best = program.loss.value(program.released(plain.x))
        for tie_break in ("least_change", "even"):
            chosen = solve(program, tie_break, Clock())
            assert program.loss.value(program.released(chosen.x)) == pytest.approx(best, abs=1e-8)


@pytest.mark.slow
@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("tie_break", ["least_change", "even"])
def test_the_tie_break_keeps_the_optimum_where_cells_are_empty(adult, utility, tie_break):
    """Mass must not drain into cells with p = 0, which KL does not see."""
    problem = replace(adult.problem, utility=utility)
    plain = eh.fit(replace(problem, tie_break=None), adult.counts)
    chosen = eh.fit(replace(problem, tie_break=tie_break), adult.counts)
    assert chosen.objective == pytest.approx(plain.objective, abs=1e-8)
    assert chosen.certificate.notes == ()


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("tie_break", ["least_change", "even"])
def test_the_units_of_the_distortion_do_not_matter(compas, tie_break):
    rules = dict(compas.problem.distortion.rules)
    large = {
        name: replace(rule, cost=rule.cost * 1e5) if isinstance(rule, eh.Nominal) else replace(rule, step=1e5)
        for name, rule in rules.items()
    }
    problem = replace(compas.problem, tie_break=tie_break)
    scaled = replace(problem, distortion=eh.Distortion(large), budget=eh.ExpectedDistortion(0.5e5))
    one, other = eh.fit(problem, compas.counts), eh.fit(scaled, compas.counts)
    assert other.objective == pytest.approx(one.objective, abs=1e-7)
    mean = [float(compas.counts.probability @ m.achieved.distortion) for m in (one, other)]
    assert mean[1] / 1e5 == pytest.approx(mean[0], abs=1e-6)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_large_budgets_are_held_in_the_users_units(compas, utility, tie_break):
    """A tolerance on the share of a budget would grow with the budget."""
    rules = {
        name: replace(rule, cost=rule.cost * 50) if isinstance(rule, eh.Nominal) else replace(rule, step=50)
        for name, rule in compas.problem.distortion.rules.items()
    }
    problem = replace(compas.problem, utility=utility, tie_break=tie_break, distortion=eh.Distortion(rules))
    mapping = eh.fit(replace(problem, budget=eh.ExpectedDistortion(25)), compas.counts)
    assert mapping.certificate.status == "optimal"
    assert mapping.certificate.max_violation <= 1e-9


def test_a_tie_break_that_loses_the_optimum_is_discarded(compas, monkeypatch):
    import evenhand.optimize.solve as package

    program = compile_problem(compas.problem, compas.counts).program
    monkeypatch.setattr(package, "least_change", lambda program, x, clock, warm: (program.stays, ()))
    found = solve(program, "least_change", Clock())
    assert found.notes == ("tie-break discarded: it did not hold the optimum",)
    assert program.loss.value(program.released(found.x)) == pytest.approx(0.0212438, abs=1e-6)


def test_a_level_that_nobody_has_does_not_disturb_the_interior_point():
    """Rates that must be zero are exactly zero, also after an interior-point tie-break."""
    rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(1, levels=[0, 1, 2])})
    for utility in UTILITIES:
        for tie_break in TIE_BREAKS:
            problem = small_problem(distortion=rules, utility=utility, tie_break=tie_break)
            mapping = eh.fit(problem, small_frame())
            assert mapping.certificate.status == "optimal"


def test_even_spreads_the_burden(compas):
    program = compile_problem(compas.problem, compas.counts).program

    def squares(tie_break):
        x = solve(program, tie_break, Clock()).x
        burden = np.add.reduceat(program.distortion * x, program.starts[:-1])
        return float(program.weight @ burden**2)

    assert squares("even") < squares("least_change") < squares(None)


def test_repair_brings_a_violating_point_within_every_bound(compas):
    program = compile_problem(compas.problem, compas.counts).program
    found = solve(program, "least_change", Clock()).x
    rng = np.random.default_rng(0)
    disturbed = tidy(program, found * (1 + 1e-6 * rng.random(len(found))))
    assert min(program.parity_slack(disturbed).min(), program.budget_slack(disturbed).min()) < -1e-9
    mended, notes = repair(program, disturbed, Clock())
    assert notes == ()
    assert min(program.parity_slack(mended).min(), program.budget_slack(mended).min()) >= -5e-10
    assert np.abs(mended - disturbed).max() < 1e-3


def test_repair_without_room_finds_the_nearest_point():
    """Exact parity leaves no room to mix with."""
    program = compiled(small_problem(parity=[eh.PairwiseParity(0)]))
    found = solve(program, None, Clock()).x
    disturbed = tidy(program, found * (1 + 1e-5 * np.arange(len(found)) / len(found)))
    assert exceeds(program, disturbed) > 1e-8
    mended, notes = repair(program, disturbed, Clock())
    assert notes == ()
    assert exceeds(program, mended) <= 5e-10
    assert np.abs(mended - disturbed).max() < 1e-3


def test_repair_out_of_time_says_so(compas):
    program = compile_problem(compas.problem, compas.counts).program
    identity = program.stays
    clock = Clock(1e-9)
    same, notes = repair(program, identity, clock)
    assert np.array_equal(same, identity)
    assert "numerical slack left as it is" in notes[0]


class TestAlong:
    """Programmes solved one after the other, each from the last, against each solved by itself."""

    BOUNDS = (0.6, 0.4, 0.25, 0.3, 0.5)

    def programs(self, compas, utility, limits=(0.25,) * 5):
        problem = replace(compas.problem, utility=utility)
        for bound, limit in zip(self.BOUNDS, limits, strict=True):
            budget = eh.ExpectedDistortion(limit)
            asked = replace(problem, parity=[eh.PairwiseParity(bound)], budget=budget)
            yield compile_problem(asked, compas.counts).program

    @pytest.mark.slow
    @pytest.mark.parametrize("limits", [(0.25,) * 5, (0.5, 0.3, 0.25, 0.4, 0.2)])
    @pytest.mark.parametrize("utility", [*UTILITIES, eh.Hellinger(), eh.MaxRelativeChange()])
    def test_as_by_itself(self, compas, utility, limits):
        programs = list(self.programs(compas, utility, limits))
        for program, found in zip(programs, solve_along(programs, Clock()), strict=True):
            alone = solve(program, None, Clock())
            loss = [program.loss.value(program.released(result.x)) for result in (found, alone)]
            assert loss[0] == pytest.approx(loss[1], abs=1e-8)
            assert loss[0] - lower_bound(program, found.multipliers) <= 1e-8
            assert exceeds(program, found.x) <= 1e-9

    @pytest.mark.parametrize(
        ("utility", "module", "name"),
        [(eh.KL(), "quadratic", "QuadraticSolver"), (eh.L1(), "linear", "LinearSolver")],
    )
    def test_one_solver_serves_programmes_of_one_shape(self, compas, monkeypatch, utility, module, name):
        import evenhand.optimize.solve as package

        home = getattr(package, module)
        kind, made = getattr(home, name), []

        def counted(*arguments, **options):
            made.append(kind(*arguments, **options))
            return made[-1]

        monkeypatch.setattr(home, name, counted)
        results = list(solve_along(self.programs(compas, utility), Clock()))
        assert len(made) == 1
        assert max(result.steps for result in results) <= 3

    @pytest.mark.parametrize("utility", UTILITIES)
    def test_another_shape_begins_anew(self, compas, utility):
        """A budget of zero prunes moves, and the next programme has them again."""
        problem = replace(compas.problem, utility=utility, parity=[eh.PairwiseParity(0.7)])
        limits = (0.25, 0.0, 0.25)
        programs = [
            compile_problem(replace(problem, budget=eh.ExpectedDistortion(limit)), compas.counts).program
            for limit in limits
        ]
        assert programs[0].n_moves != programs[1].n_moves
        for program, found in zip(programs, solve_along(programs, Clock()), strict=True):
            assert program.loss.value(program.released(found.x)) == pytest.approx(0, abs=1e-8)

    @pytest.mark.parametrize("utility", UTILITIES)
    def test_an_infeasible_programme_does_not_disturb_the_next(self, compas, utility):
        problem = replace(compas.problem, utility=utility, budget=eh.ExpectedDistortion(0.25))
        programs = [
            compile_problem(replace(problem, parity=[eh.PairwiseParity(bound)]), compas.counts).program
            for bound in (0.3, 0.1, 0.3)
        ]
        first, none, again = solve_along(programs, Clock())
        assert none is None
        loss = [programs[0].loss.value(programs[0].released(found.x)) for found in (first, again)]
        assert loss[0] == pytest.approx(loss[1], abs=1e-8)

    def test_programmes_are_asked_for_one_at_a_time(self, compas):
        asked = []

        def counted():
            for program in self.programs(compas, eh.L1()):
                asked.append(program)
                yield program

        results = solve_along(counted(), Clock())
        next(results)
        assert len(asked) == 1

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("utility", UTILITIES)
    def test_a_solver_that_fails_is_replaced(self, compas, utility, monkeypatch):
        from evenhand.optimize.solve import linear, quadratic

        for kind, name in ((quadratic.QuadraticSolver, "minimise"), (linear.LinearSolver, "run")):
            real, calls = getattr(kind, name), []

            def sometimes(self, *arguments, real=real, calls=calls):
                calls.append(self)
                if len(calls) == 1:
                    raise eh.SolverError("it stopped")
                return real(self, *arguments)

            monkeypatch.setattr(kind, name, sometimes)
        results = list(solve_along(self.programs(compas, utility), Clock()))
        assert results[0] is None
        assert all(result is not None for result in results[1:])

    def test_out_of_time(self, compas):
        with pytest.raises(eh.TimeLimitError):
            next(solve_along(self.programs(compas, eh.KL()), Clock(1e-9)))

    def test_a_quasiconvex_loss_has_no_warm_way(self, compas):
        utility = eh.Quasiconvex(lambda p, r: np.max(r - p), lambda p, level: (np.eye(len(p)), p + level))
        assert next(solve_along(self.programs(compas, utility), Clock())) is None


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("utility", [eh.NeymanChi2(), eh.KL(), eh.Hellinger()], ids=lambda u: type(u).__name__)
def test_short_steps_far_from_the_optimum_are_not_the_end(utility):
    """With a tiny cell the first steps hardly close the gap, but they lower the loss."""
    rows = [("A", 0, 0, 400), ("B", 0, 1, 3), ("B", 1, 1, 10000)]
    frame = pd.DataFrame(rows, columns=["g", "x", "y", "w"])
    problem = eh.Problem(
        protected=["g"],
        features=["x"],
        outcome="y",
        utility=utility,
        parity=[eh.PairwiseParity(0.05, distance=eh.Difference())],
        distortion=eh.Distortion({"x": eh.Nominal(1), "y": eh.Free()}),
        budget=eh.ExpectedDistortion(0.1, per="xy"),
        targets="all",
    )
    assert eh.fit(problem, frame, weights="w").certificate.status == "optimal"


@pytest.mark.parametrize("seed", range(4))
def test_tidying_leaves_rare_cells_as_they_are(seed):
    """Whatever few people do is done by few: it is no dust for that."""
    rng = np.random.default_rng(seed)
    frame = small_frame().drop_duplicates().reset_index(drop=True)
    weights = 10.0 ** rng.uniform(-13, 3, len(frame))
    program = compile_problem(small_problem(), eh.count(small_problem(), frame, weights=weights)).program
    assert program.weight.min() < 1e-9
    x = rng.random(program.n_moves)
    x /= (program.simplex @ x)[program.source]
    x[rng.integers(len(x))] += 1e-9
    tidied = tidy(program, x)
    assert program.simplex @ tidied == pytest.approx(np.ones(program.n_sources))
    assert np.abs(tidied - x).max() <= 0.02


@pytest.mark.slow
def test_a_table_of_very_uneven_weights_is_fitted():
    frame = small_frame().drop_duplicates().reset_index(drop=True)
    for seed in range(4):
        weights = 10.0 ** np.random.default_rng(seed).uniform(-12, 3, len(frame))
        loose = small_problem(parity=[eh.PairwiseParity(2.0)], budget=eh.ExpectedDistortion(1.0))
        mapping = eh.fit(loose, frame, weights=weights)
        assert mapping.certificate.max_violation <= 1e-6
        assert mapping.achieved.row_error <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("tie_break", TIE_BREAKS)
def test_no_solver_outlives_its_fit(monkeypatch, utility, tie_break):
    """Solvers hold memory that the garbage collector does not see: a way back from one of them would never be freed."""
    from evenhand.optimize.solve import linear, quadratic

    alive = []
    for kind in (quadratic.QuadraticSolver, linear.LinearSolver):
        plain = kind.__init__

        def watched(self, *given, plain=plain, **options):
            plain(self, *given, **options)
            alive.append(weakref.ref(self))

        monkeypatch.setattr(kind, "__init__", watched)
    eh.fit(small_problem(utility=utility, tie_break=tie_break), small_frame())
    gc.collect()
    assert alive
    assert not any(solver() for solver in alive)
