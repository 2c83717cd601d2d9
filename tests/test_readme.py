"""The README's own words: its code runs, its commands exist."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_code_runs_as_printed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    assert blocks
    names = {}
    for block in blocks:
        exec(block, names)
    assert names["mapping"].certificate.status == "optimal"
    assert len(names["new"]) == len(names["train"]) == 5278
    assert names["weighted"]["weight"].sum() == pytest.approx(5278)
    assert (tmp_path / "compas.mapping").exists()


def test_the_commands_exist():
    commands = set(re.findall(r"evenhand (demo|reproduce|verify|fit|audit|apply|report)\b", TEXT))
    assert commands
    shown = subprocess.run([sys.executable, "-m", "evenhand", "--help"], capture_output=True, text=True, check=True)
    for command in commands:
        assert command in shown.stdout
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", TEXT):
        assert f"{target}:" in makefile, target


def test_links_lead_somewhere():
    for link in re.findall(r"\]\(([^)#]+)\)", TEXT):
        assert (ROOT / link).exists(), link
