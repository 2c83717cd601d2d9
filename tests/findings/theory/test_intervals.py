"""Exact intervals: known values, coverage, and hold-outs."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom, binomtest

import evenhand as eh
from evenhand.findings.theory.intervals import MET, UNDECIDED, VIOLATED, clopper_pearson, holdout, overall, small_groups


@pytest.mark.parametrize(("k", "n"), [(0, 10), (1, 10), (5, 10), (10, 10), (37, 512), (0, 1)])
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.9994])
def test_known_values(k, n, confidence):
    low, high = clopper_pearson(np.array([k]), np.array([n]), confidence)
    expected = binomtest(k, n).proportion_ci(confidence, method="exact")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_nothing_is_known_without_trials():
    low, high = clopper_pearson(np.array([0.0]), np.array([0.0]))
    assert (low[0], high[0]) == (0, 1)
    with pytest.raises(eh.DataError, match="trials"):
        clopper_pearson(np.array([3]), np.array([2]))


@pytest.mark.parametrize("n", [5, 40, 200])
def test_coverage_is_never_short(n):
    k = np.arange(n + 1)
    low, high = clopper_pearson(k, np.full(n + 1, n), 0.9)
    for p in np.linspace(0.001, 0.999, 97):
        covered = binom.pmf(k, n, p)[(low <= p) & (p <= high)].sum()
        assert covered >= 0.9 - 1e-12


@pytest.fixture(scope="module")
def split(compas):
    people = compas.frame.sample(frac=1, random_state=3)
    mapping = eh.fit(compas.problem, people[:4000])
    return mapping, people[4000:]


def test_the_hold_out_counts_what_release_draws(split):
    mapping, rest = split
    found = holdout(mapping.counts, mapping.kernel, rest, bound=0.1, seed=7)
    with pytest.warns(eh.EvenhandWarning) if found.kept else _quiet():
        released = mapping.release(rest, seed=7, draw="independent")
    counted = released.groupby(["sex", "race", "is_recid"]).size()
    for row in found.rates.itertuples():
        assert row.released == counted[row.sex, row.race, row.is_recid]
        assert row.low <= row.rate <= row.high
        assert row.low <= row.expected <= row.high
    assert found.rows == len(rest)
    assert found.left_out == 0


class _quiet:
    def __enter__(self):
        return self

    def __exit__(self, *_):
        return False


def test_all_intervals_hold_at_once(split):
    """Four groups, two outcomes: each interval has its share of the error, and two outcomes count once."""
    mapping, rest = split
    found = holdout(mapping.counts, mapping.kernel, rest, confidence=0.9).rates
    low, high = clopper_pearson(found["released"].to_numpy(), found["rows"].to_numpy(), 1 - 0.1 / 4)
    assert np.allclose(found["low"], low)
    assert np.allclose(found["high"], high)
    for _, group in found.groupby(["sex", "race"]):
        assert group["low"].iloc[0] == pytest.approx(1 - group["high"].iloc[1])


def test_ratios_follow_from_rates(split):
    mapping, rest = split
    found = holdout(mapping.counts, mapping.kernel, rest, bound=0.1)
    rates = found.rates
    named = {(f"sex={r.sex}, race={r.race}", r.is_recid): r for r in rates.itertuples()}
    assert len(found.comparisons) == 24
    for row in found.comparisons.itertuples():
        one, other = named[row.group, row.is_recid], named[row.against, row.is_recid]
        assert row.low == pytest.approx(one.low / other.high)
        assert row.high == pytest.approx(one.high / other.low)
        assert row.ratio == pytest.approx(one.rate / other.rate)


@pytest.mark.parametrize(("bound", "verdict"), [(0.0001, UNDECIDED), (0.1, UNDECIDED), (5.0, MET)])
def test_verdicts(split, bound, verdict):
    mapping, rest = split
    found = holdout(mapping.counts, mapping.kernel, rest, bound=bound)
    assert found.verdict == verdict
    assert any(verdict in words for words in found.sentences())
    assert holdout(mapping.counts, mapping.kernel, rest).verdict is None


def test_a_violation_is_shown(compas):
    """The table itself, changed in nothing, is far beyond a bound of 0.1."""
    counts = compas.counts
    from evenhand.kernel import identity

    kernel = identity(counts.domain.xy(counts.x, counts.y))
    found = holdout(counts, kernel, compas.frame, bound=0.1)
    assert found.verdict == VIOLATED
    bad = found.comparisons.query("verdict == @VIOLATED")
    assert ((bad["low"] > 1.1) | (bad["high"] < 0.9)).all()
    target = holdout(counts, kernel, compas.frame, bound=0.1, target=counts.outcome)
    assert len(target.comparisons) == 8
    assert target.verdict == VIOLATED
    men = target.comparisons.query("group == 'sex=Male, race=African-American' and is_recid == 1")
    assert men["ratio"].item() == pytest.approx(0.5929 / counts.outcome[1], abs=1e-3)


def test_unseen_rows_keep_their_outcome_and_new_groups_are_left_out(split):
    mapping, rest = split
    strange = rest.head(3).copy()
    strange["c_charge_degree"] = "O"
    new = rest.head(2).copy()
    new["race"] = "Other"
    before = holdout(mapping.counts, mapping.kernel, rest)
    found = holdout(mapping.counts, mapping.kernel, pd.concat([rest, strange, new]))
    assert found.rows == before.rows + 3
    assert found.kept == before.kept + 3
    assert found.left_out == 2
    more = found.rates["released"] - before.rates["released"]
    kept = strange.groupby(["sex", "race", "is_recid"]).size()
    for row, extra in zip(found.rates.itertuples(), more, strict=True):
        assert extra == kept.get((row.sex, row.race, row.is_recid), 0)
    assert any("not counted" in words for words in found.sentences())


def test_refusals(split):
    mapping, rest = split
    strange = rest.head(3).copy()
    strange["is_recid"] = 2
    with pytest.raises(eh.DataError, match="outcome that the fitted table has not"):
        holdout(mapping.counts, mapping.kernel, strange)
    strange = rest.head(3).assign(race="Other")
    with pytest.raises(eh.DataError, match="no row of the hold-out"):
        holdout(mapping.counts, mapping.kernel, strange)


@pytest.mark.slow
def test_simultaneous_coverage_by_simulation(split):
    """Fresh people drawn from a known truth: all intervals hold together at least as often as stated."""
    mapping, _ = split
    counts, kernel = mapping.counts, mapping.kernel
    rng = np.random.default_rng(5)
    held = 0
    domain = counts.domain
    truth = mapping.achieved.rates_after.ravel()
    for trial in range(120):
        source = rng.choice(len(counts), size=300, p=counts.probability)
        columns = [*domain.d.unravel(counts.d[source]), *domain.x.unravel(counts.x[source]), counts.y[source]]
        frame = pd.DataFrame(
            {v.name: np.array(v.levels, dtype=object)[c] for v, c in zip(domain.variables, columns, strict=True)}
        )
        found = holdout(counts, kernel, frame, confidence=0.8, seed=trial).rates
        held += bool(((found["low"] <= truth) & (truth <= found["high"])).all())
    # At a true coverage of 0.8, fewer than 80 of 120 has a probability below 1e-3.
    assert held >= 80


def test_small_groups_are_named(compas):
    counts = compas.counts
    assert small_groups(counts, width=0.2).names == ()
    assert small_groups(counts, width=0.085).names == ("sex=Female, race=Caucasian",)
    few = eh.count(compas.problem, compas.frame.groupby(["sex", "race"]).head(15))
    found = small_groups(few, width=0.99)
    assert len(found.names) == 4
    assert all("only 15 people" in words for words in found.sentences())
    assert found.frame["small"].all()


def test_intervals_of_small_groups_by_hand(compas):
    counts = compas.counts
    found = small_groups(counts, confidence=0.9).frame
    people = found["people"].to_numpy()
    assert people.sum() == pytest.approx(5278)
    low, high = clopper_pearson(counts.outcome_by_group[:, 1] * people, people, 0.9)
    assert np.allclose(found["widest"], high - low)


def test_nobody_where_nobody_should_be_is_not_a_violation():
    """A target of zero: nobody was released with that outcome, which meets it; whether anybody would is not decided."""
    frame = pd.DataFrame({"g": ["a", "b"] * 200, "x": [0] * 400, "y": [0, 1, 1, 0] * 100})
    problem = eh.Problem(
        protected=["g"],
        features=["x"],
        outcome="y",
        distortion=eh.Distortion({"y": eh.Ordinal(1, levels=[0, 1, 2])}),
        parity=[eh.TargetParity(0.3, {0: 0.5, 1: 0.5, 2: 0.0})],
    )
    mapping = eh.fit(problem, frame)
    found = holdout(mapping.counts, mapping.kernel, frame, bound=0.3, target=np.array([0.5, 0.5, 0.0]))
    none = found.comparisons[found.comparisons["y"] == 2]
    assert set(none["verdict"]) == {UNDECIDED}
    assert found.verdict != VIOLATED


def test_one_word_for_all():
    assert overall([]) is None
    assert overall([MET, MET]) == MET
    assert overall([MET, UNDECIDED]) == UNDECIDED
    assert overall([UNDECIDED, VIOLATED, MET]) == VIOLATED
