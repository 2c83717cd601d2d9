"""Impact ratios, counted by hand in pandas; unknown categories, and those of less than two percent."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.findings.impact import LEAST_SHARE, impact


def table(seed, n=2000):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m", None], n, p=[0.45, 0.5, 0.05])
    race = rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.185, 0.015])
    y = (rng.random(n) < 0.2 + 0.2 * (sex == "m") + 0.1 * (race == "a")).astype(int)
    return pd.DataFrame({"sex": sex, "race": race, "x": rng.integers(0, 2, n), "y": y, "w": rng.integers(1, 4, n)})


def fitted(frame, **options):
    problem = eh.Problem(
        protected=["sex", "race"], features=["x"], outcome="y", missing="level", favourable=1,
        parity=[eh.PairwiseParity(0.8)], distortion=eh.Distortion({"y": eh.Ordinal(1)}),
    )  # fmt: skip
    return eh.fit(problem, frame, **options)


@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("seed", range(3))
def test_ratios_are_those_counted_by_hand(seed, weights):
    frame = table(seed)
    mapping = fitted(frame, weights=weights)
    found = impact(mapping.counts, mapping.kernel, 1, ["sex", "race"])
    weight = frame["w"] if weights else pd.Series(1.0, frame.index)
    released = mapping.possibilities(frame, mode="release")
    after = (released["weight"] * released["y"]).groupby(released["row"]).sum()
    people = frame.assign(weight=weight, before=frame["y"] * weight, after=after.to_numpy() * weight)
    assert found.people == weight.sum()
    assert found.unknown == {"sex": weight[frame["sex"].isna()].sum()}
    for by, columns in (("sex", ["sex"]), ("race", ["race"]), ("sex × race", ["sex", "race"])):
        own = people.dropna(subset=columns).groupby(columns)[["weight", "before", "after"]].sum()
        large = own["weight"] / weight.sum() >= LEAST_SHARE
        listed = [category for category in found.categories if category.by == by]
        names = [", ".join(f"{c}={v}" for c, v in zip(columns, np.atleast_1d(key), strict=True)) for key in own.index]
        assert [category.category for category in listed] == names
        for when in ("before", "after"):
            rate = own[when] / own["weight"]
            assert [getattr(c, f"selected_{when}") for c in listed] == pytest.approx(own[when].tolist())
            assert [getattr(c, f"rate_{when}") for c in listed] == pytest.approx(rate.tolist())
            ratio = [r / rate[large].max() if is_large else None for r, is_large in zip(rate, large, strict=True)]
            for category, expected in zip(listed, ratio, strict=True):
                assert getattr(category, f"ratio_{when}") == (None if expected is None else pytest.approx(expected))
        assert [bool(category.note) for category in listed] == (~large).tolist()
    assert any(category.note for category in found.categories)


def test_nobody_selected_has_no_ratio_and_one_column_comes_once():
    frame = table(4).assign(sex="f")
    frame["y"] = np.where(frame["race"] == "a", frame["y"], 1)
    mapping = fitted(frame)
    nobody = impact(mapping.counts, eh.fit(mapping.problem, mapping.counts).kernel, 0, ["race"], {"race": 5.0})
    assert {category.by for category in nobody.categories} == {"race"}
    assert nobody.unknown == {"race": 5.0}
    assert nobody.people == 2005
    assert [c.ratio_before for c in nobody.categories if c.category == "race=b"] == [0.0]
