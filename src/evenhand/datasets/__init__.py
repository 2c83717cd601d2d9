"""The two studies of the paper, and a wide table of the second, as contingency tables; and one that is made up.

``scripts/build_datasets.py`` in the repository builds the tables from the raw files. They hold counts alone.
"""

from __future__ import annotations

import gzip
import io
from dataclasses import dataclass
from functools import cached_property
from importlib import resources
from typing import Any

import numpy as np
import pandas as pd

from evenhand import check
from evenhand.data.counts import Counts
from evenhand.datasets.made_up import loans as loans
from evenhand.spec import (
    KL,
    L1,
    Distortion,
    ExcessDistortion,
    ExpectedDistortion,
    Nominal,
    Ordinal,
    PairwiseParity,
    Problem,
    TargetParity,
)
from evenhand.tables import count

COMPAS = Problem(
    protected=["sex", "race"],
    features=["age_cat", "c_charge_degree", "priors_count"],
    outcome="is_recid",
    favourable=0,
    utility=KL(),
    parity=[PairwiseParity(0.1)],
    distortion=Distortion(
        {
            "age_cat": Ordinal(step=1, max_steps=1),
            "c_charge_degree": Nominal(4),
            "priors_count": Ordinal(step=1, max_steps=1, up=False),
            "is_recid": Ordinal(step=1, up=False),
        },
        combine="sum",
    ),
    budget=ExpectedDistortion(0.5),
)

ADULT = Problem(
    protected=["sex", "race"],
    features=["age", "education"],
    outcome="income",
    favourable=1,
    utility=L1(),
    parity=[TargetParity(0.15)],
    distortion=Distortion(
        {
            "age": Ordinal(step=2, max_steps=1),
            "education": Ordinal(step=0, max_steps=1, down=False),
            "income": Ordinal(step=1, up_step=0),
        },
        combine="max",
    ),
    budget=ExcessDistortion({0.9: 0.1, 1.9: 0.05}, per="xy"),
)

ADULT_WIDE = Problem(
    protected=["sex", "race"],
    features=["age", "education", "hours", "marital_status", "workclass", "occupation"],
    outcome="income",
    favourable=1,
    utility=L1(),
    parity=[PairwiseParity(0.1)],
    distortion=Distortion(
        {
            "age": Ordinal(step=2, max_steps=1),
            "education": Ordinal(step=0, max_steps=1, down=False),
            "hours": Ordinal(step=2, max_steps=1),
            "income": Ordinal(step=1, up_step=0),
        },
        combine="max",
    ),
    budget=ExcessDistortion({0.9: 0.1, 1.9: 0.05}),
)


@dataclass(frozen=True, eq=False, repr=False)
class Dataset:
    """A study: its table, its problem, and where it comes from.

    Attributes
    ----------
    cells : pandas.DataFrame
        The contingency table: one row per cell, with the column ``people``.
    frame : pandas.DataFrame
        One row per person.
    counts : Counts
        The same, counted for the problem.
    problem : Problem
        The paper's; for "adult-wide" one of the same kind.
    about : str
        The source and how it was prepared.
    """

    name: str
    cells: pd.DataFrame
    problem: Problem
    about: str

    def __repr__(self) -> str:
        return f"<Dataset {self.name!r}: {self.cells['people'].sum():,} people in {len(self.cells)} cells>"

    @cached_property
    def frame(self) -> pd.DataFrame:
        """One row per person."""
        people = self.cells.loc[np.repeat(self.cells.index, self.cells["people"])]
        return people.drop(columns="people").reset_index(drop=True)

    @cached_property
    def counts(self) -> Counts:
        """The table counted for the problem."""
        return count(self.problem, self.frame)


ORDERS: dict[str, dict[str, list[str]]] = {
    "compas": {
        "age_cat": ["Less than 25", "25 - 45", "Greater than 45"],
        "priors_count": ["0", "1-3", ">3"],
    },
    "adult": {
        "age": ["<20", "20-29", "30-39", "40-49", "50-59", "60-69", ">=70"],
        "education": ["<6", "6", "7", "8", "9", "10", "11", "12", ">12"],
    },
}
ORDERS["adult-wide"] = ORDERS["adult"] | {"hours": ["<35", "35-40", "41-50", ">50"]}

ABOUT = {
    "compas": "ProPublica's compas-scores-two-years table with ProPublica's own filters, African-American and "
    "Caucasian defendants only: 5,278 people. Outcome: is_recid, whether a new offence was recorded. Prior "
    "offences are banded as 0, 1-3, >3. The problem is the paper's section 4.1 at ε = 0.1, c = 0.5, with the "
    "cost of 1 for lowering the outcome that fits its figures (its text says 2, which is infeasible); a change of the "
    "charge costs 2² = 4.",
    "adult": "The UCI Adult training file (1994 US census): 32,561 people. Outcome: income above $50K. Age by "
    "decade, education by years, race as White or Minority. The problem is the paper's section 4.2 at ε = 0.15, "
    "with budgets per (x, y), averaged over the protected groups, without which it is infeasible.",
    "adult-wide": "The UCI Adult training file (1994 US census) with six features: 32,561 people in 13,024 of the "
    "1,905,120 cells (d, x, y). As in 'adult', and besides the hours of work a week in four bands, marital status, "
    "workclass and occupation ('?' where they are unknown). The problem is not the paper's but large: pairwise parity "
    "at ε = 0.1 with budgets for each individual; a change of the hours costs what a change of the age does, and the "
    "three columns without an order are fixed. That leaves 195,994 moves.",
}

PROBLEMS = {"compas": COMPAS, "adult": ADULT, "adult-wide": ADULT_WIDE}

COMPRESSED = {"adult-wide"}


def load(name: str) -> Dataset:
    """Load an embedded study.

    Parameters
    ----------
    name : {"compas", "adult", "adult-wide"}
        Which of the paper's two, or the second with six features.

    Examples
    --------
    >>> data = load("adult")
    >>> len(data.frame), data.problem.outcome
    (32561, 'income')
    """
    check.one_of("the name of a dataset", name, PROBLEMS)
    return Dataset(name, _cells(name), PROBLEMS[name], ABOUT[name])


def _cells(name: str) -> pd.DataFrame:
    orders = ORDERS[name]
    text: dict[Any, Any] = dict.fromkeys(orders, str)
    table = resources.files(__package__)
    packed = name in COMPRESSED
    content = table.joinpath(f"{name}.csv.gz" if packed else f"{name}.csv").read_bytes()
    content = gzip.decompress(content) if packed else content
    cells = pd.read_csv(io.BytesIO(content), dtype=text, keep_default_na=False)
    for column, order in orders.items():
        cells[column] = pd.Categorical(cells[column], categories=order, ordered=True)
    return cells
