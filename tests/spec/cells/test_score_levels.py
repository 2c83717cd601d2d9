"""Levels of a score: neighbours, of about equally many people, with enough of every group."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh


def scored(seed=0, people=2000):
    rng = np.random.default_rng(seed)
    group, score = rng.integers(0, 2, people), rng.random(people)
    y = (rng.random(people) < 0.2 + 0.5 * score + 0.15 * group).astype(int)
    return pd.DataFrame({"d": np.array(["a", "b"])[group], "score": score, "y": y})


def by_score(cells, **changes):
    return eh.Problem(**{
        "protected": ["d"], "features": ["score"], "outcome": "y", "cells": cells,
        "parity": [eh.PairwiseParity(0.05)], "distortion": eh.Distortion({"y": eh.Nominal(1)}), **changes,
    })  # fmt: skip


@pytest.mark.parametrize("seed", range(5))
def test_levels_are_in_order_and_about_equally_large(seed):
    frame = scored(seed)
    mapping = eh.fit(by_score(eh.ScoreLevels(10)), frame)
    assert len(mapping.cells) == 10
    assert mapping.cells["people"].between(150, 250).all()
    cell = mapping.cell_of(frame)
    assert pd.Series(cell)[np.argsort(frame["score"].to_numpy(), kind="stable")].is_monotonic_increasing
    assert mapping.counts.domain.x.variables[0].ordered
    rates = mapping.audit().rates.query("y == 1")["after"]
    assert rates.max() / rates.min() <= 1.05 + 1e-9


def test_neighbours_are_merged_until_there_are_enough_of_every_group():
    frame = scored()
    # The second group has nobody in the upper half, but for 25 people at the top.
    few = (frame["d"] == "b") & frame["score"].between(0.5, 0.95)
    frame = frame[~few]
    mapping = eh.fit(by_score(eh.ScoreLevels(20, at_least=20)), frame)
    assert mapping.cells[[name for name in mapping.cells if name.startswith("people (")]].min().min() >= 20
    assert 5 <= len(mapping.cells) < 20


def test_few_values_and_missing_ones():
    frame = scored().assign(score=lambda f: f["score"].round(1))
    assert len(eh.fit(by_score(eh.ScoreLevels(40)), frame).cells) == 11
    gone = frame.assign(score=frame["score"].where(np.arange(len(frame)) % 5 > 0))
    mapping = eh.fit(by_score(eh.ScoreLevels(4)), gone)
    # Missing scores are a level of their own; where there were none, one that is goes just above the middle.
    assert mapping.cells["rule"].tolist()[-1] == "score missing"
    assert mapping.cells["people"].tolist()[-1] == gone["score"].isna().sum()
    assert set(mapping.cell_of(gone[gone["score"].isna()])) == {5}
    whole = eh.fit(by_score(eh.ScoreLevels(4)), frame)
    assert set(whole.cell_of(gone[gone["score"].isna()])) == {3}


def test_segments_have_levels_of_their_own():
    frame = scored().assign(town=lambda f: np.where(f.index % 3, "u", "v"))
    problem = by_score(eh.ScoreLevels(5), features=["town", "score"], parity=[eh.PairwiseParity(0.2, given=["town"])])
    rules = eh.fit(problem, frame).cells["rule"]
    assert rules.str.startswith("town is u").sum() == rules.str.startswith("town is v").sum() == 5


def test_what_is_wrong_is_refused():
    with pytest.raises(eh.SpecError, match=r"one feature, .* not \['score', 'other'\]"):
        by_score(eh.ScoreLevels(), features=["score", "other"])
    with pytest.raises(eh.SpecError, match="number of ScoreLevels must be a whole number of at least 2"):
        eh.ScoreLevels(1)
    with pytest.raises(eh.DataError, match="'score' must hold a score, a number"):
        eh.fit(by_score(eh.ScoreLevels()), scored().assign(score="high"))
    problem = by_score(eh.ScoreLevels(7))
    assert eh.Problem.from_toml(problem.to_toml()) == problem
