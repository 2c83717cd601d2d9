"""init: from a table to a problem that can be read, changed and fitted."""

import pandas as pd
import pytest
from commands import complained, document, flat
from families import small_frame

import evenhand as eh


def test_what_it_writes_can_be_fitted(folder, inside):
    result = inside("init", "people.csv", "--protected", "group", "--outcome", "hired", "--out", "own.toml")
    assert result.returncode == 0, result.stderr
    said = flat(result.stdout)
    for words in ("Protected group", "Features score (ordinal)", "Outcome hired", "own.toml", "evenhand fit own.toml"):
        assert words in said, words
    assert eh.Problem.from_toml((folder / "own.toml").read_text()).features == ("score",)
    assert inside("fit", "own.toml", "people.csv").returncode == 0


def test_the_features_that_were_asked_for(folder, inside):
    frame = small_frame().assign(region=["north", "south"] * 100, age=range(20, 220))
    frame.to_csv(folder / "wide.csv", index=False)
    options = ("--protected", "group", "--outcome", "hired", "--features", "age,region", "--json")
    found = document(inside("init", "wide.csv", *options))
    assert found["features"] == [{"column": "age", "rule": "ordinal"}, {"column": "region", "rule": "nominal"}]
    assert found["left_out"] == {}
    problem = eh.Problem.from_toml(found["toml"])
    assert list(problem.bins) == ["age"]
    assert (folder / "problem.toml").read_text() == found["toml"]


def test_files_of_another_form(folder, inside):
    frame = small_frame()
    frame.to_csv(folder / "semicolon.csv", index=False, sep=";")
    options = ("--protected", "group", "--outcome", "hired", "--out", "own.toml", "--force")
    complained(inside("init", "semicolon.csv", *options), "separated by ';'")
    assert inside("init", "semicolon.csv", "--delimiter", ";", *options).returncode == 0
    assert inside("fit", "own.toml", "semicolon.csv", "--out", "s.mapping").returncode == 0
    frame.to_csv(folder / "bare.csv", index=False, header=False)
    result = inside("init", "bare.csv", *options)
    assert result.returncode == 3
    assert "no column 'group'" in flat(result.stderr)
    assert "give its columns with --names" in flat(result.stderr)
    assert inside("init", "bare.csv", "--names", "group,score,hired", *options).returncode == 0
    assert inside("fit", "own.toml", "bare.csv", "--out", "b.mapping").returncode == 0
    frame.to_parquet(folder / "people.parquet")
    assert inside("init", "people.parquet", *options).returncode == 0
    assert inside("fit", "own.toml", "people.parquet", "--out", "p.mapping").returncode == 0


def test_a_space_after_every_comma(folder, inside):
    (folder / "spaced.csv").write_text((folder / "people.csv").read_text().replace(",", ", "))
    words = pd.read_csv(folder / "people.csv").assign(region="north")
    words["word"] = ["yes", "no"] * 100
    words.to_csv(folder / "words.csv", index=False)
    text = (folder / "words.csv").read_text().replace(",", ", ")
    (folder / "spaced.csv").write_text(text)
    names = ("--protected", "group", "--outcome", "hired")
    (folder / "headless.csv").write_text("\n".join(text.splitlines()[1:]) + "\n")
    listed = ("--names", "group,score,hired,region,word")
    complained(inside("init", "headless.csv", *listed, *names), "begins with a space", "--delimiter ', '")
    assert inside("init", "headless.csv", *listed, "--delimiter", ", ", *names).returncode == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--protected", "group,", "--outcome", "hired"), "--protected"),
        (("--outcome", "hired"), "--protected"),
    ],
)
def test_a_wrong_command(inside, options, words):
    result = inside("init", "people.csv", *options)
    assert result.returncode == 2
    assert words in result.stderr
