"""Tables of every kind of column, from a seed: numbers, words, truths and dates, with gaps and words for them."""

import functools
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd

import evenhand as eh
from evenhand.data.counts import Counts
from evenhand.data.domain import Domain
from evenhand.data.tree import Asked, Kind
from evenhand.kernel import gather
from evenhand.spec.cells.learning import Node, Question, planted
from evenhand.tables import cells, read
from evenhand.tables.learned import variable_of_tree

BLANKS = ("?", -9)
FEATURES = ["income", "age", "town", "plan", "owner", "since", "score", "code", "seen at"]


def mixed(n=3000, seed=0, *, new=False):
    """People; ``new`` ones have words that nobody had, and gaps where there were none."""
    rng = np.random.default_rng(seed)
    man = rng.random(n) < 0.5
    income = np.round(rng.lognormal(10, 1, n), 2)
    income[rng.random(n) < 0.1] = np.nan
    age = rng.integers(16, 90, n)
    towns = np.array([f"town {i}" for i in range(2000)] + ["O'Hara", 'the "Hill"', "Ünna", "-- x", " "], dtype=object)
    town = towns[np.minimum(rng.geometric(0.02, n) - 1, len(towns) - 1)]
    plan = rng.choice(np.array(["basic", "plus", "pro", "?"], dtype=object), n, p=[0.5, 0.3, 0.15, 0.05])
    owner = rng.random(n) < 0.4
    since = pd.Timestamp("2001-01-01") + pd.to_timedelta(rng.integers(0, 8000, n), unit="D")
    score = np.round(rng.normal(size=n), 3)
    code = rng.integers(-9, 12, n)
    seen_at = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 10**8, n), unit="s")
    odds = 0.6 * man + 0.03 * (age - 50) + 0.5 * owner + 0.5 * (plan == "pro") - 0.2 * (code > 4)
    odds += 0.4 * np.nan_to_num(np.log(income) - 10) + 0.5 * (town == "town 3") - 0.3 * (since < "2010")
    table = pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "sex": np.where(man, "man", "woman"),
            "income": income,
            "age": age,
            "town": town,
            "plan": plan,
            "owner": owner,
            "since": since.astype("datetime64[us]"),
            "score": score,
            "code": code,
            "seen at": seen_at.astype("datetime64[us]"),
            "weight": rng.integers(0, 4, n),
            "hired": (rng.random(n) < 1 / (1 + np.exp(-odds))).astype(int),
        }
    )
    if new:
        table.loc[rng.random(n) < 0.1, "town"] = "a new town"
        table.loc[rng.random(n) < 0.1, "plan"] = None
        table.loc[rng.random(n) < 0.1, "town"] = None
        table.loc[rng.random(n) < 0.05, "since"] = None
        table.loc[rng.random(n) < 0.02, "score"] = np.inf
    return table


def problem(**changes):
    stated = {
        "protected": ["sex"],
        "features": FEATURES,
        "outcome": "hired",
        "cells": eh.Leaves(most=24, at_least=10),
        "missing_values": BLANKS,
        "parity": [eh.PairwiseParity(0.05)],
        "distortion": eh.Distortion({"hired": eh.Ordinal(1)}),
    }
    return eh.Problem(**{**stated, **changes})


@functools.cache
def mapping(seed=0, **changes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return scattered(eh.fit(problem(**changes), mixed(seed=seed)))


def scattered(fitted, seed=5):
    """The same mapping with a kernel that leaves nobody's outcome alone."""
    counts, rng = fitted.counts, np.random.default_rng(seed)
    rows = np.repeat(np.arange(len(counts)), 2)
    targets = counts.domain.xy(np.repeat(counts.x, 2), np.tile([0, 1], len(counts)))
    return replace(fitted, kernel=gather(rows, targets, rng.random(len(rows)) + 0.1, len(counts)))


def random_tree(table, seed=0, most=40):
    """A tree with every kind of question: at values themselves, about missing ones alone, words known and unknown."""
    rng = np.random.default_rng(seed)
    asked = [_asked(table[name], rng) for name in FEATURES]

    def grown(size):
        if size == 1:
            return Node()
        column = asked[rng.integers(len(asked))]
        left = int(rng.integers(1, size))
        missing_left, question = bool(rng.random() < 0.5), {}
        if not column.kind.numeric:
            among = rng.choice(column.words, rng.integers(0, len(column.words) + 1), replace=False)
            question = {"among": frozenset(map(str, among)), "others_left": bool(rng.random() < 0.5)}
        elif rng.random() < 0.1:
            missing_left = False
        else:
            question = {"below": float(rng.choice(_numbers(table[column.name])))}
        return Node(Question(column, missing_left, **question), grown(left), grown(size - left))

    return planted(grown(most))


def _asked(series, rng):
    if series.dtype == object or str(series.dtype) in ("str", "string"):
        # Some words of the table are not known, and one that is known is in no table.
        words = [word for word in sorted(set(series.dropna())) if rng.random() < 0.7 and word not in BLANKS]
        return Asked(series.name, Kind.WORD, words=tuple(sorted([*words, "nowhere"])), others=True, gaps=True)
    if series.dtype == bool:
        return Asked(series.name, Kind.TRUTH)
    kind = Kind.DATE if str(series.dtype).startswith("datetime") else Kind.NUMBER
    return Asked(series.name, kind, gaps=True)


def _numbers(series):
    if str(series.dtype).startswith("datetime"):
        return (series.dropna() - pd.Timestamp("1970-01-01")).dt.days.to_numpy()
    return series.dropna().astype(float).to_numpy()


def with_tree(tree, seed=0):
    """A mapping over the leaves of a given tree, in which everybody's outcome is drawn."""
    fitted, table = mapping(), mixed()
    learned = variable_of_tree(fitted.problem.cells, tree, BLANKS)
    d, y = (v for v in fitted.counts.domain.variables if v.tree is None)
    domain = Domain.of([d, learned, y])
    d, x, y = (cells(axis, read(table))[0] for axis in (domain.d, domain.x, domain.y))
    return scattered(replace(fitted, counts=Counts.of(domain, d, x, y)), seed)


def same_counts(one, other):
    """Two tables were counted alike: the same tree and levels, the same people."""
    for mine, theirs in zip(one.domain.variables, other.domain.variables, strict=True):
        assert (mine.name, mine.levels, mine.tree, mine.coding) == (
            theirs.name,
            theirs.levels,
            theirs.tree,
            theirs.coding,
        )
    for name in ("sources", "cell_people"):
        assert np.array_equal(getattr(one, name), getattr(other, name)), name
    for name in ("weight", "cell_squares"):
        assert np.allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=0), name
