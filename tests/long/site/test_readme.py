"""The README's and the docs' own words: their code runs, their commands exist, their links lead somewhere."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from fits import shared_fit

import evenhand as eh

ROOT = Path(__file__).parents[3]
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


def test_the_table_of_the_opening_is_what_a_fit_gives():
    data = eh.datasets.load("compas")
    mapping = shared_fit(data.problem, data.frame)
    rates = mapping.audit().rates.query("is_recid == 1")
    before, after = rates["before"], rates["after"]
    columns = [*data.problem.protected, *data.problem.features, data.problem.outcome]
    people = data.frame.astype(str).value_counts(columns).rename("people").reset_index()
    moves = mapping.table().astype(dict.fromkeys(columns, str)).merge(people)
    expected = moves["probability"] * moves["people"]
    moved = [moves[name] != moves[f"to_{name}"].astype(str) for name in columns if f"to_{name}" in moves]
    rows = [
        " | ".join(f"{100 * rate.min():.0f}–{100 * rate.max():.0f} %" for rate in (before, after)),
        f"| {before.max() / before.min():.2f}× | {after.max() / after.min():.2f}× |",
        f"none for the worse | | {expected[moved[-1]].sum():.0f} |",
        f"in any column | | {expected[np.any(moved, axis=0)].sum():.0f} |",
    ]
    for row in rows:
        assert row in TEXT
    assert set(moves.loc[moved[-1], "to_is_recid"]) == {0}
    assert f"{len(data.frame):,} defendants" in TEXT


def test_the_way_from_a_raw_csv_to_a_transformed_test_set(tmp_path):
    """The commands as they are printed, on the embedded study as two CSV files of people."""
    people = eh.datasets.load("compas").frame.sample(frac=1, random_state=1).reset_index(drop=True)
    people.insert(0, "person", range(len(people)))
    people[:4000].to_csv(tmp_path / "train.csv", index=False)
    people[4000:].drop(columns="is_recid").to_csv(tmp_path / "test.csv", index=False)
    block = next(b for b in re.findall(r"```console\n(.*?)```", TEXT, flags=re.DOTALL) if "evenhand init" in b)
    for line in block.strip().splitlines():
        program, *arguments = shlex.split(line, comments=True)
        assert program == "evenhand"
        result = subprocess.run(
            [sys.executable, "-m", "evenhand", *arguments], cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, f"{line}\n{result.stdout}\n{result.stderr}"
    train, new = (pd.read_csv(tmp_path / name) for name in ("train-released.csv", "test-applied.csv"))
    rates = train.groupby(["sex", "race"])["is_recid"].mean()
    before = people[:4000].groupby(["sex", "race"])["is_recid"].mean()
    assert rates.max() / rates.min() < before.max() / before.min()
    assert new["person"].tolist() == people["person"][4000:].tolist()
    assert "is_recid" not in new
    assert (tmp_path / "report.html").read_text(encoding="utf-8").startswith("<!")


def test_the_commands_exist():
    docs = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
    blocks = "".join(re.findall(r"```console\n(.*?)```", TEXT + docs, flags=re.DOTALL))
    commands = set(re.findall(r"`evenhand (\w+)", TEXT + docs)) - {"COMMAND"}
    commands |= set(re.findall(r"^evenhand (\w+)", blocks, flags=re.MULTILINE))
    assert commands
    shown = subprocess.run([sys.executable, "-m", "evenhand", "--help"], capture_output=True, text=True, check=True)
    for command in commands:
        assert command in shown.stdout
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for target in re.findall(r"make (\w+)", TEXT):
        assert f"{target}:" in makefile, target


def test_the_toml_reference_has_every_way_to_learn_cells():
    text = (ROOT / "docs" / "reference" / "problem.toml").read_text(encoding="utf-8")
    forms = re.findall(r"^# \[cells\]\n((?:# .*\n)+)", text, flags=re.MULTILINE)
    usual = 'protected = ["sex"]\nfeatures = ["score"]\noutcome = "hired"\n[distortion.rules.hired]\nrule = "free"\n'
    stated = [eh.Problem.from_toml(f"{usual}[cells]\n" + re.sub("^# ", "", form, flags=re.MULTILINE)) for form in forms]
    assert [problem.cells for problem in stated] == [eh.Leaves(), eh.ScoreLevels()]


def test_the_toml_reference_has_confidence():
    text = (ROOT / "docs" / "reference" / "problem.toml").read_text(encoding="utf-8")
    (line,) = re.findall(r"^# (confidence = \S+)", text, flags=re.MULTILINE)
    usual = 'protected = ["sex"]\nfeatures = ["age"]\noutcome = "hired"\n'
    parts = '[[parity]]\nkind = "pairwise"\nbound = 0.1\n[distortion.rules.hired]\nrule = "free"\n'
    assert eh.Problem.from_toml(f"{usual}{line}\n{parts}").confidence == 0.95


@pytest.mark.filterwarnings("ignore:.* people are already age=young with priors=2")
def test_the_toml_reference_is_a_problem_that_can_be_fitted():
    text = (ROOT / "docs" / "reference" / "problem.toml").read_text(encoding="utf-8")
    problem = eh.Problem.from_toml(text)
    assert eh.Problem.from_toml(problem.to_toml()) == problem
    rng = np.random.default_rng(3)
    levels = {
        "sex": ["female", "male"], "race": ["a", "b1", "b2"], "age": range(20, 70), "job": ["clerk", "driver"],
        "region": ["north", "south"], "priors": range(3),
    }  # fmt: skip
    frame = pd.DataFrame({name: rng.choice(values, 4000) for name, values in levels.items()})
    frame["wage"] = rng.lognormal(10, 0.4, 4000)
    frame["hired"] = np.where(rng.random(4000) < 0.35 + 0.1 * (frame["sex"] == "male"), "yes", "no")
    frame.loc[:30, "job"] = "?"
    mapping = eh.fit(problem, frame)
    assert mapping.counts.domain.variable("race").levels == ("a", "b")
    assert mapping.counts.domain.variable("age").levels == ("young", "middle", "old")
    assert mapping.certificate.max_violation <= 1e-9
    assert len(mapping.achieved.parity) == 7
    made = mapping.table().query("to_age == 'young' and to_priors == 2 and to_hired == 'yes'")
    assert made.query("age != 'young' or priors != 2 or hired != 'yes'").empty
