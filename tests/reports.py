"""Reports to test: of a study with everything in it, of a table whose names are hostile, of one with few of a kind."""

from functools import cache

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


WIDE_TABLES = {
    "two groups": (2, 2, (3, 2), 400),
    "many groups": (70, 2, (2,), 2500),
    "many outcomes": (4, 40, (2,), 2500),
    "many of both": (14, 12, (2,), 4000),
    "many levels": (3, 2, (90,), 4000),
    "many cohorts": (3, 2, (30, 40), 6000),
}
"""How many groups, outcomes, levels of each feature and people a table has: as wide as tables come, in small."""


@cache
def wide_mapping(name):
    """A mapping of a table with many groups, outcomes or levels, some of them of few people, some with long names."""
    groups, outcomes, sizes, people = WIDE_TABLES[name]
    rng = np.random.default_rng(len(name))
    # A few groups are much larger than the others.
    group = np.minimum(rng.integers(0, groups, people), rng.integers(0, groups, people))
    frame = pd.DataFrame({f"f{i}": rng.integers(0, size, people) for i, size in enumerate(sizes)})
    outcome = rng.beta(2.0, 2.0 + group % 3, people) * outcomes
    frame["group"] = [f"the {at}th of all the groups – größer, and with a name that goes on" for at in group]
    frame["y"] = outcome.astype(int)
    problem = eh.Problem(
        protected=["group"], features=[f"f{i}" for i in range(len(sizes))], outcome="y",
        parity=[eh.TargetParity(0.4, distance=eh.Difference())], budget=eh.ExpectedDistortion(1.0),
        distortion=eh.Distortion({"f0": eh.Ordinal(1, max_steps=1), "y": eh.Ordinal(1, max_steps=1)}),
    )  # fmt: skip
    bound = 0.8 * eh.identity_from(problem, frame)
    return eh.fit(problem.with_bounds(lambda _: bound), frame)
