"""What every command says of each golden problem: numbers as JSON, wording as the text of a terminal.

``pytest tests/long/golden --golden`` writes the files anew. Read the difference before you commit it: a change that
moves code leaves every number equal.
"""

import json
import math
import re
import sys
from pathlib import Path

import pytest

from evenhand import cli
from evenhand.cli import screen

from .problems import PROBLEMS

HERE = Path(__file__).parent
COMMANDS = {
    "init": "init people.csv --protected group --outcome {outcome} --features {features} --out proposed.toml{fit}",
    "diagnose": "diagnose problem.toml people.csv{fit}",
    "fit": "fit problem.toml people.csv --out m.mapping --proof m.proof{fit}",
    "frontier": "frontier problem.toml people.csv --bounds 0.3,0.6 --people{fit}",
    "audit": "audit m.mapping",
    "audit another table": "audit m.mapping others.csv",
    "theory": "theory m.mapping --holdout others.csv",
    "release": "release m.mapping people.csv --out released.csv --seed 3{changes}",
    "apply": "apply m.mapping others.csv --out applied.csv --seed 3",
    "expand": "expand m.mapping people.csv --out expanded.csv",
    "explain": "explain m.mapping people.csv --where row=4",
    "monitor": "monitor m.mapping others.csv --history history.jsonl",
    "verify": "verify m.proof",
    "verify a mapping": "verify m.mapping",
    "sql": "sql m.mapping --dialect duckdb --table people --key counted --out query.sql",
    "verify a manifest": "verify released.csv.manifest.json",
    "report": "report m.mapping --out report.html --points 3",
    "report a bundle": "report m.mapping --bundle bundle --table people.csv",
    "compare": "compare m.mapping m.mapping",
}
# Commands that are about no problem.
ALONE = {
    "example": "example loans --out loans.csv",
    "schema": "schema --out problem.schema.json",
    "demo": "demo compas",
}
# What differs between runs, machines and versions.
VOLATILE = re.compile(r"seconds|sha256|digest|bytes|version|written_at|created|time|platform|checksum")
DIGEST = re.compile(r"\b[0-9a-f]{12,}\b")
NUMBER = re.compile(r"(?<![\w.])-?\d+\.\d+(?:e-?\d+)?")
RELATIVE, ABSOLUTE = 1e-5, 1e-7
# Problems whose words differ from those of others.
WORDED = ("levels", "cells", "suppressed", "confident", "infeasible")
PLACE = re.compile(r"/\S*(?=/verifier\.py)")
# What solvers leave of zero, checksums, times, what a terminal draws, and where a machine keeps its files.
CHANGING = re.compile(
    r"-?\d(?:\.\d+)?e-\d+|\b[0-9a-f]{12,}\b|\d+\.\d+ s\b|─+|\d{4}-\d\d-\d\d(?:T[\d:+]+)?|" + PLACE.pattern
)


def answers(golden, folder, run, *options):
    """The answer of every command, from a proposed problem to the bundle."""
    (folder / "problem.toml").write_text(golden.toml)
    golden.table.to_csv(folder / "people.csv", index=False)
    golden.table.sample(frac=0.5, random_state=1).to_csv(folder / "others.csv", index=False)
    outcome = "grade" if 'outcome = "grade"' in golden.toml else "hired"
    features = [name for name in ("skill", "pay", "town") if name in golden.table]
    # A row of a table of counts has several results.
    changes = "" if "--frequencies" in golden.fit else " --changes changes.csv"
    for name, line in COMMANDS.items():
        fit = "".join(f" {word}" for word in golden.fit)
        filled = line.format(outcome=outcome, features=",".join(features), fit=fit, changes=changes)
        code, text = run(filled, *options)
        yield name, code, text
        if name == "fit" and code:
            break


def settled(value):
    """A document without what differs between runs."""
    if isinstance(value, dict):
        return {key: "…" if VOLATILE.search(key) else settled(each) for key, each in value.items()}
    if isinstance(value, list):
        return [settled(each) for each in value]
    if isinstance(value, str):
        return DIGEST.sub("…", PLACE.sub("…", value))
    return float(f"{value:.9g}") if isinstance(value, float) else value


def differences(expected, found, at=""):
    """Where two documents differ: keys, words, or numbers by more than another solver would."""
    if isinstance(expected, dict) and isinstance(found, dict):
        for key in sorted(expected.keys() | found.keys()):
            if key not in expected or key not in found:
                yield f"{at}.{key}: {'new' if key in found else 'gone'}"
            else:
                yield from differences(expected[key], found[key], f"{at}.{key}")
    elif isinstance(expected, list) and isinstance(found, list) and len(expected) == len(found):
        for place, pair in enumerate(zip(expected, found, strict=True)):
            yield from differences(*pair, f"{at}[{place}]")
    elif isinstance(expected, float) and isinstance(found, int | float):
        if not math.isclose(expected, found, rel_tol=RELATIVE, abs_tol=ABSOLUTE):
            yield f"{at}: {expected} → {found}"
    elif isinstance(expected, str) and isinstance(found, str) and NUMBER.sub("#", expected) == NUMBER.sub("#", found):
        pairs = zip(NUMBER.findall(expected), NUMBER.findall(found), strict=True)
        yield from (
            f"{at}: {expected} → {found}"
            for pair in pairs
            if not math.isclose(*map(float, pair), rel_tol=RELATIVE, abs_tol=ABSOLUTE)
        )
    elif expected != found:
        yield f"{at}: {expected!r} → {found!r}"


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """The command line without a process of its own, in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(screen.console, "width", 100)

    def once(line, *options):
        monkeypatch.setattr(sys, "argv", ["evenhand", *line.split(), *options])
        with pytest.raises(SystemExit) as ending:
            cli.main()
        return ending.value.code or 0, capsys.readouterr().out

    return once


@pytest.mark.whole
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.filterwarnings("ignore")
def test_documents(name, tmp_path, run, request):
    found = {
        command: {"exit_code": code, **settled(json.loads(text))}
        for command, code, text in answers(PROBLEMS[name], tmp_path, run, "--json")
    }
    file = HERE / f"{name}.json"
    if request.config.getoption("golden"):
        file.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = json.loads(file.read_text(encoding="utf-8"))
    assert not list(differences(expected, found))


@pytest.mark.whole
@pytest.mark.parametrize("name", WORDED)
@pytest.mark.filterwarnings("ignore")
def test_wording(name, tmp_path, run, request):
    for command, code, text in answers(PROBLEMS[name], tmp_path, run):
        compare_text(name, command, code, text, golden=request.config.getoption("golden"))


@pytest.mark.whole
@pytest.mark.parametrize("command", ALONE)
def test_wording_of_what_needs_no_problem(command, run, request):
    code, text = run(ALONE[command])
    compare_text("alone", command, code, text, golden=request.config.getoption("golden"))


def compare_text(name, command, code, text, *, golden):
    """Compare what a command says with its file, or write that anew."""
    lines = (line.rstrip() for line in CHANGING.sub("…", text).splitlines())
    found = "\n".join([f"exit code {code}", *lines, ""])
    file = HERE / "text" / name / f"{command.replace(' ', '-')}.txt"
    if golden:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(found, encoding="utf-8")
    assert found == file.read_text(encoding="utf-8"), f"{name}: {command}"
