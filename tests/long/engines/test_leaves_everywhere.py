"""Learned cells: one mapping, one key, one seed, and the same rows from frames, files, queries and Spark."""

import duckdb
import numpy as np
import pandas as pd
import polars
import pyarrow
import pyarrow.csv
import pyarrow.parquet
import pytest
from copying import ask, load
from mixed import FEATURES, mapping, mixed, problem, random_tree, scattered, with_tree

import evenhand as eh
from evenhand.data.tree import Asked, Kind
from evenhand.spec.cells.learning import Node, Question, planted

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*not in the fitted table",
    "ignore:.*rows have (a word|no value) in column",
    "ignore:PySpark does not yet:FutureWarning",
)

OPTIONS = {"seed": 11, "key": "id"}


@pytest.fixture(scope="module")
def people():
    return mixed(4000, seed=8, new=True)


@pytest.fixture(scope="module")
def arrow(people):
    return pyarrow.Table.from_pandas(people, preserve_index=False)


@pytest.fixture(scope="module")
def folder(people, tmp_path_factory):
    """The table as files, some of them packed or in parts."""
    folder = tmp_path_factory.mktemp("mixed")
    people.to_csv(folder / "people.csv", index=False)
    people.to_csv(folder / "people.csv.gz", index=False)
    people.to_parquet(folder / "people.parquet", row_group_size=1000)
    for place, part in enumerate(np.array_split(np.arange(len(people)), 3)):
        people.iloc[part].to_parquet(folder / f"part-{place}.parquet")
        people.iloc[part].to_csv(folder / f"part-{place}.csv", index=False)
    return folder


GIVEN = ["people.csv", "people.csv.gz", "people.parquet", "part-*.parquet", "part-*.csv"]


def outcomes(path):
    found = pyarrow.parquet.read_table(path) if path.suffix == ".parquet" else pyarrow.csv.read_csv(path)
    return found["hired"].to_pylist()


def test_nobody_is_left_out_of_the_draw(people):
    """What these tests compare differs from what was given."""
    changed = mapping().release(people, **OPTIONS).hired != people.hired
    assert 0.4 < changed.mean() < 0.6
    assert len(mapping().counts.domain.x.variables[0].tree.columns) >= 6


class TestFrames:
    @pytest.mark.parametrize("seed", range(4))
    def test_random_trees(self, people, arrow, seed):
        found = with_tree(random_tree(mixed(), seed))
        expected = found.release(people, **OPTIONS).hired.tolist()
        assert found.release(arrow, **OPTIONS)["hired"].to_pylist() == expected
        assert found.release(polars.from_arrow(arrow), **OPTIONS)["hired"].to_list() == expected
        assert len(set(found.cell_of(people))) > 5

    @pytest.mark.parametrize("seed", range(2))
    def test_one_by_one(self, people, seed):
        found = with_tree(random_tree(mixed(), seed))
        expected = found.release(people.head(200), **OPTIONS)
        for row, result in zip(people.head(200).to_dict("records"), expected.to_dict("records"), strict=True):
            assert found.person(row, mode="release", **OPTIONS)["hired"] == result["hired"]

    def test_a_relation(self, people, arrow):
        expected = mapping().release(people, **OPTIONS).hired.tolist()
        with duckdb.connect() as duck:
            duck.register("people", arrow)
            given = duck.sql("SELECT * FROM people")
            found = mapping().release(given, **OPTIONS)
            assert found.types == given.types
            assert [row[0] for row in found.project("hired").fetchall()] == expected

    def test_apply_mode_changes_nothing(self, people, folder):
        pd.testing.assert_frame_equal(mapping().apply(people, seed=1), people)
        mapping().apply(folder / "people.csv", to=folder / "same.csv", seed=1)
        assert (folder / "same.csv").read_bytes() == (folder / "people.csv").read_bytes()
        for given in ("people.csv", "people.parquet"):
            mapping().apply(folder / given, to=folder / "same.parquet", seed=1)
            assert outcomes(folder / "same.parquet") == people.hired.tolist()

    def test_texts_are_dates_and_truths_too(self, people):
        texts = people.assign(owner=people.owner.astype(str).str.upper(), since=people.since.dt.strftime("%Y-%m-%d"))
        expected = mapping().release(people, **OPTIONS).hired
        assert mapping().release(texts, **OPTIONS).hired.equals(expected)

    def test_times_with_a_zone_have_the_day_that_they_have_in_utc(self, people):
        zoned = people.assign(**{"seen at": people["seen at"].dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo")})
        expected = mapping().release(people, **OPTIONS).hired
        assert mapping().release(zoned, **OPTIONS).hired.equals(expected)

    def test_a_column_without_any_value(self, people):
        empty = people.assign(town=np.nan)
        expected = mapping().release(people.assign(town=None), **OPTIONS).hired
        assert mapping().release(empty, **OPTIONS).hired.equals(expected)

    def test_a_number_and_its_text_are_one_word(self, tmp_path):
        table = mixed().astype({"plan": object})
        table.loc[::2, "plan"] = [1, "1", "x"] * (len(table) // 6)
        found = eh.fit(problem(), table)
        found.save(tmp_path / "a.mapping")
        words = eh.fit(problem(), table.assign(plan=table.plan.map(str)))
        assert found.cells["rule"].tolist() == words.cells["rule"].tolist()
        assert eh.Mapping.load(tmp_path / "a.mapping").counts.domain == found.counts.domain

    def test_numbers_that_no_real_number_equals(self, people):
        large = people.assign(age=2**53 + 1)
        expected = mapping().release(large, **OPTIONS).hired.tolist()
        found = mapping().release(pyarrow.Table.from_pandas(large), **OPTIONS)
        assert found["hired"].to_pylist() == expected


class TestFiles:
    @pytest.mark.parametrize("options", [OPTIONS, {"seed": 2}, {"seed": 2, "draw": "balanced"}], ids=str)
    @pytest.mark.parametrize("to", ["out.csv", "out.parquet"])
    @pytest.mark.parametrize("given", GIVEN)
    def test_from_file_to_file(self, people, folder, tmp_path, given, to, options):
        expected = mapping().release(people, **options)
        done = mapping().release(folder / given, to=tmp_path / to, **options)
        assert outcomes(tmp_path / to) == expected.hired.tolist()
        assert (done.rows, done.changed) == (len(people), int((expected.hired != people.hired).sum()))

    @pytest.mark.parametrize("given", ["people.csv", "people.parquet"])
    def test_random_trees(self, people, folder, tmp_path, given):
        found = with_tree(random_tree(mixed(), 9))
        found.release(folder / given, to=tmp_path / "out.parquet", **OPTIONS)
        assert outcomes(tmp_path / "out.parquet") == found.release(people, **OPTIONS).hired.tolist()

    @pytest.mark.parametrize("given", ["people.csv", "people.parquet"])
    def test_all_other_columns_stay(self, people, folder, tmp_path, given):
        result = tmp_path / f"out{(folder / given).suffix}"
        mapping().release(folder / given, to=result, **OPTIONS)
        read = pd.read_parquet if result.suffix == ".parquet" else pd.read_csv
        before, after = (read(path).drop(columns="hired") for path in (folder / given, result))
        pd.testing.assert_frame_equal(before, after)

    @pytest.mark.parametrize("given", ["people.csv", "people.parquet"])
    @pytest.mark.parametrize("weights", [None, "weight"])
    def test_expanded(self, people, folder, tmp_path, given, weights):
        # Without keys and amounts, so that rows are merged.
        few = people.drop(columns="id").assign(income=people.income.round(-5))
        for path, write in {"few.csv": few.to_csv, "few.parquet": few.to_parquet}.items():
            write(tmp_path / path, index=False)
        source = tmp_path / f"few{(folder / given).suffix}"
        options = {"weight_column": "share", "weights": weights}
        expected = mapping().expand(few, **options)
        done = mapping().expand(source, to=tmp_path / "out.parquet", **options)
        found = pyarrow.parquet.read_table(tmp_path / "out.parquet").to_pandas()
        assert len(found) == len(expected) == done.results
        assert found.hired.tolist() == expected.hired.tolist()
        assert np.allclose(found.share, expected.share)


def answered(query, table):
    """The outcomes of a query on DuckDB, in the order of a table: no engine promises one."""
    with duckdb.connect() as duck:
        duck.register("given", table)
        rows = dict(duck.sql(f"SELECT id, hired FROM ({query})").fetchall())
    return [rows[key] for key in table["id"].to_pylist()]


class TestQueries:
    @pytest.mark.parametrize("seed", range(4))
    def test_random_trees_on_duckdb(self, people, arrow, seed):
        found = with_tree(random_tree(mixed(), seed))
        query = found.to_sql("duckdb", "people", mode="release", **OPTIONS)
        with duckdb.connect() as duck:
            duck.register("people", arrow)
            result = duck.sql(query).to_arrow_table().cast(arrow.schema)
        assert result.sort_by("id").equals(found.release(arrow, **OPTIONS).sort_by("id"))

    def test_types_of_duckdb(self, people, arrow):
        """Numbers and times of any type, with a session far from UTC, are told as in memory."""
        expected = mapping().release(people, **OPTIONS).hired.tolist()
        query = mapping().to_sql("duckdb", "given", mode="release", **OPTIONS)
        with duckdb.connect() as duck:
            duck.register("people", arrow)
            duck.execute("SET TimeZone = 'America/New_York'")
            duck.execute(
                "CREATE TABLE given AS SELECT * REPLACE (CAST(age AS DECIMAL(9, 2)) AS age, "
                "CAST(code AS TINYINT) AS code, CAST(since AS DATE) AS since, CAST(owner AS INTEGER) AS owner, "
                """timezone('UTC', "seen at") AS "seen at", """
                "CAST(plan AS ENUM('basic', 'plus', 'pro', '?')) AS plan) FROM people"
            )
            assert duck.sql('SELECT typeof("seen at") FROM given LIMIT 1').fetchall() == [("TIMESTAMP WITH TIME ZONE",)]
            rows = dict(duck.sql(f"SELECT id, hired FROM ({query})").fetchall())
        assert [rows[key] for key in people.id] == expected

    @pytest.mark.parametrize(
        ("column", "value", "words"),
        [
            ("age", "'thirty'", "'age' must hold numbers, as at fit"),
            ("town", "3", "'town' must hold words, as at fit"),
            ("town", "DATE '2014-05-01'", "'town' must hold words, as at fit"),
            ("since", "'yesterday'", "'since' must hold dates, as at fit"),
            ("since", "4.5", "'since' must hold dates, as at fit"),
            ("owner", "'perhaps'", "'owner' must hold truths, as at fit"),
        ],
    )
    def test_other_kinds_end_a_query(self, arrow, column, value, words):
        query = mapping().to_sql("duckdb", "given", mode="release", **OPTIONS)
        with duckdb.connect() as duck:
            duck.register("people", arrow)
            duck.execute(f"CREATE TABLE given AS SELECT * REPLACE ({value} AS {column}) FROM people")
            with pytest.raises(duckdb.Error, match=words):
                duck.sql(query).fetchall()

    def test_thousands_of_words_and_hundreds_of_splits(self, people, arrow):
        """Words are listed where they still may come; values that are told apart one by one are no nesting."""
        towns = [f"town {i}" for i in range(3000)]
        town = Asked("town", Kind.WORD, words=tuple(sorted(towns)), others=True)
        node, income = Node(), Asked("income", Kind.NUMBER)
        for place in range(40):
            node = Node(Question(town, False, among=frozenset(towns[place::40]), others_left=place == 3), Node(), node)
        for below in range(0, 90_000, 300)[::-1]:
            node = Node(Question(income, False, float(below)), Node(), node)
        found = with_tree(planted(node))
        query = found.to_sql("duckdb", "given", mode="release", **OPTIONS)
        # Every word once, where it goes left.
        assert len(query) < 1_000_000
        assert answered(query, arrow) == found.release(people, **OPTIONS).hired.tolist()

    def test_levels_of_a_score(self, people, arrow):
        found = scattered(eh.fit(problem(features=["score"], cells=eh.ScoreLevels(8)), mixed()))
        query = found.to_sql("duckdb", "given", mode="release", **OPTIONS)
        assert answered(query, arrow) == found.release(people, **OPTIONS).hired.tolist()

    def test_apply_mode(self, arrow):
        query = mapping().to_sql("duckdb", "people", mode="apply", **OPTIONS)
        with duckdb.connect() as duck:
            duck.register("people", arrow)
            result = duck.sql(query).to_arrow_table().cast(arrow.schema)
        assert result.sort_by("id").equals(arrow.sort_by("id"))

    @pytest.mark.postgres
    def test_postgresql(self, postgres, people, arrow):
        load(postgres, arrow)
        for found in (mapping(), with_tree(random_tree(mixed(), 3))):
            query = found.to_sql("postgres", "people", mode="release", **OPTIONS)
            rows = ask(postgres, query, arrow.schema).to_pandas().set_index("id").loc[people.id]
            assert rows.hired.tolist() == found.release(people, **OPTIONS).hired.tolist()

    @pytest.mark.postgres
    def test_types_of_postgresql(self, postgres, people, arrow):
        types = {"age": "numeric(9, 2)", "code": "real", "since": "date", "seen at": "timestamptz", "score": "numeric"}
        postgres.execute("SET TimeZone = 'UTC'")
        load(postgres, arrow, **types)
        postgres.execute("SET TimeZone = 'America/New_York'")
        postgres.execute("SET DateStyle = 'German'")
        query = mapping().to_sql("postgres", "people", mode="release", **OPTIONS)
        try:
            rows = dict(postgres.execute(f"SELECT id, hired FROM ({query}) AS result").fetchall())
        finally:
            postgres.execute("RESET DateStyle")
            postgres.execute("RESET TimeZone")
        assert [rows[key] for key in people.id] == mapping().release(people, **OPTIONS).hired.tolist()

    @pytest.mark.postgres
    @pytest.mark.parametrize(
        ("column", "kind", "words"),
        [("age", "text", "'age' must hold numbers"), ("since", "text", "'since' must hold dates")],
    )
    def test_other_kinds_end_a_query_on_postgresql(self, postgres, arrow, column, kind, words):
        import psycopg

        load(postgres, arrow, **{column: kind})
        with pytest.raises(psycopg.Error, match=words):
            postgres.execute(mapping().to_sql("postgres", "people", mode="release", **OPTIONS))


@pytest.mark.spark
class TestSpark:
    @pytest.fixture
    def given(self, spark, folder):
        return spark.read.parquet(str(folder / "people.parquet"))

    def test_a_query(self, spark, given, people):
        given.createOrReplaceTempView("people")
        for found in (mapping(), with_tree(random_tree(mixed(), 3))):
            query = found.to_sql("spark", "people", mode="release", **OPTIONS)
            rows = spark.sql(query).toArrow().to_pandas().set_index("id").loc[people.id]
            assert rows.hired.tolist() == found.release(people, **OPTIONS).hired.tolist()

    def test_times_with_a_zone(self, spark, given, people):
        before = spark.conf.get("spark.sql.session.timeZone")
        try:
            spark.conf.set("spark.sql.session.timeZone", "UTC")
            zoned = given.withColumn("seen at", given["seen at"].cast("timestamp"))
            zoned.write.mode("overwrite").saveAsTable("zoned")
            spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
            query = mapping().to_sql("spark", "zoned", mode="release", **OPTIONS)
            rows = spark.sql(query).toArrow().to_pandas().set_index("id").loc[people.id]
        finally:
            spark.conf.set("spark.sql.session.timeZone", before)
            spark.sql("DROP TABLE IF EXISTS zoned")
        assert rows.hired.tolist() == mapping().release(people, **OPTIONS).hired.tolist()

    def test_workers(self, given, people):
        rows = mapping().release(given, **OPTIONS).toArrow().to_pandas().set_index("id").loc[people.id]
        assert rows.hired.tolist() == mapping().release(people, **OPTIONS).hired.tolist()

    def test_other_kinds(self, given):
        with pytest.raises(eh.DataError, match="'age' is of type string, but the fitted table had numbers there"):
            mapping().release(given.withColumn("age", given["age"].cast("string")), **OPTIONS)
        with pytest.raises(eh.DataError, match="'town' is of type int, but the fitted table had words there"):
            mapping().release(given.withColumn("town", given["age"].cast("int")), **OPTIONS)
        odd = given.withColumn("owner", given["town"])
        with pytest.raises(Exception, match=r"'owner' holds .* in the row whose 'id' is 'p.*', where the fitted table"):
            mapping().release(odd, **OPTIONS).collect()

    def test_audit(self, given, people):
        found, expected = mapping().audit(given), mapping().audit(people)
        pd.testing.assert_frame_equal(found.rates, expected.rates)
        pd.testing.assert_frame_equal(found.coverage, expected.coverage)


class TestWrongInput:
    @pytest.mark.parametrize("to", ["out.csv", "out.parquet"])
    def test_a_word_where_numbers_were_has_a_row(self, people, tmp_path, to):
        odd = people.astype({"age": object})
        odd.loc[2345, "age"] = "thirty"
        odd.to_csv(tmp_path / "odd.csv", index=False)
        with pytest.raises(eh.DataError, match=r"'age' holds 'thirty' in row 2346, where the fitted table had numbers"):
            mapping().release(tmp_path / "odd.csv", to=tmp_path / to, **OPTIONS)
        assert not (tmp_path / to).exists()

    @pytest.mark.parametrize("column", ["since", "owner"])
    def test_no_date_and_no_truth(self, people, tmp_path, column):
        odd = people.astype({column: object})
        odd.loc[17, column] = "maybe"
        odd.to_csv(tmp_path / "odd.csv", index=False)
        with pytest.raises(eh.DataError, match=f"'{column}' holds 'maybe' in row 18, where the fitted table had"):
            mapping().release(tmp_path / "odd.csv", to=tmp_path / "out.csv", **OPTIONS)

    def test_numbers_where_words_were(self, people, tmp_path):
        people.assign(town=people.age).to_parquet(tmp_path / "odd.parquet")
        with pytest.raises(eh.DataError, match=r"'town' holds \d+ in row 1, where the fitted table had words"):
            mapping().release(tmp_path / "odd.parquet", to=tmp_path / "out.parquet", **OPTIONS)

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_a_file_without_a_column(self, people, tmp_path, kind):
        asked = mapping().release_mode.columns[1]
        few, path = people.drop(columns=asked), tmp_path / f"few.{kind}"
        few.to_csv(path, index=False) if kind == "csv" else few.to_parquet(path)
        for use in (lambda: mapping().release(path, to=tmp_path / "out.csv"), lambda: mapping().audit(path)):
            with pytest.raises(eh.DataError, match=f"has no column '{asked}'"):
                use()
        with pytest.raises(eh.DataError, match=f"has no column '{asked}'"):
            eh.fit(problem(), path)

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_an_empty_file(self, people, tmp_path, kind):
        none, path = people.head(0), tmp_path / f"none.{kind}"
        none.to_csv(path, index=False) if kind == "csv" else none.to_parquet(path)
        done = mapping().release(path, to=tmp_path / f"out.{kind}", **OPTIONS)
        assert done.rows == 0
        with pytest.raises(eh.DataError, match="has no rows"):
            mapping().audit(path)
        with pytest.raises(eh.DataError, match="has no rows"):
            eh.fit(problem(), path)

    def test_columns_that_the_tree_does_not_ask_about_may_be_missing(self, people, tmp_path):
        asked = mapping().release_mode.columns
        others = [name for name in FEATURES if name not in asked]
        expected = mapping().release(people, **OPTIONS).hired
        assert mapping().release(people.drop(columns=others), **OPTIONS).hired.equals(expected)
