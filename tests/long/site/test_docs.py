"""The documented fields are those of the summary."""

import re
from pathlib import Path

import pytest
from evenhand.report.page import CONTENTS
from reports import hostile_mapping, leaves_mapping

import evenhand as eh

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "report.md").read_text(encoding="utf-8")


def test_every_field_is_documented_and_exists():
    found = eh.report_on(hostile_mapping(), trace=False).summary
    rows = TEXT.split("## The fields of the JSON")[1]
    named = {name for row in re.findall(r"^\| (.*?) \|", rows, flags=re.M) for name in re.findall(r"`([\w.]+)`", row)}
    assert {name.split(".")[0] for name in named} == set(found)
    for section in ("table", "small_cells", "changes", "worst_off", "repeat", "frontier", "rates", "certificate"):
        for field in found[section]:
            assert f"`{field}`" in rows, (section, field)


def test_the_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL):
        exec(block, names)
    assert (tmp_path / "report.json").exists()


def asked():
    """The ten questions, with the section that each is answered in."""
    rows = re.findall(r"^\| (\d+) \| (.*?\?) \| `(\w+)` \|$", TEXT, flags=re.M)
    return [(int(number), question, section) for number, question, section in rows]


def test_there_are_ten_questions_each_with_a_section_of_its_own():
    assert [number for number, _, _ in asked()] == list(range(1, 11))
    sections = [section for _, _, section in asked()]
    assert len(set(sections)) == 10
    assert set(sections) <= {anchor for anchor, _ in CONTENTS}


ANSWERED = {
    "rates": r"\d+\.\d% → \d+\.\d%|as before",
    "changed": r"[\d,]+ of [\d,]+ people \(\d+\.\d%\)",
    "gains": r"\d+\.\d%",
    "worst": r"\d+ of \d+ cells",
    "decisions": r"\d+\.\d% to \d+\.\d%",
    "file": r"\d+\.\d%",
    "fresh": r"mostly (\d+\.\d+ .* apart|\d+\.\d+% .* held against)",
    "cost": r"\d",
    "asked": r"at most \d|within \d",
    "certificate": r"Utility loss \d\.\d{7}",
}
"""What a section must hold to count as an answer: numbers in this form."""


@pytest.mark.parametrize("name", ["compas", "adult", "hostile", "leaves"])
def test_every_question_is_answered_in_numbers_whatever_the_table(name, request):
    mappings = {"hostile": hostile_mapping, "leaves": leaves_mapping}
    mapping = mappings[name]() if name in mappings else request.getfixturevalue(f"{name}_mapping")
    html = eh.report_on(mapping, points=2).html
    parts = re.findall(r'<section><h2 id="(\w+)">(.*?)</h2>(.*?)</section>', html, flags=re.DOTALL)
    texts = {anchor: " ".join(re.sub(r"<[^>]+>", " ", body).split()) for anchor, _, body in parts}
    for _, question, section in asked():
        assert re.search(ANSWERED[section], texts[section]), (question, texts[section][:400])
