"""Impact ratios, counted by hand in pandas; unknown categories, those of less than two percent, and other people."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.data.weighting import Weighting
from evenhand.engines import distinct_rows
from evenhand.findings.impact import LEAST_SHARE, impact, impact_on
from evenhand.render.sentences import sentence


def table(seed, n=2000):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m", None], n, p=[0.45, 0.5, 0.05])
    race = rng.choice(["a", "b", "c", "d"], n, p=[0.5, 0.3, 0.185, 0.015])
    y = (rng.random(n) < 0.2 + 0.2 * (sex == "m") + 0.1 * (race == "a")).astype(int)
    return pd.DataFrame({"sex": sex, "race": race, "x": rng.integers(0, 2, n), "y": y, "w": rng.integers(1, 4, n)})


def fitted(frame, weights=None, **stated):
    problem = eh.Problem(
        protected=["sex", "race"], features=["x"], outcome="y", missing="level", favourable=1,
        parity=[eh.PairwiseParity(0.8)], distortion=eh.Distortion({"y": eh.Ordinal(1)}), **stated,
    )  # fmt: skip
    return eh.fit(problem, frame, weights=weights)


def counted_by_hand(found, mapping, frame, weight, unknown):
    """Hold a table of ratios against one that is counted row by row; ``unknown`` tells whose category is not known."""
    released = mapping.possibilities(frame, mode="release", missing="level")
    after = (released["weight"] * (released["y"] == 1)).groupby(released["row"]).sum()
    before = (frame["y"] == 1) * weight
    people = frame.assign(weight=weight, before=before, after=after.to_numpy() * weight)[weight > 0]
    assert found.people == pytest.approx(weight.sum())
    assert found.unknown == pytest.approx({name: weight[which].sum() for name, which in unknown.items() if which.any()})
    assert found.weighed == (weight != 1).any()
    for by, columns in (("sex", ["sex"]), ("race", ["race"]), ("sex × race", ["sex", "race"])):
        known = ~np.any([unknown[name] for name in columns], axis=0)
        own = people[known[people.index]].groupby(columns)[["weight", "before", "after"]].sum()
        large = own["weight"] / weight.sum() >= LEAST_SHARE
        listed = [category for category in found.categories if category.by == by]
        names = [", ".join(f"{c}={v}" for c, v in zip(columns, np.atleast_1d(key), strict=True)) for key in own.index]
        assert [category.category for category in listed] == names
        assert [category.people for category in listed] == pytest.approx(own["weight"].tolist())
        assert [category.share for category in listed] == pytest.approx((own["weight"] / weight.sum()).tolist())
        for when in ("before", "after"):
            rate = own[when] / own["weight"]
            assert [getattr(c, f"selected_{when}") for c in listed] == pytest.approx(own[when].tolist())
            assert [getattr(c, f"rate_{when}") for c in listed] == pytest.approx(rate.tolist())
            ratio = [r / rate[large].max() if is_large else None for r, is_large in zip(rate, large, strict=True)]
            for category, expected in zip(listed, ratio, strict=True):
                assert getattr(category, f"ratio_{when}") == (None if expected is None else pytest.approx(expected))
        assert [bool(category.note) for category in listed] == (~large).tolist()


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("seed", range(3))
def test_ratios_are_those_counted_by_hand(seed, weights):
    frame = table(seed)
    mapping = fitted(frame, weights=weights)
    found = impact(mapping.counts, mapping.kernel, 1, ["sex", "race"])
    weight = frame["w"] if weights else pd.Series(1.0, frame.index)
    counted_by_hand(found, mapping, frame, weight, {"sex": frame["sex"].isna(), "race": frame["race"].isna()})
    assert found.notes == ()
    assert any(category.note for category in found.categories)


def test_nobody_selected_has_no_ratio_and_one_column_comes_once():
    frame = table(4).assign(sex="f")
    frame["y"] = np.where(frame["race"] == "a", frame["y"], 1)
    mapping = fitted(frame)
    nobody = impact(mapping.counts, mapping.kernel, 0, ["race"])
    assert {category.by for category in nobody.categories} == {"race"}
    assert (nobody.unknown, nobody.people) == ({}, 2000)
    assert [c.ratio_before for c in nobody.categories if c.category == "race=b"] == [0.0]


def other_people(seed, n=1500):
    """People of whom some have new values or none, in one column or in several, or no weight."""
    rng = np.random.default_rng(seed)
    frame = table(seed + 100, n).assign(w=rng.choice([0, 0.5, 1.0, 2.5], n))
    frame["sex"] = np.where(rng.random(n) < 0.1, "new", frame["sex"])
    frame["race"] = np.where(rng.random(n) < 0.2, rng.choice(["new", None], n), frame["race"])
    frame["x"] = np.where(rng.random(n) < 0.3 * (frame["sex"] == "f"), 7, frame["x"])
    frame["y"] = np.where(rng.random(n) < 0.05, 9, frame["y"])
    return frame


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("stated", [{}, {"blind": True}, {"suppress_protected": "fixed"}], ids=str)
@pytest.mark.parametrize("weights", [None, "w"])
@pytest.mark.parametrize("kind", ["frame", "file"])
@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_of_other_people_everybody_is_counted(tmp_path, kind, weights, stated):
    """Who has a value that no level fits is left as they are, and counts so, wherever their category is known."""
    mapping, frame = fitted(table(5), **stated), other_people(6)
    weight = frame["w"] if weights else pd.Series(1.0, frame.index)
    given = frame
    if kind == "file":
        given = tmp_path / "people.csv"
        frame.to_csv(given, index=False)
    mode = mapping.release_mode.with_missing("level")
    found = impact_on(mode, distinct_rows(mode.domain, given, None, Weighting.of(weights, None)), 1, ["sex", "race"])
    unknown = {name: frame[name].isna() | (frame[name] == "new") for name in ("sex", "race")}
    assert (unknown["sex"] & unknown["race"]).any()
    counted_by_hand(found, mapping, frame, weight, unknown)
    kept, *typical, strange = map(sentence, found.notes)
    assert "a release leaves them as they are" in kept
    if not stated:
        known = set(table(5)[["sex", "race", "x", "y"]].itertuples(index=False, name=None))
        new = [row not in known for row in frame[["sex", "race", "x", "y"]].itertuples(index=False, name=None)]
        told = [float(words.split()[0].replace(",", "")) for words in (kept, *typical)]
        assert sum(told) == pytest.approx(weight[new].sum(), abs=len(told) / 2)
    assert strange.startswith(
        f"{weight[frame['y'] == 9].sum():,.0f} people{' by weight' * bool(weights)} have an unseen outcome"
    )


def test_weights_that_cannot_be_counted_are_refused():
    mapping, frame = fitted(table(5)), table(7, 50)
    mode = mapping.release_mode.with_missing("level")
    for weight in (-1.0, np.inf, 0.0):
        with pytest.raises(eh.DataError, match="weight"):
            distinct_rows(mode.domain, frame, None, Weighting([weight] * 50))
    with pytest.raises(eh.DataError, match="has no rows"):
        impact_on(mode, distinct_rows(mode.domain, frame.head(0), None, None), 1, ["sex"])
