"""init: from a table to a problem that can be read, changed and fitted."""

import functools
import io
import os

import numpy as np
import pandas as pd
import pytest
from berkeley import admissions
from commands import complained, document, evenhand, flat, misused
from families import small_frame

import evenhand as eh
from evenhand.cli import screen

pytestmark = pytest.mark.turns(2)


@pytest.mark.slow
def test_what_it_writes_can_be_fitted(folder, inside):
    result = inside("init", "people.csv", "--protected", "group", "--outcome", "hired", "--out", "own.toml")
    assert result.returncode == 0, result.stderr
    said = flat(result.stdout)
    for words in ("Protected group", "Features score (nominal)", "Outcome hired", "own.toml", "evenhand fit own.toml"):
        assert words in said, words
    assert eh.Problem.from_toml((folder / "own.toml").read_text()).features == ("score",)
    assert inside("fit", "own.toml", "people.csv").returncode == 0


def test_a_process_ends_without_a_word_on_the_error_stream(folder):
    """DuckDB writes a page there about what is never collected."""
    result = evenhand("init", "people.csv", "--protected", "group", "--outcome", "hired", "--out", "q.toml", cwd=folder)
    assert (result.returncode, result.stderr) == (0, "")


def test_the_features_that_were_asked_for(folder, inside):
    frame = small_frame().assign(region=["north", "south"] * 100, age=range(20, 220))
    frame.to_csv(folder / "wide.csv", index=False)
    options = ("--protected", "group", "--outcome", "hired", "--features", "age,region", "--json")
    found = document(inside("init", "wide.csv", *options))
    assert [(f["column"], f["rule"]) for f in found["features"]] == [("age", "ordinal"), ("region", "nominal")]
    assert found["left_out"] == {"score": "not asked for"}
    assert "#   score: not asked for" in found["toml"]
    problem = eh.Problem.from_toml(found["toml"])
    assert list(problem.bins) == ["age"]
    assert (folder / "problem.toml").read_text() == found["toml"]


@pytest.fixture
def wide(folder):
    """Six columns tell something about the outcome."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({f"c{i}": rng.integers(0, 30, 1500) for i in range(6)})
    frame["group"] = rng.choice(["a", "b"], 1500)
    chance = (frame[[f"c{i}" for i in range(6)]].sum(axis=1) - 60) / 60
    frame["hired"] = (rng.random(1500) < chance + 0.15 * (frame["group"] == "a")).astype(int)
    frame.to_csv(folder / "wide.csv", index=False)
    return folder


WIDE = ("init", "wide.csv", "--protected", "group", "--outcome", "hired", "--force")


@pytest.mark.slow
def test_leaves_for_a_wide_table(wide, inside):
    result = inside(*WIDE)
    assert result.returncode == 0, result.stderr
    shown = flat(result.stdout)
    assert "Features 6 columns, all as they are: c0, c1, c2, c3, c4, c5" in shown
    found = document(inside(*WIDE, "--json"))
    cells = found["cells"]
    assert (cells["kind"], cells["at_least"]) == ("leaves", 5)
    most = cells["most"]
    assert 8 <= most <= 64
    assert f"Cells learned: at most {most} leaves of a tree, each with 5 people or more of every group" in shown
    text = (wide / "problem.toml").read_text()
    assert f'[cells]\nkind = "leaves"\nmost = {most}\nat_least = 5\n' in text
    assert 0 < cells["told_by_few_columns"] < 1
    assert 0 < cells["told_by_leaves"] < 1
    assert cells["remark"] in shown
    assert {each["rule"] for each in found["features"]} == {"fixed"}


@pytest.mark.slow
def test_learned_cells_are_listed_once_by_number(wide, inside, monkeypatch):
    monkeypatch.setattr(screen.console, "width", 200)
    assert inside(*WIDE).returncode == 0
    fitted = document(inside("fit", "problem.toml", "wide.csv", "--force", "--json"))
    cells = fitted["cells"]["every_cell"]
    assert [row["cell"] for row in cells] == list(range(1, len(cells) + 1))
    assert sum(row["people"] for row in cells) == 1500
    assert document(inside("audit", "evenhand.mapping", "--json"))["cells"]["every_cell"] == cells
    assert document(inside("diagnose", "problem.toml", "wide.csv", "--json"))["cells"]["every_cell"] == cells
    for command in (("audit", "evenhand.mapping"), ("diagnose", "problem.toml", "wide.csv")):
        shown = flat(inside(*command).stdout)
        for row in cells:
            assert shown.count(flat(f"{row['cell']} {row['rule']} {row['people']:,}")) == 1
    shown = flat(inside("fit", "problem.toml", "wide.csv", "--force").stdout)
    assert "The learned cells: who is in each" in shown
    assert "distribution of (learned cells, outcome)" in shown


@pytest.mark.slow
def test_cells_that_are_asked_for(wide, inside):
    found = document(inside(*WIDE, "--cells", "levels", "--json"))
    assert (found["cells"]["kind"], found["cells"]["remark"]) == ("levels", None)
    assert "[cells]" not in found["toml"]
    assert inside("fit", "problem.toml", "wide.csv").returncode == 0
    assert "[cells]" in document(inside(*WIDE, "--cells", "leaves", "--features", "c0,c1", "--json"))["toml"]
    misused(inside(*WIDE, "--cells", "trees"), "--cells", "leaves")


@pytest.mark.slow
def test_without_scikit_learn(wide, inside, tmp_path_factory):
    """Levels are proposed, and it is said what would be possible; what needs leaves ends with 5 and the command."""
    assert inside(*WIDE, "--out", "leaves.toml").returncode == 0
    absent = tmp_path_factory.mktemp("absent")
    (absent / "sklearn.py").write_text("raise ImportError('not installed')")
    path = os.pathsep.join([str(absent), *filter(None, [os.environ.get("PYTHONPATH")])])
    without = functools.partial(evenhand, cwd=wide, PYTHONPATH=path)
    found = document(without(*WIDE, "--json"))
    assert found["cells"]["kind"] == "levels"
    assert "pip install 'evenhand[sklearn]'" in found["cells"]["remark"]
    complained(without(*WIDE, "--cells", "leaves"), "pip install 'evenhand[sklearn]'", code=5)
    complained(without("fit", "leaves.toml", "wide.csv"), "pip install 'evenhand[sklearn]'", code=5)


@pytest.mark.slow
def test_who_may_be_given_which_outcome(folder, inside):
    """Without a word about which outcome is good, both ways are allowed, and that is said; with one, only one is."""
    options = ("init", "people.csv", "--protected", "group", "--outcome", "hired", "--features", "score", "--force")
    said = flat(inside(*options).stdout)
    assert "hired: changes either way; --favourable LEVEL allows one direction only" in said
    assert flat(inside(*options, "--favourable", "1").stdout).count("people are moved towards 1 only") == 1
    rule = eh.Problem.from_toml((folder / "problem.toml").read_text()).distortion.rules["hired"]
    assert (rule.up, rule.down) == (True, False)
    found = document(inside(*options, "--favourable", "1", "--json"))
    assert (found["favourable"], found["one_way"]) == (1, True)
    assert "# The outcome that is good for a person.\nfavourable = 1" in found["toml"]
    assert eh.Problem.from_toml(found["toml"]).favourable == 1
    assert inside("fit", "problem.toml", "people.csv").returncode == 0
    complained(inside(*options, "--favourable", "yes"), "no level 'yes'", "['0', '1']")


@pytest.mark.slow
def test_small_groups_are_named(folder, inside):
    frame = pd.concat([small_frame(), pd.DataFrame({"group": ["a"] * 4, "score": [0, 1] * 2, "hired": [0, 1] * 2})])
    frame["sex"] = ["f", "m"] * 100 + ["x"] * 4
    frame = pd.concat([frame] * 5 + [frame[:200]] * 2)
    frame.loc[frame["sex"] == "x", "sex"] = "f"
    frame["old"] = 0
    frame.iloc[:12, frame.columns.get_loc("old")] = 1
    frame.to_csv(folder / "grouped.csv", index=False)
    options = ("init", "grouped.csv", "--protected", "group,old", "--outcome", "hired", "--features", "score")
    result = inside(*options)
    assert result.returncode == 0, result.stderr
    assert "Groups of fewer than 50 people, with the rate of hired=1: " in flat(result.stdout)
    small = document(inside(*options, "--force", "--json"))["small_groups"]
    assert small[0]["group"].endswith("old=1")
    assert small[0]["people"] <= 12
    assert f"{small[0]['group']} ({small[0]['people']} people, {small[0]['rate']:.0%})" in flat(result.stdout)


@pytest.mark.slow
def test_frequencies_are_counted_and_stated(folder, inside):
    cells = small_frame().value_counts().rename("how many").reset_index()
    cells.to_csv(folder / "cells.csv", index=False)
    options = ("--protected", "group", "--outcome", "hired")
    result = inside("init", "cells.csv", *options, "--frequencies", "how many")
    assert result.returncode == 0, result.stderr
    assert f"{len(cells)} rows, which stand for 200 people by how many" in flat(result.stdout)
    assert 'frequencies = "how many"' in (folder / "problem.toml").read_text()
    for verb in ("diagnose", "fit"):
        assert f"evenhand {verb} problem.toml cells.csv" in result.stdout
    assert "200 people" in inside("fit", "problem.toml", "cells.csv").stdout
    found = document(inside("init", "cells.csv", *options, "--frequencies", "how many", "--force", "--json"))
    assert (found["rows"], found["people"], found["frequencies"]) == (len(cells), 200, "how many")


@pytest.mark.slow(keep=1)
@pytest.mark.parametrize(("answer", "stated"), [("y", "frequencies"), ("n", "weights")])
def test_a_table_of_counts_is_asked_about_on_a_terminal(folder, inside, monkeypatch, answer, stated):
    """An index, as R and pandas export it, does not hide that no two rows are alike."""
    admissions().to_csv(folder / "ucb.csv")
    init = ("init", "ucb.csv", "--protected", "Gender", "--outcome", "Admit", "--weights", "Freq")
    complained(inside(*init), "--frequencies Freq", 'weights = "Freq"')
    assert not (folder / "problem.toml").exists()
    # As survey weights they leave 24 people, from whom no feature could be chosen.
    init += ("--features", "Dept") if stated == "weights" else ()

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr("sys.stdin", Terminal(f"{answer}\n"))
    result = inside(*init)
    assert result.returncode == 0, result.stderr
    assert "Does a row stand for that many people?" in flat(result.stderr)
    assert f'{stated} = "Freq"' in (folder / "problem.toml").read_text()
    if stated == "frequencies":
        assert "Groups 2, of 1,835 to 2,691 people" in flat(result.stdout)
        assert "Features Dept" in flat(result.stdout)


@pytest.mark.slow
def test_a_follow_up_that_is_asked_for_is_named(folder, inside):
    frame = small_frame()
    frame.assign(fired=frame["hired"].where(frame.index % 2 == 0, 0)).to_csv(folder / "after.csv", index=False)
    options = ("init", "after.csv", "--protected", "group", "--outcome", "hired", "--features", "score,fired")
    assert "fired: all with 1 have hired 1: perhaps known only after it" in flat(inside(*options).stdout)
    score, fired = document(inside(*options, "--force", "--json"))["features"]
    assert score["remark"] is None
    assert "known only after it" in fired["remark"]


@pytest.mark.slow
def test_cuts_and_merges_of_protected_columns_are_said(folder, inside):
    frame = pd.concat([small_frame()] * 5).sort_values("hired", ignore_index=True)
    frame["age"] = 18 + frame.index % 60
    frame["race"] = ["b"] * 20 + ["c"] * 20 + ["a"] * 960
    frame.to_csv(folder / "aged.csv", index=False)
    options = ("init", "aged.csv", "--protected", "age,race", "--outcome", "hired", "--features", "score")
    shown = flat(inside(*options).stdout)
    assert "age: Cut where known groups of ages begin" in shown
    assert "race: b (20 people" in shown
    assert "are one group, 'b or c'" in shown
    assert set(document(inside(*options, "--force", "--json"))["protected_notes"]) == {"age", "race"}


@pytest.mark.slow
def test_a_distance_by_which_nobody_loses(folder, inside):
    """By the ratio many people would lose the good outcome; by four fifths nobody does, and that is proposed."""
    rows = [("a", i % 2, int(i >= 40)) for i in range(200)] + [("b", i % 2, int(i >= 4)) for i in range(200)]
    pd.DataFrame(rows, columns=["group", "score", "granted"]).to_csv(folder / "granted.csv", index=False)
    options = ("init", "granted.csv", "--protected", "group", "--outcome", "granted", "--features", "score")
    result = inside(*options, "--favourable", "1")
    assert result.returncode == 0, result.stderr
    assert "This distance, not the ratio: nobody would lose granted 1, by the ratio about " in flat(result.stdout)
    found = document(inside(*options, "--favourable", "1", "--force", "--json"))
    assert (found["distance"], found["losing"], found["beside"]["distance"]) == ("four-fifths", 0, "ratio")
    assert found["beside"]["losing"] > 0.01
    assert inside("fit", "problem.toml", "granted.csv").returncode == 0


@pytest.mark.slow
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


@pytest.mark.slow
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
        (("--protected", "group", "--outcome", "hired", "--delimiter", ""), "--delimiter"),
    ],
)
def test_a_wrong_command(inside, options, words):
    result = inside("init", "people.csv", *options)
    assert result.returncode == 2
    assert words in result.stderr


@pytest.mark.slow
def test_a_pattern_of_files(folder, inside):
    content = (folder / "people.csv").read_text()
    for part in ("part-1.csv", "part-2.csv"):
        (folder / part).write_text(content)
    said = ("--protected", "group", "--outcome", "hired", "--json")
    rows = [document(inside("init", table, *said, "--force"))["rows"] for table in ("people.csv", "part-*.csv")]
    assert rows[1] == 2 * rows[0]


@pytest.mark.slow
def test_a_table_that_does_not_exist_is_named_before_what_exists(tmp_path):
    (tmp_path / "problem.toml").write_text("")
    result = evenhand("init", "nofile.csv", "--protected", "a", "--outcome", "b", cwd=tmp_path)
    complained(result, "there is no file 'nofile.csv'")
    assert "problem.toml" not in result.stderr
