"""CSV files by their bytes: packed, damaged, cut into records, and spliced."""

import csv
import gzip
import io

import numpy as np
import pyarrow
import pytest

import evenhand as eh
from evenhand.engines.delimited import Records, Shape, chunks, first_record, records
from evenhand.engines.splicing import Splice
from evenhand.errors import DataError

MEGABYTE = 1 << 20
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
    monkeypatch.setattr("evenhand.engines.delimited.HARMLESS", 2 * MEGABYTE)
    monkeypatch.setattr("evenhand.engines.delimited.CHUNK", MEGABYTE)
    path, shares, content = tmp_path / f"t.csv.{kind}", [], b"a,b\n" * (10 * MEGABYTE)
    path.write_bytes(packed(kind, content))
    with pytest.raises(DataError, match=r"unpacks to more than .*, over 100 times .* unpacked='"):
        list(chunks(str(path), shares.append))
    assert len(shares) == 2
    with eh.using(unpacked="1GB"):
        assert b"".join(chunks(str(path))) == content
    with eh.using(unpacked=MEGABYTE), pytest.raises(DataError, match=r"more than 1.04858MB\. If"):
        list(chunks(str(path)))
    # What does not repeat itself is as large as it is.
    ordinary = np.random.default_rng(1).bytes(3 * MEGABYTE)
    path.write_bytes(packed(kind, ordinary))
    assert b"".join(chunks(str(path))) == ordinary


def test_one_bit_of_a_packed_file(tmp_path):
    """Whichever it is, of the content and of its checksum."""
    path, whole = tmp_path / "t.csv.gz", packed("gz")
    for place in (*range(12, len(whole), len(whole) // 50), len(whole) - 7, len(whole) - 2):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 4]) + whole[place + 1 :])
        with pytest.raises(DataError, match="is damaged and cannot be unpacked"):
            list(chunks(str(path)))


ENDS = ["\n", "\r\n", "\r"]
FIELDS = ["x", "", "12", "-3.5", "é", "a b", '"q"', '"a""b"', '"x\ny"', '"x\r\ny"', '""', "longer than eight bytes"]
ODD = ['5" w', 'a"b"c']
"""Quotes that are a part of a text."""


def write(folder, text):
    (folder / "t.csv").write_bytes(text.encode() if isinstance(text, str) else text)
    return str(folder / "t.csv")


def found_in(path, delimiter=",", fields=2):
    """All records as lists of texts, column by column in both ways."""
    rows = []
    for part in records(Shape(path, delimiter, fields)):
        columns = []
        for place in range(fields):
            codes, texts = part.numbered(place)
            columns.append([texts[code] for code in codes.tolist()])
            assert part.texts(place).to_pylist() == columns[-1]
        rows += map(list, zip(*columns, strict=True))
    return rows


def expected_of(text, delimiter):
    """What Python's own reader finds, which knows delimiters of one character alone."""
    rows = csv.reader(io.StringIO(text.replace(delimiter, "\ufdd0"), newline=""), delimiter="\ufdd0", strict=True)
    return [[field.replace("\ufdd0", delimiter) for field in row] for row in rows if row]


class TestRecords:
    @pytest.mark.parametrize("chunk", [1, 7, 1 << 20])
    @pytest.mark.parametrize("delimiter", [",", ";", ", ", "||", "§"])
    @pytest.mark.parametrize("end", ENDS, ids=repr)
    @pytest.mark.parametrize("odd", [False, True])
    def test_as_pythons_own_reader(self, tmp_path, monkeypatch, chunk, delimiter, end, odd):
        monkeypatch.setattr("evenhand.engines.delimited.CHUNK", chunk)
        rng = np.random.default_rng(chunk)
        for fields in (2, 5):
            pool = [*FIELDS, f'"{delimiter}"', *(ODD if odd else [])]
            lines = [delimiter.join(rng.choice(pool, fields)) for _ in range(40)]
            text = end.join(lines) + end * int(rng.integers(0, 2))
            path = write(tmp_path, "\ufeff" * int(rng.integers(0, 2)) + text)
            found = [[field or "" for field in row] for row in found_in(path, delimiter, fields)]
            assert found == expected_of(text, delimiter)

    def test_an_empty_field_and_an_empty_text(self, tmp_path):
        assert found_in(write(tmp_path, 'a,""\n,\n')) == [["a", ""], [None, None]]

    def test_zeros_and_long_texts(self, tmp_path):
        rows = [["a\0", "x" * 200], ["a", "y" * 200], ["a\0\0", "x" * 200]]
        assert found_in(write(tmp_path, "".join(",".join(row) + "\n" for row in rows))) == rows

    def test_blank_lines_are_no_records(self, tmp_path):
        assert found_in(write(tmp_path, "a,b\n\n1,2\n\n")) == [["a", "b"], ["1", "2"]]
        assert found_in(write(tmp_path, "a\n\nb\n"), fields=1) == [["a"], [None], ["b"]]

    def test_the_first_record(self, tmp_path):
        path = write(tmp_path, '\ufeff"a","b\r\nc"\r\n1,2')
        assert first_record(path, ",") == (b'"a","b\r\nc"', ["a", "b\r\nc"])
        assert first_record(write(tmp_path, ""), ",") is None

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ('a,"b\n1,2\n', "has a quote in line 1 that does not end"),
            ('a,b\n1,"2"3\n', "has a quote in line 2 .* or text after one"),
            ("a,b\n1,2\n1,2,3\n", "has 3 fields in line 3 where it should have 2"),
            ('a,b\n"1\n",2\n1\n', "has 1 fields in line 4 where it should have 2"),
            ("a,b\n1,2\r\n", "has mixed line ends: those of line 2 differ"),
            ('a,b\n1,"x\ny"\r\n', "has mixed line ends: those of line 3 differ"),
            ("a,b\n1,2\n\r\n", "has mixed line ends: those of line 3 differ"),
            ("a,b\r1,2\n3,4\r", "has mixed line ends: those of line 2 differ"),
            (b"a,b\n1,2\n\xe9,1\n", "is not text in UTF-8 in line 3"),
        ],
    )
    @pytest.mark.parametrize("chunk", [1, 5, 1 << 20])
    def test_what_is_wrong_is_found_in_its_line(self, tmp_path, monkeypatch, text, words, chunk):
        monkeypatch.setattr("evenhand.engines.delimited.CHUNK", chunk)
        with pytest.raises(DataError, match=words):
            found_in(write(tmp_path, text))

    def test_a_line_without_an_end_is_not_held(self, tmp_path, monkeypatch):
        monkeypatch.setattr("evenhand.engines.delimited.CHUNK", 10)
        monkeypatch.setattr("evenhand.engines.delimited.LONGEST_RECORD", 100)
        with pytest.raises(DataError, match=r"a row of more than .* in line 2"):
            found_in(write(tmp_path, b"a,b\n" + b"x" * 1000))

    def test_every_byte_is_seen(self, tmp_path):
        path, seen = tmp_path / "t.csv.gz", []
        path.write_bytes(packed("gz"))
        rows = sum(map(len, records(Shape(str(path), ",", 2), see=lambda content: seen.append(bytes(content)))))
        assert rows == 5001
        assert b"".join(seen) == path.read_bytes()


class TestSplice:
    TEXT = 'a,b,c\n1,"x,y",=1\n2,,3\n'

    @pytest.fixture(params=["\n", "\r\n", "\n\n"], ids=repr)
    def some(self, request, tmp_path):
        path = write(tmp_path, self.TEXT.replace("\n", request.param))
        return (
            Records.joined(list(records(Shape(path, ",", 3))))
            if request.param == "\n\n"
            else next(records(Shape(path, ",", 3)))
        )

    def splice(self, some, **options):
        options = {"places": [0, 1, 2], "mark": b",", "written": b",", **options}
        return Splice(some, **options)

    def test_what_is_not_replaced_stays(self, some):
        assert self.splice(some).joined([b"\n"]).decode() == self.TEXT

    def test_fields_are_replaced(self, some):
        splice = self.splice(some)
        splice.replace(0, np.array([1, 2]), ["new", 'q"'], np.array([1, 0]))
        splice.replace(1, np.array([2]), [None], np.array([0]))
        assert splice.joined([b"\n"]).decode() == 'a,b,c\n"q""","x,y",=1\nnew,,3\n'

    def test_rows_come_several_times_with_tails_of_their_own(self, some):
        splice = self.splice(some, rows=np.array([1, 1, 2]))
        splice.replace(2, np.array([1]), ["7"], np.array([0]))
        found = splice.joined([b",.5\n", b",1\n"], np.array([0, 0, 1])).decode()
        assert found == '1,"x,y",=1,.5\n1,"x,y",7,.5\n2,,3,1\n'

    def test_columns_and_delimiters(self, some):
        assert self.splice(some, places=[0, 2]).joined([b"\n"]) == b"a,c\n1,=1\n2,3\n"
        assert self.splice(some, places=[1, 2], written=b"\t").joined([b"\n"]) == b'b\tc\n"x,y"\t=1\n\t3\n'
        semicolons = self.splice(some, written=b"=")
        assert semicolons.joined([b"\n"]) == b'a=b=c\n1="x,y"="=1"\n2==3\n'

    def test_formulas_are_escaped(self, some):
        splice = self.splice(some, escape=True)
        splice.replace(0, np.array([0, 1]), ["@x", "-5"], np.array([0, 1]))
        assert splice.joined([b"\n"]).decode() == "'@x,b,c\n-5,\"x,y\",'=1\n2,,3\n"
