"""Families of test problems: random tables and statements, and a small one to perturb."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.kernel import Kernel


def random_table(rng, n_groups, feature_sizes, n_outcomes, people=600):
    """A table whose outcome depends on the group, with some cells empty."""
    columns = {f"f{i}": rng.integers(0, n, people) for i, n in enumerate(feature_sizes)}
    group = rng.integers(0, n_groups, people)
    tilt = rng.dirichlet(np.full(n_outcomes, 4.0), size=n_groups)
    lean = 0.15 * columns["f0"] / max(1, feature_sizes[0] - 1)
    draw = np.clip(rng.random(people) + lean, 0, 0.999)
    outcome = (draw[:, None] >= np.cumsum(tilt, axis=1)[group]).sum(axis=1).clip(0, n_outcomes - 1)
    return pd.DataFrame({"d": group, **columns, "y": outcome})


def random_rule(rng, outcome=False, near=False):
    """A rule for one column; the outcome's always allows some change, ``near`` allows one step at most."""
    kind = rng.integers(0, 3)
    if near:
        return [eh.Fixed(), eh.Ordinal(1, max_steps=1), eh.Ordinal(2, max_steps=1, down=False, up_step=0.5)][kind]
    if kind == 0 and not outcome:
        return [eh.Fixed(), eh.Nominal(float(rng.integers(1, 4)))][rng.integers(0, 2)]
    if kind == 1:
        return eh.Nominal(float(rng.integers(1, 3)))
    return eh.Ordinal(
        step=float(rng.integers(1, 3)),
        max_steps=[None, 1, 2][rng.integers(0, 3)],
        up=bool(rng.random() < 0.8),
        down=bool(rng.random() < 0.8) or outcome,
        up_step=[None, 0.5][rng.integers(0, 2)],
    )


def random_problem(rng):
    """A random statement and table: |D| 2–6, |X| 4–40, |Y| 2–3, both Δ, parities, budgets and ``per``."""
    sizes = [(4,), (6,), (2, 3), (3, 4), (2, 2, 3), (5, 5), (4, 10), (2, 4, 5)][rng.integers(0, 8)]
    # On large domains moves are kept short, so that the dense statement stays within seconds.
    large = np.prod(sizes) > 12
    n_outcomes = int(rng.integers(2, 4))
    frame = random_table(rng, int(rng.integers(2, 7)), sizes, n_outcomes, people=int(rng.integers(150, 900)))
    per = ["individual", "xy"][rng.integers(0, 2)]
    bound = float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.8]))
    budget = (
        eh.ExpectedDistortion(float(rng.choice([0.1, 0.3, 0.6, 1.0])), per=per)
        if rng.random() < 0.5
        else eh.ExcessDistortion({0.9: float(rng.choice([0.2, 0.5])), 1.9: 0.15}, per=per)
    )
    features = [f"f{i}" for i in range(len(sizes))]
    problem = eh.Problem(
        protected=["d"],
        features=features,
        outcome="y",
        utility=[eh.KL(), eh.L1()][rng.integers(0, 2)],
        parity=[[eh.PairwiseParity(bound), eh.TargetParity(bound)][rng.integers(0, 2)]],
        distortion=eh.Distortion(
            {**{f: random_rule(rng, near=large) for f in features}, "y": random_rule(rng, outcome=True)},
            combine=["sum", "sum_of_squares", "max"][rng.integers(0, 3)],
        ),
        budget=budget,
        targets=["observed", "all"][rng.integers(0, 2)],
    )
    return problem, frame


def random_parity_of_events(rng, features):
    """Parity of outcomes from a level on, of people of one original outcome, or of released features."""
    bound = float(rng.choice([0.05, 0.1, 0.2, 0.35]))
    against = ["each", "rest", {"d": 1}][rng.integers(0, 3)]
    varying = eh.By(bound, [({"d": 0}, 2 * bound), ({"y": 2}, bound / 2)])
    return [
        eh.PairwiseParity(bound, eh.Difference(), levels="cumulative"),
        eh.PairwiseParity(varying, levels="cumulative", against=against),
        eh.PairwiseParity(bound, eh.Difference(), levels="cumulative", given=features[:1], min_segment=20),
        eh.TargetParity(bound, levels="cumulative"),
        eh.TargetParity(bound, {0: 0.2, 1: 0.5, 2: 0.3}, eh.Difference(), levels="cumulative"),
        eh.TargetParity(2 * bound, levels="cumulative", given=features[:1], released=True),
        eh.PairwiseParity(3 * bound, given_outcome=True),
        eh.PairwiseParity(bound, eh.Difference(), given_outcome=True, given=features[:1], against="rest"),
        eh.PairwiseParity(bound, eh.Difference(), levels="cumulative", given_outcome=True),
        eh.FeatureParity(bound),
        eh.FeatureParity(eh.By(bound, [({"d": 0, "against": {"d": 1}}, bound / 2)]), features=features[-1:]),
        eh.FeatureParity(bound, against=against),
    ][rng.integers(0, 12)]


def random_events_problem(rng):
    """A random statement about events, beside a plain one about outcomes.

    Features go with groups, and what changes only falls: else groups could trade places at no loss.
    """
    sizes = [(4,), (2, 3), (3, 4), (2, 2, 3)][rng.integers(0, 4)]
    n_outcomes = int(rng.integers(3, 5))
    frame = random_table(rng, int(rng.integers(2, 5)), sizes, n_outcomes, people=int(rng.integers(200, 900)))
    features = [f"f{i}" for i in range(len(sizes))]
    lower = (rng.random((len(frame), 1)) < 0.15 * frame[["d"]].to_numpy()).astype(int)
    frame[features] = np.maximum(frame[features] - lower, 0)
    parity = [random_parity_of_events(rng, features)]
    if not parity[0].of_outcomes or parity[0].segmented:
        parity.append(eh.PairwiseParity(float(rng.choice([0.2, 0.4])), eh.Difference()))
    problem = eh.Problem(
        protected=["d"],
        features=features,
        outcome="y",
        utility=[eh.KL(), eh.L1()][rng.integers(0, 2)],
        parity=parity,
        distortion=eh.Distortion(
            {
                **{
                    f: [eh.Ordinal(1, up=False), eh.Ordinal(0.5, up=False, max_steps=2)][rng.integers(0, 2)]
                    for f in features
                },
                "y": eh.Ordinal(1, up=False, max_steps=[None, 2][rng.integers(0, 2)], power=[1, 2][rng.integers(0, 2)]),
            },
            combine=["sum", "max"][rng.integers(0, 2)],
        ),
        budget=eh.ExpectedDistortion(float(rng.choice([0.3, 0.6, 1.0]))),
        targets=["observed", "all"][rng.integers(0, 2)],
        blind=bool(rng.random() < 0.15),
    )
    return problem, frame


def small_frame():
    """Two groups, one ordered feature, a binary outcome: 200 people."""
    rows = [("a", 0, 0, 30), ("a", 0, 1, 20), ("a", 1, 0, 20), ("a", 1, 1, 30)]
    rows += [("b", 0, 0, 40), ("b", 0, 1, 10), ("b", 1, 0, 30), ("b", 1, 1, 20)]
    cells = pd.DataFrame(rows, columns=["group", "score", "hired", "n"])
    return cells.loc[np.repeat(cells.index, cells["n"])].drop(columns="n").reset_index(drop=True)


def small_problem(**changes):
    """A feasible statement about :func:`small_frame`; perturb it by keyword."""
    statement = {
        "protected": ["group"],
        "features": ["score"],
        "outcome": "hired",
        "parity": [eh.PairwiseParity(0.2)],
        "distortion": eh.Distortion({"score": eh.Ordinal(step=1), "hired": eh.Ordinal(step=1, up=False)}),
        "budget": eh.ExpectedDistortion(0.45),
    }
    return eh.Problem(**{**statement, **changes})


def random_kernel(rng, rows, outcomes, most=6):
    """Rows of up to ``most`` moves, some of them to one place for sure, some of no width at all."""
    starts, targets, probability = [0], [], []
    for _ in range(rows):
        size = rng.integers(1, most + 1)
        share = rng.dirichlet(np.full(size, 0.5))
        share[rng.random(size) < 0.1] = 1e-20
        targets += np.sort(rng.choice(4 * outcomes, size, replace=False)).tolist()
        probability += (share / share.sum()).tolist()
        starts.append(len(targets))
    return Kernel(np.array(starts), np.array(targets), np.array(probability))


def random_problem_with_missing_groups(rng):
    """A random problem in which a tenth of the people, those with the best outcome first, have no known group."""
    problem, frame = random_problem(rng)
    best = frame["y"].sort_values(ascending=False, kind="stable").index[: len(frame) // 10]
    frame["d"] = frame["d"].astype(str).where(~frame.index.isin(best))
    return replace(problem, missing="level"), frame


def random_scored_problem(rng):
    """A random statement about a model without D where records stay: every form of parity that it may have."""
    people, n_outcomes = int(rng.integers(200, 900)), int(rng.integers(2, 4))
    frame = random_table(rng, 2, [(4,), (2, 3), (3, 4)][rng.integers(0, 3)], n_outcomes, people)
    other = (rng.random(len(frame)) < 0.3 + 0.4 * (frame["f0"] > 0)).astype(int)
    frame = frame.assign(e=np.where(frame["y"] > 0, other, rng.integers(0, 2, len(frame))))
    features = [name for name in frame.columns if name.startswith("f")]
    bound = float(rng.choice([0.02, 0.05, 0.1, 0.2, 0.35]))
    ordered = n_outcomes > 2 and rng.random() < 0.5
    ways = [
        eh.PairwiseParity(bound),
        eh.PairwiseParity(bound, on=["d"], against="rest"),
        eh.PairwiseParity(bound, eh.LogRatio(), against={"d": 1, "e": 0}),
        eh.PairwiseParity(bound / 2, eh.Difference(), on=["e"]),
        eh.PairwiseParity(bound, eh.FourFifths(1)),
        eh.PairwiseParity(2 * bound, on=["e"], given=["f0"]),
        eh.PairwiseParity(bound / 2, eh.Difference(), levels="cumulative"),
        eh.PairwiseParity(eh.By(bound, [({"y": 0}, 2 * bound), ({"d": 0, "against": {"d": 1}}, bound / 2)])),
        eh.TargetParity(bound),
        eh.TargetParity(bound, on=["d"], given=["f0"], distance=eh.Difference()),
    ]
    rule = [eh.Nominal(1), eh.Ordinal(1, up=False), eh.Ordinal(1, up_step=0.5)][rng.integers(0, 3)]
    problem = eh.Problem(
        protected=["d", "e"],
        features=features,
        outcome="y",
        utility=[eh.KL(), eh.L1(), eh.TotalVariation()][rng.integers(0, 3)],
        parity=[ways[i] for i in rng.choice(len(ways), int(rng.integers(1, 3)), replace=False)],
        distortion=eh.Distortion({"y": eh.Ordinal(1) if ordered else rule}),
        budget=[None, eh.ExpectedDistortion(0.6), eh.ExcessDistortion({0.9: 0.5})][rng.integers(0, 3)],
        suppress_protected=True,
        blind=bool(rng.random() < 0.2),
    )
    if rng.random() < 0.3:
        return replace(problem, weights="w"), frame.assign(w=np.round(rng.uniform(0.5, 2, len(frame)), 2))
    if rng.random() < 0.3:
        return replace(problem, frequencies="w"), frame.assign(w=rng.integers(1, 9, len(frame)))
    return problem, frame
