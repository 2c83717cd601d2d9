"""evenhand monitor: what it says, writes, and how it ends."""

import json

import pandas as pd
import pytest
from commands import complained, document, flat, misused
from families import small_frame

import evenhand as eh


@pytest.fixture
def new(fitted):
    small_frame().sample(150, random_state=0).to_csv(fitted / "new.csv", index=False)
    return fitted


@pytest.fixture
def apart(fitted):
    """A batch whose outcomes are those of the groups."""
    many = pd.concat([small_frame()] * 5)
    many.assign(hired=(many["group"] == "a").astype(int)).to_csv(fitted / "apart.csv", index=False)
    return fitted


def test_it_says_what_the_library_finds(new, inside):
    result = inside("monitor", "fine.mapping", "new.csv")
    assert result.returncode == 0, result.stderr
    said = flat(result.stdout)
    found = eh.Mapping.load(new / "fine.mapping").monitor(pd.read_csv(new / "new.csv"))
    for words in (*found.sentences(), "150 people of new.csv", "not decided", "Limit"):
        assert flat(words) in said
    assert "What was written" not in said


@pytest.mark.slow
def test_the_document(new, inside):
    found = document(inside("monitor", "fine.mapping", "new.csv", "--json", "--confidence", "0.9", "--seed", "3"))
    expected = eh.Mapping.load(new / "fine.mapping").monitor(new / "new.csv", confidence=0.9, seed=3)
    assert found["command"] == "monitor"
    told = json.loads(expected.to_json())
    assert {key: found[key] for key in told} == told
    assert found.keys() - told.keys() == {"command", "mapping", "table"}
    assert found["batch"]["fitted"] is False
    assert document(inside("monitor", "fine.mapping", "people.csv", "--json"))["batch"]["fitted"] is True


@pytest.mark.slow
def test_how_it_ends(new, apart, inside):
    """0 whatever it finds, and 1 where it was told to fail on that."""
    small_frame().drop(columns="hired").to_csv(new / "without.csv", index=False)
    for table, fails in (
        ("new", {"undecided"}),
        ("apart", {"violated", "undecided", "drifted"}),
        ("without", {"undecided"}),
    ):
        assert inside("monitor", "fine.mapping", f"{table}.csv").returncode == 0
        for word in ("violated", "undecided", "drifted"):
            result = inside("monitor", "fine.mapping", f"{table}.csv", "--fail-on", word, "--json")
            assert result.returncode == (word in fails), (table, word)
            assert document(result)["command"] == "monitor"
    both = ("--fail-on", "violated", "--fail-on", "undecided")
    assert inside("monitor", "fine.mapping", "new.csv", *both).returncode == 1
    misused(inside("monitor", "fine.mapping", "new.csv", "--fail-on", "never"), "'never' is not one of")


@pytest.mark.slow
def test_history_and_chart(new, inside):
    pytest.importorskip("vl_convert")
    for number in (1, 2):
        result = inside("monitor", "fine.mapping", "new.csv", "--history", "log.jsonl")
        assert result.returncode == 0, result.stderr
        assert f"this batch is number {number} in the history" in flat(result.stdout)
    drawn = inside("monitor", "fine.mapping", "people.csv", "--history", "log.jsonl", "--chart", "c.png")
    assert drawn.returncode == 0, drawn.stderr
    assert (new / "c.png").read_bytes().startswith(b"\x89PNG")
    history = eh.Mapping.load(new / "fine.mapping").history(new / "log.jsonl")
    assert history.batches["name"].tolist() == ["new.csv", "new.csv", "people.csv"]
    inside("monitor", "fine.mapping", "new.csv", "--history", "log.jsonl", "--name", "week 4")
    history = eh.Mapping.load(new / "fine.mapping").history(new / "log.jsonl")
    assert history.batches["name"].tolist()[-1] == "week 4"
    again = ("monitor", "fine.mapping", "new.csv", "--history", "log.jsonl", "--chart", "c.png")
    complained(inside(*again), "'c.png' exists already; --force overwrites it")
    assert len(history) == len((new / "log.jsonl").read_text().splitlines())
    assert document(inside(*again, "--force", "--json"))["written"]["batches"] == 5


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize("error", [eh.EvenhandError("the disk is full"), MemoryError()], ids=["disk", "memory"])
def test_a_batch_is_added_though_no_chart_can_be_drawn(new, inside, monkeypatch, error):
    def fail(*given):
        raise error

    monkeypatch.setattr("evenhand.render.chart.Picture.save", fail)
    asked = ("monitor", "fine.mapping", "new.csv", "--history", "log.jsonl", "--chart", "c.svg")
    result = inside(*asked)
    assert result.returncode == 0
    assert "Note: no chart was written: " in flat(result.stderr)
    assert "this batch is number 1 in the history" in flat(result.stdout)
    written = document(inside(*asked, "--json"))["written"]
    assert (written["history"], written["chart"]) == ("log.jsonl", None)


def test_wrong_command_lines(new, inside):
    misused(inside("monitor", "fine.mapping"), "table")
    misused(inside("monitor", "fine.mapping", "new.csv", "--chart", "c.png"), "--chart", "--history")
    misused(inside("monitor", "fine.mapping", "new.csv", "--name", "week 4"), "--name", "--history")
    misused(inside("monitor", "fine.mapping", "new.csv", "--history", "l", "--chart", "c.gif"), ".png, .svg or .html")
    misused(inside("monitor", "fine.mapping", "new.csv", "--confidence", "95"), "between 0 and 1")


@pytest.mark.slow
def test_wrong_input_is_explained_and_nothing_is_written(new, inside):
    frame = small_frame()
    frame.drop(columns="group").to_csv(new / "ungrouped.csv", index=False)
    frame.head(0).to_csv(new / "empty.csv", index=False)
    frame.assign(group="c").to_csv(new / "strange.csv", index=False)
    for table, words in (
        ("ungrouped", "'group', which is protected"),
        ("empty", "has no rows"),
        ("strange", "every row"),
    ):
        complained(inside("monitor", "fine.mapping", f"{table}.csv", "--history", "log.jsonl"), words)
    complained(
        inside("monitor", "fine.mapping", "new.csv", "--history", "fine.mapping"), "cannot read the history", "not text"
    )
    assert not (new / "log.jsonl").exists()


@pytest.mark.slow
def test_a_history_of_another_mapping(new, inside):
    inside("monitor", "fine.mapping", "new.csv", "--history", "log.jsonl")
    before = (new / "log.jsonl").read_bytes()
    inside("fit", "shield.toml", "people.csv", "--out", "other.mapping")
    complained(inside("monitor", "other.mapping", "new.csv", "--history", "log.jsonl"), "history of another mapping")
    assert (new / "log.jsonl").read_bytes() == before


def test_new_levels_are_counted(new, inside):
    frame = small_frame()
    frame.loc[:4, "group"] = "c"
    frame.to_csv(new / "some.csv", index=False)
    said = flat(inside("monitor", "fine.mapping", "some.csv").stdout)
    assert "5 of 200 rows are not counted" in said
    assert "Missing and unseen" in said
