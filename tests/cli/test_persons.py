"""The command that explains people of a file: who is meant, what was drawn for them, and why two differ."""

import pandas as pd
import pytest
from commands import complained, document, flat, misused
from families import small_frame

EXPLAIN = ("explain", "fine.mapping", "named.csv")


@pytest.fixture
def named(fitted):
    """The folder with a table of people who have names."""
    small_frame().assign(id=[f"p-{i}" for i in range(200)]).to_csv(fitted / "named.csv", index=False)
    return fitted


@pytest.mark.slow
def test_one_person(named, inside):
    shown = inside(*EXPLAIN, "--where", "id=p-60")
    assert shown.returncode == 0, shown.stderr
    said = flat(shown.stdout)
    assert "What may become of them in train mode" in said
    assert "20 fitted people have the same features, group and outcome" in said
    assert "they stay as they are with a probability of" in said
    found = document(inside(*EXPLAIN, "--where", "row=61", "--json"))
    assert found["person"]["explained"]["levels"] == {"group": "a", "score": "1", "hired": "0"}
    assert found["person"]["explained"]["mode"] == "release"
    applied = document(inside(*EXPLAIN, "--where", "id=p-60", "--mode", "apply", "--json"))
    assert applied["person"]["explained"]["mode"] == "apply"


@pytest.mark.slow
def test_a_value_that_is_missing_is_told_with_the_row_of_the_file(named, inside):
    frame = pd.read_csv(named / "named.csv").astype({"score": object})
    frame.loc[60, "score"] = None
    frame.to_csv(named / "gaps.csv", index=False)
    asked = ("explain", "fine.mapping", "gaps.csv", "--where", "id=p-60")
    complained(inside(*asked), "column 'score' has a missing value in row 61")
    assert "score=a new or missing value" in flat(inside(*asked, "--missing", "level").stdout)


def test_without_outcomes_it_is_apply_mode(named, inside):
    small_frame().drop(columns="hired").assign(id=range(200)).to_csv(named / "new.csv", index=False)
    found = document(inside("explain", "fine.mapping", "new.csv", "--where", "id=3", "--json"))
    assert found["person"]["explained"]["mode"] == "apply"


@pytest.mark.parametrize("draw", [("--draw", "balanced", "--seed", "5"), ("--key", "id", "--seed", "5")])
@pytest.mark.slow
def test_what_was_drawn(named, inside, draw):
    inside("release", "fine.mapping", "named.csv", "--out", "out.csv", *draw)
    before, after = pd.read_csv(named / "named.csv"), pd.read_csv(named / "out.csv")
    changed = int((before != after).any(axis=1).to_numpy().nonzero()[0][0])
    told = (*EXPLAIN, "--manifest", "out.csv.manifest.json", "--where")
    found = document(inside(*told, f"id=p-{changed}", "--and", "id=p-0", "--json"))
    drawn = found["person"]["drawn"]
    assert (drawn["file"], drawn["row"]) == ("out.csv", changed + 1)
    assert {name: str(value) for name, value in drawn["values"].items()} == {
        name: str(after.loc[changed, name]) for name in ("score", "hired")
    }
    likely = [each["probability"] for each in found["person"]["explained"]["results"]]
    assert drawn["probability"] in likely
    assert found["person"]["unlike"]["notes"]
    both = flat(inside(*told, f"id=p-{changed}", "--and", "id=p-0").stdout)
    assert both.count("Why the two differ") == 1
    assert both.index("id=p-0 ") < both.index("Why the two differ")
    said = flat(inside(*told, f"id=p-{changed}").stdout)
    assert f"in row {changed + 1} of out.csv" in said
    assert "became" in said
    assert "which had a probability of" in said


@pytest.mark.slow
def test_by_key_in_another_table_and_not_without(named, inside):
    inside("release", "fine.mapping", "named.csv", "--out", "keyed.csv", "--key", "id")
    inside("release", "fine.mapping", "named.csv", "--out", "drawn.csv")
    pd.read_csv(named / "named.csv").iloc[::-1].to_csv(named / "turned.csv", index=False)
    turned = ("explain", "fine.mapping", "turned.csv", "--where", "id=p-60", "--manifest")
    found = document(inside(*turned, "keyed.csv.manifest.json", "--json"))
    assert found["person"]["drawn"]["row"] == 61
    complained(inside(*turned, "drawn.csv.manifest.json"), "not the table that was read", "no key tells who is who")


@pytest.mark.slow
def test_a_manifest_of_another_mapping_or_a_changed_output(named, inside):
    inside("release", "fine.mapping", "named.csv", "--out", "out.csv")
    told = ("--where", "id=p-60", "--manifest", "out.csv.manifest.json")
    inside("fit", "shield.toml", "people.csv", "--out", "other.mapping")
    complained(inside("explain", "other.mapping", "named.csv", *told), "not of the mapping")
    misfit = inside(*EXPLAIN, *told, "--mode", "apply")
    complained(misfit, "in release mode, not in apply mode")
    with (named / "out.csv").open("a") as file:
        file.write("\n")
    complained(inside(*EXPLAIN, *told), "not the output that the manifest is of")


@pytest.mark.slow
def test_nobody_or_several(named, inside):
    complained(inside(*EXPLAIN, "--where", "id=nobody"), "nobody in 'named.csv' has id=nobody")
    several = inside(*EXPLAIN, "--where", "group=a", "--where", "score=1")
    complained(several, "50 rows of 'named.csv' have group=a, score=1", "row 51 (", "and 45 more")
    complained(inside(*EXPLAIN, "--where", "id=p-1", "--and", "id=p-999"), "nobody", "p-999")
    complained(inside(*EXPLAIN, "--where", "idd=3"), "no column 'idd'", "Did you mean 'id'")
    complained(inside(*EXPLAIN, "--where", "row=201"), "no row 201")
    complained(inside(*EXPLAIN, "--where", "row=x"), "no number of a row")


def test_what_is_no_condition(named, inside):
    misused(inside(*EXPLAIN, "--where", "p-1"), "--where", "must look like id=123")
    misused(inside(*EXPLAIN, "--where", "id=1", "--where", "id=2"), "twice")
    misused(inside(*EXPLAIN), "--where")
