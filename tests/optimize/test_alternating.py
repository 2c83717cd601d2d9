"""Strategy 2 of section 3.2.2: it never gets worse, and finds an answer where the fixed conditional has none."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from families import small_frame, small_problem
from formulations import UTILITIES, table
from oracle import Dense

import evenhand as eh

RULES = {"f0": eh.Ordinal(1, up=False), "f1": eh.Ordinal(0.5, up=False), "y": eh.Free()}


def problem(**changes):
    statement = {
        "protected": ["sex", "race"],
        "features": ["f0", "f1"],
        "outcome": "y",
        "parity": [eh.PairwiseParity(0.1)],
        "distortion": eh.Distortion(RULES),
        "budget": eh.ExpectedDistortion(0.5),
        "suppress_protected": "alternating",
    }
    return eh.Problem(**{**statement, **changes})


CHANGES = {
    "KL": {},
    "L1": {"utility": eh.L1()},
    "blind": {"blind": True},
    "target": {"parity": [eh.TargetParity(0.05)]},
    "a cost on the outcome": {
        "distortion": eh.Distortion({**RULES, "y": eh.Nominal(1)}),
        "budget": eh.ExpectedDistortion(0.8),
    },
    "segments": {"parity": [eh.PairwiseParity(0.1, on=["sex"], given=["f0"])]},
    "excess per xy": {"budget": eh.ExcessDistortion({0.4: 0.3}, per="xy")},
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("changes", CHANGES.values(), ids=CHANGES)
def test_the_objective_never_rises_and_the_outcome_follows_the_features(changes, seed):
    mapping = eh.fit(problem(**changes), table(seed))
    certificate = mapping.certificate
    assert len(certificate.history) >= 2
    assert all(later <= earlier for earlier, later in itertools.pairwise(certificate.history))
    assert certificate.history[-1] == pytest.approx(mapping.objective, abs=1e-8)
    assert certificate.lower_bound <= mapping.objective
    assert certificate.status == ("optimal" if certificate.gap <= 1e-7 else "local")
    assert certificate.max_violation <= 1e-9
    assert mapping.achieved.outcome_leak <= 1e-9
    rows = mapping.table().merge(table(seed).value_counts().rename("n").reset_index())
    rows["mass"] = rows["n"] * rows["probability"]
    cells = rows.pivot_table("mass", ["to_f0", "to_f1"], ["sex", "race", "to_y"], "sum", fill_value=0.0)
    whole = cells.T.groupby(level=[0, 1]).transform("sum").T
    rates = (cells / whole.where(whole > 1e-6)).xs(1, axis=1, level="to_y")
    assert (rates.max(axis=1) - rates.min(axis=1)).max() <= 1e-9, "p(ŷ|x̂, d) = p(ŷ|x̂)"


def test_the_lower_bound_is_the_optimum_that_need_not_suppress():
    mapping = eh.fit(problem(blind=True), table(0))
    free = eh.fit(problem(blind=True, suppress_protected=None), table(0))
    assert free.objective > 1e-3
    assert mapping.certificate.lower_bound == pytest.approx(free.objective, abs=1e-6)
    assert mapping.certificate.gap == pytest.approx(mapping.objective - free.objective, abs=1e-6)


@pytest.mark.slow
def test_it_finds_an_answer_where_the_fixed_conditional_has_none():
    with pytest.raises(eh.InfeasibleError):
        eh.fit(problem(suppress_protected="fixed"), table(0))
    mapping = eh.fit(problem(), table(0))
    rates = mapping.achieved.rates_after
    assert (rates.max(axis=0) / rates.min(axis=0)).max() <= 1.1 + 1e-9
    assert "alternating from p(y|x): no mapping within the bounds was found" in mapping.certificate.notes


@pytest.mark.slow
def test_it_is_no_worse_than_the_fixed_conditional():
    wide = {"parity": [eh.PairwiseParity(0.3)], "budget": eh.ExpectedDistortion(0.9)}
    fixed = eh.fit(problem(suppress_protected="fixed", **wide), table(0))
    assert fixed.objective > 1e-3
    assert eh.fit(problem(**wide), table(0)).objective <= fixed.objective + 1e-8


@pytest.mark.slow
def test_a_users_distance_is_met():
    bound = 0.03
    parity = eh.PairwiseParity(bound, eh.UserDistance(lambda p, q: np.abs(np.sqrt(p) - np.sqrt(q)), "root difference"))
    mapping = eh.fit(problem(parity=[parity]), table(1))
    roots = np.sqrt(mapping.achieved.rates_after)
    assert (roots.max(axis=0) - roots.min(axis=0)).max() <= bound + 1e-9
    assert mapping.objective > 1e-3


def test_no_start_is_feasible():
    statement = small_problem(
        suppress_protected="alternating",
        distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.2),
    )
    with pytest.raises(eh.SolverError, match="does not prove that there is none") as error:
        eh.fit(statement, small_frame())
    assert not isinstance(error.value, eh.InfeasibleError)


def test_bounds_that_nothing_meets():
    statement = small_problem(
        suppress_protected="alternating",
        distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.05),
    )
    with pytest.raises(eh.InfeasibleError, match="smallest parity bound that can be met is"):
        eh.fit(statement, small_frame())


def test_a_stated_target_is_a_start():
    """p(ŷ|x̂) = target meets it at any bound, where neither p(y) nor p(y|x) does."""
    problem = small_problem(
        parity=[eh.TargetParity(0.01, {0: 0.9, 1: 0.1})],
        distortion=eh.Distortion({"hired": eh.Free()}),
        suppress_protected="alternating",
        utility=eh.L1(),
    )
    mapping = eh.fit(problem, small_frame())
    assert mapping.certificate.max_violation <= 1e-9
    assert any("from the target" in note for note in mapping.certificate.notes)


def with_empty_cells(seed):
    """Two groups and five scores, of which two were seen with one outcome only."""
    rng = np.random.default_rng(seed)
    cells = [(d, x, y) for d in "ab" for x in range(5) for y in (0, 1) if (x, y) not in ((1, 0), (4, 1))]
    n = rng.integers(5, 60, len(cells))
    rows = pd.DataFrame(cells, columns=["group", "score", "hired"])
    return rows.loc[np.repeat(rows.index, n)].reset_index(drop=True)


class OutcomesEverywhereAlike(Dense):
    """The dense statement with p(ŷ|x̂) = p(y), on the outcomes that x̂ was seen with."""

    def conditional(self):
        found = {}
        for x in {xy[:-1] for xy in self.p_xy}:
            shares = [
                sum(p for xy, p in self.p_xy.items() if xy[-1] == y) * ((*x, y) in self.p_xy)
                for y in range(self.n_outcomes)
            ]
            found[x] = [share / sum(shares) for share in shares]
        return found


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("utility", UTILITIES)
def test_a_feasible_problem_is_solved_whatever_the_measure(utility, seed):
    """A measure that forbids new cells has a start as well, no worse than the dense statement of it."""
    statement = eh.Problem(
        protected=["group"],
        features=["score"],
        outcome="hired",
        utility=UTILITIES[utility](),
        parity=[eh.PairwiseParity(0.15)],
        distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Free()}),
        budget=eh.ExpectedDistortion(0.8),
        suppress_protected="alternating",
    )
    frame = with_empty_cells(seed)
    dense = OutcomesEverywhereAlike(replace(statement, suppress_protected="fixed"), eh.count(statement, frame))
    if not statement.utility.new_cells:
        status, value = dense.solve()
        assert status == "optimal"
    else:
        value = np.inf
    mapping = eh.fit(statement, frame)
    assert mapping.certificate.max_violation <= 1e-9
    assert mapping.certificate.lower_bound - 1e-7 <= mapping.objective <= value + 1e-6
    assert any("from p(y)" in note and "half-steps" in note for note in mapping.certificate.notes)
