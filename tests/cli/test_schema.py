"""The schema of problem files from the command line, and init naming it where it lies."""

import json

import pytest
from commands import complained, document

import evenhand as eh

INIT = ("init", "people.csv", "--protected", "group", "--outcome", "hired", "--out")


@pytest.mark.slow
def test_it_is_shown_or_written(folder, inside):
    shown = inside("schema")
    assert json.loads(shown.stdout) == eh.Problem.schema()
    told = inside("schema", "--out", "own.json")
    assert "#:schema ./own.json" in told.stdout
    assert (folder / "own.json").read_text() == shown.stdout
    complained(inside("schema", "--out", "own.json"), "exists already")
    found = document(inside("schema", "--json"))
    assert found["schema"] == eh.Problem.schema()
    assert found["written"]["schema"] is None


@pytest.mark.slow
def test_init_names_the_schema_where_it_lies_beside_the_problem(folder, inside):
    assert inside(*INIT, "before.toml").returncode == 0
    assert "#:schema" not in (folder / "before.toml").read_text()
    assert inside("schema", "--out", "problem.schema.json").returncode == 0
    found = document(inside(*INIT, "after.toml", "--json"))
    text = (folder / "after.toml").read_text()
    assert (
        text
        == found["chosen"]["toml"]
        == "#:schema ./problem.schema.json\n"
        + (folder / "before.toml").read_text().replace("before.toml", "after.toml")
    )
    assert eh.Problem.from_toml(text) == eh.Problem.from_toml((folder / "before.toml").read_text())
