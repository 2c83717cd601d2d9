"""The bytes of CSV files: packed, damaged, in lines and records."""

import csv
import gzip

import pyarrow
import pytest

from evenhand.engines.unpacking import Ends, Unended, checked, chunks, fault, records, with_equal_ends
from evenhand.errors import DataError

DATA = b"name,n\n" + b"".join(b"person %d,%d\n" % (i, i * i) for i in range(5000))


def packed(kind):
    if kind == "gz":
        return gzip.compress(DATA)
    # With a checksum, as the program of that name writes it.
    sink = pyarrow.BufferOutputStream()
    with pyarrow.CompressedOutputStream(sink, "zstd") as file:
        file.write(DATA)
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

    def test_ends_become_equal_outside_of_quotes(self, tmp_path):
        path = self.write(tmp_path, 'a,b\r\n1,"x\r\ny\rz"\n2,3\r4,5')
        assert b"".join(with_equal_ends(path, ",")) == b'a,b\n1,"x\r\ny\rz"\n2,3\n4,5\n'


def test_ends_across_chunks(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.engines.unpacking.CHUNK", 3)
    (tmp_path / "t.csv").write_bytes("ab\r\ncd\r\nef\rg\né\n".encode())
    taken = []
    assert checked(str(tmp_path / "t.csv"), taken.append) == Ends(returns=3, feeds=4, both=2)
    assert b"".join(taken) == (tmp_path / "t.csv").read_bytes()


def test_bytes_that_are_no_text_are_found_in_their_line(tmp_path, monkeypatch):
    monkeypatch.setattr("evenhand.engines.unpacking.CHUNK", 4)
    (tmp_path / "t.csv").write_bytes(b"a\nb\nc\n\xe9t\xe9\n")
    with pytest.raises(DataError, match="not text in UTF-8 in line 4"):
        checked(str(tmp_path / "t.csv"), len)
