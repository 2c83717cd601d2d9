"""The documented fields are those of a report's JSON."""

import re
from pathlib import Path

import pytest
from reports import document_of, hostile_mapping, leaves_mapping, signed_leaves

import evenhand as eh

TEXT = (Path(__file__).parents[3] / "docs" / "reference" / "report.md").read_text(encoding="utf-8")


def documented():
    """The names in each row of the table of sections."""
    rows = re.findall(r"^\| (`.*?) \| (.*) \|$", TEXT.split("## The fields of the JSON")[1], flags=re.M)
    return {key: set(re.findall(r"`(\w+)`", text)) for keys, text in rows for key in re.findall(r"`(\w+)`", keys)}


def fields(value):
    """Every name in a section, but for the columns of the user's table and the levels in a group or a cell."""
    if isinstance(value, list):
        for each in value:
            yield from fields(each)
    elif isinstance(value, dict):
        for name, each in value.items():
            if name not in ("notes", "hidden"):
                yield name
                drawn = name in DRAWN and isinstance(each, list)
                yield from () if drawn or name in ("group", "cell", "likeliest_change") else fields(each)


@pytest.mark.parametrize("name", ["hostile", "leaves", "signed", "compas"])
def test_every_field_is_documented_and_exists(name, compas_mapping, compas, tmp_path):
    made = {
        "hostile": lambda: eh.report_on(hostile_mapping(), points=2),
        "leaves": lambda: eh.report_on(leaves_mapping(), trace=False),
        "signed": lambda: signed_leaves(tmp_path),
        "compas": lambda: eh.report_on(compas_mapping, frame=compas.frame, points=2),
    }
    found = made[name]().document
    known = documented()
    assert {*found} - {"format", "version", "evenhand"} <= set(known)
    assert set(known) - set(found) <= {"gains", "outcomes"}
    own = {"hostile": {"<b>group</b>"}, "compas": {"sex", "race", "is_recid"}}.get(name, {"sex", "granted", *TOLD})
    own |= {"y"}
    for key in known.keys() & found.keys():
        # Of what was asked each heading is a field; what others have in their own sections is described there.
        if key in ("asked", "theory"):
            continue
        elsewhere = {"level"} | ({"comparisons"} if key == "fresh" else set())
        assert set(fields(found[key])) - own - known[key] - elsewhere <= set(), key


TOLD = {"granted=1, sex=m", "granted=1, sex=w"}
DRAWN = {"rates", "flows", "gains", "frontier"}
"""What charts draw of the tables beside them."""


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
    assert set(sections) <= set(documented())


ANSWERED = {
    "rates": r"before: \d+\.\d% of .* after: \d+\.\d% of",
    "changes": r"[\d,]+ of [\d,]+ people \(\d+\.\d%\)",
    "gains": r"\d+\.\d%",
    "worst_off": r"\d+ of \d+ cells",
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
    parts = re.split(r'<section id="(\w+)"><h2>', html)
    pairs = zip(parts[1::2], parts[2::2], strict=True)
    texts = {anchor: " ".join(re.sub(r"<[^>]+>", " ", body).split()) for anchor, body in pairs}
    for _, question, section in asked():
        key = section if section in texts else {"gains": "outcomes"}[section]
        assert re.search(ANSWERED[section], texts[key]), (question, texts[key][:400])


def test_the_same_sections_whatever_is_hidden():
    assert list(document_of(hostile_mapping(), hide_below=1e6)) == list(document_of(hostile_mapping(), hide_below=0))
