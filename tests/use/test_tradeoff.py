"""The frontier against cold fits, its edges against the edge functions, its chart against its numbers."""

import math
from dataclasses import replace
from importlib import import_module

import numpy as np
import pytest
from families import random_problem, small_frame, small_problem

import evenhand as eh
from evenhand.render.sentences import sentence
from evenhand.use.tradeoff import Frontier, frontier, frontier_around

pytestmark = pytest.mark.turns(4)

module = import_module("evenhand.use.tradeoff")

SAME = 1e-7
BOUNDS = [0.1, 0.22, 0.3, 0.45, 0.6, 0.62]


@pytest.fixture(scope="module")
def tight(compas):
    """COMPAS at c = .25, as in the paper's figure 2."""
    return replace(compas.problem, budget=eh.ExpectedDistortion(0.25))


@pytest.fixture(scope="module")
def figure(tight, compas):
    return frontier(tight, compas.counts, bounds=np.linspace(0, 0.7, 50))


def cold(problem, counts, bound):
    """The objective of a fit that stands alone, and its status; infeasible included."""
    parity = [p.with_bounds(lambda _: bound) for p in problem.parity]
    try:
        certificate = eh.fit(replace(problem, parity=parity, tie_break=None), counts).certificate
    except eh.InfeasibleError:
        return math.nan, "infeasible"
    return certificate.objective, certificate.status


def assert_as_cold(found, problem, counts):
    for row in found.frame.itertuples():
        objective, status = cold(problem, counts, row.bound)
        assert row.status == status, row
        assert row.objective == pytest.approx(objective, abs=SAME, nan_ok=True), row


class TestThePapersFigure:
    def test_its_numbers(self, figure):
        at = {round(row.bound, 6): row for row in figure.frame.itertuples()}
        for bound, objective in [(0.285714, 0.007271), (0.357143, 0.004444), (0.428571, 0.002315), (0.485714, 0.00111)]:
            assert at[bound].objective == pytest.approx(objective, abs=5e-7)
        assert figure.smallest_feasible == pytest.approx(0.2109576, abs=5e-8)
        assert figure.identity_from == pytest.approx(0.6146101, abs=5e-8)
        assert isinstance(figure, Frontier)

    def test_every_point_is_settled_and_none_was_fitted_anew(self, figure):
        below = figure.frame["bound"] < figure.smallest_feasible
        above = figure.frame["bound"] >= figure.identity_from
        assert (figure.frame["status"] == np.where(below, "infeasible", "optimal")).all()
        assert figure.frame["objective"].isna().equals(below)
        assert (figure.frame.loc[above, ["objective", "lower_bound", "gap", "max_violation"]] == 0).all(axis=None)
        solved = figure.frame[~below & ~above]
        assert len(solved) == 29
        assert (solved["gap"] <= 1e-8).all()
        assert (solved["max_violation"] <= 1e-9).all()
        assert (solved["objective"] - solved["lower_bound"]).to_numpy() == pytest.approx(solved["gap"].to_numpy())
        assert figure.notes == ()

    def test_it_falls_and_is_convex(self, figure):
        """Convex in ε here, as the paper's figure is."""
        known = figure.frame["objective"].dropna().to_numpy()
        assert (np.diff(known) <= 1e-9).all()
        assert (np.diff(known, 2) >= -1e-8).all()


@pytest.mark.slow
@pytest.mark.parametrize("utility", [eh.KL(), eh.L1(), eh.Hellinger(), eh.MaxRelativeChange()])
def test_compas_as_cold_fits(tight, compas, utility):
    problem = replace(tight, utility=utility)
    found = frontier(problem, compas.counts, bounds=BOUNDS)
    assert found.notes == ()
    assert_as_cold(found, problem, compas.counts)


@pytest.mark.slow
@pytest.mark.parametrize("utility", [eh.L1(), eh.KL()])
def test_adult_as_cold_fits(adult, utility):
    problem = replace(adult.problem, utility=utility)
    found = frontier(problem, adult.counts, bounds=[0.1, 0.16, 0.2, 0.25, 0.5, 0.71])
    assert_as_cold(found, problem, adult.counts)
    assert (found.smallest_feasible, found.lossless_from, found.identity_from) == pytest.approx(
        (0.1489659, 0.2432, 0.7055), abs=5e-5
    )


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(24))
def test_random_families_as_cold_fits(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    found = frontier(problem, counts, bounds=[0.0, 0.03, 0.15, 0.4, 0.9])
    assert_as_cold(found, problem, counts)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_the_edges_are_those_of_the_edge_functions(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    counts = eh.count(problem, frame)
    found = frontier(problem, counts, bounds=[0.1])
    assert found.smallest_feasible == eh.smallest_parity_bound(problem, counts)
    assert found.lossless_from == eh.smallest_parity_bound(problem, counts, lossless=True)
    identity = eh.identity_from(problem, counts)
    assert found.identity_from == (identity if math.isfinite(identity) else None)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_looser_never_loses_more(seed):
    problem, frame = random_problem(np.random.default_rng(seed))
    found = frontier(problem, frame, bounds=[0.05, 0.1, 0.3, 0.6], budgets=[0.4, 0.8, 1.5])
    by = [name for name in ("budget_limit", "budget_factor") if name in found.frame]
    table = found.frame.fillna({"objective": math.inf}).pivot_table(index=by, columns="bound", values="objective")
    losses = np.nan_to_num(table.to_numpy(), posinf=1e9)
    assert (np.diff(losses, axis=0) <= SAME).all()
    assert (np.diff(losses, axis=1) <= SAME).all()


@pytest.mark.slow
def test_the_point_at_each_edge(tight, compas, adult):
    edge = eh.smallest_parity_bound(tight, compas.counts)
    statuses = frontier(tight, compas.counts, bounds=[edge - 1e-8, edge, edge + 1e-8]).frame["status"]
    assert statuses.tolist() == ["infeasible", "optimal", "optimal"]
    lossless = eh.smallest_parity_bound(adult.problem, adult.counts, lossless=True)
    objective = frontier(adult.problem, adult.counts, bounds=[lossless, lossless - 1e-4]).frame["objective"]
    assert objective[0] == pytest.approx(0, abs=1e-9)
    assert objective[1] > 1e-6


class TestBudgets:
    @pytest.mark.slow
    def test_a_single_plain_limit_is_swept_itself(self, compas):
        limits = [0.2, 0.35, 0.5]
        found = frontier(compas.problem, compas.counts, budgets=limits)
        assert found.frame["budget_limit"].tolist() == limits
        assert found.frame["bound"].tolist() == [0.1] * 3
        assert found.frame["status"].tolist() == ["infeasible", "optimal", "optimal"]
        for limit, objective in zip(limits[1:], found.frame["objective"][1:], strict=True):
            problem = replace(compas.problem, budget=eh.ExpectedDistortion(limit), tie_break=None)
            assert objective == pytest.approx(eh.fit(problem, compas.counts).objective, abs=SAME)
        smallest = 0.5 * eh.smallest_budget_factor(compas.problem, compas.counts)
        assert found.smallest_budget == pytest.approx(smallest, abs=1e-8)

    @pytest.mark.slow
    def test_several_limits_are_swept_by_a_factor(self, adult):
        found = frontier(adult.problem, adult.counts, bounds=[0.2], budgets=[0.5, 2])
        assert found.frame["budget_factor"].tolist() == [0.5, 2]
        assert "budget_limit" not in found.frame
        doubled = replace(adult.problem, budget=eh.ExcessDistortion({0.9: 0.2, 1.9: 0.1}, per="xy"))
        assert found.smallest_feasible[2] == eh.smallest_parity_bound(doubled, adult.counts)
        assert found.frame["objective"][1] == pytest.approx(cold(doubled, adult.counts, 0.2)[0], abs=SAME)

    @pytest.mark.slow
    def test_both_at_once(self, compas):
        found = frontier(compas.problem, compas.counts, bounds=[0.3, 0.5], budgets=[0.4, 0.1])
        assert found.frame[["budget_limit", "bound"]].to_numpy().tolist() == [
            [0.4, 0.3], [0.4, 0.5], [0.1, 0.3], [0.1, 0.5],
        ]  # fmt: skip
        for limit, part in found.frame.groupby("budget_limit"):
            problem = replace(compas.problem, budget=eh.ExpectedDistortion(limit))
            for row in part.itertuples():
                objective, status = cold(problem, compas.counts, row.bound)
                assert row.status == status
                assert row.objective == pytest.approx(objective, abs=SAME, nan_ok=True)
            assert found.smallest_feasible[limit] == eh.smallest_parity_bound(problem, compas.counts)
        assert found.edges["budget_limit"].tolist() == [0.4, 0.1]
        assert found.smallest_budget is None

    @pytest.mark.slow
    def test_a_budget_of_zero_prunes_moves(self):
        """Another shape of programme in the middle of a sweep."""
        found = frontier(small_problem(), small_frame(), bounds=[0.2, 0.7], budgets=[0, 0.45, 0])
        assert found.frame["status"].tolist() == [
            "infeasible",
            "optimal",
            "optimal",
            "optimal",
            "infeasible",
            "optimal",
        ]
        assert found.frame["objective"].tolist()[2] == pytest.approx(
            cold(small_problem(), small_frame(), 0.2)[0], abs=SAME
        )
        assert found.frame["objective"].tolist()[1] == 0

    @pytest.mark.slow
    def test_bounds_that_differ_are_kept(self, compas):
        parity = [eh.PairwiseParity(0.3, on=["race"]), eh.PairwiseParity(0.5)]
        problem = replace(compas.problem, parity=parity, tie_break=None)
        found = frontier(problem, compas.counts, budgets=[0.05, 0.2, 0.5])
        assert found.frame["bound"].isna().all()
        for limit, row in zip([0.05, 0.2, 0.5], found.frame.itertuples(), strict=True):
            try:
                expected = eh.fit(replace(problem, budget=eh.ExpectedDistortion(limit)), compas.counts).objective
            except eh.InfeasibleError:
                expected = math.nan
            assert row.objective == pytest.approx(expected, abs=SAME, nan_ok=True)
        loose = replace(problem, parity=[eh.PairwiseParity(2.0, on=["race"]), eh.PairwiseParity(1.0)])
        assert frontier(loose, compas.counts, budgets=[0.0, 0.5]).frame["objective"].tolist() == [0, 0]

    @pytest.mark.slow
    def test_limits_by_column_are_scaled(self):
        problem = small_problem(
            budget=eh.ExpectedDistortion(eh.By(0.4, [({"hired": 1}, 0.5), ({"score": 0}, math.inf)]))
        )
        found = frontier(problem, small_frame(), budgets=[0, 1])
        assert found.frame["budget_factor"].tolist() == [0, 1]
        expected = eh.fit(replace(problem, tie_break=None), small_frame()).objective
        assert found.frame["objective"][1] == pytest.approx(expected, abs=SAME)


class TestWithoutAWarmWay:
    @pytest.mark.slow
    def test_a_users_distance(self):
        parity = [eh.PairwiseParity(0.2, distance=eh.UserDistance(lambda p, q: np.abs(p - q)))]
        problem = small_problem(parity=parity)
        found = frontier(problem, small_frame(), bounds=[0.05, 0.1, 0.3])
        assert found.smallest_feasible is None
        assert found.identity_from == pytest.approx(0.2)
        assert_as_cold(found, problem, small_frame())

    @pytest.mark.slow
    def test_alternating(self):
        rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(0.3)})
        problem = small_problem(suppress_protected="alternating", distortion=rules, budget=eh.ExpectedDistortion(0.2))
        found = frontier(problem, small_frame(), bounds=[0.05, 0.3])
        assert found.frame["status"].tolist() == ["local", "local"]
        assert (found.smallest_feasible, found.lossless_from, found.identity_from) == (None, None, None)
        assert found.notes == ()
        assert_as_cold(found, problem, small_frame())

    def test_alternating_without_a_start_proves_nothing(self):
        rules = eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(0.3)})
        problem = small_problem(suppress_protected="alternating", distortion=rules, budget=eh.ExpectedDistortion(0.1))
        found = frontier(problem, small_frame(), bounds=[0.3])
        assert found.frame["status"].tolist() == ["unsolved"]
        assert "does not prove that there is none" in sentence(found.notes[0])

    @pytest.mark.slow
    def test_a_quasiconvex_utility(self):
        utility = eh.Quasiconvex(lambda p, r: np.max(r - p), lambda p, level: (np.eye(len(p)), p + level), highest=1.0)
        problem = small_problem(utility=utility)
        found = frontier(problem, small_frame(), bounds=[0.0, 0.2, 0.7])
        assert found.frame["status"].tolist() == ["feasible", "feasible", "optimal"]
        assert found.frame["gap"].isna().tolist() == [True, True, False]
        assert_as_cold(frontier(problem, small_frame(), bounds=[0.0, 0.2]), problem, small_frame())

    @pytest.mark.slow
    def test_suppressed_the_identity_is_no_mapping(self):
        problem = small_problem(
            suppress_protected="fixed",
            distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Free()}),
            budget=eh.ExpectedDistortion(0.5),
        )
        found = frontier(problem, small_frame(), bounds=[0.1, 2.0])
        assert found.identity_from is None
        assert_as_cold(found, problem, small_frame())


@pytest.mark.slow
def test_a_point_that_the_warm_way_misses_is_fitted_anew(tight, compas, monkeypatch):
    monkeypatch.setattr(module, "solve_along", lambda programs, clock: (None for _ in programs))
    found = frontier(tight, compas.counts, bounds=[0.1, 0.3])
    assert_as_cold(found, tight, compas.counts)
    (note,) = found.notes
    assert sentence(note) == "bound 0.3: the warm start did not reach the optimum; fitted anew"


@pytest.mark.slow
def test_a_point_that_is_worse_than_optimal_is_fitted_anew(tight, compas, monkeypatch):
    from evenhand.optimize.solve import solve_along

    def spoiled(programs, clock):
        for result in solve_along(programs, clock):
            nothing = replace(result.multipliers, released=0 * result.multipliers.released)
            yield replace(result, multipliers=nothing)

    monkeypatch.setattr(module, "solve_along", spoiled)
    found = frontier(tight, compas.counts, bounds=[0.3])
    assert_as_cold(found, tight, compas.counts)
    assert "fitted anew" in sentence(found.notes[0])


def test_a_solver_that_fails_leaves_the_point_unsolved(tight, compas, monkeypatch):
    def fails(*_, **__):
        raise eh.SolverError("it stopped")

    monkeypatch.setattr(module, "solve_along", lambda programs, clock: (None for _ in programs))
    monkeypatch.setattr(module, "fit_counted", fails)
    found = frontier(tight, compas.counts, bounds=[0.1, 0.3, 0.7])
    assert found.frame["status"].tolist() == ["infeasible", "unsolved", "optimal"]
    assert sentence(found.notes[-1]) == "bound 0.3: it stopped"
    edges, points = found.sections
    assert edges.tables[0].values("smallest_feasible") == [found.smallest_feasible]
    every_point, remarks = points.tables
    assert every_point.values("status") == ["infeasible", "unsolved", "optimal"]
    assert remarks.values("remark") == list(found.notes)
    assert "bound 0.3: it stopped" in str(found)


@pytest.mark.slow
def test_time_that_runs_out_keeps_the_points_found(tight, compas, monkeypatch):
    real = module.solve_along

    def slow(programs, clock):
        for number, result in enumerate(real(programs, clock)):
            if number == 2:
                raise eh.TimeLimitError("no answer within the time limit of 9 s")
            yield result

    monkeypatch.setattr(module, "solve_along", slow)
    found = frontier(tight, compas.counts, bounds=[0.3, 0.35, 0.4, 0.45], time_limit=9)
    assert found.frame["status"].tolist() == ["unsolved", "unsolved", "optimal", "optimal"]
    assert "time limit of 9 s" in sentence(found.notes[0])
    with pytest.raises(eh.TimeLimitError):
        frontier(tight, compas.counts, bounds=[0.3], time_limit=1e-9)


def test_progress_rises_to_one(tight, compas):
    seen = []
    frontier(tight, compas.counts, bounds=[0.1, 0.3, 0.5], progress=lambda stage, share: seen.append((stage, share)))
    shares = [share for _, share in seen]
    assert shares == sorted(shares)
    assert shares[-1] == 1
    assert len(shares) >= 4
    assert [stage for stage, _ in seen if stage.endswith(" done")] == [f"tracing 2 points, {n} done" for n in range(3)]


@pytest.mark.slow
def test_the_order_and_repeats_are_the_callers(tight, compas):
    found = frontier(tight, compas.counts, bounds=[0.5, 0.3, 0.5])
    assert found.frame["bound"].tolist() == [0.5, 0.3, 0.5]
    assert found.frame["objective"][0] == pytest.approx(found.frame["objective"][2], abs=1e-9)


@pytest.mark.slow
def test_frames_and_weights(tight, compas):
    people = compas.frame
    one = frontier(tight, people, bounds=[0.3]).frame["objective"][0]
    assert one == pytest.approx(frontier(tight, compas.counts, bounds=[0.3]).frame["objective"][0], abs=1e-9)
    heavy = frontier(tight, people, bounds=[0.3], weights=[2.0] * len(people)).frame["objective"][0]
    assert heavy == pytest.approx(one, abs=1e-9)


@pytest.mark.parametrize(
    ("changes", "asked", "words"),
    [
        ({}, {}, "say what to trace"),
        ({}, {"bounds": []}, "bounds must list at least one"),
        ({}, {"bounds": [0.1, -0.1]}, "each of bounds must be at least 0"),
        ({}, {"bounds": [math.nan]}, "each of bounds must be a number"),
        ({}, {"bounds": [math.inf]}, "each of bounds must be finite"),
        ({}, {"bounds": 0.1}, "bounds must be a list of numbers"),
        ({}, {"bounds": "0.1"}, "bounds must be a list of numbers"),
        ({}, {"bounds": ["0.1"]}, "each of bounds must be a number"),
        ({}, {"budgets": []}, "budgets must list at least one"),
        ({}, {"budgets": [-1]}, "each of budgets must be at least 0"),
        ({"parity": []}, {"bounds": [0.1]}, "has no parity"),
        ({"budget": None}, {"budgets": [0.1]}, "the problem has none"),
        ({"budget": eh.ExcessDistortion({0.5: 0.2})}, {"budgets": [1.5]}, "at most 1"),
    ],
)
def test_bad_input(changes, asked, words):
    with pytest.raises(eh.SpecError, match=words):
        frontier(small_problem(**changes), small_frame(), **asked)


def test_a_table_with_one_group():
    frame = small_frame()
    with pytest.raises(eh.DataError, match="single group"):
        frontier(small_problem(), frame[frame["group"] == "a"], bounds=[0.1])


def drawn(picture):
    """The one chart of a picture, its points by panel, and its lines by panel and name."""
    (chart,) = picture.charts
    points, lines = {}, {}
    for row in chart.table.records():
        points.setdefault(row["panel"], []).append(row)
    for line in chart.lines:
        lines.setdefault(line.panel, {})[line.key.removeprefix("chart.")] = line.value
    return chart, points, lines


class TestChart:
    def test_it_holds_the_points_the_edges_and_the_region(self, figure):
        chart, points, lines = drawn(figure.chart())
        known = figure.frame.dropna()
        # It ends at its own edge: beyond, nobody need change.
        known = known[known["bound"] <= figure.identity_from]
        *line, last = points[None]
        assert [row["bound"] for row in line] == known["bound"].tolist()
        assert [row["objective"] for row in line] == known["objective"].tolist()
        assert (last["bound"], last["objective"]) == (figure.identity_from, 0.0)
        assert lines[None] == {
            "smallest": figure.smallest_feasible, "lossless": figure.lossless_from, "identity": figure.identity_from,
        }  # fmt: skip
        assert [line.shade for line in chart.lines] == ["below", None, None]
        text = figure.chart().to_svg()
        for words in (
            "infeasible",
            "smallest feasible 0.211",
            "unchanged from 0.6146",
            "parity bound ε",
            "utility lost, KL",
        ):
            assert words in text

    @pytest.mark.slow
    def test_several_budgets_are_small_multiples_each_with_its_edges(self, compas):
        found = frontier(compas.problem, compas.counts, bounds=[0.3, 0.5, 0.65], budgets=[0.1, 0.25])
        _, points, lines = drawn(found.chart())
        assert list(points) == list(lines) == ["budget c = 0.1", "budget c = 0.25"]
        assert [edges["smallest"] for edges in lines.values()] == list(found.smallest_feasible.values())
        for budget, panel in zip((0.1, 0.25), points, strict=True):
            known = found.frame[(found.frame["budget_limit"] == budget) & (found.frame["status"] == "optimal")]
            known = known[known["bound"] <= lines[panel]["identity"]]
            assert [row["objective"] for row in points[panel]] == [*known["objective"], 0.0]
            assert points[panel][-1]["bound"] == lines[panel]["identity"]

    @pytest.mark.slow
    def test_people_stand_beside_the_loss(self, compas):
        found = frontier(compas.problem, compas.counts, bounds=[0.3, 0.5, 0.6], people=True)
        chart, points, _ = drawn(found.chart(chosen=(0.3, float(found.frame["objective"][0]))))
        assert chart.y == ("objective", "changed")
        assert [row["objective"] for row in points[None]] == [*found.frame["objective"], 0.0]
        assert [row["changed"] for row in points[None]] == [*found.frame["changed"], 0.0]
        assert [(point.x, point.y) for point in chart.points] == [(0.3, found.frame["objective"][0])]
        assert "people changed" in found.chart().to_svg()

    @pytest.mark.slow
    def test_budgets_alone_are_the_axis(self, compas):
        found = frontier(compas.problem, compas.counts, budgets=[0.2, 0.4, 0.6])
        _, points, lines = drawn(found.chart())
        assert [row["budget_limit"] for row in points[None]] == [0.4, 0.6]
        assert lines[None] == {"smallest": found.smallest_budget}
        assert "budget c, parity bound ε = 0.1" in found.chart().to_svg()

    def test_nothing_feasible(self, compas, tight):
        picture = frontier(tight, compas.counts, bounds=[0.0, 0.1]).chart()
        assert drawn(picture)[1] == {}
        assert picture.to_svg().startswith("<svg")


def test_it_says_what_it_is(figure):
    assert repr(figure).startswith("<Frontier of 50 points (35 optimal, 15 infeasible): smallest feasible ε 0.211>")


def around(mapping, points=6):
    changed = module.share_changed(mapping)
    return frontier_around(mapping.problem, mapping.counts, mapping.certificate, changed, points=points)


def feasible_problem(seed):
    """A random problem that can be met, at a bound somewhat looser than its smallest."""
    problem, frame = random_problem(np.random.default_rng(seed))
    edge = eh.smallest_parity_bound(problem, frame)
    return problem.with_bounds(lambda _: 0.05 + 1.2 * edge), frame


@pytest.mark.slow
def test_people_are_those_of_the_fits(compas):
    """The loss is that of the frontier without them; who changes is settled by the tie-break."""
    bounds = [0.0, 0.3, 0.5, 0.7]
    problem = replace(compas.problem, budget=eh.ExpectedDistortion(0.25))
    found = eh.frontier(problem, compas.counts, bounds=bounds, people=True).frame
    plain = eh.frontier(problem, compas.counts, bounds=bounds).frame
    assert "changed" not in plain
    assert found["objective"].tolist() == pytest.approx(plain["objective"].tolist(), abs=SAME, nan_ok=True)
    fitted = eh.fit(problem.with_bounds(lambda _: 0.3), compas.counts)
    assert np.isnan(found["changed"][0])
    assert found["changed"][1] == pytest.approx(module.share_changed(fitted), abs=1e-6)
    assert found["changed"][1] > found["changed"][2] > found["changed"][3] == 0


class TestAroundAMapping:
    @pytest.mark.slow
    @pytest.mark.parametrize("seed", [6, 7, 9, 11, 20])
    def test_its_points_are_those_of_fits_and_the_mapping_is_one_of_them(self, seed):
        mapping = eh.fit(*feasible_problem(seed))
        found, chosen = around(mapping), mapping.problem.one_bound
        assert found.frame["bound"].is_monotonic_increasing
        assert found.frame["bound"].min() == pytest.approx(found.smallest_feasible, abs=2e-9)
        assert found.frame["bound"].max() >= found.identity_from
        (own,) = found.frame[found.frame["bound"] == chosen].to_dict("records")
        for name in ("objective", "lower_bound", "gap", "max_violation", "status"):
            assert own[name] == getattr(mapping.certificate, name)
        assert own["changed"] == module.share_changed(mapping)
        assert found.frame["changed"].notna().all()
        assert_as_cold(found, mapping.problem, mapping.counts)

    @pytest.mark.slow
    def test_it_is_solved_from_the_mapping_outwards(self, compas_mapping, monkeypatch):
        runs, solved = [], module._each_refitted
        monkeypatch.setattr(
            module, "_each_refitted", lambda spots, *rest: runs.append([s.bound for s in spots]) or solved(spots, *rest)
        )
        found = around(compas_mapping, 8)
        tighter, looser = runs
        assert tighter == sorted(tighter, reverse=True)
        assert looser == sorted(looser)
        assert max(tighter) < 0.1 < min(looser)
        # What the edge settles, where nobody need change, need not be solved.
        assert len(tighter) + len(looser) == 7
        assert len(found.frame) == 8 + 1

    @pytest.mark.slow
    @pytest.mark.parametrize("points", [2, 5, 12])
    def test_as_many_points_as_were_asked_for(self, compas_mapping, points):
        assert len(around(compas_mapping, points).frame) == points + 1

    @pytest.mark.slow
    @pytest.mark.parametrize("bound", [0.6146100920391904, 1.0, 1e6])
    def test_a_bound_at_which_nobody_changes(self, compas, bound):
        mapping = eh.fit(compas.problem.with_bounds(lambda _: bound), compas.counts)
        frame = around(mapping).frame
        assert frame.loc[frame["bound"] == bound, "objective"].tolist() == [mapping.objective]
        # The points are where something is lost, wherever the mapping is.
        assert (frame["objective"] > 0).sum() >= 4

    @pytest.mark.slow
    def test_bounds_that_differ_are_changed_by_one_factor(self, compas):
        parity = [eh.PairwiseParity(0.3, on=["sex"]), eh.PairwiseParity(0.25, on=["race"])]
        problem = replace(compas.problem, parity=parity, budget=eh.ExpectedDistortion(0.25))
        mapping = eh.fit(problem, compas.counts)
        found = around(mapping, 4)
        at = found.frame.set_index("bound_factor")
        assert at.loc[1.0, "objective"] == mapping.objective
        assert at.loc[0.0, "status"] == "infeasible"
        assert (at.loc[at.index >= 1, "status"] == "optimal").all()
        for factor in at.index[at["status"] == "optimal"]:
            fitted = eh.fit(replace(problem.with_bounds(lambda own, f=factor: own * f), tie_break=None), compas.counts)
            assert at.loc[factor, "objective"] == pytest.approx(fitted.objective, abs=SAME)
        last = found.identity_from
        assert at.loc[at.index >= last, "objective"].tolist() == [0.0] * int((at.index >= last).sum())
        assert "factor on all parity bounds" in found.chart().to_svg().casefold()
