"""The command compare: what it shows and writes, and how it refuses."""

import re
from dataclasses import replace

import pytest
from commands import complained, document, evenhand, flat, misused

import evenhand as eh
from evenhand.cli import screen
from evenhand.cli.comparing import compare


@pytest.fixture
def versions(folder, inside):
    """Two mappings of one table, and one of another outcome."""
    fine = (folder / "fine.toml").read_text()
    (folder / "tighter.toml").write_text(fine.replace("0.2 ", "0.15 ").replace("0.45", "0.6"))
    inside("fit", "fine.toml", "people.csv", "--out", "a.mapping")
    inside("fit", "tighter.toml", "people.csv", "--out", "b.mapping")
    return folder


@pytest.mark.slow
def test_the_screen_the_document_and_the_page(versions, inside):
    shown = inside("compare", "a.mapping", "b.mapping", "--table", "people.csv", "--out", "both.html")
    assert shown.returncode == 0, shown.stderr
    said = flat(shown.stdout)
    for words in (
        "Of the statements 2 settings differ: parity[0].bound 0.2 → 0.15; budget[0].limit 0.45 → 0.6.",
        "In expectation over the draws, at least",
        "get another outcome from B than from A",
        "Compared on the 200 people of the table",
        "What each costs",
        "both.html",
    ):
        assert words in said, words
    assert "Two mappings compared" in (versions / "both.html").read_text(encoding="utf-8")
    complained(inside("compare", "a.mapping", "b.mapping", "--out", "both.html"), "exists already; --force")
    found = document(inside("compare", "a.mapping", "b.mapping", "--out", "both.html", "--force", "--json"))
    assert found["command"] == "compare"
    assert [row["setting"] for row in found["compared_statement"]["statement"]] == [
        "parity[0].bound",
        "budget[0].limit",
    ]
    assert found["written"]["page"] == "both.html"
    named, prints = found["compared"]["mappings"]
    assert (named["a"], named["b"]) == ("a.mapping", "b.mapping")
    assert f"A a.mapping, fingerprint {prints['a'][:12]}" in " ".join(said.split())
    page = (versions / "both.html").read_text(encoding="utf-8")
    assert f"<dt>B</dt><dd>b.mapping, fingerprint {prints['b']}</dd>" in page
    assert {row["what"] for row in found["compared_costs"]["costs"]} >= {
        "utility loss",
        "certificate",
        "price of parity[0]",
    }


def test_small_groups_and_cells_are_neither_on_the_screen_nor_in_the_json(versions, inside):
    shown = inside("compare", "a.mapping", "b.mapping", "--hide-below", "10000")
    assert shown.returncode == 0, shown.stderr
    found = document(inside("compare", "a.mapping", "b.mapping", "--hide-below", "10000", "--json"))
    for name in ("rates", "groups", "cells"):
        assert not found[f"compared_{name}"][name]
        hidden = found[f"compared_{name}"]["hidden"]
        assert f"{hidden} of {hidden} rows are not shown: fewer than 10000 people" in flat(shown.stdout)
    assert "After A" not in shown.stdout


@pytest.mark.slow
def test_the_screen_tells_the_outcomes_that_the_words_tell(versions, inside):
    found = document(inside("compare", "a.mapping", "b.mapping", "--json"))
    table = inside("compare", "a.mapping", "b.mapping").stdout.split("Each group's rates")[1].split("Who is changed")[0]
    rows = [line for line in table.splitlines() if line.count("%") >= 3]
    assert len(rows) == len(found["compared_rates"]["rates"])


@pytest.mark.slow
def test_a_missing_value_is_allowed_as_the_error_advises(versions, inside):
    lines = (versions / "people.csv").read_text().splitlines()
    names = lines[0].split(",")
    row = lines[1].split(",")
    row[names.index("group")] = ""
    (versions / "gap.csv").write_text("\n".join([lines[0], ",".join(row), *lines[2:]]) + "\n")
    complained(inside("compare", "a.mapping", "b.mapping", "--table", "gap.csv"), "--missing level")
    shown = inside("compare", "a.mapping", "b.mapping", "--table", "gap.csv", "--missing", "level")
    assert shown.returncode == 0, shown.stderr
    assert "Compared on the 199 people of the table" in flat(shown.stdout)
    misused(inside("compare", "a.mapping", "b.mapping", "--missing", "level"), "--missing", "goes with --table")


@pytest.mark.slow
def test_what_is_wrong_is_refused(versions, inside, adult_mapping):
    adult_mapping.save(versions / "c.mapping")
    complained(inside("compare", "a.mapping", "c.mapping"), "release different outcomes, 'hired' and 'income'")
    misused(inside("compare", "a.mapping", "b.mapping", "--weights", "w"), "--weights", "goes with --table")
    misused(inside("compare", "a.mapping", "b.mapping", "--out", "page.txt"), "must end in .html")
    misused(inside("compare", "a.mapping"), "Missing argument")
    complained(inside("compare", "a.mapping", "nothing.mapping"), "cannot read the mapping file")
    complained(inside("compare", "a.mapping", "fine.toml"), "not a mapping file")
    complained(inside("compare", "a.mapping", "b.mapping", "--table", "nothing.csv"), "nothing.csv")
    complained(inside("compare", "a.mapping", "b.mapping", "--out", "a.mapping/x.html"), "no folder")


@pytest.mark.slow
def test_as_a_process(versions):
    result = evenhand("compare", "a.mapping", "a.mapping", cwd=versions)
    assert result.returncode == 0, result.stderr
    assert "The two statements are the same." in flat(result.stdout)


@pytest.mark.slow
def test_cells_of_many_columns_can_be_read_in_80_columns(compas, compas_mapping, tmp_path, monkeypatch, capsys):
    other = eh.fit(replace(compas.problem, parity=[eh.PairwiseParity(0.05)]), compas.counts)
    for name, mapping in (("a", compas_mapping), ("b", other)):
        mapping.save(tmp_path / f"{name}.mapping")
    monkeypatch.setattr(screen.console, "_width", 80)
    compare(tmp_path / "a.mapping", tmp_path / "b.mapping")
    shown = capsys.readouterr().out
    assert max(map(len, shown.splitlines())) <= 80
    cells = shown.split("The cells in which people are treated differently")[1]
    assert " 0 by A " in cells
    assert "0: a" not in shown
    # No word of who they are is broken.
    whole = set(re.findall(r"[\w-]+", " ".join(line[:38] for line in cells.splitlines())))
    for word in ("African-American", "Caucasian", "Less", "Greater", "than", "c_charge_degree", "priors_count"):
        assert word in whole, word
    assert "rows are not shown: fewer than 20" in cells
