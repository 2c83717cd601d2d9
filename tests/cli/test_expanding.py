"""The command that writes every possible result with its weight."""

import os

import pandas as pd
import pytest
from commands import complained, document, flat
from families import small_frame

import evenhand as eh

EXPAND = ("expand", "fine.mapping")


@pytest.fixture
def expected(fitted):
    return eh.Mapping.load(fitted / "fine.mapping").expand(small_frame())


@pytest.fixture
def every(fitted):
    """Every possible result of each row, without any that are merged."""
    return eh.Mapping.load(fitted / "fine.mapping").possibilities(small_frame(), mode="release")


def merged(found, weight="weight"):
    """The same with equal rows put together, where the first of them is."""
    columns = [name for name in found if name != weight]
    return found.groupby(columns, sort=False)[weight].sum().reset_index()


class TestAnswers:
    @pytest.mark.slow
    def test_what_is_shown(self, fitted, inside, expected, every):
        result = inside(*EXPAND, "people.csv", "--out", "e.csv")
        assert result.returncode == 0, result.stderr
        said = flat(result.stdout)
        assert f"Rows 200 Results {len(every)}" in said
        assert "weights sum to 200, the number of rows; they are in the column weight" in said
        assert "What was written Table e.csv" in said
        assert "evenhand audit fine.mapping people.csv" in said
        assert "not seen when fitting" not in said
        assert "passed through" not in said
        assert result.stderr == ""
        pd.testing.assert_frame_equal(merged(pd.read_csv(fitted / "e.csv")), expected)

    def test_the_document(self, fitted, inside, expected, every):
        small_frame().assign(note="x").to_csv(fitted / "noted.csv", index=False)
        found = document(inside(*EXPAND, "noted.csv", "--out", "e.parquet", "--weight-column", "w", "--json"))
        files = {name: found["written"][name] for name in ("table", "manifest")}
        assert files == {"table": "e.parquet", "manifest": "e.parquet.manifest.json"}
        rows, options = found["rows"], found["options"]
        assert (rows["rows"], rows["results"], rows["weight"]) == (200, len(every), 200)
        assert (rows["unseen"], rows["missing"], rows["passed_through"]) == (0, 0, ["note"])
        assert (options["weight_column"], options["restore"], options["mark"]) == ("w", "midpoint", None)
        assert (options["formulas"], options["weights"]) == ("keep", None)
        assert [note["key"] for note in found["use"]["notes"]] == ["rows.use", "rows.no_weights"]
        written = merged(pd.read_parquet(fitted / "e.parquet").drop(columns="note"), "w")
        assert written["w"].to_numpy() == pytest.approx(expected["weight"].to_numpy())

    @pytest.mark.slow
    def test_columns_outside_the_problem_are_named(self, fitted, inside):
        small_frame().assign(id=range(200)).to_csv(fitted / "own.csv", index=False)
        said = flat(inside(*EXPAND, "own.csv", "--out", "e.csv").stdout)
        assert "nothing bounds what a model learns from them: id" in said
        written = pd.read_csv(fitted / "e.csv")
        assert written.groupby("id")["weight"].sum().to_numpy() == pytest.approx([1.0] * 200)

    @pytest.mark.slow
    def test_weights(self, fitted, inside, expected):
        cells = small_frame().value_counts().rename("n").reset_index()
        cells.to_csv(fitted / "cells.csv", index=False)
        result = inside(*EXPAND, "cells.csv", "--out", "e.csv", "--frequencies", "n")
        said = flat(result.stdout)
        assert "Rows 8" in said
        assert "weights sum to 200, the sum of n; they are in the column weight" in said
        assert "evenhand audit fine.mapping cells.csv --frequencies n" in said
        assert "passed through" not in said
        keys = ["group", "score", "hired"]
        found, wanted = (each.sort_values(keys)["weight"] for each in (merged(pd.read_csv(fitted / "e.csv")), expected))
        assert found.to_numpy() == pytest.approx(wanted.to_numpy())

    @pytest.mark.slow
    def test_weights_that_are_left_out(self, fitted, inside):
        cells = small_frame().value_counts().rename("n").reset_index()
        cells.to_csv(fitted / "cells.csv", index=False)
        fit = ("fit", "fine.toml", "cells.csv", "--frequencies", "n", "--out", "w.mapping")
        assert inside(*fit).returncode == 0
        said = flat(inside("expand", "w.mapping", "people.csv", "--out", "e.csv").stdout)
        assert "the mapping was fitted with frequencies, and this table has no column 'n'" in said

    @pytest.mark.slow
    def test_people_of_an_unseen_kind(self, fitted, inside):
        (fitted / "new.csv").write_text("group,score,hired\na,1,0\nb,7,0\n,1,0\n")
        arguments = (*EXPAND, "new.csv", "--out", "e.csv", "--missing", "level")
        result = inside(*arguments)
        said = flat(result.stdout)
        assert "2 rows have a combination not seen when fitting, 1 of them with a missing value: left unchanged" in said
        assert flat(result.stderr).startswith("Note: 2 of 3 rows")
        complained(inside(*arguments, "--force", "--unseen", "error"), "2 of 3 rows", "in row 2", "--unseen typical")

    def test_no_rows(self, fitted, inside):
        (fitted / "header.csv").write_text("group,score,hired\n")
        result = inside(*EXPAND, "header.csv", "--out", "e.csv")
        assert result.returncode == 0, result.stderr
        assert (fitted / "e.csv").read_text() == "group,score,hired,weight\n"
        assert "Rows 0 Results 0" in flat(result.stdout)

    @pytest.mark.slow
    def test_a_pattern_within_little_memory(self, fitted, inside, expected):
        small_frame().head(70).to_csv(fitted / "part-0.csv", index=False)
        small_frame().tail(-70).to_csv(fitted / "part-1.csv", index=False)
        result = inside(*EXPAND, "part-*.csv", "--out", "e.csv", "--memory", "64MB", "--threads", "1")
        assert result.returncode == 0, result.stderr
        pd.testing.assert_frame_equal(merged(pd.read_csv(fitted / "e.csv")), expected)


class TestComplaints:
    @pytest.fixture(autouse=True)
    def nothing_is_written(self, fitted):
        small_frame().assign(weight=1, w=-1).to_csv(fitted / "own.csv", index=False)
        before = sorted(os.listdir(fitted))
        yield
        assert sorted(os.listdir(fitted)) == before

    @pytest.mark.slow
    def test_a_name_that_is_taken(self, inside):
        complained(
            inside(*EXPAND, "own.csv", "--out", "e.csv"),
            "already has a column 'weight'; give --weight-column another name",
        )

    @pytest.mark.slow(keep=4)
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("people.csv", "--out", "e.csv", "--weights", "n"), "no column 'n'"),
            (("people.csv", "--out", "e.csv", "--weights", "hired"), "cannot also be the weights"),
            (("own.csv", "--out", "e.csv", "--weights", "w", "--weight-column", "v"), "200 rows of 'own.csv' have no"),
            (("people.csv", "--out", "people.csv", "--force"), "to be read and written"),
            (("people.csv", "--out", "own.csv"), "'own.csv' exists already; --force overwrites it"),
            (("part-*.csv", "--out", "e.csv"), "there is no file 'part-*.csv'"),
            (("people.csv", "--out", "nowhere/e.csv"), "there is no folder"),
        ],
        ids=lambda value: " ".join(value) if isinstance(value, tuple) else None,
    )
    def test_input(self, inside, arguments, words):
        complained(inside(*EXPAND, *arguments), words)
