"""Learned cells of files: the tree and the counts of the same table in memory, in bounded memory."""

import subprocess
import sys
import textwrap

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from mixed import mapping, mixed, problem, same_counts

import evenhand as eh
from evenhand.data.weighting import Weighting
from evenhand.engines import counts_of, distinct_rows, learning
from evenhand.tables import unlike_fitted


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder, table = tmp_path_factory.mktemp("learning"), mixed()
    table.to_csv(folder / "people.csv", index=False)
    table.to_csv(folder / "people.csv.gz", index=False)
    table.to_parquet(folder / "people.parquet")
    for place, part in enumerate(np.array_split(np.arange(len(table)), 3)):
        table.iloc[part].to_parquet(folder / f"part-{place}.parquet")
        table.iloc[part].to_csv(folder / f"part-{place}.csv", index=False)
    return folder


GIVEN = ["people.csv", "people.parquet", "people.csv.gz", "part-*.csv", "part-*.parquet"]


@pytest.fixture
def small_batches(monkeypatch):
    monkeypatch.setattr("evenhand.engines.delimited.CHUNK", 20_000)
    monkeypatch.setattr("evenhand.engines.files.BATCH", 500)
    monkeypatch.setattr("evenhand.engines.files.STEP", 500)


@pytest.mark.usefixtures("small_batches")
class TestCounts:
    @pytest.mark.parametrize("weights", [None, "weight"])
    @pytest.mark.parametrize("sample", [100_000, 800])
    @pytest.mark.parametrize("given", GIVEN)
    def test_of_files(self, folder, given, sample, weights):
        stated = problem(cells=eh.Leaves(most=24, at_least=5, sample=sample))
        same_counts(counts_of(stated, folder / given, Weighting.of(weights, None)), eh.count(stated, mixed(), weights))

    @pytest.mark.parametrize("given", GIVEN[:2])
    def test_given_a_column(self, folder, given):
        stated = problem(
            parity=[eh.PairwiseParity(0.2, given=["plan"])],
            missing="level",
            cells=eh.Leaves(most=12, at_least=5),
        )
        same_counts(counts_of(stated, folder / given), eh.count(stated, mixed()))

    @pytest.mark.parametrize("given", GIVEN[:2])
    def test_levels_of_a_score(self, folder, given):
        stated = problem(features=["score"], cells=eh.ScoreLevels(8))
        same_counts(counts_of(stated, folder / given), eh.count(stated, mixed()))

    @pytest.mark.parametrize("given", GIVEN[:2])
    def test_binned_groups(self, folder, given):
        stated = problem(
            protected=["sex", "age"],
            features=["income", "town", "score"],
            bins={"age": eh.Edges([30, 60])},
            cells=eh.Leaves(most=8, at_least=3),
        )
        same_counts(counts_of(stated, folder / given), eh.count(stated, mixed()))

    def test_a_fit(self, folder):
        found, expected = eh.fit(problem(), folder / "people.csv"), eh.fit(problem(), mixed())
        assert found.objective == pytest.approx(expected.objective, abs=1e-9)
        assert found.cells["rule"].tolist() == expected.cells["rule"].tolist()

    def test_kinds_go_by_all_values(self, tmp_path):
        """One word near the end of a file makes a column one of words."""
        table = mixed().astype({"age": object, "since": str})
        table.loc[2990, "age"] = "old"
        table.loc[2991, "since"] = "long ago"
        table.to_csv(tmp_path / "t.csv", index=False)
        table.astype({"age": str}).to_parquet(tmp_path / "t.parquet")
        expected = eh.count(problem(), table.astype({"age": str}))
        for name in ("t.csv", "t.parquet"):
            same_counts(counts_of(problem(), tmp_path / name), expected)
        kinds = {asked.name: asked.kind for asked in expected.domain.x.variables[0].tree.columns}
        assert kinds["age"] == "word"

    def test_rows_without_weight_are_not_looked_at(self, tmp_path):
        table = mixed().astype({"age": object})
        table.loc[5, ["age", "weight"]] = ["old", 0]
        table.to_csv(tmp_path / "t.csv", index=False)
        kept = table[table.weight > 0].astype({"age": int})
        same_counts(counts_of(problem(), tmp_path / "t.csv", Weighting("weight")), eh.count(problem(), kept, "weight"))

    def test_wrong_weights(self, tmp_path):
        mixed(100).assign(weight=-1).to_csv(tmp_path / "t.csv", index=False)
        with pytest.raises(eh.DataError, match=r"100 rows of .* have no weight of at least 0"):
            eh.fit(problem(), tmp_path / "t.csv", weights="weight")
        with pytest.raises(eh.DataError, match=r"100 rows of .* have no weight of at least 0"):
            mapping().audit(tmp_path / "t.csv", weights="weight")

    def test_a_file_that_changes_while_it_is_read(self, folder, tmp_path, monkeypatch):
        path, learned = tmp_path / "t.csv", learning.learned_variable
        mixed().to_csv(path, index=False)

        def changing(*given):
            mixed().assign(sex="new").to_csv(path, index=False)
            return learned(*given)

        monkeypatch.setattr(learning, "learned_variable", changing)
        with pytest.raises(eh.DataError, match="was changed while it was read"):
            eh.fit(problem(), path)

    def test_a_column_that_no_tree_can_read(self, tmp_path):
        table = pyarrow.Table.from_pandas(mixed(), preserve_index=False)
        times = pyarrow.array(np.arange(len(table)), "time64[us]")
        pyarrow.parquet.write_table(table.set_column(3, "age", times), tmp_path / "t.parquet")
        with pytest.raises(eh.DataError, match="'age' is of type Time; a column must hold numbers, words, truths"):
            eh.fit(problem(), tmp_path / "t.parquet")


@pytest.fixture(scope="module")
def new(folder):
    table = mixed(4000, seed=8, new=True)
    table.loc[3, "sex"], table.loc[5, "sex"] = "unheard of", "another"
    # Survey weights: integers would be taken for numbers of people.
    table["weight"] = table["weight"] * 1.5
    table.to_csv(folder / "new.csv", index=False)
    table.to_parquet(folder / "new.parquet")
    return table


@pytest.mark.usefixtures("small_batches")
@pytest.mark.parametrize("given", ["new.csv", "new.parquet"])
class TestDistinctRows:
    @pytest.mark.parametrize("weights", [None, "weight"])
    def test_audits_are_those_of_frames(self, folder, new, given, weights):
        found, expected = (mapping().audit(table, weights=weights) for table in (folder / given, new))
        pd.testing.assert_frame_equal(found.coverage, expected.coverage)
        pd.testing.assert_frame_equal(found.rates, expected.rates)
        pd.testing.assert_frame_equal(found.bounds, expected.bounds)

    def test_what_a_release_realised(self, folder, new, given):
        found, expected = (mapping().realised(table) for table in (folder / given, new))
        pd.testing.assert_frame_equal(found.rates, expected.rates)
        assert found.sentences() == expected.sentences()

    def test_a_row_for_each_kind(self, folder, new, given):
        domain = mapping().counts.domain
        rows = distinct_rows(domain, folder / given)
        assert len(rows.people) < len(new) / 4
        assert rows.people.sum() == len(new)
        (learned,) = domain.x.variables
        whole = distinct_rows(domain, new)
        of_kinds, of_rows = (unlike_fitted(learned, each.table) for each in (rows, whole))
        people = {name: rows.people[flags].sum() for name, flags in of_kinds.items()}
        assert people == {name: flags.sum() for name, flags in of_rows.items()}
        assert people["town", "rare or new word"] > 0

    def test_too_many_kinds(self, folder, new, given, monkeypatch):
        monkeypatch.setattr(learning, "HELD_SHARE", 1e-9)
        with pytest.raises(eh.DataError, match=r"has more than \d+ kinds of rows, .*1GB of memory; try memory='2GB'"):
            mapping().audit(folder / given)

    def test_a_missing_group_has_a_row(self, folder, new, given, tmp_path):
        odd = new.drop(index=[3, 5]).reset_index(drop=True)
        odd.loc[1234, "sex"] = None
        path = tmp_path / given
        odd.to_csv(path, index=False) if path.suffix == ".csv" else odd.to_parquet(path)
        with pytest.raises(eh.DataError, match="'sex' has a missing value in row 1235"):
            mapping().audit(path)


def test_memory_does_not_grow_with_the_rows(tmp_path):
    """A fit and a release of three times the rows take about as much memory."""
    peaks = {}
    for rows in (100_000, 300_000):
        one = pyarrow.Table.from_pandas(mixed(20_000), preserve_index=False)
        path = tmp_path / f"{rows}.parquet"
        with pyarrow.parquet.ParquetWriter(path, one.schema) as writer:
            for _ in range(rows // 20_000):
                writer.write_table(one)
        script = f"""
            import resource, sys
            sys.path.insert(0, {str(__file__.rsplit("/", 3)[0])!r})
            import evenhand as eh
            from mixed import problem
            stated = problem(cells=eh.Leaves(most=24, at_least=10, sample=20_000))
            with eh.using(memory="200MB"):
                found = eh.fit(stated, {str(path)!r})
                done = found.release({str(path)!r}, to={str(tmp_path / "out.parquet")!r}, key="id")
                found.audit({str(path)!r})
            assert done.rows == found.counts.people == {rows}
            print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
        """
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        peaks[rows] = int(done.stdout.split()[-1])
    assert peaks[300_000] < peaks[100_000] + 100, peaks


@pytest.mark.spark
@pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")
@pytest.mark.parametrize("sample", [100_000, 700])
def test_counts_of_spark(spark, folder, sample):
    stated = problem(cells=eh.Leaves(most=24, at_least=5, sample=sample))
    given = spark.read.parquet(str(folder / "people.parquet")).repartition(3)
    same_counts(counts_of(stated, given, Weighting("weight")), eh.count(stated, mixed(), "weight"))
