"""CSV and Parquet files: read through DuckDB, transformed in batches, written when complete."""

import csv
import io
import os
import signal
import stat
import warnings
from contextlib import suppress
from decimal import Decimal
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow
import pyarrow.parquet
import pytest
from people import people, problem

import evenhand as eh
from evenhand.engines import Source, delimited, read_file
from evenhand.engines import files as files_
from evenhand.engines.typed import Types

RULES = {"hired": eh.Free()}


@pytest.fixture(scope="module")
def frame():
    return people()


@pytest.fixture(scope="module")
def mapping(frame):
    rules = dict(problem().distortion.rules) | RULES
    stated = problem(distortion=eh.Distortion(rules), suppress_protected="fixed", parity=[eh.PairwiseParity(0.1)])
    return eh.fit(stated, frame)


@pytest.fixture
def files(frame, tmp_path):
    frame.to_csv(tmp_path / "in.csv", index=False)
    frame.to_parquet(tmp_path / "in.parquet", index=False)
    return tmp_path


@pytest.fixture
def batches(monkeypatch):
    """Several batches per file; DuckDB hands over no fewer than 2,048 rows at a time."""
    monkeypatch.setattr(files_, "BATCH", 2048)
    monkeypatch.setattr(delimited, "CHUNK", 1 << 15)


OPTIONS = [
    {"seed": 3, "draw": "independent"}, {"key": "id"}, {"seed": 4, "draw": "balanced"},
    {"seed": 5, "restore": "label"},
]  # fmt: skip


class TestTransform:
    @pytest.mark.parametrize("act", ["release", "apply"])
    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_csv_gives_the_bytes_that_pandas_gives(self, mapping, frame, files, act, options):
        done = getattr(mapping, act)(files / "in.csv", to=files / "out.csv", **options)
        expected = getattr(mapping, act)(frame, **options)
        assert (files / "out.csv").read_bytes() == expected.to_csv(index=False).encode()
        changed = (expected[["age", "hours", "job", "hired"]] != frame[["age", "hours", "job", "hired"]]).any(axis=1)
        if "restore" not in options:
            assert (done.rows, done.changed, done.unseen) == (len(frame), changed.sum(), 0)
            assert done.changed > 0

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_parquet_gives_the_frame_that_pandas_gives(self, mapping, frame, files, options):
        mapping.release(files / "in.parquet", to=files / "out.parquet", **options)
        expected = mapping.release(frame, **options)
        pd.testing.assert_frame_equal(pd.read_parquet(files / "out.parquet"), expected)

    def test_csv_to_parquet_gets_its_types_back(self, mapping, frame, files):
        mapping.release(files / "in.csv", to=files / "out.parquet", key="id")
        pd.testing.assert_frame_equal(pd.read_parquet(files / "out.parquet"), mapping.release(frame, key="id"))

    @pytest.mark.parametrize("options", OPTIONS, ids=str)
    def test_several_batches_and_several_files(self, mapping, frame, tmp_path, batches, options):
        many = pd.concat([frame.assign(id=frame["id"] + 10_000 * i) for i in range(6)], ignore_index=True)
        many.iloc[:4000].to_csv(tmp_path / "part-0.csv", index=False)
        many.iloc[4000:].to_csv(tmp_path / "part-1.csv", index=False)
        stages = []
        done = mapping.apply(
            tmp_path / "part-*.csv", to=tmp_path / "out.csv", progress=lambda *s: stages.append(s), **options
        )
        assert done.rows == len(many)
        assert (tmp_path / "out.csv").read_bytes() == mapping.apply(many, **options).to_csv(index=False).encode()
        assert len(stages) > 3
        assert stages[-1][1] == 1.0

    @pytest.mark.parametrize("act", ["release", "apply"])
    @pytest.mark.parametrize("batch", [1, 7, 1_000_000])
    @pytest.mark.parametrize("parts", [1, 2])
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_balanced_draws_are_those_in_memory(self, mapping, frame, tmp_path, monkeypatch, act, batch, parts, kind):
        """In batches of any size, from one file or two."""
        monkeypatch.setattr(files_, "BATCH", batch)
        monkeypatch.setattr(delimited, "CHUNK", batch if batch == 1 else 40 * batch)
        for number, part in enumerate(np.array_split(np.arange(len(frame)), parts)):
            write = getattr(frame.iloc[part], f"to_{kind}")
            write(tmp_path / f"{number}.{kind}", index=False)
        options = {"seed": 6, "draw": "balanced"}
        getattr(mapping, act)(tmp_path / f"*.{kind}", to=tmp_path / "out.csv", **options)
        expected = getattr(mapping, act)(frame, **options)
        assert (tmp_path / "out.csv").read_text() == expected.to_csv(index=False)

    def test_rows_that_change_while_they_are_drawn_are_refused(self, mapping, frame, tmp_path, monkeypatch):
        """Other rows than were counted: even where the file's size and time say nothing of it."""
        frame.to_csv(tmp_path / "in.csv", index=False)
        monkeypatch.setattr(Source, "state", property(lambda self: ()))
        other = frame.assign(sex=frame["sex"].to_numpy()[::-1], hired=1 - frame["hired"]).to_csv(index=False)

        def change(stage, share):
            if stage.startswith("reading"):
                (tmp_path / "in.csv").write_text(other)

        with pytest.raises(eh.DataError, match="was changed while it was read"):
            mapping.release(tmp_path / "in.csv", to=tmp_path / "out.csv", seed=1, progress=change)
        assert os.listdir(tmp_path) == ["in.csv"]

    @pytest.mark.parametrize("options", [{"seed": 3}, {"unseen": "keep"}], ids=str)
    def test_balanced_releases_of_segments_and_new_cells(self, frame, tmp_path, batches, options):
        """Strata that are met batch by batch, with cells that nobody had and people who come twice: as in memory."""
        options = {"seed": 2, "draw": "balanced"} | options
        mapping = eh.fit(problem(parity=[eh.PairwiseParity(0.3, given=["age"])]), frame)
        later = frame.assign(age=frame["age"].sample(frac=1, random_state=1).to_numpy(), id=frame["id"] + 10_000)
        many = pd.concat([frame, later, frame, later.assign(sex="X")], ignore_index=True)
        many.to_csv(tmp_path / "in.csv", index=False)
        with pytest.warns(eh.EvenhandWarning) as said:
            done = mapping.release(tmp_path / "in.csv", to=tmp_path / "out.csv", **options)
        with pytest.warns(eh.EvenhandWarning):
            expected = mapping.release(many, **options)
        assert (tmp_path / "out.csv").read_bytes() == expected.to_csv(index=False).encode()
        assert done.shared == 0
        assert not any("share their id and their kind" in str(each.message) for each in said)
        assert done.changed > 0

    def test_balanced_draws_by_key_need_all_rows_in_memory(self, mapping, files):
        with pytest.raises(eh.SpecError, match="need all rows in memory"):
            mapping.release(files / "in.csv", to=files / "out.csv", key="id", draw="balanced")

    def test_what_is_not_transformed_comes_out_as_it_was(self, mapping, frame, tmp_path):
        texts = ["007", "1e5", " x ", "", "NULL", "NaN", "TRUE", "2020-01-01", "1.50", 'say "hi"', "a,b", "ü\nü"]
        odd = frame.assign(note=[texts[i % len(texts)] for i in range(len(frame))])
        odd.to_csv(tmp_path / "in.csv", index=False)
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", seed=0)
        kwargs = {"dtype": str, "keep_default_na": False}
        assert pd.read_csv(tmp_path / "out.csv", **kwargs)["note"].tolist() == odd["note"].tolist()

    def test_the_outcome_is_unread(self, mapping, frame, tmp_path):
        found = []
        for given in (frame.drop(columns="hired"), frame, frame.assign(hired=frame["hired"][::-1].to_numpy())):
            given.to_csv(tmp_path / "in.csv", index=False)
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
            found.append(pd.read_csv(tmp_path / "out.csv", dtype=str).drop(columns="hired", errors="ignore"))
        assert found[0].equals(found[1])
        assert found[0].equals(found[2])

    def test_without_a_header_and_with_another_delimiter(self, frame, tmp_path):
        names = list(frame.columns)
        plain = frame.drop(columns="note").assign(note="x")[names]
        lines = [", ".join(map(str, row)) for row in plain.replace('O\'Brien, "x"', "O'Brien").itertuples(index=False)]
        (tmp_path / "raw.data").write_text("\n".join(lines) + "\n")
        stated = problem(csv=eh.CsvFormat(delimiter=", ", names=names))
        mapping = eh.fit(stated, tmp_path / "raw.data")
        assert mapping.counts.people == len(frame)
        mapping.apply(tmp_path / "raw.data", to=tmp_path / "out.data")
        out = (tmp_path / "out.data").read_text().splitlines()
        assert len(out) == len(lines)
        assert out[0].count(", ") == len(names) - 1

    def test_rows_that_are_not_known_are_counted_over_batches(self, mapping, frame, tmp_path, batches):
        new = pd.concat([frame] * 3, ignore_index=True)
        new.loc[[2, 4000], "job"] = ["astronaut", "pilot"]
        new.to_csv(tmp_path / "in.csv", index=False)
        with pytest.warns(
            eh.EvenhandWarning, match=r"2 of 4500 rows .* in row 3 \(column 'job' has the new value 'ast"
        ):
            done = mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv")
        assert (done.unseen, done.first_unseen) == (2, 3)
        with pytest.raises(eh.DataError, match="unseen='keep'"):
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "no.csv", unseen="error")
        assert not (tmp_path / "no.csv").exists()

    def test_an_empty_file_of_columns_gives_one(self, mapping, frame, tmp_path):
        frame.head(0).to_csv(tmp_path / "in.csv", index=False)
        assert mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv").rows == 0
        assert (tmp_path / "out.csv").read_text() == (tmp_path / "in.csv").read_text()


class TestPaths:
    """Names of folders and files are names: not columns, not patterns."""

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_a_folder_called_like_a_column(self, mapping, frame, tmp_path, kind):
        folder = tmp_path / "sex=F" / "year=2020"
        folder.mkdir(parents=True)
        getattr(frame, f"to_{kind}")(folder / f"in.{kind}", index=False)
        mapping.apply(folder / f"in.{kind}", to=tmp_path / "out.csv", key="id")
        assert (tmp_path / "out.csv").read_text() == mapping.apply(frame, key="id").to_csv(index=False)
        assert eh.fit(problem(), folder / f"in.{kind}").counts.people == len(frame)

    @pytest.mark.parametrize("name", ["data[1].csv", "da*a.csv", "d?ta.csv", "data{1}.csv"])
    def test_a_file_whose_name_looks_like_a_pattern(self, mapping, frame, tmp_path, name):
        for other in ("data1.csv", "da1a.csv", "data.csv"):
            frame.head(7).to_csv(tmp_path / other, index=False)
        frame.head(10).to_csv(tmp_path / name, index=False)
        assert mapping.apply(tmp_path / name, to=tmp_path / "out.csv").rows == 10

    def test_no_input_is_replaced(self, mapping, frame, tmp_path):
        for i in range(2):
            frame.to_csv(tmp_path / f"part-{i}.csv", index=False)
        with pytest.raises(eh.DataError, match="a file that is read"):
            mapping.apply(tmp_path / "part-*.csv", to=tmp_path / "part-1.csv")

    def test_a_link_is_followed(self, mapping, files):
        (files / "real.csv").write_text("before")
        (files / "link.csv").symlink_to(files / "real.csv")
        mapping.apply(files / "in.csv", to=files / "link.csv")
        assert (files / "link.csv").is_symlink()
        assert len((files / "real.csv").read_text()) > 100

    @pytest.mark.parametrize("folder", ["interrupted", "unicode", "utf-8", "no space left", "KeyboardInterrupt"])
    @pytest.mark.parametrize("act", ["fit", "apply"])
    def test_the_name_of_a_folder_decides_nothing(self, mapping, tmp_path, folder, act):
        (tmp_path / folder).mkdir()
        path = tmp_path / folder / "quote.csv"
        path.write_text("id,sex,age,hours,job,note,hired\n1,F,30,40,clerk,x,1\n2,M,30,40\n")
        with pytest.raises(eh.DataError, match=r"has 4 fields in line 3 where it should have 7"):
            eh.fit(problem(), path) if act == "fit" else mapping.apply(path, to=tmp_path / folder / "out.csv")

    def test_the_name_of_a_folder_is_not_why_parquet_cannot_be_read(self, tmp_path):
        (tmp_path / "interrupted").mkdir()
        (tmp_path / "interrupted" / "t.parquet").write_bytes(b"PAR1 and nothing that follows it PAR1")
        with pytest.raises(eh.DataError, match="cannot be read as Parquet"):
            eh.fit(problem(), tmp_path / "interrupted" / "t.parquet")

    def test_a_pipe_says_that_it_is_one(self, tmp_path):
        os.mkfifo(tmp_path / "pipe.csv")
        for name in ("pipe.csv", "*.csv"):
            with pytest.raises(eh.DataError, match=r"pipe\.csv' is a pipe or a device"):
                eh.fit(problem(), tmp_path / name)

    @pytest.mark.skipif(not os.path.exists("/proc/kmsg"), reason="a pseudo-file of Linux")
    def test_a_file_of_the_kernel_that_never_ends_is_empty(self):
        with pytest.raises(eh.DataError, match="'/proc/kmsg' is empty"):
            eh.fit(problem(), "/proc/kmsg")


def write_packed(path, content):
    """Write bytes packed as the name says."""
    with pyarrow.output_stream(path, compression="gzip" if path.suffix == ".gz" else "zstd") as file:
        file.write(content)
    return path


@pytest.mark.parametrize("ending", ["csv.gz", "csv.zst"])
class TestPacked:
    """A packed file is the file that was packed; where it cannot be, it is refused."""

    def test_what_comes_out(self, mapping, frame, tmp_path, ending):
        path = write_packed(tmp_path / f"in.{ending}", frame.to_csv(index=False).encode())
        stages = []
        done = mapping.apply(path, to=tmp_path / "out.csv", key="id", progress=lambda *stage: stages.append(stage))
        assert done.rows == len(frame)
        assert (tmp_path / "out.csv").read_text() == mapping.apply(frame, key="id").to_csv(index=False)
        assert stages[-1] == (f"apply: {len(frame):,} rows", 1.0)
        assert sorted(os.listdir(tmp_path)) == [f"in.{ending}", "out.csv"]

    def test_parts_one_after_another(self, mapping, frame, tmp_path, ending):
        first, second = frame.head(700).to_csv(index=False), frame.tail(-700).to_csv(index=False, header=False)
        parts = [write_packed(tmp_path / f"{i}.{ending}", each.encode()) for i, each in enumerate((first, second))]
        whole = tmp_path / f"in.{ending}"
        whole.write_bytes(b"".join(path.read_bytes() for path in parts))
        assert mapping.apply(whole, to=tmp_path / "out.csv", seed=1).rows == len(frame)
        assert (tmp_path / "out.csv").read_text() == mapping.apply(frame, seed=1).to_csv(index=False)

    def test_tabs(self, mapping, frame, tmp_path, ending):
        path = write_packed(
            tmp_path / f"in.{ending.replace('csv', 'tsv')}", frame.to_csv(index=False, sep="\t").encode()
        )
        mapping.apply(path, to=tmp_path / "out.tsv", key="id")
        assert (tmp_path / "out.tsv").read_text() == mapping.apply(frame, key="id").to_csv(index=False, sep="\t")

    @pytest.mark.parametrize("cut", [1, 9, 400, 5000])
    @pytest.mark.parametrize("act", ["fit", "audit", "apply", "read_file"])
    def test_one_that_was_cut_off(self, mapping, frame, tmp_path, ending, act, cut):
        path = write_packed(tmp_path / f"in.{ending}", pd.concat([frame] * 4).to_csv(index=False).encode())
        path.write_bytes(path.read_bytes()[:-cut])
        acts = {
            "fit": lambda: eh.fit(problem(), path),
            "audit": lambda: mapping.audit(path),
            "apply": lambda: mapping.apply(path, to=tmp_path / "out.csv"),
            "read_file": lambda: read_file(path),
        }
        with pytest.raises(eh.DataError, match="is damaged and cannot be unpacked"):
            acts[act]()
        assert os.listdir(tmp_path) == [f"in.{ending}"]


@pytest.mark.parametrize("place", [0.3, 0.6, 0.9, "checksum", "length"])
def test_one_bit_of_a_packed_file(mapping, frame, tmp_path, place):
    """DuckDB reads on; whoever packed it wrote down a checksum."""
    path = write_packed(tmp_path / "in.csv.gz", frame.to_csv(index=False).encode())
    content = bytearray(path.read_bytes())
    content[{"checksum": -6, "length": -2}.get(place) or int(place * len(content))] ^= 1
    path.write_bytes(content)
    for act in (mapping.audit, lambda path: mapping.release(path, to=tmp_path / "out.csv")):
        with pytest.raises(eh.DataError, match="is damaged and cannot be unpacked"):
            act(path)


class TestNames:
    """A file may call its columns as it likes; those that the problem does not name come out as they were."""

    OWN = (
        *("evenhand_new_0", "evenhand_5f0d_key", "evenhand_given", "evenhand_stream", "evenhand_rows"),
        *("evenhand_weight", "evenhand_wrong", "evenhand_value", "evenhand_one", "evenhand_set", "column_0", "new_0"),
        *("AGE", "Sex", "given", "stream", "rowid", "filename", "file_row_number", "select", ""),
    )

    def csv(self, frame, header, more):
        """The text of a frame with more columns after it, under a header of our own."""
        lines = frame.to_csv(index=False, header=False).splitlines()
        return "\n".join([header, *(line + more for line in lines)]) + "\n"

    @pytest.mark.parametrize("header", ["{},", '{},"",', "{},note,note", '{},a b,\'x\',"q""q"', "{},,Unnamed: 7,"])
    def test_the_header_comes_out_as_it_was(self, mapping, frame, tmp_path, header):
        line = header.format(",".join(frame.columns))
        more = ",x" * (len(next(csv.reader([line]))) - frame.shape[1])
        (tmp_path / "in.csv").write_text(self.csv(frame, line, more))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", eh.EvenhandWarning)
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
            counts = eh.fit(problem(), tmp_path / "in.csv").counts
            found = mapping.audit(tmp_path / "in.csv").rates
        expected = mapping.apply(frame, key="id")
        assert (tmp_path / "out.csv").read_text() == self.csv(expected, line, more)
        assert counts.people == len(frame)
        pd.testing.assert_frame_equal(found, mapping.audit(frame).rates)

    def test_the_index_of_pandas(self, mapping, frame, tmp_path):
        frame.to_csv(tmp_path / "in.csv")
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
        assert (tmp_path / "out.csv").read_text() == mapping.apply(frame, key="id").to_csv()
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.parquet", key="id")
        assert pd.read_parquet(tmp_path / "out.parquet")["Unnamed: 0"].tolist() == frame.index.tolist()
        with pytest.raises(eh.DataError, match=r"column 1 of .* has no name; give it one"):
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "no.csv", key="Unnamed: 0")

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_no_name_is_one_of_ours(self, mapping, frame, tmp_path, kind):
        names = [name for name in self.OWN if kind == "csv" or name not in ("AGE", "Sex", "")]
        more = pd.DataFrame({name: [f"{place} {i}" for i in range(len(frame))] for place, name in enumerate(names)})
        table = pd.concat([frame, more], axis=1)
        table.to_csv(tmp_path / "in.csv", index=False) if kind == "csv" else table.to_parquet(tmp_path / "in.parquet")
        mapping.release(tmp_path / f"in.{kind}", to=tmp_path / "out.csv", seed=1, draw="balanced")
        expected = pd.concat([mapping.release(frame, seed=1, draw="balanced"), more], axis=1)
        assert (tmp_path / "out.csv").read_text() == expected.to_csv(index=False)

    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_columns_of_a_problem_may_have_those_names(self, frame, tmp_path, kind):
        names = {
            "sex": "evenhand_rows",
            "age": "evenhand_weight",
            "hours": "evenhand_value",
            "job": "column_0",
            "id": "new_0",
        }
        table = frame.rename(columns={**names, "hired": "evenhand_wrong"}).assign(evenhand_set=2)
        stated = problem(
            protected=["evenhand_rows"], features=["evenhand_weight", "evenhand_value", "column_0"],
            outcome="evenhand_wrong", bins={names[name]: each for name, each in problem().bins.items()},
            distortion=eh.Distortion({"evenhand_wrong": eh.Free()}), budget=None,
        )  # fmt: skip
        getattr(table, f"to_{kind}")(tmp_path / f"in.{kind}", index=False)
        mapping = eh.fit(stated, tmp_path / f"in.{kind}", weights="evenhand_set")
        assert np.array_equal(mapping.counts.weight, eh.count(stated, table, weights="evenhand_set").weight)
        mapping.release(tmp_path / f"in.{kind}", to=tmp_path / "out.csv", key="new_0")
        assert (tmp_path / "out.csv").read_text() == mapping.release(table, key="new_0").to_csv(index=False)
        pd.testing.assert_frame_equal(mapping.audit(tmp_path / f"in.{kind}").rates, mapping.audit(table).rates)

    def test_names_that_parquet_does_not_tell_apart(self, mapping, frame, tmp_path):
        frame.assign(AGE=1).to_csv(tmp_path / "in.csv", index=False)
        with pytest.raises(eh.DataError, match="differ in case alone, such as 'AGE'"):
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.parquet")

    def test_thousands_of_columns(self, mapping, frame, tmp_path):
        more = [f"column {i}" for i in range(6000)]
        header, own = ",".join([*frame.columns, *more]), ",1" * 6000
        (tmp_path / "in.csv").write_text(self.csv(frame.head(20), header, own))
        with eh.using(memory="64MB", threads=1):
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
            assert read_file(tmp_path / "in.csv").equals(pd.read_csv(tmp_path / "in.csv"))
        expected = self.csv(mapping.apply(frame.head(20), key="id"), header, own)
        assert (tmp_path / "out.csv").read_text() == expected


class TestNested:
    """Values that are made of others pass through; as levels, keys or weights they are refused by name."""

    KINDS: ClassVar = {
        "list": lambda n: pyarrow.array([[1, 2], None] * (n // 2)),
        "struct": lambda n: pyarrow.array([{"a": 1, "b": [2]}] * n),
        "map": lambda n: pyarrow.array([[("a", 1)]] * n, pyarrow.map_(pyarrow.string(), pyarrow.int32())),
        "binary": lambda n: pyarrow.array([b"a\0", b"\xff"] * (n // 2)),
        "decimal": lambda n: pyarrow.array([Decimal("1.50"), Decimal("2.25")] * (n // 2)),
        "nested": lambda n: pyarrow.array([[{"a": [1]}]] * n),
    }

    @pytest.mark.parametrize("kind", list(KINDS))
    def test_passed_through(self, mapping, frame, tmp_path, kind):
        table = pyarrow.Table.from_pandas(frame).append_column("extra", self.KINDS[kind](len(frame)))
        pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
        mapping.apply(tmp_path / "in.parquet", to=tmp_path / "out.parquet", key="id")
        found = pyarrow.parquet.read_table(tmp_path / "out.parquet")
        assert found["extra"].to_pylist() == table["extra"].to_pylist()
        assert mapping.apply(tmp_path / "in.parquet", to=tmp_path / "out.csv", key="id").rows == len(frame)
        assert eh.fit(problem(), tmp_path / "in.parquet").counts.people == len(frame)

    @pytest.mark.parametrize("form", ["file", "arrow", "pandas", "polars"])
    @pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "decimal"])
    def test_refused_by_name(self, mapping, frame, tmp_path, kind, form):
        table = pyarrow.Table.from_pandas(frame).append_column("extra", self.KINDS[kind](len(frame)))
        pyarrow.parquet.write_table(table, tmp_path / "in.parquet")
        forms = {"file": lambda: tmp_path / "in.parquet", "arrow": lambda: table}
        forms |= {"pandas": table.to_pandas, "polars": lambda: pl.from_arrow(table)}
        given, target = forms[form](), {"to": tmp_path / "out.csv"} if form == "file" else {}
        free = {"distortion": eh.Distortion({"extra": eh.Free()}), "budget": None}
        for act in (
            lambda: eh.fit(problem(features=["age", "hours", "job", "extra"]), given),
            lambda: eh.fit(problem(protected=["extra"]), given),
            lambda: eh.fit(problem(outcome="extra", **free), given),
            lambda: mapping.apply(given, key="extra", **target),
        ):
            with pytest.raises(eh.DataError, match="'extra'"):
                act()


class TestLines:
    """Rows may be long, and end in any of three ways, but not in several: then nothing is read."""

    def test_a_long_field(self, mapping, frame, tmp_path):
        long = frame.head(30).astype({"note": object})
        long.loc[4, "note"] = "x" * 3_000_000
        long.loc[9, "note"] = "line, \n" * 500_000
        long.to_csv(tmp_path / "in.csv", index=False)
        with eh.using(memory="256MB"):
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
        assert (tmp_path / "out.csv").read_text() == mapping.apply(long, key="id").to_csv(index=False)

    def test_too_long_a_row_says_how_long_one_may_be(self, mapping, frame, tmp_path, monkeypatch):
        monkeypatch.setattr(delimited, "LONGEST_RECORD", 2_000_000)
        long = frame.head(3).astype({"note": object})
        long.loc[1, "note"] = "x" * 2_100_000
        long.to_csv(tmp_path / "in.csv", index=False)
        with pytest.raises(eh.DataError, match="a row of more than 2MB in line 3"):
            mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv")

    def rows(self, frame):
        """The header and every row as a text without its end."""
        for row in (frame.columns, *frame.itertuples(index=False)):
            text = io.StringIO(newline="")
            csv.writer(text, lineterminator="\r\n").writerow(row)
            yield text.getvalue().removesuffix("\r\n")

    @pytest.mark.parametrize(
        ("size", "place", "packed"), [(70_000_000, 29, False), (70_000_000, 0, False), (33_000_000, 20, True)]
    )
    def test_a_row_over_the_limit_is_not_lost(self, mapping, frame, tmp_path, size, place, packed):
        """Wherever it is, also the last one."""
        long, path = frame.head(30).astype({"note": object}), tmp_path / ("in.csv.gz" if packed else "in.csv")
        long.loc[place, "note"] = "x" * size
        text = long.to_csv(index=False).encode()
        write_packed(path, text) if packed else path.write_bytes(text)
        words = rf"{path.name}' has a row of more than 32MB in line {place + 2}, or a quote there that does not end"
        with pytest.raises(eh.DataError, match=words):
            mapping.apply(path, to=tmp_path / "out.csv")
        assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
    def test_texts_may_hold_other_line_ends(self, mapping, frame, tmp_path, end):
        noted = frame.assign(note=["a\r\nb", "c\rd", "e\nf"] * 500)
        (tmp_path / "in.csv").write_bytes("".join(row + end for row in self.rows(noted)).encode())
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
        expected = "".join(row + "\n" for row in self.rows(mapping.apply(noted, key="id")))
        assert (tmp_path / "out.csv").read_bytes() == expected.encode()
        assert eh.fit(problem(), tmp_path / "in.csv").counts.people == len(frame)

    MIXED = r"has mixed line ends: .* line {}.* convert the line ends to \\n, for example with perl"

    @pytest.mark.parametrize("packed", [False, True])
    @pytest.mark.parametrize("ends", ["\n \r\n", "\r\n \n", "\n \r", "\r \n", "\r\n \r", "\r \r\n"], ids=repr)
    def test_mixed_line_ends_are_refused(self, mapping, frame, tmp_path, ends, packed):
        """Wherever the other one is: no row is lost, none is part of another."""
        own, other = ends.split(" ")
        path = tmp_path / ("in.csv.gz" if packed else "in.csv")
        for odd in (1, 700, len(frame) - 1):
            text = "".join(row + (other if i == odd else own) for i, row in enumerate(self.rows(frame))).encode()
            write_packed(path, text) if packed else path.write_bytes(text)
            for act in (
                lambda: eh.fit(problem(), path),
                lambda: mapping.audit(path),
                lambda: mapping.apply(path, to=tmp_path / "out.csv"),
                lambda: mapping.release(path, to=tmp_path / "out.parquet", draw="balanced"),
                lambda: mapping.expand(path, to=tmp_path / "out.csv", restore="midpoint"),
                lambda: read_file(path),
            ):
                with pytest.raises(eh.DataError, match=self.MIXED.format(odd + 1)):
                    act()
            assert os.listdir(tmp_path) == [path.name]

    @pytest.mark.parametrize("inside", ["\n", "\r", "\r\n"], ids=repr)
    @pytest.mark.parametrize("end", ["\n", "\r\n", "\r"], ids=repr)
    def test_a_name_may_hold_another_line_end(self, mapping, frame, tmp_path, end, inside):
        named = frame.rename(columns={"note": f"no{inside}te"})
        (tmp_path / "in.csv").write_bytes("".join(row + end for row in self.rows(named)).encode())
        assert mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id").rows == len(frame)
        lines = "".join(row + "\n" for row in self.rows(mapping.apply(named, key="id")))
        found = (tmp_path / "out.csv").read_bytes().decode()
        assert found.removeprefix(found[: found.index("hired") + 6]) == lines.removeprefix(
            lines[: lines.index("hired") + 6]
        )

    @pytest.mark.parametrize("end", ["\n", "\r\n"], ids=repr)
    def test_a_first_row_without_a_header(self, tmp_path, end):
        (tmp_path / "in.csv").write_bytes(f'1,"a\nb"{end}2,c{end}'.encode())
        format = eh.CsvFormat(names=["n", "note"])
        assert read_file(tmp_path / "in.csv", format)["note"].tolist() == ["a\nb", "c"]

    @pytest.mark.parametrize("seed", range(100))
    def test_all_rows_are_read_or_none(self, tmp_path, seed, monkeypatch):
        rng = np.random.default_rng(seed)
        monkeypatch.setattr(delimited, "CHUNK", int(rng.choice([1 << 6, 1 << 12, 1 << 20])))
        ends, rows = ["\n", "\r\n", "\r"], int(rng.choice([3, 40, 5_000]))
        own, share = rng.choice(ends), rng.choice([0, 1 / rows, 0.1])
        texts = ["x", "", '"p\nq"', '"p\r\nq"', '"p\rq"', '5" w', '"a""b\n"']
        notes = rng.choice(texts, 2, replace=False)
        lines = ['n,note,"z"', *(f"{i},{rng.choice(notes)},z" for i in range(rows))]
        chosen = [rng.choice(ends) if rng.random() < share else own for _ in lines]
        written = "".join(line + end for line, end in zip(lines, chosen, strict=True))
        (tmp_path / "in.csv").write_bytes(written.encode())
        found = None
        with suppress(eh.DataError):
            found = read_file(tmp_path / "in.csv")
        if found is None:
            assert len(set(chosen)) > 1
            return
        expected = list(csv.reader(io.StringIO(written, newline="")))[1:]
        assert len(expected) == rows
        assert found["n"].astype(str).tolist() == [row[0] for row in expected]
        assert found["note"].fillna("").astype(str).tolist() == [row[1] for row in expected]

    def test_files_that_end_their_lines_differently(self, mapping, frame, tmp_path):
        frame.head(700).to_csv(tmp_path / "in-0.csv", index=False, lineterminator="\n")
        frame.tail(-700).to_csv(tmp_path / "in-1.csv", index=False, lineterminator="\r\n")
        mapping.apply(tmp_path / "in-*.csv", to=tmp_path / "out.csv", key="id")
        assert (tmp_path / "out.csv").read_text() == mapping.apply(frame, key="id").to_csv(index=False)

    def test_bytes_that_are_no_text_in_a_column_that_is_not_read(self, frame, tmp_path):
        (tmp_path / "in.csv").write_bytes(frame.to_csv(index=False).encode().replace(b"n 7,", b"n \xe9,"))
        with pytest.raises(eh.DataError, match="not text in UTF-8 in line 9; save it as UTF-8 first"):
            eh.fit(problem(), tmp_path / "in.csv")


class TestTexts:
    """A CSV file gives what a frame of the same values gives."""

    def test_a_number_that_stands_for_a_missing_value(self, frame, tmp_path):
        coded = frame.assign(age=frame["age"].where(frame["id"] % 4 > 0, -99))
        coded.to_csv(tmp_path / "in.csv", index=False)
        coded.to_parquet(tmp_path / "in.parquet", index=False)
        for blank in (-99, "-99"):
            mapping = eh.fit(problem(missing_values=["?", blank]), tmp_path / "in.csv")
            again = eh.fit(problem(missing_values=["?", blank]), coded)
            assert np.array_equal(mapping.counts.weight, again.counts.weight)
            expected = mapping.release(coded, key="id").to_csv(index=False)
            mapping.release(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
            assert (tmp_path / "out.csv").read_text() == expected
            for table in (coded, tmp_path / "in.csv", tmp_path / "in.parquet"):
                counted = mapping.audit(table).coverage.set_index(["column", "what"])["rows"]
                assert counted["age", "missing"] == (coded["age"] == -99).sum()

    def test_long_whole_numbers_stay_what_they_are(self, mapping, frame, tmp_path):
        ids = [str(1_580_000_000_000_000_000 + i) + "7" * (i % 2) for i in range(len(frame))]
        frame.assign(id=ids).to_csv(tmp_path / "in.csv", index=False)
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.parquet", key="id")
        assert pd.read_parquet(tmp_path / "out.parquet")["id"].astype(str).tolist() == ids

    def test_levels_that_look_like_numbers_in_one_file(self, frame, tmp_path):
        kids = np.where(frame["age"] > 50, "2+", (frame["id"] % 2).astype(str))
        table = frame.assign(kids=kids)
        rules = {"kids": eh.Ordinal(0.1, levels=["0", "1", "2+"]), "hired": eh.Free()}
        stated = problem(
            features=["kids"], bins={}, distortion=eh.Distortion(rules), suppress_protected="fixed", budget=None,
            parity=[eh.PairwiseParity(0.02)],
        )  # fmt: skip
        mapping = eh.fit(stated, table)
        some = table[table["kids"] != "2+"]
        some.to_csv(tmp_path / "in.csv", index=False)
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.parquet", key="id")
        found = pd.read_parquet(tmp_path / "out.parquet")["kids"].tolist()
        assert found == mapping.apply(some, key="id")["kids"].tolist()
        assert "2+" in found

    def test_quoted_empty_fields_are_missing_everywhere(self, frame, tmp_path):
        empty = frame.assign(job=frame["job"].where(frame["job"] != "?", ""), age=frame["age"].astype(object))
        empty.loc[::50, "age"] = ""
        empty.to_csv(tmp_path / "in.csv", index=False, quoting=1)
        mapping = eh.fit(problem(), tmp_path / "in.csv")
        assert mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv").unseen == 0
        assert mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.parquet").unseen == 0
        assert mapping.audit(tmp_path / "in.csv").coverage.query("what != 'missing'")["rows"].sum() == 0

    def test_numbers_that_pandas_made_real(self, frame, tmp_path):
        """Fitted on ages with gaps (real numbers in pandas), applied to a file of whole ones."""
        gaps = frame.assign(age=frame["age"].where(frame["id"] % 9 > 0))
        stated = problem(suppress_protected="fixed", parity=[eh.PairwiseParity(0.1)],
                         distortion=eh.Distortion(dict(problem().distortion.rules) | RULES))  # fmt: skip
        mapping = eh.fit(stated, gaps)
        assert mapping.counts.domain.variable("age").levels[:2] == ("<30", "30 to 44")
        whole = frame[frame["id"] % 9 > 0]
        whole.to_csv(tmp_path / "in.csv", index=False)
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv", key="id")
        applied = mapping.apply(whole, key="id")
        assert (tmp_path / "out.csv").read_text() == applied.to_csv(index=False)
        assert (applied["age"] != whole["age"]).any()

    def test_truths_are_written_as_the_file_writes_them(self, frame, tmp_path):
        known = frame.assign(member=frame["age"] > 40)
        stated = problem(
            features=["member"], bins={}, suppress_protected="fixed", parity=[eh.PairwiseParity(0.02)], budget=None,
            distortion=eh.Distortion({"member": eh.Free(), "hired": eh.Free()}),
        )  # fmt: skip
        mapping = eh.fit(stated, known)
        texts = known.assign(member=known["member"].map({True: "true", False: "false"}))
        texts.to_csv(tmp_path / "in.csv", index=False)
        assert mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv").changed > 0
        assert set(pd.read_csv(tmp_path / "out.csv", dtype=str)["member"]) == {"true", "false"}

    def test_tabs(self, mapping, files):
        mapping.apply(files / "in.csv", to=files / "out.tsv", key="id")
        mapping.apply(files / "in.parquet", to=files / "again.tsv", key="id")
        assert (files / "out.tsv").read_text() == (files / "again.tsv").read_text()
        assert mapping.audit(files / "out.tsv").rates["weight"].sum() / 2 == 1500

    def test_a_name_with_a_line_end(self, mapping, frame, tmp_path):
        frame.rename(columns={"note": "no\nte"}).to_csv(tmp_path / "in.csv", index=False)
        mapping.apply(tmp_path / "in.csv", to=tmp_path / "out.csv")
        assert "no\nte" in pd.read_csv(tmp_path / "out.csv").columns


class TestFit:
    @pytest.mark.parametrize("name", ["in.csv", "in.parquet", "in.*sv"])
    def test_a_file_gives_the_counts_of_its_frame(self, frame, files, name):
        found, expected = eh.fit(problem(), files / name).counts, eh.count(problem(), frame)
        assert np.array_equal(found.sources, expected.sources)
        assert np.array_equal(found.weight, expected.weight)
        assert found.people == expected.people
        assert [v.levels for v in found.domain.variables] == [v.levels for v in expected.domain.variables]
        assert [v.coding for v in found.domain.variables] == [v.coding for v in expected.domain.variables]

    def test_weights(self, frame, files):
        weighted = frame.assign(w=np.arange(len(frame)) % 3)
        weighted.to_csv(files / "w.csv", index=False)
        found, expected = (eh.fit(problem(), table, weights="w").counts for table in (files / "w.csv", weighted))
        assert found.weight == pytest.approx(expected.weight)
        assert found.people == expected.people
        weighted.assign(w=-1).to_csv(files / "w.csv", index=False)
        with pytest.raises(eh.DataError, match=r"1,500 rows of .* have no weight of at least 0 in column 'w'"):
            eh.fit(problem(), files / "w.csv", weights="w")
        weighted.assign(w="x").to_csv(files / "w.csv", index=False)
        with pytest.raises(eh.DataError, match=r"1,500 rows of .* have no weight of at least 0 .* for example 'x'"):
            eh.fit(problem(), files / "w.csv", weights="w")

    def test_the_others_take_files_too(self, files):
        assert eh.diagnose(problem(), files / "in.csv").feasible
        assert len(eh.frontier(problem(), str(files / "in.csv"), bounds=[0.3, 0.5]).frame) == 2
        assert eh.smallest_parity_bound(problem(), files / "in.parquet") is not None

    def test_types_come_from_all_values(self, tmp_path):
        (tmp_path / "t.csv").write_text("a,b,c,d\n1,1.5,007,1\n2,2,1,?\n-3,.5,2,\n")
        found = read_file(tmp_path / "t.csv", blanks=["?"])
        assert found["a"].tolist() == [1, 2, -3]
        assert found["b"].tolist() == [1.5, 2.0, 0.5]
        assert found["c"].tolist() == ["007", "1", "2"]
        assert found["d"].isna().tolist() == [False, True, True]

    @pytest.mark.parametrize("seed", range(20))
    def test_a_file_in_memory_has_the_types_of_one_that_is_counted(self, tmp_path, seed):
        words = ["1", "-0", "007", "+1", "1.", ".5", "1e5", "1e400", "-0.0", "", "?", "nan", "inf", " 1"]
        words += ["9" * 18, "9" * 19]
        rng = np.random.default_rng(seed)
        table = pd.DataFrame({f"c{i}": rng.choice(rng.choice(words, 3, replace=False), 4) for i in range(40)})
        table.to_csv(tmp_path / "t.csv", index=False)
        found = read_file(tmp_path / "t.csv", blanks=["?"])
        for name in table:
            met = Types(["?"])
            for text in table[name]:
                met.add([text])
            kind = {"BIGINT": "int64", "DOUBLE": "float64"}.get(met.kind, "str")
            # Whole numbers with gaps are real ones in pandas.
            gaps = found[name].isna().any() and kind == "int64"
            assert str(found[name].dtype) in (["float64"] if gaps else [kind, "object"])


class TestAudit:
    def test_of_the_fitted_table_in_a_file(self, mapping, frame, files):
        for table in (frame, files / "in.csv", files / "in.parquet"):
            found, fitted = mapping.audit(table), mapping.audit()
            pd.testing.assert_frame_equal(found.rates, fitted.rates)
            assert found.bounds["achieved"].tolist() == pytest.approx(fitted.bounds["achieved"].tolist())
            missing = found.coverage.query("column == 'job' and what == 'missing'")["rows"].item()
            assert missing == (frame["job"] == "?").sum()

    def test_of_other_people(self, mapping, frame):
        new = frame.sample(600, random_state=3).reset_index(drop=True)
        new.loc[:4, "job"] = "astronaut"
        found = mapping.audit(new)
        counted = found.coverage.set_index(["column", "what"])["rows"]
        assert counted["job", "new value"] == 5
        assert found.rates["weight"].sum() / 2 == 595
        wide = mapping.expand(new.iloc[5:])
        rate = wide[wide["hired"] == 1].groupby("sex")["weight"].sum() / wide.groupby("sex")["weight"].sum()
        after = found.rates.query("hired == 1").set_index("sex")["after"]
        assert after.to_dict() == pytest.approx(rate.to_dict())

    def test_new_combinations_are_counted(self, frame):
        stated = problem(bins={**problem().bins, "age": eh.Edges([30, 40, 45, 50, 55, 60, 65, 70])})
        mapping = eh.fit(stated, frame.head(400))
        with pytest.warns(eh.EvenhandWarning):
            mapping.release(frame)
        found = mapping.audit(frame)
        counted = found.coverage[found.coverage["what"].eq("new combination")].set_index("policy")["rows"]
        assert counted["a typical row"] > 0
        assert counted["kept as it is"] == 0
        assert found.rates["weight"].sum() / 2 == len(frame)

    def test_scores_are_those_of_the_fitted_model(self, mapping, frame):
        some = frame[(frame["hired"] == 1) | (frame["age"] > 50)]
        found = mapping.audit(some).scores.query("hired == 1").set_index("sex")["seeing_protected"]
        expected = some.assign(score=mapping.predictor.predict_proba(some)[:, 1]).groupby("sex")["score"].mean()
        assert found.to_dict() == pytest.approx(expected.to_dict())
        own = mapping.audit(frame).scores
        pd.testing.assert_frame_equal(own, mapping.audit().scores)

    def test_segments_are_held_against_the_fitted_ones(self, frame):
        stated = problem(parity=[eh.TargetParity(0.9, given=["job"])])
        mapping = eh.fit(stated, frame)
        some = frame[frame["hired"] + (frame["id"] % 2) > 0]
        found = mapping.audit(some).bounds.query("constraint == 'TargetParity'")
        # Segments are of the original job.
        own = mapping.expand(some[(some["sex"] == "F") & (some["job"] == "clerk")])
        rate = own.loc[own["hired"] == 1, "weight"].sum() / own["weight"].sum()
        target = frame.loc[frame["job"] == "clerk", "hired"].mean()
        where = found[found["where"].str.contains("hired=1") & found["where"].str.contains("sex=F")]
        where = where[where["where"].str.contains("job=clerk")]
        assert where["achieved"].item() == pytest.approx(abs(rate / target - 1))

    def test_against_the_fitted_target(self, frame):
        stated = problem(parity=[eh.TargetParity(0.5)])
        mapping = eh.fit(stated, frame)
        half = frame[frame["hired"] == 1]
        found = mapping.audit(half)
        assert found.bounds.query("constraint == 'TargetParity'")["achieved"].max() > 0.3


class TestRealised:
    def test_the_rates_of_a_release_as_it_stands(self, mapping, files):
        mapping.release(files / "in.csv", to=files / "out.csv", seed=4)
        found = mapping.realised(files / "out.csv")
        drawn = pd.read_csv(files / "out.csv").groupby("sex")["hired"].mean()
        assert found.rates.query("hired == 1").set_index("sex")["rate"].to_dict() == pytest.approx(drawn.to_dict())
        worst = max(drawn.max() / drawn.min(), (1 - drawn.min()) / (1 - drawn.max())) - 1
        assert found.bounds["achieved"].max() == pytest.approx(worst)
        assert f"ratio {1 + worst:.4f}, at most 1.1000 allowed" in " ".join(found.sentences())
        assert found.verdict.kept == (worst <= 0.1)


class TestBadInput:
    def write(self, path, content):
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    @pytest.mark.parametrize(
        ("content", "words"),
        [
            (b"", "is empty"),
            (
                "sex,age,hours,job,hired\nF,30,40,clerk,1\nM,40,38\nF,20,30,cook,0\n",
                "3 fields in line 3 where it should have 5",
            ),
            ("sex,age,hours,job,hired\nF,30,40,clerk,1,9\n", "6 fields in line 2 where it should have 5"),
            ("sex,age,hours,job,hired\nF,30,40,Zoë,1\n".encode("latin-1"), "not text in UTF-8 in line 2"),
            ("sex;age;hours;job;hired\nF;30;40;clerk;1\n", "separated by ';'.*delimiter"),
            ("sex,age,age,job,hired\nF,30,40,clerk,1\n", "two columns called 'age'"),
            ("sex,age,hours,jobs,hired\nF,30,40,clerk,1\n", "no column 'job'.*Did you mean 'jobs'"),
            ("sex,age,hours,job,hired\n", "no rows|empty"),
            ('sex,age,hours,job,hired\nF,30,40,"clerk,1\n', "quote|line 2"),
        ],
    )
    def test_csv(self, tmp_path, content, words):
        with pytest.raises(eh.DataError, match=words) as caught:
            eh.fit(problem(), self.write(tmp_path / "t.csv", content))
        assert "Traceback" not in str(caught.value)
        assert "auto" not in str(caught.value).lower()

    def test_a_late_wrong_line_leaves_nothing_behind(self, mapping, frame, tmp_path, batches):
        content = pd.concat([frame] * 4).to_csv(index=False) + "1,F\n"
        self.write(tmp_path / "t.csv", content)
        with pytest.raises(eh.DataError, match=r"2 fields in line \d+"):
            mapping.apply(tmp_path / "t.csv", to=tmp_path / "out.csv")
        assert os.listdir(tmp_path) == ["t.csv"]

    @pytest.mark.parametrize("column", ["sex", "age", "hired"])
    def test_missing_values_are_counted_in_rows_of_the_file(self, frame, tmp_path, column):
        """Equal rows are counted together; how many rows there are is known, where the first is is not."""
        holes = pd.concat([frame.astype({column: object})] * 2)
        holes.loc[[7, 9], column] = None
        holes.to_csv(tmp_path / "t.csv", index=False)
        stated = problem(missing="error", missing_values=())
        with pytest.raises(eh.DataError, match=f"column '{column}' has 4 missing values; "):
            eh.fit(stated, tmp_path / "t.csv")

    @pytest.mark.parametrize("name", ["no.csv", "no.parquet", "no-*.csv", "."])
    def test_no_such_file(self, tmp_path, name):
        with pytest.raises(eh.DataError, match=r"no file|a folder"):
            eh.fit(problem(), tmp_path / name)

    def test_a_parquet_file_that_is_none(self, tmp_path):
        with pytest.raises(eh.DataError, match="cannot be read"):
            eh.fit(problem(), self.write(tmp_path / "t.parquet", "hello, this is not parquet at all"))

    def test_files_of_other_columns(self, frame, tmp_path):
        frame.to_csv(tmp_path / "a.csv", index=False)
        frame[frame.columns[::-1]].to_csv(tmp_path / "b.csv", index=False)
        with pytest.raises(eh.DataError, match="another header"):
            Source.of(tmp_path / "*.csv")

    def test_numbers_where_levels_were_promised(self, frame, tmp_path):
        frame.assign(job=np.arange(len(frame)) % 3).to_csv(tmp_path / "t.csv", index=False)
        rules = dict(problem().distortion.rules) | {"job": eh.Ordinal(1, levels=["low", "high"])}
        with pytest.raises(eh.DataError, match=r"'job' has the value 0 .* not among the levels|holds numbers"):
            eh.fit(problem(distortion=eh.Distortion(rules)), tmp_path / "t.csv")

    @pytest.mark.parametrize(
        ("to", "error", "words"),
        [
            (None, eh.DataError, "to="),
            ("out.xlsx", eh.DataError, "written as .csv or .parquet"),
            ("in.csv", eh.DataError, "a file that is read"),
            ("no/folder/out.csv", eh.StorageError, "cannot write into"),
            ("folder.csv", eh.StorageError, "is a folder"),
        ],
    )
    @pytest.mark.parametrize("use", ["apply", "expand"])
    def test_targets(self, mapping, files, to, error, words, use):
        (files / "folder.csv").mkdir()
        with pytest.raises(error, match=words):
            getattr(mapping, use)(files / "in.csv", to=None if to is None else files / to)
        assert sorted(os.listdir(files)) == ["folder.csv", "in.csv", "in.parquet"]

    def test_an_error_of_ours_on_the_way_is_ours(self, mapping, frame, tmp_path, batches):
        many = pd.concat([frame] * 4, ignore_index=True).astype({"id": "Int64"})
        many.loc[5000, "id"] = pd.NA
        many.to_csv(tmp_path / "t.csv", index=False)
        (tmp_path / "out.csv").write_text("what was there before")
        with pytest.raises(eh.DataError, match="'id' has a missing value in row 5001;"):
            mapping.apply(tmp_path / "t.csv", to=tmp_path / "out.csv", key="id")
        assert (tmp_path / "out.csv").read_text() == "what was there before"
        assert sorted(os.listdir(tmp_path)) == ["out.csv", "t.csv"]

    def test_an_interruption_leaves_nothing_behind(self, mapping, frame, tmp_path, batches):
        pd.concat([frame] * 6).to_csv(tmp_path / "t.csv", index=False)

        def stop(stage, share):
            if share > 0.5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            mapping.apply(tmp_path / "t.csv", to=tmp_path / "out.csv", progress=stop)
        assert os.listdir(tmp_path) == ["t.csv"]

    @pytest.mark.parametrize("place", [0.1, 0.3, 0.6, 0.9])
    @pytest.mark.parametrize("kind", ["csv", "parquet"])
    def test_ctrl_c_leaves_nothing_behind(self, mapping, frame, tmp_path, batches, kind, place):
        """Whatever is read, transformed and written at that moment."""
        many = pd.concat([frame] * 20)
        many.to_csv(tmp_path / "t.csv", index=False) if kind == "csv" else many.to_parquet(tmp_path / "t.parquet")
        sent = []

        def stop(stage, share):
            if share > place and not sent:
                sent.append(stage)
                os.kill(os.getpid(), signal.SIGINT)

        with pytest.raises(KeyboardInterrupt):
            mapping.apply(tmp_path / f"t.{kind}", to=tmp_path / f"out.{kind}", progress=stop)
        assert os.listdir(tmp_path) == [f"t.{kind}"]

    def test_results_are_as_readable_as_other_files(self, mapping, files):
        mapping.apply(files / "in.csv", to=files / "out.csv")
        (files / "plain").write_text("")
        assert stat.S_IMODE((files / "out.csv").stat().st_mode) == stat.S_IMODE((files / "plain").stat().st_mode)
