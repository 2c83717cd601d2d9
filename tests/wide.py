"""Wide tables from a seed: columns of every kind, as they come, with an outcome that depends on some of them."""

from __future__ import annotations

import numpy as np
import pandas as pd

import evenhand as eh

TOWNS = [f"town {i:04d}" for i in range(2000)]
JOBS = ["clerk", "cook", "driver", "nurse", "teacher", "tailor"]


def wide_frame(seed, people=1500, outcomes=2, groups=2):
    """Whole and real numbers, words of few and of thousands of levels, truths, dates and missing values."""
    rng = np.random.default_rng(seed)
    age = rng.integers(18, 80, people)
    pay = np.round(rng.lognormal(7, 0.6, people), 2)
    job = rng.choice(JOBS, people, p=[0.4, 0.25, 0.15, 0.1, 0.08, 0.02])
    town = rng.choice(TOWNS, people, p=(weights := 1 / (1 + np.arange(len(TOWNS)))) / weights.sum())
    married = rng.random(people) < 0.5
    since = pd.Timestamp("2000-01-01") + pd.to_timedelta(rng.integers(0, 8000, people), unit="D")
    group = rng.integers(0, groups, people)
    score = (age > 40) + (pay > 1200) + np.isin(job, ["nurse", "teacher"]) + 0.7 * married + 0.5 * group
    score = score + rng.normal(0, 0.7, people)
    cuts = np.quantile(score, np.arange(1, outcomes) / outcomes)
    frame = pd.DataFrame({
        "age": age, "pay": pay, "job": job, "town": town, "married": married, "since": since,
        "d": np.array(list("abcdefgh"))[group], "y": np.searchsorted(cuts, score),
    })  # fmt: skip
    frame.loc[rng.random(people) < 0.1, "pay"] = np.nan
    frame.loc[rng.random(people) < 0.05, "job"] = None
    return frame


def wide_problem(**changes):
    """A statement about :func:`wide_frame` over learned cells; perturb it by keyword."""
    statement = {
        "protected": ["d"],
        "features": ["age", "pay", "job", "town", "married", "since"],
        "outcome": "y",
        "cells": eh.Leaves(most=12, at_least=10),
        "parity": [eh.PairwiseParity(0.1)],
        "distortion": eh.Distortion({"y": eh.Nominal(1)}),
        "budget": eh.ExpectedDistortion(0.6),
    }
    return eh.Problem(**{**statement, **changes})


def random_wide_problem(rng):
    """A random statement over learned cells, and its table: measures, parity forms, segments, budgets, blind or not."""
    frame = wide_frame(int(rng.integers(0, 2**31)), int(rng.integers(300, 1200)), *rng.integers(2, 4, 2).tolist())
    bound = float(rng.choice([0.02, 0.05, 0.1, 0.3, 0.6]))
    given = [None, None, ["married"]][rng.integers(0, 3)]
    per = ["individual", "xy"][rng.integers(0, 2)]
    budgets = [
        None,
        eh.ExpectedDistortion(float(rng.choice([0.1, 0.3, 0.6])), per=per),
        eh.ExcessDistortion({0.9: 0.3}),
    ]
    problem = wide_problem(
        cells=eh.Leaves(most=int(rng.integers(2, 9)), at_least=int(rng.integers(1, 15))),
        utility=[eh.KL(), eh.L1(), eh.Hellinger()][rng.integers(0, 3)],
        parity=[[eh.PairwiseParity, eh.TargetParity][rng.integers(0, 2)](bound, given=given)],
        distortion=eh.Distortion({"y": [eh.Nominal(1), eh.Ordinal(1, up=False), eh.Ordinal(1)][rng.integers(0, 3)]}),
        budget=budgets[rng.integers(0, 3)],
        blind=bool(rng.random() < 0.2),
    )
    return problem, frame
