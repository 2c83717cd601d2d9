"""Wrong input: every mistake ends with one sentence, its exit code, and nothing written."""

import errno
import os

import pandas as pd
import pytest
from commands import complained, document, flat, misused
from families import small_frame

from evenhand import storage


@pytest.fixture(autouse=True)
def nothing_written(fitted):
    """No command leaves anything but what the tests themselves made."""
    made = fitted / "made"
    made.mkdir()
    before = {p.name: p.read_bytes() for p in fitted.iterdir() if p.is_file()}
    yield made
    assert {p.name: p.read_bytes() for p in fitted.iterdir() if p.is_file()} == before
    assert not [p for p in made.iterdir() if p.name.startswith(".")]


@pytest.fixture
def made(nothing_written):
    return nothing_written


class TestProblems:
    def test_files_that_are_not_there(self, inside):
        complained(inside("fit", "nowhere.toml", "people.csv"), "nowhere.toml", "No such file")
        complained(inside("fit", "fine.toml", "nowhere.csv"), "no file 'nowhere.csv'")
        complained(inside("fit", "fine.toml"), "needs a table")
        complained(inside("theory", "nowhere.mapping"), "No such file")
        complained(inside("verify", "nowhere.mapping"), "No such file")
        complained(inside("audit", "nowhere.mapping"), "No such file")

    def test_a_problem_that_is_no_toml(self, made, inside):
        (made / "broken.toml").write_text("protected = [")
        complained(inside("fit", "made/broken.toml", "people.csv"), "broken.toml: ", "TOML")
        (made / "binary.toml").write_bytes(b"\xff\xfe\x00\x01")
        complained(inside("fit", "made/binary.toml", "people.csv"), "is not text")

    def test_a_typo(self, fitted, made, inside):
        text = (fitted / "fine.toml").read_text()
        (made / "odd.toml").write_text(text.replace("features", "featurs"))
        complained(inside("fit", "made/odd.toml", "people.csv"), "odd.toml: ", "Did you mean 'features'?")
        (made / "odd.toml").write_text(text.replace('"pairwise"', '"pairwaise"'))
        complained(inside("diagnose", "made/odd.toml", "people.csv"), "odd.toml: ", "Did you mean 'pairwise'?")

    def test_a_column_that_is_not_there(self, fitted, made, inside):
        text = (fitted / "fine.toml").read_text()
        (made / "odd.toml").write_text(text.replace('["score"]', '["scores"]').replace("rules.score", "rules.scores"))
        complained(inside("diagnose", "made/odd.toml", "people.csv"), "no column 'scores'", "Did you mean 'score'?")
        complained(inside("fit", "fine.toml", "people.csv", "--weights", "n"), "no column 'n'")

    def test_numbers_where_levels_were_promised(self, fitted, made, inside):
        text = (fitted / "fine.toml").read_text()
        ordered = text.replace("[distortion.rules.score]\n", '[distortion.rules.score]\nlevels = ["low", "high"]\n')
        (made / "words.toml").write_text(ordered)
        complained(inside("fit", "made/words.toml", "people.csv"), "column 'score'", "numbers", "'low'")
        frame = small_frame()
        frame.assign(score=frame["score"] + 0.5).to_csv(made / "real.csv", index=False)
        complained(inside("fit", "fine.toml", "made/real.csv"), "column 'score' holds real numbers", "0.5 to 1.5")


BROKEN = {
    "image.csv": (b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\xff", "is not text in UTF-8"),
    "empty.csv": (b"", "is empty"),
    "long.csv": (b"group,score,hired\na,1,0\nb,0,1\nb,1,0,4,5\n", "line 4"),
    "short.csv": (b"group,score,hired\na,1,0\nb,0\n", "line 3"),
    "latin.csv": ("group,score,hired\na,1,0\né,0,1\n".encode("latin-1"), "line 3"),
    "quote.csv": (b'group,score,hired\na,1,0\n"b,0,1\na,0,1\n', "quote"),
    "semicolon.csv": (b"group;score;hired\na;1;0\n", "separated by ';'"),
    "no-group.csv": (b"score,hired\n1,0\n", "no column 'group'"),
}


class TestTables:
    @pytest.mark.slow(keep=5)
    @pytest.mark.parametrize("name", BROKEN)
    @pytest.mark.parametrize(
        "command",
        [
            ("fit", "fine.toml", "made/{}", "--out", "x"),
            ("release", "fine.mapping", "made/{}", "--out", "x.csv"),
            ("apply", "fine.mapping", "made/{}", "--out", "x.csv"),
            ("expand", "fine.mapping", "made/{}", "--out", "x.csv"),
            ("audit", "fine.mapping", "made/{}"),
            ("init", "made/{}", "--protected", "group", "--outcome", "hired", "--out", "x"),
        ],
        ids=lambda command: command[0],
    )
    def test_a_file_that_cannot_be_read(self, made, inside, command, name):
        content, words = BROKEN[name]
        (made / name).write_bytes(content)
        complained(inside(*(word.format(name) for word in command)), name if name != "no-group.csv" else "group", words)

    def test_a_header_alone_has_nothing_to_fit(self, made, inside):
        (made / "header.csv").write_text("group,score,hired\n")
        complained(inside("fit", "fine.toml", "made/header.csv"), "no rows")
        complained(inside("init", "made/header.csv", "--protected", "group", "--outcome", "hired"), "no rows")

    def test_a_folder(self, inside):
        complained(inside("fit", "fine.toml", "."), "is a folder")
        complained(inside("apply", "fine.mapping", ".", "--out", "x.csv"), "is a folder")

    @pytest.mark.slow
    def test_a_key_that_is_missing_somewhere(self, made, inside):
        frame = small_frame()
        frame["id"] = pd.array([*range(4), None, *range(5, len(frame))], dtype="Int64")
        frame.to_csv(made / "keyed.csv", index=False)
        result = inside("apply", "fine.mapping", "made/keyed.csv", "--key", "id", "--out", "x.csv")
        complained(result, "column 'id' has a missing value in row 5")
        complained(
            inside("apply", "fine.mapping", "made/keyed.csv", "--key", "person", "--out", "x.csv"), "no column 'person'"
        )

    def test_rows_of_a_kind_that_was_not_fitted(self, made, inside):
        (made / "new.csv").write_text("group,score,hired\na,1,0\nb,7,0\n")
        words = "1 of 2 rows", "in row 2", "column 'score' has the new value"
        result = inside("apply", "fine.mapping", "made/new.csv", "--unseen", "error", "--out", "made/x.csv")
        complained(result, *words)
        assert not (made / "x.csv").exists()
        kept = inside("apply", "fine.mapping", "made/new.csv", "--out", "made/x.csv")
        assert kept.returncode == 0
        assert flat(kept.stderr).startswith("Note: 1 of 2 rows")


class TestOutputs:
    @pytest.mark.slow
    def test_what_exists_is_refused_before_any_work(self, made, inside):
        (made / "old.csv").write_text("precious")
        for command in (
            ("fit", "nowhere.toml", "people.csv"),
            ("release", "nowhere.mapping", "people.csv"),
            ("apply", "nowhere.mapping", "people.csv"),
            ("expand", "nowhere.mapping", "people.csv"),
            ("frontier", "nowhere.toml", "people.csv"),
            ("init", "people.csv", "--protected", "group", "--outcome", "hired"),
        ):
            complained(
                inside(*command, "--out", "made/old.csv"), "'made/old.csv' exists already; --force overwrites it"
            )
        assert (made / "old.csv").read_text() == "precious"
        forced = inside("apply", "fine.mapping", "people.csv", "--out", "made/old.csv", "--force")
        assert forced.returncode == 0
        assert len(pd.read_csv(made / "old.csv")) == 200

    def test_names_that_no_file_can_have(self, inside):
        fit = ("fit", "fine.toml", "people.csv")
        complained(inside(*fit, "--out", "no/where"), "there is no folder")
        complained(inside(*fit, "--out", "people.csv/x"), "there is no folder")
        complained(inside(*fit, "--out", "."), "is a folder")
        complained(inside(*fit, "--out", "x", "--proof", "x"), "to be written twice")
        complained(inside(*fit, "--out", "people.csv", "--force"), "to be read and written")

    @pytest.mark.slow(keep=2)
    @pytest.mark.parametrize(
        "arguments",
        [
            ("apply", "fine.mapping", "people.csv", "--out", "x.xlsx"),
            ("release", "fine.mapping", "people.csv", "--out", "x.xlsx"),
            ("expand", "fine.mapping", "people.csv", "--out", "x.xlsx"),
            ("expand", "fine.mapping", "people.csv", "--out", "x.csv", "--restore", "sample"),
            ("report", "fine.mapping", "--out", "x.pdf"),
            ("report", "fine.mapping", "--confidence", "1"),
            ("frontier", "fine.toml", "people.csv", "--chart", "x.gif"),
            ("frontier", "fine.toml", "people.csv", "--bounds", f"0:1:{10**400}"),
            ("frontier", "fine.toml", "people.csv", "--budgets", "0:1:1000000"),
            ("fit", "fine.toml", "people.csv", "--memory", "9" * 400),
            ("fit", "fine.toml", "people.csv", "--threads", "9" * 400),
            ("apply", "fine.mapping", "people.csv", "--out", "x.csv", "--seed", "9" * 5000),
            ("theory", "fine.mapping", "--confidence", "2"),
            ("theory", "fine.mapping", "--confidence", "nan"),
            ("theory", "fine.mapping", "--margin", "-1"),
            ("fit", "fine.toml", "people.csv", "--time-limit", "-1"),
            ("apply", "fine.mapping", "people.csv", "--out", "x.csv", "--seed", "-1"),
        ],
        ids=lambda arguments: f"{arguments[0]} {arguments[-2]} {arguments[-1][:20]}",
    )
    def test_values_that_an_option_does_not_take(self, inside, arguments):
        misused(inside(*arguments), arguments[-2])
        error = document(inside(*arguments, "--json"))["error"]
        assert (error["kind"], error["exit_code"]) == ("UsageError", 2)

    @pytest.mark.skipif(os.geteuid() == 0, reason="the superuser may write everywhere")
    def test_a_folder_that_may_not_be_written_to(self, made, inside):
        made.chmod(0o500)
        try:
            complained(inside("apply", "fine.mapping", "people.csv", "--out", "made/x.csv"), "permission denied")
        finally:
            made.chmod(0o700)

    @pytest.mark.slow(keep=1)
    @pytest.mark.parametrize("command", ["fit", "apply", "release", "expand", "init"])
    def test_a_disk_that_is_full(self, made, inside, monkeypatch, command):
        """The last step fails; what was written so far is removed."""

        def full(*_):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        first = "fine.toml" if command == "fit" else "fine.mapping"
        arguments = (command, first, "people.csv", "--out", "made/x.csv")
        if command == "init":
            arguments = ("init", "people.csv", "--protected", "group", "--outcome", "hired", "--out", "made/x.csv")
        monkeypatch.setattr(os, "link", full)
        monkeypatch.setattr(os, "replace", full)
        complained(inside(*arguments), "cannot write 'made/x.csv'", "No space left")
        assert not list(made.iterdir())


class TestMappingFiles:
    def test_another_format_version(self, compas_mapping, made, inside, monkeypatch):
        with monkeypatch.context() as patched:
            patched.setattr(storage, "VERSION", 2)
            compas_mapping.save(made / "new.mapping")
        for command in (("apply", "people.csv", "--out", "x.csv"), ("audit",), ("theory",)):
            result = inside(command[0], "made/new.mapping", *command[1:])
            complained(result, "'made/new.mapping': the file has format version 2", "fit again")
        refused = inside("verify", "made/new.mapping", "--json")
        assert refused.returncode == 1
        assert "format version 2" in document(refused)["verdict"]

    def test_something_else(self, inside):
        complained(inside("apply", "people.csv", "fine.toml", "--out", "x.csv"), "not a mapping file")
        complained(inside("apply", ".", "people.csv", "--out", "x.csv"), "Is a directory")
