"""Drift: distances by hand, deals against plain shuffles, and how often samples of one population are told apart."""

import numpy as np
import pandas as pd
import pytest
from families import random_table
from scipy.stats import binom

import evenhand as eh
from evenhand.findings import drift as module
from evenhand.findings.drift import Beside, Moved, Sample, drift, new_values
from evenhand.findings.naming import source_codes

pytestmark = pytest.mark.turns(4)

FEATURES = ["f0", "f1"]


def counted(frame, weights=None):
    problem = eh.Problem(protected=["d"], features=FEATURES, outcome="y", distortion=eh.Distortion({"y": eh.Free()}))
    return eh.count(problem, frame.drop(columns="w", errors="ignore") if weights is None else frame, weights)


def population(seed, people=4000):
    return random_table(np.random.default_rng(seed), 3, (4, 5), 2, people=people)


def beside(fitted, batch, *, outcomes=True, weights=None):
    """Both tables, of columns that hold nothing but codes."""
    counts = counted(fitted, weights)
    names = list(source_codes(counts))[: None if outcomes else -1]
    place = {v.name: {level: code for code, level in enumerate(v.levels)} for v in counts.domain.variables}
    codes = {name: batch[name].map(place[name]).fillna(len(place[name])).to_numpy(dtype=np.int64) for name in names}
    weight = np.ones(len(batch)) if weights is None else batch[weights].to_numpy(dtype=float)
    new = {name: ["another"] for name in names}
    return Beside.of(counts, codes, Sample(np.ones(len(batch)), weight, weight**2), new), counts.groups.cells


def found(fitted, batch, *, error=0.05, seed=0, **how):
    sides, groups = beside(fitted, batch, **how)
    told = drift(sides, groups, error=error, seed=seed)
    table = pd.DataFrame({
        "apart": told.apart, "expected": told.expected, "limit": told.limit, "chance": told.chance,
        "drifted": told.drifted, "moved": told.moved,
    }, index=[look.name for look in told.looks])  # fmt: skip
    assert table.index.is_unique
    return table


def apart(one, other, columns, weights=None):
    """The total variation of two frames in some columns, by pandas."""
    shares = []
    for frame in (one, other):
        weight = pd.Series(1.0, frame.index) if weights is None else frame[weights]
        total = weight.groupby([frame[name] for name in columns]).sum()
        shares.append(total / total.sum())
    return float(shares[0].sub(shares[1], fill_value=0).abs().sum() / 2)


def everything(one, other, weights=None):
    """Every look by its name."""
    looks = {name: apart(one, other, [name], weights) for name in ("d", *FEATURES, "y")}
    for group in sorted(one["d"].unique()):
        own = [frame[frame["d"] == group] for frame in (one, other)]
        looks[f"y in d={group}"] = apart(*own, ["y"], weights)
    looks["features together"] = apart(one, other, FEATURES, weights)
    looks["groups, features and outcome together"] = apart(one, other, ["d", *FEATURES, "y"], weights)
    return looks


@pytest.mark.slow(keep=4)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weights", [None, "w"])
def test_distances_are_those_of_the_shares(seed, weights):
    rng = np.random.default_rng(seed)
    fitted, batch = (
        each.assign(w=rng.lognormal(size=len(each))) for each in (population(seed, 700), population(9, 300))
    )
    table = found(fitted, batch, weights=weights)
    expected = everything(fitted, batch, weights)
    assert table["apart"].to_dict() == pytest.approx(expected)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["count", "marginals"])
def test_deals_are_shuffles_of_all_people(monkeypatch, method):
    """What sampling gives on average, and the limit of each look, by shuffling rows."""
    monkeypatch.setattr(module, "COUNTED", 1e9 if method == "count" else 0)
    fitted, batch = population(1, 400), population(1, 150)
    table = found(fitted, batch, error=0.1)
    rng, pooled, shuffled = np.random.default_rng(5), pd.concat([fitted, batch], ignore_index=True), []
    for _ in range(300):
        mixed = pooled.iloc[rng.permutation(len(pooled))]
        shuffled.append(everything(mixed[:400], mixed[400:]))
    shuffled = pd.DataFrame(shuffled)
    error = shuffled.std() / np.sqrt(len(shuffled))
    assert ((table["expected"] - shuffled.mean()).abs() < 5 * error).all()
    # Of tables that are nothing but shuffled, one in ten has something beyond its limit.
    beyond = (shuffled > table["limit"][shuffled.columns]).any(axis=1).sum()
    low, high = binom.ppf([1e-4, 1 - 1e-4], len(shuffled), 0.1)
    assert low <= beyond <= high


def test_a_column_that_moved_is_told_and_others_are_not():
    fitted, batch = population(2), population(2, 1500)
    batch["f1"] = batch["f1"].where(np.random.default_rng(0).random(len(batch)) > 0.15, 0)
    table = found(fitted, batch)
    assert table.loc["f1", "drifted"]
    assert table.loc["f1", "moved"].level == "0"
    assert table.loc["f1", "chance"] < 0.01
    assert not table.loc[["d", "f0", "y"], "drifted"].any()


def test_a_new_value_is_a_level_that_nobody_had():
    fitted, batch = population(3), population(3, 500)
    batch.loc[:99, "f0"] = 77
    table = found(fitted, batch)
    assert table.loc["f0", "drifted"]
    assert table.loc["f0", "apart"] == pytest.approx(apart(fitted, batch, ["f0"]))
    for name in ("f0", "new values of f0"):
        assert table.loc[name, "moved"] == Moved("another (nobody fitted had it)", 0.0, pytest.approx(0.2))
    new = table.loc["new values of f0"]
    assert new["apart"] == 0.2
    assert new["drifted"]
    assert new["chance"] < 1e-9
    assert not any(name.startswith("new values") for name in table.index.drop("new values of f0"))


def test_without_outcomes_everything_else_is_looked_at():
    table = found(population(4), population(4, 500).drop(columns="y"), outcomes=False)
    assert list(table.index) == ["d", "f0", "f1", "features together", "groups and features together"]


def test_the_fitted_table_is_known():
    fitted = population(5, 500)
    same, _ = beside(fitted, fitted.sample(frac=1, random_state=0))
    assert same.same
    assert not found(fitted, fitted)["drifted"].any()
    assert not beside(fitted, fitted.iloc[1:])[0].same
    assert not beside(fitted, pd.concat([fitted, fitted]))[0].same


def test_a_column_of_one_level_and_a_group_without_people():
    fitted, batch = population(6).assign(f1=3), population(6, 300).assign(f1=3)
    batch = batch[batch["d"] != 0]
    table = found(fitted, batch)
    assert table.loc["f1", "apart"] == 0
    assert not table.loc["f1", "drifted"]
    assert np.isnan(table.loc["y in d=0", "apart"])
    assert not table.loc["y in d=0", "drifted"]
    assert table.loc["d", "drifted"]


def test_more_people_than_can_be_dealt_out():
    fitted = counted(population(7, 300))
    number = np.full(len(fitted), 4e8 / len(fitted)).round()
    many = eh.Counts.of(fitted.domain, fitted.d, fitted.x, fitted.y, number, number, number)
    sides = Beside.of(many, source_codes(many), Sample(3 * number, 3 * number, 3 * number))
    told = drift(sides, many.groups.cells, error=0.05)
    assert not told.drifted.any()
    assert (told.limit < 0.01).all()


def often(alarms, error):
    """Not more often than the error allows, up to what so many trials can show."""
    return alarms <= binom.ppf(0.9999, TRIALS, error)


TRIALS = 150


@pytest.mark.slow
@pytest.mark.parametrize("size", [40, 300, 2000])
def test_two_samples_of_one_population_are_told_apart_no_more_than_stated(size):
    everybody = population(11, 20_000)
    draw = np.random.default_rng(size)
    sample = [everybody.iloc[draw.integers(0, len(everybody), n)] for _ in range(TRIALS) for n in (600, size)]
    pairs = zip(sample[::2], sample[1::2], strict=True)
    alarms = sum(found(*pair, error=0.1, seed=at)["drifted"].any() for at, pair in enumerate(pairs))
    assert often(alarms, 0.1)
    assert alarms > 0, "so few alarms would mean that limits are far too wide"


@pytest.mark.slow
def test_batches_drawn_from_the_fitted_table_are_told_apart_no_more_than_stated():
    fitted = population(12, 800)
    batches = (fitted.sample(500, replace=True, random_state=seed) for seed in range(TRIALS))
    assert often(sum(found(fitted, batch, error=0.1)["drifted"].any() for batch in batches), 0.1)


@pytest.mark.slow
def test_weighted_samples_are_told_apart_about_as_often_as_stated():
    """Weights that depend on the cell, and vary within it."""
    everybody, draw = population(13, 20_000), np.random.default_rng(1)

    def sample(number):
        rows = everybody.iloc[draw.integers(0, len(everybody), number)]
        return rows.assign(w=(1 + 2 * (rows["d"] == 1) + rows["f0"]) * draw.lognormal(0, 0.5, number))

    alarms = sum(found(sample(900), sample(600), error=0.1, weights="w")["drifted"].any() for _ in range(TRIALS))
    assert often(alarms, 0.13)


@pytest.mark.slow
def test_heavy_weights_in_sparse_cells_are_told_apart_no_more_than_stated():
    """120 cells, 300 new people of lognormal weights: distances are about what is expected of them."""
    rng = np.random.default_rng(12)
    everybody = random_table(rng, 3, (4, 5), 2, people=30_000)
    told, ratio, trials = 0, [], 40
    for trial in range(trials):
        both = [everybody.sample(size, random_state=1000 * trial + size) for size in (1500, 300)]
        both = [frame.assign(w=rng.lognormal(0, 1, len(frame))).reset_index(drop=True) for frame in both]
        table = found(*both, weights="w", seed=trial)
        told += table["drifted"].any()
        last = table.loc["groups, features and outcome together"]
        ratio.append(last["apart"] / last["expected"])
    assert told <= binom.ppf(0.999, trials, 0.05)
    assert np.mean(ratio) == pytest.approx(1, abs=0.08)


def by_dealing(pooled, batch, rng, deals=3000):
    """How many people have values that only the batch has, in deals of the pooled people."""
    now = rng.multivariate_hypergeometric(pooled, batch, size=deals)
    return (now * (now == pooled)).sum(axis=1), now


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("values", [4, 60, 900])
@pytest.mark.parametrize(("fitted", "batch"), [(2000, 1500), (5000, 300), (200, 900)])
def test_what_sampling_gives_is_what_deals_give(values, fitted, batch):
    """Few values and many rare ones: the mean is that of deals, and no more than the error lie beyond the limit."""
    rng = np.random.default_rng(values + fitted)
    pooled = rng.multinomial(fitted + batch, rng.dirichlet(np.full(values, 0.2)))
    dealt, now = by_dealing(pooled, batch, rng)
    error = 0.05
    told = [new_values((pooled - one).astype(float), one.astype(float), error) for one in now[:5]]
    assert [one.people for one in told] == dealt[:5].tolist()
    assert told[0].expected == pytest.approx(dealt.mean(), abs=5 * dealt.std() / np.sqrt(len(dealt)) + 1e-9)
    assert (dealt > told[0].limit).mean() <= error
    for one in told:
        assert (dealt >= one.people).mean() <= one.chance + 0.03
    # The limit belongs to the pooled people, however they are dealt out.
    assert len({one.limit for one in told}) == 1


def test_the_chance_of_one_value_is_that_of_all_its_people_falling_to_the_batch():
    told = new_values(np.array([3000.0, 2000.0, 0.0]), np.array([800.0, 650.0, 50.0]), 0.001)
    assert told.people == 50
    assert told.chance == pytest.approx(np.prod((1500 - np.arange(50)) / (6500 - np.arange(50))), rel=1e-6)
    assert told.people > told.limit
    alone = new_values(np.array([3000.0, 2000.0, 0.0]), np.array([800.0, 699.0, 1.0]), 0.001)
    assert alone.chance == pytest.approx(1500 / 6500)
    assert alone.people <= alone.limit


def test_as_many_new_values_as_are_alone_in_the_fitted_table_are_no_wonder():
    """The missing mass is about the share of people whose value nobody else has (Good 1953)."""
    singletons = 400
    usual = new_values(
        np.r_[1600.0, np.ones(singletons), np.zeros(200)], np.r_[800.0, np.zeros(singletons), np.ones(200)], 0.01
    )
    assert usual.expected == pytest.approx(200, rel=0.02)
    assert usual.people <= usual.limit
    many = new_values(np.r_[2000.0, np.zeros(200)], np.r_[800.0, np.ones(200)], 0.01)
    assert many.people > many.limit


def test_nothing_is_new():
    told = new_values(np.array([5.0, 1.0]), np.array([5.0, 0.0]), 0.1)
    assert (told.people, told.chance) == (0, 1.0)
