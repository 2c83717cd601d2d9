"""Models without D, on a population that is known: propensities learned out of fold, and what they tell."""

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.data.counts import with_propensities
from evenhand.engines import counts_of
from evenhand.kernel.achieved import outcome_by_source
from evenhand.spec import all_comparisons

TOWNS = np.array(list("pqrs"))


def world(people, seed):
    """People of two groups; a and town depend on the group, and the outcome on everything."""
    rng = np.random.default_rng(seed)
    d = (rng.random(people) < 0.4).astype(int)
    a, b = rng.normal(0.9 * d, 1, people), rng.normal(0, 1, people)
    town = np.where(rng.random(people) < 0.5, d, rng.integers(0, 2, people)) * 2 + rng.integers(0, 2, people)
    chance = 1 / (1 + np.exp(1 - 0.9 * a - 0.6 * b - 0.5 * d))
    y = (rng.random(people) < chance).astype(int)
    frame = pd.DataFrame({"d": np.array(["f", "m"])[d], "a": a, "b": b, "town": TOWNS[town], "y": y})
    return frame


def propensity(frame):
    """Pr(d=m | x), as the world is made: a given d is normal, and town is the group's own half the time."""
    town = np.searchsorted(TOWNS, frame["town"]) // 2
    odds = 0.4 / 0.6 * np.exp(0.9 * frame["a"] - 0.405) * np.where(town == 1, 0.75 / 0.25, 0.25 / 0.75)
    return np.asarray(odds / (1 + odds))


def stated(**changes):
    asked = {
        "cells": eh.Leaves(32, at_least=20), "parity": [eh.PairwiseParity(0.05)],
        "distortion": eh.Distortion({"y": eh.Nominal(1)}), "suppress_protected": True,
    } | changes  # fmt: skip
    return eh.Problem(protected=["d"], features=["a", "b", "town"], outcome="y", **asked)


def sources(counts, frame):
    """The source of each row."""
    leaf = counts.domain.x.variables[0].tree
    from evenhand.tables import cells, read

    d, x, y = (cells(axis, read(frame))[0] for axis in (counts.domain.d, counts.domain.x, counts.domain.y))
    assert leaf is not None
    return np.searchsorted(counts.sources, counts.domain.dxy(d, x, y))


def truth(counts, frame, released):
    """R_d in the population: the mean over a group of E[Ŷ | x], by the true propensity, on these very people."""
    pi = propensity(frame)
    expected = released[sources(counts, frame), 1]
    return np.array([(of * expected).sum() / of.sum() for of in (1 - pi, pi)])


def summed(counts, frame, pi):
    source = sources(counts, frame)
    return np.stack([np.bincount(source, of, len(counts)) for of in (1 - pi, pi)])


def told(counts, released):
    return counts.propensities.sums @ released[:, 1] / counts.group_weight


def gap(rates):
    return abs(rates[1] - rates[0])


def test_good_propensities_tell_the_mean_scores_and_useless_ones_are_strict_not_empty():
    frame = world(20_000, 0)
    mapping = eh.fit(stated(suppress_protected=None), frame)
    counts, released = mapping.counts, outcome_by_source(mapping.counts, mapping.kernel)
    true = truth(counts, frame, released)
    rng = np.random.default_rng(1)
    good = told(with_propensities(counts, summed(counts, frame, propensity(frame))), released)
    weak = np.clip(0.4 + 0.15 * (propensity(frame) - 0.4) + rng.normal(0, 0.02, len(frame)), 0, 1)
    useless = np.full(len(frame), 0.4)
    assert good == pytest.approx(true, abs=0.006)
    for pi in (weak, useless):
        found = told(with_propensities(counts, summed(counts, frame, pi)), released)
        # What the cells alone tell of groups is there in any case.
        assert gap(found) > 0.5 * gap(true)
        assert gap(found) < 2 * gap(true)
    empty = told(with_propensities(counts, summed(counts, frame, useless), ()), released)
    assert gap(empty) < 1e-9


def test_learned_propensities_are_out_of_fold_and_tell_what_the_true_ones_tell():
    frame = world(12_000, 2)
    problem = stated()
    counts = counts_of(problem, frame)
    released = outcome_by_source(counts, eh.fit(stated(suppress_protected=None), frame).kernel)
    assert told(counts, released) == pytest.approx(truth(counts, frame, released), abs=0.012)
    assert counts.propensities.learner.startswith("HistGradientBoosting")
    pi = propensity(frame)
    order, own = np.argsort(pi), (frame["d"] == "m").to_numpy()
    best = (np.cumsum(~own[order]) * own[order]).sum() / own.sum() / (~own).sum()
    assert counts.propensities.areas[1] == pytest.approx(best, abs=0.02)


def test_a_file_gives_what_its_frame_gives(tmp_path):
    frame = world(3000, 3)
    frame.to_csv(tmp_path / "table.csv", index=False)
    from_frame, from_file = (counts_of(stated(), table) for table in (frame, tmp_path / "table.csv"))
    assert from_file.propensities.sums == pytest.approx(from_frame.propensities.sums)


def test_of_a_large_table_everybody_is_summed_by_models_of_a_sample():
    frame = world(6000, 4)
    whole, sampled = (
        counts_of(stated(cells=eh.Leaves(8, at_least=20, sample=size)), frame) for size in (100_000, 2000)
    )
    assert sampled.propensities.sums.sum() == pytest.approx(6000)
    assert sampled.propensities.areas[0] == pytest.approx(whole.propensities.areas[0], abs=0.05)


def test_equal_tables_in_any_order_have_equal_sums():
    frame = world(2000, 5)
    turned = frame.sample(frac=1, random_state=0)
    one, other = (counts_of(stated(), table).propensities.sums for table in (frame, turned))
    assert one == pytest.approx(other)


def test_a_feature_that_stands_for_the_group_is_named():
    frame = world(2000, 6)
    rng = np.random.default_rng(0)
    frame["b"] = np.where(frame["d"] == "m", 3.0, -3.0) + rng.normal(0, 0.5, len(frame))
    with pytest.warns(eh.EvenhandWarning, match="feature 'b' predicts d with an AUC of"):
        counts_of(stated(), frame)


def test_without_scikit_learn_the_cells_alone_tell(monkeypatch):
    import sys

    frame = world(1500, 7)
    counts = eh.count(stated(), frame)
    monkeypatch.setitem(sys.modules, "sklearn.ensemble", None)
    found = counts_of(stated(), frame)
    assert found.propensities.learner == ""
    assert found.propensities.sums == pytest.approx(with_propensities(counts).propensities.sums)


def test_small_combinations_are_drawn_towards_a_classifier():
    rng = np.random.default_rng(8)
    people = 1500
    d = rng.integers(0, 2, people)
    f = [np.clip(rng.integers(0, 6, people) + d * rng.integers(0, 2, people), 0, 6) for _ in range(3)]
    y = (rng.random(people) < 0.3 + 0.05 * f[0]).astype(int)
    frame = pd.DataFrame({"d": d, "f0": f[0], "f1": f[1], "f2": f[2], "y": y})
    costs = eh.Distortion({"y": eh.Nominal(1)})
    problem = eh.Problem(
        protected=["d"], features=["f0", "f1", "f2"], outcome="y", distortion=costs,
        parity=[eh.PairwiseParity(0.1), eh.PairwiseParity(0.5, given=["f0"])], suppress_protected=True,
    )  # fmt: skip
    counts = counts_of(problem, frame)
    assert counts.propensities.within == ("f0",)
    assert len(all_comparisons(problem, counts)) == 4
    own = with_propensities(counts).propensities.sums
    # By their own counts most combinations of features seem to be of one group alone.
    assert (
        np.abs(own / counts.weight - 0.5).mean() > np.abs(counts.propensities.sums / counts.weight - 0.5).mean() + 0.03
    )
    assert eh.fit(problem, frame).certificate.status == "optimal"


def scored_apart(mapping, frame, new):
    """How far apart new people's mean scores are, by a model without the group of the expected release."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    def seen(table):
        return table[["a", "b", "town"]].assign(town=table["town"].astype("category"))

    expected = mapping.expand(frame)
    learner = HistGradientBoostingClassifier(categorical_features="from_dtype", early_stopping=False)
    learner.fit(seen(expected), expected["y"], sample_weight=expected["weight"])
    scores = learner.predict_proba(seen(new))[:, 1]
    rates = [scores[new["d"] == group].mean() for group in "fm"]
    return max(rates) / min(rates) - 1


def test_a_model_without_the_group_is_near_the_bound_on_new_people():
    frame, new = world(6000, 10), world(20_000, 100)
    mapping, plain = (eh.fit(stated(suppress_protected=how), frame) for how in (True, None))
    assert mapping.certificate.status == "optimal"
    assert mapping.achieved.max_violation <= 1e-9
    assert scored_apart(plain, frame, new) > 0.3
    assert scored_apart(mapping, frame, new) < 0.1


def test_corrections_bring_new_people_nearer_to_the_bound(monkeypatch):
    found = []
    for number in (0, 3):
        monkeypatch.setattr("evenhand.suppression.CORRECTIONS", number)
        fitted = [
            (eh.fit(stated(cells=eh.Leaves(12, at_least=20)), t), t) for t in (world(2000, s) for s in (14, 15, 16))
        ]
        assert number or not any(mapping.suppression.corrections for mapping, _ in fitted)
        found.append(np.mean([scored_apart(*each, world(20_000, 104 + at)) for at, each in enumerate(fitted)]))
    assert all(mapping.suppression.corrections for mapping, _ in fitted)
    assert found[1] < 0.85 * found[0]


def test_what_is_cross_validated_is_kept_and_told(tmp_path):
    frame = world(2000, 14).assign(note="x")
    mapping = eh.fit(stated(cells=eh.Leaves(12, at_least=20)), frame)
    told = mapping.suppression
    assert told.outside == ("note",)
    assert np.abs(told.frame["residual"]).max() < 4 * told.frame["standard_error"].max()
    assert told.scores.sum(axis=1) == pytest.approx([1, 1])
    mapping.save(tmp_path / "mapping.evenhand")
    again = eh.Mapping.load(tmp_path / "mapping.evenhand").suppression
    assert again.frame.equals(told.frame)
    assert [section.key for section in mapping.audit().sections].count("unaware") == 1
    words = str(told)
    assert "cross-validated, not certified" in words
    assert "proved" not in words
