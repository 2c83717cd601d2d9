"""Reports to test: of a study with everything in it, of a table whose names are hostile, of one with few of a kind."""

import numpy as np
import pandas as pd

import evenhand as eh

HOSTILE = "<script>alert('x')</script>"
CLOSING = "</script><img src=x onerror=alert(1)>"


def full(compas, compas_mapping, folder):
    """COMPAS with a model and a frontier, from a file."""
    path = folder / "compas.mapping"
    compas_mapping.save(path)
    return eh.report_on(compas_mapping, frame=compas.frame, source=path)


def hostile_frame():
    """A small table whose levels and columns are HTML and whose last group is small."""
    cells = [
        ("a & b", HOSTILE, 0, 60), ("a & b", HOSTILE, 1, 40), ("a & b", CLOSING, 0, 30), ("a & b", CLOSING, 1, 70),
        (HOSTILE, HOSTILE, 0, 50), (HOSTILE, HOSTILE, 1, 10), (HOSTILE, CLOSING, 0, 40), (HOSTILE, CLOSING, 1, 7),
        ("small", CLOSING, 0, 6), ("small", CLOSING, 1, 3),
    ]  # fmt: skip
    return pd.DataFrame([(d, x, y) for d, x, y, n in cells for _ in range(n)], columns=["<b>group</b>", "x", "y"])


def weighed_frame():
    """The same as counts: one row per cell, with a column of how many."""
    frame = hostile_frame()
    return frame.groupby(list(frame.columns)).size().rename("how many").reset_index()


def hostile_mapping(bound=0.5):
    """A mapping of it."""
    problem = eh.Problem(
        protected=["<b>group</b>"], features=["x"], outcome="y", parity=[eh.PairwiseParity(bound)],
        distortion=eh.Distortion({"y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    return eh.fit(problem, hostile_frame())


SECRET = "zzsecret"
"""The name of a level that three people have."""


def secretive_frame():
    """Bins, missing values, a column that no problem names, a group of three people and a feature's level of three."""
    rng = np.random.default_rng(1)
    n = 900
    sex, age = rng.choice(["w", "m"], n), rng.integers(18, 80, n)
    job = rng.choice(["temporary", "permanent"], n)
    granted = (rng.random(n) < 0.25 + 0.25 * (sex == "m") + 0.1 * (age > 45)).astype(int)
    income = np.round(rng.lognormal(8, 0.5, n))
    frame = pd.DataFrame({"sex": sex, "age": age, "income": income, "job": job, "granted": granted, "zip": age % 7})
    frame.loc[:2, ["sex", "granted"]] = SECRET, 0
    frame.loc[3:5, "job"] = f"{SECRET}-job"
    frame.loc[6:12, "income"] = np.nan
    return frame


def secretive_problem(parity, **more):
    """A problem of that table, under a parity constraint."""
    parts = {
        "protected": ["sex", "age"], "features": ["income", "job"], "outcome": "granted", "missing": "level",
        "bins": {"age": eh.Edges([40]), "income": eh.Edges([2900])}, "parity": [parity],
        "distortion": eh.Distortion({"income": eh.Ordinal(1, max_steps=1), "granted": eh.Nominal(1)}),
        "budget": eh.ExpectedDistortion(0.9),
    }  # fmt: skip
    return eh.Problem(**parts | more)


def long_mapping():
    """A mapping of a table whose levels have long names that begin alike."""
    jobs = ["clerical work in a public administration", "skilled work in warehousing and transport", "self-employed"]
    schools = ["without a completed vocational training", "with a completed vocational training", "university degree"]
    rng = np.random.default_rng(0)
    n = 3000
    group = rng.choice(["a", "b"], n)
    granted = np.where(rng.random(n) < np.where(group == "a", 0.3, 0.6), "granted", "refused after examination")
    frame = pd.DataFrame({"g": group, "job": rng.choice(jobs, n), "school": rng.choice(schools, n), "y": granted})
    problem = eh.Problem(
        protected=["g"], features=["job", "school"], outcome="y", parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion({"job": eh.Nominal(1), "school": eh.Nominal(1), "y": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.5),
    )  # fmt: skip
    return eh.fit(problem, frame)
