"""The list of changes: exactly the values that differ between input and output, with the mapping's own probability."""

import numpy as np
import pandas as pd
import pytest
from families import random_problem, small_frame, small_problem
from fits import shared_fit
from hiring import people

import evenhand as eh


def read(path):
    return pd.read_csv(path) if path.suffix == ".csv" else pd.read_parquet(path)


def as_text(value):
    return None if pd.isna(value) else str(value)


def expected(before, after, columns):
    """Every value that differs, by comparing two tables of texts."""
    return [
        (row + 1, column, as_text(before.loc[row, column]), as_text(after.loc[row, column]))
        for row in range(len(before))
        for column in columns
        if as_text(before.loc[row, column]) != as_text(after.loc[row, column])
    ]


def listed(found):
    texts = (found[name].map(as_text) for name in ("before", "after"))
    return list(zip(found["row"], found["column"], *texts, strict=True))


def probabilities(mapping, before, after, mode):
    """The probability of each row's whole move, looked up in the mapping's own table."""
    table = mapping.table(mode)
    own = [name for name in table.columns if not name.startswith("to_") and name != "probability"]
    new = [name.removeprefix("to_") for name in table.columns if name.startswith("to_")]
    keys = table[[*own, *(f"to_{name}" for name in new)]].astype(str).to_numpy()
    known = dict(zip(map(tuple, keys), table["probability"], strict=True))
    both = zip(before[own].astype(str).to_numpy(), after[new].astype(str).to_numpy(), strict=True)
    return [known[(*one, *other)] for one, other in both]


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("mode", ["release", "apply"])
def test_it_is_what_differs_with_the_probability_of_the_move(tmp_path, seed, mode):
    rng = np.random.default_rng([20261118, seed])
    problem, frame = random_problem(rng)
    try:
        mapping = eh.fit(problem, frame)
    except eh.InfeasibleError:
        pytest.skip("this one has no mapping")
    frame = frame.astype(str).assign(id=[f"p,{i}" for i in range(len(frame))])
    frame.to_csv(tmp_path / "people.csv", index=False)
    options = {"key": "id"} if rng.random() < 0.5 else {"draw": ("balanced", "independent")[int(rng.integers(2))]}
    out, changes = (tmp_path / f"{name}.{('csv', 'parquet')[int(rng.integers(2))]}" for name in ("out", "changes"))
    done = getattr(mapping, mode)(tmp_path / "people.csv", to=out, changes=changes, seed=seed, **options)
    after = read(out).astype(str)
    found = read(changes)
    assert listed(found) == expected(frame, after, [*problem.features, problem.outcome])
    assert found["row"].nunique() == done.changed
    if "key" in options:
        assert found["key"].tolist() == frame["id"].iloc[found["row"] - 1].tolist()
    chance = np.array(probabilities(mapping, frame, after, mode))
    np.testing.assert_allclose(found["probability"].astype(float), chance[found["row"].astype(int) - 1], rtol=1e-12)


@pytest.mark.filterwarnings("ignore::evenhand.EvenhandWarning")
def test_typical_rows_have_the_probability_of_the_typical_row(tmp_path):
    mapping = eh.fit(small_problem(), small_frame().query("not (group == 'a' and score == 0 and hired == 1)"))
    pd.DataFrame({"group": ["a"] * 400, "score": 0, "hired": 1}).to_csv(tmp_path / "new.csv", index=False)
    mapping.release(tmp_path / "new.csv", to=tmp_path / "o.csv", changes=tmp_path / "c.csv", unseen="typical")
    found = pd.read_csv(tmp_path / "c.csv")
    every = mapping.possibilities(
        pd.DataFrame({"group": ["a"], "score": [0], "hired": [1]}), mode="release", unseen="typical"
    )
    share = every.loc[every["hired"] == 0, "weight"].item()
    assert set(found["column"]) == {"hired"}
    assert found["probability"].unique() == pytest.approx([share])
    assert len(found) == pytest.approx(400 * share, abs=5 * np.sqrt(400 * share * (1 - share)))


def test_learned_cells_and_binned_columns(tmp_path):
    X, y = people(2000, seed=1)
    frame = X.assign(hired=y)
    problem = eh.Problem(
        protected=["sex"], features=[c for c in frame.columns if c not in ("sex", "hired")], outcome="hired",
        parity=[eh.PairwiseParity(0.2)], distortion=eh.Distortion({"hired": eh.Nominal(1)}),
        budget=eh.ExpectedDistortion(0.9), cells=eh.Leaves(most=8, at_least=5),
    )  # fmt: skip
    mapping = eh.fit(problem, frame)
    frame.to_parquet(tmp_path / "people.parquet")
    mapping.release(tmp_path / "people.parquet", to=tmp_path / "o.parquet", changes=tmp_path / "c.parquet")
    after, found = pd.read_parquet(tmp_path / "o.parquet"), pd.read_parquet(tmp_path / "c.parquet")
    assert len(found)
    assert set(found["column"]) == {"hired"}
    assert listed(found) == expected(frame.reset_index(drop=True), after, ["hired"])


def test_where_nothing_changes_it_has_its_columns_alone(tmp_path):
    mapping = shared_fit(small_problem(), small_frame())
    for name, rows in (("none", 0), ("some", 3)):
        small_frame().head(rows).query("group == 'b'").to_csv(tmp_path / f"{name}.csv", index=False)
        mapping.release(tmp_path / f"{name}.csv", to=tmp_path / f"{name}-o.csv", changes=tmp_path / f"{name}-c.csv")
        assert (tmp_path / f"{name}-c.csv").read_text() == "row,column,before,after,probability\n"


class TestRefusals:
    @pytest.fixture
    def folder(self, tmp_path):
        small_frame().to_csv(tmp_path / "people.csv", index=False)
        return tmp_path

    @pytest.mark.parametrize("name", ["c.txt", "people.csv", "o.csv", "nowhere/c.csv"])
    def test_nothing_is_written(self, folder, name):
        mapping = shared_fit(small_problem(), small_frame())
        with pytest.raises(eh.EvenhandError):
            mapping.release(folder / "people.csv", to=folder / "o.csv", changes=folder / name)
        assert [path.name for path in folder.iterdir()] == ["people.csv"]

    def test_a_release_that_fails_leaves_no_list(self, folder):
        mapping = shared_fit(small_problem(), small_frame())
        frame = small_frame()
        frame.loc[150, "group"] = None
        frame.to_csv(folder / "people.csv", index=False)
        with pytest.raises(eh.DataError, match="missing value"):
            mapping.release(folder / "people.csv", to=folder / "o.csv", changes=folder / "c.csv")
        assert [path.name for path in folder.iterdir()] == ["people.csv"]

    def test_frames_have_none(self):
        with pytest.raises(eh.SpecError, match="changes= lists what changed in a file"):
            shared_fit(small_problem(), small_frame()).release(small_frame(), changes="c.csv")
