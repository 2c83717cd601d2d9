"""The README's and the docs' own words: their code runs, their commands exist, their links lead somewhere."""

import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import evenhand as eh

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


@pytest.mark.parametrize("page", ["docs/guide.md", "CONTRIBUTING.md"])
def test_the_code_of_the_docs_runs_as_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {}
    for block in re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), flags=re.DOTALL):
        exec(block, names)
    assert names


def test_the_commands_exist():
    commands = set(re.findall(r"`evenhand (\w+)", TEXT))
    assert commands
    shown = subprocess.run([sys.executable, "-m", "evenhand", "--help"], capture_output=True, text=True, check=True)
    for command in commands:
        assert command in shown.stdout
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", TEXT):
        assert f"{target}:" in makefile, target


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "docs/guide.md", "docs/proof-file.md"])
def test_links_lead_somewhere(page):
    for link in re.findall(r"\]\(([^)#]+)[^)]*\)", (ROOT / page).read_text(encoding="utf-8")):
        assert ((ROOT / page).parent / link).exists(), link


def test_the_toml_reference_is_a_problem_that_can_be_fitted():
    text = (ROOT / "docs" / "problem.toml").read_text(encoding="utf-8")
    problem = eh.Problem.from_toml(text)
    assert eh.Problem.from_toml(problem.to_toml()) == problem
    rng = np.random.default_rng(3)
    levels = {
        "sex": ["female", "male"], "race": ["a", "b"], "age": ["young", "middle", "old"],
        "job": ["clerk", "driver"], "region": ["north", "south"],
    }  # fmt: skip
    frame = pd.DataFrame({name: rng.choice(values, 1500) for name, values in levels.items()})
    frame["priors"] = rng.integers(0, 3, 1500)
    frame["hired"] = np.where(rng.random(1500) < 0.35 + 0.1 * (frame["sex"] == "male"), "yes", "no")
    mapping = eh.fit(problem, frame)
    assert mapping.certificate.max_violation <= 1e-9
    assert len(mapping.achieved.parity) == 5
