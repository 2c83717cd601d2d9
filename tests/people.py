"""A table of raw columns, as people have them: numbers to be binned, missing values, awkward texts, a key."""

import numpy as np
import pandas as pd

import evenhand as eh


def people(n=1500, seed=0):
    rng = np.random.default_rng(seed)
    man = rng.random(n) < 0.5
    frame = pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "sex": np.where(man, "M", "F"),
            "age": np.clip(rng.normal(40 + 8 * man, 14), 18, 80).astype(int),
            "hours": np.round(rng.normal(38 + 4 * man, 9), 1),
            "job": rng.choice(["clerk", "?", 'O\'Brien, "x"', "übrig", "cook"], n, p=[0.4, 0.1, 0.2, 0.2, 0.1]),
            "note": [f'n {i}, "{i % 3}"' for i in range(n)],
        }
    )
    log_odds = 0.03 * (frame["age"] - 45) + 0.02 * (frame["hours"] - 40) + 0.3 * man - 0.5
    return frame.assign(hired=(rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int))


def problem(**changes):
    stated = {
        "protected": ["sex"],
        "features": ["age", "hours", "job"],
        "outcome": "hired",
        "parity": [eh.PairwiseParity(0.35)],
        "bins": {"age": eh.Edges([30, 45, 60]), "hours": eh.Quantiles(3)},
        "missing": "level",
        "missing_values": ["?"],
        "distortion": eh.Distortion(
            {
                "age": eh.Ordinal(1, max_steps=1),
                "hours": eh.Ordinal(1, max_steps=1),
                "job": eh.Nominal(1),
                "hired": eh.Ordinal(2, up=False),
            }
        ),
        "budget": eh.ExpectedDistortion(1.2),
        "utility": eh.L1(),
    }
    return eh.Problem(**{**stated, **changes})
