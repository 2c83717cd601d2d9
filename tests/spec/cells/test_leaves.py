"""Leaves: what a tree is learned from, what it never sees, and who is in every leaf."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier
from wide import wide_frame, wide_problem

import evenhand as eh
from evenhand.spec.cells.leaves import simplest_between


def tree_of(problem, frame, **options):
    return eh.count(problem, frame, **options).domain.x.variables[-1].tree


@pytest.mark.slow(keep=2)
@pytest.mark.parametrize("seed", range(6))
def test_every_leaf_has_people_enough_of_every_group(seed):
    rng = np.random.default_rng(seed)
    groups, at_least = int(rng.integers(2, 5)), int(rng.integers(1, 40))
    frame = wide_frame(seed, groups=groups)
    counts = eh.count(wide_problem(cells=eh.Leaves(most=30, at_least=at_least)), frame)
    people = pd.crosstab(counts.x.repeat(counts.cell_people), counts.d.repeat(counts.cell_people))
    assert people.shape[1] == groups
    assert people.to_numpy().min() >= at_least
    assert 2 <= len(people) <= 30


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("seed", range(4))
def test_the_order_of_rows_does_not_matter(seed):
    frame = wide_frame(seed, outcomes=2 + seed % 2)
    shuffled = frame.sample(frac=1, random_state=seed)
    assert tree_of(wide_problem(), frame) == tree_of(wide_problem(), shuffled)
    sampled = wide_problem(cells=eh.Leaves(most=12, at_least=5, sample=400))
    assert tree_of(sampled, frame) == tree_of(sampled, shuffled)
    weight = np.random.default_rng(seed).random(len(frame))
    given = frame.assign(w=weight)
    assert tree_of(wide_problem(), given, weights="w") == tree_of(wide_problem(), given[::-1], weights="w")


def test_protected_columns_do_not_move_splits():
    """Where every leaf has people enough whoever they are, groups that are drawn anew leave the tree as it is."""
    frame = wide_frame(3, people=4000)
    problem = wide_problem(cells=eh.Leaves(most=8, at_least=1))
    other = frame.assign(d=np.random.default_rng(0).permutation(frame["d"]))
    assert tree_of(problem, frame) == tree_of(problem, other)


def test_it_finds_what_the_outcome_depends_on():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({
        "noise": rng.normal(size=3000), "age": rng.integers(0, 100, 3000), "word": rng.choice(list("uvwxyz"), 3000),
        "d": rng.choice(["a", "b"], 3000),
    })  # fmt: skip
    frame["y"] = ((frame["age"] >= 37) ^ frame["word"].isin(["u", "x"])).astype(int) * (rng.random(3000) < 0.9)
    problem = wide_problem(features=["noise", "age", "word"], cells=eh.Leaves(most=4))
    assert set(tree_of(problem, frame).names) == {"age", "word"}
    assert any("at least 37" in rule for rule in tree_of(problem, frame).rules)


def test_without_groups_in_the_way_it_is_scikit_learns_own_tree():
    """The people of each leaf, against the tree that scikit-learn grows on the numbers themselves."""
    rng = np.random.default_rng(1)
    X = pd.DataFrame({"u": rng.normal(size=2000), "v": rng.integers(0, 50, 2000)})
    y = ((X["u"] > 0.3) + (X["v"] > 20) + rng.normal(0, 0.5, 2000) > 1).astype(int)
    frame = X.assign(d=np.arange(2000) % 2, y=y)
    problem = wide_problem(features=["u", "v"], cells=eh.Leaves(most=6, at_least=1))
    counts = eh.count(problem, frame)
    own = DecisionTreeClassifier(criterion="log_loss", max_leaf_nodes=6, min_samples_leaf=2, random_state=0)
    leaf = own.fit(X, y).apply(X)
    ours = pd.Series(counts.cell_people).groupby(counts.x).sum()
    assert sorted(ours) == sorted(pd.Series(leaf).value_counts())


def test_missing_values_are_a_branch():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"u": rng.normal(size=2000), "d": rng.choice(["a", "b"], 2000)})
    gone = rng.random(2000) < 0.3
    frame.loc[gone, "u"] = np.nan
    frame["y"] = (gone ^ (rng.random(2000) < 0.1)).astype(int)
    assert tree_of(wide_problem(features=["u"], cells=eh.Leaves(most=2)), frame).rules == ("u not missing", "u missing")


def test_missing_values_go_with_those_of_the_same_outcome():
    """Not with most people, where the column had missing values to learn from."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"u": rng.random(2000), "d": rng.choice(["a", "b"], 2000)})
    frame.loc[rng.random(2000) < 0.1, "u"] = np.nan
    frame["y"] = (~(frame["u"] < 0.8) ^ (rng.random(2000) < 0.1)).astype(int)
    mapping = eh.fit(wide_problem(features=["u"], cells=eh.Leaves(most=2)), frame)
    low, high, missing = mapping.cell_of(pd.DataFrame({"u": [0.1, 0.9, np.nan], "d": "a", "y": 1}))
    assert missing == high != low


@pytest.mark.parametrize("side", [0, 1])
def test_where_a_side_lacks_a_group_everybody_goes_on_along_the_other(side):
    """The first question is about u; one of its sides has nobody of group b, so the other's stay."""
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({name: rng.integers(0, 2, 4000) for name in ("u", "v", "w")})
    frame["d"] = np.where(frame["u"] == side, rng.choice(["a", "b"], 4000), "a")
    chance = 0.6 * frame["u"] + 0.3 * np.where(frame["u"] == 0, frame["v"], frame["w"])
    frame["y"] = (rng.random(4000) < chance).astype(int)
    problem = wide_problem(features=["u", "v", "w"], cells=eh.Leaves(most=2, at_least=5))
    assert tree_of(problem, frame).names == [("v",), ("w",)][side]


@pytest.mark.slow
def test_rare_words_share_a_branch_and_new_ones_follow_it():
    frame = wide_frame(5, people=3000)
    problem = wide_problem(features=["town", "age"], cells=eh.Leaves(most=20, at_least=10))
    mapping = eh.fit(problem, frame)
    (asked,) = [c for c in mapping.counts.domain.x.variables[-1].tree.columns if c.name == "town"]
    often = frame["town"].value_counts()
    assert asked.words == tuple(sorted(often[often >= 10].index))
    assert asked.others
    row = frame.iloc[[0, 0]].assign(town=[often.index[-1], "Atlantis"])
    assert len(set(mapping.cell_of(row))) == 1
    found = mapping.audit(frame.assign(town="Atlantis")).coverage.query("column == 'town'")
    assert found[["what", "rows"]].to_numpy().tolist() == [
        ["rare or new word", 3000.0],
        ["missing, where nobody's was", 0.0],
    ]
    gone = mapping.audit(frame.assign(town=None, age=np.nan)).coverage
    assert gone[gone["what"].str.startswith("missing, where")]["rows"].tolist() == [3000.0, 3000.0]


def test_columns_that_tell_nothing_are_asked_nothing():
    frame = wide_frame(0).assign(constant=3, key=[f"person {i}" for i in range(1500)], empty=None)
    problem = wide_problem(features=["constant", "key", "empty", "age", "pay"])
    assert set(tree_of(problem, frame).names) <= {"age", "pay"}
    alone = wide_problem(features=["constant", "key"])
    with pytest.warns(eh.EvenhandWarning, match="all people are in one cell"):
        assert tree_of(alone, frame).rules == ("everybody",)
    with pytest.warns(eh.EvenhandWarning, match="no split of one leaves 10 people of every group"):
        assert eh.fit(alone, frame).certificate.status == "optimal"


@pytest.mark.slow
def test_given_columns_bound_the_leaves():
    frame = wide_frame(7, people=3000)
    problem = wide_problem(parity=[eh.PairwiseParity(0.2, given=["married"])], missing="level")
    counts = eh.count(problem, frame)
    assert counts.domain.x.names == ("married", "learned cell")
    married, leaf = counts.domain.x.unravel(counts.x)
    assert pd.Series(married).groupby(leaf).nunique().max() == 1
    assert all("married is" in rule for rule in counts.domain.x.variables[-1].tree.rules)
    mapping = eh.fit(problem, frame)
    wide = mapping.expand(frame)
    share = wide.assign(weight=wide["weight"], of=wide["weight"] * wide["y"]).groupby(["married", "d"])[
        ["of", "weight"]
    ]
    rates = (share.sum()["of"] / share.sum()["weight"]).unstack("d")
    apart = np.maximum(rates.max(axis=1) / rates.min(axis=1), (1 - rates.min(axis=1)) / (1 - rates.max(axis=1)))
    assert (apart <= 1.2 + 1e-9).all()


@pytest.mark.parametrize("column", ["job", "age_group", "married"])
def test_given_columns_of_every_kind(column):
    frame = wide_frame(8, people=4000).assign(age_group=lambda f: f["age"] // 30)
    frame = frame[frame["job"] != "tailor"]
    problem = wide_problem(
        features=["age", "pay", "job", "married", "age_group"],
        parity=[eh.PairwiseParity(0.5, eh.Difference(), given=[column])],
        missing="level",
    )
    counts = eh.count(problem, frame)
    own, leaf = counts.domain.x.unravel(counts.x)
    assert pd.Series(own).groupby(leaf).nunique().max() == 1
    shown = counts.domain.variable(column)
    assert shown.has_missing == (column == "job")
    if column == "job":
        missing = frame["job"].isna()
        assert set(own[np.isin(leaf, np.unique(leaf[own == shown.missing]))]) == {shown.missing}
        assert counts.cell_people[own == shown.missing].sum() == missing.sum()


def test_what_is_wrong_is_refused_by_name():
    frame = wide_frame(0)
    with pytest.raises(eh.SpecError, match="most of Leaves must be a whole number of at least 2"):
        eh.Leaves(most=1)
    with pytest.raises(eh.SpecError, match="at_least of Leaves must be a whole number of at least 1"):
        eh.Leaves(at_least=0)
    with pytest.raises(eh.SpecError, match="bins of 'age' mean nothing"):
        wide_problem(bins={"age": eh.Quantiles(4)})
    with pytest.raises(eh.SpecError, match="a rule for 'age' means nothing"):
        wide_problem(distortion=eh.Distortion({"y": eh.Nominal(1), "age": eh.Ordinal(1)}))
    with pytest.raises(eh.SpecError, match='targets="observed"'):
        wide_problem(targets="all")
    with pytest.raises(eh.SpecError, match="user's distortion"):
        wide_problem(distortion=eh.Distortion({}, function=lambda a, b: 0.0))
    with pytest.raises(eh.SpecError, match="conditional"):
        wide_problem(conditional=pd.DataFrame({"age": [1]}), suppress_protected="fixed")
    with pytest.raises(eh.SpecError, match="a case names 'age'"):
        wide_problem(budget=eh.ExpectedDistortion(eh.By(0.5, [({"age": 30}, 0.1)])))
    with pytest.raises(eh.SpecError, match="nothing to learn cells over"):
        wide_problem(features=["job"], parity=[eh.PairwiseParity(0.1, given=["job"])])
    with pytest.raises(eh.SpecError, match=r"an instance of Leaves or ScoreLevels: .* not 64"):
        wide_problem(cells=64)
    with pytest.raises(eh.SpecError, match="rename that column"):
        wide_problem(features=["age", "learned cell"])
    with pytest.raises(eh.DataError, match=r"at least 2,000 people of every group, .*d=a \(\d+\), d=b"):
        eh.fit(wide_problem(cells=eh.Leaves(at_least=2000)), frame)
    with pytest.raises(eh.DataError, match="no column 'age'"):
        eh.fit(wide_problem(), frame.drop(columns="age"))


def test_a_case_may_name_groups_outcomes_and_given_columns():
    frame, parity = wide_frame(0), [eh.PairwiseParity(0.1, given=["married"])]
    limit = eh.By(0.7, [({"d": "a", "y": 1}, 0.0), ({"married": True}, 0.8)])
    mapping = eh.fit(wide_problem(parity=parity, budget=eh.ExpectedDistortion(limit)), frame)
    results = mapping.possibilities(frame, mode="release")
    people = frame.loc[results["row"]]
    same = results["y"].to_numpy() == people["y"].to_numpy()
    assert same[people["d"].eq("a") & people["y"].eq(1)].all()
    assert not same.all()


def test_features_that_are_the_outcome_or_nearly_tell_it():
    frame = wide_frame(1)
    for copy in (frame["y"], frame["y"].map({0: "no", 1: "yes"}), frame["y"] == 1, 1.5 * frame["y"]):
        with pytest.raises(eh.DataError, match="'copy' is the outcome by another name"):
            eh.fit(wide_problem(features=["age", "copy"]), frame.assign(copy=copy))
    nearly = frame["y"].where(np.random.default_rng(0).random(len(frame)) > 0.01, 1 - frame["y"])
    with pytest.warns(eh.EvenhandWarning, match="'copy' tells 9.% of the outcome by itself"):
        eh.fit(wide_problem(features=["age", "copy"]), frame.assign(copy=nearly))
    less = frame["y"].where(np.random.default_rng(0).random(len(frame)) > 0.1, 1 - frame["y"])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        eh.fit(wide_problem(features=["age", "copy"]), frame.assign(copy=less))


def test_toml_both_ways():
    for cells in (eh.Leaves(), eh.Leaves(most=9, at_least=3, sample=500)):
        problem = wide_problem(cells=cells)
        assert eh.Problem.from_toml(problem.to_toml()) == problem
    assert 'kind = "leaves"' in problem.to_toml()
    with pytest.raises(eh.SpecError, match="kind must be one of"):
        eh.Problem.from_toml(problem.to_toml().replace('"leaves"', '"leafs"'))


@pytest.mark.parametrize("seed", range(30))
def test_edges_lie_between_what_they_part(seed):
    rng = np.random.default_rng(seed)
    below, above = np.sort(rng.normal(0, 10.0 ** rng.integers(-8, 9), 2))
    found = simplest_between(below, above)
    assert below < found <= above
    assert simplest_between(np.nextafter(1.0, 0), 1.0) == 1.0
    assert simplest_between(-1e308, 1e308) <= 1e308


@pytest.mark.parametrize("coding", [(0, 1), (1, 2), (5, 9)])
def test_a_small_sample_of_records_that_repeat(coding):
    """Kinds of people that are left out are left out whole: rates within the others are those of everybody."""
    rng = np.random.default_rng(3)
    a, b = rng.integers(0, 2, (2, 20_000))
    frame = pd.DataFrame({"d": rng.choice(["u", "v"], 20_000), "a": a + coding[0], "b": coding[1] * b})
    frame["y"] = (rng.random(20_000) < 0.3 + 0.2 * a + 0.1 * b).astype(int)
    problem = wide_problem(features=["a", "b"], cells=eh.Leaves(most=8, sample=1000))
    assert tree_of(problem, frame).size == 4


def test_numbers_without_end():
    frame = wide_frame(0).assign(u=lambda f: np.where(f["y"] == 1, np.inf, -1.0) * (1 + f["age"] % 2))
    frame.loc[::7, "u"] = -np.inf
    problem = wide_problem(features=["u"], cells=eh.Leaves(most=4, at_least=1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mapping = eh.fit(problem, frame)
    assert len(mapping.cells) > 1
    mapping.counts.domain.x.variables[-1].tree.check()
    assert all(np.isfinite(s.below) for s in mapping.counts.domain.x.variables[-1].tree.splits)


def test_segments_of_few_people_are_leaves_all_the_same():
    frame = wide_frame(2).assign(part=lambda f: np.where(f.index < 4, "small", "large"))
    problem = wide_problem(features=["age", "part"], parity=[eh.PairwiseParity(2, eh.Difference(), given=["part"])])
    rules = tree_of(problem, frame).rules
    assert "part is small" in rules
    assert len(rules) > 2
