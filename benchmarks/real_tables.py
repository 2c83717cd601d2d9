"""Three public tables for ``new_people.py``: those of ``raw_tables.py``, banded, and stated as problems.

Every column is a category with the levels of the whole table, so that nobody of any part of it falls out. One statement
serves all three, of the form of the paper's COMPAS study: an outcome may change either way at a cost of 1, a feature in
an order by one step at a cost of 1 (education in Adult up alone), costs are added, and every individual's expected
distortion is at most 0.5; features without an order are fixed. Knows nothing of splits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import pandas as pd
import raw_tables
from raw_tables import build_datasets

import evenhand as eh

STEP = eh.Ordinal(step=1, max_steps=1)
GERMAN = (
    "checking", "duration", "history", "purpose", "savings", "employment", "property", "age", "housing", "risk",
)  # fmt: skip
"""The columns of German credit that are read."""

BANK_AGES = (25, 60)
"""The second and third age of bank marketing begin here."""


@dataclass(frozen=True)
class Study:
    """A public table: who is compared, by which features, in the order in which they are added, within which bound.

    Where it comes in two files, for fitting and for tests, ``own_split`` is how many people the first one has, and
    ``own_sizes`` are the numbers of features for that split.
    """

    title: str
    read: Callable[[], pd.DataFrame]
    protected: str
    features: tuple[str, ...]
    rules: dict[str, eh.Ordinal]
    outcome: str
    bound: float
    own_split: int | None = None
    own_sizes: tuple[int, ...] = ()

    def problem(self, features, utility):
        """Return the problem with so many of the features."""
        used = self.features[:features]
        rules = {name: rule for name, rule in self.rules.items() if name in used}
        return eh.Problem(
            protected=[self.protected],
            features=used,
            outcome=self.outcome,
            utility=utility,
            parity=[eh.PairwiseParity(self.bound)],
            distortion=eh.Distortion(rules | {self.outcome: eh.Ordinal(step=1)}),
            budget=eh.ExpectedDistortion(0.5),
        )


def banded(values, edges):
    """Return numbers as ordered bands, each from its lower edge up to, but not including, the next."""
    names = [f"<{edges[0]}", *(f"{a}-{b - 1}" for a, b in pairwise(edges)), f">={edges[-1]}"]
    return pd.Categorical.from_codes(np.digitize(values, edges), names, ordered=True)


def categories(table, outcome):
    """Return the table with every column a category, but the outcome."""
    texts = [name for name in table if name != outcome and not isinstance(table[name].dtype, pd.CategoricalDtype)]
    return table.astype(dict.fromkeys(texts, "category"))


def adult():
    """Return Adult in the bands of "adult-wide"."""
    raw = raw_tables.adult()
    table = build_datasets.adult_wide(raw).drop(columns="race").assign(relationship=raw["relationship"])
    table["capital_gain"] = np.where(raw["capital_gain"] > 0, "some", "none")
    for name, order in eh.datasets.ORDERS["adult-wide"].items():
        table[name] = pd.Categorical(table[name], categories=order, ordered=True)
    return categories(table, "income")


def german():
    """Return German credit in the bands of examples/german.toml; the outcome is 1 where the risk is good."""
    table = raw_tables.german()[list(GERMAN)]
    employed = table["employment"].map({"A71": 0, "A72": 0, "A73": 1, "A74": 2, "A75": 2})
    years = ["under 1 year", "1 to 4 years", "4 years or more"]
    table = table.assign(
        age=np.where(table["age"] <= 25, "up to 25", "over 25"),
        duration=banded(table["duration"], [12, 24, 36]),
        savings=table["savings"].map({"A61": "under 100", "A65": "unknown"}).fillna("100 or more"),
        employment=pd.Categorical.from_codes(employed, years, ordered=True),
        risk=table["risk"].eq(1).astype(int),
    )
    return categories(table, "risk")


def bank():
    """Return bank marketing in bands; the outcome is 1 where money was deposited."""
    raw = raw_tables.bank()
    used = raw[["age", "balance", "education", "housing", "marital", "job", "loan", "contact", "month", "deposit"]]
    table = used.assign(
        age=banded(raw["age"], BANK_AGES),
        balance=banded(raw["balance"], [0, 500, 2000]),
        deposit=raw["deposit"].eq("yes").astype(int),
    )
    return categories(table, "deposit")


STUDIES = {
    "adult": Study(
        "Adult, women and men",
        adult,
        "sex",
        ("age", "education", "hours", "marital_status", "workclass", "occupation", "relationship", "capital_gain"),
        {"age": STEP, "education": eh.Ordinal(step=1, max_steps=1, down=False), "hours": STEP},
        "income",
        0.05,
        own_split=32561,
        own_sizes=(4, 5, 6, 7),
    ),
    "german": Study(
        "German credit, up to 25 years and over",
        german,
        "age",
        ("checking", "duration", "savings", "employment", "housing", "property", "history", "purpose"),
        {"duration": STEP, "employment": STEP},
        "risk",
        0.1,
    ),
    "bank": Study(
        "Bank marketing, under 25, 25 to 59, from 60 years on",
        bank,
        "age",
        ("balance", "education", "housing", "marital", "job", "loan", "contact", "month"),
        {"balance": STEP},
        "deposit",
        0.1,
        own_split=36168,
        own_sizes=(6, 8),
    ),
}
