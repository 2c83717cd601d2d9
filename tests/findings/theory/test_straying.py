"""Straying of every distance's own bounds, beside releases that are drawn and people who are resampled by hand."""

import itertools
import tracemalloc
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

FALLS = eh.Distortion({"is_recid": eh.Ordinal(step=1, up=False)})
BOTH = ["sex", "race"]
FORMS = {
    "ratio": ([eh.PairwiseParity(0.15)], [(BOTH, lambda r: worst_ratio(r) > 0.15)]),
    "difference": ([eh.PairwiseParity(0.1, eh.Difference())], [(BOTH, lambda r: np.ptp(r) > 0.1)]),
    "four fifths": (
        [eh.PairwiseParity(0.2, eh.FourFifths(0))],
        [(BOTH, lambda r: (1 - r).min() < 0.8 * (1 - r).max())],
    ),
    "two at once": (
        [eh.PairwiseParity(0.1, eh.Difference(), on=["sex"]), eh.PairwiseParity(0.2, on=["race"])],
        [(["sex"], lambda r: np.ptp(r) > 0.1), (["race"], lambda r: worst_ratio(r) > 0.2)],
    ),
    "a reference": (
        [eh.PairwiseParity(0.2, on=["race"], against={"race": "Caucasian"})],
        [(["race"], lambda r: max(abs(r[0] / r[1] - 1), abs((1 - r[0]) / (1 - r[1]) - 1)) > 0.2)],
    ),
}
TRIALS = 200


def worst_ratio(rates):
    return max(rates.max() / rates.min(), (1 - rates).max() / (1 - rates).min()) - 1


def over(frame, outcomes, checks):
    """Whether somebody's rates of reoffending, of these people with these (expected) outcomes, exceed a bound."""
    return any(
        beyond(frame.assign(e=outcomes).groupby(on, observed=True)["e"].mean().sort_index().to_numpy())
        for on, beyond in checks
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", FORMS)
def test_released_and_resampled_by_hand(compas, form):
    parity, checks = FORMS[form]
    mapping = eh.fit(replace(compas.problem, parity=parity, distortion=FALLS), compas.frame)
    tables, releases = mapping.theory.straying(number=2000, seed=3)
    table = mapping.table()
    table["p"] = table["probability"] * (table["to_is_recid"] == 1)
    columns = [*mapping.problem.columns]
    chance = table.groupby(columns, observed=True)["p"].sum()
    e = chance.loc[list(compas.frame[columns].itertuples(index=False, name=None))].to_numpy()
    rng = np.random.default_rng(5)
    drawn = np.mean([over(compas.frame, rng.random(len(e)) < e, checks) for _ in range(TRIALS)])
    assert abs(drawn - releases.over) < 4 * np.sqrt(0.25 / TRIALS)
    again = [rng.integers(len(e), size=len(e)) for _ in range(TRIALS)]
    moved = np.mean([over(compas.frame.iloc[which].reset_index(drop=True), e[which], checks) for which in again])
    assert abs(moved - tables.over) < 4 * np.sqrt(0.25 / TRIALS)
    assert 0.05 < tables.over < 1


def test_rates_of_one_difference_by_a_normal_law():
    """Two groups, one cell each: the difference of two binomial rates is known."""
    frame = pd.DataFrame({"g": ["a"] * 400 + ["b"] * 400, "x": 0, "y": [1] * 240 + [0] * 160 + [1] * 160 + [0] * 240})
    problem = eh.Problem(
        protected=["g"], features=["x"], outcome="y", parity=[eh.PairwiseParity(0.1, eh.Difference())],
        distortion=eh.Distortion({"y": eh.Ordinal(step=1)}), budget=eh.ExpectedDistortion(1),
    )  # fmt: skip
    tables, releases = eh.fit(problem, frame).theory.straying(number=20_000, seed=1)
    assert tables.apart.endswith(" points apart")
    assert tables.over == pytest.approx(0.5, abs=0.03)
    assert 0.3 < releases.over < 0.6


def test_what_is_not_about_outcomes_is_not_simulated(compas):
    mapping = eh.fit(replace(compas.problem, parity=[eh.FeatureParity(0.5)]), compas.counts)
    assert mapping.theory.straying() is None


@pytest.mark.slow
def test_many_groups_take_little_memory():
    """Of 80 groups there are 12,640 comparisons: a number for each in 2,000 tables would be 200 MB, many times over."""
    cells = pd.DataFrame(list(itertools.product(range(80), [0, 1], [0, 1])), columns=["g", "x", "y"])
    problem = eh.Problem(
        protected=["g"],
        features=["x"],
        outcome="y",
        parity=[eh.PairwiseParity(0.3, eh.Difference())],
        distortion=eh.Distortion({"x": eh.Fixed(), "y": eh.Ordinal(1)}),
    )
    mapping = eh.fit(problem, cells.loc[np.repeat(cells.index, 20)])
    tracemalloc.start()
    mapping.theory.straying(number=2000)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 200e6
