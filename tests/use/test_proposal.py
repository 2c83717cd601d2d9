"""Proposals: levels, orders, bins, features and bounds from a table."""

import re
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.data.weighting import Weighting
from evenhand.engines import counting, files, looking
from evenhand.records import FrozenMap
from evenhand.render.sentences import paragraph, sentence
from evenhand.tables.survey import Column, survey
from evenhand.use.proposal import proposed
from evenhand.use.proposal.choosing import choose, told
from evenhand.use.proposal.draft import MOST_MOVES
from evenhand.use.proposal.levels import levelled, plain_order, readable_edges
from evenhand.use.proposal.shown import leaves_or_levels

pytestmark = pytest.mark.turns(4)


def left_out(found):
    """The columns that a proposal leaves out, and why."""
    return {name: sentence(why) for name, why in found.draft.left_out}


def remarks(found):
    """What is asked about each feature."""
    return {each.name: each.remark and sentence(each.remark) for each in found.draft.features}


def one(values, name="c", **options):
    return survey(pd.DataFrame({name: values}), parse=True, **options)[name]


def people(n=2000, seed=0):
    """A table with something of everything."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    skill = rng.integers(0, 4, n)
    hired = rng.random(n) < 0.15 + 0.1 * skill + 0.2 * (sex == "m")
    return pd.DataFrame(
        {
            "id": np.arange(n) * 7 + 3,
            "name": [f"person {i}" for i in range(n)],
            "sex": sex,
            "skill": skill,
            "band": np.array(["<10", "10 - 20", "20 - 30", ">30"])[skill],
            "wage": np.exp(rng.normal(3 + 0.3 * skill, 0.4, n)).round(2),
            "started": pd.date_range("2001-01-01", periods=n).strftime("%Y-%m-%d"),
            "country": "nowhere",
            "town": rng.choice(["a", "b", "c", "d", "e", "f", "g", "h"], n),
            "decision": np.where(hired, "accepted", "rejected"),
            "hired": hired.astype(int),
        }
    )


class TestSurvey:
    def test_numbers_words_and_codes(self):
        assert one(["3", "1", "2"]).values == (1, 2, 3)
        assert one(["3", "1.5"]).values == (1.5, 3.0)
        assert one(["007", "12"]).values == ("007", "12"), "leading zeros make a code"
        assert one([True, False]).values == (False, True)
        assert one([1.0, 2.0, None]).whole
        assert one([1.0, 2.0, None]).real

    def test_words_for_what_is_missing(self):
        column = one(["1", "?", "NA", "-", ""])
        assert (column.values, column.tokens, column.missing) == ((1,), ("?", "NA", "-"), 4)
        assert one(["a-b", "-"]).values == ("-", "a-b"), "a dash among words may mean something"
        chosen = one(["1", "?", "unknown"], missing_values=["unknown"])
        assert (chosen.values, chosen.tokens) == (("1", "?"), ("unknown",))

    def test_dates(self):
        assert one(["2020-01-01", "2021-05-06"]).dated
        assert not one(["25 - 45", "18 - 25"]).dated


class TestLevels:
    def test_edges_are_readable_and_no_bin_is_rare(self):
        rng = np.random.default_rng(1)
        ages = one(rng.integers(17, 91, 5000))
        assert readable_edges(ages, 4) == (35.0, 55.0, 70.0)
        assert levelled(ages, 4).levels == ("<35", "35 to 54", "55 to 69", ">=70")

    def test_a_value_that_nearly_everybody_has(self):
        assert readable_edges(one([0] * 900 + list(range(1, 101))), 4) == (1.0,)
        nobody = levelled(one([0] * 9990 + list(range(1, 11))), 4)
        assert nobody.binning is None

    def test_few_numbers_are_their_own_levels(self):
        assert levelled(one([1, 2, 3] * 50), 4).binning is None
        real = levelled(one([0.5, 1.5, 2.0] * 50), 4)
        assert real.binning == eh.Edges([1.5, 2])
        assert len(real.levels) == 3

    def test_rare_words_are_pooled(self):
        words = ["a"] * 500 + ["b"] * 400 + ["c"] * 60 + ["d"] * 20 + ["e"] * 10 + ["f"] * 5 + ["g"] * 5
        pool = levelled(one(words), 4)
        assert pool.binning == eh.PooledLevels(keep=["a", "b", "c"], into="other")
        assert pool.levels == ("a", "b", "c", "other")

    def test_a_pool_that_would_be_very_rare_takes_the_next_level_too(self):
        words = ["a"] * 600 + ["b"] * 335 + ["c"] * 60 + ["d"] * 5
        assert levelled(one([*words, "e", "f", "g"]), 4).levels == ("a", "b", "other")

    def test_the_name_of_a_pool_is_new(self):
        words = ["Other"] * 500 + ["b"] * 490 + ["c", "d", "e", "f", "g"] * 2
        assert levelled(one(words), 4).binning.into == "(other)"

    @pytest.mark.parametrize(
        ("levels", "order"),
        [
            (["25 - 45", "Greater than 45", "Less than 25"], ("Less than 25", "25 - 45", "Greater than 45")),
            (["10+", "0", "1-9"], ("0", "1-9", "10+")),
            ([">=70", "<20", "20-29"], ("<20", "20-29", ">=70")),
            (["low", "high"], None),
            (["A11", "A12"], None),
            (["<5", "under 5"], None),
        ],
    )
    def test_an_order_only_where_it_is_plain(self, levels, order):
        assert plain_order(levels) == order

    @pytest.mark.slow
    @given(st.lists(st.integers(-1000, 1000), min_size=12, max_size=300), st.integers(2, 5))
    @settings(max_examples=60)
    def test_any_numbers_can_be_levelled(self, numbers, bins):
        found = levelled(one(numbers), bins)
        assert len(found.codes) == len(numbers)
        assert found.codes.max() < len(found.levels)
        if isinstance(found.binning, eh.Edges):
            assert found.weights.min() > 0
            assert list(found.binning.edges) == sorted(set(found.binning.edges))


class TestChoosing:
    def test_what_tells_most_comes_first(self):
        rng = np.random.default_rng(2)
        strong, weak, noise = (rng.integers(0, 3, 5000) for _ in range(3))
        outcome = (rng.random(5000) < 0.1 + 0.3 * strong + 0.05 * weak).astype(int)
        groups = rng.integers(0, 2, 5000)
        assert choose({"noise": noise, "weak": weak, "strong": strong}, groups, outcome) == ("strong", "weak")

    def test_a_copy_is_not_taken_twice(self):
        rng = np.random.default_rng(3)
        first = rng.integers(0, 3, 1000)
        outcome = (rng.random(1000) < 0.2 + 0.3 * first).astype(int)
        assert len(choose({"first": first, "copy": first.copy()}, np.zeros(1000, int), outcome)) == 1

    def test_told(self):
        cells = np.array([0, 0, 1, 1, 2])
        assert told(cells, cells) == pytest.approx(1)
        assert told(cells, np.array([0, 1, 1, 1, 0])) < 1

    def test_a_weight_counts_as_so_many_rows(self):
        rng = np.random.default_rng(3)
        first, outcome, times = (rng.integers(0, n, 300) for n in (3, 2, 5))
        rows = np.repeat(np.arange(300), times)
        assert told(first, outcome, times.astype(float)) == pytest.approx(told(first[rows], outcome[rows]))


class TestProposal:
    def test_roles_and_reasons(self):
        found = proposed(people(), protected=["sex"], outcome="hired", source="people.csv")
        left = left_out(found)
        assert "identifier" in left["id"]
        assert "names" in left["name"]
        assert "dates" in left["started"]
        assert "one value" in left["country"]
        assert "the outcome by another name" in left["decision"]
        assert set(found.problem.features) & {"skill", "band"}
        assert not {"skill", "band"} <= set(found.problem.features)
        assert any(reason.startswith("gives away what") for reason in left.values())

    def test_it_fits_as_it_is(self):
        frame = people()
        found = proposed(frame, protected=["sex"], outcome="hired")
        mapping = eh.fit(found.problem, frame)
        assert mapping.certificate.status == "optimal"
        assert eh.smallest_parity_bound(found.problem, frame) == pytest.approx(found.bounds.smallest_bound)
        least = found.bounds.limit * eh.smallest_budget_factor(found.problem, frame)
        assert least == pytest.approx(found.bounds.smallest_limit, abs=1e-6)

    @pytest.mark.slow
    def test_every_column_that_is_asked_for(self):
        asked = ["wage", "band", "town"]
        found = proposed(people(), protected=["sex"], outcome="hired", features=asked)
        assert list(found.problem.features) == asked
        assert found.problem.distortion.rules["band"].levels == ("<10", "10 - 20", "20 - 30", ">30")
        assert isinstance(found.problem.bins["wage"], eh.Edges)
        assert found.draft.most_moves <= MOST_MOVES

    @pytest.mark.slow
    def test_too_many_moves_are_fixed(self):
        rng = np.random.default_rng(4)
        columns = {f"x{i}": rng.integers(0, 5, 3000) for i in range(6)}
        frame = people(3000).assign(**columns)
        found = proposed(frame, protected=["sex"], outcome="hired", features=list(columns))
        rules = [feature.rule for feature in found.draft.features]
        assert rules == sorted(rules, reverse=True), "the last are fixed first"
        assert {"ordinal", "fixed"} == set(rules)

    def test_missing_values_and_odd_names(self):
        frame = people().rename(columns={"town": 'the "town"', "skill": "skill level é"})
        frame["skill level é"] = frame["skill level é"].astype(str).mask(frame["sex"] == "f", "?")
        asked = ['the "town"', "skill level é"]
        found = proposed(frame, protected=["sex"], outcome="hired", features=asked)
        assert found.problem.missing == "level"
        assert found.problem.missing_values == ("?",)
        assert list(found.problem.features) == asked
        eh.fit(found.problem, frame)

    def test_a_name_that_several_columns_have(self, tmp_path):
        frame = people()[["sex", "skill", "wage", "hired"]].set_axis(["sex", "skill", "skill", "hired"], axis=1)
        frame.assign(town=people()["town"]).to_csv(tmp_path / "people.csv", index=False)
        with pytest.warns(eh.EvenhandWarning, match="several columns called 'skill'"):
            found = proposed(tmp_path / "people.csv", protected=["sex"], outcome="hired")
        assert "several columns have this name" in left_out(found)["skill"]
        assert found.problem.features == ("skill_2",)

    @pytest.mark.slow
    def test_a_column_without_a_name_is_left_out(self, tmp_path):
        people().to_csv(tmp_path / "people.csv")
        found = proposed(tmp_path / "people.csv", protected=["sex"], outcome="hired")
        assert "has no name for it" in left_out(found)["Unnamed: 0"]
        eh.fit(found.problem, tmp_path / "people.csv")

    @pytest.mark.slow
    @pytest.mark.parametrize("kind", ["file", "pandas", "polars"])
    def test_values_that_are_made_of_others(self, tmp_path, kind):
        frame = people()
        frame = frame.assign(list=[[1, 2]] * len(frame), struct=[{"a": 1}] * len(frame), bytes=[b"x"] * len(frame))
        frame.to_parquet(tmp_path / "people.parquet")
        kinds = {"file": lambda: tmp_path / "people.parquet", "pandas": lambda: frame}
        given = kinds.get(kind, lambda: pl.read_parquet(tmp_path / "people.parquet"))()
        left = left_out(proposed(given, protected=["sex"], outcome="hired"))
        for name in ("list", "struct", "bytes"):
            assert "are no categories" in left[name]
            for asked in ({"protected": [name], "outcome": "hired"}, {"protected": ["sex"], "outcome": name}):
                with pytest.raises(eh.DataError, match=f"'{name}' holds lists, structs or bytes"):
                    proposed(given, **asked)

    @pytest.mark.slow
    def test_any_name_and_value_can_be_written(self):
        """Names with spaces, quotes, line ends and control characters are values of the TOML, and cannot break it."""
        odd = 'a "long-ish" name, with\nmany \x07 kinds \x7f of = [things] # ' * 3
        frame = people().rename(columns={"town": odd})
        frame[odd] = frame[odd].map({v: v * 30 + '"\r\n]' for v in "abcdefgh"})
        csv = eh.CsvFormat(names=list(frame.columns))
        found = proposed(frame, protected=["sex"], outcome="hired", features=[odd, "band"], csv=csv, source="a\nb.csv")
        assert found.problem.features == (odd, "band")
        assert found.problem.csv == csv
        proposed(frame.rename(columns={"name": odd + "2"}), protected=["sex"], outcome="hired")

    @pytest.mark.slow
    def test_numbers_in_a_file_with_words_for_what_is_missing(self, tmp_path):
        """In a file they are numbers; in a frame of texts they are words, with an order that is plain."""
        frame = people()[["sex", "skill", "hired"]]
        frame["skill"] = frame["skill"].astype(str).mask(frame.index % 9 == 0, "?")
        frame.to_csv(tmp_path / "people.csv", index=False)
        options = {"protected": ["sex"], "outcome": "hired", "features": ["skill"]}
        assert proposed(frame, **options).problem.distortion.rules["skill"].levels == ("0", "1", "2", "3")
        found = proposed(tmp_path / "people.csv", **options)
        assert found.problem.distortion.rules["skill"] == eh.Ordinal(step=1, max_steps=1)
        assert eh.fit(found.problem, tmp_path / "people.csv").certificate.status == "optimal"

    @pytest.mark.slow
    def test_outcomes_of_several_kinds(self):
        frame = people()
        words = proposed(frame.drop(columns="hired"), protected=["sex"], outcome="decision", features=["skill"])
        assert isinstance(words.problem.distortion.rules["decision"], eh.Nominal)
        real = proposed(frame, protected=["sex"], outcome="wage", features=["skill"])
        assert isinstance(real.problem.bins["wage"], eh.Edges)
        three = frame.assign(grade=np.array(["good", "fair", "poor"])[np.arange(2000) % 3])
        found = proposed(three, protected=["sex"], outcome="grade", features=["skill"])
        assert eh.fit(found.problem, three).certificate.status == "optimal"

    @pytest.mark.slow
    def test_why_each_column_is_left_out(self):
        """Too little told and too many cells are different reasons; columns that nobody asked for are listed, too."""
        rng = np.random.default_rng(5)
        strong, fine, noise = rng.integers(0, 5, 400), rng.integers(0, 8, 400), rng.integers(0, 2, 400)
        hired = (rng.random(400) < 0.05 + 0.1 * strong + 0.5 * (fine > 3)).astype(int)
        frame = people(400)[["sex"]].assign(strong=strong, fine=fine, noise=noise, hired=hired)
        found = proposed(frame, protected=["sex"], outcome="hired")
        assert found.problem.features == ("fine",)
        assert left_out(found) == {
            "strong": "would make too many small cells: fewer than 10 people each on average",
            "noise": "explains too little of the outcome beyond the features above",
        }
        with pytest.raises(eh.SpecError, match="too many small cells"):
            proposed(frame[:100], protected=["sex"], outcome="hired")
        with pytest.raises(eh.SpecError, match="no column tells enough"):
            proposed(frame[["sex", "noise", "hired"]], protected=["sex"], outcome="hired")
        asked = proposed(people(), protected=["sex"], outcome="hired", features=["skill", "wage"])
        assert set(left_out(asked)) == set(people()) - {"sex", "hired", "skill", "wage"}
        assert set(left_out(asked).values()) == {"not asked for"}
        assert "town, decision: not asked for" in said(asked)

    def test_the_text_says_what_to_run(self):
        found = proposed(people(), protected=["sex"], outcome="hired", source="my people.csv", target="p.toml")
        assert "evenhand fit p.toml 'my people.csv'" in found.toml
        assert max(map(len, found.toml.splitlines())) <= 120
        assert eh.Problem.from_toml(found.toml) == found.problem

    @pytest.mark.slow
    def test_no_key_is_explained_in_more_than_two_lines(self):
        """Reasons for what is left out aside, of which there may be many."""
        frame = people().assign(age=np.arange(2000) % 60 + 18)
        for options in ({}, {"favourable": 1}, {"cells": "leaves"}):
            text = proposed(frame, protected=["sex", "age"], outcome="hired", **options).toml
            body = [line for line in text.split("\n\n", 1)[1].splitlines() if not line.startswith("#   ")]
            comments = re.findall(r"(?:^#.*\n)+", "\n".join(body), re.MULTILINE)
            assert max(block.count("\n") for block in comments) <= 2

    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"outcome": "hird"}, eh.DataError, "Did you mean 'hired'"),
            ({"protected": []}, eh.SpecError, "at least one protected column"),
            ({"protected": ["sex", "hired"]}, eh.SpecError, "'hired' is named twice"),
            ({"protected": ["country"]}, eh.DataError, "a single value, 'nowhere'"),
            ({"protected": ["name"]}, eh.DataError, "common enough"),
            ({"outcome": "town", "features": ["name"]}, eh.DataError, "every value of the feature 'name' is rare"),
            ({"outcome": "name"}, eh.DataError, "is this the right column"),
            ({"features": ["country"]}, eh.DataError, "feature 'country' has a single value"),
        ],
    )
    def test_what_cannot_be_proposed(self, changes, error, words):
        with pytest.raises(error, match=words):
            proposed(people(), **({"protected": ["sex"], "outcome": "hired"} | changes))

    def test_an_outcome_that_is_missing_somewhere(self):
        frame = people().astype({"hired": "Int64"})
        frame.loc[3, "hired"] = None
        with pytest.raises(eh.DataError, match="'hired' is missing in 1 row"):
            proposed(frame, protected=["sex"], outcome="hired")

    @pytest.mark.slow
    def test_the_studies(self):
        for study, outcome in (("compas", "is_recid"), ("adult", "income")):
            frame = eh.datasets.load(study).frame
            found = proposed(frame, protected=["sex", "race"], outcome=outcome)
            assert eh.fit(found.problem, frame).certificate.status == "optimal"


def said(found):
    """The text of a proposal without its line breaks."""
    return " ".join(found.toml.replace("#", " ").split())


def staff(sizes, rates, n=4000, seed=7):
    """People of races of given sizes and rates; the first race is everybody else."""
    rng = np.random.default_rng(seed)
    names = list(rates)
    race = np.concatenate([np.repeat(names[0], n - sum(sizes)), np.repeat(names[1:], sizes)])
    skill = rng.integers(0, 3, n)
    hired = np.zeros(n, dtype=int)
    for name, rate in rates.items():
        rows = np.flatnonzero(race == name)
        hired[rng.permutation(rows)[: round(rate * len(rows))]] = 1
    skill = np.clip(skill + hired, 0, 3)
    return pd.DataFrame({"race": race, "skill": skill, "hired": hired})


class TestSmallGroups:
    """Nothing is put together without a word."""

    options = FrozenMap({"protected": ["race"], "outcome": "hired", "features": ["skill"]})

    def groups(self, found):
        return set(found.draft.protected[0].levels)

    def test_opposite_groups_are_not_put_together(self):
        frame = staff([40, 40], {"w": 0.5, "a": 0.95, "b": 0.05})
        found = proposed(frame, **self.options)
        assert self.groups(found) == {"a", "b", "w"}
        assert "race" not in found.problem.bins
        assert "race: a (40 people, 95%) and b (40 people, 5%) are small, but apart" in said(found)

    def test_groups_of_enough_people_are_left_alone_however_small_their_share(self):
        found = proposed(staff([60, 70], {"w": 0.5, "a": 0.9, "b": 0.1}), **self.options)
        assert self.groups(found) == {"a", "b", "w"}
        assert not found.problem.bins

    def test_what_is_put_together_is_named_with_people_and_rates(self):
        frame = staff([30, 20], {"w": 0.5, "a": 0.1, "b": 0.05})
        found = proposed(frame, **self.options)
        assert found.problem.bins["race"] == eh.MergedLevels({"a or b": ["a", "b"]})
        assert "a (30 people, 10%) and b (20 people, 5%) are one group, 'a or b'." in said(found)
        assert eh.fit(found.problem, frame).certificate.status == "optimal"

    def test_opposite_groups_that_chance_could_explain(self):
        """So few people say little, but nothing is gained by hiding one behind the other."""
        frame = staff([20, 20], {"w": 0.5, "a": 0.6, "b": 0.4})
        assert self.groups(proposed(frame, **self.options)) == {"a", "b", "w"}

    def test_one_that_is_far_off_and_one_that_is_not(self):
        """Both are below everybody, but one hardly so: together they would seem less far off than the first is."""
        frame = staff([30, 30], {"w": 0.9, "a": 0.3, "b": 0.87})
        assert self.groups(proposed(frame, **self.options)) == {"a", "b", "w"}

    def test_two_against_two(self):
        frame = staff([30, 30, 30, 30], {"w": 0.5, "a": 0.05, "b": 0.95, "c": 0.1, "d": 0.9})
        into = proposed(frame, **self.options).problem.bins["race"].into
        assert dict(into) == {"a or c": ("a", "c"), "b or d": ("b", "d")}

    def test_many_of_which_nothing_is_known(self):
        """Single people are no group of their rate: chance alone would make it 0 or 1."""
        frame = staff([1] * 30, {"w": 0.5} | {f"r{i}": i % 2 for i in range(30)})
        into = proposed(frame, **self.options).problem.bins["race"].into
        assert list(into) == ["few people"]
        assert len(into["few people"]) == 30

    @pytest.mark.slow
    def test_one_alone_is_named_and_stays(self):
        frame = people().assign(team="a")
        frame.loc[:150, "team"] = "b"
        frame.loc[(frame["team"] == "b") & (frame["sex"] == "f") & (frame.index > 9), "team"] = "a"
        found = proposed(frame, protected=["sex", "team"], outcome="hired", features=["skill"])
        (tiny,) = found.draft.tiny_groups
        who = (frame["sex"] == "f") & (frame["team"] == "b")
        assert (tiny.name, tiny.people) == ("sex=f, team=b", int(who.sum()))
        assert tiny.rate == pytest.approx(frame["hired"][who].mean())
        assert f"sex=f, team=b ({tiny.people} people, {tiny.rate:.0%})." in said(found)
        assert "Groups of fewer" not in proposed(people(), protected=["sex"], outcome="hired").toml

    @pytest.mark.slow
    def test_codes_are_groups(self):
        frame = staff([400, 300, 30, 20], {"w": 0.5, "a": 0.4, "b": 0.6, "c": 0.1, "d": 0.05})
        frame["race"] = frame["race"].map({"w": 1, "a": 2, "b": 3, "c": 4, "d": 5})
        found = proposed(frame, **self.options)
        assert found.problem.bins["race"] == eh.MergedLevels({"4 or 5": [4, 5]})
        eh.fit(found.problem, frame)
        frame["race"] = np.arange(4000) % 14 + 1
        assert not proposed(frame, **self.options).problem.bins
        lacking = frame.assign(race=(frame.index % 4 + 1.0)).astype({"race": float})
        lacking.loc[:300, "race"] = np.nan
        found = proposed(lacking, **self.options)
        assert len(found.draft.protected[0].levels) == 4
        eh.fit(found.problem, lacking)

    @pytest.mark.slow
    def test_another_table_has_the_same_groups(self):
        """The TOML names levels, so a table with other numbers, and with new values, means the same by them."""
        towns = ["a"] * 500 + ["b"] * 400 + ["c"] * 60 + ["d", "e", "f", "g"] * 10
        frame = people(1000).assign(town=towns)
        problem = proposed(frame, protected=["sex"], outcome="hired", features=["skill", "town"]).problem
        other = people(1000, seed=1).assign(town=["d"] * 500 + ["a"] * 300 + ["z"] * 150 + ["c"] * 50)
        levels = {v.name: v for v in eh.fit(problem, other).counts.domain.x.variables}["town"].levels
        assert set(levels) == {"a", "c", "other"}


class TestNumbersAsGroups:
    """Where a protected number is cut, and why there."""

    def ages(self, low, high, name="age", n=3000):
        rng = np.random.default_rng(8)
        return people(n).assign(**{name: rng.integers(low, high, n)})

    def cut(self, frame, name="age"):
        found = proposed(frame, protected=[name], outcome="hired", features=["skill"])
        return found.problem.bins[name].edges

    @pytest.mark.slow
    def test_ages_are_cut_at_known_lines(self):
        assert self.cut(self.ages(17, 90)) == (25, 40, 65)
        assert self.cut(self.ages(18, 35)) == (25,)
        assert self.cut(self.ages(17, 90, "AgeYears"), "AgeYears") == (25, 40, 65)
        found = proposed(self.ages(17, 90), protected=["age"], outcome="hired", features=["skill"])
        assert "Cut where known groups of ages begin; use the ages of your rules." in said(found)

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize(("rate", "edges"), [(0.9, (40, 65)), (None, (40,))])
    def test_a_small_share_of_many_people_is_a_group_if_its_rate_is_another(self, rate, edges):
        frame = self.ages(26, 65, n=6000)
        frame.loc[:239, "age"] = 70
        if rate is not None:
            frame.loc[:239, "hired"] = (np.random.default_rng(1).random(240) < rate).astype(int)
        assert self.cut(frame) == edges

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("name", ["wage_a_day", "mileage"])
    def test_other_numbers_are_cut_with_a_word(self, name):
        found = proposed(self.ages(100, 900, name), protected=[name], outcome="hired", features=["skill"])
        assert len(found.problem.bins[name].edges) == 2
        assert "Cut at round numbers near equal shares of the people" in said(found)

    def test_a_number_that_nearly_everybody_has(self):
        frame = people().assign(children=[0] * 1980 + [*range(1, 21)])
        found = proposed(frame, protected=["children"], outcome="hired", features=["skill"])
        assert len(found.draft.groups) == 2


class TestTwoCodes:
    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("codes", [(0, 1), (1, 2), ("0", "1"), (0.0, 1.0), (False, True)])
    def test_they_are_no_order(self, codes):
        frame = people()
        frame["member"] = np.where(np.arange(2000) % 3 == 0, *(np.array(codes)[:, None]))
        found = proposed(frame, protected=["sex"], outcome="hired", features=["member", "skill"])
        assert isinstance(found.problem.distortion.rules["member"], eh.Nominal)
        assert isinstance(found.problem.distortion.rules["skill"], eh.Ordinal)
        eh.fit(found.problem, frame)

    @pytest.mark.slow
    def test_also_with_gaps(self):
        frame = people().assign(member=np.arange(2000) % 2).astype({"member": float})
        frame.loc[::7, "member"] = np.nan
        found = proposed(frame, protected=["sex"], outcome="hired", features=["member", "skill"])
        assert isinstance(found.problem.distortion.rules["member"], eh.Nominal)
        eh.fit(found.problem, frame)


class TestLeaks:
    """What is known only after the outcome is named, whether or not somebody asks for it."""

    def followed(self, noise=0.0):
        rng = np.random.default_rng(9)
        frame = people()
        hired = frame["hired"] == 1
        frame["copy"] = np.where(rng.random(2000) < noise, 1 - frame["hired"], frame["hired"]).astype(str)
        frame["start_day"] = pd.Series(rng.integers(1, 300, 2000)).where(hired)
        frame["bonus"] = (hired & (rng.random(2000) < 0.2)).astype(int)
        frame["visits"] = pd.Series(rng.choice(["x", "y"], 2000)).where(hired & (rng.random(2000) < 0.1))
        # The outcome is whether it reaches a number that no round edge would find.
        frame["score"] = np.where(hired, rng.integers(371, 1000, 2000), rng.integers(0, 371, 2000))
        return frame.drop(columns=["decision", "hired"]).assign(hired=frame["hired"])

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("name", "words"),
        [
            ("copy", "the outcome by another name"),
            ("start_day", "known only after it"),
            ("bonus", "all with 1 have hired 1"),
            ("visits", "filled in or not depending on the outcome"),
            ("score", "the outcome by another name"),
        ],
    )
    @pytest.mark.parametrize("noise", [0.0, 0.05])
    def test_each_is_named(self, name, words, noise):
        frame = self.followed(noise)
        chosen = proposed(frame, protected=["sex"], outcome="hired")
        assert words in left_out(chosen)[name]
        assert name in chosen.draft.after
        asked = proposed(frame, protected=["sex"], outcome="hired", features=["skill", name])
        assert asked.problem.features == ("skill", name)
        assert words in sentence(asked.draft.features[1].remark)

    @pytest.mark.slow
    def test_whether_a_follow_up_is_filled_in(self):
        """A few of those who are visited were not hired, so neither column gives it away alone; one is of the other."""
        frame = people()
        late = (frame["hired"] == 1) & (frame.index % 5 == 0) | (frame["hired"] == 0) & (frame.index % 150 == 0)
        frame = frame.assign(visited=late.astype(int), report=pd.Series("long", frame.index).where(late))
        frame.loc[late & (frame.index % 2 == 0), "report"] = "short"
        left = left_out(proposed(frame, protected=["sex"], outcome="hired"))
        assert left["visited"] == "tells whether report is filled in, which depends on the outcome: known only after it"

    @pytest.mark.slow
    def test_a_follow_up_of_the_outcome_that_most_people_have(self):
        frame = people()
        rejected = frame["hired"] == 0
        assert rejected.mean() > 0.5
        frame["reason"] = pd.Series(frame["town"]).where(rejected & (frame.index % 10 == 0))
        for features in (None, ["skill", "reason"]):
            found = proposed(frame, protected=["sex"], outcome="hired", features=features)
            assert "known only after it" in (left_out(found) | remarks(found))["reason"]

    def test_a_weaker_one_is_asked_about(self):
        """A quarter of it is noise: it stays a feature, with a question."""
        found = proposed(self.followed(0.2), protected=["sex"], outcome="hired", features=["skill", "copy"])
        assert found.draft.features[0].remark is None
        assert "of the outcome by itself: is it known before it?" in sentence(found.draft.features[1].remark)

    def test_identifiers_that_are_asked_for(self):
        found = proposed(people(), protected=["sex"], outcome="hired", features=["skill", "id"])
        assert "identifier" in sentence(found.draft.features[1].remark)

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("study", ["compas", "adult"])
    def test_nothing_is_said_of_usual_columns(self, study):
        data = eh.datasets.load(study)
        options = {"protected": data.problem.protected, "outcome": data.problem.outcome}
        found = proposed(data.frame, **options, features=data.problem.features)
        assert not any("known only after" in remark for remark in remarks(found).values() if remark)

    def test_a_rare_outcome_is_not_given_away_by_chance(self):
        rng = np.random.default_rng(10)
        frame = people().assign(hired=(rng.random(2000) < 0.01).astype(int)).drop(columns="decision")
        found = proposed(frame, protected=["sex"], outcome="hired", features=["town", "skill"])
        assert not any(feature.remark for feature in found.draft.features)


class TestWeights:
    def cells(self):
        frame = people()[["sex", "skill", "town", "hired"]]
        return frame, frame.value_counts().rename("people").reset_index()

    @pytest.mark.slow
    def test_a_table_of_counts_is_the_table_of_its_people(self):
        frame, cells = self.cells()
        options = {"protected": ["sex"], "outcome": "hired", "favourable": 1}
        rows, counted = (
            proposed(frame, **options),
            proposed(cells, **options, weighting=Weighting("people", "frequencies")),
        )
        assert counted.problem == replace(rows.problem, frequencies="people")
        assert counted.draft.groups == rows.draft.groups
        assert counted.bounds.smallest_bound == pytest.approx(rows.bounds.smallest_bound, abs=1e-9)
        assert "people" not in left_out(counted)
        assert f"{len(cells)} rows, which stand for 2,000 people by people" in said(counted)
        # An index, as R and pandas export it, hides no equal rows.
        indexed = cells.reset_index(names="Unnamed: 0")
        with pytest.raises(eh.SpecError, match="looks like a table of counts"):
            proposed(indexed, **options, weighting=Weighting("people"))
        for table in (cells, indexed):
            with pytest.warns(eh.EvenhandWarning, match="so many people, give frequencies='people'"):
                proposed(table, **options, features=["skill"])

    @pytest.mark.slow
    def test_a_file_of_counts(self, tmp_path):
        _, cells = self.cells()
        cells.to_csv(tmp_path / "cells.csv", index=False)
        options = {"protected": ["sex"], "outcome": "hired", "weighting": Weighting("people", "frequencies")}
        assert proposed(tmp_path / "cells.csv", **options).problem == proposed(cells, **options).problem

    def test_weights_of_people(self):
        """Rates are by weight, but a row is one person: a large weight makes no large group."""
        frame = staff([30], {"w": 0.5, "a": 0.2})
        frame["weight"] = np.where(frame["hired"] == 1, 3000, 1000) + frame.index % 7
        options = {"protected": ["race"], "outcome": "hired", "features": ["skill"]}
        found = proposed(frame, **options, weighting=Weighting("weight"))
        (tiny,) = found.draft.tiny_groups
        who = frame["race"] == "a"
        assert tiny.people == 30
        assert tiny.rate == pytest.approx(np.average(frame["hired"][who], weights=frame["weight"][who]))
        assert found.draft.rated.overall == pytest.approx(np.average(frame["hired"], weights=frame["weight"]))
        assert f"{len(frame):,} rows, weighted by weight" in said(found)
        assert eh.fit(found.problem, frame).counts.unit == "people by weight"

    @pytest.mark.slow
    def test_rows_without_weight_do_not_count(self):
        cells = self.cells()[1]
        nobody = cells.iloc[:1].assign(town="nowhere", people=0)
        options = {"protected": ["sex"], "outcome": "hired", "weighting": Weighting("people", "frequencies")}
        padded = pd.concat([cells, nobody], ignore_index=True)
        assert proposed(padded, **options).toml == proposed(cells, **options).toml

    @pytest.mark.parametrize(
        ("changes", "error", "words"),
        [
            ({"weighting": Weighting("peple")}, eh.DataError, "Did you mean 'people'"),
            ({"weighting": Weighting("sex")}, eh.SpecError, "'sex' is named twice"),
            ({"weighting": Weighting("town")}, eh.DataError, "'town' must be numbers"),
            ({"weighting": Weighting("minus")}, eh.DataError, "must not be negative"),
        ],
    )
    def test_wrong_weights(self, changes, error, words):
        cells = self.cells()[1].assign(minus=lambda f: -f["people"])
        with pytest.raises(error, match=words):
            proposed(cells, **({"protected": ["sex"], "outcome": "hired"} | changes))


class TestFavourable:
    """The outcome moves towards what is good for a person, and nowhere else, where that is enough."""

    def moves(self, found, frame):
        """The changes of the outcome that the fitted mapping makes."""
        mapping = eh.fit(found.problem, frame)
        changes = mapping.audit().changes
        own = changes[changes["column"] == found.problem.outcome]
        return {(row["from"], row["to"]) for row in own.to_dict("records") if row["share"] > 1e-9}

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("good", [0, 1])
    def test_two_numbers(self, good):
        found = proposed(people(), protected=["sex"], outcome="hired", favourable=good)
        assert found.direction.only
        assert self.moves(found, people()) == {(1 - good, good)}
        rule = found.problem.distortion.rules["hired"]
        assert (rule.up, rule.down, rule.levels) == (good == 1, good == 0, None)
        assert f"The outcome changes towards {good} only." in found.toml
        assert found.problem.favourable == good

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("good", ["accepted", "rejected"])
    def test_two_words(self, good):
        frame = people().drop(columns="hired")
        found = proposed(frame, protected=["sex"], outcome="decision", features=["skill"], favourable=good)
        assert found.problem.distortion.rules["decision"].levels[-1] == good
        assert found.problem.favourable == good
        assert {to for _, to in self.moves(found, frame)} == {good}

    def test_truths(self):
        frame = people().assign(hired=lambda f: f["hired"] == 1)
        found = proposed(frame, protected=["sex"], outcome="hired", features=["skill"], favourable="True")
        assert self.moves(found, frame) == {(False, True)}
        assert found.problem.favourable is True
        assert "favourable = true" in found.toml

    def graded(self):
        rng = np.random.default_rng(6)
        frame = people()
        return frame.assign(grade=np.clip(frame["hired"] + rng.integers(0, 2, 2000), 0, 2))

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize(("good", "rule"), [(2, eh.Ordinal), (1, eh.Nominal), (0, eh.Ordinal)])
    def test_several_in_order(self, good, rule):
        """Nobody moves away from the favourable level, or past it."""
        found = proposed(self.graded(), protected=["sex"], outcome="grade", features=["skill"], favourable=good)
        assert found.direction.only
        assert isinstance(found.problem.distortion.rules["grade"], rule)
        for a, b in self.moves(found, self.graded()):
            assert abs(b - good) < abs(a - good)
            assert (a - good) * (b - good) >= 0

    @pytest.mark.slow
    def test_several_without_an_order(self):
        frame = self.graded()
        frame["grade"] = frame["grade"].map({0: "poor", 1: "odd", 2: "good"})
        options = {"protected": ["sex"], "outcome": "grade", "features": ["skill"]}
        found = proposed(frame, **options, favourable="good")
        rule = eh.Problem.from_toml(found.toml).distortion.rules["grade"]
        assert {pair for pair, cost in rule.cost.items() if np.isfinite(cost)} == {("odd", "good"), ("poor", "good")}
        assert {to for _, to in self.moves(found, frame)} == {"good"}
        assert "init --favourable LEVEL allows one direction only" in proposed(frame, **options).toml

    @pytest.mark.slow
    def test_a_bound_that_one_direction_cannot_meet(self):
        """Nobody in one group has the outcome: lowering the others would need more than the widest budget."""
        frame = people()
        frame["hired"] = np.where(frame["sex"] == "f", frame.index % 10 == 0, frame.index % 10 != 0).astype(int)
        frame = frame.drop(columns="decision")
        found = proposed(frame, protected=["sex"], outcome="hired", features=["skill"], favourable=1)
        assert not found.direction.only
        assert found.direction.reach > found.bounds.bound
        assert f"either way; towards 1 only, no bound below {found.direction.reach:.4f} can be met." in said(found)
        assert {(0, 1), (1, 0)} == self.moves(found, frame)

    def unequal(self, low=0.80, high=0.98, n=4000):
        """Few people of either sex are refused, but the ratio of those rates is large."""
        rng = np.random.default_rng(11)
        sex = rng.choice(["f", "m"], n)
        granted = rng.random(n) < np.where(sex == "f", low, high)
        skill = np.clip(rng.integers(0, 3, n) + granted, 0, 3)
        return pd.DataFrame({"sex": sex, "skill": skill, "granted": granted.astype(int)})

    @pytest.mark.slow
    @pytest.mark.parametrize("good", [0, 1])
    def test_a_distance_by_which_fewer_lose(self, good):
        frame = self.unequal().assign(granted=lambda f: f["granted"] if good else 1 - f["granted"])
        found = proposed(frame, protected=["sex"], outcome="granted", features=["skill"], favourable=good)
        assert found.problem.parity[0].distance == eh.FourFifths(good)
        assert found.direction.only
        assert found.bounds.losing == 0
        assert found.beside.losing > 0.02
        many = f"about {found.beside.losing * 4000:,.0f} of 4,000 people ({found.beside.losing:.1%})"
        why = f"This distance, not the ratio: nobody would lose granted {good}, by the ratio {many}."
        assert why in said(found)
        assert {to for _, to in self.moves(found, frame)} == {good}
        usual = eh.Problem.from_toml(proposed(frame, protected=["sex"], outcome="granted", features=["skill"]).toml)
        changes = eh.fit(usual, frame).audit().changes.query("column == 'granted'").set_index("from")["share"]
        assert changes[good] == pytest.approx(found.beside.losing, rel=0.2)

    @pytest.mark.slow
    def test_a_distance_by_which_fewer_lose_though_not_nobody(self):
        """Of a small group so few have it that nothing within the budget raises them far enough."""
        frame = staff([60], {"w": 0.92, "a": 0.3}).rename(columns={"hired": "granted"})
        found = proposed(frame, protected=["race"], outcome="granted", features=["skill"], favourable=1)
        assert (found.problem.parity[0].distance, found.problem.parity[0].bound) == (eh.FourFifths(1), 0.2)
        assert 0 < found.bounds.losing <= found.beside.losing / 2
        mapping = eh.fit(found.problem, frame)
        lost = mapping.audit().changes.query("column == 'granted'").set_index("from")["share"][1]
        assert lost == pytest.approx(found.bounds.losing, rel=1e-6)
        assert mapping.audit().ledger["harmed"].sum() / len(frame) == pytest.approx(lost)

    @pytest.mark.slow
    def test_where_no_bound_is_comparable_it_is_said_how_many_lose(self):
        frame = people()
        frame["hired"] = np.where(frame["sex"] == "f", frame.index % 10 == 0, frame.index % 10 != 0).astype(int)
        frame = frame.drop(columns="decision")
        found = proposed(frame, protected=["sex"], outcome="hired", features=["skill"], favourable=1)
        assert found.problem.parity[0].distance == eh.PairwiseParity(0.1).distance
        assert found.bounds.losing > 0.01
        assert found.beside.losing == 0
        assert found.beside.bound > 0.2
        assert f"would lose hired 1; nobody if {found.beside.distance.apart(found.beside.bound)}." in said(found)

    def test_nobody_said_which(self):
        found = proposed(people(), protected=["sex"], outcome="hired")
        assert found.problem.favourable is None
        assert "The outcome changes either way; init --favourable LEVEL" in said(found)

    def test_no_such_level(self):
        with pytest.raises(eh.DataError, match=r"no level 'acepted'.*Did you mean 'accepted'"):
            proposed(people(), protected=["sex"], outcome="decision", features=["skill"], favourable="acepted")


def wide(n=4000, seed=0, small=0.4):
    """Eight columns tell something about the outcome, each a little; some of them are no features."""
    rng = np.random.default_rng(seed)
    columns = {f"score{i}": rng.normal(size=n).round(3) for i in range(5)}
    words = {f"word{i}": rng.choice(["a", "b", "c", "d"], n) for i in range(3)}
    told = sum(columns.values()) + sum((each == "a") * 1.5 for each in words.values())
    group = np.where(rng.random(n) < small, "f", "m")
    hired = (rng.random(n) < 1 / (1 + np.exp(1.5 - told - 0.8 * (group == "m")))).astype(int)
    gaps = pd.Series(columns["score0"]).mask(rng.random(n) < 0.1)
    frame = pd.DataFrame({"id": np.arange(n) * 3 + 1, "group": group, **columns, **words})
    return frame.assign(
        score0=gaps,
        rare=(rng.random(n) < 0.004).astype(int),
        name=[f"person {i}" for i in range(n)],
        started=pd.date_range("2001-01-01", periods=n).strftime("%Y-%m-%d"),
        constant="x",
        follow_up=np.where(hired == 1, rng.choice(["x", "y"], n), None),
        hired=hired,
    )


TELLING_COLUMNS = {*(f"score{i}" for i in range(5)), *(f"word{i}" for i in range(3))}


class TestLeaves:
    @pytest.mark.slow
    def test_many_columns_that_tell_something(self):
        frame = wide()
        found = proposed(frame, protected=["group"], outcome="hired")
        assert found.problem.cells == eh.Leaves(most=40, at_least=5)
        assert set(found.problem.features) == {*TELLING_COLUMNS, "rare"}, "also what is nearly constant"
        assert not set(found.problem.features) & set(found.problem.bins)
        assert list(found.problem.distortion.rules) == ["hired"]
        assert found.problem.missing == "error", "a missing value of a feature is a branch"
        left = left_out(found)
        for name, why in {
            "id": "identifier",
            "name": "names",
            "constant": "one value",
            "started": "add those that are known before it",
            "follow_up": "known only after it",
        }.items():
            assert why in left[name]
        assert found.draft.after == ("follow_up",)

    @pytest.mark.slow
    def test_what_five_columns_would_lose_is_out_of_fold(self):
        found = proposed(wide(), protected=["group"], outcome="hired")
        trial = found.draft.tried.trial
        assert 0.05 < trial.told_by_few < trial.told < 0.5
        few = f"levels of {', '.join(trial.few)} {trial.told_by_few:.0%}"
        explained = f"On held-out data leaves explain {trial.told:.0%} of the entropy of hired, {few}."
        assert paragraph([leaves_or_levels(found.draft)]) == explained
        # Nothing is told about people whom neither was learned from, where outcomes are drawn by lot.
        lot = wide().assign(hired=np.random.default_rng(1).integers(0, 2, 4000))
        none = proposed(lot, protected=["group"], outcome="hired", cells="leaves").draft.tried.trial
        assert none.told < 0.01
        assert none.told_by_few < 0.01

    @pytest.mark.slow
    def test_it_fits_as_it_is(self):
        frame = wide()
        found = proposed(frame, protected=["group"], outcome="hired", favourable=1)
        assert eh.Problem.from_toml(found.toml) == found.problem
        mapping = eh.fit(found.problem, frame)
        assert mapping.certificate.status == "optimal"
        assert len(mapping.cells) <= found.problem.cells.most
        assert eh.smallest_parity_bound(found.problem, frame) == pytest.approx(found.bounds.smallest_bound, abs=1e-6)
        least = found.bounds.limit * eh.smallest_budget_factor(found.problem, frame)
        assert least == pytest.approx(found.bounds.smallest_limit, abs=1e-6)

    @pytest.mark.slow
    def test_a_copy_of_a_protected_column_is_named(self):
        frame = wide().assign(born=lambda f: np.where(f["group"] == "f", "daughter", "son"))
        found = proposed(frame, protected=["group"], outcome="hired")
        assert left_out(found)["born"] == "gives away group, which is protected: a copy, or made of it"
        asked = proposed(frame, protected=["group"], outcome="hired", features=["score1", "born"])
        assert "gives away group" in sentence(asked.draft.features[1].remark)

    @pytest.mark.slow
    def test_a_column_that_is_called_like_learned_cells(self):
        frame = wide().rename(columns={"word0": eh.Leaves.variable})
        found = proposed(frame, protected=["group"], outcome="hired")
        assert found.problem.cells is not None
        assert "rename it to use it" in left_out(found)[eh.Leaves.variable]
        levels = proposed(frame, protected=["group"], outcome="hired", cells="levels")
        assert eh.Leaves.variable in {*levels.problem.features, *left_out(levels)}

    @pytest.mark.slow
    def test_numbers_of_many_digits(self, tmp_path):
        """They are what a fit reads: exact whole numbers up to eighteen digits, else words; never one value."""
        large = np.where(wide()["score1"] > 0, 10**17 + 1, 10**17 + 2)
        frame = wide().assign(large=large, larger=[f"{10**25 + int(each) % 2}" for each in large])
        frame.to_csv(tmp_path / "people.csv", index=False)
        for table in (frame, tmp_path / "people.csv"):
            found = proposed(table, protected=["group"], outcome="hired")
            assert {"large", "larger"} <= set(found.problem.features)
            assert found.draft.found["large"].values == (10**17 + 1, 10**17 + 2)

    @pytest.mark.slow
    def test_either_can_be_asked_for(self):
        levels = proposed(wide(), protected=["group"], outcome="hired", cells="levels")
        assert levels.problem.cells is None
        assert len(levels.problem.features) <= 5
        assert levels.draft.tried is None
        few = proposed(people(), protected=["sex"], outcome="hired")
        assert few.problem.cells is None
        assert few.draft.tried is None, "so few columns raise no question"
        leaves = proposed(people(), protected=["sex"], outcome="hired", cells="leaves")
        assert leaves.problem.cells is not None
        with pytest.raises(eh.SpecError, match="leaves"):
            proposed(people(), protected=["sex"], outcome="hired", cells="trees")

    @pytest.mark.slow
    def test_features_that_are_named_are_levels_unless_leaves_are_asked_for(self):
        named = sorted(TELLING_COLUMNS)
        options = {"protected": ["group"], "outcome": "hired", "features": named}
        assert proposed(wide(), **options).problem.cells is None
        leaves = proposed(wide(), **options, cells="leaves")
        assert list(leaves.problem.features) == named
        with pytest.warns(eh.EvenhandWarning, match="'follow_up' tells 100% of the outcome by itself"):
            after = proposed(wide(), **(options | {"features": [*named, "follow_up", "started"]}), cells="leaves")
        assert "filled in or not depending on the outcome" in remarks(after)["follow_up"]
        assert list(after.problem.features) == [*named, "follow_up", "started"]

    @pytest.mark.slow
    def test_leaves_have_people_of_the_smallest_group(self):
        few = wide(small=0.02)
        found = proposed(few, protected=["group"], outcome="hired", cells="leaves")
        smallest = (few["group"] == "f").sum()
        assert 1 <= found.problem.cells.at_least <= smallest / 8
        eh.fit(found.problem, few)

    @pytest.mark.slow
    def test_small_groups_leave_few_leaves(self):
        """Every leaf has people of every group: of twelve people few leaves can be made, which tell less."""
        frame = wide()
        frame.loc[:11, "group"] = "x"
        found = proposed(frame, protected=["group"], outcome="hired")
        assert found.problem.cells is not None
        trial = found.draft.tried.trial
        assert 0 < trial.told < trial.told_by_few
        assert trial.size <= 12
        words = paragraph([leaves_or_levels(found.draft)])
        assert "Every leaf needs people of group=x, which has 12 people. init --cells levels proposes" in words

    @pytest.mark.slow
    def test_a_group_too_small_for_leaves(self):
        """One person is in one leaf, and everybody else would be there too."""
        frame = wide()
        frame.loc[0, "group"] = "x"
        found = proposed(frame, protected=["group"], outcome="hired")
        assert found.problem.cells is None
        assert 0 < len(found.problem.features) <= 5
        assert "Every leaf needs people of group=x, which has 1 person." in paragraph([leaves_or_levels(found.draft)])

    @pytest.mark.slow
    def test_the_number_of_leaves_is_what_new_people_ask_for(self):
        """Where outcomes are drawn by few questions, more leaves tell nothing more; where by many, they do."""
        rng = np.random.default_rng(4)
        n = 1500
        frame = pd.DataFrame({f"c{i}": rng.integers(0, 2, n) for i in range(7)} | {"group": rng.choice(["f", "m"], n)})
        by_one = (rng.random(n) < 0.2 + 0.6 * frame["c0"]).astype(int)
        by_all = (rng.random(n) < 0.05 + 0.9 * frame[[f"c{i}" for i in range(7)]].mean(axis=1)).astype(int)
        few, many = (
            proposed(frame.assign(y=y), protected=["group"], outcome="y", cells="leaves").problem.cells.most
            for y in (by_one, by_all)
        )
        assert few < many

    @pytest.mark.slow
    def test_without_scikit_learn(self, monkeypatch):
        monkeypatch.setitem(sys.modules, "sklearn.tree", None)
        found = proposed(wide(), protected=["group"], outcome="hired")
        assert found.problem.cells is None
        assert 0 < len(found.problem.features) <= 5
        assert "pip install 'evenhand[sklearn]', and run init again." in paragraph([leaves_or_levels(found.draft)])
        with pytest.raises(eh.MissingExtraError, match=r"pip install 'evenhand\[sklearn\]'"):
            proposed(wide(), protected=["group"], outcome="hired", cells="leaves")

    @pytest.mark.slow
    def test_weights_and_files(self, tmp_path):
        """A file is counted as it was read, and weights count as so many rows do."""
        frame = wide(2000).drop(columns=["id", "name", "started"])
        options = {"protected": ["group"], "outcome": "hired", "cells": "leaves"}
        frame.to_csv(tmp_path / "people.csv", index=False)
        by_file, by_frame = proposed(tmp_path / "people.csv", **options), proposed(frame, **options)
        assert by_file.problem == by_frame.problem
        assert by_file.bounds == by_frame.bounds
        times = np.random.default_rng(2).integers(0, 3, 2000)
        weighted = proposed(frame.assign(times=times), **options, weighting=Weighting("times", "frequencies"))
        rates = (
            frame["hired"]
            .groupby(frame["group"].where(times > 0))
            .apply(lambda each: np.average(each, weights=times[each.index]))
        )
        assert weighted.draft.rated.overall == pytest.approx(np.average(frame["hired"], weights=times))
        assert sorted(g.rate for g in weighted.draft.groups) == pytest.approx(sorted(rates))

    @pytest.mark.slow
    @pytest.mark.parametrize("cells", ["leaves", "levels"])
    def test_a_file_is_read_once(self, tmp_path, monkeypatch, cells):
        wide(1500).to_csv(tmp_path / "people.csv", index=False)
        opened = []
        read = files.reading
        for module in (files, looking, counting):
            monkeypatch.setattr(module, "reading", lambda *a, **k: opened.append(a) or read(*a, **k), raising=False)
        proposed(tmp_path / "people.csv", protected=["group"], outcome="hired", cells=cells, favourable=1)
        assert len(opened) == 1

    @pytest.mark.slow
    def test_many_rows(self):
        """Of many rows a tree is tried out on some; what it tells, and the bounds, are those of all."""
        frame = wide(60_000)
        found = proposed(frame, protected=["group"], outcome="hired", cells="leaves")
        assert found.problem.cells == eh.Leaves(most=64, at_least=20)
        assert found.draft.tried.trial.told < found.draft.tried.trial.told_by_few, "sums of scores are hard for a tree"
        assert "init --cells levels proposes those columns." in paragraph([leaves_or_levels(found.draft)])
        assert "Every leaf needs" not in paragraph([leaves_or_levels(found.draft)]), "no group is small"
        assert eh.smallest_parity_bound(found.problem, frame) == pytest.approx(found.bounds.smallest_bound, abs=1e-4)


def test_a_column_without_values():
    assert not Column("c", (), np.full(3, -1)).numeric


@pytest.mark.slow
def test_without_a_favourable_outcome_both_directions_are_listed_by_group():
    found = proposed(people(), protected=["sex"], outcome="hired", features=["skill"])
    moves = eh.fit(found.problem, people()).audit().outcome_changes
    assert len(found.outcomes) == len(moves[["from", "to"]].drop_duplicates())
    for move in moves[moves["people"] >= 1].to_dict("records"):
        assert any(f"sex={move['sex']}: {move['people']:,.0f}" in words for words in map(sentence, found.outcomes))
    towards = proposed(people(), protected=["sex"], outcome="hired", features=["skill"], favourable=1)
    assert towards.direction.only
    assert towards.outcomes == ()


def test_a_model_that_may_not_see_the_group_is_covered_where_records_stay():
    rng = np.random.default_rng(0)
    d = rng.integers(0, 2, 1200)
    a = rng.normal(d, 1)
    y = (rng.random(1200) < 1 / (1 + np.exp(-a - 0.3 * d))).astype(int)
    frame = pd.DataFrame({"d": d, "a": a.round(2), "y": y})
    found = eh.propose(frame, protected=["d"], outcome="y", sees_protected=False)
    assert found.problem.suppress_protected is True
    assert found.problem.suppression.scored
    assert found.problem.cells is not None
    assert "confidence" not in found.toml
    assert "its mean scores are bounded" in found.toml
    assert eh.fit(found.problem, frame).achieved.parity[1].violation <= 1e-9
    assert eh.propose(frame, protected=["d"], outcome="y").problem.suppress_protected is None
    with pytest.raises(eh.SpecError, match="where records stay"):
        eh.propose(frame, protected=["d"], outcome="y", cells="levels", sees_protected=False)
