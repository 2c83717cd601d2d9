"""The documented fields are those of the summary."""

import re
from pathlib import Path

import pytest
from reports import hostile_mapping

import evenhand as eh

TEXT = (Path(__file__).parents[2] / "docs" / "report.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_field_is_documented_and_exists():
    found = eh.report_on(hostile_mapping(), trace=False).summary
    rows = TEXT.split("## The fields of the JSON")[1]
    named = {name for row in re.findall(r"^\| (.*?) \|", rows, flags=re.M) for name in re.findall(r"`([\w.]+)`", row)}
    assert {name.split(".")[0] for name in named} == set(found)
    for section in ("table", "small_cells", "changes", "worst_off", "repeat", "frontier", "rates", "certificate"):
        for field in found[section]:
            assert f"`{field}`" in rows, (section, field)


@pytest.mark.slow
def test_the_code_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL):
        exec(block, names)
    assert (tmp_path / "report.json").exists()
