"""Every form of Δ, parity, budget, distortion and mode, and tables that pair each setting with each other once."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from functools import cache

import numpy as np
import pandas as pd
from families import random_events_problem

import evenhand as eh
from evenhand.spec import Utility

UTILITIES = Utility.kinds()

PARITIES = {
    "pairwise": lambda e: [eh.PairwiseParity(e)],
    "pairwise difference": lambda e: [eh.PairwiseParity(e / 2, eh.Difference())],
    "pairwise log-ratio": lambda e: [eh.PairwiseParity(e, eh.LogRatio())],
    "four-fifths": lambda e: [eh.PairwiseParity(e / (1 + e), eh.FourFifths(1))],
    "rest": lambda e: [eh.PairwiseParity(e, against="rest")],
    "reference": lambda e: [eh.PairwiseParity(e, on=["race"], against={"race": "b"})],
    "reference log-ratio": lambda e: [
        eh.PairwiseParity(e, eh.LogRatio(), against={"sex": "m", "race": "a"}),
    ],
    "univariate": lambda e: [eh.PairwiseParity(e, on=["sex"]), eh.PairwiseParity(e, on=["race"])],
    "by outcome": lambda e: [eh.PairwiseParity(eh.By(math.inf, [({"y": 1}, e)]))],
    "by pair": lambda e: [
        eh.PairwiseParity(
            eh.By(2 * e, [({"sex": "m", "race": "a", "against": {"sex": "f", "race": "a"}}, e), ({"y": 0}, 3 * e)])
        )
    ],
    "given": lambda e: [eh.PairwiseParity(0.7 * e, on=["sex"], given=["f0"], min_segment=20)],
    "given difference": lambda e: [
        eh.PairwiseParity(e / 5, eh.Difference(), on=["race"], given=["f1"], against="rest")
    ],
    "target": lambda e: [eh.TargetParity(e / 2)],
    "target difference": lambda e: [eh.TargetParity(e / 2, {0: 0.55, 1: 0.45}, eh.Difference())],
    "target log-ratio": lambda e: [eh.TargetParity(e / 4, distance=eh.LogRatio(), on=["race"])],
    "target by group": lambda e: [eh.TargetParity(eh.By(e, [({"sex": "f"}, e / 2), ({"race": "b", "y": 1}, 2 * e)]))],
    "target in segments": lambda e: [
        eh.TargetParity(
            1.5 * e,
            eh.By({0: 0.5, 1: 0.5}, [({"f0": [1]}, {0: 0.6, 1: 0.4})]),
            on=["sex"],
            given=["f0"],
        )
    ],
    "released segments": lambda e: [eh.TargetParity(e / 6, on=["sex"], given=["f0"], released=True)],
    "released segments, difference": lambda e: [
        eh.TargetParity(e / 9, distance=eh.Difference(), on=["race"], given=["f1"], released=True)
    ],
    "several": lambda e: [
        eh.TargetParity(2 * e),
        eh.PairwiseParity(e, on=["sex"]),
        eh.PairwiseParity(e, eh.Difference()),
    ],
}

BUDGETS = {
    "none": lambda: None,
    "expected": lambda: eh.ExpectedDistortion(0.6),
    "expected xy": lambda: eh.ExpectedDistortion(0.5, per="xy"),
    "excess": lambda: eh.ExcessDistortion({0.9: 0.5, 1.9: 0.2}),
    "excess xy": lambda: eh.ExcessDistortion({0.9: 0.5, 1.9: 0.2}, per="xy"),
    "by cell": lambda: eh.ExpectedDistortion(
        eh.By(0.7, [({"sex": "m"}, 0.5), ({"f0": [0], "y": 1}, 0.4), ({"race": "b", "y": 0, "f1": 2}, math.inf)])
    ),
    "both": lambda: [eh.ExpectedDistortion(0.8, per="xy"), eh.ExcessDistortion({1.4: eh.By(0.3, [({"y": 1}, 0.2)])})],
    "zero for some": lambda: eh.ExpectedDistortion(eh.By(0.8, [({"race": "a", "f0": 0}, 0.0)])),
}

COST_TABLE = {(a, b): 0.75 * (a - b) if b < a else math.inf for a in range(3) for b in range(3) if a != b}


def careful(before, after):
    """A user's function: steps of f1 cost their square, the rest one each; features never rise."""
    cost = (after["f1"] - before["f1"]) ** 2 * 0.5 + 1.0 * (after["f0"] != before["f0"]) + (after["y"] != before["y"])
    return np.where((after["f0"] > before["f0"]) | (after["f1"] > before["f1"]), np.inf, cost)


def one_way(before, after):
    """The same, where the outcome never rises either."""
    return np.where(after["y"] > before["y"], np.inf, careful(before, after))


def of_features(before, after):
    """A function of the features alone."""
    return careful(before | {"y": 0}, after | {"y": 0})


FUNCTIONS = {"falls": one_way, "changes": careful, "is free": of_features}
OUTCOMES = {"falls": eh.Ordinal(1, up=False), "changes": eh.Ordinal(1.2, up_step=0.8), "is free": eh.Free()}

DISTORTIONS = {
    "sum": lambda y: eh.Distortion(
        {"f0": eh.Ordinal(1, up=False), "f1": eh.Ordinal(0.5, max_steps=1, up_step=2), "y": OUTCOMES[y]}
    ),
    "squares": lambda y: eh.Distortion(
        {"f0": eh.Nominal(1.2), "f1": eh.Ordinal(0.7, up=False), "y": OUTCOMES[y]}, combine="sum_of_squares"
    ),
    "max": lambda y: eh.Distortion(
        {"f0": eh.Ordinal(1, up=False), "f1": eh.Ordinal(1, up=False), "y": OUTCOMES[y]}, combine="max"
    ),
    "table": lambda y: eh.Distortion({"f0": eh.Fixed(), "f1": eh.Nominal(COST_TABLE), "y": OUTCOMES[y]}),
    "binary": lambda y: eh.Distortion(
        {
            "f0": eh.Ordinal(1, up=False),
            "f1": eh.Ordinal(0, up=False),
            "y": eh.Nominal(1) if y == "changes" else OUTCOMES[y],
        },
        combine="max",
    ),
    "function": lambda y: eh.Distortion(function=FUNCTIONS[y]),
}

MODES = {
    "plain": {},
    "all targets": {"targets": "all"},
    "blind": {"blind": True},
    "suppressed": {"suppress_protected": "fixed"},
    "suppressed, blind": {"suppress_protected": "fixed", "blind": True},
    "own model": {
        "suppress_protected": "fixed",
        "conditional": eh.Conditional(
            {(a, b): {0: 0.75 - 0.15 * a - 0.1 * b, 1: 0.25 + 0.15 * a + 0.1 * b} for a in range(2) for b in range(3)}
        ),
    },
}

FACTORS = (UTILITIES, PARITIES, BUDGETS, DISTORTIONS, MODES)


@cache
def all_pairs():
    """Rows of settings in which every two settings of two factors meet, found greedily."""
    names = [list(factor) for factor in FACTORS]
    missing = {
        (i, a, j, b) for i, j in itertools.combinations(range(len(names)), 2) for a in names[i] for b in names[j]
    }
    rng = np.random.default_rng(7)
    rows = []
    while missing:
        best, covered = None, set()
        listed = sorted(missing)
        for _ in range(60):
            seed = listed[rng.integers(len(listed))]
            row = [names[k][rng.integers(len(names[k]))] for k in range(len(names))]
            row[seed[0]], row[seed[2]] = seed[1], seed[3]
            found = {(i, row[i], j, row[j]) for i, j in itertools.combinations(range(len(row)), 2)} & missing
            if len(found) > len(covered):
                best, covered = row, found
        rows.append(tuple(best))
        missing -= covered
    return rows


def table(seed):
    """A table of 400 people: two protected columns, two features that go with them, an outcome that depends on all."""
    rng = np.random.default_rng(seed)
    n = 400
    sex, race = rng.integers(0, 2, n), rng.integers(0, 2, n)
    f0 = (rng.random(n) < 0.2 + 0.55 * sex).astype(int)
    f1 = np.clip(rng.integers(0, 3, n) + (rng.random(n) < 0.5) * (2 * race - 1), 0, 2)
    y = (rng.random(n) < 0.2 + 0.12 * sex + 0.1 * race + 0.15 * f0 + 0.12 * f1).astype(int)
    sex, race = np.array(["f", "m"])[sex], np.array(["a", "b"])[race]
    return pd.DataFrame({"sex": sex, "race": race, "f0": f0, "f1": f1, "y": y})


def problem_of(row, seed):
    """The problem of one row of settings, its tightness varied by the seed.

    Features only fall, and an outcome that is compared between groups mostly does too: else groups could trade places
    at no loss, and every objective would be zero.
    """
    utility, parity, budget, distortion, mode = row
    both_ways = parity.startswith(("target", "released")) or seed % 5 == 0
    outcome = "is free" if "suppress_protected" in MODES[mode] else "changes" if both_ways else "falls"
    return eh.Problem(
        protected=["sex", "race"],
        features=["f0", "f1"],
        outcome="y",
        utility=UTILITIES[utility](),
        parity=PARITIES[parity]([0.06, 0.12, 0.2, 0.3][seed % 4]),
        distortion=DISTORTIONS[distortion](outcome),
        budget=BUDGETS[budget](),
        **MODES[mode],
    )


DISTANCES = [
    lambda e: eh.UserDistance(lambda p, q: (p - q) ** 2 / (p + q + 0.1), f"triangular {e:g}"),
    lambda e: eh.UserDistance(lambda p, q: np.abs(p - q) + (p - q) ** 2, f"curved difference {e:g}"),
    lambda e: eh.Difference(),
]


def random_tied_problem(rng):
    """A random statement with a tie-break: events, a user's distance beside another constraint, or any settings."""
    utility = UTILITIES[rng.choice(list(UTILITIES))]()
    tie_break = ["least_change", "least_change", "even"][rng.integers(3)]
    kind, seed = rng.integers(4), int(rng.integers(10_000))
    if kind == 0:
        problem, frame = random_events_problem(rng)
        return replace(problem, utility=utility, tie_break=tie_break), frame
    row = [rng.choice(list(factor)) for factor in FACTORS]
    problem = replace(problem_of(row, seed), utility=utility, tie_break=tie_break)
    if kind == 1:
        bound = [0.01, 0.03, 0.1][rng.integers(3)]
        other = [eh.FeatureParity(0.4), eh.TargetParity(0.5), eh.PairwiseParity(0.5, on=["sex"])][rng.integers(3)]
        own = eh.PairwiseParity(bound, DISTANCES[rng.integers(3)](bound), on=[["sex"], ["race"]][rng.integers(2)])
        problem = replace(problem, parity=[own, other])
    return problem, table(seed)


def random_edge_problem(rng):
    """A statement whose bound is the smallest feasible one, rounded up as advice is."""
    utility = [eh.KL, eh.L1, eh.JensenShannon, eh.MaxRelativeChange][rng.integers(4)]()
    distance = [eh.Ratio(), eh.FourFifths(1), eh.Difference()][rng.integers(3)]
    feature = [eh.Fixed(), eh.Ordinal(1, up=False)][rng.integers(2)]
    frame = table(int(rng.integers(10_000)))
    problem = eh.Problem(
        protected=["sex", "race"],
        features=["f0", "f1"],
        outcome="y",
        utility=utility,
        parity=[eh.PairwiseParity(1.0, distance)],
        distortion=eh.Distortion({"f0": eh.Fixed(), "f1": feature, "y": eh.Ordinal(1, up=bool(rng.integers(5)))}),
        budget=eh.ExpectedDistortion([0.05, 0.1, 0.2][rng.integers(3)]),
        tie_break=["least_change", "least_change", "even"][rng.integers(3)],
    )
    edge = math.ceil(eh.smallest_parity_bound(problem, frame) * 1e7) / 1e7
    return replace(problem, parity=[eh.PairwiseParity(edge, distance)]), frame
