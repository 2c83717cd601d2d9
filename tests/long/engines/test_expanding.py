"""Expand from file to file: what a frame gives, row by row, in whatever batches, files and formats it comes."""

import io
import os
import signal
import uuid
import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
from awkward import WORDS, scattered
from families import random_table, small_frame, small_problem
from fits import shared_fit
from people import people, problem

import evenhand as eh
from evenhand.engines import delimited, streaming
from evenhand.engines import files as files_

FORMATS = ["csv", "parquet"]
VARIANTS = {
    "plain": {},
    "blind": {"blind": True},
    "suppressed": {"suppress_protected": "fixed"},
}
NOTES = ["", "a,b", 'say "hi"', "two\nlines", "007", "1e5", " x ", "NULL", "TRUE", "ü"]


def noted(frame):
    """A frame with few notes of awkward texts, and no column that tells rows apart."""
    return frame.drop(columns="id").assign(note=[NOTES[i % len(NOTES)] for i in range(len(frame))])


@pytest.fixture(scope="module")
def frame():
    return noted(people())


def quietly(call, *arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", eh.EvenhandWarning)
        return call(*arguments, **options)


def fitted(variant, table):
    free = dict(problem().distortion.rules) | {"hired": eh.Free()}
    stated = problem(distortion=eh.Distortion(free), parity=[eh.PairwiseParity(0.5)], **VARIANTS[variant])
    return scattered(quietly(eh.fit, stated, table))


@pytest.fixture(scope="module", params=VARIANTS)
def mapping(request):
    return fitted(request.param, people())


@pytest.fixture(scope="module", params=VARIANTS)
def of_few(request):
    """A mapping of a fifth of the people: others are in cells that nobody had."""
    return fitted(request.param, people().head(300))


@pytest.fixture(scope="module")
def small():
    return shared_fit(small_problem(), small_frame())


@pytest.fixture
def pieces(monkeypatch):
    """Several batches per file, and several pieces per batch."""
    monkeypatch.setattr(files_, "BATCH", 2048)
    monkeypatch.setattr(delimited, "CHUNK", 1 << 15)
    monkeypatch.setattr(streaming, "RESULTS", 1000)


def write(frame, path):
    frame.to_csv(path, index=False) if path.suffix == ".csv" else frame.to_parquet(path, index=False)
    return path


def texts(table):
    """All columns of a CSV file, or of a frame as one, as texts."""
    given = io.StringIO(table.to_csv(index=False)) if isinstance(table, pd.DataFrame) else table
    return pd.read_csv(given, dtype=str, keep_default_na=False)


def as_number(text):
    """A number as it is, whatever its text, and any other text."""
    return str(float(text)) if text.replace(".", "", 1).isdigit() else text


def merged(found, weight):
    """A table whose equal rows are put together, where the first of them is."""
    columns = [name for name in found if name != weight]
    return found.groupby(columns, sort=False, dropna=False, observed=True)[weight].sum().reset_index()[list(found)]


def assert_same(path, expected, weight="weight"):
    """A file has the rows of a frame, in their order but for equal ones, and their weights to rounding."""
    if path.suffix == ".csv":
        found, expected = texts(path), texts(expected)
        found, expected = (each.astype({weight: float}) for each in (found, expected))
    else:
        # An empty field of a CSV file is no text.
        found, expected = (each.fillna({"note": ""}) for each in (pd.read_parquet(path), expected))
    for name in {"age", "hours"} & set(found) if path.suffix == ".csv" else ():
        # A real number may be written as a whole one.
        found, expected = (each.assign(**{name: each[name].map(as_number)}) for each in (found, expected))
    found = merged(found, weight)
    assert found[weight].to_numpy() == pytest.approx(expected[weight].to_numpy(), rel=1e-12, abs=1e-15)
    pd.testing.assert_frame_equal(found.drop(columns=weight), expected.drop(columns=weight))


class TestAsFrames:
    @pytest.mark.parametrize("options", [{}, {"restore": "label"}], ids=str)
    @pytest.mark.parametrize("to", FORMATS)
    @pytest.mark.parametrize("kind", FORMATS)
    def test_every_row_and_weight(self, mapping, frame, tmp_path, kind, to, options):
        path, out = write(frame, tmp_path / f"in.{kind}"), tmp_path / f"out.{to}"
        done = mapping.expand(path, to=out, **options)
        expected = mapping.expand(frame, **options)
        assert_same(out, expected)
        results = mapping.possibilities(frame, mode="release", **options).shape[0]
        assert (done.rows, done.results, done.unseen, done.path) == (len(frame), results, 0, str(out))
        assert done.weight == pytest.approx(len(frame), rel=1e-12)
        assert sorted(os.listdir(tmp_path)) == sorted({f"in.{kind}", f"out.{to}"})

    @pytest.mark.parametrize("kind", FORMATS)
    def test_weights(self, mapping, frame, tmp_path, kind):
        rng = np.random.default_rng(0)
        weighed = frame.assign(w=np.where(rng.random(len(frame)) < 0.2, 0, rng.random(len(frame)) * 1e6))
        path, out = write(weighed, tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        done = mapping.expand(path, to=out, weights="w", weight_column="w")
        assert_same(out, mapping.expand(weighed, weights="w", weight_column="w"), "w")
        assert done.weight == pytest.approx(weighed["w"].sum(), rel=1e-12)

    @pytest.mark.parametrize("kind", FORMATS)
    @pytest.mark.parametrize("unseen", [None, "typical", "keep"])
    def test_people_who_were_not_fitted(self, of_few, frame, tmp_path, unseen, kind):
        new = frame.copy()
        new.loc[[2, 700], "job"] = ["astronaut", None]
        new["age"] = new["age"].astype(float)
        new.loc[[5, 1400], "age"] = np.nan
        new.loc[9, "sex"] = "X"
        path, out = write(new, tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        options = {"missing": "level", "unseen": unseen}
        with pytest.warns(eh.EvenhandWarning) as said:
            done = of_few.expand(path, to=out, **options)
        with pytest.warns(eh.EvenhandWarning) as said_of_frame:
            expected = of_few.expand(new, **options)
        assert [str(each.message) for each in said] == [str(each.message) for each in said_of_frame]
        assert_same(out, expected)
        drawn = quietly(of_few.release, path, to=tmp_path / f"drawn.{kind}", **options)
        assert (done.unseen, done.typical, done.missing) == (drawn.unseen, drawn.typical, drawn.missing)
        assert done.unseen > 20
        assert (done.typical > 20) == (unseen != "keep" or of_few.problem.suppression.redraws)

    @pytest.mark.parametrize("kind", FORMATS)
    @pytest.mark.parametrize("seed", range(12))
    def test_random_tables(self, tmp_path, kind, seed):
        rng = np.random.default_rng(seed)
        outcomes, sizes = int(rng.integers(2, 4)), [(4,), (2, 3), (2, 2, 3)][seed % 3]
        before, new = (random_table(rng, 3, sizes, outcomes, people=int(rng.integers(40, 400))) for _ in range(2))
        names = [name for name in before if name.startswith("f")]
        stated = eh.Problem(
            protected=["d"],
            features=names,
            outcome="y",
            parity=[eh.PairwiseParity(50)],
            distortion=eh.Distortion(dict.fromkeys([*names, "y"], eh.Nominal(1))),
            budget=eh.ExpectedDistortion(9),
            **list(VARIANTS.values())[seed % 3],
        )
        mapping = scattered(quietly(eh.fit, stated, before))
        extra = {f"more {i}": rng.choice(WORDS[: rng.integers(1, len(WORDS))], len(new)) for i in range(seed % 4)}
        new = new.assign(**extra, w=rng.random(len(new)))
        new.loc[rng.random(len(new)) < 0.05, "f0"] = 17
        path, out = write(new, tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        weights = None if seed % 2 else "w"
        done = quietly(mapping.expand, path, to=out, weights=weights)
        assert_same(out, quietly(mapping.expand, new, weights=weights))
        assert done.weight == pytest.approx(new["w"].sum() if weights else len(new), rel=1e-12)


class TestBatches:
    @pytest.mark.parametrize("kind", FORMATS)
    def test_several_files_batches_and_pieces(self, small, tmp_path, pieces, kind):
        many = pd.concat([small_frame()] * 60, ignore_index=True)
        many["note"] = [NOTES[i // 7 % len(NOTES)] for i in range(len(many))]
        many.loc[[7000, 11_000], "score"] = 5
        write(many.iloc[:5000], tmp_path / f"part-0.{kind}")
        write(many.iloc[5000:], tmp_path / f"part-1.{kind}")
        stages, out = [], tmp_path / f"out.{kind}"
        with pytest.warns(eh.EvenhandWarning, match=r"2 of 12000 rows .* the first in row 7001 \(column 'score'"):
            done = small.expand(tmp_path / f"part-*.{kind}", to=out, progress=lambda *stage: stages.append(stage))
        assert_same(out, quietly(small.expand, many))
        assert (done.rows, done.unseen) == (12_000, 2)
        assert len(stages) > 5
        assert stages[-1] == ("expand: 12,000 rows", 1.0)
        with pytest.raises(eh.DataError, match=r"1 of \d+ rows .* the first in row 7001 .*unseen='typical'"):
            small.expand(tmp_path / f"part-*.{kind}", to=tmp_path / f"no.{kind}", unseen="error")
        assert not (tmp_path / f"no.{kind}").exists()

    def test_a_packed_file(self, small, tmp_path):
        small_frame().to_csv(tmp_path / "in.csv.gz", index=False)
        small.expand(tmp_path / "in.csv.gz", to=tmp_path / "out.csv")
        assert_same(tmp_path / "out.csv", small.expand(small_frame()))
        assert sorted(os.listdir(tmp_path)) == ["in.csv.gz", "out.csv"]

    def test_a_row_of_more_results_than_fit_at_once(self, small, tmp_path, monkeypatch):
        monkeypatch.setattr(streaming, "RESULTS", 1)
        write(small_frame(), tmp_path / "in.csv")
        small.expand(tmp_path / "in.csv", to=tmp_path / "out.csv")
        assert_same(tmp_path / "out.csv", small.expand(small_frame()))

    def test_cutting_rows(self):
        cut = [(piece.start, piece.stop) for piece in streaming._runs(np.array([3, 3, 9, 1, 1, 1, 1]), 6)]
        assert cut == [(0, 2), (2, 3), (3, 7)]

    @pytest.mark.parametrize("kind", FORMATS)
    def test_little_memory(self, tmp_path, kind):
        """70 MB of results, within 64 MB."""
        mapping = fitted("plain", people())
        many = pd.concat([people()] * 60, ignore_index=True).assign(id=np.arange(90_000))
        many["note"] = [f"{i:>060}" for i in range(len(many))]
        path, out = write(many, tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        with eh.using(memory="64MB"):
            done = mapping.expand(path, to=out)
        assert_same(out, mapping.expand(many))
        assert done.weight == pytest.approx(len(many), rel=1e-12)
        assert sorted(os.listdir(tmp_path)) == [f"in.{kind}", f"out.{kind}"]

    def test_the_same_bytes_whoever_comes_first(self, tmp_path, pieces):
        mapping = fitted("plain", people())
        many = noted(pd.concat([people()] * 20, ignore_index=True))
        many["w"] = np.random.default_rng(3).random(len(many))
        path, found = write(many, tmp_path / "in.csv"), set()
        for threads in (1, 2, 4, 4):
            with eh.using(threads=threads):
                mapping.expand(path, to=tmp_path / "out.csv", weights="w")
            found.add((tmp_path / "out.csv").read_bytes())
        assert len(found) == 1


class TestWhatIsWritten:
    def test_what_is_not_transformed_comes_out_as_it_was(self, small, tmp_path):
        odd = small_frame().assign(note=[NOTES[i % len(NOTES)] for i in range(200)])
        write(odd, tmp_path / "in.csv")
        small.expand(tmp_path / "in.csv", to=tmp_path / "out.csv")
        assert set(texts(tmp_path / "out.csv")["note"]) == set(NOTES)

    def test_equal_rows_are_not_put_together(self, small, tmp_path):
        (tmp_path / "in.csv").write_text("group,score,hired,size\nb,0,0,1\nb,0,0,1.0\nb,0,0,1\n")
        for name, sizes in {"out.csv": ["1", "1.0", "1"], "out.parquet": [1.0, 1.0, 1.0]}.items():
            done = small.expand(tmp_path / "in.csv", to=tmp_path / name)
            out = texts(tmp_path / name) if name.endswith("csv") else pd.read_parquet(tmp_path / name)
            every = done.results // 3
            assert out["size"].tolist() == [size for size in sizes for _ in range(every)]
            assert out["weight"].astype(float).sum() == pytest.approx(3)

    def test_an_empty_text_and_none(self, small, tmp_path):
        (tmp_path / "in.csv").write_text('group,score,hired,note\nb,0,0,""\nb,0,0,\nb,0,0,\n')
        small.expand(tmp_path / "in.csv", to=tmp_path / "out.csv")
        lines = (tmp_path / "out.csv").read_text().splitlines()[1:]
        assert {line.split(",")[3] for line in lines} == {"", '""'}

    @pytest.mark.parametrize("kind", FORMATS)
    def test_no_rows(self, small, tmp_path, kind):
        path, out = write(small_frame().head(0).astype(str), tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        done = small.expand(path, to=out)
        assert (done.rows, done.results, done.weight) == (0, 0, 0.0)
        found = pd.read_csv(out) if kind == "csv" else pd.read_parquet(out)
        assert (list(found), len(found)) == (["group", "score", "hired", "weight"], 0)

    def test_no_rows_with_weights(self, small, tmp_path):
        write(small_frame().head(0).assign(w=1), tmp_path / "in.csv")
        assert small.expand(tmp_path / "in.csv", to=tmp_path / "out.csv", weights="w").weight == 0
        assert (tmp_path / "out.csv").read_text() == "group,score,hired,weight\n"

    def test_headers(self, small, tmp_path):
        lines = "\n".join(f"{row.group},x,{row.score},y,{row.hired},2" for row in small_frame().itertuples())
        (tmp_path / "in.csv").write_text(f'group,note,"score",note,hired,\n{lines}\n')
        with pytest.warns(eh.EvenhandWarning, match="several columns called 'note'"):
            small.expand(tmp_path / "in.csv", to=tmp_path / "out.csv", weight_column="a, b")
        assert (tmp_path / "out.csv").read_text().splitlines()[0] == 'group,note,"score",note,hired,,"a, b"'
        with pytest.warns(eh.EvenhandWarning):
            small.expand(tmp_path / "in.csv", to=tmp_path / "out.tsv")
        assert (tmp_path / "out.tsv").read_text().splitlines()[0] == "group\tnote\tscore\tnote\thired\t\tweight"
        cells = small_frame().value_counts().rename("n").reset_index()[["n", "group", "score", "hired"]]
        write(cells, tmp_path / "cells.csv")
        small.expand(tmp_path / "cells.csv", to=tmp_path / "out.csv", weights="n", weight_column="n")
        assert (tmp_path / "out.csv").read_text().splitlines()[0] == "group,score,hired,n"

    def test_without_a_header(self, tmp_path):
        form = eh.CsvFormat(names=["group", "score", "hired"])
        small_frame().to_csv(tmp_path / "raw.data", index=False, header=False)
        mapping = eh.fit(small_problem(csv=form), tmp_path / "raw.data")
        mapping.expand(tmp_path / "raw.data", to=tmp_path / "out.data")
        found = pd.read_csv(tmp_path / "out.data", names=["group", "score", "hired", "weight"])
        pd.testing.assert_frame_equal(merged(found, "weight"), mapping.expand(small_frame()), check_exact=False)

    def test_types_that_arrow_has_not(self, small, tmp_path):
        """What the problem does not name keeps its type, also lists and what is a text to others."""
        import duckdb

        some = pyarrow.Table.from_pandas(small_frame(), preserve_index=False)
        more = {
            "price": pyarrow.array([Decimal("1.50"), Decimal("2.25")] * 100),
            "day": pyarrow.array([18_000, 18_001] * 100, pyarrow.date32()),
            "listed": pyarrow.array([[1, 2], None] * 100),
            "made": pyarrow.array([{"a": 1, "b": "x"}, {"a": 2, "b": None}] * 100),
            "bytes": pyarrow.array([b"\x00\xff", b""] * 100),
            "small": pyarrow.array([1, None] * 100, pyarrow.int8()),
        }
        for name, column in more.items():
            some = some.append_column(name, column)
        with duckdb.connect() as duck:
            duck.register("some_rows", some)
            own = f"'{uuid.UUID(int=5)}'::UUID AS who, TIMESTAMPTZ '2020-01-01 10:00:00+00' AS moment"
            duck.execute(f"COPY (SELECT *, {own} FROM some_rows) TO '{tmp_path}/in.parquet' (FORMAT parquet)")
            small.expand(tmp_path / "in.parquet", to=tmp_path / "out.parquet")
            types = [duck.sql(f"DESCRIBE FROM '{tmp_path}/{name}.parquet'").fetchall() for name in ("in", "out")]
            read = duck.sql(f"SELECT listed, made, sum(weight) FROM '{tmp_path}/out.parquet' GROUP BY ALL").fetchall()
        assert [row[:2] for row in types[1][:-1]] == [row[:2] for row in types[0]]
        assert types[1][-1][:2] == ("weight", "DOUBLE")
        assert sorted(weight for *_, weight in read) == pytest.approx([100, 100])


class TestBadInput:
    @pytest.fixture
    def files(self, tmp_path):
        for kind in FORMATS:
            write(small_frame(), tmp_path / f"in.{kind}")
        return tmp_path

    @pytest.mark.parametrize(
        ("changed", "options", "words"),
        [
            ({"weight": 1}, {}, r"already has a column 'weight'; give weight_column= another name"),
            ({"WEIGHT": 1}, {"to": "out.parquet"}, "differ in case alone"),
            ({}, {"weights": "n"}, "no column 'n'"),
            ({}, {"weights": "score"}, "'score' is part of the problem and cannot also be the weights"),
            ({}, {"weights": [1.0] * 200}, "the weights of a file are one of its columns"),
            ({"w": -1}, {"weights": "w"}, r"200 rows of .* have no weight of at least 0 in column 'w', .* '?-1"),
            ({"w": [None, *[1.0] * 199]}, {"weights": "w"}, r"1 row of .* has no weight .* None"),
            ({"w": [np.inf, *[1.0] * 199]}, {"weights": "w"}, r"1 row of .* has no weight .* '?inf"),
            ({"w": "x"}, {"weights": "w"}, "200 rows of .* have no weight"),
            ({"w": 0}, {"weights": "w"}, "no row of .* has a positive weight in column 'w'"),
            ({"w": 1e308}, {"weights": "w"}, "too large to be added up|out of range|Overflow"),
            ({"group": None}, {}, r"'group' has 200 missing values, the first in row 1"),
            ({"hired": None}, {"missing": "level"}, "every row needs its outcome here"),
        ],
        ids=str,
    )
    @pytest.mark.parametrize("kind", FORMATS)
    def test_tables(self, small, tmp_path, kind, changed, options, words):
        path = write(small_frame().assign(**changed), tmp_path / f"in.{kind}")
        options = {"to": f"out.{kind}", **options}
        (tmp_path / options["to"]).write_text("what was there before")
        with pytest.raises(eh.DataError, match=words):
            small.expand(path, **{**options, "to": tmp_path / options["to"]})
        assert (tmp_path / options["to"]).read_text() == "what was there before"
        assert sorted(os.listdir(tmp_path)) == [f"in.{kind}", options["to"]]

    def test_a_column_needs_a_name(self, small, files):
        with pytest.raises(eh.SpecError, match="weight_column must be one column name, not ''"):
            small.expand(files / "in.csv", to=files / "out.csv", weight_column="")

    def test_nothing_is_sampled(self, small, files):
        with pytest.raises(eh.SpecError, match="restore='midpoint'"):
            small.expand(files / "in.csv", to=files / "out.csv", restore="sample")

    @pytest.mark.parametrize("kind", FORMATS)
    def test_a_group_that_weighs_nothing(self, small, tmp_path, kind):
        frame = small_frame().assign(w=lambda each: each["group"].eq("a") * 1.5)
        path, out = write(frame, tmp_path / f"in.{kind}"), tmp_path / f"out.{kind}"
        with pytest.warns(eh.EvenhandWarning, match=r"every row of \(group=b\) has a weight of 0; they are kept"):
            done = small.expand(path, to=out, weights="w")
        with pytest.warns(eh.EvenhandWarning, match=r"every row of \(group=b\) has a weight of 0; they are kept"):
            expected = small.expand(frame, weights="w")
        assert_same(out, expected)
        assert done.weight == pytest.approx(150)
        assert set(expected["group"]) == {"a", "b"}

    def test_extreme_weights(self, small, tmp_path):
        for scale in (1e-300, 1e-30, 1e300):
            frame = small_frame().assign(w=scale)
            path, out = write(frame, tmp_path / "in.parquet"), tmp_path / "out.parquet"
            assert small.expand(path, to=out, weights="w").weight == pytest.approx(200 * scale, rel=1e-12, abs=0)
            found, expected = (
                merged(pd.read_parquet(out), "weight")["weight"],
                small.expand(frame, weights="w")["weight"],
            )
            assert (found / scale).to_numpy() == pytest.approx((expected / scale).to_numpy(), rel=1e-12, abs=0)

    def test_a_file_that_changes_while_it_is_read(self, small, files):
        with pytest.raises(eh.DataError, match="was changed while it was read; nothing was written"):
            small.expand(files / "in.csv", to=files / "out.csv", progress=lambda *_: os.utime(files / "in.csv"))
        assert sorted(os.listdir(files)) == ["in.csv", "in.parquet"]

    @pytest.mark.parametrize("place", [0.1, 0.5, 0.9])
    @pytest.mark.parametrize("kind", FORMATS)
    def test_ctrl_c_leaves_nothing_behind(self, small, tmp_path, pieces, kind, place):
        many = pd.concat([small_frame()] * 300, ignore_index=True).assign(id=lambda each: each.index)
        path, sent = write(many, tmp_path / f"t.{kind}"), []

        def stop(stage, share):
            if share > place and not sent:
                sent.append(stage)
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            small.expand(path, to=tmp_path / f"out.{kind}", progress=stop)
        assert sent
        assert os.listdir(tmp_path) == [f"t.{kind}"]
