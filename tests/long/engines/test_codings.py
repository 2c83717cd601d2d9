"""A way that values become levels is one file and one line: two that nobody here knows go through everything."""

from contextlib import nullcontext
from dataclasses import dataclass

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest

import evenhand as eh
from evenhand.data.levels import UNSEEN, Case, Coding, Stock
from evenhand.render.sentences import facts
from evenhand.spec import registry
from evenhand.spec.bins import Binning


@dataclass(frozen=True)
class SignCodes(Coding):
    """Negative numbers, zero, positive numbers."""

    stock: tuple[Stock, ...]

    kind = "signs"
    numeric = True

    def codes(self, values):
        return np.where(np.isnan(values), UNSEEN, np.sign(values) + 1).astype(np.int64)

    def middle(self, code):
        return code - 1

    def cases(self):
        return iter([Case(0, below=0), Case(1, among=(0,)), Case(2)])

    def described(self):
        return {}

    @classmethod
    def read(cls, entry, stock, size):
        return cls(stock)


@dataclass(frozen=True)
class Signs(Binning):
    word = "signs"
    coding = SignCodes
    words = "by their sign"

    def levels(self, seen):
        code = np.sign(np.asarray(seen.values, dtype=float)) + 1
        stock = tuple(seen.stock(np.flatnonzero(code == i)) for i in range(3))
        return ("below", "zero", "above"), SignCodes(stock), True


@dataclass(frozen=True)
class HalfCodes(Coding):
    """Texts by where they stand in the alphabet; one in brackets has no level."""

    border: str
    stock: tuple[Stock, ...]

    kind = "halves"
    numeric = False

    def codes(self, values):
        return np.array([UNSEEN if v == "[]" else int(v >= self.border) for v in values], dtype=np.int64)

    def middle(self, code):
        return self.stock[code].commonest

    def cases(self):
        # What is in brackets has none of the levels that follow.
        return iter([Case(UNSEEN, among=("[]",)), Case(0, below=self.border), Case(1)])

    def described(self):
        return {"border": self.border}

    @classmethod
    def read(cls, entry, stock, size):
        return cls(entry["border"], stock)


@dataclass(frozen=True)
class Halves(Binning):
    border: str

    word = "halves"
    coding = HalfCodes
    words = "by halves of the alphabet"

    def levels(self, seen):
        late = np.array([value >= self.border for value in seen.values])
        stock = tuple(seen.stock(np.flatnonzero(late == half)) for half in (False, True))
        return ("early", "late"), HalfCodes(self.border, stock), True


WAYS = {"signs": Signs(), "halves": Halves("n")}


def people(way, size=1500, seed=0):
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], size)
    late = rng.random(size) < np.where(group == "a", 0.8, 0.2)
    column = np.where(late, rng.integers(0, 4, size), rng.integers(-3, 1, size))
    if way == "halves":
        column = np.where(late, rng.choice(["nora", "zoë", "Ñandú"], size), rng.choice(["anna", "bert"], size))
    hired = (rng.random(size) < np.where(late, 0.8, 0.2)).astype(int)
    return pd.DataFrame({"id": np.arange(size), "group": group, "score": column, "hired": hired})


@pytest.fixture(params=WAYS)
def way(request, monkeypatch):
    kind = type(WAYS[request.param])
    monkeypatch.setattr(registry, kind.__name__, kind, raising=False)
    return request.param


@pytest.fixture
def problem(way):
    return eh.Problem(
        protected=["group"],
        features=["score"],
        outcome="hired",
        bins={"score": WAYS[way]},
        parity=[eh.PairwiseParity(0.1)],
        distortion=eh.Distortion({"score": eh.Ordinal(step=1, max_steps=1), "hired": eh.Ordinal(step=1)}),
        budget=eh.ExpectedDistortion(0.5),
    )


@pytest.fixture
def fitted(way, problem):
    return eh.fit(problem, people(way))


def test_frames_and_files_are_counted_alike(way, problem, fitted, tmp_path):
    people(way).to_csv(tmp_path / "people.csv", index=False)
    found = eh.fit(problem, tmp_path / "people.csv").counts
    for counts in (fitted.counts, found, eh.count(problem, pl.from_pandas(people(way)))):
        assert counts.domain.x.variables[0].levels == WAYS[way].levels(occurrence(way))[0]
        assert counts.domain.x.variables[0].coding == fitted.counts.domain.x.variables[0].coding
        assert np.array_equal(counts.weight, fitted.counts.weight)


def occurrence(way):
    found = people(way).groupby("score").size()
    return eh.spec.Occurrence("score", found.index.tolist(), found.to_numpy(dtype=float)[:, None])


@pytest.mark.parametrize("mode", ["release", "apply"])
@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
def test_every_engine_gives_the_same_rows(way, fitted, tmp_path, mode, restore):
    new = people(way, seed=1)
    if way == "halves":
        new.loc[new.index[:9], "score"] = "[]"
    options = {"key": "id", "seed": 3, "restore": restore}
    with pytest.warns(eh.EvenhandWarning) if way == "halves" else nullcontext():
        expected = getattr(fitted, mode)(new, **options)
    assert expected["score"].astype(str).ne(new["score"].astype(str)).mean() > 0.02
    with duckdb.connect() as connection:
        connection.register("people", new)
        assert_same(connection.sql(fitted.to_sql("duckdb", "people", mode=mode, **options)).df(), expected)
    new.to_csv(tmp_path / "new.csv", index=False)
    for ending, read in (("csv", pd.read_csv), ("parquet", pd.read_parquet)):
        with pytest.warns(eh.EvenhandWarning) if way == "halves" else nullcontext():
            getattr(fitted, mode)(tmp_path / "new.csv", to=tmp_path / f"out.{ending}", **options)
        assert_same(read(tmp_path / f"out.{ending}"), expected)


def assert_same(found, expected):
    pd.testing.assert_frame_equal(found.sort_values("id", ignore_index=True), expected, check_dtype=False)


def test_a_mapping_is_kept_and_says_what_was_asked(way, problem, fitted, tmp_path):
    fitted.save(tmp_path / "m.mapping")
    loaded = eh.Mapping.load(tmp_path / "m.mapping")
    assert loaded.counts.domain == fitted.counts.domain
    assert loaded.problem == problem
    assert loaded.release(people(way), seed=2).equals(fitted.release(people(way), seed=2))
    assert ("Levels", f"score: {WAYS[way].words}") in list(facts(problem.sections[0].facts))


def test_a_file_of_a_way_that_is_not_listed_is_refused(way, fitted, tmp_path, monkeypatch):
    fitted.save(tmp_path / "m.mapping")
    monkeypatch.delattr(registry, type(WAYS[way]).__name__)
    with pytest.raises(eh.StorageError, match=f"not '{way}'"):
        eh.Mapping.load(tmp_path / "m.mapping")


def test_only_numbers_are_whole(way, fitted):
    assert fitted.counts.domain.x.variables[0].coding.gives_whole == (way == "signs")
