"""How much rates vary with the sample and with the draw."""

import re

import numpy as np
import pandas as pd
import pytest

import evenhand as eh
from evenhand.findings.theory import spread
from evenhand.findings.theory.spread import apportioned, bootstrap, draw_spread
from evenhand.kernel import identity
from evenhand.kernel.achieved import outcome_by_source


def test_the_bootstrap_is_centred_on_what_is_achieved(compas, compas_mapping):
    found = bootstrap(compas.counts, compas_mapping.kernel, bound=0.1, seed=1)
    after = compas_mapping.achieved.rates_after.ravel()
    assert np.allclose(found.rates["rate"], after)
    assert np.allclose((found.rates["low"] + found.rates["high"]) / 2, after, atol=0.003)
    assert (found.rates["low"] < after).all()
    assert (after < found.rates["high"]).all()
    assert found.largest[0] == pytest.approx(0.1, abs=1e-6)
    assert found.largest[1] < found.largest[2]
    assert 0 < found.over < 1


def test_the_bootstrap_agrees_with_the_normal_interval(compas, compas_mapping):
    """The expected rate given a cell is fixed, so a group's rate is a mean over its people."""
    counts = compas.counts
    chance = outcome_by_source(counts, compas_mapping.kernel)[:, 1]
    found = bootstrap(counts, compas_mapping.kernel, resamples=6000, seed=2).rates.query("is_recid == 1")
    for group, width in enumerate((found["high"] - found["low"]).to_numpy()):
        here = counts.groups.of_source == group
        mean = np.average(chance[here], weights=counts.weight[here])
        variance = np.average((chance[here] - mean) ** 2, weights=counts.weight[here])
        assert width == pytest.approx(2 * 1.96 * np.sqrt(variance / counts.weight[here].sum()), rel=0.06)


def test_the_bootstrap_repeats_by_seed_and_in_blocks(compas, compas_mapping, monkeypatch):
    first, again, other = (bootstrap(compas.counts, compas_mapping.kernel, resamples=50, seed=s) for s in (4, 4, 5))
    assert first.rates.equals(again.rates)
    assert not first.rates.equals(other.rates)
    monkeypatch.setattr(spread, "BLOCK", 1000)
    assert bootstrap(compas.counts, compas_mapping.kernel, resamples=50, seed=4).rates.equals(first.rates)


def test_fewer_people_spread_more(compas, compas_mapping):
    wide, narrow = (bootstrap(compas.counts, compas_mapping.kernel, people=n, resamples=500) for n in (400, 5278))
    assert ((wide.rates["high"] - wide.rates["low"]) > (narrow.rates["high"] - narrow.rates["low"])).all()
    assert any("400 independent people were assumed" in words for words in wide.sentences())


def test_groups_that_vanish_are_left_out(compas, compas_mapping):
    found = bootstrap(compas.counts, compas_mapping.kernel, people=15, resamples=300)
    assert any("a group had nobody" in words for words in found.sentences())
    assert found.rates[["low", "high"]].notna().to_numpy().all()


@pytest.mark.slow
def test_the_spread_of_the_draw_against_releases(compas, compas_mapping):
    found = draw_spread(compas.counts, compas_mapping.kernel, bound=0.1)
    release = compas_mapping.release
    drawn = np.array(
        [
            release(compas.frame, seed=seed, draw="independent").groupby(["sex", "race"])["is_recid"].mean().to_numpy()
            for seed in range(100)
        ]
    )
    exact = found.rates.query("is_recid == 1")
    assert np.allclose(drawn.mean(axis=0), exact["rate"], atol=4 * exact["standard_deviation"].max() / np.sqrt(100))
    assert np.allclose(drawn.std(axis=0), exact["standard_deviation"], rtol=0.25)
    high = np.maximum(drawn.max(axis=1) / drawn.min(axis=1), (1 - drawn).max(axis=1) / (1 - drawn).min(axis=1)) - 1
    assert np.median(high) == pytest.approx(found.quantiles.query("quantile == 0.5")["largest_ratio"].item(), abs=0.01)
    assert np.mean(high > 0.1) == pytest.approx(found.over, abs=0.15)


def test_no_lottery_no_spread(compas):
    counts = compas.counts
    found = draw_spread(counts, identity(counts.domain.xy(counts.x, counts.y)), bound=0.1, releases=20)
    assert (found.rates["standard_deviation"] == 0).all()
    assert np.allclose(found.quantiles["largest_ratio"], found.expected)
    assert found.over == 1


def test_a_target_instead_of_pairs(compas, compas_mapping):
    target = compas.counts.outcome
    found = draw_spread(compas.counts, compas_mapping.kernel, target=target, releases=50)
    after = compas_mapping.achieved.rates_after
    assert found.expected == pytest.approx(np.abs(after / target - 1).max())
    assert found.over is None


def test_weighted_tables_say_what_is_assumed(compas):
    counts = eh.count(compas.problem, compas.frame, weights=[0.5] * len(compas.frame))
    kernel = eh.fit(compas.problem, counts).kernel
    found = draw_spread(counts, kernel, releases=20)
    plain = draw_spread(compas.counts, kernel, releases=20)
    assert np.allclose(found.rates["standard_deviation"], plain.rates["standard_deviation"])
    assert any("5278 independent people were assumed" in words for words in found.sentences())
    assert not any("assumed" in words for words in plain.sentences())


@pytest.mark.parametrize("seed", range(5))
def test_people_are_shared_out_whole(seed):
    rng = np.random.default_rng(seed)
    weight = rng.integers(1, 50, 30)
    assert apportioned(weight / weight.sum(), int(weight.sum())).tolist() == weight.tolist()
    share = rng.dirichlet(np.ones(30))
    held = apportioned(share, 1000)
    assert held.sum() == 1000
    assert np.abs(held - share * 1000).max() < 1


def test_refusals(compas, compas_mapping):
    with pytest.raises(eh.SpecError, match="resamples"):
        bootstrap(compas.counts, compas_mapping.kernel, resamples=0)
    with pytest.raises(eh.SpecError, match="releases"):
        draw_spread(compas.counts, compas_mapping.kernel, releases=1.5)


def test_what_is_infinite_is_written_as_everywhere():
    """Nobody in one group has the outcome, so that the largest ratio is infinite however people are drawn."""
    people = pd.DataFrame({"d": ["a"] * 40 + ["b"] * 40, "x": [0, 1] * 40, "y": [1, 0] * 20 + [0] * 40})
    problem = eh.Problem(protected=["d"], features=["x"], outcome="y", distortion=eh.Distortion({"y": eh.Nominal(1)}))
    counts = eh.count(problem, people)
    same = identity(counts.domain.xy(counts.x, counts.y))
    for found in (bootstrap(counts, same, resamples=50), draw_spread(counts, same)):
        assert "off one by infinite" in found.sentences()[0]
        assert not any(re.search(r"\b(inf|nan)\b", words) for words in found.sentences())


def test_a_release_at_its_bound_does_not_exceed_it(compas):
    """Where nobody's outcome changes every release has the same rates, up to the rounding of a quotient."""
    counts = compas.counts
    kernel = identity(counts.domain.xy(counts.x, counts.y))
    exact = draw_spread(counts, kernel, releases=20).expected
    for bound in (exact, np.nextafter(exact, 0)):
        assert draw_spread(counts, kernel, bound=bound, releases=20).over == 0
    assert draw_spread(counts, kernel, bound=exact - 1e-6, releases=20).over == 1
