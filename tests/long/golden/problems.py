"""Ten problems and their tables, of every kind that changes what commands report."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

LEVELS = """
protected = ["group"]
features = ["skill", "town"]
outcome = "hired"
favourable = "yes"
parity = [{ kind = "pairwise", bound = 0.2 }]
budget = [{ kind = "expected", limit = 0.6 }]

[distortion.rules.skill]
rule = "ordinal"
step = 1
max_steps = 1

[distortion.rules.hired]
rule = "nominal"
cost = 1
"""
OUTCOME_ALONE = """
protected = ["group"]
features = ["skill", "pay", "town"]
outcome = "hired"
favourable = "yes"
{more}
parity = [{{ kind = "pairwise", bound = {bound} }}]
budget = [{{ kind = "expected", limit = 0.6 }}]

[cells]
kind = "leaves"
most = 6
at_least = 20

[distortion.rules.hired]
rule = "nominal"
cost = 1
"""
ON_FEATURES = LEVELS.replace('rule = "nominal"\ncost = 1', 'rule = "free"').replace("max_steps = 1", "")
GRADES = """
protected = ["group"]
features = ["skill"]
outcome = "grade"
parity = [{ kind = "target", bound = 0.25 }]
budget = [{ kind = "excess", thresholds = [{ above = 0.9, probability = 0.4 }, { above = 1.9, probability = 0.1 }] }]
utility = { measure = "L1" }

[distortion.rules.grade]
rule = "ordinal"
step = 1
"""


@dataclass(frozen=True)
class Golden:
    """One problem: its statement, its table, and what its commands are given besides."""

    toml: str
    table: pd.DataFrame
    fit: tuple[str, ...] = ()


def people(seed: int, number: int = 1200, groups: int = 3) -> pd.DataFrame:
    """People whose outcome depends on their group, their skill and their town."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, number)
    skill = rng.integers(0, 3, number)
    town = rng.integers(0, 2, number)
    pay = np.round(rng.gamma(4, 9, number) + 4 * skill, 1)
    score = 0.8 * skill + 0.3 * town + 0.02 * pay - 1.2 * group / max(1, groups - 1) + rng.logistic(size=number)
    return pd.DataFrame({
        "group": np.array([f"g{number}" for number in range(groups)])[group],
        "skill": skill,
        "pay": pay,
        "town": np.array(["north", "south"])[town],
        "hired": np.where(score > 0.9, "yes", "no"),
        "grade": np.digitize(score, [0.3, 1.6]),
        "counted": np.round(rng.uniform(0.5, 2.5, number), 2),
    })  # fmt: skip


def counted(table: pd.DataFrame) -> pd.DataFrame:
    """The same people as a table of counts: a row for each combination."""
    columns = ["group", "skill", "town", "hired", "grade"]
    return table.groupby(columns, as_index=False).size().rename(columns={"size": "persons"})


def with_a_line(toml: str, line: str) -> str:
    """Add a line above the tables of a statement."""
    head, rest = toml.split("\n[", 1)
    return f"{head}{line}\n\n[{rest}"


PROBLEMS = {
    "levels": Golden(LEVELS, people(1)),
    "cells": Golden(OUTCOME_ALONE.format(bound=0.15, more=""), people(2)),
    "outcomes": Golden(GRADES, people(3)),
    "conditional": Golden(LEVELS.replace("bound = 0.2", 'bound = 0.35, given = ["town"]'), people(4)),
    "suppressed": Golden(with_a_line(ON_FEATURES, 'suppress_protected = "fixed"'), people(5)),
    "confident": Golden(OUTCOME_ALONE.format(bound=0.35, more="confidence = 0.95"), people(6, number=3000, groups=2)),
    "weights": Golden(LEVELS, people(7), fit=("--weights", "counted")),
    "frequencies": Golden(LEVELS, counted(people(10, number=3000)), fit=("--frequencies", "persons")),
    "infeasible": Golden(LEVELS.replace("limit = 0.6", "limit = 0.05"), people(8)),
    "groups": Golden(LEVELS.replace("bound = 0.2", 'bound = 0.5, against = "rest"'), people(9, number=2400, groups=16)),
}
