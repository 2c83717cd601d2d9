"""Why a problem is infeasible, what would help, and that both are proved; or what its bounds cost."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem
from formulations import DISTORTIONS, MODES, PARITIES, all_pairs, problem_of, table
from scipy.optimize import linprog

import evenhand as eh
from evenhand import diagnosis as diagnosis_of
from evenhand import verifier
from evenhand.optimize.solve import Clock

pytestmark = pytest.mark.turns(4)

ROWS = all_pairs()
INFEASIBLE = [0, 3, 4, 6, 8, 12, 20, 28, 36, 43, 45, 53, 73, 78, 84, 112, 113, 156, 169]
"""One infeasible row of settings for nearly every form of parity."""

MEN, WOMEN = "sex=Male, race=African-American", "sex=Female, race=Caucasian"


@pytest.fixture(scope="module")
def costly(compas):
    """The paper's text: lowering the outcome costs 2."""
    rules = dict(compas.problem.distortion.rules) | {"is_recid": eh.Ordinal(step=2, up=False)}
    return replace(compas.problem, distortion=eh.Distortion(rules))


@pytest.fixture(scope="module")
def diagnosis(costly, compas):
    return eh.diagnose(costly, compas.frame)


def feasible(problem, frame):
    try:
        eh.fit(replace(problem, tie_break=None), frame)
    except eh.InfeasibleError:
        return False
    return True


def raised(problem, bound):
    return problem.with_bounds(lambda b: max(b, bound))


def scaled(problem, factor):
    return problem.with_limits(lambda c: c * factor)


def why(diagnosis):
    return " ".join(diagnosis.sentences())


def stands(diagnosis, folder):
    diagnosis.proof(folder / "a.proof")
    return verifier.verify(folder / "a.proof").stands


class TestThePapersText:
    """COMPAS with a cost of 2 for lowering the outcome is infeasible at ε = .1, c = .5."""

    def test_smallest_changes(self, diagnosis):
        assert not diagnosis.feasible
        assert diagnosis.smallest_parity_bound == pytest.approx(0.2109576, abs=1e-6)
        assert diagnosis.smallest_budget == pytest.approx(0.6374419, abs=1e-6)
        assert diagnosis.smallest_budget_factor == pytest.approx(2 * 0.6374419, abs=2e-6)
        assert diagnosis.prices is None

    def test_explanation_names_whom_and_what(self, diagnosis):
        said = why(diagnosis)
        assert f"is_recid=1 among {MEN} is 0.5929 now; budgets and forbidden moves let it reach 0.4447" in said
        assert f"Among {WOMEN} it is 0.3672 now and can reach 0.2754 to 0.3672. The bound between them is 0.1." in said
        assert f"The budget expected distortion ≤ 0.5 of {MEN} with is_recid=1 stands in the way (18 cells)" in said
        assert "changing is_recid 1 → 0 alone is charged 2, so at most 25% of them may do so" in said
        assert f"Changing is_recid 0 → 1 is forbidden; for {WOMEN} it would help." in said
        assert "raise the parity bound to 0.2109576 and keep the budgets" in said
        assert "expected distortion ≤ 0.5 → 0.6374419" in said
        assert repr(diagnosis) == "<Diagnosis: infeasible. No mapping meets every bound.>"

    def test_sections(self, diagnosis):
        verdict, conflict = diagnosis.sections
        facts = {fact.key: fact.value for fact in verdict.facts}
        assert facts["feasible"] is False
        assert facts["smallest_budget"] == diagnosis.smallest_budget
        assert facts["cheapest"] == diagnosis.cheapest
        bounds, reach, forbidden = conflict.tables
        assert bounds.values("share") == diagnosis.conflict.bounds["share"].tolist()
        assert reach.values("lowest") == diagnosis.conflict.reach["lowest"].tolist()
        assert forbidden.values("eases") == diagnosis.conflict.forbidden["eases"].tolist()
        assert "<h2>Infeasible</h2>" in diagnosis._repr_html_()

    def test_bounds_in_conflict(self, diagnosis):
        bounds = diagnosis.conflict.bounds
        assert (bounds["share"] > 0).all()
        assert bounds["share"].sum() == pytest.approx(1)
        parity = bounds[bounds["constraint"] == "PairwiseParity"]
        assert parity["where"].tolist() == [f"is_recid=1: {MEN} against {WOMEN}"]
        budgets = bounds[bounds["constraint"] == "expected distortion"]
        assert budgets["where"].str.startswith(MEN).all()
        assert budgets["where"].str.endswith("is_recid=1").all()
        assert len(budgets) == 18

    def test_reach(self, diagnosis):
        """A quarter of those with outcome 1 may change, at 2 a change and 0.5 to spend; nobody may the other way."""
        reach = diagnosis.conflict.reach.set_index("group")
        assert reach.loc[MEN, ["now", "lowest", "highest"]].tolist() == pytest.approx([0.592917, 0.444688, 0.592917])
        now, lowest, highest = reach.loc[WOMEN, ["now", "lowest", "highest"]]
        assert (lowest, highest) == pytest.approx((0.75 * now, now))

    def test_forbidden_change(self, diagnosis):
        forbidden = diagnosis.conflict.forbidden
        assert forbidden[["column", "from", "to", "group"]].to_numpy().tolist() == [["is_recid", 0, 1, WOMEN]]
        assert forbidden["eases"].iloc[0] > 0

    def test_allowing_it_does_help(self, costly, compas):
        rules = dict(costly.distortion.rules) | {"is_recid": eh.Ordinal(step=2)}
        eased = eh.diagnose(replace(costly, distortion=eh.Distortion(rules)), compas.frame)
        assert eased.feasible

    @pytest.mark.slow
    def test_cheapest_change(self, diagnosis, costly, compas):
        bound, factor = diagnosis.cheapest["parity_bound"], diagnosis.cheapest["budget_factor"]
        cost = (bound - 0.1) / 0.1 + factor - 1
        assert cost <= (diagnosis.smallest_parity_bound - 0.1) / 0.1 + 1e-9
        assert cost <= diagnosis.smallest_budget_factor - 1 + 1e-9
        assert feasible(scaled(raised(costly, bound + 1e-6), factor + 1e-6), compas.counts)
        assert not feasible(scaled(raised(costly, bound - 1e-4), factor - 1e-4), compas.counts)

    def test_proof(self, diagnosis, tmp_path):
        assert diagnosis.conflict.excess > 0
        assert stands(diagnosis, tmp_path)


@pytest.mark.parametrize(
    ("needed", "where", "most"),
    [
        (lambda bound: 2 - bound, 0.1, 1),
        (lambda bound: 1 + 40 * (0.5 - bound), 0.5, 3),
        (lambda bound: 1 + 0.9 / bound, 0.3, 25),
        (lambda bound: 1.0 if bound > 0.2 else 1 + 60 * (0.2 - bound), 0.2, 25),
    ],
    ids=["tighter", "looser", "both", "both, with a corner"],
)
def test_the_cheapest_change_is_at_an_end_or_searched_for_between(compas, monkeypatch, needed, where, most):
    """Of what raising the bound costs in its own unit, 0.1, and what the budgets then need beyond what they are."""
    tried = []

    def budget_edge(problem, counts, clock):
        tried.append(problem.smallest_bound)
        return needed(problem.smallest_bound)

    monkeypatch.setattr(diagnosis_of, "budget_edge", budget_edge)
    ends = 0.5, needed(0.1)
    found = diagnosis_of._cheapest(compas.problem, compas.counts, *ends, Clock(), lambda stage, share: None)
    assert found["parity_bound"] == pytest.approx(where, abs=1e-3)
    assert found["budget_factor"] == pytest.approx(max(1.0, needed(found["parity_bound"])))
    assert len(tried) <= most


def test_a_feasible_problem_is_told_its_prices(compas, compas_mapping, tmp_path):
    found = eh.diagnose(compas.problem, compas.frame)
    assert found.feasible
    assert found.conflict is None
    assert found.cheapest is None
    assert found.price_list.parity == pytest.approx(compas_mapping.prices().parity)
    assert found.prices["price"].max() == pytest.approx(0.125659, abs=1e-5)
    assert "Relaxing PairwiseParity would gain 0.12565" in why(found)
    assert found.smallest_parity_bound < 0.1
    assert 0.5 * found.smallest_budget_factor == found.smallest_budget == pytest.approx(0.3187, abs=1e-4)
    assert stands(found, tmp_path)


def test_where_nothing_costs_anything(compas):
    found = eh.diagnose(replace(compas.problem, parity=[eh.PairwiseParity(0.7)]), compas.counts)
    assert "No bound costs utility" in why(found)
    assert (found.prices["price"] == 0).all()


@pytest.mark.slow
@pytest.mark.parametrize("number", INFEASIBLE)
def test_ways_out_are_the_smallest(number, tmp_path):
    """At the bound or the factor it can be done, a little below it cannot; and the conflict is proved."""
    problem, frame = problem_of(ROWS[number], number), table(number)
    found = eh.diagnose(problem, frame)
    assert not found.feasible
    assert (found.conflict.bounds["share"] > 0).all()
    assert stands(found, tmp_path)
    bound, factor = found.smallest_parity_bound, found.smallest_budget_factor
    assert feasible(raised(problem, bound * 1.0001 + 1e-6), frame)
    assert not feasible(raised(problem, bound * 0.999 - 1e-6), frame)
    if factor is not None:
        assert feasible(scaled(problem, factor * 1.0001), frame)
        assert not feasible(scaled(problem, factor * 0.999), frame)
        cheapest = found.cheapest
        assert feasible(
            scaled(raised(problem, cheapest["parity_bound"] * 1.0001), cheapest["budget_factor"] * 1.0001), frame
        )
    elif problem.charges:
        assert not feasible(scaled(problem, 1000.0), frame)
        assert "Larger budgets alone would not do." in found.sentences()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(12))
def test_random_problems_are_proved_either_way(seed, tmp_path):
    problem, frame = random_problem(np.random.default_rng(seed))
    found = eh.diagnose(problem, frame)
    assert found.feasible == feasible(problem, frame)
    assert stands(found, tmp_path)


@pytest.mark.slow
def test_there_are_infeasible_ones_among_the_random_problems():
    trials = (random_problem(np.random.default_rng(seed)) for seed in range(12))
    assert 2 <= sum(not feasible(*trial) for trial in trials) <= 10


def reachable(problem, counts, group, outcome):
    """The least and the most of p(ŷ|d) within the budgets: a linear programme over every pair of cells, densely."""
    domain = counts.domain
    size = domain.x.size * domain.y.size
    target = np.arange(size)
    to_x, to_y = domain.split_xy(target)
    n = len(counts)
    source = np.repeat(np.arange(n), size)
    cost = problem.distortion.between(
        domain, counts.x[source], counts.y[source], np.tile(to_x, n), np.tile(to_y, n)
    )  # fmt: skip
    seen = np.isin(np.tile(to_x, n), counts.x)
    usable = np.isfinite(cost) & seen
    rows = np.zeros((n, n * size))
    rows[source, np.arange(n * size)] = 1
    limits, upper = [], []
    for charge in problem.charges:
        spent = np.where(usable, charge.of(np.where(usable, cost, 0.0)), 0.0)
        holders = np.arange(n) if charge.per == "individual" else counts.records.of_source
        share = np.ones(n) if charge.per == "individual" else counts.given("xy")
        block = np.zeros((holders.max() + 1, n * size))
        block[holders[source], np.arange(n * size)] = spent * share[source]
        limits.append(block)
        upper.append(charge.limits(counts))
    mine = counts.probability * (counts.d == group)
    rate = (mine / mine.sum())[source] * (np.tile(to_y, n) == outcome)
    bounds = [(0, None) if ok else (0, 0) for ok in usable]
    found = [
        linprog(sign * rate, np.vstack(limits), np.concatenate(upper), rows, np.ones(n), bounds).fun * sign
        for sign in (1, -1)
    ]
    return tuple(found)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(
    "budget",
    [
        eh.ExpectedDistortion(0.3),
        eh.ExpectedDistortion(eh.By(0.2, [({"sex": "m"}, 0.4)])),
        eh.ExpectedDistortion(0.25, per="xy"),
        [eh.ExpectedDistortion(0.4), eh.ExcessDistortion({0.9: 0.2, 1.4: 0.1})],
    ],
)
def test_reach_is_what_a_linear_programme_finds(budget):
    problem = eh.Problem(
        protected=["sex", "race"], features=["f0", "f1"], outcome="y", parity=[eh.PairwiseParity(0.01)],
        distortion=DISTORTIONS["sum"]("changes"), budget=budget,
    )  # fmt: skip
    counts = eh.count(problem, table(2))
    found = eh.diagnose(replace(problem, distortion=DISTORTIONS["sum"]("falls")), counts)
    reach = found.conflict.reach
    assert len(reach) >= 2
    problem = found.problem
    for row in reach.to_dict("records"):
        group = next(d for d in counts.groups.cells if counts.domain.d.words(int(d)) == row["group"])
        lowest, highest = reachable(problem, counts, group, counts.domain.outcome.levels.index(row["y"]))
        assert (row["lowest"], row["highest"]) == pytest.approx((lowest, highest), abs=1e-8)
        assert lowest - 1e-9 <= row["now"] <= highest + 1e-9


class TestNobodyLeft:
    """Where somebody has no move at all there are no bounds to weigh."""

    @pytest.fixture
    def found(self):
        stuck = small_problem(
            parity=[eh.TargetParity(0.1, {0: 1.0, 1: 0.0})],
            distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Ordinal(1, down=False)}),
        )
        return eh.diagnose(stuck, small_frame())

    def test_it_is_said(self, found):
        assert not found.feasible
        assert found.conflict is None
        assert found.cheapest is None
        assert "people at (group=a; score=0; hired=1) cannot leave it" in why(found)

    def test_it_is_proved(self, found, tmp_path):
        assert found.stranded
        assert stands(found, tmp_path)


def test_outcomes_that_were_ruled_out_from_the_start_are_named(tmp_path):
    """Nobody of group b can be hired, so a bound on ratios lets nobody of group a be: that is beyond their budgets."""
    frame = small_frame()
    frame.loc[frame["group"].eq("b"), "hired"] = 0
    found = eh.diagnose(small_problem(), frame)
    assert not found.feasible
    barred = "hired=1 can never happen among group=b; a bound on ratios then lets nobody among group=a have it."
    assert barred in found.sentences()
    assert "Larger parity bounds alone would not do." in found.sentences()
    assert found.smallest_budget == pytest.approx(1.0)
    assert stands(found, tmp_path)


def suppressed(limit, mode="fixed", parity=()):
    return small_problem(
        parity=list(parity),
        suppress_protected=mode,
        distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(limit),
    )


def test_budgets_that_nobody_can_keep(tmp_path):
    """With D suppressed the outcome is drawn anew, which costs; without any parity the budgets alone conflict."""
    found = eh.diagnose(suppressed(0.1), small_frame())
    assert not found.feasible
    assert found.smallest_parity_bound is None
    assert set(found.conflict.bounds["constraint"]) == {"expected distortion"}
    assert found.smallest_budget == pytest.approx(0.7)
    assert "multiply the budgets by 7 (expected distortion ≤ 0.1 → 0.7000000)" in why(found)
    assert "parity" not in why(found)
    assert feasible(suppressed(0.7001), small_frame())
    assert stands(found, tmp_path)


def test_larger_parity_bounds_may_be_of_no_use(tmp_path):
    found = eh.diagnose(suppressed(0.1, parity=[eh.PairwiseParity(0.1)]), small_frame())
    assert found.smallest_parity_bound is None
    assert "Larger parity bounds alone would not do." in found.sentences()
    assert stands(found, tmp_path)


class TestAlternating:
    @pytest.mark.slow
    def test_infeasible_even_without_suppression(self, tmp_path):
        """The proof must not be about p(ŷ|x̂) = p(y|x), which an alternating minimisation need not keep."""
        problem = suppressed(0.1, "alternating", [eh.PairwiseParity(0.1)])
        found = eh.diagnose(problem, small_frame())
        assert not found.feasible
        assert "Not even a mapping that does not suppress D" in why(found)
        found.proof(tmp_path / "a.proof")
        assert '"conditional": null' in (tmp_path / "a.proof").read_text()
        assert verifier.verify(tmp_path / "a.proof").stands
        plain = eh.diagnose(replace(problem, suppress_protected=None), small_frame())
        assert found.smallest_budget == pytest.approx(plain.smallest_budget)

    def test_what_is_not_proved_is_not_called_infeasible(self):
        """Without suppression it could be done: no bound is to blame, and none is named as a way out."""
        problem = suppressed(0.1, "alternating", [eh.PairwiseParity(0.5)])
        assert feasible(replace(problem, suppress_protected=None), small_frame())
        with pytest.raises(eh.SolverError, match="does not prove that there is none"):
            eh.diagnose(problem, small_frame())

    def test_feasible(self):
        found = eh.diagnose(suppressed(0.6, "alternating", [eh.PairwiseParity(0.1)]), small_frame())
        assert found.feasible
        assert found.prices is None
        assert "not convex" in why(found)


@pytest.mark.slow
def test_a_users_distance(tmp_path):
    """Its lines conflict like any others; its price is not known."""
    distance = eh.UserDistance(lambda p, q: np.abs(p - q), "the gap")
    tight, loose = (small_problem(parity=[eh.PairwiseParity(e, distance)]) for e in (0.01, 0.1))
    found = eh.diagnose(replace(tight, budget=eh.ExpectedDistortion(0.1)), small_frame())
    assert not found.feasible
    assert 0.1 < found.smallest_parity_bound < 0.2
    assert stands(found, tmp_path)
    found = eh.diagnose(loose, small_frame())
    assert found.feasible
    assert math.isnan(found.price_list.parity[0])
    assert "What relaxing PairwiseParity would gain is not known." in found.sentences()
    assert "No bound costs utility" not in why(found)
    assert stands(found, tmp_path)


@pytest.mark.slow
def test_a_distance_that_was_kept_as_lines(tmp_path):
    """The problem of a loaded mapping knows the lines of its own bounds and no others."""
    distance = eh.UserDistance(lambda p, q: np.abs(p - q), "the gap")
    eh.fit(small_problem(parity=[eh.PairwiseParity(0.1, distance)]), small_frame()).save(tmp_path / "m")
    kept = eh.Mapping.load(tmp_path / "m").problem
    found = eh.diagnose(kept, small_frame())
    assert found.feasible
    assert found.smallest_parity_bound is None


def test_released_segments(tmp_path):
    """A rate within a released segment is a quotient: it is told as it is, and its reach is not."""
    problem = eh.Problem(
        protected=["sex", "race"], features=["f0", "f1"], outcome="y",
        parity=PARITIES["released segments"](0.06), distortion=DISTORTIONS["sum"]("falls"),
        budget=eh.ExpectedDistortion(0.05),
    )  # fmt: skip
    found = eh.diagnose(problem, table(1))
    assert not found.feasible
    assert len(found.conflict.reach) == 0
    assert "with the released f0=" in why(found)
    assert stands(found, tmp_path)


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("mode", ["blind", "suppressed", "suppressed, blind", "own model"])
def test_other_modes(mode, tmp_path):
    """Forbidden moves are not told, for one person's move is not theirs alone; all else is."""
    outcome = "falls" if mode == "blind" else "is free"
    problem = eh.Problem(
        protected=["sex", "race"], features=["f0", "f1"], outcome="y", parity=[eh.PairwiseParity(0.02)],
        distortion=DISTORTIONS["sum"](outcome), budget=eh.ExpectedDistortion(0.1), **MODES[mode],
    )  # fmt: skip
    found = eh.diagnose(problem, table(4))
    assert not found.feasible
    assert len(found.conflict.forbidden) == 0
    assert ("A blind mapping moves both together." in why(found)) == ("blind" in mode)
    assert ("with ŷ drawn given x̂ alone" in why(found)) == (mode != "blind")
    assert stands(found, tmp_path)


@pytest.mark.slow
def test_limits_of_zero_stay_zero_and_are_not_called_a_way_out():
    limit = eh.By(0.1, [({"sex": "f", "race": "a"}, 0.0), ({"race": "b", "f0": 0}, math.inf)])
    problem = eh.Problem(
        protected=["sex", "race"], features=["f0", "f1"], outcome="y", parity=[eh.PairwiseParity(0.3)],
        distortion=DISTORTIONS["sum"]("falls"),
        budget=eh.ExpectedDistortion(limit),
    )  # fmt: skip
    found = eh.diagnose(problem, table(3))
    assert not found.feasible
    assert found.smallest_budget == {"expected distortion": pytest.approx(0.1 * found.smallest_budget_factor)}
    assert f"(expected distortion ≤ 0.1 → {0.1 * found.smallest_budget_factor:.7f})" in " ".join(found.sentences())


@pytest.mark.slow
def test_a_probability_is_raised_to_one_at_most():
    problem = small_problem(parity=[eh.PairwiseParity(0.0)], budget=eh.ExcessDistortion({0.5: 0.3, 1.5: 0.29}))
    found = eh.diagnose(problem, small_frame())
    assert not found.feasible
    assert found.smallest_budget_factor > 1
    assert max(found.smallest_budget.values()) <= 1.0


def test_diagnosis_reports_progress(compas):
    seen = []
    eh.diagnose(compas.problem, compas.counts, progress=lambda stage, share: seen.append((stage, share)))
    assert seen[0][0] == "counting"
    assert [share for _, share in seen] == sorted(share for _, share in seen)


@pytest.mark.slow
def test_a_limit_of_other_groups_is_named_where_the_mapping_is_blind():
    """Nobody of group m has x=1, but people of m may come to have the row of x=1."""
    people = {("f", 0, 0): 10, ("f", 0, 1): 10, ("f", 1, 0): 10, ("f", 1, 1): 30, ("m", 0, 0): 30, ("m", 0, 1): 10}
    frame = pd.DataFrame([row for row, number in people.items() for _ in range(number)], columns=["d", "x", "y"])
    problem = eh.Problem(
        protected=["d"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.3, eh.Difference())],
        distortion=eh.Distortion({"y": eh.Ordinal(1)}), blind=True,
        budget=eh.ExpectedDistortion(eh.By(math.inf, [({"d": "m"}, 0.05)])),
    )  # fmt: skip
    found = eh.diagnose(problem, frame)
    assert not found.feasible
    assert "It is the limit of other groups" in str(found)
