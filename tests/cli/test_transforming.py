"""Commands that take a table through a mapping, and those that read another table than the fitted one."""

import pandas as pd
import pytest
from commands import complained, document, flat, misused
from families import small_frame, small_problem

import evenhand as eh

pytestmark = pytest.mark.turns(2)


@pytest.fixture
def gaps(fitted):
    """The folder with a test file in which one value is missing, where training had none."""
    frame = small_frame()
    frame.loc[70, "group"] = None
    frame.to_csv(fitted / "gaps.csv", index=False)
    return fitted


COMMANDS = {
    "apply": ("apply", "fine.mapping", "gaps.csv", "--out", "new.csv"),
    "release": ("release", "fine.mapping", "gaps.csv", "--out", "new.csv"),
    "expand": ("expand", "fine.mapping", "gaps.csv", "--out", "new.csv"),
    "audit": ("audit", "fine.mapping", "gaps.csv"),
    "theory": ("theory", "fine.mapping", "--holdout", "gaps.csv"),
    "report": ("report", "fine.mapping", "--table", "gaps.csv", "--no-frontier"),
}


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("command", ["apply", "release", "expand", "audit",
                                     pytest.param("theory", marks=pytest.mark.slow),
                                     pytest.param("report", marks=pytest.mark.slow)])  # fmt: skip
def test_one_missing_value_is_named_with_its_row_and_what_to_write(gaps, inside, command):
    said = "column 'group' has a missing value in row 71"
    complained(inside(*COMMANDS[command]), said, "--missing level")
    done = inside(*COMMANDS[command], "--missing", "level")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("command", ["apply", "release"])
def test_a_row_that_is_kept_is_told(gaps, inside, command):
    shown = inside(*COMMANDS[command], "--missing", "level")
    assert "Unseen 1 in a cell that nobody had" in flat(shown.stdout)
    assert "Missing 1 of these, for a value that is missing" in flat(shown.stdout)
    assert "1 of them for a missing value that has no level in the mapping" in flat(shown.stderr)
    found = document(inside(*COMMANDS[command], "--missing", "level", "--force", "--json"))
    assert (found["unseen"], found["missing"], found["options"]["missing"]) == (1, 1, "level")
    assert pd.read_csv(gaps / "new.csv")["group"].isna().to_numpy().nonzero()[0].tolist() == [70]
    if command == "release":
        assert found["realised"] is not None


@pytest.mark.slow
def test_an_audit_counts_it(gaps, inside):
    found = document(inside(*COMMANDS["audit"], "--missing", "level", "--json"))
    counted = {(row["column"], row["what"]): row["rows"] for row in found["coverage"]["coverage"]}
    assert counted["group", "missing"] == 1
    shown = flat(inside(*COMMANDS["audit"], "--missing", "level").stdout)
    assert "group missing 1 kept, left out of this audit" in shown


def test_a_query_takes_it_too(gaps, inside):
    arguments = ("sql", "fine.mapping", "--dialect", "duckdb", "--table", "people", "--key", "id")
    strict, lenient = (inside(*arguments, *more).stdout for more in ((), ("--missing", "level")))
    assert "has a missing value" in strict
    assert "'group'' has a missing value" not in lenient


@pytest.mark.parametrize("command", ["audit", "theory", "report"])
def test_it_goes_with_a_table(fitted, inside, command):
    misused(inside(command, "fine.mapping", "--missing", "level"), "--missing", "goes with")


@pytest.mark.slow
def test_it_is_said_where_apply_mode_changes_nothing(fitted, inside):
    """Where features are fixed, people are used as they come."""
    frame = small_frame()
    stated = small_problem(distortion=eh.Distortion({"hired": eh.Nominal(1)}))
    mapping = eh.fit(stated, frame)
    mapping.save(fitted / "fixed.mapping")
    frame.to_csv(fitted / "table.csv", index=False)
    shown = flat(inside("apply", "fixed.mapping", "table.csv", "--out", "same.csv").stdout)
    assert "this mapping changes no feature" in shown
    assert (fitted / "same.csv").read_text() == (fitted / "table.csv").read_text()
    again = ("apply", "fixed.mapping", "table.csv", "--out", "same.csv", "--force", "--json")
    assert document(inside(*again))["changes_nothing"] is True
