"""A batch of new people: what is told of it, for every kind of mapping and of table."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from families import small_frame, small_problem
from fits import shared_fit
from people import people, problem
from scipy.stats import binom
from wide import wide_frame, wide_problem

import evenhand as eh
from evenhand.findings.theory.intervals import MET, UNDECIDED, VIOLATED

pytestmark = pytest.mark.turns(4)


@pytest.fixture(scope="module")
def small():
    return shared_fit(small_problem(), small_frame())


@pytest.fixture(scope="module")
def raw():
    """Bins, missing values that are a level, awkward texts."""
    return eh.fit(problem(), people())


def assert_same(one, other):
    """Two findings agree in all that they tell."""
    assert (one.people, one.verdict, one.outcomes, one.fitted) == (
        other.people,
        other.verdict,
        other.outcomes,
        other.fitted,
    )
    assert one.sentences() == other.sentences()
    for name in ("coverage", "drift", "bounds"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name))


def test_every_bound_has_one_of_three_words(small):
    """With so many people that a word can be said; where outcomes are as they were, and where not."""
    many = pd.concat([small_frame()] * 200, ignore_index=True)
    loose = eh.fit(small_problem(parity=[eh.PairwiseParity(0.9)]), small_frame()).monitor(many)
    assert set(loose.bounds["verdict"]) == {MET}
    assert loose.verdict == MET
    assert not len(loose.violated)
    assert not len(loose.undecided)
    # The fitted mapping meets its bound with nothing to spare, which no sample can show.
    assert small.monitor(many).verdict == UNDECIDED
    apart = many.assign(hired=(many["group"] == "a").astype(int))
    found = small.monitor(apart)
    assert found.verdict == VIOLATED
    assert len(found.violated)
    assert {"hired in group=a", "hired in group=b"} <= set(found.drifted)
    assert "group" not in found.drifted
    # Both orders of two groups are one comparison.
    assert (
        sum(words.startswith("shown violated: ") for words in found.sentences("verdicts")) == len(found.violated) // 2
    )
    assert f"of 2 parity constraints: {len(found.violated) // 2} shown violated" in " ".join(
        found.sentences("verdicts")
    )


def test_it_says_so_where_the_table_is_the_fitted_one(small):
    found = small.monitor(small_frame().sample(frac=1, random_state=0))
    assert found.fitted
    assert found.sentences("batch")[0].startswith("this is the fitted table, count for count")
    without = small.monitor(small_frame().drop(columns="hired"))
    assert without.fitted
    assert not small.monitor(small_frame().iloc[1:]).fitted


def test_it_shows_itself_in_every_medium(small):
    """As text the parts that are there, as JSON every row, of bounds the worst first."""
    found = small.monitor(small_frame().iloc[:150])
    shown = str(found)
    for title in ("The batch", "How far from the fitted table", "Every parity bound", "What this does not say"):
        assert title in shown
    assert "Missing and unseen" not in shown
    told = json.loads(found.to_json())
    assert told["batch"]["people"] == 150
    assert [row["name"] for row in told["drift"]["looks"]] == found.drift["name"].tolist()
    values = [row["value"] for row in told["verdicts"]["bounds"]]
    assert values == sorted(found.bounds["value"], reverse=True)
    assert told["coverage"]["coverage"] == found.coverage.to_dict("records")
    assert found._repr_html_().count("<h2>") == 4


def test_without_outcomes_nothing_is_decided(small):
    found = small.monitor(small_frame().drop(columns="hired").iloc[:150])
    assert not found.outcomes
    assert set(found.bounds["verdict"]) == {UNDECIDED}
    assert len(found.bounds) == 4
    assert found.bounds["low"].isna().all()
    assert "the table has no column 'hired': without outcomes no parity bound is decided" in found.sentences("verdicts")
    assert "hired" not in set(found.drift["name"])


def test_nothing_is_bounded():
    mapping = eh.fit(small_problem(parity=[]), small_frame())
    found = mapping.monitor(small_frame().iloc[:150])
    assert found.verdict is None
    assert not len(found.bounds)
    assert "no parity bound was asked for" in found.sentences("verdicts")


def test_coverage_is_the_audits(raw):
    new = people(400, seed=3)
    new.loc[:9, "sex"] = "X"
    found, audited = raw.monitor(new), raw.audit(new)
    pd.testing.assert_frame_equal(found.coverage, audited.coverage)
    assert found.people == 400
    assert "10 of 400 rows are not counted" in found.sentences("batch")[0]
    assert "to be expected" in found.sentences("batch")[1]
    moving = "within a level nothing is seen to move: age, hours"
    assert any(words.startswith(moving) for words in found.sentences("caveats"))
    without = raw.monitor(new.drop(columns="hired"))
    assert "10 of 400 rows are not counted" in without.sentences("batch")[0]


KINDS = {
    "pandas": lambda frame: frame,
    "polars": pl.from_pandas,
    "lazy": lambda frame: pl.from_pandas(frame).lazy(),
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("outcomes", [True, False])
def test_any_kind_of_frame(raw, kind, outcomes):
    new = people(300, seed=4)
    new = new if outcomes else new.drop(columns="hired")
    assert_same(raw.monitor(KINDS[kind](new)), raw.monitor(new))


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("outcomes", [True, False])
@pytest.mark.parametrize("weights", [None, "w"])
def test_files(raw, tmp_path, ending, outcomes, weights):
    new = people(500, seed=5).assign(w=np.random.default_rng(0).lognormal(size=500).round(3))
    new.loc[:4, "sex"] = "X"
    new = new if outcomes else new.drop(columns="hired")
    path = tmp_path / f"new.{ending}"
    if ending == "csv":
        new.to_csv(path, index=False)
    else:
        new.to_parquet(path, index=False)
    from_file, expected = raw.monitor(path, weights=weights), raw.monitor(new, weights=weights)
    assert from_file.weighed == (weights is not None)
    assert from_file.sentences() == expected.sentences()
    pd.testing.assert_frame_equal(from_file.drift, expected.drift)
    pd.testing.assert_frame_equal(from_file.bounds, expected.bounds)
    # Which of the new values is named first depends on the order of the rows.
    pd.testing.assert_frame_equal(from_file.coverage, expected.coverage)


VARIANTS = {
    "leaves": (wide_problem(), wide_frame(1)),
    "score": (wide_problem(features=["pay"], cells=eh.ScoreLevels(6)), wide_frame(2).fillna({"pay": 0.0})),
    "segments": (wide_problem(parity=[eh.PairwiseParity(0.3, given=["married"])]), wide_frame(1)),
    "blind": (
        small_problem(blind=True, parity=[eh.PairwiseParity(0.5)], budget=eh.ExpectedDistortion(2.0)),
        small_frame(),
    ),
    "suppressed": (
        small_problem(
            suppress_protected="fixed",
            parity=[eh.PairwiseParity(0.4)],
            distortion=eh.Distortion({"score": eh.Ordinal(1), "hired": eh.Free()}),
            budget=eh.ExpectedDistortion(1.0),
        ),
        small_frame(),
    ),
}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("outcomes", [True, False])
def test_every_kind_of_mapping(variant, outcomes, tmp_path):
    stated, frame = VARIANTS[variant]
    mapping = eh.fit(stated, frame)
    new = frame.sample(400, replace=True, random_state=0)
    new = new if outcomes else new.drop(columns=stated.outcome)
    found = mapping.monitor(new)
    assert not found.drifted
    assert len(found.bounds)
    mapping.save(tmp_path / "m")
    assert_same(eh.Mapping.load(tmp_path / "m").monitor(new), found)
    new.to_parquet(tmp_path / "new.parquet", index=False)
    from_file = mapping.monitor(tmp_path / "new.parquet")
    pd.testing.assert_frame_equal(from_file.drift, found.drift)
    pd.testing.assert_frame_equal(from_file.bounds, found.bounds)


def own_shift(before, now):
    """By hand: the total variation of one column, numbers in tenths of the fitted people."""
    if pd.api.types.is_float_dtype(before) and before.nunique() > 10:
        ordered = np.sort(before.dropna())
        cuts = ordered[np.ceil(len(ordered) * np.arange(1, 10) / 10).astype(int) - 1]
        cuts = np.unique(cuts[cuts > ordered[0]])
        before, now = (
            pd.Series(np.where(each.isna(), -1, np.searchsorted(cuts, each, side="right"))) for each in (before, now)
        )
    shares = [each.value_counts(normalize=True, dropna=False) for each in (before, now)]
    return shares[0].sub(shares[1], fill_value=0).abs().sum() / 2


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_a_column_of_learned_cells_drifts_by_its_own_shift(seed, tmp_path):
    """One column moves: it is named with the shares of its own levels, and what the tree asks before is not."""
    rng = np.random.default_rng(seed)
    people = 3000
    frame = pd.DataFrame({
        "d": rng.choice(["f", "m"], people),
        "loan": rng.normal(size=people),
        "insured": rng.choice(["no", "yes"], people, p=[0.8, 0.2]),
        "record": rng.choice(["bad", "good", "none"], people, p=[0.2, 0.5, 0.3]),
    })  # fmt: skip
    score = frame["loan"] + 1.5 * (frame["insured"] == "yes") + (frame["record"] == "bad") + 0.4 * (frame["d"] == "m")
    frame["y"] = (score + rng.normal(size=people) > 0.8).astype(int)
    problem = eh.Problem(
        protected=["d"], features=["loan", "insured", "record"], outcome="y", cells=eh.Leaves(12),
        parity=[eh.PairwiseParity(0.3)], distortion=eh.Distortion({"y": eh.Ordinal(1)}),
    )  # fmt: skip
    eh.fit(problem, frame).save(tmp_path / "m")
    mapping = eh.Mapping.load(tmp_path / "m")
    moved = ["loan", "insured", "record"][seed]
    new = frame.sample(1500, random_state=seed).reset_index(drop=True)
    some = rng.random(len(new)) < 0.25
    new.loc[some, moved] = {"loan": 2.5, "insured": "yes", "record": "bad"}[moved]
    found = mapping.monitor(new)
    columns = found.drift[found.drift["what"] == "column"].set_index("name")
    for name in ("loan", "insured", "record"):
        assert columns.loc[name, "apart"] == pytest.approx(own_shift(frame[name], new[name]), abs=1e-9)
        assert columns.loc[name, "drifted"] == (name == moved)
    if moved != "loan":
        level = {"insured": "yes", "record": "bad"}[moved]
        shares = [(each[moved] == level).mean() for each in (frame, new)]
        assert columns.loc[moved, "moved"] == level
        assert columns.loc[moved, ["moved_from", "moved_to"]].tolist() == pytest.approx(shares)
    assert mapping.monitor(frame).drift["apart"].max() == 0
    assert "groups and features together" in set(found.drift["name"])
    assert "groups, features and outcome together" not in set(found.drift["name"])


@pytest.mark.slow
def test_columns_that_no_rule_asks_about_are_said_to_be_unwatched():
    mapping = eh.fit(wide_problem(), wide_frame(3))
    asked = set(mapping.counts.domain.x.variables[0].columns)
    found = mapping.monitor(wide_frame(4))
    assert asked <= set(found.drift["name"])
    (words,) = (each for each in found.sentences("caveats") if "not watched" in each and "rule" in each)
    assert all(name in words for name in {"age", "pay", "job", "town", "married", "since"} - asked)


@pytest.fixture(scope="module")
def trades():
    """A mapping over a column of ten values."""
    return eh.fit(of_trade(), traders(5000, seed=0))


def of_trade():
    return small_problem(
        features=["trade"], distortion=eh.Distortion({"hired": eh.Ordinal(1)}), parity=[eh.PairwiseParity(0.3)],
        budget=eh.ExpectedDistortion(0.6),
    )  # fmt: skip


def traders(people, seed, values=10, rare=0.0):
    """People of many trades, of which the later are the rarer."""
    rng = np.random.default_rng(seed)
    share = 1 / np.arange(1, values + 1) ** rare
    return pd.DataFrame(
        {
            "group": rng.choice(["a", "b"], people),
            "trade": [f"t{number}" for number in rng.choice(values, people, p=share / share.sum())],
            "hired": rng.integers(0, 2, people),
        }
    )


@pytest.mark.slow
def test_values_that_nobody_fitted_had_are_looked_at_by_themselves(trades, tmp_path):
    """50 of 1,500 people: as a change of their column's shares, over ten values, chance would explain as much."""
    batch = traders(1500, seed=1)
    assert not trades.monitor(batch).drifted
    batch.loc[:49, "trade"] = "pilot"
    found = trades.monitor(batch)
    assert found.drifted == ("new values of trade",)
    words = " ".join(found.sentences("drift"))
    assert "new values of trade: 3.3% of the people have one, where sampling alone explains up to" in words
    assert "pilot (nobody fitted had it): 0.0000 to 0.0333" in words
    # A letter that one clerk got wrong is no drift.
    batch["trade"] = batch["trade"].replace("pilot", "t3")
    batch.loc[0, "trade"] = "plumer"
    typo = trades.monitor(batch)
    assert not typo.drifted
    assert "new values of trade" in set(typo.drift["name"])
    # Whatever the order of the rows, and in a file.
    mixed = batch.sample(frac=1, random_state=0)
    mixed.to_csv(tmp_path / "new.csv", index=False)
    for other in (mixed, tmp_path / "new.csv"):
        pd.testing.assert_frame_equal(trades.monitor(other).drift, typo.drift)


def test_gaps_are_values_that_nobody_had(trades):
    batch = traders(1500, seed=2)
    batch.loc[:79, "trade"] = None
    with pytest.raises(eh.DataError, match="'trade' has 80 missing values"):
        trades.monitor(batch)
    found = trades.monitor(batch, missing="level")
    assert "new values of trade" in found.drifted
    assert "a missing value (nobody fitted had it)" in set(found.drift["moved"])


@pytest.mark.slow
def test_rare_values_are_new_in_every_sample():
    """800 values, most of them rare: a tenth of the people of an unchanged population have one that is new."""
    trials, alarms, new = 30, 0, 0.0
    for seed in range(trials):
        mapping = eh.fit(of_trade(), traders(2000, [seed, 1], 800, rare=1.0))
        found = mapping.monitor(traders(1500, [seed, 2], 800, rare=1.0), seed=seed, confidence=0.8)
        alarms += bool(found.drifted)
        new += float(found.drift.set_index("name").loc["new values of trade", "apart"]) / trials
        assert abs(found.in_new_cells - found.expected_in_new_cells) < 0.05
    assert 0.08 < new < 0.15
    assert alarms <= binom.ppf(0.9999, trials, 0.1)


def test_outcomes_are_not_looked_at_within_bins_that_they_chose():
    chosen = eh.fit(problem(bins={"age": eh.ChosenBins(3), "hours": eh.Quantiles(3)}), people())
    assert "groups and features together" in set(chosen.monitor(people(200, seed=1)).drift["name"])


@pytest.mark.slow
def test_unseen_is_the_audits(raw):
    new = people(400, seed=8)
    for unseen in ("keep", "typical"):
        found = raw.monitor(new, unseen=unseen).bounds
        expected = raw.audit(new, unseen=unseen).bounds
        assert found["expected"].to_numpy() == pytest.approx(expected["achieved"][: len(found)].to_numpy())


class TestRefused:
    def test_without_protected_columns(self, small):
        with pytest.raises(eh.DataError, match="no column 'group', which is protected"):
            small.monitor(small_frame().drop(columns="group"))

    def test_a_blind_mapping_needs_them_too(self):
        stated, frame = VARIANTS["blind"]
        with pytest.raises(eh.DataError, match="no column 'group', which is protected"):
            eh.fit(stated, frame).monitor(frame.drop(columns="group"))

    def test_without_a_feature(self, small):
        with pytest.raises(eh.DataError, match="'score'"):
            small.monitor(small_frame().drop(columns="score"))

    @pytest.mark.parametrize("outcomes", [True, False])
    def test_nobody(self, small, outcomes):
        frame = small_frame().head(0)
        with pytest.raises(eh.DataError, match="no rows"):
            small.monitor(frame if outcomes else frame.drop(columns="hired"))

    @pytest.mark.parametrize("outcomes", [True, False])
    def test_nobody_who_could_be_counted(self, small, outcomes):
        frame = small_frame().assign(group="c")
        with pytest.raises(eh.DataError, match="every row of the table has a value"):
            small.monitor(frame if outcomes else frame.drop(columns="hired"))

    @pytest.mark.parametrize("outcomes", [True, False])
    def test_nobody_who_weighs_anything(self, small, outcomes):
        frame = small_frame().assign(w=0.0)
        with pytest.raises(eh.DataError, match="no row has a positive weight"):
            small.monitor(frame if outcomes else frame.drop(columns="hired"), weights="w")

    def test_missing_outcomes(self, small):
        frame = small_frame().astype({"hired": "Int64"})
        frame.loc[3, "hired"] = None
        with pytest.raises(eh.DataError, match="'hired'"):
            small.monitor(frame)


def moved_apart(frame, points, rng, protected, outcome):
    """Outcomes of the two groups moved apart, so many points each."""
    rates = frame.groupby(protected, observed=True)[outcome].mean()
    for group, to, share in ((rates.idxmax(), 1, 1 - rates.max()), (rates.idxmin(), 0, rates.min())):
        change = (frame[protected] == group) & (frame[outcome] != to) & (rng.random(len(frame)) < points / share)
        frame = frame.assign(**{outcome: frame[outcome].where(~change, to)})
    return frame


@pytest.mark.slow
def test_adult_outcomes_moved_apart_by_five_points_are_found_and_nothing_else(adult):
    stated = replace(
        adult.problem,
        protected=adult.problem.protected[:1],
        parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion({adult.problem.outcome: eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.5),
    )
    mapping = eh.fit(stated, adult.frame)
    rng, trials, alarms, seen = np.random.default_rng(0), 50, 0, 0
    for seed in range(trials):
        batch = adult.frame.sample(5000, replace=True, random_state=seed)
        quiet = mapping.monitor(batch, seed=seed)
        alarms += bool(quiet.drifted) or quiet.verdict == VIOLATED
        found = mapping.monitor(moved_apart(batch, 0.05, rng, stated.protected[0], stated.outcome), seed=seed)
        seen += bool(found.drifted) or found.verdict == VIOLATED
    assert alarms <= binom.ppf(0.9999, trials, 0.05)
    assert seen >= 0.9 * trials


@pytest.mark.slow
def test_fresh_samples_over_learned_cells_are_told_apart_no_more_than_stated():
    """Cells are chosen by the outcomes of the fitted table, so that these must not be looked at within cells."""
    trials, alarms = 60, 0
    for seed in range(trials):
        mapping = eh.fit(wide_problem(), wide_frame(seed))
        alarms += bool(mapping.monitor(wide_frame(1000 + seed), seed=seed, confidence=0.8).drifted)
    assert alarms <= binom.ppf(0.9999, trials, 0.1)


def test_a_table_of_counts_is_one_row_for_so_many_people(compas, compas_mapping):
    cells = compas.frame.groupby(list(compas.frame.columns), observed=True).size().reset_index(name="n")
    with pytest.raises(eh.SpecError, match="looks like a table of counts"):
        compas_mapping.monitor(cells, weights="n")
    counted, rows = compas_mapping.monitor(cells, frequencies="n"), compas_mapping.monitor(compas.frame)
    assert counted.sentences() == rows.sentences()
