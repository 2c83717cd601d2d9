"""The bytes of CSV files: packed, damaged, in lines and records."""

import csv
import gzip

import numpy as np
import pyarrow
import pytest

import evenhand as eh
from evenhand.engines.unpacking import CHUNK, Unended, checked, chunks, fault, lines, mixed_start, records
from evenhand.errors import DataError

DATA = b"name,n\n" + b"".join(b"person %d,%d\n" % (i, i * i) for i in range(5000))


def packed(kind, data=DATA):
    if kind == "gz":
        return gzip.compress(data)
    # With a checksum, as the program of that name writes it.
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as file:
        file.write(data)
    return sink.getvalue().to_pybytes()


@pytest.mark.parametrize("kind", ["gz", "zst"])
class TestPacked:
    def test_parts_one_after_another_are_one_file(self, tmp_path, kind):
        path = tmp_path / f"t.csv.{kind}"
        path.write_bytes(packed(kind) * 3)
        assert b"".join(chunks(str(path))) == DATA * 3

    def test_cut_off_anywhere(self, tmp_path, kind):
        path, whole = tmp_path / f"t.csv.{kind}", packed(kind)
        for size in (1, 2, 5, 9, len(whole) // 3, len(whole) // 2, *range(len(whole) - 12, len(whole))):
            path.write_bytes(whole[:size])
            with pytest.raises(DataError, match="is damaged and cannot be unpacked"):
                list(chunks(str(path)))

    def test_something_behind_it(self, tmp_path, kind):
        (tmp_path / f"t.csv.{kind}").write_bytes(packed(kind) + b"and more")
        with pytest.raises(DataError, match="is damaged and cannot be unpacked"):
            list(chunks(str(tmp_path / f"t.csv.{kind}")))

    def test_never_packed(self, tmp_path, kind):
        (tmp_path / f"t.csv.{kind}").write_bytes(DATA)
        with pytest.raises(DataError, match="is damaged and cannot be unpacked"):
            list(chunks(str(tmp_path / f"t.csv.{kind}")))


@pytest.mark.parametrize("kind", ["gz", "zst"])
def test_what_unpacks_to_far_more_than_usual_is_refused_early(tmp_path, monkeypatch, kind):
    """By its size so far, before it is read to its end; an option says how large it may be."""
    monkeypatch.setattr("evenhand.engines.unpacking.HARMLESS", 2 * CHUNK)
    path, shares, content = tmp_path / f"t.csv.{kind}", [], b"a,b\n" * (10 * CHUNK)
    path.write_bytes(packed(kind, content))
    with pytest.raises(DataError, match=r"unpacks to more than .*, over 100 times .* unpacked='"):
        list(chunks(str(path), shares.append))
    assert len(shares) == 2
    with eh.using(unpacked="1GB"):
        assert b"".join(chunks(str(path))) == content
    with eh.using(unpacked=CHUNK), pytest.raises(DataError, match=r"more than 1.04858MB\. If"):
        list(chunks(str(path)))
    # What does not repeat itself is as large as it is.
    ordinary = np.random.default_rng(1).bytes(3 * CHUNK)
    path.write_bytes(packed(kind, ordinary))
    assert b"".join(chunks(str(path))) == ordinary


def test_one_bit_of_a_packed_file(tmp_path):
    """Whichever it is, of the content and of its checksum."""
    path, whole = tmp_path / "t.csv.gz", packed("gz")
    for place in (*range(12, len(whole), len(whole) // 50), len(whole) - 7, len(whole) - 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(DataError, match="is damaged and cannot be unpacked"):
            list(chunks(str(path)))


class TestRecords:
    def write(self, folder, text):
        (folder / "t.csv").write_bytes(text.encode())
        return str(folder / "t.csv")

    def test_lines_between_quotes_belong_to_their_record(self, tmp_path):
        path = self.write(tmp_path, '\ufeff"a","b\r\nc"\r\n\n5" wide,"x ""y"""\rlast,é')
        found = [(record.line, record.fields) for record in records(path, ",")]
        assert found == [(1, ("a", "b\r\nc")), (3, ()), (4, ('5" wide', 'x "y"')), (5, ("last", "Ã©"))]

    @pytest.mark.parametrize("delimiter", [", ", "§", "||"])
    def test_delimiters_of_several_bytes(self, tmp_path, delimiter):
        path = self.write(tmp_path, f'a{delimiter}"b{delimiter}b"\n')
        assert [len(record.fields) for record in records(path, delimiter)] == [2]
        assert fault(path, 2, delimiter) is None

    def test_the_limit_of_a_field_is_put_back(self, tmp_path):
        before = csv.field_size_limit()
        path = self.write(tmp_path, "a\n" + "x" * 3_000_000 + "\n")
        assert [len(record.fields[0]) for record in records(path, ",")] == [1, 3_000_000]
        assert csv.field_size_limit() == before

    @pytest.mark.parametrize("text", ['a,"b\n1,2\n', 'a,b\n1,"2"3\n'])
    def test_quotes_that_do_not_end(self, tmp_path, text):
        with pytest.raises(Unended, match=r"a quote in line [12] "):
            list(records(self.write(tmp_path, text), ","))

    @pytest.mark.parametrize(
        ("text", "line"),
        [("a,b\r\n1,2\n", 2), ('a,b\r\n1,"x\ny"\n', 3), ("a,b\n1,2\n\r\n", 3), ("a,b\r1,2\n3,4\r", 2)],
    )
    def test_rows_that_end_in_several_ways(self, tmp_path, text, line):
        path = self.write(tmp_path, text)
        assert f"those of line {line} differ" in fault(path, 2, ",")
        assert mixed_start(path, ",") is None

    @pytest.mark.parametrize("text", ['a,b\r\n1,"x\ny\rz"\r\n3,4', 'a,b\n\n1,"x\r\ny"', 'a,"\rb"\r1,2\r'])
    def test_rows_that_end_in_one_way(self, tmp_path, text):
        path = self.write(tmp_path, text)
        assert fault(path, 2, ",") is None
        assert mixed_start(path, ",") is None

    @pytest.mark.parametrize("text", ['a,"\nb"\r\n', '"a\r\n",b\n1,2\n', 'a,"b\r"\r\n'])
    def test_a_first_row_that_holds_another_end(self, tmp_path, text):
        assert "those of line 2 differ" in mixed_start(self.write(tmp_path, text), ",")


def test_lines_across_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.engines.unpacking.CHUNK", 3)
    path, content = str(tmp_path / "t.csv"), "ab\r\ncd\r\nef\rg\né\n".encode()
    (tmp_path / "t.csv").write_bytes(content)
    taken = []
    checked(path, taken.append)
    assert b"".join(taken) == content
    assert [record.end for record in records(path, ",")] == [b"\r\n", b"\r\n", b"\r", b"\n", b"\n"]


@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("places", [[20], [5, 20, 9], [31, 3]])
def test_the_longest_line(tmp_path, monkeypatch, end, places):
    monkeypatch.setattr("evenhand.engines.unpacking.CHUNK", 4)
    (tmp_path / "t.csv").write_bytes(end.join(b"x" * size for size in places))
    assert checked(str(tmp_path / "t.csv"), len) == max(places)


def test_a_line_without_an_end_is_not_held(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.engines.unpacking.CHUNK", 10)
    monkeypatch.setattr("evenhand.engines.unpacking.LONGEST_RECORD", 100)
    (tmp_path / "t.csv").write_bytes(b"a,b\n" + b"x" * 1000)
    assert max(map(len, lines(str(tmp_path / "t.csv")))) <= 110
    with pytest.raises(Unended, match=r"a row of more than .* in line 2"):
        list(records(str(tmp_path / "t.csv"), ","))


def test_bytes_that_are_no_text_are_found_in_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.engines.unpacking.CHUNK", 4)
    (tmp_path / "t.csv").write_bytes(b"a\nb\nc\n\xe9t\xe9\n")
    with pytest.raises(DataError, match="not text in UTF-8 in line 4"):
        checked(str(tmp_path / "t.csv"), len)
