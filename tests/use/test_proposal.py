"""Proposals: levels, orders, bins, features and bounds from a table."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evenhand as eh
from evenhand.tables.survey import Column, survey
from evenhand.use.proposal import propose
from evenhand.use.proposal.choosing import choose, deciding, told
from evenhand.use.proposal.draft import MOST_MOVES
from evenhand.use.proposal.levels import levelled, plain_order, pooled, readable_edges, rounded


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
        assert pool.binning == eh.PooledLevels(50, "other")
        assert pool.levels == ("a", "b", "c", "other")

    def test_a_pool_that_would_be_very_rare_takes_the_next_level_too(self):
        words = ["a"] * 600 + ["b"] * 335 + ["c"] * 60 + ["d"] * 5
        assert pooled(one(words)).levels == ("a", "b", "other")

    def test_the_name_of_a_pool_is_new(self):
        words = ["Other"] * 500 + ["b"] * 490 + ["c"] * 10
        assert pooled(one(words)).binning.into == "(other)"

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

    @given(st.lists(st.integers(-1000, 1000), min_size=12, max_size=300), st.integers(2, 5))
    @settings(max_examples=60, deadline=None)
    def test_any_numbers_can_be_levelled(self, numbers, bins):
        found = levelled(one(numbers), bins)
        assert len(found.codes) == len(numbers)
        assert found.codes.max() < len(found.levels)
        if isinstance(found.binning, eh.Edges):
            assert found.weights.min() > 0
            assert list(found.binning.edges) == sorted(set(found.binning.edges))

    def test_rounded(self):
        assert [rounded(x) for x in (0.2, 7.4, 49.6, 1234)] == [1, 7, 50, 1200]


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

    def test_told_and_deciding(self):
        cells, outcome = np.array([0, 0, 1, 1, 2]), np.array([0, 1, 1, 1, 0])
        assert told(cells, cells) == pytest.approx(1)
        assert deciding(cells, outcome, 2).tolist() == [1]


class TestProposal:
    def test_roles_and_reasons(self):
        found = propose(people(), protected=["sex"], outcome="hired", source="people.csv")
        left = dict(found.draft.left_out)
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
        found = propose(frame, protected=["sex"], outcome="hired")
        mapping = eh.fit(found.problem, frame)
        assert mapping.certificate.status == "optimal"
        assert eh.smallest_parity_bound(found.problem, frame) == pytest.approx(found.bounds.smallest_bound)
        least = found.bounds.limit * eh.smallest_budget_factor(found.problem, frame)
        assert least == pytest.approx(found.bounds.smallest_limit, abs=1e-6)

    def test_every_column_that_is_asked_for(self):
        asked = ["wage", "band", "town"]
        found = propose(people(), protected=["sex"], outcome="hired", features=asked)
        assert list(found.problem.features) == asked
        assert found.problem.distortion.rules["band"].levels == ("<10", "10 - 20", "20 - 30", ">30")
        assert isinstance(found.problem.bins["wage"], eh.Edges)
        assert found.draft.most_moves <= MOST_MOVES

    @pytest.mark.slow
    def test_too_many_moves_are_fixed(self):
        rng = np.random.default_rng(4)
        columns = {f"x{i}": rng.integers(0, 5, 3000) for i in range(6)}
        frame = people(3000).assign(**columns)
        found = propose(frame, protected=["sex"], outcome="hired", features=list(columns))
        rules = [feature.rule for feature in found.draft.features]
        assert rules == sorted(rules, reverse=True), "the last are fixed first"
        assert {"ordinal", "fixed"} == set(rules)

    def test_missing_values_and_odd_names(self):
        frame = people().rename(columns={"town": 'the "town"', "skill": "skill level é"})
        frame["skill level é"] = frame["skill level é"].astype(str).mask(frame["sex"] == "f", "?")
        asked = ['the "town"', "skill level é"]
        found = propose(frame, protected=["sex"], outcome="hired", features=asked)
        assert found.problem.missing == "level"
        assert found.problem.missing_values == ("?",)
        assert list(found.problem.features) == asked
        eh.fit(found.problem, frame)

    def test_a_name_that_several_columns_have(self, tmp_path):
        frame = people()[["sex", "skill", "wage", "hired"]].set_axis(["sex", "skill", "skill", "hired"], axis=1)
        frame.assign(town=people()["town"]).to_csv(tmp_path / "people.csv", index=False)
        with pytest.warns(eh.EvenhandWarning, match="several columns called 'skill'"):
            found = propose(tmp_path / "people.csv", protected=["sex"], outcome="hired")
        assert "several columns have this name" in dict(found.draft.left_out)["skill"]
        assert found.problem.features == ("skill_2",)

    def test_a_column_without_a_name_is_left_out(self, tmp_path):
        people().to_csv(tmp_path / "people.csv")
        found = propose(tmp_path / "people.csv", protected=["sex"], outcome="hired")
        assert "has no name for it" in dict(found.draft.left_out)["Unnamed: 0"]
        eh.fit(found.problem, tmp_path / "people.csv")

    @pytest.mark.parametrize("kind", ["file", "pandas", "polars"])
    def test_values_that_are_made_of_others(self, tmp_path, kind):
        frame = people()
        frame = frame.assign(list=[[1, 2]] * len(frame), struct=[{"a": 1}] * len(frame), bytes=[b"x"] * len(frame))
        frame.to_parquet(tmp_path / "people.parquet")
        kinds = {"file": lambda: tmp_path / "people.parquet", "pandas": lambda: frame}
        given = kinds.get(kind, lambda: pl.read_parquet(tmp_path / "people.parquet"))()
        left_out = dict(propose(given, protected=["sex"], outcome="hired").draft.left_out)
        for name in ("list", "struct", "bytes"):
            assert "are no levels" in left_out[name]
            for asked in ({"protected": [name], "outcome": "hired"}, {"protected": ["sex"], "outcome": name}):
                with pytest.raises(eh.DataError, match=f"'{name}' holds lists, structs or bytes"):
                    propose(given, **asked)

    def test_any_name_and_value_can_be_written(self):
        """Names with spaces, quotes, line ends and control characters are values of the TOML, and cannot break it."""
        odd = 'a "long-ish" name, with\nmany \x07 kinds \x7f of = [things] # ' * 3
        frame = people().rename(columns={"town": odd})
        frame[odd] = frame[odd].map({v: v * 30 + '"\r\n]' for v in "abcdefgh"})
        csv = eh.CsvFormat(names=list(frame.columns))
        found = propose(frame, protected=["sex"], outcome="hired", features=[odd, "band"], csv=csv, source="a\nb.csv")
        assert found.problem.features == (odd, "band")
        assert found.problem.csv == csv
        propose(frame.rename(columns={"name": odd + "2"}), protected=["sex"], outcome="hired")

    def test_numbers_in_a_file_with_words_for_what_is_missing(self, tmp_path):
        """In a file they are numbers; in a frame of texts they are words, with an order that is plain."""
        frame = people()[["sex", "skill", "hired"]]
        frame["skill"] = frame["skill"].astype(str).mask(frame.index % 9 == 0, "?")
        frame.to_csv(tmp_path / "people.csv", index=False)
        options = {"protected": ["sex"], "outcome": "hired", "features": ["skill"]}
        assert propose(frame, **options).problem.distortion.rules["skill"].levels == ("0", "1", "2", "3")
        found = propose(tmp_path / "people.csv", **options)
        assert found.problem.distortion.rules["skill"] == eh.Ordinal(step=1, max_steps=1)
        assert eh.fit(found.problem, tmp_path / "people.csv").certificate.status == "optimal"

    def test_outcomes_of_several_kinds(self):
        frame = people()
        words = propose(frame.drop(columns="hired"), protected=["sex"], outcome="decision", features=["skill"])
        assert isinstance(words.problem.distortion.rules["decision"], eh.Nominal)
        real = propose(frame, protected=["sex"], outcome="wage", features=["skill"])
        assert isinstance(real.problem.bins["wage"], eh.Edges)
        three = frame.assign(grade=np.array(["good", "fair", "poor"])[np.arange(2000) % 3])
        found = propose(three, protected=["sex"], outcome="grade", features=["skill"])
        assert eh.fit(found.problem, three).certificate.status == "optimal"

    def test_why_each_column_is_left_out(self):
        """Too little told and too many cells are different reasons; columns that nobody asked for are listed, too."""
        rng = np.random.default_rng(5)
        strong, fine, noise = rng.integers(0, 5, 400), rng.integers(0, 8, 400), rng.integers(0, 2, 400)
        hired = (rng.random(400) < 0.05 + 0.1 * strong + 0.5 * (fine > 3)).astype(int)
        frame = people(400)[["sex"]].assign(strong=strong, fine=fine, noise=noise, hired=hired)
        found = propose(frame, protected=["sex"], outcome="hired")
        assert found.problem.features == ("fine",)
        assert dict(found.draft.left_out) == {
            "strong": "would make too many small cells: fewer than 10 people each on average",
            "noise": "tells too little about the outcome beyond the features above",
        }
        with pytest.raises(eh.SpecError, match="too many small cells"):
            propose(frame[:100], protected=["sex"], outcome="hired")
        with pytest.raises(eh.SpecError, match="no column tells enough"):
            propose(frame[["sex", "noise", "hired"]], protected=["sex"], outcome="hired")
        asked = propose(people(), protected=["sex"], outcome="hired", features=["skill", "wage"])
        assert set(dict(asked.draft.left_out)) == set(people()) - {"sex", "hired", "skill", "wage"}
        assert set(dict(asked.draft.left_out).values()) == {"not asked for"}
        assert "town, decision: not asked for" in " ".join(asked.text.replace("#", " ").split())

    def test_small_groups(self):
        frame = people().assign(team="a")
        frame.loc[:150, "team"] = "b"
        frame.loc[(frame["team"] == "b") & (frame["sex"] == "f") & (frame.index > 9), "team"] = "a"
        found = propose(frame, protected=["sex", "team"], outcome="hired", features=["skill"])
        (name, size), *more = found.draft.tiny_groups
        assert (name, size) == ("sex=f, team=other", int(((frame["sex"] == "f") & (frame["team"] == "b")).sum()))
        assert not more
        assert f"Small: sex=f, team=other ({size})." in " ".join(found.text.replace("#", " ").split())
        assert "Small:" not in propose(people(), protected=["sex"], outcome="hired").text

    def test_a_number_as_a_protected_column(self):
        found = propose(people(), protected=["wage"], outcome="hired", features=["skill"])
        assert len(found.problem.bins["wage"].edges) == 2

    def test_the_text_says_what_to_run(self):
        found = propose(people(), protected=["sex"], outcome="hired", source="my people.csv", target="p.toml")
        assert "evenhand fit p.toml 'my people.csv'" in found.text
        assert max(map(len, found.text.splitlines())) <= 120
        assert eh.Problem.from_toml(found.text) == found.problem

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
            propose(people(), **({"protected": ["sex"], "outcome": "hired"} | changes))

    def test_an_outcome_that_is_missing_somewhere(self):
        frame = people().astype({"hired": "Int64"})
        frame.loc[3, "hired"] = None
        with pytest.raises(eh.DataError, match="'hired' is missing in 1 row"):
            propose(frame, protected=["sex"], outcome="hired")

    def test_the_studies(self):
        for study, outcome in (("compas", "is_recid"), ("adult", "income")):
            frame = eh.datasets.load(study).frame
            found = propose(frame, protected=["sex", "race"], outcome=outcome)
            assert eh.fit(found.problem, frame).certificate.status == "optimal"


class TestFavourable:
    """The outcome moves towards what is good for a person, and nowhere else, where that is enough."""

    def moves(self, found, frame):
        """The changes of the outcome that the fitted mapping makes."""
        mapping = eh.fit(found.problem, frame)
        changes = mapping.audit().changes
        own = changes[changes["column"] == found.problem.outcome]
        return {(row["from"], row["to"]) for row in own.to_dict("records") if row["share"] > 1e-9}

    @pytest.mark.parametrize("good", [0, 1])
    def test_two_numbers(self, good):
        found = propose(people(), protected=["sex"], outcome="hired", favourable=good)
        assert found.direction.only
        assert self.moves(found, people()) == {(1 - good, good)}
        rule = found.problem.distortion.rules["hired"]
        assert (rule.up, rule.down, rule.levels) == (good == 1, good == 0, None)
        assert f"Towards {good} only" in found.text

    @pytest.mark.parametrize("good", ["accepted", "rejected"])
    def test_two_words(self, good):
        frame = people().drop(columns="hired")
        found = propose(frame, protected=["sex"], outcome="decision", features=["skill"], favourable=good)
        assert found.problem.distortion.rules["decision"].levels[-1] == good
        assert {to for _, to in self.moves(found, frame)} == {good}

    def test_truths(self):
        frame = people().assign(hired=lambda f: f["hired"] == 1)
        found = propose(frame, protected=["sex"], outcome="hired", features=["skill"], favourable="True")
        assert self.moves(found, frame) == {(False, True)}

    def graded(self):
        rng = np.random.default_rng(6)
        frame = people()
        return frame.assign(grade=np.clip(frame["hired"] + rng.integers(0, 2, 2000), 0, 2))

    @pytest.mark.parametrize(("good", "rule"), [(2, eh.Ordinal), (1, eh.Nominal), (0, eh.Ordinal)])
    def test_several_in_order(self, good, rule):
        """Nobody moves away from the favourable level, or past it."""
        found = propose(self.graded(), protected=["sex"], outcome="grade", features=["skill"], favourable=good)
        assert found.direction.only
        assert isinstance(found.problem.distortion.rules["grade"], rule)
        for a, b in self.moves(found, self.graded()):
            assert abs(b - good) < abs(a - good)
            assert (a - good) * (b - good) >= 0

    def test_several_without_an_order(self):
        frame = self.graded()
        frame["grade"] = frame["grade"].map({0: "poor", 1: "odd", 2: "good"})
        options = {"protected": ["sex"], "outcome": "grade", "features": ["skill"]}
        found = propose(frame, **options, favourable="good")
        rule = eh.Problem.from_toml(found.text).distortion.rules["grade"]
        assert {pair for pair, cost in rule.cost.items() if np.isfinite(cost)} == {("odd", "good"), ("poor", "good")}
        assert {to for _, to in self.moves(found, frame)} == {"good"}
        assert "init --favourable lets people move to it alone" in propose(frame, **options).text

    def test_a_bound_that_one_direction_cannot_meet(self):
        """Nobody in one group has the outcome: lowering the others would need more than the widest budget."""
        frame = people()
        frame["hired"] = np.where(frame["sex"] == "f", frame.index % 10 == 0, frame.index % 10 != 0).astype(int)
        frame = frame.drop(columns="decision")
        found = propose(frame, protected=["sex"], outcome="hired", features=["skill"], favourable=1)
        assert not found.direction.only
        assert found.direction.reach > found.bounds.bound
        said = " ".join(found.text.replace("#", " ").split())
        assert f"Moving people towards 1 alone would meet no bound below {found.direction.reach:.4f}" in said
        assert {(0, 1), (1, 0)} == self.moves(found, frame)

    def test_nobody_said_which(self):
        found = propose(people(), protected=["sex"], outcome="hired")
        said = " ".join(found.text.replace("#", " ").split())
        assert "People with 0 may be given 1, and people with 1 may be given 0." in said
        assert "write up = false (nobody is given 1) or down = false (nobody is given 0)." in said
        words = propose(people().drop(columns="hired"), protected=["sex"], outcome="decision", features=["skill"])
        assert 'levels = ["accepted", "rejected"] and up = false (nobody is given rejected)' in " ".join(
            words.text.replace("#", " ").split()
        )

    def test_no_such_level(self):
        with pytest.raises(eh.DataError, match=r"no level 'acepted'.*Did you mean 'accepted'"):
            propose(people(), protected=["sex"], outcome="decision", features=["skill"], favourable="acepted")


def test_a_column_without_values():
    assert not Column("c", (), np.full(3, -1)).numeric
