"""A table of loan applications that nobody made: to try things on, with columns as raw files have them.

It knows how its people are drawn, and nothing of problems and mappings.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from evenhand import check

MOST_PEOPLE = 1_000_000

MONTHS = (12, 24, 36, 48, 60)
WORK = ("employed", "self-employed", "retired", "student", "none")
HOUSING = ("rents", "owns", "family")
SAVINGS = ("none", "some", "much")
PURPOSE = ("car", "home", "education", "business", "other")
REGION = ("north", "east", "south", "west")


def loans(people: int = 5000, seed: int = 0) -> pd.DataFrame:
    """Make up a table of loan applications and what was decided.

    Men were granted loans more often than women, partly because their incomes are drawn higher and partly for no other
    reason. Nobody in it exists.

    Parameters
    ----------
    people : int
        How many rows, up to a million.
    seed : int
        Another seed gives other people.

    Returns
    -------
    pandas.DataFrame
        One row per application: its number ``application``; ``sex``, ``age``; ``income``, ``amount``, ``months``,
        ``work``, ``work_years``, ``housing``, ``savings`` (with missing values), ``arrears``, ``accounts``,
        ``purpose``, ``region``; and ``granted``, which is "yes" or "no".

    Examples
    --------
    >>> table = loans()
    >>> (table["granted"] == "yes").groupby(table["sex"]).mean().round(2).to_dict()
    {'female': 0.45, 'male': 0.6}
    """
    size = check.whole("people", people, low=1, high=MOST_PEOPLE)
    rng = np.random.default_rng(check.seed("seed", seed))
    man = rng.random(size) < 0.55
    age = np.clip(rng.gamma(7.0, 6.0, size), 18, 85).astype(int)
    work = np.where(
        age >= 66, 2, np.where((age < 26) & (rng.random(size) < 0.4), 3, _chosen(rng, size, (82, 12, 0, 0, 6)))
    )
    years = np.where(work < 2, np.minimum(rng.gamma(1.5, 4.0, size), age - 17.5), 0.0).round(1)
    usual = 26_000 + 260 * np.minimum(age - 18, 30) + 4_000 * man
    income = usual * np.array([1.0, 1.1, 0.7, 0.3, 0.35])[work] * rng.lognormal(0, 0.3, size)
    amount = np.round(np.clip(income * rng.lognormal(-1.1, 0.6, size), 500, 80_000), -2).astype(int)
    months = np.array(MONTHS)[_chosen(rng, size, (15, 25, 30, 15, 15))]
    savings = _chosen(rng, size, (45, 40, 15))
    arrears = rng.poisson(np.where(savings == 0, 0.9, 0.3))
    housing = np.where(age < 27, _chosen(rng, size, (50, 5, 45)), _chosen(rng, size, (45, 48, 7)))
    burden = amount / months / (income / 12)
    leaning = (
        0.05 + 0.5 * man + 0.5 * (savings - 0.7) + 0.5 * (housing == 1) + 0.06 * np.minimum(years, 10) - 0.75 * arrears
        + 0.9 * np.log(income / 28_000) - 7 * (burden - 0.12)
    )  # fmt: skip
    granted = rng.random(size) < 1 / (1 + np.exp(-leaning))
    told = np.array(SAVINGS, dtype=object)[savings]
    told[rng.random(size) < 0.05] = None
    return pd.DataFrame(
        {
            "application": np.arange(1, size + 1),
            "sex": np.where(man, "male", "female"),
            "age": age,
            "income": income.round(2),
            "amount": amount,
            "months": months,
            "work": np.array(WORK)[work],
            "work_years": years,
            "housing": np.array(HOUSING)[housing],
            "savings": told,
            "arrears": arrears,
            "accounts": 1 + rng.poisson(1.2, size),
            "purpose": np.array(PURPOSE)[_chosen(rng, size, (34, 22, 12, 10, 22))],
            "region": np.array(REGION)[_chosen(rng, size, (30, 20, 25, 25))],
            "granted": np.where(granted, "yes", "no"),
        }
    )


def _chosen(rng: np.random.Generator, size: int, shares: tuple[int, ...]) -> np.ndarray:
    """Return the number of one of several for each person, which are as frequent as their shares in a hundred say."""
    found: np.ndarray = np.searchsorted(np.cumsum(shares), rng.random(size) * 100, side="right")
    return found
