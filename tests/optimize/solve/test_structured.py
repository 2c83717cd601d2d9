"""The specialised method: it agrees with the general solvers, and where it is not certified they answer."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawing import draw, versions
from families import random_problem, small_frame, small_problem
from formulations import all_pairs, problem_of, table
from ladder import LADDER, rung

import evenhand as eh
import evenhand.optimize.solve as solving
from evenhand.optimize.compile import compile_problem
from evenhand.optimize.program import SmoothLoss, lower_bound
from evenhand.optimize.solve import Clock, _specialised, from_tight, solve, solve_along
from evenhand.optimize.solve.dust import exceeds
from evenhand.optimize.solve.structured import faces, limits, method, steps
from evenhand.optimize.solve.structured.elimination import Factor
from evenhand.optimize.solve.structured.form import form_of, pieces_of
from evenhand.optimize.solve.structured.layout import lay_out_form
from evenhand.optimize.solve.tiebreak import least_change
from evenhand.optimize.tabulate import tabulated

SMOOTH = [
    eh.KL(), eh.Hellinger(), eh.JensenShannon(), eh.NeymanChi2(), eh.PearsonChi2(), eh.ReverseKL(), eh.SquaredL2(),
]  # fmt: skip
UTILITIES = [eh.L1(), eh.TotalVariation(), *SMOOTH]
SAME_LOSS, SAME_DISTORTION, SAME_CHANGE = 1e-8, 1e-6, 1e-5


@pytest.fixture
def always(monkeypatch):
    """Every programme that suits the method goes to it, however small."""
    monkeypatch.setattr(limits, "FROM_MOVES", 0)


def program_of(problem, frame=None):
    counts = frame if isinstance(frame, eh.Counts) else eh.count(problem, small_frame() if frame is None else frame)
    return compile_problem(tabulated(problem, counts), counts).program


def by_the_method(program, tie_break="least_change"):
    return _specialised(program, tie_break, Clock(), lambda stage, share: None)


def generally(program, monkeypatch, tie_break="least_change"):
    with monkeypatch.context() as patch:
        patch.setattr(limits, "FROM_MOVES", 10**9)
        return solve(program, tie_break, Clock())


def assert_same(program, found, general):
    """The same loss, distortion and change, a closed gap and no bound exceeded."""
    loss = [program.loss.value(program.released(result.x)) for result in (found, general)]
    assert loss[0] == pytest.approx(loss[1], abs=SAME_LOSS)
    assert loss[0] - lower_bound(program, found.multipliers) <= max(1e-9, 1e-6 * loss[0])
    assert exceeds(program, found.x) <= 1e-9
    # The same r for both: what the general solvers find of a smooth loss is not as near to the optimum.
    least = general.x
    if isinstance(program.loss, SmoothLoss):
        least, _ = least_change(program, found.x, Clock(), None)
    burden = program.move_weight * program.scaled_distortion
    # Ours may be the smaller: a general stage gives a little back.
    assert burden @ found.x <= burden @ least + SAME_DISTORTION
    change = program.move_weight * program.change
    assert change @ found.x <= change @ least + SAME_CHANGE
    assert found.notes == ()


@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("utility", UTILITIES, ids=str)
class TestFamilies:
    @pytest.mark.slow(keep=4)
    def test_feasible(self, utility, monkeypatch):
        program = program_of(small_problem(utility=utility))
        assert_same(program, by_the_method(program), generally(program, monkeypatch))

    @pytest.mark.slow
    def test_infeasible(self, utility):
        tight = small_problem(utility=utility, parity=[eh.PairwiseParity(0.01)], budget=eh.ExpectedDistortion(0.01))
        with pytest.raises(eh.errors.SolverError):
            by_the_method(program_of(tight))
        assert solve(program_of(tight), "least_change", Clock()) is None
        with pytest.raises(eh.InfeasibleError):
            eh.fit(tight, small_frame())

    @pytest.mark.slow(keep=2)
    def test_degenerate(self, utility):
        """Exact parity: no mapping has room under the bound."""
        exact = small_problem(utility=utility, parity=[eh.PairwiseParity(0)])
        mapping = eh.fit(exact, small_frame())
        assert mapping.certificate.max_violation <= 1e-9
        assert mapping.certificate.gap <= 1e-7

    @pytest.mark.slow(keep=2)
    @pytest.mark.parametrize("above", [1e-8, 1e-6, 1e-4])
    def test_near_the_edge(self, compas, utility, above):
        """Whoever answers there, the certificate holds."""
        problem = replace(compas.problem, utility=utility, budget=eh.ExpectedDistortion(0.25))
        mapping = eh.fit(replace(problem, parity=[eh.PairwiseParity(0.2109576 + above)]), compas.counts)
        assert mapping.certificate.max_violation <= 1e-9
        assert mapping.certificate.gap <= 1e-7


@pytest.mark.slow(keep=1)
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("study", ["compas", "adult"])
@pytest.mark.parametrize("utility", UTILITIES, ids=str)
def test_the_studies(study, utility, request, monkeypatch):
    """Among them budgets that several groups share (per="xy")."""
    data = request.getfixturevalue(study)
    program = compile_problem(replace(data.problem, utility=utility), data.counts).program
    assert_same(program, by_the_method(program), generally(program, monkeypatch))


@pytest.mark.slow
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("utility", [eh.KL(), eh.L1()], ids=str)
def test_a_frontier_goes_through_it_and_past_it(compas, utility, monkeypatch):
    # From tight to loose, as is best, and back.
    bounds = (0.1, 0.12, 0.14, 0.11)
    programs = [
        program_of(replace(compas.problem, utility=utility, parity=[eh.PairwiseParity(bound)]), compas.counts)
        for bound in bounds
    ]
    alone = [by_the_method(program, None) for program in programs]
    along = list(solve_along(programs, Clock()))
    # The first from the beginning, each looser one from halfway of the last.
    assert along[0].steps == alone[0].steps
    assert all(found.steps < one.steps for found, one in zip(along[1:3], alone[1:3], strict=True))
    assert from_tight(programs[0])
    # Where it does not answer, the general solvers do.
    monkeypatch.setattr(method, "GAP", -1.0)
    monkeypatch.setattr(method, "GAP_SHARE", -1.0)
    for program, found, general in zip(programs, along, solve_along(programs, Clock()), strict=True):
        loss = [program.loss.value(program.released(result.x)) for result in (found, general)]
        assert loss[0] == pytest.approx(loss[1], abs=SAME_LOSS)


@pytest.mark.slow
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize("seed", range(16))
def test_random_problems(seed, monkeypatch):
    problem, frame = random_problem(np.random.default_rng(seed))
    program = program_of(problem, frame)
    general = generally(program, monkeypatch)
    if general is None:
        with pytest.raises(eh.errors.SolverError):
            by_the_method(program)
    else:
        assert_same(program, by_the_method(program), general)


SUITABLE = [
    (i, row)
    for i, row in enumerate(all_pairs())
    if row[0] in {type(utility).__name__ for utility in UTILITIES} and row[4] in ("plain", "all targets", "blind")
]


@pytest.mark.slow(keep=2)
@pytest.mark.usefixtures("always")
@pytest.mark.parametrize(("number", "row"), SUITABLE, ids=lambda value: str(value))
def test_every_form_of_parity_and_budget(number, row, monkeypatch):
    program = program_of(problem_of(row, number), table(number))
    general = generally(program, monkeypatch)
    if general is not None:
        assert_same(program, by_the_method(program), general)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    ("number", "utility"), [(0, eh.L1()), (0, eh.KL()), (1, eh.KL()), (2, eh.L1()), (2, eh.KL())], ids=str
)
def test_the_adult_ladder(number, utility):
    problem, counts = rung(number, utility)
    compiled = compile_problem(problem, counts)
    assert compiled.program.n_moves == LADDER[number].moves
    found = solve(compiled.program, None, Clock())
    expected = LADDER[number].l1 if isinstance(utility, eh.L1) else LADDER[number].kl
    loss = compiled.program.loss.value(compiled.program.released(found.x))
    assert loss == pytest.approx(expected, abs=5e-7)
    assert loss - lower_bound(compiled.program, found.multipliers) <= max(1e-9, 1e-6 * loss)
    assert exceeds(compiled.program, found.x) <= 1e-8


@pytest.mark.slow
@pytest.mark.parametrize("number", range(10, 18))
def test_random_large_problems_need_no_other_method(number):
    """Of these the fifteenth has groups whose rates cannot move among the optima, so that rounding decides."""
    problem, counts, _ = draw(6, number, smallest=15_000, largest=40_000)
    for version in versions(problem).values():
        program = compile_problem(version, counts).program
        found = by_the_method(program)
        assert found.notes == ()
        loss = program.loss.value(program.released(found.x))
        assert loss - lower_bound(program, found.multipliers) <= max(1e-9, 1e-6 * loss)
        assert exceeds(program, found.x) <= 1e-9


@pytest.mark.slow
def test_a_fit_of_the_second_rung_is_certified_and_changes_least():
    problem, counts = rung(1, eh.L1())
    mapping = eh.fit(problem, counts)
    assert mapping.certificate.status == "optimal"
    assert mapping.certificate.notes == ()
    assert mapping.objective == pytest.approx(LADDER[1].l1, abs=5e-7)
    # The general solvers' tie-break: 0.018732533 and 0.071728276.
    p = counts.probability
    assert p @ mapping.achieved.distortion == pytest.approx(0.018732533, abs=1e-6)
    assert p @ mapping.achieved.changed == pytest.approx(0.071728276, abs=1e-6)


class TestWhoAnswers:
    def test_small_programmes_go_to_the_general_solvers(self, compas):
        assert limits.suitable(compile_problem(compas.problem, compas.counts).program) is None

    @pytest.mark.usefixtures("always")
    @pytest.mark.parametrize(
        "changes",
        [{"utility": eh.MaxRelativeChange()}, {"suppress_protected": "fixed"}],
        ids=str,
    )
    def test_a_largest_change_and_suppression_do_too(self, changes):
        rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Free()})
        assert limits.suitable(program_of(small_problem(distortion=rules, **changes))) is None

    @pytest.mark.usefixtures("always")
    @pytest.mark.parametrize(
        "limit", ["MOST_ARITHMETIC", "MOST_ENTRIES", "MOST_PAIRS", "MOST_RATES", "LARGEST_HOLDING"]
    )
    def test_so_do_programmes_beyond_a_limit(self, limit, monkeypatch):
        program = program_of(small_problem())
        assert limits.suitable(program) is not None
        monkeypatch.setattr(limits, limit, 0)
        assert limits.suitable(program) is None

    @pytest.mark.usefixtures("always")
    def test_so_do_those_of_few_rates_and_many_rows_of_parity(self, monkeypatch):
        program = program_of(small_problem())
        assert program.n_rates < len(program.parity)
        monkeypatch.setattr(limits, "MOST_RATES", program.n_rates)
        assert limits.suitable(program) is None

    @pytest.mark.parametrize("rule", [eh.Free(), eh.Ordinal(1, max_steps=1)], ids=str)
    def test_pairs_are_counted_as_they_are_laid_out(self, rule):
        """Once for owners that are put together: of free moves there are a tenth of what owners have one by one."""
        cells = itertools.product("abc", range(40), range(2))
        frame = pd.DataFrame(cells, columns=["group", "score", "hired"])
        program = program_of(small_problem(distortion=eh.Distortion({"score": rule, "hired": eh.Nominal(1)})), frame)
        laid_out = lay_out_form(form_of(program, pieces_of(program))).clusters
        entries = sum(int(((stack.columns < program.n_targets).sum(axis=1) ** 2).sum()) for stack in laid_out)
        assert limits._pairs(program) == pytest.approx(entries, rel=0.2)

    @pytest.mark.slow(keep=1)
    @pytest.mark.usefixtures("always")
    @pytest.mark.parametrize(
        ("name", "broken"),
        [
            ("minimise", lambda form, layout, start, goal, watch: steps.Answer(start, 1, {})),
            ("polished", lambda program, x, targets, good: program.stays),
            ("polished", lambda program, x, targets, good: np.full(len(x), np.nan)),
        ],
        ids=["not converged", "exceeds a bound", "not a number"],
    )
    def test_what_is_not_certified_is_answered_generally_and_says_so(self, compas, monkeypatch, name, broken):
        monkeypatch.setattr(method, name, broken)
        mapping = eh.fit(compas.problem, compas.counts)
        (note,) = mapping.certificate.notes
        assert note.startswith("the specialised method did not answer (")
        assert note.endswith("): the general solver did")
        assert mapping.certificate.status == "optimal"
        assert mapping.objective == pytest.approx(0.0212438, abs=1e-6)

    @pytest.mark.usefixtures("always")
    def test_whether_there_is_anything_to_find_is_asked_after_many_iterations(self, compas, monkeypatch):
        budget = eh.ExpectedDistortion(0.25)
        program = program_of(replace(compas.problem, utility=eh.KL(), budget=budget), compas.counts)

        def iterations():
            told = []
            assert solve(program, None, Clock(), lambda stage, share: told.append(share)) is None
            return len(told)

        late = iterations()
        monkeypatch.setattr(solving, "MANY_ITERATIONS", 3)
        assert iterations() == 4 < late

    @pytest.mark.usefixtures("always")
    def test_a_tie_break_that_fails_is_done_generally(self, compas, monkeypatch):
        monkeypatch.setattr(faces, "_holds", lambda program, x, chosen, before: False)
        mapping = eh.fit(compas.problem, compas.counts)
        (note,) = mapping.certificate.notes
        assert "the general one answered" in note
        assert compas.counts.probability @ mapping.achieved.distortion == pytest.approx(0.214, abs=1e-3)

    @pytest.mark.slow
    @pytest.mark.usefixtures("always")
    def test_even_goes_on_from_its_optimum(self, compas, monkeypatch):
        program = compile_problem(compas.problem, compas.counts).program
        found, general = by_the_method(program, "even"), generally(program, monkeypatch, "even")
        squares = [
            program.weight @ np.add.reduceat(program.distortion * result.x, program.starts[:-1]) ** 2
            for result in (found, general)
        ]
        assert squares[0] == pytest.approx(squares[1], abs=1e-5)


@pytest.mark.usefixtures("always")
class TestStopping:
    def test_the_time_limit_is_heeded_between_iterations(self, compas, monkeypatch):
        clock = Clock(60)
        iterate = steps._iterate

        def late(*arguments):
            clock.time_limit = 1e-9
            return iterate(*arguments)

        monkeypatch.setattr(steps, "_iterate", late)
        with pytest.raises(eh.TimeLimitError):
            solve(compile_problem(compas.problem, compas.counts).program, "least_change", clock)

    def test_a_tie_break_out_of_time_keeps_the_optimum(self, compas, monkeypatch):
        clock = Clock(60)

        def late(*arguments):
            clock.time_limit = 1e-9
            clock.check()

        monkeypatch.setattr(faces, "_stage", late)
        program = compile_problem(compas.problem, compas.counts).program
        found = solve(program, "least_change", clock)
        assert "tie-break skipped" in found.notes[0]
        assert program.loss.value(program.released(found.x)) == pytest.approx(0.0212438, abs=1e-6)

    def test_progress_is_told_in_every_iteration_and_never_goes_back(self, compas):
        told = []
        program = compile_problem(compas.problem, compas.counts).program
        found = solve(program, "least_change", Clock(), lambda stage, share: told.append(share))
        assert len(told) > 2 * found.steps
        loss = told[: found.steps]
        assert loss[-1] > loss[0]
        assert all(0.1 <= share <= 0.8 for share in told)

    def test_ctrl_c_goes_through(self, compas):
        def interrupted(stage, share):
            if share > 0.2:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            eh.fit(compas.problem, compas.counts, progress=interrupted)


@pytest.mark.slow
@pytest.mark.parametrize("per", ["individual", "xy"])
@pytest.mark.parametrize("utility", [eh.L1(), eh.KL()], ids=str)
def test_the_elimination_solves_the_normal_equations(compas, utility, per):
    """Against the same equations written out densely."""
    budget = eh.ExcessDistortion({0.9: 0.4, 1.9: 0.2}, per=per)
    program = compile_problem(replace(compas.problem, utility=utility, budget=budget), compas.counts).program
    form = form_of(program, pieces_of(program))
    rng = np.random.default_rng(0)
    theta = rng.uniform(0.5, 2, len(form.prices))
    rows, parity = rng.normal(size=len(form.right)), rng.normal(size=len(form.limit) + form.on_m.shape[1])
    rates = rng.normal(size=form.n_rates)
    y, small = Factor(form, lay_out_form(form), theta).solve(rows, rates, parity)
    identity = np.eye(len(form.prices))
    columns = [np.concatenate(steps.multiplied(form, column)) for column in identity]
    matrix = np.array(columns).T
    free = np.zeros((matrix.shape[0], form.n_rates))
    free[form.rate_rows] = -np.eye(form.n_rates)
    free[len(form.right) : len(form.right) + len(form.limit)] = form.on_g
    whole = np.block([[(matrix * theta) @ matrix.T, free], [free.T, np.zeros((form.n_rates, form.n_rates))]])
    expected = np.linalg.solve(whole, np.concatenate([rows, parity, rates]))
    assert np.concatenate([y, small]) == pytest.approx(expected[: -form.n_rates], abs=1e-6)
