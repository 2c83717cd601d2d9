"""Spark on this machine, with several partitions: the engine and Spark SQL against the kernel in memory."""

import re
import sys

import numpy as np
import pytest
from awkward import (
    KEY,
    NARROW,
    VARIANTS,
    arrow,
    assert_same,
    awkward,
    complete,
    hostile,
    mapping,
    mapping_of_numbers,
    numbers,
    problem,
    transformed,
)
from berkeley import admissions

import evenhand as eh
from evenhand.engines import spark as engine

errors = pytest.importorskip("pyspark.errors")
pytestmark = [pytest.mark.spark, pytest.mark.filterwarnings("ignore:PySpark does not yet:FutureWarning")]

CASES = [
    *(("plain", restore, mode) for restore in ("sample", "midpoint", "label") for mode in ("apply", "release")),
    ("blind", "sample", "apply"),
    ("suppressed", "sample", "release"),
    ("complete", "sample", "apply"),
]


def dataframe(spark, frame, partitions=3):
    return spark.createDataFrame(arrow(frame.astype({"age": "int16"}))).repartition(partitions)


@pytest.mark.parametrize(("variant", "restore", "mode"), CASES)
def test_the_rows_are_those_of_the_kernel_in_memory(spark, variant, restore, mode):
    fitted, new = mapping(**VARIANTS[variant]), awkward(3000, seed=1)
    new = complete(new) if variant == "complete" else new
    given = dataframe(spark, new)
    expected = arrow(transformed(fitted, mode, new, seed=3, restore=restore))
    found = getattr(fitted, mode)(given, key=KEY, seed=3, restore=restore)
    assert found.rdd.getNumPartitions() == 3
    assert_same(found.toArrow(), expected)
    if restore != "label":
        assert found.schema == given.schema
    given.createOrReplaceTempView("people")
    by_query = spark.sql(fitted.to_sql("spark", "people", KEY, mode=mode, seed=3, restore=restore))
    assert_same(by_query.toArrow(), expected)
    assert by_query.dtypes == found.dtypes


def test_fitting_and_auditing_by_groups(spark):
    frame = awkward(endless=False)
    given = dataframe(spark, frame, partitions=5)
    ours, memory = eh.fit(problem(), given), eh.fit(problem(), frame)
    assert ours.counts.domain == memory.counts.domain
    assert ours.counts.people == memory.counts.people == len(frame)
    assert np.array_equal(ours.counts.weight, memory.counts.weight)
    assert ours.audit(given).rates.equals(memory.audit(frame).rates)
    counted = engine.counts(problem(), given.withColumn("w", given["extra"] * 0 + 2.0), weights="w")
    assert np.array_equal(counted.weight, 2 * memory.counts.weight)


def test_people_and_squared_weights_of_cells(spark):
    frame = awkward(endless=False)
    frame["w"] = np.random.default_rng(2).choice([0.0, 0.25, 3.0, 1e4], len(frame))
    for weights in (None, "w"):
        expected = eh.count(problem(), frame, weights=weights)
        found = engine.counts(problem(), dataframe(spark, frame), weights)
        assert np.array_equal(found.sources, expected.sources)
        assert np.array_equal(found.cell_people, expected.cell_people)
        assert found.cell_squares == pytest.approx(expected.cell_squares)


def test_weights_that_are_none(spark):
    given = dataframe(spark, awkward(100))
    with pytest.raises(eh.DataError, match="100 rows have no weight of at least 0 in column 'w'"):
        eh.fit(problem(), given.withColumn("w", -given["extra"]), weights="w")
    with pytest.raises(eh.EvenhandError, match="cannot also be the weights"):
        eh.fit(problem(), given, weights="age")
    with pytest.raises(eh.DataError, match="give its name"):
        eh.fit(problem(), given, weights=[1.0] * 100)


def test_a_table_of_counts_is_not_taken_for_survey_weights(spark):
    costs = eh.Distortion({"Admit": eh.Nominal(1)})
    berkeley = eh.Problem(protected=["Gender"], features=["Dept"], outcome="Admit", distortion=costs)
    with pytest.raises(eh.SpecError, match="looks like a table of counts"):
        eh.fit(berkeley, spark.createDataFrame(arrow(admissions())), weights="Freq")


def test_nothing_runs_until_rows_are_asked_for(spark):
    context = spark.sparkContext
    given = dataframe(spark, awkward(100))
    context.setJobGroup("evenhand", "planning")
    plan = engine.apply(mapping(), given, key=KEY)
    engine.release(mapping(), plan, key=KEY, seed=4)
    assert not context.statusTracker().getJobIdsForGroup("evenhand")
    assert plan.count() == 100
    assert context.statusTracker().getJobIdsForGroup("evenhand")


def test_the_plan_has_the_partitions_of_the_table_and_no_exchange(spark):
    given = dataframe(spark, awkward(100), partitions=5).cache()
    plan = mapping().apply(given, key=KEY)
    assert plan.rdd.getNumPartitions() == 5
    sizes = plan.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    assert sizes == given.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    tree = plan._jdf.queryExecution().optimizedPlan().toString()
    assert "MapInArrow" in tree.splitlines()[0]
    assert "Repartition" not in tree.split("InMemoryRelation")[0]
    given.unpersist()


def test_the_mapping_is_broadcast(spark, monkeypatch):
    """What every task carries is small: the mode itself goes once to each worker."""
    seen = []
    broadcast = spark.sparkContext.broadcast
    monkeypatch.setattr(spark.sparkContext, "broadcast", lambda value: seen.append(value) or broadcast(value))
    mapping().apply(dataframe(spark, awkward(100)), key=KEY)
    assert seen == [mapping().apply_mode]


@pytest.mark.parametrize("restore", ["sample", "midpoint", "label"])
def test_numbers_with_blanks_in_columns_of_every_width(spark, restore):
    fitted = mapping_of_numbers()
    for types in NARROW:
        new = numbers(seed=1, new=True, **types)
        expected = transformed(fitted, "release", new, key="note", restore=restore)
        given = spark.createDataFrame(new).repartition(2)
        found = fitted.release(given, key="note", restore=restore)
        assert_same(found.toArrow(), expected)
        given.createOrReplaceTempView("people")
        text = fitted.to_sql("spark", "people", "note", mode="release", restore=restore)
        assert_same(spark.sql(text).toArrow(), expected)


def test_names_and_values_stay_between_their_quotes(spark):
    key, new, fitted = hostile()
    given = spark.createDataFrame(new)
    expected = transformed(fitted, "release", new, key=key)
    assert_same(fitted.release(given, key=key).toArrow(), expected)
    given.createOrReplaceTempView("people")
    assert_same(spark.sql(fitted.to_sql("spark", "people", key, mode="release")).toArrow(), expected)


def test_what_works_on_a_spark_dataframe_works_as_in_memory(spark):
    frame = awkward(400, endless=False)
    given = dataframe(spark, frame)
    assert eh.diagnose(problem(), given).feasible
    traced = eh.frontier(problem(), given, bounds=[5.0]).frame
    assert traced.equals(eh.frontier(problem(), frame, bounds=[5.0]).frame)
    assert mapping().realised(given).sentences() == mapping().realised(frame).sentences()


@pytest.mark.parametrize(
    "ask",
    [
        lambda given: mapping().expand(given),
        lambda given: mapping().possibilities(given),
        lambda given: mapping().model_rates(given),
        lambda given: mapping().predictor.predict_proba(given),
        lambda given: mapping().theory.holdout(given),
        lambda given: eh.report_on(mapping(), frame=given, trace=False),
        lambda given: eh.OptimizedPreprocessor(problem(), key=KEY).fit(given),
    ],
)
def test_what_needs_rows_in_memory_says_so(spark, ask):
    with pytest.raises(eh.DataError, match="collect"):
        ask(dataframe(spark, awkward(50)))


def test_columns_of_another_kind_are_refused_before_a_job(spark):
    given = dataframe(spark, awkward(50, endless=False))
    with pytest.raises(eh.DataError, match=r"column 'age' is of type string, but its levels are numbers.*cast"):
        mapping().apply(given.selectExpr("* EXCEPT (age)", "string(age) AS age"), key=KEY)
    with pytest.raises(eh.DataError, match=r"column 'age' is of type array<smallint>"):
        mapping().apply(given.selectExpr("* EXCEPT (age)", "array(age) AS age"), key=KEY)
    with pytest.raises(eh.DataError, match="column 'hired' is of type int, but its levels are texts"):
        mapping().release(given.selectExpr("* EXCEPT (hired)", "1 AS hired"), key=KEY)


def test_columns_that_cannot_be_counted(spark):
    given = dataframe(spark, awkward(50, endless=False))
    with pytest.raises(eh.DataError, match=r"column 'age' is of type array<smallint>"):
        eh.fit(problem(), given.selectExpr("* EXCEPT (age)", "array(age) AS age"))
    with pytest.raises(eh.DataError, match=r"several columns called 'age'"):
        eh.fit(problem(), given.withColumnRenamed("note", "age"))
    with pytest.raises(eh.DataError, match=r"no column 'age'.* Did you mean 'AGE'"):
        eh.fit(problem(), given.withColumnRenamed("age", "AGE"))
    with pytest.raises(eh.DataError, match="50 rows have no weight"):
        eh.fit(problem(), given, weights="note")
    with pytest.raises(eh.DataError, match="the table is empty"):
        eh.fit(problem(), given.limit(0))
    both = given.withColumnRenamed("note", "AGE")
    assert eh.fit(problem(), both).counts.people == 50
    assert mapping().apply(both, key=KEY).count() == 50
    assert mapping().apply(given.limit(0), key=KEY).count() == 0


def test_a_missing_pyspark_is_named(spark, monkeypatch):
    given = dataframe(spark, awkward(50))
    monkeypatch.setitem(sys.modules, "pyspark.sql.functions", None)
    with pytest.raises(eh.EvenhandError, match=r"pip install 'evenhand\[spark\]'"):
        engine.counts(problem(), given)


def test_what_spark_cannot_do_is_refused(spark):
    given = dataframe(spark, awkward(100))
    with pytest.raises(eh.SpecError, match="have no positions that draws could go by; give key="):
        mapping().apply(given)
    with pytest.raises(eh.SpecError, match="balanced draws need every row"):
        mapping().apply(given, key=KEY, draw="balanced")
    with pytest.raises(eh.DataError, match="the table has no column 'age'"):
        mapping().apply(given.drop("age"), key=KEY)
    with pytest.raises(eh.SpecError, match="to= names the result of a file"):
        mapping().apply(given, key=KEY, to="new.parquet")


def test_unknown_sources_are_refused_when_the_job_runs(spark):
    new = awkward(300, seed=1).assign(sex="X")
    plan = mapping().apply(dataframe(spark, new), key=KEY, unseen="error")
    with pytest.raises(errors.PythonException, match="not in the fitted table"):
        plan.count()
    assert_same(mapping().apply(dataframe(spark, new), key=KEY).toArrow(), arrow(new))
    dataframe(spark, new).createOrReplaceTempView("people")
    with pytest.raises(errors.SparkRuntimeException, match="evenhand: a row has a combination"):
        spark.sql(mapping().to_sql("spark", "people", KEY, unseen="error")).collect()


def test_missing_keys_are_refused_when_the_job_runs(spark):
    new = awkward(300, seed=1)
    new.loc[7, KEY] = None
    given = dataframe(spark, new)
    with pytest.raises(errors.PythonException, match="every row needs its key"):
        mapping().apply(given, key=KEY).count()
    given.createOrReplaceTempView("people")
    with pytest.raises(errors.SparkRuntimeException, match=r"evenhand: column .* has a missing value"):
        spark.sql(mapping().to_sql("spark", "people", KEY)).collect()


def test_missing_values_of_no_level_are_refused_by_their_key_or_kept(spark):
    fitted, new = mapping(missing="error", missing_values=()), awkward(400, seed=1, endless=False)
    new["balance"] = new["balance"].fillna(0.0)
    title = next(column for column in new if new[column].isna().any())
    new[title] = new[title].fillna("")
    new.loc[300, title] = None
    given, key = dataframe(spark, new), new[KEY][300]
    words = f"column .* has a missing value in the row whose .* is {re.escape(repr(key))}; .*missing='level'"
    with pytest.raises(errors.PythonException, match=words):
        fitted.apply(given, key=KEY).count()
    expected = arrow(transformed(fitted, "apply", new, missing="level"))
    assert_same(fitted.apply(given, key=KEY, missing="level").toArrow(), expected)
    given.createOrReplaceTempView("people")
    with pytest.raises(errors.SparkRuntimeException, match=r"has a missing value; .*in the row of key"):
        spark.sql(fitted.to_sql("spark", "people", KEY)).collect()
    assert_same(spark.sql(fitted.to_sql("spark", "people", KEY, missing="level")).toArrow(), expected)
    with pytest.raises(eh.DataError, match=r"has a missing value; .*missing='level'"):
        fitted.audit(given)
    assert fitted.audit(given, missing="level").coverage.query("what == 'missing'")["rows"].sum() == 1


def test_a_session_that_reads_texts_in_other_ways(spark):
    """Settings that change what a backslash means, or what ANSI forbids, do not change a row."""
    new = awkward(1000, seed=1)
    dataframe(spark, new).createOrReplaceTempView("people")
    expected = arrow(transformed(mapping(), "release", new))
    text = mapping().to_sql("spark", "people", KEY, mode="release")
    for setting, value in {"spark.sql.parser.escapedStringLiterals": "true", "spark.sql.ansi.enabled": "false"}.items():
        spark.conf.set(setting, value)
        try:
            assert_same(spark.sql(text).toArrow(), expected)
        finally:
            spark.conf.unset(setting)


def test_columns_of_every_type_pass_through(spark):
    more = ("timestamp'2020-01-01' AS t", "array(1, 2) AS a", "map('k', 1) AS m", "struct(1 AS x) AS s", "X'00' AS b")
    given = dataframe(spark, awkward(50)).selectExpr("*", *more, "age AS `a.b`", "CAST(1.5 AS DECIMAL(5, 2)) AS d")
    found = mapping().apply(given, key=KEY)
    assert found.schema == given.schema
    before, after = (frame.orderBy("note").select("t", "a", "m", "s", "b", "`a.b`", "d") for frame in (given, found))
    assert before.collect() == after.collect()
