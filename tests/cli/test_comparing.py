"""The command compare: what it shows and writes, and how it refuses."""

import pytest
from commands import complained, document, evenhand, flat, misused


@pytest.fixture
def versions(folder, inside):
    """Two mappings of one table, and one of another outcome."""
    fine = (folder / "fine.toml").read_text()
    (folder / "tighter.toml").write_text(fine.replace("0.2 ", "0.15 ").replace("0.45", "0.6"))
    inside("fit", "fine.toml", "people.csv", "--out", "a.mapping")
    inside("fit", "tighter.toml", "people.csv", "--out", "b.mapping")
    return folder


def test_the_screen_the_document_and_the_page(versions, inside):
    shown = inside("compare", "a.mapping", "b.mapping", "--table", "people.csv", "--out", "both.html")
    assert shown.returncode == 0, shown.stderr
    said = flat(shown.stdout)
    for words in (
        "Of the statements 2 settings differ: parity[0].bound 0.2 → 0.15; budget[0].limit 0.45 → 0.6.",
        "get another outcome from B than from A",
        "compared on the 200 people of the table",
        "What each costs",
        "both.html",
    ):
        assert words in said, words
    assert "Two mappings compared" in (versions / "both.html").read_text(encoding="utf-8")
    complained(inside("compare", "a.mapping", "b.mapping", "--out", "both.html"), "exists already; --force")
    found = document(inside("compare", "a.mapping", "b.mapping", "--out", "both.html", "--force", "--json"))
    assert found["command"] == "compare"
    assert [row["setting"] for row in found["statement"]] == ["parity[0].bound", "budget[0].limit"]
    assert found["written"] == {"page": "both.html"}
    assert {row["what"] for row in found["costs"]} >= {"utility loss", "certificate", "price of parity[0]"}


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
